"""The ledger's claims of Tossou & Dimitrakakis: computed, and with checks that can fail."""

import math

import numpy as np
import pytest
from scipy import stats

from companion import claims
from companion.claims import (
    td16_privacy,
    td16_regret,
)
from dpbandits import bounds
from dpbandits import privacy as accounting
from dpbandits.mechanisms import HybridCounter
from dpbandits.privacy import Bracket, epsilon_at
from dpbandits.regret import UCB, DPUCBBound, DPUCBHybrid, DPUCBInt
from dpbandits.rewards.instances import td16
from dpbandits.simulation import Runs

ALL = claims.ledger(chapter="02")


def claim_of(claim_id):
    (claim,) = [c for c in ALL if c.id == claim_id]
    return claim


def verdict_of(claim_id):
    """Run the check of a claim anew."""
    return claim_of(claim_id).check().verdict


def scaled(function, factor):
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


def steps_that_lose(*args, **kwargs):
    return 0.01, 0.9


def shrunk(epsilon_at):
    """Return `epsilon_at` with its answers divided by a thousand."""

    def changed(*args, **kwargs):
        low, high = epsilon_at(*args, **kwargs)
        return Bracket(low / 1000, high / 1000)

    return changed


HALF = property(lambda counter: counter.epsilon / 2)
QUARTER = property(lambda counter: counter.epsilon / 4)
DOUBLE = property(lambda counter: 2 * counter.epsilon)
NODE = HybridCounter.node_scale
ERROR = HybridCounter.error_probability
LOSSES = DPUCBInt.losses
EPSILON = shrunk(epsilon_at)
SCALES = td16_privacy._scales_used
ELEMENT = td16_privacy.element_loss

# claim, place whose name is replaced, name, stand-in, verdict that must come out
CONTROLS = [
    ("td16-hybrid", HybridCounter, "part_epsilon", HALF, claims.HOLDS),
    ("td16-hybrid", HybridCounter, "node_scale", scaled(NODE, 0.5), claims.FAILS),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e-15), claims.HOLDS),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e9), claims.FAILS),
    (
        "td16-bound-2.2-used",
        td16_privacy,
        "_allowed",
        lambda time, length: 4 * math.sqrt(8) * math.log(time) * math.log2(length),
        claims.HOLDS,
    ),
    ("td16-text-definition", td16_privacy, "_repeated", lambda e, n: (e, e), claims.HOLDS),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", HALF, claims.HOLDS),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", DOUBLE, claims.FAILS),
    ("td16-thm-3.1", td16_privacy, "_mean_above", lambda x, span: -1.0, claims.CANNOT_TELL),
    ("td16-thm-3.1-def-2.1", HybridCounter, "part_epsilon", QUARTER, claims.HOLDS),
    ("td16-lemma-3.1", DPUCBInt, "losses", scaled(LOSSES, 1.01), claims.FAILS),
    ("td16-lemma-3.1", td16_privacy, "_scales_used", scaled(SCALES, 0.99), claims.FAILS),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1.01), claims.FAILS),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1e-4), claims.HOLDS),
    ("td16-thm-3.4-second", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-cor-3.1", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-cor-3.2", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-groups", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-groups", HybridCounter, "part_epsilon", DOUBLE, claims.FAILS),
    ("td16-groups", td16_privacy, "element_loss", scaled(ELEMENT, 1.01), claims.FAILS),
    *(
        (claim, td16_privacy, "_parts", lambda losses: (losses, losses[:1]), claims.CANNOT_TELL)
        for claim in ("td16-thm-3.4-second", "td16-cor-3.1", "td16-cor-3.2", "td16-groups")
    ),
    (
        "td16-cor-3.2-def-2.1",
        td16_privacy,
        "next_action",
        lambda *args, **kwargs: (0.01, 0.01107),
        claims.CANNOT_TELL,
    ),
    ("td16-unbounded", HybridCounter, "node_scale", scaled(NODE, 0.5), claims.FAILS),
    (
        "td16-thm-3.2",
        td16_regret,
        "_printed_3_2",
        scaled(td16_regret._printed_3_2, 1e6),
        claims.CANNOT_TELL,
    ),
    (
        "td16-thm-3.3",
        td16_regret,
        "_printed_3_3",
        scaled(td16_regret._printed_3_3, 0.01),
        claims.FAILS,
    ),
    (
        "td16-thm-3.3-order",
        bounds,
        "dp_ucb_hybrid_regret",
        lambda gaps, time, block_scale: math.log(time) ** 3,
        claims.FAILS,
    ),
    (
        "td16-thm-3.3-order",
        bounds,
        "dp_ucb_hybrid_regret",
        lambda gaps, time, block_scale: math.log(time),
        claims.HOLDS,
    ),
]


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "expected"), CONTROLS)
def test_a_wrong_formula_changes_the_verdict(claim, place, name, wrong, expected, monkeypatch):
    assert claim_of(claim).verdict != expected
    monkeypatch.setattr(place, name, wrong)
    assert verdict_of(claim) == expected


