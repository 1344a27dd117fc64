"""Figures of elimination: a run whose epochs are the program's, all settings, ratios, failures."""

import numpy as np
import pytest
from figure_checks import boxes_of, check_apart
from figure_tables import DRAWINGS

import dpbandits as dpb
from companion.figures import elimination
from companion.figures.redraw import recipe_of, redraw
from companion.figures.screen import NARROW, WIDE, screen_figure

C2, T = dpb.instances.ss19("C2"), 10**6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.01, 0.25])
def test_a_run_is_that_of_the_program(seed, epsilon):
    algorithm, (one, other) = dpb.DPSE(epsilon), (np.random.default_rng(seed) for _ in range(2))
    table = elimination.elimination_epochs(algorithm, C2, T, one)
    played = algorithm.draw(C2, T, np.array([T]), other, how="reference")
    epochs = table[table.epoch > 0]
    assert sorted(set(epochs.stop)) == list(played.epoch_ends)
    last = table[table.epoch == 0]
    assert list(last.stop) == [T] * len(last)
    pulls = np.zeros(5)
    for _, rows in table.groupby("start"):  # in turn: the first arms have what is left over
        length = int(rows.stop.iloc[0]) - int(rows.start.iloc[0]) + 1
        turns, rest = divmod(length, len(rows))
        pulls[rows.arm] += turns + (np.arange(len(rows)) < rest)
    assert pulls.tolist() == played.counts[-1].tolist()
    dropped = epochs[epochs.released < epochs.line]
    assert set(dropped.arm) == set(range(5)) - set(last.arm)


def test_the_patient_is_in_one_released_mean():
    table = elimination.elimination_epochs(dpb.DPSE(0.25), C2, T, np.random.default_rng(0))
    options = {"titles": {"a": "x", "b": "y"}, "rates": list("abcde"), "patient": (7, 1)}
    figure = elimination.elimination_run_figure(table, **options)
    red = [
        line.get_ydata()[0]
        for line in figure.axes[1].get_lines()
        if line.get_color() == elimination.PATIENT
    ]
    first = table[(table.epoch == 1) & (table.arm == 1)].released
    assert red == list(first)
    assert len(figure.artists) == 1, "one arrow"
    alone = redraw(table, recipe_of(figure), panels=["b"])
    assert len(alone.axes) == 1 and not alone.artists
    for width in (WIDE, NARROW):
        assert b"<svg" in screen_figure(lambda: redraw(table, recipe_of(figure)), width)


def test_a_frame_marks_where_the_baseline_wins():
    drawing = DRAWINGS["settings"]
    table = drawing.table()
    final = table.algorithm.eq("DP-UCB") & table.panel.eq("b")
    worse = table.assign(mean=table["mean"].where(~final, 1e-3 * table["mean"]))
    for data, framed in ((table, False), (worse, True)):
        first, second = drawing(data).axes
        assert second.spines["top"].get_visible() is framed
        assert not first.spines["top"].get_visible()


def test_ratios_hold_every_number_of_arms():
    drawing = DRAWINGS["ratios"]
    table = drawing.table()
    (axes,) = drawing(table).axes
    for pair, rows in table.groupby("pair"):
        edges = rows.groupby("epsilon").ratio.agg(["min", "max"])
        lines = [tuple(np.round(line.get_ydata(), 9)) for line in axes.get_lines()]
        for edge in ("min", "max"):
            assert tuple(np.round(edges[edge], 9)) in lines, pair
    levels = [line.get_ydata()[0] for line in axes.get_lines() if len(set(line.get_ydata())) == 1]
    assert {1.0, 5.0} <= set(levels)


@pytest.mark.parametrize("name", ["rare failures", "ratios"])
def test_texts_are_apart(name):
    figure = DRAWINGS[name]()
    box = boxes_of(figure)
    check_apart([box(text) for axes in figure.axes for text in axes.texts], figure.bbox)
