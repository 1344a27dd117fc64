"""The command line: what it writes, how it resumes, and one line for whatever goes wrong."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbandits import __version__, experiments
from dpbandits.cache import Cache
from dpbandits.cli import main

PROGRAM = str(Path(sys.executable).with_name("dpbandits"))


@pytest.fixture(autouse=True)
def book(tmp_path, monkeypatch):
    """An empty copy of the book, as working directory: nothing is written elsewhere."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\n")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(folder):
    """The content of the tables in a folder, manifests left out: they hold seconds."""
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.csv")}


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.err.startswith("dpbandits")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("", ["COMMAND"]),
        ("nonsense", ["nonsense", "reproduce", "figures"]),
        ("reproduce", ["ID"]),
        ("reproduce ss19-fig13", ["id='ss19-fig13'", "ss19-fig12", "ours-budget-split", "all"]),
        ("reproduce all --preset papre", ["preset='papre'", "smoke", "quick", "paper"]),
        ("reproduce all --jobs 0", ["jobs=0", "at least 1"]),
        ("reproduce all --jobs two", ["jobs='two'", "whole number"]),
        ("reproduce all --seed -3", ["seed=-3", "at least 0"]),
        ("reproduce all --seed 1.5", ["seed=1.5", "whole number"]),
        ("reproduce all --sed 1", ["--sed"]),
        ("figures --draw ss19-fig0", ["id='ss19-fig0'", "ss19-fig1"]),
        ("figures --draw ss19-fig1", ["absent", "dpbandits reproduce ss19-fig1"]),
        ("run DPTS", ["algorithm='DPTS'", "DPSE", "DPUCB"]),
        ("run DPSE", ["epsilon", "--set epsilon=VALUE"]),
        ("run DPSE --set epsilon", ["'epsilon'", "NAME=VALUE"]),
        ("run DPSE --set epsilon=0", ["epsilon=0", "positive"]),
        ("run DPSE --set epsilon=nan", ["epsilon=nan", "positive"]),
        ("run DPSE --set epsilon=lots", ["epsilon='lots'", "positive"]),
        ("run DPSE --set epsilon=1 --set beta=2", ["beta=2", "between 0 and 1"]),
        ("run DPSE --set eps=1", ["'eps'", "epsilon, beta"]),
        ("run DPUCB --set epsilon=1 --set variant=tight", ["variant='tight'", "tree-tight"]),
        ("run UCB --instance C5", ["instance='C5'", "C4"]),
        ("run UCB --arms 1", ["arms=1", "at least 2"]),
        ("run UCB --horizon 3", ["horizon=3", "at least 5"]),
        ("run UCB --horizon soon", ["horizon='soon'", "whole number"]),
        ("run UCB --runs 0", ["runs=0", "at least 1"]),
        ("execute 99", ["99"]),
        ("claims", ["claims.json", "dpbandits claims --write"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, parts):
    assert main(arguments.split()) == 2
    line = one_line(capsys)
    for part in parts:
        assert part in line
    assert "Traceback" not in line


def test_no_scheduler_is_one_line(capsys, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def refuse(*args, **kwargs):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    assert main(["reproduce", "ss19-fig1", "--preset", "smoke", "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "dask='tcp://127.0.0.1:1'" in one_line(capsys)


@pytest.mark.parametrize("arguments", ["--help", "reproduce --help", "run --help"])
def test_help(capsys, arguments):
    assert main(arguments.split()) == 0
    assert "usage" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dpbandits {__version__}\n"


def test_figures_lists_every_experiment(capsys):
    assert main(["figures"]) == 0
    text = capsys.readouterr().out
    for name, experiment in experiments.EXPERIMENTS.items():
        assert name in text
        assert experiment.title in text
    assert "240 runs of 8 cells; no data yet" in text


def test_run(capsys, book):
    arguments = "run DPSE --set epsilon=0.5 --instance C2 --arms 3 --horizon 1e5 --runs 4"
    assert main([*arguments.split(), "--csv", "out.csv"]) == 0
    text = capsys.readouterr().out
    assert "DPSE(epsilon=0.5, beta=None) on C2, K = 3, T = 100000, 4 runs" in text
    header = (book / "out.csv").read_text().splitlines()[0]
    assert header == "time,run_0,run_1,run_2,run_3"


def test_reproduce(capsys, book):
    command = ["reproduce", "ss19-fig1", "ours-budget-split", "--preset", "smoke"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "ss19-fig1: not compared (no earlier data)" in first
    made = book / "_build" / "data" / "smoke-seed0"
    assert "_build/data/smoke-seed0" in first
    assert {p.name for p in made.iterdir()} == {
        f"{name}{end}"
        for name in ("ss19-fig1", "ours-budget-split")
        for end in (".csv", ".runs.csv", ".json")
    }
    committed = book / "book" / "data"
    assert not committed.exists()
    assert main([*command, "--out", str(committed)]) == 0
    capsys.readouterr()
    assert main([*command, "--no-cache"]) == 0
    assert capsys.readouterr().out.count(": identical [") == 2
    assert tables(made) == tables(committed)
    assert main(["figures", "--draw", "ss19-fig1"]) == 0
    assert (book / "book" / "figures" / "ss19-fig1.svg").is_file()
    assert main(["figures"]) == 0
    assert capsys.readouterr().out.count("s of computing") == 2


def test_reproduce_an_experiment_on_stopping_rules(capsys, book):
    name = "ours-stopping-beta"
    committed = book / "book" / "data"
    command = ["reproduce", name, "--preset", "smoke", "--out", str(committed)]
    assert main(command) == 0
    assert f"{name}: not compared (no earlier data)" in capsys.readouterr().out
    drawn = book / "book" / "figures" / f"{name}.svg"
    before = tables(committed)
    assert drawn.is_file()
    drawn.unlink()
    assert main([*command, "--no-cache"]) == 0
    assert f"{name}: identical [" in capsys.readouterr().out
    assert tables(committed) == before
    drawn.unlink()
    assert main(["figures", "--draw", name]) == 0
    assert drawn.is_file()
    assert main(["figures"]) == 0
    shown = capsys.readouterr().out.partition(f"{name}  ")[2].splitlines()[1]
    assert re.search(r"ours, after SS19, §3; 11000 runs of 55 cells; \d+ s of computing", shown)


def test_reproduce_tells_when_data_differs(capsys, book, monkeypatch):
    """With three runs a side no test can reject, so the preset gets thirty."""
    preset = experiments.Preset("smoke", 20_000, 30, (0.1,), (2_000,))
    monkeypatch.setitem(experiments.PRESETS, "smoke", preset)
    results = experiments.run("ours-budget-split", "smoke")
    for runs in results.values():
        runs.regret[:] *= 2
    experiments.write(results, book / "book" / "data")
    assert main(["reproduce", "ours-budget-split", "--preset", "smoke"]) == 1
    assert "ours-budget-split: differs (panel a, " in capsys.readouterr().out


def test_a_damaged_cell_is_reported_and_computed_again(capsys, book):
    command = ["reproduce", "ours-budget-split", "--preset", "smoke", "--out", "data"]
    assert main(command) == 0
    before = tables("data")
    cells = sorted((book / "_build" / "cache").iterdir())
    cells[0].write_bytes(cells[0].read_bytes()[:100])
    capsys.readouterr()
    assert main(command) == 0
    line = one_line(capsys)
    assert cells[0].name in line
    assert "computed again" in line
    assert tables("data") == before


def test_a_full_disk_is_one_line(capsys, book, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["reproduce", "ours-budget-split", "--preset", "smoke"]) == 1
    assert "No space left on device" in one_line(capsys)
    assert list((book / "_build" / "cache").iterdir()) == []


def test_an_interrupt_is_one_line(capsys, book, monkeypatch):
    def interrupt(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    assert main(["reproduce", "ours-budget-split", "--preset", "smoke"]) == 130
    assert "what was finished is kept" in one_line(capsys)
    assert list((book / "_build" / "cache").iterdir()) == []


def wait_for_cells(folder, count, process):
    """Wait until a process has finished some cells and has others before it."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob("[!.]*.npz"))) < count:
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("blow", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_a_stopped_run_resumes(book, capsys, blow, status):
    name = "ours-price-of-privacy"  # some seconds, so that it can be stopped
    command = ["reproduce", name, "--preset", "quick", "--out", "data"]
    # while a kernel is compiled an interrupt may pass unheard: all are compiled beforehand
    assert main(["reproduce", name, "--preset", "smoke", "--out", "warm", "--no-cache"]) == 0
    process = subprocess.Popen(
        [PROGRAM, *command],
        stderr=subprocess.PIPE,
        text=True,
        # a shell that runs the tests in the background has them ignore interrupts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    cache = book / "_build" / "cache"
    wait_for_cells(cache, 2, process)
    process.send_signal(blow)
    _, message = process.communicate(timeout=60)
    assert process.returncode == status
    if blow == signal.SIGINT:
        assert message.startswith("dpbandits: interrupted")
        assert message.count("\n") == 1
        assert not list(cache.glob(".*"))
    assert not (book / "data").exists()
    kept = {path: path.stat().st_mtime_ns for path in cache.glob("[!.]*.npz")}
    total = len(experiments.EXPERIMENTS[name].cells("quick"))
    assert 2 <= len(kept) < total
    assert main(command) == 0
    assert "damaged" not in capsys.readouterr().err
    assert len(list(Cache(cache).folder.glob("[!.]*.npz"))) == total
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    if blow == signal.SIGKILL:  # the harder of the two
        assert main(["reproduce", name, "--preset", "quick", "--out", "fresh", "--no-cache"]) == 0
        assert tables("data") == tables("fresh") != {}
