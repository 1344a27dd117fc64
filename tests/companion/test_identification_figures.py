"""Figures of identification: drawn from tables alone, complete, and with what they leave out said.

The runs are few, or made by hand.
"""

import json
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import dpbandits as dpb
from companion.figures.identification import (
    errors_table,
    plan_from_table,
    plan_table,
    stopping_tails,
    stopping_times,
    tails_table,
    times_table,
    wrong_shares,
)
from companion.figures.redraw import recipe_of, redraw
from companion.tables import from_csv, to_csv
from dpbandits.identification import Identifications, privacy_switches, sample_lower_bound

MU1, MU2 = dpb.instances.ja25("mu1"), dpb.instances.ja25("mu2")
TITLES = {"a": "first", "b": "second"}


def made(algorithm, instance, times, wrong=0, ended=0, most=10**9):
    """Return results by hand: stopping times, the last `ended` of runs that did not stop."""
    times = np.rint(times).astype(np.int64)
    pulls = np.zeros((times.size, instance.n_arms), dtype=np.int64)
    pulls[:, 0] = times
    arms = np.full(times.size, instance.best_arm)
    arms[:wrong] = 1 - instance.best_arm
    arms[times.size - ended :] = -1
    return Identifications(algorithm, instance, most, arms, pulls)


def over_epsilon():
    runs = {}
    for panel, arms in (("a", MU1), ("b", MU2)):
        runs[panel, "Top Two", "", math.inf] = made(dpb.TopTwo(0.01), arms, [8000, 9000])
        for place, eps in enumerate((0.1, 1.0, 10.0)):
            times = np.array([20_000, 24_000, 31_000]) // (place + 1)
            runs[panel, "DP-TT", "", eps] = made(dpb.DPTT(eps, 0.01), arms, times)
            rule = dpb.AdaPTT(eps, 0.01, threshold="heuristic")
            runs[panel, "AdaP-TT", "heuristic", eps] = made(rule, arms, 3 * times)
    return runs


def over_delta(instances=(MU1,), budgets=(0.5,)):
    return {
        (panel, "DP-LRE", arms.name if len(instances) > 1 else "", delta): made(
            dpb.DPLRE(eps, delta), arms, [6000 - 9000 * delta, 7000]
        )
        for panel, eps in zip("ab", budgets, strict=False)
        for arms in instances
        for delta in (0.1, 0.01)
    }


def over_arms():
    runs = {}
    for k in (2, 5, 10):
        arms = dpb.instances.bernoulli([0.8, *[0.6] * (k - 1)], "equal gaps")
        runs["a", "DP-TT", "", k] = made(dpb.DPTT(1.0, 0.01), arms, [900 * k, 1000 * k])
    return runs


def over_eta():
    return {
        ("a", "DP-TT", variant, eta): made(dpb.DPTT(1.0, 0.01, eta=eta), MU1, [9000, 9500 * eta])
        for variant in ("", "union")
        for eta in (0.5, 1.0, 2.0)
    }


def errors():
    rule = dpb.DPTT(1.0, 0.01)
    return {
        ("a", "DP-TT", "", 0.01): made(rule, MU1, [10] * 50, wrong=5),
        ("a", "DP-LRE", "", 0.01): made(dpb.DPLRE(1.0, 0.01), MU1, [10] * 50),
        ("a", "DP-LRE", "", 0.1): made(dpb.DPLRE(1.0, 0.1), MU1, [10] * 50),
    }


def tails(n=300, ended=30):
    times = np.sort(np.random.default_rng(0).choice(50_000, n, replace=False) + 1000)
    times[n - ended :] = 10**6
    return {
        ("a", "DP-TT", "W"): made(dpb.DPTT(1.0, 0.01), MU1, times, ended=ended, most=10**6),
        ("a", "DP-TT", ""): made(dpb.DPTT(1.0, 0.01), MU1, times[: n - ended]),
    }


