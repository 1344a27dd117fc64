"""The challenger of DP-TT over a stretch of rounds, with few evaluations of its costs.

Between two releases the leader B and the estimates are fixed, and the challenger of a round is
argmin f_a with f_a = W_a(N_B, N_a) + log N_a at the current counts. W is homogeneous: it is
N_a·h_a(N_B/N_a), with a smooth function h_a of one variable, which changes little from round to
round. `advance_costs` interpolates each h_a by a cubic polynomial on a short interval. The
interpolation error is measured where it is greatest to leading order; where two costs are so
near to each other that `_SAFETY` times this error could matter, the costs are evaluated. What is
played is what `play_plainly` plays, which evaluates each cost in each round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.leaps import PAUSE, Costs, leap
from dpbandits.identification.transport_kernels import calibrated_cost_kernel

__all__ = ["advance_costs", "play_plainly"]

_SAFETY = 8.0  # factor on the measured error of the interpolation
_ROUNDING = 1e-13  # of a cost; what is nearer is evaluated
# What follows steers the speed.
_SMALLEST = 16  # pulls of an arm from which on interpolation is worth its cost
_ACCEPTED = 1e-4  # error of the interpolation, in what one pull more adds to the cost
_WIDTH = 0.3
_OUTER, _INNER = math.cos(math.pi / 8), math.cos(3 * math.pi / 8)  # Chebyshev's nodes


_NONE = np.empty(0)


class _Models(NamedTuple):
    """What is known of the costs of the arms but the leader; arrays of shape (K − 1,).

    With x = N_B, t = x·slope + shift and |t| ≤ 1, the cost is size·Σ c_i·t^i + log_size up to
    `doubt` = size·error. For other t the last `value`, less `doubt`, is a lower bound.
    """

    arm: NDArray[np.int64]
    size: NDArray[np.float64]
    log_size: NDArray[np.float64]
    start: NDArray[np.float64]  # (K − 1, 3): where a search begins
    centre: NDArray[np.float64]  # q; t = (N_B/N_a − q)·scale
    scale: NDArray[np.float64]
    slope: NDArray[np.float64]
    shift: NDArray[np.float64]
    c: NDArray[np.float64]  # (4, K − 1)
    error: NDArray[np.float64]
    value: NDArray[np.float64]
    doubt: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _cost(
    setting: Costs, arm: int, ahead: float, behind: float, start: NDArray[np.float64]
) -> tuple[float, float]:
    """Return W at the weights `ahead` and `behind`, and its derivative by `behind`.

    `start` holds where the search begins, and then where it ended.
    """
    leader, _, ratios, epsilon, _, _, _ = setting
    cost, u, tilt_b, tilt_a, _, part = calibrated_cost_kernel(
        setting.means[leader], setting.means[arm], ahead, behind, ratios[leader], ratios[arm],
        epsilon, start[0], start[1], start[2],
    )  # fmt: skip
    start[0], start[1], start[2] = tilt_b, tilt_a, u
    return cost, part


@njit(cache=True, nogil=True)
def play_plainly(
    leader: int,
    means: NDArray[np.float64],
    ratios: NDArray[np.float64],
    epsilon: float,
    bonus: float,
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    led: NDArray[np.int64],
    own: NDArray[np.int64],
    share: float,
    room: int,
) -> int:
    """Do what `advance_costs` does, with every cost evaluated in every round: for comparison."""
    setting = Costs(leader, means, ratios, epsilon, bonus, _NONE, _NONE)
    start = np.zeros(3)
    while room > 0:
        room -= 1
        led[leader] += 1
        arm = leader
        if own[leader] < share * led[leader]:
            own[leader] += 1
        else:
            arm, least = -1, np.inf
            for a in range(means.size):
                if a == leader:
                    continue
                start[:] = 0.0
                cost, _ = _cost(setting, a, pulls[leader], pulls[a], start)
                cost += bonus * math.log(pulls[a])
                if arm < 0 or cost < least:
                    arm, least = a, cost
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            return arm
    return -1


@njit(cache=True, nogil=True)
def _interpolate(setting: Costs, models: _Models, i: int, ahead: float) -> float:
    """Interpolate h around q = N_B/N_a, if well enough, and return W there.

    The cubic through Chebyshev's four nodes of t ∈ [−1, 1], h(q(1 + r·t)) ≈ Σ c_i·t^i, errs by
    about h''''·(qr)⁴/192 at most, and that much at t = 0, where h is known.
    """
    arm, behind, start = models.arm[i], models.size[i], models.start[i]
    q = ahead / behind
    cost, part = _cost(setting, arm, ahead, behind, start)
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
            node[j] = _cost(setting, arm, weight, 1.0, near)[0]
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
            cost, _ = _cost(setting, models.arm[i], x, models.size[i], models.start[i])
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
    means: NDArray[np.float64],
    ratios: NDArray[np.float64],
    epsilon: float,
    bonus: float,
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    led: NDArray[np.int64],
    own: NDArray[np.int64],
    share: float,
    room: int,
    leaps: bool = True,
) -> int:
    """Play until an arm's batch ends (return the arm) or the room is used up (return −1).

    Parameters
    ----------
    leader : int
        The leader B.
    means, ratios : numpy.ndarray of float, shape (K,)
        Estimates μ̃, and r = k/n for W̃ or zeros for W.
    epsilon : float
        Privacy budget ε.
    bonus : float
        Factor of log N_a in the cost.
    pulls, following, led, own : numpy.ndarray of int, shape (K,)
        Parts of a `BatchState`; changed in place, but for `following`.
    share : float
        Share β of the rounds in which the leader is played.
    room : int
        Rounds that may be played.
    leaps : bool
        Whether many rounds may be played at once, where `dpbandits.identification.leaps` certifies
        that they are those of the rounds one by one.

    Returns
    -------
    int
    """
    setting = Costs(leader, means, ratios, epsilon, bonus, _NONE, _NONE)
    arms = np.array([a for a in range(means.size) if a != leader])
    k = arms.size
    size, log_size = pulls[arms].astype(np.float64), bonus * np.log(pulls[arms])
    start, c = np.zeros((k, 3)), np.zeros((4, k))
    slope, shift, value, doubt = np.zeros(k), np.full(k, np.inf), np.full(k, -np.inf), np.zeros(k)
    models = _Models(
        arms, size, log_size, start, np.zeros(k), np.zeros(k), slope, shift, c, np.zeros(k),
        value, doubt,
    )  # fmt: skip
    led_now, own_now, ahead, end = led[leader], own[leader], pulls[leader], following[leader]
    result, leaps = -1, leaps and share == 0.5
    again, pause = room, PAUSE
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
    pulls[leader], led[leader], own[leader] = ahead, led_now, own_now
    return result
