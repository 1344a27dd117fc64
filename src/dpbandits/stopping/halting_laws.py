"""The law of the halting time of the NAS family on a given stream, by integration.

On a given stream the s-th look has the margin q_s = |S_n| − threshold(s), and halts when
q_s ≥ B + A_s, with B ~ Lap(σ₁) drawn once and A_s ~ Lap(σ₂) at every look. Given B the looks are
independent. With F the distribution function of Lap(σ₂) and f the density of B,

    P(the s-th look is the first to halt) = ∫ f(b) F(q_s − b) ∏_{j<s} (1 − F(q_j − b)) db,

and P(no look halts) = ∫ f(b) ∏_j (1 − F(q_j − b)) db. As f, F and 1 − F are log-concave, so is
each integrand exp(φ), and the integral is computed with a proved error (`HaltingLaw.error`):

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

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import SMALLEST, check_integer, check_number
from dpbandits.halting import Halting
from dpbandits.mechanisms.laplace import laplace_log_cdf
from dpbandits.stopping.halting_integral import DROP, Floats, gauss_rules, integrate, panels_of

if TYPE_CHECKING:  # stopping rules declare their guarantees with this package
    from dpbandits.stopping.base import NASFamily

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

_MOST = 1e9  # scales in a margin or in the other scale; rounding is some 1e-7 there


@dataclass(frozen=True, eq=False)
class HaltingLaw:
    """The law of a rule's halting time on one stream.

    Attributes
    ----------
    times : numpy.ndarray of int, shape (looks,)
        Number n of samples at each look.
    log_halt : numpy.ndarray of float, shape (looks,)
        Logarithm of the probability that the rule halts at each look.
    log_survive : float
        Logarithm of the probability that it has not halted by the end of the stream.
    error : float
        Proved bound on the relative error of each probability, rounding apart.
    """

    times: NDArray[np.int64]
    log_halt: Floats
    log_survive: float
    error: float


def check_rule(rule: NASFamily) -> Halting:
    """Return the halting condition of a rule."""
    halting = getattr(rule, "halting", None)
    if not isinstance(halting, Halting):
        raise ValueError(f"rule={rule!r} has no halting condition; allowed: one of the NAS family")
    return halting


def looks_at(rule: NASFamily, n_samples: int) -> NDArray[np.int64]:
    """Return the numbers of samples, up to `n_samples`, at which a rule of the NAS family looks.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> looks_at(DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05), 20).tolist()
    [2, 4, 8, 16]
    """
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
    half_range = rule.half_range
    allowed = f"a number in [-{half_range:g}, {half_range:g}]"
    try:
        entries = iter(stream)
    except TypeError:
        message = f"{name}={stream!r} cannot be iterated over; allowed: an iterable, each {allowed}"
        raise ValueError(message) from None
    values = []
    for place, value in enumerate(entries):
        values.append(check_number(f"{name}[{place}]", value, allowed))
        if not abs(values[-1]) <= half_range:
            raise ValueError(f"{name}[{place}]={value!r} is out of range; allowed: {allowed}")
    return np.array(values, dtype=np.float64)


def halting_law(rule: NASFamily, stream: Iterable[float]) -> HaltingLaw:
    """Return the law of the halting time of a rule on a stream.

    Parameters
    ----------
    rule : NASFamily
        Rule of the NAS family, such as `dpbandits.DPNAS`; without privacy the law is a point.
    stream : iterable of float
        The samples, in [−R, R]; finitely many.

    Returns
    -------
    HaltingLaw

    Raises
    ------
    ValueError
        If the rule has no halting condition, a sample is not in [−R, R], or a margin exceeds 10⁹
        scales, where rounding would be felt.

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
    sums = np.cumsum(values)[times - 1]
    halting = rule.halting
    log_halt, log_survive, error = sparse_vector_law(
        margins(rule, sums), halting.threshold_scale, halting.query_scale
    )
    return HaltingLaw(times, log_halt, log_survive, error)


def sparse_vector_law(
    margins: ArrayLike, threshold_scale: float, query_scale: float, first: int = 1
) -> tuple[Floats, float, float]:
    """Return the law of the first look at which margin ≥ B + A, with A drawn for each look.

    Parameters
    ----------
    margins : array_like of float, shape (looks,)
        The margins q_1, q_2, ….
    threshold_scale, query_scale : float
        Scales σ₁ of B and σ₂ of each A; at 0 that noise is left out, which is not private.
    first : int
        First look whose probability is wanted; fewer of them take less time.

    Returns
    -------
    log_halt : numpy.ndarray of float, shape (looks − first + 1,)
        Logarithm of the probability that each look from `first` on is the first to halt.
    log_survive : float
        Logarithm of the probability that none does.
    error : float
        Bound on the relative error of each probability, rounding apart.

    Examples
    --------
    The law of one look is that of the sum of two Laplace variables:

    >>> log_halt, log_survive, error = sparse_vector_law([-700.0], 1.0, 1.0)
    >>> math.isclose(log_halt[0], -700 + math.log(0.5 * (1 + 700 / 2)), rel_tol=1e-13)
    True
    >>> error < 1e-12
    True
    """
    q = _row(margins)
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
    panels = panels_of(q, threshold_scale, query_scale, first - 1)
    logs, errors = integrate(q, threshold_scale, query_scale, first - 1, *panels, *gauss_rules())
    left_out = 2.0 * math.exp(-DROP) / -math.expm1(-DROP)
    return logs[:-1], float(logs[-1]), left_out + float(np.exp(errors - logs).max())


def _row(margins: ArrayLike) -> Floats:
    """Return margins as an array, after checking that they are finite numbers in a row."""
    try:
        q = np.asarray(margins)
    except ValueError:  # ragged
        q = np.array("")
    if q.ndim != 1 or q.dtype.kind not in "iuf" or not np.isfinite(q).all():
        raise ValueError(f"margins={margins!r} is out of range; allowed: finite numbers in a row")
    return q.astype(np.float64)


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
        below, above = (
            laplace_log_cdf(tops, threshold_scale),
            laplace_log_cdf(-tops, threshold_scale),
        )
        upper = tops[:-1] >= 0.0
        larger = np.where(upper, above[:-1], below[1:])
        smaller = np.where(upper, above[1:], below[:-1])
        return larger + np.log1p(-np.exp(smaller - larger)), float(above[-1])
