"""Small tables for the figures: of a few runs, or of results made by hand."""

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dpbandits as dpb
from companion.figures import (
    baselines,
    comparison,
    costs,
    disclosure,
    elimination,
    floor,
    group_trial,
    heavy,
    identification,
    panels,
    printed_adap,
    rare_events,
    regret,
    stopping,
    trial,
)
from companion.group_trials import Replay
from companion.tables import curve, tabulate
from dpbandits.heavy.estimates import TruncatedMean, hard_law, mean_errors_many
from dpbandits.identification import FinitePopulation, Identifications
from dpbandits.rewards.heavy_laws import ParetoLaw
from dpbandits.rewards.laws import low_variance, two_point

TITLES = {"a": "first", "b": "second"}
INFINITE = math.inf


class Drawing(NamedTuple):
    """A figure: how it is drawn, from which table, with which options; columns that are drawn."""

    draw: Any
    table: Any
    options: dict
    columns: tuple[str, ...] = ("mean",)

    def __call__(self, table=None, **options):
        return self.draw(self.table() if table is None else table, **(self.options | options))


# -------------------------------------------------------------------------------------- regret

T, RUNS = 20_000, 3
ARMS = {k: dpb.instances.ss19("C2", k) for k in (3, 5)}


def played(cases, columns):
    """The table of algorithms by panel, K, ε and variant."""
    keyed = {
        (panel, "C2", k, eps, algorithm.label, variant): (algorithm, ARMS[k])
        for (panel, k, eps, variant), algorithm in cases
    }
    return tabulate(dpb.simulate_many(keyed, T, RUNS), columns, panels.LABELS)


def over_budgets():
    cases = {eps: (dpb.PrintedAdaPKLUCB(eps), ARMS[5]) for eps in (0.1, 0.3, 1.0, 10.0)}
    return dpb.simulate_many(cases, T, RUNS)


def over_time():
    budgets = {"a": (0.1, 0.25), "b": (0.5, 1.0)}
    pairs = [(panel, eps) for panel, some in budgets.items() for eps in some]
    cases = [((p, 5, e, ""), kind(e)) for p, e in pairs for kind in (dpb.DPSE, dpb.DPUCB)]
    return played(cases, lambda r: curve(r, epochs=True, bound=True))


def over_epsilon():
    free = [(INFINITE, dpb.UCB()), (INFINITE, dpb.SuccessiveElimination())]
    private = [(e, kind(e)) for e in (0.1, 1.0) for kind in (dpb.DPSE, dpb.DPUCB)]
    cases = [((p, 5, e, ""), algorithm) for p in "ab" for e, algorithm in (*free, *private)]
    return played(cases, lambda r: r.final())


def over_horizon():
    label = ("a", "C2", 5, 1.0, "DP-SE")
    runs = {(*label, "told T", t): (dpb.DPSE(1.0), ARMS[5], t) for t in (2000, T)}
    for growth in ("double", "square"):
        guess = dpb.GuessAndDouble(dpb.DPSE(1.0), growth)
        runs[*label, growth, T] = guess, ARMS[5], T

    def columns(found):
        return found.final() if found.algorithm.label == "DP-SE" else curve(found, first=2000)

    return tabulate(dpb.simulate_many(runs, n_runs=RUNS), columns, (*panels.LABELS, "horizon"))


def over_arms():
    grid = itertools.product("ab", ARMS, (0.25, 1.0), ("", "ε/(K−1)"))
    cases = [((p, k, e, v), dpb.DPSE(e / (k - 1) if v else e)) for p, k, e, v in grid]
    return played(cases, lambda r: r.final())


def settings():
    cases = {
        (panel, kind.label, eps): (kind(eps), ARMS[k])
        for panel, k in (("a", 3), ("b", 5))
        for kind in (dpb.DPSE, dpb.DPUCB)
        for eps in (0.1, 1.0)
    }
    runs = dpb.simulate_many(cases, T, RUNS)
    return tabulate(runs, lambda r: curve(r, first=1000), ("panel", "algorithm", "epsilon"))


