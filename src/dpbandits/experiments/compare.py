"""Comparison of two sets of replicates: the same to the digit, or at least of one law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits.experiments.tables import ROUNDING, Group

__all__ = ["FALSE_ALARM", "Verdict", "compare", "two_sample_p"]

FALSE_ALARM = 1e-6
"""Probability with which equal laws are called different, in one comparison of experiments."""

TESTED_RUNS = 500
"""Replicates of a setting that a test looks at: its work grows with their square."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of a comparison.

    Attributes
    ----------
    name : {"identical", "equal in law", "differs", "not compared"}
        The verdict.
    detail : str
        What was compared and how, or why not.
    """

    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name} ({self.detail})" if self.detail else self.name


def two_sample_p(x: ArrayLike, y: ArrayLike) -> float:
    """Return the exact p-value of the two-sample Kolmogorov–Smirnov test.

    Values closer than 2·10⁻⁶ of the largest count as ties, with which the test is conservative.
    The p-value is the share of lattice paths that stray as far as the sample does, summed from
    positive terms: it is exact however small.

    Examples
    --------
    >>> round(two_sample_p([1, 2, 3], [4, 5, 6]), 7), two_sample_p([1, 2], [1, 2])
    (0.1, 1.0)
    """
    a, b = _merge_ties(np.asarray(x, float), np.asarray(y, float))
    n, m = a.size, b.size
    steps = np.arange(max(a.max(), b.max()) + 1)
    below = m * np.searchsorted(np.sort(a), steps, side="right")
    distance = int(np.abs(below - n * np.searchsorted(np.sort(b), steps, side="right")).max())
    strayed = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if abs(m * i - n * j) >= distance:
                strayed[i][j] = 1.0
            elif i + j > 0:
                left = strayed[i - 1][j] * i if i > 0 else 0.0
                under = strayed[i][j - 1] * j if j > 0 else 0.0
                strayed[i][j] = (left + under) / (i + j)
    return strayed[n][m]


def compare(
    new: Sequence[Group], old: Sequence[Group], false_alarm: float = FALSE_ALARM
) -> Verdict:
    """Compare replicates, setting by setting, with what was stored.

    "identical": everything is the same, to 7 digits where it is not whole. Otherwise each of their
    `columns`, such as the final regret and the pulls of every arm, is tested setting by setting by
    `two_sample_p` (Bonferroni): equal laws are called different with probability at most
    `false_alarm` in all. The first 500 replicates of a setting take part in the tests.
    """
    by_labels = {group.labels: group for group in old}
    if len(by_labels) != len(new) or any(group.labels not in by_labels for group in new):
        return Verdict("differs", "other settings")
    pairs = [(group, by_labels[group.labels]) for group in new]
    if all(a.same_as(b) for a, b in pairs):
        return Verdict("identical", "")
    samples = [
        (group.labels, a[:TESTED_RUNS], b[:TESTED_RUNS])
        for group, stored in pairs
        for a, b in zip(group.columns(), stored.columns(), strict=True)
    ]
    worst = min((two_sample_p(a, b), labels) for labels, a, b in samples)
    detail = (
        f"{len(samples)} two-sample tests, smallest p = {worst[0]:.2g}, "
        f"false alarm {false_alarm:g} in all"
    )
    if worst[0] >= false_alarm / len(samples):
        return Verdict("equal in law", detail)
    return Verdict("differs", f"{worst[1]}; {detail}")


def _merge_ties(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each value of both samples its rank, and close ones the same."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled, kind="stable")
    step = np.diff(pooled[order], prepend=pooled[order[0]])
    number = np.empty(pooled.size, dtype=np.int64)
    number[order] = np.cumsum(step > ROUNDING * np.abs(pooled).max())
    return number[: x.size], number[x.size :]
