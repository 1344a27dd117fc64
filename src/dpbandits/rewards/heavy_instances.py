"""Bandits with heavy-tailed rewards, E∣X∣^(1+v) ≤ u on every arm, and the rewards of their runs.

TWZW22 is Tao, Wu, Zhao & Wang (2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.generators import Address, address_of, generator_at
from dpbandits._engine.kernels import kernel
from dpbandits._validation import (
    check_choice,
    check_function,
    check_integer,
    check_order,
    check_positive,
    check_range,
)
from dpbandits.configuration import Configuration, Order, Positive
from dpbandits.rewards.heavy_laws import (
    GIVEN,
    CallbackLaw,
    HeavyLaw,
    ParetoLaw,
    SampledLaw,
    TwoPointHeavyLaw,
    draw_heavy,
)
from dpbandits.rewards.sources import MOST_ARMS, Ahead, Arms, Source, read_only
from dpbandits.rewards.truncated_sums import rounded_truncated_sum, truncated_sum

__all__ = [
    "TWZW22_MEANS",
    "TWZW22_NAMES",
    "GivenRewards",
    "HeavyRewards",
    "HeavyTailInstance",
    "heavy",
    "heavy_callback",
    "heavy_two_point",
    "pareto",
    "twzw22",
]

TWZW22_NAMES = ("S1", "S2", "S3")
TWZW22_MEANS = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}
_BEYOND = 0.05  # excess of the default shape over 1 + v
_BELOW_1 = math.nextafter(1.0, 0.0)


def _laws(name: str, value: Any) -> tuple[HeavyLaw, ...]:
    try:
        laws = tuple(value)
    except TypeError:
        laws = ()
    if len(laws) < 2 or not all(isinstance(law, HeavyLaw) for law in laws):
        raise ValueError(f"{name}={value!r} are not arms; allowed: two or more HeavyLaw")
    return laws


@dataclass(frozen=True)
class HeavyTailInstance(Configuration, Arms):
    """A K-armed bandit whose rewards have E∣X∣^(1+v) ≤ u on every arm; also called `heavy`.

    Parameters
    ----------
    laws : sequence of HeavyLaw, length K ≥ 2
        Distributions of the arms, stored as a tuple.
    order : float
        v, in (0, 1], known to the algorithms.
    moment_bound : float
        u > 0, known to the algorithms; no law's moment may exceed it.
    name : str
        Name of the instance in tables and figures.

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
        if not largest <= self.moment_bound * (1 + 1e-9):  # allows for rounding
            raise ValueError(
                f"moment_bound={self.moment_bound!r} is too small; allowed: at least {largest!r}, "
                f"the largest E∣X∣^(1+v) of the laws"
            )

    @cached_property
    def means(self) -> Floats:
        """Means of the arms, shape (K,), read-only; nan if unknown."""
        return read_only([law.mean for law in self.laws])

    @property
    def codes(self) -> tuple[Ints, Floats]:
        """Kinds of the arms' laws, shape (K,), and their parameters, shape (K, 2)."""
        codes = [law.code for law in self.laws]
        kinds = np.array([kind for kind, _, _ in codes], dtype=np.int64)
        return kinds, np.array([[first, second] for _, first, second in codes], dtype=np.float64)

    @property
    def live(self) -> bool:
        """Whether rewards come from a function, which is not called more often than necessary."""
        return any(isinstance(law, CallbackLaw) for law in self.laws)

    def reordered(self, order: Sequence[int]) -> HeavyTailInstance:
        return replace(self, laws=tuple(self.laws[arm] for arm in order))

    def rewards(self, rng: Rng) -> HeavyRewards:
        """Start a run: return its rewards.

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


@kernel
def _draw_at(at: Address, kind: int, first: float, second: float) -> float:
    return draw_heavy(generator_at(at), (kind, first, second))


def _first(law: HeavyLaw, rng: Rng) -> float:
    return float(law.sample(rng, 1)[0])


class HeavyRewards(Source):
    """Heavy-tailed rewards of a run, with the moment bound for the algorithms.

    Parameters
    ----------
    instance : HeavyTailInstance
        The bandit.
    rng : numpy.random.Generator
        Source of the rewards.

    Attributes
    ----------
    laws : tuple of HeavyLaw, length K
        Distributions of the arms.
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
        self._ahead, self._singly = Ahead(self.ready), dict[int, Callable[[], float]]()
        unknown = (law for law in instance.laws if law.code[0] == GIVEN)
        self.given = any(not isinstance(law, SampledLaw) for law in unknown)

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
        if size == 1:
            return (self._singly.get(arm) or self._singly_of(arm))()
        return float(self.laws[arm].sample(self.rng, size).sum())

    def _singly_of(self, arm: int) -> Callable[[], float]:
        """Return how one reward of an arm is drawn, and keep it."""
        law, at = self.laws[arm], address_of(self.rng)
        kind, first, second = law.code
        if at is not None and kind != GIVEN and type(law).sample is HeavyLaw.sample:
            draw: Callable[[], float] = partial(_draw_at, at, kind, float(first), float(second))
        elif law.ahead > 1:
            draw = partial(self._ahead.take, arm)
        else:
            draw = partial(_first, law, self.rng)
        self._singly[arm] = draw
        return draw

    def truncated_total(self, arm: int, size: int, bound: float) -> float:
        """Return the sum of the next `size` rewards of `arm`, those beyond a bound counted as 0.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 10^30; to 2^28 for a law in Python.
        bound : float
            B > 0: a reward x counts as x·1{∣x∣ ≤ B}.

        Returns
        -------
        float
            Sum of the truncated rewards of these pulls, drawn at once: `truncated_sum`.
        """
        return truncated_sum(self.rng, self.laws[arm], size, bound)

    def rounded_truncated_total(self, arm: int, size: int, bound: float, rng: Rng) -> int:
        """Return how many of the next `size` rewards of an arm count as 1, x with probability x/B.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        size : int
            Number of pulls, from 0 to 10^30; to 2^28 for a law in Python.
        bound : float
            B > 0: a reward outside of [0, B] counts as 0.
        rng : numpy.random.Generator
            Source of the rounding, and of the rewards drawn with it.

        Returns
        -------
        int
            Number of the rewards that count as 1: `rounded_truncated_sum`.
        """
        return rounded_truncated_sum(rng, self.laws[arm], size, bound)

    def ready(self, arm: int, most: int) -> Floats:
        """Draw the next rewards of an arm, as many as can be drawn ahead.

        Parameters
        ----------
        arm : int
            Arm, from 0 to K − 1.
        most : int
            Number of rewards wanted, at least 1.

        Returns
        -------
        numpy.ndarray of float, shape (n,)
            Rewards of the next n pulls, 1 ≤ n ≤ `most`.
        """
        return self.laws[arm].sample(self.rng, min(most, self.laws[arm].ahead))


