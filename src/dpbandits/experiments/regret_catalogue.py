"""The experiments on regret as data: the panels and settings of each figure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dpbandits.experiments.regret_cells import RegretCell, RegretSetting
from dpbandits.experiments.regret_tables import RegretTable
from dpbandits.experiments.settings import Experiment, Preset, Setting, SettingMaker
from dpbandits.instances import SS19_NAMES, ss19
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB, DPUCB_VARIANTS
from dpbandits.regret.guess_and_double import GROWTHS, GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = ["REGRET_EXPERIMENTS"]

CURVES = RegretTable()
ROUND_TIMES = RegretTable(every_checkpoint=False)


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
    cell = RegretCell(algorithm, ss19(instance, n_arms), horizon, preset.n_runs)
    name = algorithm.label if label is None else label
    return RegretSetting(experiment.id, panel, instance, n_arms, epsilon, name, variant, cell)


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
            CURVES,
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
                CURVES,
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
        ROUND_TIMES,
    )
    yield Experiment(
        "ours-price-of-privacy",
        "Regret against ε, K = 5: DP-SE and DP-UCB beside SE and UCB",
        "ours",
        by_instance,
        "epsilon",
        _price,
        ROUND_TIMES,
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
        CURVES,
    )
    yield Experiment(
        "ours-budget-split",
        "DP-SE with its whole budget, and with 1/(K−1) of it as for a rule per pair of arms",
        "ours, after SS19, §4",
        {"a": "C1", "b": "C2"},
        "n_arms",
        _budget_split,
        ROUND_TIMES,
    )


def _numbered(experiment: Experiment) -> int:
    return int(experiment.id.removeprefix("ss19-fig"))


REGRET_EXPERIMENTS = (*sorted(_ss19_figures(), key=_numbered), *_ours())
"""In the order of the book."""
