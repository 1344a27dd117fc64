"""One runner under everything that is replicated: bits, seeds, workers, progress, interruption."""

import contextlib
import dataclasses
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading

import joblib
import numpy as np
import pytest
from waiting import family, is_gone, wait_for

import dpbandits as dpb
from dpbandits._engine import streams
from dpbandits._engine.running import (
    Replicated,
    case_seeds,
    clear_shared_memory,
    describe,
    run_cases,
    worker_count,
)
from dpbandits._engine.streams import Seeds, begin_stream, generators, streams_of
from dpbandits.identification import FinitePopulation, simulate_trials, simulate_trials_many

C1 = dpb.instances.ss19("C1", 3)
REGRET = {
    ("se", 0.5): (dpb.DPSE(0.5), C1),
    ("ucb", 0.5): (dpb.DPUCB(0.5), C1),
    ("se", 1.0): (dpb.DPSE(1.0), C1, 20_000),
}
EASY = dpb.instances.bernoulli([0.9, 0.5, 0.1])
FOUND = {eps: (dpb.DPTT(eps, 0.1), EASY) for eps in (0.5, 1.0)}
RULES = {a: (dpb.DPExponentialNAS(1.0, a, 0.05), dpb.laws.two_point(0.3)) for a in (0.5, 0.25)}

TABLE = FinitePopulation((700, 500, 300), (1000, 900, 1000))
TRIALS = {kind.label: (kind(1.0, 0.1), TABLE) for kind in (dpb.DPSEIdentifier, dpb.DPTT)}


def bits(results):
    """Everything that runs hold, by key."""
    return {
        key: [
            np.asarray(each).tobytes()
            for field in dataclasses.fields(runs)
            if isinstance(value := getattr(runs, field.name), np.ndarray | tuple)
            for each in (value if isinstance(value, tuple) else (value,))
        ]
        for key, runs in results.items()
    }


def everything(n_jobs):
    return (
        bits(dpb.simulate_many(REGRET, 50_000, 9, seed=3, n_jobs=n_jobs)),
        bits(dpb.identify_many(FOUND, 9, seed=3, n_jobs=n_jobs)),
        bits(dpb.estimate_many(RULES, 9, seed=3, n_jobs=n_jobs)),
        bits(simulate_trials_many(TRIALS, 3, seed=3, n_jobs=n_jobs)),
    )


@pytest.fixture(scope="module")
def sequential():
    return everything(1)


@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_bits_do_not_depend_on_workers(sequential, backend):
    with contextlib.ExitStack() as stack:
        if backend == "dask":
            distributed = pytest.importorskip("distributed")
            options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
            cluster = stack.enter_context(distributed.LocalCluster(**options))
            stack.enter_context(distributed.Client(cluster))
        stack.enter_context(joblib.parallel_config(backend=backend))
        assert everything(2) == sequential


def test_a_worker_of_a_cluster_that_dies_loses_nothing():
    """Dask plays its chunks again elsewhere: the same bits."""
    distributed = pytest.importorskip("distributed")
    cases = {eps: (dpb.DPTT(eps, 0.1), EASY) for eps in (0.5, 1.0, 2.0)}
    alone = bits(dpb.identify_many(cases, 300, seed=4))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        pids = client.run(os.getpid)
        dying = next(iter(pids))

        def kill():
            """Kill a worker as soon as it has played a chunk."""
            while not killed and not cluster.scheduler.workers[dying].nbytes:
                over.wait(0.01)
            killed.append(not over.is_set())
            os.kill(pids[dying], signal.SIGKILL)

        killed, over = [], threading.Event()
        killer = threading.Thread(target=kill)
        killer.start()
        with joblib.parallel_config(backend="dask"):
            runs = dpb.identify_many(cases, 300, seed=4, n_jobs=2)
        over.set()
        killer.join(60.0)
        after = client.run(os.getpid)
    assert killed == [True] and pids[dying] not in after.values()
    assert bits(runs) == alone


