"""Shadow runs: the certificates of skipping, put to the test pull by pull."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.mechanisms.first_passage import (
    WALK_SIZE,
    FirstPassageTable,
    first_passage_table,
    lowered_walk_fails,
)
from dpbandits.regret.base import Times
from dpbandits.regret.per_step import IndexPolicy, State, index_leader, next_noise, release, start
from dpbandits.regret.skipping import SKIP_ERROR, certify, pass_checkpoints

__all__ = ["ShadowTally", "shadow_run"]


class ShadowTally(NamedTuple):
    """What a shadow run saw: certificates, pulls under them, their ends by noise, and breaks."""

    certificates: int
    certified_pulls: int
    first_passages: int
    broken: int


@njit(cache=True, nogil=True)
def _shadow(
    means: Floats,
    policy: IndexPolicy,
    state: State,
    checkpoints: Times,
    rng: Rng,
    table: FirstPassageTable,
    error: float,
) -> tuple[Ints, Ints]:
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
            arm, _, rival = index_leader(state.means, state.widths, state.inverse_roots, 0.0, root)
            n = pulls[arm]
            if certified >= 0 and arm != certified:
                broken += 1
                certified = -1
            lead = (state.means[arm] - rival) * n + root * math.sqrt(n)
            if certified < 0 and lead > scale:
                stretch, barrier = certify(
                    policy, state, arm, rival, lead, means[arm], t, checkpoints[-1] - t, scale,
                    table, error,
                )  # fmt: skip
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
        noise = next_noise(rng, policy, counters, arm, n) if scale > 0.0 else 0.0
        release(policy, state, arm, n, noise)
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


def shadow_run(
    means: ArrayLike,
    node_scale: float,
    gamma: float,
    checkpoints: ArrayLike,
    rng: Rng,
    skip_error: float = SKIP_ERROR,
) -> tuple[Ints, ShadowTally]:
    """Simulate every pull under the certificates of `skip_and_tally`, and count the broken ones.

    Rewards and nodes are drawn pull by pull, so that the run has the per-step law whatever the
    certificates are worth. A certificate ends at its last pull or where the lowered noise first
    reaches its barrier; it is broken if another arm leads before that.

    Parameters
    ----------
    means, node_scale, gamma, checkpoints, rng
        As of `play_per_step`.
    skip_error : float
        Error probability of the reward band; with 1 there is no band, and certificates break.

    Returns
    -------
    counts : numpy.ndarray of int64, shape (C, K)
    tally : ShadowTally
    """
    policy = IndexPolicy(float(node_scale), float(gamma))
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    run = (means, policy, start(means.size), checkpoints, rng)
    counts, tally = _shadow(*run, first_passage_table(), float(skip_error))
    return counts, ShadowTally(*tally.tolist())
