"""Explore, then commit: one private look at equal groups, then the best arm throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Count, checked_arguments, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.instances import BernoulliInstance, bernoulli
from dpbandits.rewards.run import Run

__all__ = ["ExploreThenCommit"]


@dataclass(frozen=True)
class ExploreThenCommit(RegretAlgorithm):
    """One look: each arm equally often, then the arm with the largest released sum to the end.

    The arms are pulled in turn, n times each. Each sum of rewards is released once, with one
    Laplace variable of scale 1/ε, and the arm with the largest is pulled from then on; ties, which
    occur only without noise, are broken at random. It adapts once, by a rule fixed beforehand, and
    does not use the horizon; `planned` chooses n for a horizon and guessed means.

    Each reward is in at most one release, so that the sequence of pulls is ε-private:
    :prf:ref:`thm-lazy-private`, with groups for batches. Its expected regret on Bernoulli arms is
    computed, not bounded: `explore_then_commit_regret`, :prf:ref:`prop-etc`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    per_arm : int
        Pulls n of each arm before the look, from 1 to 10^6.

    Notes
    -----
    Source: the oldest of all designs; Lattimore & Szepesvári (2020), chapter 6, choose n from the
    gap. There is no paper to deviate from.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> look = dpb.ExploreThenCommit.planned(1.0, means=[0.6, 0.75], horizon=1000)
    >>> clinic = dpb.instances.bernoulli([0.6, 0.75])
    >>> round(look.regret_bound(clinic, 1000))
    15
    """

    label: ClassVar[str] = "one look"
    source: ClassVar[str] = "folklore; Lattimore & Szepesvári 2020, ch. 6"
    releases: ClassVar[bool] = True
    bound_for: ClassVar[Any] = BernoulliInstance

    epsilon: Budget
    per_arm: Annotated[int, whole(1, 10**6)] = 8

    @staticmethod
    def planned(epsilon: float, means: Sequence[float], horizon: int) -> ExploreThenCommit:
        """Return the algorithm whose n minimises the expected regret on Bernoulli arms.

        The search tries a grid of ratio 1.1, and then the numbers between the neighbours of the
        best.

        Parameters
        ----------
        epsilon : float
            Privacy budget ε > 0; ``inf`` is allowed.
        means : sequence of float, length K ≥ 2
            Guessed means, each in [0, 1].
        horizon : int
            Horizon T, at least K.

        Returns
        -------
        ExploreThenCommit
            The algorithm.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        mean_rewards = bernoulli(means).mean_rewards
        horizon = check_integer("horizon", horizon, len(mean_rewards))
        per_arm = bounds.best_look(mean_rewards, horizon, epsilon=epsilon)
        return ExploreThenCommit(epsilon, per_arm)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("central", self.epsilon)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        return n_arms * self.per_arm + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        sums = rewards.totals(range(rewards.n_arms), self.per_arm)
        sums += laplace_noise(rng, 1 / self.epsilon, rewards.n_arms)  # private from here on
        rewards.commit(int(rng.choice(np.flatnonzero(sums == sums.max()))))

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.explore_then_commit_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            per_arm=self.per_arm,
        )
