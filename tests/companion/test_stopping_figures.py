"""Figures of stopping rules show the table and the bounds."""

import dataclasses
import math
from functools import partial

import figure_tables
import numpy as np
import pytest
from figure_tables import BUDGETS, DRAWINGS, STOPPED, SWEEPS, doubling, rules, stopped, swept

import dpbandits as dpb
from companion.figures import disclosure
from companion.figures.redraw import recipe_of, redraw
from companion.figures.stopping import (
    RULE_LOOKS,
    THEORY,
    budget_for,
    local_slope,
    samples_table,
    smooth_time,
)
from companion.tables import from_csv, to_csv
from dpbandits import bounds
from dpbandits.rewards.laws import two_point

RULE = "DP-exp-NAS"


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


def test_an_unknown_parameter_is_refused():
    for call in (partial(samples_table, stopped("mean")), lambda x: DRAWINGS["mean"](over=x)):
        with pytest.raises(ValueError, match="over='gap' is unknown; allowed: 'mean', 'alpha'"):
            call("gap")


def test_a_table_says_what_was_run():
    for over in SWEEPS:
        table, found = swept(over), stopped(over)
        rows = table[table.rule != THEORY]
        assert len(rows) == len(found)
        for (panel, rule, law), row in zip(found, rows.itertuples(), strict=True):
            assert (row.panel, row.rule, row.law) == (panel, rule.label, law.name)
            assert row.mean == pytest.approx(law.mean, rel=1e-6)
            assert (row.alpha, row.beta) == (rule.alpha, rule.beta)
            assert row.epsilon == getattr(rule, "epsilon", math.inf)
            samples = found[panel, rule, law].samples
            assert row.mean_samples == pytest.approx(samples.mean(), rel=1e-6)


@pytest.mark.parametrize("name", SWEEPS)
def test_a_rule_has_its_curve(name):
    table = swept(name)
    for panel, axes in zip("abcd", DRAWINGS[name](table).axes, strict=False):
        rows = table[(table.panel == panel) & (table.rule != THEORY)]
        shown = sorted({*rows.rule} - ({"NAS"} if name == "epsilon" else set()))
        assert len(shown) >= 2
        for rule in shown:
            mine, drawn = rows[rows.rule == rule].sort_values(name), curve(axes, rule)
            assert drawn.get_xdata().tolist() == mine[name].tolist()
            assert drawn.get_ydata().tolist() == mine.mean_samples.tolist()
            assert drawn.get_color() == RULE_LOOKS[rule].colour


def test_a_rule_without_budget_is_level_over_budgets():
    table = swept("epsilon")
    (axes,) = DRAWINGS["epsilon"](table, panels=["b"], theory=False).axes
    (free,) = table[(table.panel == "b") & (table.rule == "NAS")].mean_samples
    ((x, y),) = [
        line.get_data() for line in axes.get_lines() if line.get_color() == RULE_LOOKS["NAS"].colour
    ]
    assert (x[0], x[-1]) == (0.1, 1.0)
    assert set(y) == {free}


def test_a_case_that_has_not_halted_is_left_out():
    unknown = dict.fromkeys(("mean_samples", "samples_q05", "samples_q95"), math.nan)
    new = changed(swept("mean"), unknown, panel="a", rule="DP-NAS", mean=0.5)
    (axes,) = DRAWINGS["mean"](new, panels=["a"]).axes
    assert np.isfinite(curve(axes, "DP-NAS").get_ydata()).tolist() == [True, False]
    assert labels_at_ends(axes)["DP-NAS"].xy[0] == pytest.approx(0.1)


@pytest.mark.parametrize("name", SWEEPS)
def test_theory_in_the_tables_is_that_of_the_bounds(name):
    for panel in ("a", "b"):
        table = swept(name)
        rows = table[(table.panel == panel) & (table.rule == THEORY)]
        pairs = [key[1:] for key in stopped(name) if key[0] == panel and key[1].label == RULE]
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


