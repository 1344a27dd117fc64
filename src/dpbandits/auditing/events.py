"""Events that tell two samples of outputs apart, and what they prove about privacy.

An algorithm is (ε, δ)-private only if P(A) ≤ exp(ε)P'(A) + δ for every set A of outputs, in both
directions. One set is enough to refute it, whatever way it was found, as long as its
probabilities are estimated on runs that had no part in finding it. Proof: :prf:ref:`thm-audit`.

Whatever is computed from an output is as private as the output, so `Features` can be chosen freely,
also by looking at some of the runs. `choose_event` orders the outputs by how much more frequent
they are in one sample, and takes as many of the first as give the best bound. Order and number come
from different runs, for an output that was seen twice in one sample and never in the other proves
nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints

__all__ = ["Event", "Features", "Tally", "choose_event"]

Codes = NDArray[np.uint64]
Cuts = tuple[Floats, ...] | list[Floats]
Score = tuple[tuple[int, ...], tuple[Floats, ...]]

_FINE = 64  # a feature of up to so many values is taken as it is
_COARSE = 8
_PAIRED = 6  # up to so many values all differences are taken, beyond those of neighbours
_TAIL = (1e-4, 3e-4, 1e-3, 3e-3)
_QUANTILES = np.unique([*_TAIL, *np.linspace(0.01, 0.99, 50), *(1 - x for x in _TAIL)])
_LOWEST = -1e300  # stands for nan, that is for what was not released
_SIZES = 256  # sizes of an event that are tried
_COUNTED = 2**17  # codes below this are counted, others sorted
_LEADING = 6  # features of which pairs and triples are tried


@dataclass(frozen=True)
class Tally:
    """How often an event happened in fresh runs on two neighbouring tables.

    Probabilities have the bounds of Clopper & Pearson (1934), each failing with half of `failure`.

    Attributes
    ----------
    hits, runs, neighbour_hits, neighbour_runs : int
        Runs with the event, and all, on the table where it should be frequent; and on the other.
    failure : float
        Probability with which the bounds may fail.

    Examples
    --------
    >>> tally = Tally(hits=700, runs=1000, neighbour_hits=200, neighbour_runs=1000, failure=0.05)
    >>> round(tally.epsilon_lower(), 2), round(tally.delta_lower(epsilon=0.5), 2)
    (1.09, 0.3)
    """

    hits: int
    runs: int
    neighbour_hits: int
    neighbour_runs: int
    failure: float

    def _bounds(self) -> tuple[Floats, Floats]:
        hits, misses = np.array([self.hits]), np.array([self.neighbour_hits])
        return _bounds(hits, misses, self.runs, self.neighbour_runs, self.failure)

    def epsilon_lower(self, delta: float = 0.0) -> float:
        """Return a lower bound on every ε for which (ε, δ)-privacy holds.

        Parameters
        ----------
        delta : float
            δ in [0, 1).

        Returns
        -------
        float
            The bound; 0 if there is none.
        """
        return max(float(_losses(*self._bounds(), delta)[0]), 0.0)

    def delta_lower(self, epsilon: float) -> float:
        """Return a lower bound on every δ for which (ε, δ)-privacy holds.

        Parameters
        ----------
        epsilon : float
            ε of at least 0.

        Returns
        -------
        float
            The bound; 0 if there is none.
        """
        low, high = self._bounds()
        return max(float(low[0] - math.exp(min(epsilon, 700.0)) * high[0]), 0.0)

    @property
    def ceiling(self) -> float:
        """Greatest bound on ε that so many runs can give: every run a hit, and no neighbour.

        Proof: :prf:ref:`prop-ceiling`.
        """
        return Tally(self.runs, self.runs, 0, self.neighbour_runs, self.failure).epsilon_lower()


@dataclass(frozen=True, eq=False)
class Features:
    """How features are made of outputs, and where each of them is cut.

    Features are the columns of the outputs that vary; differences of released values, as a running
    sum shows its last block there; and scores, sums over some features of the log of how much more
    frequent each one's bin is in one sample: for independent releases the best statistic that there
    is.

    Attributes
    ----------
    n_values : int
        How many of the first columns of the outputs are released values, not actions.
    kept : tuple of int
        Columns that vary, or the first one.
    pairs : tuple of (int, int)
        Columns i and j of which the difference, j minus i, is a feature.
    scores : tuple of (tuple of int, tuple of numpy.ndarray)
        Features of a score, and the log ratio of each bin of each of them.
    fine, coarse : tuple of numpy.ndarray of float
        Increasing cuts of each feature, for looking at it alone or at some together.

    Examples
    --------
    >>> outputs = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 0.0]] * 8)
    >>> Features.fit(outputs, outputs, n_values=2).names
    ['value 0', 'action 1', 'a score of 2']
    """

    n_values: int
    kept: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    scores: tuple[Score, ...] = ()
    fine: tuple[Floats, ...] = ()
    coarse: tuple[Floats, ...] = ()

    @classmethod
    def fit(cls, outputs: Floats, neighbour: Floats, n_values: int) -> Features:
        """Choose features by two samples of outputs.

        Parameters
        ----------
        outputs, neighbour : numpy.ndarray of float, shape (runs, d)
            Outputs on the table and on its neighbour.
        n_values : int
            How many of the first columns are released values.

        Returns
        -------
        Features
            The features, with their cuts.
        """
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
        plain = cls(n_values, kept, pairs)
        table = plain.of(both)
        fine = [_cuts(column, _FINE, _QUANTILES) for column in table.T]
        groups = plain._groups(len(values))
        scores = tuple((group, _log_ratios(table, fine, group, len(outputs))) for group in groups)
        scored = _scores(table, scores, fine)
        fine += [_cuts(column, _FINE, _QUANTILES) for column in scored.T]
        inner = np.arange(1, _COARSE) / _COARSE
        coarse = [_cuts(column, _COARSE, inner) for column in np.hstack([table, scored]).T]
        return cls(n_values, kept, pairs, scores, tuple(fine), tuple(coarse))

    def _groups(self, n_kept: int) -> list[tuple[int, ...]]:
        """Return which features are added up: four scores, or fewer if they coincide."""
        columns = tuple(range(len(self.kept)))
        differences = tuple(range(len(columns), len(columns) + len(self.pairs)))
        near = tuple(d for d, (i, j) in zip(differences, self.pairs, strict=True) if j == i + 1)
        values = columns[:n_kept]
        groups = [values, values[:1] + near, values + near, values + differences, columns]
        return [group for group in dict.fromkeys(groups) if len(group) > 1]

    @property
    def names(self) -> list[str]:
        """The name of each feature."""
        n = self.n_values
        columns = [f"value {j}" if j < n else f"action {j - n + 1}" for j in self.kept]
        differences = [f"value {j} − value {i}" for i, j in self.pairs]
        return [*columns, *differences, *(f"a score of {len(group)}" for group, _ in self.scores)]

    @property
    def sequences(self) -> list[tuple[int, ...]]:
        """The features of each beginning of the actions, without and with the values."""
        values = tuple(i for i, j in enumerate(self.kept) if j < self.n_values)
        actions = tuple(i for i, j in enumerate(self.kept) if j >= self.n_values)
        lengths = {round(x) for x in np.geomspace(1, max(len(actions), 1), 10)}
        starts = [actions[:m] for m in sorted(lengths) if 2 <= m <= len(actions)]
        return [*starts, *(values + start for start in starts if values)]

    def of(self, outputs: Floats) -> Floats:
        """Return the features of outputs.

        Parameters
        ----------
        outputs : numpy.ndarray of float, shape (runs, d)
            The outputs.

        Returns
        -------
        numpy.ndarray of float, shape (runs, features)
            The features.
        """
        columns = [_numbers(outputs[:, j]) for j in self.kept]
        with np.errstate(invalid="ignore"):  # of what was not released, or infinite
            columns += [_numbers(outputs[:, j] - outputs[:, i]) for i, j in self.pairs]
        table = np.stack(columns, axis=1)
        return np.hstack([table, _scores(table, self.scores, self.fine)])

    def digits(self, table: Floats, j: int, coarse: bool) -> NDArray[np.uint8]:
        """Return the bin of one feature in each row of features.

        Parameters
        ----------
        table : numpy.ndarray of float, shape (runs, features)
            The features.
        j : int
            Which of them.
        coarse : bool
            Whether it is cut into few bins.

        Returns
        -------
        numpy.ndarray of uint8, shape (runs,)
            The number of the bin, from 0.
        """
        cuts = (self.coarse if coarse else self.fine)[j]
        return np.searchsorted(cuts, table[:, j], side="right").astype(np.uint8)

    def joined(
        self, digits: Iterable[NDArray[np.uint8]], columns: Sequence[int], coarse: bool
    ) -> Codes:
        """Return one number for each row: the bins of the features in `columns`, joined.

        Numbers of more than 64 bits wrap around, so that rows may share one: an event of them is
        a little coarser, and no less valid.

        Parameters
        ----------
        digits : iterable of numpy.ndarray of uint8
            The bins of each feature, as `digits` returns them.
        columns : sequence of int
            Which features these are.
        coarse : bool
            Whether they are cut into few bins.

        Returns
        -------
        numpy.ndarray of uint64, shape (runs,)
            The numbers.
        """
        codes: Any = np.uint64(0)
        for size, places in zip(self.sizes(columns, coarse), digits, strict=True):
            codes = codes * np.uint64(size) + places
        joined: Codes = codes
        return joined

    def sizes(self, columns: Sequence[int], coarse: bool) -> list[int]:
        """Return how many bins each of some features has.

        Parameters
        ----------
        columns : sequence of int
            The features.
        coarse : bool
            Whether they are cut into few bins.

        Returns
        -------
        list of int
            The numbers of bins.
        """
        cuts = self.coarse if coarse else self.fine
        return [cuts[j].size + 1 for j in columns]


def _numbers(column: Floats) -> Floats:
    numbers: Floats = np.nan_to_num(column, nan=_LOWEST, posinf=1e300, neginf=_LOWEST)
    return numbers


def _cuts(column: Floats, most: int, quantiles: Floats) -> Floats:
    """Return the values of a feature, or its quantiles if there are too many."""
    values = np.unique(column)
    cuts: Floats = values if values.size <= most else np.unique(np.quantile(column, quantiles))
    return cuts


def _log_ratios(
    table: Floats, cuts: Cuts, group: tuple[int, ...], n_first: int
) -> tuple[Floats, ...]:
    """Return for each feature of a group the log ratio of each bin, one count added to each."""
    ratios = []
    for j in group:
        bins = np.searchsorted(cuts[j], table[:, j], side="right")
        here, there = (
            np.bincount(part, minlength=cuts[j].size + 1) + 1.0
            for part in (bins[:n_first], bins[n_first:])
        )
        ratios.append(np.log(here / here.sum()) - np.log(there / there.sum()))
    return tuple(ratios)


def _scores(table: Floats, scores: Sequence[Score], cuts: Cuts) -> Floats:
    """Return the scores, shape (runs, scores)."""
    columns = np.zeros((len(table), len(scores)))
    for k, (group, ratios) in enumerate(scores):
        for j, ratio in zip(group, ratios, strict=True):
            columns[:, k] += ratio[np.searchsorted(cuts[j], table[:, j], side="right")]
    return columns


@dataclass(frozen=True, eq=False)
class Event:
    """A set of outputs, described by what some of their features may be.

    Attributes
    ----------
    features : Features
        How features are made of outputs.
    columns : tuple of int
        Features that are looked at.
    coarse : bool
        Whether they are cut into few bins.
    codes : numpy.ndarray of uint64
        Numbers of `Features.joined` that are in the event, sorted.
    reverse : bool
        Whether it should be frequent on the neighbour, and not on the table itself.

    Examples
    --------
    >>> seen, others = np.tile([[1.0], [0.0]], (40, 1)), np.zeros((80, 1))
    >>> event, _ = choose_event(seen, others, n_values=1, delta=0.0, failure=0.1)
    >>> event.contains(np.array([[1.0], [0.0]])).tolist()
    [True, False]
    """

    features: Features
    columns: tuple[int, ...]
    coarse: bool
    codes: Codes
    reverse: bool

    def contains(self, outputs: Floats) -> NDArray[np.bool_]:
        """Return for each output whether it is in the event.

        Parameters
        ----------
        outputs : numpy.ndarray of float, shape (runs, d)
            The outputs.

        Returns
        -------
        numpy.ndarray of bool, shape (runs,)
            Whether it is.
        """
        features, table = self.features, self.features.of(outputs)
        digits = (features.digits(table, j, self.coarse) for j in self.columns)
        codes = features.joined(digits, self.columns, self.coarse)
        places = np.searchsorted(self.codes, codes)
        found: NDArray[np.bool_] = self.codes[np.minimum(places, self.codes.size - 1)] == codes
        return found

    def tally(self, outputs: Floats, neighbour: Floats, failure: float) -> Tally:
        """Count the event in fresh outputs of the two tables.

        Parameters
        ----------
        outputs, neighbour : numpy.ndarray of float, shape (runs, d)
            Outputs on the table and on its neighbour, of runs that had no part in the choice.
        failure : float
            Probability in (0, 1) with which the bounds may fail.

        Returns
        -------
        Tally
            The counts.
        """
        samples = (neighbour, outputs) if self.reverse else (outputs, neighbour)
        first, second = (int(self.contains(sample).sum()) for sample in samples)
        return Tally(first, len(samples[0]), second, len(samples[1]), failure)

    def __str__(self) -> str:
        names = [self.features.names[j] for j in self.columns[:4]]
        shown = ", ".join(names) + (f" and {len(self.columns) - 4} more" * (len(self.columns) > 4))
        return f"{self.codes.size} of the values of {shown}"


def choose_event(
    outputs: Floats, neighbour: Floats, n_values: int, delta: float, failure: float
) -> tuple[Event, float]:
    """Find an event that is frequent on one table and rare on the other, and its bound on ε.

    The bound is that of the runs that chose the event's size: too high, as it is the best of many,
    but good for comparing pairs of tables.

    Parameters
    ----------
    outputs, neighbour : numpy.ndarray of float, shape (runs, d)
        Outputs on the table and on its neighbour; both with four runs or more.
    n_values : int
        How many of the first columns are released values; the others are a sequence of actions,
        of which beginnings are tried.
    delta, failure : float
        δ for which the bound on ε is to be high, and probability with which bounds may fail.

    Returns
    -------
    event : Event
        The event.
    bound : float
        The bound on ε of the runs that chose its size; −inf if there is none.
    """
    cut, other_cut = len(outputs) // 2, len(neighbour) // 2
    features = Features.fit(outputs[:cut], neighbour[:other_cut], n_values)
    table = features.of(np.concatenate([outputs, neighbour]))
    places = [cut, len(outputs), len(outputs) + other_cut]
    best = Event(features, (0,), False, np.zeros(1, np.uint64), False)
    highest = -math.inf

    @functools.cache  # a feature is looked at many times
    def digits(j: int, coarse: bool) -> NDArray[np.uint8]:
        return features.digits(table, j, coarse)

    def attempt(columns: tuple[int, ...], coarse: bool) -> float:
        nonlocal best, highest
        codes = features.joined((digits(j, coarse) for j in columns), columns, coarse)
        size = math.prod(features.sizes(columns, coarse))
        here, test, there, other = np.split(codes, places)
        scores = []
        for reverse, samples in enumerate([[here, there, test, other], [there, here, other, test]]):
            kept, score = _best_set(samples, size, delta, failure)
            scores.append(score)
            if score > highest:
                best, highest = Event(features, columns, coarse, kept, bool(reverse)), score
        return max(scores)

    singles = {j: attempt((j,), False) for j in range(len(features.fine))}
    leading = sorted(singles, key=lambda j: -singles[j])[:_LEADING]
    for size in (2, 3):
        for columns in itertools.combinations(sorted(leading), size):
            attempt(columns, True)
    for columns in features.sequences:
        attempt(columns, False)
    return best, highest


def _best_set(samples: list[Codes], size: int, delta: float, failure: float) -> tuple[Codes, float]:
    """Order the codes, all below `size`, by the first two samples; take how many the others say."""
    if size <= _COUNTED:
        values, places = np.arange(size, dtype=np.uint64), [each.view(np.int64) for each in samples]
    else:
        values, joined = np.unique(np.concatenate(samples), return_inverse=True)
        places = np.split(joined, np.cumsum([each.size for each in samples[:-1]]))
    counts = [np.bincount(each, minlength=values.size) for each in places]
    known = np.flatnonzero(counts[0] + counts[1])
    here, there, tested, others = (each[known] for each in counts)
    order = np.argsort(-(here + 1.0) / (there + 1.0), kind="stable")
    sizes = _tried(known.size) - 1
    hits, misses = np.cumsum(tested[order])[sizes], np.cumsum(others[order])[sizes]
    scores = _losses(*_bounds(hits, misses, samples[2].size, samples[3].size, failure), delta)
    best = int(np.argmax(scores))
    return np.sort(values[known[order[: sizes[best] + 1]]]), float(scores[best])


@functools.lru_cache(maxsize=256)
def _tried(n_codes: int) -> Ints:
    """Return the sizes of an event that are tried."""
    return np.unique(np.geomspace(1, n_codes, _SIZES).astype(np.int64))


def _bounds(
    hits: Ints, misses: Ints, runs: int, others: int, failure: float
) -> tuple[Floats, Floats]:
    """Return a lower bound for the probability of a hit, and an upper one for that of a miss."""
    some = np.maximum(hits, 1)
    low = np.where(hits > 0, scipy.special.betaincinv(some, runs - some + 1, failure / 2), 0.0)
    fail = scipy.special.betainccinv(misses + 1, np.maximum(others - misses, 1), failure / 2)
    return low, np.where(misses < others, fail, 1.0)


def _losses(low: Floats, high: Floats, delta: float) -> Floats:
    """Return the bounds on ε that go with bounds of two probabilities; −inf where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        losses: Floats = np.where(low > delta, np.log(low - delta) - np.log(high), -np.inf)
    return losses
