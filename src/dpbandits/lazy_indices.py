"""Compiled choices of `dpbandits.regret.lazy_batches`: indices of released estimates.

Below, x is a released mean of n rewards and k Laplace variables of scale 1/ε, L = log t, and ties
go to the lowest arm number.
"""

from __future__ import annotations

import math

from numba import njit

from dpbandits._arrays import Floats, Ints
from dpbandits.divergences import calibrated_plus_kernel, tilt

__all__ = [
    "calibrated_upper",
    "choose_calibrated",
    "choose_kl",
    "choose_least_evidence",
    "choose_ucb",
    "clip",
    "ucb_width",
]

_ROUNDS = 200
_SPACING = 2.3e-16


@njit(cache=True, nogil=True)
def clip(x: float) -> float:
    """Return x, moved into [0, 1]."""
    return min(max(x, 0.0), 1.0)


@njit(cache=True, nogil=True)
def ucb_width(n: float, log_t: float, sampling: float, noise: float, epsilon: float) -> float:
    """Return √(c·log t/n) + d·log t/(εn), c = `sampling` and d = `noise`.

    Examples
    --------
    >>> ucb_width(4.0, 1.0, 1.0, 2.0, 0.5)
    1.5
    """
    return math.sqrt(sampling * log_t / n) + noise * log_t / (epsilon * n)


@njit(cache=True, nogil=True)
def choose_ucb(
    totals: Floats, rewards: Ints, log_t: float, sampling: float, noise: float, epsilon: float
) -> int:
    """Return the arm with the largest x + `ucb_width`."""
    arm, highest = 0, -math.inf
    for a in range(totals.size):
        n = float(rewards[a])
        index = totals[a] / n + ucb_width(n, log_t, sampling, noise, epsilon)
        if index > highest:
            arm, highest = a, index
    return arm


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated_upper(x: float, n: float, k: float, epsilon: float, level: float) -> float:
    """Return max {q in [0, 1] : n·d̃⁺(x, q, k/n) ≤ level}, 0 if there is no such q.

    d̃⁺ is convex and increases in q ≥ x, and Newton's method from the right converges. With ε = ∞
    it is the index of KL-UCB. x may lie anywhere on the line; the result is never below the
    maximum by more than rounding.

    Examples
    --------
    >>> round(calibrated_upper(0.5, 100.0, 5.0, 1.0, 5.0), 4)
    0.6856
    >>> round(calibrated_upper(0.5, 100.0, 1.0, math.inf, 5.0), 4)
    0.6542
    """
    if x >= 1.0:
        return 1.0
    ratio, bound = k / n, level / n
    low, high = max(x, 0.0), 1.0
    if calibrated_plus_kernel(x, 1.0, ratio, epsilon) <= bound:
        return 1.0
    if calibrated_plus_kernel(x, low, ratio, epsilon) > bound:
        return 0.0
    rate = ratio / epsilon
    q = low + min(0.5 * (high - low), math.sqrt(0.5 * bound))
    for i in range(_ROUNDS):
        excess = calibrated_plus_kernel(x, q, ratio, epsilon) - bound
        if excess > 0.0:
            high = q
        else:
            low = q
        moved = tilt(1.0 - x, x, 1.0 - q, q, q - x, rate, epsilon, 0.0)[1]
        new = q - excess * (q * (1.0 - q)) / moved
        if not low < new < high or i % 20 == 19:
            new = 0.5 * (low + high)
        step, q = abs(new - q), new
        if step <= _SPACING or high - low <= _SPACING:
            break
    return q


@njit(cache=True, nogil=True)
def choose_kl(totals: Floats, rewards: Ints, log_t: float, alpha: float, epsilon: float) -> int:
    """Return the arm with the largest max {q : n·kl(y, q) ≤ αL}, y = clip(x + αL/(εn))."""
    arm, highest, level = 0, -1.0, alpha * log_t
    for a in range(totals.size):
        n = float(rewards[a])
        y = clip(totals[a] / n + level / (epsilon * n))
        index = calibrated_upper(y, n, 0.0, math.inf, level)
        if index > highest:
            arm, highest = a, index
    return arm


@njit(cache=True, nogil=True)
def choose_calibrated(
    totals: Floats, rewards: Ints, noises: Ints, level: float, epsilon: float
) -> int:
    """Return the arm with the largest `calibrated_upper`.

    An arm whose d̃⁺ at the largest index so far is at the level or above has no larger one.
    """
    arm, highest = 0, -1.0
    for a in range(totals.size):
        n, k = float(rewards[a]), float(noises[a])
        x = totals[a] / n
        if highest == 1.0:
            break
        if highest >= 0.0 and n * calibrated_plus_kernel(x, highest, k / n, epsilon) >= level:
            continue
        index = calibrated_upper(x, n, k, epsilon, level)
        if index > highest:
            arm, highest = a, index
    return arm


@njit(cache=True, nogil=True)
def choose_least_evidence(totals: Floats, rewards: Ints, noises: Ints, epsilon: float) -> int:
    """Return the arm with the least n·d̃⁺(y, max y, k/n) + log n, y = clip(x).

    With k = 0 it is d_ε.
    """
    best = 0.0
    for a in range(totals.size):
        best = max(best, clip(totals[a] / rewards[a]))
    arm, least = 0, math.inf
    for a in range(totals.size):
        n = float(rewards[a])
        index = math.log(n)
        y = clip(totals[a] / n)
        if y < best:
            index += n * calibrated_plus_kernel(y, best, noises[a] / n, epsilon)
        if index < least:
            arm, least = a, index
    return arm
