"""DPRSE, LDPRSE, DPRUCB and robust UCB: schedules by hand, kernels against plain loops, privacy."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from statistical import may_be_at_most, same_law

import dpbandits as dpb
from dpbandits import bounds
from dpbandits._engine.accelerators.heavy_steps import grown_power
from dpbandits.heavy.robust_means import fitted_mean
from dpbandits.heavy.schedules import (
    HEAVY_SCHEDULES,
    HeavyEpochPlan,
    heavy_epoch,
    heavy_failure,
    tree_index,
)
from dpbandits.mechanisms import AdaptiveTree, laplace_total
from dpbandits.regret.heavy import Moment
from dpbandits.regret.simulation import instance_description
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.rewards.heavy_laws import ParetoLaw, SampledLaw, TwoPointHeavyLaw, draw_heavy
from dpbandits.rewards.run import Run

PARETO = dpb.instances.twzw22("S1", order=0.9)
WIDE = dpb.instances.twzw22("S3", order=0.5)
LIGHT = dpb.instances.heavy(
    [TwoPointHeavyLaw(1.0, p) for p in (0.05, 0.9, 0.4)], order=1.0, moment_bound=0.9
)
SCHEDULES = [(model, name) for model, names in HEAVY_SCHEDULES.items() for name in names]
VALID = [pair for pair in SCHEDULES if pair[1] != "remark-3"]


# ---------------------------------------------------------------- schedules
BETA = 8 / math.e**5  # L = log(4·2/β) = 5 in the first epoch of two arms


@pytest.mark.parametrize(
    ("arguments", "length"),
    [
        ((1, BETA, 1.0, 1.0, 1.0), 48**2 * 5),
        ((1, BETA, 0.5, 1.0, 1.0), 48**2 * 10),
        ((1, BETA, 1.0, 2.0, 0.5), 4 * 48**3 * 5),
        ((2, 4 * BETA, 1.0, 1.0, 1.0), 96**2 * 5),  # τ² = 4 undoes 4β; D = 1/4
        ((1, BETA, 0.5, 1.0, 1.0, "local", "remark-3"), 48**2 * 20),
    ],
)
def test_epochs_by_hand(arguments, length):
    """R = ⌈u^(1/v)·(4c/D)^((1+v)/v)·L/ε + 1⌉; the logarithms are rounded."""
    plan, (_, _, epsilon, u, v, *rest) = heavy_epoch(2, *arguments), arguments
    assert abs(plan.pulls - (length + 1.5)) <= 1
    local, c = rest[:1] == ["local"], 6
    budget = epsilon**2 if local else epsilon
    assert plan.bound == pytest.approx((u * plan.pulls * budget / 5) ** (1 / (1 + v)))
    assert plan.noise_scale == pytest.approx(2 * plan.bound / epsilon)
    assert plan.noise_draws == (plan.pulls if local else 1)
    err = u ** (1 / (1 + v)) * (5 / (plan.pulls * budget)) ** (v / (1 + v))
    assert plan.threshold == pytest.approx(2 * c * err)


@pytest.mark.parametrize("epoch", [1, 3])
def test_local_epochs_by_hand(epoch):
    """R is the fixed point of u^(2/v)·(4c/D)^(2(1+v)/v)·L/ε² with c = 1 + √(16 + 2εq) + 2q."""
    u, v, epsilon, base = 2.0, 0.5, 0.7, 16
    plan = heavy_epoch(2, epoch, BETA, epsilon, u, v, "local", "balanced")
    log_term, length = 5 + 2 * math.log(epoch), 1e9
    for _ in range(60):
        q = math.sqrt(log_term / length)
        c = 1 + math.sqrt(base + 2 * epsilon * q) + math.sqrt(base) / 2 * q
        length = u ** (2 / v) * (4 * c * 2**epoch) ** 6 * log_term / epsilon**2
    assert plan.pulls == pytest.approx(length, rel=1e-10)
    assert plan.noise_draws == plan.pulls and isinstance(plan.pulls, int)
    bound = (u * epsilon * math.sqrt(plan.pulls / log_term)) ** (1 / (1 + v))
    assert plan.bound == pytest.approx(bound)
    assert plan.noise_scale == pytest.approx(math.sqrt(base) / 2 * bound / epsilon)
    assert plan.threshold == pytest.approx(2.0**-epoch / 2, rel=1e-9)


@given(
    st.integers(2, 50),
    st.integers(1, 12),
    st.floats(1e-18, 0.99),
    st.floats(0.01, 5.0),
    st.floats(0.01, 50.0),
    st.floats(0.2, 1.0),
    st.sampled_from(VALID),
)
def test_an_epoch_is_long_enough(k, epoch, beta, epsilon, u, v, kind):
    """Bias, Bernstein and noise, from their definitions, are at most a quarter of D together."""
    plan = heavy_epoch(k, epoch, beta, epsilon, u, v, *kind)
    log_term, n, b = math.log(4 * k * epoch**2 / beta), plan.pulls, plan.bound
    variance, scale, extra = u * b ** (1 - v) / n, b / (3 * n), plan.noise_scale * log_term / n
    if plan.lie is not None:  # Hoeffding, for B·(yes − q)/(1 − 2q)
        assert plan.lie == pytest.approx(1 / (1 + math.exp(epsilon)))
        variance, scale, extra = (b / (1 - 2 * plan.lie)) ** 2 / (4 * n), 0.0, 0.0
    elif kind[0] == "local":
        variance += 2 * plan.noise_scale**2 / n
        scale, extra = max(scale, plan.noise_scale / n), 0.0
    error = u * b**-v + math.sqrt(2 * variance * log_term) + scale * log_term + extra
    assert error <= plan.threshold / 2 * (1 + 1e-9)
    assert plan.threshold <= 2.0**-epoch / 2 * (1 + 1e-9)
    assert heavy_epoch(k + 1, epoch, beta, epsilon, u, v, *kind).pulls >= n


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, math.inf])
@pytest.mark.parametrize("order", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("channel", ["central", "local", "one-bit"])
def test_a_fitted_cut_has_the_least_half_width(channel, order, epsilon):
    """No cut of 400 around it is proved to err less, by the sums that the theorems print."""
    n, u, log_term = 10_000, 2.0, 12.0
    bound, width = fitted_mean(n, u, order, epsilon, log_term, channel)

    def half_width(b):
        if channel == "one-bit":
            return u * b**-order + b / math.tanh(epsilon / 2) * math.sqrt(log_term / (2 * n))
        variance, linear = u * b ** (1 - order), b / 3
        if channel == "central":
            return (
                u * b**-order
                + math.sqrt(2 * variance * log_term / n)
                + (linear + 2 * b / epsilon) * log_term / n
            )
        root = math.sqrt(2 * (variance + 8 * b**2 / epsilon**2) * log_term / n)
        return u * b**-order + root + max(linear, 2 * b / epsilon) * log_term / n

    assert half_width(bound) == pytest.approx(width, rel=1e-9)
    others = [half_width(bound * factor) for factor in np.geomspace(1e-3, 1e3, 400)]
    assert min(others) >= width * (1 - 1e-12)
    assert half_width(1.5 * bound) > width * (1 + 1e-4), "control: other cuts are worse"


def test_fitted_epochs_by_hand():
    """At v = 1 the least κ^−1 + √2 + (1/3 + 2/ε)κ is √2 + 2·√(1/3 + 2/ε), noise or none."""
    for epsilon in (0.5, 1.0, math.inf):
        plan = heavy_epoch(2, 1, BETA, epsilon, 3.0, 1.0, "central", "fitted")
        c = math.sqrt(2) + 2 * math.sqrt(1 / 3 + 2 / epsilon)
        assert abs(plan.pulls - (3 * (8 * c) ** 2 * 5 + 1.5)) <= 1
        assert plan.threshold == pytest.approx(0.25, rel=1e-3)


def test_what_better_cuts_and_channels_are_worth():
    """Of the first epoch at v = ½, ε = 1: cut, then sign, then one bit instead of Laplace noise."""
    arguments = (5, 1, 1e-18, 1.0, 1.0, 0.5, "local")
    pulls = {name: heavy_epoch(*arguments, name).pulls for name in HEAVY_SCHEDULES["local"]}
    assert pulls["balanced"] / pulls["fitted"] == pytest.approx((5 / 3) ** 6, rel=0.01)
    assert pulls["fitted"] / pulls["non-negative"] == pytest.approx(4, rel=0.01)
    bit = 8 * math.tanh(0.5) ** 2
    assert pulls["non-negative"] / pulls["one-bit"] == pytest.approx(bit, rel=0.01)
    for epsilon, better in ((2.2, True), (2.4, False)):
        laplace, bit = (
            fitted_mean(1e12, 1.0, 0.5, epsilon, 10.0, channel, non_negative=True)[1]
            for channel in ("local", "one-bit")
        )
        assert (bit < laplace) == better


def test_failures_add_up():
    """One-sided: 1.5e^−L and e^−L an arm and epoch, L = log(4|S|τ²/β)."""
    terms = 0.2 / (4 * np.arange(1.0, 200_000) ** 2)
    assert heavy_failure(0.2, "central") == pytest.approx(1.5 * terms.sum(), rel=1e-4)
    assert heavy_failure(0.2, "local") == pytest.approx(terms.sum(), rel=1e-4)


def test_an_infinite_budget():
    """No noise, and the lengths of ε = 1; the local schedule has the central rate then."""
    for model, name in SCHEDULES:
        plan = heavy_epoch(5, 2, 1e-3, math.inf, 2.0, 0.5, model, name)
        assert plan.noise_scale == 0 and not plan.lie and math.isfinite(plan.bound)
    central = {heavy_epoch(5, 2, 1e-3, e, 2.0, 0.5).pulls for e in (1.0, math.inf)}
    assert len(central) == 1
    for epsilon, rate in ((math.inf, 8), (1.0, 64)):
        ends = [heavy_epoch(5, e, 1e-3, epsilon, 2.0, 0.5, "local").pulls for e in (8, 9)]
        assert ends[1] / ends[0] == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 1.2},
        {"moment": 0},
        {"epoch": 0},
        {"model": "shuffle"},
        {"schedule": "balanced"},
        {"schedule": "reconstructed", "model": "local"},
    ],
)
def test_bad_schedules(options):
    good = {"n_viable": 2, "epoch": 1, "beta": 0.1, "epsilon": 1.0, "moment": 1.0, "order": 0.5}
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r}.*allowed"):
        heavy_epoch(**(good | options))


# ---------------------------------------------------------------- algorithms 3 and 4
def counts_of(played, n_arms, times):
    table = np.cumsum(np.array(played)[:, None] == np.arange(n_arms), axis=0)
    return table[np.asarray(times) - 1]


THREE = dpb.instances.pareto([1.0, 0.8, 0.6], order=0.5)


def custom_laws(instance):
    """The same instance with laws in Python alone."""
    u, v = instance.moment_bound, instance.order
    laws = [SampledLaw(law.sample, law.mean, v, u) for law in instance.laws]
    return HeavyTailInstance(laws, v, u)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("mistake", [None, "custom laws", "noise", "no truncation"])
@pytest.mark.statistical
def test_law_of_elimination(mistake, local):
    """Pulls after one epoch of 30 and 100 more, 1500 runs; mistaken noise is that of the other.

    The loop of the epochs is that of `test_elimination`.
    """
    noise = {"noise_scale": 0.8 if local else 4.4, "noise_draws": 30 if local else 1}
    plan = HeavyEpochPlan(pulls=30, bound=0.6, threshold=0.4, **noise)
    short = {1: plan, 2: replace(plan, pulls=1000)}
    instance = custom_laws(THREE) if mistake == "custom laws" else THREE

    class Short(dpb.DPRSE):
        def plan_epoch(self, rewards, n_viable, epoch, horizon):
            return short[epoch]

    algorithm = Short(1.0)
    mine, theirs = [], []
    for seed in range(1500):
        rng, draw = np.random.default_rng([3, seed]), np.random.default_rng([4, seed])
        play = algorithm.draw(instance, 190, np.array([190]), rng)
        mine.append(play.counts[-1] @ [1, 1000, 1_000_000])
        x = np.array([law.sample(draw, 30) for law in THREE.laws])
        x = x if mistake == "no truncation" else np.where(np.abs(x) <= plan.bound, x, 0.0)
        draws = plan.noise_draws if mistake != "noise" else 31 - plan.noise_draws
        means = (x.sum(axis=1) + draw.laplace(0, plan.noise_scale, (draws, 3)).sum(axis=0)) / 30
        viable = np.flatnonzero(means.max() - means <= plan.threshold)
        played = np.full(3, 30)
        played[viable] += (100 + np.arange(viable.size)[::-1]) // viable.size
        theirs.append(played @ [1, 1000, 1_000_000])
    assert same_law(mine, theirs) == (mistake in (None, "custom laws"))


@pytest.mark.parametrize("mistake", [None, "custom laws", "no lies", "no rounding"])
@pytest.mark.statistical
def test_law_of_one_bit_of_each_reward(mistake):
    """What is released of an arm, against reports one by one from the pseudo-code, 3000 runs."""
    plan = HeavyEpochPlan(40, 1.5, 0.0, 0, 0.4, lie=1 / (1 + math.exp(0.8)))
    instance = custom_laws(THREE) if mistake == "custom laws" else THREE
    mine, theirs = [], []
    for seed in range(3000):
        rng, draw = np.random.default_rng([5, seed]), np.random.default_rng([6, seed])
        run = Run(instance.rewards(rng), np.array([120]))
        released = dpb.LDPRSE(0.8)._released(plan, run, np.arange(3), rng)
        mine.append(list(released)[2])
        x = THREE.laws[2].sample(draw, 40)
        x = np.where(x <= plan.bound, x, 0.0) / plan.bound
        x = np.round(x) if mistake == "no rounding" else x
        lie = 0.0 if mistake == "no lies" else plan.lie
        said = draw.random(40) < lie + (1 - 2 * lie) * x
        theirs.append(plan.bound * (said.mean() - plan.lie) / (1 - 2 * plan.lie))
    assert same_law(mine, theirs) == (mistake in (None, "custom laws"))


@pytest.mark.parametrize("draws", [1, 2, 40])
@pytest.mark.statistical
def test_law_of_a_sum_of_laplaces(draws):
    rng = np.random.default_rng(draws)
    mine = [laplace_total(rng, 0.7, draws) for _ in range(20_000)]
    sums = np.random.default_rng(99).laplace(0, 0.7, (20_000, draws)).sum(axis=1)
    assert same_law(mine, sums, share=1 / 3)
    one = np.random.default_rng(98).laplace(0, 0.7 * math.sqrt(draws), 20_000)
    assert draws == 1 or not same_law(mine, 1.3 * one, share=1 / 3), "control"


def test_a_sum_of_very_many_laplaces_keeps_its_size():
    rng = np.random.default_rng(0)
    for draws in (10**12, 10**22, 10**40):
        sample = np.array([laplace_total(rng, 3.0, draws) for _ in range(400)])
        assert 0.7 < sample.std() / (3 * math.sqrt(2 * draws)) < 1.4
        assert np.unique(sample).size == 400 and laplace_total(rng, 0.0, draws) == 0


@pytest.mark.statistical
@pytest.mark.parametrize("name", HEAVY_SCHEDULES["local"])
def test_the_best_arm_stays_but_not_by_the_remark(name):
    """On the two-point instance: share of runs whose longest-played arm is not the best one."""
    hard = dpb.instances.heavy_two_point(0.2, order=0.5, n_arms=3, best=1)
    beta, runs = 0.05, 150
    pulls = dpb.simulate(dpb.LDPRSE(1.0, beta, name), hard, 10**18, n_runs=runs).pulls
    wrong = int(np.sum(pulls.argmax(axis=1) != 1))
    stays = may_be_at_most(wrong, runs, heavy_failure(beta, "local"))
    assert stays == (name != "remark-3")


# ---------------------------------------------------------------- privacy
def loss_of_one_release(plan, xs, scale):
    """Greatest log ratio of the densities of two rewards' releases, at any place."""
    kept = np.where(np.abs(xs) <= plan.bound, xs, 0.0)
    places = np.concatenate([kept, np.linspace(-50, 50, 501) * plan.bound])
    logs = -np.abs(places[:, None] - kept) / scale  # up to a constant
    return float((logs.max(axis=1) - logs.min(axis=1)).max())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("schedule", HEAVY_SCHEDULES["local"])
