"""Rounding of published numbers, so that every processor gives the same bytes.

The last bits of sums, logarithms and exponentials differ from one processor to another. Tables,
manifests and the evidence of claims therefore have `SHOWN` significant digits. Rounding alone is
not enough: the mean of 20 runs can be 12345.675, which lies between two numbers of seven digits,
and the last bit would decide between them. So a number is first rounded to `AGREED` digits, on
which processors are assumed to agree, and then to fewer.

A difference of numbers that agree to `AGREED` digits can be pure rounding error. One example is the
spread of identical runs, 3·10⁻¹⁵ instead of 0: it is set to 0 if it is below 10⁻¹² of their mean
(`rounded_table`). Another is the difference between two computations of one number: it is published
as a power of ten (`magnitude`).

No threshold could serve a whole column: lengths of runs from 36,623 to 6·10¹⁷ are in one column,
and all of them are exact.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from dpbandits._validation import check_range

__all__ = [
    "AGREED",
    "SHOWN",
    "SPREADS",
    "magnitude",
    "rounded",
    "rounded_data",
    "rounded_table",
]

AGREED = 12
"""Significant digits of a number that are the same on every processor."""

SHOWN = 7
"""Significant digits of every number that is published."""

SPREADS = {"error": "mean", "deviation": "mean", "time_sd": "mean_time"}
"""Column of a table that says how far values are spread → column of their mean."""


def rounded(value: float, digits: int = SHOWN) -> float:
    """Return a number rounded to `digits` significant digits, and zero without a sign.

    Examples
    --------
    >>> rounded(2.872067225165981), rounded(-0.0)
    (2.872067, 0.0)

    A number half-way between two is first rounded to 12 digits, so its last bits have no effect:

    >>> rounded(12345.675), rounded(12345.675 * (1 - 1e-15)), float(f"{12345.675000000003:.7g}")
    (12345.67, 12345.67, 12345.68)
    """
    agreed = float(f"{value:.{AGREED}g}")
    return float(f"{agreed:.{digits}g}") + 0.0


def magnitude(error: float) -> float:
    """Return the order of magnitude of an error: the least power of ten not below it.

    It is at least 10⁻¹², since processors differ in the digits below that.

    Parameters
    ----------
    error : float
        Relative error, 0 or more.

    Examples
    --------
    >>> [magnitude(error) for error in (0.0, 9.9e-14, 2e-9, 1e-6, 0.02)]
    [1e-12, 1e-12, 1e-08, 1e-06, 0.1]
    """
    check_range("error", error, 0, sys.float_info.max, "a finite number of 0 or more")
    digits, _, power = f"{max(rounded(error), 10.0**-AGREED):e}".partition("e")
    return float(f"1e{int(power) + (float(digits) > 1)}")


def rounded_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table ready to publish: integers and texts unchanged, other numbers rounded.

    A spread, that is a column in `SPREADS`, is set to 0 where it is below 10⁻¹² of its mean.

    Examples
    --------
    >>> table = pd.DataFrame({"n": [10**9 + 1, 2], "mean": [100.0, 0.3], "error": [3e-15, 0.1]})
    >>> rounded_table(table).to_dict("list")
    {'n': [1000000001, 2], 'mean': [100.0, 0.3], 'error': [0.0, 0.1]}
    """
    table = table.copy()
    for name in table.columns:
        if table[name].dtype in (np.dtype(float), np.dtype(object)):
            values = [rounded(x) if isinstance(x, float) else x for x in table[name]]
            table[name] = pd.Series(values, table.index, table[name].dtype)
    for spread, mean in SPREADS.items():
        if spread in table and mean in table:
            noise = table[spread].abs() < 10.0**-AGREED * table[mean].abs()
            table[spread] = table[spread].mask(noise, 0)
    return table


def rounded_data(data: Any) -> Any:
    """Return data ready for a JSON file: numbers are rounded, integers are not.

    Examples
    --------
    >>> rounded_data({"marks": [(1 / 3, 7, "")], "lowest": None})
    {'marks': [[0.3333333, 7, '']], 'lowest': None}
    """
    if isinstance(data, float):
        return rounded(data)
    if isinstance(data, dict):
        return {name: rounded_data(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [rounded_data(value) for value in data]
    return data
