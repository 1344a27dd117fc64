"""Figures of stopping rules: they show the table, the bounds, and nothing that overlaps."""

import dataclasses
import itertools
import math

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import dpbandits as dpb
from dpbandits import bounds, experiments, plotting
from dpbandits.plotting import RULE_LOOKS, stopping_map, stopping_parts, stopping_slopes

NAMES = [name for name, e in experiments.EXPERIMENTS.items() if e.table.kind == "stopping"]
SWEEPS = [f"ours-stopping-{axis}" for axis in ("mean", "alpha", "epsilon", "beta", "variance")]
RULE = "DP-exp-NAS"


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(NAMES, preset="smoke")


@pytest.fixture(scope="module")
def stored(smoke, tmp_path_factory):
    """Each experiment as data from the disk, which can be changed."""
    folder = tmp_path_factory.mktemp("data")
    for name in NAMES:
        experiments.write(smoke.subset(name), folder)
    return {name: experiments.load(name, folder) for name in NAMES}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def changed(data, change, **labels):
    """Data with another summary wherever the labels are as given."""

    def new(summary):
        chosen = all(getattr(summary, name) == value for name, value in labels.items())
        return dataclasses.replace(summary, **change(summary)) if chosen else summary

    return dataclasses.replace(data, summaries=tuple(map(new, data.summaries)))


def measured(axes, rule):
    """The curve with the rule's markers."""
    (line,) = (
        line
        for line in axes.get_lines()
        if line.get_marker() == RULE_LOOKS[rule].marker and len(line.get_xdata()) > 1
    )
    return line


def labels_at_ends(axes):
    return {text.get_text(): text for text in axes.texts if getattr(text, "arrow_patch", None)}


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_figure(smoke, name):
    figure = plotting.draw(smoke.subset(name))
    panels = experiments.EXPERIMENTS[name].panels
    axes = figure.axes[: len(panels)]
    if len(panels) > 1:
        titles = [a.get_title(loc="left") for a in axes]
        assert titles == [f"({panel})  {title}" for panel, title in panels.items()]
        assert len({a.get_ylim() for a in axes}) == len({a.get_xlim() for a in axes}) == 1
        assert figure.get_supylabel()
    else:
        assert list(panels.values()) == [text.get_text() for text in figure.texts]
        assert axes[0].get_ylabel()
    assert axes[-1].get_xlabel()
    assert {a.get_yscale() for a in axes} == {"log"}
    assert {a.get_xscale() for a in axes} == {"linear" if name.endswith("error") else "log"}
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)


