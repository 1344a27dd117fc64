"""What an experiment is made of: cells, settings, presets."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice
from dpbandits.instances import BernoulliInstance
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.simulation import log_checkpoints

__all__ = ["PRESETS", "Cell", "Experiment", "Preset", "Setting", "SettingMaker", "round_times"]

PER_DECADE = 24
FIRST_CHECKPOINT = 100


def round_times(horizon: int) -> NDArray[np.int64]:
    """Return 1, 2, 5, 10, 20, 50, … up to `horizon`, and `horizon` itself.

    Examples
    --------
    >>> round_times(30).tolist()
    [1, 2, 5, 10, 20, 30]
    """
    powers = 10 ** np.arange(len(str(horizon)), dtype=np.int64)
    times = np.outer(powers, [1, 2, 5]).ravel()
    return np.append(times[times < horizon], horizon)


@dataclass(frozen=True)
class Cell:
    """The unit of work: replicates of one algorithm on one instance.

    Cells with equal configurations are one cell, in whatever figure they stand.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        Configuration to play.
    instance : BernoulliInstance
        Bandit to play it on.
    horizon : int
        Horizon T.
    n_runs : int
        Number of replicates.
    """

    algorithm: RegretAlgorithm
    instance: BernoulliInstance
    horizon: int
    n_runs: int

    @cached_property
    def checkpoints(self) -> NDArray[np.int64]:
        """Times at which the regret is kept: 24 a decade from 100 on, and `round_times`."""
        times = np.union1d(log_checkpoints(self.horizon, PER_DECADE), round_times(self.horizon))
        return times[times >= min(FIRST_CHECKPOINT, self.horizon)]

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON.

        Arguments that have their default value are left out, so that an algorithm may gain
        options without a change of seeds.
        """
        return {
            "algorithm": _describe(self.algorithm),
            "means": list(self.instance.mean_rewards),
            "horizon": self.horizon,
        }

    def seed(self, root: int = 0) -> tuple[int, ...]:
        """Return this cell's seed: `root`, then 128 bits hashed from the configuration.

        ``simulate(cell.algorithm, cell.instance, cell.horizon, cell.n_runs, cell.seed(root),
        checkpoints=cell.checkpoints)`` is what an experiment computes for the cell. The number
        of replicates plays no role: fewer replicates are the first of more.
        """
        text = json.dumps(self.configuration(), sort_keys=True)
        words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4")
        return (root, *map(int, words))


def _describe(algorithm: RegretAlgorithm) -> dict[str, Any]:
    described: dict[str, Any] = {"name": type(algorithm).__name__}
    for option in fields(algorithm):  # type: ignore[arg-type]
        value = getattr(algorithm, option.name)
        if option.default is MISSING or value != option.default:
            is_algorithm = isinstance(value, RegretAlgorithm)
            described[option.name] = _describe(value) if is_algorithm else value
    return described


@dataclass(frozen=True)
class Setting:
    """Where a cell stands in a figure.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    instance : str
        Name of the instance, such as "C1".
    n_arms : int
        Number of arms K.
    epsilon : float
        Privacy budget ε of the setting; ``inf`` for algorithms without privacy.
    algorithm : str
        Label of the algorithm.
    variant : str
        What tells apart curves of one algorithm; often empty.
    cell : Cell
        What is simulated.
    """

    experiment: str
    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    cell: Cell

    def __str__(self) -> str:
        name = f"{self.algorithm} ({self.variant})" if self.variant else self.algorithm
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return f"{name}, {self.instance}, K = {self.n_arms}{budget}"


@dataclass(frozen=True)
class Preset:
    """How much of an experiment is computed.

    Attributes
    ----------
    name : str
        "smoke", "quick" or "paper".
    horizon : int
        Horizon T of the figures over time.
    n_runs : int
        Replicates per cell.
    epsilons : tuple of float
        Budgets of the figure over ε.
    horizons : tuple of int
        Horizons of the figure over T.
    """

    name: str
    horizon: int
    n_runs: int
    epsilons: tuple[float, ...]
    horizons: tuple[int, ...]


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("smoke", 20_000, 3, (0.1, 1.0), (2_000, 20_000)),
        Preset("quick", 1_000_000, 10, (0.01, 0.1, 1.0, 10.0), (10**4, 10**5, 10**6, 10**7)),
        Preset(
            "paper",
            50_000_000,
            30,
            (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
            (10**4, 10**5, 10**6, 10**7, 50_000_000, 10**8, 10**9),
        ),
    )
}
"""Name → preset. The horizon and runs of "paper" are those of SS19, §5."""

SettingMaker = Callable[["Experiment", Preset], Iterable[Setting]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A published figure, or one of ours.

    Attributes
    ----------
    id : str
        What the command line, the data files and the seeds call it.
    title : str
        One line.
    source : str
        Paper and figure, or "ours".
    panels : dict of str to str
        Panel → its title.
    axis : {"time", "ratio", "epsilon", "n_arms", "horizon"}
        What the figure shows the pseudo-regret against; "ratio" shows how many times the
        regret of DP-SE the others have, against K.
    every_checkpoint : bool
        Whether the data file keeps each curve's every checkpoint, or only the round times.
    """

    id: str
    title: str
    source: str
    panels: dict[str, str]
    axis: str
    make_settings: SettingMaker = field(repr=False)
    every_checkpoint: bool = True

    def settings(self, preset: str = "paper") -> tuple[Setting, ...]:
        """Return the settings of a preset, in the order of the panels."""
        check_choice("preset", preset, tuple(PRESETS))
        return tuple(self.make_settings(self, PRESETS[preset]))

    def cells(self, preset: str = "paper") -> tuple[Cell, ...]:
        """Return the distinct cells of a preset."""
        return tuple(dict.fromkeys(setting.cell for setting in self.settings(preset)))
