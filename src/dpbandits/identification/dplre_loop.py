"""Whole runs of DP-LRE, compiled: `DPLRE.decide` once more.

Rewards are drawn, or come from a table, as audits have it; on the same generator a run is that of
`decide`, pull by pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.evidence import (
    CAPACITY,
    START,
    Table,
    exceeds,
    least,
    peak,
    take_in,
)
from dpbandits.identification.transport_kernels import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.binomial import binomial

__all__ = ["SCARCE", "EliminationRule", "noise_share", "run_elimination"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCARCE = 15.0
"""An arm is scarce when another has this many times √(K − 1) times its pulls: a leader may have
√(K − 1) times those of its rivals."""


class EliminationRule(NamedTuple):
    """What a compiled run knows of `DPLRE`."""

    epsilon: float
    threshold: float
    first: int  # size of the first batches
    least_growth: float
    most_growth: float


class _Arms(NamedTuple):
    """What a run knows of its arms; arrays of shape (K, …), or (K,) from `slack` on."""

    knots: Floats
    values: Floats
    low: Floats
    slope: Floats
    ns: Floats
    xs: Floats
    slack: Floats
    size: Ints  # knots
    batches: Ints
    pulls: Ints


class _Source(NamedTuple):
    """Where rewards and noise come from; see `run_elimination`."""

    means: Floats
    table: Floats
    log: Floats
    max_pulls: int
    epsilon: float


@njit(cache=True, nogil=True)
def noise_share(upper: float, lower: float, epsilon: float) -> float:
    """Return half the tilt between two means, as a share of the tilt ε that the noise lets pass.

    Each of two arms is tilted by about half of the difference of their log-odds; beyond ε the
    noise takes over. At most 1.
    """
    if epsilon == math.inf:
        return 0.0
    if lower <= 0.0 or upper >= 1.0:
        return 1.0
    tilt = math.log(upper / (1.0 - upper)) - math.log(lower / (1.0 - lower))
    return min(tilt / (2.0 * epsilon), 1.0)


@njit(cache=True, nogil=True)
def _table(arms: _Arms, a: int) -> Table:
    n = arms.size[a]
    return (
        arms.knots[a, :n], arms.values[a, :n], arms.slack[a], arms.low[a, :n], arms.slope[a, :n]
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _maximiser(arms: _Arms, a: int) -> float:
    return peak(arms.knots[a, : arms.size[a]], arms.values[a, : arms.size[a]])


@njit(cache=True, nogil=True)
def _demand(arms: _Arms, threshold: float, b: int) -> float:
    """Return the evidence, in nats, that it takes to beat arm b."""
    scarce = SCARCE * math.sqrt(arms.pulls.size - 1)
    scarcity = arms.pulls.max() / (scarce * arms.pulls[b])
    return threshold + 2.0 * math.log(max(scarcity, 1.0))


@njit(cache=True, nogil=True)
def _beats(arms: _Arms, threshold: float, leader: int, b: int) -> bool:
    demand = _demand(arms, threshold, b)
    better, worse = _table(arms, leader), _table(arms, b)
    lowest, place = least(better, worse, demand)
    return lowest >= demand and exceeds(better, worse, demand, place)


@njit(cache=True, nogil=True)
def _release(arms: _Arms, a: int, size: int, source: _Source, rng: np.random.Generator) -> bool:
    """Pull an arm `size` times and release the sum; return False if there is no room."""
    before = arms.pulls[a]
    room = source.max_pulls - arms.pulls.sum()
    if size > room:
        arms.pulls[a] += room
        return False
    if source.table.size > 0:
        total = source.table[a, before + size] - source.table[a, before]
    else:
        total = float(binomial(rng, size, source.means[a]))
    if source.epsilon < math.inf:
        total += laplace(rng, 1.0 / source.epsilon)
    if source.log.size > 0:
        source.log[arms.batches.sum()] = a
    count = arms.batches[a]
    arms.ns[a, count], arms.xs[a, count] = size, total
    arms.batches[a] += 1
    arms.pulls[a] += size
    arms.size[a], arms.slack[a] = take_in(
        arms.knots[a], arms.values[a], arms.low[a], arms.slope[a], arms.size[a],
        arms.ns[a, : count + 1], arms.xs[a, : count + 1], source.epsilon, arms.pulls[a],
    )  # fmt: skip
    return True


@njit(cache=True, nogil=True)
def _batch(rule: EliminationRule, wanted: float, pulls: int) -> int:
    """Return the size of a batch that is wanted, within the limits of its growth."""
    return math.ceil(min(max(wanted, rule.least_growth * pulls), rule.most_growth * pulls))


@njit(cache=True, nogil=True)
def _plan(
    rule: EliminationRule, arms: _Arms, leader: int, rivals: NDArray[np.bool_], lacking: Floats
) -> tuple[int, Ints]:
    """Return the sizes of the leader's batch, 0 for none, and of its rivals' batches."""
    lead, mean = math.sqrt(rivals.sum()), _maximiser(arms, leader)
    sizes, most = np.zeros(rivals.size, np.int64), 0
    for b in range(rivals.size):
        if not rivals[b]:
            continue
        other = _maximiser(arms, b)
        gain = transportation_cost_kernel(mean, other, lead, 1.0, rule.epsilon)[0]
        wanted = math.inf
        if gain > 0.0:
            noise = noise_share(mean, other, rule.epsilon)
            wanted = (0.5 * (1.0 + noise) * lacking[b] + noise) / gain
        sizes[b] = _batch(rule, wanted, arms.pulls[b])
        most = max(most, arms.pulls[b] + sizes[b])
    pulls = arms.pulls[leader]
    wanted = lead * most - pulls
    if wanted < rule.least_growth * pulls:
        return 0, sizes
    return _batch(rule, wanted, pulls), sizes


@njit(cache=True, nogil=True)
def run_elimination(
    rule: EliminationRule,
    means: Floats,
    table: Floats,
    rng: np.random.Generator,
    max_pulls: int,
    log: Floats,
) -> tuple[int, Ints]:
    """Run once.

    Parameters
    ----------
    rule : EliminationRule
        The algorithm.
    means : numpy.ndarray of float, shape (K,)
        Means of the arms, of which rewards are drawn if there is no table.
    table : numpy.ndarray of float, shape (K, N + 1) or empty
        Sums of the first 0, …, N rewards of each arm, N ≥ `max_pulls`.
    rng : numpy.random.Generator
        Source of randomness.
    max_pulls : int
        Pulls after which a run that has not stopped is ended; at most 2^53.
    log : numpy.ndarray of float
        Gets the arms in the order of their releases, if it is not empty.

    Returns
    -------
    recommendation : int
        −1 if the run was ended before it stopped.
    pulls : numpy.ndarray of int, shape (K,)
    """
    n_arms = means.size
    source = _Source(means, table, log, max_pulls, rule.epsilon)
    # each batch adds `least_growth` times an arm's pulls or more, and two thirds if it is a top-up
    batches = int(math.log(2.0**53) / math.log1p(min(rule.least_growth, 1.0))) + 3
    shape = (n_arms, CAPACITY)
    arms = _Arms(
        np.empty(shape), np.zeros(shape), np.empty(shape), np.empty(shape),
        np.empty((n_arms, batches)), np.empty((n_arms, batches)), np.zeros(n_arms),
        np.full(n_arms, START.size), np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64),
    )  # fmt: skip
    for a in range(n_arms):
        arms.knots[a, : START.size] = START
    for a in range(n_arms):
        if not _release(arms, a, rule.first, source, rng):
            return -1, arms.pulls
    rivals, lacking = np.ones(n_arms, np.bool_), np.zeros(n_arms)
    contends = np.ones(n_arms, np.bool_)
    while True:
        leader, mean = 0, _maximiser(arms, 0)
        for a in range(1, n_arms):
            other = _maximiser(arms, a)
            if other > mean:
                leader, mean = a, other
        better = _table(arms, leader)
        for b in range(n_arms):
            demand = _demand(arms, rule.threshold, b)
            rivals[b] = b != leader and (contends[b] or demand > rule.threshold)
            if rivals[b]:
                worse = _table(arms, b)
                lowest, place = least(better, worse, -math.inf)
                lacking[b] = demand - lowest
                rivals[b] = not (lowest >= demand and exceeds(better, worse, demand, place))
        if rivals.any():
            size, sizes = _plan(rule, arms, leader, rivals, lacking)
            if size > 0:
                if not _release(arms, leader, size, source, rng):
                    return -1, arms.pulls
                for b in range(n_arms):
                    rivals[b] = rivals[b] and not _beats(arms, rule.threshold, leader, b)
            for b in range(n_arms):
                if not rivals[b]:
                    continue
                if not _release(arms, b, sizes[b], source, rng):
                    return -1, arms.pulls
                rivals[b] = not _beats(arms, rule.threshold, leader, b)
        if not rivals.any():
            return leader, arms.pulls
        contends[:] = rivals
        contends[leader] = True
        most = int(math.sqrt(arms.pulls.max()))  # exact: there are 2^53 pulls at most
        for b in range(n_arms):
            scarce = not contends[b] and arms.pulls[b] < most
            if scarce and not _release(arms, b, 2 * most, source, rng):
                return -1, arms.pulls
