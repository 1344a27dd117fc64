"""Adapters that run algorithms, stopping rules, counters and functions on tables of rewards."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import REFERENCE, TableRuns, accelerator_for
from dpbandits._validation import check_integer
from dpbandits.guarantees import NO_PRIVACY, Guaranteed, PrivacyGuarantee, check_guarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.sources import FixedRewards
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import StoppingRule
from dpbandits.trials.dp_sprt import DECISIONS, DPSPRT
from dpbandits.trials.group_sequential import ENDS, GroupSequential
from dpbandits.trials.running_trial import RunningTrial

__all__ = [
    "Auditable",
    "CounterSubject",
    "DrawnSubject",
    "FunctionSubject",
    "GroupSubject",
    "IdentificationSubject",
    "Outputs",
    "RegretSubject",
    "SPRTSubject",
    "StoppingSubject",
    "Subject",
    "check_one_arm",
    "declared",
    "subject_of",
    "tables_of",
]


Row = tuple[Floats, Floats]
"""One run: pulls of the changed arm at some times, and released values."""
Rows = Row
"""The same for many runs, one row each."""

_SHOWN, _RELEASES = 64, 32
_WHOLE = 256  # shorter runs are shown pull by pull
_NAN = -1e300  # marks a value that was not released


class Outputs(NamedTuple):
    """Outputs of runs.

    Attributes
    ----------
    values : numpy.ndarray of float, shape (runs, v)
        Numbers: halting time, released values, recommendation; nan for what was not released.
    actions : numpy.ndarray of float, shape (runs, a)
        Arms pulled, 0-based, in order; −1 after the last.

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
    """Protocol of an auditable object: it can be run many times on a table of rewards.

    The runs on two tables alternate, so `outputs` is called for one run at a time.

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
        """Name in tables."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Declared privacy of its whole output."""

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on a table.

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
    """Raise for a reward outside [0, 1], or, with a moment, for one of a sign not allowed."""
    low, high, allowed = 0.0, 1.0, "from 0 to 1"
    if tables is not None and tables.promise is not None:
        low, high, allowed = (-math.inf if tables.low < 0 else 0.0), math.inf, "at least 0"
    fine = (table >= low) & (table <= high)
    if not fine.all():
        raise ValueError(f"table has the reward {table[~fine][0]:g}; allowed: {allowed}")


def check_one_arm(table: Floats) -> None:
    """Raise for a table of several arms where a stream is required.

    Shapes: `table` (K, N).
    """
    if len(table) != 1:
        raise ValueError(f"table has {len(table)} arms; allowed: 1, as a stream is read")


def declared(target: Any, n_pulls: int) -> PrivacyGuarantee:
    """Return the declared guarantee of a target, which may depend on the length of the tables."""
    found: PrivacyGuarantee = target.guarantee
    return target.guarantee_at(n_pulls) if isinstance(target, Guaranteed) else found


def tables_of(target: object) -> Tables | None:
    """Return the tables on which a target declares that it can be audited."""
    found = getattr(getattr(target, "target", target), "tables", None)
    return found if isinstance(found, Tables) else None


