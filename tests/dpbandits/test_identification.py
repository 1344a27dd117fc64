"""What all algorithms for identification share, DP successive elimination, and the thresholds."""

import math
import re

import numpy as np
import pytest
from scipy import special, stats
from statistical import clopper_pearson, may_be_at_most

import dpbandits as dpb
from dpbandits.identification import (
    DrawnRewards,
    Identifications,
    TableRewards,
    identify,
    thresholds,
)
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.top_two import TopTwo

EASY = dpb.instances.bernoulli([0.3, 0.8])
THREE = dpb.instances.bernoulli([0.5, 0.9, 0.6])


# ---------------------------------------------------------------- rewards
def test_rewards_of_a_table_come_in_order_and_run_out():
    rewards = TableRewards([[1, 0, 1, 1], np.array([0, 0, 1])])
    assert rewards.n_arms == 2
    assert [rewards.total(0, 3), rewards.total(0, 1), rewards.total(1, 0)] == [2, 1, 0]
    with pytest.raises(ValueError, match=r"table\[0\] has 4 rewards, and 5 are asked for"):
        rewards.total(0, 1)
    ragged = [[1, [0, 1]], [0]]
    texts = [["1", "0"], ["0", "1"]]
    for table in (
        [[1, 0]], [[1, 2], [0]], [[1], [[0]]], [[1], [0.5]],
        3, None, "01", ragged, texts, [1, 0], [],
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(f"table={table!r} ") + ".*; allowed: "):
            TableRewards(table)
    assert TableRewards([[], [True, False]]).total(1, 2) == 1


@pytest.mark.parametrize(
    "rewards",
    [TableRewards([[1, 0, 1], [0, 0, 1]]), DrawnRewards(EASY, np.random.default_rng(0))],
    ids=["table", "drawn"],
)
def test_what_rewards_cannot_be_asked_for(rewards):
    for name, value, arguments in [
        ("arm", 2, (2, 1)), ("arm", -1, (-1, 1)), ("arm", 0.5, (0.5, 1)),
        ("size", -1, (0, -1)), ("size", 1.5, (0, 1.5)), ("size", "1", (0, "1")),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} ") + ".*; allowed: "):
            rewards.total(*arguments)
    assert rewards.total(0, 0) == 0


