"""Private best-arm identification: leaps over rounds, and what is proved about it.

``test_acceleration.py`` compares the programs with what stands for them; DP-LRE's evidence has
``test_evidence.py``.
"""

import itertools
import math
import re

import numpy as np
import pytest
from statistical import clopper_pearson, may_be_at_most

import dpbandits as dpb
from dpbandits._engine.accelerators import batched_top_two as batched
from dpbandits._engine.accelerators import top_two_rounds as rounds
from dpbandits._engine.kernels import kernel
from dpbandits.divergences import calibrated_minus, calibrated_plus, d_minus, d_plus
from dpbandits.identification import (
    DPLRE,
    DPTT,
    AdaPTT,
    AdaPTTStar,
    Decision,
    DrawnRewards,
    TableRewards,
    TopTwo,
    batches,
    dplre,
    identify,
)
from dpbandits.identification.bayes_factor import ArmLikelihood
from dpbandits.rewards.sources import bernoulli_tape
from dpbandits.schedules import next_release

INF = math.inf
TIED, EASY, NEAR, FAR = map(
    dpb.instances.bernoulli,
    ([0.95, 0.9, 0.9, 0.9, 0.5], [0.3, 0.8], [0.5, 0.6, 0.4], [0.2, 0.85, 0.3, 0.3]),
)


def variant(setting, **steps):
    """The same, with some methods or constants replaced."""
    return type("Variant", (type(setting),), steps)(**vars(setting))


class Seen:
    """Rewards that keep account of what was asked for, and of what was released: arm, pulls."""

    def __init__(self, rewards):
        self.rewards, self.asked, self.sums, self.released = rewards, [], [], []

    def release(self):
        arm = self.asked[-1][0]
        self.released.append((arm, sum(self.sizes(arm))))

    @property
    def n_arms(self):
        return self.rewards.n_arms

    def total(self, arm, size):
        self.asked.append((arm, size))
        self.sums.append(self.rewards.total(arm, size))
        return self.sums[-1]

    def sizes(self, arm):
        return [size for each, size in self.asked if each == arm]


# ---------------------------------------------------------------- settings
TOP_TWO = [
    DPTT(1.0, 0.1),
    DPTT(0.3, 0.3, threshold="union", eta=0.5),
    DPTT(8.0, 0.01, eta=0.25, leader_share=0.3),
    DPTT(INF, 0.05),
    DPTT(0.2, 0.1, eta=0.7, first=50),
    DPTT(1.0, 0.1, first=1, leader_share=None),
    AdaPTT(5.0, 0.3),
    AdaPTT(2.0, 0.1, threshold="heuristic", leader_share=0.4),
    AdaPTT(2.0, 0.1, threshold="published"),
    AdaPTT(0.5, 0.2, threshold="separate"),
    AdaPTTStar(0.5, 0.1),
    AdaPTTStar(3.0, 0.1, leader_share=0.6),
    TopTwo(0.1),
    TopTwo(0.01, leader_share=0.35),
]
STARVING = [
    DPTT(3.0, 0.1, costs="plain", exploration=1.0, eta=2.0),
    DPTT(1.0, 0.1, exploration=0.0, leader_share=0.7, exponent=2.0),
]
LRE = [
    DPLRE(1.0, 0.01),
    DPLRE(0.1, 0.1, least_growth=0.3),
    DPLRE(30.0, 0.001, most_growth=4.0),
    DPLRE(INF, 0.05),
    DPLRE(1.0, 0.1, least_growth=1000.0, most_growth=1000.0),
    DPLRE(1.0, 0.1, least_growth=0.001),
]


def test_adap_tt_and_its_star_are_told_apart():
    """Control: they differ in the challenger's cost alone."""
    first = identify(AdaPTT(0.5, 0.1, threshold="separate"), FAR, 6)
    assert (first.pulls != identify(AdaPTTStar(0.5, 0.1), FAR, 6).pulls).any()


