"""Replicates of a stopping rule: seeds, workers, error rates, what counts as a failure."""

import csv
import dataclasses
import math

import joblib
import numpy as np
import pytest
from scipy import stats
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits.running import case_seeds, describe
from dpbandits.stopping import Estimates

LAW = dpb.instances.two_point(0.4)
RULE = dpb.DPExponentialNAS(0.3, 0.9, 0.9)


def results(estimates):
    return estimates.samples.tolist(), estimates.estimate.tolist(), estimates.halted.tolist()


def made_up(estimate, halted=None, law=LAW, alpha=0.5):
    """Results as if a rule had released these estimates."""
    estimate = np.array(estimate, dtype=float)
    halted = ~np.isnan(estimate) if halted is None else np.array(halted)
    samples = np.arange(10, 10 + estimate.size)
    return Estimates(dpb.NAS(alpha, 0.05), law, 1000, samples, estimate, halted)


# ---------------------------------------------------------------- seeds and workers
@pytest.mark.parametrize("rule", [RULE, dpb.NAS(0.9, 0.9), dpb.EBGStop(0.9, 0.9)], ids=repr)
def test_the_seed_decides(rule):
    first, again, other, several = (
        results(dpb.estimate(rule, LAW, n_runs=8, seed=seed)) for seed in (0, 0, 1, [0, 1])
    )
    assert first == again
    assert len({tuple(result[1]) for result in (first, other, several)}) == 3


def test_a_replicate_depends_on_its_own_seed_alone():
    """More runs leave the first ones as they are, over the ends of a worker's share too."""
    many = dpb.estimate(RULE, LAW, n_runs=450, seed=5)
    few = dpb.estimate(RULE, LAW, n_runs=3, seed=5)
    assert results(few) == tuple(column[:3] for column in results(many))
    seeds = case_seeds({"rule": describe(RULE), "law": describe(LAW)}, 5, 450)
    for place in (0, 199, 200, 449):
        outcome = RULE.draw(LAW, np.random.default_rng(seeds[place]), 10**12)
        assert (outcome.samples, outcome.estimate) == (many.samples[place], many.estimate[place])
    assert many.halted.all() and len(set(many.estimate.tolist())) == 450, "replicates differ"
    assert (many.n_runs, many.rule, many.law, many.max_samples) == (450, RULE, LAW, 10**12)
    arrays = many.samples, many.estimate, many.halted, many.relative_error
    assert [array.dtype for array in arrays] == [np.int64, np.float64, np.bool_, np.float64]
    with joblib.parallel_config(backend="threading"):
        assert results(dpb.estimate(RULE, LAW, n_runs=450, seed=5, n_jobs=3)) == results(many)


@pytest.mark.slow
def test_workers_do_not_change_bits():
    one = dpb.estimate(RULE, LAW, n_runs=401, seed=3)
    assert results(dpb.estimate(RULE, LAW, n_runs=401, seed=3, n_jobs=2)) == results(one)


# ---------------------------------------------------------------- errors
def test_relative_error_is_in_units_of_the_mean():
    for mean in (0.4, -0.4):
        runs = made_up([mean, 1.5 * mean, 0.0, -mean, math.nan], law=dpb.instances.two_point(mean))
        np.testing.assert_allclose(runs.relative_error, [0, 0.5, 1, 2, math.nan], atol=1e-12)


def test_what_has_not_halted_has_released_nothing():
    runs = dpb.estimate(RULE, LAW, n_runs=40, seed=2, max_samples=2000)
    stopped = ~runs.halted
    assert 0 < stopped.sum() < 40, "some runs halt and some do not"
    assert np.isnan(runs.estimate[stopped]).all() and np.isfinite(runs.estimate[~stopped]).all()
    assert (runs.samples[stopped] == 2000).all() and (runs.samples[~stopped] < 2000).all()
    assert np.isnan(runs.relative_error[stopped]).all()
    assert all(math.isnan(x) for x in runs.mean_samples())
    runs = made_up([math.nan] * 4)
    assert runs.failures() == 0 and runs.error_rate()[0] == 0


def test_failures_are_strictly_beyond_alpha():
    law = dpb.instances.two_point(0.5)  # so that the errors are exact
    runs = made_up([0.5, 0.75, 0.25, 0.7501, 0.2499, -0.5, math.nan], law=law)
    assert runs.failures() == 3
    assert made_up([0.75, 0.7501], law=law, alpha=0.4).failures() == 2


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("failed", "runs"), [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (3, 900)])
def test_the_interval_of_the_error_rate_is_that_of_clopper_and_pearson(failed, runs, level):
    rate, low, high = made_up([9.0] * failed + [LAW.mean] * (runs - failed)).error_rate(level)
    tail = (1 - level) / 2
    assert rate == failed / runs
    exact_low = stats.beta.ppf(tail, failed, runs - failed + 1) if failed else 0.0
    exact_high = stats.beta.ppf(1 - tail, failed + 1, runs - failed) if failed < runs else 1.0
    assert (low, high) == pytest.approx((exact_low, exact_high), rel=1e-9, abs=1e-12)


