"""The experiments after Tossou & Dimitrakakis: settings, honest privacy, data, figures."""

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, PRESETS
from dpbandits.experiments.td16_catalogue import TD16_DELTA, TD16_GRIDS
from dpbandits.plotting import readings
from dpbandits.privacy import PrivacyGuarantee, basic_composition, epsilon_at
from dpbandits.regret.dp_ucb import DPUCB_VARIANTS
from dpbandits.regret.intervals import input_of

IDS = ("td16-fig2", "td16-spread", "ours-td16-honest")
PANELS = {"a": ("two", 1.0), "b": ("two", 0.1), "c": ("ten", 1.0), "d": ("ten", 0.1)}
T = 100_000


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(IDS, preset="smoke")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# ------------------------------------------------------------------------------- settings


def test_the_grids_are_those_of_the_presets():
    assert TD16_GRIDS.keys() == PRESETS.keys()
    assert (TD16_GRIDS["paper"].horizon, TD16_GRIDS["paper"].n_runs) == (T, 100)
    assert [name for name in EXPERIMENTS if "td16" in name] == list(IDS)


@pytest.mark.parametrize("name", IDS)
def test_panels_are_those_of_the_paper(name):
    experiment = EXPERIMENTS[name]
    assert list(experiment.panels) == list(PANELS)
    assert experiment.axis == ("spread" if name == "td16-spread" else "time")
    for setting in experiment.settings("paper"):
        instance, epsilon = PANELS[setting.panel]
        assert experiment.panels[setting.panel] == f"{instance} arms, ε = {epsilon:g}"
        assert setting.instance == instance
        assert setting.cell.instance == dpb.instances.td16(instance)
        assert setting.n_arms == setting.cell.instance.n_arms
        assert (setting.cell.horizon, setting.cell.n_runs) == (T, 100)
        assert setting.epsilon == (math.inf if setting.algorithm == "UCB" else epsilon)


def published(epsilon):
    """Readings of §4 and of the pseudo-codes, by hand."""
    x = dpb.DPUCBInt.target_input(epsilon, math.exp(-10), 1.1)
    yield ("UCB", ""), dpb.UCB("per-step")
    for variant, constants in (
        ("ε/K", "mishra-thakurta"),
        ("ε per arm", "mishra-thakurta-parallel"),
    ):
        algorithm = dpb.DPUCB(epsilon, constants, "per-step", failure_power=4)
        yield ("Private-UCB", variant), algorithm
    yield ("DP-UCB-HYBRID", "full"), dpb.DPUCBHybrid(epsilon, split="full")
    yield ("DP-UCB-HYBRID", "half"), dpb.DPUCBHybrid(epsilon)
    yield ("DP-UCB-HYBRID", "no bonus"), dpb.DPUCBHybrid(epsilon, literal=True, split="full")
    yield ("DP-UCB-BOUND", "full"), dpb.DPUCBBound(epsilon, split="full")
    yield ("DP-UCB-BOUND", "half"), dpb.DPUCBBound(epsilon)
    yield ("DP-UCB-BOUND", "no bonus"), dpb.DPUCBBound(epsilon, ucb_term=False, split="full")
    for reading in ("refreshed", "frozen", "literal"):
        yield ("DP-UCB-INT", reading), dpb.DPUCBInt(x, reading)


def by_name(experiment, panel, preset="paper"):
    return {
        (s.algorithm, s.variant): s.cell.algorithm
        for s in EXPERIMENTS[experiment].settings(preset)
        if s.panel == panel
    }


@pytest.mark.parametrize("panel", PANELS)
def test_figure_2_has_every_reading(panel):
    assert list(by_name("td16-fig2", panel).items()) == list(published(PANELS[panel][1]))


def test_the_spread_is_that_of_the_same_cells():
    spread, figure = EXPERIMENTS["td16-spread"], EXPERIMENTS["td16-fig2"]
    assert spread.cells() == figure.cells()
    assert len(figure.settings()) == 4 * 12 and len(figure.cells()) == 4 * 12 - 2  # UCB twice
    assert [s.labels for s in spread.settings()] == [s.labels for s in figure.settings()]


# ------------------------------------------------------------------------- honest privacy


