"""The ledger's claims of Tao, Wu, Zhao & Wang: computed, and with checks that can fail."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from companion import claims
from companion.claims import (
    twzw22_central,
    twzw22_experiments,
    twzw22_rates,
)
from companion.claims.twzw22_experiments import Setting
from dpbandits import bounds, robust_means
from dpbandits.heavy_schedules import heavy_epoch
from dpbandits.mechanisms import AdaptiveTree
from dpbandits.simulation import Runs

ALL = claims.ledger(chapter="04")


def verdict_of(claim_id):
    """Run the check of a claim anew."""
    (claim,) = [c for c in ALL if c.id == claim_id]
    return claim.check().verdict


def scaled(function, factor):
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


def less_noise(*args, **kwargs):
    """Return `heavy_epoch` with a tenth less noise."""
    plan = heavy_epoch(*args, **kwargs)
    return dataclasses.replace(plan, noise_scale=0.9 * plan.noise_scale)


def wider(*args, **kwargs):
    """Return `central_width` with a factor that is half as large again."""
    err, factor = WIDTH(*args, **kwargs)
    return err, 1.5 * factor


def as_trusted(gap, epsilon, moment, order, model="global"):
    """Return what a pull reveals as if the curator saw it."""
    return DIVERGENCE(gap, epsilon, moment, order, "global")


def as_bounded(gap, epsilon, moment, order, model="global"):
    """Return what a pull reveals of bounded rewards: total variation Δ."""
    return math.expm1(epsilon) ** 2 * gap**2


def non_private_power(horizon, n_arms, epsilon, moment, order, model="global"):
    return horizon ** (1 / (1 + order))


def root(gaps, horizon, **_):
    return math.sqrt(horizon)


NODE = AdaptiveTree.node_scale
WIDTH = robust_means.central_width
DIVERGENCE = bounds.heavy_divergence
MINIMAX = bounds.heavy_minimax_lower_bound

# claim, place whose name is replaced, name, stand-in, verdict that must come out
CONTROLS = [
    ("twzw22-lemma-2-private", AdaptiveTree, "node_scale", scaled(NODE, 0.9), claims.FAILS),
    (
        "twzw22-lemma-2-noise",
        twzw22_central,
        "_noise_order",
        lambda log_length, beta: log_length * math.log(1 / beta),
        claims.FAILS,
    ),
    (
        "twzw22-lemma-2-noise",
        twzw22_central,
        "_noise_order",
        lambda log_length, beta: log_length**1.5 * math.sqrt(math.log(1 / beta) / log_length),
        claims.FAILS,
    ),
    ("twzw22-algorithm-2", AdaptiveTree, "node_scale", scaled(NODE, 1.1), claims.FAILS),
    ("twzw22-thm-1", AdaptiveTree, "node_scale", scaled(NODE, 0.5), claims.FAILS),
    (
        "twzw22-lemma-3",
        twzw22_central,
        "_bonus_order",
        lambda log_term, order: log_term,
        claims.HOLDS,
    ),
    (
        "twzw22-lemma-3",
        AdaptiveTree,
        "error_factor",
        lambda tree, log_term: log_term**3,
        claims.FAILS,
    ),
    ("twzw22-thm-2", bounds, "dprucb_pulls", lambda gap, t, *_: math.log(t) ** 2, claims.HOLDS),
    ("twzw22-thm-2", bounds, "dprucb_pulls", lambda gap, t, *_: math.log(t) ** 4, claims.FAILS),
    ("twzw22-thm-3", twzw22_central, "heavy_epoch", less_noise, claims.FAILS),
    ("twzw22-lemma-4", robust_means, "central_width", wider, claims.FAILS),
    ("twzw22-lemma-4", bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-4, claims.FAILS),
    ("twzw22-lemma-10", twzw22_rates, "_raw_over_central", lambda *_: 1.5, claims.HOLDS),
    (
        "twzw22-lemma-10",
        twzw22_rates,
        "_central",
        scaled(twzw22_rates._central, 5.0),
        claims.FAILS,
    ),
    ("twzw22-thm-4", bounds, "heavy_elimination_regret", root, claims.FAILS),
    (
        "twzw22-thm-4-minimax",
        bounds,
        "heavy_elimination_pulls",
        lambda gap, *_: gap**-4,
        claims.FAILS,
    ),
    ("twzw22-thm-5", bounds, "heavy_divergence", scaled(DIVERGENCE, 0.9), claims.FAILS),
    ("twzw22-thm-5", bounds, "heavy_divergence", scaled(DIVERGENCE, 100.0), claims.FAILS),
    ("twzw22-optimal", bounds, "heavy_divergence", scaled(DIVERGENCE, 1e-6), claims.FAILS),
    ("twzw22-optimal", bounds, "heavy_elimination_regret", root, claims.FAILS),
    ("twzw22-remark-2", bounds, "heavy_divergence", lambda gap, *_: gap, claims.FAILS),
    ("twzw22-local-ucb", twzw22_rates, "_index_width", lambda *_: 1.0, claims.FAILS),
    (
        "twzw22-local-ucb",
        twzw22_rates,
        "_index_width",
        scaled(twzw22_rates._index_width, 10.0),
        claims.HOLDS,
    ),
    ("twzw22-thm-6", twzw22_rates, "heavy_epoch", less_noise, claims.FAILS),
    (
        "twzw22-lemma-13",
        twzw22_rates,
        "share_dropped",
        lambda schedule, order: (10, 400),
        claims.CANNOT_TELL,
    ),
    ("twzw22-thm-7", bounds, "heavy_divergence", as_bounded, claims.CANNOT_TELL),
    (
        "twzw22-thm-7-minimax",
        bounds,
        "heavy_minimax_lower_bound",
        non_private_power,
        claims.CANNOT_TELL,
    ),
    ("twzw22-thm-8", bounds, "heavy_divergence", scaled(DIVERGENCE, 1e4), claims.FAILS),
    ("twzw22-thm-8", bounds, "heavy_divergence", lambda gap, *_: 1.0, claims.FAILS),
    ("twzw22-remark-3", bounds, "heavy_divergence", as_trusted, claims.CANNOT_TELL),
    (
        "twzw22-thm-9",
        bounds,
        "heavy_minimax_lower_bound",
        lambda horizon, *_: horizon**0.4,
        claims.FAILS,
    ),
    ("twzw22-remark-4", bounds, "heavy_minimax_lower_bound", non_private_power, claims.FAILS),
    ("twzw22-optimal-local", bounds, "heavy_elimination_regret", root, claims.FAILS),
    ("twzw22-setting-3", bounds, "heavy_elimination_regret", root, claims.FAILS),
    (
        "twzw22-optimal-local",
        bounds,
        "heavy_elimination_pulls",
        lambda gap, *_: gap**-8,
        claims.FAILS,
    ),
]


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "expected"), CONTROLS)
def test_a_wrong_formula_changes_the_verdict(claim, place, name, wrong, expected, monkeypatch):
    assert verdict_of(claim) != expected
    places = (bounds, bounds.twzw22) if place is bounds else (place,)
    for module in places:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, wrong)
    assert verdict_of(claim) == expected


def test_what_is_ours_in_a_statement_is_marked():
    """Formulas are lost in our copy: a statement with one in it must say that it is ours."""
    for claim in ALL:
        formula = any(sign in claim.statement for sign in "·^Δ√Σ")
        assert not formula or claim.statement.startswith("(reconstructed) ")


# ------------------------------------------------------------------------- how they compute


def test_losses_of_a_tree_of_four():
    """Blocks [1], [1, 2], [3], [1, 4], of scales 1, 2, 4 and 8; bounds 1, 1, 2, 3."""
    losses = twzw22_central.element_losses(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 4, 8]))
    assert losses.tolist() == [2 + 1 + 0.25, 1 + 0.25, 1 + 0.5, 0.75]


@pytest.mark.statistical
def test_the_failure_of_a_width_against_draws(rng):
    """Seven standard deviations of both directions, of which the greater one is returned."""
    n, order, epsilon, log_term, draws, high = 400, 0.5, 1.0, 2.0, 1_000_000, 5.0
    exact = twzw22_central.two_point_failure(high, 0.5, n, order, epsilon, log_term)
    bound = robust_means.central_threshold(n, 1.0, order, epsilon, log_term)
    err, _ = robust_means.central_width(n, 1.0, order, epsilon, log_term)
    p = high ** -(1 + order)
    means = rng.binomial(n, p, draws) * high / n + rng.laplace(0, 2 * bound / n / epsilon, draws)
    errors = (means - p * high) / err
    seen = max(np.mean(errors > 0.5), np.mean(errors < -0.5))
    assert high < bound
    assert abs(seen - 1.5 * math.exp(-log_term) * exact) < 7 * math.sqrt(0.25 / draws)


def test_a_reward_beyond_the_threshold_is_all_bias():
    """At h = 1000 > B = 200^(2/3) the mean is noise of scale 2B/n, and errs by p·h = h^(−1/2)."""
    value = twzw22_central.two_point_failure(1e3, 1e-12, 400, 0.5, 1.0, 2.0)
    below = 1 - 0.5 * math.exp(-(1e3**-0.5) / (2 * 200 ** (2 / 3) / 400))
    assert value == pytest.approx(below / (1.5 * math.exp(-2.0)), rel=1e-9)


def test_the_coupling_is_exact_for_one_reward():
    """m = 1 and a threshold far below: P2/P1 = 1 − p + p·e^(−ε)."""
    assert twzw22_rates._coupling() == pytest.approx(1.0, abs=1e-9)


def test_central_and_raw_moments_of_a_coin():
    """X = 1 or −1 with probability 1/2 has mean 0: equal moments; with 3/4, by hand."""
    assert twzw22_rates._central(1.0, 0.5, 0.5) == pytest.approx(1.0)
    by_hand = 0.75 * 0.5**1.5 + 0.25 * 1.5**1.5
    assert twzw22_rates._central(1.0, 0.75, 0.5) == pytest.approx(by_hand)


def test_the_worst_gap_where_pulls_are_a_power(monkeypatch):
    """N(τ) = 4^τ, T = 64: 64 pulls of an arm of gap 2^(1−3), or at τ = 4 of one of 2^(1−4)."""
    monkeypatch.setattr(bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-2)
    assert twzw22_rates.worst_regret(64.0, 1.0) == max(2.0**-2 * 64, 2.0**-3 * 64)


def test_the_width_of_one_reward_is_that_of_an_epoch_of_one():
    """Up to how the two parts of the deviation are bounded together, which is the same way."""
    for order, epsilon in itertools.product((0.5, 1.0), (0.1, 1.0)):
        assert twzw22_rates._index_width(1, order, epsilon, 2.0, 1) == pytest.approx(1.0)


# ------------------------------------------------------------------------------ from runs

FROM_RUNS = [claim for claim in ALL if twzw22_experiments.FIGURES in claim.needs]
SHORT, LONG, LATE = 10**7, 10**10, 10**17


def made_up(regret, spread=0.001):
    """Return runs of the figures in which a setting's mean regret at t is regret(setting)·t."""
    places = [
        ("twzw22-fig2", panel, "S3", e, "LDPRSE", schedule, LATE * (10 if panel == "b" else 1))
        for panel in "ab"
        for e in (0.5, 1.0)
        for schedule in ("minimax", "non-negative")
    ] + [
        (figure, panel, name, e, algorithm, variant, SHORT if panel in "ab" else LONG)
        for figure, name in (("twzw22-fig1", "S1"), ("twzw22-fig3", "S2"), ("twzw22-fig4", "S3"))
        for panel in "abcd"
        for e in (0.5, 1.0)
        for algorithm, variant in (("DPRSE", "printed"), ("DPRUCB", ""), ("RobustUCB", ""))
        if panel in "ab" or algorithm == "DPRSE"
    ]
    found = {}
    for figure, panel, name, epsilon, algorithm, variant, horizon in places:
        order = 0.9 if panel in "ac" else 0.5
        key = Setting(figure, panel, name, order, epsilon, algorithm, variant)
        times = np.geomspace(10, horizon, 80).astype(np.int64)
        times[-1] = horizon
        rows = regret(key) * times * (1 + spread * np.array([[1.0], [-1.0]] * 10))
        found[key] = Runs(None, None, horizon, times, rows, None, ())
    return found


