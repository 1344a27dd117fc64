"""An auditor for adaptive algorithms: it runs them on neighbouring tables, and tries to tell which.

The whole output is audited: arms pulled, halting time, released values, recommendation. `audit`
runs an algorithm many times on each table of a `TablePair`, chooses an event on one half of the
runs, and bounds its two probabilities with the other half: a lower bound on ε that fails with a
stated probability (:prf:ref:`thm-audit`). `dpbandits.auditing.search` looks for a pair that gives a
high one.

An audit can convict. It cannot prove privacy: a low bound may be due to a bad pair, a bad event,
or too few runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_fraction, check_integer
from dpbandits.auditing.events import Tally, choose_event
from dpbandits.auditing.subjects import subject_of
from dpbandits.auditing.tables import Auditable, FixedRewards, Outputs, TablePair
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee

__all__ = ["FEWEST_RUNS", "Audit", "FunctionSubject", "as_subject", "audit", "entropy_of"]

_CHUNK = 50_000
_SLACK = 1e-9  # relative error allowed to integrated probabilities
FEWEST_RUNS = 16
"""Least number of runs on each table with which an audit works."""


@dataclass(frozen=True)
class FunctionSubject:
    """A custom function, made auditable.

    Attributes
    ----------
    function : callable
        Maps (`FixedRewards`, generator) to what is released at the end: nothing, a number, or a
        sequence of numbers, always as many. It pulls arms by ``rewards.pull(arm)``; the arms that
        it pulls are part of the output, and need not be returned.
    guarantee, label : PrivacyGuarantee, str
        What is declared about it, and its name in tables.

    Examples
    --------
    >>> def leaky(rewards, rng):
    ...     better = rewards.pull(0) < rewards.pull(1)
    ...     rewards.pull(1 if better else 0)
    >>> table = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> FunctionSubject(leaky).outputs(table, 2, np.random.default_rng(0)).actions.tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """

    function: Callable[[FixedRewards, Rng], Any]
    guarantee: PrivacyGuarantee = NO_PRIVACY
    label: str = "function"

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the function; values are the number of pulls, and what it returns."""
        rewards = FixedRewards(table)
        values, pulled = [], []
        for _ in range(n_runs):
            rewards.restart()
            released = self.function(rewards, rng)
            arms = rewards.actions
            values.append([len(arms), *([] if released is None else np.atleast_1d(released))])
            if len(values[-1]) != len(values[0]):
                raise ValueError(
                    f"function={self.function!r} returned {len(values[0]) - 1} and "
                    f"{len(values[-1]) - 1} numbers; allowed: always as many"
                )
            pulled.append(arms)
        actions = np.full((n_runs, max(map(len, pulled), default=0)), -1.0)
        for row, arms in zip(actions, pulled, strict=True):
            row[: len(arms)] = arms
        return Outputs(np.array(values, dtype=np.float64), actions)


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    label, guarantee, pair : str, PrivacyGuarantee, TablePair
        What was audited, what is declared about it, and the neighbouring tables.
    epsilon_lower : float
        No ε below this goes with the declared δ.
    tally, event : Tally or None, str
        Counts of the event in the runs that tested it, None if probabilities were integrated; and
        the event, in words.
    constant : bool
        Whether all runs on both tables had one output, so that nothing could have been seen.
    """

    label: str
    guarantee: PrivacyGuarantee
    pair: TablePair
    epsilon_lower: float
    tally: Tally | None
    event: str
    constant: bool = False

    @property
    def exact(self) -> bool:
        """Whether probabilities were integrated."""
        return self.tally is None

    @property
    def convicted(self) -> bool:
        """Whether what is declared is false, except with the tally's failure probability."""
        slack = _SLACK if self.exact else 0.0
        return self.epsilon_lower > self.guarantee.epsilon * (1.0 + slack)

    @property
    def verdict(self) -> str:
        """One of "convicted", "acquitted", "nothing declared"; "nothing tested" if `constant`."""
        if not self.guarantee.is_private:
            return "nothing declared"
        if self.constant:
            return "nothing tested"
        return "convicted" if self.convicted else "acquitted"

    def __str__(self) -> str:
        t = self.tally
        if t is None:
            found = f"exact: ε is at least {self.epsilon_lower:.4g} ({self.event})"
        elif self.constant:
            found = (
                f"all {2 * t.runs} runs and as many on the neighbour did the same: within "
                f"{self.pair.table.shape[1]} pulls, the length of the tables, no reward decided "
                "anything; longer tables, or shorter phases of the algorithm, may test more"
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
    target = as_subject(subject, guarantee, pair.table.shape[1])
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS)
    failure = check_fraction("failure", failure)
    promised = target.guarantee if guarantee is None else guarantee
    outputs, others, n_values = run_both(target, pair, n_runs, seed, n_jobs)
    half = n_runs // 2
    event, _ = choose_event(outputs[:half], others[:half], n_values, promised.delta, failure)
    tally = event.tally(outputs[half:], others[half:], failure)
    constant = all(
        np.array_equal(rows, np.broadcast_to(outputs[0], rows.shape), equal_nan=True)
        for rows in (outputs, others)
    )
    lower = tally.epsilon_lower(promised.delta)
    return Audit(target.label, promised, pair, lower, tally, str(event), constant)


def as_subject(subject: Any, guarantee: PrivacyGuarantee | None, n_pulls: int) -> Auditable:
    """Make auditable, on tables of length N, what `audit` takes."""
    if callable(getattr(subject, "outputs", None)):
        return cast(Auditable, subject)
    if not callable(subject):
        return subject_of(subject, n_pulls)
    name = getattr(subject, "__name__", "function")
    return FunctionSubject(subject, guarantee or NO_PRIVACY, name)


def entropy_of(seed: int | Sequence[int]) -> list[int]:
    """Return a seed as a list of whole numbers of at least 0."""
    parts = [seed] if isinstance(seed, int | np.integer) else list(seed)
    return [check_integer("seed", part, 0) for part in parts]


def run_both(
    subject: Auditable, pair: TablePair, n_runs: int, seed: int | Sequence[int], n_jobs: int
) -> tuple[Floats, Floats, int]:
    """Run on both tables, in parts with independent seeds; count the columns of values."""
    sizes = [min(_CHUNK, n_runs - start) for start in range(0, n_runs, _CHUNK)]
    tasks = [(table, size) for table in (pair.table, pair.neighbour) for size in sizes]
    seeds = np.random.SeedSequence(entropy_of(seed)).spawn(len(tasks))
    parts: list[Outputs] = Parallel(n_jobs=n_jobs)(
        delayed(subject.outputs)(table, size, np.random.default_rng(part_seed))
        for (table, size), part_seed in zip(tasks, seeds, strict=True)
    )
    width = max(part.actions.shape[1] for part in parts)
    rows = [
        np.hstack([values, actions, np.full((len(actions), width - actions.shape[1]), -1.0)])
        for values, actions in parts
    ]
    first, second = np.concatenate(rows[: len(sizes)]), np.concatenate(rows[len(sizes) :])
    return first, second, parts[0].values.shape[1]
