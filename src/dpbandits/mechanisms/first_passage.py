"""Noise of a binary-tree counter over long stretches, drawn by its first passage below a barrier.

A tree's prefix noise changes with every pull, but a simulation that only has to know *when* it
first falls below a barrier need not draw most of its nodes. Over the leaves of a complete subtree
the minimum of the path sums obeys M_j = min(M_{j−1}, X + M′_{j−1}) with X the node of the right
half, and M, M′ independent: its law is a table, `first_passage_table`. With the probability that
the table gives, no leaf of the subtree fails and none of its inner nodes need be drawn, for they
are never read again; otherwise the first leaf that fails is drawn with the nodes on its way, and
every later node is as fresh as before, for "first failing leaf" is a stopping time.

To have a finite table the node noises are lowered to whole cells and the room above the barrier
is capped: both can only bring a failure forward, so that a leaf that does not fail is certainly
above the barrier. The proofs are in the book's chapter on DP successive elimination.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

from dpbandits.mechanisms.laplace import laplace

__all__ = [
    "TREE_LEVELS",
    "WALK_SIZE",
    "FirstPassageTable",
    "first_passage_table",
    "lowered_walk_fails",
    "lowest_level",
    "next_prefix_noise",
    "prefix_noise_at",
    "walk_to_first_passage",
]

TREE_LEVELS = 64
"""Levels of a tree, enough for every count that an int64 can hold."""

WALK_SIZE = TREE_LEVELS + 3
"""Size of the array that `lowered_walk_fails` keeps its state in."""


class FirstPassageTable(NamedTuple):
    """Law of the first passage of a subtree's path sums, in cells of width h·λ.

    The room d = 1..D is the distance to the barrier in cells, rounded up. A node of noise X takes
    it from d to min(d + ⌊X/(hλ)⌋, D); a leaf fails when the nodes on its way take the room to 0
    or below.

    Attributes
    ----------
    cell_width : float
        h, the width of a cell in units of the node scale λ.
    fail : numpy.ndarray of float, shape (J + 1, D + 1)
        ``fail[j, d]``: probability that some leaf of a subtree with 2^j leaves fails. The first
        leaf of a subtree carries none of its nodes, so that ``fail[0, d] = 0`` for d ≥ 1;
        ``fail[j, 0] = 1``.
    right_fail : numpy.ndarray of float, shape (J + 1, D + 1)
        ``right_fail[j, d]``: the same for a subtree with 2^j leaves that has a node of its own
        in front, as the right half of a subtree has.
    cell_mass : numpy.ndarray of float, shape (2 D + 1,)
        ``cell_mass[D + k]``: probability of ⌊X/(hλ)⌋ = k.
    """

    cell_width: float
    fail: NDArray[np.float64]
    right_fail: NDArray[np.float64]
    cell_mass: NDArray[np.float64]


@lru_cache(maxsize=8)
def first_passage_table(
    cell_width: float = 0.125, n_cells: int = 880, max_level: int = 30
) -> FirstPassageTable:
    """Tabulate the first-passage law of subtrees with 1, 2, 4, …, 2^max_level leaves.

    With H_j(d) = ``fail[j, d]`` and W_j(d) = ``right_fail[j, d]``,

        W_j(d) = P(d + k ≤ 0) + Σ_{0<y<D} P(d + k = y) H_j(y) + P(d + k ≥ D) H_j(D),
        H_{j+1}(d) = H_j(d) + (1 − H_j(d)) W_j(d),        H_0(d) = 0 for d ≥ 1,

    k = ⌊X/(hλ)⌋ the cell of a Laplace variable. Only non-negative terms are added, so that each
    entry has a relative error of a few units of rounding per level.

    Parameters
    ----------
    cell_width : float
        Width h > 0 of a cell in units of the node scale.
    n_cells : int
        Greatest room D ≥ 1, in cells.
    max_level : int
        Greatest level J ≥ 0.

    Returns
    -------
    FirstPassageTable
        Read-only arrays, computed once per process.

    Examples
    --------
    Two leaves: the second fails when its one node falls by more than the room.

    >>> import math
    >>> table = first_passage_table(0.25)
    >>> bool(abs(table.fail[1, 4] - 0.5 * math.exp(-3 * 0.25)) < 1e-15)
    True

    One walk in about 9000 over a million leaves falls by forty node scales:

    >>> round(float(table.fail[20, 160]), 6)
    0.000114
    """
    cap = n_cells
    h = cell_width
    k = np.arange(-cap, cap + 1)
    # ⌊X/h⌋ = k and ⌊X/h⌋ = −1 − k are equally likely
    cell_mass = 0.5 * np.exp(-h * np.where(k >= 0, k, -1 - k)) * -math.expm1(-h)
    room = np.arange(cap + 1)
    node_fail = 0.5 * np.exp(-h * (room - 1.0))
    node_fail[0] = 1.0 - 0.5 * math.exp(-h)
    # moves[d, y - 1]: probability that one node takes the room from d to y = 1..D
    moves = cell_mass[cap + room[None, 1:] - room[:, None]]
    moves[:, -1] = 0.5 * np.exp(-h * (cap - room))
    fail = np.zeros((max_level + 1, cap + 1))
    right_fail = np.zeros((max_level + 1, cap + 1))
    fail[:, 0] = 1.0
    for j in range(max_level + 1):
        right_fail[j] = node_fail + moves @ fail[j, 1:]
        if j < max_level:
            fail[j + 1, 1:] = fail[j, 1:] + (1.0 - fail[j, 1:]) * right_fail[j, 1:]
    for array in (fail, right_fail, cell_mass):
        array.setflags(write=False)
    return FirstPassageTable(h, fail, right_fail, cell_mass)


@njit(cache=True, nogil=True)
def lowest_level(n: int) -> int:
    """Return the position of the lowest set bit of n ≥ 1: the level of the node that ends at n.

    Examples
    --------
    >>> [lowest_level(n) for n in range(1, 9)]
    [0, 1, 0, 2, 0, 1, 0, 3]
    """
    return trailing_zeros(n)  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def prefix_noise_at(prefix_noise: NDArray[np.float64], arm: int, n: int) -> float:
    """Return the stored noise of the arm's prefix of length n, 0 for the empty prefix."""
    if n == 0:
        return 0.0
    return prefix_noise[arm, lowest_level(n)]