@pytest.mark.parametrize("name", [*NAMES, "slopes"])
@pytest.mark.parametrize("theory", [False, True])
def test_texts_are_inside_and_apart(smoke, name, theory):
    if name == "slopes":
        figure = plotting.slopes_figure(smoke.subset("ours-stopping-mean"), theory=theory)
    else:
        figure = plotting.stopping_figure(smoke.subset(name), theory=theory)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
    for axes in figure.axes:
        texts += [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        texts += [axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            texts += [t.label1 for t in ticks if t.label1.get_visible()]
            texts += [t.label2 for t in ticks if t.label2.get_visible()]
    boxes = [
        (text.get_text(), Text.get_window_extent(text, renderer))  # without the line to the curve
        for text in texts
        if text.get_text()
    ]
    assert len(boxes) > 10
    for (first, a), (second, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), (first, second)
    for text, box in boxes:
        assert figure.bbox.x0 <= box.x0, text
        assert box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0, text
        assert box.y1 <= figure.bbox.y1, text


@pytest.mark.parametrize("name", SWEEPS)
def test_curves_and_bands_are_those_of_the_table(smoke, name):
    part = smoke.subset(name)
    figure = plotting.stopping_figure(part)
    for panel, axes in zip(experiments.EXPERIMENTS[name].panels, figure.axes, strict=True):
        rows = [s for s in part.summaries() if s.panel == panel]
        free_level = name == "ours-stopping-epsilon"
        rules = sorted({s.rule for s in rows} - ({"NAS"} if free_level else set()))
        assert len(rules) >= 2
        corners = [
            round(y, 6)
            for band in axes.collections
            for path in band.get_paths()
            for _, y in path.vertices
        ]
        for rule in rules:
            mine = [s for s in rows if s.rule == rule]
            drawn = measured(axes, rule)
            assert sorted(drawn.get_ydata()) == sorted(s.mean_samples for s in mine)
            assert drawn.get_color() == RULE_LOOKS[rule].colour
            for s in mine:
                assert s.samples_q05 in corners
                assert s.samples_q95 in corners
            axis = name.rpartition("-")[2]
            if axis != "variance":
                expected = sorted((getattr(s, axis), s.mean_samples) for s in mine)
                at = [tuple(pair) for pair in zip(*drawn.get_data(), strict=True)]
                assert np.array(at) == pytest.approx(np.array(expected))


def test_a_rule_without_budget_is_level_over_budgets(smoke):
    part = smoke.subset("ours-stopping-epsilon")
    (axes,) = plotting.stopping_figure(part, panels=["b"], theory=False).axes
    (free,) = (s for s in part.summaries() if s.panel == "b" and s.rule == "NAS")
    levels = [
        (line.get_xdata(), line.get_ydata())
        for line in axes.get_lines()
        if line.get_color() == RULE_LOOKS["NAS"].colour
    ]
    ((x, y),) = levels
    budgets = [s.epsilon for s in part.summaries() if math.isfinite(s.epsilon)]
    assert (x[0], x[-1]) == (min(budgets), max(budgets))
    assert set(y) == {free.mean_samples}


def test_a_changed_table_changes_the_picture(stored):
    data = stored["ours-stopping-mean"]

    def later(summary):
        return {"mean_samples": 3 * summary.mean_samples}

    where = {"panel": "b", "rule": "DP-NAS", "mean": 0.1}
    new = changed(data, later, **where)
    (before,), (after,) = (
        plotting.stopping_figure(source, panels=["b"]).axes for source in (data, new)
    )
    old_y, new_y = (measured(axes, "DP-NAS").get_ydata() for axes in (before, after))
    assert np.array_equal(new_y / old_y, [3, 1])
    for rule in ("NAS", RULE):
        assert np.array_equal(*(measured(axes, rule).get_ydata() for axes in (before, after)))


def test_a_setting_that_has_not_halted_is_left_out(stored):
    def unknown(summary):
        names = ("mean_samples", "samples_q05", "samples_q50", "samples_q95")
        return {**dict.fromkeys(names, math.nan), "halted": 0}

    data = changed(stored["ours-stopping-mean"], unknown, panel="a", rule="DP-NAS", mean=0.5)
    (axes,) = plotting.stopping_figure(data, panels=["a"]).axes
    assert np.isfinite(measured(axes, "DP-NAS").get_ydata()).tolist() == [True, False]
    assert labels_at_ends(axes)["DP-NAS"].xy[0] == pytest.approx(0.1)
    assert np.all(np.isfinite([*axes.get_ylim(), *axes.get_xlim()]))


# ---------------------------------------------------------------------------------- theory


def test_upper_bound_and_noiseless_time_are_drawn(smoke):
    part = smoke.subset("ours-stopping-mean")
    with_theory, without = (
        plotting.stopping_figure(part, panels=["c"], theory=theory).axes[0]
        for theory in (True, False)
    )
    rule = dpb.DPExponentialNAS(epsilon=0.01, alpha=0.5, beta=0.05)
    curves = {
        tuple(line.get_ydata()): line.get_xdata()
        for line in with_theory.get_lines()
        if line.get_color() == RULE_LOOKS[RULE].colour and len(line.get_xdata()) > 10
    }
    assert len(curves) == 2
    for function in (rule.noiseless_time, lambda mean: bounds.stopping_samples(rule, mean)):
        assert any(y == tuple(function(float(mean)) for mean in x) for y, x in curves.items())
    assert len(with_theory.get_lines()) == len(without.get_lines()) + 4
    assert set(labels_at_ends(with_theory)) - set(labels_at_ends(without)) == {
        "upper bound",
        "no rule",
        "no ε-DP rule",
    }


def test_regions_are_the_lower_bounds(smoke):
    part = smoke.subset("ours-stopping-mean")
    (axes,) = plotting.stopping_figure(part, panels=["d"]).axes
    edges = [line for line in axes.get_lines() if line.get_color() == "0.45"]
    law = dpb.instances.two_point
    expected = [
        lambda mean: bounds.stopping_lower_bound(law(mean), 0.5, 0.05),
        lambda mean: bounds.stopping_complexity_lower_bound(law(mean), 0.5, 0.05, 0.001),
    ]
    heights = []
    for edge, function in zip(edges, expected, strict=True):
        x, y = edge.get_data()
        assert y == pytest.approx([function(float(mean)) for mean in x])
        heights.append(y[-1])
    ends = {rule: measured(axes, rule).get_ydata()[-1] for rule in ("NAS", "DP-NAS", RULE)}
    assert heights[0] < ends["NAS"] < heights[1]  # it is not private
    assert min(ends["DP-NAS"], ends[RULE]) > heights[1]
    filled = [
        (path.vertices[:, 1].max(), band.get_facecolor()[0][0])
        for band in axes.collections
        for path in band.get_paths()
        if len(set(band.get_facecolor()[0][:3])) == 1 and band.get_facecolor()[0][0] > 0
    ]
    assert [round(shade, 2) for _, shade in filled] == [0.8, 0.91]  # darker: for all rules


@pytest.mark.parametrize("name", SWEEPS)
def test_no_private_rule_is_drawn_inside_a_region(smoke, name):
    for axes in plotting.stopping_figure(smoke.subset(name)).axes:
        edges = [line for line in axes.get_lines() if line.get_color() == "0.45"]
        assert edges
        for rule in ("DP-NAS", RULE):
            for x, y in zip(*measured(axes, rule).get_data(), strict=True):
                for edge in edges:
                    assert y > np.interp(x, edge.get_xdata(), edge.get_ydata(), right=0)


def test_where_private_and_other_rules_can_do_the_same_there_is_one_region(smoke):
    figure = plotting.stopping_figure(smoke.subset("ours-stopping-alpha"))
    assert ["no ε-DP rule" in labels_at_ends(axes) for axes in figure.axes] == [False, True]


@pytest.mark.parametrize("mean", [0.5, 0.02, 1e-4])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, math.inf])
def test_smooth_time_is_between_looks(mean, epsilon):
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS):
        rule = kind(epsilon, 0.5, 0.05)
        last = rule.noiseless_time(mean)
        before = last - 1 if kind is dpb.DPNAS else last // 2
        assert before <= stopping_parts.smooth_time(rule, mean) <= last * (1 + 1e-8)


