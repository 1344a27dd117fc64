"""The style of the figures: palette, settings, panels, labels at the ends of curves.

Curves differ in line style or marker as well as in colour, so that a grey print is readable.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from dpbandits._arrays import Floats
from dpbandits._files import write_atomically
from dpbandits._validation import check_integer

COLOURS = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
}
"""The colour-blind-safe palette of Okabe & Ito (2008), without its yellow."""

STYLE: Any = {
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.7,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "butt",
    "lines.dash_capstyle": "butt",
    "svg.fonttype": "path",
    "svg.hashsalt": "dpbandits",
}
"""Matplotlib settings of the figures."""

INK = "0.15"
DASHED, DOTTED, LONG, SHORT = (0, (4, 1.5)), (0, (1, 1.4)), (0, (9, 2)), (0, (2.4, 1))
UNEVEN, DASH_DOT = (0, (6, 1.2, 1.2, 1.2)), (0, (5, 1.3, 1, 1.3))
BOUND, FREE = "lower bound", ", no privacy"

PANEL_WIDTH, PANEL_HEIGHT = 3.7, 3.0  # inches
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.85, 0.12, 0.6, 0.36  # margins of the figure, inches
_LABEL_SIZE = 10.5
_LABEL_OFFSET = 12.0  # points from the end of a curve to its label
_LEADER = {"arrowstyle": "-", "linewidth": 1.2, "shrinkA": 1, "shrinkB": 1, "relpos": (0.0, 0.5)}
_OVERLAP = 0.25  # inches by which two panels in a row are closer than their widths add up to
_NARROWEST = 0.8  # least width of a panel beside another, relative to its own
_SLIMMEST = 0.7  # least width of a panel alone in its row, relative to the usual
_LOWEST = 0.79  # height of panels below each other, relative to their own
_LEAST_SHARE = 0.3  # of a panel's width, for its curves beside their labels

_MOST_TICKS, _TICK = 6, 34.0  # on a logarithmic axis, and the points that each takes


class _Room(NamedTuple):
    """What `filling` was told."""

    width: float
    columns: int
    share: float
    abreast: bool
    beside: float


_room: ContextVar[_Room | None] = ContextVar("room", default=None)


class NarrowError(ValueError):
    """A figure has too little width for its labels.

    Parameters
    ----------
    needed : float
        Width that would suffice, in inches; stored as an attribute.

    Examples
    --------
    >>> print(NarrowError(4.25))
    labels leave no room; 4.2 inches would do
    """

    def __init__(self, needed: float) -> None:
        super().__init__(f"labels leave no room; {needed:.1f} inches would do")
        self.needed = needed


class RowError(NarrowError):
    """Panels do not fit beside each other.

    Parameters
    ----------
    needed : float
        Width that would suffice, in inches; stored as an attribute.

    Examples
    --------
    >>> with filling(3.5, abreast=True):
    ...     make_panels({"a": "left", "b": "right"})
    Traceback (most recent call last):
    dpbandits.plotting.style.RowError: labels leave no room; 6.5 inches would do
    """


@dataclass(frozen=True)
class Look:
    """Style of a curve.

    Attributes
    ----------
    colour : str
        Its Matplotlib colour.
    line : str or tuple
        Its Matplotlib line style.
    marker : str
        Its Matplotlib marker.
    width : float
        Width of the line, in points.

    Examples
    --------
    >>> Look(COLOURS["blue"], DASHED).width
    2.0
    """

    colour: str
    line: Any = "-"
    marker: str = "o"
    width: float = 2.0


GREY = "0.6"
"""Grey of background curves: a lighter one would be unreadable in the dark theme."""


IDENTIFIER_LOOKS = {
    ("Top Two", ""): Look(COLOURS["black"], DASH_DOT, "D", 1.7),
    ("DP-TT", ""): Look(COLOURS["blue"], "-", "o", 1.9),
    ("DP-TT", "union"): Look(COLOURS["sky"], SHORT, "P", 1.6),
    ("DP-TT", "W"): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("DP-TT", "W + log N"): Look(COLOURS["orange"], LONG, "^", 1.7),
    ("DP-TT", "W̃ + log N"): Look(COLOURS["purple"], UNEVEN, "v", 1.7),
    ("AdaP-TT", ""): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("AdaP-TT", "heuristic"): Look(COLOURS["orange"], SHORT, "^", 1.5),
    ("DP-SE", ""): Look(COLOURS["purple"], UNEVEN, "v", 1.7),
    ("DP-LRE", ""): Look(COLOURS["green"], LONG, "X", 2.0),
}
"""Algorithm for identification and variant → its style in every figure."""

OTHER_LOOKS = (
    Look(COLOURS["green"], "-", "o", 1.7),
    Look(COLOURS["blue"], DASHED, "s", 1.7),
    Look(COLOURS["vermilion"], LONG, "^", 1.7),
    Look(COLOURS["purple"], UNEVEN, "v", 1.7),
    Look(COLOURS["orange"], SHORT, "D", 1.7),
    Look(COLOURS["black"], DASH_DOT, "X", 1.7),
)
"""Styles for curves of one algorithm on different instances."""


def look_of(name: str, variant: str, place: int) -> Look:
    """Return the style of an algorithm's curve; one without its own gets one by position."""
    return IDENTIFIER_LOOKS.get((name, variant), OTHER_LOOKS[place % len(OTHER_LOOKS)])


