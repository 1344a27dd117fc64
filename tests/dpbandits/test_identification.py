"""What all algorithms for identification share, DP successive elimination, and the thresholds."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import special, stats
from statistical import may_be_at_most
from test_elimination import algorithm_3
from test_validation import refusal

import dpbandits as dpb
from dpbandits._engine import acceleration
from dpbandits.identification import (
    DrawnRewards,
    Identifications,
    TableRewards,
    identify,
    thresholds,
)

EASY = dpb.instances.bernoulli([0.3, 0.8])
THREE = dpb.instances.bernoulli([0.5, 0.9, 0.6])


# ---------------------------------------------------------------- rewards
def test_rewards_of_a_table_come_in_order_and_run_out():
    rewards = TableRewards([[1, 0, 1, 1], np.array([0, 0, 1])])
    assert rewards.n_arms == 2
    assert [rewards.total(0, 3), rewards.total(0, 1), rewards.total(1, 0)] == [2, 1, 0]
    with pytest.raises(ValueError, match=r"table\[0\] has 4 rewards, and 5 are asked for"):
        rewards.total(0, 1)
    assert TableRewards([[], [True, False]]).total(1, 2) == 1


def test_what_rewards_refuse(rng):
    texts, ragged = [["1", "0"], ["0", "1"]], [[1, [0, 1]], [0]]
    tables = [[[1, 0]], [[1, 2], [0]], [[1], [[0]]], [[1], [0.5]], 3, None, "01", [1, 0], []]
    for table in (*tables, texts, ragged):
        refusal("table", table, lambda table=table: TableRewards(table))
    for instance in ([0.5, 0.4], None, dpb.instances.twzw22("S1", order=0.9)):
        refusal("instance", instance, lambda wrong=instance: DrawnRewards(wrong, rng))
    refusal("rng", 0, lambda: DrawnRewards(EASY, 0))
    for rewards in (TableRewards([[1, 0, 1], [0, 0, 1]]), DrawnRewards(EASY, rng)):
        for arm in (2, -1, 0.5):
            refusal("arm", arm, lambda rewards=rewards, arm=arm: rewards.total(arm, 1))
        for size in (-1, 1.5, "1"):
            refusal("size", size, lambda rewards=rewards, size=size: rewards.total(0, size))
        assert rewards.total(0, 0) == 0


# ---------------------------------------------------------------- replicates
def test_summaries_of_replicates():
    pulls = np.array([[3, 4, 5], [1, 1, 1], [10, 20, 30], [2, 2, 2]])
    cut, whole = (
        Identifications(dpb.TopTwo(0.1), THREE, 100, np.array([1, last, 0, 1]), pulls)
        for last in (-1, 1)
    )
    assert cut.errors() == 1 and cut.stopped.tolist() == [True, False, True, True]
    rate, low, high = cut.error_rate()
    assert rate == 0.25 and low < 0.25 < high
    assert all(math.isnan(value) for value in cut.mean_time())
    mean, low, high = whole.mean_time()
    assert mean == pulls.sum() / 4 and low < mean < high
    levels = [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0]
    assert whole.time_quantiles(levels).tolist() == [3, 3, 6, 6, 12, 60, 60]
    # an ended run takes longer than all that stopped, whatever it was given
    known = cut.time_quantiles(levels)
    assert known[:5].tolist() == [6, 6, 12, 12, 60] and np.isnan(known[5:]).all()
    assert cut.time_quantiles(0.5).shape == () and cut.time_quantiles(0.5) == 12
    told = whole.summary()
    assert [told[f"time_{name}"] for name in ("q05", "q50", "q95", "max")] == [3, 6, 60, 60]
    assert (told["mean_time"], told["error_rate"]) == (mean, 0.25)
    for level in (0.0, 1.0, math.nan, "0.9"):
        for function in (cut.mean_time, whole.mean_time, whole.error_rate):
            refusal("level", level, lambda level=level, function=function: function(level))
    for wrong in (1.5, [-0.1], "half", math.nan):
        refusal("levels", wrong, lambda wrong=wrong: cut.time_quantiles(wrong))


def test_runs_as_a_table(tmp_path):
    runs = identify(dpb.TopTwo(0.1), THREE, 9, max_pulls=120)
    runs.to_csv(tmp_path / "runs.csv")
    table = np.loadtxt(tmp_path / "runs.csv", delimiter=",", skiprows=1, dtype=int)
    columns = [runs.stopping_time, runs.recommendation, runs.pulls]
    assert (
        (table == np.column_stack(columns)).all() and runs.stopped.any() and not runs.stopped.all()
    )
    header = (tmp_path / "runs.csv").read_text().splitlines()[0]
    assert header == "stopping_time,recommendation,pulls_0,pulls_1,pulls_2"


@pytest.mark.parametrize(
    "algorithm",
    [
        *(dpb.DPLRE(1.0, 0.1), dpb.DPTT(1.0, 0.1), dpb.AdaPTTStar(1.0, 0.1)),
        *(dpb.AdaPTT(1.0, 0.1), dpb.TopTwo(0.1)),
    ],
    ids=lambda algorithm: algorithm.label,
)
def test_a_chunk_is_the_runs_that_it_is_made_of(algorithm, monkeypatch):
    """In one compiled call or one by one; also where runs are ended."""
    arms = dpb.instances.bernoulli([0.8, 0.3, 0.2])

    def ran(most, seed=0):
        runs = dpb.identify(algorithm, arms, 12, seed, most)
        return runs.recommendation.tolist(), runs.pulls.tolist()

    at_once = [ran(most) for most in (12, 10**6)]
    assert -1 in at_once[0][0] and -1 not in at_once[1][0]
    monkeypatch.setattr(acceleration, "_many", {})
    assert [ran(most) for most in (12, 10**6)] == at_once
    assert ran(10**6, seed=1) != at_once[1], "control"


def test_bad_arguments_of_replicates():
    tied = dpb.instances.bernoulli([0.5, 0.5])
    for name, value, arguments in [
        ("algorithm", "DPTT", ("DPTT", EASY)),
        ("instance", [0.5, 0.4], (dpb.TopTwo(0.1), [0.5, 0.4])),
        ("means", (0.5, 0.5), (dpb.TopTwo(0.1), tied)),
        ("n_runs", 0, (dpb.TopTwo(0.1), EASY, 0)),
        ("max_pulls", 1, (dpb.TopTwo(0.1), EASY, 1, 0, 1)),
        ("n_jobs", 0, (dpb.TopTwo(0.1), EASY, 1, 0, 100, 0)),
    ]:
        refusal(name, value, lambda arguments=arguments: identify(*arguments))


# ---------------------------------------------------------------- DP successive elimination
@pytest.mark.parametrize("epsilon", [0.1, 2.0, math.inf])
def test_elimination_is_the_plain_loop(epsilon):
    table = [np.random.default_rng(a).random(60_000) < m for a, m in enumerate(THREE.means)]
    for seed in range(3):
        rewards, rng = TableRewards(table), np.random.default_rng(seed)
        one, noise = partial(rewards.total, size=1), partial(rng.laplace, 0)
        played, ends = algorithm_3(3, 0.1, epsilon, 180_000, one, noise)
        own, rng = TableRewards(table), np.random.default_rng(seed)
        decision = dpb.DPSEIdentifier(epsilon, 0.1).draw(own, rng, 10**6)
        assert decision.recommendation == played[-1] and decision.stopping_time == ends[-1]
        assert decision.pulls.tolist() == np.bincount(played[: ends[-1]]).tolist()


def test_elimination_pulls_in_turn_until_its_end():
    for limit in (3, 100, 1000):
        verdict = dpb.DPSEIdentifier(0.5, 0.1).draw(THREE, np.random.default_rng(0), limit)
        assert (verdict.recommendation, verdict.stopping_time) == (-1, limit)
        assert np.ptp(verdict.pulls) <= 1, "the first epoch pulls in turn"


# ---------------------------------------------------------------- thresholds
@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-12, 1e-90])
def test_thresholds_solve_their_equations(delta):
    for K, k, j, s in [(2, 1, 1, 1.3), (5, 7, 20, 1.3), (100, 40, 3, 2.0)]:
        c = thresholds.chernoff_threshold(delta, K, k, j, s)
        right = math.log(delta / ((K - 1) * special.zeta(s) ** 2)) - s * math.log(k * j)
        assert math.isclose(math.log1p(c) - c, right, rel_tol=1e-12)
    for log_inverse in (1e-12, 1e-3, 1.0, 50.0, 1e6):
        c = thresholds.gamma_tail_point(log_inverse)
        assert math.isclose(c - math.log1p(c), log_inverse, rel_tol=1e-9, abs_tol=1e-15)
        tail = stats.gamma(2).sf(c)
        assert log_inverse > 50 or math.isclose(tail, math.exp(-log_inverse), rel_tol=1e-9)


def test_probabilities_of_errors_add_up_to_less_than_delta():
    delta, K, eps, top = 0.1, 5, 0.7, 200
    each = {i: math.log(2 * K * special.zeta(2) * i**2 / delta) for i in range(1, top)}
    tails = sum(K * math.exp(-noise) for noise in each.values())  # of the Laplace variables
    chernoff, union, theoretical, separate = 0.0, 0.0, tails, tails
    for k, j in itertools.product(each, repeat=2):
        c = thresholds.chernoff_threshold(delta, K, k, j)
        chernoff += (K - 1) * (1 + c) * math.exp(-c)
        if k == j:
            union += K * math.exp(-0.5 * thresholds.union_threshold(delta, K, k, k))
        # Hoeffding for the rewards, as in the proofs
        n, m = 2 ** min(k - 1, 60), 2 ** min(j - 1, 60)
        c = thresholds.gaussian_threshold("theoretical", delta, eps, K, (k, j), (n, m))
        rest = c - (each[k] ** 2 / n + each[j] ** 2 / m) / eps**2
        theoretical += (K - 1) * math.exp(-2 * rest)
        width = thresholds.separate_threshold(delta, eps, K, (k, j), (n, m))
        rest = width - each[k] / (n * eps) - each[j] / (m * eps)
        separate += (K - 1) * math.exp(-2 * rest**2 / (1 / n + 1 / m))
    assert 0.1 * delta < chernoff <= delta and 0.5 * delta < union <= delta
    assert theoretical <= delta and 0.9 * delta < separate <= delta


def test_the_mixture_bounds_every_likelihood():
    """Krichevsky & Trofimov: the largest likelihood is at most 2√n times the mixture."""
    for n in range(1, 300):
        s = np.arange(n + 1)
        largest = special.xlogy(s, s / n) + special.xlogy(n - s, 1 - s / n)
        mixture = special.betaln(s + 0.5, n - s + 0.5) - special.betaln(0.5, 0.5)
        assert (largest - mixture <= 0.5 * math.log(4 * n) + 1e-9).all()
        assert n > 1 or largest[0] - mixture[0] > 0.5 * math.log(4) - 1e-9, "with equality"


@pytest.mark.statistical
def test_the_mixture_threshold_holds_at_all_times_together():
    """Two arms at their own means, one after the other: how often do their deviations add up?"""
    rng, runs, delta, top = np.random.default_rng(0), 4000, 0.2, 600
    n = np.arange(1, top + 1)
    deviation = []
    for mean in (0.3, 0.6):
        average = np.cumsum(rng.random((runs, top)) < mean, axis=1) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation.append(n * special.rel_entr(average, mean))
            deviation[-1] += n * special.rel_entr(1 - average, 1 - mean)
    exponent = deviation[0] + deviation[1]
    bound = np.array([thresholds.mixture_threshold(delta, 2, i, i) for i in n])
    assert may_be_at_most(int((exponent > bound).any(axis=1).sum()), runs, delta, 1 / 2)
    fixed = thresholds.gamma_tail_point(math.log(1 / delta))
    assert not may_be_at_most(int((exponent > fixed).any(axis=1).sum()), runs, delta, 1 / 2)
