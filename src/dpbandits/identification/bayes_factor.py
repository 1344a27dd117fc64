"""Evidence that one arm is better than another, from privately released batches.

A batch of n rewards of an arm with mean u is released as x = Bin(n, u) + Lap(1/ε), of density
f_{n,u}(x) (:prf:ref:`lem-batch-density`); log f is computed to 10⁻¹⁰, apart from rounding
(:prf:ref:`lem-tail-ratio`). An arm's batches have the likelihood L(u) = Π_j f_{n_j,u}(x_j), and the
evidence that c is better than b is the infimum over all u_c ≤ u_b of

    E(u_c, u_b) = Σ_i Σ_r w_i q_r · L_c(u_c + α_r g_i)/L_c(u_c) · L_b(u_b − (1 − α_r) g_i)/L_b(u_b)

with gaps g_i = 2^(−i/4), shares α_r of the gap, weights that sum to one, and L = 0 outside [0, 1].
Among K arms q_0 counts K − 1 times: a term of share 0 is the same for all c (:prf:ref:`alg-lre`).
It is certified by cells, E(u, u) ≥ E(y, x) for u in [x, y] (:prf:ref:`lem-diagonal`), from a table
that brackets log L (:prf:ref:`lem-table`).
"""

from __future__ import annotations

import math

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel
from dpbandits.rewards.binomial import binomial_log_pmf

__all__ = ["ArmLikelihood", "is_better", "log_density", "log_evidence"]

Table = tuple[Floats, Floats, Floats, Floats, float]
"""Knots, log L there, lower ends and slopes of the chords, less the error of log L, and a bound on
that error in addition to 10⁻¹⁵ of its size."""

_STEPS = 4  # gaps in a factor of two
GAPS = 2.0 ** (-np.arange(192) / _STEPS)  # of the prior, from 1 down to 4·10⁻¹⁵
_EDGES = np.maximum(np.arange(GAPS.size + 1) - 0.5, 0.0) * (math.log(2.0) / _STEPS)
# prior of s = log(1/gap): uniform on (0, 4) with weight 0.9, else with density 3/(3 + s)²
_PRIOR = np.diff(0.9 * np.minimum(_EDGES / 4.0, 1.0) + 0.1 * _EDGES / (3.0 + _EDGES))
_LOG_GAP_WEIGHTS = np.log(_PRIOR)
SHARES = np.arange(9) / 8  # of the gap: excess of the better arm's mean over the common one
_LOG_SHARE_WEIGHTS = np.log([0.2, *(0.75 * (1.5 - SHARES[1:-1]) / 7), 0.05])
_LOG_WEIGHTS = _LOG_SHARE_WEIGHTS[:, None] + _LOG_GAP_WEIGHTS
# Many products of a share and a gap agree, since r/8 · g_i = r/16 · g_{i−4}: there is one row for
# each odd r, with the gaps from g_{−12} on
_OCTAVES = 3 * _STEPS
_STRIDES = np.array([1, 3, 5, 7])[:, None] / 8 * np.concatenate([8.0 * GAPS[:_OCTAVES], GAPS])
_STRIDE_OF = np.array([(0, 0), (0, 12), (0, 8), (1, 12), (0, 4), (2, 12), (1, 8), (3, 12), (0, 0)])
"""Row, and index of the gap g_0 in it, for each share."""
_STRIDE_ORDER = np.array(  # from wide to narrow ones, those needed by a share
    sorted(
        ((kind, k) for kind in range(4) for k in range((0, 8, 12, 12)[kind], _STRIDES.shape[1])),
        key=lambda place: -_STRIDES[place],
    )
)
_TERMS = 40.0  # terms below e^−40 of the largest one are left out
_STEPS_OF_EXP = 16
_EXP = np.exp(-np.arange(int(_TERMS) * _STEPS_OF_EXP + 1) / _STEPS_OF_EXP)

_TOLERANCE = 0.02  # distance of a table's bounds, as a share of 1 + (how far log L has fallen)
_LEAST_WIDTH = 1e-14  # of an interval to halve; without noise log L(0) may be −inf
CAPACITY = 1024  # most knots of a table
START = np.sin(np.linspace(0.0, 0.5 * math.pi, 17)) ** 2  # initial knots
START[-1] = 1.0
_REACH = 25.0  # the integral of `_log_tail_ratio` is truncated where its exponent is below −25
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FEW = 30.0  # with fewer successes or failures a sum replaces the integral
_ERROR = 1e-10  # of a log density, apart from parts that grow with n and with its size


