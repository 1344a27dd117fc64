"""The halting condition of the NAS family of stopping rules.

At its s-th look a rule of the family checks the sum S_n of the first n samples, and halts when
|S_n| ≥ n·h·(1 + 1/α) + c + B + A. h is a Hoeffding width, c an allowance for noise, and B and A are
Laplace variables: B is drawn once, A at every look. Without privacy c = A = B = 0. If it releases a
midpoint in place of S_n/n, n·h/α suffices for the samples, and c is larger.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_kind
from dpbandits.configuration import Budget, Fraction, Positive, between, checked_arguments


class Halting(NamedTuple):
    """Constants of a halting condition.

    Attributes
    ----------
    alpha : float
        The rule's relative error α, in (0, 1).
    beta : float
        The rule's error probability β, in (0, 1).
    half_range : float
        R > 0: the samples lie in [−R, R].
    shares : float
        Number of parts of β: 1 without privacy and 4 with it.
    threshold_scale : float
        Scale σ₁ of B, in units of the sum; 0 without privacy.
    query_scale : float
        Scale σ₂ of each A, in units of the sum.
    release_scale : float
        Scale σ₃ of the noise L of the released sum.
    midpoint : bool
        Whether a midpoint is released instead of the mean.

    Examples
    --------
    >>> halting = Halting.private(epsilon=1.0, alpha=0.5, beta=0.05, half_range=1.0)
    >>> halting.shares, halting.query_scale, halting.release_scale
    (4.0, 12.0, 4.0)
    >>> boundary(halting, 1024.0, 10.0) > boundary(Halting(0.5, 0.05, 1.0), 1024.0, 10.0)
    True
    """

    alpha: float
    beta: float
    half_range: float
    shares: float = 1.0
    threshold_scale: float = 0.0
    query_scale: float = 0.0
    release_scale: float = 0.0
    midpoint: bool = False

    @classmethod
    @checked_arguments
    def private(
        cls, epsilon: Budget, alpha: Fraction, beta: Fraction, half_range: Positive
    ) -> Halting:
        """Return the constants of Sajed & Sheffet (2019), Algorithms 1 and 2.

        σ₁ = σ₂ = 12R/ε and σ₃ = 4R/ε: half of the budget is for the comparisons, half for the
        release.
        """
        query, release = 12 * half_range / epsilon, 4 * half_range / epsilon
        return cls(alpha, beta, half_range, 4.0, query, query, release)


def _check_condition(name: str, value: Any) -> Halting:
    """Return the constants of a halting condition; raise for anything else."""
    check_kind(name, value, Halting, "NAS(0.5, 0.05).halting")
    condition: Halting = value
    return condition


_Condition = Annotated[Halting, _check_condition]
_Look = Annotated[float, between(1.0, 1e300)]


@kernel
def sampling_width_kernel(halting: Halting, n: float, look: float) -> float:
    """Return `sampling_width` without checks, for compiled loops."""
    log_term = math.log(4.0 * halting.shares * float(look) ** 2 / halting.beta)
    return halting.half_range * math.sqrt(2.0 / n * log_term)


@checked_arguments
def sampling_width(halting: _Condition, n: Positive, look: _Look) -> float:
    """Return h = R·√((2/n)·log(4·shares·s²/β)), the width for the samples.

    The mean of n samples is farther from μ with probability at most β/(2·shares·s²) (Hoeffding
    1963, for the range 2R).
    """
    return float(sampling_width_kernel(halting, n, look))


@kernel
def query_allowance_kernel(halting: Halting, look: float) -> float:
    """Return σ₁·log(4/β) + σ₂·log(8s²/β), the allowance for the noise of the comparisons."""
    once = math.log(4.0 / halting.beta)
    each = math.log(8.0 * float(look) ** 2 / halting.beta)
    return halting.threshold_scale * once + halting.query_scale * each


@kernel
def noise_allowance_kernel(halting: Halting, look: float) -> float:
    """Return `noise_allowance` without checks, for compiled loops."""
    once = math.log(4.0 / halting.beta)
    release = halting.release_scale / halting.alpha * once
    if halting.midpoint:
        release += halting.release_scale * once
    return query_allowance_kernel(halting, look) + release


@checked_arguments
def noise_allowance(halting: _Condition, look: _Look) -> float:
    """Return c = σ₁·log(4/β) + σ₂·log(8s²/β) + (σ₃/α)·log(4/β), the allowance for noise.

    With a midpoint, σ₃(1 + 1/α) replaces σ₃/α.
    """
    return float(noise_allowance_kernel(halting, look))


@kernel
def boundary_kernel(halting: Halting, n: float, look: float) -> float:
    """Return `boundary` without checks, for compiled loops."""
    width = sampling_width_kernel(halting, n, look)
    blow_up = 1.0 / halting.alpha if halting.midpoint else 1.0 + 1.0 / halting.alpha
    return n * width * blow_up + noise_allowance_kernel(halting, look)


@checked_arguments
def boundary(halting: _Condition, n: Positive, look: _Look) -> float:
    """Return n·h·(1 + 1/α) + c: the boundary for |S_n| when all noise is zero.

    With a midpoint, n·h/α replaces n·h·(1 + 1/α).
    """
    return float(boundary_kernel(halting, n, look))


@kernel
def estimate_kernel(halting: Halting, n: float, look: float, total: float) -> float:
    """Return the estimate from the noisy sum S̃.

    S̃/n, or the midpoint sign(S̃)·(|S̃|/n − α(h + (σ₃/n)·log(4/β))): if |S̃/n − μ| ≤ w ≤ α|S̃|/n,
    then the error of sign(S̃)·(|S̃|/n − αw) is at most α|μ|.
    """
    if not halting.midpoint:
        return total / n
    width = sampling_width_kernel(halting, n, look)
    width += halting.release_scale * math.log(4.0 / halting.beta) / n
    return math.copysign(abs(total) / n - halting.alpha * width, total)
