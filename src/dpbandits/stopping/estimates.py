"""Replicates of a stopping rule on a law."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints
from dpbandits._engine.acceleration import REFERENCE, what_plays
from dpbandits._engine.running import Replicated, describe, run_cases
from dpbandits._intervals import mean_interval, share_interval
from dpbandits._validation import check_kind
from dpbandits.results import Replicates
from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import Outcome, StoppingRule

__all__ = ["Estimates", "estimate", "estimate_many"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Replicates):
    """Replicates of one stopping rule on one law; `estimate` makes them.

    Attributes
    ----------
    rule : StoppingRule
        The rule.
    law : Law
        Distribution of the samples.
    max_samples : int
        Samples after which a run that had not halted was cut off.
    samples : numpy.ndarray of int, shape (n_runs,)
        Number of samples of each run.
    estimate : numpy.ndarray of float, shape (n_runs,)
        Released estimate of each run; nan if it has not halted.
    halted : numpy.ndarray of bool, shape (n_runs,)
        Whether each run halted.
    how : str
        Program that ran: an accelerator, or "reference", the rule's plain program.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> runs = dpb.estimate(rule, dpb.laws.two_point(0.5), n_runs=20)
    >>> runs.n_runs, runs.failures(), runs.error_rate()[0]
    (20, 0, 0.0)
    """

    rule: StoppingRule
    law: Law
    max_samples: int
    samples: Ints
    estimate: Floats
    halted: NDArray[np.bool_]
    how: str = REFERENCE

    @property
    def n_runs(self) -> int:
        """Number of replicates."""
        return self.samples.size

    @property
    def relative_error(self) -> Floats:
        """Distance of the estimates from μ, relative to μ, shape (n_runs,); nan without a halt.

        Raises
        ------
        ValueError
            If the law has mean 0.
        """
        mean = self.law.mean
        if mean == 0:
            raise ValueError(f"law={self.law!r} has mean 0; allowed: a mean other than 0")
        return np.abs(self.estimate - mean) / abs(mean)

    def failures(self) -> int:
        """Count the runs that halted with a relative error above α.

        Returns
        -------
        int
            Their number.
        """
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(self.relative_error > self.rule.alpha))

    def error_rate(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the share of runs that failed, with its Clopper–Pearson interval.

        A run that has not halted has released nothing, and does not count as a failure.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        share, low, high : float
            The share, and the ends of the interval.
        """
        return share_interval(self.failures(), self.n_runs, level)

    def mean_samples(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean of samples, with Student's interval.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).

        Returns
        -------
        mean, low, high : float
            The mean, and the ends of the interval; all nan if a run has not halted.
        """
        found = mean_interval(self.samples, level)
        return found if self.halted.all() else (math.nan, math.nan, math.nan)

    def summary(self) -> dict[str, Any]:
        """Return the summary of the runs: the columns of tables.

        Returns
        -------
        dict
            Numbers of runs and of those that halted; mean, 95 % interval and quantiles of samples,
            nan unless all halted; error rate and its 95 % interval, nan for a law of mean 0.
        """
        nothing = (math.nan, math.nan, math.nan)
        rates = self.error_rate() if self.law.mean else nothing
        # quantiles that occur as values, since there are none between the looks of a rule
        quantiles = np.quantile(self.samples, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
        if not self.halted.all():
            quantiles = nothing
        names = ["n_runs", "halted", "mean_samples", "samples_low95", "samples_high95"]
        names += ["samples_q05", "samples_q50", "samples_q95"]
        names += ["error_rate", "error_low95", "error_high95"]
        counts = self.n_runs, int(self.halted.sum())
        return dict(zip(names, (*counts, *self.mean_samples(), *quantiles, *rates), strict=True))

    def summary_fields(self) -> tuple[str, str, dict[str, Any]]:
        found = self.summary()
        numbers = {"n_runs": self.n_runs, "halted": found["halted"], "how": self.how}
        numbers |= {"mean samples": found["mean_samples"], "error rate": found["error_rate"]}
        return repr(self.rule), f"{self.law.name} of mean {self.law.mean:g}", numbers

    def columns(self) -> dict[str, Any]:
        return {"samples": self.samples, "estimate": self.estimate, "halted": self.halted}


def _replicated(
    max_samples: int, how: str | None, case: tuple[StoppingRule, Law], n_runs: int
) -> Replicated:
    """Check a case and describe it to the runner."""
    rule, law = case
    check_kind("rule", rule, StoppingRule, "NAS(0.5, 0.05)")
    max_samples = rule.check_draw(law, np.random.default_rng(0), max_samples)

    def gather(outcomes: list[Outcome]) -> Estimates:
        samples, estimates, halted = map(np.array, zip(*outcomes, strict=True))
        played = what_plays(rule, Law, how, max_samples)
        return Estimates(rule, law, max_samples, samples, estimates, halted, played)

    return Replicated(
        f"{rule.label}, mean {law.mean:g}",
        # not max_samples: a run that is cut off is the beginning of the longer one
        {"rule": describe(rule), "law": describe(law)},
        partial(rule.draw, law, max_samples=max_samples, how=how),
        n_runs,
        chunk=200,
        warm_up=partial(rule.draw, law, np.random.default_rng(0), min(max_samples, 64), how),
        gather=gather,
    )


def estimate(
    rule: StoppingRule,
    law: Law,
    n_runs: int = 100,
    seed: int | Sequence[int] = 0,
    max_samples: int = 10**12,
    n_jobs: int = 1,
    how: str | None = None,
) -> Estimates:
    """Simulate independent replicates of a stopping rule; `n_jobs` does not change the result.

    Parameters
    ----------
    rule : StoppingRule
        The rule, such as ``DPNAS(epsilon=1, alpha=0.5, beta=0.05)``.
    law : Law
        Distribution of the samples, one of `dpbandits.laws`; `StoppingRule.run` reads a custom
        stream.
    n_runs : int
        Number of replicates, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    max_samples : int
        Samples after which a run that has not halted ends, and is reported as not halted.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.
    how : str, optional
        Program to run: "reference" for the rule's plain program, or the name of one of its
        accelerators. None is the first registered one that fits, or the plain program if there is
        none or under ``NUMBA_DISABLE_JIT=1``. ``estimates.how`` is the one that ran.

    Returns
    -------
    Estimates
        Samples and estimate of each replicate.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    >>> runs = dpb.estimate(rule, dpb.laws.two_point(0.1), n_runs=20)
    >>> bool(runs.halted.all()), runs.samples.shape, runs.failures()
    (True, (20,), 0)
    """
    return estimate_many({None: (rule, law)}, n_runs, seed, max_samples, n_jobs, how)[None]


def estimate_many(
    cases: Mapping[Key, tuple[StoppingRule, Law]],
    n_runs: int | Mapping[Key, int] = 100,
    seed: int | Sequence[int] = 0,
    max_samples: int = 10**12,
    n_jobs: int = 1,
    how: str | None = None,
) -> dict[Key, Estimates]:
    """Simulate a whole grid of cases: the replicates of all of them share the workers.

    Each replicate has its own seed, derived from `seed` and from its configuration, not from the
    case's key or its position in the grid.

    Parameters
    ----------
    cases : mapping of key to (rule, law)
        The cases to run; their keys are used in the result and in error messages.
    n_runs : int or mapping of key to int
        Number of replicates of each case, at least 1.
    seed : int or sequence of int
        Entropy of the root seed: one or more integers of at least 0.
    max_samples : int
        Samples after which a run that has not halted ends, and is reported as not halted.
    n_jobs : int
        Number of workers: processes, unless ``joblib.parallel_config`` says otherwise. −1 is all
        processors.
    how : str, optional
        Program to run, in all cases; see `estimate`.

    Returns
    -------
    dict of key to Estimates
        Samples and estimates of the replicates of each case.

    Raises
    ------
    ValueError
        If an argument is out of range or of another type; the message contains the key of the case.
    """
    return run_cases(cases, partial(_replicated, max_samples, how), n_runs, seed, n_jobs)
