"""The last bit of a floating-point number: a leak of noisy sums."""

from __future__ import annotations

import math
import sys

from dpbandits._validation import check_range

__all__ = ["last_bit"]


def last_bit(x: float) -> int:
    """Return the largest k such that a number is an integer multiple of 2^k.

    Parameters
    ----------
    x : float
        A finite number of 64 bits.

    Returns
    -------
    int
        The k; 0 for the number 0.

    Raises
    ------
    ValueError
        If `x` is not a finite number.

    Examples
    --------
    >>> last_bit(1.0), last_bit(12.0), last_bit(0.75), last_bit(0.0)
    (0, 2, -2, 0)
    """
    most = sys.float_info.max
    fraction, exponent = math.frexp(check_range("x", x, -most, most, "a finite number"))
    whole = int(fraction * 2**53)
    return exponent - 53 + (whole & -whole).bit_length() - 1 if whole else 0
