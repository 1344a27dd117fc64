"""NAS and its private forms on samples of a law: irrelevant draws are left out.

A rule that checks at every n skips many checks at once if they cannot halt, or if the small
probability that one of them halts can be drawn for all together; a rule that checks at n = 2, 4, 8,
… draws the sum of the samples between two checks at once. Exact in distribution. Proof:
:prf:ref:`prop-passing`.
"""

from __future__ import annotations

import math

from dpbandits._arrays import Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms import laplace, laplace_below, laplace_cdf_kernel
from dpbandits.rewards.laws import Law, LawCode, sum_of_draws
from dpbandits.stopping.halting import Halting, boundary_kernel, estimate_kernel
from dpbandits.stopping.nas import DPNAS, NAS, DPExponentialNAS

_RARE = 20.0  # checks that halt only with noise this many scales below zero are skipped in bulk


@kernel
def _draw_doubling(
    rng: Rng, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that checks at n = 2, 4, 8, …: samples, estimate, whether it halted."""
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total, look = 0, 0.0, 0
    while True:
        look += 1
        later = 2**look
        if later > max_samples:
            return max_samples, math.nan, False
        total, n = total + sum_of_draws(rng, law, later - n), later
        noise = laplace(rng, halting.query_scale)
        if abs(total) >= boundary_kernel(halting, float(n), look) + threshold_noise + noise:
            total += laplace(rng, halting.release_scale)
            return n, estimate_kernel(halting, float(n), look, total), True


@kernel
def _draw_every(
    rng: Rng, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that checks at every n; skip checks that cannot halt, or hardly ever do."""
    half_range, scale = halting.half_range, halting.query_scale
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total = 0, 0.0
    while n < max_samples:
        gap = boundary_kernel(halting, n + 1.0, n + 1) + threshold_noise - abs(total)
        if scale == 0.0:
            reach = math.ceil(gap / half_range) - 1.0
        else:
            reach = max(gap - _RARE * scale, 0.5 * scale) / half_range
        m = int(min(max(reach, 1.0), float(max_samples - n)))
        level = m * half_range - gap
        chance = laplace_cdf_kernel(level, scale)
        rate = -math.log1p(-chance) if chance < 1.0 else math.inf
        steps = rng.standard_exponential() / rate if rate > 0.0 else math.inf
        taken = m if steps >= m else int(steps) + 1
        total += sum_of_draws(rng, law, taken)
        n += taken
        if steps >= m:
            continue
        noise = laplace_below(rng, scale, level)
        if abs(total) >= boundary_kernel(halting, float(n), n) + threshold_noise + noise:
            return n, (total + laplace(rng, halting.release_scale)) / n, True
    return max_samples, math.nan, False


@accelerates(NAS, DPNAS, on=Law, name="passing")
def draw_every(rule: NAS | DPNAS, law: Law, max_samples: int, rng: Rng) -> tuple[int, float, bool]:
    """Draw a run of a rule that checks at every n."""
    return _draw_every(rng, rule.halting, law.code, max_samples)


@accelerates(DPExponentialNAS, on=Law, name="look by look")
def draw_doubling(
    rule: DPExponentialNAS, law: Law, max_samples: int, rng: Rng
) -> tuple[int, float, bool]:
    """Draw a run of a rule that checks at n = 2, 4, 8, …."""
    return _draw_doubling(rng, rule.halting, law.code, max_samples)
