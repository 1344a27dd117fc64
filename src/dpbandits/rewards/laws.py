"""Distributions of one reward on [−R, R], for stopping rules and for arms."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.generators import Address, address_of, generator_at
from dpbandits._engine.kernels import kernel
from dpbandits._validation import (
    SMALLEST,
    check_generator,
    check_integer,
    check_positive,
    check_range,
    check_values,
)
from dpbandits.configuration import Configuration, Number, Positive, between
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import Drawers, read_only

_KINDS = TWO_POINT, _UNIFORM, _BETA, _DISCRETE = range(4)
_UNIFORM_BITS = 53
_NOTHING = np.empty(0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_BY_BITS = 1000  # from this many uniforms on, sums of their binary digits are cheaper


class LawCode(NamedTuple):
    """Code of a law for compiled kernels: ``offset + width·(a variable of the kind)``.

    Attributes
    ----------
    kind : int
        0: two points, 0 and 1. 1: uniform on [0, 1]. 2: Beta. 3: discrete.
    offset : float
        Added to the variable times `width`.
    width : float
        Factor of the variable.
    first : float
        Probability of 1 of two points; first shape a of a Beta law.
    second : float
        Second shape b of a Beta law.
    values : numpy.ndarray of float, shape (m,)
        Values of a discrete law; else empty.
    cumulative : numpy.ndarray of float, shape (m,)
        Sums of the probabilities of the first 1, …, m values; else empty.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> code = dpb.laws.two_point(0.5).code
    >>> code.kind, code.offset, code.width, code.first
    (0, -1.0, 2.0, 0.75)
    """

    kind: int
    offset: float
    width: float
    first: float = 0.0
    second: float = 0.0
    values: Floats = _NOTHING
    cumulative: Floats = _NOTHING


@kernel
def _unit(rng: Rng, code: LawCode) -> float:
    """Draw the variable before shift and scale."""
    if code.kind == TWO_POINT:
        return 1.0 if rng.random() < code.first else 0.0
    if code.kind == _UNIFORM:
        return rng.random()
    if code.kind == _DISCRETE:
        found: float = code.values[np.searchsorted(code.cumulative, rng.random(), side="right")]
        return found
    return rng.beta(code.first, code.second)


@kernel
def draw(rng: Rng, code: LawCode) -> float:
    """Draw one reward of the law that `code` describes."""
    return code.offset + code.width * _unit(rng, code)


@kernel
def _sums(rng: Rng, code: LawCode, n: int) -> tuple[float, float]:
    """Draw the sum of n variables before shift and scale, and Σx² of the rewards."""
    if code.kind == TWO_POINT:
        ones = float(binomial(rng, n, code.first))
        return ones, (n - ones) * code.offset**2 + ones * (code.offset + code.width) ** 2
    total, squares = 0.0, 0.0
    if code.kind == _DISCRETE and n >= code.values.size:
        left, passed = n, 0.0
        for i in range(code.values.size):
            rest = 1.0 - passed  # probability of the remaining values
            share = (code.cumulative[i] - passed) / rest if rest > 0.0 else 1.0
            count = binomial(rng, left, min(share, 1.0))
            total += count * code.values[i]
            squares += count * code.values[i] ** 2
            left -= count
            passed = code.cumulative[i]
    else:
        for _ in range(n):
            variable = _unit(rng, code)
            total += variable
            squares += (code.offset + code.width * variable) ** 2
    return total, squares


@kernel
def sum_of_draws(rng: Rng, code: LawCode, n: int) -> float:
    """Draw the sum of n independent rewards of the law of `code`, exactly.

    Two points need one Binomial variable, a discrete law one per value, many uniform variables one
    for each of their 53 fair binary digits. Others are drawn one by one.
    """
    if code.kind == _UNIFORM and n >= _BY_BITS:
        total = 0.0
        for place in range(_UNIFORM_BITS, 0, -1):  # the smallest first, for the rounding
            total += math.ldexp(float(binomial(rng, n, 0.5)), -place)
    else:
        total, _ = _sums(rng, code, n)
    return n * code.offset + code.width * total


@kernel
def moments_of_draws(rng: Rng, code: LawCode, n: int) -> tuple[float, float]:
    """Draw sum and sum of squares of n independent rewards of a law, exactly.

    Two points need one Binomial variable and a discrete law one per value: the variables of
    `sum_of_draws`, from which the sum is computed in the same way. Others are drawn one by one.
    """
    total, squares = _sums(rng, code, n)
    return n * code.offset + code.width * total, squares


@kernel
def _sum_at(
    at: Address,
    kind: int,
    numbers: tuple[float, float, float, float],
    values: Floats,
    cumulative: Floats,
    n: int,
) -> float:
    code = LawCode(kind, *numbers, values, cumulative)
    return sum_of_draws(generator_at(at), code, n)


@kernel
def _moments_at(
    at: Address,
    kind: int,
    numbers: tuple[float, float, float, float],
    values: Floats,
    cumulative: Floats,
    n: int,
) -> tuple[float, float]:
    code = LawCode(kind, *numbers, values, cumulative)
    return moments_of_draws(generator_at(at), code, n)


@kernel
def _sample(rng: Rng, code: LawCode, size: int) -> Floats:
    rewards = np.empty(size)
    for i in range(size):
        rewards[i] = draw(rng, code)
    return rewards


@dataclass(frozen=True)
class Law(Configuration, abc.ABC):
    """Distribution of one reward on [−R, R]; its `code` is of one of the kinds in this file.

    Base of the laws. A subclass defines `code`, `support`, `name`, `expectation` and `_moments`.

    Parameters
    ----------
    half_range : float
        R > 0: stopping rules assume that no reward is outside [−R, R].

    Raises
    ------
    ValueError
        If the support is not within [−R, R].

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> law = dpb.laws.uniform(0.5)
    >>> law.support, law.mean, round(law.variance, 4), law.half_range
    ((0.0, 1.0), 0.5, 0.0833, 1.0)
    >>> law.sample(np.random.default_rng(0), 3).round(3).tolist()
    [0.637, 0.27, 0.041]
    """

    half_range: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.code.kind not in _KINDS:
            raise ValueError(f"code={self.code!r} has an unknown kind; allowed: that of a law here")
        low, high = self.support
        if not (low < high or (low == high and self.code.kind in (TWO_POINT, _DISCRETE))):
            raise ValueError(f"low={low!r} is not below high={high!r}; allowed: low < high")
        for end in self.support:
            if not abs(end) <= self.half_range * (1 + 1e-12):
                raise ValueError(
                    f"{self!r} has support up to {end:g}; allowed: within [-half_range, half_range]"
                )

    @property
    @abc.abstractmethod
    def code(self) -> LawCode:
        """Code for compiled kernels."""

    @property
    @abc.abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward."""

    @property
    def mean(self) -> float:
        """Mean μ."""
        return self._moments[0]

    @property
    def variance(self) -> float:
        """Variance σ²."""
        return self._moments[1]

    @property
    @abc.abstractmethod
    def _moments(self) -> tuple[float, float]:
        """Mean and variance."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Name of the law in tables and figures."""

    @abc.abstractmethod
    def expectation(self, function: Callable[[Floats], Any]) -> float:
        """Return the expectation of a function of one reward.

        A sum for discrete laws, an integral by quadrature for others.

        Parameters
        ----------
        function : callable
            Maps an array of rewards to an array of the same shape.

        Returns
        -------
        float
            The expectation.
        """

    def sample(self, rng: Rng, size: int) -> Floats:
        """Draw rewards, none of them outside [−R, R] due to rounding.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        size : int
            Number of rewards, from 0 to 2^40.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            Independent rewards.

        Raises
        ------
        ValueError
            If `rng` is not a generator, or `size` is out of range.
        """
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, 2**40)
        rewards = _sample(rng, self.code, size)
        found: Floats = np.clip(rewards, -self.half_range, self.half_range)
        return found

    def sample_sum(self, rng: Rng, n: int) -> float:
        """Draw the sum of `n` rewards exactly, and fast except for Beta laws.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        n : int
            Number of rewards, from 0 to 2^52.

        Returns
        -------
        float
            Their sum.

        Raises
        ------
        ValueError
            If `rng` is not a generator, or `n` is out of range.
        """
        rng, n = check_generator("rng", rng), check_integer("n", n, 0, 2**52)
        return sum_of_draws(rng, self.code, n)

    def sample_moments(self, rng: Rng, n: int) -> tuple[float, float]:
        """Draw sum and sum of squares of `n` rewards exactly.

        It is fast for two points and discrete laws; rewards of others are drawn one by one.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        n : int
            Number of rewards, from 0 to 2^52.

        Returns
        -------
        total, squares : float
            Sum of the rewards, and sum of their squares.

        Raises
        ------
        ValueError
            If `rng` is not a generator, or `n` is out of range.
        """
        rng, n = check_generator("rng", rng), check_integer("n", n, 0, 2**52)
        return moments_of_draws(rng, self.code, n)

    def _drawers(self, rng: Rng) -> Drawers:
        """Return `sample_sum` and `sample_moments` with a generator, for many calls from Python."""
        own, at, code = type(self), address_of(rng), self.code
        if (own.sample_sum, own.sample_moments) != (Law.sample_sum, Law.sample_moments):
            return partial(self.sample_sum, rng), partial(self.sample_moments, rng)
        if at is None:
            return partial(sum_of_draws, rng, code), partial(moments_of_draws, rng, code)
        numbers = float(code.offset), float(code.width), float(code.first), float(code.second)
        arguments = at, code.kind, numbers, code.values, code.cumulative
        return partial(_sum_at, *arguments), partial(_moments_at, *arguments)


