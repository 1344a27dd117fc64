"""Head to head: the algorithms at one honest guarantee, on one grid, as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpbandits._validation import check_choice
from dpbandits.experiments.head_tables import HeadTable
from dpbandits.experiments.identification_cells import IdentificationCell, identification_setting
from dpbandits.experiments.identification_tables import IdentificationTable
from dpbandits.experiments.regret_cells import RegretCell, RegretSetting
from dpbandits.experiments.settings import Experiment, Preset, Setting
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.instances import BernoulliInstance, bernoulli, ss19, td16
from dpbandits.regret.adap_ucb import AdaPKLUCB, AdaPUCB
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_klucb import DPIMED, DPKLUCB
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.lazy_dp_ts import LazyDPTS
from dpbandits.regret.lazy_ucb import AnytimeLazyUCB
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = ["BAI_PANELS", "HEAD_DELTA", "HEAD_EXPERIMENTS", "HEAD_GRIDS", "HeadGrid", "MAP_PANELS"]

HEAD_DELTA = math.exp(-10)
"""δ of DP-UCB-INT, which has no pure guarantee."""
BEST_MEAN = 0.75
MAX_PULLS = 10**12


@dataclass(frozen=True)
class HeadGrid:
    """How much of the head-to-head experiments a preset computes.

    Attributes
    ----------
    horizon : int
        Horizon of the curves.
    n_runs, n_slow : int
        Replicates of a curve; `n_slow` of the algorithms that have to be played pull by pull.
    map_horizons : tuple of int
        Horizons of the map of regret: its columns of panels.
    slow_until : int
        Largest horizon of the map with the algorithms that have to be played pull by pull.
    epsilons, gaps : tuple of float
        Budgets and gaps of both maps.
    map_runs, bai_runs, tail_runs : int
        Replicates in the map of regret, in that of identification, and for tails.
    """

    horizon: int
    n_runs: int
    n_slow: int
    map_horizons: tuple[int, ...]
    slow_until: int
    epsilons: tuple[float, ...]
    gaps: tuple[float, ...]
    map_runs: int
    bai_runs: int
    tail_runs: int


HEAD_GRIDS: dict[str, HeadGrid] = {
    "smoke": HeadGrid(2_000, 3, 3, (1_000, 2_000, 4_000), 1_000, (0.1, 1.0), (0.1, 0.3), 3, 3, 3),
    "quick": HeadGrid(
        100_000, 20, 5, (10**4, 10**5, 10**6), 10**4, (0.03, 0.3, 3.0), (0.05, 0.3), 20, 10, 100
    ),
    "paper": HeadGrid(
        10**7,
        60,
        5,
        (10**4, 10**6, 10**8),
        10**4,
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        (0.02, 0.05, 0.15, 0.37),
        40,
        30,
        500,
    ),
}
"""Name of the preset → its grid. No paper has these experiments."""


# ---------------------------------------------------------------------------------- regret


def skipping(epsilon: float) -> Iterator[RegretAlgorithm]:
    """Make the private algorithms whose runs take steps of many pulls."""
    yield DPSE(epsilon)
    yield AnytimeLazyUCB(epsilon)
    yield AdaPUCB(epsilon)
    yield AdaPKLUCB(epsilon)
    yield LazyDPTS(epsilon)
    yield DPKLUCB(epsilon)
    yield DPIMED(epsilon)


def pull_by_pull(epsilon: float) -> Iterator[RegretAlgorithm]:
    """Make the private algorithms whose counters need a draw at each pull."""
    yield DPUCBHybrid(epsilon)
    yield DPUCBBound(epsilon, width="repaired")


@cache
def calibrated_interval(epsilon: float, horizon: int) -> DPUCBInt:
    """Make DP-UCB-INT with (ε, e^(−10)) for all pulls up to the horizon."""
    return DPUCBInt.calibrated(epsilon, HEAD_DELTA, horizon)


def best_last(instance: BernoulliInstance, name: str) -> BernoulliInstance:
    """Return an instance with its arms in reverse order, if the best one stands first.

    Ties go to the lowest arm number, and indices that are cut at 1 are tied for long: an algorithm
    would play the best arm from the start, by its place alone.
    """
    means = instance.mean_rewards
    return bernoulli(means[::-1] if instance.best_arm == 0 else means, name)


CURVE_INSTANCES: dict[str, BernoulliInstance] = {
    **{name: best_last(ss19(name, 5), name) for name in ("C1", "C2", "C3", "C4")},
    **{f"{name} arms": best_last(td16(name), f"{name} arms") for name in ("two", "ten")},
}
CURVE_PLACES = [(name, epsilon) for name in CURVE_INSTANCES for epsilon in (0.1, 1.0)]
CURVE_PANELS = dict(zip("abcdefghijkl", CURVE_PLACES, strict=True))


def _grid(preset: Preset) -> HeadGrid:
    return HEAD_GRIDS[check_choice("preset", preset.name, tuple(HEAD_GRIDS))]


def _curves(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, (name, epsilon) in CURVE_PANELS.items():
        instance = CURVE_INSTANCES[name]

        def setting(
            algorithm: RegretAlgorithm, n_runs: int, budget: float, variant: str = ""
        ) -> RegretSetting:
            cell = RegretCell(algorithm, instance, grid.horizon, n_runs)  # noqa: B023
            where = experiment.id, panel, name, instance.n_arms, budget  # noqa: B023
            return RegretSetting(*where, algorithm.label, variant, cell)

        yield setting(UCB(), grid.n_runs, math.inf)
        yield setting(SuccessiveElimination(), grid.n_runs, math.inf)
        yield setting(DPUCB(epsilon), grid.n_runs, epsilon)
        for algorithm in skipping(epsilon):
            yield setting(algorithm, grid.n_runs, epsilon)
        for algorithm in pull_by_pull(epsilon):
            yield setting(algorithm, grid.n_slow, epsilon)
        yield setting(calibrated_interval(epsilon, grid.horizon), grid.n_slow, epsilon, "(ε, δ)")


MAP_ARMS = (2, 10)
MAP_PLACES = [(n_arms, place) for place in range(3) for n_arms in MAP_ARMS]
MAP_PANELS = dict(zip("abcdef", MAP_PLACES, strict=True))
"""Panel of the map of regret → number of arms, and which of its horizons."""


def equal_gaps(n_arms: int, gap: float) -> BernoulliInstance:
    """Return arms that are all worse by `gap` than the last, of mean 0.75."""
    other = round(BEST_MEAN - gap, 12)
    return bernoulli((*(other,) * (n_arms - 1), BEST_MEAN), f"gap {gap:g}")


def _map(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, (n_arms, place) in MAP_PANELS.items():
        horizon = grid.map_horizons[place]
        for gap in grid.gaps:
            instance = equal_gaps(n_arms, gap)
            for epsilon in grid.epsilons:
                algorithms = list(skipping(epsilon))
                if horizon <= grid.slow_until:
                    algorithms += [DPUCB(epsilon), *pull_by_pull(epsilon)]
                for algorithm in algorithms:
                    cell = RegretCell(algorithm, instance, horizon, grid.map_runs)
                    where = experiment.id, panel, instance.name, n_arms, epsilon
                    yield RegretSetting(*where, algorithm.label, "", cell)


TAIL_PLACES = [(name, epsilon) for name in ("C1", "two arms") for epsilon in (0.1, 1.0)]
TAIL_PANELS = dict(zip("abcd", TAIL_PLACES, strict=True))


def _tails(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, (name, epsilon) in TAIL_PANELS.items():
        instance = CURVE_INSTANCES[name]
        algorithms: list[tuple[RegretAlgorithm, str]] = [
            *((kind(epsilon), "") for kind in (DPSE, AdaPKLUCB, LazyDPTS, DPKLUCB, DPIMED)),
            (DPIMED(epsilon, calibrated=False), "d_ε"),
        ]
        for algorithm, variant in algorithms:
            cell = RegretCell(algorithm, instance, grid.horizon, grid.tail_runs)
            where = experiment.id, panel, name, instance.n_arms, epsilon
            yield RegretSetting(*where, algorithm.label, variant, cell)


# -------------------------------------------------------------------------- identification

BAI_PLACES = [(n_arms, delta) for n_arms in MAP_ARMS for delta in (0.1, 0.001)]
BAI_PANELS = dict(zip("abcd", BAI_PLACES, strict=True))
"""Panel of the map of identification → number of arms, and δ."""


def ladder(n_arms: int, gap: float) -> BernoulliInstance:
    """Return arms that are worse by twice `gap` to `gap`, evenly, than the last, of mean 0.75.

    No two are tied: with ties for second, elimination has no mean stopping time.
    """
    shares = np.linspace(2, 1, n_arms - 1) if n_arms > 2 else [1.0]
    others = (round(BEST_MEAN - gap * float(share), 12) for share in shares)
    return bernoulli((*others, BEST_MEAN), f"gap {gap:g}")


def identifiers_at(epsilon: float, delta: float) -> Iterator[IdentificationAlgorithm]:
    """Make the private δ-correct algorithms."""
    yield DPTT(epsilon, delta)
    yield AdaPTT(epsilon, delta)
    yield AdaPTTStar(epsilon, delta)
    yield DPSEIdentifier(epsilon, delta)
    yield DPLRE(epsilon, delta)


def _identification(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    grid = _grid(preset)
    for panel, (n_arms, delta) in BAI_PANELS.items():
        for gap in grid.gaps:
            for epsilon in grid.epsilons:
                for algorithm in identifiers_at(epsilon, delta):
                    cell = IdentificationCell(
                        algorithm, ladder(n_arms, gap), MAX_PULLS, grid.bai_runs
                    )
                    yield identification_setting(experiment.id, panel, cell)


HEAD_EXPERIMENTS = (
    Experiment(
        "ours-head-curves",
        "Every pure private algorithm over time at one guarantee, on six instances",
        "ours",
        {p: f"{name}, ε = {epsilon:g}" for p, (name, epsilon) in CURVE_PANELS.items()},
        "head-time",
        _curves,
        HeadTable(),
    ),
    Experiment(
        "ours-head-tail",
        "How far the regret of single runs goes: an algorithm whose mean is carried by few runs",
        "ours",
        {p: f"{name}, ε = {epsilon:g}" for p, (name, epsilon) in TAIL_PANELS.items()},
        "head-tail",
        _tails,
        HeadTable(max_rows=12_000, every=0),
    ),
    Experiment(
        "ours-head-map",
        "Which private algorithm has the least regret, by horizon, ε and gap, K = 2 and 10",
        "ours",
        {p: f"K = {k}" for p, (k, place) in MAP_PANELS.items()},
        "head-map",
        _map,
        HeadTable(every=0),
    ),
    Experiment(
        "ours-head-bai",
        "Which private algorithm finds the best arm first, by δ, ε and gap, K = 2 and 10",
        "ours",
        {p: f"K = {k}, δ = {delta:g}" for p, (k, delta) in BAI_PANELS.items()},
        "head-map",
        _identification,
        IdentificationTable(),
    ),
)
"""In the order of the book."""
