"""What can be audited: algorithms, stopping rules, counters and functions, on tables of rewards."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._validation import check_integer
from dpbandits.acceleration import REFERENCE, TableRuns, accelerates, accelerator_for
from dpbandits.guarantees import NO_PRIVACY, Guaranteed, PrivacyGuarantee, check_guarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.group_sequential import ENDS, GroupSequential
from dpbandits.identification.running_trial import RunningTrial
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.mechanisms.counters import Counter
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.streams import FixedRewards
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import StoppingRule

__all__ = [
    "Auditable",
    "CounterSubject",
    "DrawnSubject",
    "FunctionSubject",
    "GroupSubject",
    "IdentificationSubject",
    "Outputs",
    "RegretSubject",
    "StoppingSubject",
    "Subject",
    "check_one_arm",
    "declared",
    "subject_of",
    "tables_of",
]


Row = tuple[Floats, Floats]
"""One run: how often the changed arm was pulled by some times, and values that were released."""
Rows = Row
"""The same of many runs, a row each."""

_SHOWN, _RELEASES = 64, 32
_WHOLE = 256  # shorter runs are shown pull by pull
_NAN = -1e300  # stands for what was not released


class Outputs(NamedTuple):
    """What runs put out.

    Attributes
    ----------
    values : numpy.ndarray of float, shape (runs, v)
        Numbers: halting time, released values, recommendation; nan for what was not released.
    actions : numpy.ndarray of float, shape (runs, a)
        Arms pulled, 0-based, in order; −1 behind the last.

    Examples
    --------
    >>> Outputs.of_values(np.zeros((3, 2))).actions.shape
    (3, 0)
    """

    values: Floats
    actions: Floats

    @classmethod
    def of_values(cls, values: Floats) -> Outputs:
        """Return outputs without actions.

        Parameters
        ----------
        values : numpy.ndarray of float, shape (runs, v)
            The numbers.

        Returns
        -------
        Outputs
            The outputs.
        """
        return cls(values, np.empty((len(values), 0)))


class Auditable(Protocol):
    """What can be audited: something that can be run many times on a table of rewards.

    The runs on two tables take turns, so that `outputs` is called many times with few runs each.
    Where runs draw their noise all together, so that this would change their numbers, an attribute
    ``draws_together = True`` has them asked for at once.

    Examples
    --------
    >>> class Coin:
    ...     label, guarantee = "a coin", PrivacyGuarantee("central", 1.0)
    ...
    ...     def outputs(self, table, n_runs, rng):
    ...         return Outputs.of_values(rng.integers(0, 2, (n_runs, 1)).astype(float))
    >>> subject_of(Coin()).label
    'a coin'
    """

    @property
    def label(self) -> str:
        """What tables call it."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about its whole output."""

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            A row for each run.
        """
        ...


def _check_rewards(table: Floats, tables: Tables | None = None) -> None:
    """Refuse a table with rewards outside [0, 1], or, with a moment, of a sign not allowed."""
    low, high, allowed = 0.0, 1.0, "from 0 to 1"
    if tables is not None and tables.promise is not None:
        low, high, allowed = (-math.inf if tables.low < 0 else 0.0), math.inf, "at least 0"
    fine = (table >= low) & (table <= high)
    if not fine.all():
        raise ValueError(f"table has the reward {table[~fine][0]:g}; allowed: {allowed}")


def check_one_arm(table: Floats) -> None:
    """Refuse a table of several arms where a stream is meant.

    Parameters
    ----------
    table : numpy.ndarray of float, shape (K, N)
        The table.

    Raises
    ------
    ValueError
        If it has more than one arm.

    Examples
    --------
    >>> check_one_arm(np.zeros((2, 8)))
    Traceback (most recent call last):
    ...
    ValueError: table has 2 arms; allowed: 1, as a stream is read
    """
    if len(table) != 1:
        raise ValueError(f"table has {len(table)} arms; allowed: 1, as a stream is read")


def declared(target: Any, n_pulls: int) -> PrivacyGuarantee:
    """Return what a target declares, where it depends on their length for tables of one length.

    Parameters
    ----------
    target : object
        What has a `guarantee`.
    n_pulls : int
        Length of the tables.

    Returns
    -------
    PrivacyGuarantee
        What is declared.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPUCBInt(epsilon=0.5)
    >>> declared(algorithm, 16).epsilon < algorithm.guarantee.epsilon
    True
    """
    found: PrivacyGuarantee = target.guarantee
    return target.guarantee_at(n_pulls) if isinstance(target, Guaranteed) else found


def tables_of(target: object) -> Tables | None:
    """Return on which tables a target says that it can be audited.

    Parameters
    ----------
    target : object
        An algorithm, a stopping rule, a counter, or what runs one of them.

    Returns
    -------
    Tables or None
        The tables; None if it does not say.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> tables_of(dpb.NAS(0.5, 0.05)).n_arms, tables_of(dpb.DPRSE(1.0)).high, tables_of(len)
    (1, 0.5, None)
    """
    found = getattr(getattr(target, "target", target), "tables", None)
    return found if isinstance(found, Tables) else None


@dataclass(frozen=True)
class Subject(abc.ABC):
    """Base of what runs a target.

    Parameters
    ----------
    target : object
        What is run.
    n_pulls : int
        Number N of rewards of each arm of the tables.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(RegretSubject, Subject), RegretSubject(dpb.UCB()).label
    (True, 'UCB')
    """

    target: Any
    n_pulls: int = 16

    @property
    def label(self) -> str:
        """What tables call the target."""
        name = getattr(self.target, "__name__", type(self.target).__name__)
        return str(getattr(self.target, "label", name))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the target declares."""
        return declared(self.target, self.n_pulls)

    @abc.abstractmethod
    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the target's own program once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If the target cannot be run on such a table.
        """

    def loop(self, table: Floats, read: Ints, arm: int) -> Callable[[int, Rng], Rows] | None:
        """Return the compiled loop that is entered for exactly the target's class, if one is.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where the loop writes how many rewards of each arm have been read, and behind these the
            number of the run.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable or None
            From a number of runs and a generator to their counts and values; None if the target's
            own program is to be run.
        """
        return None

    @abc.abstractmethod
    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            A row for each run.

        Raises
        ------
        ValueError
            If the target cannot be run on such a table.
        """


