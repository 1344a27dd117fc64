"""Group-sequential trials on private counts: boundaries, decisions, and their exact probabilities.

Two arms, outcomes of 0 and 1. Look k = 1, …, K comes when m further patients of each arm have been
followed up. It releases two integers, the successes among these m patients of each arm, each with
two-sided geometric noise. One outcome is in one release. Everything else is computed from the
releases: with A and B the sums of the releases so far, clipped to [0, n] where n = km,

    Z = (A − B)/√V,   V = 2n·p(1 − p) + kv,   p = (A + B)/(2n),

with v the variance of the noise in one look's difference. The trial stops when Z reaches a
boundary. A and B are integers, so every probability is a finite sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from dpbandits._arrays import Floats
from dpbandits._validation import SMALLEST, check_flag, check_integer, check_range, check_values
from dpbandits.configuration import (
    Budget,
    Configuration,
    Fraction,
    NonNegative,
    Number,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.guarantees import NO_PRIVACY, Guaranteed, PrivacyGuarantee
from dpbandits.mechanisms import DiscreteLaplace
from dpbandits.rewards.tables import Tables

__all__ = [
    "ENDS",
    "Boundary",
    "GroupSequential",
    "LookLaw",
    "Operating",
    "boundary_shape",
    "normal_critical",
]

Boundary = Literal["pocock", "obrien-fleming"]
"""Names of the boundaries: a constant one, and one that decreases like 1/√k."""
ENDS = ("efficacy", "harm", "futility", "none")
"""Ends of a trial: by one of three boundaries, or by none after the last look."""
_TRIMMED = 1e-9  # mass trimmed from each margin at each end of the lattice
_MOST_LOOKS = 50
MOST_RELEASED = 10**30
"""Largest valid release."""
_FAR = 2**40  # beyond every place of the lattice
_LATTICE_ERROR = 1e-6  # of a probability: trimmed mass, and rounding in the Fourier transform
_REMAINDER = 2e-6  # of the interpolation in `error_bound`
_FINE = 40  # points of the grid for each degree of the polynomial


def boundary_shape(looks: int, boundary: Boundary) -> Floats:
    """Return the boundary of each look divided by that of the last.

    Shapes: the result (K,).
    """
    k = np.arange(1, looks + 1)
    shape: Floats = np.sqrt(looks / k) if boundary == "obrien-fleming" else np.ones(looks)
    return shape


# ----------------------------------------------------------------------------- normal increments


@cache
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss–Legendre quadrature on [-1, 1]."""
    found: tuple[Floats, Floats] = np.polynomial.legendre.leggauss(nodes)
    return found


def _normal_crossing(bounds: Floats, sides: int, drift: float = 0.0, nodes: int = 160) -> float:
    """Return the probability that a normal random walk crosses, by the recursion of densities.

    Armitage, McPherson and Rowe (1969): the density of the sum on continuing paths is propagated
    from look to look. An increment has variance 1 and mean `drift`.
    """
    from scipy import stats  # slow to import, used only here

    u, w = _legendre(nodes)
    x, mass, crossed = np.zeros(1), np.ones(1), 0.0
    for k, top in enumerate(bounds * np.sqrt(np.arange(1, bounds.size + 1)), 1):
        crossed += float(mass @ stats.norm.sf(top - drift - x))
        low = min(-9.5 * math.sqrt(k) + k * min(drift, 0.0), top - 1.0)
        if sides == 2:
            crossed += float(mass @ stats.norm.cdf(-top - drift - x))
            low = -top
        new = 0.5 * (top - low) * u + 0.5 * (top + low)
        density = stats.norm.pdf(new[:, None] - drift - x[None, :])
        mass = 0.5 * (top - low) * w * (density @ mass)
        x = new
    return crossed


