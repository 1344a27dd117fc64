"""Figures: drawn from their tables alone, complete, readable, without effect on other figures."""

import functools
import itertools
import json
import re

import matplotlib as mpl
import numpy as np
import pytest
from figure_checks import boxes_of, grey
from figure_tables import DRAWINGS
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

import dpbandits as dpb
from companion.figures import comparison, curves_figure, regret, stopping
from companion.figures.curves import curves_table
from companion.figures.redraw import recipe_of, redraw
from companion.tables import from_csv, to_csv
from dpbandits import plotting
from dpbandits.plotting import style

MAPS = ("map of regret", "map of times")
OF_REGRET = ("time", "budget", "horizon", "arms", "ratios", "rare failures")
IN_PANELS = [name for name in DRAWINGS if "titles" in DRAWINGS[name].options and name != "settings"]
WITH_THEORY = ("mean", "alpha", "epsilon", "beta", "deviation", "slopes", "failures")


NOT_BY_PLACE = {"ratios", "complications", *MAPS}
"""Figures whose numbers are colours, or are put together before they are drawn."""


@functools.cache
def table_of(name):
    return DRAWINGS[name].table()


@functools.cache
def drawn(name):
    """Draw a figure once for all tests that only look at it."""
    return DRAWINGS[name](table_of(name))


# --------------------------------------------------------------------------------- every figure


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_published_file_gives_the_same_picture(name, tmp_path):
    """To the byte: a CSV has 7 digits, of numbers that tables have rounded to as many."""
    table, first = table_of(name), drawn(name)
    text, recipe = to_csv(table), json.loads(json.dumps(recipe_of(first)))
    assert len(text) < 200_000
    again = redraw(from_csv(text), recipe)
    files = [
        plotting.save_vector(figure, tmp_path / f"{i}.svg").read_text("utf-8")
        for i, figure in enumerate((first, again))
    ]
    assert files[0] == files[1]
    assert "<dc:date>" not in files[0] and str(tmp_path) not in files[0]
    assert re.search(r"fill: #ffffff", files[0])
    if name not in NOT_BY_PLACE:
        return  # the control is that of the next test
    column = DRAWINGS[name].columns[0]
    other = table.assign(**{column: table[column] * (1 - 0.3 * (np.arange(len(table)) % 2))})
    path = plotting.save_vector(DRAWINGS[name](other), tmp_path / "other.svg")
    assert path.read_text("utf-8") != files[0], "control: other numbers"


def coordinates(figure):
    """All numbers at which lines, points, bands and cells of a figure stand, in order."""
    found = []
    for axes in figure.axes:
        found += [line.get_xydata() for line in axes.get_lines()]
        for each in axes.collections:
            found += [path.vertices for path in each.get_paths()]
            found += [each.get_offsets(), [] if each.get_array() is None else each.get_array()]
    numbers = np.concatenate([np.asarray(each, dtype=float).ravel() for each in found])
    return np.unique(numbers[np.isfinite(numbers)])


def stands_there(values, numbers):
    values = np.asarray(values, dtype=float)[np.isfinite(values)]
    after = np.clip(np.searchsorted(numbers, values), 1, numbers.size - 1)
    off = np.minimum(np.abs(numbers[after] - values), np.abs(numbers[after - 1] - values))
    return off <= 1e-6 * np.abs(values)


@pytest.mark.parametrize("name", sorted({*DRAWINGS} - NOT_BY_PLACE))
def test_every_number_of_the_table_is_drawn(name):
    drawing, table = DRAWINGS[name], table_of(name)
    numbers = coordinates(drawn(name))
    for column in drawing.columns:
        assert np.isfinite(table[column]).any() and stands_there(table[column], numbers).all()
        assert not stands_there(1e-5 + 1.00001 * table[column], numbers).all(), "control"


@pytest.mark.parametrize("name", IN_PANELS)
def test_panels_are_chosen_by_name(name):
    drawing = DRAWINGS[name]
    table, titles, figure = table_of(name), drawing.options["titles"], drawn(name)
    shown = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    shown = list(filter(None, shown))
    assert len(shown) == len(titles)
    for place, (panel, title) in enumerate(titles.items()):
        assert re.fullmatch(rf"(\({panel}\)  )?{re.escape(title)}(, T = .*)?", shown[place])
    assert (
        name in ("schedules", "heavy tails", "complications", "blocks")
        or len({a.get_ylim() for a in figure.axes}) == 1
    )
    assert figure.axes[-1].get_xlabel() or figure.get_supxlabel()
    last = list(titles)[-1]
    *_, one = drawing(table, panels=[last]).axes
    assert len(one.get_lines()) == len(figure.axes[-1].get_lines())
    assert len(one.texts) == len(figure.axes[-1].texts)
    with pytest.raises(ValueError, match="panel='z' is unknown; allowed: 'a'"):
        drawing(table, panels=["z"])


def test_settings_do_not_leak():
    before = dict(mpl.rcParams)
    for name in ("time", "mean", "ratio", "failures", "slopes", "race"):
        DRAWINGS[name]()
    assert dict(mpl.rcParams) == before


