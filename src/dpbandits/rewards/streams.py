"""Where an identification algorithm gets its rewards from: an instance, or a table of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import check_generator, check_integer
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.schedules import MOST_PULLS

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

    Raises
    ------
    ValueError
        If an argument is something else.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rewards = DrawnRewards(dpb.instances.bernoulli([1.0, 0.0]), np.random.default_rng(0))
    >>> rewards.total(0, 10), rewards.total(1, 10)
    (10, 0)
    """

    def __init__(self, instance: BernoulliInstance, rng: np.random.Generator) -> None:
        if not isinstance(instance, BernoulliInstance):
            raise ValueError(
                f"instance={instance!r} has no rewards of 0 or 1; allowed: one such as "
                "bernoulli([0.5, 0.4])"
            )
        check_generator("rng", rng)
        self._means: list[float] = instance.means.tolist()
        self._rng = rng

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self._means)

    def total(self, arm: int, size: int) -> int:
        """Draw the sum of `size` fresh rewards of `arm`.

        Parameters
        ----------
        arm : int
            The arm, from 0 to K − 1.
        size : int
            Number of rewards, at least 0.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        arm = check_integer("arm", arm, 0, self.n_arms - 1)
        size = check_integer("size", size, 0, MOST_PULLS)
        return int(binomial(self._rng, size, self._means[arm]))


class TableRewards:
    """Rewards that are fixed beforehand: the n-th pull of an arm gives its n-th entry.

    Two tables that differ in one entry are neighbours in the sense of differential privacy. A run
    uses the rewards up that it asks for: a second run needs a new `TableRewards`.

    Parameters
    ----------
    table : sequence of array_like
        For each arm its rewards, each 0 or 1, in the order of the pulls; the arms may have
        different numbers of them.

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
        allowed = "for each of 2 or more arms a sequence of rewards, each 0 or 1"
        try:
            arms = [np.asarray(rewards) for rewards in table]
        except (TypeError, ValueError):
            raise ValueError(f"table={table!r} is no table; allowed: {allowed}") from None
        if len(arms) < 2:
            raise ValueError(f"table={table!r} has {len(arms)} arms; allowed: {allowed}")
        sums: list[NDArray[np.int64]] = []
        for arm, rewards in enumerate(arms):
            numeric = rewards.dtype.kind in "biuf" or rewards.size == 0
            if rewards.ndim != 1 or not numeric or not np.isin(rewards, (0, 1)).all():
                raise ValueError(
                    f"table={table!r} has other rewards for arm {arm}; allowed: {allowed}"
                )
            sums.append(np.concatenate([[0], np.cumsum(rewards.astype(np.int64))]))
        self._sums = sums
        self._pulled = [0] * len(arms)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self._sums)

    def total(self, arm: int, size: int) -> int:
        """Return the sum of the next `size` entries of `arm`, which are used up by that.

        Parameters
        ----------
        arm : int
            The arm, from 0 to K − 1.
        size : int
            Number of rewards, at least 0.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If an argument is out of range, or the arm has fewer rewards left.
        """
        arm = check_integer("arm", arm, 0, self.n_arms - 1)
        size = check_integer("size", size, 0)
        first, last = self._pulled[arm], self._pulled[arm] + size
        if last >= self._sums[arm].size:
            raise ValueError(
                f"table[{arm}] has {self._sums[arm].size - 1} rewards, and {last} are asked for; "
                "allowed: max_pulls that the table can serve"
            )
        self._pulled[arm] = last
        return int(self._sums[arm][last] - self._sums[arm][first])