class GivenRewards(HeavyRewards):
    """Heavy-tailed rewards of a run with a law in Python: no sum is drawn at once.

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

    You declare the bound on the rewards' moment: privacy does not depend on it, but the widths do.
    Elimination asks for the rewards of an epoch when it ends.

    Parameters
    ----------
    function : callable
        Takes an arm (0-based), and returns the reward of its next pull, a number. It is called once
        per pull, never ahead, and by all runs: `simulate` it with ``n_runs=1`` if it has state.
    n_arms : int
        Number of arms K ≥ 2.
    order : float
        v, in (0, 1].
    moment_bound : float
        u ≥ E∣X∣^(1+v) > 0, for every arm.
    means : sequence of float, length K, optional
        Means of the arms. Without them the regret of a run is nan, but its pulls are known.
    name : str
        Name of the instance in tables and figures.

    Returns
    -------
    HeavyTailInstance
        The bandit.

    Raises
    ------
    ValueError
        If `function` is not callable, the number of means is not K, or a number is out of range.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> mine = dpb.instances.heavy_callback(lambda arm: 9.0 * arm, 2, order=1.0, moment_bound=81.0)
    >>> dpb.simulate(dpb.DPRUCB(epsilon=20.0), mine, 10**4, n_runs=1).pulls.argmax(axis=1).tolist()
    [1]
    """
    n_arms = check_integer("n_arms", n_arms, 2, MOST_ARMS)
    known = [math.nan] * n_arms if means is None else list(means)
    if len(known) != n_arms:
        raise ValueError(f"means={means!r} has {len(known)} arms; allowed: {n_arms}")
    calls = [partial(check_function("function", function), arm) for arm in range(n_arms)]
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
        Name of the instance in tables and figures.

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

    Means as printed there, `TWZW22_MEANS`. The Pareto shape 1.05 + v is inferred: it is missing in
    our copy of the paper.

    Parameters
    ----------
    name : {"S1", "S2", "S3"}
        The instance.
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
    determine everything except ρ: p·h^(1+v) = 1 and (1 − ρ)·p·h = Δ imply the better mean M = Δ/(1
    − ρ), h = M^(−1/v) and p = M^((1+v)/v). With h = Δ^(−1/v), the lower bound taken to the letter,
    p·h^(1+v) ≤ 1 caps every mean at p·h ≤ h^−v = Δ, so that ρ = 0: the worse arms then always give
    0. With ρ = 1/2, h = (2Δ)^(−1/v), and
    worse arms are as heavy-tailed as the better one.

    Parameters
    ----------
    gap : float
        Gap Δ of all suboptimal arms, positive and at most 1 − ρ.
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
