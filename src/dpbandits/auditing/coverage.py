"""Coverage of an audit: the rewards that runs read, and those that the audit changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpbandits.auditing.pairs import TablePair

__all__ = ["Coverage", "places_of", "read_of"]

_SHOWN = 4  # ranges of rewards in a message


def places_of(runs: Iterable[Sequence[tuple[int, int]]], n_arms: int, most: int) -> list[list[int]]:
    """Return for each arm the rewards at which requests begin and end, in order."""
    marks: list[set[int]] = [set() for _ in range(n_arms)]
    for requests in runs:
        read = [0] * n_arms
        for arm, size in requests:
            if size > 0:
                marks[arm] |= {read[arm], read[arm] + size - 1}
                read[arm] += size
    found = []
    for places in map(sorted, marks):
        if len(places) > most:
            kept = np.unique(np.geomspace(1, len(places), most).round().astype(int) - 1)
            places = [places[k] for k in kept]
        found.append(places)
    return found


def read_of(requests: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return how many rewards of each arm a run read."""
    read: dict[int, int] = {}
    for arm, size in requests:
        read[arm] = read.get(arm, 0) + size
    return read


@dataclass
class Coverage:
    """Rewards that an audit changed, and rewards that its runs read.

    Attributes
    ----------
    changed : dict of int to set of int
        Arm → places of its rewards that were changed, 0-based.
    values : set of float
        Values of changed rewards.
    shapes : set of (int, int)
        Shapes of the tables: number of arms, rewards of each.
    read : dict of int to int
        Arm → most rewards of it that a run read.

    Examples
    --------
    >>> seen = Coverage()
    >>> seen.add(TablePair([[0.0] * 8, [1.0] * 8], arm=1, pull=3, value=0.5))
    >>> seen.reach([[(0, 2), (1, 8)]])
    >>> print(seen)
    changed: reward 4 of arm 1; to 0.5 and 1; on tables of 2 × 8 rewards
    never changed: rewards of arm 0; rewards 1–3 and 5–8 of arm 1; two rewards at once
    """

    changed: dict[int, set[int]] = field(default_factory=dict)
    values: set[float] = field(default_factory=set)
    shapes: set[tuple[int, int]] = field(default_factory=set)
    read: dict[int, int] = field(default_factory=dict)

    def add(self, pair: TablePair) -> None:
        """Record a pair whose outputs were compared.

        Parameters
        ----------
        pair : TablePair
            The pair.
        """
        self.changed.setdefault(pair.arm, set()).add(pair.pull)
        self.values |= {float(pair.value), float(pair.table[pair.arm, pair.pull])}
        self.shapes.add((pair.table.shape[0], pair.table.shape[1]))

    def reach(self, runs: Iterable[Sequence[tuple[int, int]]]) -> None:
        """Record the requests of runs.

        Parameters
        ----------
        runs : iterable of sequences of (int, int)
            For each run its arms and numbers of rewards.
        """
        for requests in runs:
            for arm, size in read_of(requests).items():
                self.read[arm] = max(self.read.get(arm, 0), size)

    def left(self, arm: int) -> list[int]:
        """Return the rewards of an arm that were read but not changed.

        Parameters
        ----------
        arm : int
            The arm.

        Returns
        -------
        list of int
            Their indices, 0-based.
        """
        return sorted(set(range(self.read.get(arm, 0))) - self.changed.get(arm, set()))

    def __str__(self) -> str:
        arms = sorted(set(self.changed) | set(self.read))
        done = [f"{_ranges(sorted(self.changed[a]))} of arm {a}" for a in arms if a in self.changed]
        shapes = [f"{k} × {n}" for k, n in sorted(self.shapes)]
        never = []
        for arm in arms:
            left = self.left(arm)
            if left and arm in self.changed:
                never.append(f"{_ranges(left)} of arm {arm}")
            elif left:
                never.append(f"rewards of arm {arm}")
        values = [f"{value:g}" for value in sorted(self.values)]
        return (
            f"changed: {', '.join(done)}; to {_listed(values)}; on tables of {_listed(shapes)} "
            f"rewards\nnever changed: {'; '.join([*never, 'two rewards at once'])}"
        )


def _ranges(places: Sequence[int]) -> str:
    """Format indices, counted from 1, as ranges."""
    ranges: list[list[int]] = []
    for place in places:
        if ranges and place == ranges[-1][1] + 1:
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    named = [f"{a + 1}" if a == b else f"{a + 1}–{b + 1}" for a, b in ranges]
    if len(named) > _SHOWN:
        left = sum(b - a + 1 for a, b in ranges[_SHOWN - 1 : -1])
        named = [*named[: _SHOWN - 1], f"{left} others", named[-1]]
    return f"reward{'s' if len(places) > 1 else ''} {_listed(named)}"


def _listed(words: Sequence[str]) -> str:
    """Join words by commas and an "and"."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