# ---------------------------------------------------------------- rounds between releases
@kernel
def play_plainly(costs, state, share, room):
    """Do what `rounds.advance` does, with every cost evaluated in every round."""
    leader, start = costs.leader, np.zeros(3)
    for _ in range(room):
        state.led[leader] += 1
        arm = leader
        if state.own[leader] < share * state.led[leader]:
            state.own[leader] += 1
        else:
            arm, least = -1, np.inf
            for a in costs.challengers:
                start[:] = 0.0
                cost = rounds.cost_of(costs, a, state.pulls[leader], state.pulls[a], start)[0]
                if arm < 0 or cost < least:
                    arm, least = a, cost
        state.pulls[arm] += 1
        if state.pulls[arm] == state.following[arm]:
            return arm
    return -1


def one_by_one(costs, state, share, room):
    """Play without leaps."""
    return rounds.advance(costs._replace(leaps=False), state, share, room)


def rounds_of(setting, advance=rounds.advance, off=0.0):
    """Return the setting with other rounds; costs are off by a share of up to about `off`."""

    def step(rule, state, room):
        if state.releases.min() == 0 or room == 0:
            return batched._next(rule, state, room)
        means = batched.estimates(rule, state)
        if batched.stops(rule, state, means):
            return batched._next(rule, state, room)
        costs = batched.costs(rule, state, means)
        square = costs.square / np.linspace(1, 1 + 10 * off, means.size)[: costs.square.size] ** 2
        costs = costs._replace(ratios=(1 + off) * costs.ratios, square=square)
        arm = advance(costs, state, batched.share(rule, means), room)
        return arm, arm < 0

    def draw(self, instance, rng, max_pulls, how=None):
        rule, state = (
            batched.rule_of(setting, instance.n_arms),
            rounds.BatchState.start(instance.n_arms),
        )
        state.following[:] = batched.following(rule, 0)
        rewards = DrawnRewards(instance, rng)
        while True:
            arm, ended = step(rule, state, max_pulls - int(state.pulls.sum()))
            if ended:
                return Decision(arm, state.pulls)
            total = rewards.total(arm, state.pulls[arm] - state.released[arm])
            batched.record(rule, state, arm, setting.release(total, rng), 2**62)

    return variant(setting, draw=draw)


def test_interpolated_costs_choose_as_evaluated_ones_do(same_seeds):
    """Runs of 10^4 to 10^5 rounds on tied arms, where the least costs are close all the time.

    Control: costs that are a little wrong.
    """
    differing = 0
    for setting in DPTT(1.0, 0.1), DPTT(0.1, 0.3), DPTT(5.0, 0.1, costs="plain"), DPTT(20.0, 0.1):
        fast, plain, wrong = (
            identify(each, TIED, 8, max_pulls=150_000)
            for each in (setting, rounds_of(setting, play_plainly), rounds_of(setting, off=0.001))
        )
        assert (plain.pulls == fast.pulls).all()
        assert (plain.recommendation == fast.recommendation).all()
        differing += (wrong.pulls != fast.pulls).any()
    assert differing > 0


LEAPERS = [
    DPTT(0.02, 0.05),
    DPTT(1.0, 0.1, costs="plain", exploration=0.0),
    AdaPTT(1.0, 0.01),
    AdaPTT(0.05, 0.05),
    AdaPTT(20.0, 0.01, threshold="heuristic"),
    AdaPTTStar(0.1, 0.01),
]


def test_leaps_are_the_rounds_one_by_one(same_seeds):
    """The same runs pull by pull, with certificates and without; most rounds are leapt over.

    Control: leaps by costs that are a little wrong, on the same rounds.
    """
    instances = [TIED, NEAR, dpb.instances.bernoulli([0.5, 0.4, 0.3, 0.3, 0.2])]
    longest, differing = 0, 0
    for setting, instance in itertools.product(LEAPERS, instances):
        leaps, single, wrong = (
            identify(each, instance, 3, max_pulls=10**6).pulls
            for each in (setting, rounds_of(setting, one_by_one), rounds_of(setting, off=0.001))
        )
        assert (leaps == single).all()
        longest = max(longest, single.sum(axis=1).max())
        differing += (wrong != single).any()
    assert longest > 5 * 10**5 and differing > 0


