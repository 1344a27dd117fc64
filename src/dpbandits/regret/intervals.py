"""Arguments of DP-UCB-INT: its exponent, and the ε that stands for an interval."""

from __future__ import annotations

import math

from dpbandits._validation import check_integer, check_number

__all__ = ["check_exponent", "input_of"]


def check_exponent(value: float) -> float:
    """Return `value` as a float if it lies in (1, 1.5], where both series of the paper are."""
    allowed = "(1, 1.5]"
    number = check_number("exponent", value, allowed)
    if not 1 < number <= 1.5:
        raise ValueError(f"exponent={value!r} is out of range; allowed: {allowed}")
    return number


def input_of(interval: int) -> float:
    """Return the ε, 1/f but for rounding, for which ⌈1/ε⌉ is the interval f.

    Parameters
    ----------
    interval : int
        f, from 1 to 10¹⁵.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `interval` is no such number.

    Examples
    --------
    >>> math.ceil(1 / (1 / 49)), math.ceil(1 / input_of(49))
    (50, 49)
    """
    interval = check_integer("interval", interval, 1, 10**15)
    epsilon = 1 / interval
    return epsilon if math.ceil(1 / epsilon) == interval else math.nextafter(epsilon, 1.0)