@kernel
def _log_tail_ratio(k: float, n: float, odds: float) -> float:
    """Return log(P(Bin(n, p) ≤ k)/P(Bin(n, p) = k)) for k ≤ np, with odds = (1 − p)/p."""
    ratio = k / (n - k + 1.0) * odds
    if ratio < 0.75 or k < _FEW or n - k < _FEW:
        total = term = i = 1.0
        while i <= k and term > 1e-17 * total:
            term *= (k + 1.0 - i) / (n - k + i) * odds
            total += term
            i += 1.0
        return math.log(total)
    rest = n - k
    # the exponent starts with slope −slope and curvature −bend, which decreases
    slope, bend = max(rest - k * odds, 0.0), k * odds * (1.0 + odds)
    end = 2.0 * _REACH / (slope + math.sqrt(slope * slope + 2.0 * _REACH * bend))
    for _ in range(6):  # Newton's method, from beyond the root after the first step
        fall = -math.expm1(-end)
        excess = -rest * end + k * math.log(1.0 + odds * fall) + _REACH
        if abs(excess) < 1.0:
            break
        end -= excess / (-rest + k * odds * (1.0 - fall) / (1.0 + odds * fall))
    total = 0.0
    for i in range(_NODES.size):
        y = 0.5 * end * (1.0 + _NODES[i])
        total += _WEIGHTS[i] * math.exp(-rest * y + k * math.log1p(-odds * math.expm1(-y)))
    return math.log(0.5 * end * rest * total)


@kernel
def _log_lower_sum(n: float, k: float, beyond: float, u: float, v: float, epsilon: float) -> float:
    """Return log Σ_{j≤k} P(Bin(n, u) = j)·e^(−ε(k − j + beyond)), with v = 1 − u > 0."""
    if k < 0.0:
        return -math.inf
    share = math.exp(-epsilon)
    whole = u + v * share
    log_whole = math.log(whole) if whole < 0.5 else math.log1p(v * math.expm1(-epsilon))
    if k >= n:
        return n * log_whole - epsilon * (k - n + beyond)
    p, q = u / whole, v * share / whole
    if k * q <= (n - k) * p:
        return binomial_log_pmf(k, n, u, v) - epsilon * beyond + _log_tail_ratio(k, n, q / p)
    other = math.exp(binomial_log_pmf(k + 1.0, n, p, q) + _log_tail_ratio(n - k - 1.0, n, p / q))
    if u < 0.5 and epsilon < 30.0:
        log_all = n * math.log1p(u * math.expm1(epsilon)) - epsilon * (k + beyond)
    else:
        log_all = n * log_whole + epsilon * (n - k - beyond)
    return log_all + math.log1p(-min(other, 1.0))


@kernel
def _only_side(n: float, k: float, beyond: float, odds: float, epsilon: float) -> int:
    """Return −1 or 1 if rewards up to k, or those above, are e^45 times as likely as the others.

    The odds r of k + 1 against k rewards decrease in k, so that the sum above k is at most
    2r·e^(−ε(1 − 2·beyond)) times that up to k if this is below e^−ε, and vice versa.
    """
    if epsilon < 20.0 or not 0.0 <= k < n:
        return 0
    rise, tilt = (n - k) / (k + 1.0) * odds, epsilon * (1.0 - 2.0 * beyond)
    if tilt > 0.0:
        return -1 if 2.0 * rise <= math.exp(tilt - 45.0) else 0
    return 1 if rise * math.exp(-tilt - 45.0) >= 2.0 else 0


@kernel
def log_density(n: float, x: float, u: float, epsilon: float) -> float:
    """Return log f_{n,u}(x), the density of Bin(n, u) + Lap(1/ε) at x, or for ε = ∞ the mass."""
    v = 1.0 - u
    if epsilon == math.inf:
        if u == 0.0 or v == 0.0:
            return 0.0 if x == n * u else -math.inf
        return binomial_log_pmf(x, n, u, v)
    scale = math.log(0.5 * epsilon)
    if u == 0.0 or v == 0.0:
        return scale - epsilon * abs(x - n * u)
    k = math.floor(x)
    beyond = x - k
    side = _only_side(n, k, beyond, u / v, epsilon)
    if side < 0:
        return scale + _log_lower_sum(n, k, beyond, u, v, epsilon)
    if side > 0:
        return scale + _log_lower_sum(n, n - k - 1.0, 1.0 - beyond, v, u, epsilon)
    below = _log_lower_sum(n, k, beyond, u, v, epsilon)
    above = _log_lower_sum(n, n - k - 1.0, 1.0 - beyond, v, u, epsilon)
    high, low = max(below, above), min(below, above)
    return scale + high + math.log1p(math.exp(low - high))


