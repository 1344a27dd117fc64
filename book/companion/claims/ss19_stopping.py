"""Claims of Sajed & Sheffet (2019), §1–3 and §6: stopping rules, their bounds and noise."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from companion.claims.findings import Finding, claim, entries, extremes, finding
from companion.claims.verdicts import CONDITION, FAILS, HOLDS, decide
from companion.rounding import magnitude
from dpbandits import bounds, stopping
from dpbandits.halting import noise_allowance, sampling_width
from dpbandits.mechanisms import laplace_log_cdf
from dpbandits.rewards.laws import Law, TwoPointLaw, low_variance, shifted_beta, two_point, uniform
from dpbandits.stopping import DPNAS, NAS, DPExponentialNAS, EBGStop, Estimates, NASFamily

GRID = tuple(itertools.product((1e-6, 1e-3, 0.1, 0.3), (0.01, 0.5, 0.9), (1e-9, 0.01, 0.5)))
"""Means |μ|/R, relative errors α and probabilities β."""


def _ratio(a: float, x: float) -> float:
    """Return f(x) = log(a·log x)/x of Fact 2.1."""
    return math.log(a * math.log(x)) / x


@claim("ss19-fact-2.1-below", "Fact 2.1", at="prop-fact")
def fact_below() -> Finding:
    """For a > 1, 0 < b < 1/16 and e < x < log(a·log(1/b))/b, log(a·log x)/x exceeds b."""
    above, below = [], []
    for b in np.geomspace(1e-8, 0.0624, 40):
        least = math.exp(math.e * b)
        for a in (1.0001 * least, 1.5 * least, 10.0, 1e6):
            end, _ = bounds.loglog_bracket(a, b)
            inside = math.e + (end - math.e) * np.linspace(1e-4, 1 - 1e-9, 200)
            above.append(all(_ratio(a, x) > b for x in inside))
        below.append(_ratio(math.sqrt(least), math.e * (1 + 1e-12)) < b)  # a is still above 1
    (end, _), example = bounds.loglog_bracket(1.01, 0.06), _ratio(1.01, 3.0)
    broken = all(below) and math.e < 3 < end and example < 0.06
    return finding(
        decide(all(above) and broken, CONDITION),
        "Holds if and only if a ≥ e^{eb}; a ≥ 1.19 is enough. For smaller a it fails just above "
        "x = e: a = 1.01, b = 0.06, x = 3. Where SS19 uses it, a = 4/(β·log 2) is large.",
        ("log(a·log x)/x at a = 1.01, x = 3", example, 4),
        ("end of the range", end, 2),
        ("least a for every b < 1/16", math.exp(math.e / 16), 4),
    )


@claim("ss19-fact-2.1-above", "Fact 2.1", at="prop-fact")
def fact_above() -> Finding:
    """For a > 1, 0 < b < 1/16 and x > 2·log(a·log(1/b))/b, log(a·log x)/x is below b."""
    greatest = 0.0
    for a, b in itertools.product((1.0001, 1.5, 3.0, 1e3, 1e9), np.geomspace(1e-30, 0.0624, 40)):
        _, end = bounds.loglog_bracket(a, b)
        beyond = end * np.geomspace(1 + 1e-12, 1e6, 100)
        greatest = max(greatest, *(_ratio(a, x) / b for x in beyond))
    return finding(
        decide(greatest < 1),
        "Proved in the chapter. The printed proof takes log log(y/b) for log log(1/b) + log log y, "
        "which it is not.",
        ("log(a·log x)/(b·x), greatest", float(greatest), 4),
    )


@claim("ss19-fact-2.1-monotone", "Appendix A, proof of Fact 2.1", at="prop-fact")
def fact_monotone() -> Finding:
    """For every a > 1, log(a·log x)/x is monotonically decreasing for x > e."""
    a = 1.5
    peak = brentq(lambda x: math.log(x) * math.log(a * math.log(x)) - 1, math.e, 100)
    rises = _ratio(a, peak) > _ratio(a, math.e + 1e-9)
    falls = all(
        np.all(np.diff([_ratio(c, x) for x in np.geomspace(math.e, 1e12, 4000)]) < 0)
        for c in (math.e, 5.0, 1e3, 1e9)
    )
    return finding(
        decide(rises and falls, CONDITION),
        "If and only if a ≥ e: the derivative has the sign of 1/log x − log(a·log x), which is "
        "1 − log a at x = e. For smaller a the function first rises.",
        ("x of the maximum at a = 1.5", peak, 3),
    )


def _spent(rule: NASFamily, looks: int = 2000) -> dict[str, float]:
    """Add up what the events of the proof of Theorem 3.1 may fail with, in units of β."""
    halting, beta = rule.halting, rule.beta
    sampling = queries = fails = 0.0
    for look in range(1, looks + 1):
        # Hoeffding's exponent n·h²/(2R²); n = 1 stands for any n, as h falls like 1/√n
        width = sampling_width(halting, 1.0, look)
        fails = 2 * math.exp(-((width / halting.half_range) ** 2) / 2)
        sampling += fails
        queries += beta / (8 * look**2)
    sampling += fails * (looks * (looks + 1) / looks)  # Σ over later looks of 1/s² ≤ 1/looks
    queries += beta / 8 / looks
    parts = {"sampling": sampling / beta, "queries": queries / beta}
    return parts | {"threshold": 0.25, "release": 0.25}


@claim("ss19-nas", "§3", at="thm-nas")
def nas() -> Finding:
    """NAS with h_t of confidence 1 − β/(2t²) is an (α, β)-stopping rule."""
    spent = _spent(NAS(0.5, 0.05))["sampling"]
    return finding(
        decide(spent <= 1),
        "The union bound spends π²/12 of β. With h_n ≥ |X̄ − μ| at every n, halting implies the "
        "relative error α.",
        ("probability / β", spent, 4),
    )


def _private(rule: Callable[..., NASFamily], looks: Sequence[int], reason: str) -> Finding:
    """Compare the worst streams' exact loss with ε/2 for comparisons and ε/2 for the release."""
    kept = True
    for epsilon, alpha, beta in ((0.3, 0.9, 0.5), (10.0, 0.5, 0.05), (1.0, 0.5, 0.05)):
        made = rule(epsilon, alpha, beta)
        losses = [stopping.loss_limit(made, look) for look in looks]
        release = 2 * made.half_range / made.halting.release_scale
        kept = kept and max(losses) <= epsilon / 2 * (1 + 1e-9)
        kept = kept and math.isclose(release, epsilon / 2)
    spent = {made.look_time(s): stopping.crossing_loss(made, s) / (epsilon / 2) for s in looks}
    return finding(decide(kept), reason, entries("share of ε/2 spent by n = {}, ε = 1", spent, 3))


