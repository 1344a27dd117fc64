"""Trials on a finite population: an algorithm runs until it decides or patients run out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer
from dpbandits.identification.base import IdentificationAlgorithm, Verdict
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.trial_kernels import run_top_two
from dpbandits.rewards.populations import (
    FinitePopulation,
    OutOfPatientsError,
    PopulationRewards,
)
from dpbandits.running import Replicated, describe, label_errors, run_replicates

__all__ = ["TrialEnd", "Trials", "run_trial", "simulate_trials", "simulate_trials_many"]

Key = TypeVar("Key", bound=Hashable)

_CHUNK = 10
"""Trials that a worker runs at a time."""
_GUESSES = 10
"""After so many runs that look for the end of a trial, some halve the interval."""


@dataclass(frozen=True, eq=False)
class TrialEnd:
    """How one trial ended.

    Attributes
    ----------
    recommendation : int
        The arm that is recommended, 0-based; −1 if patients of an arm ran out before.
    patients : numpy.ndarray of int, shape (K,)
        Patients of each arm, those of open batches included.
    failures : numpy.ndarray of int, shape (K,)
        Those of them whose outcome was 0.

    Examples
    --------
    >>> end = TrialEnd(-1, np.array([10, 12]), np.array([2, 3]))
    >>> end.decided
    False
    """

    recommendation: int
    patients: NDArray[np.int64]
    failures: NDArray[np.int64]

    @property
    def decided(self) -> bool:
        """Whether an arm was recommended."""
        return self.recommendation >= 0


def _ended(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seed: np.random.SeedSequence,
    most: int,
) -> tuple[Verdict, PopulationRewards] | int:
    """Run until `most` patients have come; some arms may want more patients than they have.

    If such a batch is released before, return how many patients have come by then, supposed that
    batches come one after the other.
    """
    rng = np.random.default_rng(seed)
    rewards = PopulationRewards(population, rng)
    try:
        return algorithm.decide(rewards, rng, most), rewards
    except OutOfPatientsError as error:
        return rewards.drawn + rewards.left(error.arm)


def run_trial(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seed: np.random.SeedSequence,
) -> TrialEnd:
    """Run one trial: patients without replacement, until the algorithm decides or has no patient.

    The trial ends undecided as soon as the algorithm wants a patient of an arm that has none left.
    Algorithms that plan without a look at how many patients are left are run again from the seed,
    with fewer patients in all, to find that moment.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run.
    population : FinitePopulation
        The patients.
    seed : numpy.random.SeedSequence
        Seed of the trial: order of the patients, and noise.

    Returns
    -------
    TrialEnd

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
        rng = np.random.default_rng(seed)
        good, sizes = (np.array(n, np.int64) for n in (population.successes, population.sizes))
        share = algorithm.leader_share
        best, came, sums = run_top_two(good, sizes, rng, share, algorithm.delta)
        return TrialEnd(int(best), came, came - sums)
    verdict, rewards = _last(algorithm, population, seed)
    failures = np.zeros(population.n_arms, dtype=np.int64)
    for a, (size, successes) in enumerate(zip(population.sizes, population.successes, strict=True)):
        patients = int(verdict.pulls[a])
        rewards.total(a, patients - (size - rewards.left(a)))  # those of an open batch
        failures[a] = patients - (successes - rewards.successes_left(a))
    return TrialEnd(verdict.recommendation, verdict.pulls, failures)


