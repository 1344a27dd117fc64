"""Confidence intervals from runs: means and shares."""

from __future__ import annotations

import math
from typing import Any

import scipy

from dpbandits._arrays import Floats, Ints
from dpbandits._validation import check_fraction


def mean_interval(values: Ints | Floats, level: float = 0.95) -> tuple[Any, Any, Any]:
    """Return the mean of values, or of rows, with Student's interval; nan for a single one."""
    level, size = check_fraction("level", level), len(values)
    mean = values.mean(axis=0)
    if size < 2:
        return mean, mean * math.nan, mean * math.nan
    error = values.std(axis=0, ddof=1) / math.sqrt(size)
    width = error * scipy.special.stdtrit(size - 1, (1 + level) / 2)
    return mean, mean - width, mean + width


def share_interval(count: int, n_runs: int, level: float = 0.95) -> tuple[float, float, float]:
    """Return a share of the runs with its Clopper–Pearson interval."""
    level = check_fraction("level", level)
    tail = (1 - level) / 2
    low = scipy.special.betaincinv(count, n_runs - count + 1, tail) if count else 0.0
    high = scipy.special.betaincinv(count + 1, n_runs - count, 1 - tail) if count < n_runs else 1.0
    return count / n_runs, float(low), float(high)
