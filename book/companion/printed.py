"""Bounds as printed in the papers, which the claims compare with the proved ones."""

from __future__ import annotations

import math

from dpbandits.bounds.stopping import StoppingTimes

__all__ = ["ss19_elimination_pulls", "ss19_stopping_samples", "ss19_stopping_times"]


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
