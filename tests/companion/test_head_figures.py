"""Head to head: tables of curves, tails and maps, and figures that are drawn from them alone."""

import itertools
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy import stats

import dpbandits as dpb
from companion.figures import comparison as head
from companion.figures.comparison import (
    MapCell,
    Place,
    identification_map,
    identification_map_table,
    learnt,
    map_figure,
    means_of,
    race_figure,
    race_table,
    regret_map,
    regret_map_table,
    tail_figure,
    tail_table,
)
from companion.figures.redraw import recipe_of, redraw
from companion.ranking import Best, Estimate, best_in_each
from companion.tables import from_csv, to_csv

T, RUNS = 2_000, 3
TITLES = {"a": "one", "b": "two"}
PRIVATE = (dpb.DPSE, dpb.AnytimeLazyUCB, dpb.DPKLUCB, dpb.DPIMED)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def two_arms(gap):
    return dpb.instances.equal_gaps(2, gap)


@pytest.fixture(scope="module")
def curves():
    cases = {}
    for panel, epsilon in (("a", 0.1), ("b", 1.0)):
        for kind in PRIVATE:
            cases[panel, "gap 0.3", 2, epsilon, kind(epsilon).label, ""] = kind(epsilon)
        cases[panel, "gap 0.3", 2, math.inf, "UCB", ""] = dpb.UCB()
        interval = dpb.DPUCBInt.calibrated(epsilon, math.exp(-10), T)
        cases[panel, "gap 0.3", 2, epsilon, interval.label, "(ε, δ)"] = interval
    return dpb.simulate_many({key: (a, two_arms(0.3)) for key, a in cases.items()}, T, RUNS)


@pytest.fixture(scope="module")
def tails():
    cases = {}
    for panel, epsilon in (("a", 0.1), ("b", 1.0)):
        for calibrated, variant in ((True, ""), (False, "d_ε")):
            algorithm = dpb.DPIMED(epsilon, calibrated=calibrated)
            key = panel, "gap 0.3", 2, epsilon, algorithm.label, variant
            cases[key] = algorithm, two_arms(0.3)
    return dpb.simulate_many(cases, T, 80)


@pytest.fixture(scope="module")
def cells():
    cases = {
        (panel, f"gap {gap:g}", 2, epsilon, kind(epsilon).label, ""): (
            kind(epsilon),
            two_arms(gap),
            horizon,
        )
        for panel, horizon in (("a", 100), ("b", 10_000))
        for gap in (0.1, 0.3)
        for epsilon in (0.1, 1.0)
        for kind in PRIVATE
    }
    return dpb.simulate_many(cases, n_runs=4)


@pytest.fixture(scope="module")
def times():
    cases = {}
    for panel, delta in (("a", 0.1), ("b", 0.001)):
        for gap, epsilon in itertools.product((0.1, 0.3), (0.1, 1.0)):
            for kind in (dpb.DPTT, dpb.DPSEIdentifier, dpb.DPLRE):
                rule = kind(epsilon, delta)
                key = panel, f"gap {gap:g}", 2, epsilon, delta, rule.label, ""
                cases[key] = rule, two_arms(gap)
    return dpb.identify_many(cases, 4)


def drawings(figure):
    """Return all that stands in the panels of a figure, as numbers and words."""
    return [
        (
            axes.get_title(loc="left"),
            [line.get_xydata().tolist() for line in axes.get_lines()],
            [path.vertices.tolist() for c in axes.collections for path in c.get_paths()],
            [(p.get_xy(), p.get_facecolor(), p.get_hatch()) for p in axes.patches],
            [(text.get_text(), text.get_position()) for text in axes.texts],
        )
        for axes in figure.axes
    ]