def some_costs(rng, k, capped=False):
    """Costs of k challengers: harmonic ones, as AdaP-TT has them, or smaller ones."""
    square = np.concatenate([[np.nan], 10 ** rng.uniform(0, 2, k)])
    linear = 10 ** rng.uniform(0, 1, k + 1) if capped else np.full(k + 1, -np.inf)
    arms = np.arange(1, k + 1)
    return rounds.Costs(0, arms, square, square, np.inf, 0.0, square, linear, True, False)


def test_a_leap_covers_most_of_the_way_and_is_a_plain_loop(rng):
    covered = []
    for case in range(40):
        k = int(rng.integers(2, 7))
        costs, pulls = some_costs(rng, k, bool(case % 2)), rng.integers(1, 3000, k + 1)
        following, after = 2 * pulls + rng.integers(1000, 5000, k + 1), pulls.copy()
        following[0] += 10**6
        turns = rounds.leap(costs, int(pulls[0]), after, following, 4000)
        plain = rounds.BatchState.start(k + 1)._replace(pulls=pulls.copy(), following=following)
        assert play_plainly(costs, plain, 0.5, 2 * turns) == -1
        assert (plain.pulls[1:] == after[1:]).all() and after[0] == pulls[0]
        assert (after[1:] < following[1:]).all()
        covered.append(turns)
    assert np.median(covered) > 500


def test_a_certificate_refuses_other_counts(rng):
    """One pull more for an arm and one fewer for another is refused, wherever n̂ is certified."""
    refused = 0
    for _ in range(30):
        k = int(rng.integers(3, 6))
        costs, pulls = some_costs(rng, k), rng.integers(500, 3000, k + 1)
        n, first = pulls[1:].astype(float), float(pulls[0])
        fluid = rounds._Fluid(n, n.copy(), *np.empty((5, k)), np.zeros((k, 3)))
        turns, result = 2000, np.empty(k, np.int64)
        c = rounds._equalise(costs, fluid, first + turns, n.sum() + turns)
        assert rounds._round(fluid, int(n.sum()) + turns, result)
        if rounds._certificate(costs, fluid, first, turns, c, result) != 0:
            continue
        for more, less in itertools.permutations(np.flatnonzero(result > n + 1), 2):
            wrong = result.copy()
            wrong[more] += 1
            wrong[less] -= 1
            assert rounds._certificate(costs, fluid, first, turns, c, wrong) != 0
            refused += 1
    assert refused > 10


# ---------------------------------------------------------------- deviations
POINTS = (0.5, 1.0, 2.0, 4.0, 6.0)
DEVIATIONS = [(0.9, 5, 64, 0.5), (0.5, 1, 1, 1.0), (0.05, 8, 300, 0.1), (0.7, 12, 4000, 3.0)]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("calibrated", "uncalibrated"), [(calibrated_minus, d_minus), (calibrated_plus, d_plus)]
)
def test_the_calibrated_divergence_bounds_deviations(calibrated, uncalibrated):
    """P(n·d̃±(μ̃, μ, k/n) ≥ x) ≤ e^−x; the uncalibrated d± breaks it, where noise matters."""
    size, share = 100_000, 1 / (2 * len(DEVIATIONS) * len(POINTS))
    rng, broken = np.random.default_rng(0), 0
    for mean, k, n, eps in DEVIATIONS:
        noise = sum(rng.laplace(0, 1 / eps, size) for _ in range(k))
        estimate = (rng.binomial(n, mean, size) + noise) / n
        value, plain = (
            n * calibrated(estimate, mean, k / n, eps),
            n * uncalibrated(estimate, mean, eps),
        )
        for x in POINTS:
            assert may_be_at_most(int((value >= x).sum()), size, math.exp(-x), share)
            broken += not may_be_at_most(int((plain >= x).sum()), size, math.exp(-x), share)
    assert broken >= 4


# ---------------------------------------------------------------- errors
CORRECT = [setting for setting in TOP_TWO + LRE if setting.is_correct]
CLOSE = dpb.instances.bernoulli([0.53, 0.5, 0.5])
CERTAIN = dpb.instances.bernoulli([1.0, 0.9, 0.0])


