"""Base of the algorithms for best-arm identification: frozen configurations that can be run."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import REFERENCE, TableRuns, accelerator_for
from dpbandits._validation import check_integer, check_noise
from dpbandits.configuration import Configuration, Fraction
from dpbandits.guarantees import NO_PRIVACY, Labelled, PrivacyGuarantee
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import FinitePopulation, PatientRun, PopulationRewards
from dpbandits.rewards.run import Ended, ProtocolError, Run
from dpbandits.rewards.sources import FixedRewards, Rewards
from dpbandits.rewards.tables import Tables
from dpbandits.schedules import MOST_PULLS

__all__ = ["Decision", "IdentificationAlgorithm", "TableDecisions", "check_unique_best_arm"]

DEFAULT_MAX_PULLS = 10**15
"""Default number of pulls after which a run is cut off."""


class Decision(NamedTuple):
    """Outcome of one run.

    Attributes
    ----------
    recommendation : int
        An arm, 0-based, or −1 if the run was cut off before it stopped.
    pulls : numpy.ndarray of int, shape (K,)
        All pulls of each arm, including those of batches that were never released.

    Examples
    --------
    >>> decision = Decision(1, np.array([30, 40]))
    >>> decision.stopped, decision.stopping_time
    (True, 70)
    """

    recommendation: int
    pulls: Ints

    @property
    def stopped(self) -> bool:
        """Whether the algorithm stopped by itself."""
        return self.recommendation >= 0

    @property
    def stopping_time(self) -> int:
        """Number of pulls τ."""
        return int(self.pulls.sum())


class TableDecisions(NamedTuple):
    """Outcomes of runs on one table.

    Attributes
    ----------
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm of each run, 0-based, or −1 if the table ended first.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm.
    arms : numpy.ndarray of float, shape (n_runs, N)
        Arms in the order in which their rewards were read, pull by pull or batch by batch; −1 after
        the last.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = dpb.TopTwo(0.1).draw_table(np.zeros((2, 4)), 1, np.random.default_rng(0))
    >>> found.recommendation.tolist(), found.pulls.tolist(), found.arms.tolist()
    ([-1], [[2, 2]], [[0.0, 1.0, 0.0, 1.0]])
    """

    recommendation: Ints
    pulls: Ints
    arms: Floats


def check_unique_best_arm(instance: object) -> BernoulliInstance:
    """Raise unless given an instance with rewards of 0 or 1 and a single best arm."""
    if not isinstance(instance, BernoulliInstance):
        raise ValueError(
            f"instance={instance!r} is not an instance for identification; allowed: one with "
            "rewards of 0 or 1, such as bernoulli([0.5, 0.4])"
        )
    if np.count_nonzero(instance.means == instance.means.max()) > 1:
        raise ValueError(f"means={instance.mean_rewards!r} has several best arms; allowed: one")
    return instance


def _source(given: Any, rng: Rng) -> Rewards:
    """Start a run on an instance or a population, or continue with a source of rewards."""
    if isinstance(given, FinitePopulation):
        return given.rewards(rng)
    if not callable(getattr(given, "total", None)):
        return check_unique_best_arm(given).rewards(rng)
    n_arms = getattr(given, "n_arms", None)
    if not isinstance(n_arms, int | np.integer) or n_arms < 2:
        raise ValueError(
            f"rewards={given!r} is not a source of rewards; allowed: one with 2 or more arms, "
            "such as DrawnRewards(instance, rng) or TableRewards(table)"
        )
    source: Rewards = given
    return source


class IdentificationAlgorithm(Labelled, Configuration, abc.ABC):
    """Base class of the algorithms for best-arm identification with fixed confidence.

    An algorithm pulls arms, stops at a time τ of its choice and recommends an arm, wrongly with
    probability at most δ. A subclass is a frozen dataclass that defines `decide`: see
    ``CONTRIBUTING.md``. Accelerators are registered for that class alone.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> from dpbandits.configuration import Fraction
    >>> @dataclass(frozen=True)
    ... class Hasty(dpb.IdentificationAlgorithm):
    ...     '''Recommends the better of one pull each.'''
    ...
    ...     label, source = "hasty", "an example"
    ...     delta: Fraction
    ...
    ...     def decide(self, rewards, rng):
    ...         return int(np.argmax([rewards.total(arm, 1) for arm in range(rewards.n_arms)]))
    >>> certain = dpb.instances.bernoulli([0.0, 1.0])
    >>> Hasty(0.1).draw(certain, np.random.default_rng(0)).recommendation
    1
    """

    most_pulls: ClassVar[int] = MOST_PULLS
    """Upper limit on the pulls of a run."""
    delta: Fraction  # a field of the subclasses
    """Allowed probability δ of a wrong recommendation."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of pulls, stopping time and recommendation."""
        return NO_PRIVACY

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited; runs end after as many pulls as tables have columns.

        By default one pull of each of two arms precedes the first decision. An algorithm with
        longer phases overrides this: tables that end before its first decision test nothing.
        """
        return Tables(n_arms=2, least=3)

    @property
    def is_correct(self) -> bool:
        """Whether P(wrong recommendation) ≤ δ is proved for this configuration."""
        return True

    @abc.abstractmethod
    def decide(self, rewards: Run, rng: Rng) -> int:
        """Pull arms until one can be recommended: the algorithm as in its paper.

        It has no limit on pulls: if a run has one, `rewards` ends it.

        Parameters
        ----------
        rewards : Run
            Source of the sums of the arms' next rewards.
        rng : numpy.random.Generator
            Source of the noise and of all other randomness except for the rewards.

        Returns
        -------
        int
            The recommended arm, 0-based.

        Raises
        ------
        Ended
            If the run ends before the algorithm stops; the caller catches it.
        """

    def draw(
        self,
        rewards: BernoulliInstance | FinitePopulation | Rewards,
        rng: Rng | None = None,
        max_pulls: int = DEFAULT_MAX_PULLS,
        how: str | None = None,
    ) -> Decision:
        """Run once, by the algorithm's accelerator or else by `decide`.

        Parameters
        ----------
        rewards : BernoulliInstance, FinitePopulation or Rewards
            An instance or a population, each with one best arm, on which a run starts; or a custom
            source of rewards, such as `TableRewards`.
        rng : numpy.random.Generator, optional
            Source of all randomness, including that of an instance's rewards. Anyone who knows its
            seed can subtract the noise; by default it is `dpbandits.mechanisms.secure_generator`.
        max_pulls : int
            Pulls after which a run that has not stopped is cut off, from K to 2^62. The pulls of
            the last batch count, but none of its rewards is read. On a finite population a run also
            ends when an arm is asked for a patient and has none left.
        how : str, optional
            Name of an accelerator, or "reference" for `decide`. None is the first registered one
            that fits, or `decide` if there is none or under ``NUMBA_DISABLE_JIT=1``.

        Returns
        -------
        Decision
            The recommendation, −1 if the run was cut off, and the pulls.

        Raises
        ------
        ValueError
            If an argument is not as described here, or if a class violates the protocol.

        Examples
        --------
        >>> import numpy as np
        >>> import dpbandits as dpb
        >>> table = dpb.identification.TableRewards([[1] * 4000, [0] * 4000])
        >>> decision = dpb.DPSEIdentifier(1.0, 0.1).draw(table, np.random.default_rng(0))
        >>> decision.recommendation, decision.pulls.tolist()
        (0, [651, 651])
        """
        rng = check_noise("rng", rng)
        source = _source(rewards, rng)
        max_pulls = check_integer("max_pulls", max_pulls, source.n_arms, MOST_PULLS)
        max_pulls = min(max_pulls, self.most_pulls)
        fast = accelerator_for(self, type(source), how)
        if fast is not None:
            decision: Decision = fast.run(self, source, max_pulls, rng)
            return decision
        limit = np.array([max_pulls])
        patients = isinstance(source, PopulationRewards)
        run = PatientRun(source, limit) if patients else Run(source, limit)  # type: ignore[arg-type]
        program = f"{type(self).__name__}.decide"
        try:
            arm = check_integer(f"{program}(…)", self.decide(run, rng), 0, run.n_arms - 1)
        except Ended:
            arm = -1
        except ProtocolError as error:
            raise ValueError(f"{program}: {error}") from None
        return Decision(arm, np.array(run.pulls, dtype=np.int64))

    def draw_table(
        self, table: Floats, n_runs: int, rng: Rng, how: str | None = None
    ) -> TableDecisions:
        """Run many times on a table of rewards, each for at most N pulls.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards in [0, 1]: the n-th pull of an arm returns its n-th entry; N ≥ K ≥ 2.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of the noise of all runs, one after another.
        how : str, optional
            Name of an accelerator on tables, or "reference" for `decide`. None is the first
            registered one that fits, or `decide` if there is none or under ``NUMBA_DISABLE_JIT=1``.

        Returns
        -------
        TableDecisions
            Recommendations, pulls, and the order of the arms.

        Raises
        ------
        ValueError
            If an argument is not as described here, or if a class violates the protocol.
        """
        source = _source(FixedRewards(table), rng)
        n_arms, n_pulls = table.shape
        n_pulls = check_integer("max_pulls", n_pulls, n_arms)
        fast = accelerator_for(self, TableRuns, how)
        if fast is not None:
            found: TableDecisions = fast.run(self, table, n_runs, rng)
            return found
        assert isinstance(source, FixedRewards)
        best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, n_arms), np.int64)
        arms: NDArray[np.float64] = np.full((n_runs, n_pulls), -1.0)
        for r in range(n_runs):
            source.restart()
            best[r], pulls[r] = self.draw(source, rng, n_pulls, REFERENCE)
            order = source.batches
            arms[r, : len(order)] = order
        return TableDecisions(best, pulls, arms)
