"""Head to head: looks and codes of all algorithms, and their regret over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from companion.figures.lines import LABELS, chosen_panels, first_shown, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.simulation import Runs

__all__ = ["CODES", "HEAD_LOOKS", "look_of", "race_figure", "race_table"]

_LONG, _DOTS, _CHAIN = (0, (9, 2)), (0, (1.2, 0.9)), (0, (6, 1.2, 1.2, 1.2))

HEAD_LOOKS: dict[str, Look] = {
    "UCB": Look(COLOURS["black"], "-", "", 1.5),
    "SE": Look(COLOURS["black"], DOTTED, "", 1.5),
    "DP-UCB": Look(COLOURS["vermilion"], DASHED, "", 2.0),
    "DP-UCB-HYBRID": Look(COLOURS["sky"], _LONG, "", 2.2),
    "DP-UCB-BOUND": Look(COLOURS["purple"], (0, (2.4, 1)), "", 2.2),
    "DP-UCB-INT": Look(COLOURS["green"], _CHAIN, "", 1.3),
    "DP-SE": Look(COLOURS["blue"], _DOTS, "", 2.6),
    "Lazy-UCB": Look(COLOURS["orange"], "-", "o", 1.4),
    "AdaP-UCB": Look(COLOURS["vermilion"], "-", "s", 1.4),
    "AdaP-KLUCB": Look(COLOURS["purple"], "-", "^", 1.4),
    "Lazy-DP-TS": Look(COLOURS["sky"], "-", "D", 1.4),
    "DP-KLUCB": Look(COLOURS["green"], "-", "v", 1.4),
    "DP-IMED": Look(COLOURS["blue"], "-", "P", 1.4),
    "DP-IMED, d_ε": Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "X", 1.4),
}
"""Algorithm, or with a variant that has a look → its own colour, line and marker together."""

CODES = {
    "DP-UCB": "TU",
    "DP-UCB-HYBRID": "HY",
    "DP-UCB-BOUND": "BO",
    "DP-SE": "SE",
    "Lazy-UCB": "LU",
    "AdaP-UCB": "AU",
    "AdaP-KLUCB": "AK",
    "Lazy-DP-TS": "TS",
    "DP-KLUCB": "KL",
    "DP-IMED": "IM",
    "DP-TT": "TT",
    "AdaP-TT": "AT",
    "AdaP-TT*": "A*",
    "DP-LRE": "LR",
}
"""Private algorithm → what a map calls it."""

_NAMES = {"DP-UCB-HYBRID": "HYBRID", "DP-UCB-BOUND": "BOUND", "DP-UCB-INT": "INT"}


def look_of(algorithm: str, variant: str = "") -> Look:
    """Return the look of a curve, a thin grey one if the algorithm has none."""
    plain = HEAD_LOOKS.get(algorithm, Look("0.5", (0, (3, 1, 1, 1)), "", 1.2))
    return HEAD_LOOKS.get(f"{algorithm}, {variant}", plain)


def race_table(runs: Mapping[Any, Runs]) -> pd.DataFrame:
    """Make the table of `race_figure`.

    Parameters
    ----------
    runs : mapping of tuple to Runs
        Two runs or more of each case, as `dpbandits.simulate_many` returns them; the parts of a key
        are panel, instance, number of arms, ε, algorithm and variant.

    Returns
    -------
    pandas.DataFrame
        These labels, ``n_runs``, ``time`` from where the figure begins, ``mean``, its standard
        ``error``, and the ends ``low``, ``high`` of the central 90 % of the runs. Numbers have five
        significant digits.
    """

    def columns(found: Runs) -> dict[str, Any]:
        error = found.regret.std(axis=0, ddof=1) / math.sqrt(found.n_runs)
        values = {**found.summary(), "error": error}
        shown = values["time"] >= first_shown(found.horizon)
        values = {name: column[shown] for name, column in values.items()}
        times = values.pop("time")
        short = {
            name: [float(f"{x:.5g}") for x in values[name]]
            for name in ("mean", "error", "low", "high")
        }
        return {"n_runs": found.n_runs, "time": times, **short}

    return tabulate(runs, columns, LABELS)


@redrawable
def race_figure(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw mean regret over time, each mean with its 95 % interval.

    Parameters
    ----------
    table : pandas.DataFrame
        As `race_table` makes it.
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
    with styled():
        figure, grid = make_panels(titles, width=4.9, height=3.7)
        axes = list(grid.values())
        ranges = [_draw(a, lines) for a, lines in zip(axes, by_panel, strict=True)]
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="number of pulls t",
            y_label="mean regret (units of reward)",
        )
    return figure


def _label(line: SimpleNamespace) -> str:
    """Write the name of a curve; one that is not private, or in a weaker sense, says so."""
    text = _NAMES.get(line.algorithm, line.algorithm)
    if line.variant:
        return f"{text}, {line.variant}"
    return text if math.isfinite(line.epsilon) else f"{text}, no privacy"


def _draw(axes: Axes, lines: Sequence[SimpleNamespace]) -> PanelRange:
    ends, heights = [], []
    for line in lines:
        look, mean = look_of(line.algorithm, line.variant), line.mean
        width = stats.t.ppf(0.975, line.n_runs - 1) * line.error
        low = np.maximum(mean - width, mean / 100)  # few runs may reach below 0
        alpha = 0.25 if look.width > 1.3 else 0.07  # what is not ranked stays behind
        band: dict[str, Any] = {"color": look.colour, "alpha": alpha, "linewidth": 0}
        axes.fill_between(line.time, low, mean + width, **band)
        axes.plot(
            line.time,
            mean,
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker or None,
            markevery=(2, 5),
            markersize=5.0,
            markerfacecolor="white",
            markeredgewidth=1.2,
        )
        heights += [float(mean[mean > 0].min(initial=mean[-1])), float(mean[-1])]
        ends.append(End(float(line.time[-1]), float(mean[-1]), _label(line), look.colour))
    axes.set(xscale="log", yscale="log")
    horizon = max(line.time[-1] for line in lines)
    return PanelRange((first_shown(horizon), horizon), (min(heights), max(heights)), tuple(ends))
