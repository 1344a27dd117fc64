"""What is known about a privacy loss: mechanisms of known truth, and what accounting allows.

The auditor is measured with mechanisms whose loss on a pair of tables is known (`KnownLoss`).

For an algorithm, which declares a guarantee for every horizon and every table, `accounted` adds up
the losses of its releases on tables of a given length. In a short run some releases do not happen,
and those that a run ends with decide nothing: what composition says of the rest can be less. Where
every reward enters one release, it is what is declared.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits.algorithms import DPRUCB, DPSE, DPUCB, DPUCBBound, DPUCBHybrid
from dpbandits.auditing.exact import elimination_law, log_loss, two_arm_epochs
from dpbandits.auditing.subjects import declared
from dpbandits.auditing.tables import Outputs, TablePair
from dpbandits.configuration import Configuration, Positive, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, laplace_noise
from dpbandits.privacy import epsilon_at
from dpbandits.stopping import DPExponentialNAS, NASFamily, halting_law, loss_limit
from dpbandits.stopping.halting_laws import looks_at, margins

__all__ = [
    "EliminationEpoch",
    "HaltingTime",
    "KnownLoss",
    "RandomisedResponse",
    "Releases",
    "TreeSums",
    "accounted",
    "hybrid_losses",
    "tree_losses",
    "worst_element",
]

_HORIZON = 10**6


@dataclass(frozen=True)
class KnownLoss(Configuration, abc.ABC):
    """Base of the mechanisms of known truth, with a budget ε of the whole output."""

    label: ClassVar[str]
    """Name of it in tables."""

    epsilon: Positive

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-privacy of the whole output."""
        return PrivacyGuarantee("global", self.epsilon)

    @property
    def pair(self) -> TablePair:
        """The neighbouring tables: one reward, 0 or 1."""
        return TablePair(np.zeros((1, 1)), 0, 0, 1.0)

    @abc.abstractmethod
    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw the outputs of all runs at once."""

    def truth(self, delta: float = 0.0) -> float:
        """Return the least ε that goes with a δ on the pair of tables."""
        if delta:
            raise ValueError(f"delta={delta!r} has no known truth; allowed: 0")
        return log_loss(*(self._law(table) for table in (self.pair.table, self.pair.neighbour)))

    def _law(self, table: Floats) -> Floats:
        """Return the logs of the probabilities of all outputs."""
        raise TypeError(f"{type(self).__name__} has neither a truth nor a law of its own")


def _values(columns: Floats) -> Outputs:
    return Outputs(columns, np.empty((len(columns), 0)))


@dataclass(frozen=True)
class Releases(KnownLoss):
    """One reward, 0 or 1, released `count` times with independent Laplace noise of loss ε/count.

    Examples
    --------
    >>> Releases(1.0).truth(), Releases(4.0, count=32).truth(1e-3) < 3.0
    (1.0, True)
    """

    label: ClassVar[str] = "Laplace releases"

    count: Annotated[int, whole(1)] = 1

    def truth(self, delta: float = 0.0) -> float:
        """Return the ε of composition, which for these releases is the truth."""
        return epsilon_at(delta, [self.epsilon / self.count] * self.count).lower

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw all releases."""
        noise = laplace_noise(rng, self.count / self.epsilon, n_runs * self.count)
        return _values(table[0, 0] + noise.reshape(n_runs, self.count))