def test_the_single_forms_are_the_many_forms(sequential):
    alone = (
        dpb.simulate(dpb.DPUCB(0.5), C1, 50_000, 9, seed=3),
        dpb.identify(*FOUND[0.5], 9, seed=3),
        dpb.estimate(*RULES[0.25], 9, seed=3),
        simulate_trials(*TRIALS["DP-SE"], 3, seed=3),
    )
    keys = ("ucb", 0.5), 0.5, 0.25, "DP-SE"
    for runs, key, many in zip(alone, keys, sequential, strict=True):
        assert bits({key: runs})[key] == many[key]


def test_seeds_depend_on_what_is_simulated_and_not_on_its_place(sequential):
    """Neither the order of the cases, nor their keys, nor the number of runs changes a run."""
    turned = dict(reversed(list(REGRET.items())))
    many = dpb.simulate_many(turned, 50_000, dict.fromkeys(REGRET, 9), seed=3)
    assert bits(many) == sequential[0]
    fewer = dpb.simulate_many({"x": REGRET["se", 0.5]}, 50_000, 2, seed=3)["x"]
    assert (fewer.regret == many["se", 0.5].regret[:2]).all()
    other = bits({"x": dpb.simulate(*REGRET["ucb", 0.5], 50_000, 9, seed=4)})
    assert other["x"] != sequential[0]["ucb", 0.5]
    made = [describe(dpb.DPSE(e)) for e in (0.1, 0.2)] + [describe(dpb.DPUCB(0.1))]
    assert len({tuple(case_seeds(each, 0, 1)[0].generate_state(4)) for each in made}) == 3


def test_a_new_option_with_a_default_keeps_the_seed():
    @dataclasses.dataclass(frozen=True)
    class Old:
        epsilon: float

    @dataclasses.dataclass(frozen=True)
    class New:
        epsilon: float
        option: float = 1.0

    New.__name__ = "Old"
    assert describe(Old(0.5)) == describe(New(0.5))
    assert describe(New(0.5, 2.0)) != describe(New(0.5))
    assert describe(New(float("inf"), 1.0))["epsilon"] == "inf"


@pytest.mark.parametrize("entropy", [[7], [2**32, 0, 5], [2**70, 1, 2, 3, 4], range(9)])
def test_streams_are_those_of_numpy_s_children(entropy):
    """Seeds, states and draws, also after half a word was left over from the stream before."""
    children = np.random.SeedSequence(entropy).spawn(40)
    seeds = Seeds(entropy, range(40))[30:]
    assert [each.generate_state(4).tolist() for each in seeds] == [
        each.generate_state(4).tolist() for each in children[30:]
    ]
    streams = streams_of(seeds)
    for number, (child, rng) in enumerate(zip(children[30:], generators(seeds), strict=True)):
        expected = np.random.default_rng(child)
        assert rng.bit_generator.state == expected.bit_generator.state
        begin_stream(streams, number)
        drawn = [streams.rng.integers(10, size=3, dtype=np.int32), streams.rng.random(3)]
        own = [expected.integers(10, size=3, dtype=np.int32), expected.random(3)]
        assert np.array_equal(drawn, own) and np.array_equal(
            own[0], rng.integers(10, size=3, dtype=np.int32)
        )


def test_other_generators_are_set_through_numpy(monkeypatch):
    """Where the state does not lie where it did, nothing is written into memory."""
    known = bits(dpb.simulate_many(REGRET, 50_000, 3))
    monkeypatch.setattr(streams.np.ctypeslib, "as_array", lambda _: np.zeros(4, np.uint64))
    assert streams_of(Seeds([7], range(3))) is None
    assert bits(dpb.simulate_many(REGRET, 50_000, 3)) == known


