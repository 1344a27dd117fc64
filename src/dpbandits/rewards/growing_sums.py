"""Sums of heavy-tailed rewards, each truncated at a bound that grows with its number.

Pareto rewards of a long stretch are of three kinds. Those beyond the bound on the first reward,
few, are placed one by one, and so compared each with its own bound. Those below a cut are drawn at
once (`dpbandits.rewards.matched_sums`), those between, about a hundred, one by one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.rewards.binomial_rejection import binomial_by_rejection
from dpbandits.rewards.exponentials import BLOCK, exponentials
from dpbandits.rewards.heavy_laws import PARETO, HeavyCode, draw_heavy
from dpbandits.rewards.matched_sums import matched_sum, pareto_below

__all__ = ["growing_sum"]


@njit(cache=True, nogil=True)
def growing_sum(
    rng: np.random.Generator,
    code: HeavyCode,
    rows: NDArray[np.float64],
    first_bound: float,
    growth: float,
    start: int,
    stop: int,
) -> float:
    """Draw the sum of x_n·1{x_n ≤ b·n^g} over n = start + 1, …, stop.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    code : tuple of (int, float, float)
        The law of a reward.
    rows : numpy.ndarray of float
        `matched_rows` of the shape, for a Pareto law; not read for another one.
    first_bound, growth : float
        b > 0 and g ≥ 0.
    start, stop : int
        As above; 0 ≤ start ≤ stop.

    Returns
    -------
    float
        Exact in law for two points, and for Pareto laws up to a total variation distance of
        `dpbandits.rewards.matched_sums.MATCHED_ERROR`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> two_points = (1, 4.0, 1.0)  # 4 with probability 1
    >>> growing_sum(rng, two_points, np.empty((0, 0)), 1.0, 0.5, 0, 100)  # from the 16th on
    340.0
    """
    kind, first, second = code
    low, high = first_bound * (start + 1.0) ** growth, first_bound * float(stop) ** growth
    if kind != PARETO:
        if first <= low:
            return first * binomial_by_rejection(rng, stop - start, second)
        total = 0.0
        if first > high:
            return total
        for n in range(start + 1, stop + 1):
            reward = draw_heavy(rng, code)
            if reward <= first_bound * float(n) ** growth:
                total += reward
        return total
    enough, best = 0.9 * (stop - start), -1
    for i in range(rows.shape[0]):
        if rows[i, 0] <= enough and rows[i, 1] * second <= low:
            best = i
    if best < 0:
        return _one_by_one(rng, first, second, first_bound, growth, start, stop)
    row = rows[best]
    beyond = (low / second) ** -first
    total, rest = 0.0, stop - start
    rate = -math.log1p(-beyond)
    place = float(start)
    while rate > 0.0:  # the gaps between the rewards beyond `low` are geometric
        place += 1.0 + np.floor(rng.standard_exponential() / rate)
        if place > stop:
            break
        rest -= 1
        reward = low * math.exp(rng.standard_exponential() / first)
        if reward <= first_bound * place**growth:
            total += reward
    single = binomial_by_rejection(rng, rest, max(0.0, (row[2] - beyond) / (1.0 - beyond)))
    cut = row[1] * second
    total += pareto_below(rng, first, cut, low, single)
    rest -= single
    if rest < row[0]:
        return total + pareto_below(rng, first, second, cut, rest)
    return total + second * matched_sum(rng, row, rest)


@njit(cache=True, nogil=True)
def _one_by_one(
    rng: np.random.Generator,
    shape: float,
    scale: float,
    first_bound: float,
    growth: float,
    start: int,
    stop: int,
) -> float:
    low = first_bound * (start + 1.0) ** growth
    x = np.empty(min(BLOCK, stop - start))
    total = 0.0
    for done in range(start, stop, BLOCK):
        size = min(BLOCK, stop - done)
        for i in range(size):
            x[i] = rng.standard_exponential()
        exponentials(x, 1.0 / shape, scale, size)
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
