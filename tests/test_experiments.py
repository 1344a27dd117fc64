"""Experiments: settings, seeds, workers, data, comparison in law."""

import dataclasses
import json
import math
import socket
import sys
from collections import Counter

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpbandits as dpb
from dpbandits import experiments, provenance
from dpbandits.experiments import EXPERIMENTS, PRESETS, Preset, RegretCell, running, settings, store
from dpbandits.experiments.compare import two_sample_p
from dpbandits.experiments.workers import dask_workers

FIGURES = [f"ss19-fig{i}" for i in range(1, 13)]
REGRET = [name for name, e in EXPERIMENTS.items() if e.table.kind == "regret"]
QUICK_ID = "ours-budget-split"  # DP-SE only: takes no time at any horizon


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(REGRET, preset="smoke")


def same(a, b):
    return (
        np.array_equal(a.regret, b.regret)
        and np.array_equal(a.pulls, b.pulls)
        and all(map(np.array_equal, a.epoch_ends, b.epoch_ends))
    )


# ------------------------------------------------------------------------------- settings


def test_figures_are_those_of_the_paper():
    budgets = {0: (0.5, 1.0), 1: (0.1, 0.25)}
    for number, name in enumerate(FIGURES, start=1):
        settings = EXPERIMENTS[name].settings("paper")
        places = {(s.panel, s.n_arms, s.epsilon) for s in settings}
        if number <= 4:
            instance = f"C{number}"
            expected = {("a", 5, 0.1), ("a", 5, 0.25), ("b", 5, 0.5), ("b", 5, 1.0)}
        else:
            instance = f"C{(number - 3) // 2}"
            panels = zip("abcd", (3, 5, 10, 20), strict=True)
            expected = {(p, k, e) for p, k in panels for e in budgets[(number - 5) % 2]}
        assert places == expected
        assert Counter(s.algorithm for s in settings) == {
            "DP-SE": len(expected),
            "DP-UCB": len(expected),
        }
        for s in settings:
            assert s.instance == instance
            assert s.cell.instance == dpb.instances.ss19(instance, s.n_arms)
            assert (s.cell.horizon, s.cell.n_runs) == (50_000_000, 30)
            algorithm = dpb.DPSE(s.epsilon) if s.algorithm == "DP-SE" else dpb.DPUCB(s.epsilon)
            assert s.cell.algorithm == algorithm
            assert s.panel in EXPERIMENTS[name].panels


def test_equal_cells_are_one_cell():
    cells = {cell for name in FIGURES for cell in EXPERIMENTS[name].cells()}
    assert len(cells) == 64 * 2
    assert len(EXPERIMENTS["ss19-baselines"].cells()) == 64 * 4
    assert cells < set(EXPERIMENTS["ss19-baselines"].cells())


def test_seeds_are_distinct_and_do_not_depend_on_runs_or_names():
    cells = {cell for e in EXPERIMENTS.values() for cell in e.cells()}
    configurations = {json.dumps(cell.configuration(), sort_keys=True) for cell in cells}
    assert len({cell.seed(0) for cell in cells}) == len(configurations)
    cell = EXPERIMENTS["ss19-fig1"].cells()[0]
    renamed = dataclasses.replace(cell.instance, name="another")
    assert cell.seed(0) == dataclasses.replace(cell, n_runs=3, instance=renamed).seed(0)
    assert cell.seed(0) != cell.seed(1)
    assert cell.seed(0) != dataclasses.replace(cell, horizon=cell.horizon + 1).seed(0)


def test_a_seed_is_what_it_was():
    cell = RegretCell(dpb.DPSE(0.25), dpb.instances.ss19("C1"), 50_000_000, 30)
    assert cell.seed(0) == (0, 2334427090, 2654832004, 1467642217, 1324065015)


def test_a_new_option_with_a_default_keeps_the_seed():
    cell = RegretCell(dpb.DPUCB(1.0), dpb.instances.ss19("C1"), 1000, 1)
    assert cell.configuration()["algorithm"] == {"name": "DPUCB", "epsilon": 1.0}
    told = dpb.DPUCB(1.0, "mishra-thakurta")
    assert dataclasses.replace(cell, algorithm=told).configuration()["algorithm"] == {
        "name": "DPUCB",
        "epsilon": 1.0,
        "variant": "mishra-thakurta",
    }
    nested = dataclasses.replace(cell, algorithm=dpb.GuessAndDouble(dpb.DPSE(1.0), "square"))
    assert nested.configuration()["algorithm"]["base"] == {"name": "DPSE", "epsilon": 1.0}


