"""Every claim has a false variant, which its check does not take for the claim."""

import dataclasses
import itertools
import math
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from test_claims_runs import ALL, SPOILT, F, H, U

import dpbandits as dpb
from companion import claims
from companion.certify import NotCertifiedError
from companion.claims import ja25_time, ss19_certificates, td16_certificates
from companion.claims.td16_steps import Step
from dpbandits import bounds
from dpbandits._engine.accelerators import batched_top_two
from dpbandits.algorithms import UCB
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification import DPTT, batches, calibrated_minus, characteristic_time
from dpbandits.identification.thresholds import union_threshold
from dpbandits.schedules import next_release
from dpbandits.stopping.halting import Halting

log, sqrt = math.log, math.sqrt
DIVERGENCE, DRAW = bounds.heavy_divergence, batches.laplace
PRIVATE, RELEASE = Halting.private, DPTT.release


def scaled(function, by):
    """Return a function with its answer, its parts or its fields multiplied."""

    def wrong(*args, **kwargs):
        answer = function(*args, **kwargs)
        if isinstance(by, tuple):
            return tuple(f * x for f, x in zip(by, answer, strict=True))
        if isinstance(by, dict):
            fields = {name: f * getattr(answer, name) for name, f in by.items()}
            named = isinstance(answer, tuple)
            return answer._replace(**fields) if named else dataclasses.replace(answer, **fields)
        return by * answer

    return wrong


def steep(gaps, horizon, **_):
    """Return a bound that grows like T^(1/2)."""
    return sqrt(horizon)


def at_two_points(*args, two_point=False):
    """Return a lower bound that is greater on laws of two points."""
    return 1.0 if two_point else 0.1


def less_halting_noise(epsilon, alpha, beta, half_range):
    """Return the rule with nine tenths of all noise, and of the allowance with it."""
    return PRIVATE(epsilon / 0.9, alpha, beta, half_range)


def non_private_power(horizon, n_arms, epsilon, moment, order, model="central"):
    return horizon ** (1 / (1 + order))


def a_factor(means, epsilon):
    """Return a rate that privacy multiplies."""
    return bounds.lai_robbins_rate(means) / epsilon


def time_of(value):
    """Return `characteristic_time` with another value: value(means, ε, share, right)."""

    def wrong(means, epsilon, leader_share=None):
        right = characteristic_time(means, epsilon, leader_share)
        new = value(np.asarray(means), epsilon, leader_share, right.value)
        return right._replace(value=new)

    return wrong


def free_time(means, epsilon, share, right):
    return characteristic_time(means, math.inf, share).value


def long_with_half(means, epsilon, share, right):
    return right if share is None else 2.1 * right


def released_twice(self, rewards, rng):
    """Release the first reward of each arm in all its batches."""
    first = [rewards.total(arm, 1) for arm in range(rewards.n_arms)]
    for _ in range(100):
        for arm, reward in enumerate(first):
            self.release(reward + rewards.total(arm, 1), rng)
    return 0


def released_bare(self, total, rng):
    """Release with noise of a thousandth of the scale, asked for as such."""
    return total + batches.laplace(rng, 0.001 / self.epsilon)


def without_noise(self, total, rng):
    """Draw the noise, and leave it out of what is released."""
    RELEASE(self, total, rng)
    return total


def estimated(accumulates, wrong):
    """Return other estimates for the algorithms that accumulate, or for the others."""
    return lambda rule, state, right=batched_top_two.estimates: (
        wrong(state) if rule.accumulates == accumulates else right(rule, state)
    )


def quiet_play(self, rewards, horizon, rng, right=dpb.PrintedAdaPUCB.play):
    """Play with nine tenths of the noise."""
    right(dataclasses.replace(self, epsilon=self.epsilon / 0.9), rewards, horizon, rng)


def guarantee(epsilon):
    """Return the property `guarantee` of a rule whose ε is epsilon(rule)."""
    return property(lambda rule: PrivacyGuarantee("central", epsilon(rule)))


def budget(share):
    """Return the property `part_epsilon` of a counter."""
    return property(lambda counter: share * counter.epsilon)


