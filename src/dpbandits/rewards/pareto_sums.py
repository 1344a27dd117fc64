"""Sums of many Pareto rewards at the cost of a few binomial variables, and lines below them.

X is a standardised Pareto reward given that it is below a cut. Y is a mixture of J normal
distributions of one variance τ, and has the moments of X up to order 2J − 1. A sum of N copies of Y
is the nodes times multinomial counts, plus one normal variable: `matched_sum`. `matched_error`
bounds the distance of its distribution from that of N copies of X. `growing_sum` draws sums whose
rewards are truncated at growing bounds; running sums stay above `lower_lines`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import kernel
from dpbandits.rewards.binomial import binomial_by_rejection
from dpbandits.rewards.heavy_laws import PARETO, HeavyCode, draw_heavy
from dpbandits.rewards.sources import read_only

BLOCK = 1024
"""Rewards drawn at once; few enough for a processor's L1 cache."""
LINE_ERROR = 1e-16
"""e^−ℓ: bound on the probability that a sum ever falls below its line."""
MATCHED_ERROR = 1e-13
"""Bound on the total-variation distance of a `matched_sum`."""

_NODES = 8  # J
_KERNEL = 0.01  # τ, halved until there is a quadrature
_DIGITS = 120
_OCTAVES = (2, 3, 4, 5, 6, 8, 10, 12, 14)  # the mass beyond the cuts of `matched_rows` is 2^−k
_FIRST = 4  # numbers of a row before its nodes
_PER_OCTAVE = 1 / math.log(2)
_LOG_2 = 0.6931471803691238  # log 2 without its last 32 bits, so that k times it is exact
_LOG_2_REST = 1.9082149292705877e-10
_STEPS = 160
_ROUNDING = 1e-10  # relative decrease of k, more than the error of the quadrature


class MatchedLaw(NamedTuple):
    """Mixture Y of normal distributions, for Pareto rewards of smallest value 1 below a cut R.

    Attributes
    ----------
    shape : float
        Shape s of the Pareto law.
    ratio : float
        The cut R > 1, in units of the smallest reward.
    tail : float
        P(reward > R) = R^−s.
    mean : float
        Mean of a reward below R.
    deviation : float
        Standard deviation of a reward below R.
    kernel : float
        Variance τ of the J normal distributions, of the standardised Y.
    nodes : numpy.ndarray of float, shape (J,)
        Their means, the largest first.
    weights : numpy.ndarray of float, shape (J,)
        Their weights, which add up to 1.
    moments : tuple of float, length 3
        E X⁴, E X^m and E Y^m for m = 2J, of the standardised variables.

    Examples
    --------
    >>> law = matched_law(1.55, 6.0)
    >>> round(law.tail, 4), law.nodes.size, round(float(law.weights.sum()), 12)
    (0.0622, 8, 1.0)
    """

    shape: float
    ratio: float
    tail: float
    mean: float
    deviation: float
    kernel: float
    nodes: Floats
    weights: Floats
    moments: tuple[float, float, float]


