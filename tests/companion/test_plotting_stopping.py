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
from companion.figures import stopping
from companion.figures.redraw import recipe_of, redraw
from companion.figures.stopping import (
    RULE_LOOKS,
    THEORY,
    errors_figure,
    measured,
    overhead_figure,
    overhead_table,
    samples_figure,
    samples_table,
    slopes_figure,
    slopes_table,
    smooth_time,
)
from companion.tables import from_csv, to_csv
from dpbandits import bounds
from dpbandits.plotting.style import save_vector
from dpbandits.rewards.instances import low_variance, two_point

RULE = "DP-exp-NAS"
BUDGETS = {"a": 1.0, "b": 0.1, "c": 0.01, "d": 0.001}
TITLES = {panel: f"ε = {epsilon:g}" for panel, epsilon in BUDGETS.items()}
TWO = {"a": "first", "b": "second"}
LAW = two_point(0.1)


def rules(epsilon, alpha=0.5, beta=0.05):
    private = (kind(epsilon, alpha, beta) for kind in (dpb.DPNAS, dpb.DPExponentialNAS))
    return dpb.NAS(alpha, beta), *private


def doubling(epsilon):
    return dpb.DPExponentialNAS(epsilon, 0.5, 0.05)


def run(panels, n_runs=4):
    keys = [(panel, *pair) for panel, pairs in panels.items() for pair in pairs]
    return dpb.estimate_many({key: key[1:] for key in keys}, n_runs)


PANELS = {
    "mean": {
        panel: [(rule, two_point(mean)) for mean in (0.5, 0.1) for rule in rules(epsilon)]
        for panel, epsilon in BUDGETS.items()
    },
    "alpha": {
        panel: [(rule, LAW) for alpha in (0.3, 0.9) for rule in rules(epsilon, alpha=alpha)]
        for panel, epsilon in {"a": 0.1, "b": 0.01}.items()
    },
    "epsilon": {
        panel: [(dpb.NAS(0.5, 0.05), two_point(mean))]
        + [(rule, two_point(mean)) for epsilon in (0.1, 1.0) for rule in rules(epsilon)[1:]]
        for panel, mean in {"a": 0.3, "b": 0.03}.items()
    },
    "beta": {
        panel: [(rule, LAW) for beta in (0.01, 0.5) for rule in rules(epsilon, beta=beta)]
        for panel, epsilon in {"a": 0.1, "b": 0.01}.items()
    },
    "deviation": {
        panel: [
            (rule, law)
            for law in (low_variance(0.1, 0.01), low_variance(0.1, 0.5), LAW)
            for rule in (*rules(epsilon), dpb.EBGStop(0.5, 0.05))
        ]
        for panel, epsilon in {"a": 1.0, "b": 0.1}.items()
    },
}
SWEEPS = list(PANELS)
MAP = {"a": [(doubling(e), two_point(m)) for m in (0.5, 0.1) for e in (math.inf, 1.0, 0.1)]}
TOLD = {
    panel: [
        (rule, law) for a in (0.9, 0.5) for b in (0.05, 0.2) for rule in rules(1.0, alpha=a, beta=b)
    ]
    for panel, law in {"a": two_point(0.2), "b": low_variance(0.2, 0.01)}.items()
}


@pytest.fixture(scope="module")
def runs():
    return {over: run(panels) for over, panels in PANELS.items()}


@pytest.fixture(scope="module")
def tables(runs):
    made = {over: samples_table(found, over) for over, found in runs.items()}
    made["slopes"] = slopes_table(runs["mean"])
    made["overhead"] = overhead_table(run(MAP))
    made["error"] = measured(run(TOLD, n_runs=30))
    return made


def draw(name, table, **options):
    """Draw the table of that name."""
    if name == "overhead":
        return overhead_figure(table, title="times", **options)
    titles = TITLES if name in ("mean", "slopes") else TWO
    if name in SWEEPS:
        return samples_figure(table, over=name, titles=titles, **options)
    return {"slopes": slopes_figure, "error": errors_figure}[name](table, titles=titles, **options)


