"""Characteristic times: lower bounds on the pulls of private rules for the best arm.

Jourdan & Azize (2025), reconstructed; proofs: :prf:ref:`thm-bai-lower`, :prf:ref:`thm-time-facts`.
With W_a(w) = W(μ*, μ_a, w*, w_a) the transportation cost of `transport` between the best arm and
arm a, 1/T*_ε = max over the simplex of min over a ≠ a* of W_a(w). It is computed from the
optimality conditions (:prf:ref:`lem-allocation`), with s_a = w_a/w* and G_a(s) = W_a(1, s).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_fraction, check_positive, check_values
from dpbandits.divergences import restricted
from dpbandits.identification.transport import transportation_cost, transportation_cost_kernel

_FINE = 1e-12
_LONGEST_STEP = 3.0
_FARTHEST = 600.0
_ROUNDS = 400
_PATIENCE = 20  # rounds between two bisections, against cycles


class CharacteristicTime(NamedTuple):
    """A characteristic time and the allocation that attains it; `characteristic_time` computes it.

    Attributes
    ----------
    value : float
        T*: asymptotic number of pulls per unit of log(1/δ).
    weights : numpy.ndarray of float, shape (K,)
        w, the arms' shares of the pulls.
    costs : numpy.ndarray of float, shape (K,)
        W_a(w): at least 1/T*, with equality if the arm is critical; inf for the best.

    Examples
    --------
    >>> time = characteristic_time([0.75, 0.5, 0.25], 1.0)
    >>> round(float(time.weights.sum()), 12), round(float(time.costs.min() * time.value), 9)
    (1.0, 1.0)
    """

    value: float  # T*: asymptotic number of pulls per unit of log(1/δ)
    weights: Floats  # w, the arms' shares of the pulls
    costs: Floats  # W_a(w): at least 1/T*, with equality if the arm is critical; inf for the best


class PrivacySwitches(NamedTuple):
    """Budgets from which privacy is free to first order; `privacy_switches` computes them.

    Attributes
    ----------
    free : float
        Largest logit μ* − logit μ_a over the arms a: from this ε on d_ε = kl between the means.
    exact : float
        The least ε at which T*_ε is T*_KL.

    Examples
    --------
    >>> switches = privacy_switches([0.75, 0.5])
    >>> switches.exact < switches.free
    True
    """

    free: float  # max over a of logit μ* − logit μ_a: from this ε on d_ε = kl between the means
    exact: float  # the least ε at which T*_ε is T*_KL


@kernel(error_model="numpy")
def _slope(xc: float, u: float, uc: float, gap: float, epsilon: float) -> float:
    """Return −∂d⁻(x, u)/∂u, for u < x."""
    if gap > u * xc * math.expm1(epsilon):
        return 1.0 / (u + 1.0 / math.expm1(epsilon))
    return gap / (u * uc)


@kernel(error_model="numpy")
def _at(best: float, other: float, epsilon: float, position: float) -> tuple[float, float, float]:
    """Return s, d⁻(μ*, u) and d⁺(μ_a, u) for the u with log((u − μ_a)/(μ* − u)) = position."""
    grow = math.exp(-abs(position))
    far, near = (best - other) / (1.0 + grow), (best - other) * (grow / (1.0 + grow))
    if position < 0.0:
        far, near = near, far
    u, uc = other + far, (1.0 - best) + near
    s = _slope(1.0 - best, u, uc, near, epsilon) / _slope(other, uc, u, far, epsilon)
    part_best = restricted(best, 1.0 - best, u, uc, near, epsilon)
    return s, part_best, restricted(1.0 - other, other, uc, u, far, epsilon)


@kernel(error_model="numpy")
def _inverse(
    best: float, other: float, epsilon: float, level: float, limit: float
) -> tuple[float, float, float]:
    """Return the s ≤ limit at which G(s) = level, d⁻(μ*, u) and d⁺(μ_a, u).

    G is concave: Newton's method increases to it from level/G'(0), or from any s below if G' = ∞.
    """
    s = level / restricted(1.0 - other, other, 1.0 - best, best, best - other, epsilon)
    if s == 0.0:
        s = limit
        while transportation_cost_kernel(best, other, 1.0, s, epsilon)[0] > level:
            s *= 0.25
    part_best = part_other = 0.0
    for _ in range(_ROUNDS):
        cost, _u, part_best, part_other = transportation_cost_kernel(best, other, 1.0, s, epsilon)
        step = (level - cost) / part_other
        if not _FINE * s < step < math.inf:
            break
        s += step
    return s, part_best, part_other


@kernel(error_model="numpy")
def _fill(
    means: Floats, epsilon: float, level: float, s: Floats, part_best: float, part_other: float
) -> tuple[float, float]:
    """Set s_a from the third arm on; return Σ d⁻/d⁺ and Σ 1/d⁺. The parts are of the second arm."""
    quotients, inverses = part_best / part_other, 1.0 / part_other
    for a in range(2, means.size):
        s[a] = s[a - 1]
        if means[a] < means[a - 1]:
            s[a], part_best, part_other = _inverse(means[0], means[a], epsilon, level, s[a - 1])
        quotients += part_best / part_other
        inverses += 1.0 / part_other
    return quotients, inverses


@kernel(error_model="numpy")
def _best_allocation(means: Floats, epsilon: float) -> tuple[float, Floats]:
    """Return c and the s_a of T*_ε; the means decrease.

    The unknown is the position of the second arm's u between its mean and the largest, on the scale
    of log-odds, on which log Σ d⁻/d⁺ is nearly linear; its zero is found by secants in a bracket.
    """
    s = np.ones(means.size)
    position, slope, last, last_excess, level = 0.0, -1.5, 0.0, 0.0, 0.0
    lowest, highest = -_FARTHEST, _FARTHEST
    for k in range(_ROUNDS):
        s[1], part_best, part_other = _at(means[0], means[1], epsilon, position)
        level = part_best + s[1] * part_other
        excess = math.log(_fill(means, epsilon, level, s, part_best, part_other)[0])
        if excess > 0.0:
            lowest = position
        else:
            highest = position
        if k > 0 and position != last:
            slope = (excess - last_excess) / (position - last)
        last, last_excess = position, excess
        step = -excess / slope if slope < 0.0 else math.copysign(_LONGEST_STEP, excess)
        if abs(step) <= _FINE or highest - lowest <= _FINE:
            break
        position += min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        if not lowest < position < highest or k % _PATIENCE == _PATIENCE - 1:
            position = 0.5 * (lowest + highest)
    return level, s


@kernel(error_model="numpy")
def _allocation_with(means: Floats, epsilon: float, total: float) -> tuple[float, Floats]:
    """Return c and the s_a with Σ_{a ≥ 2} s_a = `total`; Newton's method for s_2 in a bracket."""
    s = np.ones(means.size)
    low, high = total / (means.size - 1), total
    point, level = low, 0.0
    for _ in range(_ROUNDS):
        s[1] = point
        level, _u, part_best, part_other = transportation_cost_kernel(
            means[0], means[1], 1.0, point, epsilon
        )
        inverses = _fill(means, epsilon, level, s, part_best, part_other)[1]
        excess = np.sum(s[1:]) - total
        if excess < 0.0:
            low = point
        else:
            high = point
        step = -excess / (inverses * part_other) if part_other > 0.0 else 0.0
        if abs(step) <= _FINE * point or high - low <= _FINE * point:
            break
        point += step
        if not low < point < high:
            point = 0.5 * (low + high)
    return level, s


