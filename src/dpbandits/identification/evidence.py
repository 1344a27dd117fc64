"""Evidence that one arm is better than another, from privately released batches.

An arm's released batches have the likelihood L(u) = Π_j f_{n_j,u}(x_j) of its mean u, with the
density f of `dpbandits.identification.batch_likelihood`. For an arm c that may be better than b,

    E(u_c, u_b) = Σ_i Σ_r w_i q_r · L_c(u_c + α_r g_i)/L_c(u_c) · L_b(u_b − (1 − α_r) g_i)/L_b(u_b)

with gaps g_i = 2^(−i/4), shares α_r of the gap in [0, 1], 0 and 1 among them, fixed weights that
sum to one, and L = 0 outside [0, 1]. At the true means E(μ_c, μ_b) is a non-negative
supermartingale that starts at 1. The evidence is its infimum over all means u_c ≤ u_b.

*The infimum lies on the diagonal.* log L is concave. So log L(u + g) − log L(u) falls in u, and
log L(u − g) − log L(u) rises: each term of E falls in u_c and rises in u_b. With u_c ≤ u_b hence
E(u_c, u_b) ≥ E(u_b, u_b), and for a whole interval of the diagonal

    E(u, u) ≥ E(y, x) for all u in [x, y].                                              (cell)

A cover of [0, 1] by such cells certifies that the infimum is above a threshold.

*A table brackets log L.* Between two knots a concave function is above their chord, and below the
lines through the two knots to the left and through the two to the right. Knots are put
wherever these bounds are too far apart. Below, a numerator is always the chord and a denominator
the line above, both pushed apart by the rounding error of the knots' values, so that what is
computed never exceeds E, up to the rounding of one sum of exponentials.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.batch_likelihood import log_density

__all__ = [
    "CAPACITY",
    "GAPS",
    "SHARES",
    "START",
    "ArmLikelihood",
    "exceeds",
    "is_better",
    "least",
    "log_evidence",
    "peak",
    "take_in",
]

Floats = NDArray[np.float64]
Table = tuple[Floats, Floats, float, Floats, Floats]
"""Knots, log L there, a bound on its error besides 10⁻¹⁵ of its size, and lower ends and slopes of
the chords, less the error."""

_STEPS = 4
"""Gaps in a factor of two."""


def _gap_weights(size: int) -> Floats:
    """Return the prior of s = log(1/gap): half uniform on (0, 5), half of density 3/(3 + s)²."""
    edges = np.maximum(np.arange(size + 1) - 0.5, 0.0) * (math.log(2.0) / _STEPS)
    below = 0.5 * np.minimum(edges / 5.0, 1.0) + 0.5 * edges / (3.0 + edges)
    return np.diff(below)


GAPS = 2.0 ** (-np.arange(192) / _STEPS)
"""Gaps of the prior, from 1 down to 4·10⁻¹⁵."""
_LOG_GAP_WEIGHTS = np.log(_gap_weights(GAPS.size))
SHARES = np.arange(9) / 8
"""Shares of the gap by which the better arm's mean is above the common one."""
_LOG_SHARE_WEIGHTS = np.log([0.2, *(0.75 * (1.5 - SHARES[1:-1]) / 7), 0.05])

_REACH = 40.0
"""Terms below e^−40 of the largest one are left out."""
_STEPS_OF_EXP = 16
_EXP = np.exp(-np.arange(int(_REACH) * _STEPS_OF_EXP + 1) / _STEPS_OF_EXP)

_TOLERANCE = 0.02
"""Distance of the bounds in a table, as a share of 1 + (how far the likelihood has fallen)."""
_LEAST_WIDTH = 1e-14
"""Width of an interval that no longer is halved; without noise log L(0) may be −inf."""
CAPACITY = 1024
"""Knots of a table at most."""
START = np.sin(np.linspace(0.0, 0.5 * math.pi, 17)) ** 2
START[-1] = 1.0
"""Its first knots."""


@njit(cache=True, nogil=True)
def _add_batch(knots: Floats, values: Floats, n: float, x: float, epsilon: float) -> None:
    for i in range(knots.size):
        values[i] = max(values[i] + log_density(n, x, knots[i], epsilon), -1e100)


@njit(cache=True, nogil=True)
def _looseness(knots: Floats, values: Floats, i: int, best: float) -> float:
    """Return the distance of the bounds between knots i and i + 1, over what is tolerated."""
    width = knots[i + 1] - knots[i]
    chord = (values[i + 1] - values[i]) / width
    left = right = chord
    if i > 0:
        left = max((values[i] - values[i - 1]) / (knots[i] - knots[i - 1]), chord)
    if i + 2 < knots.size:
        right = min((values[i + 2] - values[i + 1]) / (knots[i + 2] - knots[i + 1]), chord)
    if i == 0:
        distance, top = (chord - right) * width, values[1] - right * width
    elif i + 2 == knots.size:
        distance, top = (left - chord) * width, values[i] + left * width
    elif left == right:
        return 0.0
    else:
        place = width * (chord - right) / (left - right)
        distance, top = (left - chord) * place, values[i] + left * place
    fall = max(best - max(top, values[i], values[i + 1]), 0.0)
    return distance / (_TOLERANCE * (1.0 + fall))


