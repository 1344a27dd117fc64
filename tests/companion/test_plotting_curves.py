"""Figures of computed curves, and the tables that are published of them."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from companion.figures import curves_figure
from companion.figures.curves import curves_table
from companion.figures.redraw import recipe_of, redraw

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
            np.testing.assert_allclose(line.get_xydata(), np.column_stack([x, y]), rtol=1e-6)
        looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.lines}
        assert len(looks) == len(curves)
    plt.close(figure)


def test_a_name_stands_where_its_curve_leaves_the_panel():
    figure = figure_of(lowest=2e-9)
    (text,) = figure.axes[1].texts
    last = X[1e-6 / X**3 >= 2e-9][-1]
    assert text.xy == pytest.approx((last, 1e-6 / last**3), rel=1e-6)
    assert last < X[-1]
    assert figure.axes[1].get_ylim()[0] > 1e-10
    plt.close(figure)


def test_marks_are_shown_with_what_they_are():
    figure = figure_of(marks={"right": [(10.0, 1e-3, "aim")]})
    assert "aim" in [t.get_text() for t in figure.axes[1].texts]
    assert "aim" not in [t.get_text() for t in figure.axes[0].texts]
    assert figure.axes[1].get_ylim()[1] > 1e-3
    plt.close(figure)


def test_what_is_published_is_what_is_drawn():
    figure = figure_of(marks={"right": [(10.0, 1e-3, "aim")]})
    table = curves_table(PANELS)
    assert len(table) == 3 * X.size
    line = table[(table["panel"] == "left") & (table["curve"] == "root")]
    np.testing.assert_allclose(line["y"], np.sqrt(X), rtol=1e-6)
    again = redraw(table, recipe_of(figure))
    for axes, other in zip(figure.axes, again.axes, strict=True):
        assert [t.get_text() for t in axes.texts] == [t.get_text() for t in other.texts]
        for one, two in zip(axes.lines, other.lines, strict=True):
            np.testing.assert_array_equal(one.get_xydata(), two.get_xydata())
    plt.close("all")


LINE = (X, X)


@pytest.mark.parametrize(
    ("panels", "options", "message"),
    [
        (PANELS, {"log": "x"}, r"log='x' is unknown; allowed: 'xy', 'y', ''"),
        ({}, {}, r"panels=\[\] are 0; allowed: 1 to 8"),
        ({title: {"line": LINE} for title in "abcdefghi"}, {}, r"panels=.* are 9; allowed: 1 to 8"),
        ({"left": {}}, {}, r"panels=\['left'\] have 0 curves in 'left'; allowed: 1 to 6"),
        ({"left": dict.fromkeys("abcdefg", LINE)}, {}, r"7 curves in 'left'; allowed: 1 to 6"),
        ({"left": {"line": (X, X[1:])}}, {}, r"in 'line'; allowed: two rows of one length"),
        ({"left": {"line": ([], [])}}, {}, r"in 'line'; allowed: two rows of one length"),
        (PANELS, {"lowest": 1.0}, r"lowest=1.0 is above all of 'fall'; allowed: at most 1e-06"),
        (PANELS, {"marks": {"midst": []}}, r"marks=\['midst'\] .* allowed: 'left', 'right'"),
    ],
)
def test_what_cannot_be_drawn_in_full_is_refused(panels, options, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        curves_figure(panels, x_label="x", y_label="y", **options)
    assert plt.get_fignums() == before
