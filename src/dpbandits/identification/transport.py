"""Transportation costs: evidence of weighted estimates for the order of two arms' means.

For real estimates x_a > x_b with weights w_a and w_b,

    W = min over 0 ≤ u ≤ 1 of w_a·d⁻(x_a, u) + w_b·d⁺(x_b, u),

and W̃ is the same with the calibrated d̃⁻ and d̃⁺ of `dpbandits.divergences`: Jourdan & Azize (2025),
reconstructed. The minimiser u lies between low = max(x_b, 0) and high = min(x_a, 1); W has a closed
form (:prf:ref:`lem-plain-cost`), and W̃ is found by Newton's method (:prf:ref:`lem-saddle`). u is
kept as its distances y from low and z from high, both to full relative accuracy, so that no digits
are lost for a tiny gap or a mean near 0 or 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits.divergences import (
    ENDLESS,
    elementwise,
    noise_tilt,
    penalised,
    restricted,
    tilt,
    tilted_mean,
)

__all__ = ["calibrated_cost", "transportation_cost"]

_TOLERANCE = 1e-4  # of Newton's last step: squared, about the error of u; again, of the cost
_FINE = 1e-8  # the same, of u alone
_SHORT = 0.05  # a step that Newton's method may take without a bracket
_LONGEST_STEP = 4.0
_FARTHEST = 690.0
_CORNER = 1e-12
_QUICK_ROUNDS, _ROUNDS = 12, 400
_PATIENCE = 20  # rounds between two bisections, against cycles


class SaddleStart(NamedTuple):
    """Start of the search for the minimiser of W̃, as returned by `calibrated_cost_kernel`.

    Attributes
    ----------
    tilt_a, tilt_b : float
        Tilts λ/ε of both arms; a value outside (0, 1) means none.
    u : float
        The minimiser; a value that is not between the means means none.

    Examples
    --------
    >>> estimates = 0.75, 0.5, 30.0, 10.0, 0.25, 0.25, 1.0
    >>> cost, u, tilt_a, tilt_b, _, _ = calibrated_cost_kernel(*estimates)
    >>> again = calibrated_cost_kernel(*estimates, SaddleStart(tilt_a, tilt_b, u))
    >>> abs(again[0] - cost) < 1e-9
    True
    """

    tilt_a: float
    tilt_b: float
    u: float


FROM_NOTHING = SaddleStart(0.0, 0.0, -1.0)
"""Start of a search without a known point."""


class _CostProblem(NamedTuple):
    mean_a: float
    mean_b: float
    weight_a: float
    weight_b: float
    rate_a: float  # of the noise: ρ = r/ε
    rate_b: float
    epsilon: float


class _Side(NamedTuple):
    """One arm's part of the equations, mirrored for the lower arm."""

    x: float  # its mean
    xc: float  # 1 − x, as u and uc
    u: float
    uc: float
    gap: float  # x − u
    rate: float  # of the noise
    epsilon: float


@kernel(error_model="numpy")
def _clip(x: float) -> float:
    """Return the point of [0, 1] nearest to x."""
    return min(max(x, 0.0), 1.0)


@kernel(error_model="numpy")
def place(y: float, z: float, mean_a: float, mean_b: float) -> tuple[float, float, float, float]:
    """Return u and 1 − u, and the distances of u from both means, for a position between them."""
    low, high = _clip(mean_b), _clip(mean_a)
    return low + y, (1.0 - high) + z, (mean_a - high) + z, (low - mean_b) + y


@kernel(error_model="numpy")
def _upper_at_its_limit(
    x: float, xc: float, wall: float, limit_weight: float, free_weight: float, offset: float,
    width: float,
) -> tuple[float, float]:  # fmt: skip
    """Return the distances of u from x and the far end, if the other, larger arm is tilted by ε.

    u − x is the positive root y of (w + v)·y² + (v·(x + α) − w·(1 − 2x))·y − w·x(1 − x), with v the
    weight of x and w that of the other arm; near an end at 1 (`wall` 0), 1 − u keeps all digits.
    """
    if x <= 0.0 or xc <= 0.0:
        return 0.0, width
    linear = free_weight * (x + offset) - limit_weight * (xc - x)
    constant = limit_weight * x * xc
    both = limit_weight + free_weight
    root = math.sqrt(linear * linear + 4.0 * both * constant)
    y = 2.0 * constant / (linear + root) if linear >= 0.0 else (root - linear) / (2.0 * both)
    y = min(y, width)
    u = x + y
    if wall == 0.0 and u > 0.5:
        return y, min(width, free_weight * y * (u + offset) / (limit_weight * u))
    return y, width - y


