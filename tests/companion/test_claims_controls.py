"""Every claim has a false variant, which its check does not take for the claim."""

import dataclasses
import math
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import test_claims_runs

import dpbandits as dpb
from companion import claims
from companion.claims import (
    ja25_algorithm,
    ja25_design,
    ja25_time,
    ss19_elimination,
    ss19_experiments,
    ss19_steps,
    ss19_stopping,
    td16_noise,
    td16_privacy,
    td16_regret,
    twzw22_central,
    twzw22_comparisons,
    twzw22_rates,
)
from dpbandits import bounds, privacy, robust_means, stopping
from dpbandits.algorithms import DPRSE, DPUCB, UCB, DPUCBInt
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.halting import Halting
from dpbandits.heavy_schedules import heavy_epoch
from dpbandits.identification import (
    DPTT,
    AdaPTT,
    batches,
    calibrated_minus,
    characteristic_time,
    privacy_switches,
    total_variation_time,
)
from dpbandits.identification.characteristic import PrivacySwitches
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter
from dpbandits.schedules import elimination_epoch, next_release

ALL = {claim.id: claim for claim in claims.ledger()}
H, C, F, U = claims.HOLDS, claims.CONDITION, claims.FAILS, claims.CANNOT_TELL
log = math.log


def scaled(function, *factors):
    """Return a function with its answer, or the parts of its answer, multiplied."""
    if len(factors) == 1:
        return lambda *args, **kwargs: factors[0] * function(*args, **kwargs)
    return lambda *args: tuple(f * x for f, x in zip(factors, function(*args), strict=True))


def with_plan(epoch, **factors):
    """Return a schedule with some fields of its plans multiplied."""

    def changed(*args, **kwargs):
        plan = epoch(*args, **kwargs)
        return dataclasses.replace(plan, **{k: getattr(plan, k) * f for k, f in factors.items()})

    return changed


def steep(gaps, horizon, **_):
    """Return a bound that grows like T^(1/2)."""
    return math.sqrt(horizon)


def less_sparse_noise(margins, threshold_scale, query_scale):
    return SPARSE(margins, threshold_scale / 2, query_scale / 2)


def less_halting_noise(epsilon, alpha, beta, half_range):
    """Return the rule with nine tenths of all noise, and of the allowance with it."""
    return PRIVATE(epsilon / 0.9, alpha, beta, half_range)


def small_budget(*args, **kwargs):
    """Return `epsilon_at` with its answers divided by a thousand."""
    low, high = EPSILON(*args, **kwargs)
    return privacy.Bracket(low / 1000, high / 1000)


def as_trusted(gap, epsilon, moment, order, model="global"):
    """Return what a pull reveals as if the curator saw it."""
    return DIVERGENCE(gap, epsilon, moment, order, "global")


def as_bounded(gap, epsilon, moment, order, model="global"):
    """Return what a pull reveals of bounded rewards: total variation Δ."""
    return math.expm1(epsilon) ** 2 * gap**2


def non_private_power(horizon, n_arms, epsilon, moment, order, model="global"):
    return horizon ** (1 / (1 + order))


def switches(free=1.0, exact=1.0):
    def wrong(means):
        right = privacy_switches(means)
        return PrivacySwitches(right.free * free, right.exact * exact)

    return wrong


def time_of(value):
    """Return `characteristic_time` with another value: value(means, ε, share, right)."""

    def wrong(means, epsilon, leader_share=None):
        right = characteristic_time(means, epsilon, leader_share)
        new = value(np.asarray(means), epsilon, leader_share, right.value)
        return dataclasses.replace(right, value=new)

    return wrong


def free_time(means, epsilon, share, right):
    return characteristic_time(means, math.inf, share).value


def long_with_half(means, epsilon, share, right):
    return right if share is None else 2.1 * right


def released_twice(self, state, arm, rewards, rng):
    """Release the first reward of an arm in two batches."""
    RELEASE(self, state, arm, rewards, rng)
    if state.releases[arm] == 1 and hasattr(rewards, "batches"):
        rewards.batches.append((arm, 0, 1))


def released_bare(self, state, arm, rewards, rng):
    """Release with noise of a thousandth of the scale, asked for as such."""
    with pytest.MonkeyPatch.context() as patch:
        asked = batches.laplace
        patch.setattr(batches, "laplace", lambda rng, scale: asked(rng, scale / 1000))
        RELEASE(self, state, arm, rewards, rng)


