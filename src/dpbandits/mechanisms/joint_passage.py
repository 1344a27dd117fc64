"""First passage of several trees at once: the first leaf at which any of them fails.

The counters of `DPUCBHybrid` advance together, with independent noise. Each tree has a barrier, on
one side; as in `dpbandits.mechanisms.first_passage`, a leaf fails in a tree when its lowered noise
reaches the barrier. In a subtree that all trees enter, tree b fails somewhere with the tabulated
probability H_j(room_b), and in its left half with H_{j−1}(room_b), each independently of the other
trees. So it is drawn for each whether it fails, and given that, whether its left half does. If a
left half fails, the first leaf lies there, and nothing that was drawn says more about left halves
than which of them fail: what is known of the right halves is about nodes that come after the
stopping time, independent of all before, and is forgotten. If no left half fails, each tree gets
the node in front of its right half, from its law given that this half fails, or that it passes (by
rejection), and the right halves go on in the same way. At the first leaf that fails, all trees
have the nodes of their prefixes, with their exact law; all later nodes are unconditioned.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    _failing_node,
    _room_in_cells,
    _subtree_level,
    lowest_level,
)
from dpbandits.mechanisms.laplace import laplace

__all__ = ["walk_to_joint_passage"]


@njit(cache=True, nogil=True)
def _passing_node(
    rng: np.random.Generator, table: FirstPassageTable, level: int, room: int
) -> tuple[float, int]:
    """Draw the node in front of a right half with 2^level leaves, given that this half passes.

    Returns its noise in units of λ, and the room behind it.
    """
    cap = table.fail.shape[1] - 1
    while True:
        node = laplace(rng, 1.0)
        cells = math.floor(node / table.cell_width)
        behind = cap if cells >= cap else max(min(room + cells, cap), 0)
        if behind > 0 and rng.random() >= table.fail[level, behind]:
            return node, int(behind)


@njit(cache=True, nogil=True)
def walk_to_joint_passage(
    rng: np.random.Generator,
    table: FirstPassageTable,
    node_scale: float,
    barriers: NDArray[np.float64],
    signs: NDArray[np.float64],
    noise: NDArray[np.float64],
    start: int,
    stop: int,
) -> int:
    """Move all trees from `start` leaves to `stop`, or to the first leaf where one may fail.

    At every leaf from `start` up to, not including, the returned one, ``signs[b]·Z_b`` is
    certainly above ``-barriers[b]`` for all trees b.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    table : FirstPassageTable
        From `first_passage_table`.
    node_scale : float
        Scale λ > 0 of the Laplace noise of a node.
    barriers, signs : numpy.ndarray of float, shape (K,)
        Barriers, and on which side of the noise: 1 below, −1 above.
    noise : numpy.ndarray of float, shape (K, 64 or more)
        ``noise[b, j]``: noise at the latest leaf with j as its lowest set bit; updated in place.
    start, stop : int
        Numbers of leaves, 1 ≤ start ≤ stop, and no power of two above `start` up to `stop`.

    Returns
    -------
    int
    """
    n_trees = barriers.size
    rooms = np.zeros(n_trees, np.int64)
    fails = np.zeros(n_trees, np.bool_)
    lefts = np.zeros(n_trees, np.bool_)
    leaf = start
    while leaf < stop:
        here = lowest_level(leaf)
        level = _subtree_level(table, leaf, stop)
        failing = False
        for b in range(n_trees):
            distance = barriers[b] + signs[b] * noise[b, here]
            if distance <= 0.0:
                return leaf
            rooms[b] = _room_in_cells(table, node_scale, distance)
            fails[b] = rng.random() < table.fail[level, rooms[b]]
            failing = failing or fails[b]
        if not failing:
            leaf += 1 << level
            above = lowest_level(leaf)
            parent = lowest_level(leaf & (leaf - 1))
            for b in range(n_trees):
                noise[b, above] = noise[b, parent] + laplace(rng, node_scale)
            continue
        while True:  # some tree fails in the subtree of 2^level leaves from `leaf`
            for b in range(n_trees):
                if rooms[b] == 0:
                    return leaf
            level -= 1
            failing = False
            for b in range(n_trees):
                lefts[b] = (
                    fails[b]
                    and rng.random() * table.fail[level + 1, rooms[b]] < table.fail[level, rooms[b]]
                )
                failing = failing or lefts[b]
            if failing:
                fails[:] = lefts
                continue
            here = lowest_level(leaf)
            leaf += 1 << level
            for b in range(n_trees):
                if fails[b]:
                    node, rooms[b] = _failing_node(rng, table, level, rooms[b])
                else:
                    node, rooms[b] = _passing_node(rng, table, level, rooms[b])
                noise[b, level] = noise[b, here] + signs[b] * node_scale * node
            # below, `noise[b, level]` is the noise at `leaf`
    return leaf
