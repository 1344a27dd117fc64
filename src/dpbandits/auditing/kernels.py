"""Index policies run many times on a table of rewards, in compiled loops.

The kernels of the index policies draw each reward by comparing a uniform variable with the mean
``means[arm]``. Here they are handed a `RewardTape` in its place, which gives the chance of the
next reward of the arm: entry by entry of a table. It is the kernels themselves that are audited,
not copies of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit
from numba.experimental import jitclass  # type: ignore[attr-defined]
from numpy.typing import NDArray

from dpbandits.regret.dp_ucb_bound import play_dp_ucb_bound
from dpbandits.regret.dp_ucb_hybrid import play_dp_ucb_hybrid
from dpbandits.regret.dp_ucb_int import play_dp_ucb_int
from dpbandits.regret.per_step import play_per_step

__all__ = [
    "RewardTape",
    "bound_actions",
    "hybrid_actions",
    "index_actions",
    "interval_actions",
]

Actions = NDArray[np.int8]


def _for_tapes(kernel: Any) -> Any:
    """Compile a kernel for tapes, apart from its compiled form for means, which is kept on disk."""
    return njit(nogil=True)(kernel.py_func)


_PER_STEP = _for_tapes(play_per_step)
_BOUND = _for_tapes(play_dp_ucb_bound)
_HYBRID = _for_tapes(play_dp_ucb_hybrid)
_INTERVAL = _for_tapes(play_dp_ucb_int)


@jitclass([("table", float64[:, ::1]), ("pulled", int64[::1]), ("size", int64)])
class RewardTape:
    """The chances of an arm's rewards, in the order of its pulls; reading one moves on.

    Attributes
    ----------
    table : numpy.ndarray of float, shape (K, N)
        Chance that the n-th pull of an arm gives 1.
    pulled : numpy.ndarray of int, shape (K,)
        Pulls so far.
    size : int
        Number of arms K.
    """

    def __init__(self, table: NDArray[np.float64]) -> None:
        self.table = table
        self.pulled = np.zeros(table.shape[0], np.int64)
        self.size = table.shape[0]

    def __getitem__(self, arm: int) -> float:
        n = self.pulled[arm]
        self.pulled[arm] = n + 1
        return self.table[arm, n]


@njit(cache=True, nogil=True)
def _write(counts: NDArray[np.int64], row: Actions) -> None:
    """Read the arms pulled off the counts after each pull."""
    for t in range(counts.shape[0]):
        for arm in range(counts.shape[1]):
            if counts[t, arm] > (counts[t - 1, arm] if t > 0 else 0):
                row[t] = arm


@njit(cache=True, nogil=True)
def index_actions(
    table: NDArray[np.float64],
    n_runs: int,
    rng: np.random.Generator,
    node_scale: float,
    gamma: float,
) -> Actions:
    """Run `play_per_step`, the kernel of UCB and DP-UCB.

    Parameters
    ----------
    table : numpy.ndarray of float, shape (K, N)
        Rewards, each 0 or 1; a run lasts for N pulls.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise.
    node_scale, gamma : float
        As for the kernel.

    Returns
    -------
    numpy.ndarray of int8, shape (n_runs, N)
        Arms pulled.
    """
    times = np.arange(1, table.shape[1] + 1)
    actions = np.zeros((n_runs, times.size), np.int8)
    for r in range(n_runs):
        _write(_PER_STEP(RewardTape(table), node_scale, gamma, times, rng), actions[r])
    return actions


@njit(cache=True, nogil=True)
def bound_actions(
    table: NDArray[np.float64],
    n_runs: int,
    rng: np.random.Generator,
    block_scale: float,
    ucb_term: bool,
    repaired: bool,
) -> Actions:
    """Run `play_dp_ucb_bound`, the kernel of DP-UCB-BOUND; see `index_actions`."""
    times = np.arange(1, table.shape[1] + 1)
    actions = np.zeros((n_runs, times.size), np.int8)
    for r in range(n_runs):
        counts = _BOUND(RewardTape(table), block_scale, ucb_term, repaired, times, rng)
        _write(counts, actions[r])
    return actions


@njit(cache=True, nogil=True)
def hybrid_actions(
    table: NDArray[np.float64],
    n_runs: int,
    rng: np.random.Generator,
    block_scale: float,
    ucb_term: bool,
) -> Actions:
    """Run `play_dp_ucb_hybrid`, the kernel of DP-UCB of TD16; see `index_actions`."""
    times = np.arange(1, table.shape[1] + 1)
    actions = np.zeros((n_runs, times.size), np.int8)
    for r in range(n_runs):
        counts = _HYBRID(RewardTape(table), block_scale, ucb_term, times, rng)
        _write(counts, actions[r])
    return actions


@njit(cache=True, nogil=True)
def interval_actions(
    table: NDArray[np.float64],
    n_runs: int,
    rng: np.random.Generator,
    interval: int,
    exponent: float,
    noise: float,
    refreshed: bool,
    literal: bool,
) -> Actions:
    """Run `play_dp_ucb_int`, the kernel of DP-UCB-INT; see `index_actions`."""
    times = np.arange(1, table.shape[1] + 1)
    actions = np.zeros((n_runs, times.size), np.int8)
    for r in range(n_runs):
        counts = _INTERVAL(
            RewardTape(table), interval, exponent, noise, refreshed, literal, times, rng
        )
        _write(counts, actions[r])
    return actions
