"""Finite populations: patients drawn without replacement from a published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._validation import check_generator, check_integer
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.run import Run
from dpbandits.rewards.sources import Bandit, Source, read_only

_MOST = 10**9 - 1
"""Most patients of all arms for NumPy's hypergeometric sampler."""


@dataclass(frozen=True)
class FinitePopulation(Bandit):
    """For each arm a finite number of patients, each with an outcome of 0 or 1.

    One arm has the largest share of successes. The privacy that an algorithm promises for rewards
    holds for these patients, in random order: :prf:ref:`prop-trial-private`.

    Parameters
    ----------
    successes : tuple of int, length K ≥ 2
        Patients of each arm whose outcome is 1, such as survival.
    sizes : tuple of int, length K
        All patients of each arm, at least K each, and at most 10⁹ − 1 together.
    name : str
        Name of the population in tables and figures.

    Raises
    ------
    ValueError
        If the counts are not those of a trial, or several arms have the largest share of successes.

    Examples
    --------
    >>> population = FinitePopulation((8, 5), (10, 10))
    >>> population.shares.tolist(), population.best_arm, population.total
    ([0.8, 0.5], 0, 20)
    """

    successes: tuple[int, ...]
    sizes: tuple[int, ...]
    name: str = "population"

    def __post_init__(self) -> None:
        for name in ("successes", "sizes"):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or isinstance(given, str):
                raise ValueError(f"{name}={given!r} is not a list; allowed: a count for each arm")
        if len(self.sizes) < 2 or len(self.successes) != len(self.sizes):
            raise ValueError(
                f"successes={self.successes!r} and sizes={self.sizes!r} are not those of a trial; "
                "allowed: two lists of one length, 2 or more arms"
            )
        n_arms = len(self.sizes)
        sizes = tuple(check_integer("sizes", n, n_arms, _MOST) for n in self.sizes)
        pairs = zip(self.successes, sizes, strict=True)
        successes = tuple(check_integer("successes", s, 0, n) for s, n in pairs)
        if sum(sizes) > _MOST:
            raise ValueError(f"sizes={sizes!r} are too many patients; allowed: {_MOST} in all")
        shares = [Fraction(s, n) for s, n in zip(successes, sizes, strict=True)]
        if shares.count(max(shares)) > 1:
            raise ValueError(
                f"successes={successes!r} of sizes={sizes!r} have several best arms; allowed: one"
            )
        object.__setattr__(self, "successes", successes)
        object.__setattr__(self, "sizes", sizes)

    @property
    def total(self) -> int:
        """Patients of all arms together."""
        return sum(self.sizes)

    @cached_property
    def shares(self) -> Floats:
        """Share of successes of each arm, shape (K,), read-only; the arms' `means` as well."""
        return read_only(np.array(self.successes) / np.array(self.sizes))

    @property
    def means(self) -> Floats:
        """Share of successes of each arm, shape (K,), read-only."""
        return self.shares

    def rewards(self, rng: Rng) -> PopulationRewards:
        return PopulationRewards(self, rng)

    def scaled(self, factor: int) -> FinitePopulation:
        """Return a population with the same shares, `factor` times as large.

        Parameters
        ----------
        factor : int
            Factor on every count, at least 1.

        Returns
        -------
        FinitePopulation
            The larger population, of the same name.

        Raises
        ------
        ValueError
            If `factor` is not an integer of at least 1, or the population becomes too large.
        """
        factor = check_integer("factor", factor, 1)
        successes, sizes = (
            tuple(factor * n for n in each) for each in (self.successes, self.sizes)
        )
        return FinitePopulation(successes, sizes, self.name)

    def only(self, arms: Sequence[int], name: str | None = None) -> FinitePopulation:
        """Return the population of some of the arms, in the given order.

        Parameters
        ----------
        arms : sequence of int
            Two or more arms, each from 0 to K − 1.
        name : str, optional
            Name of the new population; by default that of this one.

        Returns
        -------
        FinitePopulation
            The patients of these arms.

        Raises
        ------
        ValueError
            If an arm is out of range, or the chosen arms do not make a population.

        Examples
        --------
        >>> FinitePopulation((8, 5, 7), (10, 10, 10)).only([0, 2]).successes
        (8, 7)
        """
        chosen = [check_integer("arms", arm, 0, self.n_arms - 1) for arm in arms]
        successes, sizes = (
            tuple(each[arm] for arm in chosen) for each in (self.successes, self.sizes)
        )
        return FinitePopulation(successes, sizes, self.name if name is None else name)

    def superpopulation(self) -> BernoulliInstance:
        """Return the bandit whose means are the shares: an unlimited supply of such patients.

        See :prf:ref:`prop-trial-super` for the results that carry over to these patients.

        Returns
        -------
        BernoulliInstance
            Bernoulli arms with these shares as means, shape (K,).
        """
        return BernoulliInstance(cast(tuple[float, ...], tuple(self.shares.tolist())), self.name)


class OutOfPatientsError(Exception):
    """Raised when an arm has fewer patients left than requested.

    Parameters
    ----------
    arm : int
        The arm (0-based), stored as an attribute.

    Examples
    --------
    >>> print(OutOfPatientsError(2))
    arm 2 has no more patients
    """

    def __init__(self, arm: int) -> None:
        super().__init__(f"arm {arm} has no more patients")
        self.arm = arm


