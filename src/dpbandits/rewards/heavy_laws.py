"""Heavy-tailed rewards, E∣X∣^(1+v) ≤ u for a v in (0, 1], and the bandits made of them.

The variance may be infinite. TWZW22 is Tao, Wu, Zhao & Wang (2022).
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits._validation import (
    check_choice,
    check_generator,
    check_integer,
    check_number,
    check_order,
    check_positive,
    check_range,
    check_values,
)
from dpbandits.configuration import Configuration, Number, Order, Positive, between
from dpbandits.rewards.streams import Arms, Source, Tape, read_only

__all__ = [
    "TWZW22_MEANS",
    "TWZW22_NAMES",
    "CallbackLaw",
    "GivenRewards",
    "HeavyCode",
    "HeavyLaw",
    "HeavyRewards",
    "HeavyTailInstance",
    "ParetoLaw",
    "SampledLaw",
    "TwoPointHeavyLaw",
    "draw_heavy",
    "next_heavy",
    "heavy",
    "heavy_callback",
    "heavy_two_point",
    "moment_evidence",
    "pareto",
    "twzw22",
]

HeavyCode = tuple[int, float, float]
"""What compiled kernels are told of a heavy-tailed law: its kind and two parameters."""

PARETO, TWO_POINT, GIVEN = 0, 1, 2
TWZW22_NAMES = ("S1", "S2", "S3")
TWZW22_MEANS = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}
_MOST_DRAWS = 2**32
_CHECKED_DRAWS = 2**14
_REJECT_AT = 1e6
_BEYOND = 0.05  # by how much a shape exceeds 1 + v where none is given
_ABOVE_1, _BELOW_1 = math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)
_SHAPE = partial(check_range, low=_ABOVE_1, high=1000.0, allowed="above 1, up to 1000")


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise ValueError(f"{name}={value!r} is not a function; allowed: what can be called")
    return value


def _laws(name: str, value: Any) -> tuple[HeavyLaw, ...]:
    try:
        laws = tuple(value)
    except TypeError:
        laws = ()
    if len(laws) < 2 or not all(isinstance(law, HeavyLaw) for law in laws):
        raise ValueError(f"{name}={value!r} are not arms; allowed: two or more HeavyLaw")
    return laws


@kernel
def draw_heavy(rng: Rng, code: HeavyCode) -> float:
    """Draw one reward of the law that `code` describes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the reward.
    code : tuple
        Kind of the law, Pareto or two points, and its two parameters.

    Returns
    -------
    float
        The reward.
    """
    kind, first, second = code
    if kind == PARETO:
        return second * math.exp(rng.standard_exponential() / first)
    return first if rng.random() < second else 0.0


@kernel
def next_heavy(rng: Rng, code: HeavyCode, tape: Tape, arm: int) -> float:
    """Draw the next reward of an arm, or read it where its law is in Python alone.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the reward.
    code : tuple
        Kind of the arm's law and its two parameters.
    tape : Tape
        Rewards that are there already, for a law in Python; what is read is counted.
    arm : int
        Arm, from 0 to K − 1.

    Returns
    -------
    float
        The reward.
    """
    if code[0] != GIVEN:
        return draw_heavy(rng, code)
    tape.read[arm] += 1
    return tape.table[arm, tape.read[arm] - 1]


@dataclass(frozen=True)
class HeavyLaw(Configuration, abc.ABC):
    """Law of the rewards of an arm, with a finite mean and perhaps no variance.

    Base of the laws for heavy tails. A subclass defines `mean` and `moment`, and `sample` unless
    compiled loops know its `code`.

    Examples
    --------
    >>> from dpbandits.rewards.heavy_laws import HeavyLaw, ParetoLaw
    >>> law = ParetoLaw(shape=1.5, scale=1.0)
    >>> isinstance(law, HeavyLaw), law.mean, law.ahead
    (True, 3.0, 256)
    """

    ahead: ClassVar[int] = 256
    """Rewards that may be drawn before they are pulled."""

    @property
    @abc.abstractmethod
    def mean(self) -> float:
        """Mean μ."""

    @property
    def code(self) -> HeavyCode:
        """What compiled kernels are told of the law; here that it is in Python alone."""
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
            The moment, or a bound on it where only that is declared; ``inf`` where it does not
            exist.

        Raises
        ------
        ValueError
            If `order` is out of range.
        """

    def truncated_mean(self, bound: float) -> float:
        """Return E X·1{∣X∣ ≤ B}; here nan, for it is not known.

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
        """Return the variance of X·1{∣X∣ ≤ B}; here nan, for it is not known.

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

    Raises
    ------
    ValueError
        If a parameter is out of range.

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
        return self.shape * self.scale**power * integral


