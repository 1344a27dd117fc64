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

from dpbandits._arrays import Floats, Ints
from dpbandits._files import write_atomically
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_kind
from dpbandits.rewards.laws import Law
from dpbandits.running import Replicated, describe, run_cases
from dpbandits.stopping.base import Outcome, StoppingRule

__all__ = ["Estimates", "estimate", "estimate_many"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Replicates of one stopping rule on one law.

    Attributes
    ----------
    rule, law, max_samples
        What was run, as of `estimate`.
    samples, estimate, halted : numpy.ndarray, shape (n_runs,)
        As of `Outcome`, for each run.
    """

    rule: StoppingRule
    law: Law
    max_samples: int
    samples: Ints
    estimate: Floats
    halted: NDArray[np.bool_]

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.samples.size

    @property
    def relative_error(self) -> Floats:
        """Distance of the estimates from μ ≠ 0, relative to μ; nan where a run has not halted."""
        mean = self.law.mean
        if mean == 0:
            raise ValueError(f"law={self.law!r} has mean 0; allowed: a mean other than 0")
        return np.abs(self.estimate - mean) / abs(mean)

    def failures(self) -> int:
        """Count the runs that halted with a relative error above α."""
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(self.relative_error > self.rule.alpha))

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of runs that failed, with its Clopper–Pearson interval.

        A run that has not halted has released nothing, and counts as one that did not fail.
        """
        return share_interval(self.failures(), self.n_runs, level)

    def mean_samples(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean of samples, with Student's interval; nan if a run has not halted."""
        found = mean_interval(self.samples, level)
        return found if self.halted.all() else (math.nan, math.nan, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the columns of tables: samples are nan unless all halted, errors for mean 0."""
        nothing = (math.nan, math.nan, math.nan)
        rates = self.error_rate() if self.law.mean else nothing
        # values that occur: between the looks of a rule there is nothing
        quantiles = np.quantile(self.samples, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
        if not self.halted.all():
            quantiles = nothing
        names = ["n_runs", "halted", "mean_samples", "samples_low95", "samples_high95"]
        names += ["samples_q05", "samples_q50", "samples_q95"]
        names += ["error_rate", "error_low95", "error_high95"]
        counts = self.n_runs, int(self.halted.sum())
        return dict(zip(names, (*counts, *self.mean_samples(), *quantiles, *rates), strict=True))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the runs to `path`, a row a run: samples, estimate, whether it halted."""
        rows = zip(self.samples.tolist(), self.estimate.tolist(), self.halted, strict=True)
        lines = ["samples,estimate,halted", *(f"{n},{x!r},{int(h)}" for n, x, h in rows)]
        write_atomically(path, "\n".join(lines) + "\n")


def _replicated(max_samples: int, case: tuple[StoppingRule, Law], n_runs: int) -> Replicated:
    """Check a case and describe it to the runner."""
    rule, law = case
    check_kind("rule", rule, StoppingRule, "NAS(0.5, 0.05)")
    max_samples = rule.check_draw(law, np.random.default_rng(0), max_samples)

    def gather(outcomes: list[Outcome]) -> Estimates:
        return Estimates(rule, law, max_samples, *map(np.array, zip(*outcomes, strict=True)))

    return Replicated(
        f"{rule.label}, mean {law.mean:g}",
        # not max_samples: a run that is ended early is the beginning of the one that is not
        {"rule": describe(rule), "law": describe(law)},
        partial(rule.draw, law, max_samples=max_samples),
        n_runs,
        chunk=200,
        warm_up=partial(rule.draw, law, np.random.default_rng(0), min(max_samples, 64)),
        gather=gather,
    )


def estimate(
    rule: StoppingRule,
    law: Law,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    max_samples: int = 10**12,
    n_jobs: int = 1,
) -> Estimates:
    """Simulate independent replicates of a stopping rule; `n_jobs` does not change the result.

    Parameters
    ----------
    rule, law : StoppingRule, Law
        What to run, and the law of the samples, one of `dpbandits.laws`.
        (Your own stream: `StoppingRule.run`.)
    n_runs, seed, n_jobs
        As of `dpbandits.simulate`.
    max_samples : int
        Samples after which a run that has not halted ends, and is reported as not halted.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> runs = dpb.estimate(rule, dpb.laws.two_point(0.1), n_runs=20)
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
    """Simulate a whole grid of cases, each as `estimate` does, whose arguments it has.

    The keys of `cases` are yours, and are those of the result and of error messages; `n_runs` may
    be a number of replicates for each.
    """
    return run_cases(cases, partial(_replicated, max_samples), n_runs, seed, n_jobs)
