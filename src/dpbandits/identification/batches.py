"""Top Two algorithms whose decisions rest on released batches: the loop that they share.

Arm a is released when its pulls reach the next number of a grid: the sum of its rewards since the
last release plus one Laplace variable. Between two releases nothing random happens. A compiled
kernel therefore advances the counts from one release to the next, and only then is the sum of the
batch asked for.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_generator, check_integer
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    MOST_PULLS,
    IdentificationAlgorithm,
    Verdict,
    check_run,
    check_unique_best_arm,
)
from dpbandits.identification.batch_loop import NO_LOG, NO_TABLE, Rule, run_batches
from dpbandits.mechanisms import laplace
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards

__all__ = ["BatchState", "BatchedTopTwo"]


@dataclass(frozen=True, eq=False)
class BatchState:
    """What a run knows; all arrays have shape (K,).

    Attributes
    ----------
    pulls : numpy.ndarray of int
        Pulls N_a, open batches included.
    released : numpy.ndarray of int
        Pulls n_a up to the last release.
    following : numpy.ndarray of int
        Pulls at which the next release is due.
    releases : numpy.ndarray of int
        Number k_a of releases.
    batch : numpy.ndarray of int
        Size of the last released batch.
    led : numpy.ndarray of int
        Rounds L_a in which the arm was the leader.
    own : numpy.ndarray of int
        Rounds in which it was the leader and was played.
    total : numpy.ndarray of float
        Sum of all released batches, noise included.
    last : numpy.ndarray of float
        The last released batch, noise included.
    """

    pulls: NDArray[np.int64]
    released: NDArray[np.int64]
    following: NDArray[np.int64]
    releases: NDArray[np.int64]
    batch: NDArray[np.int64]
    led: NDArray[np.int64]
    own: NDArray[np.int64]
    total: NDArray[np.float64]
    last: NDArray[np.float64]

    @classmethod
    def start(cls, n_arms: int) -> BatchState:
        """Return the state before the first pull."""
        counts = np.zeros((7, n_arms), dtype=np.int64)
        sums = np.zeros((2, n_arms))
        pulls, released, following, releases, batch, led, own = counts
        return cls(pulls, released, following, releases, batch, led, own, sums[0], sums[1])

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return self.pulls.size


class BatchedTopTwo(IdentificationAlgorithm):
    """Base class: one batch of each arm, then leader against challenger until the rule stops.

    The leader has a share of the rounds in which it leads: with L the number of these rounds, this
    one included, it is played if it has been played as leader in fewer than `leader_share`·L of
    them, and else the challenger. The rule for stopping is tested after each release.
    """

    # fields of the subclasses
    epsilon: float
    """Privacy budget ε of the whole output."""
    leader_share: float
    """Share β of the rounds in which the leader is played."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation.

        Every reward is in one batch, which is released once, with one Lap(1/ε); all else depends
        on the released values alone.
        """
        return PrivacyGuarantee("global", self.epsilon)

    @abc.abstractmethod
    def _next_release(self, pulls: int) -> int:
        """Return the number of pulls, above `pulls`, at which an arm is released next."""

    @abc.abstractmethod
    def _means(self, state: BatchState) -> NDArray[np.float64]:
        """Return the released estimates μ̃ of the means."""

    @abc.abstractmethod
    def _stops(self, state: BatchState, means: NDArray[np.float64]) -> bool:
        """Return whether the arm with the largest estimate is recommended now."""

    @abc.abstractmethod
    def _advance(self, state: BatchState, means: NDArray[np.float64], room: int) -> int:
        """Play up to `room` rounds; return the arm that is to be released, −1 if there is none."""

    def compiled(self, n_arms: int) -> Rule | None:
        """Return what `batch_loop.run_batches` has to know of this algorithm for K arms.

        None for subclasses of the algorithms here: they are run by their own methods.
        """
        return None

    def draw(
        self,
        instance: BernoulliInstance,
        rng: np.random.Generator,
        max_pulls: int = DEFAULT_MAX_PULLS,
    ) -> Verdict:
        """Run once on rewards drawn from an instance; see `IdentificationAlgorithm.draw`.

        Compiled, it equals `decide` on the same generator.
        """
        instance = check_unique_best_arm(instance)
        rule = self.compiled(instance.n_arms)
        if rule is None:
            return super().draw(instance, rng, max_pulls)
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
        arm, pulls = run_batches(rule, instance.means, NO_TABLE, rng, max_pulls, NO_LOG)
        return Verdict(int(arm), pulls)

    def decide(self, rewards: Rewards, rng: np.random.Generator, max_pulls: int) -> Verdict:
        """Run once; see `IdentificationAlgorithm.decide`.

        On a finite population it ends when it wants a patient of an arm that has none left.
        """
        max_pulls = check_run(rewards, rng, max_pulls)
        state = BatchState.start(rewards.n_arms)
        first = self._next_release(0)
        for arm in range(state.n_arms):
            room = max_pulls - int(state.pulls.sum())
            state.pulls[arm] = min(first, room, patients_left(rewards, arm))
            if state.pulls[arm] < first:
                return Verdict(-1, state.pulls)
            self._release(state, arm, rewards, rng)
        while True:
            means = self._means(state)
            if self._stops(state, means):
                return Verdict(int(means.argmax()), state.pulls)
            room = max_pulls - int(state.pulls.sum())
            arm = self._advance(state, means, room) if room else -1
            if arm < 0:
                return Verdict(-1, state.pulls)
            if state.pulls[arm] - state.released[arm] > patients_left(rewards, arm):
                state.pulls[arm] -= 1  # there is no such patient
                return Verdict(-1, state.pulls)
            self._release(state, arm, rewards, rng)

    def _release(
        self, state: BatchState, arm: int, rewards: Rewards, rng: np.random.Generator
    ) -> None:
        """Release the open batch of `arm`."""
        pulls = int(state.pulls[arm])
        size = pulls - int(state.released[arm])
        last = rewards.total(arm, size) + laplace(rng, 1.0 / self.epsilon)
        state.last[arm] = last
        state.total[arm] += last
        state.batch[arm] = size
        state.released[arm] = pulls
        state.releases[arm] += 1
        # beyond so many pulls no batch ends: no run has room for them, or no patient is left
        most = min(MOST_PULLS, pulls + patients_left(rewards, arm) + 1)
        state.following[arm] = min(self._next_release(pulls), most)