def test_an_interval_of_one_over_epsilon_would_be_additive(monkeypatch):
    for name in ("_least_interval", "_one_release"):
        monkeypatch.setattr(td16_regret, name, lambda epsilon: 1 / epsilon)
    assert verdict_of("td16-additive") == claims.HOLDS


def test_both_intervals_must_grow_faster_than_one_over_epsilon(monkeypatch):
    assert claim_of("td16-additive").verdict == claims.FAILS
    monkeypatch.setattr(td16_regret, "_one_release", lambda epsilon: 1 / epsilon)
    assert verdict_of("td16-additive") == claims.HOLDS


def test_what_reasons_say_beyond_the_verdict_is_computed(monkeypatch):
    """Each of these sentences goes, or turns round, with the number that it rests on."""
    for claim, place, name, wrong, gone in (
        ("td16-thm-3.1-def-2.1", td16_privacy, "_hazard_ratio", lambda b: 1 / b, "looked at twice"),
        ("td16-text-definition", td16_privacy, "_two_steps", lambda e, f: (e, e), "two thresholds"),
        ("td16-cor-3.2-def-2.1", td16_privacy, "next_action", steps_that_lose, "does not suffice"),
        ("td16-cor-3.1", td16_privacy, "_first_branch", lambda *a: 1e9, "are right"),
        ("td16-bound-2.2", td16_privacy, "_failure", lambda *a: 0.5, "it fails there, too"),
        ("td16-bound-2.2-used", HybridCounter, "error_probability", lambda *a: 1.0, "n' it holds"),
        ("td16-thm-3.2", bounds, "dp_ucb_bound_regret", lambda g, t, **_: t, "no faster than"),
    ):
        assert gone in claim_of(claim).finding.reason, claim
        with monkeypatch.context() as patch:
            patch.setattr(place, name, wrong)
            assert gone not in claim_of(claim).check().reason, claim


# ------------------------------------------------------------------------- how they compute


def test_element_losses_add_up_over_what_a_counter_draws():
    """Elements 3 and 5 to 7 by hand: one node of scale 1; two, one and one of scale 2."""
    counter = HybridCounter(1.0, "full")
    losses = [td16_privacy.element_loss(counter, i, 8) for i in range(1, 9)]
    assert losses == [1.0, 1.0, 2.0, 1.0, 2.0, 1.5, 1.5, 1.0]
    assert td16_privacy.element_loss(counter, 3, 3) == 1.0
    assert td16_privacy.element_loss(counter, 6, 6) == 0.5


@pytest.mark.statistical
def test_probabilities_of_the_path_are_those_of_plain_draws(rng):
    """Played as in Algorithm 1, the path comes up as often; two comparisons."""
    counter, draws = HybridCounter(1.0, "full"), td16_privacy.DRAWS
    found = np.mean(td16_privacy._path_probabilities(counter), axis=1)
    for x in (0, 1):
        own, other = (td16_privacy._noise(counter, 5, rng) for _ in range(2))
        sums = np.array([0.0, 1.0, 2.0, 2.0 + x, 3.0 + x, 4.0 + x])
        possible = np.ones(draws, dtype=bool)
        pulls = [0, 0]
        for time, action in enumerate(td16_privacy.PATH, 1):
            n, m = pulls
            if time > 2:
                first = (sums[n] + own[n]) / n + td16_privacy._bonus(1.0, time, n)
                second = other[m] / m + td16_privacy._bonus(1.0, time, m)
                possible &= (first >= second) == (action == 1)
            pulls[action - 1] += 1
        limit = stats.norm.isf(1e-7) * np.sqrt(2 * found / draws)  # for both estimates, or more
        assert abs(possible.mean() - found[x]) < limit[x]
        assert abs(possible.mean() - found[1 - x]) > limit[1 - x]


