"""Experiments on best-arm identification: data to text and back, spot checks, figures."""

import dataclasses
import json
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, IdentificationCell, spot
from dpbandits.experiments.identification_cells import identification_setting
from dpbandits.identification import sample_lower_bound
from dpbandits.plotting import identification

IDS = [name for name, e in EXPERIMENTS.items() if e.table.kind == "identification"]
ID = "ja25-fig1"


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(IDS, preset="smoke")


@pytest.fixture(scope="module")
def folder(smoke, tmp_path_factory):
    where = tmp_path_factory.mktemp("data")
    for name in IDS:
        experiments.write(smoke.subset(name), where)
    return where


def test_the_published_grid_is_that_of_the_paper():
    settings = EXPERIMENTS[ID].settings("paper")
    budgets = sorted({s.epsilon for s in settings if math.isfinite(s.epsilon)})
    assert len(budgets) == 17 and (budgets[0], budgets[-1]) == (0.001, 125.0)
    np.testing.assert_allclose(np.diff(np.log(budgets)), math.log(125_000) / 16, rtol=1e-2)
    assert min(s.cell.n_runs for s in settings) >= 200
    assert {s.delta for s in settings} == {0.01}


def test_a_cell_is_what_identify_gives(smoke):
    for name in (ID, "ours-bai-eta"):
        setting = smoke.subset(name).settings[-1]
        cell = setting.cell
        runs = dpb.identify(
            cell.algorithm, cell.instance, cell.n_runs, cell.seed(0), cell.max_pulls
        )
        assert (runs.pulls == smoke[cell].pulls).all()
        assert (runs.recommendation == smoke[cell].recommendation).all()


def test_summaries_are_those_of_the_runs(smoke):
    part = smoke.subset(ID)
    for setting, summary in zip(part.settings, part.summaries(), strict=True):
        times = part[setting].stopping_time
        assert summary.labels == setting.labels
        assert (summary.n_runs, summary.stopped) == (times.size, times.size)
        assert summary.mean_time == times.mean() and summary.time_max == times.max()
        assert summary.time_sd == pytest.approx(times.std(ddof=1))
        assert summary.time_low95 <= summary.mean_time <= summary.time_high95
        assert summary.error_low95 <= summary.error_rate <= summary.error_high95


def test_runs_that_were_ended_have_no_mean():
    slow, instance = dpb.DPTT(1.0, 0.1), dpb.instances.bernoulli([0.6, 0.5])
    middle = int(np.median(dpb.identify(slow, instance, 21).stopping_time))
    cell = IdentificationCell(slow, instance, middle, 21)
    runs = cell.assemble(cell.play(np.random.SeedSequence(0).spawn(21)))
    setting = identification_setting(ID, "a", cell)
    (summary,) = EXPERIMENTS[ID].table.summaries([(setting, runs)])
    assert 0 < summary.stopped < 21
    assert math.isnan(summary.mean_time) and math.isnan(summary.time_sd)
    assert math.isfinite(summary.time_q05) and math.isnan(summary.time_q95)
    assert summary.time_max <= middle
    (group,) = EXPERIMENTS[ID].table.replicates([(setting, runs)])
    (values,) = group.headline()
    ended = group.recommendation < 0
    assert values[ended].min() > values[~ended].max(), "an ended run counts as longer"


@pytest.mark.parametrize("name", IDS)
def test_what_is_written_is_read(name, smoke, folder):
    part, stored = smoke.subset(name), experiments.read(name, folder)
    for mine, other in zip(part.summaries(), stored.summaries, strict=True):
        assert mine.same_as(other)
        assert not type(mine)(**{**vars(mine), "error_rate": 0.77}).same_as(other)
    for mine, other in zip(part.replicates(), stored.replicates, strict=True):
        assert mine.same_as(other) and mine.take([0]).n_runs == 1
    manifest = json.loads((folder / f"{name}.json").read_text("utf-8"))
    assert manifest["preset"] == "smoke" and manifest["cells"]


def test_stored_runs_are_run_again(folder):
    check = experiments.spot_check(ID, n_cells=3, n_runs=1, folder=folder)
    assert check.passed and (check.kind, check.n_compared) == ("bits", 3)


