"""Planning a trial on published counts: patients are drawn without replacement from the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpbandits._validation import check_fraction, check_integer, check_positive
from dpbandits.identification import (
    DPLRE,
    DPTT,
    AdaPTTStar,
    DPSEIdentifier,
    FinitePopulation,
    FixedDesign,
    IdentificationAlgorithm,
    TopTwo,
    fixed_design,
    sample_lower_bound,
    simulate_trials_many,
)
from dpbandits.identification.trials import Trials

__all__ = ["TrialPlan", "TrialSize", "plan_trial"]

Interval = tuple[float, float, float]
"""A share or a mean, and the ends of its 95 % interval."""


@dataclass(frozen=True)
class TrialSize:
    """What one algorithm does on the patients of the plan.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration that was simulated.
    n_runs : int
        Number of simulated trials.
    decided, right : tuple of float
        Share of the trials that recommend an arm, and that recommend the best arm of the table,
        with Clopper–Pearson's 95 % interval.
    wrong : int
        Number of trials that recommend another arm.
    patients, inferior, failures, excess : tuple of float
        Mean number of patients of a trial, of those that did not get the best arm, of those with
        the bad outcome, and of the bad outcomes that the best arm would have avoided by the
        table's shares; each with Student's 95 % interval. Undecided trials count.
    """

    algorithm: IdentificationAlgorithm
    n_runs: int
    decided: Interval
    right: Interval
    wrong: int
    patients: Interval
    inferior: Interval
    failures: Interval
    excess: Interval


@dataclass(frozen=True)
class TrialPlan:
    """What a private adaptive trial on the patients of a table would take.

    Attributes
    ----------
    population : FinitePopulation
        The patients.
    epsilon : float
        Privacy budget ε.
    delta : float
        Probability δ of a wrong recommendation that is allowed.
    lower_bound : float
        No ε-DP algorithm that errs with probability at most δ on every instance takes fewer
        patients on average, from an unlimited supply with the table's shares.
    lower_bound_free : float
        The same without privacy.
    fixed, fixed_free : FixedDesign or None
        Smallest design with equal arms and one count of each at the end, private and not, that is
        wrong with probability at most δ; it has to know the shares. From an unlimited supply.
    sizes : tuple of TrialSize
        What the algorithms do, private ones first.

    Examples
    --------
    >>> from dpbandits import plan_trial
    >>> from dpbandits.identification import FinitePopulation
    >>> population = FinitePopulation((900, 500), (1000, 1000), "example")
    >>> plan = plan_trial(population, epsilon=1.0, delta=0.05, n_runs=4)
    >>> print(str(plan).splitlines()[0])
    example: 2,000 patients, shares of success 0.9, 0.5; ε = 1, δ = 0.05
    >>> size = plan.sizes[0]
    >>> size.algorithm.label, size.right[0], size.wrong
    ('DP-LRE', 1.0, 0)
    """

    population: FinitePopulation
    epsilon: float
    delta: float
    lower_bound: float
    lower_bound_free: float
    fixed: FixedDesign | None
    fixed_free: FixedDesign | None
    sizes: tuple[TrialSize, ...]

    def __str__(self) -> str:
        shares = ", ".join(f"{share:.4g}" for share in self.population.shares)
        lines = [
            f"{self.population.name}: {self.population.total:,} patients, shares of success "
            f"{shares}; ε = {self.epsilon:g}, δ = {self.delta:g}",
            f"lower bound: {self.lower_bound:,.0f} patients on average; "
            f"without privacy {self.lower_bound_free:,.0f}",
            f"fixed design that knows the shares: {_design(self.fixed)}; "
            f"without privacy {_design(self.fixed_free)}",
            "",
            f"{'algorithm':10} {'privacy':9} {'decided':>17} {'right arm':>17} {'wrong':>7} "
            f"{'patients':>24} {'inferior':>9} {'excess':>8}",
        ]
        for size in self.sizes:
            private = f"ε = {self.epsilon:g}" if size.algorithm.guarantee.is_private else "none"
            mean, low, high = size.patients
            patients = f"{mean:,.0f} ({low:,.0f}–{high:,.0f})"
            wrong = f"{size.wrong}/{size.n_runs}"
            lines.append(
                f"{size.algorithm.label:10} {private:9} {_share(size.decided):>17} "
                f"{_share(size.right):>17} {wrong:>7} {patients:>24} "
                f"{size.inferior[0]:>9,.0f} {size.excess[0]:>8,.1f}"
            )
        lines += [
            "",
            f"simulated trials of each: {self.sizes[0].n_runs}; intervals: 95 %; a trial is "
            "undecided when the patients of an arm run out",
            "inferior: patients that did not get the best arm; excess: bad outcomes that the best "
            "arm would have avoided; both on average",
        ]
        if not any(size.decided[0] for size in self.sizes):
            lines.append(
                "no trial decided: these are too few patients; `dpbandits plan --factor F` asks "
                "about F times as many, with the same shares"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""

        def named(interval: Interval, what: str) -> dict[str, float]:
            return dict(zip((what, "low95", "high95"), interval, strict=True))

        def design(found: FixedDesign | None) -> dict[str, Any] | None:
            if found is None:
                return None
            return {"per_arm": found.per_arm, "patients": found.patients, "error": found.error}

        return {
            "population": {
                "name": self.population.name,
                "successes": list(self.population.successes),
                "sizes": list(self.population.sizes),
            },
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "lower_bound_without_privacy": self.lower_bound_free,
            "fixed_design": design(self.fixed),
            "fixed_design_without_privacy": design(self.fixed_free),
            "algorithms": [
                {
                    "algorithm": size.algorithm.label,
                    "private": size.algorithm.guarantee.is_private,
                    "trials": size.n_runs,
                    "decided": named(size.decided, "share"),
                    "right": named(size.right, "share"),
                    "wrong": size.wrong,
                    **{
                        name: named(getattr(size, name), "mean")
                        for name in ("patients", "inferior", "failures", "excess")
                    },
                }
                for size in self.sizes
            ],
        }


def _design(found: FixedDesign | None) -> str:
    return "more than a million an arm" if found is None else f"{found.patients:,} patients"


def _share(share: Interval) -> str:
    value, low, high = share
    return f"{value:.0%} ({low:.0%}–{high:.0%})"


def _size(trials: Trials) -> TrialSize:
    return TrialSize(
        trials.algorithm,
        trials.n_runs,
        trials.share(trials.decided),
        trials.share(trials.right),
        trials.decided - trials.right,
        **trials.means(),
    )


def plan_trial(
    population: FinitePopulation,
    epsilon: float,
    delta: float,
    n_runs: int = 40,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> TrialPlan:
    """Say what adaptive trials on the patients of a table would do, privately and not.

    Parameters
    ----------
    population : FinitePopulation
        The patients; ``population.scaled(8)`` asks about eight times as many.
    epsilon : float
        Privacy budget ε > 0, which holds for each patient's outcome; ``inf`` plans without
        privacy.
    delta : float
        Probability δ, below 1/2.4, with which a wrong arm may be recommended.
    n_runs : int
        Simulated trials of each algorithm, at least 2.
    seed : int or sequence of int
        Entropy of the root seed.
    n_jobs : int
        Number of workers, −1 for all processors.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    if not isinstance(population, FinitePopulation):
        raise ValueError(
            f"population={population!r} is not a population; allowed: one such as isis2()"
        )
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    delta = check_fraction("delta", delta)
    if not 2.4 * delta < 1:
        raise ValueError(f"delta={delta!r} is out of range; allowed: below 1/2.4")
    n_runs = check_integer("n_runs", n_runs, 2)
    algorithms: list[IdentificationAlgorithm] = [TopTwo(delta)]
    if math.isfinite(epsilon):
        private = (DPLRE, DPTT, AdaPTTStar, DPSEIdentifier)
        algorithms = [*(make(epsilon, delta) for make in private), *algorithms]
    cases = {each.label: (each, population) for each in algorithms}
    trials = simulate_trials_many(cases, n_runs, seed, n_jobs)
    supply = population.superpopulation()
    return TrialPlan(
        population,
        epsilon,
        delta,
        sample_lower_bound(supply.means, epsilon, delta),
        sample_lower_bound(supply.means, math.inf, delta),
        fixed_design(supply, delta, epsilon),
        fixed_design(supply, delta),
        tuple(_size(each) for each in trials.values()),
    )