@kernel(error_model="numpy")
def adapted_share_kernel(means: Floats, epsilon: float) -> float:
    """Return `adapted_share` without checks, for compiled loops.

    Shapes: `means` (K,).
    """
    ordered = np.minimum(np.maximum(means, 0.0), 1.0)
    for k in range(1, ordered.size):  # decreasing; Numba takes three seconds to compile `np.sort`
        value, j = ordered[k], k
        while j > 0 and ordered[j - 1] < value:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = value
    if ordered[0] == ordered[1]:
        return 0.5
    if epsilon > 700.0:
        epsilon = math.inf  # e^ε overflows; the share is the same to double precision
    s = _best_allocation(ordered, epsilon)[1]
    least = 1.0 / means.size
    return min(max(1.0 / float(s.sum()), least), 1.0 - least)


def _checked_means(means: ArrayLike) -> Floats:
    """Return the means of at least two arms, with a unique best one, as an array."""
    values = check_values("means", means, 0.0, 1.0)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"means={means!r} has fewer than 2 arms; allowed: a list of numbers")
    if np.sum(values == values.max()) > 1:
        raise ValueError(f"means={means!r} has tied best arms; allowed: one greatest mean")
    return values


def characteristic_time(
    means: ArrayLike, epsilon: float, leader_share: float | None = None
) -> CharacteristicTime:
    """Return T*_ε, or T*_{ε,β} if the best arm's share of the pulls is fixed, with its allocation.

    Jourdan & Azize (2025), Theorem 2, reconstructed; `sample_lower_bound` is the bound with it.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        μ, means of Bernoulli rewards in [0, 1], with a unique maximum.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for T*_KL, the time without privacy.
    leader_share : float, optional
        β, the share of the best arm, in (0, 1). By default the optimal one. If all means but one
        are 0, and ε is finite, several allocations may be optimal; the one returned treats tied
        arms alike.

    Returns
    -------
    CharacteristicTime
        The time, in pulls per unit of log(1/δ), and its allocation.

    Raises
    ------
    ValueError
        If an argument is out of range, or several means are the largest.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> time = dpb.characteristic_time([0.75, 0.7, 0.7, 0.7, 0.7], 0.1)
    >>> round(time.value, 1), time.weights.round(3).tolist()
    (1620.3, [0.244, 0.189, 0.189, 0.189, 0.189])
    >>> round(dpb.characteristic_time([0.75, 0.7, 0.7, 0.7, 0.7], 0.1, 0.5).value, 1)
    2105.9
    """
    values = _checked_means(means)
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    order = np.argsort(-values, kind="stable")
    if leader_share is None:
        level, s = _best_allocation(values[order], epsilon)
    else:
        share = check_fraction("leader_share", leader_share)
        level, s = _allocation_with(values[order], epsilon, (1 - share) / share)
    weights, costs = np.empty_like(values), np.empty_like(values)
    weights[order] = s / s.sum()
    best = order[0]
    costs, _ = transportation_cost(values[best], values, weights[best], weights, epsilon)
    costs[best] = np.inf
    return CharacteristicTime(float(s.sum() / level), weights, costs)


