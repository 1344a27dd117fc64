"""The auditor: a search for neighbouring tables and an event, and a test of the event on new tapes.

It runs the program itself, or the compiled loop registered for exactly its class, and audits the
whole output: arms pulled, halting time, released values and their number, recommendation. `audit`
searches for a pair of tables (unless given one), for a move of the noise that aligns the two sides
(`dpbandits.auditing.tape`), and for an event; then it tests the event on new tapes, until a bet
against the declared guarantee is won or all runs are made, and bounds ε from below
(`dpbandits.auditing.betting`).

An audit can convict. It cannot prove privacy: a low bound may be due to bad tables, a bad event, or
too few runs. So it reports which rewards it changed, and which violation its runs would have found;
`dpbandits.auditing.overstating` plants violations and checks which are found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.running import check_memory
from dpbandits._validation import (
    check_flag,
    check_fraction,
    check_integer,
    check_kind,
    check_seed,
    check_values,
    shown,
)
from dpbandits.auditing.adapters import Auditable, tables_of
from dpbandits.auditing.betting import Wealth, betting_bound, least_convicted
from dpbandits.auditing.candidates import constant
from dpbandits.auditing.coverage import read_of
from dpbandits.auditing.event_tree import CellEvent, Seen
from dpbandits.auditing.exact import audit_exactly
from dpbandits.auditing.pair_search import SearchPlan, search_pairs
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.tape import Move
from dpbandits.auditing.tape_runner import LIKELY, Program
from dpbandits.auditing.verdicts import FEWEST_RUNS, MOST_RUNS, Audit
from dpbandits.guarantees import PrivacyGuarantee, check_guarantee
from dpbandits.rewards.sources import FixedRewards, TableEndedError
from dpbandits.rewards.tables import Tables

__all__ = ["audit", "audit_by_search"]

_SHORT, _LONGER, _LONGEST = 16, 4, 2**14  # lengths of tables for targets that declare none
_SPARE = 1e-6  # beyond the win of a bet, so that the rounded bound is above the declared ε


def audit(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    pair: TablePair | None = None,
    n_runs: int = 100_000,
    seed: int | Sequence[int] = 0,
    failure: float = 1e-6,
    guarantee: PrivacyGuarantee | None = None,
    *,
    n_arms: int | None = None,
    n_pulls: int | None = None,
    values: Sequence[float] | None = None,
    all_runs: bool = False,
) -> Audit:
    """Audit an algorithm: search for tables and an event that refute its declared privacy.

    The test of the event stops as soon as it convicts: its bound is then barely above the declared
    ε, and as reliable as with a number of runs fixed beforehand (:prf:ref:`thm-audit-stopped`).
    With `all_runs` it continues, and the bound is usually higher.

    An audit assumes that runs are independent: each starts anew, and depends only on its table and
    generator. The tables alternate, tape by tape, in changing order; and some runs are repeated, at
    once and at the end, with the same tape: if their outputs or the number of words drawn differ,
    the subject is rejected. State that shows up more rarely than that goes unnoticed.

    The program that runs is the compiled loop of exactly the subject's class, if there is one, or
    else its own `play`, `decide`, `stop` or `counter`. For the classes for heavy tails whose
    distribution is known it is integrated, unless a pair is given; their subclasses, and algorithms
    that restart them, are run with a moment bound with which they decide early
    (``Tables.promise``), since they promise privacy for every bound. The result's ``kind`` names
    the method.

    Only outputs are audited: not the running time, printed text, or the last bits of numbers (see
    `last_bit`).

    Parameters
    ----------
    subject : Auditable, algorithm or callable
        The target: an algorithm, a stopping rule or a counter of this package, a custom one of
        these kinds (see `subject_of`), or a custom function (see `FunctionSubject`). A function is
        assumed to promise privacy for all rewards in [0, 1]; one that supports only 0 and 1 must
        raise a ValueError for others.
    pair : TablePair, optional
        The tables; then the search is only for a move of the noise and an event. By default it is
        for tables as well: rewards of every arm change, at up to eight places where a run's
        requests begin or end (four on long tables), preferably early ones, each on some of the
        tables, to the ends of the range, and at the first three to `values`.
    n_runs : int
        Intended runs on each table, at least 16: at least a quarter of them, or half if a pair is
        given, test the event, unless it convicts earlier. The search takes as many as it needs,
        about 10 000 to 40 000, even if these are fewer. With 200 000 or more, early rewards of arm
        0 change on tables of 3 and 6 arms as well.
    seed : int or sequence of int
        Entropy of the root seed.
    failure : float
        Probability in (0, 1) with which the bound on ε may be too high.
    guarantee : PrivacyGuarantee, optional
        Declared guarantee; by default that of the subject.
    n_arms, n_pulls : int, optional
        Shape of the tables in the search; by default as the subject needs.
    values : sequence of float, optional
        Rewards that the search tries besides the ends of the range: the subject's own thresholds
        and values around them. By default the middle of the range.
    all_runs : bool
        Whether the test makes all its runs, for a bound from all of them, even if it convicts
        earlier. The verdict is the same.

    Returns
    -------
    Audit
        The verdict, the bound on ε with its event, and the tried tables.

    Raises
    ------
    ValueError
        If an argument is out of range, or the subject cannot be run on such tables; if it keeps
        state between runs, or has randomness beyond its generator; if `n_arms`, `n_pulls` or
        `values` is given without a search for tables.

    Examples
    --------
    A mean of three rewards with half of the required noise:

    >>> import dpbandits as dpb
    >>> def mean(rewards, rng):
    ...     return rewards.total(0, 3) / 3 + rng.laplace(0.0, 1 / 6)
    >>> pair = dpb.TablePair([[0, 0, 0]], arm=0, pull=1, value=1)
    >>> promise = dpb.PrivacyGuarantee("central", 1.0)
    >>> found = dpb.audit(mean, pair, n_runs=4000, guarantee=promise)
    >>> found.verdict, found.stopped, found.runs < found.planned
    ('violation found', True, True)

    A bound from all runs:

    >>> most = dpb.audit(mean, pair, n_runs=4000, guarantee=promise, all_runs=True)
    >>> most.stopped, 1.0 < found.epsilon_lower < 1.2 < most.epsilon_lower < 2.0
    (False, True)

    Algorithms of the package, with a search for tables:

    >>> dpb.audit(dpb.DPUCB(epsilon=1.0), n_runs=4000).verdict
    'no violation found'
    >>> from dpbandits.mechanisms import LogarithmicCounter
    >>> found = dpb.audit(LogarithmicCounter(2.0), n_runs=4000, guarantee=promise)
    >>> found.verdict, found.kind
    ('violation found', 'program')
    """
    check_guarantee(guarantee)
    all_runs = check_flag("all_runs", all_runs)
    shape = {"n_arms": n_arms, "n_pulls": n_pulls, "values": values}
    if pair is not None:
        check_kind("pair", pair, TablePair, "TablePair([[0, 1]], arm=0, pull=0, value=1)")
        _refuse(shape, "is for a search for tables, and a pair is given; allowed: one of the two")
        return audit_by_search(
            subject, n_runs, seed, failure, guarantee, begin=pair, fixed=True, all_runs=all_runs
        )
    known = tables_of(subject)
    if known is None or known.promise is not None:  # heavy tails
        integrated = audit_exactly(subject, guarantee=guarantee)
        if integrated is not None:
            _refuse(shape, "is for runs, and the law of this class is integrated; allowed: without")
            return integrated
    n_arms, n_pulls = (
        None if size is None else check_integer(name, size, 1)
        for name, size in {"n_arms": n_arms, "n_pulls": n_pulls}.items()
    )
    return audit_by_search(
        subject,
        n_runs,
        seed,
        failure,
        guarantee,
        n_arms=n_arms,
        n_pulls=n_pulls,
        values=values,
        all_runs=all_runs,
    )


def _refuse(options: dict[str, Any], reason: str) -> None:
    """Raise for options that have no meaning here."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name}={shown(value)} {reason}")


