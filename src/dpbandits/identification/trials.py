"""Trials on a finite population: an algorithm runs until it decides or patients run out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dpbandits._intervals import share_interval
from dpbandits._validation import check_integer
from dpbandits.identification.base import IdentificationAlgorithm, Verdict
from dpbandits.identification.population import (
    FinitePopulation,
    OutOfPatientsError,
    PopulationRewards,
)
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.trial_kernels import run_top_two
from dpbandits.simulation import replicate_seeds

__all__ = ["TrialEnd", "Trials", "run_trial", "simulate_trials"]

_CHUNK = 10
"""Trials that a worker runs at a time."""


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
    """Run until `most` patients have come.

    If an arm's patients run out before, return how many have come by then, supposed that batches
    come one after the other.
    """
    rng = np.random.default_rng(seed)
    rewards = PopulationRewards(population, rng)
    try:
        verdict = algorithm.decide(rewards, rng, most)
    except OutOfPatientsError as error:
        return rewards.drawn + rewards.left(error.arm)
    return (verdict, rewards) if (verdict.pulls <= population.sizes).all() else rewards.drawn


def run_trial(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seed: np.random.SeedSequence,
) -> TrialEnd:
    """Run one trial: patients without replacement, until the algorithm decides or has no patient.

    The trial ends undecided as soon as the algorithm wants a patient of an arm that has none left.
    To find that moment, the run is repeated from its seed with fewer patients in all.

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
    found = _ended(algorithm, population, seed, population.total)
    if isinstance(found, int):
        found = _last(algorithm, population, seed, found)
    verdict, rewards = found
    failures = np.zeros(population.n_arms, dtype=np.int64)
    for a, (size, successes) in enumerate(zip(population.sizes, population.successes, strict=True)):
        patients = int(verdict.pulls[a])
        rewards.total(a, patients - (size - rewards.left(a)))  # those of an open batch
        failures[a] = patients - (successes - rewards.successes_left(a))
    return TrialEnd(verdict.recommendation, verdict.pulls, failures)


def _last(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seed: np.random.SeedSequence,
    guess: int,
) -> tuple[Verdict, PopulationRewards]:
    """Run with the largest number of patients with which no arm's patients run out.

    After the first guess others suppose that the arm with the fewest patients left has every
    second turn, as a leader has. In between the interval is halved.
    """
    low, high = population.n_arms, population.total
    found = _ended(algorithm, population, seed, low)
    guesses = [guess + 1, guess]
    while high - low > 1:
        middle = guesses.pop() if guesses else (low + high) // 2
        if low < middle < high:
            tried = _ended(algorithm, population, seed, middle)
            if isinstance(tried, int):
                high = middle
            else:
                low, found = middle, tried
        if not guesses and not isinstance(found, int):
            left = int((np.array(population.sizes) - found[0].pulls).min())
            guesses = [(low + high) // 2, low + 2 * left + 2, low + 2 * left - 2]
    assert not isinstance(found, int)  # an arm has at least as many patients as there are arms
    return found


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


def _chunk(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    seeds: list[np.random.SeedSequence],
) -> list[TrialEnd]:
    return [run_trial(algorithm, population, seed) for seed in seeds]


def simulate_trials(
    algorithm: IdentificationAlgorithm,
    population: FinitePopulation,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> Trials:
    """Simulate independent trials on one population.

    The result depends on the arguments alone, and not on `n_jobs`.

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
    if not isinstance(algorithm, IdentificationAlgorithm):
        raise ValueError(
            f"algorithm={algorithm!r} is no algorithm for identification; allowed: one such as "
            "DPTT(epsilon=1.0, delta=0.05)"
        )
    if not isinstance(population, FinitePopulation):
        raise ValueError(
            f"population={population!r} is no population; allowed: one such as isis2()"
        )
    n_runs = check_integer("n_runs", n_runs, 1)
    if n_jobs != -1:
        n_jobs = check_integer("n_jobs", n_jobs, 1)
    seeds = replicate_seeds(seed, n_runs)
    tasks = (
        delayed(_chunk)(algorithm, population, seeds[first : first + _CHUNK])
        for first in range(0, n_runs, _CHUNK)
    )
    ends = [end for chunk in Parallel(n_jobs=n_jobs)(tasks) for end in chunk]
    return Trials(algorithm, population, *stack(ends))


def stack(ends: Sequence[TrialEnd]) -> tuple[NDArray[np.int64], ...]:
    """Return recommendations, patients and failures of several trials as arrays."""
    return (
        np.array([end.recommendation for end in ends], dtype=np.int64),
        np.array([end.patients for end in ends], dtype=np.int64),
        np.array([end.failures for end in ends], dtype=np.int64),
    )