@claim("ss19-thm-3.1-private", "Theorem 3.1", at="thm-worst")
def theorem_3_1_privacy() -> Finding:
    """Algorithm 1 is ε-DP: ε/2 for the sparse vector technique, ε/2 for the release."""
    return _private(
        DPNAS,
        (8, 64, 512, 2048),
        "Proved: 2R/σ₁ + 4R/σ₂ = ε/2 for the comparisons, 2R/σ₃ = ε/2 for the release. Computed "
        "exactly on streams whose sum runs up and comes back to zero, next to a bound that no pair "
        "exceeds: the budget of the comparisons is used up, but only on long streams.",
    )


def _allowance_covers(rule: NASFamily) -> bool:
    """Tell whether c_s is |B| + |A| + |L|/α, with each noise at the edge of its event."""
    halting, beta = rule.halting, rule.beta
    edges = {
        look: halting.threshold_scale * math.log(4 / beta)
        + halting.query_scale * math.log(8 * look**2 / beta)
        + halting.release_scale * math.log(4 / beta) / rule.alpha
        for look in (1, 2, 17, 10**6)
    }
    return all(noise_allowance(halting, s) >= edge * (1 - 1e-12) for s, edge in edges.items())


def _correct(rule: Callable[..., NASFamily]) -> Finding:
    parts, covered = {}, True
    for epsilon, alpha, beta in ((0.1, 0.5, 0.05), (3.0, 0.9, 0.5), (1.0, 0.01, 1e-9)):
        made = rule(epsilon, alpha, beta)
        parts = _spent(made)
        covered = covered and _allowance_covers(made) and max(parts.values()) <= 0.25
    return finding(
        decide(covered and sum(parts.values()) <= 1),
        "Each of the four events fails with probability at most β/4, two of them with less: "
        "(1/2 + π²/24)·β in all.",
        entries("{} / β", parts, 4),
        ("all / β", sum(parts.values()), 4),
    )


