"""Bounds on pulls and regret of Sajed & Sheffet (2019, "SS19") and before, with all constants."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import SMALLEST, check_positive, check_range, check_values
from dpbandits.configuration import (
    Arms,
    Budget,
    Flag,
    Fraction,
    NonNegative,
    Positive,
    checked_arguments,
)
from dpbandits.schedules import elimination_epoch

__all__ = [
    "dp_ucb_pulls",
    "dp_ucb_regret",
    "elimination_failure",
    "elimination_last_epoch",
    "elimination_minimax_regret",
    "elimination_pulls",
    "elimination_pulls_closed_form",
    "elimination_pulls_printed",
    "elimination_regret",
    "group_privacy_factor",
    "lai_robbins_rate",
    "minimax_lower_bound",
    "private_lower_bound_rate",
    "private_minimax_lower_bound",
    "ucb_regret",
    "worst_regret",
]


_LARGEST = sys.float_info.max
_Gap = Annotated[
    float, partial(check_range, low=SMALLEST, high=1.0, allowed="(0, 1], at least 1e-100")
]
_FiniteBudget = Annotated[
    float, partial(check_range, low=SMALLEST, high=700.0, allowed="positive, at most 700")
]  # e^ε is a float


def check_arms(name: str, values: ArrayLike, high: float = 1.0) -> Floats:
    """Return gaps or means, numbers from 0 to `high`, as an array of shape (K,)."""
    array = np.atleast_1d(check_values(name, values, 0.0, high))
    if array.ndim > 1:
        raise ValueError(f"{name}={values!r} is not a list; allowed: a list of numbers")
    return array


def check_times(horizon: float, times: ArrayLike | None) -> Floats:
    """Check the horizon and return the times at which a bound is wanted."""
    horizon = check_positive("horizon", horizon)
    return np.asarray(horizon) if times is None else check_values("times", times, 0.0, _LARGEST)


@checked_arguments
def worst_regret(gaps: ArrayLike, horizon: Positive, *, times: ArrayLike | None = None) -> Any:
    """Return the regret of the worst arm, played throughout: t times the greatest gap."""
    return (check_times(horizon, times) * check_arms("gaps", gaps, 1e100).max())[()]


@checked_arguments
def elimination_last_epoch(gap: _Gap) -> int:
    """Return e(a): the first epoch e ≥ 1 with gap ≥ 2^−e, after which arm a is gone (Lemma 4.2)."""
    return max(1, 1 - math.frexp(gap)[1])


@checked_arguments
def elimination_failure(beta: Fraction, *, private: Flag = True) -> float:
    """Bound the probability that some confidence interval of (DP) SE fails in some epoch.

    Epoch e fails with probability at most β/(4e²) by sampling and as much by noise, and
    Σ 1/e² = π²/6: β·π²/12 in all, β·π²/24 without noise (Lemma 4.2).
    """
    return beta * math.pi**2 / (12 if private else 24)


@checked_arguments
def elimination_pulls(gap: _Gap, n_arms: Arms, beta: Fraction, epsilon: Budget = math.inf) -> int:
    """Bound the pulls of an arm of gap Δ_a in (0, 1] by (DP) SE: SS19, Lemma 4.2, as an exact sum.

    Σ ⌈R_e⌉ over e ≤ e(a), with |S| = K in every R_e (R_e grows with |S|); exceeded with probability
    at most `elimination_failure(beta)`. Other arguments as of `elimination_epoch`; ε = ∞ for the
    non-private algorithm. Proof: :prf:ref:`lem-pulls`.

    Examples
    --------
    >>> elimination_pulls(0.5, n_arms=2, beta=0.1)
    651
    """
    epochs = range(1, elimination_last_epoch(gap) + 1)
    return sum(elimination_epoch(n_arms, e, beta, epsilon).pulls for e in epochs)


@checked_arguments
def elimination_pulls_closed_form(
    gap: _Gap, n_arms: Arms, beta: Fraction, epsilon: Budget = math.inf
) -> float:
    """Bound the pulls of an arm by (DP) SE in closed form.

    (512/3)·log(8K e²/β)/Δ² + 32·log(4K e²/β)/(εΔ) + 2e, with e = e(a) ≤ log2(2/Δ).
    Proof: :prf:ref:`lem-pulls`.
    """
    e = elimination_last_epoch(gap)
    sampling = 512 / 3 * math.log(8 * n_arms * e**2 / beta) / gap**2
    privacy = 32 * math.log(4 * n_arms * e**2 / beta) / (epsilon * gap)
    return sampling + privacy + 2 * e


@checked_arguments
def elimination_pulls_printed(gap: _Gap, n_arms: Arms, beta: Fraction, epsilon: Budget) -> float:
    """Evaluate the bound as the last line of the proof of SS19's Lemma 4.2 prints it.

    log(K·log(2/Δ)/β)·(1024/Δ² + 96/(εΔ)). It holds for β ≤ 1/2 and fails near β = 1 and
    Δ = 1. Proof: :prf:ref:`prop-printed`.
    """
    log_term = math.log(n_arms * math.log(2 / gap) / beta)
    return log_term * (1024 / gap**2 + 96 / (epsilon * gap))


def regret_of_pulls(
    gaps: Floats, pulls: Callable[[float], float], failure: float, at: Floats
) -> Any:
    """Bound the regret: at most `pulls(gap)` of each arm, or, if the means fail, the worst arm.

    Σ Δ_a n_a with n_a at most that and Σ n_a ≤ t is greatest if the greatest gaps come first.
    """
    positive = gaps[gaps > 0]
    distinct, which = np.unique(positive, return_inverse=True)
    most = np.array([pulls(gap) for gap in distinct.tolist()], float)[which]
    order = np.argsort(-positive)
    spent = np.minimum(np.cumsum(most[order]), at[..., None])
    regret = np.diff(spent, prepend=0.0) @ positive[order]
    worst = at * positive.max(initial=0.0)
    return np.minimum(regret + failure * worst, worst)[()]


@checked_arguments
def elimination_regret(
    gaps: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget = math.inf,
    beta: Fraction | None = None,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of (DP) SE: SS19, Theorem 4.3, with its constants.

    Σ Δ_a n_a with n_a at most the pulls of Lemma 4.2 and Σ n_a ≤ t, plus what a failed
    confidence interval costs at most: `elimination_failure` times t·max Δ.
    Proof: :prf:ref:`thm-regret`.

    Parameters
    ----------
    gaps : array_like, shape (K,)
        Gaps of all arms, zeros for the best.
    horizon : float
        Horizon T that the algorithm is told.
    epsilon, beta : float
        Privacy budget ε, ``inf`` for the non-private algorithm; confidence β, None for 1/T.
    times : array_like, optional
        Times t ≤ T at which the bound is wanted; None means T. The result has its shape.
    """
    all_gaps = check_arms("gaps", gaps)
    confidence = 1 / horizon if beta is None else beta
    failure = elimination_failure(confidence, private=math.isfinite(epsilon))

    def pulls(gap: float) -> int:  # lesser gaps overflow; no horizon is that long
        return elimination_pulls(max(gap, SMALLEST), all_gaps.size, confidence, epsilon)

    return regret_of_pulls(all_gaps, pulls, failure, check_times(horizon, times))


