"""Replicates of an identification algorithm: on an instance, and on patients who run out."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._files import write_atomically
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer, check_kind, check_values
from dpbandits.acceleration import REFERENCE, accelerator_for
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    Decision,
    IdentificationAlgorithm,
    check_unique_best_arm,
)
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import FinitePopulation, PopulationRewards
from dpbandits.rewards.streams import DrawnRewards
from dpbandits.running import Replicated, describe, run_cases
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
"""Recommendation (−1 if patients of an arm ran out before), patients, failures among them."""


@dataclass(frozen=True, eq=False)
class Identifications:
    """Replicates of one algorithm on one instance; `identify` makes them.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm.
    instance : BernoulliInstance
        The instance.
    max_pulls : int
        Pulls after which a run that has not stopped was ended.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm of each run, 0-based; −1 if the run was ended before it stopped.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm.
    how : str
        What ran: the name of an accelerator, or "reference" for the algorithm's own `decide`.

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
        """Count the runs that stopped and recommend another arm than the best."""
        return int((self.stopped & (self.recommendation != self.instance.best_arm)).sum())

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of wrong runs and the ends of its Clopper–Pearson interval."""
        return share_interval(self.errors(), self.n_runs, level)

    def mean_time(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean stopping time with Student's interval; nan if a run was ended early."""
        found = mean_interval(self.stopping_time, level)
        return found if self.stopped.all() else (math.nan, math.nan, math.nan)

    def time_quantiles(self, levels: ArrayLike) -> Floats:
        """Return for each level the least time within which such a share stopped, or nan."""
        levels = check_values("levels", levels, 0.0, 1.0)
        times = np.where(self.stopped, self.stopping_time.astype(np.float64), math.inf)
        quantiles = np.asarray(np.quantile(times, levels, method="inverted_cdf"))
        return np.where(np.isfinite(quantiles), quantiles, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the columns of tables, with 95 % intervals; what ended runs hide is nan."""
        known = self.stopped.all() and self.n_runs > 1
        columns: dict[str, Any] = {"n_runs": self.n_runs, "stopped": int(self.stopped.sum())}
        columns |= zip(("mean_time", "time_low95", "time_high95"), self.mean_time(), strict=True)
        columns["time_sd"] = float(self.stopping_time.std(ddof=1)) if known else math.nan
        for level in (5, 50, 95):
            columns[f"time_q{level:02}"] = self.time_quantiles(level / 100).item()
        columns["time_max"] = float(self.stopping_time.max())
        rates = ("error_rate", "error_low95", "error_high95")
        return columns | dict(zip(rates, self.error_rate(), strict=True))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a run: stopping time, recommendation, pulls by arm."""
        arms = ",".join(f"pulls_{arm}" for arm in range(self.instance.n_arms))
        rows = np.column_stack([self.stopping_time, self.recommendation, self.pulls]).tolist()
        lines = [f"stopping_time,recommendation,{arms}", *(",".join(map(str, row)) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


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
    told = str(accelerator_for(algorithm, DrawnRewards, how) or REFERENCE)

    def gather(decisions: Sequence[Decision]) -> Identifications:
        best, pulls = map(np.array, zip(*decisions, strict=True))
        return Identifications(algorithm, instance, max_pulls, best, pulls, told)

    return Replicated(
        f"{algorithm.label}, {instance.name}",
        # not max_pulls: a run that is ended early is the beginning of the one that is not
        {"algorithm": describe(algorithm), "means": list(instance.mean_rewards)},
        partial(algorithm.draw, instance, max_pulls=max_pulls, how=how),
        n_runs,
        warm_up=partial(algorithm.draw, instance, np.random.default_rng(0), short, how),
        gather=gather,
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

    One arm of the instance must be the best. After `max_pulls` a run that has not stopped is ended,
    with recommendation −1. All else is as of `simulate`.

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
    """Simulate a whole grid of cases, as `simulate_many` does; `max_pulls` is as of `identify`."""
    return run_cases(cases, partial(_identification, max_pulls, how), n_runs, seed, n_jobs)


def run_trial(algorithm: IdentificationAlgorithm, population: FinitePopulation, rng: Rng) -> Ending:
    """Run one trial, until the algorithm decides or wants a patient of an arm that has none left.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        The algorithm.
    population : FinitePopulation
        The patients.
    rng : numpy.random.Generator
        Source of all randomness, the order of the patients included.

    Returns
    -------
    recommendation : int
        The arm, or −1 if patients of an arm ran out before.
    patients, failures : numpy.ndarray of int, each of shape (K,)
        Patients of each arm, those of open batches included; and those whose outcome was 0.
    """
    rewards = PopulationRewards(population, rng)
    best, patients = algorithm.draw(rewards, rng, population.total)
    for arm, size in enumerate(population.sizes):  # those of open batches
        rewards.total(arm, int(patients[arm]) - (size - rewards.left(arm)))
    left = np.array([rewards.successes_left(arm) for arm in range(population.n_arms)])
    return best, patients, patients - np.array(population.successes) + left


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of one algorithm on one population, each with patients in another order."""

    algorithm: IdentificationAlgorithm
    population: FinitePopulation
    recommendation: Ints  # the arm of each trial, 0-based; −1 if patients of an arm ran out before
    patients: Ints  # shape (n_runs, K), those of open batches included
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
        """Failures Σ_a Δ_a·n_a that the best arm would have avoided, by the whole table's gaps."""
        return np.asarray(self.patients @ self.population.gaps)

    def share(self, count: int, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of `count` trials, such as `right`, and its Clopper–Pearson interval."""
        count = check_integer("count", count, 0, self.n_runs)
        return share_interval(count, self.n_runs, level)

    def means(self) -> dict[str, tuple[float, float, float]]:
        """Return means of patients, of inferior ones, failures and excess, with 95 % intervals."""
        values = {
            "patients": self.totals,
            "inferior": self.inferior,
            "failures": self.failures.sum(axis=1),
            "excess": self.excess,
        }
        return {name: mean_interval(each) for name, each in values.items()}

    def summary(self) -> dict[str, Any]:
        """Return the columns of tables, with 95 % intervals; ``used`` is a share of the table."""
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
    """Simulate trials of an algorithm on one population, such as ``isis2()``; see `identify`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> small, large = (FinitePopulation((9 * n, 2 * n), (10 * n, 10 * n)) for n in (1, 100))
    >>> trials = simulate_trials(dpb.DPLRE(1.0, 0.1), small, n_runs=3)
    >>> trials.recommendation.tolist(), trials.patients.max(axis=1).tolist()
    ([-1, -1, -1], [10, 10, 10])
    >>> trials = simulate_trials(dpb.DPLRE(1.0, 0.1), large, n_runs=3)
    >>> trials.recommendation.tolist(), trials.right, trials.share(trials.right)[0]
    ([0, 0, 0], 3, 1.0)
    """
    return simulate_trials_many({None: (algorithm, population)}, n_runs, seed, n_jobs)[None]


def simulate_trials_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, FinitePopulation]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> dict[Key, Trials]:
    """Simulate a whole grid of cases, as `dpbandits.simulate_many` does."""
    return run_cases(cases, _trial, n_runs, seed, n_jobs)