class End(NamedTuple):
    """The right end of a curve, and its label.

    Attributes
    ----------
    x, y : float
        End of the curve, in units of the data.
    text : str
        Its label.
    colour : str
        Its Matplotlib colour.

    Examples
    --------
    >>> End(1e6, 120.0, "DP-SE", COLOURS["blue"]).text
    'DP-SE'
    """

    x: float
    y: float
    text: str
    colour: str


class PanelRange(NamedTuple):
    """Contents of a panel: the range of its data, without the room for labels.

    Attributes
    ----------
    x, y : tuple of float
        Smallest and largest value on each axis.
    ends : tuple of End
        Right ends of the labelled curves.

    Examples
    --------
    >>> PanelRange((1.0, 1e6), (0.1, 100.0), ()).x
    (1.0, 1000000.0)
    """

    x: tuple[float, float]
    y: tuple[float, float]
    ends: tuple[End, ...]


def styled() -> AbstractContextManager[None]:
    """Apply `STYLE` inside a block."""
    return plt.rc_context(STYLE)


@contextmanager
def filling(
    width: float,
    columns: int = 2,
    share: float = _LEAST_SHARE,
    *,
    abreast: bool = False,
    beside: float = 0.0,
) -> Iterator[None]:
    """Make figures created inside a block fill `width` inches, or more if necessary.

    Up to `columns` panels are in a row, two if that leaves each four fifths of its own width. If
    labels would leave too little room for curves, making a figure fails with a `NarrowError`.
    """
    token = _room.set(_Room(width, columns, share, abreast, beside))
    try:
        yield
    finally:
        _room.reset(token)


def filled_width(natural: float) -> float:
    """Return the width of a figure, as set by `filling`."""
    room = _room.get()
    return natural if room is None else max(room.width, _NARROWEST * natural)


def columns_of(axes: Axes) -> int:
    """Return the number of panels in a row in the figure of `make_panels`."""
    place = axes.get_subplotspec()
    return 1 if place is None else int(place.get_gridspec().ncols)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format given by the file's suffix, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or os.PathLike
        The file, which is replaced if it exists.
    """
    path = Path(path)
    if path.suffix.lower() == ".svg":
        save_vector(figure, path)
    else:
        buffer = io.BytesIO()
        with plt.rc_context({"pdf.fonttype": 42}):
            figure.savefig(buffer, dpi=200, format=path.suffix[1:].lower())
        write_atomically(path, buffer.getvalue())
    plt.close(figure)


def save_vector(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG: the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or os.PathLike
        The file, which is replaced if it exists.

    Returns
    -------
    pathlib.Path
        The file.
    """
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    lines = buffer.getvalue().decode().splitlines()
    return write_atomically(path, "\n".join(line.rstrip() for line in lines) + "\n")