@kernel(error_model="numpy")
def _distances(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float
) -> tuple[float, float]:
    """Return y and z of the minimiser of W, for positive weights and 0 ≤ low < high ≤ 1."""
    low, high = _clip(mean_b), _clip(mean_a)
    width = high - low
    share_a, share_b = weight_a / (weight_a + weight_b), weight_b / (weight_a + weight_b)
    y, z = share_a * width, share_b * width  # of the pooled mean
    if math.isinf(epsilon):
        return y, z
    shrink, offset = math.exp(-epsilon), 1.0 / math.expm1(min(epsilon, 700.0))
    limit_a, limit_b = 1.0, 0.0  # arm a is limited for u below the first, arm b above the second
    if mean_a < 1.0:
        limit_a = mean_a * shrink / (mean_a * shrink + (1.0 - mean_a))
    if mean_b > 0.0:
        limit_b = mean_b / (mean_b + (1.0 - mean_b) * shrink)
    if limit_a <= limit_b:
        u = low + y
        lower, upper = u < limit_a, u > limit_b
    else:
        lean = offset * ((weight_a - weight_b) / (weight_a + weight_b))
        u = share_a + lean
        lower, upper = u < limit_b, u > limit_a
        y, z = u - low, (share_b - lean) - (1.0 - high)
        # the cost is insensitive to an error of u, but not to one of y + z
        if y < z:
            y = min(max(y, 0.0), width)
            z = width - y
        else:
            z = min(max(z, 0.0), width)
            y = width - z
    if lower:
        return _upper_at_its_limit(
            mean_b, 1.0 - mean_b, 1.0 - high, share_a, share_b, offset, width
        )
    if upper:
        z, y = _upper_at_its_limit(1.0 - mean_a, mean_a, low, share_b, share_a, offset, width)
    return y, z


@kernel(error_model="numpy")
def _at_an_end(mean_a: float, mean_b: float, weight_a: float, weight_b: float) -> float:
    """Return u if it must be an end of its interval, and otherwise −1."""
    if mean_b >= 1.0 or weight_b == 0.0:
        return _clip(mean_a)
    if mean_a <= 0.0 or weight_a == 0.0:
        return _clip(mean_b)
    return -1.0


@kernel(error_model="numpy")
def _weighted(weight: float, divergence: float) -> float:
    """Return w·d, and 0 for w = 0 even if d is infinite."""
    return weight * divergence if weight > 0.0 else 0.0


@kernel(error_model="numpy")
def transportation_cost_kernel(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float
) -> tuple[float, float, float, float]:
    """Return W, its minimiser, and its slopes by the weights; numbers are not checked."""
    if mean_a <= mean_b:
        return 0.0, _clip(mean_a), 0.0, 0.0
    u = _at_an_end(mean_a, mean_b, weight_a, weight_b)
    if u >= 0.0:
        uc, gap_a, gap_b = 1.0 - u, mean_a - u, u - mean_b
    else:
        y, z = _distances(mean_a, mean_b, weight_a, weight_b, epsilon)
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
    part_a = restricted(mean_a, 1.0 - mean_a, u, uc, gap_a, epsilon)
    part_b = restricted(1.0 - mean_b, mean_b, uc, u, gap_b, epsilon)
    return _weighted(weight_a, part_a) + _weighted(weight_b, part_b), u, part_a, part_b


@kernel(error_model="numpy")
def _wall_at_zero(problem: _CostProblem) -> bool:
    """Whether the cost W̃ increases from u = 0 on; for x_b ≤ 0 < x_a."""
    mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon = problem
    tilt_a = epsilon * noise_tilt(mean_a, rate_a)
    tilt_b = epsilon * noise_tilt(-mean_b, rate_b)
    return weight_b * -math.expm1(-tilt_b) >= weight_a * math.expm1(tilt_a)


