"""Where the common mean lies that makes the transportation cost W least: closed forms.

For estimates x_a > x_b the minimiser u lies between low = max(x_b, 0) and high = min(x_a, 1). It
is kept as its distances y from low and z from high, both to full relative accuracy, so that
neither a tiny gap nor a mean near 0 or 1 costs digits.
"""

from __future__ import annotations

import math

from numba import njit

__all__ = ["at_an_end", "clip", "distances", "place"]


@njit(cache=True, nogil=True, error_model="numpy")
def clip(x: float) -> float:
    """Return the point of [0, 1] that is nearest to x."""
    return min(max(x, 0.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def place(y: float, z: float, mean_a: float, mean_b: float) -> tuple[float, float, float, float]:
    """Return u, 1 − u, x_a − u and u − x_b from the distances of u."""
    low, high = clip(mean_b), clip(mean_a)
    return low + y, (1.0 - high) + z, (mean_a - high) + z, (low - mean_b) + y


@njit(cache=True, nogil=True, error_model="numpy")
def _one_at_its_limit(
    x: float, xc: float, limit_weight: float, free_weight: float, offset: float
) -> float:
    """Return the distance u − x at which the other arm, above, is tilted by all of ε.

    There w/(u + α) = v·(u − x)/(u(1 − u)), with w its weight and v that of x; the distance is the
    positive root y of (w + v)·y² + (v·(x + α) − w·(1 − 2x))·y − w·x(1 − x).
    """
    linear = free_weight * (x + offset) - limit_weight * (xc - x)
    constant = limit_weight * x * xc
    both = limit_weight + free_weight
    root = math.sqrt(linear * linear + 4.0 * both * constant)
    if linear >= 0.0:
        return 2.0 * constant / (linear + root)
    return (root - linear) / (2.0 * both)


@njit(cache=True, nogil=True, error_model="numpy")
def _upper_at_its_limit(
    x: float,
    xc: float,
    wall: float,
    limit_weight: float,
    free_weight: float,
    offset: float,
    width: float,
) -> tuple[float, float]:
    """Return the distances of u from x and from the far end, which is a wall at 1 if `wall` is 0.

    From a wall the distance 1 − u is found by the stationarity condition, which keeps its digits.
    """
    if x <= 0.0 or xc <= 0.0:
        return 0.0, width
    y = min(_one_at_its_limit(x, xc, limit_weight, free_weight, offset), width)
    u = x + y
    if wall == 0.0 and u > 0.5:
        return y, min(width, free_weight * y * (u + offset) / (limit_weight * u))
    return y, width - y


@njit(cache=True, nogil=True, error_model="numpy")
def _consistent(y: float, z: float, width: float) -> tuple[float, float]:
    """Return the smaller of two distances, clipped, and the rest of the width for the greater.

    An error of u moves the cost little; one of y + z would move it much.
    """
    if y < z:
        y = min(max(y, 0.0), width)
        return y, width - y
    z = min(max(z, 0.0), width)
    return width - z, z


@njit(cache=True, nogil=True, error_model="numpy")
def _limits(mean_a: float, mean_b: float, epsilon: float) -> tuple[float, float]:
    """Return the u below which arm a is at its limit, and the u above which arm b is."""
    shrink = math.exp(-epsilon)
    limit_a, limit_b = 1.0, 0.0
    if mean_a < 1.0:
        limit_a = mean_a * shrink / (mean_a * shrink + (1.0 - mean_a))
    if mean_b > 0.0:
        limit_b = mean_b / (mean_b + (1.0 - mean_b) * shrink)
    return limit_a, limit_b


@njit(cache=True, nogil=True, error_model="numpy")
def distances(
    mean_a: float, mean_b: float, weight_a: float, weight_b: float, epsilon: float
) -> tuple[float, float]:
    """Return y and z of the minimiser of W, for positive weights and 0 ≤ low < high ≤ 1."""
    low, high = clip(mean_b), clip(mean_a)
    width = high - low
    share_a, share_b = weight_a / (weight_a + weight_b), weight_b / (weight_a + weight_b)
    pooled = share_a * width, share_b * width
    if math.isinf(epsilon):
        return pooled
    limit_a, limit_b = _limits(mean_a, mean_b, epsilon)
    offset = 1.0 / math.expm1(epsilon)
    lower = upper = False  # whether the minimiser is below, above what lies between the limits
    between = pooled
    if limit_a <= limit_b:
        u = low + pooled[0]
        lower, upper = u < limit_a, u > limit_b
    else:
        lean = offset * ((weight_a - weight_b) / (weight_a + weight_b))
        u = share_a + lean
        lower, upper = u < limit_b, u > limit_a
        between = _consistent(u - low, (share_b - lean) - (1.0 - high), width)
    if lower:
        return _upper_at_its_limit(
            mean_b, 1.0 - mean_b, 1.0 - high, share_a, share_b, offset, width
        )
    if upper:
        z, y = _upper_at_its_limit(1.0 - mean_a, mean_a, low, share_b, share_a, offset, width)
        return y, z
    return between


@njit(cache=True, nogil=True, error_model="numpy")
def at_an_end(mean_a: float, mean_b: float, weight_a: float, weight_b: float) -> float:
    """Return u if it has to be an end of its interval, and otherwise −1."""
    if mean_b >= 1.0 or weight_b == 0.0:
        return clip(mean_a)
    if mean_a <= 0.0 or weight_a == 0.0:
        return clip(mean_b)
    return -1.0
