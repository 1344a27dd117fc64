"""Head to head: how far the regret of single runs goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from companion.figures.comparison import look_of
from companion.figures.lines import LABELS, chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.plotting.style import PanelRange, finish_panels, make_panels, styled
from dpbandits.simulation import Runs

__all__ = ["tail_figure", "tail_table"]

_POINTS = 50
"""About how many runs of a case its table has, the greatest ones more densely."""


def tail_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `tail_figure`.

    Parameters
    ----------
    runs : mapping of tuple to Runs
        As `dpbandits.simulate_many` returns them; the parts of a key are panel, instance, number
        of arms, ε, algorithm and variant.

    Returns
    -------
    pandas.DataFrame
        These labels; a ``regret`` at the horizon; the ``share`` of runs with so much or more, and
        the ends ``low``, ``high`` of its 95 % interval (Clopper and Pearson).
    """

    def columns(found: Runs) -> dict[str, Any]:
        every, n_runs = np.sort(found.regret[:, -1]), found.n_runs
        above = np.unique(np.round(np.geomspace(1, n_runs, _POINTS)).astype(np.int64))[::-1]
        high = np.ones(above.size)
        high[1:] = stats.beta.isf(0.025, above[1:] + 1, n_runs - above[1:])
        low = stats.beta.ppf(0.025, above, n_runs - above + 1)
        regret = every[n_runs - above]  # so many runs have this regret or more
        return {"regret": regret, "share": above / n_runs, "low": low, "high": high}

    return tabulate(runs, columns, LABELS)


@redrawable
def tail_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw the share of runs whose regret at the horizon is r or more, with 95 % intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        As `tail_table` makes it.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = chosen_panels(titles, panels)
    by_panel = lines_of(table, titles)
    every = [line for lines in by_panel for line in lines]
    least = max(min(line.regret[0] for line in every), 1.0)
    most = max(line.regret[-1] for line in every)
    share = min(line.share[-1] for line in every)
    ranges = [PanelRange((float(least), float(most)), (float(share), 1.0), ())] * len(titles)
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


def _draw(axes: Axes, lines: Sequence[SimpleNamespace]) -> None:
    for line in lines:
        look = look_of(line.algorithm, line.variant)
        band: dict[str, Any] = {"step": "pre", "color": look.colour, "linewidth": 0}
        axes.fill_between(line.regret, line.low, line.high, alpha=0.18, **band)
        variant = f" with ${line.variant[0]}_{line.variant[-1]}$" if line.variant else ""
        axes.step(
            line.regret,
            line.share,
            where="pre",
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker or None,
            markevery=(3, 9),
            markersize=5.0,
            markerfacecolor="white",
            markeredgewidth=1.2,
            label=line.algorithm + variant,
        )
    axes.set(xscale="log", yscale="log")