def test_the_reversed_hazard_has_its_closed_form():
    for epsilon in (0.1, 1.0, 3.0):
        expected = epsilon + math.log(2 - math.exp(-epsilon))
        assert td16_privacy._hazard_ratio(1 / epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.statistical
def test_the_next_action_against_draws(rng):
    """Few releases, so that draws that fit the past are not rare; two comparisons."""
    wait, f, draws = td16_privacy.Wait(3, 1, 0.3), 9, 1_000_000
    found = np.array(td16_privacy.next_action(f, 1.0, wait))
    for x in (0, 1):
        value = (0.3 * (f - 1) + x) / f + rng.laplace(0, f**-0.45, draws)
        fits = np.ones(draws, dtype=bool)
        for j in (1, 2):
            other = 1.0 + rng.laplace(0, (j * f) ** -0.45, draws)
            for time in range((j + 1) * f + 1, (j + 2) * f + 1):
                root = math.sqrt(2 * math.log(time))
                fits &= value + root / math.sqrt(f) < other + root / math.sqrt(j * f)
        root = math.sqrt(2 * math.log(4 * f + 1))
        last = 2 / 3 + rng.laplace(0, (3 * f) ** -0.45, draws)
        won = value + root / math.sqrt(f) >= last + root / math.sqrt(3 * f)
        share = won[fits].mean()
        limit = stats.norm.isf(1e-7) * np.sqrt(found * (1 - found) / fits.sum())
        assert abs(share - found[x]) < limit[x]
        assert abs(share - found[1 - x]) > limit[1 - x]


@pytest.mark.statistical
def test_the_sure_mean_is_below_the_mean(rng):
    """Rare large values, as of runs that lose the best arm."""
    sample = np.where(rng.random(1500) < 0.03, 30_000.0, rng.uniform(0, 200, 1500))
    assert 100 < td16_regret.surely_mean(sample, 30_000.0) < 0.03 * 30_000 + 0.97 * 100
    assert 29_000 < td16_regret.surely_mean(np.full(1500, 30_000.0), 30_000.0) < 30_000


def test_an_arm_without_noise_never_falls_below_zero():
    assert td16_regret._falls_below_zero(20, 1e-9) < 1e-12
    assert 0.001 < td16_regret._falls_below_zero(20, 1e6) < 0.02


# ------------------------------------------------------------------------------ from runs

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
FIGURE = {
    (panel, *name): (levels["abcd".index(panel)], power)
    for panel in PANELS
    for name, (levels, power) in READINGS.items()
}


def made_up(algorithm, arms, level, power=0.5, finals=None, n_runs=100):
    """Runs whose regrets at T are within a tenth of a level, or as given."""
    finals = level * np.linspace(0.9, 1.1, n_runs) if finals is None else np.asarray(finals)
    times = np.array([T // 100, T // 10, T])
    regret = finals[:, None] * (times / T) ** power
    instance = td16(arms)
    pulls = np.zeros((finals.size, instance.n_arms), dtype=np.int64)
    return Runs(algorithm, instance, T, times, regret, pulls, ())


def figure_2(factor_of=lambda key: 1.0, powers=None, finals=None):
    """Runs like those of Figure 2, some multiplied, with another growth, or of other regrets."""
    makers = {"DP-UCB-HYBRID": DPUCBHybrid, "DP-UCB-BOUND": DPUCBBound}
    runs = {}
    for key, (level, power) in FIGURE.items():
        arms, epsilon = PANELS[key[0]]
        if key[1] == "DP-UCB-INT":
            algorithm = DPUCBInt(DPUCBInt.target_input(epsilon), key[2])
        else:
            algorithm = makers.get(key[1], lambda epsilon: UCB())(epsilon)
        power = (powers or {}).get(key[1], power)
        sample = (finals or {}).get(key)
        runs[key] = made_up(algorithm, arms, factor_of(key) * level, power, sample)
    return runs


def lost_runs(share=0.04, usual=60.0):
    """Many runs of DP-UCB-INT, a share of which loses the best arm."""

    def regrets(n_runs, share):
        n_lost = round(share * n_runs)
        return np.append(np.full(n_lost, 29_000.0), usual * np.linspace(0.9, 1.1, n_runs - n_lost))

    shares = {
        ("frozen", 1.1): share,
        ("refreshed", 1.1): 0.35 * share,
        ("refreshed", 1.5): 5 * share,
    }
    return {
        (reading, v): made_up(UCB(), "two", 0.0, 1.0, regrets(1500, each))
        for (reading, v), each in shares.items()
    }


def judged(claim_id, figure=None, lost=None):
    """Judge a claim from results."""
    results = {"td16-fig2": figure or figure_2(), "td16-lost": lost or lost_runs()}
    return claim_of(claim_id).given(results)


def times(factor, algorithm):
    return lambda key: factor if key[1] == algorithm else 1.0


@pytest.mark.parametrize(
    ("claim", "found", "factor_of", "spoilt"),
    [
        ("td16-fig2-best", claims.CONDITION, times(1e-4, "DP-UCB-INT"), claims.HOLDS),
        ("td16-fig2-best", claims.CONDITION, times(1e3, "DP-UCB-INT"), claims.FAILS),
        ("td16-fig2-worst", claims.HOLDS, times(0.5, "Private-UCB"), claims.CONDITION),
        ("td16-fig2-worst", claims.HOLDS, times(0.1, "Private-UCB"), claims.FAILS),
        ("td16-fig2-crossing", claims.CONDITION, times(10.0, "DP-UCB-BOUND"), claims.FAILS),
        ("td16-fig2-crossing", claims.CONDITION, times(0.1, "DP-UCB-BOUND"), claims.FAILS),
        ("td16-validate", claims.CONDITION, lambda key: 100.0, claims.FAILS),
        ("td16-validate", claims.CONDITION, lambda key: 1e-3, claims.HOLDS),
        (
            "td16-proportional",
            claims.CONDITION,
            lambda key: 2.5 if key[0] in "bd" else 1.0,
            claims.HOLDS,
        ),
        (
            "td16-proportional",
            claims.CONDITION,
            lambda key: 0.1 if key[0] in "bd" else 1.0,
            claims.FAILS,
        ),
    ],
)
def test_verdicts_depend_on_the_regrets(claim, found, factor_of, spoilt):
    assert judged(claim).verdict == found
    assert judged(claim, figure_2(factor_of)).verdict == spoilt


def test_a_claim_about_runs_is_not_judged_without_them():
    with pytest.raises(ValueError, match="td16-fig2"):
        _ = claim_of("td16-fig2-best").verdict
    with pytest.raises(ValueError, match="'td16-lost'"):
        claim_of("td16-fig2-gap").given({"td16-fig2": figure_2()})


def test_the_gap_depends_on_the_regrets():
    assert judged("td16-fig2-gap").verdict == claims.CONDITION
    small = figure_2(times(1e-6, "DP-UCB-INT"))
    assert judged("td16-fig2-gap", small, lost_runs(0.0, 10.0)).verdict == claims.HOLDS
    assert judged("td16-fig2-gap", small, lost_runs(0.04, 10.0)).verdict == claims.CONDITION
    linear = figure_2(times(10.0, "DP-UCB-INT"), powers={"DP-UCB-INT": 1.0})
    assert judged("td16-fig2-gap", linear).verdict == claims.FAILS


@pytest.mark.parametrize(
    ("bound", "both"),
    [
        ((150.0, 0.1), True),  # early worse, at T better
        ((50.0, 0.1), False),  # it leads first
        ((150.0, 0.9), False),  # and not at T
    ],
)
def test_what_counts_as_a_crossing(bound, both):
    """Regret at T/100 and the power of time; that of DP-UCB-HYBRID is 100 at first, 1000 at T."""
    early, power = bound
    figure = figure_2()
    for key in figure:
        if key[1] in ("DP-UCB-HYBRID", "DP-UCB-BOUND"):
            first, grows = (100.0, 0.5) if key[1] == "DP-UCB-HYBRID" else (early, power)
            figure[key] = made_up(UCB(), PANELS[key[0]][0], first * 100**grows, grows)
    expected = claims.HOLDS if both else claims.FAILS
    assert judged("td16-fig2-crossing", figure).verdict == expected


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
    ours = made_up(UCB(), "two", 100.0, 1.0, n_runs=5)
    ucb = made_up(UCB(), "two", 50.0, 0.0, n_runs=5)
    growth, off = td16_regret._growth(ours, ucb)
    error = 100 * np.linspace(0.9, 1.1, 5).std(ddof=1) / math.sqrt(5)
    assert growth == pytest.approx(90.0)
    assert off == pytest.approx(2.776 * math.hypot(1.1 * error, error), rel=1e-3)


def test_the_spread_depends_on_the_regrets():
    lost = {("a", "DP-UCB-INT", "frozen"): np.append(np.full(99, 60.0), 29_990.0)}
    claim = judged("td16-fig2-spread", figure_2(finals=lost))
    assert claim.verdict == claims.FAILS
    assert "are of DP-UCB-INT in panel a" in claim.finding.reason
    wide = {
        (panel, "Private-UCB", variant): np.linspace(0, 30_000, 100)
        for panel in "ab"
        for variant in ("ε/K", "ε per arm")
    }
    narrow = figure_2(lambda key: 0.01, finals=wide)
    assert judged("td16-fig2-spread", narrow).verdict == claims.HOLDS
    assert "no run is near" in judged("td16-fig2-spread", figure_2(lambda key: 0.01)).finding.reason


def test_theorem_3_5_depends_on_the_lost_runs():
    claim = judged("td16-thm-3.5", lost=lost_runs())
    assert claim.verdict == claims.FAILS
    assert "but not surely so" in claim.finding.reason
    assert judged("td16-thm-3.5", lost=lost_runs(0.0)).verdict == claims.CANNOT_TELL
    more = judged("td16-thm-3.5", lost=lost_runs(0.1))  # of refreshed values, too
    assert "but not surely so" not in more.finding.reason
