"""Bounds for heavy-tailed rewards, from above and from below, with the constants of their proofs.

TWZW22 is Tao, Wu, Zhao & Wang (2022); its formulas are lost in our copy, and these bounds are our
own. Everywhere E∣X∣^(1+v) ≤ u on every arm.

*Elimination* (Theorems 4 and 7 of TWZW22). While no mean errs the wrong way (`heavy_failure`), an
arm of gap Δ is gone after the first epoch τ with 2^−τ ≤ Δ, and the best arm stays: at most Σ R_τ'
pulls over τ' ≤ τ, with K arms in every R, which grows with their number. Proof:
:prf:ref:`thm-rse`.

*Indices* (Theorem 2). An arm whose half-width is below Δ/2 is pulled only if its private mean is
too high or that of the best arm too low. Proof: :prf:ref:`thm-dprucb`.

*Lower bounds* (Theorems 5 and 8 to 11 have other instances, and :prf:ref:`thm-heavy-lower` other
constants). All rewards are 0 or h. In the first instance arm 1 has h with probability p/2 and all
other arms give 0; in the second arm a > 1 has h with probability p. With p·h^(1+v) = u and
p·h = 2Δ, that is h = (u/(2Δ))^(1/v) and p = ((2Δ)^(1+v)/u)^(1/v), no moment exceeds u, the best
mean is ahead by Δ in either, and arm a's two laws have total variation p. Let n be the number of
pulls of arm a. For the sequences of pulls of one algorithm on the two instances
KL(first, second) ≤ κ·E n (first instance), with

- κ = −log(1 − p(1 − e^−ε)) in the global model. On the first instance all rewards of arm a are 0.
  On the second, given a sequence of pulls with n pulls of arm a, the number K of rewards h among
  them is binomial before one looks at what the algorithm does, and by group privacy the algorithm
  takes that sequence with at least e^(−εK) times the probability of the first instance. The mean
  of e^(−εK) is (1 − p(1 − e^−ε))^n = e^(−κn). ε = ∞ is the bound without privacy.
- κ = (e^ε − 1)²·p² in the local model (`local_kl_bound`, and the chain rule); the κ of the global
  model holds there as well, since what is released determines the pulls.

By Bretagnolle & Huber's inequality P1(n > T/2) + P2(n ≤ T/2) ≥ ½·exp(−κ·E n), and each event
costs its instance ΔT/2: the two regrets add up to at least (ΔT/4)·exp(−κ·E n).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._validation import (
    check_choice,
    check_fraction,
    check_integer,
    check_order,
    check_positive,
    check_range,
)
from dpbandits.bounds.regret import check_times, spend_pulls
from dpbandits.heavy_schedules import heavy_epoch, heavy_failure, tree_index

__all__ = [
    "dprucb_pulls",
    "dprucb_regret",
    "heavy_divergence",
    "heavy_elimination_pulls",
    "heavy_elimination_regret",
    "heavy_minimax_lower_bound",
    "heavy_pulls_lower_bound",
    "heavy_regret_lower_bound",
    "local_kl_bound",
    "published_width_constant",
    "robust_ucb_pulls",
    "robust_ucb_regret",
    "worst_heavy_regret",
]

_MOST_EPOCHS = 1000
_MODELS = ("global", "local")


def heavy_elimination_pulls(
    gap: float,
    n_arms: int,
    beta: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
    schedule: str | None = None,
) -> int:
    """Bound the pulls of an arm of gap Δ by DPRSE or LDPRSE: Lemma 4 of TWZW22 as an exact sum.

    Σ R_τ over τ ≤ τ(Δ), the first τ ≥ 1 with 2^−τ ≤ Δ. Of order (u/Δ^(1+v))^(1/v)·log(1/β)/ε in
    the global model, and with u², Δ^(2(1+v)) and ε² instead in the local one. Exceeded with
    probability at most `heavy_failure(beta, model)`.

    Parameters
    ----------
    gap, n_arms : float, int
        Δ > 0, and the number of arms K.
    beta, epsilon, moment, order, model, schedule
        As of `heavy_epoch`; not for the schedule "published-remark".

    Examples
    --------
    >>> heavy_elimination_pulls(0.5, 2, 0.01, 1.0, moment=1.0, order=1.0)
    15403
    """
    gap = check_positive("gap", gap)
    if schedule == "published-remark":
        raise ValueError(f"schedule={schedule!r} has no bound; allowed: any other")
    last = min(max(1, 1 - math.frexp(gap)[1]), _MOST_EPOCHS)
    plans = (
        heavy_epoch(n_arms, epoch, beta, epsilon, moment, order, model, schedule)
        for epoch in range(1, last + 1)
    )
    return sum(plan.pulls for plan in plans)


def heavy_elimination_regret(
    gaps: ArrayLike,
    horizon: float,
    *,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
    schedule: str | None = None,
    beta: float | None = None,
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DPRSE (TWZW22, Theorem 4) or LDPRSE.

    Σ Δ_a n_a with n_a at most `heavy_elimination_pulls` and Σ n_a ≤ t, plus `heavy_failure` times
    t·max Δ. With β = 1/T this is of order Σ_a (u/Δ_a)^(1/v)·log(T)/ε in the global model, and
    Σ_a u^(2/v)·Δ_a^(−(1+2/v))·log(T)/ε² in the local one.

    Parameters
    ----------
    gaps, horizon : array_like, shape (K,), and float
        Gaps of all arms, zeros for the best; horizon T that the algorithm is told.
    epsilon, moment, order, model, schedule
        As of `heavy_epoch`.
    beta : float, optional
        Confidence; None means 1/T.
    times : array_like, optional
        Times t ≤ T at which the bound is wanted; None means T. The result has its shape.
    """
    all_gaps, at = _gaps(gaps), check_times(horizon, times)
    beta = 1 / check_positive("horizon", horizon) if beta is None else check_fraction("beta", beta)
    plan = (beta, epsilon, moment, order, model, schedule)
    pulls = [heavy_elimination_pulls(g, all_gaps.size, *plan) for g in _positive(all_gaps)]
    return _regret(all_gaps, pulls, heavy_failure(beta, model), at)


