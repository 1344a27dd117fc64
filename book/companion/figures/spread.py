"""The figure of the spread: best, worst and most of the runs at the horizon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from companion.figures.baselines import LABELS, NAMES, Case, with_looks
from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.plotting.style import INK, columns_of, make_panels, power_of_ten, styled
from dpbandits.simulation import Runs

__all__ = ["spread_at_horizon", "spread_table"]

_HEIGHT, _LEFT = 3.5, 1.65  # inches
_COLUMN = 0.24  # share of a panel's width that the numbers take


def spread_table(runs: Mapping[Case, Runs]) -> pd.DataFrame:
    """Make the table that `spread_at_horizon` draws, a row per case.

    Parameters
    ----------
    runs : mapping of (panel, algorithm, variant) to Runs
        Replicates of each case.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``algorithm``, ``variant``, those of `Runs.final`, and ``least`` and
        ``greatest`` regret at the horizon.
    """

    def columns(result: Runs) -> dict[str, float]:
        final = result.regret[:, -1]
        return {**result.final(), "least": final.min(), "greatest": final.max()}

    return tabulate(runs, columns, LABELS)


@redrawable
def spread_at_horizon(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw a row for each case: its regret at the horizon, and how far its runs lie apart.

    A dot stands at the mean, a bar holds the central 90 % of the runs, and a line goes from the
    least to the greatest; their difference is the number at the right.

    Parameters
    ----------
    table : pandas.DataFrame
        As `spread_table` makes it; the first case of a panel stands at the top.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a panel is unknown.
    """
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles, LABELS)
    lines = [line for part in by_panel for line in part]
    low = min(line.least[0] for line in lines)
    high = max(line.greatest[0] for line in lines)
    with styled():
        figure, grid = make_panels(titles, height=_HEIGHT, left=_LEFT)
        for place, (axes, part) in enumerate(zip(grid.values(), by_panel, strict=True)):
            _rows(axes, part)
            _limits(axes, max(float(low), 1.0), float(high))
            axes.tick_params(left=False, labelleft=place % columns_of(axes) == 0)
            is_lowest = place + columns_of(axes) >= len(titles)
            axes.tick_params(labelbottom=is_lowest)
            if is_lowest:
                horizon = f"{part[0].time[0]:,}".replace(",", " ")
                axes.set_xlabel(f"regret at T = {horizon} (units of reward)")
    return figure


def _rows(axes: Axes, lines: Sequence[SimpleNamespace]) -> None:
    for row, (line, look, _) in enumerate(with_looks(lines)):
        ends = [line.least[0], line.greatest[0]]
        axes.plot(ends, [row, row], color=look.colour, linewidth=1.3, marker="|", markersize=6)
        axes.plot(
            [line.low[0], line.high[0]], [row, row], color=look.colour, linewidth=5, alpha=0.55
        )
        axes.plot(
            line.mean,
            [row],
            marker="o",
            markersize=5.5,
            markerfacecolor="white",
            markeredgecolor=look.colour,
            markeredgewidth=1.5,
        )
        axes.text(
            0.99,
            row,
            f"{ends[1] - ends[0]:,.0f}".replace(",", "\u2009"),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=10,
            color=INK,
        )
    axes.text(
        0.99,
        -1,
        "max − min",
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=10,
        color=INK,
    )
    axes.set_yticks(range(len(lines)), [NAMES[line.algorithm, line.variant] for line in lines])
    axes.set_ylim(len(lines) - 0.4, -1.6)
    axes.grid(visible=False, axis="y")


def _limits(axes: Axes, low: float, high: float) -> None:
    """Make the axis logarithmic, with room at its right for the numbers."""
    first, last = math.log10(low), math.log10(high)
    length = (last - first) / (1 - _COLUMN - 0.04)
    axes.set_xscale("log")
    axes.set_xlim(10 ** (first - 0.04 * length), 10 ** (last + _COLUMN * length))
    decades = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    axes.xaxis.set_major_locator(FixedLocator([10.0**k for k in decades]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(power_of_ten))
