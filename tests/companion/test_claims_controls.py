"""Every claim has a false variant, which its check does not take for the claim."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import test_claims
import test_claims_ja25
import test_claims_stopping
import test_claims_td16
import test_claims_twzw22

import dpbandits as dpb
from companion import claims
from companion.claims import (
    ja25_design,
    ss19_elimination,
    ss19_experiments,
    ss19_steps,
    ss19_stopping,
    td16_noise,
    twzw22_comparisons,
)
from dpbandits import bounds, robust_means
from dpbandits.bounds import regret as regret_bounds
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification import DPTT, AdaPTT
from dpbandits.mechanisms import BinaryTree, HybridCounter
from dpbandits.regret import DPRSE, DPUCB, UCB
from dpbandits.schedules import elimination_epoch

ALL = {claim.id: claim for claim in claims.ledger()}
H, C, F, U = claims.HOLDS, claims.CONDITION, claims.FAILS, claims.CANNOT_TELL

# claims whose false variants are in tests of their own, and these tests
ELSEWHERE = {
    "ss19-tree-variance": test_claims.test_a_wrong_tree_changes_the_verdict,
    "ss19-tree-union": test_claims.test_a_wrong_tree_changes_the_verdict,
    "ss19-guess-and-double": test_claims.test_other_guesses_change_the_verdict,
    "ss19-five-times": test_claims.test_five_times_depends_on_the_regrets,
    "ss19-shapes": test_claims.test_shapes_depend_on_the_curves,
    "td16-additive": test_claims_td16.test_an_interval_of_one_over_epsilon_would_be_additive,
    "td16-fig2-best": test_claims_td16.test_verdicts_depend_on_the_regrets,
    "td16-fig2-worst": test_claims_td16.test_verdicts_depend_on_the_regrets,
    "td16-fig2-crossing": test_claims_td16.test_verdicts_depend_on_the_regrets,
    "td16-fig2-gap": test_claims_td16.test_the_gap_depends_on_the_regrets,
    "td16-fig2-spread": test_claims_td16.test_the_spread_depends_on_the_regrets,
    "td16-thm-3.5": test_claims_td16.test_theorem_3_5_depends_on_the_lost_runs,
    "td16-validate": test_claims_td16.test_verdicts_depend_on_the_regrets,
    "td16-proportional": test_claims_td16.test_verdicts_depend_on_the_regrets,
    "ss19-halting-monotone": (
        test_claims_stopping.test_a_rule_that_halts_later_for_greater_means_changes_the_verdict
    ),
    "ss19-bernstein": test_claims_stopping.test_more_samples_of_ebgstop_change_the_verdict,
    "ja25-thm-5": test_claims_ja25.test_more_errors_change_the_verdict,
    "ja25-ties": test_claims_ja25.test_runs_that_stop_change_the_verdict,
}


def scaled(function, factor):
    return lambda *args, **kwargs: factor * function(*args, **kwargs)


def wide_epoch(*args, **kwargs):
    """Return an epoch whose widths are half as large again."""
    plan = elimination_epoch(*args, **kwargs)
    return dataclasses.replace(
        plan, sampling_width=1.5 * plan.sampling_width, privacy_width=1.5 * plan.privacy_width
    )


class Greedy(ja25_design._Led):
    """DP-TT that plays the leader in nine of ten rounds."""

    def __init__(self, epsilon, delta):
        super().__init__(epsilon, delta, leader_share=0.9)


def of_one_instance(name, n_arms=5):
    return dpb.instances.ss19("C1", n_arms)


def steep(gaps, horizon, **_):
    """Return a bound that grows like T^(1/2)."""
    return math.sqrt(horizon)


def linear(*args, **kwargs):
    """Return a kl that is concave in its first argument."""
    return np.sqrt(args[0])


OTHER_MEANS = {**twzw22_comparisons.PRINTED, "S1": (0.9, 0.8, 0.5, 0.3, 0.1)}

# claim, place whose name is replaced, name, stand-in, verdict that must come out
CONTROLS = [
    ("ss19-nas-samples", ss19_stopping, "_nas_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-nas-improved", ss19_stopping, "_improved_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-dagum-matching", bounds, "dagum_rate", lambda *_: 1.0, F),
    ("ss19-dagum-matching", bounds, "dagum_rate", lambda *_: 5e4, H),
    ("ss19-svt", ss19_stopping, "sparse_vector_law", "less noise", F),
    (
        "ss19-noise-facts",
        ss19_stopping,
        "_hoeffding",
        lambda n, d: math.exp(-8 * d * d * n),
        F,
    ),
    ("ss19-noise-facts", ss19_stopping, "laplace_log_cdf", lambda x, scale: x / scale, F),
    ("ss19-ucb-misses", ss19_experiments, "_over_rate", lambda variant, horizon: 50.0, U),
    ("ss19-footnote-2", ss19_experiments, "noise_bracket", lambda n: 40.0, F),
    ("ss19-footnote-2", ss19_experiments, "_td16_printed", lambda log_t, e: log_t / e, F),
    ("ss19-footnote-3", DPUCB, "gamma", lambda policy, k, t: math.log(t) ** 4, F),
    ("ss19-k-squared", bounds, "elimination_regret", lambda gaps, t, **_: len(gaps) ** 2, H),
    ("ss19-k-squared", bounds, "elimination_regret", lambda gaps, t, **_: len(gaps), F),
    ("ss19-subsumed", ss19_experiments, "T", 1.1, H),
    ("ss19-same-order", bounds, "elimination_regret", steep, F),
    ("ss19-same-order", ss19_experiments, "SuccessiveElimination", UCB, H),
    ("ss19-few-choices", ss19_experiments, "simulate", "one epoch", H),
    ("ss19-lai-robbins", bounds, "lai_robbins_rate", lambda means: 1 / (means[0] - means[1]), H),
    ("ss19-lai-robbins", bounds, "lai_robbins_rate", lambda means: 1.0, F),
    ("ss19-ucb-regret", bounds, "ucb_regret", scaled(bounds.ucb_regret, 0.1), F),
    ("ss19-ucb-regret", bounds, "ucb_regret", steep, F),
    ("ss19-ucb-minimax", bounds, "ucb_regret", lambda gaps, t: t, F),
    ("ss19-two-arms", bounds, "elimination_pulls", lambda *_: 1.0, F),
    ("ss19-lemma-4.2-elimination", ss19_steps, "elimination_epoch", wide_epoch, F),
    ("ss19-thm-4.3-last", ss19_steps, "_last_step", lambda k, gap, log_t: 3.1, F),
    ("ss19-thm-4.4-gap", ss19_steps, "_star", lambda n, t, e, c: math.sqrt(n / t), F),
    ("ss19-settings", ss19_steps, "ss19", of_one_instance, F),
    ("ss19-attempts", ss19_elimination.stats.laplace, "sf", lambda x, loc, scale: 0.5, F),
    ("ss19-tree-necessary", BinaryTree, "error_quantile", lambda tree, beta: -math.log(beta), F),
    ("ss19-concentrated", ss19_elimination.stats.norm, "sf", lambda x, scale: 0.4, F),
    ("td16-nothing-learned", td16_noise, "_posterior", lambda epsilon, prior: 0.999, F),
    ("td16-nothing-learned", td16_noise, "_posterior", lambda epsilon, prior: prior, H),
    ("td16-previous-order", td16_noise, "_previous_gamma", lambda k, t: math.log(t) ** 3, F),
    ("td16-previous-order", td16_noise, "_previous_gamma", lambda k, t: k * math.log(t) ** 4, F),
    ("td16-hybrid-noise", td16_noise, "_variance", lambda c, n: 2 * math.log2(n) ** 2, H),
    ("td16-hybrid-noise", td16_noise, "_variance", lambda c, n: n, F),
    ("td16-chan-bound", HybridCounter, "error_probability", lambda counter, x, n: 0.0, H),
    ("td16-noise-grows", td16_noise, "_variance", lambda c, n: 1.0, F),
    ("td16-same-noise", td16_noise, "_mean_deviation", lambda pulls, time: 1.0, H),
    ("td16-harmonic", td16_noise.np, "arange", lambda *_: np.full(10**6, 0.01), F),
    ("td16-above-two", td16_noise, "_scale_over_bonus", lambda *_: 0.5, F),
    ("td16-below-bonus", td16_noise, "_scale_over_bonus", lambda v, n, t: 1 / t, H),
    ("td16-below-bonus", td16_noise, "_scale_over_bonus", lambda *_: 2.0, F),
    ("td16-factor-bound", td16_noise, "_first_private", lambda log_t, e: log_t**2 / e, F),
    ("td16-factor-bound", td16_noise, "_first_private", lambda log_t, e: log_t / e, H),
    ("td16-factor-hybrid", td16_noise, "_second_private", lambda log_t, e: log_t**3 / e, F),
    ("td16-reason", td16_noise, "_dependence", lambda name: 1 + (name == "DP-UCB-BOUND"), H),
    ("twzw22-lemma-1", twzw22_comparisons, "_laplace_loss", lambda moves, scale: 2.0, F),
    ("twzw22-laplace", twzw22_comparisons, "_laplace_loss", lambda moves, s: max(moves) / s, F),
    ("twzw22-ldp", twzw22_comparisons, "heavy_epoch", test_claims_twzw22.less_noise, F),
    ("twzw22-lemma-12", bounds, "group_privacy_factor", scaled(bounds.group_privacy_factor, 9), F),
    ("twzw22-lemma-12", bounds, "group_privacy_factor", lambda d, e, n=1: 5.9 * e * d * n, H),
    ("twzw22-lemma-14", twzw22_comparisons, "_bernoulli_kl", lambda p, q: (p - q) ** 2, F),
    ("twzw22-lemma-15", bounds, "local_kl_bound", scaled(bounds.local_kl_bound, 0.1), F),
    ("twzw22-unbounded", twzw22_comparisons, "element_loss", lambda *_: 0.0, F),
    ("twzw22-efficient", robust_means, "central_width", scaled(lambda *_: np.ones(2), 9), F),
    ("twzw22-improved", twzw22_comparisons, "_ratio_of_bounds", lambda k, order: 1.0, F),
    ("twzw22-near-optimal", bounds, "dprucb_regret", lambda g, t, **_: math.log(t), H),
    ("twzw22-near-optimal", bounds, "dprucb_regret", lambda g, t, **_: math.log(t) ** 9, F),
    ("twzw22-tree-suboptimal", twzw22_comparisons, "_ratio_of_bounds", lambda k, order: 1.0, F),
    ("twzw22-local-noise", robust_means, "local_threshold", lambda *_: 1.0, F),
    ("twzw22-settings", twzw22_comparisons, "PRINTED", OTHER_MEANS, F),
    ("twzw22-pareto", twzw22_comparisons, "PRINTED", {"S2": (0.9, 0.5, 0.3, 0.15, 0.1)}, F),
    ("ja25-forgetting", ja25_design, "_variances", lambda pulls, epsilon: (1.0, 2.0), H),
    ("ja25-forgetting", ja25_design, "_variances", lambda pulls, epsilon: (2.0, 1.0), F),
    ("ja25-lemma-9", ja25_design, "_product_of_tails", lambda x: math.exp(-2 * x), F),
    ("ja25-half", ja25_design, "_Led", Greedy, F),
    ("ja25-same-guarantee", DPTT, "_release", test_claims_ja25.released_twice, F),
    (
        "ja25-same-guarantee",
        AdaPTT,
        "guarantee",
        property(lambda rule: PrivacyGuarantee("global", 2 * rule.epsilon)),
        F,
    ),
    ("ja25-smaller-eta", ja25_design, "next_release", lambda pulls, eta: 2 * pulls, F),
    ("ja25-smaller-eta", ja25_design, "chernoff_threshold", lambda *_: 1.0, F),
    ("ja25-gaussian-mechanism", ja25_design, "_renyi", lambda order, shift, d: 2 * order / d, F),
    ("ja25-range", ja25_design, "_log_ratio", lambda support, scale: support, F),
    ("ja25-normal-distance", ja25_design, "_normal_distance", lambda gap, d: gap / d, U),
    ("ja25-convex", ja25_design, "kl", linear, F),
    ("ja25-group-divergence", ja25_design, "_laplace_divergence", lambda h, e: (e * h) ** 2, F),
    ("ja25-only-bounded", ja25_design, "_beyond", lambda reward: 0.0, U),
    (
        "ja25-only-bounded",
        DPRSE,
        "guarantee",
        property(lambda rule: PrivacyGuarantee("global", math.inf)),
        U,
    ),
]

TABLES = (
    CONTROLS,
    test_claims.CONTROLS,
    test_claims_td16.CONTROLS,
    test_claims_twzw22.CONTROLS,
    test_claims_twzw22.FIGURES,
    test_claims_ja25.CONTROLS,
    test_claims_ja25.DATA_CONTROLS,
)


def test_every_claim_has_a_false_variant():
    """No claim is left out: its check has to come out otherwise at least once."""
    named = {row[0] for table in TABLES for row in table} | set(ELSEWHERE)
    assert named == set(ALL)
    for test in ELSEWHERE.values():
        assert callable(test) or callable(globals()[test])


@pytest.fixture
def stand_ins():
    """What is made from the original when it is needed."""

    def less_noise(margins, threshold_scale, query_scale):
        law = dpb.stopping.sparse_vector_law
        return law(margins, threshold_scale / 2, query_scale / 2)

    def one_epoch(*args, **kwargs):
        return SimpleNamespace(epoch_ends=[[1]])

    return {"less noise": less_noise, "one epoch": one_epoch}


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "expected"), CONTROLS)
def test_a_false_variant_changes_the_verdict(
    claim, place, name, wrong, expected, stand_ins, monkeypatch
):
    assert ALL[claim].verdict != expected
    wrong = stand_ins[wrong] if isinstance(wrong, str) else wrong
    for module in (bounds, regret_bounds) if place is bounds else (place,):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, wrong)
    assert ALL[claim].check().verdict == expected
