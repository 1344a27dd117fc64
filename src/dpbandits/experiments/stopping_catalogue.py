"""The experiments on stopping rules as data: the panels and settings of each figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dpbandits._validation import check_choice
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.experiments.stopping_cells import StoppingCell, StoppingSetting, stopping_setting
from dpbandits.experiments.stopping_tables import StoppingTable
from dpbandits.instances import low_variance, shifted_beta, two_point, uniform
from dpbandits.laws import BetaLaw, Law
from dpbandits.stopping.base import NASFamily, StoppingRule
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS
from dpbandits.stopping.dp_nas import DPNAS
from dpbandits.stopping.ebgstop import EBGStop
from dpbandits.stopping.nas import NAS

__all__ = ["GRIDS", "STOPPING_EXPERIMENTS", "Grid"]

ALPHA, BETA = 0.5, 0.05
MAX_SAMPLES = 10**12
LONG = 3e7
"""Samples from which on a rule that looks at every one of them gets a quarter of the runs."""
TABLE = StoppingTable()


@dataclass(frozen=True)
class Grid:
    """How much of the experiments on stopping rules a preset computes.

    Attributes
    ----------
    n_runs : int
        Replicates of a setting.
    n_error_runs : int
        Replicates of DP-exp-NAS in the experiment on errors; the other rules get a fifth.
    means, alphas, epsilons, betas, deviations : tuple of float
        What samples are shown against.
    map_means, map_epsilons : tuple of float
        Axes of the map of the price of privacy.
    """

    n_runs: int
    n_error_runs: int
    means: tuple[float, ...]
    alphas: tuple[float, ...]
    epsilons: tuple[float, ...]
    betas: tuple[float, ...]
    deviations: tuple[float, ...]
    map_means: tuple[float, ...]
    map_epsilons: tuple[float, ...]


GRIDS: dict[str, Grid] = {
    "smoke": Grid(
        n_runs=4,
        n_error_runs=30,
        means=(0.5, 0.1),
        alphas=(0.3, 0.9),
        epsilons=(0.1, 1.0),
        betas=(0.01, 0.5),
        deviations=(0.01, 0.5),
        map_means=(0.5, 0.1),
        map_epsilons=(1.0, 0.1),
    ),
    "quick": Grid(
        n_runs=40,
        n_error_runs=1_000,
        means=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01),
        alphas=(0.05, 0.1, 0.3, 0.5, 0.9),
        epsilons=(1e-3, 1e-2, 0.1, 1.0, 10.0),
        betas=(1e-8, 1e-4, 1e-2, 0.1, 0.5),
        deviations=(0.001, 0.01, 0.1, 0.5),
        map_means=(0.5, 0.1, 0.025, 0.005, 0.001),
        map_epsilons=(10.0, 1.0, 0.1, 0.01, 0.001),
    ),
    "paper": Grid(
        n_runs=200,
        n_error_runs=10_000,
        means=(0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001),
        alphas=(0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
        epsilons=(
            *(1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05),
            *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        ),
        betas=(1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.5),
        deviations=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5),
        map_means=(0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001),
        map_epsilons=(10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001),
    ),
}
"""Name of the preset → its grid."""


def _grid(preset: Preset) -> Grid:
    return GRIDS[check_choice("preset", preset.name, tuple(GRIDS))]


def _rules(epsilon: float, alpha: float = ALPHA, beta: float = BETA) -> tuple[NASFamily, ...]:
    return NAS(alpha, beta), DPNAS(epsilon, alpha, beta), DPExponentialNAS(epsilon, alpha, beta)


def _runs(rule: StoppingRule, law: Law, n_runs: int) -> int:
    """Return how many runs a setting gets: fewer where one of them is slow."""
    if isinstance(rule, NAS | DPNAS) and not isinstance(rule, DPExponentialNAS):
        return n_runs if rule.noiseless_time(law.mean) < LONG else max(n_runs // 4, 1)
    return n_runs


Places = Iterator[tuple[str, StoppingRule, Law]]
"""Panel, rule and law, one after the other."""


def _each(places: Callable[[Grid], Places]) -> Callable[[Experiment, Preset], Iterable[Setting]]:
    """Make settings that all have the preset's number of runs."""

    def make(experiment: Experiment, preset: Preset) -> Iterable[StoppingSetting]:
        grid = _grid(preset)
        for panel, rule, law in places(grid):
            cell = StoppingCell(rule, law, MAX_SAMPLES, _runs(rule, law, grid.n_runs))
            is_twin = isinstance(rule, DPExponentialNAS) and math.isinf(rule.epsilon)
            yield stopping_setting(experiment.id, panel, cell, "twin" if is_twin else "")

    return make


MEAN_PANELS = {"a": 1.0, "b": 0.1, "c": 0.01, "d": 0.001}
BUDGET_PANELS = {"a": 0.1, "b": 0.01}
EPSILON_PANELS = {"a": 0.3, "b": 0.03}
VARIANCE_PANELS = {"a": 1.0, "b": 0.1}


