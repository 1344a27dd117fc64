"""Figures of identification: what they show, and what they leave out and say so.

The runs are few, or made by hand.
"""

import math

import numpy as np
import pytest
from figure_tables import (
    DRAWINGS,
    MU1,
    MU2,
    made,
    plan,
    tails,
    times_over_delta,
    times_over_epsilon,
)
from matplotlib import pyplot as plt

import dpbandits as dpb
from companion.figures import floor
from companion.figures.identification import plan_table, stopping_tails, tails_table, times_table
from dpbandits.identification import privacy_switches, sample_lower_bound

OVER_EPSILON, OVER_DELTA = DRAWINGS["times, epsilon"], DRAWINGS["times, delta"]
NAMES = [name for name in DRAWINGS if name.startswith("times,")] + ["tails"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def words(figure):
    return {text.get_text() for axes in figure.axes for text in axes.texts}


def test_a_table_has_the_summaries_and_the_lower_bounds():
    runs = times_over_epsilon()
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
    runs = times_over_epsilon()
    for values, by in (("time", lambda e: 1.0), ("ratio", lambda e: bound(e))):

        def bound(e):
            return sample_lower_bound(MU1.means, e, 0.01)

        figure = OVER_EPSILON(values=values, panels=["a"])
        lines = [line.get_ydata() for line in figure.axes[0].lines]
        wanted = [runs["a", "DP-TT", "", e].stopping_time.mean() / by(e) for e in (0.1, 1.0, 10.0)]
        assert any(np.shape(y) == (3,) and np.allclose(y, wanted, rtol=1e-6) for y in lines)


def test_the_privacy_switches_are_marked():
    figure = OVER_EPSILON()
    for axes, arms in zip(figure.axes, (MU1, MU2), strict=True):
        upright = {x.get_xdata()[0] for x in axes.lines if len(set(x.get_xdata())) == 1}
        inside = [x for x in privacy_switches(arms.means) if 0.1 < x < 10]
        assert inside and sorted(upright) == pytest.approx(sorted(inside), rel=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "tails"])
def test_without_theory_there_is_no_bound(name):
    theory, bare = (words(DRAWINGS[name](theory=on)) for on in (True, False))
    assert theory - bare == {"lower bound"} and bare <= theory


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": "share"}, "values='share' is unknown"),
        ({"axis": "time"}, "axis='time' is unknown"),
    ],
)
def test_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OVER_EPSILON(**options)


def test_an_unknown_axis_has_no_table():
    with pytest.raises(ValueError, match="axis='time' is unknown"):
        times_table(times_over_epsilon(), "time")


@pytest.mark.parametrize("theory", [True, False])
def test_a_panel_without_a_mean_is_refused(theory):
    runs = times_over_epsilon()
    for key in runs:
        if key[0] == "b":
            result = runs[key]
            runs[key] = made(result.algorithm, MU2, result.stopping_time, ended=1)
    table = times_table(runs, "epsilon")
    assert words(OVER_EPSILON(table, panels=["a"]))
    with pytest.raises(ValueError, match="panel='b' has no case with a mean"):
        OVER_EPSILON(table, theory=theory)


def test_a_case_without_a_mean_is_left_out():
    runs = times_over_epsilon()
    key = ("a", "DP-TT", "", 10.0)
    runs[key] = made(runs[key].algorithm, MU1, [9000, 10**9], ended=1)
    figure = OVER_EPSILON(times_table(runs, "epsilon"), panels=["a"])
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    assert sum(np.size(y) == 3 and np.isnan(y[-1]) for y in lines) == 1


def test_a_panel_without_private_algorithms():
    free = {key: runs for key, runs in times_over_epsilon().items() if key[1] == "Top Two"}
    with pytest.raises(ValueError, match="panel='a' has no case with epsilon"):
        OVER_EPSILON(times_table(free, "epsilon"))
    runs = {("a", "Top Two", "", d): made(dpb.TopTwo(d), MU1, [5, 6]) for d in (0.1, 0.01)}
    figure = OVER_DELTA(times_table(runs, "delta"))
    assert words(figure) == {"Top Two, no privacy", "lower bound"}


def test_a_panel_of_several_instances_has_ratios_only():
    table = times_table(times_over_delta((MU1, MU2)), "delta")
    assert "lower bound" not in set(table.algorithm)
    assert words(OVER_DELTA(table, values="ratio")) == {"mu1", "mu2", "lower bound"}
    with pytest.raises(ValueError, match="several instances has no one lower bound"):
        OVER_DELTA(table)


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_without_a_look_is_drawn(name):
    table = DRAWINGS[name].table().copy()
    table.loc[table.algorithm == table.algorithm[0], "algorithm"] = "Own"
    figure = DRAWINGS[name](table)
    shown = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    shown = {*shown, *words(figure)} | set(table.variant)
    assert any(word.startswith("Own") for word in shown)


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
    assert words(DRAWINGS["tails"]()) == {"W: 10.0% never", "DP-TT"}


def test_a_tail_of_runs_that_never_stopped():
    runs = {("a", "DP-TT", "W"): made(dpb.DPTT(1.0, 0.1), MU1, [500] * 3, ended=3, most=500)}
    table = tails_table(runs)
    assert (table.time.tolist(), table.share.tolist()) == ([500], [1.0])
    assert words(stopping_tails(table, titles={"a": "x"})) == {"W: 100.0% never"}


def test_the_published_plan_has_the_switch():
    found = plan()
    np.testing.assert_allclose(plan_table(found).free_from, found.free_from, rtol=1e-6)


# ------------------------------------------------------------------------------ identify_many

EASY = dpb.instances.bernoulli([0.9, 0.5, 0.1])
CASES = {
    ("DP-LRE", 1.0): (dpb.DPLRE(1.0, 0.1), EASY),
    ("DP-TT", 0.5): (dpb.DPTT(0.5, 0.1), EASY),
    ("Top Two", math.inf): (dpb.TopTwo(0.1), EASY),
}


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


def test_plans_are_those_that_the_run_follows():
    rule, arms = dpb.DPLRE(0.3, 0.05), dpb.instances.bernoulli([0.7, 0.5, 0.4])
    blocks, plans = floor.blocks_of_run(rule, arms, 1), floor.plans_of_run(rule, arms, 1)
    sizes = (blocks.stop - blocks.start + 1).tolist()
    first = plans.iloc[:2]  # of the first plan, which is carried out in full
    assert [first.own[0], *first["size"]] == sizes[3:6]
    most = rule.most_growth * (1 + 3 * plans.noise) * plans.pulls
    np.testing.assert_allclose(plans.most, most, rtol=1e-6)
    least = rule.least_growth * plans.pulls
    assert (plans["size"] == np.ceil(plans.wanted.clip(least, plans.most))).all()