def holds(algorithm, horizon):
    """ε at δ = e^(−10) of the first `horizon` pulls, from the losses of the releases."""
    if isinstance(algorithm, dpb.DPUCB):
        levels = algorithm.tree(10, horizon).levels
        loss = algorithm.tree(10, horizon).epsilon / levels
        return epsilon_at(TD16_DELTA, [loss] * levels).upper
    if isinstance(algorithm, dpb.DPUCBInt):
        return algorithm.guarantee_at(horizon, TD16_DELTA).epsilon
    assert algorithm.guarantee.delta == 0
    return algorithm.guarantee.epsilon


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_called_honest_is(preset):
    horizon = TD16_GRIDS[preset].horizon
    for panel, (_, epsilon) in PANELS.items():
        every = by_name("ours-td16-honest", panel, preset)
        assert Counter(name for name, _ in every) == {
            **dict.fromkeys(("UCB", "DP-SE", "Private-UCB", "DP-UCB"), 1),
            **{"DP-UCB-HYBRID": 1, "DP-UCB-BOUND": 1, "DP-UCB-INT": 2},
        }
        del every["UCB", ""]
        for name, algorithm in every.items():
            assert holds(algorithm, horizon) <= epsilon, name
            if name != ("DP-UCB-INT", "interval"):  # f is a whole number
                assert holds(algorithm, horizon) >= epsilon * (1 - 1e-5), name


def test_what_is_published_is_not():
    """Negative control: what the paper's readings have, by the same function."""
    for panel, (_, epsilon) in PANELS.items():
        every = by_name("td16-fig2", panel)
        above = {name for name, a in every.items() if name[0] != "UCB" and holds(a, T) > epsilon}
        assert above == {
            *(
                (name, v)
                for name in ("DP-UCB-HYBRID", "DP-UCB-BOUND")
                for v in ("full", "no bonus")
            ),
            *(("DP-UCB-INT", reading) for reading in ("refreshed", "frozen", "literal")),
        }
        tree = dpb.DPUCB.calibrated(epsilon, TD16_DELTA, T).epsilon
        assert holds(dpb.DPUCB(tree), T) <= epsilon < tree
        assert holds(dpb.DPUCB(tree * (1 + 2e-6)), T) > epsilon


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_delta_gives_nothing_to_hybrid_counters(epsilon):
    """Two releases of loss ε/2, which the third reward of a counter is in, have about ε."""
    counter = dpb.DPUCBHybrid(epsilon).counter
    two = [1 / counter.block_scale, 1 / counter.node_scale(1)]
    bracket = epsilon_at(TD16_DELTA, two)
    assert two == [epsilon / 2, epsilon / 2]
    assert epsilon + math.log1p(-4 * TD16_DELTA) <= bracket.lower
    assert 0.998 * epsilon < bracket.lower < bracket.upper <= epsilon
    # control: the many small losses of a tree do gain by δ
    assert epsilon_at(TD16_DELTA, [epsilon / 17] * 17).upper < 0.8 * epsilon


@pytest.mark.parametrize(
    ("epsilon", "interval", "noise", "widest"), [(1.0, 16, 1.8005, 44), (0.1, 147, 3.8774, 1300)]
)
def test_the_known_calibrations(epsilon, interval, noise, widest):
    noisy = dpb.DPUCBInt.calibrated(epsilon, TD16_DELTA, T)
    assert (noisy.interval, round(noisy.noise, 4)) == (interval, noise)
    wide = dpb.DPUCBInt.calibrated(epsilon, TD16_DELTA, T, by="interval")
    assert (wide.interval, wide.noise) == (widest, 1.0)
    for f, enough in ((widest, True), (widest - 1, False)):  # written out once more
        pulls = [j * f for j in range(1, T) if (j + 1) * f <= T - 1]
        bracket = epsilon_at(TD16_DELTA, [n**-0.55 for n in pulls])
        assert bracket.upper <= epsilon if enough else bracket.lower > epsilon