def boxes(figure):
    """Where the texts of a figure stand: at curves' ends, in legends, on axes."""
    box = boxes_of(figure)
    texts = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
    for axes in figure.axes:
        texts += [*axes.texts, axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            labels = [label for t in ticks for label in (t.label1, t.label2)]
            texts += [label for label in labels if label.get_visible()]
    return [(text.get_text(), box(text)) for text in texts if text.get_text()]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in OF_REGRET),
        *((name, {"theory": theory}) for name in WITH_THEORY for theory in (False, True)),
    ],
)
def test_texts_are_inside_and_apart(name, options):
    figure = DRAWINGS[name](**options)
    found = boxes(figure)
    assert len(found) > 6
    for (first, a), (second, b) in itertools.combinations(found, 2):
        assert not a.overlaps(b), (first, second)
    for text, box in found:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1, text


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8).map(sorted), st.floats(0.1, 12))
def test_labels_are_spread(targets, distance):
    moved = style.spread(targets, distance, 0, 100)
    assert np.all(np.diff(moved) >= distance - 1e-9)
    assert moved[0] >= -1e-9 and moved[-1] <= 100 + 1e-9
    if np.all(np.diff(targets) > distance):
        np.testing.assert_allclose(moved, targets)


def test_curves_can_be_told_apart_in_grey():
    looks = [look for pair in regret.BUDGET_LOOKS.values() for look in pair]
    for a, b in itertools.combinations(looks, 2):
        assert a.line != b.line or (a.width != b.width and abs(grey(a) - grey(b)) > 0.15)
    kinds = (dpb.NAS, dpb.DPNAS, dpb.DPExponentialNAS, dpb.EBGStop, dpb.DPBernsteinStop)
    kinds += (dpb.DPPromisedStop,)
    free = f"{dpb.DPExponentialNAS.label}, ε = ∞"
    assert {*stopping.RULE_LOOKS} == {free, *(kind.label for kind in kinds)}
    rules = stopping.RULE_LOOKS.values()
    assert len({(look.line, look.marker) for look in rules}) == len(rules)
    assert len({look.colour for label, look in stopping.RULE_LOOKS.items() if label != free}) == 6
    for a, b in itertools.combinations(comparison.HEAD_LOOKS.values(), 2):
        assert (a.line, a.marker) != (b.line, b.marker)


# ------------------------------------------------------------------------------ regret over time


def test_epochs_and_theory_are_options():
    counts = {
        (epochs, theory): len(DRAWINGS["time"](epochs=epochs, theory=theory).axes[0].get_lines())
        for epochs, theory in itertools.product((False, True), repeat=2)
    }
    assert counts[False, True] == 2 * counts[False, False] == 8
    assert counts[True, False] > counts[False, False]


@pytest.mark.parametrize("name", ["time", "heavy tails"])
def test_scales(name):
    for scale in ("log", "linear"):
        assert DRAWINGS[name](scale=scale).axes[0].get_yscale() == scale
    with pytest.raises(ValueError, match="scale='cubic' is unknown; allowed: 'log', 'linear'"):
        DRAWINGS[name](scale="cubic")


# -------------------------------------------------------------------------------------- curves

X = np.geomspace(1, 100, 9)
LINE = (X, X)
CURVES = {"left": {"line": LINE, "root": (X, np.sqrt(X))}, "right": {"fall": (X, 1e-6 / X**3)}}


def figure_of(**options):
    return curves_figure(CURVES, x_label="x (steps)", y_label="y (units)", **options)


def test_every_computed_curve_is_drawn_named_and_published():
    figure, table = figure_of(marks={"right": [(10.0, 1e-3, "aim")]}), curves_table(CURVES)
    assert len(table) == 3 * X.size
    again = redraw(table, recipe_of(figure))
    assert [a.get_title(loc="left") for a in figure.axes] == ["(a)  left", "(b)  right"]
    for axes, other, (title, curves) in zip(figure.axes, again.axes, CURVES.items(), strict=True):
        marks = {"aim"} if title == "right" else set()
        assert {t.get_text() for t in axes.texts} == {*curves} | marks
        for line, copy in zip(axes.lines, other.lines, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), copy.get_xydata())
        for line, (x, y) in zip(axes.lines, curves.values(), strict=False):
            np.testing.assert_allclose(line.get_xydata(), np.column_stack([x, y]), rtol=1e-6)
        looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.lines}
        assert len(looks) == len(axes.lines)
    assert figure.axes[1].get_ylim()[1] > 1e-3


def test_a_name_stands_where_its_curve_leaves_the_panel():
    figure = figure_of(lowest=2e-9)
    (text,) = figure.axes[1].texts
    last = X[1e-6 / X**3 >= 2e-9][-1]
    assert text.xy == pytest.approx((last, 1e-6 / last**3), rel=1e-6)
    assert last < X[-1]
    assert figure.axes[1].get_ylim()[0] > 1e-10


@pytest.mark.parametrize(
    ("panels", "options", "message"),
    [
        (CURVES, {"log": "x"}, r"log='x' is unknown; allowed: 'xy', 'y', ''"),
        ({}, {}, r"panels=\[\] are 0; allowed: 1 to 8"),
        ({title: {"line": LINE} for title in "abcdefghi"}, {}, r"panels=.* are 9; allowed: 1 to 8"),
        ({"left": {}}, {}, r"panels=\['left'\] have 0 curves in 'left'; allowed: 1 to 6"),
        ({"left": dict.fromkeys("abcdefg", LINE)}, {}, r"7 curves in 'left'; allowed: 1 to 6"),
        ({"left": {"line": (X, X[1:])}}, {}, r"in 'line'; allowed: two rows of one length"),
        ({"left": {"line": ([], [])}}, {}, r"in 'line'; allowed: two rows of one length"),
        (CURVES, {"lowest": 1.0}, r"lowest=1.0 is above all of 'fall'; allowed: at most 1e-06"),
        (CURVES, {"marks": {"midst": []}}, r"marks=\['midst'\] .* allowed: 'left', 'right'"),
    ],
)
def test_what_cannot_be_drawn_in_full_is_refused(panels, options, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        curves_figure(panels, x_label="x", y_label="y", **options)
    assert plt.get_fignums() == before
