"""Halting times of the NAS family on a stream: distributions by integration, privacy losses.

On a given stream the s-th look has the margin q_s = |S_n| − threshold(s), and halts when
q_s ≥ B + A_s, with B ~ Lap(σ₁) drawn once and A_s ~ Lap(σ₂) at every look. With F the distribution
function of Lap(σ₂) and f the density of B, it is the first to halt with probability

    P_s = ∫ f(b) F(q_s − b) ∏_{j<s} (1 − F(q_j − b)) db.

The integral is computed in logarithms, with a proved error. Proof: :prf:ref:`lem-halting-law`,
:prf:ref:`lem-halting-range`, :prf:ref:`lem-halting-panels`.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits._validation import SMALLEST, check_integer, check_range, check_values
from dpbandits.configuration import checked_arguments, whole
from dpbandits.mechanisms import laplace_log_cdf
from dpbandits.stopping.base import checked
from dpbandits.stopping.halting import Halting
from dpbandits.stopping.nas import NASFamily, check_rule

__all__ = [
    "HaltingLaw",
    "PrivacyLoss",
    "crossing_loss",
    "crossing_streams",
    "halting_law",
    "loss_limit",
    "privacy_loss",
    "sparse_vector_law",
]

_DROP = 45.0  # logarithm of the tails left out on either side, relative to the largest value
_DIGITS = 18.0  # orders of magnitude by which ρ^(−2m) is below 1
_WIDTH = 0.5  # of a panel, in scales
_REACH = 0.5  # scales by which its ellipse extends beyond either end
_LOG2 = math.log(2.0)
_MOST = 1e9  # scales in a margin or in the other scale; there rounding errors are about 1e-7
_Problem = tuple[Floats, float, float, int]  # margins q, σ₁, σ₂, and number of looks to skip
_LARGEST = sys.float_info.max
_LOOKS = 2**22  # most looks, and most samples of a stream, in memory


@dataclass(frozen=True, eq=False)
class HaltingLaw:
    """Distribution of a rule's halting time on one stream; `halting_law` computes it.

    Attributes
    ----------
    times : numpy.ndarray of int, shape (looks,)
        Number n of samples at each look.
    log_halt : numpy.ndarray of float, shape (looks,)
        Log of the probability that the rule halts at each look.
    log_survive : float
        Log of the probability that it has not halted by the end of the stream.
    error : float
        Proved bound on the relative error of each probability, apart from rounding.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> law = halting_law(DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05), [0.5] * 16)
    >>> round(float(np.exp(law.log_halt).sum() + np.exp(law.log_survive)), 12), law.error < 1e-12
    (1.0, True)
    """

    times: Ints
    log_halt: Floats
    log_survive: float
    error: float


@checked_arguments
def looks_at(rule: NASFamily, n_samples: Annotated[int, whole(0)]) -> Ints:
    """Return the numbers of samples at which a rule of the NAS family looks.

    Shapes: the result (looks,).
    """
    check_rule(rule)
    times: list[int] = []
    while (time := rule.look_time(len(times) + 1)) <= n_samples:
        times.append(time)
    return np.array(times, dtype=np.int64)


def margins(rule: NASFamily, sums: ArrayLike) -> Floats:
    """Return q_s = |S| − threshold(s) for the sums S at the first looks.

    Shapes: `sums`, the result (looks,).
    """
    sizes = np.abs(check_values("sums", sums, -_LARGEST, _LARGEST))
    found: Floats = sizes - np.array([rule.threshold(look) for look in range(1, sizes.size + 1)])
    return found


def halting_law(rule: NASFamily, stream: Iterable[float]) -> HaltingLaw:
    """Return the distribution of a rule's halting time on a finite stream.

    Without privacy it is a point mass. Proof: :prf:ref:`lem-halting-law`.

    Parameters
    ----------
    rule : NASFamily
        The rule.
    stream : iterable of float, length N
        The samples, each in [−R, R].

    Returns
    -------
    HaltingLaw
        Probabilities of halting at each look, and of not halting.

    Raises
    ------
    ValueError
        If the rule is not of the NAS family, a sample is out of range, or a margin has more than
        10⁹ scales, where rounding errors are significant.

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
    return _law_on(rule, _samples_of(rule, "stream", stream))


def _samples_of(rule: NASFamily, name: str, stream: Iterable[float]) -> Floats:
    check_rule(rule)
    return np.array([*checked(stream, rule.half_range, name)], dtype=np.float64)


