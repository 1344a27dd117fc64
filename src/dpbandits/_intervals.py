"""Confidence intervals from runs: means, shares and quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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


def quantile_interval(
    values: Ints | Floats, share: float, level: float = 0.95
) -> tuple[float, float, float]:
    """Return a sample quantile, with an interval between two order statistics.

    It contains the distribution's quantile, for every distribution, with probability at least
    `level`; an end for which there are too few runs is infinite.
    """
    ordered, tail = np.sort(values), (1 - check_fraction("level", level)) / 2
    size = len(ordered)

    def rank(reached: Any) -> int:
        """Find the least rank from 0 to n + 1 at which a monotone predicate is true."""
        low, high = 0, size + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle + 1, high)
        return low

    # P(the k-th smallest is above the quantile) ≤ P(Bin(n, share) < k), likewise below
    first = rank(lambda k: scipy.special.bdtr(k, size, share) > tail)
    last = rank(lambda k: k > size or scipy.special.bdtrc(k - 1, size, share) <= tail)
    at = min(max(int(np.ceil(share * size)), 1), size)
    return (
        float(ordered[at - 1]),
        float(ordered[first - 1]) if first else -math.inf,
        float(ordered[last - 1]) if last <= size else math.inf,
    )
