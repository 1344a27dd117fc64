"""The challenger of AdaP-TT and AdaP-TT* over a stretch of rounds, many rounds at once."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["advance_doubling"]

_LEAST_LEAP = 400
"""Turns of challengers that are worth a leap."""
_SETTLE = 120
"""Turns that are played one by one after a leap, before a batch may end."""


@njit(cache=True, nogil=True)
def _spread(
    square: NDArray[np.float64],
    counts: NDArray[np.int64],
    leader: float,
    turns: int,
    result: NDArray[np.int64],
) -> None:
    """Share `turns` pulls among challengers so that their reciprocal costs are as equal as can be.

    The reciprocal cost of a challenger is c·(1/N_B + 1/N), c = `square`, and N_B = `leader` in the
    end. `result` gets the counts: those before, and all pulls that lower a reciprocal above a
    common level, which is found by bisection; the last few go to the largest ones.
    """
    ahead = 1.0 / leader
    low, high = 0.0, 0.0
    for i in range(counts.size):
        high = max(high, square[i] * (ahead + 1.0 / counts[i]))
        low = max(low, square[i] * ahead)
    for _ in range(200):
        level = 0.5 * (low + high)
        given = 0
        for i in range(counts.size):
            rest = level / square[i] - ahead
            full = 4e18 if rest <= 0.0 else min(1.0 / rest, 4e18)
            result[i] = max(counts[i], int(full))
            given += min(result[i] - counts[i], turns + 1)
        if given > turns:
            low = level
        else:
            high = level
        if high - low <= 1e-16 * high or 0 <= turns - given <= counts.size:
            break
    given = 0
    for i in range(counts.size):
        rest = high / square[i] - ahead
        full = 4e18 if rest <= 0.0 else min(1.0 / rest, 4e18)
        result[i] = max(counts[i], int(full))
        given += result[i] - counts[i]
    while given < turns:
        best, largest = 0, -1.0
        for i in range(counts.size):
            reciprocal = square[i] * (ahead + 1.0 / result[i])
            if reciprocal > largest:
                best, largest = i, reciprocal
        result[best] += 1
        given += 1


@njit(cache=True, nogil=True)
def _leap(
    leader: int,
    candidates: NDArray[np.int64],
    square: NDArray[np.float64],
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    room: int,
) -> int:
    """Play an even number of rounds at once, shortly before a batch ends at most; return how many.

    With equal shares leader and challenger take turns, the leader first. Which challengers had the
    turns is decided by the costs after the last of them. What single turns would decide can differ
    from it by a pull or two; `_SETTLE` turns, one by one, settle that before a batch ends.
    """
    size = candidates.size
    counts, chosen = np.empty(size, np.int64), np.empty(size)
    result = np.empty(size, np.int64)
    most = min(following[leader] - pulls[leader], room // 2) - _SETTLE
    for i in range(size):
        counts[i] = pulls[candidates[i]]
        chosen[i] = square[candidates[i]]
        if size == 1:
            chosen[i] = 1.0  # it has all turns
        elif not 0.0 < chosen[i] < np.inf:
            return 0
    low, high = 0, most + 1  # turns after which no batch has ended, and has
    if high <= _LEAST_LEAP:
        return 0
    while high - low > 1 + low // 64:
        turns = most if low == 0 and high == most + 1 else low + (high - low) // 2
        _spread(chosen, counts, float(pulls[leader] + turns), turns, result)
        fits = True
        for i in range(size):
            fits = fits and result[i] <= following[candidates[i]] - _SETTLE
        if fits:
            low = turns
        else:
            high = turns
    if low < _LEAST_LEAP:
        return 0
    _spread(chosen, counts, float(pulls[leader] + low), low, result)
    for i in range(size):
        pulls[candidates[i]] = result[i]
    pulls[leader] += low
    return 2 * low


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
    leaps = leaps and share == 0.5 and epsilon == np.inf and size > 0
    while room > 0:
        if leaps and 2 * own[leader] == led[leader]:
            leaps = False  # until the next batch
            played = 1
            while played > 0:
                played = _leap(leader, candidates[:size], square, pulls, following, room)
                room -= played
                led[leader] += played
                own[leader] += played // 2
            for a in range(n_arms):
                inverse[a] = 1.0 / pulls[a]
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