@dataclass(frozen=True)
class _LawBetween(Law):
    """A law whose support is given by its ends."""

    low: Number
    high: Number

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class TwoPointLaw(_LawBetween):
    """Two values, `high` with probability `probability` and `low` otherwise.

    Parameters
    ----------
    half_range : float
        R > 0: the range of stopping rules is [−R, R].
    low : float
        Lower value, from −R.
    high : float
        Upper value, from `low` to R.
    probability : float
        Probability of `high`, in [0, 1].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.TwoPointLaw(half_range=1.0, low=0.0, high=0.5, probability=0.25)
    >>> law.mean, law.variance
    (0.125, 0.046875)
    """

    probability: Annotated[float, between(0, 1)]

    @property
    def code(self) -> LawCode:
        return LawCode(TWO_POINT, self.low, self.high - self.low, self.probability)

    @property
    def _moments(self) -> tuple[float, float]:
        width, p = self.high - self.low, self.probability
        return self.low + width * p, width**2 * p * (1 - p)

    @property
    def name(self) -> str:
        if self.high == -self.low == self.half_range:
            return "two points ±R"
        return f"{self.low:g} or {self.high:g}"

    def expectation(self, function: Callable[[Floats], Any]) -> float:
        values = np.asarray(function(np.array([self.low, self.high])))
        weights = np.array([1 - self.probability, self.probability])
        return float(weights[weights > 0] @ values[weights > 0])