def as_published(s):
    factor = {"DPRSE": 1.0, "DPRUCB": 2.0, "LDPRSE": 3.0, "RobustUCB": 0.1}[s.algorithm]
    return factor / s.epsilon / s.order


FIGURES = [
    ("twzw22-fig-dprse", as_published, claims.HOLDS),
    ("twzw22-fig-epsilon", as_published, claims.HOLDS),
    ("twzw22-fig-v", as_published, claims.HOLDS),
    ("twzw22-fig-local", as_published, claims.HOLDS),
    ("twzw22-support", as_published, claims.HOLDS),
    ("twzw22-fig-dprse", lambda s: 1.0 if s.algorithm == "DPRUCB" else 1.1, claims.FAILS),
    (
        "twzw22-fig-dprse",
        lambda s: 1.0 if s.algorithm == "DPRUCB" else s.order + 0.2,
        claims.CONDITION,
    ),
    ("twzw22-fig-epsilon", lambda s: s.epsilon, claims.FAILS),
    ("twzw22-fig-epsilon", lambda s: 1.0, claims.CANNOT_TELL),
    ("twzw22-fig-epsilon", lambda s: s.order / s.epsilon ** (s.order > 0.7), claims.CONDITION),
    ("twzw22-fig-v", lambda s: s.order, claims.FAILS),
    ("twzw22-fig-v", lambda s: s.epsilon - s.order * (s.epsilon > 0.7), claims.CONDITION),
    ("twzw22-fig-local", lambda s: 1.0 if s.algorithm == "LDPRSE" else 1.1, claims.FAILS),
    ("twzw22-support", lambda s: s.epsilon / as_published(s), claims.FAILS),
    (
        "twzw22-support",
        lambda s: as_published(s) * (2.5 if s.algorithm == "DPRSE" else 1.0),
        claims.CONDITION,
    ),
]


