"""How many times more regret one algorithm has than another, setting by setting."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpbandits._validation import check_fraction
from dpbandits.experiments.regret_tables import Replicates

__all__ = ["Ratio", "ratio_of_means", "ratios_to"]


@dataclass(frozen=True)
class Ratio:
    """Mean regret of a setting relative to that of the reference in the same setting.

    Attributes
    ----------
    instance, n_arms, epsilon, algorithm, variant
        The setting.
    value : float
        Ratio of the mean regrets.
    low, high : float
        Confidence interval of the ratio.
    """

    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    value: float
    low: float
    high: float


def ratio_of_means(
    numerator: ArrayLike, denominator: ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
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
    tuple of float
        Ratio, lower and upper end.

    Examples
    --------
    >>> ratio_of_means([4.0, 4.0], [2.0, 2.0])
    (2.0, 2.0, 2.0)
    """
    samples = [np.asarray(numerator, float), np.asarray(denominator, float)]
    for name, sample in zip(("numerator", "denominator"), samples, strict=True):
        if sample.ndim != 1 or sample.size < 2 or not sample.mean() > 0:
            raise ValueError(f"{name} is no sample of two or more values with a positive mean")
    a, b = samples
    variance = sum((s.std(ddof=1) / s.mean()) ** 2 / s.size for s in samples)
    quantile = stats.t.ppf((1 + check_fraction("level", level)) / 2, min(a.size, b.size) - 1)
    width = math.exp(float(quantile) * math.sqrt(variance))
    ratio = float(a.mean() / b.mean())
    return ratio, ratio / width, ratio * width


def ratios_to(reference: str, replicates: Iterable[Replicates], level: float = 0.95) -> list[Ratio]:
    """Compare every setting's final regret with the reference algorithm's in the same setting.

    Parameters
    ----------
    reference : str
        Label of the algorithm to compare with, such as "DP-SE".
    replicates : iterable of Replicates
        Final regrets, as `load` or `replicates` give them; one reference in each setting.
    level : float
        Confidence level of each interval.

    Returns
    -------
    list of Ratio
        In the order of `replicates`.

    Raises
    ------
    ValueError
        If the data is not of an experiment on regret, or does not hold the reference.
    """
    groups = list(replicates) if isinstance(replicates, Iterable) else [replicates]
    for group in groups:
        if not isinstance(group, Replicates):
            raise ValueError(
                f"replicates={type(group).__name__} is no data of an experiment on regret; "
                "allowed: several Replicates"
            )
    base = {g.labels[1:4]: g.regret for g in groups if g.labels.algorithm == reference}
    if not base:
        have = ", ".join(sorted({g.labels.algorithm for g in groups}))
        raise ValueError(f"reference={reference!r} is not in the data; allowed: {have}")
    return [
        Ratio(*g.labels[1:6], *ratio_of_means(g.regret, base[g.labels[1:4]], level))
        for g in groups
        if g.labels.algorithm != reference
    ]
