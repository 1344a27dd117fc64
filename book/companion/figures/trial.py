"""Trials on a finite population: what was decided, and at what price."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.figures.panels import (
    Lines,
    Titles,
    draw_panels,
    legend_below,
    lines_shown,
    marked,
    plain,
)
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits._validation import check_choice
from dpbandits.identification.replicates import Trials
from dpbandits.plotting.style import FREE, PanelRange, look_of

LABELS = ("panel", "population", "n_arms", "total", "epsilon", "delta", "algorithm")

_X_LABELS = {"epsilon": "privacy budget ε", "total": "patients in the population"}
_Y_LABELS = {
    "right": "share of trials that find the best arm",
    "patients": "patients of a trial",
    "inferior": "patients that did not get the best arm",
    "excess": "failures that the best arm would have avoided",
}
_APART = 1.045  # factor between the markers of two algorithms


def trial_table(trials: Mapping[tuple[Any, ...], Trials]) -> pd.DataFrame:
    """Make a table of trials, a row per case; the first part of each key is the panel.

    Columns are ``panel``, ``population``, ``n_arms``, ``total`` (patients of all arms together),
    ``epsilon`` (``inf`` without privacy), ``delta``, ``algorithm`` and those of `Trials.summary`.
    """
    labelled = {}
    for (panel, *_), found in trials.items():
        algorithm, population = found.algorithm, found.population
        epsilon = float(getattr(algorithm, "epsilon", math.inf))
        labels = population.name, population.n_arms, population.total, epsilon, algorithm.delta
        labelled[panel, *labels, algorithm.label] = found
    return tabulate(labelled, names=LABELS)


@redrawable
def trial_figure(
    table: pd.DataFrame,
    *,
    over: str,
    titles: Titles,
    values: str = "right",
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw trials: a marker with its 95 % interval for each case.

    Markers of different algorithms stand a little apart. An algorithm without privacy has no place
    on an axis of ε, and is a horizontal band. The table is made by `trial_table`.

    Parameters
    ----------
    over : {"epsilon", "total"}
        What the horizontal axis shows: the budget, or the patients in the population.
    values : {"right", "patients", "inferior", "excess"}
        Share of the trials that find the best arm; or the mean number of patients, of those that
        did not get the best arm, or of the failures that the best arm would have avoided.
    """
    check_choice("over", over, tuple(_X_LABELS))
    check_choice("values", values, tuple(_Y_LABELS))
    by = ("panel", "algorithm")
    every = lines_shown(table, titles, panels, by)
    names = list(dict.fromkeys(line.algorithm for line in every))

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        return _trials(axes, lines, names, over, values)

    labels, log = (_X_LABELS[over], _Y_LABELS[values]), "x" if values == "right" else "xy"
    options: dict[str, Any] = {"by": by, "log": log, "foot": 0.62, "size": (4.4, 2.9)}
    figure = draw_panels(table, titles, panels, draw, labels, **options)
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    legend_below(figure, handles.values(), ncols=3, handlelength=2.6)
    return figure


def _trials(axes: Axes, lines: Lines, names: Sequence[str], over: str, values: str) -> PanelRange:
    """Draw one panel; return what it must show."""
    finite = [float(x) for line in lines for x in getattr(line, over) if math.isfinite(x)]
    least, most = min(finite), max(finite)
    is_share = values == "right"
    columns = (over, "right_rate" if is_share else values, f"{values}_low95", f"{values}_high95")
    shown: list[float] = []
    for line in lines:
        i = names.index(line.algorithm)
        look = look_of(line.algorithm.rstrip("*"), "", i)
        order = getattr(line, over).argsort(kind="stable")
        x, y, low, high = (getattr(line, name)[order] for name in columns)
        label = line.algorithm + ("" if math.isfinite(line.epsilon[0]) else FREE)
        if math.isinf(x[0]):
            ends = [least / 1.3, most * 1.3]
            axes.fill_between(ends, low[0], high[0], color=look.colour, alpha=0.15, linewidth=0)
            plain(axes, ends, [y[0], y[0]], look, label=label)
        else:
            x = x * _APART ** (i - (len(names) - 1) / 2)
            axes.vlines(x, low, high, color=look.colour, linewidth=1.6)
            style = {"linewidth": look.width * 0.7, "markersize": 5.0, "markeredgewidth": 1.3}
            marked(axes, x, y, look, label=label, **style)
        shown += [float(v) for v in (*y, *low, *high) if math.isfinite(v)]
    heights = (0.0, 1.0) if is_share else (max(min(shown), 1e-3), max(shown))
    return PanelRange((least / 1.3, most * 1.3), heights, ())