def test_drawn_rewards_check_their_instance():
    for wrong in ([0.5, 0.4], None, dpb.instances.twzw22("S1", order=0.9)):
        with pytest.raises(ValueError, match="instance=.*; allowed: "):
            DrawnRewards(wrong, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rng=0 .*; allowed: "):
        DrawnRewards(EASY, 0)


@pytest.mark.statistical
def test_drawn_rewards_have_their_law():
    rewards = DrawnRewards(EASY, np.random.default_rng(0))
    sums = np.array([rewards.total(1, 10) for _ in range(5000)])
    for value in range(5, 11):
        low, high = clopper_pearson(int((sums == value).sum()), sums.size, 1 / 6)
        assert low <= stats.binom.pmf(value, 10, 0.8) <= high
    low, high = clopper_pearson(int((sums == 8).sum()), sums.size, 1 / 6)
    assert not low <= stats.binom.pmf(8, 10, 0.7) <= high, "control"


# ---------------------------------------------------------------- replicates
def test_replicates_depend_on_the_seed_alone():
    setting = DPTT(2.0, 0.1)
    runs = identify(setting, THREE, 23, seed=5)
    parallel = identify(setting, THREE, 23, seed=5, n_jobs=2)
    assert (runs.pulls == parallel.pulls).all()
    assert (runs.recommendation == parallel.recommendation).all()
    assert (identify(setting, THREE, 12, seed=5).pulls == runs.pulls[:12]).all()
    assert (identify(setting, THREE, 12, seed=6).pulls != runs.pulls[:12]).any()
    assert runs.n_runs == 23 and (runs.stopping_time == runs.pulls.sum(axis=1)).all()


def test_summaries_of_replicates():
    pulls = np.array([[3, 4, 5], [1, 1, 1], [10, 20, 30], [2, 2, 2]])
    runs = Identifications(TopTwo(0.1), THREE, 100, np.array([1, -1, 0, 1]), pulls)
    assert runs.errors() == 1 and runs.stopped.tolist() == [True, False, True, True]
    rate, low, high = runs.error_rate()
    assert rate == 0.25 and low < 0.25 < high
    assert all(math.isnan(value) for value in runs.mean_time())
    ended = Identifications(TopTwo(0.1), THREE, 100, np.array([1, 1, 0, 1]), pulls)
    mean, low, high = ended.mean_time()
    assert mean == pulls.sum() / 4 and low < mean < high
    for level in (0.0, 1.0, math.nan, "0.9"):
        for function in (runs.mean_time, ended.mean_time, ended.error_rate):
            with pytest.raises(ValueError, match="level=.*; allowed: "):
                function(level)


def test_quantiles_of_stopping_times():
    pulls = np.array([[3, 4, 5], [1, 1, 1], [10, 20, 30], [2, 2, 2]])
    runs = Identifications(TopTwo(0.1), THREE, 100, np.array([1, 1, 0, 1]), pulls)
    levels = [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0]
    assert runs.time_quantiles(levels).tolist() == [3, 3, 6, 6, 12, 60, 60]
    # an ended run takes longer than all that stopped, whatever it was given
    runs = Identifications(TopTwo(0.1), THREE, 100, np.array([1, -1, 0, 1]), pulls)
    known = runs.time_quantiles(levels)
    assert known[:6].tolist()[:5] == [6, 6, 12, 12, 60] and np.isnan(known[5:]).all()
    assert runs.time_quantiles(0.5).shape == () and runs.time_quantiles(0.5) == 12
    for wrong in (1.5, [-0.1], "half", math.nan):
        with pytest.raises(ValueError, match="levels=.*; allowed: "):
            runs.time_quantiles(wrong)


def test_runs_as_a_table(tmp_path):
    runs = identify(DPSEIdentifier(1.0, 0.1), THREE, 3, max_pulls=5000)
    runs.to_csv(tmp_path / "runs.csv")
    table = np.loadtxt(tmp_path / "runs.csv", delimiter=",", skiprows=1, dtype=int)
    assert (table[:, 0] == runs.stopping_time).all() and (table[:, 1] == runs.recommendation).all()
    assert (table[:, 2:] == runs.pulls).all()
    header = (tmp_path / "runs.csv").read_text().splitlines()[0]
    assert header == "stopping_time,recommendation,pulls_0,pulls_1,pulls_2"


def test_bad_arguments_of_replicates():
    setting = TopTwo(0.1)
    for name, call in {
        "algorithm='DPTT'": lambda: identify("DPTT", EASY),
        "instance=": lambda: identify(setting, [0.5, 0.4]),
        "means=": lambda: identify(setting, dpb.instances.bernoulli([0.5, 0.5])),
        "n_runs=0": lambda: identify(setting, EASY, 0),
        "max_pulls=1": lambda: identify(setting, EASY, 1, max_pulls=1),
        "n_jobs=0": lambda: identify(setting, EASY, 1, n_jobs=0),
    }.items():
        with pytest.raises(ValueError, match=f"{name} .*allowed|{name}.*allowed"):
            call()


# ---------------------------------------------------------------- DP successive elimination
def plain_elimination(setting, rewards, rng):
    """Algorithm 3 of SS19, pull by pull, until one arm is left."""
    S, e, pulls = list(range(rewards.n_arms)), 0, [0] * rewards.n_arms
    while len(S) > 1:
        e += 1
        gap, size, beta, eps = 2.0**-e, len(S), setting.delta, setting.epsilon
        R = 1 + max(
            32 * math.log(8 * size * e**2 / beta) / gap**2,
            8 * math.log(4 * size * e**2 / beta) / (eps * gap),
        )
        mean = {}
        for j in S:
            r, total = 0, 0
            while r < R:
                total += rewards.total(j, 1)
                r += 1
            pulls[j] += r
            mean[j] = total / r
        if math.isfinite(eps):
            noise = rng.laplace(0, 1 / (eps * r), size)
            mean = {j: mean[j] + z for j, z in zip(S, noise, strict=True)}
        h = math.sqrt(math.log(8 * size * e**2 / beta) / (2 * R))
        c = math.log(4 * size * e**2 / beta) / (R * eps)
        top = max(mean.values())
        S = [j for j in S if top - mean[j] <= 2 * h + 2 * c]
    return S[0], pulls


@pytest.mark.parametrize("epsilon", [0.1, 2.0, math.inf])
def test_elimination_is_the_plain_loop(epsilon):
    setting = DPSEIdentifier(epsilon, 0.1)
    rng = np.random.default_rng(0)
    table = [rng.binomial(1, mean, 60_000) for mean in THREE.means]
    for seed in range(3):
        plain = plain_elimination(setting, TableRewards(table), np.random.default_rng(seed))
        verdict = setting.decide(TableRewards(table), np.random.default_rng(seed), 10**6)
        assert (verdict.recommendation, verdict.pulls.tolist()) == plain


def test_elimination_and_its_ends():
    setting = DPSEIdentifier(0.5, 0.1)
    runs = identify(setting, THREE, 200)
    assert runs.stopped.all() and runs.errors() == 0
    for limit in (3, 100, 1000):
        verdict = setting.draw(THREE, np.random.default_rng(0), limit)
        assert (verdict.recommendation, verdict.stopping_time) == (-1, limit)
        assert np.ptp(verdict.pulls) <= 1, "the first epoch pulls in turn"


@pytest.mark.statistical
def test_errors_of_elimination_are_rare_and_can_be_seen():
    near = dpb.instances.bernoulli([0.5, 0.6])
    runs = identify(DPSEIdentifier(1.0, 0.2), near, 2000)
    assert runs.stopped.all() and may_be_at_most(runs.errors(), 2000, 0.2)
    assert not may_be_at_most(int((runs.recommendation == 1).sum()), 2000, 0.2), "control"


# ---------------------------------------------------------------- thresholds
@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-12, 1e-90])
def test_thresholds_solve_their_equations(delta):
    for K, k, j, s in [(2, 1, 1, 1.3), (5, 7, 20, 1.3), (100, 40, 3, 2.0)]:
        c = thresholds.chernoff_threshold(delta, K, k, j, s)
        right = math.log(delta / ((K - 1) * special.zeta(s) ** 2)) - s * math.log(k * j)
        assert math.isclose(math.log1p(c) - c, right, rel_tol=1e-12)
        union = thresholds.union_threshold(delta, K, k, j, s)
        each = [math.log(K * special.zeta(s) * i**s / delta) for i in (k, j)]
        assert math.isclose(union, sum(each), rel_tol=1e-12)
    for log_inverse in (1e-12, 1e-3, 1.0, 50.0, 1e6):
        c = thresholds.gamma_tail_point(log_inverse)
        assert math.isclose(c - math.log1p(c), log_inverse, rel_tol=1e-9, abs_tol=1e-15)
        tail = stats.gamma(2).sf(c)
        assert log_inverse > 50 or math.isclose(tail, math.exp(-log_inverse), rel_tol=1e-9)