@claim("ss19-thm-3.1-correct", "Theorem 3.1", at="thm-dpnas")
def theorem_3_1() -> Finding:
    """Algorithm 1 is an (α, β)-stopping rule: four events, each failing with at most β/4."""
    return _correct(DPNAS)


@claim("ss19-cor-3.2-private", "Corollary 3.2", at="thm-worst")
def corollary_3_2_privacy() -> Finding:
    """Algorithm 2 is ε-DP."""
    return _private(
        DPExponentialNAS,
        (3, 6, 10, 12, 16),
        "As Theorem 3.1. The worst streams are known exactly, and their loss tends to ε/2.",
    )


@claim("ss19-cor-3.2-correct", "Corollary 3.2", at="thm-dpnas")
def corollary_3_2() -> Finding:
    """Algorithm 2 is an (α, β)-stopping rule."""
    return _correct(DPExponentialNAS)


@claim("ss19-doubling", "§3, before Algorithm 2", at="thm-halting")
def doubling() -> Finding:
    """Looking at powers of two only costs no more than a constant factor."""
    ratios = [
        DPExponentialNAS(epsilon, 0.5, beta).noiseless_time(mean)
        / DPNAS(epsilon, 0.5, beta).noiseless_time(mean)
        for mean in np.geomspace(1e-5, 1, 60)
        for epsilon in (1e-4, 0.01, 1.0, math.inf)
        for beta in (1e-9, 0.05, 0.5)
    ]
    return finding(
        decide(max(ratios) <= 2),
        "A factor of at most 2 in the time at which a noiseless run halts; since k² replaces t² "
        "in the logarithms, Algorithm 2 often halts earlier.",
        ("Algorithm 2 / Algorithm 1, greatest", max(ratios), 3),
        ("least", min(ratios), 3),
    )


def _tiny_budget(half: float = 0.5, beta: float = 0.08) -> float:
    """Return log k of the number k of looks beyond which 2000·(t₀ + t₁ + t₂) comes too early.

    On the stream that is constantly R, with α = 1/2, for ε → 0. The bound is 12V/ε with V below,
    while the boundary in units of 12/ε is c + 2·log k at the k-th look (n·h is neglected, which
    can only delay).
    """
    times = bounds.stopping_times_printed(1.0, half, beta, 1.0)
    reached = 2000 * (times.queries + times.release) / 12
    allowed = noise_allowance(DPExponentialNAS(12.0, half, beta).halting, 1)  # σ₁ = σ₂ = 1
    # leave the noise room, up to a probability of β/100: P(A + B ≤ −z) = (1 + z/2)·exp(−z)/2
    room = brentq(lambda z: (1 + z / 2) * math.exp(-z) / 2 - beta / 100, 0, 100)
    return (reached + room - allowed) / 2


@claim("ss19-thm-3.3", "Theorem 3.3", at="thm-halting")
def theorem_3_3() -> Finding:
    """For β ≤ 0.08 Algorithm 2 halts by 2000·(t₀ + t₁ + t₂) with probability at least 1 − β."""
    greatest = max(
        bounds.stopping_samples(DPExponentialNAS(epsilon, alpha, beta), mean)
        / bounds.stopping_samples_printed(mean, alpha, beta, epsilon)
        for mean in (1e-5, 1e-2, 0.3, 1 / math.e, 1.0)
        for alpha in (1e-4, 0.1, 1 / math.e, 0.9999)
        for epsilon in (1e-12, 1e-4, 0.1, 1.5, 10.0, 1e3)
        for beta in (1e-12, 1e-3, 0.08)
        if alpha * mean <= 1 / math.e
    )
    edge = bounds.stopping_samples_printed(1.0, 1 - 1e-6, 0.05, 1.0)
    # with x ≥ e the repaired bound is below the printed one as long as log w is at most this
    constant, log_beta = bounds.stopping_constant(0.08), math.log(1 / 0.08)
    enough = (2000 * log_beta - constant * (log_beta + math.log(4))) / constant
    tiny = _tiny_budget()
    late = bounds.stopping_samples_printed(1.0, 1 / math.e, 0.99, math.inf)
    halts = DPExponentialNAS(math.inf, 1 / math.e, 0.99).noiseless_time(1.0)
    fits = greatest <= 1 and math.exp(enough) > 5e9 and edge < 0 and tiny > enough
    return finding(
        decide(fits and late < halts, CONDITION),
        "Proved for β ≤ 0.08 if α|μ| ≤ R/e and ε|μ| ≥ R·exp(−10⁹). β ≤ 0.08 alone is not enough: "
        "where α|μ| comes near R the logarithm turns negative, and so does the bound. And t₁ lacks "
        "log log(R/(ε|μ|)): as ε → 0 the bound fails. Both are repaired in the chapter, with a "
        "constant below 200 in place of 2000.",
        ("proved time / printed bound, greatest", greatest, 4),
        ("printed bound at α = 1 − 10⁻⁶, |μ| = R, ε = 1", edge, 0),
        ("log log(eR/(ε|μ|)) up to which it is proved", enough, 1),
        ("log log2(1/ε) from which it fails, α = 1/2, |μ| = R", tiny, 0),
        ("constant in place of 2000, β = 0.08", constant, 1),
        ("printed bound at β = 0.99, α|μ| = R/e, |μ| = R", late, 0),
        ("halting time there, without noise", halts),
    )


