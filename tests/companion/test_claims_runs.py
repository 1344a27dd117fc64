"""Claims that are judged from a chapter's runs: made-up runs turn each verdict."""

import dataclasses
import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpbandits as dpb
from companion import claims
from companion.claims import ss19_stopping, td16_regret, twzw22_experiments
from companion.claims.twzw22_experiments import FIGURES, Setting
from dpbandits.algorithms import UCB, DPUCBBound, DPUCBHybrid, DPUCBInt
from dpbandits.identification import DPTT, Identifications, sample_lower_bound
from dpbandits.rewards.instances import low_variance, td16, two_point
from dpbandits.simulation import Runs

ALL = {claim.id: claim for claim in claims.ledger()}
H, C, F, U = claims.HOLDS, claims.CONDITION, claims.FAILS, claims.CANNOT_TELL


def judged(claim_id, results):
    return ALL[claim_id].given(results)


# --------------------------------------------------------------------- SS19: elimination


@functools.cache
def dense(bent=False):
    """Runs of DP-SE with equally spaced checkpoints."""
    times = np.append(np.arange(100, 2 * 10**6, 100), 2 * 10**6)
    runs = dpb.simulate(
        dpb.DPSE(0.25), dpb.instances.ss19("C1"), 2 * 10**6, n_runs=2, checkpoints=times
    )
    return dataclasses.replace(runs, regret=runs.regret + bent * np.log(times))


def elimination(ratios=(6.0, 6.0), rising=False, bent=False, fewer_at=None):
    """Runs of three settings; `ratios` are the variants' regrets over that of DP-SE."""
    found, noise = {}, np.array([0.99, 1.0, 1.01])[:, None]
    for eps in (0.1, 0.5, 1.0):
        for variant, ratio in zip(
            ("", "tree-tight", "mishra-thakurta"), (1.0, *ratios), strict=True
        ):
            if (eps, variant) == (fewer_at, "tree-tight"):
                ratio = 4.0
            early = 10 * ratio * (0.9 if rising or variant else 1.0)
            algorithm = dpb.DPUCB(eps, variant) if variant else dpb.DPSE(eps)
            key = ("C1", 5, eps, "DP-UCB" if variant else "DP-SE", variant)
            times, regret = np.array([400, 1000]), noise * [early, 10 * ratio]
            instance = dpb.instances.ss19("C1")
            found[key] = Runs(algorithm, instance, 1000, times, regret, np.zeros((3, 5)), ())
    return {"settings": found, "dense": {"C1": dense(bent)}}


ELIMINATION = [
    ("ss19-five-times", {}, H),
    ("ss19-five-times", {"ratios": (6.0, 4.0)}, C),
    ("ss19-five-times", {"ratios": (6.0, 5.01)}, C),  # above five, but not surely
    ("ss19-five-times", {"fewer_at": 0.5}, C),
    ("ss19-five-times", {"ratios": (4.0, 4.0)}, F),
    ("ss19-shapes", {}, H),
    ("ss19-shapes", {"rising": True}, C),
    ("ss19-shapes", {"bent": True}, F),
]


# ------------------------------------------------------------------------ SS19: stopping


@functools.cache
def estimates():
    """Runs as the chapter has them: the first part of a key is the panel."""
    private = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    means = itertools.product((dpb.NAS(0.5, 0.05), private), map(two_point, (0.5, 0.2)))
    rules, laws = (dpb.NAS(0.5, 0.05), dpb.EBGStop(0.5, 0.05)), (0.001, 0.5)
    places = {
        "over-means": means,
        "over-deviations": itertools.product(rules, (low_variance(0.1, d) for d in laws)),
    }
    return {
        name: dpb.estimate_many({("a", *pair): pair for pair in pairs}, n_runs=4)
        for name, pairs in places.items()
    }


def stopping(factor=lambda runs: 1, label=""):
    """Runs with their samples multiplied; only those of a rule, if one is named."""

    def changed(runs):
        return dataclasses.replace(runs, samples=np.rint(factor(runs) * runs.samples).astype(int))

    return {
        name: {k: changed(runs) for k, runs in some.items() if label in runs.rule.label}
        for name, some in estimates().items()
    }


