"""Bandits with heavy-tailed rewards, and the instances of Tao, Wu, Zhao & Wang (2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import (
    check_choice,
    check_integer,
    check_number,
    check_order,
    check_positive,
)
from dpbandits.rewards.heavy_laws import HeavyLaw, ParetoLaw, TwoPointHeavyLaw

__all__ = [
    "TWZW22_MEANS",
    "TWZW22_NAMES",
    "HeavyTailInstance",
    "heavy",
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
_BEYOND = 0.05  # by how much a shape exceeds 1 + v where none is given


@dataclass(frozen=True)
class HeavyTailInstance:
    """A K-armed bandit whose rewards have E abs(X)^(1+v) ≤ u on every arm.

    Attributes
    ----------
    laws : tuple of HeavyLaw, length K
        The arms' laws.
    order : float
        v in (0, 1], known to the algorithms.
    moment_bound : float
        u > 0, known to the algorithms; no law's moment may exceed it.
    name : str
        What tables and figures call the instance.

    Raises
    ------
    ValueError
        If there are fewer than two arms, or a law's moment exceeds `moment_bound`.

    Examples
    --------
    >>> laws = (ParetoLaw(1.6, 0.3), TwoPointHeavyLaw(10.0, 0.02))
    >>> instance = HeavyTailInstance(laws, order=0.5, moment_bound=3.0)
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (0, [0.0, 0.6])
    """

    laws: tuple[HeavyLaw, ...]
    order: float
    moment_bound: float
    name: str = "heavy tails"

    def __post_init__(self) -> None:
        try:
            laws = tuple(self.laws)
        except TypeError:
            laws = ()
        if len(laws) < 2 or not all(isinstance(law, HeavyLaw) for law in laws):
            raise ValueError(
                f"laws={self.laws!r} are no arms of a bandit; allowed: two or more HeavyLaw"
            )
        order = check_order("order", self.order)
        bound = check_positive("moment_bound", self.moment_bound)
        largest = max(law.moment(order) for law in laws)
        if not largest <= bound * (1 + 1e-9):  # for the rounding
            raise ValueError(
                f"moment_bound={self.moment_bound!r} is too small; allowed: at least {largest!r}, "
                f"the largest E abs(X)^(1+v) of the laws"
            )
        object.__setattr__(self, "laws", laws)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "moment_bound", bound)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self.laws)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Means of the arms, shape (K,), read-only."""
        means = np.array([law.mean for law in self.laws], dtype=np.float64)
        means.flags.writeable = False
        return means

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Gaps Δ_a = max mean − mean of arm a, shape (K,), read-only."""
        gaps = self.means.max() - self.means
        gaps.flags.writeable = False
        return gaps

    @property
    def best_arm(self) -> int:
        """Lowest number (0-based) of an arm with the largest mean."""
        return int(np.argmax(self.means))

    def sample(self, rng: np.random.Generator, arm: int, size: int) -> NDArray[np.float64]:
        """Draw `size` rewards of `arm` (0-based)."""
        return self.laws[check_integer("arm", arm, 0, self.n_arms - 1)].sample(rng, size)


def heavy(
    laws: Sequence[HeavyLaw], order: float, moment_bound: float, name: str = "heavy tails"
) -> HeavyTailInstance:
    """Build an instance from the arms' laws; see `HeavyTailInstance`.

    Parameters
    ----------
    laws : sequence of HeavyLaw
        Two or more.
    order : float
        v in (0, 1].
    moment_bound : float
        u > 0, at least every law's E abs(X)^(1+v).
    name : str, optional
        What tables and figures call the instance.

    Returns
    -------
    HeavyTailInstance

    Examples
    --------
    >>> heavy([TwoPointHeavyLaw(1.0, 0.2), TwoPointHeavyLaw(1.0, 0.1)], 1.0, 1.0).n_arms
    2
    """
    return HeavyTailInstance(tuple(laws), order, moment_bound, name)


def pareto(
    means: Sequence[float], order: float, shape: float | None = None, name: str = "Pareto"
) -> HeavyTailInstance:
    """Build an instance of Pareto arms of one shape s.

    Arm a has the scale x_a = (s − 1)μ_a/s, and u is the largest moment,
    max_a s·x_a^(1+v)/(s − 1 − v).

    Parameters
    ----------
    means : sequence of float
        The arms' means μ_a, each positive, two or more.
    order : float
        v in (0, 1].
    shape : float, optional
        s > 1 + v; 1.05 + v if not given.
    name : str, optional
        What tables and figures call the instance.

    Returns
    -------
    HeavyTailInstance

    Raises
    ------
    ValueError
        If a mean is not positive, or the shape leaves no moment of order 1 + v.

    Examples
    --------
    >>> instance = pareto([0.9, 0.5], order=0.5)
    >>> instance.means.round(12).tolist(), round(instance.moment_bound, 4)
    ([0.9, 0.5], 5.5946)
    """
    order = check_order("order", order)
    if shape is None:
        shape = 1 + _BEYOND + order
    shape = check_positive("shape", shape)
    if not shape > 1 + order:
        raise ValueError(f"shape={shape!r} is out of range; allowed: above 1 + order = {1 + order}")
    means = [check_positive("means", mean) for mean in means]
    laws = tuple(ParetoLaw(shape, (shape - 1) * mean / shape) for mean in means)
    if len(laws) < 2:
        raise ValueError(f"means={means!r} has fewer arms than a bandit; allowed: 2 or more")
    return HeavyTailInstance(laws, order, max(law.moment(order) for law in laws), name)


def twzw22(name: str, order: float) -> HeavyTailInstance:
    """Build one of the three instances of Tao, Wu, Zhao & Wang (2022), §6.

    Means as printed there: S1 {0.9, 0.7, 0.5, 0.3, 0.1}, S2 {0.9, 0.55, 0.3, 0.15, 0.1},
    S3 {0.9, 0.85, 0.7, 0.45, 0.1}. The Pareto shape 1.05 + v is inferred: the copy of the paper
    that was read has lost it.

    Parameters
    ----------
    name : {"S1", "S2", "S3"}
        The paper's name.
    order : float
        v in (0, 1].

    Returns
    -------
    HeavyTailInstance

    Raises
    ------
    ValueError
        If the name is unknown or `order` out of range.

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
        Δ > 0, at most 1 − ρ.
    order : float
        v in (0, 1].
    n_arms : int
        Number of arms K ≥ 2.
    best : int
        Which arm is better (0-based).
    ratio : float
        ρ in [0, 1), the worse means in units of the better one.

    Returns
    -------
    HeavyTailInstance

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> instance = heavy_two_point(0.05, order=0.5)
    >>> instance.means.round(12).tolist(), round(instance.laws[0].moment(0.5), 12)
    ([0.1, 0.05], 1.0)
    >>> round(instance.laws[0].high, 9), round(instance.laws[0].probability, 9)
    (100.0, 0.001)
    """
    order = check_order("order", order)
    n_arms = check_integer("n_arms", n_arms, 2, 100_000)
    best = check_integer("best", best, 0, n_arms - 1)
    ratio = check_number("ratio", ratio, "[0, 1)")
    if not 0 <= ratio < 1:
        raise ValueError(f"ratio={ratio!r} is out of range; allowed: [0, 1)")
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
