"""The ledger's claims of Tossou & Dimitrakakis: computed, and with checks that can fail."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dpbandits import bounds, claims
from dpbandits.claims import (
    td16_actions,
    td16_counters,
    td16_experiments,
    td16_regret,
    td16_steps,
)
from dpbandits.mechanisms import HybridCounter
from dpbandits.privacy import Bracket, accounting
from dpbandits.privacy.accounting import epsilon_at
from dpbandits.regret import DPUCBInt

ALL = claims.ledger(chapter="02")


def verdict_of(claim_id):
    """Run the check of a claim anew."""
    (claim,) = [c for c in ALL if c.id == claim_id]
    return claim.check().verdict


def scaled(function, factor):
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


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

# claim, place whose name is replaced, name, stand-in, verdict that must come out
CONTROLS = [
    ("td16-hybrid", HybridCounter, "part_epsilon", HALF, claims.HOLDS),
    ("td16-hybrid", HybridCounter, "node_scale", scaled(NODE, 0.5), claims.FAILS),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e-15), claims.HOLDS),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e9), claims.FAILS),
    (
        "td16-bound-2.2-used",
        td16_counters,
        "_allowed",
        lambda time, length: 4 * math.sqrt(8) * math.log(time) * math.log2(length),
        claims.HOLDS,
    ),
    ("td16-text-definition", td16_actions, "_repeated", lambda e, n: (e, e), claims.HOLDS),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", HALF, claims.HOLDS),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", DOUBLE, claims.FAILS),
    ("td16-thm-3.1-def-2.1", HybridCounter, "part_epsilon", QUARTER, claims.HOLDS),
    ("td16-lemma-3.1", DPUCBInt, "losses", scaled(LOSSES, 1.01), claims.FAILS),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1.01), claims.FAILS),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1e-4), claims.HOLDS),
    ("td16-thm-3.4-second", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-cor-3.1", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-cor-3.2", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-groups", accounting, "epsilon_at", EPSILON, claims.HOLDS),
    ("td16-groups", HybridCounter, "part_epsilon", DOUBLE, claims.FAILS),
    (
        "td16-cor-3.2-def-2.1",
        td16_steps,
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
        "td16-thm-3.3",
        bounds,
        "dp_ucb_hybrid_regret",
        scaled(bounds.dp_ucb_hybrid_regret, 0.1),
        claims.HOLDS,
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
    (
        "td16-thm-3.5",
        td16_regret,
        "_printed_3_5",
        scaled(td16_regret._printed_3_5, 50),
        claims.CANNOT_TELL,
    ),
]


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "expected"), CONTROLS)
def test_a_wrong_formula_changes_the_verdict(claim, place, name, wrong, expected, monkeypatch):
    assert verdict_of(claim) != expected
    monkeypatch.setattr(place, name, wrong)
    assert verdict_of(claim) == expected


def test_an_interval_of_one_over_epsilon_would_be_additive(monkeypatch):
    for name in ("_least_interval", "_one_release"):
        monkeypatch.setattr(td16_regret, name, lambda epsilon: 1 / epsilon)
    assert verdict_of("td16-additive") == claims.HOLDS


# ------------------------------------------------------------------------- how they compute


def test_element_losses_add_up_over_what_a_counter_draws():
    """Elements 3 and 5 to 7 by hand: one node of scale 1; two, one and one of scale 2."""
    counter = HybridCounter(1.0, "full")
    losses = [td16_counters.element_loss(counter, i, 8) for i in range(1, 9)]
    assert losses == [1.0, 1.0, 2.0, 1.0, 2.0, 1.5, 1.5, 1.0]
    assert td16_counters.element_loss(counter, 3, 3) == 1.0
    assert td16_counters.element_loss(counter, 6, 6) == 0.5


@pytest.mark.statistical
def test_probabilities_of_the_path_are_those_of_plain_draws(rng):
    """Played as in Algorithm 1, the path comes up as often; two comparisons."""
    counter, draws = HybridCounter(1.0, "full"), td16_actions.DRAWS
    found = np.mean(td16_actions._path_probabilities(counter), axis=1)
    for x in (0, 1):
        own, other = (td16_actions._noise(counter, 5, rng) for _ in range(2))
        sums = np.array([0.0, 1.0, 2.0, 2.0 + x, 3.0 + x, 4.0 + x])
        possible = np.ones(draws, dtype=bool)
        pulls = [0, 0]
        for time, action in enumerate(td16_actions.PATH, 1):
            n, m = pulls
            if time > 2:
                first = (sums[n] + own[n]) / n + td16_actions._bonus(1.0, time, n)
                second = other[m] / m + td16_actions._bonus(1.0, time, m)
                possible &= (first >= second) == (action == 1)
            pulls[action - 1] += 1
        limit = stats.norm.isf(1e-7) * np.sqrt(2 * found / draws)  # for both estimates, or more
        assert abs(possible.mean() - found[x]) < limit[x]
        assert abs(possible.mean() - found[1 - x]) > limit[1 - x]


def test_the_reversed_hazard_has_its_closed_form():
    for epsilon in (0.1, 1.0, 3.0):
        expected = epsilon + math.log(2 - math.exp(-epsilon))
        assert td16_actions._hazard_ratio(1 / epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.statistical
def test_the_next_action_against_draws(rng):
    """Few releases, so that draws that fit the past are not rare; two comparisons."""
    wait, f, draws = td16_steps.Wait(3, 1, 0.3), 9, 1_000_000
    found = np.array(td16_steps.next_action(f, 1.0, wait))
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


# ------------------------------------------------------------------------------ from data


@pytest.fixture
def changed(monkeypatch):
    """Let the checks see the data of Figure 2 with the regrets of some settings multiplied."""
    data = td16_experiments.experiments.load("td16-fig2")

    def change(factor_of):
        replicates = tuple(
            dataclasses.replace(g, regret=g.regret * factor_of(g.labels)) for g in data.replicates
        )
        rows = ("mean", "mean_low95", "mean_high95")
        curves = tuple(
            dataclasses.replace(c, **{k: getattr(c, k) * factor_of(c.labels) for k in rows})
            for c in data.summaries
        )
        changed = dataclasses.replace(data, replicates=replicates, summaries=curves)
        monkeypatch.setattr(td16_experiments.experiments, "load", lambda name: changed)

    return change


@pytest.mark.parametrize(
    ("claim", "algorithm", "factor", "expected"),
    [
        ("td16-fig2-best", "DP-UCB-INT", 1e-4, claims.HOLDS),
        ("td16-fig2-best", "DP-UCB-INT", 1e3, claims.FAILS),
        ("td16-fig2-worst", "Private-UCB", 0.1, claims.CONDITION),
        ("td16-fig2-crossing", "DP-UCB-BOUND", 10.0, claims.FAILS),
        ("td16-fig2-crossing", "DP-UCB-BOUND", 0.1, claims.FAILS),
    ],
)
def test_verdicts_depend_on_the_regrets(claim, algorithm, factor, expected, changed):
    changed(lambda labels: factor if labels.algorithm == algorithm else 1.0)
    assert verdict_of(claim) == expected


def test_the_gap_depends_on_the_regrets(changed, monkeypatch):
    changed(lambda labels: 1e-6 if labels.algorithm == "DP-UCB-INT" else 1.0)
    original = td16_experiments.regrets
    monkeypatch.setattr(td16_experiments, "regrets", lambda a, n: 1e-3 * original(a, n))
    assert verdict_of("td16-fig2-gap") == claims.HOLDS
    monkeypatch.setattr(td16_experiments, "_growth", lambda ours, ucb: (1.0, 0.5))
    assert verdict_of("td16-fig2-gap") == claims.FAILS


def test_how_the_gap_grows():
    """Ends of intervals ±1 and ±2 for one algorithm, ±3 and ±4 for the other."""
    times = np.array([10_000, 100_000])

    def curve(mean, half):
        mean, half = np.array(mean), np.array(half)
        return SimpleNamespace(
            times=times, mean=mean, mean_low95=mean - half, mean_high95=mean + half
        )

    growth, off = td16_experiments._growth(
        curve([10.0, 50.0], [1.0, 2.0]), curve([5.0, 15.0], [3.0, 4.0])
    )
    assert (growth, off) == (30.0, math.hypot(3, 7))


def test_the_spread_depends_on_the_regrets(changed):
    changed(lambda labels: 100.0 if labels.algorithm == "Private-UCB" else 0.01)
    assert verdict_of("td16-fig2-spread") == claims.HOLDS
