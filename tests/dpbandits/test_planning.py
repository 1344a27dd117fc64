"""Plans of private trials: what they say, as a table and as a picture."""

import dataclasses
import math
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.identification import characteristic_time, privacy_switches, sample_lower_bound
from dpbandits.trials.planning import _pulls

MEANS = (0.8, 0.5, 0.2)
INSTANCE = dpb.instances.bernoulli(MEANS)


@pytest.fixture(scope="module")
def small():
    return dpb.plan(MEANS, epsilon=0.4, delta=0.1, n_runs=6, seed=3)


def made(algorithm, times, most=10**12):
    """Runs of these lengths, ended where they have the longest that is allowed."""
    times = np.array(times)
    pulls = np.column_stack([times - 2, np.ones_like(times), np.ones_like(times)])
    return dpb.Identifications(algorithm, INSTANCE, most, np.where(times < most, 0, -1), pulls)


def words(plan):
    """What stands beside the markers of a plan's picture, and the vertical axis."""
    figure = plotting.plan_figure(plan)
    (axes,) = figure.axes
    plt.close(figure)
    return {text.get_text() for text in axes.texts}, axes.get_ylim()


def test_a_plan_is_what_the_package_says(small):
    assert small.means == MEANS and (small.epsilon, small.delta) == (0.4, 0.1)
    assert small.lower_bound == sample_lower_bound(MEANS, 0.4, 0.1)
    assert small.lower_bound_free == sample_lower_bound(MEANS, math.inf, 0.1)
    assert small.price == small.lower_bound / small.lower_bound_free > 1
    assert small.free_from == privacy_switches(MEANS).exact
    assert small.weights == tuple(characteristic_time(MEANS, 0.4).weights)
    for runs in small.runs:
        again = dpb.identify(runs.algorithm, INSTANCE, 6, 3, 10**12)
        assert (runs.pulls == again.pulls).all() and runs.algorithm.delta == 0.1
    labels = [runs.algorithm.label for runs in small.runs]
    assert labels == ["DP-LRE", "DP-TT", "DP-SE", "Top Two"]
    private = [runs for runs in small.runs if runs.algorithm.guarantee.epsilon == 0.4]
    assert len(private) == 3
    assert small.best is min(private, key=lambda runs: runs.stopping_time.mean())


def test_a_plan_reads_as_a_table(small):
    text = str(small)
    assert "means 0.8, 0.5, 0.2; ε = 0.4, δ = 0.1" in text and "unknown" not in text
    assert "price of privacy" in text and "simulated runs of each: 6" in text
    for runs in small.runs:
        (line,) = [x for x in text.splitlines() if x.startswith(runs.algorithm.label + " ")]
        numbers = [float(word.replace(",", "")) for word in re.findall(r"[\d,]+(?= |$)", line)]
        mean, low, high = runs.mean_time()
        wanted = (mean, max(low, 3), high, np.sort(runs.stopping_time)[5], runs.errors(), 6)
        np.testing.assert_allclose(numbers[-6:], wanted, rtol=6e-3, atol=0.6)
    assert text.splitlines()[5].endswith("wrong") and text.count(" of 6") == 4


def test_an_interval_is_shown_from_the_least_number_of_samples_on(small):
    runs = made(small.best.algorithm, [100, 80_000])
    assert runs.mean_time()[1] < 0
    told = str(dataclasses.replace(small, runs=(runs,))).splitlines()[6]
    assert " 3 to 548,000 " in told and "-" not in told.removeprefix("DP-LRE")
    assert _pulls(-12_345.6) == "-12,300" and _pulls(-3.0) == "-3"


def test_runs_that_were_ended_leave_the_mean_unknown(small):
    algorithm = dpb.AdaPTTStar(0.4, 0.1)
    ended, known = made(algorithm, [99, 600], 600), made(dpb.TopTwo(0.1), [99, 500])
    short = dataclasses.replace(small, runs=(ended, known))
    assert "unknown to unknown" in str(short) and "runs were ended before they stopped" in str(
        short
    )
    shown, _ = words(short)
    assert "Top Two, no privacy" in shown and "AdaP-TT*" not in shown
    stopped = made(algorithm, [10**6, 10**6])
    assert dataclasses.replace(small, runs=(ended, stopped)).best is stopped
    least = dpb.plan(MEANS, 0.4, 0.1, n_runs=3, seed=3, max_pulls=600).runs
    assert {runs.algorithm.label for runs in least if not runs.stopped.all()} >= {"DP-SE"}


def test_plans_at_the_ends():
    free = dpb.plan(MEANS, epsilon=math.inf, delta=0.1, n_runs=2)
    assert free.price == 1 and [runs.algorithm.label for runs in free.runs] == ["Top Two"]
    assert free.best is free.runs[0] and "ε = inf" in str(free)
    ends = dpb.plan([1.0, 0.0, 0.4], epsilon=1.0, delta=0.1, n_runs=2)
    assert math.isinf(ends.free_from) and "at no ε" in str(ends)
    assert "lower bound" in words(ends)[0]
    assert "at most 1e+100" in refusal("plan.epsilon", math.inf, lambda: plotting.plan_figure(free))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", value) for value in NOT_A_NUMBER + NOT_POSITIVE),
        *(("delta", value) for value in [*NOT_A_NUMBER, *NOT_FRACTIONS, 0.42, 0.5]),
        *(("n_runs", value) for value in (1, 0, -3, *NOT_WHOLE)),
        *(("seed", value) for value in (-1, "0", 1.5)),
        *(("n_jobs", value) for value in (0, -2, "2", 1.5)),
        *(("max_pulls", value) for value in (2, -1, 2**62 + 1, "9")),
        *(("means", value) for value in ((0.5, 0.5), (0.5,), (0.5, 1.2), "0.5", 0.5)),
    ],
    ids=repr,
)
def test_bad_arguments(name, value):
    good = {"means": MEANS, "epsilon": 1.0, "delta": 0.1, "n_runs": 2}
    refusal(name, value, lambda: dpb.plan(**{**good, name: value}))


def test_the_picture_shows_every_algorithm_those_without_a_look_of_their_own_included(small):
    own = made(dpb.AdaPTTStar(0.4, 0.1), [800, 900])
    shown, (low, high) = words(dataclasses.replace(small, runs=(*small.runs, own)))
    assert shown >= {"lower bound", "DP-LRE", "DP-TT", "DP-SE", "Top Two, no privacy", "AdaP-TT*"}
    for runs in small.runs:
        assert low < runs.mean_time()[0] <= runs.time_quantiles(0.9) < high


def test_names_that_moved_to_trials_are_still_found_and_say_so():
    with pytest.warns(DeprecationWarning, match=r"is now dpbandits\.trials\.fixed_design_error"):
        assert dpb.identification.fixed_design_error is dpb.trials.fixed_design_error
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpb.identification.nothing
