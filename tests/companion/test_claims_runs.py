"""Claims that are judged from a chapter's runs: made-up runs turn each verdict."""

import dataclasses
import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from figure_tables import FOUR, as_published, made

import dpbandits as dpb
from companion import claims
from companion.claims import ss19_stopping, td16_regret, twzw22_experiments
from companion.claims.twzw22_experiments import FIGURES, Setting
from dpbandits.algorithms import UCB
from dpbandits.identification import DPTT, sample_lower_bound
from dpbandits.regret.simulation import Runs
from dpbandits.rewards.instances import td16
from dpbandits.rewards.laws import low_variance, two_point

ALL = {claim.id: claim for claim in claims.ledger()}
H, C, F, U = claims.HOLDS, claims.CONDITION, claims.FAILS, claims.CANNOT_TELL
N = claims.NOT_REPRODUCED


def judged(claim_id, results):
    return ALL[claim_id].given(results)


# Each table: a claim, changes of the runs (keywords, or the first argument of what makes them) and
# the verdict that must come out; further pairs of these two.

# --------------------------------------------------------------------- SS19: elimination


@functools.cache
def dense(bent=False):
    """Runs of DP-SE with equally spaced checkpoints."""
    times, arms = np.append(np.arange(100, 2 * 10**6, 100), 2 * 10**6), dpb.instances.ss19("C1")
    runs = dpb.simulate(dpb.DPSE(0.25), arms, 2 * 10**6, n_runs=2, checkpoints=times)
    return dataclasses.replace(runs, regret=runs.regret + bent * np.log(times))


def elimination(ratios=(6.0, 6.0), rising=False, bent=False, fewer_at=None):
    """Runs of three settings; `ratios` are the variants' regrets over that of DP-SE.

    And of another elimination, with little regret, that no claim is about.
    """
    found, arms, noise = {}, dpb.instances.ss19("C1"), np.array([0.99, 1.0, 1.01])[:, None]
    factors = {"": 1.0, "tree-exact": ratios[0], "mishra-thakurta": ratios[1]}
    for eps, (variant, ratio) in itertools.product((0.1, 0.5, 1.0), factors.items()):
        final = 40.0 if (eps, variant) == (fewer_at, "tree-exact") else 10 * ratio
        regret = noise * [final * (0.9 if rising or variant else 1.0), final]
        algorithm = dpb.DPUCB(eps, variant) if variant else dpb.DPSE(eps)
        key = ("C1", 5, eps, "DP-UCB" if variant else "DP-SE", variant)
        times = np.array([400, 1000])
        found[key] = Runs(algorithm, arms, 1000, times, regret, np.zeros((3, 5)), ())
        if not variant:
            found[*key[:3], "other", ""] = dataclasses.replace(found[key], regret=regret / 10)
    return {"settings": found, "dense": {"C1": dense(bent)}}


ELIMINATION = [
    ("ss19-five-times", {}, H, (6.0, 4.0), C, {"fewer_at": 0.5}, C),
    ("ss19-five-times", (6.0, 5.01), C),  # above five, but not surely
    ("ss19-five-times", (4.0, 4.0), F),
    ("ss19-only-approach", {}, H, (0.5, 6.0), F),
    ("ss19-shapes", {}, H, {"rising": True}, C, {"bent": True}, F),
]


# ------------------------------------------------------------------------ SS19: stopping


@functools.cache
def estimates():
    """Runs as the chapter has them: the first part of a key is the panel."""
    nas = dpb.NAS(0.5, 0.05)
    rules, means = (nas, dpb.DPExponentialNAS(1.0, 0.5, 0.05)), map(two_point, (0.5, 0.2))
    others, deviations = (nas, dpb.EBGStop(0.5, 0.05)), (low_variance(0.1, d) for d in (0.001, 0.5))
    places = {"over-means": (rules, means), "over-deviations": (others, deviations)}
    return {
        name: dpb.estimate_many({("a", *pair): pair for pair in itertools.product(*both)}, n_runs=4)
        for name, both in places.items()
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
    ("ss19-halting-monotone", {}, C, lambda runs: 100 if runs.law.mean > 0.3 else 1, F),
    ("ss19-bernstein", {}, H, lambda runs: 100, F, {"label": "NAS"}, F),
]


