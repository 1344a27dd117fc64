"""The integrals of `dpbandits.stopping.halting_law`: panels, Gauss–Legendre rules, their errors.

The proofs of the bounds stand in that module.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["DROP", "LOG2", "Floats", "gauss_rules", "integrate", "panels_of"]

Floats = NDArray[np.float64]

DROP = 45.0  # the logarithm of what is left out on either side, relative to the largest value
_DIGITS = 18.0  # orders of magnitude by which ρ^(−2m) is below 1
_WIDTH = 0.5  # of a panel, in scales
_REACH = 0.5  # by how many scales its ellipse sticks out at either end; log 2 is singular
LOG2 = math.log(2.0)


@functools.cache
def gauss_rules() -> tuple[Floats, Floats]:
    """Return nodes and weights of the Gauss–Legendre rules on [−1, 1], row m for m nodes."""
    most = _order(_ellipse(_WIDTH, 1.0)[0])
    nodes, weights = np.zeros((2, most + 1, most))
    for count in range(2, most + 1):
        nodes[count, :count], weights[count, :count] = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def panels_of(
    q: Floats, threshold_scale: float, query_scale: float, skip: int
) -> tuple[Floats, Floats]:
    """Return left and right ends of panels, outside of which each integrand has next to nothing.

    Left of 0 and of every q, φ rises with slope at least 1/σ₁. Right of them f falls with slope
    1/σ₁, F falls too, and K factors 1 − F(q_j − b) rise with a slope of at most 1/(4σ₁) together
    from log(4Kσ₁/σ₂) scales on. In between, panels are cut and dropped until they are narrow.
    """
    rise = query_scale * math.log(4.0 * max(q.size, 1) * max(threshold_scale / query_scale, 1.0))
    low = min(0.0, q.min(initial=0.0)) - 1.1 * DROP * threshold_scale
    high = max(0.0, q.max(initial=0.0)) + rise + 1.5 * DROP * threshold_scale
    kinks = np.unique(np.concatenate([[low, 0.0, high], q]))
    left, right = kinks[:-1], kinks[1:]
    narrow = _WIDTH * min(threshold_scale, query_scale) * (1.0 + 1e-6)  # rounding of cuts
    while True:
        matters, steep = _matters(q, threshold_scale, query_scale, skip, left, right)
        left, right, steep = left[matters], right[matters], steep[matters]
        place = np.searchsorted(kinks, 0.5 * (left + right))
        gap = np.minimum(left - kinks[place - 1], kinks[place] - right)
        # far from the kinks each integrand is an exponential but for next to nothing
        smooth = (gap >= 2.0 * DROP * query_scale) & (right - left <= gap / 3.0) & ~steep
        pieces = np.minimum(np.ceil((right - left) / narrow), 4.0).astype(np.int64)
        pieces[smooth] = 1
        if pieces.max() == 1:
            return left, right
        nth = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        start, end, count = (np.repeat(x, pieces) for x in (left, right, pieces))
        step = (end - start) / count
        left = start + nth * step
        right = np.where(nth + 1 == count, end, start + (nth + 1) * step)


@njit(cache=True, nogil=True)
def _ellipse(width: float, scale: float) -> tuple[float, float]:
    """Return ρ and the height of the ellipse that sticks out of a panel by a given reach."""
    axis = 1.0 + 2.0 * _REACH * scale / width
    other = math.sqrt(axis**2 - 1.0)
    return axis + other, 0.5 * width * other


@njit(cache=True, nogil=True)
def _order(rho: float) -> int:
    """Return the number m of nodes with which ρ^(−2m) is small enough."""
    return max(2, math.ceil(_DIGITS * math.log(10.0) / (2.0 * math.log(rho))))


@njit(cache=True, nogil=True)
def _logs(x: float) -> tuple[float, float]:
    """Return log F(x) and log(1 − F(x)) for the Laplace law of scale 1."""
    tail = -abs(x) - LOG2
    rest = math.log1p(-math.exp(tail)) if tail > -DROP else -math.exp(tail)
    return (tail, rest) if x < 0.0 else (rest, tail)


@njit(cache=True, nogil=True)
def _log_modulus(low: float, high: float, height: float) -> float:
    """Bound log|1 − e^(−x−iy)/2| for x from low to high and |y| up to height ≤ π.

    |1 − ve^(−iy)|² = (1 − v)² + 2v(1 − cos y) is convex in v.
    """
    v, w = 0.5 * math.exp(-low), 0.5 * math.exp(-high)
    bend = 2.0 * (1.0 - math.cos(height))
    return 0.5 * math.log(max((1.0 - v) ** 2 + v * bend, (1.0 - w) ** 2 + w * bend))


@njit(cache=True, nogil=True)
def _heights(
    q: Floats, threshold_scale: float, query_scale: float, skip: int, b: float, heights: Floats
) -> None:
    """Set to φ at a point, for each look but the first `skip`, and for surviving."""
    height = -abs(b) / threshold_scale
    for j in range(q.size):
        log_cdf, log_rest = _logs((q[j] - b) / query_scale)
        if j >= skip:
            heights[j - skip] = height + log_cdf
        height += log_rest
    heights[-1] = height


@njit(cache=True, nogil=True)
def _matters(
    q: Floats, threshold_scale: float, query_scale: float, skip: int, left: Floats, right: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether a panel matters to any integrand, and whether one of those is steep there."""
    matters, steep = np.zeros(left.size, np.bool_), np.zeros(left.size, np.bool_)
    at_left, at_right = np.empty(q.size - skip + 1), np.empty(q.size - skip + 1)
    peaks = np.full(at_left.size, -np.inf)
    for again in range(2):  # first the peaks
        for i in range(left.size):
            if i > 0 and left[i] == right[i - 1]:
                at_left[:] = at_right
            else:
                _heights(q, threshold_scale, query_scale, skip, left[i], at_left)
            _heights(q, threshold_scale, query_scale, skip, right[i], at_right)
            for k in range(peaks.size):
                top = max(at_left[k], at_right[k])
                if again == 0:
                    peaks[k] = max(peaks[k], top)
                elif top > peaks[k] - DROP:
                    matters[i] = True
                    steep[i] |= abs(at_left[k] - at_right[k]) > _WIDTH
    return matters, steep


