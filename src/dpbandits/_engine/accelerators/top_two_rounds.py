"""The rounds of leader and challenger between two releases of a Top Two rule.

Between them the leader B and the estimates are fixed, and the challenger of a round is the arm of
least cost f_a(N_B, N_a). `advance` makes the same choices as evaluating every cost in every round,
but faster: the costs of DP-TT are interpolated (:prf:ref:`lem-interpolation`), and stretches with a
certified end are leapt over (:prf:ref:`lem-leap`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.identification.transport import SaddleStart, calibrated_cost_kernel

_MARGIN = 1e-12
_SAFETY = 8.0  # factor on the measured error of the interpolation
_ROUNDING = 1e-13  # of a cost; costs closer than that are evaluated
# These constants affect only the speed.
_LEAST = 200  # fewest turns that are worth a leap
_LEAST_OF_ONE = 50  # the same, if all are one challenger's
_PAUSE = 1000  # rounds one by one after a leap that was not certified; doubled after the next one
_NEWTON, _ATTEMPTS = 40, 24
_CLOSE = 0.25  # pulls: a smaller step of Newton's method is its last
_CERTIFIED, _NEAR, _FAR = 0, 1, 2
_SMALLEST = 16  # pulls of an arm from which interpolation is worth its cost
_ACCEPTED = 1e-4  # error of the interpolation, in units of what one more pull adds to the cost
_WIDTH = 0.3
_OUTER, _INNER = math.cos(math.pi / 8), math.cos(3 * math.pi / 8)  # Chebyshev's nodes


class BatchState(NamedTuple):
    """State of a run.

    Attributes
    ----------
    pulls : numpy.ndarray of int, shape (K,)
        N_a, open batches included.
    released : numpy.ndarray of int, shape (K,)
        n_a: pulls up to the last release.
    following : numpy.ndarray of int, shape (K,)
        Pulls at which the next release is due.
    releases : numpy.ndarray of int, shape (K,)
        Number k_a of releases.
    batch : numpy.ndarray of int, shape (K,)
        Size of the last released batch.
    led : numpy.ndarray of int, shape (K,)
        Rounds L_a in which the arm was the leader.
    own : numpy.ndarray of int, shape (K,)
        Those of them in which it was played.
    total : numpy.ndarray of float, shape (K,)
        Sum of all released batches, noise included.
    last : numpy.ndarray of float, shape (K,)
        The last released batch, noise included.

    Examples
    --------
    >>> BatchState.start(3).pulls.tolist()
    [0, 0, 0]
    """

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
    """Costs between two releases, made by `transport_costs` or `closed_costs`.

    f_a = W̃ + bonus·log N_a, of `calibrated_cost_kernel`; or, where `square` is not empty, the
    smaller of 1/(square_a·(1/N_B + 1/N_a)) and min(N_B, N_a)/linear_a.

    Attributes
    ----------
    leader : int
        The leader B.
    challengers : numpy.ndarray of int, shape (at most K − 1,)
        Arms that may have the least cost.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.
    ratios : numpy.ndarray of float, shape (K,)
        Laplace variables per reward in each estimate.
    epsilon : float
        Privacy budget ε.
    bonus : float
        Factor of log N_a.
    square : numpy.ndarray of float, shape (K,) or (0,)
        Constants of closed costs.
    linear : numpy.ndarray of float, shape (K,) or (0,)
        Constants of closed costs.
    leaps : bool
        Whether the challengers' costs allow leaps.
    negative : bool
        Whether the costs of several challengers are all negative.

    Examples
    --------
    >>> costs = closed_costs(0, np.array([0.0, 0.25, 0.5]), np.inf)
    >>> costs.challengers.tolist(), costs.square[1:].tolist()
    ([1, 2], [8.0, 2.0])
    """

    leader: int
    challengers: Ints  # arms that may have the least cost
    means: Floats  # shape (K,), as all below
    ratios: Floats
    epsilon: float
    bonus: float
    square: Floats
    linear: Floats
    leaps: bool  # whether the challengers' costs allow leaps
    negative: bool  # whether the costs of several challengers are all negative


@kernel
def transport_costs(
    leader: int, means: Floats, ratios: Floats, epsilon: float, bonus: float
) -> Costs:
    """Return the costs of DP-TT: of W̃ with ratios k/n, or of W with zeros, plus bonus·log N_a.

    Shapes: `means` (K,), `ratios` (K,).
    """
    others, none = np.array([a for a in range(means.size) if a != leader]), np.empty(0)
    return Costs(leader, others, means, ratios, epsilon, bonus, none, none, True, False)


@kernel
def closed_costs(leader: int, gaps: Floats, epsilon: float) -> Costs:
    """Return the costs of AdaP-TT (ε = ∞) and AdaP-TT*, from g_a = μ̃_B − μ̃_a.

    Among costs of one sign the least has the largest reciprocal; if some are negative, it is one
    of them.

    Shapes: `gaps` (K,).
    """
    others = np.array([a for a in range(gaps.size) if a != leader])
    below = others[gaps[others] < 0.0]
    challengers = below if below.size > 0 else others
    square = np.full(gaps.size, np.inf)  # 1/(2·g·|g|)
    linear = np.full(gaps.size, -np.inf)  # 1/(ε·g)
    for a in challengers:
        gap = gaps[a]
        level = abs(gap) < 1e-150  # its square would be 0
        if not level:
            square[a] = 0.5 / (gap * abs(gap))
        if epsilon < 1e100:  # else 1/(ε·g) is less than the last bit of 1/(2·g·|g|) ≥ ½
            linear[a] = np.inf if level else 1.0 / (epsilon * gap)
    several = challengers.size > 1
    leaps = not several or square[challengers].max() < np.inf
    return Costs(
        leader, challengers, gaps, gaps, epsilon, 0.0, square, linear, leaps,
        several and below.size > 0,
    )  # fmt: skip


@kernel
def _transport(
    costs: Costs, arm: int, ahead: float, behind: float, start: Floats
) -> tuple[float, float, float]:
    """Return W̃ and its slopes in N_B and N_a; `start` is the search's first, then last point."""
    leader, means, ratios, epsilon = costs.leader, costs.means, costs.ratios, costs.epsilon
    cost, u, tilt_b, tilt_a, by_ahead, by_behind = calibrated_cost_kernel(
        means[leader], means[arm], ahead, behind, ratios[leader], ratios[arm], epsilon,
        SaddleStart(start[0], start[1], start[2]),
    )  # fmt: skip
    start[0], start[1], start[2] = tilt_b, tilt_a, u
    return cost, by_ahead, by_behind


