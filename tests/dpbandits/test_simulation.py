"""Replicates: seeds, checkpoints, summaries, files, memory."""

import csv
import errno
import math
import os
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import dpbandits as dpb
from dpbandits import _files, simulation
from dpbandits._files import write_atomically
from dpbandits.running import case_seeds

C2 = dpb.instances.ss19("C2")
ALGORITHMS = [dpb.DPSE(epsilon=0.05, beta=0.9), dpb.DPUCB(epsilon=20.0, engine="per-step")]


def assert_same_bits(first, second):
    for name in ("times", "regret", "pulls"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name
    assert [ends.tolist() for ends in first.epoch_ends] == [
        ends.tolist() for ends in second.epoch_ends
    ]


# ---------------------------------------------------------------- seeds
def test_threads_do_not_change_bits():
    one = dpb.simulate(ALGORITHMS[1], C2, 20_000, n_runs=6)
    with joblib.parallel_config(backend="threading"):
        assert_same_bits(one, dpb.simulate(ALGORITHMS[1], C2, 20_000, n_runs=6, n_jobs=3))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.label)
def test_the_seed_decides(algorithm):
    first, again, other = (
        dpb.simulate(algorithm, C2, 20_000, n_runs=4, seed=seed) for seed in (0, 0, 1)
    )
    assert_same_bits(first, again)
    assert not np.array_equal(first.regret, other.regret)


def test_a_replicate_is_played_from_its_own_child_seed():
    runs = dpb.simulate(ALGORITHMS[0], C2, 20_000, n_runs=3, seed=5)
    configuration = {
        "algorithm": {"name": "DPSE", "epsilon": 0.05, "beta": 0.9},
        "means": [0.75, 0.625, 0.5, 0.375, 0.25],
        "horizon": 20_000,
    }
    for i, child in enumerate(case_seeds(configuration, 5, 3)):
        play = ALGORITHMS[0].play(C2, 20_000, runs.times, np.random.default_rng(child))
        assert np.array_equal(play.regret(C2.gaps), runs.regret[i])
        assert np.array_equal(play.counts[-1], runs.pulls[i])
        assert np.array_equal(play.epoch_ends, runs.epoch_ends[i])


# ---------------------------------------------------------------- checkpoints
@given(st.integers(1, 2**62), st.integers(1, 100))
@example(2**60 + 1, 32)
def test_log_checkpoints(horizon, per_decade):
    times = dpb.log_checkpoints(horizon, per_decade)
    assert times.dtype == np.int64 and times[-1] == horizon
    assert times[0] == 1 and np.all(np.diff(times) > 0)
    assert times.size <= 2 + per_decade * math.log10(horizon)
    # Evenly spaced on a log axis: no ratio much above the step's, where rounding is done with.
    later = times[times > 100 * per_decade].astype(float)
    if later.size > 1:
        assert np.max(later[1:] / later[:-1]) < 10 ** (1.05 / per_decade)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.label)
def test_regret_is_exact_at_any_checkpoint(algorithm):
    every = dpb.simulate(algorithm, C2, 3000, n_runs=3, checkpoints=np.arange(1, 3001))
    some = dpb.simulate(algorithm, C2, 3000, n_runs=3, checkpoints=[1, 7, 2999, 3000])
    assert some.times.tolist() == [1, 7, 2999, 3000]
    np.testing.assert_array_equal(some.regret, every.regret[:, [0, 6, 2998, 2999]])
    np.testing.assert_array_equal(some.pulls, every.pulls)
    steps = np.diff(every.regret, axis=1)
    distance = np.abs(steps[:, :, None] - C2.gaps).min(axis=2)
    assert distance.max() < 1e-9, "each pull costs the gap of one arm"
    assert dpb.simulate(algorithm, C2, 3000, n_runs=1, checkpoints=3000).times.tolist() == [3000]


def test_whole_floats_are_whole_numbers():
    runs = dpb.simulate(ALGORITHMS[0], C2, 1e4, n_runs=2.0, checkpoints=[10.0, 1e4])
    assert runs.horizon == 10_000 and type(runs.horizon) is int and runs.times.dtype == np.int64


# ---------------------------------------------------------------- summaries
@pytest.fixture(scope="module")
def runs():
    return dpb.simulate(dpb.DPSE(epsilon=0.5), dpb.instances.ss19("C4"), 10**7, n_runs=12)


def test_shapes(runs):
    size = runs.times.size
    assert runs.n_runs == 12 and runs.regret.shape == (12, size) and runs.pulls.shape == (12, 5)
    assert len(runs.epoch_ends) == 12 and runs.horizon == 10**7
    np.testing.assert_allclose(runs.regret[:, -1], runs.pulls @ runs.instance.gaps, rtol=1e-12)