@dataclass(frozen=True)
class RandomisedResponse(KnownLoss):
    """One reward, 0 or 1, reported as it is with odds e^ε : 1.

    The coin is a Laplace variable of scale 1, which is above log((1 + e^ε)/2) with probability
    1/(1 + e^ε).
    """

    label: ClassVar[str] = "randomised response"

    def truth(self, delta: float = 0.0) -> float:
        """Return log((p − δ)/(1 − p)) with p the probability of a true report, at least 0."""
        turned = 1.0 / (1.0 + math.exp(self.epsilon))
        kept = 1.0 - turned - delta
        return max(math.log(kept / turned), 0.0) if kept > 0.0 else 0.0

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw reports."""
        level = math.log(0.5) + np.logaddexp(0.0, self.epsilon)
        turned = laplace_noise(rng, 1.0, n_runs) > level
        return _values(np.where(turned, 1.0 - table[0, 0], table[0, 0])[:, None])


@dataclass(frozen=True)
class TreeSums(KnownLoss):
    """All running sums of a `BinaryTree` for a horizon, of which the first reward changes."""

    label: ClassVar[str] = "tree counter"

    horizon: Annotated[int, whole(1)] = 8

    @property
    def tree(self) -> BinaryTree:
        """The counter."""
        return BinaryTree(self.epsilon, self.horizon)

    @property
    def pair(self) -> TablePair:
        """A stream of zeros, of which the first entry may be 1."""
        return TablePair(np.zeros((1, self.horizon)), 0, 0, 1.0)

    def truth(self, delta: float = 0.0) -> float:
        """Return the ε of the blocks that hold the first reward, one of each size."""
        levels = self.tree.levels
        return epsilon_at(delta, [self.epsilon / levels] * levels).lower

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw all sums; each element draws the noise of the block that ends with it."""
        levels, scale = self.tree.levels, self.tree.node_scale
        latest = np.zeros((levels, n_runs))
        sums = np.empty((n_runs, self.horizon))
        for n, total in enumerate(np.cumsum(table[0]), start=1):
            latest[(n & -n).bit_length() - 1] = laplace_noise(rng, scale, n_runs)
            blocks = [level for level in range(levels) if n >> level & 1]
            sums[:, n - 1] = total + latest[blocks].sum(axis=0)
        return _values(sums)


@dataclass(frozen=True)
class HaltingTime(KnownLoss):
    """The halting time of DP-exp-NAS on a stream that meets its threshold at the last look.

    The entries are equal, except for the first, which is −1 or 1. The estimate, and with it half
    of ε, is kept back. The `look`, at 2, 4, 8, … entries, must have its threshold within reach.
    """

    label: ClassVar[str] = "halting time"

    look: Annotated[int, whole(2, 16)] = 9
    alpha: float = 0.5
    beta: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        length = self.rule.look_time(self.look)
        if self.rule.threshold(self.look) >= length - 1:
            raise ValueError(
                f"look={self.look!r} is out of range; allowed: a look whose threshold, here "
                f"{self.rule.threshold(self.look):.0f}, is below its {length} entries"
            )

    @property
    def rule(self) -> DPExponentialNAS:
        """The rule."""
        return DPExponentialNAS(self.epsilon, self.alpha, self.beta)

    @property
    def pair(self) -> TablePair:
        """Streams whose sums are one below and one above the threshold at the last look."""
        length = self.rule.look_time(self.look)
        stream = np.full((1, length), self.rule.threshold(self.look) / (length - 1))
        stream[0, 0] = -1.0
        return TablePair(stream, 0, 0, 1.0)

    def _law(self, table: Floats) -> Floats:
        law = halting_law(self.rule, table[0])
        return np.append(law.log_halt, law.log_survive)

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw halting times; 0 for runs that do not halt."""
        times = looks_at(self.rule, table.shape[1])
        levels = margins(self.rule, np.cumsum(table[0])[times - 1])
        halting = self.rule.halting
        barrier = laplace_noise(rng, halting.threshold_scale, n_runs)
        halted = np.zeros(n_runs)
        for time, margin in zip(times, levels, strict=True):
            query = laplace_noise(rng, halting.query_scale, n_runs)
            halted[(halted == 0) & (margin >= barrier + query)] = time
        return _values(halted[:, None])


@dataclass(frozen=True)
class EliminationEpoch(KnownLoss):
    """The first epoch of DP-SE between two arms: which one leaves, if any.

    The gap between the sums is `lag` scales of the noise below the threshold: the larger, the rarer
    an elimination, and the more it tells.
    """

    label: ClassVar[str] = "elimination"

    lag: Positive = 2.0

    def _plan(self) -> tuple[int, float, float]:
        """Return pulls of each arm, scale of the noise of a sum, and threshold between sums."""
        return two_arm_epochs(DPSE(self.epsilon), _HORIZON)(1)[:3]

    @property
    def pair(self) -> TablePair:
        """Arm 1 has as many rewards of 1 as `lag` says, arm 0 has none, or one."""
        pulls, scale, threshold = self._plan()
        table = np.zeros((2, pulls))
        table[1, : max(round(threshold - self.lag * scale), 0)] = 1.0
        return TablePair(table, 0, 0, 1.0)

    def _law(self, table: Floats) -> Floats:
        _, scale, threshold = self._plan()
        gap = table[0].sum() - table[1].sum()
        return elimination_law(*np.array([[gap], [scale], [threshold]]))

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw outcomes: −1 or 1 if arm 0 or arm 1 leaves, 0 if both stay."""
        _, scale, threshold = self._plan()
        noise = laplace_noise(rng, scale, 2 * n_runs).reshape(2, n_runs)
        sums = table.sum(axis=1)[:, None] + noise
        gap = sums[0] - sums[1]
        return _values(np.where(np.abs(gap) > threshold, np.sign(gap), 0.0)[:, None])