@njit(cache=True, nogil=True)
def _refine(
    knots: Floats, values: Floats, size: int, ns: Floats, xs: Floats, epsilon: float
) -> int:
    """Halve intervals until the bounds are close; return the number of knots."""
    while True:
        best = values[:size].max()
        i = added = 0
        while i + 1 < size and size < knots.size:
            if (
                knots[i + 1] - knots[i] > _LEAST_WIDTH
                and _looseness(knots[:size], values[:size], i, best) > 1.0
            ):
                middle = 0.5 * (knots[i] + knots[i + 1])
                for j in range(size, i + 1, -1):
                    knots[j] = knots[j - 1]
                    values[j] = values[j - 1]
                total = 0.0
                for j in range(ns.size):
                    total += log_density(ns[j], xs[j], middle, epsilon)
                knots[i + 1], values[i + 1] = middle, max(total, -1e100)
                size += 1
                added += 1
                i += 2
            else:
                i += 1
        if added == 0:
            return size


@njit(cache=True, nogil=True)
def _rounding(value: float, slack: float) -> float:
    return slack + 1e-15 * abs(value)


@njit(cache=True, nogil=True)
def take_in(
    knots: Floats,
    values: Floats,
    low: Floats,
    slope: Floats,
    size: int,
    ns: Floats,
    xs: Floats,
    epsilon: float,
    pulls: int,
) -> tuple[int, float]:
    """Take the last of an arm's batches into its table; return the size and the slack.

    Parameters
    ----------
    knots, values, low, slope : numpy.ndarray of float, shape (CAPACITY,)
        The table; changed in place.
    size : int
        How many knots it had.
    ns, xs : numpy.ndarray of float
        Sizes of all batches of the arm, and what they were released as.
    epsilon : float
        ε of the noise.
    pulls : int
        Pulls of all these batches.

    Returns
    -------
    size : int
    slack : float
    """
    _add_batch(knots[:size], values[:size], ns[-1], xs[-1], epsilon)
    size = _refine(knots, values, size, ns, xs, epsilon)
    slack = 1e-12 * ns.size + 2e-15 * pulls
    for i in range(size - 1):
        low[i] = values[i] - _rounding(min(values[i], values[i + 1]), slack)
        slope[i] = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
    return size, slack


@njit(cache=True, nogil=True)
def _upper(knots: Floats, values: Floats, slack: float, u: float) -> float:
    """Return an upper bound of log L(u), 0 ≤ u ≤ 1."""
    i = min(max(int(np.searchsorted(knots, u)) - 1, 0), knots.size - 2)
    for j in (i, i + 1):
        if knots[j] == u:
            return values[j] + _rounding(values[j], slack)
    bound = math.inf
    for near, far in ((i, i - 1), (i + 1, i + 2)):
        if 0 <= far < knots.size:
            error = _rounding(min(values[near], values[far]), slack)
            steps = (u - knots[near]) / (knots[near] - knots[far])
            line = values[near] + (values[near] - values[far]) * steps
            bound = min(bound, line + error * (1.0 + 2.0 * steps))
    return bound


@njit(cache=True, nogil=True)
def _exp(x: float) -> float:
    """Return e^x for −40 ≤ x ≤ 0: from a table, and a series for at most 1/32, to 10⁻¹⁴."""
    i = int(0.5 - _STEPS_OF_EXP * x)
    t = x + i / _STEPS_OF_EXP
    tail = 1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * (1.0 / 720)))
    return _EXP[i] * (1.0 + t * (1.0 + t * (0.5 + t * tail)))