def test_results_compare_by_identity_and_can_be_keys(runs):
    again = dpb.simulate(runs.algorithm, runs.instance, runs.horizon, n_runs=12)
    assert runs != again and len({runs, again}) == 2


def test_mean(runs):
    by_hand = [sum(column) / 12 for column in runs.regret.T.tolist()]
    np.testing.assert_allclose(runs.mean(), by_hand, rtol=1e-12)


def test_band(runs):
    low, high = runs.band(0.9)
    for column, a, b in zip(runs.regret.T, low, high, strict=True):
        ordered = np.sort(column)
        # The 5% and 95% quantiles of 12 values lie between the first and last two of them.
        assert ordered[0] <= a <= ordered[1] and ordered[-2] <= b <= ordered[-1]
    wide_low, wide_high = runs.band(0.999)
    assert np.all(wide_low <= low) and np.all(high <= wide_high)
    assert np.any(high > low)


def test_mean_interval(runs):
    low, high = runs.mean_interval(0.95)
    place = runs.times.size - 1
    expected = stats.ttest_1samp(runs.regret[:, place], 0).confidence_interval(0.95)
    assert (low[place], high[place]) == pytest.approx((expected.low, expected.high))
    np.testing.assert_allclose((low + high) / 2, runs.mean())


# ---------------------------------------------------------------- files
def read_back(path):
    with open(path, newline="") as stream:
        header, *rows = csv.reader(stream)
    times = [int(row[0]) for row in rows]
    return header, times, np.array([[float(x) for x in row[1:]] for row in rows])


def test_csv_round_trip_keeps_every_bit(runs, tmp_path):
    path = tmp_path / "new folder" / "runs.csv"
    runs.to_csv(path)
    header, times, regret = read_back(path)
    assert header == ["time", *(f"run_{i}" for i in range(12))]
    assert times == runs.times.tolist()
    assert regret.T.tobytes() == runs.regret.tobytes()


def test_csv_keeps_times_beyond_the_floats(tmp_path):
    horizon = 2**60 + 1
    runs = dpb.simulate(
        dpb.DPSE(epsilon=0.5), C2, horizon, n_runs=1, checkpoints=[horizon - 2, horizon]
    )
    runs.to_csv(tmp_path / "runs.csv")
    assert read_back(tmp_path / "runs.csv")[1] == [horizon - 2, horizon]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    write_atomically(path, "old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*data\.csv: No space left") as caught:
        write_atomically(path, "new")
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["data.csv"]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    write_atomically(path, b"old")

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(_files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["data.csv"]


def test_a_reader_never_sees_half_a_file(tmp_path, monkeypatch):
    """Until the very last step the old content is what stands under the name."""
    path, seen = tmp_path / "data.csv", []
    write_atomically(path, "old")
    replace = os.replace

    def look_first(source, target):
        seen.append((path.read_text(), Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(_files.os, "replace", look_first)
    write_atomically(path, "new")
    assert seen == [("old", "new")] and path.read_text() == "new"


# ---------------------------------------------------------------- memory, scale
def test_memory_and_time_do_not_grow_with_the_horizon():
    tracemalloc.start()
    try:
        runs = dpb.simulate(dpb.DPSE(epsilon=0.1), dpb.instances.ss19("C1"), 10**12, n_runs=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e6
    assert runs.pulls.sum(axis=1).tolist() == [10**12] * 5
    assert all(ends[-1] < 10**9 for ends in runs.epoch_ends), "the best arm stands alone soon"


def test_memory_of_many_arms_does_not_grow_with_the_checkpoints():
    """Counts at 400 checkpoints would take 320 MB."""
    instance = dpb.instances.ss19("C2", 100_000)
    dpb.simulate(dpb.DPSE(epsilon=1), C2, 10**4, n_runs=1)
    tracemalloc.start()
    try:
        runs = dpb.simulate(dpb.DPSE(epsilon=1), instance, 10**12, n_runs=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert runs.times.size > 300 and runs.epoch_ends[0].size > 3
    assert peak < 2e7
    assert runs.pulls.sum() == 10**12
    np.testing.assert_allclose(runs.regret[0, -1], runs.pulls[0] @ instance.gaps, rtol=1e-11)


def test_replicates_are_taken_as_they_come(monkeypatch):
    """An eighth of the replicates are held at once; then only regret, pulls and epochs are kept."""
    alive, most = 0, 0

    class Counted(simulation.EliminationPlay):
        def __init__(self, *parts):
            nonlocal alive, most
            super().__init__(*parts)
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    monkeypatch.setattr("dpbandits.regret.elimination.EliminationPlay", Counted)
    dpb.simulate(ALGORITHMS[0], C2, 10**5, n_runs=50)
    assert 1 <= most <= 7 + 1
