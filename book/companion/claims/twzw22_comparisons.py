"""Claims of Tao, Wu, Zhao & Wang (2022) on mechanisms and lemmas, and between bounds.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from companion.claims import twzw22_experiments
from companion.claims.findings import Finding, claim, claims_of, entries, extremes, finding
from companion.claims.td16_privacy import element_loss
from companion.claims.twzw22_experiments import FIGURES, Results
from companion.claims.twzw22_rates import ORDERS, growth
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from dpbandits import bounds
from dpbandits.heavy import robust_means
from dpbandits.heavy.schedules import heavy_epoch
from dpbandits.identification import kl
from dpbandits.mechanisms import HybridCounter
from dpbandits.rewards.heavy_instances import twzw22
from dpbandits.rewards.heavy_laws import ParetoLaw

PRINTED = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}


def _laplace_loss(moves: tuple[float, ...], scale: float) -> float:
    """Return the greatest log ratio of densities when coordinate i moves by moves[i]."""
    places = np.linspace(-40, 40, 8001)
    return float(
        sum(np.max(np.abs(np.abs(places - m) - np.abs(places))) / scale for m in moves if m)
    )


@claim("twzw22-lemma-1", "Lemma 1", at="thm-rse")
def parallel() -> Finding:
    """ε-DP mechanisms on disjoint data sets are ε-DP together."""
    epsilon = 0.7
    one = _laplace_loss((1.0, 0.0, 0.0), 1 / epsilon) / epsilon
    shared = _laplace_loss((1.0, 1.0, 1.0), 1 / epsilon) / epsilon
    return finding(
        decide(one <= 1 + 1e-9 < shared),
        "Proved: a changed entry is in one of the disjoint parts. It stays true if the parts are "
        "chosen one after the other from what was released, as long as they are disjoint.",
        ("loss / ε of three mechanisms, disjoint data", one, 6),
        ("the same, shared data", shared, 6),
    )


@claim("twzw22-laplace", "Definition 3", at="thm-central-mean")
def laplace() -> Finding:
    """The Laplacian mechanism preserves ε-DP."""
    epsilon = 0.5  # sum(moves) is the sensitivity in the L1 norm
    losses = [
        _laplace_loss(moves, sum(moves) / epsilon) / epsilon
        for moves in ((1.0,), (0.5, 0.5), (0.1, 0.2, 0.7))
    ]
    largest = _laplace_loss((1.0, 1.0), 1.0 / epsilon) / epsilon
    return finding(
        decide(max(losses) <= 1 + 1e-9 < largest),
        "With the sensitivity in the L1 norm over all coordinates; the greatest move of one "
        "coordinate in its place would not do.",
        ("loss / ε", max(losses), 6),
        ("with the largest coordinate", largest, 6),
    )


@claim("twzw22-ldp", "§3.2", at="def-local")
def stronger() -> Finding:
    """Local privacy is stronger than privacy."""
    central = heavy_epoch(5, 2, 0.01, 1.0, 1.0, 1.0, "global", "printed")
    local = heavy_epoch(5, 2, 0.01, 1.0, 1.0, 1.0, "local", "minimax")
    # of the sum of R rewards; and of one reward that is released with the noise of their mean
    epoch = 2 * central.bound / central.noise_scale
    alone = epoch * central.pulls
    each = 2 * local.bound / local.noise_scale
    return finding(
        decide(each <= 1 + 1e-9 and epoch <= 1 + 1e-9 < alone),
        "What is released of each reward alone with loss ε is, with all that follows from it, "
        "ε-private for one changed reward. The converse is false: the noise of DPRSE's mean hides "
        "a reward among R others, and not on its own.",
        ("LDPRSE: loss of a reward / ε", each, 6),
        ("DPRSE: loss of a reward in the mean of an epoch / ε", epoch, 6),
        ("DPRSE: loss of a reward alone with that noise / ε", alone, ".3g"),
    )


@claim("twzw22-lemma-12", "Lemma 12, cited", at="thm-heavy-lower")
def lemma_12() -> Finding:
    """(reconstructed) Under ε-DP, n samples at distance d change probabilities by e^{6εnd}."""
    crossing = brentq(lambda e: math.expm1(e) - 6 * e, 1, 5)
    distances = np.geomspace(1e-6, 1, 50)
    within = all(
        bool(np.all(bounds.group_privacy_factor(distances, e, 7) <= 7 * 6 * e * distances))
        for e in np.linspace(0.01, crossing, 40)
    )
    beyond = float(bounds.group_privacy_factor(1e-3, 4.0)) > 6 * 4.0 * 1e-3
    return finding(
        decide(within, CONDITION if beyond else HOLDS, FAILS),
        "As SS19's Lemma 3.5: if e^ε − 1 ≤ 6ε. The theorems that use it are for ε ≤ 1, so that it "
        "costs nothing there; the sharp factor is (1 + d(e^ε − 1))^n.",
        ("greatest ε for every n and d", crossing, 4),
    )


def _second_arm(history: Sequence[tuple[int, int]]) -> float:
    """Return the probability that a policy plays arm 1 after (arm, reward), …; any will do."""
    won = sum(reward for arm, reward in history if arm == 1)
    lost = sum(1 - reward for arm, reward in history if arm == 1)
    return (1 + won) / (2 + won + 2 * lost)


@claim("twzw22-lemma-14", "Lemma 14, cited", at="lem-contraction")
def lemma_14() -> Finding:
    """(reconstructed) The divergence of the histories is the sum of expected pulls times KL."""
    laws = ((0.6, 0.3), (0.6, 0.8))  # instance → arm → probability of a reward of 1
    divergence, pulls = 0.0, [0.0, 0.0]
    for history in itertools.product(itertools.product((0, 1), (0, 1)), repeat=5):
        p = q = 1.0
        for n, (arm, reward) in enumerate(history):
            choice = _second_arm(history[:n]) if arm else 1 - _second_arm(history[:n])
            here, there = (law[arm] if reward else 1 - law[arm] for law in laws)
            p, q = p * choice * here, q * choice * there
        divergence += p * math.log(p / q)
        for arm, _ in history:
            pulls[arm] += p
    right = sum(n * float(kl(p, q)) for n, p, q in zip(pulls, *laws, strict=True))
    return finding(
        decide(math.isclose(divergence, right, rel_tol=1e-9) and divergence > 0.01),
        "Proved by the chain rule. Computed by going through all histories of five rounds of a "
        "policy that depends on them.",
        ("divergence of the histories", divergence, 6),
        ("sum over the arms", right, 6),
    )


@claim("twzw22-lemma-15", "Lemma 15, cited", at="lem-contraction")
def lemma_15() -> Finding:
    """(reconstructed) Under ε-LDP a pull adds at most a constant times (e^ε − 1)²·TV² to it."""
    rng, tried = np.random.default_rng(70), []
    for epsilon in (0.1, 1.0, 3.0):
        for _ in range(300):
            base = rng.dirichlet(np.ones(4))
            bits = rng.integers(0, 2, size=(2, 4))
            # any two columns of a binary channel scaled into [1, e^ε]: extreme points of all
            channel = base * np.exp(epsilon * bits)
            top = channel.sum(axis=1).max()
            channel = np.column_stack([channel, top - channel.sum(axis=1)]) / top
            rest = channel[:, -1]
            if rest.min() > 0 and rest.max() / rest.min() <= math.exp(epsilon):
                tried.append((epsilon, *rng.uniform(0.02, 0.98, 2), channel))
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        response = np.array([[keep, 1 - keep], [1 - keep, keep]])
        tried += [(epsilon, p, q, response) for p in (0.1, 0.5, 0.9) for q in (0.2, 0.6)]
    worst = 0.0
    for epsilon, p, q, channel in tried:
        first, second = (np.array([1 - x, x]) @ channel for x in (p, q))
        divergence = float(np.sum(first * np.log(first / second)))
        worst = max(worst, divergence / bounds.local_kl_bound(epsilon, abs(p - q)))
    return finding(
        decide(0.1 < worst <= 1),
        "Proved in the chapter with (e^ε − 1)²·TV² for each pull. Tried on randomised response and "
        "on random private channels. The constant of the text is lost.",
        ("divergence of a release / bound, greatest", worst, 4),
    )


@claim("twzw22-unbounded", "§4", at="lem-truncation")
def not_directly() -> Finding:
    """Methods for bounded rewards cannot be used directly on heavy-tailed ones."""
    counter = HybridCounter(1.0)  # for rewards in [0, 1]
    loss = max(element_loss(counter, i, 16) for i in range(1, 17))
    losses = {reward: loss * reward for reward in (1.0, 1e3, 1e9)}
    return finding(
        decide(losses[1.0] <= 1 + 1e-9 and losses[1e9] > 1e6),
        "The noise of a counter for rewards in [0, 1] hides one reward of that size; the loss of a "
        "greater one grows in proportion, and no finite scale is enough for all.",
        entries("loss / ε of a reward of {:g}", losses),
    )


@claim("twzw22-efficient", "§4", at="thm-central-mean")
def efficient() -> Finding:
    """(reconstructed) Privacy makes the number of efficient samples nε, up to logarithms."""

    def ratio(n: float, effective: float, order: float, epsilon: float) -> float:
        """Return the error over that of a truncated mean of some rewards without noise, u = 1."""
        err, factor = robust_means.central_width(n, 1.0, order, epsilon, 10.0)
        return float(err * factor / (4 * (10.0 / effective) ** (order / (1 + order))))

    ratios = [
        ratio(n, n * epsilon, order, epsilon)
        for order, epsilon, n in itertools.product(ORDERS, (1.0, 0.1, 1e-3), (1e6, 1e12))
    ]
    low, high = (
        math.log(bounds.dprucb_pulls(0.1, 10**k, 1.0, 1.0, 1.0) / math.log(10**k)) for k in (20, 80)
    )
    trees = (high - low) / math.log(4)
    beyond = ratio(1e6, 1e6, 1.0, 100.0)
    return finding(
        decide(max(ratios) < 4 and min(ratios) > 0.25, CONDITION if beyond < 4 else HOLDS, FAILS),
        "For ε ≤ 1: one private mean of n rewards is as good as one without privacy of nε, up to a "
        "constant. For large ε no more than n rewards count. In a tree that releases all sums "
        "it is nε over a power of log T.",
        extremes("error / that of nε rewards without privacy", ratios, 3, short=True),
        ("power of log T that a tree adds, v = 1", trees, 2),
    )


def _ratio_of_bounds(log10_horizon: int, order: float) -> float:
    problem: Any = {"epsilon": 1.0, "moment": 1.0, "order": order}
    ucb = bounds.dprucb_regret([0.0, 0.1], 10**log10_horizon, **problem)
    return float(ucb / bounds.heavy_elimination_regret([0.0, 0.1], 10**log10_horizon, **problem))


@claim("twzw22-improved", "§1; §4", at="thm-dprucb")
def improved() -> Finding:
    """(reconstructed) The regret bound of DPRSE improves on that of DPRUCB by a power of log T."""
    ratios = {v: _ratio_of_bounds(90, v) / _ratio_of_bounds(60, v) for v in ORDERS}
    powers = {v: math.log(ratio) / math.log(90 / 60) for v, ratio in ratios.items()}
    return finding(
        decide(min(powers.values()) > 0.5),
        "Of the bounds: ours for DPRUCB with widths that are valid grows like log²T, that for "
        "DPRSE like log T. The text's own factor is lost.",
        entries("power of log T between the bounds, v = {}", powers, 2),
    )


@claim("twzw22-near-optimal", "Abstract; §7", at="thm-dprucb")
def near_optimal() -> Finding:
    """DPRUCB is near optimal."""
    powers = {}
    for order in ORDERS:
        early, late = (
            float(bounds.dprucb_regret([0.0, 0.1], 10**k, epsilon=1.0, moment=1.0, order=order))
            / (0.1 / bounds.heavy_divergence(0.1, 1.0, 1.0, order) * math.log(10**k))
            for k in (60, 90)
        )
        powers[order] = math.log(late / early) / math.log(90 / 60)
    return finding(
        decide(max(powers.values()) < 3, CONDITION if min(powers.values()) > 0.5 else HOLDS, FAILS),
        "Up to a power of log T, which is 1 for widths that are valid: see Theorem 2 for those "
        "of the text.",
        entries("power of log T between bound and lower bound, v = {}", powers, 2),
    )


@claim("twzw22-tree-suboptimal", "§2; §4", at="thm-dprucb")
def tree_suboptimal() -> Finding:
    """UCB with a tree can only achieve a suboptimal bound, as its choices depend on rewards in each
    round.
    """
    early, late = (_ratio_of_bounds(k, 1.0) for k in (60, 90))
    return finding(
        decide(late > early, CANNOT_TELL, FAILS),
        "What is shown, there and here, is an upper bound for DPRUCB that is greater than that for "
        "DPRSE. No lower bound on the regret of UCB with a tree is given, and that choices at "
        "every round are the reason is not more than a guess. With bounded rewards later work has "
        "UCB without a tree that is optimal.",
        ("bound of DPRUCB / bound of DPRSE, v = 1, T = 10⁶⁰", early, 3),
        ("the same, T = 10⁹⁰", late, 3),
    )


@claim("twzw22-local-noise", "§5", at="thm-local-mean")
def local_noise() -> Finding:
    """The noise of a reward in LDPRSE does not grow with the number of rounds, as it does in the
    UCB method.
    """

    def truncation(horizon: float) -> float:
        """Return that of the first epoch."""
        return float(heavy_epoch(5, 1, 1 / horizon, 1.0, 1.0, 1.0, "local", "minimax").bound)

    grows = growth(truncation, 1e20, 1e80)
    index = growth(
        lambda t: robust_means.local_threshold(t, 1.0, 1.0, 1.0, math.log(t)), 1e20, 1e80
    )
    return finding(
        decide(abs(grows) < 0.02 and index > 0.2),
        "The truncation of an epoch, and with it the noise of each reward, is set by the number "
        "of the epoch; one that grows with the round t grows like a power of t. If an index counts "
        "the arm's own pulls the difference goes: see the claim on the UCB method.",
        entries("truncation of epoch 1, T = 10^{}", {k: truncation(10.0**k) for k in (20, 80)}, 3),
        ("power of T in it", abs(grows), 4),
        ("power of t in a truncation for t rewards", index, 3),
    )


@claim("twzw22-settings", "§6", at="the-paper-s-figures")
def settings() -> Finding:
    """In Setting 2 a larger fraction of arms has large gaps, in Setting 3 small ones."""
    gaps = {name: np.sort(twzw22(name, 0.5).gaps) for name in ("S1", "S2", "S3")}
    off = max(
        float(np.abs(twzw22(name, v).means - np.array(PRINTED[name])).max())
        for name in gaps
        for v in (0.5, 0.9)
    )
    above = [gaps[a] - gaps[b] for a, b in (("S2", "S1"), ("S1", "S3"))]
    ordered = bool(np.all(np.array(above) >= -1e-12))
    even, fast, slow = (np.diff(gaps[name], 2) for name in ("S1", "S2", "S3"))
    shapes = bool(np.all(np.abs(even) < 1e-9) and np.all(fast < 0) and np.all(slow > 0))
    return finding(
        decide(off < 1e-12 and ordered and shapes),
        "The means are those printed: gaps grow linearly, fast at first, and slowly at first; gap "
        "by gap S2 is above S1, and S1 above S3.",
        {f"sum of gaps, {name}": round(float(g.sum()), 3) for name, g in gaps.items()},
    )


@claim("twzw22-pareto", "§6", at="the-paper-s-figures", reconstructed=True)
def pareto() -> Finding:
    """The moment of order 1 + v of the Pareto rewards exists and is at most u."""
    ratios, finite = [], True
    for name, order in itertools.product(PRINTED, (0.5, 0.9)):
        instance = twzw22(name, order)
        for law, mean in zip(instance.laws, PRINTED[name], strict=True):
            assert isinstance(law, ParetoLaw)
            shape, scale = law.shape, law.scale
            ratios.append(shape * scale / (shape - 1) / mean)
            moment = shape * scale ** (1 + order) / (shape - 1 - order)
            finite = finite and shape > 1 + order and moment <= instance.moment_bound * (1 + 1e-9)
    return finding(
        decide(finite and max(ratios) < 1 + 1e-9 and min(ratios) > 1 - 1e-9),
        "For shapes above 1 + v; with ours, 1.05 + v, which is inferred, the moment is finite and "
        "u is the greatest over the arms.",
        extremes("shape·scale/(shape − 1) over the mean", ratios, 9, short=True),
    )


@claim("twzw22-support", "Abstract; §6", at="the-paper-s-figures", needs=(FIGURES,))
def support(results: Results) -> Finding:
    """All results of the experiments support the theory."""
    counts = {"surely agree": 0, "ties": 0, "surely disagree": 0}
    for other in claims_of(twzw22_experiments.__name__):
        if FIGURES in other.needs:
            evidence = other.check(results).evidence
            counts = {name: n + int(evidence.get(name, 0)) for name, n in counts.items()}
    verdict = decide(counts["surely disagree"] == 0, HOLDS, CONDITION)
    return finding(
        decide(counts["surely agree"] > 0, verdict, FAILS),
        "Of the comparisons that the text draws from its figures most come out the same in our "
        "runs; that of DPRSE and DPRUCB depends on v and the horizon. Pareto arms, whose rare "
        "rewards are all good news, do not show the rate of Theorem 7 to be wrong: two-point arms "
        "do.",
        counts,
    )
