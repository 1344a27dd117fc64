"""Claims of Sajed & Sheffet (2019), §4 and §5: steps of the proofs, and the instances."""

import itertools
import math

import numpy as np

from companion.claims.findings import Finding, claim, entries, extremes, finding
from companion.claims.verdicts import decide
from companion.rounding import magnitude
from dpbandits import DPExponentialNAS, bounds
from dpbandits.rewards.instances import SS19_NAMES, ss19
from dpbandits.schedules import elimination_epoch


@claim("ss19-two-arms", "§4", at="lem-pulls")
def two_arms() -> Finding:
    """For K = 2 the private stopping rule with α = 1/2 can be used on the difference of the arms.

    Put the stopping rule, on the difference of two arms in [−1, 1], beside Algorithm 3.
    """
    ratios = []
    for gap, beta, epsilon in itertools.product(
        (1e-6, 1e-3, 0.1, 0.5), (1e-12, 1e-3, 0.05), (1e-3, 0.1, 1.0)
    ):
        samples = bounds.stopping_samples(DPExponentialNAS(epsilon, 0.5, beta), gap)
        ratios.append(samples / bounds.elimination_pulls(gap, 2, beta, epsilon))
    edge = bounds.stopping_samples(DPExponentialNAS(1.0, 0.5, 0.05), 1.0)
    return finding(
        decide(max(ratios) < 100 and min(ratios) > 0.1 and edge > 0),
        "A mean that is known up to half of itself has a known sign. The pulls are those of "
        "Lemma 4.2 up to a constant, at every gap, confidence and budget tried.",
        extremes("samples of the rule / pulls of Algorithm 3", ratios, 2),
    )


@claim("ss19-lemma-4.2-elimination", "proof of Lemma 4.2", at="lem-pulls")
def epoch_eliminates() -> Finding:
    """Unless a bound fails, epoch e removes every arm of gap at least 2^{−e}, and not the best."""
    worst = 0.0
    for size, epoch, beta, epsilon in itertools.product(
        (2, 20, 1000), (1, 2, 5, 15), (0.5, 1e-9), (1e-3, 0.1, 10.0)
    ):
        plan = elimination_epoch(size, epoch, beta, epsilon)
        # an arm of gap Δ_e is off by half the threshold at most, on either side
        worst = max(worst, 2 * plan.threshold * 2**epoch)
    return finding(
        decide(worst < 1),
        "Proved: with h and c below Δ_e/8 each, a gap of Δ_e exceeds twice the threshold "
        "2h + 2c. The best arm stays, as its own deviation is within the threshold.",
        ("twice the threshold / Δ_e, greatest", worst, 4),
    )


def _last_step(n_arms: float, gap: float, log_time: float) -> float:
    """Return log(T·K·log(1/Δ))/log T."""
    return (log_time + math.log(n_arms) + math.log(math.log(1 / gap))) / log_time


@claim("ss19-thm-4.3-last", "proof of Theorem 4.3", at="thm-regret")
def last_inequality() -> Finding:
    """log(T·K·log(1/Δ)) ≤ 3·log T, from T ≥ K and T ≥ 1/Δ."""
    greatest = max(
        _last_step(math.exp(log_t * share), math.exp(-log_t * part), log_t)
        for log_t in (math.log(3), 2.0, 10.0, 100.0, 600.0)
        for share, part in itertools.product((0.5, 1.0), (0.3, 0.9, 1.0))
    )
    return finding(
        decide(greatest <= 3),
        "From K ≤ T, and from log(1/Δ) ≤ log T ≤ T. Where Δ < 1/T the arm costs at most 1 in all, "
        "as the proof of Theorem 4.4 says.",
        ("log(T·K·log(1/Δ))/log T, greatest", greatest, 3),
    )


def _star(n_arms: int, horizon: float, epsilon: float, constant: float) -> float:
    """Solve Δ·T/K = 2C·log T·(1/Δ + 1/ε) for Δ."""
    a = 2 * constant * n_arms * math.log(horizon) / horizon
    return (a / epsilon + math.sqrt((a / epsilon) ** 2 + 4 * a)) / 2


@claim("ss19-thm-4.4-gap", "proof of Theorem 4.4", at="thm-minimax")
def star_order() -> Finding:
    """The gap that equates both bounds is Θ(max(√(K log T/T), K log T/(εT)))."""
    constant, ratios = 100.0, []
    for n, t, epsilon in itertools.product((2, 20, 1000), (1e4, 1e8, 1e16), (1e-4, 0.1, 10.0)):
        rate = n * math.log(t) / t
        ratios.append(_star(n, t, epsilon, constant) / max(math.sqrt(rate), rate / epsilon))
    low, high = math.sqrt(2 * constant), (2 + math.sqrt(8)) * constant
    return finding(
        decide(min(ratios) >= low and max(ratios) <= high),
        "The equation is quadratic; its root lies between constants that depend on C only.",
        extremes("root / claimed order, C = 100", ratios, 1, short=True),
    )


PRINTED = {
    "C1": (0.75, 0.7, 0.7, 0.7, 0.7),
    "C2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "C3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "C4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
}


@claim("ss19-settings", "§5; footnote 6", at="the-experiment")
def settings() -> Finding:
    """C3 has a larger fraction of large gaps, C4 of small ones; variances differ by up to 4/3."""
    sizes, ordered = (3, 5, 10, 20), True
    for (name, other), n_arms in itertools.product((("C3", "C2"), ("C2", "C4")), sizes):
        more = np.sort(ss19(name, n_arms).gaps) - np.sort(ss19(other, n_arms).gaps)
        ordered = ordered and bool(np.all(more >= -1e-12) and np.any(more > 1e-12))
    off = max(float(np.abs(ss19(n).means - PRINTED[n]).max()) for n in SS19_NAMES)
    means = np.concatenate([ss19(n, k).means for n in SS19_NAMES for k in sizes])
    variances = means * (1 - means)
    spread = float(variances.max() / variances.min())
    counts = {name: int(np.sum(ss19(name, 20).gaps > 0.25)) for name in ("C3", "C2", "C4")}
    return finding(
        decide(off < 1e-12 and ordered and spread <= 4 / 3 * (1 + 1e-12)),
        "The means for K = 5 are those printed, and variances differ by 4/3 at most. Gap by gap "
        "C3 is above C2, and C2 above C4, for every K of the experiments.",
        ("greatest over least variance", spread, 4),
        ("difference of means, at most", magnitude(off)),
        entries("gaps above half of the greatest, of 19, {}", counts),
    )
