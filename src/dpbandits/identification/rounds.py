"""The rounds of leader and challenger between two releases of a Top Two rule.

There the leader B and the estimates are fixed, and the challenger of a round has the least of
f_a(N_B, N_a): W̃ + γ·log N_a in DP-TT (`advance_costs`), a closed form in AdaP-TT and AdaP-TT*
(`advance_doubling`). Both play what evaluating every cost in every round plays, in three ways
faster: by interpolation, by certified leaps, and, where all costs are negative, by monotonicity.

*Interpolation.* W is homogeneous: it is N_a·h_a(N_B/N_a), with a smooth function h_a of one
variable, which changes little from round to round. `advance_costs` interpolates each h_a by a
cubic polynomial on a short interval. The interpolation error is measured where it is greatest to
leading order; where two costs are so near to each other that `_SAFETY` times this error could
matter, the costs are evaluated.

*Leaps.* With a share of one half, leader and challengers take turns. A challenger's turn with
x = N_B goes to the arm of least f_a(x, N_a). Each f_a is jointly concave, does not fall in x, and
grows in N_a: transportation costs are infima of linear functions of both weights.

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

from dpbandits._arrays import Floats, Ints
from dpbandits.identification.transport import calibrated_cost_kernel

__all__ = ["BatchState", "Costs", "advance_costs", "advance_doubling", "cost_of", "leap"]


_MARGIN = 1e-12
_SAFETY = 8.0  # factor on the measured error of the interpolation
_ROUNDING = 1e-13  # of a cost; what is nearer is evaluated
# What follows steers the speed.
_LEAST = 200  # turns that are worth a leap
_LEAST_OF_ONE = 50  # the same, if one challenger has all of them
_PAUSE = 1000  # rounds one by one after a leap that was not certified; doubled after the next one
_NEWTON, _ATTEMPTS = 40, 24
_CLOSE = 0.25  # pulls: a step of Newton's method that is the last
_CERTIFIED, _NEAR, _FAR = 0, 1, 2
_SMALLEST = 16  # pulls of an arm from which on interpolation is worth its cost
_ACCEPTED = 1e-4  # error of the interpolation, in what one pull more adds to the cost
_WIDTH = 0.3
_OUTER, _INNER = math.cos(math.pi / 8), math.cos(3 * math.pi / 8)  # Chebyshev's nodes
_NONE = np.empty(0)


class BatchState(NamedTuple):
    """What a run knows; all arrays have shape (K,)."""

    pulls: Ints  # N_a, open batches included
    released: Ints  # n_a: pulls up to the last release
    following: Ints  # pulls at which the next release is due
    releases: Ints  # number k_a of releases
    batch: Ints  # size of the last released batch
    led: Ints  # rounds L_a in which the arm was the leader
    own: Ints  # and those of them in which it was played
    total: Floats  # sum of all released batches, noise included
    last: Floats  # the last released batch, noise included

    @classmethod
    def start(cls, n_arms: int) -> BatchState:
        """Return the state before the first pull."""
        return cls(*np.zeros((7, n_arms), dtype=np.int64), *np.zeros((2, n_arms)))


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
def _transport(
    costs: Costs, arm: int, ahead: float, behind: float, start: Floats
) -> tuple[float, float, float]:
    """Return W̃ and its slopes by N_B and N_a; `start` is where the search begins, then ended."""
    leader, means, ratios, epsilon, _, _, _ = costs
    cost, u, tilt_b, tilt_a, by_ahead, by_behind = calibrated_cost_kernel(
        means[leader], means[arm], ahead, behind, ratios[leader], ratios[arm], epsilon, start[0],
        start[1], start[2],
    )  # fmt: skip
    start[0], start[1], start[2] = tilt_b, tilt_a, u
    return cost, by_ahead, by_behind


@njit(cache=True, nogil=True)
def cost_of(
    costs: Costs, arm: int, ahead: float, behind: float, start: Floats
) -> tuple[float, float, float]:
    """Return f and its slopes by N_B = `ahead` and N_a = `behind`; `start` as of `_transport`."""
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
    cost, by_ahead, by_behind = _transport(costs, arm, ahead, behind, start)
    return cost + costs.bonus * math.log(behind), by_ahead, by_behind + costs.bonus / behind


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
        cheap, costly, lowest, highest = -1, -1, np.inf, -np.inf
        for i in range(k):
            following = (result[i] - fluid.point[i] - fluid.step[i]) * fluid.by_behind[i]
            if fluid.share[i] > 0.0 and following < lowest:
                cheap, lowest = i, following
            last = following - fluid.by_behind[i]
            if result[i] > fluid.counts[i] and last > highest:
                costly, highest = i, last
        if left > 0:
            result[cheap] += 1
            left -= 1
        elif costly >= 0 and (left < 0 or highest > lowest):
            result[costly] -= 1
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

    `arms` are the challengers, whose `pulls` are changed, and `ahead` the pulls of the leader.
    Return the turns that were played; 0 if there are too few or no certificate was found.
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


class _Models(NamedTuple):
    """What is known of the costs of the arms except the leader; arrays of shape (K − 1,).

    With x = N_B, t = x·slope + shift and |t| ≤ 1, the cost is size·Σ c_i·t^i + log_size up to
    `doubt` = size·error. For other t the last `value`, less `doubt`, is a lower bound.
    """

    arm: Ints
    size: Floats
    log_size: Floats
    start: Floats  # (K − 1, 3): where a search begins
    centre: Floats  # q; t = (N_B/N_a − q)·scale
    scale: Floats
    slope: Floats
    shift: Floats
    c: Floats  # (4, K − 1)
    error: Floats
    value: Floats
    doubt: Floats


@njit(cache=True, nogil=True)
def _interpolate(setting: Costs, models: _Models, i: int, ahead: float) -> float:
    """Interpolate h around q = N_B/N_a, if well enough, and return W there.

    The cubic through Chebyshev's four nodes of t ∈ [−1, 1], h(q(1 + r·t)) ≈ Σ c_i·t^i, errs by
    about h''''·(qr)⁴/192 at most, and that much at t = 0, where h is known.
    """
    arm, behind, start = models.arm[i], models.size[i], models.start[i]
    q = ahead / behind
    cost, _, part = _transport(setting, arm, ahead, behind, start)
    centre = cost / behind
    accepted = max(_ACCEPTED * (part + setting.bonus / behind) / behind, 1e-15 * centre)
    half = _WIDTH * behind**-0.25
    models.slope[i], models.shift[i], models.scale[i] = 0.0, np.inf, 0.0
    models.error[i] = 0.0
    while behind >= _SMALLEST and half * behind > 2.0:
        near = start.copy()
        node = np.empty(4)
        for j in range(4):
            weight = q * (1.0 + half * (_OUTER, _INNER, -_INNER, -_OUTER)[j])
            node[j] = _transport(setting, arm, weight, 1.0, near)[0]
        outer, inner = 0.5 * (node[0] + node[3]), 0.5 * (node[1] + node[2])
        c2 = (outer - inner) / (_OUTER**2 - _INNER**2)
        c0 = outer - c2 * _OUTER**2
        error = abs(c0 - centre)
        if error <= accepted:
            outer, inner = 0.5 * (node[0] - node[3]) / _OUTER, 0.5 * (node[1] - node[2]) / _INNER
            c3 = (outer - inner) / (_OUTER**2 - _INNER**2)
            c = models.c
            c[0, i], c[1, i], c[2, i], c[3, i] = c0, outer - c3 * _OUTER**2, c2, c3
            models.centre[i], models.scale[i] = q, 1.0 / (half * q)
            models.slope[i], models.shift[i] = models.scale[i] / behind, -1.0 / half
            models.error[i] = _SAFETY * error + _ROUNDING * centre
            break
        half *= 0.5
    return cost


@njit(cache=True, nogil=True)
def _settle(setting: Costs, models: _Models, x: float, limit: float) -> int:
    """Return the index of the least cost among those that may be at most `limit`."""
    chosen, least = -1, np.inf
    for i in range(models.arm.size):
        if models.value[i] - models.doubt[i] > limit:
            continue
        if abs(x * models.slope[i] + models.shift[i]) <= 1.0:
            cost, _, _ = _transport(setting, models.arm[i], x, models.size[i], models.start[i])
        else:
            cost = _interpolate(setting, models, i, x)
            models.doubt[i] = models.size[i] * models.error[i]
        cost += models.log_size[i]
        models.value[i] = cost
        if chosen < 0 or cost < least:
            chosen, least = i, cost
    return chosen


@njit(cache=True, nogil=True)
def advance_costs(
    leader: int,
    means: Floats,
    ratios: Floats,
    epsilon: float,
    bonus: float,
    state: BatchState,
    share: float,
    room: int,
    leaps: bool = True,
) -> int:
    """Play until an arm's batch ends (return the arm) or the room is used up (return −1).

    `means` are the estimates μ̃, `ratios` k/n for W̃ or zeros for W, `bonus` is the factor of
    log N_a in the cost, `share` that of the rounds in which the leader is played, and `room` the
    rounds that may be played; `leaps` may be forbidden. The pulls of `state`, and the rounds that
    it counts, are changed.
    """
    setting = Costs(leader, means, ratios, epsilon, bonus, _NONE, _NONE)
    pulls, following = state.pulls, state.following
    arms = np.array([a for a in range(means.size) if a != leader])
    k = arms.size
    size, log_size = pulls[arms].astype(np.float64), bonus * np.log(pulls[arms])
    start, c = np.zeros((k, 3)), np.zeros((4, k))
    slope, shift, value, doubt = np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf), np.zeros(k)
    models = _Models(
        arms, size, log_size, start, np.zeros(k), np.zeros(k), slope, shift, c, np.zeros(k),
        value, doubt,
    )  # fmt: skip
    led_now, own_now, ahead = state.led[leader], state.own[leader], pulls[leader]
    end = following[leader]
    result, leaps = -1, leaps and share == 0.5
    again, pause = room, _PAUSE
    while room > 0:
        if leaps and room <= again and 2 * own_now == led_now:
            turns = leap(setting, arms, ahead, pulls, following, min(end - 1 - ahead, room // 2))
            if turns == 0:
                again, pause = room - pause, 2 * pause
                continue
            room, ahead = room - 2 * turns, ahead + turns
            led_now, own_now = led_now + 2 * turns, own_now + turns
            size[:], log_size[:] = pulls[arms], bonus * np.log(pulls[arms])
            continue
        room -= 1
        led_now += 1
        if own_now < share * led_now:
            own_now += 1
            ahead += 1
            if ahead == end:
                result = leader
                break
            continue
        x = float(ahead)
        chosen, least = 0, np.inf
        for i in range(k):
            t = x * slope[i] + shift[i]
            if abs(t) <= 1.0:
                cost = c[0, i] + t * (c[1, i] + t * (c[2, i] + t * c[3, i]))
                value[i] = size[i] * cost + log_size[i]
                if value[i] < least:
                    chosen, least = i, value[i]
        limit = least + doubt[chosen]
        rivals = 0
        for i in range(k):
            rivals += value[i] - doubt[i] <= limit
        if k > 1 and (rivals > 1 or least == np.inf):
            chosen = _settle(setting, models, x, limit)
        arm = arms[chosen]
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            result = arm
            break
        n = float(pulls[arm])
        size[chosen], log_size[chosen] = n, bonus * math.log(n)
        slope[chosen] = models.scale[chosen] / n
        doubt[chosen] = n * models.error[chosen]
    pulls[leader], state.led[leader], state.own[leader] = ahead, led_now, own_now
    return result


@njit(cache=True, nogil=True)
def _reciprocal(square: float, linear: float, ahead: float, here: float) -> float:
    """Return the reciprocal cost of a challenger at 1/N_B and 1/N."""
    return max(square * (ahead + here), linear * max(ahead, here))


@njit(cache=True, nogil=True)
def _turns_of_one(costs: Costs, candidates: Ints, pulls: Ints, most: int) -> tuple[int, int]:
    """Return a challenger, and turns of leader and challenger that are certainly all its own.

    With negative gaps reciprocal costs increase in both counts. So does that of the arm which has
    the turns, and in t turns those of the others reach at most what they are at N_B + t.
    """
    ahead = float(pulls[costs.leader])
    best, largest = candidates[0], -np.inf
    for a in candidates:
        now = _reciprocal(costs.square[a], costs.linear[a], 1.0 / (ahead + 1.0), 1.0 / pulls[a])
        if now > largest:
            best, largest = a, now
    while most >= _LEAST_OF_ONE:
        others = -np.inf
        for a in candidates:
            if a != best:
                later = _reciprocal(
                    costs.square[a], costs.linear[a], 1.0 / (ahead + most), 1.0 / pulls[a]
                )
                others = max(others, later)
        if others < largest + 1e-12 * largest:  # both are negative
            return best, most
        most //= 2
    return best, 0


@njit(cache=True, nogil=True)
def advance_doubling(
    leader: int,
    gaps: Floats,
    epsilon: float,
    state: BatchState,
    share: float,
    room: int,
    leaps: bool = True,
) -> int:
    """Play until an arm's batch ends (return the arm) or the room is used up (return −1).

    With g_a = μ̃_B − μ̃_a (`gaps`), the challenger has the least g_a/√(1/N_B + 1/N_a) or, for
    ε < ∞, the least min(2·g_a·|g_a|/(1/N_B + 1/N_a), ε·g_a·min(N_B, N_a)). Among costs of one sign
    that is the arm with the largest reciprocal, which takes no division; if some are negative,
    it is one of them. Ties go to the lowest arm number.
    """
    n_arms = gaps.size
    pulls, following = state.pulls, state.following
    led, own = state.led, state.own
    candidates = np.empty(n_arms - 1, np.int64)
    size = 0
    for negative in (True, False):
        for a in range(n_arms):
            if size < n_arms - 1 and a != leader and (gaps[a] < 0.0) == negative:
                candidates[size] = a
                size += 1
        if size > 0:
            break
    square = np.empty(n_arms)  # 1/(2·g·|g|)
    linear = np.full(n_arms, -np.inf)  # 1/(ε·g)
    inverse = np.empty(n_arms)  # 1/N
    for a in range(n_arms):
        inverse[a] = 1.0 / pulls[a]
        gap = gaps[a]
        square[a] = np.inf if gap == 0.0 else 0.5 / (gap * abs(gap))
        if epsilon < np.inf:
            linear[a] = np.inf if gap == 0.0 else 1.0 / (epsilon * gap)
    candidates = candidates[:size]
    for_one = size > 1 and gaps[candidates[0]] < 0.0
    leaps = leaps and share == 0.5 and size > 0 and (size == 1 or square[candidates].max() < np.inf)
    costs = Costs(leader, gaps, gaps, epsilon, 0.0, square, linear)
    again, pause = room, _PAUSE
    while room > 0:
        if leaps and room <= again and 2 * own[leader] == led[leader]:
            most = min(following[leader] - 1 - pulls[leader], room // 2)
            if for_one:
                arm, turns = _turns_of_one(costs, candidates, pulls, most)
                turns = min(turns, following[arm] - 1 - pulls[arm])
                pulls[arm] += turns
            else:
                turns = leap(costs, candidates, pulls[leader], pulls, following, most)
            if turns == 0:
                again, pause = room - pause, 2 * pause
                continue
            room -= 2 * turns
            pulls[leader] += turns
            led[leader] += 2 * turns
            own[leader] += turns
            for a in range(n_arms):
                inverse[a] = 1.0 / pulls[a]
            continue
        room -= 1
        led[leader] += 1
        arm = leader
        if own[leader] < share * led[leader]:
            own[leader] += 1
        else:
            arm = candidates[0]
            largest = -np.inf
            ahead = inverse[leader]
            for b in candidates:
                reciprocal = _reciprocal(square[b], linear[b], ahead, inverse[b])
                if reciprocal > largest:
                    arm = int(b)
                    largest = reciprocal
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            return arm
        inverse[arm] = 1.0 / pulls[arm]
    return -1
