"""Heavy-tailed reward laws: E abs(X)^(1+v) ≤ u for v in (0, 1]; the variance may be infinite."""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._validation import (
    check_generator,
    check_integer,
    check_number,
    check_order,
    check_positive,
)

__all__ = [
    "HeavyCode",
    "HeavyLaw",
    "ParetoLaw",
    "SampledLaw",
    "TwoPointHeavyLaw",
    "draw_heavy",
    "moment_evidence",
]

HeavyCode = tuple[int, float, float]
"""What compiled kernels are told of a heavy-tailed law: its kind and two parameters."""

PARETO, TWO_POINT = 0, 1
_LARGEST = 1e100
_MOST_DRAWS = 2**32
_CHECKED_DRAWS = 2**14
_REJECT_AT = 1e6


@njit(cache=True, nogil=True)
def draw_heavy(rng: np.random.Generator, code: HeavyCode) -> float:
    """Draw one reward of the law that `code` describes.

    Examples
    --------
    >>> draw_heavy(np.random.default_rng(0), ParetoLaw(2.0, 3.0).code) >= 3.0
    True
    """
    kind, first, second = code
    if kind == PARETO:
        return second * math.exp(rng.standard_exponential() / first)
    return first if rng.random() < second else 0.0


@dataclass(frozen=True)
class HeavyLaw(abc.ABC):
    """Law of the rewards of an arm, with a finite mean and perhaps no variance."""

    @property
    @abc.abstractmethod
    def mean(self) -> float:
        """Mean μ."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What tables and figures call the law."""

    @property
    def code(self) -> HeavyCode:
        """What compiled kernels are told of the law."""
        raise ValueError(f"law={self!r} has no code for kernels; allowed: the laws that have one")

    @abc.abstractmethod
    def moment(self, order: float) -> float:
        """Return E abs(X)^(1+v) for v = `order` in (0, 1]; ``inf`` where it does not exist."""

    @abc.abstractmethod
    def truncated_mean(self, bound: float) -> float:
        """Return E X·1{abs(X) ≤ B} for B = `bound`."""

    @abc.abstractmethod
    def truncated_variance(self, bound: float) -> float:
        """Return the variance of X·1{abs(X) ≤ B} for B = `bound`."""

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw `size` rewards."""
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, _MOST_DRAWS)
        return _sample(rng, self.code, size)


@njit(cache=True, nogil=True)
def _sample(rng: np.random.Generator, code: HeavyCode, size: int) -> NDArray[np.float64]:
    rewards = np.empty(size)
    for i in range(size):
        rewards[i] = draw_heavy(rng, code)
    return rewards


@dataclass(frozen=True)
class ParetoLaw(HeavyLaw):
    """P(X > x) = (x_a/x)^s for x ≥ x_a; drawn as x_a·exp(E/s) with E standard exponential.

    Attributes
    ----------
    shape : float
        s, above 1 so that there is a mean, up to 1000; moments of order below s exist.
    scale : float
        x_a > 0, the smallest reward, up to 10^100.

    Examples
    --------
    >>> law = ParetoLaw(shape=1.5, scale=0.3)
    >>> round(law.mean, 12), round(law.moment(0.25), 4), law.moment(0.5)
    (0.9, 1.3321, inf)
    >>> round(law.truncated_mean(120.0), 12)  # mean·(1 − (x_a/B)^(s − 1))
    0.855
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        shape = check_number("shape", self.shape, "above 1, up to 1000")
        if not 1 < shape <= 1000:
            raise ValueError(f"shape={self.shape!r} is out of range; allowed: above 1, up to 1000")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "scale", _check_value("scale", self.scale))

    @property
    def code(self) -> HeavyCode:
        """See `HeavyLaw`."""
        return (PARETO, self.shape, self.scale)

    @property
    def mean(self) -> float:
        """Mean s·x_a/(s − 1)."""
        return self.shape * self.scale / (self.shape - 1)

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        return f"Pareto, shape {self.shape:g}, mean {self.mean:g}"

    def moment(self, order: float) -> float:
        """Return E X^(1+v) = s·x_a^(1+v)/(s − 1 − v); see `HeavyLaw`."""
        power = 1 + check_order("order", order)
        if power >= self.shape:
            return math.inf
        return float(self.shape * self.scale**power / (self.shape - power))

    def truncated_mean(self, bound: float) -> float:
        """See `HeavyLaw`."""
        return self._truncated_power(bound, 1)

    def truncated_variance(self, bound: float) -> float:
        """See `HeavyLaw`."""
        mean = self._truncated_power(bound, 1)
        return max(0.0, self._truncated_power(bound, 2) - mean * mean)

    def _truncated_power(self, bound: float, power: float) -> float:
        """Return E X^k·1{X ≤ B} = s·x_a^k·∫ exp((k − s)y) dy for y from 0 to log(B/x_a)."""
        bound = check_positive("bound", bound, infinite=True)
        if bound <= self.scale:
            return 0.0
        reach, exponent = math.log(bound / self.scale), power - self.shape
        if exponent * reach > 700:
            return math.inf
        integral = math.expm1(exponent * reach) / exponent if exponent else reach
        return self.shape * self.scale**power * integral


