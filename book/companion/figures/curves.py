"""Figures of computed curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from companion.figures.redraw import redrawable
from companion.tables import records, tabulate
from dpbandits._validation import check_choice
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
    styled,
)

__all__ = ["curves_figure", "curves_table"]

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]

_LOOKS = (
    Look(COLOURS["blue"], "-"),
    Look(COLOURS["vermilion"], DASHED),
    Look(COLOURS["green"], (0, (9, 2))),
    Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2))),
    Look(COLOURS["black"], DOTTED),
    Look(COLOURS["orange"], (0, (2.4, 1))),
)
_LETTERS = "abcdefgh"


def _points(points: tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[np.float64], ...]:
    """Return x and y of a curve as arrays."""
    x, y = (np.asarray(part, dtype=np.float64) for part in points)
    return x, y


def _check(
    panels: Mapping[str, Curves],
    log: str,
    lowest: float | None,
    marks: Mapping[str, Sequence[tuple[float, float, str]]],
) -> None:
    """Refuse what cannot be drawn in full."""
    check_choice("log", log, ("xy", "y", ""))
    if not 1 <= len(panels) <= len(_LETTERS):
        raise ValueError(
            f"panels={list(panels)!r} are {len(panels)}; allowed: 1 to {len(_LETTERS)} of them"
        )
    for title, curves in panels.items():
        if not 1 <= len(curves) <= len(_LOOKS):
            raise ValueError(
                f"panels={list(panels)!r} have {len(curves)} curves in {title!r}; allowed: 1 to "
                f"{len(_LOOKS)} in each"
            )
        for name, points in curves.items():
            x, y = _points(points)
            if x.ndim != 1 or x.shape != y.shape or x.size == 0:
                raise ValueError(
                    f"panels={list(panels)!r} have x of shape {x.shape} and y of shape {y.shape} "
                    f"in {name!r}; allowed: two rows of one length, at least 1"
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


def curves_figure(
    panels: Mapping[str, Curves],
    *,
    x_label: str,
    y_label: str,
    log: str = "xy",
    lowest: float | None = None,
    marks: Mapping[str, Sequence[tuple[float, float, str]]] | None = None,
) -> Figure:
    """Draw computed curves, each with its name at its right end.

    Parameters
    ----------
    panels : mapping of str to (mapping of str to (x, y))
        Title of a panel → name of a curve → its points; up to eight panels of up to six curves.
    x_label, y_label : str
        Labels of the axes, with units.
    log : {"xy", "y", ""}
        Which axes are logarithmic.
    lowest : float, optional
        Where the vertical axis begins, for curves that fall without end.
    marks : mapping of str to sequence of (x, y, str), optional
        Title of a panel → single points and what they are.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are no panels or more than eight, a panel has no curve or more than six, x and y
        of a curve differ in length, `log` is unknown, all of a curve is below `lowest`, or `marks`
        names a panel that there is not.

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
    _check(panels, log, lowest, marks)
    options = {"x_label": x_label, "y_label": y_label, "log": log, "lowest": lowest, "marks": marks}
    return _draw(curves_table(panels), **options)


def _drawn(
    panels: Mapping[str, Curves],
    x_label: str,
    y_label: str,
    log: str,
    lowest: float | None,
    marks: Mapping[str, Sequence[Any]],
) -> Figure:
    letters = dict(zip(_LETTERS, panels, strict=False))
    with styled():
        wide = {"width": 5.6, "height": 3.6} if len(panels) == 1 else {}
        figure, grid = make_panels(letters, **wide)
        ranges = []
        for letter, title in letters.items():
            axes, ends, heights, places = grid[letter], [], [], []
            for look, (name, points) in zip(_LOOKS, panels[title].items(), strict=False):
                x, y = _points(points)
                axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=look.width)
                shown = y >= lowest if lowest is not None else np.ones(y.shape, dtype=bool)
                ends.append(End(x[shown][-1], y[shown][-1], name, look.colour))
                heights += [y[shown].min(), y[shown].max()]
                places += [x.min(), x.max()]
            for x_mark, y_mark, text in marks.get(title, ()):
                axes.plot([x_mark], [y_mark], marker="D", color=INK, linestyle="none")
                axes.annotate(
                    text,
                    (x_mark, y_mark),
                    xytext=(0, -8),
                    textcoords="offset points",
                    ha="center",
                    va="top",
                    color=INK,
                )
                heights.append(y_mark)
                places.append(x_mark)
            low = min(heights) if lowest is None else lowest
            ranges.append(PanelRange((min(places), max(places)), (low, max(heights)), tuple(ends)))
            axes.set(xscale="log" if "x" in log else "linear", yscale="log" if log else "linear")
        finish_panels(
            figure, list(grid.values()), ranges, x_label=x_label, y_label=y_label, log=log
        )
    return figure


def curves_table(panels: Mapping[str, Curves]) -> pd.DataFrame:
    """Return the points of curves as a table: what `curves_figure` draws, ready to publish.

    Examples
    --------
    >>> curves_table({"": {"line": ([1.0, 2.0], [3.0, 4.0])}}).columns.tolist()
    ['panel', 'curve', 'x', 'y']
    """
    points = {
        (title, name): dict(zip("xy", _points(xy), strict=True))
        for title, curves in panels.items()
        for name, xy in curves.items()
    }
    return tabulate(points, dict, ("panel", "curve"))


@redrawable
def _draw(table: pd.DataFrame, **options: Any) -> Figure:
    """Draw a table of curves, with the options of `curves_figure`."""
    panels: dict[str, dict[str, Any]] = {}
    for each in records(table, ("panel", "curve")):
        panels.setdefault(each.panel, {})[each.curve] = (each.x, each.y)
    return _drawn(panels, **options)
