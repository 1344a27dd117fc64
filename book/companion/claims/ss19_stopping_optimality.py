"""Claims of Sajed & Sheffet (2019), §3.1 and §6: lower bounds of stopping rules, optimality."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from companion.claims.ledger import CONDITION, FAILS, Claim, Finding, decide
from dpbandits import bounds
from dpbandits.rewards.instances import low_variance, shifted_beta, two_point, uniform
from dpbandits.rewards.laws import Law, TwoPointLaw
from dpbandits.stopping import DPExponentialNAS

__all__ = ["CLAIMS"]

PAPER = "ss19"


def _laws() -> Iterator[Law]:
    """Laws of all kinds: large and small mean, large and small variance."""
    for mean in (1e-4, 0.01, 0.3, 0.9):
        yield two_point(mean)
        yield uniform(mean)
        for deviation in (1e-6, 0.1 * mean, 0.9 * (1 - mean)):
            yield low_variance(mean, deviation)
    yield shifted_beta(3, 2)
    yield shifted_beta(0.6, 0.5)


def _dagum() -> Finding:
    ratios = [
        bounds.stopping_lower_bound(law, alpha, beta)
        / bounds.dagum_rate(law, alpha, beta)
        / ((1 - 2 * beta) * math.log((1 - beta) / beta) / math.log(1 / beta))
        for law in _laws()
        for alpha, beta in itertools.product((0.01, 0.5, 0.95), (1e-9, 0.1, 0.4))
    ]
    return Finding(
        decide(min(ratios) >= 1 / 23),
        "Derived here for every law on [−R, R], in expectation and with the constant "
        "(1 − 2β)·log((1 − β)/β)/log(1/β)/23.",
        {"lower bound / rate, least": round(min(ratios), 4)},
    )


def _lemma_3_5() -> Finding:
    crossing = brentq(lambda e: math.expm1(e) - 6 * e, 1, 5)
    distances = np.geomspace(1e-6, 1, 50)
    below = all(
        np.all(bounds.group_privacy_factor(distances, e) <= 6 * e * distances)
        for e in np.linspace(0.01, crossing, 60)
    )
    beyond = bounds.group_privacy_factor(1e-3, 4.0) > 6 * 4.0 * 1e-3
    return Finding(
        decide(bool(below and beyond), CONDITION),
        "Holds if e^ε − 1 ≤ 6ε. The sharp factor is (1 + d(e^ε − 1))^n, attained for every n, and "
        "exceeds the printed one for larger ε and small distances d.",
        {"greatest ε for every n and d": round(crossing, 4)},
    )


def _theorem_3_4() -> Finding:
    ratios, sharp = [], []
    budgets = (1e-4, 0.1, 2.0, 30.0, 1e3)
    for law in _laws():
        for alpha, beta in itertools.product((0.01, 0.5, 0.95), (1e-9, 0.1, 0.249)):
            size = abs(law.mean) / law.half_range
            lowers = bounds.stopping_complexity_lower_bound(law, alpha, beta, budgets)
            for epsilon, lower in zip(budgets, lowers, strict=True):
                rate = math.log(1 / beta) / (epsilon * alpha * size)
                ratios.append(float(lower) / rate)
                if epsilon <= 2.9 and beta <= 0.1:
                    private = bounds.private_stopping_lower_bound(
                        law.mean, alpha, beta, epsilon, law.half_range
                    )
                    sharp.append(private / rate)
    return Finding(
        decide(min(ratios) > 1 / 40 and min(sharp) > 1 / 12),
        "Holds on every law of mean μ, not on the hard one alone, and for every ε: up to "
        "ε = 2.918 the printed proof does for the hard one, beyond it the non-private bound takes "
        "over. The proof takes β < 1/4.",
        {
            "expected samples / (R·log(1/β)/(εα|μ|)), least": round(min(ratios), 4),
            "median samples / the same, ε ≤ 2.9, β ≤ 0.1, least": round(min(sharp), 4),
        },
    )


def _corollary_3_6() -> Finding:
    ratios = []
    for mean, alpha, beta, epsilon in itertools.product(
        (1e-4, 0.1, 0.5), (0.01, 0.5, 0.95), (1e-9, 0.1), (1e-6, 0.1, 2.0, 1e3)
    ):
        log_term = math.log(1 / beta)
        printed = log_term / (alpha * mean) ** 2 + log_term / (epsilon * alpha * mean)
        lower = bounds.stopping_complexity_lower_bound(two_point(mean), alpha, beta, epsilon)
        ratios.append(lower / printed)
    # at |μ| = R one private comparison finds out (a proposition of the chapter): n₁ samples
    few = [
        math.ceil(128 * math.log(4 / 0.05) * 2 / alpha) * alpha**2 / math.log(1 / 0.05)
        for alpha in (1e-2, 1e-4, 1e-6)
    ]
    falls = few[2] < 0.02 * few[1] < 4e-4 * few[0] and few[2] < min(ratios)
    return Finding(
        decide(min(ratios) > 1 / 40 and falls, CONDITION),
        "Holds on the law on {−R, R} if |μ| stays away from R, and so for some law. Its variance "
        "is R² − μ², which is not Θ(R²) near R: for |μ| = R a private rule needs of the order of "
        "1/α samples only.",
        {
            "lower bound / printed sum, |μ| ≤ R/2, least": round(min(ratios), 4),
            "a private rule / first term at |μ| = R, ε = 1, α = 10⁻⁴": round(few[1], 4),
            "the same at α = 10⁻⁶": round(few[2], 6),
        },
    )


def _matches() -> Finding:
    within, beyond = [], []
    for mean, alpha, beta in itertools.product(
        np.geomspace(1e-7, 0.3, 8), (0.01, 0.3, 0.9), (1e-6, 0.01, 0.1)
    ):
        if math.log(1 / (alpha * mean)) > 1 / beta:
            continue
        for epsilon in (alpha, 3 * alpha, 1e-4 * alpha * mean, 10.0):
            lower = bounds.stopping_complexity_lower_bound(two_point(mean), alpha, beta, epsilon)
            upper = bounds.stopping_samples(DPExponentialNAS(epsilon, alpha, beta), mean)
            within.append(upper / lower)
    for epsilon in (1e-4, 1e-16, 1e-40, 1e-80):
        rule = DPExponentialNAS(epsilon, 0.5, 0.2)
        lower = bounds.stopping_complexity_lower_bound(two_point(0.3), 0.5, 0.2, epsilon)
        look = rule.look(rule.noiseless_time(0.3))  # its boundary has no steps by doubling
        beyond.append(rule.threshold(look) / lower)
    grows = all(a < b for a, b in itertools.pairwise(beyond))
    return Finding(
        decide(max(within) < 2000 and grows, CONDITION),
        "In order, if |μ| stays away from R and log log(R/(ε|μ|)) is at most of the order of "
        "log(1/β)/α as well: for fixed α and β the quotient is unbounded as ε → 0, by the doubly "
        "logarithmic term that t₁ lacks. The distance in constants is large.",
        {
            "proved time / lower bound, least": round(min(within)),
            "greatest": round(max(within)),
            "boundary / lower bound at ε = 10⁻⁴, β = 0.2": round(float(beyond[0]), 1),
            "the same at ε = 10⁻⁸⁰": round(float(beyond[-1]), 1),
        },
    )


def _mild() -> Finding:
    greatest = 0.0
    for horizon in (10, 100, 10**4, 10**6, 10**9):
        beta = 1 / horizon
        for alpha in (0.01, 0.1, 0.5, 0.9):
            for mean in np.geomspace(1e-7, 1, 140):
                if bounds.stopping_lower_bound(two_point(mean), alpha, beta) <= horizon:
                    greatest = max(greatest, math.log(1 / (alpha * mean)) * beta)
                    break
    constant = math.exp(1 / 0.05)
    return Finding(
        decide(0 < greatest <= 1),
        "With β = 1/T, every mean that some rule can estimate with T samples on average satisfies "
        "it, by far. With β = 0.05 it allows means down to 2·10⁻⁹·R/α.",
        {
            "β·log(R/(α|μ|)), greatest": round(float(greatest), 3),
            "R/(α|μ|) allowed at β = 0.05": f"{constant:.1e}",
        },
    )


def _mixed(mean: float, deviation: float, alpha: float) -> tuple[float, float, float]:
    """Mix −R into a law of small variance: the distance, the new mean and the new variance."""
    law = low_variance(mean, deviation)
    distance = 2 * alpha * mean / ((1 + alpha) * (1 + mean)) * (1 + 1e-9)
    new = (1 - distance) * law.mean - distance
    square = (1 - distance) * (law.variance + law.mean**2) + distance
    return distance, new, square - new**2


def _bypass() -> Finding:
    confused, spread, same = True, [], []
    for mean, alpha in itertools.product((1e-3, 0.1, 0.5), (0.05, 0.5, 0.9)):
        deviation = 1e-6
        distance, new, variance = _mixed(mean, deviation, alpha)
        confused = confused and 0 < (1 + alpha) * new < (1 - alpha) * mean
        spread.append(variance / distance)
        narrow = bounds.private_stopping_lower_bound(mean, alpha, 0.05, 0.1)
        hard = bounds.private_stopping_lower_bound(mean, alpha, 0.05, 0.1, two_point=True)
        same.append(narrow / hard)
    shift = TwoPointLaw(1.0, 0.1 - 1e-6, 0.1 + 1e-6, 0.5).variance
    fits = confused and min(same) >= 0.5 and min(spread) > 0.5 and shift < 1e-11
    return Finding(
        decide(fits, CONDITION, FAILS),
        "Only for rules that need not be right on laws of large variance. A rule that is right "
        "on all of [−R, R] cannot bypass it by meeting a law of small variance: mixing −R into "
        "that law with probability 2α|μ|/((1 + α)(R + |μ|)) gives a law that it must tell apart, "
        "of variance about 2αR|μ|/(1 + α): a promise has to be stronger than that. No such rule is "
        "given there or here.",
        {
            "bound on a law of small variance / on the hard law, least": round(min(same), 3),
            "variance of the mixture / (R²·distance), least": round(min(spread), 3),
        },
    )


CLAIMS = (
    Claim(
        "ss19-dagum",
        PAPER,
        "§3.1, cited",
        "No stopping rule needs fewer than Ω(max{σ², Rα|μ|}·log(1/β)/(α²μ²)) samples.",
        _dagum,
    ),
    Claim(
        "ss19-lemma-3.5",
        PAPER,
        "Lemma 3.5",
        "Under ε-DP, n samples at distance d change probabilities by at most e^{6εnd}.",
        _lemma_3_5,
    ),
    Claim(
        "ss19-thm-3.4",
        PAPER,
        "Theorem 3.4",
        "Any ε-DP (α, β)-stopping rule needs Ω(R·log(1/β)/(εα|μ|)) samples.",
        _theorem_3_4,
    ),
    Claim(
        "ss19-cor-3.6",
        PAPER,
        "Corollary 3.6",
        "On some law any such rule needs Ω(R²·log(1/β)/(α²μ²) + R·log(1/β)/(εα|μ|)) samples.",
        _corollary_3_6,
    ),
    Claim(
        "ss19-thm-3.3-optimal",
        PAPER,
        "§3.1, discussion",
        "If log(R/(α|μ|)) ≤ 1/β, the bound of Theorem 3.3 matches that of Corollary 3.6.",
        _matches,
    ),
    Claim(
        "ss19-mild-assumption",
        PAPER,
        "§3.1, discussion",
        "The assumption log(R/(α|μ|)) ≤ 1/β is very mild, and trivial for β proportional to 1/T.",
        _mild,
    ),
    Claim(
        "ss19-variance-bypass",
        PAPER,
        "§6",
        "Restricted to laws of much smaller variance, one may bypass the private lower bound.",
        _bypass,
    ),
)
