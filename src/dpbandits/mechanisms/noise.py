"""Laplace noise: draws for compiled kernels and for arrays, and exact distributions of sums.

*Sums.* The noise of a counter is a sum of Laplace variables. The absolute value of a sum of m of
them of scale 1 is a mixture of gamma distributions of shapes 1, …, m: its density at x is Σ w_i
|x|^(i−1) e^(−|x|)/(i−1)! with

    w_i = C(2m − 1 − i, m − 1)·2^(i − 2m),    Σ w_i = 1/2.

Two such sums of different scales are convolved by Gauss–Legendre quadrature between the kinks of
the integrand. All terms are non-negative: a tail of 10^(−200) is as accurate as one of 1/2, to 12
digits.

*Many sums.* The gamma distribution of shape i has the tail e^(−x)·Σ_{k<i} x^k/k!, so that with

    c_k = 2·(w_{k+1} + … + w_m),    1 = c_0 > c_1 > … > c_{m−1} > 0,

a sum of m exceeds x in absolute value with probability e^(−x)·Σ c_k x^k/k!. The probabilities of
several such sums add up to e^(−x) times one polynomial, whose coefficients are positive fractions:
that it is below a level is proved in decimals rounded to the safe side.
"""

from __future__ import annotations

import fractions
import functools
import itertools
import math
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Annotated

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_integer, check_number, check_range, check_values
from dpbandits.configuration import (
    Fraction,
    NonNegative,
    Number,
    Positive,
    between,
    checked_arguments,
)

__all__ = [
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_log_cdf",
    "laplace_noise",
    "laplace_sum_error",
    "laplace_sum_quantile",
    "laplace_sum_tail",
    "laplace_total",
    "laplace_union_error",
    "laplace_union_width",
]

Terms = tuple[tuple[int, float], ...]

_MOST = 500  # variables in a sum
_UP, _DOWN = (Context(prec=28, rounding=way) for way in (ROUND_CEILING, ROUND_FLOOR))
_KEEPS = Context(prec=10, rounding=ROUND_CEILING)  # context for the digits of a width
_ROUNDED = Decimal("1e-15")  # relative error of a few operations in floats
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


# ----------------------------------------------------------------------------------- one variable


@kernel(borrows=True)
def laplace(rng: Rng, scale: float) -> float:
    """Draw one Laplace variable of mean 0 (density ∝ exp(−|x|/scale)).

    It is drawn by inversion, from one uniform number, like each variable of `laplace_noise`:
    compiled and plain loops draw the same numbers in the same order, and moving the uniform moves
    the variable, so that an audit can follow one noise through a program. With scale 0 the result
    is 0, and the generator advances all the same.
    """
    return rng.laplace(0.0, scale)


@kernel
def laplace_cdf_kernel(x: float, scale: float) -> float:
    """Return `laplace_cdf` without checks, for compiled loops."""
    if scale == 0.0:
        return 1.0 if x >= 0.0 else 0.0
    if x < 0.0:
        return 0.5 * math.exp(x / scale)
    return 1.0 - 0.5 * math.exp(-x / scale)


@checked_arguments
def laplace_cdf(x: Number, scale: NonNegative) -> float:
    """Return P(Z ≤ x) for a Laplace variable Z of mean 0; with ``scale = 0``, Z = 0.

    Parameters
    ----------
    x : float
        Any number.
    scale : float
        Scale of Z, at least 0.

    Returns
    -------
    float
        The probability.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.mechanisms.laplace_cdf(0.0, 3.0)
    0.5
    """
    return float(laplace_cdf_kernel(x, scale))


@kernel(borrows=True)
def laplace_below(rng: Rng, scale: float, level: float) -> float:
    """Draw a Laplace variable of mean 0, given that it is at most `level`; 0 with ``scale = 0``."""
    if scale == 0.0:
        return 0.0
    if level <= 0.0:  # the lower tail is memoryless
        return level - scale * rng.standard_exponential()
    reach = -math.expm1(-level / scale)  # P(0 < Z ≤ level) = reach/2
    if rng.random() * (1.0 + reach) < 1.0:
        return -scale * rng.standard_exponential()
    return -scale * math.log1p(-reach * rng.random())


@checked_arguments
def laplace_log_cdf(x: ArrayLike, scale: Positive = 1.0) -> Floats:
    """Return log P(Z ≤ x) for a Laplace variable Z of mean 0, accurate far in the lower tail.

    Parameters
    ----------
    x : array_like of float
        Any numbers.
    scale : float
        Scale of Z, positive.

    Returns
    -------
    numpy.ndarray of float
        Logarithms of the probabilities, of the shape of `x`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.mechanisms.laplace_log_cdf([-1000.0, 0.0]).round(3).tolist()
    [-1000.693, -0.693]
    """
    z = check_values("x", x, -math.inf, math.inf) / scale
    tail = math.log(0.5) - np.abs(z)
    result: Floats = np.where(z < 0, tail, np.log1p(-np.exp(tail)))
    return result