@dataclass(frozen=True)
class Subject(abc.ABC):
    """Base of the adapters.

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
        """Name of the target in tables."""
        name = getattr(self.target, "__name__", type(self.target).__name__)
        return str(getattr(self.target, "label", name))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Declared privacy of the target."""
        return declared(self.target, self.n_pulls)

    @abc.abstractmethod
    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the target's own program once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Output: the number of rewards read of each arm.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            Takes a generator, and returns one run's counts and values, always of the same shapes.

        Raises
        ------
        ValueError
            If the target cannot be run on such a table.
        """

    def loop(self, table: Floats, read: Ints, arm: int) -> Callable[[int, Rng], Rows] | None:
        """Return the compiled loop registered for exactly the target's class, if there is one.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Output: the number of rewards read of each arm, followed by the number of the run.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable or None
            Takes a number of runs and a generator, and returns their counts and values; None if the
            target's own program must be run.
        """
        return None

    def requests(self, table: Floats, rng: Rng) -> list[tuple[int, int]]:
        """Return the requests of a run of the target's own program: arms and numbers of rewards.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        list of (int, int)
            The requests, in order; here one for each reward read of each arm.
        """
        read = np.zeros(len(table) + 1, dtype=np.int64)
        self.once(table, read, 0)(rng)
        return [(arm, 1) for arm in range(len(table)) for _ in range(int(read[arm]))]


class RegretSubject(Subject):
    """A regret-minimising algorithm: its sequence of pulls.

    It is played by the loop registered for exactly its class, or else by its own `play`. An
    algorithm for heavy-tailed rewards is given the moment bound that its `tables` promise.

    Parameters
    ----------
    target : RegretAlgorithm
        The algorithm.
    n_pulls : int
        Number N of rewards of each arm, which is also the horizon given to the algorithm.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject, table = RegretSubject(dpb.UCB(), 4), np.array([[1.0] * 4, [0.0] * 4])
    >>> run = subject.once(table, np.zeros(3, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[0].tolist()
    [1.0, 1.0, 2.0, 3.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the algorithm's own `play` once on a table.

        Shapes: `table` (K, N).
        """
        rewards, times = self._rewards(table, read), _times(table.shape[1])

        def run(rng: Rng) -> Row:
            rewards.restart()
            play = self.target.draw(rewards, rewards.n_pulls, times, rng, REFERENCE)
            return play.counts[:, arm].astype(np.float64), np.empty(0)

        return run

    def loop(self, table: Floats, read: Ints, arm: int) -> Callable[[int, Rng], Rows] | None:
        """Return the compiled loop registered for exactly the target's class, if there is one.

        Shapes: `table` (K, N).
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

    def requests(self, table: Floats, rng: Rng) -> list[tuple[int, int]]:
        """Return the requests of a run of the algorithm's own `play`.

        Shapes: `table` (K, N).
        """
        rewards = self._rewards(table, None, log=True)
        self.target.draw(rewards, rewards.n_pulls, np.array([rewards.n_pulls]), rng, REFERENCE)
        return rewards.requests

    def _rewards(self, table: Floats, read: Ints | None, log: bool = False) -> FixedRewards:
        tables = tables_of(self.target)
        _check_rewards(table, tables)
        promise = None if tables is None else tables.promise
        return FixedRewards(table, log=log, read=read, promise=promise)


class IdentificationSubject(Subject):
    """An algorithm for best-arm identification: pulls, stopping time and recommendation.

    Values are the recommendation (−1 if the table ended first), the stopping time and the pulls
    of each arm; actions are the arms in the order in which rewards were read. It is run by the loop
    registered for exactly its class, or else by its own `decide`.

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
    >>> run = subject.once(table, np.zeros(3, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].tolist()
    [-1.0, 2.0, 2.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the algorithm's own `decide` once on a table.

        Shapes: `table` (K, N).
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
        """Return the compiled loop registered for exactly the target's class, if there is one.

        Shapes: `table` (K, N).
        """
        fast = accelerator_for(self.target, TableRuns)
        if fast is None or not self.target.guarantee.is_private:  # Top Two's loop counts successes
            return None
        _check_rewards(table)
        rewards = FixedRewards(table, log=False, read=read)

        def runs(n_runs: int, rng: Rng) -> Rows:
            best, pulls, arms = fast.run(self.target, rewards, n_runs, rng)
            shown = (arms[:, :_RELEASES] == arm).cumsum(axis=1).astype(np.float64)
            return shown, np.column_stack([best, pulls]).astype(np.float64)

        return runs

    def requests(self, table: Floats, rng: Rng) -> list[tuple[int, int]]:
        """Return the requests of a run of the algorithm's own `decide`.

        Shapes: `table` (K, N).
        """
        rewards = FixedRewards(table)
        self.target.draw(rewards, rng, rewards.n_pulls, REFERENCE)
        return rewards.requests


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
    >>> run = subject.once(np.ones((1, 400)), np.zeros(2, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].tolist()
    [282.0, 1.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the rule's own `stop` once on a table.

        Shapes: `table` (1, N).
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


class GroupSubject(Subject):
    """A group-sequential trial on private counts: the releases of its looks, and its end.

    Values are the released successes of treatment and control at each look, −10³⁰⁰ at looks that
    the trial does not reach, and the index of the end in `ENDS`. A `RunningTrial` releases and
    decides. Arm 0 of a table is the treatment and arm 1 the control; others are not read.

    Parameters
    ----------
    target : GroupSequential
        The design.
    n_pulls : int
        Unused: a trial reads one outcome of each patient.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = GroupSubject(dpb.GroupSequential(per_look=4, critical=2.0, looks=1))
    >>> table = np.array([[1.0, 1.0, 1.0, 0.0], [0.0] * 4])
    >>> run = subject.once(table, np.zeros(3, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].tolist()
    [3.0, 0.0, 0.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the trial once on a table.

        Shapes: `table` (2, N).
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


class SPRTSubject(Subject):
    """A private sequential test: its number of samples, and the index of its decision.

    The index is that in `DECISIONS`. Tables have one arm; for pairs arm 0 is the treatment and arm
    1 the control, and others are not read.

    Parameters
    ----------
    target : DPSPRT
        The test.
    n_pulls : int
        Unused: the test ends with the table.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = SPRTSubject(dpb.DPSPRT(null=0.3, alternative=0.7))
    >>> run = subject.once(np.ones((1, 9)), np.zeros(2, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].tolist()
    [4.0, 0.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the test once on a table.

        Shapes: `table` (1, N), for pairs (2, N).
        """
        rule: DPSPRT = self.target
        if rule.paired and len(table) < 2:
            raise ValueError(f"table has {len(table)} arm; allowed: two, for a test of pairs")
        if not rule.paired:
            check_one_arm(table)
        samples = table[:2].T.tolist() if rule.paired else table[0].tolist()

        def run(rng: Rng) -> Row:
            found = rule.run(samples, rng)
            read[: 1 + rule.paired] = found.samples
            return np.empty(0), np.array([found.samples, DECISIONS.index(found.decision)], float)

        return run


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
    >>> from dpbandits.mechanisms import BinaryTree
    >>> subject = CounterSubject(BinaryTree(float("inf"), 4), 4)
    >>> run = subject.once(np.ones((1, 4)), np.zeros(2, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the counter's own program once on a table.

        Shapes: `table` (1, N).
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


@dataclass(frozen=True)
class FunctionSubject(Subject):
    """A custom function: the arms that it pulls, their number, and its return value.

    The function maps (`FixedRewards`, generator) to the values released at the end: None, a number,
    or a sequence of numbers, whose length is audited as well. It pulls arms by
    ``rewards.pull(arm)``.

    Parameters
    ----------
    target : callable
        The function.
    n_pulls : int
        Number N of rewards of each arm.
    promised : PrivacyGuarantee
        Its declared privacy.

    Examples
    --------
    >>> def leaky(rewards, rng):
    ...     better = rewards.pull(0) < rewards.pull(1)
    ...     rewards.pull(1 if better else 0)
    >>> table = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> run = FunctionSubject(leaky).once(table, np.zeros(3, dtype=np.int64), arm=1)
    >>> run(np.random.default_rng(0))[0].tolist()
    [0.0, 1.0, 2.0, 2.0, 3.0, 0.0]
    """

    promised: PrivacyGuarantee = NO_PRIVACY

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return self.promised

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the target once on a table.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        read : numpy.ndarray of int
            Output: the number of rewards read of each arm.
        arm : int
            The arm whose pulls are shown.

        Returns
        -------
        callable
            Takes a generator, and returns one run's counts and values, always of the same shapes.

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
            shown = np.empty(places.size + 2)
            shown[:-2] = (order == arm).cumsum()[places]
            shown[-2:] = len(pulled), values.size
            return shown, values

        return run

    def requests(self, table: Floats, rng: Rng) -> list[tuple[int, int]]:
        """Return the requests of a run of the function.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (K, N)
            Rewards of each arm in the order of its pulls.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        list of (int, int)
            Arms and numbers of rewards, in order.
        """
        rewards = FixedRewards(table)
        self.target(rewards, rng)
        return rewards.requests


@dataclass(frozen=True)
class DrawnSubject(Subject):
    """An object with label, guarantee and outputs, run once at a time.

    Parameters
    ----------
    target : Auditable
        What is run.
    n_pulls : int
        Unused: the target knows its tables.

    Examples
    --------
    >>> class Coin:
    ...     label, guarantee = "a coin", PrivacyGuarantee("central", 1.0)
    ...
    ...     def outputs(self, table, n_runs, rng):
    ...         return Outputs.of_values(rng.integers(0, 2, (n_runs, 1)).astype(float))
    >>> run = DrawnSubject(Coin()).once(np.zeros((1, 1)), np.zeros(2, dtype=np.int64), arm=0)
    >>> run(np.random.default_rng(0))[1].size
    1
    """

    @property
    def guarantee(self) -> PrivacyGuarantee:
        found: PrivacyGuarantee = self.target.guarantee
        return found

    def once(self, table: Floats, read: Ints, arm: int) -> Callable[[Rng], Row]:
        """Return a function that runs the target's `outputs` once on a table.

        Shapes: `table` (K, N).
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

    def requests(self, table: Floats, rng: Rng) -> list[tuple[int, int]]:
        """Return a request for every reward of the table: the rewards read are not known.

        Shapes: `table` (K, N).
        """
        return [(arm, 1) for arm in range(len(table)) for _ in range(table.shape[1])]


def _times(length: int) -> Ints:
    """Return the times at which the pulls of a run are shown: all, or 64."""
    if length < _WHOLE:
        return np.arange(1, length + 1)
    return np.unique(np.geomspace(1, length, _SHOWN).astype(np.int64))


def subject_of(
    target: object, n_pulls: int = 16, guarantee: PrivacyGuarantee | None = None
) -> Subject:
    """Return the adapter that runs a target on tables.

    Parameters
    ----------
    target : object
        A `RegretAlgorithm`, an `IdentificationAlgorithm`, a `StoppingRule`,
        a `GroupSequential` trial, a `DPSPRT`, a mechanism with a `counter`, an `Auditable`, or a
        function of (`FixedRewards`, generator): see `FunctionSubject`.
    n_pulls : int
        Length N of the tables, for algorithms whose guarantee depends on it.
    guarantee : PrivacyGuarantee, optional
        Declared privacy of a function.

    Returns
    -------
    Subject
        The adapter.

    Raises
    ------
    ValueError
        If the target is none of these, or cannot be run on tables.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> type(subject_of(dpb.UCB())).__name__, type(subject_of(len)).__name__
    ('RegretSubject', 'FunctionSubject')
    """
    if isinstance(target, Subject):
        return target
    if callable(getattr(target, "outputs", None)):
        return DrawnSubject(target)
    check_guarantee(guarantee)
    n_pulls = check_integer("n_pulls", n_pulls, 1)
    kinds: dict[Any, type[Subject]] = {
        RegretAlgorithm: RegretSubject,
        IdentificationAlgorithm: IdentificationSubject,
        StoppingRule: StoppingSubject,
        GroupSequential: GroupSubject,
        DPSPRT: SPRTSubject,
    }
    for kind, subject in kinds.items():
        if isinstance(target, kind):
            if tables_of(target) is None:
                raise ValueError(
                    f"target={target!r} declares that it cannot be run on a table; "
                    "allowed: a target with tables"
                )
            return subject(target, n_pulls)
    if callable(getattr(target, "counter", None)) and hasattr(target, "guarantee"):
        return CounterSubject(target, n_pulls)
    if callable(target):
        return FunctionSubject(target, n_pulls, guarantee or NO_PRIVACY)
    raise ValueError(
        f"target={target!r} cannot be audited; allowed: an algorithm, a stopping rule or a counter "
        "of this package, a function of (rewards, rng), or an object with label, guarantee and "
        "outputs"
    )