def _quadrature(moments: Sequence[Decimal]) -> tuple[list[Decimal], list[Decimal]] | None:
    """Return nodes, the largest first, and weights of a distribution with 2J given moments, if any.

    Chebyshev's algorithm gives the orthogonal polynomials, Newton's the roots of the last.
    """
    size = len(moments) // 2
    a, b = [moments[1]], [moments[0]]
    before, last = [Decimal(0)] * (2 * size), list(moments)
    for k in range(1, size):
        row = [Decimal(0)] * (2 * size)
        for i in range(k, 2 * size - k):
            row[i] = last[i + 1] - a[-1] * last[i] - b[-1] * before[i]
        b.append(row[k] / last[k - 1])
        if b[-1] <= 0:
            return None
        a.append(row[k + 1] / row[k] - last[k] / last[k - 1])
        before, last = last, row

    def polynomial(x: Decimal) -> tuple[Decimal, Decimal, Decimal]:
        # value and derivative of the last polynomial, and Σ p_k²/h_k of the others
        p, p_before, d, d_before = Decimal(1), Decimal(0), Decimal(0), Decimal(0)
        norm, total = Decimal(1), Decimal(0)
        for a_k, b_k in zip(a, b, strict=True):
            norm *= b_k
            total += p * p / norm
            d, d_before = p + (x - a_k) * d - b_k * d_before, d
            p, p_before = (x - a_k) * p - b_k * p_before, p
        return p, d, total

    nodes: list[Decimal] = []
    x = max(map(abs, a)) + 2 * max(b).sqrt() + 1  # right of all roots
    for _ in range(size):
        step = Decimal(1)
        while abs(step) > Decimal(10) ** (-_DIGITS // 2):
            p, d, _ = polynomial(x)
            step = p / (d - p * sum(1 / (x - node) for node in nodes))
            x -= step
        nodes.append(x)
        x -= Decimal(10) ** (-_DIGITS // 4)
    return nodes, [1 / polynomial(node)[2] for node in nodes]


@lru_cache(maxsize=4096)
def matched_law(shape: float, ratio: float) -> MatchedLaw:
    """Match Y to Pareto rewards of shape s below R, in decimals, identical on every processor."""
    order = 2 * _NODES
    with localcontext() as context:
        context.prec = _DIGITS
        s, cut = Decimal(shape), Decimal(ratio)
        tail = cut**-s
        raw = [
            s * ((cut ** (k - s) - 1) / (k - s) if k != s else cut.ln()) / (1 - tail)
            for k in range(order + 1)
        ]
        central = [
            sum((math.comb(n, k) * raw[k] * (-raw[1]) ** (n - k) for k in range(n + 1)), Decimal(0))
            for n in range(order + 1)
        ]
        deviation = central[2].sqrt()
        moments = [central[n] / deviation**n for n in range(order + 1)]
        kernel, found = Decimal(_KERNEL), None
        while found is None:
            rest = [_with_kernel(moments, n, -kernel) for n in range(order)]
            found = _quadrature(rest)
            kernel = kernel if found else kernel / 2
        nodes, weights = found
        powers = [
            sum((w * y**n for y, w in zip(nodes, weights, strict=True)), Decimal(0))
            for n in range(order + 1)
        ]
        matched = _with_kernel(powers, order, kernel)
        return MatchedLaw(
            *(shape, ratio, float(tail), float(raw[1]), float(deviation), float(kernel)),
            nodes=np.array(nodes, dtype=np.float64),
            weights=np.array(weights, dtype=np.float64),
            moments=(float(moments[4]), float(moments[order]), float(matched)),
        )


def _with_kernel(moments: Sequence[Decimal], n: int, variance: Decimal) -> Decimal:
    """Return the n-th moment after adding a normal variable, or removing one: variance < 0."""
    terms = (  # (2k − 1)!! is the 2k-th moment of a standard normal variable
        math.comb(n, 2 * k) * math.prod(range(1, 2 * k, 2)) * variance**k * moments[n - 2 * k]
        for k in range(n // 2 + 1)
    )
    return sum(terms, Decimal(0))


def matched_error(law: MatchedLaw, n: float) -> float:
    """Bound the total-variation distance of `matched_sum` for n rewards, decreasing in n.

    Proof: :prf:ref:`lem-matched-sum`.
    """
    s, tail = law.shape, law.tail
    fourth, of_x, of_y = law.moments
    order = 2 * law.nodes.size
    start = math.sqrt(6 / (fourth + 3))
    # P(L > y) = P(reward > 1 + y) + y·density(1 + y), on steps of y
    y = np.geomspace(1e-3, law.ratio - 1, 1024) if law.ratio > 1.01 else np.zeros(1)
    y = np.append(0.0, y[y < law.ratio - 1])
    longer = ((1 + y) ** -s - tail + y * s * (1 + y) ** (-s - 1)) / (1 - tail)
    masses = longer - np.append(longer[1:], 0.0)
    half = start * y / (2 * law.deviation)
    rho = float(masses @ np.maximum(np.exp(-half * half / 6), 0.2173))
    if rho >= 1:
        return 1.0
    end = max(start, math.sqrt(90 / (n * law.kernel)))  # exp(−Nτθ²) is exp(−90) from there on
    grid = np.geomspace(start, end, 4096)
    turns = grid[:, None] * law.nodes
    real, imaginary = np.cos(turns) @ law.weights, np.sin(turns) @ law.weights
    # the derivative Σ i·y_j·w_j·exp(iθy_j) is at most 1 in size
    steps = np.diff(grid, append=end)
    gamma = np.minimum(1.0, np.hypot(real, imaginary) + steps)
    log_gamma = np.log(gamma) - law.kernel * grid * grid / 2
    rest = float(np.exp(2 * n * log_gamma) @ steps)
    rest += math.exp(-n * law.kernel * end * end) / (2 * n * law.kernel * end)
    log_core = 2 * math.log(n * (of_x + of_y) / math.factorial(order))
    log_core += math.lgamma(order + 0.5) + (order + 0.5) * math.log(2 / (n - 1))
    density = s / (1 - tail) * law.deviation
    total = math.exp(min(log_core, 0.0)) / (2 * math.pi)
    total += 2 * density * math.exp((2 * n - 2) * math.log(rho)) + 2 / math.pi * rest
    reach = max((law.ratio - law.mean) / law.deviation, float(np.abs(law.nodes).max()))

    def bound(r: float) -> float:
        tails = 4 * math.exp(-0.5 * r * r / (1 + r * reach / (3 * math.sqrt(n))))
        return 0.5 * (math.sqrt(2 * r * math.sqrt(n) * total) + tails)

    return min(1.0, *(bound(float(r)) for r in range(8, 33, 2)))


def matched_row(law: MatchedLaw, least: float = 0.0) -> Floats:
    """Return the row of `matched_sum`: `least`, R, R^−s, √τ, nodes and shares.

    Shapes: the result (4 + 2J,).
    """
    shares = law.weights / np.cumsum(law.weights[::-1])[::-1]
    nodes = law.mean + law.deviation * law.nodes
    spread = law.deviation * math.sqrt(law.kernel)
    return np.concatenate(([least, law.ratio, law.tail, spread], nodes, shares))


def _enough(law: MatchedLaw, n: int) -> bool:
    return matched_error(law, n) <= MATCHED_ERROR


@lru_cache(maxsize=64)
def matched_rows(shape: float) -> Floats:
    """Return rows of `matched_row` for nine cuts, by increasing R.

    Shapes: the result (9, 4 + 2J).
    """
    rows = []
    sizes = [math.ceil(2 ** (quarter / 4)) for quarter in range(20, 161)]
    for octave in _OCTAVES:
        law = matched_law(shape, 2.0 ** (octave / shape))
        place = bisect.bisect_left(sizes[:-1], True, key=partial(_enough, law))
        rows.append(matched_row(law, sizes[place]))
    return read_only(rows)


@kernel(borrows=True)
def matched_sum(rng: Rng, row: Floats, n: int) -> float:
    """Draw the sum of n copies of Y, in units of the smallest reward.

    Shapes: `row` (4 + 2J,).
    """
    total = row[3] * math.sqrt(n) * rng.standard_normal()
    size = (row.size - _FIRST) // 2
    for j in range(size - 1):
        count = binomial_by_rejection(rng, n, row[_FIRST + size + j])
        total += count * row[_FIRST + j]
        n -= count
    found: float = total + n * row[_FIRST + size - 1]
    return found


@kernel
def exponentials(x: Floats, factor: float, scale: float, n: int) -> None:
    """Replace x_i by scale·exp(factor·x_i), up to two units of rounding.

    exp y = 2^k·exp r with ∣r∣ ≤ ½·log 2, where the remainder of the series to r^12 is below
    2·10^−16: without branches and calls, so that a compiler can vectorise it.

    Shapes: `x` (at least n,).
    """
    bits = np.empty(x.size, np.int64)
    powers = bits.view(np.float64)
    for i in range(n):
        y = x[i] * factor
        k = np.floor(y * _PER_OCTAVE + 0.5)
        r = (y - k * _LOG_2) - k * _LOG_2_REST
        p = r / 479001600.0 + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[i] = scale * ((p * r + 1.0) * r + 1.0)
        bits[i] = (np.int64(k) + 1023) << 52  # the double 2^k
    for i in range(n):
        x[i] *= powers[i]


@kernel(borrows=True)
def growing_sum(
    rng: Rng,
    code: HeavyCode,
    rows: Floats,
    first_bound: float,
    growth: float,
    start: int,
    stop: int,
) -> float:
    """Draw the sum of x_n·1{x_n ≤ b·n^g} over n = start + 1, …, stop.

    It is exact for two points, and for Pareto laws up to a total-variation distance of
    `dpbandits.rewards.pareto_sums.MATCHED_ERROR`.

    Shapes: `rows` (9, 4 + 2J).
    """
    kind, first, second = code
    low, high = first_bound * (start + 1.0) ** growth, first_bound * float(stop) ** growth
    if kind != PARETO:
        if first <= low:
            return first * binomial_by_rejection(rng, stop - start, second)
        total = 0.0
        if first > high:
            return total
        for n in range(start + 1, stop + 1):
            reward = draw_heavy(rng, code)
            if reward <= first_bound * float(n) ** growth:
                total += reward
        return total
    enough, best = 0.9 * (stop - start), -1
    for i in range(rows.shape[0]):
        if rows[i, 0] <= enough and rows[i, 1] * second <= low:
            best = i
    if best < 0:
        return _one_by_one(rng, first, second, first_bound, growth, start, stop)
    row = rows[best]
    beyond = (low / second) ** -first
    total, rest = 0.0, stop - start
    rate = -math.log1p(-beyond)
    place = float(start)
    while rate > 0.0:  # the gaps between the rewards beyond `low` are geometric
        place += 1.0 + np.floor(rng.standard_exponential() / rate)
        if place > stop:
            break
        rest -= 1
        reward = low * math.exp(rng.standard_exponential() / first)
        if reward <= first_bound * place**growth:
            total += reward
    single = binomial_by_rejection(rng, rest, max(0.0, (row[2] - beyond) / (1.0 - beyond)))
    cut = row[1] * second
    total += pareto_below(rng, first, cut, low, single)
    rest -= single
    if rest < row[0]:
        return total + pareto_below(rng, first, second, cut, rest)
    return total + second * matched_sum(rng, row, rest)


@kernel
def pareto_below(rng: Rng, shape: float, scale: float, bound: float, n: int) -> float:
    """Draw the sum of n Pareto rewards, each given that it is below a bound."""
    if n == 0:
        return 0.0
    x = np.empty(min(n, BLOCK))
    longest = shape * math.log(bound / scale)
    total = 0.0
    for done in range(0, n, BLOCK):
        size = min(BLOCK, n - done)
        for i in range(size):
            x[i] = rng.standard_exponential()
            while x[i] > longest:
                x[i] = rng.standard_exponential()
        exponentials(x, 1.0 / shape, scale, size)
        for i in range(size):
            total += x[i]
    return total


@kernel
def _one_by_one(
    rng: Rng, shape: float, scale: float, first_bound: float, growth: float, start: int, stop: int
) -> float:
    low = first_bound * (start + 1.0) ** growth
    x = np.empty(min(BLOCK, stop - start))
    total = 0.0
    for done in range(start, stop, BLOCK):
        size = min(BLOCK, stop - done)
        for i in range(size):
            x[i] = rng.standard_exponential()
        exponentials(x, 1.0 / shape, scale, size)
        for i in range(size):
            if x[i] > low and x[i] > first_bound * (done + i + 1.0) ** growth:
                x[i] = 0.0
        total += _sum(x, size)
    return total


@kernel(borrows=True)
def _sum(x: Floats, n: int) -> float:
    """Add up x_1, …, x_n in four independent parts."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = n - n % 4
    for i in range(0, fours, 4):
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
    for i in range(fours, n):
        a += x[i]
    return (a + b) + (c + d)


@lru_cache(maxsize=256)
def lower_lines(code: HeavyCode) -> Floats:
    """Return ℓ/λ, −log(q)/λ and 1/(qλ) of :prf:ref:`lem-lower-line` for 40 values of λ.

    Shapes: the result (40, 3).
    """
    kind, first, second = code
    smallest = second if kind == PARETO else first
    lines = []
    for i in range(40):
        rate = 4.0 * 2.0 ** (-i / 2)
        lost = _pareto_loss(first, rate) if kind == PARETO else -second * math.expm1(-rate)
        lost = min(lost, 1 - 1e-9) * (1 - _ROUNDING)
        rate /= smallest
        lines.append(
            (-math.log(LINE_ERROR) / rate, -math.log1p(-lost) / rate, 1 / rate / (1 - lost))
        )
    return read_only(lines)


def _pareto_loss(shape: float, rate: float) -> float:
    """Return 1 − E exp(−λX) for the smallest reward 1, by quadrature in s·log X up to 48."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = 24.0 / _STEPS
    terms = []
    for step in range(_STEPS):
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            y = half * (2 * step + 1 + node)
            reward = math.exp(min(y / shape, 300.0))
            terms.append(half * weight * math.exp(-y) * -math.expm1(-rate * reward))
    return math.fsum(terms)
