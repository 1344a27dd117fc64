"""Head to head: looks and codes of all algorithms, and their regret over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpbandits.plotting.regret_lines import Line, first_shown
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

__all__ = ["CODES", "HEAD_LOOKS", "head_time_figure", "look_of"]

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


def look_of(line: Line) -> Look:
    """Return the look of a curve, a thin grey one if the algorithm has none of its own."""
    name = line.curve.algorithm
    own = HEAD_LOOKS.get(name, Look("0.5", (0, (3, 1, 1, 1)), "", 1.2))
    return HEAD_LOOKS.get(f"{name}, {line.curve.variant}", own)


def _label(line: Line) -> str:
    """Write the name of a curve; one that is not private, or in a weaker sense, says so."""
    name = line.curve.algorithm
    if line.curve.variant:
        return f"{_NAMES.get(name, name)}, {line.curve.variant}"
    text = _NAMES.get(name, name)
    return text if math.isfinite(line.curve.epsilon) else f"{text}, no privacy"


def _draw(axes: Axes, lines: Sequence[Line], theory: bool) -> PanelRange:
    horizon = max(line.curve.horizon for line in lines)
    start = first_shown(horizon)
    ends, heights = [], []
    for line in lines:
        curve, look = line.curve, look_of(line)
        shown = curve.times >= start
        times, mean = curve.times[shown], curve.mean[shown]
        low = np.maximum(curve.mean_low95[shown], mean / 100)  # few runs may reach below 0
        alpha = 0.25 if look.width > 1.3 else 0.07  # what is not ranked stays behind
        band: dict[str, Any] = {"color": look.colour, "alpha": alpha, "linewidth": 0}
        axes.fill_between(times, low, curve.mean_high95[shown], **band)
        axes.plot(
            times,
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
        if theory and math.isfinite(curve.epsilon):
            algorithm, instance = line.cell.algorithm, line.cell.instance
            bound = algorithm.regret_bound(instance, curve.horizon, times=times)
            axes.plot(times, np.asarray(bound), color=look.colour, linestyle=DOTTED, linewidth=1)
            heights.append(float(np.asarray(bound)[-1]))
        heights += [float(mean[mean > 0].min(initial=mean[-1])), float(mean[-1])]
        ends.append(End(float(times[-1]), float(mean[-1]), _label(line), look.colour))
    axes.set(xscale="log", yscale="log")
    return PanelRange((start, horizon), (min(heights), max(heights)), tuple(ends))


def head_time_figure(
    titles: Mapping[str, str], by_panel: Sequence[Sequence[Line]], theory: bool
) -> Figure:
    """Draw mean regret over time, each mean with its 95 % interval.

    Parameters
    ----------
    titles : mapping of str to str
        Panel → its title.
    by_panel : sequence of sequence of Line
        The curves of each panel.
    theory : bool
        Whether to draw the upper bound of each private algorithm, thin and dotted.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with styled():
        figure, grid = make_panels(titles, width=4.9, height=3.7)
        axes = list(grid.values())
        ranges = [_draw(a, lines, theory) for a, lines in zip(axes, by_panel, strict=True)]
        finish_panels(
            figure,
            axes,
            ranges,
            x_label="number of pulls t",
            y_label="mean regret (units of reward)",
        )
    return figure