def tree_losses(element: int, length: int, levels: int, epsilon: float) -> list[float]:
    """Return the losses, ε/L each, of the blocks of a binary tree that hold an element, from 1.

    Of its L levels only blocks that have been used count: those that have ended after `length`
    elements, unless a larger one ends with them.

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
    """Return the ε, at a δ, that accounting allows a target on tables of two arms.

    The target is an algorithm, a stopping rule, a counter or a `KnownLoss`, `n_pulls` the length
    of the tables. For all except a `KnownLoss` δ is that of the guarantee, and ε at most what is
    declared.

    Examples
    --------
    A tree for 16 pulls has five levels, of which the block of all 16 decides nothing:

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
    return min(max(map(math.fsum, _releases(target, n_pulls)), default=promised), promised)


def worst_element(counter: Any, length: int) -> int:
    """Return the number, from 1, of the element of a stream of which a counter releases most.

    Examples
    --------
    >>> worst_element(HybridCounter(1.0), 8), worst_element(BinaryTree(1.0, 8), 8)
    (3, 1)
    """
    sums = [math.fsum(losses) for losses in _releases(counter, length)]
    return 1 + sums.index(max(sums)) if sums else 1


def _releases(target: Any, n_pulls: int) -> list[list[float]]:
    """Return for each reward the losses of its releases; nothing where they are the same for all.

    The last decision between two arms knows all rewards except its own, and one at least of each
    arm: an arm has at most n − 2 rewards then.
    """
    counter, length = target, n_pulls
    if isinstance(target, DPUCB):
        counter, length = target.tree(2, n_pulls), n_pulls - 2
    elif isinstance(target, DPUCBBound):
        counter, length = target.counter, n_pulls - 2
    elif isinstance(target, DPUCBHybrid):  # a counter counts every pull, of whichever arm
        counter, length = target.counter, n_pulls - 1
    elif isinstance(target, DPRUCB) and n_pulls == 1:  # the third pull: one node of each arm
        return [[target.epsilon / AdaptiveTree(target.epsilon, 3).levels]]
    elements = range(1, length + 1)
    if isinstance(counter, HybridCounter):
        return [hybrid_losses(element, length, counter) for element in elements]
    if isinstance(counter, BinaryTree | AdaptiveTree):
        levels, epsilon = counter.levels, counter.epsilon
        return [tree_losses(element, length, levels, epsilon) for element in elements]
    return []
