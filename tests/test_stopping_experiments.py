"""Experiments on stopping rules: settings, seeds, workers; the data is in test_stopping_data.py."""

import dataclasses
import json
import math

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import experiments
from dpbandits.cache import CacheWarning
from dpbandits.experiments import EXPERIMENTS, PRESETS, StoppingCell, running
from dpbandits.experiments.stopping_catalogue import GRIDS

STOPPING = [name for name in EXPERIMENTS if name.startswith("ours-stopping-")]
ID = "ours-stopping-epsilon"
LAW = dpb.instances.two_point(0.3)
RULES = (dpb.NAS(0.5, 0.05), dpb.DPNAS(1.0, 0.5, 0.05), dpb.DPExponentialNAS(1.0, 0.5, 0.05))


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(["ss19-fig1", *STOPPING], preset="smoke")


def same(a, b):
    columns = ("samples", "estimate", "halted")
    return all(np.array_equal(getattr(a, c), getattr(b, c), equal_nan=True) for c in columns)


def cells(n_runs=250, max_samples=10**9):
    return [StoppingCell(rule, LAW, max_samples, n_runs) for rule in RULES]


# ------------------------------------------------------------------------------- settings


def test_every_preset_has_a_grid():
    assert GRIDS.keys() == PRESETS.keys()
    assert len(STOPPING) == 7


@pytest.mark.parametrize("preset", GRIDS)
@pytest.mark.parametrize("name", STOPPING)
def test_labels_say_what_the_cell_is(name, preset):
    experiment = EXPERIMENTS[name]
    settings = experiment.settings(preset)
    assert len({setting.labels for setting in settings}) == len(settings)
    assert {setting.panel for setting in settings} == set(experiment.panels)
    assert [s.panel for s in settings] == sorted(s.panel for s in settings)
    for setting in settings:
        rule, law = setting.cell.rule, setting.cell.law
        assert (setting.experiment, setting.rule, setting.law) == (name, rule.label, law.name)
        assert setting.mean == pytest.approx(law.mean, rel=1e-6)
        assert (setting.alpha, setting.beta) == (rule.alpha, rule.beta)
        assert setting.epsilon == getattr(rule, "epsilon", math.inf)
        is_twin = name == "ours-stopping-overhead" and setting.rule == "DP-exp-NAS"
        assert (setting.variant == "twin") == (is_twin and math.isinf(setting.epsilon))


def paper(name):
    return EXPERIMENTS[f"ours-stopping-{name}"].settings("paper")


def test_the_grids_of_the_paper_preset_span_what_they_should():
    means = {s.mean for s in paper("mean")}
    assert (min(means), max(means)) == (0.001, 0.5)
    assert len(means) >= 10
    alphas = {s.alpha for s in paper("alpha")}
    assert (min(alphas), max(alphas)) == (0.01, 0.9)
    betas = {s.beta for s in paper("beta")}
    assert (min(betas), max(betas)) == (1e-12, 0.5)
    budgets = {s.epsilon for s in paper("epsilon")} - {math.inf}
    assert (min(budgets), max(budgets)) == (1e-4, 10)
    grid = {(s.mean, s.epsilon) for s in paper("overhead") if math.isfinite(s.epsilon)}
    assert len(grid) == 81
    twins = {s.mean for s in paper("overhead") if s.variant == "twin"}
    assert twins == {s.mean for s in paper("overhead") if s.rule == "NAS"} == {m for m, _ in grid}
    deviations = [math.sqrt(s.cell.law.variance) for s in paper("variance") if s.panel == "a"]
    assert min(deviations) == pytest.approx(1e-3)
    assert max(deviations) == pytest.approx(math.sqrt(0.99))
    assert {s.rule for s in paper("variance")} == {"NAS", "EBGStop", "DP-NAS", "DP-exp-NAS"}


def test_the_runs_of_the_paper_preset():
    runs = {
        (s.panel, s.rule): s.cell.n_runs for s in paper("error") if (s.alpha, s.beta) == (0.9, 0.2)
    }
    assert [runs[panel, "DP-exp-NAS"] for panel in "abd"] == [10_000] * 3
    assert [runs[panel, rule] for panel in "abd" for rule in ("NAS", "DP-NAS")] == [2_000] * 6
    assert runs["c", "DP-exp-NAS"] == 5_000  # drawn one by one, so that half of them must do
    counts = {s.cell.n_runs for name in STOPPING[:5] for s in EXPERIMENTS[name].settings()}
    assert counts == {50, 200}


