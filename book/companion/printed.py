"""Bounds as printed in the papers, which the claims compare with the proved ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpbandits.bounds.stopping import StoppingTimes
from dpbandits.divergences import kl

__all__ = [
    "ab22_regret_rate",
    "ss19_elimination_pulls",
    "ss19_stopping_samples",
    "ss19_stopping_times",
]


def ss19_stopping_times(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> StoppingTimes:
    """Return t₀, t₁, t₂ of SS19's Theorem 3.3.

    t₀ = x²·ℓ, t₁ = y·ℓ, t₂ = (y/α)·log(1/β) with ℓ = log((1/β)·log x), x = R/(α|μ|) and
    y = R/(ε|μ|). ℓ is negative where x is below e^β: see after :prf:ref:`thm-halting`.
    """
    size = abs(mean) / half_range
    x, y = 1 / (alpha * size), 1 / (epsilon * size)
    log_term = math.log(math.log(x) / beta)
    return StoppingTimes(x**2 * log_term, y * log_term, y / alpha * math.log(1 / beta))


def ss19_stopping_samples(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> float:
    """Return SS19's Theorem 3.3: 2000·(t₀ + t₁ + t₂)."""
    return 2000 * ss19_stopping_times(mean, alpha, beta, epsilon, half_range).total


def ss19_elimination_pulls(gap: float, n_arms: int, beta: float, epsilon: float) -> float:
    """Return the last line of the proof of SS19's Lemma 4.2.

    log(K·log(2/Δ)/β)·(1024/Δ² + 96/(εΔ)). It holds for β ≤ 1/2 and fails near β = 1 and
    Δ = 1. Proof: :prf:ref:`prop-printed`.
    """
    log_term = math.log(n_arms * math.log(2 / gap) / beta)
    return log_term * (1024 / gap**2 + 96 / (epsilon * gap))


def ab22_regret_rate(means: Sequence[float], epsilon: float) -> float:
    """Return AB22's lower bound on the regret per log T, Theorem 3, on Bernoulli arms.

    Σ Δ_a/min{kl(μ_a, μ*), 6εΔ_a}. It holds with 1 in place of 6. Proof:
    :prf:ref:`prop-any-law`.
    """
    best = max(means)
    worse = [(best - mean, float(kl(mean, best))) for mean in means if mean < best]
    return sum(gap / min(free, 6 * epsilon * gap) for gap, free in worse)