@dataclass(frozen=True)
class TwoPointHeavyLaw(HeavyLaw):
    """Law of `high` with a probability, else 0: that of the lower bounds.

    Parameters
    ----------
    high : float
        Reward that is not 0, from 10^−100 to 10^100.
    probability : float
        Its probability, in [0, 1].

    Raises
    ------
    ValueError
        If a parameter is out of range.

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
    """A law of which the mean and a bound on a moment are declared."""

    declared_mean: float
    order: float
    moment_bound: float

    @property
    def mean(self) -> float:
        return self.declared_mean

    def moment(self, order: float) -> float:
        """Return the declared bound, or by Lyapunov's inequality one for a smaller order."""
        order = check_order("order", order)
        if order > self.order:
            return math.inf
        return float(self.moment_bound ** ((1 + order) / (1 + self.order)))


@dataclass(frozen=True)
class SampledLaw(_DeclaredLaw):
    """A custom sampler, with the mean and the moment bound that you declare.

    Its truncated moments are estimates from 16384 draws at a fixed seed. Those draws also test
    the declared bound, by `moment_evidence`: if it holds, a warning is given with probability at
    most 10^−6, whatever the law. Silence proves little: rewards so rare that no draw shows them
    can carry any moment.

    Parameters
    ----------
    sampler : callable
        From a generator and a number of rewards to an array of that many.
    declared_mean : float
        Mean μ of the rewards.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v), at least ∣μ∣^(1+v) by Jensen's inequality.
    label : str
        What warnings call the law.

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

    sampler: Annotated[Callable[[Rng, int], Floats], _function]
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
            What the sampler draws from.
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
                f"sampler={self.sampler!r} gave an array of shape {rewards.shape}; "
                f"allowed: ({size},), without nan"
            )
        return rewards


@dataclass(frozen=True)
class CallbackLaw(_DeclaredLaw):
    """Rewards that a function gives, with the moment bound that you declare.

    `heavy_callback` builds an instance of such laws.

    Parameters
    ----------
    function : callable
        Without arguments; returns the next reward, a number.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v) > 0.
    declared_mean : float
        Mean μ; nan if nobody knows it.

    Raises
    ------
    ValueError
        If `function` cannot be called, or a number is out of range.

    Examples
    --------
    >>> law = CallbackLaw(lambda: 2.0, order=1.0, moment_bound=4.0)
    >>> law.sample(np.random.default_rng(0), 3).tolist(), law.mean
    ([2.0, 2.0, 2.0], nan)
    """

    ahead: ClassVar[int] = 1

    function: Annotated[Callable[[], float], _function]
    order: Order
    moment_bound: Positive
    declared_mean: Number = math.nan

    def sample(self, rng: Rng, size: int) -> Floats:
        """Call the function `size` times.

        Parameters
        ----------
        rng : numpy.random.Generator
            Not used.
        size : int
            Number of rewards, from 0 to 2^32.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            What the function returned.

        Raises
        ------
        ValueError
            If `size` is out of range, or the function returns nan or what is not a number.
        """
        rewards = np.empty(check_integer("size", size, 0, _MOST_DRAWS))
        for i in range(size):
            rewards[i] = check_number("reward", self.function(), "a number")
            if math.isnan(rewards[i]):
                raise ValueError("reward=nan is out of range; allowed: a number")
        return rewards


def moment_evidence(x: Floats, order: float, moment: float) -> float:
    """Return evidence against E ∣X∣^(1+v) ≤ u: a bet that gains only if the bound is wrong.

    With Y = ∣X∣^(1+v)/u, the wealth ∏(1 + λ(Y_i − 1)) of a gambler who stakes the part λ in
    [0, 1] is a non-negative supermartingale that starts at 1 if E Y ≤ 1, whatever else the law
    is. So is the average over λ = 1/2, 1/4, …, 1/1024, and by Ville's inequality its maximum
    over the sample, which is returned, reaches 1/α with probability at most α: 10^6 rejects the
    bound at level 10^−6.

    Parameters
    ----------
    x : numpy.ndarray of float, shape (n,)
        Independent rewards of one law.
    order : float
        v, in (0, 1].
    moment : float
        u > 0, the bound that is tested.

    Returns
    -------
    float
        The gambler's greatest wealth, at least 1.

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


