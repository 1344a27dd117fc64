"""What privacy would cost a real trial: patients of ISIS-2, drawn without replacement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dpbandits._validation import check_choice
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.experiments.trial_cells import TrialCell, trial_setting
from dpbandits.experiments.trial_tables import TrialTable
from dpbandits.identification.adap_tt import AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.population import FinitePopulation, isis2
from dpbandits.identification.top_two import TopTwo

__all__ = ["COUNT_PANELS", "SCALE_PANELS", "TRIAL_EXPERIMENTS", "TRIAL_GRIDS", "TrialGrid"]


@dataclass(frozen=True)
class TrialGrid:
    """How much of the experiments on trials a preset computes.

    Attributes
    ----------
    n_runs, n_pair : int
        Trials of a setting, with four arms and with two.
    epsilons : tuple of float
        Budgets.
    factors : tuple of int
        How many times as many patients as were published.
    """

    n_runs: int
    n_pair: int
    epsilons: tuple[float, ...]
    factors: tuple[int, ...]


TRIAL_GRIDS: dict[str, TrialGrid] = {
    "smoke": TrialGrid(2, 2, (0.1, 1.0), (1, 2)),
    "quick": TrialGrid(20, 40, (0.1, 1.0, 10.0), (1, 4, 16)),
    "paper": TrialGrid(100, 200, (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), (1, 2, 3, 4, 8, 16, 32, 64)),
}
"""Name of the preset → its grid. No paper has these experiments."""

FOUR = isis2()
PAIR = FOUR.only((0, 3), "ISIS-2, both or neither")
DELTAS = (0.1, 0.05, 0.01)
QUESTIONS = ((FOUR, "four arms"), (PAIR, "both or neither"))
COUNT_PANELS = {
    letter: (population, title, delta)
    for letter, (delta, (population, title)) in zip(
        "abcdef", ((d, q) for d in DELTAS for q in QUESTIONS), strict=True
    )
}
"""Panel → population, its title, and δ."""
SCALE_DELTA = 0.05
SCALE_PANELS = {"a": 1.0, "b": 0.1}
"""Panel of the experiment with more patients → its ε."""


def identifiers_at(epsilon: float, delta: float) -> Iterator[IdentificationAlgorithm]:
    """Make the private δ-correct algorithms."""
    yield DPLRE(epsilon, delta)
    yield DPTT(epsilon, delta)
    yield AdaPTTStar(epsilon, delta)
    yield DPSEIdentifier(epsilon, delta)


def _grid(preset: Preset) -> TrialGrid:
    return TRIAL_GRIDS[check_choice("preset", preset.name, tuple(TRIAL_GRIDS))]


def _counts(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, (population, _, delta) in COUNT_PANELS.items():
        n_runs = grid.n_runs if population.n_arms > 2 else grid.n_pair
        algorithms: list[IdentificationAlgorithm] = [TopTwo(delta)]
        for epsilon in grid.epsilons:
            algorithms += identifiers_at(epsilon, delta)
        for algorithm in algorithms:
            yield trial_setting(experiment.id, panel, TrialCell(algorithm, population, n_runs))


def _scale(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, epsilon in SCALE_PANELS.items():
        for factor in grid.factors:
            population: FinitePopulation = FOUR.scaled(factor)
            for algorithm in (TopTwo(SCALE_DELTA), *identifiers_at(epsilon, SCALE_DELTA)):
                cell = TrialCell(algorithm, population, grid.n_runs)
                yield trial_setting(experiment.id, panel, cell)


TRIAL_EXPERIMENTS = (
    Experiment(
        "ours-trial-counts",
        "How often the published patients of ISIS-2 are enough to find the best arm, by ε and δ",
        "ours",
        {p: f"{title}, δ = {delta:g}" for p, (_, title, delta) in COUNT_PANELS.items()},
        "epsilon",
        _counts,
        TrialTable(max_rows=6_000),
    ),
    Experiment(
        "ours-trial-scale",
        "How many times as many patients as in ISIS-2 each algorithm needs to decide",
        "ours",
        {p: f"ε = {epsilon:g}, δ = {SCALE_DELTA:g}" for p, epsilon in SCALE_PANELS.items()},
        "patients",
        _scale,
        TrialTable(max_rows=6_000),
    ),
)
"""In the order of the book."""
