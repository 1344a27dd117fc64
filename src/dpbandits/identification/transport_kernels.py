"""Compiled transportation costs, one pair of arms at a time.

For estimates x_a > x_b, anywhere on the line, with weights w_a and w_b,

    W = min {w_a·d⁻(x_a, u) + w_b·d⁺(x_b, u) : 0 ≤ u ≤ 1},

and W̃ is the same with the calibrated d̃⁻ and d̃⁺. The common mean u is kept as its distances y and
z from the ends of its interval; see `transport_geometry`.
"""

from __future__ import annotations

import math

from numba import njit

from dpbandits.divergence_kernels import (
    penalised,
    restricted,
    tilt,
    tilted_mean,
)
from dpbandits.identification.transport_geometry import at_an_end, clip, distances, place

__all__ = [
    "calibrated_cost_kernel",
    "transportation_cost_kernel",
]

Problem = tuple[float, float, float, float, float, float, float]
"""Both means, both weights, both noise rates ρ = r/ε, and ε."""

_TOLERANCE = 1e-4  # of the last step of Newton's; what remains is about its square, and the cost's
_FINE = 1e-8  # error about the square of that
_SHORT = 0.05  # a step that Newton's method may take without a bracket
_LONGEST_STEP = 4.0
_FARTHEST = 690.0
_CORNER = 1e-12
_QUICK_ROUNDS, _ROUNDS = 12, 400
_PATIENCE = 20  # after so many rounds one bisection, against cycles


@njit(cache=True, nogil=True, error_model="numpy")
def _weighted(weight: float, divergence: float) -> float:
    """Return w·d, and 0 for w = 0 also if d is infinite."""
    return weight * divergence if weight > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def transportation_cost_kernel(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float
) -> tuple[float, float, float, float]:
    """Return W, its minimiser u, and the parts d⁻(x_a, u) and d⁺(x_b, u).

    The parts are the derivatives of W with respect to the weights. W is concave in the weights
    and homogeneous, so that w_a·d⁻ + w_b·d⁺ bounds W from above at all weights, and equals it at
    those given. If x_a ≤ x_b, all are 0 but u, which is x_a clipped to [0, 1].

    Examples
    --------
    >>> cost, u, part_a, part_b = transportation_cost_kernel(0.75, 0.5, 3.0, 1.0, 0.5)
    >>> round(cost, 4), round(u, 4), bool(abs(3 * part_a + part_b - cost) < 1e-15)
    (0.0896, 0.7127, True)
    """
    if mean_a <= mean_b:
        return 0.0, clip(mean_a), 0.0, 0.0
    u = at_an_end(mean_a, mean_b, weight_a, weight_b)
    if u >= 0.0:
        uc, gap_a, gap_b = 1.0 - u, mean_a - u, u - mean_b
    else:
        y, z = distances(mean_a, mean_b, weight_a, weight_b, epsilon)
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
    part_a = restricted(mean_a, 1.0 - mean_a, u, uc, gap_a, epsilon)
    part_b = restricted(1.0 - mean_b, mean_b, uc, u, gap_b, epsilon)
    return _weighted(weight_a, part_a) + _weighted(weight_b, part_b), u, part_a, part_b


@njit(cache=True, nogil=True, error_model="numpy")
def _noise_alone(gap: float, rate: float, epsilon: float) -> float:
    """Return the tilt λ at which the noise alone fills the gap."""
    if gap <= 0.0:
        return 0.0 if rate > 0.0 else epsilon
    return epsilon * gap / (rate + math.hypot(rate, gap))


@njit(cache=True, nogil=True, error_model="numpy")
def _wall_at_zero(
    mean_a: float,
    mean_b: float,
    weight_a: float,
    weight_b: float,
    rate_a: float,
    rate_b: float,
    epsilon: float,
) -> bool:
    """Whether the cost W̃ increases from u = 0 on; for x_b ≤ 0 < x_a."""
    tilt_a = _noise_alone(mean_a, rate_a, epsilon)
    tilt_b = _noise_alone(-mean_b, rate_b, epsilon)
    return weight_b * -math.expm1(-tilt_b) >= weight_a * math.expm1(tilt_a)


@njit(cache=True, nogil=True, error_model="numpy")
def _calibrated_end(
    mean_a: float,
    mean_b: float,
    weight_a: float,
    weight_b: float,
    rate_a: float,
    rate_b: float,
    epsilon: float,
) -> float:
    """Return the minimiser of W̃ if it is an end of its interval, and otherwise −1."""
    u = at_an_end(mean_a, mean_b, weight_a, weight_b)
    if u >= 0.0:
        return u
    if mean_b <= 0.0 and _wall_at_zero(mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon):
        return 0.0
    if mean_a >= 1.0 and _wall_at_zero(
        1.0 - mean_b, 1.0 - mean_a, weight_b, weight_a, rate_b, rate_a, epsilon
    ):
        return 1.0
    return -1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _start(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float, u: float
) -> tuple[float, float]:
    """Return y and z for the u given or, if that is no inner point, about those of W."""
    y, z = u - clip(mean_b), clip(mean_a) - u
    if not (y > 0.0 and z > 0.0):
        width = clip(mean_a) - clip(mean_b)
        y, z = distances(mean_a, mean_b, weight_a, weight_b, epsilon)
        corner = _CORNER * width
        if y < corner:
            y, z = corner, width - corner
        elif z < corner:
            y, z = width - corner, corner
    return y, z


