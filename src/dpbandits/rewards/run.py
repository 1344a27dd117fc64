"""One run of an algorithm: its requests are counted, and it ends at the last checkpoint."""

from __future__ import annotations

import operator
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._validation import check_integer
from dpbandits.rewards.sources import Source


class Ended(BaseException):
    """The run is over: an algorithm asked for more pulls than are left.

    The caller that started the run catches it, so an algorithm knows neither checkpoints nor the
    end of its run. Its base is not `Exception`, so that an algorithm's own ``except Exception``
    does not catch it.

    Examples
    --------
    >>> issubclass(Ended, Exception)
    False
    """


class ProtocolError(ValueError):
    """Invalid request of an algorithm for rewards: the caller adds the algorithm's name.

    Examples
    --------
    >>> issubclass(ProtocolError, ValueError)
    True
    """


def _whole(size: int) -> int:
    """Return a number of pulls as a Python int, which is unbounded."""
    if type(size) is int and size > 0:
        return size
    try:
        return check_integer("size", size, 1)
    except ValueError as error:
        raise ProtocolError(str(error)) from None


def _arm(arm: Any) -> int:
    """Return the number of an arm as a Python int."""
    try:
        return operator.index(arm)
    except TypeError:
        raise ProtocolError(
            f"arm={arm!r} is not a whole number; allowed: the number of an arm, from 0"
        ) from None


def _each_once(arms: Sequence[int] | NDArray[Any]) -> list[int]:
    """Return the numbers of arms to pull in turn."""
    listed = [_arm(arm) for arm in arms]
    if len(set(listed)) < max(len(listed), 1):
        what = "names an arm twice" if listed else "names no arm"
        raise ProtocolError(f"arms={listed} {what}; allowed: at least one arm, each once")
    return listed


class Playable(Protocol):
    """Protocol of an algorithm to which a part of a run can be delegated, by `Run.delegate`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm: Playable = dpb.UCB()
    >>> instance, rng = dpb.instances.bernoulli([0.9, 0.5]), np.random.default_rng(0)
    >>> algorithm.draw(instance, 10, np.array([5, 10]), rng).counts.sum(axis=1).tolist()
    [5, 10]
    """

    def draw(
        self, instance: Any, horizon: int, checkpoints: Ints, rng: Rng, how: str | None = None
    ) -> Any:
        """Play until the last checkpoint.

        Parameters
        ----------
        instance : Arms or Source
            The bandit, or rewards with which the run continues.
        horizon : int
            Horizon T of the algorithm; at least the last checkpoint.
        checkpoints : numpy.ndarray of int, shape (C,)
            Increasing numbers of pulls at which the pulls are counted; the last ends the run.
        rng : numpy.random.Generator
            Source of all randomness of the run.
        how : str, optional
            Name of one of its accelerators, or "reference" for its plain program. None is its
            default.

        Returns
        -------
        object
            An object with `counts`, the pulls of each arm at the checkpoints, shape (C, K), and
            `epoch_ends`.
        """


