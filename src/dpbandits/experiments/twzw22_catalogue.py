"""The experiments after Tao, Wu, Zhao & Wang (2022), §6, and ours on heavy tails, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from dpbandits._validation import check_choice
from dpbandits.experiments.estimation_cells import (
    EstimationCell,
    EstimationSetting,
    estimation_setting,
)
from dpbandits.experiments.estimation_tables import EstimationTable
from dpbandits.experiments.regret_cells import RegretCell, RegretSetting
from dpbandits.experiments.regret_tables import RegretTable
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.heavy_estimates import MODELS, TruncatedMean, hard_law
from dpbandits.heavy_instances import HeavyTailInstance, heavy_two_point, pareto, twzw22
from dpbandits.heavy_laws import ParetoLaw
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dprse import DPRSE
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.regret.ldprse import LDPRSE
from dpbandits.regret.robust_ucb import RobustUCB

__all__ = ["TWZW22_EXPERIMENTS", "TWZW22_GRIDS", "TWZW22Grid", "heavy_gap"]

EPSILONS = (0.5, 1.0)
ORDERS = (0.9, 0.5)
"""v of the published figures (inferred: our copy has lost it)."""
OUR_ORDERS = (1.0, 0.5)
"""v of our own figures: finite variance, and none."""
SCHEDULES = ("printed", "tightened")
LOCAL_SCHEDULES = ("minimax", "non-negative")
GAP_CONFIDENCE = 1e-6
"""β of the experiment on gaps, the same for every gap, so that log(1/β) bends no slope."""
GAP_EPSILON = 0.5
GAP_MEAN = 0.4
"""Mean of the better Pareto arm there."""
LONGEST = 2**62


@dataclass(frozen=True)
class TWZW22Grid:
    """How much of the experiments on heavy tails a preset computes.

    Attributes
    ----------
    horizon : int
        T of the panels with DPRUCB and Robust-UCB.
    long_horizon : int
        T of the panels with DPRSE alone.
    local_horizons : tuple of int, length 2
        T of Figure 2, for v = 0.9 and 0.5.
    schedule_horizon : int
        T of the experiment on the published remark.
    n_runs, n_free_runs, n_schedule_runs, n_gap_runs, n_errors : int
        Replicates of the figures, of `RobustUCB` there, and of the three experiments of ours.
    schedule_gaps : tuple of int, length 2
        Numbers of gaps there, for v = 1 and 0.5.
    central_gaps : int
        Number of gaps in the global model.
    local_gaps : tuple of int, length 2
        Numbers of gaps in the local model, for v = 1 and 0.5: as T ≤ 2^62 allows.
    half_decades : tuple of int, length 2
        Numbers of rewards of the experiment on errors are 10^(k/2) for k from the first to the
        second.
    """

    horizon: int
    long_horizon: int
    local_horizons: tuple[int, int]
    schedule_horizon: int
    n_runs: int
    n_free_runs: int
    n_schedule_runs: int
    n_gap_runs: int
    n_errors: int
    schedule_gaps: tuple[int, int]
    central_gaps: int
    local_gaps: tuple[int, int]
    half_decades: tuple[int, int]


TWZW22_GRIDS: dict[str, TWZW22Grid] = {
    "smoke": TWZW22Grid(
        20_000,
        10**7,
        (10**12, 10**16),
        10**16,
        n_runs=3,
        n_free_runs=3,
        n_schedule_runs=3,
        n_gap_runs=3,
        n_errors=20,
        schedule_gaps=(3, 2),
        central_gaps=4,
        local_gaps=(4, 3),
        half_decades=(4, 8),
    ),
    "quick": TWZW22Grid(
        1_000_000,
        10**10,
        (10**17, 10**18),
        10**18,
        n_runs=20,
        n_free_runs=5,
        n_schedule_runs=100,
        n_gap_runs=20,
        n_errors=100,
        schedule_gaps=(8, 4),
        central_gaps=9,
        local_gaps=(8, 4),
        half_decades=(4, 16),
    ),
    "paper": TWZW22Grid(
        100_000_000,
        10**10,
        (10**17, 10**18),
        10**18,
        n_runs=80,
        n_free_runs=20,
        n_schedule_runs=400,
        n_gap_runs=100,
        n_errors=1000,
        schedule_gaps=(8, 4),
        central_gaps=9,
        local_gaps=(8, 4),
        half_decades=(4, 20),
    ),
}
"""Name of the preset → its grid. Horizon and runs of TWZW22 cannot be read in our copy."""


def heavy_gap(k: int) -> float:
    """Return Δ = ¾·2^−k, the k-th gap of our experiments on gaps.

    The threshold of an epoch with D = 2^−τ is D/2, up to the rounding up of R. Half-way between
    powers of two (in factors: D/2 = 2Δ/3 for τ = k, 4Δ/3 for τ = k − 1) a gap is seen at τ = k
    and not before, in nearly all runs; at Δ = 2^−k a coin would decide between two epochs.

    Examples
    --------
    >>> heavy_gap(1), heavy_gap(2)
    (0.375, 0.1875)
    """
    return 0.75 * 2.0**-k


def _grid(preset: Preset) -> TWZW22Grid:
    return TWZW22_GRIDS[check_choice("preset", preset.name, tuple(TWZW22_GRIDS))]


Named = Iterator[tuple[str, HeavyTailInstance, str, RegretAlgorithm, int, int]]
"""Panel, instance, variant, algorithm, horizon and number of runs, one after the other."""


def _each(
    named: Callable[[TWZW22Grid], Named],
) -> Callable[[Experiment, Preset], Iterable[Setting]]:
    def make(experiment: Experiment, preset: Preset) -> Iterable[RegretSetting]:
        for panel, instance, variant, algorithm, horizon, n_runs in named(_grid(preset)):
            yield RegretSetting(
                experiment.id,
                panel,
                instance.name,
                instance.n_arms,
                getattr(algorithm, "epsilon", math.inf),
                algorithm.label,
                variant,
                RegretCell(algorithm, instance, horizon, n_runs),
            )

    return make


def _central(grid: TWZW22Grid, name: str) -> Named:
    """Make Figure 1, 3 or 4: all to a short horizon, then DPRSE alone to a long one."""
    for short, long, order in zip("ab", "cd", ORDERS, strict=True):
        instance = twzw22(name, order)
        free = RobustUCB("fixed")
        yield short, instance, "fixed δ", free, grid.horizon, grid.n_free_runs
        for epsilon in EPSILONS:
            yield short, instance, "", DPRUCB(epsilon), grid.horizon, grid.n_runs
        for panel, horizon in ((short, grid.horizon), (long, grid.long_horizon)):
            for epsilon in EPSILONS:
                for schedule in SCHEDULES:
                    algorithm = DPRSE(epsilon, schedule=schedule)
                    yield panel, instance, schedule, algorithm, horizon, grid.n_runs


def _local(grid: TWZW22Grid) -> Named:
    """Make Figure 2."""
    for panel, order, horizon in zip("ab", ORDERS, grid.local_horizons, strict=True):
        for epsilon in EPSILONS:
            for schedule in LOCAL_SCHEDULES:
                algorithm = LDPRSE(epsilon, schedule=schedule)
                yield panel, twzw22("S3", order), schedule, algorithm, horizon, grid.n_runs


def _schedules(grid: TWZW22Grid) -> Named:
    """Make the comparison of schedules in the local model, on two-point arms."""
    for panel, order, n_gaps in zip("ab", OUR_ORDERS, grid.schedule_gaps, strict=True):
        for schedule in ("minimax", "published-remark"):
            for k in range(1, n_gaps + 1):
                instance = heavy_two_point(heavy_gap(k), order)
                algorithm = LDPRSE(1.0, schedule=schedule)
                horizon, n_runs = grid.schedule_horizon, grid.n_schedule_runs
                yield panel, instance, schedule, algorithm, horizon, n_runs


def _pareto_pair(gap: float, order: float) -> HeavyTailInstance:
    name = f"Pareto, gap {gap:g}, v = {order:g}"
    return pareto((GAP_MEAN, GAP_MEAN - gap), order, name=name)


def _gaps(grid: TWZW22Grid) -> Named:
    """Make pulls against the gap: without noise, in the global model and in the local one."""
    for row, (panel, order) in enumerate(zip("ab", OUR_ORDERS, strict=True)):
        central = DPRSE(GAP_EPSILON, GAP_CONFIDENCE)
        local = LDPRSE(GAP_EPSILON, GAP_CONFIDENCE)
        for variant, arms, algorithm, n_gaps in (
            ("two points", heavy_two_point, DPRSE(math.inf, GAP_CONFIDENCE), grid.central_gaps),
            ("two points", heavy_two_point, central, grid.central_gaps),
            ("Pareto", _pareto_pair, central, grid.central_gaps),
            ("two points", heavy_two_point, local, grid.local_gaps[row]),
            ("Pareto", _pareto_pair, local, grid.local_gaps[row]),
        ):
            for k in range(1, n_gaps + 1):
                instance = arms(heavy_gap(k), order)
                yield panel, instance, variant, algorithm, LONGEST, grid.n_gap_runs


def _errors(experiment: Experiment, preset: Preset) -> Iterable[EstimationSetting]:
    """Make errors against n, on the hard law of each n and model and on one Pareto law."""
    grid = _grid(preset)
    first, last = grid.half_decades
    for panel, order in zip("ab", OUR_ORDERS, strict=True):
        shape = 1.05 + order
        easy = ParetoLaw(shape, (shape - 1) * GAP_MEAN / shape)
        for model in MODELS:
            epsilon = math.inf if model == "none" else GAP_EPSILON
            for variant in ("two points", "Pareto"):
                for half in range(first, last + 1):
                    n = round(10 ** (half / 2))
                    law = hard_law(model, n, epsilon, order) if variant == "two points" else easy
                    moment = 1.0 if variant == "two points" else easy.moment(order)
                    estimator = TruncatedMean(model, epsilon, order, moment)
                    cell = EstimationCell(estimator, law, n, grid.n_errors)
                    yield estimation_setting(experiment.id, panel, cell, variant)


def _by_order(orders: tuple[float, ...]) -> dict[str, str]:
    return {panel: f"v = {order:g}" for panel, order in zip("ab", orders, strict=True)}


CENTRAL_PANELS = {
    "a": "v = 0.9",
    "b": "v = 0.5",
    "c": "v = 0.9, DPRSE for longer",
    "d": "v = 0.5, DPRSE for longer",
}

TWZW22_EXPERIMENTS = (
    *(
        Experiment(
            f"twzw22-fig{number}",
            f"Regret over time on {name}, Pareto arms: DPRUCB, DPRSE, Robust-UCB",
            f"TWZW22, Figure {number}",
            CENTRAL_PANELS,
            "heavy-time",
            _each(partial(_central, name=name)),
            RegretTable(),
        )
        for number, name in ((1, "S1"), (3, "S2"), (4, "S3"))
    ),
    Experiment(
        "twzw22-fig2",
        "Regret over time on S3, Pareto arms, in the local model: LDPRSE",
        "TWZW22, Figure 2",
        _by_order(ORDERS),
        "heavy-time",
        _each(_local),
        RegretTable(),
    ),
    Experiment(
        "ours-heavy-local-schedule",
        "The lengths of epochs that the price 1/ε² implies, beside those that the noise needs",
        "ours, after TWZW22, Remark 3",
        _by_order(OUR_ORDERS),
        "heavy-schedule",
        _each(_schedules),
        RegretTable(every_checkpoint=False),
    ),
    Experiment(
        "ours-heavy-gaps",
        "Pulls of the worse of two arms against the gap, by model of privacy",
        "ours, after TWZW22, Theorems 4 and 7",
        {"a": "v = 1; theory: −2, locally −4", "b": "v = 0.5; theory: −3, locally −6"},
        "heavy-gaps",
        _each(_gaps),
        RegretTable(every_checkpoint=False),
    ),
    Experiment(
        "ours-heavy-error",
        "Error of the truncated mean against the number of rewards, by model of privacy",
        "ours, after TWZW22, Theorems 8 and 9",
        {"a": "v = 1; theory: −1/2, locally −1/4", "b": "v = 0.5; theory: −1/3, locally −1/6"},
        "rewards",
        _errors,
        EstimationTable(),
    ),
)
"""In the order of the book: Figure 2, on the local model, comes after 3 and 4."""
