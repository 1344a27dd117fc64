"""Epochs of the eliminations whose tests are as wide as they must be, and no wider.

What decides is the difference of two noisy sums of n rewards. Given the noise Z in it, exceeding
its mean by x has probability e^(−g((x − Z)⁺)) at most, with g of Hoeffding or of Bennett; so over
the noise it is E e^(−g((x − Z)⁺)) at most. This expectation is bounded from above: the noise is cut
into cells, and all mass of a cell stands at its upper end. No term is negative, and the bound is a
bound whatever the cells are. Proof: :prf:ref:`lem-cells`.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints
from dpbandits._kernels import kernel
from dpbandits.configuration import ArmCount, Budget, Fraction, checked_arguments, whole
from dpbandits.mechanisms import laplace_sum_quantile, laplace_sum_tail
from dpbandits.schedules import MOST_PULLS

__all__ = ["NoiseCells", "difference_tail_kernel", "noise_cells", "tuned_epochs"]

Horizon = Annotated[int, whole(2, MOST_PULLS)]
"""A horizon T, from 2 to 2^62."""
_FAR, _NEAR = 1e-4, 1e-3  # what the cells leave above, as a part of the level, and below


class NoiseCells(NamedTuple):
    """A law of finitely many values that lies above that of the noise in a difference.

    Attributes
    ----------
    ends : numpy.ndarray of float, shape (m,)
        Upper ends of the cells, increasing; the last is infinite, unless there is no noise.
    masses : numpy.ndarray of float, shape (m,)
        Probabilities of the cells.

    Examples
    --------
    >>> cells = noise_cells(2, 1.0, 1e-9)
    >>> float(cells.ends[-1]), round(float(cells.masses.sum()), 12)
    (inf, 1.0)
    """

    ends: Floats
    masses: Floats


@functools.lru_cache(maxsize=64)
def noise_cells(draws: int, scale: float, level: float, cells: int = 1024) -> NoiseCells:
    """Cut the sum of some Laplace variables of mean 0 into cells.

    Parameters
    ----------
    draws : int
        Number of the variables, at least 1.
    scale : float
        Their scale, at least 0; 0 is no noise.
    level : float
        A probability, in (0, 1), that the bounds from these cells are compared with.
    cells : int
        Number of the cells, at least 8: a bound is the less above the truth the more there are.

    Returns
    -------
    NoiseCells
        Ends and masses.

    Examples
    --------
    >>> noise_cells(2, 0.0, 0.1)
    NoiseCells(ends=array([0.]), masses=array([1.]))
    """
    if scale == 0.0:
        return NoiseCells(np.zeros(1), np.ones(1))
    far, near = (laplace_sum_quantile(level * x, (draws,), (1.0,)) for x in (_FAR, _NEAR / level))
    above = np.linspace(0.0, far, cells - cells // 4)
    below = np.linspace(0.0, near, cells // 4)
    tails = [
        np.array([laplace_sum_tail(x, (draws,), (1.0,)) for x in each.tolist()])
        for each in (above, below)
    ]
    masses = [tails[1][-1:], -np.diff(tails[1])[::-1], -np.diff(tails[0]), tails[0][-1:]]
    ends = np.concatenate([-below[::-1], above[1:], [np.inf]])
    return NoiseCells(scale * ends, np.concatenate(masses))


@kernel
def difference_tail_kernel(
    lead: float, pulls: float, variance: float, ends: Floats, masses: Floats
) -> float:
    """Bound the probability that a noisy difference of two sums exceeds its mean by `lead`.

    Parameters
    ----------
    lead : float
        x, in units of a sum of rewards.
    pulls : float
        Number n of rewards, in [0, 1], in each of the two sums.
    variance : float
        Bound s on the sum of the two variances of one reward, positive; infinite if none is known.
    ends, masses : numpy.ndarray of float, shape (m,)
        `NoiseCells` of the noise in the difference.

    Returns
    -------
    float
        E e^(−g((x − Z)⁺)), bounded from above, for g(y) = y²/n or, if greater, ns·h(y/(ns)) with
        h(t) = (1 + t)·log(1 + t) − t.

    Examples
    --------
    >>> tail = difference_tail_kernel(20.0, 100.0, np.inf, *noise_cells(2, 0.0, 0.1))
    >>> math.isclose(tail, math.exp(-4))
    True
    """
    total, spread = 0.0, pulls * variance
    for i in range(ends.size):
        y = lead - ends[i]
        if y <= 0.0:
            total += masses[i]
            continue
        exponent = y * y / pulls
        if spread < math.inf:
            ratio = y / spread
            exponent = max(exponent, spread * ((1.0 + ratio) * math.log1p(ratio) - ratio))
        total += masses[i] * math.exp(-exponent)
    return total


@checked_arguments
def tuned_epochs(
    n_arms: ArmCount, horizon: Horizon, beta: Fraction, epsilon: Budget = math.inf
) -> Ints:
    """Return the pulls of a viable arm in each epoch of `TunedDPSE`.

    In epoch e = 1, …, E = ⌈½ log2 T⌉ they are the least n that is found with
    E e^(−(n·Δ_e/2 − Z)⁺²/n) ≤ p = β/((K − 1)E), where Δ_e = 2^−e and Z is the difference of two
    Laplace variables of scale 1/ε. Bounds on them: :prf:ref:`lem-tuned-epochs`.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    horizon : int
        Horizon T, from 2 to 2^62.
    beta : float
        Confidence β in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.

    Returns
    -------
    numpy.ndarray of int, shape (at most E + 1,)
        Pulls in the epochs, read-only. The last is T, more than two viable arms are ever left;
        what follows an epoch that cannot end either is left out.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> tuned_epochs(5, 50_000_000, 1 / 50_000_000, epsilon=1.0)[:3].tolist()
    [356, 1396, 5559]
    """
    return _tuned_epochs(n_arms, horizon, beta, epsilon)


@functools.lru_cache(maxsize=256)
def _tuned_epochs(n_arms: int, horizon: int, beta: float, epsilon: float) -> Ints:
    last = max(1, math.ceil(math.log2(horizon) / 2))
    level = beta / ((n_arms - 1) * last)
    cells = noise_cells(2, 1 / epsilon, level)
    noise = laplace_sum_quantile(level, (2,), (1 / epsilon,))
    pulls: list[int] = []
    for epoch in range(1, last + 1):
        gap = 0.5**epoch
        low, high = 0, math.floor(4 * math.log(2 / level) / gap**2 + 4 * noise / gap) + 1
        if gap <= epsilon / 2:
            high = min(high, math.ceil(4 * (math.log(1 / level) + 2 * math.log(4 / 3)) / gap**2))
        while high - low > 1:  # that `high` will do is known
            middle = (low + high) // 2
            if difference_tail_kernel(middle * gap / 2, middle, math.inf, *cells) <= level:
                high = middle
            else:
                low = middle
        pulls.append(high)
        if 2 * sum(pulls) > horizon:
            break
    found = np.array([*pulls, horizon], dtype=np.int64)
    found.flags.writeable = False
    return found
