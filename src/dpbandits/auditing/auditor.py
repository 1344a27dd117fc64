"""An auditor for adaptive algorithms: it runs them on neighbouring tables, and tries to tell which.

The whole output is audited: arms pulled, halting time, released values, recommendation. `audit`
runs an algorithm many times on each table of a `TablePair`, chooses an event on one half of the
runs, and bounds its two probabilities with the other half: a lower bound on ε that fails with a
stated probability (:prf:ref:`thm-audit`). `dpbandits.auditing.search` looks for a pair that gives
a high one.

An audit can convict. It cannot prove privacy: a low bound may be due to a bad pair, a bad event,
or too few runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._validation import check_fraction, check_integer
from dpbandits.auditing.events import Tally, choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.runs import run_both
from dpbandits.auditing.subjects import Auditable, subject_of, tables_of
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.streams import FixedRewards

__all__ = ["FEWEST_RUNS", "Audit", "audit"]

_SLACK = 1e-9  # relative error allowed to integrated probabilities
FEWEST_RUNS = 16
"""Least number of runs on each table with which an audit works."""


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    label : str
        What was audited.
    guarantee : PrivacyGuarantee
        What is declared about it.
    pair : TablePair
        The neighbouring tables.
    epsilon_lower : float
        No ε below this goes with the declared δ.
    tally : Tally or None
        Counts of the event in the runs that tested it; None if probabilities were integrated.
    event : str
        The event, in words.
    constant : bool
        Whether all runs on both tables had one output, so that nothing could have been seen.
    least : int
        Length of tables from which on, as the subject says, an audit tests something.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = dpb.auditing.audit_exactly(dpb.DPSE(epsilon=2.0))
    >>> found.verdict, found.exact, round(found.epsilon_lower, 3)
    ('acquitted', True, 2.0)
    """

    label: str
    guarantee: PrivacyGuarantee
    pair: TablePair
    epsilon_lower: float
    tally: Tally | None
    event: str
    constant: bool = False
    least: int = 1

    @property
    def exact(self) -> bool:
        """Whether probabilities were integrated."""
        return self.tally is None

    @property
    def verdict(self) -> str:
        """One of "convicted", "acquitted", "nothing declared"; "nothing tested" if `constant`.

        Convicted is what declares something false, except with the tally's failure probability.
        """
        if not self.guarantee.is_private:
            return "nothing declared"
        if self.constant:
            return "nothing tested"
        allowed = self.guarantee.epsilon * (1.0 + (_SLACK if self.exact else 0.0))
        return "convicted" if self.epsilon_lower > allowed else "acquitted"

    @property
    def convicted(self) -> bool:
        """Whether the verdict says so."""
        return self.verdict == "convicted"

    def __str__(self) -> str:
        t = self.tally
        if t is None:
            found = f"exact: ε is at least {self.epsilon_lower:.4g} ({self.event})"
        elif self.constant:
            n_pulls = self.pair.table.shape[1]
            longer = f" (of {self.least} pulls or more, it says)" if n_pulls < self.least else ""
            found = (
                f"all {2 * t.runs} runs and as many on the neighbour did the same: within "
                f"{n_pulls} pulls, the length of the tables, no reward decided anything; longer "
                f"tables{longer}, or shorter phases of the algorithm, may test more"
            )
        else:
            found = (
                f"event: {self.event}\n"
                f"seen: {t.hits} of {t.runs} runs, and {t.neighbour_hits} of {t.neighbour_runs} "
                f"on the neighbour\nε is at least {self.epsilon_lower:.4g}; false with "
                f"probability {t.failure:g} at most; so many runs could have shown {t.ceiling:.4g}"
            )
        return (
            f"{self.label}: {self.verdict}\ndeclared: {self.guarantee}\n"
            f"tables: {self.pair}\n{found}"
        )


def audit(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    pair: TablePair,
    n_runs: int = 100_000,
    seed: int | Sequence[int] = 0,
    failure: float = 1e-6,
    n_jobs: int = 1,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit:
    """Audit an algorithm on two neighbouring tables of rewards.

    An audit assumes that runs are independent: each starts anew, and depends on the table and on
    the generator that it is given alone. Three things are done about that. The tables take turns,
    in an order drawn from `seed`. Each part of 50 000 runs has a deep copy of the subject; a
    function is not copied, nor what it remembers, nor what cannot be copied. And some runs are
    repeated, at the beginning and at the end of each part, with the same generator: if they put
    out something else, or leave the generator in another state, the subject is refused. A memory
    that shows more rarely than that is not noticed.

    Only what is put out is audited: not how long runs take, what they print, or the last bits of
    numbers.

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        What is audited: an algorithm, a stopping rule or a counter of this package, a custom one
        of these kinds (see `subject_of`), or a custom function (see `FunctionSubject`).
    pair : TablePair
        The tables.
    n_runs : int
        Runs on each table, at least 16; half of them choose the event.
    seed : int or sequence of int
        Entropy of the root seed.
    failure : float
        Probability in (0, 1) with which the bound on ε may be too high.
    n_jobs : int
        Number of workers; −1 for all processors.
    guarantee : PrivacyGuarantee, optional
        What is declared, in place of what the subject says.

    Returns
    -------
    Audit
        The verdict, the bound on ε, and the event that it is about.

    Raises
    ------
    ValueError
        If an argument is out of range, or the subject cannot be run on such tables; if it keeps
        state between runs, or has randomness beyond its generator.

    Examples
    --------
    A mean of three rewards with half of the noise that it needs:

    >>> import dpbandits as dpb
    >>> def mean(rewards, rng):
    ...     return rewards.total(0, 3) / 3 + rng.laplace(0.0, 1 / 6)
    >>> pair = dpb.TablePair([[0, 0, 0]], arm=0, pull=1, value=1)
    >>> promise = dpb.PrivacyGuarantee("global", 1.0)
    >>> found = dpb.audit(mean, pair, n_runs=4000, guarantee=promise)
    >>> found.verdict, found.epsilon_lower > 1.2
    ('convicted', True)

    An algorithm of the package:

    >>> pair = dpb.TablePair([[0] * 8, [1] * 8], arm=0, pull=0, value=1)
    >>> dpb.audit(dpb.DPUCB(epsilon=1.0), pair, n_runs=4000).verdict
    'acquitted'
    """
    target = subject_of(subject, pair.table.shape[1], guarantee)
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS)
    failure = check_fraction("failure", failure)
    promised = guarantee or target.guarantee
    outputs, others, n_values = run_both(target, pair, n_runs, seed, n_jobs)
    half = n_runs // 2
    event, _ = choose_event(outputs[:half], others[:half], n_values, promised.delta, failure)
    tally = event.tally(outputs[half:], others[half:], failure)
    constant = all(
        np.array_equal(rows, np.broadcast_to(outputs[0], rows.shape), equal_nan=True)
        for rows in (outputs, others)
    )
    lower = tally.epsilon_lower(promised.delta)
    tables = tables_of(target)
    least = tables.least if tables else 1
    return Audit(target.label, promised, pair, lower, tally, str(event), constant, least)