@pytest.mark.parametrize("kind", ["curves", "tails", "cells", "times"])
def test_a_file_holds_all_that_its_figure_shows(kind, request):
    make, draw = {
        "curves": (race_table, race_figure),
        "tails": (tail_table, tail_figure),
        "cells": (regret_map_table, regret_map),
        "times": (identification_map_table, identification_map),
    }[kind]
    table = make(request.getfixturevalue(kind))
    figure = draw(table, titles=TITLES)
    again = redraw(from_csv(to_csv(table)), recipe_of(figure))
    assert drawings(again) == drawings(figure)
    (one,) = draw(table, titles=TITLES, panels=["b"]).axes
    assert len(one.get_lines()) == len(figure.axes[1].get_lines())
    assert len(one.texts) == len(figure.axes[1].texts)
    with pytest.raises(ValueError, match="panel='z' is unknown"):
        draw(table, titles=TITLES, panels=["z"])


def test_curves_are_the_means_with_their_intervals(curves):
    table = race_table(curves)
    figure = race_figure(table, titles=TITLES)
    for axes, panel in zip(figure.axes, TITLES, strict=True):
        here = {key: runs for key, runs in curves.items() if key[0] == panel}
        assert len(axes.get_lines()) == len(axes.collections) == len(here) == 6
        for line, band, runs in zip(axes.get_lines(), axes.collections, here.values(), strict=True):
            low, high = runs.mean_interval()
            times, mean = line.get_xydata().T
            at = np.searchsorted(runs.times, times)
            assert times[0] >= 100 and times[-1] == T
            assert np.allclose(mean, runs.mean()[at], rtol=1e-4)
            assert np.allclose(np.max(band.get_paths()[0].vertices[:, 1]), high[at].max(), 1e-3)
            assert (low[at] <= mean * (1 + 1e-4)).all()
        names = {text.get_text() for text in axes.texts}
        assert {"INT, (ε, δ)", "UCB, no privacy", "DP-IMED", "DP-SE"} <= names and len(names) == 6


def test_tails_are_shares_of_runs(tails):
    table = tail_table(tails)
    figure = tail_figure(table, titles=TITLES)
    for axes, panel in zip(figure.axes, TITLES, strict=True):
        here = [runs for key, runs in tails.items() if key[0] == panel]
        for line, runs in zip(axes.get_lines(), here, strict=True):
            finals = runs.regret[:, -1]
            assert line.get_xdata()[-1] == pytest.approx(finals.max(), rel=1e-6)
            for regret, share in line.get_xydata()[-20:]:  # the greatest are all there
                assert share >= np.mean(finals >= regret * (1 + 1e-6)) - 1e-6
                assert share <= np.mean(finals >= regret * (1 - 1e-6)) + 1e-6
    assert (table["low"] < table["share"]).all() and (table["share"] <= table["high"]).all()
    last = table[table["share"] == 1 / 80].iloc[0]
    interval = stats.binomtest(1, 80).proportion_ci(0.95)
    assert (last["low"], last["high"]) == pytest.approx(tuple(interval), rel=1e-5)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["DP-IMED", "DP-IMED with $d_ε$"]


def test_means_of_a_map_are_those_of_its_runs(cells, times):
    found = means_of(regret_map_table(cells))
    assert len(found) == 8
    for (panel, _, _, epsilon, algorithm, _), runs in cells.items():
        expected = Estimate.of(runs.regret[:, -1])
        place = Place(panel, epsilon, round(float(runs.instance.gaps.max()), 9))
        estimate = found[place][algorithm]
        assert estimate.mean == pytest.approx(expected.mean, rel=1e-6)
        assert estimate.error == pytest.approx(expected.error, rel=1e-6)
        assert estimate.n_runs == 4
    found = means_of(identification_map_table(times))
    for (panel, _, _, epsilon, _, algorithm, _), one in times.items():
        expected = Estimate.of(one.stopping_time)
        place = Place(panel, epsilon, round(float(one.instance.gaps.max()), 9))
        assert found[place][algorithm].mean == pytest.approx(expected.mean, rel=1e-6)
        assert found[place][algorithm].error == pytest.approx(expected.error, rel=1e-6)