def test_theory_is_drawn():
    with_theory, without = (
        DRAWINGS["mean"](swept("mean"), panels=["c"], theory=theory).axes[0]
        for theory in (True, False)
    )
    assert len(with_theory.get_lines()) == len(without.get_lines()) + 4
    more = set(labels_at_ends(with_theory)) - set(labels_at_ends(without))
    assert more == {"upper bound", "no rule", "no ε-DP rule"}
    fills = [band.get_facecolor()[0] for band in with_theory.collections]
    greys = [red for red, green, blue, _ in fills if red == green == blue > 0]
    assert greys == pytest.approx([0.8, 0.91], abs=0.01)  # darker: for all rules


def test_where_private_and_other_rules_can_do_the_same_there_is_one_region():
    figure = DRAWINGS["alpha"](swept("alpha"))
    assert ["no ε-DP rule" in labels_at_ends(axes) for axes in figure.axes] == [False, True]


@pytest.mark.parametrize("mean", [0.5, 0.02, 1e-4])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, math.inf])
def test_smooth_time_is_between_looks(mean, epsilon):
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS):
        rule = kind(epsilon, 0.5, 0.05)
        last = rule.noiseless_time(mean)
        before = last - 1 if kind is dpb.DPNAS else last // 2
        assert before <= smooth_time(rule, mean) <= last * (1 + 1e-8)


def test_the_price_is_drawn_for_each_mean():
    table = DRAWINGS["ratio"].table()
    (axes,) = DRAWINGS["ratio"]().axes
    curves = {line.get_label(): line for line in axes.get_lines() if len(line.get_xdata()) == 3}
    assert set(curves) == {"|μ| = 0.01", "|μ| = 0.3"}
    for mean, rows in table.groupby("mean"):
        line = curves[f"|μ| = {mean:g}"]
        assert list(line.get_xdata()) == pytest.approx(list(rows.ratio))
        assert list(line.get_ydata()) == pytest.approx(list(rows.times))
        assert rows.times.is_monotonic_decreasing and rows.times.min() > 1


@pytest.mark.parametrize("level", [2, 10])
@pytest.mark.parametrize("mean", [0.4, 0.01])
def test_a_budget_has_its_price(level, mean):
    rule = doubling(1.0)
    budget = budget_for(rule, mean, level)
    # the rounding to looks, powers of 2, changes a ratio by a factor below 2
    free = dataclasses.replace(rule, epsilon=math.inf).noiseless_time(mean)
    less, more = (
        dataclasses.replace(rule, epsilon=budget * factor).noiseless_time(mean) / free
        for factor in (0.25, 4.0)
    )
    assert more <= level <= less
    assert more < less


def test_the_day_is_drawn_as_it_is():
    table = figure_tables.day()
    figure = disclosure.disclosure_figure(table, titles=figure_tables.TITLES)
    margin, day = figure.axes
    again = redraw(from_csv(to_csv(table)), recipe_of(figure))
    assert [len(axes.get_lines()) for axes in again.axes] == [5, 4]
    streams = figure_tables.OUTCOMES
    rule = dpb.NAS(0.9, 0.5)
    for outcome, stream in streams.items():
        halt = rule.run(stream, np.random.default_rng(0)).samples
        (marked,) = table[(table.panel == "a") & (table.outcome == outcome) & (table.mark == 1)].n
        assert marked == halt
        assert f"stops at {halt}" in [text.get_text() for text in margin.texts]
    laws = table[table.panel == "b"]
    assert (laws.groupby("outcome").value.sum() <= 1 + 1e-9).all()
    assert len(laws[laws.mark == 1]) == 2
    assert len(day.get_lines()) == 4  # two laws, two medians


