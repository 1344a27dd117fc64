"""Laws of heavy-tailed rewards, E∣X∣^(1+v) ≤ u for a v in (0, 1]: the variance may be infinite."""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import (
    check_function,
    check_generator,
    check_integer,
    check_number,
    check_order,
    check_positive,
    check_range,
    check_values,
    reward_of,
    shown,
)
from dpbandits.configuration import Configuration, Number, Order, Positive, between
from dpbandits.rewards.sources import Tape

__all__ = [
    "CallbackLaw",
    "HeavyCode",
    "HeavyLaw",
    "ParetoLaw",
    "SampledLaw",
    "TwoPointHeavyLaw",
    "draw_heavy",
    "next_heavy",
    "moment_evidence",
]

HeavyCode = tuple[int, float, float]
"""Code of a heavy-tailed law for compiled kernels: its kind and two parameters."""

PARETO, TWO_POINT, GIVEN = 0, 1, 2
_MOST_DRAWS = 2**32
_CHECKED_DRAWS = 2**14
_REJECT_AT = 1e6
_SHAPE = partial(
    check_range, low=math.nextafter(1.0, 2.0), high=1000.0, allowed="above 1, up to 1000"
)


@kernel(borrows=True)
def draw_heavy(rng: Rng, code: HeavyCode) -> float:
    """Draw one reward of the law that `code` describes."""
    kind, first, second = code
    if kind == PARETO:
        return second * math.exp(rng.standard_exponential() / first)
    return first if rng.random() < second else 0.0


@kernel(borrows=True)
def next_heavy(rng: Rng, code: HeavyCode, tape: Tape, arm: int) -> float:
    """Draw the next reward of an arm, or read it if its law is in Python."""
    if code[0] != GIVEN:
        return draw_heavy(rng, code)
    tape.read[arm] += 1
    found: float = tape.table[arm, tape.read[arm] - 1]
    return found


@dataclass(frozen=True)
class HeavyLaw(Configuration, abc.ABC):
    """Law of the rewards of an arm, with a finite mean and perhaps no variance.

    Base of the laws for heavy tails. A subclass defines `mean` and `moment`, and `sample` unless it
    has a `code` for compiled loops.

    Examples
    --------
    >>> from dpbandits.rewards.heavy_laws import HeavyLaw, ParetoLaw
    >>> law = ParetoLaw(shape=1.5, scale=1.0)
    >>> isinstance(law, HeavyLaw), law.mean, law.ahead
    (True, 3.0, 256)
    """

    ahead: ClassVar[int] = 256
    """Number of rewards that may be drawn ahead."""

    @property
    @abc.abstractmethod
    def mean(self) -> float:
        """Mean μ."""

    @property
    def code(self) -> HeavyCode:
        """Code for compiled kernels; by default that of a law in Python."""
        return (GIVEN, 0.0, 0.0)

    @abc.abstractmethod
    def moment(self, order: float) -> float:
        """Return the moment E ∣X∣^(1+v).

        Parameters
        ----------
        order : float
            v, in (0, 1].

        Returns
        -------
        float
            The moment, or a bound on it if only that is declared; ``inf`` if it does not exist.

        Raises
        ------
        ValueError
            If `order` is out of range.
        """

    def truncated_mean(self, bound: float) -> float:
        """Return E X·1{∣X∣ ≤ B}; by default nan, for unknown.

        Parameters
        ----------
        bound : float
            B > 0; ``inf`` is allowed.

        Returns
        -------
        float
            Mean of a truncated reward.

        Raises
        ------
        ValueError
            If `bound` is not positive.
        """
        return math.nan

    def truncated_variance(self, bound: float) -> float:
        """Return the variance of X·1{∣X∣ ≤ B}; by default nan, for unknown.

        Parameters
        ----------
        bound : float
            B > 0; ``inf`` is allowed.

        Returns
        -------
        float
            Variance of a truncated reward.

        Raises
        ------
        ValueError
            If `bound` is not positive.
        """
        return math.nan

    def sample(self, rng: Rng, size: int) -> Floats:
        """Draw independent rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        size : int
            Number of rewards, from 0 to 2^32.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            The rewards.

        Raises
        ------
        ValueError
            If `rng` is not a generator, or `size` is out of range.
        """
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, _MOST_DRAWS)
        return _sample(rng, self.code, size)


@kernel
def _sample(rng: Rng, code: HeavyCode, size: int) -> Floats:
    rewards = np.empty(size)
    for i in range(size):
        rewards[i] = draw_heavy(rng, code)
    return rewards