@njit(cache=True, nogil=True)
def _log_e_value(better: Table, worse: Table, y: float, x: float, first: int, last: int) -> float:
    """Return a lower bound of log E(y, x), from the gaps of number first, …, last − 1."""
    knots_c, values_c, slack_c, low_c, slope_c = better
    knots_b, values_b, slack_b, low_b, slope_b = worse
    above_c = _upper(knots_c, values_c, slack_c, y)
    above_b = _upper(knots_b, values_b, slack_b, x)
    terms, size = np.empty(SHARES.size * max(last - first, 1)), 0
    top, total = -math.inf, 0.0
    for r in range(SHARES.size):
        share = SHARES[r]
        down = 1.0 - share
        start = first
        while start < last and (y + share * GAPS[start] > 1.0 or x - down * GAPS[start] < 0.0):
            start += 1
        if start == last:
            continue
        # from wide gaps to narrow ones: the pointers never turn
        c = min(
            int(np.searchsorted(knots_c, y + share * GAPS[start], side="right")), knots_c.size - 1
        )
        b = max(int(np.searchsorted(knots_b, x - down * GAPS[start])) - 1, 0)
        c -= 1
        for i in range(start, last):
            term = _LOG_GAP_WEIGHTS[i] + _LOG_SHARE_WEIGHTS[r]
            if share > 0.0:
                u = y + share * GAPS[i]
                while knots_c[c] > u:
                    c -= 1
                term += low_c[c] + (u - knots_c[c]) * slope_c[c] - above_c
            if share < 1.0:
                v = x - down * GAPS[i]
                while knots_b[b + 1] < v:
                    b += 1
                term += low_b[b] + (v - knots_b[b]) * slope_b[b] - above_b
            terms[size] = term
            size += 1
            top = max(top, term)
    for i in range(size):
        if terms[i] >= top - _REACH:
            total += _exp(terms[i] - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@njit(cache=True, nogil=True)
def peak(knots: Floats, values: Floats) -> float:
    """Return the knot of the largest likelihood."""
    return float(knots[np.argmax(values)])


@njit(cache=True, nogil=True)
def _gap_range(distance: float) -> tuple[int, int]:
    """Return the range of gaps from 4 times to 1/8 of a distance: the others hardly add."""
    middle = round(-_STEPS * math.log2(max(distance, 1e-14)))
    return max(middle - 2 * _STEPS, 0), min(middle + 3 * _STEPS + 1, GAPS.size)


@njit(cache=True, nogil=True)
def least(better: Table, worse: Table, enough: float) -> tuple[float, float]:
    """Return log E on the diagonal at about its minimum, and where that is; (0, …) if none.

    A value below `enough` ends the search.
    """
    low, high = peak(worse[0], worse[1]), peak(better[0], better[1])
    if low >= high:
        return 0.0, low
    first, last = _gap_range(high - low)
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left = _log_e_value(better, worse, left, left, first, last)
    at_right = _log_e_value(better, worse, right, right, first, last)
    for _ in range(12):
        if min(at_left, at_right) < enough:
            break
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = _log_e_value(better, worse, left, left, first, last)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = _log_e_value(better, worse, right, right, first, last)
    return (at_left, left) if at_left < at_right else (at_right, right)


@njit(cache=True, nogil=True)
def exceeds(better: Table, worse: Table, threshold: float, place: float) -> bool:
    """Whether cells certify that log E(u, u) ≥ threshold for all u in [0, 1]."""
    low, high = peak(worse[0], worse[1]), peak(better[0], better[1])
    first, last = _gap_range(high - low)
    starts = np.empty(4096)
    ends = np.empty(4096)
    starts[:4] = (0.0, low, place, high)
    ends[:4] = (low, place, high, 1.0)
    size = 4
    for _ in range(4096):
        size -= 1
        x, y = starts[size], ends[size]
        if not _log_e_value(better, worse, y, x, first, last) >= threshold:
            middle = 0.5 * (x + y)
            if not x < middle < y:
                return False
            if not _log_e_value(better, worse, middle, middle, first, last) >= threshold:
                return False
            starts[size], ends[size] = x, middle
            starts[size + 1], ends[size + 1] = middle, y
            size += 2
        if size == 0:
            return True
    return False


class ArmLikelihood:
    """The likelihood of an arm's mean, given its released batches.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the noise; ``inf`` for none.

    Examples
    --------
    >>> arm = ArmLikelihood(1.0)
    >>> arm.add(100, 70.3)
    >>> arm.add(200, 139.1)
    >>> arm.pulls, round(arm.maximiser, 2)
    (300, 0.7)
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.pulls = 0
        self._ns: list[float] = []
        self._xs: list[float] = []
        self._table = np.zeros((4, CAPACITY))
        self._table[0, : START.size] = START
        self._size, self._slack = START.size, 0.0

    def add(self, n: int, x: float) -> None:
        """Take in a batch of `n` pulls that was released as `x`."""
        self.pulls += n
        self._ns.append(float(n))
        self._xs.append(x)
        knots, values, low, slope = self._table
        self._size, self._slack = take_in(
            knots, values, low, slope, self._size, np.array(self._ns), np.array(self._xs),
            self.epsilon, self.pulls,
        )  # fmt: skip

    @property
    def maximiser(self) -> float:
        """Mean of (nearly) the largest likelihood."""
        knots, values, *_ = self.table
        return float(peak(knots, values))

    @property
    def table(self) -> Table:
        """The likelihood's table."""
        knots, values, low, slope = self._table[:, : self._size]
        return knots, values, self._slack, low, slope


def log_evidence(better: ArmLikelihood, worse: ArmLikelihood) -> float:
    """Return about the logarithm of the evidence that one arm has a larger mean than another.

    It is a guess for schedules, with the search for the infimum cut short; `is_better` decides.
    """
    return float(least(better.table, worse.table, -math.inf)[0])


def is_better(better: ArmLikelihood, worse: ArmLikelihood, threshold: float) -> bool:
    """Whether the evidence that one arm has a larger mean than another certainly is e^threshold.

    Parameters
    ----------
    better, worse : ArmLikelihood
        The arms c and b.
    threshold : float
        A positive number.

    Returns
    -------
    bool
        True only if log E(u_c, u_b) ≥ threshold for all u_c ≤ u_b.
    """
    c, b = better.table, worse.table
    lowest, place = least(c, b, threshold)
    return bool(lowest >= threshold and exceeds(c, b, threshold, place))
