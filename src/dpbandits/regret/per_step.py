"""The plain simulation kernel of index policies: one decision, one reward, one noise per pull.

Written to be read beside the pseudo-code of DP-UCB; the reference for `dpbandits.regret.skipping`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.first_passage import TREE_LEVELS, next_prefix_noise

__all__ = ["index_leader", "play_per_step"]


@njit(cache=True, nogil=True)
def index_leader(
    private_means: NDArray[np.float64], inverse_roots: NDArray[np.float64], width: float
) -> int:
    """Return the arm of the largest index, ties to the lowest arm number.

    Parameters
    ----------
    private_means : numpy.ndarray of float, shape (K,)
        (S_b + Z_b + γ)/n_b.
    inverse_roots : numpy.ndarray of float, shape (K,)
        1/√n_b.
    width : float
        √(2 log t).

    Returns
    -------
    int
    """
    leader = 0
    highest = private_means[0] + width * inverse_roots[0]
    for b in range(1, private_means.size):
        index = private_means[b] + width * inverse_roots[b]
        if index > highest:
            leader = b
            highest = index
    return leader


@njit(cache=True, nogil=True)
def play_per_step(
    means: NDArray[np.float64],
    node_scale: float,
    gamma: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play an index policy on Bernoulli arms, pull by pull.

    Pulls 1..K play arms 0..K-1. Before pull number t > K the policy computes

        index_b = (S_b + Z_b + γ)/n_b + √(2 log t / n_b)

    and plays the largest, ties to the lowest arm number. S_b is the arm's sum of rewards, n_b its
    number of pulls, Z_b the noise of its binary-tree counter: the sum, over the set bits of n_b,
    of the noise of the block that the bit stands for. A pull draws one uniform for the reward
    and, when ``node_scale > 0``, one Laplace variable: the node that ends with this pull.

    Parameters
    ----------
    means : numpy.ndarray of float, shape (K,)
        Means μ_b in [0, 1].
    node_scale : float
        Scale λ of the Laplace noise of one tree node; 0.0 adds no noise and draws none (UCB1).
    gamma : float
        Constant γ ≥ 0 added to each sum.
    checkpoints : numpy.ndarray of int64, shape (C,)
        Increasing pull numbers; the last is the horizon T.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> play_per_step(np.array([1.0, 0.0]), 0.0, 0.0, np.array([2, 100]), rng).tolist()
    [[1, 1], [94, 6]]
    """
    n_arms = means.size
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    prefix_noise = np.zeros((n_arms, TREE_LEVELS))
    private_means = np.zeros(n_arms)
    inverse_roots = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            t += 1
            if t <= n_arms:
                arm = t - 1
            else:
                arm = index_leader(private_means, inverse_roots, math.sqrt(2.0 * math.log(t)))
            n = pulls[arm] + 1
            pulls[arm] = n
            if rng.random() < means[arm]:
                rewards[arm] += 1
            noise = 0.0
            if node_scale > 0.0:
                noise = next_prefix_noise(rng, node_scale, prefix_noise, arm, n)
            private_means[arm] = (rewards[arm] + noise + gamma) / n
            inverse_roots[arm] = 1.0 / math.sqrt(n)
        counts[c] = pulls
    return counts
