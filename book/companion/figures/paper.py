"""Figures for a paper: as wide as its column, with legible letters, in grey on request.

A figure is laid out again for the width, in the sizes of the book, and then scaled down a little as
a whole, lines and marks included: so letters have the same size in figures of every width.
"""

import io
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.backends import _backend_pdf_ps, backend_pdf
from matplotlib.collections import Collection
from matplotlib.colors import ListedColormap, to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from dpbandits._files import write_atomically
from dpbandits._validation import check_number
from dpbandits.plotting.style import COLOURS, NarrowError, filling, styled

WIDTHS = {"single": 84.0, "double": 174.0}
"""Name → width of a column, and of a page of two, in millimetres; most journals allow more."""

LEAST_LETTERS = 6.0
"""Points below which no text is set; exponents and indices are 0.7 times as large as text."""

SCALE = 0.78
"""Printed size over that in the book: text of 12 points has 9.4 points then, exponents have 6."""

GREYS = {
    "black": 0.0,
    "green": 0.15,
    "blue": 0.28,
    "orange": 0.36,
    "purple": 0.5,
    "vermilion": 0.55,
    "sky": 0.66,
}
"""Colour of the palette → its grey in print, from 0, black, to 1, white."""

_NARROWEST, _WIDEST, _HIGHEST = 40.0, 300.0, 240.0  # millimetres
_INCH = 25.4
_fonts: Any = _backend_pdf_ps  # private API, so a test compares its result
_whole_font = _fonts.get_glyphs_subset
# Letters, Greek, dashes, exponents, arrows and mathematical symbols:
_WRITTEN = ((0x20, 0x180), (0x370, 0x400), (0x2010, 0x2060), (0x2070, 0x20A0), (0x2190, 0x2300))
_PALETTE = {to_hex(colour): GREYS[name] for name, colour in COLOURS.items()}


class PaperFigure(NamedTuple):
    """A figure in the size of the book, and the factor to its printed size."""

    figure: Figure
    scale: float

    @property
    def size(self) -> tuple[float, float]:
        """Printed width and height, in millimetres."""
        width, height = self.figure.get_size_inches()
        return float(width) * self.scale * _INCH, float(height) * self.scale * _INCH

    @property
    def letters(self) -> tuple[float, float]:
        """Printed size of the smallest and of the largest text, in points."""
        texts = [text for text in self.figure.findobj(Text) if text.get_visible()]
        sizes = [float(text.get_fontsize()) for text in texts if text.get_text().strip()]
        return min(sizes) * self.scale, max(sizes) * self.scale

    def pdf(self, title: str = "") -> bytes:
        """Return a PDF with embedded TrueType fonts; the same figure gives the same bytes."""
        buffer = io.BytesIO()
        about: dict[str, Any] = {"Creator": None, "Producer": None, "CreationDate": None}
        if title:
            about["Title"] = title
        embedded = plt.rc_context({"pdf.fonttype": 42, "pdf.use14corefonts": False})
        with styled(), embedded, small_fonts():
            pages: Any = backend_pdf.PdfPages(buffer)
            pages._file = file = _scaled_file(buffer, about, self.scale)
            self.figure.savefig(pages, format="pdf")
            file.finalize()
        content = buffer.getvalue()
        file.close()
        return content

    def png(self, dpi: float = 300.0) -> bytes:
        """Return a picture with `dpi` dots per inch of its printed size."""
        buffer = io.BytesIO()
        about: dict[str, Any] = {"metadata": {"Software": None}}
        about["pil_kwargs"] = {"dpi": (dpi, dpi), "optimize": False}
        with styled():
            self.figure.savefig(buffer, format="png", dpi=dpi * self.scale, **about)
        return buffer.getvalue()

    def save(self, path: str | os.PathLike[str], title: str = "") -> Path:
        """Write a PDF or a PNG, depending on the file's ending, and return the file."""
        ending = Path(path).suffix.lower()
        if ending not in (".pdf", ".png"):
            raise ValueError(f"path={str(path)!r} ends in {ending!r}; allowed: .pdf, .png")
        return write_atomically(path, self.pdf(title) if ending == ".pdf" else self.png())


