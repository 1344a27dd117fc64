"""Tables of experiments on private means: errors by setting, and each run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpbandits.experiments.estimation_cells import EstimationLabels, EstimationSetting
from dpbandits.experiments.tables import ROUNDING, CappedTable, Group, Labels, Summary, rounded

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Setting

__all__ = ["EstimationReplicates", "EstimationSummary", "EstimationTable"]

_NUMBERS = ("rms", "rms_low95", "rms_high95", "median", "bias")


@dataclass(frozen=True)
class EstimationSummary(Summary):
    """Errors of one setting.

    Attributes
    ----------
    panel, law, order, epsilon, model, variant, n_rewards
        The setting.
    n_runs : int
        Number of replicates.
    rms : float
        Root of the mean square of the errors.
    rms_low95, rms_high95 : float
        95 % confidence interval: roots of Student's for the mean square; nan with one run.
    median : float
        Median of the errors' sizes.
    bias : float
        Mean of the errors.
    """

    panel: str
    law: str
    order: float
    epsilon: float
    model: str
    variant: str
    n_rewards: int
    n_runs: int
    rms: float
    rms_low95: float
    rms_high95: float
    median: float
    bias: float

    @property
    def labels(self) -> EstimationLabels:
        """The setting, as the tables' first columns."""
        return EstimationLabels(*(getattr(self, name) for name in EstimationLabels._fields))

    def same_as(self, other: EstimationSummary) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""
        mine, others = ([getattr(s, name) for name in _NUMBERS] for s in (self, other))
        return (self.labels, self.n_runs) == (other.labels, other.n_runs) and np.allclose(
            mine, others, rtol=ROUNDING, atol=0.0, equal_nan=True
        )


@dataclass(frozen=True)
class EstimationReplicates(Group):
    """The errors of the runs of a setting.

    Attributes
    ----------
    labels : EstimationLabels
        The setting, as the tables' first columns.
    error : numpy.ndarray, shape (n_runs,)
        Estimates minus the mean.
    """

    labels: EstimationLabels
    error: NDArray[np.float64]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.error.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> EstimationReplicates:
        """Return some of the replicates."""
        return replace(self, error=self.error[rows])

    def same_as(self, other: EstimationReplicates) -> bool:
        """Tell whether the errors are the same to 7 digits."""
        return [*map(rounded, self.error)] == [*map(rounded, other.error)]

    def headline(self) -> list[NDArray[np.float64]]:
        """Return the errors, to 7 digits as in the file: without noise many are equal."""
        return [np.array([float(rounded(x)) for x in self.error])]


@dataclass(frozen=True)
class EstimationTable(CappedTable):
    """How the data of experiments on private means is made, written and read."""

    kind: ClassVar[str] = "estimation"
    CALLED: ClassVar[str] = "errors"
    LABELS: ClassVar[type[Labels]] = EstimationLabels
    SUMMARY: ClassVar[tuple[str, ...]] = ("n_runs", *_NUMBERS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", "error")

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[EstimationSummary, ...]:
        """Return the errors of each setting."""
        return tuple(_summary(cast(EstimationSetting, setting), runs) for setting, runs in pairs)

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[EstimationReplicates, ...]:
        """Return the runs of each setting, as many as the file holds."""
        kept = self.runs_kept(len(pairs))
        return tuple(
            EstimationReplicates(cast(EstimationSetting, setting).labels, runs[:kept])
            for setting, runs in pairs
        )

    def summary_rows(self, summary: EstimationSummary) -> Iterator[list[str]]:
        """Write a summary: one row."""
        yield [str(summary.n_runs), *(rounded(getattr(summary, name)) for name in _NUMBERS)]

    def read_summary(self, labels: EstimationLabels, rows: list[list[str]]) -> EstimationSummary:
        """Read what `summary_rows` wrote."""
        ((n_runs, *numbers),) = rows
        return EstimationSummary(*labels, int(n_runs), *map(float, numbers))

    def run_rows(self, group: EstimationReplicates) -> Iterator[list[str]]:
        """Write runs, a row each."""
        for i, error in enumerate(group.error.tolist()):
            yield [str(i), rounded(error)]

    def read_runs(self, labels: EstimationLabels, rows: list[list[str]]) -> EstimationReplicates:
        """Read what `run_rows` wrote."""
        return EstimationReplicates(labels, np.array([float(row[1]) for row in rows]))


def _summary(setting: EstimationSetting, errors: NDArray[np.float64]) -> EstimationSummary:
    squares = errors**2
    mean = float(squares.mean())
    low = high = math.nan
    if errors.size > 1:
        half = stats.t.ppf(0.975, errors.size - 1) * squares.std(ddof=1) / math.sqrt(errors.size)
        low, high = math.sqrt(max(mean - half, 0.0)), math.sqrt(mean + half)
    median, bias = float(np.median(np.abs(errors))), float(errors.mean())
    return EstimationSummary(*setting.labels, errors.size, math.sqrt(mean), low, high, median, bias)