HIGH_NODES = property(lambda tree: tree.levels**1.5 / tree.epsilon)
EVEN = dict.fromkeys(ja25_time.INSTANCES, np.linspace(0.9, 0.5, 5))
WIDE = {"sampling_width": 1.5, "privacy_width": 1.5}
OTHER_EXP = SimpleNamespace(**{**vars(np), "exp": lambda x: np.exp(0.9 * x)})
SMALL_STEP = Step(0.9, 0.0, (0.1, 0.2), -9.0, 0.1, 0.8)


def power_of_the_pair(false_alarm, epsilon, delta, changes):
    """Return the power that group privacy allows after so many changes."""
    many = math.exp(changes * epsilon)
    delta *= (many - 1) / math.expm1(epsilon)
    return min(many * false_alarm + delta, 1 - (1 - delta - false_alarm) / many, 1.0)


def refused(*_, **__):
    """Refuse to certify."""
    raise NotCertifiedError("the inequality is false,", [(0.0, 1.0)])


# Claims, and the certificates that their verdicts rest on
PROOFS = [
    ("ss19-doubling", "boundary_falls"),
    ("ss19-thm-3.3", "constant_below", "constant_falls", "printed_covers"),
    ("ss19-dagum", "logarithm_bounded", "dagum_constant"),
    ("ss19-lemma-3.5", "six_covers", "six_fails"),
    ("ss19-thm-3.4", "expected_needed", "median_needed"),
    ("ss19-cor-3.6", "both_needed"),
    ("ss19-nas-samples", "nas_time", "doubling_time"),
    ("ss19-lemma-4.2", "pulls_in_order", "last_line_covers"),
]
ON_STEPS = "td16-cor-3.2-def-2.1 td16-cor-3.2"

