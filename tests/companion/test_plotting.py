"""Figures of regret: complete, readable, the same to the byte, without effect on other figures."""

import itertools
import math
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

import dpbandits as dpb
from companion.figures import regret
from companion.tables import curve, records, tabulate
from dpbandits import plotting
from dpbandits.plotting import style

T, RUNS = 20_000, 3
LABELS = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")
ARMS = {k: dpb.instances.ss19("C2", k) for k in (3, 5)}
C2 = ARMS[5]


def played(cases):
    """Play algorithms by panel, K, ε and variant."""
    keyed = {
        (panel, "C2", k, eps, algorithm.label, variant, *rest): (algorithm, ARMS[k])
        for (panel, k, eps, variant, *rest), algorithm in cases
    }
    return dpb.simulate_many(keyed, T, RUNS)


def over_time():
    cases = [
        ((panel, 5, eps, ""), kind(eps))
        for panel, budgets in {"a": (0.1, 0.25), "b": (0.5, 1.0)}.items()
        for eps in budgets
        for kind in (dpb.DPSE, dpb.DPUCB)
    ]
    return tabulate(played(cases), lambda r: curve(r, epochs=True, bound=True), LABELS)


def over_epsilon():
    cases = [
        ((panel, 5, eps, ""), algorithm)
        for panel in "ab"
        for eps, algorithm in (
            (math.inf, dpb.UCB()),
            (math.inf, dpb.SuccessiveElimination()),
            *((eps, kind(eps)) for eps in (0.1, 1.0) for kind in (dpb.DPSE, dpb.DPUCB)),
        )
    ]
    return tabulate(played(cases), lambda r: r.final(), LABELS)


def over_horizon():
    told = {
        ("a", "C2", 5, 1.0, "DP-SE", "told T", t): (dpb.DPSE(1.0), C2, t) for t in (2000, 20_000)
    }
    guess = {
        ("a", "C2", 5, 1.0, "DP-SE", growth, T): (dpb.GuessAndDouble(dpb.DPSE(1.0), growth), C2, T)
        for growth in ("double", "square")
    }
    runs = dpb.simulate_many({**told, **guess}, n_runs=RUNS)
    return tabulate(
        runs,
        lambda r: r.final() if r.algorithm.label == "DP-SE" else curve(r, first=2000),
        (*LABELS, "horizon"),
    )


def over_arms():
    cases = [
        ((panel, k, eps, variant), dpb.DPSE(eps / (k - 1) if variant else eps))
        for panel, k, eps, variant in itertools.product("ab", ARMS, (0.25, 1.0), ("", "ε/(K−1)"))
    ]
    return tabulate(played(cases), lambda r: r.final(), LABELS)


def ratios():
    variants = dpb.regret.dp_ucb.DPUCB_VARIANTS
    cases = [
        (("a", k, eps, variant), dpb.DPUCB(eps, variant) if variant else dpb.DPSE(eps))
        for k, eps, variant in itertools.product(ARMS, (0.1, 0.25, 1.0), ("", *variants))
    ]
    return tabulate(played(cases), lambda r: r.final(), LABELS)


KINDS = {
    regret.regret_over_time: over_time,
    regret.regret_over_epsilon: over_epsilon,
    regret.regret_over_horizon: over_horizon,
    regret.regret_over_arms: over_arms,
    regret.ratios_to_baselines: ratios,
}


@pytest.fixture(scope="module")
def table():
    return over_time()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def draw(table, **options):
    return regret.regret_over_time(table, titles={"a": "low ε", "b": "high ε"}, **options)


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


@pytest.mark.parametrize("function", KINDS, ids=lambda function: function.__name__)
def test_a_figure_is_complete_and_readable(function):
    made = KINDS[function]()
    panels = list(dict.fromkeys(made["panel"]))
    figure = function(made, titles={panel: f"panel {panel}" for panel in panels})
    assert len(figure.axes) == len(panels)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert all(title.endswith(f"panel {p}") for title, p in zip(titles, panels, strict=True))
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)
    expected = "regret of DP-UCB" if function is regret.ratios_to_baselines else "(units of reward)"
    assert expected in figure.get_supylabel()
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
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_are_the_means(table, scale):
    figure = draw(table, scale=scale, panels=["b"], epochs=False)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "high ε"
    assert axes.get_yscale() == scale
    drawn = [line.get_ydata() for line in axes.get_lines()]
    expected = [line.mean for line in records(table, LABELS, panel="b")]
    assert len(drawn) == len(expected) == 4
    assert all(map(np.array_equal, drawn, expected))


def test_epochs_and_theory_are_options(table):
    counts = {
        (epochs, theory): len(draw(table, epochs=epochs, theory=theory).axes[0].get_lines())
        for epochs in (False, True)
        for theory in (False, True)
    }
    assert counts[False, True] == 2 * counts[False, False] == 8
    assert counts[True, False] > counts[False, False]


def test_the_same_table_gives_the_same_file(table, tmp_path):
    paths = [plotting.save_vector(draw(table), tmp_path / f"{i}.svg") for i in range(2)]
    first, again = (path.read_text("utf-8") for path in paths)
    assert first == again
    assert "<dc:date>" not in first
    assert str(tmp_path) not in first
    assert re.search(r"fill: #ffffff", first)


def test_settings_do_not_leak(table):
    before = dict(mpl.rcParams)
    draw(table)
    assert dict(mpl.rcParams) == before


def test_curves_can_be_told_apart_in_grey():
    def grey(look):
        r, g, b = to_rgb(look.colour)
        return 0.299 * r + 0.587 * g + 0.114 * b

    looks = [look for pair in regret.BUDGET_LOOKS.values() for look in pair]
    for a, b in itertools.combinations(looks, 2):
        assert a.line != b.line or (a.width != b.width and abs(grey(a) - grey(b)) > 0.15)
    baselines = [look for _, look in regret.BASELINE_LOOKS.values()]
    assert len({look.marker for look in baselines}) == len(baselines)


def test_an_unknown_scale_is_refused(table):
    with pytest.raises(ValueError, match="scale='cubic' is unknown; allowed: 'log', 'linear'"):
        draw(table, scale="cubic")


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8).map(sorted), st.floats(0.1, 12))
def test_spread(targets, distance):
    moved = style.spread(targets, distance, 0, 100)
    assert np.all(np.diff(moved) >= distance - 1e-9)
    assert moved[0] >= -1e-9
    assert moved[-1] <= 100 + 1e-9
    if np.all(np.diff(targets) > distance):
        np.testing.assert_allclose(moved, targets)
