"""Counts of successes with Laplace noise: exact tails, and the test by two p-values.

A released count is S = X + Z/ε with X ~ Bin(n, θ) and Z a sum of m Laplace variables of scale 1.
With A_k = P(Z ≥ ε(s − k)),

    P⁺(s; θ) = P(S ≥ s) = Σ_k P(X = k)·A_k = P(X ≥ s) + Σ_{k<s} P(X = k)·Q(ε(s − k))
                                                     − Σ_{k≥s} P(X = k)·Q(ε(k − s)),

where Q(y) = P(Z > y) is, for y ≥ 0, e^(−y) times a polynomial with positive coefficients. The first
term is an integral of a Beta density, by Gauss–Legendre quadrature; in the sums all terms are
positive and their quotients decrease, so that the remainder is bounded. P⁻(s; θ) = P(S ≤ s) is P⁺(n
− s; 1 − θ). The logarithm of P⁺ is concave in θ (:prf:ref:`lem-two-concave`), so the test can
certify that it has found the largest product of two of them.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits.configuration import Budget, Count, Number, between, checked_arguments, whole
from dpbandits.mechanisms.noise import laplace_tail_polynomial
from dpbandits.rewards.binomial import binomial_log_pmf

__all__ = ["log_p_value", "two_p_values"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0  # on [0, 1]
_DROP = 40.0  # the density decreases by e^−40 over the range of the quadrature
_REST = 1e-16  # relative remainder of a sum
_STEPS = 100
_LOGS = tuple[float, float]


@kernel
def _at_least(k: float, n: float, p: float, q: float) -> _LOGS:
    """Return log P(X ≥ k), 1 ≤ k ≤ n, and the logarithm of its derivative in p.

    The derivative is g(t) = k·P(X = k)/t at t = p, and the probability its integral from 0 on.
    """
    log_slope = math.log(k) + binomial_log_pmf(k, n, p, q) - math.log(p)
    if p * (n - 1.0) <= k - 1.0 or p * n < 0.5:
        return log_slope + _log_integral(k, n, p, q), log_slope
    return math.log1p(-math.exp(log_slope + _log_integral(n - k + 1.0, n, q, p))), log_slope


@kernel
def _log_integral(k: float, n: float, p: float, q: float) -> float:
    """Return log ∫ g(t)/g(p) dt from 0 to p, where g increases: p ≤ (k − 1)/(n − 1)."""
    slope, curvature = (k - 1.0) / p - (n - k) / q, (k - 1.0) / (p * p) + (n - k) / (q * q)
    steep = max(slope, 0.0) + math.sqrt(max(slope, 0.0) ** 2 + 2.0 * curvature * _DROP)
    width = min(p, 2.0 * _DROP / max(steep, 1e-300))
    while width < p and _log_share(width, k, n, p, q) > -_DROP:
        width = min(p, 1.25 * width)
    total = 0.0
    for i in range(_NODES.size):
        total += _WEIGHTS[i] * math.exp(_log_share(width * _NODES[i], k, n, p, q))
    return math.log(width * total)


@kernel
def _log_share(step: float, k: float, n: float, p: float, q: float) -> float:
    """Return log(g(p − step)/g(p)), concave in the step."""
    fall = (n - k) * math.log1p(step / q)
    return fall + (k - 1.0) * math.log1p(-step / p) if k > 1.0 else fall


@kernel
def _polynomial(coefficients: Floats, y: float) -> float:
    """Return e^y·Q(y)."""
    value: float = coefficients[-1]
    for i in range(coefficients.size - 2, -1, -1):
        value = value * y + coefficients[i]
    return value


@kernel
def _below(
    top: float, distance: float, n: float, p: float, q: float, epsilon: float, coefficients: Floats
) -> tuple[float, float, float]:
    """Sum P(X = k)·Q(ε(s − k)) over k ≤ top, where s − top is `distance` ≥ 0.

    Returns the logarithm of a scale, and in its units the sum, and the sum of the terms times k −
    np. Beyond the largest term each quotient of neighbours is smaller than the one before.
    """
    if top > n:
        top, distance = n, distance + (top - n)
    if top < 0.0 or epsilon == math.inf:
        return -math.inf, 0.0, 0.0
    falls = math.exp(-epsilon)
    start = max(0.0, top - math.floor(n * (p / (p + q * falls))))
    k, y = top - start, epsilon * (distance + start)
    unit = _polynomial(coefficients, y)
    scale = binomial_log_pmf(k, n, p, q) - y + math.log(unit)
    center = n * p
    total, moment = 1.0, k - center
    mass, before, odds, at, steps = 1.0, 1.0, q / p, k, 0.0
    while at > 0.0:
        steps += 1.0
        mass *= odds * at / (n - at + 1.0) * falls
        at = k - steps
        term = mass * _polynomial(coefficients, y + steps * epsilon) / unit
        total += term
        moment += term * (at - center)
        if term < before and term * term < _REST * total * (before - term):
            break
        before = term
    mass, before, odds, rises, at, steps = 1.0, 1.0, p / q, math.exp(epsilon), k, 0.0
    while steps < start:
        steps += 1.0
        mass *= odds * (n - at) / (at + 1.0) * rises
        at = k + steps
        term = mass * _polynomial(coefficients, y - steps * epsilon) / unit
        total += term
        moment += term * (at - center)
        if term < before and term * term < _REST * total * (before - term):
            break
        before = term
    return scale, total, moment


@kernel
def p_value_kernel(
    s: float, n: float, p: float, q: float, epsilon: float, coefficients: Floats
) -> _LOGS:
    """Return log P⁺(s; p) and its derivative in p.

    Shapes: `coefficients` (m,).
    """
    first = np.ceil(s)
    tail, log_slope = 0.0, -math.inf
    if first > n:
        tail = -math.inf
    elif first > 0.0:
        tail, log_slope = _at_least(first, n, p, q)
    more, plus, plus_moment = _below(first - 1.0, s - first + 1.0, n, p, q, epsilon, coefficients)
    less, minus, minus_moment = _below(n - first, first - s, n, q, p, epsilon, coefficients)
    unit = max(tail, more)
    if unit == -math.inf:
        return -math.inf, 0.0
    up, down = math.exp(more - unit), math.exp(less - unit)
    total = math.exp(tail - unit) + up * plus - down * minus
    change = (up * plus_moment + down * minus_moment) / p / q + math.exp(log_slope - unit)
    return unit + math.log(total), change / total


@kernel
def rules_out_kernel(
    leader: float, other: float, n: float, epsilon: float, coefficients: Floats, log_level: float
) -> bool:
    """Return whether sup_θ P⁺(leader; θ)·P⁻(other; θ) is at most a level.

    The logarithm of the product is concave in θ, so it is below its tangents: the answer is yes
    only if these prove it, and no if a product above the level was found, or if the two are too
    close to decide.

    Shapes: `coefficients` (m,).
    """
    least = 1e-8 / math.sqrt(n)  # θ = sin²(angle)
    low, high = least, 0.5 * math.pi - least
    angle = 0.0
    for s in (leader, other):
        angle += 0.5 * math.asin(math.sqrt(min(max(s / n, 0.0), 1.0)))
    angle = min(max(angle, low), high)
    rise, fall = math.inf, -math.inf  # slopes at low and high, in the angle, halved for speed
    log_low, slope_low, log_high, slope_high = 0.0, 0.0, 0.0, 0.0
    stride = 1.0 / (8.0 * n)
    last = 0
    for _ in range(_STEPS):
        p, q = math.sin(angle) ** 2, math.cos(angle) ** 2
        log_plus, slope_plus = p_value_kernel(leader, n, p, q, epsilon, coefficients)
        log_minus, slope_minus = p_value_kernel(n - other, n, q, p, epsilon, coefficients)
        log, slope = log_plus + log_minus, slope_plus - slope_minus
        if log > log_level:
            return False
        if log == -math.inf:
            return True
        turn = slope * math.sin(2.0 * angle)
        if slope >= 0.0:
            low, log_low, slope_low, rise = angle, log, slope, turn
            if last > 0:
                fall *= 0.5
            last = 1
        else:
            high, log_high, slope_high, fall = angle, log, slope, turn
            if last < 0:
                rise *= 0.5
            last = -1
        if rise == math.inf:
            bound = log - slope * p
            angle = max(angle + stride * turn, 0.5 * (low + high) if stride > 1.0 else low)
            stride *= 4.0
        elif fall == -math.inf:
            bound = log + slope * q
            angle = min(angle + stride * turn, 0.5 * (low + high) if stride > 1.0 else high)
            stride *= 4.0
        else:
            apart = math.sin(high - low) * math.sin(high + low)
            ahead = (log_high - log_low - slope_high * apart) / max(slope_low - slope_high, 1e-300)
            bound = log_low + slope_low * min(max(ahead, 0.0), apart)
            angle = low + (high - low) * (rise / max(rise - fall, 1e-300))
        if bound <= log_level:
            return True
        if high - low <= 1e-15:
            return False
    return False


@functools.lru_cache(maxsize=64)
def tail_coefficients(releases: int) -> Floats:
    """Return `laplace_tail_polynomial` for compiled functions, the same array each time.

    Shapes: the result (m,).
    """
    found = laplace_tail_polynomial(releases)
    found.flags.writeable = False
    return found


_Theta = Annotated[float, between(0.0, 1.0)]
_Releases = Annotated[int, whole(1, 16)]


@checked_arguments
def log_p_value(
    count: Number, size: Count, theta: _Theta, epsilon: Budget, releases: _Releases = 1
) -> float:
    """Return log P(X + Z/ε ≥ s) for X ~ Bin(n, θ) and Z a sum of m Laplace variables of scale 1."""
    p = min(max(theta, 1e-300), 1.0 - 1e-16)
    coefficients = tail_coefficients(releases)
    return float(p_value_kernel(count, float(size), p, 1.0 - p, epsilon, coefficients)[0])


@checked_arguments
def two_p_values(
    leader: Number,
    other: Number,
    size: Count,
    epsilon: Budget,
    log_level: Annotated[float, between(-1e6, 0.0)],
    releases: _Releases = 1,
) -> bool:
    """Return whether sup_θ P⁺(leader; θ)·P⁻(other; θ) ≤ κ, which rules the other arm out.

    If the arms have the means μ_i ≤ μ, the leader's count rules out the arm of mean μ with
    probability at most κ(1 + log(1/κ)). Proof: :prf:ref:`lem-two-size`.
    """
    coefficients = tail_coefficients(releases)
    return bool(rules_out_kernel(leader, other, float(size), epsilon, coefficients, log_level))