NAMES = [*SWEEPS, "slopes", "overhead", "error"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def changed(table, columns, **labels):
    """A table with other values wherever the labels are as given."""
    table = table.copy()
    chosen = np.all([table[name] == value for name, value in labels.items()], axis=0)
    assert chosen.any()
    for name, value in columns.items():
        table.loc[chosen, name] = value(table.loc[chosen, name]) if callable(value) else value
    return table


def curve(axes, rule):
    """The curve with the rule's markers."""
    (line,) = (
        line
        for line in axes.get_lines()
        if line.get_marker() == RULE_LOOKS[rule].marker and len(line.get_xdata()) > 1
    )
    return line


def labels_at_ends(axes):
    return {text.get_text(): text for text in axes.texts if getattr(text, "arrow_patch", None)}


# ------------------------------------------------------------------------------- all figures


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_titles_and_labels(tables, name):
    figure = draw(name, tables[name])
    titles = TITLES if name in ("mean", "slopes") else TWO
    if name == "overhead":
        axes = figure.axes[:1]
        assert [text.get_text() for text in figure.texts] == ["times"]
        assert axes[0].get_ylabel()
    else:
        axes = figure.axes
        shown = [a.get_title(loc="left") for a in axes]
        assert shown == [f"({panel})  {title}" for panel, title in titles.items()]
        assert len({a.get_ylim() for a in axes}) == len({a.get_xlim() for a in axes}) == 1
        assert figure.get_supylabel()
    assert axes[-1].get_xlabel()
    assert {a.get_yscale() for a in axes} == {"linear" if name == "slopes" else "log"}
    assert {a.get_xscale() for a in axes} == {"linear" if name == "error" else "log"}
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("theory", [False, True])
def test_texts_are_inside_and_apart(tables, name, theory):
    figure = draw(name, tables[name], theory=theory)
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


@pytest.mark.parametrize("name", NAMES)
def test_the_published_file_gives_the_same_picture(tables, name, tmp_path):
    """A CSV has 7 digits, of numbers that tables have rounded to as many."""
    first = draw(name, tables[name])
    text = to_csv(tables[name])
    assert len(text) < 60_000
    second = redraw(from_csv(text), recipe_of(first))
    one, two = (
        save_vector(figure, tmp_path / f"{i}.svg").read_bytes()
        for i, figure in enumerate([first, second])
    )
    assert one == two


def test_settings_do_not_leak(tables):
    before = dict(mpl.rcParams)
    for name in ("mean", "overhead", "error", "slopes"):
        draw(name, tables[name])
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["mean", "slopes", "error"])
def test_unknown_panels_are_refused(tables, name):
    with pytest.raises(ValueError, match="panel='z' is unknown; allowed: 'a', 'b'"):
        draw(name, tables[name], panels=["z"])


def test_an_unknown_parameter_is_refused(runs, tables):
    with pytest.raises(ValueError, match="over='gap' is unknown; allowed: 'mean', 'alpha'"):
        samples_table(runs["mean"], "gap")
    with pytest.raises(ValueError, match="over='gap' is unknown"):
        samples_figure(tables["mean"], over="gap", titles=TITLES)


def test_rules_can_be_told_apart_in_grey():
    looks = RULE_LOOKS.values()
    assert {*RULE_LOOKS} == {dpb.NAS.label, dpb.DPNAS.label, RULE, dpb.EBGStop.label}
    for name in ("colour", "line", "marker"):
        assert len({getattr(look, name) for look in looks}) == len(RULE_LOOKS)


# -------------------------------------------------------------------------- against a parameter


def test_a_table_says_what_was_run(runs, tables):
    for over, found in runs.items():
        table = tables[over]
        rows = table[table.rule != THEORY]
        assert len(rows) == len(found)
        for (panel, rule, law), row in zip(found, rows.itertuples(), strict=True):
            assert (row.panel, row.rule, row.law) == (panel, rule.label, law.name)
            assert row.mean == pytest.approx(law.mean, rel=1e-6)
            assert (row.alpha, row.beta) == (rule.alpha, rule.beta)
            assert row.epsilon == getattr(rule, "epsilon", math.inf)
            samples = found[panel, rule, law].samples
            assert row.mean_samples == pytest.approx(samples.mean(), rel=1e-6)
            assert (row.n_runs, row.halted) == (4, 4)