def ratios():
    """Ratios as they are published: of made-up means."""
    grid = itertools.product(("grey", "ours"), (3, 5, 10), (0.1, 0.25, 1.0))
    return tabulate(
        {
            ("a", pair, _RANKS[pair], k, eps): {"ratio": (2 + _RANKS[pair]) * k**0.3 / eps}
            for pair, k, eps in grid
        },
        dict,
        ("panel", "pair", "rank", "n_arms", "epsilon"),
    )


_RANKS = {"grey": 0, "ours": 1}


def rare_failures():
    cases = {
        (panel, kind.label, rarity): (kind(1.0), dpb.instances.bernoulli([1 - q, 1 - 3 * q]))
        for panel in "ab"
        for kind in (dpb.DPSE, dpb.DPUCB)
        for rarity, q in ((4, 1 / 4), (20, 1 / 20), (100, 1 / 100))
    }
    runs = dpb.simulate_many(cases, T, RUNS)
    return tabulate(runs, lambda r: r.final(), ("panel", "algorithm", "rarity"))


# ------------------------------------------------------------------------------------ stopping

BUDGETS = {"a": 1.0, "b": 0.1, "c": 0.01, "d": 0.001}
BY_BUDGET = {panel: f"ε = {epsilon:g}" for panel, epsilon in BUDGETS.items()}
LAW = two_point(0.1)


def rules(epsilon, alpha=0.5, beta=0.05):
    private = (kind(epsilon, alpha, beta) for kind in (dpb.DPNAS, dpb.DPExponentialNAS))
    return dpb.NAS(alpha, beta), *private


def doubling(epsilon):
    return dpb.DPExponentialNAS(epsilon, 0.5, 0.05)


def pairs(laws, **told):
    """Pairs of the rules, told ε, α and β as asked for, with each law."""
    grid = [dict(zip(told, values, strict=True)) for values in itertools.product(*told.values())]
    return [(rule, law) for law in laws for values in grid for rule in rules(**values)]


TWO_BUDGETS = {"a": 0.1, "b": 0.01}
SMALL = [low_variance(0.1, 0.01), low_variance(0.1, 0.5), LAW]
NAS = dpb.NAS(0.5, 0.05)
STOPPED = {
    "mean": {p: pairs([two_point(0.5), LAW], epsilon=[e]) for p, e in BUDGETS.items()},
    "alpha": {p: pairs([LAW], alpha=(0.3, 0.9), epsilon=[e]) for p, e in TWO_BUDGETS.items()},
    "beta": {p: pairs([LAW], beta=(0.01, 0.5), epsilon=[e]) for p, e in TWO_BUDGETS.items()},
    "epsilon": {
        panel: [(NAS, law)] + [x for x in pairs([law], epsilon=(0.1, 1.0)) if x[0] != NAS]
        for panel, law in {"a": two_point(0.3), "b": two_point(0.03)}.items()
    },
    "deviation": {
        p: pairs(SMALL, epsilon=[e]) + [(dpb.EBGStop(0.5, 0.05), law) for law in SMALL]
        for p, e in {"a": 1.0, "b": 0.1}.items()
    },
    "failures": {
        panel: pairs([law], alpha=(0.9, 0.5), beta=(0.05, 0.2), epsilon=[1.0])
        for panel, law in {"a": two_point(0.2), "b": low_variance(0.2, 0.01)}.items()
    },
}
SWEEPS = ("mean", "alpha", "epsilon", "beta", "deviation")


@functools.cache
def stopped(name):
    """Runs of rules on laws, by (panel, rule, law)."""
    keys = [(panel, *pair) for panel, some in STOPPED[name].items() for pair in some]
    return dpb.estimate_many({key: key[1:] for key in keys}, 30 if name == "failures" else 4)


@functools.cache
def swept(name):
    return stopping.samples_table(stopped(name), name)


def price():
    """Quotients of the halting times with and without privacy, for two means."""
    free = {mean: stopping.smooth_time(doubling(INFINITE), mean) for mean in (0.3, 0.01)}
    return stopping.price_table(
        {
            (mean, ratio): stopping.smooth_time(doubling(ratio * 0.5 * mean), mean) / free[mean]
            for mean, ratio in itertools.product(free, (0.1, 1.0, 10.0))
        }
    )


OUTCOMES = {"recovered": np.ones(400), "not recovered": np.ones(400)}
OUTCOMES["not recovered"][6] = -1.0