def _step_holds(times: float, log_term: float, beta: float, limit: float) -> float:
    """Return log(4·log2(t)/β) − limit·ℓ at t = 1000·times·ℓ: not positive where the step holds."""
    return math.log(4 * math.log2(1000 * times * log_term) / beta) - limit * log_term


@claim("ss19-thm-3.3-steps", "Theorem 3.3, proof", at="thm-halting")
def theorem_3_3_steps() -> Finding:
    """Each of the three facts of the proof holds from 1000·t₀, 1000·t₁ and 48·t₂ on."""
    beta = 0.08

    def first(x: float) -> float:
        return _step_holds(x**2, math.log(math.log(x) / beta), beta, 1000 / 18**2)

    def second(log_y: float) -> float:
        return _step_holds(math.exp(log_y), math.log(math.log(2) / beta), beta, 1000 / 288)

    least_x = brentq(first, 1.2, 10)
    least_budget = math.exp(-brentq(second, 1, 600))
    third = 48 * math.log(1 / beta) >= 12 * math.log(4 / beta)
    broken = first(least_x * 0.99) > 0 and second(-math.log(least_budget) + 1) > 0
    fine = first(1e3) < 0 and second(math.log(1e3)) < 0
    # near α|μ| = R both t₀ and t₁ are negative, so that every t counts, t = 2 for instance
    near = math.log(math.log(1.05) / beta) < 0 and math.log(4 / beta) / 2 > 1 / 288
    return finding(
        decide(third and broken and fine and near, CONDITION),
        "The third holds for β ≤ 0.08. The first two need α|μ|/R below a limit, the second also "
        "ε|μ|/R above one; the limits depend on β.",
        ("greatest α|μ|/R for the first, β = 0.08", 1 / least_x, 3),
        ("least ε|μ|/R for the second, β = 0.08, α|μ| = R/2", f"{least_budget:.1e}"),
    )


def _laws() -> list[Law]:
    """Return laws of all kinds: large and small mean, large and small variance."""
    found: list[Law] = [shifted_beta(3, 2), shifted_beta(0.6, 0.5)]
    for mean in (1e-4, 0.01, 0.3, 0.9):
        found += [two_point(mean), uniform(mean)]
        found += [low_variance(mean, d) for d in (1e-6, 0.1 * mean, 0.9 * (1 - mean))]
    return found


@claim("ss19-dagum", "§3.1, cited", at="thm-dagum")
def dagum() -> Finding:
    """No stopping rule needs fewer than Ω(max{σ², Rα|μ|}·log(1/β)/(α²μ²)) samples."""
    ratios = [
        bounds.stopping_lower_bound(law, alpha, beta)
        / bounds.dagum_rate(law, alpha, beta)
        / ((1 - 2 * beta) * math.log((1 - beta) / beta) / math.log(1 / beta))
        for law in _laws()
        for alpha, beta in itertools.product((0.01, 0.5, 0.95), (1e-9, 0.1, 0.4))
    ]
    return finding(
        decide(min(ratios) >= 1 / 23),
        "Derived here for every law on [−R, R], in expectation and with the constant "
        "(1 − 2β)·log((1 − β)/β)/log(1/β)/23.",
        ("lower bound / rate, least", min(ratios), 4),
    )