def without_noise(self, state, arm, rewards, rng):
    """Draw the noise, and leave it out of what is released."""
    RELEASE(self, state, arm, rewards, rng)
    state.last[arm] = rewards.sums[-1]


class Greedy(ja25_design._Led):
    """DP-TT that plays the leader in nine of ten rounds."""

    def __init__(self, epsilon, delta):
        super().__init__(epsilon, delta, leader_share=0.9)


def guarantee(epsilon):
    """Return the property `guarantee` of a rule whose ε is epsilon(rule)."""
    return property(lambda rule: PrivacyGuarantee("global", epsilon(rule)))


def budget(share):
    """Return the property `part_epsilon` of a counter."""
    return property(lambda counter: share * counter.epsilon)


EPOCH = elimination_epoch
SPARSE, PRIVATE, RELEASE = stopping.sparse_vector_law, Halting.private, DPTT._release
WIDTH, ALLOWANCE = ss19_stopping.sampling_width, ss19_stopping.noise_allowance
EPSILON, LOSSES, ELEMENT = privacy.epsilon_at, DPUCBInt.losses, td16_privacy.element_loss
NODE, ERROR = HybridCounter.node_scale, HybridCounter.error_probability
TREE, CENTRAL, DIVERGENCE = (
    AdaptiveTree.node_scale,
    robust_means.central_width,
    bounds.heavy_divergence,
)
LESS_NOISE = with_plan(heavy_epoch, noise_scale=0.9)
HIGH_NODES = property(lambda tree: tree.levels**1.5 / tree.epsilon)
NOISELESS = dpb.DPExponentialNAS.noiseless_time
S1 = {**twzw22_comparisons.PRINTED, "S1": (0.9, 0.8, 0.5, 0.3, 0.1)}
EVEN = dict.fromkeys(ja25_time.INSTANCES, np.linspace(0.9, 0.5, 5))
DRAW = batches.laplace


def of_bounds(claim, name, factor, expected):
    """Return the row of a bound that is multiplied."""
    return claim, bounds, name, scaled(getattr(bounds, name), factor), expected


def of_estimates(claim, doubles, wrong, expected):
    """Return the row of other estimates for the algorithms whose batches double, or the rest."""

    def estimates(rule, state, right=batches.estimates):
        return wrong(state) if rule.doubles == doubles else right(rule, state)

    return claim, batches, "estimates", estimates, expected


