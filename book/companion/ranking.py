"""Confidence sets of the best algorithm, and of every algorithm's rank."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpbandits._validation import check_choice, check_fraction
from dpbandits.configuration import Configuration, whole

__all__ = ["Best", "Estimate", "Standing", "best_in_each", "best_of", "standings", "without_some"]

_LOOSE = 1 + 1e-9  # so that rounding has no effect
Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True)
class Estimate(Configuration):
    """A mean of two or more independent runs, nan if it is unknown, with its standard error."""

    mean: float
    error: float
    n_runs: Annotated[int, whole(2)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.error >= 0 or (math.isnan(self.mean) and math.isnan(self.error))):
            raise ValueError(
                f"error={self.error!r} is out of range; allowed: 0 or more, nan if the mean is nan"
            )

    @classmethod
    def of(cls, sample: ArrayLike) -> Estimate:
        """Return the estimate from a sample of two or more values."""
        values = np.asarray(sample, dtype=np.float64)
        if values.ndim != 1 or values.size < 2:
            raise ValueError(
                f"sample={sample!r} is not a sample; allowed: a row of two or more numbers"
            )
        error = float(values.std(ddof=1)) / math.sqrt(values.size)
        return cls(float(values.mean()), error, values.size)


class Best(NamedTuple):
    """The algorithms that may have the least mean in a setting.

    Attributes
    ----------
    names : tuple of str
        The algorithms that may be best, in increasing order of their means.
    ratio : float
        The second least mean of the setting divided by the least.
    """

    names: tuple[str, ...]
    ratio: float

    @property
    def winner(self) -> str | None:
        """The only algorithm that may be best; None if several may."""
        return self.names[0] if len(self.names) == 1 else None


def _quantile(a: Estimate, b: Estimate, error: float) -> float:
    """Return Student's quantile with the degrees of freedom of Welch and Satterthwaite."""
    parts = [(e.error**4 / (e.n_runs - 1), e.error**2) for e in (a, b)]
    below = sum(part for part, _ in parts)
    total = sum(variance for _, variance in parts)
    freedom = total**2 / below if below > 0 else math.inf
    return float(stats.t.isf(error, freedom))


def _is_less(a: Estimate, b: Estimate, error: float) -> bool:
    """Return whether the mean of `a` is less than that of `b`, by Welch's test at level `error`."""
    if b.mean <= a.mean:
        return False
    apart, unit = b.mean - a.mean, math.hypot(a.error, b.error)
    # Welch's degrees of freedom are between these two, which already decide most comparisons.
    fewest, most = min(a.n_runs, b.n_runs) - 1, a.n_runs + b.n_runs - 2
    if apart > _LOOSE * _student(fewest, error) * unit:
        return True
    if _LOOSE * apart < _student(most, error) * unit:
        return False
    return apart > _quantile(a, b, error) * unit


@cache
def _student(freedom: float, error: float) -> float:
    """Return Student's quantile."""
    return float(stats.t.isf(error, freedom))


def best_of(estimates: Mapping[str, Estimate], error: float = 0.05) -> Best:
    """Return the algorithms of a setting that may have the least mean.

    An algorithm is excluded if another one's mean is less by Welch's test at level `error` divided
    by the number of ordered pairs. So the algorithm with the least mean is excluded with
    probability at most about `error`, which also bounds the probability of declaring a false
    winner.

    There are two algorithms or more; unknown means (nan) count as greatest. For a map, `error` is
    0.05 divided by the number of its settings.

    Examples
    --------
    >>> places = {"x": Estimate(1.0, 0.1, 50), "y": Estimate(1.1, 0.1, 50)}
    >>> best_of(places | {"z": Estimate(9.0, 0.1, 50)}).names
    ('x', 'y')
    """
    check_fraction("error", error)
    known = {name: e for name, e in estimates.items() if math.isfinite(e.mean)}
    if len(estimates) < 2 or not known:
        raise ValueError(
            f"estimates={estimates!r} cannot be compared; allowed: two algorithms or more, one of "
            "them with a mean"
        )
    each = error / (len(estimates) * (len(estimates) - 1))
    ranked = sorted(known, key=lambda name: known[name].mean)
    names = tuple(
        name
        for name in ranked
        if not any(_is_less(known[other], known[name], each) for other in ranked if other != name)
    )
    least = known[ranked[0]].mean
    second = known[ranked[1]].mean if len(ranked) > 1 else math.inf
    return Best(names, second / least if least > 0 else math.inf)