class Run:
    """The rewards of one run, requested by a plain program.

    It passes requests on to a source, and counts the pulls at the checkpoints. If the last
    checkpoint cuts a request short, the pulls up to it count, no reward of that request is read,
    and `Ended` is raised: a batch that is cut short releases nothing.

    Parameters
    ----------
    source : Source
        Source of the rewards.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls, from 1, at which the pulls are counted; the last ends the run.
    how : str, optional
        Name of the accelerator for algorithms in `delegate`, or "reference" for plain programs.
        None leaves the choice to the table of accelerators.

    Attributes
    ----------
    counts : numpy.ndarray of int, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.
    pulls : list of int, length K
        Pulls of each arm so far: one list, which grows in place.
    time : int
        Number of pulls so far.
    ends : list of int
        Numbers of pulls after which a request for rewards was answered, by `total`, `totals`,
        `moments` or `truncated_totals`; and the ends of epochs within `delegate`.

    Examples
    --------
    >>> from dpbandits.rewards.sources import FixedRewards
    >>> run = Run(FixedRewards([[1, 0, 1, 0], [0, 0, 1, 1]]), np.array([3, 6]))
    >>> run.total(0, 2), run.totals([0, 1], 1).tolist()
    (1.0, [1.0, 0.0])
    >>> try:
    ...     run.commit(1)
    ... except Ended:
    ...     print(run.counts.tolist(), run.ends)
    [[3, 0], [3, 3]] [2, 4]
    """

    def __init__(self, source: Source, checkpoints: Ints, how: str | None = None) -> None:
        self.source, self.how = source, how
        self.n_arms = int(source.n_arms)
        self.checkpoints = checkpoints
        self.counts: Ints = np.zeros((checkpoints.size, self.n_arms), dtype=np.int64)
        self.pulls = [0] * self.n_arms
        self.time = 0
        self.ends: list[int] = []
        self._times: list[int] = [*checkpoints.tolist()]
        self._due = [*self._times, -1]  # the next checkpoint; after the last there is none
        self._passed = 0
        self._last = self._times[-1]
        self._over = False

    @property
    def ended(self) -> bool:
        """Whether the last checkpoint has been reached."""
        return self.time == self._last

    @property
    def left(self) -> int:
        """Number of remaining pulls."""
        return self._last - self.time

    @property
    def order(self) -> float:
        """Order v, in (0, 1], of the moment E∣X∣^(1+v) ≤ u that the rewards' source promises.

        Raises
        ------
        ProtocolError
            If it promises none of these.
        """
        return self._promised("order")

    @property
    def moment_bound(self) -> float:
        """Bound u on the moment E∣X∣^(1+v) that the rewards' source promises.

        Raises
        ------
        ProtocolError
            If it promises none of these.
        """
        return self._promised("moment_bound")

    def _promised(self, name: str) -> float:
        if not hasattr(self.source, name):
            raise ProtocolError(
                f"rewards={self.source!r} have no promised {name}; allowed: a source with order "
                "and moment_bound, such as the rewards of a HeavyTailInstance"
            )
        return float(getattr(self.source, name))

    def total(self, arm: int, size: int) -> float:
        """Pull an arm `size` times and return the sum of its rewards.

        Parameters
        ----------
        arm : int
            The arm, from 0 to K − 1.
        size : int
            Number of pulls, at least 1.

        Returns
        -------
        float
            Sum of the rewards.

        Raises
        ------
        ProtocolError
            If there is no such arm, or `size` is not an integer of at least 1.
        Ended
            If fewer pulls are left.
        """
        if type(size) is not int or size <= 0:
            size = _whole(size)
        if type(arm) is not int:
            arm = _arm(arm)
        end = self.time + size
        if 0 <= arm < self.n_arms and end < self._due[self._passed]:  # it passes no checkpoint
            self.pulls[arm] += size
            self.time = end
        else:
            self._pull([arm], size)
        total = self.source.total(arm, size)
        self.ends.append(self.time)
        return total

    def totals(
        self, arms: Sequence[int] | NDArray[Any], size: int, *, rounded_by: Rng | None = None
    ) -> Floats:
        """Pull several arms in turn, each `size` times, and return the sums of their rewards.

        Parameters
        ----------
        arms : sequence of int
            The arms, each once, in the order in which a turn pulls them.
        size : int
            Number of pulls of each arm, at least 1.
        rounded_by : numpy.random.Generator, optional
            Rounds each reward to 0 or 1: x counts as 1 with probability x. Without it, rewards are
            summed as they are.

        Returns
        -------
        numpy.ndarray of float, shape (len(arms),)
            Sums of the rewards.

        Raises
        ------
        ProtocolError
            If no arm is named, one twice or one that is not there, or if `size` is not a whole
            number of at least 1.
        Ended
            If fewer pulls are left.
        """
        listed, size = _each_once(arms), _whole(size)
        self._pull(listed, size)
        if rounded_by is None:
            sums = [self.source.total(arm, size) for arm in listed]
        else:
            sums = [self.source.rounded_total(arm, size, rounded_by) for arm in listed]
        self.ends.append(self.time)
        return np.array(sums, dtype=np.float64)

    def moments(self, arms: Sequence[int] | NDArray[Any], size: int) -> tuple[Floats, Floats]:
        """Pull several arms in turn, each `size` times; return both sums of each.

        Parameters
        ----------
        arms : sequence of int
            The arms, each once, in the order in which a turn pulls them.
        size : int
            Number of pulls of each arm, at least 1.

        Returns
        -------
        tuple of numpy.ndarray of float, each of shape (len(arms),)
            Sums of the rewards, and sums of their squares.

        Raises
        ------
        ProtocolError
            If no arm is given, one twice or one that does not exist, or if `size` is not an integer
            of at least 1.
        Ended
            If fewer pulls are left.
        """
        listed, size = _each_once(arms), _whole(size)
        self._pull(listed, size)
        found = np.array([self.source.moments(arm, size) for arm in listed], dtype=np.float64)
        self.ends.append(self.time)
        return found[:, 0], found[:, 1]

    def truncated_totals(
        self,
        arms: Sequence[int] | NDArray[Any],
        size: int,
        bound: float,
        *,
        rounded_by: Rng | None = None,
    ) -> Iterator[float]:
        """Pull several arms in turn; return the sums of their rewards, those beyond a bound as 0.

        Parameters
        ----------
        arms : sequence of int
            The arms, each once, in the order in which a turn pulls them.
        size : int
            Number of pulls of each arm, at least 1.
        bound : float
            B > 0: a reward x counts as x·1{∣x∣ ≤ B}.
        rounded_by : numpy.random.Generator, optional
            Rounds each reward to 0 or B, and counts those that are B: a reward x in [0, B] counts
            as 1 with probability x/B, any other as 0.

        Returns
        -------
        iterator of float
            For each arm the sum of its truncated rewards, or the number of those that count as 1;
            drawn when it is asked for.

        Raises
        ------
        ProtocolError
            If no arm is named, one twice or one that is not there, or if `size` is not a whole
            number of at least 1.
        Ended
            If fewer pulls are left.
        """
        listed, size = _each_once(arms), _whole(size)
        self._pull(listed, size)
        self.ends.append(self.time)
        if rounded_by is None:
            return (self.source.truncated_total(arm, size, bound) for arm in listed)
        return (self.source.rounded_truncated_total(arm, size, bound, rounded_by) for arm in listed)

    def commit(self, arm: int) -> NoReturn:
        """Pull an arm until the run ends, without reading its rewards.

        Parameters
        ----------
        arm : int
            The arm, from 0 to K − 1.

        Raises
        ------
        ProtocolError
            If there is no such arm.
        Ended
            Always.
        """
        self._pull([_arm(arm)], self.left + 1)
        raise Ended

    def delegate(self, algorithm: Playable, horizon: int, pulls: int, rng: Rng) -> None:
        """Let another algorithm play the next pulls, starting anew.

        Parameters
        ----------
        algorithm : Playable
            The algorithm: played by its accelerator, if there is one, unless `how` is set.
        horizon : int
            Its horizon.
        pulls : int
            Number of its pulls, at least 1.
        rng : numpy.random.Generator
            Source of its noise.

        Raises
        ------
        ProtocolError
            If `pulls` is not an integer of at least 1.
        Ended
            If fewer pulls are left, after playing those.
        """
        size = min(_whole(pulls), self.left)
        if size == 0:
            self._pull([0], 1)  # which ends the run
        stop, start = self.time + size, self.time
        inside = [time for time in self._times[self._passed :] if time < stop]
        times = np.array([*inside, stop], dtype=np.int64) - start
        part = algorithm.draw(self.source, horizon, times, rng, self.how)
        before = np.array(self.pulls, dtype=np.int64)
        counts = before + part.counts
        reached = len(inside) + (stop in self._times)
        self.counts[self._passed : self._passed + reached] = counts[:reached]
        self._passed += reached
        self.pulls[:] = counts[-1].tolist()
        self.time = stop
        self.ends += (start + part.epoch_ends).tolist()
        if size < pulls:
            self._over = True
            raise Ended

    def _pull(self, arms: Sequence[int], size: int) -> None:
        """Count `size` pulls of each of the arms in turn, up to the end of the run."""
        for arm in arms:
            if not 0 <= arm < self.n_arms:
                allowed = f"a whole number of at least 0 and at most {self.n_arms - 1}"
                raise ProtocolError(f"arm={arm!r} is out of range; allowed: {allowed}")
        if self._over:
            raise ProtocolError(
                "rewards were asked for after the run had ended; allowed: to let Ended propagate, "
                "which ends it"
            )
        n_pulled = len(arms)
        end = self.time + size * n_pulled
        stop = min(end, self._last)
        passed, self._passed = self._passed, bisect_right(self._times, stop, self._passed)
        if self._passed - passed == 1:
            self._count(self.counts[passed], arms, self._times[passed] - self.time)
        elif self._passed > passed:
            made = self.checkpoints[passed : self._passed] - self.time
            self._count_many(self.counts[passed : self._passed], arms, made)
        if end > self._last:
            self._over = True
            self._count(cut := np.empty(self.n_arms, dtype=np.int64), arms, self.left)
            self.pulls[:] = cut.tolist()
            self.time = self._last
            raise Ended
        for arm in arms:
            self.pulls[arm] += size
        self.time = end

    def _count(self, row: Ints, arms: Sequence[int], made: int) -> None:
        """Write the pulls of each arm after `made` more, of these arms in turn."""
        row[:] = self.pulls
        turns, rest = divmod(made, len(arms))
        for place, arm in enumerate(arms):
            row[arm] += turns + (place < rest)

    def _count_many(self, rows: Ints, arms: Sequence[int], made: Ints) -> None:
        """Do as `_count` for several numbers of pulls, shape (C, K) and (C,)."""
        rows[:] = self.pulls
        if len(arms) == 1:
            rows[:, arms[0]] += made
            return
        turns, rest = np.divmod(made, len(arms))
        for place, arm in enumerate(arms):
            rows[:, arm] += turns + (place < rest)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            new = {"rest": "commit", "let": "delegate"}.get(name)
            if new is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"Run.{name} is now Run.{new}", DeprecationWarning, stacklevel=2)
            return getattr(self, new)