@claim("ss19-lemma-3.5", "Lemma 3.5", at="lem-group")
def lemma_3_5() -> Finding:
    """Under ε-DP, n samples at distance d change probabilities by at most e^{6εnd}."""
    crossing = brentq(lambda e: math.expm1(e) - 6 * e, 1, 5)
    distances = np.geomspace(1e-6, 1, 50)
    below = all(
        np.all(bounds.group_privacy_factor(distances, e) <= 6 * e * distances)
        for e in np.linspace(0.01, crossing, 60)
    )
    beyond = bounds.group_privacy_factor(1e-3, 4.0) > 6 * 4.0 * 1e-3
    return finding(
        decide(bool(below and beyond), CONDITION),
        "Holds if e^ε − 1 ≤ 6ε. The sharp factor is (1 + d(e^ε − 1))^n, attained for every n, and "
        "exceeds the printed one for larger ε and small distances d.",
        ("greatest ε for every n and d", crossing, 4),
    )


@claim("ss19-thm-3.4", "Theorem 3.4", at="thm-private-lower")
def theorem_3_4() -> Finding:
    """Any ε-DP (α, β)-stopping rule needs Ω(R·log(1/β)/(εα|μ|)) samples."""
    ratios, sharp, budgets = [], [], (1e-4, 0.1, 2.0, 30.0, 1e3)
    for law, alpha, beta in itertools.product(_laws(), (0.01, 0.5, 0.95), (1e-9, 0.1, 0.249)):
        size = abs(law.mean) / law.half_range
        lowers = bounds.stopping_complexity_lower_bound(law, alpha, beta, budgets)
        for epsilon, lower in zip(budgets, lowers, strict=True):
            rate = math.log(1 / beta) / (epsilon * alpha * size)
            ratios.append(float(lower) / rate)
            if epsilon <= 2.9 and beta <= 0.1:
                problem = law.mean, alpha, beta, epsilon, law.half_range
                sharp.append(bounds.private_stopping_lower_bound(*problem) / rate)
    return finding(
        decide(min(ratios) > 1 / 40 and min(sharp) > 1 / 12),
        "Holds on every law of mean μ, not on the hard one alone, and for every ε: up to "
        "ε = 2.918 the printed proof does for the hard one, beyond it the non-private bound takes "
        "over. The proof takes β < 1/4.",
        ("expected samples / (R·log(1/β)/(εα|μ|)), least", min(ratios), 4),
        ("median samples / the same, ε ≤ 2.9, β ≤ 0.1, least", min(sharp), 4),
    )


@claim("ss19-cor-3.6", "Corollary 3.6", at="cor-lower")
def corollary_3_6() -> Finding:
    """On some law any such rule needs Ω(R²·log(1/β)/(α²μ²) + R·log(1/β)/(εα|μ|)) samples."""
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
    return finding(
        decide(min(ratios) > 1 / 40 and falls, CONDITION),
        "Holds on the law on {−R, R} if |μ| stays away from R, and so for some law. Its variance "
        "is R² − μ², which is not Θ(R²) near R: for |μ| = R a private rule needs of the order of "
        "1/α samples only.",
        ("lower bound / printed sum, |μ| ≤ R/2, least", min(ratios), 4),
        ("a private rule / first term at |μ| = R, ε = 1, α = 10⁻⁴", few[1], 4),
        ("the same at α = 10⁻⁶", few[2], 6),
    )