class RegretSubject(Subject):
    """A regret-minimising algorithm: its sequence of pulls.

    It is played by the loop that is entered for exactly its class, or else by its own `play`. One
    for heavy-tailed rewards is told the moment that its `tables` promise.

    Parameters
    ----------
    target : RegretAlgorithm
        The algorithm.
    n_pulls : int
        Number N of rewards of each arm, which is also the horizon that the algorithm is told.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject, table = RegretSubject(dpb.UCB(), 4), np.array([[1.0] * 4, [0.0] * 4])
    >>> subject.outputs(table, 1, np.random.default_rng(0)).actions.tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the algorithm's own `play` once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls: in [0, 1], or heavy-tailed.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If a reward is out of range.
        """
        rewards, times = self._rewards(table, read), _times(table.shape[1])

        def run(rng: Rng) -> Row:
            rewards.restart()
            play = self.target.draw(rewards, rewards.n_pulls, times, rng, REFERENCE)
            return play.counts[:, arm].astype(np.float64), np.empty(0)

        return run

    def loop(self, table: Floats, read: Ints, arm: int) -> Callable[[int, Rng], Rows] | None:
        """Return the compiled loop that is entered for exactly the target's class, if one is.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls: in [0, 1], or heavy-tailed.
        read : numpy.ndarray of int
            Where the loop writes how many rewards of each arm have been read, and behind these the
            number of the run.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable or None
            From a number of runs and a generator to their counts and values; None if there is none.

        Raises
        ------
        ValueError
            If a reward is out of range.
        """
        fast = accelerator_for(self.target, TableRuns)
        if fast is None:
            return None
        rewards, times = self._rewards(table, read), _times(table.shape[1])

        def runs(n_runs: int, rng: Rng) -> Rows:
            arms = fast.run(self.target, rewards, n_runs, rng)
            counts = (arms == arm).cumsum(axis=1)[:, times - 1]
            return counts.astype(np.float64), np.empty((n_runs, 0))

        return runs

    def _rewards(self, table: Floats, read: Ints) -> FixedRewards:
        tables = tables_of(self.target)
        _check_rewards(table, tables)
        promise = None if tables is None else tables.promise
        return FixedRewards(table, log=False, read=read, promise=promise)

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls: in [0, 1], or heavy-tailed.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            The arms pulled, a row for each run.

        Raises
        ------
        ValueError
            If a reward is out of range.
        """
        _check_rewards(table, tables_of(self.target))
        actions = self.target.draw_table(np.array(table, np.float64, order="C"), n_runs, rng)
        return Outputs(np.empty((n_runs, 0)), actions.astype(np.float64))


class IdentificationSubject(Subject):
    """An algorithm for best-arm identification: pulls, stopping time and recommendation.

    Values are the recommendation (−1 if the table ended first), the stopping time and the pulls
    of each arm; actions are the arms in the order in which rewards were looked at. It is run by the
    loop that is entered for exactly its class, or else by its own `decide`.

    Parameters
    ----------
    target : IdentificationAlgorithm
        The algorithm.
    n_pulls : int
        Number N of rewards of each arm; a run ends after N pulls of all arms.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject, table = IdentificationSubject(dpb.TopTwo(0.1), 4), np.zeros((2, 4))
    >>> subject.outputs(table, 3, np.random.default_rng(0)).values[:, :2].tolist()
    [[-1.0, 4.0], [-1.0, 4.0], [-1.0, 4.0]]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the algorithm's own `decide` once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards in [0, 1] of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If a reward is not in [0, 1].
        """
        _check_rewards(table)
        rewards = FixedRewards(table, read=read)

        def run(rng: Rng) -> Row:
            rewards.restart()
            best, pulls = self.target.draw(rewards, rng, rewards.n_pulls, REFERENCE)
            order = np.full(_RELEASES, -1.0)
            order[: len(rewards.batches)] = rewards.batches[:_RELEASES]
            return (order == arm).cumsum().astype(np.float64), np.array([best, *pulls], np.float64)

        return run

    def loop(self, table: Floats, read: Ints, arm: int) -> Callable[[int, Rng], Rows] | None:
        """Return the compiled loop that is entered for exactly the target's class, if one is.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards in [0, 1] of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where the loop writes how many rewards of each arm have been read, and behind these the
            number of the run.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable or None
            From a number of runs and a generator to their counts and values; None if there is none,
            or nothing private is declared.

        Raises
        ------
        ValueError
            If a reward is not in [0, 1].
        """
        fast = accelerator_for(self.target, TableRuns)
        if fast is None or not self.target.guarantee.is_private:  # that of Top Two counts successes
            return None
        _check_rewards(table)
        rewards = FixedRewards(table, log=False, read=read)

        def runs(n_runs: int, rng: Rng) -> Rows:
            best, pulls, arms = fast.run(self.target, rewards, n_runs, rng)
            shown = (arms[:, :_RELEASES] == arm).cumsum(axis=1).astype(np.float64)
            return shown, np.column_stack([best, pulls]).astype(np.float64)

        return runs

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards in [0, 1] of each arm in the order of its pulls.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            Values and arms, a row for each run.

        Raises
        ------
        ValueError
            If a reward is not in [0, 1].
        """
        _check_rewards(table)
        best, pulls, arms = self.target.draw_table(table, n_runs, rng)
        values = np.column_stack([best, pulls.sum(axis=1), pulls]).astype(np.float64)
        return Outputs(values, arms)