@pytest.mark.parametrize("name", SWEEPS)
def test_curves_and_bands_are_those_of_the_table(tables, name):
    table = tables[name]
    figure = draw(name, table)
    for panel, axes in zip("abcd", figure.axes, strict=False):
        rows = table[(table.panel == panel) & (table.rule != THEORY)]
        shown = sorted({*rows.rule} - ({"NAS"} if name == "epsilon" else set()))
        assert len(shown) >= 2
        corners = [
            y for band in axes.collections for path in band.get_paths() for _, y in path.vertices
        ]
        for rule in shown:
            mine = rows[rows.rule == rule].sort_values(name)
            drawn = curve(axes, rule)
            assert drawn.get_xdata().tolist() == mine[name].tolist()
            assert drawn.get_ydata().tolist() == mine.mean_samples.tolist()
            assert drawn.get_color() == RULE_LOOKS[rule].colour
            assert {*mine.samples_q05, *mine.samples_q95} <= {*corners}


def test_a_rule_without_budget_is_level_over_budgets(tables):
    table = tables["epsilon"]
    (axes,) = draw("epsilon", table, panels=["b"], theory=False).axes
    (free,) = table[(table.panel == "b") & (table.rule == "NAS")].mean_samples
    ((x, y),) = [
        line.get_data() for line in axes.get_lines() if line.get_color() == RULE_LOOKS["NAS"].colour
    ]
    assert (x[0], x[-1]) == (0.1, 1.0)
    assert set(y) == {free}


def test_a_changed_table_changes_the_picture(tables):
    where = {"panel": "b", "rule": "DP-NAS", "mean": 0.1}
    new = changed(tables["mean"], {"mean_samples": lambda n: 3 * n}, **where)
    (before,), (after,) = (draw("mean", t, panels=["b"]).axes for t in (tables["mean"], new))
    old_y, new_y = (curve(axes, "DP-NAS").get_ydata() for axes in (before, after))
    assert np.array_equal(new_y / old_y, [3, 1])
    for rule in ("NAS", RULE):
        assert np.array_equal(*(curve(axes, rule).get_ydata() for axes in (before, after)))


def test_a_case_that_has_not_halted_is_left_out(tables):
    unknown = dict.fromkeys(("mean_samples", "samples_q05", "samples_q95"), math.nan)
    new = changed(tables["mean"], unknown, panel="a", rule="DP-NAS", mean=0.5)
    (axes,) = draw("mean", new, panels=["a"]).axes
    assert np.isfinite(curve(axes, "DP-NAS").get_ydata()).tolist() == [True, False]
    assert labels_at_ends(axes)["DP-NAS"].xy[0] == pytest.approx(0.1)
    assert np.all(np.isfinite([*axes.get_ylim(), *axes.get_xlim()]))


# ---------------------------------------------------------------------------------- theory


@pytest.mark.parametrize("name", SWEEPS)
def test_theory_in_the_tables_is_that_of_the_bounds(runs, tables, name):
    for panel in ("a", "b"):
        table = tables[name]
        rows = table[(table.panel == panel) & (table.rule == THEORY)]
        pairs = [key[1:] for key in runs[name] if key[0] == panel and key[1].label == RULE]
        for rule, law in (pairs[0], pairs[-1]):
            options = {"mean": law.mean, "deviation": math.sqrt(law.variance)}
            place = options.get(name) or getattr(rule, name)
            row = rows.iloc[(rows[name] - place).abs().argmin()]
            assert row[name] == pytest.approx(place, rel=1e-6)
            assert row.noiseless == pytest.approx(rule.noiseless_time(law.mean), rel=1e-6)
            surely = bounds.stopping_samples(rule, law.mean)
            assert row.surely == pytest.approx(surely, rel=1e-6)
            if rule.beta >= 0.5:
                assert math.isnan(row.any_rule) and math.isnan(row.private_rule)
                continue
            places = law, rule.alpha, rule.beta
            assert row.any_rule == pytest.approx(bounds.stopping_lower_bound(*places), rel=1e-4)
            private = bounds.stopping_complexity_lower_bound(*places, rule.epsilon)
            assert row.private_rule == pytest.approx(private, rel=1e-4)