@claim("ss19-thm-3.3-optimal", "§3.1, discussion", at="cor-lower")
def matches() -> Finding:
    """If log(R/(α|μ|)) ≤ 1/β, the bound of Theorem 3.3 matches that of Corollary 3.6."""
    within, beyond = [], []
    for mean, alpha, beta in itertools.product(
        np.geomspace(1e-7, 0.3, 8), (0.01, 0.3, 0.9), (1e-6, 0.01, 0.1)
    ):
        if math.log(1 / (alpha * mean)) <= 1 / beta:
            for epsilon in (alpha, 3 * alpha, 1e-4 * alpha * mean, 10.0):
                problem = two_point(mean), alpha, beta, epsilon
                upper = bounds.stopping_samples(DPExponentialNAS(epsilon, alpha, beta), mean)
                within.append(upper / bounds.stopping_complexity_lower_bound(*problem))
    for epsilon in (1e-4, 1e-16, 1e-40, 1e-80):
        rule = DPExponentialNAS(epsilon, 0.5, 0.2)
        lower = bounds.stopping_complexity_lower_bound(two_point(0.3), 0.5, 0.2, epsilon)
        look = rule.look(rule.noiseless_time(0.3))  # its boundary has no steps by doubling
        beyond.append(rule.threshold(look) / lower)
    grows = all(a < b for a, b in itertools.pairwise(beyond))
    return finding(
        decide(max(within) < 2000 and grows, CONDITION),
        "In order, if |μ| stays away from R and log log(R/(ε|μ|)) is at most of the order of "
        "log(1/β)/α as well: for fixed α and β the quotient is unbounded as ε → 0, by the doubly "
        "logarithmic term that t₁ lacks. The distance in constants is large.",
        extremes("proved time / lower bound", within, 0, short=True),
        ("boundary / lower bound at ε = 10⁻⁴, β = 0.2", float(beyond[0]), 1),
        ("the same at ε = 10⁻⁸⁰", float(beyond[-1]), 1),
    )


@claim("ss19-mild-assumption", "§3.1, discussion", at="thm-dagum")
def mild() -> Finding:
    """The assumption log(R/(α|μ|)) ≤ 1/β is very mild, and trivial for β proportional to 1/T."""
    greatest = 0.0
    for horizon, alpha in itertools.product((10, 100, 10**4, 10**6, 10**9), (0.01, 0.1, 0.5, 0.9)):
        for mean in np.geomspace(1e-7, 1, 140):
            if bounds.stopping_lower_bound(two_point(mean), alpha, 1 / horizon) <= horizon:
                greatest = max(greatest, math.log(1 / (alpha * mean)) / horizon)
                break
    return finding(
        decide(0 < greatest <= 1),
        "With β = 1/T, every mean that some rule can estimate with T samples on average satisfies "
        "it, by far. With β = 0.05 it allows means down to 2·10⁻⁹·R/α.",
        ("β·log(R/(α|μ|)), greatest", float(greatest), 3),
        ("R/(α|μ|) allowed at β = 0.05", f"{math.exp(1 / 0.05):.1e}"),
    )


@claim("ss19-variance-bypass", "§6", at="small-variance")
def bypass() -> Finding:
    """Restricted to laws of much smaller variance, one may bypass the private lower bound."""
    confused, spread, same = True, [], []
    for mean, alpha in itertools.product((1e-3, 0.1, 0.5), (0.05, 0.5, 0.9)):
        # −R mixed into a law of small variance
        law = low_variance(mean, 1e-6)
        distance = 2 * alpha * mean / ((1 + alpha) * (1 + mean)) * (1 + 1e-9)
        new = (1 - distance) * law.mean - distance
        square = (1 - distance) * (law.variance + law.mean**2) + distance
        confused = confused and 0 < (1 + alpha) * new < (1 - alpha) * mean
        spread.append((square - new**2) / distance)
        narrow = bounds.private_stopping_lower_bound(mean, alpha, 0.05, 0.1)
        hard = bounds.private_stopping_lower_bound(mean, alpha, 0.05, 0.1, two_point=True)
        same.append(narrow / hard)
    shift = TwoPointLaw(1.0, 0.1 - 1e-6, 0.1 + 1e-6, 0.5).variance
    fits = confused and min(same) >= 0.5 and min(spread) > 0.5 and shift < 1e-11
    return finding(
        decide(fits, CONDITION, FAILS),
        "Only for rules that need not be right on laws of large variance. A rule that is right "
        "on all of [−R, R] cannot bypass it by meeting a law of small variance: mixing −R into "
        "that law with probability 2α|μ|/((1 + α)(R + |μ|)) gives a law that it must tell apart, "
        "of variance about 2αR|μ|/(1 + α): a promise has to be stronger than that. No such rule is "
        "given there or here.",
        ("bound on a law of small variance / on the hard law, least", min(same), 3),
        ("variance of the mixture / (R²·distance), least", min(spread), 3),
    )


def _nas_rate(mean: float, alpha: float, beta: float) -> float:
    return math.log(1 / (beta * alpha * mean)) / (alpha * mean) ** 2


