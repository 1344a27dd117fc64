"""Runs of a target on tapes: on both tables of a pair in turn, each tape once on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np
from tqdm import tqdm

from dpbandits._arrays import Floats, Rng
from dpbandits.auditing.adapters import Row, subject_of
from dpbandits.auditing.coverage import Coverage
from dpbandits.auditing.event_tree import Seen
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.tape import CHUNK, STILL, Keys, Move, Tapes, new_keys
from dpbandits.guarantees import PrivacyGuarantee

__all__ = ["LIKELY", "RARE", "Program"]

LIKELY, RARE = 0, 1
"""The sides of a pair: its table, where an event is to be likely, and the neighbour."""

_PAIRED = 8  # up to so many released values all differences are features, else neighbours'
_SEVERAL = 4  # from so many on, the least and the greatest are features
_WITNESSES = 24  # runs to repeat at the end
_CALIBRATED = 4  # runs on each table that determine the number of released values
_FIRST_PART, _LARGEST_PART = 64, 2048  # runs of a program between two looks at the bet
_NOT_A_NUMBER, _INFINITE = -1e300, 1e300


class _Witness(NamedTuple):
    """A run to repeat."""

    pair: TablePair
    side: int
    keys: Keys
    row: Row
    used: int


class Program:
    """A subject that runs on tapes.

    A target that remembers earlier runs, or has randomness beyond its generator, is rejected: each
    tape runs on both tables in turn, in changing order; the first runs on a pair are repeated at
    once and, for the first pairs, at the end, and must have the same output and number of draws.

    Parameters
    ----------
    target : object
        The target: see `subject_of`.
    source : numpy.random.Generator
        Source of the tapes.
    progress : tqdm, optional
        Progress bar, updated after runs.

    Attributes
    ----------
    runs : int
        Runs so far, on both sides.
    kind : str
        "kernel" if the compiled loop of exactly the target's class runs, else "program".
    coverage : Coverage
        Rewards that were changed, and rewards that were read.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> program = Program(dpb.DPUCB(1.0), np.random.default_rng(0))
    >>> program.load(dpb.TablePair(np.zeros((2, 4)), 0, 0, 1.0))
    >>> program.sample(5, STILL, RARE).likely.shape, program.kind, program.runs
    ((5, 4), 'kernel', 10)
    """

    def __init__(self, target: object, source: Rng, progress: tqdm[NoReturn] | None = None) -> None:
        self.progress = tqdm(disable=True) if progress is None else progress
        self.subject = subject_of(target)
        self.source, self.runs = source, 0
        self.coverage = Coverage()
        self.kind = "program"
        self._tapes = Tapes()
        self._witnesses: list[_Witness] = []
        self._loaded: TablePair | None = None
        self._n_values: int | None = None
        self._widths: dict[tuple[int, ...], int] = {}
        self._changes = 0.0, 0.0
        self._once: list[Callable[[Rng], Row]] = []
        self._loops: list[Callable[[int, Rng], Row] | None] = []

    @property
    def label(self) -> str:
        """Name of the subject in tables."""
        return self.subject.label

    @property
    def several(self) -> bool:
        """Whether enough numbers are released for events about all of them."""
        return self._n_values is not None and self._n_values >= _SEVERAL

    def declared(self, n_pulls: int) -> PrivacyGuarantee:
        """Return the declared guarantee of the subject."""
        return replace(self.subject, n_pulls=n_pulls).guarantee

    @property
    def pair(self) -> TablePair:
        """The loaded pair."""
        if self._loaded is None:
            raise ValueError("pair=None is loaded; allowed: a TablePair, by load(pair)")
        return self._loaded

    def load(self, pair: TablePair, check: bool = True) -> None:
        """Load a pair of tables."""
        if pair is self._loaded:
            return
        self._loaded, self._n_values = pair, self._widths.get(pair.table.shape)
        self.coverage.add(pair)
        change = float(pair.value - pair.table[pair.arm, pair.pull])
        self._changes = change, -change
        tables, read = (pair.table, pair.neighbour), self._tapes.read[: len(pair.table) + 1]
        self._loops = [self.subject.loop(table, read, pair.arm) for table in tables]
        if all(self._loops):
            self.kind = "kernel"
            return
        self._once = [self.subject.once(table, read, pair.arm) for table in tables]
        if len(self._witnesses) < _WITNESSES or check:
            keys = new_keys(self.source, 1)
            for side in (LIKELY, RARE):
                row, used = self._put_out(side, keys)
                witness = _Witness(pair, side, keys, row, used)
                self._repeat(witness, "at once")
                if len(self._witnesses) < _WITNESSES:
                    self._witnesses.append(witness)
        if self._n_values is None:
            keys = self.new_keys(_CALIBRATED)
            sizes = [
                self._put_out(s, keys[k : k + 1])[0][1].size
                for s in (0, 1)
                for k in range(_CALIBRATED)
            ]
            self._n_values = self._widths[pair.table.shape] = max(sizes)

    def check_first(self, pair: TablePair) -> None:
        """Repeat a run before any other is made, and restore tapes and counts."""
        kept = self.source.bit_generator.state, self.runs, self.coverage
        self.coverage = Coverage()
        try:
            self.load(pair)
        finally:
            self.source.bit_generator.state, self.runs, self.coverage = kept
            self._loaded = None
            self._widths.clear()
            self._witnesses.clear()

    def _put_out(self, side: int, keys: Keys) -> tuple[Row, int]:
        """Run the program on one tape; return its output and the number of words drawn."""
        self._tapes.use(STILL, 0.0, self.pair.arm)
        self._tapes.put(keys, len(self.pair.table))
        self.runs += 1
        return self._once[side](self._tapes.rng), int(self._tapes.used(1)[0])

    def _repeat(self, witness: _Witness, when: str) -> None:
        """Raise if a repeated run differs."""
        row, used = self._put_out(witness.side, witness.keys)
        same = all(map(partial(np.array_equal, equal_nan=True), row, witness.row))
        if not same or used != witness.used:
            changed = "used other random numbers" if same else "put out something else"
            raise ValueError(
                f"subject={self.subject.label!r} keeps state: repeated {when}, on the same table "
                f"and with the same generator, runs {changed}; allowed: runs that remember nothing "
                "of earlier ones and draw all randomness from the generator that they are given"
            )

    def check_state(self) -> None:
        """Repeat the first runs on the first pairs."""
        for witness in self._witnesses:
            self.load(witness.pair)
            self._repeat(witness, f"{self.runs} runs later")

    def requests(self, tables: Sequence[Floats]) -> list[list[tuple[int, int]]]:
        """Return the requests of runs of the target's own program, two on each table.

        Shapes: `tables` (K, N).
        """
        found = []
        self._tapes.use(STILL, 0.0, 0)
        for table in tables:
            for _ in range(2):
                self._tapes.put(self.new_keys(1), len(table))
                found.append(self.subject.requests(table, self._tapes.rng))
                self.runs += 1
        self.coverage.reach(found)
        return found

    def new_keys(self, n: int) -> Keys:
        """Draw new tapes.

        Shapes: the result (n, 2).
        """
        return new_keys(self.source, n)

    def run(self, keys: Keys, *sides: tuple[int, Move]) -> list[tuple[Floats, Floats]]:
        """Run on tapes, each of them on the sides in turn.

        Shapes: `keys` (n, 2).
        """
        size = CHUNK if all(self._loops) else 1
        parts: list[list[tuple[Floats, Floats, Floats]]] = [[] for _ in sides]
        order = range(len(sides))
        turns = order, order[::-1]
        for turn, start in enumerate(range(0, len(keys), size)):
            these = keys[start : start + size]
            for i in turns[turn % 2]:
                parts[i].append(self._run(*sides[i], these))
        return [self._together(each) for each in parts]

    def _together(self, parts: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats]:
        """Join counts and values of some parts into rows, and return them with the weights."""
        counts, values, log_weights = (np.concatenate(each) for each in zip(*parts, strict=True))
        rows = np.hstack([counts, values])
        np.nan_to_num(rows, copy=False, nan=_NOT_A_NUMBER, posinf=_INFINITE, neginf=-_INFINITE)
        return rows, np.exp(log_weights)

    def _run(self, side: int, move: Move, keys: Keys) -> tuple[Floats, Floats, Floats]:
        """Return counts, values and log weights of at most `CHUNK` tapes by a loop, else of one."""
        tapes, n = self._tapes, len(keys)
        tapes.use(move, self._changes[side], self.pair.arm)
        tapes.put(keys, len(self.pair.table))
        self.runs += n
        self.progress.update(n)
        loop = self._loops[side]
        if loop is not None:
            counts, values = loop(n, tapes.rng)
        else:
            pulls, released = self._once[side](tapes.rng)
            counts, values = pulls[None], np.full((1, self._n_values or 0), np.nan)
            values[0, : released.size] = released[: values.size]
        self._n_values = values.shape[1]
        return counts, values, tapes.log_weights(n)

    def sample(self, n: int, move: Move, moved: int) -> Seen:
        """Run on new tapes."""
        return self._seen(self.new_keys(n), move, moved)

    def sample_in_parts(self, n: int, move: Move, moved: int) -> Iterator[Seen]:
        """Run on new tapes, part by part: the outputs of `sample`, in the same order."""
        keys, start = self.new_keys(n), 0
        most, least = (2 * CHUNK,) * 2 if all(self._loops) else (_LARGEST_PART, _FIRST_PART)
        while start < n:
            stop = start + min(max(start, least), most)
            yield self._seen(keys[start:stop], move, moved)
            start = stop

    def _seen(self, keys: Keys, move: Move, moved: int) -> Seen:
        """Run on tapes, and return the features on both sides."""
        sides = [(side, move if side == moved else STILL) for side in (LIKELY, RARE)]
        found = self.run(keys, *sides)
        likely, rare = (self._features(rows) for rows, _ in found)
        return Seen(likely, rare, found[moved][1])

    def _features(self, rows: Floats) -> Floats:
        """Add differences and the sum of released values, and the least and greatest if several."""
        n_values = self._n_values
        if n_values is None or n_values < 2:
            return rows
        values = rows[:, -n_values:]
        places = [
            (i, j)
            for i in range(n_values)
            for j in range(i + 1, n_values if n_values <= _PAIRED else min(i + 2, n_values))
        ]
        first, second = np.array(places).T
        found = [rows, values[:, second] - values[:, first], values.sum(axis=1, keepdims=True)]
        if self.several and n_values <= _PAIRED:
            later = [values, *(values[:, i:] - values[:, [i - 1]] for i in range(1, n_values - 1))]
            found += [
                side(each, axis=1, keepdims=True) for each in later for side in (np.min, np.max)
            ]
        return np.hstack(found)