FIGURES = {
    "epsilon": (times_table, over_epsilon, stopping_times, TITLES),
    "delta": (times_table, over_delta, stopping_times, {"a": "ε = 0.5"}),
    "n_arms": (times_table, over_arms, stopping_times, {"a": "equal gaps"}),
    "eta": (times_table, over_eta, stopping_times, {"a": "growth"}),
    "errors": (errors_table, errors, wrong_shares, {"a": "errors"}),
    "tails": (tails_table, tails, stopping_tails, {"a": "tails"}),
}


def drawn(name, table=None, **options):
    """Draw a figure from its table, or from another."""
    tabulated, runs, figure, titles = FIGURES[name]
    along = {"axis": name} if figure is stopping_times else {}
    table = tabulated(runs(), *along.values()) if table is None else table
    return table, figure(table, **{"titles": titles, **along, **options})


def picture(figure):
    """What a figure shows, as data."""
    shown = [
        (
            [(line.get_xydata().tolist(), to_hex(line.get_color())) for line in axes.lines],
            [patch.get_paths()[0].vertices.tolist() for patch in axes.collections],
            sorted(text.get_text() for text in axes.texts),
            axes.get_title(loc="left"),
            axes.get_xlim(),
            axes.get_ylim(),
        )
        for axes in figure.axes
    ]
    plt.close(figure)
    return shown


def words(figure):
    shown = {text.get_text() for axes in figure.axes for text in axes.texts}
    plt.close(figure)
    return shown


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_its_table_alone(name):
    table, figure = drawn(name)
    recipe = json.loads(json.dumps(recipe_of(figure)))
    first = picture(figure)
    again = picture(redraw(from_csv(to_csv(table)), recipe))
    assert str(again) == str(first)
    assert first[0][0] and first[0][3].endswith(FIGURES[name][3]["a"])


def test_a_table_has_the_summaries_and_the_lower_bounds():
    runs = over_epsilon()
    table = times_table(runs, "epsilon")
    rows = table[table.algorithm != "lower bound"]
    assert len(rows) == len(runs) and rows.n_runs.sum() == sum(r.n_runs for r in runs.values())
    for row, ((panel, *_, eps), result) in zip(rows.itertuples(), runs.items(), strict=True):
        assert (row.panel, row.epsilon, row.instance) == (panel, eps, result.instance.name)
        assert row.mean_time == pytest.approx(result.stopping_time.mean(), rel=1e-6)
        bound = sample_lower_bound(result.instance.means, eps, 0.01)
        assert row.lower_bound == pytest.approx(bound, rel=1e-6)
    for panel, arms in (("a", MU1), ("b", MU2)):
        some = table[(table.panel == panel) & (table.algorithm == "lower bound")]
        assert (some.epsilon.min(), some.epsilon.max()) == (0.1, 10.0)
        known = [sample_lower_bound(arms.means, e, 0.01) for e in some.epsilon]
        np.testing.assert_allclose(some.lower_bound, known, rtol=1e-6)
        switches = privacy_switches(arms.means)
        np.testing.assert_allclose(some.switch, switches.exact, rtol=1e-6)
        np.testing.assert_allclose(some.switch_any, switches.free, rtol=1e-6)


def test_times_and_ratios_are_those_of_the_runs():
    runs = over_epsilon()
    for values, by in (("time", lambda e: 1.0), ("ratio", lambda e: bound(e))):

        def bound(e):
            return sample_lower_bound(MU1.means, e, 0.01)

        _, figure = drawn("epsilon", values=values, panels=["a"])
        lines = [line.get_ydata() for line in figure.axes[0].lines]
        plt.close(figure)
        wanted = [runs["a", "DP-TT", "", e].stopping_time.mean() / by(e) for e in (0.1, 1.0, 10.0)]
        assert any(np.shape(y) == (3,) and np.allclose(y, wanted, rtol=1e-6) for y in lines)


