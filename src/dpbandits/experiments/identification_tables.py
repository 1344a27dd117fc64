"""Tables of experiments on identification: stopping times and errors by setting, and each run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.identification_cells import IdentificationLabels, IdentificationSetting
from dpbandits.experiments.tables import ROUNDING, CappedTable, Group, Labels, Summary, rounded
from dpbandits.identification.identify import Identifications

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Setting

__all__ = ["IdentificationReplicates", "IdentificationSummary", "IdentificationTable"]

_NUMBERS = (
    "mean_time",
    "time_low95",
    "time_high95",
    "time_sd",
    "time_q05",
    "time_q50",
    "time_q95",
    "time_max",
    "error_rate",
    "error_low95",
    "error_high95",
)


@dataclass(frozen=True)
class IdentificationSummary(Summary):
    """Stopping times and errors of one setting.

    Attributes
    ----------
    panel, instance, n_arms, epsilon, delta, algorithm, variant
        The setting.
    n_runs : int
        Number of replicates.
    stopped : int
        How many of them stopped by themselves. If not all, the mean and the standard deviation of
        the stopping time are unknown, nan; so are quantiles that an unknown time may be.
    mean_time : float
        Mean stopping time.
    time_low95, time_high95 : float
        Student's 95 % confidence interval of the mean; nan with one run.
    time_sd : float
        Standard deviation of the stopping time; nan with one run.
    time_q05, time_q50, time_q95 : float
        Quantiles of the stopping time; nan if a run that was ended could be below.
    time_max : float
        The longest run, in pulls; of a run that was ended, the pulls until then.
    error_rate : float
        Share of the runs that recommend another arm than the best.
    error_low95, error_high95 : float
        Clopper-Pearson's 95 % confidence interval of that probability.
    """

    panel: str
    instance: str
    n_arms: int
    epsilon: float
    delta: float
    algorithm: str
    variant: str
    n_runs: int
    stopped: int
    mean_time: float
    time_low95: float
    time_high95: float
    time_sd: float
    time_q05: float
    time_q50: float
    time_q95: float
    time_max: float
    error_rate: float
    error_low95: float
    error_high95: float

    @property
    def labels(self) -> IdentificationLabels:
        """The setting, as the tables' first columns."""
        return IdentificationLabels(*(getattr(self, name) for name in IdentificationLabels._fields))

    def same_as(self, other: IdentificationSummary) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""
        mine, others = ([getattr(s, name) for name in _NUMBERS] for s in (self, other))
        return (
            self.labels == other.labels
            and (self.n_runs, self.stopped) == (other.n_runs, other.stopped)
            and np.allclose(mine, others, rtol=ROUNDING, atol=0.0, equal_nan=True)
        )


@dataclass(frozen=True)
class IdentificationReplicates(Group):
    """How each run of a setting ended.

    Attributes
    ----------
    labels : IdentificationLabels
        The setting, as the tables' first columns.
    stopping_time : numpy.ndarray of int, shape (n_runs,)
        Pulls of each run.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each run recommends; −1 if it was ended before it stopped.
    """

    labels: IdentificationLabels
    stopping_time: NDArray[np.int64]
    recommendation: NDArray[np.int64]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.stopping_time.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> IdentificationReplicates:
        """Return some of the replicates."""
        return replace(
            self,
            stopping_time=self.stopping_time[rows],
            recommendation=self.recommendation[rows],
        )

    def same_as(self, other: IdentificationReplicates) -> bool:
        """Tell whether times and recommendations are the same."""
        return np.array_equal(self.stopping_time, other.stopping_time) and np.array_equal(
            self.recommendation, other.recommendation
        )

    def headline(self) -> list[NDArray[np.float64]]:
        """Return the stopping times; a run that was ended has a value of its own, beyond all."""
        times = self.stopping_time.astype(np.float64)
        return [np.where(self.recommendation < 0, 2.0**63, times)]


@dataclass(frozen=True)
class IdentificationTable(CappedTable):
    """How the data of experiments on identification is made, written and read."""

    kind: ClassVar[str] = "identification"
    CALLED: ClassVar[str] = "stopping times"
    LABELS: ClassVar[type[Labels]] = IdentificationLabels
    SUMMARY: ClassVar[tuple[str, ...]] = ("n_runs", "stopped", *_NUMBERS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", "stopping_time", "recommendation")

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[IdentificationSummary, ...]:
        """Return times and errors of each setting."""
        return tuple(
            _summary(cast(IdentificationSetting, setting), runs) for setting, runs in pairs
        )

    def replicates(
        self, pairs: Sequence[tuple[Setting, Any]]
    ) -> tuple[IdentificationReplicates, ...]:
        """Return the runs of each setting, as many as the file holds."""
        kept = self.runs_kept(len(pairs))
        return tuple(
            IdentificationReplicates(
                cast(IdentificationSetting, setting).labels,
                runs.stopping_time[:kept],
                runs.recommendation[:kept],
            )
            for setting, runs in pairs
        )

    def summary_rows(self, summary: IdentificationSummary) -> Iterator[list[str]]:
        """Write a summary: one row."""
        numbers = (rounded(getattr(summary, name)) for name in _NUMBERS)
        yield [str(summary.n_runs), str(summary.stopped), *numbers]

    def read_summary(
        self, labels: IdentificationLabels, rows: list[list[str]]
    ) -> IdentificationSummary:
        """Read what `summary_rows` wrote."""
        ((n_runs, stopped, *numbers),) = rows
        return IdentificationSummary(*labels, int(n_runs), int(stopped), *map(float, numbers))

    def run_rows(self, group: IdentificationReplicates) -> Iterator[list[str]]:
        """Write runs, a row each."""
        columns = (group.stopping_time.tolist(), group.recommendation.tolist())
        for i, (time, recommendation) in enumerate(zip(*columns, strict=True)):
            yield [str(i), str(time), str(recommendation)]

    def read_runs(
        self, labels: IdentificationLabels, rows: list[list[str]]
    ) -> IdentificationReplicates:
        """Read what `run_rows` wrote."""
        _, times, arms = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        return IdentificationReplicates(labels, times, arms)


def _summary(setting: IdentificationSetting, runs: Identifications) -> IdentificationSummary:
    low, middle, high = runs.time_quantiles([0.05, 0.5, 0.95]).tolist()
    deviation = math.nan
    if runs.stopped.all() and runs.n_runs > 1:
        deviation = float(runs.stopping_time.astype(np.float64).std(ddof=1))
    return IdentificationSummary(
        *setting.labels,
        runs.n_runs,
        int(runs.stopped.sum()),
        *runs.mean_time(0.95),
        deviation,
        low,
        middle,
        high,
        float(runs.stopping_time.max()),
        *runs.error_rate(0.95),
    )