def test_a_stored_run_that_was_changed_does_not_pass(folder):
    """The negative control of the spot check: one run of one setting, longer by one pull."""
    n_settings = len(EXPERIMENTS[ID].settings("smoke"))
    data = experiments.load(ID, folder)
    assert experiments.spot_check(ID, n_settings, 3, folder=folder).passed
    first = data.replicates[0]
    longer = first.stopping_time + np.array([1, 0, 0])
    changed = dataclasses.replace(first, stopping_time=longer)
    wrong = dataclasses.replace(data, replicates=(changed, *data.replicates[1:]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spot, "load", lambda *_: wrong)
        assert not experiments.spot_check(ID, n_settings, 3, folder=folder).passed


@pytest.mark.parametrize("name", IDS)
def test_every_figure_is_drawn(name, smoke):
    part = smoke.subset(name)
    figure = plotting.draw(part)
    experiment = EXPERIMENTS[name]
    assert len(figure.axes) == len(experiment.panels)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert all(t in shown for t, shown in zip(experiment.panels.values(), titles, strict=True))
    assert all(axes.texts for axes in figure.axes), "curves have names"
    plt.close(figure)


def test_ratios_are_to_the_lower_bound(smoke):
    part = smoke.subset(ID)
    figure = plotting.draw(part, values="ratio", panels=["b"])
    (axes,) = figure.axes
    pairs = part.select(panel="b", algorithm="DP-TT", variant="")
    wanted = [
        runs.stopping_time.mean() / sample_lower_bound(s.cell.instance.means, s.epsilon, s.delta)
        for s, runs in pairs
    ]
    drawn = [line.get_ydata() for line in axes.lines]
    assert any(np.shape(y) == (2,) and np.allclose(y, wanted) for y in drawn)
    shown = [text.get_text() for text in axes.texts]
    assert {"DP-TT", "Top Two, no privacy", "lower bound"} <= set(shown)
    plt.close(figure)


def test_the_privacy_switches_are_marked(smoke):
    figure = plotting.draw(smoke.subset(ID), panels=["a"])
    (axes,) = figure.axes
    upright = [line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1]
    mu1 = dpb.instances.ja25("mu1").means
    inside = [x for x in dpb.identification.privacy_switches(mu1) if 0.5 < x < 5]
    assert sorted(x for x in upright if x in inside) == sorted(inside)
    plt.close(figure)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": "share"}, "values='share' is unknown"),
        ({"panels": ["z"]}, "panel='z' is unknown"),
        ({"epochs": True}, "epochs=True is unknown"),
    ],
)
def test_unknown_options_are_refused(options, message, smoke):
    with pytest.raises(ValueError, match=message):
        plotting.draw(smoke.subset(ID), **options)


@pytest.mark.parametrize("name", ["ours-bai-tail", "ours-bai-error"])
@pytest.mark.parametrize("values", ["time", "ratio", "share"])
def test_tails_and_errors_have_no_choice_of_values(name, values, smoke):
    with pytest.raises(ValueError, match=rf"values='{values}' .*{name}.*allowed: None"):
        plotting.draw(smoke.subset(name), values=values)


BY_AXIS = {EXPERIMENTS[name].axis: name for name in IDS}


@pytest.mark.parametrize("axis", [axis for axis in BY_AXIS if axis not in ("tail", "head-map")])
def test_without_theory_there_is_no_bound(axis, smoke):
    def words(figure):
        shown = {text.get_text() for axes in figure.axes for text in axes.texts}
        plt.close(figure)
        return shown

    part = smoke.subset(BY_AXIS[axis])
    theory = words(plotting.draw(part, theory=True))
    bare = words(plotting.draw(part, theory=False))
    assert theory - bare == {"allowed" if axis == "error" else "lower bound"}
    assert bare <= theory


def ended(pairs, which):
    """Return rows of which some runs, all or the first, were ended by the time they stopped."""
    _, rows = pairs
    for row in rows:
        times = row.replicates.stopping_time
        cut = np.arange(times.size) < (times.size if which == "all" else 1)
        group = dataclasses.replace(
            row.replicates, recommendation=np.where(cut, -1, row.replicates.recommendation)
        )
        summary = dataclasses.replace(
            row.summary, stopped=int((~cut).sum()), mean_time=math.nan, time_sd=math.nan
        )
        yield dataclasses.replace(row, summary=summary, replicates=group)