@dataclass(frozen=True)
class TwoPointHeavyLaw(HeavyLaw):
    """`high` with probability p, 0 otherwise: the law of the lower bounds.

    Attributes
    ----------
    high : float
        The value that is not 0, positive, up to 10^100.
    probability : float
        p in [0, 1].

    Examples
    --------
    >>> law = TwoPointHeavyLaw(high=100.0, probability=0.001)
    >>> round(law.mean, 12), round(law.moment(0.5), 12), law.truncated_mean(99.0)
    (0.1, 1.0, 0.0)
    """

    high: float
    probability: float

    def __post_init__(self) -> None:
        probability = check_number("probability", self.probability, "[0, 1]")
        if not 0 <= probability <= 1:
            raise ValueError(f"probability={self.probability!r} is out of range; allowed: [0, 1]")
        object.__setattr__(self, "high", _check_value("high", self.high))
        object.__setattr__(self, "probability", probability)

    @property
    def code(self) -> HeavyCode:
        """See `HeavyLaw`."""
        return (TWO_POINT, self.high, self.probability)

    @property
    def mean(self) -> float:
        """Mean p·high."""
        return self.high * self.probability

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        return f"0 or {self.high:g}, mean {self.mean:g}"

    def moment(self, order: float) -> float:
        """See `HeavyLaw`."""
        return float(self.probability * self.high ** (1 + check_order("order", order)))

    def truncated_mean(self, bound: float) -> float:
        """See `HeavyLaw`."""
        return self.mean if self.high <= check_positive("bound", bound, infinite=True) else 0.0

    def truncated_variance(self, bound: float) -> float:
        """See `HeavyLaw`."""
        if self.high > check_positive("bound", bound, infinite=True):
            return 0.0
        return self.high**2 * self.probability * (1 - self.probability)