def test_the_privacy_switches_are_marked():
    _, figure = drawn("epsilon")
    for axes, arms in zip(figure.axes, (MU1, MU2), strict=True):
        upright = {x.get_xdata()[0] for x in axes.lines if len(set(x.get_xdata())) == 1}
        inside = [x for x in privacy_switches(arms.means) if 0.1 < x < 10]
        assert inside and sorted(upright) == pytest.approx(sorted(inside), rel=1e-6)
    plt.close(figure)


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "tails"])
def test_without_theory_there_is_no_bound(name):
    theory, bare = (words(drawn(name, theory=on)[1]) for on in (True, False))
    assert theory - bare == {"allowed" if name == "errors" else "lower bound"} and bare <= theory


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": "share"}, "values='share' is unknown"),
        ({"panels": ["z"]}, "panel='z' is unknown"),
        ({"axis": "time"}, "axis='time' is unknown"),
    ],
)
def test_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        drawn("epsilon", **options)


def test_an_unknown_axis_has_no_table():
    with pytest.raises(ValueError, match="axis='time' is unknown"):
        times_table(over_epsilon(), "time")


@pytest.mark.parametrize("theory", [True, False])
def test_a_panel_without_a_mean_is_refused(theory):
    runs = over_epsilon()
    for key in runs:
        if key[0] == "b":
            result = runs[key]
            runs[key] = made(result.algorithm, MU2, result.stopping_time, ended=1)
    table = times_table(runs, "epsilon")
    assert words(drawn("epsilon", table, panels=["a"])[1])
    with pytest.raises(ValueError, match="panel='b' has no case with a mean"):
        drawn("epsilon", table, theory=theory)


def test_a_case_without_a_mean_is_left_out():
    runs = over_epsilon()
    key = ("a", "DP-TT", "", 10.0)
    runs[key] = made(runs[key].algorithm, MU1, [9000, 10**9], ended=1)
    _, figure = drawn("epsilon", times_table(runs, "epsilon"), panels=["a"])
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    assert sum(np.size(y) == 3 and np.isnan(y[-1]) for y in lines) == 1
    plt.close(figure)


def test_a_panel_without_private_algorithms():
    free = {key: runs for key, runs in over_epsilon().items() if key[1] == "Top Two"}
    with pytest.raises(ValueError, match="panel='a' has no case with epsilon"):
        drawn("epsilon", times_table(free, "epsilon"))
    runs = {("a", "Top Two", "", d): made(dpb.TopTwo(d), MU1, [5, 6]) for d in (0.1, 0.01)}
    _, figure = drawn("delta", times_table(runs, "delta"))
    assert words(figure) == {"Top Two, no privacy", "lower bound"}


def test_a_panel_of_several_instances_has_ratios_only():
    table = times_table(over_delta((MU1, MU2)), "delta")
    assert "lower bound" not in set(table.algorithm)
    assert words(drawn("delta", table, values="ratio")[1]) == {"mu1", "mu2", "lower bound"}
    with pytest.raises(ValueError, match="several instances has no one lower bound"):
        drawn("delta", table)


@pytest.mark.parametrize("name", FIGURES)
def test_an_algorithm_without_a_look_is_drawn(name):
    table = drawn(name)[0]
    table.loc[table.algorithm == table.algorithm[0], "algorithm"] = "Own"
    _, figure = drawn(name, table)
    shown = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    shown = {*shown, *words(figure)} | set(table.variant)
    assert any(word.startswith("Own") for word in shown)
    plt.close("all")


def test_a_tail_has_the_shares_of_the_runs():
    runs = tails()
    table = tails_table(runs)
    for (_, _, variant), result in runs.items():
        some = table[table.variant == variant]
        times = np.where(result.stopped, result.stopping_time, 10**9)
        for time, share in zip(some.time, some.share, strict=True):
            at_least = np.mean(np.where(times == 10**9, 10**6, times) >= time)
            assert share == pytest.approx(at_least, rel=1e-6)
        longest = np.sort(result.stopping_time[result.stopped])[-20:]
        assert set(longest) <= set(some.time) and len(some) <= 90
        assert some.share.max() == 1.0 and (some.n_runs == result.n_runs).all()
    assert words(drawn("tails")[1]) == {"W: 10.0% never", "DP-TT"}