def test_the_mean_of_zero_has_no_relative_error():
    runs = dpb.estimate(RULE, dpb.instances.two_point(0.0), n_runs=3, max_samples=100)
    for ask in (lambda: runs.relative_error, runs.failures, runs.error_rate):
        with pytest.raises(ValueError, match=r"law=.* has mean 0; allowed: a mean other than 0"):
            ask()


def test_mean_number_of_samples():
    runs = made_up([0.4] * 9)  # 10, …, 18 samples
    mean, low, high = runs.mean_samples(0.9)
    expected = stats.ttest_1samp(runs.samples, 0).confidence_interval(0.9)
    assert mean == 14 and (low, high) == pytest.approx((expected.low, expected.high))
    alone = made_up([0.4]).mean_samples()
    assert alone[0] == 10 and math.isnan(alone[1]) and math.isnan(alone[2])
    assert all(math.isnan(x) for x in made_up([0.4, math.nan, 0.4]).mean_samples())


def test_the_file_holds_every_bit(tmp_path):
    runs = dpb.estimate(RULE, LAW, n_runs=40, seed=2, max_samples=2000)
    runs.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["samples", "estimate", "halted"]
    assert [int(row["samples"]) for row in rows] == runs.samples.tolist()
    assert [row["halted"] == "1" for row in rows] == runs.halted.tolist()
    np.testing.assert_array_equal([float(row["estimate"]) for row in rows], runs.estimate)


# ---------------------------------------------------------------- many cases
MANY = {
    (rule.label, mean): (rule, dpb.instances.two_point(mean))
    for rule in (RULE, dpb.NAS(0.9, 0.9))
    for mean in (0.4, 0.3)
}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_has_the_bits_of_each_case_alone(n_jobs):
    counts = {key: 3 + place for place, key in enumerate(MANY)}
    found = dpb.estimate_many(MANY, counts, seed=4, n_jobs=n_jobs)
    assert list(found) == list(MANY)
    for key, runs in found.items():
        assert (runs.rule, runs.law) == MANY[key]
        assert results(runs) == results(dpb.estimate(*MANY[key], n_runs=counts[key], seed=4))
    assert len({tuple(runs.estimate[:3]) for runs in found.values()}) == len(MANY)


def test_what_is_wrong_with_a_case_names_its_key():
    cases = MANY | {"wrong": (dpb.NAS(0.5, 0.05), None)}
    with pytest.raises(ValueError, match="case 'wrong': law=None must be of type Law"):
        dpb.estimate_many(cases, n_runs=2)
    with pytest.raises(ValueError, match=r"case \('DP-exp-NAS', 0.4\): n_runs=0"):
        dpb.estimate_many(MANY, n_runs=0)


def test_a_summary():
    samples = np.array([2, 4, 4, 8, 8, 8, 16, 16, 32, 64])
    runs = dataclasses.replace(made_up([0.4] * 8 + [0.7, 0.1]), samples=samples)
    found = runs.summary()
    assert (found["n_runs"], found["halted"], found["mean_samples"]) == (10, 10, 16.2)
    ends = found["samples_low95"], found["samples_high95"]
    assert ends == pytest.approx(tuple(stats.ttest_1samp(samples, 0).confidence_interval(0.95)))
    # quantiles are values that occur
    assert [found[f"samples_q{q}"] for q in ("05", "50", "95")] == [2, 8, 64]
    rate = found["error_rate"], found["error_low95"], found["error_high95"]
    assert rate == runs.error_rate() and rate[0] == 0.2
    assert math.isnan(made_up([0.4, math.nan]).summary()["samples_q50"])


# ---------------------------------------------------------------- bad input
def estimate(**changed):
    arguments = {"rule": RULE, "law": LAW, "n_runs": 2}
    return dpb.estimate(**(arguments | changed))


BAD = [
    ("rule", [None, "NAS", dpb.NAS, dpb.UCB(), 0.5], lambda x: estimate(rule=x)),
    ("law", [None, 0.4, dpb.instances.two_point, [0.1]], lambda x: estimate(law=x)),
    ("law", [dpb.instances.two_point(0.4, 1.5), dpb.instances.uniform(0.1, 1.01)],
     lambda x: estimate(law=x)),
    ("n_runs", [*NOT_WHOLE, 0, -1], lambda x: estimate(n_runs=x)),
    ("n_jobs", [*NOT_WHOLE, 0, -2], lambda x: estimate(n_jobs=x)),
    ("seed", [None, -1, 0.5, "1", True, [], [1, -1]], lambda x: estimate(seed=x)),
    ("max_samples", [*NOT_WHOLE, 0, -5, 2**52 + 1], lambda x: estimate(max_samples=x)),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, made_up([0.4, 0.5]).error_rate),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, made_up([0.4, 0.5]).mean_samples),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "values", "call"), BAD)
def test_bad_arguments_are_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))


def test_a_law_inside_the_range_of_the_rule_will_do():
    wide = dpb.DPExponentialNAS(0.3, 0.9, 0.9, half_range=2.0)
    assert dpb.estimate(wide, LAW, n_runs=2).halted.all()
    assert estimate(max_samples=1e3).max_samples == 1000