def test_what_is_learnt(cells):
    told = learnt(regret_map_table(cells))
    for place, is_so in told.items():
        least = min(
            runs.mean()[-1]
            for key, runs in cells.items()
            if (key[0], key[3]) == place[:2] and math.isclose(runs.instance.gaps.max(), place.gap)
        )
        assert is_so == (least <= 0.5 * {"a": 100, "b": 10_000}[place.panel] * place.gap / 2)
    assert set(told.values()) == {True, False}, "both are there at this size"


@pytest.mark.parametrize("kind", ["cells", "times"])
def test_maps_have_a_cell_for_each_setting(kind, request):
    results = request.getfixturevalue(kind)
    regret = kind == "cells"
    table = (regret_map_table if regret else identification_map_table)(results)
    draw = regret_map if regret else identification_map
    best = best_in_each(means_of(table))
    figure = draw(table, titles=TITLES)
    for axes, panel in zip(figure.axes, TITLES, strict=True):
        texts = [text.get_text() for text in axes.texts]
        here = [b for place, b in best.items() if place.panel == panel]
        assert len(texts) == 2 * len(here) == 8
        starts = sorted(text[:2] for text in texts[::2])
        assert starts == sorted(head.CODES[b.names[0]] for b in here)
    left_out = "DP-IMED" if regret else "DP-LRE"
    assert any(head.CODES[left_out] in t.get_text() for a in figure.axes for t in a.texts)
    rest = draw(table, titles=TITLES, without=[left_out])
    assert not any(head.CODES[left_out] in t.get_text() for a in rest.axes for t in a.texts)
    with pytest.raises(ValueError, match="without='no such' is unknown"):
        draw(table, titles=TITLES, without=["no such"])
    if regret:
        assert "T = $10^{4}$" in figure.axes[1].get_title(loc="left")


def test_looks_can_be_told_apart_without_colour():
    looks = list(head.HEAD_LOOKS.values())
    for a, b in itertools.combinations(looks, 2):
        assert (a.line, a.marker) != (b.line, b.marker)
    for name in head.CODES:
        assert head.fill_of(name) != head.fill_of("no such algorithm")
    assert len(set(head.CODES.values())) == len(head.CODES)


def test_a_tie_is_hatched_and_what_is_not_learnt_is_grey():
    win, two = Best(("DP-IMED",), 3.0, 1.0), Best(("DP-IMED", "DP-SE"), 1.1, 1.0)
    many = Best(("DP-SE", "DP-IMED", "DP-KLUCB"), 1.0, 1.0)
    cells = [
        MapCell(0.1, 1, win, "×3.0"),
        MapCell(1.0, 1, two, "×1.1"),
        MapCell(10.0, 1, many, "×1.0"),
        MapCell(100.0, 1, win, "×3.0", faint=True),
    ]
    figure = map_figure({"a": "t"}, {"a": cells}, x_label="x", y_label="y", faint="nothing")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts[::2]] == ["IM", "IM/SE", "SE+2", "IM"]
    fills = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_hatch()]
    assert len(fills) == 4 and len(axes.patches) == 6, "two are hatched"
    colours = [p.get_facecolor()[:3] for p in fills]
    assert colours[0] == colours[1] == head.fill_of("DP-IMED")
    assert colours[3] == to_rgb("0.93") != colours[0]
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["SE  DP-SE", "IM  DP-IMED", "undecided", "nothing"]


def test_an_algorithm_without_a_look_is_drawn():
    best = Best(("Own idea", "DP-SE"), 1.1, 1.0)
    cells = {"a": [MapCell(0.1, 1, best, "×1.1")]}
    figure = map_figure({"a": "t"}, cells, x_label="x", y_label="y")
    assert figure.axes[0].texts[0].get_text() == "Ow/SE"
    assert figure.legends[0].get_texts()[0].get_text() == "Ow  Own idea"