@pytest.mark.parametrize("which", ["one", "all"])
def test_a_tail_says_how_many_never_stopped(which, smoke, monkeypatch):
    pairs = experiments.rows_of(smoke.subset("ours-bai-tail"))
    rows = list(ended(pairs, which))
    monkeypatch.setattr(identification, "rows_of", lambda source: (pairs[0], rows))
    figure = plotting.identification_figure("ours-bai-tail")
    for panel, axes in zip(pairs[0].panels, figure.axes, strict=True):
        shown = [text.get_text() for text in axes.texts]
        shares = [
            np.mean(r.replicates.recommendation < 0) for r in rows if r.summary.panel == panel
        ]
        told = sorted(text.partition(": ")[2] for text in shown if "never" in text)
        assert told == sorted(f"{share:.1%} never" for share in shares)
        assert which == "one" or told == ["100.0% never"] * 4
    plt.close(figure)


def test_a_panel_without_a_mean_is_refused(smoke, monkeypatch):
    pairs = experiments.rows_of(smoke.subset(ID))
    rows = [
        row if row.summary.panel == "a" else new
        for row, new in zip(pairs[1], ended(pairs, "one"), strict=True)
    ]
    monkeypatch.setattr(identification, "rows_of", lambda source: (pairs[0], rows))
    plt.close(plotting.identification_figure(ID, panels=["a"]))
    for theory in (True, False):
        with pytest.raises(ValueError, match=r"panel='b' has no setting with a mean; allowed: "):
            plotting.identification_figure(ID, theory=theory)


@pytest.mark.parametrize("values", ["time", "ratio"])
def test_panels_without_private_algorithms(values, smoke, monkeypatch):
    for name in (ID, "ours-bai-delta"):
        experiment, rows = experiments.rows_of(smoke.subset(name))
        free = [row for row in rows if math.isinf(row.summary.epsilon)]
        monkeypatch.setattr(identification, "rows_of", lambda source, e=experiment, r=free: (e, r))
        if name == ID:
            with pytest.raises(ValueError, match=r"panel='a' has no setting with epsilon; allowed"):
                plotting.identification_figure(name, values=values)
            continue
        figure = plotting.identification_figure(name, values=values)
        shown = {text.get_text() for text in figure.axes[0].texts}
        assert shown == {"Top Two, no privacy", "lower bound"}
        plt.close(figure)


@pytest.mark.parametrize("name", [n for n in IDS if EXPERIMENTS[n].axis != "head-map"])
def test_an_algorithm_without_a_look_is_drawn(name, smoke, monkeypatch):
    experiment, rows = experiments.rows_of(smoke.subset(name))
    new = [
        dataclasses.replace(row, summary=dataclasses.replace(row.summary, algorithm="Own"))
        if row.summary.algorithm == rows[0].summary.algorithm
        else row
        for row in rows
    ]
    monkeypatch.setattr(identification, "rows_of", lambda source: (experiment, new))
    figure = plotting.identification_figure(name)
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    words += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert any(word.startswith("Own") for word in words)
    plt.close(figure)


def test_other_kinds_are_refused():
    other = experiments.run("ours-budget-split", preset="smoke")
    with pytest.raises(ValueError, match="an experiment on identification"):
        plotting.identification_figure(other)


@pytest.mark.parametrize(
    ("algorithm", "instance", "message"),
    [
        (dpb.DPSE(1.0), dpb.instances.ja25("mu1"), "algorithm=.* cannot be played"),
        (dpb.DPLRE(1.0, 0.1), dpb.instances.bernoulli([0.5, 0.5]), "several best arms"),
        (dpb.DPLRE(1.0, 0.1), dpb.instances.twzw22("S1", 0.9), "rewards of 0 or 1"),
    ],
)
def test_cells_that_cannot_be_played_are_refused(algorithm, instance, message):
    with pytest.raises(ValueError, match=message):
        IdentificationCell(algorithm, instance, 10**6, 3)
