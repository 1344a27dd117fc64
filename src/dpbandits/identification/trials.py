"""Trials on a finite population: an algorithm runs until it decides or patients run out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dpbandits._arrays import Floats, Ints
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer
from dpbandits.identification.base import (
    NO_LOG,
    NO_TABLE,
    Decision,
    IdentificationAlgorithm,
    check_algorithm,
)
from dpbandits.identification.top_two import TopTwo, run_top_two
from dpbandits.rewards.populations import FinitePopulation, OutOfPatientsError, PopulationRewards
from dpbandits.running import Replicated, describe, run_cases

__all__ = ["TrialEnd", "Trials", "run_trial", "simulate_trials", "simulate_trials_many"]

Key = TypeVar("Key", bound=Hashable)

_CHUNK = 10
"""Trials that a worker runs at a time."""


class TrialEnd(NamedTuple):
    """How one trial ended.

    Attributes
    ----------
    recommendation : int
        The arm that is recommended, 0-based; −1 if patients of an arm ran out before.
    patients : numpy.ndarray of int, shape (K,)
        Patients of each arm, those of open batches included.
    failures : numpy.ndarray of int, shape (K,)
        Those of them whose outcome was 0.
    """

    recommendation: int
    patients: Ints
    failures: Ints

    @property
    def decided(self) -> bool:
        """Whether an arm was recommended."""
        return self.recommendation >= 0


def _attempt(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seed: np.random.SeedSequence,
    most: int,
) -> tuple[Decision, PopulationRewards] | None:
    """Run until `most` patients have come; None if some arm wants more patients than it has."""
    rng = np.random.default_rng(seed)
    rewards = PopulationRewards(population, rng)
    try:
        decision = algorithm.decide(rewards, rng, most)
    except OutOfPatientsError:
        return None
    return None if (decision.pulls > population.sizes).any() else (decision, rewards)


def run_trial(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, seed: np.random.SeedSequence
) -> TrialEnd:
    """Run one trial: patients without replacement, until the algorithm decides or has no patient.

    The trial ends undecided as soon as the algorithm wants a patient of an arm that has none left.
    Algorithms that plan without a look at how many patients are left are run again from the seed,
    with fewer patients in all, to find that moment.

    `seed` is that of the order of the patients, and of the noise.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> small, large = (FinitePopulation((9 * n, 2 * n), (10 * n, 10 * n)) for n in (1, 100))
    >>> seed = np.random.SeedSequence(0)
    >>> end = run_trial(dpb.DPLRE(1.0, 0.1), small, seed)
    >>> end.recommendation, int(end.patients.max())
    (-1, 10)
    >>> run_trial(dpb.DPLRE(1.0, 0.1), large, seed).recommendation
    0
    """
    if type(algorithm) is TopTwo:
        best, came, sums = run_top_two(
            algorithm.leader_share,
            algorithm.delta,
            population.shares,
            NO_TABLE,
            np.array([population.successes, population.sizes]),
            np.random.default_rng(seed),
            population.total,
            NO_LOG,
        )
        return TrialEnd(best, came, came - sums)
    decision, rewards = _last(algorithm, population, seed)
    failures = np.zeros(population.n_arms, dtype=np.int64)
    for a, (size, successes) in enumerate(zip(population.sizes, population.successes, strict=True)):
        patients = int(decision.pulls[a])
        rewards.total(a, patients - (size - rewards.left(a)))  # those of an open batch
        failures[a] = patients - (successes - rewards.successes_left(a))
    return TrialEnd(decision.recommendation, decision.pulls, failures)


def _last(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, seed: np.random.SeedSequence
) -> tuple[Decision, PopulationRewards]:
    """Run with the largest number of patients with which no arm's patients run out."""
    low, high, most = population.n_arms - 1, population.total + 1, population.total
    best: tuple[Decision, PopulationRewards] | None = None
    while high - low > 1 and not (best and best[0].stopped):
        tried = _attempt(algorithm, population, seed, most)
        if tried:
            low, best = most, tried
        else:
            high = most
        most = (low + high) // 2
    assert best is not None  # an arm has at least as many patients as there are arms
    return best


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of one algorithm on one population, each with patients in another order.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration that was run.
    population : FinitePopulation
        The patients.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each trial recommends, 0-based; −1 if it ended undecided.
    patients, failures : numpy.ndarray of int, shape (n_runs, K)
        Patients of each arm in each trial, and those of them whose outcome was 0.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> population = FinitePopulation((900, 200), (1000, 1000))
    >>> trials = simulate_trials(dpb.DPLRE(1.0, 0.1), population, n_runs=3)
    >>> trials.recommendation.tolist(), trials.right, trials.share(trials.right)[0]
    ([0, 0, 0], 3, 1.0)
    """

    algorithm: IdentificationAlgorithm
    population: FinitePopulation
    recommendation: Ints
    patients: Ints
    failures: Ints

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
        """Failures, by the table's shares, that the best arm would have avoided, shape (n_runs,).

        Patients of each arm times its gap: the patients' numbers are those of the trial, the
        shares those of the whole table.
        """
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
        """Return the columns that tables and figures show, one value each.

        Numbers of trials, of those that recommend an arm and of those that recommend the best, the
        share of the last with its 95 % interval; means with 95 % intervals of the patients of a
        trial, of those that did not get the best arm, of those with outcome 0, and of the failures
        that the best arm would have avoided; numbers of patients within which half, and nine in
        ten, of the trials ended; the mean share of the table that was used. Undecided trials count
        in all of them. With one trial the ends of means are nan.
        """
        rate, low, high = self.share(self.right)
        columns: dict[str, Any] = {
            "n_runs": self.n_runs,
            "decided": self.decided,
            "right": self.right,
            "right_rate": rate,
            "right_low95": low,
            "right_high95": high,
        }
        for name, mean in self.means().items():
            columns |= zip((name, f"{name}_low95", f"{name}_high95"), mean, strict=True)
        half, most = np.quantile(self.totals, [0.5, 0.9], method="inverted_cdf").tolist()
        used = float(self.totals.mean()) / self.population.total
        return {**columns, "patients_q50": half, "patients_q90": most, "used": used}


def _run_chunk(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seeds: Sequence[np.random.SeedSequence],
) -> list[TrialEnd]:
    return [run_trial(algorithm, population, seed) for seed in seeds]


def _replicated(case: tuple[IdentificationAlgorithm, FinitePopulation], n_runs: int) -> Replicated:
    """Check a case and describe it to the runner."""
    algorithm, population = case
    check_algorithm(algorithm)
    if not isinstance(population, FinitePopulation):
        raise ValueError(
            f"population={population!r} is not a population; allowed: one such as isis2()"
        )
    configuration = {
        "algorithm": describe(algorithm),
        "successes": list(population.successes),
        "sizes": list(population.sizes),
    }

    def gather(ends: Sequence[TrialEnd]) -> Trials:
        return Trials(algorithm, population, *map(np.array, zip(*ends, strict=True)))

    return Replicated(
        f"{algorithm.label}, {population.name}",
        configuration,
        partial(_run_chunk, algorithm, population),
        check_integer("n_runs", n_runs, 1),
        chunk=_CHUNK,
        warm_up=partial(run_trial, algorithm, _few(population.n_arms), np.random.SeedSequence(0)),
        gather=gather,
    )


def _few(n_arms: int) -> FinitePopulation:
    """Return a small population with as many arms."""
    return FinitePopulation((60, *[20] * (n_arms - 1)), (70,) * n_arms)


def simulate_trials(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> Trials:
    """Simulate independent trials on one population.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run, such as ``DPTT(epsilon=1.0, delta=0.05)``.
    population : FinitePopulation
        The patients, such as ``isis2()``.
    n_runs, seed, n_jobs
        As of `dpbandits.identify`, of which the rest holds too.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> pair = dpb.identification.isis2().only([0, 3])
    >>> trials = simulate_trials(dpb.DPLRE(1.0, 0.1), pair, n_runs=2)
    >>> bool((trials.patients <= pair.sizes).all())
    True
    """
    return simulate_trials_many({None: (algorithm, population)}, n_runs, seed, n_jobs)[None]


def simulate_trials_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, FinitePopulation]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> dict[Key, Trials]:
    """Simulate a whole grid of cases; the arguments are those of `simulate_trials`.

    Parameters
    ----------
    cases : mapping of key to (algorithm, population)
        What is simulated; the keys are yours, and those of the result.
    n_runs : int or mapping of key to int
        Number of trials of each case.
    seed, n_jobs
        As of `simulate_trials`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> population = FinitePopulation((900, 200), (1000, 1000))
    >>> cases = {eps: (dpb.DPLRE(eps, 0.1), population) for eps in (0.1, 1.0)}
    >>> trials = simulate_trials_many(cases, n_runs=5)
    >>> bool(trials[0.1].totals.mean() > trials[1.0].totals.mean())
    True
    """
    return run_cases(cases, _replicated, n_runs, seed, n_jobs)