def test_reasons_on_stopping_rules_are_computed_with_their_verdicts(monkeypatch):
    runs = stopping()
    reason = judged("ss19-halting-monotone", runs).finding.reason
    assert "Not for EBGStop, which takes 17" in reason and "and 7" in reason
    monkeypatch.setattr(ss19_stopping, "two_point", lambda mean: low_variance(mean, 0.001))
    other = judged("ss19-halting-monotone", runs)
    assert other.verdict == H and "So it is for EBGStop." in other.finding.reason
    many = judged("ss19-bernstein", stopping(lambda runs: 2)).evidence
    once = judged("ss19-bernstein", runs)
    name = "mean samples / mended rate, greatest"
    assert many[name] == pytest.approx(2 * once.evidence[name], rel=0.01)
    assert f"to {once.evidence[name]:.1f} times" in once.finding.reason
    assert "is −3.95 samples" in once.finding.reason


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


def of_level(algorithm, arms, level, power=0.5, finals=None, n_runs=100):
    """Runs whose regrets at T are within a tenth of a level, or as given."""
    finals = level * np.linspace(0.9, 1.1, n_runs) if finals is None else np.asarray(finals)
    times = np.array([T // 100, T // 10, T])
    regret, instance = finals[:, None] * (times / T) ** power, td16(arms)
    pulls = np.zeros((finals.size, instance.n_arms), dtype=np.int64)
    return Runs(algorithm, instance, T, times, regret, pulls, ())


def figure_2(factor=lambda key: 1.0, growth=None, finals=None):
    """Runs like those of Figure 2, some multiplied, of another growth, or of other regrets.

    `growth` gives algorithms another power of time, or a level at T and a power.
    """
    runs = {}
    for place, (panel, (arms, epsilon)) in enumerate(FOUR.items()):
        for name, algorithm in as_published(epsilon):
            key, (usual, power) = (panel, *name), READINGS[name]
            level, power = (growth or {}).get(name[0], (factor(key) * usual[place], power))
            runs[key] = of_level(algorithm, arms, level, power, (finals or {}).get(key))
    return runs


def lost_runs(share=0.04, usual=60.0):
    """Many runs of DP-UCB-INT, a share of which loses the best arm."""
    found = {}
    for key, part in ((("frozen", 1.1), 1), (("refreshed", 1.1), 0.35), (("refreshed", 1.5), 5)):
        n_lost = round(part * share * 1500)
        kept = usual * np.linspace(0.9, 1.1, 1500 - n_lost)
        found[key] = of_level(UCB(), "two", 0.0, 1.0, np.append(np.full(n_lost, 29_000.0), kept))
    return found


def counters(factor=lambda key: 1.0, lost=(), **changes):
    return {"td16-fig2": figure_2(factor, **changes), "td16-lost": lost_runs(*lost)}


def of(factor, *parts):
    """Return the factor for keys with one of the parts, a panel or an algorithm."""
    return lambda key: factor if {*key} & {*parts} else 1.0


def leading(early, power):
    """DP-UCB-BOUND's regret at T/100 and power; that of DP-UCB-HYBRID goes from 100 to 1000."""
    bound = early * 100**power, power
    return {"growth": {"DP-UCB-HYBRID": (1000.0, 0.5), "DP-UCB-BOUND": bound}}


INT, BOUND = "DP-UCB-INT", "DP-UCB-BOUND"
SMALL, PRIVATE = {"factor": of(1e-6, INT)}, "Private-UCB"
WIDE = {(panel, *name): np.linspace(0, 30_000, 100) for panel in "ab" for name in READINGS}
WIDE = {key: finals for key, finals in WIDE.items() if key[1] == PRIVATE}
ONE = {"finals": {("a", INT, "frozen"): np.append(np.full(99, 60.0), 29_990.0)}}
COUNTERS = [
    (
        "td16-fig2-best",
        {},
        F,
        {"factor": of(1e-4, INT), "lost": (0.0, 1e-3)},
        H,
        {"lost": (0.0,)},
        C,
    ),
    ("td16-fig2-worst", {}, H, of(0.5, PRIVATE), C, of(0.1, PRIVATE), F),
    ("td16-fig2-crossing", {}, C, of(10.0, BOUND), F, of(0.1, BOUND), F),
    ("td16-fig2-crossing", leading(150.0, 0.1), H),  # early worse, at T better
    ("td16-fig2-crossing", leading(50.0, 0.1), F),  # it leads first
    ("td16-fig2-crossing", leading(150.0, 0.9), F),  # and not at T
    ("td16-validate", {}, F, of(1e-3, *"abcd"), H),
    ("td16-proportional", {}, C, of(2.5, "b", "d"), H, of(0.1, "b", "d"), F),
    ("td16-fig2-gap", {}, C, {**SMALL, "lost": (0, 10)}, H, {**SMALL, "lost": (0.04, 10)}, C),
    ("td16-fig2-gap", {"growth": {INT: (5e3, 1.0)}}, F),
    ("td16-fig2-spread", {"factor": lambda key: 0.01, "finals": WIDE}, H, ONE, U),
    ("td16-thm-3.5", {}, F, {"lost": (0.0,)}, F, {"factor": of(0.01, "literal")}, F),
    ("td16-thm-3.5", {"factor": of(0.01, "literal"), "lost": (0.0,)}, U),
]


def test_what_reasons_say_of_lost_runs():
    for claim, changes, said in (
        ("td16-fig2-spread", ONE, "are of DP-UCB-INT in panel a"),
        ("td16-fig2-spread", {"factor": lambda key: 0.01}, "no run is near"),
        ("td16-thm-3.5", {}, "but not surely so"),
    ):
        assert said in judged(claim, counters(**changes)).finding.reason
    more = judged("td16-thm-3.5", counters(lost=(0.1,)))  # of refreshed values, too
    assert "but not surely so" not in more.finding.reason


def test_a_rise_by_a_lost_run_is_said_to_be_one():
    sample = np.append(np.full(99, 100.0), 29_000.0)
    figure = figure_2(finals={("a", INT, "refreshed"): sample})
    growths = ((280, 500), (7, 9), (-9, 5), (9, 5))
    found = {("refreshed", panel): each for panel, each in zip("abcd", growths, strict=True)}
    assert td16_regret._rises(figure, found) == [
        "in panel a it rises, by one lost run",
        "in panel b it rises, not significantly",
    ]


def test_how_the_gap_grows():
    """Half the width of an interval of five runs is 2.776 standard errors."""
    ours, ucb = (of_level(UCB(), "two", *each, n_runs=5) for each in ((100.0, 1.0), (50.0, 0.0)))
    growth, off = td16_regret._growth(ours, ucb)
    error = 100 * np.linspace(0.9, 1.1, 5).std(ddof=1) / math.sqrt(5)
    assert growth == pytest.approx(90.0)
    assert off == pytest.approx(2.776 * math.hypot(1.1 * error, error), rel=1e-3)


# ------------------------------------------------------------------------------- TWZW22


def heavy(regret=None, spread=0.001):
    """Return runs of the figures in which a setting's mean regret at t is regret(setting)·t."""
    found = {}
    panels = (("a", 0.9, 1.0), ("b", 0.5, 1.0), ("c", 0.9, 0.5), ("d", 0.5, 0.5))
    for (panel, order, e), schedule in itertools.product(panels, ("balanced", "one-bit")):
        key = Setting("twzw22-fig2", panel, "S3", order, e, "LDPRSE", schedule)
        found[key] = 10**18 if order == 0.5 else 10**17
    for (figure, name), (panel, order, e) in itertools.product(
        (("twzw22-fig1", "S1"), ("twzw22-fig3", "S2"), ("twzw22-fig4", "S3")), panels
    ):
        for rule, variant in itertools.product(("DPRSE", "DPRUCB"), ("fitted", "reconstructed")):
            found[Setting(figure, panel, name, order, e, rule, variant)] = 10**10
        free = Setting(figure, panel, name, order, math.inf, "DPRSE", "no noise")
        found |= {free: 10**10, free._replace(algorithm="RobustUCB", variant="fixed δ"): 10**10}
    for key, horizon in found.items():
        times = np.geomspace(10, horizon, 80).astype(np.int64)
        times[-1] = horizon
        rows = (regret or published)(key) * times * (1 + spread * np.array([[1.0], [-1.0]] * 10))
        found[key] = Runs(None, None, horizon, times, rows, None, ())
    return {FIGURES: found}


def published(s):
    factor = {"DPRSE": 1.0, "DPRUCB": 2.0, "LDPRSE": 3.0, "RobustUCB": 0.1}[s.algorithm]
    return factor / min(s.epsilon, 9.0) / s.order


def but(algorithm, value):
    """Return regrets that are 1 for one algorithm, and value(setting) for the others."""
    return lambda s: 1.0 if s.algorithm == algorithm else value(s)


HEAVY = [
    ("twzw22-fig-dprse", {}, H, but("DPRUCB", lambda s: 1.1), F),
    ("twzw22-fig-dprse", but("DPRUCB", lambda s: s.order + 0.2), U),
    ("twzw22-fig-epsilon", {}, H, lambda s: s.epsilon, F, lambda s: 1.0, U),
    ("twzw22-fig-epsilon", lambda s: s.order / s.epsilon ** (s.order > 0.7), C),
    ("twzw22-fig-v", {}, H, lambda s: s.order, F),
    ("twzw22-fig-v", lambda s: s.epsilon - s.order * (s.epsilon > 0.7), C),
    ("twzw22-fig-local", {}, H, but("DPRSE", lambda s: 0.5), F),
    ("twzw22-support", {}, H, lambda s: s.epsilon / published(s), F),
    ("twzw22-support", lambda s: published(s) * (2.5 if s.algorithm == "DPRSE" else 1.0), C),
]
OF_FIGURES = [claim.id for claim in ALL.values() if FIGURES in claim.needs]


def test_a_wide_spread_decides_nothing():
    for name in OF_FIGURES:
        finding = judged(name, heavy(spread=0.9)).finding
        assert finding.evidence["surely agree"] == 0
        if name != "twzw22-support":
            assert finding.verdict == U and finding.evidence["comparisons"] >= 4


def test_how_many_comparisons_the_figures_have():
    """Per figure: 2 orders × 2 budgets × 4 kinds, and pairs of budgets and of orders a curve."""
    counts = [judged(name, heavy()).evidence.get("comparisons") for name in OF_FIGURES]
    curves = 3 * 4 * 2 + 2 * 2
    models = counts.pop(OF_FIGURES.index("twzw22-fig-local"))
    assert counts == [3 * 4 * 4, curves, curves, None] and models == 4 * 2 * 2
    assert judged("twzw22-support", heavy()).evidence["surely agree"] == sum(counts[:-1]) + models
    assert twzw22_experiments.LEVEL * (sum(counts[:-1]) + models) < 1e-6


# --------------------------------------------------------------------------------- JA25

MU1 = dpb.instances.ja25("mu1")
PUBLISHED = [dpb.instances.ja25(name) for name in ("mu1", "mu2", "even")]
PUBLISHED += [dpb.instances.ss19(name) for name in ("C2", "C3", "C4")]
BUDGETS = np.geomspace(0.001, 125, 5)


@functools.cache
def cases():
    """Return what the chapter runs, on thinner grids, by the names of the results."""
    grid, both = list(itertools.product(PUBLISHED, BUDGETS)), ("chernoff", "union")
    free = (dpb.TopTwo(0.01), dpb.TopTwo(0.01, threshold="customary"))
    figures = [(rule, arms) for rule in free for arms in PUBLISHED]
    for rule in (dpb.DPTT, dpb.AdaPTT, dpb.AdaPTTStar, dpb.DPSEIdentifier):
        figures += [(rule(eps, 0.01), arms) for arms, eps in grid]
    for threshold in ("heuristic", "separate"):
        figures += [(dpb.AdaPTT(eps, 0.01, threshold), arms) for arms, eps in grid]
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


FACTOR = {
    "DP-TT": 6.0,
    "AdaP-TT": 50.0,
    "AdaP-TT*": 40.0,
    "DP-SE": 20.0,
    "Top Two": 3.0,
    "DP-LRE": 4.0,
}


def as_told(algorithm, instance, epsilon):
    """Make everything as the paper says it is."""
    time = FACTOR[algorithm.label] * sample_lower_bound(instance.means, epsilon, 0.01)
    if algorithm.label == "DP-TT":
        time *= (1 + 0.3 * abs(math.log(algorithm.eta))) * (algorithm.delta / 0.01) ** -0.01
        if instance.name == "equal":
            time = 1000.0 * (instance.n_arms - 1)
    return time


def slower(label, factor, when=lambda instance, epsilon: True):
    """Return stopping times as told, except some of an algorithm, which are multiplied."""

    def times(algorithm, instance, epsilon):
        some = algorithm.label == label and when(instance, epsilon)
        return as_told(algorithm, instance, epsilon) * (factor if some else 1.0)

    return times


def identification(times=as_told):
    """Return results with mean stopping times(algorithm, instance, ε)."""

    def result(algorithm, instance):
        mean = times(algorithm, instance, getattr(algorithm, "epsilon", math.inf))
        return made(algorithm, instance, [0.99 * mean, 1.01 * mean] * 100)

    return {name: {c: result(*c) for c in some} for name, some in cases().items()}


def customary(factor):
    """Return stopping times as told, those of Top Two with the customary threshold multiplied."""

    def times(algorithm, instance, epsilon):
        some = getattr(algorithm, "threshold", "") == "customary"
        return as_told(algorithm, instance, epsilon) * (factor if some else 1.0)

    return times


FEW = slower("DP-SE", 1e-3, lambda instance, epsilon: epsilon < 0.1)
IDENTIFICATION = [
    ("ja25-outperforms", {}, H, slower("DP-TT", 1e3), F, FEW, C),
    ("ja25-twice-free", {}, H, slower("DP-TT", 4.0), F),
    ("ja25-twice-free", customary(0.5), U, customary(1.2), H),
    ("ja25-above-bound", {}, H, slower("DP-TT", 0.1, lambda i, _: "mu2" in i.name), F),
    ("ja25-thousands", {}, H, slower("DP-TT", 40.0), F),
    ("ja25-moderate-delta", {}, H, lambda a, i, epsilon: 1000 / a.delta, F),
    ("ja25-prior-tight", {}, C, slower("AdaP-TT", 1e3), F),
    ("ja25-linear-arms", {}, H, lambda a, i, _: 1000 * i.n_arms**2.0, F, lambda *_: 1000.0, F),
    ("ja25-eta-tradeoff", {}, H, lambda a, i, _: 1000 * getattr(a, "eta", 1.0), F),
]


def test_one_algorithm_that_is_beaten_at_small_budgets_is_named():
    evidence = judged("ja25-outperforms", identification(FEW)).evidence
    assert evidence["pairs"] == len(PUBLISHED) * len(BUDGETS)
    assert evidence["surely fewer samples than AdaP-TT"] == evidence["pairs"]
    assert 0 < evidence["greatest ε at which DP-SE needs fewer"] < 0.1
    assert evidence["greatest ε at which DP-SE is not surely beaten"] < 0.1


def errors(wrong):
    rules = (DPTT(1.0, 0.1), DPTT(1.0, 0.1, "union"), dpb.DPLRE(1.0, 0.1))
    runs = [made(rule, MU1, [9] * 500, wrong) for rule in rules]
    worse = next(arm for arm in range(MU1.n_arms) if arm != MU1.best_arm)
    return {
        "figures": {
            each.algorithm: dataclasses.replace(
                each, recommendation=np.where(each.stopped, each.recommendation, worse)
            )
            for each in runs
        }
    }


def tails(ended):
    plain, own = DPTT(1.0, 0.01, costs="plain", exploration=0.0), DPTT(1.0, 0.01)
    lost = made(plain, MU1, [*[9000] * 40, *[10**7] * 10], ended=ended, most=10**7)
    return {"tails": {"W": lost, "": made(own, MU1, [9000] * 50, most=10**7)}}


def test_runs_that_do_not_stop_are_counted():
    given = judged("ja25-ties", tails(10))
    assert "10 of 50 runs" in given.finding.reason and "10⁷ pulls" in given.finding.reason
    assert given.evidence["runs of 50 that do not stop, W̃ + 2 log N"] == 0


# --------------------------------------------------------------------------------- AB22


def regrets(algorithm, mean, spread=0.01):
    """Runs with a mean regret at the horizon."""
    regret = mean * np.array([[1 - spread], [1.0], [1 + spread]])
    arms = dpb.instances.ss19("C2")
    return Runs(algorithm, arms, 1000, np.array([1000]), regret, np.zeros((3, 5)), ())


def printed(se=20.0, ucb=1.1, tree=9.5, spread=0.01):
    """Runs of Figure 2; the mean regret of AdaP-KLUCB is 1."""
    rivals = {dpb.PrintedAdaPKLUCB: 1.0, dpb.PrintedAdaPUCB: ucb, dpb.DPSE: se}
    rivals |= {dpb.TunedDPSE: 0.6, dpb.BinomialDPSE: 0.3, dpb.DPUCB: tree}
    return {
        "ab22-fig2": {
            ("a", "C2", 5, 1.0, kind.label, "a reading" if kind is dpb.DPUCB else ""): regrets(
                kind(1.0), mean, spread
            )
            for kind, mean in rivals.items()
        }
    }


def budgets(means, spread=0.01):
    """Runs of Figure 3: mean regrets at four ε."""
    found = dict(zip((0.1, 0.3, 1.0, 5.0), means, strict=True))
    return {"ab22-fig3": {e: regrets(dpb.PrintedAdaPKLUCB(e), m, spread) for e, m in found.items()}}


PRINTED = [
    ("ab22-fig-2", {}, H, {"se": 2.0}, N, {"tree": 6.0}, U, {"ucb": 12.0}, U),
    ("ab22-fig-2", {"se": 7.2, "spread": 0.2}, U),
]
OVER_BUDGETS = [
    ("ab22-fig-3", {"means": (9.0, 2.0, 2.0, 1.9)}, H, {"means": (9.0, 4.0, 2.0, 1.0)}, N),
    ("ab22-fig-3", {"means": (9.0, 2.4, 2.0, 2.0), "spread": 0.2}, U),
]


def test_the_reason_on_figure_3_names_where_it_is_flat():
    reason = judged("ab22-fig-3", budgets((9.0, 4.0, 1.0, 1.001))).finding.reason
    assert "falls 4.0-fold from ε = 0.3 to ε = 5" in reason
    assert "within 1 % from ε = 1 to 5" in reason


def test_the_reason_on_figure_2_has_every_rival():
    reason = judged("ab22-fig-2", printed(se=2.0)).finding.reason
    assert reason.startswith("The order is theirs. But DP-SE as printed, at their β, has 2 times")
    assert "0.6 times (" in reason and "0.3 times (" in reason and "a reading, 9.5 times" in reason
    other = judged("ab22-fig-2", printed(se=0.5)).finding.reason
    assert other.startswith("The order is not theirs.")


# --------------------------------------------------------------------------- all of them

TABLES = {
    elimination: ELIMINATION,
    stopping: STOPPING,
    counters: COUNTERS,
    heavy: HEAVY,
    identification: IDENTIFICATION,
    errors: [("ja25-thm-5", 5, H, 100, F)],
    tails: [("ja25-ties", 0, C, 10, U)],
    printed: PRINTED,
    budgets: OVER_BUDGETS,
}
ROWS = [
    (claim, make, changes, expected)
    for make, table in TABLES.items()
    for claim, *pairs in table
    for changes, expected in zip(pairs[::2], pairs[1::2], strict=True)
]
SPOILT = {row[0] for row in ROWS}


@pytest.mark.parametrize(("claim", "make", "changes", "expected"), ROWS)
def test_verdicts_depend_on_the_runs(claim, make, changes, expected):
    results = make(**changes) if isinstance(changes, dict) else make(changes)
    assert judged(claim, results).verdict == expected


def test_every_claim_on_runs_has_runs_that_turn_it():
    assert {claim.id for claim in ALL.values() if claim.needs} == SPOILT
    for claim in SPOILT:
        assert len({row[3] for row in ROWS if row[0] == claim}) >= 2, claim


def test_claims_on_runs_are_not_judged_without_them():
    with pytest.raises(ValueError, match="judged from runs of its chapter, figures, own"):
        _ = ALL["ja25-above-bound"].verdict
    with pytest.raises(ValueError, match="lack 'own', which the claim ja25-above-bound needs"):
        judged("ja25-above-bound", {"figures": {}})