@functools.cache
def day():
    """Two streams on which a rule that asks for little halts soon, and its private laws."""
    streams = {name: stream.copy() for name, stream in OUTCOMES.items()}
    laws = {n: dpb.stopping.halting_law(dpb.DPNAS(4.0, 0.9, 0.5), s) for n, s in streams.items()}
    return disclosure.disclosure_table(
        dpb.NAS(0.9, 0.5), streams, laws, near=(100, 350), shown=(100, 400)
    )


def sweep(name):
    options = {"over": name, "titles": BY_BUDGET if name == "mean" else TITLES}
    columns = ("mean_samples", "samples_q05", "samples_q95", name)
    columns += ("noiseless", "surely", "any_rule", "private_rule")
    return Drawing(stopping.samples_figure, functools.partial(swept, name), options, columns)


# ------------------------------------------------------------------------------ identification

MU1, MU2 = dpb.instances.ja25("mu1"), dpb.instances.ja25("mu2")


def made(algorithm, instance, times, ended=0, most=10**9):
    """Results by hand: stopping times, the last `ended` of runs that did not stop."""
    times = np.rint(times).astype(np.int64)
    pulls = np.zeros((times.size, instance.n_arms), dtype=np.int64)
    pulls[:, 0] = times
    arms = np.full(times.size, instance.best_arm)
    arms[times.size - ended :] = -1
    return Identifications(algorithm, instance, most, arms, pulls)


def times_over_epsilon():
    runs = {}
    for panel, arms in (("a", MU1), ("b", MU2)):
        runs[panel, "Top Two", "", INFINITE] = made(dpb.TopTwo(0.01), arms, [8000, 9000])
        for place, eps in enumerate((0.1, 1.0, 10.0)):
            times = np.array([20_000, 24_000, 31_000]) // (place + 1)
            runs[panel, "DP-TT", "", eps] = made(dpb.DPTT(eps, 0.01), arms, times)
            rule = dpb.AdaPTT(eps, 0.01, threshold="heuristic")
            runs[panel, "AdaP-TT", "heuristic", eps] = made(rule, arms, 3 * times)
    return runs


def times_over_delta(instances=(MU1,)):
    return {
        ("a", "DP-LRE", arms.name if len(instances) > 1 else "", delta): made(
            dpb.DPLRE(0.5, delta), arms, [6000 - 9000 * delta, 7000]
        )
        for arms in instances
        for delta in (0.1, 0.01)
    }


def times_over_arms():
    arms = {k: dpb.instances.bernoulli([0.8, *[0.6] * (k - 1)], "equal gaps") for k in (2, 5, 10)}
    rule = dpb.DPTT(1.0, 0.01)
    return {
        ("a", "DP-TT", "", k): made(rule, each, [900 * k, 1000 * k]) for k, each in arms.items()
    }


def times_over_eta():
    return {
        ("a", "DP-TT", variant, eta): made(dpb.DPTT(1.0, 0.01, eta=eta), MU1, [9000, 9500 * eta])
        for variant in ("", "union")
        for eta in (0.5, 1.0, 2.0)
    }


def tails(n=300, ended=30):
    times = np.sort(np.random.default_rng(0).choice(50_000, n, replace=False) + 1000)
    times[n - ended :] = 10**6
    rule = dpb.DPTT(1.0, 0.01)
    return {
        ("a", "DP-TT", "W"): made(rule, MU1, times, ended=ended, most=10**6),
        ("a", "DP-TT", ""): made(rule, MU1, times[: n - ended]),
    }


def times(axis, runs, titles):
    options = {"axis": axis, "titles": titles}

    def make():
        return identification.times_table(runs(), axis)

    return Drawing(identification.stopping_times, make, options, ("mean_time", "lower_bound"))


def budgets_of_lre(budgets=(0.1, 1.0, INFINITE)):
    """Made by hand: (panel, algorithm, ε) → results of DP-LRE."""
    return {
        ("a", "DP-LRE", eps): made(dpb.DPLRE(eps, 0.01), MU1, [5000 + 900 / eps, 6000 + 1000 / eps])
        for eps in budgets
    }