def unlucky(rng):
    raise ValueError("no such luck")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_key_of_a_case_that_cannot_be_played_is_in_the_message(n_jobs):
    late = Replicated("late", {}, unlucky, 4)
    with pytest.raises(ValueError, match=r"case 'late': no such luck"):
        run_cases({"late": late}, lambda case, n_runs: case, 4, 0, n_jobs)


@pytest.mark.parametrize(
    ("case", "arguments", "told"),
    [
        ((dpb.UCB(), C1), {"horizon": None}, "case 'a': horizon=None is missing"),
        ((dpb.UCB(), C1), {"n_runs": {"fine": 2}}, "case 'a': n_runs has no number of replicates"),
        ((dpb.UCB(), C1), {"checkpoints": [0, 5]}, "case 'fine': checkpoints="),
        ((dpb.UCB(), C1), {"seed": "x"}, "seed='x'"),
        ((dpb.UCB(), C1, 5, 6), {}, r"case 'a': .* must be \(algorithm, instance\) or"),
        ((dpb.DPRUCB(1.0), C1), {}, "case 'a': .*moment bound"),
    ],
)
def test_what_a_grid_refuses(case, arguments, told):
    good = {"fine": (dpb.UCB(), C1, 1000)}
    with pytest.raises(ValueError, match=told):
        dpb.simulate_many({**good, "a": case}, **{"horizon": 1000, "n_runs": 2, **arguments})


def test_chunks_cover_the_replicates_once():
    case = Replicated("x", {}, unlucky, 37, chunk=10)
    keys = [seed.spawn_key for part in case.chunks(0) for seed in part]
    assert keys == [(i,) for i in range(37)]
    at_once = dataclasses.replace(case, play_many=list)
    assert [len(part) for part in at_once.chunks(0)] == [5] * 7 + [2]
    assert [len(part) for part in at_once.chunks(0, shared=False)] == [37]


def test_workers_are_no_more_than_this_machine_can_use():
    here = 2 * joblib.cpu_count()
    assert worker_count(1000, 10**6) == here and worker_count(1000, 1) == 1
    assert worker_count(-1, 10**6) == joblib.cpu_count()
    with joblib.parallel_config(backend=Elsewhere()):
        assert worker_count(1000, 10**6) == 1000


class Elsewhere(joblib.parallel.ParallelBackendBase):
    def effective_n_jobs(self, n_jobs):
        return n_jobs


@pytest.mark.parametrize("jobs", [True, 0, -2, 1.5, None, "2", np.array([1, 2])])
def test_a_number_of_workers_is_checked_before_anything_else(jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.*allowed: a whole number of at least 1, or -1"):
        dpb.simulate_many({"a": (dpb.UCB(), C1)}, 1000, 2, n_jobs=jobs)


@pytest.mark.parametrize("seed", [1.5, [], b"12", "1", {1, 2}, {1: 2}, np.array(1.5), [[1, 2]], -1])
def test_a_seed_is_whole_numbers_in_order(seed):
    with pytest.raises(ValueError, match="seed=.* must be a seed; allowed: a whole number"):
        dpb.simulate(dpb.UCB(), C1, 1000, 2, seed=seed)


@pytest.mark.parametrize(
    ("name", "value"),
    [("pair", 1), ("guarantee", 1.0), ("seed", 1.5), ("seed", [])],
)
def test_an_audit_names_what_it_refuses(name, value):
    given = {"pair": dpb.TablePair([[0.0, 1.0]], arm=0, pull=0, value=1.0), name: value}
    with pytest.raises(ValueError, match=rf"^{name}="):
        dpb.audit(lambda rewards, rng: 0.0, **given)


def test_what_memory_cannot_hold_is_refused_before_it_begins():
    """Outcomes of some 360 checkpoints, 16 bytes each, and a kilobyte for each run's seed."""
    with pytest.raises(ValueError, match=r"n_runs=10{12} would take 6\.\d+e\+15 bytes of memory"):
        dpb.simulate(dpb.UCB(), C1, 10**12, n_runs=10**12)
    pair = dpb.TablePair([[0.0, 1.0]], arm=0, pull=0, value=1.0)
    with pytest.raises(ValueError, match=r"n_runs=10{12} would take \S+ bytes of memory"):
        dpb.audit(lambda rewards, rng: 0.0, pair, n_runs=10**12)


LONG = """
import signal
import dpbandits as dpb
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
C1 = dpb.instances.ss19("C1", 5)
cases = {("UCB", i): (dpb.UCB(), C1, 10**8 + i) for i in range(200)}
print("ready", flush=True)
try:
    dpb.simulate_many(cases, n_runs=2, n_jobs=JOBS)
except KeyboardInterrupt as stop:
    print("stopped:", stop, flush=True)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_on_a_terminal_and_an_interrupt(jobs):
    """The case, done/total and the time left are shown; Ctrl-C ends it and says what was done."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", LONG.replace("JOBS", str(jobs))],
        stderr=follower,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        shown = ""

        def reads():
            """Read what there is; a full terminal would stop the process."""
            nonlocal shown
            while select.select([leader], [], [], 0)[0]:
                shown += os.read(leader, 4096).decode(errors="replace")
            return shown

        wait_for(lambda: "UCB, " in reads(), process.pid)
        assert "compiling UCB" in shown and "/400 [" in shown
        os.killpg(process.pid, signal.SIGINT)
        # two seconds; all runs take an hour
        wait_for(lambda: reads() and process.poll() is not None, process.pid)
        said, _ = process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        os.close(leader)
        os.close(follower)
    assert said.startswith("stopped: interrupted: ") and "of 400 runs were done" in said


