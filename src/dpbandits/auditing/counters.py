"""Private counters run many times over a stream, in compiled loops.

Each element draws what it draws in the counter, in the same order, by the functions that draw the
noise of the index policies' counters. On the same generator the sums are the counter's, up to the
rounding of a sum of noises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.adaptive_tree import AdaptiveTree, next_adaptive_noise
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.first_passage import TREE_LEVELS
from dpbandits.mechanisms.hybrid import HYBRID_STATE, HybridCounter, next_hybrid_noise
from dpbandits.mechanisms.laplace import laplace
from dpbandits.mechanisms.logarithmic import LogarithmicCounter

__all__ = ["COUNTERS", "counter_sums"]

Floats = NDArray[np.float64]

COUNTERS = (BinaryTree, AdaptiveTree, HybridCounter, LogarithmicCounter)
"""Classes that have compiled loops."""


@njit(cache=True, nogil=True)
def _tree_sums(sums: Floats, scales: Floats, n_runs: int, rng: np.random.Generator) -> Floats:
    """Run a tree whose node that ends with element n has the scale ``scales[n - 1]``."""
    released, ends = np.empty((n_runs, sums.size)), np.zeros(TREE_LEVELS)
    for r in range(n_runs):
        noise = 0.0
        for i in range(sums.size):
            noise = next_adaptive_noise(rng, scales[i], ends, noise, i + 1)
            released[r, i] = sums[i] + noise
    return released


@njit(cache=True, nogil=True)
def _hybrid_sums(
    sums: Floats, block_scale: float, level_scale: float, n_runs: int, rng: np.random.Generator
) -> Floats:
    """Run a hybrid counter."""
    released, state = np.empty((n_runs, sums.size)), np.zeros((1, HYBRID_STATE))
    for r in range(n_runs):
        for i in range(sums.size):
            noise = next_hybrid_noise(rng, block_scale, level_scale, state, 0, i + 1)
            released[r, i] = sums[i] + noise
    return released


@njit(cache=True, nogil=True)
def _logarithmic_sums(
    sums: Floats, block_scale: float, n_runs: int, rng: np.random.Generator
) -> Floats:
    """Run a logarithmic counter: a fresh variable at each power of two."""
    released = np.empty((n_runs, sums.size))
    for r in range(n_runs):
        noise, latest = 0.0, 0.0
        for i in range(sums.size):
            if (i + 1) & i == 0:
                noise += laplace(rng, block_scale)
                latest = sums[i] + noise
            released[r, i] = latest
    return released


def counter_sums(mechanism: Any, stream: Floats, n_runs: int, rng: np.random.Generator) -> Floats:
    """Run a counter over a stream.

    Parameters
    ----------
    mechanism : object
        Of one of the classes in `COUNTERS`.
    stream : numpy.ndarray of float, shape (N,)
        The elements.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    numpy.ndarray of float, shape (n_runs, N)
        All private sums.

    Raises
    ------
    ValueError
        If the counter refuses the stream.

    Examples
    --------
    >>> stream = np.array([1.0, 0.0, 1.0, 1.0])
    >>> tree = BinaryTree(float("inf"), horizon=4)
    >>> counter_sums(tree, stream, 1, np.random.default_rng(0)).tolist()
    [[1.0, 1.0, 2.0, 3.0]]
    """
    refuses = mechanism.counter(np.random.default_rng(0))
    for x in stream.tolist():
        refuses.add(x)
    sums = np.cumsum(stream)
    if isinstance(mechanism, LogarithmicCounter):
        return _logarithmic_sums(sums, mechanism.block_scale, n_runs, rng)
    if isinstance(mechanism, HybridCounter):
        scales = mechanism.block_scale, mechanism.node_scale(1)
        return _hybrid_sums(sums, *scales, n_runs, rng)
    lengths = range(1, stream.size + 1)
    adapts = isinstance(mechanism, AdaptiveTree)
    nodes = [mechanism.node_scale(n) if adapts else mechanism.node_scale for n in lengths]
    return _tree_sums(sums, np.array(nodes), n_runs, rng)