@dataclass(frozen=True)
class UniformLaw(_LawBetween):
    """Uniform on [low, high]; drawn with 53 random binary digits, as in NumPy.

    Parameters
    ----------
    half_range : float
        R > 0: the range of stopping rules is [−R, R].
    low : float
        Lower end, from −R.
    high : float
        Upper end, above `low` and up to R.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.UniformLaw(half_range=1.0, low=-0.5, high=1.0)
    >>> law.mean, law.variance, law.name
    (0.25, 0.1875, 'uniform on [-0.5, 1]')
    """

    @property
    def code(self) -> LawCode:
        return LawCode(_UNIFORM, self.low, self.high - self.low)

    @property
    def _moments(self) -> tuple[float, float]:
        return (self.low + self.high) / 2, (self.high - self.low) ** 2 / 12

    @property
    def name(self) -> str:
        return f"uniform on [{self.low:g}, {self.high:g}]"

    def expectation(self, function: Callable[[Floats], Any]) -> float:
        from scipy import integrate  # slow to import, used only here

        value, _ = integrate.quad(lambda x: function(np.array([x]))[0], self.low, self.high)
        return float(value / (self.high - self.low))


@dataclass(frozen=True)
class BetaLaw(Law):
    """Law of low + (high − low)·Y with Y ~ Beta(a, b).

    Parameters
    ----------
    half_range : float
        R > 0: the range of stopping rules is [−R, R].
    a : float
        First shape, from 0.001 to 10⁶.
    b : float
        Second shape, from 0.001 to 10⁶.
    low : float, optional
        Lower end of the support; −R if not given.
    high : float, optional
        Upper end of the support; R if not given.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.BetaLaw(half_range=2.0, a=1.0, b=3.0)
    >>> law.support, law.mean, law.variance
    ((-2.0, 2.0), -1.0, 0.6)
    """

    a: Annotated[float, between(1e-3, 1e6)]
    b: Annotated[float, between(1e-3, 1e6)]
    low: Number | None = None
    high: Number | None = None

    @property
    def code(self) -> LawCode:
        low, high = self.support
        return LawCode(_BETA, low, high - low, self.a, self.b)

    @property
    def support(self) -> tuple[float, float]:
        low = -self.half_range if self.low is None else self.low
        return low, self.half_range if self.high is None else self.high

    @property
    def _moments(self) -> tuple[float, float]:
        (low, high), total = self.support, self.a + self.b
        mean = (low + high) / 2 + (high - low) / 2 * (self.a - self.b) / total
        return mean, 4 * ((high - low) / 2) ** 2 * self.a * self.b / (total**2 * (total + 1))

    @property
    def name(self) -> str:
        low, high = self.support
        ends = "[-R, R]" if high == -low == self.half_range else f"[{low:g}, {high:g}]"
        return f"Beta({self.a:g}, {self.b:g}) on {ends}"

    def expectation(self, function: Callable[[Floats], Any]) -> float:
        low, high = self.support
        shares, weights = _beta_nodes(self.a, self.b)
        points = (low + high) / 2 + (high - low) / 2 * (2 * shares - 1)
        values = np.asarray(function(points.ravel())).reshape(points.shape)
        return float(np.sum(weights * values))


