"""The experiments after Tossou & Dimitrakakis (2016), §4, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dpbandits._validation import check_choice
from dpbandits.experiments.regret_cells import RegretCell, RegretSetting
from dpbandits.experiments.regret_tables import RegretTable
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.instances import td16
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.ucb import UCB

__all__ = ["TD16_DELTA", "TD16_EXPERIMENTS", "TD16_GRIDS", "TD16Grid"]

TD16_DELTA = math.exp(-10)
"""δ of the experiments of TD16."""
FAILURE_POWER = 4.0
"""Private-UCB may fail with probability t^(−4) there."""
ENGINE = "per-step"  # exact, and at these horizons about as fast as skipping

PANELS = {"a": ("two", 1.0), "b": ("two", 0.1), "c": ("ten", 1.0), "d": ("ten", 0.1)}


@dataclass(frozen=True)
class TD16Grid:
    """How much of the experiments after TD16 a preset computes.

    Attributes
    ----------
    horizon : int
        Horizon T.
    n_runs : int
        Replicates per cell.
    """

    horizon: int
    n_runs: int


TD16_GRIDS: dict[str, TD16Grid] = {
    "smoke": TD16Grid(horizon=5_000, n_runs=3),
    "quick": TD16Grid(horizon=100_000, n_runs=20),
    "paper": TD16Grid(horizon=100_000, n_runs=100),
}
"""Name of the preset → its grid. "paper" is what TD16, §4, has."""

Named = Iterator[tuple[str, RegretAlgorithm]]
"""Variant and algorithm, one after the other."""


def _published(epsilon: float, horizon: int) -> Named:
    """Make what Figure 2 compares: all readings of each algorithm, the paper's main one first."""
    yield "", UCB(ENGINE)
    for variant, constants in (
        ("ε/K", "mishra-thakurta"),
        ("ε per arm", "mishra-thakurta-parallel"),
    ):
        yield variant, DPUCB(epsilon, constants, ENGINE, FAILURE_POWER)
    yield "full", DPUCBHybrid(epsilon, split="full")
    yield "half", DPUCBHybrid(epsilon, split="half")
    yield "no bonus", DPUCBHybrid(epsilon, literal=True, split="full")
    yield "full", DPUCBBound(epsilon, split="full")
    yield "half", DPUCBBound(epsilon, split="half")
    yield "no bonus", DPUCBBound(epsilon, ucb_term=False, split="full")
    target = DPUCBInt.target_input(epsilon, TD16_DELTA)
    for reading in ("refreshed", "frozen", "literal"):
        yield reading, DPUCBInt(target, reading, delta=TD16_DELTA)


def _honest(epsilon: float, horizon: int) -> Named:
    """Make what is (ε, δ)-private for T pulls by proof or by computing, as near as it can be.

    The two algorithms on hybrid counters, and DP-SE, get ε itself. The third reward of a counter
    is in two releases only, of loss ε/2 each. Both show their greatest loss with probability 1/4,
    so that these two have ε + log(1 − 4δ) or more: δ gives them nothing.
    """
    yield "", UCB(ENGINE)
    yield "", DPSE(epsilon)
    target = epsilon, TD16_DELTA, horizon
    private = DPUCB.calibrated(*target, "mishra-thakurta-parallel", ENGINE, FAILURE_POWER)
    yield "calibrated", private
    yield "tree-tight, calibrated", DPUCB.calibrated(*target, engine=ENGINE)
    yield "half", DPUCBHybrid(epsilon, split="half")
    yield "repaired", DPUCBBound(epsilon, split="half", width="repaired")
    for by in ("interval", "noise"):
        yield by, DPUCBInt.calibrated(*target, by)


def _label(algorithm: RegretAlgorithm) -> str:
    if isinstance(algorithm, DPUCB) and algorithm.variant.startswith("mishra-thakurta"):
        return "Private-UCB"  # what TD16 calls it
    return algorithm.label


def _each(
    algorithms: Callable[[float, int], Named],
) -> Callable[[Experiment, Preset], Iterable[Setting]]:
    def make(experiment: Experiment, preset: Preset) -> Iterable[RegretSetting]:
        grid = TD16_GRIDS[check_choice("preset", preset.name, tuple(TD16_GRIDS))]
        for panel, (name, epsilon) in PANELS.items():
            instance = td16(name)
            for variant, algorithm in algorithms(epsilon, grid.horizon):
                yield RegretSetting(
                    experiment.id,
                    panel,
                    name,
                    instance.n_arms,
                    math.inf if isinstance(algorithm, UCB) else epsilon,
                    _label(algorithm),
                    variant,
                    RegretCell(algorithm, instance, grid.horizon, grid.n_runs),
                )

    return make


TITLES = {panel: f"{name} arms, ε = {epsilon:g}" for panel, (name, epsilon) in PANELS.items()}

TD16_EXPERIMENTS = (
    Experiment(
        "td16-fig2",
        "The DP-UCB family, every reading of it, against UCB and Private-UCB",
        "TD16, Figure 2",
        TITLES,
        "time",
        _each(_published),
        RegretTable(),
        readings=True,
    ),
    Experiment(
        "td16-spread",
        "Best and worst of the runs of Figure 2 at the horizon",
        "TD16, §4",
        TITLES,
        "spread",
        _each(_published),
        RegretTable(every_checkpoint=False),
        readings=True,
    ),
    Experiment(
        "ours-td16-honest",
        "UCB, DP-SE and the DP-UCB family, all private ones at most (ε, e^(−10))",
        "ours, after TD16, Figure 2",
        TITLES,
        "time",
        _each(_honest),
        RegretTable(),
        readings=True,
    ),
)
"""In the order of the book."""
