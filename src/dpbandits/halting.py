"""The halting condition of the NAS family of stopping rules: each formula, once.

A rule of the family looks at the sum S_n of the first n samples, for the s-th time, and halts when
|S_n| ≥ n·h·(1 + 1/α) + c + B + A. h is a Hoeffding width, c an allowance for noise, B and A are
Laplace variables: B drawn once, A at every look. Without privacy c = A = B = 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dpbandits._kernels import kernel


class Halting(NamedTuple):
    """Constants of a halting condition.

    α, β and R are those of the rule; β is cut into `shares` parts, 1 without privacy and 4 with
    it. The scales are σ₁ of B, σ₂ of each A, and σ₃ of the noise L of the released sum.
    """

    alpha: float
    beta: float
    half_range: float
    shares: float = 1.0
    threshold_scale: float = 0.0
    query_scale: float = 0.0
    release_scale: float = 0.0

    @classmethod
    def private(cls, epsilon: float, alpha: float, beta: float, half_range: float) -> Halting:
        """Return those of Sajed & Sheffet (2019), Algorithms 1, 2: σ₁ = σ₂ = 12R/ε, σ₃ = 4R/ε."""
        query, release = 12 * half_range / epsilon, 4 * half_range / epsilon
        return cls(alpha, beta, half_range, 4.0, query, query, release)


@kernel
def sampling_width(halting: Halting, n: float, look: float) -> float:
    """Return h = R·√((2/n)·log(4·shares·s²/β)).

    The mean of n samples strays further from μ with probability at most β/(2·shares·s²)
    (Hoeffding 1963, for the range 2R).
    """
    log_term = math.log(4.0 * halting.shares * float(look) ** 2 / halting.beta)
    return halting.half_range * math.sqrt(2.0 / n * log_term)


@kernel
def noise_allowance(halting: Halting, look: float) -> float:
    """Return c = σ₁·log(4/β) + σ₂·log(8s²/β) + (σ₃/α)·log(4/β), in units of the sum."""
    once = math.log(4.0 / halting.beta)
    each = math.log(8.0 * float(look) ** 2 / halting.beta)
    tests = halting.threshold_scale * once + halting.query_scale * each
    return tests + halting.release_scale / halting.alpha * once


@kernel
def boundary(halting: Halting, n: float, look: float) -> float:
    """Return n·h·(1 + 1/α) + c: what |S_n| has to reach when all noise is zero."""
    width = sampling_width(halting, n, look)
    return n * width * (1.0 + 1.0 / halting.alpha) + noise_allowance(halting, look)
