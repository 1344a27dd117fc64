"""The search for the pair of tables and the move with the highest predicted bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpbandits._arrays import Rng
from dpbandits.auditing.candidates import (
    LONG,
    changed,
    constant,
    pairs_at,
    pairs_everywhere,
    shapes_of,
    steps_at,
    tables_for,
)
from dpbandits.auditing.coupling import align, best_move
from dpbandits.auditing.event_tree import CellEvent, Seen, choose_event
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.tape import STILL, Move
from dpbandits.auditing.tape_runner import LIKELY, RARE, Program
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.tables import Tables

__all__ = ["Candidate", "SearchPlan", "search_pairs"]

_DIFFER = 12  # runs that decide whether a reward changes anything
_DIFFERING = 400  # the same, for a given pair
_FEW, _MANY = 2000, 20_000  # runs on a given pair from which a move is searched for, and refined
_KEPT = 4  # candidates of the last round
_TURNS = 12  # single rewards that are flipped
_EDGE = 0.02
_FITS = 0.8  # least share of tapes on which a good move fits
_LEAST_SHARE = 0.02
_FAR = 2.5  # above this loss weights vary too much
_SCREENED = 16  # one in so many runs screens pairs
_TAPES = 4, 12  # fewest and most tapes that screen a pair
_LOOK = 40  # fewest runs for the choice of an event
_FINAL = 3  # candidates with another look
_LENGTHEN = 4


@dataclass(frozen=True)
class SearchPlan:
    """Extent of a search.

    Attributes
    ----------
    n_runs : int
        Total runs on each table, of the search and of the test.
    failure : float
        Probability with which the bound of the test may be too high.
    promised : PrivacyGuarantee
        Declared guarantee.
    tables : Tables
        Tables on which the program can be run.
    n_arms, n_pulls : int or None
        Shape of the tables, if given.
    begin : TablePair or None
        A pair known to be good: the search starts from it, and tries no other shape.
    fixed : bool
        Whether `begin` is the only pair to try.

    Examples
    --------
    >>> plan = SearchPlan(10**6, 1e-9, PrivacyGuarantee("central", 1.0), Tables(2, 3))
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
    fixed: bool = False

    @property
    def wide(self) -> bool:
        """Whether there are enough runs for more arms and for later rewards."""
        return self.n_runs >= 200_000

    @property
    def arms(self) -> tuple[int, ...]:
        """Numbers of arms to try."""
        if self.n_arms is not None:
            return (self.n_arms,)
        usual = self.tables.n_arms
        return (2, 3, 6) if self.wide and usual == 2 else (usual,)

    @property
    def pulls(self) -> tuple[int, ...]:
        """Rewards to change: early ones, and for a stream also the last that must be read."""
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
        """Approximate number of runs of the test."""
        return max(int(0.4 * self.n_runs), 1)


