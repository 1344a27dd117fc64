"""The experiments as data: each figure's panels, settings and presets."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice
from dpbandits.instances import SS19_NAMES, BernoulliInstance, ss19
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB, DPUCB_VARIANTS
from dpbandits.regret.guess_and_double import GROWTHS, GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB
from dpbandits.simulation import log_checkpoints

__all__ = [
    "EXPERIMENTS",
    "PRESETS",
    "Cell",
    "Experiment",
    "Preset",
    "Setting",
    "resolve",
    "round_times",
]

PER_DECADE = 24
FIRST_CHECKPOINT = 100


def round_times(horizon: int) -> NDArray[np.int64]:
    """Return 1, 2, 5, 10, 20, 50, … up to `horizon`, and `horizon` itself.

    Examples
    --------
    >>> round_times(30).tolist()
    [1, 2, 5, 10, 20, 30]
    """
    powers = 10 ** np.arange(len(str(horizon)), dtype=np.int64)
    times = np.outer(powers, [1, 2, 5]).ravel()
    return np.append(times[times < horizon], horizon)


@dataclass(frozen=True)
class Cell:
    """The unit of work: replicates of one algorithm on one instance.

    Cells with equal configurations are one cell, in whatever figure they stand.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        Configuration to play.
    instance : BernoulliInstance
        Bandit to play it on.
    horizon : int
        Horizon T.
    n_runs : int
        Number of replicates.
    """

    algorithm: RegretAlgorithm
    instance: BernoulliInstance
    horizon: int
    n_runs: int

    @cached_property
    def checkpoints(self) -> NDArray[np.int64]:
        """Times at which the regret is kept: 24 a decade from 100 on, and `round_times`."""
        times = np.union1d(log_checkpoints(self.horizon, PER_DECADE), round_times(self.horizon))
        return times[times >= min(FIRST_CHECKPOINT, self.horizon)]

    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON.

        Arguments that have their default value are left out, so that an algorithm may gain
        options without a change of seeds.
        """
        return {
            "algorithm": _describe(self.algorithm),
            "means": list(self.instance.mean_rewards),
            "horizon": self.horizon,
        }

    def seed(self, root: int = 0) -> tuple[int, ...]:
        """Return this cell's seed: `root`, then 128 bits hashed from the configuration.

        ``simulate(cell.algorithm, cell.instance, cell.horizon, cell.n_runs, cell.seed(root),
        checkpoints=cell.checkpoints)`` is what an experiment computes for the cell. The number
        of replicates plays no role: fewer replicates are the first of more.
        """
        text = json.dumps(self.configuration(), sort_keys=True)
        words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4")
        return (root, *map(int, words))


def _describe(algorithm: RegretAlgorithm) -> dict[str, Any]:
    described: dict[str, Any] = {"name": type(algorithm).__name__}
    for option in fields(algorithm):  # type: ignore[arg-type]
        value = getattr(algorithm, option.name)
        if option.default is MISSING or value != option.default:
            is_algorithm = isinstance(value, RegretAlgorithm)
            described[option.name] = _describe(value) if is_algorithm else value
    return described


@dataclass(frozen=True)
class Setting:
    """Where a cell stands in a figure.

    Attributes
    ----------
    experiment : str
        Id of the experiment.
    panel : str
        Panel, such as "a".
    instance : str
        Name of the instance, such as "C1".
    n_arms : int
        Number of arms K.
    epsilon : float
        Privacy budget ε of the setting; ``inf`` for algorithms without privacy.
    algorithm : str
        Label of the algorithm.
    variant : str
        What tells apart curves of one algorithm; often empty.
    cell : Cell
        What is simulated.
    """

    experiment: str
    panel: str
    instance: str
    n_arms: int
    epsilon: float
    algorithm: str
    variant: str
    cell: Cell

    def __str__(self) -> str:
        name = f"{self.algorithm} ({self.variant})" if self.variant else self.algorithm
        budget = f", ε = {self.epsilon:g}" if math.isfinite(self.epsilon) else ""
        return f"{name}, {self.instance}, K = {self.n_arms}{budget}"