def test_the_leading_terms_of_the_thresholds():
    """As δ → 0: log(1/δ) for `chernoff` and the mixture, 2·log(1/δ) for `union`."""
    logs = [math.log(1 / delta) for delta in (1e-40, 1e-99)]
    for function, factor in [
        (thresholds.chernoff_threshold, 1), (thresholds.union_threshold, 2),
        (thresholds.mixture_threshold, 1),
    ]:  # fmt: skip
        low, high = (function(math.exp(-log), 5, 9, 9) for log in logs)
        assert math.isclose((high - low) / (logs[1] - logs[0]), factor, rel_tol=0.02)


def test_probabilities_of_errors_add_up_to_less_than_delta():
    delta, K, eps, top = 0.1, 5, 0.7, 200
    chernoff = union = 0.0
    for k in range(1, top):
        for j in range(1, top):
            c = thresholds.chernoff_threshold(delta, K, k, j)
            chernoff += (K - 1) * (1 + c) * math.exp(-c)
        union += K * math.exp(-0.5 * thresholds.union_threshold(delta, K, k, k))
    assert 0.1 * delta < chernoff <= delta and 0.5 * delta < union <= delta
    # Hoeffding for the rewards, and the tails of the Laplace variables, as in the proofs
    theoretical = separate = 0.0
    for k in range(1, top):
        n = 2 ** min(k - 1, 60)
        for j in range(1, top):
            m = 2 ** min(j - 1, 60)
            noise = [math.log(2 * K * special.zeta(2) * i**2 / delta) for i in (k, j)]
            inverse = 1 / n + 1 / m
            c = thresholds.gaussian_threshold(2, delta, eps, K, (k, j), (n, m))
            rest = c - (noise[0] ** 2 / n + noise[1] ** 2 / m) / eps**2
            theoretical += (K - 1) * math.exp(-2 * rest)
            width = thresholds.separate_threshold(delta, eps, K, (k, j), (n, m))
            rest = width - noise[0] / (n * eps) - noise[1] / (m * eps)
            separate += (K - 1) * math.exp(-2 * rest**2 / inverse)
    each = sum(K * delta / (2 * K * special.zeta(2) * i**2) for i in range(1, top))
    assert theoretical + each <= delta and 0.9 * delta < separate + each <= delta


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