def test_theory_is_drawn(tables):
    table = tables["mean"]
    with_theory, without = (
        draw("mean", table, panels=["c"], theory=theory).axes[0] for theory in (True, False)
    )
    rows = table[(table.panel == "c") & (table.rule == THEORY)]
    drawn = {tuple(line.get_ydata()) for line in with_theory.get_lines()}
    for name in ("noiseless", "surely", "any_rule", "private_rule"):
        assert tuple(rows[name]) in drawn
    assert len(with_theory.get_lines()) == len(without.get_lines()) + 4
    assert set(labels_at_ends(with_theory)) - set(labels_at_ends(without)) == {
        "upper bound",
        "no rule",
        "no ε-DP rule",
    }
    filled = [
        round(float(band.get_facecolor()[0][0]), 2)
        for band in with_theory.collections
        if len(set(band.get_facecolor()[0][:3])) == 1 and band.get_facecolor()[0][0] > 0
    ]
    assert filled == [0.8, 0.91]  # darker: for all rules


@pytest.mark.parametrize("name", SWEEPS)
def test_no_private_rule_is_drawn_inside_a_region(tables, name):
    for axes in draw(name, tables[name]).axes:
        edges = [line for line in axes.get_lines() if line.get_color() == "0.45"]
        assert edges
        for rule in ("DP-NAS", RULE):
            for x, y in zip(*curve(axes, rule).get_data(), strict=True):
                for edge in edges:
                    at = np.interp(x, edge.get_xdata(), np.nan_to_num(edge.get_ydata()), right=0)
                    assert y > at


def test_where_private_and_other_rules_can_do_the_same_there_is_one_region(tables):
    figure = draw("alpha", tables["alpha"])
    assert ["no ε-DP rule" in labels_at_ends(axes) for axes in figure.axes] == [False, True]


@pytest.mark.parametrize("mean", [0.5, 0.02, 1e-4])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, math.inf])
def test_smooth_time_is_between_looks(mean, epsilon):
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS):
        rule = kind(epsilon, 0.5, 0.05)
        last = rule.noiseless_time(mean)
        before = last - 1 if kind is dpb.DPNAS else last // 2
        assert before <= smooth_time(rule, mean) <= last * (1 + 1e-8)


# -------------------------------------------------------------------------------- the map


def test_map_shows_ratios_to_the_twin(tables):
    table = tables["overhead"]
    axes, _ = draw("overhead", table).axes
    (mesh,) = axes.collections
    rows = {(r.epsilon, r.mean): r.mean_samples for r in table.itertuples() if r.rule == RULE}
    budgets, means = (0.1, 1.0), (0.1, 0.5)
    expected = [[rows[e, m] / rows[math.inf, m] for m in means] for e in budgets]
    drawn = np.asarray(mesh.get_array()).reshape(2, 2)
    assert drawn == pytest.approx(np.array(expected), rel=1e-6)
    cells = {text.get_position(): text.get_text() for text in axes.texts[:4]}
    for (i, epsilon), (j, mean) in itertools.product(enumerate(budgets), enumerate(means)):
        assert float(cells[mean, epsilon]) == pytest.approx(expected[i][j], rel=0.05)
    assert max(drawn.flat) > 2 * min(drawn.flat)
    assert mesh.get_cmap().name == "cividis"


