"""``dpbandits run`` and what all commands share: JSON, examples, completion."""

import argparse
import json
import shutil
import subprocess

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.cli import _parser, main
from dpbandits.cli_output import plain
from dpbandits.regret.base import Play

OWN = '''
from dataclasses import dataclass
import numpy as np
import dpbandits as dpb
from dpbandits.regret.base import Play, RegretAlgorithm

@dataclass(frozen=True)
class Alternate(RegretAlgorithm):
    """Plays the arms in turn, whatever happens."""
    epsilon: float
    label = "Alternate"
    source = "test"
    @property
    def guarantee(self):
        return dpb.PrivacyGuarantee("global", self.epsilon)
    def play(self, instance, horizon, checkpoints, rng):
        arms = np.arange(instance.n_arms)
        counts = (checkpoints[:, None] - arms - 1) // instance.n_arms + 1
        return Play(counts, np.empty(0, dtype=np.int64))
made = Alternate(2.0)
@dataclass(frozen=True)
class Forgets(Alternate):
    count: int = 1
    def play(self, instance, horizon, checkpoints, rng):
        play = super().play(instance, horizon, checkpoints, rng)
        return Play(play.counts // 2, play.epoch_ends) if self.count == 1 else play.counts
number = 3
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def printed(capsys, *words):
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_the_numbers_are_those_of_the_package(capsys, folder):
    words = "run --algorithm dp-se --means 0.9,0.8 --epsilon 0.5 --horizon 1e6 --runs 3 --seed 4"
    text = printed(capsys, *words.split(), "--json", "--csv", "out.csv", "--plot", "out.png")
    (found,) = json.loads(text)["runs"]
    instance = dpb.instances.bernoulli([0.9, 0.8])
    runs = dpb.simulate(dpb.DPSE(0.5), instance, 10**6, n_runs=3, seed=4)
    assert found["regret"]["mean"] == runs.mean()[-1]
    assert found["pulls"] == runs.pulls.mean(axis=0).tolist()
    assert found["algorithm"] == {"name": "DPSE", "epsilon": 0.5, "beta": None}
    assert found["guarantee"]["epsilon"] == 0.5 and found["means"] == [0.9, 0.8]
    table = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, 0], runs.times)
    np.testing.assert_array_equal(table[:, 1:], runs.regret.T)
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")
    other = dpb.simulate(dpb.DPSE(0.01), instance, 10**6, n_runs=3, seed=4)
    assert found["regret"]["mean"] != other.mean()[-1]


def test_several_algorithms_and_ones_own(capsys):
    words = "run DPSE mine.py:Alternate --algorithm mine.py:made --epsilon 1 --means 1,0"
    text = printed(capsys, *words.split(), "--horizon", "1000", "--runs", "2", "--json")
    found = json.loads(text)["runs"]
    assert [run["algorithm"]["name"] for run in found] == ["DPSE", "Alternate", "Alternate"]
    assert [run["guarantee"]["epsilon"] for run in found] == [1.0, 1.0, 2.0]
    assert found[1]["regret"]["mean"] == 500.0  # every other pull costs the gap 1


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("run", ["algorithm", "DPSE"]),
        ("run DPSE UCB --epsilon 1 --csv x.csv", ["csv", "one at a time"]),
        ("run UCB --plot x.gif", ["plot='x.gif'", ".png"]),
        ("run UCB --means 0.5,two", ["means='0.5,two'", "0.9,0.8"]),
        ("run UCB --means 0.5,0.4 --arms 3", ["arms='3'", "--means"]),
        ("run DPSE --epsilon 1 --set epsilon=2", ["epsilon", "twice"]),
        ("run mine.py:none", ["mine.py:none", "FILE.py:NAME"]),
        ("run mine.py:number", ["mine.py:number is 3", "RegretAlgorithm"]),
        ("completion dosh", ["shell='dosh'", "bash"]),
    ],
)
def test_bad_input_is_one_line(capsys, words, parts):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(part in error for part in parts)


@pytest.mark.parametrize("name", ["dp-se", "DPSE", "dp_se", "Dp Se"])
def test_names_are_found_whatever_their_case_and_hyphens(capsys, name):
    text = printed(capsys, "run", name, "--epsilon", "1", "--horizon", "100", "--runs", "1")
    assert text.startswith("DPSE(")


def commands():
    (sub,) = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return sub.choices


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_has_json_and_an_example(name):
    parser = commands()[name]
    assert "--json" in parser._option_string_actions
    assert f"dpbandits {name}" in (parser.epilog or "")


def test_the_completion_is_a_script_that_knows_commands_and_options(capsys, folder):
    script = printed(capsys, "completion", "bash")
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash here")
    (folder / "script").write_text(script)
    ask = 'source ./script; COMP_WORDS=({words}); COMP_CWORD={at}; F; echo "${{COMPREPLY[@]}}"'
    function = script.split("complete ")[-1].split("-F ")[1].split()[0]
    answers = {}
    for at, words in ((1, "dpbandits aud"), (2, "dpbandits run --hor")):
        lines = ask.format(words=words, at=at).replace("F;", f"{function};")
        answers[words] = subprocess.check_output([shell, "-c", lines], text=True).strip()
    assert answers == {"dpbandits aud": "audit", "dpbandits run --hor": "--horizon"}


def test_json_has_no_numbers_that_json_lacks():
    found = plain(
        {"a": np.float64("nan"), "b": [-np.inf, 1.5], "c": np.array([1, 2]), "d": (True,)}
    )
    assert found == {"a": "nan", "b": ["-inf", 1.5], "c": [1, 2], "d": [True]}
    json.dumps(found, allow_nan=False)


def test_heavy_tailed_rewards_have_instances_too(capsys, folder):
    words = "run DPRSE --epsilon 1 --instance s1 --order 0.9 --horizon 1e4 --runs 2 --seed 3"
    assert main([*words.split(), "--plot", "heavy.svg", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    instance = dpb.instances.twzw22("S1", order=0.9)
    runs = dpb.simulate(dpb.DPRSE(1.0), instance, 10**4, n_runs=2, seed=3)
    assert found["regret"]["mean"] == runs.mean()[-1]
    bounds_for_bits = "Lai–Robbins"
    assert bounds_for_bits not in (folder / "heavy.svg").read_text("utf-8")
    assert (
        main(
            [
                "run",
                "DPSE",
                "--epsilon",
                "1",
                "--horizon",
                "1e4",
                "--runs",
                "2",
                "--plot",
                "light.svg",
            ]
        )
        == 0
    )
    assert bounds_for_bits in (folder / "light.svg").read_text("utf-8")


def test_an_own_algorithm_needs_no_bound(capsys, folder):
    assert (
        main(["run", "mine.py:Alternate", "--epsilon", "1", "--horizon", "1000", "--runs", "1"])
        == 0
    )
    own = dpb.RegretAlgorithm.regret_bound
    assert own(None, None, 10) == np.inf
    assert own(None, None, 10, [1, 2]).tolist() == [np.inf] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mine.py:Forgets --epsilon 1", "Forgets.play counts 0 pulls by the time 1"),
        ("mine.py:Forgets --epsilon 1 --set count=2", "Forgets.play returned ndarray"),
        ("mine.py:Forgets --epsilon 1 --set count=1.5", "count=1.5 is no whole number"),
        ("mine.py:Forgets --epsilon 1 --set count=a", "count='a' is no whole number"),
        ("mine.py:Alternate --epsilon much", "epsilon='much' is no number"),
        ("UCB --epsilon 1", "epsilon='1' is no argument of UCB"),
        ("UCB --order 0.5", "order='0.5' is for S1 to S3"),
        ("UCB --means 0.5,0.4 --arms 2", "arms='2' does not go with --means"),
        ("UCB DPSE --epsilon 1 --set gamma=3", "allowed: beta, engine, epsilon"),
        ("mine.py:Forgets --epsilon 1 --set count=inf", "count=inf is no whole number"),
        ("UCB --jobs 0", "or -1 for all processors"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(capsys, folder, words, said):
    assert main(["run", *words.split()]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_counts_that_no_run_can_have(folder):
    """`simulate` looks at what an algorithm of one's own returns."""

    class Wrong(dpb.RegretAlgorithm):
        label, source, guarantee = "wrong", "test", dpb.DPSE(1.0).guarantee

        def __init__(self, counts):
            self.counts = counts

        def play(self, instance, horizon, checkpoints, rng):
            return Play(np.array(self.counts), np.empty(0, dtype=np.int64))

    two = dpb.instances.bernoulli([0.5, 0.4])
    dpb.simulate(Wrong([[1, 1], [2, 2]]), two, 4, n_runs=1, checkpoints=[2, 4])
    for counts, said in (
        ([[1, 1]], "shape (1, 2)"),
        ([[1, 1], [2, 1]], "counts 3 pulls by the time 4"),
        ([[2, 0], [1, 3]], "fall"),
        ([[3, -1], [5, -1]], "fall"),
    ):
        with pytest.raises(ValueError) as caught:
            dpb.simulate(Wrong(counts), two, 4, n_runs=1, checkpoints=[2, 4])
        assert said in str(caught.value)
