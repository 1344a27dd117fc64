"""Sums of many Pareto rewards below a cut, at the cost of a few binomial variables.

A Pareto reward given that it is below a cut, standardised, is called X here. Y is a mixture of J
normal laws of one variance τ, and has the moments of X up to order 2J − 1: Gauss's quadrature of
what is left of the moments of X when a normal variable of variance τ is taken off. A sum of N
copies of Y is the nodes times multinomial counts, plus one normal variable. How far its law is
from that of N copies of X, `matched_error` bounds.

Notes
-----
**Lemma.** Let m = 2J ≥ 6, C = (E X^m + E Y^m)/m!, θ0² = 6/(E X⁴ + 3), and for ∣θ∣ ≥ θ0 let
∣φ(θ)∣ ≤ ρ for the characteristic function φ of X and ∣γ(θ)∣ ≤ g(θ) for γ, that of Y. Let X have a
density of at most f and b ≥ ∣X∣, ∣nodes∣. Then for all N > 2 and r > 0 the total variation distance
between the sums is at most

    ½·[√(2r√N·I) + 4·exp(−½r²/(1 + rb/(3√N)))],
    I = N²·C²·Γ(m + ½)·(2/(N − 1))^(m+½)/(2π) + 2fρ^(2N−2) + (2/π)·∫ g^(2N), over θ > θ0.

*Proof.* The distance is half of ∫∣f_N − g_N∣ for the densities of the sums. Beyond r√N the integral
is at most the two sums' tails, each by Bernstein's inequality at most 2·exp(−½r²/(1 + rb/(3√N))),
for a normal variable makes the moment generating function no larger than it allows. Within, by
Cauchy and Schwarz and by Parseval, it is at most √(2r√N·I) with I = (1/2π)∫∣φ^N − γ^N∣². For
∣θ∣ ≤ θ0: ∣φ − γ∣ ≤ C∣θ∣^m by Taylor's formula, since the lower moments agree. With an independent
copy X′, ∣φ∣² = E cos θ(X − X′) ≤ 1 − θ² + θ⁴·(2·E X⁴ + 6)/24 ≤ 1 − θ²/2 there, so that
∣φ∣ ≤ exp(−θ²/4), and so is ∣γ∣, whose fourth moment is the same. Hence ∣φ^N − γ^N∣ ≤
N·C∣θ∣^m·exp(−(N − 1)θ²/4), and the integral of its square is the first term of I. For ∣θ∣ > θ0,
∣φ^N − γ^N∣² ≤ 2∣φ∣^2N + 2∣γ∣^2N; the first is at most 2ρ^(2N−2)∣φ∣², where ∫∣φ∣² = 2π∫f² ≤ 2πf. ∎

What is used for ρ and g: the density of X falls, so that X = x + U·L with U uniform and L > 0
independent, and ∣φ(θ)∣ ≤ E∣sin(θL/2)/(θL/2)∣, where ∣sin(u)/u∣ ≤ max(exp(−u²/6), 0.2173) and both
fall with u. ∣γ(θ)∣ = exp(−τθ²/2)·∣Σ w_j·exp(iθy_j)∣ is bounded on a grid of θ by a Lipschitz
constant, up to where exp(−Nτθ²/2) alone is enough.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Rng
from dpbandits.rewards.binomial import binomial_by_rejection

__all__ = [
    "MATCHED_ERROR",
    "MatchedLaw",
    "matched_error",
    "matched_law",
    "matched_row",
    "matched_rows",
    "matched_sum",
]

MATCHED_ERROR = 1e-13
"""Total variation distance of a `matched_sum`, at most."""

_NODES = 8  # J
_KERNEL = 0.01  # τ, halved until there is a quadrature
_DIGITS = 120
_OCTAVES = (2, 3, 4, 5, 6, 8, 10, 12, 14)  # the cuts of `matched_rows` leave 2^−k beyond them
_FIRST = 4  # numbers of a row before its nodes


class MatchedLaw(NamedTuple):
    """Y for Pareto rewards of shape s and smallest value 1 below a cut R.

    `shape`, `ratio` and `tail` are s, R and P(reward > R) = R^−s; `mean` and `deviation` are of a
    reward below R; `kernel` is τ; `nodes`, the greatest first, and `weights`, shape (J,), are of
    the standardised Y; `moments` are E X⁴, E X^m and E Y^m for m = 2J.
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
    """Return nodes, the greatest first, and weights of a law with 2J given moments, if any.

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
        """Return value and derivative of the last polynomial, and Σ p_k²/h_k of the others."""
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
    """Match Y to Pareto rewards of shape s below R, with decimals: alike on every processor.

    Examples
    --------
    >>> law = matched_law(1.55, 6.0)
    >>> round(law.tail, 4), round(law.mean, 4), bool(law.weights.min() > 0)
    (0.0622, 1.8834, True)
    >>> bool(abs(law.weights @ law.nodes**2 + law.kernel - 1) < 1e-14)
    True
    """
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
    """Return the n-th moment when a normal variable is added, or taken off: variance < 0."""
    terms = (  # (2k − 1)!! is the 2k-th moment of a standard normal variable
        math.comb(n, 2 * k) * math.prod(range(1, 2 * k, 2)) * variance**k * moments[n - 2 * k]
        for k in range(n // 2 + 1)
    )
    return sum(terms, Decimal(0))


def matched_error(law: MatchedLaw, n: float) -> float:
    """Bound the total variation distance of `matched_sum` for n rewards: the module's lemma.

    It falls with n.

    Examples
    --------
    >>> law = matched_law(1.95, 5.0)
    >>> matched_error(law, 1000) < 1e-13 < matched_error(law, 100)
    True
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
    """Return what `matched_sum` reads: `least`, R, R^−s, √τ, nodes and shares.

    The nodes are in units of the smallest reward, and √τ with them. A share is the weight of a node
    among those from it on.
    """
    shares = law.weights / np.cumsum(law.weights[::-1])[::-1]
    nodes = law.mean + law.deviation * law.nodes
    spread = law.deviation * math.sqrt(law.kernel)
    return np.concatenate(([least, law.ratio, law.tail, spread], nodes, shares))


