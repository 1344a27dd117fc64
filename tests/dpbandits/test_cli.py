"""The command line: what each command writes, and one line for whatever goes wrong."""

import errno
import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from numba import njit

import dpbandits as dpb
import dpbandits_command
from dpbandits.cli._console import find, plain
from dpbandits.cli.commands import app, main

MINE = '''
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
import dpbandits as dpb
from dpbandits.regret.base import RegretAlgorithm

@dataclass(frozen=True)
class Alternate(RegretAlgorithm):
    """Plays the arms in turn, whatever happens."""
    epsilon: float
    label = "Alternate"
    source = "test"
    @property
    def guarantee(self):
        return dpb.PrivacyGuarantee("central", self.epsilon)
    def play(self, rewards, horizon, rng):
        while True:
            rewards.totals(range(rewards.n_arms), 1)
made = Alternate(2.0)
Sums = list[float]
@dataclass(frozen=True)
class Forgets(Alternate):
    count: int = 1
    sums: Sums | None = None
    def play(self, rewards, horizon, rng):
        rewards.total(0, 1 if self.count == 1 else "all")
number = 3

def noisy(rewards, rng):
    sums = [rewards.pull(arm) + rng.laplace(0.0, 1.0) for arm in (0, 1)]
    rewards.pull(int(sums[1] > sums[0]))

def raw(rewards, rng):
    sums = [rewards.pull(arm) for arm in (0, 1)]
    rewards.pull(int(sums[1] > sums[0]))
'''
RULE = "--set alpha=0.5 --set beta=0.05"
PLAN = "plan --means 0.8,0.5,0.2 --delta 0.1 --runs 6"
QUICK = "--pulls 2"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with own algorithms: nothing is written elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "words.txt").write_text("0.5 lots\n")
    (tmp_path / "numbers.txt").write_text("0.5\n1.5\n")
    return tmp_path