@kernel
def _looseness(knots: Floats, values: Floats, size: int, i: int, best: float) -> float:
    """Return the distance of the bounds between knots i and i + 1, over the tolerance."""
    width = knots[i + 1] - knots[i]
    chord = (values[i + 1] - values[i]) / width
    left = right = chord
    if i > 0:
        left = max((values[i] - values[i - 1]) / (knots[i] - knots[i - 1]), chord)
    if i + 2 < size:
        right = min((values[i + 2] - values[i + 1]) / (knots[i + 2] - knots[i + 1]), chord)
    if i == 0:
        distance, top = (chord - right) * width, values[1] - right * width
    elif left == right:
        return 0.0
    else:
        place = width
        if i + 2 < size:
            place *= (chord - right) / (left - right)
        distance, top = (left - chord) * place, values[i] + left * place
    fall = max(best - max(top, values[i], values[i + 1]), 0.0)
    found: float = distance / (_TOLERANCE * (1.0 + fall))
    return found


@kernel
def _refine(
    knots: Floats, values: Floats, size: int, ns: Floats, xs: Floats, epsilon: float
) -> int:
    """Halve intervals until the bounds are close; return the number of knots.

    An interval stays close as long as its neighbours do: the tolerance grows as log L decreases.
    """
    due = np.ones(knots.size, np.bool_)  # whether an interval has changed since it was checked
    while True:
        best = values[:size].max()
        i = added = 0
        while i + 1 < size and size < knots.size:
            wide = due[i] and knots[i + 1] - knots[i] > _LEAST_WIDTH
            due[i] = False
            if wide and _looseness(knots, values, size, i, best) > 1.0:
                middle, total = 0.5 * (knots[i] + knots[i + 1]), 0.0
                for j in range(ns.size):
                    total += log_density(ns[j], xs[j], middle, epsilon)
                for j in range(size, i + 1, -1):
                    knots[j], values[j], due[j] = knots[j - 1], values[j - 1], due[j - 1]
                knots[i + 1], values[i + 1] = middle, max(total, -1e100)
                due[max(i - 1, 0) : i + 3] = True
                size, added, i = size + 1, added + 1, i + 1
            i += 1
        if added == 0:
            return size


@kernel
def _rounding(value: float, slack: float) -> float:
    return slack + 1e-15 * abs(value)


@kernel
def take_in(rows: Floats, size: int, ns: Floats, xs: Floats, epsilon: float) -> tuple[int, float]:
    """Add the last of an arm's batches to its table.

    Shapes: `rows` (4, CAPACITY); `ns`, `xs` (J,).
    """
    knots, values = rows[0], rows[1]
    for i in range(size):
        values[i] = max(values[i] + log_density(ns[-1], xs[-1], knots[i], epsilon), -1e100)
    size = _refine(knots, values, size, ns, xs, epsilon)
    slack = _ERROR * ns.size + 2e-15 * ns.sum()
    for i in range(size - 1):
        rows[2, i] = values[i] - _rounding(min(values[i], values[i + 1]), slack)
        rows[3, i] = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
    return size, slack


@kernel
def table_of(rows: Floats, size: int, slack: float) -> Table:
    """Return the table whose knots are the first `size`.

    Shapes: `rows` (4, CAPACITY).
    """
    return rows[0, :size], rows[1, :size], rows[2, :size], rows[3, :size], slack


@kernel
def _upper(knots: Floats, values: Floats, slack: float, u: float) -> float:
    """Return an upper bound of log L(u), 0 ≤ u ≤ 1."""
    i = min(max(int(np.searchsorted(knots, u)) - 1, 0), knots.size - 2)
    for j in (i, i + 1):
        if knots[j] == u:
            found: float = values[j] + _rounding(values[j], slack)
            return found
    bound = math.inf
    for near, far in ((i, i - 1), (i + 1, i + 2)):
        if 0 <= far < knots.size:
            error = _rounding(min(values[near], values[far]), slack)
            steps = (u - knots[near]) / (knots[near] - knots[far])
            line = values[near] + (values[near] - values[far]) * steps
            bound = min(bound, line + error * (1.0 + 2.0 * steps))
    return bound


