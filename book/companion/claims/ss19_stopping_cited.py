"""Claims of Sajed & Sheffet (2019), what §1, §2 and §6 cite about stopping rules and noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from companion.claims.ledger import CONDITION, FAILS, HOLDS, Claim, Finding, decide
from dpbandits import bounds
from dpbandits.mechanisms.laplace import laplace_log_cdf
from dpbandits.rewards.instances import low_variance, two_point
from dpbandits.stopping import DPNAS, NAS, DPExponentialNAS, EBGStop, Estimates, sparse_vector_law

__all__ = ["CLAIMS"]

PAPER = "ss19"

GRID = tuple(itertools.product((1e-6, 1e-3, 0.1, 0.3), (0.01, 0.5, 0.9), (1e-9, 0.01, 0.5)))
"""Means |μ|/R, relative errors α and probabilities β."""


def _nas_rate(mean: float, alpha: float, beta: float) -> float:
    return math.log(1 / (beta * alpha * mean)) / (alpha * mean) ** 2


def _nas_samples() -> Finding:
    ratios = [bounds.stopping_samples(NAS(a, b), m) / _nas_rate(m, a, b) for m, a, b in GRID]
    edge = bounds.stopping_samples(NAS(1 - 1e-9, 0.5), 1.0) / _nas_rate(1.0, 1 - 1e-9, 0.5)
    return Finding(
        decide(max(*ratios, edge) < 1000),
        "The time by which NAS surely halts, which is proved in the chapter, stays in proportion "
        "to it. The logarithm is at least log(1/β), so that α·|μ| near R does no harm, as it does "
        "in Theorem 3.3.",
        {
            "time / rate, least": round(min(ratios), 1),
            "time / rate, greatest": round(max(ratios), 1),
            "time / rate at |μ| = R, α = 1 − 10⁻⁹, β = 1/2": round(edge, 1),
        },
    )


def _improved_rate(mean: float, alpha: float, beta: float) -> float:
    return (math.log(1 / beta) + math.log(math.log(1 / (alpha * mean)))) / (alpha * mean) ** 2


def _nas_improved() -> Finding:
    def rule(alpha: float, beta: float) -> DPExponentialNAS:
        return DPExponentialNAS(math.inf, alpha, beta)  # looks at powers of two, without noise

    far = [point for point in GRID if point[0] * point[1] <= 1 / math.e]
    ratios = [bounds.stopping_samples(rule(a, b), m) / _improved_rate(m, a, b) for m, a, b in far]
    edge = _improved_rate(1.0, 0.99, 0.5)
    return Finding(
        decide(max(ratios) < 1000, CONDITION if edge < 0 else HOLDS),
        "Looking at powers of two only gives it for α·|μ| ≤ R/e. Nearer to R the doubly "
        "logarithmic term turns negative, and with a large β so does the sum; log(e·R/(α·|μ|)) in "
        "its place repairs that, at the cost of a constant.",
        {
            "time / rate for α·|μ| ≤ R/e, greatest": round(max(ratios), 1),
            "printed rate at |μ| = R, α = 0.99, β = 1/2": round(edge, 2),
        },
    )


def _essentially() -> Finding:
    alpha, beta, mean = 0.1, 0.01, 0.1
    quotients = {
        name: _improved_rate(mean, alpha, beta) / bounds.dagum_rate(law, alpha, beta)
        for name, law in (
            ("σ near R", two_point(mean)),
            ("σ = 0.3·R", low_variance(mean, 0.3)),
            ("σ = 10⁻⁶·R", low_variance(mean, 1e-6)),
        )
    }
    values = list(quotients.values())
    matched = values[0] < 10
    return Finding(
        decide(matched, CONDITION if values[-1] > 10 * values[0] else HOLDS),
        "Up to the doubly logarithmic term, on laws whose deviation is of the order of R. On laws "
        "of small variance the lower bound is smaller by up to R/(α·|μ|), and the Bernstein rules "
        "that §6 speaks of come down to it.",
        {f"upper / lower rate, {name}": round(float(v), 2) for name, v in quotients.items()},
    )


def _halting_time_falls(found: Mapping[Any, Estimates]) -> Finding:
    means = np.geomspace(1e-4, 1, 60)
    rules = (NAS(0.5, 0.05), DPNAS(0.5, 0.5, 0.05), DPExponentialNAS(0.5, 0.5, 0.05))
    falls, ratio = True, math.inf
    for rule in rules:
        times = np.array([rule.noiseless_time(float(mean)) for mean in means])
        falls = falls and bool(np.all(np.diff(times) <= 0))
        ratio = min(ratio, times[0] / times[-1])
    ordered: dict[object, list[float]] = {}
    distinct = {(runs.rule, runs.law): runs for runs in found.values()}
    for runs in sorted(distinct.values(), key=lambda runs: abs(runs.law.mean)):
        if runs.halted.all():
            ordered.setdefault(runs.rule, []).append(float(runs.samples.mean()))
    measured = all(b <= a for s in ordered.values() for a, b in itertools.pairwise(s))
    return Finding(
        decide(falls and measured),
        "For the three rules of the chapter: without noise the time never grows with |μ|, and in "
        "the chapter's runs the mean number of samples falls from each |μ| to the next.",
        {
            "noiseless time at |μ| = 10⁻⁴·R over that at R, least": round(float(ratio)),
            "settings measured": sum(map(len, ordered.values())),
        },
    )


def _sparse_vector() -> Finding:
    """Streams of threshold queries of sensitivity 1: one neighbour raises some, lowers others."""
    epsilon, worst, control = 1.0, 0.0, 0.0
    for base in (-8.0, -2.0, 0.0, 3.0):
        for moves in ([-1.0] * 11 + [1.0], [1.0] * 11 + [-1.0], [-1.0, 1.0] * 6, [1.0] * 12):
            here = np.full(12, base)
            for factor in (3.0, 1.0):
                scale = factor / epsilon
                p, *_ = sparse_vector_law(here, scale, scale)
                q, *_ = sparse_vector_law(here + np.array(moves), scale, scale)
                loss = float(np.abs(p - q).max()) / epsilon
                if factor == 3.0:
                    worst = max(worst, loss)
                else:
                    control = max(control, loss)
    sure = 1 / 3 + 2 / 3
    return Finding(
        decide(worst <= sure * (1 + 1e-9) < control),
        "Proved: the threshold's noise of scale 3/ε costs ε/3, the query that halts 2ε/3, and the "
        "queries before it nothing. Computed exactly for streams of 12 queries.",
        {
            "greatest loss / ε, scale 3/ε": round(worst, 4),
            "the same, scale 1/ε": round(control, 4),
        },
    )


def _hoeffding(n: int, deviation: float) -> float:
    """Return Hoeffding's bound for n variables in an interval of length 1."""
    return 2 * math.exp(-2 * deviation**2 * n)


