"""Shared parts of the figures: panels from a table, styled curves, bands, regret over time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from companion.tables import records
from dpbandits._validation import check_choice
from dpbandits.plotting.style import (
    DOTTED,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    End,
    Look,
    PanelRange,
    finish_panels,
    make_panels,
)

Line = SimpleNamespace
"""Rows of a table that belong together: labels are values, other columns arrays."""
Lines = Sequence[Line]
Titles = Mapping[str, str]

LABELS = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")
PULLS = "number of pulls t"
REGRET = "mean regret (units of reward)"

_DECADES = 3.7  # of time, on a logarithmic axis


def chosen_panels(titles: Titles, panels: Sequence[str] | None) -> dict[str, str]:
    """Return the titles of the selected panels; raise for unknown ones."""
    for panel in panels or ():
        check_choice("panel", panel, tuple(titles))
    return {panel: title for panel, title in titles.items() if not panels or panel in panels}


def draw_panels(
    table: pd.DataFrame,
    titles: Titles,
    panels: Sequence[str] | None,
    draw: Callable[[Axes, list[Line]], PanelRange],
    labels: tuple[str, str],
    *,
    by: Sequence[str] = LABELS,
    log: str = "xy",
    foot: float = 0.0,
    size: tuple[float, float] = (PANEL_WIDTH, PANEL_HEIGHT),
) -> Figure:
    """Draw a panel of a table for each title, all with the same limits.

    `draw` draws the lines of a panel, one for each combination of the columns `by`, and returns the
    range that the panel must show; `labels` are the axes' labels, `log` names the logarithmic axes;
    `size`, that of a panel, and `foot` are in inches.
    """
    titles = chosen_panels(titles, panels)
    figure, grid = make_panels(titles, foot, width=size[0], height=size[1])
    ranges = [draw(axes, list(records(table, by, panel=panel))) for panel, axes in grid.items()]
    finish_panels(figure, figure.axes, ranges, x_label=labels[0], y_label=labels[1], log=log)
    return figure


def legend_below(figure: Figure, handles: Iterable[Any], **options: Any) -> None:
    """Put a legend below the panels."""
    usual: dict[str, Any] = {"loc": "lower center", "frameon": False, "fontsize": 10.5}
    figure.legend(handles=list(handles), **(usual | options))


# -------------------------------------------------------------------------------------- curves


def names_in_corner(axes: Axes, starts: Mapping[str, float], corner: str = "upper right") -> None:
    """List the names of curves, with line samples, in a corner, the highest start first."""
    handles = {line.get_label(): line for line in axes.lines}
    wanted = [handles[name] for name in sorted(starts, key=lambda name: -starts[name])]
    style: dict[str, Any] = {"loc": corner, "fontsize": 10.5, "handlelength": 2.4}
    axes.legend(handles=wanted, frameon=False, labelspacing=0.3, borderaxespad=0.1, **style)


def first_shown(horizon: float, decades: float = _DECADES) -> float:
    """Return the time at which curves begin on a logarithmic axis."""
    return float(max(100.0, horizon / 10**decades))


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, look: Look) -> None:
    """Shade the central 90 % of the runs."""
    axes.fill_between(x, low, high, color=look.colour, alpha=0.22, linewidth=0)


def plain(axes: Axes, x: ArrayLike, y: ArrayLike, look: Look, **options: Any) -> None:
    """Draw a curve in its style, without markers."""
    usual = {"color": look.colour, "linestyle": look.line, "linewidth": look.width}
    axes.plot(x, y, **(usual | options))


def marked(axes: Axes, x: ArrayLike, y: ArrayLike, look: Look, **options: Any) -> None:
    """Draw a curve in its style, through points with hollow markers."""
    usual = {"marker": look.marker, "markersize": 4.2, "markeredgewidth": 1.2}
    plain(axes, x, y, look, markerfacecolor="white", **(usual | options))


def draw_rate(
    axes: Axes, x: float, rate: float, low: float, high: float, look: Look, empty: str = ""
) -> None:
    """Draw a share with its interval; a share of 0 is a hollow mark at the interval's upper end."""
    found = rate > 0
    axes.plot([x, x], [low, high], color=look.colour, linewidth=1.6)
    marker = look.marker if found or not empty else empty
    style: dict[str, Any] = {"marker": marker, "markersize": 5.5, "markeredgewidth": 1.3}
    fill = look.colour if found else "white"
    axes.plot(x, rate if found else high, color=look.colour, markerfacecolor=fill, **style)


class TimeCurve(NamedTuple):
    """A curve of regret over time: columns ``time`` and ``mean``, a style, and the text at its end.

    It may have the ends of a band, a proved bound, and circles at the ends of epochs, from the
    column ``epoch``.
    """

    line: Line
    look: Look
    text: str
    band: tuple[Any, Any] | None = None
    bound: Any = None
    circles: bool = False


def draw_times(
    axes: Axes, curves: Iterable[TimeCurve], start: float, *, size: float = 5.0, edge: float = 1.3
) -> PanelRange:
    """Draw curves of regret from `start` on (0 on linear axes), with circles of a size and edge."""
    ends, heights = [], []
    horizon = 0.0
    for line, look, text, between, bound, circles in curves:
        shown = line.time >= start
        plain(axes, line.time, line.mean, look)
        heights += [line.mean[shown].min(), line.mean[-1]]
        if between is not None:
            band(axes, line.time, *between, look)
            heights.append(between[1][-1])
        if bound is not None:
            plain(axes, line.time, bound, look, linestyle=DOTTED, linewidth=1.2)
            heights.append(bound[-1])
        if circles:
            at = (line.epoch == 1) & shown
            style = {"linestyle": "none", "marker": "o", "markersize": size}
            marked(axes, line.time[at], line.mean[at], look, **style, markeredgewidth=edge)
        ends.append(End(line.time[-1], line.mean[-1], text, look.colour))
        horizon = max(horizon, line.time[-1])
    return PanelRange((start, horizon), (min(heights) if start else 0.0, max(heights)), tuple(ends))