@njit(cache=True, nogil=True)
def next_prefix_noise(
    rng: np.random.Generator,
    node_scale: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    n: int,
) -> float:
    """Draw the node that ends at the arm's n-th pull and return the noise of the prefix.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    node_scale : float
        Scale λ of the node's Laplace noise.
    prefix_noise : numpy.ndarray of float, shape (K, 64)
        ``prefix_noise[b, j]``: noise of the prefix that ended with arm b's latest node of level
        j; updated in place. The prefixes that n continues (n with its lowest set bits cleared)
        are always among these.
    arm : int
        The arm.
    n : int
        Its number of pulls, this one included.

    Returns
    -------
    float
    """
    noise = prefix_noise_at(prefix_noise, arm, n & (n - 1)) + laplace(rng, node_scale)
    prefix_noise[arm, lowest_level(n)] = noise
    return noise


@njit(cache=True, nogil=True)
def _room_in_cells(table: FirstPassageTable, node_scale: float, distance: float) -> int:
    """Return the room, in cells, of a positive distance between the noise and the barrier.

    A walk of whole cells that does not use up ⌊distance/(hλ)⌋ + 1 cells has fallen by at most
    ⌊distance/(hλ)⌋ cells, hence not below the barrier.
    """
    cap = table.fail.shape[1] - 1
    cells = distance / (table.cell_width * node_scale)
    if cells >= cap:  # compared as floats: a tiny node scale would overflow an int64
        return cap
    return int(cells) + 1


@njit(cache=True, nogil=True)
def _subtree_level(table: FirstPassageTable, leaf: int, stop: int) -> int:
    """Return the level of the largest subtree that starts at `leaf` and ends by `stop`."""
    level = min(lowest_level(leaf), table.fail.shape[0] - 1)
    while 1 << level > stop - leaf:
        level -= 1
    return level


@njit(cache=True, nogil=True)
def _failing_node(
    rng: np.random.Generator, table: FirstPassageTable, level: int, room: int
) -> tuple[float, int]:
    """Draw the node in front of a right half with 2^level leaves, given that this half fails.

    Returns
    -------
    node : float
        The node's noise in units of λ.
    room : int
        The room behind it; 0 when the node itself fails.
    """
    cap = table.fail.shape[1] - 1
    h = table.cell_width
    u = rng.random() * table.right_fail[level, room]
    mass = table.right_fail[0, room]  # the node alone takes the room to 0 or below
    if level == 0 or u < mass:
        return (1 - room) * h - rng.standard_exponential(), 0
    # Which room is left? Most of the mass lies at the old room and just below it.
    behind = room
    for i in range(cap):
        behind = room - i if i < room else i + 1
        move = table.cell_mass[cap + behind - room]
        if behind == cap:
            move = 0.5 * math.exp(-h * (cap - room))
        mass += move * table.fail[level, behind]
        if u < mass:
            break
    if behind == cap:
        return (cap - room) * h + rng.standard_exponential(), cap
    # inside a cell the noise is an exponential, cut off at the width of the cell
    within = -math.log1p(rng.random() * math.expm1(-h))
    if behind >= room:
        return (behind - room) * h + within, behind
    return (behind - room + 1) * h - within, behind


