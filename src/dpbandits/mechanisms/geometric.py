"""Two-sided geometric noise: what makes a count private and leaves it a whole number."""

from __future__ import annotations

import math

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._validation import check_generator
from dpbandits.configuration import Budget, Count, Fraction, checked_arguments

__all__ = ["geometric_noise", "geometric_noise_law", "geometric_noise_variance"]


@checked_arguments
def geometric_noise(rng: Rng, epsilon: Budget, size: Count) -> Ints:
    """Draw independent whole numbers G with P(G = g) ∝ e^(−ε|g|).

    A count that one person changes by at most 1 is ε-private once it has one of them added (Ghosh,
    Roughgarden and Sundararajan 2009). G is the difference of two geometric variables.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the noise.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    size : int
        How many.

    Returns
    -------
    numpy.ndarray of int, shape (size,)
        The noise.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> noise = geometric_noise(np.random.default_rng(0), 1.0, 100_000)
    >>> round(float(noise.var()), 2), round(geometric_noise_variance(1.0), 2)
    (1.84, 1.84)
    """
    check_generator("rng", rng)
    if math.isinf(epsilon):
        return np.zeros(size, dtype=np.int64)
    stop = -math.expm1(-epsilon)
    up, down = rng.geometric(stop, (2, size))
    difference: Ints = up - down
    return difference


@checked_arguments
def geometric_noise_variance(epsilon: Budget) -> float:
    """Return the variance of the noise, 2e^(−ε)/(1 − e^(−ε))².

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.

    Returns
    -------
    float
        The variance.

    Raises
    ------
    ValueError
        If `epsilon` is out of range.

    Examples
    --------
    >>> round(geometric_noise_variance(0.1), 1), geometric_noise_variance(float("inf"))
    (199.8, 0.0)
    """
    return 0.0 if math.isinf(epsilon) else 0.5 / math.sinh(0.5 * epsilon) ** 2


@checked_arguments
def geometric_noise_law(epsilon: Budget, negligible: Fraction = 1e-13) -> tuple[Floats, int]:
    """Return the law of the noise on the whole numbers from −r to r, and r.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    negligible : float
        Probability that may lie beyond r in size.

    Returns
    -------
    law : numpy.ndarray of float, shape (2r + 1,)
        Probabilities of −r, …, r.
    reach : int
        The number r.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> law, reach = geometric_noise_law(1.0)
    >>> law.size == 2 * reach + 1, abs(law.sum() - 1.0) < 1e-13
    (True, np.True_)
    """
    if math.isinf(epsilon):
        return np.ones(1), 0
    q = math.exp(-epsilon)
    # P(|G| > r) = 2q^(r+1)/(1 + q)
    reach = max(0, math.ceil(math.log(2.0 / negligible / (1.0 + q)) / epsilon) - 1)
    law: Floats = -math.expm1(-epsilon) / (1.0 + q) * q ** np.abs(np.arange(-reach, reach + 1.0))
    return law, reach
