"""Base of the regret-minimising algorithms: frozen configurations that can be played."""

from __future__ import annotations

import abc
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import REFERENCE, TableRuns, accelerator_for
from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_integer, check_values
from dpbandits.configuration import Configuration, Count, checked_arguments
from dpbandits.guarantees import NO_PRIVACY, Labelled, PrivacyGuarantee
from dpbandits.rewards.instances import BernoulliInstance, BoundedInstance
from dpbandits.rewards.run import Ended, ProtocolError, Run
from dpbandits.rewards.sources import Bandit, FixedRewards, Source
from dpbandits.rewards.tables import Tables, least_horizon
from dpbandits.schedules import MOST_PULLS

Times = Ints
"""Type of checkpoints: increasing numbers of pulls, shape (C,)."""


@dataclass(frozen=True, eq=False)
class Play:
    """One replicate of an algorithm on an instance.

    A simulation stores its `regret` and `pulls`; a subclass that knows these without the counts
    computes `counts` when it is read.

    Attributes
    ----------
    counts : numpy.ndarray of int, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls: exact at every checkpoint.
    epoch_ends : numpy.ndarray of int, shape (E,)
        Times at which the algorithm's epochs ended; empty if it has none.
    at_once : int
        Number of pulls that an accelerator did not draw singly.

    Examples
    --------
    >>> play = Play(np.array([[2, 1], [6, 4]]))
    >>> play.pulls.tolist(), play.regret(np.array([0.0, 0.5])).tolist()
    ([6, 4], [0.5, 2.0])
    """

    counts: Ints
    epoch_ends: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    at_once: int = 0

    @property
    def pulls(self) -> Ints:
        """Pulls of each arm at the last checkpoint, shape (K,)."""
        last: Ints = self.counts[-1]
        return last

    def regret(self, gaps: Floats) -> Floats:
        """Return the pseudo-regret Σ_a Δ_a·(pulls of a) at each checkpoint.

        Parameters
        ----------
        gaps : numpy.ndarray of float, shape (K,)
            Gaps of the arms.

        Returns
        -------
        numpy.ndarray of float, shape (C,)
            The regret, in units of reward.
        """
        regret: Floats = self.counts @ gaps
        return regret

    def validate(self, checkpoints: Times, n_arms: int) -> None:
        """Raise if no run can have returned this record.

        Parameters
        ----------
        checkpoints : numpy.ndarray of int, shape (C,)
            The checkpoints of the run.
        n_arms : int
            Number of arms K.

        Raises
        ------
        ValueError
            If the shape or a count is wrong.
        """
        counts = np.asarray(self.counts)
        if counts.shape != (checkpoints.size, n_arms):
            shape = (checkpoints.size, n_arms)
            raise ValueError(f"returned counts of shape {counts.shape}; allowed: {shape}")
        pulls = counts.sum(axis=1)
        if (pulls != checkpoints).any():
            at = int(np.argmax(pulls != checkpoints))
            raise ValueError(
                f"counts {pulls[at]} pulls by the time {checkpoints[at]}; allowed: as many as the "
                "time"
            )
        # Not np.diff, whose result and padded copy each take as much memory as the counts.
        if (counts[:1] < 0).any() or (counts[1:] < counts[:-1]).any():
            raise ValueError("has counts that fall; allowed: pulls so far, of each arm")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != "fault":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            text = "Play.fault is now Play.validate, which raises"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return self._fault

        def _fault(self, checkpoints: Times, n_arms: int) -> str:
            try:
                self.validate(checkpoints, n_arms)
            except ValueError as error:
                return str(error)
            return ""