@dataclass(frozen=True)
class ParetoLaw(HeavyLaw):
    """Pareto law: P(X > x) = (x_a/x)^s for x ≥ x_a, drawn as x_a·exp(E/s), E standard exponential.

    Parameters
    ----------
    shape : float
        s, above 1 so that there is a mean, up to 1000.
    scale : float
        x_a, the smallest reward, from 10^−100 to 10^100.

    Examples
    --------
    >>> law = ParetoLaw(shape=1.5, scale=0.3)
    >>> round(law.mean, 12), round(law.moment(0.25), 4), law.moment(0.5)
    (0.9, 1.3321, inf)
    >>> round(law.truncated_mean(120.0), 12)  # mean·(1 − (x_a/B)^(s − 1))
    0.855
    """

    shape: Annotated[float, _SHAPE]
    scale: Annotated[float, between(1e-100, 1e100)]

    @property
    def code(self) -> HeavyCode:
        return (PARETO, self.shape, self.scale)

    @property
    def mean(self) -> float:
        return self.shape * self.scale / (self.shape - 1)

    def moment(self, order: float) -> float:
        power = 1 + check_order("order", order)
        if power >= self.shape:
            return math.inf
        return float(self.shape * self.scale**power / (self.shape - power))

    def truncated_mean(self, bound: float) -> float:
        return self._truncated_power(bound, 1)

    def truncated_variance(self, bound: float) -> float:
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
        found: float = self.shape * self.scale**power * integral
        return found


@dataclass(frozen=True)
class TwoPointHeavyLaw(HeavyLaw):
    """Law of `high` with a probability, else 0, as in the lower bounds.

    Parameters
    ----------
    high : float
        Reward that is not 0, from 10^−100 to 10^100.
    probability : float
        Its probability, in [0, 1].

    Examples
    --------
    >>> law = TwoPointHeavyLaw(high=100.0, probability=0.001)
    >>> round(law.mean, 12), round(law.moment(0.5), 12), law.truncated_mean(99.0)
    (0.1, 1.0, 0.0)
    """

    high: Annotated[float, between(1e-100, 1e100)]
    probability: Annotated[float, between(0, 1)]

    @property
    def code(self) -> HeavyCode:
        return (TWO_POINT, self.high, self.probability)

    @property
    def mean(self) -> float:
        return self.high * self.probability

    def moment(self, order: float) -> float:
        return float(self.probability * self.high ** (1 + check_order("order", order)))

    def truncated_mean(self, bound: float) -> float:
        return self.mean if self.high <= check_positive("bound", bound, infinite=True) else 0.0

    def truncated_variance(self, bound: float) -> float:
        if self.high > check_positive("bound", bound, infinite=True):
            return 0.0
        return self.high**2 * self.probability * (1 - self.probability)


class _DeclaredLaw(HeavyLaw):
    """A law with a declared mean and a declared bound on a moment."""

    declared_mean: float
    order: float
    moment_bound: float

    @property
    def mean(self) -> float:
        return self.declared_mean

    def moment(self, order: float) -> float:
        """Return the declared bound, or one for a smaller order by Lyapunov's inequality."""
        order = check_order("order", order)
        if order > self.order:
            return math.inf
        return float(self.moment_bound ** ((1 + order) / (1 + self.order)))


@dataclass(frozen=True)
class SampledLaw(_DeclaredLaw):
    """A custom sampler, with a declared mean and moment bound.

    Its truncated moments are estimates from 16384 draws at a fixed seed. Those draws also test the
    declared bound, by `moment_evidence`: if it holds, a warning is given with probability at most
    10^−6, for any law. The absence of a warning proves little: rewards too rare for any of the
    draws can have any moment.

    Parameters
    ----------
    sampler : callable
        Takes a generator and a number of rewards, and returns an array of that many.
    declared_mean : float
        Mean μ of the rewards.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v), at least ∣μ∣^(1+v) by Jensen's inequality.
    label : str
        Name of the law in warnings.

    Raises
    ------
    ValueError
        If a parameter is out of range, the mean contradicts the moment bound, or the sampler
        returns another number of rewards.

    Examples
    --------
    >>> law = SampledLaw(lambda rng, size: rng.normal(1.0, 1.0, size), 1.0, 1.0, moment_bound=2.0)
    >>> law.mean, law.moment(1.0), law.sample(np.random.default_rng(0), 3).shape
    (1.0, 2.0, (3,))
    """

    sampler: Annotated[Callable[[Rng, int], Floats], check_function]
    declared_mean: Number
    order: Order
    moment_bound: Positive
    label: str = "sampled"

    def __post_init__(self) -> None:
        super().__post_init__()
        order, bound = self.order, self.moment_bound
        largest = bound ** (1 / (1 + order))
        if not abs(self.declared_mean) <= largest * (1 + 1e-12):
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
    def _draws(self) -> Floats:
        return self.sample(np.random.default_rng(0), _CHECKED_DRAWS)

    def truncated_mean(self, bound: float) -> float:
        """Estimate E X·1{∣X∣ ≤ B} from draws at a fixed seed.

        Parameters
        ----------
        bound : float
            B > 0; ``inf`` is allowed.

        Returns
        -------
        float
            Mean of the truncated draws.

        Raises
        ------
        ValueError
            If `bound` is not positive.
        """
        return float(self._truncated(bound).mean())

    def truncated_variance(self, bound: float) -> float:
        """Estimate the variance of X·1{∣X∣ ≤ B} from draws at a fixed seed.

        Parameters
        ----------
        bound : float
            B > 0; ``inf`` is allowed.

        Returns
        -------
        float
            Variance of the truncated draws.

        Raises
        ------
        ValueError
            If `bound` is not positive.
        """
        return float(self._truncated(bound).var())

    def _truncated(self, bound: float) -> Floats:
        bound = check_positive("bound", bound, infinite=True)
        return np.where(np.abs(self._draws) <= bound, self._draws, 0.0)

    def sample(self, rng: Rng, size: int) -> Floats:
        """Draw rewards with the sampler.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness for the sampler.
        size : int
            Number of rewards, from 0 to 2^32.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            The rewards.

        Raises
        ------
        ValueError
            If `rng` is not a generator, `size` is out of range, or the sampler returns another
            number of rewards or nan.
        """
        rng, size = check_generator("rng", rng), check_integer("size", size, 0, _MOST_DRAWS)
        rewards = np.asarray(self.sampler(rng, size), dtype=np.float64)
        if rewards.shape != (size,) or np.isnan(rewards).any():
            raise ValueError(
                f"sampler={self.sampler!r} returned an array of shape {rewards.shape}; "
                f"allowed: ({size},), without nan"
            )
        return rewards


