"""Head to head: what tables of curves, tails and maps say, and what their figures show."""

import math

import numpy as np
import pytest
from figure_tables import DRAWINGS, HORIZONS, TITLES, long_runs, map_runs, map_times, races
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy import stats

from companion.figures.comparison import (
    CODES,
    MapCell,
    Place,
    fill_of,
    identification_map_table,
    learnt,
    map_figure,
    means_of,
    regret_map_table,
)
from companion.ranking import Best, Estimate, best_in_each


def test_curves_are_the_means_with_their_intervals():
    curves, figure = races(), DRAWINGS["race"]()
    for axes, panel in zip(figure.axes, TITLES, strict=True):
        here = [runs for key, runs in curves.items() if key[0] == panel]
        for line, band, runs in zip(axes.get_lines(), axes.collections, here, strict=True):
            times, mean = line.get_xydata().T
            at = np.searchsorted(runs.times, times)
            high = runs.mean_interval()[1][at].max()
            assert times[0] >= 100 and times[-1] == 2000
            assert np.allclose(mean, runs.mean()[at], rtol=1e-4)
            assert np.allclose(np.max(band.get_paths()[0].vertices[:, 1]), high, 1e-3)
        names = {text.get_text() for text in axes.texts}
        assert {"INT, (ε, δ)", "UCB, no privacy", "DP-IMED", "DP-SE"} <= names and len(names) == 6


def test_tails_are_shares_of_runs():
    tails, table, figure = long_runs(), DRAWINGS["regret tails"].table(), DRAWINGS["regret tails"]()
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


def test_means_of_a_map_are_those_of_its_runs():
    cells, times = map_runs(), map_times()
    regrets, lengths = means_of(regret_map_table(cells)), means_of(identification_map_table(times))
    assert len(regrets) == 8
    samples = [(regrets, key, key[4], runs, runs.regret[:, -1]) for key, runs in cells.items()]
    samples += [(lengths, key, key[5], runs, runs.stopping_time) for key, runs in times.items()]
    for found, (panel, _, _, epsilon, *_), algorithm, runs, sample in samples:
        place = Place(panel, epsilon, round(float(runs.instance.gaps.max()), 9))
        assert vars(found[place][algorithm]) == pytest.approx(vars(Estimate.of(sample)), rel=1e-6)


def test_what_is_learnt():
    cells = map_runs()
    told = learnt(regret_map_table(cells))
    for place, is_so in told.items():
        least = min(
            runs.mean()[-1]
            for key, runs in cells.items()
            if (key[0], key[3]) == place[:2] and math.isclose(runs.instance.gaps.max(), place.gap)
        )
        assert is_so == (least <= 0.5 * HORIZONS[place.panel] * place.gap / 2)
    assert set(told.values()) == {True, False}, "both are there at this size"


@pytest.mark.parametrize("regret", [True, False])
def test_maps_have_a_cell_for_each_setting(regret):
    draw = DRAWINGS["map of regret" if regret else "map of times"]
    best = best_in_each(means_of(draw.table()))
    figure = draw()
    for axes, panel in zip(figure.axes, TITLES, strict=True):
        texts = [text.get_text() for text in axes.texts]
        here = [b for place, b in best.items() if place.panel == panel]
        assert len(texts) == 2 * len(here) == 8
        starts = sorted(text[:2] for text in texts[::2])
        assert starts == sorted(CODES[b.names[0]] for b in here)
    left_out = "DP-IMED" if regret else "DP-LRE"
    assert any(CODES[left_out] in t.get_text() for a in figure.axes for t in a.texts)
    rest = draw(without=[left_out])
    assert not any(CODES[left_out] in t.get_text() for a in rest.axes for t in a.texts)
    with pytest.raises(ValueError, match="without='no such' is unknown"):
        draw(without=["no such"])
    if regret:
        assert "T = $10^{4}$" in figure.axes[1].get_title(loc="left")


def test_a_tie_is_hatched_and_what_is_not_learnt_is_grey():
    win, two = Best(("DP-IMED",), 3.0), Best(("DP-IMED", "DP-SE"), 1.1)
    many = Best(("DP-SE", "DP-IMED", "DP-KLUCB"), 1.0)
    cells = [
        MapCell(0.1, 1, win, "×3.0"),
        MapCell(1.0, 1, two, "×1.1"),
        MapCell(10.0, 1, many, "×1.0"),
        MapCell(100.0, 1, win, "×3.0", faint=True),
    ]
    figure = map_figure({"a": "t"}, {"a": cells}, x_label="x", y_label="y", faint="nothing")
    (axes,) = figure.axes
    assert all(fill_of(name) != fill_of("no such algorithm") for name in CODES)
    assert len(set(CODES.values())) == len(CODES)
    assert [text.get_text() for text in axes.texts[::2]] == ["IM", "IM/SE", "SE+2", "IM"]
    fills = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_hatch()]
    assert len(fills) == 4 and len(axes.patches) == 6, "two are hatched"
    colours = [p.get_facecolor()[:3] for p in fills]
    assert colours[0] == colours[1] == fill_of("DP-IMED")
    assert colours[3] == to_rgb("0.93") != colours[0]
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["SE  DP-SE", "IM  DP-IMED", "undecided", "nothing"]


def test_an_algorithm_without_a_look_is_drawn():
    best = Best(("Own idea", "DP-SE"), 1.1)
    cells = {"a": [MapCell(0.1, 1, best, "×1.1")]}
    figure = map_figure({"a": "t"}, cells, x_label="x", y_label="y")
    assert figure.axes[0].texts[0].get_text() == "Ow/SE"
    assert figure.legends[0].get_texts()[0].get_text() == "Ow  Own idea"
