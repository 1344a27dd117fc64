"""Audits by counting, without a tape: what `dpbandits.auditing.audit_many` makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._validation import check_fraction, check_integer
from dpbandits.auditing.events import choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.runs import run_both
from dpbandits.auditing.subjects import Auditable, subject_of, tables_of
from dpbandits.auditing.verdicts import FEWEST_RUNS, MOST_RUNS, Audit
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.streams import FixedRewards

__all__ = ["count"]


def count(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    pair: TablePair,
    n_runs: int = 100_000,
    seed: int | Sequence[int] = 0,
    failure: float = 1e-6,
    n_jobs: int = 1,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit:
    """Audit on two neighbouring tables by counts of an event.

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        What is audited.
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
    """
    target = subject_of(subject, pair.table.shape[1], guarantee)
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS, MOST_RUNS)
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
