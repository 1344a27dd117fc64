"""Noise of tree counters over long stretches, drawn by its first passage below a barrier.

A tree's prefix noise changes with every pull, but a simulation that only needs the *first time* at
which it falls below a barrier need not draw most of its nodes. Over the leaves of a complete
subtree the minimum of the path sums obeys M_j = min(M_{j−1}, X + M′_{j−1}) with X the node of the
right half, and M, M′ independent: its distribution is tabulated by `first_passage_table`. With the
probability in the table, no leaf of the subtree fails and none of its inner nodes need be drawn,
since they are never read again; otherwise the first leaf that fails is drawn with the nodes on its
path, and every later node remains undrawn. Node noises are rounded down to cells and the room above
the barrier is capped: both can only make a failure earlier. Proof: :prf:ref:`skip-sound`,
:prf:ref:`skip-law`, :prf:ref:`skip-fresh`.

In an adaptive tree the scale of a node grows: on a stretch it is between s, that of its first node,
and κ·s. A node q times its scale is lowered to Y = κ·s·q if q < 0, and to s·q otherwise. Proof:
:prf:ref:`prop-walks`. With κ = 1 this is the ordinary tree.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.kernels import copy_into, kernel, trailing_zeros
from dpbandits.mechanisms.noise import laplace

__all__ = ["FirstPassageTable", "NodeScale", "first_passage_table", "walk_to_first_passage"]


TREE_LEVELS = 64
"""Levels of a tree, enough for every count in an int64."""


# ------------------------------------------------------------------------- noise of every prefix


@kernel(borrows=True)
def lowest_level(n: int) -> int:
    """Return the position of the lowest set bit of n: the level of the node that ends at n."""
    return trailing_zeros(n)


@kernel(borrows=True)
def prefix_noise_at(prefix_noise: Floats, arm: int, n: int) -> float:
    """Return the stored noise of the arm's prefix of length n, 0 for the empty prefix.

    Shapes: `prefix_noise` (K, 64).
    """
    if n == 0:
        return 0.0
    found: float = prefix_noise[arm, lowest_level(n)]
    return found


@kernel(borrows=True)
def next_prefix_noise(rng: Rng, node_scale: float, prefix_noise: Floats, arm: int, n: int) -> float:
    """Draw the node that ends at the arm's n-th pull and return the noise of the prefix.

    The prefix that n extends (n without its lowest set bit) is always stored.

    Shapes: `prefix_noise` (K, 64).
    """
    noise = prefix_noise_at(prefix_noise, arm, n & (n - 1)) + laplace(rng, node_scale)
    prefix_noise[arm, lowest_level(n)] = noise
    return noise


# ---------------------------------------------------------------- distribution of the first passage


class FirstPassageTable(NamedTuple):
    """Distribution of the first passage of a subtree's lowered path sums, in cells of width h·s.

    The room d = 1..D is the distance to the barrier in cells, rounded up. A lowered node Y changes
    it from d to min(d + ⌊Y/(hs)⌋, D); a leaf fails when the nodes on its path reduce the room to 0
    or below.

    Attributes
    ----------
    cell_width : float
        Width h of a cell, in units of the scale s.
    ratio : float
        κ, the ratio of the largest scale of a stretch to the smallest.
    fail : numpy.ndarray of float, shape (J + 1, D + 1)
        ``fail[j, d]``: probability H_j(d) that some leaf of a subtree with 2^j leaves fails. The
        first leaf has none of its nodes: H_0(d) = 0 for d ≥ 1; H_j(0) = 1.
    right_fail : numpy.ndarray of float, shape (J + 1, D + 1)
        ``right_fail[j, d]``: the same, W_j(d), with one more node in front, as a right half has.
    cell_mass : numpy.ndarray of float, shape (2 D + 1,)
        ``cell_mass[D + k]``: probability of ⌊Y/(hs)⌋ = k.
    limits : numpy.ndarray of int, shape (D + 1,)
        For each room the longest stretch 2^j with H_j(d) ≤ 0.8: beyond it a walk has probably
        failed.

    Examples
    --------
    >>> table = first_passage_table(0.5, n_cells=100, max_level=20)
    >>> table.fail.shape, bool(table.fail[20, 1] > table.fail[20, 100])
    ((21, 101), True)
    """

    cell_width: float
    ratio: float
    fail: Floats
    right_fail: Floats
    cell_mass: Floats
    limits: Ints


@lru_cache(maxsize=8)
def first_passage_table(
    cell_width: float = 0.125, n_cells: int = 880, max_level: int = 30, ratio: float = 1.0
) -> FirstPassageTable:
    """Tabulate the first-passage distribution of subtrees with 1, 2, 4, …, 2^max_level leaves.

    With k = ⌊Y/(hs)⌋ the cell of a lowered node,

        W_j(d) = P(d + k ≤ 0) + Σ_{0<y<D} P(d + k = y) H_j(y) + P(d + k ≥ D) H_j(D),
        H_{j+1}(d) = H_j(d) + (1 − H_j(d)) W_j(d),        H_0(d) = 0 for d ≥ 1.

    All terms are non-negative, so the relative error is a few units of rounding per level.
    """
    cap, up, down = n_cells, cell_width, cell_width / ratio  # a cell in units of q, on each side
    k = np.arange(-cap, cap + 1)
    rise = 0.5 * np.exp(-up * np.maximum(k, 0)) * -math.expm1(-up)
    fall = 0.5 * np.exp(-down * np.maximum(-1 - k, 0)) * -math.expm1(-down)
    cell_mass = np.where(k >= 0, rise, fall)
    room = np.arange(cap + 1)
    node_fail = 0.5 * np.exp(-down * (room - 1.0))
    node_fail[0] = 1.0 - 0.5 * math.exp(-up)
    # moves[d, y - 1]: probability that one node changes the room from d to y = 1..D
    moves = cell_mass[cap + room[None, 1:] - room[:, None]]
    moves[:, -1] = 0.5 * np.exp(-up * (cap - room))
    fail = np.zeros((max_level + 1, cap + 1))
    right_fail = np.zeros((max_level + 1, cap + 1))
    fail[:, 0] = 1.0
    for j in range(max_level + 1):
        right_fail[j] = node_fail + moves @ fail[j, 1:]
        if j < max_level:
            fail[j + 1, 1:] = fail[j, 1:] + (1.0 - fail[j, 1:]) * right_fail[j, 1:]
    limits = np.int64(1) << np.maximum(np.sum(fail <= 0.8, axis=0) - 1, 0)
    for array in (fail, right_fail, cell_mass, limits):
        array.setflags(write=False)
    return FirstPassageTable(cell_width, ratio, fail, right_fail, cell_mass, limits)


@kernel(borrows=True)
def _room_in_cells(table: FirstPassageTable, node_scale: float, distance: float) -> int:
    """Return the room, in cells, of a positive distance between the noise and the barrier."""
    cap: int = table.fail.shape[1] - 1
    cells = distance / (table.cell_width * node_scale)
    if cells >= cap:  # compare floats: with a tiny node scale an int64 would overflow
        return cap
    return int(cells) + 1


@kernel(borrows=True)
def _subtree_level(table: FirstPassageTable, leaf: int, stop: int) -> int:
    """Return the level of the largest subtree that starts at `leaf` and ends by `stop`."""
    level: int = min(lowest_level(leaf), table.fail.shape[0] - 1)
    while 1 << level > stop - leaf:
        level -= 1
    return level


@kernel(borrows=True)
def _failing_node(rng: Rng, table: FirstPassageTable, level: int, room: int) -> tuple[float, int]:
    """Draw the node in front of a right half with 2^level leaves, given that this half fails.

    Returns its noise q over its scale, and the room after it, 0 when the node itself fails.
    """
    cap = table.fail.shape[1] - 1
    up = table.cell_width
    down = up / table.ratio
    u = rng.random() * table.right_fail[level, room]
    mass = table.right_fail[0, room]  # the node alone reduces the room to 0 or below
    if level == 0 or u < mass:
        return (1 - room) * down - rng.standard_exponential(), 0
    # Which room is left? Most of the mass lies at the old room and just below it.
    behind = room
    for i in range(cap):
        behind = room - i if i < room else i + 1
        move = table.cell_mass[cap + behind - room]
        if behind == cap:
            move = 0.5 * math.exp(-up * (cap - room))
        mass += move * table.fail[level, behind]
        if u < mass:
            break
    if behind == cap:
        return (cap - room) * up + rng.standard_exponential(), cap
    # inside a cell q is exponential, truncated to the width of the cell
    if behind >= room:
        return (behind - room) * up - math.log1p(rng.random() * math.expm1(-up)), behind
    return (behind - room + 1) * down + math.log1p(rng.random() * math.expm1(-down)), behind


class NodeScale(NamedTuple):
    """Scale of the noise of a tree's nodes: λ·n^g for one that ends at pull n.

    Attributes
    ----------
    first : float
        λ, that of the first pull; 0 for no noise.
    growth : float
        Exponent g ≥ 0; with 0 all nodes have the same scale.

    Examples
    --------
    >>> NodeScale(first=2.0, growth=0.0)
    NodeScale(first=2.0, growth=0.0)
    """

    first: float
    growth: float


@kernel(borrows=True)
def walk_to_first_passage(
    rng: Rng,
    table: FirstPassageTable,
    scale: NodeScale,
    barrier: float,
    prefix_noise: Floats,
    arm: int,
    start: int,
    stop: int,
) -> int:
    """Move an arm's tree from `start` pulls to `stop`, or to the first leaf that may be too low.

    From `start` until before the returned pull the noise of the prefix is certainly above
    ``-barrier``. All noise read by later prefixes is drawn, from its exact distribution: the nodes
    of the returned prefix, and no others.

    Shapes: `prefix_noise` (K, 64).
    """
    first, growth = scale
    least_scale = first * (start + 1.0) ** growth
    leaf = start
    while leaf < stop:
        noise = prefix_noise_at(prefix_noise, arm, leaf)
        distance = barrier + noise
        if distance <= 0.0:
            break
        level = _subtree_level(table, leaf, stop)
        room = _room_in_cells(table, least_scale, distance)
        if rng.random() >= table.fail[level, room]:
            leaf += 1 << level
            next_prefix_noise(rng, first * leaf**growth, prefix_noise, arm, leaf)
            continue
        while room > 0:  # draw the first leaf that fails, and the nodes on the path to it
            level -= 1
            if rng.random() * table.fail[level + 1, room] < table.fail[level, room]:
                continue  # the left half fails
            leaf += 1 << level
            node, room = _failing_node(rng, table, level, room)
            noise += first * leaf**growth * node
            prefix_noise[arm, level] = noise
        return leaf
    return leaf


# ---------------------------------------------------------------------------- several trees at once


@kernel(borrows=True)
def _passing_node(rng: Rng, table: FirstPassageTable, level: int, room: int) -> tuple[float, int]:
    """Do as `_failing_node`, given that this half passes; for κ = 1."""
    cap = table.fail.shape[1] - 1
    while True:
        node = laplace(rng, 1.0)
        cells = math.floor(node / table.cell_width)
        behind = cap if cells >= cap else max(min(room + cells, cap), 0)
        if behind > 0 and rng.random() >= table.fail[level, behind]:
            return node, int(behind)


@kernel
def walk_to_joint_passage(
    rng: Rng,
    table: FirstPassageTable,
    node_scale: float,
    barriers: Floats,
    signs: Floats,
    noise: Floats,
    start: int,
    stop: int,
) -> int:
    """Move all trees from `start` leaves to `stop`, or to the first leaf where one may fail.

    The counters of `DPUCBHybrid` advance together, with independent noise. Each tree has a barrier
    on one side: at every leaf from `start` up to, but not including, the returned one,
    ``signs[b]·Z_b`` is certainly above ``-barriers[b]`` for all trees b.

    Proof: :prf:ref:`lem-joint-passage`.

    Shapes: `barriers`, `signs` (K,); `noise` (K, 64 or more).
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
                copy_into(fails, lefts)
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
