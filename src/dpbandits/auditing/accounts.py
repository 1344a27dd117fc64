"""What accounting allows on tables of a given length: the losses of all releases, added up.

An algorithm declares a guarantee for every horizon and every table. In a short run some releases
do not happen, and those that a run ends with decide nothing: what composition says of the rest can
be less. Where every reward enters one release, it is what is declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dpbandits.auditing.truths import KnownLoss
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.adaptive_tree import AdaptiveTree
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.hybrid import HybridCounter
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.stopping.base import NASFamily
from dpbandits.stopping.halting_loss import loss_limit

__all__ = ["accounted", "declared", "hybrid_losses", "tree_losses", "worst_element"]


def declared(target: Any, n_pulls: int) -> PrivacyGuarantee:
    """Return what a target declares, for tables of `n_pulls` where it depends on their length."""
    found: PrivacyGuarantee = target.guarantee
    return target.guarantee_at(n_pulls) if isinstance(target, DPUCBInt) else found


def tree_losses(element: int, length: int, levels: int, epsilon: float) -> list[float]:
    """Return the losses of the blocks of a binary tree that hold an element and have been used.

    A block is used if it has ended, and if no larger one ends with it.

    Parameters
    ----------
    element : int
        Number of the element, from 1.
    length : int
        Elements so far.
    levels : int
        Levels L of the tree, on each of which a block has the loss ε/L.
    epsilon : float
        ε of the tree.

    Returns
    -------
    list of float

    Examples
    --------
    >>> [len(tree_losses(element, 14, 5, 1.0)) for element in (1, 2, 3, 9)]
    [4, 3, 3, 3]
    """
    places = (element - 1 >> level for level in range(levels))  # among the blocks of a level
    ends = [(place + 1) << level for level, place in enumerate(places) if place % 2 == 0]
    return [epsilon / levels for end in ends if end <= length]


def hybrid_losses(element: int, length: int, counter: HybridCounter) -> list[float]:
    """Return the losses of the releases of a hybrid counter that hold an element and have ended.

    Examples
    --------
    >>> from dpbandits.mechanisms import HybridCounter
    >>> hybrid_losses(9, 12, HybridCounter(0.75)), hybrid_losses(9, 16, HybridCounter(0.75))
    ([0.125, 0.125, 0.125], [0.375, 0.125, 0.125, 0.125])
    """
    part = counter.part_epsilon
    levels = (element - 1).bit_length()  # the block ends at 2^levels
    losses = [part] if 2**levels <= length else []
    if 2**levels == element:
        return losses
    start = 2 ** (levels - 1)  # where the stretch begins, whose tree has one level less
    ends = min(length, 2**levels - 1) - start
    return losses + tree_losses(element - start, ends, levels - 1, part)


def accounted(target: Any, n_pulls: int, delta: float = 0.0) -> float:
    """Return the ε, at a δ, that accounting allows an algorithm on two arms' tables.

    Parameters
    ----------
    target : object
        An algorithm, a stopping rule, a counter, or a mechanism whose truth is known.
    n_pulls : int
        Length of the tables.
    delta : float
        δ; for anything else than a mechanism of known truth, that of its guarantee.

    Returns
    -------
    float
        No more than the ε that is declared.

    Examples
    --------
    A tree for 16 pulls has five levels, of which the block of all 16 decides nothing:

    >>> from dpbandits import DPUCB
    >>> accounted(DPUCB(epsilon=1.0), 16)
    0.8
    """
    if isinstance(target, KnownLoss):
        return target.truth(delta)
    promised = declared(target, n_pulls).epsilon
    if not math.isfinite(promised):
        return promised
    if isinstance(target, NASFamily):
        look = target.look(n_pulls)
        return loss_limit(target, look) + 2 * target.half_range / target.halting.release_scale
    most = max((math.fsum(losses) for losses in _releases(target, n_pulls)), default=promised)
    return min(most, promised)


def worst_element(counter: Any, length: int) -> int:
    """Return the number, from 1, of the element of a stream of which a counter releases most.

    Examples
    --------
    >>> worst_element(HybridCounter(1.0), 8), worst_element(BinaryTree(1.0, 8), 8)
    (3, 1)
    """
    sums = [math.fsum(losses) for losses in _releases(counter, length)]
    return 1 + sums.index(max(sums)) if sums else 1


def _releases(target: Any, n_pulls: int) -> Iterator[list[float]]:
    """Yield for each reward the losses of what is released of it, where that is not all alike.

    The first decision knows one reward of each of two arms, and the last all but its own: an arm
    has at most n − 2 rewards then.
    """
    n_arms = 2
    if isinstance(target, BinaryTree | AdaptiveTree):
        for element in range(1, n_pulls + 1):
            yield tree_losses(element, n_pulls, target.levels, target.epsilon)
    elif isinstance(target, HybridCounter):
        for element in range(1, n_pulls + 1):
            yield hybrid_losses(element, n_pulls, target)
    elif isinstance(target, DPUCB):
        tree = target.tree(n_arms, n_pulls)
        for element in range(1, n_pulls - n_arms + 1):
            yield tree_losses(element, n_pulls - n_arms, tree.levels, tree.epsilon)
    elif isinstance(target, DPUCBBound):
        for element in range(1, n_pulls - n_arms + 1):
            yield hybrid_losses(element, n_pulls - n_arms, target.counter)
    elif isinstance(target, DPUCBHybrid):  # a counter counts every pull, of whichever arm
        for element in range(1, n_pulls):
            yield hybrid_losses(element, n_pulls - 1, target.counter)
    elif isinstance(target, DPRUCB) and n_pulls == 1:
        levels = AdaptiveTree(target.epsilon, 3).levels
        yield [target.epsilon / levels]  # the third pull: one node of each arm