class RegretAlgorithm(Labelled, Configuration, abc.ABC):
    """Base class of the regret-minimising algorithms.

    A subclass is a frozen dataclass whose fields are annotated with their checks (`Configuration`).
    It sets `label` and `source` and defines `play`, `guarantee` if it is private, and, if a bound
    is known, `_regret_bound`; see ``CONTRIBUTING.md``. Accelerators are registered for that class
    alone.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm: dpb.RegretAlgorithm = dpb.DPSE(epsilon=0.5)
    >>> algorithm.label, str(algorithm.guarantee)
    ('DP-SE', 'ε = 0.5, central, event level')
    """

    releases: ClassVar[bool] = False
    """Whether `Play.epoch_ends` contains the times of requests: ends of epochs or batches."""
    bound_for: ClassVar[type[Bandit] | tuple[type[Bandit], ...]] = (
        BernoulliInstance,
        BoundedInstance,
    )
    """Type of instances for which its regret bound is proved; for others the bound is infinite."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of its whole sequence of pulls."""
        return NO_PRIVACY

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        """Return the number of the first pull that can depend on rewards.

        An algorithm with phases longer than one pull of each arm overrides this: tables that end
        before its first decision test nothing.

        Parameters
        ----------
        n_arms : int
            Number of arms K.
        horizon : int
            Horizon of the algorithm, at least 2.

        Returns
        -------
        int
            The number of the pull, from 1: by default the one after each arm was pulled once.
        """
        return n_arms + 1

    @checked_arguments
    def parts(self, pulls: Count) -> Sequence[tuple[RegretAlgorithm, int]]:
        """Return the algorithms to which `play` delegates by `Run.delegate`: by default none.

        Parameters
        ----------
        pulls : int
            Length of a run, at least 1.

        Returns
        -------
        sequence of (RegretAlgorithm, int)
            Each algorithm, and its number of pulls.
        """
        return ()

    @property
    def tables(self) -> Tables | None:
        """Tables on which it can be audited, as long as its horizon.

        None for algorithms that cannot be run on tables.
        """
        n_arms = 2
        return Tables(n_arms, least_horizon(partial(self.first_decision, n_arms), n_arms))

    def check_instance(self, instance: object) -> None:
        """Raise for an unsuitable instance: by default one whose rewards are not in [0, 1].

        Parameters
        ----------
        instance : object
            The instance.

        Raises
        ------
        ValueError
            If the instance is unsuitable.
        """
        if not isinstance(instance, Bandit):
            raise ValueError(
                f"instance={instance!r} is not an instance for {type(self).__name__}; allowed: one "
                "with rewards in [0, 1], such as bernoulli([0.5, 0.4])"
            )

    @abc.abstractmethod
    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        """Play once: the algorithm as in its paper.

        It runs until `rewards` ends it after the last checkpoint.

        Parameters
        ----------
        rewards : Run
            Source of the sums of the arms' next rewards.
        horizon : int
            Horizon T of the algorithm; at least the number of pulls of the run.
        rng : numpy.random.Generator
            Source of the noise and of all other randomness except for the rewards.
        """

    def draw(
        self, instance: Any, horizon: int, checkpoints: Times, rng: Rng, how: str | None = None
    ) -> Play:
        """Draw a run on an instance, by the algorithm's accelerator or else by `play`.

        Parameters
        ----------
        instance : Arms or Source
            The bandit, as accepted by `check_instance`, whose ``rewards(rng)`` starts a run; or
            such rewards, with which the run continues.
        horizon : int
            Horizon T of the algorithm; at least the last checkpoint.
        checkpoints : numpy.ndarray of int, shape (C,)
            Increasing numbers of pulls at which the pulls are counted; the last ends the run.
        rng : numpy.random.Generator
            Source of all randomness of the run, including the rewards.
        how : str, optional
            Name of an accelerator, or "reference" for `play`. None is the first registered one that
            fits and is meant for so many arms, or `play` if there is none or under
            ``NUMBA_DISABLE_JIT=1``.

        Returns
        -------
        Play
            The pulls at the checkpoints.

        Raises
        ------
        ValueError
            If there is no accelerator of that name, or if a class violates the protocol.
        """
        if checkpoints[-1] > MOST_PULLS:
            raise ValueError(f"checkpoints={checkpoints!r} are out of range; allowed: up to 2^62")
        if not isinstance(instance, Source):
            self.check_instance(instance)
        source = instance.rewards(rng)
        fast = accelerator_for(self, type(source), how, source.n_arms)
        if fast is not None:
            play = fast.run(self, source, horizon, checkpoints, rng)
            if not isinstance(play, Play):
                kind = type(play).__name__
                raise ValueError(f"{type(self).__name__}: {fast.name} returned {kind}, not a Play")
            try:
                play.validate(checkpoints, source.n_arms)
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}: {fast.name} {error}") from None
            return play
        run = Run(source, checkpoints, how)
        program = f"{type(self).__name__}.play"
        try:
            self.play(run, horizon, rng)
        except Ended:
            pass
        except ProtocolError as error:
            raise ValueError(f"{program}: {error}") from None
        if not run.ended:
            raise ValueError(
                f"{program} returned after {run.time} of {checkpoints[-1]} pulls; allowed: it goes "
                "on until the run is ended"
            )
        return Play(run.counts, np.array(run.ends if self.releases else [], dtype=np.int64))

    def draw_table(
        self, table: Floats, n_runs: int, rng: Rng, how: str | None = None
    ) -> NDArray[np.int8]:
        """Draw many runs on a table of rewards, N pulls each.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            The n-th pull of an arm returns its n-th entry: rewards in [0, 1], or any numbers if
            `tables` promises a moment. K is at most 127.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of the noise of all runs, one after another.
        how : str, optional
            Name of an accelerator that plays tables, or "reference" for `play`. None is the first
            registered one that fits, or `play` if there is none or under ``NUMBA_DISABLE_JIT=1``.

        Returns
        -------
        numpy.ndarray of int8, shape (n_runs, N)
            The arm of each pull.

        Raises
        ------
        ValueError
            As `draw` does.
        """
        fast = accelerator_for(self, TableRuns, how)
        if fast is not None:
            found: NDArray[np.int8] = fast.run(self, table, n_runs, rng)
            return found
        promise = None if self.tables is None else self.tables.promise
        rewards = FixedRewards(table, log=False, promise=promise)
        times = np.arange(1, table.shape[1] + 1)
        arms = np.empty((n_runs, times.size), dtype=np.int8)
        for row in arms:
            rewards.restart()
            play = self.draw(rewards, times.size, times, rng, REFERENCE)
            row[:] = np.diff(play.counts, axis=0, prepend=0).argmax(axis=1)
        return arms

    def regret_bound(
        self, instance: Any, horizon: int, times: ArrayLike | None = None
    ) -> float | Floats:
        """Return an upper bound on the expected pseudo-regret; infinity if none is known.

        Parameters
        ----------
        instance : Arms
            The bandit, as accepted by `check_instance`.
        horizon : int
            Horizon T ≥ 1 of the algorithm.
        times : array_like of float, optional
            Times t ≤ T at which to evaluate the bound; by default T.

        Returns
        -------
        float or numpy.ndarray of float
            The bound, in units of reward, of the shape of `times`.

        Raises
        ------
        ValueError
            If the instance is unsuitable, or a number is out of range.
        """
        self.check_instance(instance)
        horizon = check_integer("horizon", horizon, 1)
        if times is not None:
            times = check_values("times", times, 0.0, sys.float_info.max)
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
    """Write the arm of each pull, given the counts after each.

    Shapes: `counts` (N, K); `row` (N,).
    """
    for t in range(counts.shape[0]):
        for arm in range(counts.shape[1]):
            if counts[t, arm] > (counts[t - 1, arm] if t > 0 else 0):
                row[t] = arm
