"""The challenger of DP-TT over a stretch of rounds, with few evaluations of its costs.

Between two releases the leader B and the estimates are fixed, and the challenger of a round is
argmin f_a, where f_a(N_B, N_a) = W(N_B, N_a) + log N_a is the cost at the current counts. W is
homogeneous and concave in the counts and increases with both. Hence, for all x, y ≥ 0,

- f_a(N_B + x, N_a + y) is at most its tangent plane at (N_B, N_a);
- ∂W/∂N_B falls with N_B and rises with N_a, and ∂W/∂N_a the other way round, so that what x adds
  is least without y, and what y adds is least without x: f_a is at least f_a(N_B, N_a) plus x
  times a slope, plus y times a slope, either the chords to two corners, as long as x and y do not
  pass them, or the derivatives there, which also hold from any later point before the corners.

Each arm carries such bounds. If the least upper bound lies below all other lower bounds, its arm
is the challenger; if not, the costs of the arms that may be it are evaluated. What is played is
what a plain loop plays that evaluates each cost in each round.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.transport_kernels import calibrated_cost_kernel

__all__ = ["advance_costs", "play_plainly"]

_SLACK = 1e-11  # of a cost; far more than its rounding
_SHRINK = 1.0 - 1e-7  # of a lower slope; far more than its error
# What follows steers only the speed: any choice gives the same challengers.
_SMALLEST = 200  # pulls of an arm below which corners are not worth their cost
_WIDTH = 3.0


@njit(cache=True, nogil=True)
def _cost(
    arm: int,
    leader: int,
    ahead: float,
    behind: float,
    means: NDArray[np.float64],
    ratios: NDArray[np.float64],
    epsilon: float,
    bonus: float,
    start: NDArray[np.float64],
) -> tuple[float, float, float]:
    """Return f at the counts `ahead` = N_B and `behind` = N_a, and its two derivatives.

    `start` holds where the search begins, and then where it ended.
    """
    cost, u, tilt_b, tilt_a, part_b, part_a = calibrated_cost_kernel(
        means[leader], means[arm], ahead, behind, ratios[leader], ratios[arm], epsilon,
        start[0], start[1], start[2],
    )  # fmt: skip
    start[0], start[1], start[2] = tilt_b, tilt_a, u
    return cost + bonus * math.log(behind), part_b, part_a + bonus / behind


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
                start[:] = 0.0, 0.0, -1.0
                cost = _cost(
                    a, leader, pulls[leader], pulls[a], means, ratios, epsilon, bonus, start
                )[0]
                if arm < 0 or cost < least:
                    arm, least = a, cost
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            return arm
    return -1


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

    Returns
    -------
    int
    """
    n_arms = means.size
    start = np.zeros((n_arms, 3))
    start[:, 2] = -1.0
    corner = np.zeros(3)
    # from `since` on, with x = N_B − since: upper + upper_slope·x and lower + lower_slope·x; each
    # pull of the arm adds upper_step, and lower_step while pulls are `left` before its corner
    since = np.zeros(n_arms)
    upper, upper_slope, upper_step = np.full(n_arms, np.inf), np.zeros(n_arms), np.zeros(n_arms)
    lower, lower_slope, lower_step = np.full(n_arms, -np.inf), np.zeros(n_arms), np.zeros(n_arms)
    lower[leader] = np.inf
    reach, left = np.zeros(n_arms), np.zeros(n_arms, np.int64)
    end, end_slope, end_step = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    led_now, own_now, ahead = led[leader], own[leader], pulls[leader]
    arm = leader
    result = -1
    while room > 0:
        room -= 1
        led_now += 1
        if own_now < share * led_now:
            own_now += 1
            ahead += 1
            if ahead == following[leader]:
                result = leader
                break
            continue
        x = float(ahead)
        arm, least = -1, np.inf
        for a in range(n_arms):
            bound = upper[a] + upper_slope[a] * (x - since[a])
            if bound < least:
                arm, least = a, bound
        limit = least + _SLACK * abs(least)
        doubtful = arm < 0
        for a in range(n_arms):
            bound = lower[a] + lower_slope[a] * min(x - since[a], reach[a])
            doubtful |= bound <= limit and a != arm
        if doubtful:
            first, arm, least = arm, -1, np.inf
            for a in range(n_arms):
                bound = lower[a] + lower_slope[a] * min(x - since[a], reach[a])
                if a == leader or (a != first and bound > limit):
                    continue
                n = float(pulls[a])
                cost, slope, step = _cost(a, leader, x, n, means, ratios, epsilon, bonus, start[a])
                if arm < 0 or cost < least:
                    arm, least = a, cost
                since[a] = x
                upper[a], upper_slope[a], upper_step[a] = cost, slope, step
                lower[a], lower_slope[a], lower_step[a] = cost, end_slope[a], end_step[a]
                reach[a] = end[a] - x
                if reach[a] > 0.0 and left[a] > 0:
                    continue
                reach[a], left[a] = 0.0, 0
                lower_slope[a] = lower_step[a] = end[a] = 0.0
                if n < _SMALLEST:
                    continue
                y = math.ceil((_WIDTH * n) ** (1 / 3))
                z = math.ceil(y * x / n)
                corner[:] = start[a]
                far, end_slope[a], _ = _cost(
                    a, leader, x + z, n, means, ratios, epsilon, bonus, corner
                )
                lower_slope[a] = (far - cost) / z * _SHRINK
                end_slope[a] *= _SHRINK
                corner[:] = start[a]
                far, _, end_step[a] = _cost(
                    a, leader, x, n + y, means, ratios, epsilon, bonus, corner
                )
                lower_step[a] = (far - cost) / y * _SHRINK
                end_step[a] *= _SHRINK
                end[a], reach[a], left[a] = x + z, z, y
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            result = arm
            break
        upper[arm] += upper_step[arm]
        left[arm] -= 1
        if left[arm] >= 0:
            lower[arm] += lower_step[arm]
    pulls[leader], led[leader], own[leader] = ahead, led_now, own_now
    return result
