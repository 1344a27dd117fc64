"""Figures of computed curves, and the files that a page carries for them."""

import base64
import re

import numpy as np
from matplotlib import pyplot as plt

from dpbandits.plotting import Downloads, curves_figure

X = np.geomspace(1, 100, 9)
PANELS = {"left": {"line": (X, X), "root": (X, np.sqrt(X))}, "right": {"fall": (X, 1e-6 / X**3)}}


def figure_of(**options):
    return curves_figure(PANELS, x_label="x (steps)", y_label="y (units)", **options)


def test_every_curve_is_drawn_and_named():
    figure = figure_of()
    assert [a.get_title(loc="left") for a in figure.axes] == ["(a)  left", "(b)  right"]
    for axes, curves in zip(figure.axes, PANELS.values(), strict=True):
        assert {t.get_text() for t in axes.texts} == set(curves)
        for line, (x, y) in zip(axes.lines, curves.values(), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), np.column_stack([x, y]))
        looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.lines}
        assert len(looks) == len(curves)
    plt.close(figure)


def test_a_name_stands_where_its_curve_leaves_the_panel():
    figure = figure_of(lowest=1e-9)
    (text,) = figure.axes[1].texts
    assert text.xy == (X[1e-6 / X**3 >= 1e-9][-1], (1e-6 / X**3)[1e-6 / X**3 >= 1e-9][-1])
    assert text.xy[0] < X[-1]
    assert figure.axes[1].get_ylim()[0] > 1e-10
    plt.close(figure)


def test_marks_are_shown_with_what_they_are():
    figure = figure_of(marks={"right": [(10.0, 1e-3, "aim")]})
    assert "aim" in [t.get_text() for t in figure.axes[1].texts]
    assert "aim" not in [t.get_text() for t in figure.axes[0].texts]
    assert figure.axes[1].get_ylim()[1] > 1e-3
    plt.close(figure)


def test_what_is_downloaded_is_what_is_drawn():
    figure = figure_of()
    offered = Downloads("demo", figure, PANELS)
    shown = offered._repr_html_()
    assert shown == Downloads("demo", figure_of(), PANELS)._repr_html_()
    files = dict(re.findall(r'download="([\w.]+)" href="data:[\w/+]+;base64,([^"]+)"', shown))
    table = base64.b64decode(files["demo.csv"]).decode().splitlines()
    assert table[0] == "panel,curve,x,y"
    assert len(table) == 1 + 3 * X.size
    np.testing.assert_allclose([float(row.split(",")[3]) for row in table[1:10]], X, rtol=1e-6)
    assert base64.b64decode(files["demo.svg"]).decode().lstrip().startswith("<?xml")
    plt.close("all")
