"""Tables of experiments on trials: what was decided, after how many patients, at what price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits._intervals import mean_interval
from dpbandits.experiments.tables import ROUNDING, CappedTable, Group, Labels, Summary, rounded
from dpbandits.experiments.trial_cells import TrialLabels, TrialSetting
from dpbandits.identification.trials import Trials

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Setting

__all__ = ["TrialReplicates", "TrialSummary", "TrialTable"]

_MEANS = ("patients", "inferior", "failures", "excess")
_NUMBERS = (
    "right_rate",
    "right_low95",
    "right_high95",
    *(f"{name}{end}" for name in _MEANS for end in ("", "_low95", "_high95")),
    "patients_q50",
    "patients_q90",
    "used",
)
_COUNTS = ("n_runs", "decided", "right")
_COLUMNS = ("recommendation", "patients", "inferior", "failures")


@dataclass(frozen=True)
class TrialSummary(Summary):
    """Trials of one setting. All numbers of patients count those of undecided trials as well.

    Attributes
    ----------
    panel, population, n_arms, total, epsilon, delta, algorithm
        The setting.
    n_runs, decided, right : int
        Trials, those that recommend an arm, and those that recommend the best arm.
    right_rate, right_low95, right_high95 : float
        Share of trials that recommend the best arm, with Clopper-Pearson's 95 % interval.
    patients, patients_low95, patients_high95 : float
        Mean number of patients, with Student's 95 % interval; nan with one trial.
    inferior, inferior_low95, inferior_high95 : float
        The same for patients that did not get the best arm.
    failures, failures_low95, failures_high95 : float
        The same for patients with outcome 0.
    excess, excess_low95, excess_high95 : float
        The same for failures, by the table's shares, that the best arm would have avoided.
    patients_q50, patients_q90 : float
        Numbers of patients within which half, and nine in ten, of the trials ended.
    used : float
        Mean share of the table that was used.
    """

    panel: str
    population: str
    n_arms: int
    total: int
    epsilon: float
    delta: float
    algorithm: str
    n_runs: int
    decided: int
    right: int
    right_rate: float
    right_low95: float
    right_high95: float
    patients: float
    patients_low95: float
    patients_high95: float
    inferior: float
    inferior_low95: float
    inferior_high95: float
    failures: float
    failures_low95: float
    failures_high95: float
    excess: float
    excess_low95: float
    excess_high95: float
    patients_q50: float
    patients_q90: float
    used: float

    @property
    def labels(self) -> TrialLabels:
        """The setting, as the tables' first columns."""
        return TrialLabels(*(getattr(self, name) for name in TrialLabels._fields))

    def same_as(self, other: TrialSummary) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""
        mine, others = ([getattr(s, name) for name in _NUMBERS] for s in (self, other))
        return (
            self.labels == other.labels
            and all(getattr(self, name) == getattr(other, name) for name in _COUNTS)
            and np.allclose(mine, others, rtol=ROUNDING, atol=0.0, equal_nan=True)
        )


@dataclass(frozen=True)
class TrialReplicates(Group):
    """How each trial of a setting ended.

    Attributes
    ----------
    labels : TrialLabels
        The setting, as the tables' first columns.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each trial recommends; −1 if it ended undecided.
    patients, inferior, failures : numpy.ndarray of int, shape (n_runs,)
        Patients of each trial, those that did not get the best arm, and those with outcome 0.
    """

    labels: TrialLabels
    recommendation: NDArray[np.int64]
    patients: NDArray[np.int64]
    inferior: NDArray[np.int64]
    failures: NDArray[np.int64]

    @property
    def n_runs(self) -> int:
        """Number of trials."""
        return self.recommendation.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> TrialReplicates:
        """Return some of the trials."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def same_as(self, other: TrialReplicates) -> bool:
        """Tell whether the trials are the same."""
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in _COLUMNS)

    def headline(self) -> list[NDArray[np.float64]]:
        """Return what a spot check compares in law: patients, and how it ended."""
        return [self.patients.astype(np.float64), self.recommendation.astype(np.float64)]

    def columns(self) -> list[NDArray[np.float64]]:
        """Return everything that can be compared in law, a value a trial."""
        return [getattr(self, name).astype(np.float64) for name in _COLUMNS]


@dataclass(frozen=True)
class TrialTable(CappedTable):
    """How the data of experiments on trials is made, written and read."""

    kind: ClassVar[str] = "trial"
    CALLED: ClassVar[str] = "trials"
    LABELS: ClassVar[type[Labels]] = TrialLabels
    SUMMARY: ClassVar[tuple[str, ...]] = (*_COUNTS, *_NUMBERS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", *_COLUMNS)

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[TrialSummary, ...]:
        """Return what the trials of each setting come to."""
        return tuple(_summary(cast(TrialSetting, setting), trials) for setting, trials in pairs)

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[TrialReplicates, ...]:
        """Return the trials of each setting, as many as the file holds."""
        kept = self.runs_kept(len(pairs))
        return tuple(_group(cast(TrialSetting, setting), trials, kept) for setting, trials in pairs)

    def summary_rows(self, summary: TrialSummary) -> Iterator[list[str]]:
        """Write a summary: one row."""
        counts = (str(getattr(summary, name)) for name in _COUNTS)
        yield [*counts, *(rounded(getattr(summary, name)) for name in _NUMBERS)]

    def read_summary(self, labels: TrialLabels, rows: list[list[str]]) -> TrialSummary:
        """Read what `summary_rows` wrote."""
        (row,) = rows
        counts, numbers = row[: len(_COUNTS)], row[len(_COUNTS) :]
        return TrialSummary(*labels, *map(int, counts), *map(float, numbers))

    def run_rows(self, group: TrialReplicates) -> Iterator[list[str]]:
        """Write trials, a row each."""
        columns = (getattr(group, name).tolist() for name in _COLUMNS)
        for i, row in enumerate(zip(*columns, strict=True)):
            yield [str(i), *map(str, row)]

    def read_runs(self, labels: TrialLabels, rows: list[list[str]]) -> TrialReplicates:
        """Read what `run_rows` wrote."""
        columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        return TrialReplicates(labels, *list(columns)[1:])


def _group(setting: TrialSetting, trials: Trials, kept: int) -> TrialReplicates:
    columns = (trials.recommendation, trials.totals, trials.inferior, trials.failures.sum(axis=1))
    return TrialReplicates(setting.labels, *(column[:kept] for column in columns))


def _summary(setting: TrialSetting, trials: Trials) -> TrialSummary:
    totals = trials.totals
    values = (totals, trials.inferior, trials.failures.sum(axis=1), trials.excess)
    means = [number for each in values for number in mean_interval(each)]
    used = float(totals.mean()) / trials.population.total
    middle, high = np.quantile(totals, [0.5, 0.9], method="inverted_cdf").tolist()
    numbers = [*trials.share(trials.right), *means, middle, high, used]
    counts = (trials.n_runs, trials.decided, trials.right)
    return TrialSummary(*setting.labels, *counts, *numbers)
