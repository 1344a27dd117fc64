"""The figures of trials on a finite population: what was decided, and at what price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbandits._validation import check_choice
from dpbandits.experiments import Data, Results, rows_of
from dpbandits.experiments.trial_tables import TrialSummary
from dpbandits.plotting.identification_parts import FREE, look_of
from dpbandits.plotting.style import PanelRange, finish_panels, make_panels, styled

__all__ = ["trial_figure"]

_X_LABELS = {"epsilon": "privacy budget ε", "patients": "patients in the population"}
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


def trial_figure(
    source: Results | Data | str, *, values: str = "right", panels: Sequence[str] | None = None
) -> Figure:
    """Draw the figure of one experiment on trials: a marker with its 95 % interval a setting.

    Markers of different algorithms stand a little apart. An algorithm without privacy has no place
    on an axis of ε, and is a horizontal band.

    Parameters
    ----------
    source : Results, Data or str
        Results of one experiment, data as `dpbandits.experiments.load` returns it, or the id of an
        experiment whose committed data is fresh.
    values : {"right", "patients", "inferior", "excess"}
        Share of the trials that find the best arm; or the mean number of patients, of those that
        did not get the best arm, or of the failures that the best arm would have avoided.
    panels : sequence of str, optional
        Which panels, all if not given.

    Returns
    -------
    matplotlib.figure.Figure
        With at most two panels a row, on opaque white.

    Raises
    ------
    ValueError
        If an argument is unknown, or the committed data is stale.

    Examples
    --------
    >>> from dpbandits import experiments
    >>> results = experiments.run("ours-trial-counts", preset="smoke")
    >>> figure = trial_figure(results, panels=["b"])
    >>> figure.axes[0].get_xlabel()
    'privacy budget ε'
    """
    experiment, rows = rows_of(source)
    if experiment.table.kind != "trial":
        raise ValueError(
            f"source={experiment.id!r} is on {experiment.table.kind}; allowed: an experiment on "
            "trials; dpbandits.plotting.draw draws any"
        )
    check_choice("values", values, tuple(_VALUES))
    for panel in panels or ():
        check_choice("panel", panel, tuple(experiment.panels))
    titles = {p: t for p, t in experiment.panels.items() if not panels or p in panels}
    summaries: list[TrialSummary] = [row.summary for row in rows if row.summary.panel in titles]
    names = list(dict.fromkeys(s.algorithm for s in summaries))
    value = _VALUES[values]
    with styled():
        figure, grid = make_panels(titles, foot=0.62, width=4.4, height=2.9)
        ranges = []
        for panel, axes in grid.items():
            mine = [s for s in summaries if s.panel == panel]
            ranges.append(_draw(axes, mine, names, experiment.axis, value))
            axes.set(xscale="log", yscale="linear" if value.is_share else "log")
        places = list(grid.values())
        log = "x" if value.is_share else "xy"
        finish_panels(
            figure,
            places,
            ranges,
            x_label=_X_LABELS[experiment.axis],
            y_label=value.label,
            log=log,
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
    axes: Axes, summaries: Sequence[TrialSummary], names: Sequence[str], axis: str, value: _Value
) -> PanelRange:
    """Draw one panel; return what it must show."""
    places = {"epsilon": "epsilon", "patients": "total"}[axis]
    finite = [at for s in summaries if math.isfinite(at := float(getattr(s, places)))]
    least, most = min(finite), max(finite)
    shown: list[float] = []
    for i, name in enumerate(names):
        mine = sorted(
            (s for s in summaries if s.algorithm == name), key=lambda s: getattr(s, places)
        )
        if not mine:
            continue
        look = look_of(name.rstrip("*"), "", i)
        y, low, high = (np.array([getattr(s, each) for s in mine]) for each in value.names)
        x = np.array([float(getattr(s, places)) for s in mine])
        label = name + ("" if math.isfinite(mine[0].epsilon) else FREE)
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
