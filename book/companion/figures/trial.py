"""The figures of trials on a finite population: what was decided, and at what price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.figures.lines import chosen_panels, lines_of
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits._validation import check_choice
from dpbandits.identification.trials import Trials
from dpbandits.plotting.identification_looks import FREE, look_of
from dpbandits.plotting.style import PanelRange, finish_panels, make_panels, styled

__all__ = ["trial_figure", "trial_table"]

LABELS = ("panel", "population", "n_arms", "total", "epsilon", "delta", "algorithm")

_X_LABELS = {"epsilon": "privacy budget ε", "total": "patients in the population"}
_APART = 1.045  # factor between the markers of two algorithms


class _Value(NamedTuple):
    """What can be drawn of a setting: label, names of value and ends, whether it is a share."""

    label: str
    names: tuple[str, str, str]
    is_share: bool


_VALUES = {
    "right": _Value(
        "share of trials that find the best arm",
        ("right_rate", "right_low95", "right_high95"),
        True,
    ),
    "patients": _Value(
        "patients of a trial", ("patients", "patients_low95", "patients_high95"), False
    ),
    "inferior": _Value(
        "patients that did not get the best arm",
        ("inferior", "inferior_low95", "inferior_high95"),
        False,
    ),
    "excess": _Value(
        "failures that the best arm would have avoided",
        ("excess", "excess_low95", "excess_high95"),
        False,
    ),
}


def trial_table(trials: Mapping[tuple[Any, ...], Trials]) -> pd.DataFrame:
    """Make a table of trials, a row per case.

    Parameters
    ----------
    trials : mapping of tuple to Trials
        As `dpbandits.identification.simulate_trials_many` returns it; the first part of each key
        is the panel.

    Returns
    -------
    pandas.DataFrame
        Columns ``panel``, ``population``, ``n_arms``, ``total`` (patients of all arms together),
        ``epsilon`` (``inf`` without privacy), ``delta``, ``algorithm`` and those of
        `Trials.summary`.
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
    titles: Mapping[str, str],
    values: str = "right",
    panels: Sequence[str] | None = None,
) -> Figure:
    """Draw trials: a marker with its 95 % interval for each case.

    Markers of different algorithms stand a little apart. An algorithm without privacy has no place
    on an axis of ε, and is a horizontal band.

    Parameters
    ----------
    table : pandas.DataFrame
        As `trial_table` makes it.
    over : {"epsilon", "total"}
        What the horizontal axis shows: the budget, or the patients in the population.
    titles : mapping of str to str
        Panel → its title.
    values : {"right", "patients", "inferior", "excess"}
        Share of the trials that find the best arm; or the mean number of patients, of those that
        did not get the best arm, or of the failures that the best arm would have avoided.
    panels : sequence of str, optional
        Panels to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
        With at most two panels a row, on opaque white.

    Raises
    ------
    ValueError
        If `over`, `values` or a panel is unknown.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> pair = dpb.identification.isis2().only([0, 3])
    >>> cases = {("a", epsilon): (dpb.DPLRE(epsilon, 0.1), pair) for epsilon in (0.1, 1.0)}
    >>> trials = dpb.identification.simulate_trials_many(cases, n_runs=2)
    >>> figure = trial_figure(trial_table(trials), over="epsilon", titles={"a": "two arms"})
    >>> figure.axes[0].get_xlabel()
    'privacy budget ε'
    """
    check_choice("over", over, tuple(_X_LABELS))
    check_choice("values", values, tuple(_VALUES))
    titles = chosen_panels(titles, panels)
    value = _VALUES[values]
    lines = lines_of(table, titles, ("panel", "algorithm"))
    names = list(dict.fromkeys(line.algorithm for panel in lines for line in panel))
    with styled():
        figure, grid = make_panels(titles, foot=0.62, width=4.4, height=2.9)
        places = list(grid.values())
        ranges = []
        for axes, panel in zip(places, lines, strict=True):
            ranges.append(_draw(axes, panel, names, over, value))
            axes.set(xscale="log", yscale="linear" if value.is_share else "log")
        finish_panels(
            figure,
            places,
            ranges,
            x_label=_X_LABELS[over],
            y_label=value.label,
            log="x" if value.is_share else "xy",
        )
        handles = dict(
            pair
            for axes in places
            for pair in zip(*axes.get_legend_handles_labels()[::-1], strict=True)
        )
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="lower center",
            ncols=3,
            frameon=False,
            fontsize=10.5,
            handlelength=2.6,
        )
    return figure


def _draw(
    axes: Axes,
    lines: Sequence[SimpleNamespace],
    names: Sequence[str],
    over: str,
    value: _Value,
) -> PanelRange:
    """Draw one panel; return what it must show."""
    finite = [float(x) for line in lines for x in getattr(line, over) if math.isfinite(x)]
    least, most = min(finite), max(finite)
    shown: list[float] = []
    for line in lines:
        i = names.index(line.algorithm)
        look = look_of(line.algorithm.rstrip("*"), "", i)
        order = getattr(line, over).argsort(kind="stable")
        x, y, low, high = (getattr(line, name)[order] for name in (over, *value.names))
        label = line.algorithm + ("" if math.isfinite(line.epsilon[0]) else FREE)
        style: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
        if math.isinf(x[0]):
            ends = [least / 1.3, most * 1.3]
            axes.fill_between(ends, low[0], high[0], color=look.colour, alpha=0.15, linewidth=0)
            axes.plot(ends, [y[0], y[0]], linewidth=look.width, label=label, **style)
        else:
            x = x * _APART ** (i - (len(names) - 1) / 2)
            axes.vlines(x, low, high, color=look.colour, linewidth=1.6)
            axes.plot(
                x,
                y,
                linewidth=look.width * 0.7,
                marker=look.marker,
                markersize=5.0,
                markerfacecolor="white",
                markeredgewidth=1.3,
                label=label,
                **style,
            )
        shown += [float(v) for v in (*y, *low, *high) if math.isfinite(v)]
    heights = (0.0, 1.0) if value.is_share else (max(min(shown), 1e-3), max(shown))
    return PanelRange((least / 1.3, most * 1.3), heights, ())
