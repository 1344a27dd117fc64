"""Claims of Sajed & Sheffet (2019), §2 and §3: Fact 2.1, the stopping rules, Theorem 3.3."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from companion.claims.ledger import CONDITION, Claim, Finding, decide
from dpbandits import bounds
from dpbandits.halting import noise_allowance, sampling_width
from dpbandits.stopping import DPNAS, NAS, DPExponentialNAS, NASFamily, crossing_loss, loss_limit

__all__ = ["CLAIMS"]

PAPER = "ss19"


def _ratio(a: float, x: float) -> float:
    """Return f(x) = log(a·log x)/x of Fact 2.1."""
    return math.log(a * math.log(x)) / x


def _fact_below() -> Finding:
    above, below = [], []
    for b in np.geomspace(1e-8, 0.0624, 40):
        least = math.exp(math.e * b)
        for a in (1.0001 * least, 1.5 * least, 10.0, 1e6):
            end, _ = bounds.loglog_bracket(a, b)
            inside = math.e + (end - math.e) * np.linspace(1e-4, 1 - 1e-9, 200)
            above.append(all(_ratio(a, x) > b for x in inside))
        a = math.sqrt(least)  # still above 1
        below.append(_ratio(a, math.e * (1 + 1e-12)) < b)
    end, _ = bounds.loglog_bracket(1.01, 0.06)
    example = _ratio(1.01, 3.0)
    broken = all(below) and math.e < 3 < end and example < 0.06
    return Finding(
        decide(all(above) and broken, CONDITION),
        "Holds if and only if a ≥ e^{eb}; a ≥ 1.19 is enough. For smaller a it fails just above "
        "x = e: a = 1.01, b = 0.06, x = 3. Where SS19 uses it, a = 4/(β·log 2) is large.",
        {
            "log(a·log x)/x at a = 1.01, x = 3": round(example, 4),
            "end of the range": round(end, 2),
            "least a for every b < 1/16": round(math.exp(math.e / 16), 4),
        },
    )


def _fact_above() -> Finding:
    greatest = 0.0
    for a, b in itertools.product((1.0001, 1.5, 3.0, 1e3, 1e9), np.geomspace(1e-30, 0.0624, 40)):
        _, end = bounds.loglog_bracket(a, b)
        beyond = end * np.geomspace(1 + 1e-12, 1e6, 100)
        greatest = max(greatest, *(_ratio(a, x) / b for x in beyond))
    return Finding(
        decide(greatest < 1),
        "Proved in the chapter. The printed proof takes log log(y/b) for log log(1/b) + log log y, "
        "which it is not.",
        {"log(a·log x)/(b·x), greatest": round(float(greatest), 4)},
    )


def _fact_monotone() -> Finding:
    a = 1.5
    peak = brentq(lambda x: math.log(x) * math.log(a * math.log(x)) - 1, math.e, 100)
    rises = _ratio(a, peak) > _ratio(a, math.e + 1e-9)
    falls = all(
        np.all(np.diff([_ratio(c, x) for x in np.geomspace(math.e, 1e12, 4000)]) < 0)
        for c in (math.e, 5.0, 1e3, 1e9)
    )
    return Finding(
        decide(rises and falls, CONDITION),
        "If and only if a ≥ e: the derivative has the sign of 1/log x − log(a·log x), which is "
        "1 − log a at x = e. For smaller a the function first rises.",
        {"x of the maximum at a = 1.5": round(peak, 3)},
    )


def _spent(rule: NASFamily, looks: int = 2000) -> dict[str, float]:
    """Add up what the events of the proof of Theorem 3.1 may fail with, in units of β."""
    halting, beta = rule.halting, rule.beta
    sampling = queries = 0.0
    for look in range(1, looks + 1):
        # Hoeffding's exponent n·h²/(2R²); n = 1 stands for any n, as h falls like 1/√n
        width = sampling_width(halting, 1.0, look)
        fails = 2 * math.exp(-((width / halting.half_range) ** 2) / 2)
        sampling += fails
        queries += beta / (8 * look**2)
    rest = look * (look + 1) / looks  # Σ over later looks of 1/s² is at most 1/looks
    sampling += fails * rest
    queries += beta / 8 / looks
    return {
        "sampling": sampling / beta,
        "queries": queries / beta,
        "threshold": 0.25,
        "release": 0.25,
    }


def _allowance_covers(rule: NASFamily) -> bool:
    """Tell whether c_s is |B| + |A| + |L|/α, with each noise at the edge of its event."""
    halting, beta = rule.halting, rule.beta
    for look in (1, 2, 17, 10**6):
        edges = (
            halting.threshold_scale * math.log(4 / beta)
            + halting.query_scale * math.log(8 * look**2 / beta)
            + halting.release_scale * math.log(4 / beta) / rule.alpha
        )
        if not noise_allowance(halting, look) >= edges * (1 - 1e-12):
            return False
    return True


def _nas() -> Finding:
    spent = _spent(NAS(0.5, 0.05))["sampling"]
    return Finding(
        decide(spent <= 1),
        "The union bound spends π²/12 of β. With h_n ≥ |X̄ − μ| at every n, halting implies the "
        "relative error α.",
        {"probability / β": round(spent, 4)},
    )


def _correct(rule: Callable[..., NASFamily]) -> Finding:
    parts, covered = {}, True
    for epsilon, alpha, beta in ((0.1, 0.5, 0.05), (3.0, 0.9, 0.5), (1.0, 0.01, 1e-9)):
        made = rule(epsilon, alpha, beta)
        parts = _spent(made)
        covered = covered and _allowance_covers(made) and max(parts.values()) <= 0.25
    return Finding(
        decide(covered and sum(parts.values()) <= 1),
        "Each of the four events fails with probability at most β/4, two of them with less: "
        "(1/2 + π²/24)·β in all.",
        {f"{name} / β": round(value, 4) for name, value in parts.items()}
        | {"all / β": round(sum(parts.values()), 4)},
    )


def _private(rule: Callable[..., NASFamily], looks: tuple[int, ...]) -> tuple[bool, list[float]]:
    """Compare the worst streams' exact loss with ε/2 for comparisons and ε/2 for the release."""
    kept = True
    spent: list[float] = []
    for epsilon, alpha, beta in ((1.0, 0.5, 0.05), (0.3, 0.9, 0.5), (10.0, 0.5, 0.05)):
        made = rule(epsilon, alpha, beta)
        comparisons = [loss_limit(made, look) for look in looks]
        release = 2 * made.half_range / made.halting.release_scale
        kept = kept and max(comparisons) <= epsilon / 2 * (1 + 1e-9)
        kept = kept and math.isclose(release, epsilon / 2)
        if not spent:
            spent = [crossing_loss(made, look) / (epsilon / 2) for look in looks]
    return kept, spent


