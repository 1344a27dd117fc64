"""The store of runs: what comes out is what would be played, and any change is played anew."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits._engine import kernels, running
from dpbandits._engine import store as runs_store

ARMS = dpb.instances.bernoulli([0.9, 0.5, 0.1])
HORIZON = 2000


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(runs_store, "_folder", tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def played(monkeypatch):
    """The number of replicates that were played since the list was last cleared."""
    counts = []
    play = running._played

    def counting(cases, *rest):
        counts.append(sum(case.n_runs for case in cases.values()))
        return play(cases, *rest)

    monkeypatch.setattr(running, "_played", counting)
    return counts


def regret(algorithm=None, n_runs=3, seed=0, horizon=HORIZON, **options):
    return dpb.simulate(algorithm or dpb.DPSE(1.0), ARMS, horizon, n_runs, seed, **options)


RUNS = {
    "simulate": lambda: regret().regret,
    "identify": lambda: dpb.identify(dpb.DPTT(1.0, 0.1), ARMS, 3).pulls,
    "estimate": lambda: dpb.estimate(dpb.DPNAS(1.0, 0.5, 0.05), dpb.laws.two_point(0.3), 3).samples,
    "heavy": lambda: dpb.simulate(dpb.DPRUCB(1.0), dpb.instances.twzw22("S1", 0.5), 2000, 3).regret,
}


@pytest.mark.parametrize("kind", RUNS)
def test_what_is_read_is_what_was_played(kind, tmp_path, played, monkeypatch):
    fresh = RUNS[kind]()
    monkeypatch.setattr(runs_store, "_folder", tmp_path)
    assert RUNS[kind]().tobytes() == fresh.tobytes()
    assert RUNS[kind]().tobytes() == fresh.tobytes()
    assert played == [3, 3, 0]


def test_of_a_grid_only_what_is_missing_is_played(store, played):
    cases = {eps: (dpb.DPSE(eps), ARMS) for eps in (0.5, 1.0)}
    regret()
    both = dpb.simulate_many(cases, HORIZON, 3)
    assert played == [3, 3]
    assert both[1.0].algorithm == dpb.DPSE(1.0)
    assert (both[1.0].regret == regret().regret).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"algorithm": dpb.DPSE(1.0, beta=0.01)},
        {"algorithm": dpb.TunedDPSE(1.0)},
        {"n_runs": 4},
        {"seed": 1},
        {"seed": [0, 0]},
        {"horizon": HORIZON + 1},
        {"checkpoints": [HORIZON]},
        {"how": "reference"},
        {"order": "random"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_a_run_depends_on_is_in_its_key(changed, store, played):
    regret()
    regret(**changed)
    assert played == [3, changed.get("n_runs", 3)]


def test_a_change_of_one_kernel_is_a_miss(store, played, tmp_path, monkeypatch):
    copy = tmp_path / "dpbandits"
    shutil.copytree(kernels.HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernels, "STARTED", math.inf)
    regret()
    monkeypatch.setattr(kernels, "HERE", str(copy))
    regret()
    assert played == [3, 0]  # a copy elsewhere has the same code
    kernel = copy / "_engine" / "accelerators" / "elimination.py"
    kernel.write_text(kernel.read_text("utf-8") + "\n# another\n", "utf-8")
    kernels._read_version.cache_clear()
    regret()
    assert played == [3, 0, 3]


def test_code_that_was_edited_since_it_was_read_keeps_nothing(store, played, monkeypatch):
    monkeypatch.setattr(kernels, "STARTED", 0.0)
    regret()
    regret()
    assert played == [3, 3]
    assert not store.exists()


class Own(dpb.UCB):
    """An algorithm of the user's, whose code is not in the package's digest."""


def reward(arm):
    return 0.5


@pytest.mark.parametrize(
    "case",
    [(Own(), ARMS), (dpb.UCB(), dpb.instances.callback(reward, 2))],
    ids=["algorithm", "rewards"],
)
def test_what_is_not_of_the_package_is_played_each_time(case, store, played):
    for _ in range(2):
        dpb.simulate(*case, 100, 2)
    assert played == [2, 2]


def test_a_broken_file_is_played_again(store, played, caplog, capfd):
    first = regret().regret
    (file,) = Path(store).rglob("output.pkl")
    file.write_bytes(file.read_bytes()[:40])
    assert (regret().regret == first).all()
    assert (regret().regret == first).all()
    assert played == [3, 3, 0]
    assert caplog.text == capfd.readouterr().err == ""  # it would stand in a chapter's outputs


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        ((1, 2), [1, 2]),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (dpb.DPSE, dpb.TunedDPSE),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_what_differs_is_told_apart(one, other):
    assert runs_store._key("code", one) != runs_store._key("code", other)
    assert (
        runs_store._key("code", one)
        == runs_store._key("code", one)
        != runs_store._key("edited", one)
    )


@pytest.mark.parametrize("odd", [object(), np.array([None]), lambda: None, Own(), reward])
def test_what_cannot_be_told_apart_has_no_key(odd):
    assert runs_store._key("code", [odd]) is None
