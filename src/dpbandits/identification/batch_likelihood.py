"""The exact law of a privately released batch: a Binomial sum plus Laplace noise.

A batch of n rewards of an arm with mean u is released as x = Bin(n, u) + Lap(1/ε). Its density is

    f(x) = (ε/2)·Σ_j C(n, j) u^j (1 − u)^(n−j) e^(−ε|x − j|),

and with k = ⌊x⌋ the terms j ≤ k add up to a tail of the Binomial law of mean
u⁺ = u e^ε/(1 − u + u e^ε):

    Σ_{j≤k} Bin(j; n, u) e^(−ε(x−j)) = e^(−εx) (1 − u + u e^ε)^n · P(Bin(n, u⁺) ≤ k).   (tail)

The terms j > k are the same after a change of successes into failures. Everything is computed on
the log scale, and without the incomplete beta function, which underflows there:

- *k ≤ n u⁺.* The sum is its last term times Σ_{j≤k} Π_{i≤j} r_i, r_i = (k+1−i)/(n−k+i)·(1−p)/p,
  p = u⁺: a series that falls from 1 on, added up as it stands where it falls fast. Elsewhere it is
  an integral, by I_{1−p}(n − k, k + 1) with the substitution t = (1 − p)e^(−y):

      (n − k) ∫_0^∞ exp(−(n − k)y + k·log(1 + (1 − e^(−y))(1 − p)/p)) dy.

  The exponent is concave and falls from 0 on; Gauss–Legendre nodes go to where it is −37.
- *k > n u⁺.* The right side of (tail) as it stands, with P = 1 − (the other tail), which is
  computed as before.

Concavity, which certifies the infimum in `dpbandits.identification.evidence`: f(x) is a polynomial
of degree n in u in Bernstein's form, with coefficients (ε/2)e^(−ε|x−j|) that are log-concave in j,
and hence **log f is concave in u** on [0, 1], whatever x is.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import check_integer, check_number, check_positive

__all__ = ["batch_log_likelihood", "log_density"]

_REACH = 37.0
"""The integral is cut where the exponent is below −37, at 10⁻¹⁶ of the integrand's maximum."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@njit(cache=True, nogil=True)
def _stirling_error(n: float) -> float:
    """Return log n! minus Stirling's formula (n + ½)·log n − n + ½·log 2π, for n ≥ 1."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TWO_PI
    square = n * n
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) / n


@njit(cache=True, nogil=True)
def _deviance(k: float, mean: float) -> float:
    """Return k·log(k/mean) + mean − k ≥ 0 without cancellation (Loader 2000)."""
    difference = k - mean
    if abs(difference) >= 0.1 * (k + mean):
        return k * math.log(k / mean) - difference
    v = difference / (k + mean)
    total = difference * v
    term = 2.0 * k * v
    for i in range(1, 40):
        term *= v * v
        before = total
        total += term / (2 * i + 1)
        if total == before:
            break
    return total


@njit(cache=True, nogil=True)
def _log_pmf(k: float, n: float, p: float, q: float) -> float:
    """Return log P(Bin(n, p) = k) for 0 ≤ k ≤ n, q = 1 − p > 0, by Loader's saddle point."""
    if k == 0.0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if k == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    value = _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k)
    value -= _deviance(k, n * p) + _deviance(n - k, n * q)
    return value - _HALF_LOG_TWO_PI - 0.5 * (math.log(k) + math.log1p(-k / n))


@njit(cache=True, nogil=True)
def _log_tail_ratio(k: float, n: float, odds: float) -> float:
    """Return log(P(Bin(n, p) ≤ k)/P(Bin(n, p) = k)) for k ≤ np, with odds = (1 − p)/p."""
    ratio = k / (n - k + 1.0) * odds
    if ratio < 0.75 or k < 30.0:
        total = term = 1.0
        i = 1.0
        while i <= k and term > 1e-17 * total:
            term *= (k + 1.0 - i) / (n - k + i) * odds
            total += term
            i += 1.0
        return math.log(total)
    rest = n - k
    # the exponent starts with slope −slope and curvature −bend, which lessens
    slope, bend = max(rest - k * odds, 0.0), k * odds * (1.0 + odds)
    end = 2.0 * _REACH / (slope + math.sqrt(slope * slope + 2.0 * _REACH * bend))
    for _ in range(6):  # Newton; from the first step on from beyond the root
        fall = -math.expm1(-end)
        inside = 1.0 + odds * fall
        excess = -rest * end + k * math.log(inside) + _REACH
        if abs(excess) < 1.0:
            break
        end -= excess / (-rest + k * odds * (1.0 - fall) / inside)
    total = 0.0
    for i in range(_NODES.size):
        y = 0.5 * end * (1.0 + _NODES[i])
        total += _WEIGHTS[i] * math.exp(-rest * y + k * math.log1p(-odds * math.expm1(-y)))
    return math.log(0.5 * end * rest * total)