def _theorem_3_1_privacy() -> Finding:
    looks = (8, 64, 512, 2048)
    kept, spent = _private(DPNAS, looks)
    return Finding(
        decide(kept),
        "Proved: 2R/σ₁ + 4R/σ₂ = ε/2 for the comparisons, 2R/σ₃ = ε/2 for the release. Computed "
        "exactly on streams whose sum runs up and comes back to zero, next to a bound that no pair "
        "exceeds: the budget of the comparisons is used up, but only on long streams.",
        {
            f"share of ε/2 spent by n = {look}, ε = 1": round(share, 3)
            for look, share in zip(looks, spent, strict=True)
        },
    )


def _corollary_3_2_privacy() -> Finding:
    looks = (3, 6, 10, 12, 16)
    kept, spent = _private(DPExponentialNAS, looks)
    return Finding(
        decide(kept),
        "As Theorem 3.1. The worst streams are known exactly, and their loss tends to ε/2.",
        {
            f"share of ε/2 spent by n = {2**look}, ε = 1": round(share, 3)
            for look, share in zip(looks, spent, strict=True)
        },
    )


def _theorem_3_1() -> Finding:
    return _correct(DPNAS)


def _corollary_3_2() -> Finding:
    return _correct(DPExponentialNAS)


def _doubling() -> Finding:
    ratios = []
    for mean, epsilon, beta in itertools.product(
        np.geomspace(1e-5, 1, 60), (1e-4, 0.01, 1.0, math.inf), (1e-9, 0.05, 0.5)
    ):
        often, seldom = DPNAS(epsilon, 0.5, beta), DPExponentialNAS(epsilon, 0.5, beta)
        ratios.append(seldom.noiseless_time(mean) / often.noiseless_time(mean))
    return Finding(
        decide(max(ratios) <= 2),
        "A factor of at most 2 in the time at which a noiseless run halts; since k² replaces t² "
        "in the logarithms, Algorithm 2 often halts earlier.",
        {
            "Algorithm 2 / Algorithm 1, greatest": round(max(ratios), 3),
            "least": round(min(ratios), 3),
        },
    )