# -------------------------------------------------------------------------------- the map


def test_map_shows_ratios_to_the_twin(smoke):
    part = smoke.subset("ours-stopping-overhead")
    axes, _ = plotting.stopping_figure(part).axes
    (mesh,) = axes.collections
    rows = [s for s in part.summaries() if s.rule == RULE]
    twin = {s.mean: s.mean_samples for s in rows if math.isinf(s.epsilon)}
    ratio = {(s.epsilon, s.mean): s.mean_samples / twin[s.mean] for s in rows}
    budgets, means = (0.1, 1.0), (0.1, 0.5)
    drawn = np.asarray(mesh.get_array()).reshape(2, 2)
    assert drawn.tolist() == [[ratio[e, m] for m in means] for e in budgets]
    cells = {text.get_position(): text.get_text() for text in axes.texts[:4]}
    for epsilon, mean in itertools.product(budgets, means):
        assert float(cells[mean, epsilon]) == pytest.approx(ratio[epsilon, mean], rel=0.05)
    assert max(drawn.flat) > 2 * min(drawn.flat)
    assert mesh.get_cmap().name == "cividis"


def test_a_changed_table_changes_the_map(stored):
    data = stored["ours-stopping-overhead"]

    def longer(summary):
        return {"mean_samples": 1000 * summary.mean_samples}

    new = changed(data, longer, rule=RULE, epsilon=0.1, mean=0.5)
    texts = [
        [text.get_text() for text in plotting.stopping_figure(source).axes[0].texts[:4]]
        for source in (data, new)
    ]
    pairs = [(a, b) for a, b in zip(*texts, strict=True) if a != b]
    ((before, after),) = pairs
    assert float(after) == pytest.approx(1000 * float(before), rel=0.06)


