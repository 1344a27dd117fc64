"""Reward laws on [−R, R], for rules that estimate one mean from a stream."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import special

from dpbandits._validation import check_generator, check_integer, check_number, check_positive
from dpbandits.rewards.binomial import binomial

__all__ = [
    "BetaLaw",
    "Law",
    "LawCode",
    "TwoPointLaw",
    "UniformLaw",
    "draw",
    "sum_of_draws",
]

LawCode = tuple[int, float, float, float, float]
"""What compiled kernels are told of a law: its kind, an offset, a width and two shapes."""

_TWO_POINT, _UNIFORM, _BETA = 0, 1, 2
_UNIFORM_BITS = 53
_LEAST_SHAPE, _GREATEST_SHAPE = 1e-3, 1e6
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_BY_BITS = 1000  # from this many uniforms on, sums of their binary digits are cheaper


@njit(cache=True, nogil=True)
def draw(rng: np.random.Generator, code: LawCode) -> float:
    """Draw one reward of the law that `code` describes."""
    kind, offset, width, first, second = code
    if kind == _TWO_POINT:
        return offset + width if rng.random() < first else offset
    if kind == _UNIFORM:
        return offset + width * rng.random()
    return offset + width * rng.beta(first, second)


@njit(cache=True, nogil=True)
def sum_of_draws(rng: np.random.Generator, code: LawCode, n: int) -> float:
    """Draw the sum of n independent rewards of the law that `code` describes, exact in law.

    Two points need one Binomial variable. A uniform variable of double precision is 53 fair
    binary digits, so that a long sum of them needs one Binomial variable a digit. Others are
    drawn one by one.
    """
    kind, offset, width, first, second = code
    if kind == _TWO_POINT:
        return n * offset + width * binomial(rng, n, first)
    total = 0.0
    if kind == _UNIFORM and n >= _BY_BITS:
        for place in range(_UNIFORM_BITS, 0, -1):  # the smallest first, for the rounding
            total += math.ldexp(float(binomial(rng, n, 0.5)), -place)
    elif kind == _UNIFORM:
        for _ in range(n):
            total += rng.random()
    else:
        for _ in range(n):
            total += rng.beta(first, second)
    return n * offset + width * total


@dataclass(frozen=True)
class Law(abc.ABC):
    """Law of the rewards of a stream, on [−R, R]; its `code` is of one of three kinds.

    Attributes
    ----------
    half_range : float
        R > 0: the rules are told that no reward lies outside [−R, R].
    """

    half_range: float

    def __post_init__(self) -> None:
        half_range = check_positive("half_range", self.half_range)
        object.__setattr__(self, "half_range", half_range)
        kind, offset, width, *_ = self.code
        if kind not in (_TWO_POINT, _UNIFORM, _BETA):
            raise ValueError(f"code has the kind {kind!r}; allowed: those of the laws here")
        for end in (offset, offset + width):
            if not abs(end) <= half_range * (1 + 1e-12):
                raise ValueError(
                    f"{self!r} has support up to {end:g}; allowed: within [-half_range, half_range]"
                )

    @property
    @abc.abstractmethod
    def code(self) -> LawCode:
        """What compiled kernels are told of the law."""

    @property
    @abc.abstractmethod
    def mean(self) -> float:
        """Mean μ."""

    @property
    @abc.abstractmethod
    def variance(self) -> float:
        """Variance σ²."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What tables and figures call the law."""

    @abc.abstractmethod
    def expectation(self, function: Callable[[NDArray[np.float64]], Any]) -> float:
        """Return the expectation of a function of one reward.

        Parameters
        ----------
        function : callable
            From arrays of rewards to arrays.

        Returns
        -------
        float
            A sum for discrete laws, an integral by adaptive quadrature for others.
        """

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw `size` rewards, none of them outside [−R, R] by rounding."""
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, 2**40)
        rewards = _sample(rng, self.code, size)
        return np.clip(rewards, -self.half_range, self.half_range)

    def sample_sum(self, rng: np.random.Generator, n: int) -> float:
        """Draw the sum of `n` rewards; exact in law, fast for two points and for uniform laws."""
        rng, n = check_generator("rng", rng), check_integer("n", n, 0, 2**52)
        total: float = sum_of_draws(rng, self.code, n)
        return total


@njit(cache=True, nogil=True)
def _sample(rng: np.random.Generator, code: LawCode, size: int) -> NDArray[np.float64]:
    rewards = np.empty(size)
    for i in range(size):
        rewards[i] = draw(rng, code)
    return rewards


@dataclass(frozen=True)
class TwoPointLaw(Law):
    """Two values, `high` with probability `probability` and `low` otherwise.

    Attributes
    ----------
    low, high : float
        The values, −R ≤ low ≤ high ≤ R.
    probability : float
        Probability of `high`, in [0, 1].
    """

    low: float
    high: float
    probability: float

    def __post_init__(self) -> None:
        for field in ("low", "high", "probability"):
            object.__setattr__(self, field, check_number(field, getattr(self, field), "a number"))
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability={self.probability!r} is out of range; allowed: [0, 1]")
        if not self.low <= self.high:
            raise ValueError(f"low={self.low!r} exceeds high={self.high!r}; allowed: low ≤ high")
        super().__post_init__()

    @property
    def code(self) -> LawCode:
        """See `Law`."""
        return (_TWO_POINT, self.low, self.high - self.low, self.probability, 0.0)

    @property
    def mean(self) -> float:
        """Mean μ."""
        return self.low + (self.high - self.low) * self.probability

    @property
    def variance(self) -> float:
        """Variance σ²."""
        return (self.high - self.low) ** 2 * self.probability * (1 - self.probability)

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        if self.high == -self.low == self.half_range:
            return "two points ±R"
        return f"{self.low:g} or {self.high:g}"

    def expectation(self, function: Callable[[NDArray[np.float64]], Any]) -> float:
        """Return the expectation of a function of one reward; see `Law`."""
        values = np.asarray(function(np.array([self.low, self.high])))
        weights = np.array([1 - self.probability, self.probability])
        return float(weights[weights > 0] @ values[weights > 0])


@dataclass(frozen=True)
class UniformLaw(Law):
    """Uniform on [low, high]; drawn with 53 random binary digits, as NumPy does.

    Attributes
    ----------
    low, high : float
        Ends of the interval, −R ≤ low < high ≤ R.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for field in ("low", "high"):
            object.__setattr__(self, field, check_number(field, getattr(self, field), "a number"))
        if not self.low < self.high:
            raise ValueError(f"low={self.low!r} is not below high={self.high!r}; allowed: below")
        super().__post_init__()

    @property
    def code(self) -> LawCode:
        """See `Law`."""
        return (_UNIFORM, self.low, self.high - self.low, 0.0, 0.0)

    @property
    def mean(self) -> float:
        """Mean μ."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """Variance σ²."""
        return (self.high - self.low) ** 2 / 12

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        return f"uniform on [{self.low:g}, {self.high:g}]"

    def expectation(self, function: Callable[[NDArray[np.float64]], Any]) -> float:
        """Return the expectation of a function of one reward; see `Law`."""
        from scipy import integrate  # slow to import, and needed here alone

        value, _ = integrate.quad(lambda x: function(np.array([x]))[0], self.low, self.high)
        return float(value / (self.high - self.low))


@dataclass(frozen=True)
class BetaLaw(Law):
    """R(2Y − 1) with Y ~ Beta(a, b).

    Attributes
    ----------
    a, b : float
        Shapes, from 0.001 to 10⁶.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for field in ("a", "b"):
            value = check_positive(field, getattr(self, field))
            if not _LEAST_SHAPE <= value <= _GREATEST_SHAPE:
                raise ValueError(
                    f"{field}={value!r} is out of range; "
                    f"allowed: {_LEAST_SHAPE:g} to {_GREATEST_SHAPE:g}"
                )
            object.__setattr__(self, field, value)
        super().__post_init__()

    @property
    def code(self) -> LawCode:
        """See `Law`."""
        return (_BETA, -self.half_range, 2 * self.half_range, self.a, self.b)

    @property
    def mean(self) -> float:
        """Mean μ."""
        return self.half_range * (self.a - self.b) / (self.a + self.b)

    @property
    def variance(self) -> float:
        """Variance σ²."""
        total = self.a + self.b
        return 4 * self.half_range**2 * self.a * self.b / (total**2 * (total + 1))

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        return f"Beta({self.a:g}, {self.b:g}) on [-R, R]"

    def expectation(self, function: Callable[[NDArray[np.float64]], Any]) -> float:
        """Return the expectation of a function of one reward; see `Law`."""
        shares, weights = _beta_nodes(self.a, self.b)
        points = self.half_range * (2 * shares - 1)
        values = np.asarray(function(points.ravel())).reshape(points.shape)
        return float(np.sum(weights * values))


@functools.lru_cache(maxsize=64)
def _beta_nodes(a: float, b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points of [0, 1] and their weights, with which Beta(a, b) is integrated.

    Over the quantiles, in pieces for each power of ten of the tails and with a cut at 0, so that
    no peak is missed.
    """
    ends = [0.0, *np.geomspace(1e-12, 0.1, 12), 0.5]
    cuts = np.unique([*ends, *(1 - q for q in ends), special.betainc(a, b, 0.5)])
    places = (cuts[1:] + cuts[:-1])[:, None] / 2 + np.diff(cuts)[:, None] / 2 * _NODES
    low = special.betaincinv(a, b, np.minimum(places, 0.5))
    high = 1 - special.betaincinv(b, a, np.minimum(1 - places, 0.5))
    nodes = np.where(places < 0.5, low, high), np.diff(cuts)[:, None] / 2 * _WEIGHTS
    for array in nodes:
        array.flags.writeable = False
    return nodes
