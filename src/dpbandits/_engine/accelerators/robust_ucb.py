"""Robust UCB: walks for a fixed δ; otherwise a heap of the rewards that will be truncated later."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.heavy_skipping import MAX_WALKS, WALK_ERROR, tree_skip_and_tally
from dpbandits._engine.accelerators.heavy_steps import play_by_steps, tree_index_of
from dpbandits._engine.kernels import kernel
from dpbandits.regret.base import Play, Times
from dpbandits.regret.robust_ucb import ROBUST_FACTOR, RobustUCB
from dpbandits.rewards.heavy_instances import GivenRewards, HeavyRewards
from dpbandits.rewards.heavy_laws import GIVEN, next_heavy
from dpbandits.rewards.sources import Tape, refill, tape_of

__all__ = ["play_anytime"]

_FIRST_HEAP = 1024  # rewards of an arm that can wait before the heaps are made larger


class RobustIndex(NamedTuple):
    """Parameters of robust UCB for the loop.

    Attributes
    ----------
    moment : float
        u.
    order : float
        v.
    factor : float
        Constant of the bonus.

    Examples
    --------
    >>> RobustIndex(2.0, 0.5, ROBUST_FACTOR).factor
    4.0
    """

    moment: float
    order: float
    factor: float


class _AnytimeState(NamedTuple):
    """A run: each arm's mean, sum of untruncated rewards, and heap of rewards truncated later."""

    clock: Ints  # pulls made, checkpoints passed
    pulls: Ints
    sizes: Ints  # of the heaps
    means: Floats
    sums: Floats
    shrunk: Floats  # n^(−v/(1+v))
    keys: Floats  # (K, size): log(1/δ) at which a reward is truncated, the least in front
    waiting: Floats  # (K, size): the rewards


@kernel(borrows=True)
def _push(keys: Floats, items: Floats, size: int, key: float, item: float) -> None:
    """Put a key into a binary heap of `size` keys, the least in front."""
    i = size
    while i > 0:
        parent = (i - 1) // 2
        if keys[parent] <= key:
            break
        keys[i] = keys[parent]
        items[i] = items[parent]
        i = parent
    keys[i] = key
    items[i] = item


@kernel(borrows=True)
def _pop(keys: Floats, items: Floats, size: int) -> None:
    """Remove the least key from a binary heap of `size` keys."""
    key, item = keys[size - 1], items[size - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i] = keys[child]
        items[i] = items[child]
        i = child
    keys[i] = key
    items[i] = item


@kernel
def _run_robust_ucb(
    kinds: Ints,
    parameters: Floats,
    rule: RobustIndex,
    state: _AnytimeState,
    tape: Tape,
    checkpoints: Ints,
    counts: Ints,
    rng: Rng,
) -> int:
    """Continue; return −1 at the end, an arm whose reward is not on the tape, K for a full heap."""
    n_arms = kinds.size
    moment, order, factor = rule
    clock, pulls, sizes, means, sums, shrunk, keys, waiting = state
    exponent = order / (1.0 + order)
    scale = factor * moment ** (1.0 / (1.0 + order))
    last_log = 2.0 * math.log(checkpoints[-1])
    while clock[1] < checkpoints.size:
        while clock[0] < checkpoints[clock[1]]:
            arm: int = clock[0]
            log_term = 2.0 * math.log(clock[0] + 1)
            if clock[0] >= n_arms:
                bonus = scale * log_term**exponent
                arm = 0
                highest = -math.inf
                for b in range(n_arms):
                    if sizes[b] > 0 and keys[b, 0] < log_term:
                        while sizes[b] > 0 and keys[b, 0] < log_term:
                            sums[b] -= waiting[b, 0]
                            _pop(keys[b], waiting[b], sizes[b])
                            sizes[b] -= 1
                        means[b] = sums[b] / pulls[b]
                    index = means[b] + bonus * shrunk[b]
                    if index > highest:
                        arm = b
                        highest = index
            if kinds[arm] == GIVEN and tape.read[arm] == tape.ends[arm]:
                return arm
            if sizes[arm] == keys.shape[1]:
                return n_arms
            n = pulls[arm] + 1
            reward = next_heavy(
                rng, (kinds[arm], parameters[arm, 0], parameters[arm, 1]), tape, arm
            )
            # most rewards are so small that they are never truncated: compute no power for them
            limit = moment * n / last_log if last_log > 0.0 else math.inf
            size = abs(reward)
            if (size <= 1.0 and limit >= 1.0) or (size * size <= limit and size >= 1.0):
                sums[arm] += reward
            else:
                key = moment * n / size ** (1.0 + order) if size > 0.0 else math.inf
                if key >= last_log:
                    sums[arm] += reward
                elif key >= log_term:
                    _push(keys[arm], waiting[arm], sizes[arm], key, reward)
                    sizes[arm] += 1
                    sums[arm] += reward
            pulls[arm] = n
            means[arm] = sums[arm] / n
            shrunk[arm] = n ** (-exponent)
            clock[0] += 1
        for b in range(n_arms):
            counts[clock[1], b] = pulls[b]
        clock[1] += 1
    return -1


def play_anytime(rewards: HeavyRewards, checkpoints: Times, rng: Rng) -> Ints:
    """Play robust UCB with the truncated mean and δ = t^−2, pull by pull.

    Rewards that will be truncated before the end are in a heap, ordered by the log(1/δ) at which
    they are: a pull costs O(log n). Proof: :prf:ref:`lem-waiting`.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    n_arms = rewards.n_arms
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    pulls, sizes = np.zeros((2, n_arms), np.int64)
    heaps = np.empty((2, n_arms, _FIRST_HEAP))
    state = _AnytimeState(np.zeros(2, np.int64), pulls, sizes, *np.zeros((3, n_arms)), *heaps)
    rule = RobustIndex(rewards.moment_bound, rewards.order, ROBUST_FACTOR)
    tape, codes = tape_of(rewards), rewards.codes
    while True:
        arm = _run_robust_ucb(*codes, rule, state, tape, checkpoints, counts, rng)
        if arm < 0:
            return counts
        if arm == n_arms:
            heaps = np.concatenate([heaps, np.empty_like(heaps)], axis=2)
            state = state._replace(keys=heaps[0], waiting=heaps[1])
        else:
            refill(tape, rewards, arm)


def _is_fixed(algorithm: RobustUCB) -> bool:
    """Return whether δ is fixed, so that no reward is truncated later and walks are possible."""
    return algorithm.confidence == "fixed"


@accelerates(
    RobustUCB, on=HeavyRewards, name="skipping", error=MAX_WALKS * WALK_ERROR, when=_is_fixed
)
def play_by_walks(
    algorithm: RobustUCB, rewards: HeavyRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play by walks, for a fixed δ.

    Shapes: `checkpoints` (C,).
    """
    policy = tree_index_of(algorithm, rewards, horizon)
    counts, tally = tree_skip_and_tally(rewards, policy, checkpoints, rng)
    return Play(counts, at_once=tally.walked_pulls)


@accelerates(RobustUCB, on=GivenRewards, name="pull by pull")
@accelerates(RobustUCB, on=HeavyRewards, name="pull by pull")
def play_pull_by_pull(
    algorithm: RobustUCB, rewards: HeavyRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play pull by pull, on any heavy-tailed rewards; if δ = t^−2, with heaps.

    Shapes: `checkpoints` (C,).
    """
    if algorithm.confidence == "anytime":
        return Play(play_anytime(rewards, checkpoints, rng))
    policy = tree_index_of(algorithm, rewards, horizon)
    return Play(play_by_steps(rewards, policy, checkpoints, rng))
