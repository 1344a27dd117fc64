"""Mechanisms whose privacy loss on a pair of tables is known: what the auditor is measured with.

Each is a frozen configuration that can be audited (`dpbandits.auditing.audit.Auditable`), and that
knows the pair of tables on which it is to be audited and the truth there: the least ε that goes
with a δ. Runs are drawn all at once; noise is that of `dpbandits.mechanisms`.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_integer, check_positive
from dpbandits.auditing.audit import Outputs
from dpbandits.auditing.exact import elimination_law, log_loss, two_arm_epochs
from dpbandits.auditing.tables import TablePair
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.laplace import laplace_noise
from dpbandits.privacy.accounting import epsilon_at
from dpbandits.regret.dp_se import DPSE
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS
from dpbandits.stopping.halting_laws import halting_law, looks_at, margins

__all__ = [
    "EliminationEpoch",
    "HaltingTime",
    "KnownLoss",
    "RandomisedResponse",
    "Releases",
    "TreeSums",
]

Floats = NDArray[np.float64]
_HORIZON = 10**6


class KnownLoss(abc.ABC):
    """Base class: what is audited, on which pair of tables, and what is true there."""

    # a field of the subclasses
    epsilon: float
    """Budget ε of the whole output."""

    label: ClassVar[str]
    """What tables call it."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-privacy of the whole output."""
        return PrivacyGuarantee("global", self.epsilon)

    @property
    @abc.abstractmethod
    def pair(self) -> TablePair:
        """The neighbouring tables."""

    @abc.abstractmethod
    def truth(self, delta: float = 0.0) -> float:
        """Return the least ε that goes with a δ on the pair of tables."""

    @abc.abstractmethod
    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
        """Draw outputs."""

    def _check(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))


def _one_reward(n_pulls: int = 1) -> TablePair:
    return TablePair(np.zeros((1, n_pulls)), 0, 0, 1.0)


def _values(columns: Floats) -> Outputs:
    return Outputs(columns, np.empty((len(columns), 0)))


@dataclass(frozen=True)
class Releases(KnownLoss):
    """One reward, 0 or 1, released several times with independent Laplace noise.

    Attributes
    ----------
    epsilon : float
        ε of all releases together; one is the Laplace mechanism.
    count : int
        How many releases, each of loss ε/count.

    Examples
    --------
    >>> Releases(1.0).truth(), Releases(4.0, count=32).truth(1e-3) < 3.0
    (1.0, True)
    """

    label: ClassVar[str] = "Laplace releases"

    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "count", check_integer("count", self.count, 1))

    @property
    def pair(self) -> TablePair:
        """A reward of 0, or 1."""
        return _one_reward()

    def truth(self, delta: float = 0.0) -> float:
        """Return what composition says, which for these releases is the truth."""
        return epsilon_at(delta, [self.epsilon / self.count] * self.count).lower

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
        """Draw all releases."""
        noise = laplace_noise(rng, self.count / self.epsilon, n_runs * self.count)
        return _values(table[0, 0] + noise.reshape(n_runs, self.count))


@dataclass(frozen=True)
class RandomisedResponse(KnownLoss):
    """One reward, 0 or 1, reported as it is with odds e^ε : 1.

    The coin is a Laplace variable of scale 1, which is above log((1 + e^ε)/2) with probability
    1/(1 + e^ε).

    Attributes
    ----------
    epsilon : float
        ε.
    """

    label: ClassVar[str] = "randomised response"

    epsilon: float

    def __post_init__(self) -> None:
        self._check()

    @property
    def pair(self) -> TablePair:
        """A reward of 0, or 1."""
        return _one_reward()

    def truth(self, delta: float = 0.0) -> float:
        """Return log((p − δ)/(1 − p)) with p the probability of a true report, at least 0."""
        turned = 1.0 / (1.0 + math.exp(self.epsilon))
        kept = 1.0 - turned - delta
        return max(math.log(kept / turned), 0.0) if kept > 0.0 else 0.0

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
        """Draw reports."""
        level = math.log(0.5) + np.logaddexp(0.0, self.epsilon)
        turned = laplace_noise(rng, 1.0, n_runs) > level
        return _values(np.where(turned, 1.0 - table[0, 0], table[0, 0])[:, None])


