"""Epochs of the eliminations whose tests are only as wide as necessary.

The test statistic is the difference of two noisy sums of n rewards. Given its noise Z, it exceeds
its mean by x with probability at most e^(−g((x − Z)⁺)), with g of Hoeffding or of Bennett; averaged
over the noise, at most E e^(−g((x − Z)⁺)). This expectation is bounded from above: the noise is cut
into cells, and the mass of a cell is moved to its upper end. All terms are nonnegative, so the
bound is valid for any choice of cells. Proof: :prf:ref:`lem-cells`.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints
from dpbandits._engine.kernels import kernel
from dpbandits.configuration import ArmCount, Budget, Count, Fraction, checked_arguments, whole
from dpbandits.mechanisms import laplace_sum_quantile, laplace_sum_tail
from dpbandits.schedules import MOST_PULLS, release_plan

__all__ = [
    "BennettPlan",
    "NoiseCells",
    "bennett_kept_kernel",
    "bennett_plan",
    "difference_tail_kernel",
    "noise_cells",
    "tuned_epochs",
]

Horizon = Annotated[int, whole(2, MOST_PULLS)]
"""A horizon T, from 2 to 2^62."""
_FAR, _NEAR = 1e-4, 1e-3  # mass left out above the cells and below, relative to the level


class NoiseCells(NamedTuple):
    """A discrete distribution that stochastically dominates the noise in a difference.

    Attributes
    ----------
    ends : numpy.ndarray of float, shape (m,)
        Upper ends of the cells, increasing; the last is infinite if there is noise.
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
    """Discretise the sum of some Laplace variables of mean 0."""
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

    Shapes: `ends, masses` (m,).
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
    n_arms: Annotated[int, whole(2, MOST_PULLS)],
    horizon: Horizon,
    beta: Fraction,
    epsilon: Budget = math.inf,
) -> Ints:
    """Return the pulls of a viable arm in each epoch of `TunedDPSE`.

    In epoch e = 1, …, E = ⌈½ log2 T⌉ they are the least n found with
    E e^(−(n·Δ_e/2 − Z)⁺²/n) ≤ p = β/((K − 1)E), where Δ_e = 2^−e and Z is the difference of two
    Laplace variables of scale 1/ε. Bounds on them: :prf:ref:`lem-tuned-epochs`.

    Returns shape (at most E + 1,).
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
        most = 4 * math.log(2 / level) / gap**2 + 4 * noise / gap
        low, high = 0, math.floor(min(most, horizon)) + 1
        if gap <= epsilon / 2:
            high = min(high, math.ceil(4 * (math.log(1 / level) + 2 * math.log(4 / 3)) / gap**2))
        while high - low > 1:  # `high` is known to suffice
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


# -------------------------------------------------------------------- epochs that use variances

_VARIANCE_STEPS, _SUM_STEPS = 128, 16  # points of the two grids in an octave


class BennettPlan(NamedTuple):
    """Plan of the E epochs of `BennettDPSE`: releases at times fixed beforehand, and tests.

    Attributes
    ----------
    pulls : numpy.ndarray of int, shape (E + 1,)
        Pulls of each viable arm in each epoch. The last is T, more than a run has left.
    rewards : numpy.ndarray of float, shape (E,)
        Number n of an arm's rewards in the test at the end of each epoch.
    noise : numpy.ndarray of float, shape (E,)
        u/ε: the noise in n times an arm's variance exceeds it with probability at most p.
    variances : numpy.ndarray of float, shape (J,)
        Grid of variances of one arm, from 1/4 downwards.
    least_spreads : numpy.ndarray of float, shape (E, J)
        Least estimate of an arm's variance that is consistent with each variance of the grid.
    leads : numpy.ndarray of float, shape (E, I)
        Lead that eliminates an arm, if the variances of two arms add up to at most (1/2)·2^(−i/16).

    Examples
    --------
    >>> plan = bennett_plan(5, 10**6, 1e-6, 1.0, 4)
    >>> plan.pulls[:5].tolist(), plan.rewards[:6].tolist()
    ([24, 24, 48, 96, 192], [24.0, 48.0, 96.0, 192.0, 360.0, 720.0])
    """

    pulls: Ints
    rewards: Floats
    noise: Floats
    variances: Floats
    least_spreads: Floats
    leads: Floats


@kernel
def bennett_kept_kernel(
    plan: BennettPlan, epoch: int, sums: Floats, spreads: Floats
) -> NDArray[np.bool_]:
    """Return which arms stay after the test of an epoch.

    Arm a is eliminated if the noisy sum of some arm i leads by more than the variances of both
    allow. An arm i that trails another arm, and has no smaller variance, need not be considered:
    the result is the same.

    Shapes: `sums` (K,), `spreads` (K,) → (K,).
    """
    n, noise, least = plan.rewards[epoch], plan.noise[epoch], plan.least_spreads[epoch]
    places = np.empty(sums.size, np.int64)  # on the grid: the further, the smaller the variance
    rivals, count = np.empty(least.size, np.int64), 0
    for i in range(sums.size):
        mean = min(max(sums[i] / n, 0.0), 1.0)
        spread = max(mean * (1.0 - mean) - (spreads[i] - noise) / n, 0.0)
        low, high = 0, least.size  # variances up to `low` are too large for this estimate
        while high > low:
            middle = (low + high) // 2
            if spread < least[middle]:
                low = middle + 1
            else:
                high = middle
        places[i] = max(low - 1, 0)
        ahead = False
        for r in range(count):
            ahead |= places[rivals[r]] >= places[i] and sums[rivals[r]] >= sums[i]
        if not ahead:
            left = 0
            for r in range(count):
                if places[rivals[r]] > places[i] or sums[rivals[r]] > sums[i]:
                    rivals[left] = rivals[r]
                    left += 1
            rivals[left] = i
            count = left + 1
    kept = np.ones(sums.size, np.bool_)
    for i in range(sums.size):
        for r in range(count):
            both = plan.variances[places[rivals[r]]] + plan.variances[places[i]]
            step = int(_SUM_STEPS * math.log2(0.5 / both) - 1e-9)
            if sums[rivals[r]] - sums[i] > plan.leads[epoch, step]:
                kept[i] = False
                break
    return kept


@kernel
def _least_spread(variance: float, n: float, ell: float) -> float:
    """Return the least V with n·kl₊(V + w(v)², v) ≤ ℓ for v = `variance`; −inf if all do."""
    if -n * math.log1p(-variance) <= ell:
        return -np.inf
    low, high = 0.0, variance
    for _ in range(50):
        b = (low + high) / 2.0
        entropy = (1.0 - b) * math.log((1.0 - b) / (1.0 - variance))
        if b > 0.0:
            entropy += b * math.log(b / variance)
        if n * entropy > ell:
            low = b
        else:
            high = b
    more = ell + math.log(2.0)
    width = math.sqrt(2.0 * variance * more / n) + more / (3.0 * n)
    return low - width * width


@kernel
def _fill_tests(plan: BennettPlan, epoch: int, level: float, ends: Floats, masses: Floats) -> None:
    """Compute least spreads and leads of an epoch."""
    n, ell = plan.rewards[epoch], -math.log(level)
    more = ell + math.log(2.0)
    lowest = np.inf
    for j in range(plan.variances.size):
        lowest = min(lowest, _least_spread(plan.variances[j], n, ell))
        plan.least_spreads[epoch, j] = lowest
    high = math.sqrt(n * more) + plan.noise[epoch]
    for i in range(plan.leads.shape[1]):
        both = 0.5 * 2.0 ** (-i / _SUM_STEPS)
        if both >= -2.0 * math.expm1(-ell / n):  # smaller variances fit every estimate
            high = min(high, math.sqrt(2.0 * n * both * more) + more / 3.0 + plan.noise[epoch])
            low = 0.9 * high
            while difference_tail_kernel(low, n, both, ends, masses) <= level:
                low, high = 0.9 * low, low
            while high - low > 1e-3 * high:
                middle = (low + high) / 2.0
                if difference_tail_kernel(middle, n, both, ends, masses) <= level:
                    high = middle
                else:
                    low = middle
        plan.leads[epoch, i] = high


@checked_arguments
def bennett_plan(
    n_arms: ArmCount, horizon: Horizon, beta: Fraction, epsilon: Budget, memory: Count
) -> BennettPlan:
    """Return the epochs and the tests of `BennettDPSE`.

    After epoch e = 1, …, E an arm has had n_e pulls, by `dpbandits.schedules.release_plan`. The
    level of a test is p = β/((4K − 1)E). Proof: :prf:ref:`thm-bennett`.
    """
    return _bennett_plan(n_arms, horizon, beta, epsilon, memory)


@functools.lru_cache(maxsize=64)
def _bennett_plan(
    n_arms: int, horizon: int, beta: float, epsilon: float, memory: int
) -> BennettPlan:
    releases = release_plan(n_arms, horizon, beta, epsilon)
    last, epochs = releases.releases, range(1, releases.releases + 1)
    level = beta / ((4 * n_arms - 1) * last)
    rewards = np.array([releases.counted(e, memory) for e in epochs], dtype=float)
    pulls = [*(releases.counted(e, 1) for e in epochs), horizon]
    draws = [2 * min(memory, e) for e in epochs]
    noise = [laplace_sum_quantile(level, (k,), (1 / epsilon,)) for k in draws]
    least = -math.expm1(math.log(level) / rewards.max())
    octaves = max(0, math.ceil(math.log2(0.25 / least)))
    variances = 0.25 * 0.5 ** (np.arange(_VARIANCE_STEPS * octaves + 1) / _VARIANCE_STEPS)
    tests = (np.empty((last, variances.size)), np.empty((last, _SUM_STEPS * octaves + 1)))
    plan = BennettPlan(np.array(pulls), rewards, np.array(noise), variances, *tests)
    for epoch in range(last):
        cells = noise_cells(draws[epoch], 1 / epsilon, level, 512)
        _fill_tests(plan, epoch, level, *cells)
    return plan