@dataclass(frozen=True)
class Preset:
    """How much of an experiment is computed.

    Attributes
    ----------
    name : str
        "smoke", "quick" or "paper".
    horizon : int
        Horizon T of the figures over time.
    n_runs : int
        Replicates per cell.
    epsilons : tuple of float
        Budgets of the figure over ε.
    horizons : tuple of int
        Horizons of the figure over T.
    """

    name: str
    horizon: int
    n_runs: int
    epsilons: tuple[float, ...]
    horizons: tuple[int, ...]


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("smoke", 20_000, 3, (0.1, 1.0), (2_000, 20_000)),
        Preset("quick", 1_000_000, 10, (0.01, 0.1, 1.0, 10.0), (10**4, 10**5, 10**6, 10**7)),
        Preset(
            "paper",
            50_000_000,
            30,
            (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
            (10**4, 10**5, 10**6, 10**7, 50_000_000, 10**8, 10**9),
        ),
    )
}
"""Name → preset. The horizon and runs of "paper" are those of SS19, §5."""

SettingMaker = Callable[["Experiment", Preset], Iterable[Setting]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A published figure, or one of ours.

    Attributes
    ----------
    id : str
        What the command line, the data files and the seeds call it.
    title : str
        One line.
    source : str
        Paper and figure, or "ours".
    panels : dict of str to str
        Panel → its title.
    axis : {"time", "ratio", "epsilon", "n_arms", "horizon"}
        What the figure shows the pseudo-regret against; "ratio" shows how many times the
        regret of DP-SE the others have, against K.
    every_checkpoint : bool
        Whether the data file keeps each curve's every checkpoint, or only the round times.
    """

    id: str
    title: str
    source: str
    panels: dict[str, str]
    axis: str
    make_settings: SettingMaker = field(repr=False)
    every_checkpoint: bool = True

    def settings(self, preset: str = "paper") -> tuple[Setting, ...]:
        """Return the settings of a preset, in the order of the panels."""
        check_choice("preset", preset, tuple(PRESETS))
        return tuple(self.make_settings(self, PRESETS[preset]))

    def cells(self, preset: str = "paper") -> tuple[Cell, ...]:
        """Return the distinct cells of a preset."""
        return tuple(dict.fromkeys(setting.cell for setting in self.settings(preset)))


def _setting(
    experiment: Experiment,
    panel: str,
    instance: str,
    n_arms: int,
    epsilon: float,
    algorithm: RegretAlgorithm,
    horizon: int,
    preset: Preset,
    *,
    label: str | None = None,
    variant: str = "",
) -> Setting:
    cell = Cell(algorithm, ss19(instance, n_arms), horizon, preset.n_runs)
    name = algorithm.label if label is None else label
    return Setting(experiment.id, panel, instance, n_arms, epsilon, name, variant, cell)


def _versus(instance: str, panels: dict[str, list[tuple[int, float]]]) -> SettingMaker:
    """Make DP-SE against DP-UCB over time; each panel lists its pairs (K, ε)."""

    def make(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
        for panel, places in panels.items():
            for n_arms, epsilon in places:
                where = (experiment, panel, instance, n_arms, epsilon)
                yield _setting(*where, DPSE(epsilon), preset.horizon, preset)
                baseline = DPUCB(epsilon)
                variant = baseline.variant
                yield _setting(*where, baseline, preset.horizon, preset, variant=variant)

    return make


def _ss19_figures() -> Iterable[Experiment]:
    low, high, many = (0.1, 0.25), (0.5, 1.0), (3, 5, 10, 20)
    for number, name in enumerate(SS19_NAMES, start=1):
        by_budget = {"a": [(5, e) for e in low], "b": [(5, e) for e in high]}
        yield Experiment(
            f"ss19-fig{number}",
            f"DP-SE against DP-UCB on {name}, K = 5, ε from 0.1 to 1",
            f"SS19, Figure {number}",
            {"a": "ε = 0.1 and 0.25", "b": "ε = 0.5 and 1"},
            "time",
            _versus(name, by_budget),
        )
    for place, name in enumerate(SS19_NAMES):
        for number, budgets, text in (
            (5 + 2 * place, high, "0.5 and 1"),
            (6 + 2 * place, low, "0.1 and 0.25"),
        ):
            by_arms = {
                panel: [(k, e) for e in budgets] for panel, k in zip("abcd", many, strict=True)
            }
            yield Experiment(
                f"ss19-fig{number}",
                f"DP-SE against DP-UCB on {name}, K from 3 to 20, ε = {text}",
                f"SS19, Figure {number}",
                {panel: f"K = {k}" for panel, k in zip("abcd", many, strict=True)},
                "time",
                _versus(name, by_arms),
            )


def _baselines(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    for panel, instance in zip(experiment.panels, SS19_NAMES, strict=True):
        for n_arms in (3, 5, 10, 20):
            for epsilon in (0.1, 0.25, 0.5, 1.0):
                where = (experiment, panel, instance, n_arms, epsilon)
                yield _setting(*where, DPSE(epsilon), preset.horizon, preset)
                for variant in DPUCB_VARIANTS:
                    baseline = DPUCB(epsilon, variant)
                    yield _setting(*where, baseline, preset.horizon, preset, variant=variant)


def _price(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    for panel, instance in zip(experiment.panels, SS19_NAMES, strict=True):
        for free in (UCB(), SuccessiveElimination()):
            yield _setting(experiment, panel, instance, 5, math.inf, free, preset.horizon, preset)
        for epsilon in preset.epsilons:
            where = (experiment, panel, instance, 5, epsilon)
            yield _setting(*where, DPSE(epsilon), preset.horizon, preset)
            baseline = DPUCB(epsilon)
            variant = baseline.variant
            yield _setting(*where, baseline, preset.horizon, preset, variant=variant)


def _guesses(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    for panel, title in experiment.panels.items():
        instance, epsilon = title[:2], float(title.rpartition(" ")[2])
        where = (experiment, panel, instance, 5, epsilon)
        base = DPSE(epsilon)
        for horizon in preset.horizons:
            yield _setting(*where, base, horizon, preset, variant="told T")
        for growth in GROWTHS:
            # Nothing depends on the horizon here: one run passes through all of them.
            algorithm = GuessAndDouble(base, growth)
            yield _setting(
                *where, algorithm, preset.horizons[-1], preset, label=base.label, variant=growth
            )


def _budget_split(experiment: Experiment, preset: Preset) -> Iterable[Setting]:
    for panel, instance in zip(experiment.panels, ("C1", "C2"), strict=True):
        for epsilon in (0.25, 1.0):
            for n_arms in (3, 5, 10, 20):
                where = (experiment, panel, instance, n_arms, epsilon)
                yield _setting(*where, DPSE(epsilon), preset.horizon, preset)
                split = DPSE(epsilon / (n_arms - 1))
                yield _setting(*where, split, preset.horizon, preset, variant="ε/(K−1)")


def _ours() -> Iterable[Experiment]:
    by_instance = dict(zip("abcd", SS19_NAMES, strict=True))
    yield Experiment(
        "ss19-baselines",
        "DP-SE against three variants of DP-UCB in all 64 settings",
        "SS19, §5, for every reading of the baseline",
        by_instance,
        "ratio",
        _baselines,
        every_checkpoint=False,
    )
    yield Experiment(
        "ours-price-of-privacy",
        "Regret against ε, K = 5: DP-SE and DP-UCB beside SE and UCB",
        "ours",
        by_instance,
        "epsilon",
        _price,
        every_checkpoint=False,
    )
    yield Experiment(
        "ours-guess-and-double",
        "DP-SE told its horizon, and guessing it by doubling or squaring, K = 5",
        "ours, after SS19, proof of Theorem 4.3",
        {
            "a": "C1, ε = 0.25",
            "b": "C1, ε = 1",
            "c": "C2, ε = 0.25",
            "d": "C2, ε = 1",
        },
        "horizon",
        _guesses,
    )
    yield Experiment(
        "ours-budget-split",
        "DP-SE with its whole budget, and with 1/(K−1) of it as for a rule per pair of arms",
        "ours, after SS19, §4",
        {"a": "C1", "b": "C2"},
        "n_arms",
        _budget_split,
        every_checkpoint=False,
    )


def _numbered(experiment: Experiment) -> int:
    return int(experiment.id.removeprefix("ss19-fig"))


EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment for experiment in (*sorted(_ss19_figures(), key=_numbered), *_ours())
}
"""Id → experiment, in the order of the book."""


def resolve(ids: str | Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments that `ids` means: an id, several, or "all".

    Raises
    ------
    ValueError
        If an id is unknown: the message lists what exists.
    """
    names = [ids] if isinstance(ids, str) else list(ids)
    if "all" in names:
        return tuple(EXPERIMENTS.values())
    for name in names:
        check_choice("id", name, (*EXPERIMENTS, "all"))
    if not names:
        raise ValueError(f"ids={ids!r} names nothing; allowed: all, {', '.join(EXPERIMENTS)}")
    return tuple(EXPERIMENTS[name] for name in dict.fromkeys(names))
