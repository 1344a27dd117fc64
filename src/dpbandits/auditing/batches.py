"""Top Two algorithms run many times on a table of rewards, in compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.auditing.lazy import running_sums
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.batch_loop import Rule, run_batches
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.top_two import TopTwo, next_decision

__all__ = ["BATCHED", "top_two_outputs"]

Floats = NDArray[np.float64]

BATCHED = (DPTT, AdaPTT, AdaPTTStar, TopTwo)
"""Classes that have compiled loops."""


@njit(cache=True, nogil=True)
def _batched_outputs(
    table: Floats, n_runs: int, rng: np.random.Generator, rule: Rule
) -> tuple[Floats, Floats]:
    """Run DP-TT, AdaP-TT or AdaP-TT*."""
    n_arms, n_pulls = table.shape
    sums, means = running_sums(table), np.zeros(n_arms)
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        best, pulls = run_batches(rule, means, sums, rng, n_pulls, actions[r])
        values[r, 0] = best
        values[r, 1] = pulls.sum()
        values[r, 2:] = pulls
    return values, actions


@njit(cache=True, nogil=True)
def _plain_outputs(table: Floats, n_runs: int, share: float, delta: float) -> tuple[Floats, Floats]:
    """Run Top Two, which has no randomness but that of the rewards."""
    n_arms, n_pulls = table.shape
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    counts = np.empty((4, n_arms), np.int64)
    sums, pulls, led, own = counts[0], counts[1], counts[2], counts[3]
    for r in range(n_runs):
        counts[:] = 0
        values[r, 0] = -1.0
        for t in range(n_pulls + 1):
            stops, arm = False, t
            if t >= n_arms:
                stops, arm = next_decision(sums, pulls, led, own, share, delta)
            if stops:
                values[r, 0] = arm
            if stops or t == n_pulls:
                break
            actions[r, t] = arm
            sums[arm] += int(table[arm, pulls[arm]])
            pulls[arm] += 1
        values[r, 1] = pulls.sum()
        values[r, 2:] = pulls
    return values, actions


def top_two_outputs(
    algorithm: Any, table: Floats, n_runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Run a Top Two algorithm for N pulls at most.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        One of the classes in `BATCHED`.
    table : numpy.ndarray of float, shape (K, N)
        Rewards in [0, 1], those of `TopTwo` 0 or 1; 2 ≤ K ≤ N.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    values : numpy.ndarray of float, shape (n_runs, 2 + K)
        Recommendation (−1 if the table ended first), stopping time, pulls of each arm.
    actions : numpy.ndarray of float, shape (n_runs, N)
        Arms in the order in which rewards were looked at, −1 behind the last.

    Examples
    --------
    >>> table = np.array([[1.0] * 20, [0.0] * 20])
    >>> values, _ = top_two_outputs(TopTwo(0.1), table, 1, np.random.default_rng(0))
    >>> values.tolist()
    [[0.0, 8.0, 4.0, 4.0]]
    """
    if isinstance(algorithm, TopTwo):
        return _plain_outputs(table, n_runs, algorithm.leader_share, algorithm.delta)
    return _batched_outputs(table, n_runs, rng, algorithm.compiled(table.shape[0]))