@dataclass(frozen=True)
class HeavyTailInstance(Configuration, Arms):
    """A K-armed bandit whose rewards have E∣X∣^(1+v) ≤ u on every arm; also called `heavy`.

    Parameters
    ----------
    laws : sequence of HeavyLaw, length K ≥ 2
        The arms' laws, kept as a tuple.
    order : float
        v, in (0, 1], known to the algorithms.
    moment_bound : float
        u > 0, known to the algorithms; no law's moment may exceed it.
    name : str
        What tables and figures call the instance.

    Raises
    ------
    ValueError
        If there are fewer than two laws, a number is out of range, or a law's moment exceeds u.

    Examples
    --------
    >>> instance = heavy([ParetoLaw(1.6, 0.3), TwoPointHeavyLaw(10.0, 0.02)], 0.5, 3.0)
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (0, [0.0, 0.6])
    """

    laws: Annotated[tuple[HeavyLaw, ...], _laws]
    order: Order
    moment_bound: Positive
    name: str = "heavy tails"

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = max(law.moment(self.order) for law in self.laws)
        if not largest <= self.moment_bound * (1 + 1e-9):  # for the rounding
            raise ValueError(
                f"moment_bound={self.moment_bound!r} is too small; allowed: at least {largest!r}, "
                f"the largest E∣X∣^(1+v) of the laws"
            )

    @cached_property
    def means(self) -> Floats:
        """Means of the arms, shape (K,), read-only; nan where nobody knows them."""
        return read_only([law.mean for law in self.laws])

    @property
    def codes(self) -> tuple[Ints, Floats]:
        """Kinds of the arms' laws, shape (K,), and their parameters, shape (K, 2)."""
        codes = [law.code for law in self.laws]
        kinds = np.array([kind for kind, _, _ in codes], dtype=np.int64)
        return kinds, np.array([[first, second] for _, first, second in codes], dtype=np.float64)

    @property
    def live(self) -> bool:
        """Whether rewards come from a function, which is not asked more than it must be."""
        return any(isinstance(law, CallbackLaw) for law in self.laws)

    def rewards(self, rng: Rng) -> HeavyRewards:
        """Begin a run: return its rewards.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.

        Returns
        -------
        HeavyRewards
            Rewards of the run.
        """
        known = all(law.code[0] != GIVEN for law in self.laws)
        return HeavyRewards(self, rng) if known else GivenRewards(self, rng)

    def sample(self, rng: Rng, arm: int, size: int) -> Floats:
        """Draw independent rewards of an arm.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the rewards.
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of rewards, from 0 to 2^32.

        Returns
        -------
        numpy.ndarray of float, shape (size,)
            The rewards.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        return self.laws[check_integer("arm", arm, 0, self.n_arms - 1)].sample(rng, size)


class HeavyRewards(Source):
    """Heavy-tailed rewards of a run, with what the algorithms are told of them.

    Parameters
    ----------
    instance : HeavyTailInstance
        The bandit.
    rng : numpy.random.Generator
        Source of the rewards.

    Attributes
    ----------
    laws : tuple of HeavyLaw, length K
        The arms' laws.
    order, moment_bound : float
        v and u: E∣X∣^(1+v) ≤ u on every arm.
    codes : tuple of numpy.ndarray
        Kinds of the arms' laws, shape (K,), and their parameters, shape (K, 2).

    Examples
    --------
    >>> instance = HeavyTailInstance([TwoPointHeavyLaw(4.0, 1.0), ParetoLaw(1.5, 1.0)], 0.4, 20.0)
    >>> instance.rewards(np.random.default_rng(0)).total(0, 3)
    12.0
    """

    def __init__(self, instance: HeavyTailInstance, rng: Rng) -> None:
        self.laws, self.rng, self.n_arms = instance.laws, rng, instance.n_arms
        self.order, self.moment_bound = instance.order, instance.moment_bound
        self.codes = instance.codes

    def total(self, arm: int, size: int) -> float:
        """Return the sum of the next `size` rewards of `arm`.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 2^32.

        Returns
        -------
        float
            Sum of the rewards of these pulls.
        """
        return float(self.laws[arm].sample(self.rng, size).sum())

    def ready(self, arm: int, most: int) -> Floats:
        """Draw the next rewards of an arm, as many as may be drawn ahead.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        most : int
            Number of rewards that are wanted, at least 1.

        Returns
        -------
        numpy.ndarray of float, shape (n,)
            Rewards of the next n pulls, 1 ≤ n ≤ `most`.
        """
        return self.laws[arm].sample(self.rng, min(most, self.laws[arm].ahead))


class GivenRewards(HeavyRewards):
    """Heavy-tailed rewards of a run where a law is in Python alone: nothing is drawn at once.

    Parameters
    ----------
    instance : HeavyTailInstance
        The bandit.
    rng : numpy.random.Generator
        Source of the rewards.

    Examples
    --------
    >>> instance = heavy_callback(lambda arm: 2.0 + arm, 2, order=1.0, moment_bound=9.0)
    >>> rewards = instance.rewards(np.random.default_rng(0))
    >>> type(rewards).__name__, rewards.total(1, 3)
    ('GivenRewards', 9.0)
    """


heavy = HeavyTailInstance


def heavy_callback(
    function: Callable[[int], float],
    n_arms: int,
    order: float,
    moment_bound: float,
    means: Sequence[float] | None = None,
    name: str = "callback",
) -> HeavyTailInstance:
    """Build an instance whose rewards come from a function: a live system, a log, a table.

    You declare the bound on the rewards' moment: privacy does not depend on it, the widths do.
    Elimination asks for the rewards of an epoch when it ends.

    Parameters
    ----------
    function : callable
        From an arm (0-based) to the reward of its next pull, a number. It is called once a pull,
        never ahead, and by all runs: `simulate` it with ``n_runs=1`` where it has a state.
    n_arms : int
        Number of arms K ≥ 2.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v) > 0, for every arm.
    means : sequence of float, length K, optional
        Means of the arms. Without them the regret of a run is nan; its pulls are known.
    name : str
        What tables and figures call the instance.

    Returns
    -------
    HeavyTailInstance
        The bandit.

    Raises
    ------
    ValueError
        If `function` cannot be called, there is not one mean for each arm, or a number is out of
        range.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> mine = dpb.instances.heavy_callback(lambda arm: 9.0 * arm, 2, order=1.0, moment_bound=81.0)
    >>> dpb.simulate(dpb.DPRUCB(epsilon=20.0), mine, 10**4, n_runs=1).pulls.argmax(axis=1).tolist()
    [1]
    """
    n_arms = check_integer("n_arms", n_arms, 2)
    known = [math.nan] * n_arms if means is None else list(means)
    if len(known) != n_arms:
        raise ValueError(f"means={means!r} has {len(known)} arms; allowed: {n_arms}")
    calls = [partial(_function("function", function), arm) for arm in range(n_arms)]
    laws = [CallbackLaw(c, order, moment_bound, m) for c, m in zip(calls, known, strict=True)]
    return HeavyTailInstance(tuple(laws), order, moment_bound, name)


def pareto(
    means: Sequence[float], order: float, shape: float | None = None, name: str = "Pareto"
) -> HeavyTailInstance:
    """Build an instance of Pareto arms of one shape s; u is their largest moment.

    Arm a has the scale (s − 1)μ_a/s, so that its mean is μ_a.

    Parameters
    ----------
    means : sequence of float, length K ≥ 2
        Means μ_a > 0 of the arms.
    order : float
        v, in (0, 1].
    shape : float, optional
        s, above 1 + v; by default 1.05 + v.
    name : str
        What tables and figures call the instance.

    Returns
    -------
    HeavyTailInstance
        The bandit.

    Raises
    ------
    ValueError
        If there are fewer than two means, or a number is out of range.

    Examples
    --------
    >>> instance = pareto([0.9, 0.5], order=0.5)
    >>> instance.means.round(12).tolist(), round(instance.moment_bound, 4)
    ([0.9, 0.5], 5.5946)
    """
    order = check_order("order", order)
    shape = check_positive("shape", 1 + _BEYOND + order if shape is None else shape)
    if not shape > 1 + order:
        raise ValueError(f"shape={shape!r} is out of range; allowed: above 1 + order = {1 + order}")
    scales = [(shape - 1) * check_positive("means", mean) / shape for mean in means]
    if len(scales) < 2:
        raise ValueError(f"means={means!r} has fewer arms than a bandit; allowed: 2 or more")
    laws = tuple(ParetoLaw(shape, scale) for scale in scales)
    return HeavyTailInstance(laws, order, max(law.moment(order) for law in laws), name)


def twzw22(name: str, order: float) -> HeavyTailInstance:
    """Build one of the three instances of Tao, Wu, Zhao & Wang (2022), §6: Pareto arms.

    Means as printed there, `TWZW22_MEANS`. The Pareto shape 1.05 + v is inferred: our copy of the
    paper has lost it.

    Parameters
    ----------
    name : {"S1", "S2", "S3"}
        Which instance.
    order : float
        v, in (0, 1].

    Returns
    -------
    HeavyTailInstance
        The bandit, of five arms.

    Raises
    ------
    ValueError
        If `name` is unknown or `order` is out of range.

    Examples
    --------
    >>> instance = twzw22("S3", order=0.9)
    >>> instance.gaps.round(12).tolist(), instance.name
    ([0.0, 0.05, 0.2, 0.45, 0.8], 'S3, v = 0.9')
    """
    check_choice("name", name, TWZW22_NAMES)
    return pareto(TWZW22_MEANS[name], order, name=f"{name}, v = {check_order('order', order):g}")


def heavy_two_point(
    gap: float, order: float, n_arms: int = 2, best: int = 0, ratio: float = 0.5
) -> HeavyTailInstance:
    """Build the hard instance of the lower bounds: rewards 0 or h, moment bound u = 1.

    The better arm has h with probability p, the others with probability ρp. Moment 1 and gap Δ
    fix everything but ρ: p·h^(1+v) = 1 and (1 − ρ)·p·h = Δ give the better mean M = Δ/(1 − ρ),
    h = M^(−1/v) and p = M^((1+v)/v). With h = Δ^(−1/v) to the letter, p·h^(1+v) ≤ 1 caps every
    mean at p·h ≤ h^−v = Δ, so that ρ = 0: the worse arms then give 0 always. With ρ = 1/2,
    h = (2Δ)^(−1/v), and worse arms are as heavy-tailed as the better one.

    Parameters
    ----------
    gap : float
        Gap Δ of all arms but the best, positive and at most 1 − ρ.
    order : float
        v, in (0, 1].
    n_arms : int
        Number of arms K, from 2 to 100 000.
    best : int
        The better arm, from 0 to K − 1.
    ratio : float
        ρ, in [0, 1).

    Returns
    -------
    HeavyTailInstance
        The bandit.

    Raises
    ------
    ValueError
        If a parameter is out of range, or p would be below 10^−100.

    Examples
    --------
    >>> instance = heavy_two_point(0.05, order=0.5)
    >>> instance.means.round(12).tolist()
    [0.1, 0.05]
    >>> round(instance.laws[0].high, 9), round(instance.laws[0].probability, 9)
    (100.0, 0.001)
    """
    order = check_order("order", order)
    n_arms = check_integer("n_arms", n_arms, 2, 100_000)
    best = check_integer("best", best, 0, n_arms - 1)
    ratio = check_range("ratio", ratio, 0.0, _BELOW_1, "[0, 1)")
    gap = check_positive("gap", gap)
    mean = gap / (1 - ratio)
    log_probability = (1 + 1 / order) * math.log(mean)
    if not -230 <= log_probability <= 1e-12:
        raise ValueError(
            f"gap={gap!r} is out of range; allowed: at most 1 - ratio = {1 - ratio}, "
            f"and so large that gap^(1+1/order) is at least 1e-100"
        )
    high, probability = mean ** (-1 / order), min(1.0, mean ** (1 + 1 / order))
    laws = [TwoPointHeavyLaw(high, ratio * probability)] * n_arms
    laws[best] = TwoPointHeavyLaw(high, probability)
    return HeavyTailInstance(tuple(laws), order, 1.0, f"0 or {high:g}, gap {gap:g}, v = {order:g}")
