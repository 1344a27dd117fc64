"""Claims of Tao, Wu, Zhao & Wang (2022) on mechanisms and lemmas, and between bounds.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

import itertools
import math

import numpy as np
from scipy.optimize import brentq

from companion.claims import twzw22_experiments
from companion.claims.findings import Finding, claim, claims_of, extremes, finding
from companion.claims.twzw22_experiments import FIGURES, Results
from companion.claims.twzw22_rates import ORDERS
from companion.claims.verdicts import CONDITION, FAILS, HOLDS, decide
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
            "news: they say little about rates."
        },
        counts,
    )