def test_a_tail_of_runs_that_never_stopped():
    runs = {("a", "DP-TT", "W"): made(dpb.DPTT(1.0, 0.1), MU1, [500] * 3, ended=3, most=500)}
    table = tails_table(runs)
    assert (table.time.tolist(), table.share.tolist()) == ([500], [1.0])
    assert words(stopping_tails(table, titles={"a": "x"})) == {"W: 100.0% never"}


def test_open_triangles_stand_where_no_run_was_wrong():
    table, figure = drawn("errors")
    (axes,) = figure.axes
    points = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    shown = {
        (line.get_marker(), to_hex(line.get_markerfacecolor()), round(line.get_ydata()[0], 6))
        for line in points
    }
    high = round(float(table.error_high95[1]), 6)
    assert ("v", "#ffffff", high) in shown
    assert any(mark != "v" and face != "#ffffff" and y == 0.1 for mark, face, y in shown)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["DP-TT", "DP-LRE", "no run wrong"]
    plt.close(figure)


def test_a_plan_is_drawn_from_its_table_alone():
    plan = dpb.plan([0.9, 0.5], epsilon=1.0, delta=0.05, n_runs=2)
    figure = plan_from_table(plan_table(plan))
    recipe, first = recipe_of(figure), picture(figure)
    table = from_csv(to_csv(plan_table(plan)))
    assert str(picture(redraw(table, json.loads(json.dumps(recipe))))) == str(first)
    np.testing.assert_allclose(table.free_from, plan.free_from, rtol=1e-6)


# ------------------------------------------------------------------------------ identify_many

EASY = dpb.instances.bernoulli([0.9, 0.5, 0.1])
CASES = {
    ("DP-LRE", 1.0): (dpb.DPLRE(1.0, 0.1), EASY),
    ("DP-TT", 0.5): (dpb.DPTT(0.5, 0.1), EASY),
    ("Top Two", math.inf): (dpb.TopTwo(0.1), EASY),
}


def same(runs, other):
    return (runs.pulls == other.pulls).all() and (runs.recommendation == other.recommendation).all()


def test_many_cases_are_the_single_ones_for_any_number_of_workers():
    runs = dpb.identify_many(CASES, n_runs=12, seed=3)
    for key, (algorithm, instance) in CASES.items():
        assert same(runs[key], dpb.identify(algorithm, instance, 12, seed=3))
    shared = dpb.identify_many(CASES, n_runs=12, seed=3, n_jobs=2)
    assert all(same(runs[key], shared[key]) for key in CASES)
    other = dpb.identify_many(CASES, n_runs=12, seed=4)
    assert not any(same(runs[key], other[key]) for key in CASES)


def test_each_case_may_have_its_own_number_of_runs():
    n_runs = dict(zip(CASES, (2, 3, 4), strict=True))
    runs = dpb.identify_many(CASES, n_runs)
    assert [r.n_runs for r in runs.values()] == [2, 3, 4]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ((dpb.DPSE(1.0), EASY), "case 'x': algorithm="),
        ((dpb.DPLRE(1.0, 0.1), dpb.instances.bernoulli([0.5, 0.5])), "case 'x': .*best arm"),
        ((dpb.DPLRE(1.0, 0.1), dpb.instances.twzw22("S1", 0.9)), "case 'x': .*rewards of 0 or 1"),
    ],
)
def test_cases_that_cannot_be_played_are_refused(case, message):
    with pytest.raises(ValueError, match=message):
        dpb.identify_many({"x": case}, n_runs=2)


def test_pulls_have_limits():
    for most in (1, 2**62 + 1, 0.5):
        with pytest.raises(ValueError, match=rf"max_pulls={most!r} "):
            dpb.identify(dpb.TopTwo(0.1), EASY, 2, max_pulls=most)
