"""Sums of truncated heavy-tailed rewards, x·1{abs(x) ≤ B}, drawn at once.

Two points need one Binomial variable. A sum of n truncated Pareto rewards has no closed form;
for large n it is drawn by value. Rewards in (c, B], of which about 4096 are expected, are drawn
one by one. Below c lie 256 bins of equal width. The counts of all classes are multinomial, by
successive Binomial variables, and the part of the sum that comes from a bin with N rewards is
normal with N times the bin's exact mean and variance. Equal widths are best for what
Berry–Esseen's inequality asks for, a small ratio of the greatest width to the deviation of the
sum given the counts: the part below c errs as if only rewards up to c/256 had been replaced.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_generator, check_integer, check_positive
from dpbandits.rewards.binomial import binomial_by_rejection
from dpbandits.rewards.heavy_laws import (
    HeavyCode,
    HeavyLaw,
    ParetoLaw,
    TwoPointHeavyLaw,
    draw_heavy,
)

__all__ = ["truncated_sum", "truncated_sum_error"]

_BINS = 256
_SINGLE = 4096  # rewards expected above the bins
_DIRECT = 3 * _SINGLE  # up to this many, all are drawn one by one
_EXACT = 2**62  # counts up to this are exact Binomial variables
_NORMAL_FROM = 1e16  # variance from which counts beyond `_EXACT` are rounded normal variables
_MOST = 10**30
_MOST_SAMPLED = 2**28
_CHUNK = 2**20
_BERRY_ESSEEN = 0.56  # Shevtsova (2010), for independent variables of different laws
_BERRY_ESSEEN_IID = 0.4748  # Shevtsova (2011)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


class _Plan(NamedTuple):
    """How to draw a sum of truncated Pareto rewards; bins from the lowest to the highest."""

    beyond: float  # P(X > B)
    single: float  # P(X > c) among X ≤ B
    cut: float  # c
    edges: Floats
    shares: Floats  # of a bin among all values up to its upper end
    probabilities: Floats
    means: Floats
    deviations: Floats


def truncated_sum(rng: Rng, law: HeavyLaw, n: int, bound: float) -> float:
    """Draw the sum of n independent x·1{abs(x) ≤ B}.

    Exact in law for two points up to n = 2^62, and for Pareto laws while at most 12288 rewards
    are expected up to B, which are then drawn one by one; beyond, `truncated_sum_error` bounds
    the Kolmogorov distance to the exact law. Rewards of a `SampledLaw` are always drawn one by
    one.

    Parameters
    ----------
    rng, law : numpy.random.Generator, HeavyLaw
        Source of randomness, and the law of a reward.
    n, bound : int, float
        Number of rewards, up to 10^30, or 2^28 for a `SampledLaw`; threshold B > 0.

    Examples
    --------
    >>> law = ParetoLaw(shape=1.55, scale=0.32)
    >>> total = truncated_sum(np.random.default_rng(0), law, 10**9, bound=10_000.0)
    >>> abs(total / 10**9 - law.truncated_mean(10_000.0)) < 0.001
    True
    """
    rng, bound = check_generator("rng", rng), check_positive("bound", bound, infinite=True)
    n = _check_count(law, n)
    if isinstance(law, TwoPointHeavyLaw):
        return law.high * _count(rng, float(n), law.probability) if law.high <= bound else 0.0
    if not isinstance(law, ParetoLaw):
        return _sampled_sum(rng, law, n, bound)
    if n <= _DIRECT:
        return _direct_sum(rng, law.code, n, bound)
    if bound <= law.scale:
        return 0.0
    return _binned_sum(rng, law.shape, float(n), bound, _plan(law, n, bound))


def truncated_sum_error(law: HeavyLaw, n: int, bound: float) -> float:
    """Bound the Kolmogorov distance between the law of `truncated_sum` and the exact one.

    Given the counts N_b of the bins, the parts of the sum outside the bins are exact and
    independent of the part inside, so that the distance is at most that of the latter: by
    Berry–Esseen at most 0.56·A/V^1.5 with A = Σ N_b·ρ_b, V = Σ N_b·σ_b², where σ_b² and ρ_b are
    the variance and the third absolute central moment of a reward in bin b. V is a sum of n
    independent variables Y in [0, max σ_b²], so that P(V ≤ (1 − δ)·E V) is at most
    exp(−δ²·(E V)²/(2n·E Y²)); δ is taken where this is 10^−9. Hence, averaged over the counts,
    the distance is at most 0.56·E A/((1 − δ)·E V)^1.5 + 10^−9.

    Counts of more than 2^62 rewards are rounded normal variables where their variance exceeds
    10^16: at most 0.4748·10^−8 each. The sum is monotone in each count when the classes are
    drawn from the highest value down, so that these distances add up.

    Examples
    --------
    >>> law = ParetoLaw(shape=1.55, scale=0.32)
    >>> truncated_sum_error(law, 1000, 100.0)
    0.0
    >>> 0.0 < truncated_sum_error(law, 10**9, 10_000.0) < 0.001
    True
    """
    bound, n = check_positive("bound", bound, infinite=True), _check_count(law, n)
    rounded = _BERRY_ESSEEN_IID / math.sqrt(_NORMAL_FROM) if n > _EXACT else 0.0
    if isinstance(law, TwoPointHeavyLaw):
        return rounded
    if not isinstance(law, ParetoLaw) or n <= _DIRECT or bound <= law.scale:
        return 0.0
    plan = _plan(law, n, bound)
    if plan.means.size == 0:
        return 2 * rounded
    variances = plan.deviations**2
    variance, square = n * plan.probabilities @ variances, n * plan.probabilities @ variances**2
    delta = math.sqrt(2 * 9 * math.log(10) * square) / variance
    if delta >= 1:
        return 1.0
    third = n * plan.probabilities @ _third_moments(law.shape, plan)
    error = _BERRY_ESSEEN * third / ((1 - delta) * variance) ** 1.5 + 1e-9
    return min(1.0, float(error) + (_BINS + 2) * rounded)


def _check_count(law: HeavyLaw, n: int) -> int:
    if not isinstance(law, HeavyLaw):
        raise ValueError(f"law={law!r} is not a law of heavy-tailed rewards; allowed: a HeavyLaw")
    known = isinstance(law, ParetoLaw | TwoPointHeavyLaw)
    return check_integer("n", n, 0, _MOST if known else _MOST_SAMPLED)


@njit(cache=True, nogil=True)
def _count(rng: Rng, n: float, p: float) -> float:
    """Draw a Binomial variable of n trials.

    Beyond 2^62 it is a rounded normal variable where its variance is 10^16 or more, and elsewhere
    drawn by order statistics as in `binomial`, with n and the count in doubles.
    """
    if n <= _EXACT:
        return float(binomial_by_rejection(rng, int(n), p))
    sign, total = 1.0, 0.0
    if p > 0.5:
        sign, total, p = -1.0, n, 1.0 - p
    while n > _EXACT and p > 0.0:
        variance = n * p * (1.0 - p)
        if variance >= _NORMAL_FROM:
            number = np.floor(n * p + math.sqrt(variance) * rng.standard_normal() + 0.5)
            return total + sign * max(0.0, min(n, number))
        i = max(1.0, np.floor(n * p))
        place = rng.beta(i, n + 1.0 - i)
        if place <= p:
            total, n, p = total + sign * i, n - i, (p - place) / (1.0 - place)
        else:
            n = i - 1.0
            total, sign, p = total + sign * n, -sign, (place - p) / place
    if p <= 0.0 or n <= 0.0:
        return total
    return total + sign * binomial_by_rejection(rng, int(n), p)


@njit(cache=True, nogil=True)
def _direct_sum(rng: Rng, code: HeavyCode, n: int, bound: float) -> float:
    total = 0.0
    for _ in range(n):
        reward = draw_heavy(rng, code)
        if abs(reward) <= bound:
            total += reward
    return total


def _sampled_sum(rng: Rng, law: HeavyLaw, n: int, bound: float) -> float:
    total = 0.0
    for done in range(0, n, _CHUNK):
        rewards = law.sample(rng, min(_CHUNK, n - done))
        total += float(rewards[np.abs(rewards) <= bound].sum())
    return total


@njit(cache=True, nogil=True)
def _binned_sum(rng: Rng, shape: float, n: float, bound: float, plan: _Plan) -> float:
    rest = n - _count(rng, n, plan.beyond)
    number = int(_count(rng, rest, plan.single))
    reach = 1.0 - (plan.cut / bound) ** shape  # P(X ≤ B) among X > c
    total = 0.0
    for _ in range(number):
        total += plan.cut * math.exp(-math.log1p(-reach * rng.random()) / shape)
    rest -= number
    for b in range(plan.means.size - 1, -1, -1):
        inside = _count(rng, rest, plan.shares[b]) if b > 0 else rest
        if inside > 0:
            noise = math.sqrt(inside) * plan.deviations[b] * rng.standard_normal()
            total += inside * plan.means[b] + noise
            rest -= inside
    return total


@lru_cache(maxsize=1024)
def _plan(law: ParetoLaw, n: int, bound: float) -> _Plan:
    """Return the plan for n > 12288 and B above the smallest reward x_a."""
    shape, scale = law.shape, law.scale
    beyond = (bound / scale) ** -shape
    below = -math.expm1(-shape * math.log(bound / scale))
    if n * below <= _DIRECT:  # no bins: what does not exceed B is drawn one by one
        none = np.empty(0)
        return _Plan(beyond, 1.0, scale, none, none, none, none, none)
    single = _SINGLE / n
    cut = min(bound, scale * (beyond + single) ** (-1 / shape))
    edges = np.linspace(scale, cut, _BINS + 1)
    heights = np.log(edges[1:] / edges[:-1])
    inside = -np.expm1(-shape * heights)
    probabilities = (edges[:-1] / scale) ** -shape * inside
    shares = probabilities / -np.expm1(-shape * np.log(edges[1:] / scale))
    means, deviations = _bin_moments(shape, edges[:-1], heights, inside)
    return _Plan(beyond, single / below, cut, edges, shares, probabilities, means, deviations)


def _bin_moments(
    shape: float, low: Floats, heights: Floats, inside: Floats
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of a Pareto reward in each bin.

    With Y = log(x/low), exponential of rate s on [0, h], x/low has E exp(kY) − 1 in closed form;
    where the bin is narrow its variance cancels, and Gauss–Legendre is exact to rounding.
    """
    first, second = (shape * _integral(power - shape, heights) / inside for power in (1, 2))
    variances = second - first * first
    narrow = heights * max(shape, 1.0) < 0.5
    if narrow.any():
        h = heights[narrow, None]
        y = (1 + _NODES) * h / 2
        weights = _WEIGHTS * h / 2 * shape * np.exp(-shape * y) / inside[narrow, None]
        excess = np.expm1(y)
        mean = (weights * excess).sum(axis=1)
        first[narrow] = 1 + mean
        variances[narrow] = (weights * (excess - mean[:, None]) ** 2).sum(axis=1)
    return low * first, low * np.sqrt(variances)


def _integral(exponent: float, reach: Floats) -> Floats:
    return np.expm1(exponent * reach) / exponent if exponent else reach.copy()


def _third_moments(shape: float, plan: _Plan) -> Floats:
    """Return E|x − mean|³ in each bin, by Gauss–Legendre in log x on either side of the mean."""
    low, high, means = plan.edges[:-1], plan.edges[1:], plan.means
    inside = -np.expm1(-shape * np.log(high / low))
    total = np.zeros_like(low)
    for start, end in ((low, means), (means, high)):
        half = np.log(end / start)[:, None] / 2
        x = start[:, None] * np.exp((1 + _NODES) * half)
        density = shape * (x / low[:, None]) ** -shape
        total += (_WEIGHTS * half * density * np.abs(x - means[:, None]) ** 3).sum(axis=1)
    return total / inside
