"""Bounds on pulls and regret of Sajed & Sheffet (2019, "SS19") and earlier, with constants."""

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
    ArmCount,
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
GapSize = Annotated[
    float, partial(check_range, low=SMALLEST, high=1.0, allowed="(0, 1], at least 1e-100")
]
"""The gap of an arm that is not best."""

_FiniteBudget = Annotated[
    float, partial(check_range, low=SMALLEST, high=700.0, allowed="positive, at most 700")
]  # e^ε is a float


def check_arms(name: str, values: ArrayLike, high: float = 1.0) -> Floats:
    """Return gaps or means, numbers from 0 to `high`, as an array of at least one axis.

    Shapes: `values`, the result (K,).
    """
    array = np.atleast_1d(check_values(name, values, 0.0, high))
    if array.ndim > 1:
        raise ValueError(f"{name}={values!r} is not a list; allowed: a list of numbers")
    if array.size == 0:
        raise ValueError(f"{name}={values!r} is empty; allowed: a number for each arm")
    return array


def check_times(horizon: float, times: ArrayLike | None) -> Floats:
    """Check the horizon, and return the times at which to evaluate a bound."""
    horizon = check_positive("horizon", horizon)
    return np.asarray(horizon) if times is None else check_values("times", times, 0.0, _LARGEST)


@checked_arguments
def worst_regret(gaps: ArrayLike, horizon: Positive, *, times: ArrayLike | None = None) -> Any:
    """Return the regret of the worst arm, played throughout: t times the largest gap.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in units of reward.
    horizon : float
        Horizon T > 0.
    times : array_like of float, optional
        Times t at which to evaluate the regret; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The regret, of the shape of `times`.

    Examples
    --------
    >>> worst_regret([0.0, 0.25, 0.5], 100)
    np.float64(50.0)
    """
    return (check_times(horizon, times) * check_arms("gaps", gaps, 1e100).max())[()]


@checked_arguments
def elimination_last_epoch(gap: GapSize) -> int:
    """Return e(a): the first epoch e ≥ 1 with gap ≥ 2^−e, which eliminates arm a (Lemma 4.2).

    Parameters
    ----------
    gap : float
        Gap Δ_a, in (0, 1].

    Returns
    -------
    int
        Number of the epoch.

    Examples
    --------
    >>> [elimination_last_epoch(gap) for gap in (1.0, 0.5, 0.3)]
    [1, 1, 2]
    """
    return max(1, 1 - math.frexp(gap)[1])


@checked_arguments
def elimination_failure(beta: Fraction, *, private: Flag = True) -> float:
    """Bound the probability that some confidence interval of (DP) SE fails in some epoch.

    Epoch e fails with probability at most β/(4e²) due to sampling and at most as much due to noise,
    and Σ 1/e² = π²/6: β·π²/12 in all, β·π²/24 without noise (SS19, Lemma 4.2).

    Parameters
    ----------
    beta : float
        Confidence parameter β, in (0, 1).
    private : bool
        Whether there is noise.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(elimination_failure(0.1), 4), round(elimination_failure(0.1, private=False), 4)
    (0.0822, 0.0411)
    """
    return beta * math.pi**2 / (12 if private else 24)


@checked_arguments
def elimination_pulls(
    gap: GapSize, n_arms: ArmCount, beta: Fraction, epsilon: Budget = math.inf
) -> int:
    """Bound the pulls of an arm of gap Δ_a by (DP) SE: SS19, Lemma 4.2, as an exact sum.

    Σ ⌈R_e⌉ over e ≤ e(a), with |S| = K in every R_e (R_e grows with |S|); exceeded with probability
    at most `elimination_failure(beta)`. Proof: :prf:ref:`lem-pulls`.

    Parameters
    ----------
    gap : float
        Gap Δ_a, in (0, 1].
    n_arms : int
        Number of arms K ≥ 2.
    beta : float
        Confidence parameter β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the non-private algorithm.

    Returns
    -------
    int
        Number of pulls.

    Examples
    --------
    >>> elimination_pulls(0.5, n_arms=2, beta=0.1)
    651
    """
    epochs = range(1, elimination_last_epoch(gap) + 1)
    return sum(elimination_epoch(n_arms, e, beta, epsilon).pulls for e in epochs)