def laplace_noise(rng: Rng, scale: float, size: int) -> Floats:
    """Draw `size` independent Laplace variables of mean 0.

    A query of ℓ1-sensitivity s released with ``scale = s / epsilon`` is ε-differentially private
    (Dwork et al. 2006). Proof: :prf:ref:`lem-laplace`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the variables.
    scale : float
        Their scale, at least 0.
    size : int
        Number of variables.

    Returns
    -------
    numpy.ndarray of float, shape (size,)
        The variables.

    Raises
    ------
    ValueError
        If `scale` is negative, not finite or not a number.
    """
    if not 0.0 <= scale < math.inf:
        scale = check_range("scale", scale, 0.0, sys.float_info.max)
    return rng.laplace(0.0, scale, size) + 0.0


# -------------------------------------------------------------------------------- sums of many


def laplace_total(rng: Rng, scale: float, draws: int) -> float:
    """Draw the sum of `draws` independent Laplace variables of mean 0 and one scale.

    A Laplace variable of scale 1 is √(2E)·N with E standard exponential and N standard normal,
    independent; given their E the variables are normal and add up to √(2ΣE)·N, with ΣE a gamma
    variable of shape n. The distribution is exact, even for `draws` beyond 2^63.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the sum.
    scale : float
        Scale of each variable, at least 0.
    draws : int
        Number n of variables, at least 0.

    Returns
    -------
    float
        The sum.
    """
    if draws == 0:
        return 0.0
    return scale * math.sqrt(2.0 * rng.standard_gamma(float(draws))) * rng.standard_normal()


@functools.lru_cache(maxsize=256)
def _weights(count: int) -> Floats:
    """Return w_1, …, w_m of the module's mixture."""
    return np.array([float(weight) for weight in _exact_weights(count)])


def _exact_weights(count: int) -> list[fractions.Fraction]:
    return [
        fractions.Fraction(math.comb(2 * count - 1 - i, count - 1), 2 ** (2 * count - i))
        for i in range(1, count + 1)
    ]


def laplace_tail_polynomial(count: int) -> Floats:
    """Return c_0, …, c_{m−1} with P(S > x) = e^(−x)·Σ c_j x^j, x ≥ 0, S a sum of m of scale 1.

    Shapes: the result (m,).
    """
    return np.array([float(coefficient) for coefficient in _exact_tail(count)])


def _exact_tail(count: int) -> list[fractions.Fraction]:
    """Return the coefficients of `laplace_tail_polynomial`: Σ_{i>k} w_i/k!, as fractions."""
    beyond = [*itertools.accumulate(reversed(_exact_weights(count)))][::-1]
    return [share / math.factorial(k) for k, share in enumerate(beyond)]


def _tail(x: Floats, count: int) -> Floats:
    """Return P(S > x) for the sum S of m Laplace variables of scale 1."""
    beyond = _poisson(np.abs(x), count) @ np.cumsum(_weights(count)[::-1])[::-1]
    found: Floats = np.where(x < 0, 1.0 - beyond, beyond)
    return found


def _density(x: Floats, count: int) -> Floats:
    """Return the density of the sum of m Laplace variables of scale 1."""
    found: Floats = _poisson(np.abs(x), count) @ _weights(count)
    return found