def test_each_released_reward_is_locally_private(schedule, epsilon):
    for epoch in (1, 2, 5):
        plan = heavy_epoch(4, epoch, 0.01, epsilon, 2.0, 0.6, "local", schedule)
        b = plan.bound
        positive = [0.0, b / 3, b, math.nextafter(b, 0), math.nextafter(b, math.inf), 1e9 * b]
        signed = positive + [-x for x in positive]
        if plan.lie is not None:
            yes = plan.lie + (1 - 2 * plan.lie) * np.array([0.0, 0.4, 1.0])
            assert np.log([max(p) / min(p) for p in (yes, 1 - yes)]) == pytest.approx(epsilon)
            continue
        xs = positive if schedule == "non-negative" else signed
        loss = loss_of_one_release(plan, xs, plan.noise_scale)
        assert 0.999 * epsilon < loss <= epsilon * (1 + 1e-12), "private, and no noise is wasted"
        twin = loss_of_one_release(plan, signed, b / epsilon)
        assert twin > 1.9 * epsilon, "control: half the noise for signed rewards"


def calls(algorithm, instance):
    """What a user may ask of an algorithm on an instance."""
    yield lambda: dpb.simulate(algorithm, instance, 1000)
    yield lambda: algorithm.regret_bound(instance, 1000)
    yield lambda: algorithm.draw(instance, 1000, np.array([1000]), np.random.default_rng(0))