def make_panels(
    titles: Mapping[str, str],
    foot: float = 0.0,
    *,
    width: float = PANEL_WIDTH,
    height: float = PANEL_HEIGHT,
    left: float = _LEFT,
) -> tuple[Figure, dict[str, Axes]]:
    """Make a figure of panels, two a row, each with its letter and title."""

    def span(columns: int, share: float = 1.0) -> float:
        return left + columns * share * width - (columns - 1) * _OVERLAP

    columns = usual = min(len(titles), 2)
    room, whole = _room.get(), span(usual)
    if room is not None:
        if room.columns < columns or span(columns, _NARROWEST) > room.width:
            columns = 1
        if columns < usual and room.abreast:
            raise RowError(span(usual, _NARROWEST))
        least = left + _SLIMMEST * min(width, PANEL_WIDTH)
        whole = max(room.width, least if columns == 1 else span(columns, _NARROWEST))
    height *= 1.0 if columns == usual and whole > _LOWEST * span(usual) else _LOWEST
    rows = math.ceil(len(titles) / columns)
    height = rows * height + 0.3 + foot
    figure, grid = plt.subplots(rows, columns, figsize=(whole, height), squeeze=False)
    figure.subplots_adjust(
        left=left / whole,
        right=1 - _RIGHT / whole,
        bottom=(_BOTTOM + foot) / height,
        top=1 - _TOP / height,
        wspace=0.08,
        hspace=0.22 if columns > 1 else 0.34,  # room for ticks above titles
    )
    places = list(grid.flat)
    for axes in places[len(titles) :]:
        axes.remove()
    if room is not None and room.beside:
        _check_room(figure, places[0], columns, room.beside)
    panels = dict(zip(titles, places, strict=False))
    for panel, axes in panels.items():
        axes.set_title(f"({panel})  {titles[panel]}" if len(titles) > 1 else titles[panel])
    return figure, panels


def small_multiples(
    titles: Sequence[str], columns: int = 4, *, least: float = 1.4, height: float = 1.35
) -> tuple[Figure, list[Axes]]:
    """Make many small panels that share their axes, a title above each.

    Label the curves in the first panel alone. In a narrow figure (`filling`) a row has fewer
    panels.
    """
    if not titles:
        raise ValueError(f"titles={titles!r} is empty; allowed: at least 1")
    columns = check_integer("columns", columns, 1)
    room, side = _room.get(), _LEFT - 0.2
    width = 7.0 if room is None else room.width
    columns = max(1, min(columns, len(titles), int((width - side) / least)))
    rows = math.ceil(len(titles) / columns)
    whole = rows * height + _BOTTOM + 0.1
    figure, grid = plt.subplots(
        rows, columns, figsize=(width, whole), squeeze=False, sharex=True, sharey=True
    )
    figure.subplots_adjust(
        left=side / width,
        right=1 - _RIGHT / width,
        bottom=_BOTTOM / whole,
        top=1 - _TOP / whole,
        wspace=0.1,
        hspace=0.36,
    )
    places = list(grid.flat)
    for axes in places[len(titles) :]:
        axes.remove()
    panels = places[: len(titles)]
    for place, axes in enumerate(panels):
        axes.set_title(titles[place], fontsize=_LABEL_SIZE, pad=3)
        lowest = place + columns >= len(titles)
        axes.tick_params(labelbottom=lowest, labelleft=place % columns == 0)
    return figure, panels


def finish_panels(
    figure: Figure,
    panels: Sequence[Axes],
    ranges: Sequence[PanelRange],
    *,
    x_label: str,
    y_label: str,
    log: str = "xy",
) -> None:
    """Give all panels the same limits, label the axes once, and label the curves.

    The axes that `log` names are logarithmic.
    """
    x = min(r.x[0] for r in ranges), max(r.x[1] for r in ranges)
    y = min(r.y[0] for r in ranges), max(r.y[1] for r in ranges)
    columns = min(len(panels), columns_of(panels[0]))
    labels = [_text_width(end.text) for r in ranges for end in r.ends]
    beside = max(labels, default=0.0) + _LABEL_OFFSET + 4
    figure._dpbandits_beside = max(beside, room_beside(figure))  # type: ignore[attr-defined]
    inner = _check_room(figure, panels[0], columns, beside)
    room = beside / inner
    ticks = _MOST_TICKS
    if _room.get() is not None:
        ticks = max(2, min(_MOST_TICKS, int((1 - room) * inner / _TICK)))
    for place, axes in enumerate(panels):
        _set_limits(axes.xaxis, x, 0.0, room, "x" in log, ticks)
        _set_limits(axes.yaxis, y, 0.05 if log else 0.0, 0.05, "y" in log)
        axes.tick_params(labelleft=place % columns == 0, labelbottom=place + columns >= len(panels))
        if place + columns >= len(panels):
            axes.set_xlabel(x_label)
    figure.supylabel(y_label, x=0.01, fontsize=plt.rcParams["axes.labelsize"])
    for axes, r in zip(panels, ranges, strict=True):
        label_ends(axes, r.ends)


