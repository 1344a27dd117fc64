"""Data of experiments on stopping rules: tables, comparison, spot checks."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dpbandits as dpb
from dpbandits import experiments
from dpbandits.experiments import (
    EXPERIMENTS,
    PRESETS,
    Preset,
    StoppingCell,
    StoppingReplicates,
    stopping_tables,
    store,
)
from dpbandits.experiments.stopping_catalogue import GRIDS
from dpbandits.experiments.stopping_cells import stopping_setting
from dpbandits.experiments.stopping_tables import StoppingTable

ROOT = Path(__file__).resolve().parents[1]
STOPPING = [name for name in EXPERIMENTS if name.startswith("ours-stopping-")]
ID = "ours-stopping-epsilon"
LAW = dpb.instances.two_point(0.3)
RULES = (dpb.NAS(0.5, 0.05), dpb.DPNAS(1.0, 0.5, 0.05), dpb.DPExponentialNAS(1.0, 0.5, 0.05))


@pytest.fixture
def tiny(monkeypatch):
    """A preset of forty runs, for comparisons in law, and its results for a seed."""
    grid = dataclasses.replace(GRIDS["smoke"], n_runs=40)
    monkeypatch.setitem(PRESETS, "tiny", Preset("tiny", 1000, 3, (1.0,), (1000,)))
    monkeypatch.setitem(GRIDS, "tiny", grid)
    return lambda seed: experiments.run(ID, "tiny", seed=seed)


def cells(n_runs=250, max_samples=10**9):
    return [StoppingCell(rule, LAW, max_samples, n_runs) for rule in RULES]


def group_of(cell, seed=0, law=None):
    """The replicates of a cell, under its labels, though maybe played on another law."""
    played = cell if law is None else dataclasses.replace(cell, law=law)
    runs = experiments.run_cells([played], seed=seed)[played].runs
    (group,) = StoppingTable().replicates([(stopping_setting("any", "a", cell), runs)])
    return group


# --------------------------------------------------------------------------------- tables


def by_hand(samples, estimate, halted):
    rule = dpb.NAS(0.5, 0.05)
    return dpb.Estimates(
        rule, LAW, 1000, np.array(samples), np.array(estimate), np.array(halted, dtype=bool)
    )


def summary_of(runs):
    setting = stopping_setting("any", "a", StoppingCell(runs.rule, LAW, 1000, runs.n_runs))
    (summary,) = StoppingTable().summaries([(setting, runs)])
    return summary


def test_a_summary():
    samples = [2, 4, 4, 8, 8, 8, 16, 16, 32, 64]
    runs = by_hand(samples, [0.3] * 8 + [0.46, 0.14], [True] * 10)
    summary = summary_of(runs)
    assert (summary.n_runs, summary.halted, summary.mean_samples) == (10, 10, 16.2)
    interval = stats.ttest_1samp(samples, 0).confidence_interval(0.95)
    assert (summary.samples_low95, summary.samples_high95) == pytest.approx(tuple(interval))
    assert (summary.samples_q05, summary.samples_q50, summary.samples_q95) == (2, 8, 64)
    assert summary.error_rate == 0.2
    tails = stats.beta.ppf(0.025, 2, 9), stats.beta.ppf(0.975, 3, 8)
    assert (summary.error_low95, summary.error_high95) == pytest.approx(tails)


def test_runs_that_did_not_halt_leave_mean_and_quantiles_open():
    runs = by_hand([500, 1000], [0.31, math.nan], [True, False])
    summary = summary_of(runs)
    assert (summary.n_runs, summary.halted) == (2, 1)
    open_ones = ("mean_samples", "samples_low95", "samples_high95", "samples_q05", "samples_q50")
    assert all(math.isnan(getattr(summary, name)) for name in open_ones)
    assert summary.error_rate == 0


@pytest.mark.parametrize("max_samples", [10**9, 3000])
def test_tables_read_back(max_samples):
    table = StoppingTable()
    pairs = [
        (stopping_setting("any", "a", cell), done.runs)
        for cell, done in experiments.run_cells(cells(20, max_samples), seed=1).items()
    ]
    summaries, groups = table.summaries(pairs), table.replicates(pairs)
    if max_samples == 3000:
        assert {group.halted.all() for group in groups} == {False}
    again = table.summaries_from_text(table.summaries_to_text(summaries))
    assert all(a.same_as(b) and b.same_as(a) for a, b in zip(summaries, again, strict=True))
    stored = table.replicates_from_text(table.replicates_to_text(groups))
    assert [group.labels for group in stored] == [setting.labels for setting, _ in pairs]
    assert all(a.same_as(b) and b.same_as(a) for a, b in zip(groups, stored, strict=True))
    assert not again[0].same_as(dataclasses.replace(again[0], error_rate=0.5))
    assert not stored[0].same_as(dataclasses.replace(stored[0], samples=stored[0].samples + 1))


def test_the_file_of_runs_stays_small(tiny, tmp_path, monkeypatch):
    results = tiny(0)
    n_settings = len(results.settings)
    monkeypatch.setattr(
        EXPERIMENTS[ID].table.__class__, "max_rows", property(lambda self: 15 * n_settings)
    )
    experiments.write(results, tmp_path)
    data = experiments.read(ID, tmp_path)
    assert {group.n_runs for group in data.replicates} == {15}
    assert {summary.n_runs for summary in data.summaries} == {40}
    assert data.manifest["runs"] == "the first 15 of each setting, of 40"
    for setting, group in zip(results.settings, data.replicates, strict=True):
        assert np.array_equal(group.samples, results[setting].samples[:15])


@pytest.mark.parametrize("name", STOPPING)
def test_no_file_of_runs_is_large(name):
    assert (ROOT / "book" / "data" / f"{name}.runs.csv").stat().st_size < 1.5e6


# ----------------------------------------------------------------------------- comparison


@pytest.mark.statistical(false_alarm=1e-6)
def test_verdicts():
    old = [group_of(cell) for cell in cells(200)]
    again = [group_of(cell) for cell in cells(200)]
    assert experiments.compare(again, old).name == "identical"
    fresh = [group_of(cell, seed=1) for cell in cells(200)]
    verdict = experiments.compare(fresh, old)
    assert verdict.name == "equal in law"
    assert "6 two-sample tests" in str(verdict)


@pytest.mark.parametrize("rule", range(3))
def test_another_law_differs(rule):
    """Negative control: a mean of 0.4 in place of 0.3."""
    old = [group_of(cell) for cell in cells(200)]
    new = list(old)
    new[rule] = group_of(cells(200)[rule], law=dpb.instances.two_point(0.4))
    verdict = experiments.compare(new, old)
    assert verdict.name == "differs"
    assert f"panel a, {RULES[rule].label} on {LAW.name}, μ = 0.3, " in str(verdict)


def test_estimates_alone_and_halts_alone_are_seen():
    (group, *_) = (group_of(cell) for cell in cells(200))
    shifted = dataclasses.replace(group, estimate=group.estimate * 1.5)
    assert experiments.compare([shifted], [group]).name == "differs"
    stopped = dataclasses.replace(
        group, estimate=np.full(200, math.nan), halted=np.zeros(200, dtype=bool)
    )
    assert experiments.compare([stopped], [group]).name == "differs"
    assert experiments.compare([stopped], [stopped]).name == "identical"
    relabelled = dataclasses.replace(group, labels=group.labels._replace(beta=0.1))
    assert experiments.compare([relabelled], [group]).name == "differs"


def test_five_hundred_runs_are_tested():
    labels = group_of(cells(1)[0]).labels
    spread = np.arange(1, 601)
    group = StoppingReplicates(labels, spread, spread / 1000, np.ones(600, dtype=bool))
    late = dataclasses.replace(group, samples=np.where(spread > 500, 1, spread))
    assert experiments.compare([late], [group]).name == "equal in law"
    early = dataclasses.replace(group, samples=np.where(spread > 300, 1, spread))
    assert experiments.compare([early], [group]).name == "differs"


# ----------------------------------------------------------------------------------- data


def test_written_data_reads_back(tiny, tmp_path):
    results = tiny(0)
    assert experiments.write(results, tmp_path).name == "not compared"
    data = experiments.load(ID, tmp_path)
    for old, new in (
        (data.summaries, results.summaries()),
        (data.replicates, results.replicates()),
    ):
        assert all(a.same_as(b) for a, b in zip(old, new, strict=True))
    assert data.manifest["runs"] == "all"
    assert "horizon" not in data.manifest
    assert set(data.manifest["code"]) == {
        f"{rule}, TwoPointLaw" for rule in ("NAS", "DPNAS", "DPExponentialNAS")
    }
    text = (tmp_path / f"{ID}.json").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert experiments.write(tiny(0), tmp_path).name == "identical"
    live, stored = experiments.rows_of(results), experiments.rows_of(data)
    assert live[0] is stored[0] is EXPERIMENTS[ID]
    assert [row.setting for row in live[1]] == [row.setting for row in stored[1]]


def test_changed_data_differs(tiny, tmp_path):
    results = tiny(0)
    experiments.write(results, tmp_path)
    for runs in results.values():
        runs.samples[:] *= 3
    assert experiments.write(results, tmp_path / "new", against=tmp_path).name == "differs"


def test_a_changed_summary_differs(tiny, tmp_path, monkeypatch):
    experiments.write(tiny(0), tmp_path)
    usual = stopping_tables._summary
    monkeypatch.setattr(
        stopping_tables,
        "_summary",
        lambda setting, runs: dataclasses.replace(usual(setting, runs), error_rate=0.5),
    )
    verdict = experiments.write(tiny(0), tmp_path / "new", against=tmp_path)
    assert str(verdict) == f"differs (the runs are the same, {ID}.csv is not)"


def rewrite(folder, **changes):
    path = folder / f"{ID}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_spot_check_of_bits(tiny, tmp_path):
    experiments.write(tiny(0), tmp_path)
    check = experiments.spot_check(ID, n_cells=6, n_runs=5, folder=tmp_path)
    assert (check.kind, check.passed, check.n_cells, check.n_runs) == ("bits", True, 6, 5)


@pytest.mark.statistical(false_alarm=1e-6)
def test_spot_check_in_law(tiny, tmp_path):
    """Data of seed 1 that claims to be of seed 0: other bits, the same law."""
    settings = store.fingerprint(EXPERIMENTS[ID], "tiny", 0)["settings"]
    claim = {"seed": 0, "settings": settings}
    results = tiny(1)
    experiments.write(results, tmp_path)
    rewrite(tmp_path, **claim)
    check = experiments.spot_check(ID, n_cells=10, folder=tmp_path)
    assert (check.kind, check.passed) == ("bits", False)
    rewrite(tmp_path, **claim, processor="another")
    check = experiments.spot_check(ID, n_cells=10, folder=tmp_path)
    assert (check.kind, check.passed, check.n_runs) == ("law", True, 10)
    for runs in results.values():
        runs.estimate[:] *= 2
    experiments.write(results, tmp_path)
    rewrite(tmp_path, **claim, processor="another")
    check = experiments.spot_check(ID, n_cells=10, folder=tmp_path)
    assert (check.kind, check.passed) == ("law", False)