@pytest.mark.parametrize("reading", ["refreshed", "frozen", "literal"])
@pytest.mark.parametrize("by", ["noise", "interval"])
@pytest.mark.parametrize(
    ("epsilon", "horizon", "exponent"), [(0.5, 3000, 1.3), (5.0, 400, 1.1), (1e-3, 200, 1.5)]
)
def test_calibrations_hold_and_are_the_least(reading, by, epsilon, horizon, exponent):
    a = dpb.DPUCBInt.calibrated(epsilon, 1e-4, horizon, by, reading, exponent)
    assert (a.reading, a.exponent, a.delta) == (reading, exponent, 1e-4)
    assert a.guarantee_at(horizon) == PrivacyGuarantee(
        "global", a.guarantee_at(horizon).epsilon, 1e-4
    )
    assert a.guarantee_at(horizon).epsilon <= epsilon
    if by == "noise":
        assert a.interval == min(
            horizon, math.ceil(1 / min(dpb.DPUCBInt.target_input(epsilon, 1e-4, exponent), 1))
        )
        if a.losses(horizon).size:
            less = dpb.DPUCBInt(a.epsilon, reading, exponent, 1e-4, a.noise * (1 - 3e-5))
            assert less.guarantee_at(horizon).epsilon > epsilon
    else:
        assert a.noise == 1.0
        for f in {1, max(1, a.interval - 1), a.interval, min(a.interval + 19, horizon)}:
            tried = dpb.DPUCBInt(input_of(f), reading, exponent, 1e-4)
            assert (tried.guarantee_at(horizon).epsilon <= epsilon) == (f >= a.interval)


def test_without_a_release_there_is_no_noise():
    """T = 49, for which ⌈1/(1/T)⌉ is T + 1 by rounding."""
    a = dpb.DPUCBInt.calibrated(1e-4, 1e-4, 49)
    assert (a.interval, a.noise, a.losses(49).size) == (49, 1.0, 0)


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_calibrated_trees(variant):
    a = dpb.DPUCB.calibrated(0.5, 1e-4, 3000, variant, "per-step", 4)
    assert a == dpb.DPUCB(a.epsilon, variant, "per-step", 4.0)
    assert epsilon_at(1e-4, [a.epsilon / 12] * 12).upper <= 0.5
    assert epsilon_at(1e-4, [a.epsilon * (1 + 1e-5) / 12] * 12).upper > 0.5
    assert dpb.DPUCB.calibrated(0.5, 1e-4, 4095) == dpb.DPUCB(a.epsilon), "as many levels"


def test_a_wider_interval_has_no_loss_above_and_no_release_more():
    for reading in ("refreshed", "literal"):
        last = dpb.DPUCBInt(1.0, reading).losses(500)
        for f in range(2, 501):
            losses = dpb.DPUCBInt(input_of(f), reading).losses(500)
            assert losses.size <= last.size and np.all(losses <= last[: losses.size])
            last = losses
        assert basic_composition(last) == 0.0


def test_every_interval_has_an_input():
    for f in [*range(1, 20_000), *10 ** np.arange(5, 15), 2**40 + 1]:
        assert math.ceil(1 / input_of(int(f))) == f
    assert sum(math.ceil(1 / (1 / f)) != f for f in range(1, 20_000)) > 100, "control"


# ------------------------------------------------------------------------- data, figures


def test_data_say_what_was_computed(smoke, tmp_path):
    for name in IDS:
        part = smoke.subset(name)
        experiments.write(part, tmp_path)
        manifest = json.loads((tmp_path / f"{name}.json").read_text())
        grid = TD16_GRIDS["smoke"]
        assert (manifest["horizon"], manifest["n_runs"]) == (grid.horizon, grid.n_runs)
        data = experiments.load(name, tmp_path)
        assert [c.labels for c in data.curves] == [s.labels for s in part.settings]
    assert experiments.load("td16-spread", tmp_path).curves[0].times.size < 15
    other = experiments.run("ours-guess-and-double", "smoke")
    experiments.write(other, tmp_path)
    manifest = json.loads((tmp_path / "ours-guess-and-double.json").read_text())
    assert manifest["horizon"] == PRESETS["smoke"].horizon, "the settings have several"