@claim("ss19-nas-samples", "§1, cited", at="thm-nas")
def nas_samples() -> Finding:
    """NAS needs O(R²/(α²μ²)·log(R/(βα|μ|))) samples."""
    ratios = [bounds.stopping_samples(NAS(a, b), m) / _nas_rate(m, a, b) for m, a, b in GRID]
    edge = bounds.stopping_samples(NAS(1 - 1e-9, 0.5), 1.0) / _nas_rate(1.0, 1 - 1e-9, 0.5)
    return finding(
        decide(max(*ratios, edge) < 1000),
        "The time by which NAS surely halts, which is proved in the chapter, stays in proportion "
        "to it. The logarithm is at least log(1/β), so that α·|μ| near R does no harm, as it does "
        "in Theorem 3.3.",
        extremes("time / rate", ratios, 1),
        ("time / rate at |μ| = R, α = 1 − 10⁻⁹, β = 1/2", edge, 1),
    )


def _improved_rate(mean: float, alpha: float, beta: float) -> float:
    return (math.log(1 / beta) + math.log(math.log(1 / (alpha * mean)))) / (alpha * mean) ** 2


@claim("ss19-nas-improved", "§1, cited", at="thm-nas")
def nas_improved() -> Finding:
    """This can be improved to O(R²/(α²μ²)·(log(1/β) + log log(R/(α|μ|))))."""
    ratios = [  # looks at powers of two, without noise
        bounds.stopping_samples(DPExponentialNAS(math.inf, a, b), m) / _improved_rate(m, a, b)
        for m, a, b in GRID
        if m * a <= 1 / math.e
    ]
    edge = _improved_rate(1.0, 0.99, 0.5)
    return finding(
        decide(max(ratios) < 1000, CONDITION if edge < 0 else HOLDS),
        "Looking at powers of two only gives it for α·|μ| ≤ R/e. Nearer to R the doubly "
        "logarithmic term turns negative, and with a large β so does the sum; log(e·R/(α·|μ|)) in "
        "its place repairs that, at the cost of a constant.",
        ("time / rate for α·|μ| ≤ R/e, greatest", max(ratios), 1),
        ("printed rate at |μ| = R, α = 0.99, β = 1/2", edge, 2),
    )


@claim("ss19-dagum-matching", "§1, cited", at="thm-dagum")
def essentially() -> Finding:
    """The lower bound of Dagum et al. essentially matches that sample complexity."""
    alpha, beta, mean = 0.1, 0.01, 0.1
    laws = {
        "σ near R": two_point(mean),
        "σ = 0.3·R": low_variance(mean, 0.3),
        "σ = 10⁻⁶·R": low_variance(mean, 1e-6),
    }
    upper = _improved_rate(mean, alpha, beta)
    quotients = {n: float(upper / bounds.dagum_rate(law, alpha, beta)) for n, law in laws.items()}
    wide, *_, narrow = quotients.values()
    return finding(
        decide(wide < 10, CONDITION if narrow > 10 * wide else HOLDS),
        "Up to the doubly logarithmic term, on laws whose deviation is of the order of R. On laws "
        "of small variance the lower bound is smaller by up to R/(α·|μ|), and the Bernstein rules "
        "that §6 speaks of come down to it.",
        entries("upper / lower rate, {}", quotients, 2),
    )


@claim("ss19-halting-monotone", "§2", at="thm-nas", needs=("over-means",))
def halting_time_falls(found: Mapping[Any, Estimates]) -> Finding:
    """The halting time of a stopping rule increases as |μ| decreases."""
    means = np.geomspace(1e-4, 1, 60)
    rules = (NAS(0.5, 0.05), DPNAS(0.5, 0.5, 0.05), DPExponentialNAS(0.5, 0.5, 0.05))
    times = np.array([[rule.noiseless_time(float(mean)) for mean in means] for rule in rules])
    falls = bool(np.all(np.diff(times) <= 0))
    ordered: dict[object, list[float]] = {}
    distinct = {(runs.rule, runs.law): runs for runs in found.values()}
    for runs in sorted(distinct.values(), key=lambda runs: abs(runs.law.mean)):
        if runs.halted.all():
            ordered.setdefault(runs.rule, []).append(float(runs.samples.mean()))
    measured = all(b <= a for s in ordered.values() for a, b in itertools.pairwise(s))
    ratio = float((times[:, 0] / times[:, -1]).min())
    return finding(
        decide(falls and measured),
        "For the three rules of the chapter: without noise the time never grows with |μ|, and in "
        "the chapter's runs the mean number of samples falls from each |μ| to the next.",
        ("noiseless time at |μ| = 10⁻⁴·R over that at R, least", ratio, 0),
        ("settings measured", sum(map(len, ordered.values()))),
    )


