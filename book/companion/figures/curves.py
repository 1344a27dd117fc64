"""Figures of computed curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from companion.figures.panels import Lines, draw_panels, names_in_corner, plain
from companion.figures.redraw import redrawable
from companion.tables import tabulate
from dpbandits._validation import check_choice
from dpbandits.plotting.style import (
    COLOURS,
    DASHED,
    DOTTED,
    INK,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    End,
    Look,
    PanelRange,
)

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]
Marks = Mapping[str, Sequence[tuple[float, float, str]]]

_LOOKS = (
    Look(COLOURS["blue"], "-"),
    Look(COLOURS["vermilion"], DASHED),
    Look(COLOURS["green"], (0, (9, 2))),
    Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2))),
    Look(COLOURS["black"], DOTTED),
    Look(COLOURS["orange"], (0, (2.4, 1))),
)
_LETTERS = "abcdefgh"


def curves_figure(
    panels: Mapping[str, Curves],
    *,
    x_label: str,
    y_label: str,
    log: str = "xy",
    lowest: float | None = None,
    marks: Marks | None = None,
    corner: bool | str = False,
) -> Figure:
    """Draw computed curves, each with its name at its right end, or in a corner.

    Parameters
    ----------
    panels : mapping of str to (mapping of str to (x, y))
        Title of a panel → name of a curve → its points; up to eight panels of up to six curves.
    log : {"xy", "y", ""}
        Which axes are logarithmic.
    lowest : float, optional
        Lower end of the vertical axis, for curves that fall without bound.
    marks : mapping of str to sequence of (x, y, str), optional
        Title of a panel → single points and their labels.
    corner : bool or {"upper right", "lower left"}
        Whether names are listed in a corner (the upper right one for True), sorted by where the
        curves begin, highest first: for curves that meet or cross at their right ends.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> x = [1.0, 10.0, 100.0]
    >>> curves = {"line": (x, x), "root": (x, [1.0, 3.2, 10.0])}
    >>> figure = curves_figure({"": curves}, x_label="x", y_label="y")
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['line', 'root']
    >>> plt.close(figure)
    """
    marks = marks or {}
    check_choice("log", log, ("xy", "y", ""))
    if not isinstance(corner, bool):
        check_choice("corner", corner, ("upper right", "lower left"))
    named = f"panels={list(panels)!r}"
    if not 1 <= len(panels) <= len(_LETTERS):
        raise ValueError(f"{named} are {len(panels)}; allowed: 1 to {len(_LETTERS)} of them")
    for title, curves in panels.items():
        if not 1 <= len(curves) <= len(_LOOKS):
            raise ValueError(
                f"{named} have {len(curves)} curves in {title!r}; allowed: 1 to {len(_LOOKS)} in "
                "each"
            )
        for name, points in curves.items():
            x, y = map(np.asarray, points)
            if x.ndim != 1 or x.shape != y.shape or x.size == 0:
                raise ValueError(
                    f"{named} have x of shape {x.shape} and y of shape {y.shape} in {name!r}; "
                    "allowed: two rows of one length, at least 1"
                )
            if lowest is not None and not (y >= lowest).any():
                raise ValueError(
                    f"lowest={lowest!r} is above all of {name!r}; allowed: at most {y.max():g}"
                )
    for title in marks:
        if title not in panels:
            raise ValueError(
                f"marks={list(marks)!r} name an unknown panel, {title!r}; allowed: "
                f"{', '.join(map(repr, panels))}"
            )
    options: dict[str, Any] = {"x_label": x_label, "y_label": y_label, "log": log}
    options |= {"lowest": lowest, "marks": marks} | ({"corner": corner} if corner else {})
    return curves_from_table(curves_table(panels), **options)


def curves_table(panels: Mapping[str, Curves]) -> pd.DataFrame:
    """Return the points of the curves of `curves_figure` as a table, ready to publish."""
    points = {
        (title, name): {"x": np.asarray(x, dtype=np.float64), "y": np.asarray(y, dtype=np.float64)}
        for title, curves in panels.items()
        for name, (x, y) in curves.items()
    }
    return tabulate(points, dict, ("panel", "curve"))


@redrawable
def curves_from_table(
    table: pd.DataFrame,
    *,
    x_label: str,
    y_label: str,
    log: str,
    lowest: float | None,
    marks: Marks,
    corner: bool | str = False,
) -> Figure:
    """Draw a table of curves, with the options of `curves_figure`."""
    titles = dict(zip(_LETTERS, table["panel"].unique(), strict=False))
    letters = {title: letter for letter, title in titles.items()}

    def draw(axes: Axes, lines: Lines) -> PanelRange:
        ends, heights, places, starts = [], [], [], {}
        for look, line in zip(_LOOKS, lines, strict=False):
            plain(axes, line.x, line.y, look, label=line.curve)
            shown = line.y >= (-np.inf if lowest is None else lowest)
            starts[line.curve] = line.y[shown][0]
            if not corner:
                ends.append(End(line.x[shown][-1], line.y[shown][-1], line.curve, look.colour))
            heights += [line.y[shown].min(), line.y[shown].max()]
            places += [line.x.min(), line.x.max()]
        for x, y, text in marks.get(titles[lines[0].panel], ()):
            axes.plot([x], [y], marker="D", color=INK, linestyle="none")
            style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top"}
            axes.annotate(text, (x, y), xytext=(0, -8), color=INK, **style)
            heights.append(y)
            places.append(x)
        if corner:
            names_in_corner(axes, starts, "upper right" if corner is True else str(corner))
        low = min(heights) if lowest is None else lowest
        return PanelRange((min(places), max(places)), (low, max(heights)), tuple(ends))

    table = table.assign(panel=table["panel"].map(letters))
    size = (5.6, 3.6) if len(titles) == 1 else (PANEL_WIDTH, PANEL_HEIGHT)
    labels, by = (x_label, y_label), ("panel", "curve")
    return draw_panels(table, titles, None, draw, labels, by=by, log=log, size=size)
