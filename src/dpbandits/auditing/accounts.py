"""What accounting allows: the losses of the releases that a run makes, added up.

An audit bounds ε from below, an account from above. It can be less than what is declared: in a
short run some releases do not happen, and those that a run ends with decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dpbandits._validation import shown
from dpbandits.algorithms import (
    DPNAS,
    DPRUCB,
    DPUCB,
    DPExponentialNAS,
    DPUCBBound,
    DPUCBHybrid,
)
from dpbandits.auditing.subjects import declared
from dpbandits.auditing.truths import KnownLoss
from dpbandits.configuration import Count, checked_arguments
from dpbandits.guarantees import Delta
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter
from dpbandits.stopping import loss_limit
from dpbandits.stopping.halting_laws import looks_at

__all__ = ["accounted", "hybrid_losses", "tree_losses", "worst_element"]

Losses = list[list[float]]
"""For each reward, the losses of its releases."""


def tree_losses(element: int, length: int, levels: int, epsilon: float) -> list[float]:
    """Return the losses, ε/L each, of the blocks of a binary tree that hold an element.

    Only blocks that have been used count: those that have ended, unless a larger one ends with
    them.

    Parameters
    ----------
    element : int
        Number of the element, from 1.
    length : int
        Number of elements of the stream.
    levels : int
        Number L of levels of the tree.
    epsilon : float
        Budget ε of all levels.

    Returns
    -------
    list of float
        The losses.

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

    Parameters
    ----------
    element : int
        Number of the element, from 1.
    length : int
        Number of elements of the stream.
    counter : HybridCounter
        The counter.

    Returns
    -------
    list of float
        The losses.

    Examples
    --------
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


@checked_arguments
def accounted(target: Any, n_pulls: Count, delta: Delta = 0.0) -> float:
    """Return the ε, at a δ, that accounting allows a target on tables of two arms.

    Parameters
    ----------
    target : object
        An algorithm, a stopping rule, a counter or a `KnownLoss`.
    n_pulls : int
        Length of the tables.
    delta : float
        δ of the truth of a `KnownLoss`; of all others δ is that of the guarantee.

    Returns
    -------
    float
        An ε, at most what is declared; of a `KnownLoss`, the truth.

    Raises
    ------
    ValueError
        If `n_pulls` or `delta` is out of range.

    Examples
    --------
    A tree for 16 pulls has five levels, of which the block of all 16 decides nothing:

    >>> accounted(DPUCB(epsilon=1.0), 16)
    0.8

    DP-exp-NAS looks at 2, 4 and 8 samples, and in the first 12 no more:

    >>> rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> accounted(rule, 12) == accounted(rule, 8) < accounted(rule, 16), accounted(rule, 1)
    (True, 0.0)
    """
    if isinstance(target, KnownLoss):
        return target.truth(delta)
    if not hasattr(target, "guarantee"):
        raise ValueError(
            f"target={shown(target)} declares no guarantee; allowed: an algorithm, a rule, "
            "a counter or a KnownLoss"
        )
    promised = declared(target, n_pulls).epsilon
    if not math.isfinite(promised):
        return promised
    if type(target) in (DPNAS, DPExponentialNAS):
        look = looks_at(target, n_pulls).size
        if look == 0:  # the rule has not halted, whatever the rewards
            return 0.0
        found: float = (
            loss_limit(target, look) + 2 * target.half_range / target.halting.release_scale
        )
        return found
    return min(max(map(math.fsum, _releases(target, n_pulls)), default=promised), promised)


def worst_element(counter: Any, length: int) -> int:
    """Return the element of a stream of which a counter releases most.

    Parameters
    ----------
    counter : Counter
        The counter.
    length : int
        Number of elements of the stream.

    Returns
    -------
    int
        Its number, from 1; the first of several.

    Examples
    --------
    >>> worst_element(HybridCounter(1.0), 8), worst_element(BinaryTree(1.0, 8), 8)
    (3, 1)
    """
    sums = [math.fsum(losses) for losses in _releases(counter, length)]
    return 1 + sums.index(max(sums)) if sums else 1


def _releases(target: Any, n_pulls: int) -> Losses:
    """Return the losses of each reward; nothing where they are the same for all, or not known."""
    account = _ACCOUNTS.get(type(target))
    return [] if account is None else account(target, n_pulls)


def _of_tree(tree: BinaryTree | AdaptiveTree, length: int) -> Losses:
    each = range(1, length + 1)
    return [tree_losses(element, length, tree.levels, tree.epsilon) for element in each]


def _of_hybrid(counter: HybridCounter, length: int) -> Losses:
    return [hybrid_losses(element, length, counter) for element in range(1, length + 1)]


def _of_dp_ucb(target: DPUCB, n_pulls: int) -> Losses:
    """Return the losses of an arm's tree, one for each arm.

    The last decision between two arms knows all rewards except its own, and one at least of each
    arm: an arm has at most n − 2 rewards then. So it is for DP-UCB-BOUND.
    """
    return _of_tree(target.tree(2, n_pulls), n_pulls - 2)


def _of_dp_ucb_bound(target: DPUCBBound, n_pulls: int) -> Losses:
    return _releases(target.counter, n_pulls - 2)


def _of_dp_ucb_hybrid(target: DPUCBHybrid, n_pulls: int) -> Losses:
    """Return the losses of the counter, which counts every pull, of whichever arm."""
    return _releases(target.counter, n_pulls - 1)


def _of_dprucb(target: DPRUCB, n_pulls: int) -> Losses:
    """Return the loss of the third pull, one node of each arm; of more pulls nothing is known."""
    return [[target.epsilon / AdaptiveTree(target.epsilon, 3).levels]] if n_pulls == 1 else []


_ACCOUNTS: dict[type, Callable[[Any, int], Losses]] = {
    BinaryTree: _of_tree,
    AdaptiveTree: _of_tree,
    HybridCounter: _of_hybrid,
    DPUCB: _of_dp_ucb,
    DPUCBBound: _of_dp_ucb_bound,
    DPUCBHybrid: _of_dp_ucb_hybrid,
    DPRUCB: _of_dprucb,
}