@contextmanager
def small_fonts() -> Iterator[None]:
    """Embed fonts from pre-cut smaller ones, with the same result.

    Otherwise matplotlib would read all of a font's thousands of glyphs for each figure.
    """

    @contextmanager
    def cut(font: Any, glyphs: Iterable[int]) -> Iterator[Any]:
        content, places = _small_font(font)
        if not places.keys() >= set(glyphs):
            with _whole_font(font, glyphs) as found:
                yield found
            return
        with _whole_font(_Font(content), {places[glyph] for glyph in glyphs}) as (found, moved):
            where = {glyph: moved[places[glyph]] for glyph in glyphs}
            yield _fonts.SubsetResults(found, where)

    _fonts.get_glyphs_subset = cut
    try:
        yield
    finally:
        _fonts.get_glyphs_subset = _whole_font


class _Font(io.BytesIO):
    """A file of one font."""

    face_index = 0


@cache
def _small_font(font: Any) -> tuple[bytes, dict[int, int]]:
    """Return a font with the characters of `_WRITTEN`, and the places of their glyphs in it."""
    known = get_font(font).get_charmap()
    codes = [code for first, last in _WRITTEN for code in range(first, last) if code in known]
    wanted = {known[code] for code in codes}
    with _whole_font(font, wanted) as (small, places):
        content = _fonts.font_as_file(small).getvalue()
        return content, {glyph: places[glyph] for glyph in wanted}


def _scaled_file(buffer: io.BytesIO, about: dict[str, Any], scale: float) -> Any:
    """Return a PDF whose pages are scaled; matplotlib has no setting for this."""
    base: Any = backend_pdf.PdfFile

    class Scaled(base):
        def newPage(self, width: float, height: float) -> None:
            super().newPage(width * scale, height * scale)
            self.output(scale, 0, 0, scale, 0, 0, backend_pdf.Op.concat_matrix)
            self.width, self.height = width, height  # anything off the page is cut

    return Scaled(buffer, metadata=about)


def width_of(width: str | float) -> float:
    """Return a width in millimetres: a name in `WIDTHS`, or a number."""
    allowed = f"{', '.join(WIDTHS)}, or {_NARROWEST:g} to {_WIDEST:g} (millimetres)"
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width]
    try:
        number = float(width) if isinstance(width, str) else check_number("width", width, allowed)
    except ValueError:
        raise ValueError(f"width={width!r} is unknown; allowed: {allowed}") from None
    if not _NARROWEST <= number <= _WIDEST:
        raise ValueError(f"width={width!r} is out of range; allowed: {allowed}")
    return number


def paper_figure(
    draw: Callable[[], Figure], *, width: str | float = "double", grey: bool = False
) -> PaperFigure:
    """Draw a figure for a paper.

    `draw`, a function without arguments, draws it, such as the method ``draw`` of a figure that
    `companion.publishing.published` read. The width is "single", "double", or in millimetres. In
    grey, lines remain distinguishable by a line style, a marker, a label beside them, or a grey
    that is far from the others.
    """
    millimetres = width_of(width)
    figure = _laid_out(draw, millimetres, width)
    fit_below(figure)
    printed = PaperFigure(figure, millimetres / _INCH / float(figure.get_size_inches()[0]))
    if problem := _problem(printed):
        plt.close(figure)
        raise ValueError(f"width={width!r} {problem}")
    if grey:
        in_grey(figure)
    return printed


def _laid_out(draw: Callable[[], Figure], millimetres: float, width: str | float) -> Figure:
    """Draw with two panels per row, or with one if the labels leave no room for two."""
    needed = 0.0
    for columns in (2, 1):
        before = plt.get_fignums()
        try:
            with styled(), filling(millimetres / _INCH / SCALE, columns):
                return draw()
        except NarrowError as error:
            needed = error.needed
            for number in set(plt.get_fignums()).difference(before):
                plt.close(number)
    least = np.ceil(needed * SCALE * _INCH)
    raise ValueError(
        f"width={width!r} leaves no room beside the labels; allowed: at least {least:g} "
        "(millimetres)"
    )


def _problem(printed: PaperFigure) -> str:
    """Return the reason why a figure is illegible or too large for a page, or an empty text."""
    least, _ = printed.letters
    width, height = printed.size
    if least < LEAST_LETTERS - 0.005:
        needed = np.ceil(width * LEAST_LETTERS / least)
        return f"leaves letters of {least:.1f} points; allowed: at least {needed:g} (millimetres)"
    if height > _HIGHEST:
        allowed = f"up to {_HIGHEST:g}, with more width or fewer panels"
        return f"makes a figure {height:.0f} mm high; allowed: {allowed}"
    return ""