def knee():
    found = budgets_of_lre((0.1, 1.0, 10.0))  # to beyond the knee, where the bound is level
    runs = {(panel, name, "", eps): r for (panel, name, eps), r in found.items()}
    # without privacy the mean alone is drawn: runs of one length, whose quantiles are the mean
    runs["a", "DP-LRE", "", INFINITE] = made(dpb.DPLRE(INFINITE, 0.01), MU1, [5500, 5500])
    return identification.times_table(runs, "epsilon")


def blocks():
    arms = dpb.instances.bernoulli([0.9, 0.5, 0.2])
    return floor.blocks_of_run(dpb.DPLRE(1.0, 0.1), arms, 0)


def plan():
    return dpb.plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=2)


# -------------------------------------------------------------------------------- head to head

PRIVATE = (dpb.DPSE, dpb.AnytimeLazyUCB, dpb.DPKLUCB, dpb.DPIMED)
PAIR = {gap: dpb.instances.equal_gaps(2, gap) for gap in (0.1, 0.3)}
HORIZONS = {"a": 100, "b": 10_000}


@functools.cache
def races():
    cases = {}
    for panel, epsilon in (("a", 0.1), ("b", 1.0)):
        interval = dpb.DPUCBInt.calibrated(epsilon, math.exp(-10), 2000)
        kinds = [(epsilon, kind(epsilon), "") for kind in PRIVATE]
        kinds += [(INFINITE, dpb.UCB(), ""), (epsilon, interval, "(ε, δ)")]
        for budget, algorithm, variant in kinds:
            key = panel, "gap 0.3", 2, budget, algorithm.label, variant
            cases[key] = algorithm, PAIR[0.3]
    return dpb.simulate_many(cases, 2000, RUNS)


@functools.cache
def long_runs():
    cases = {}
    for panel, epsilon in (("a", 0.1), ("b", 1.0)):
        for calibrated, variant in ((True, ""), (False, "d_ε")):
            algorithm = dpb.DPIMED(epsilon, calibrated=calibrated)
            key = panel, "gap 0.3", 2, epsilon, algorithm.label, variant
            cases[key] = algorithm, PAIR[0.3]
    return dpb.simulate_many(cases, 2000, 80)


@functools.cache
def map_runs():
    grid = itertools.product(HORIZONS, PAIR, (0.1, 1.0), PRIVATE)
    cases = {
        (p, f"gap {g:g}", 2, e, kind(e).label, ""): (kind(e), PAIR[g], HORIZONS[p])
        for p, g, e, kind in grid
    }
    return dpb.simulate_many(cases, n_runs=4)


@functools.cache
def map_times():
    grid = itertools.product((("a", 0.1), ("b", 0.001)), PAIR, (0.1, 1.0))
    kinds = (dpb.DPTT, dpb.DPSEIdentifier, dpb.DPLRE)
    cases = {}
    for (panel, delta), gap, epsilon in grid:
        for rule in (kind(epsilon, delta) for kind in kinds):
            cases[panel, f"gap {gap:g}", 2, epsilon, delta, rule.label, ""] = rule, PAIR[gap]
    return dpb.identify_many(cases, 4)


@functools.cache
def tried():
    populations = {"a": FinitePopulation((45, 20), (60, 60)), "b": dpb.identification.isis2()}
    private = (dpb.DPLRE, dpb.DPTT, dpb.AdaPTTStar, dpb.DPSEIdentifier)
    cases = {
        (panel, design): (design, population)
        for panel, population in populations.items()
        for epsilon in (0.5, 2.0)
        for design in (*(make(epsilon, 0.1) for make in private), dpb.TopTwo(0.1))
    }
    return trial.trial_table(dpb.identification.simulate_trials_many(cases, 3))


@functools.cache
def priced():
    arms = dpb.instances.bernoulli([0.9, 0.5], "two")
    cases = {e: (dpb.DPLRE(e, 0.05), arms) for e in (10.0, 1.0, 0.1, INFINITE)}
    return trial.cost_table(dpb.identify_many(cases, n_runs=3))


def committee():
    design = dpb.GroupSequential(50, 2.1, 1.0, looks=3)
    trial_of = dpb.RunningTrial(design, [(44, 40), (45, 40)])
    found = Replay(trial_of, ((45, 39), (44, 41)))
    return group_trial.committee_table(found, design.operating(0.9, 0.8))


