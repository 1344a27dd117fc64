"""Rewards that are fixed beforehand: tables, neighbouring tables, and runs that read them.

Differential privacy compares an algorithm on two sequences of rewards that differ in one. For a
bandit the rewards are a table, arm × number of the pull of that arm: what the arm would give,
whether or not the pull ever happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer, check_number
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.rewards.streams import FixedRewards, check_table

__all__ = ["Auditable", "FixedRewards", "Outputs", "TablePair", "check_one_arm", "check_rewards"]


def check_rewards(table: Floats) -> None:
    """Refuse a table with rewards outside [0, 1]."""
    fine = (table >= 0.0) & (table <= 1.0)
    if not fine.all():
        raise ValueError(f"table has the reward {table[~fine][0]:g}; allowed: from 0 to 1")


def check_one_arm(table: Floats) -> None:
    """Refuse a table of several arms where a stream is meant."""
    if len(table) != 1:
        raise ValueError(f"table has {len(table)} arms; allowed: 1, as a stream is read")


class Outputs(NamedTuple):
    """What runs put out, one row for each run."""

    values: Floats
    """Numbers: halting time, released values, recommendation; nan for what was not released."""
    actions: Floats
    """Arms pulled, in order; −1 behind the last."""


class Auditable(Protocol):
    """What can be audited: something that can be run many times on a table of rewards."""

    @property
    def label(self) -> str:
        """Name of it in tables."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about its whole output."""

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Return the outputs of independent runs on one table, of shape (K, N)."""


@dataclass(frozen=True, eq=False)
class TablePair:
    """Two tables of rewards that differ in one entry: neighbours at event level.

    Attributes
    ----------
    table : numpy.ndarray of float, shape (K, N)
        Rewards of each arm in the order of its pulls.
    arm, pull : int
        Arm whose reward differs and which of its pulls, both 0-based.
    value : float
        What the neighbour has there: a finite number, and another one.

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
                f"value={self.value!r} is what the table has there; allowed: another number"
            )
        fields = {"table": table, "arm": arm, "pull": pull, "value": value}
        for name, checked in fields.items():
            object.__setattr__(self, name, checked)

    @property
    def neighbour(self) -> Floats:
        """The other table, shape (K, N)."""
        other = self.table.copy()
        other[self.arm, self.pull] = self.value
        return other

    @property
    def change(self) -> float:
        """Difference between the neighbour's entry and the table's."""
        return float(self.value - self.table[self.arm, self.pull])

    def __str__(self) -> str:
        arms, pulls = self.table.shape
        before = self.table[self.arm, self.pull]
        return (
            f"{arms} × {pulls} rewards; number {self.pull + 1} of arm {self.arm} is {before:g} or "
            f"{self.value:g}"
        )
