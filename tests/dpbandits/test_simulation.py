"""Replicates: seeds, checkpoints, summaries, files, memory."""

import contextlib
import csv
import errno
import functools
import math
import os
import tracemalloc
from pathlib import Path

import matplotlib.pyplot
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import dpbandits as dpb
from dpbandits import _files
from dpbandits._engine import acceleration
from dpbandits._engine.running import case_seeds, describe
from dpbandits._files import write_atomically
from dpbandits.heavy.estimates import TruncatedMean, hard_law, mean_errors_many

C2 = dpb.instances.ss19("C2")
ALGORITHMS = [dpb.DPSE(epsilon=0.05, beta=0.9), dpb.DPUCB(epsilon=20.0)]


@pytest.mark.parametrize(
    "algorithm",
    [*ALGORITHMS, dpb.TunedDPSE(5.0), dpb.BennettDPSE(5.0), dpb.BinomialDPSE(5.0)],
    ids=lambda algorithm: algorithm.label,
)
def test_a_replicate_is_played_from_its_own_child_seed(algorithm):
    """Also where a whole chunk is played in one compiled call."""
    runs = dpb.simulate(algorithm, C2, 20_000, n_runs=30, seed=5)
    configuration = {
        "algorithm": describe(algorithm),
        "means": [0.75, 0.625, 0.5, 0.375, 0.25],
        "horizon": 20_000,
    }
    assert describe(ALGORITHMS[0]) == {"name": "DPSE", "epsilon": 0.05, "beta": 0.9}
    for i, child in enumerate(case_seeds(configuration, 5, 30)):
        play = algorithm.draw(C2, 20_000, runs.times, np.random.default_rng(child))
        assert np.array_equal(play.regret(C2.gaps), runs.regret[i])
        assert np.array_equal(play.counts[-1], runs.pulls[i])
        assert np.array_equal(play.epoch_ends, runs.epoch_ends[i])


@pytest.mark.parametrize("order", ["given", "random"])
@pytest.mark.parametrize(
    "algorithm",
    [
        *(dpb.DPSE(0.5), dpb.TunedDPSE(5.0), dpb.BennettDPSE(5.0), dpb.BinomialDPSE(5.0)),
        *(dpb.DPIMED(1.0), dpb.DPKLUCB(1.0), dpb.AdaPKLUCB(1.0), dpb.AdaPUCB(1.0)),
        *(dpb.AnytimeLazyUCB(1.0), dpb.LazyDPTS(1.0), dpb.LazyDPTS(1.0, draws="batches")),
        *(dpb.DPUCBInt(0.1), dpb.DPUCBInt(0.1, "frozen"), dpb.DPUCBInt(0.1, "literal")),
    ],
    ids=lambda algorithm: algorithm.label,
)
def test_a_chunk_is_the_runs_that_it_is_made_of(algorithm, order, monkeypatch):
    """In one compiled call or one by one, in the instance's order of arms or in one of each run."""

    def played(order):
        runs = dpb.simulate(algorithm, C2, 50_003, 12, checkpoints=[73, 50_003], order=order)
        ends = [times.tolist() for times in runs.epoch_ends]
        return runs.regret.tolist(), runs.pulls.tolist(), ends

    at_once, other = played(order), played("given" if order == "random" else "random")
    monkeypatch.setattr(acceleration, "_many", {})
    assert played(order) == at_once
    assert played(order) != other, "control"


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
    every = dpb.simulate(algorithm, C2, 3e3, n_runs=3.0, checkpoints=np.arange(1, 3001))
    some = dpb.simulate(algorithm, C2, 3000, n_runs=3, checkpoints=[1, 7.0, 2999, 3000])
    assert some.times.tolist() == [1, 7, 2999, 3000] and some.times.dtype == np.int64
    assert every.horizon == 3000 and type(every.horizon) is int
    np.testing.assert_array_equal(some.regret, every.regret[:, [0, 6, 2998, 2999]])
    np.testing.assert_array_equal(some.pulls, every.pulls)
    steps = np.diff(every.regret, axis=1)
    distance = np.abs(steps[:, :, None] - C2.gaps).min(axis=2)
    assert distance.max() < 1e-9, "each pull costs the gap of one arm"
    assert dpb.simulate(algorithm, C2, 3000, n_runs=1, checkpoints=3000).times.tolist() == [3000]