# claim, place whose name is replaced, name, stand-in, verdict that must come out
CONTROLS = [
    # Sajed & Sheffet: stopping rules
    ("ss19-fact-2.1-below", bounds, "loglog_bracket", scaled(bounds.loglog_bracket, 2, 1), F),
    ("ss19-fact-2.1-above", bounds, "loglog_bracket", scaled(bounds.loglog_bracket, 1, 0.4), F),
    ("ss19-fact-2.1-monotone", ss19_stopping, "_ratio", lambda a, x: -log(a * log(x)) / x, F),
    ("ss19-nas", ss19_stopping, "sampling_width", scaled(WIDTH, 0.9), F),
    ("ss19-thm-3.1-private", Halting, "private", less_halting_noise, F),
    ("ss19-cor-3.2-private", Halting, "private", less_halting_noise, F),
    ("ss19-thm-3.1-correct", ss19_stopping, "sampling_width", scaled(WIDTH, 0.9), F),
    ("ss19-cor-3.2-correct", ss19_stopping, "noise_allowance", scaled(ALLOWANCE, 0.99), F),
    ("ss19-doubling", dpb.DPExponentialNAS, "noiseless_time", scaled(NOISELESS, 2), F),
    of_bounds("ss19-thm-3.3", "stopping_samples_printed", 0.05, F),
    ("ss19-thm-3.3", bounds, "stopping_samples_printed", lambda *args: 1e300, F),
    # holds for small times, not for large ones
    ("ss19-thm-3.3-steps", ss19_stopping, "_step_holds", lambda times, *_: log(times) - 3, F),
    of_bounds("ss19-dagum", "stopping_lower_bound", 0.05, F),
    of_bounds("ss19-lemma-3.5", "group_privacy_factor", 4, F),
    of_bounds("ss19-lemma-3.5", "group_privacy_factor", 0.1, F),
    of_bounds("ss19-thm-3.4", "stopping_complexity_lower_bound", 0.1, F),
    of_bounds("ss19-cor-3.6", "stopping_complexity_lower_bound", 0.1, F),
    of_bounds("ss19-thm-3.3-optimal", "stopping_complexity_lower_bound", 0.1, F),
    ("ss19-mild-assumption", bounds, "stopping_lower_bound", lambda law, a, b: 1.0, F),
    (
        "ss19-variance-bypass",
        bounds,
        "private_stopping_lower_bound",
        lambda *args, two_point=False: 1.0 if two_point else 0.1,
        F,
    ),
    ("ss19-nas-samples", ss19_stopping, "_nas_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-nas-improved", ss19_stopping, "_improved_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-dagum-matching", bounds, "dagum_rate", lambda *_: 1.0, F),
    ("ss19-dagum-matching", bounds, "dagum_rate", lambda *_: 5e4, H),
    ("ss19-svt", stopping, "sparse_vector_law", less_sparse_noise, F),
    ("ss19-noise-facts", ss19_stopping, "_hoeffding", lambda n, d: math.exp(-8 * d * d * n), F),
    ("ss19-noise-facts", ss19_stopping, "laplace_log_cdf", lambda x, scale: x / scale, F),
    # elimination
    ("ss19-thm-4.1", ss19_elimination, "elimination_epoch", with_plan(EPOCH, noise_scale=0.9), F),
    (
        "ss19-lemma-4.2-halving",
        ss19_elimination,
        "elimination_epoch",
        lambda n_viable, *args: EPOCH(20, *args),
        H,
    ),
    of_bounds("ss19-lemma-4.2-constants", "elimination_pulls_printed", 0.5, F),
    of_bounds("ss19-lemma-4.2-constants", "elimination_pulls_printed", 2, F),
    of_bounds("ss19-lemma-4.2-order", "elimination_pulls", 10, F),
    of_bounds("ss19-lemma-4.2-probability", "elimination_pulls", 0.01, F),
    of_bounds("ss19-thm-4.3", "elimination_pulls", 0.1, F),
    (
        "ss19-guess-and-double",
        ss19_elimination,
        "GuessAndDouble",
        lambda base, growth: dpb.GuessAndDouble(base, "square"),
        H,
    ),
    of_bounds("ss19-lower-bound", "private_lower_bound_rate", 0.5, F),
    ("ss19-optimal", bounds, "elimination_regret", steep, F),
    of_bounds("ss19-thm-4.4", "elimination_minimax_regret", 0.1, F),
    ("ss19-minimax-gap", bounds, "elimination_minimax_regret", lambda k, t, e: t**0.6, F),
    ("ss19-tree-variance", BinaryTree, "node_scale", HIGH_NODES, F),
    ("ss19-tree-union", BinaryTree, "node_scale", HIGH_NODES, F),
    of_bounds("ss19-best-arm", "elimination_pulls", 100, F),
    ("ss19-attempts", ss19_elimination.stats.laplace, "sf", lambda x, loc, scale: 0.5, F),
    ("ss19-tree-necessary", BinaryTree, "error_quantile", lambda tree, beta: -log(beta), F),
    ("ss19-concentrated", ss19_elimination.stats.norm, "sf", lambda x, scale: 0.4, F),
    ("ss19-two-arms", bounds, "elimination_pulls", lambda *_: 1.0, F),
    (
        "ss19-lemma-4.2-elimination",
        ss19_steps,
        "elimination_epoch",
        with_plan(EPOCH, sampling_width=1.5, privacy_width=1.5),
        F,
    ),
    ("ss19-thm-4.3-last", ss19_steps, "_last_step", lambda k, gap, log_t: 3.1, F),
    ("ss19-thm-4.4-gap", ss19_steps, "_star", lambda n, t, e, c: math.sqrt(n / t), F),
    (
        "ss19-settings",
        ss19_steps,
        "ss19",
        lambda name, n_arms=5: dpb.instances.ss19("C1", n_arms),
        F,
    ),
    # what UCB costs
    ("ss19-ucb-misses", ss19_experiments, "_over_rate", lambda variant, horizon: 50.0, U),
    ("ss19-footnote-2", ss19_experiments, "noise_bracket", lambda n: 40.0, F),
    ("ss19-footnote-2", ss19_experiments, "_td16_printed", lambda log_t, e: log_t / e, F),
    ("ss19-footnote-3", DPUCB, "gamma", lambda policy, k, t: log(t) ** 4, F),
    ("ss19-k-squared", bounds, "elimination_regret", lambda gaps, t, **_: len(gaps) ** 2, H),
    ("ss19-k-squared", bounds, "elimination_regret", lambda gaps, t, **_: len(gaps), F),
    ("ss19-subsumed", ss19_experiments, "T", 1.1, H),
    ("ss19-same-order", bounds, "elimination_regret", steep, F),
    ("ss19-same-order", ss19_experiments, "SuccessiveElimination", UCB, H),
    (
        "ss19-few-choices",
        ss19_experiments,
        "simulate",
        lambda *args: SimpleNamespace(epoch_ends=[[1]]),
        H,
    ),
    ("ss19-lai-robbins", bounds, "lai_robbins_rate", lambda means: 1 / (means[0] - means[1]), H),
    ("ss19-lai-robbins", bounds, "lai_robbins_rate", lambda means: 1.0, F),
    of_bounds("ss19-ucb-regret", "ucb_regret", 0.1, F),
    ("ss19-ucb-regret", bounds, "ucb_regret", steep, F),
    ("ss19-ucb-minimax", bounds, "ucb_regret", lambda gaps, t: t, F),
    # Tossou & Dimitrakakis: counters, actions, DP-UCB-INT
    ("td16-hybrid", HybridCounter, "part_epsilon", budget(1 / 2), H),
    ("td16-hybrid", HybridCounter, "node_scale", scaled(NODE, 0.5), F),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e-15), H),
    ("td16-bound-2.2", HybridCounter, "error_probability", scaled(ERROR, 1e9), F),
    (
        "td16-bound-2.2-used",
        td16_privacy,
        "noise_bracket",
        lambda n, repaired=False: math.log2(n),
        H,
    ),
    ("td16-text-definition", td16_privacy, "_repeated", lambda e, n: (e, e), H),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", budget(1 / 2), H),
    ("td16-thm-3.1", HybridCounter, "part_epsilon", budget(2), F),
    (
        "td16-thm-3.1",
        td16_privacy,
        "_path_probabilities",
        lambda counter: 2 * (np.linspace(0, 1, 9),),
        U,
    ),
    ("td16-thm-3.1-def-2.1", HybridCounter, "part_epsilon", budget(1 / 4), H),
    ("td16-lemma-3.1", DPUCBInt, "losses", scaled(LOSSES, 1.01), F),
    ("td16-lemma-3.1", td16_privacy, "_scales_used", scaled(td16_privacy._scales_used, 0.99), F),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1.01), F),
    ("td16-thm-3.4-first", DPUCBInt, "losses", scaled(LOSSES, 1e-4), H),
    *(
        row
        for claim in ("td16-thm-3.4-second", "td16-cor-3.1", "td16-cor-3.2", "td16-groups")
        for row in (
            (claim, privacy, "epsilon_at", small_budget, H),
            (claim, td16_privacy, "_parts", lambda losses: (losses, losses[:1]), U),
        )
    ),
    ("td16-groups", HybridCounter, "part_epsilon", budget(2), F),
    ("td16-groups", td16_privacy, "element_loss", scaled(ELEMENT, 1.01), F),
    ("td16-cor-3.2-def-2.1", td16_privacy, "next_action", lambda *_, **__: (0.01, 0.01107), U),
    # regret of DP-UCB, and noise
    ("td16-additive", td16_regret, "EXPONENT", 2.0, H),
    (
        "td16-additive",
        DPUCBInt,
        "calibrated",
        lambda epsilon, *_, **__: SimpleNamespace(interval=1 / epsilon),
        H,
    ),
    ("td16-unbounded", HybridCounter, "node_scale", scaled(NODE, 0.5), F),
    ("td16-thm-3.2", td16_regret, "_printed_3_2", scaled(td16_regret._printed_3_2, 1e6), U),
    ("td16-thm-3.3", td16_regret, "_printed_3_3", scaled(td16_regret._printed_3_3, 0.01), F),
    ("td16-thm-3.3-order", bounds, "dp_ucb_hybrid_regret", lambda gaps, t, **_: log(t) ** 3, F),
    ("td16-thm-3.3-order", bounds, "dp_ucb_hybrid_regret", lambda gaps, t, **_: log(t), H),
    ("td16-nothing-learned", td16_noise, "_posterior", lambda epsilon, prior: 0.999, F),
    ("td16-nothing-learned", td16_noise, "_posterior", lambda epsilon, prior: prior, H),
    ("td16-previous-order", td16_noise, "_previous_gamma", lambda k, t: log(t) ** 3, F),
    ("td16-previous-order", td16_noise, "_previous_gamma", lambda k, t: k * log(t) ** 4, F),
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
    # Tao, Wu, Zhao & Wang
    ("twzw22-lemma-2-private", AdaptiveTree, "node_scale", scaled(TREE, 0.9), F),
    (
        "twzw22-lemma-2-noise",
        twzw22_central,
        "_noise_order",
        lambda log_length, beta: log_length * -log(beta),
        F,
    ),
    (
        "twzw22-lemma-2-noise",
        twzw22_central,
        "_noise_order",
        lambda log_length, beta: log_length * math.sqrt(-log(beta)),
        F,
    ),
    ("twzw22-algorithm-2", AdaptiveTree, "node_scale", scaled(TREE, 1.1), F),
    ("twzw22-thm-1", AdaptiveTree, "node_scale", scaled(TREE, 0.5), F),
    ("twzw22-lemma-3", twzw22_central, "_bonus_order", lambda log_term, order: log_term, H),
    ("twzw22-lemma-3", AdaptiveTree, "error_factor", lambda tree, log_term: log_term**3, F),
    ("twzw22-thm-2", bounds, "dprucb_pulls", lambda gap, t, *_: log(t) ** 2, H),
    ("twzw22-thm-2", bounds, "dprucb_pulls", lambda gap, t, *_: log(t) ** 4, F),
    ("twzw22-thm-3", twzw22_central, "heavy_epoch", LESS_NOISE, F),
    ("twzw22-lemma-4", robust_means, "central_width", scaled(CENTRAL, 1, 1.5), F),
    ("twzw22-lemma-4", bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-4, F),
    ("twzw22-lemma-10", twzw22_rates, "_raw_over_central", lambda *_: 1.5, H),
    ("twzw22-lemma-10", twzw22_rates, "_central", scaled(twzw22_rates._central, 5.0), F),
    ("twzw22-thm-4", bounds, "heavy_elimination_regret", steep, F),
    ("twzw22-thm-4-minimax", bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-4, F),
    of_bounds("twzw22-thm-5", "heavy_divergence", 0.9, F),
    of_bounds("twzw22-thm-5", "heavy_divergence", 100.0, F),
    of_bounds("twzw22-optimal", "heavy_divergence", 1e-6, F),
    ("twzw22-optimal", bounds, "heavy_elimination_regret", steep, F),
    ("twzw22-remark-2", bounds, "heavy_divergence", lambda gap, *_: gap, F),
    ("twzw22-local-ucb", twzw22_rates, "_index_width", lambda *_: 1.0, F),
    ("twzw22-local-ucb", twzw22_rates, "_index_width", scaled(twzw22_rates._index_width, 10.0), H),
    ("twzw22-thm-6", twzw22_rates, "heavy_epoch", LESS_NOISE, F),
    ("twzw22-lemma-13", twzw22_rates, "share_dropped", lambda schedule, order: (10, 400), U),
    ("twzw22-thm-7", bounds, "heavy_divergence", as_bounded, U),
    ("twzw22-thm-7-minimax", bounds, "heavy_minimax_lower_bound", non_private_power, U),
    of_bounds("twzw22-thm-8", "heavy_divergence", 1e4, F),
    ("twzw22-thm-8", bounds, "heavy_divergence", lambda gap, *_: 1.0, F),
    ("twzw22-remark-3", bounds, "heavy_divergence", as_trusted, U),
    ("twzw22-thm-9", bounds, "heavy_minimax_lower_bound", lambda horizon, *_: horizon**0.4, F),
    ("twzw22-remark-4", bounds, "heavy_minimax_lower_bound", non_private_power, F),
    ("twzw22-optimal-local", bounds, "heavy_elimination_regret", steep, F),
    ("twzw22-optimal-local", bounds, "heavy_elimination_pulls", lambda gap, *_: gap**-8, F),
    ("twzw22-setting-3", bounds, "heavy_elimination_regret", steep, F),
    ("twzw22-lemma-1", twzw22_comparisons, "_laplace_loss", lambda moves, scale: 2.0, F),
    ("twzw22-laplace", twzw22_comparisons, "_laplace_loss", lambda moves, s: max(moves) / s, F),
    ("twzw22-ldp", twzw22_comparisons, "heavy_epoch", LESS_NOISE, F),
    of_bounds("twzw22-lemma-12", "group_privacy_factor", 9, F),
    ("twzw22-lemma-12", bounds, "group_privacy_factor", lambda d, e, n=1: 5.9 * e * d * n, H),
    ("twzw22-lemma-14", twzw22_comparisons, "kl", lambda p, q: (p - q) ** 2, F),
    of_bounds("twzw22-lemma-15", "local_kl_bound", 0.1, F),
    ("twzw22-unbounded", twzw22_comparisons, "element_loss", lambda *_: 0.0, F),
    ("twzw22-efficient", robust_means, "central_width", lambda *_: np.full(2, 9.0), F),
    ("twzw22-improved", twzw22_comparisons, "_ratio_of_bounds", lambda k, order: 1.0, F),
    ("twzw22-near-optimal", bounds, "dprucb_regret", lambda g, t, **_: log(t), H),
    ("twzw22-near-optimal", bounds, "dprucb_regret", lambda g, t, **_: log(t) ** 9, F),
    ("twzw22-tree-suboptimal", twzw22_comparisons, "_ratio_of_bounds", lambda k, order: 1.0, F),
    ("twzw22-local-noise", robust_means, "local_threshold", lambda *_: 1.0, F),
    ("twzw22-settings", twzw22_comparisons, "PRINTED", S1, F),
    ("twzw22-pareto", twzw22_comparisons, "PRINTED", {"S2": (0.9, 0.5, 0.3, 0.15, 0.1)}, F),
    # Jourdan & Azize
    ("ja25-log-odds", ja25_time, "INSTANCES", EVEN, F),
    ("ja25-switch-free", ja25_time, "privacy_switches", switches(free=0.5), F),
    ("ja25-switch-free", ja25_time, "privacy_switches", switches(exact=4.0), F),
    ("ja25-switch-045", ja25_time, "SEEN", 0.2, F),
    ("ja25-best-epsilon", ja25_time, "privacy_switches", switches(exact=1.5), F),
    ("ja25-tighter", ja25_time, "characteristic_time", time_of(free_time), F),
    ("ja25-high-privacy", ja25_time, "total_variation_time", scaled(total_variation_time, 1.01), F),
    ("ja25-lemma-43", ja25_time, "characteristic_time", time_of(long_with_half), F),
    ("ja25-linear-arms", ja25_time, "characteristic_time", time_of(lambda m, *_: m.size**2), F),
    ("ja25-near-ties", ja25_time, "characteristic_time", time_of(lambda *_: 100.0), F),
    ("ja25-thm-2", ja25_time, "kl", lambda x, y: np.log(1 / (2.5 * y)), F),
    ("ja25-lemma-4", DPTT, "_release", released_twice, F),
    ("ja25-lemma-4", DPTT, "_release", released_bare, F),
    ("ja25-lemma-4", DPTT, "_release", without_noise, F),
    ("ja25-lemma-4", DPTT, "decide", lambda *_: None, F),
    ("ja25-lemma-4", batches, "laplace", lambda rng, scale: DRAW(rng, scale / 1000), F),
    ("ja25-log-threshold", ja25_algorithm, "chernoff_threshold", ja25_algorithm.union_threshold, F),
    ("ja25-constant-8", ja25_algorithm, "characteristic_time", time_of(long_with_half), F),
    ("ja25-one-plus-eta", ja25_algorithm, "chernoff_threshold", ja25_algorithm.union_threshold, F),
    ("ja25-one-plus-eta", ja25_algorithm, "next_release", scaled(next_release, 1.1), F),
    ("ja25-k-eta", ja25_algorithm, "next_release", lambda pulls, eta: pulls + 10**6, F),
    (
        "ja25-eta-zero",
        ja25_algorithm,
        "calibrated_minus",
        lambda x, u, r, e: calibrated_minus(x, u, 0.0, e),
        F,
    ),
    of_estimates("ja25-memory", False, lambda s: s.total / s.released + 1e-9 * s.last, F),
    of_estimates("ja25-memory", True, lambda s: s.last / s.batch + 1e-9 * s.total, F),
    of_estimates("ja25-pan-privacy", True, lambda s: s.total / s.batch, F),
    of_estimates("ja25-pan-privacy", False, lambda s: 3 * s.total / s.released, H),
    (
        "ja25-zcdp",
        ja25_algorithm,
        "np",
        SimpleNamespace(**{**vars(np), "exp": lambda x: np.exp(0.9 * x)}),
        F,
    ),
    ("ja25-forgetting", ja25_design, "_variances", lambda pulls, epsilon: (1.0, 2.0), H),
    ("ja25-forgetting", ja25_design, "_variances", lambda pulls, epsilon: (2.0, 1.0), F),
    ("ja25-lemma-9", ja25_design, "_product_of_tails", lambda x: math.exp(-2 * x), F),
    ("ja25-half", ja25_design, "_Led", Greedy, F),
    ("ja25-same-guarantee", DPTT, "_release", released_twice, F),
    ("ja25-same-guarantee", AdaPTT, "guarantee", guarantee(lambda rule: 2 * rule.epsilon), F),
    ("ja25-smaller-eta", ja25_design, "next_release", lambda pulls, eta: 2 * pulls, F),
    ("ja25-smaller-eta", ja25_design, "chernoff_threshold", lambda *_: 1.0, F),
    ("ja25-gaussian-mechanism", ja25_design, "_renyi", lambda order, shift, d: 2 * order / d, F),
    ("ja25-range", ja25_design, "_log_ratio", lambda support, scale: support, F),
    ("ja25-normal-distance", ja25_design, "_normal_distance", lambda gap, d: gap / d, U),
    ("ja25-convex", ja25_design, "kl", lambda x, y: np.sqrt(x), F),  # concave in x
    ("ja25-group-divergence", ja25_design, "_laplace_divergence", lambda h, e: (e * h) ** 2, F),
    ("ja25-only-bounded", ja25_design, "_beyond", lambda reward: 0.0, U),
    ("ja25-only-bounded", DPRSE, "guarantee", guarantee(lambda rule: math.inf), U),
]


