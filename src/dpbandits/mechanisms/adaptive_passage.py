"""First passage of an adaptive tree's noise below a barrier, over a stretch of nearly one scale.

As `dpbandits.mechanisms.first_passage`, for nodes whose scale grows with the element they end at:
on the stretch it lies between s, that of its first node, and κ·s. A node's noise is its scale
times a standard Laplace variable q. The walk is lowered to Y = κ·s·q if q < 0 and Y = s·q
otherwise: Y is at most the node's noise, has one law for all nodes of the stretch, and so one
table serves; and given Y, q is known and with it the true noise.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.first_passage import lowest_level, next_prefix_noise, prefix_noise_at

__all__ = ["GrowingPassageTable", "growing_passage_table", "walk_growing_tree"]


class GrowingPassageTable(NamedTuple):
    """Law of the first passage of the lowered sums Y of a subtree, in cells of width h·s.

    The room d = 1..D is the distance to the barrier in cells, rounded up. A node takes it from d
    to min(d + ⌊Y/(hs)⌋, D); a leaf fails when the nodes on its way take the room to 0 or below.

    Attributes
    ----------
    cell_width : float
        h.
    ratio : float
        κ, the greatest scale of a stretch over its least.
    fail, right_fail : numpy.ndarray of float, shape (J + 1, D + 1)
        As of `dpbandits.mechanisms.first_passage.FirstPassageTable`.
    cell_mass : numpy.ndarray of float, shape (2 D + 1,)
        ``cell_mass[D + k]``: probability of ⌊Y/(hs)⌋ = k.
    """

    cell_width: float
    ratio: float
    fail: NDArray[np.float64]
    right_fail: NDArray[np.float64]
    cell_mass: NDArray[np.float64]


@lru_cache(maxsize=8)
def growing_passage_table(
    ratio: float = 1.0625, cell_width: float = 0.25, n_cells: int = 400, max_level: int = 30
) -> GrowingPassageTable:
    """Tabulate the first-passage law of subtrees with 1, 2, 4, …, 2^max_level leaves.

    Parameters
    ----------
    ratio : float
        κ ≥ 1.
    cell_width : float
        h > 0.
    n_cells : int
        Greatest room D ≥ 1, in cells.
    max_level : int
        Greatest level J ≥ 0.

    Returns
    -------
    GrowingPassageTable
        Read-only arrays, computed once per process.

    Examples
    --------
    Two leaves: the second fails when its one node, lowered, falls by more than the room.

    >>> table = growing_passage_table(1.25, 0.25)
    >>> bool(abs(table.fail[1, 4] - 0.5 * math.exp(-3 * 0.25 / 1.25)) < 1e-15)
    True
    """
    cap, up, down = n_cells, cell_width, cell_width / ratio  # a cell in units of q, on each side
    k = np.arange(-cap, cap + 1)
    rise = 0.5 * np.exp(-up * np.maximum(k, 0)) * -math.expm1(-up)
    fall = 0.5 * np.exp(-down * np.maximum(-1 - k, 0)) * -math.expm1(-down)
    cell_mass = np.where(k >= 0, rise, fall)
    room = np.arange(cap + 1)
    node_fail = 0.5 * np.exp(-down * (room - 1.0))
    node_fail[0] = 1.0 - 0.5 * math.exp(-up)
    # moves[d, y - 1]: probability that one node takes the room from d to y = 1..D
    moves = cell_mass[cap + room[None, 1:] - room[:, None]]
    moves[:, -1] = 0.5 * np.exp(-up * (cap - room))
    fail = np.zeros((max_level + 1, cap + 1))
    right_fail = np.zeros((max_level + 1, cap + 1))
    fail[:, 0] = 1.0
    for j in range(max_level + 1):
        right_fail[j] = node_fail + moves @ fail[j, 1:]
        if j < max_level:
            fail[j + 1, 1:] = fail[j, 1:] + (1.0 - fail[j, 1:]) * right_fail[j, 1:]
    for array in (fail, right_fail, cell_mass):
        array.setflags(write=False)
    return GrowingPassageTable(cell_width, ratio, fail, right_fail, cell_mass)


@njit(cache=True, nogil=True)
def _failing_node(
    rng: np.random.Generator, table: GrowingPassageTable, level: int, room: int
) -> tuple[float, int]:
    """Draw the node in front of a right half with 2^level leaves, given that this half fails.

    Returns
    -------
    q : float
        The node's noise over its scale.
    room : int
        The room behind it; 0 when the node itself fails.
    """
    cap = table.fail.shape[1] - 1
    up = table.cell_width
    down = up / table.ratio
    u = rng.random() * table.right_fail[level, room]
    mass = table.right_fail[0, room]  # the node alone takes the room to 0 or below
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
    # inside a cell q is an exponential, cut off at the width of the cell
    if behind >= room:
        return (behind - room) * up - math.log1p(rng.random() * math.expm1(-up)), behind
    return (behind - room + 1) * down + math.log1p(rng.random() * math.expm1(-down)), behind


@njit(cache=True, nogil=True)
def walk_growing_tree(
    rng: np.random.Generator,
    table: GrowingPassageTable,
    first_scale: float,
    growth: float,
    barrier: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    start: int,
    stop: int,
) -> int:
    """Move an arm's adaptive tree from `start` elements to `stop`, or to a leaf that may be low.

    At every length from `start` up to, not including, the returned one the noise of the prefix is
    certainly above ``-barrier``. All noise that later prefixes read is drawn, with its exact law:
    the nodes of the returned prefix, and no others.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    table : GrowingPassageTable
        With κ ≥ (stop/(start + 1))^g.
    first_scale, growth : float
        A node that ends at element n has scale ``first_scale``·n^g, g the ``growth``.
    barrier : float
        Distance of the barrier below 0.
    prefix_noise : numpy.ndarray of float, shape (K, 64)
        As in `dpbandits.mechanisms.first_passage.next_prefix_noise`; updated in place.
    arm : int
        The arm.
    start, stop : int
        Lengths, 1 ≤ start ≤ stop.

    Returns
    -------
    int
        `stop`, or the first length at which the lowered noise has reached the barrier.
    """
    cap, top = table.fail.shape[1] - 1, table.fail.shape[0] - 1
    cell = table.cell_width * first_scale * (start + 1.0) ** growth
    leaf = start
    while leaf < stop:
        noise = prefix_noise_at(prefix_noise, arm, leaf)
        distance = barrier + noise
        if distance <= 0.0:
            break
        level = min(lowest_level(leaf), top)
        while 1 << level > stop - leaf:
            level -= 1
        room = cap
        if distance < cell * cap:
            room = int(distance / cell) + 1
        if rng.random() >= table.fail[level, room]:
            leaf += 1 << level
            next_prefix_noise(rng, first_scale * leaf**growth, prefix_noise, arm, leaf)
            continue
        while room > 0:  # draw the first leaf that fails, and the nodes on the way to it
            level -= 1
            if rng.random() * table.fail[level + 1, room] < table.fail[level, room]:
                continue  # the left half fails
            leaf += 1 << level
            q, room = _failing_node(rng, table, level, room)
            noise += first_scale * leaf**growth * q
            prefix_noise[arm, level] = noise
        return leaf
    return leaf