class StoppingSubject(Subject):
    """A stopping rule: halting time and estimate. Its tables have one arm.

    Parameters
    ----------
    target : StoppingRule
        The rule.
    n_pulls : int
        Length N of the stream.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = StoppingSubject(dpb.NAS(0.5, 0.05))
    >>> subject.outputs(np.ones((1, 400)), 1, np.random.default_rng(0)).values.tolist()
    [[282.0, 1.0]]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the rule's own `stop` once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (1, N)
            The rewards of the one arm in their order.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            Not used: there is one arm, and no pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If the table has several arms.
        """
        check_one_arm(table)
        stream = table[0].tolist()

        def samples() -> Iterator[float]:
            for place, sample in enumerate(stream, start=1):
                read[0] = place
                yield sample

        def run(rng: Rng) -> Row:
            found = self.target.run(samples(), rng, len(stream))
            return np.empty(0), np.array([found.samples if found.halted else 0.0, found.estimate])

        return run

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (1, N)
            The rewards of the one arm in their order.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            Halting time and estimate, a row for each run.

        Raises
        ------
        ValueError
            If the table has several arms.
        """
        check_one_arm(table)
        stream = table[0].tolist()
        found = [self.target.run(stream, rng, len(stream)) for _ in range(n_runs)]
        return Outputs.of_values(np.array([[each.samples, each.estimate] for each in found]))


class GroupSubject(Subject):
    """A group-sequential trial on private counts: what its looks release, and how it ends.

    Values are the released successes of treatment and control at each look, −10³⁰⁰ at looks that
    the trial does not come to, and the number of the end in `ENDS`. It is a `RunningTrial` that
    releases and decides. Arm 0 of a table is the treatment and arm 1 the control; others are not
    read.

    Parameters
    ----------
    target : GroupSequential
        The design.
    n_pulls : int
        Not used: a trial reads one outcome of each patient.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = GroupSubject(dpb.GroupSequential(per_look=4, critical=2.0, looks=1))
    >>> table = np.array([[1.0, 1.0, 1.0, 0.0], [0.0] * 4])
    >>> subject.outputs(table, 1, np.random.default_rng(0)).values.tolist()
    [[3.0, 0.0, 0.0]]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the trial once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (2, N)
            Outcomes 0 or 1 of the patients of each arm, look by look.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            Not used: all pulls are known beforehand.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If it is another number of patients than planned, or an outcome is not 0 or 1.
        """
        design: GroupSequential = self.target
        n, size = design.looks, design.per_look
        if len(table) < 2 or table.shape[1] != n * size or not np.isin(table, (0.0, 1.0)).all():
            raise ValueError(
                f"table has {len(table)} × {table.shape[1]} outcomes; allowed: 2 × {n * size}, "
                "each 0 or 1"
            )
        counts = table[:2].astype(np.int64).reshape(2, n, size).sum(axis=2).T.tolist()

        def run(rng: Rng) -> Row:
            trial, values = RunningTrial(design), np.full(2 * n + 1, _NAN)
            for k, (treatment, control) in enumerate(counts):
                read[:2] = (k + 1) * size
                seen = trial.look(k + 1, (treatment, size), (control, size), rng)
                values[2 * k : 2 * k + 2] = seen.treatment, seen.control
                if seen.decision != "continue":
                    break
            values[-1] = ENDS.index(seen.decision)
            return np.empty(0), values

        return run

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (2, N)
            Outcomes 0 or 1 of the patients of each arm, look by look.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            Releases and end, a row for each run.

        Raises
        ------
        ValueError
            If it is another number of patients than planned, or an outcome is not 0 or 1.
        """
        run = self.once(table, np.zeros(len(table) + 1, dtype=np.int64), 0)
        return Outputs.of_values(np.array([run(rng)[1] for _ in range(n_runs)]))