@pytest.mark.parametrize("schedule", ["non-negative", "one-bit"])
def test_half_the_noise_is_for_rewards_that_cannot_be_negative(schedule):
    law = SampledLaw(lambda rng, size: rng.normal(0.5, 0.1, size), 0.5, 1.0, 0.3)
    signed = HeavyTailInstance((law, ParetoLaw(3.0, 0.1)), 1.0, 0.3)
    for call in calls(dpb.LDPRSE(1.0, schedule=schedule), signed):
        with pytest.raises(ValueError, match="may be negative; allowed"):
            call()
    assert dpb.simulate(dpb.LDPRSE(1.0), signed, 1000, 1).pulls.sum() == 1000


def worst_loss_of_a_tree(tree, horizon, scale):
    """Σ over the blocks that hold an element of 2·B_i/scale, for the worst element."""
    losses = []
    for i in range(1, horizon + 1):
        blocks = ((n, n & -n) for n in range(i, horizon + 1))
        losses.append(sum(2 * tree.bound(i) / scale(n, w) for n, w in blocks if n - w < i))
    return max(losses)


@pytest.mark.parametrize("growth", [0.0, 0.5, 0.9])
def test_privacy_of_the_adaptive_tree(growth):
    tree = AdaptiveTree(0.8, 100, 2.5, growth)
    assert worst_loss_of_a_tree(tree, 100, lambda n, w: tree.node_scale(n)) <= 0.8 * (1 + 1e-12)
    if growth:  # scales by the bound on a block's first element are too small for its last
        twin = worst_loss_of_a_tree(tree, 100, lambda n, w: tree.node_scale(n - w + 1))
        assert twin > 0.8 * 1.2, "control"