@njit(cache=True, nogil=True)
def _log_lower_sum(n: float, k: float, beyond: float, u: float, v: float, epsilon: float) -> float:
    """Return log Σ_{j≤k} P(Bin(n, u) = j)·e^(−ε(k − j + beyond)), with v = 1 − u > 0."""
    if k < 0.0:
        return -math.inf
    share = math.exp(-epsilon)
    whole = u + v * share
    log_whole = math.log(whole) if whole < 0.5 else math.log1p(v * math.expm1(-epsilon))
    if k >= n:
        return n * log_whole - epsilon * (k - n + beyond)
    p, q = u / whole, v * share / whole
    if k * q <= (n - k) * p:
        return _log_pmf(k, n, u, v) - epsilon * beyond + _log_tail_ratio(k, n, q / p)
    other = math.exp(_log_pmf(k + 1.0, n, p, q) + _log_tail_ratio(n - k - 1.0, n, p / q))
    if u < 0.5 and epsilon < 30.0:
        log_all = n * math.log1p(u * math.expm1(epsilon)) - epsilon * (k + beyond)
    else:
        log_all = n * log_whole + epsilon * (n - k - beyond)
    return log_all + math.log1p(-min(other, 1.0))


@njit(cache=True, nogil=True)
def log_density(n: float, x: float, u: float, epsilon: float) -> float:
    """Return log f_{n,u}(x), the density of Bin(n, u) + Lap(1/ε) at x, for compiled kernels.

    Parameters
    ----------
    n : float
        Size of the batch, a whole number n ≥ 1.
    x : float
        Released sum; any real number.
    u : float
        Mean, 0 ≤ u ≤ 1.
    epsilon : float
        ε > 0; with ``inf`` the logarithm of the Binomial probability of x.

    Returns
    -------
    float

    Examples
    --------
    With u = 0 the sum is 0, and the density that of Laplace noise:

    >>> log_density(10.0, 3.0, 0.0, 2.0) == math.log(2.0 / 2) - 2.0 * 3.0
    True
    """
    v = 1.0 - u
    if epsilon == math.inf:
        if u == 0.0 or v == 0.0:
            return 0.0 if x == n * u else -math.inf
        return _log_pmf(x, n, u, v)
    scale = math.log(0.5 * epsilon)
    if u == 0.0 or v == 0.0:
        return scale - epsilon * abs(x - n * u)
    k = math.floor(x)
    beyond = x - k
    low = _log_lower_sum(n, k, beyond, u, v, epsilon)
    high = _log_lower_sum(n, n - k - 1.0, 1.0 - beyond, v, u, epsilon)
    if low < high:
        low, high = high, low
    return scale + low + math.log1p(math.exp(high - low))


@njit(cache=True, nogil=True)
def _log_densities(
    n: float, x: float, u: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    values = np.empty(u.size)
    for i in range(u.size):
        values[i] = log_density(n, x, u[i], epsilon)
    return values


def batch_log_likelihood(n: int, x: float, u: ArrayLike, epsilon: float) -> NDArray[np.float64]:
    """Return the log-likelihood of means u, given a batch of n rewards released as x.

    Parameters
    ----------
    n : int
        Size of the batch.
    x : float
        Released sum: of n rewards, plus Lap(1/ε).
    u : array_like of float
        Means in [0, 1].
    epsilon : float
        ε > 0; ``inf`` is allowed, where x is a whole number from 0 to n.

    Returns
    -------
    numpy.ndarray of float, of the shape of `u`

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> batch_log_likelihood(2, 1.0, [0.5], float("inf")).round(6).tolist() == [-0.693147]
    True
    >>> values = batch_log_likelihood(100, 70.3, [0.6, 0.7, 0.8], 1.0)
    >>> int(values.argmax())
    1
    """
    n = check_integer("n", n, 1, 2**53)
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    allowed = "a finite number"
    x = check_number("x", x, allowed)
    if epsilon == math.inf:
        allowed = "a whole number from 0 to n, as there is no noise"
        if not (x.is_integer() and 0 <= x <= n):
            raise ValueError(f"x={x!r} is out of range; allowed: {allowed}")
    elif not math.isfinite(x):
        raise ValueError(f"x={x!r} is out of range; allowed: {allowed}")
    means = np.asarray(u, dtype=np.float64)
    if not ((means >= 0) & (means <= 1)).all():
        raise ValueError(f"u={u!r} is out of range; allowed: [0, 1]")
    return _log_densities(float(n), x, means.ravel(), epsilon).reshape(means.shape)