@kernel
def _exp(x: float) -> float:
    """Return e^x for −40 ≤ x ≤ 0: from a table, and a series for at most 1/32, to 10⁻¹⁴."""
    i = int(0.5 - _STEPS_OF_EXP * x)
    t = x + i / _STEPS_OF_EXP
    tail = 1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * (1.0 / 720)))
    found: float = _EXP[i] * (1.0 + t * (1.0 + t * (0.5 + t * tail)))
    return found


@kernel
def _raised(table: Table, y: float, first: int, size: int, out: Floats) -> None:
    """Write lower bounds of log L(y + s)/L(y) for the strides s of `size` gaps from `first` on."""
    knots, values, low, slope, slack = table
    above = _upper(knots, values, slack, y)
    i = -1
    for place in range(_STRIDE_ORDER.shape[0]):
        kind, k = _STRIDE_ORDER[place, 0], _STRIDE_ORDER[place, 1]
        if k >= size + _OCTAVES:
            continue
        u = y + _STRIDES[kind, first + k]
        if u > 1.0:
            out[kind, k] = -math.inf
        else:
            if i < 0:
                i = min(int(np.searchsorted(knots, u, side="right")), knots.size - 1) - 1
            while knots[i] > u:  # from wide strides to narrow ones: i only decreases
                i -= 1
            out[kind, k] = low[i] + (u - knots[i]) * slope[i] - above
        if kind == 0 and k == size + _OCTAVES - 1:
            break


@kernel
def _lowered(table: Table, x: float, first: int, size: int, out: Floats) -> None:
    """Write lower bounds of log L(x − s)/L(x) for the strides s of `size` gaps from `first` on."""
    knots, values, low, slope, slack = table
    above = _upper(knots, values, slack, x)
    i = -1
    for place in range(_STRIDE_ORDER.shape[0]):
        kind, k = _STRIDE_ORDER[place, 0], _STRIDE_ORDER[place, 1]
        if k >= size + _OCTAVES:
            continue
        u = x - _STRIDES[kind, first + k]
        if u < 0.0:
            out[kind, k] = -math.inf
        else:
            if i < 0:
                i = max(int(np.searchsorted(knots, u)) - 1, 0)
            while knots[i + 1] < u:
                i += 1
            out[kind, k] = low[i] + (u - knots[i]) * slope[i] - above
        if kind == 0 and k == size + _OCTAVES - 1:
            break


@kernel
def _log_e_value(
    better: Table, worse: Table, n_arms: int, y: float, x: float, first: int, last: int
) -> float:
    """Return a lower bound of log E(y, x), from the gaps of number first, …, last − 1."""
    size, more = max(last - first, 0), math.log(n_arms - 1.0)
    sides = np.empty((2, _STRIDES.shape[0], size + _OCTAVES))
    _raised(better, y, first, size, sides[0])
    _lowered(worse, x, first, size, sides[1])
    terms = np.empty((SHARES.size, size))
    top, total = -math.inf, 0.0
    for r in range(SHARES.size):
        row, weights = terms[r], _LOG_WEIGHTS[r, first:last]
        up, start = _STRIDE_OF[r]
        rise = sides[0, up, start : start + size]
        down, start = _STRIDE_OF[SHARES.size - 1 - r]
        fall = sides[1, down, start : start + size]
        for i in range(size):
            term = weights[i] + (rise[i] if r > 0 else more)
            if r < SHARES.size - 1:
                term += fall[i]
            row[i] = term
            top = max(top, term)
    if top == -math.inf:
        return top
    for r in range(SHARES.size):
        row = terms[r]
        for i in range(size):
            if row[i] >= top - _TERMS:
                total += _exp(row[i] - top)
    return top + math.log(total)


@kernel
def peak(table: Table) -> float:
    """Return the maximiser of the likelihood.

    It is the vertex of the parabola through the largest knot and its neighbours.
    """
    knots, values = table[0], table[1]
    i = int(np.argmax(values))
    if i == 0 or i == knots.size - 1:
        return float(knots[i])
    left, right = knots[i] - knots[i - 1], knots[i + 1] - knots[i]
    fall, drop = values[i] - values[i - 1], values[i] - values[i + 1]
    if fall + drop == 0.0:
        return float(knots[i])
    return float(
        knots[i] + 0.5 * (right * right * fall - left * left * drop) / (right * fall + left * drop)
    )


