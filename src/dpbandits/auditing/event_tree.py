"""Events that distinguish the outputs on two tables: cells of a small classification tree.

Any function of an output is as private as the output, and an event may be chosen in any way, as
long as other runs test it. Cells are grown on some of the runs and sorted by their estimated odds,
and the event is the initial segment of that order with the highest predicted bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints
from dpbandits.auditing.betting import BETS

__all__ = ["Cells", "CellEvent", "Seen", "choose_event"]

_CUTS = 32  # candidate cuts in a column
_DEPTH = 12
_LEAST_GAIN = 0.01  # of the log likelihood
_ENOUGH = 100  # least number of runs on the rare side for an estimate of a loss


class Seen(NamedTuple):
    """Outputs on both tables, on common tapes that are moved on one side.

    Attributes
    ----------
    likely, rare : numpy.ndarray of float, shape (runs, d)
        Outputs on the side where the event should be likely, and where it should be rare.
    weights : numpy.ndarray of float, shape (runs,)
        Weights of the moved side.

    Examples
    --------
    >>> Seen(np.zeros((3, 1)), np.ones((3, 1)), np.ones(3)).weights.size
    3
    """

    likely: Floats
    rare: Floats
    weights: Floats

    def joined(self, more: Seen) -> Seen:
        """Return these and more outputs."""
        return Seen(*(np.concatenate(two) for two in zip(self, more, strict=True)))


class Cells:
    """Cells of outputs.

    A tree, grown greedily by the likelihood of which side an output comes from.

    Parameters
    ----------
    seen : Seen
        Outputs, with weights on the rare side.
    least : float
        Least weight of a cell.

    Attributes
    ----------
    nodes : list
        For each node None if it is a cell, or (column, cut, left node, right node).

    Examples
    --------
    >>> one, two = np.zeros((50, 1)), np.ones((50, 1))
    >>> cells = Cells(Seen(one, two, np.ones(50)), 3)
    >>> cells(np.array([[0.0], [1.0], [1.0]])).tolist()
    [1, 2, 2]
    """

    def __init__(self, seen: Seen, least: float) -> None:
        self.nodes: list[tuple[int, float, int, int] | None] = []
        self._least = least
        outputs = np.vstack([seen.likely, seen.rare])
        self._masses = np.zeros((2, len(outputs)))
        self._masses[0, : len(seen.likely)] = 1.0
        self._masses[1, len(seen.likely) :] = seen.weights
        columns: dict[bytes, tuple[int, Floats, Ints]] = {}
        for j in np.flatnonzero(outputs.min(axis=0) < outputs.max(axis=0)).tolist():
            values = np.unique(outputs[:, j])
            cuts = values[:-1] / 2 + values[1:] / 2
            if cuts.size >= _CUTS:
                cuts = np.unique(np.quantile(outputs[:, j], np.arange(1, _CUTS) / _CUTS))
            digits = np.searchsorted(cuts, outputs[:, j])
            columns.setdefault(digits.tobytes(), (j, cuts, digits))
        self._columns = list(columns.values())
        self._grow(np.arange(len(outputs)), 0)
        del self._columns, self._masses

    def _grow(self, rows: Ints, level: int) -> int:
        """Grow a node on some of the outputs; return its number."""
        here, (a, b) = len(self.nodes), self._masses[:, rows].sum(axis=1)
        self.nodes.append(None)
        best, split = _LEAST_GAIN, None
        if level < _DEPTH and a + b > 2 * self._least:
            masses = self._masses[:, rows]
            for j, cuts, digits in self._columns:
                mine = digits[rows]
                x, y = (
                    np.bincount(mine, weights, cuts.size + 1).cumsum()[:-1] for weights in masses
                )
                gain = _fit(x, y) + _fit(a - x, b - y) - _fit(a, b)
                gain[(x + y < self._least) | (a + b - x - y < self._least)] = 0.0
                at = int(gain.argmax()) if gain.size else 0
                if gain.size and gain[at] > best:
                    best, split = float(gain[at]), (j, float(cuts[at]), mine <= at)
        if split is not None:
            j, cut, below = split
            left = self._grow(rows[below], level + 1)
            self.nodes[here] = j, cut, left, self._grow(rows[~below], level + 1)
        return here

    def __call__(self, outputs: Floats) -> Ints:
        """Return the number of the cell of each output.

        Shapes: `outputs` (runs, d); the result (runs,).
        """
        cells = np.empty(len(outputs), dtype=np.int64)
        waiting = [(0, np.arange(len(outputs)))]
        while waiting:
            node, rows = waiting.pop()
            parted = self.nodes[node]
            if parted is None:
                cells[rows] = node
                continue
            j, cut, left, right = parted
            below = outputs[rows, j] <= cut
            waiting += [(left, rows[below]), (right, rows[~below])]
        return cells


def _fit(a: Floats, b: Floats) -> Floats:
    """Return the log likelihood of the two sides' weights in one cell."""
    total = np.log(a + b + 2.0)
    fit: Floats = a * (np.log(a + 1.0) - total) + b * (np.log(b + 1.0) - total)
    return fit


