"""Thresholds of stopping rules with fixed confidence δ.

The functions named ``…_kernel`` are for compiled loops: they check nothing, and identify a
threshold by its index in `RULES`. The others check their arguments and call them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

import scipy

from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_choice, check_integer, check_range
from dpbandits.configuration import ArmCount, Budget, Count, between, checked_arguments

__all__ = [
    "RULES",
    "chernoff_threshold",
    "gamma_tail_point",
    "gaussian_threshold",
    "mixture_threshold",
    "pair_constant",
    "separate_threshold",
    "union_threshold",
]

RULES = ("chernoff", "union", "theoretical", "separate", "heuristic", "published")
"""All thresholds for released batches; compiled functions identify them by their indices here."""
GAUSSIAN_RULES = ("theoretical", "heuristic", "published")
"""Those of `gaussian_threshold`."""
PAIR_RULES = ("chernoff", "union")
"""Those of `pair_constant`."""
_CHERNOFF, _UNION, _, _, _HEURISTIC, _PUBLISHED = range(6)

_ZETA_2 = math.pi**2 / 6
Pair = tuple[int, int]
"""A number for each of two arms."""
_Numbers = tuple[float, float]


def _check_pair(name: str, value: Any) -> Pair:
    """Return two integers of at least 1."""
    try:
        first, second = value
    except (TypeError, ValueError):
        allowed = "two whole numbers of at least 1"
        raise ValueError(f"{name}={value!r} is not a pair; allowed: {allowed}") from None
    return check_integer(f"{name}[0]", first, 1), check_integer(f"{name}[1]", second, 1)


_Confidence = Annotated[
    float,
    partial(
        check_range,
        low=1e-300,
        high=math.nextafter(1.0, 0.0),
        allowed="a number strictly between 0 and 1 (at least 1e-300)",
    ),
]
_Exponent = Annotated[float, between(1.001, 100.0)]
_Pair = Annotated[Pair, _check_pair]


@kernel
def gamma_tail_kernel(log_inverse: float) -> float:
    """Return `gamma_tail_point` without checks, for compiled loops."""
    if log_inverse <= 0.0:
        return 0.0
    # start above the root: 1 + c ≤ (1 + L)·e^√(2L) here
    c = log_inverse + math.sqrt(2.0 * log_inverse) + math.log1p(log_inverse)
    for _ in range(100):
        step = (c - math.log1p(c) - log_inverse) * (1.0 + c) / c
        c -= step
        if abs(step) <= 1e-15 * c:
            break
    return c


@checked_arguments
def gamma_tail_point(log_inverse: Annotated[float, between(-1e100, 1e100)]) -> float:
    """Return c > 0 with (1 + c)·e^−c = e^−L, the tail of a Gamma variable of shape 2.

    As c − log(1 + c) is convex and increasing, Newton's method descends to the root.
    """
    return float(gamma_tail_kernel(log_inverse))


@checked_arguments
def pair_constant(rule: str, delta: _Confidence, n_arms: ArmCount, exponent: _Exponent) -> float:
    """Return the part of a threshold for pairs of released batches that depends on δ, K and s.

    log((K − 1)·ζ(s)²/δ) for "chernoff", and 2·log(K·ζ(s)/δ) for "union".
    """
    zeta = scipy.special.zeta(exponent)
    if check_choice("rule", rule, PAIR_RULES) == "chernoff":
        return math.log((n_arms - 1) / delta) + 2.0 * math.log(zeta)
    return 2.0 * math.log(n_arms * zeta / delta)


@kernel
def pair_threshold_kernel(
    kind: int, constant: float, exponent: float, first: float, second: float
) -> float:
    """Return `chernoff_threshold` or `union_threshold`, for compiled loops."""
    level = constant + exponent * math.log(float(first) * float(second))
    return gamma_tail_kernel(level) if kind == _CHERNOFF else level


@checked_arguments
def chernoff_threshold(
    delta: _Confidence, n_arms: ArmCount, first: Count, second: Count, exponent: _Exponent = 1.3
) -> float:
    """Return c with (1 + c)·e^−c = δ/((K − 1)·ζ(s)²·(k·k′)^s): log(1/δ) to leading order.

    A transportation cost of two arms, calibrated to their noise, above this threshold is sufficient
    evidence: :prf:ref:`thm-chernoff-correct`.
    """
    constant = pair_constant("chernoff", delta, n_arms, exponent)
    return float(pair_threshold_kernel(_CHERNOFF, constant, exponent, float(first), float(second)))


@checked_arguments
def union_threshold(
    delta: _Confidence, n_arms: ArmCount, first: Count, second: Count, exponent: _Exponent = 1.3
) -> float:
    """Return log(K·ζ(s)·k^s/δ) + log(K·ζ(s)·k′^s/δ), about 2·log(1/δ).

    The threshold by a union bound over the two arms: :prf:ref:`prop-union`.
    """
    constant = pair_constant("union", delta, n_arms, exponent)
    return float(pair_threshold_kernel(_UNION, constant, exponent, float(first), float(second)))


@kernel
def mixture_threshold_kernel(delta: float, n_arms: int, first: float, second: float) -> float:
    """Return `mixture_threshold` without checks, for compiled loops."""
    union = math.log((n_arms - 1) / delta)
    return union + 0.5 * math.log(4.0 * first) + 0.5 * math.log(4.0 * second)


@checked_arguments
def mixture_threshold(delta: _Confidence, n_arms: ArmCount, first: Count, second: Count) -> float:
    """Return log((K − 1)/δ) + ½·log(4·n) + ½·log(4·n′), valid after every pull.

    Proof, by Krichevsky & Trofimov (1981): :prf:ref:`prop-free`.
    """
    return float(mixture_threshold_kernel(delta, n_arms, float(first), float(second)))


@kernel
def customary_threshold_kernel(delta: float, pulls: float) -> float:
    """Return log((1 + log t)/δ), customary in experiments with Top Two, without a proof."""
    return math.log((1.0 + math.log(float(pulls))) / delta)


@kernel
def _sampling_log(delta: float, n_arms: int, k: float, j: float) -> float:
    # half of δ is for the rewards of all pairs of batches
    return math.log(2 * (n_arms - 1) * _ZETA_2**2 / delta) + 2 * math.log(k * j)


@kernel
def _noise_log(delta: float, n_arms: int, k: float) -> float:
    # the other half is for the noise of all batches
    return math.log(2 * n_arms * _ZETA_2 * (k * k) / delta)


@kernel
def gaussian_threshold_kernel(
    kind: int, delta: float, epsilon: float, n_arms: int, releases: _Numbers, batches: _Numbers
) -> float:
    """Return `gaussian_threshold` without checks, for compiled loops."""
    k, j = float(releases[0]), float(releases[1])  # floats: their products may exceed 64 bits
    n, m = batches
    if kind == _HEURISTIC:
        private = (1 / n + 1 / m) * (math.log(1 / delta) / epsilon) ** 2
        return math.log((1 + math.log(n)) * (1 + math.log(m)) / delta) + private
    grown = 2 * math.log(4 + math.log(n)) + 2 * math.log(4 + math.log(m))
    if kind == _PUBLISHED:
        k = j = max(k, j)
        sampling = math.log((n_arms - 1) * _ZETA_2 / delta) + 2 * math.log(k)
    else:
        sampling = _sampling_log(delta, n_arms, k, j)
    private = (_noise_log(delta, n_arms, k) / epsilon) ** 2 / n
    private += (_noise_log(delta, n_arms, j) / epsilon) ** 2 / m
    half = sampling / 2
    return 2 * (half + math.log(half)) + grown + private


@checked_arguments
def gaussian_threshold(
    kind: str,
    delta: _Confidence,
    epsilon: Budget,
    n_arms: ArmCount,
    releases: _Pair,
    batches: _Pair,
) -> float:
    """Return the threshold of AdaP-TT for (μ̃_ã − μ̃_a)²/(2(1/n + 1/n′)).

    With k, k′ the arms' numbers of releases, n, n′ the sizes of their last batches, and
    C(x) = x + log x, it is

    - "theoretical": 2C(½·log(2(K−1)ζ(2)²(kk′)²/δ)) + 2·log(4 + log n) + 2·log(4 + log n′) +
      Σ log²(2Kζ(2)k_i²/δ)/(n_i·ε²), which is δ-correct (proof: :prf:ref:`prop-adap`);
    - "published": one phase index, the larger of k and k′, for both:
      2C(½·log((K−1)ζ(2)k²/δ)) + … + (1/n + 1/n′)·log²(2Kζ(2)k²/δ)/ε²;
    - "heuristic": log(1/δ) + log(1 + log n) + log(1 + log n′) + (1/n + 1/n′)·log²(1/δ)/ε².
    """
    place = RULES.index(check_choice("kind", kind, GAUSSIAN_RULES))
    sizes = float(batches[0]), float(batches[1])
    return float(gaussian_threshold_kernel(place, delta, epsilon, n_arms, releases, sizes))


@kernel
def separate_threshold_kernel(
    delta: float, epsilon: float, n_arms: int, releases: _Numbers, batches: _Numbers
) -> float:
    """Return `separate_threshold` without checks, for compiled loops."""
    k, j = float(releases[0]), float(releases[1])
    n, m = batches
    width = math.sqrt(0.5 * (1 / n + 1 / m) * _sampling_log(delta, n_arms, k, j))
    noise = _noise_log(delta, n_arms, k) / (n * epsilon)
    return width + (noise + _noise_log(delta, n_arms, j) / (m * epsilon))


@checked_arguments
def separate_threshold(
    delta: _Confidence, epsilon: Budget, n_arms: ArmCount, releases: _Pair, batches: _Pair
) -> float:
    """Return the gap of two released means that is rarely exceeded if their order is wrong.

    √(½(1/n + 1/n′)·log(2(K−1)ζ(2)²(kk′)²/δ)) + Σ log(2Kζ(2)k_i²/δ)/(n_i·ε). Proof: Hoeffding's
    inequality and the Laplace tails, added up as in :prf:ref:`prop-adap`.
    """
    sizes = float(batches[0]), float(batches[1])
    return float(separate_threshold_kernel(delta, epsilon, n_arms, releases, sizes))