def _noise_facts() -> Finding:
    tau = np.array([0.1, 1.0, 5.0, 30.0])
    tails = [2 * np.exp(laplace_log_cdf(-tau, scale)) / np.exp(-tau / scale) for scale in (0.5, 3)]
    tail = float(np.abs(np.concatenate(tails) - 1).max())
    worst = 0.0
    for n, p in itertools.product((1, 10, 100, 1000), (0.5, 0.1, 0.9)):
        for deviation in (0.01, 0.1, 0.3):
            law, off = stats.binom(n, p), deviation * n
            # ≥, with room for rounding in np ± off
            upper = law.sf(math.ceil(n * p + off - 1e-9) - 1)
            lower = law.cdf(math.floor(n * p - off + 1e-9))
            worst = max(worst, float(upper + lower) / _hoeffding(n, deviation))
    return Finding(
        decide(tail < 1e-12 and worst <= 1),
        "The Laplace tail is exact. Hoeffding's inequality is for an interval of length R, so that "
        "samples in [−R, R] have 2R in its place, as Algorithm 1 does; on binomial laws, exactly.",
        {
            "relative error of the Laplace tail, greatest": tail,
            "binomial tail / Hoeffding's bound, greatest": round(worst, 4),
        },
    )


def _bernstein(found: Mapping[Any, Estimates]) -> Finding:
    ratios, least = [], math.inf
    for runs in found.values():
        rule, law = runs.rule, runs.law
        if isinstance(rule, EBGStop):
            least = min(least, math.sqrt(law.variance) / law.half_range)
            error = rule.alpha * law.mean
            rate = max(law.variance / error**2, 1 / error)
            loglog = math.log(math.log(math.e / error))
            samples = runs.mean_samples()[0]
            ratios.append(samples / rate / (math.log(1 / rule.beta) + loglog))
    fits = bool(ratios) and max(ratios) < 100
    return Finding(
        decide(fits, HOLDS, FAILS),
        "The proof is in the cited paper. In the chapter's runs of EBGStop the mean number of "
        "samples stays in proportion to the rate as the deviation falls from about R to "
        f"{least:.3g}·R.",
        {
            "mean samples / rate, least": round(min(ratios, default=0.0), 2),
            "mean samples / rate, greatest": round(max(ratios, default=0.0), 2),
        },
    )


CLAIMS = (
    Claim(
        "ss19-nas-samples",
        PAPER,
        "§1, cited",
        "NAS needs O(R²/(α²μ²)·log(R/(βα|μ|))) samples.",
        _nas_samples,
    ),
    Claim(
        "ss19-nas-improved",
        PAPER,
        "§1, cited",
        "This can be improved to O(R²/(α²μ²)·(log(1/β) + log log(R/(α|μ|)))).",
        _nas_improved,
    ),
    Claim(
        "ss19-dagum-matching",
        PAPER,
        "§1, cited",
        "The lower bound of Dagum et al. essentially matches that sample complexity.",
        _essentially,
    ),
    Claim(
        "ss19-halting-monotone",
        PAPER,
        "§2",
        "The halting time of a stopping rule increases as |μ| decreases.",
        _halting_time_falls,
        ("over-means",),
    ),
    Claim(
        "ss19-svt",
        PAPER,
        "§2, cited",
        "The sparse vector technique with noise of scale 3·GS/ε on threshold and queries is ε-DP.",
        _sparse_vector,
    ),
    Claim(
        "ss19-noise-facts",
        PAPER,
        "§2, cited",
        "P(|X| > τ) = e^{−τ/λ} for Laplace noise of scale λ; Hoeffding: 2·exp(−2α²t/R²).",
        _noise_facts,
    ),
    Claim(
        "ss19-bernstein",
        PAPER,
        "§6, cited",
        "A Bernstein rule needs O(max(σ²/(α²μ²), R/(α|μ|))·(log(1/β) + log log(R/(α|μ|)))) "
        "samples.",
        _bernstein,
        ("over-deviations",),
    ),
)