@kernel(error_model="numpy")
def _calibrated_end(problem: _CostProblem) -> float:
    """Return the minimiser of W̃ if it is an end of its interval, and otherwise −1."""
    mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon = problem
    u = _at_an_end(mean_a, mean_b, weight_a, weight_b)
    if u < 0.0 and mean_b <= 0.0 and _wall_at_zero(problem):
        return 0.0
    mirrored = _CostProblem(1.0 - mean_b, 1.0 - mean_a, weight_b, weight_a, rate_b, rate_a, epsilon)
    if u < 0.0 and mean_a >= 1.0 and _wall_at_zero(mirrored):
        return 1.0
    return u


@kernel(error_model="numpy")
def _start(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float, u: float
) -> tuple[float, float]:
    """Return y and z of a given u or, if that is not an inner point, roughly those of W."""
    y, z = u - _clip(mean_b), _clip(mean_a) - u
    if not (y > 0.0 and z > 0.0):
        width = _clip(mean_a) - _clip(mean_b)
        y, z = _distances(mean_a, mean_b, weight_a, weight_b, epsilon)
        corner = _CORNER * width
        if y < corner:
            y, z = corner, width - corner
        elif z < corner:
            y, z = width - corner, corner
    return y, z


@kernel(error_model="numpy")
def _respond(side: _Side, t: float, exact: bool) -> tuple[float, float, float, float, float]:
    """Return the tilt, p − u, its logarithmic slope, the rewards' share, and the size of a step.

    Unless `exact`, the tilt is that after one step of Newton's method, if the step is short.
    """
    x, xc, u, uc, gap, rate, epsilon = side
    if 0.0 < t < 1.0 and rate > 0.0 and not exact:
        moved, variance = tilted_mean(epsilon * t, u, uc)
        room = (1.0 - t) * (1.0 + t)
        noise = 2.0 * rate * t / room
        slope = variance + noise * (1.0 + t * t) / (room * t * epsilon)
        step = (gap - moved - noise) / slope
        size = abs(step) * max(1.0, 1.0 / (epsilon * min(t, 1.0 - t)))
        if size < _SHORT:
            share, moved = variance / slope, moved + variance * step
            return t + step / epsilon, moved, moved + variance * (share / moved), share, size
    t, moved, variance, share = tilt(x, xc, u, uc, gap, rate, epsilon, t)
    return t, moved, moved + variance * (share / moved), share, 0.0


@kernel(error_model="numpy")
def _balance(
    problem: _CostProblem,
    y: float,
    z: float,
    width: float,
    tilt_a: float,
    tilt_b: float,
    exact: bool,
) -> tuple[float, float, float, float, float, float, float]:
    """Return the quotient that is 1 at the minimiser, and the slope of its logarithm by log(y/z).

    Also return both tilts, their slopes in u, and the sizes of their steps.
    """
    mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon = problem
    u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
    above = _Side(mean_a, 1.0 - mean_a, u, uc, gap_a, rate_a, epsilon)
    below = _Side(1.0 - mean_b, mean_b, uc, u, gap_b, rate_b, epsilon)
    tilt_a, moved_a, slope_a, share_a, size_a = _respond(above, tilt_a, exact)
    tilt_b, moved_b, slope_b, share_b, size_b = _respond(below, tilt_b, exact)
    slope = (y * (z / width) / (u * uc)) * (slope_a + slope_b)
    quotient = (weight_b * moved_b) / (weight_a * moved_a)
    return quotient, slope, tilt_a, tilt_b, share_a, share_b, max(size_a, size_b)


@kernel(error_model="numpy")
def _shifted(y: float, z: float, step: float) -> tuple[float, float]:
    """Return y and z after log(y/z) has grown by a step; their sum is unchanged."""
    grow = math.exp(-abs(step))
    grown, left = (y * grow, z) if step < 0.0 else (y, z * grow)
    scale = (y + z) / (grown + left)
    return grown * scale, left * scale


