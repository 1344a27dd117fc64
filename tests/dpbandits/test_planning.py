"""Plans of private trials: what they say, the command line, the picture."""

import dataclasses
import math
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.identification import (
    AdaPTTStar,
    characteristic_time,
    privacy_switches,
    sample_lower_bound,
)
from dpbandits.planning import _pulls

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
        runs = dpb.identify(size.algorithm, dpb.instances.bernoulli(MEANS), 6, 3, 10**12)
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
        low = max(size.mean_low, 3)
        wanted = (size.mean, low, size.mean_high, size.quantile90, size.wrong, 6)
        np.testing.assert_allclose(numbers[-6:], wanted, rtol=6e-3, atol=0.6)
    assert text.splitlines()[5].endswith("wrong")
    assert text.count(" of 6") == 4


def test_an_interval_is_shown_from_the_least_number_of_samples_on(small):
    size = dataclasses.replace(small.sizes[0], mean=40_000.0, mean_low=-12_345.6, mean_high=92_346)
    told = str(dataclasses.replace(small, sizes=(size,)))
    assert " 3 to 92,300 " in told and "-" not in told.splitlines()[6].removeprefix("DP-LRE")
    assert _pulls(-12_345.6) == "-12,300" and _pulls(-3.0) == "-3"


def test_runs_that_were_ended_leave_the_mean_unknown(small):
    short = dpb.plan(MEANS, 0.4, 0.1, n_runs=3, seed=3, max_pulls=600)
    means = {size.algorithm.label: size.mean for size in short.sizes}
    assert math.isnan(means["DP-SE"]) and math.isfinite(means["Top Two"])
    text = str(short)
    assert "unknown to unknown" in text and "runs were ended before they stopped" in text
    assert "unknown" not in str(small)
    nothing, something = (
        dataclasses.replace(small.sizes[0], mean=mean) for mean in (math.nan, 1e6)
    )
    assert dataclasses.replace(small, sizes=(nothing, something)).best is something
    figure = plotting.plan_figure(short)
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert "Top Two, no privacy" in shown and "DP-SE" not in shown
    plt.close(figure)


def test_without_privacy_nothing_private_is_planned():
    free = dpb.plan(MEANS, epsilon=math.inf, delta=0.1, n_runs=2)
    assert free.price == 1 and [s.algorithm.label for s in free.sizes] == ["Top Two"]
    assert free.best is free.sizes[0] and "ε = inf" in str(free)
    message = refusal("plan.epsilon", math.inf, lambda: plotting.plan_figure(free))
    assert "a finite ε" in message


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_runs", value) for value in (1, 0, -3, *NOT_WHOLE)),
        *(("seed", value) for value in (-1, "0", 1.5)),
        *(("n_jobs", value) for value in (0, -2, "2", 1.5)),
        *(("max_pulls", value) for value in (2, -1, 2**62 + 1, "9")),
    ],
    ids=repr,
)
def test_bad_numbers_of_runs_and_the_like(name, value):
    with pytest.raises(ValueError, match=rf"^{name}=.*(allowed: |must be )"):
        dpb.plan(MEANS, 1.0, 0.1, **{"n_runs": 2, name: value})


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


def test_the_picture_shows_an_algorithm_without_a_look_of_its_own(small):
    own = dataclasses.replace(small.sizes[0], algorithm=AdaPTTStar(0.4, 0.1))
    figure = plotting.plan_figure(dataclasses.replace(small, sizes=(*small.sizes, own)))
    assert "AdaP-TT*" in {text.get_text() for text in figure.axes[0].texts}
    plt.close(figure)