@accelerates(
    *(BinaryTree, AdaptiveTree, HybridCounter, LogarithmicCounter),
    on=TableRuns,
    name="all runs at once",
)
def _sums_of_runs(counter: Counter, table: Floats, n_runs: int, rng: Rng) -> Floats:
    """Return all running sums of many runs, by the compiled loop of the counters."""
    return counter.sums(np.array(table[0]), n_runs, rng)


class CounterSubject(Subject):
    """A private counter, such as `BinaryTree`: all its running sums. Its tables have one arm.

    Parameters
    ----------
    target : Counter
        The counter.
    n_pulls : int
        Length N of the stream.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = CounterSubject(BinaryTree(float("inf"), 4), 4)
    >>> subject.outputs(np.ones((1, 4)), 1, np.random.default_rng(0)).values.tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the counter's own program once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (1, N)
            The rewards of the one arm in their order.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            Not used: there is one arm, and no pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If the table has several arms.
        """
        check_one_arm(table)
        stream = table[0].tolist()

        def run(rng: Rng) -> Row:
            counter, sums = self.target.counter(rng), np.empty(len(stream))
            for place, x in enumerate(stream):
                read[0] = place + 1
                sums[place] = counter.add(x)
            return np.empty(0), sums

        return run

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (1, N)
            The rewards of the one arm in their order.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            All running sums, a row for each run.

        Raises
        ------
        ValueError
            If the table has several arms.
        """
        check_one_arm(table)
        fast = accelerator_for(self.target, TableRuns)
        if fast is not None:
            return Outputs.of_values(fast.run(self.target, table, n_runs, rng))
        stream, counters = table[0].tolist(), (self.target.counter(rng) for _ in range(n_runs))
        return Outputs.of_values(np.array([[each.add(x) for x in stream] for each in counters]))


@dataclass(frozen=True)
class FunctionSubject(Subject):
    """A custom function: the arms that it pulls, their number, and what it returns.

    The function maps (`FixedRewards`, generator) to what is released at the end: nothing, a number,
    or a sequence of numbers, always as many. It pulls arms by ``rewards.pull(arm)``.

    Parameters
    ----------
    target : callable
        The function.
    n_pulls : int
        Number N of rewards of each arm.
    promised : PrivacyGuarantee
        What is declared about it.

    Examples
    --------
    >>> def leaky(rewards, rng):
    ...     better = rewards.pull(0) < rewards.pull(1)
    ...     rewards.pull(1 if better else 0)
    >>> table = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> FunctionSubject(leaky).outputs(table, 2, np.random.default_rng(0)).actions.tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """

    promised: PrivacyGuarantee = NO_PRIVACY

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return self.promised

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the function once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If the function asks for more rewards than the table has.
        """
        rewards, times = FixedRewards(table, read=read), _times(table.size)
        places, order = times - 1, np.empty(times[-1])

        def run(rng: Rng) -> Row:
            rewards.restart()
            released = self.target(rewards, rng)
            values = np.empty(0) if released is None else np.array(released, np.float64).ravel()
            pulled = rewards.actions[: order.size]
            order[: len(pulled)] = pulled
            order[len(pulled) :] = -1.0
            shown = np.empty(places.size + 1)
            shown[:-1] = (order == arm).cumsum()[places]
            shown[-1] = len(pulled)
            return shown, values

        return run

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            Number of pulls, released numbers and arms, a row for each run.

        Raises
        ------
        ValueError
            If the function returns now more and now fewer numbers.
        """
        rewards = FixedRewards(table)
        values, pulled = [], []
        for _ in range(n_runs):
            rewards.restart()
            released = self.target(rewards, rng)
            arms = rewards.actions
            values.append([len(arms), *([] if released is None else np.atleast_1d(released))])
            if len(values[-1]) != len(values[0]):
                raise ValueError(
                    f"function={self.target!r} returned {len(values[0]) - 1} and "
                    f"{len(values[-1]) - 1} numbers; allowed: always as many"
                )
            pulled.append(arms)
        actions = np.full((n_runs, max(map(len, pulled), default=0)), -1.0)
        for row, arms in zip(actions, pulled, strict=True):
            row[: len(arms)] = arms
        return Outputs(np.array(values, dtype=np.float64), actions)


@dataclass(frozen=True)
class DrawnSubject(Subject):
    """What has label, guarantee and outputs, run once at a time.

    Parameters
    ----------
    target : Auditable
        What is run.
    n_pulls : int
        Not used: it knows its tables.

    Examples
    --------
    >>> from dpbandits.auditing.truths import Releases
    >>> subject = DrawnSubject(Releases(1.0))
    >>> _, values = subject.once(np.zeros((1, 1)), np.zeros(2), 0)(np.random.default_rng(0))
    >>> values.size
    1
    """

    @property
    def guarantee(self) -> PrivacyGuarantee:
        found: PrivacyGuarantee = self.target.guarantee
        return found

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return what runs the target's `outputs` once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Where it is written how many rewards of each arm have been read.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            From a generator to one run's counts and values, always of the same shapes.
        """
        length = table.size

        def run(rng: Rng) -> Row:
            (values,), (actions,) = self.target.outputs(table, 1, rng)
            counts = np.zeros(length)
            shown = (actions == arm).cumsum()[:length]
            counts[: shown.size] = shown
            counts[shown.size :] = shown[-1] if shown.size else 0.0
            return counts, np.array(values, dtype=np.float64)

        return run

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        n_runs : int
            Number of runs.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        Outputs
            What the target puts out, a row for each run.
        """
        found: Outputs = self.target.outputs(table, n_runs, rng)
        return found


def _times(length: int) -> Ints:
    """Return the times at which the pulls of a run are shown: all, or 64 of them."""
    if length < _WHOLE:
        return np.arange(1, length + 1)
    return np.unique(np.geomspace(1, length, _SHOWN).astype(np.int64))


def subject_of(
    target: object, n_pulls: int = 16, guarantee: PrivacyGuarantee | None = None
) -> Auditable:
    """Make something auditable, unless it has label, guarantee and outputs already.

    Parameters
    ----------
    target : object
        A `RegretAlgorithm`, an `IdentificationAlgorithm`, a `StoppingRule`,
        a `GroupSequential` trial, a mechanism with a `counter`, or a function of (`FixedRewards`,
        generator): see `FunctionSubject`.
    n_pulls : int
        Length N of the tables that are meant, for algorithms whose guarantee depends on it.
    guarantee : PrivacyGuarantee, optional
        What is declared about a function.

    Returns
    -------
    Auditable
        What runs the target, or the target itself.

    Raises
    ------
    ValueError
        If the target is none of these, or cannot be run on tables.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject, table = subject_of(dpb.UCB()), np.array([[1.0, 1.0, 1.0, 1.0], [0.0] * 4])
    >>> subject.label, subject.outputs(table, 1, np.random.default_rng(0)).actions.tolist()
    ('UCB', [[0.0, 1.0, 0.0, 0.0]])
    """
    if callable(getattr(target, "outputs", None)):
        return cast(Auditable, target)
    check_guarantee(guarantee)
    n_pulls = check_integer("n_pulls", n_pulls, 1)
    kinds: dict[Any, type[Subject]] = {
        RegretAlgorithm: RegretSubject,
        IdentificationAlgorithm: IdentificationSubject,
        StoppingRule: StoppingSubject,
        GroupSequential: GroupSubject,
    }
    for kind, subject in kinds.items():
        if isinstance(target, kind):
            if tables_of(target) is None:
                raise ValueError(
                    f"target={target!r} cannot be run on a table, as it says; allowed: what "
                    "names its tables"
                )
            return subject(target, n_pulls)
    if callable(getattr(target, "counter", None)) and hasattr(target, "guarantee"):
        return CounterSubject(target, n_pulls)
    if callable(target):
        return FunctionSubject(target, n_pulls, guarantee or NO_PRIVACY)
    raise ValueError(
        f"target={target!r} cannot be audited; allowed: an algorithm, a stopping rule or a counter "
        "of this package, a function of (rewards, rng), or what has label, guarantee and outputs"
    )
