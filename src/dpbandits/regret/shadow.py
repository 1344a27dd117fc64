"""Shadow runs: the certificates of skipping, put to the test pull by pull."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    WALK_SIZE,
    FirstPassageTable,
    first_passage_table,
    lowered_walk_fails,
    next_prefix_noise,
    prefix_noise_at,
)
from dpbandits.regret.base import Times
from dpbandits.regret.per_step import index_leader
from dpbandits.regret.skipping import SKIP_ERROR, certify, stretch_limits

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
    node_scale: float,
    gamma: float,
    checkpoints: Times,
    rng: Rng,
    table: FirstPassageTable,
    limits: Ints,
    error: float,
) -> tuple[Ints, Ints]:
    """Play pull by pull under the certificates that `_play` would use; count the broken ones."""
    n_arms = means.size
    horizon = checkpoints[-1]
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    prefix_noise = np.zeros((n_arms, TREE_LEVELS))
    private_means = np.zeros(n_arms)
    inverse_roots = np.zeros(n_arms)
    widths = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    certificates, certified_pulls, first_passages, broken = 0, 0, 0, 0
    certified = -1  # the arm of the certificate in force
    barrier = 0.0
    stop = 0
    walk = np.zeros(WALK_SIZE, np.int64)
    t = 0
    c = 0
    while t < horizon:
        arm = t
        if t >= n_arms:
            width = math.sqrt(2.0 * math.log(t + 1.0))
            arm, _, rival = index_leader(private_means, widths, inverse_roots, 0.0, width)
            n = pulls[arm]
            if certified >= 0 and arm != certified:
                broken += 1
                certified = -1
            lead = (private_means[arm] - rival) * n + width * math.sqrt(n)
            if certified < 0 and lead > node_scale:
                stretch, barrier = certify(
                    private_means, widths, inverse_roots, arm, rival, n, rewards[arm] + gamma,
                    prefix_noise_at(prefix_noise, arm, n), means[arm], t, horizon,
                    node_scale, table.cell_width, limits, error,
                )  # fmt: skip
                if stretch > 0:
                    certificates += 1
                    certified = arm
                    stop = n + stretch
                    walk[:] = 0
                    if node_scale > 0.0:
                        lowered_walk_fails(
                            table, node_scale, barrier, prefix_noise, arm, n, stop, walk
                        )
        certified_pulls += certified >= 0
        n = pulls[arm] + 1
        t += 1
        if rng.random() < means[arm]:
            rewards[arm] += 1
        noise = 0.0
        if node_scale > 0.0:
            noise = next_prefix_noise(rng, node_scale, prefix_noise, arm, n)
        pulls[arm] = n
        private_means[arm] = (rewards[arm] + noise + gamma) / n
        inverse_roots[arm] = 1.0 / math.sqrt(n)
        if certified >= 0 and n == stop:
            certified = -1
        noisy_certificate = certified >= 0 and node_scale > 0.0
        if noisy_certificate and lowered_walk_fails(
            table, node_scale, barrier, prefix_noise, arm, n, stop, walk
        ):
            first_passages += 1
            certified = -1
        while c < checkpoints.size and checkpoints[c] <= t:
            counts[c] = pulls
            c += 1
    return counts, np.array([certificates, certified_pulls, first_passages, broken])


def shadow_run(
    means: ArrayLike,
    node_scale: float,
    gamma: float,
    checkpoints: ArrayLike,
    rng: Rng,
    skip_error: float = SKIP_ERROR,
) -> tuple[Ints, ShadowTally]:
    """Simulate every pull under the certificates of `play_skipping`, and count the broken ones.

    Rewards and nodes are drawn pull by pull, so that the run has the per-step law whatever the
    certificates are worth. A certificate ends at its last pull or where the lowered noise first
    reaches its barrier; it is broken if another arm leads before that.

    Parameters
    ----------
    means, node_scale, gamma, checkpoints, rng
        As of `play_skipping`.
    skip_error : float
        Error probability of the reward band; with 1 there is no band, and certificates break.

    Returns
    -------
    counts : numpy.ndarray of int64, shape (C, K)
    tally : ShadowTally
    """
    constants = float(node_scale), float(gamma)
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    tables = first_passage_table(), stretch_limits()
    counts, tally = _shadow(means, *constants, checkpoints, rng, *tables, float(skip_error))
    return counts, ShadowTally(*tally.tolist())
