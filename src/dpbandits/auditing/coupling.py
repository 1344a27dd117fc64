"""Couplings by trial: which draws to move, and by how much.

With the right move the output on the neighbour, with the moved tape, equals the output on the table
with the tape itself. Trials on a few tapes show how often it does. A bad move costs power but never
validity (`dpbandits.auditing.tape`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dpbandits._arrays import Floats, Ints
from dpbandits.auditing.tape import ALL, DRAWS, OWN, STILL, Keys, Move
from dpbandits.auditing.tape_runner import LIKELY, RARE, Program

__all__ = ["align", "best_move"]

Shifts = dict[tuple[int, int], float]

_POWERS = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0)  # of 2: first guesses of a shift
_STEPS = (1.4, 1.2, 1.1, 1.05, 1.02)
_FACTORS = (1 / 2, 1 / 3, 2.0, -1.0)  # of the first shift, candidates for the others
_MOST_PLACES = 31
_MISSES = 8  # give up after so many useless places in a row
_FITS = 0.99
_AT_ONCE = 4  # tapes for a first try of a move
_ROUNDED = 1e-9
_SHARES = (0.3, 0.05, 0.01)  # of the neighbour's change: outputs this close count as equal


class _Trials:
    """Tapes on which moves are tried, and the score of the best one."""

    def __init__(self, program: Program, move: Move) -> None:
        self.program, self.clock = program, move.clock
        self.best: Shifts = dict(move.shifts)
        self.keys: Keys = program.new_keys(0)
        self.goals: Floats = np.empty((0, 0))
        self.fit, self.share = 0.0, _SHARES[0]
        self.close: Floats = np.zeros(0)
        self._known: dict[Move, Floats] = {}

    def more(self, tapes: int) -> bool:
        """Add tapes on which the best move fails, and half as many on which it succeeds."""
        program, failed, seen = self.program, 0, 0
        kept: list[tuple[Ints, tuple[Keys, Floats], int]] = []
        while failed < tapes and seen < 60 * tapes:
            keys = program.new_keys(min(8 * tapes, 64))
            sides = (LIKELY, STILL), (RARE, self._move(self.best)), (RARE, STILL)
            (goals, _), (found, _), (still, _) = program.run(keys, *sides)
            changes = np.abs(goals - still)
            if not self.close.size:
                self.close = np.zeros(changes.shape[1])
            for j in np.flatnonzero(changes.any(axis=0)):
                self.close[j] = self.share * float(np.median(changes[changes[:, j] > 0.0, j]))
            equal = (np.abs(found - goals) <= self.close).all(axis=1)
            some = np.flatnonzero(~equal)[: tapes - failed]
            others = np.flatnonzero(equal)[: max(tapes // 2 - sum(k[2] for k in kept), 0)]
            kept.append((np.append(some, others), (keys, goals), others.size))
            failed, seen = failed + some.size, seen + len(keys)
        rows = [(keys[at], goals[at]) for at, (keys, goals), _ in kept]
        old = [(self.keys, self.goals)] if len(self.keys) else []
        self.keys = np.concatenate([k for k, _ in old + rows])
        self.goals = np.concatenate([g for _, g in old + rows])
        self._known.clear()
        self.fit = self.score(self.best) if len(self.keys) else 0.0
        return failed > 0.005 * seen

    def _move(self, shifts: Shifts) -> Move:
        return Move(self.clock, tuple(sorted(shifts.items())))

    def score(self, shifts: Shifts, least: float = -math.inf) -> float:
        """Return the share of the tapes on which a move fits; a long fit counts a little.

        Tapes are run until the score is certainly below `least`, and no move is run twice; all
        tapes count as run, so that the number of runs left for a test does not depend on this.
        """
        move, n = self._move(shifts), len(self.keys)
        runs = self.program.runs + n
        step = _AT_ONCE if self.program.kind == "program" else n
        parts = self._known.setdefault(move, np.empty(0))
        while parts.size < n and float(parts.sum()) + n - parts.size > n * (least - _ROUNDED):
            these = slice(parts.size, parts.size + step)
            parts = np.append(parts, self._fits(move, these))
        self._known[move], self.program.runs = parts, runs
        return float(parts.mean()) if parts.size == n else -math.inf

    def _fits(self, move: Move, these: slice) -> Floats:
        """Run a move on some of the tapes; return the score of each."""
        ((found, _),) = self.program.run(self.keys[these], (RARE, move))
        differs = np.abs(found - self.goals[these]) > self.close
        first = np.where(differs.any(axis=1), differs.argmax(axis=1), -1)
        partly = 0.5 * np.log1p(np.maximum(first, 0)) / math.log1p(max(differs.shape[1], 2))
        fits: Floats = np.where(first < 0, 1.0, partly)
        return fits

    def attempt(self, trials: Iterable[Shifts], margin: float) -> bool:
        """Try moves; keep the best if it is better by more than a margin."""
        reached = self.fit + margin
        found: tuple[float, Shifts] | None = None
        for trial in trials:
            score = self.score(trial, reached)
            if score > self.fit + margin and score >= reached:
                reached, found = score, (score, trial)
        if found is None:
            return False
        self.fit, self.best = found
        return True

    def begin(self, places: Iterable[tuple[int, int]], unit: float) -> None:
        """Find the first place to move, and its shift."""
        for place in places:
            for power in _POWERS:
                signs = (1.0, -1.0) if place[0] < 0 else (1.0,)
                self.attempt([{place: s * unit * 2.0**power} for s in signs], 0.01)
                if self.fit > _FITS:
                    return
            if self.best:
                break
        for step in _STEPS:
            for factor in (1 / step, step):
                self.attempt([{k: b * factor for k, b in self.best.items()}], 0.0)

    def extend(self, places: Iterable[tuple[int, int]]) -> None:
        """Add places, with the first shift or a simple multiple of it."""
        unit, missed = next(iter(self.best.values())), 0
        for place in places:
            if self.fit > _FITS or missed == _MISSES:
                break
            if place in self.best or self.attempt([self.best | {place: unit}], 0.01):
                missed = 0
                continue
            fractions = [self.best | {place: unit * factor} for factor in _FACTORS]
            missed = 0 if self.attempt(fractions, 0.01) else missed + 1

    def polish(self) -> None:
        """Refine and equalise shifts, and drop unnecessary ones."""
        if not self.best:
            return
        for reach in (1.25, 1.03):
            grid = np.geomspace(1 / reach, reach, 13)
            self.attempt([{k: b * f for k, b in self.best.items()} for f in grid], 0.0)
        same = [dict.fromkeys(self.best, b) for b in self.best.values()]
        self.attempt(same, -0.004)
        for place in sorted(self.best):
            if len(self.best) > 1:
                self.attempt([{k: b for k, b in self.best.items() if k != place}], -0.004)


def align(
    program: Program, move: Move, unit: float, tapes: int = 12, rounds: int = 1
) -> tuple[float, Move]:
    """Return the share of the tapes that an improved move fits, and the move.

    Each round adds tapes on which it so far fails, and from the second on outputs must be closer to
    count as equal. `unit` is a first shift, for a change of 1 of the reward.
    """
    trials, pull = _Trials(program, move), program.pair.pull
    n_arms = len(program.pair.table)
    for number in range(rounds):
        trials.share = _SHARES[min(number, len(_SHARES) - 1)]
        if not trials.more(tapes):
            break
        trials.polish()
        first = 0 if move.clock == DRAWS else pull
        last = min(first + _MOST_PLACES, program.pair.table.size)
        before = [] if move.clock == DRAWS else [(-1, 0)]
        behind = [(first, skip) for skip in range(1, 2 * n_arms + 1)]
        if not trials.best:
            near = [(first + k, 0) for k in range(3)]
            trials.begin(near + before + behind[:n_arms], unit)
        if not trials.best:
            break
        later = [(n, 0) for n in range(first, last)]
        trials.extend([*before, *behind, *later] if number else later)
        trials.polish()
    return trials.fit, trials._move(trials.best)


def best_move(program: Program, unit: float, tapes: int, rounds: int) -> tuple[float, Move]:
    """Return the share of tapes that the best move for the loaded pair fits, and the move."""
    best = 0.0, STILL
    for clock in (OWN, ALL, DRAWS):
        found = align(program, Move(clock, ()), unit, tapes, rounds)
        if found[0] > best[0] + 0.02 and found[1].shifts:
            best = found
        if best[0] > 0.9:
            break
    return best
