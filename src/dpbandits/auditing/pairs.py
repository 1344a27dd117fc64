"""Neighbouring tables of rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_integer, check_number
from dpbandits.rewards.sources import check_table

__all__ = ["TablePair"]


@dataclass(frozen=True, eq=False)
class TablePair:
    """Two tables of rewards that differ in one entry: neighbours at event level.

    Differential privacy compares an algorithm on two sequences of rewards that differ in one. For a
    bandit the rewards are a table, arm × number of the pull of that arm: the reward that the arm
    would give, whether or not the pull ever happens.

    Attributes
    ----------
    table : numpy.ndarray of float, shape (K, N)
        Rewards of each of K arms in the order of its pulls; stored as a read-only copy.
    arm : int
        Arm whose reward differs, 0-based.
    pull : int
        Pull that gives this reward, 0-based.
    value : float
        The neighbour's reward there: a finite number that differs from the table's.

    Raises
    ------
    ValueError
        If `table` is not a table, or the entry is not in it or does not change.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> pair = dpb.TablePair([[0, 0, 0], [1, 1, 1]], arm=0, pull=2, value=1)
    >>> pair.neighbour.tolist()
    [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """

    table: Floats
    arm: int
    pull: int
    value: float

    def __post_init__(self) -> None:
        table = check_table(self.table)
        table.flags.writeable = False
        arm = check_integer("arm", self.arm, 0, table.shape[0] - 1)
        pull = check_integer("pull", self.pull, 0, table.shape[1] - 1)
        value = check_number("value", self.value, "a finite number")
        if not np.isfinite(value):
            raise ValueError(f"value={self.value!r} is out of range; allowed: a finite number")
        if value == table[arm, pull]:
            raise ValueError(
                f"value={self.value!r} is already the table's entry; allowed: another number"
            )
        for name, checked in {"table": table, "arm": arm, "pull": pull, "value": value}.items():
            object.__setattr__(self, name, checked)

    @property
    def neighbour(self) -> Floats:
        """The other table, shape (K, N)."""
        other = self.table.copy()
        other[self.arm, self.pull] = self.value
        return other

    @property
    def turned(self) -> TablePair:
        """The same two tables, the neighbour first."""
        return TablePair(self.neighbour, self.arm, self.pull, self.table[self.arm, self.pull])

    def __str__(self) -> str:
        arms, pulls = self.table.shape
        before = self.table[self.arm, self.pull]
        return (
            f"{arms} × {pulls} rewards; number {self.pull + 1} of arm {self.arm} is {before:g} or "
            f"{self.value:g}"
        )
