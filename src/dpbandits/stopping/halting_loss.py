"""The privacy loss of the NAS family: exact on a pair of streams, and the worst of all pairs.

Two streams differ in one entry, by d ≤ 2R. Write S_j, S'_j for their sums at the j-th look, at n_j
samples, δ_j = |S'_j| − |S_j|, q_j for the margin of S_j, P_s for the probability that look s is
the first to halt, and L_s = log(P_s/P'_s); P_s = ∫ f(b) F(q_s − b) W(b) db with
W(b) = ∏_{j<s} (1 − F(q_j − b)) as in `halting_law`.

- *Upper bound.* With a = max(0, δ_1, …, δ_{s−1}), L_s ≤ a/σ₁ + (a − δ_s)⁺/σ₂, which is at most
  2R/σ₁ + 4R/σ₂ = ε/2; for −L_s exchange the streams; for not halting the second term is absent.
  Proof: :prf:ref:`prop-moves`.
- *The worst pair* is the crossing pair (`crossing_streams`): S' runs up at R a sample until half
  time and then down to 0 at look s; S = S' − 2R from the first entry on. If n_j ≤ n_s/2 for all
  j < s, and n_1 ≥ 2, as in Algorithm 2, no pair has a greater |L_s|, and with s it rises to ε/2.
  Proof: :prf:ref:`thm-worst`.
- *For other look times* `loss_limit` lets the sums return to 2R only. Proof: with the three moves
  of that theorem, which raise L_s ≥ 0 where S' = S + d, and a fourth: deleting a look j < s of
  sizes (|S_j|, |S'_j|) = (t + d, t), if |S_s| = |S'_s| + d. It adds to L_s
  log E'[1 − F(q − b)] − log E[1 − F(q − (b − d))], where q is the margin of t and b has a density
  ∝ f(b)F(q_s − b)W(b) under E, and that with primes under E'. As q'_s = q_s − d, log-concavity
  of f, F and 1 − F puts b − d under E to the left of b under E' in likelihood ratio, and
  1 − F(q − b) rises with b. Now, if S'_s ≤ 0, delete the looks after the change with S'_j ≤ 0 by
  this move, raise the others to (Rn_j − d, Rn_j) by moves 1 and 2, and lower the last one to (d, 0)
  by move 3. A look before the change with S'_j < 0 may be too far out for that; but then the sums
  cannot return to 0 by n_s, no size rises, and L_s ≤ d/σ₂. If 0 < S'_s < d, first make the last
  look (d, 0) by move 1. If S'_s ≥ d, then δ_s = d and L_s ≤ d/σ₁. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_fraction, check_integer
from dpbandits.halting import Halting
from dpbandits.stopping.base import NASFamily
from dpbandits.stopping.halting_laws import (
    HaltingLaw,
    check_rule,
    halting_law,
    margins,
    samples_of,
    sparse_vector_law,
)

__all__ = [
    "PrivacyLoss",
    "crossing_length",
    "crossing_loss",
    "crossing_streams",
    "loss_limit",
    "privacy_loss",
]

_SMALLEST_LOSS = 1e-8  # of losses that rounding leaves alone
_LOOKS = 2**22  # most looks, and most samples of a stream, that are held in memory


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """How well the output of a rule tells two neighbouring streams apart.

    Attributes
    ----------
    total : float
        Greatest |log ratio| of the densities of the output, halting time and estimate together,
        or no halt; the pair is in keeping with ε-differential privacy if it is at most ε.
    time : int or None
        Halting time at which it is attained; None if by not halting.
    sparse_vector, release : float
        The parts of the halting time and of the released estimate, at that time: |L_s|, and
        |change|/σ₃, which is 0 before the change.
    log_ratio, bound : numpy.ndarray of float, shape (looks + 1,)
        log(P/P') of halting at each look, and of not halting; and what the theory allows each
        |log ratio| on this pair.
    law, neighbour_law : HaltingLaw
        The laws of the halting time on the two streams.
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
        Rule of the NAS family, such as `dpbandits.DPNAS`.
    stream, neighbour : iterable of float
        Streams in [−R, R] of the same finite length; others are refused.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> loss = privacy_loss(rule, [1.0] * 16, [-1.0] + [1.0] * 15)
    >>> loss.time, loss.release, round(loss.sparse_vector, 3), round(float(loss.bound.max()), 3)
    (2, 0.5, 0.156, 0.167)
    """
    values, others = samples_of(rule, "stream", stream), samples_of(rule, "neighbour", neighbour)
    if values.size != others.size:
        raise ValueError(f"neighbour has {others.size} entries; allowed: as many as {values.size}")
    places = np.flatnonzero(values != others)
    if places.size > 1:
        raise ValueError(f"neighbour differs at places {places[:2]}, …; allowed: one place at most")
    laws = halting_law(rule, values), halting_law(rule, others)
    log_ratio = _log_ratio(*(np.append(law.log_halt, law.log_survive) for law in laws))
    times = laws[0].times
    halting, last = rule.halting, times - 1
    sums, other_sums = np.cumsum(values)[last], np.cumsum(others)[last]
    change = float(np.abs(values - others).max(initial=0.0))
    changed = np.append(np.cumsum(values != others)[last] > 0, False)
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


def _over(size: float, scale: float) -> float:
    """Return size/scale, the loss of a change of that size; 0/0 is 0."""
    if size == 0.0:
        return 0.0
    return size / scale if scale > 0.0 else math.inf


def _bound(halting: Halting, moves: Floats) -> Floats:
    """Return the upper bound of the module's text, for the moves δ_j of the sizes."""
    bound = np.zeros(moves.size + 1)
    for sign in (1.0, -1.0):
        highest = 0.0
        for j, move in enumerate(sign * moves):
            part = _over(highest, halting.threshold_scale)
            part += _over(max(highest - move, 0.0), halting.query_scale)
            bound[j] = max(bound[j], part)
            highest = max(highest, float(move))
        bound[-1] = max(bound[-1], _over(highest, halting.threshold_scale))
    return bound


def crossing_streams(rule: NASFamily, look: int) -> tuple[Floats, Floats]:
    """Return the crossing pair that ends with a given look, on which the halting time tells most.

    The neighbour's sums run up at R a sample until half time, and then down to 0; the stream
    has −R for the first entry.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> stream, neighbour = crossing_streams(rule, 2)
    >>> stream.tolist(), neighbour.tolist()
    ([-1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, -1.0])
    """
    check_rule(rule)
    look = check_integer("look", look, 1, _LOOKS)
    size = rule.look_time(look)
    if size > _LOOKS:
        allowed = f"a look at no more than {_LOOKS} samples"
        raise ValueError(f"look={look} is out of range; allowed: {allowed}")
    neighbour = np.zeros(size)
    neighbour[: size // 2] = rule.half_range
    neighbour[size - size // 2 :] = -rule.half_range
    stream = neighbour.copy()
    stream[0] = -rule.half_range
    return stream, neighbour


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

    For rules that look at n = 2, 4, 8, … it is the greatest of all pairs of streams and of all
    looks up to this one (:prf:ref:`thm-worst`). For others `loss_limit` is an upper bound.

    `look` is the number s of the look, from 1.

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
    """Return a bound on the sparse-vector loss at a look that no pair of streams exceeds.

    Equal to `crossing_loss`, whose arguments it has, for rules that look at n = 2, 4, 8, …, up to
    rounding; for others the two bracket the greatest loss. Proof: in the text of this module.

    Examples
    --------
    >>> from dpbandits import DPNAS
    >>> rule = DPNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> round(crossing_loss(rule, 64) / 0.5, 3), round(loss_limit(rule, 64) / 0.5, 3)
    (0.338, 0.348)
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
    return max(limit, *(_over(2.0 * half_range, scale) for scale in scales))


def crossing_length(rule: NASFamily, share: float) -> int:
    """Return how long a stream has to be for `crossing_loss` to reach a share of its limit.

    The limit is 2R/σ₁ + 4R/σ₂, which is ε/2; `share` lies strictly between 0 and 1. The length is
    the number n of samples at a look that reaches it, while the look before does not. A rule
    without noise is refused, and a share that is lost in rounding.

    Examples
    --------
    >>> from dpbandits import DPExponentialNAS
    >>> crossing_length(DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05), 0.9)
    4096
    """
    share, halting = check_fraction("share", share), check_rule(rule)
    if not min(halting.threshold_scale, halting.query_scale) > 0.0:
        raise ValueError(f"rule={rule!r} has no noise; allowed: a rule of a finite epsilon")
    limit = 2.0 * rule.half_range / halting.threshold_scale
    limit += 4.0 * rule.half_range / halting.query_scale
    wanted = share * limit
    if not share * limit >= _SMALLEST_LOSS:
        raise ValueError(
            f"share={share!r} of the limit {limit:g} is lost in rounding; "
            f"allowed: a rule and a share whose product is at least {_SMALLEST_LOSS:g}"
        )
    below, above = 0, 1
    while crossing_loss(rule, above) < wanted:
        step = 1 + above // 4
        while step > 1 and rule.look_time(above + step) > 2 * rule.look_time(above):
            step //= 2  # much longer streams may be out of reach
        below, above = above, above + step
    while above - below > 1:
        middle = (below + above) // 2
        enough = crossing_loss(rule, middle) >= wanted
        below, above = (below, middle) if enough else (middle, above)
    return rule.look_time(above)


def _times(rule: NASFamily, look: int) -> Floats:
    """Return the numbers of samples at the looks up to a given one."""
    halting, look = check_rule(rule), check_integer("look", look, 1, _LOOKS)
    scales = [x for x in (halting.threshold_scale, halting.query_scale) if x > 0.0]
    most = 1e8 * min(scales) / rule.half_range if len(scales) == 2 else 1e300
    if rule.look_time(look) > most:
        allowed = f"a look at no more than {most:g} samples"
        raise ValueError(f"look={look} is out of range; allowed: {allowed}")
    return np.array([rule.look_time(s) for s in range(1, look + 1)], dtype=np.float64)