def by_looks():
    cases = {(e, k): {"patients": 900.0 + 99 * k, "most": 2000} for e in ("∞", "1") for k in (1, 2)}
    return tabulate(cases, lambda row: row, ("epsilon", "looks"))


def by_share():
    names, shares = ("released", "assumed"), np.linspace(0.7, 0.9, 12)
    cases = {(name, s): {"error": 0.05 + 0.1 * (0.9 - s)} for name in names for s in shares}
    return tabulate(cases, lambda row: row, ("score", "share"))


# ------------------------------------------------------------------------- variants, heavy tails

FOUR = {"a": ("two", 1.0), "b": ("two", 0.1), "c": ("ten", 1.0), "d": ("ten", 0.1)}
BY_ARMS = {panel: f"{arms} arms, ε = {epsilon:g}" for panel, (arms, epsilon) in FOUR.items()}


def as_published(epsilon):
    """Variants of TD16's §4 and of its pseudo-codes."""
    x = dpb.DPUCBInt.target_input(epsilon, math.exp(-10), 1.1)
    trees = {"ε/K": "mishra-thakurta", "ε per arm": "mishra-thakurta-parallel"}
    yield ("UCB", ""), dpb.UCB()
    for variant, constants in trees.items():
        tree = dpb.DPUCB(epsilon, constants, failure_power=4)
        yield ("Private-UCB", variant), tree
    yield ("DP-UCB-HYBRID", "full"), dpb.DPUCBHybrid(epsilon, split="full")
    yield ("DP-UCB-HYBRID", "half"), dpb.DPUCBHybrid(epsilon)
    yield ("DP-UCB-HYBRID", "no bonus"), dpb.DPUCBHybrid(epsilon, literal=True, split="full")
    yield ("DP-UCB-BOUND", "full"), dpb.DPUCBBound(epsilon, split="full")
    yield ("DP-UCB-BOUND", "half"), dpb.DPUCBBound(epsilon)
    yield ("DP-UCB-BOUND", "no bonus"), dpb.DPUCBBound(epsilon, ucb_term=False, split="full")
    for reading in ("refreshed", "frozen", "literal"):
        yield ("DP-UCB-INT", reading), dpb.DPUCBInt(x, reading)


@functools.cache
def variants():
    cases = {
        (panel, *name): (algorithm, dpb.instances.td16(arms))
        for panel, (arms, epsilon) in FOUR.items()
        for name, algorithm in as_published(epsilon)
    }
    return dpb.simulate_many(cases, horizon=5000, n_runs=3)


def halved(k):
    """Return the gap ¾·2^−k, which is seen in epoch k."""
    return 0.75 * 2.0**-k


ORDERS = {"a": 1.0, "b": 0.5}


def schedule_outcomes():
    cases = {}
    names = ("balanced", "remark-3")
    for (panel, v), name, k in itertools.product(ORDERS.items(), names, (1, 2, 3)):
        arms = dpb.instances.heavy_two_point(halved(k), v)
        cases[panel, v, name, halved(k)] = dpb.LDPRSE(1.0, schedule=name), arms
    runs = dpb.simulate_many(cases, 10**16, 5)
    return tabulate(runs, heavy.schedule_outcome, ("panel", "order", "schedule", "gap"))


def errors_by_rewards():
    cases = {}
    sizes = (100, 1000, 10**4)
    for (panel, v), (model, law), n in itertools.product(ORDERS.items(), heavy.ERROR_LOOKS, sizes):
        epsilon = INFINITE if model == "none" else 0.5
        rewards = hard_law(model, n, epsilon, v) if law != "Pareto" else ParetoLaw(1.05 + v, 0.2)
        estimator = TruncatedMean(model, epsilon, v, rewards.moment(v))
        cases[panel, v, model, law, n] = estimator, rewards, n
    errors = mean_errors_many(cases, 20)
    return tabulate(errors, heavy.error_columns, ("panel", "order", "model", "law", "n_rewards"))


