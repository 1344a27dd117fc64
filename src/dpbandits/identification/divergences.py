"""Divergences between Bernoulli laws, as private best-arm identification weighs them.

Jourdan & Azize (2025). The copy of the paper that the book had holds no formulas; these are
reconstructed from what reviews and replies say of them. With kl the Kullback–Leibler divergence,

    d_ε(x, y) = min over z of ε·|x − z| + kl(z, y)
              = max over |λ| ≤ ε of λx − log(1 − y + y·e^λ),

and the second form also covers private estimates x outside [0, 1]. Arrays are broadcast; the
kernels for single numbers, callable from compiled code, are in `dpbandits.divergence_kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import SMALLEST, check_values
from dpbandits.divergence_kernels import (
    calibrated_minus_kernel,
    calibrated_plus_kernel,
    d_eps_kernel,
    d_minus_kernel,
    d_plus_kernel,
    kl_kernel,
)

__all__ = [
    "calibrated_minus",
    "calibrated_plus",
    "d_eps",
    "d_minus",
    "d_plus",
    "kl",
    "total_variation",
]

Array = NDArray[np.float64]

_GREATEST = 1 / SMALLEST
_KL, _BOTH, _MINUS, _PLUS, _CALIBRATED_MINUS, _CALIBRATED_PLUS = range(6)


@njit(cache=True, nogil=True)
def _each(kind: int, table: Array) -> Array:
    """Return one divergence for each column of x, y, r and ε."""
    result = np.empty(table.shape[1])
    for i in range(result.size):
        x, y, ratio, epsilon = table[:, i]
        if kind == _KL:
            result[i] = kl_kernel(x, y)
        elif kind == _BOTH:
            result[i] = d_eps_kernel(x, y, epsilon)
        elif kind == _MINUS:
            result[i] = d_minus_kernel(x, y, epsilon)
        elif kind == _PLUS:
            result[i] = d_plus_kernel(x, y, epsilon)
        elif kind == _CALIBRATED_MINUS:
            result[i] = calibrated_minus_kernel(x, y, ratio, epsilon)
        else:
            result[i] = calibrated_plus_kernel(x, y, ratio, epsilon)
    return result


def _divergence(
    kind: int,
    x: ArrayLike,
    second: tuple[str, ArrayLike],
    ratio: ArrayLike = 0.0,
    epsilon: ArrayLike = math.inf,
) -> Array:
    name, y = second
    values = (
        check_values("x", x, -_GREATEST, _GREATEST),
        check_values(name, y, 0.0, 1.0),
        check_values("ratio", ratio, 0.0, _GREATEST),
        check_values("epsilon", epsilon, SMALLEST, math.inf),
    )
    table = np.stack(np.broadcast_arrays(*values))
    return _each(kind, table.reshape(4, -1)).reshape(table.shape[1:])[()]


def kl(x: ArrayLike, y: ArrayLike) -> Array:
    """Return kl(x, y) = x·log(x/y) + (1 − x)·log((1 − x)/(1 − y)).

    Summed as y·h(x/y − 1) + (1 − y)·h((1 − x)/(1 − y) − 1) with h(t) = (1 + t)·log(1 + t) − t ≥ 0,
    which keeps its digits where x is near y.

    Parameters
    ----------
    x : array_like of float
        First mean; the result is infinite where it lies outside [0, 1].
    y : array_like of float
        Second mean, in [0, 1].

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If y lies outside [0, 1], or an argument is no number.

    Examples
    --------
    >>> kl([0.5, 0.5, 0.0], [0.25, 0.0, 0.0]).round(4).tolist()
    [0.1438, inf, 0.0]
    """
    return _divergence(_KL, x, ("y", y))


def total_variation(x: ArrayLike, y: ArrayLike) -> Array:
    """Return |x − y|, the total variation between two Bernoulli laws.

    Parameters
    ----------
    x, y : array_like of float
        Means, in [0, 1].

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If an argument lies outside [0, 1] or is no number.

    Examples
    --------
    >>> float(total_variation(0.75, 0.5))
    0.25
    """
    return np.abs(check_values("x", x, 0.0, 1.0) - check_values("y", y, 0.0, 1.0))[()]


def d_eps(x: ArrayLike, y: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return d_ε(x, y), the divergence of best-arm identification under ε-differential privacy.

    Jourdan & Azize (2025), reconstructed. It is kl(x, y) where |logit x − logit y| ≤ ε; elsewhere
    εx − log(1 + y·(e^ε − 1)) for x > y and −εx − log(1 − y·(1 − e^−ε)) for x < y. It is at most
    kl(x, y) and at most ε·|x − y|.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate anywhere on the line.
    y : array_like of float
        Mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0, inf for kl.

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If y lies outside [0, 1], ε is not positive, or an argument is no number.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> dpb.d_eps([0.9, -1.5], 0.5, [[0.1], [np.inf]]).round(4).tolist()
    [[0.0388, 0.1988], [0.3681, inf]]
    """
    return _divergence(_BOTH, x, ("y", y), 0.0, epsilon)


