"""The law of the halting time of the NAS family on a given stream, by integration.

On a given stream the s-th look has the margin q_s = |S_n| − threshold(s), and halts when
q_s ≥ B + A_s, with B ~ Lap(σ₁) drawn once and A_s ~ Lap(σ₂) at every look. Given B the looks are
independent. With F the distribution function of Lap(σ₂) and f the density of B,

    P(the s-th look is the first to halt) = ∫ f(b) F(q_s − b) ∏_{j<s} (1 − F(q_j − b)) db,

and P(no look halts) = ∫ f(b) ∏_j (1 − F(q_j − b)) db. As f, F and 1 − F are log-concave, so is
each integrand exp(φ), and the integral is computed with an error that is known
(`HaltingLaw.error`). Proof:

- *Range.* If φ(lo) ≤ φ(p) − D for some p > lo, then concavity puts φ below the line through the
  two points to the left of lo, and above it between them. The part of the integral to the left of
  lo is at most e^(−D)/(1 − e^(−D)) of the whole; likewise on the right. D = 45 is used.
- *Panels.* Between two neighbours of {0, q_1, q_2, …} every factor is an exponential, or 1 minus
  one, and analytic. A panel [l, r] between them, of width h ≤ min(σ₁, σ₂)/2 (or more,
  where it is far from them and the integrand hardly changes), gets Gauss–Legendre
  nodes, m of them: exact up to degree 2m − 1. A function that is analytic and at most M in modulus
  in the ellipse with foci l, r and semi-axes summing to ρh/2 has Chebyshev coefficients a_k,
  with |a_k| ≤ 2Mρ^(−k), of which k = 2m, 2m + 2, … count, so that the error is at most
  (h/2)(64/15) M ρ^(−2m)/(1 − ρ^(−2)). M is bounded factor by factor,
  exponentials apart, whose slopes are added first: between far margins they can cancel.

All is done in logarithms: a probability of 10^(−300) is as accurate as one of 1/2. Rounding, which
the error does not include, adds some 10⁻¹⁵ times the modulus of the logarithm.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints
from dpbandits._validation import SMALLEST, check_integer, check_number
from dpbandits.halting import Halting
from dpbandits.mechanisms import laplace_log_cdf
from dpbandits.stopping.base import NASFamily, checked

__all__ = [
    "Floats",
    "HaltingLaw",
    "check_rule",
    "halting_law",
    "looks_at",
    "margins",
    "samples_of",
    "sparse_vector_law",
]


_DROP = 45.0  # the logarithm of what is left out on either side, relative to the largest value
_DIGITS = 18.0  # orders of magnitude by which ρ^(−2m) is below 1
_WIDTH = 0.5  # of a panel, in scales
_REACH = 0.5  # by how many scales its ellipse sticks out at either end; log 2 is singular
_LOG2 = math.log(2.0)
_MOST = 1e9  # scales in a margin or in the other scale; rounding is some 1e-7 there


@dataclass(frozen=True, eq=False)
class HaltingLaw:
    """The law of a rule's halting time on one stream.

    Attributes
    ----------
    times, log_halt : numpy.ndarray, shape (looks,)
        Number n of samples at each look, and log of the probability that the rule halts there.
    log_survive : float
        Log of the probability that it has not halted by the end of the stream.
    error : float
        Proved bound on the relative error of each probability, rounding apart.
    """

    times: Ints
    log_halt: Floats
    log_survive: float
    error: float


def check_rule(rule: NASFamily) -> Halting:
    """Return the halting condition of a rule."""
    halting = getattr(rule, "halting", None)
    if not isinstance(halting, Halting):
        raise ValueError(f"rule={rule!r} has no halting condition; allowed: one of the NAS family")
    return halting


def looks_at(rule: NASFamily, n_samples: int) -> Ints:
    """Return the numbers of samples, up to `n_samples`, at which a rule of the NAS family looks."""
    check_rule(rule)
    times: list[int] = []
    while (time := rule.look_time(len(times) + 1)) <= n_samples:
        times.append(time)
    return np.array(times, dtype=np.int64)


def margins(rule: NASFamily, sums: ArrayLike) -> Floats:
    """Return q_s = |S| − threshold(s) for the sums S at the first looks."""
    sizes = np.abs(np.asarray(sums, dtype=np.float64))
    return sizes - np.array([rule.threshold(look) for look in range(1, sizes.size + 1)])


def samples_of(rule: NASFamily, name: str, stream: Iterable[float]) -> Floats:
    """Return a stream as an array, after checking that it lies in [−R, R]."""
    check_rule(rule)
    return np.array([*checked(stream, rule.half_range, name)], dtype=np.float64)


def halting_law(rule: NASFamily, stream: Iterable[float]) -> HaltingLaw:
    """Return the law of the halting time of a rule on a stream.

    Parameters
    ----------
    rule : NASFamily
        Rule such as `dpbandits.DPNAS`; without privacy the law is a point.
    stream : iterable of float
        The samples, in [−R, R]; finitely many. Margins of more than 10⁹ scales are refused, as
        rounding would be felt there.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> law = halting_law(rule, [0.5] * 16)
    >>> law.times.tolist()
    [2, 4, 8, 16]
    >>> [f"{p:.3g}" for p in np.exp(law.log_halt)]
    ['5.33e-06', '6.55e-07', '1.34e-07', '2.83e-08']
    """
    values = samples_of(rule, "stream", stream)
    times = looks_at(rule, values.size)
    scales = rule.halting.threshold_scale, rule.halting.query_scale
    return HaltingLaw(
        times, *sparse_vector_law(margins(rule, np.cumsum(values)[times - 1]), *scales)
    )


def sparse_vector_law(
    margins: ArrayLike, threshold_scale: float, query_scale: float, first: int = 1
) -> tuple[Floats, float, float]:
    """Return the law of the first look at which margin ≥ B + A, with A drawn for each look.

    Parameters
    ----------
    margins : array_like of float, shape (looks,)
        The margins q_1, q_2, …, of at most 10⁹ scales.
    threshold_scale, query_scale : float
        Scales σ₁ of B and σ₂ of each A; at 0 that noise is left out, which is not private.
    first : int
        First look whose probability is wanted; fewer of them take less time.

    Returns
    -------
    log_halt : numpy.ndarray of float, shape (looks − first + 1,)
        Log of the probability that each look from `first` on is the first to halt.
    log_survive, error : float
        Log of the probability that none does; `HaltingLaw.error`.

    Examples
    --------
    The law of one look is that of the sum of two Laplace variables:

    >>> log_halt, log_survive, error = sparse_vector_law([-700.0], 1.0, 1.0)
    >>> math.isclose(log_halt[0], -700 + math.log(0.5 * (1 + 700 / 2)), rel_tol=1e-13)
    True
    >>> error < 1e-12
    True
    """
    try:
        q = np.asarray(margins)
    except ValueError:  # ragged
        q = np.array("")
    if q.ndim != 1 or q.dtype.kind not in "iuf" or not np.isfinite(q).all():
        raise ValueError(f"margins={margins!r} is out of range; allowed: finite numbers in a row")
    q = q.astype(np.float64)
    scales = {"threshold_scale": threshold_scale, "query_scale": query_scale}
    for name, scale in scales.items():
        if not 0.0 <= check_number(name, scale, "a finite number of at least 0") < math.inf:
            raise ValueError(f"{name}={scale!r} is out of range; allowed: finite, at least 0")
    first = check_integer("first", first, 1, max(q.size, 1))
    if threshold_scale == 0.0 or query_scale == 0.0:
        log_halt, log_survive = _law_of_one_noise(q, threshold_scale, query_scale)
        return log_halt[first - 1 :], log_survive, 0.0
    threshold_scale, query_scale = float(threshold_scale), float(query_scale)
    least = min(threshold_scale, query_scale)
    for name, scale in scales.items():
        if not least >= SMALLEST or scale > _MOST * least:
            allowed = f"0, or from {SMALLEST:g} and at most {_MOST:g} times the other scale"
            raise ValueError(f"{name}={scale!r} is out of range; allowed: {allowed}")
    widest = float(np.abs(q).max(initial=0.0))
    if widest > _MOST * least:
        raise ValueError(
            f"margins={widest!r} in size is out of range; allowed: at most {_MOST:g} times "
            f"each scale, {_MOST * least:g}"
        )
    known = q, threshold_scale, query_scale, first - 1
    logs, errors = _integrate(*known, *_panels_of(*known), *_gauss_rules())
    left_out = 2.0 * math.exp(-_DROP) / -math.expm1(-_DROP)
    return logs[:-1], float(logs[-1]), left_out + float(np.exp(errors - logs).max())


def _law_of_one_noise(
    q: Floats, threshold_scale: float, query_scale: float
) -> tuple[Floats, float]:
    """Return the law where B, or every A, is zero, so that no integral is left."""
    with np.errstate(divide="ignore"):
        if query_scale > 0.0:
            survive = np.concatenate([[0.0], np.cumsum(laplace_log_cdf(-q, query_scale))])
            return laplace_log_cdf(q, query_scale) + survive[:-1], float(survive[-1])
        if threshold_scale == 0.0:
            halts = np.logical_or.accumulate(np.concatenate([[False], q >= 0.0]))
            return np.log(1.0 * (halts[1:] > halts[:-1])), -math.inf if halts[-1] else 0.0
        # the look halts whose margin is the first to reach B
        tops = np.maximum.accumulate(np.concatenate([[-math.inf], q]))
        below, above = (laplace_log_cdf(x, threshold_scale) for x in (tops, -tops))
        upper = tops[:-1] >= 0.0
        larger = np.where(upper, above[:-1], below[1:])
        smaller = np.where(upper, above[1:], below[:-1])
        return larger + np.log1p(-np.exp(smaller - larger)), float(above[-1])


# ----------------------------------- the integrals: panels, Gauss–Legendre rules, their errors


@functools.cache
def _gauss_rules() -> tuple[Floats, Floats]:
    """Return nodes and weights of the Gauss–Legendre rules on [−1, 1], row m for m nodes."""
    most = _order(_ellipse(_WIDTH, 1.0)[0])
    nodes, weights = np.zeros((2, most + 1, most))
    for count in range(2, most + 1):
        nodes[count, :count], weights[count, :count] = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def _panels_of(
    q: Floats, threshold_scale: float, query_scale: float, skip: int
) -> tuple[Floats, Floats]:
    """Return left and right ends of panels, outside of which each integrand has next to nothing.

    Left of 0 and of every q, φ rises with slope at least 1/σ₁. Right of them f falls with slope
    1/σ₁, F falls too, and K factors 1 − F(q_j − b) rise with a slope of at most 1/(4σ₁) together
    from log(4Kσ₁/σ₂) scales on. In between, panels are cut and dropped until they are narrow.
    """
    rise = query_scale * math.log(4.0 * max(q.size, 1) * max(threshold_scale / query_scale, 1.0))
    low = min(0.0, q.min(initial=0.0)) - 1.1 * _DROP * threshold_scale
    high = max(0.0, q.max(initial=0.0)) + rise + 1.5 * _DROP * threshold_scale
    kinks = np.unique(np.concatenate([[low, 0.0, high], q]))
    left, right = kinks[:-1], kinks[1:]
    narrow = _WIDTH * min(threshold_scale, query_scale) * (1.0 + 1e-6)  # rounding of cuts
    while True:
        matters, steep = _matters(q, threshold_scale, query_scale, skip, left, right)
        left, right, steep = left[matters], right[matters], steep[matters]
        place = np.searchsorted(kinks, 0.5 * (left + right))
        gap = np.minimum(left - kinks[place - 1], kinks[place] - right)
        # far from the kinks each integrand is an exponential, except for next to nothing
        smooth = (gap >= 2.0 * _DROP * query_scale) & (right - left <= gap / 3.0) & ~steep
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
    tail = -abs(x) - _LOG2
    rest = math.log1p(-math.exp(tail)) if tail > -_DROP else -math.exp(tail)
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
                elif top > peaks[k] - _DROP:
                    matters[i] = True
                    steep[i] |= abs(at_left[k] - at_right[k]) > _WIDTH
    return matters, steep


@njit(cache=True, nogil=True)
def _add(peaks: Floats, totals: Floats, place: int, log_term: float) -> None:
    """Add a term to a sum that is kept as totals·exp(peaks)."""
    if log_term > peaks[place]:
        totals[place] = totals[place] * math.exp(peaks[place] - log_term) + 1.0
        peaks[place] = log_term
    elif log_term > peaks[place] - 2.0 * _DROP:
        totals[place] += math.exp(log_term - peaks[place])


@njit(cache=True, nogil=True)
def _integrate(
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
            exponent = -abs(middle - q[j]) / query_scale - _LOG2
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