def _last(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, seed: np.random.SeedSequence
) -> tuple[Verdict, PopulationRewards]:
    """Run with the largest number of patients with which no arm's patients run out.

    Guesses suppose that the arm with the fewest patients left goes on to have the share of turns
    that it had between the last two runs, at first one half, as a leader has. Where many guesses
    have not been enough, every second one halves the interval instead.
    """
    sizes = np.array(population.sizes)
    low, high, guess = population.n_arms - 1, population.total + 1, population.total
    best: tuple[Verdict, PopulationRewards] | None = None
    before: tuple[int, NDArray[np.int64]] | None = None
    tries, step = 0, 1
    while high - low > 1:
        tries += 1
        halve = tries > _GUESSES and tries % 2 == 0
        middle = (low + high) // 2 if halve else min(max(guess, low + 1), high - 1)
        tried = _ended(algorithm, population, seed, middle)
        if isinstance(tried, int):
            high, guess = middle, tried
            continue
        pulls = tried[0].pulls
        left = int((sizes - pulls).min())
        if left >= 0:
            low, best = middle, tried
            if tried[0].recommendation >= 0:
                break
        else:
            high = middle
        arm = int((sizes - pulls).argmin())
        turns = 2.0
        if before is not None and pulls[arm] != before[1][arm]:
            turns = (middle - before[0]) / int(pulls[arm] - before[1][arm])
        before = middle, pulls
        step = 2 * step if left == 0 else 1
        guess = middle + (math.floor(turns * left) if left else max(1, step // 4))
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
    recommendation: NDArray[np.int64]
    patients: NDArray[np.int64]
    failures: NDArray[np.int64]

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
    def totals(self) -> NDArray[np.int64]:
        """Patients of each trial, shape (n_runs,)."""
        totals: NDArray[np.int64] = self.patients.sum(axis=1)
        return totals

    @property
    def inferior(self) -> NDArray[np.int64]:
        """Patients of each trial that did not get the best arm, shape (n_runs,)."""
        inferior: NDArray[np.int64] = self.totals - self.patients[:, self.population.best_arm]
        return inferior

    @property
    def excess(self) -> NDArray[np.float64]:
        """Failures, by the table's shares, that the best arm would have avoided, shape (n_runs,).

        Patients of each arm times its gap: the patients' numbers are those of the trial, the
        shares those of the whole table.
        """
        excess: NDArray[np.float64] = self.patients @ self.population.gaps
        return excess

    def share(self, count: int, level: float = 0.95) -> tuple[float, float, float]:
        """Return a share of the trials with its Clopper–Pearson interval.

        Parameters
        ----------
        count : int
            How many trials, such as `right`.
        level : float
            Confidence of the interval.

        Returns
        -------
        tuple of float
            Share, lower end, upper end.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        count = check_integer("count", count, 0, self.n_runs)
        return share_interval(count, self.n_runs, level)

    def summary(self) -> dict[str, Any]:
        """Return the columns that tables and figures show, one value each.

        Returns
        -------
        dict
            Numbers of trials, of those that recommend an arm and of those that recommend the best,
            the share of the last with its 95 % interval; means with 95 % intervals of the patients
            of a trial, of those that did not get the best arm, of those with outcome 0, and of the
            failures that the best arm would have avoided; numbers of patients within which half,
            and nine in ten, of the trials ended; the mean share of the table that was used.
            Undecided trials count in all of them. With one trial the ends of means are nan.
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
        for name, values in (
            ("patients", self.totals),
            ("inferior", self.inferior),
            ("failures", self.failures.sum(axis=1)),
            ("excess", self.excess),
        ):
            ends = (name, f"{name}_low95", f"{name}_high95")
            columns |= zip(ends, mean_interval(values), strict=True)
        half, most = np.quantile(self.totals, [0.5, 0.9], method="inverted_cdf").tolist()
        used = float(self.totals.mean()) / self.population.total
        return {**columns, "patients_q50": half, "patients_q90": most, "used": used}


def _run_chunk(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seeds: Sequence[np.random.SeedSequence],
) -> list[TrialEnd]:
    return [run_trial(algorithm, population, seed) for seed in seeds]


def _replicated(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, n_runs: int
) -> Replicated:
    """Check a case and describe it to the runner."""
    if not isinstance(algorithm, IdentificationAlgorithm):
        raise ValueError(
            f"algorithm={algorithm!r} is no algorithm for identification; allowed: one such as "
            "DPTT(epsilon=1.0, delta=0.05)"
        )
    if not isinstance(population, FinitePopulation):
        raise ValueError(
            f"population={population!r} is no population; allowed: one such as isis2()"
        )
    configuration = {
        "algorithm": describe(algorithm),
        "successes": list(population.successes),
        "sizes": list(population.sizes),
    }
    return Replicated(
        f"{algorithm.label}, {population.name}",
        configuration,
        partial(_run_chunk, algorithm, population),
        check_integer("n_runs", n_runs, 1),
        chunk=_CHUNK,
        warm_up=partial(run_trial, algorithm, _few(population.n_arms), np.random.SeedSequence(0)),
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

    The result depends on the arguments alone, and not on `n_jobs`. It is the same as that of
    `simulate_trials_many`, in whatever grid the case stands there.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run, such as ``DPTT(epsilon=1.0, delta=0.05)``.
    population : FinitePopulation
        The patients, such as ``isis2()``.
    n_runs : int
        Number of trials.
    seed : int or sequence of int
        Entropy of the root seed.
    n_jobs : int
        Number of workers, −1 for all processors.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        If an argument is out of range: the message names it and says what is allowed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> pair = dpb.identification.isis2().only([0, 3])
    >>> trials = simulate_trials(dpb.DPLRE(1.0, 0.1), pair, n_runs=2)
    >>> bool((trials.patients <= pair.sizes).all())
    True
    """
    case = _replicated(algorithm, population, n_runs)
    ends = run_replicates({None: case}, seed, n_jobs)[None]
    return _trials(algorithm, population, ends)


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
        What is simulated; the keys are yours.
    n_runs : int or mapping of key to int
        Number of trials of each case.
    seed, n_jobs
        As of `simulate_trials`.

    Returns
    -------
    dict of Trials
        With the keys of `cases`, in their order.

    Raises
    ------
    ValueError
        If an argument is out of range or a case cannot be played: the message has its key.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> population = FinitePopulation((900, 200), (1000, 1000))
    >>> cases = {eps: (dpb.DPLRE(eps, 0.1), population) for eps in (0.1, 1.0)}
    >>> trials = simulate_trials_many(cases, n_runs=5)
    >>> bool(trials[0.1].totals.mean() > trials[1.0].totals.mean())
    True
    """
    replicated: dict[Key, Replicated] = {}
    for key, (algorithm, population) in cases.items():
        with label_errors(key):
            runs = n_runs[key] if isinstance(n_runs, Mapping) else n_runs
            replicated[key] = _replicated(algorithm, population, runs)
    ends = run_replicates(replicated, seed, n_jobs)
    return {
        key: _trials(algorithm, population, ends[key])
        for key, (algorithm, population) in cases.items()
    }


def _trials(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, ends: Sequence[TrialEnd]
) -> Trials:
    """Put the trials of a case together."""
    return Trials(
        algorithm,
        population,
        np.array([end.recommendation for end in ends], dtype=np.int64),
        np.array([end.patients for end in ends], dtype=np.int64),
        np.array([end.failures for end in ends], dtype=np.int64),
    )