@pytest.mark.statistical
def test_error_of_the_adaptive_tree():
    tree, n, trials = AdaptiveTree(1.0, 64, 1.0, 0.6), 63, 4000
    rng = np.random.default_rng(8)
    counters = [tree.counter(rng) for _ in range(trials)]
    errors = np.array([abs([counter.add(0.0) for _ in range(n)][-1]) for counter in counters])
    width = tree.error_quantile(n, 0.1)
    assert tree.error_factor(5.0) == pytest.approx(chernoff(7, 5.0), rel=1e-6)
    assert may_be_at_most(int(np.sum(errors > width)), trials, 0.1)
    assert not may_be_at_most(int(np.sum(errors > width / 10)), trials, 0.1), "control"


# ---------------------------------------------------------------- DPRUCB
@given(st.integers(2, 10**15), st.floats(0.3, 0.999))
def test_grown_power(n, growth):
    grown = grown_power(float(n - 1) ** growth, 1 / (n - 1), n, growth)
    assert grown == pytest.approx(float(n) ** growth, rel=1e-13)


def from_function(instance, size=5000):
    """The instance with rewards that a function reads off a table, and another such function."""
    table = [law.sample(np.random.default_rng(arm), size) for arm, law in enumerate(instance.laws)]

    def reader():
        rows = [iter(row.tolist()) for row in table]
        return lambda arm: next(rows[arm])

    u, v = instance.moment_bound, instance.order
    return dpb.instances.heavy_callback(reader(), instance.n_arms, v, u), reader()