@pytest.mark.parametrize("level", [2, 10])
def test_lines_on_the_map_have_their_level(smoke, level):
    axes, _ = plotting.stopping_figure(smoke.subset("ours-stopping-overhead")).axes
    rule = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    for mean in (0.4, 0.01):
        budget = stopping_map.budget_for(rule, mean, level)
        # the rounding to looks, powers of 2, changes a ratio by a factor below 2
        free = dataclasses.replace(rule, epsilon=math.inf).noiseless_time(mean)
        less, more = (
            dataclasses.replace(rule, epsilon=budget * factor).noiseless_time(mean) / free
            for factor in (0.25, 4.0)
        )
        assert more <= level <= less
        assert more < less
    end = labels_at_ends(axes)[f"{level} times"].xy
    assert end[1] == pytest.approx(stopping_map.budget_for(rule, end[0], level))
    assert labels_at_ends(axes)["ε = α|μ|"].xy[1] == pytest.approx(0.5 * end[0])


# ------------------------------------------------------------------------------ the errors


def test_errors_are_shown_with_their_intervals(stored):
    data = stored["ours-stopping-error"]

    def none(summary):
        return {"error_rate": 0.0, "error_low95": 0.0, "error_high95": 0.004}

    def some(summary):
        return {"error_rate": 0.01, "error_low95": 0.002, "error_high95": 0.03}

    panel = {"panel": "b"}
    clean = changed(data, none, **panel)
    mixed = changed(clean, some, rule="DP-NAS", alpha=0.9, beta=0.2, **panel)
    for source, failures in ((clean, 0), (mixed, 1)):
        (axes,) = plotting.stopping_figure(source, panels=["b"]).axes
        arrows = [line for line in axes.get_lines() if line.get_marker() == "v"]
        markers = {look.marker for look in RULE_LOOKS.values()}
        points = [line for line in axes.get_lines() if line.get_marker() in markers]
        n_settings = sum(s.panel == "b" for s in data.summaries)
        assert len(points) == n_settings
        assert len(arrows) == n_settings - failures
        hollow = [p for p in points if p.get_markerfacecolor() == "white"]
        assert {float(p.get_ydata()[0]) for p in hollow} == {0.004}  # the intervals' upper ends
        assert all(0 < a.get_ydata()[0] < 0.004 for a in arrows)
        filled = [p for p in points if p not in hollow]
        assert [float(p.get_ydata()[0]) for p in filled] == [0.01] * failures
        bars = [sorted(line.get_ydata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
        assert bars.count([0.002, 0.03]) == failures
        assert bars.count([0.05, 0.05]) == bars.count([0.2, 0.2]) == 1  # what is allowed
    (axes,) = plotting.stopping_figure(clean, panels=["b"], theory=False).axes
    assert [0.05, 0.05] not in [sorted(line.get_ydata()) for line in axes.get_lines()]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["α=0.5", "α=0.9"] * 2
    assert [text.get_text() for text in axes.texts] == ["β = 0.05", "β = 0.2"]
    (about,) = (t for t in axes.figure.legends[1].get_texts() if "no run failed" in t.get_text())
    assert about.get_visible()


# ------------------------------------------------------------------------------ the slopes


def test_slopes_of_means_and_of_the_condition(smoke):
    part = smoke.subset("ours-stopping-mean")
    figure = plotting.slopes_figure(part)
    for panel, axes in zip("abcd", figure.axes, strict=True):
        for rule in ("NAS", "DP-NAS", RULE):
            far, near = (
                next(
                    s.mean_samples
                    for s in part.summaries()
                    if (s.panel, s.rule, s.mean) == (panel, rule, mean)
                )
                for mean in (0.5, 0.1)
            )
            (point,) = (
                line for line in axes.get_lines() if line.get_marker() == RULE_LOOKS[rule].marker
            )
            slope = math.log(far / near) / math.log(5)
            assert point.get_ydata() == pytest.approx([slope])
            assert point.get_xdata() == pytest.approx([math.sqrt(0.05)])
    levels = [
        line.get_ydata()[0] for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2
    ]
    assert {-1.0, -2.0} <= set(levels)


def test_slopes_go_from_two_to_one():
    def slope(epsilon, mean):
        return stopping_slopes._slope(dpb.DPExponentialNAS(epsilon, 0.5, 0.05), mean)

    assert slope(1.0, 1e-4) == pytest.approx(-2, abs=0.05)  # the samples' randomness
    assert slope(1e-5, 0.3) == pytest.approx(-1, abs=0.05)  # the noise
    assert -1.8 < slope(0.01, 0.02) < -1.2


# ------------------------------------------------------------------------------ the rest


def test_rules_can_be_told_apart_in_grey():
    looks = RULE_LOOKS.values()
    assert {*RULE_LOOKS} == {dpb.NAS.label, dpb.DPNAS.label, RULE, dpb.EBGStop.label}
    for name in ("colour", "line", "marker"):
        assert len({getattr(look, name) for look in looks}) == len(RULE_LOOKS)


def test_stored_data_gives_the_same_figure(smoke, stored, tmp_path):
    for name in (f"ours-stopping-{axis}" for axis in ("beta", "overhead", "error")):
        paths = [
            plotting.save_vector(plotting.draw(source), tmp_path / f"{i}.svg")
            for i, source in enumerate([smoke.subset(name), smoke.subset(name), stored[name]])
        ]
        plt.close("all")
        live, again, loaded = (path.read_bytes() for path in paths)
        assert live == again
        assert len(loaded) == pytest.approx(len(live), rel=0.01)  # numbers have 7 digits there


def test_settings_do_not_leak(smoke):
    before = dict(mpl.rcParams)
    plotting.stopping_figure(smoke.subset("ours-stopping-overhead"))
    plotting.slopes_figure(smoke.subset("ours-stopping-mean"))
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("draw", [plotting.stopping_figure, plotting.slopes_figure])
def test_bad_arguments(smoke, draw):
    with pytest.raises(ValueError, match="panel='z' is unknown; allowed: 'a', 'b', 'c', 'd'"):
        draw(smoke.subset("ours-stopping-mean"), panels=["z"])
    with pytest.raises(ValueError, match="source='mean' is unknown"):
        draw("mean")
    with pytest.raises(ValueError, match="allowed: one experiment"):
        draw(smoke)
    regret = experiments.run("ss19-fig1", preset="smoke")
    with pytest.raises(ValueError, match="source='ss19-fig1' is on regret; allowed"):
        draw(regret)


def test_slopes_are_those_of_one_experiment(smoke):
    with pytest.raises(ValueError, match="source='ours-stopping-beta' .* allowed: ours-stopping-m"):
        plotting.slopes_figure(smoke.subset("ours-stopping-beta"))
