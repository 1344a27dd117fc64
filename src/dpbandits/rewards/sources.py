"""Sources of rewards, with one protocol.

An instance describes a bandit. Its `rewards` method starts a run: it returns a source, from which
an algorithm requests the sum of the next rewards of an arm (`Rewards.total`), or, for heavy tails,
the next rewards one by one (`Source.ready`). Sources differ in nothing else, so that the same loop
is simulated, audited on a table and run on a live system. Compiled loops read a `Tape`; when it is
exhausted they return to Python, which asks the source.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import (
    check_generator,
    check_integer,
    check_order,
    check_positive,
    check_range,
    reward_of,
    shown,
)
from dpbandits.rewards.binomial import binomials
from dpbandits.schedules import MOST_PULLS

__all__ = [
    "MOST_ARMS",
    "Arms",
    "Bandit",
    "CallbackRewards",
    "DrawnRewards",
    "FixedRewards",
    "LawRewards",
    "ReplayEndedError",
    "ReplayedRewards",
    "Rewards",
    "Source",
    "TableEndedError",
    "TableRewards",
]

MOST_ARMS = 10**6
"""Most arms of an instance built from their number."""
_BLOCK = 256  # rewards of an arm drawn ahead, if they are drawn one by one
_MOST_SUMMED = 2**52  # rewards of a law that are added up

Drawers = tuple[Callable[[int], float], Callable[[int], tuple[float, float]]]
"""Draw the sum of so many rewards, and sum and sum of squares."""


class Rewards(Protocol):
    """Protocol of rewards: the sum of the next rewards of an arm.

    Any object with `n_arms` and `total` can serve an algorithm, even without this class as its
    base.

    Examples
    --------
    >>> from dpbandits.rewards.sources import FixedRewards, Rewards
    >>> def first_reward(rewards: Rewards) -> float:
    ...     return rewards.total(0, 1)
    >>> first_reward(FixedRewards([[1, 0], [0, 0]]))
    1.0
    """

    @property
    def n_arms(self) -> int:
        """Number of arms K."""

    def total(self, arm: int, size: int) -> float:
        """Return the sum of the next `size` rewards of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, at least 0.

        Returns
        -------
        float
            Sum of the rewards of these pulls.
        """


class Source(abc.ABC):
    """Base of the sources: `Rewards` that can also be read one by one.

    A subclass sets `n_arms` and defines `total`.

    Examples
    --------
    >>> from dpbandits.rewards.sources import Source
    >>> class Alternating(Source):
    ...     n_arms = 2
    ...     pulls = 0
    ...
    ...     def total(self, arm, size):
    ...         first, self.pulls = self.pulls, self.pulls + size
    ...         return float(sum(n % 2 == arm for n in range(first, self.pulls)))
    >>> Alternating().total(0, 5), Alternating().moments(1, 5)
    (3.0, (2.0, 2.0))
    """

    n_arms: int
    """Number of arms K."""
    given: bool = True
    """Whether the rewards are a user's own, so that noise on them must be secret; False if they are
    drawn from laws."""

    @abc.abstractmethod
    def total(self, arm: int, size: int) -> float:
        """Return the sum of the next `size` rewards of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^62.

        Returns
        -------
        float
            Sum of the rewards of these pulls.

        Raises
        ------
        ValueError
            If `arm` or `size` is out of range, or the source has no such rewards.
        """

    def moments(self, arm: int, size: int) -> tuple[float, float]:
        """Return sum and sum of squares of the next `size` rewards of `arm`.

        By default rewards are read one by one; sources with a closed-form distribution draw both at
        once. The sum is the one that `total` would have returned, up to rounding.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^62.

        Returns
        -------
        total, squares : float
            Sum of the rewards of these pulls, and sum of their squares.

        Raises
        ------
        ValueError
            If `arm` or `size` is out of range, or the source has no such rewards.
        """
        arm, size = self._check(arm, size)
        total = squares = 0.0
        while size > 0:
            block = self.ready(arm, size)
            total += float(block.sum())
            squares += float(block @ block)
            size -= block.size
        return total, squares

    def truncated_total(self, arm: int, size: int, bound: float) -> float:
        """Return the sum of the next `size` rewards of `arm`, those beyond a bound counted as 0.

        By default rewards are read one by one; sources with a closed-form distribution draw it at
        once.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^62.
        bound : float
            B > 0: a reward x counts as x·1{∣x∣ ≤ B}.

        Returns
        -------
        float
            Sum of the truncated rewards of these pulls.

        Raises
        ------
        ValueError
            If an argument is out of range, or the source has no such rewards.
        """
        arm, size = self._check(arm, size)
        bound, total = check_positive("bound", bound, infinite=True), 0.0
        while size > 0:
            block = self.ready(arm, size)
            total += float(block[np.abs(block) <= bound].sum())
            size -= block.size
        return total

    def rounded_total(self, arm: int, size: int, rng: Rng) -> int:
        """Return the sum of the next `size` rewards of `arm`, each rounded to 0 or 1 at random.

        A reward x in [0, 1] counts as 1 with probability x. By default rewards are read one by one;
        those that are 0 or 1 need no randomness. Sources that know the distribution of the sum draw
        it at once.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^62.
        rng : numpy.random.Generator
            Source of the rounding: one uniform variable for each reward between 0 and 1.

        Returns
        -------
        int
            Number of the rewards that count as 1.

        Raises
        ------
        ValueError
            If `arm` or `size` is out of range, or the source has no such rewards.
        """
        arm, size = self._check(arm, size)
        total = 0
        while size > 0:
            block = self.ready(arm, size)
            total += _rounded(block, rng)
            size -= block.size
        return total

    def rounded_truncated_total(self, arm: int, size: int, bound: float, rng: Rng) -> int:
        """Return how many of the next `size` rewards of an arm count as 1, x with probability x/B.

        By default rewards are read one by one; sources with a closed-form distribution draw it at
        once.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^62.
        bound : float
            B > 0: a reward outside of [0, B] counts as 0.
        rng : numpy.random.Generator
            Source of the rounding: one uniform variable for each reward.

        Returns
        -------
        int
            Number of the rewards that count as 1.

        Raises
        ------
        ValueError
            If an argument is out of range, or the source has no such rewards.
        """
        arm, size = self._check(arm, size)
        bound, total = check_positive("bound", bound), 0
        while size > 0:
            block = self.ready(arm, size)
            total += rounded_truncated(block, bound, rng)
            size -= block.size
        return total

    def ready(self, arm: int, most: int) -> Floats:
        """Return the next available rewards of `arm`: at least one, at most `most`.

        By default one: none is requested before its pull. Only independent rewards may be drawn
        ahead.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        most : int
            Number of rewards wanted, at least 1.

        Returns
        -------
        numpy.ndarray of float, shape (n,)
            Rewards of the next n pulls, 1 ≤ n ≤ `most`.
        """
        return np.array([self.total(arm, 1)], dtype=np.float64)

    def rewards(self, rng: Rng) -> Source:
        """Return the source itself: a run on a source continues from its current state.

        Parameters
        ----------
        rng : numpy.random.Generator
            Unused; instances, which start a run here, need it.

        Returns
        -------
        Source
            This source.
        """
        return self

    def _check(self, arm: int, size: int) -> tuple[int, int]:
        if type(arm) is type(size) is int and 0 <= arm < self.n_arms and 0 <= size <= MOST_PULLS:
            return arm, size
        arm = check_integer("arm", arm, 0, self.n_arms - 1)
        return arm, check_integer("size", size, 0, MOST_PULLS)


class Ahead:
    """Independent rewards, drawn ahead in blocks that double, for pulls that are made one by one.

    Parameters
    ----------
    ready : callable
        Draws rewards of an arm, given their largest number: `Source.ready`.

    Examples
    --------
    >>> rewards = Ahead(lambda arm, most: np.arange(most) / 10.0)
    >>> [rewards.take(0) for _ in range(6)]
    [0.0, 0.0, 0.1, 0.0, 0.1, 0.2]
    """

    def __init__(self, ready: Callable[[int, int], Floats]) -> None:
        self._ready = ready
        self._kept: dict[int, list[float]] = {}  # the next one is the last
        self._length: dict[int, int] = {}

    def take(self, arm: int) -> float:
        """Return the next reward of an arm."""
        kept = self._kept.get(arm)
        if not kept:
            length = self._length.get(arm, 1)
            self._length[arm] = min(2 * length, _BLOCK)
            kept = self._kept[arm] = self._ready(arm, length).tolist()[::-1]
        return kept.pop()


def _rounded(rewards: Floats, rng: Rng) -> int:
    """Return how many of some rewards count as 1, each with its own value as probability."""
    graded = rewards[(rewards > 0.0) & (rewards < 1.0)]
    return int(np.count_nonzero(rewards >= 1.0) + (rng.random(graded.size) < graded).sum())


def rounded_truncated(rewards: Floats, bound: float, rng: Rng) -> int:
    """Return how many of some rewards count as 1: x in [0, B] with probability x/B, others never.

    Shapes: `rewards` (n,).
    """
    inside = (rewards >= 0.0) & (rewards <= bound)
    return _rounded(np.where(inside, rewards / bound, 0.0), rng)


class Arms:
    """Base of all instances: the means of a bandit, with its gaps and best arm.

    An algorithm's method `check_instance` decides whether it can play an instance.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> arms = dpb.instances.bernoulli([0.5, 0.8, 0.8])
    >>> arms.n_arms, arms.gaps.round(12).tolist(), arms.best_arm
    (3, [0.3, 0.0, 0.0], 1)
    """

    name: str
    """Name of the instance in tables and figures."""
    means: Any
    """Means of the arms, shape (K,), read-only; nan if unknown."""

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return int(self.means.size)

    @abc.abstractmethod
    def rewards(self, rng: Rng) -> Source:
        """Start a run: return its rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards' randomness, if they are random.

        Returns
        -------
        Source
            Rewards of the run.
        """

    def reordered(self, order: Sequence[int]) -> Arms:
        """Return the same arms in another order.

        Parameters
        ----------
        order : sequence of int, length K
            The first, second, … arm: each number from 0 to K − 1 once.

        Returns
        -------
        Arms
            An instance of the same kind.

        Raises
        ------
        ValueError
            If the instance does not support it.
        """
        raise ValueError(
            f"order={list(order)!r} is not possible for {type(self).__name__}, which has no method "
            "reordered; allowed: order='given'"
        )

    @cached_property
    def gaps(self) -> Floats:
        """Gaps Δ_a = max mean − mean of arm a, shape (K,), read-only."""
        return read_only(self.means.max() - self.means)

    @property
    def best_arm(self) -> int:
        """Lowest number (0-based) of an arm with the largest mean.

        Raises
        ------
        ValueError
            If a mean is unknown.
        """
        if np.isnan(self.means).any():
            raise ValueError(f"means={self.means!r} are not known; allowed: an instance with means")
        return int(np.argmax(self.means))


class Bandit(Arms, abc.ABC):
    """Base of the instances with rewards in [0, 1]; a subclass has `means` and `rewards`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpbandits.rewards.sources import Bandit, FixedRewards
    >>> class Certain(Bandit):
    ...     name, means = "certain", np.array([0.0, 1.0])
    ...
    ...     def rewards(self, rng):
    ...         return FixedRewards(np.repeat(self.means[:, None], 1000, axis=1))
    >>> Certain().rewards(np.random.default_rng(0)).total(1, 10)
    10.0
    """

    @abc.abstractmethod
    def rewards(self, rng: Rng) -> Source:
        """Start a run: return its rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards' randomness, if they are random.

        Returns
        -------
        Source
            Rewards of the run, all in [0, 1].
        """


def read_only(array: Any) -> Floats:
    """Return a read-only array of floats."""
    result = np.array(array, dtype=np.float64)
    result.flags.writeable = False
    return result


class DrawnRewards(Source):
    """Rewards of a `BernoulliInstance`, drawn on request: each sum is one Binomial variable.

    Parameters
    ----------
    instance : BernoulliInstance
        The bandit: means of its arms, shape (K,).
    rng : numpy.random.Generator
        Source of the rewards.

    Raises
    ------
    ValueError
        If `instance` has no rewards of 0 or 1, or `rng` is not a generator.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> rewards = DrawnRewards(dpb.instances.bernoulli([0.0, 1.0]), np.random.default_rng(0))
    >>> rewards.total(0, 10), rewards.total(1, 10), rewards.moments(1, 5)
    (0, 10, (5.0, 5.0))
    """

    given = False

    def __init__(self, instance: Any, rng: Rng) -> None:
        if not hasattr(instance, "mean_rewards"):
            raise ValueError(
                f"instance={instance!r} has no rewards of 0 or 1; allowed: one such as "
                "bernoulli([0.5, 0.4])"
            )
        self._rng = check_generator("rng", rng)
        self._ones = binomials(rng)
        self.means: Floats = instance.means
        self._means = self.means.tolist()
        self.n_arms = self.means.size

    def total(self, arm: int, size: int) -> int:
        arm, size = self._check(arm, size)
        return self._ones(size, self._means[arm])

    def moments(self, arm: int, size: int) -> tuple[float, float]:
        ones = float(self.total(arm, size))  # each is its own square
        return ones, ones

    def rounded_total(self, arm: int, size: int, rng: Rng) -> int:
        return self.total(arm, size)


class LawRewards(Source):
    """Independent rewards, drawn from a law for each arm; those outside [0, 1] raise an error.

    The laws of `dpbandits.laws` have `support`, `sample_sum` and `sample_moments`, with which sums
    are drawn at once. For any other law rewards are drawn one by one.

    Parameters
    ----------
    laws : sequence, length K
        For each arm a law: an object with `sample(rng, size)`.
    rng : numpy.random.Generator
        Source of the rewards.

    Raises
    ------
    ValueError
        If `rng` is not a generator.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> laws = [dpb.laws.TwoPointLaw(1.0, 0.5, 0.5, 1.0), dpb.laws.beta(2, 3)]
    >>> rewards = LawRewards(laws, np.random.default_rng(0))
    >>> rewards.total(0, 8), rewards.moments(0, 8)
    (4.0, (4.0, 2.0))
    """

    given = False

    def __init__(self, laws: Sequence[Any], rng: Rng) -> None:
        self._laws, self._rng = laws, check_generator("rng", rng)
        self.n_arms = len(laws)
        self._drawers: dict[int, Drawers] = {}
        self._ahead = Ahead(self.ready)

    def ready(self, arm: int, most: int) -> Floats:
        found = np.asarray(self._laws[arm].sample(self._rng, min(most, _BLOCK)), dtype=np.float64)
        if not np.all((found >= 0.0) & (found <= 1.0)):
            wrong = found[~((found >= 0.0) & (found <= 1.0))][0]
            raise ValueError(f"reward={wrong!r} of arm {arm} is out of range; allowed: [0, 1]")
        return found

    def total(self, arm: int, size: int) -> float:
        arm, size = self._check(arm, size)
        drawn, _ = self._drawers.get(arm) or self._drawers_of(arm)
        return drawn(size)

    def moments(self, arm: int, size: int) -> tuple[float, float]:
        arm, size = self._check(arm, size)
        _, drawn = self._drawers.get(arm) or self._drawers_of(arm)
        return drawn(size)

    def _check(self, arm: int, size: int) -> tuple[int, int]:
        arm, size = super()._check(arm, size)
        return arm, size if size <= _MOST_SUMMED else check_integer("size", size, 0, _MOST_SUMMED)

    def _drawers_of(self, arm: int) -> Drawers:
        """Return how the sums of an arm are drawn, and keep it."""
        law, rng = self._laws[arm], self._rng
        if hasattr(law, "_drawers"):
            found: Drawers = law._drawers(rng)
        else:
            found = partial(self._added, arm), partial(super().moments, arm)
            if hasattr(law, "support") and hasattr(law, "sample_sum"):
                found = (lambda size: float(law.sample_sum(rng, size))), found[1]
            if hasattr(law, "support") and hasattr(law, "sample_moments"):
                found = found[0], partial(law.sample_moments, rng)
        self._drawers[arm] = found
        return found

    def _added(self, arm: int, size: int) -> float:
        """Add up rewards that are drawn one by one."""
        if size == 1:
            return self._ahead.take(arm)
        total = 0.0
        while size > 0:
            block = self.ready(arm, size)
            total += float(block.sum())
            size -= block.size
        return total

    @cached_property
    def known_means(self) -> Floats:
        """Means of the arms, shape (K,); nan for laws that are not of `dpbandits.laws`."""
        known = (hasattr(law, "support") and hasattr(law, "sample_sum") for law in self._laws)
        return read_only(
            [
                law.mean if of_ours else np.nan
                for law, of_ours in zip(self._laws, known, strict=True)
            ]
        )

    def rounded_total(self, arm: int, size: int, rng: Rng) -> int:
        arm, size = self._check(arm, size)
        mean = float(self.known_means[arm])
        if mean != mean:
            return super().rounded_total(arm, size, rng)
        return binomials(rng)(size, mean)  # each counts as 1 with the mean as probability


class CallbackRewards(Source):
    """Rewards from a function of the arm: a live system, or a log.

    The function is called once per pull, and never ahead; the rewards of a batch are requested when
    it ends.

    Parameters
    ----------
    function : callable
        Takes an arm (0-based), and returns the reward of its next pull, a number in [0, 1].
    n_arms : int
        Number of arms K.

    Examples
    --------
    >>> rewards = CallbackRewards(lambda arm: [0.25, 1.0][arm], n_arms=2)
    >>> rewards.total(0, 2), rewards.moments(0, 2)
    (0.5, (0.5, 0.125))
    """

    def __init__(self, function: Callable[[int], float], n_arms: int) -> None:
        self._function, self.n_arms, self._asked = function, n_arms, 0

    def total(self, arm: int, size: int) -> float:
        arm, size = self._check(arm, size)
        total = 0.0
        for _ in range(size):
            try:
                reward = self._function(arm)
            except StopIteration:
                raise ValueError(
                    f"function={shown(self._function)} has no reward for pull {self._asked + 1}, "
                    f"of arm {arm}; allowed: no more pulls (max_pulls, horizon) than it can serve"
                ) from None
            if type(reward) is not float or not 0.0 <= reward <= 1.0:
                reward = check_range(f"reward of arm {arm}", reward_of(reward), 0, 1)
            total += reward
            self._asked += 1
        return total


class ReplayedRewards(Source):
    """Rewards of a log that is read on: a pull of an arm takes the next event with that arm.

    The events in between are passed over, and no later pull takes them.

    Parameters
    ----------
    arms : numpy.ndarray of int, shape (N,)
        The arm of each event, from 0 to K − 1.
    rewards : numpy.ndarray of float, shape (N,)
        Its reward.
    n_arms : int
        Number of arms K.

    Examples
    --------
    >>> arms, outcomes = np.array([0, 1, 0, 0, 1]), np.array([0.25, 1.0, 0.5, 0.0, 0.75])
    >>> log = ReplayedRewards(arms, outcomes, n_arms=2)
    >>> log.total(0, 2), log.total(1, 1), log.event
    (0.75, 0.75, 5)
    """

    def __init__(self, arms: Ints, rewards: Floats, n_arms: int) -> None:
        self.n_arms, self._rewards, self._pulls = n_arms, rewards, 0
        self._places = [np.flatnonzero(arms == arm) for arm in range(n_arms)]
        self.event = 0

    def total(self, arm: int, size: int) -> float:
        arm, size = self._check(arm, size)
        places = self._places[arm]
        first = int(places.searchsorted(self.event))
        if size == 1 and first < places.size:
            event = int(places[first])
            self._pulls += 1
            self.event = event + 1
            return float(self._rewards[event])
        taken = places[first : first + size]
        if taken.size < size:
            raise ReplayEndedError(
                f"the log of {self._rewards.size} events ends at pull "
                f"{self._pulls + taken.size + 1}, of arm {arm}; allowed: fewer pulls (`lasts`), or "
                "a longer log"
            )
        self._pulls += size
        self.event = int(taken[-1]) + 1 if size else self.event
        return float(self._rewards[taken].sum())


class ReplayEndedError(ValueError):
    """More pulls are asked for than a log has events for.

    Examples
    --------
    >>> try:
    ...     ReplayedRewards(np.array([0, 1]), np.array([0.5, 0.5]), 2).total(1, 2)
    ... except ReplayEndedError as error:
    ...     print(str(error).split(";")[0])
    the log of 2 events ends at pull 2, of arm 1
    """


class TableEndedError(ValueError):
    """Raised when a table has fewer rewards than requested.

    Examples
    --------
    >>> try:
    ...     FixedRewards([[1, 0]]).total(0, 3)
    ... except TableEndedError as error:
    ...     print(str(error).split(";")[0])
    table[0] has 2 rewards, and 3 are asked for
    """


class FixedRewards(Source):
    """A table of rewards: the n-th pull of an arm returns its n-th entry.

    Two tables that differ in one entry are neighbours in the sense of differential privacy. A run
    consumes its rewards: a second one needs a new source, or `restart`.

    Parameters
    ----------
    table : array_like of float, shape (K, N)
        Rewards: a row for each arm, in the order of its pulls.
    log : bool
        Whether to log requests in `batches`; compiled loops then read one by one.
    read : numpy.ndarray of int, optional
        Output: the number of rewards read of each arm; the entry after those of the arms is for
        loops over many runs, see `begin_run`.
    promise : tuple of (float, float), optional
        Order v and bound u of a moment, E∣X∣^(1+v) ≤ u, for programs for heavy-tailed rewards; the
        table need not satisfy it.

    Raises
    ------
    ValueError
        If `table` is not a row of finite numbers for each arm, all of one length of at least 1, or
        `promise` is not an order and a bound.

    Examples
    --------
    >>> rewards = FixedRewards([[1, 0, 1], [0, 0, 1]])
    >>> rewards.pull(0), rewards.total(0, 2), rewards.pull(1)
    (1.0, 1.0, 0.0)
    >>> rewards.actions
    [0, 0, 0, 1]
    """

    order: float
    moment_bound: float

    def __init__(
        self,
        table: ArrayLike,
        log: bool = True,
        read: Ints | None = None,
        promise: tuple[float, float] | None = None,
    ) -> None:
        self._load(list(check_table(table)), log, read)
        if promise is not None:
            allowed = "allowed: order and bound of a moment, such as (1.0, 4.0)"
            if not isinstance(promise, tuple) or len(promise) != 2:
                raise ValueError(f"promise={promise!r} is not a pair; {allowed}")
            self.order = check_order("promise[0]", promise[0])
            self.moment_bound = check_positive("promise[1]", promise[1])

    def _load(self, arms: Sequence[NDArray[Any]], log: bool, read: Ints | None = None) -> None:
        self.n_arms, self.log = len(arms), log
        self._ends = np.array([arm.size for arm in arms], dtype=np.int64)
        self._table = np.zeros((self.n_arms, int(self._ends.max())))
        for row, arm in zip(self._table, arms, strict=True):
            row[: arm.size] = arm
        self._sums = running_sums(self._table)
        self._read = np.zeros(self.n_arms, dtype=np.int64) if read is None else read
        self.restart()

    def restart(self) -> None:
        """Start a new run."""
        self._read[: self.n_arms] = 0
        self._log: list[tuple[int, int]] = []

    @property
    def n_pulls(self) -> int:
        """Number N of rewards of each arm."""
        return self._table.shape[1]

    @property
    def requests(self) -> list[tuple[int, int]]:
        """Requests so far, in order: arm and number of rewards; empty without a log."""
        return list(self._log)

    @property
    def actions(self) -> list[int]:
        """Arms pulled so far, in order; a batch counts pull by pull."""
        return [arm for arm, size in self._log for _ in range(size)]

    @property
    def batches(self) -> list[int]:
        """Arms in the order in which their rewards were read; a batch counts once."""
        return [arm for arm, _ in self._log]

    def pull(self, arm: int) -> float:
        """Return the next reward of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.

        Returns
        -------
        float
            Its next reward.

        Raises
        ------
        ValueError
            If `arm` is out of range, or has no rewards left.
        """
        return float(self._table[arm, self._take(arm, 1)])

    def total(self, arm: int, size: int) -> float:
        first = self._take(arm, size)
        return float(self._sums[arm, first + size] - self._sums[arm, first])

    def moments(self, arm: int, size: int) -> tuple[float, float]:
        first = self._take(arm, size)
        rewards = self._table[arm, first : first + size]
        return float(self._sums[arm, first + size] - self._sums[arm, first]), float(
            rewards @ rewards
        )

    def rounded_total(self, arm: int, size: int, rng: Rng) -> int:
        first = self._take(arm, size)
        return _rounded(self._table[arm, first : first + size], rng)

    def truncated_total(self, arm: int, size: int, bound: float) -> float:
        bound = check_positive("bound", bound, infinite=True)
        first = self._take(arm, size)
        rewards = self._table[arm, first : first + size]
        return float(rewards[np.abs(rewards) <= bound].sum())

    def rounded_truncated_total(self, arm: int, size: int, bound: float, rng: Rng) -> int:
        bound = check_positive("bound", bound)
        first = self._take(arm, size)
        return rounded_truncated(self._table[arm, first : first + size], bound, rng)

    def ready(self, arm: int, most: int) -> Floats:
        return np.array([self.pull(arm)])

    def _take(self, arm: int, size: int) -> int:
        arm, size = self._check(arm, size)
        first, end = int(self._read[arm]), int(self._ends[arm])
        if first + size > end:
            raise self._ended(arm, end, first + size)
        self._read[arm] = first + size
        if self.log:
            self._log.append((arm, size))
        return first

    def _ended(self, arm: int, end: int, asked: int) -> TableEndedError:
        """Return the error of a request beyond the end of a table."""
        return TableEndedError(
            f"table[{arm}] has {end} rewards, and {asked} are asked for; allowed: no more pulls "
            "(max_pulls, horizon) than the table can serve"
        )

    def tape(self) -> Tape:
        """Return the tape for compiled loops; they and `total` consume the same rewards.

        Returns
        -------
        Tape
            A view of the table, not a copy.
        """
        return Tape(np.empty(0), self._table, self._sums, self._read, self._ends)


class TableRewards(FixedRewards):
    """A table of rewards of 0 or 1, two or more arms, which may have different numbers of them.

    Parameters
    ----------
    table : sequence of array_like of int, length K ≥ 2
        For each arm its rewards, each 0 or 1, in the order of its pulls.

    Raises
    ------
    ValueError
        If `table` has fewer than two arms, or a reward is neither 0 nor 1.

    Examples
    --------
    >>> rewards = TableRewards([[1, 0, 1], [0, 1]])
    >>> rewards.total(0, 3), rewards.total(1, 2)
    (2, 1)
    """

    def __init__(self, table: Sequence[ArrayLike]) -> None:
        allowed = "for each of 2 or more arms a sequence of rewards, each 0 or 1"
        try:
            arms = [np.asarray(rewards) for rewards in table]
        except (TypeError, ValueError):
            arms = []
        if len(arms) < 2:
            raise ValueError(f"table={table!r} has fewer than 2 arms; allowed: {allowed}")
        for arm, rewards in enumerate(arms):
            numeric = rewards.dtype.kind in "biuf" or rewards.size == 0
            if rewards.ndim != 1 or not numeric or not np.isin(rewards, (0, 1)).all():
                raise ValueError(
                    f"table={table!r} has rewards of arm {arm} that are neither 0 nor 1; "
                    f"allowed: {allowed}"
                )
        self._load(arms, log=False)

    def total(self, arm: int, size: int) -> int:
        return int(super().total(arm, size))


def check_table(table: ArrayLike) -> Floats:
    """Check a table of rewards and return it as an array.

    Shapes: `table`, the result (K, N).
    """
    try:
        values = np.array(table, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2 or values.size == 0 or not np.isfinite(values).all():
        allowed = "a row of finite numbers for each arm, all of one length of at least 1"
        raise ValueError(f"table={table!r} is not a table; allowed: {allowed}")
    return values


class Tape(NamedTuple):
    """Rewards for a compiled loop, made by `tape_of`.

    A loop that reads them one by one draws a uniform variable for each in any case: with the same
    generator the noise is the same on Bernoulli arms, on a table and on a live system.

    Attributes
    ----------
    means : numpy.ndarray of float, shape (K,) or (0,)
        Means of Bernoulli arms, whose rewards are drawn as they are read; empty for other sources.
    table : numpy.ndarray of float, shape (K, N)
        Available rewards.
    sums : numpy.ndarray of float, shape (K, N + 1) or (0, 0)
        Sums of the first 0, 1, …, N of them; empty if batches are not read from the tape.
    read : numpy.ndarray of int, shape (K,)
        Number of rewards read of each arm; loops write to it.
    ends : numpy.ndarray of int, shape (K,)
        Number of available rewards of each arm.

    Examples
    --------
    >>> tape = tape_of(FixedRewards([[1, 0, 1], [0, 0, 1]], log=False))
    >>> tape.sums.tolist(), tape.ends.tolist()
    ([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 1.0]], [3, 3])
    """

    means: Floats  # (K,): of Bernoulli arms, which are drawn as they are read; else empty
    table: Floats  # (K, N): available rewards
    sums: Floats  # (K, N + 1): of the first 0, 1, …, N of them; empty if batches are not read
    read: Ints  # (K,): number of rewards read
    ends: Ints  # (K,): number of available rewards


def bernoulli_tape(means: ArrayLike) -> Tape:
    """Return the tape of Bernoulli arms.

    Shapes: `means` (K,).
    """
    read, ends = np.zeros((2, 0), np.int64)
    nothing = np.empty((0, 0))
    return Tape(np.array(means, dtype=np.float64), nothing, nothing, read, ends)


def tape_of(rewards: Rewards) -> Tape:
    """Return the tape of a source for compiled loops; `refill` adds more rewards."""
    if type(rewards) is DrawnRewards:
        return bernoulli_tape(rewards.means)
    if isinstance(rewards, FixedRewards) and not rewards.log:
        return rewards.tape()
    n_arms = rewards.n_arms
    read, ends = np.zeros((2, n_arms), np.int64)
    return Tape(np.empty(0), np.empty((n_arms, _BLOCK)), np.empty((0, 0)), read, ends)


def fixed_rewards(table: Floats | FixedRewards) -> FixedRewards:
    """Return the rewards for a compiled loop over many runs.

    Shapes: `table` (K, N).
    """
    return table if isinstance(table, FixedRewards) else FixedRewards(table, log=False)


@kernel
def begin_run(read: Ints, n_arms: int, run: int) -> None:
    """Start one of many runs of a compiled loop on one table."""
    read[:n_arms] = 0
    if read.size > n_arms:
        read[n_arms] = run


def refill(tape: Tape, rewards: Rewards, arm: int) -> None:
    """Put the next rewards of an arm on the tape; all of its rewards there must have been read."""
    if tape.sums.size == 0 and isinstance(rewards, Source):
        block = rewards.ready(arm, tape.table.shape[1])
    else:  # an exhausted table raises the error
        block = np.array([rewards.total(arm, 1)])
    tape.table[arm, : block.size] = block
    tape.read[arm], tape.ends[arm] = 0, block.size


def running_sums(table: Floats) -> Floats:
    """Return the sums of each arm's first 0, 1, …, N rewards.

    Shapes: `table` (K, N); the result (K, N + 1).
    """
    sums = np.zeros((table.shape[0], table.shape[1] + 1))
    np.cumsum(table, axis=1, out=sums[:, 1:])
    return sums