@kernel
def cost_of(
    costs: Costs, arm: int, ahead: float, behind: float, start: Floats
) -> tuple[float, float, float]:
    """Return the cost f of an arm and its slopes.

    Shapes: `start` (3,).
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
    cost, by_ahead, by_behind = _transport(costs, arm, ahead, behind, start)
    return cost + costs.bonus * math.log(behind), by_ahead, by_behind + costs.bonus / behind


class _Fluid(NamedTuple):
    """Fluid limit at x_t: challengers with real numbers of pulls; arrays of shape (K − 1,)."""

    counts: Floats  # n⁰
    point: Floats  # ñ
    value: Floats  # f, f_x and f_n there
    by_ahead: Floats
    by_behind: Floats
    share: Floats  # p, 0 outside A
    step: Floats  # from ñ to where the costs are equal
    start: Floats


@kernel
def _equalise(costs: Costs, fluid: _Fluid, ahead: float, total: float) -> float:
    """Set ñ, slopes, p and steps for counts of sum `total`; return c, or 0 if that fails."""
    counts, point, value, by_ahead, by_behind, share, step, start = fluid
    for _ in range(_NEWTON):
        for i in range(point.size):
            value[i], by_ahead[i], by_behind[i] = cost_of(
                costs, costs.challengers[i], ahead, point[i], start[i]
            )
            if not (by_behind[i] > 0.0 and value[i] < np.inf):
                return 0.0
            share[i] = 1.0
        c, changed = 0.0, True
        while changed:  # arms that have too many pulls leave A
            left, inverse, weighted = total, 0.0, 0.0
            for i in range(point.size):
                left -= point[i] if share[i] > 0.0 else counts[i]
                inverse += share[i] / by_behind[i]
                weighted += share[i] * value[i] / by_behind[i]
            if inverse == 0.0:
                return 0.0
            c, changed = 1.0 / inverse, False
            level = c * (left + weighted)
            for i in range(point.size):
                step[i] = (level - value[i]) / by_behind[i]
                if share[i] > 0.0 and point[i] + step[i] < counts[i]:
                    share[i], changed = 0.0, True
        longest = 0.0
        for i in range(point.size):
            if share[i] == 0.0:
                step[i] = counts[i] - point[i]
            share[i] *= c / by_behind[i]
            longest = max(longest, abs(step[i]))
        if longest <= _CLOSE:
            return c
        for i in range(point.size):
            point[i] = min(point[i] + step[i], 4.0 * point[i])
    return 0.0


@kernel
def _round(fluid: _Fluid, total: int, result: Ints) -> bool:
    """Set integer counts n̂ of sum `total` as single rounds would, if costs were linear.

    No arm's last pull should cost more than the next one of another arm.
    """
    k = fluid.counts.size
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


@kernel
def _slope(fluid: _Fluid, c: float) -> float:
    """Return the slope of Λ."""
    for i in range(fluid.share.size):
        c += fluid.share[i] * fluid.by_ahead[i]
    return c


@kernel
def _certificate(
    costs: Costs, fluid: _Fluid, first: float, turns: int, c: float, result: Ints
) -> int:
    """Check the conditions of :prf:ref:`lem-leap`: they hold, or fail near x_t, or at x₀."""
    k, end, slope = fluid.counts.size, first + turns, _slope(fluid, c)
    top = c * (turns - 1.0)  # Λ at x_t
    for i in range(k):
        if fluid.share[i] > 0.0:
            top += fluid.share[i] * fluid.value[i] - c * (fluid.point[i] - fluid.counts[i])
    margin = _MARGIN * (1.0 + abs(top))
    bottom = top - slope * turns
    below, fall = np.full(k, -np.inf), np.zeros(k)  # tangents of f_a(·, n̂_a − 1) at x_t
    for i in range(k):
        if result[i] > fluid.counts[i]:
            below[i], fall[i], _ = cost_of(
                costs, costs.challengers[i], end, result[i] - 1.0, fluid.start[i]
            )
    near = np.empty(3)
    for i in range(k):
        arm, n = costs.challengers[i], float(result[i])
        for j in range(3):  # a slice would take a second longer to compile
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
                tangent = max(below[j] - here, below[j] - fall[j] * back - there)
                if j != i and not tangent + margin < 0.0:
                    return _NEAR
        for j in range(3):
            near[j] = fluid.start[i, j]
        if cost_of(costs, arm, first, n, near)[0] < bottom + margin:
            return _FAR
    return _CERTIFIED


@kernel
def _reciprocal(square: float, linear: float, ahead: float, here: float) -> float:
    """Return the reciprocal of a closed cost at 1/N_B and 1/N_a."""
    return max(square * (ahead + here), linear * max(ahead, here))


@kernel
def _leap_of_one(costs: Costs, ahead: int, pulls: Ints, following: Ints, most: int) -> int:
    """Give one challenger all of the turns; see `leap` and :prf:ref:`lem-one`."""
    square, linear = costs.square, costs.linear
    best, largest = costs.challengers[0], -np.inf
    for a in costs.challengers:
        now = _reciprocal(square[a], linear[a], 1.0 / (ahead + 1.0), 1.0 / pulls[a])
        if now > largest:
            best, largest = a, now
    while most >= _LEAST_OF_ONE:
        others, last = -np.inf, 1.0 / (float(ahead) + most)
        for a in costs.challengers:
            if a != best:
                others = max(others, _reciprocal(square[a], linear[a], last, 1.0 / pulls[a]))
        if others < largest + _MARGIN * largest:  # both are negative
            turns: int = min(most, following[best] - 1 - pulls[best])
            pulls[best] += turns
            return turns
        most //= 2
    return 0


@kernel
def leap(costs: Costs, ahead: int, pulls: Ints, following: Ints, most: int) -> int:
    """Play up to `most` turns of leader and challenger, the leader first, before any batch ends.

    Proof: :prf:ref:`lem-leap`.

    Shapes: `pulls` (K,), `following` (K,).
    """
    if costs.negative:
        return _leap_of_one(costs, ahead, pulls, following, most)
    if most < _LEAST:
        return 0
    arms = costs.challengers
    k, counts = arms.size, pulls[arms]
    if k == 1:
        alone: int = min(most, following[arms[0]] - 1 - counts[0])
        pulls[arms[0]] += alone
        return alone
    n, rows = counts.astype(np.float64), np.empty((5, k))
    fluid = _Fluid(n, n.copy(), rows[0], rows[1], rows[2], rows[3], rows[4], np.zeros((k, 3)))
    result, base, turns = np.empty(k, np.int64), counts.sum(), most
    for _ in range(_ATTEMPTS):
        if turns < _LEAST:
            return 0
        c = _equalise(costs, fluid, float(ahead + turns), float(base + turns))
        if c == 0.0:
            turns //= 4
            fluid.point[:] = n
            fluid.start[:] = 0.0
            continue
        whole, slope = _round(fluid, base + turns, result), _slope(fluid, c)
        late = 0.0  # turns beyond the end of some batch
        for i in range(k):
            over = max(fluid.point[i] + fluid.step[i], float(result[i]))
            over -= following[arms[i]] - 1
            if over > 0.0:
                rate = (slope - fluid.by_ahead[i]) / fluid.by_behind[i]
                late = max(late, over / max(rate, 1e-9))
        if late > 0.0:
            turns -= int(min(late + 1.0, turns - turns // 16))
            continue
        found = _certificate(costs, fluid, float(ahead), turns, c, result) if whole else _NEAR
        if found == _CERTIFIED:
            pulls[arms] = result
            return turns
        turns = turns - 1 if found == _NEAR else turns // 2
    return 0


class _Models(NamedTuple):
    """Interpolated costs W̃ + bonus·log N of the challengers; arrays of shape (K − 1,).

    With x = N_B, t = x·slope + shift and |t| ≤ 1, the cost is size·Σ c_i·t^i + log_size up to an
    error of `doubt` = size·error. For other t the last `value` minus `doubt` is a lower bound.
    """

    size: Floats
    log_size: Floats
    scale: Floats  # slope·size
    slope: Floats
    shift: Floats
    error: Floats
    value: Floats
    doubt: Floats
    c: Floats  # (4, K − 1)
    start: Floats  # (K − 1, 3): where a search begins


@kernel
def _interpolate(costs: Costs, models: _Models, i: int, ahead: float) -> float:
    """Interpolate h around q = N_B/N_a, if accurately enough, and return W there.

    The error of the cubic is measured at t = 0; see :prf:ref:`lem-interpolation`.
    """
    arm, behind, start = costs.challengers[i], models.size[i], models.start[i]
    q = ahead / behind
    cost, _, part = _transport(costs, arm, ahead, behind, start)
    centre = cost / behind
    accepted = max(_ACCEPTED * (part + costs.bonus / behind) / behind, 1e-15 * centre)
    half = _WIDTH * behind**-0.25
    models.slope[i], models.shift[i], models.scale[i] = 0.0, np.inf, 0.0
    models.error[i] = 0.0
    while behind >= _SMALLEST and half * behind > 2.0:
        near = start.copy()
        node = np.empty(4)
        for j in range(4):
            weight = q * (1.0 + half * (_OUTER, _INNER, -_INNER, -_OUTER)[j])
            node[j] = _transport(costs, arm, weight, 1.0, near)[0]
        outer, inner = 0.5 * (node[0] + node[3]), 0.5 * (node[1] + node[2])
        c2 = (outer - inner) / (_OUTER**2 - _INNER**2)
        c0 = outer - c2 * _OUTER**2
        error = abs(c0 - centre)
        if error <= accepted:
            outer, inner = 0.5 * (node[0] - node[3]) / _OUTER, 0.5 * (node[1] - node[2]) / _INNER
            c3 = (outer - inner) / (_OUTER**2 - _INNER**2)
            c = models.c
            c[0, i], c[1, i], c[2, i], c[3, i] = c0, outer - c3 * _OUTER**2, c2, c3
            models.scale[i] = 1.0 / (half * q)
            models.slope[i], models.shift[i] = models.scale[i] / behind, -1.0 / half
            models.error[i] = _SAFETY * error + _ROUNDING * centre
            break
        half *= 0.5
    return cost


@kernel
def _settle(costs: Costs, models: _Models, x: float, limit: float) -> int:
    """Return the index of the least cost among those that may be at most `limit`."""
    chosen, least = -1, np.inf
    for i in range(models.size.size):
        if models.value[i] - models.doubt[i] > limit:
            continue
        if abs(x * models.slope[i] + models.shift[i]) <= 1.0:
            cost, _, _ = _transport(costs, costs.challengers[i], x, models.size[i], models.start[i])
        else:
            cost = _interpolate(costs, models, i, x)
            models.doubt[i] = models.size[i] * models.error[i]
        cost += models.log_size[i]
        models.value[i] = cost
        if chosen < 0 or cost < least:
            chosen, least = i, cost
    return chosen


@kernel
def advance(costs: Costs, state: BatchState, share: float, room: int) -> int:
    """Play until an arm's batch ends, or for a number of rounds; ties go to the lowest arm."""
    leader, arms, bonus = costs.leader, costs.challengers, costs.bonus
    square, linear = costs.square, costs.linear
    pulls, following = state.pulls, state.following
    led, own, ahead, end = state.led[leader], state.own[leader], pulls[leader], following[leader]
    k, closed = arms.size, square.size > 0
    size = pulls[arms].astype(np.float64)
    log_size, inverse = bonus * np.log(size), 1.0 / size
    slope, shift, value, doubt = np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf), np.zeros(k)
    c, start = np.zeros((4, k)), np.zeros((k, 3))
    models = _Models(size, log_size, np.zeros(k), slope, shift, np.zeros(k), value, doubt, c, start)
    result, again, pause = -1, room, _PAUSE
    while room > 0:
        if costs.leaps and share == 0.5 and room <= again and 2 * own == led:
            turns = leap(costs, ahead, pulls, following, min(end - 1 - ahead, room // 2))
            if turns == 0:
                again, pause = room - pause, 2 * pause
                continue
            room, ahead, led, own = room - 2 * turns, ahead + turns, led + 2 * turns, own + turns
            copy_into(size, pulls[arms])
            copy_into(log_size, bonus * np.log(size))
            copy_into(inverse, 1.0 / size)
            continue
        room -= 1
        led += 1
        if own < share * led:
            own += 1
            ahead += 1
            if ahead == end:
                result = leader
                break
            continue
        x, chosen, least = float(ahead), 0, np.inf
        if closed:
            largest = -np.inf
            for i in range(k):
                reciprocal = _reciprocal(square[arms[i]], linear[arms[i]], 1.0 / x, inverse[i])
                if reciprocal > largest:
                    chosen, largest = i, reciprocal
        else:
            for i in range(k):
                t = x * slope[i] + shift[i]
                if abs(t) <= 1.0:
                    cost = c[0, i] + t * (c[1, i] + t * (c[2, i] + t * c[3, i]))
                    value[i] = size[i] * cost + log_size[i]
                    if value[i] < least:
                        chosen, least = i, value[i]
            limit, rivals = least + doubt[chosen], 0
            for i in range(k):
                rivals += value[i] - doubt[i] <= limit
            if k > 1 and (rivals > 1 or least == np.inf):
                chosen = _settle(costs, models, x, limit)
        arm = arms[chosen]
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            result = arm
            break
        n = float(pulls[arm])
        inverse[chosen] = 1.0 / n
        if not closed:
            size[chosen], log_size[chosen] = n, bonus * math.log(n)
            slope[chosen], doubt[chosen] = models.scale[chosen] / n, n * models.error[chosen]
    pulls[leader], state.led[leader], state.own[leader] = ahead, led, own
    return result