def adapted_share(means: ArrayLike, epsilon: float) -> float:
    """Return the best arm's share in the allocation that attains T*_ε, from 1/K to 1 − 1/K.

    Shapes: `means` (K,).
    """
    values = np.asarray(means, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or np.isnan(values).any():
        raise ValueError(f"means={means!r} must be two or more numbers")
    return float(adapted_share_kernel(values, check_positive("epsilon", epsilon, infinite=True)))


def total_variation_time(means: ArrayLike) -> float:
    """Return T*_TV, the sum of 1/Δ_a over all arms, with the least gap for the best arm.

    It is the limit of ε·T*_ε as ε → 0, for the costs min(w*, w_a)·Δ_a.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of Bernoulli rewards in [0, 1], with a unique maximum.

    Returns
    -------
    float
        The time, in pulls times ε per unit of log(1/δ).

    Raises
    ------
    ValueError
        If a mean is out of range, or several means are the largest.

    Examples
    --------
    >>> round(total_variation_time([0.75, 0.5, 0.25]), 12)
    10.0
    """
    values = _checked_means(means)
    gaps = np.sort(values.max() - values)[1:]
    return float(np.sum(1 / gaps) + 1 / gaps[0])


def privacy_switches(means: ArrayLike) -> PrivacySwitches:
    """Return the budgets from which the characteristic time is that without privacy.

    `free`, of Jourdan & Azize (2025), is max over a of logit μ* − logit μ_a: beyond it, d_ε is kl
    between the means. `exact` is the least ε at which T*_ε = T*_KL (:prf:ref:`prop-switch`). Both
    are infinite if the largest mean is 1 or a mean is 0.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of Bernoulli rewards in [0, 1], with a unique maximum.

    Returns
    -------
    PrivacySwitches
        The two budgets.

    Raises
    ------
    ValueError
        If a mean is out of range, or several means are the largest.

    Examples
    --------
    >>> switches = privacy_switches([0.95, 0.9, 0.9, 0.9, 0.5])
    >>> round(switches.free, 2), round(switches.exact, 2)
    (2.94, 2.87)
    """
    values = _checked_means(means)
    best, others = values.max(), values[values < values.max()]
    if best == 1 or others.min() == 0:
        return PrivacySwitches(math.inf, math.inf)
    weights = characteristic_time(values, math.inf).weights
    leader, rest = weights[np.argmax(values)], weights[values < best]
    far, near = (best - others) * leader / (leader + rest), (best - others) * rest / (leader + rest)
    u, uc = others + far, (1 - best) + near
    free = np.log1p((best - others) / (others * (1 - best)))
    down, up = np.log1p(near / (u * (1 - best))), np.log1p(far / (others * uc))
    return PrivacySwitches(float(free.max()), float(np.maximum(down, up).max()))


def sample_lower_bound(means: ArrayLike, epsilon: float, delta: float) -> float:
    """Return T*_ε·log(1/(2.4δ)), a lower bound on the expected number of pulls.

    Jourdan & Azize (2025), Theorem 2, reconstructed (proof: :prf:ref:`thm-bai-lower`), for rules
    that are ε-DP and err with probability at most δ on every instance. It is 0 for δ ≥ 1/2.4.

    Parameters
    ----------
    means : array_like of float, shape (K,)
        Means of Bernoulli rewards in [0, 1], with a unique maximum.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for the bound without privacy.
    delta : float
        Probability δ of a wrong recommendation, in (0, 1).

    Returns
    -------
    float
        The bound, in pulls.

    Raises
    ------
    ValueError
        If an argument is out of range, or several means are the largest.

    Examples
    --------
    >>> round(sample_lower_bound([0.75, 0.7, 0.7, 0.7, 0.7], 0.1, 0.01))
    6043
    """
    delta = check_fraction("delta", delta)
    return max(0.0, -math.log(2.4 * delta)) * characteristic_time(means, epsilon).value
