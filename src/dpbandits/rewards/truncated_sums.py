"""Sums of truncated heavy-tailed rewards, x·1{abs(x) ≤ B}, drawn at once.

Two points need one Binomial variable. A long sum of truncated Pareto rewards is drawn by value:
those in (c, B], about 4096, one by one; below c there are 256 bins of equal width, and the sum of
the N rewards in a bin is normal with N times the bin's exact mean and variance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_generator, check_integer, check_positive
from dpbandits.rewards.binomial import binomial_by_rejection, order_statistic
from dpbandits.rewards.heavy_laws import (
    HeavyCode,
    HeavyLaw,
    ParetoLaw,
    TwoPointHeavyLaw,
    draw_heavy,
)
from dpbandits.rewards.sources import rounded_truncated

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

    It is exact for two points up to n = 2^62, for Pareto laws if at most 12288 rewards are expected
    up to B, and for a law in Python, whose rewards, up to 2^28, are drawn one by one; otherwise
    `truncated_sum_error` bounds the Kolmogorov distance.
    """
    rng, bound = check_generator("rng", rng), check_positive("bound", bound, infinite=True)
    n = _check_count(law, n)
    if isinstance(law, TwoPointHeavyLaw):
        return law.high * _count(rng, float(n), law.probability) if law.high <= bound else 0.0
    if not isinstance(law, ParetoLaw):
        total = 0.0
        for done in range(0, n, _CHUNK):
            rewards = law.sample(rng, min(_CHUNK, n - done))
            total += float(rewards[np.abs(rewards) <= bound].sum())
        return total
    if n <= _DIRECT:
        return _direct_sum(rng, law.code, n, bound)
    if bound <= law.scale:
        return 0.0
    return _binned_sum(rng, law.shape, float(n), bound, _plan(law, n, bound))


def rounded_truncated_sum(rng: Rng, law: HeavyLaw, n: int, bound: float) -> int:
    """Draw how many of n independent rewards count as 1, each x with probability x/B.

    That is for x in [0, B]; any other x counts as 0. For i.i.d. non-negative rewards the number is
    Binomial(n, E X·1{X ≤ B}/B), and drawn so for two points and Pareto laws; rewards of a law in
    Python are drawn one by one. It is exact, for more than 2^62 rewards up to 0.4748·10^−8 in
    Kolmogorov distance.
    """
    rng, bound = check_generator("rng", rng), check_positive("bound", bound)
    n = _check_count(law, n)
    if isinstance(law, ParetoLaw | TwoPointHeavyLaw):
        return int(_count(rng, float(n), min(1.0, law.truncated_mean(bound) / bound)))
    total = 0
    for done in range(0, n, _CHUNK):
        total += rounded_truncated(law.sample(rng, min(_CHUNK, n - done)), bound, rng)
    return total


def truncated_sum_error(law: HeavyLaw, n: int, bound: float) -> float:
    """Bound the Kolmogorov distance between `truncated_sum` and the exact distribution.

    0.56·A/V^1.5 by Berry–Esseen's inequality, with A and V the sums of the third absolute central
    moments and of the variances in the bins, with V replaced by its quantile at 10^−9:
    :prf:ref:`lem-truncated-sum`. Counts of more than 2^62 rewards add 0.4748·10^−8 each:
    :prf:ref:`lem-rounded-counts`, which covers both together.
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


def check_heavy_law(law: HeavyLaw) -> None:
    """Raise if not a law of heavy-tailed rewards."""
    if not isinstance(law, HeavyLaw):
        raise ValueError(f"law={law!r} is not a law of heavy-tailed rewards; allowed: a HeavyLaw")


def _check_count(law: HeavyLaw, n: int) -> int:
    check_heavy_law(law)
    known = isinstance(law, ParetoLaw | TwoPointHeavyLaw)
    return check_integer("n", n, 0, _MOST if known else _MOST_SAMPLED)


@kernel
def _count(rng: Rng, n: float, p: float) -> float:
    """Draw a Binomial variable; beyond 2^62 trials a rounded normal one, or by `binomial`."""
    if n <= _EXACT:
        return float(binomial_by_rejection(rng, int(n), p))
    sign, total = 1.0, 0.0
    if p > 0.5:
        sign, total, p = -1.0, n, 1.0 - p
    while n > _EXACT and p > 0.0:
        variance = n * p * (1.0 - p)
        if variance >= _NORMAL_FROM:
            number = np.floor(n * p + math.sqrt(variance) * rng.standard_normal() + 0.5)
            found: float = total + sign * max(0.0, min(n, number))
            return found
        i = max(1.0, np.floor(n * p))
        reached, p = order_statistic(rng, i, n, p)
        if reached:
            total, n = total + sign * i, n - i
        else:
            n = i - 1.0
            total, sign = total + sign * n, -sign
    if p <= 0.0 or n <= 0.0:
        return total
    return total + sign * binomial_by_rejection(rng, int(n), p)


@kernel
def _direct_sum(rng: Rng, code: HeavyCode, n: int, bound: float) -> float:
    total = 0.0
    for _ in range(n):
        reward = draw_heavy(rng, code)
        if abs(reward) <= bound:
            total += reward
    return total


@kernel
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
    if n * below <= _DIRECT:  # no bins: rewards up to B are drawn one by one
        return _Plan(beyond, 1.0, scale, *[np.empty(0)] * 5)
    single = _SINGLE / n
    cut = min(bound, scale * (beyond + single) ** (-1 / shape))
    edges = np.linspace(scale, cut, _BINS + 1)
    heights = np.log(edges[1:] / edges[:-1])
    inside = -np.expm1(-shape * heights)
    probabilities = (edges[:-1] / scale) ** -shape * inside
    shares = probabilities / -np.expm1(-shape * np.log(edges[1:] / scale))
    moments = _bin_moments(shape, edges[:-1], heights, inside)
    return _Plan(beyond, single / below, cut, edges, shares, probabilities, *moments)


def _bin_moments(shape: float, low: Floats, heights: Floats, inside: Floats) -> list[Floats]:
    """Return mean and standard deviation of a Pareto reward in each bin.

    E exp(kY) of Y = log(x/low) has a closed form; in a narrow bin its variance would cancel.
    """

    def power(k: int) -> Floats:
        exponent = k - shape
        integral = np.expm1(exponent * heights) / exponent if exponent else heights.copy()
        return shape * integral / inside

    first, second = power(1), power(2)
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
    return [low * first, low * np.sqrt(variances)]


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
