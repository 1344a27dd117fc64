"""Figures: complete, readable, the same to the byte, and without effect on other figures."""

import itertools
import re

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from dpbandits import experiments, plotting
from dpbandits.plotting import figures, style

NAMES = [
    name
    for name, e in experiments.EXPERIMENTS.items()
    if e.table.kind == "regret"
    and e.axis != "spread"  # which has labels of its own
    and not e.axis.startswith("heavy")  # whose rows have limits of their own
    and e.axis not in ("head-map", "head-tail")  # which have no curves with names at their ends
]


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(NAMES, preset="smoke")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def boxes(figure):
    """Boxes of the labels at the curves' ends, by panel, and the box of the figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    by_panel = [
        [
            Text.get_window_extent(text, renderer)  # without the line to the curve
            for text in axes.texts
            if text.arrow_patch is not None
        ]
        for axes in figure.axes
    ]
    return by_panel, figure.bbox


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_figure(smoke, name):
    figure = plotting.regret_figure(smoke.subset(name), theory=True)
    experiment = experiments.EXPERIMENTS[name]
    assert len(figure.axes) == len(experiment.panels)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"({panel})  {title}" for panel, title in experiment.panels.items()]
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)
    assert "(units of reward)" in figure.get_supylabel() or experiment.axis == "ratio"
    assert figure.axes[-1].get_xlabel()
    by_panel, whole = boxes(figure)
    for labels in by_panel:
        assert len(labels) >= 3
        for a, b in itertools.combinations(labels, 2):
            assert not a.overlaps(b)
        for box in labels:
            assert whole.x0 <= box.x0
            assert box.x1 <= whole.x1
            assert whole.y0 <= box.y0
            assert box.y1 <= whole.y1
    left = {round(axes.get_position().x0, 6) for axes in figure.axes}
    assert len(left) <= 2
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_are_the_means(smoke, scale):
    part = smoke.subset("ss19-fig2")
    figure = plotting.regret_figure(part, scale=scale, panels=["b"], epochs=False)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "ε = 0.5 and 1"
    assert axes.get_yscale() == scale
    drawn = [line.get_ydata() for line in axes.get_lines()]
    expected = [runs.mean() for _, runs in part.select(panel="b")]
    assert len(drawn) == len(expected) == 4
    assert all(map(np.array_equal, drawn, expected))


def test_epochs_and_theory_are_options(smoke):
    part = smoke.subset("ss19-fig2")
    counts = {
        (epochs, theory): len(
            plotting.regret_figure(part, epochs=epochs, theory=theory).axes[0].get_lines()
        )
        for epochs in (False, True)
        for theory in (False, True)
    }
    assert counts[False, True] == 2 * counts[False, False] == 8
    assert counts[True, False] > counts[False, False]


def test_stored_data_gives_the_same_figure(smoke, tmp_path):
    part = smoke.subset("ss19-fig2")
    experiments.write(part, tmp_path)
    paths = [
        plotting.save_vector(plotting.regret_figure(source), tmp_path / f"{i}.svg")
        for i, source in enumerate([part, part, experiments.load("ss19-fig2", tmp_path)])
    ]
    live, again, stored = (path.read_bytes() for path in paths)
    assert live == again
    assert len(stored) == pytest.approx(len(live), rel=0.01)  # numbers have 7 digits there
    text = live.decode()
    assert "<dc:date>" not in text
    assert str(tmp_path) not in text
    assert re.search(r"fill: #ffffff", text)


def test_settings_do_not_leak(smoke):
    before = dict(mpl.rcParams)
    plotting.regret_figure(smoke.subset("ss19-fig1"))
    assert dict(mpl.rcParams) == before


def test_curves_can_be_told_apart_in_grey():
    def grey(look):
        r, g, b = to_rgb(look.colour)
        return 0.299 * r + 0.587 * g + 0.114 * b

    looks = [look for pair in figures._BY_BUDGET.values() for look in pair]
    for a, b in itertools.combinations(looks, 2):
        assert a.line != b.line or (a.width != b.width and abs(grey(a) - grey(b)) > 0.15)
    baselines = [look for _, look in figures._BASELINES.values()]
    assert len({look.marker for look in baselines}) == len(baselines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": "cubic"}, "scale='cubic' is unknown; allowed: 'log', 'linear'"),
        ({"panels": ["z"]}, "panel='z' is unknown; allowed: 'a', 'b'"),
    ],
)
def test_bad_arguments(smoke, change, message):
    with pytest.raises(ValueError, match=message):
        plotting.regret_figure(smoke.subset("ss19-fig1"), **change)


def test_bad_sources(smoke):
    with pytest.raises(ValueError, match="allowed: one experiment"):
        plotting.regret_figure(smoke)
    with pytest.raises(ValueError, match="source='fig1' is unknown"):
        plotting.regret_figure("fig1")


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8).map(sorted), st.floats(0.1, 12))
def test_spread(targets, distance):
    moved = style.spread(targets, distance, 0, 100)
    assert np.all(np.diff(moved) >= distance - 1e-9)
    assert moved[0] >= -1e-9
    assert moved[-1] <= 100 + 1e-9
    if np.all(np.diff(targets) > distance):
        np.testing.assert_allclose(moved, targets)
