"""Trials on a finite population: an algorithm runs until it decides or patients run out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer, check_kind
from dpbandits.identification.base import NO_LOG, NO_TABLE, IdentificationAlgorithm
from dpbandits.identification.top_two import TopTwo, run_top_two
from dpbandits.rewards.populations import FinitePopulation, OutOfPatientsError, PopulationRewards
from dpbandits.running import Replicated, describe, run_cases

__all__ = ["Trials", "run_trial", "simulate_trials", "simulate_trials_many"]

Key = TypeVar("Key", bound=Hashable)
End = tuple[int, Ints, Ints]
"""Recommendation (−1 if patients of an arm ran out before), patients, failures among them."""


def _attempt(
    algorithm: IdentificationAlgorithm, population: FinitePopulation, rng: Rng, most: int
) -> End | None:
    """Run until `most` patients have come; None if some arm wants more patients than it has."""
    rewards = PopulationRewards(population, rng)
    try:
        best, patients = algorithm.decide(rewards, rng, most)
    except OutOfPatientsError:
        return None
    if (patients > population.sizes).any():
        return None
    for arm, size in enumerate(population.sizes):  # those of open batches
        rewards.total(arm, int(patients[arm]) - (size - rewards.left(arm)))
    left = np.array([rewards.successes_left(arm) for arm in range(population.n_arms)])
    return best, patients, patients - np.array(population.successes) + left


def run_trial(algorithm: IdentificationAlgorithm, population: FinitePopulation, rng: Rng) -> End:
    """Run one trial: patients without replacement, until the algorithm decides or has no patient.

    The trial ends undecided as soon as the algorithm wants a patient of an arm that has none left.
    Algorithms that plan without a look at how many patients are left are run again on the same
    random numbers, with fewer patients in all, to find that moment.
    """
    if type(algorithm) is TopTwo:
        counts = np.array([population.successes, population.sizes])
        rule = algorithm.leader_share, algorithm.delta, population.shares, NO_TABLE
        best, came, sums = run_top_two(*rule, counts, rng, population.total, NO_LOG)
        return best, came, came - sums
    start = rng.bit_generator.state
    low, high, most = population.n_arms - 1, population.total + 1, population.total
    end: End | None = None
    while high - low > 1 and not (end and end[0] >= 0):
        rng.bit_generator.state = start
        tried = _attempt(algorithm, population, rng, most)
        if tried:
            low, end = most, tried
        else:
            high = most
        most = (low + high) // 2
    assert end is not None  # an arm has at least as many patients as there are arms
    return end


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of one algorithm on one population, each with patients in another order.

    Attributes
    ----------
    algorithm, population : IdentificationAlgorithm, FinitePopulation
        What was run, on which patients.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each trial recommends, 0-based; −1 if patients of an arm ran out before.
    patients, failures : numpy.ndarray of int, shape (n_runs, K)
        Patients of each arm, those of open batches included; and those whose outcome was 0.
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


def _replicated(case: tuple[IdentificationAlgorithm, FinitePopulation], n_runs: int) -> Replicated:
    """Check a case and describe it to the runner."""
    algorithm, population = case
    check_kind("algorithm", algorithm, IdentificationAlgorithm, "DPTT(epsilon=1.0, delta=0.01)")
    check_kind("population", population, FinitePopulation, "isis2()")
    few = FinitePopulation((60, *[20] * (population.n_arms - 1)), (70,) * population.n_arms)

    def gather(ends: Sequence[End]) -> Trials:
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
    """Simulate independent trials of an algorithm on one population, such as ``isis2()``.

    The other arguments are as of `dpbandits.simulate`.

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
    return run_cases(cases, _replicated, n_runs, seed, n_jobs)
