"""Planning a private trial: samples until the best arm is found, and the price of privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpbandits import identification
from dpbandits._validation import check_fraction, check_integer, check_kind, check_positive
from dpbandits.identification import DPLRE, DPTT, AdaPTTStar, DPSEIdentifier, TopTwo
from dpbandits.identification.base import check_unique_best_arm
from dpbandits.rewards.instances import bernoulli
from dpbandits.trials.fixed_design import FixedDesign, fixed_design

_ROW = "{:12} {:8} {:>12} {:>25} {:>12} {:>12}".format
_TRIALS_ROW = "{:10} {:9} {:>17} {:>17} {:>7} {:>24} {:>9} {:>8}".format
_COSTS = "patients", "inferior", "excess"


@dataclass(frozen=True)
class Plan:
    """Samples of a private trial for given means; `plan` makes it.

    Attributes
    ----------
    means : tuple of float, length K
        The assumed means.
    epsilon : float
        Privacy budget ε of each person's outcome.
    delta : float
        Allowed probability δ of a wrong recommendation.
    lower_bound : float
        T*_ε·log(1/(2.4δ)): no ε-DP algorithm that errs with probability at most δ on every instance
        takes fewer samples on average.
    lower_bound_free : float
        The same without privacy, ε = ∞.
    free_from : float
        Least ε at which the two bounds are equal: from there on, privacy is free according to the
        lower bound. Infinite if the largest mean is 1 or another is 0.
    weights : tuple of float, length K
        Shares of the arms in the optimal allocation of the bound.
    runs : tuple of Identifications
        Simulated trials of the algorithms, private ones first.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> p = dpb.plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=4)
    >>> p.means, p.price > 1, p.best in p.runs
    ((0.9, 0.5), True, True)
    """

    means: tuple[float, ...]
    epsilon: float
    delta: float
    lower_bound: float
    lower_bound_free: float
    free_from: float
    weights: tuple[float, ...]
    runs: tuple[identification.Identifications, ...]

    @property
    def price(self) -> float:
        """The price of privacy: the ratio of the lower bound at ε to that at ε = ∞."""
        return self.lower_bound / self.lower_bound_free

    @property
    def best(self) -> identification.Identifications:
        """Runs of the private algorithm with the least mean, of all algorithms if none is private.

        An unknown mean comes after all others.
        """
        private = [runs for runs in self.runs if runs.algorithm.guarantee.is_private]
        runs = private or self.runs
        return min(runs, key=lambda each: (not each.stopped.all(), each.stopping_time.mean()))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values.

        Returns
        -------
        dict
            Ready for JSON: the attributes, and for each algorithm samples, their interval and
            errors.
        """
        return {
            "means": list(self.means),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "lower_bound_without_privacy": self.lower_bound_free,
            "price_of_privacy": self.price,
            "free_from_epsilon": self.free_from,
            "weights": list(self.weights),
            "algorithms": [
                {
                    **_named_runs(runs),
                    "samples": {
                        **_named(runs.mean_time(), "mean"),
                        "quantile90": runs.time_quantiles(0.9).item(),
                    },
                    "wrong": runs.errors(),
                }
                for runs in self.runs
            ],
        }

    def __str__(self) -> str:
        means = ", ".join(f"{mean:g}" for mean in self.means)
        shares = ", ".join(f"{share:.1%}" for share in self.weights)
        lines = [
            f"means {means}; ε = {self.epsilon:g}, δ = {self.delta:g}",
            f"lower bound: {_pulls(self.lower_bound)} samples on average, shared as {shares}",
            f"without privacy: {_pulls(self.lower_bound_free)}; price of privacy: "
            f"{self.price:.3g} times",
            "privacy is free, by the lower bound, "
            + (f"from ε = {self.free_from:.4g} on" if self.free_from < math.inf else "at no ε"),
            "",
            _ROW("algorithm", "privacy", "mean", "95 % interval", "9 in 10 by", "wrong"),
        ]
        for each in self.as_dict()["algorithms"]:
            mean, low, high, most = each["samples"].values()
            # no run stops before each arm has been pulled, but Student's interval may be lower
            low = low if math.isnan(low) else max(low, len(self.means))
            columns = (_pulls(mean), f"{_pulls(low)} to {_pulls(high)}", _pulls(most))
            wrong = f"{each['wrong']} of {each['trials']}"
            lines.append(_ROW(each["algorithm"], _privacy(each, self.epsilon), *columns, wrong))
        lines += ["", f"simulated runs of each: {self.runs[0].n_runs}"]
        if not all(runs.stopped.all() for runs in self.runs):
            lines.append("unknown: some runs were ended before they stopped")
        return "\n".join(lines)


