"""``dpbandits estimate``: what it prints, and what it refuses."""

import io

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.cli import main

RULE = ["--set", "alpha=0.5", "--set", "beta=0.05"]


def said(capsys, *arguments):
    status = main(["estimate", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_replicates_are_those_of_the_package(capsys, tmp_path):
    path = tmp_path / "new" / "runs.csv"
    arguments = ["--mean", "0.2", "--runs", "7", "--seed", "3", "--csv", str(path)]
    status, out, _ = said(capsys, "DPExponentialNAS", *RULE, "--set", "epsilon=1", *arguments)
    rule = dpb.DPExponentialNAS(epsilon=1, alpha=0.5, beta=0.05)
    runs = dpb.estimate(rule, dpb.instances.two_point(0.2), n_runs=7, seed=3)
    assert status == 0
    assert f"median {np.median(runs.samples):.6g}" in out
    assert "halted: 7 of 7" in out and "privacy: ε = 1, global" in out
    columns = np.loadtxt(path, delimiter=",", skiprows=1)
    assert columns[:, 0].tolist() == runs.samples.tolist()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--law", "uniform"], "uniform on"),
        (["--law", "beta", "--shapes", "3,2"], "Beta(3, 2)"),
        (["--law", "low-variance", "--deviation", "0.05"], "0.05 or 0.15"),
    ],
)
def test_every_law_can_be_named(options, name, capsys):
    status, out, _ = said(capsys, "NAS", *RULE, "--runs", "2", *options)
    assert status == 0 and name in out


def test_a_run_that_has_not_halted_gives_no_estimate(capsys):
    status, out, _ = said(capsys, "NAS", *RULE, "--runs", "3", "--max-samples", "10")
    assert status == 0 and "halted: 0 of 3" in out


def test_own_numbers_from_a_file_and_from_stdin(capsys, tmp_path, monkeypatch):
    path = tmp_path / "numbers.txt"
    path.write_text("0.9 0.8\n" * 400, "utf-8")
    expected = dpb.NAS(0.5, 0.05).run([0.9, 0.8] * 400, np.random.default_rng(0))
    _, out, _ = said(capsys, "NAS", *RULE, "--stream", str(path))
    assert f"halted after {expected.samples} samples" in out
    monkeypatch.setattr("sys.stdin", io.StringIO("0.9 0.8\n"))
    status, out, _ = said(capsys, "NAS", *RULE, "--stream", "-")
    assert status == 0 and "not halted after 2 samples: no estimate" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Nothing"], "rule='Nothing' is unknown; allowed: 'NAS'"),
        (["NAS"], "alpha is missing"),
        (["NAS", *RULE, "--set", "gamma=1"], "set='gamma' is no argument of NAS"),
        (["NAS", *RULE, "--set", "gamma"], "is no setting"),
        (["NAS", *RULE, "--law", "normal"], "law='normal' is unknown"),
        (["NAS", *RULE, "--mean", "x"], "mean='x' is no number"),
        (["NAS", *RULE, "--mean", "2"], "mean=2.0 is out of range"),
        (["NAS", *RULE, "--law", "beta", "--shapes", "3"], "shapes='3' is no pair"),
        (["NAS", *RULE, "--runs", "0"], "n"),
    ],
)
def test_bad_arguments_get_one_line(arguments, message, capsys):
    status, out, err = said(capsys, *arguments)
    assert status == 2 and out == ""
    assert message in err and err.count("\n") == 1


def test_epsilon_is_short_for_the_argument(capsys):
    settings = ["--set", "alpha=0.5", "--set", "beta=0.1", "--mean", "0.5", "--runs", "2"]
    short = said(capsys, "DPNAS", "--epsilon", "2", *settings)
    assert short[0] == 0 and short == said(capsys, "DPNAS", "--set", "epsilon=2", *settings)
    status, _, err = said(capsys, "NAS", "--epsilon", "2", *settings)
    assert status == 2 and "epsilon='2' is no argument of NAS" in err
    assert (
        main(["identify", "TopTwo", "--epsilon", "1", "--set", "delta=0.1", "--means", "0.9,0.2"])
        == 2
    )
    assert "no argument of TopTwo" in capsys.readouterr().err


def test_bad_numbers_are_named_with_their_place(capsys, tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("0.5\n1.5\n", "utf-8")
    status, _, err = said(capsys, "NAS", *RULE, "--stream", str(path))
    assert status == 2 and "stream[1]=1.5 is out of range" in err
    assert said(capsys, "NAS", *RULE, "--stream", str(tmp_path / "none"))[0] == 2