@pytest.mark.parametrize("level", [2, 10])
def test_lines_on_the_map_have_their_level(tables, level):
    axes, _ = draw("overhead", tables["overhead"]).axes
    rule = doubling(1.0)
    for mean in (0.4, 0.01):
        budget = stopping.budget_for(rule, mean, level)
        # the rounding to looks, powers of 2, changes a ratio by a factor below 2
        free = dataclasses.replace(rule, epsilon=math.inf).noiseless_time(mean)
        less, more = (
            dataclasses.replace(rule, epsilon=budget * factor).noiseless_time(mean) / free
            for factor in (0.25, 4.0)
        )
        assert more <= level <= less
        assert more < less
    end = labels_at_ends(axes)[f"{level} times"].xy
    assert end[1] == pytest.approx(stopping.budget_for(rule, end[0], level), rel=1e-5)
    assert labels_at_ends(axes)["ε = α|μ|"].xy[1] == pytest.approx(0.5 * end[0])


# ------------------------------------------------------------------------------ the errors


def test_errors_are_shown_with_their_intervals(tables):
    none = {"error_rate": 0.0, "error_low95": 0.0, "error_high95": 0.004}
    some = {"error_rate": 0.01, "error_low95": 0.002, "error_high95": 0.03}
    clean = changed(tables["error"], none, panel="b")
    mixed = changed(clean, some, panel="b", rule="DP-NAS", alpha=0.9, beta=0.2)
    for table, failures in ((clean, 0), (mixed, 1)):
        (axes,) = draw("error", table, panels=["b"]).axes
        arrows = [line for line in axes.get_lines() if line.get_marker() == "v"]
        markers = {look.marker for look in RULE_LOOKS.values()}
        points = [line for line in axes.get_lines() if line.get_marker() in markers]
        assert len(points) == len(TOLD["b"])
        assert len(arrows) == len(TOLD["b"]) - failures
        hollow = [p for p in points if p.get_markerfacecolor() == "white"]
        assert {float(p.get_ydata()[0]) for p in hollow} == {0.004}  # the intervals' upper ends
        assert all(0 < a.get_ydata()[0] < 0.004 for a in arrows)
        filled = [p for p in points if p not in hollow]
        assert [float(p.get_ydata()[0]) for p in filled] == [0.01] * failures
        bars = [sorted(line.get_ydata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
        assert bars.count([0.002, 0.03]) == failures
        assert bars.count([0.05, 0.05]) == bars.count([0.2, 0.2]) == 1  # what is allowed
    (axes,) = draw("error", clean, panels=["b"], theory=False).axes
    assert [0.05, 0.05] not in [sorted(line.get_ydata()) for line in axes.get_lines()]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["α=0.5", "α=0.9"] * 2
    assert [text.get_text() for text in axes.texts] == ["β = 0.05", "β = 0.2"]


# ------------------------------------------------------------------------------ the slopes


def test_slopes_of_means_and_of_the_condition(runs, tables):
    figure = draw("slopes", tables["slopes"])
    for (panel, epsilon), axes in zip(BUDGETS.items(), figure.axes, strict=True):
        for rule in rules(epsilon):
            far, near = (
                runs["mean"][panel, rule, two_point(mean)].samples.mean() for mean in (0.5, 0.1)
            )
            (point,) = (
                line
                for line in axes.get_lines()
                if line.get_marker() == RULE_LOOKS[rule.label].marker
            )
            slope = math.log(far / near) / math.log(5)
            assert point.get_ydata() == pytest.approx([slope], rel=1e-5)
            assert point.get_xdata() == pytest.approx([math.sqrt(0.05)], rel=1e-5)
    levels = [
        line.get_ydata()[0] for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2
    ]
    assert {-1.0, -2.0} <= set(levels)


def test_slopes_go_from_two_to_one():
    def slope(epsilon, mean):
        return stopping.local_slope(doubling(epsilon), mean)

    assert slope(1.0, 1e-4) == pytest.approx(-2, abs=0.05)  # the samples' randomness
    assert slope(1e-5, 0.3) == pytest.approx(-1, abs=0.05)  # the noise
    assert -1.8 < slope(0.01, 0.02) < -1.2