def _over_means(grid: Grid) -> Places:
    for panel, epsilon in MEAN_PANELS.items():
        for mean in grid.means:
            yield from ((panel, rule, two_point(mean)) for rule in _rules(epsilon))


def _over_alphas(grid: Grid) -> Places:
    for panel, epsilon in BUDGET_PANELS.items():
        for alpha in grid.alphas:
            yield from ((panel, rule, two_point(0.1)) for rule in _rules(epsilon, alpha=alpha))


def _over_betas(grid: Grid) -> Places:
    for panel, epsilon in BUDGET_PANELS.items():
        for beta in grid.betas:
            yield from ((panel, rule, two_point(0.1)) for rule in _rules(epsilon, beta=beta))


def _over_epsilons(grid: Grid) -> Places:
    for panel, mean in EPSILON_PANELS.items():
        yield panel, NAS(ALPHA, BETA), two_point(mean)
        for epsilon in grid.epsilons:
            yield from ((panel, rule, two_point(mean)) for rule in _rules(epsilon)[1:])


def _overhead(grid: Grid) -> Places:
    for mean in grid.map_means:
        yield "a", NAS(ALPHA, BETA), two_point(mean)
        for epsilon in (math.inf, *grid.map_epsilons):
            yield "a", DPExponentialNAS(epsilon, ALPHA, BETA), two_point(mean)


def _over_deviations(grid: Grid) -> Places:
    laws = (*(low_variance(0.1, deviation) for deviation in grid.deviations), two_point(0.1))
    for panel, epsilon in VARIANCE_PANELS.items():
        for law in laws:
            free, *private = _rules(epsilon)
            for rule in (free, EBGStop(ALPHA, BETA), *private):
                yield panel, rule, law


ERROR_LAWS: dict[str, Law] = {
    "a": two_point(0.2),
    "b": uniform(0.2),
    "c": shifted_beta(3, 2),
    "d": low_variance(0.2, 0.01),
}


def _errors(experiment: Experiment, preset: Preset) -> Iterable[StoppingSetting]:
    n_runs = _grid(preset).n_error_runs
    for panel, law in ERROR_LAWS.items():
        for alpha in (0.9, 0.5):
            for beta in (0.05, 0.2):
                for rule in _rules(1.0, alpha, beta):
                    shares = 1 if isinstance(rule, DPExponentialNAS) else 5
                    if isinstance(law, BetaLaw):
                        shares *= 2  # its samples are drawn one by one
                    cell = StoppingCell(rule, law, MAX_SAMPLES, max(n_runs // shares, 1))
                    yield stopping_setting(experiment.id, panel, cell)


def _by_budget(panels: dict[str, float]) -> dict[str, str]:
    return {panel: f"ε = {epsilon:g}" for panel, epsilon in panels.items()}


STOPPING_EXPERIMENTS = (
    Experiment(
        "ours-stopping-mean",
        "Samples against |μ|, from 0.5 to 0.001, α = 0.5: NAS, DP-NAS and DP exponential NAS",
        "ours, after SS19, §3",
        _by_budget(MEAN_PANELS),
        "mean",
        _each(_over_means),
        TABLE,
    ),
    Experiment(
        "ours-stopping-alpha",
        "Samples against the relative error α, μ = 0.1",
        "ours, after SS19, §3",
        _by_budget(BUDGET_PANELS),
        "alpha",
        _each(_over_alphas),
        TABLE,
    ),
    Experiment(
        "ours-stopping-epsilon",
        "Samples against ε, α = 0.5",
        "ours, after SS19, §3",
        {panel: f"μ = {mean:g}" for panel, mean in EPSILON_PANELS.items()},
        "epsilon",
        _each(_over_epsilons),
        TABLE,
    ),
    Experiment(
        "ours-stopping-beta",
        "Samples against the probability β of a worse estimate, μ = 0.1, α = 0.5",
        "ours, after SS19, §3",
        _by_budget(BUDGET_PANELS),
        "beta",
        _each(_over_betas),
        TABLE,
    ),
    Experiment(
        "ours-stopping-overhead",
        "How many times more samples privacy takes, over |μ| and ε: DP exponential NAS",
        "ours, after SS19, Corollary 3.2 and Theorem 3.3",
        {"a": "samples, relative to those without noise"},
        "overhead",
        _each(_overhead),
        TABLE,
    ),
    Experiment(
        "ours-stopping-error",
        "How often the estimate is off by more than α|μ|, on four laws with mean 0.2, ε = 1",
        "ours, after SS19, Corollary 3.2",
        {
            "a": "two points ±R",
            "b": "uniform on [−0.6, 1]",
            "c": "Beta(3, 2) on [−R, R]",
            "d": "0.19 or 0.21",
        },
        "error",
        _errors,
        TABLE,
    ),
    Experiment(
        "ours-stopping-variance",
        "Samples against the law's standard deviation, μ = 0.1, α = 0.5, EBGStop included",
        "ours, after SS19, §6",
        _by_budget(VARIANCE_PANELS),
        "variance",
        _each(_over_deviations),
        TABLE,
    ),
)
"""In the order of the book."""