@njit(cache=True, nogil=True)
def _add(peaks: Floats, totals: Floats, place: int, log_term: float) -> None:
    """Add a term to a sum that is kept as totals·exp(peaks)."""
    if log_term > peaks[place]:
        totals[place] = totals[place] * math.exp(peaks[place] - log_term) + 1.0
        peaks[place] = log_term
    elif log_term > peaks[place] - 2.0 * DROP:
        totals[place] += math.exp(log_term - peaks[place])


@njit(cache=True, nogil=True)
def integrate(
    q: Floats,
    threshold_scale: float,
    query_scale: float,
    skip: int,
    lefts: Floats,
    rights: Floats,
    nodes: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return the logarithms of the integrals, as in `_heights`, and of bounds on their errors."""
    scale, count = min(threshold_scale, query_scale), q.size - skip + 1
    peaks, totals = np.full(count, -np.inf), np.zeros(count)
    error_peaks, error_totals = np.full(count, -np.inf), np.zeros(count)
    log_density = -math.log(2.0 * threshold_scale)
    for panel in range(lefts.size):
        left, right = lefts[panel], rights[panel]
        half, middle = 0.5 * (right - left), 0.5 * (left + right)
        local = max(scale, (right - left) / _WIDTH)
        rho, height = _ellipse(right - left, local)
        order = _order(rho)
        for node in range(order):
            b = middle + half * nodes[order, node]
            log_term = math.log(half * weights[order, node]) + log_density
            log_term -= abs(b) / threshold_scale
            for j in range(q.size):
                log_cdf, log_rest = _logs((q[j] - b) / query_scale)
                if j >= skip:
                    _add(peaks, totals, j - skip, log_term + log_cdf)
                log_term += log_rest
            _add(peaks, totals, count - 1, log_term)
        # the same with each factor at its largest in the ellipse
        log_term = math.log(half * 64.0 / 15.0) + log_density - 2.0 * order * math.log(rho)
        log_term -= math.log1p(-1.0 / rho**2)
        # exponentials together, as their slopes may cancel
        reach, turn = _REACH * local, min(height / query_scale, math.pi)
        log_term -= abs(middle) / threshold_scale
        slope = -math.copysign(1.0, middle) / threshold_scale
        for j in range(q.size):
            low, high = (left - reach - q[j]) / query_scale, (right + reach - q[j]) / query_scale
            exponent = -abs(middle - q[j]) / query_scale - LOG2
            cdf_slope = rest_slope = 0.0
            if middle > q[j]:
                log_cdf, log_rest = exponent, _log_modulus(low, high, turn)
                cdf_slope = -1.0 / query_scale
            else:
                log_cdf, log_rest = _log_modulus(-high, -low, turn), exponent
                rest_slope = 1.0 / query_scale
            if j >= skip:
                growth = abs(slope + cdf_slope) * (half + reach)
                _add(error_peaks, error_totals, j - skip, log_term + log_cdf + growth)
            log_term += log_rest
            slope += rest_slope
        log_term += abs(slope) * (half + reach)
        _add(error_peaks, error_totals, count - 1, log_term)
    return peaks + np.log(totals), error_peaks + np.log(error_totals)