@kernel(error_model="numpy")
def _follow(t: float, shift: float) -> float:
    """Return t after a shift, kept within (0, 1)."""
    return t + shift if 0.0 < t + shift < 1.0 else t


@kernel(error_model="numpy")
def _quick_saddle(
    problem: _CostProblem, y: float, z: float, tilt_a: float, tilt_b: float
) -> tuple[bool, float, float, float, float]:
    """Newton's method in both tilts and the position at once; returns first if it converged."""
    mean_a, mean_b, epsilon = problem.mean_a, problem.mean_b, problem.epsilon
    for _ in range(_QUICK_ROUNDS):
        quotient, slope, tilt_a, tilt_b, share_a, share_b, size = _balance(
            problem, y, z, y + z, tilt_a, tilt_b, False
        )
        excess = math.log(quotient)
        if 0.9 < quotient < 1.1:  # to third order
            excess = 2.0 * (quotient - 1.0) / (quotient + 1.0)
        step = -excess / slope
        if not abs(step) < _SHORT:
            y, z = _shifted(y, z, min(max(step, -_LONGEST_STEP), _LONGEST_STEP))
            continue
        u, uc, _gap_a, _gap_b = place(y, z, mean_a, mean_b)
        shift, scale = step * (y * (z / (y + z))), u * uc * epsilon
        y, z = y + shift, z - shift
        tilt_a = _follow(tilt_a, -shift * share_a / scale)
        tilt_b = _follow(tilt_b, shift * share_b / scale)
        if max(abs(step), abs(excess), size) < _TOLERANCE:
            return True, y, z, tilt_a, tilt_b
    return False, y, z, tilt_a, tilt_b


@kernel(error_model="numpy")
def _careful_saddle(problem: _CostProblem, y: float, z: float) -> tuple[float, float, float, float]:
    """Newton's method in the position, with a bracket and exact tilts."""
    width, position = y + z, math.log(y / z)
    lowest, highest = -_FARTHEST, _FARTHEST
    tilt_a = tilt_b = 0.0
    for k in range(_ROUNDS):
        y, z = _shifted(0.5 * width, 0.5 * width, position)
        quotient, slope, tilt_a, tilt_b, _, _, _ = _balance(
            problem, y, z, width, tilt_a, tilt_b, True
        )
        excess = math.log(quotient)
        if excess < 0.0:
            lowest = position
        else:
            highest = position
        step = min(max(-excess / slope, -_LONGEST_STEP), _LONGEST_STEP)
        if max(abs(step), abs(excess)) < _FINE:
            break
        new = position + step
        if not lowest < new < highest or k % _PATIENCE == _PATIENCE - 1:
            new = 0.5 * (lowest + highest)
        position = new
    return y, z, tilt_a, tilt_b


