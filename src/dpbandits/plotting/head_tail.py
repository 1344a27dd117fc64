"""Head to head: how far the regret of single runs goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from dpbandits.plotting.head import HEAD_LOOKS
from dpbandits.plotting.regret_lines import Line
from dpbandits.plotting.style import End, PanelRange, finish_panels, make_panels, styled

__all__ = ["head_tail_figure"]


def _draw(axes: Axes, lines: Sequence[Line]) -> PanelRange:
    ends, reach = [], []
    for line in lines:
        look = HEAD_LOOKS[line.curve.algorithm]
        regret = np.sort(line.runs.regret)
        n_runs = regret.size
        above = np.arange(n_runs, 0, -1)  # runs with this regret or more
        low = stats.beta.ppf(0.025, above, n_runs - above + 1)
        high = stats.beta.isf(0.025, above + 1, np.maximum(n_runs - above, 1e-9))
        high[above == n_runs] = 1.0
        style = {"step": "pre", "color": look.colour, "linewidth": 0}
        axes.fill_between(regret, low, high, alpha=0.18, **style)
        axes.step(
            regret,
            above / n_runs,
            where="pre",
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker or None,
            markevery=0.12,
            markersize=5.0,
            markerfacecolor="white",
            markeredgewidth=1.2,
        )
        ends.append(End(float(regret[-1]), 1 / n_runs, line.curve.algorithm, look.colour))
        reach += [max(float(regret[0]), 1.0), float(regret[-1])]
    axes.set(xscale="log", yscale="log")
    least = min(1 / line.runs.regret.size for line in lines)
    return PanelRange((min(reach), max(reach)), (least, 1.0), tuple(ends))


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
    with styled():
        figure, grid = make_panels(titles, width=4.6, height=3.4)
        axes = list(grid.values())
        ranges = [_draw(a, lines) for a, lines in zip(axes, by_panel, strict=True)]
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="regret r at the horizon (units of reward)",
            y_label="share of runs with regret ≥ r",
        )
    return figure