@checked_arguments
def elimination_pulls_closed_form(
    gap: GapSize, n_arms: ArmCount, beta: Fraction, epsilon: Budget = math.inf
) -> float:
    """Bound the pulls of an arm by (DP) SE in closed form.

    (512/3)·log(8K e²/β)/Δ² + 32·log(4K e²/β)/(εΔ) + 2e, with e = e(a) ≤ log2(2/Δ).
    Proof: :prf:ref:`lem-pulls`.

    Parameters
    ----------
    gap : float
        Gap Δ, in (0, 1].
    n_arms : int
        Number of arms K ≥ 2.
    beta : float
        Confidence parameter β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the non-private algorithm.

    Returns
    -------
    float
        Number of pulls.

    Examples
    --------
    >>> elimination_pulls(0.5, 2, 0.1) < elimination_pulls_closed_form(0.5, 2, 0.1)
    True
    """
    e = elimination_last_epoch(gap)
    sampling = 512 / 3 * math.log(8 * n_arms * e**2 / beta) / gap**2
    privacy = 32 * math.log(4 * n_arms * e**2 / beta) / (epsilon * gap)
    return sampling + privacy + 2 * e


def regret_of_pulls(
    gaps: Floats, pulls: Callable[[float], float], failure: float, at: Floats
) -> Any:
    """Bound the regret: at most `pulls(gap)` of each arm, or, if the means fail, the worst arm.

    Σ Δ_a n_a under these limits and Σ n_a ≤ t is largest if the largest gaps come first.

    Shapes: `gaps` (K,).
    """
    positive = gaps[gaps > 0]
    distinct, which = np.unique(positive, return_inverse=True)
    most = np.array([pulls(gap) for gap in distinct.tolist()], float)[which]
    return regret_of_most_pulls(positive, most, failure, at)


def regret_of_most_pulls(gaps: Floats, most: Floats, failure: float, at: Floats) -> Any:
    """Bound the regret: at most `most` pulls of each arm, or, with `failure`, the worst arm.

    Shapes: `gaps`, `most` (m,).
    """
    order = np.argsort(-gaps)
    spent = np.minimum(np.cumsum(most[order]), at[..., None])
    regret = np.diff(spent, prepend=0.0) @ gaps[order]
    worst = at * gaps.max(initial=0.0)
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

    Σ Δ_a n_a with n_a at most the pulls of Lemma 4.2 and Σ n_a ≤ t, plus the cost of failed
    confidence intervals: at most `elimination_failure` times t·max Δ. Proof: :prf:ref:`thm-regret`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0 of the algorithm.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the non-private algorithm.
    beta : float, optional
        Confidence parameter β, in (0, 1); by default 1/T.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> float(elimination_regret([0.0, 0.5], 10**6)) < float(worst_regret([0.0, 0.5], 10**6))
    True
    """
    all_gaps = check_arms("gaps", gaps)
    confidence = 1 / horizon if beta is None else beta
    failure = elimination_failure(confidence, private=math.isfinite(epsilon))

    def pulls(gap: float) -> int:  # smaller gaps overflow; no horizon is that long
        return elimination_pulls(max(gap, SMALLEST), all_gaps.size, confidence, epsilon)

    return regret_of_pulls(all_gaps, pulls, failure, check_times(horizon, times))


@checked_arguments
def elimination_minimax_regret(
    n_arms: ArmCount, horizon: Positive, epsilon: Budget = math.inf
) -> float:
    """Bound the pseudo-regret of (DP) SE with β = 1/T on every instance: SS19, Theorem 4.4.

    2√((K−1)·A·T) + (K−1)·(B/ε + 4/(e·ln 2)) + π²/12 with A = (512/3)·log(8K m²T),
    B = 32·log(4K m²T), m = max(1, ⌈log2 √(T/(K−1))⌉). Proof: :prf:ref:`thm-minimax`.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    horizon : float
        Horizon T > 0 of the algorithm.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the non-private algorithm.

    Returns
    -------
    float
        The bound, in units of reward.
    """
    rivals = n_arms - 1
    m = max(1, math.ceil(math.log2(math.sqrt(horizon / rivals))))
    log_times = math.log(4 * n_arms * m**2) + math.log(horizon)
    sampling = 512 / 3 * (math.log(2) + log_times)
    privacy = 32 * log_times / epsilon
    return (
        2 * math.sqrt(rivals * sampling) * math.sqrt(horizon)
        + rivals * (privacy + 4 / (math.e * math.log(2)))
        + math.pi**2 / 12
    )


@checked_arguments
def dp_ucb_pulls(gap: ArrayLike, times: ArrayLike, gamma: NonNegative = 0.0) -> Floats:
    """Return the least n with 2√(2 log t/n) + 2γ/n ≤ Δ: an arm's widths are its gap (UCB, DP-UCB).

    ((√(2 log t) + √(2 log t + 2γΔ))/Δ)², which is 8 log t/Δ² for γ = 0.

    Parameters
    ----------
    gap : array_like of float
        Gap Δ, in [0, 1].
    times : array_like of float
        Times t, at least 0; the shapes of both are broadcast.
    gamma : float
        γ ≥ 0, in units of the sum of rewards: a bound on all noise.

    Returns
    -------
    numpy.ndarray of float
        Number of pulls, not rounded up.

    Examples
    --------
    >>> round(float(dp_ucb_pulls(0.5, math.e)), 9)
    32.0
    """
    gap_array = check_values("gap", gap, 0.0, 1.0)
    at = check_values("times", times, 0.0, _LARGEST)
    width = 2 * np.log(np.maximum(at, 1.0))
    found: Floats = ((np.sqrt(width) + np.sqrt(width + 2 * gamma * gap_array)) / gap_array) ** 2
    return found


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
    a sum of rewards stays within ±γ. Proof: :prf:ref:`thm-dpucb`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0.
    gamma : float
        γ ≥ 0, in units of the sum of rewards.
    noise_failure : float
        Bound on the probability that some noise exceeds γ in absolute value.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
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

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in [0, 1], zeros for the best.
    horizon : float
        Horizon T > 0.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Examples
    --------
    >>> round(float(ucb_regret([0.0, 0.5], 10**6)), 2)
    223.19
    """
    return dp_ucb_regret(gaps, horizon, gamma=0.0, noise_failure=0.0, times=times)