def test_the_best_guess_is_that_of_the_laws():
    """Against the definition, on a grid of estimates, and for laws that tell nothing."""
    rule, streams = dpb.DPNAS(4.0, 0.9, 0.5), list(figure_tables.OUTCOMES.values())
    law, other = (dpb.stopping.halting_law(rule, stream[:300]) for stream in streams)
    assert disclosure.guess_from_day(law, law) == pytest.approx(0.5)
    day = disclosure.guess_from_day(law, other)
    sums = tuple(np.cumsum(stream[:300]) for stream in streams)
    both = disclosure.guess_from_all(law, other, sums, 3.0)
    assert 0.5 < day < both < 1
    p, q = np.exp(law.log_halt), np.exp(other.log_halt)
    best = max(math.exp(law.log_survive), math.exp(other.log_survive))
    grid, step = np.linspace(-100, 400, 50_001, retstep=True)
    for weight, rival, here, there in zip(p, q, *sums, strict=True):
        one = weight * np.exp(-np.abs(grid - here) / 3) / 6
        two = rival * np.exp(-np.abs(grid - there) / 3) / 6
        best += float(np.maximum(one, two).sum() * step)
    assert both == pytest.approx(best / 2, abs=1e-5)


def test_errors_are_shown_with_their_intervals():
    none = {"error_rate": 0.0, "error_low95": 0.0, "error_high95": 0.004}
    some = {"error_rate": 0.01, "error_low95": 0.002, "error_high95": 0.03}
    clean = changed(DRAWINGS["failures"].table(), none, panel="b")
    mixed = changed(clean, some, panel="b", rule="DP-NAS", alpha=0.9, beta=0.2)
    for table, failures in ((clean, 0), (mixed, 1)):
        (axes,) = DRAWINGS["failures"](table, panels=["b"]).axes
        arrows = [line for line in axes.get_lines() if line.get_marker() == "v"]
        markers = {look.marker for look in RULE_LOOKS.values()}
        points = [line for line in axes.get_lines() if line.get_marker() in markers]
        shown = sorted((p.get_markerfacecolor() != "white", p.get_ydata()[0]) for p in points)
        unseen = len(STOPPED["failures"]["b"]) - failures
        # hollow at the intervals' upper ends, filled at shares
        assert shown == [(False, 0.004)] * unseen + [(True, 0.01)] * failures
        assert len(arrows) == unseen and all(0 < a.get_ydata()[0] < 0.004 for a in arrows)
        bars = [sorted(line.get_ydata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
        assert bars.count([0.002, 0.03]) == failures
        assert bars.count([0.05, 0.05]) == bars.count([0.2, 0.2]) == 1  # what is allowed
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["α=0.5", "α=0.9"] * 2
    assert [text.get_text() for text in axes.texts] == ["β = 0.05", "β = 0.2"]


def test_slopes_of_means_and_of_the_condition():
    figure = DRAWINGS["slopes"](DRAWINGS["slopes"].table())
    for (panel, epsilon), axes in zip(BUDGETS.items(), figure.axes, strict=True):
        for rule in rules(epsilon):
            far, near = (
                stopped("mean")[panel, rule, two_point(mean)].samples.mean() for mean in (0.5, 0.1)
            )
            marker = RULE_LOOKS[rule.label].marker
            (point,) = (line for line in axes.get_lines() if line.get_marker() == marker)
            slope = math.log(far / near) / math.log(5)
            assert point.get_ydata() == pytest.approx([slope], rel=1e-5)
            assert point.get_xdata() == pytest.approx([math.sqrt(0.05)], rel=1e-5)
    levels = [
        line.get_ydata()[0] for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2
    ]
    assert {-1.0, -2.0} <= set(levels)


def test_slopes_go_from_two_to_one():
    def slope(epsilon, mean):
        return local_slope(doubling(epsilon), mean)

    assert slope(1.0, 1e-4) == pytest.approx(-2, abs=0.05)  # the samples' randomness
    assert slope(1e-5, 0.3) == pytest.approx(-1, abs=0.05)  # the noise
    assert -1.8 < slope(0.01, 0.02) < -1.2