@checked_arguments
def elimination_minimax_regret(
    n_arms: Arms, horizon: Positive, epsilon: Budget = math.inf
) -> float:
    """Bound the expected pseudo-regret of (DP) SE with β = 1/T on every instance (Theorem 4.4).

    2√((K−1)·A·T) + (K−1)·(B/ε + 4/(e·ln 2)) + π²/12 with A = (512/3)·log(8K m²T),
    B = 32·log(4K m²T), m = max(1, ⌈log2 √(T/(K−1))⌉). Proof: :prf:ref:`thm-minimax`.
    """
    rivals = n_arms - 1
    m = max(1, math.ceil(math.log2(math.sqrt(horizon / rivals))))
    sampling = 512 / 3 * math.log(8 * n_arms * m**2 * horizon)
    privacy = 32 * math.log(4 * n_arms * m**2 * horizon) / epsilon
    return (
        2 * math.sqrt(rivals * sampling * horizon)
        + rivals * (privacy + 4 / (math.e * math.log(2)))
        + math.pi**2 / 12
    )


@checked_arguments
def dp_ucb_pulls(gap: ArrayLike, times: ArrayLike, gamma: NonNegative = 0.0) -> Floats:
    """Return the least n with 2√(2 log t/n) + 2γ/n ≤ Δ: an arm's widths are its gap (UCB, DP-UCB).

    ((√(2 log t) + √(2 log t + 2γΔ))/Δ)², which is 8 log t/Δ² for γ = 0.
    """
    gap_array = check_values("gap", gap, 0.0, 1.0)
    at = check_values("times", times, 0.0, _LARGEST)
    width = 2 * np.log(np.maximum(at, 1.0))
    return ((np.sqrt(width) + np.sqrt(width + 2 * gamma * gap_array)) / gap_array) ** 2