@cache
@checked_arguments
def normal_critical(
    looks: Annotated[int, whole(1, _MOST_LOOKS)],
    alpha: Fraction,
    boundary: Boundary = "pocock",
    sides: Annotated[int, whole(1, 2)] = 2,
) -> float:
    """Return the constant of a boundary for normal outcomes, as in published tables.

    Jennison and Turnbull (2000), Tables 2.1 and 2.3, contain it for ``sides=2``.

    Parameters
    ----------
    looks : int
        Number K of looks, equally spaced, at most 50.
    alpha : float
        Probability that a walk without drift crosses.
    boundary : {"pocock", "obrien-fleming"}
        Its shape.
    sides : int
        1 if only large values cross, 2 if small ones do as well.

    Returns
    -------
    float
        The boundary of the last look, in standard deviations.

    Examples
    --------
    >>> round(normal_critical(5, 0.05), 3), round(normal_critical(5, 0.05, "obrien-fleming"), 3)
    (2.413, 2.04)
    """
    from scipy import optimize  # slow to import, used only here

    shape = boundary_shape(looks, boundary)
    most = 10.0 + math.sqrt(-2.0 * math.log(alpha))

    def excess(c: float) -> float:
        return _normal_crossing(c * shape, sides) - alpha

    return float(optimize.brentq(excess, 1e-6, most)) if excess(1e-6) > 0 else 1e-6


# ------------------------------------------------------------------------------------ the lattice


def _trimmed(law: Floats, least: float) -> tuple[int, int]:
    """Return first and last place, exclusive, after trimming mass `least` at each end."""
    below, above = np.cumsum(law), np.cumsum(law[::-1])
    first = int(np.searchsorted(below, least, side="right"))
    last = law.size - int(np.searchsorted(above, least, side="right"))
    return (first, last) if first < last else (0, 1)


def _noise_law(epsilon: float) -> Floats:
    """Return the distribution of the noise on −r, …, r, with negligible mass beyond."""
    if math.isinf(epsilon):
        return np.ones(1)
    reach = math.ceil(-math.log(0.5 * _TRIMMED) / epsilon)
    half = [DiscreteLaplace(epsilon).probability(k) for k in range(reach + 1)]
    return np.array([*half[:0:-1], *half])


class _Count(NamedTuple):
    """The distribution of one private count: probabilities from a first integer on."""

    law: Floats
    first: int


@cache
def _count(patients: int, share: float, epsilon: float) -> _Count:
    """Return the distribution of a binomial count with two-sided geometric noise."""
    from scipy import signal, stats  # slow to import, used only here

    law: Floats = stats.binom.pmf(np.arange(patients + 1), patients, share)
    noise = _noise_law(epsilon)
    reach = noise.size // 2
    if reach:
        law = np.maximum(signal.convolve(law, noise), 0.0)
    first, last = _trimmed(law, _TRIMMED)
    law = law[first:last]
    law.setflags(write=False)
    return _Count(law, first - reach)


def _window(margin: Floats, one: Floats) -> tuple[int, int]:
    """Return the places that a margin keeps when an independent count is added to it."""
    return _trimmed(np.convolve(margin, one), _TRIMMED)


def _turned(one: Floats, first: int, size: int) -> Floats:
    """Return a distribution on a circle of places, rotated so that `first` is at 0."""
    found = np.zeros(size)
    found[(np.arange(one.size) - first) % size] = one
    return found


def _added(joint: Floats, one: Floats, other: Floats) -> tuple[Floats, int, int]:
    """Return the distribution of a pair of sums after adding counts to them, and its first place.

    Margins lose `_TRIMMED` at each end. The convolutions are circular and no longer than the kept
    range: trimmed mass wraps around to the other end, and adds at most its probability.
    """
    from scipy import fft  # slow to import, used only here

    (low, high), (left, right) = _window(joint.sum(1), one), _window(joint.sum(0), other)
    if joint.size == 1:
        return joint[0, 0] * np.outer(one[low:high], other[left:right]), low, left
    least = (high - low, joint.shape[0], one.size), (right - left, joint.shape[1], other.size)
    rows, columns = (fft.next_fast_len(max(each), real=True) for each in least)
    product = fft.rfft2(joint, (rows, columns))
    product *= fft.fft(_turned(one, low, rows))[:, None]
    product *= fft.rfft(_turned(other, left, columns))[None, :]
    found = fft.irfft2(product, (rows, columns))[: high - low, : right - left]
    return np.maximum(found, 0.0), low, left