@dataclass(frozen=True)
class TreeSums(KnownLoss):
    """All running sums of a `BinaryTree`, of which the first reward changes.

    Attributes
    ----------
    epsilon : float
        ε of all sums together.
    horizon : int
        Length of the stream.
    """

    label: ClassVar[str] = "tree counter"

    epsilon: float
    horizon: int = 8

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "horizon", check_integer("horizon", self.horizon, 1))

    @property
    def tree(self) -> BinaryTree:
        """The counter."""
        return BinaryTree(self.epsilon, self.horizon)

    @property
    def pair(self) -> TablePair:
        """A stream of zeros, of which the first entry may be 1."""
        return _one_reward(self.horizon)

    def truth(self, delta: float = 0.0) -> float:
        """Return the ε of the blocks that hold the first reward, one of each size."""
        levels = self.tree.levels
        return epsilon_at(delta, [self.epsilon / levels] * levels).lower

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
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

    The entries are equal, but for the first, which is −1 or 1. The estimate is kept back.

    Attributes
    ----------
    epsilon : float
        ε of the rule; halting alone has half of it.
    look : int
        Number of looks, at 2, 4, 8, … entries: enough for the threshold to be within reach.
    alpha, beta : float
        As for the rule.
    """

    label: ClassVar[str] = "halting time"

    epsilon: float
    look: int = 9
    alpha: float = 0.5
    beta: float = 0.05

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "look", check_integer("look", self.look, 2, 16))
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

    def truth(self, delta: float = 0.0) -> float:
        """Return the greatest log ratio of halting times; for δ = 0 only."""
        if delta:
            raise ValueError(f"delta={delta!r} has no known truth; allowed: 0")
        logs = []
        for table in (self.pair.table, self.pair.neighbour):
            law = halting_law(self.rule, table[0])
            logs.append(np.append(law.log_halt, law.log_survive))
        return log_loss(*logs)

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
        """Draw halting times; 0 for runs that do not halt."""
        rule = self.rule
        times = looks_at(rule, table.shape[1])
        levels = margins(rule, np.cumsum(table[0])[times - 1])
        halting = rule.halting
        barrier = laplace_noise(rng, halting.threshold_scale, n_runs)
        halted = np.zeros(n_runs)
        for time, margin in zip(times, levels, strict=True):
            query = laplace_noise(rng, halting.query_scale, n_runs)
            halted[(halted == 0) & (margin >= barrier + query)] = time
        return _values(halted[:, None])


@dataclass(frozen=True)
class EliminationEpoch(KnownLoss):
    """The first epoch of DP-SE between two arms: which one leaves, if any.

    Attributes
    ----------
    epsilon : float
        ε.
    lag : float
        How far the gap between the sums is below the threshold, in scales of the noise: the
        larger, the rarer an elimination, and the more it tells.
    """

    label: ClassVar[str] = "elimination"

    epsilon: float
    lag: float = 2.0

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "lag", check_positive("lag", self.lag))

    def _plan(self) -> tuple[int, float, float]:
        """Return pulls of each arm, scale of the noise of a sum, and threshold between sums."""
        pulls, scale, threshold, _ = two_arm_epochs(DPSE(self.epsilon), _HORIZON)(1)
        return pulls, scale, threshold

    @property
    def pair(self) -> TablePair:
        """Arm 1 has as many rewards of 1 as `lag` says, arm 0 has none, or one."""
        pulls, scale, threshold = self._plan()
        table = np.zeros((2, pulls))
        table[1, : max(round(threshold - self.lag * scale), 0)] = 1.0
        return TablePair(table, 0, 0, 1.0)

    def truth(self, delta: float = 0.0) -> float:
        """Return the greatest log ratio of the three outcomes; for δ = 0 only."""
        if delta:
            raise ValueError(f"delta={delta!r} has no known truth; allowed: 0")
        _, scale, threshold = self._plan()
        laws = []
        for table in (self.pair.table, self.pair.neighbour):
            gap = np.array([table[0].sum() - table[1].sum()])
            laws.append(elimination_law(gap, np.array([scale]), np.array([threshold])))
        return log_loss(*laws)

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
        """Draw outcomes: −1 or 1 if arm 0 or arm 1 leaves, 0 if both stay."""
        _, scale, threshold = self._plan()
        noise = laplace_noise(rng, scale, 2 * n_runs).reshape(2, n_runs)
        sums = table.sum(axis=1)[:, None] + noise
        gap = sums[0] - sums[1]
        return _values(np.where(np.abs(gap) > threshold, np.sign(gap), 0.0)[:, None])
