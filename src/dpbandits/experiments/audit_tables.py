"""Tables of audits: what each came to, and each audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits.experiments.audit_cells import AuditLabels, AuditSetting
from dpbandits.experiments.tables import ROUNDING, CappedTable, Group, Labels, Summary, rounded

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Setting

__all__ = ["AuditReplicates", "AuditSummary", "AuditTable"]

_NUMBERS = ("accounted", "ceiling", "epsilon_lower", "epsilon_least", "epsilon_most")
_COUNTS = ("hits", "runs", "neighbour_hits", "neighbour_runs", "arm", "pull")


@dataclass(frozen=True)
class AuditSummary(Summary):
    """Audits of one setting.

    Attributes
    ----------
    panel, target, variant, epsilon, model, declared, delta, method, n_pulls, audit_runs
        The setting.
    n_runs : int
        Number of audits.
    accounted : float
        The ε that accounting allows on such tables; for a `KnownLoss`, the truth.
    ceiling : float
        The greatest bound that so many runs can give.
    epsilon_lower : float
        Median of the audits' lower bounds on ε.
    epsilon_least, epsilon_most : float
        The least and the greatest of them.
    """

    panel: str
    target: str
    variant: str
    epsilon: float
    model: str
    declared: float
    delta: float
    method: str
    n_pulls: int
    audit_runs: int
    n_runs: int
    accounted: float
    ceiling: float
    epsilon_lower: float
    epsilon_least: float
    epsilon_most: float

    @property
    def labels(self) -> AuditLabels:
        """The setting, as the tables' first columns."""
        return AuditLabels(*(getattr(self, name) for name in AuditLabels._fields))

    @property
    def verdict(self) -> str:
        """One of "convicted", "acquitted" and, where nothing is declared, "nothing declared"."""
        if not np.isfinite(self.declared):
            return "nothing declared"
        slack = 0.0 if self.method == "runs" else ROUNDING
        return "convicted" if self.epsilon_most > self.declared * (1 + slack) else "acquitted"

    def same_as(self, other: AuditSummary) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""
        mine, others = ([getattr(s, name) for name in _NUMBERS] for s in (self, other))
        return (self.labels, self.n_runs) == (other.labels, other.n_runs) and np.allclose(
            mine, others, rtol=ROUNDING, atol=0.0, equal_nan=True
        )


@dataclass(frozen=True)
class AuditReplicates(Group):
    """The audits of a setting.

    Attributes
    ----------
    labels : AuditLabels
        The setting, as the tables' first columns.
    epsilon_lower : numpy.ndarray of float, shape (n_runs,)
        Lower bounds on ε.
    counts : numpy.ndarray of int, shape (n_runs, 6)
        For each audit: how many of how many runs were in the event, the same on the neighbour, and
        arm and number of the reward that differs. Zeros where there were no runs.
    table : numpy.ndarray of str, shape (n_runs,)
        Tables of zeros and ones, a word an arm; empty where they have other entries.
    """

    labels: AuditLabels
    epsilon_lower: NDArray[np.float64]
    counts: NDArray[np.int64]
    table: NDArray[np.str_]

    @property
    def n_runs(self) -> int:
        """Number of audits."""
        return self.epsilon_lower.size

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> AuditReplicates:
        """Return some of the audits."""
        return replace(
            self,
            epsilon_lower=self.epsilon_lower[rows],
            counts=self.counts[rows],
            table=self.table[rows],
        )

    def same_as(self, other: AuditReplicates) -> bool:
        """Tell whether the audits are the same, the bounds to 7 digits."""
        return (
            [*map(rounded, self.epsilon_lower)] == [*map(rounded, other.epsilon_lower)]
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.table, other.table)
        )

    def headline(self) -> list[NDArray[np.float64]]:
        """Return the bounds, to 7 digits as in the file; a number for those that are infinite."""
        return [np.array([min(float(rounded(x)), 1e300) for x in self.epsilon_lower])]


@dataclass(frozen=True)
class AuditTable(CappedTable):
    """How the data of audits is made, written and read."""

    kind: ClassVar[str] = "audit"
    CALLED: ClassVar[str] = "bounds"
    LABELS: ClassVar[type[Labels]] = AuditLabels
    SUMMARY: ClassVar[tuple[str, ...]] = ("n_runs", *_NUMBERS)
    RUNS: ClassVar[tuple[str, ...]] = ("run", "epsilon_lower", *_COUNTS, "table")

    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[AuditSummary, ...]:
        """Return what the audits of each setting came to."""
        return tuple(_summary(cast(AuditSetting, setting), found) for setting, found in pairs)

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[AuditReplicates, ...]:
        """Return the audits of each setting, as many as the file holds."""
        kept = self.runs_kept(len(pairs))
        return tuple(
            _group(cast(AuditSetting, setting).labels, found).take(np.arange(kept)[: _size(found)])
            for setting, found in pairs
        )

    def summary_rows(self, summary: AuditSummary) -> Iterator[list[str]]:
        """Write a summary: one row."""
        yield [str(summary.n_runs), *(rounded(getattr(summary, name)) for name in _NUMBERS)]

    def read_summary(self, labels: AuditLabels, rows: list[list[str]]) -> AuditSummary:
        """Read what `summary_rows` wrote."""
        ((n_runs, *numbers),) = rows
        return AuditSummary(*labels, int(n_runs), *map(float, numbers))

    def run_rows(self, group: AuditReplicates) -> Iterator[list[str]]:
        """Write audits, a row each."""
        rows = zip(group.epsilon_lower.tolist(), group.counts, group.table, strict=True)
        for i, (bound, counts, table) in enumerate(rows):
            yield [str(i), rounded(bound), *map(str, counts.tolist()), str(table)]

    def read_runs(self, labels: AuditLabels, rows: list[list[str]]) -> AuditReplicates:
        """Read what `run_rows` wrote."""
        return AuditReplicates(
            labels,
            np.array([float(row[1]) for row in rows]),
            np.array([[int(x) for x in row[2:-1]] for row in rows], dtype=np.int64),
            np.array([row[-1] for row in rows], dtype=np.str_),
        )


def _size(found: Mapping[str, NDArray[Any]]) -> int:
    return len(found["epsilon_lower"])


def _group(labels: AuditLabels, found: Mapping[str, NDArray[Any]]) -> AuditReplicates:
    counts = np.stack([found[name] for name in _COUNTS], axis=1)
    return AuditReplicates(labels, found["epsilon_lower"], counts, found["table"])


def _summary(setting: AuditSetting, found: Mapping[str, NDArray[Any]]) -> AuditSummary:
    bounds = found["epsilon_lower"]
    numbers = float(np.median(bounds)), float(bounds.min()), float(bounds.max())
    accounted = float(found["accounted"][0])
    return AuditSummary(*setting.labels, _size(found), accounted, setting.cell.ceiling, *numbers)
