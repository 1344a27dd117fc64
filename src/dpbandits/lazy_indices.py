"""Indices of a released mean x of n rewards and k Laplace variables of scale 1/ε, compiled."""

from __future__ import annotations

import math

from numba import njit

from dpbandits.divergences import calibrated_plus_kernel, tilt

__all__ = ["calibrated_upper", "clip", "ucb_width"]

_ROUNDS = 200
_SPACING = 2.3e-16


@njit(cache=True, nogil=True)
def clip(x: float) -> float:
    """Return x, moved into [0, 1]."""
    return min(max(x, 0.0), 1.0)


@njit(cache=True, nogil=True)
def ucb_width(n: float, log_t: float, sampling: float, noise: float, epsilon: float) -> float:
    """Return √(c·log t/n) + d·log t/(εn), c = `sampling` and d = `noise`."""
    return math.sqrt(sampling * log_t / n) + noise * log_t / (epsilon * n)


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated_upper(x: float, n: float, k: float, epsilon: float, level: float) -> float:
    """Return max {q in [0, 1] : n·d̃⁺(x, q, k/n) ≤ level}, 0 if there is no such q.

    d̃⁺ is convex and increases in q ≥ x, and Newton's method from the right converges. With ε = ∞
    it is the index of KL-UCB. x may lie anywhere on the line.

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
