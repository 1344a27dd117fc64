"""Pulls of Lazy-DP-TS between two releases, with fixed probabilities and drawn at once.

Each pull is of arm a with probability π_a, independently of the others: `largest_draw`.
`first_to_finish` draws the batch that is full first and the pulls of the other arms by then;
`first_of` draws how many of these pulls came before a checkpoint. Proof: :prf:ref:`lem-race`.
"""

from __future__ import annotations

import math

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.rewards.binomial import binomial

__all__ = ["first_of", "first_to_finish", "largest_draw"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL = 2.0  # widest panel of the quadrature, in standard deviations of each arm
_REACH = 8.25
_TINY = 1e-16
_ROOT_2 = math.sqrt(2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def largest_draw(centres: Floats, deviations: Floats) -> Floats:
    """Return the probability that each of K independent normal variables is the largest.

    ∫ φ_a Π_{b≠a} Φ_b by Gauss's rule on panels of at most 2 standard deviations of each arm, with
    an error of about 4·10⁻¹⁴ (measured with finer panels). Proof: :prf:ref:`lem-largest-draw`.

    Shapes: `centres, deviations` (K,) → (K,).
    """
    n_arms = centres.size
    if n_arms == 2:
        z = (centres[0] - centres[1]) / math.hypot(deviations[0], deviations[1]) / _ROOT_2
        return np.array([0.5 * math.erfc(-z), 0.5 * math.erfc(z)])
    x = np.max(centres - _REACH * deviations)
    end = np.max(centres + _REACH * deviations)
    result = np.zeros(n_arms)
    rates = np.empty(n_arms)  # φ/Φ
    near = np.empty(n_arms, np.int64)  # arms that are not certainly below the panel
    while x < end:
        width = end - x
        size = 0
        for a in range(n_arms):
            if x < centres[a] + _REACH * deviations[a]:
                width = min(width, _PANEL * deviations[a])
                near[size] = a
                size += 1
        below = 1.0
        for a in near[:size]:
            below *= 0.5 * math.erfc((centres[a] - x - width) / (deviations[a] * _ROOT_2))
        if below > _TINY:
            for node in range(_NODES.size):
                y = x + 0.5 * width * (1.0 + _NODES[node])
                product = 0.5 * width * _WEIGHTS[node]
                for i in range(size):
                    a = near[i]
                    z = (y - centres[a]) / deviations[a]
                    below = 0.5 * math.erfc(-z / _ROOT_2)
                    product *= below
                    rates[i] = _DENSITY * math.exp(-0.5 * z * z) / (deviations[a] * below)
                for i in range(size):
                    result[near[i]] += product * rates[i]
        x += width
    found: Floats = result / result.sum()
    return found


@kernel
def first_to_finish(rng: Rng, probabilities: Floats, due: Ints) -> tuple[int, Ints]:
    """Pull arms at random, with these probabilities, until one has been pulled as often as due.

    The last pull is of that arm; the order of those before it is uniformly random (`first_of`).

    Shapes: `probabilities` (K,), `due` (K,) → (K,).
    """
    times = np.full(due.size, math.inf)
    for a in range(due.size):
        if probabilities[a] > 0.0:
            times[a] = rng.standard_gamma(float(due[a])) / probabilities[a]
    arm = int(np.argmin(times))
    pulls = np.zeros(due.size, np.int64)
    for a in range(due.size):
        if a == arm:
            pulls[a] = due[a]
        elif due[a] > 1 and times[a] < math.inf:
            pulls[a] = binomial(rng, due[a] - 1, times[arm] / times[a])
    return arm, pulls


@kernel
def first_of(rng: Rng, pulls: Ints, sizes: Ints) -> Ints:
    """Draw how often each arm is among the first `sizes` of pulls in uniformly random order.

    Proof: :prf:ref:`lem-first-of`.

    Shapes: `pulls` (K,), `sizes` (C,) → (C, K).
    """
    result = np.zeros((sizes.size, pulls.size), np.int64)
    so_far, left = np.zeros(pulls.size, np.int64), np.zeros(pulls.size, np.int64)
    for c in range(sizes.size):
        rest = pulls - so_far
        size = sizes[c] - so_far.sum()
        while size > 0:
            if np.count_nonzero(rest) == 1:
                so_far[np.argmax(rest)] += size
                break
            for a in range(rest.size):
                left[a] = binomial(rng, rest[a], 0.5)
            if left.sum() <= size:
                so_far += left
                rest -= left
                size -= left.sum()
            else:
                copy_into(rest, left)
        copy_into(result[c], so_far)
    return result