def _law_on(rule: NASFamily, values: Floats) -> HaltingLaw:
    times, halting = looks_at(rule, values.size), rule.halting
    q = margins(rule, np.cumsum(values)[times - 1])
    return HaltingLaw(times, *sparse_vector_law(q, halting.threshold_scale, halting.query_scale))


def sparse_vector_law(
    margins: ArrayLike, threshold_scale: float, query_scale: float, first: int = 1
) -> tuple[Floats, float, float]:
    """Return the distribution of the first look with margin ≥ B + A, with A drawn for each look.

    Parameters
    ----------
    margins : array_like of float, shape (looks,)
        The margins q_1, q_2, …, of at most 10⁹ scales.
    threshold_scale : float
        Scale σ₁ ≥ 0 of B; at 0 there is no such noise, which is not private.
    query_scale : float
        Scale σ₂ ≥ 0 of each A; at 0 there is no such noise, which is not private.
    first : int
        First look whose probability is computed; fewer looks take less time.

    Returns
    -------
    log_halt : numpy.ndarray of float, shape (looks − first + 1,)
        Log of the probability that each look, from `first` on, is the first at which that holds.
    log_survive : float
        Log of the probability that it holds at none.
    error : float
        Proved bound on the relative error of each probability, apart from rounding.

    Raises
    ------
    ValueError
        If an argument is out of range, or the scales are too far apart.
    """
    once = check_range("threshold_scale", threshold_scale, 0.0, sys.float_info.max)
    each = check_range("query_scale", query_scale, 0.0, sys.float_info.max)
    least, most = min(once, each), sys.float_info.max
    if least > 0.0:
        most = _MOST * least
        if least < SMALLEST or max(once, each) > most:
            raise ValueError(
                f"query_scale={each!r} is out of range beside threshold_scale={once!r}; allowed: "
                f"0, or both from {SMALLEST:g} and within a factor {_MOST:g} of each other"
            )
    q = check_values("margins", margins, -most, most)
    if q.ndim != 1:
        raise ValueError(f"margins={margins!r} has rows; allowed: numbers in one row")
    first = check_integer("first", first, 1, max(q.size, 1))
    if least == 0.0:
        log_halt, log_survive = _law_of_one_noise(q, once, each)
        return log_halt[first - 1 :], log_survive, 0.0
    problem = q, once, each, first - 1
    logs, errors = _integrate(problem, _panels_of(problem), _gauss_rules())
    left_out = 2.0 * math.exp(-_DROP) / -math.expm1(-_DROP)
    return logs[:-1], float(logs[-1]), left_out + float(np.exp(errors - logs).max())


def _law_of_one_noise(
    q: Floats, threshold_scale: float, query_scale: float
) -> tuple[Floats, float]:
    """Return the distribution if B, or every A, is zero, so that there is no integral."""
    with np.errstate(divide="ignore"):
        if query_scale > 0.0:
            survive = np.concatenate([[0.0], np.cumsum(laplace_log_cdf(-q, query_scale))])
            return laplace_log_cdf(q, query_scale) + survive[:-1], float(survive[-1])
        if threshold_scale == 0.0:
            halts = np.logical_or.accumulate(np.concatenate([[False], q >= 0.0]))
            return np.log(1.0 * (halts[1:] > halts[:-1])), -math.inf if halts[-1] else 0.0
        # the first look whose margin reaches B halts
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


def _panels_of(problem: _Problem) -> tuple[Floats, Floats]:
    """Return left and right ends of panels, outside of which each integrand is negligible.

    Panels are cut, and dropped by :prf:ref:`lem-halting-range`, until they are narrow.
    """
    q, threshold_scale, query_scale, _ = problem
    rise = query_scale * math.log(4.0 * max(q.size, 1) * max(threshold_scale / query_scale, 1.0))
    low = min(0.0, q.min(initial=0.0)) - 1.1 * _DROP * threshold_scale
    high = max(0.0, q.max(initial=0.0)) + rise + 1.5 * _DROP * threshold_scale
    kinks = np.unique(np.concatenate([[low, 0.0, high], q]))
    left, right = kinks[:-1], kinks[1:]
    narrow = _WIDTH * min(threshold_scale, query_scale) * (1.0 + 1e-6)  # rounding of cuts
    while True:
        matters, steep = _matters(problem, left, right)
        left, right, steep = left[matters], right[matters], steep[matters]
        place = np.searchsorted(kinks, 0.5 * (left + right))
        gap = np.minimum(left - kinks[place - 1], kinks[place] - right)
        # far from the kinks each integrand is an exponential, up to a negligible part
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


