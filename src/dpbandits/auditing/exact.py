"""What is known without runs: audits by integration, mechanisms of known truth, accounts.

While both of two arms are viable, elimination decides by the difference of two sums and of two
Laplace variables. An output is the epoch in which an arm leaves, and which one; its probability is
a product over epochs. For stopping rules of the NAS family see `dpbandits.stopping.halting_laws`.
"""

from __future__ import annotations

import abc
import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer
from dpbandits.algorithms import (
    DPRSE,
    DPRUCB,
    DPSE,
    DPUCB,
    LDPRSE,
    DPUCBBound,
    DPUCBHybrid,
    GuessAndDouble,
)
from dpbandits.auditing.audit import Audit
from dpbandits.auditing.subjects import Outputs, TablePair, check_one_arm, declared
from dpbandits.configuration import Configuration, Positive, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy_schedules import HeavyEpochPlan, heavy_epoch
from dpbandits.identification import DPSEIdentifier
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, laplace_noise
from dpbandits.privacy import epsilon_at
from dpbandits.rewards.heavy_laws import HeavyTailInstance, heavy_two_point
from dpbandits.schedules import elimination_epoch
from dpbandits.stopping import (
    DPExponentialNAS,
    NASFamily,
    crossing_streams,
    halting_law,
    loss_limit,
    privacy_loss,
)
from dpbandits.stopping.halting_laws import looks_at, margins

__all__ = [
    "EliminationEpoch",
    "HaltingTime",
    "KnownLoss",
    "RandomisedResponse",
    "Releases",
    "TreeSums",
    "accounted",
    "audit_elimination",
    "audit_exactly",
    "audit_first_choice",
    "audit_report",
    "audit_stopping",
    "elimination_law",
    "hybrid_losses",
    "log_loss",
    "tree_losses",
    "two_arm_epochs",
    "worst_element",
]


_LATEST, _MOST_LOOKS = 16_384, 1_024  # samples of the pair for a stopping rule, and looks at it
_HORIZON = 10**6  # what an algorithm is told

Elimination = DPSE | DPSEIdentifier | DPRSE | GuessAndDouble
"""What `audit_elimination` takes; of `GuessAndDouble`, with one of the others as its base."""


def _heavy_epoch(
    algorithm: DPRSE | LDPRSE, horizon: int, instance: HeavyTailInstance, n_arms: int, epoch: int
) -> HeavyEpochPlan:
    beta = 1 / horizon if algorithm.beta is None else algorithm.beta
    budgets = beta, algorithm.epsilon, instance.moment_bound, instance.order
    return heavy_epoch(n_arms, epoch, *budgets, algorithm.model, algorithm.schedule)


def two_arm_epochs(
    algorithm: Elimination, horizon: int, instance: HeavyTailInstance | None = None
) -> Callable[[int], tuple[int, float, float, float]]:
    """Return what elimination does in each epoch while both of two arms are viable.

    The function that is returned maps an epoch's number to (pulls of each arm, noise scale of a
    sum, gap between noisy sums beyond which an arm leaves, bound B of a reward's absolute value).

    It is told a `horizon`, which for one stretch of `GuessAndDouble` is the guess. `DPRSE` is
    refused without an `instance`, of which it is told the `moment_bound` and the `order`.
    """
    base: Any = algorithm.base if isinstance(algorithm, GuessAndDouble) else algorithm
    bounded = isinstance(base, DPSE | DPSEIdentifier)
    if not bounded and (not isinstance(base, DPRSE) or instance is None):
        raise ValueError(
            f"algorithm={base!r} has no epochs that can be integrated; allowed: DPSE, "
            "DPSEIdentifier, DPRSE with an instance, and GuessAndDouble of one of them"
        )

    def epoch_of(number: int) -> tuple[int, float, float, float]:
        if instance is not None and not bounded:
            heavy = _heavy_epoch(base, horizon, instance, 2, number)
            return heavy.pulls, heavy.noise_scale, heavy.threshold * heavy.pulls, heavy.bound
        confidence = base.delta if isinstance(base, DPSEIdentifier) else base.beta
        beta = 1 / horizon if confidence is None else confidence
        plan = elimination_epoch(2, number, beta, base.epsilon)
        return plan.pulls, plan.noise_scale * plan.pulls, plan.threshold * plan.pulls, 1.0

    return epoch_of