def best_in_each(
    estimates: Mapping[Place, Mapping[str, Estimate]], error: float = 0.05
) -> dict[Place, Best]:
    """Return the best algorithms of each setting: `best_of`, with `error` for all together."""
    check_fraction("error", error)
    return {place: best_of(each, error / len(estimates)) for place, each in estimates.items()}


def without_some(
    estimates: Mapping[Place, Mapping[str, Estimate]], without: Collection[str]
) -> dict[Place, dict[str, Estimate]]:
    """Drop algorithms; raise for unknown names, or if fewer than two remain in a setting."""
    known = tuple(dict.fromkeys(name for each in estimates.values() for name in each))
    for name in without:
        check_choice("without", name, known)
    left = {
        place: {name: e for name, e in each.items() if name not in without}
        for place, each in estimates.items()
    }
    if any(len(each) < 2 for each in left.values()):
        raise ValueError(f"without={without!r} leaves nothing to compare; allowed: fewer names")
    return left


_DRAWN = 4000  # simulated scores for the intervals


class Standing(NamedTuple):
    """The position of an algorithm over all settings.

    `ratio` is the geometric mean over the settings of its mean divided by the least mean, with the
    interval from `low` to `high`; `rank_low` and `rank_high` are the least and the greatest rank
    that it may have; `best_in` counts the settings in which it may be best; `most` is its greatest
    ratio.
    """

    name: str
    ratio: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    best_in: int
    most: float


def standings(
    estimates: Mapping[Place, Mapping[str, Estimate]], rng: np.random.Generator, level: float = 0.95
) -> list[Standing]:
    """Rank algorithms over settings by increasing score, with confidence sets of the ranks.

    The score of an algorithm is the geometric mean over the settings of its mean divided by the
    least mean there. Logarithms of means of many runs are close to normal, with the coefficient of
    variation as standard deviation (delta method): the interval of a score is found by drawing
    scores in this way around the estimated means. It is accurate if it is clear which mean of a
    setting is least. If several are close to the least, scores and intervals are too high, because
    the least of several estimates is biased downwards. Two algorithms are compared by the mean over
    the settings of the difference of their logarithms, which does not involve the least mean. With
    Bonferroni's quantile for all ordered pairs, all ranks are in their sets with probability at
    least about `level`. The settings are fixed: nothing is inferred about others.

    Every setting has the same two or more algorithms, with positive finite means; `rng` is used for
    the intervals of scores.

    Examples
    --------
    >>> place = {"x": Estimate(1.0, 0.1, 30), "y": Estimate(2.0, 0.1, 30)}
    >>> found = standings({1: place, 2: place}, np.random.default_rng(0))
    >>> [(s.name, round(s.ratio, 3), s.rank_low, s.rank_high) for s in found]
    [('x', 1.0, 1, 1), ('y', 2.0, 2, 2)]
    """
    check_fraction("level", level)
    places = list(estimates.values())
    names = list(places[0]) if places else []
    if len(names) < 2 or any(set(place) != set(names) for place in places):
        raise ValueError(
            f"estimates={estimates!r} are of different algorithms, or of too few; allowed: the "
            "same two or more in each setting"
        )
    if not all(0 < e.mean < math.inf for place in places for e in place.values()):
        raise ValueError(
            f"estimates={estimates!r} have a mean that is 0 or less, infinite or unknown; allowed: "
            "above 0 and finite"
        )
    means, errors = (
        np.array([[getattr(place[name], part) for name in names] for place in places])
        for part in ("mean", "error")
    )
    errors = errors / means
    logs = np.log(means)
    above = logs - logs.min(axis=1, keepdims=True)
    drawn = logs + errors * rng.standard_normal((_DRAWN, *logs.shape))
    scores = (drawn - drawn.min(axis=2, keepdims=True)).mean(axis=1)
    low, high = np.exp(np.quantile(scores, [(1 - level) / 2, (1 + level) / 2], axis=0))
    quantile = float(stats.norm.isf((1 - level) / (len(names) * (len(names) - 1))))
    mean, error = logs.mean(axis=0), np.sqrt((errors**2).sum(axis=0)) / len(places)
    width = quantile * np.hypot.outer(error, error)
    is_better = mean[None, :] + width < mean[:, None]  # [i, j]: j is significantly better than i
    possible = [best_of(place, (1 - level) / len(places)).names for place in places]
    found = [
        Standing(
            name,
            float(np.exp(above[:, i].mean())),
            float(low[i]),
            float(high[i]),
            1 + int(is_better[i].sum()),
            len(names) - int(is_better[:, i].sum()),
            sum(name in some for some in possible),
            float(np.exp(above[:, i].max())),
        )
        for i, name in enumerate(names)
    ]
    return sorted(found, key=lambda standing: standing.ratio)
