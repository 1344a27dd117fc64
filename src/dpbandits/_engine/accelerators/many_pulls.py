"""UCB and DP-UCB pull by pull on many arms: arms with the same number of pulls share a heap.

The index of an arm is its private mean and a term that its number of pulls decides, so that in a
group the largest mean has the largest index at all times. A pull compares the best arms of the
groups, of which there are at most √(2T), in place of all arms. Proof: :prf:ref:`prop-many-arms`.
The random numbers are those of `index_policies`, in the same order: equal generators give equal
runs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.arm_heaps import MANY, Links, links_of, popped, pushed
from dpbandits._engine.accelerators.index_policies import (
    TreePolicy,
    has_binary_trees,
    policy_of,
)
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.mechanisms.first_passage import next_prefix_noise
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dp_ucb import DPUCB, UCB
from dpbandits.rewards.sources import DrawnRewards

__all__ = ["play_many_pulls"]


class _Groups(NamedTuple):
    """Arms by their number n of pulls, in increasing order; arrays of shape (G,)."""

    pulls: Ints
    roots: Floats  # 1/√n
    heaps: Ints
    means: Floats  # the largest private mean


@kernel(borrows=True)
def _leader(groups: _Groups, n_groups: int, root: float) -> int:
    """Return the group of the largest index, ties to the lowest number of an arm."""
    _, roots, heaps, means = groups
    found, highest = 0, -math.inf
    for g in range(n_groups):
        index = means[g] + root * roots[g]
        if index >= highest and (index > highest or heaps[g] < heaps[found]):
            found, highest = g, index
    return found


@kernel(borrows=True)
def _copied(groups: _Groups, to: int, source: int) -> None:
    pulls, roots, heaps, means = groups
    pulls[to], roots[to] = pulls[source], roots[source]
    heaps[to], means[to] = heaps[source], means[source]


@kernel(borrows=True)
def _moved(groups: _Groups, n_groups: int, g: int, links: Links, mean: float) -> int:
    """Put the best arm of a group, with its new mean, into the next; return how many there are."""
    pulls, roots, heaps, means = groups
    arm, n = heaps[g], pulls[g] + 1
    rest = popped(links, arm)
    links.values[arm] = mean
    if g + 1 < n_groups and pulls[g + 1] == n:
        heaps[g + 1] = pushed(links, heaps[g + 1], arm)
        means[g + 1] = links.values[heaps[g + 1]]
    else:
        if rest >= 0:  # a group is put between
            for h in range(n_groups, g + 1, -1):
                _copied(groups, h, h - 1)
            n_groups += 1
        new = g + 1 if rest >= 0 else g
        pulls[new], roots[new] = n, 1.0 / math.sqrt(n)
        heaps[new], means[new] = pushed(links, -1, arm), links.values[arm]
        if rest < 0:
            return n_groups
    if rest >= 0:
        heaps[g], means[g] = rest, links.values[rest]
        return n_groups
    for h in range(g, n_groups - 1):
        _copied(groups, h, h + 1)
    return n_groups - 1


@kernel
def _run(
    policy: TreePolicy,
    chances: Floats,
    counters: Floats,
    groups: _Groups,
    links: Links,
    checkpoints: Times,
    counts: Ints,
    rng: Rng,
) -> None:
    """Play to the last checkpoint, and write the counts; `counters` has shape (K, levels)."""
    n_arms = chances.size
    pulls, sums = np.zeros(n_arms, np.int64), np.zeros(n_arms)
    c, live, heap = 0, 0, -1
    for t in range(checkpoints[-1]):
        arm, g = t, -1
        if t >= n_arms:
            g = _leader(groups, live, math.sqrt(2.0 * math.log(t + 1)))
            arm = groups.heaps[g]
        n = pulls[arm] + 1
        pulls[arm] = n
        if rng.random() < chances[arm]:
            sums[arm] += 1.0
        noise = 0.0
        if policy.scale > 0.0:
            noise = next_prefix_noise(rng, policy.scale, counters, arm, n)
        mean = (sums[arm] + noise + policy.gamma) / n
        if g < 0:
            links.values[arm] = mean
            heap = pushed(links, heap, arm)
            groups.pulls[0], groups.roots[0] = 1, 1.0
            groups.heaps[0], groups.means[0] = heap, links.values[heap]
            live = 1
        else:
            live = _moved(groups, live, g, links, mean)
        if t + 1 == checkpoints[c]:
            copy_into(counts[c], pulls)
            c += 1


@accelerates(UCB, DPUCB, on=DrawnRewards, name="many arms", least_arms=MANY, when=has_binary_trees)
def play_many_pulls(
    algorithm: UCB | DPUCB, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play pull by pull on Bernoulli arms: :prf:ref:`prop-many-arms`.

    Shapes: `checkpoints` (C,).
    """
    n_arms, last = rewards.n_arms, int(checkpoints[-1])
    policy = policy_of(algorithm, n_arms, horizon)
    assert isinstance(policy, TreePolicy)
    most = min(n_arms, math.isqrt(2 * last) + 1) + 2
    pulls, heaps = np.zeros((2, most), np.int64)
    roots, means = np.zeros((2, most))
    levels = last.bit_length() if policy.scale > 0.0 else 0
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    _run(
        policy,
        np.array(rewards.means, dtype=np.float64),
        np.zeros((n_arms, levels)),
        _Groups(pulls, roots, heaps, means),
        links_of(n_arms),
        checkpoints,
        counts,
        rng,
    )
    return Play(counts)
