"""Cells and settings of experiments on stopping rules: a rule on a law of samples."""

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
from dpbandits.laws import Law
from dpbandits.provenance import Name
from dpbandits.stopping.base import StoppingRule
from dpbandits.stopping.estimate import Estimates, estimate_replicate

__all__ = [
    "StoppingCell",
    "StoppingLabels",
    "StoppingSetting",
    "play_estimates",
    "stopping_setting",
]


def play_estimates(
    rule: StoppingRule, law: Law, max_samples: int, seeds: Sequence[np.random.SeedSequence]
) -> Arrays:
    """Run one replicate per seed."""
    outcomes = [estimate_replicate(rule, law, max_samples, seed) for seed in seeds]
    return {
        "samples": np.array([outcome.samples for outcome in outcomes], dtype=np.int64),
        "estimate": np.array([outcome.estimate for outcome in outcomes], dtype=np.float64),
        "halted": np.array([outcome.halted for outcome in outcomes], dtype=np.bool_),
    }


@dataclass(frozen=True)
class StoppingCell(Cell):
    """Replicates of one stopping rule on one law.

    ``estimate(cell.rule, cell.law, cell.n_runs, cell.seed(root), cell.max_samples)`` is what an
    experiment computes for the cell.

    Attributes
    ----------
    rule : StoppingRule
        Configuration to run.
    law : Law
        Law of the samples.
    max_samples : int
        Samples after which a run that has not halted ends.
    n_runs : int
        Number of replicates.
    """

    ENTRY: ClassVar[Name] = (__name__, "play_estimates")
    CHUNK: ClassVar[int] = 100  # a run takes some tens of microseconds

    rule: StoppingRule
    law: Law
    max_samples: int
    n_runs: int

    def __post_init__(self) -> None:
        check_part("rule", self.rule, StoppingRule)
        check_part("law", self.law, Law)
        object.__setattr__(self, "n_runs", check_integer("n_runs", self.n_runs, 1))

    @property
    def parts(self) -> tuple[object, ...]:
        """The rule and the law."""
        return (self.rule, self.law)

    @property
    def title(self) -> str:
        """What the progress bar calls the cell."""
        return f"{self.rule.label}, mean {self.law.mean:g}"

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""
        return {
            "rule": describe(self.rule),
            "law": describe(self.law),
            "max_samples": self.max_samples,
        }

    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Run one replicate per seed."""
        return play_estimates(self.rule, self.law, self.max_samples, seeds)

    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> Estimates:
        """Make `Estimates` from what `play` returned."""
        columns = (arrays["samples"], arrays["estimate"], arrays["halted"])
        return Estimates(self.rule, self.law, self.max_samples, *columns)


class StoppingLabels(NamedTuple):
    """A setting, as the tables' first columns name it."""

    panel: str
    law: str
    mean: float
    alpha: float
    beta: float
    epsilon: float
    rule: str
    variant: str

    def __str__(self) -> str:
        name = f"{self.rule} {self.variant}".rstrip()
        numbers = f"μ = {self.mean:g}, α = {self.alpha:g}, β = {self.beta:g}, ε = {self.epsilon:g}"
        return f"panel {self.panel}, {name} on {self.law}, {numbers}"


@dataclass(frozen=True)
class StoppingSetting(Setting):
    """Where a cell stands in a figure; the numbers are rounded to 7 digits.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    law : str
        Name of the law.
    mean : float
        Mean μ of the law.
    alpha, beta : float
        Relative error α and probability β that the rule is told.
    epsilon : float
        Privacy budget ε; ``inf`` for rules without privacy.
    rule : str
        Label of the rule.
    variant : str
        What tells apart curves of one rule; often empty.
    cell : StoppingCell
        What is simulated.
    """

    experiment: str
    panel: str
    law: str
    mean: float
    alpha: float
    beta: float
    epsilon: float
    rule: str
    variant: str
    cell: StoppingCell

    @property
    def labels(self) -> StoppingLabels:
        """The first columns of the setting's rows in the tables."""
        return StoppingLabels(*(getattr(self, name) for name in StoppingLabels._fields))

    def __str__(self) -> str:
        name = f"{self.rule} ({self.variant})" if self.variant else self.rule
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return (
            f"{name}, {self.law}, μ = {self.mean:g}, α = {self.alpha:g}, β = {self.beta:g}{budget}"
        )


def stopping_setting(
    experiment: str, panel: str, cell: StoppingCell, variant: str = ""
) -> StoppingSetting:
    """Read a setting's labels off its cell."""
    rule = cell.rule
    numbers = (cell.law.mean, rule.alpha, rule.beta, getattr(rule, "epsilon", math.inf))
    mean, alpha, beta, epsilon = (float(rounded(x)) for x in numbers)
    return StoppingSetting(
        experiment, panel, cell.law.name, mean, alpha, beta, epsilon, rule.label, variant, cell
    )
