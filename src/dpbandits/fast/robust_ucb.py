"""Robust UCB, compiled: old rewards wait in heaps until they drop out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.acceleration import accelerates
from dpbandits.fast.tree_walks import WALK_ERROR, TreeIndex, play_tree_index
from dpbandits.regret.base import Play
from dpbandits.regret.robust_ucb import ROBUST_FACTOR, RobustUCB
from dpbandits.rewards.heavy_laws import GIVEN, HeavyRewards, HeavyTailInstance, next_heavy
from dpbandits.rewards.streams import Tape, refill, tape_of


@kernel
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


@kernel
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


class _AnytimeState(NamedTuple):
    """A run: mean, sum of what is not truncated, n^(−v/(1+v)) and size of the heap of each arm."""

    clock: Ints  # pulls made, checkpoints passed
    pulls: Ints
    sizes: Ints
    means: Floats
    sums: Floats
    shrunk: Floats


@kernel
def _run_robust_ucb(
    kinds: Ints,
    parameters: Floats,
    numbers: tuple[float, float, float],
    state: _AnytimeState,
    keys: Floats,
    waiting: Floats,
    tape: Tape,
    checkpoints: Ints,
    counts: Ints,
    rng: Rng,
) -> int:
    """Play on; return −1 at the end, the arm whose reward is not on the tape, K for a full heap."""
    n_arms = kinds.size
    moment, order, factor = numbers
    clock, pulls, sizes, means, sums, shrunk = state
    exponent = order / (1.0 + order)
    scale = factor * moment ** (1.0 / (1.0 + order))
    last_log = 2.0 * math.log(checkpoints[-1])
    while clock[1] < checkpoints.size:
        while clock[0] < checkpoints[clock[1]]:
            arm = clock[0]
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
            # most rewards are so small that they surely stay: no power for them
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
        counts[clock[1]] = pulls
        clock[1] += 1
    return -1


def play_robust_ucb(
    instance: HeavyTailInstance | HeavyRewards, checkpoints: Ints, rng: Rng
) -> Ints:
    """Play robust UCB with the truncated mean and δ = t^−2, pull by pull.

    Rewards that will drop out before the end wait in a heap, ordered by the log(1/δ) at which they
    do: a pull costs O(log n). Proof: :prf:ref:`lem-waiting`.

    Parameters
    ----------
    instance : HeavyTailInstance or HeavyRewards
        The bandit, or rewards of a run on it, of K arms.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    numpy.ndarray of int, shape (C, K)
        Pulls of each arm at the checkpoints.
    """
    n_arms = instance.n_arms
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    pulls, sizes = np.zeros((2, n_arms), np.int64)
    state = _AnytimeState(np.zeros(2, np.int64), pulls, sizes, *np.zeros((3, n_arms)))
    heaps = np.empty((2, n_arms, 1024))
    numbers = (instance.moment_bound, instance.order, ROBUST_FACTOR)
    rewards = instance.rewards(rng)
    tape = tape_of(rewards)
    while True:
        run = (*instance.codes, numbers, state, *heaps, tape, checkpoints, counts, rng)
        arm = _run_robust_ucb(*run)
        if arm < 0:
            return counts
        if arm == n_arms:
            heaps = np.concatenate([heaps, np.empty_like(heaps)], axis=2)
        else:
            refill(tape, rewards, arm)


@accelerates(RobustUCB, on=HeavyRewards, name="skipping", error=WALK_ERROR)
def play_accelerated(
    algorithm: RobustUCB, rewards: HeavyRewards, horizon: int, checkpoints: Ints, rng: Rng
) -> Play:
    """Play by walks where δ is fixed, and with waiting rewards, exact in law, where it is t^−2.

    Parameters
    ----------
    algorithm : RobustUCB
        The algorithm.
    rewards : HeavyRewards
        Rewards of the run, of K arms.
    horizon : int
        Horizon T that the algorithm is told.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Play
        The pulls at the checkpoints.
    """
    if algorithm.confidence == "anytime":
        return Play(play_robust_ucb(rewards, checkpoints, rng))
    moment, order = rewards.moment_bound, rewards.order
    log_term, power = 2 * math.log(horizon), 1 / (1 + order)
    bound = (moment / log_term) ** power
    width = ROBUST_FACTOR * moment**power * log_term ** (order * power)
    return play_tree_index(rewards, TreeIndex(bound, power, 0.0, width), checkpoints, rng)
