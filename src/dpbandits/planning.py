"""Planning a private trial: samples until the best arm is found, and what privacy costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpbandits._validation import check_fraction, check_integer, check_positive
from dpbandits.identification import (
    DPLRE,
    DPTT,
    DPSEIdentifier,
    IdentificationAlgorithm,
    TopTwo,
    characteristic_time,
    identify,
    privacy_switches,
    sample_lower_bound,
)
from dpbandits.identification.base import check_unique_best_arm
from dpbandits.rewards.instances import bernoulli

__all__ = ["Plan", "SampleSize", "plan"]


@dataclass(frozen=True)
class SampleSize:
    """How many samples one algorithm takes on the planned instance.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration that was simulated.
    mean, mean_low, mean_high : float
        Mean stopping time with Student's 95 % interval, in pulls.
    quantile90 : float
        Nine in ten simulated runs took at most so many pulls.
        Mean, interval and quantile are nan where runs that were ended hide them.
    wrong : int
        Simulated runs that recommend a wrong arm.
    n_runs : int
        Number of simulated runs.
    """

    algorithm: IdentificationAlgorithm
    mean: float
    mean_low: float
    mean_high: float
    quantile90: float
    wrong: int
    n_runs: int


@dataclass(frozen=True)
class Plan:
    """How many samples a private trial on given means would take.

    Attributes
    ----------
    means : tuple of float
        The means that were assumed.
    epsilon : float
        Privacy budget ε.
    delta : float
        Probability δ of a wrong recommendation that is allowed.
    lower_bound : float
        No ε-DP algorithm that errs with probability at most δ on every instance takes fewer
        samples on average: T*_ε·log(1/(2.4δ)).
    lower_bound_free : float
        The same without privacy, ε = ∞.
    free_from : float
        Least ε at which the two bounds are equal: from there on, privacy is free as far as the
        lower bound can tell. Infinite if the greatest mean is 1 or another is 0.
    weights : tuple of float
        Shares of the samples that the bound's best allocation gives to the arms.
    sizes : tuple of SampleSize
        How many samples the algorithms take, private ones first.
    """

    means: tuple[float, ...]
    epsilon: float
    delta: float
    lower_bound: float
    lower_bound_free: float
    free_from: float
    weights: tuple[float, ...]
    sizes: tuple[SampleSize, ...]

    @property
    def price(self) -> float:
        """The price of privacy, which is the lower bound at ε over that at ε = ∞."""
        return self.lower_bound / self.lower_bound_free

    @property
    def best(self) -> SampleSize:
        """The private algorithm with the least mean, of all algorithms if none is private.

        An unknown mean comes after all others.
        """
        private = [size for size in self.sizes if size.algorithm.guarantee.is_private]
        sizes = private or self.sizes
        return min(sizes, key=lambda size: (math.isnan(size.mean), size.mean))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
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
                    "algorithm": size.algorithm.label,
                    "private": size.algorithm.guarantee.is_private,
                    "trials": size.n_runs,
                    "samples": {
                        "mean": size.mean,
                        "low95": size.mean_low,
                        "high95": size.mean_high,
                        "quantile90": size.quantile90,
                    },
                    "wrong": size.wrong,
                }
                for size in self.sizes
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
            f"{'algorithm':12} {'privacy':8} {'mean':>12} {'95 % interval':>25} {'9 in 10 by':>12} "
            f"{'wrong':>12}",
        ]
        n_arms = len(self.means)
        for size in self.sizes:
            privacy = f"ε = {self.epsilon:g}" if size.algorithm.guarantee.is_private else "none"
            # no run stops before each arm has been pulled; Student's interval does not know
            low = size.mean_low if math.isnan(size.mean_low) else max(size.mean_low, n_arms)
            interval = f"{_pulls(low)} to {_pulls(size.mean_high)}"
            wrong = f"{size.wrong} of {size.n_runs}"
            lines.append(
                f"{size.algorithm.label:12} {privacy:8} {_pulls(size.mean):>12} {interval:>25} "
                f"{_pulls(size.quantile90):>12} {wrong:>12}"
            )
        runs = sorted({size.n_runs for size in self.sizes})
        lines += ["", f"simulated runs of each: {', '.join(map(str, runs))}"]
        if any(math.isnan(size.mean) for size in self.sizes):
            lines.append("unknown: some runs were ended before they stopped")
        return "\n".join(lines)


def _pulls(count: float) -> str:
    """Write a number of samples with three digits, those above a thousand grouped."""
    if not math.isfinite(count):
        return "unknown" if math.isnan(count) else str(count)
    digits = max(0, int(math.log10(max(abs(count), 1.0))) - 2)
    return f"{round(count, -digits):,.0f}"


def plan(
    means: Sequence[float],
    epsilon: float,
    delta: float,
    n_runs: int = 40,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
    max_pulls: int = 10**12,
) -> Plan:
    """Say how many samples it takes to find the best treatment under ε-differential privacy.

    Parameters
    ----------
    means : sequence of float
        Probabilities of success that the plan assumes, each in [0, 1]; one is the greatest.
    epsilon : float
        Privacy budget ε > 0, which holds for each person's outcome; ``inf`` plans without
        privacy.
    delta : float
        Probability δ, below 1/2.4, with which a wrong treatment may be recommended.
    n_runs : int
        Simulated trials of each algorithm, at least 2, for the interval of the mean.
    seed : int or sequence of int
        Entropy of the root seed.
    n_jobs : int
        Number of workers, −1 for all processors.
    max_pulls : int
        Pulls after which a simulated trial that has not stopped is ended; the mean is unknown
        then.

    Raises
    ------
    ValueError
        If an argument is out of range, or several means are the greatest.

    Examples
    --------
    >>> from dpbandits import plan
    >>> p = plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=4)
    >>> print(str(p).splitlines()[0])
    means 0.9, 0.5; ε = 1, δ = 0.05
    >>> p.price > 1, p.lower_bound < p.best.mean, p.best in p.sizes
    (True, True, True)
    """
    instance = check_unique_best_arm(bernoulli(means, "plan"))
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    delta = check_fraction("delta", delta)
    if not 2.4 * delta < 1:
        raise ValueError(f"delta={delta!r} is out of range; allowed: below 1/2.4")
    n_runs = check_integer("n_runs", n_runs, 2)
    algorithms: list[IdentificationAlgorithm] = []
    if math.isfinite(epsilon):
        algorithms = [DPLRE(epsilon, delta), DPTT(epsilon, delta), DPSEIdentifier(epsilon, delta)]
    sizes = []
    for algorithm in (*algorithms, TopTwo(delta)):
        runs = identify(algorithm, instance, n_runs, seed, max_pulls, n_jobs)
        (quantile,) = runs.time_quantiles([0.9])
        size = SampleSize(algorithm, *runs.mean_time(), float(quantile), runs.errors(), n_runs)
        sizes.append(size)
    optimum = characteristic_time(instance.means, epsilon)
    return Plan(
        instance.mean_rewards,
        epsilon,
        delta,
        sample_lower_bound(instance.means, epsilon, delta),
        sample_lower_bound(instance.means, math.inf, delta),
        privacy_switches(instance.means).exact,
        tuple(float(share) for share in optimum.weights),
        tuple(sizes),
    )
