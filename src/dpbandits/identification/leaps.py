"""Many rounds of leader and challenger at once, certified to be those of the rounds one by one.

Between two releases of a Top Two rule the leader B is fixed, and with a share of one half it and
the challengers take turns. A challenger's turn with x = N_B goes to the arm of least f_a(x, N_a).
Each f_a is jointly concave, does not fall in x, and grows in N_a: transportation costs are infima
of linear functions of both weights.

Let the rounds start at x₀ with counts n⁰, so that turn i has x = x₀ + i. A leap of t turns ends
with some counts n̂ ≥ n⁰ that add up to t more, x_t = x₀ + t. It is made if they are certified:

**Lemma.** Let Λ be affine, with Λ(x) ≥ min_a f_a(x, n_a) for all x and all real n ≥ n⁰ with
Σn_a ≤ Σn⁰_a + x − x₀ − 1. For each arm b let x_b ∈ [x₀, x_t] be such that

1. f_b(·, n̂_b) > Λ at x₀ and at x_b;
2. if x_b < x_t, then for each a ≠ b with n̂_a > n⁰_a the tangent of f_a(·, n̂_a − 1) at x_t is
   below f_b(·, n̂_b) at x_b and at x_t.

Then the counts after t turns are n̂.

*Proof.* If not, some arm exceeds n̂ in these turns; let b be the first, pulled at x with counts n,
n_b = n̂_b. It was chosen: f_c(x, n_c) ≥ f_b(x, n̂_b) for all c. If x ≤ x_b: by 1 and concavity
f_b(x, n̂_b) > Λ(x), and Λ(x) ≥ min_c f_c(x, n_c) = f_b(x, n̂_b), a contradiction, for Σn is
Σn⁰ + x − x₀ − 1. If x > x_b: as Σn < Σn̂, some a ≠ b has n⁰_a ≤ n_a ≤ n̂_a − 1, and
f_b(x, n̂_b) ≤ f_a(x, n_a) ≤ f_a(x, n̂_a − 1), which is at most its tangent; by 2 and concavity the
tangent is below f_b(x, n̂_b) between x_b and x_t, a contradiction. ∎

Λ comes from duality. With slopes f_x, f_n of each f_a at some point (x_t, ñ_a), for a set A of arms
and p_a ∝ 1/f_n that add up to 1 over A, c = 1/Σ_A(1/f_n), concavity bounds the minimum by

    Σ_A p_a·f_a ≤ Σ_A p_a·(f_a(x_t, ñ_a) + (x − x_t)·f_x) + c·(Σ_A n_a − Σ_A ñ_a),

and Σ_A n_a ≤ Σ_A n⁰_a + x − x₀ − 1. It is tight where the ñ of A equalise the costs: Newton's
method finds them, n̂ are whole numbers near them, and one of a few t has a certificate as a rule.
All comparisons leave a margin of 10⁻¹² of the costs for rounding. What is not certified is not
leapt.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.transport_kernels import calibrated_cost_kernel

__all__ = ["PAUSE", "Costs", "cost_of", "leap"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MARGIN = 1e-12
# What follows steers the speed.
_LEAST = 200
"""Turns that are worth a leap."""
PAUSE = 1000
"""Rounds one by one after a leap that was not certified; twice as many after the next one."""
_NEWTON, _ATTEMPTS = 40, 24
_CLOSE = 0.25  # pulls: a step of Newton's method that is the last
_CERTIFIED, _NEAR, _FAR = 0, 1, 2


class Costs(NamedTuple):
    """What is fixed between two releases.

    f_a = W̃ + bonus·log N_a, of `calibrated_cost_kernel`; or, where `square` is not empty, the
    smaller of 1/(square_a·(1/N_B + 1/N_a)) and min(N_B, N_a)/linear_a.
    """

    leader: int
    means: Floats
    ratios: Floats
    epsilon: float
    bonus: float
    square: Floats
    linear: Floats


@njit(cache=True, nogil=True)
def cost_of(
    costs: Costs, arm: int, ahead: float, behind: float, start: Floats
) -> tuple[float, float, float]:
    """Return f and its slopes by N_B = `ahead` and N_a = `behind`.

    `start` holds where the search for W̃ begins, and then where it ended.
    """
    if costs.square.size > 0:
        whole, c = ahead + behind, costs.square[arm]
        share = behind / whole
        value, limit = ahead * share / c, costs.linear[arm]
        if limit > 0.0 and min(ahead, behind) < value * limit:
            part = 0.5 / limit if ahead == behind else 1.0 / limit
            if behind > ahead:
                return ahead / limit, part, 0.0
            return behind / limit, 1.0 / limit - part, part
        return value, share**2 / c, (ahead / whole) ** 2 / c
    leader, means, ratios, epsilon, bonus, _, _ = costs
    cost, u, tilt_b, tilt_a, by_ahead, by_behind = calibrated_cost_kernel(
        means[leader], means[arm], ahead, behind, ratios[leader], ratios[arm], epsilon, start[0],
        start[1], start[2],
    )  # fmt: skip
    start[0], start[1], start[2] = tilt_b, tilt_a, u
    return cost + bonus * math.log(behind), by_ahead, by_behind + bonus / behind


class _Fluid(NamedTuple):
    """Challengers whose pulls are real numbers, at x_t; all arrays of shape (K − 1,)."""

    arms: Ints
    counts: Floats  # n⁰
    point: Floats  # ñ
    value: Floats  # f, f_x and f_n there
    by_ahead: Floats
    by_behind: Floats
    share: Floats  # p, 0 outside A
    step: Floats  # from ñ to where the costs are equal
    start: Floats


@njit(cache=True, nogil=True)
def _equalise(costs: Costs, fluid: _Fluid, ahead: float, total: float) -> float:
    """Set ñ, slopes, p and steps for counts of sum `total`; return c, or 0 if that fails."""
    k = fluid.arms.size
    for _ in range(_NEWTON):
        for i in range(k):
            fluid.value[i], fluid.by_ahead[i], fluid.by_behind[i] = cost_of(
                costs, fluid.arms[i], ahead, fluid.point[i], fluid.start[i]
            )
            if not (fluid.by_behind[i] > 0.0 and fluid.value[i] < np.inf):
                return 0.0
            fluid.share[i] = 1.0
        c, changed = 0.0, True
        while changed:  # arms that have too many pulls leave A
            changed = False
            left, inverse, weighted = total, 0.0, 0.0
            for i in range(k):
                if fluid.share[i] > 0.0:
                    left -= fluid.point[i]
                    inverse += 1.0 / fluid.by_behind[i]
                    weighted += fluid.value[i] / fluid.by_behind[i]
                else:
                    left -= fluid.counts[i]
            if inverse == 0.0:
                return 0.0
            c = 1.0 / inverse
            level = c * (left + weighted)
            for i in range(k):
                if fluid.share[i] > 0.0:
                    fluid.step[i] = (level - fluid.value[i]) / fluid.by_behind[i]
                    if fluid.point[i] + fluid.step[i] < fluid.counts[i]:
                        fluid.share[i], changed = 0.0, True
        longest = 0.0
        for i in range(k):
            if fluid.share[i] > 0.0:
                fluid.share[i] = c / fluid.by_behind[i]
            else:
                fluid.step[i] = fluid.counts[i] - fluid.point[i]
            longest = max(longest, abs(fluid.step[i]))
        if longest <= _CLOSE:
            return c
        for i in range(k):
            fluid.point[i] = min(fluid.point[i] + fluid.step[i], 4.0 * fluid.point[i])
    return 0.0


@njit(cache=True, nogil=True)
def _round(fluid: _Fluid, total: int, result: Ints) -> bool:
    """Set whole counts n̂ of sum `total` as rounds one by one would, if costs were linear.

    No arm's last pull should cost more than the next one of another arm: a pull of an arm with
    many is a small step, and makes room for one of an arm with few.
    """
    k = fluid.arms.size
    left = total
    for i in range(k):
        result[i] = math.floor(max(fluid.point[i] + fluid.step[i], fluid.counts[i]))
        left -= result[i]
    for _ in range(4 * k):
        cheap, dear, lowest, highest = -1, -1, np.inf, -np.inf
        for i in range(k):
            following = (result[i] - fluid.point[i] - fluid.step[i]) * fluid.by_behind[i]
            if fluid.share[i] > 0.0 and following < lowest:
                cheap, lowest = i, following
            last = following - fluid.by_behind[i]
            if result[i] > fluid.counts[i] and last > highest:
                dear, highest = i, last
        if left > 0:
            result[cheap] += 1
            left -= 1
        elif dear >= 0 and (left < 0 or highest > lowest):
            result[dear] -= 1
            left += 1
        else:
            break
    return left == 0


@njit(cache=True, nogil=True)
def _certificate(
    costs: Costs, fluid: _Fluid, first: float, turns: int, c: float, result: Ints
) -> int:
    """Check the conditions of the lemma: whether they hold, or fail near x_t, or at x₀."""
    k = fluid.arms.size
    end = first + turns
    top, slope = turns - 1.0, c  # Λ at x_t, and its slope
    for i in range(k):
        if fluid.share[i] > 0.0:
            top -= fluid.point[i] - fluid.counts[i]
    top *= c
    for i in range(k):
        if fluid.share[i] > 0.0:
            top += fluid.share[i] * fluid.value[i]
            slope += fluid.share[i] * fluid.by_ahead[i]
    margin = _MARGIN * (1.0 + abs(top))
    bottom = top - slope * turns
    below, fall = np.full(k, -np.inf), np.zeros(k)  # tangents of f_a(·, n̂_a − 1) at x_t
    for i in range(k):
        if result[i] > fluid.counts[i]:
            below[i], fall[i], _ = cost_of(
                costs, fluid.arms[i], end, result[i] - 1.0, fluid.start[i]
            )
    near = np.empty(fluid.start.shape[1])
    for i in range(k):
        arm, n = fluid.arms[i], float(result[i])
        for j in range(near.size):  # a slice would take a second longer to compile
            near[j] = fluid.start[i, j]
        here, by_ahead, _ = cost_of(costs, arm, end, n, near)
        if here < top + margin:
            back = 1.02 * (top - here + 2.0 * margin) / (slope - by_ahead)
            if not 0.0 < back < turns:
                return _NEAR
            there, _, _ = cost_of(costs, arm, end - back, n, near)
            if there < top - slope * back + margin:
                return _NEAR
            for j in range(k):
                if j == i:
                    continue
                if not (below[j] + margin < here and below[j] - fall[j] * back + margin < there):
                    return _NEAR
        for j in range(near.size):  # a slice would take a second longer to compile
            near[j] = fluid.start[i, j]
        if cost_of(costs, arm, first, n, near)[0] < bottom + margin:
            return _FAR
    return _CERTIFIED


@njit(cache=True, nogil=True)
def leap(costs: Costs, arms: Ints, ahead: int, pulls: Ints, following: Ints, most: int) -> int:
    """Play up to `most` turns of leader and challenger, the leader first, before any batch ends.

    Parameters
    ----------
    costs : Costs
        What challengers are chosen by.
    arms : numpy.ndarray of int
        The challengers.
    ahead : int
        Pulls of the leader.
    pulls, following : numpy.ndarray of int, shape (K,)
        Pulls of each arm, and at which its batch ends. The pulls of the challengers are changed.
    most : int
        Turns of the challengers at most.

    Returns
    -------
    int
        Turns that were played; 0 if there are too few or no certificate was found.
    """
    k = arms.size
    if most < _LEAST:
        return 0
    counts = pulls[arms]
    if k == 1:
        turns = min(most, following[arms[0]] - 1 - counts[0])
        pulls[arms[0]] += turns
        return turns
    n = counts.astype(np.float64)
    fluid = _Fluid(
        arms, n, n.copy(), np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k),
        np.zeros((k, 3)),
    )  # fmt: skip
    result, base = np.empty(k, np.int64), counts.sum()
    turns = most
    for _ in range(_ATTEMPTS):
        if turns < _LEAST:
            return 0
        c = _equalise(costs, fluid, float(ahead + turns), float(base + turns))
        if c == 0.0:
            turns //= 4
            fluid.point[:] = n
            fluid.start[:] = 0.0
            continue
        whole = _round(fluid, base + turns, result)
        slope = c
        for i in range(k):
            if fluid.share[i] > 0.0:
                slope += fluid.share[i] * fluid.by_ahead[i]
        late = 0.0  # turns that are too many for some batch
        for i in range(k):
            over = fluid.point[i] + fluid.step[i] - (following[arms[i]] - 1)
            over = max(over, float(result[i] - (following[arms[i]] - 1)))
            if over > 0.0:
                rate = (slope - fluid.by_ahead[i]) / fluid.by_behind[i]
                late = max(late, over / max(rate, 1e-9))
        if late > 0.0:
            turns -= int(min(late + 1.0, turns - turns // 16))
            continue
        found = _NEAR
        if whole:
            found = _certificate(costs, fluid, float(ahead), turns, c, result)
        if found == _CERTIFIED:
            for i in range(k):
                pulls[arms[i]] = result[i]
            return turns
        turns = turns - 1 if found == _NEAR else turns // 2
    return 0