def lai_robbins_rate(means: ArrayLike) -> float:
    """Return lim inf regret/log T of any consistent policy on Bernoulli arms: Σ Δ_a/kl(μ_a, μ*).

    Lai & Robbins (1985). It is asymptotic: at a finite T a policy can be below rate·log T.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the arms, in [0, 1].

    Returns
    -------
    float
        The rate, in units of reward.

    Raises
    ------
    ValueError
        If a mean is out of range.

    Examples
    --------
    >>> round(lai_robbins_rate([0.9, 0.6]), 4)
    0.9639
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

    Parameters
    ----------
    distance : array_like of float
        Total-variation distance d, in [0, 1].
    epsilon : float
        Privacy budget ε, positive and at most 700.
    n : array_like of float
        Number of samples, at least 0; its shape and that of `distance` are broadcast.

    Returns
    -------
    numpy.ndarray of float
        The bound on the log ratio.

    Examples
    --------
    >>> round(float(group_privacy_factor(0.1, 1.0, n=100)), 3)
    15.857
    """
    samples = check_values("n", n, 0.0, _LARGEST)
    budget, distance = math.expm1(epsilon), check_values("distance", distance, 0.0, 1.0)
    return samples * np.log1p(distance * budget)


@checked_arguments
def private_lower_bound_rate(means: ArrayLike, epsilon: Budget) -> float:
    """Return a lower bound on lim inf regret/log T of any consistent ε-DP policy: #{a: Δ_a > 0}/ε.

    (K − 1)/ε for one best arm, whatever the gaps: the bound Ω(K log T/ε) of Shariff & Sheffet
    (2018), with a constant and for every ε. It requires that an arm could be better than the best:
    if the largest mean is 1 it is 0. It is asymptotic: at a finite T a policy can be below rate·log
    T. For large ε `lai_robbins_rate` is the larger, and `private_regret_rate` is never below
    either. Proof: :prf:ref:`thm-lower`.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of the Bernoulli arms, in [0, 1].
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    float
        The rate, in units of reward.

    Examples
    --------
    >>> private_lower_bound_rate([0.9, 0.6, 0.6], 0.5)
    4.0
    >>> private_lower_bound_rate([1.0, 0.6, 0.6], 0.5)
    0.0
    """
    mu = check_arms("means", means)
    best = mu.max()
    return float(np.sum(mu < best)) / epsilon if best < 1 else 0.0


@checked_arguments
def minimax_lower_bound(n_arms: ArmCount, horizon: Positive) -> float:
    """Return the non-private minimax lower bound min(√(KT), T)/20 (Auer et al. 2002b).

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    horizon : float
        Horizon T > 0.

    Returns
    -------
    float
        The bound on the regret, in units of reward.

    Examples
    --------
    >>> minimax_lower_bound(4, 10_000)
    10.0
    """
    return min(math.sqrt(n_arms * horizon), horizon) / 20


@checked_arguments
def private_minimax_lower_bound(n_arms: ArmCount, horizon: Positive, epsilon: Budget) -> float:
    """Return a lower bound on the worst-case regret of any ε-DP policy.

    The solution R = c·W(T/(16c)) of R = c·log(T/(16R)), with c = (K − 1)/(2ε) and Lambert's W: of
    order K·log(T)/ε as long as that is well below T. Proof: :prf:ref:`prop-minimax-lower`.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    horizon : float
        Horizon T > 0.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    float
        The bound on the regret, in units of reward.

    Examples
    --------
    >>> round(private_minimax_lower_bound(2, 10**6, 0.1), 1)
    37.1
    """
    c = (n_arms - 1) / (2 * epsilon)
    if c == 0:
        return 0.0
    # W(e^x) as a function of x, which does not overflow
    return float(c * scipy.special.wrightomega(math.log(horizon / 16) - math.log(c)))