def printed(capsys, words, status=0):
    assert main(words.split()) == status
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("nonsense", ["nonsense", "run", "audit"]),
        ("simulate UCB", ['Did you mean "run"?']),
        ("audit DPSE UCB", ["dpbandits audit does not take 'UCB'", "dpbandits audit --help"]),
        ("completion dosh", ["dosh", "bash"]),
        ("run", ["algorithm", "DPSE"]),
        ("run DPTS", ["algorithm='DPTS'", "did you mean 'DPSE'"]),
        ("run dp-sx", ["algorithm='dp-sx' is unknown; allowed: one of", "did you mean 'DPSE'"]),
        ("run UCB --means 0.9 0.8", ["'0.8' is not the name of an algorithm", "0.9,0.8"]),
        ("run UCB --horizon 1e308", ["horizon=1e+308 is out of range", "at most 2**62"]),
        ("run UCB --horizon 1e400", ["horizon=inf is not a whole number"]),
        ("run UCB --jobs 1e400", ["jobs=inf is out of range", "or -1"]),
        ("run UCB --means ,", ["means=',' is not a number"]),
        ("run UCB --means 0.5", ["means=(0.5,) has fewer arms"]),
        ("run UCB --means nan,0.5", ["means='nan,0.5' is not a number"]),
        ("run DPSE --epsilon 1e-308", ["epsilon=1e-308", "at least 1e-100"]),
        ("run DPSE --epsilon nan", ["epsilon=nan is out of range"]),
        ("run DPSE --epsilon 1j", ["epsilon=1j is not a number"]),
        ("run DPSE --epsilon True", ["epsilon=True is not a number"]),
        ("run UCB --runs 1e15", ["n_runs=1000000000000000 would take", "bytes of memory"]),
        ("run DPSE", ["epsilon is missing; allowed: --epsilon VALUE for DPSE"]),
        ("run DPSE --set epsilon", ["'epsilon'", "NAME=VALUE"]),
        ("run DPSE --set epsilon=0", ["epsilon=0", "positive"]),
        ("run DPSE --set eps=1", ["eps=1 is not an argument of DPSE", "epsilon, beta"]),
        ("run DPSE --epsilon 1 --set epsilon=2", ["epsilon", "twice"]),
        ("run UCB DPSE --epsilon 1 --set gamma=3", ["gamma=3", "allowed: epsilon, beta"]),
        ("run UCB --epsilon 1", ["epsilon=1 is not an argument of UCB"]),
        ("run UCB --instance C5", ["instance='C5'", "C4"]),
        ("run UCB --arms 1", ["arms=1", "at least 2"]),
        ("run UCB --order 0.5", ["order=0.5 is for S1 to S3"]),
        ("run UCB --means 0.5,two", ["means='0.5,two'", "0.9,0.8"]),
        ("run UCB --means 0.5,0.4 --arms 2", ["arms=2 does not go with --means"]),
        ("run UCB --horizon 3", ["horizon=3", "at least 5"]),
        ("run UCB --horizon soon", ["horizon='soon'", "whole number"]),
        ("run UCB --runs 0", ["runs=0", "at least 1"]),
        ("run UCB --jobs two", ["jobs='two'", "whole number", "or -1 for all processors"]),
        ("run UCB --jobs 0", ["jobs=0", "or -1 for all processors"]),
        ("run UCB --seed -3", ["seed=-3", "at least 0"]),
        ("run UCB --seed 1e308", ["seed=1e+308", "at least 0 and at most 2**128 - 1"]),
        ("run UCB --sed 1", ["--sed", "--seed"]),
        ("run UCB --plot x.gif", ["plot='x.gif'", ".png"]),
        ("run DPSE UCB --epsilon 1 --csv x.csv", ["csv", "one at a time"]),
        ("run mine.py:none", ["mine.py:none", "FILE.py:NAME"]),
        ("run mine.py:number", ["mine.py:number is 3", "RegretAlgorithm"]),
        ("run mine.py:Alternate --epsilon much", ["epsilon='much' is not a number"]),
        ("run mine.py:Forgets --epsilon 1", ["Forgets.play returned after 1 of"]),
        ("run mine.py:Forgets --epsilon 1 --set count=2", ["size='all' is not a whole number"]),
        ("run mine.py:Forgets --epsilon 1 --set count=1.5", ["count=1.5 is not a whole number"]),
        (f"{PLAN} --epsilon 0.4 --plot x.gif", ["plot='x.gif' has another ending"]),
        (f"{PLAN} --plot x.svg --epsilon inf", ["epsilon=inf cannot be drawn"]),
        ("plan --means 0.8,x --epsilon 1 --delta 0.1", ["means='0.8,x' is not a number"]),
        ("plan --means 0.8,0.5 --epsilon x --delta 0.1", ["epsilon='x' is not a number"]),
        ("plan --means 0.8,0.5 --epsilon 1", ["--delta"]),
        ("plan --epsilon 1 --delta 0.1", ["--means", "--counts"]),
        (f"{PLAN} --epsilon 0.4 --max-pulls 2", ["max-pulls=2 is out of range"]),
        ("identify Nothing --means 0.8,0.5", ["algorithm='Nothing' is unknown"]),
        ("identify DPLRE --means 0.8,0.5", ["epsilon is missing"]),
        ("identify DPLRE --epsilon 1", ["--means"]),
        ("identify TopTwo --epsilon 1 --set delta=0.1 --means 0.9,0.2", ["argument of TopTwo"]),
        ("estimate Nothing", ["rule='Nothing' is unknown; allowed: "]),
        ("estimate NAS", ["alpha is missing"]),
        (f"estimate NAS {RULE} --epsilon 2", ["epsilon=2 is not an argument of NAS"]),
        (f"estimate NAS {RULE} --law normal", ["normal", "low-variance"]),
        (f"estimate NAS {RULE} --mean x", ["mean='x' is not a number"]),
        (f"estimate NAS {RULE} --law beta --shapes 3", ["shapes='3' is not a pair"]),
        (f"estimate NAS {RULE} --stream numbers.txt", ["stream[1]=1.5 is out of range"]),
        (f"estimate NAS {RULE} --stream words.txt", ["stream='lots' is not a number"]),
        (f"estimate NAS {RULE} --stream none", ["stream='none' cannot be read"]),
        ("audit Nothing", ["algorithm='Nothing' is unknown; allowed: "]),
        ("audit DPSE", ["epsilon is missing"]),
        ("audit nowhere.py:f", ["is not there"]),
        ("audit json:nothing", ["is not there"]),
        ("audit json:loads --set epsilon=1", ["not an argument of loads; allowed: none"]),
        ("audit UCB --delta 0.1", ["delta=0.1 goes with --epsilon"]),
        ("audit DPSE --epsilon 1 --delta 0.1", ["delta=0.1 is declared already"]),
        ("audit mine.py:made --epsilon 1", ["epsilon='1' is declared already"]),
        ("audit DPSE --epsilon 1 --failure 2", ["failure=2 is out of range"]),
        ("audit DPSE --epsilon 1 --change 0,0,1", ["goes with --table"]),
        ("audit DPUCB --epsilon 1 --runs 3", ["runs=3 is out of range"]),
        ("audit DPUCB --epsilon 1 --table words.txt", ["contains something other than numbers"]),
        ("audit DPUCB --epsilon 1 --table none", ["table='none' cannot be read"]),
        ("audit mine.py:raw --table numbers.txt", ["change=None is not an entry"]),
        ("audit mine.py:raw --table numbers.txt --change 0,1", ["change='0,1' is not an entry"]),
        ("audit mine.py:raw --table numbers.txt --change 0,0,nan", ["is not an entry"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, words, parts):
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dpbandits: ") and shown.err.count("\n") == 1
    for part in parts:
        assert part in shown.err


def test_every_command_has_help_json_and_an_example(capsys):
    assert printed(capsys, "--version") == f"dpbandits {dpb.__version__}\n"
    names = [name for name in app if not name.startswith("-")]
    assert {"run", "identify", "estimate", "plan", "look", "audit", "completion"} == set(names)
    for name in names:
        shown = printed(capsys, f"{name} --help")
        assert "Usage" in shown and "--json" in shown
        assert not re.findall(r"--[a-z-]+ [A-Z.]+ +(?:│|\[default)", shown), (
            "each option is described"
        )
        assert f"dpbandits {name}" in app[name].help_epilogue


def test_the_completion_is_a_script_that_knows_commands_and_options(capsys, folder):
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash here")
    script = printed(capsys, "completion bash")
    (folder / "script").write_text(script)
    ask = 'source ./script; COMP_WORDS=({words}); COMP_CWORD={at}; F; echo "${{COMPREPLY[@]}}"'
    function = script.split("complete ")[-1].split("-F ")[1].split()[0]
    answers = {}
    for at, words in ((1, "dpbandits aud"), (2, "dpbandits run --hor")):
        lines = ask.format(words=words, at=at).replace("F;", f"{function};")
        answers[words] = subprocess.check_output([shell, "-c", lines], text=True).strip()
    assert answers == {"dpbandits aud": "audit", "dpbandits run --hor": "--horizon"}


def test_json_has_no_numbers_that_json_lacks():
    found = plain({"a": np.float64("nan"), "b": [-np.inf, 1.5], "c": np.arange(2), "d": (True,)})
    assert found == {"a": "nan", "b": ["-inf", 1.5], "c": [0, 1], "d": [True]}


# ------------------------------------------------------------------------------------------- run


def test_the_numbers_are_those_of_the_package(capsys, folder):
    words = "run --algorithm dp-se --means 0.9,0.8 --epsilon 0.5 --horizon 1e6 --runs 3 --seed 4"
    text = printed(capsys, f"{words} --json --csv new/out.csv --plot out.png")
    (found,) = json.loads(text)["runs"]
    instance = dpb.instances.bernoulli([0.9, 0.8])
    runs = dpb.simulate(dpb.DPSE(0.5), instance, 10**6, n_runs=3, seed=4)
    assert found["regret"]["mean"] == runs.mean()[-1]
    assert [found["regret"][q] for q in ("q05", "q95")] == [end[-1] for end in runs.band(0.9)]
    assert found["pulls"] == runs.pulls.mean(axis=0).tolist()
    assert found["algorithm"] == {"name": "DPSE", "epsilon": 0.5, "beta": None}
    assert found["guarantee"]["epsilon"] == 0.5 and found["means"] == [0.9, 0.8]
    runs.to_csv("mine.csv")
    assert (folder / "new/out.csv").read_text() == (folder / "mine.csv").read_text()
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")
    other = dpb.simulate(dpb.DPSE(0.01), instance, 10**6, n_runs=3, seed=4)
    assert found["regret"]["mean"] != other.mean()[-1]
    text = printed(capsys, "run DPSE --epsilon 0.5 --instance C2 --arms 3 --horizon 1e5 --runs 4")
    assert "DPSE(epsilon=0.5, beta=None) on C2, K = 3, T = 100000, 4 runs" in text


def test_names_are_found_whatever_their_case_and_hyphens():
    known = {"DPSE": 1, "DPUCB": 2}
    assert {find("algorithm", known, name) for name in ("dp-se", "DPSE", "dp_se", "Dp Se")} == {1}


def test_several_algorithms_and_own_ones(capsys):
    words = "run DPSE mine.py:Alternate --algorithm mine.py:made --epsilon 1 --means 1,0"
    found = json.loads(printed(capsys, f"{words} --horizon 1000 --runs 2 --json"))["runs"]
    assert [run["algorithm"]["name"] for run in found] == ["DPSE", "Alternate", "Alternate"]
    assert [run["guarantee"]["epsilon"] for run in found] == [1.0, 1.0, 2.0]
    assert found[1]["regret"]["mean"] == 500.0  # every other pull costs the gap 1
    own, arms = find("algorithm", {}, "mine.py:made"), dpb.instances.bernoulli([1, 0])
    assert own.regret_bound(arms, 10) == np.inf, "it needs no bound"
    assert own.regret_bound(arms, 10, [1, 2]).tolist() == [np.inf] * 2


def test_heavy_tailed_rewards_have_instances_too(capsys, folder):
    words = "run DPRSE --epsilon 1 --instance s1 --order 0.9 --horizon 1e4 --runs 2 --seed 3"
    (found,) = json.loads(printed(capsys, f"{words} --plot heavy.svg --json"))["runs"]
    instance = dpb.instances.twzw22("S1", order=0.9)
    runs = dpb.simulate(dpb.DPRSE(1.0), instance, 10**4, n_runs=2, seed=3)
    assert found["regret"]["mean"] == runs.mean()[-1]
    assert "Lai–Robbins" not in (folder / "heavy.svg").read_text("utf-8")
    printed(capsys, "run DPSE --epsilon 1 --horizon 1e4 --runs 2 --plot light.svg")
    assert "Lai–Robbins" in (folder / "light.svg").read_text("utf-8")


def test_a_full_disk_is_one_line(capsys, folder, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["run", "UCB", "--horizon", "100", "--runs", "1", "--csv", "out.csv"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error and error.count("\n") == 1
    assert not list(folder.glob("*.csv"))


def test_an_interrupt_is_one_line_that_says_what_was_done(capsys, monkeypatch):
    played = []

    def interrupted(self, *arguments):
        played.append(arguments)
        if len(played) == 11:  # the first compiles, and four are a chunk
            raise KeyboardInterrupt
        return original(self, *arguments)

    original = dpb.UCB.play
    monkeypatch.setattr(dpb.UCB, "play", interrupted)
    assert main(["run", "UCB", "--horizon", "100", "--runs", "32"]) == 130
    error = capsys.readouterr().err
    assert "interrupted: 8 of 32 runs were done" in error
    assert error.count("\n") == 1


# ----------------------------------------------------------------------------- identify and plan


def test_plan(capsys, folder):
    plan = dpb.plan([0.8, 0.5, 0.2], epsilon=0.4, delta=0.1, n_runs=6, seed=3)
    for ending in ("svg", "PNG"):
        words = f"{PLAN} --epsilon 0.4 --seed 3 --plot new/plan.{ending}"
        assert printed(capsys, words) == f"{plan}\n"
        content = (folder / f"new/plan.{ending}").read_bytes()
        assert len(content) > 5_000
        assert content.startswith(b"<?xml" if ending == "svg" else b"\x89PNG")
    found = json.loads(printed(capsys, f"{PLAN} --epsilon 0.4 --seed 3 --json"))
    assert found == plain(plan.as_dict()) and found["price_of_privacy"] == plan.price
    means = [runs.stopping_time.mean() for runs in plan.runs]
    assert [each["samples"]["mean"] for each in found["algorithms"]] == means
    assert "unknown: some runs were ended" in printed(
        capsys, f"{PLAN} --epsilon 0.4 --max-pulls 600"
    )


def test_what_cannot_be_written_is_told_before_anything_is_simulated(capsys, folder, monkeypatch):
    monkeypatch.setattr(dpb, "plan", lambda *_: pytest.fail("simulated"))
    monkeypatch.setattr(dpb, "identify", lambda *_: pytest.fail("simulated"))
    (folder / "file").touch()
    printed(capsys, f"{PLAN} --epsilon 0.4 --plot file/x.svg", status=1)
    printed(capsys, "identify TopTwo --set delta=0.1 --means 0.8,0.5 --csv file/x.csv", status=1)


def test_identify(capsys, folder):
    words = "identify DPLRE --epsilon 1 --set delta=0.1 --means 0.8,0.5,0.2 --runs 5 --seed 2"
    out = printed(capsys, f"{words} --csv new/runs.csv")
    runs = dpb.identify(dpb.DPLRE(1.0, 0.1), dpb.instances.bernoulli([0.8, 0.5, 0.2]), 5, seed=2)
    assert f"mean {runs.stopping_time.mean():.6g}" in out and "stopped: 5 of 5" in out
    assert "privacy: ε = 1, central" in out
    runs.to_csv("mine.csv")
    assert (folder / "new/runs.csv").read_text() == (folder / "mine.csv").read_text()
    out = printed(capsys, f"{words} --max-pulls 9")
    assert "stopped: 0 of 5" in out and "nan" not in out
    assert "mean unknown, median unknown, 90 % of runs unknown to unknown" in out


# -------------------------------------------------------------------------------------- estimate


def test_replicates_are_those_of_the_package(capsys, folder):
    words = f"estimate DPExponentialNAS {RULE} --mean 0.2 --runs 7 --seed 3 --csv new/runs.csv"
    out = printed(capsys, f"{words} --epsilon 1")
    rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    runs = dpb.estimate(rule, dpb.laws.two_point(0.2), n_runs=7, seed=3)
    assert f"median {np.median(runs.samples):.6g}" in out
    assert "halted: 7 of 7" in out and "privacy: ε = 1, central" in out
    runs.to_csv("mine.csv")
    assert (folder / "new/runs.csv").read_text() == (folder / "mine.csv").read_text()
    assert printed(capsys, f"{words} --set epsilon=1") == out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--law uniform --runs 2", "uniform on"),
        ("--law beta --shapes 3,2 --runs 2", "Beta(3, 2)"),
        ("--law low-variance --deviation 0.05 --runs 2", "0.05 or 0.15"),
        ("--runs 3 --max-samples 10", "halted: 0 of 3"),
    ],
)
def test_laws_and_an_end(options, said, capsys):
    assert said in printed(capsys, f"estimate NAS {RULE} {options}")


def test_own_numbers_from_a_file_and_from_stdin(capsys, folder, monkeypatch):
    (folder / "own.txt").write_text("0.9 0.8\n" * 400, "utf-8")
    expected = dpb.NAS(0.5, 0.05).run([0.9, 0.8] * 400, np.random.default_rng(0))
    out = printed(capsys, f"estimate NAS {RULE} --stream own.txt")
    assert f"halted after {expected.samples} samples" in out
    monkeypatch.setattr("sys.stdin", io.StringIO("0.9 0.8\n"))
    out = printed(capsys, f"estimate NAS {RULE} --stream -")
    assert "not halted after 2 samples: no estimate" in out


# ----------------------------------------------------------------------------------------- audit


def test_what_can_be_integrated_is_and_what_cannot_is_run(capsys):
    text = printed(capsys, "audit DPSE --set epsilon=0.5")
    assert text.startswith("DP-SE: no violation found\ndeclared: ε = 0.5, central, event level\n")
    assert "exact: ε is at least 0.49" in text
    assert printed(capsys, "audit DPSE --epsilon 0.5") == text
    words = "audit DPUCB --set epsilon=4 --runs 2000 --pulls 6"
    first = printed(capsys, words)
    assert "DP-UCB: no violation found" in first and "500 runs of the kernel" in first
    assert printed(capsys, words) == first, "the seed decides"
    words = "audit DPNAS --sampled --epsilon 1 --set alpha=0.5 --set beta=0.1 --runs 100 --pulls 4"
    text = printed(capsys, words, status=3)
    assert text.startswith("DP-NAS: nothing tested") and "tables: 1 × 4 rewards" in text


def test_epsilon_may_be_what_is_tested(capsys):
    assert main(f"audit UCB --epsilon 1 --delta 0.1 --runs 400 {QUICK}".split()) in (0, 1, 3)
    assert "declared: (ε = 1, δ = 0.1)" in capsys.readouterr().out
    assert "raw: nothing declared" in printed(capsys, f"audit mine.py:raw --runs 400 {QUICK}")


@pytest.mark.parametrize(("name", "status"), [("noisy", 0), ("raw", 1)])
def test_own_algorithms(name, status, capsys):
    words = f"audit mine.py:{name} --epsilon 1 --pulls 2 --runs 4000"
    text = printed(capsys, words, status)
    assert text.startswith(f"{name}: {'violation found' if status else 'no violation found'}")
    assert ("stopped as it convicts" in text) == (status == 1)
    record = json.loads(printed(capsys, f"{words} --all-runs --json", status))
    assert record["runs"] == record["planned"] and "log_wealth" not in record


def test_an_own_table(folder, capsys):
    (folder / "table.csv").write_text("1, 1\n0 1\n", encoding="utf-8")
    words = "audit mine.py:raw --epsilon 1 --runs 500 --table table.csv --change 1,0,2"
    text = printed(capsys, words, status=1)
    assert "2 × 2 rewards; number 1 of arm 1 is 0 or 2" in text


class Interrupting:
    """To Python's imports a finder: Ctrl-C comes while the commands are read."""

    def find_spec(self, name, path=None, target=None):
        if name == "dpbandits.cli.commands":
            raise KeyboardInterrupt


def test_an_interrupt_while_the_package_is_read_is_one_line(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "dpbandits.cli.commands")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert dpbandits_command.main() == 130
    assert capsys.readouterr() == ("", "dpbandits: interrupted\n")


def test_a_bare_command_prints_its_help(capsys):
    assert "Usage: dpbandits COMMAND" in printed(capsys, "")


def test_a_folder_that_is_made_is_named(capsys, folder):
    assert (
        main(
            [
                "run",
                "DPSE",
                "--epsilon",
                "1",
                "--runs",
                "2",
                "--horizon",
                "100",
                "--csv",
                "new/x.csv",
            ]
        )
        == 0
    )
    assert capsys.readouterr().err == "made the folder new\n" and (folder / "new/x.csv").exists()


@pytest.mark.parametrize("words", ["run DPSE --epsilon 1 --runs 2 --horizon 100", "run DPSÉ", ""])
def test_ascii_output_spells_out_what_it_has_no_letter_for(monkeypatch, words):
    streams = {name: io.TextIOWrapper(io.BytesIO(), "ascii") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    status = main(words.split())
    told = b"".join(stream.buffer.getvalue() for stream in streams.values() if not stream.flush())
    assert status == (2 if "É" in words else 0) and told.isascii()
    assert b"epsilon = 1, central" in told or "É" in words or not words


BASES = {
    "run": {"": "UCB", "means": "0.9,0.5", "horizon": "20", "runs": "1"},
    "identify": {"": "TopTwo", "means": "0.9,0.1", "set": "delta=0.3", "runs": "1"},
    "estimate": {"": "NAS", "mean": "0.9", "set": "alpha=0.9 --set beta=0.9", "runs": "1"},
    "plan": {"means": "0.9,0.1", "epsilon": "1", "delta": "0.3", "runs": "1"},
    "audit": {"": "UCB", "epsilon": "1", "pulls": "2", "runs": "100"},
}
NONSENSE = ["", "x", "nan", "1e400", "-1", "None", "9" * 5000]


@pytest.mark.parametrize("command", BASES)
def test_whatever_an_option_is_given_no_command_breaks(command, capsys):
    """Every option, found in the signature, with every word: an answer, or one line."""
    base, refused, accepted = BASES[command], set(), Counter()
    known = inspect.signature(app[command].default_command).parameters.values()
    options = [
        p.name.replace("_", "-") for p in known if p.kind is p.KEYWORD_ONLY and p.name != "json"
    ]
    for option in (each if each != "settings" else "set" for each in options):
        for word in NONSENSE:
            if accepted[option] == 2:  # it takes words
                break
            kept = {name: text for name, text in base.items() if name != option}
            words = " ".join(f"--{name} {text}" if name else text for name, text in kept.items())
            status = main([command, *words.split(), f"--{option}={word}"])
            told = capsys.readouterr()
            assert status in (0, 1, 2, 3), (option, word)
            accepted[option] += status != 2
            if status == 2:
                refused.add(option)
                assert told.out == "" and told.err.startswith("dpbandits: "), (option, word)
                assert told.err.count("\n") == 1 and len(told.err) < 620, (option, word)
    assert {"seed", "runs"} | ({"jobs"} & set(options)) <= refused


def test_a_command_says_once_that_it_compiles(monkeypatch, capsys):
    def compiling():
        njit(lambda x: x + 1)(1)
        njit(lambda x: x + 2)(1)
        return 0

    monkeypatch.setattr("dpbandits.cli.commands.main", lambda: 0)
    assert dpbandits_command.main() == 0 and capsys.readouterr().err == ""
    monkeypatch.setattr("dpbandits.cli.commands.main", compiling)
    assert dpbandits_command.main() == 0
    assert capsys.readouterr().err.count("compiling, once on this machine") == 1
    compiling()
    assert capsys.readouterr().err == ""