@kernel(error_model="numpy")
def calibrated_cost_kernel(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, ratio_a: float, ratio_b: float,
    epsilon: float, start: SaddleStart = FROM_NOTHING,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Return W̃, its minimiser, tilts and slopes, for single numbers and without checks.

    For ε ≥ 10^80, r_a = r_b = 0 or x_a ≤ x_b the tilts are 0, and everything else is that of W.
    """
    if mean_a <= mean_b or epsilon >= ENDLESS or ratio_a + ratio_b == 0.0:
        cost, u, part_a, part_b = transportation_cost_kernel(
            mean_a, mean_b, weight_a, weight_b, epsilon
        )
        return cost, u, 0.0, 0.0, part_a, part_b
    rate_a, rate_b = ratio_a / epsilon, ratio_b / epsilon
    problem = _CostProblem(mean_a, mean_b, weight_a, weight_b, rate_a, rate_b, epsilon)
    ac, bc = 1.0 - mean_a, 1.0 - mean_b
    end = _calibrated_end(problem)
    if end >= 0.0:
        u, uc, gap_a, gap_b = end, 1.0 - end, mean_a - end, end - mean_b
        tilt_a, _, _, _ = tilt(mean_a, ac, u, uc, gap_a, rate_a, epsilon, 0.0)
        tilt_b, _, _, _ = tilt(bc, mean_b, uc, u, gap_b, rate_b, epsilon, 0.0)
    else:
        y, z = _start(mean_a, mean_b, weight_a, weight_b, epsilon, start.u)
        converged, y, z, tilt_a, tilt_b = _quick_saddle(problem, y, z, start.tilt_a, start.tilt_b)
        if not converged:
            y, z = _start(mean_a, mean_b, weight_a, weight_b, epsilon, -1.0)
            y, z, tilt_a, tilt_b = _careful_saddle(problem, y, z)
        u, uc, gap_a, gap_b = place(y, z, mean_a, mean_b)
    part_a = penalised(tilt_a, mean_a, ac, u, uc, gap_a, ratio_a, epsilon)
    part_b = penalised(tilt_b, bc, mean_b, uc, u, gap_b, ratio_b, epsilon)
    cost = _weighted(weight_a, part_a) + _weighted(weight_b, part_b)
    return cost, u, tilt_a, tilt_b, part_a, part_b


def transportation_cost(
    mean_a: ArrayLike,
    mean_b: ArrayLike,
    weight_a: ArrayLike,
    weight_b: ArrayLike,
    epsilon: ArrayLike,
) -> tuple[Floats, Floats]:
    """Return W = min over u of w_a·d⁻(x_a, u) + w_b·d⁺(x_b, u), and the minimising u.

    The arrays are broadcast. If x_a ≤ x_b the cost is 0 and u is x_a, clipped to [0, 1]; it is
    infinite if ε is and a weighted estimate is outside [0, 1].

    Parameters
    ----------
    mean_a : array_like of float
        x_a: true means, or estimates, which can be any real numbers.
    mean_b : array_like of float
        x_b: true means, or estimates, which can be any real numbers.
    weight_a : array_like of float
        w_a ≥ 0: shares, or numbers of pulls.
    weight_b : array_like of float
        w_b ≥ 0: shares, or numbers of pulls.
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    cost : numpy.ndarray of float
        W, of the broadcast shape of the arguments.
    u : numpy.ndarray of float
        The minimiser, of the same shape.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> cost, u = dpb.transportation_cost(0.75, 0.5, 3, 1, [0.5, np.inf])
    >>> cost.round(4).tolist(), u.round(4).tolist()
    ([0.0896, 0.1042], [0.7127, 0.6875])
    """
    return calibrated_cost(mean_a, mean_b, weight_a, weight_b, 0.0, 0.0, epsilon)


def calibrated_cost(
    mean_a: ArrayLike,
    mean_b: ArrayLike,
    weight_a: ArrayLike,
    weight_b: ArrayLike,
    ratio_a: ArrayLike,
    ratio_b: ArrayLike,
    epsilon: ArrayLike,
) -> tuple[Floats, Floats]:
    """Return W̃ = min over u of w_a·d̃⁻(x_a, u, r_a) + w_b·d̃⁺(x_b, u, r_b), and the minimising u.

    The arrays are broadcast. If x_a ≤ x_b the cost is 0 and u is x_a, clipped to [0, 1].

    Parameters
    ----------
    mean_a : array_like of float
        x_a: true means, or estimates, which can be any real numbers.
    mean_b : array_like of float
        x_b: true means, or estimates, which can be any real numbers.
    weight_a : array_like of float
        w_a ≥ 0: shares, or numbers of pulls.
    weight_b : array_like of float
        w_b ≥ 0: shares, or numbers of pulls.
    ratio_a : array_like of float
        r_a ≥ 0: Laplace variables of scale 1/ε per reward in the estimate x_a.
    ratio_b : array_like of float
        r_b ≥ 0: the same in the estimate x_b.
    epsilon : array_like of float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    cost : numpy.ndarray of float
        W̃, of the broadcast shape of the arguments.
    u : numpy.ndarray of float
        The minimiser, of the same shape.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not contain numbers.
    """
    arguments = mean_a, mean_b, weight_a, weight_b, ratio_a, ratio_b, epsilon
    cost, u, *_ = elementwise(calibrated_cost_kernel, *arguments, n_out=6)
    return cost, u