def fit_below(figure: Figure) -> None:
    """Wrap legends and texts that are too wide for the figure, and make room for them."""
    if not (figure.legends or figure.texts):
        return
    width, height = figure.get_size_inches()
    lay_out(figure)
    pixels = figure.bbox.width
    more = 0.0  # inches
    moved: list[tuple[Any, float]] = []
    legends = [(legend.get_window_extent().y0, legend) for legend in figure.legends]
    for low, legend in sorted(legends, key=lambda pair: pair[0]):
        old = legend.get_window_extent().height
        for columns in range(len(legend.get_texts()) - 1, 0, -1):
            if legend.get_window_extent().width <= pixels:
                break
            legend = _with_columns(figure, legend, columns)
        moved.append((legend, low / figure.dpi + more))
        more += (legend.get_window_extent().height - old) / figure.dpi
    for text in figure.texts:
        box = text.get_window_extent()
        if box.width > 0.98 * pixels and not text.get_rotation():
            letters = len(text.get_text())
            lines = textwrap.wrap(text.get_text(), int(letters * 0.96 * pixels / box.width))
            text.set_text("\n".join(" ".join(line.split()) for line in lines))
            more += (text.get_window_extent().height - box.height) / figure.dpi
            text.set_linespacing(1.15)
    if not more:
        return
    places = [(axes, axes.get_position()) for axes in figure.axes]
    figure.set_size_inches(width, height + more)
    for axes, box in places:
        low, high = ((edge * height + more) / (height + more) for edge in (box.y0, box.y1))
        axes.set_position((box.x0, low, box.width, high - low))
    for legend, low in moved:
        legend.borderaxespad = 0.0
        legend.set_bbox_to_anchor((0.5, low / (height + more)))


def lay_out(figure: Figure) -> None:
    """Make the layout engine, if there is one, move the panels to their final positions."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def _with_columns(figure: Figure, legend: Legend, columns: int) -> Legend:
    """Replace a legend by one with `columns` columns."""
    texts = legend.get_texts()
    legend.remove()
    return figure.legend(
        handles=legend.legend_handles,
        labels=[text.get_text() for text in texts],
        loc="lower center",
        ncols=columns,
        frameon=False,
        fontsize=texts[0].get_fontsize(),
        handlelength=legend.handlelength,
        columnspacing=legend.columnspacing,
        borderaxespad=0.0,
        borderpad=0.0,
    )


# ------------------------------------------------------------------------------------------ grey


def grey_of(colour: Any) -> tuple[float, float, float, float]:
    """Return the grey of a colour: that of `GREYS`, or else one of equal lightness."""
    red, green, blue, alpha = to_rgba(colour)
    known = _PALETTE.get(to_hex((red, green, blue)))
    if known is not None:
        return known, known, known, alpha
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    level = 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
    return level, level, level, alpha


def in_grey(figure: Figure) -> None:
    """Turn everything in a figure grey."""
    for artist in figure.findobj():
        if isinstance(artist, Line2D):
            artist.set_color(grey_of(artist.get_color()))
            artist.set_markerfacecolor(_marker_grey(artist.get_markerfacecolor()))
            artist.set_markeredgecolor(_marker_grey(artist.get_markeredgecolor()))
        elif isinstance(artist, Text):
            artist.set_color(grey_of(artist.get_color()))
            line = getattr(artist, "arrow_patch", None)
            if line is not None:
                line.set_edgecolor(grey_of(line.get_edgecolor()))
                line.set_facecolor(grey_of(line.get_facecolor()))
        elif isinstance(artist, Patch):
            edge = artist.get_edgecolor()
            artist.set_facecolor(grey_of(artist.get_facecolor()))
            artist.set_edgecolor(grey_of(edge))
        elif isinstance(artist, Collection) and artist.get_array() is not None:
            # Equal lightness keeps the order of the colours.
            colours = artist.cmap(np.linspace(0.0, 1.0, 256))
            artist.set_cmap(ListedColormap([*map(grey_of, colours)]))
        elif isinstance(artist, Collection):
            artist.set_facecolor([*map(grey_of, artist.get_facecolor())])
            artist.set_edgecolor([*map(grey_of, artist.get_edgecolor())])
        outlines = [vars(effect).get("_gc", {}) for effect in artist.get_path_effects() or ()]
        if outlines:
            greyed = [{**one, "foreground": grey_of(one["foreground"])} for one in outlines]
            artist.set_path_effects([withStroke(**one) for one in greyed])


def _marker_grey(colour: Any) -> Any:
    return colour if isinstance(colour, str) and colour == "none" else grey_of(colour)
