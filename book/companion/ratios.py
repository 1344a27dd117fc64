"""Ratios of means, with confidence intervals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpbandits._validation import check_fraction

__all__ = ["ratio_of_means"]


def ratio_of_means(
    numerator: ArrayLike, denominator: ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two means, and the ends of its confidence interval.

    The logarithm of a ratio of means of independent samples is close to normal, with variance
    the sum of the squared coefficients of variation over the sample sizes (delta method);
    Student's quantile with the smaller sample's degrees of freedom is used.

    Each sample has a positive mean, and two or more values.

    Examples
    --------
    >>> ratio_of_means([4.0, 4.0], [2.0, 2.0])
    (2.0, 2.0, 2.0)
    """
    samples = [np.asarray(numerator, float), np.asarray(denominator, float)]
    for name, sample in zip(("numerator", "denominator"), samples, strict=True):
        if sample.ndim != 1 or sample.size < 2 or not sample.mean() > 0:
            raise ValueError(
                f"{name}={sample!r} is out of range; allowed: two values or more, mean above 0"
            )
    a, b = samples
    variance = sum((s.std(ddof=1) / s.mean()) ** 2 / s.size for s in samples)
    quantile = stats.t.ppf((1 + check_fraction("level", level)) / 2, min(a.size, b.size) - 1)
    width = math.exp(float(quantile) * math.sqrt(variance))
    ratio = float(a.mean() / b.mean())
    return ratio, ratio / width, ratio * width
