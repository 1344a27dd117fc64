"""Bounds on the expected regret with heavy-tailed rewards, with the constants of their proofs.

TWZW22 is Tao, Wu, Zhao & Wang (2022); its formulas are lost in our copy, and these bounds are
derived here. Everywhere E|X|^(1+v) ≤ u on every arm.

*Elimination.* While no mean errs the wrong way (`heavy_failure`), an arm of gap Δ is gone after
the first epoch τ with 2^−τ ≤ Δ, and the best arm stays: at most Σ R_τ' pulls over τ' ≤ τ, with K
arms in every R, which grows with their number.

*Indices.* An arm whose half-width is below Δ/2 is pulled only if its private mean is too high or
that of the best arm too low.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import (
    check_choice,
    check_fraction,
    check_integer,
    check_order,
    check_positive,
)
from dpbandits.bounds.regret import _spend_pulls, _times
from dpbandits.heavy_schedules import heavy_epoch, heavy_failure, tree_index

__all__ = [
    "dprucb_pulls",
    "dprucb_regret",
    "heavy_elimination_pulls",
    "heavy_elimination_regret",
    "published_width_constant",
    "robust_ucb_pulls",
    "robust_ucb_regret",
    "worst_heavy_regret",
]

FloatArray = NDArray[np.float64]
_MOST_EPOCHS = 1000


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
    the global model, and with u², Δ^(2(1+v)) and ε² instead in the local one.

    Parameters
    ----------
    gap : float
        Δ > 0.
    n_arms : int
        Number of arms K.
    beta, epsilon, moment, order, model, schedule
        As for `heavy_epoch`; not for the schedule "published-remark".

    Returns
    -------
    int
        Exceeded with probability at most `heavy_failure(beta, model)`.

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
    gaps : array_like, shape (K,)
        Gaps of all arms, zeros for the best.
    horizon : float
        Horizon T that the algorithm is told.
    epsilon, moment, order, model, schedule
        As for `heavy_epoch`.
    beta : float, optional
        Confidence; None means 1/T.
    times : array_like, optional
        Times t ≤ T at which the bound is wanted; None means T.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Examples
    --------
    >>> options = {"epsilon": 1.0, "moment": 1.0, "order": 0.5}
    >>> central = heavy_elimination_regret([0.0, 0.5], 10**12, **options)
    >>> bool(central < heavy_elimination_regret([0.0, 0.5], 10**12, model="local", **options))
    True
    """
    all_gaps, at = _gaps(gaps), _times(horizon, times)
    positive = all_gaps[all_gaps > 0]
    beta = 1 / check_positive("horizon", horizon) if beta is None else check_fraction("beta", beta)
    cells = [
        heavy_elimination_pulls(gap, all_gaps.size, beta, epsilon, moment, order, model, schedule)
        for gap in positive.tolist()
    ]
    worst = at * positive.max(initial=0.0)
    spent = _spend_pulls(positive, np.array(cells, dtype=np.float64), at)
    return np.minimum(spent + heavy_failure(beta, model) * worst, worst)[()]


def dprucb_pulls(
    gap: float, horizon: int, epsilon: float, moment: float, order: float, scaling: str = "tree"
) -> float:
    """Bound the pulls of an arm of gap Δ by DPRUCB with valid widths.

    The first n with 2H·n^(−v/(1+v)) < Δ, H of `tree_index`: of order
    (u/Δ^(1+v))^(1/v)·F/ε with F = log²T, or (log T)^(2 + 1/(2v)) for the scaling "log".

    Examples
    --------
    >>> long, short = (dprucb_pulls(0.5, 10**6, eps, 1.0, 0.5) for eps in (0.5, 1.0))
    >>> long > 1.5 * short
    True
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
    log^1.5 T/ε; what is proved here is log²T/ε.

    Parameters
    ----------
    gaps, horizon, times : array_like, float, array_like
        As for `heavy_elimination_regret`.
    epsilon, moment, order, scaling
        As for `tree_index`.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`

    Examples
    --------
    >>> options = {"moment": 1.0, "order": 1.0}
    >>> few = dprucb_regret([0.0, 0.5], 10**9, epsilon=1.0, **options)
    >>> bool(few < dprucb_regret([0.0, 0.5], 10**9, epsilon=0.1, **options))
    True
    """
    all_gaps, at = _gaps(gaps), _times(horizon, times)
    horizon = check_integer("horizon", horizon, 2)
    positive = all_gaps[all_gaps > 0]
    plan = (horizon, epsilon, moment, order, scaling)
    pulls = np.array([dprucb_pulls(gap, *plan) for gap in positive.tolist()], dtype=np.float64)
    failure = min(1.0, all_gaps.size * horizon * tree_index(*plan).failure)
    worst = at * positive.max(initial=0.0)
    return np.minimum(_spend_pulls(positive, pulls, at) + failure * worst, worst)[()]


