"""Exact Binomial variables: by order statistics, and faster by rejection.

NumPy's ``Generator.binomial`` (and Numba's copy of it) is not quite exact: before NumPy 2.5 its
BTPE algorithm has a wrong sign in a Stirling correction (numpy/numpy#31238), a total-variation
error of up to about 10⁻⁴ per draw, too much for a run with thousands of sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._engine.generators import Address, address_of, generator_at
from dpbandits._engine.kernels import interpreted, kernel

__all__ = ["binomial", "binomial_by_rejection", "binomials"]

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_SMALL = np.array(  # of Stirling's formula, log n! − (n + ½)·log n + n − ½·log 2π; 0 is unused
    [
        0.0,
        *(math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_2_PI for n in range(1, 16)),
    ]
)
_MOST = 2**50


@kernel(borrows=True)
def binomial(rng: Rng, n: int, p: float) -> int:
    """Draw how many of n uniform variables are at most p, by order statistics (Devroye 1986, X.4).

    The i-th smallest of n uniforms is Beta(i, n + 1 − i). If it is at most p, so are the i − 1
    below it, and the n − i above it are uniform on the rest of the interval; if not, only the i − 1
    below it remain, uniform below it. It takes about log log n rounds, and is exact up to the
    rounding of the Beta variables.
    """
    if p <= 0.0:
        return 0
    sign, total = 1, 0  # the result is total + sign · Binomial(n, p)
    while n > 0 and p > 0.0:
        if p > 0.5:  # count failures instead, so that p stays precise near 1
            total, sign, p = total + sign * n, -sign, 1.0 - p
            continue
        i = max(1, int((n + 1) * p))
        reached, p = order_statistic(rng, i, n, p)
        if reached:
            total, n = total + sign * i, n - i
        else:
            n = i - 1
            total, sign = total + sign * n, -sign
    return total


@kernel
def _binomial_at(at: Address, n: int, p: float) -> int:
    return binomial(generator_at(at), n, p)


def binomials(rng: Rng) -> Callable[[int, float], int]:
    """Return `binomial` with a generator: the same numbers, for calls from Python."""
    at = address_of(rng)
    return partial(interpreted(binomial), rng) if at is None else partial(_binomial_at, at)


@kernel(borrows=True)
def order_statistic(rng: Rng, i: float, n: float, p: float) -> tuple[bool, float]:
    """Draw the i-th smallest of n uniform variables, and compare it with p."""
    place = rng.beta(float(i), float(n + 1 - i))
    if place <= p:
        return True, (p - place) / (1.0 - place)
    return False, (place - p) / place  # 1 − p/place, without loss near 1


@kernel
def stirling_rest(n: float) -> float:
    """Return log n! − (n + ½)·log n + n − ½·log 2π, the remainder of Stirling's formula."""
    if n < 16.0:
        found: float = _SMALL[int(n)]
        return found
    x = 1.0 / (n * n)
    series = 1.0 / 1260.0 - x * (1.0 / 1680.0 - x * (1.0 / 1188.0))
    return (1.0 / 12.0 - x * (1.0 / 360.0 - x * series)) / n


@kernel
def deviance(x: float, mean: float) -> float:
    """Return x·log(x/M) + M − x, without cancellation: Loader (2000)."""
    difference = x - mean
    if abs(difference) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - difference
    v = difference / (x + mean)
    total, term = difference * v, 2.0 * x * v
    for j in range(1, 1000):
        term *= v * v
        more = total + term / (2 * j + 1)
        if more == total:
            break
        total = more
    return total


@kernel
def binomial_log_pmf(k: float, n: float, p: float, q: float) -> float:
    """Return the logarithm of the probability of k successes, to about 10^−15: Loader (2000)."""
    if k == 0.0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if k == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    rest = stirling_rest(n) - stirling_rest(k) - stirling_rest(n - k)
    rest -= deviance(k, n * p) + deviance(n - k, n * q)
    return rest - _HALF_LOG_2_PI - 0.5 * math.log(k * ((n - k) / n))


@kernel(borrows=True)
def binomial_by_rejection(rng: Rng, n: int, p: float) -> int:
    """Draw a Binomial variable like `binomial`, but several times as fast: Hörmann (1993), BTRS.

    If fewer than ten successes, or failures, are expected, by adding up probabilities; beyond 2^50
    trials by `binomial`. Exact up to rounding: the probabilities in comparisons have an error of
    about 10^−15.
    """
    if n > _MOST or n <= 0 or p <= 0.0 or p >= 1.0:
        return binomial(rng, n, p)
    if p > 0.5:
        return n - _at_most_half(rng, n, 1.0 - p)
    return _at_most_half(rng, n, p)


@kernel(borrows=True)
def _at_most_half(rng: Rng, n: int, p: float) -> int:
    q = 1.0 - p
    if n * p < 10.0:
        u = rng.random()
        mass, odds = math.exp(n * math.log1p(-p)), p / q
        for k in range(n):
            if u < mass:
                return k
            u -= mass
            mass *= odds * (n - k) / (k + 1)
            if mass < 1e-300:  # u is a rounding residue
                return k
        return n
    spread = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center, surely = n * p + 0.5, 0.92 - 4.2 / b
    mode = math.nan
    while True:
        u, v = rng.random() - 0.5, rng.random()
        side = 0.5 - abs(u)
        if side <= 0.0:
            continue
        k = np.floor((2.0 * a / side + b) * u + center)
        if side >= 0.07 and v <= surely:
            return int(k)
        if k < 0.0 or k > n:
            continue
        if mode != mode:
            mode = binomial_log_pmf(np.floor((n + 1) * p), float(n), p, q)
        v *= (2.83 + 5.1 / b) * spread / (a / (side * side) + b)
        if v <= 0.0 or math.log(v) <= binomial_log_pmf(k, float(n), p, q) - mode:
            return int(k)