# Claims; a name in their module; what takes its place, or multiplies its answers; the verdict that
# must come out; further pairs of these two.
TABLE = [
    # Sajed & Sheffet: stopping rules
    ("ss19-fact-2.1-below", "bounds.loglog_bracket", (2, 1), F),
    ("ss19-fact-2.1-above", "bounds.loglog_bracket", (1, 0.4), F),
    ("ss19-nas ss19-thm-3.1-correct", "sampling_width", 0.9, F),
    ("ss19-cor-3.2-private", "Halting.private", less_halting_noise, F),
    ("ss19-thm-3.1-correct", "noise_allowance", 0.99, F),
    ("ss19-doubling", "DPExponentialNAS.noiseless_time", 2, F),
    ("ss19-thm-3.3", "as_printed.ss19_stopping_samples", 0.05, F, lambda *_: 1e300, F),
    ("ss19-thm-3.3", "_step_holds", lambda times, *_: log(times) - 3, F),  # for small ones
    *((name, f"certificates.{proof}", refused, F) for name, *all_ in PROOFS for proof in all_),
    ("ss19-dagum", "bounds.stopping_lower_bound", 0.05, F),
    ("ss19-lemma-3.5", "bounds.group_privacy_factor", 4, F, 0.1, F),
    ("ss19-thm-3.4 ss19-cor-3.6", "bounds.stopping_complexity_lower_bound", 0.1, F),
    ("ss19-thm-3.3-optimal", "bounds.stopping_complexity_lower_bound", 0.1, F),
    ("ss19-variance-bypass", "bounds.private_stopping_lower_bound", at_two_points, F),
    ("ss19-variance-bypass", "bounds.promised_samples", 3, F),
    ("ss19-variance-bypass", "bounds.promised_lower_bound", {"median": 1.1}, F),
    ("ss19-nas-samples", "_nas_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-nas-samples", "_improved_rate", lambda m, a, b: 1 / (a * m), F),
    ("ss19-dagum-matching", "bounds.dagum_rate", lambda *_: 1.0, F, lambda *_: 5e4, H),
    # elimination
    ("ss19-thm-4.1", "elimination_epoch", {"noise_scale": 0.9}, F),
    ("ss19-lemma-4.2", "as_printed.ss19_elimination_pulls", 0.5, F, 2, F),
    ("ss19-lemma-4.2", "bounds.elimination_pulls", 0.01, F),
    ("ss19-lemma-4.2", "bounds.elimination_failure", 3, F),
    ("ss19-lemma-4.2", "elimination_epoch", WIDE, F),
    ("ss19-thm-4.3", "bounds.elimination_pulls", 0.1, F),
    ("ss19-guess-and-double", "GuessAndDouble", lambda b, _: dpb.GuessAndDouble(b, "square"), H),
    ("ss19-lower-bound", "bounds.private_lower_bound_rate", 0.5, F, 2, F),
    ("ss19-optimal ss19-same-order", "bounds.elimination_regret", steep, F),
    ("ss19-thm-4.4", "bounds.elimination_minimax_regret", 0.1, F),
    ("ss19-minimax-gap", "bounds.elimination_minimax_regret", lambda k, t, e: t**0.6, F),
    ("ss19-tree-variance ss19-tree-union", "BinaryTree.node_scale", HIGH_NODES, F),
    ("ss19-best-arm", "bounds.elimination_pulls", 100, F),
    ("ss19-attempts", "stats.laplace.sf", lambda x, loc, scale: 0.5, F),
    ("ss19-tree-necessary", "BinaryTree.error_quantile", lambda tree, beta: -log(beta), F),
    ("ss19-concentrated", "stats.norm.sf", lambda x, scale: 0.4, F),
    ("ss19-two-arms", "bounds.elimination_pulls", lambda *_: 1.0, F),
    # what UCB costs
    ("ss19-ucb-misses", "_over_gamma", lambda variant, horizon: 2.0, U),
    ("ss19-ucb-misses", "DPUCB.gamma", lambda policy, k, t: 40 * log(t), U),
    ("ss19-footnote-2", "noise_bracket", lambda n: 40.0, F),
    ("ss19-footnote-2", "_td16_printed", lambda log_t, e: log_t / e, F),
    ("ss19-footnote-3", "DPUCB.gamma", lambda policy, k, t: log(t) ** 4, F),
    ("ss19-k-squared", "bounds.elimination_regret", lambda gaps, t, **_: len(gaps) ** 2, H),
    ("ss19-k-squared", "bounds.elimination_regret", lambda gaps, t, **_: len(gaps), F),
    ("ss19-same-order", "SuccessiveElimination", UCB, H),
    ("ss19-lai-robbins", "bounds.lai_robbins_rate", lambda m: 1 / (m[0] - m[1]), H),
    ("ss19-lai-robbins", "bounds.lai_robbins_rate", lambda means: 1.0, F),
    ("ss19-ucb-minimax", "bounds.ucb_regret", lambda gaps, t: t, F),
    ("ss19-ucb-minimax", "REACHED", 10**4, F),
    # Tossou & Dimitrakakis: counters, actions, DP-UCB-INT
    ("td16-hybrid td16-thm-3.1", "HybridCounter.part_epsilon", budget(1 / 2), H),
    ("td16-hybrid td16-unbounded", "HybridCounter.node_scale", 0.5, F),
    ("td16-bound-2.2", "HybridCounter.error_probability", lambda *_: 0.0, H, lambda *_: 1.0, F),
    ("td16-text-definition", "_repeated", lambda e, n: (e, e), H),
    ("td16-thm-3.1 td16-groups", "HybridCounter.part_epsilon", budget(2), F),
    ("td16-thm-3.1", "_path_probabilities", lambda counter: 2 * (np.linspace(0, 1, 9),), U),
    ("td16-thm-3.1-def-2.1", "HybridCounter.part_epsilon", budget(1 / 4), H),
    ("td16-thm-3.1-def-2.1", "step_of", lambda past, chunks: SMALL_STEP, U),
    ("td16-lemma-3.1 td16-thm-3.4-first", "DPUCBInt.losses", 1.01, F),
    ("td16-lemma-3.1", "_scales_used", 0.99, F),
    ("td16-thm-3.4-first", "DPUCBInt.losses", 1e-4, H),
    ("td16-groups", "privacy.epsilon_at", {"lower": 1e-3, "upper": 1e-3}, H),
    ("td16-cor-3.2", "privacy.epsilon_at", {"lower": 1e-3, "upper": 1e-3}, U),
    ("td16-cor-3.2 td16-groups", "_parts", lambda losses: (losses, losses[:1]), U),
    ("td16-groups", "element_loss", 1.01, F),
    (ON_STEPS, "certificates.first_choice_fails", refused, U),
    (ON_STEPS, "first_choice", 0.01, U),
    ("td16-abstract", "kept_regret", lambda gap, t, *_: log(t) ** 2, U),
    ("td16-abstract", "_true", lambda losses: 0.0, H),
    ("td16-better-interval", "first_choice", 0.01, H),
    # regret of DP-UCB, and noise
    ("td16-thm-3.2", "_printed_3_2", 1e6, U),
    ("td16-thm-3.3", "_printed_3_3", 0.01, F),
    ("td16-thm-3.3-order", "bounds.dp_ucb_hybrid_regret", lambda gaps, t, **_: log(t) ** 3, F),
    ("td16-thm-3.3-order", "bounds.dp_ucb_hybrid_regret", lambda gaps, t, **_: log(t), H),
    ("td16-previous-order", "_previous_gamma", lambda k, t: log(t) ** 3, F),
    ("td16-previous-order", "_previous_gamma", lambda k, t: k * log(t) ** 4, F),
    ("td16-hybrid-noise", "_variance", lambda c, n: 2 * math.log2(n) ** 2, H, lambda c, n: n, F),
    ("td16-same-noise", "_mean_deviation", lambda pulls, time: 1.0, H),
    ("td16-below-bonus", "_scale_over_bonus", lambda v, n, t: 1 / t, H),
    ("td16-factor-bound", "_first_private", lambda log_t, e: log_t**2 / e, F),
    ("td16-factor-bound", "_first_private", lambda log_t, e: log_t / e, H),
    # Tao, Wu, Zhao & Wang
    ("twzw22-lemma-2-private", "AdaptiveTree.node_scale", 0.9, F),
    ("twzw22-lemma-2-noise", "_noise_order", lambda log_n, beta: log_n * -log(beta), F),
    ("twzw22-lemma-2-noise", "_noise_order", lambda log_n, beta: log_n * sqrt(-log(beta)), F),
    ("twzw22-thm-1", "AdaptiveTree.node_scale", 0.5, F),
    ("twzw22-lemma-3", "_bonus_order", lambda log_term, order: log_term, H),
    ("twzw22-lemma-3", "AdaptiveTree.error_factor", lambda tree, log_term: log_term**3, F),
    ("twzw22-thm-2", "bounds.dprucb_pulls", lambda gap, t, *_: log(t) ** 4, F),
    ("twzw22-thm-3 twzw22-thm-6", "heavy_epoch", {"noise_scale": 0.9}, F),
    ("twzw22-lemma-4", "robust_means.central_width", (1, 1.5), F),
    ("twzw22-lemma-4", "bounds.heavy_elimination_pulls", lambda gap, *_: gap**-4, F),
    ("twzw22-thm-4-minimax", "bounds.heavy_elimination_pulls", lambda gap, *_: gap**-4, F),
    ("twzw22-lemma-10", "_raw_over_central", lambda *_: 1.5, H),
    ("twzw22-lemma-10", "_central", 5.0, F),
    ("twzw22-optimal", "bounds.heavy_elimination_regret", steep, F),
    ("twzw22-optimal", "bounds.heavy_divergence", 100.0, F),
    ("twzw22-optimal", "bounds.heavy_divergence", 1e-6, F),
    ("twzw22-remark-2", "bounds.heavy_divergence", lambda gap, *_: gap, F),
    ("twzw22-local-ucb", "_index_width", lambda *_: 1.0, F),
    ("twzw22-thm-7-gaps", "bounds.heavy_divergence", lambda g, e, *_: math.expm1(e) ** 2 * g**2, U),
    ("twzw22-thm-8", "bounds.heavy_divergence", 1e4, F, lambda gap, *_: 1.0, F),
    ("twzw22-thm-9", "bounds.heavy_minimax_lower_bound", lambda horizon, *_: horizon**0.4, F),
    ("twzw22-remark-4", "bounds.heavy_minimax_lower_bound", non_private_power, F),
    ("twzw22-lemma-12", "bounds.group_privacy_factor", 9, F),
    ("twzw22-lemma-12", "bounds.group_privacy_factor", lambda d, e, n=1: 5.9 * e * d * n, H),
    ("twzw22-lemma-15", "bounds.local_kl_bound", 0.1, F),
    ("twzw22-thm-2 twzw22-tree-suboptimal", "_ratio_of_bounds", lambda k, order: 1.0, F),
    ("twzw22-thm-2", "_power_over_lower_bound", lambda order: 9.0, F),
    ("twzw22-thm-7-gaps", "share_dropped", lambda schedule, order: (10, 400), U),
    ("twzw22-thm-7 twzw22-conjecture", "bounds.heavy_minimax_lower_bound", non_private_power, U),
    ("twzw22-thm-7-gaps", "bounds.heavy_elimination_regret", steep, U),
    ("twzw22-thm-7", "bounds.heavy_elimination_pulls", lambda gap, *_: gap**-8, U),
    ("twzw22-s3-largest", "_bound_on", lambda name, order, epsilon: "321".index(name[1]) + 1.0, F),
    ("twzw22-two-arms", "_rare", (2, 1), U),
    ("twzw22-two-arms", "bounds.heavy_divergence", lambda gap, *_: gap, U),
    ("twzw22-thm-5-union", "_missed", lambda k, log10_t: 100 / (1 + log10_t), F),
    ("twzw22-bounded-price", "bounds.private_regret_rate", a_factor, F),
    ("twzw22-table-1", "IN_TABLE", {"twzw22-none": "Theorem 99"}, F),
    ("twzw22-local-ucb", "robust_means.local_threshold", lambda *_: 1.0, F),
    ("twzw22-efficient", "robust_means.central_width", lambda *_: np.full(2, 9.0), F),
    # Jourdan & Azize
    ("ja25-switch-free", "privacy_switches", {"free": 0.5}, F, {"exact": 4.0}, F),
    ("ja25-switch-045", "SEEN", 0.2, F),
    ("ja25-as-badly", "sample_lower_bound", 100.0, F),
    ("ja25-any-class", "_optimal_price", 0.5, F),
    ("ja25-equation-5", "characteristic_time", time_of(lambda *means: 0.4 * means[-1]), F),
    ("ja25-equation-5", "_sum_of_prices", 1.1, F, lambda means, epsilon: 1e-9, F),
    ("ja25-thm-3", "_closed_form", 1.01, F, lambda x, y, e: e * (abs(x - y) - e / 8), F),
    ("ja25-switch-045", "INSTANCES", EVEN, F),
    ("ja25-best-epsilon", "privacy_switches", {"exact": 1.5}, F),
    ("ja25-tighter", "characteristic_time", time_of(free_time), F),
    ("ja25-high-privacy", "total_variation_time", 1.01, F),
    ("ja25-lemma-43 ja25-constant-8", "characteristic_time", time_of(long_with_half), F),
    ("ja25-near-ties", "characteristic_time", time_of(lambda *_: 100.0), F),
    ("ja25-thm-2", "kl", lambda x, y: np.log(1 / (2.5 * y)), F),
    ("ja25-lemma-4 ja25-same-guarantee", "DPTT.decide", released_twice, F),
    ("ja25-lemma-4", "DPTT.release", released_bare, F, without_noise, F),
    ("ja25-lemma-4", "DPTT.decide", lambda *_: 0, F),
    ("ja25-lemma-4", "batches.laplace", lambda rng, scale: DRAW(rng, scale / 1000), F),
    ("ja25-log-threshold ja25-one-plus-eta", "chernoff_threshold", union_threshold, F),
    ("ja25-one-plus-eta", "next_release", lambda *a: round(1.1 * next_release(*a)), F),
    ("ja25-eta-zero", "calibrated_minus", lambda x, u, r, e: calibrated_minus(x, u, 0.0, e), F),
    ("ja25-eta-zero", "_log_tail", 0.5, F, lambda n, *_: -1.2 * n, F),
    *(
        (claim, "batched_top_two.estimates", estimated(accumulates, wrong), expected)
        for claim, accumulates, wrong, expected in (
            ("ja25-pan-privacy", False, lambda s: s.total / s.batch, F),
            ("ja25-pan-privacy", True, lambda s: 3 * s.total / s.released, H),
        )
    ),
    ("ja25-zcdp", "np", OTHER_EXP, F),
    ("ja25-forgetting", "_pulls_needed", lambda e, d, first, kept: 9.0 if kept else 18.0, H),
    ("ja25-forgetting", "_pulls_needed", lambda *_: 9.0, F),
    ("ja25-lemma-9", "_product_of_tails", lambda x: math.exp(-2 * x), F),
    ("ja25-same-guarantee", "AdaPTT.guarantee", guarantee(lambda rule: 2 * rule.epsilon), F),
    ("ja25-gaussian-mechanism", "_renyi", lambda order, shift, d: 2 * order / d, F),
    ("ja25-group-not-tight", "_most_power", power_of_the_pair, F),
    ("ja25-group-not-tight", "_group_delta", 2.0, F),
    ("ja25-group-divergence", "_laplace_divergence", lambda h, e: (e * h) ** 2, F),
    # Azize & Basu
    ("ab22-thm-2", "_private_minimax", 0.9, F),
    ("ab22-thm-2", "_demanded", 1e-3, H),
    ("ab22-equally-hard", "_private_minimax", 10.0, F),
    ("ab22-thm-3", "bounds.private_regret_rate", 0.9, F),
    ("ab22-regimes", "bounds.private_regret_rate", 0.1, H),
    ("ab22-bernoulli", "kl", 0.9, F, 4.0, F),
    ("ab22-thm-6", "_noise_scale", 0.9, F),
    ("ab22-thm-6", "PrintedAdaPUCB.play", quiet_play, F),
    ("ab22-thm-7", "bounds.printed_adap_ucb_regret", 0.4, F),
    ("ab22-thm-8", "kl", 4.0, F),
    ("ab22-thm-8", "_lucky", 0.5, F),
    ("ab22-table-1", "bounds.private_regret_rate", lambda *_: 1.0, F),
]
CONTROLS = [
    (claim, path, wrong, expected)
    for claims, path, *pairs in TABLE
    for claim in claims.split()
    for wrong, expected in zip(pairs[::2], pairs[1::2], strict=True)
]