@dataclass(frozen=True, eq=False)
class CellEvent:
    """A set of outputs: some of the cells of a tree.

    Attributes
    ----------
    cells : Cells
        The cells.
    order : numpy.ndarray of int
        Numbers of the nodes, sorted by decreasing odds for the likely side.
    size : int
        Number of nodes, from the first, in the event.
    promise : float
        The predicted bound.

    Examples
    --------
    >>> one, two = np.zeros((90, 1)), np.ones((90, 1))
    >>> both = Seen(one, two, np.ones(90))
    >>> event = choose_event(both, both, 1000, 1e-3, 0.0)
    >>> event.contains(np.array([[0.0], [1.0]])).tolist(), event.promise > 1.0
    ([True, False], True)
    """

    cells: Cells
    order: Ints
    size: int
    promise: float

    def contains(self, outputs: Floats) -> NDArray[np.bool_]:
        """Return whether each output is in the event.

        Shapes: `outputs` (runs, d); the result (runs,).
        """
        inside = np.zeros(len(self.cells.nodes), dtype=bool)
        inside[self.order[: self.size]] = True
        found: NDArray[np.bool_] = inside[self.cells(outputs)]
        return found

    def loss(self, seen: Seen) -> float:
        """Estimate the loss of the outputs: the largest log ratio of an initial segment.

        It is not a proven bound. Segments with fewer than 100 runs on the rare side are left out,
        unless all have fewer.
        """
        m = len(self.cells.nodes)
        p = np.bincount(self.cells(seen.likely), seen.weights, m)[self.order].cumsum()
        q = np.bincount(self.cells(seen.rare), None, m)[self.order].cumsum()
        counted = q >= min(_ENOUGH, q[-1])
        return max(float(np.log(np.maximum(p[counted], 1e-300) / q[counted]).max()), 0.0)

    def __str__(self) -> str:
        nodes = self.cells.nodes
        cells = [k for k in self.order[: self.size].tolist() if nodes[k] is None]
        among = sum(node is None for node in nodes)
        return f"{len(cells)} of {among} cells of outputs"


def choose_event(
    grown: Seen, tested: Seen, n_runs: int, failure: float, delta: float, share: float = 0.0
) -> CellEvent:
    """Grow cells, sort them, and choose the initial segment with the highest predicted bound."""
    n = len(grown.weights)
    cells = Cells(grown, max(8.0 if n > 500 else 3.0, 2.0 * share * n))
    m = len(cells.nodes)
    a = np.bincount(cells(grown.likely), None, m)
    b = np.bincount(cells(grown.rare), grown.weights, m)
    order = np.argsort(np.log((b + 1.0) / (a + 1.0)), kind="stable")
    c, d, v = cells(tested.likely), cells(tested.rare), tested.weights
    sums = (c, v), (d, None), (c, v * v), (c[c == d], v[c == d])
    p, q, squares, both = (
        np.bincount(rows, weights, m)[order].cumsum() / v.size for rows, weights in sums
    )
    both = np.minimum(both, p)  # at least so many pairs have both sides in the event
    q = q + 1.0 / v.size
    bets = BETS[:, None] / (1.0 + delta)
    low, high = np.zeros(m), np.full(m, 30.0)
    for _ in range(40):
        scale = np.exp(-(low + high) / 2)
        spread = scale**2 * squares - 2.0 * scale * both + q + delta**2  # mean square of a bet
        spread = np.maximum(spread, 1.0 / v.size)
        drift = scale * p - q - delta - np.sqrt(spread / v.size)  # one deviation below
        gain = (bets * drift - bets**2 / 2.0 * spread).max(axis=0) * n_runs
        enough = gain > math.log(BETS.size / failure)
        low = np.where(enough, -np.log(scale), low)
        high = np.where(enough, high, -np.log(scale))
    best = int(low.argmax())
    return CellEvent(cells, order, best + 1, float(low[best]))
