"""Replicates of an algorithm on an instance: seeds, checkpoints, workers, results."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import REFERENCE, accelerator_for, what_plays
from dpbandits._engine.running import Replicated, describe, run_cases
from dpbandits._engine.streams import Seeds, Streams, streams_of
from dpbandits._intervals import mean_interval
from dpbandits._validation import check_choice, check_fraction, check_integer, check_kind
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.results import Replicates, axes_of
from dpbandits.rewards.instances import BernoulliInstance, CallbackInstance
from dpbandits.rewards.sources import Arms
from dpbandits.schedules import MOST_PULLS

__all__ = ["Runs", "log_checkpoints", "simulate", "simulate_many"]

Key = TypeVar("Key", bound=Hashable)
Case = tuple[RegretAlgorithm, Arms] | tuple[RegretAlgorithm, Arms, int]
ORDERS = ("given", "random")
"""Order of the arms for an algorithm: as given, or a new random one in each run."""
Replicate = tuple[Floats, Ints, Ints]
"""Regret at the checkpoints, final pulls of the arms, and ends of epochs."""


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Replicates):
    """Replicates of one algorithm on one instance; `simulate` makes them.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        The algorithm.
    instance : Arms
        The bandit, with K arms.
    horizon : int
        Number T of pulls of each run.
    times : numpy.ndarray of int, shape (C,)
        Checkpoints: numbers of pulls, the last is the horizon T.
    regret : numpy.ndarray of float, shape (n_runs, C)
        Pseudo-regret Σ_a Δ_a·(pulls of a) of each run, in units of reward, exact at every
        checkpoint.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm at the horizon.
    epoch_ends : tuple of numpy.ndarray of int, length n_runs
        Times at which each run's epochs ended, if the algorithm has any.
    how : str
        Program that ran: an accelerator, with the error of its distribution if there is one;
        "reference", the algorithm's plain program; or the accelerator of the algorithm to which the
        plain program delegates, as `GuessAndDouble` does.
    given : bool
        Whether the rewards were given, by a table or a function, and not drawn from laws.
    secret : bool
        Whether the noise came from the operating system's secure generator, so that nobody can
        repeat the runs.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.5])
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=1), instance, horizon=10_000, n_runs=5)
    >>> runs.pulls.sum(axis=1).tolist(), runs.mean().shape == runs.times.shape
    ([10000, 10000, 10000, 10000, 10000], True)
    >>> float(runs.regret[0, -1]) == round(0.4 * float(runs.pulls[0, 1]), 9)
    True
    """

    algorithm: RegretAlgorithm
    instance: Arms
    horizon: int
    times: Ints
    regret: Floats
    pulls: Ints
    epoch_ends: tuple[Ints, ...]
    how: str = REFERENCE
    given: bool = False
    secret: bool = False

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of the pulls of all runs together, for given rewards.

        No privacy if the noise can be repeated. Otherwise that of composition, since runs on a
        table or a log read the same rewards: n_runs times ε and δ. It does not cover `regret`,
        which is computed from true means. For rewards drawn from laws it is the algorithm's own.
        """
        single = self.algorithm.guarantee
        if not (self.given and single.is_private):
            return single
        delta = self.n_runs * single.delta
        if not self.secret or delta >= 1:
            return NO_PRIVACY
        return PrivacyGuarantee(single.model, self.n_runs * single.epsilon, delta, single.unit)

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        found: int = self.regret.shape[0]
        return found

    def mean(self) -> Floats:
        """Return the mean pseudo-regret at each checkpoint.

        Returns
        -------
        numpy.ndarray of float, shape (C,)
            Means over the runs, in units of reward.
        """
        found: Floats = self.regret.mean(axis=0)
        return found

    def band(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the band of the central runs at each checkpoint.

        Parameters
        ----------
        level : float
            Share of the runs in the band, in (0, 1).

        Returns
        -------
        low, high : numpy.ndarray of float, shape (C,)
            Quantiles (1 − level)/2 and (1 + level)/2 of the runs' regret, in units of reward.

        Raises
        ------
        ValueError
            If `level` is out of range.
        """
        tail = (1 - check_fraction("level", level)) / 2
        low, high = np.quantile(self.regret, [tail, 1 - tail], axis=0)
        return low, high

    def mean_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return Student's interval for the mean pseudo-regret at each checkpoint.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        low, high : numpy.ndarray of float, shape (C,)
            Ends of the interval, in units of reward.

        Raises
        ------
        ValueError
            If `level` is out of range, or there are fewer than two runs.
        """
        if self.n_runs < 2:
            raise ValueError(f"n_runs={self.n_runs} is too few for an interval; allowed: 2 or more")
        _, low, high = mean_interval(self.regret, level)
        return low, high

    def summary(self, level: float = 0.9) -> dict[str, Any]:
        """Return the summary of the runs at each checkpoint: the columns of tables.

        Parameters
        ----------
        level : float
            Share of the runs between ``low`` and ``high``, in (0, 1).

        Returns
        -------
        dict
            Arrays of shape (C,): ``time``, the checkpoints; ``mean``, the mean regret; ``low`` and
            ``high``, the ends of its band.

        Raises
        ------
        ValueError
            If `level` is out of range.
        """
        low, high = self.band(level)
        return {"time": self.times, "mean": self.mean(), "low": low, "high": high}

    def final(self, level: float = 0.9) -> dict[str, Any]:
        """Return the columns of `summary` at the horizon alone.

        Parameters
        ----------
        level : float
            Share of the runs between ``low`` and ``high``, in (0, 1).

        Returns
        -------
        dict
            Arrays of shape (1,): ``time``, ``mean``, ``low`` and ``high``.

        Raises
        ------
        ValueError
            If `level` is out of range.
        """
        return replace(self, times=self.times[-1:], regret=self.regret[:, -1:]).summary(level)

    def summary_fields(self) -> tuple[str, str, dict[str, Any]]:
        low, high = self.band()
        numbers = {"n_runs": self.n_runs, "horizon": self.horizon, "how": self.how}
        ends = {"low": float(low[-1]), "high": float(high[-1])}
        regret: dict[str, Any] = {f"{name} regret": value for name, value in ends.items()}
        mean = {"mean regret": float(self.mean()[-1])}
        if self.given:
            repeated = self.algorithm.guarantee.is_private and not self.secret
            privacy = "none, as its seed is given" if repeated else str(self.guarantee)
            regret["privacy of the pulls"] = privacy
        return repr(self.algorithm), self.instance.name, numbers | mean | regret

    def columns(self) -> dict[str, Any]:
        return {"time": self.times} | {f"run_{i}": row for i, row in enumerate(self.regret)}

    def plot(self, axes: Any = None) -> Any:
        axes = axes_of(axes)
        low, high = self.band()
        (line,) = axes.plot(self.times, self.mean(), label=self.algorithm.label)
        axes.fill_between(self.times, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set(xscale="log", xlabel="number of pulls", ylabel="pseudo-regret")
        return axes


def log_checkpoints(horizon: int, per_decade: int = 32) -> Ints:
    """Return increasing integer times from 1 to `horizon`, evenly spaced on a log axis.

    Parameters
    ----------
    horizon : int
        The last time T, from 1 to 2⁶².
    per_decade : int
        Times in each factor of ten, from 1 to 10⁶.

    Returns
    -------
    numpy.ndarray of int, shape (C,)
        The times, to twelve digits; near 1, where integers are sparse, there are fewer.

    Raises
    ------
    ValueError
        If an argument is not such an integer.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.log_checkpoints(100, per_decade=2).tolist()
    [1, 3, 10, 32, 100]
    """
    horizon = check_integer("horizon", horizon, 1, MOST_PULLS)
    per_decade = check_integer("per_decade", per_decade, 1, 10**6)
    count = 1 + math.ceil(per_decade * math.log10(horizon))
    grid = np.geomspace(1, horizon, count)
    # twelve digits, since the last bits of a power differ between processors
    unit = 10 ** np.maximum(np.floor(np.log10(grid)).astype(np.int64) - 11, 0)
    times = np.rint(grid / unit).astype(np.int64) * unit
    times[-1] = horizon
    return np.unique(times)


def _checked_checkpoints(checkpoints: ArrayLike | None, horizon: int) -> Ints:
    if checkpoints is None:
        return log_checkpoints(horizon)
    allowed = f"allowed: increasing whole times, from 1 or later to horizon={horizon}"
    try:
        listed = np.atleast_1d(np.asarray(checkpoints, dtype=object)).tolist()
        times = np.array([check_integer("time", time, 1, horizon) for time in listed], np.int64)
    except (TypeError, ValueError):
        raise ValueError(f"checkpoints={checkpoints!r} is not a list of times; {allowed}") from None
    if times[-1:].tolist() != [horizon] or (np.diff(times) <= 0).any():
        raise ValueError(f"checkpoints={checkpoints!r} is out of range; {allowed}")
    return times


def _play(
    algorithm: RegretAlgorithm,
    instance: Arms,
    horizon: int,
    times: Ints,
    how: str | None,
    order: str,
    rng: Rng,
) -> Replicate:
    """Play one replicate."""
    if order == "given":
        play = algorithm.draw(instance, horizon, times, rng, how)
        return play.regret(instance.gaps), play.pulls, play.epoch_ends
    places = rng.permutation(instance.n_arms)
    shuffled = instance.reordered(places.tolist())
    play = algorithm.draw(shuffled, horizon, times, rng, how)
    pulls = np.empty_like(play.pulls)
    pulls[places] = play.pulls
    return play.regret(shuffled.gaps), pulls, play.epoch_ends


def _play_many(
    algorithm: RegretAlgorithm,
    instance: Arms,
    horizon: int,
    times: Ints,
    many: Callable[..., tuple[Floats, Ints, list[Ints]]],
    shuffles: bool,
    streams: Streams,
) -> list[Replicate]:
    """Play a replicate on each stream in one compiled call."""
    arguments = algorithm, instance.rewards(streams.rng), horizon, times, instance.gaps, shuffles
    regret, pulls, epoch_ends = many(*arguments, streams)
    return list(zip(regret, pulls, epoch_ends, strict=True))


def _global_states() -> tuple[str, object]:
    """Return the states of the global generators of NumPy and Python."""
    return repr(np.random.get_state(legacy=False)), random.getstate()  # noqa: NPY002


def _check_program(
    algorithm: RegretAlgorithm, instance: Arms, horizon: int, times: Ints, how: str | None
) -> None:
    """Play a short run of a custom class, and check that it follows the protocol.

    Its noise must come from the given generator: two runs with equal generators must be equal, and
    must not use the global generators of NumPy and Python.
    """
    name = f"{type(algorithm).__name__}.play"
    before = _global_states()
    rngs = np.random.default_rng(0), np.random.default_rng(0)
    plays = [algorithm.draw(instance, horizon, times, rng, how) for rng in rngs]
    if _global_states() != before or not np.array_equal(plays[0].counts, plays[1].counts):
        raise ValueError(
            f"{name} draws noise from another source than its generator; allowed: rng "
            "only, so that equal generators give equal runs"
        )


def _replicated(
    case: Case,
    n_runs: int,
    horizon: int | None,
    checkpoints: ArrayLike | None,
    how: str | None,
    order: str,
    seeded: bool,
    shared: bool = False,
) -> Replicated:
    """Check a case and describe it to the runner; shared checkpoints may lie beyond its horizon."""
    if len(case) not in (2, 3):
        raise ValueError(f"{case!r} must be (algorithm, instance) or with a horizon")
    algorithm, instance, last = case if len(case) == 3 else (*case, horizon)
    if last is None:
        raise ValueError("horizon=None is missing; allowed: one for all cases, or in each")
    check_kind("algorithm", algorithm, RegretAlgorithm, "DPSE(epsilon=1)")
    algorithm.check_instance(instance)
    shuffles = check_choice("order", order, ORDERS) == "random"
    if shuffles:
        instance.reordered(range(instance.n_arms))  # raises if it cannot be reordered
    last = check_integer("horizon", last, instance.n_arms, MOST_PULLS)
    if shared and checkpoints is not None:
        checkpoints = np.atleast_1d(np.asarray(checkpoints, dtype=object))
        checkpoints = np.append(checkpoints[checkpoints < last], last)
    times = _checked_checkpoints(checkpoints, last)
    # the smallest horizon with the checkpoints' type that runs through every kernel
    short = np.array([min(last, max(64, 4 * instance.n_arms))], dtype=np.int64)
    begun = instance.rewards(np.random.default_rng(0))
    on, given = type(begun), getattr(begun, "given", True)
    fast = accelerator_for(algorithm, on, how, instance.n_arms)
    program = what_plays(algorithm, on, how, last, instance.n_arms)
    warm_up: Callable[[], object]
    warm_up = partial(algorithm.draw, instance, last, short, np.random.default_rng(0), how)
    play_many = None
    if fast is not None and fast.many is not None:
        play_many = partial(_play_many, algorithm, instance, last, times, fast.many, shuffles)
        if (streams := streams_of(Seeds([0], range(1)))) is not None:
            short_run = algorithm, instance, last, short, fast.many, shuffles
            warm_up = partial(_play_many, *short_run, streams)
    elif fast is None and type(algorithm).__module__.partition(".")[0] != "dpbandits":
        warm_up = partial(_check_program, algorithm, instance, last, short, how)
    # a function is not called more often than necessary
    asks = isinstance(instance, CallbackInstance) or getattr(instance, "live", False)

    def gather(played: Sequence[Replicate]) -> Runs:
        regret, pulls, epoch_ends = zip(*played, strict=True)
        return Runs(
            algorithm=algorithm,
            instance=instance,
            horizon=last,
            times=times,
            regret=np.array(regret),
            pulls=np.array(pulls),
            epoch_ends=epoch_ends,
            how=program,
            given=given,
            secret=given and (not seeded or getattr(algorithm, "secure", False)),
        )

    return Replicated(
        f"{algorithm.label}, {instance.name}",
        {
            "algorithm": describe(algorithm),
            **instance_description(instance),
            "horizon": last,
            **({"order": order} if shuffles else {}),
        },
        partial(_play, algorithm, instance, last, times, how, order),
        n_runs,
        chunk=100,
        warm_up=None if asks else warm_up,
        gather=gather,
        play_many=play_many,
        kept=8 * (times.size + instance.n_arms),
        given=given,
    )


def instance_description(instance: Arms) -> dict[str, Any]:
    """Return everything that determines the distribution of an instance's rewards."""
    if isinstance(instance, BernoulliInstance):
        return {"means": list(instance.mean_rewards)}
    described = describe(instance)
    if not isinstance(described, dict):
        return {"instance": described, "means": instance.means.tolist()}
    return {name: value for name, value in described.items() if name != "name"}


def simulate(
    algorithm: RegretAlgorithm,
    instance: Arms,
    horizon: int,
    n_runs: int = 30,
    seed: int | Sequence[int] | None = None,
    n_jobs: int = 1,
    checkpoints: ArrayLike | None = None,
    how: str | None = None,
    *,
    order: str = "given",
) -> Runs:
    """Simulate independent replicates of a regret-minimising algorithm.

    The result depends only on the arguments, not on `n_jobs`, and is that of `simulate_many` for
    the same case. Progress is shown on a terminal, and nowhere else.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        The algorithm, such as ``DPSE(epsilon=0.25)``.
    instance : Arms
        The bandit, with K arms, of a type that the algorithm accepts.
    horizon : int
        Horizon T, from K to 2^62: the length of each run, in pulls, which is known to algorithms
        that need it. `GuessAndDouble` runs such an algorithm without it.
    n_runs : int
        Number of replicates, at least 1.
    seed : int or sequence of int, optional
        Entropy of the root seed: one or more integers of at least 0. By default 0, if rewards are
        drawn from laws. If they are given, by a table or a function, noise comes by default from
        the operating system's secure generator, and no run can be repeated; with a seed it can, and
        is not private.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise (for
        example ``backend="dask"`` for a cluster). −1 is all processors.
    checkpoints : array_like of int, shape (C,), optional
        Increasing times at which the regret is stored; the last must be the horizon. None means
        `log_checkpoints`.
    how : str, optional
        Program to run: "reference" for the algorithm's plain program, or the name of one of its
        accelerators, such as "pull by pull". None is the first registered one that fits, or the
        plain program if there is none or under ``NUMBA_DISABLE_JIT=1``. ``runs.how`` is the one
        that ran.
    order : {"given", "random"}
        Order of the arms for the algorithm: that of the instance, or a new random one in each run.
        Algorithms break ties by the number of an arm: in random order ties favour none. The results
        are in the order of the instance in any case.

    Returns
    -------
    Runs
        Regret at the checkpoints and pulls of each replicate.

    Raises
    ------
    ValueError
        If an argument is out of range, or the algorithm does not accept the instance.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPSE(epsilon=1), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.regret.shape == (2, runs.times.size)
    True
    """
    described = partial(
        _replicated,
        horizon=horizon,
        checkpoints=checkpoints,
        how=how,
        order=order,
        seeded=seed is not None,
    )
    found: Runs = run_cases({None: (algorithm, instance)}, described, n_runs, seed, n_jobs)[None]
    return found


def simulate_many(
    cases: Mapping[Key, Case],
    horizon: int | None = None,
    n_runs: int | Mapping[Key, int] = 30,
    seed: int | Sequence[int] | None = None,
    n_jobs: int = 1,
    checkpoints: ArrayLike | None = None,
    how: str | None = None,
    *,
    order: str = "given",
) -> dict[Key, Runs]:
    """Simulate a whole grid of cases: the replicates of all of them share the workers.

    Each replicate has its own seed, derived from `seed` and from its configuration, not from the
    case's key or its position in the grid.

    Parameters
    ----------
    cases : mapping of key to (algorithm, instance) or (algorithm, instance, horizon)
        The cases; their keys, such as ``("C1", 5, 0.25)``, are those of the result.
    horizon : int, optional
        Horizon T of the cases without their own, from the number of arms to 2^62.
    n_runs : int or mapping of key to int
        Number of replicates of each case, at least 1.
    seed : int or sequence of int, optional
        Entropy of the root seed: one or more integers of at least 0. By default 0, if rewards are
        drawn from laws. If they are given, by a table or a function, noise comes by default from
        the operating system's secure generator, and no run can be repeated; with a seed it can, and
        is not private.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise (for
        example ``backend="dask"`` for a cluster). −1 is all processors.
    checkpoints : array_like of int, shape (C,), optional
        Increasing times at which the regret is stored. Those beyond a case's horizon are left out,
        and the horizon is always included. None means `log_checkpoints`.
    how : str, optional
        Program to run: "reference" for the algorithms' plain programs, or the name of an
        accelerator that all of them have, such as "pull by pull". None is for each case the first
        registered one that fits, or its plain program.
    order : {"given", "random"}
        Order of the arms for the algorithms: that of the instance, or a new random one in each run.

    Returns
    -------
    dict of key to Runs
        Regret at the checkpoints and pulls of the replicates of each case.

    Raises
    ------
    ValueError
        If an argument is out of range, or an algorithm does not accept its instance; the message
        contains the key of the case.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> cases = {eps: (dpb.DPSE(eps), dpb.instances.ss19("C1")) for eps in (0.25, 1.0)}
    >>> runs = dpb.simulate_many(cases, horizon=10**6, n_runs=2)
    >>> list(runs), runs[1.0].n_runs
    ([0.25, 1.0], 2)
    """
    described = partial(
        _replicated,
        horizon=horizon,
        checkpoints=checkpoints,
        how=how,
        order=order,
        seeded=seed is not None,
        shared=True,
    )
    return run_cases(cases, described, n_runs, seed, n_jobs)
