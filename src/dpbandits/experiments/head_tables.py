"""Tables of the head-to-head experiments: regret in many settings, kept small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dpbandits.experiments.regret_cells import RegretCell, RegretLabels, RegretSetting
from dpbandits.experiments.regret_tables import Curve, RegretTable, Replicates
from dpbandits.experiments.tables import CappedTable, rounded
from dpbandits.simulation import Runs

if TYPE_CHECKING:
    from dpbandits.experiments.settings import Preset, Setting

__all__ = ["HeadTable"]


@dataclass(frozen=True)
class HeadTable(RegretTable, CappedTable):
    """Curves with few checkpoints, and runs without the ends of their epochs.

    Attributes
    ----------
    every : int
        Which checkpoints the file keeps, counted from the horizon: each `every`-th. 0 keeps the
        horizon alone.
    """

    RUNS: ClassVar[tuple[str, ...]] = ("run", "final_regret", "pulls")

    every: int = 3

    def about(self, preset: Preset, settings: Sequence[Setting]) -> dict[str, Any]:
        """Return the greatest horizon, how many runs were made, and how many are in the file."""
        horizons = [cast(RegretCell, setting.cell).horizon for setting in settings]
        return {"horizon": max(horizons), **CappedTable.about(self, preset, settings)}

    def replicates(self, pairs: Sequence[tuple[Setting, Any]]) -> tuple[Replicates, ...]:
        """Return the first runs of each setting at the horizon."""
        kept = self.runs_kept(len(pairs))
        return tuple(
            Replicates(
                cast(RegretSetting, setting).labels,
                runs.regret[:kept, -1],
                runs.pulls[:kept],
                (np.empty(0, dtype=np.int64),) * min(kept, runs.n_runs),
            )
            for setting, runs in pairs
        )

    def _curve(self, setting: RegretSetting, runs: Runs) -> Curve:
        whole = super()._curve(setting, runs)
        last = whole.times.size - 1
        keep = np.arange(last, -1, -self.every)[::-1] if self.every else np.array([last])
        names = ("times", "mean", "low90", "high90", "mean_low95", "mean_high95")
        return replace(whole, **{name: getattr(whole, name)[keep] for name in names})

    def run_rows(self, group: Replicates) -> Iterator[list[str]]:
        """Write runs; pulls of arms share a column, with spaces."""
        for i in range(group.n_runs):
            pulls = " ".join(map(str, group.pulls[i].tolist()))
            yield [str(i), rounded(group.regret[i]), pulls]

    def read_runs(self, labels: RegretLabels, rows: list[list[str]]) -> Replicates:
        """Read what `run_rows` wrote."""
        return Replicates(
            labels,
            np.array([float(row[1]) for row in rows]),
            np.array([[int(n) for n in row[2].split()] for row in rows], dtype=np.int64),
            (np.empty(0, dtype=np.int64),) * len(rows),
        )