def _tiny_budget(half: float = 0.5, beta: float = 0.08) -> float:
    """Return log k of the number k of looks beyond which 2000·(t₀ + t₁ + t₂) comes too early.

    On the stream that is constantly R, with α = 1/2, for ε → 0. The bound is 12V/ε with V below,
    while the boundary in units of 12/ε is c + 2·log k at the k-th look (n·h is neglected, which
    can only delay).
    """
    times = bounds.stopping_times_printed(1.0, half, beta, 1.0)
    reached = 2000 * (times.queries + times.release) / 12
    unit = DPExponentialNAS(12.0, half, beta).halting  # σ₁ = σ₂ = 1
    allowed = noise_allowance(unit, 1)
    # leave the noise room, up to a probability of β/100: P(A + B ≤ −z) = (1 + z/2)·exp(−z)/2
    room = brentq(lambda z: (1 + z / 2) * math.exp(-z) / 2 - beta / 100, 0, 100)
    return (reached + room - allowed) / 2


def _theorem_3_3() -> Finding:
    greatest = 0.0
    for mean, alpha, epsilon, beta in itertools.product(
        (1e-5, 1e-2, 0.3, 1 / math.e, 1.0),
        (1e-4, 0.1, 1 / math.e, 0.9999),
        (1e-12, 1e-4, 0.1, 1.5, 10.0, 1e3),
        (1e-12, 1e-3, 0.08),
    ):
        if alpha * mean <= 1 / math.e:
            surely = bounds.stopping_samples(DPExponentialNAS(epsilon, alpha, beta), mean)
            greatest = max(
                greatest, surely / bounds.stopping_samples_printed(mean, alpha, beta, epsilon)
            )
    edge = bounds.stopping_samples_printed(1.0, 1 - 1e-6, 0.05, 1.0)
    # with x ≥ e the repaired bound is below the printed one as long as log w is at most this
    constant, log_beta = bounds.stopping_constant(0.08), math.log(1 / 0.08)
    enough = (2000 * log_beta - constant * (log_beta + math.log(4))) / constant
    tiny = _tiny_budget()
    late = bounds.stopping_samples_printed(1.0, 1 / math.e, 0.99, math.inf)
    halts = DPExponentialNAS(math.inf, 1 / math.e, 0.99).noiseless_time(1.0)
    fits = greatest <= 1 and math.exp(enough) > 5e9 and edge < 0 and tiny > enough
    return Finding(
        decide(fits and late < halts, CONDITION),
        "Proved for β ≤ 0.08 if α|μ| ≤ R/e and ε|μ| ≥ R·exp(−10⁹). β ≤ 0.08 alone is not enough: "
        "where α|μ| comes near R the logarithm turns negative, and so does the bound. And t₁ lacks "
        "log log(R/(ε|μ|)): as ε → 0 the bound fails. Both are repaired in the chapter, with a "
        "constant below 200 in place of 2000.",
        {
            "proved time / printed bound, greatest": round(greatest, 4),
            "printed bound at α = 1 − 10⁻⁶, |μ| = R, ε = 1": round(edge),
            "log log(eR/(ε|μ|)) up to which it is proved": round(enough, 1),
            "log log2(1/ε) from which it fails, α = 1/2, |μ| = R": round(tiny),
            "constant in place of 2000, β = 0.08": round(constant, 1),
            "printed bound at β = 0.99, α|μ| = R/e, |μ| = R": round(late),
            "halting time there, without noise": halts,
        },
    )