def test_every_claim_has_a_false_variant():
    """No claim is left out: its check has to come out otherwise at least once."""
    assert {row[0] for row in CONTROLS} | test_claims_runs.SPOILT == set(ALL)


def replace(patch, place, name, wrong):
    """Replace a name; a bound is known to the package of bounds and to its module."""
    within = [m for m in vars(bounds).values() if isinstance(m, ModuleType)]
    places = [m for m in (bounds, *within) if hasattr(m, name)] if place is bounds else [place]
    assert places, f"{name} is not a bound"
    for module in places:
        patch.setattr(module, name, wrong)


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "expected"), CONTROLS)
def test_a_false_variant_changes_the_verdict(claim, place, name, wrong, expected, monkeypatch):
    assert ALL[claim].verdict != expected
    replace(monkeypatch, place, name, wrong)
    assert ALL[claim].check().verdict == expected


SENTENCES = [
    ("td16-thm-3.1-def-2.1", td16_privacy, "_hazard_ratio", lambda b: 1 / b, "looked at twice"),
    ("td16-text-definition", td16_privacy, "_two_steps", lambda e, f: (e, e), "two thresholds"),
    (
        "td16-cor-3.2-def-2.1",
        td16_privacy,
        "next_action",
        lambda *_, **__: (0.01, 0.9),
        "does not suffice",
    ),
    ("td16-cor-3.1", td16_privacy, "_first_branch", lambda *a: 1e9, "are right"),
    ("td16-bound-2.2", td16_privacy, "_failure", lambda *a: 0.5, "it fails there, too"),
    ("td16-bound-2.2-used", HybridCounter, "error_probability", lambda *a: 1.0, "n' it holds"),
    ("td16-thm-3.2", bounds, "dp_ucb_bound_regret", lambda g, t, **_: t, "no faster than"),
]


@pytest.mark.parametrize(("claim", "place", "name", "wrong", "gone"), SENTENCES)
def test_what_a_reason_says_beyond_the_verdict_is_computed(
    claim, place, name, wrong, gone, monkeypatch
):
    """The sentence goes, or turns round, with the number that it rests on."""
    assert gone in ALL[claim].finding.reason
    replace(monkeypatch, place, name, wrong)
    assert gone not in ALL[claim].check().reason