def _tables_for(program: Program, n_arms: int) -> Tables:
    """Return long enough tables for a target that does not declare any."""
    length = _SHORT
    while True:
        levels = [(own, others) for own in (0.0, 1.0) for others in (0.0, 1.0)]
        try:
            program.check_first(TablePair(constant(n_arms, length, 0.0, 1.0), 0, 0, 1.0))
            runs = program.requests([constant(n_arms, length, *each) for each in levels])
        except TableEndedError:
            if length >= _LONGEST:
                raise
            length *= _LONGER
            continue
        read = max((max(read_of(run).values(), default=0) for run in runs), default=0)
        return Tables(2, _SHORT if length == _SHORT else 2 * read)


class _Test:
    """The bet against the declared guarantee: runs on new tapes, until it is won or all are run."""

    def __init__(self, promised: PrivacyGuarantee, failure: float, all_runs: bool) -> None:
        self.promised, self.failure, self.all_runs = promised, failure, all_runs
        self.enough = _SPARE - math.log(failure) if promised.is_private else math.inf
        self.won: int | None = None  # number of runs until the win

    def run(self, program: Program, n: int, move: Move, event: CellEvent) -> None:
        """Make up to `n` runs."""
        coin, parts, done = Wealth(self.promised.epsilon, self.promised.delta), [], 0
        for seen in program.sample_in_parts(n, move, LIKELY):
            likely = seen.weights * event.contains(seen.likely)
            rare = event.contains(seen.rare).astype(np.float64)
            path = coin.take(likely, rare)
            ahead = np.flatnonzero(path >= self.enough)
            if self.won is None and ahead.size:
                self.won = done + int(ahead[0]) + 1
            done += len(path)
            parts.append((*seen, likely, rare, path))
            if self.won is not None and not self.all_runs:
                break
        kept = None if self.all_runs else self.won
        found: list[Floats] = [np.concatenate(each)[:kept] for each in zip(*parts, strict=True)]
        self.seen = Seen(*found[:3])
        self.likely, self.rare, self.log_wealth = found[3:]

    @property
    def bound(self) -> float:
        """The bound at the end, or at the time of the win if only that one convicts."""
        bounds = [self._bound_after(len(self.likely))]
        if self.won is not None and bounds[0] <= self.promised.epsilon:
            bounds.append(self._bound_after(self.won))
        return max(bounds)

    def _bound_after(self, n: int) -> float:
        return betting_bound(self.likely[:n], self.rare[:n], self.failure, self.promised.delta)

    @property
    def constant(self) -> bool:
        """Whether all runs on both tables had the same output."""
        first = self.seen.likely[0]
        return all(bool((rows == first).all()) for rows in (self.seen.likely, self.seen.rare))