class PopulationRewards(Source):
    """Outcomes of patients who arrive in random order, each of them once.

    The sum of the next outcomes of an arm is hypergeometric, given the earlier ones, and drawn from
    that distribution. It is more concentrated than a sum of independent ones:
    :prf:ref:`lem-without-replacement`.

    Parameters
    ----------
    population : FinitePopulation
        The patients.
    rng : numpy.random.Generator
        Source of the order of the patients.

    Raises
    ------
    ValueError
        If `population` is not a population, or `rng` not a generator.

    Examples
    --------
    >>> population = FinitePopulation((8, 5), (10, 10))
    >>> rewards = PopulationRewards(population, np.random.default_rng(0))
    >>> parts = rewards.total(0, 4), rewards.total(0, 6)
    >>> sum(parts), rewards.left(0), rewards.left(1)
    (8, 0, 10)
    """

    given = False  # counts are public; only the order is simulated

    def __init__(self, population: FinitePopulation, rng: Rng) -> None:
        if not isinstance(population, FinitePopulation):
            raise ValueError(
                f"population={population!r} is not a population; allowed: one such as "
                "FinitePopulation((8, 5), (10, 10))"
            )
        self._rng = check_generator("rng", rng)
        self._good = list(population.successes)
        self._left = list(population.sizes)
        self._total = population.total
        self.n_arms = population.n_arms

    @property
    def drawn(self) -> int:
        """Number of patients of all arms who have arrived."""
        return self._total - sum(self._left)

    def left(self, arm: int) -> int:
        """Return the number of patients of `arm` who have not arrived yet.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.

        Returns
        -------
        int
            Number of patients.

        Raises
        ------
        ValueError
            If `arm` is out of range.
        """
        return self._left[check_integer("arm", arm, 0, self.n_arms - 1)]

    def successes_left(self, arm: int) -> int:
        """Return the number of successes among the remaining patients of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.

        Returns
        -------
        int
            Number of patients whose outcome will be 1.

        Raises
        ------
        ValueError
            If `arm` is out of range.
        """
        return self._good[check_integer("arm", arm, 0, self.n_arms - 1)]

    def total(self, arm: int, size: int) -> int:
        """Draw the sum of the outcomes of the next `size` patients of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of patients, at least 0.

        Returns
        -------
        int
            Number of successes among them.

        Raises
        ------
        OutOfPatientsError
            If the arm has fewer patients left; none of them is used up.
        ValueError
            If `arm` or `size` is out of range.
        """
        arm, size = self._check(arm, size)
        good, left = self._good[arm], self._left[arm]
        if size > left:
            raise OutOfPatientsError(arm)
        if size == 1:
            found = int(self._rng.random() * left < good)
        else:
            found = int(self._rng.hypergeometric(good, left - good, size))
        self._good[arm] -= found
        self._left[arm] -= size
        return found

    def moments(self, arm: int, size: int) -> tuple[float, float]:
        ones = float(self.total(arm, size))  # each is its own square
        return ones, ones

    def take(self, arm: int, size: int, found: int) -> None:
        """Record patients of `arm` whose outcomes were drawn elsewhere.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of patients, at least 0.
        found : int
            Number of successes among them.

        Raises
        ------
        OutOfPatientsError
            If the arm has fewer patients left.
        ValueError
            If `arm` or `size` is out of range, or the arm cannot have had so many successes.
        """
        arm, size = self._check(arm, size)
        good, left = self._good[arm], self._left[arm]
        if size > left:
            raise OutOfPatientsError(arm)
        found = check_integer("found", found, max(0, size - (left - good)), min(size, good))
        self._good[arm] -= found
        self._left[arm] -= size


class PatientRun(Run):
    """A run on patients: it also ends when an arm is asked for a patient and has none left.

    Parameters
    ----------
    source : PopulationRewards
        The patients.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing numbers of pulls at which the pulls are counted; the last ends the run.
    how : str, optional
        Name of the accelerator for algorithms to which the run is delegated, or "reference" for
        plain programs. None leaves the choice to the table of accelerators.

    Examples
    --------
    >>> from dpbandits.rewards.run import Ended
    >>> patients = PopulationRewards(FinitePopulation((8, 5), (10, 10)), np.random.default_rng(0))
    >>> run = PatientRun(patients, np.array([100]))
    >>> try:
    ...     run.totals([1, 0], 11)
    ... except Ended:
    ...     print(run.pulls)
    [10, 10]
    """

    source: PopulationRewards

    def __init__(
        self, source: PopulationRewards, checkpoints: Ints, how: str | None = None
    ) -> None:
        super().__init__(source, checkpoints, how)
        self._due = [-1] * len(self._due)  # each request passes `_pull`, which looks for patients

    def _pull(self, arms: Sequence[int], size: int) -> None:
        room = min(  # pulls until the turn of an arm without patients
            (self.source.left(arm) * len(arms) + place for place, arm in enumerate(arms)),
            default=0,
        )
        if room < size * len(arms):
            self._last = min(self._last, self.time + room)
        super()._pull(arms, size)


def isis2() -> FinitePopulation:
    """Return the published counts of ISIS-2 (1988): 17 187 patients, four arms, survival is 1.

    Suspected acute myocardial infarction, streptokinase and aspirin in a 2 × 2 factorial design,
    vascular deaths within five weeks: neither 568 of 4300, streptokinase 448 of 4300, aspirin 461
    of 4295, both 343 of 4292. The paper's abstract has the first and the last, and the margins of
    both treatments, of which the other two are differences. The arms come in this order.

    Returns
    -------
    FinitePopulation
        The four arms.

    Examples
    --------
    >>> trial = isis2()
    >>> trial.total, trial.best_arm, trial.shares.round(3).tolist()
    (17187, 3, [0.868, 0.896, 0.893, 0.92])
    """
    deaths, sizes = (568, 448, 461, 343), (4300, 4300, 4295, 4292)
    survived = tuple(n - d for n, d in zip(sizes, deaths, strict=True))
    return FinitePopulation(survived, sizes, "ISIS-2")
