"""The Laplace mechanism's noise, for compiled kernels and for arrays."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["laplace", "laplace_noise"]


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
