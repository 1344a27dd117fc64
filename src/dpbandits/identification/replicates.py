"""Replicates of an identification algorithm: on an instance, and on a finite population."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import REFERENCE, accelerator_for, what_plays
from dpbandits._engine.running import Replicated, describe, run_cases
from dpbandits._engine.streams import Seeds, Streams, streams_of
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer, check_kind, check_values
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    Decision,
    IdentificationAlgorithm,
    check_unique_best_arm,
)
from dpbandits.results import Replicates
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import FinitePopulation, PopulationRewards
from dpbandits.rewards.sources import DrawnRewards
from dpbandits.schedules import MOST_PULLS

__all__ = [
    "Identifications",
    "Trials",
    "identify",
    "identify_many",
    "run_trial",
    "simulate_trials",
    "simulate_trials_many",
]

Key = TypeVar("Key", bound=Hashable)
Ending = tuple[int, Ints, Ints]
"""Recommendation (−1 if an arm ran out of patients), patients, failures among them."""


@dataclass(frozen=True, eq=False, repr=False)
class Identifications(Replicates):
    """Replicates of one algorithm on one instance; `identify` makes them.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm.
    instance : BernoulliInstance
        The instance.
    max_pulls : int
        Pulls after which a run that has not stopped was cut off.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm of each run, 0-based; −1 if the run was cut off before it stopped.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm.
    how : str
        Program that ran: the name of an accelerator, or "reference" for the algorithm's own
        `decide`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.1])
    >>> runs = dpb.identify(dpb.DPTT(1.0, 0.1), easy, n_runs=3)
    >>> runs.how, runs.stopped.tolist(), runs.pulls.shape
    ('batch by batch', [True, True, True], (3, 2))
    """

    algorithm: IdentificationAlgorithm
    instance: BernoulliInstance
    max_pulls: int
    recommendation: Ints
    pulls: Ints
    how: str = REFERENCE

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.recommendation.size

    @property
    def stopping_time(self) -> Ints:
        """Number of pulls τ of each run, shape (n_runs,)."""
        return np.asarray(self.pulls.sum(axis=1))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Whether each run stopped by itself, shape (n_runs,)."""
        return np.asarray(self.recommendation >= 0)

    def errors(self) -> int:
        """Count the runs that stopped and do not recommend the best arm.

        Returns
        -------
        int
            Their number.
        """
        return int((self.stopped & (self.recommendation != self.instance.best_arm)).sum())

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of wrong runs, with its Clopper–Pearson interval.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        share, low, high : float
            The share, and the ends of the interval.
        """
        return share_interval(self.errors(), self.n_runs, level)

    def mean_time(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean stopping time, with Student's interval.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        mean, low, high : float
            The mean, in pulls, and the ends of the interval; all nan if a run was cut off.
        """
        found = mean_interval(self.stopping_time, level)
        return found if self.stopped.all() else (math.nan, math.nan, math.nan)

    def time_quantiles(self, levels: ArrayLike) -> Floats:
        """Return for each level the least time by which that share of the runs stopped.

        Parameters
        ----------
        levels : array_like of float
            Shares, in [0, 1].

        Returns
        -------
        numpy.ndarray of float
            The times, in pulls, of the shape of `levels`; nan where too few runs stopped.

        Raises
        ------
        ValueError
            If a level is out of range.
        """
        levels = check_values("levels", levels, 0.0, 1.0)
        times = np.where(self.stopped, self.stopping_time.astype(np.float64), math.inf)
        quantiles = np.asarray(np.quantile(times, levels, method="inverted_cdf"))
        return np.where(np.isfinite(quantiles), quantiles, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the summary of the runs: the columns of tables.

        Returns
        -------
        dict
            Numbers of runs and of those that stopped; mean, deviation, quantiles and maximum of the
            stopping time; error rate; with 95 % intervals. Numbers that depend on cut-off runs are
            nan.
        """
        known = self.stopped.all() and self.n_runs > 1
        columns: dict[str, Any] = {"n_runs": self.n_runs, "stopped": int(self.stopped.sum())}
        columns |= zip(("mean_time", "time_low95", "time_high95"), self.mean_time(), strict=True)
        columns["time_sd"] = float(self.stopping_time.std(ddof=1)) if known else math.nan
        for level in (5, 50, 95):
            columns[f"time_q{level:02}"] = self.time_quantiles(level / 100).item()
        columns["time_max"] = float(self.stopping_time.max())
        rates = ("error_rate", "error_low95", "error_high95")
        return columns | dict(zip(rates, self.error_rate(), strict=True))

    def summary_fields(self) -> tuple[str, str, dict[str, Any]]:
        found = self.summary()
        numbers = {"n_runs": self.n_runs, "stopped": found["stopped"], "how": self.how}
        numbers |= {"mean time": found["mean_time"], "error rate": found["error_rate"]}
        return repr(self.algorithm), self.instance.name, numbers

    def columns(self) -> dict[str, Any]:
        columns = {"stopping_time": self.stopping_time, "recommendation": self.recommendation}
        return columns | {f"pulls_{arm}": pulls for arm, pulls in enumerate(self.pulls.T)}


def _draw_many(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    max_pulls: int,
    many: Callable[..., tuple[Ints, Ints]],
    streams: Streams,
) -> list[Decision]:
    """Run a replicate on each stream in one compiled call."""
    most = min(max_pulls, algorithm.most_pulls)
    best, pulls = many(algorithm, instance.rewards(streams.rng), most, streams)
    return [Decision(arm, row) for arm, row in zip(best.tolist(), pulls, strict=True)]


def _identification(
    max_pulls: int,
    how: str | None,
    case: tuple[IdentificationAlgorithm, BernoulliInstance],
    n_runs: int,
) -> Replicated:
    """Check a case and describe it to the runner."""
    algorithm, instance = case
    check_kind("algorithm", algorithm, IdentificationAlgorithm, "DPTT(epsilon=1.0, delta=0.01)")
    check_unique_best_arm(instance)
    max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
    short = min(max_pulls, max(64, 4 * instance.n_arms))
    fast = accelerator_for(algorithm, DrawnRewards, how)
    program = what_plays(algorithm, DrawnRewards, how, max_pulls)
    warm_up: Callable[[], object]
    warm_up = partial(algorithm.draw, instance, np.random.default_rng(0), short, how)
    play_many = None
    if fast is not None and fast.many is not None:
        play_many = partial(_draw_many, algorithm, instance, max_pulls, fast.many)
        if (streams := streams_of(Seeds([0], range(1)))) is not None:
            warm_up = partial(_draw_many, algorithm, instance, short, fast.many, streams)

    def gather(decisions: Sequence[Decision]) -> Identifications:
        best, pulls = map(np.array, zip(*decisions, strict=True))
        return Identifications(algorithm, instance, max_pulls, best, pulls, program)

    return Replicated(
        f"{algorithm.label}, {instance.name}",
        # not max_pulls: a run that is cut off is the beginning of the longer one
        {"algorithm": describe(algorithm), "means": list(instance.mean_rewards)},
        partial(algorithm.draw, instance, max_pulls=max_pulls, how=how),
        n_runs,
        warm_up=warm_up,
        gather=gather,
        play_many=play_many,
        kept=8 * (instance.n_arms + 1),
    )


def identify(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    max_pulls: int = DEFAULT_MAX_PULLS,
    n_jobs: int = 1,
    how: str | None = None,
) -> Identifications:
    """Simulate independent replicates of an algorithm for best-arm identification.

    The result depends only on the arguments, and not on `n_jobs`. Progress is shown on a terminal,
    and nowhere else.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm, such as ``DPTT(epsilon=1, delta=0.05)``.
    instance : BernoulliInstance
        The bandit, with K arms and a unique best one.
    n_runs : int
        Number of replicates, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    max_pulls : int
        Pulls after which a run that has not stopped is cut off, with recommendation −1; from K to
        2^62.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.
    how : str, optional
        Program to run: "reference" for the algorithm's plain program, or the name of one of its
        accelerators. None is the first registered one that fits, or the plain program if there is
        none or under ``NUMBA_DISABLE_JIT=1``. ``runs.how`` is the one that ran.

    Returns
    -------
    Identifications
        Recommendation and pulls of each replicate.

    Raises
    ------
    ValueError
        If an argument is out of range, or several arms are best.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.1])
    >>> runs = dpb.identify(dpb.DPSEIdentifier(1.0, 0.1), easy, n_runs=3)
    >>> runs.stopping_time.tolist(), runs.errors(), runs.time_quantiles(0.9).item()
    ([1302, 1302, 1302], 0, 1302.0)
    """
    return identify_many({None: (algorithm, instance)}, n_runs, seed, max_pulls, n_jobs, how)[None]


def identify_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, BernoulliInstance]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    max_pulls: int = DEFAULT_MAX_PULLS,
    n_jobs: int = 1,
    how: str | None = None,
) -> dict[Key, Identifications]:
    """Simulate a whole grid of cases: the replicates of all of them share the workers.

    Each replicate has its own seed, derived from `seed` and from its configuration, not from the
    case's key or its position in the grid.

    Parameters
    ----------
    cases : mapping of key to (algorithm, instance)
        The cases to run; their keys are used in the result and in error messages.
    n_runs : int or mapping of key to int
        Number of replicates of each case, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    max_pulls : int
        Pulls after which a run that has not stopped is cut off, with recommendation −1.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.
    how : str, optional
        Program to run: "reference" for the algorithms' plain programs, or the name of an
        accelerator that all of them have. None is for each case the first registered one that fits,
        or its plain program.

    Returns
    -------
    dict of key to Identifications
        Recommendations and pulls of the replicates of each case.

    Raises
    ------
    ValueError
        If an argument is out of range, or several arms are best; the message contains the key of
        the case.
    """
    return run_cases(cases, partial(_identification, max_pulls, how), n_runs, seed, n_jobs)


def run_trial(algorithm: IdentificationAlgorithm, population: FinitePopulation, rng: Rng) -> Ending:
    """Run one trial, until the algorithm decides or an arm runs out of patients.

    Shapes: `patients`, `failures` (K,).
    """
    rewards = PopulationRewards(population, rng)
    best, patients = algorithm.draw(rewards, rng, population.total)
    for arm, size in enumerate(population.sizes):  # patients of open batches
        rewards.total(arm, int(patients[arm]) - (size - rewards.left(arm)))
    left = np.array([rewards.successes_left(arm) for arm in range(population.n_arms)])
    return best, patients, patients - np.array(population.successes) + left


@dataclass(frozen=True, eq=False, repr=False)
class Trials(Replicates):
    """Trials of one algorithm on one population, each with its own order of the patients.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm.
    population : FinitePopulation
        The patients.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm of each trial, 0-based; −1 if an arm ran out of patients.
    patients : numpy.ndarray of int, shape (n_runs, K)
        Patients of each arm, including those of open batches.
    failures : numpy.ndarray of int, shape (n_runs, K)
        Those of them whose outcome was 0.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> population = dpb.identification.FinitePopulation((3600, 2000), (4000, 4000))
    >>> trials = dpb.identification.simulate_trials(dpb.TopTwo(0.05), population, n_runs=3)
    >>> trials.n_runs, trials.decided, trials.patients.shape
    (3, 3, (3, 2))
    """

    algorithm: IdentificationAlgorithm
    population: FinitePopulation
    recommendation: Ints  # the arm of each trial, 0-based; −1 if an arm ran out of patients
    patients: Ints  # shape (n_runs, K), including those of open batches
    failures: Ints  # shape (n_runs, K): those whose outcome was 0

    @property
    def n_runs(self) -> int:
        """Number of trials."""
        return self.recommendation.size

    @property
    def decided(self) -> int:
        """Number of trials that recommend an arm."""
        return int(np.count_nonzero(self.recommendation >= 0))

    @property
    def right(self) -> int:
        """Number of trials that recommend the best arm of the table."""
        return int(np.count_nonzero(self.recommendation == self.population.best_arm))

    @property
    def totals(self) -> Ints:
        """Patients of each trial, shape (n_runs,)."""
        return np.asarray(self.patients.sum(axis=1))

    @property
    def inferior(self) -> Ints:
        """Patients of each trial that did not get the best arm, shape (n_runs,)."""
        return self.totals - self.patients[:, self.population.best_arm]

    @property
    def excess(self) -> Floats:
        """Failures Σ_a Δ_a·n_a that the best arm would have avoided, by the table's gaps."""
        return np.asarray(self.patients @ self.population.gaps)

    def summary_fields(self) -> tuple[str, str, dict[str, Any]]:
        numbers = {"n_runs": self.n_runs, "decided": self.decided, "right": self.right}
        mean = {"mean patients": float(self.totals.mean())}
        return repr(self.algorithm), self.population.name, numbers | mean

    def columns(self) -> dict[str, Any]:
        columns = {"patients": self.totals, "recommendation": self.recommendation}
        for name, table in (("patients", self.patients), ("failures", self.failures)):
            columns |= {f"{name}_{arm}": column for arm, column in enumerate(table.T)}
        return columns

    def share(self, count: int, level: float = 0.95) -> tuple[float, float, float]:
        """Return a share of the trials, with its Clopper–Pearson interval.

        Parameters
        ----------
        count : int
            Number of trials, such as `right`.
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        share, low, high : float
            The share, and the ends of the interval.

        Raises
        ------
        ValueError
            If `count` is out of range.
        """
        count = check_integer("count", count, 0, self.n_runs)
        return share_interval(count, self.n_runs, level)

    def means(self) -> dict[str, tuple[float, float, float]]:
        """Return means over the trials, with 95 % intervals.

        Returns
        -------
        dict of str to tuple
            Mean and ends of Student's interval of ``patients``, of ``inferior`` ones, of
            ``failures``, and of the ``excess``.
        """
        values = {
            "patients": self.totals,
            "inferior": self.inferior,
            "failures": self.failures.sum(axis=1),
            "excess": self.excess,
        }
        return {name: mean_interval(each) for name, each in values.items()}

    def summary(self) -> dict[str, Any]:
        """Return the summary of the trials: the columns of tables.

        Returns
        -------
        dict
            Numbers of trials, of those that decided and of those that were right; the share of
            these, and means, with 95 % intervals; quantiles of patients; ``used``, their share of
            the table.
        """
        columns: dict[str, Any] = {"n_runs": self.n_runs, "decided": self.decided}
        columns["right"] = self.right
        found = {"right_rate": self.share(self.right), **self.means()}
        for name, interval in found.items():
            part = name.removesuffix("_rate")
            columns |= zip((name, f"{part}_low95", f"{part}_high95"), interval, strict=True)
        half, most = np.quantile(self.totals, [0.5, 0.9], method="inverted_cdf").tolist()
        used = float(self.totals.mean()) / self.population.total
        return {**columns, "patients_q50": half, "patients_q90": most, "used": used}