def dprucb_pulls(
    gap: float, horizon: int, epsilon: float, moment: float, order: float, scaling: str = "tree"
) -> float:
    """Bound the pulls of an arm of gap Δ by DPRUCB with valid widths.

    The first n with 2H·n^(−v/(1+v)) < Δ, H of `tree_index`: of order
    (u/Δ^(1+v))^(1/v)·F/ε with F = log²T, or (log T)^(2 + 1/(2v)) for the scaling "log".
    """
    width = tree_index(horizon, epsilon, moment, order, scaling).width
    log_pulls = (1 + order) / order * math.log(2 * width / check_positive("gap", gap))
    return math.floor(math.exp(min(log_pulls, 600.0))) + 1.0


def dprucb_regret(
    gaps: ArrayLike,
    horizon: int,
    *,
    epsilon: float,
    moment: float,
    order: float,
    scaling: str = "tree",
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of DPRUCB with valid widths (TWZW22, Theorem 2, derived).

    Σ Δ_a n_a with n_a at most `dprucb_pulls` and Σ n_a ≤ t, plus t·max Δ times K·T·T^−4: one
    direction for each arm and each number of its pulls. What the text claims is the factor
    log^1.5 T/ε; what is proved, in :prf:ref:`thm-dprucb`, is log²T/ε.

    Arguments as of `heavy_elimination_regret` and `tree_index`.
    """
    all_gaps, at = _gaps(gaps), check_times(horizon, times)
    plan = (check_integer("horizon", horizon, 2), epsilon, moment, order, scaling)
    pulls = [dprucb_pulls(gap, *plan) for gap in _positive(all_gaps)]
    failure = min(1.0, all_gaps.size * plan[0] * tree_index(*plan).failure)
    return _regret(all_gaps, pulls, failure, at)


def published_width_constant(horizon: int, order: float) -> float:
    """Return the C that the published bonus of DPRUCB needs at least to hold at t = T.

    With Λ = log^1.5 T the bonus is C·u^(1/(1+v))·(ℓΛ/(nε))^(v/(1+v)), ℓ = log(2t⁴). When n is a
    power of two the tree's noise is one Laplace variable of scale 2B_n·L/ε, and over n it falls
    below the negative of the bonus with probability ½exp(−(C/2)·ℓ^(v/(1+v))·Λ/L). At t = T this is
    more than ½e^−ℓ = 1/(4T⁴) unless C ≥ 2L·ℓ^(1/(1+v))/Λ, of order (log T)^(1/(1+v) − 1/2): for
    v < 1 no C is enough for all T (:prf:ref:`prop-no-constant`). For v = 1 one node alone does not
    rule it out.

    Examples
    --------
    >>> [round(published_width_constant(10**e, 0.5), 1) for e in (3, 6, 12, 100)]
    [10.2, 11.4, 12.7, 18.1]
    """
    log_t = math.log(check_integer("horizon", horizon, 3))
    levels = int(horizon).bit_length()
    log_term = math.log(2) + 4 * log_t
    return 2 * levels * log_term ** (1 / (1 + check_order("order", order))) / log_t**1.5


def robust_ucb_pulls(gap: ArrayLike, log_term: ArrayLike, moment: float, order: float) -> Any:
    """Return log(1/δ)·u^(1/v)·(8/Δ)^((1+v)/v), at which twice the bonus of `RobustUCB` is Δ."""
    gap = np.asarray(gap, dtype=np.float64)
    power = (1 + order) / order
    with np.errstate(over="ignore"):
        return np.asarray(log_term) * (8 / gap) ** power * moment ** (1 / order)


def robust_ucb_regret(
    gaps: ArrayLike,
    horizon: float,
    *,
    moment: float,
    order: float,
    confidence: str = "anytime",
    times: ArrayLike | None = None,
) -> Any:
    """Bound the expected pseudo-regret of robust UCB with the truncated mean.

    *Proof.* Beyond `robust_ucb_pulls` at time t an arm is pulled at s ≤ t only if a mean fails. For
    δ = s^−2 the union over n ≤ s and two arms gives Σ 2/s ≤ 2 log t such pulls in expectation; for
    δ = T^−2 the failures of all n together have probability 2/T, hence 2 pulls. Each arm's bound
    has 1 more for rounding up. ∎ Bubeck, Cesa-Bianchi & Lugosi (2013, Theorem 1) have the order.

    Arguments as of `heavy_elimination_regret`; `confidence` is "anytime" or "fixed", δ = t^−2 or
    T^−2.
    """
    check_choice("confidence", confidence, ("anytime", "fixed"))
    all_gaps, at = _gaps(gaps), check_times(horizon, times)
    positive = all_gaps[all_gaps > 0]
    anytime = confidence == "anytime"
    logs = np.log(np.maximum(at if anytime else np.full_like(at, horizon), 1.0))
    extra = 1 + (2 * logs if anytime else np.full_like(at, 2.0))
    pulls = robust_ucb_pulls(positive, 2 * logs[..., None], moment, order) + extra[..., None]
    return np.minimum(pulls @ positive, at * positive.max(initial=0.0))[()]


def worst_heavy_regret(gaps: ArrayLike, horizon: float, *, times: ArrayLike | None = None) -> Any:
    """Return the regret of the worst arm, played throughout: t times the greatest gap."""
    return (check_times(horizon, times) * _gaps(gaps).max(initial=0.0))[()]


def _gaps(gaps: ArrayLike) -> Floats:
    """Return gaps as an array of shape (K,); heavy-tailed arms may differ by more than 1."""
    array = np.asarray(gaps)
    if (
        array.ndim != 1
        or array.dtype.kind not in "iuf"
        or not np.all((array >= 0) & (array < 1e100))
    ):
        raise ValueError(f"gaps={gaps!r} is not a list of gaps; allowed: finite numbers from 0 on")
    return array.astype(np.float64)


def _positive(gaps: Floats) -> list[float]:
    positive: list[float] = gaps[gaps > 0].tolist()
    return positive


def _regret(gaps: Floats, pulls: list[Any], failure: float, at: Floats) -> Any:
    """Spend at most `pulls` on each arm with a gap, or all on the worst if the means fail."""
    positive = gaps[gaps > 0]
    worst = at * positive.max(initial=0.0)
    spent = spend_pulls(positive, np.array(pulls, dtype=np.float64), at)
    return np.minimum(spent + failure * worst, worst)[()]


def local_kl_bound(epsilon: float, tv: float) -> float:
    """Bound what an ε-locally private release of one sample tells of its law.

    KL(m0, m1) + KL(m1, m0) ≤ (e^ε − 1)²·tv², where m0 and m1 are the densities of the release if
    the sample is of law P0 or P1, of total variation tv = sup ∣P0(A) − P1(A)∣ (Duchi, Jordan &
    Wainwright 2013 have this with 4·tv² for their tv). Proof: :prf:ref:`lem-contraction`, in both
    directions.

    Examples
    --------
    >>> round(local_kl_bound(1.0, 0.1), 6)
    0.029525
    """
    epsilon, tv = check_positive("epsilon", epsilon), check_range("tv", tv, 0, 1)
    return math.inf if epsilon > 300 and tv > 0 else (math.expm1(min(epsilon, 300)) * tv) ** 2


def heavy_divergence(
    gap: float, epsilon: float, moment: float, order: float, model: str = "global"
) -> float:
    """Return κ of the hard instances: what a pull of the changed arm can reveal.

    Of order ε·((2Δ)^(1+v)/u)^(1/v) in the global model, and the square of that in the local one.

    Parameters
    ----------
    gap, epsilon, moment, order : float
        Δ > 0, at most u^(1/(1+v))/2; privacy budget ε, ``inf`` for no privacy; u and v.
    model : {"global", "local"}
        Who is trusted.

    Examples
    --------
    >>> [round(heavy_divergence(0.05, 1.0, 1.0, 1.0, model), 7) for model in ("global", "local")]
    [0.0063413, 0.0002952]
    """
    gap, moment = check_positive("gap", gap), check_positive("moment", moment)
    order = check_order("order", order)
    _check(epsilon, model)
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
    if model == "global" or math.isinf(epsilon):
        return central
    return min(central, local_kl_bound(epsilon, p))


def heavy_pulls_lower_bound(
    gap: float,
    horizon: float,
    regret: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
) -> float:
    """Bound from below the expected pulls of each worse arm on the first hard instance.

    E n ≥ log(ΔT/(8G))/κ for an algorithm whose regret is at most G on both: the two regrets add
    up to at most 2G and at least (ΔT/4)·exp(−κ·E n). If G is at most of order T^a, a < 1, this
    is at least of order (1 − a)·log T·Δ^(−(1+v)/v)/ε in the global model, for ε ≤ 1, and
    (1 − a)·log T·Δ^(−2(1+v)/v)/ε² in the local one: an algorithm cannot have a regret of order
    Δ^(−1/v)·log(T)/ε² in the local model for all Δ.

    Arguments as of `heavy_divergence`; where G is so large that nothing follows, the bound is 0.

    Examples
    --------
    >>> central, local = (
    ...     heavy_pulls_lower_bound(0.01, 1e12, 1e6, 0.5, 1.0, 1.0, m) for m in ("global", "local")
    ... )
    >>> round(central), round(local)
    (45304, 105902940)
    """
    kappa = heavy_divergence(gap, epsilon, moment, order, model)
    ratio = gap * check_positive("horizon", horizon) / (8 * check_positive("regret", regret))
    if kappa == 0:
        raise ValueError(f"gap={gap!r} is too small for the numbers; allowed: a greater gap")
    return max(0.0, math.log(ratio)) / kappa


def heavy_regret_lower_bound(
    gap: float,
    horizon: float,
    regret: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
    n_arms: int = 2,
) -> float:
    """Bound from below the regret on the first hard instance: (K − 1)·Δ pulls of each worse arm.

    For an algorithm whose regret is at most G on it and on the K − 1 second instances. Arguments
    as of `heavy_pulls_lower_bound`.
    """
    pulls = heavy_pulls_lower_bound(gap, horizon, regret, epsilon, moment, order, model)
    return (check_integer("n_arms", n_arms, 2) - 1) * gap * pulls


def heavy_minimax_lower_bound(
    horizon: float, n_arms: int, epsilon: float, moment: float, order: float, model: str = "global"
) -> float:
    """Bound from below the regret of every algorithm on the worst instance.

    max over Δ of (ΔT/8)·exp(−κ(Δ)·T/(K − 1)): some arm a > 1 has E n ≤ T/(K − 1) on the first
    instance, and the greater of two regrets is at least half of their sum. With
    N = T/(K − 1) the best p is v/((1 − e^−ε)(v + (1 + v)N)) for the κ of the global model and
    √(v/(2(1 + v)N))/(e^ε − 1) for that of the local one, or 1 if that is less: the logarithm is
    concave in p. Of order u^(1/(1+v))·T^(1/(1+v))·((K − 1)/ε)^(v/(1+v)) and
    u^(1/(1+v))·T^((2+v)/(2(1+v)))·((K − 1)/ε²)^(v/(2(1+v))).

    Arguments as of `heavy_divergence`; K ≥ 2.

    Examples
    --------
    >>> central, local = (
    ...     heavy_minimax_lower_bound(1e12, 2, 0.5, 1.0, 1.0, m) for m in ("global", "local")
    ... )
    >>> round(central), round(local)
    (42733, 42732896)
    """
    moment, order = check_positive("moment", moment), check_order("order", order)
    _check(epsilon, model)
    horizon = check_positive("horizon", horizon)
    rivals = horizon / (check_integer("n_arms", n_arms, 2) - 1)
    candidates = [-order / (math.expm1(-epsilon) * (order + (1 + order) * rivals))]
    if model == "local" and epsilon <= 300:
        root = math.sqrt(order / (2 * (1 + order) * rivals))
        candidates.append(root / math.expm1(epsilon))
    best = 0.0
    for p in candidates:
        p = min(p, 1.0)
        kappa = _divergence(p, epsilon, model)
        gap = (moment * p**order) ** (1 / (1 + order)) / 2
        best = max(best, gap * horizon / 8 * math.exp(-kappa * rivals))
    return best


def _check(epsilon: float, model: str) -> None:
    check_choice("model", model, _MODELS)
    check_positive("epsilon", epsilon, infinite=True)
