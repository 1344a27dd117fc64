"""What every algorithm for best-arm identification is: a frozen configuration that can be run."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits._validation import check_generator, check_integer
from dpbandits.configuration import Configuration, Fraction
from dpbandits.guarantees import NO_PRIVACY, Guaranteed, PrivacyGuarantee
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.streams import DrawnRewards, Rewards
from dpbandits.rewards.tables import Tables
from dpbandits.schedules import MOST_PULLS

DEFAULT_MAX_PULLS = 10**15
"""Pulls after which a run is ended unless something else is asked for."""
NO_TABLE, NO_LOG = np.empty((0, 0)), np.empty(0)
"""Stand for rewards that are drawn, and releases of which no account is kept: see `run_batches`."""


class Decision(NamedTuple):
    """How one run ended."""

    recommendation: int  # an arm, 0-based, or −1 if the run was ended before it stopped
    pulls: Ints  # shape (K,): every pull, also those of batches that were never released

    @property
    def stopped(self) -> bool:
        """Whether the algorithm stopped by itself."""
        return self.recommendation >= 0

    @property
    def stopping_time(self) -> int:
        """Number of pulls τ."""
        return int(self.pulls.sum())


@kernel
def next_total(means: Floats, table: Floats, rng: Rng, arm: int, before: int, size: int) -> float:
    """Return the sum of `size` rewards of an arm after `before`: of a table of sums, or drawn."""
    if table.size > 0:
        return table[arm, before + size] - table[arm, before]
    return float(binomial(rng, size, means[arm]))


def check_unique_best_arm(instance: object) -> BernoulliInstance:
    """Return `instance` if its rewards are 0 or 1 and one arm alone has the largest mean."""
    if not isinstance(instance, BernoulliInstance):
        raise ValueError(
            f"instance={instance!r} is not an instance for identification; allowed: one with "
            "rewards of 0 or 1, such as bernoulli([0.5, 0.4])"
        )
    if np.count_nonzero(instance.means == instance.means.max()) > 1:
        raise ValueError(f"means={instance.mean_rewards!r} has several best arms; allowed: one")
    return instance


def check_run(rewards: object, rng: object, max_pulls: object) -> int:
    """Check the arguments of `IdentificationAlgorithm.decide`; return `max_pulls`."""
    n_arms: Any = getattr(rewards, "n_arms", None)
    counted = isinstance(n_arms, int | np.integer) and n_arms >= 2
    if not counted or not callable(getattr(rewards, "total", None)):
        raise ValueError(
            f"rewards={rewards!r} is not a source of rewards; allowed: one with 2 or more arms, "
            "such as DrawnRewards(instance, rng) or TableRewards(table)"
        )
    check_generator("rng", rng)
    return check_integer("max_pulls", max_pulls, int(n_arms), MOST_PULLS)


class IdentificationAlgorithm(Guaranteed, Configuration, abc.ABC):
    """Base class of the algorithms for best-arm identification with fixed confidence.

    An algorithm pulls arms, stops at a time τ of its own choice and recommends an arm, wrongly
    with probability at most δ. A subclass is a frozen dataclass: see ``CONTRIBUTING.md``.
    """

    label: ClassVar[str]
    """What tables and figures call the algorithm."""
    source: ClassVar[str]
    """Paper and number."""
    delta: Fraction  # a field of the subclasses
    """Probability δ of a wrong recommendation that is allowed."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is promised about the privacy of pulls, stopping time and recommendation."""
        return NO_PRIVACY

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited; runs end after as many pulls as they have columns.

        Here one pull of each of two arms comes before the first decision. An algorithm whose phases
        are longer overrides this: tables that end before its first decision test nothing.
        """
        return Tables(n_arms=2, least=3)

    @property
    def is_correct(self) -> bool:
        """Whether P(wrong recommendation) ≤ δ is proved for this configuration."""
        return True

    @abc.abstractmethod
    def decide(self, rewards: Rewards, rng: Rng, max_pulls: int) -> Decision:
        """Run once, on rewards from wherever they come; `rng` is the source of the noise.

        A run that has not stopped is ended after `max_pulls`. Those of the batch in which that
        happens count, but it asks for no rewards. On a finite population the run also ends when the
        algorithm wants a patient of an arm that has none left.
        """

    def run_compiled(self, means: Floats, rng: Rng, max_pulls: int) -> Decision | None:
        """Run once in a compiled loop, if there is one, on rewards of 0 or 1 with these means."""
        return None

    def draw(
        self, instance: BernoulliInstance, rng: Rng, max_pulls: int = DEFAULT_MAX_PULLS
    ) -> Decision:
        """Run once on rewards drawn from an instance with one best arm, compiled if possible."""
        instance = check_unique_best_arm(instance)
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
        found = self.run_compiled(instance.means, rng, max_pulls)
        return self.decide(DrawnRewards(instance, rng), rng, max_pulls) if found is None else found
