"""Reward laws and the papers' named bandit instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice, check_integer, check_number
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.heavy_laws import (
    TWZW22_NAMES,
    HeavyTailInstance,
    heavy,
    heavy_two_point,
    pareto,
    twzw22,
)
from dpbandits.rewards.laws import low_variance, shifted_beta, two_point, uniform

__all__ = [
    "JA25_NAMES",
    "SS19_NAMES",
    "TD16_NAMES",
    "TWZW22_NAMES",
    "BernoulliInstance",
    "HeavyTailInstance",
    "equal_gaps",
    "ladder",
    "bernoulli",
    "heavy",
    "heavy_two_point",
    "ja25",
    "low_variance",
    "pareto",
    "shifted_beta",
    "ss19",
    "td16",
    "twzw22",
    "two_point",
    "uniform",
]

JA25_NAMES = ("mu1", "mu2", "even")
SS19_NAMES = ("C1", "C2", "C3", "C4")
TD16_NAMES = ("two", "ten")


@dataclass(frozen=True)
class BernoulliInstance:
    """A K-armed bandit whose rewards are 0 or 1.

    Attributes
    ----------
    mean_rewards : tuple of float, length K
        The arms' means, each in [0, 1].
    name : str
        What tables and figures call the instance.

    Raises
    ------
    ValueError
        If there are fewer than two arms, or a mean outside [0, 1] or not a number.

    Examples
    --------
    >>> instance = BernoulliInstance((0.2, 0.6), "mine")
    >>> instance.best_arm, instance.gaps.round(3).tolist()
    (1, [0.4, 0.0])
    """

    mean_rewards: tuple[float, ...]
    name: str = "Bernoulli"

    def __post_init__(self) -> None:
        try:
            means = tuple(check_number("means", mean, "[0, 1]") for mean in self.mean_rewards)
        except (TypeError, ValueError):
            raise ValueError(
                f"means={self.mean_rewards!r} is not a list of numbers; allowed: numbers in [0, 1]"
            ) from None
        if len(means) < 2:
            raise ValueError(f"means={means!r} has fewer arms than a bandit; allowed: 2 or more")
        for mean in means:
            if not 0 <= mean <= 1:
                raise ValueError(f"means={means!r} has the mean {mean!r}; allowed: [0, 1]")
        object.__setattr__(self, "mean_rewards", means)  # a tuple, whatever sequence was given

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self.mean_rewards)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Means of the arms, shape (K,), read-only."""
        means = np.array(self.mean_rewards, dtype=np.float64)
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

    def sample(
        self, rng: np.random.Generator, arm: int, size: int | None = None
    ) -> NDArray[np.float64]:
        """Draw `size` rewards of `arm` (0-based), 0.0 or 1.0 each.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        arm : int
            Which arm, 0 ≤ arm < K.
        size : int, optional
            How many rewards; None draws one, as an array of shape ().

        Returns
        -------
        numpy.ndarray of float, shape (size,) or ()
        """
        arm = check_integer("arm", arm, 0, self.n_arms - 1)
        return np.asarray(rng.random(size) < self.means[arm], dtype=np.float64)

    def sample_sum(
        self, rng: np.random.Generator, arms: NDArray[np.intp], size: int
    ) -> NDArray[np.int64]:
        """Draw, for each arm in `arms`, the sum of `size` fresh rewards: a Binomial variable.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        arms : numpy.ndarray of int, shape (m,)
            Which arms (0-based).
        size : int
            Number of rewards in each sum.

        Returns
        -------
        numpy.ndarray of int, shape (m,)
        """
        sums = [binomial(rng, size, mean) for mean in self.means[arms]]
        return np.array(sums, dtype=np.int64)


def bernoulli(means: Sequence[float], name: str = "Bernoulli") -> BernoulliInstance:
    """Build a Bernoulli instance from its means.

    Parameters
    ----------
    means : sequence of float
        The arms' means, each in [0, 1], two or more.
    name : str, optional
        What tables and figures call the instance.

    Returns
    -------
    BernoulliInstance

    Raises
    ------
    ValueError
        If there are fewer than two arms, or a mean outside [0, 1] or not a number.

    Examples
    --------
    >>> bernoulli([0.5, 0.25]).n_arms
    2
    """
    return BernoulliInstance(cast(tuple[float, ...], means), name)


