"""Events that tell two samples of outputs apart, and what they prove about privacy.

An algorithm is (ε, δ)-private only if P(A) ≤ exp(ε)P'(A) + δ for every set A of outputs, in both
directions. One set is enough to refute it, whatever way it was found, as long as its
probabilities are estimated on runs that had no part in finding it.

- `choose_event` orders the outputs by how much more frequent they are in one sample, and takes
  as many of the first as give the best bound. Order and number come from different runs, for an
  output that was seen twice in one sample and never in the other proves nothing.
- `Tally` holds what fresh runs say about the event: bounds of Clopper & Pearson (1934) for both
  probabilities, each failing with half of the stated probability.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpbandits.auditing.features import Codes, Features, Floats

__all__ = ["Event", "Tally", "choose_event"]

_SIZES = 256  # sizes of an event that are tried
_COUNTED = 2**17  # codes below this are counted, others sorted
_LEADING = 6  # features of which pairs and triples are tried


@dataclass(frozen=True)
class Tally:
    """How often an event happened in fresh runs on two neighbouring tables.

    Attributes
    ----------
    hits, runs : int
        Runs on the table where the event should be frequent that were in it, of how many.
    neighbour_hits, neighbour_runs : int
        The same for the other table.
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

    def epsilon_lower(self, delta: float = 0.0) -> float:
        """Return a lower bound on every ε for which (ε, δ)-privacy holds; 0 if there is none.

        Parameters
        ----------
        delta : float
            δ in [0, 1).
        """
        counts = np.array([self.hits]), np.array([self.neighbour_hits])
        losses = _losses(*counts, self.runs, self.neighbour_runs, delta, self.failure)
        return max(float(losses[0]), 0.0)

    def delta_lower(self, epsilon: float) -> float:
        """Return a lower bound on every δ for which (ε, δ)-privacy holds; 0 if there is none.

        Parameters
        ----------
        epsilon : float
            ε of at least 0.
        """
        counts = np.array([self.hits]), np.array([self.neighbour_hits])
        low, high = _bounds(*counts, self.runs, self.neighbour_runs, self.failure)
        return max(float(low[0] - math.exp(min(epsilon, 700.0)) * high[0]), 0.0)

    @property
    def ceiling(self) -> float:
        """The greatest bound on ε that so many runs can give: every run a hit, and no neighbour."""
        best = Tally(self.runs, self.runs, 0, self.neighbour_runs, self.failure)
        return best.epsilon_lower()


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
        What is in the event, sorted.
    reverse : bool
        Whether the event should be frequent on the neighbour, and not on the table itself.
    """

    features: Features
    columns: tuple[int, ...]
    coarse: bool
    codes: Codes
    reverse: bool

    def contains(self, outputs: Floats) -> NDArray[np.bool_]:
        """Return for each output, a row of shape (d,), whether it is in the event."""
        codes = self.features.encode(self.features.of(outputs), self.columns, self.coarse)
        places = np.searchsorted(self.codes, codes)
        found: NDArray[np.bool_] = self.codes[np.minimum(places, self.codes.size - 1)] == codes
        return found

    def tally(self, outputs: Floats, neighbour: Floats, failure: float) -> Tally:
        """Count the event in fresh outputs of the two tables."""
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
    """Find an event that is frequent on one table and rare on the other.

    Parameters
    ----------
    outputs, neighbour : numpy.ndarray of float, shape (runs, d)
        Outputs on the table and on its neighbour; both with four runs or more.
    n_values : int
        How many of the first columns are released values; the others are a sequence of actions,
        of which beginnings are tried.
    delta : float
        δ for which the bound on ε is to be high.
    failure : float
        Probability with which bounds may fail.

    Returns
    -------
    event : Event
    score : float
        The bound on ε that the event has in the half of the runs that chose its size: too high,
        as it is the best of many. For comparing pairs of tables.
    """
    cut, other_cut = len(outputs) // 2, len(neighbour) // 2
    features = Features.fit(outputs[:cut], neighbour[:other_cut], n_values)
    first, second = features.of(outputs), features.of(neighbour)
    best = Event(features, (0,), False, np.zeros(1, np.uint64), False)
    highest = -math.inf

    @functools.cache  # a feature is looked at many times
    def digits(j: int, coarse: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        return features.digits(first, j, coarse), features.digits(second, j, coarse)

    def attempt(columns: tuple[int, ...], coarse: bool) -> float:
        nonlocal best, highest
        parts = zip(*(digits(j, coarse) for j in columns), strict=True)
        codes, others = (features.joined(part, columns, coarse) for part in parts)
        size = features.n_codes(columns, coarse)
        samples = [codes[:cut], others[:other_cut], codes[cut:], others[other_cut:]]
        scores = []
        for reverse in (False, True):
            ordered = [samples[i] for i in ((1, 0, 3, 2) if reverse else (0, 1, 2, 3))]
            kept, score = _best_set(ordered, size, delta, failure)
            scores.append(score)
            if score > highest:
                best, highest = Event(features, columns, coarse, kept, reverse), score
        return max(scores)

    singles = {j: attempt((j,), False) for j in features.singles}
    leading = sorted(singles, key=lambda j: -singles[j])[:_LEADING]
    for size in (2, 3):
        for columns in itertools.combinations(sorted(leading), size):
            attempt(columns, True)
    for columns in features.sequences:
        attempt(columns, False)
    return best, highest


def _best_set(samples: list[Codes], size: int, delta: float, failure: float) -> tuple[Codes, float]:
    """Order the codes, all below `size`, by the first two samples; take how many the others say."""
    first, second, test, other = samples
    if size <= _COUNTED:
        counts = [np.bincount(each.view(np.int64), minlength=size) for each in samples]
        known = np.flatnonzero(counts[0] + counts[1]).astype(np.uint64)
        here, there, tested, others = (each[known] for each in counts)
    else:
        known = np.unique(np.concatenate([first, second]))
        here, there, tested, others = (_counts(known, each) for each in samples)
    order = np.argsort(-(here + 1.0) / (there + 1.0), kind="stable")
    hits, misses = np.cumsum(tested[order]), np.cumsum(others[order])
    sizes = _tried(known.size) - 1
    scores = _losses(hits[sizes], misses[sizes], test.size, other.size, delta, failure)
    best = int(np.argmax(scores))
    return np.sort(known[order[: sizes[best] + 1]]), float(scores[best])


@functools.lru_cache(maxsize=256)
def _tried(n_codes: int) -> NDArray[np.int64]:
    """Return the sizes of an event that are tried."""
    return np.unique(np.geomspace(1, n_codes, _SIZES).astype(np.int64))


def _counts(known: Codes, sample: Codes) -> NDArray[np.int64]:
    """Count each of the known codes in a sample."""
    values, counts = np.unique(sample, return_counts=True)
    places = np.minimum(np.searchsorted(values, known), values.size - 1)
    return np.where(values[places] == known, counts[places], 0)


def _bounds(
    hits: NDArray[np.int64],
    misses: NDArray[np.int64],
    runs: int,
    others: int,
    failure: float,
) -> tuple[Floats, Floats]:
    """Return a lower bound for the probability of a hit, and an upper one for that of a miss."""
    some = np.maximum(hits, 1)
    low = np.where(hits > 0, special.betaincinv(some, runs - some + 1, failure / 2), 0.0)
    fail = special.betainccinv(misses + 1, np.maximum(others - misses, 1), failure / 2)
    return low, np.where(misses < others, fail, 1.0)


def _losses(
    hits: NDArray[np.int64],
    misses: NDArray[np.int64],
    runs: int,
    others: int,
    delta: float,
    failure: float,
) -> Floats:
    """Return the lower bounds on ε that so many hits and misses give; −inf where there is none."""
    low, high = _bounds(hits, misses, runs, others, failure)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses: Floats = np.where(low > delta, np.log(low - delta) - np.log(high), -np.inf)
    return losses