def cuts():
    x = np.geomspace(1, 1e4, 9)
    curves = {"bias": (x, 1 / x), "open": (x, 1 / x + x / 1e4), "curator": (x, 1 / x + x / 1e3)}
    return rare_events.cut_table(curves)


@functools.cache
def local_runs():
    """Figure 2 of TWZW22, in short."""
    cases = {
        (panel, "S3", v, epsilon, "LDPRSE", schedule): (
            dpb.LDPRSE(epsilon, schedule=schedule),
            dpb.instances.twzw22("S3", v),
            horizon,
        )
        for panel, v, horizon in (("a", 0.9, 10**16), ("b", 0.5, 10**17))
        for epsilon in (0.5, 1.0)
        for schedule in ("balanced", "one-bit")
    }
    return dpb.simulate_many(cases, n_runs=3, checkpoints=dpb.log_checkpoints(10**17, 8))


def local_curves():
    return tabulate(local_runs(), heavy.heavy_curve, heavy.TIME_LABELS)


# ----------------------------------------------------------------------------------------- all


def clinic():
    """Patients given the worse treatment, by budget."""
    rows = [(INFINITE, 70.5, 10.0, 130.0), (1.0, 120.25, 40.0, 200.0), (0.1, 430.75, 190.0, 800.0)]
    return pd.DataFrame(rows, columns=["epsilon", "mean", "low", "high"])


def batches():
    """Batches of a short run."""
    rows = [(0, 1, 1, 1), (1, 2, 2, 1), (1, 3, 9, 1), (0, 10, 30, 0)]
    return pd.DataFrame(rows, columns=["arm", "start", "stop", "released"])


def chart():
    """Shares against the rule."""
    rows = [("ε > 3Δ", 0.003, 0.002), ("between", 0.04, 0.05), ("ε ≤ Δ/3", 0.3, 0.55)]
    return pd.DataFrame(rows, columns=["regime", "rule", "share"])


def proved():
    """Simulated and proved regret."""
    names = itertools.product(("one, 0.1", "two, 1"), ("DP-IMED", "DP-KLUCB", "AdaP-KLUCB"))
    rows = [(*name, 10.25 * (i + 1), 31.5 * (i + 2)) for i, name in enumerate(names)]
    return pd.DataFrame(rows, columns=["setting", "algorithm", "mean", "bound"])


def looks_once():
    """One look beside DP-IMED."""
    rows = [
        (panel, epsilon, 0.9 - 0.15 * i, 0.7 - 0.1 * i, 0.7 - 0.1 * i, 0.8 - 0.1 * i)
        for panel in "ab"
        for i, epsilon in enumerate((0.03, 0.1, 0.3, 1.0))
    ]
    return pd.DataFrame(rows, columns=["panel", "epsilon", "imed", "look", "low", "high"])


def drawing(draw, make, *columns, **options):
    """A figure whose table is made once."""
    return Drawing(draw, functools.cache(make), options, columns or ("mean",))


