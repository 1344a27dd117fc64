"""The challenger of AdaP-TT and AdaP-TT* over a stretch of rounds."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.leaps import Costs, leap

__all__ = ["advance_doubling"]

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
    leaps = leaps and share == 0.5 and size > 0
    for i in range(size):
        leaps = leaps and (size == 1 or 0.0 < square[candidates[i]] < np.inf)
    costs = Costs(leader, gaps, gaps, epsilon, 0.0, square, linear)
    while room > 0:
        if leaps and 2 * own[leader] == led[leader]:
            most = min(following[leader] - 1 - pulls[leader], room // 2)
            turns = leap(costs, candidates[:size], pulls[leader], pulls, following, most)
            leaps = turns > 0
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
            for i in range(size):
                a = candidates[i]
                here = inverse[a]
                reciprocal = max(square[a] * (ahead + here), linear[a] * max(ahead, here))
                if reciprocal > largest:
                    arm = a
                    largest = reciprocal
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            return arm
        inverse[arm] = 1.0 / pulls[arm]
    return -1