@pytest.mark.parametrize("horizon", [5, 99, 100, 101, 12_345, 50_000_000, 10**9])
def test_checkpoints(horizon):
    times = RegretCell(dpb.UCB(), dpb.instances.ss19("C1"), horizon, 1).checkpoints
    assert times[-1] == horizon
    assert np.all(np.diff(times) > 0)
    assert times[0] >= min(100, horizon)
    for round_time in (100, 2_000, 50_000, 10**6):
        assert (round_time in times) == (round_time <= horizon)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: experiments.run("ss19-fig13"), ["id='ss19-fig13'", "'ss19-fig12'", "'all'"]),
        (lambda: experiments.run([]), ["ids=[]", "ss19-fig1"]),
        (lambda: experiments.run(QUICK_ID, "papre"), ["preset='papre'", "'paper'", "'smoke'"]),
        (lambda: experiments.run(QUICK_ID, "smoke", seed=-1), ["seed=-1", "at least 0"]),
        (lambda: experiments.run(QUICK_ID, "smoke", n_jobs=0), ["n_jobs=0", "at least 1"]),
        (lambda: experiments.load("fig1"), ["id='fig1'", "'ss19-fig1'"]),
    ],
)
def test_bad_arguments_are_named(call, parts):
    with pytest.raises(ValueError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


# -------------------------------------------------------------------------------- running


@pytest.mark.parametrize("name", REGRET)
def test_every_experiment_runs(smoke, name):
    part = smoke.subset(name)
    assert part.settings == EXPERIMENTS[name].settings("smoke")
    for setting, runs in part.select():
        cell = setting.cell
        assert runs.n_runs == cell.n_runs == 3
        assert runs.regret.shape == (3, cell.checkpoints.size)
        rounding = 1e-9 + 1e-15 * runs.regret.max()  # sums over ten arms are rounded
        assert np.all(np.diff(runs.regret, axis=1) >= -rounding)
        assert np.all(runs.pulls.sum(axis=1) == cell.horizon)
    assert len(part.select(panel="a")) >= 1
    with pytest.raises(ValueError, match="label 'arms' is unknown"):
        part.select(arms=3)


def test_a_cell_is_what_simulate_gives(smoke):
    for setting in (smoke.settings[0], smoke.settings[1], smoke.settings[-1]):
        cell = setting.cell
        runs = dpb.simulate(
            cell.algorithm,
            cell.instance,
            cell.horizon,
            cell.n_runs,
            seed=cell.seed(0),
            checkpoints=cell.checkpoints,
        )
        assert same(runs, smoke[cell])


def small_cells(n_runs=25):
    instance = dpb.instances.ss19("C2", 3)
    algorithms = (dpb.DPSE(1.0), dpb.DPUCB(1.0), dpb.UCB())
    return [RegretCell(algorithm, instance, 3_000, n_runs) for algorithm in algorithms]


@pytest.fixture(scope="module")
def sequential():
    return experiments.run_cells(small_cells(), seed=7)


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_bits_do_not_depend_on_workers(sequential, n_jobs):
    parallel = experiments.run_cells(small_cells(), seed=7, n_jobs=n_jobs)
    assert all(same(parallel[cell].runs, sequential[cell].runs) for cell in sequential)


def test_bits_do_not_depend_on_the_backend(sequential):
    with joblib.parallel_config(backend="threading"):
        threaded = experiments.run_cells(small_cells(), seed=7, n_jobs=2)
    assert all(same(threaded[cell].runs, sequential[cell].runs) for cell in sequential)


@pytest.mark.slow
def test_bits_on_a_dask_cluster(sequential):
    distributed = pytest.importorskip("distributed")
    cell = small_cells()[0]
    task = cell.algorithm, cell.instance, 10**6, 6

    def has_worked():
        return "dpbandits" in sys.modules

    with dask_workers("local", 2):
        client = distributed.default_client()
        assert not any(client.run(has_worked).values())
        remote = experiments.run_cells(small_cells(), seed=7, n_jobs=2)
        assert any(client.run(has_worked).values()), "the replicates were played on the cluster"
        simulated = dpb.simulate(*task, n_jobs=2)
    assert all(same(remote[cell].runs, sequential[cell].runs) for cell in sequential)
    assert same(simulated, dpb.simulate(*task))


def test_fewer_runs_are_the_first_of_more(sequential):
    for cell, done in experiments.run_cells(small_cells(4), seed=7).items():
        more = sequential[dataclasses.replace(cell, n_runs=25)].runs
        assert np.array_equal(done.runs.regret, more.regret[:4])


def test_an_interrupted_run_resumes(tmp_path, monkeypatch, sequential):
    usual, calls = running.play_chunk, []

    def counted(cell, seeds):
        calls.append(cell.algorithm)
        if len(calls) == 5 and not resumed:
            raise KeyboardInterrupt
        return usual(cell, seeds)

    monkeypatch.setattr(running, "play_chunk", counted)
    resumed = False
    with pytest.raises(KeyboardInterrupt):
        experiments.run_cells(small_cells(), seed=7, cache=tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".npz"]  # the first cell, whole
    resumed = True
    calls.clear()
    found = experiments.run_cells(small_cells(), seed=7, cache=tmp_path)
    assert dpb.DPSE(1.0) not in calls
    assert all(same(found[cell].runs, sequential[cell].runs) for cell in sequential)
    calls.clear()
    again = experiments.run_cells(small_cells(), seed=7, cache=tmp_path)
    assert calls == []
    assert all(same(again[cell].runs, sequential[cell].runs) for cell in sequential)
    assert all(again[cell].seconds == found[cell].seconds for cell in found)


def test_the_cache_is_keyed_by_seed_code_and_versions(tmp_path, monkeypatch):
    cells = small_cells(2)[:1]
    count = 0
    for change in (
        lambda: None,
        lambda: monkeypatch.setattr(settings, "code_hash", lambda *args: "other"),
        lambda: monkeypatch.setattr(running, "versions", lambda: {"numpy": "0"}),
    ):
        change()
        for seed in (0, 1):
            experiments.run_cells(cells, seed=seed, cache=tmp_path)
            count += 1
            assert len(list(tmp_path.iterdir())) == count


# ----------------------------------------------------------------------------- comparison


VALUES = st.one_of(st.integers(0, 5).map(float), st.floats(0, 1e6))
SAMPLES = st.lists(VALUES, min_size=1, max_size=40)


@given(SAMPLES, SAMPLES)
def test_two_sample_p_is_a_symmetric_probability(x, y):
    p = two_sample_p(x, y)
    assert 0 < p <= 1
    assert p == pytest.approx(two_sample_p(y, x), rel=1e-12)
    assert two_sample_p(x, x) == 1.0


def test_two_sample_p_is_exact(rng):
    for n, m, shift in ((30, 30, 0.5), (10, 30, 1.0), (7, 12, 0.0), (30, 30, 3.0)):
        x, y = rng.normal(size=n), shift + rng.normal(size=m)
        exact = stats.ks_2samp(x, y, method="exact").pvalue
        assert two_sample_p(x, y) == pytest.approx(exact, rel=1e-9)
    # Wholly apart: two of the binom(60, 30) orders are as extreme.
    assert two_sample_p(np.zeros(30), np.ones(30)) == pytest.approx(2 / math.comb(60, 30))


def test_rounding_is_no_difference_in_law():
    x = np.full(30, 12556.25)
    assert two_sample_p(x, x * (1 + 5e-7)) == 1.0
    assert two_sample_p(x, x * (1 + 5e-6)) < 1e-15


@pytest.fixture
def tiny(monkeypatch):
    """Preset of thirty runs, for comparisons in law, and its results for a seed."""
    preset = Preset("tiny", 200_000, 30, (0.1, 1.0), (2_000, 20_000))
    monkeypatch.setitem(PRESETS, "tiny", preset)
    return lambda seed: experiments.run(QUICK_ID, "tiny", seed=seed)


@pytest.fixture
def wide(monkeypatch):
    """Replicates of DP-UCB, whose regret is spread out."""
    cell = RegretCell(dpb.DPUCB(1.0), dpb.instances.ss19("C2", 3), 20_000, 30)

    def make(seed):
        runs = experiments.run_cells([cell], seed=seed)[cell].runs
        labels = experiments.RegretLabels("a", "C2", 3, 1.0, "DP-UCB", "", 20_000)
        return [experiments.Replicates(labels, runs.regret[:, -1], runs.pulls, runs.epoch_ends)]

    return make


@pytest.mark.statistical(false_alarm=1e-6)
def test_verdicts(wide):
    assert experiments.compare(wide(0), wide(0)).name == "identical"
    verdict = experiments.compare(wide(0), wide(1))
    assert verdict.name == "equal in law"
    assert "4 two-sample tests" in str(verdict)
    assert "1e-06" in str(verdict)


def test_a_shift_differs(wide):
    """Negative control: two standard deviations are seen, whichever column they are in."""
    (new,), (old,) = wide(0), wide(1)
    shifted = dataclasses.replace(new, regret=new.regret + 3 * new.regret.std())
    verdict = experiments.compare([shifted], [old])
    assert verdict.name == "differs"
    assert "DP-UCB on C2, K = 3" in str(verdict)
    swapped = dataclasses.replace(new, pulls=new.pulls[:, ::-1])
    assert experiments.compare([swapped], [old]).name == "differs"
    other = dataclasses.replace(new, labels=new.labels._replace(epsilon=2.0))
    assert experiments.compare([other], [old]).name == "differs"
    assert experiments.compare([], [old]).name == "differs"


# ----------------------------------------------------------------------------------- data


def test_written_data_reads_back(tiny, tmp_path):
    results = tiny(0)
    assert experiments.write(results, tmp_path).name == "not compared"
    data = experiments.load(QUICK_ID, tmp_path)
    assert len(data.curves) == len(data.replicates) == len(results.settings)
    for setting, curve, group in zip(results.settings, data.curves, data.replicates, strict=True):
        runs = results[setting]
        assert curve.labels == group.labels
        assert (curve.algorithm, curve.epsilon) == (setting.algorithm, setting.epsilon)
        at = np.searchsorted(runs.times, curve.times)
        np.testing.assert_allclose(curve.mean, runs.mean()[at], rtol=5e-7)
        np.testing.assert_allclose(curve.low90, runs.band(0.9)[0][at], rtol=5e-7)
        np.testing.assert_allclose(curve.mean_high95, runs.mean_interval()[1][at], rtol=5e-7)
        np.testing.assert_allclose(group.regret, runs.regret[:, -1], rtol=5e-7)
        assert np.array_equal(group.pulls, runs.pulls)
        assert all(map(np.array_equal, group.epoch_ends, runs.epoch_ends))


def test_manifest(tiny, tmp_path):
    results = tiny(3)
    experiments.write(results, tmp_path)
    text = (tmp_path / f"{QUICK_ID}.json").read_text()
    manifest = json.loads(text)
    assert manifest["preset"] == "tiny"
    assert (manifest["seed"], manifest["horizon"], manifest["n_runs"]) == (3, 200_000, 30)
    assert manifest["versions"] == provenance.versions()
    assert manifest["processor"] == provenance.processor()
    assert 0 < manifest["seconds"] < 60
    assert set(manifest["code"]) == {"DPSE, BernoulliInstance"}
    assert len(manifest["cells"]) == len(results)
    for cell, record in zip(results, manifest["cells"], strict=True):
        assert record["seed"] == list(cell.seed(3))
        assert record["algorithm"]["epsilon"] == cell.algorithm.epsilon
    assert str(tmp_path) not in text
    assert "/home" not in text
    host = socket.gethostname()
    assert len(host) < 4 or host not in text


@pytest.mark.statistical(false_alarm=1e-6)
def test_writing_again(tiny, tmp_path):
    experiments.write(tiny(0), tmp_path)
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    assert experiments.write(tiny(0), tmp_path).name == "identical"
    after = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    assert after == before
    assert experiments.write(tiny(1), tmp_path).name == "equal in law"
    assert experiments.load(QUICK_ID, tmp_path).manifest["seed"] == 1
    smoke_run = experiments.run(QUICK_ID, "smoke")
    assert "preset tiny" in str(experiments.write(smoke_run, tmp_path))


def test_shifted_data_differs(tiny, tmp_path):
    """Negative control of the verdict on files."""
    results = tiny(0)
    experiments.write(results, tmp_path)
    for runs in results.values():
        runs.regret[:] *= 1.5
    assert experiments.write(results, tmp_path / "new", against=tmp_path).name == "differs"


def rewrite(folder, **changes):
    path = folder / f"{QUICK_ID}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_stale_or_damaged_data_is_refused(tiny, tmp_path):
    command = f"dpbandits reproduce {QUICK_ID} --preset"
    with pytest.raises(experiments.StaleDataError, match=f"absent; .*{command} paper --seed 0$"):
        experiments.load(QUICK_ID, tmp_path)
    experiments.write(tiny(2), tmp_path)
    rewrite(tmp_path, code={"DPSE, BernoulliInstance": "0" * 16})
    with pytest.raises(experiments.StaleDataError, match=f"other code; .*{command} tiny --seed 2$"):
        experiments.load(QUICK_ID, tmp_path)
    assert experiments.read(QUICK_ID, tmp_path).manifest["seed"] == 2
    experiments.write(tiny(2), tmp_path)
    experiments.load(QUICK_ID, tmp_path)
    rewrite(tmp_path, settings="0" * 16)
    with pytest.raises(experiments.StaleDataError, match="other settings"):
        experiments.load(QUICK_ID, tmp_path)
    experiments.write(tiny(2), tmp_path)
    table = tmp_path / f"{QUICK_ID}.runs.csv"
    table.write_bytes(table.read_bytes()[:-20])
    with pytest.raises(experiments.StaleDataError, match="not the file that its manifest"):
        experiments.load(QUICK_ID, tmp_path)
    (tmp_path / f"{QUICK_ID}.json").write_text('{"id": ')
    with pytest.raises(experiments.StaleDataError, match="damaged"):
        experiments.load(QUICK_ID, tmp_path)
    experiments.write(tiny(2), tmp_path)
    experiments.load(QUICK_ID, tmp_path)


def test_spot_check_of_bits(tiny, tmp_path, monkeypatch):
    experiments.write(tiny(0), tmp_path)
    check = experiments.spot_check(QUICK_ID, n_cells=5, n_runs=3, folder=tmp_path)
    assert (check.kind, check.passed, check.n_cells, check.n_runs) == ("bits", True, 5, 3)
    assert "on the platform that made them" in str(check)
    rewrite(tmp_path, processor="another")
    check = experiments.spot_check(QUICK_ID, folder=tmp_path)
    assert (check.kind, check.passed) == ("bits", True)
    assert "another platform" in str(check)
    with pytest.raises(ValueError, match="n_cells=0"):
        experiments.spot_check(QUICK_ID, n_cells=0, folder=tmp_path)


@pytest.mark.statistical(false_alarm=1e-6)
def test_spot_check_in_law(tiny, tmp_path, monkeypatch):
    """Data of seed 1 that claims to be of seed 0: other bits, the same law."""
    experiments.write(tiny(1), tmp_path)
    settings = store.fingerprint(EXPERIMENTS[QUICK_ID], "tiny", 0)["settings"]
    rewrite(tmp_path, seed=0, settings=settings)
    every = {"n_cells": 32, "folder": tmp_path}
    check = experiments.spot_check(QUICK_ID, **every)
    assert (check.kind, check.passed) == ("bits", False)
    assert "do not equal" in str(check)
    rewrite(tmp_path, processor="another")
    check = experiments.spot_check(QUICK_ID, **every)
    assert (check.kind, check.passed, check.n_runs) == ("law", True, 10)
    assert "agree in law" in str(check)
    results = tiny(1)
    for runs in results.values():
        runs.regret[:] *= 1.5
    wrong = tmp_path / "wrong"
    experiments.write(results, wrong)
    rewrite(wrong, seed=0, settings=settings, processor="another")
    for runs in results.values():
        runs.pulls[:] += 1
    experiments.write(results, wrong)
    rewrite(wrong, seed=0, settings=settings, processor="another")
    check = experiments.spot_check(QUICK_ID, n_cells=32, folder=wrong)
    assert (check.kind, check.passed) == ("law", False)
