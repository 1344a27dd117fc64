"""Bandit instances: from laws, tables and functions, and the instances of the papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_choice, check_integer, check_range, check_values, shown
from dpbandits.rewards.heavy_instances import (
    TWZW22_NAMES,
    HeavyTailInstance,
    heavy,
    heavy_callback,
    heavy_two_point,
    pareto,
    twzw22,
)
from dpbandits.rewards.sources import (
    MOST_ARMS,
    Bandit,
    CallbackRewards,
    DrawnRewards,
    FixedRewards,
    LawRewards,
    ReplayedRewards,
    check_table,
    read_only,
)

__all__ = [
    "JA25_NAMES",
    "SS19_NAMES",
    "TD16_NAMES",
    "TWZW22_NAMES",
    "BernoulliInstance",
    "BoundedInstance",
    "CallbackInstance",
    "HeavyTailInstance",
    "ReplayInstance",
    "TableInstance",
    "bernoulli",
    "bounded",
    "callback",
    "equal_gaps",
    "heavy",
    "heavy_callback",
    "heavy_two_point",
    "ja25",
    "ladder",
    "pareto",
    "replay",
    "ss19",
    "table",
    "td16",
    "twzw22",
]

JA25_NAMES = ("mu1", "mu2", "even")
SS19_NAMES = ("C1", "C2", "C3", "C4")
TD16_NAMES = ("two", "ten")


@dataclass(frozen=True)
class BernoulliInstance(Bandit):
    """A bandit whose rewards are 0 or 1.

    Parameters
    ----------
    mean_rewards : tuple of float, length K ≥ 2
        Means of the arms, each in [0, 1].
    name : str
        Name of the instance in tables and figures.

    Raises
    ------
    ValueError
        If there are fewer than two means, or one is outside [0, 1].

    Examples
    --------
    >>> instance = BernoulliInstance((0.2, 0.6), "mine")
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (1, [0.4, 0.0])
    """

    mean_rewards: tuple[float, ...]
    name: str = "Bernoulli"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_rewards", _means(self.mean_rewards))

    @cached_property
    def means(self) -> Floats:
        """Means of the arms, shape (K,), read-only."""
        return read_only(self.mean_rewards)

    def reordered(self, order: Sequence[int]) -> BernoulliInstance:
        return replace(self, mean_rewards=tuple(self.mean_rewards[arm] for arm in order))

    def rewards(self, rng: Rng) -> DrawnRewards:
        return DrawnRewards(self, rng)

    def sample(self, rng: Rng, arm: int, size: int | None = None) -> Floats:
        """Draw rewards of an arm, 0.0 or 1.0 each.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        arm : int
            Arm, from 0 to K − 1.
        size : int, optional
            Number of rewards; without it one, of shape ().

        Returns
        -------
        numpy.ndarray of float, shape (size,) or ()
            The rewards.

        Raises
        ------
        ValueError
            If `arm` is out of range.
        """
        arm = check_integer("arm", arm, 0, self.n_arms - 1)
        return np.asarray(rng.random(size) < self.means[arm], dtype=np.float64)


@dataclass(frozen=True)
class BoundedInstance(Bandit):
    """A bandit with independent rewards of any laws on [0, 1]; also called `bounded`.

    Parameters
    ----------
    laws : sequence, length K ≥ 2
        For each arm a law of `dpbandits.laws` whose support is in [0, 1], or an object with `mean`
        and `sample(rng, size)`, whose rewards are checked when drawn. They are stored as a tuple.
    name : str
        Name of the instance in tables and figures.

    Raises
    ------
    ValueError
        If there are fewer than two laws, or a support or a mean is not in [0, 1].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> laws = [dpb.laws.UniformLaw(1.0, low=0.2, high=1.0), dpb.laws.TwoPointLaw(1.0, 0, 0.5, 0.5)]
    >>> instance = dpb.instances.bounded(laws)
    >>> dpb.simulate(dpb.UCB(), instance, horizon=1000, n_runs=2).pulls.sum(axis=1).tolist()
    [1000, 1000]
    """

    laws: Sequence[Any]
    name: str = "bounded"

    def __post_init__(self) -> None:
        laws = tuple(self.laws)
        if len(laws) < 2:
            raise ValueError(f"laws={laws!r} has fewer arms than a bandit; allowed: 2 or more")
        object.__setattr__(self, "laws", laws)
        for law in laws:
            if not hasattr(law, "mean") or not callable(getattr(law, "sample", None)):
                raise ValueError(
                    f"laws={shown(laws)} contains {shown(law)}; allowed: laws, with mean and sample"
                )
            low, high = getattr(law, "support", (0.0, 1.0))
            if not 0 <= low <= high <= 1:
                raise ValueError(f"law={law!r} has values in [{low:g}, {high:g}]; allowed: [0, 1]")
        _means(self.means)

    @cached_property
    def means(self) -> Floats:
        """Means of the arms, shape (K,), read-only."""
        return read_only([law.mean for law in self.laws])

    def reordered(self, order: Sequence[int]) -> BoundedInstance:
        return replace(self, laws=tuple(self.laws[arm] for arm in order))

    def rewards(self, rng: Rng) -> LawRewards:
        return LawRewards(self.laws, rng)


@dataclass(frozen=True, eq=False)
class TableInstance(Bandit):
    """A bandit whose rewards are fixed beforehand; also called `table`.

    Every run reads the same rewards; a run that pulls an arm more than N times raises an error. The
    means are those of the rows. Noise on a table is secret unless a seed is given; `Runs.guarantee`
    is the privacy of the pulls of all runs together.

    Parameters
    ----------
    entries : array_like of float, shape (K, N)
        For each of K ≥ 2 arms a row of N ≥ 1 rewards in [0, 1], in the order of its pulls.
    name : str
        Name of the instance in tables and figures.

    Raises
    ------
    ValueError
        If `entries` is not such a table.

    Examples
    --------
    >>> TableInstance([[0, 1, 1, 0.5], [0, 0, 1, 0]]).gaps.tolist()
    [0.0, 0.375]
    """

    entries: Any
    name: str = "table"

    def __post_init__(self) -> None:
        entries = read_only(check_table(self.entries))
        if len(entries) < 2 or entries.min() < 0 or entries.max() > 1:
            raise ValueError(
                f"table={self.entries!r} is out of range; allowed: 2 or more arms, all in [0, 1]"
            )
        object.__setattr__(self, "entries", entries)

    @cached_property
    def means(self) -> Floats:
        """Means of the rows, shape (K,), read-only."""
        return read_only(self.entries.mean(axis=1))

    def reordered(self, order: Sequence[int]) -> TableInstance:
        return replace(self, entries=self.entries[list(order)])

    def rewards(self, rng: Rng) -> FixedRewards:
        return FixedRewards(self.entries, log=False)


@dataclass(frozen=True)
class CallbackInstance(Bandit):
    """A bandit whose rewards come from a function; `callback` builds one.

    Noise on them is secret unless a seed is given: see `Runs.guarantee`.

    Parameters
    ----------
    function : callable
        Takes an arm (0-based), and returns the reward of its next pull, a number in [0, 1]. It is
        called once per pull and never ahead.
    arms : int
        Number of arms K ≥ 2.
    known_means : tuple of float, length K, optional
        Means of the arms, each in [0, 1]; without them they are nan, and so is the regret.
    name : str
        Name of the instance in tables and figures.

    Raises
    ------
    ValueError
        If `function` is not callable, there are fewer than two arms, or the means are not K
        numbers in [0, 1].

    Examples
    --------
    >>> instance = CallbackInstance(lambda arm: 0.5, arms=2)
    >>> instance.n_arms, instance.means.tolist()
    (2, [nan, nan])
    """

    function: Callable[[int], float]
    arms: int
    known_means: tuple[float, ...] | None = None
    name: str = "callback"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(
                f"function={self.function!r} cannot be called; allowed: one such as lambda arm: 0.5"
            )
        object.__setattr__(self, "arms", check_integer("n_arms", self.arms, 2, MOST_ARMS))
        if self.known_means is not None:
            means = _means(self.known_means)
            if len(means) != self.arms:
                raise ValueError(f"means={means!r} has {len(means)} arms; allowed: {self.arms}")
            object.__setattr__(self, "known_means", means)

    @cached_property
    def means(self) -> Floats:
        """Means of the arms, shape (K,), read-only; nan if unknown."""
        return read_only([np.nan] * self.arms if self.known_means is None else self.known_means)

    def rewards(self, rng: Rng) -> CallbackRewards:
        return CallbackRewards(self.function, self.arms)


@dataclass(frozen=True, eq=False)
class ReplayInstance(Bandit):
    """A bandit whose rewards are those of logged events; also called `replay`.

    Li, Chu, Langford and Wang (2011): a pull of an arm takes the next event of the log with that
    arm, and events in between are passed over. If the arms of the log were drawn independently of
    everything else and the rewards of each arm are independent, with one law, then a run has the
    law that it has on these arms: the events that it takes are chosen without their rewards.
    Where the log's arms depended on rewards, it may have another one.

    **What is private.** The rewards, with the arms and the number of the events public: neighbours
    are logs that differ in one reward, and each is read once in a run at most. If an event's arm is
    secret as well, or that it is in the log, nothing is promised: one such event changes which ones
    later pulls take. `means`, and so the regret of runs, are computed from the rewards without
    noise.

    **A log is short.** A pull passes over K − 1 events on average if each of K arms was drawn
    alike, so N events last for about N/K pulls; `lasts` is a number of pulls for which they very
    probably do. All runs read the same log from its first event on: they differ in the noise alone,
    and their spread says nothing about other logs. Noise is secret unless a seed is given.

    Parameters
    ----------
    arms : array_like of int, shape (N,)
        The arm of each event, from 0 to K − 1; each at least once.
    outcomes : array_like of float, shape (N,)
        Its reward, in [0, 1].
    name : str
        What tables and figures call the instance.

    Raises
    ------
    ValueError
        If these are not such a log.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> rng = np.random.default_rng(1)
    >>> arms = rng.integers(0, 2, 10_000)
    >>> log = dpb.instances.replay(arms, rng.random(10_000) < np.array([0.8, 0.3])[arms])
    >>> log.means.round(2).tolist(), log.lasts
    ([0.8, 0.3], 4843)
    >>> runs = dpb.simulate(dpb.UCB(), log, horizon=log.lasts, n_runs=1)
    >>> bool(runs.pulls[0, 0] > 4000)
    True
    """

    arms: Any
    outcomes: Any
    name: str = "replay"

    def __post_init__(self) -> None:
        outcomes = np.asarray(self.outcomes)
        if outcomes.dtype == np.bool_:
            outcomes = outcomes.astype(np.float64)
        outcomes = check_values("outcomes", outcomes, 0, 1)
        if outcomes.ndim != 1 or outcomes.size == 0:
            raise ValueError(f"outcomes={shown(self.outcomes)} are not a log; allowed: one axis")
        given = check_values("arms", self.arms, 0, MOST_ARMS - 1)
        if given.shape != outcomes.shape or (given != np.floor(given)).any():
            raise ValueError(
                f"arms={shown(self.arms)} are not the arms of {outcomes.size} events; allowed: one "
                "whole number for each, from 0"
            )
        arms = given.astype(np.int64)
        pulls = np.bincount(arms)
        if pulls.size < 2 or not pulls.all():
            raise ValueError(
                f"arms={shown(self.arms)} omit one of the arms up to {max(pulls.size - 1, 1)}; "
                "allowed: two arms or more, each at least once"
            )
        arms.flags.writeable = False
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "outcomes", read_only(outcomes))

    @cached_property
    def means(self) -> Floats:
        """Mean rewards of the events with each arm, without noise, so not private; shape (K,)."""
        pulls = np.bincount(self.arms)
        return read_only(np.bincount(self.arms, weights=self.outcomes) / pulls)

    @cached_property
    def lasts(self) -> int:
        """Number of pulls for which the log lasts with probability 0.999 or more.

        With whatever arms: if each event has each arm with at least the share p of the rarest one,
        the log lasts for T pulls unless fewer than T of N coins of bias p show heads. The share is
        that of the log, so this is an estimate.
        """
        from scipy import stats  # slow to import, and needed here alone

        share = float(np.bincount(self.arms).min()) / self.arms.size
        return int(stats.binom.ppf(1e-3, self.arms.size, share))

    def reordered(self, order: Sequence[int]) -> ReplayInstance:
        return replace(self, arms=np.argsort(np.array(order, dtype=np.int64))[self.arms])

    def rewards(self, rng: Rng) -> ReplayedRewards:
        return ReplayedRewards(self.arms, self.outcomes, self.n_arms)


def _means(given: ArrayLike) -> tuple[float, ...]:
    """Check means and return them as a tuple."""
    means = check_values("means", given, 0, 1)
    if means.ndim != 1 or means.size < 2:
        raise ValueError(f"means={given!r} has fewer arms than a bandit; allowed: 2 or more")
    return tuple(means.tolist())


def bernoulli(means: Sequence[float], name: str = "Bernoulli") -> BernoulliInstance:
    """Build a `BernoulliInstance`: a bandit whose rewards are 0 or 1.

    Parameters
    ----------
    means : sequence of float, length K ≥ 2
        Means of the arms, each in [0, 1].
    name : str
        Name of the instance in tables and figures.

    Returns
    -------
    BernoulliInstance
        The bandit.

    Raises
    ------
    ValueError
        If there are fewer than two means, or one is outside [0, 1].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.instances.bernoulli([0.9, 0.5]).gaps.tolist()
    [0.0, 0.4]
    """
    return BernoulliInstance(cast(tuple[float, ...], means), name)


bounded = BoundedInstance
table = TableInstance
replay = ReplayInstance


def callback(
    function: Callable[[int], float],
    n_arms: int,
    means: Sequence[float] | None = None,
    name: str = "callback",
) -> CallbackInstance:
    """Build an instance whose rewards come from a function: a live system, or a log.

    Parameters
    ----------
    function : callable
        Takes an arm (0-based), and returns the reward of its next pull, a number in [0, 1];
        anything else raises an error before the algorithm sees it. It is called once per pull,
        never ahead, and by all runs: `simulate` it with ``n_runs=1`` if it has state.
    n_arms : int
        Number of arms K ≥ 2.
    means : sequence of float, length K, optional
        Means of the arms, each in [0, 1]. Without them the regret of a run is nan, but its pulls
        are known.
    name : str
        Name of the instance in tables and figures.

    Returns
    -------
    CallbackInstance
        The bandit.

    Raises
    ------
    ValueError
        If `function` is not callable, there are fewer than two arms, or the means are not K
        numbers in [0, 1].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> mine = dpb.instances.callback(lambda arm: [0.3, 0.9][arm], n_arms=2)
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=1), mine, horizon=20_000, n_runs=1)
    >>> bool(runs.pulls[0, 1] > 15_000), float(runs.regret[0, -1])
    (True, nan)
    """
    return CallbackInstance(function, n_arms, None if means is None else tuple(means), name)


def ss19(name: str, n_arms: int = 5) -> BernoulliInstance:
    """Build one of the four instances of Sajed & Sheffet (2019), §5.

    C1: 0.75, then 0.7 for the rest. C2: linear from 0.75 to 0.25. C3: the convex parabola
    a(i − K)² + c through 0.75 at i = 1 and 0.25 at i = K. C4: the concave parabola
    a(i − 1)² + c through the same two points.

    Parameters
    ----------
    name : {"C1", "C2", "C3", "C4"}
        The instance.
    n_arms : int
        Number of arms K, from 2 to 100 000; the paper uses 3, 5, 10 and 20.

    Returns
    -------
    BernoulliInstance
        The bandit, named after both.

    Raises
    ------
    ValueError
        If `name` is unknown or `n_arms` is out of range.

    Examples
    --------
    >>> ss19("C4", n_arms=5).means.tolist()
    [0.75, 0.71875, 0.625, 0.46875, 0.25]
    """
    check_choice("name", name, SS19_NAMES)
    n_arms = check_integer("n_arms", n_arms, 2, 100_000)
    place = np.arange(n_arms) / (n_arms - 1)  # (i − 1)/(K − 1) for i = 1..K
    if name == "C1":
        means = np.where(place == 0, 0.75, 0.7)
    elif name == "C2":
        means = 0.75 - 0.5 * place
    elif name == "C3":
        means = 0.25 + 0.5 * (1 - place) ** 2
    else:
        means = 0.75 - 0.5 * place**2
    return BernoulliInstance(tuple(means.tolist()), f"{name}, K = {n_arms}")


def td16(name: str) -> BernoulliInstance:
    """Build one of the two instances of Tossou & Dimitrakakis (2016), §4.

    two: 0.9 and 0.6. ten: 0.1 four times, 0.2, 0.55, and 0.1 four times again; the paper does not
    state how many arms precede the two better ones.

    Parameters
    ----------
    name : {"two", "ten"}
        The instance, named by its number of arms.

    Returns
    -------
    BernoulliInstance
        The bandit.

    Raises
    ------
    ValueError
        If `name` is unknown.

    Examples
    --------
    >>> td16("two").mean_rewards, td16("ten").best_arm
    ((0.9, 0.6), 5)
    """
    check_choice("name", name, TD16_NAMES)
    few = (0.1,) * 4
    means = (0.9, 0.6) if name == "two" else (*few, 0.2, 0.55, *few)
    return BernoulliInstance(means, f"{name} arms")


def ja25(name: str) -> BernoulliInstance:
    """Build one of the instances of Jourdan & Azize (2025), as far as they can be inferred.

    mu1: 0.95, 0.9 three times, 0.5. mu2: 0.75, then 0.7 four times. even: 0, 0.25, 0.5, 0.75, 1.
    The means are missing in our copy of the paper; those of mu1 and mu2 are inferred from quoted
    values: log-odds 0.75 and 2.94 apart on mu1, 0.25 on mu2.

    Parameters
    ----------
    name : {"mu1", "mu2", "even"}
        Which instance.

    Returns
    -------
    BernoulliInstance
        The bandit, of five arms.

    Raises
    ------
    ValueError
        If `name` is unknown.

    Examples
    --------
    >>> ja25("mu1").mean_rewards, ja25("even").best_arm
    ((0.95, 0.9, 0.9, 0.9, 0.5), 4)
    """
    means = {
        "mu1": (0.95, 0.9, 0.9, 0.9, 0.5),
        "mu2": (0.75, 0.7, 0.7, 0.7, 0.7),
        "even": (0.0, 0.25, 0.5, 0.75, 1.0),
    }
    return BernoulliInstance(means[check_choice("name", name, JA25_NAMES)], name)


BEST_MEAN = 0.75


def equal_gaps(n_arms: int, gap: float) -> BernoulliInstance:
    """Build an instance in which the last arm has mean 0.75, and the others a common gap.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    gap : float
        Gap of the first K − 1 arms, in (0, 0.75].

    Returns
    -------
    BernoulliInstance
        The bandit.

    Raises
    ------
    ValueError
        If `n_arms` or `gap` is out of range.

    Examples
    --------
    >>> equal_gaps(3, 0.05).mean_rewards
    (0.7, 0.7, 0.75)
    """
    return _below(gap, BEST_MEAN, [1.0] * (check_integer("n_arms", n_arms, 2, MOST_ARMS) - 1))


def ladder(n_arms: int, gap: float) -> BernoulliInstance:
    """Build an instance of evenly spaced arms below the last, whose mean is 0.75.

    No two arms are tied: with ties for second, elimination has no mean stopping time.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    gap : float
        Gap of the second best arm, in (0, 0.375]; the first arm has twice this gap if K > 2.

    Returns
    -------
    BernoulliInstance
        The bandit.

    Raises
    ------
    ValueError
        If `n_arms` or `gap` is out of range.

    Examples
    --------
    >>> ladder(3, 0.05).mean_rewards
    (0.65, 0.7, 0.75)
    """
    n_arms = check_integer("n_arms", n_arms, 2, MOST_ARMS)
    shares = np.linspace(2, 1, n_arms - 1).tolist() if n_arms > 2 else [1.0]
    return _below(gap, BEST_MEAN / 2, shares)


def _below(gap: float, most: float, shares: list[float]) -> BernoulliInstance:
    """Return arms that are worse than the last by shares of a gap in (0, most]."""
    gap = check_range("gap", gap, math.ulp(0.0), most, f"(0, {most:g}]")
    others = (round(BEST_MEAN - gap * share, 12) for share in shares)
    return bernoulli((*others, BEST_MEAN), f"gap {gap:g}")