@pytest.mark.statistical
@pytest.mark.parametrize("instance", [EASY, NEAR, CERTAIN], ids=["easy", "near", "certain"])
def test_wrong_recommendations_are_rare(instance):
    for setting in CORRECT:
        runs, share = identify(setting, instance, 200), 1 / (2 * len(CORRECT))
        assert runs.stopped.all()
        assert may_be_at_most(runs.errors(), 200, setting.delta, share)
        assert clopper_pearson(runs.errors(), 200, share)[1] < setting.delta + 0.1


@pytest.mark.statistical
def test_wrong_recommendations_of_dplre_are_rare_with_small_gaps():
    for setting, instance in ((DPLRE(0.05, 0.05), NEAR), (DPLRE(1.0, 0.1), CLOSE)):
        runs = identify(setting, instance, 300, seed=5)
        assert runs.stopped.all() and may_be_at_most(runs.errors(), 300, setting.delta, 1 / 2)


def low_threshold(self, instance, rng, max_pulls, how=None):
    rule = batched.rule_of(self, instance.n_arms)._replace(constant=0.0)
    tape = bernoulli_tape(instance.means)
    return Decision(*batched.run_batches(rule, tape, rng, max_pulls, batched.NO_LOG))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("broken", "instance", "n_runs", "known"),
    [
        (variant(DPTT(0.5, 0.1), draw=low_threshold), NEAR, 1000, None),
        (variant(DPLRE(0.05, 0.05)), NEAR, 200, 5.0),
        (variant(DPLRE(1.0, 0.01), demand=lambda self, pulls, arm: 0.0), CLOSE, 300, None),
    ],
    ids=["threshold too small", "noise forgotten in the likelihood", "threshold of one"],
)
def test_errors_are_seen(broken, instance, n_runs, known, monkeypatch):
    """Controls for the tests above."""
    if known:
        monkeypatch.setattr(dplre, "ArmLikelihood", lambda epsilon: ArmLikelihood(known))
    errors = identify(broken, instance, n_runs, seed=6).errors()
    assert not may_be_at_most(errors, n_runs, broken.delta)


# ---------------------------------------------------------------- tails
@pytest.mark.statistical
def test_ties_do_not_starve_the_best_arm():
    """Beyond 20 usual times: 1 % of runs at most; with plain costs more than 5 %."""
    limit = int(20 * np.median(identify(DPTT(1.0, 0.1), TIED, 40).stopping_time))
    runs = identify(DPTT(1.0, 0.1), TIED, 400, max_pulls=limit)
    assert may_be_at_most(int((~runs.stopped).sum()), 400, 0.01, 1 / 2)
    assert runs.stopped.all()
    starved = identify(DPTT(1.0, 0.1, costs="plain", exploration=0.0), TIED, 400, max_pulls=limit)
    assert not may_be_at_most(int((~starved.stopped).sum()), 400, 0.05, 1 / 2)


class LateBloomer:
    """Arm 0 looks like 0.4 until others were pulled ten times as often, and then like 0.9.

    The others are tied at ½: as if arm 0 had been unlucky, and was dropped by mistake.
    """

    n_arms = 3

    def __init__(self, rng):
        self.rng, self.own, self.others = rng, 0, 0

    def total(self, arm, size):
        if arm > 0:
            self.others += size
            return int(self.rng.binomial(size, 0.5))
        mean = 0.4 if self.others < 10 * self.own or self.own == 0 else 0.9
        self.own += size
        return int(mean * size)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("way", ["demand", "top-up", "none"])
def test_a_best_arm_that_was_dropped_comes_back(way):
    """With δ = 3·10⁻⁷ the tied arms part with probability at most δ a run.

    Either of the two ways back is enough; without them the run never ends.
    """
    ways = {} if way == "demand" else {"scarce": INF}
    if way != "top-up":
        ways["is_left_behind"] = lambda self, pulls, root: False
    rng = np.random.default_rng(1)
    decision = variant(DPLRE(5.0, 3e-7), **ways).draw(LateBloomer(rng), rng, 10**10)
    assert decision.recommendation == (-1 if way == "none" else 0)
    assert (decision.stopping_time < 10**8) == (way != "none")


