"""Replicates of a stopping rule: seeds, error rates, what counts as a failure.

That bits depend on neither workers nor other cases is in `test_running`.
"""

import csv
import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits._engine.running import case_seeds, describe
from dpbandits.stopping import Estimates

LAW = dpb.laws.two_point(0.4)
RULE = dpb.DPExponentialNAS(0.3, 0.9, 0.9)


def made_up(estimate, law=LAW, alpha=0.5):
    """Results as if a rule had released these estimates, after 10, 11, … samples."""
    estimate = np.array(estimate, dtype=float)
    samples = np.arange(10, 10 + estimate.size)
    return Estimates(dpb.NAS(alpha, 0.05), law, 1000, samples, estimate, ~np.isnan(estimate))


def test_a_replicate_depends_on_its_own_seed_alone():
    """More runs leave the first ones as they are, over the ends of a worker's share too."""
    many, other = (dpb.estimate(RULE, LAW, n_runs=450, seed=seed) for seed in (5, [0, 5]))
    assert (many.estimate != other.estimate).all()
    seeds = case_seeds({"rule": describe(RULE), "law": describe(LAW)}, 5, 450)
    for place in (0, 199, 200, 449):
        outcome = RULE.draw(LAW, np.random.default_rng(seeds[place]), 10**12)
        assert (outcome.samples, outcome.estimate) == (many.samples[place], many.estimate[place])
    assert many.halted.all() and len(set(many.estimate.tolist())) == 450, "replicates differ"
    assert (many.n_runs, many.rule, many.law, many.max_samples) == (450, RULE, LAW, 10**12)
    arrays = many.samples, many.estimate, many.halted, many.relative_error
    assert [array.dtype for array in arrays] == [np.int64, np.float64, np.bool_, np.float64]


def test_relative_error_is_in_units_of_the_mean():
    for mean in (0.4, -0.4):
        runs = made_up([mean, 1.5 * mean, 0.0, -mean, math.nan], dpb.laws.two_point(mean))
        np.testing.assert_allclose(runs.relative_error, [0, 0.5, 1, 2, math.nan], atol=1e-12)
    runs = dpb.estimate(RULE, dpb.laws.two_point(0.0), n_runs=3, max_samples=100)
    for ask in (lambda: runs.relative_error, runs.failures, runs.error_rate):
        with pytest.raises(ValueError, match=r"law=.* has mean 0; allowed: a mean other than 0"):
            ask()


def test_what_has_not_halted_has_released_nothing(tmp_path):
    """And the file holds every bit of it."""
    runs = dpb.estimate(RULE, LAW, n_runs=40, seed=2, max_samples=2000)
    stopped = ~runs.halted
    assert 0 < stopped.sum() < 40, "some runs halt and some do not"
    assert np.isnan(runs.estimate[stopped]).all() and np.isfinite(runs.estimate[~stopped]).all()
    assert (runs.samples[stopped] == 2000).all() and (runs.samples[~stopped] < 2000).all()
    assert np.isnan(runs.relative_error[stopped]).all()
    assert np.isnan(runs.mean_samples()).all()
    assert made_up([math.nan] * 4).failures() == 0 == made_up([math.nan] * 4).error_rate()[0]
    runs.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["samples", "estimate", "halted"]
    assert [int(row["samples"]) for row in rows] == runs.samples.tolist()
    assert [row["halted"] == "1" for row in rows] == runs.halted.tolist()
    np.testing.assert_array_equal([float(row["estimate"]) for row in rows], runs.estimate)


def test_failures_are_strictly_beyond_alpha():
    law = dpb.laws.two_point(0.5)  # so that the errors are exact
    assert made_up([0.5, 0.75, 0.25, 0.7501, 0.2499, -0.5, math.nan], law).failures() == 3
    assert made_up([0.75, 0.7501], law, alpha=0.4).failures() == 2


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("failed", "runs"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (3, 900)])
def test_the_interval_of_the_error_rate_is_that_of_clopper_and_pearson(failed, runs, level):
    rate, *interval = made_up([9.0] * failed + [LAW.mean] * (runs - failed)).error_rate(level)
    exact = stats.binomtest(failed, runs).proportion_ci(level, method="exact")
    assert rate == failed / runs
    assert interval == pytest.approx([exact.low, exact.high], rel=1e-9, abs=1e-12)


def test_a_summary():
    samples = np.array([2, 4, 4, 8, 8, 8, 16, 16, 32, 64])
    runs = dataclasses.replace(made_up([0.4] * 8 + [0.7, 0.1]), samples=samples)
    found = runs.summary()
    assert (found["n_runs"], found["halted"], found["mean_samples"]) == (10, 10, 16.2)
    ends = found["samples_low95"], found["samples_high95"]
    assert ends == runs.mean_samples()[1:]
    for level in (0.9, 0.95):
        exact = stats.ttest_1samp(samples, 0).confidence_interval(level)
        assert runs.mean_samples(level) == pytest.approx((16.2, exact.low, exact.high))
    # quantiles are values that occur
    assert [found[f"samples_q{q}"] for q in ("05", "50", "95")] == [2, 8, 64]
    rate = found["error_rate"], found["error_low95"], found["error_high95"]
    assert rate == runs.error_rate() and rate[0] == 0.2
    broken = made_up([0.4, math.nan, 0.4])
    assert math.isnan(broken.summary()["samples_q50"]) and np.isnan(broken.mean_samples()).all()
    alone = made_up([0.4]).mean_samples()
    assert alone[0] == 10 and np.isnan(alone[1:]).all()


def estimate(**changed):
    return dpb.estimate(**({"rule": RULE, "law": LAW, "n_runs": 2} | changed))


WIDE = [dpb.laws.two_point(0.4, 1.5), dpb.laws.uniform(0.1, 1.01)]
BAD = [
    ("rule", [None, "NAS", dpb.NAS, dpb.UCB(), 0.5], lambda x: estimate(rule=x)),
    ("law", [None, 0.4, dpb.laws.two_point, [0.1], *WIDE], lambda x: estimate(law=x)),
    ("n_runs", [*NOT_WHOLE, 0, -1], lambda x: estimate(n_runs=x)),
    ("n_jobs", [*NOT_WHOLE, 0, -2], lambda x: estimate(n_jobs=x)),
    ("seed", [-1, 0.5, "1", True, [], [1, -1]], lambda x: estimate(seed=x)),
    ("max_samples", [*NOT_WHOLE, 0, -5, 2**52 + 1], lambda x: estimate(max_samples=x)),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, made_up([0.4, 0.5]).error_rate),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, made_up([0.4, 0.5]).mean_samples),
]


@pytest.mark.parametrize(("argument", "values", "call"), BAD)
def test_bad_arguments_are_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))


def test_what_is_allowed():
    """A law inside the range of the rule, a whole number that is a float; not one named wrongly."""
    wide = dpb.DPExponentialNAS(0.3, 0.9, 0.9, half_range=2.0)
    assert dpb.estimate(wide, LAW, n_runs=2).halted.all()
    assert estimate(max_samples=1e3).max_samples == 1000
    for wrong, told in (((RULE, None), "law=None must be of type Law"), ((None, LAW), "rule=None")):
        with pytest.raises(ValueError, match=f"case 'wrong': {told}"):
            dpb.estimate_many({"fine": (RULE, LAW), "wrong": wrong}, n_runs=2)
