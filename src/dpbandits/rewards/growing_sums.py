"""Sums of rewards, each truncated at a bound that grows with its number.

*Drawn at once*: `growing_sum`. Pareto rewards of a long stretch are of three kinds. Those beyond
the bound on the first reward, few, are placed one by one, and so compared each with its own bound.
Those below a cut are drawn at once (`dpbandits.rewards.matched_sums`), those between, about a
hundred, one by one.

*From below*: `lower_lines`, below which the running sum of rewards that are not negative does not
fall.

**Lemma.** Let X_1, X_2, … ≥ 0 be independent rewards of one law and S_r the sum of the first r,
each counted as 0 beyond a bound of its own, at least B. For ℓ, λ > 0 and
k = −log(E e^(−λX) + P(X > B)), with probability at least 1 − e^−ℓ

    S_r ≥ (k·r − ℓ)/λ    for all r at once.

*Proof.* A reward that counts as 0 has e^(−λ·0) = 1 ≤ e^(−λX) + 1{X > B}, one that counts has
e^(−λX), so that exp(k·r − λS_r) is a non-negative supermartingale that starts at 1. By Ville's
inequality it ever exceeds e^ℓ with probability at most e^−ℓ. ∎

There is no price for heavy tails: a large reward only lifts the sum. With q = E e^(−λX) < 1,
k ≥ −log q − P(X > B)/q.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Rng
from dpbandits.rewards.binomial import binomial_by_rejection
from dpbandits.rewards.heavy_laws import PARETO, HeavyCode, draw_heavy
from dpbandits.rewards.matched_sums import matched_sum

__all__ = ["BLOCK", "LINE_ERROR", "exponentials", "growing_sum", "lower_lines", "pareto_below"]

BLOCK = 1024
"""Rewards that are drawn at once; few enough for a processor's first cache."""
LINE_ERROR = 1e-16
"""e^−ℓ: the probability that a sum ever falls below its line, at most."""

_PER_OCTAVE = 1 / math.log(2)
_LOG_2 = 0.6931471803691238  # log 2, its last 32 bits cut off: k times it is exact
_LOG_2_REST = 1.9082149292705877e-10
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_STEPS = 160
_ROUNDING = 1e-10  # part by which k is lowered, more than the error of the quadrature


@njit(cache=True, nogil=True)
def exponentials(x: Floats, factor: float, scale: float, n: int) -> None:
    """Replace x_1, …, x_n by scale·exp(factor·x_i), up to two units of rounding.

    For 0 ≤ factor·x_i ≤ 700. exp y = 2^k·exp r with k = ⌊y/log 2 + ½⌋ and ∣r∣ ≤ ½·log 2, where the
    series to r^12 leaves out less than 2·10^−16: without branches and calls, so that a compiler
    does several at a time.
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
    rng: Rng,
    code: HeavyCode,
    rows: Floats,
    first_bound: float,
    growth: float,
    start: int,
    stop: int,
) -> float:
    """Draw the sum of x_n·1{x_n ≤ b·n^g} over n = start + 1, …, stop.

    Exact in law for two points, and for Pareto laws up to a total variation distance of
    `dpbandits.rewards.matched_sums.MATCHED_ERROR`.

    Parameters
    ----------
    rng, code : numpy.random.Generator, tuple of (int, float, float)
        Source of randomness, and the law of a reward.
    rows : numpy.ndarray of float
        `matched_rows` of the shape, for a Pareto law; not read for another one.
    first_bound, growth : float
        b > 0 and g ≥ 0.
    start, stop : int
        As above; 0 ≤ start ≤ stop.

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
def pareto_below(rng: Rng, shape: float, scale: float, bound: float, n: int) -> float:
    """Draw the sum of n Pareto rewards from `scale` on, each given that it is below a bound."""
    if n == 0:
        return 0.0
    x = np.empty(min(n, BLOCK))
    longest = shape * math.log(bound / scale)
    total = 0.0
    for done in range(0, n, BLOCK):
        size = min(BLOCK, n - done)
        for i in range(size):
            x[i] = rng.standard_exponential()
            while x[i] > longest:
                x[i] = rng.standard_exponential()
        exponentials(x, 1.0 / shape, scale, size)
        for i in range(size):
            total += x[i]
    return total


@njit(cache=True, nogil=True)
def _one_by_one(
    rng: Rng, shape: float, scale: float, first_bound: float, growth: float, start: int, stop: int
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
def _sum(x: Floats, n: int) -> float:
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


@lru_cache(maxsize=256)
def lower_lines(code: HeavyCode) -> Floats:
    """Return ℓ/λ, −log(q)/λ and 1/(qλ) of the lemma for 40 values of λ, shape (40, 3), read-only.

    By increasing ℓ/λ: from 9 times the smallest positive reward on.

    Examples
    --------
    >>> lines = lower_lines((0, 1.95, 1.0))  # mean 2.05
    >>> lines.shape, lines[[0, 10, 30], 1].round(2).tolist()
    ((40, 3), [1.3, 1.84, 2.05])
    """
    kind, first, second = code
    smallest = second if kind == PARETO else first
    lines = []
    for i in range(40):
        rate = 4.0 * 2.0 ** (-i / 2)
        lost = _pareto_loss(first, rate) if kind == PARETO else -second * math.expm1(-rate)
        lost = min(lost, 1 - 1e-9) * (1 - _ROUNDING)
        rate /= smallest
        lines.append(
            (-math.log(LINE_ERROR) / rate, -math.log1p(-lost) / rate, 1 / rate / (1 - lost))
        )
    array = np.array(lines)
    array.setflags(write=False)
    return array


def _pareto_loss(shape: float, rate: float) -> float:
    """Return 1 − E exp(−λX) for the smallest reward 1, from X = exp(Y/s), Y exponential.

    By Gauss's quadrature in Y, up to 48; what lies beyond is below 10^−20 and left out.
    """
    half = 24.0 / _STEPS
    terms = []
    for step in range(_STEPS):
        for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
            y = half * (2 * step + 1 + node)
            reward = math.exp(min(y / shape, 300.0))
            terms.append(half * weight * math.exp(-y) * -math.expm1(-rate * reward))
    return math.fsum(terms)