def test_seeds_do_not_depend_on_runs_but_on_everything_else():
    cell = cells()[2]
    assert cell.seed(0) == dataclasses.replace(cell, n_runs=3).seed(0)
    changed = (
        {"rule": dpb.DPExponentialNAS(2.0, 0.5, 0.05)},
        {"rule": dpb.DPNAS(1.0, 0.5, 0.05)},
        {"law": dpb.instances.two_point(0.31)},
        {"max_samples": 10},
    )
    seeds = {dataclasses.replace(cell, **change).seed(0) for change in changed}
    assert len(seeds | {cell.seed(0), cell.seed(1)}) == 6


def test_a_configuration_is_strict_json():
    cell = StoppingCell(dpb.DPExponentialNAS(math.inf, 0.5, 0.05), LAW, 1000, 1)
    assert cell.configuration() == {
        "rule": {"name": "DPExponentialNAS", "epsilon": "inf", "alpha": 0.5, "beta": 0.05},
        "law": {
            "name": "TwoPointLaw",
            "half_range": 1.0,
            "low": -1.0,
            "high": 1.0,
            "probability": 0.65,
        },
        "max_samples": 1000,
    }
    json.dumps(cell.configuration(), allow_nan=False)


# -------------------------------------------------------------------------------- running


@pytest.mark.parametrize("name", STOPPING)
def test_every_experiment_runs(smoke, name):
    part = smoke.subset(name)
    assert part.settings == EXPERIMENTS[name].settings("smoke")
    for setting, runs in part.select():
        assert runs.n_runs == setting.cell.n_runs > 0
        assert (runs.rule, runs.law) == (setting.cell.rule, setting.cell.law)
        assert runs.halted.all()
        assert runs.samples.min() > 1


def test_settings_are_selected_by_labels(smoke):
    for rule in ("NAS", "DP-NAS", "DP-exp-NAS"):
        found = smoke.select(experiment=ID, panel="a", rule=rule)
        assert [setting.rule for setting, _ in found] == [rule] * len(found)
        assert len(found) == (1 if rule == "NAS" else 2)
    assert {type(runs) for _, runs in smoke.select(rule="NAS")} == {dpb.Estimates}
    assert {type(runs) for _, runs in smoke.select(algorithm="DP-SE")} == {dpb.Runs}
    assert smoke.select(rule="DP-SE") == []
    with pytest.raises(ValueError, match="label 'horizon' is unknown; allowed: experiment, panel"):
        smoke.select(horizon=3)
    with pytest.raises(ValueError, match="label 'algorithm' is unknown; allowed: .*rule, variant"):
        smoke.subset(ID).select(algorithm="NAS")


@pytest.fixture(scope="module")
def sequential():
    return experiments.run_cells(cells(), seed=7)


def test_a_cell_is_what_estimate_gives(sequential):
    for cell in cells():
        runs = dpb.estimate(cell.rule, cell.law, cell.n_runs, cell.seed(7), cell.max_samples)
        assert same(runs, sequential[cell].runs)


def test_bits_do_not_depend_on_workers(sequential):
    parallel = experiments.run_cells(cells(), seed=7, n_jobs=2)
    assert all(same(parallel[cell].runs, sequential[cell].runs) for cell in sequential)


def test_fewer_runs_are_the_first_of_more(sequential):
    for cell, done in experiments.run_cells(cells(30), seed=7).items():
        more = sequential[dataclasses.replace(cell, n_runs=250)].runs
        assert np.array_equal(done.runs.samples, more.samples[:30])


def test_an_interrupted_run_resumes(tmp_path, monkeypatch, sequential):
    usual, calls = running.play_chunk, []

    def counted(cell, seeds):
        calls.append(cell.rule)
        if len(calls) == 5 and not resumed:
            raise KeyboardInterrupt
        return usual(cell, seeds)

    monkeypatch.setattr(running, "play_chunk", counted)
    resumed = False
    with pytest.raises(KeyboardInterrupt):
        experiments.run_cells(cells(), seed=7, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1  # the first cell took three chunks
    resumed = True
    calls.clear()
    found = experiments.run_cells(cells(), seed=7, cache=tmp_path)
    assert set(calls) == set(RULES[1:])
    assert all(same(found[cell].runs, sequential[cell].runs) for cell in sequential)


def test_a_torn_cell_is_computed_again(tmp_path, sequential):
    experiments.run_cells(cells(), seed=7, cache=tmp_path)
    torn = sorted(tmp_path.iterdir())[0]
    torn.write_bytes(torn.read_bytes()[:-40])
    with pytest.warns(CacheWarning, match=f"{torn.name} is damaged"):
        found = experiments.run_cells(cells(), seed=7, cache=tmp_path)
    assert all(same(found[cell].runs, sequential[cell].runs) for cell in sequential)
    again = experiments.run_cells(cells(), seed=7, cache=tmp_path)
    assert all(again[cell].seconds == found[cell].seconds for cell in cells())
