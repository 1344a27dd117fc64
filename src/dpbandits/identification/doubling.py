"""The challenger of AdaP-TT and AdaP-TT* over a stretch of rounds."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.leaps import PAUSE, Costs, leap

__all__ = ["advance_doubling"]

_LEAST = 50
"""Turns that are worth a leap, if one challenger has all of them."""


@njit(cache=True, nogil=True)
def _reciprocal(square: float, linear: float, ahead: float, here: float) -> float:
    """Return the reciprocal cost of a challenger at 1/N_B and 1/N."""
    return max(square * (ahead + here), linear * max(ahead, here))


@njit(cache=True, nogil=True)
def _turns_of_one(
    costs: Costs, candidates: NDArray[np.int64], pulls: NDArray[np.int64], most: int
) -> tuple[int, int]:
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
    while most >= _LEAST:
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
    gaps: NDArray[np.float64],
    epsilon: float,
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    led: NDArray[np.int64],
    own: NDArray[np.int64],
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
    again, pause = room, PAUSE
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
