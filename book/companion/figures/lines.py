"""What the figures of regret share: a table's lines by panel, bands, the part of time shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from companion.tables import records
from dpbandits._validation import check_choice
from dpbandits.plotting.style import Look

__all__ = ["band", "chosen_panels", "first_shown", "lines_of"]

LABELS = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")

_DECADES = 3.7  # of time, in a figure with logarithmic axes


def chosen_panels(titles: Mapping[str, str], panels: Sequence[str] | None) -> dict[str, str]:
    """Return the titles of the panels that are wanted.

    Raises
    ------
    ValueError
        If a panel is unknown.
    """
    for panel in panels or ():
        check_choice("panel", panel, tuple(titles))
    return {panel: title for panel, title in titles.items() if not panels or panel in panels}


def lines_of(
    table: pd.DataFrame, titles: Mapping[str, str], by: Sequence[str] = LABELS
) -> list[list[SimpleNamespace]]:
    """Return the lines of each panel: what is in `by` are values, other columns are arrays."""
    return [list(records(table, by, panel=panel)) for panel in titles]


def first_shown(horizon: float) -> float:
    """Return where curves over time begin, if the axis is logarithmic."""
    return float(max(100.0, horizon / 10**_DECADES))


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, look: Look) -> None:
    """Shade what the central 90 % of the runs hold."""
    axes.fill_between(x, low, high, color=look.colour, alpha=0.22, linewidth=0)