def replace(patch, claim, path, wrong):
    """Replace a name; a bound is known to the package of bounds and to its module."""
    *owners, name = path.split(".")
    place = sys.modules[ALL[claim].check.__module__]
    for owner in owners:
        place = Halting if owner == "Halting" else getattr(place, owner)
    right = getattr(place, name)
    if callable(right) and isinstance(wrong, int | float | tuple | dict):
        wrong = scaled(right, wrong)
    within = vars(bounds).values() if place is bounds else ()
    for each in (place, *(m for m in within if isinstance(m, ModuleType) and hasattr(m, name))):
        patch.setattr(each, name, wrong)


# A certificate, what it is asked for in the claims, and what it must refuse
CERTIFICATES = [
    ("boundary_falls", (), (7.3,)),
    ("constant_below", (191, "0.08"), (190, "0.08")),
    ("constant_below", (342, "1"), (341, "1")),
    ("constant_falls", (), (0.8,)),
    ("printed_covers", (191, 22.5, "0.08"), (191, 22.5, "0.09")),
    ("printed_covers", (12, 0, "0.08", 48), (12, 0, "0.8", 48)),
    ("logarithm_bounded", (), (0.77,)),
    ("dagum_constant", (23,), (22,)),
    ("six_covers", (6, "2.918"), (6, "2.919")),
    ("six_fails", (6, "2.919"), (6, "2.918")),
    ("expected_needed", (23,), (22,)),
    ("median_needed", (5, "0.1"), (4, "0.1")),
    ("both_needed", (25,), (24,)),
    ("nas_time", (420,), (390,)),
    ("doubling_time", (440,), (420,)),
    ("pulls_in_order", (1150,), (1120,)),
    ("last_line_covers", (), (583, 87)),
    ("last_line_covers", (584, 88), (580, 96)),
    ("first_choice_fails", (680, 6e6), (670, 6e6)),
    ("first_choice_fails", (680, 6e6), (680, 6.1e6)),
]


