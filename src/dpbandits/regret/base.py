"""What every regret-minimising algorithm is: a frozen configuration that can be played."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["Instance", "Play", "RegretAlgorithm"]


class Instance(Protocol):
    """What a simulation needs of a bandit, whatever its rewards are.

    `BernoulliInstance` and `HeavyTailInstance` are such; which of them an algorithm can play is
    what `RegretAlgorithm.check_instance` says.
    """

    @property
    def name(self) -> str:
        """What tables and figures call the instance."""

    @property
    def n_arms(self) -> int:
        """Number of arms K."""

    @property
    def means(self) -> NDArray[np.float64]:
        """Means of the arms, shape (K,)."""

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Gaps Δ_a = max mean − mean of arm a, shape (K,)."""

    @property
    def best_arm(self) -> int:
        """Lowest number (0-based) of an arm with the largest mean."""


@dataclass(frozen=True, eq=False)
class Play:
    """One replicate of an algorithm on an instance.

    What a simulation keeps of it is `regret` and `pulls`; a subclass that knows these without
    the counts makes `counts` when it is read.

    Attributes
    ----------
    counts : numpy.ndarray of int, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls: exact at every checkpoint.
    epoch_ends : numpy.ndarray of int, shape (E,)
        Times at which the algorithm's epochs ended; empty where it has none.
    """

    counts: NDArray[np.int64]
    epoch_ends: NDArray[np.int64]

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls of each arm at the last checkpoint, shape (K,)."""
        last: NDArray[np.int64] = self.counts[-1]
        return last

    def regret(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pseudo-regret Σ_a Δ_a·(pulls of a) at each checkpoint, shape (C,).

        Parameters
        ----------
        gaps : numpy.ndarray of float, shape (K,)
            Gaps Δ_a of the instance that was played.
        """
        regret: NDArray[np.float64] = self.counts @ gaps
        return regret


class RegretAlgorithm(abc.ABC):
    """Base class of the regret-minimising algorithms.

    A subclass is a frozen dataclass that validates its arguments, sets `label` and `source`,
    and defines `guarantee` and `play`, and, where one is known, `regret_bound`; see
    ``CONTRIBUTING.md``.
    """

    label: ClassVar[str]
    """What tables and figures call the algorithm."""
    source: ClassVar[str]
    """Paper and number."""

    @property
    @abc.abstractmethod
    def guarantee(self) -> PrivacyGuarantee:
        """What the algorithm promises about the privacy of its whole sequence of pulls."""

    def check_instance(self, instance: object) -> None:
        """Refuse an instance that the algorithm is not for; `simulate` asks.

        Here: anything but a `BernoulliInstance`.

        Raises
        ------
        ValueError
            If the instance is of another kind.
        """
        if not isinstance(instance, BernoulliInstance):
            raise ValueError(
                f"instance={instance!r} is no instance for {type(self).__name__}; allowed: one "
                "with rewards of 0 or 1, such as bernoulli([0.5, 0.4])"
            )

    @abc.abstractmethod
    def play(
        self,
        instance: Any,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play the instance once, until the last checkpoint.

        Parameters
        ----------
        instance : Instance
            The bandit, of the kind that `check_instance` lets pass.
        horizon : int
            Horizon T that the algorithm is told; at least the last checkpoint.
        checkpoints : numpy.ndarray of int, shape (C,)
            Increasing times at which the pulls are counted.
        rng : numpy.random.Generator
            Source of all randomness of the run, rewards included.

        Returns
        -------
        Play
        """

    def play_many(
        self,
        instance: Any,
        horizon: int,
        checkpoints: NDArray[np.int64],
        seeds: Sequence[np.random.SeedSequence],
    ) -> list[Play]:
        """Play one replicate per seed: bit for bit `play` with ``np.random.default_rng(seed)``.

        Parameters
        ----------
        instance, horizon, checkpoints
            As of `play`.
        seeds : sequence of numpy.random.SeedSequence
            Seeds of the replicates.

        Returns
        -------
        list of Play, of the length of `seeds`
        """
        rng = np.random.default_rng()  # one for all: a compiled kernel is slow to accept a new one
        plays = []
        for seed in seeds:
            rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
            plays.append(self.play(instance, horizon, checkpoints, rng))
        return plays

    def regret_bound(
        self, instance: Any, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Return an upper bound on the expected pseudo-regret; here infinity: none is known.

        Parameters
        ----------
        instance : Instance
            The bandit, of the kind that `check_instance` lets pass.
        horizon : int
            Horizon T that the algorithm is told.
        times : array_like, optional
            Times t ≤ T at which the bound is wanted; None means T.

        Returns
        -------
        float or numpy.ndarray, of the shape of `times`
        """
        return math.inf if times is None else np.full(np.shape(times), math.inf)
