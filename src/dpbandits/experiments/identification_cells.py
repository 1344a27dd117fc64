"""Cells and settings of experiments on identification: an algorithm, run until it stops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_integer
from dpbandits.experiments.settings import Arrays, Cell, Setting, check_part, describe
from dpbandits.experiments.tables import rounded
from dpbandits.identification.base import (
    MOST_PULLS,
    IdentificationAlgorithm,
    check_unique_best_arm,
)
from dpbandits.identification.identify import Identifications, identify_replicate
from dpbandits.instances import BernoulliInstance
from dpbandits.provenance import Name

__all__ = [
    "IdentificationCell",
    "IdentificationLabels",
    "IdentificationSetting",
    "identification_setting",
    "play_identifications",
]


def play_identifications(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    max_pulls: int,
    seeds: Sequence[np.random.SeedSequence],
) -> Arrays:
    """Run one replicate per seed."""
    verdicts = [identify_replicate(algorithm, instance, max_pulls, seed) for seed in seeds]
    return {
        "recommendation": np.array([v.recommendation for v in verdicts], dtype=np.int64),
        "pulls": np.array([v.pulls for v in verdicts], dtype=np.int64),
    }


@dataclass(frozen=True)
class IdentificationCell(Cell):
    """Replicates of one algorithm for best-arm identification on one instance.

    ``identify(cell.algorithm, cell.instance, cell.n_runs, cell.seed(root), cell.max_pulls)`` is
    what an experiment computes for the cell.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run.
    instance : BernoulliInstance
        The bandit, with one best arm.
    max_pulls : int
        Pulls after which a run that has not stopped is ended, from K to 2^62.
    n_runs : int
        Number of replicates.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_identifications")

    algorithm: IdentificationAlgorithm
    instance: BernoulliInstance
    max_pulls: int
    n_runs: int

    def __post_init__(self) -> None:
        check_part("algorithm", self.algorithm, IdentificationAlgorithm)
        n_arms = check_unique_best_arm(self.instance).n_arms
        most = check_integer("max_pulls", self.max_pulls, n_arms, MOST_PULLS)
        object.__setattr__(self, "max_pulls", most)
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @property
    def parts(self) -> tuple[object, ...]:
        """The algorithm and the instance."""
        return (self.algorithm, self.instance)

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{self.algorithm.label} on {self.instance.name}"

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""
        return {
            "algorithm": describe(self.algorithm),
            "means": list(self.instance.mean_rewards),
            "max_pulls": self.max_pulls,
        }

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Run one replicate per seed."""
        return play_identifications(self.algorithm, self.instance, self.max_pulls, seeds)

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> Identifications:
        """Make `Identifications` from what `play` returned."""
        columns = (arrays["recommendation"], arrays["pulls"])
        return Identifications(self.algorithm, self.instance, self.max_pulls, *columns)


class IdentificationLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    instance: str
    n_arms: int
    epsilon: float
    delta: float
    algorithm: str
    variant: str

    def __str__(self) -> str:
        name = f"{self.algorithm} {self.variant}".rstrip()
        numbers = f"K = {self.n_arms}, ε = {self.epsilon:g}, δ = {self.delta:g}"
        return f"panel {self.panel}, {name} on {self.instance}, {numbers}"


@dataclass(frozen=True)
class IdentificationSetting(Setting):
    """Where a cell stands in a figure; the numbers are rounded to 7 digits.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    instance : str
        Name of the instance.
    n_arms : int
        Number of arms K.
    epsilon : float
        Privacy budget ε; ``inf`` for algorithms without privacy.
    delta : float
        Probability δ of a wrong recommendation that is allowed.
    algorithm : str
        Label of the algorithm.
    variant : str
        What tells apart curves of one algorithm; often empty.
    cell : IdentificationCell
        What is simulated.
    """

    experiment: str
    panel: str
    instance: str
    n_arms: int
    epsilon: float
    delta: float
    algorithm: str
    variant: str
    cell: IdentificationCell

    @property
    def labels(self) -> IdentificationLabels:
        """The first columns of the setting's rows in the tables."""
        return IdentificationLabels(*(getattr(self, name) for name in IdentificationLabels._fields))

    def __str__(self) -> str:
        name = f"{self.algorithm} ({self.variant})" if self.variant else self.algorithm
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return f"{name}, {self.instance}, K = {self.n_arms}, δ = {self.delta:g}{budget}"


def identification_setting(
    experiment: str, panel: str, cell: IdentificationCell, variant: str = ""
) -> IdentificationSetting:
    """Read a setting's labels off its cell."""
    algorithm = cell.algorithm
    numbers = (getattr(algorithm, "epsilon", math.inf), algorithm.delta)
    epsilon, delta = (float(rounded(x)) for x in numbers)
    return IdentificationSetting(
        experiment,
        panel,
        cell.instance.name,
        cell.instance.n_arms,
        epsilon,
        delta,
        algorithm.label,
        variant,
        cell,
    )