def _enough(law: MatchedLaw, n: int) -> bool:
    return matched_error(law, n) <= MATCHED_ERROR


@lru_cache(maxsize=64)
def matched_rows(shape: float) -> Floats:
    """Return rows of `matched_row` for nine cuts, by increasing R, read-only.

    The first number of a row is how many rewards make `matched_error` at most 10^−13.

    Examples
    --------
    >>> rows = matched_rows(1.95)
    >>> rows[:, 0].tolist()[:3], (1 / rows[:3, 2]).round(9).tolist()
    ([108.0, 153.0, 256.0], [4.0, 8.0, 16.0])
    """
    rows = []
    for octave in _OCTAVES:
        law = matched_law(shape, 2.0 ** (octave / shape))
        sizes = [math.ceil(2 ** (quarter / 4)) for quarter in range(20, 161)]
        place = bisect.bisect_left(sizes[:-1], True, key=partial(_enough, law))
        rows.append(matched_row(law, sizes[place]))
    array = np.array(rows)
    array.setflags(write=False)
    return array


@njit(cache=True, nogil=True)
def matched_sum(rng: Rng, row: Floats, n: int) -> float:
    """Draw the sum of n copies of Y, in units of the smallest reward, from a `matched_row`.

    Examples
    --------
    >>> row = matched_rows(1.55)[2]
    >>> total = matched_sum(np.random.default_rng(0), row, 10**12)
    >>> abs(total / 1e12 - matched_law(1.55, float(row[1])).mean) < 1e-5
    True
    """
    total = row[3] * math.sqrt(n) * rng.standard_normal()
    size = (row.size - _FIRST) // 2
    for j in range(size - 1):
        count = binomial_by_rejection(rng, n, row[_FIRST + size + j])
        total += count * row[_FIRST + j]
        n -= count
    return total + n * row[_FIRST + size - 1]
