"""The Laplace mechanism's noise, for compiled kernels and for arrays."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_log_cdf",
    "laplace_noise",
    "laplace_total",
]


@njit(cache=True, nogil=True)
def laplace(rng: np.random.Generator, scale: float) -> float:
    """Draw one Laplace variable of mean 0 and the given scale (density ∝ exp(−|x|/scale)).

    A standard exponential with a fair sign, so that a compiled kernel pays one ziggurat draw
    and one uniform. With ``scale = 0`` the result is 0, and the generator advances all the same.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Scale b ≥ 0 of the law; its variance is 2b².

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> x = laplace(np.random.default_rng(0), 2.0)
    >>> isinstance(x, float)
    True
    """
    magnitude = scale * rng.standard_exponential()
    if rng.random() < 0.5:
        return -magnitude
    return magnitude


@njit(cache=True, nogil=True)
def laplace_cdf(x: float, scale: float) -> float:
    """Return P(Z ≤ x) for a Laplace variable Z of mean 0; with ``scale = 0``, Z = 0.

    Examples
    --------
    >>> laplace_cdf(0.0, 2.0), laplace_cdf(-1.0, 0.0)
    (0.5, 0.0)
    """
    if scale == 0.0:
        return 1.0 if x >= 0.0 else 0.0
    if x < 0.0:
        return 0.5 * math.exp(x / scale)
    return 1.0 - 0.5 * math.exp(-x / scale)


@njit(cache=True, nogil=True)
def laplace_below(rng: np.random.Generator, scale: float, level: float) -> float:
    """Draw a Laplace variable of mean 0 under the condition that it is at most `level`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Scale b ≥ 0; with ``scale = 0`` the result is 0, which `level` should allow.
    level : float
        What the variable may not exceed.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> bool(laplace_below(np.random.default_rng(0), 1.0, -30.0) <= -30.0)
    True
    """
    if scale == 0.0:
        return 0.0
    if level <= 0.0:  # the lower tail has no memory
        return level - scale * rng.standard_exponential()
    reach = -math.expm1(-level / scale)  # P(0 < Z ≤ level) = reach/2
    if rng.random() * (1.0 + reach) < 1.0:
        return -scale * rng.standard_exponential()
    return -scale * math.log1p(-reach * rng.random())


def laplace_log_cdf(x: ArrayLike, scale: float = 1.0) -> NDArray[np.float64]:
    """Return log P(Z ≤ x) for a Laplace variable Z of mean 0, also far out in the lower tail.

    Parameters
    ----------
    x : array_like of float
        Values.
    scale : float
        Scale b > 0.

    Returns
    -------
    numpy.ndarray of float, of the shape of `x`

    Examples
    --------
    >>> np.exp(laplace_log_cdf([0.0, 1.0], 2.0)).round(4).tolist()
    [0.5, 0.6967]
    """
    z = np.asarray(x, dtype=np.float64) / scale
    tail = math.log(0.5) - np.abs(z)
    result: NDArray[np.float64] = np.where(z < 0, tail, np.log1p(-np.exp(tail)))
    return result


def laplace_noise(rng: np.random.Generator, scale: float, size: int) -> NDArray[np.float64]:
    """Draw an array of independent Laplace variables of mean 0 and the given scale.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Scale b ≥ 0; a query of ℓ1-sensitivity s released with ``scale = s / epsilon`` is
        ε-differentially private (Dwork et al. 2006).
    size : int
        How many variables.

    Returns
    -------
    numpy.ndarray of float, shape (size,)

    Examples
    --------
    >>> import numpy as np
    >>> laplace_noise(np.random.default_rng(0), 0.0, 3).tolist()
    [0.0, 0.0, 0.0]
    """
    return rng.laplace(0.0, scale, size) + 0.0


def laplace_total(rng: np.random.Generator, scale: float, draws: int) -> float:
    """Draw the sum of many independent Laplace variables of mean 0 and one scale.

    A Laplace variable of scale 1 is √(2E)·N with E standard exponential and N standard normal,
    independent; given their E the variables are normal and add up to √(2ΣE)·N, with ΣE a gamma
    variable of shape n. The law is exact, and so is the difference of two gamma variables, the
    other way to draw it; but that one loses digits when n is large, 11 of 16 for n = 10^22.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Scale b ≥ 0 of each variable.
    draws : int
        How many variables n ≥ 0; may be beyond 2^63.

    Returns
    -------
    float
        Variance 2nb².

    Examples
    --------
    >>> import numpy as np
    >>> laplace_total(np.random.default_rng(0), 1.0, 0)
    0.0
    >>> bool(abs(laplace_total(np.random.default_rng(0), 1.0, 10**30)) < 1e16)
    True
    """
    if draws == 0:
        return 0.0
    return scale * math.sqrt(2.0 * rng.standard_gamma(float(draws))) * rng.standard_normal()
