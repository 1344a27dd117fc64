"""Figures for a page on a screen: SVGs with the width of the text column and of a phone.

A figure is laid out again for each width, in letters of one size: panels are beside each other on a
wide screen and below each other on a narrow one. Its background is transparent, so that a dark page
can turn black into white. Numbers are rounded, and the same figure gives the same bytes.
"""

import io
import re
from collections.abc import Callable
from functools import partial

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from companion.figures.paper import fit_below, lay_out
from dpbandits.plotting.style import NarrowError, RowError, columns_of, filling, styled

WIDE, NARROW = 7.0, 3.5
"""Inches of the column of text, and of a phone."""

STRETCH = 1.2
"""How many times as wide a figure becomes at most so that two panels stand in a row."""

_PHONE = 5.0  # inches, below which panels are stacked
_SHARE = 0.42  # least share of a panel's width for curves, if it is alone in its row
_TRIES = 6
_HAIR = 0.01  # inches
_PATH = re.compile(r' d="([^"]*)"')
_PLACE = re.compile(r'(?<=[ ("])(x="|y="|translate\()(-?[\d.]+)(?: (-?[\d.]+))?')
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)


def screen_figure(draw: Callable[[], Figure], width: float, beside: float = 0.0) -> bytes:
    """Draw a figure for a screen, `width` inches wide or a little more, and return it as SVG.

    `draw` is a function without arguments, such as the method ``draw`` of a figure that
    `companion.publishing.published` read. Where `beside` is known, as `room_beside` returns it of
    the same figure at another width, widths that are too small for its labels are not drawn.
    """
    figure = _laid_out(partial(_attempt, draw, beside), width)
    fit_below(figure)
    keep_inside(figure)
    figure.patch.set_facecolor("none")
    for axes in figure.axes:
        axes.patch.set_facecolor("none")
    buffer = io.BytesIO()
    with styled():
        about = {"Date": None, "Creator": None}
        figure.savefig(buffer, format="svg", metadata=about, facecolor="none")
    plt.close(figure)
    return compact(buffer.getvalue().decode()).encode()


def _laid_out(attempt: Callable[..., tuple[Figure | None, float | None]], width: float) -> Figure:
    """Draw with two panels per row if there is room, or nearly so; else with one."""
    if width > _PHONE:
        for room in (width, STRETCH * width):
            figure, needed = attempt(room, 2)
            if needed is not None and room < needed <= STRETCH * width:
                figure, _ = attempt(needed + _HAIR, 2)
            if figure is not None:
                if columns_of(figure.axes[0]) > 1 or len(figure.axes) == 1:
                    return figure
                plt.close(figure)
    room = width
    for _ in range(_TRIES):
        figure, needed = attempt(room, 1, _SHARE)
        if figure is not None:
            return figure
        room = (needed or room) + _HAIR
    raise ValueError(f"width={width!r} cannot be drawn; allowed: a width with room for labels")


def keep_inside(figure: Figure) -> None:
    """Move labels of horizontal axes that protrude at the right back to the figure's edge."""
    lay_out(figure)
    edge = figure.bbox.width - 2.0
    for axes in figure.axes:
        name = axes.xaxis.label
        if name.get_text() and name.get_window_extent().x1 > edge:
            name.set(x=axes.transAxes.inverted().transform((edge, 0.0))[0], ha="right")


def _attempt(
    draw: Callable[[], Figure], beside: float, room: float, columns: int, share: float = 0.3
) -> tuple[Figure | None, float | None]:
    """Return the figure, or the width that its labels would need."""
    before = set(plt.get_fignums())
    try:
        with styled(), filling(room, columns, share, abreast=columns > 1, beside=beside):
            return draw(), None
    except RowError:
        return None, None
    except NarrowError as error:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
        return None, error.needed


# ------------------------------------------------------------------------------------------- SVG


def compact(svg: str) -> str:
    """Shorten an SVG of matplotlib: rounded numbers, relative paths, no comments.

    Coordinates are rounded to hundredths of a point, which is invisible.
    """
    svg = _COMMENT.sub("", _METADATA.sub("", svg))
    svg = _PATH.sub(lambda match: f' d="{relative(match[1])}"', svg)
    svg = _PLACE.sub(_rounded_place, svg)
    return "\n".join(line.strip() for line in svg.splitlines()) + "\n"


def relative(path: str) -> str:
    """Write a path of straight lines in relative coordinates, in hundredths; keep other paths.

    Examples
    --------
    >>> relative("M 1.004 2 L 3 2.5 L 2 2.5 z")
    'M1 2l2 .5-1 0z'
    >>> relative("M 0 0 C 1 1 2 2 3 3")
    'M 0 0 C 1 1 2 2 3 3'
    """
    steps = path.split()
    if not set(filter(str.isalpha, steps)) <= {"M", "L", "z"}:
        return " ".join(steps)
    written: list[str] = []
    here, place, command = (0, 0), 0, ""
    while place < len(steps):
        letter = steps[place]
        if letter == "z":
            written.append("z")
            place, command = place + 1, ""
            continue
        x, y = (round(100 * float(number)) for number in steps[place + 1 : place + 3])
        if letter == "M":
            written.append("M" + _pair(x, y))
            command = ""
        else:
            step = _pair(x - here[0], y - here[1])
            between = "" if step.startswith("-") else " "
            written.append(f"{between}{step}" if command == "l" else f"l{step}")
            command = "l"
        here, place = (x, y), place + 3
    return "".join(written)


def _pair(x: int, y: int) -> str:
    first, second = _hundredths(x), _hundredths(y)
    return f"{first}{second}" if second.startswith("-") else f"{first} {second}"


def _hundredths(value: int) -> str:
    """Write a number given in hundredths."""
    text = f"{value / 100:.2f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0(?=\.)", r"\1", text) if value else "0"


def _rounded_place(match: re.Match[str]) -> str:
    numbers = [number for number in match.groups()[1:] if number]
    return match[1] + " ".join(_hundredths(round(100 * float(number))) for number in numbers)