@pytest.mark.parametrize("name", ["td16-fig2", "ours-td16-honest"])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_bands_and_bounds(smoke, name, scale):
    part = smoke.subset(name)
    for panel in PANELS:
        pairs = part.select(panel=panel)
        first = {}
        for setting, runs in pairs:
            first.setdefault(setting.algorithm, (setting, runs))
        for theory in (False, True):
            figure = plotting.draw(part, panels=[panel], scale=scale, theory=theory)
            (axes,) = figure.axes
            lines = axes.get_lines()
            thick = [line for line in lines if line.get_linewidth() > 1.5]
            assert len(lines) == len(pairs) + theory * len(first)
            assert len(axes.collections) == len(thick) == len(first)
            for (_, runs), line in zip(first.values(), thick, strict=True):
                assert np.array_equal(line.get_ydata(), runs.mean())
            assert {text.get_text() for text in axes.texts} == {
                readings.NAMES[s.algorithm, s.variant] for s, _ in pairs
            }
            assert len(axes.texts) == len(pairs)
        drawn = [line.get_ydata() for line in lines]
        for setting, runs in pairs:
            assert any(np.array_equal(runs.mean(), y) for y in drawn), setting
        for setting, runs in first.values():
            cell = setting.cell
            bound = cell.algorithm.regret_bound(cell.instance, cell.horizon, runs.times)
            assert any(np.array_equal(bound, y) for y in drawn), setting


def test_readings_can_be_told_apart_in_grey():
    def grey(look):
        r, g, b = to_rgb(look.colour)
        return 0.299 * r + 0.587 * g + 0.114 * b

    looks = [look for each in readings.ALGORITHM_LOOKS.values() for look in each]
    for a, b in itertools.combinations(looks, 2):
        assert a.line != b.line or (a.width != b.width and abs(grey(a) - grey(b)) > 0.15)
    assert len({look[0].colour for look in readings.ALGORITHM_LOOKS.values()}) == 7
    for main, *others in readings.ALGORITHM_LOOKS.values():
        assert all((o.colour, o.width < main.width) == (main.colour, True) for o in others)


def test_figures_of_ss19_are_drawn_as_before():
    part = experiments.run("ss19-fig1", "smoke")
    figure = plotting.regret_figure(part, panels=["b"], epochs=False)
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names == {"DP-SE, ε=0.5", "DP-UCB, ε=0.5", "DP-SE, ε=1", "DP-UCB, ε=1"}
    assert figure.get_size_inches()[1] < 3.5


def shown(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()

    def box(text):
        return Text.get_window_extent(text, renderer)

    return box, figure.bbox


@pytest.mark.parametrize("panels", [None, ["d"], ["a", "c"]])
def test_the_figure_of_the_spread(smoke, panels):
    part = smoke.subset("td16-spread")
    figure = plotting.draw(part, panels=panels)
    box, whole = shown(figure)
    assert len(figure.axes) == len(panels or PANELS)
    for place, (panel, axes) in enumerate(zip(panels or PANELS, figure.axes, strict=True)):
        pairs = part.select(panel=panel)
        whiskers, bars, dots = (axes.get_lines()[i::3] for i in range(3))
        numbers = [text for text in axes.texts if text.get_text() != "max − min"]
        assert len(numbers) == len(dots) == len(pairs) == 12
        for row, (_, runs) in enumerate(pairs):
            final = runs.regret[:, -1]
            assert whiskers[row].get_xdata().tolist() == [final.min(), final.max()]
            np.testing.assert_allclose(bars[row].get_xdata(), np.quantile(final, [0.05, 0.95]))
            assert dots[row].get_xdata()[0] == pytest.approx(final.mean())
            for part_of_row in (whiskers, bars, dots):
                assert set(part_of_row[row].get_ydata()) == {row}
            gap = numbers[row].get_text().replace("\u2009", "")
            assert int(gap) == pytest.approx(np.ptp(final), abs=0.51)
            ends = axes.transData.transform([(final.max(), row)])[0]
            assert ends[0] < box(numbers[row]).x0, "the number is off the line"
        names = axes.get_yticklabels()
        if place % 2 == 0:  # the right column has the rows of the left one
            assert [text.get_text() for text in names] == [
                readings.NAMES[s.algorithm, s.variant] for s, _ in pairs
            ]
        for texts in (names, axes.texts, axes.get_xticklabels()):
            for a, b in itertools.combinations(texts, 2):
                assert not box(a).overlaps(box(b)) or not (a.get_text() and b.get_text())
            for text in texts:
                assert not text.get_text() or whole.x0 <= box(text).x0 < box(text).x1 <= whole.x1
    assert "(units of reward)" in figure.axes[-1].get_xlabel()
    assert "5 000" in figure.axes[-1].get_xlabel()
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
