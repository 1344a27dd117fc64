"""Thompson sampling from posteriors that stay for many pulls, from one change to the next.

Each pull is of the arm whose draw from its normal posterior is the largest: of arm a with
probability π_a, whatever was drawn before. An arm's posterior changes when it has been pulled as
often as its open batch needs; which arm is first, and how often the others have been pulled by
then, is drawn at once. Proof: :prf:ref:`lem-race`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.rewards.binomial import binomial

__all__ = ["first_to_finish", "first_of", "largest_draw"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL = 2.0  # widest panel of the quadrature, in standard deviations of each arm
_REACH = 8.25
_TINY = 1e-16
_ROOT_2 = math.sqrt(2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@njit(cache=True, nogil=True)
def largest_draw(centres: Floats, deviations: Floats) -> Floats:
    """Return the probability that each of K independent normal variables is the largest.

    ∫ φ_a Π_{b≠a} Φ_b by Gauss's rule on panels of at most 2 standard deviations of each arm, with
    an error below 10⁻¹² (found by halving the panels). Proof: :prf:ref:`lem-largest-draw`.

    Examples
    --------
    >>> largest_draw(np.array([0.0, 0.0, -50.0]), np.array([1.0, 2.0, 1.0])).round(12).tolist()
    [0.5, 0.5, 0.0]
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
    return result / result.sum()


@njit(cache=True, nogil=True)
def first_to_finish(rng: Rng, probabilities: Floats, due: Ints) -> tuple[int, Ints]:
    """Pull arms at random, with these probabilities, until one has been pulled as often as due.

    Returns the arm, and the pulls of all arms, shape (K,). The last pull is of that arm; the order
    of those before it is uniformly random (`first_of`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first_to_finish(rng, np.array([1.0, 0.0]), np.array([5, 1]))[1].tolist()
    [5, 0]
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


@njit(cache=True, nogil=True)
def first_of(rng: Rng, pulls: Ints, sizes: Ints) -> Ints:
    """Draw how often each arm comes among the first `sizes` of pulls in uniformly random order.

    Each arm comes `pulls` times in all; the result has a row for each of the increasing sizes.
    Proof: :prf:ref:`lem-first-of`.

    Examples
    --------
    >>> first_of(np.random.default_rng(0), np.array([0, 9]), np.array([2, 5])).tolist()
    [[0, 2], [0, 5]]
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
                rest[:] = left
        result[c] = so_far
    return result