def _step_holds(times: float, log_term: float, beta: float, limit: float) -> float:
    """Return log(4·log2(t)/β) − limit·ℓ at t = 1000·times·ℓ: not positive where the step holds."""
    return math.log(4 * math.log2(1000 * times * log_term) / beta) - limit * log_term


def _theorem_3_3_steps() -> Finding:
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
    return Finding(
        decide(third and broken and fine and near, CONDITION),
        "The third holds for β ≤ 0.08. The first two need α|μ|/R below a limit, the second also "
        "ε|μ|/R above one; the limits depend on β.",
        {
            "greatest α|μ|/R for the first, β = 0.08": round(1 / least_x, 3),
            "least ε|μ|/R for the second, β = 0.08, α|μ| = R/2": f"{least_budget:.1e}",
        },
    )


CLAIMS = (
    Claim(
        "ss19-fact-2.1-below",
        PAPER,
        "Fact 2.1",
        "For a > 1, 0 < b < 1/16 and e < x < log(a·log(1/b))/b, log(a·log x)/x exceeds b.",
        _fact_below,
    ),
    Claim(
        "ss19-fact-2.1-above",
        PAPER,
        "Fact 2.1",
        "For a > 1, 0 < b < 1/16 and x > 2·log(a·log(1/b))/b, log(a·log x)/x is below b.",
        _fact_above,
    ),
    Claim(
        "ss19-fact-2.1-monotone",
        PAPER,
        "Appendix A, proof of Fact 2.1",
        "For every a > 1, log(a·log x)/x is monotonically decreasing for x > e.",
        _fact_monotone,
    ),
    Claim(
        "ss19-nas",
        PAPER,
        "§3",
        "NAS with h_t of confidence 1 − β/(2t²) is an (α, β)-stopping rule.",
        _nas,
    ),
    Claim(
        "ss19-thm-3.1-private",
        PAPER,
        "Theorem 3.1",
        "Algorithm 1 is ε-DP: ε/2 for the sparse vector technique, ε/2 for the release.",
        _theorem_3_1_privacy,
    ),
    Claim(
        "ss19-thm-3.1-correct",
        PAPER,
        "Theorem 3.1",
        "Algorithm 1 is an (α, β)-stopping rule: four events, each failing with at most β/4.",
        _theorem_3_1,
    ),
    Claim(
        "ss19-cor-3.2-private",
        PAPER,
        "Corollary 3.2",
        "Algorithm 2 is ε-DP.",
        _corollary_3_2_privacy,
    ),
    Claim(
        "ss19-cor-3.2-correct",
        PAPER,
        "Corollary 3.2",
        "Algorithm 2 is an (α, β)-stopping rule.",
        _corollary_3_2,
    ),
    Claim(
        "ss19-doubling",
        PAPER,
        "§3, before Algorithm 2",
        "Looking at powers of two only costs no more than a constant factor.",
        _doubling,
    ),
    Claim(
        "ss19-thm-3.3",
        PAPER,
        "Theorem 3.3",
        "For β ≤ 0.08 Algorithm 2 halts by 2000·(t₀ + t₁ + t₂) with probability at least 1 − β.",
        _theorem_3_3,
    ),
    Claim(
        "ss19-thm-3.3-steps",
        PAPER,
        "Theorem 3.3, proof",
        "Each of the three facts of the proof holds from 1000·t₀, 1000·t₁ and 48·t₂ on.",
        _theorem_3_3_steps,
    ),
)
