"""Errors of private means of heavy-tailed rewards, and the laws on which no mean does better."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.running import Replicated, describe, run_cases
from dpbandits._intervals import mean_interval
from dpbandits._validation import check_choice, check_generator, check_integer
from dpbandits.bounds.twzw22 import local_kl_bound
from dpbandits.configuration import (
    Budget,
    Configuration,
    Order,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.heavy.robust_means import (
    central_threshold,
    central_width,
    local_threshold,
    local_width,
)
from dpbandits.mechanisms import laplace_total
from dpbandits.results import Replicates, axes_of
from dpbandits.rewards.heavy_laws import HeavyLaw, TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import check_heavy_law, truncated_sum

__all__ = [
    "MODELS",
    "MeanErrors",
    "TruncatedMean",
    "error_lower_bound",
    "error_rate",
    "hard_law",
    "mean_errors_many",
]

_Rewards = Annotated[int, whole(1, 10**30)]
Key = TypeVar("Key", bound=Hashable)

MODELS = ("none", "central", "local")
"""Trust models: everybody, only a curator, or nobody sees raw rewards."""
DEFAULT_LOG_TERM = math.log(2 / 0.05)


@dataclass(frozen=True)
class TruncatedMean(Configuration):
    """The mean of truncated rewards, without noise, with one Laplace variable, or with n.

    The threshold B is `central_threshold` or `local_threshold`; without privacy (ε = ``inf``) it is
    that of the central model for ε = 1, which balances bias and Bernstein's deviation.

    Parameters
    ----------
    model : {"none", "central", "local"}
        Trust model: everybody, only a curator, or nobody sees raw rewards.
    epsilon : float
        Privacy budget ε > 0; ``inf`` with the model "none", finite with the others.
    order : float
        v, in (0, 1].
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    log_term : float
        L > 0: the half-width fails with probability at most 3e^−L (central) or 2e^−L.

    Raises
    ------
    ValueError
        If ε is not possible in the model.

    Examples
    --------
    >>> mean = TruncatedMean("central", 0.5, order=1.0)
    >>> law = hard_law("central", 10**6, 0.5, order=1.0)
    >>> error = mean.error(np.random.default_rng(0), law, 10**6)
    >>> abs(error) < mean.half_width(10**6)
    True
    """

    model: Literal["none", "central", "local"]
    epsilon: Budget
    order: Order
    moment: Positive = 1.0
    log_term: Positive = DEFAULT_LOG_TERM

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_model(self.model, self.epsilon)

    @checked_arguments
    def threshold(self, n: _Rewards) -> float:
        """Return the threshold B for n rewards.

        Parameters
        ----------
        n : int
            Number of rewards, at least 1.

        Returns
        -------
        float
            The threshold, in units of a reward.
        """
        find = local_threshold if self.model == "local" else central_threshold
        return find(n, self.moment, self.order, self._budget, self.log_term)

    @checked_arguments
    def half_width(self, n: _Rewards) -> float:
        """Return a bound that the error exceeds with probability at most 3e^−L (central) or 2e^−L.

        Parameters
        ----------
        n : int
            Number of rewards, at least 1.

        Returns
        -------
        float
            The half-width, in units of a reward.
        """
        find = local_width if self.model == "local" else central_width
        err, factor = find(n, self.moment, self.order, self._budget, self.log_term)
        return (factor - 2.0 if self.model == "none" else factor) * err  # without the noise's 2

    @property
    def _budget(self) -> float:
        return 1.0 if self.model == "none" else self.epsilon

    @checked_arguments
    def rms(self, law: HeavyLaw, n: _Rewards) -> float:
        """Return the root-mean-square error for n rewards of a law: bias, spread and noise.

        The noise does not depend on the law, and is of minimax order on every law. On Pareto laws
        of shape 1.05 + v the other two terms decrease slightly faster in n than n^(−v/(1+v)).

        Parameters
        ----------
        law : HeavyLaw
            Distribution of the rewards.
        n : int
            Number of rewards, at least 1.

        Returns
        -------
        float
            The error, in units of a reward.
        """
        check_heavy_law(law)
        bound = self.threshold(n)
        bias = law.truncated_mean(bound) - law.mean
        noise = 8 * (bound / self.epsilon) ** 2 / (n if self.model == "local" else n * n)
        return math.sqrt(bias**2 + law.truncated_variance(bound) / n + noise)

    @checked_arguments
    def error(self, rng: Rng, law: HeavyLaw, n: _Rewards) -> float:
        """Draw an estimate from n rewards of a law, and return it minus the law's mean.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of rewards and noise.
        law : HeavyLaw
            Distribution of the rewards.
        n : int
            Number of rewards, at least 1.

        Returns
        -------
        float
            The error, in units of a reward.

        Raises
        ------
        ValueError
            If `rng` is not a generator.
        """
        check_generator("rng", rng)
        bound = self.threshold(n)
        total = truncated_sum(rng, law, n, bound)
        if self.model != "none":
            draws = 1 if self.model == "central" else n
            total += laplace_total(rng, 2 * bound / self.epsilon, draws)
        return total / n - law.mean


@dataclass(frozen=True, eq=False, repr=False)
class MeanErrors(Replicates):
    """Errors of one mean in independent replicates: estimates minus the law's mean.

    Attributes
    ----------
    estimator : TruncatedMean
        The mean.
    law : HeavyLaw
        Distribution of the rewards.
    n_rewards : int
        Number of rewards of each replicate.
    error : numpy.ndarray of float, shape (n_runs,)
        The errors, in units of a reward.

    Examples
    --------
    >>> law = hard_law("none", 10**4, math.inf, order=1.0)
    >>> mean = TruncatedMean("none", math.inf, order=1.0)
    >>> errors = mean_errors_many({"case": (mean, law, 10**4)}, n_runs=5)["case"]
    >>> errors.n_runs, sorted(errors.summary())
    (5, ['bias', 'median', 'rms', 'rms_high95', 'rms_low95'])
    """

    estimator: TruncatedMean
    law: HeavyLaw
    n_rewards: int
    error: Floats

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.error.size

    def summary_fields(self) -> tuple[str, str, dict[str, Any]]:
        played, on = repr(self.estimator), f"{self.n_rewards:g} rewards of {self.law!r}"
        return played, on, {"n_runs": self.n_runs, "rms": self.summary()["rms"]}

    def columns(self) -> dict[str, Any]:
        return {"error": self.error}

    def plot(self, axes: Any = None) -> Any:
        axes = axes_of(axes)
        axes.ecdf(np.abs(self.error), label=self.summary_fields()[0])
        axes.set(xscale="log", xlabel="size of the error", ylabel="share of runs")
        return axes

    def summary(self) -> dict[str, float]:
        """Return root mean square, with the roots of Student's 95 % interval, median and bias.

        Returns
        -------
        dict
            ``rms``, ``rms_low95``, ``rms_high95``; ``median``, of the absolute errors; ``bias``.
        """
        square, low, high = mean_interval(self.error**2)
        return {
            "rms": math.sqrt(square),
            "rms_low95": math.sqrt(max(low, 0.0)) if self.n_runs > 1 else math.nan,
            "rms_high95": math.sqrt(high),
            "median": float(np.median(np.abs(self.error))),
            "bias": float(self.error.mean()),
        }


def _replicated(case: tuple[TruncatedMean, HeavyLaw, int], n_runs: int) -> Replicated:
    """Check a case and describe it to the runner."""
    estimator, law, n_rewards = case
    if not isinstance(estimator, TruncatedMean):
        raise ValueError(f"estimator={estimator!r} must be a TruncatedMean")
    if not isinstance(law, HeavyLaw):
        raise ValueError(f"law={law!r} must be a law of heavy-tailed rewards, such as ParetoLaw")
    n_rewards = check_integer("n_rewards", n_rewards, 1)
    return Replicated(
        f"mean of {type(law).__name__}, n = {n_rewards:g}",
        {"estimator": describe(estimator), "law": describe(law), "n_rewards": n_rewards},
        partial(estimator.error, law=law, n=n_rewards),
        n_runs,
        chunk=200,
        warm_up=partial(estimator.error, np.random.default_rng(0), law, n_rewards),
        gather=lambda errors: MeanErrors(*case, np.array(errors)),
    )


def mean_errors_many(
    cases: Mapping[Key, tuple[TruncatedMean, HeavyLaw, int]],
    n_runs: int | Mapping[Key, int] = 1000,
    seed: int | Sequence[int] = 0,
    n_jobs: int = 1,
) -> dict[Key, MeanErrors]:
    """Draw independent errors of a mean in each of several cases.

    Parameters
    ----------
    cases : mapping of key to (estimator, law, n_rewards)
        A `TruncatedMean`, the law of the rewards, and their number; the keys are arbitrary.
    n_runs : int or mapping of key to int
        Number of replicates of each case, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more whole numbers of at least 0.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.

    Returns
    -------
    dict of key to MeanErrors
        The errors of each case.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type; the message contains the key of the case.

    Examples
    --------
    >>> mean = TruncatedMean("none", math.inf, order=1.0)
    >>> cases = {n: (mean, hard_law("none", n, math.inf, 1.0), n) for n in (10**4, 10**6)}
    >>> errors = mean_errors_many(cases, n_runs=5)
    >>> [round(errors[n].summary()["rms"], 6) for n in cases]
    [0.01, 0.001]
    """
    return run_cases(cases, _replicated, n_runs, seed, n_jobs)


@checked_arguments
def hard_law(
    model: str, n: _Rewards, epsilon: Budget, order: Order, moment: Positive = 1.0
) -> TwoPointHeavyLaw:
    """Return the two-point law that n rewards do not distinguish from the law at 0.

    It is on {0, h}, with P(h) = p as large as can be hidden from n rewards, and h as large as the
    moment allows, p·h^(1+v) = u. An estimator must miss the mean m = p·h here or at 0
    (`error_lower_bound`):

    ======== ======================== ==================================
    model    p                        order of m
    ======== ======================== ==================================
    none     1/n                      n^(−v/(1+v))
    central  1/(n·(1 − e^−ε))         (nε)^(−v/(1+v))
    local    1/(√n·(e^ε − 1))         (nε²)^(−v/(2(1+v)))
    ======== ======================== ==================================

    Parameters
    ----------
    model : {"none", "central", "local"}
        Trust model: everybody, only a curator, or nobody sees raw rewards.
    n : int
        Number of rewards, at least 1.
    epsilon : float
        Privacy budget ε > 0; ``inf`` with the model "none", finite with the others.
    order : float
        v, in (0, 1].
    moment : float
        u > 0.

    Returns
    -------
    TwoPointHeavyLaw
        The law.

    Raises
    ------
    ValueError
        If ε is not possible in the model.

    Examples
    --------
    >>> law = hard_law("none", 10_000, math.inf, order=1.0)
    >>> round(law.high, 9), round(law.probability, 9), round(law.mean, 9)
    (100.0, 0.0001, 0.01)
    """
    _check_model(model, epsilon)
    if model == "local":
        if epsilon > 300:
            raise ValueError(f"epsilon={epsilon!r} is out of range; allowed locally: up to 300")
        p = min(1.0, 1 / (math.sqrt(n) * math.expm1(epsilon)))
    else:
        p = min(1.0, -1 / (n * math.expm1(-epsilon)))
    return TwoPointHeavyLaw((moment / p) ** (1 / (1 + order)), p)


@checked_arguments
def error_lower_bound(
    model: str, n: _Rewards, epsilon: Budget, order: Order, moment: Positive = 1.0
) -> float:
    """Bound from below the larger of the mean absolute errors on `hard_law` and on the law at 0.

    No estimator in the model has a smaller error on both. Proof: :prf:ref:`thm-hidden-law`.

    Parameters
    ----------
    model : {"none", "central", "local"}
        Trust model: everybody, only a curator, or nobody sees raw rewards.
    n : int
        Number of rewards, at least 1.
    epsilon : float
        Privacy budget ε > 0; ``inf`` with the model "none", finite with the others.
    order : float
        v, in (0, 1].
    moment : float
        u > 0.

    Returns
    -------
    float
        The bound, in units of a reward.

    Raises
    ------
    ValueError
        If ε is not possible in the model.

    Examples
    --------
    >>> round(error_lower_bound("local", 10**4, 1.0, order=1.0), 4)
    0.0202
    """
    law = hard_law(model, n, epsilon, order, moment)
    if model == "local":
        revealed = local_kl_bound(epsilon, law.probability)
        log_affinity = n * math.log1p(-revealed / 4)  # revealed is half of the c of the proof
        return law.mean * (1 - math.sqrt(-math.expm1(2 * log_affinity))) / 2
    kept = law.probability * math.expm1(-epsilon)
    hidden = math.exp(n * math.log1p(kept)) if kept > -1 else 0.0
    return law.mean * hidden / (1 + hidden)


@checked_arguments
def error_rate(model: str, order: Order) -> float:
    """Return the exponent of n in the minimax error: −v/(1+v), or half of that locally.

    Parameters
    ----------
    model : {"none", "central", "local"}
        Trust model: everybody, only a curator, or nobody sees raw rewards.
    order : float
        v, in (0, 1].

    Returns
    -------
    float
        The exponent.

    Examples
    --------
    >>> error_rate("central", 1.0), error_rate("local", 1.0)
    (-0.5, -0.25)
    """
    check_choice("model", model, MODELS)
    return -order / (1 + order) / (2 if model == "local" else 1)


def _check_model(model: str, epsilon: float) -> None:
    check_choice("model", model, MODELS)
    if math.isinf(epsilon) != (model == "none"):
        raise ValueError(
            f"epsilon={epsilon!r} does not go with model={model!r}; "
            'allowed: inf for "none", a finite number for the others'
        )