def d_minus(x: ArrayLike, u: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return d⁻(x, u): d_ε(x, u) for u < x, and 0 for u ≥ x.

    Jourdan & Azize (2025), reconstructed: the evidence of an estimate x against a mean of at
    most u.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate anywhere on the line.
    u : array_like of float
        Mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0, inf included.

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If u lies outside [0, 1], ε is not positive, or an argument is no number.

    Examples
    --------
    >>> d_minus(0.6, [0.5, 0.7], 1.0).round(4).tolist()
    [0.0201, 0.0]
    """
    return _divergence(_MINUS, x, ("u", u), 0.0, epsilon)


def d_plus(x: ArrayLike, u: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return d⁺(x, u) = d⁻(1 − x, 1 − u): d_ε(x, u) for u > x, and 0 for u ≤ x.

    Jourdan & Azize (2025), reconstructed: the evidence of an estimate x against a mean of at
    least u.

    Parameters
    ----------
    x : array_like of float
        A mean, or a private estimate anywhere on the line.
    u : array_like of float
        Mean, in [0, 1].
    epsilon : array_like of float
        Privacy budget ε > 0, inf included.

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If u lies outside [0, 1], ε is not positive, or an argument is no number.

    Examples
    --------
    >>> d_plus(0.6, [0.5, 0.7], 1.0).round(4).tolist()
    [0.0, 0.0226]
    """
    return _divergence(_PLUS, x, ("u", u), 0.0, epsilon)


def calibrated_minus(x: ArrayLike, u: ArrayLike, ratio: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return d̃⁻(x, u, r) = max over 0 ≤ λ < ε of λx − log(1 − u + u·e^λ) + r·log(1 − λ²/ε²).

    Jourdan & Azize (2025), reconstructed. n·d̃⁻ is the exact Chernoff exponent, for a deviation up
    to x, of the mean of n rewards Bernoulli(u) and rn Laplace variables of scale 1/ε. It is 0 for
    u ≥ x, at most d⁻(x, u), and tends to it as r → 0; for ε = ∞ it is the one-sided kl, whatever r.

    Parameters
    ----------
    x : array_like of float
        Estimate, anywhere on the line.
    u : array_like of float
        Mean, in [0, 1].
    ratio : array_like of float
        r ≥ 0, Laplace variables per reward.
    epsilon : array_like of float
        Privacy budget ε > 0, inf included.

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If u lies outside [0, 1], r is negative, ε is not positive, or an argument is no number.

    Examples
    --------
    >>> calibrated_minus(0.9, 0.5, [0.0, 0.1, 1.0], 0.5).round(4).tolist()
    [0.1691, 0.0646, 0.0097]
    """
    return _divergence(_CALIBRATED_MINUS, x, ("u", u), ratio, epsilon)


def calibrated_plus(x: ArrayLike, u: ArrayLike, ratio: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return d̃⁺(x, u, r) = d̃⁻(1 − x, 1 − u, r), for deviations of the estimate down to x.

    Jourdan & Azize (2025), reconstructed; see `calibrated_minus`. It is 0 for u ≤ x.

    Parameters
    ----------
    x : array_like of float
        Estimate, anywhere on the line.
    u : array_like of float
        Mean, in [0, 1].
    ratio : array_like of float
        r ≥ 0, Laplace variables per reward.
    epsilon : array_like of float
        Privacy budget ε > 0, inf included.

    Returns
    -------
    numpy.ndarray of float, of the common shape of the arguments

    Raises
    ------
    ValueError
        If u lies outside [0, 1], r is negative, ε is not positive, or an argument is no number.

    Examples
    --------
    >>> calibrated_plus(-2.0, 0.5, [0.0, 0.1], 0.5).round(4).tolist()
    [1.2191, 0.9364]
    """
    return _divergence(_CALIBRATED_PLUS, x, ("u", u), ratio, epsilon)