# ---------------------------------------------------------------- the grid
def grid_of(eta, top, first=1):
    """The grid, from its definition."""
    numbers, j = {first}, 0
    while max(numbers) <= top:
        j += 1
        numbers.add(math.ceil(first * (1 + eta) ** j))
    return sorted(numbers)


@pytest.mark.parametrize("eta", [0.001, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 7.3, 1000.0])
def test_the_grid_increases_and_leaves_nothing_out(eta):
    for first in (1, 37):
        grid = [next_release(0, eta, first)]
        while grid[-1] <= 10**4:
            grid.append(next_release(grid[-1], eta, first))
        assert grid == grid_of(eta, 10**4, first)[: len(grid)]
    number = 10**15  # far beyond the runs
    for _ in range(50):
        later = next_release(number, eta)
        assert number < later <= math.ceil(number * (1 + eta) * (1 + 1e-9)) + 1
        number = min(later, 2**61)


# ---------------------------------------------------------------- edges
@pytest.mark.parametrize("setting", TOP_TWO + STARVING + LRE, ids=str)
def test_certain_rewards_two_arms_and_early_ends(setting):
    for means in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.5], [0.2, 1.0, 0.9]):
        instance = dpb.instances.bernoulli(means)
        decision = setting.draw(instance, np.random.default_rng(3), 10**6)
        assert decision.recommendation in (instance.best_arm, -1)
        assert decision.stopping_time <= 10**6
        if max(means) - sorted(means)[-2] > 0.4:
            assert decision.stopped
    for limit in (2, 3, 7, 20):
        seen = Seen(DrawnRewards(EASY, np.random.default_rng(4)))
        decision = setting.draw(seen, np.random.default_rng(5), limit)
        assert sum(size for _, size in seen.asked) <= decision.stopping_time <= limit
        assert decision.stopped or decision.stopping_time == limit


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 125.0, INF])
@pytest.mark.parametrize("means", [(1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.8), (0.1, 0.0)])
def test_means_at_the_ends_of_dplre(means, epsilon):
    instance = dpb.instances.bernoulli(means)
    runs = identify(DPLRE(epsilon, 1e-6), instance, n_runs=3, max_pulls=10**6)
    assert (runs.recommendation == instance.best_arm).all()


@pytest.mark.parametrize("how", [None, "reference"])
@pytest.mark.parametrize("most", [10**15, 2**62])
def test_no_run_of_dplre_is_too_long_for_floats(most, how):
    decision = DPLRE(1e-90, 0.01).draw(EASY, np.random.default_rng(0), most, how)
    assert not decision.stopped and decision.stopping_time == min(most, 2**53)


@pytest.mark.parametrize("most", [300, 5000, 10**6])
def test_a_batch_that_is_cut_short_counts_and_asks_for_nothing(most):
    rng = np.random.default_rng(3)
    seen = Seen(DrawnRewards(dpb.instances.bernoulli([0.5001, 0.5]), rng))
    decision = DPLRE(1.0, 0.01, most_growth=20.0).draw(seen, rng, most)
    assert not decision.stopped and decision.stopping_time == most
    asked = np.array([sum(seen.sizes(arm)) for arm in (0, 1)])
    assert (asked <= decision.pulls).all() and (asked < decision.pulls).sum() == 1


def test_growth_limits_are_kept():
    """Where noise is all, a batch has up to 4·`most_growth` times the pulls before."""
    for epsilon, most in ((0.005, 3.0), (INF, 1.5)):
        rng = np.random.default_rng(2)
        seen = Seen(TableRewards([rng.random(10**6) < mean for mean in (0.6, 0.595)]))
        DPLRE(epsilon, 0.01, least_growth=0.25, most_growth=0.5).draw(seen, rng, 10**6)
        largest = 0.0
        for arm in (0, 1):
            sizes = seen.sizes(arm)
            assert len(sizes) > 5
            for before, size in itertools.pairwise(np.cumsum(sizes).tolist()):
                assert 1.25 * before <= size <= most * before + 1
                largest = max(largest, size / before)
        assert largest > most - 0.2


