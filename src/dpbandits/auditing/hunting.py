"""The search: which pair of tables, and which move, promise the highest bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpbandits._arrays import Rng
from dpbandits.auditing.aligning import align, best_move
from dpbandits.auditing.candidates import (
    LONG,
    changed,
    constant,
    pairs_at,
    shapes_of,
    steps_at,
    tables_for,
)
from dpbandits.auditing.cells import CellEvent, Seen, choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.programs import LIKELY, RARE, Program
from dpbandits.auditing.tape import STILL, Move
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.tables import Tables

__all__ = ["Candidate", "Hunt", "hunt"]

_DIFFER = 12  # runs that tell whether a reward changes anything
_KEPT = 4  # candidates of the last round
_TURNS = 12  # single rewards that are turned
_EDGE = 0.02
_FITS = 0.8  # share of the tapes on which a move fits
_LEAST_SHARE = 0.02
_FAR = 2.5  # loss beyond which weights vary too much


@dataclass(frozen=True)
class Hunt:
    """How much is searched for.

    Attributes
    ----------
    n_runs : int
        Runs on each table in all, of the search and of the test.
    failure : float
        Probability with which the bound of the test may be too high.
    promised : PrivacyGuarantee
        What is declared.
    tables : Tables
        Which tables the program can be run on.
    n_arms, n_pulls : int or None
        Shape of the tables, where it is given.
    begin : TablePair or None
        A pair that is known to show much: the search starts from it, and tries no other shape.

    Examples
    --------
    >>> plan = Hunt(10**6, 1e-9, PrivacyGuarantee("central", 1.0), Tables(2, 3))
    >>> plan.wide, plan.arms, plan.unit
    (True, (2, 3, 6), 1.0)
    """

    n_runs: int
    failure: float
    promised: PrivacyGuarantee
    tables: Tables
    n_arms: int | None = None
    n_pulls: int | None = None
    begin: TablePair | None = None

    @property
    def wide(self) -> bool:
        """Whether there are runs for more arms and for later rewards."""
        return self.n_runs >= 200_000

    @property
    def arms(self) -> tuple[int, ...]:
        """Numbers of arms that are tried."""
        if self.n_arms is not None:
            return (self.n_arms,)
        usual = self.tables.n_arms
        return (2, 3, 6) if self.wide and usual == 2 else (usual,)

    @property
    def pulls(self) -> tuple[int, ...]:
        """Rewards that are changed: early ones; of a stream also the last that has to be read."""
        early = (0, 1, 2, 3, 5, 7) if self.wide else (0, 1, 2)
        last = self.tables.least - 1
        return early if self.tables.n_arms > 1 or last in early else (*early, last)

    @property
    def unit(self) -> float:
        """First guess of a shift for a change of 1 of a reward."""
        epsilon = self.promised.epsilon
        size = self.tables.high - self.tables.low
        return epsilon / size if 0.0 < epsilon < 20.0 else 1.0 / size

    @property
    def n_tests(self) -> int:
        """Runs that the test will have, about."""
        return max(int(0.4 * self.n_runs), 1)


@dataclass
class Candidate:
    """A pair of tables, a move, and what runs of them have shown.

    Attributes
    ----------
    pair : TablePair
        The tables; the event is to be likely on the first.
    move : Move
        The move.
    grown, tested : Seen or None
        Outputs for `choose_event`.
    event : CellEvent or None
        The best event so far.

    Examples
    --------
    >>> Candidate(TablePair([[0.0]], 0, 0, 1.0), STILL).promise
    0.0
    """

    pair: TablePair
    move: Move
    grown: Seen | None = None
    tested: Seen | None = None
    event: CellEvent | None = None

    @property
    def shows(self) -> bool:
        """Whether the two sides ever put out different things."""
        both = (self.grown, self.tested)
        return any(s is not None and not np.array_equal(s.likely, s.rare) for s in both)

    @property
    def promise(self) -> float:
        """The bound that it promises."""
        return 0.0 if self.event is None else self.event.promise

    def look(self, program: Program, n: int, plan: Hunt, share: float = 0.0) -> None:
        """Run more, and choose an event anew.

        Parameters
        ----------
        program : Program
            What is run.
        n : int
            Runs on each table.
        plan : Hunt
            How much is searched for.
        share : float
            Least share of the runs in a cell.
        """
        program.load(self.pair)
        half = max(n // 2, 10)
        found = [program.sample(half, self.move, side) for side in (RARE, LIKELY)]
        if self.grown is not None and self.tested is not None:
            found = [self.grown.joined(found[0]), self.tested.joined(found[1])]
        self.grown, self.tested = found
        delta = plan.promised.delta
        self.event = choose_event(self.grown, self.tested, plan.n_tests, plan.failure, delta, share)

    def align(self, program: Program, plan: Hunt) -> None:
        """Make the move finer, and forget what was run with the old one.

        Parameters
        ----------
        program : Program
            What is run.
        plan : Hunt
            How much is searched for.
        """
        program.load(self.pair)
        self.move = align(program, self.move, plan.unit, 16, 3)[1]
        self.grown = self.tested = self.event = None


@dataclass(frozen=True)
class _Group:
    """Pairs of one shape that change the same reward, and the move of one of them."""

    fit: float
    move: Move
    pairs: list[TablePair]


def _groups(program: Program, plan: Hunt) -> Iterator[_Group]:
    """Yield groups of pairs whose reward changes something."""
    if plan.begin is not None:
        yield from _moved(program, plan, [plan.begin])
        return
    tables = plan.tables
    for n_arms, length in shapes_of(program, tables, plan.arms, plan.n_pulls):
        found = tables_for(program, n_arms, length, tables)
        latest = max(length // n_arms, 1)
        ends = 0, tables.least - 1
        for pull in [k for k in plan.pulls if k < latest and (length < LONG or k in ends)]:
            pairs = pairs_at(found, pull, tables)
            yield from _moved(program, plan, pairs)


def _stepped(program: Program, plan: Hunt) -> Iterator[_Group]:
    """Yield groups of pairs on long tables whose place that matters is not known beforehand."""
    for n_arms, length in shapes_of(program, plan.tables, plan.arms, plan.n_pulls):
        if length >= LONG:
            yield from _moved(program, plan, steps_at(program, n_arms, length, plan.tables))


def _moved(program: Program, plan: Hunt, pairs: list[TablePair]) -> Iterator[_Group]:
    """Yield the group of these pairs, with a move of the one that differs most often, if any."""
    differ = [_differing(program, pair) for pair in pairs]
    if max(differ, default=0) > 0:
        program.load(pairs[int(np.argmax(differ))])
        fit, move = best_move(program, plan.unit, *((12, 2) if plan.wide else (8, 1)))
        yield _Group(fit, move, pairs)


def _differing(program: Program, pair: TablePair) -> int:
    """Count tapes on which the outputs on the two tables differ."""
    program.load(pair)
    (one, _), (other, _) = program.run(program.new_keys(_DIFFER), (LIKELY, STILL), (RARE, STILL))
    return int((one != other).any(axis=1).sum())


def hunt(program: Program, plan: Hunt, rng: Rng) -> Candidate:
    """Look for the pair that promises most.

    Parameters
    ----------
    program : Program
        What is run.
    plan : Hunt
        How much is searched for.
    rng : numpy.random.Generator
        Source of the turns of single rewards.

    Returns
    -------
    Candidate
        The best one; it has no event if no reward changes anything.
    """
    groups = list(_groups(program, plan))
    if not groups and plan.begin is None:
        groups = list(_stepped(program, plan))
    if not groups:
        n_pulls = plan.n_pulls or max(plan.tables.least, plan.tables.n_arms)
        return Candidate(plan.begin or _some_pair(plan.arms[0], n_pulls, plan.tables), STILL)
    fitting = [group for group in groups if group.fit > _FITS]
    highest = max((group.move.total for group in fitting), default=0.0)
    size = plan.tables.high - plan.tables.low
    declared = (1 + _EDGE) * plan.promised.epsilon / size
    share = 0.95 if program.several else 0.7  # of several numbers all of a move may be seen
    least = max(share * highest, declared if highest > declared else 0.0)
    able = [group for group in fitting if group.move.total >= least]
    found = [Candidate(pair, group.move) for group in able for pair in group.pairs]
    loose = [group for group in groups if group.fit <= _FITS]  # perhaps no move can fit: a flaw
    loose += [group for group in able if group.move.total * size > _FAR]
    found += [Candidate(pair, STILL) for group in loose for pair in group.pairs]
    while len(found) > _KEPT:  # a third stays
        for each in found:
            each.look(program, max(plan.n_runs // 32 // len(found), 40), plan)
        found = sorted(found, key=lambda each: -each.promise)[: max(len(found) // 3, _KEPT)]
    for each in found:
        if each.move.shifts:
            each.align(program, plan)
        each.look(program, max(plan.n_runs // 50, 100), plan)
    best = _turned(program, plan, max(found, key=lambda each: each.promise), rng)
    if program.several:  # events of many numbers take more runs to be told apart
        best.look(program, plan.n_runs // 6, plan, share=_LEAST_SHARE)
    return best


def _turned(program: Program, plan: Hunt, best: Candidate, rng: Rng) -> Candidate:
    """Turn single rewards, or all from one on, as long as that promises more."""
    table = best.pair.table
    n_arms, length = table.shape
    if length >= LONG:
        return best
    for _ in range(_TURNS):
        table = best.pair.table.copy()
        row, start = int(rng.integers(n_arms)), int(rng.integers(max(length // n_arms, 1)))
        stop = start + 1 if rng.random() < 0.5 else length
        table[row, start:stop] = plan.tables.low + plan.tables.high - table[row, start:stop]
        table[best.pair.arm, best.pair.pull] = best.pair.table[best.pair.arm, best.pair.pull]
        pair = TablePair(table, best.pair.arm, best.pair.pull, best.pair.value)
        other = replace(best, pair=pair, grown=None, tested=None, event=None)
        other.look(program, max(plan.n_runs // 75, 60), plan)
        if other.promise > best.promise:
            best = other
    return best


def _some_pair(n_arms: int, n_pulls: int, tables: Tables) -> TablePair:
    """Return a pair to speak of where none tells anything."""
    return changed(constant(n_arms, n_pulls, tables.low, tables.high), 0, tables.high, tables)