def judged(claim_id, runs):
    """Return what the check of a claim finds from runs."""
    (claim,) = [c for c in FROM_RUNS if c.id == claim_id]
    return claim.given({twzw22_experiments.FIGURES: runs}).finding


@pytest.mark.parametrize(("claim", "regret", "expected"), FIGURES)
def test_verdicts_of_the_figures_depend_on_the_regrets(claim, regret, expected):
    assert judged(claim, made_up(regret)).verdict == expected


def test_a_wide_spread_decides_nothing():
    runs = made_up(as_published, 0.9)
    for claim in FROM_RUNS:
        finding = judged(claim.id, runs)
        assert finding.evidence["surely agree"] == 0
        if claim.id != "twzw22-support":
            assert finding.verdict == claims.CANNOT_TELL
            assert finding.evidence["comparisons"] >= 4


def test_how_many_comparisons_the_figures_have():
    """Per figure: 2 orders × 2 budgets, and the pairs of budgets and of orders for each curve."""
    runs = made_up(as_published)
    counts = [judged(c.id, runs).evidence.get("comparisons") for c in FROM_RUNS]
    assert counts == [3 * 4, 3 * (4 + 2) + 4, 3 * (4 + 2) + 4, 4 * 2, None]
    assert judged("twzw22-support", runs).evidence["surely agree"] == sum(counts[:-1])
