"""What a stopping rule compares its statistic with: each threshold once, for fixed confidence δ."""

from __future__ import annotations

import math

import scipy

from dpbandits._kernels import kernel

__all__ = [
    "RULES",
    "chernoff_threshold",
    "gamma_tail_point",
    "gaussian_threshold",
    "mixture_threshold",
    "pair_constant",
    "pair_threshold",
    "separate_threshold",
    "union_threshold",
]

RULES = ("chernoff", "union", "theoretical", "separate", "heuristic", "published")
"""All thresholds for released batches; compiled functions know them by their places here."""
_CHERNOFF, _UNION, _, _, _HEURISTIC, _PUBLISHED = range(6)

_ZETA_2 = math.pi**2 / 6
Pair = tuple[int, int]


@kernel
def gamma_tail_point(log_inverse: float) -> float:
    """Return c > 0 with (1 + c)·e^−c = e^−L for L = `log_inverse`, or 0 for L ≤ 0.

    It is the tail of a Gamma variable of shape 2. As c − log(1 + c) is convex and increasing,
    Newton's method descends to the root.

    Examples
    --------
    >>> round(gamma_tail_point(10.0), 6), gamma_tail_point(0.0)
    (12.610869, 0.0)
    """
    if log_inverse <= 0.0:
        return 0.0
    # above the root: 1 + c ≤ (1 + L)·e^√(2L) here
    c = log_inverse + math.sqrt(2.0 * log_inverse) + math.log1p(log_inverse)
    for _ in range(100):
        step = (c - math.log1p(c) - log_inverse) * (1.0 + c) / c
        c -= step
        if abs(step) <= 1e-15 * c:
            break
    return c


def pair_constant(rule: str, delta: float, n_arms: int, exponent: float) -> float:
    """Return what `pair_threshold` needs of δ, K and s, for "chernoff" or "union"."""
    if rule == "chernoff":
        return math.log((n_arms - 1) / delta) + 2.0 * math.log(scipy.special.zeta(exponent))
    return 2.0 * math.log(n_arms * scipy.special.zeta(exponent) / delta)


@kernel
def pair_threshold(kind: int, constant: float, exponent: float, first: int, second: int) -> float:
    """Return `chernoff_threshold` or `union_threshold`, by their places in `RULES`."""
    level = constant + exponent * math.log(float(first) * float(second))
    return gamma_tail_point(level) if kind == _CHERNOFF else level


def chernoff_threshold(
    delta: float, n_arms: int, first: int, second: int, exponent: float = 1.3
) -> float:
    """Return c with (1 + c)·e^−c = δ/((K − 1)·ζ(s)²·(k·k′)^s): log(1/δ) to leading order.

    For K arms, of which two have had k = `first` and k′ = `second` releases, and s > 1. Proof:
    :prf:ref:`thm-chernoff-correct`.

    Examples
    --------
    >>> round(chernoff_threshold(0.01, 5, 10, 10), 3), round(union_threshold(0.01, 5, 10, 10), 3)
    (17.642, 21.154)
    """
    constant = pair_constant("chernoff", delta, n_arms, exponent)
    return pair_threshold(_CHERNOFF, constant, exponent, first, second)


def union_threshold(
    delta: float, n_arms: int, first: int, second: int, exponent: float = 1.3
) -> float:
    """Return log(K·ζ(s)·k^s/δ) + log(K·ζ(s)·k′^s/δ), about 2·log(1/δ): :prf:ref:`prop-union`."""
    constant = pair_constant("union", delta, n_arms, exponent)
    return pair_threshold(_UNION, constant, exponent, first, second)


@kernel
def mixture_threshold(delta: float, n_arms: int, first: int, second: int) -> float:
    """Return log((K − 1)/δ) + ½·log(4·n) + ½·log(4·n′), valid after every pull.

    n and n′ are the arms' pulls. Proof, by Krichevsky & Trofimov (1981): :prf:ref:`prop-free`.

    Examples
    --------
    >>> round(mixture_threshold(0.01, 5, 1000, 1000), 3)
    14.286
    """
    union = math.log((n_arms - 1) / delta)
    return union + 0.5 * math.log(4.0 * first) + 0.5 * math.log(4.0 * second)


@kernel
def _sampling_log(delta: float, n_arms: int, k: int, j: int) -> float:
    # half of δ goes to the rewards of all pairs of batches
    return math.log(2 * (n_arms - 1) * _ZETA_2**2 / delta) + 2 * math.log(k * j)


@kernel
def _noise_log(delta: float, n_arms: int, k: int) -> float:
    # the other half goes to the noise of all batches
    return math.log(2 * n_arms * _ZETA_2 * k**2 / delta)


@kernel
def gaussian_threshold(
    kind: int, delta: float, epsilon: float, n_arms: int, releases: Pair, batches: Pair
) -> float:
    """Return what AdaP-TT compares (μ̃_ã − μ̃_a)²/(2(1/n + 1/n′)) with.

    Parameters
    ----------
    kind : int
        Place in `RULES` of "theoretical": 2C(½·log(2(K−1)ζ(2)²(kk′)²/δ)) + 2·log(4 + log n) +
        2·log(4 + log n′) + Σ log²(2Kζ(2)k_i²/δ)/(n_i·ε²) with C(x) = x + log x, which is δ-correct
        (proof: :prf:ref:`prop-adap`); of "published": one phase index, the larger of k and k′, for
        both: 2C(½·log((K−1)ζ(2)k²/δ)) + … + (1/n + 1/n′)·log²(2Kζ(2)k²/δ)/ε²; or of "heuristic":
        log(1/δ) + log(1 + log n) + log(1 + log n′) + (1/n + 1/n′)·log²(1/δ)/ε².
    delta, epsilon, n_arms, releases, batches
        δ, ε, K, the arms' numbers (k, k′) of releases, and sizes (n, n′) of their last batches.

    Examples
    --------
    >>> kinds = [RULES.index(name) for name in ("theoretical", "heuristic", "published")]
    >>> [round(gaussian_threshold(k, 0.01, 1.0, 5, (9, 9), (256, 256)), 2) for k in kinds]
    [30.8, 8.53, 24.38]
    """
    (k, j), (n, m) = releases, batches
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


@kernel
def separate_threshold(
    delta: float, epsilon: float, n_arms: int, releases: Pair, batches: Pair
) -> float:
    """Return the gap of two released means that a wrong order exceeds with a small probability.

    √(½(1/n + 1/n′)·log(2(K−1)ζ(2)²(kk′)²/δ)) + Σ log(2Kζ(2)k_i²/δ)/(n_i·ε); arguments as above.
    Proof: Hoeffding's inequality and the Laplace tails, added up as in :prf:ref:`prop-adap`.

    Examples
    --------
    >>> round(separate_threshold(0.01, 1.0, 5, (9, 9), (256, 256)), 4)
    0.3458
    """
    (k, j), (n, m) = releases, batches
    width = math.sqrt(0.5 * (1 / n + 1 / m) * _sampling_log(delta, n_arms, k, j))
    noise = _noise_log(delta, n_arms, k) / (n * epsilon)
    return width + (noise + _noise_log(delta, n_arms, j) / (m * epsilon))
