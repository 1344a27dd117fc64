"""Tables of experiments on regret: curves over time, and each run at the horizon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.regret_cells import RegretLabels, RegretSetting, round_times
from dpbandits.experiments.tables import ROUNDING, Group, Labels, Summary, Table, rounded
from dpbandits.simulation import Runs

if TYPE_CHECKING:
    from dpbandits.experiments.running import Results
    from dpbandits.experiments.settings import Preset, Setting

__all__ = ["Curve", "RegretTable", "Replicates", "curves", "replicates"]

_COLUMNS = ("mean", "low90", "high90", "mean_low95", "mean_high95")


@dataclass(frozen=True)
class Curve(Summary):
    """Mean pseudo-regret of a setting over time, with the spread of its runs.

    Attributes
    ----------
    panel, instance, n_arms, epsilon, algorithm, variant, horizon
        The setting.
    times : numpy.ndarray of int, shape (C,)
        Numbers of pulls.
    mean : numpy.ndarray, shape (C,)
        Mean pseudo-regret over the runs.
    low90, high90 : numpy.ndarray, shape (C,)
        The band that holds the central 90 % of the runs, at each time.
    mean_low95, mean_high95 : numpy.ndarray, shape (C,)
        Student's 95 % confidence interval of the mean; nan with one run.
    """

    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    horizon: int
    times: NDArray[np.int64]
    mean: NDArray[np.float64]
    low90: NDArray[np.float64]
    high90: NDArray[np.float64]
    mean_low95: NDArray[np.float64]
    mean_high95: NDArray[np.float64]

    @property
    def labels(self) -> RegretLabels:
        """The setting, as the tables' first columns."""
        return RegretLabels(*(getattr(self, name) for name in RegretLabels._fields))

    def same_as(self, other: Curve) -> bool:
        """Tell whether another curve has the same numbers, up to the rounding of the file."""
        return (
            self.labels == other.labels
            and np.array_equal(self.times, other.times)
            and all(
                np.allclose(getattr(self, x), getattr(other, x), rtol=ROUNDING, equal_nan=True)
                for x in _COLUMNS
            )
        )


@dataclass(frozen=True)
class Replicates(Group):
    """What each run of a setting came to at the horizon.

    Attributes
    ----------
    labels : RegretLabels
        The setting, as the tables' first columns.
    regret : numpy.ndarray, shape (n_runs,)
        Pseudo-regret at the horizon.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm.
    epoch_ends : tuple of numpy.ndarray of int, length n_runs
        Times at which each run's epochs ended; empty for algorithms without epochs.
    """

    labels: RegretLabels
    regret: NDArray[np.float64]
    pulls: NDArray[np.int64]
    epoch_ends: tuple[NDArray[np.int64], ...]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.regret.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Replicates:
        """Return some of the replicates."""
        ends = tuple(self.epoch_ends[row] for row in rows)
        return replace(self, regret=self.regret[rows], pulls=self.pulls[rows], epoch_ends=ends)

    def same_as(self, other: Replicates) -> bool:
        """Tell whether regret to 7 digits, pulls and ends of epochs are the same."""
        return (
            [*map(rounded, self.regret)] == [*map(rounded, other.regret)]
            and np.array_equal(self.pulls, other.pulls)
            and all(map(np.array_equal, self.epoch_ends, other.epoch_ends))
        )

    def headline(self) -> list[NDArray[np.float64]]:
        """Return the final regret."""
        return [self.regret]

    def columns(self) -> list[NDArray[np.float64]]:
        """Return the final regret and the pulls of each arm."""
        return [self.regret, *self.pulls.T.astype(float)]


@dataclass(frozen=True)
class RegretTable(Table):
    """How the data of experiments on regret is made, written and read.

    Attributes
    ----------
    every_checkpoint : bool
        Whether the file keeps each curve's every checkpoint, or only the round times.
    """

    kind: ClassVar[str] = "regret"
    CALLED: ClassVar[str] = "curves"
    LABELS: ClassVar[type[Labels]] = RegretLabels
    SUMMARY: ClassVar[tuple[str, ...]] = ("time", *_COLUMNS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", "final_regret", "pulls", "n_epochs", "epoch_ends")

    every_checkpoint: bool = True

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[Curve, ...]:
        """Return the curve of each setting."""
        return tuple(self._curve(cast(RegretSetting, setting), runs) for setting, runs in pairs)

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[Replicates, ...]:
        """Return the runs of each setting at the horizon."""
        return tuple(
            Replicates(
                cast(RegretSetting, setting).labels, runs.regret[:, -1], runs.pulls, runs.epoch_ends
            )
            for setting, runs in pairs
        )

    def about(self, preset: Preset, settings: Sequence[Setting]) -> dict[str, Any]:
        """Return horizon and runs: those of all settings, or else of the preset."""
        made = [cast(RegretSetting, setting).cell for setting in settings]
        horizons, runs = {cell.horizon for cell in made}, {cell.n_runs for cell in made}
        return {
            "horizon": horizons.pop() if len(horizons) == 1 else preset.horizon,
            "n_runs": runs.pop() if len(runs) == 1 else preset.n_runs,
        }

    def _curve(self, setting: RegretSetting, runs: Runs) -> Curve:
        keep = np.ones(runs.times.size, dtype=bool)
        if not self.every_checkpoint:
            keep = np.isin(runs.times, round_times(runs.horizon))
        low90, high90 = runs.band(0.9)
        unknown = np.full(runs.times.size, math.nan)
        mean_low, mean_high = runs.mean_interval(0.95) if runs.n_runs > 1 else (unknown, unknown)
        return Curve(
            *setting.labels,
            times=runs.times[keep],
            mean=runs.mean()[keep],
            low90=low90[keep],
            high90=high90[keep],
            mean_low95=mean_low[keep],
            mean_high95=mean_high[keep],
        )

    def summary_rows(self, summary: Curve) -> Iterator[list[str]]:
        """Write a curve, a row a time."""
        columns = (getattr(summary, name) for name in _COLUMNS)
        for time, *values in zip(summary.times.tolist(), *columns, strict=True):
            yield [str(time), *map(rounded, values)]

    def read_summary(self, labels: RegretLabels, rows: list[list[str]]) -> Curve:
        """Read what `summary_rows` wrote."""
        times = np.array([int(row[0]) for row in rows], dtype=np.int64)
        mean, low90, high90, low95, high95 = np.array([row[1:] for row in rows], dtype=float).T
        return Curve(*labels, times, mean, low90, high90, low95, high95)

    def run_rows(self, group: Replicates) -> Iterator[list[str]]:
        """Write runs; pulls of arms and ends of epochs share a column, with spaces."""
        for i in range(group.n_runs):
            ends = group.epoch_ends[i]
            yield [
                str(i),
                rounded(group.regret[i]),
                " ".join(map(str, group.pulls[i].tolist())),
                str(ends.size),
                " ".join(map(str, ends.tolist())),
            ]

    def read_runs(self, labels: RegretLabels, rows: list[list[str]]) -> Replicates:
        """Read what `run_rows` wrote."""
        return Replicates(
            labels,
            np.array([float(row[1]) for row in rows]),
            np.array([[int(n) for n in row[2].split()] for row in rows], dtype=np.int64),
            tuple(np.array(row[4].split(), dtype=np.int64) for row in rows),
        )


def curves(results: Results) -> tuple[Curve, ...]:
    """Return the curve of every setting of experiments on regret."""
    return results.summaries()


def replicates(results: Results) -> tuple[Replicates, ...]:
    """Return the replicates of every setting of experiments on regret."""
    return results.replicates()