@dataclass(frozen=True)
class DiscreteLaw(Law):
    """Finitely many values; `discrete` builds it from values, or from a sample.

    Parameters
    ----------
    half_range : float
        R > 0: the range of stopping rules is [−R, R].
    values : tuple of float, length m ≥ 1
        The values, each in [−R, R].
    probabilities : tuple of float, length m
        Their probabilities, which add up to 1.

    Raises
    ------
    ValueError
        If the numbers of values and probabilities differ.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.DiscreteLaw(1.0, values=(0.0, 0.5, 1.0), probabilities=(0.5, 0.25, 0.25))
    >>> law.mean, law.expectation(lambda x: x**2)
    (0.375, 0.3125)
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        for field, ends in (("values", (-math.inf, math.inf)), ("probabilities", (0.0, 1.0))):
            given = getattr(self, field)
            numbers = check_values(field, given, *ends)
            if numbers.ndim != 1 or numbers.size == 0:
                raise ValueError(f"{field}={given!r} is not a list; allowed: one or more numbers")
            object.__setattr__(self, field, tuple(numbers.tolist()))
        if len(self.values) != len(self.probabilities):
            raise ValueError(
                f"probabilities={self.probabilities!r} have length {len(self.probabilities)}; "
                f"allowed: one for each of the {len(self.values)} values"
            )
        if abs(math.fsum(self.probabilities) - 1) > 1e-9:
            raise ValueError(f"probabilities={self.probabilities!r} do not add up; allowed: to 1")
        super().__post_init__()

    @functools.cached_property
    def code(self) -> LawCode:
        """Code for compiled kernels."""
        sums = np.cumsum(self.probabilities)
        return LawCode(_DISCRETE, 0.0, 1.0, 0.0, 0.0, np.array(self.values), sums / sums[-1])

    @property
    def support(self) -> tuple[float, float]:
        return min(self.values), max(self.values)

    @property
    def _moments(self) -> tuple[float, float]:
        mean = self.expectation(lambda x: x)
        return mean, self.expectation(lambda x: (x - mean) ** 2)

    @property
    def name(self) -> str:
        low, high = self.support
        return f"{len(self.values)} values in [{low:g}, {high:g}]"

    def expectation(self, function: Callable[[Floats], Any]) -> float:
        values, weights = np.asarray(function(np.array(self.values))), np.array(self.probabilities)
        return float(weights[weights > 0] @ values[weights > 0] / weights.sum())


@functools.lru_cache(maxsize=64)
def _beta_nodes(a: float, b: float) -> tuple[Floats, Floats]:
    """Return points of [0, 1] and weights that integrate Beta(a, b), over its quantiles.

    They are in pieces for each power of ten of the tails, with a cut at 0, so that no peak is
    missed.
    """
    ends = [0.0, *np.geomspace(1e-12, 0.1, 12), 0.5]
    cuts = np.unique([*ends, *(1 - q for q in ends), scipy.special.betainc(a, b, 0.5)])
    places = (cuts[1:] + cuts[:-1])[:, None] / 2 + np.diff(cuts)[:, None] / 2 * _NODES
    low = scipy.special.betaincinv(a, b, np.minimum(places, 0.5))
    high = 1 - scipy.special.betaincinv(b, a, np.minimum(1 - places, 0.5))
    points, weights = np.where(places < 0.5, low, high), np.diff(cuts)[:, None] / 2 * _WEIGHTS
    return read_only(points), read_only(weights)


# ------------------------------------------------------------------------- laws by their means


def two_point(mean: float, half_range: float = 1.0) -> TwoPointLaw:
    """Build the law on {−R, R} with the given mean, as in the lower bounds.

    Parameters
    ----------
    mean : float
        Mean μ in [−R, R]: 0, or at least 10⁻⁹·R in absolute value.
    half_range : float
        R > 0.

    Returns
    -------
    TwoPointLaw
        The law, R with probability (1 + μ/R)/2.

    Raises
    ------
    ValueError
        If `mean` or `half_range` is out of range.

    Examples
    --------
    >>> law = two_point(0.25)
    >>> law.probability, law.variance
    (0.625, 0.9375)
    """
    mean, half_range = _mean_within(mean, half_range)
    if 0 < abs(mean) < 1e-9 * half_range:  # it would be lost in rounding a probability near 1/2
        raise ValueError(
            f"mean={mean!r} is out of range; allowed: 0, or at least 1e-9 of half_range in size"
        )
    return TwoPointLaw(half_range, -half_range, half_range, 0.5 + mean / (2 * half_range))


def low_variance(mean: float, deviation: float, half_range: float = 1.0) -> TwoPointLaw:
    """Build the law on {mean − σ, mean + σ}, both equally likely.

    Parameters
    ----------
    mean : float
        Mean μ in [−R, R].
    deviation : float
        Standard deviation σ > 0, at most R − |μ|.
    half_range : float
        R > 0: the range of stopping rules is [−R, R].

    Returns
    -------
    TwoPointLaw
        The law.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> low_variance(0.25, 0.125).support
    (0.125, 0.375)
    """
    mean, half_range = _mean_within(mean, half_range)
    deviation = check_positive("deviation", deviation)
    if abs(mean) + deviation > half_range * (1 + 1e-12):  # allows for rounding
        raise ValueError(
            f"deviation={deviation!r} is out of range; allowed: at most half_range - |mean| = "
            f"{half_range - abs(mean)!r}"
        )
    low, high = max(mean - deviation, -half_range), min(mean + deviation, half_range)
    return TwoPointLaw(half_range, low, high, 0.5)


def uniform(mean: float, half_range: float = 1.0) -> UniformLaw:
    """Build the uniform law on the widest interval around `mean` inside [−R, R].

    Parameters
    ----------
    mean : float
        Mean μ, strictly inside [−R, R].
    half_range : float
        R > 0.

    Returns
    -------
    UniformLaw
        The law, on [μ − w, μ + w] with w = R − |μ|.

    Raises
    ------
    ValueError
        If `mean` or `half_range` is out of range.

    Examples
    --------
    >>> uniform(0.25).support
    (-0.5, 1.0)
    """
    mean, half_range = _mean_within(mean, half_range)
    width = half_range - abs(mean)
    if width == 0:
        raise ValueError(
            f"mean={mean!r} is out of range; allowed: strictly inside "
            f"[-{half_range:g}, {half_range:g}]"
        )
    return UniformLaw(half_range, mean - width, mean + width)


def shifted_beta(a: float, b: float, half_range: float = 1.0) -> BetaLaw:
    """Build the law of R(2Y − 1) with Y ~ Beta(a, b), of mean R(a − b)/(a + b).

    Parameters
    ----------
    a : float
        First shape, from 0.001 to 10⁶.
    b : float
        Second shape, from 0.001 to 10⁶.
    half_range : float
        R > 0.

    Returns
    -------
    BetaLaw
        The law, on [−R, R].

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> shifted_beta(3, 1).mean
    0.5
    """
    return BetaLaw(half_range, a, b)


def beta(a: float, b: float) -> BetaLaw:
    """Build Beta(a, b) on [0, 1], of mean a/(a + b).

    Parameters
    ----------
    a : float
        First shape, from 0.001 to 10⁶.
    b : float
        Second shape, from 0.001 to 10⁶.

    Returns
    -------
    BetaLaw
        The law, of half range 1.

    Raises
    ------
    ValueError
        If a shape is out of range.

    Examples
    --------
    >>> beta(3, 1).mean
    0.75
    """
    return BetaLaw(1.0, a, b, low=0.0, high=1.0)


def discrete(
    values: ArrayLike, probabilities: ArrayLike | None = None, half_range: float | None = None
) -> DiscreteLaw:
    """Build a law on finitely many values, such as the empirical law of a sample.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        The values. Without probabilities they may repeat: a sample.
    probabilities : array_like of float, shape (m,), optional
        Their probabilities, which add up to 1; without them all entries are equally likely.
    half_range : float, optional
        R > 0; by default the largest absolute value, or 1 if that is 0.

    Returns
    -------
    DiscreteLaw
        The law.

    Raises
    ------
    ValueError
        If a value or a probability is out of range, or their numbers differ.

    Examples
    --------
    >>> discrete([0, 0.5, 1], [0.5, 0.25, 0.25]).mean, discrete([1, 0, 1, 1]).probabilities
    (0.375, (0.25, 0.75))
    """
    points = check_values("values", values, -math.inf, math.inf)
    if half_range is None:
        greatest = float(np.max(np.abs(points), initial=0.0))
        half_range = greatest if greatest >= SMALLEST else 1.0
    kept: Any = values, probabilities
    if probabilities is None and points.ndim == 1 and points.size:
        points, counts = np.unique(points, return_counts=True)
        kept = points, counts / counts.sum()
    return DiscreteLaw(half_range, *kept)


def _mean_within(mean: float, half_range: float) -> tuple[float, float]:
    half_range = check_positive("half_range", half_range)
    return check_range("mean", mean, -half_range, half_range), half_range