def _trial(case: tuple[IdentificationAlgorithm, FinitePopulation], n_runs: int) -> Replicated:
    """Check a case and describe it to the runner."""
    algorithm, population = case
    check_kind("algorithm", algorithm, IdentificationAlgorithm, "DPTT(epsilon=1.0, delta=0.01)")
    check_kind("population", population, FinitePopulation, "isis2()")
    few = FinitePopulation((60, *[20] * (population.n_arms - 1)), (70,) * population.n_arms)

    def gather(ends: Sequence[Ending]) -> Trials:
        return Trials(algorithm, population, *map(np.array, zip(*ends, strict=True)))

    return Replicated(
        f"{algorithm.label}, {population.name}",
        {
            "algorithm": describe(algorithm),
            "successes": list(population.successes),
            "sizes": list(population.sizes),
        },
        partial(run_trial, algorithm, population),
        n_runs,
        warm_up=partial(run_trial, algorithm, few, np.random.default_rng(0)),
        gather=gather,
    )


def simulate_trials(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> Trials:
    """Simulate trials of an algorithm on one population, such as ``isis2()``.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm, such as ``DPTT(epsilon=1, delta=0.05)``.
    population : FinitePopulation
        The patients, whose order is random and independent in each trial.
    n_runs : int
        Number of trials, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.

    Returns
    -------
    Trials
        Recommendation and patients of each trial.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type.
    """
    return simulate_trials_many({None: (algorithm, population)}, n_runs, seed, n_jobs)[None]


def simulate_trials_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, FinitePopulation]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> dict[Key, Trials]:
    """Simulate trials of a whole grid of cases: all of them share the workers.

    Parameters
    ----------
    cases : mapping of key to (algorithm, population)
        The cases to run; their keys are used in the result and in error messages.
    n_runs : int or mapping of key to int
        Number of trials of each case, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.

    Returns
    -------
    dict of key to Trials
        Recommendations and patients of the trials of each case.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type; the message contains the key of the case.
    """
    return run_cases(cases, _trial, n_runs, seed, n_jobs)