def chernoff(levels, log_term):
    """The least bound on a sum of Laplace variables of scale 1, by a grid of its free number."""
    free = np.linspace(1e-4, 1 - 1e-4, 20_000)
    return levels * float(np.min((log_term - levels * np.log1p(-(free**2))) / free))


def dprucb(algorithm, instance, horizon, rng, reward=None):
    """Algorithm 1 with the counters of `mechanisms`, from the formulas of the appendix."""
    u, v, k = instance.moment_bound, instance.order, instance.n_arms
    levels, log_term = horizon.bit_length(), math.log(2 * horizon**4)
    noise = 2 * chernoff(levels, log_term) / algorithm.epsilon

    def half_width(b):
        return (
            (1 + v) * u * b**-v
            + math.sqrt(2 * log_term * u * b ** (1 - v))
            + b * (noise + log_term / 3)
        )

    valid = algorithm.width == "valid"
    if algorithm.scaling == "log" or (algorithm.scaling is None and not valid):
        capital = math.log(horizon) ** 1.5
        first = (min(algorithm.epsilon, capital / log_term) * u / capital) ** (1 / (1 + v))
    else:
        found = minimize_scalar(lambda y: half_width(math.exp(y)), (-30, 0, 10), tol=1e-12)
        first = math.exp(found.x)
    tree = AdaptiveTree(algorithm.epsilon, horizon, first, 1 / (1 + v))
    counters = [tree.counter(rng) for _ in range(k)]
    pulls, sums, played = [0] * k, [0.0] * k, []

    def index(a, t):
        n = pulls[a]
        if valid:
            return sums[a] / n + half_width(first) * n ** (-v / (1 + v))
        err = u ** (1 / (1 + v)) * (u / first ** (1 + v) / n) ** (v / (1 + v))
        return sums[a] / n + 18 * err * math.log(2 * t**4) ** (v / (1 + v))

    for t in range(1, horizon + 1):
        values = [index(a, t) for a in range(k)] if t > k else None
        a = values.index(max(values)) if values else t - 1
        x = reward(a) if reward else draw_heavy(rng, instance.laws[a].code)
        pulls[a] += 1
        sums[a] = counters[a].add(x if abs(x) <= tree.bound(pulls[a]) else 0.0)
        played.append(a)
    return played


