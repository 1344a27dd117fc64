"""The command line: what it writes, and one line for whatever goes wrong."""

import errno
import os

import pytest

from dpbandits import UCB, __version__
from dpbandits.cli import main


@pytest.fixture(autouse=True)
def book(tmp_path, monkeypatch):
    """An empty working directory: nothing is written elsewhere."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
        ("nonsense", ["nonsense", "run", "audit"]),
        ("run DPTS", ["algorithm='DPTS'", "did you mean 'DPSE'"]),
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
        ("run UCB --jobs two", ["jobs='two'", "whole number"]),
        ("run UCB --seed -3", ["seed=-3", "at least 0"]),
        ("run UCB --seed 1.5", ["seed=1.5", "whole number"]),
        ("run UCB --sed 1", ["--sed"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, arguments, parts):
    assert main(arguments.split()) == 2
    line = one_line(capsys)
    for part in parts:
        assert part in line
    assert "Traceback" not in line


@pytest.mark.parametrize("arguments", ["--help", "run --help"])
def test_help(capsys, arguments):
    assert main(arguments.split()) == 0
    assert "usage" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dpbandits {__version__}\n"


def test_run(capsys, book):
    arguments = "run DPSE --set epsilon=0.5 --instance C2 --arms 3 --horizon 1e5 --runs 4"
    assert main([*arguments.split(), "--csv", "out.csv"]) == 0
    text = capsys.readouterr().out
    assert "DPSE(epsilon=0.5, beta=None) on C2, K = 3, T = 100000, 4 runs" in text
    header = (book / "out.csv").read_text().splitlines()[0]
    assert header == "time,run_0,run_1,run_2,run_3"


def test_a_full_disk_is_one_line(capsys, book, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["run", "UCB", "--horizon", "100", "--runs", "1", "--csv", "out.csv"]) == 1
    assert "No space left on device" in one_line(capsys)
    assert not list(book.glob("*.csv"))


def test_an_interrupt_is_one_line_that_says_what_was_done(capsys, monkeypatch):
    played = []

    def interrupted(self, instance, horizon, times, seeds):
        played.append(len(seeds))
        if len(played) == 3:
            raise KeyboardInterrupt
        return original(self, instance, horizon, times, seeds)

    original = UCB.play_many
    monkeypatch.setattr(UCB, "play_many", interrupted)
    assert main(["run", "UCB", "--horizon", "100", "--runs", "32"]) == 130
    assert f"interrupted: {sum(played[:2])} of 32 runs were done" in one_line(capsys)