@dataclass(frozen=True)
class TrialPlan:
    """Private adaptive trials on the patients of a table; `plan_trial` makes it.

    Attributes
    ----------
    population : FinitePopulation
        The patients.
    epsilon : float
        Privacy budget ε of each patient's outcome.
    delta : float
        Allowed probability δ of a wrong recommendation.
    lower_bound : float
        T*_ε·log(1/(2.4δ)): least average number of patients of any ε-DP algorithm that errs with
        probability at most δ, from an unlimited supply of patients with the table's shares.
    lower_bound_free : float
        The same without privacy, ε = ∞.
    fixed : FixedDesign or None
        Smallest private design with equal arms and one count of each at the end that errs with
        probability at most δ, from an unlimited supply; it requires known shares. None above a
        million patients per arm.
    fixed_free : FixedDesign or None
        The same without privacy.
    trials : tuple of Trials
        Trials of the algorithms on the patients, private ones first.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> table = dpb.identification.FinitePopulation((900, 500), (1000, 1000), "example")
    >>> p = dpb.plan_trial(table, epsilon=1.0, delta=0.05, n_runs=4)
    >>> p.fixed_free.patients < p.fixed.patients, len(p.trials)
    (True, 5)
    """

    population: identification.FinitePopulation
    epsilon: float
    delta: float
    lower_bound: float
    lower_bound_free: float
    fixed: FixedDesign | None
    fixed_free: FixedDesign | None
    trials: tuple[identification.Trials, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values.

        Returns
        -------
        dict
            Ready for JSON: the attributes, and for each algorithm decisions, patients and outcomes.
        """
        return {
            "population": asdict(self.population),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "lower_bound_without_privacy": self.lower_bound_free,
            "fixed_design": self.fixed and self.fixed._asdict(),
            "fixed_design_without_privacy": self.fixed_free and self.fixed_free._asdict(),
            "algorithms": [
                {
                    **_named_runs(trials),
                    "decided": _named(trials.share(trials.decided), "share"),
                    "right": _named(trials.share(trials.right), "share"),
                    "wrong": trials.decided - trials.right,
                    **{name: _named(mean, "mean") for name, mean in trials.means().items()},
                }
                for trials in self.trials
            ],
        }

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
            _TRIALS_ROW("algorithm", "privacy", "decided", "right arm", "wrong", *_COSTS),
        ]
        for each in self.as_dict()["algorithms"]:
            rates = (_ends(each[name], ".0%") for name in ("decided", "right"))
            wrong, patients = f"{each['wrong']}/{each['trials']}", _ends(each["patients"], ",.0f")
            means = f"{each['inferior']['mean']:,.0f}", f"{each['excess']['mean']:,.1f}"
            name, private = each["algorithm"], _privacy(each, self.epsilon)
            lines.append(_TRIALS_ROW(name, private, *rates, wrong, patients, *means))
        lines += [
            "",
            f"simulated trials of each: {self.trials[0].n_runs}; intervals: 95 %; a trial is "
            "undecided when the patients of an arm run out",
            "inferior: patients that did not get the best arm; excess: bad outcomes that the best "
            "arm would have avoided; both on average",
        ]
        if not any(trials.decided for trials in self.trials):
            lines.append(
                "no trial decided: these are too few patients; `dpbandits plan --factor F` asks "
                "about F times as many, with the same shares"
            )
        return "\n".join(lines)


def _named_runs(runs: identification.Identifications | identification.Trials) -> dict[str, Any]:
    private = runs.algorithm.guarantee.is_private
    return {"algorithm": runs.algorithm.label, "private": private, "trials": runs.n_runs}


def _named(interval: tuple[float, float, float], what: str) -> dict[str, float]:
    return dict(zip((what, "low95", "high95"), interval, strict=True))


def _privacy(entry: Mapping[str, Any], epsilon: float) -> str:
    return f"ε = {epsilon:g}" if entry["private"] else "none"


def _pulls(count: float) -> str:
    """Write a number of samples with three digits, grouped from a thousand up to 10¹⁵."""
    if not math.isfinite(count):
        return "unknown" if math.isnan(count) else str(count)
    if abs(count) >= 1e15:
        return f"{count:.3g}"
    digits = max(0, int(math.log10(max(abs(count), 1.0))) - 2)
    return f"{round(count, -digits):,.0f}"


def _design(found: FixedDesign | None) -> str:
    return "more than a million an arm" if found is None else f"{found.patients:,} patients"


def _ends(interval: Mapping[str, float], form: str) -> str:
    value, low, high = (format(each, form) for each in interval.values())
    return f"{value} ({low}–{high})"


def _checked(epsilon: float, delta: float, n_runs: int) -> tuple[float, float, int]:
    if not 2.4 * check_fraction("delta", delta) < 1:
        raise ValueError(f"delta={delta!r} is out of range; allowed: below 1/2.4")
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    return epsilon, float(delta), check_integer("n_runs", n_runs, 2)


def _algorithms(private: Sequence[Any], epsilon: float, delta: float) -> list[Any]:
    return [*(make(epsilon, delta) for make in private if epsilon < math.inf), TopTwo(delta)]


def plan(
    means: Sequence[float],
    epsilon: float,
    delta: float,
    n_runs: int = 40,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
    max_pulls: int = 10**12,
) -> Plan:
    """Estimate the samples needed to find the best treatment under ε-differential privacy.

    Parameters
    ----------
    means : sequence of float, length K ≥ 2
        Assumed probabilities of success, each in [0, 1], with a unique maximum.
    epsilon : float
        Privacy budget ε > 0 of each person's outcome, ``inf`` without privacy.
    delta : float
        Probability δ < 1/2.4 with which a wrong treatment may be recommended.
    n_runs : int
        Simulated trials of each algorithm, at least 2, for the interval of the mean.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.
    max_pulls : int
        Samples after which a trial that has not stopped is cut off; the mean is then unknown.

    Returns
    -------
    Plan
        Lower bounds, and the algorithms' samples in simulation; printed, it is a report.

    Raises
    ------
    ValueError
        If an argument is out of range, or several means are the largest.

    Examples
    --------
    >>> from dpbandits import plan
    >>> p = plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=4)
    >>> print(str(p).splitlines()[0])
    means 0.9, 0.5; ε = 1, δ = 0.05
    >>> p.price > 1, p.lower_bound < p.best.stopping_time.mean(), p.best in p.runs
    (True, np.True_, True)
    """
    instance = check_unique_best_arm(bernoulli(means, "plan"))
    epsilon, delta, n_runs = _checked(epsilon, delta, n_runs)
    optimum = identification.characteristic_time(instance.means, epsilon)
    return Plan(
        instance.mean_rewards,
        epsilon,
        delta,
        identification.sample_lower_bound(instance.means, epsilon, delta),
        identification.sample_lower_bound(instance.means, math.inf, delta),
        identification.privacy_switches(instance.means).exact,
        tuple(optimum.weights.tolist()),
        tuple(
            identification.identify(algorithm, instance, n_runs, seed, max_pulls, n_jobs)
            for algorithm in _algorithms((DPLRE, DPTT, DPSEIdentifier), epsilon, delta)
        ),
    )


def plan_trial(
    population: identification.FinitePopulation,
    epsilon: float,
    delta: float,
    n_runs: int = 40,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> TrialPlan:
    """Simulate adaptive trials on the patients of a table, with and without privacy.

    Parameters
    ----------
    population : FinitePopulation
        The patients; use ``population.scaled(8)`` for eight times as many.
    epsilon : float
        Privacy budget ε > 0 of each patient's outcome, ``inf`` without privacy.
    delta : float
        Probability δ < 1/2.4 with which a wrong treatment may be recommended.
    n_runs : int
        Simulated trials of each algorithm, at least 2.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.

    Returns
    -------
    TrialPlan
        Lower bounds, fixed designs, and the algorithms' results; printed, it is a report.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> table = dpb.identification.FinitePopulation((900, 500), (1000, 1000), "example")
    >>> print(str(dpb.plan_trial(table, epsilon=1.0, delta=0.05, n_runs=4)).splitlines()[0])
    example: 2,000 patients, shares of success 0.9, 0.5; ε = 1, δ = 0.05
    """
    check_kind("population", population, identification.FinitePopulation, "isis2()")
    epsilon, delta, n_runs = _checked(epsilon, delta, n_runs)
    algorithms = _algorithms((DPLRE, DPTT, AdaPTTStar, DPSEIdentifier), epsilon, delta)
    cases = {algorithm.label: (algorithm, population) for algorithm in algorithms}
    trials = identification.simulate_trials_many(cases, n_runs, seed, n_jobs)
    supply = population.superpopulation()
    return TrialPlan(
        population,
        epsilon,
        delta,
        identification.sample_lower_bound(supply.means, epsilon, delta),
        identification.sample_lower_bound(supply.means, math.inf, delta),
        fixed_design(supply, delta, epsilon),
        fixed_design(supply, delta),
        tuple(trials.values()),
    )
