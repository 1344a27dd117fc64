"""The bound on the expected regret of DP-UCB-INT (Tossou & Dimitrakakis 2016), as proved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits.bounds.regret import _fractions
from dpbandits.bounds.td16 import SHARES, growing, times_in_octaves

__all__ = ["dp_ucb_int_regret"]

FloatArray = NDArray[np.float64]


def dp_ucb_int_regret(
    gaps: ArrayLike,
    horizon: float,
    *,
    interval: int,
    exponent: float,
    noise: float = 1.0,
    refreshed: bool = True,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DP-UCB-INT, refreshed or frozen (derived here).

    By the lemma at the head of `dpbandits.bounds.td16`, for releases: the release of an arm at
    m = jf pulls is used for at most f of its pulls, and that of the best arm at the times up to t.
    A value has noise of scale B = noise·m^(v/2 − 1), and

        P(S_m/m + Lap(B) ≥ μ + x) ≤ exp(−x/B + 1/(8mB²))/2    for every real x,

    as P(Lap(B) ≥ z) ≤ exp(−z/B)/2 for every real z.

    Parameters
    ----------
    gaps : array_like, shape (K,)
        Gaps of all arms, zeros for the best.
    horizon : float
        Horizon T.
    interval : int
        f.
    exponent : float
        v.
    noise : float
        Factor of the noise.
    refreshed : bool
        Whether the bonus grows between releases.
    times : array_like, optional
        Times at which the bound is wanted; None means T.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Notes
    -----
    *It grows like t (frozen), or like t·exp(−c√log t) (refreshed); and so does the regret.* With
    its bonus, the release of the best arm at m = f is below μ_a − 1, for good (frozen) or up to t
    (refreshed), with a probability of at least exp(−(2 + √(2 log s/f))/B)/2, s = Kf + 1 or s = t,
    and with a probability that does not depend on t arm a never is. Theorem 3.5 has the rate of
    UCB: its proof allows the noise a failure probability of t^(−3.5), but at that probability
    √(2 log t/n) does not cover noise of scale n^(v/2 − 1) for any n.
    """
    all_gaps = _fractions("gaps", gaps)

    def at(grid: FloatArray) -> FloatArray:
        first, last, size = _releases(interval, grid[-1])
        rise = first ** (1 - exponent / 2) / noise  # 1/B
        loose = first ** (1 - exponent) / (8 * noise**2)  # 1/(8mB²)
        spread = last ** ((1 - exponent) / 2) / noise  # 1/(B√m), at the end of a group
        octaves = int(grid[-1]).bit_length()
        when = times_in_octaves(grid, octaves)
        starts = 2.0 ** np.arange(octaves)[:, None]
        since = np.maximum(first + (all_gaps.size - 1) * interval, starts if refreshed else 1.0)
        root = np.sqrt(2 * np.log(since))
        there = (first < 2 * starts) * size
        reached = (first <= grid[:, None]) * size
        top = np.sqrt(2 * np.log(grid))[:, None] * first ** ((1 - exponent) / 2) / noise
        total = np.zeros(grid.size)
        for gap, arms in zip(*np.unique(all_gaps[all_gaps > 0], return_counts=True), strict=True):
            least = np.full(grid.size, np.inf)
            for share in SHARES:
                low = _half_exp(loose - share * gap * rise - root * spread)
                late = when @ np.minimum(1.0, np.sum(there * low, axis=1))
                high = _half_exp(loose - (1 - share) * gap * rise + top)
                early = interval * np.sum(reached * high, axis=1)
                least = np.minimum(least, interval + early + late)
            total += arms * gap * least
        return total

    return growing(all_gaps, horizon, times, at)


def _half_exp(x: FloatArray) -> FloatArray:
    """Return min(1, exp(x)/2)."""
    result: FloatArray = np.minimum(1.0, 0.5 * np.exp(np.minimum(x, 1.0)))
    return result


def _releases(interval: int, horizon: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return first m, last m and number of releases in groups that cover all m = jf ≤ T."""
    most = max(1, int(horizon) // interval)
    starts = list(range(1, min(most, 512) + 1))
    while starts[-1] < most and most > 512:
        starts.append(math.ceil(1.03 * starts[-1]))
    first = np.array(starts, dtype=np.float64)
    end = np.append(first[1:], first[-1] + 1)
    return interval * first, interval * (end - 1), end - first
