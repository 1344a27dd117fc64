"""Sums of heavy-tailed rewards, each truncated at a bound that grows with its number."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._binomial import binomial
from dpbandits.heavy_laws import PARETO, HeavyCode, draw_heavy

__all__ = ["BLOCK", "exponentials", "growing_sum"]

BLOCK = 1024
"""Rewards that are drawn at once; few enough for a processor's first cache."""

_PER_OCTAVE = 1 / math.log(2)
_LOG_2 = 0.6931471803691238  # log 2, its last 32 bits cut off: k times it is exact
_LOG_2_REST = 1.9082149292705877e-10


@njit(cache=True, nogil=True)
def exponentials(x: NDArray[np.float64], factor: float, scale: float, n: int) -> None:
    """Replace each of x_1, …, x_n by scale·exp(factor·x_i), up to two units of rounding.

    exp y = 2^k·exp r with k = ⌊y/log 2 + ½⌋ and |r| ≤ ½·log 2, where the series to r^12 leaves out
    less than 2·10^−16: without branches and calls, so that a compiler does several at a time.

    Parameters
    ----------
    x : numpy.ndarray of float
        Values with 0 ≤ factor·x_i ≤ 700.
    factor, scale : float
        As above.
    n : int
        How many.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 50.0])
    >>> exponentials(x, 2.0, 3.0, 3)
    >>> bool(np.allclose(x, 3 * np.exp([0.0, 2.0, 100.0]), rtol=1e-15))
    True
    """
    bits = np.empty(x.size, np.int64)
    powers = bits.view(np.float64)
    for i in range(n):
        y = x[i] * factor
        k = np.floor(y * _PER_OCTAVE + 0.5)
        r = (y - k * _LOG_2) - k * _LOG_2_REST
        p = r / 479001600.0 + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[i] = scale * ((p * r + 1.0) * r + 1.0)
        bits[i] = (np.int64(k) + 1023) << 52  # the double 2^k
    for i in range(n):
        x[i] *= powers[i]


@njit(cache=True, nogil=True)
def growing_sum(
    rng: np.random.Generator,
    code: HeavyCode,
    first_bound: float,
    growth: float,
    start: int,
    stop: int,
) -> float:
    """Draw the sum of x_n·1{x_n ≤ b·n^g} over n = start + 1, …, stop; exact in law.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    code : tuple of (int, float, float)
        The law of a reward.
    first_bound, growth : float
        b > 0 and g ≥ 0.
    start, stop : int
        As above; 0 ≤ start ≤ stop.

    Returns
    -------
    float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> two_points = (1, 4.0, 1.0)  # 4 with probability 1
    >>> growing_sum(rng, two_points, 1.0, 0.5, 0, 100)  # counts from the 16th on
    340.0
    """
    kind, first, second = code
    low, high = first_bound * (start + 1.0) ** growth, first_bound * float(stop) ** growth
    if kind != PARETO:
        if first <= low:
            return first * binomial(rng, stop - start, second)
        total = 0.0
        if first > high:
            return total
        for n in range(start + 1, stop + 1):
            reward = draw_heavy(rng, code)
            if reward <= first_bound * float(n) ** growth:
                total += reward
        return total
    x = np.empty(BLOCK)
    total = 0.0
    for done in range(start, stop, BLOCK):
        size = min(BLOCK, stop - done)
        for i in range(size):
            x[i] = rng.standard_exponential()
        exponentials(x, 1.0 / first, second, size)
        for i in range(size):
            if x[i] > low and x[i] > first_bound * (done + i + 1.0) ** growth:
                x[i] = 0.0
        total += _sum(x, size)
    return total


@njit(cache=True, nogil=True)
def _sum(x: NDArray[np.float64], n: int) -> float:
    """Add x_1, …, x_n up in four parts, which do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = n - n % 4
    for i in range(0, fours, 4):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
    for i in range(fours, n):
        a += x[i]
    return (a + b) + (c + d)