@pytest.mark.parametrize(("name", "asked", "too_much"), CERTIFICATES)
def test_a_certificate_stands_and_its_false_variant_is_refused(name, asked, too_much):
    home = ss19_certificates if hasattr(ss19_certificates, name) else td16_certificates
    prove = getattr(home, name)
    found = prove(*asked)
    assert found.boxes < 200 and found.margin > 1e-5
    with pytest.raises(NotCertifiedError, match="the inequality"):
        prove(*too_much)


def test_every_certificate_of_a_claim_has_a_false_variant():
    proofs = {proof for _, *some in PROOFS for proof in some} | {"first_choice_fails"}
    assert {row[0] for row in CERTIFICATES} == proofs
    shown = {name for name, *_ in PROOFS} | {*ON_STEPS.split()}
    for claim in claims.recorded():
        shows = any(name.startswith("certified: ") for name in claim.evidence)
        assert shows == (claim.id in shown), claim.id


def test_what_is_certified_agrees_with_the_package():
    """The formulas of the certificates are those of the bounds, at some points."""
    for beta in (0.08, 0.5, 0.999):
        constant = bounds.stopping_constant(beta)
        ss19_certificates.constant_below(constant + 1e-6, str(beta))
        with pytest.raises(NotCertifiedError):
            ss19_certificates.constant_below(constant - 1e-6, str(beta))
    least = log(0.4 / 0.1) / log(10) / (4 * log(2))
    ss19_certificates.median_needed(1 / least + 1e-6, "0.1")
    with pytest.raises(NotCertifiedError):
        ss19_certificates.median_needed(1 / least - 1e-6, "0.1")
    for mean, alpha, epsilon in itertools.product((1.0, 0.1), (0.99, 0.01), (1e-3, 1.0, 30.0)):
        median = bounds.private_stopping_lower_bound(mean, alpha, 0.1, epsilon)
        assert median * epsilon * alpha * mean / log(10) > least


