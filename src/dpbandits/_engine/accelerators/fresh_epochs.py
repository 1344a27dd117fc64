"""Stopping rules that start afresh in each epoch: the sums of an epoch are drawn at once.

An epoch's release depends on its sum alone, or on its sums of X and of X² together, and these are
drawn exactly: by a few Binomial variables where the samples have finitely many values, and by
binary digits where the samples are uniform.
"""

from __future__ import annotations

import math

from dpbandits._arrays import Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.laws import Law, LawCode, moments_of_draws, sum_of_draws
from dpbandits.stopping.bernstein import (
    Constants,
    DPBernsteinStop,
    Epoch,
    Pool,
    first_epoch_kernel,
    next_epoch_kernel,
    passes_kernel,
    pooled_kernel,
)
from dpbandits.stopping.hoeffding import FIRST, DPHoeffdingStop, epoch_width_kernel


@kernel
def _draw_announced(
    rng: Rng,
    constants: Constants,
    unit: float,
    variance: bool,
    law: LawCode,
    first: Epoch,
    max_samples: int,
) -> tuple[int, float, bool]:
    """Run private Bernstein stopping, or its form without the variance, from a first epoch on."""
    pool, epoch, square = Pool(0.0, 0, 0.0, 0.0, 0.0, 0.0), first, 1.0
    while pool.samples + epoch.size <= max_samples:
        size = int(epoch.size)
        if variance:
            total, squares = moments_of_draws(rng, law, size)
            mean = (total / unit + laplace(rng, constants.mean_scale)) / epoch.size
            square = (squares / unit / unit + laplace(rng, constants.square_scale)) / epoch.size
        else:
            total = sum_of_draws(rng, law, size)
            mean = (total / unit + laplace(rng, constants.mean_scale)) / epoch.size
        if passes_kernel(constants, epoch, mean, square):
            estimate = math.copysign(unit * (abs(mean) - constants.alpha * epoch.width), mean)
            return int(pool.samples) + size, estimate, True
        pool = pooled_kernel(pool, epoch, mean, square)
        epoch = next_epoch_kernel(constants, pool)
    return max_samples, math.nan, False


@kernel
def _draw_doubling(
    rng: Rng,
    constants: tuple[float, float, float, float],
    law: LawCode,
    max_samples: int,
) -> tuple[int, float, bool]:
    """Run the doubling-epochs rule with Hoeffding's width."""
    epsilon, alpha, beta, unit = constants
    size, taken, epoch = FIRST, 0, 1
    while taken + size <= max_samples:
        mean = (sum_of_draws(rng, law, size) + laplace(rng, 2.0 * unit / epsilon)) / size
        taken += size
        width = epoch_width_kernel(epsilon, beta, unit, epoch, float(size))
        if width <= alpha * abs(mean):
            return taken, math.copysign(abs(mean) - alpha * width, mean), True
        size, epoch = 2 * size, epoch + 1
    return max_samples, math.nan, False


@accelerates(DPBernsteinStop, on=Law, name="epoch by epoch")
def draw_announced(
    rule: DPBernsteinStop, law: Law, max_samples: int, rng: Rng
) -> tuple[int, float, bool]:
    """Draw a run of private Bernstein stopping."""
    constants = rule.constants
    first = first_epoch_kernel(constants)
    unit, code = rule.half_range, law.code
    return _draw_announced(rng, constants, unit, rule.variance, code, first, max_samples)


@accelerates(DPHoeffdingStop, on=Law, name="epoch by epoch")
def draw_doubling(
    rule: DPHoeffdingStop, law: Law, max_samples: int, rng: Rng
) -> tuple[int, float, bool]:
    """Draw a run of the doubling-epochs rule with Hoeffding's width."""
    constants = rule.epsilon, rule.alpha, rule.beta, rule.half_range
    return _draw_doubling(rng, constants, law.code, max_samples)
