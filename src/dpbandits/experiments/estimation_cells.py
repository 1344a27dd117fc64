"""Cells and settings of experiments on private means: an estimator, a law, a number of rewards."""

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
from dpbandits.heavy_estimates import TruncatedMean
from dpbandits.heavy_laws import HeavyLaw
from dpbandits.provenance import Name

__all__ = [
    "EstimationCell",
    "EstimationLabels",
    "EstimationSetting",
    "estimation_setting",
    "play_errors",
]


def play_errors(
    estimator: TruncatedMean,
    law: HeavyLaw,
    n_rewards: int,
    seeds: Sequence[np.random.SeedSequence],
) -> Arrays:
    """Draw one error per seed."""
    generators = (np.random.default_rng(seed) for seed in seeds)
    errors = [estimator.error(rng, law, n_rewards) for rng in generators]
    return {"error": np.array(errors, dtype=np.float64)}


@dataclass(frozen=True)
class EstimationCell(Cell):
    """Errors of one private mean of rewards of one law; its result is an array of them.

    Attributes
    ----------
    estimator : TruncatedMean
        The estimator.
    law : HeavyLaw
        Law of the rewards.
    n_rewards : int
        Their number n.
    n_runs : int
        Number of replicates.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_errors")
    CHUNK: ClassVar[int] = 200  # a run takes some tens of microseconds

    estimator: TruncatedMean
    law: HeavyLaw
    n_rewards: int
    n_runs: int

    def __post_init__(self) -> None:
        check_part("estimator", self.estimator, TruncatedMean)
        check_part("law", self.law, HeavyLaw)
        object.__setattr__(self, "n_rewards", check_integer("n_rewards", self.n_rewards, 1))
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @property
    def parts(self) -> tuple[object, ...]:
        """The estimator and the law."""
        return (self.estimator, self.law)

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{self.estimator.model}, n = {self.n_rewards:g}"

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""
        return {
            "estimator": describe(self.estimator),
            "law": describe(self.law),
            "n_rewards": self.n_rewards,
        }

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Draw one error per seed."""
        return play_errors(self.estimator, self.law, self.n_rewards, seeds)

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the errors."""
        return np.asarray(arrays["error"], dtype=np.float64)


class EstimationLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    law: str
    order: float
    epsilon: float
    model: str
    variant: str
    n_rewards: int

    def __str__(self) -> str:
        numbers = f"v = {self.order:g}, ε = {self.epsilon:g}, n = {self.n_rewards}"
        return f"panel {self.panel}, model {self.model} on {self.law}, {numbers}"


@dataclass(frozen=True)
class EstimationSetting(Setting):
    """Where a cell stands in a figure.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    law : str
        Name of the law.
    order : float
        v, to 7 digits.
    epsilon : float
        Privacy budget ε, to 7 digits; ``inf`` without privacy.
    model : str
        Who is trusted; see `TruncatedMean`.
    variant : str
        What kind of law it is: what the curves of one model are told apart by.
    n_rewards : int
        Number of rewards n.
    cell : EstimationCell
        What is simulated.
    """

    experiment: str
    panel: str
    law: str
    order: float
    epsilon: float
    model: str
    variant: str
    n_rewards: int
    cell: EstimationCell

    @property
    def labels(self) -> EstimationLabels:
        """The first columns of the setting's rows in the tables."""
        return EstimationLabels(*(getattr(self, name) for name in EstimationLabels._fields))

    def __str__(self) -> str:
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return f"model {self.model}, {self.law}, v = {self.order:g}, n = {self.n_rewards}{budget}"


def estimation_setting(
    experiment: str, panel: str, cell: EstimationCell, variant: str = ""
) -> EstimationSetting:
    """Read a setting's labels off its cell."""
    estimator = cell.estimator
    order, epsilon = (float(rounded(x)) for x in (estimator.order, estimator.epsilon))
    return EstimationSetting(
        experiment,
        panel,
        cell.law.name,
        order,
        epsilon,
        estimator.model,
        variant,
        cell.n_rewards,
        cell,
    )
