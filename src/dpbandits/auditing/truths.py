"""Mechanisms whose privacy loss is known: they measure the auditor."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits.algorithms import DPSE
from dpbandits.auditing.elimination_laws import (
    TwoArmEpoch,
    elimination_law,
    log_loss,
    two_arm_epochs,
)
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.subjects import Outputs
from dpbandits.configuration import Configuration, Positive, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import BinaryTree, laplace_noise
from dpbandits.privacy import epsilon_at
from dpbandits.stopping import DPExponentialNAS, halting_law
from dpbandits.stopping.halting_laws import looks_at, margins

__all__ = [
    "EliminationEpoch",
    "HaltingTime",
    "KnownLoss",
    "RandomisedResponse",
    "Releases",
    "TreeSums",
]

_HORIZON = 10**6  # what elimination is told


@dataclass(frozen=True)
class KnownLoss(Configuration, abc.ABC):
    """Base of the mechanisms whose loss on a pair of tables is known.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0 of the whole output.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> issubclass(Releases, KnownLoss)
    True
    """

    label: ClassVar[str]
    """Name of it in tables."""
    draws_together: ClassVar[bool] = True
    """Whether the draws of several runs are mixed, so that a table's runs are asked for at once."""

    epsilon: Positive

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-privacy of the whole output."""
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def pair(self) -> TablePair:
        """The neighbouring tables: one reward, 0 or 1."""
        return TablePair(np.zeros((1, 1)), 0, 0, 1.0)

    @abc.abstractmethod
    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Draw the outputs of all runs on a table at once.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            A table of `pair`.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        Outputs
            A row for each run.
        """

    def truth(self, delta: float = 0.0) -> float:
        """Return the least ε that goes with a δ on the pair of tables.

        Parameters
        ----------
        delta : float
            δ in [0, 1); some mechanisms have a known truth for 0 alone.

        Returns
        -------
        float
            The truth.

        Raises
        ------
        ValueError
            If the truth is not known for this δ.
        TypeError
            If the class has neither a truth nor a law.
        """
        if delta:
            raise ValueError(f"delta={delta!r} has no known truth; allowed: 0")
        return log_loss(*(self._law(table) for table in (self.pair.table, self.pair.neighbour)))

    def _law(self, table: Floats) -> Floats:
        """Return the logs of the probabilities of all outputs."""
        raise TypeError(f"{type(self).__name__} has neither a truth nor a law of its own")


@dataclass(frozen=True)
class Releases(KnownLoss):
    """One reward, 0 or 1, released several times with independent Laplace noise.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0 of all releases together.
    count : int
        Number of releases, at least 1, each of loss ε/count.

    Raises
    ------
    ValueError
        If an argument is out of range.

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

    Parameters
    ----------
    epsilon : float
        Budget ε > 0 of the report.

    Raises
    ------
    ValueError
        If `epsilon` is out of range.

    Examples
    --------
    >>> RandomisedResponse(1.0).truth(), RandomisedResponse(1.0).truth(0.1) < 1.0
    (1.0, True)
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
    """All running sums of a `BinaryTree`, of which the first reward changes.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0 of all sums together.
    horizon : int
        Number of rewards, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> TreeSums(1.0, horizon=8).truth(), TreeSums(1.0).tree.levels
    (1.0, 4)
    """

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
    of ε, is kept back. The sums are one below and one above the threshold. The time is 0 for runs
    that do not halt.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0 of the rule, the estimate included.
    look : int
        Number of the last look, from 2 to 16; looks are at 2, 4, 8, … entries.
    alpha, beta : float
        Relative error α and failure probability β of the rule, both in (0, 1).

    Raises
    ------
    ValueError
        If an argument is out of range, or the threshold of the look is not within reach.

    Examples
    --------
    >>> HaltingTime(4.0).pair.table.shape, HaltingTime(4.0).truth() < 4.0 / 6
    ((1, 512), True)
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

    Arm 1 has so many rewards of 1 that the gap between the sums lies below the threshold; arm 0 has
    none, or one.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0.
    lag : float
        How far below the threshold the gap lies, in scales of the noise: the farther, the rarer an
        elimination, and the more it tells.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(EliminationEpoch(1.0, lag=2.0).truth(), 4)
    0.9983
    """

    label: ClassVar[str] = "elimination"

    lag: Positive = 2.0

    def _epoch(self) -> TwoArmEpoch:
        return two_arm_epochs(DPSE(self.epsilon), _HORIZON)(1)

    @property
    def pair(self) -> TablePair:
        epoch = self._epoch()
        table = np.zeros((2, epoch.pulls))
        table[1, : max(round(epoch.threshold - self.lag * epoch.noise_scale), 0)] = 1.0
        return TablePair(table, 0, 0, 1.0)

    def _law(self, table: Floats) -> Floats:
        epoch, gap = self._epoch(), table[0].sum() - table[1].sum()
        return elimination_law(*np.array([[gap], [epoch.noise_scale], [epoch.threshold]]))

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        epoch = self._epoch()
        noise = laplace_noise(rng, epoch.noise_scale, 2 * n_runs).reshape(2, n_runs)
        sums = table.sum(axis=1)[:, None] + noise
        gap = sums[0] - sums[1]
        left = np.where(np.abs(gap) > epoch.threshold, np.sign(gap), 0.0)
        return Outputs.of_values(left[:, None])
