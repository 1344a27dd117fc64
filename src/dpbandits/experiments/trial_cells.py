"""Cells and settings of experiments on trials: an algorithm on patients without replacement."""

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
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.population import FinitePopulation
from dpbandits.identification.trials import Trials, run_trial
from dpbandits.provenance import Name

__all__ = ["TrialCell", "TrialLabels", "TrialSetting", "play_trials", "trial_setting"]


def play_trials(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seeds: Sequence[np.random.SeedSequence],
) -> Arrays:
    """Run one trial per seed."""
    ends = [run_trial(algorithm, population, seed) for seed in seeds]
    return {
        "recommendation": np.array([end.recommendation for end in ends], dtype=np.int64),
        "patients": np.array([end.patients for end in ends], dtype=np.int64),
        "failures": np.array([end.failures for end in ends], dtype=np.int64),
    }


@dataclass(frozen=True)
class TrialCell(Cell):
    """Trials of one algorithm on one population.

    ``simulate_trials(cell.algorithm, cell.population, cell.n_runs, cell.seed(root))`` is what an
    experiment computes for the cell.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run.
    population : FinitePopulation
        The patients.
    n_runs : int
        Number of trials.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_trials")

    algorithm: IdentificationAlgorithm
    population: FinitePopulation
    n_runs: int

    def __post_init__(self) -> None:
        check_part("algorithm", self.algorithm, IdentificationAlgorithm)
        check_part("population", self.population, FinitePopulation)
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @property
    def parts(self) -> tuple[object, ...]:
        """The algorithm and the population."""
        return (self.algorithm, self.population)

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{self.algorithm.label} on {self.population.name}"

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one trial depends on, ready for JSON."""
        return {
            "algorithm": describe(self.algorithm),
            "successes": list(self.population.successes),
            "sizes": list(self.population.sizes),
        }

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Run one trial per seed."""
        return play_trials(self.algorithm, self.population, seeds)

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> Trials:
        """Make `Trials` from what `play` returned."""
        columns = (arrays[name] for name in ("recommendation", "patients", "failures"))
        return Trials(self.algorithm, self.population, *columns)


class TrialLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    population: str
    n_arms: int
    total: int
    epsilon: float
    delta: float
    algorithm: str

    def __str__(self) -> str:
        numbers = f"{self.total} patients, ε = {self.epsilon:g}, δ = {self.delta:g}"
        return f"panel {self.panel}, {self.algorithm} on {self.population}, {numbers}"


@dataclass(frozen=True)
class TrialSetting(Setting):
    """Where a cell stands in a figure; the numbers are rounded to 7 digits.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    population : str
        Name of the population.
    n_arms : int
        Number of arms K.
    total : int
        Patients of all arms together.
    epsilon : float
        Privacy budget ε; ``inf`` for algorithms without privacy.
    delta : float
        Probability δ of a wrong recommendation that is allowed.
    algorithm : str
        Label of the algorithm.
    cell : TrialCell
        What is simulated.
    """

    experiment: str
    panel: str
    population: str
    n_arms: int
    total: int
    epsilon: float
    delta: float
    algorithm: str
    cell: TrialCell

    @property
    def labels(self) -> TrialLabels:
        """The first columns of the setting's rows in the tables."""
        return TrialLabels(*(getattr(self, name) for name in TrialLabels._fields))


def trial_setting(experiment: str, panel: str, cell: TrialCell) -> TrialSetting:
    """Read a setting's labels off its cell."""
    algorithm, population = cell.algorithm, cell.population
    numbers = (getattr(algorithm, "epsilon", math.inf), algorithm.delta)
    epsilon, delta = (float(rounded(x)) for x in numbers)
    return TrialSetting(
        experiment,
        panel,
        population.name,
        population.n_arms,
        population.total,
        epsilon,
        delta,
        algorithm.label,
        cell,
    )
