"""What every algorithm for best-arm identification is: a frozen configuration that can be run."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_fraction, check_generator, check_integer
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.streams import DrawnRewards, Rewards
from dpbandits.schedules import MOST_PULLS

__all__ = [
    "DEFAULT_MAX_PULLS",
    "MOST_PULLS",
    "IdentificationAlgorithm",
    "Verdict",
    "check_run",
    "check_unique_best_arm",
]

DEFAULT_MAX_PULLS = 10**15
"""Pulls after which a run is ended unless something else is asked for."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """How one run ended.

    Attributes
    ----------
    recommendation : int
        The arm that is called the best, 0-based; −1 if the run was ended before it stopped.
    pulls : numpy.ndarray of int, shape (K,)
        Pulls of each arm. Their sum is the stopping time τ: every pull counts, also those of
        batches that were never released.

    Examples
    --------
    >>> verdict = Verdict(1, np.array([20, 35]))
    >>> verdict.stopped, verdict.stopping_time
    (True, 55)
    """

    recommendation: int
    pulls: NDArray[np.int64]

    @property
    def stopped(self) -> bool:
        """Whether the algorithm stopped by itself."""
        return self.recommendation >= 0

    @property
    def stopping_time(self) -> int:
        """Number of pulls τ."""
        return int(self.pulls.sum())


def check_unique_best_arm(instance: object) -> BernoulliInstance:
    """Return `instance` if its rewards are 0 or 1 and one arm alone has the largest mean.

    Parameters
    ----------
    instance : object
        What was given.

    Returns
    -------
    BernoulliInstance

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if not isinstance(instance, BernoulliInstance):
        raise ValueError(
            f"instance={instance!r} is no instance for identification; allowed: one with rewards "
            "of 0 or 1, such as bernoulli([0.5, 0.4])"
        )
    if np.count_nonzero(instance.means == instance.means.max()) > 1:
        raise ValueError(
            f"means={instance.mean_rewards!r} has several best arms; allowed: one best arm"
        )
    return instance


def check_run(rewards: object, rng: object, max_pulls: object) -> int:
    """Check what `IdentificationAlgorithm.decide` was given; return `max_pulls`.

    Parameters
    ----------
    rewards : object
        Should be a source of rewards of two arms or more.
    rng : object
        Should be a generator.
    max_pulls : object
        Should be a whole number from K to `MOST_PULLS`.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If one of them is something else.
    """
    n_arms: Any = getattr(rewards, "n_arms", None)
    counted = isinstance(n_arms, int | np.integer) and n_arms >= 2
    if not counted or not callable(getattr(rewards, "total", None)):
        raise ValueError(
            f"rewards={rewards!r} is no source of rewards; allowed: one with 2 or more arms, such "
            "as DrawnRewards(instance, rng) or TableRewards(table)"
        )
    check_generator("rng", rng)
    return check_integer("max_pulls", max_pulls, int(n_arms), MOST_PULLS)


class IdentificationAlgorithm(abc.ABC):
    """Base class of the algorithms for best-arm identification with fixed confidence.

    An algorithm pulls arms, stops at a time τ of its own choice and recommends an arm, wrongly
    with probability at most δ. A subclass is a frozen dataclass that validates its arguments,
    sets `label` and `source`, and defines `guarantee` and `decide`; see ``CONTRIBUTING.md``.
    """

    label: ClassVar[str]
    """What tables and figures call the algorithm."""
    source: ClassVar[str]
    """Paper and number."""

    # a field of the subclasses
    delta: float
    """Probability δ of a wrong recommendation that is allowed."""

    def _check(self) -> None:
        """Check the argument that all algorithms share."""
        object.__setattr__(self, "delta", check_fraction("delta", self.delta))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is promised about the privacy of pulls, stopping time and recommendation."""
        return NO_PRIVACY

    @property
    def is_correct(self) -> bool:
        """Whether P(wrong recommendation) ≤ δ is proved for this configuration."""
        return True

    @abc.abstractmethod
    def decide(self, rewards: Rewards, rng: np.random.Generator, max_pulls: int) -> Verdict:
        """Run once, on rewards from wherever they come.

        Parameters
        ----------
        rewards : Rewards
            Gives the sum of the next rewards of an arm.
        rng : numpy.random.Generator
            Source of the noise, and of whatever else the algorithm draws.
        max_pulls : int
            Pulls after which a run that has not stopped is ended. Those of the batch in which that
            happens count, but it asks for no rewards.

        Returns
        -------
        `dpbandits.identification.base.Verdict`
        """

    def draw(
        self,
        instance: BernoulliInstance,
        rng: np.random.Generator,
        max_pulls: int = DEFAULT_MAX_PULLS,
    ) -> Verdict:
        """Run once on rewards drawn from an instance.

        Parameters
        ----------
        instance : BernoulliInstance
            The bandit, with one best arm.
        rng : numpy.random.Generator
            Source of all randomness of the run, rewards included.
        max_pulls : int
            Pulls after which a run that has not stopped is ended.

        Returns
        -------
        `dpbandits.identification.base.Verdict`

        Raises
        ------
        ValueError
            If several arms have the largest mean, or an argument is out of range.
        """
        instance = check_unique_best_arm(instance)
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
        return self.decide(DrawnRewards(instance, rng), rng, max_pulls)