# ---------------------------------------------------------------- summaries
@pytest.fixture(scope="module")
def runs():
    return dpb.simulate(dpb.DPSE(epsilon=0.5), dpb.instances.ss19("C4"), 10**7, n_runs=12)


def test_shapes_means_and_bands(runs):
    size = runs.times.size
    assert runs.n_runs == 12 and runs.regret.shape == (12, size) and runs.pulls.shape == (12, 5)
    assert len(runs.epoch_ends) == 12 and runs.horizon == 10**7
    np.testing.assert_allclose(runs.regret[:, -1], runs.pulls @ runs.instance.gaps, rtol=1e-12)
    by_hand = [sum(column) / 12 for column in runs.regret.T.tolist()]
    np.testing.assert_allclose(runs.mean(), by_hand, rtol=1e-12)
    again = dpb.simulate(runs.algorithm, runs.instance, runs.horizon, n_runs=12)
    assert runs != again and len({runs, again}) == 2  # keys, compared by identity
    low, high = runs.band(0.9)
    ordered = np.sort(runs.regret, axis=0)
    # The 5% and 95% quantiles of 12 values lie between the first and last two of them.
    assert (ordered[0] <= low).all() and (low <= ordered[1]).all()
    assert (ordered[-2] <= high).all() and (high <= ordered[-1]).all() and (high > low).any()
    wide_low, wide_high = runs.band(0.999)
    assert np.all(wide_low <= low) and np.all(high <= wide_high)
    assert [*runs.final().values()] == [10**7, runs.mean()[-1], low[-1], high[-1]]
    low, high = runs.mean_interval(0.95)
    expected = stats.ttest_1samp(runs.regret[:, -1], 0).confidence_interval(0.95)
    assert (low[-1], high[-1]) == pytest.approx((expected.low, expected.high))
    np.testing.assert_allclose((low + high) / 2, runs.mean())


# ---------------------------------------------------------------- files
def test_csv_keeps_every_bit_and_times_beyond_the_floats(runs, tmp_path):
    path, last = tmp_path / "new folder" / "runs.csv", 2**60 + 1
    late = dpb.simulate(dpb.DPSE(epsilon=0.5), C2, last, 1, checkpoints=[last - 2, last])
    for written in (runs, late):
        written.to_csv(path)
        header, *rows = csv.reader(path.read_text().splitlines())
        assert header == ["time", *(f"run_{i}" for i in range(written.n_runs))]
        assert [int(row[0]) for row in rows] == written.times.tolist()
        regret = np.array([[float(x) for x in row[1:]] for row in rows])
        assert regret.T.tobytes() == written.regret.tobytes()