def published_width_constant(horizon: int, order: float) -> float:
    """Return the C that the published bonus of DPRUCB needs at least to hold at t = T.

    With Λ = log^1.5 T the bonus is C·u^(1/(1+v))·(ℓΛ/(nε))^(v/(1+v)), ℓ = log(2t⁴). When n is a
    power of two the tree's noise is one Laplace variable of scale 2B_n·L/ε, and over n it falls
    below the negative of the bonus with probability ½exp(−(C/2)·ℓ^(v/(1+v))·Λ/L). At t = T this is
    more than ½e^−ℓ = 1/(4T⁴) unless C ≥ 2L·ℓ^(1/(1+v))/Λ, of order (log T)^(1/(1+v) − 1/2): for
    v < 1 no C is enough for all T. For v = 1 one node alone does not rule it out.

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
    """Return the n beyond which twice the bonus of `RobustUCB` is below a gap.

    log(1/δ)·8^((1+v)/v)·u^(1/v)/Δ^((1+v)/v).

    Examples
    --------
    >>> float(robust_ucb_pulls(0.5, 10.0, moment=1.0, order=1.0))
    2560.0
    """
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
    """Bound the expected pseudo-regret of robust UCB with the truncated mean (derived here).

    Beyond `robust_ucb_pulls` at time t an arm is pulled at s ≤ t only if a mean fails. For
    δ = s^−2 the union over n ≤ s and two arms gives Σ 2/s ≤ 2 log t such pulls in expectation; for
    δ = T^−2 the failures of all n together have probability 2/T, hence 2 pulls. Each arm's bound
    has 1 more for rounding up. Bubeck, Cesa-Bianchi & Lugosi (2013, Theorem 1) have the order.

    Parameters
    ----------
    gaps, horizon, times : array_like, float, array_like
        As for `heavy_elimination_regret`.
    moment, order : float
        u and v.
    confidence : {"anytime", "fixed"}
        δ = t^−2 or T^−2.

    Returns
    -------
    float or numpy.ndarray, of the shape of `times`
    """
    check_choice("confidence", confidence, ("anytime", "fixed"))
    all_gaps, at = _gaps(gaps), _times(horizon, times)
    positive = all_gaps[all_gaps > 0]
    logs = np.log(np.maximum(at if confidence == "anytime" else np.full_like(at, horizon), 1.0))
    extra = 1 + (2 * logs if confidence == "anytime" else np.full_like(at, 2.0))
    pulls = robust_ucb_pulls(positive, 2 * logs[..., None], moment, order) + extra[..., None]
    worst = at * positive.max(initial=0.0)
    return np.minimum(pulls @ positive, worst)[()]


def worst_heavy_regret(gaps: ArrayLike, horizon: float, *, times: ArrayLike | None = None) -> Any:
    """Return the regret of the worst arm, played throughout: t times the greatest gap.

    Examples
    --------
    >>> float(worst_heavy_regret([0.0, 2.0], 10))
    20.0
    """
    return (_times(horizon, times) * _gaps(gaps).max(initial=0.0))[()]


def _gaps(gaps: ArrayLike) -> FloatArray:
    """Return gaps as an array of shape (K,); heavy-tailed arms may differ by more than 1."""
    array = np.asarray(gaps)
    if (
        array.ndim != 1
        or array.dtype.kind not in "iuf"
        or not np.all((array >= 0) & (array < 1e100))
    ):
        raise ValueError(f"gaps={gaps!r} is no list of gaps; allowed: finite numbers of at least 0")
    return array.astype(np.float64)
