"""Results as tables: what every kind of table has, to text and back."""

from __future__ import annotations

import abc
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Preset, Setting

__all__ = ["CappedTable", "Group", "Labels", "Summary", "Table", "rounded"]

Labels = tuple[Any, ...]
"""A setting, as the first columns of its rows name it: a named tuple with a text of its own."""

ROUNDING = 2e-6
"""Relative distance within which two numbers count as one: files have 7 digits."""


def rounded(value: float) -> str:
    """Write a number as the files have it, with 7 significant digits."""
    return f"{value:.7g}"


class Summary(abc.ABC):
    """What the runs of one setting come to: the rows of the setting in ``ID.csv``."""

    @property
    @abc.abstractmethod
    def labels(self) -> Labels:
        """The setting."""

    @abc.abstractmethod
    def same_as(self, other: Self) -> bool:
        """Tell whether another summary has the same numbers, up to the rounding of the file."""


class Group(abc.ABC):
    """The replicates of one setting: a row each in ``ID.runs.csv``.

    A subclass is a dataclass, with `labels` as a field.
    """

    labels: Labels
    """The setting."""

    @property
    @abc.abstractmethod
    def n_runs(self) -> int:
        """Number of replicates."""

    @abc.abstractmethod
    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return some of the replicates."""

    @abc.abstractmethod
    def same_as(self, other: Self) -> bool:
        """Tell whether another group has the same replicates, as far as the file has them."""

    @abc.abstractmethod
    def headline(self) -> list[NDArray[np.float64]]:
        """Return what a spot check compares in law, a value a replicate."""

    def columns(self) -> list[NDArray[np.float64]]:
        """Return everything that can be compared in law, a value a replicate."""
        return self.headline()


class Table(abc.ABC):
    """How the data of one kind of experiment is made, written and read.

    A subclass is a frozen dataclass; its fields are options that change what the files hold.
    """

    kind: ClassVar[str]
    """Name of the kind of experiment, by which its figure is found."""
    CALLED: ClassVar[str] = "summary"
    """What a link to ``ID.csv`` says."""
    LABELS: ClassVar[type[Labels]]
    """The first columns of both files."""
    SUMMARY: ClassVar[tuple[str, ...]]
    """The other columns of ``ID.csv``."""
    RUNS: ClassVar[tuple[str, ...]]
    """The other columns of ``ID.runs.csv``."""

    @abc.abstractmethod
    def summaries(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[Any, ...]:
        """Return the `Summary` of each setting of an experiment, from setting and result."""

    @abc.abstractmethod
    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[Any, ...]:
        """Return the `Group` of each setting of an experiment, from setting and result."""

    @abc.abstractmethod
    def about(self, preset: Preset, settings: Sequence[Setting]) -> dict[str, Any]:
        """Return what the manifest says of this kind of data."""

    @abc.abstractmethod
    def summary_rows(self, summary: Any) -> Iterable[list[str]]:
        """Write a summary, without its labels."""

    @abc.abstractmethod
    def read_summary(self, labels: Any, rows: list[list[str]]) -> Any:
        """Read what `summary_rows` wrote."""

    @abc.abstractmethod
    def run_rows(self, group: Any) -> Iterable[list[str]]:
        """Write replicates, without their labels."""

    @abc.abstractmethod
    def read_runs(self, labels: Any, rows: list[list[str]]) -> Any:
        """Read what `run_rows` wrote."""

    def summaries_to_text(self, summaries: Iterable[Any]) -> str:
        """Write ``ID.csv``."""
        return self._to_text(self.SUMMARY, ((s.labels, self.summary_rows(s)) for s in summaries))

    def summaries_from_text(self, text: str) -> tuple[Any, ...]:
        """Read ``ID.csv``."""
        groups = self._from_text(self.SUMMARY, text)
        return tuple(self.read_summary(labels, rows) for labels, rows in groups)

    def replicates_to_text(self, groups: Iterable[Any]) -> str:
        """Write ``ID.runs.csv``."""
        return self._to_text(self.RUNS, ((group.labels, self.run_rows(group)) for group in groups))

    def replicates_from_text(self, text: str) -> tuple[Any, ...]:
        """Read ``ID.runs.csv``."""
        groups = self._from_text(self.RUNS, text)
        return tuple(self.read_runs(labels, rows) for labels, rows in groups)

    def _label_columns(self) -> dict[str, type]:
        return get_type_hints(self.LABELS)

    def _to_text(
        self, columns: tuple[str, ...], groups: Iterable[tuple[Labels, Iterable[list[str]]]]
    ) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*self._label_columns(), *columns])
        for labels, rows in groups:
            first = [rounded(x) if isinstance(x, float) else str(x) for x in labels]
            writer.writerows([*first, *row] for row in rows)
        return buffer.getvalue()

    def _from_text(
        self, columns: tuple[str, ...], text: str
    ) -> Iterator[tuple[Labels, list[list[str]]]]:
        """Yield the rows of each setting, without their first columns."""
        kinds = self._label_columns()
        expected = [*kinds, *columns]
        table = csv.reader(io.StringIO(text))
        header = next(table, [])
        if header != expected:
            raise ValueError(f"header={header!r} is not that of the table; allowed: {expected}")
        width = len(kinds)
        for key, rows in groupby(table, key=lambda row: row[:width]):
            values = (kind(value) for kind, value in zip(kinds.values(), key, strict=True))
            yield self.LABELS(*values), [row[width:] for row in rows]


@dataclass(frozen=True)
class CappedTable(Table):
    """A table of experiments that may have more runs than a file should hold.

    Attributes
    ----------
    max_rows : int
        About how many runs ``ID.runs.csv`` may hold: where an experiment has more, the file has
        the first runs of each setting, the same number of each. ``ID.csv`` is made of all runs.
    """

    max_rows: int = 16_000

    def runs_kept(self, n_settings: int) -> int:
        """Return how many runs of each setting the file holds at most."""
        return max(self.max_rows // n_settings, 1)

    def about(self, preset: Preset, settings: Sequence[Setting]) -> dict[str, Any]:
        """Return how many runs were made of each setting, and how many of them are in the file."""
        made = [setting.cell.n_runs for setting in settings]
        kept, fewest, most = self.runs_kept(len(made)), min(made), max(made)
        of = f"{most}" if fewest == most else f"{fewest} to {most}"
        held = f"the first {kept} of each setting, of {of}" if most > kept else "all"
        return {"n_runs": most, "runs": held}
