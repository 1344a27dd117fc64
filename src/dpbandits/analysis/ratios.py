"""How many times more of something one case has than another, with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpbandits._validation import check_fraction

__all__ = ["Ratio", "ratio_of_means", "ratios_to"]

Key = TypeVar("Key", bound=Hashable)


class Ratio(NamedTuple):
    """Ratio of two means.

    Attributes
    ----------
    value : float
        Ratio of the sample means.
    low, high : float
        Confidence interval of the ratio of the means.
    """

    value: float
    low: float
    high: float


def ratio_of_means(numerator: ArrayLike, denominator: ArrayLike, level: float = 0.95) -> Ratio:
    """Return the ratio of two means with a confidence interval.

    The logarithm of a ratio of means of independent samples is close to normal, with variance
    the sum of the squared coefficients of variation over the sample sizes (delta method);
    Student's quantile with the smaller sample's degrees of freedom is used.

    Parameters
    ----------
    numerator, denominator : array_like, one-dimensional
        Samples with positive means, two values or more each.
    level : float
        Confidence level in (0, 1).

    Returns
    -------
    Ratio

    Raises
    ------
    ValueError
        If a sample has fewer than two values or no positive mean, or `level` is out of range.

    Examples
    --------
    >>> ratio_of_means([4.0, 4.0], [2.0, 2.0])
    Ratio(value=2.0, low=2.0, high=2.0)
    """
    samples = [np.asarray(numerator, float), np.asarray(denominator, float)]
    for name, sample in zip(("numerator", "denominator"), samples, strict=True):
        if sample.ndim != 1 or sample.size < 2 or not sample.mean() > 0:
            raise ValueError(
                f"{name} must be a sample of two or more values with a positive mean, got "
                f"{sample.size} values"
            )
    a, b = samples
    variance = sum((s.std(ddof=1) / s.mean()) ** 2 / s.size for s in samples)
    quantile = stats.t.ppf((1 + check_fraction("level", level)) / 2, min(a.size, b.size) - 1)
    width = math.exp(float(quantile) * math.sqrt(variance))
    ratio = float(a.mean() / b.mean())
    return Ratio(ratio, ratio / width, ratio * width)


def ratios_to(
    reference: Callable[[Key], Key], samples: Mapping[Key, ArrayLike], level: float = 0.95
) -> dict[Key, Ratio]:
    """Compare the mean of every case with that of its reference.

    Parameters
    ----------
    reference : callable
        Takes the key of a case and returns that of the case to compare it with.
    samples : mapping of key to array_like
        A sample of each case, such as the regrets of its runs at the horizon.
    level : float
        Confidence level of each interval.

    Returns
    -------
    dict of Ratio
        In the order of `samples`, without the cases that are their own reference.

    Raises
    ------
    ValueError
        If a reference is not among the cases.

    Examples
    --------
    >>> regrets = {("C1", "DP-SE"): [2.0, 2.0], ("C1", "DP-UCB"): [10.0, 10.0]}
    >>> ratios_to(lambda key: (key[0], "DP-SE"), regrets)
    {('C1', 'DP-UCB'): Ratio(value=5.0, low=5.0, high=5.0)}
    """
    found: dict[Key, Ratio] = {}
    for key, sample in samples.items():
        base = reference(key)
        if base not in samples:
            known = ", ".join(map(str, samples))
            raise ValueError(f"reference={base!r} of {key!r} must be a case; allowed: {known}")
        if base != key:
            found[key] = ratio_of_means(sample, samples[base], level)
    return found