@pytest.mark.parametrize(
    "algorithm",
    [
        dpb.DPRUCB(1.0),
        dpb.DPRUCB(200.0),
        dpb.DPRUCB(50.0, scaling="log"),
        dpb.DPRUCB(300.0, width="reconstructed"),
        dpb.DPRUCB(300.0, width="reconstructed", scaling="fitted"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("instance", [PARETO, LIGHT], ids=lambda i: i.name)
def test_dprucb_is_the_pseudo_code(algorithm, instance):
    horizon = 4000
    times = np.arange(1, horizon + 1)
    for played_on, reward in ((instance, None), from_function(instance)):
        rng = np.random.default_rng(9)
        play = algorithm.draw(played_on, horizon, times, rng, "pull by pull")
        played = dprucb(algorithm, instance, horizon, np.random.default_rng(9), reward)
        assert play.counts.tolist() == counts_of(played, instance.n_arms, times).tolist()
    assert np.unique(play.counts[-1]).size > 1


@given(st.integers(2, 10**12), st.floats(0.05, 100), st.floats(0.1, 9), st.floats(0.2, 1.0))
def test_width_of_dprucb(horizon, epsilon, u, v):
    """Bias, Bernstein and tree noise of n rewards, from their definitions, are within H·n^(…)."""
    log_term = math.log(2) + 4 * math.log(horizon)
    for scaling in ("fitted", "log"):
        plan = tree_index(horizon, epsilon, u, v, scaling)
        for n in (1, 2, 100):
            b = plan.tree.bound(n)
            bias = sum(u * plan.tree.bound(i) ** -v for i in range(1, n + 1)) / n
            spread = math.sqrt(2 * u * b ** (1 - v) * log_term / n) + b * log_term / (3 * n)
            noise = plan.tree.error_width(n, log_term) / n
            assert bias + spread + noise <= plan.width * n ** (-v / (1 + v)) * (1 + 1e-9)
        assert plan.failure == pytest.approx(2 * math.exp(-log_term))


def test_with_the_moment_that_is_promised_rewards_up_to_one_count_at_once():
    """Of `DPRUCB` the first bound up to 64 pulls is that reward; a moment grows as its square."""
    for algorithm in (dpb.DPRUCB(2.0), dpb.DPRUCB(200.0, "reconstructed")):
        for reward in (0.5, 3.0):
            told = Moment(1.0, algorithm._moment_for(reward))
            assert algorithm.plan(told, 64).tree.bound(1) == pytest.approx(reward)
    robust = dpb.RobustUCB()
    assert robust._moment_for(3.0) == pytest.approx(9 * robust._moment_for(1.0))


def test_dprucb_without_noise_is_a_truncated_mean():
    """ε = inf: the log threshold is (un/ℓ)^(1/(1+v)), its factor (1 + v) + √2 + 1/3 ≤ 4."""
    horizon, u, v = 10**6, 2.0, 0.6
    log_term = math.log(2 * horizon**4)
    plan, best = (tree_index(horizon, math.inf, u, v, scaling) for scaling in ("log", "fitted"))
    assert plan.tree.node_scale(5) == best.tree.node_scale(5) == 0
    assert plan.tree.bound(7) == pytest.approx((u * 7 / log_term) ** (1 / (1 + v)))
    factor = (1 + v) + math.sqrt(2) + 1 / 3
    err = u ** (1 / (1 + v)) * log_term ** (v / (1 + v))
    assert plan.width == pytest.approx(factor * err) and factor < 4
    assert best.width < plan.width


def test_no_constant_makes_the_reconstructed_width_valid():
    """The C that one node's noise asks for grows with T for v < 1, and is bounded for v = 1."""
    for v in (0.3, 0.5, 0.9, 1.0):
        needed = [bounds.reconstructed_width_constant(10**e, v) for e in (30, 100, 300)]
        grows = needed[2] > 1.02 * needed[1] > 1.02**2 * needed[0]
        assert grows == (v < 1) and (grows or needed[2] == pytest.approx(needed[1], rel=0.02))


def test_the_constant_is_where_one_node_exceeds_the_bonus():
    horizon, v, u, epsilon, n = 10**6, 0.4, 1.7, 0.6, 2**10
    tree = tree_index(horizon, epsilon, u, v, "log").tree
    constant, log_t = bounds.reconstructed_width_constant(horizon, v), math.log(horizon)
    log_term = math.log(2) + 4 * log_t
    inner = log_term * log_t**1.5 / (n * epsilon)
    bonus = constant * u ** (1 / (1 + v)) * inner ** (v / (1 + v))
    tail = 0.5 * math.exp(-bonus * n / tree.node_scale(n))
    assert tail == pytest.approx(1 / (4 * horizon**4), rel=1e-6)


# ---------------------------------------------------------------- robust UCB
def robust_ucb(instance, horizon, fixed, rng, forget=True, reward=None):
    """All truncated means anew at every pull."""
    u, v, k = instance.moment_bound, instance.order, instance.n_arms
    rewards, frozen, played = [[] for _ in range(k)], [[] for _ in range(k)], []
    for t in range(1, horizon + 1):
        log_term = 2 * math.log(horizon if fixed else t)
        a = t - 1
        if t > k:
            values = []
            for b in range(k):
                x = np.array(rewards[b])
                s = np.arange(1, x.size + 1)
                kept = np.abs(x) <= (u * s / log_term) ** (1 / (1 + v))
                kept = kept if forget else np.array(frozen[b])
                width = 4 * u ** (1 / (1 + v)) * (log_term / x.size) ** (v / (1 + v))
                values.append(np.where(kept, x, 0.0).sum() / x.size + width)
            a = int(np.argmax(values))
        x = reward(a) if reward else draw_heavy(rng, instance.laws[a].code)
        rewards[a].append(x)
        bound = (u * len(rewards[a]) / log_term) ** (1 / (1 + v)) if log_term else math.inf
        frozen[a].append(abs(x) <= bound)
        played.append(a)
    return played


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("instance", [PARETO, WIDE, LIGHT], ids=lambda i: i.name)
def test_robust_ucb_is_the_pseudo_code(instance, fixed):
    """Pull by pull; that walks have the law of the pulls is tested elsewhere."""
    times = np.arange(1, 1501)
    algorithm = dpb.RobustUCB("fixed" if fixed else "anytime")
    for played_on, reward in ((instance, None), from_function(instance)):
        rng = np.random.default_rng(10)
        play = algorithm.draw(played_on, 1500, times, rng, "pull by pull")
        rng = np.random.default_rng(10)
        played = robust_ucb(instance, 1500, fixed, rng, reward=reward)
        assert play.counts.tolist() == counts_of(played, instance.n_arms, times).tolist()
    if instance is PARETO and not fixed:
        judged_once = robust_ucb(PARETO, 1500, False, np.random.default_rng(10), forget=False)
        assert judged_once != robust_ucb(PARETO, 1500, False, np.random.default_rng(10)), "control"


def test_heaps_grow():
    """Rewards that all wait until shortly before the end."""
    horizon, u = 3000, 2.0

    def reader():
        pulls = np.zeros(2)

        def reward(arm):
            pulls[arm] += 1
            return math.sqrt(pulls[arm] * u / (2 * math.log(horizon - 5)))

        return reward

    instance = dpb.instances.heavy_callback(reader(), 2, 1.0, u)
    times, rng = np.arange(1, horizon + 1), np.random.default_rng(0)
    play = dpb.RobustUCB().draw(instance, horizon, times, rng)
    played = robust_ucb(instance, horizon, False, rng, reward=reader())
    assert play.counts.tolist() == counts_of(played, 2, times).tolist()
    assert play.pulls.max() > 1024, "more than a heap holds at first"


# ---------------------------------------------------------------- bounds
def test_pulls_of_an_arm():
    arguments = (4, 0.01, 1.0, 2.0, 0.5)
    epochs = [heavy_epoch(4, e, *arguments[1:]).pulls for e in (1, 2)]
    assert bounds.heavy_elimination_pulls(0.3, *arguments) == sum(epochs)
    assert bounds.heavy_elimination_pulls(3.0, *arguments) == epochs[0]
    # central: Δ^(−(1+v)/v), local: Δ^(−2(1+v)/v)
    for model, rate in (("central", 8), ("local", 64)):
        near, far = (bounds.heavy_elimination_pulls(2.0**-e, *arguments, model) for e in (9, 8))
        assert near / far == pytest.approx(rate, rel=0.05)
    with pytest.raises(ValueError, match="has no bound"):
        bounds.heavy_elimination_pulls(0.3, *arguments, "local", "remark-3")


def test_pulls_by_index():
    n = bounds.dprucb_pulls(0.4, 10**6, 1.0, 2.0, 0.7)
    width = tree_index(10**6, 1.0, 2.0, 0.7).width
    assert 2 * width * n ** (-0.7 / 1.7) < 0.4 <= 2 * width * (n - 1) ** (-0.7 / 1.7)
    n = float(bounds.robust_ucb_pulls(0.4, 30.0, 2.0, 0.7))
    assert 2 * 4 * 2 ** (1 / 1.7) * (30 / n) ** (0.7 / 1.7) == pytest.approx(0.4)
    # the best cut costs log²T, Λ = log^1.5 T costs (log T)^(2 + 1/(2v)): more at every v
    for v in (0.3, 0.5, 0.9, 1.0):
        for horizon in (10**4, 10**8, 10**16):
            costs = (bounds.dprucb_pulls(0.1, horizon, 1.0, 1.0, v, s) for s in ("fitted", "log"))
            assert next(costs) < next(costs)


# ---------------------------------------------------------------- kinds of instances
HEAVY = [dpb.DPRSE(1.0), dpb.LDPRSE(1.0), dpb.DPRUCB(1.0), dpb.RobustUCB()]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "algorithm", [dpb.DPRUCB(200.0), dpb.RobustUCB(), dpb.RobustUCB("fixed")], ids=repr
)
def test_law_of_the_pulls_with_a_custom_law(algorithm):
    """The law in Python alone against the known one, at 5000 pulls. Control: another shape."""
    known = [ParetoLaw(2.5, 0.5), TwoPointHeavyLaw(2.0, 0.3)]
    u, runs, horizon = 2.0, 500, 5000

    def pulls(laws, seed):
        instance = HeavyTailInstance(laws, 1.0, u)
        return dpb.simulate(algorithm, instance, horizon, runs, seed, checkpoints=[horizon]).pulls

    def custom(laws):
        return custom_laws(HeavyTailInstance(laws, 1.0, u)).laws

    other = [ParetoLaw(2.5, 0.35), known[1]]
    theirs = pulls(known, 1)[:, 0]
    assert same_law(pulls(custom(known), 2)[:, 0], theirs)
    assert not same_law(pulls(custom(other), 3)[:, 0], theirs)


def test_a_function_is_asked_once_a_pull_and_not_ahead():
    """What elimination has not decided on, it has not asked for. Rewards must be numbers."""
    asked = []

    def function(arm):
        asked.append(arm)
        return -1e9 if len(asked) % 7 == 0 else 1.0 + arm

    mine = dpb.instances.heavy_callback(function, 2, 1.0, 9.0, means=(1.0, 2.0))
    for algorithm, number in ((dpb.DPRUCB(9.0), 500), (dpb.RobustUCB(), 500), (dpb.DPRSE(9.0), 0)):
        asked.clear()
        runs = dpb.simulate(algorithm, mine, 500, n_runs=1)
        assert len(asked) == number and runs.pulls.sum() == 500
        if number:
            assert np.bincount(asked).tolist() == runs.pulls[0].tolist()
        assert runs.regret[0, -1] == runs.pulls[0, 0]
    unknown = dpb.instances.heavy_callback(function, 2, 1.0, 9.0)
    assert np.isnan(dpb.simulate(dpb.DPRUCB(9.0), unknown, 50, n_runs=1).regret).all()
    for wrong in (math.nan, "1", None):
        broken = dpb.instances.heavy_callback(lambda arm, wrong=wrong: wrong, 2, 1.0, 9.0)
        with pytest.raises(ValueError, match=f"reward={wrong!r} is .*allowed: a number"):
            dpb.simulate(dpb.DPRUCB(9.0), broken, 50, n_runs=1)
    with pytest.raises(ValueError, match="may be negative; allowed"):
        dpb.simulate(dpb.LDPRSE(1.0, schedule="non-negative"), mine, 50)


@pytest.mark.parametrize("algorithm", [*HEAVY, dpb.GuessAndDouble(dpb.DPRSE(1.0))], ids=repr)
def test_rewards_without_a_moment_bound_are_refused(algorithm):
    for instance in (dpb.instances.ss19("C1"), "S1", None):
        for call in calls(algorithm, instance):
            if isinstance(algorithm, dpb.GuessAndDouble) and not hasattr(instance, "n_arms"):
                continue
            with pytest.raises(ValueError, match=r"instance=.*allowed: a HeavyTailInstance"):
                call()


@pytest.mark.parametrize("algorithm", [dpb.UCB(), dpb.GuessAndDouble(dpb.DPSE(1.0))], ids=repr)
def test_heavy_tails_are_refused(algorithm):
    for call in [*calls(algorithm, PARETO)][:2]:
        with pytest.raises(ValueError, match=r"instance=.*allowed: one with rewards"):
            call()


def test_what_the_seeds_depend_on():
    """A case is described by its laws, which tell instances apart, and not by its name."""
    described = instance_description(PARETO)
    assert described["order"] == 0.9 and described["moment_bound"] == PARETO.moment_bound
    law = {"name": "ParetoLaw", "shape": PARETO.laws[1].shape, "scale": PARETO.laws[1].scale}
    assert described["laws"][1] == law
    json.dumps(described)
    assert described != instance_description(dpb.instances.twzw22("S1", order=0.8))
    assert described == instance_description(replace(PARETO, name="another"))


@pytest.mark.parametrize("algorithm", [dpb.DPRSE(1.0), dpb.LDPRSE(1.0)], ids=repr)
def test_horizons_to_the_end_of_the_integers(algorithm):
    runs = dpb.simulate(algorithm, WIDE, 2**62, n_runs=2)
    assert runs.pulls.sum(axis=1).tolist() == [2**62] * 2
    with pytest.raises(ValueError, match="horizon"):
        dpb.simulate(algorithm, WIDE, 2**62 + 1)
    with pytest.raises(ValueError, match="2\\^62"):
        algorithm.draw(WIDE, 2**63 - 1, np.array([2**63 - 1]), np.random.default_rng(0))
