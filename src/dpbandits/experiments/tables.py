"""Results as tables: curves and replicates, to text and back."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.catalogue import EXPERIMENTS
from dpbandits.experiments.running import Results
from dpbandits.experiments.settings import Setting, round_times
from dpbandits.simulation import Runs

__all__ = ["Curve", "Labels", "Replicates", "curves", "replicates"]

LABELS = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant", "horizon")
CURVE_COLUMNS = (*LABELS, "time", "mean", "low90", "high90", "mean_low95", "mean_high95")
RUN_COLUMNS = (*LABELS, "run", "final_regret", "pulls", "n_epochs", "epoch_ends")


class Labels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    horizon: int


@dataclass(frozen=True)
class Curve:
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
    def labels(self) -> Labels:
        """The setting, as the tables' first columns."""
        return Labels(
            self.panel,
            self.instance,
            self.n_arms,
            self.epsilon,
            self.algorithm,
            self.variant,
            self.horizon,
        )


@dataclass(frozen=True)
class Replicates:
    """What each run of a setting came to at the horizon.

    Attributes
    ----------
    labels : Labels
        The setting, as the tables' first columns.
    regret : numpy.ndarray, shape (n_runs,)
        Pseudo-regret at the horizon.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm.
    epoch_ends : tuple of numpy.ndarray of int, length n_runs
        Times at which each run's epochs ended; empty for algorithms without epochs.
    """

    labels: Labels
    regret: NDArray[np.float64]
    pulls: NDArray[np.int64]
    epoch_ends: tuple[NDArray[np.int64], ...]


def curves(results: Results) -> tuple[Curve, ...]:
    """Return the curve of every setting."""
    return tuple(_curve(setting, results[setting]) for setting in results.settings)


def replicates(results: Results) -> tuple[Replicates, ...]:
    """Return the replicates of every setting."""
    return tuple(_replicates(setting, results[setting]) for setting in results.settings)


def labels_of(setting: Setting) -> Labels:
    """Return the first columns of a setting's rows."""
    return Labels(
        setting.panel,
        setting.instance,
        setting.n_arms,
        setting.epsilon,
        setting.algorithm,
        setting.variant,
        setting.cell.horizon,
    )


def _curve(setting: Setting, runs: Runs) -> Curve:
    keep = np.ones(runs.times.size, dtype=bool)
    if not EXPERIMENTS[setting.experiment].every_checkpoint:
        keep = np.isin(runs.times, round_times(runs.horizon))
    low90, high90 = runs.band(0.9)
    unknown = np.full(runs.times.size, math.nan)
    mean_low, mean_high = runs.mean_interval(0.95) if runs.n_runs > 1 else (unknown, unknown)
    return Curve(
        *labels_of(setting),
        times=runs.times[keep],
        mean=runs.mean()[keep],
        low90=low90[keep],
        high90=high90[keep],
        mean_low95=mean_low[keep],
        mean_high95=mean_high[keep],
    )


def _replicates(setting: Setting, runs: Runs) -> Replicates:
    return Replicates(labels_of(setting), runs.regret[:, -1], runs.pulls, runs.epoch_ends)


def _label_texts(labels: Labels) -> list[str]:
    return [f"{x:.7g}" if isinstance(x, float) else str(x) for x in labels]


def curves_to_text(table: Iterable[Curve]) -> str:
    """Write curves as CSV, numbers with 7 significant digits."""
    columns = ("mean", "low90", "high90", "mean_low95", "mean_high95")
    rows = (
        [*_label_texts(curve.labels), str(time), *(f"{x:.7g}" for x in values)]
        for curve in table
        for time, *values in zip(
            curve.times.tolist(), *(getattr(curve, name) for name in columns), strict=True
        )
    )
    return _to_text(CURVE_COLUMNS, rows)


def replicates_to_text(table: Iterable[Replicates]) -> str:
    """Write replicates as CSV; pulls of arms and ends of epochs share a column, with spaces."""
    rows = (
        [
            *_label_texts(group.labels),
            str(i),
            f"{group.regret[i]:.7g}",
            " ".join(map(str, group.pulls[i].tolist())),
            str(group.epoch_ends[i].size),
            " ".join(map(str, group.epoch_ends[i].tolist())),
        ]
        for group in table
        for i in range(group.regret.size)
    )
    return _to_text(RUN_COLUMNS, rows)


def curves_from_text(text: str) -> tuple[Curve, ...]:
    """Read what `curves_to_text` wrote."""
    found = []
    for labels, rows in _groups(text, CURVE_COLUMNS):
        times = np.array([int(row[0]) for row in rows], dtype=np.int64)
        mean, low90, high90, low95, high95 = np.array([row[1:] for row in rows], dtype=float).T
        found.append(Curve(*labels, times, mean, low90, high90, low95, high95))
    return tuple(found)


def replicates_from_text(text: str) -> tuple[Replicates, ...]:
    """Read what `replicates_to_text` wrote."""
    return tuple(
        Replicates(
            labels,
            np.array([float(row[1]) for row in rows]),
            np.array([[int(n) for n in row[2].split()] for row in rows], dtype=np.int64),
            tuple(np.array(row[4].split(), dtype=np.int64) for row in rows),
        )
        for labels, rows in _groups(text, RUN_COLUMNS)
    )


def _to_text(columns: tuple[str, ...], rows: Iterable[list[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue()


def _groups(text: str, columns: tuple[str, ...]) -> Iterator[tuple[Labels, list[list[str]]]]:
    """Yield the rows of each setting, without their first columns."""
    rows = csv.reader(io.StringIO(text))
    header = next(rows, [])
    if tuple(header) != columns:
        raise ValueError(f"header={header!r} is not that of the table; allowed: {columns}")
    width = len(LABELS)
    for key, group in groupby(rows, key=lambda row: row[:width]):
        panel, instance, n_arms, epsilon, algorithm, variant, horizon = key
        labels = Labels(
            panel, instance, int(n_arms), float(epsilon), algorithm, variant, int(horizon)
        )
        yield labels, [row[width:] for row in group]