@pytest.mark.parametrize(
    ("step", "failure"),
    [
        ("replace", None),
        ("fsync", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        ("fsync", KeyboardInterrupt()),
    ],
)
def test_a_reader_sees_the_old_file_or_the_whole_new_one(step, failure, tmp_path, monkeypatch):
    """Until the very last step the old content stands under the name; a failure leaves only it."""
    path, seen, carry_out = tmp_path / "data.csv", [], getattr(os, step)
    write_atomically(path, b"old")

    def act(*arguments):
        seen.append(path.read_text())
        if failure is not None:
            raise failure
        assert Path(arguments[0]).read_text() == "new"
        carry_out(*arguments)

    monkeypatch.setattr(_files.os, step, act)
    with contextlib.ExitStack() as stack:
        if failure is not None:
            caught = stack.enter_context(pytest.raises(type(failure)))
        write_atomically(path, "new")
    if isinstance(failure, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert str(path) in str(caught.value) and "No space left" in str(caught.value)
    assert seen == ["old"] and os.listdir(tmp_path) == ["data.csv"]
    assert path.read_text() == ("old" if failure is not None else "new")


# ---------------------------------------------------------------- memory, scale
@pytest.mark.parametrize(("n_arms", "n_runs", "most"), [(5, 5, 5e6), (100_000, 1, 2e7)])
def test_memory_and_time_grow_neither_with_the_horizon_nor_with_checkpoints(n_arms, n_runs, most):
    """Counts of so many arms at 400 checkpoints would take 320 MB."""
    instance = dpb.instances.ss19("C1" if n_arms == 5 else "C2", n_arms)
    dpb.simulate(dpb.DPSE(epsilon=0.1), C2, 10**4, n_runs=1)
    tracemalloc.start()
    try:
        found = dpb.simulate(dpb.DPSE(epsilon=0.1), instance, 10**12, n_runs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most and found.times.size > 300
    assert found.pulls.sum(axis=1).tolist() == [10**12] * n_runs
    np.testing.assert_allclose(found.regret[:, -1], found.pulls @ instance.gaps, rtol=1e-11)
    assert n_arms == 5 or found.epoch_ends[0].size > 3
    assert n_arms > 5 or all(ends[-1] < 10**9 for ends in found.epoch_ends), "one arm stands soon"


# ---------------------------------------------------------------- what replicates are shown as
@functools.cache
def shown():
    """One result of each kind, and the first column of its frame."""
    easy, rule = dpb.instances.bernoulli([0.9, 0.1]), dpb.NAS(0.5, 0.05)
    patients = dpb.identification.FinitePopulation((3600, 2000), (4000, 4000))
    trials = dpb.identification.simulate_trials(dpb.TopTwo(0.05), patients, n_runs=3)
    mean = TruncatedMean("none", math.inf, order=1.0)
    errors = {0: (mean, hard_law("none", 100, math.inf, order=1.0), 100)}
    return [
        (dpb.simulate(dpb.DPSE(1.0), C2, 1000, n_runs=3), "time", "DPSE(epsilon=1.0, beta=None)"),
        (dpb.estimate(rule, dpb.laws.two_point(0.5), n_runs=3), "samples", "NAS(alpha=0.5, "),
        (dpb.identify(dpb.TopTwo(0.1), easy, n_runs=3), "stopping_time", "TopTwo(delta=0.1, "),
        (trials, "patients", "TopTwo(delta=0.05, "),
        (mean_errors_many(errors, n_runs=3)[0], "error", "TruncatedMean(model='none', "),
    ]


@pytest.mark.parametrize("number", range(5))
def test_replicates_are_one_line_a_small_table_a_frame_and_a_picture(number, tmp_path):
    found, first, played = shown()[number]
    text, table = repr(found), found._repr_html_()
    assert text.startswith(f"<{type(found).__name__} of {played}") and "n_runs 3" in text
    assert "\n" not in text and len(text) < 250
    assert table.count("<tr>") == 2 + len(found.summary_fields()[2]) and "array" not in table
    frame = found.to_frame()
    assert next(iter(frame)) == first
    assert len(frame) == (found.times.size if first == "time" else 3)
    axes = found.plot()
    assert axes.get_xscale() == "log" and len(axes.lines) == 1
    assert found.plot(axes) is axes and len(axes.lines) == 2
    matplotlib.pyplot.close(axes.figure)
    found.to_csv(tmp_path / "x.csv")
    header, *rows = csv.reader((tmp_path / "x.csv").read_text().splitlines())
    assert header == list(frame), "the file has the columns of the frame, to the last bit"
    assert [list(map(float, row)) for row in rows] == frame.astype(float).to_numpy().tolist()