@dataclass(frozen=True)
class CallbackLaw(_DeclaredLaw):
    """Rewards from a function, with a declared moment bound.

    `heavy_callback` builds an instance of such laws.

    Parameters
    ----------
    function : callable
        Function without arguments that returns the next reward, a number.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v) > 0.
    declared_mean : float
        Mean μ; nan if unknown.

    Raises
    ------
    ValueError
        If `function` is not callable.

    Examples
    --------
    >>> law = CallbackLaw(lambda: 2.0, order=1.0, moment_bound=4.0)
    >>> law.sample(np.random.default_rng(0), 3).tolist(), law.mean
    ([2.0, 2.0, 2.0], nan)
    """

    ahead: ClassVar[int] = 1

    function: Annotated[Callable[[], float], check_function]
    order: Order
    moment_bound: Positive
    declared_mean: Number = math.nan

    def sample(self, rng: Rng, size: int) -> Floats:
        """Call the function `size` times.

        Parameters
        ----------
        rng : numpy.random.Generator
            Unused.
        size : int
            Number of rewards, from 0 to 2^32.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            The values returned by the function.

        Raises
        ------
        ValueError
            If `size` is out of range, or the function returns nan or a value that is not a number.
        """
        rewards = np.empty(check_integer("size", size, 0, _MOST_DRAWS))
        for i in range(size):
            try:
                reward = reward_of(self.function())
            except StopIteration:
                raise ValueError(
                    f"function={shown(self.function)} has no reward left, {i} of the {size} that "
                    "are asked for; allowed: no more pulls than it can serve"
                ) from None
            rewards[i] = check_number("reward", reward, "a number")
            if math.isnan(rewards[i]):
                raise ValueError("reward=nan is out of range; allowed: a number")
        return rewards


def moment_evidence(x: Floats, order: float, moment: float) -> float:
    """Return evidence against E ∣X∣^(1+v) ≤ u: a bet that gains only if the bound is wrong.

    With Y = ∣X∣^(1+v)/u, the wealth ∏(1 + λ(Y_i − 1)) of a gambler who stakes the part λ in [0, 1]
    is a non-negative supermartingale that starts at 1 if E Y ≤ 1, for any law. So is the average
    over λ = 1/2, 1/4, …, 1/1024, and by Ville's inequality its maximum over the sample, which is
    returned, reaches 1/α with probability at most α: 10^6 rejects the bound at level 10^−6.

    Parameters
    ----------
    x : numpy.ndarray of float, shape (n,)
        Independent rewards of one law.
    order : float
        v, in (0, 1].
    moment : float
        u > 0, the bound to test.

    Returns
    -------
    float
        The gambler's largest wealth, at least 1.

    Raises
    ------
    ValueError
        If `order` or `moment` is out of range.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(0.0, 1.0, 5000)
    >>> moment_evidence(x, 1.0, moment=1.0) < 100, moment_evidence(x, 1.0, moment=0.8) > 1e6
    (True, True)
    """
    ratio = np.abs(check_values("x", x, -math.inf, math.inf)) ** (1 + check_order("order", order))
    ratio /= check_positive("moment", moment)
    stakes = 0.5 ** np.arange(1, 11)[:, None]
    with np.errstate(over="ignore"):
        wealth = np.exp(np.cumsum(np.log1p(stakes * (ratio - 1)), axis=1)).mean(axis=0)
    return float(wealth.max(initial=1.0))