@dataclass(frozen=True)
class SampledLaw(HeavyLaw):
    """A sampler of your own, with the mean and the moment bound that you declare.

    The law is in Python alone: it has no `code`, and its truncated moments are estimates from
    16384 draws at a fixed seed. Those draws also test the declared bound, by `moment_evidence`:
    if E abs(X)^(1+v) ≤ u, a warning is given with probability at most 10^−6, whatever the law.
    Silence proves little. Rewards so rare that no draw shows them can carry any moment; the
    test sees a moment of 2u if it comes from rewards of ordinary size.

    Attributes
    ----------
    sampler : callable
        From a generator and a number of rewards to an array of that many.
    declared_mean : float
        Mean μ, with μ^(1+v) ≤ u in absolute value, as Jensen's inequality demands.
    order : float
        v in (0, 1].
    moment_bound : float
        u > 0, declared to be at least E abs(X)^(1+v).
    label : str
        What tables and figures call the law.

    Examples
    --------
    >>> law = SampledLaw(lambda rng, size: rng.normal(0.5, 1.0, size), 0.5, 1.0, 1.25)
    >>> law.sample(np.random.default_rng(0), 3).size, law.moment(1.0)
    (3, 1.25)
    """

    sampler: Callable[[np.random.Generator, int], NDArray[np.float64]]
    declared_mean: float
    order: float
    moment_bound: float
    label: str = "sampled"

    def __post_init__(self) -> None:
        if not callable(self.sampler):
            raise ValueError(f"sampler={self.sampler!r} is no function; allowed: (rng, size)")
        order = check_order("order", self.order)
        bound = check_positive("moment_bound", self.moment_bound)
        mean = check_number("declared_mean", self.declared_mean, "a finite number")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "moment_bound", bound)
        object.__setattr__(self, "declared_mean", mean)
        largest = bound ** (1 / (1 + order))
        if not abs(mean) <= largest * (1 + 1e-12):
            raise ValueError(
                f"declared_mean={self.declared_mean!r} is out of range; "
                f"allowed: at most moment_bound^(1/(1+order)) = {largest!r} in absolute value"
            )
        evidence = moment_evidence(self._draws, order, bound)
        if evidence >= _REJECT_AT:
            warnings.warn(
                f"moment_bound={bound!r} is too small for {self.label!r}: "
                f"evidence {evidence:.3g} against it in {self._draws.size} draws",
                stacklevel=3,
            )

    @cached_property
    def _draws(self) -> NDArray[np.float64]:
        return self.sample(np.random.default_rng(0), _CHECKED_DRAWS)

    @property
    def mean(self) -> float:
        """Mean μ, as declared."""
        return self.declared_mean

    @property
    def name(self) -> str:
        """What tables and figures call the law."""
        return self.label

    def moment(self, order: float) -> float:
        """Return the declared bound, or by Lyapunov's inequality one for a smaller order."""
        order = check_order("order", order)
        if order > self.order:
            return math.inf  # nothing is known
        return float(self.moment_bound ** ((1 + order) / (1 + self.order)))

    def truncated_mean(self, bound: float) -> float:
        """Estimate E X·1{abs(X) ≤ B}; see `HeavyLaw`."""
        return float(self._truncated(bound).mean())

    def truncated_variance(self, bound: float) -> float:
        """Estimate the variance of X·1{abs(X) ≤ B}; see `HeavyLaw`."""
        return float(self._truncated(bound).var())

    def _truncated(self, bound: float) -> NDArray[np.float64]:
        bound = check_positive("bound", bound, infinite=True)
        return np.where(np.abs(self._draws) <= bound, self._draws, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw `size` rewards with the sampler."""
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, _MOST_DRAWS)
        rewards = np.asarray(self.sampler(rng, size), dtype=np.float64)
        if rewards.shape != (size,) or np.isnan(rewards).any():
            raise ValueError(
                f"sampler={self.sampler!r} gave an array of shape {rewards.shape}; "
                f"allowed: ({size},), without nan"
            )
        return rewards


def moment_evidence(x: NDArray[np.float64], order: float, moment: float) -> float:
    """Return evidence against E abs(X)^(1+v) ≤ u: a bet that gains only if the bound is wrong.

    With Y = abs(X)^(1+v)/u, the wealth ∏(1 + λ(Y_i − 1)) of a gambler who stakes the part λ in
    [0, 1] is a non-negative supermartingale that starts at 1 if E Y ≤ 1, whatever else the law
    is. So is the average over λ = 1/2, 1/4, …, 1/1024, and by Ville's inequality its maximum
    over the sample reaches 1/α with probability at most α.

    Parameters
    ----------
    x : numpy.ndarray of float, shape (n,)
        Independent rewards of one law.
    order : float
        v in (0, 1].
    moment : float
        u > 0.

    Returns
    -------
    float
        The greatest wealth; 10^6 rejects the bound at level 10^−6. May be ``inf``.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(0.0, 1.0, 5000)
    >>> moment_evidence(x, 1.0, moment=1.0) < 100, moment_evidence(x, 1.0, moment=0.8) > 1e6
    (True, True)
    """
    ratio = np.abs(np.asarray(x, dtype=np.float64)) ** (1 + check_order("order", order))
    ratio /= check_positive("moment", moment)
    stakes = 0.5 ** np.arange(1, 11)[:, None]
    with np.errstate(over="ignore"):
        wealth = np.exp(np.cumsum(np.log1p(stakes * (ratio - 1)), axis=1)).mean(axis=0)
    return float(wealth.max(initial=1.0))


def _check_value(name: str, value: float) -> float:
    number = check_positive(name, value)
    if number > _LARGEST:
        raise ValueError(f"{name}={value!r} is out of range; allowed: up to {_LARGEST:g}")
    return number
