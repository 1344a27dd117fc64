"""What the tests of figures see: lines and bands, greys, and where texts stand."""

import itertools

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text


def drawn(figure):
    """Everything that the axes show, up to the rounding of its layout: lines, bands, texts."""
    return [
        (
            axes.get_title(loc="left"),
            [line.get_xydata().round(6).tolist() for line in axes.get_lines()],
            [path.vertices.round(6).tolist() for c in axes.collections for path in c.get_paths()],
            [text.get_text() for text in axes.texts],
        )
        for axes in figure.axes
    ]


def grey(look):
    """How light a look's colour is."""
    r, g, b = to_rgb(look.colour)
    return 0.299 * r + 0.587 * g + 0.114 * b


def boxes_of(figure):
    """Draw a figure, and return where a text stands, without the line to its curve."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    return lambda text: Text.get_window_extent(text, renderer)


def check_apart(boxes, whole):
    """Texts do not overlap and lie in the figure."""
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for box in boxes:
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
