"""Algorithms that release each arm's rewards batch by batch: the loop that they share.

An arm is played for a whole batch once it is chosen; at its end the sum of the batch is released
with one Laplace variable of scale 1/ε, and then the next arm is chosen. Between two releases
nothing random happens, so that a batch is simulated in one step, and a run draws O(K log T) sums.

Every reward is in one batch, which is released once, and all else depends on released sums, sizes
of batches and private randomness: the sequence of pulls is ε-differentially private.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_positive, check_range
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.laplace import laplace_noise
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.schedules import next_size

__all__ = ["LazyBatches", "Released"]


@dataclass(frozen=True, eq=False)
class Released:
    """What the algorithm knows of the arms; all arrays have shape (K,).

    Attributes
    ----------
    totals : numpy.ndarray of float
        Released sum that an arm's estimate rests on, noise included.
    rewards : numpy.ndarray of int
        How many rewards n_a are in it.
    noises : numpy.ndarray of int
        How many Laplace variables k_a are in it.
    """

    totals: NDArray[np.float64]
    rewards: NDArray[np.int64]
    noises: NDArray[np.int64]

    @classmethod
    def start(cls, n_arms: int) -> Released:
        """Return what is known before the first pull."""
        rewards, noises = np.zeros((2, n_arms), dtype=np.int64)
        return cls(np.zeros(n_arms), rewards, noises)


@dataclass
class _Log:
    """Which arm was played up to when."""

    arms: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def counts(self, n_arms: int, checkpoints: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the pulls of each arm at the checkpoints, which the batches cover."""
        arms, ends = np.array(self.arms), np.array([0, *self.ends])
        before = np.zeros((ends.size, n_arms), dtype=np.int64)
        before[np.arange(1, ends.size), arms] = np.diff(ends)
        before = np.cumsum(before, axis=0)
        batch = np.searchsorted(ends[1:], checkpoints)
        counts = before[batch]
        counts[np.arange(checkpoints.size), arms[batch]] += checkpoints - ends[batch]
        return counts


class LazyBatches(RegretAlgorithm):
    """Base class: one batch of each arm in turn, then whole batches of the chosen arms.

    A subclass has the fields `epsilon` and `eta` and says which arm is next. Batches grow by the
    factor 1 + η; see `batch_grid`. A batch that the horizon cuts short is not released. The
    horizon is not used otherwise.
    """

    forgets: ClassVar[bool] = True
    """Whether an estimate rests on the arm's last batch alone."""

    # fields of the subclasses
    epsilon: float
    """Privacy budget ε of the sequence of pulls."""
    eta: float
    """Growth η of the batches."""

    def _check_frame(self) -> None:
        """Validate the fields that all have."""
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        object.__setattr__(self, "eta", check_range("eta", self.eta, 0.05, 100.0))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls.

        A reward is in one batch, of sensitivity 1, which is released once, with one Lap(1/ε).
        """
        return PrivacyGuarantee("global", self.epsilon)

    @abc.abstractmethod
    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        """Return the arm whose next batch begins with pull number t."""

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        n_arms, last_pull = instance.n_arms, int(checkpoints[-1])
        released = Released.start(n_arms)
        log, pulls, sizes = _Log(), [0] * n_arms, [0] * n_arms
        t = 0
        while t < last_pull:
            turn = len(log.arms)
            arm = turn if turn < n_arms else self._choose(released, t + 1, rng)
            size = next_size(sizes[arm], pulls[arm], self.eta, self.forgets)
            log.arms.append(arm)
            log.ends.append(t + size)
            t += size
            if t > last_pull:
                break
            self._release(instance, released, arm, size, rng)
            pulls[arm] += size
            sizes[arm] = size
        ends = [end for end in log.ends if end <= last_pull]
        return Play(log.counts(n_arms, checkpoints), np.array(ends, dtype=np.int64))

    def _release(
        self,
        instance: BernoulliInstance,
        released: Released,
        arm: int,
        size: int,
        rng: np.random.Generator,
    ) -> None:
        """Draw the sum of a batch and release it."""
        total = float(instance.sample_sum(rng, np.array([arm]), size)[0])
        total += float(laplace_noise(rng, 1.0 / self.epsilon, 1)[0])
        if self.forgets:
            released.totals[arm], released.rewards[arm], released.noises[arm] = 0.0, 0, 0
        released.totals[arm] += total
        released.rewards[arm] += size
        released.noises[arm] += 1