STOPPING = [
    ("ss19-halting-monotone", {}, H),
    ("ss19-halting-monotone", {"factor": lambda runs: 100 if runs.law.mean > 0.3 else 1}, F),
    ("ss19-bernstein", {}, H),
    ("ss19-bernstein", {"factor": lambda runs: 100}, F),
    ("ss19-bernstein", {"label": "NAS"}, F),
]


def test_a_rule_that_halts_later_for_greater_means_changes_the_verdict(monkeypatch):
    rising = SimpleNamespace(noiseless_time=lambda mean: 1000 * mean)
    monkeypatch.setattr(ss19_stopping, "NAS", lambda alpha, beta: rising)
    assert judged("ss19-halting-monotone", stopping()).verdict == F


def test_repeated_panels_count_once():
    once = stopping()["over-means"]
    twice = once | {("b", *key[1:]): runs for key, runs in once.items()}
    first, second = (judged("ss19-halting-monotone", {"over-means": r}) for r in (once, twice))
    assert first.evidence == second.evidence


# --------------------------------------------------------------------------------- TD16

T = 100_000
READINGS = {  # mean regrets at T in panels a to d, and the power of time by which they grow
    ("UCB", ""): ((70, 70, 430, 430), 0.3),
    ("Private-UCB", "ε/K"): ((9100, 14_300, 39_300, 39_500), 1.0),
    ("Private-UCB", "ε per arm"): ((6200, 13_600, 36_100, 39_300), 0.9),
    ("DP-UCB-HYBRID", "full"): ((331, 1650, 2860, 15_100), 0.5),
    ("DP-UCB-HYBRID", "half"): ((512, 2900, 4570, 23_400), 0.5),
    ("DP-UCB-HYBRID", "no bonus"): ((209, 1340, 1930, 13_000), 0.5),
    ("DP-UCB-BOUND", "full"): ((307, 2050, 2500, 16_200), 0.2),
    ("DP-UCB-BOUND", "half"): ((614, 3300, 4160, 30_800), 0.2),
    ("DP-UCB-BOUND", "no bonus"): ((154, 1230, 1790, 15_800), 0.2),
    ("DP-UCB-INT", "refreshed"): ((43, 176, 430, 818), 0.05),
    ("DP-UCB-INT", "frozen"): ((66, 118, 431, 703), 0.05),
    ("DP-UCB-INT", "literal"): ((591, 764, 4810, 7070), 0.5),
}
PANELS = {"a": ("two", 1.0), "b": ("two", 0.1), "c": ("ten", 1.0), "d": ("ten", 0.1)}