def audit_by_search(
    subject: Auditable | Callable[[FixedRewards, Rng], Any],
    n_runs: int,
    seed: int | Sequence[int],
    failure: float,
    guarantee: PrivacyGuarantee | None = None,
    *,
    n_arms: int | None = None,
    n_pulls: int | None = None,
    values: Sequence[float] | None = None,
    begin: TablePair | None = None,
    fixed: bool = False,
    all_runs: bool = False,
) -> Audit:
    """Audit by runs, with a search for tables."""
    rng = np.random.default_rng(check_seed("seed", seed))
    n_runs = check_integer("n_runs", n_runs, FEWEST_RUNS, MOST_RUNS)
    check_memory(n_runs, 100.0 * n_runs)
    failure = check_fraction("failure", failure)
    with tqdm(desc="searching", unit="run", disable=None, leave=False) as progress:
        program = Program(subject, rng, progress)
        tables = tables_of(subject) or _tables_for(program, n_arms or 2)
        if values is not None:
            tried = check_values("values", values, tables.low, tables.high)
            tables = replace(tables, between=tuple(np.atleast_1d(tried).tolist()))
        length = begin.table.shape[1] if begin is not None and fixed else n_pulls or tables.least
        declared = guarantee or program.declared(length)
        plan = SearchPlan(n_runs, failure, declared, tables, n_arms, n_pulls, begin, fixed)
        if fixed and begin is not None:
            program.check_first(begin)
            program.requests([begin.table, begin.neighbour])  # for the coverage
        best = search_pairs(program, plan, rng)
        promised = guarantee or program.declared(best.pair.table.shape[1])
        given: dict[str, Any] = {
            "least": tables.least,
            "kind": program.kind,
            "searched": program.runs // 2,
            "failure": failure,
            "coverage": program.coverage,
        }
        if best.event is None:
            program.check_state()
            label = program.label
            return Audit(label, promised, best.pair, 0.0, "none", constant=True, **given)
        program.load(best.pair)
        progress.set_description("testing")
        left = n_runs - int(given["searched"])
        planned = max(left, n_runs // (2 if fixed else 4), FEWEST_RUNS)
        test = _Test(promised, failure, all_runs)
        test.run(program, planned, best.move, best.event)
        program.check_state()
        bound = test.bound
        return Audit(
            program.label,
            promised,
            best.pair,
            bound,
            str(best.event),
            test.constant,
            masses=(float(test.likely.mean()), float(test.rare.mean())),
            loss=max(best.event.loss(test.seen), bound),
            runs=len(test.likely),
            planned=planned,
            convictable=least_convicted(
                test.likely, test.rare, failure, promised.epsilon, promised.delta
            ),
            log_wealth=test.log_wealth,
            **given,
        )
