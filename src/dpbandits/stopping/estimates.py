"""Replicates of a stopping rule on a law."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._files import write_atomically
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_integer
from dpbandits.rewards.laws import Law
from dpbandits.running import Replicated, describe, label_errors, run_replicates, runs_of
from dpbandits.stopping.base import Outcome, StoppingRule

__all__ = ["Estimates", "estimate", "estimate_many"]

Key = TypeVar("Key", bound=Hashable)

_CHUNK = 200
"""Replicates that a worker runs at a time."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Replicates of one stopping rule on one law.

    Attributes
    ----------
    rule : StoppingRule
        Configuration that was run.
    law : Law
        Law of the samples.
    max_samples : int
        Samples after which a run that has not halted ended.
    samples : numpy.ndarray of int, shape (n_runs,)
        Samples that each run took.
    estimate : numpy.ndarray of float, shape (n_runs,)
        Released estimates; nan where a run has not halted.
    halted : numpy.ndarray of bool, shape (n_runs,)
        Whether each run halted.
    """

    rule: StoppingRule
    law: Law
    max_samples: int
    samples: NDArray[np.int64]
    estimate: NDArray[np.float64]
    halted: NDArray[np.bool_]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.samples.size

    @property
    def relative_error(self) -> NDArray[np.float64]:
        """Distance of each run's estimate from μ, relative to μ; nan where it has not halted.

        Refused if the law has mean 0, for which no relative error exists.
        """
        mean = self.law.mean
        if mean == 0:
            raise ValueError(f"law={self.law!r} has mean 0; allowed: a mean other than 0")
        return np.abs(self.estimate - mean) / abs(mean)

    def failures(self) -> int:
        """Count the runs that halted with a relative error above α."""
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(self.relative_error > self.rule.alpha))

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of runs that failed, with its Clopper–Pearson interval of a confidence.

        A run fails if it halts with a relative error above α; one that has not halted has
        released nothing, and counts as a run that did not fail.
        """
        return share_interval(self.failures(), self.n_runs, level)

    def mean_samples(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean number of samples, with Student's interval of a confidence.

        All nan if a run has not halted, for then the mean is unknown.
        """
        found = mean_interval(self.samples, level)
        return found if self.halted.all() else (math.nan, math.nan, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the columns that tables and figures show, one value each.

        Mean number of samples with its 95 % interval and quantiles (nan unless every run has
        halted); error rate with its 95 % interval (nan if the law has mean 0).
        """
        mean, low, high = self.mean_samples()
        nothing = (math.nan, math.nan, math.nan)
        rate, rate_low, rate_high = self.error_rate() if self.law.mean else nothing
        # values that occur: between the looks of a rule there is nothing
        quantiles = np.quantile(self.samples, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
        if not self.halted.all():
            quantiles = nothing
        return {
            "n_runs": self.n_runs,
            "halted": int(self.halted.sum()),
            "mean_samples": mean,
            "samples_low95": low,
            "samples_high95": high,
            **dict(zip(("samples_q05", "samples_q50", "samples_q95"), quantiles, strict=True)),
            "error_rate": rate,
            "error_low95": rate_low,
            "error_high95": rate_high,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a run: samples, estimate, whether it halted."""
        rows = zip(self.samples.tolist(), self.estimate.tolist(), self.halted, strict=True)
        lines = ["samples,estimate,halted", *(f"{n},{x!r},{int(h)}" for n, x, h in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


def _draw_chunk(
    rule: StoppingRule, law: Law, max_samples: int, seeds: Sequence[np.random.SeedSequence]
) -> list[Outcome]:
    return [rule.draw(law, np.random.default_rng(seed), max_samples) for seed in seeds]


def _replicated(rule: StoppingRule, law: Law, n_runs: int, max_samples: int) -> Replicated:
    """Check a case and describe it to the runner."""
    if not isinstance(rule, StoppingRule):
        raise ValueError(f"rule={rule!r} is not a rule; allowed: one such as NAS(0.5, 0.05)")
    max_samples = rule.check_draw(law, np.random.default_rng(0), max_samples)
    return Replicated(
        f"{rule.label}, mean {law.mean:g}",
        # not max_samples: a run that is ended early is the beginning of the one that is not
        {"rule": describe(rule), "law": describe(law)},
        partial(_draw_chunk, rule, law, max_samples),
        check_integer("n_runs", n_runs, 1),
        chunk=_CHUNK,
        warm_up=partial(rule.draw, law, np.random.default_rng(0), min(max_samples, 64)),
    )


def estimate(
    rule: StoppingRule,
    law: Law,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    max_samples: int = 10**12,
    n_jobs: int = 1,
) -> Estimates:
    """Simulate independent replicates of a stopping rule.

    The result depends on the arguments alone, and not on `n_jobs`. It is the same as that of
    `estimate_many`, in whatever grid the case stands there.

    Parameters
    ----------
    rule : StoppingRule
        Configuration to run, such as ``DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)``.
    law : Law
        Law of the samples, such as ``instances.two_point(0.1)``, or a law from `dpbandits.laws`.
        (Your own stream: `StoppingRule.run`.)
    n_runs : int
        Number of replicates.
    seed : int or sequence of int
        Entropy of the root seed.
    max_samples : int
        Samples after which a run that has not halted ends, and is reported as not halted.
    n_jobs : int
        Number of workers, −1 for all processors.

    Raises
    ------
    ValueError
        If an argument is out of range: the message names it and says what is allowed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05, half_range=1)
    >>> runs = dpb.estimate(rule, dpb.instances.two_point(0.1), n_runs=20)
    >>> bool(runs.halted.all()), runs.samples.shape, runs.failures()
    (True, (20,), 0)
    """
    return estimate_many({None: (rule, law)}, n_runs, seed, max_samples, n_jobs)[None]


def estimate_many(
    cases: Mapping[Key, tuple[StoppingRule, Law]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    max_samples: int = 10**12,
    n_jobs: int = 1,
) -> dict[Key, Estimates]:
    """Simulate a whole grid of cases; the arguments are those of `estimate`.

    Parameters
    ----------
    cases : mapping of key to (rule, law)
        What is simulated; the keys are yours.
    n_runs : int or mapping of key to int
        Number of replicates of each case.
    seed, max_samples, n_jobs
        As of `estimate`.

    Returns
    -------
    dict of Estimates
        With the keys of `cases`, in their order. Errors name the key of the case.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.instances.two_point(0.1)
    >>> cases = {alpha: (dpb.NAS(alpha, 0.05, 1.0), law) for alpha in (0.5, 0.25)}
    >>> runs = dpb.estimate_many(cases, n_runs=5)
    >>> runs[0.25].samples.mean() > runs[0.5].samples.mean()
    np.True_
    """
    replicated: dict[Key, Replicated] = {}
    for key, (rule, law) in cases.items():
        with label_errors(key):
            replicated[key] = _replicated(rule, law, runs_of(key, n_runs), max_samples)
    found: dict[Key, Estimates] = {}
    for key, outcomes in run_replicates(replicated, seed, n_jobs).items():
        samples = np.array([outcome.samples for outcome in outcomes], dtype=np.int64)
        estimates = np.array([outcome.estimate for outcome in outcomes], dtype=np.float64)
        halted = np.array([outcome.halted for outcome in outcomes], dtype=np.bool_)
        found[key] = Estimates(*cases[key], int(max_samples), samples, estimates, halted)
    return found