def _added_to_rows(joint: Floats, one: Floats) -> tuple[Floats, int]:
    """Do as `_added` for a count added to the first of the sums alone."""
    from scipy import fft  # slow to import, used only here

    low, high = _window(joint.sum(1), one)
    size = fft.next_fast_len(max(high - low, joint.shape[0], one.size), real=True)
    product = fft.rfft(joint, size, axis=0)
    product *= fft.rfft(_turned(one, low, size))[:, None]
    found: Floats = fft.irfft(product, size, axis=0)[: high - low]
    return found, low


class LookLaw(NamedTuple):
    """Distribution of the sums at a look, on the trials that reach it.

    Attributes
    ----------
    look : int
        Number k of the look, from 1.
    treatment : numpy.ndarray of int, shape (I, 1)
        Sums of the treatment's releases.
    control : numpy.ndarray of int, shape (1, J)
        Sums of the control's releases.
    law : numpy.ndarray of float, shape (I, J)
        Probability that a trial reaches this look with these sums.
    score : numpy.ndarray of float, shape (I, J)
        Their score Z.
    end : dict of str to array of bool, shape (I, J)
        For each end, the sums at which a trial ends in this way at this look.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0, looks=2)
    >>> first, last = design.laws(0.9, 0.8)
    >>> bool(last.law.sum() < first.law.sum()), (last.end["efficacy"] | last.end["none"]).all()
    (True, np.True_)
    """

    look: int
    treatment: Any
    control: Any
    law: Floats
    score: Floats
    end: dict[str, Any]


@lru_cache(maxsize=256)
def _places(design: GroupSequential, look: int, futility: bool) -> dict[str, Any]:
    """Return for each end and each sum of the treatment, 0 to n, the control's critical sum.

    Z is non-increasing in the control's sum: efficacy is below its place, the others are from
    theirs on.
    """
    n, bound = look * design.per_look, design.bounds[look - 1]
    limits = {"efficacy": bound}
    if design.sides == 2:
        limits["harm"] = math.nextafter(-bound, math.inf)
    if futility and design.futility is not None and look < design.looks:
        limits["futility"] = math.nextafter(design.futility, math.inf)
    rows, found = np.arange(n + 1), {}
    for name, limit in limits.items():
        low, high = np.zeros(n + 1, int), np.full(n + 1, n + 1)
        while (low < high).any():
            middle = (low + high) // 2
            over = (design._score(look, rows, middle) >= limit) & (low < high)
            low, high = np.where(over, middle + 1, low), np.where(over, high, middle)
        low[low == 0], low[low > n] = -_FAR, _FAR  # sums are clipped
        found[name] = low
    return found


class Operating(NamedTuple):
    """Exact probabilities of the ends of a design's trials, for given shares of success.

    Attributes
    ----------
    design : GroupSequential
        The design.
    efficacy : tuple of float, length K
        Probability of a stop at look k that finds the treatment better.
    harm : tuple of float, length K
        Of a stop that finds it worse; zeros for a one-sided design.
    futility : tuple of float, length K
        Of a stop for futility.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0, looks=2)
    >>> found = design.operating(0.9, 0.7)
    >>> 0.5 < found.power < 1.0, 100 < found.patients < 200
    (True, True)
    """

    design: GroupSequential
    efficacy: tuple[float, ...]
    harm: tuple[float, ...]
    futility: tuple[float, ...]

    @property
    def power(self) -> float:
        """Probability that the treatment is found better."""
        return math.fsum(self.efficacy)

    @property
    def rejected(self) -> float:
        """Probability that a difference is found, on either side."""
        return math.fsum((*self.efficacy, *self.harm))

    @property
    def stops(self) -> tuple[float, ...]:
        """Probability that look k is the last, at k = 1, …, K."""
        ended = [sum(each) for each in zip(self.efficacy, self.harm, self.futility, strict=True)]
        return (*ended[:-1], max(0.0, 1.0 - math.fsum(ended[:-1])))

    @property
    def patients(self) -> float:
        """Mean number of patients whose outcomes are used."""
        return sum(2 * self.design.per_look * k * p for k, p in enumerate(self.stops, 1))

    @checked_arguments
    def enrolled(self, pipeline: NonNegative) -> float:
        """Return the mean number of patients enrolled, when outcomes are delayed.

        Parameters
        ----------
        pipeline : float
            Patients who are enrolled while the last outcomes of a look are awaited: patients a week
            times weeks of follow-up. Enrolment ends with the stop, or with the last planned
            patient.

        Returns
        -------
        float
            The mean.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0, looks=2)
        >>> found = design.operating(0.9, 0.7)
        >>> found.patients == found.enrolled(0) < found.enrolled(60) < design.patients
        True
        """
        most = self.design.patients
        used = (2 * self.design.per_look * k for k in range(1, self.design.looks + 1))
        return sum(min(n + pipeline, most) * p for n, p in zip(used, self.stops, strict=True))


