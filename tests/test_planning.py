"""Plans of private trials: what they say, the command line, the picture."""

import math
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, refusal

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.cli import main
from dpbandits.identification import characteristic_time, privacy_switches, sample_lower_bound

MEANS = (0.8, 0.5, 0.2)


@pytest.fixture(scope="module")
def small():
    return dpb.plan(MEANS, epsilon=0.4, delta=0.1, n_runs=6, seed=3)


def test_a_plan_is_what_the_package_says(small):
    assert small.means == MEANS and (small.epsilon, small.delta) == (0.4, 0.1)
    assert small.lower_bound == sample_lower_bound(MEANS, 0.4, 0.1)
    assert small.lower_bound_free == sample_lower_bound(MEANS, math.inf, 0.1)
    assert small.price == small.lower_bound / small.lower_bound_free > 1
    assert small.free_from == privacy_switches(MEANS).exact
    assert small.weights == tuple(characteristic_time(MEANS, 0.4).weights)
    for size in small.sizes:
        runs = dpb.identify(size.algorithm, dpb.instances.bernoulli(MEANS), 6, seed=3)
        assert size.mean == runs.stopping_time.mean() and size.n_runs == 6
        assert size.quantile90 == np.sort(runs.stopping_time)[5]
        assert size.wrong == runs.errors()
        assert size.mean_low <= size.mean <= size.mean_high
        assert size.algorithm.is_correct and size.algorithm.delta == 0.1
    labels = [size.algorithm.label for size in small.sizes]
    assert labels == ["DP-LRE", "DP-TT", "DP-SE", "Top Two"]
    private = [size for size in small.sizes if size.algorithm.guarantee.epsilon == 0.4]
    assert len(private) == 3 and small.best == min(private, key=lambda size: size.mean)


def test_a_plan_reads_as_a_table(small):
    text = str(small)
    assert "means 0.8, 0.5, 0.2; ε = 0.4, δ = 0.1" in text
    assert "price of privacy" in text and "simulated runs of each: 6" in text
    for size in small.sizes:
        (line,) = [x for x in text.splitlines() if x.startswith(size.algorithm.label + " ")]
        numbers = [float(word.replace(",", "")) for word in re.findall(r"[\d,]+(?= |$)", line)]
        wanted = (size.mean, size.mean_low, size.mean_high, size.quantile90)
        np.testing.assert_allclose(numbers[-4:], wanted, rtol=6e-3, atol=0.6)


def test_without_privacy_nothing_private_is_planned():
    free = dpb.plan(MEANS, epsilon=math.inf, delta=0.1, n_runs=2)
    assert free.price == 1 and [s.algorithm.label for s in free.sizes] == ["Top Two"]


def test_means_at_the_ends_are_never_free():
    ends = dpb.plan([1.0, 0.0, 0.4], epsilon=1.0, delta=0.1, n_runs=2)
    assert math.isinf(ends.free_from) and "at no ε" in str(ends)
    figure = plotting.plan_figure(ends)
    plt.close(figure)


@pytest.mark.parametrize("value", NOT_A_NUMBER + NOT_POSITIVE)
def test_bad_epsilon(value):
    refusal("epsilon", value, lambda: dpb.plan(MEANS, value, 0.1))


@pytest.mark.parametrize("value", [*NOT_A_NUMBER, *NOT_FRACTIONS, 0.42, 0.5])
def test_bad_delta(value):
    refusal("delta", value, lambda: dpb.plan(MEANS, 1.0, value))


@pytest.mark.parametrize("means", [(0.5, 0.5), (0.5,), (0.5, 1.2), "0.5", 0.5])
def test_bad_means(means):
    with pytest.raises(ValueError, match=r"means=.*allowed: "):
        dpb.plan(means, 1.0, 0.1)


def test_the_picture_shows_every_algorithm(small):
    figure = plotting.plan_figure(small)
    (axes,) = figure.axes
    shown = {text.get_text() for text in axes.texts}
    assert {"lower bound", "DP-LRE", "DP-TT", "DP-SE", "Top Two, no privacy"} <= shown
    low, high = axes.get_ylim()
    for size in small.sizes:
        assert low < size.mean <= size.quantile90 < high
    plt.close(figure)


# ------------------------------------------------------------------------- command line

OPTIONS = ["--means", "0.8,0.5,0.2", "--epsilon", "0.4", "--delta", "0.1", "--runs", "6"]


def said(capsys, *arguments):
    status = main(list(arguments))
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_plan_on_the_command_line(small, capsys, tmp_path):
    for ending in ("svg", "png"):
        path = tmp_path / f"plan.{ending}"
        arguments = ["plan", *OPTIONS, "--seed", "3", "--plot", str(path)]
        status, out, _ = said(capsys, *arguments)
        assert status == 0 and out == f"{small}\n"
        assert path.stat().st_size > 5_000


def test_identify_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "runs.csv"
    options = ["--set", "epsilon=1", "--set", "delta=0.1", "--means", "0.8,0.5,0.2"]
    arguments = ["identify", "DPLRE", *options, "--runs", "5", "--seed", "2", "--csv", str(path)]
    status, out, _ = said(capsys, *arguments)
    runs = dpb.identify(dpb.DPLRE(1.0, 0.1), dpb.instances.bernoulli(MEANS), 5, seed=2)
    assert status == 0
    assert f"mean {runs.stopping_time.mean():.6g}" in out and "stopped: 5 of 5" in out
    assert "privacy: ε = 1, global" in out
    columns = np.loadtxt(path, delimiter=",", skiprows=1)
    assert columns[:, 0].tolist() == runs.stopping_time.tolist()
    assert columns[:, 2:].astype(int).tolist() == runs.pulls.tolist()


def test_a_run_that_was_ended_is_not_counted_as_stopped(capsys):
    options = ["--set", "epsilon=1", "--set", "delta=0.1", "--means", "0.8,0.5,0.2"]
    status, out, _ = said(capsys, "identify", "DPTT", *options, "--runs", "2", "--max-pulls", "9")
    assert status == 0 and "stopped: 0 of 2" in out and "mean nan" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", *OPTIONS, "--plot", "x.pdf"], "plot='x.pdf' has another ending"),
        (["plan", *OPTIONS[:-2], "--means", "0.8,x"], "means='x' is no number"),
        (["plan", "--means", "0.8,0.8", *OPTIONS[2:]], "has several best arms"),
        (["plan", *OPTIONS, "--epsilon", "0"], "epsilon=0.0 is out of range"),
        (["plan", *OPTIONS, "--delta", "0.45"], "delta=0.45 is out of range"),
        (["identify", "Nothing", "--means", "0.8,0.5"], "algorithm='Nothing' is unknown"),
        (["identify", "DPLRE", "--means", "0.8,0.5"], "epsilon is missing"),
    ],
)
def test_bad_arguments_get_one_line(arguments, message, capsys):
    status, out, err = said(capsys, *arguments)
    assert status == 2 and out == ""
    assert message in err and err.count("\n") == 1
