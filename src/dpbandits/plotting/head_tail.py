"""Head to head: how far the regret of single runs goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from dpbandits.plotting.head import look_of
from dpbandits.plotting.regret_lines import Line
from dpbandits.plotting.style import PanelRange, finish_panels, make_panels, styled

__all__ = ["head_tail_figure"]

_POINTS = 60
"""About how many runs of a curve are drawn, the greatest ones more densely."""


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    for line in lines:
        look = look_of(line)
        every = np.sort(line.runs.regret)
        n_runs = every.size
        above = np.unique(np.round(np.geomspace(1, n_runs, _POINTS)).astype(np.int64))[::-1]
        regret = every[n_runs - above]  # so many runs have this regret or more
        low = stats.beta.ppf(0.025, above, n_runs - above + 1)
        high = np.ones(above.size)
        high[1:] = stats.beta.isf(0.025, above[1:] + 1, n_runs - above[1:])
        band: dict[str, Any] = {"step": "pre", "color": look.colour, "linewidth": 0}
        axes.fill_between(regret, low, high, alpha=0.18, **band)
        name, variant = line.name
        axes.step(
            regret,
            above / n_runs,
            where="pre",
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker or None,
            markevery=(3, 9),
            markersize=5.0,
            markerfacecolor="white",
            markeredgewidth=1.2,
            label=f"{name} with ${variant[0]}_{variant[-1]}$" if variant else name,
        )
    axes.set(xscale="log", yscale="log")


def head_tail_figure(titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]]) -> Figure:
    """Draw the share of runs whose regret at the horizon is r or more, with 95 % intervals.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title.
    by_panel : sequence of sequence of Line
        The settings of each panel.

    Returns
    -------
    matplotlib.figure.Figure
    """
    regrets = [line.runs.regret for lines in by_panel for line in lines]
    least, most = max(min(map(np.min, regrets)), 1.0), max(map(np.max, regrets))
    share = min(1 / regret.size for regret in regrets)
    ranges = [PanelRange((float(least), float(most)), (share, 1.0), ())] * len(titles)
    with styled():
        figure, grid = make_panels(titles, foot=0.7, width=4.6, height=3.2)
        axes = list(grid.values())
        for a, lines in zip(axes, by_panel, strict=True):
            _draw(a, lines)
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="regret r at the horizon (units of reward)",
            y_label="share of runs with regret ≥ r",
        )
        names, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            names, labels, loc="lower center", ncols=3, frameon=False, fontsize=10.5, handlelength=3
        )
    return figure