def test_bad_arguments_of_dplre():
    with pytest.raises(ValueError, match="most_growth=0.01 .*; allowed: at least least_growth"):
        DPLRE(1.0, 0.1, most_growth=0.01)
    for n_arms in (1, 0, -2, 2.5, "3"):
        with pytest.raises(ValueError, match=re.escape(f"n_arms={n_arms!r} ") + ".*; allowed"):
            DPLRE(1.0, 0.1).first_batch(n_arms)


# ---------------------------------------------------------------- privacy
PRIVATE = [
    DPLRE(0.8, 0.1),
    DPTT(2.0, 0.2),
    DPTT(2.0, 0.2, eta=0.4),
    AdaPTT(5.0, 0.3),
    AdaPTTStar(2.0, 0.2),
]


def run_with_noise(monkeypatch, setting, table, noise, declared=None):
    """Run on a table with given noise; return what was asked for, and with the decision."""
    supply = iter(noise)

    def given(rng, scale):
        assert scale == 1 / (declared or setting.epsilon), "every noise has scale 1/ε"
        seen.release()
        return next(supply)

    module = dplre if isinstance(setting, DPLRE) else batches
    monkeypatch.setattr(module, "laplace", given)
    seen = Seen(TableRewards(table))
    decision = setting.draw(seen, np.random.default_rng(0), 40_000)
    return seen, (seen.asked, decision.recommendation, decision.pulls.tolist())


def differing_output(monkeypatch, setting, rng, flips=8, off=0, declared=None):
    """How often a changed reward is seen, when the one noise of its batch makes up for it.

    Noises of which the scale is not the declared one are noticed; `off` is added to the noise.
    """
    table = [(rng.random(40_000) < mean).astype(int) for mean in (0.8, 0.5, 0.3)]
    noise = rng.laplace(0.0, 1 / setting.epsilon, 500).round(3)
    seen, output = run_with_noise(monkeypatch, setting, table, noise, declared)
    assert output[1] >= 0 and [sum(seen.sizes(arm)) for arm in range(3)] == output[2]
    assert not isinstance(setting, DPLRE) or len(seen.asked) == len(seen.released)
    differing = 0
    for _ in range(flips):
        arm = int(rng.integers(3))
        place = int(rng.integers(max(end for a, end in seen.released if a == arm)))
        neighbour = [rewards.copy() for rewards in table]
        neighbour[arm][place] ^= 1
        batch = [a == arm and end > place for a, end in seen.released].index(True)
        shifted = noise.copy()
        shifted[batch] += table[arm][place] - neighbour[arm][place] + off
        differing += run_with_noise(monkeypatch, setting, neighbour, shifted)[1] != output
    return differing


@pytest.mark.parametrize("setting", PRIVATE, ids=str)
def test_everything_is_a_function_of_released_sums(setting, monkeypatch, rng):
    """A changed reward and a noise shifted by 1 give the same run: e^ε at most between the laws.

    Controls: released values that differ, and a scale that is not the declared one.
    """
    assert differing_output(monkeypatch, setting, rng) == 0
    assert differing_output(monkeypatch, setting, rng, off=40) > 0
    for factor in (0.5, 2.0):
        with pytest.raises(AssertionError, match="scale 1/ε"):
            differing_output(monkeypatch, setting, rng, declared=factor * setting.epsilon)


def test_a_size_that_depends_on_raw_rewards_is_caught(monkeypatch, rng):
    seen, plan = [], DPLRE.plan

    class Noted(Seen):
        def __init__(self, rewards):
            super().__init__(rewards)
            seen[:] = [self]

    def peeks(self, *known):
        own, planned = plan(self, *known)
        odd = sum(seen[0].sums) % 2
        return own + odd * (own > 0), {arm: size + odd for arm, size in planned.items()}

    monkeypatch.setattr(DPLRE, "plan", peeks)
    monkeypatch.setitem(globals(), "Seen", Noted)
    assert differing_output(monkeypatch, PRIVATE[0], rng) > 0