@checked_arguments
def dp_ucb_regret(
    gaps: ArrayLike,
    horizon: Positive,
    *,
    gamma: NonNegative,
    noise_failure: NonNegative,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of an index policy with noise at most γ.

    Each arm is pulled at most `dp_ucb_pulls` + 1 + π²/3 times in expectation while every noise of
    a sum of rewards stays within ±γ, γ = `gamma` ≥ 0; `noise_failure` bounds the probability that
    some does not. Proof: :prf:ref:`thm-dpucb`.
    """
    all_gaps = check_arms("gaps", gaps)
    positive = all_gaps[all_gaps > 0]
    at = check_times(horizon, times)
    pulls = dp_ucb_pulls(positive, at[..., None], gamma) + 1 + math.pi**2 / 3
    worst = at * positive.max(initial=0.0)
    return np.minimum(pulls @ positive + min(1.0, noise_failure) * worst, worst)[()]


@checked_arguments
def ucb_regret(gaps: ArrayLike, horizon: Positive, *, times: ArrayLike | None = None) -> Any:
    """Bound the expected pseudo-regret of UCB1: Auer, Cesa-Bianchi & Fischer (2002), Theorem 1.

    Σ (8 log t/Δ_a + (1 + π²/3)·Δ_a) over the suboptimal arms, capped at t·max Δ.
    """
    return dp_ucb_regret(gaps, horizon, gamma=0.0, noise_failure=0.0, times=times)


def lai_robbins_rate(means: ArrayLike) -> float:
    """Return lim inf regret/log T of any consistent policy on Bernoulli arms: Σ Δ_a/kl(μ_a, μ*).

    Lai & Robbins (1985). Asymptotic: at a finite T a policy may well lie below rate·log T.
    """
    mu = check_arms("means", means)
    best = mu.max()
    others = mu[mu < best]
    kl = scipy.special.rel_entr(others, best) + scipy.special.rel_entr(1 - others, 1 - best)
    return float(np.sum((best - others) / kl))


@checked_arguments
def group_privacy_factor(distance: ArrayLike, epsilon: _FiniteBudget, n: ArrayLike = 1) -> Floats:
    """Bound P(output | n samples of D) / P(output | n samples of D') under ε-DP, in logarithm.

    n·log(1 + d·(e^ε − 1)) with d the total-variation distance of D and D': the sharp form of
    SS19's Lemma 3.5 (Karwa & Vadhan 2018, Lemma 6.1), which prints 6·ε·n·d.
    Proof: :prf:ref:`lem-group`.
    """
    samples = check_values("n", n, 0.0, _LARGEST)
    budget, distance = math.expm1(epsilon), check_values("distance", distance, 0.0, 1.0)
    return samples * np.log1p(distance * budget)


@checked_arguments
def private_lower_bound_rate(means: ArrayLike, epsilon: _FiniteBudget) -> float:
    """Return a lower bound on lim inf regret/log T of any consistent ε-DP policy.

    Σ Δ_a/log(1 + Δ_a(e^ε − 1)) ≥ (K−1)/(e^ε − 1) on Bernoulli arms with max mean below 1: the
    bound Ω(K log T/ε) of Shariff & Sheffet (2018), with a constant. Asymptotic.
    Proof: :prf:ref:`thm-lower`.
    """
    mu = check_arms("means", means)
    gaps = mu.max() - mu[mu < mu.max()]
    return float(np.sum(gaps / group_privacy_factor(gaps, epsilon)))


@checked_arguments
def minimax_lower_bound(n_arms: Arms, horizon: Positive) -> float:
    """Return the non-private minimax lower bound min(√(KT), T)/20 (Auer et al. 2002b)."""
    return min(math.sqrt(n_arms * horizon), horizon) / 20


@checked_arguments
def private_minimax_lower_bound(n_arms: Arms, horizon: Positive, epsilon: _FiniteBudget) -> float:
    """Return a lower bound on the worst-case regret of any ε-DP policy.

    The solution R = c·W(T/(16c)) of R = c·log(T/(16R)), with c = (K−1)/(4(e^ε − 1)) and
    Lambert's W: of order K·log(T)/ε while that is well below T.
    Proof: :prf:ref:`prop-minimax-lower`.
    """
    c = (n_arms - 1) / (4 * math.expm1(epsilon))
    ratio = horizon / (16 * c)
    return float(c * scipy.special.lambertw(ratio).real)
