"""Cells and settings of experiments on regret: an algorithm on an instance up to a horizon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_integer
from dpbandits.experiments.settings import Arrays, Cell, Setting, check_part, describe
from dpbandits.heavy_instances import HeavyTailInstance
from dpbandits.heavy_laws import SampledLaw
from dpbandits.instances import BernoulliInstance
from dpbandits.provenance import Name
from dpbandits.regret.base import Instance, RegretAlgorithm
from dpbandits.simulation import Runs, log_checkpoints, play_replicate

__all__ = ["RegretCell", "RegretLabels", "RegretSetting", "play_runs", "round_times"]

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


def play_runs(
    algorithm: RegretAlgorithm,
    instance: Instance,
    horizon: int,
    checkpoints: NDArray[np.int64],
    seeds: Sequence[np.random.SeedSequence],
) -> Arrays:
    """Play one replicate per seed; the ends of all runs' epochs are joined to one array."""
    plays = [play_replicate(algorithm, instance, horizon, checkpoints, s) for s in seeds]
    return {
        "regret": np.array([play.counts @ instance.gaps for play in plays]),
        "pulls": np.array([play.counts[-1] for play in plays], dtype=np.int64),
        "n_epochs": np.array([play.epoch_ends.size for play in plays], dtype=np.int64),
        "epoch_ends": np.concatenate([play.epoch_ends for play in plays]),
    }


@dataclass(frozen=True)
class RegretCell(Cell):
    """Replicates of one algorithm on one instance.

    ``simulate(cell.algorithm, cell.instance, cell.horizon, cell.n_runs, cell.seed(root),
    checkpoints=cell.checkpoints)`` is what an experiment computes for the cell.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        Configuration to play.
    instance : Instance
        Bandit to play it on.
    horizon : int
        Horizon T.
    n_runs : int
        Number of replicates.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_runs")

    algorithm: RegretAlgorithm
    instance: BernoulliInstance | HeavyTailInstance
    horizon: int
    n_runs: int

    def __post_init__(self) -> None:
        check_part("algorithm", self.algorithm, RegretAlgorithm)
        self.algorithm.check_instance(self.instance)
        for law in getattr(self.instance, "laws", ()):
            if isinstance(law, SampledLaw):
                raise ValueError(
                    f"instance={self.instance!r} cannot be described in data: its law {law!r} is a "
                    "function; allowed: laws that are made of numbers"
                )
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @cached_property
    def checkpoints(self) -> NDArray[np.int64]:
        """Times at which the regret is kept: 24 a decade from 100 on, and `round_times`."""
        times = np.union1d(log_checkpoints(self.horizon, PER_DECADE), round_times(self.horizon))
        return times[times >= min(FIRST_CHECKPOINT, self.horizon)]

    @property
    def parts(self) -> tuple[object, ...]:
        """The algorithm and the instance, and one law of each kind where it is made of laws."""
        laws = self.instance.laws if isinstance(self.instance, HeavyTailInstance) else ()
        kinds = {type(law): law for law in laws}
        return (self.algorithm, self.instance, *kinds.values())

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{self.algorithm.label} on {self.instance.name}"

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""
        if isinstance(self.instance, BernoulliInstance):
            rewards: dict[str, Any] = {"means": list(self.instance.mean_rewards)}
        else:
            rewards = {
                "laws": [describe(law) for law in self.instance.laws],
                "order": self.instance.order,
                "moment_bound": self.instance.moment_bound,
            }
        return {"algorithm": describe(self.algorithm), **rewards, "horizon": self.horizon}

    def kept(self) -> dict[str, Any]:
        """Return the checkpoints."""
        return {"checkpoints": self.checkpoints.tolist()}

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Play one replicate per seed."""
        return play_runs(self.algorithm, self.instance, self.horizon, self.checkpoints, seeds)

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> Runs:
        """Make `Runs` from what `play` returned."""
        return Runs(
            self.algorithm,
            self.instance,
            self.horizon,
            self.checkpoints,
            arrays["regret"],
            arrays["pulls"],
            tuple(np.split(arrays["epoch_ends"], np.cumsum(arrays["n_epochs"])[:-1])),
        )


class RegretLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    horizon: int

    def __str__(self) -> str:
        name = f"{self.algorithm} {self.variant}".rstrip()
        where = f"{self.instance}, K = {self.n_arms}, ε = {self.epsilon:g}, T = {self.horizon}"
        return f"panel {self.panel}, {name} on {where}"


@dataclass(frozen=True)
class RegretSetting(Setting):
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
    cell : RegretCell
        What is simulated.
    """

    experiment: str
    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    cell: RegretCell

    @property
    def labels(self) -> RegretLabels:
        """The first columns of the setting's rows in the tables."""
        return RegretLabels(
            self.panel,
            self.instance,
            self.n_arms,
            self.epsilon,
            self.algorithm,
            self.variant,
            self.cell.horizon,
        )

    def __str__(self) -> str:
        name = f"{self.algorithm} ({self.variant})" if self.variant else self.algorithm
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return f"{name}, {self.instance}, K = {self.n_arms}{budget}"