# -------------------------------------------------------------------------------------- the design


@dataclass(frozen=True)
class GroupSequential(Guaranteed, Configuration):
    """A trial of two arms that looks K times at private counts, and may stop at each look.

    Look k releases the successes among its m patients of each arm, with two-sided geometric noise.
    The score Z of the sums (`score`) stops the trial for efficacy at the boundary c (Pocock) or
    c√(K/k) (O'Brien and Fleming); with two sides for harm at minus the boundary. A limit for
    futility is not binding: the error probability is computed as if it were ignored.

    Deviations from textbooks: the variance in Z includes that of the noise, and the sums are
    clipped to possible counts, which makes Z monotone in them (:prf:ref:`lem-group-monotone`).
    Privacy and error: :prf:ref:`thm-trial-group`; power and futility: :prf:ref:`prop-group-power`.

    Attributes
    ----------
    per_look : int
        Patients m of each arm in one look, at most 10⁵.
    critical : float
        The constant c of the boundary.
    epsilon : float
        Privacy budget ε > 0 of each patient's outcome; ``inf`` without privacy.
    looks : int
        Number K of looks, at most 50; 1 is a fixed design.
    boundary : {"pocock", "obrien-fleming"}
        Shape of the boundary.
    sides : int
        1: the trial stops for efficacy. 2: for harm as well, and a finding on either side is an
        error if there is no difference.
    futility : float, optional
        Before the last look, a score of at most this stops a one-sided trial; below `critical`.

    Raises
    ------
    ValueError
        If there is futility in a two-sided design.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> design = dpb.GroupSequential(per_look=161, critical=2.1626, epsilon=1.0)
    >>> found = design.operating(treatment=0.92, control=0.868)
    >>> round(found.power, 2), design.patients, str(design.guarantee)
    (0.89, 1610, 'ε = 1, central, event level')
    """

    per_look: Annotated[int, whole(1, 10**5)]
    critical: Positive
    epsilon: Budget = math.inf
    looks: Annotated[int, whole(1, _MOST_LOOKS)] = 5
    boundary: Boundary = "pocock"
    sides: Annotated[int, whole(1, 2)] = 1
    futility: Number | None = None

    def __post_init__(self) -> None:
        """Check every field, and futility against the others."""
        super().__post_init__()
        if self.futility is None:
            return
        if self.sides == 2:
            raise ValueError(f"futility={self.futility!r} is for sides=1; allowed: None")
        bound = check_range("futility", self.futility, -9.0, self.critical)
        object.__setattr__(self, "futility", bound)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of all releases, the stop, and everything computed from them."""
        return PrivacyGuarantee("central", self.epsilon) if self.epsilon < math.inf else NO_PRIVACY

    @property
    def tables(self) -> Tables:
        """Tables of outcomes 0 and 1 that a whole trial reads: the treatment, then the control."""
        patients = self.looks * self.per_look
        return Tables(n_arms=2, least=patients, most=patients)

    @property
    def bounds(self) -> Floats:
        """Boundary of the score at each look."""
        return self.critical * boundary_shape(self.looks, self.boundary)

    @property
    def patients(self) -> int:
        """Patients of both arms if the trial does not stop early."""
        return 2 * self.looks * self.per_look

    @property
    def noise_variance(self) -> float:
        """Variance v of the noise in one look's released difference."""
        return (
            0.0
            if math.isinf(self.epsilon)
            else 1.0 / math.sinh(min(0.5 * self.epsilon, 300.0)) ** 2
        )

    def score(self, look: int, treatment: ArrayLike, control: ArrayLike) -> Floats:
        """Return the score Z of sums of releases: their difference in standard deviations.

        Sums are clipped to [0, km]. Then Z is non-decreasing in `treatment` and non-increasing in
        `control`.

        Parameters
        ----------
        look : int
            Number k of the look, from 1 to K.
        treatment : array_like of int
            Sum of the treatment's releases up to this look.
        control : array_like of int
            Sum of the control's.

        Returns
        -------
        numpy.ndarray of float
            Score of each pair; 0 if the variance is 0.

        Raises
        ------
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
        >>> design.score(1, 154, 143).round(2).item()
        1.82
        """
        look = check_integer("look", look, 1, self.looks)
        sums = [
            check_values(name, value, -math.inf, math.inf)
            for name, value in (("treatment", treatment), ("control", control))
        ]
        return self._score(look, *sums)

    def _score(self, look: int, treatment: Any, control: Any) -> Floats:
        n = look * self.per_look
        a, b = np.clip(treatment, 0, n), np.clip(control, 0, n)
        variance = self._variance(look, a + b)
        free = variance > 0.0
        scores: Floats = np.where(free, (a - b) / np.sqrt(np.where(free, variance, 1.0)), 0.0)
        return scores

    def _variance(self, look: int, total: Any) -> Any:
        """Return V at a sum of both arms' clipped sums."""
        n = look * self.per_look
        p = total / (2 * n)
        return 2 * n * p * (1.0 - p) + look * self.noise_variance

    def _ends(self, look: int, score: Floats, futility: bool) -> dict[str, Any]:
        """Return for each end whether a trial with these scores ends in this way at this look."""
        bound, last = self.bounds[look - 1], look == self.looks
        efficacy = score >= bound
        never: Any = np.broadcast_to(np.False_, efficacy.shape)
        harm = score <= -bound if self.sides == 2 else never
        idle = never
        if futility and self.futility is not None and not last:
            idle = score <= self.futility
        none = ~(efficacy | harm) if last else never
        return dict(zip(ENDS, (efficacy, harm, idle, none), strict=True))

    def decide(self, look: int, treatment: int, control: int) -> str:
        """Return the decision from sums of releases at a look.

        Parameters
        ----------
        look : int
            Number k of the look, from 1 to K.
        treatment : int
            Sum of the treatment's releases up to this look.
        control : int
            Sum of the control's.

        Returns
        -------
        str
            One of `ENDS`, or "continue".

        Raises
        ------
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
        >>> design.decide(1, 154, 143), design.decide(2, 311, 288)
        ('continue', 'efficacy')
        """
        score = self.score(look, treatment, control)
        reached = [name for name, holds in self._ends(look, score, True).items() if holds.item()]
        return reached[0] if reached else "continue"

    def _shares(self, name: str, value: float | Sequence[float]) -> tuple[float, ...]:
        shares = check_values(name, value, 0.0, 1.0)
        shares[shares < SMALLEST] = 0.0  # smaller shares would overflow in a binomial distribution
        if shares.ndim == 0:
            return (float(shares),) * self.looks
        if shares.shape != (self.looks,):
            allowed = f"a share, or one for each of {self.looks} looks"
            raise ValueError(f"{name}={value!r} has another length; allowed: {allowed}")
        return tuple(shares.tolist())

    def laws(
        self,
        treatment: float | Sequence[float],
        control: float | Sequence[float],
        futility: bool = True,
    ) -> Iterator[LookLaw]:
        """Compute look by look the joint distribution of both sums on the continuing trials.

        The distribution at look k is that at look k − 1, where no boundary was reached, convolved
        with those of two private counts. The trimmed probability is below 10⁻⁶.

        Parameters
        ----------
        treatment : float or sequence of float, length K
            Share of success in the treatment arm; or one for the patients of each look.
        control : float or sequence of float, length K
            Share in the control arm.
        futility : bool
            Whether trials obey the limit for futility.

        Yields
        ------
        LookLaw
            The distribution at look 1, 2, …, K.

        Raises
        ------
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0, looks=2)
        >>> [round(float(each.law.sum()), 3) for each in design.laws(0.9, 0.8)]
        [1.0, 0.837]
        """
        up, down = self._shares("treatment", treatment), self._shares("control", control)
        check_flag("futility", futility)
        joint, a, b = np.ones((1, 1)), 0, 0
        for k in range(1, self.looks + 1):
            one, other = (_count(self.per_look, s[k - 1], self.epsilon) for s in (up, down))
            joint, low, left = _added(joint, one.law, other.law)
            a, b = a + one.first + low, b + other.first + left
            rows = (a + np.arange(joint.shape[0]))[:, None]
            columns = (b + np.arange(joint.shape[1]))[None, :]
            score = self._score(k, rows, columns)
            end = self._ends(k, score, futility)
            yield LookLaw(k, rows, columns, joint, score, end)
            if k < self.looks:
                ended = end["efficacy"] | end["harm"] | end["futility"]
                joint = np.where(ended, 0.0, joint)

    def operating(
        self,
        treatment: float | Sequence[float],
        control: float | Sequence[float],
        futility: bool = True,
    ) -> Operating:
        """Return the probabilities of the ends of trials, for given shares of success.

        Parameters
        ----------
        treatment : float or sequence of float, length K
            Share of success in the treatment arm; or one for the patients of each look.
        control : float or sequence of float, length K
            Share in the control arm.
        futility : bool
            Whether trials obey the limit for futility.

        Returns
        -------
        Operating
            Probabilities of the ends at each look, to 10⁻⁶.

        Raises
        ------
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=50, critical=2.2, epsilon=1.0, looks=2)
        >>> design.operating(0.8, 0.8).power < 0.05
        True
        """
        if type(self)._score is not GroupSequential._score:  # a custom score may not be monotone
            return self._summed(treatment, control, futility)
        up, down = self._shares("treatment", treatment), self._shares("control", control)
        check_flag("futility", futility)
        found: dict[str, list[float]] = {name: [] for name in ENDS[:3]}
        joint, a, b = np.ones((1, 1)), 0, 0
        for k in range(1, self.looks + 1):
            one, other = (_count(self.per_look, s[k - 1], self.epsilon) for s in (up, down))
            if k == self.looks:
                chances = self._last(joint, a, b, one, other)
            else:
                joint, low, left = _added(joint, one.law, other.law)
                a, b = a + one.first + low, b + other.first + left
                rows, columns = a + np.arange(joint.shape[0]), b + np.arange(joint.shape[1])
                chances, mass = dict.fromkeys(found, 0.0), float(joint.sum())
                for name, places in _places(self, k, futility).items():
                    below = columns < places[np.clip(rows, 0, k * self.per_look), None]
                    joint = np.where(below, 0.0, joint) if name == "efficacy" else joint * below
                    rest = float(joint.sum())
                    chances[name], mass = mass - rest, rest
            for name, chance in chances.items():
                found[name].append(chance)
        return Operating(self, *map(tuple, found.values()))

    def _summed(self, treatment: Any, control: Any, futility: bool) -> Operating:
        """Return the result of `operating`, from all sums at each look."""
        found: dict[str, list[float]] = {name: [] for name in ENDS}
        for each in self.laws(treatment, control, futility):
            for name, place in each.end.items():
                found[name].append(float(each.law[place].sum()))
        return Operating(self, *(tuple(found[name]) for name in ENDS[:3]))

    def _last(self, joint: Floats, a: int, b: int, one: _Count, other: _Count) -> dict[str, float]:
        """Return the probabilities of the ends at the last look, from tails of the last count."""
        moved, low = _added_to_rows(joint, one.law)
        rows = a + one.first + low + np.arange(moved.shape[0])
        columns = b + other.first + np.arange(moved.shape[1])
        rows = np.clip(rows, 0, self.looks * self.per_look)
        below = np.concatenate(([0.0], np.cumsum(other.law)))
        chances = dict.fromkeys(ENDS[:3], 0.0)
        for name, places in _places(self, self.looks, False).items():
            chance = below[np.clip(places[rows, None] - columns, 0, other.law.size)]
            chances[name] = float(
                (moved * (chance if name == "efficacy" else below[-1] - chance)).sum()
            )
        return chances

    def error(self, share: float | Sequence[float]) -> float:
        """Return the probability that a difference is found if there is none.

        Futility is ignored: this is the level, whether or not a committee obeys it.

        Parameters
        ----------
        share : float or sequence of float, length K
            Share of success in both arms; or one for the patients of each look.

        Returns
        -------
        float
            The probability.

        Raises
        ------
        ValueError
            If `share` is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> dpb.GroupSequential(per_look=161, critical=2.1626, epsilon=1.0).error(0.868) < 0.05
        True
        """
        return self.operating(share, share, futility=False).rejected

    @checked_arguments
    def error_bound(self, low: Fraction, high: Fraction) -> float:
        """Return an upper bound on the error for every common share in an interval.

        The error is a polynomial in the share, between 0 and 1 for all shares. In the angle θ with
        share = sin²θ it is at most ½cosh(2y)^N + ½ in size at a complex θ + iy, for N patients; so
        its interpolation polynomial at Chebyshev's points in θ is within a proved distance. The
        maximum of that polynomial is bounded on a fine grid by the inequality of Ehlich and Zeller.
        Proof: :prf:ref:`prop-group-certified`.

        Parameters
        ----------
        low : float
            Least share, above 0.
        high : float
            Greatest share, below 1.

        Returns
        -------
        float
            The bound; it is a proof up to floating-point rounding, for which 10⁻⁶ per value is
            allowed.

        Raises
        ------
        ValueError
            If `low` is above `high`.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> design = dpb.GroupSequential(per_look=20, critical=2.2, epsilon=1.0, looks=2)
        >>> bound = design.error_bound(0.7, 0.9)
        >>> bool(design.error(0.8) < bound < design.error(0.8) + 0.01)
        True
        """
        high = check_range("high", high, low, 1.0)
        ends = math.asin(math.sqrt(low)), math.asin(math.sqrt(high))
        half = 0.5 * (ends[1] - ends[0])
        degree, remainder = _degree(half, self.patients)
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        angles = 0.5 * (ends[0] + ends[1]) + half * nodes
        shares = tqdm(np.sin(angles) ** 2, "proving", disable=None, leave=False)
        values = np.array([self.error(float(share)) for share in shares])
        polynomial = np.polynomial.chebyshev.chebfit(nodes, values, degree)
        points = _FINE * max(degree, 1)
        fine = np.cos(np.pi * (np.arange(points) + 0.5) / points)
        on_grid = np.polynomial.chebyshev.chebval(fine, polynomial)
        middle = 0.5 * (on_grid.max() + on_grid.min())
        swing = (on_grid.max() - middle) / math.cos(0.5 * math.pi * degree / points)
        lebesgue = 2.0 / math.pi * math.log(degree + 1) + 1.0
        return float(middle + swing + remainder + lebesgue * _LATTICE_ERROR)


def _degree(half: float, patients: int) -> tuple[int, float]:
    """Return a sufficient degree for the interpolation, and a bound on its error.

    On the ellipse of parameter ρ around [−1, 1] the imaginary part of the angle is at most
    half·(ρ − 1/ρ)/2, where the function minus ½ is at most M = ½cosh(half·(ρ − 1/ρ))^N; the
    interpolation error at n + 1 points is at most 4Mρ^(−n)/(ρ − 1) (Trefethen 2013, Theorem 8.2).
    """
    if half == 0.0:
        return 0, 0.0
    rho = 1.0 + np.geomspace(1e-3, 30.0, 2000)
    grown = patients * np.log(np.cosh(np.minimum(half * (rho - 1.0 / rho), 300.0)))
    constant = math.log(2.0) + grown - np.log(rho - 1.0)
    needed = (constant - math.log(_REMAINDER)) / np.log(rho)
    best = int(np.argmin(needed))
    degree: int = max(1, math.ceil(needed[best]))
    return degree, math.exp(constant[best] - degree * math.log(rho[best]))
