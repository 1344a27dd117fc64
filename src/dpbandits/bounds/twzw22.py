"""Upper and lower bounds for heavy-tailed rewards, with the constants of their proofs.

TWZW22 is Tao, Wu, Zhao & Wang (2022); its formulas are missing in our copy, and these bounds are
our own. Everywhere E∣X∣^(1+v) ≤ u on every arm, `moment` is u, `order` is v, and gaps may exceed 1.

Lower bounds (Theorems 5 and 8 to 11 use other instances, and :prf:ref:`thm-heavy-lower` other
constants) compare two instances with rewards of 0 or h = (u/(2Δ))^(1/v). In the first, arm 1 pays h
with probability p/2 and all other arms 0; in the second, arm a > 1 pays h with probability p =
((2Δ)^(1+v)/u)^(1/v). Proofs: :prf:ref:`thm-hard-pairs`.
"""

from __future__ import annotations

import math
import sys
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import check_choice, check_values
from dpbandits.bounds.regret import check_arms, check_times, regret_of_pulls
from dpbandits.configuration import (
    LONGEST,
    ArmCount,
    Budget,
    Fraction,
    Order,
    Positive,
    between,
    checked_arguments,
    whole,
)
from dpbandits.heavy.schedules import heavy_epoch, heavy_failure, tree_index

__all__ = [
    "dprucb_pulls",
    "dprucb_regret",
    "heavy_divergence",
    "heavy_elimination_pulls",
    "heavy_elimination_regret",
    "heavy_minimax_lower_bound",
    "heavy_regret_lower_bound",
    "local_kl_bound",
    "reconstructed_width_constant",
    "robust_ucb_pulls",
    "robust_ucb_regret",
]

_MOST_EPOCHS = 1000
_FAR = 1e100  # larger than any gap
_MODELS = ("central", "local")
_Horizon = Annotated[int, whole(2, LONGEST)]


@checked_arguments
def heavy_elimination_pulls(
    gap: Positive,
    n_arms: ArmCount,
    beta: Fraction,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    model: str = "central",
    schedule: str | None = None,
) -> int:
    """Bound the pulls of an arm of gap Δ by DPRSE or LDPRSE: Lemma 4 of TWZW22 as an exact sum.

    Σ R_τ over τ ≤ τ(Δ), the first τ ≥ 1 with 2^−τ ≤ Δ, with K arms in every R_τ. Of order
    (u/Δ^(1+v))^(1/v)·log(1/β)/ε in the central model, and with u², Δ^(2(1+v)) and ε² instead in the
    local one. Exceeded with probability at most `heavy_failure(beta, model)`.
    Proof: :prf:ref:`thm-rse`.

    Parameters
    ----------
    gap : float
        Gap Δ > 0, in units of reward.
    n_arms : int
        Number of arms K ≥ 2.
    beta : float
        Confidence parameter β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm (DPRSE), or to each reward by its owner (LDPRSE).
    schedule : {"reconstructed", "fitted", "balanced", "non-negative", "one-bit"}, optional
        Schedule of the model's epochs; by default "reconstructed" or "balanced".

    Returns
    -------
    int
        Number of pulls.

    Raises
    ------
    ValueError
        If the schedule has no bound or is not one of the model.

    Examples
    --------
    >>> heavy_elimination_pulls(0.5, 2, 0.01, 1.0, moment=1.0, order=1.0)
    15403
    """
    if schedule == "remark-3":
        raise ValueError(f"schedule={schedule!r} has no bound; allowed: any other")
    last = min(max(1, 1 - math.frexp(gap)[1]), _MOST_EPOCHS)
    plans = (
        heavy_epoch(n_arms, epoch, beta, epsilon, moment, order, model, schedule)
        for epoch in range(1, last + 1)
    )
    return sum(plan.pulls for plan in plans)