ONE = {"a": "first"}
DRAWINGS = {
    "time": drawing(regret.regret_over_time, over_time, "mean", "low", "high", titles=TITLES),
    "budget": drawing(regret.regret_over_epsilon, over_epsilon, titles=TITLES),
    "horizon": drawing(regret.regret_over_horizon, over_horizon, "mean", "low", titles=ONE),
    "arms": drawing(regret.regret_over_arms, over_arms, "mean", "low", "high", titles=TITLES),
    "settings": drawing(elimination.settings_figure, settings, titles=TITLES),
    "ratios": drawing(elimination.ratios_figure, ratios, "ratio", titles=ONE),
    "rare failures": drawing(elimination.failures_figure, rare_failures, titles=TITLES),
    **{name: sweep(name) for name in SWEEPS},
    "slopes": drawing(
        stopping.slopes_figure,
        lambda: stopping.slopes_table(stopped("mean")),
        *("slope", "mean"),
        titles=BY_BUDGET,
    ),
    "ratio": drawing(stopping.price_figure, price, "times", "ratio"),
    "failures": drawing(
        stopping.errors_figure,
        lambda: stopping.measured(stopped("failures")),
        *("error_high95", "error_rate", "error_low95"),
        titles=TITLES,
    ),
    "times, epsilon": times("epsilon", times_over_epsilon, TITLES),
    "times, delta": times("delta", times_over_delta, ONE),
    "times, arms": times("n_arms", times_over_arms, ONE),
    "times, eta": times("eta", times_over_eta, ONE),
    "tails": drawing(
        identification.stopping_tails,
        lambda: identification.tails_table(tails()),
        "share",
        titles=ONE,
    ),
    "knee": drawing(floor.knee_figure, knee, *("mean_time", "time_q05", "lower_bound")),
    "blocks": drawing(
        floor.blocks_figure,
        blocks,
        *("share", "released", "evidence_1"),
        titles=TITLES,
        threshold=3.0,
        patient=7,
    ),
    "over the floor": drawing(
        floor.ratios_figure,
        lambda: floor.over_floor(
            {(p, name, "", e): r for (p, name, e), r in budgets_of_lre((0.1, 1.0)).items()}
        ),
        *("value", "low", "high"),
        titles=ONE,
        y_label="ratio",
    ),
    "over itself": drawing(
        floor.ratios_figure,
        lambda: floor.over_itself(budgets_of_lre()),
        "value",
        titles=ONE,
        y_label="ratio",
    ),
    "plan": drawing(
        identification.plan_from_table,
        lambda: identification.plan_table(plan()),
        *("samples", "samples_q90", "free_from"),
    ),
    "trials": drawing(trial.trial_figure, tried, "right_rate", over="epsilon", titles=TITLES),
    "patients": drawing(
        trial.trial_figure, tried, "patients", over="total", values="patients", titles=TITLES
    ),
    "price": drawing(trial.cost_figure, priced, "mean_time", there=400),
    "clinic": drawing(costs.clinic_figure, clinic, "low", "high", coin=500.0, marked=1.0),
    "batches": drawing(costs.batches_figure, batches, "arm", rates=["A", "B"], patient=7),
    "chart": drawing(costs.chart_figure, chart, "share", "rule"),
    "proved": drawing(costs.proved_figure, proved, "mean", "bound", horizon="1000"),
    "one look": drawing(costs.look_figure, looks_once, "imed", "look", titles=TITLES),
    "committee": drawing(group_trial.committee_figure, committee, "released"),
    "looks": drawing(group_trial.looks_figure, by_looks, "patients"),
    "level": drawing(group_trial.level_figure, by_share, "error", alpha=0.05),
    "race": drawing(comparison.race_figure, lambda: comparison.race_table(races()), titles=TITLES),
    "printed, over budgets": drawing(
        printed_adap.budgets_figure,
        lambda: printed_adap.budgets_table(over_budgets()),
        *("mean", "least", "printed"),
        marks=[0.3],
    ),
    "regret tails": drawing(
        comparison.tail_figure,
        lambda: comparison.tail_table(long_runs()),
        *("regret", "share", "low", "high"),
        titles=TITLES,
    ),
    "map of regret": drawing(
        comparison.best_map, lambda: comparison.regret_map_table(map_runs()), titles=TITLES
    ),
    "map of times": drawing(
        comparison.best_map,
        lambda: comparison.identification_map_table(map_times()),
        "mean_time",
        titles=TITLES,
    ),
    "variants": drawing(
        baselines.variants_over_time,
        lambda: baselines.variants_table(variants()),
        titles=BY_ARMS,
    ),
    "spread": drawing(
        baselines.spread_at_horizon,
        lambda: baselines.spread_table(variants()),
        *("mean", "low", "high", "least", "greatest"),
        titles=BY_ARMS,
    ),
    "schedules": drawing(heavy.schedules_over_gap, schedule_outcomes, "lost", titles=TITLES),
    "complications": drawing(
        rare_events.complications_figure,
        lambda: rare_events.complications_table(1000, 0.01, {("open", 0.01): 299.0}),
        *("x", "y"),
        titles={"a": "open", "b": "curator", "c": "every patient", "d": "needed"},
    ),
    "cuts": drawing(rare_events.cut_figure, cuts, "error", titles=ONE),
    "errors": drawing(heavy.errors_over_rewards, errors_by_rewards, "rms", titles=TITLES),
    "heavy tails": drawing(heavy.heavy_regret_over_time, local_curves, titles=TITLES),
}