@kernel
def _ellipse(width: float, scale: float) -> tuple[float, float]:
    """Return ρ and the height of the ellipse that extends beyond a panel by a given reach."""
    axis = 1.0 + 2.0 * _REACH * scale / width
    other = math.sqrt(axis**2 - 1.0)
    return axis + other, 0.5 * width * other


@kernel
def _order(rho: float) -> int:
    """Return the number m of nodes with which ρ^(−2m) is small enough."""
    return max(2, math.ceil(_DIGITS * math.log(10.0) / (2.0 * math.log(rho))))


@kernel
def _logs(x: float) -> tuple[float, float]:
    """Return log F(x) and log(1 − F(x)) for the Laplace distribution of scale 1."""
    tail = -abs(x) - _LOG2
    rest = math.log1p(-math.exp(tail)) if tail > -_DROP else -math.exp(tail)
    return (tail, rest) if x < 0.0 else (rest, tail)


@kernel
def _log_modulus(low: float, high: float, height: float) -> float:
    """Bound log|1 − e^(−x−iy)/2| for x from low to high and |y| up to height ≤ π."""
    v, w = 0.5 * math.exp(-low), 0.5 * math.exp(-high)
    bend = 2.0 * (1.0 - math.cos(height))
    return 0.5 * math.log(max((1.0 - v) ** 2 + v * bend, (1.0 - w) ** 2 + w * bend))


@kernel
def _heights(problem: _Problem, b: float, heights: Floats) -> None:
    """Write φ at a point, for each look except the first `skip`, and for surviving."""
    q, threshold_scale, query_scale, skip = problem
    height = -abs(b) / threshold_scale
    for j in range(q.size):
        log_cdf, log_rest = _logs((q[j] - b) / query_scale)
        if j >= skip:
            heights[j - skip] = height + log_cdf
        height += log_rest
    heights[-1] = height