def of_level(algorithm, arms, level, power=0.5, finals=None, n_runs=100):
    """Runs whose regrets at T are within a tenth of a level, or as given."""
    finals = level * np.linspace(0.9, 1.1, n_runs) if finals is None else np.asarray(finals)
    times = np.array([T // 100, T // 10, T])
    regret = finals[:, None] * (times / T) ** power
    instance = td16(arms)
    pulls = np.zeros((finals.size, instance.n_arms), dtype=np.int64)
    return Runs(algorithm, instance, T, times, regret, pulls, ())


def figure_2(factor=lambda key: 1.0, power=None, finals=None, levels=None):
    """Runs like those of Figure 2, some multiplied, with another growth, or of other regrets."""
    makers = {"DP-UCB-HYBRID": DPUCBHybrid, "DP-UCB-BOUND": DPUCBBound}
    runs = {}
    for (panel, (arms, eps)), (name, (usual, grows)) in itertools.product(
        PANELS.items(), READINGS.items()
    ):
        key = (panel, *name)
        if key[1] == "DP-UCB-INT":
            algorithm = DPUCBInt(DPUCBInt.target_input(eps), key[2])
        else:
            algorithm = makers.get(key[1], lambda epsilon: UCB())(eps)
        level = factor(key) * usual["abcd".index(panel)]
        level, grows = (levels or {}).get(key[1], (level, (power or {}).get(key[1], grows)))
        runs[key] = of_level(algorithm, arms, level, grows, (finals or {}).get(key))
    return runs


def lost_runs(share=0.04, usual=60.0):
    """Many runs of DP-UCB-INT, a share of which loses the best arm."""
    found = {}
    for key, part in ((("frozen", 1.1), 1), (("refreshed", 1.1), 0.35), (("refreshed", 1.5), 5)):
        n_lost = round(part * share * 1500)
        kept = usual * np.linspace(0.9, 1.1, 1500 - n_lost)
        found[key] = of_level(UCB(), "two", 0.0, 1.0, np.append(np.full(n_lost, 29_000.0), kept))
    return found


def counters(lost=None, **changes):
    return {"td16-fig2": figure_2(**changes), "td16-lost": lost_runs(*(lost or ()))}


def of(factor, algorithm):
    return {"factor": lambda key: factor if key[1] == algorithm else 1.0}


def leading(early, power):
    """DP-UCB-BOUND's regret at T/100 and power; that of DP-UCB-HYBRID goes from 100 to 1000."""
    bound = early * 100**power, power
    return {"levels": {"DP-UCB-HYBRID": (1000.0, 0.5), "DP-UCB-BOUND": bound}}


WIDE = {
    (panel, "Private-UCB", variant): np.linspace(0, 30_000, 100)
    for panel in "ab"
    for variant in ("ε/K", "ε per arm")
}
COUNTERS = [
    ("td16-fig2-best", {}, C),
    ("td16-fig2-best", of(1e-4, "DP-UCB-INT"), H),
    ("td16-fig2-best", of(1e3, "DP-UCB-INT"), F),
    ("td16-fig2-worst", {}, H),
    ("td16-fig2-worst", of(0.5, "Private-UCB"), C),
    ("td16-fig2-worst", of(0.1, "Private-UCB"), F),
    ("td16-fig2-crossing", {}, C),
    ("td16-fig2-crossing", of(10.0, "DP-UCB-BOUND"), F),
    ("td16-fig2-crossing", of(0.1, "DP-UCB-BOUND"), F),
    ("td16-fig2-crossing", leading(150.0, 0.1), H),  # early worse, at T better
    ("td16-fig2-crossing", leading(50.0, 0.1), F),  # it leads first
    ("td16-fig2-crossing", leading(150.0, 0.9), F),  # and not at T
    ("td16-validate", {}, C),
    ("td16-validate", {"factor": lambda key: 100.0}, F),
    ("td16-validate", {"factor": lambda key: 1e-3}, H),
    ("td16-proportional", {}, C),
    ("td16-proportional", {"factor": lambda key: 2.5 if key[0] in "bd" else 1.0}, H),
    ("td16-proportional", {"factor": lambda key: 0.1 if key[0] in "bd" else 1.0}, F),
    ("td16-fig2-gap", {}, C),
    ("td16-fig2-gap", of(1e-6, "DP-UCB-INT") | {"lost": (0.0, 10.0)}, H),
    ("td16-fig2-gap", of(1e-6, "DP-UCB-INT") | {"lost": (0.04, 10.0)}, C),
    ("td16-fig2-gap", of(10.0, "DP-UCB-INT") | {"power": {"DP-UCB-INT": 1.0}}, F),
    ("td16-fig2-spread", {"factor": lambda key: 0.01, "finals": WIDE}, H),
    (
        "td16-fig2-spread",
        {"finals": {("a", "DP-UCB-INT", "frozen"): np.append(np.full(99, 60.0), 29_990.0)}},
        F,
    ),
    ("td16-thm-3.5", {}, F),
    ("td16-thm-3.5", {"lost": (0.0,)}, U),
]


def test_what_reasons_say_of_lost_runs():
    one = {("a", "DP-UCB-INT", "frozen"): np.append(np.full(99, 60.0), 29_990.0)}
    for claim, changes, said in (
        ("td16-fig2-spread", {"finals": one}, "are of DP-UCB-INT in panel a"),
        ("td16-fig2-spread", {"factor": lambda key: 0.01}, "no run is near"),
        ("td16-thm-3.5", {}, "but not surely so"),
    ):
        assert said in judged(claim, counters(**changes)).finding.reason
    more = judged("td16-thm-3.5", counters((0.1,)))  # of refreshed values, too
    assert "but not surely so" not in more.finding.reason


def test_a_rise_by_a_lost_run_is_said_to_be_one():
    sample = np.append(np.full(99, 100.0), 29_000.0)
    figure = figure_2(finals={("a", "DP-UCB-INT", "refreshed"): sample})
    growths = ((280, 500), (7, 9), (-9, 5), (9, 5))
    found = {("refreshed", panel): each for panel, each in zip("abcd", growths, strict=True)}
    assert td16_regret._rises(figure, found) == [
        "in panel a it rises, by one lost run",
        "in panel b it rises, not significantly",
    ]


def test_how_the_gap_grows():
    """Half the width of an interval of five runs is 2.776 standard errors."""
    ours = of_level(UCB(), "two", 100.0, 1.0, n_runs=5)
    ucb = of_level(UCB(), "two", 50.0, 0.0, n_runs=5)
    growth, off = td16_regret._growth(ours, ucb)
    error = 100 * np.linspace(0.9, 1.1, 5).std(ddof=1) / math.sqrt(5)
    assert growth == pytest.approx(90.0)
    assert off == pytest.approx(2.776 * math.hypot(1.1 * error, error), rel=1e-3)


# ------------------------------------------------------------------------------- TWZW22

SHORT, LONG, LATE = 10**7, 10**10, 10**17


def heavy(regret=None, spread=0.001):
    """Return runs of the figures in which a setting's mean regret at t is regret(setting)·t."""
    schedules = ("minimax", "non-negative")
    places = [
        ("twzw22-fig2", panel, "S3", e, "LDPRSE", schedule, LATE * (10 if panel == "b" else 1))
        for panel, e, schedule in itertools.product("ab", (0.5, 1.0), schedules)
    ] + [
        (figure, panel, name, e, algorithm, variant, SHORT if panel in "ab" else LONG)
        for figure, name in (("twzw22-fig1", "S1"), ("twzw22-fig3", "S2"), ("twzw22-fig4", "S3"))
        for panel, e in itertools.product("abcd", (0.5, 1.0))
        for algorithm, variant in (("DPRSE", "printed"), ("DPRUCB", ""), ("RobustUCB", ""))
        if panel in "ab" or algorithm == "DPRSE"
    ]
    found = {}
    for figure, panel, name, epsilon, algorithm, variant, horizon in places:
        order = 0.9 if panel in "ac" else 0.5
        key = Setting(figure, panel, name, order, epsilon, algorithm, variant)
        times = np.geomspace(10, horizon, 80).astype(np.int64)
        times[-1] = horizon
        rows = (regret or published)(key) * times * (1 + spread * np.array([[1.0], [-1.0]] * 10))
        found[key] = Runs(None, None, horizon, times, rows, None, ())
    return {FIGURES: found}


def published(s):
    factor = {"DPRSE": 1.0, "DPRUCB": 2.0, "LDPRSE": 3.0, "RobustUCB": 0.1}[s.algorithm]
    return factor / s.epsilon / s.order


def but(algorithm, value):
    """Return regrets that are 1 for one algorithm, and value(setting) for the others."""
    return {"regret": lambda s: 1.0 if s.algorithm == algorithm else value(s)}


HEAVY = [
    ("twzw22-fig-dprse", {}, H),
    ("twzw22-fig-dprse", but("DPRUCB", lambda s: 1.1), F),
    ("twzw22-fig-dprse", but("DPRUCB", lambda s: s.order + 0.2), C),
    ("twzw22-fig-epsilon", {}, H),
    ("twzw22-fig-epsilon", {"regret": lambda s: s.epsilon}, F),
    ("twzw22-fig-epsilon", {"regret": lambda s: 1.0}, U),
    ("twzw22-fig-epsilon", {"regret": lambda s: s.order / s.epsilon ** (s.order > 0.7)}, C),
    ("twzw22-fig-v", {}, H),
    ("twzw22-fig-v", {"regret": lambda s: s.order}, F),
    ("twzw22-fig-v", {"regret": lambda s: s.epsilon - s.order * (s.epsilon > 0.7)}, C),
    ("twzw22-fig-local", {}, H),
    ("twzw22-fig-local", but("LDPRSE", lambda s: 1.1), F),
    ("twzw22-support", {}, H),
    ("twzw22-support", {"regret": lambda s: s.epsilon / published(s)}, F),
    (
        "twzw22-support",
        {"regret": lambda s: published(s) * (2.5 if s.algorithm == "DPRSE" else 1.0)},
        C,
    ),
]
OF_FIGURES = [claim.id for claim in ALL.values() if FIGURES in claim.needs]


def test_a_wide_spread_decides_nothing():
    for name in OF_FIGURES:
        finding = judged(name, heavy(spread=0.9)).finding
        assert finding.evidence["surely agree"] == 0
        if name != "twzw22-support":
            assert finding.verdict == U and finding.evidence["comparisons"] >= 4


def test_how_many_comparisons_the_figures_have():
    """Per figure: 2 orders × 2 budgets, and the pairs of budgets and of orders for each curve."""
    counts = [judged(name, heavy()).evidence.get("comparisons") for name in OF_FIGURES]
    assert counts == [3 * 4, 3 * (4 + 2) + 4, 3 * (4 + 2) + 4, 4 * 2, None]
    assert judged("twzw22-support", heavy()).evidence["surely agree"] == sum(counts[:-1])
    assert twzw22_experiments.LEVEL * sum(counts[:-1]) < 1e-6


# --------------------------------------------------------------------------------- JA25

MU1 = dpb.instances.ja25("mu1")
PUBLISHED = [dpb.instances.ja25(name) for name in ("mu1", "mu2", "even")]
PUBLISHED += [dpb.instances.ss19(name) for name in ("C2", "C3", "C4")]
BUDGETS = np.geomspace(0.001, 125, 5)


@functools.cache
def cases():
    """Return what the chapter runs, on thinner grids, by the names of the results."""
    grid, both = list(itertools.product(PUBLISHED, BUDGETS)), ("chernoff", "union")
    figures = [(dpb.TopTwo(0.01), arms) for arms in PUBLISHED]
    for rule in (dpb.DPTT, dpb.AdaPTT, dpb.DPSEIdentifier):
        figures += [(rule(eps, 0.01), arms) for arms, eps in grid]
    figures += [(dpb.AdaPTT(eps, 0.01, threshold="heuristic"), arms) for arms, eps in grid]
    equal = (dpb.instances.bernoulli([0.8, *[0.6] * (k - 1)], "equal") for k in (2, 5, 10, 100))
    deltas = itertools.product((0.1, 1.0), (0.1, 0.001), both)
    etas = itertools.product((0.1, 1.0), (0.1, 1.0, 2.0), both)
    return {
        "figures": figures,
        "own": [(dpb.DPLRE(eps, 0.01), arms) for arms, eps in grid],
        "quoted": [(rule(0.1, 0.01), PUBLISHED[2]) for rule in (dpb.DPTT, dpb.DPLRE)],
        "delta": [(DPTT(eps, delta, threshold), MU1) for eps, delta, threshold in deltas],
        "arms": [(DPTT(1.0, 0.01), arms) for arms in equal],
        "eta": [(DPTT(eps, 0.01, threshold, eta=eta), MU1) for eps, eta, threshold in etas],
    }


def results_of(algorithm, instance, times, wrong=0, ended=0):
    """Return results by hand: the first runs are wrong, the last were ended."""
    pulls = np.zeros((len(times), instance.n_arms), dtype=np.int64)
    pulls[:, 0] = times
    arms = np.full(len(times), instance.best_arm)
    arms[:wrong] = (instance.best_arm + 1) % instance.n_arms
    arms[len(times) - ended :] = -1
    return Identifications(algorithm, instance, 10**7, arms, pulls)


FACTOR = {"DP-TT": 6.0, "AdaP-TT": 50.0, "DP-SE": 20.0, "Top Two": 3.0, "DP-LRE": 4.0}


def as_told(algorithm, instance, epsilon):
    """Make everything as the paper says it is."""
    time = FACTOR[algorithm.label] * sample_lower_bound(instance.means, epsilon, 0.01)
    if algorithm.label == "DP-TT":
        time *= (1 + 0.3 * abs(math.log(algorithm.eta))) * (algorithm.delta / 0.01) ** -0.01
        if instance.name == "equal":
            time = 1000.0 * (instance.n_arms - 1)
    return time


def identification(label="", factor=1.0, when=lambda instance, epsilon: True, times=as_told):
    """Return results with mean stopping times(algorithm, instance, ε), some multiplied."""

    def result(algorithm, instance):
        epsilon = getattr(algorithm, "epsilon", math.inf)
        mean = times(algorithm, instance, epsilon)
        if algorithm.label == label and when(instance, epsilon):
            mean *= factor
        return results_of(algorithm, instance, np.rint([0.99 * mean, 1.01 * mean] * 100))

    return {name: {c: result(*c) for c in some} for name, some in cases().items()}


def slower(label, factor, **when):
    return {"label": label, "factor": factor, **when}


FEW = slower("DP-SE", 1e-3, when=lambda instance, epsilon: epsilon < 0.1)
IDENTIFICATION = [
    ("ja25-outperforms", slower("DP-TT", 1e3), F),
    ("ja25-outperforms", FEW, C),
    ("ja25-twice-free", slower("DP-TT", 4.0), F),
    ("ja25-twice-free", slower("DP-TT", 4.0, when=lambda i, epsilon: "mu1" in i.name), C),
    ("ja25-above-bound", slower("DP-TT", 0.1, when=lambda i, epsilon: "mu2" in i.name), F),
    ("ja25-thousands", slower("DP-TT", 40.0), F),
    ("ja25-moderate-delta", {"times": lambda a, i, epsilon: 1000 / a.delta}, F),
    ("ja25-linear-measured", {"times": lambda a, i, epsilon: 1000 * (i.n_arms - 1) ** 1.4}, C),
    ("ja25-linear-measured", {"times": lambda a, i, epsilon: 1000 * i.n_arms**2.0}, F),
    ("ja25-linear-measured", {"times": lambda a, i, epsilon: 1000.0}, F),
    ("ja25-eta-tradeoff", {"times": lambda a, i, epsilon: 1000 * getattr(a, "eta", 1.0)}, F),
]
IDENTIFICATION += [(claim, {}, H) for claim in dict.fromkeys(row[0] for row in IDENTIFICATION)]


def test_one_algorithm_that_is_beaten_at_small_budgets_is_named():
    evidence = judged("ja25-outperforms", identification(**FEW)).evidence
    assert evidence["pairs"] == len(PUBLISHED) * len(BUDGETS)
    assert evidence["surely fewer samples than AdaP-TT"] == evidence["pairs"]
    assert evidence["greatest ε at which DP-SE is not surely beaten"] < 0.1


def errors(wrong):
    rules = (DPTT(1.0, 0.1), DPTT(1.0, 0.1, "union"), dpb.DPLRE(1.0, 0.1))
    return {"errors": {rule: results_of(rule, MU1, [9] * 500, wrong) for rule in rules}}


def tails(ended):
    plain, own = DPTT(1.0, 0.01, costs="plain", exploration=0.0), DPTT(1.0, 0.01)
    lost = results_of(plain, MU1, [*[9000] * 40, *[10**7] * 10], ended=ended)
    return {"tails": {"W": lost, "": results_of(own, MU1, [9000] * 50)}}


OTHERS = [
    ("ja25-thm-5", {"wrong": 5}, H),
    ("ja25-thm-5", {"wrong": 100}, F),
    ("ja25-ties", {"ended": 0}, C),
    ("ja25-ties", {"ended": 10}, U),
]


def test_runs_that_do_not_stop_are_counted():
    given = judged("ja25-ties", tails(10))
    assert "10 of 50 runs" in given.finding.reason and "10⁷ pulls" in given.finding.reason
    assert given.evidence["runs of 50 that do not stop, W̃ + 2 log N"] == 0


# --------------------------------------------------------------------------- all of them

ROWS = [
    (claim, make, changes, expected)
    for make, table in (
        (elimination, ELIMINATION),
        (stopping, STOPPING),
        (counters, COUNTERS),
        (heavy, HEAVY),
        (identification, IDENTIFICATION),
        (errors, OTHERS[:2]),
        (tails, OTHERS[2:]),
    )
    for claim, changes, expected in table
]
SPOILT = {row[0] for row in ROWS}


@pytest.mark.parametrize(("claim", "make", "changes", "expected"), ROWS)
def test_verdicts_depend_on_the_runs(claim, make, changes, expected):
    assert judged(claim, make(**changes)).verdict == expected


def test_every_claim_on_runs_has_runs_that_turn_it():
    assert {claim.id for claim in ALL.values() if claim.needs} == SPOILT
    for claim in SPOILT:
        assert len({row[3] for row in ROWS if row[0] == claim}) >= 2, claim


def test_claims_on_runs_are_not_judged_without_them():
    with pytest.raises(ValueError, match="judged from runs of its chapter, figures, own"):
        _ = ALL["ja25-above-bound"].verdict
    with pytest.raises(ValueError, match="lack 'own', which the claim ja25-above-bound needs"):
        judged("ja25-above-bound", {"figures": {}})