def ss19(name: str, n_arms: int = 5) -> BernoulliInstance:
    """Build one of the four instances of Sajed & Sheffet (2019), §5.

    C1: 0.75, then 0.7 for the rest. C2: linear from 0.75 to 0.25. C3: the convex parabola
    a(i − K)² + c through 0.75 at i = 1 and 0.25 at i = K. C4: the concave parabola
    a(i − 1)² + c through the same two points.

    Parameters
    ----------
    name : {"C1", "C2", "C3", "C4"}
        The paper's name.
    n_arms : int
        Number of arms K ≥ 2; the paper uses 3, 5, 10, 20.

    Returns
    -------
    BernoulliInstance

    Raises
    ------
    ValueError
        If the name is unknown or there are fewer than two arms.

    Examples
    --------
    >>> ss19("C4", n_arms=5).means.tolist()
    [0.75, 0.71875, 0.625, 0.46875, 0.25]
    """
    check_choice("name", name, SS19_NAMES)
    n_arms = check_integer("n_arms", n_arms, 2, 100_000)
    place = np.arange(n_arms) / (n_arms - 1)  # (i − 1)/(K − 1) for i = 1..K
    if name == "C1":
        means = np.where(place == 0, 0.75, 0.7)
    elif name == "C2":
        means = 0.75 - 0.5 * place
    elif name == "C3":
        means = 0.25 + 0.5 * (1 - place) ** 2
    else:
        means = 0.75 - 0.5 * place**2
    return BernoulliInstance(tuple(means.tolist()), f"{name}, K = {n_arms}")


def td16(name: str) -> BernoulliInstance:
    """Build one of the two instances of Tossou & Dimitrakakis (2016), §4.

    two: 0.9 and 0.6. ten: 0.1 four times, 0.2, 0.55, and 0.1 four times again; the paper leaves
    open how many arms stand before the better two.

    Parameters
    ----------
    name : {"two", "ten"}
        Number of arms.

    Returns
    -------
    BernoulliInstance

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> td16("two").mean_rewards, td16("ten").best_arm
    ((0.9, 0.6), 5)
    """
    check_choice("name", name, TD16_NAMES)
    few = (0.1,) * 4
    means = (0.9, 0.6) if name == "two" else (*few, 0.2, 0.55, *few)
    return BernoulliInstance(means, f"{name} arms")


def ja25(name: str) -> BernoulliInstance:
    """Build one of the instances of Jourdan & Azize (2025), as far as they can be told.

    mu1: 0.95, 0.9 three times, 0.5. mu2: 0.75, then 0.7 four times. even: 0, 0.25, 0.5, 0.75, 1.
    Our copy of the paper has lost the means; those of mu1 and mu2 are inferred from the values
    that are quoted of them, log-odds 0.75 and 2.94 apart on mu1, 0.25 on mu2.

    Parameters
    ----------
    name : {"mu1", "mu2", "even"}
        Which one.

    Returns
    -------
    BernoulliInstance

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> ja25("mu1").mean_rewards, ja25("even").best_arm
    ((0.95, 0.9, 0.9, 0.9, 0.5), 4)
    """
    means = {
        "mu1": (0.95, 0.9, 0.9, 0.9, 0.5),
        "mu2": (0.75, 0.7, 0.7, 0.7, 0.7),
        "even": (0.0, 0.25, 0.5, 0.75, 1.0),
    }
    return BernoulliInstance(means[check_choice("name", name, JA25_NAMES)], name)


BEST_MEAN = 0.75


def equal_gaps(n_arms: int, gap: float) -> BernoulliInstance:
    """Return arms that are all worse by `gap` than the last, whose mean is 0.75.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    gap : float
        Gap of the others, in (0, 0.75].

    Examples
    --------
    >>> equal_gaps(3, 0.05).mean_rewards
    (0.7, 0.7, 0.75)
    """
    n_arms, gap = check_integer("n_arms", n_arms, 2), _check_gap(gap, BEST_MEAN)
    other = round(BEST_MEAN - gap, 12)
    return bernoulli((*(other,) * (n_arms - 1), BEST_MEAN), f"gap {gap:g}")


def ladder(n_arms: int, gap: float) -> BernoulliInstance:
    """Return arms worse by twice `gap` to `gap`, evenly, than the last, whose mean is 0.75.

    No two are tied: with ties for second, elimination has no mean stopping time.

    Parameters
    ----------
    n_arms : int
        Number of arms K ≥ 2.
    gap : float
        The least gap, in (0, 0.375].

    Examples
    --------
    >>> ladder(3, 0.05).mean_rewards
    (0.65, 0.7, 0.75)
    """
    n_arms, gap = check_integer("n_arms", n_arms, 2), _check_gap(gap, BEST_MEAN / 2)
    shares = np.linspace(2, 1, n_arms - 1) if n_arms > 2 else [1.0]
    others = (round(BEST_MEAN - gap * float(share), 12) for share in shares)
    return bernoulli((*others, BEST_MEAN), f"gap {gap:g}")


def _check_gap(gap: float, most: float) -> float:
    if not 0 < check_number("gap", gap, f"(0, {most:g}]") <= most:
        raise ValueError(f"gap={gap!r} is out of range; allowed: (0, {most:g}]")
    return float(gap)