@kernel
def _matters(
    problem: _Problem, left: Floats, right: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether a panel matters to any integrand, and whether one of those is steep there."""
    matters, steep = np.zeros(left.size, np.bool_), np.zeros(left.size, np.bool_)
    peaks = np.full(problem[0].size - problem[3] + 1, -np.inf)
    at_left, at_right = np.empty(peaks.size), np.empty(peaks.size)
    for again in range(2):  # first the peaks
        for i in range(left.size):
            if i > 0 and left[i] == right[i - 1]:
                copy_into(at_left, at_right)
            else:
                _heights(problem, left[i], at_left)
            _heights(problem, right[i], at_right)
            for k in range(peaks.size):
                top = max(at_left[k], at_right[k])
                if again == 0:
                    peaks[k] = max(peaks[k], top)
                elif top > peaks[k] - _DROP:
                    matters[i] = True
                    steep[i] |= abs(at_left[k] - at_right[k]) > _WIDTH
    return matters, steep


@kernel
def _add(peaks: Floats, totals: Floats, place: int, log_term: float) -> None:
    """Add a term to a sum stored as totals·exp(peaks)."""
    if log_term > peaks[place]:
        totals[place] = totals[place] * math.exp(peaks[place] - log_term) + 1.0
        peaks[place] = log_term
    elif log_term > peaks[place] - 2.0 * _DROP:
        totals[place] += math.exp(log_term - peaks[place])


@kernel
def _integrate(
    problem: _Problem, panels: tuple[Floats, Floats], rules: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the logarithms of the integrals, as in `_heights`, and of bounds on their errors."""
    q, threshold_scale, query_scale, skip = problem
    (lefts, rights), (nodes, weights) = panels, rules
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


# ----------------------------------------------------------------------------- privacy losses


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """Privacy loss of a rule's output on two neighbouring streams; `privacy_loss` computes it.

    Attributes
    ----------
    total : float
        Largest |log ratio| of the densities of the output, halting time and estimate together, or
        no halt; ε-differential privacy allows ε.
    time : int or None
        Halting time that attains it; None for no halt.
    sparse_vector : float
        The part |L_s| of the halting time, at that time.
    release : float
        The part |change|/σ₃ of the released estimate, at that time; 0 before the change.
    log_ratio : numpy.ndarray of float, shape (looks + 1,)
        L_s = log(P_s/P'_s) of halting at each look, and of not halting.
    bound : numpy.ndarray of float, shape (looks + 1,)
        Bound of :prf:ref:`prop-moves` on each |L_s| for this pair.
    law : HaltingLaw
        Distribution of the halting time on the stream.
    neighbour_law : HaltingLaw
        Distribution of the halting time on its neighbour.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> loss = privacy_loss(rule, [1.0] * 16, [-1.0] + [1.0] * 15)
    >>> loss.total == loss.sparse_vector + loss.release, loss.total < 1.0
    (True, True)
    """

    total: float
    time: int | None
    sparse_vector: float
    release: float
    log_ratio: Floats
    bound: Floats
    law: HaltingLaw
    neighbour_law: HaltingLaw


def privacy_loss(
    rule: NASFamily, stream: Iterable[float], neighbour: Iterable[float]
) -> PrivacyLoss:
    """Return the exact privacy loss of a rule on two streams that differ in at most one entry.

    Given the halting time n, the estimate is a Laplace variable around S_n/n, so that its log
    ratio takes all values between −|S_n − S'_n|/σ₃ and |S_n − S'_n|/σ₃, both included.

    Parameters
    ----------
    rule : NASFamily
        The rule.
    stream : iterable of float, length N
        Samples, each in [−R, R].
    neighbour : iterable of float, length N
        Samples that differ from them in at most one entry.

    Returns
    -------
    PrivacyLoss
        The loss, its parts, and the distributions of both halting times.

    Raises
    ------
    ValueError
        If the rule is not of the NAS family, a sample is out of range, or the streams are not of
        one length or differ in several entries.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> loss = privacy_loss(rule, [1.0] * 16, [-1.0] + [1.0] * 15)
    >>> loss.time, loss.release, round(loss.sparse_vector, 3), round(float(loss.bound.max()), 3)
    (2, 0.5, 0.156, 0.167)
    """
    values, others = _samples_of(rule, "stream", stream), _samples_of(rule, "neighbour", neighbour)
    if values.size != others.size:
        raise ValueError(f"neighbour has {others.size} entries; allowed: as many as {values.size}")
    places = np.flatnonzero(values != others)
    if places.size > 1:
        raise ValueError(f"neighbour differs at places {places[:2]}, …; allowed: one place at most")
    laws = _law_on(rule, values), _law_on(rule, others)
    log_ratio = _log_ratio(*(np.append(law.log_halt, law.log_survive) for law in laws))
    halting, times = rule.halting, laws[0].times
    sums, other_sums = np.cumsum(values)[times - 1], np.cumsum(others)[times - 1]
    change = float(np.abs(values - others).max(initial=0.0))
    changed = np.append(np.cumsum(values != others)[times - 1] > 0, False)
    release = np.where(changed, _over(change, halting.release_scale), 0.0)
    at = int(np.argmax(np.abs(log_ratio) + release))
    return PrivacyLoss(
        float(abs(log_ratio[at]) + release[at]),
        int(times[at]) if at < times.size else None,
        float(abs(log_ratio[at])),
        float(release[at]),
        log_ratio,
        _bound(halting, np.abs(other_sums) - np.abs(sums)),
        *laws,
    )


def _log_ratio(logs: Floats, other_logs: Floats) -> Floats:
    """Return log(P/P'), and 0 where both probabilities are 0."""
    with np.errstate(invalid="ignore"):
        return np.where(logs == other_logs, 0.0, logs - other_logs)


def _over(sizes: Any, scale: float) -> Any:
    """Return the loss size/scale of changes of these sizes; 0/0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes == 0.0, 0.0, np.divide(sizes, scale))


def _bound(halting: Halting, moves: Floats) -> Floats:
    """Return the larger bound of :prf:ref:`prop-moves` of both directions, for the moves δ_j."""
    bound = np.zeros(moves.size + 1)
    for signed in (moves, -moves):
        highest = np.maximum.accumulate(np.append(0.0, signed))  # before each look, and at the end
        fall = np.append(np.maximum(highest[:-1] - signed, 0.0), 0.0)
        both = _over(highest, halting.threshold_scale) + _over(fall, halting.query_scale)
        bound = np.maximum(bound, both)
    return bound


def crossing_streams(rule: NASFamily, look: int) -> tuple[Floats, Floats]:
    """Return the crossing pair that ends with a given look, for which the loss is largest.

    The neighbour's sums increase by R per sample until half time, and then decrease to 0; the
    stream has −R as its first entry.

    Parameters
    ----------
    rule : NASFamily
        The rule.
    look : int
        Number s of the look, from 1; it must come after at most 2^22 samples.

    Returns
    -------
    stream, neighbour : numpy.ndarray of float, shape (n,)
        The pair, as long as the number n of samples at the look.

    Raises
    ------
    ValueError
        If the rule is not of the NAS family, or `look` is out of range.
    """
    look = _check_look(rule, look, _LOOKS)
    half, odd = divmod(rule.look_time(look), 2)
    neighbour = np.repeat([rule.half_range, 0.0, -rule.half_range], [half, odd, half])
    stream = neighbour.copy()
    stream[0] = -rule.half_range
    return stream, neighbour


def _check_look(rule: NASFamily, look: int, most: float) -> int:
    """Raise for a look after more than `most` samples."""
    check_rule(rule)
    look = check_integer("look", look, 1, _LOOKS)
    if rule.look_time(look) > most:
        allowed = f"a look at no more than {most:g} samples"
        raise ValueError(f"look={look} is out of range; allowed: {allowed}")
    return look


def _last_loss(rule: NASFamily, sizes: Floats, other_sizes: Floats) -> float:
    """Return log(P/P') of halting at the last of the looks, with sizes |S_j|, |S'_j|."""
    scales = rule.halting.threshold_scale, rule.halting.query_scale
    logs = [
        sparse_vector_law(margins(rule, level), *scales, first=level.size)[0]
        for level in (sizes, other_sizes)
    ]
    return float(_log_ratio(*logs)[0])


def crossing_loss(rule: NASFamily, look: int) -> float:
    """Return the sparse-vector loss log(P/P') at the last look of `crossing_streams`.

    For rules that look at n = 2, 4, 8, … it is the largest loss over all pairs of streams and all
    looks up to this one (:prf:ref:`thm-worst`). For others `loss_limit` is an upper bound.

    Parameters
    ----------
    rule : NASFamily
        The rule.
    look : int
        Number s of the look, from 1.

    Returns
    -------
    float
        The loss, at most ε/2.

    Raises
    ------
    ValueError
        If the rule is not of the NAS family, or `look` is out of range.

    Examples
    --------
    From 1/3 to all of the budget ε/2, once the sums can pass the threshold and return:

    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> [round(crossing_loss(rule, look) / 0.5, 3) for look in (5, 10, 11, 12, 13)]
    [0.358, 0.62, 0.855, 0.998, 1.0]
    """
    times, half_range = _times(rule, look), rule.half_range
    sums = half_range * np.minimum(times, times[-1] - times)
    change = 2.0 * half_range if times[-1] > 1 else half_range
    return _last_loss(rule, np.abs(sums - change), sums)


def loss_limit(rule: NASFamily, look: int) -> float:
    """Return a bound on the sparse-vector loss at a look, for all pairs of streams.

    It equals `crossing_loss` up to rounding for rules that look at n = 2, 4, 8, …; for others the
    two bracket the largest loss. Proof: :prf:ref:`prop-loss-limit`.

    Parameters
    ----------
    rule : NASFamily
        The rule.
    look : int
        Number s of the look, from 1.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If the rule is not of the NAS family, or `look` is out of range.
    """
    times = _times(rule, look)
    half_range, halting = rule.half_range, rule.halting
    sizes = half_range * np.minimum(times, times[-1] - times + 2.0)
    smaller = np.maximum(sizes - 2.0 * half_range, 0.0)
    smaller[-1], sizes[-1] = 2.0 * half_range, 0.0
    limit = _last_loss(rule, smaller, sizes)
    if times[0] >= 2 and np.all(2 * times[:-1] <= times[-1]):
        return limit
    scales = halting.threshold_scale, halting.query_scale
    return float(max(limit, *(_over(2.0 * half_range, scale) for scale in scales)))


def _times(rule: NASFamily, look: int) -> Floats:
    """Return the numbers of samples at the looks up to a given one."""
    least = min(check_rule(rule).threshold_scale, rule.halting.query_scale)
    most = 1e8 * least / rule.half_range if least > 0.0 else 1e300
    look = _check_look(rule, look, most)
    return np.array([rule.look_time(s) for s in range(1, look + 1)], dtype=np.float64)