def room_beside(figure: Figure) -> float:
    """Return the points that labels take beside the curves of a figure."""
    return float(getattr(figure, "_dpbandits_beside", 0.0))


def _check_room(figure: Figure, axes: Axes, columns: int, beside: float) -> float:
    """Return a panel's width in points; NarrowError if labels leave its curves too little of it."""
    width = float(figure.get_size_inches()[0])
    inner = float(axes.get_position().width * width * 72)
    given = _room.get()
    if given is not None and 1 - beside / inner < given.share:
        more = beside / (1 - given.share) - inner
        raise NarrowError(width + columns * more / 72)
    return inner


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write a label at the right end of each curve, moved apart to avoid overlaps."""
    if not ends:
        return
    unit = axes.figure.dpi / 72
    points = axes.transData.transform([(end.x, end.y) for end in ends]) / unit
    box = axes.get_window_extent()
    low, high = box.y0 / unit + _LABEL_SIZE / 2, box.y1 / unit - _LABEL_SIZE / 2
    order = np.argsort(points[:, 1], kind="stable")
    heights = spread(points[order, 1], 1.25 * _LABEL_SIZE, low, high)
    for i, height in zip(order, heights, strict=True):
        end = ends[i]
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(_LABEL_OFFSET, height - points[i, 1]),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=_LABEL_SIZE,
            color=INK,
            annotation_clip=False,
            arrowprops={**_LEADER, "color": end.colour},
        )


def spread(
    targets: ArrayLike, distance: float, low: float = -math.inf, high: float = math.inf
) -> Floats:
    """Move increasing positions apart, as little as possible in least squares.

    Shapes: `targets`, the result (m,).
    """
    wanted = np.asarray(targets, dtype=np.float64)
    steps = distance * np.arange(wanted.size)
    level = isotonic_regression(wanted - steps).x
    moved: Floats = np.minimum(np.maximum(level, low) + steps, high - steps[::-1])
    return moved


def power_of_ten(value: float, _: object = None) -> str:
    """Write a power of ten for a tick."""
    return f"$10^{{{round(math.log10(value))}}}$"


@cache
def _text_width(text: str) -> float:
    """Return the width of a label in points."""
    font = FontProperties(family=STYLE["font.family"])
    return 1.05 * float(TextPath((0, 0), text, _LABEL_SIZE, font).get_extents().width)


def _set_limits(
    axis: Any,
    data: tuple[float, float],
    before: float,
    after: float,
    log: bool,
    ticks: int = _MOST_TICKS,
) -> None:
    """Set an axis' scale, and limits with shares `before` and `after` outside the data."""
    low, high = np.log10(data) if log else data
    length = (high - low) / (1 - before - after)
    limits = np.array([low - before * length, high + after * length])
    scale, name = "log" if log else "linear", axis.axis_name
    axis.axes.set(**{f"{name}scale": scale, f"{name}lim": tuple(10**limits if log else limits)})
    if log:
        # Ticks only at powers of ten, where there is data and room for them.
        first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        step = max(1, math.ceil((last - first) / (ticks - 1)))
        axis.set_major_locator(FixedLocator([10.0**k for k in range(first, last + 1, step)]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(power_of_ten))
        if first == last and name == "x":  # a single power shows no distance
            between = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
            shown = [x for x in between if low - 1e-9 <= math.log10(x) <= high + 1e-9]
            axis.set_major_locator(FixedLocator(shown))
            axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
