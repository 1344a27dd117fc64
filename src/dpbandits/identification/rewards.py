"""Where an identification algorithm gets its rewards from: an instance, or a table of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._binomial import binomial
from dpbandits._validation import check_generator, check_integer
from dpbandits.instances import BernoulliInstance

__all__ = ["DrawnRewards", "Rewards", "TableRewards"]


class Rewards(Protocol):
    """What an algorithm may ask: the sum of the next rewards of an arm, and nothing else."""

    @property
    def n_arms(self) -> int:
        """Number of arms K."""

    def total(self, arm: int, size: int) -> int:
        """Return the sum of the next `size` rewards of `arm` (0-based), each 0 or 1."""


class DrawnRewards:
    """Rewards that are drawn when they are asked for: each sum is one Binomial variable.

    Parameters
    ----------
    instance : BernoulliInstance
        The bandit.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rewards = DrawnRewards(dpb.instances.bernoulli([1.0, 0.0]), np.random.default_rng(0))
    >>> rewards.total(0, 10), rewards.total(1, 10)
    (10, 0)
    """

    def __init__(self, instance: BernoulliInstance, rng: np.random.Generator) -> None:
        check_generator("rng", rng)
        self._means: list[float] = instance.means.tolist()
        self._rng = rng

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self._means)

    def total(self, arm: int, size: int) -> int:
        """Draw the sum of `size` fresh rewards of `arm`."""
        return int(binomial(self._rng, size, self._means[arm]))


class TableRewards:
    """Rewards that are fixed beforehand: the n-th pull of an arm gives its n-th entry.

    Two tables that differ in one entry are neighbours in the sense of differential privacy.

    Parameters
    ----------
    table : sequence of array_like
        For each arm its rewards, each 0 or 1, in the order of the pulls.

    Raises
    ------
    ValueError
        If there are fewer than two arms, or an entry is neither 0 nor 1; later, if an arm is
        pulled more often than it has rewards.

    Examples
    --------
    >>> rewards = TableRewards([[1, 0, 1, 1], [0, 0, 1]])
    >>> rewards.total(0, 2), rewards.total(0, 2), rewards.total(1, 3)
    (1, 2, 1)
    """

    def __init__(self, table: Sequence[ArrayLike]) -> None:
        arms = [np.asarray(rewards) for rewards in table]
        if len(arms) < 2:
            raise ValueError(f"table has {len(arms)} arms; allowed: 2 or more")
        sums: list[NDArray[np.int64]] = []
        for arm, rewards in enumerate(arms):
            if rewards.ndim != 1 or not np.isin(rewards, (0, 1)).all():
                raise ValueError(f"table[{arm}]={rewards!r} is out of range; allowed: 0s and 1s")
            sums.append(np.concatenate([[0], np.cumsum(rewards.astype(np.int64))]))
        self._sums = sums
        self._pulled = [0] * len(arms)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self._sums)

    def total(self, arm: int, size: int) -> int:
        """Return the sum of the next `size` entries of `arm`."""
        size = check_integer("size", size, 0)
        first, last = self._pulled[arm], self._pulled[arm] + size
        if last >= self._sums[arm].size:
            raise ValueError(
                f"table[{arm}] has {self._sums[arm].size - 1} rewards, and {last} are asked for; "
                "allowed: max_pulls that the table can serve"
            )
        self._pulled[arm] = last
        return int(self._sums[arm][last] - self._sums[arm][first])
