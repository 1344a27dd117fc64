"""What an audit looks at in the outputs of runs: values, their differences, sums of log ratios.

Whatever is computed from an output is as private as the output, so that features can be chosen
freely, also by looking at some of the runs. Those of `Features` are

- the columns of the outputs themselves,
- differences of released values, for a running sum shows its last block there,
- scores: for some columns together, the sum of the logs of how much more frequent each one's
  value is in one sample. For independent releases this is the best statistic that there is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Features", "Floats"]

Floats = NDArray[np.float64]
Codes = NDArray[np.uint64]

_FINE = 64  # a feature of up to so many values is taken as it is
_COARSE = 8
_PAIRED = 6  # up to so many values all differences are taken, beyond those of neighbours
_TAIL = (1e-4, 3e-4, 1e-3, 3e-3)
_QUANTILES = np.unique([*_TAIL, *np.linspace(0.01, 0.99, 50), *(1 - x for x in _TAIL)])
_LOWEST = -1e300  # stands for nan, that is for what was not released


@dataclass(frozen=True, eq=False)
class Features:
    """How features are made of outputs, and where each of them is cut.

    Attributes
    ----------
    n_values : int
        Released values among the columns of an output; the rest are actions.
    kept : tuple of int
        Columns that vary.
    pairs : tuple of (int, int)
        Columns whose difference is a feature.
    scores : tuple of (tuple of int, tuple of numpy.ndarray)
        For each score the features that it adds up, and the log ratio of each of their bins.
    fine, coarse : tuple of numpy.ndarray
        Cuts of each feature, for looking at it alone and for looking at some together.
    """

    n_values: int
    kept: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    scores: tuple[tuple[tuple[int, ...], tuple[Floats, ...]], ...]
    fine: tuple[Floats, ...]
    coarse: tuple[Floats, ...]

    @classmethod
    def fit(cls, outputs: Floats, neighbour: Floats, n_values: int) -> Features:
        """Choose features by two samples of outputs, each of shape (runs, d)."""
        both = np.concatenate([outputs, neighbour])
        varies = [j for j in range(both.shape[1]) if np.ptp(_numbers(both[:, j])) > 0]
        kept = tuple(varies or [0])
        values = [j for j in kept if j < n_values]
        far = len(values) if len(values) <= _PAIRED else 1
        pairs = tuple(
            (i, j)
            for (a, i), (b, j) in itertools.combinations(enumerate(values), 2)
            if b - a <= far
        )
        plain = cls(n_values, kept, pairs, (), (), ())
        table = plain.of(both)
        fine = [_cuts(column, _FINE, _QUANTILES) for column in table.T]
        groups = _groups(plain, len(values))
        scores = tuple((group, _log_ratios(table, fine, group, len(outputs))) for group in groups)
        scored = _scores(table, scores, fine)
        fine += [_cuts(column, _FINE, _QUANTILES) for column in scored.T]
        inner = np.arange(1, _COARSE) / _COARSE
        coarse = [_cuts(column, _COARSE, inner) for column in np.hstack([table, scored]).T]
        return cls(n_values, kept, pairs, scores, tuple(fine), tuple(coarse))

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        columns = [
            f"value {j}" if j < self.n_values else f"action {j - self.n_values + 1}"
            for j in self.kept
        ]
        differences = [f"value {j} − value {i}" for i, j in self.pairs]
        return [*columns, *differences, *(f"a score of {len(group)}" for group, _ in self.scores)]

    @property
    def singles(self) -> range:
        """Features that are looked at alone: all."""
        return range(len(self.fine))

    @property
    def sequences(self) -> list[tuple[int, ...]]:
        """Beginnings of the sequence of actions, without and with the values."""
        values = tuple(i for i, j in enumerate(self.kept) if j < self.n_values)
        actions = tuple(i for i, j in enumerate(self.kept) if j >= self.n_values)
        lengths = {round(x) for x in np.geomspace(1, max(len(actions), 1), 10)}
        starts = [actions[:m] for m in sorted(lengths) if 2 <= m <= len(actions)]
        return [*starts, *(values + start for start in starts if values)]

    def of(self, outputs: Floats) -> Floats:
        """Return the features of outputs, shape (runs, features)."""
        columns = [_numbers(outputs[:, j]) for j in self.kept]
        with np.errstate(invalid="ignore"):  # of what was not released, or infinite
            columns += [_numbers(outputs[:, j] - outputs[:, i]) for i, j in self.pairs]
        table = np.stack(columns, axis=1)
        return np.hstack([table, _scores(table, self.scores, self.fine)])

    def digits(self, table: Floats, j: int, coarse: bool) -> NDArray[np.uint8]:
        """Return the bin of feature j in each row of features, of fewer than 256."""
        cuts = (self.coarse if coarse else self.fine)[j]
        return np.searchsorted(cuts, table[:, j], side="right").astype(np.uint8)

    def joined(
        self, digits: Iterable[NDArray[np.uint8]], columns: Sequence[int], coarse: bool
    ) -> Codes:
        """Return one number for each row: the bins of the features in `columns`, joined.

        Numbers of more than 64 bits wrap around, so that rows may share one: an event of them is
        a little coarser, and no less valid.
        """
        cuts = self.coarse if coarse else self.fine
        codes: Any = np.uint64(0)
        for j, places in zip(columns, digits, strict=True):
            codes = codes * np.uint64(cuts[j].size + 1) + places
        joined: Codes = codes
        return joined

    def encode(self, table: Floats, columns: tuple[int, ...], coarse: bool) -> Codes:
        """Return `joined` of the `digits` of rows of features."""
        return self.joined((self.digits(table, j, coarse) for j in columns), columns, coarse)

    def n_codes(self, columns: tuple[int, ...], coarse: bool) -> int:
        """Return a bound on the numbers that `encode` returns, which they are below."""
        cuts = self.coarse if coarse else self.fine
        return math.prod(cuts[j].size + 1 for j in columns)


def _numbers(column: Floats) -> Floats:
    numbers: Floats = np.nan_to_num(column, nan=_LOWEST, posinf=1e300, neginf=_LOWEST)
    return numbers


def _cuts(column: Floats, most: int, quantiles: Floats) -> Floats:
    """Return the values of a feature, or its quantiles if there are too many."""
    values = np.unique(column)
    if values.size <= most:
        return values
    cuts: Floats = np.unique(np.quantile(column, quantiles))
    return cuts


def _groups(features: Features, n_values: int) -> list[tuple[int, ...]]:
    """Return the features whose log ratios are added up: four scores, fewer if they coincide."""
    columns = tuple(range(len(features.kept)))
    differences = tuple(range(len(columns), len(columns) + len(features.pairs)))
    near = tuple(d for d, (i, j) in zip(differences, features.pairs, strict=True) if j == i + 1)
    values = columns[:n_values]
    groups = [values, values[:1] + near, values + near, values + differences, columns]
    return [group for group in dict.fromkeys(groups) if len(group) > 1]


def _log_ratios(
    table: Floats, cuts: list[Floats], group: tuple[int, ...], n_first: int
) -> tuple[Floats, ...]:
    """Return for each feature of a group the log ratio of each bin, one count added to each."""
    ratios = []
    for j in group:
        bins = np.searchsorted(cuts[j], table[:, j], side="right")
        here = np.bincount(bins[:n_first], minlength=cuts[j].size + 1) + 1.0
        there = np.bincount(bins[n_first:], minlength=cuts[j].size + 1) + 1.0
        ratios.append(np.log(here / here.sum()) - np.log(there / there.sum()))
    return tuple(ratios)


def _scores(
    table: Floats,
    scores: tuple[tuple[tuple[int, ...], tuple[Floats, ...]], ...],
    cuts: tuple[Floats, ...] | list[Floats],
) -> Floats:
    """Return the scores, shape (runs, scores)."""
    columns = np.zeros((len(table), len(scores)))
    for k, (group, ratios) in enumerate(scores):
        for j, ratio in zip(group, ratios, strict=True):
            columns[:, k] += ratio[np.searchsorted(cuts[j], table[:, j], side="right")]
    return columns
