"""Candidates of the search: shapes of tables, constant arms, and changed rewards.

Tables are as short as a program's outputs allow: of the length at which they first depend on
rewards, or that the program declares, and two and four times that; and as long as it can read, if
that is short. Arms are constant. On short tables all four combinations of the ends of the range are
tried; on long ones the other arms, or the other rewards of a stream, have a level at which few,
half or most of the runs change their decision: the crossings, and the ties.

`pairs_at` changes early rewards of arm 0. `pairs_everywhere` changes rewards of every arm, at the
beginning and the end of each request of a run, to both ends of the range, and to its middle or the
given values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpbandits._arrays import Floats
from dpbandits.auditing.coverage import places_of
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.tape import STILL, Keys
from dpbandits.auditing.tape_runner import LIKELY, RARE, Program
from dpbandits.rewards.tables import Tables

__all__ = [
    "LONG",
    "changed",
    "constant",
    "pairs_at",
    "pairs_everywhere",
    "shapes_of",
    "steps_at",
    "tables_for",
]

LONG = 256
"""Length from which tables are long: on these only the first reward changes."""

_LONGEST = 2**16
_TRIED = 4  # tapes for each shape
_HALVINGS = 18
_SHARES = (0.1, 0.5, 0.9)  # of the tapes that change their decision
_BESIDE = 2.0**-17
_PLACES = 8  # changed places of an arm on short tables
_LONG_PLACES = 4
_MIDDLES = 3  # of them, also changed to values between the ends

Pairs = Callable[[int], TablePair]
"""A pair of tables for each number."""


def constant(n_arms: int, length: int, own: float, others: float) -> Floats:
    """Return a table of constant arms; a single arm has the level of the others.

    Shapes: the result (K, N).
    """
    table = np.full((n_arms, length), float(others))
    if n_arms > 1:
        table[0] = own
    return table


def changed(table: Floats, pull: int, value: float, tables: Tables) -> TablePair:
    """Return a table with a reward of arm 0 at one end of the range, and its neighbour.

    Shapes: `table` (K, N).
    """
    likely = table.copy()
    likely[0, pull] = tables.low + tables.high - value
    return TablePair(likely, 0, pull, value)


def shapes_of(
    program: Program, tables: Tables, arms: Sequence[int], length: int | None
) -> Iterator[tuple[int, int]]:
    """Yield shapes of tables."""
    for n_arms in arms:
        if length is not None:
            yield n_arms, length
            continue
        most = _LONGEST if tables.most is None else min(tables.most, _LONGEST)
        least = max(tables.least * max(n_arms, 2) // 2 if n_arms > 2 else tables.least, n_arms)
        tried = [n for n in (2 ** np.arange(1, 17) - 1).tolist() if n > least]
        for n in sorted({min(least, most), *(min(n, most) for n in tried)}):
            if n >= n_arms and _depends(program, n_arms, n, tables):
                sizes = {n, 2 * n + 1, 4 * n + 3} if n < LONG else {n}
                if tables.most is not None and most < LONG:
                    sizes.add(most)
                yield from ((n_arms, m) for m in sorted(sizes) if m <= most)
                break


def _depends(program: Program, n_arms: int, length: int, tables: Tables) -> bool:
    """Return whether outputs on constant arms depend on which arm is the better one."""
    low, high = tables.low, tables.high
    levels = [(low, high), (high, low)]
    pairs = [
        changed(constant(n_arms, length, own, others), 0, others if n_arms > 1 else own, tables)
        for own, others in levels
    ]
    keys = program.new_keys(_TRIED)
    outputs = []
    for pair in pairs:
        program.load(pair)
        ((rows, _),) = program.run(keys, (LIKELY, STILL))
        outputs.append(rows)
    return not np.array_equal(outputs[0], outputs[1])


def tables_for(program: Program, n_arms: int, length: int, tables: Tables) -> list[Floats]:
    """Return tables of constant arms.

    Shapes: the result (K, N).
    """
    ends = tables.low, tables.high
    if length < LONG:
        owns = ends if n_arms > 1 else ends[:1]
        return [constant(n_arms, length, own, others) for own in owns for others in ends]
    found = []
    for own in ends:
        other = tables.low + tables.high - own
        gaps = _turning(program, n_arms, length, own, other, tables)
        middle = float(np.median(gaps)) + _BESIDE
        for gap in [*np.quantile(gaps, _SHARES).tolist(), middle]:
            level = own + min(gap, 1.0) * (other - own)
            found.append(constant(n_arms, length, own, level))
    return found


def _turning(
    program: Program, n_arms: int, length: int, own: float, other: float, tables: Tables
) -> Floats:
    """Return for some tapes the level of the others at which a run changes its decision."""
    keys = program.new_keys(15)
    found = np.empty(len(keys))

    def output(gap: float, key: Keys) -> Floats:
        table = constant(n_arms, length, own, own + gap * (other - own))
        program.load(changed(table, 0, other, tables))
        ((outputs, _),) = program.run(key, (LIKELY, STILL))
        return outputs

    for i in range(len(keys)):
        key, low, high = keys[i : i + 1], 0.0, 1.0
        goal = output(0.0, key)
        for _ in range(_HALVINGS):
            gap = (low + high) / 2
            same = np.array_equal(output(gap, key), goal)
            low, high = (gap, high) if same else (low, gap)
        found[i] = low
    return found


def steps_at(program: Program, n_arms: int, length: int, tables: Tables) -> list[TablePair]:
    """Return pairs on which one more reward of an arm changes the decision.

    All rewards are at one end of the range, except for the first ones of arm 0; bisection finds the
    number of these with which a run first decides otherwise than with none.
    """
    found = []
    for own in (tables.low, tables.high):
        key, other = program.new_keys(1), tables.low + tables.high - own

        def pair_with(number: int, own: float = own, other: float = other) -> TablePair:
            table = constant(n_arms, length, own, own)
            table[0, :number] = other
            return TablePair(table, 0, number, other)

        def output(number: int, key: Keys = key, pair: Pairs = pair_with) -> bytes:
            program.load(pair(number))
            ((rows, _),) = program.run(key, (RARE, STILL))
            return rows.tobytes()

        none, low, high = output(0), 0, length - 1
        if output(high) == none:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if output(middle) == none else (low, middle)
        found.append(pair_with(high))
    return found


def pairs_at(table_list: Sequence[Floats], pull: int, tables: Tables) -> list[TablePair]:
    """Return the pairs that change one reward of arm 0, in both directions."""
    return [
        changed(table, pull, value, tables)
        for table in table_list
        for value in (tables.low, tables.high)
    ]


def pairs_everywhere(
    program: Program, n_arms: int, length: int, tables: Tables
) -> dict[tuple[int, int], list[TablePair]]:
    """Return pairs that change rewards of every arm, wherever a request begins or ends."""
    low, high = tables.low, tables.high
    short, between = length < LONG, tables.between
    graded = [
        value
        for value in (((low + high) / 2,) if between is None else between)
        if _takes(program, constant(n_arms, length, value, value))
    ]
    if short:
        levels = [(a, b) for a in (low, high) for b in (low, high)]
        levels += [(value, value) for value in graded]
        bases = [constant(n_arms, length, own, others) for own, others in levels]
    else:
        bases = tables_for(program, n_arms, length, tables)
    runs = program.requests(bases)
    found: dict[tuple[int, int], list[TablePair]] = {}
    places = places_of(runs, n_arms, _PLACES if short else _LONG_PLACES)
    for arm in range(n_arms):
        order = [arm, *(a for a in range(n_arms) if a != arm)]  # arm 0 of a base comes first
        mine = [base[np.argsort(order)] for base in bases]
        for number, pull in enumerate(places[arm]):
            values = [(low, high)]
            if number < _MIDDLES:
                values += [ends for value in graded for ends in ((low, value), (value, high))]
            found[arm, pull] = [
                _edited(base, arm, pull, before, after) for before, after in values for base in mine
            ]
    return found


def _takes(program: Program, table: Floats) -> bool:
    """Return whether a program can be run on a table and accepts its rewards."""
    try:
        program.requests([table])
    except ValueError:
        return False
    return True


def _edited(table: Floats, arm: int, pull: int, before: float, after: float) -> TablePair:
    """Return a table with one reward set, and its neighbour."""
    edited = table.copy()
    edited[arm, pull] = before
    return TablePair(edited, arm, pull, after)
