"""Whole runs of DP-TT, AdaP-TT and AdaP-TT*, compiled: `BatchedTopTwo.decide` once more.

Rewards are drawn, or come from a table, as audits have it; on the same generator a run is that of
`decide`, pull by pull. The rounds between releases, the costs and the thresholds are the
algorithms' own compiled functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.challenger import advance_costs
from dpbandits.identification.doubling import advance_doubling
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_kernel,
    pair_kernel,
    separate_kernel,
)
from dpbandits.identification.transport_kernels import (
    calibrated_cost_kernel,
    transportation_cost_kernel,
)
from dpbandits.mechanisms import laplace
from dpbandits.rewards.binomial import binomial
from dpbandits.schedules import MOST_PULLS, next_release

__all__ = ["NO_LOG", "NO_TABLE", "Rule", "run_batches"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_TABLE, NO_LOG = np.empty((0, 0)), np.empty(0)
"""In the place of tables and logs that are not wanted."""
_SEPARATE = RULES.index("separate")


class Rule(NamedTuple):
    """What a compiled run knows of an algorithm."""

    epsilon: float
    delta: float
    leader_share: float
    doubles: bool  # whether it is AdaP-TT or AdaP-TT*, not DP-TT
    threshold: int  # place in `thresholds.RULES`
    constant: float  # of the threshold of DP-TT, and its exponent
    exponent: float
    exploration: float
    calibrated: bool  # whether costs know the noise
    cost_epsilon: float  # ε, if the cost of AdaP-TT* knows it
    eta: float
    first: int


class _State(NamedTuple):
    """In the place of a `BatchState`."""

    pulls: Ints
    released: Ints
    following: Ints
    releases: Ints
    batch: Ints
    led: Ints
    own: Ints
    total: Floats
    last: Floats


@njit(cache=True, nogil=True)
def _following(rule: Rule, pulls: int) -> int:
    """Return the pulls at which an arm is released after `pulls`."""
    if rule.doubles:
        return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1
    return next_release(pulls, rule.eta, rule.first)


@njit(cache=True, nogil=True)
def _settled(rule: Rule, state: _State, means: Floats, best: int, b: int) -> bool:
    """Return whether arm b is known to be worse than the best one."""
    k, j, n_arms = state.releases[best], state.releases[b], means.size
    epsilon, delta = rule.epsilon, rule.delta
    if rule.doubles:
        gap, n, m = means[best] - means[b], state.batch[best], state.batch[b]
        if rule.threshold == _SEPARATE:
            return gap > separate_kernel(delta, epsilon, n_arms, k, j, n, m)
        threshold = gaussian_kernel(rule.threshold, delta, epsilon, n_arms, k, j, n, m)
        return 0.5 * gap**2 / (1 / n + 1 / m) > threshold
    threshold = pair_kernel(rule.threshold, rule.constant, rule.exponent, k, j)
    n, m = state.released[best], state.released[b]
    # W ≥ W̃: most often W is enough to say no
    if not transportation_cost_kernel(means[best], means[b], n, m, epsilon)[0] > threshold:
        return False
    cost = calibrated_cost_kernel(
        means[best], means[b], n, m, k / n, j / m, epsilon, 0.0, 0.0, -1.0
    )[0]  # fmt: skip
    return cost > threshold


@njit(cache=True, nogil=True)
def _advance(rule: Rule, state: _State, means: Floats, room: int) -> int:
    """Play until an arm's batch ends (return the arm) or the room is used up (return −1)."""
    if rule.doubles:
        log_time = math.log(state.released.sum())
        bonus = log_time / (rule.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
        leader = int((means + bonus).argmax())
        return advance_doubling(
            leader, means[leader] - means, rule.cost_epsilon, state.pulls, state.following,
            state.led, state.own, rule.leader_share, room,
        )  # fmt: skip
    ratios = np.zeros(means.size)
    if rule.calibrated:
        ratios = state.releases / state.released
    return advance_costs(
        int(means.argmax()), means, ratios, rule.epsilon, rule.exploration, state.pulls,
        state.following, state.led, state.own, rule.leader_share, room,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def run_batches(
    rule: Rule,
    means: Floats,
    table: Floats,
    rng: np.random.Generator,
    max_pulls: int,
    log: Floats,
) -> tuple[int, Ints]:
    """Run once.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    means : numpy.ndarray of float, shape (K,)
        Means of the arms, of which rewards are drawn if there is no table.
    table : numpy.ndarray of float, shape (K, N + 1) or empty
        Sums of the first 0, …, N rewards of each arm, N ≥ `max_pulls`.
    rng : numpy.random.Generator
        Source of randomness.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    log : numpy.ndarray of float
        Gets the arms in the order of their releases, if it is not empty.

    Returns
    -------
    recommendation : int
        −1 if the run was ended before it stopped.
    pulls : numpy.ndarray of int, shape (K,)
    """
    n_arms = means.size
    counts, sums = np.zeros((7, n_arms), np.int64), np.zeros((2, n_arms))
    state = _State(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], sums[0],
        sums[1],
    )  # fmt: skip
    scale, first = 1.0 / rule.epsilon, _following(rule, 0)
    room, n_releases = max_pulls, 0
    while True:
        if n_releases < n_arms:
            arm = n_releases
            state.pulls[arm] = min(first, room)
            if state.pulls[arm] < first:
                return -1, state.pulls
        else:
            estimates = state.last / state.batch if rule.doubles else state.total / state.released
            best = int(estimates.argmax())
            stops = True
            for b in range(n_arms):
                stops = stops and (b == best or _settled(rule, state, estimates, best, b))
            if stops:
                return best, state.pulls
            arm = _advance(rule, state, estimates, room) if room > 0 else -1
            if arm < 0:
                return -1, state.pulls
        before, pulls = state.released[arm], state.pulls[arm]
        if table.size > 0:
            last = table[arm, pulls] - table[arm, before]
        else:
            last = float(binomial(rng, pulls - before, means[arm]))
        last += laplace(rng, scale)
        if log.size > 0:
            log[n_releases] = arm
        state.last[arm] = last
        state.total[arm] += last
        state.batch[arm] = pulls - before
        state.released[arm] = pulls
        state.releases[arm] += 1
        state.following[arm] = _following(rule, pulls)
        n_releases += 1
        room = max_pulls - state.pulls.sum()
