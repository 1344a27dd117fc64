"""What every regret-minimising algorithm is: a frozen configuration that can be played."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Configuration
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.rewards.instances import BernoulliInstance, BoundedInstance
from dpbandits.rewards.streams import Bandit, FixedRewards

Times = Ints
"""Increasing numbers of pulls at which a run is looked at, shape (C,)."""


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

    counts: Ints
    epoch_ends: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def pulls(self) -> Ints:
        """Pulls of each arm at the last checkpoint, shape (K,)."""
        last: Ints = self.counts[-1]
        return last

    def regret(self, gaps: Floats) -> Floats:
        """Return the pseudo-regret Σ_a Δ_a·(pulls of a) at each checkpoint, shape (C,)."""
        regret: Floats = self.counts @ gaps
        return regret


class RegretAlgorithm(Configuration, abc.ABC):
    """Base class of the regret-minimising algorithms.

    A subclass is a frozen dataclass whose fields name their checks (`Configuration`). It sets
    `label` and `source` and defines `play`, `guarantee` if it is private, and, where one is known,
    `regret_bound`; see ``CONTRIBUTING.md``.
    """

    label: ClassVar[str]
    """What tables and figures call the algorithm."""
    source: ClassVar[str]
    """Paper and number."""
    bound_for: ClassVar[type[Bandit] | tuple[type[Bandit], ...]] = (
        BernoulliInstance,
        BoundedInstance,
    )
    """Instances for which its bound on the regret is proved; for others it is infinite."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the algorithm promises about the privacy of its whole sequence of pulls."""
        return NO_PRIVACY

    def check_instance(self, instance: object) -> None:
        """Refuse an instance that the algorithm is not for: here one without rewards in [0, 1]."""
        if not isinstance(instance, Bandit):
            raise ValueError(
                f"instance={instance!r} is not an instance for {type(self).__name__}; allowed: one "
                "with rewards in [0, 1], such as bernoulli([0.5, 0.4])"
            )

    @abc.abstractmethod
    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        """Play the instance once, until the last checkpoint.

        Parameters
        ----------
        instance : Arms
            The bandit, of the kind that `check_instance` lets pass. ``instance.rewards(rng)`` are
            its rewards, as `dpbandits.rewards.streams` says.
        horizon : int
            Horizon T that the algorithm is told; at least the last checkpoint.
        checkpoints : numpy.ndarray of int, shape (C,)
            Increasing times at which the pulls are counted.
        rng : numpy.random.Generator
            Source of all randomness of the run, rewards included.
        """

    def play_table(self, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
        """Play a table of rewards in [0, 1], shape (K, N), many times, N pulls each time.

        Returns the arm of each pull, shape (n_runs, N). Bit for bit, one run after another is
        played by `play`; a compiled loop may override it.
        """
        rewards, times = FixedRewards(table, log=False), np.arange(1, table.shape[1] + 1)
        arms = np.empty((n_runs, times.size), dtype=np.int8)
        for row in arms:
            rewards.restart()
            write_arms(self.play(rewards, times.size, times, rng).counts, row)
        return arms

    def regret_bound(
        self, instance: Any, horizon: int, times: ArrayLike | None = None
    ) -> float | Floats:
        """Return an upper bound on the expected pseudo-regret: infinity where none is known.

        Arguments as of `play`; `times` t ≤ T are those at which the bound is wanted, None for T.
        The result has their shape.
        """
        self.check_instance(instance)
        if isinstance(instance, self.bound_for):
            bound = self._regret_bound(instance, horizon)
            if bound is not None:
                result: float | Floats = bound(times=times)
                return result
        return math.inf if times is None else np.full(np.shape(times), math.inf)

    def _regret_bound(self, instance: Any, horizon: int) -> Callable[..., Any] | None:
        """Return a function of `times` from `dpbandits.bounds`, if one is known."""
        return None


@kernel
def write_arms(counts: Ints, row: NDArray[np.int8]) -> None:
    """Write the arm of each pull, shape (N,), read off the counts after each, shape (N, K)."""
    for t in range(counts.shape[0]):
        for arm in range(counts.shape[1]):
            if counts[t, arm] > (counts[t - 1, arm] if t > 0 else 0):
                row[t] = arm
