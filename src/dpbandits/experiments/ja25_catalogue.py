"""The experiments after Jourdan & Azize (2025), and ours on identification, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbandits._validation import check_choice
from dpbandits.experiments.identification_cells import (
    IdentificationCell,
    IdentificationSetting,
    identification_setting,
)
from dpbandits.experiments.identification_tables import IdentificationTable
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.identification.adap_tt import AdaPTT
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.top_two import TopTwo
from dpbandits.instances import BernoulliInstance, bernoulli, ja25, ss19

__all__ = ["JA25_EXPERIMENTS", "JA25_GRIDS", "JA25Grid"]

DELTA = 0.01
MAX_PULLS = 10**12
TABLE = IdentificationTable()
LEAST_EPSILON, GREATEST_EPSILON = 0.001, 125.0


@dataclass(frozen=True)
class JA25Grid:
    """How much of the experiments on identification a preset computes.

    Attributes
    ----------
    n_runs : int
        Replicates of a setting.
    epsilons : tuple of float
        Budgets of the figures after JA25.
    own_epsilons : tuple of float
        Budgets of the figure of our own algorithm.
    deltas : tuple of float
        Probabilities δ of a wrong arm.
    arms : tuple of int
        Numbers of arms K.
    etas : tuple of float
        Growths of the batches.
    error_runs : tuple of int
        Replicates for error rates, one number for each δ.
    tail_runs : int
        Replicates for the tail of the stopping time.
    """

    n_runs: int
    epsilons: tuple[float, ...]
    own_epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    arms: tuple[int, ...]
    etas: tuple[float, ...]
    error_runs: tuple[int, ...]
    tail_runs: int


def _geometric(count: int) -> tuple[float, ...]:
    grid = np.geomspace(LEAST_EPSILON, GREATEST_EPSILON, count)
    return tuple(float(f"{x:.4g}") for x in grid)


JA25_GRIDS: dict[str, JA25Grid] = {
    "smoke": JA25Grid(3, (0.5, 5.0), (0.5, 5.0), (0.1, 0.01), (2, 4), (0.5, 1.0), (20, 20), 5),
    "quick": JA25Grid(
        30,
        _geometric(9),
        (0.1, 1.0, 10.0),
        (0.1, 0.01, 0.001),
        (2, 5, 10),
        (0.25, 0.5, 1.0, 2.0),
        (500, 500, 500),
        200,
    ),
    "paper": JA25Grid(
        200,
        _geometric(17),
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        (0.1, 0.01, 0.001),
        (2, 5, 10, 20, 50, 100),
        (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0),
        (2000, 2000, 5000),
        1000,
    ),
}
"""Name of the preset → its grid. "paper" has the budgets and at least the runs of JA25."""

Places = Iterator[tuple[str, IdentificationAlgorithm, BernoulliInstance, str, int]]
"""Panel, algorithm, instance, variant and number of runs, one after the other."""


def _each(
    places: Callable[[JA25Grid], Places], max_pulls: int = MAX_PULLS
) -> Callable[[Experiment, Preset], Iterable[Setting]]:
    def make(experiment: Experiment, preset: Preset) -> Iterable[IdentificationSetting]:
        grid = JA25_GRIDS[check_choice("preset", preset.name, tuple(JA25_GRIDS))]
        for panel, algorithm, instance, variant, n_runs in places(grid):
            cell = IdentificationCell(algorithm, instance, max_pulls, n_runs)
            yield identification_setting(experiment.id, panel, cell, variant)

    return make


FIRST = {"a": ja25("mu1"), "b": ja25("mu2")}
SECOND = {"a": ja25("even"), "b": ss19("C2"), "c": ss19("C3"), "d": ss19("C4")}
EQUAL_GAPS = (0.8, 0.6)
"""Mean of the best arm, and of all others, in the experiment on K."""
EASY = bernoulli((0.9, 0.3, 0.3), "easy")
NEAR = bernoulli((0.9, 0.85, 0.3), "near tie")


def _published(instances: dict[str, BernoulliInstance]) -> Callable[[JA25Grid], Places]:
    """Make the settings of a published figure: every algorithm over ε."""

    def places(grid: JA25Grid) -> Places:
        for panel, instance in instances.items():
            yield panel, TopTwo(DELTA), instance, "", grid.n_runs
            for epsilon in grid.epsilons:
                yield panel, DPTT(epsilon, DELTA), instance, "", grid.n_runs
                yield panel, AdaPTT(epsilon, DELTA), instance, "", grid.n_runs
                heuristic = AdaPTT(epsilon, DELTA, threshold="heuristic")
                yield panel, heuristic, instance, "heuristic", grid.n_runs
                yield panel, DPSEIdentifier(epsilon, DELTA), instance, "", grid.n_runs

    return places


def _own(grid: JA25Grid) -> Places:
    for panel, instance in zip("abcdef", (*FIRST.values(), *SECOND.values()), strict=True):
        for epsilon in grid.own_epsilons:
            yield panel, DPLRE(epsilon, DELTA), instance, "", grid.n_runs
            yield panel, DPTT(epsilon, DELTA), instance, "", grid.n_runs
            yield panel, AdaPTT(epsilon, DELTA), instance, "", grid.n_runs
            yield panel, DPSEIdentifier(epsilon, DELTA), instance, "", grid.n_runs


def _private(epsilon: float, delta: float) -> Iterator[tuple[IdentificationAlgorithm, str]]:
    yield DPLRE(epsilon, delta), ""
    yield DPTT(epsilon, delta), ""
    yield DPTT(epsilon, delta, threshold="union"), "union"


FRESH = {
    "0.51, 0.5": (0.51, 0.5),
    "0.4, 0.399, 0.1": (0.4, 0.399, 0.1),
    "0.2, 0.1, 0.05": (0.2, 0.1, 0.05),
    "K = 10": tuple(0.5 - 0.04 * i for i in range(10)),
    "K = 20": (0.3, *(0.2,) * 19),
    "K = 50": tuple(0.95 - 0.018 * i for i in range(50)),
}
"""Instances that nothing was tuned on, by the names of their curves."""
FRESH_PANELS = {"a": 0.1, "b": 1.0}
DELTA_PANELS = {"a": 0.1, "b": 1.0, "c": 10.0, "d": 100.0}
ARM_PANELS = {"a": 0.1, "b": 1.0}
ETA_PANELS = {"a": 0.01, "b": 0.1, "c": 1.0, "d": 10.0}


def _over_deltas(grid: JA25Grid) -> Places:
    for panel, epsilon in DELTA_PANELS.items():
        for delta in grid.deltas:
            for algorithm, variant in _private(epsilon, delta):
                yield panel, algorithm, FIRST["a"], variant, grid.n_runs
            yield panel, TopTwo(delta), FIRST["a"], "", grid.n_runs


def _fresh(grid: JA25Grid) -> Places:
    for panel, epsilon in FRESH_PANELS.items():
        for name, means in FRESH.items():
            for delta in grid.deltas:
                n_runs = max(grid.n_runs // 2, 1)
                yield panel, DPLRE(epsilon, delta), bernoulli(means, "fresh"), name, n_runs


def _over_arms(grid: JA25Grid) -> Places:
    best, other = EQUAL_GAPS
    for panel, epsilon in ARM_PANELS.items():
        for n_arms in grid.arms:
            instance = bernoulli((best, *(other,) * (n_arms - 1)), "equal gaps")
            n_runs = grid.n_runs if n_arms <= 20 else max(grid.n_runs // 4, 1)
            yield panel, DPLRE(epsilon, DELTA), instance, "", n_runs
            yield panel, DPTT(epsilon, DELTA), instance, "", n_runs
            yield panel, DPSEIdentifier(epsilon, DELTA), instance, "", n_runs


def _over_etas(grid: JA25Grid) -> Places:
    for panel, epsilon in ETA_PANELS.items():
        for eta in grid.etas:
            growth = f"η = {eta:g}"
            yield panel, DPTT(epsilon, DELTA, eta=eta), FIRST["a"], growth, grid.n_runs
            union = DPTT(epsilon, DELTA, threshold="union", eta=eta)
            yield panel, union, FIRST["a"], f"union, {growth}", grid.n_runs


def _errors(grid: JA25Grid) -> Places:
    for panel, instance in (("a", EASY), ("b", NEAR)):
        for delta, n_runs in zip(grid.deltas, grid.error_runs, strict=True):
            for algorithm, variant in _private(1.0, delta):
                yield panel, algorithm, instance, variant, n_runs
            yield panel, DPSEIdentifier(1.0, delta), instance, "", n_runs
            yield panel, TopTwo(delta), instance, "", n_runs


TAIL_PANELS = {"a": ("mu1", 1.0), "b": ("mu2", 1.0), "c": ("mu1", 10.0), "d": ("mu2", 10.0)}
TAIL_COSTS = (
    ("plain", 0.0, "W"),
    ("plain", 1.0, "W + log N"),
    ("calibrated", 1.0, "W̃ + log N"),
    ("calibrated", 2.0, ""),
)
"""Costs of the challenger, factor of log N, and name; the last are those of DP-TT here."""
TAIL_MAX = 10**7
"""Pulls after which a run of the experiment on tails is ended."""


def _tails(grid: JA25Grid) -> Places:
    for panel, (name, epsilon) in TAIL_PANELS.items():
        for costs, exploration, variant in TAIL_COSTS:
            algorithm = DPTT(epsilon, DELTA, costs=costs, exploration=exploration)
            yield panel, algorithm, ja25(name), variant, grid.tail_runs


def _by_epsilon(panels: dict[str, float]) -> dict[str, str]:
    return {panel: f"ε = {epsilon:g}" for panel, epsilon in panels.items()}


JA25_EXPERIMENTS = (
    Experiment(
        "ja25-fig1",
        "Stopping times against ε on μ1 and μ2, δ = 0.01: DP-TT, AdaP-TT, DP-SE and Top Two",
        "JA25, Figure 1, reconstructed",
        {panel: instance.name for panel, instance in FIRST.items()},
        "epsilon",
        _each(_published(FIRST)),
        TABLE,
    ),
    Experiment(
        "ja25-fig2",
        "Stopping times against ε on four more instances, K = 5, δ = 0.01",
        "JA25, Figure 2, reconstructed",
        {panel: instance.name for panel, instance in SECOND.items()},
        "epsilon",
        _each(_published(SECOND)),
        TABLE,
    ),
    Experiment(
        "ours-bai-own",
        "Private likelihood-ratio elimination beside the others, K = 5, δ = 0.01",
        "ours",
        {
            panel: instance.name
            for panel, instance in zip("abcdef", (*FIRST.values(), *SECOND.values()), strict=True)
        },
        "epsilon",
        _each(_own),
        TABLE,
    ),
    Experiment(
        "ours-bai-fresh",
        "Private likelihood-ratio elimination against δ on instances that nothing was tuned on",
        "ours",
        _by_epsilon(FRESH_PANELS),
        "delta",
        _each(_fresh),
        TABLE,
        readings=True,
    ),
    Experiment(
        "ours-bai-delta",
        "Stopping times against δ on μ1",
        "ours, after JA25",
        _by_epsilon(DELTA_PANELS),
        "delta",
        _each(_over_deltas),
        TABLE,
    ),
    Experiment(
        "ours-bai-arms",
        "Stopping times against K, one arm 0.2 better than all others, δ = 0.01",
        "ours, after JA25",
        _by_epsilon(ARM_PANELS),
        "n_arms",
        _each(_over_arms),
        TABLE,
    ),
    Experiment(
        "ours-bai-eta",
        "Stopping times of DP-TT against the growth η of its batches on μ1, δ = 0.01",
        "ours, after JA25",
        _by_epsilon(ETA_PANELS),
        "eta",
        _each(_over_etas),
        TABLE,
    ),
    Experiment(
        "ours-bai-error",
        "How often a wrong arm is recommended, ε = 1, on an easy instance and on a near tie",
        "ours, after JA25",
        {"a": "means 0.9, 0.3, 0.3", "b": "means 0.9, 0.85, 0.3"},
        "error",
        _each(_errors),
        TABLE,
    ),
    Experiment(
        "ours-bai-tail",
        "How long runs of DP-TT take under four costs: starvation of the best arm, and its cure",
        "ours, after JA25",
        {panel: f"{name}, ε = {epsilon:g}" for panel, (name, epsilon) in TAIL_PANELS.items()},
        "tail",
        _each(_tails, TAIL_MAX),
        TABLE,
    ),
)
"""In the order of the book."""
