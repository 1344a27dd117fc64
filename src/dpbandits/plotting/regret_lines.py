"""What the figures of regret share: settings ready to draw, bands, the part of time shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dpbandits._validation import check_choice
from dpbandits.experiments import (
    Curve,
    Data,
    Experiment,
    RegretCell,
    Replicates,
    Results,
    rows_of,
)
from dpbandits.plotting.style import Look

__all__ = ["Line", "band", "first_shown", "lines_of"]

_DECADES = 3.7  # of time, in a figure with logarithmic axes


@dataclass(frozen=True)
class Line:
    """A setting, ready to draw.

    Attributes
    ----------
    curve : Curve
        Its regret over time.
    runs : Replicates
        Its runs at the horizon.
    cell : RegretCell
        What was simulated.
    """

    curve: Curve
    runs: Replicates
    cell: RegretCell

    @property
    def name(self) -> tuple[str, str]:
        """Algorithm and variant."""
        return self.curve.algorithm, self.curve.variant

    def final(self) -> tuple[float, float, float]:
        """Return the regret at the horizon: mean, and ends of the band of 90 % of the runs."""
        low, high = np.quantile(self.runs.regret, [0.05, 0.95])
        return float(self.runs.regret.mean()), float(low), float(high)


def lines_of(
    source: Results | Data | str, panels: Sequence[str] | None = None
) -> tuple[Experiment, dict[str, str], list[list[Line]]]:
    """Return the experiment, and title and lines of each panel that is wanted.

    Raises
    ------
    ValueError
        If the experiment is not on regret, or a panel unknown.
    """
    experiment, rows = rows_of(source)
    if experiment.table.kind != "regret":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "regret; dpbandits.plotting.draw draws any"
        )
    for panel in panels or ():
        check_choice("panel", panel, tuple(experiment.panels))
    titles = {p: t for p, t in experiment.panels.items() if not panels or p in panels}
    lines = [Line(row.summary, row.replicates, row.setting.cell) for row in rows]
    by_panel = [[line for line in lines if line.curve.panel == panel] for panel in titles]
    return experiment, titles, by_panel


def first_shown(horizon: float) -> float:
    """Return where curves over time begin, if the axis is logarithmic."""
    return max(100.0, horizon / 10**_DECADES)


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, look: Look) -> None:
    """Shade what the central 90 % of the runs hold."""
    axes.fill_between(x, low, high, color=look.colour, alpha=0.22, linewidth=0)
