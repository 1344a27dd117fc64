"""Arms in heaps: groups of arms, of each of which the best arm is known.

An arm is in one heap at a time, and all heaps are linked through the same arrays, so that they take
O(K) numbers together. They are the pairing heaps of Fredman, Sedgewick, Sleator and Tarjan (1986):
to put an arm in takes O(1), to take the best out O(log K) amortised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import kernel

__all__ = ["MANY", "Links", "links_of", "popped", "pushed"]

MANY = 256
"""Number of arms from which on heaps are the default: they are quicker than looks at every arm."""


class Links(NamedTuple):
    """Heaps of arms.

    The best arm of a heap has the largest value, and of equal values the lowest number. A heap is
    its best arm, or −1 if it is empty.
    """

    values: Floats  # (K,)
    # (2K,): of arm a, at 2a, the first arm below it and, next to it, the next arm beside it, or −1
    arms: NDArray[np.int32]


def links_of(n_arms: int) -> Links:
    """Return links of arms none of which is in a heap."""
    return Links(np.zeros(n_arms), np.full(2 * n_arms, -1, np.int32))


@kernel(borrows=True)
def _melded(links: Links, a: int, b: int) -> int:
    """Return the better of two arms, below which the other is put."""
    values, arms = links
    if values[b] > values[a] or (values[b] == values[a] and b < a):
        a, b = b, a
    arms[2 * b + 1] = arms[2 * a]
    arms[2 * a] = b
    return a


@kernel(borrows=True)
def pushed(links: Links, heap: int, arm: int) -> int:
    """Return a heap with one arm more, which is in none."""
    links.arms[2 * arm] = links.arms[2 * arm + 1] = -1
    return arm if heap < 0 else _melded(links, heap, arm)


@kernel(borrows=True)
def popped(links: Links, heap: int) -> int:
    """Return a heap, which is not empty, without its best arm."""
    arms = links.arms
    rest, pairs = int(arms[2 * heap]), -1
    while rest >= 0:
        one, other = rest, int(arms[2 * rest + 1])
        if other < 0:
            rest = -1
        else:
            rest = int(arms[2 * other + 1])
            one = _melded(links, one, other)
        arms[2 * one + 1] = pairs
        pairs = one
    if pairs < 0:
        return -1
    best, rest = pairs, int(arms[2 * pairs + 1])
    while rest >= 0:
        other, rest = rest, int(arms[2 * rest + 1])
        best = _melded(links, best, other)
    arms[2 * best + 1] = -1
    return best
