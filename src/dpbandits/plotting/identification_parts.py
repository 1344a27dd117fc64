"""Parts of the figures of best-arm identification: looks, tails of stopping times, error rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
)

__all__ = [
    "BOUND",
    "FREE",
    "IDENTIFIER_LOOKS",
    "OTHER_LOOKS",
    "draw_errors",
    "draw_tails",
    "look_of",
]

BOUND = "lower bound"
FREE = ", no privacy"

_LONG, _SHORT = (0, (9, 2)), (0, (2.4, 1))
IDENTIFIER_LOOKS = {
    ("Top Two", ""): Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "D", 1.7),
    ("DP-TT", ""): Look(COLOURS["blue"], "-", "o", 1.9),
    ("DP-TT", "union"): Look(COLOURS["sky"], _SHORT, "P", 1.6),
    ("DP-TT", "W"): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("DP-TT", "W + log N"): Look(COLOURS["orange"], _LONG, "^", 1.7),
    ("DP-TT", "W̃ + log N"): Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    ("AdaP-TT", ""): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("AdaP-TT", "heuristic"): Look(COLOURS["orange"], _SHORT, "^", 1.5),
    ("DP-SE", ""): Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    ("DP-LRE", ""): Look(COLOURS["green"], _LONG, "X", 2.0),
}
"""Algorithm and variant → its colour, line and marker, the same in every figure."""

OTHER_LOOKS = (
    Look(COLOURS["green"], "-", "o", 1.7),
    Look(COLOURS["blue"], DASHED, "s", 1.7),
    Look(COLOURS["vermilion"], _LONG, "^", 1.7),
    Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    Look(COLOURS["orange"], _SHORT, "D", 1.7),
    Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "X", 1.7),
)
"""Looks of curves of one algorithm on different instances."""

_LEAST = 1e-5
"""Bottom of the panels of errors; the lower end of an interval may lie below."""


def look_of(name: str, variant: str, place: int) -> Look:
    """Return the look of an algorithm's curve; one without a look of its own gets one by place."""
    return IDENTIFIER_LOOKS.get((name, variant), OTHER_LOOKS[place % len(OTHER_LOOKS)])


def draw_tails(titles: Mapping[str, str], by_panel: Mapping[str, Any]) -> Figure:
    """Draw the share of runs that took longer than t; see `identification_figure`."""
    figure, grid = make_panels(titles, width=4.4, height=3.2)
    ranges = [_tails(grid[panel], by_panel[panel]) for panel in titles]
    for axes in grid.values():
        axes.set(xscale="log", yscale="log")
    finish_panels(
        figure,
        list(grid.values()),
        ranges,
        x_label="pulls t",
        y_label="share of runs with τ > t",
    )
    return figure


def _tails(axes: Axes, groups: Any) -> PanelRange:
    ends, lows, highs, least = [], [], [], 1.0
    for place, ((name, variant), points) in enumerate(groups.items()):
        look = look_of(name, variant, place)
        times = np.concatenate([p.replicates.stopping_time for p in points])
        stopped = np.concatenate([p.replicates.recommendation for p in points]) >= 0
        ended = 1.0 - float(stopped.mean())
        x = np.sort(times[stopped])
        share = 1.0 - np.arange(x.size) / times.size  # of runs with τ ≥ that time
        if ended:  # the others were still going on when they were ended
            x, share = np.append(x, times.max()), np.append(share, ended)
        axes.plot(
            x,
            share,
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            drawstyle="steps-pre",
        )
        text = (variant or name).replace("W̃", r"$\tilde{W}$")
        text += f": {ended:.1%} never" if ended else ""
        ends.append(End(float(x[-1]), float(share[-1]), text, look.colour))
        lows.append(float(x[0]))
        highs.append(float(x[-1]))
        least = min(least, float(share[-1]))
    return PanelRange((min(lows) / 1.1, max(highs)), (min(least, 0.5), 1.0), tuple(ends))


def draw_errors(titles: Mapping[str, str], by_panel: Mapping[str, Any], theory: bool) -> Figure:
    """Draw the shares of wrong recommendations against δ; see `identification_figure`."""
    figure, grid = make_panels(titles, 0.3, width=4.4, height=3.4)
    names = dict.fromkeys(key for groups in by_panel.values() for key in groups)
    looks = {
        (name, variant): look_of(name, variant, place)
        for place, (name, variant) in enumerate(names)
    }
    ranges = [_errors(grid[panel], by_panel[panel], looks, theory) for panel in titles]
    for axes in grid.values():
        axes.set(xscale="log", yscale="log")
    finish_panels(
        figure,
        list(grid.values()),
        ranges,
        x_label="probability δ of a wrong arm that is allowed",
        y_label="share of runs with a wrong arm",
    )
    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            label=f"{name}, {variant}" if variant else name,
        )
        for (name, variant), look in looks.items()
    ]
    handles.append(Line2D([], [], color=INK, marker="v", linestyle="none", label="no run wrong"))
    figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
        fontsize=10,
        handlelength=1.4,
        columnspacing=1.2,
    )
    return figure


def _errors(
    axes: Axes, groups: Any, looks: Mapping[tuple[str, str], Look], theory: bool
) -> PanelRange:
    names = list(groups)
    deltas = sorted({p.summary.delta for points in groups.values() for p in points})
    ends = []
    for place, (name, variant) in enumerate(names):
        look = looks[name, variant]
        shift = 1.16 ** (place - (len(names) - 1) / 2)
        points = sorted(groups[name, variant], key=lambda p: float(p.summary.delta))
        for p in points:
            x, s = p.summary.delta * shift, p.summary
            low = max(s.error_low95, _LEAST / 10)
            axes.plot([x, x], [low, s.error_high95], color=look.colour, linewidth=1.6)
            value = s.error_rate if s.error_rate > 0 else s.error_high95
            axes.plot(
                x,
                value,
                color=look.colour,
                marker=look.marker if s.error_rate > 0 else "v",
                markersize=5.5,
                markerfacecolor=look.colour if s.error_rate > 0 else "white",
                markeredgewidth=1.3,
            )
    if theory:
        span = [deltas[0] / 2, deltas[-1] * 2]
        axes.plot(span, span, color=INK, linestyle=DOTTED, linewidth=1.6)
        ends.append(End(span[1], span[1], "allowed", INK))
    return PanelRange((deltas[0] / 2, deltas[-1] * 2), (_LEAST, deltas[-1] * 2), tuple(ends))
