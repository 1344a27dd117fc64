"""The figure of the spread: best, worst and most of the runs at the horizon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dpbandits.plotting.readings import NAMES, with_looks
from dpbandits.plotting.regret_lines import Line
from dpbandits.plotting.style import INK, columns_of, make_panels, power_of_ten, styled

__all__ = ["spread_figure"]

_HEIGHT, _LEFT = 3.5, 1.65  # inches
_COLUMN = 0.24  # share of a panel's width that the numbers take


def spread_figure(titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]]) -> Figure:
    """Draw a row for each setting: its regret at the horizon, and how far its runs lie apart.

    A dot stands at the mean, a bar holds the central 90 % of the runs, and a line goes from the
    least to the greatest; their difference is the number at the right.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title.
    by_panel : sequence of sequence of Line
        The settings of each panel, the first at the top.

    Returns
    -------
    matplotlib.figure.Figure
    """
    regrets = [line.runs.regret for lines in by_panel for line in lines]
    low, high = min(map(np.min, regrets)), max(map(np.max, regrets))
    with styled():
        figure, grid = make_panels(titles, height=_HEIGHT, left=_LEFT)
        for place, (axes, lines) in enumerate(zip(grid.values(), by_panel, strict=True)):
            _rows(axes, lines)
            _limits(axes, max(float(low), 1.0), float(high))
            axes.tick_params(left=False, labelleft=place % columns_of(axes) == 0)
            is_lowest = place + columns_of(axes) >= len(titles)
            axes.tick_params(labelbottom=is_lowest)
            if is_lowest:
                horizon = lines[0].curve.horizon
                axes.set_xlabel(f"regret at T = {horizon:,} (units of reward)".replace(",", " "))
    return figure


def _rows(axes: Axes, lines: Sequence[Line]) -> None:
    for row, (line, look, _) in enumerate(with_looks(lines)):
        regret = line.runs.regret
        mean, low, high = line.final()
        ends = [regret.min(), regret.max()]
        axes.plot(ends, [row, row], color=look.colour, linewidth=1.3, marker="|", markersize=6)
        axes.plot([low, high], [row, row], color=look.colour, linewidth=5, alpha=0.55)
        axes.plot(
            [mean],
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
    axes.set_yticks(range(len(lines)), [NAMES[line.name] for line in lines])
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
