"""Rewards that are fixed beforehand: tables, neighbouring tables, and runs that read them.

Differential privacy compares an algorithm on two sequences of rewards that differ in one. For a
bandit the rewards are a table, arm × number of the pull of that arm: what the arm would give,
whether or not the pull ever happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import check_integer, check_number
from dpbandits.guarantees import PrivacyGuarantee

__all__ = [
    "Auditable",
    "FixedRewards",
    "Outputs",
    "TablePair",
    "check_one_arm",
    "check_rewards",
    "check_table",
]

Floats = NDArray[np.float64]


def check_table(table: ArrayLike) -> Floats:
    """Return a table of rewards as an array of finite numbers, shape (K, N), K and N at least 1."""
    allowed = "a row of finite numbers for each arm, all of one length of at least 1"
    try:
        values = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"table={table!r} is not a table; allowed: {allowed}")
    return values


def check_rewards(table: Floats, whole: bool = False) -> None:
    """Refuse a table with rewards outside [0, 1], or, if `whole`, other than 0 and 1."""
    fine = np.isin(table, (0.0, 1.0)) if whole else (table >= 0.0) & (table <= 1.0)
    if not fine.all():
        allowed = "0 or 1" if whole else "from 0 to 1"
        raise ValueError(f"table has the reward {table[~fine][0]:g}; allowed: {allowed}")


def check_one_arm(table: Floats) -> None:
    """Refuse a table of several arms where a stream is meant."""
    if len(table) != 1:
        raise ValueError(f"table has {len(table)} arms; allowed: 1, as a stream is read")


class Outputs(NamedTuple):
    """What runs put out, one row for each run.

    Attributes
    ----------
    values : numpy.ndarray of float, shape (n_runs, v)
        Numbers: halting time, released values, recommendation; nan for what was not released.
    actions : numpy.ndarray of float, shape (n_runs, m)
        Arms pulled, in order; −1 behind the last.
    """

    values: Floats
    actions: Floats


class Auditable(Protocol):
    """What can be audited: something that can be run many times on a table of rewards."""

    @property
    def label(self) -> str:
        """Name of it in tables."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about its whole output."""

    def outputs(self, table: Floats, n_runs: int, rng: np.random.Generator) -> Outputs:
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


class FixedRewards:
    """A table that a run reads: the n-th pull of an arm gives its n-th entry.

    It is what an algorithm under audit is handed in place of a bandit, in whichever way it asks:
    one reward at a time (`pull`), the sum of the next ones (`total`), or sums of several arms
    (`sample_sum`, in place of a `BernoulliInstance`). What was pulled is in `actions`.

    Parameters
    ----------
    table : array_like of float, shape (K, N)
        Rewards.

    Raises
    ------
    ValueError
        If `table` is no table; later, if an arm is pulled more often than it has rewards.

    Examples
    --------
    >>> rewards = FixedRewards([[1, 0, 1], [0, 0, 1]])
    >>> rewards.pull(0), rewards.total(0, 2), rewards.pull(1)
    (1.0, 1.0, 0.0)
    >>> rewards.actions
    [0, 0, 0, 1]
    """

    def __init__(self, table: ArrayLike) -> None:
        self._table = check_table(table)
        arms, pulls = self._table.shape
        self._sums = np.zeros((arms, pulls + 1))
        np.cumsum(self._table, axis=1, out=self._sums[:, 1:])
        self.restart()

    def restart(self) -> None:
        """Begin a new run."""
        self._pulled = [0] * self._table.shape[0]
        self._log: list[tuple[int, int]] = []

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return self._table.shape[0]

    @property
    def n_pulls(self) -> int:
        """Number N of rewards of each arm."""
        return self._table.shape[1]

    @property
    def actions(self) -> list[int]:
        """Arms pulled so far, in order; a batch counts pull by pull."""
        return [arm for arm, size in self._log for _ in range(size)]

    @property
    def batches(self) -> list[int]:
        """Arms in the order in which their rewards were looked at; a batch counts once."""
        return [arm for arm, _ in self._log]

    def pull(self, arm: int) -> float:
        """Return the next reward of `arm` (0-based)."""
        done = self._take(arm, 1)
        return float(self._table[arm, done])

    def total(self, arm: int, size: int) -> float:
        """Return the sum of the next `size` rewards of `arm`."""
        done = self._take(arm, size)
        return float(self._sums[arm, done + size] - self._sums[arm, done])

    def sample_sum(self, rng: Any, arms: NDArray[np.intp], size: int) -> Floats:
        """Return, for each arm in `arms`, the sum of its next `size` rewards; `rng` is not used."""
        return np.array([self.total(int(arm), int(size)) for arm in arms])

    def _take(self, arm: int, size: int) -> int:
        arms, pulls = self._table.shape
        done = self._pulled[arm] if 0 <= arm < arms else pulls
        if size < 0 or done + size > pulls:
            raise ValueError(
                f"arm={arm!r} is asked for more rewards than its {pulls}; allowed: 0 to "
                f"{arms - 1}, and no more pulls than the table has entries"
            )
        self._pulled[arm] = done + size
        self._log.append((arm, size))
        return done
