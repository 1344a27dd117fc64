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

from dpbandits._arrays import Floats, Ints
from dpbandits._files import write_atomically
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer, check_kind, check_values
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    Decision,
    IdentificationAlgorithm,
    check_unique_best_arm,
)
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.running import Replicated, describe, run_cases
from dpbandits.schedules import MOST_PULLS

__all__ = ["Identifications", "identify", "identify_many"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Identifications:
    """Replicates of one algorithm on one instance.

    Attributes
    ----------
    algorithm, instance, max_pulls
        What was run, as of `identify`.
    recommendation : numpy.ndarray of int, shape (n_runs,)
        The arm that each run recommends, 0-based; −1 if the run was ended before.
    pulls : numpy.ndarray of int, shape (n_runs, K)
        Pulls of each arm in each run.
    """

    algorithm: IdentificationAlgorithm
    instance: BernoulliInstance
    max_pulls: int
    recommendation: Ints
    pulls: Ints

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.recommendation.size

    @property
    def stopping_time(self) -> Ints:
        """Number of pulls τ of each run, shape (n_runs,)."""
        return np.asarray(self.pulls.sum(axis=1))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Whether each run stopped by itself, shape (n_runs,)."""
        return np.asarray(self.recommendation >= 0)

    def errors(self) -> int:
        """Count the runs that stopped and recommend another arm than the best."""
        return int((self.stopped & (self.recommendation != self.instance.best_arm)).sum())

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of wrong runs and the ends of its Clopper–Pearson interval."""
        return share_interval(self.errors(), self.n_runs, level)

    def mean_time(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean stopping time and the ends of Student's interval.

        All are nan if a run was ended early, for then the mean is unknown; with one run the ends.
        """
        found = mean_interval(self.stopping_time, level)
        return found if self.stopped.all() else (math.nan, math.nan, math.nan)

    def time_quantiles(self, levels: ArrayLike) -> Floats:
        """Return for each level, from 0 to 1, the least time within which such a share stopped.

        It is nan if so many did not stop, for a run that was ended would have taken longer.
        """
        levels = check_values("levels", levels, 0.0, 1.0)
        times = np.where(self.stopped, self.stopping_time.astype(np.float64), math.inf)
        quantiles = np.asarray(np.quantile(times, levels, method="inverted_cdf"))
        return np.where(np.isfinite(quantiles), quantiles, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the columns of tables, with 95 % intervals; what ended runs hide is nan."""
        known = self.stopped.all() and self.n_runs > 1
        columns: dict[str, Any] = {"n_runs": self.n_runs, "stopped": int(self.stopped.sum())}
        columns |= zip(("mean_time", "time_low95", "time_high95"), self.mean_time(), strict=True)
        columns["time_sd"] = float(self.stopping_time.std(ddof=1)) if known else math.nan
        for level in (5, 50, 95):
            columns[f"time_q{level:02}"] = self.time_quantiles(level / 100).item()
        columns["time_max"] = float(self.stopping_time.max())
        rates = ("error_rate", "error_low95", "error_high95")
        return columns | dict(zip(rates, self.error_rate(), strict=True))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a run: stopping time, recommendation, pulls by arm."""
        arms = ",".join(f"pulls_{arm}" for arm in range(self.instance.n_arms))
        rows = np.column_stack([self.stopping_time, self.recommendation, self.pulls]).tolist()
        lines = [f"stopping_time,recommendation,{arms}", *(",".join(map(str, row)) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


def _replicated(
    max_pulls: int, case: tuple[IdentificationAlgorithm, BernoulliInstance], n_runs: int
) -> Replicated:
    """Check a case and describe it to the runner."""
    algorithm, instance = case
    check_kind("algorithm", algorithm, IdentificationAlgorithm, "DPTT(epsilon=1.0, delta=0.01)")
    check_unique_best_arm(instance)
    max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
    short = min(max_pulls, max(64, 4 * instance.n_arms))

    def gather(decisions: Sequence[Decision]) -> Identifications:
        best, pulls = map(np.array, zip(*decisions, strict=True))
        return Identifications(algorithm, instance, max_pulls, best, pulls)

    return Replicated(
        f"{algorithm.label}, {instance.name}",
        # not max_pulls: a run that is ended early is the beginning of the one that is not
        {"algorithm": describe(algorithm), "means": list(instance.mean_rewards)},
        partial(algorithm.draw, instance, max_pulls=max_pulls),
        n_runs,
        warm_up=partial(algorithm.draw, instance, np.random.default_rng(0), short),
        gather=gather,
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

    Parameters
    ----------
    algorithm : IdentificationAlgorithm
        Configuration to run, such as ``DPTT(epsilon=1.0, delta=0.01)``.
    instance : BernoulliInstance
        The bandit, such as ``instances.ja25("mu1")``; one arm has to be the best.
    n_runs, seed, n_jobs
        As of `simulate`, of which the rest holds too.
    max_pulls : int
        Pulls after which a run that has not stopped is ended; its recommendation is −1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> easy = dpb.instances.bernoulli([0.9, 0.1])
    >>> runs = dpb.identify(dpb.DPSEIdentifier(1.0, 0.1), easy, n_runs=3)
    >>> runs.stopping_time.tolist(), runs.errors(), runs.time_quantiles(0.9).item()
    ([1302, 1302, 1302], 0, 1302.0)
    """
    return identify_many({None: (algorithm, instance)}, n_runs, seed, max_pulls, n_jobs)[None]


def identify_many(
    cases: Mapping[Key, tuple[IdentificationAlgorithm, BernoulliInstance]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    max_pulls: int = DEFAULT_MAX_PULLS,
    n_jobs: int = 1,
) -> dict[Key, Identifications]:
    """Simulate a whole grid of cases, as `simulate_many` does; `max_pulls` is as of `identify`."""
    return run_cases(cases, partial(_replicated, max_pulls), n_runs, seed, n_jobs)
