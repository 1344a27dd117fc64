"""Replicates of an identification algorithm on an instance."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._files import write_atomically
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer, check_values
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    MOST_PULLS,
    IdentificationAlgorithm,
    Verdict,
    check_unique_best_arm,
)
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.running import Replicated, describe, label_errors, run_replicates, runs_of

__all__ = ["Identifications", "identify", "identify_many", "identify_replicate"]

Key = TypeVar("Key", bound=Hashable)

_CHUNK = 10
"""Replicates that a worker runs at a time."""


@dataclass(frozen=True, eq=False)
class Identifications:
    """Replicates of one algorithm on one instance.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        Configuration that was run.
    instance : BernoulliInstance
        The bandit.
    max_pulls : int
        Pulls after which a run that had not stopped was ended.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each run recommends, 0-based; −1 if the run was ended before.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm in each run.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.1])
    >>> runs = dpb.identify(dpb.DPSEIdentifier(1.0, 0.1), easy, n_runs=3)
    >>> runs.stopping_time.tolist(), runs.errors()
    ([1302, 1302, 1302], 0)
    >>> runs.time_quantiles([0.5, 0.9]).tolist()
    [1302.0, 1302.0]
    """

    algorithm: IdentificationAlgorithm
    instance: BernoulliInstance
    max_pulls: int
    recommendation: NDArray[np.int64]
    pulls: NDArray[np.int64]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.recommendation.size

    @property
    def stopping_time(self) -> NDArray[np.int64]:
        """Number of pulls τ of each run, shape (n_runs,)."""
        times: NDArray[np.int64] = self.pulls.sum(axis=1)
        return times

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Whether each run stopped by itself, shape (n_runs,)."""
        stopped: NDArray[np.bool_] = self.recommendation >= 0
        return stopped

    def errors(self) -> int:
        """Count the runs that stopped and recommend another arm than the best."""
        wrong = self.stopped & (self.recommendation != self.instance.best_arm)
        return int(np.count_nonzero(wrong))

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of runs that recommend a wrong arm, with its Clopper–Pearson interval.

        Parameters
        ----------
        level : float
            Confidence of the interval.

        Returns
        -------
        tuple of float
            Rate, lower end, upper end.

        Raises
        ------
        ValueError
            If `level` is out of range.
        """
        return share_interval(self.errors(), self.n_runs, level)

    def mean_time(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean stopping time, with Student's interval.

        Parameters
        ----------
        level : float
            Confidence of the interval.

        Returns
        -------
        tuple of float
            Mean, lower end, upper end; nan if a run was ended early, for then it is unknown. With
            one run the ends are nan.

        Raises
        ------
        ValueError
            If `level` is out of range.
        """
        found = mean_interval(self.stopping_time, level)
        return found if self.stopped.all() else (math.nan, math.nan, math.nan)

    def time_quantiles(self, levels: ArrayLike) -> NDArray[np.float64]:
        """Return quantiles of the stopping time, each the time of a run.

        Parameters
        ----------
        levels : array_like of float
            Shares of the runs, from 0 to 1.

        Returns
        -------
        numpy.ndarray of float, of the shape of `levels`
            For each level the least time within which this share of the runs stopped; nan if so
            many did not stop, for a run that was ended would have taken longer.

        Raises
        ------
        ValueError
            If a level is out of range.
        """
        levels = check_values("levels", levels, 0.0, 1.0)
        times = np.where(self.stopped, self.stopping_time.astype(np.float64), math.inf)
        quantiles = np.asarray(np.quantile(times, levels, method="inverted_cdf"))
        known: NDArray[np.float64] = np.where(np.isfinite(quantiles), quantiles, math.nan)
        return known

    def summary(self) -> dict[str, Any]:
        """Return the columns that tables and figures show, one value each.

        Returns
        -------
        dict
            Mean stopping time with its 95 % interval, standard deviation, quantiles and maximum;
            error rate with its 95 % interval. What runs that were ended early hide is nan.
        """
        mean, low, high = self.mean_time()
        rate, rate_low, rate_high = self.error_rate()
        known = self.stopped.all() and self.n_runs > 1
        quantiles = self.time_quantiles([0.05, 0.5, 0.95]).tolist()
        return {
            "n_runs": self.n_runs,
            "stopped": int(self.stopped.sum()),
            "mean_time": mean,
            "time_low95": low,
            "time_high95": high,
            "time_sd": float(self.stopping_time.std(ddof=1)) if known else math.nan,
            **dict(zip(("time_q05", "time_q50", "time_q95"), quantiles, strict=True)),
            "time_max": float(self.stopping_time.max()),
            "error_rate": rate,
            "error_low95": rate_low,
            "error_high95": rate_high,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a run: stopping time, recommendation, pulls of each arm.

        A recommendation of −1 means that the run was ended before it stopped.
        """
        arms = ",".join(f"pulls_{arm}" for arm in range(self.instance.n_arms))
        rows = np.column_stack([self.stopping_time, self.recommendation, self.pulls]).tolist()
        lines = [f"stopping_time,recommendation,{arms}", *(",".join(map(str, row)) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


def identify_replicate(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    max_pulls: int,
    seed: np.random.SeedSequence,
) -> Verdict:
    """Run one replicate from its own seed: the unit of parallel work.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run.
    instance : BernoulliInstance
        The bandit, with one best arm.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    seed : numpy.random.SeedSequence
        Seed of the replicate.

    Returns
    -------
    `dpbandits.identification.base.Verdict`
    """
    return algorithm.draw(instance, np.random.default_rng(seed), max_pulls)


def _identify_chunk(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    max_pulls: int,
    seeds: Sequence[np.random.SeedSequence],
) -> list[Verdict]:
    return [identify_replicate(algorithm, instance, max_pulls, seed) for seed in seeds]


def _replicated(
    algorithm: IdentificationAlgorithm, instance: BernoulliInstance, n_runs: int, max_pulls: int
) -> Replicated:
    """Check a case and describe it to the runner."""
    if not isinstance(algorithm, IdentificationAlgorithm):
        raise ValueError(
            f"algorithm={algorithm!r} is no algorithm for identification; allowed: one such as "
            "DPTT(epsilon=1.0, delta=0.01)"
        )
    instance = check_unique_best_arm(instance)
    max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
    # not max_pulls: a run that is ended early is the beginning of the one that is not
    configuration = {"algorithm": describe(algorithm), "means": list(instance.mean_rewards)}
    short = min(max_pulls, max(64, 4 * instance.n_arms))
    return Replicated(
        f"{algorithm.label}, {instance.name}",
        configuration,
        partial(_identify_chunk, algorithm, instance, max_pulls),
        check_integer("n_runs", n_runs, 1),
        chunk=_CHUNK,
        warm_up=partial(algorithm.draw, instance, np.random.default_rng(0), short),
    )


def identify(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    max_pulls: int = DEFAULT_MAX_PULLS,
    n_jobs: int = 1,
) -> Identifications:
    """Simulate independent replicates of an algorithm for best-arm identification.

    The result depends on the arguments alone, and not on `n_jobs`. It is the same as that of
    `identify_many`, in whatever grid the case stands there.

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run, such as ``DPTT(epsilon=1.0, delta=0.01)``.
    instance : BernoulliInstance
        The bandit, such as ``instances.ja25("mu1")``; one arm has to be the best.
    n_runs : int
        Number of replicates.
    seed : int or sequence of int
        Entropy of the root seed.
    max_pulls : int
        Pulls after which a run that has not stopped is ended; its recommendation is −1.
    n_jobs : int
        Number of workers, −1 for all processors.

    Returns
    -------
    Identifications

    Raises
    ------
    ValueError
        If an argument is out of range: the message names it and says what is allowed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.5, 0.1])
    >>> runs = dpb.identify(dpb.DPLRE(1.0, 0.1), easy, n_runs=5, seed=1)
    >>> runs.stopped.all(), runs.pulls.shape
    (np.True_, (5, 3))
    """
    case = _replicated(algorithm, instance, n_runs, max_pulls)
    return _identifications(
        algorithm, instance, max_pulls, run_replicates({None: case}, seed, n_jobs)[None]
    )


def identify_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, BernoulliInstance]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    max_pulls: int = DEFAULT_MAX_PULLS,
    n_jobs: int = 1,
) -> dict[Key, Identifications]:
    """Simulate a whole grid of cases; the arguments are those of `identify`.

    Parameters
    ----------
    cases : mapping of key to (algorithm, instance)
        What is simulated; the keys are yours.
    n_runs : int or mapping of key to int
        Number of replicates of each case.
    seed, max_pulls, n_jobs
        As of `identify`.

    Returns
    -------
    dict of Identifications
        With the keys of `cases`, in their order.

    Raises
    ------
    ValueError
        If an argument is out of range or a case cannot be played: the message has its key.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.5, 0.1])
    >>> cases = {eps: (dpb.DPTT(eps, 0.1), easy) for eps in (0.5, 1.0)}
    >>> runs = dpb.identify_many(cases, n_runs=5)
    >>> runs[0.5].stopping_time.mean() > runs[1.0].stopping_time.mean()
    np.True_
    """
    replicated: dict[Key, Replicated] = {}
    for key, (algorithm, instance) in cases.items():
        with label_errors(key):
            runs = runs_of(key, n_runs)
            replicated[key] = _replicated(algorithm, instance, runs, max_pulls)
    verdicts = run_replicates(replicated, seed, n_jobs)
    return {
        key: _identifications(algorithm, instance, max_pulls, verdicts[key])
        for key, (algorithm, instance) in cases.items()
    }


def _identifications(
    algorithm: IdentificationAlgorithm,
    instance: BernoulliInstance,
    max_pulls: int,
    verdicts: Sequence[Verdict],
) -> Identifications:
    """Put the replicates of a case together."""
    return Identifications(
        algorithm,
        instance,
        int(max_pulls),
        np.array([verdict.recommendation for verdict in verdicts], dtype=np.int64),
        np.array([verdict.pulls for verdict in verdicts], dtype=np.int64),
    )