def test_every_claim_has_a_false_variant():
    """No claim is left out: its check has to come out otherwise at least once."""
    assert {row[0] for row in CONTROLS} | SPOILT == set(ALL)


@pytest.mark.parametrize(("claim", "path", "wrong", "expected"), CONTROLS)
def test_a_false_variant_changes_the_verdict(claim, path, wrong, expected, monkeypatch):
    assert ALL[claim].verdict != expected
    replace(monkeypatch, claim, path, wrong)
    assert ALL[claim].check().verdict == expected


@pytest.mark.parametrize(
    ("claim", "path", "wrong", "gone"),
    [
        ("ss19-lemma-4.2", "_halving", lambda: (2.1, 1.9), "is false when arms are dropped"),
        ("ss19-same-order", "SuccessiveElimination", UCB, "are not the same"),
        ("ss19-k-squared", "bounds.elimination_regret", lambda g, t, **_: len(g) ** 2, "stays in"),
        ("td16-text-definition", "_two_steps", lambda e, f: (e, e), "two thresholds"),
        ("td16-cor-3.2-def-2.1", "next_action", lambda *_, **__: (0.01, 0.01), "by quadrature"),
        ("td16-bound-2.2", "_failure", lambda *a: 0.5, "it fails there from"),
        ("td16-thm-3.2", "bounds.dp_ucb_bound_regret", lambda g, t, **_: t, "no faster than"),
    ],
)
def test_what_a_reason_says_beyond_the_verdict_is_computed(claim, path, wrong, gone, monkeypatch):
    """The sentence goes, or turns round, with the number that it rests on."""
    assert gone in ALL[claim].finding.reason
    replace(monkeypatch, claim, path, wrong)
    assert gone not in ALL[claim].check().reason