@dataclass
class Candidate:
    """A pair of tables, a move, and the results of their runs.

    Attributes
    ----------
    pair : TablePair
        The tables; the event should be likely on the first.
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
    def promise(self) -> float:
        """The predicted bound."""
        return 0.0 if self.event is None else self.event.promise

    def look(self, program: Program, n: int, plan: SearchPlan, share: float = 0.0) -> None:
        """Run more, and choose an event anew."""
        program.load(self.pair)
        half = max(n // 2, 10)
        found = [program.sample(half, self.move, side) for side in (RARE, LIKELY)]
        if self.grown is not None and self.tested is not None:
            found = [self.grown.joined(found[0]), self.tested.joined(found[1])]
        self.grown, self.tested = found
        delta = plan.promised.delta
        self.event = choose_event(self.grown, self.tested, plan.n_tests, plan.failure, delta, share)

    def align(self, program: Program, plan: SearchPlan) -> None:
        """Refine the move, and drop the runs with the old one."""
        program.load(self.pair)
        self.move = align(program, self.move, plan.unit, 16, 3)[1]
        self.grown = self.tested = self.event = None


@dataclass(frozen=True)
class _Group:
    """Pairs of one shape that change the same reward, and the move of one of them."""

    fit: float
    move: Move
    pairs: list[TablePair]


def _groups(program: Program, plan: SearchPlan) -> Iterator[_Group]:
    """Yield groups of pairs whose changed reward matters."""
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


def _stepped(program: Program, plan: SearchPlan) -> Iterator[_Group]:
    """Yield groups of pairs on long tables where the place that matters is not known beforehand."""
    for n_arms, length in shapes_of(program, plan.tables, plan.arms, plan.n_pulls):
        if length >= LONG:
            yield from _moved(program, plan, steps_at(program, n_arms, length, plan.tables))


def _moved(program: Program, plan: SearchPlan, pairs: list[TablePair]) -> Iterator[_Group]:
    """Yield the group of these pairs, with a move of the one that differs most often, if any."""
    differ = [_differing(program, pair) for pair in pairs]
    if max(differ, default=0) > 0:
        program.load(pairs[int(np.argmax(differ))])
        fit, move = best_move(program, plan.unit, *((12, 2) if plan.wide else (8, 1)))
        yield _Group(fit, move, pairs)


def _differing(program: Program, pair: TablePair, tapes: int = _DIFFER) -> int:
    """Count tapes on which the outputs on the two tables differ."""
    program.load(pair)
    (one, _), (other, _) = program.run(program.new_keys(tapes), (LIKELY, STILL), (RARE, STILL))
    return int((one != other).any(axis=1).sum())


def search_pairs(program: Program, plan: SearchPlan, rng: Rng) -> Candidate:
    """Search for the pair with the highest predicted bound.

    Two families compete. One changes early rewards of arm 0, each with the move that fits best; it
    finds losses near the promise. The other changes rewards of every arm at places where a run's
    requests begin or end (`pairs_everywhere`), at first without a move; it finds missing noise.
    Runs are allocated by sequential halving: each round keeps the best third.
    """
    if plan.begin is not None and plan.fixed:
        return _on(program, plan, plan.begin)
    groups = list(_groups(program, plan))
    if not groups and plan.begin is None:
        groups = list(_stepped(program, plan))
    found = _kept(program, plan, _fitting(program, plan, groups))
    for each in found:
        if each.move.shifts:
            each.align(program, plan)
    if plan.begin is None:
        found += _kept(program, plan, _screened(program, plan, rng))
    if not found:
        n_pulls = plan.n_pulls or max(plan.tables.least, plan.tables.n_arms)
        return Candidate(plan.begin or _some_pair(plan.arms[0], n_pulls, plan.tables), STILL)
    for number, share, least in ((len(found), 100, 100), (_FINAL, 60, 300)):
        found = sorted(found, key=lambda each: -each.promise)[:number]
        for each in found:
            each.look(program, max(plan.n_runs // share, least), plan)
    best = max(found, key=lambda each: each.promise)
    if not best.move.shifts and plan.begin is None:
        best = _moving(program, plan, best)
    best = _turned(program, plan, best, rng)
    if program.several:  # events of many numbers need more runs
        best.look(program, plan.n_runs // 6, plan, share=_LEAST_SHARE)
    return best


def _on(program: Program, plan: SearchPlan, pair: TablePair) -> Candidate:
    """Return the best candidate on a pair: in either order, with a move or without."""
    found = [Candidate(way, STILL) for way in (pair, pair.turned)]
    if _differing(program, pair, int(np.clip(plan.n_runs // 8, _DIFFER, _DIFFERING))) == 0:
        return found[0]
    if plan.n_runs >= _FEW:
        fit, move = best_move(program, plan.unit, 8, 1)
        if fit > _FITS:
            found += [Candidate(each.pair, move) for each in found]
            for each in found[2:] if plan.n_runs >= _MANY else ():
                each.align(program, plan)
    for each in found:
        each.look(program, max(plan.n_runs // 8 // len(found), _LOOK), plan)
    for each in (found := sorted(found, key=lambda each: -each.promise)[:2]):
        each.look(program, max(plan.n_runs // 8, _LOOK), plan)
    return max(found, key=lambda each: each.promise)


def _fitting(program: Program, plan: SearchPlan, groups: list[_Group]) -> list[Candidate]:
    """Return candidates of groups: with their moves, or without where none fits."""
    fitting = [group for group in groups if group.fit > _FITS]
    highest = max((group.move.total for group in fitting), default=0.0)
    size = plan.tables.high - plan.tables.low
    declared = (1 + _EDGE) * plan.promised.epsilon / size
    share = 0.95 if program.several else 0.7  # several numbers may reveal all of a move
    least = max(share * highest, declared if highest > declared else 0.0)
    able = [group for group in fitting if group.move.total >= least]
    found = [Candidate(pair, group.move) for group in able for pair in group.pairs]
    loose = [group for group in groups if group.fit <= _FITS]  # perhaps no move fits, for a flaw
    loose += [group for group in able if group.move.total * size > _FAR]
    return found + [Candidate(pair, STILL) for group in loose for pair in group.pairs]


def _kept(program: Program, plan: SearchPlan, found: list[Candidate]) -> list[Candidate]:
    """Return the most promising candidates: each round keeps a third of them, with more runs."""
    while len(found) > _KEPT:
        for each in found:
            each.look(program, max(plan.n_runs // 32 // len(found), _LOOK), plan)
        found = sorted(found, key=lambda each: -each.promise)[: max(len(found) // 3, _KEPT)]
    return found


def _screened(program: Program, plan: SearchPlan, rng: Rng) -> list[Candidate]:
    """Return candidates, in both orders, of the pairs whose outputs differ most on a few tapes.

    The best pair for each changed reward is kept, and of these the best overall.
    """
    cells = [
        cell
        for shape in _shapes(program, plan)
        for cell in pairs_everywhere(program, *shape, plan.tables).values()
    ]
    for cell in cells:
        rng.shuffle(cell)
    budget = max(plan.n_runs // _SCREENED, 16)
    number = sum(map(len, cells))
    tapes = int(np.clip(budget // max(number, 1), *_TAPES))
    turns = [
        cell[turn]
        for turn in range(max(map(len, cells), default=0))
        for cell in cells
        if turn < len(cell)
    ]
    apart: dict[int, list[tuple[float, TablePair]]] = {}
    where = {id(pair): k for k, cell in enumerate(cells) for pair in cell}
    for pair in turns[: max(budget // tapes, len(cells))]:
        score = _apart(program, pair, tapes)
        if score > 0.0:
            apart.setdefault(where[id(pair)], []).append((score, pair))
    ranked = [sorted(each, key=lambda one: -one[0]) for each in apart.values()]
    first = sorted((each[0] for each in ranked), key=lambda one: -one[0])
    later = sorted((one for each in ranked for one in each[1:]), key=lambda one: -one[0])
    most = max(plan.n_runs // _SCREENED // _LOOK // 4, 2)
    best = first[: max(most * 2 // 3, 2)]
    best += later[: most - len(best)]
    return [Candidate(way, STILL) for _, pair in best for way in (pair, pair.turned)]


def _shapes(program: Program, plan: SearchPlan) -> Iterator[tuple[int, int]]:
    """Yield shapes of tables on which rewards of every arm change: short ones, and longer ones."""
    arms = plan.arms if plan.n_arms is not None or plan.tables.n_arms != 2 else (2, 3)
    for n_arms in arms:
        lengths = [length for _, length in shapes_of(program, plan.tables, (n_arms,), plan.n_pulls)]
        if not lengths:
            continue
        yield n_arms, lengths[0]
        longer = (
            max(_LENGTHEN * lengths[-1], 64) if lengths[-1] < LONG // _LENGTHEN else lengths[-1]
        )
        if plan.tables.most is not None:
            longer = min(longer, plan.tables.most)
        if plan.n_pulls is None and longer > lengths[0]:
            yield n_arms, longer


def _apart(program: Program, pair: TablePair, tapes: int) -> float:
    """Return the largest Kolmogorov distance between the outputs on the two tables."""
    program.load(pair, check=False)
    sides = (LIKELY, STILL), (RARE, STILL)
    (one, _), (other, _) = program.run(program.new_keys(tapes), *sides)
    differ = (one != other).any(axis=0)
    if not differ.any():
        return 0.0
    one, other = one[:, differ], other[:, differ]
    cuts = np.vstack([one, other])[:, None]
    below = (one <= cuts).mean(axis=1), (other <= cuts).mean(axis=1)
    return float(np.abs(below[0] - below[1]).max()) + 1e-9


def _moving(program: Program, plan: SearchPlan, best: Candidate) -> Candidate:
    """Return the candidate with a move, if one fits and promises more."""
    program.load(best.pair)
    fit, move = best_move(program, plan.unit, 8, 1)
    if fit <= _FITS:
        return best
    moved = Candidate(best.pair, move)
    moved.align(program, plan)
    moved.look(program, max(plan.n_runs // 40, 200), plan)
    return moved if moved.promise > best.promise else best


def _turned(program: Program, plan: SearchPlan, best: Candidate, rng: Rng) -> Candidate:
    """Flip single rewards, or all from one on, as long as that raises the predicted bound."""
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
    """Return a pair to report if none has a loss."""
    return changed(constant(n_arms, n_pulls, tables.low, tables.high), 0, tables.high, tables)