@checked_arguments
def heavy_elimination_regret(
    gaps: ArrayLike,
    horizon: Positive,
    *,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    model: str = "central",
    schedule: str | None = None,
    beta: Fraction | None = None,
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DPRSE (TWZW22, Theorem 4) or LDPRSE.

    Σ Δ_a n_a with n_a at most `heavy_elimination_pulls` and Σ n_a ≤ t, plus `heavy_failure` times
    t·max Δ. With β = 1/T this is of order Σ_a (u/Δ_a)^(1/v)·log(T)/ε in the central model, and
    Σ_a u^(2/v)·Δ_a^(−(1+2/v))·log(T)/ε² in the local one.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in units of reward, zeros for the best.
    horizon : float
        Horizon T > 0 of the algorithm.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm (DPRSE), or to each reward by its owner (LDPRSE).
    schedule : {"reconstructed", "fitted", "balanced", "non-negative", "one-bit"}, optional
        Schedule of the model's epochs; by default "reconstructed" or "balanced".
    beta : float, optional
        Confidence parameter β, in (0, 1); by default 1/T.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.

    Raises
    ------
    ValueError
        If the schedule has no bound or is not one of the model.
    """
    all_gaps, at = check_arms("gaps", gaps, _FAR), check_times(horizon, times)
    confidence = 1 / horizon if beta is None else beta
    plan = (all_gaps.size, confidence, epsilon, moment, order, model, schedule)
    failure = heavy_failure(confidence, model)
    found: float | Floats = regret_of_pulls(
        all_gaps, lambda g: heavy_elimination_pulls(g, *plan), failure, at
    )
    return found


@checked_arguments
def dprucb_pulls(
    gap: Positive,
    horizon: _Horizon,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    scaling: str = "fitted",
) -> float:
    """Bound the pulls of an arm of gap Δ by DPRUCB with valid widths.

    The first n with 2H·n^(−v/(1+v)) < Δ, H of `tree_index`: of order
    (u/Δ^(1+v))^(1/v)·F/ε with F = log²T, or (log T)^(2 + 1/(2v)) for the scaling "log".

    Parameters
    ----------
    gap : float
        Gap Δ > 0, in units of reward.
    horizon : int
        Horizon T ≥ 2.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    scaling : {"fitted", "log"}
        Truncation of rewards, which determines the widths.

    Returns
    -------
    float
        Number of pulls.
    """
    width = tree_index(horizon, epsilon, moment, order, scaling).width
    log_pulls = (1 + order) / order * math.log(2 * width / gap)
    return math.floor(math.exp(min(log_pulls, 600.0))) + 1.0


@checked_arguments
def dprucb_regret(
    gaps: ArrayLike,
    horizon: _Horizon,
    *,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    scaling: str = "fitted",
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of DPRUCB with valid widths (TWZW22, Theorem 2, derived).

    Σ Δ_a n_a with n_a at most `dprucb_pulls` and Σ n_a ≤ t, plus t·max Δ times K·T·T^−4. The text
    claims the factor log^1.5 T/ε; :prf:ref:`thm-dprucb` proves log²T/ε.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in units of reward, zeros for the best.
    horizon : int
        Horizon T ≥ 2.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    scaling : {"fitted", "log"}
        Truncation of rewards, which determines the widths.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    all_gaps, at = check_arms("gaps", gaps, _FAR), check_times(horizon, times)
    plan = (horizon, epsilon, moment, order, scaling)
    failure = min(1.0, all_gaps.size * float(horizon) * tree_index(*plan).failure)
    found: float | Floats = regret_of_pulls(
        all_gaps, lambda gap: dprucb_pulls(gap, *plan), failure, at
    )
    return found


@checked_arguments
def reconstructed_width_constant(horizon: Annotated[int, whole(3, LONGEST)], order: Order) -> float:
    """Return a lower bound on the C with which the reconstructed bonus of DPRUCB is valid at t = T.

    With Λ = log^1.5 T the bonus is C·u^(1/(1+v))·(ℓΛ/(nε))^(v/(1+v)), ℓ = log(2t⁴). If n is a power
    of two, the tree's noise, one Laplace variable of scale 2B_n·L/ε, falls below −n times it at t =
    T with a probability above ½e^−ℓ = 1/(4T⁴) unless C ≥ 2L·ℓ^(1/(1+v))/Λ, of order (log
    T)^(1/(1+v) − 1/2): for v < 1 no C suffices for all T (:prf:ref:`prop-no-constant`).

    Parameters
    ----------
    horizon : int
        Horizon T ≥ 3.
    order : float
        v, in (0, 1].

    Returns
    -------
    float
        The constant.

    Examples
    --------
    >>> [round(reconstructed_width_constant(10**e, 0.5), 1) for e in (3, 6, 12, 100)]
    [10.2, 11.4, 12.7, 18.1]
    """
    log_t, levels = math.log(horizon), horizon.bit_length()
    log_term = math.log(2) + 4 * log_t
    return float(2 * levels * log_term ** (1 / (1 + order)) / log_t**1.5)


@checked_arguments
def robust_ucb_pulls(
    gap: ArrayLike, log_term: ArrayLike, moment: Positive, order: Order
) -> float | Floats:
    """Return log(1/δ)·u^(1/v)·(8/Δ)^((1+v)/v), at which twice the bonus of `RobustUCB` is Δ.

    Parameters
    ----------
    gap : array_like of float
        Gap Δ > 0, in units of reward.
    log_term : array_like of float
        log(1/δ) ≥ 0; its shape and that of `gap` are broadcast.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].

    Returns
    -------
    float or numpy.ndarray of float
        Number of pulls, not rounded up.
    """
    gaps = check_values("gap", gap, math.ulp(0.0), _FAR)
    logs = check_values("log_term", log_term, 0.0, sys.float_info.max)
    with np.errstate(over="ignore", invalid="ignore"):
        each = (8 / gaps) ** ((1 + order) / order) * np.float64(moment) ** (1 / order)
        return np.where(logs > 0.0, logs * each, 0.0)[()]


@checked_arguments
def robust_ucb_regret(
    gaps: ArrayLike,
    horizon: Positive,
    *,
    moment: Positive,
    order: Order,
    confidence: str = "anytime",
    times: ArrayLike | None = None,
) -> float | Floats:
    """Bound the expected pseudo-regret of robust UCB with the truncated mean.

    The order is that of Bubeck, Cesa-Bianchi & Lugosi (2013, Theorem 1); proof with these
    constants: :prf:ref:`thm-robust-ucb`.

    Parameters
    ----------
    gaps : array_like of float, shape (K,)
        Gaps of all arms, in units of reward, zeros for the best.
    horizon : float
        Horizon T > 0.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    confidence : {"anytime", "fixed"}
        Whether δ is t^−2 or T^−2.
    times : array_like of float, optional
        Times t ≤ T at which to evaluate the bound; by default T.

    Returns
    -------
    float or numpy.ndarray of float
        The bound, in units of reward, of the shape of `times`.
    """
    check_choice("confidence", confidence, ("anytime", "fixed"))
    all_gaps, at = check_arms("gaps", gaps, _FAR), check_times(horizon, times)
    positive = all_gaps[all_gaps > 0]
    anytime = confidence == "anytime"
    logs = np.log(np.maximum(at if anytime else np.full_like(at, horizon), 1.0))
    extra = 1 + (2 * logs if anytime else np.full_like(at, 2.0))
    pulls = robust_ucb_pulls(positive, 2 * logs[..., None], moment, order) + extra[..., None]
    found: float | Floats = np.minimum(pulls @ positive, at * positive.max(initial=0.0))[()]
    return found


@checked_arguments
def local_kl_bound(epsilon: Positive, tv: Annotated[float, between(0, 1)]) -> float:
    """Bound the information of an ε-locally private release of one sample.

    KL(m0, m1) ≤ ½(e^ε − 1)²·tv², with m0 and m1 the densities of the release of a sample from P0 or
    P1, and tv = sup ∣P0(A) − P1(A)∣. Proof: :prf:ref:`lem-contraction`. Duchi, Jordan & Wainwright
    (2013) bound KL(m0, m1) + KL(m1, m0) by (e^ε − 1)²·min(4, e^(2ε))·tv².

    Parameters
    ----------
    epsilon : float
        Privacy budget ε, positive and finite.
    tv : float
        Total-variation distance of P0 and P1, in [0, 1].

    Returns
    -------
    float
        The bound; ``inf`` if ε is above 300 and the distributions differ.

    Examples
    --------
    >>> round(local_kl_bound(1.0, 0.1), 6)
    0.014762
    """
    return math.inf if epsilon > 300 and tv > 0 else (math.expm1(min(epsilon, 300)) * tv) ** 2 / 2


@checked_arguments
def heavy_divergence(
    gap: Positive, epsilon: Budget, moment: Positive, order: Order, model: str = "central"
) -> float:
    """Return κ of the hard instances: the information of a pull of the changed arm.

    −log(1 − p(1 − e^−ε)) in the central model, of order ε·((2Δ)^(1+v)/u)^(1/v), and the smaller of
    it and ½(e^ε − 1)²p² in the local one. Here p = ((2Δ)^(1+v)/u)^(1/v).

    Parameters
    ----------
    gap : float
        Gap Δ > 0, at most u^(1/(1+v))/2.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm, or to each reward by its owner.

    Returns
    -------
    float
        κ, a relative entropy of one pull.

    Examples
    --------
    >>> heavy_divergence(0.25, 1.0, 1.0, 1.0) > heavy_divergence(0.25, 0.1, 1.0, 1.0)
    True
    """
    check_choice("model", model, _MODELS)
    log_p = ((1 + order) * math.log(2 * gap) - math.log(moment)) / order
    if log_p > 1e-12:
        raise ValueError(
            f"gap={gap!r} is out of range; allowed: at most moment^(1/(1+order))/2 = "
            f"{moment ** (1 / (1 + order)) / 2!r}"
        )
    return _divergence(math.exp(min(log_p, 0.0)), epsilon, model)


def _divergence(p: float, epsilon: float, model: str) -> float:
    hidden = 1 + p * math.expm1(-epsilon)
    central = math.inf if hidden <= 0 else -math.log1p(p * math.expm1(-epsilon))
    if model == "central" or math.isinf(epsilon):
        return central
    return min(central, local_kl_bound(epsilon, p))


@checked_arguments
def heavy_regret_lower_bound(
    gap: Positive,
    horizon: Positive,
    regret: Positive,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    model: str = "central",
    n_arms: ArmCount = 2,
) -> float:
    """Bound from below the regret on the first hard instance, Δ·E n for each of K − 1 worse arms.

    E n ≥ log(ΔT/(8G))/κ, or 0, for an algorithm whose regret is at most G on it and on the second
    instances. If G is at most of order T^a, a < 1, E n is at least of order
    (1 − a)·log T·Δ^(−(1+v)/v)/ε in the central model, for ε ≤ 1, and (1 − a)·log T·Δ^(−2(1+v)/v)/ε²
    in the local one: an algorithm cannot have a regret of order Δ^(−1/v)·log(T)/ε² in the local
    model for all Δ. Proof: :prf:ref:`thm-hard-pairs`.

    Parameters
    ----------
    gap : float
        Gap Δ > 0, at most u^(1/(1+v))/2.
    horizon : float
        Horizon T > 0.
    regret : float
        G > 0, in units of reward.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm, or to each reward by its owner.
    n_arms : int
        Number of arms K ≥ 2.

    Returns
    -------
    float
        The bound, in units of reward.

    Raises
    ------
    ValueError
        If κ is lost in rounding.
    """
    kappa = heavy_divergence(gap, epsilon, moment, order, model)
    ratio = gap * horizon / (8 * regret)
    if kappa == 0:
        raise ValueError(f"gap={gap!r} is too small for the numbers; allowed: a greater gap")
    pulls = max(0.0, math.log(ratio)) / kappa
    return (n_arms - 1) * gap * pulls


@checked_arguments
def heavy_minimax_lower_bound(
    horizon: Positive,
    n_arms: ArmCount,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    model: str = "central",
) -> float:
    """Bound from below the regret of every algorithm on the worst instance.

    max over Δ of (ΔT/8)·exp(−κ(Δ)·T/(K − 1)), of order (uT)^(1/(1+v))·((K − 1)/ε)^(v/(1+v)) in the
    central model, u^(1/(1+v))·T^((2+v)/(2(1+v)))·((K − 1)/ε²)^(v/(2(1+v))) in the local one.
    Proof, with the best p: :prf:ref:`thm-hard-pairs`.

    Parameters
    ----------
    horizon : float
        Horizon T > 0.
    n_arms : int
        Number of arms K ≥ 2.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u on every arm.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm, or to each reward by its owner.

    Returns
    -------
    float
        The bound, in units of reward.
    """
    check_choice("model", model, _MODELS)
    rivals = horizon / (n_arms - 1)
    candidates = [-order / (math.expm1(-epsilon) * (order + (1 + order) * rivals))]
    if model == "local" and epsilon <= 300:
        root = math.sqrt(order / ((1 + order) * rivals))
        candidates.append(root / math.expm1(epsilon))
    best = 0.0
    for p in candidates:
        p = min(p, 1.0)
        kappa = _divergence(p, epsilon, model)
        gap = (moment * p**order) ** (1 / (1 + order)) / 2
        best = max(best, gap * horizon / 8 * math.exp(-kappa * rivals))
    return best