def _poisson(mean: Floats, count: int) -> Floats:
    """Return the probabilities of 0, …, count − 1 under Poisson laws, of shape (*mean, count)."""
    size = np.minimum(mean, 1e300)[..., None]  # where all of them are 0 as well
    powers = np.arange(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(powers > 0, powers * np.log(size), 0.0) - size
    found: Floats = np.exp(logs - scipy.special.gammaln(powers + 1))
    return found


def _terms(counts: tuple[int, ...], scales: tuple[float, ...]) -> Terms:
    """Return (count, scale) of the nonzero parts, by increasing scale, equal scales merged."""
    if len(counts) != len(scales):
        raise ValueError(f"counts={counts!r} are not {len(scales)}; allowed: one for each scale")
    merged: dict[float, int] = {}
    for count, scale in zip(counts, scales, strict=True):
        count = check_integer("counts", count, 0, _MOST)
        scale = check_number("scales", scale, "finite, at least 0")
        if not 0 <= scale < math.inf:
            raise ValueError(f"scales={scale!r} is out of range; allowed: finite, at least 0")
        if count and scale > 0:
            merged[scale] = merged.get(scale, 0) + count
    if len(merged) > 2:
        raise ValueError(f"scales={scales!r} are too many; allowed: one or two different ones")
    return tuple((merged[scale], scale) for scale in sorted(merged))


def _convolved(x: float, terms: Terms) -> float:
    """Return P(U + V > x), x ≥ 0, for sums U and V of two scales, that of U the smaller."""
    (few, small), (many, large) = terms
    x, ratio = x / small, large / small
    # The density of U decreases like exp(−|u|), times a power; the tail of V grows at most like
    # exp(u/ratio). Beyond `reach` their product is below 10^(−20) of the total.
    reach = (50.0 + 5.0 * few) / (1.0 - 1.0 / ratio)
    kinks = [-reach, 0.0, *([x] if x < reach else []), reach]
    total = 0.0
    for low, high in itertools.pairwise(kinks):
        if high > low:
            ends = np.linspace(low, high, 2 + int((high - low) / 2.0))
            half = 0.5 * np.diff(ends)
            u = (ends[:-1] + half)[:, None] + half[:, None] * _NODES
            integrand = _density(u, few) * _tail((x - u) / ratio, many)
            total += float(np.sum(half[:, None] * _WEIGHTS * integrand))
    return total


@checked_arguments
def laplace_sum_tail(
    threshold: Number, counts: tuple[int, ...], scales: tuple[float, ...]
) -> float:
    """Return P(Y > threshold) for Y a sum of independent Laplace variables of mean 0.

    Parameters
    ----------
    threshold : float
        Any number.
    counts : tuple of int
        Number of variables of each scale, at most 500.
    scales : tuple of float, as long as `counts`
        The scales, each finite and at least 0; at most two different ones are positive.

    Returns
    -------
    float
        The probability, accurate to 12 digits even if tiny.

    Raises
    ------
    ValueError
        If the numbers of counts and scales differ, or there are too many different scales.

    Examples
    --------
    >>> math.isclose(laplace_sum_tail(3.0, (2,), (1.0,)), 0.5 * (1 + 3 / 2) * math.exp(-3))
    True
    """
    terms = _terms(counts, scales)
    x = threshold
    if not terms:
        return float(x < 0)
    if x < 0:
        return 1.0 - laplace_sum_tail(-x, counts, scales)
    if len(terms) == 2:
        return _convolved(x, terms)
    count, scale = terms[0]
    return float(_tail(np.asarray(x / scale), count))


@checked_arguments
def laplace_sum_error(
    threshold: Number, counts: tuple[int, ...], scales: tuple[float, ...]
) -> float:
    """Return P(|Y| > threshold) for Y a sum of independent Laplace variables of mean 0.

    Parameters
    ----------
    threshold : float
        Any number; below 0 the probability is 1.
    counts : tuple of int
        Number of variables of each scale, at most 500.
    scales : tuple of float, as long as `counts`
        The scales, each finite and at least 0; at most two different ones are positive.

    Returns
    -------
    float
        The probability, accurate to 12 digits even if tiny.

    Raises
    ------
    ValueError
        If the numbers of counts and scales differ, or there are too many different scales.

    Examples
    --------
    >>> math.isclose(laplace_sum_error(3.0, (1,), (1.0,)), math.exp(-3))
    True
    """
    if threshold < 0:
        return 1.0
    return min(1.0, 2 * laplace_sum_tail(threshold, counts, scales))


@checked_arguments
def laplace_sum_quantile(
    beta: Fraction, counts: tuple[int, ...], scales: tuple[float, ...]
) -> float:
    """Return the x with P(|Y| > x) = β for Y a sum of independent Laplace variables of mean 0.

    Parameters
    ----------
    beta : float
        Probability β, in (0, 1).
    counts : tuple of int
        Number of variables of each scale, at most 500.
    scales : tuple of float, as long as `counts`
        The scales, each finite and at least 0; at most two different ones are positive.

    Returns
    -------
    float
        The quantile, rounded up by a relative 10^−9 or so.

    Raises
    ------
    ValueError
        If the numbers of counts and scales differ, or there are too many different scales.

    Examples
    --------
    >>> math.isclose(laplace_sum_quantile(0.05, (1,), (2.0,)), 2 * math.log(20), rel_tol=1e-8)
    True
    """
    half = beta / 2
    terms = _terms(counts, scales)
    if not terms:
        return 0.0
    # Chernoff's bound halfway to the pole of the transform: certainly large enough
    worst = terms[-1][1]
    log_mean = -sum(count * math.log1p(-((scale / worst) ** 2) / 4) for count, scale in terms)
    high = 2 * worst * (log_mean - math.log(half))

    def excess(x: float) -> float:
        return math.log(laplace_sum_tail(x, counts, scales) / half)

    from scipy.optimize import brentq  # slow to import

    return float(brentq(excess, 0.0, high, xtol=1e-12 * high, rtol=1e-10)) * (1 + 1e-9)


# ---------------------------------------------------------------------------------- many sums


def _numbers(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Check numbers of sums and return them."""
    if len(numbers) > _MOST:
        raise ValueError(f"numbers={numbers!r} are too many; allowed: at most {_MOST}")
    return tuple(check_integer("numbers", number, 0) for number in numbers)


@checked_arguments
def laplace_union_error(threshold: Number, numbers: tuple[int, ...]) -> float:
    """Return Σ P(|Y| > threshold) over sums Y of Laplace variables of scale 1.

    It bounds P(some |Y| > threshold), whether or not the sums share variables.

    Parameters
    ----------
    threshold : float
        Any number, in units of the scale; below 0 each probability is 1.
    numbers : tuple of int
        Numbers of sums of 1, of 2, … variables; at most 500 numbers.

    Returns
    -------
    float
        The sum of the probabilities, to 12 digits; it may be above 1.

    Examples
    --------
    Three variables, and two sums of two:

    >>> math.isclose(laplace_union_error(3.0, (3, 2)), (3 + 2 * (1 + 3 / 2)) * math.exp(-3))
    True
    """
    several = enumerate(_numbers(numbers), 1)
    return math.fsum(n * laplace_sum_error(threshold, (m,), (1.0,)) for m, n in several if n)


@functools.lru_cache(maxsize=256)
def _union_polynomial(numbers: tuple[int, ...]) -> tuple[Decimal, ...]:
    """Return the coefficients of the module's polynomial, Σ N_m·c_k/k!, each rounded up."""
    sums = [fractions.Fraction(0)] * len(numbers)
    for count, number in enumerate(numbers, 1):
        if number:
            for k, coefficient in enumerate(_exact_tail(count)):
                sums[k] += 2 * number * coefficient
    return tuple(_UP.divide(Decimal(c.numerator), Decimal(c.denominator)) for c in sums)


def _value(polynomial: tuple[Decimal, ...], x: Decimal) -> Decimal:
    """Return the polynomial at x ≥ 0, rounded up."""
    value = Decimal(0)
    for coefficient in reversed(polynomial):
        value = _UP.add(_UP.multiply(value, x), coefficient)
    return value


@checked_arguments
def laplace_union_width(
    log_term: Annotated[float, between(0.0, 1e15)], numbers: tuple[int, ...]
) -> float:
    """Return the least x with Σ P(|Y| > x) ≤ e^−ℓ over sums Y of Laplace variables of scale 1.

    It exists, since each probability decreases continuously in x. With the polynomial P of this
    module it solves x = ℓ + log P(x), whose right side grows more slowly than x, since P' < P: so
    iteration from x = 0 increases to it. Then x is rounded up to ten digits, and further until
    P(x), with every step rounded up, is at most e^(x − ℓ), rounded down. This is checked for an x
    and an ℓ that are worse by a relative 10^−15: so ℓ, and the product of x with a scale, may be
    rounded. Proof: :prf:ref:`lem-tree-exact`.

    Parameters
    ----------
    log_term : float
        ℓ, from 0 to 10^15.
    numbers : tuple of int
        Numbers of sums of 1, of 2, … variables; at most 500 numbers.

    Returns
    -------
    float
        The width x, in units of the scale, at most a relative 10^−9 above the least; at least
        10^−15, unless it is 0.

    Examples
    --------
    >>> math.isclose(laplace_union_width(5.0, (3,)), 5.0 + math.log(3), rel_tol=1e-9)
    True
    """
    return _union_width(log_term, _numbers(numbers))


@functools.lru_cache(maxsize=1024)
def _union_width(log_term: float, numbers: tuple[int, ...]) -> float:
    polynomial = _union_polynomial(numbers)
    least = _UP.multiply(Decimal(log_term), 1 + _ROUNDED)

    def enough(x: float) -> bool:
        low = _DOWN.multiply(Decimal(x), 1 - _ROUNDED)
        room = _DOWN.exp(_DOWN.subtract(low, least))  # rounded to nearest in any context
        return _value(polynomial, low) <= _DOWN.next_minus(room)

    if sum(numbers) <= (1 if log_term == 0 else 0):
        return 0.0
    x, before = Decimal(0), Decimal(-1)
    while x - before > Decimal("1e-13") * x:
        before, x = x, _UP.add(least, _UP.ln(_value(polynomial, x)))
    x = _KEEPS.plus(max(x, _ROUNDED))
    while not enough(float(x)):
        x = _KEEPS.next_plus(x)
    return float(x)
