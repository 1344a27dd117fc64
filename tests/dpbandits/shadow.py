"""Shadow runs: the certificates of skipping, put to the test pull by pull."""

import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from dpbandits._engine.accelerators.index_policies import (
    TreePolicy,
    count,
    index_leader,
    play_index_policy,
    release,
    start,
)
from dpbandits._engine.accelerators.skipping import (
    SKIP_ERROR,
    Leader,
    certify,
    outlook,
    pass_checkpoints,
)
from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms import first_passage
from dpbandits.mechanisms.first_passage import TREE_LEVELS, lowest_level, prefix_noise_at
from dpbandits.rewards.sources import DrawnRewards

WALK_SIZE = TREE_LEVELS + 3


def play_pull_by_pull(means, node_scale, gamma, checkpoints, rng):
    """Play what `skip_and_tally` plays, without a skip."""
    given = np.array(means, dtype=np.float64)
    rewards = DrawnRewards(SimpleNamespace(mean_rewards=tuple(given), means=given), rng)
    policy = TreePolicy(float(node_scale), float(gamma))
    return play_index_policy(policy, rewards, checkpoints, rng)


room_in_cells, subtree_level = first_passage._room_in_cells, first_passage._subtree_level


class ShadowTally(NamedTuple):
    """What a shadow run saw: certificates, pulls under them, their ends by noise, and breaks."""

    certificates: int
    certified_pulls: int
    first_passages: int
    broken: int


@kernel
def lowered_walk_fails(table, node_scale, barrier, prefix_noise, arm, leaf, stop, walk):
    """Tell whether a walk drawn node by node fails at `leaf`, as `walk_to_first_passage` counts it.

    To be called at the start of the walk and then at each leaf before `stop`, after the leaf's
    node was drawn by `next_prefix_noise`, until it is true: the definition of a failing leaf.
    `walk`, of shape (WALK_SIZE,), is its state, 0 before the first leaf; κ = 1.
    """
    first, end = walk[TREE_LEVELS], walk[TREE_LEVELS + 1]  # of the subtree that holds the leaf
    if leaf >= end:
        distance = barrier + prefix_noise_at(prefix_noise, arm, leaf)
        if distance <= 0.0:
            return True
        walk[TREE_LEVELS] = leaf
        walk[TREE_LEVELS + 1] = leaf + (1 << subtree_level(table, leaf, stop))
        walk[TREE_LEVELS + 2] = room_in_cells(table, node_scale, distance)
        return False
    parent = leaf & (leaf - 1)
    room = walk[TREE_LEVELS + 2] if parent == first else walk[lowest_level(parent)]
    node = prefix_noise_at(prefix_noise, arm, leaf) - prefix_noise_at(prefix_noise, arm, parent)
    cap = table.fail.shape[1] - 1
    cells = node / (table.cell_width * node_scale)
    room = cap if cells >= cap else max(min(room + math.floor(cells), cap), 0)
    walk[lowest_level(leaf)] = room
    return room == 0


@kernel
def _shadow(means, policy, state, checkpoints, rng, table, error):
    """Play pull by pull under the certificates that skipping would use; count the broken ones."""
    pulls, counters, scale = state.pulls, state.counters, policy.scale
    counts = np.zeros((checkpoints.size, means.size), np.int64)
    certificates, certified_pulls, first_passages, broken = 0, 0, 0, 0
    certified = -1  # the arm of the certificate in force
    barrier, stop, c = 0.0, 0, 0
    walk = np.zeros(WALK_SIZE, np.int64)
    for t in range(checkpoints[-1]):
        arm = t
        if t >= means.size:
            root = math.sqrt(2.0 * math.log(t + 1.0))
            arm, top, rival = index_leader(
                state.means, state.widths, state.inverse_roots, 0.0, root
            )
            n = pulls[arm]
            if certified >= 0 and arm != certified:
                broken += 1
                certified = -1
            ahead = outlook(policy, state, arm, top, rival, root, checkpoints[-1] - t)
            if certified < 0 and ahead.lead > scale:
                leader = Leader(arm, means[arm], rival)
                stretch, barrier = certify(policy, state, leader, ahead, t, table, error)
                if stretch > 0:
                    certificates += 1
                    certified, stop = arm, n + stretch
                    walk[:] = 0
                    if scale > 0.0:
                        lowered_walk_fails(table, scale, barrier, counters, arm, n, stop, walk)
        certified_pulls += certified >= 0
        n = pulls[arm] + 1
        if rng.random() < means[arm]:
            state.sums[arm] += 1.0
        if scale > 0.0:
            count(policy, state, arm, n, t + 1, rng)
        release(policy, state, arm, n, state.noise[arm])
        if certified >= 0 and n == stop:
            certified = -1
        noisy_certificate = certified >= 0 and scale > 0.0
        if noisy_certificate and lowered_walk_fails(
            table, scale, barrier, counters, arm, n, stop, walk
        ):
            first_passages += 1
            certified = -1
        c = pass_checkpoints(counts, checkpoints, c, t + 1, pulls, arm)
    return counts, np.array([certificates, certified_pulls, first_passages, broken])


def shadow_run(means, node_scale, gamma, checkpoints, rng, skip_error=SKIP_ERROR):
    """Simulate every pull under the certificates of `skip_and_tally`, and count the broken ones.

    Rewards and nodes are drawn pull by pull, so that the run has the law of single pulls whatever
    the certificates are worth. A certificate ends at its last pull or where the lowered noise first
    reaches its barrier; it is broken if another arm leads before that. With ``skip_error=1`` the
    reward band is nothing, and certificates break. Returns counts, shape (C, K), and a tally.
    """
    policy = TreePolicy(float(node_scale), float(gamma))
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    run = (means, policy, start(means.size), checkpoints, rng)
    counts, tally = _shadow(*run, first_passage.first_passage_table(), float(skip_error))
    return counts, ShadowTally(*tally.tolist())
