"""Figures of heavy-tailed rewards against the gap: pulls until an arm is gone, and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from companion.figures.lines import band, chosen_panels
from companion.figures.redraw import redrawable
from companion.slopes import Slope, fit_slope
from companion.tables import records
from dpbandits._intervals import share_interval
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    columns_of,
    finish_panels,
    make_panels,
    styled,
)
from dpbandits.simulation import Runs

__all__ = [
    "GAP_LOOKS",
    "SCHEDULE_LOOKS",
    "gap_slopes",
    "lost_best_arm",
    "pulls_over_gap",
    "pulls_until_dropped",
    "schedule_outcome",
    "schedules_over_gap",
]

GAP_LOOKS = {
    ("local", "two points"): Look(COLOURS["vermilion"], DASHED, "s", 1.8),
    ("local", "Pareto"): Look(COLOURS["orange"], (0, (2.4, 1)), "D", 1.2),
    ("central", "two points"): Look(COLOURS["blue"], "-", "o", 1.8),
    ("central", "Pareto"): Look(COLOURS["sky"], (0, (6, 1.2, 1.2, 1.2)), "^", 1.2),
    ("no noise", "two points"): Look(COLOURS["black"], (0, (9, 2)), "v", 1.2),
}
"""(Model, law) of a curve of pulls against the gap → its look."""

SCHEDULE_LOOKS = {
    "minimax": Look(COLOURS["blue"], "-", "o", 1.8),
    "published-remark": Look(COLOURS["vermilion"], DASHED, "s", 1.8),
}
_SCHEDULE_NAMES = {"minimax": "minimax", "published-remark": "as Remark 3"}


def pulls_until_dropped(runs: Runs) -> dict[str, float]:
    """Return the columns of a point of `pulls_over_gap`: pulls of the worse of two arms.

    Returns
    -------
    dict
        ``mean``, and the ends ``low``, ``high`` of the central 90 % of the runs.
    """
    pulls = runs.pulls[:, int(np.argmax(runs.instance.gaps))]
    low, high = np.quantile(pulls, [0.05, 0.95])
    return {"mean": float(pulls.mean()), "low": float(low), "high": float(high)}


def lost_best_arm(runs: Runs) -> NDArray[np.bool_]:
    """Tell of each run, with two arms, whether the better one was dropped: it was pulled less.

    While both are viable their pulls differ by one at most.
    """
    best = runs.instance.best_arm
    lost: NDArray[np.bool_] = runs.pulls[:, best] < runs.pulls[:, 1 - best] - 1
    return lost


def schedule_outcome(runs: Runs) -> dict[str, float]:
    """Return the columns of a point of `schedules_over_gap`.

    Returns
    -------
    dict
        ``lost``, the share of the runs that lose the better arm, with the ends ``lost_low95`` and
        ``lost_high95`` of its Clopper–Pearson interval; ``regret``, the mean at the horizon;
        ``even``, the regret of playing both arms in turn.
    """
    share, low, high = share_interval(int(lost_best_arm(runs).sum()), runs.n_runs)
    return {
        "lost": share,
        "lost_low95": low,
        "lost_high95": high,
        "regret": float(runs.regret[:, -1].mean()),
        "even": runs.horizon * float(runs.instance.gaps.max()) / 2,
    }


def gap_slopes(table: pd.DataFrame) -> dict[tuple[str, str, str], tuple[Slope, float]]:
    """Fit log pulls of the worse arm to log Δ: (panel, model, law) → (slope, what theory says).

    Theory is −(1+v)/v, and in the local model twice that.

    Parameters
    ----------
    table : pandas.DataFrame
        As of `pulls_over_gap`.

    Returns
    -------
    dict
    """
    found = {}
    for line in records(table, ("panel", "order", "model", "law")):
        theory = -(2 if line.model == "local" else 1) * (1 + line.order) / line.order
        found[line.panel, line.model, line.law] = fit_slope(line.gap, line.mean), theory
    return found


@redrawable
def pulls_over_gap(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw the pulls of the worse arm against 1/Δ, with lines of the slopes that theory has.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``panel``, ``order``, ``model``, ``law``, ``gap``, falling, and those of
        `pulls_until_dropped`.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = chosen_panels(titles, panels)
    with styled():
        figure, grid = make_panels(titles, width=4.9, height=4.0)
        ranges = [_gaps_panel(a, table, panel) for panel, a in grid.items()]
        axes = list(grid.values())
        for a in axes:
            a.set(xscale="log", yscale="log")
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="1/gap (per unit of reward)",
            y_label="pulls of the worse arm until it is dropped",
        )
    return figure


def _gaps_panel(axes: Axes, table: pd.DataFrame, panel: str) -> PanelRange:
    slopes = gap_slopes(table)
    lines = {(r.model, r.law): r for r in records(table, ("model", "law"), panel=panel)}
    ends, heights, places = [], [], []
    for name, look in GAP_LOOKS.items():
        line, (slope, theory) = lines[name], slopes[panel, *name]
        x, y = 1 / line.gap, line.mean
        band(axes, x, line.low, line.high, look)
        axes.plot(x, y[-1] * (x / x[-1]) ** -theory, color=INK, linestyle=DOTTED, linewidth=1.0)
        _marked(axes, x, y, look)
        text = f"{', '.join(name)}: {slope.slope:.2f} ± {slope.error:.2f}"
        ends.append(End(x[-1], y[-1], text.replace("-", "\N{MINUS SIGN}"), look.colour))
        heights += [y.min(), y.max()]
        places += [x[0], x[-1]]
    return PanelRange((min(places) / 1.1, max(places)), (min(heights), max(heights)), tuple(ends))


@redrawable
def schedules_over_gap(
    table: pd.DataFrame, *, titles: Mapping[str, str], panels: Sequence[str] | None = None
) -> Figure:
    """Draw, above, the share of the runs that lose the better arm, and below the mean regret.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``panel``, ``schedule``, ``gap``, falling, and those of `schedule_outcome`.
    titles : mapping of str to str
        Panel → its title.
    panels : sequence of str, optional
        Panels to draw; all if not given.

    Returns
    -------
    matplotlib.figure.Figure
    """
    titles = chosen_panels(titles, panels)
    columns = len(titles)
    by_panel = [
        {line.schedule: line for line in records(table, ("schedule",), panel=panel)}
        for panel in titles
    ]
    keys = {**titles, **{f"{panel} below": "" for panel in titles}}
    with styled():
        figure, grid = make_panels(keys, width=4.3, height=2.9)
        axes = list(grid.values())
        upper, lower = axes[:columns], axes[columns:]
        for a, (panel, title) in zip(upper, titles.items(), strict=True):
            a.set_title(f"({panel})  {title}" if columns > 1 else title)
        for a in lower:
            a.set_title("")
        shares = [_shares(a, lines) for a, lines in zip(upper, by_panel, strict=True)]
        regrets = [_regrets(a, lines) for a, lines in zip(lower, by_panel, strict=True)]
        for a in upper:
            a.set(xscale="log")
        for a in lower:
            a.set(xscale="log", yscale="log")
        for row, ranges, log in ((upper, shares, "x"), (lower, regrets, "xy")):
            finish_panels(
                figure, row, ranges, x_label="1/gap (per unit of reward)", y_label="", log=log
            )
        for a in upper:
            a.set_xlabel("")
            a.set_ylim(-0.04, 1.04)
        in_a_row = columns_of(axes[0])
        unit = " (units of reward)" if in_a_row == columns else "\n(units of reward)"
        for place in range(0, columns, in_a_row):
            upper[place].set_ylabel("share of runs that\nlose the better arm")
            lower[place].set_ylabel(f"mean regret{unit}")
    return figure


def _shares(axes: Axes, lines: Mapping[str, SimpleNamespace]) -> PanelRange:
    ends = []
    x: Any = None
    for schedule, look in SCHEDULE_LOOKS.items():
        line = lines[schedule]
        x, y = 1 / line.gap, line.lost
        sure = [y - line.lost_low95, line.lost_high95 - y]
        axes.errorbar(x, y, sure, color=look.colour, linestyle="none", linewidth=1.2)
        _marked(axes, x, y, look)
        ends.append(End(x[-1], y[-1], _SCHEDULE_NAMES[schedule], look.colour))
    axes.plot([x[0], x[-1]], [0.5, 0.5], color=INK, linestyle=DOTTED, linewidth=1.0)
    ends.append(End(x[-1], 0.5, "a coin", INK))
    return PanelRange((x[0] / 1.1, x[-1]), (0.0, 1.0), tuple(ends))


def _regrets(axes: Axes, lines: Mapping[str, SimpleNamespace]) -> PanelRange:
    ends, heights = [], []
    for schedule, look in SCHEDULE_LOOKS.items():
        line = lines[schedule]
        _marked(axes, 1 / line.gap, line.regret, look)
        ends.append(End(1 / line.gap[-1], line.regret[-1], _SCHEDULE_NAMES[schedule], look.colour))
        heights += [*line.regret]
    x, even = 1 / line.gap, line.even
    axes.plot(x, even, color=INK, linestyle=DOTTED, linewidth=1.0)
    ends.append(End(x[-1], even[-1], "both arms evenly", INK))
    heights += [*even]
    return PanelRange((x[0] / 1.1, x[-1]), (min(heights), max(heights)), tuple(ends))


def _marked(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], look: Look) -> None:
    axes.plot(
        x,
        y,
        color=look.colour,
        linestyle=look.line,
        linewidth=look.width,
        marker=look.marker,
        markersize=4.5,
        markerfacecolor="white",
        markeredgewidth=1.2,
    )