@njit(cache=True, nogil=True, error_model="numpy")
def _respond(
    x: float, xc: float, u: float, uc: float, gap: float, rate: float, epsilon: float, t: float
) -> tuple[float, float, float, float, float]:
    """Return what `tilt` returns, after one step of Newton's if it is short, and its size."""
    if 0.0 < t < 1.0 and rate > 0.0:
        moved, variance = tilted_mean(epsilon * t, u, uc)
        room = (1.0 - t) * (1.0 + t)
        noise = 2.0 * rate * t / room
        slope = variance + noise * (1.0 + t * t) / (room * t * epsilon)
        step = (gap - moved - noise) / slope
        size = abs(step) * max(1.0, 1.0 / (epsilon * min(t, 1.0 - t)))
        if size < _SHORT:
            share = variance / slope
            return t + step / epsilon, moved + variance * step, variance, share, size
    t, moved, variance, share = tilt(x, xc, u, uc, gap, rate, epsilon, t)
    return t, moved, variance, share, 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _log(quotient: float) -> float:
    """Return the logarithm, near 1 but for its third order."""
    if 0.9 < quotient < 1.1:
        return 2.0 * (quotient - 1.0) / (quotient + 1.0)
    return math.log(quotient)


@njit(cache=True, nogil=True, error_model="numpy")
def _shifted(y: float, z: float, step: float) -> tuple[float, float]:
    """Return y and z after log(y/z) has grown by a step; their sum stays."""
    grow = math.exp(-abs(step))
    if step < 0.0:
        grown, left = y * grow, z
    else:
        grown, left = y, z * grow
    scale = (y + z) / (grown + left)
    return grown * scale, left * scale


@njit(cache=True, nogil=True, error_model="numpy")
def _follow(t: float, shift: float) -> float:
    """Return t after a shift that does not leave (0, 1)."""
    return t + shift if 0.0 < t + shift < 1.0 else t


@njit(cache=True, nogil=True, error_model="numpy")
def _quick_saddle(
    problem: Problem, y: float, z: float, tilt_a: float, tilt_b: float
) -> tuple[bool, float, float, float, float]:
    """Newton's method in both tilts and the position at once; whether it converged comes first."""
    mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon = problem
    for _ in range(_QUICK_ROUNDS):
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
        tilt_a, moved_a, variance_a, share_a, size_a = _respond(
            mean_a, 1.0 - mean_a, u, uc, gap_a, rate_a, epsilon, tilt_a
        )
        tilt_b, moved_b, variance_b, share_b, size_b = _respond(
            1.0 - mean_b, mean_b, uc, u, gap_b, rate_b, epsilon, tilt_b
        )
        variance, spread = u * uc, y * (z / (y + z))
        slope = (spread / variance) * (
            (moved_a + variance_a * (share_a / moved_a))
            + (moved_b + variance_b * (share_b / moved_b))
        )
        excess = _log((weight_b * moved_b) / (weight_a * moved_a))
        step = -excess / slope
        if not abs(step) < _SHORT:
            y, z = _shifted(y, z, min(max(step, -_LONGEST_STEP), _LONGEST_STEP))
            continue
        shift = step * spread
        y, z = y + shift, z - shift
        tilt_a = _follow(tilt_a, -shift * share_a / (variance * epsilon))
        tilt_b = _follow(tilt_b, shift * share_b / (variance * epsilon))
        if max(abs(step), abs(excess), size_a, size_b) < _TOLERANCE:
            return True, y, z, tilt_a, tilt_b
    return False, y, z, tilt_a, tilt_b


@njit(cache=True, nogil=True, error_model="numpy")
def _careful_saddle(problem: Problem, y: float, z: float) -> tuple[float, float, float, float]:
    """Newton's method in the position, with a bracket and exact tilts."""
    mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon = problem
    width = y + z
    position = math.log(y / z)
    lowest, highest = -_FARTHEST, _FARTHEST
    tilt_a = tilt_b = 0.0
    for k in range(_ROUNDS):
        y, z = _shifted(0.5 * width, 0.5 * width, position)
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
        tilt_a, moved_a, variance_a, share_a = tilt(
            mean_a, 1.0 - mean_a, u, uc, gap_a, rate_a, epsilon, tilt_a
        )
        tilt_b, moved_b, variance_b, share_b = tilt(
            1.0 - mean_b, mean_b, uc, u, gap_b, rate_b, epsilon, tilt_b
        )
        excess = math.log((weight_b * moved_b) / (weight_a * moved_a))
        if excess < 0.0:
            lowest = position
        else:
            highest = position
        variance, spread = u * uc, y * (z / width)
        slope = (spread / variance) * (
            (moved_a + variance_a * (share_a / moved_a))
            + (moved_b + variance_b * (share_b / moved_b))
        )
        step = min(max(-excess / slope, -_LONGEST_STEP), _LONGEST_STEP)
        if max(abs(step), abs(excess)) < _FINE:
            break
        new = position + step
        if not lowest < new < highest or k % _PATIENCE == _PATIENCE - 1:
            new = 0.5 * (lowest + highest)
        position = new
    return y, z, tilt_a, tilt_b