def elimination_law(differences: Floats, scales: Floats, thresholds: Floats) -> Floats:
    """Return the logs of the probabilities of all outputs of elimination between two arms.

    In each of E epochs `differences` is the sum of arm 0 minus that of arm 1, without noise,
    `scales` is that of the noise of each of the two sums (:prf:ref:`lem-difference`), and
    `thresholds` the gap beyond which an arm leaves. The outputs are, for each epoch, that arm 0
    leaves and that arm 1 leaves; and last, that both stay: shape (2E + 1,).

    Examples
    --------
    >>> np.exp(elimination_law(np.zeros(1), np.ones(1), np.zeros(1))).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    logs, staying = [], 0.0
    for gap, scale, threshold in zip(differences, scales, thresholds, strict=True):
        leave_0 = _log_tail((threshold + gap) / scale)
        leave_1 = _log_tail((threshold - gap) / scale)
        logs += [staying + leave_0, staying + leave_1]
        rest = -math.expm1(np.logaddexp(leave_0, leave_1))
        staying += math.log(rest) if rest > 0 else -math.inf
    return np.array([*logs, staying])


def _log_tail(x: float) -> float:
    """Return log P(Z − Z' > x) for two standard Laplace variables."""
    if x >= 0:
        return -x + math.log(0.5 + 0.25 * x)
    return math.log1p(-math.exp(x) * (0.5 - 0.25 * x))


def log_loss(first: Floats, second: Floats) -> float:
    """Return the greatest |log ratio| of two laws on the same outputs, given as logs."""
    possible = (first > -np.inf) | (second > -np.inf)
    return float(np.abs(first[possible] - second[possible]).max())


def _found(target: Any, pair: TablePair, loss: float, event: str) -> Audit:
    return Audit(target.label, target.guarantee, pair, loss, None, event)


def audit_elimination(
    algorithm: Elimination,
    horizon: int = _HORIZON,
    n_epochs: int = 2,
    instance: HeavyTailInstance | None = None,
) -> Audit:
    """Audit elimination exactly, on the pair of tables that tells most.

    Arm 0 has the least reward throughout and arm 1 the greatest, except for one reward of arm 0:
    the tails of the noise decide, where the ratio is greatest (:prf:ref:`prop-elimination-tight`).
    Equal arms, and later epochs, are tried. Parameters and errors as of `two_arm_epochs`;
    `n_epochs` is how many epochs the tables have.

    Examples
    --------
    >>> found = audit_elimination(DPSE(epsilon=0.5))
    >>> found.verdict, 0.49 < found.epsilon_lower <= 0.5
    ('acquitted', True)
    """
    horizon = check_integer("horizon", horizon, 2)
    n_epochs = check_integer("n_epochs", n_epochs, 1)
    epoch_of = two_arm_epochs(algorithm, horizon, instance)
    plans = zip(*(epoch_of(number) for number in range(1, n_epochs + 1)), strict=True)
    pulls, scales, thresholds, bounds = (np.array(each) for each in plans)
    signed = isinstance(getattr(algorithm, "base", algorithm), DPRSE)
    least = -bounds if signed else np.zeros(n_epochs)

    def loss(changed: int, others: Floats) -> float:
        gaps = pulls * (least - others)
        moved = gaps.copy()
        moved[changed] += bounds[changed] - least[changed]
        return log_loss(*(elimination_law(each, scales, thresholds) for each in (gaps, moved)))

    tried = [(changed, others) for changed in range(n_epochs) for others in (bounds, least)]
    losses = [loss(*each) for each in tried]
    changed, others = tried[int(np.argmax(losses))]
    table = np.array([np.repeat(least, pulls), np.repeat(others, pulls)])
    pair = TablePair(table, 0, int(pulls[:changed].sum()), float(bounds[changed]))
    return _found(algorithm, pair, max(losses), "in which epoch an arm leaves, and which")


def audit_stopping(rule: NASFamily, pair: TablePair) -> Audit:
    """Audit a rule such as `DPNAS` exactly on two streams: halting time and estimate together."""
    check_one_arm(pair.table)
    loss = privacy_loss(rule, pair.table[0], pair.neighbour[0])
    when = "no halt" if loss.time is None else f"halting at {loss.time}"
    return _found(rule, pair, loss.total, f"{when}, and the estimate")


def audit_report(algorithm: LDPRSE, instance: HeavyTailInstance) -> Audit:
    """Audit exactly one person's report in the first epoch: the least and the greatest reward."""
    plan = _heavy_epoch(algorithm, _HORIZON, instance, instance.n_arms, 1)
    least = 0.0 if algorithm.schedule == "non-negative" else -plan.bound
    pair = TablePair(np.array([[least]]), 0, 0, plan.bound)
    return _found(algorithm, pair, (plan.bound - least) / plan.noise_scale, "one person's report")


def audit_first_choice(algorithm: DPRUCB, instance: HeavyTailInstance) -> Audit:
    """Audit exactly the third pull of DPRUCB with two arms, the first that depends on rewards.

    Both arms have been pulled once, their bonuses are equal, and the larger of two truncated
    rewards wins, each with the noise of one node. In the worst case one of two greatest changes.
    """
    tree = algorithm.plan(instance, 3).tree
    bound, scale = tree.bound(1), np.array([tree.node_scale(1)])
    pair = TablePair(np.array([[-bound], [bound]]), 0, 0, bound)
    gaps = [np.array([float(t[0, 0] - t[1, 0])]) for t in (pair.table, pair.neighbour)]
    loss = log_loss(*(elimination_law(gap, scale, np.zeros(1))[:2] for gap in gaps))
    return _found(algorithm, pair, loss, "the third pull")


def audit_exactly(target: Any, instance: HeavyTailInstance | None = None) -> Audit | None:
    """Audit by integration, on the pair of tables that is known to tell most, or return None.

    None is returned for what cannot be integrated, and without noise, as outputs are then certain.
    An algorithm for heavy-tailed rewards is told the moments of `instance`, by default
    ``heavy_two_point(0.5, order=0.9)``. A stopping rule is audited on the `crossing_streams` of the
    last look up to the 1024th and up to 16384 samples; later ones tell more, and take longer.

    Examples
    --------
    >>> from dpbandits import UCB
    >>> round(audit_exactly(LDPRSE(epsilon=2.0)).epsilon_lower, 9)
    2.0
    >>> audit_exactly(UCB()) is None
    True
    """
    if not target.guarantee.is_private:
        return None
    heavy = heavy_two_point(0.5, order=0.9) if instance is None else instance
    base = getattr(target, "base", target)
    if isinstance(base, DPRSE):
        return audit_elimination(target, n_epochs=1, instance=heavy)
    if isinstance(base, DPSE | DPSEIdentifier):
        return audit_elimination(target)
    if isinstance(target, LDPRSE):
        return audit_report(target, heavy)
    if isinstance(target, DPRUCB):
        return audit_first_choice(target, heavy)
    if isinstance(target, NASFamily):
        looks = range(1, _MOST_LOOKS + 1)
        look = bisect.bisect_right(looks, _LATEST, key=target.look_time)
        stream, other = crossing_streams(target, look)
        place = int(np.flatnonzero(stream != other)[0])
        return audit_stopping(target, TablePair(stream[None, :], 0, place, float(other[place])))
    return None


@dataclass(frozen=True)
class KnownLoss(Configuration, abc.ABC):
    """Base of the mechanisms whose loss on a pair of tables is known: they measure the auditor.

    ε is the budget of the whole output.
    """

    label: ClassVar[str]
    """Name of it in tables."""
    draws_together: ClassVar[bool] = True
    """Whether the draws of several runs are mixed, so that a table's runs are asked for at once."""

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
        """Draw the outputs of all runs on a table at once."""

    def truth(self, delta: float = 0.0) -> float:
        """Return the least ε that goes with a δ on the pair of tables."""
        if delta:
            raise ValueError(f"delta={delta!r} has no known truth; allowed: 0")
        return log_loss(*(self._law(table) for table in (self.pair.table, self.pair.neighbour)))

    def _law(self, table: Floats) -> Floats:
        """Return the logs of the probabilities of all outputs."""
        raise TypeError(f"{type(self).__name__} has neither a truth nor a law of its own")


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
        return epsilon_at(delta, [self.epsilon / self.count] * self.count).lower

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        noise = laplace_noise(rng, self.count / self.epsilon, n_runs * self.count)
        return Outputs.of_values(table[0, 0] + noise.reshape(n_runs, self.count))


@dataclass(frozen=True)
class RandomisedResponse(KnownLoss):
    """One reward, 0 or 1, reported as it is with odds e^ε : 1.

    The coin is a Laplace variable of scale 1, which is above log((1 + e^ε)/2) with probability
    1/(1 + e^ε).
    """

    label: ClassVar[str] = "randomised response"

    def truth(self, delta: float = 0.0) -> float:
        turned = 1.0 / (1.0 + math.exp(self.epsilon))
        kept = 1.0 - turned - delta
        return max(math.log(kept / turned), 0.0) if kept > 0.0 else 0.0

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        level = math.log(0.5) + np.logaddexp(0.0, self.epsilon)
        turned = laplace_noise(rng, 1.0, n_runs) > level
        return Outputs.of_values(np.where(turned, 1.0 - table[0, 0], table[0, 0])[:, None])


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
        return TablePair(np.zeros((1, self.horizon)), 0, 0, 1.0)

    def truth(self, delta: float = 0.0) -> float:
        levels = self.tree.levels
        return epsilon_at(delta, [self.epsilon / levels] * levels).lower

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        levels, scale = self.tree.levels, self.tree.node_scale
        latest = np.zeros((levels, n_runs))
        sums = np.empty((n_runs, self.horizon))
        for n, total in enumerate(np.cumsum(table[0]), start=1):  # a block's noise as it ends
            latest[(n & -n).bit_length() - 1] = laplace_noise(rng, scale, n_runs)
            blocks = [level for level in range(levels) if n >> level & 1]
            sums[:, n - 1] = total + latest[blocks].sum(axis=0)
        return Outputs.of_values(sums)


@dataclass(frozen=True)
class HaltingTime(KnownLoss):
    """The halting time of DP-exp-NAS on a stream that meets its threshold at the last look.

    The entries are equal, except for the first, which is −1 or 1. The estimate, and with it half
    of ε, is kept back. The `look`, at 2, 4, 8, … entries, must have its threshold within reach: the
    sums are one below and one above it. The time is 0 for runs that do not halt.
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
        length = self.rule.look_time(self.look)
        stream = np.full((1, length), self.rule.threshold(self.look) / (length - 1))
        stream[0, 0] = -1.0
        return TablePair(stream, 0, 0, 1.0)

    def _law(self, table: Floats) -> Floats:
        law = halting_law(self.rule, table[0])
        return np.append(law.log_halt, law.log_survive)

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        times = looks_at(self.rule, table.shape[1])
        levels = margins(self.rule, np.cumsum(table[0])[times - 1])
        halting = self.rule.halting
        barrier = laplace_noise(rng, halting.threshold_scale, n_runs)
        halted = np.zeros(n_runs)
        for time, margin in zip(times, levels, strict=True):
            query = laplace_noise(rng, halting.query_scale, n_runs)
            halted[(halted == 0) & (margin >= barrier + query)] = time
        return Outputs.of_values(halted[:, None])


@dataclass(frozen=True)
class EliminationEpoch(KnownLoss):
    """The first epoch of DP-SE between two arms: −1 or 1 if arm 0 or arm 1 leaves, else 0.

    The gap between the sums is `lag` scales of the noise below the threshold: the larger, the rarer
    an elimination, and the more it tells. Arm 1 has that many rewards of 1, arm 0 none, or one.
    """

    label: ClassVar[str] = "elimination"

    lag: Positive = 2.0

    def _plan(self) -> tuple[int, float, float]:
        """Return pulls of each arm, noise scale of a sum, and threshold, as of `two_arm_epochs`."""
        return two_arm_epochs(DPSE(self.epsilon), _HORIZON)(1)[:3]

    @property
    def pair(self) -> TablePair:
        pulls, scale, threshold = self._plan()
        table = np.zeros((2, pulls))
        table[1, : max(round(threshold - self.lag * scale), 0)] = 1.0
        return TablePair(table, 0, 0, 1.0)

    def _law(self, table: Floats) -> Floats:
        _, scale, threshold = self._plan()
        gap = table[0].sum() - table[1].sum()
        return elimination_law(*np.array([[gap], [scale], [threshold]]))

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        _, scale, threshold = self._plan()
        noise = laplace_noise(rng, scale, 2 * n_runs).reshape(2, n_runs)
        sums = table.sum(axis=1)[:, None] + noise
        gap = sums[0] - sums[1]
        return Outputs.of_values(np.where(np.abs(gap) > threshold, np.sign(gap), 0.0)[:, None])


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
    declared. It can be less: in a short run some releases do not happen, and those that a run ends
    with decide nothing. The losses of the rest are added up.

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
    """Return the number, from 1, of the element of a stream of which a counter releases most."""
    sums = [math.fsum(losses) for losses in _releases(counter, length)]
    return 1 + sums.index(max(sums)) if sums else 1


def _releases(target: Any, n_pulls: int) -> list[list[float]]:
    """Return for each reward the losses of its releases; nothing where they are the same for all.

    The last decision between two arms knows all rewards except its own, and one at least of each
    arm: an arm has at most n − 2 rewards then.
    """
    counter, length = target, n_pulls
    if isinstance(target, DPUCB | DPUCBBound):
        counter = target.tree(2, n_pulls) if isinstance(target, DPUCB) else target.counter
        length = n_pulls - 2
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
