"""Tables of experiments on stopping rules: samples and errors by setting, and each run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.stopping_cells import StoppingLabels, StoppingSetting
from dpbandits.experiments.tables import ROUNDING, CappedTable, Group, Labels, Summary, rounded
from dpbandits.stopping.estimate import Estimates

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Setting

__all__ = ["StoppingReplicates", "StoppingSummary", "StoppingTable"]

_NUMBERS = (
    "mean_samples",
    "samples_low95",
    "samples_high95",
    "samples_q05",
    "samples_q50",
    "samples_q95",
    "error_rate",
    "error_low95",
    "error_high95",
)


@dataclass(frozen=True)
class StoppingSummary(Summary):
    """Samples and errors of one setting.

    Attributes
    ----------
    panel, law, mean, alpha, beta, epsilon, rule, variant
        The setting.
    n_runs : int
        Number of replicates.
    halted : int
        How many of them halted. If not all, their samples are unknown: mean and quantiles are nan.
    mean_samples : float
        Mean number of samples.
    samples_low95, samples_high95 : float
        Student's 95 % confidence interval of the mean; nan with one run.
    samples_q05, samples_q50, samples_q95 : float
        Quantiles of the number of samples.
    error_rate : float
        Share of the runs whose estimate is off by more than α|μ|; a run that has not halted has
        no estimate.
    error_low95, error_high95 : float
        Clopper-Pearson's 95 % confidence interval of that probability.
    """

    panel: str
    law: str
    mean: float
    alpha: float
    beta: float
    epsilon: float
    rule: str
    variant: str
    n_runs: int
    halted: int
    mean_samples: float
    samples_low95: float
    samples_high95: float
    samples_q05: float
    samples_q50: float
    samples_q95: float
    error_rate: float
    error_low95: float
    error_high95: float

    @property
    def labels(self) -> StoppingLabels:
        """The setting, as the tables' first columns."""
        return StoppingLabels(*(getattr(self, name) for name in StoppingLabels._fields))

    def same_as(self, other: StoppingSummary) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""
        mine, others = ([getattr(s, name) for name in _NUMBERS] for s in (self, other))
        return (
            self.labels == other.labels
            and (self.n_runs, self.halted) == (other.n_runs, other.halted)
            and np.allclose(mine, others, rtol=ROUNDING, atol=0.0, equal_nan=True)
        )


@dataclass(frozen=True)
class StoppingReplicates(Group):
    """How each run of a setting ended.

    Attributes
    ----------
    labels : StoppingLabels
        The setting, as the tables' first columns.
    samples : numpy.ndarray of int, shape (n_runs,)
        Samples that each run took.
    estimate : numpy.ndarray, shape (n_runs,)
        Released estimates; nan where a run has not halted.
    halted : numpy.ndarray of bool, shape (n_runs,)
        Whether each run halted.
    """

    labels: StoppingLabels
    samples: NDArray[np.int64]
    estimate: NDArray[np.float64]
    halted: NDArray[np.bool_]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.samples.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> StoppingReplicates:
        """Return some of the replicates."""
        return replace(
            self, samples=self.samples[rows], estimate=self.estimate[rows], halted=self.halted[rows]
        )

    def same_as(self, other: StoppingReplicates) -> bool:
        """Tell whether samples, halts and estimates to 7 digits are the same."""
        return (
            np.array_equal(self.samples, other.samples)
            and np.array_equal(self.halted, other.halted)
            and [*map(rounded, self.estimate)] == [*map(rounded, other.estimate)]
        )

    def headline(self) -> list[NDArray[np.float64]]:
        """Return samples and estimates, with values of their own for runs that have not halted.

        These took more than all samples there were, and estimated 0, which no run that halts
        comes near.
        """
        unfinished = np.where(self.halted, 1.0, 2.0)
        return [self.samples * unfinished, np.where(self.halted, self.estimate, 0.0)]


@dataclass(frozen=True)
class StoppingTable(CappedTable):
    """How the data of experiments on stopping rules is made, written and read."""

    kind: ClassVar[str] = "stopping"
    CALLED: ClassVar[str] = "samples"
    LABELS: ClassVar[type[Labels]] = StoppingLabels
    SUMMARY: ClassVar[tuple[str, ...]] = ("n_runs", "halted", *_NUMBERS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", "samples", "estimate", "halted")

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[StoppingSummary, ...]:
        """Return samples and errors of each setting."""
        return tuple(_summary(cast(StoppingSetting, setting), runs) for setting, runs in pairs)

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[StoppingReplicates, ...]:
        """Return the runs of each setting, as many as the file holds."""
        kept = self.runs_kept(len(pairs))
        return tuple(
            StoppingReplicates(
                cast(StoppingSetting, setting).labels,
                runs.samples[:kept],
                runs.estimate[:kept],
                runs.halted[:kept],
            )
            for setting, runs in pairs
        )

    def summary_rows(self, summary: StoppingSummary) -> Iterator[list[str]]:
        """Write a summary: one row."""
        numbers = (rounded(getattr(summary, name)) for name in _NUMBERS)
        yield [str(summary.n_runs), str(summary.halted), *numbers]

    def read_summary(self, labels: StoppingLabels, rows: list[list[str]]) -> StoppingSummary:
        """Read what `summary_rows` wrote."""
        ((n_runs, halted, *numbers),) = rows
        return StoppingSummary(*labels, int(n_runs), int(halted), *map(float, numbers))

    def run_rows(self, group: StoppingReplicates) -> Iterator[list[str]]:
        """Write runs, a row each."""
        columns = (group.samples.tolist(), group.estimate.tolist(), group.halted.tolist())
        for i, (samples, estimate, halted) in enumerate(zip(*columns, strict=True)):
            yield [str(i), str(samples), rounded(estimate), str(int(halted))]

    def read_runs(self, labels: StoppingLabels, rows: list[list[str]]) -> StoppingReplicates:
        """Read what `run_rows` wrote."""
        _, samples, estimate, halted = zip(*rows, strict=True)
        return StoppingReplicates(
            labels,
            np.array([int(n) for n in samples], dtype=np.int64),
            np.array([float(x) for x in estimate]),
            np.array([text == "1" for text in halted]),
        )


def _summary(setting: StoppingSetting, runs: Estimates) -> StoppingSummary:
    low = middle = high = math.nan
    if runs.halted.all():
        # values that occur: between the looks of a rule there is nothing
        low, middle, high = np.quantile(runs.samples, [0.05, 0.5, 0.95], method="inverted_cdf")
    return StoppingSummary(
        *setting.labels,
        runs.n_runs,
        int(runs.halted.sum()),
        *runs.mean_samples(0.95),
        float(low),
        float(middle),
        float(high),
        *runs.error_rate(0.95),
    )