@kernel
def _gap_range(distance: float) -> tuple[int, int]:
    """Return the range of gaps from 4 times to 1/8 of a distance: the others are negligible."""
    middle = round(-_STEPS * math.log2(max(distance, 1e-14)))
    return max(middle - 2 * _STEPS, 0), min(middle + 3 * _STEPS + 1, GAPS.size)


@kernel
def least(better: Table, worse: Table, n_arms: int, enough: float) -> tuple[float, float]:
    """Return approximately the least log E on the diagonal, or one below `enough`."""
    low, high = peak(worse), peak(better)
    if low >= high:
        return 0.0, low
    first, last = _gap_range(high - low)
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left = _log_e_value(better, worse, n_arms, left, left, first, last)
    if at_left < enough:
        return at_left, left
    at_right = _log_e_value(better, worse, n_arms, right, right, first, last)
    for _ in range(12):
        if min(at_left, at_right) < enough:
            break
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = _log_e_value(better, worse, n_arms, left, left, first, last)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = _log_e_value(better, worse, n_arms, right, right, first, last)
    return (at_left, left) if at_left < at_right else (at_right, right)


@kernel
def _exceeds(better: Table, worse: Table, n_arms: int, threshold: float, place: float) -> bool:
    """Whether cells certify that log E(u, u) ≥ threshold for all u in [0, 1]."""
    low, high = peak(worse), peak(better)
    first, last = _gap_range(high - low)
    starts, ends, size = np.empty(4096), np.empty(4096), 4
    starts[0], starts[1], starts[2], starts[3] = 0.0, low, place, high
    ends[0], ends[1], ends[2], ends[3] = low, place, high, 1.0
    for _ in range(4096):
        size -= 1
        x, y = starts[size], ends[size]
        if not _log_e_value(better, worse, n_arms, y, x, first, last) >= threshold:
            middle = 0.5 * (x + y)
            at_middle = _log_e_value(better, worse, n_arms, middle, middle, first, last)
            if not (x < middle < y and at_middle >= threshold):
                return False
            starts[size], ends[size] = x, middle
            starts[size + 1], ends[size + 1] = middle, y
            size += 2
        if size == 0:
            return True
    return False


@kernel
def judge(
    better: Table, worse: Table, n_arms: int, threshold: float, enough: float
) -> tuple[bool, float]:
    """Return whether log E certainly reaches a threshold for all u_c ≤ u_b, and its infimum."""
    lowest, place = least(better, worse, n_arms, enough)
    return lowest >= threshold and _exceeds(better, worse, n_arms, threshold, place), lowest


class ArmLikelihood:
    """The likelihood of an arm's mean, given its released batches with Lap(1/ε).

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` for batches without noise.

    Examples
    --------
    >>> arm = ArmLikelihood(1.0)
    >>> arm.add(100, 70.3)
    >>> arm.add(200, 139.1)
    >>> round(arm.maximiser, 2)
    0.7
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self._batches = np.empty((2, 0))
        self._rows = np.zeros((4, CAPACITY))
        self._rows[0, : START.size] = START
        self._size, self._slack = START.size, 0.0

    def add(self, n: int, x: float) -> None:
        """Add a batch."""
        self._batches = np.column_stack([self._batches, (n, x)])
        ns, xs = self._batches
        self._size, self._slack = take_in(self._rows, self._size, ns, xs, self.epsilon)

    @property
    def pulls(self) -> int:
        """Pulls of all batches."""
        return int(self._batches[0].sum())

    @property
    def maximiser(self) -> float:
        """Mean that (approximately) maximises the likelihood."""
        return float(peak(self.table))

    @property
    def table(self) -> Table:
        """Table of the likelihood."""
        return table_of(self._rows, self._size, self._slack)


def log_evidence(better: ArmLikelihood, worse: ArmLikelihood, n_arms: int = 2) -> float:
    """Return approximately the log evidence that one arm has a larger mean than another."""
    return float(least(better.table, worse.table, n_arms, -math.inf)[0])


def is_better(
    better: ArmLikelihood, worse: ArmLikelihood, threshold: float, n_arms: int = 2
) -> bool:
    """Return whether the evidence for a larger mean is certainly at least e^threshold."""
    return bool(judge(better.table, worse.table, n_arms, threshold, threshold)[0])