@njit(cache=True, nogil=True)
def _first_failing_leaf(
    rng: np.random.Generator,
    table: FirstPassageTable,
    node_scale: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    leaf: int,
    level: int,
    room: int,
) -> int:
    """Draw the first leaf that fails in the subtree of 2^level leaves from `leaf`, given one does.

    The nodes on the way to that leaf are drawn with it and stored in `prefix_noise`.
    """
    noise = prefix_noise_at(prefix_noise, arm, leaf)
    while room > 0:
        level -= 1
        if rng.random() * table.fail[level + 1, room] < table.fail[level, room]:
            continue  # the left half fails
        leaf += 1 << level
        node, room = _failing_node(rng, table, level, room)
        noise += node_scale * node
        prefix_noise[arm, level] = noise
    return leaf


@njit(cache=True, nogil=True)
def walk_to_first_passage(
    rng: np.random.Generator,
    table: FirstPassageTable,
    node_scale: float,
    barrier: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    start: int,
    stop: int,
) -> int:
    """Move an arm's tree from `start` pulls to `stop`, or to the first leaf that may be too low.

    At every number of pulls from `start` up to, not including, the returned one the noise of the
    prefix is certainly above ``-barrier``. All noise that later prefixes read is drawn, with its
    exact law: the nodes of the returned prefix, and no others.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    table : FirstPassageTable
        From `first_passage_table`.
    node_scale : float
        Scale λ > 0 of the Laplace noise of a node.
    barrier : float
        Distance of the barrier below 0, in units of the sum of rewards.
    prefix_noise : numpy.ndarray of float, shape (K, 64)
        As in `next_prefix_noise`; updated in place.
    arm : int
        The arm.
    start, stop : int
        Numbers of pulls, 1 ≤ start ≤ stop.

    Returns
    -------
    int
        `stop`, or the first number of pulls at which the lowered noise has reached the barrier.
    """
    leaf = start
    while leaf < stop:
        distance = barrier + prefix_noise_at(prefix_noise, arm, leaf)
        if distance <= 0.0:
            break
        level = _subtree_level(table, leaf, stop)
        room = _room_in_cells(table, node_scale, distance)
        if rng.random() < table.fail[level, room]:
            return _first_failing_leaf(rng, table, node_scale, prefix_noise, arm, leaf, level, room)
        leaf += 1 << level
        next_prefix_noise(rng, node_scale, prefix_noise, arm, leaf)
    return leaf


@njit(cache=True, nogil=True)
def lowered_walk_fails(
    table: FirstPassageTable,
    node_scale: float,
    barrier: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    leaf: int,
    stop: int,
    walk: NDArray[np.int64],
) -> bool:
    """Tell whether a walk drawn node by node fails at `leaf`, as `walk_to_first_passage` counts it.

    To be called at the start of the walk and then at each leaf before `stop`, after the leaf's
    node was drawn by `next_prefix_noise`, until it is true. Draws nothing: it is the definition of
    a failing leaf, for tests and for shadow runs.

    Parameters
    ----------
    table, node_scale, barrier, prefix_noise, arm, stop
        As in `walk_to_first_passage`.
    leaf : int
        Number of pulls, from the start of the walk on.
    walk : numpy.ndarray of int64, shape (WALK_SIZE,)
        State of the walk, to be set to 0 before its first leaf.

    Returns
    -------
    bool
    """
    first, end = walk[TREE_LEVELS], walk[TREE_LEVELS + 1]  # of the subtree that holds the leaf
    if leaf >= end:
        distance = barrier + prefix_noise_at(prefix_noise, arm, leaf)
        if distance <= 0.0:
            return True
        walk[TREE_LEVELS] = leaf
        walk[TREE_LEVELS + 1] = leaf + (1 << _subtree_level(table, leaf, stop))
        walk[TREE_LEVELS + 2] = _room_in_cells(table, node_scale, distance)
        return False
    parent = leaf & (leaf - 1)
    room = walk[TREE_LEVELS + 2] if parent == first else walk[lowest_level(parent)]
    node = prefix_noise_at(prefix_noise, arm, leaf) - prefix_noise_at(prefix_noise, arm, parent)
    cap = table.fail.shape[1] - 1
    cells = node / (table.cell_width * node_scale)
    room = cap if cells >= cap else max(min(room + math.floor(cells), cap), 0)
    walk[lowest_level(leaf)] = room
    return room == 0
