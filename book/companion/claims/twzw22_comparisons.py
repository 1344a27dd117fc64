"""Claims of Tao, Wu, Zhao & Wang (2022) on mechanisms and lemmas, and between bounds.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

import itertools
import math

import numpy as np
from scipy.optimize import brentq

from companion.claims import (
    twzw22_central,
    twzw22_experiments,
    twzw22_local,
    twzw22_rates,
)
from companion.claims.findings import Finding, claim, claims_of, entries, extremes, finding
from companion.claims.twzw22_experiments import FIGURES, Results
from companion.claims.twzw22_rates import ORDERS
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from dpbandits import bounds
from dpbandits.heavy import robust_means


@claim("twzw22-lemma-12", "Lemma 12, cited", at="thm-mean-lower")
def lemma_12() -> Finding:
    r"""(reconstructed) Under ε-DP, $n$ samples at distance $d$ change probabilities by
    $e^{6\varepsilon nd}$.
    """
    crossing = brentq(lambda e: math.expm1(e) - 6 * e, 1, 5)
    distances = np.geomspace(1e-6, 1, 50)
    within = all(
        bool(np.all(bounds.group_privacy_factor(distances, e, 7) <= 7 * 6 * e * distances))
        for e in np.linspace(0.01, crossing, 40)
    )
    beyond = float(bounds.group_privacy_factor(1e-3, 4.0)) > 6 * 4.0 * 1e-3
    return finding(
        decide(within, CONDITION if beyond else HOLDS, FAILS),
        {
            CONDITION: "As SS19's Lemma 3.5: if e^ε − 1 ≤ 6ε. The theorems that use it are for ε ≤ "
            "1, so that it costs nothing there; the sharp factor is (1 + d(e^ε − 1))^n."
        },
        ("greatest ε for every n and d", crossing, 4),
    )


@claim("twzw22-lemma-15", "Lemma 15, cited", at="lem-contraction")
def lemma_15() -> Finding:
    r"""(reconstructed) Under ε-LDP a pull adds at most a constant times $(e^\varepsilon - 1)^2
    \cdot \mathrm{TV}^2$ to it.
    """
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
    reason = (
        "Proved in the chapter with ½(e^ε − 1)²·TV² for each pull; the text's constant is lost. "
        f"Checked at {len(tried)} private channels, random ones and randomised response."
    )
    return finding(
        decide(0.1 < worst <= 1),
        {HOLDS: reason},
        ("divergence of a release / bound, greatest", worst, 4),
    )


@claim("twzw22-efficient", "§4", at="thm-central-mean")
def efficient() -> Finding:
    r"""(reconstructed) Privacy makes the number of efficient samples $n\varepsilon$, up to
    logarithms.
    """

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
        {
            CONDITION: "For ε ≤ 1: one private mean of n rewards is as good as one without privacy "
            "of nε, up to a constant. For large ε no more than n rewards count. In a "
            "tree that releases all sums it is nε over a power of log T."
        },
        extremes("error / that of nε rewards without privacy", ratios, 3, short=True),
        ("power of log T that a tree adds, v = 1", trees, 2),
    )


def _rare(gap: float, order: float) -> tuple[float, float]:
    """Return (p, h): arm a of `cor-all-gaps` pays h more with probability p; u = 1."""
    p = (8 * gap / 3) ** ((1 + order) / order)
    return p, 2 * gap / p


def _moments(gap: float, order: float, best: float) -> tuple[float, float]:
    """Return E|X|^(1+v) of the changed arm a, and the lead of its changed mean."""
    p, more = _rare(gap, order)
    low = best - gap
    return (1 - p) * low ** (1 + order) + p * (low + more) ** (1 + order), p * more - gap


def _gaps(n_arms: int) -> list[float]:
    """Return gaps between 1/400 and 1/4, one for each worse arm."""
    return [float(gap) for gap in np.geomspace(0.25, 0.0025, n_arms - 1)]


def _together(n_arms: int, order: float, epsilon: float) -> float:
    """Return the lower bound for all arms at once, over log T, of `cor-all-gaps`."""
    gaps = _gaps(n_arms)
    return sum(g / bounds.heavy_divergence(4 * g / 3, epsilon, 1.0, order) for g in gaps)


@claim("twzw22-two-arms", "§4", at="cor-all-gaps")
def two_arms() -> Finding:
    """The hard instance of Bubeck et al. without privacy is only for two arms and cannot be
    generalized to K arms, so that a new one is necessary.
    """
    arms = [(g, v) for k, v in itertools.product((2, 5, 20), ORDERS) for g in _gaps(k)]
    moments = [_moments(gap, order, 0.25) for gap, order in arms]
    off = [abs(ahead / gap - 1) for (gap, _), (_, ahead) in zip(arms, moments, strict=True)]
    greatest = max(moment for moment, _ in moments)
    ratios = {
        k: [
            _together(k, v, e) / sum(g ** (-1 / v) / e for g in _gaps(k))
            for v, e in itertools.product(ORDERS, (0.01, 0.1, 1.0))
        ]
        for k in (2, 5, 20)
    }
    alike = max(map(max, ratios.values())) / min(map(min, ratios.values()))
    valid = greatest <= 1 + 1e-12 and max(off) < 1e-9
    return finding(
        decide(valid and alike < 10, FAILS, CANNOT_TELL),
        {
            FAILS: "A pair of two-armed instances that differ in the law of one arm extends to K: "
            "every further arm has the law of the worse one, each is changed alone, and what the "
            "pair proves holds for each. With gaps as one likes, a rare reward on one arm at a "
            "time gives Theorem 5's order so, constants explicit. The text of Bubeck et al. we do "
            "not have; the argument is for every such pair. Theorem 5 has instances of its own, "
            "and nothing rests on this sentence but that they are necessary."
        },
        ("greatest moment of order 1 + v, u = 1", greatest, 4),
        extremes("lower bound / sum of (log T/ε)·Δ^(−1/v), K = {}", ratios, 3),
    )


def _missed(n_arms: int, log10_horizon: float) -> float:
    """Bound the probability that some arm is missed, for regrets of T^(3/4) and gaps of 0.05.

    The square root of 2G/(ΔT) for each worse arm.
    """
    each: float = math.sqrt(2 / 0.05) * 10 ** (-log10_horizon / 8)
    return (n_arms - 1) * each


@claim("twzw22-thm-5-union", "Theorem 5, proof", at="cor-all-gaps")
def theorem_5_union() -> Finding:
    r"""(reconstructed) By the union bound over arms an algorithm of small regret plays, with at
    least a constant probability, every arm of a gap $\Delta_a$ about
    $\log T/(\varepsilon \Delta_a^{(1+v)/v})$ times, for large $T$.
    """
    from_here = {k: brentq(lambda x, k=k: _missed(k, x) - 0.5, 0, 400) for k in (2, 5, 20, 1000)}
    order = {k: _missed(k, 2 * from_here[k]) for k in from_here}
    return finding(
        decide(max(order.values()) < 0.05),
        {
            HOLDS: "For T large against K, as the text says: each arm is missed with a probability "
            "that falls like a power of T, if regrets are at most of order T^(3/4), the power that "
            "we take. For the expected regret no union is needed: expectations of pulls add up, "
            "and the bound then holds for every K."
        },
        entries("log10 T from which the union leaves 1/2, gaps 0.05, K = {}", from_here, 3),
        entries("probability of a miss at the square of that T, K = {}", order, ".2g"),
    )


@claim("twzw22-bounded-price", "§4; Remark 2", at="regret-that-privacy-enforces")
def bounded_price() -> Finding:
    r"""(reconstructed) With bounded rewards there is only an additional $\log T/\varepsilon$ for
    each worse arm, compared with the non-private case.
    """
    settings = list(itertools.product((0.001, 0.01, 0.1, 0.4), (0.001, 0.01, 0.1, 1.0)))
    rates = {s: bounds.private_regret_rate([0.5, 0.5 - s[0]], s[1]) for s in settings}
    free = {gap: bounds.lai_robbins_rate([0.5, 0.5 - gap]) for gap, _ in settings}
    sums = [rates[gap, e] / (free[gap] + 1 / e) for gap, e in settings]
    factors = [rates[gap, e] / free[gap] for gap, e in settings]
    return finding(
        decide(min(sums) > 0.4 and max(sums) < 1.1 and max(factors) > 100),
        {
            HOLDS: "The optimal rate on Bernoulli arms is within a factor of two of the sum of the "
            "non-private one and log T/ε. It is a term, as Remark 2 "
            "says; §4 has “factor”, and as a factor it would depend on the gaps. Both formulas are "
            "lost in our copy."
        },
        extremes("optimal rate / (non-private rate + 1/ε)", sums, 3, short=True),
        extremes("optimal rate / non-private rate", factors, ".3g"),
    )


IN_TABLE = {
    "twzw22-thm-2": "Theorem 2",
    "twzw22-optimal": "Theorems 4 and 5",
    "twzw22-thm-4-minimax": "Theorem 4",
    "twzw22-thm-7": "Theorem 7",
    "twzw22-thm-7-gaps": "Theorem 7",
    "twzw22-thm-8": "Theorem 8",
    "twzw22-thm-9": "Theorem 9",
}
"""Claims on the bounds that Table 1 should list, by its caption."""


@claim("twzw22-table-1", "Table 1", at="regret-that-privacy-enforces")
def table_1() -> Finding:
    """The paper's bounds stand beside those for bounded and sub-Gaussian rewards."""
    modules = (twzw22_central, twzw22_rates, twzw22_local)
    known = {one.id: one for module in modules for one in claims_of(module.__name__)}
    judged = [known[name] for name in IN_TABLE if name in known]
    read = [one for one in judged if not one.reconstructed]
    return finding(
        decide(len(judged) == len(IN_TABLE) and len(read) < len(judged), CANNOT_TELL, FAILS),
        {
            CANNOT_TELL: "The table is lost in our copy: only its caption is there. By that it "
            "lists expected regrets for heavy tails, which are judged theorem by theorem, and "
            "known ones for bounded and sub-Gaussian rewards; the chapter's table of rates is ours."
        },
        ("bounds for heavy tails that are judged by themselves", len(judged)),
        ("of these, read", len(read)),
    )


@claim(
    "twzw22-support",
    "Abstract; §6",
    at="the-paper-s-experiments",
    needs=(FIGURES,),
    reconstructed=True,
)
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
        {
            CONDITION: "Of the comparisons that the text draws from its figures, settings "
            "inferred, most come out the same in our runs; that of DPRSE and DPRUCB "
            "depends on v and on constants. On Pareto arms rare rewards are all good "
            "news: they are little evidence about rates."
        },
        counts,
    )