ENDED = """
import os
import dpbandits as dpb

class Told(type(dpb.instances.ss19("C1", 5))):
    def rewards(self, rng):
        open(f"plays-{os.getpid()}", "w").close()
        return super().rewards(rng)

arms = Told(dpb.instances.ss19("C1", 5).means)
cases = {i: (dpb.UCB(), arms, 10**9 + i) for i in range(8)}
dpb.simulate_many(cases, n_runs=8, n_jobs=2, how="pull by pull")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(how, tmp_path):
    """Runs last minutes; workers end at once all the same, and SIGTERM is told what was done."""
    command = [sys.executable, "-c", ENDED]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        own = f"plays-{process.pid}"
        wait_for(lambda: len({*os.listdir(tmp_path)} - {own}) == 2, process.pid)
        begun = family([process.pid]) - {process.pid}
        process.send_signal(how)
        wait_for(
            lambda: process.poll() is not None and all(map(is_gone, begun)), process.pid, *begun
        )
        _, told = process.communicate()
        assert len(begun) >= 3  # two workers, and joblib's tracker of what they share
    finally:
        process.kill()
    if how is signal.SIGTERM:
        assert process.returncode == 143
        assert "terminated: 0 of 64 runs were done, 0 of 8 cases whole" in told


def test_what_killed_processes_left_in_shared_memory_is_removed(tmp_path):
    """Of processes that are gone, and of these alone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    made = {}
    for number in (gone.pid, os.getpid()):
        made[number] = [
            tmp_path / f"joblib_memmapping_folder_{number}_ab_cd",
            tmp_path / f"sem.loky-{number}-xyz",
        ]
        made[number][0].mkdir()
        (made[number][0] / "array.pkl").touch()
        made[number][1].touch()
    other = tmp_path / f"sem.mine-{gone.pid}"
    other.touch()
    clear_shared_memory(str(tmp_path))
    assert not any(each.exists() for each in made[gone.pid])
    assert all(each.exists() for each in (*made[os.getpid()], other))
    clear_shared_memory(str(tmp_path / "nowhere"))


def test_nothing_is_shown_off_a_terminal(capfd):
    dpb.simulate_many({"a": (dpb.UCB(), C1)}, 1000, 2)
    assert capfd.readouterr() == ("", "")
