"""Experiments: arguments that are refused, and counts that are true."""

import json

import pytest

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, RegretCell, StoppingCell

REGRET_ID, STOPPING_ID = "ours-budget-split", "ours-stopping-beta"
C1 = dpb.instances.ss19("C1")
LAW = dpb.instances.two_point(0.5)


@pytest.fixture(scope="module")
def stopping():
    return experiments.run(STOPPING_ID, preset="smoke")


@pytest.fixture(scope="module")
def folder(stopping, tmp_path_factory):
    where = tmp_path_factory.mktemp("data")
    experiments.write(stopping, where)
    return where


def held(folder):
    return [group.n_runs for group in experiments.read(STOPPING_ID, folder).replicates]


def test_spot_check_reports_the_runs_that_it_compared(folder):
    counts = held(folder)
    check = experiments.spot_check(STOPPING_ID, n_cells=10**6, n_runs=10**6, folder=folder)
    assert check.passed
    assert (check.n_cells, check.n_runs) == (len(counts), max(counts))
    assert check.n_compared == sum(counts)
    start = "up to " if min(counts) < max(counts) else ""
    assert str(check).startswith(f"{start}{max(counts)} runs of {len(counts)} settings equal")
    check = experiments.spot_check(STOPPING_ID, n_cells=2, n_runs=1, folder=folder)
    assert (check.n_cells, check.n_runs, check.n_compared) == (2, 1, 2)
    assert str(check).startswith("1 runs of 2 settings equal")


def test_spot_check_in_law_runs_no_more_than_the_data_holds(tmp_path):
    other = experiments.run(STOPPING_ID, preset="smoke")
    for runs in other.values():
        runs.estimate[:] *= 2
    experiments.write(other, tmp_path)
    path = tmp_path / f"{STOPPING_ID}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "processor": "another"}))
    check = experiments.spot_check(STOPPING_ID, n_cells=2, n_runs=10**6, folder=tmp_path)
    n_fresh = max(*held(tmp_path), 10)
    assert (check.kind, check.n_runs, check.n_compared) == ("law", n_fresh, 2 * n_fresh)


@pytest.mark.parametrize("function", ["load", "read", "spot_check"])
@pytest.mark.parametrize("bad", ["all", "bogus", 3, None])
def test_one_id_is_asked_for(function, bad):
    with pytest.raises(
        ValueError, match=rf"id={bad!r} is unknown; allowed: '{next(iter(EXPERIMENTS))}'"
    ):
        getattr(experiments, function)(bad)


def test_folders_are_path_likes(folder):
    assert experiments.load(STOPPING_ID, str(folder)).manifest["preset"] == "smoke"
    assert experiments.spot_check(STOPPING_ID, folder=str(folder)).passed
    with pytest.raises(ValueError, match="folder=3 is no path; allowed: str, path-like"):
        experiments.load(STOPPING_ID, 3)


@pytest.mark.parametrize("bad", [3, None])
def test_ids_are_text(bad):
    with pytest.raises(ValueError, match=f"ids={bad!r} is neither .*; allowed: all, ss19-fig1"):
        experiments.resolve(bad)


def test_all_hides_no_unknown_id():
    for ids in (["all", "bogus"], ["bogus", "all"]):
        with pytest.raises(ValueError, match="id='bogus' is unknown; allowed"):
            experiments.resolve(ids)
    assert experiments.resolve([REGRET_ID, "all"]) == tuple(EXPERIMENTS.values())


@pytest.mark.parametrize("function", [experiments.rows_of, plotting.draw])
@pytest.mark.parametrize("bad", [3, None])
def test_sources_hold_an_experiment(function, bad):
    with pytest.raises(ValueError, match=f"source={bad!r} holds no experiment; allowed: results"):
        function(bad)


def test_options_of_figures_are_known(stopping):
    with pytest.raises(ValueError, match="bogus=1 is unknown; allowed: theory, panels"):
        plotting.draw(stopping, bogus=1)


@pytest.mark.parametrize(
    ("kind", "parts", "name"),
    [
        (RegretCell, (dpb.UCB(), C1, 1000, 0), "n_runs=0"),
        (RegretCell, (dpb.UCB(), C1, 1000, 1.5), "n_runs=1.5"),
        (RegretCell, (dpb.NAS(0.5, 0.05), C1, 1000, 1), "algorithm=NAS"),
        (RegretCell, ("UCB", C1, 1000, 1), "algorithm='UCB'"),
        (RegretCell, (dpb.UCB(), LAW, 1000, 1), "instance=TwoPoint"),
        (StoppingCell, (dpb.NAS(0.5, 0.05), LAW, 1000, -1), "n_runs=-1"),
        (StoppingCell, (dpb.UCB(), LAW, 1000, 1), "rule=UCB"),
        (StoppingCell, (dpb.NAS(0.5, 0.05), 0.5, 1000, 1), "law=0.5"),
    ],
)
def test_cells_refuse_what_cannot_be_played(kind, parts, name):
    with pytest.raises(ValueError, match=rf"{name}.*; allowed: (a|one) "):
        kind(*parts)


def test_ratios_are_of_regret(stopping):
    with pytest.raises(
        ValueError, match="replicates=StoppingReplicates is no .*; allowed: several Repl"
    ):
        experiments.ratios_to("NAS", stopping.replicates())
    with pytest.raises(
        ValueError, match="replicates=int is no data .*; allowed: several Replicates"
    ):
        experiments.ratios_to("NAS", 3)
