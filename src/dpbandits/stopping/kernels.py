"""Compiled simulation of the NAS family: only what can matter is drawn, and the law is exact.

Between two looks only the sum of the samples matters, and laws give it at once. A rule that looks
at every n has many looks at which it cannot halt, or hardly: they are left out as follows.

From n samples with sum S, let g = boundary(n + 1) + B − |S|. The boundary rises with n and |S|
changes by at most R a sample, so that within the next m samples a look can only halt if its noise
A is at most ``level`` = mR − g. The looks at which A ≤ level come after geometric times. If the
first of them lies beyond m, none of the m looks halts; otherwise the samples up to it are drawn as
one sum, its A under the condition A ≤ level, and the condition is checked as it stands. Noise of
other looks, and of the looks thereafter, is as independent as before. Any choice of m ≥ 1 is
right; it only matters for the speed. Without noise the same holds with m the last sample before
g is used up.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpbandits.halting import Halting, boundary
from dpbandits.mechanisms import laplace, laplace_below, laplace_cdf
from dpbandits.rewards.laws import LawCode, sum_of_draws

__all__ = ["draw_doubling", "draw_every"]

_RARE = 20.0  # looks whose noise has to be this many scales below zero are let pass in bulk


@njit(cache=True, nogil=True)
def draw_doubling(
    rng: np.random.Generator, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that looks at n = 2, 4, 8, …: samples, estimate, whether it halted."""
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total, look = 0, 0.0, 0
    while True:
        look += 1
        later = 2**look
        if later > max_samples:
            return max_samples, math.nan, False
        total += sum_of_draws(rng, law, later - n)
        n = later
        noise = laplace(rng, halting.query_scale)
        if abs(total) >= boundary(halting, float(n), look) + threshold_noise + noise:
            release = laplace(rng, halting.release_scale)
            return n, (total + release) / n, True


@njit(cache=True, nogil=True)
def draw_every(
    rng: np.random.Generator, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that looks at every n: samples, estimate, whether it halted."""
    half_range, scale = halting.half_range, halting.query_scale
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total = 0, 0.0
    while n < max_samples:
        gap = boundary(halting, n + 1.0, n + 1) + threshold_noise - abs(total)
        if scale == 0.0:
            reach = math.ceil(gap / half_range) - 1.0
        else:
            reach = max(gap - _RARE * scale, 0.5 * scale) / half_range
        m = int(min(max(reach, 1.0), float(max_samples - n)))
        level = m * half_range - gap
        rate = -math.log1p(-laplace_cdf(level, scale))
        steps = rng.standard_exponential() / rate if rate > 0.0 else math.inf
        if steps >= m:
            total += sum_of_draws(rng, law, m)
            n += m
            continue
        taken = int(steps) + 1
        total += sum_of_draws(rng, law, taken)
        n += taken
        noise = laplace_below(rng, scale, level)
        if abs(total) >= boundary(halting, float(n), n) + threshold_noise + noise:
            release = laplace(rng, halting.release_scale)
            return n, (total + release) / n, True
    return max_samples, math.nan, False
