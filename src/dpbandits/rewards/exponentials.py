"""Exponentials of many numbers at once."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["BLOCK", "exponentials"]

BLOCK = 1024
"""Rewards that are drawn at once; few enough for a processor's first cache."""

_PER_OCTAVE = 1 / math.log(2)
_LOG_2 = 0.6931471803691238  # log 2, its last 32 bits cut off: k times it is exact
_LOG_2_REST = 1.9082149292705877e-10


@njit(cache=True, nogil=True)
def exponentials(x: NDArray[np.float64], factor: float, scale: float, n: int) -> None:
    """Replace each of x_1, …, x_n by scale·exp(factor·x_i), up to two units of rounding.

    exp y = 2^k·exp r with k = ⌊y/log 2 + ½⌋ and |r| ≤ ½·log 2, where the series to r^12 leaves out
    less than 2·10^−16: without branches and calls, so that a compiler does several at a time.

    Parameters
    ----------
    x : numpy.ndarray of float
        Values with 0 ≤ factor·x_i ≤ 700.
    factor, scale : float
        As above.
    n : int
        How many.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 50.0])
    >>> exponentials(x, 2.0, 3.0, 3)
    >>> bool(np.allclose(x, 3 * np.exp([0.0, 2.0, 100.0]), rtol=1e-15))
    True
    """
    bits = np.empty(x.size, np.int64)
    powers = bits.view(np.float64)
    for i in range(n):
        y = x[i] * factor
        k = np.floor(y * _PER_OCTAVE + 0.5)
        r = (y - k * _LOG_2) - k * _LOG_2_REST
        p = r / 479001600.0 + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[i] = scale * ((p * r + 1.0) * r + 1.0)
        bits[i] = (np.int64(k) + 1023) << 52  # the double 2^k
    for i in range(n):
        x[i] *= powers[i]