@claim("ss19-svt", "§2, cited", at="thm-svt")
def sparse_vector() -> Finding:
    """The sparse vector technique with noise of scale 3·GS/ε on threshold and queries is ε-DP."""
    epsilon, losses = 1.0, {3.0: 0.0, 1.0: 0.0}
    neighbours = [-1.0] * 11 + [1.0], [1.0] * 11 + [-1.0], [-1.0, 1.0] * 6, [1.0] * 12
    for base, moves, factor in itertools.product((-8.0, -2.0, 0.0, 3.0), neighbours, losses):
        here, scale = np.full(12, base), factor / epsilon
        p, *_ = stopping.sparse_vector_law(here, scale, scale)
        q, *_ = stopping.sparse_vector_law(here + np.array(moves), scale, scale)
        losses[factor] = max(losses[factor], float(np.abs(p - q).max()) / epsilon)
    worst, control = losses.values()
    return finding(
        decide(worst <= (1 / 3 + 2 / 3) * (1 + 1e-9) < control),
        "Proved: the threshold's noise of scale 3/ε costs ε/3, the query that halts 2ε/3, and the "
        "queries before it nothing. Computed exactly for streams of 12 queries.",
        ("greatest loss / ε, scale 3/ε", worst, 4),
        ("the same, scale 1/ε", control, 4),
    )


def _hoeffding(n: int, deviation: float) -> float:
    """Return Hoeffding's bound for n variables in an interval of length 1."""
    return 2 * math.exp(-2 * deviation**2 * n)


@claim("ss19-noise-facts", "§2, cited", at="lem-hoeffding")
def noise_facts() -> Finding:
    """P(|X| > τ) = e^{−τ/λ} for Laplace noise of scale λ; Hoeffding: 2·exp(−2α²t/R²)."""
    tau = np.array([0.1, 1.0, 5.0, 30.0])
    tails = [2 * np.exp(laplace_log_cdf(-tau, scale)) / np.exp(-tau / scale) for scale in (0.5, 3)]
    tail = float(np.abs(np.concatenate(tails) - 1).max())
    worst = 0.0
    for n, p, off in itertools.product((1, 10, 100, 1000), (0.5, 0.1, 0.9), (0.01, 0.1, 0.3)):
        # ≥, with room for rounding in np ± n·off
        upper = stats.binom.sf(math.ceil(n * p + off * n - 1e-9) - 1, n, p)
        lower = stats.binom.cdf(math.floor(n * p - off * n + 1e-9), n, p)
        worst = max(worst, float(upper + lower) / _hoeffding(n, off))
    return finding(
        decide(tail < 1e-12 and worst <= 1),
        "The Laplace tail is exact. Hoeffding's inequality is for an interval of length R, so that "
        "samples in [−R, R] have 2R in its place, as Algorithm 1 does; on binomial laws, exactly.",
        ("relative error of the Laplace tail, at most", magnitude(tail)),
        ("binomial tail / Hoeffding's bound, greatest", worst, 4),
    )


@claim("ss19-bernstein", "§6, cited", at="small-variance", needs=("over-deviations",))
def bernstein(found: Mapping[Any, Estimates]) -> Finding:
    """A Bernstein rule needs O(max(σ²/(α²μ²), R/(α|μ|))·(log(1/β) + log log(R/(α|μ|)))) samples."""
    ratios, least = [], math.inf
    for runs in found.values():
        rule, law = runs.rule, runs.law
        if isinstance(rule, EBGStop):
            least = min(least, math.sqrt(law.variance) / law.half_range)
            error = rule.alpha * law.mean
            rate = max(law.variance / error**2, 1 / error)
            log_term = math.log(1 / rule.beta) + math.log(math.log(math.e / error))
            ratios.append(runs.mean_samples()[0] / rate / log_term)
    return finding(
        decide(bool(ratios) and max(ratios) < 100),
        "The proof is in the cited paper. In the chapter's runs of EBGStop the mean number of "
        "samples stays in proportion to the rate as the deviation falls from about R to "
        f"{least:.3g}·R.",
        extremes("mean samples / rate", ratios or [0.0], 2),
    )