@njit(cache=True, nogil=True, error_model="numpy")
def _end_tilt(
    x: float, xc: float, u: float, uc: float, gap: float, rate: float, epsilon: float
) -> float:
    """Return the tilt of one arm, 0 if it has no gap."""
    if gap <= 0.0:
        return 0.0
    return tilt(x, xc, u, uc, gap, rate, epsilon, 0.0)[0]


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated_cost_kernel(
    mean_a: float,
    mean_b: float,
    weight_a: float,
    weight_b: float,
    ratio_a: float,
    ratio_b: float,
    epsilon: float,
    tilt_a: float,
    tilt_b: float,
    u: float,
) -> tuple[float, float, float, float, float, float]:
    """Return W̃, its minimiser u, the tilts λ/ε of both arms, and d̃⁻(x_a, u) and d̃⁺(x_b, u).

    With p the rewards' tilted means, w_a·(p_a − u)/(u(1 − u)) decreases in u, and
    w_b·(u − p_b)/(u(1 − u)) increases; where both are equal is the minimiser. Newton's method
    solves for u and both tilts at once. Where its steps do not become short, which is rare, it is
    replaced by one in u alone, with exact tilts, a bracket and bisection.

    Parameters
    ----------
    mean_a, mean_b, weight_a, weight_b, ratio_a, ratio_b, epsilon : float
        See `calibrated_cost`.
    tilt_a, tilt_b, u : float
        Where to start, such as what an earlier call returned. Tilts outside (0, 1), and a u not
        between the means, stand for a default: (0, 0, −1) is a start from nothing.

    Returns
    -------
    tuple of float
        Cost, u, λ_a/ε, λ_b/ε, and the derivatives of the cost with respect to the weights. For
        ε = ∞ or r_a = r_b = 0 the cost is W and the tilts are 0; so are they if x_a ≤ x_b.

    Examples
    --------
    >>> cold = calibrated_cost_kernel(0.75, 0.5, 30.0, 10.0, 0.1, 0.2, 0.5, 0.0, 0.0, -1.0)
    >>> cost, u, tilt_a, tilt_b, part_a, part_b = cold
    >>> round(cost, 4), round(u, 4), round(30 * part_a + 10 * part_b, 4)
    (0.1429, 0.7113, 0.1429)
    >>> warm = calibrated_cost_kernel(0.75, 0.5, 31.0, 10.0, 0.1, 0.2, 0.5, tilt_a, tilt_b, u)
    >>> bool(warm[0] <= 31 * part_a + 10 * part_b)
    True
    """
    if mean_a <= mean_b or math.isinf(epsilon) or ratio_a + ratio_b == 0.0:
        cost, u, part_a, part_b = transportation_cost_kernel(
            mean_a, mean_b, weight_a, weight_b, epsilon
        )
        return cost, u, 0.0, 0.0, part_a, part_b
    rate_a, rate_b = ratio_a / epsilon, ratio_b / epsilon
    problem = (mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon)
    ac, bc = 1.0 - mean_a, 1.0 - mean_b
    end = _calibrated_end(mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon)
    if end >= 0.0:
        u, uc, gap_a, gap_b = end, 1.0 - end, mean_a - end, end - mean_b
        tilt_a = _end_tilt(mean_a, ac, u, uc, gap_a, rate_a, epsilon)
        tilt_b = _end_tilt(bc, mean_b, uc, u, gap_b, rate_b, epsilon)
    else:
        y, z = _start(mean_a, mean_b, weight_a, weight_b, epsilon, u)
        converged, y, z, tilt_a, tilt_b = _quick_saddle(problem, y, z, tilt_a, tilt_b)
        if not converged:
            y, z = _start(mean_a, mean_b, weight_a, weight_b, epsilon, -1.0)
            y, z, tilt_a, tilt_b = _careful_saddle(problem, y, z)
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
    part_a = penalised(tilt_a, mean_a, ac, u, uc, gap_a, ratio_a, epsilon)
    part_b = penalised(tilt_b, bc, mean_b, uc, u, gap_b, ratio_b, epsilon)
    return (
        _weighted(weight_a, part_a) + _weighted(weight_b, part_b),
        u,
        tilt_a,
        tilt_b,
        part_a,
        part_b,
    )
