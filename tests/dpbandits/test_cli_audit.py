"""``dpbandits audit``: what it prints, its exit status, and what it refuses."""

import pytest

from dpbandits.cli import main

MINE = """
def noisy(rewards, rng):
    sums = [rewards.pull(arm) + rng.laplace(0.0, 1.0) for arm in (0, 1)]
    rewards.pull(int(sums[1] > sums[0]))


def raw(rewards, rng):
    sums = [rewards.pull(arm) for arm in (0, 1)]
    rewards.pull(int(sums[1] > sums[0]))
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_what_can_be_integrated_is(capsys):
    assert main(["audit", "DPSE", "--set", "epsilon=0.5"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("DP-SE: acquitted\ndeclared: ε = 0.5, global, event level\n")
    assert "exact: ε is at least 0.49" in text


def test_what_cannot_is_run(capsys):
    command = ["audit", "DPUCB", "--set", "epsilon=4", "--runs", "2000", "--pulls", "6"]
    assert main([*command, "--candidates", "4"]) == 0
    first = capsys.readouterr().out
    assert "DP-UCB: acquitted" in first and "of 1000 runs" in first
    assert main([*command, "--candidates", "4"]) == 0
    assert capsys.readouterr().out == first, "the seed decides"
    settings = ["--set", "epsilon=1", "--set", "alpha=0.5", "--set", "beta=0.1"]
    command = ["audit", "DPNAS", "--sampled", *settings, "--runs", "100", "--pulls", "4"]
    assert main([*command, "--candidates", "2"]) == 3
    text = capsys.readouterr().out
    assert text.startswith("DP-NAS: nothing tested") and "tables: 1 × 4 rewards" in text


def test_epsilon_is_the_algorithms_own_or_what_is_tested(mine, capsys):
    assert main(["audit", "DPSE", "--epsilon", "0.5"]) == 0
    short = capsys.readouterr().out
    assert main(["audit", "DPSE", "--set", "epsilon=0.5"]) == 0
    assert capsys.readouterr().out == short and "exact" in short
    fast = ["--pulls", "2", "--runs", "400", "--candidates", "2"]
    assert main(["audit", "UCB", "--epsilon", "1", "--delta", "0.1", *fast]) in (0, 1, 3)
    assert "declared: (ε = 1, δ = 0.1)" in capsys.readouterr().out
    assert main(["audit", f"{mine}:raw", *fast]) == 0
    assert "raw: nothing declared" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "status"), [("noisy", 0), ("raw", 1)])
def test_algorithms_of_ones_own(mine, name, status, capsys):
    command = ["audit", f"{mine}:{name}", "--epsilon", "1", "--pulls", "2", "--runs", "4000"]
    command += ["--jobs", "2"] if name == "raw" else []
    assert main([*command, "--candidates", "6"]) == status
    text = capsys.readouterr().out
    assert text.startswith(f"{name}: {'convicted' if status else 'acquitted'}")


def test_a_table_of_ones_own(mine, tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("1, 1\n0 1\n", encoding="utf-8")
    command = ["audit", f"{mine}:raw", "--epsilon", "1", "--runs", "500", "--table", str(table)]
    assert main([*command, "--change", "1,0,2"]) == 1
    assert "2 × 2 rewards; number 1 of arm 1 is 0 or 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Nothing"], "algorithm='Nothing' is unknown; allowed: 'UCB'"),
        (["DPSE"], "epsilon is missing"),
        (["nowhere.py:f"], "is not there"),
        (["json:nothing"], "is not there"),
        (["json:loads", "--set", "epsilon=1"], "is for algorithms with arguments"),
        (["DPUCB", "--set", "epsilon=1", "--runs", "3"], "runs=3 is out of range"),
        (["DPUCB", "--set", "epsilon=1", "--failure", "2"], "failure=2.0 is out of range"),
        (["DPUCB", "--set", "epsilon=1", "--table", "MINE"], "has other things than numbers"),
        (["RobustUCB"], "cannot be run on a table"),
        (["DPSE", "--set", "epsilon=1", "--delta", "0.1"], "delta='0.1' is declared already"),
        (["UCB", "--delta", "0.1"], "delta='0.1' goes with --epsilon"),
        (["DPSE", "--set", "epsilon=1", "--epsilon", "0.1"], "epsilon='0.1' is given twice"),
        (["DPSE", "--set", "epsilon=1", "--failure", "2"], "failure=2.0 is out of range"),
        (["DPSE", "--set", "epsilon=1", "--change", "0,0,1"], "goes with --table"),
        (["DPSE", "--set", "epsilon=1", "--runs", "abc"], "runs='abc'"),
    ],
)
def test_what_is_refused(arguments, message, mine, capsys):
    fast = ["--pulls", "2", "--candidates", "1"]
    arguments = [str(mine) if part == "MINE" else part for part in arguments]
    assert main(["audit", *arguments, *fast]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and message in captured.err and captured.err.count("\n") == 1


def test_a_change_goes_with_a_table(mine, tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("1 1\n", encoding="utf-8")
    for change in ([], ["--change", "0,1"], ["--change", "0,0,nan"]):
        assert main(["audit", f"{mine}:raw", "--table", str(table), *change]) == 2
        assert "allowed:" in capsys.readouterr().err
