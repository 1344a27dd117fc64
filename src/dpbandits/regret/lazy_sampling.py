"""Thompson sampling from posteriors that stay for many pulls, from one change to the next.

Each pull is of the arm whose draw from its normal posterior is the largest: of arm a with
probability π_a, whatever was drawn before. An arm's posterior changes when it has been pulled as
often as its open batch needs. Which arm is first, and how often the others have been pulled by
then, is drawn at once: let the pulls come at the times of a Poisson process of rate 1. Those of
arm a then are one of rate π_a, and these are independent. So the time at which arm a has its d-th
pull is Gamma(d)/π_a; the arm with the least time τ is first; and of the d − 1 pulls of another arm
before its d-th at time g > τ each came before τ with probability τ/g. Given how many there were,
they are uniform on [0, τ], so that the pulls before the last come in any order alike.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._binomial import binomial

__all__ = ["first_to_finish", "first_of", "largest_draw"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_BREAKS = np.array([-9.0, -7.0, -5.0, -3.5, -2.0, -0.7, 0.7, 2.0, 3.5, 5.0, 7.0, 9.0])
_REACH = 9.0
_ROOT_2 = math.sqrt(2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@njit(cache=True, nogil=True)
def largest_draw(
    centres: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that each of K independent normal variables is the largest.

    ∫ φ_a Π_{b≠a} Φ_b by Gauss's rule on pieces that no law changes much in; what lies more than 9
    standard deviations from a centre is left out, 10⁻¹⁸ of its probability.

    Parameters
    ----------
    centres, deviations : numpy.ndarray of float, shape (K,)
        Means and standard deviations.

    Returns
    -------
    numpy.ndarray of float, shape (K,)
        Adds up to 1.

    Examples
    --------
    >>> largest_draw(np.array([0.0, 0.0, -50.0]), np.array([1.0, 2.0, 1.0])).round(12).tolist()
    [0.5, 0.5, 0.0]
    """
    n_arms = centres.size
    start = np.max(centres - _REACH * deviations)
    end = np.max(centres + _REACH * deviations)
    breaks = np.empty(n_arms * _BREAKS.size + 1)
    breaks[0] = start
    size = 1
    for a in range(n_arms):
        for place in _BREAKS:
            x = centres[a] + place * deviations[a]
            if start < x <= end:
                breaks[size] = x
                size += 1
    breaks = np.sort(breaks[:size])
    below = np.empty(n_arms)
    result = np.zeros(n_arms)
    for piece in range(size - 1):
        half = 0.5 * (breaks[piece + 1] - breaks[piece])
        for node in range(_NODES.size):
            x = breaks[piece] + half * (1.0 + _NODES[node])
            product = half * _WEIGHTS[node]
            for a in range(n_arms):
                z = (x - centres[a]) / deviations[a]
                below[a] = 1.0 if z > _REACH else 0.5 * math.erfc(-z / _ROOT_2)
                product *= below[a]
            for a in range(n_arms):
                z = (x - centres[a]) / deviations[a]
                if abs(z) < _REACH and below[a] > 0.0:
                    density = _DENSITY * math.exp(-0.5 * z * z) / deviations[a]
                    result[a] += product * density / below[a]
    return result / result.sum()


@njit(cache=True, nogil=True)
def first_to_finish(
    rng: np.random.Generator, probabilities: NDArray[np.float64], due: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Pull arms at random until one of them has been pulled as often as it is due.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    probabilities : numpy.ndarray of float, shape (K,)
        Of each arm at each pull.
    due : numpy.ndarray of int64, shape (K,)
        Pulls that each arm needs, at least 1.

    Returns
    -------
    tuple
        The arm, and the pulls of all arms, shape (K,). The last pull is of that arm; the order of
        those before it is uniformly random (`first_of`).

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
def _first_of(rng: np.random.Generator, pulls: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Draw how often each arm comes among the first `size` of `pulls`, in random order."""
    result = np.zeros(pulls.size, np.int64)
    rest = pulls.copy()
    left = np.zeros(pulls.size, np.int64)
    while size > 0:
        if np.count_nonzero(rest) == 1:
            result[np.argmax(rest)] += size
            break
        for a in range(rest.size):
            left[a] = binomial(rng, rest[a], 0.5)
        if left.sum() <= size:
            result += left
            rest -= left
            size -= left.sum()
        else:
            rest[:] = left
    return result


@njit(cache=True, nogil=True)
def first_of(
    rng: np.random.Generator, pulls: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw how often each arm comes among the first of pulls in uniformly random order.

    Pulls at uniform times: half of the interval after half is split off, each with as many pulls
    as its Binomial variables say, until the place is found.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    pulls : numpy.ndarray of int64, shape (K,)
        How often each arm comes in all.
    sizes : numpy.ndarray of int64, shape (C,)
        Increasing, at most the sum of `pulls`: the first how many.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)

    Examples
    --------
    >>> first_of(np.random.default_rng(0), np.array([0, 9]), np.array([2, 5])).tolist()
    [[0, 2], [0, 5]]
    """
    result = np.zeros((sizes.size, pulls.size), np.int64)
    so_far = np.zeros(pulls.size, np.int64)
    for c in range(sizes.size):
        so_far = so_far + _first_of(rng, pulls - so_far, sizes[c] - so_far.sum())
        result[c] = so_far
    return result
