"""DP-TT, AdaP-TT, AdaP-TT* and Top Two: against plain loops, and what is proved about them.

The loops are written from the pseudo-code: one round at a time, every formula written out. All
randomness is consumed when an arm is released, in the same order, so that from the same seed a
loop and the package have to play the very same run.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from numba import njit
from statistical import clopper_pearson, may_be_at_most

import dpbandits as dpb
from dpbandits.divergences import calibrated_minus, calibrated_plus, d_minus, d_plus
from dpbandits.identification import (
    DPTT,
    AdaPTT,
    AdaPTTStar,
    DrawnRewards,
    TopTwo,
    batches,
    calibrated_cost,
    identify,
    rounds,
)
from dpbandits.schedules import next_release

TIED = dpb.instances.bernoulli([0.95, 0.9, 0.9, 0.9, 0.5])  # an instance of the paper
EASY = dpb.instances.bernoulli([0.3, 0.8])
NEAR = dpb.instances.bernoulli([0.5, 0.6, 0.4])
FAR = dpb.instances.bernoulli([0.2, 0.85, 0.3, 0.3])


def variant(setting, **steps):
    """The same, with some steps of the loop replaced: not compiled as a whole."""
    return type("Variant", (type(setting),), steps)(**vars(setting))


def outcome(decision):
    return decision.recommendation, decision.pulls.tolist()


# ---------------------------------------------------------------- plain loops
def grid_of(eta, top, first=1):
    """The grid, from its definition."""
    numbers, j = {first}, 0
    while max(numbers) <= top:
        j += 1
        numbers.add(math.ceil(first * (1 + eta) ** j))
    return sorted(numbers)


@functools.cache
def zeta_of(s):
    """The sum of i^(−s): a million terms, and the integral over the rest."""
    return sum(i**-s for i in range(1, 10**6)) + (10**6 - 0.5) ** (1 - s) / (s - 1)


class PlainDPTT:
    """The steps of DP-TT, from its pseudo-code."""

    forgets = False

    def __init__(self, setting, K):
        self.setting, self.K = setting, K
        self.ends = grid_of(setting.eta, 10**6, setting.first)

    def cost(self, mu, n, r, a, b):
        return calibrated_cost(mu[a], mu[b], n[a], n[b], r[a], r[b], self.setting.epsilon)[0]

    def settled(self, mu, n, k, best, a):
        s, K, delta = self.setting.exponent, self.K, self.setting.delta
        W, zeta = self.cost(mu, n, k / n, best, a), zeta_of(s)
        if self.setting.threshold == "union":
            return (
                math.log(K * zeta * k[best] ** s / delta) + math.log(K * zeta * k[a] ** s / delta)
                < W
            )
        # W > c exactly if the tail at W is below the right-hand side
        return (1 + W) * np.exp(-W) < delta / ((K - 1) * zeta**2 * (k[best] * k[a]) ** s)

    def leader(self, mu, n, released):
        return int(np.argmax(mu))

    def challenge(self, mu, n, k, B, a, N):
        r = k / n if self.setting.costs == "calibrated" else np.zeros(self.K)
        return self.cost(mu, N, r, B, a) + self.setting.exploration * np.log(N[a])


class PlainAdaPTT:
    """The steps of AdaP-TT and AdaP-TT*, from their pseudo-code."""

    forgets, ends = True, [2**j for j in range(40)]

    def __init__(self, setting, K):
        self.setting, self.K, self.star = setting, K, isinstance(setting, AdaPTTStar)

    def settled(self, mu, n, k, best, a):
        K, eps, delta = self.K, self.setting.epsilon, self.setting.delta
        pair, v, zeta = [best, a], 1 / n[best] + 1 / n[a], math.pi**2 / 6
        statistic = max(mu[best] - mu[a], 0) ** 2 / (2 * v)
        logs = sum(2 * math.log(4 + math.log(n[i])) for i in pair)
        union = 2 * (K - 1) * zeta**2 * (k[best] * k[a]) ** 2 / delta
        noise = {i: math.log(2 * K * zeta * k[i] ** 2 / delta) for i in pair}
        rule = "separate" if self.star else self.setting.threshold
        if rule == "separate":
            width = math.sqrt(0.5 * v * math.log(union))
            return mu[best] - mu[a] > width + sum(noise[i] / (n[i] * eps) for i in pair)
        if rule == "heuristic":
            c = math.log(1 / delta) + sum(math.log(1 + math.log(n[i])) for i in pair)
            return statistic > c + v * math.log(1 / delta) ** 2 / eps**2
        half, c = 0.5 * math.log(union), sum(noise[i] ** 2 / (n[i] * eps**2) for i in pair)
        if rule == "published":
            phase = max(k[best], k[a])
            half = 0.5 * math.log((K - 1) * zeta * phase**2 / delta)
            c = v * math.log(2 * K * zeta * phase**2 / delta) ** 2 / eps**2
        return statistic > 2 * (half + math.log(half)) + logs + c

    def leader(self, mu, n, released):
        log_time = math.log(released.sum())
        index = mu + log_time / (self.setting.epsilon * n) + np.sqrt(log_time / (2 * n))
        return int(np.argmax(index))

    def challenge(self, mu, n, k, B, a, N):
        gap, v = mu[B] - mu[a], 1 / N[B] + 1 / N[a]
        if self.star:
            return min(2 * gap * abs(gap) / v, self.setting.epsilon * gap * min(N[B], N[a]))
        return gap / math.sqrt(v)


def plain_batches(setting, rewards, rng):
    """DP-TT, AdaP-TT or AdaP-TT*, round by round."""
    K = rewards.n_arms
    steps = (PlainDPTT if isinstance(setting, DPTT) else PlainAdaPTT)(setting, K)
    ends = set(steps.ends)
    N, n, k, released, led, own = np.zeros((6, K), int)
    S, arm = np.zeros(K), -1
    for t in range(10**6):
        if t < K:
            arm = t
            N[arm] = min(ends)
        size = N[arm] - released[arm]
        noisy = rewards.total(arm, int(size)) + dpb.mechanisms.laplace(rng, 1 / setting.epsilon)
        released[arm], k[arm] = N[arm], k[arm] + 1
        S[arm] = noisy if steps.forgets else S[arm] + noisy
        n[arm] = size if steps.forgets else N[arm]
        if t < K - 1:
            continue
        mu = S / n
        best = int(np.argmax(mu))
        if all(steps.settled(mu, n, k, best, a) for a in range(K) if a != best):
            return best, N.tolist()
        B = steps.leader(mu, n, released)
        others = [a for a in range(K) if a != B]
        while True:
            led[B] += 1
            arm = B
            if own[B] < setting.leader_share * led[B]:
                own[B] += 1
            else:
                arm = min(others, key=lambda a: steps.challenge(mu, n, k, B, a, N))
            N[arm] += 1
            if N[arm] in ends:
                break
    raise AssertionError("no end")


def kl(x, y):
    """kl of Bernoulli laws, for y in (0, 1)."""
    return sum(p * math.log(p / q) for p, q in ((x, y), (1 - x, 1 - y)) if p > 0)


def plain_top_two(setting, rewards, rng):
    """Top Two without privacy, round by round."""
    K, delta = rewards.n_arms, setting.delta
    S = [rewards.total(a, 1) for a in range(K)]
    N, led, own = [1] * K, [0] * K, [0] * K
    while True:
        mu = [s / n for s, n in zip(S, N, strict=True)]
        best = mu.index(max(mu))
        W, c = {}, {}
        for a in set(range(K)) - {best}:
            u = (S[best] + S[a]) / (N[best] + N[a])
            W[a] = 0.0
            if mu[a] < mu[best]:
                W[a] = N[best] * kl(mu[best], u) + N[a] * kl(mu[a], u)
            c[a] = (
                math.log((K - 1) / delta) + 0.5 * math.log(4 * N[best]) + 0.5 * math.log(4 * N[a])
            )
        if all(W[a] > c[a] for a in W):
            return best, N
        led[best] += 1
        arm = best
        if own[best] < setting.leader_share * led[best]:
            own[best] += 1
        else:
            arm = min(W, key=lambda a: W[a] + math.log(N[a]))
        N[arm] += 1
        S[arm] += rewards.total(arm, 1)


LOOPS = [
    DPTT(1.0, 0.1),
    DPTT(0.3, 0.3, threshold="union", eta=0.5),
    DPTT(8.0, 0.01, eta=0.25, leader_share=0.3),
    DPTT(math.inf, 0.05),
    DPTT(0.2, 0.1, eta=0.7, first=50),
    DPTT(3.0, 0.1, costs="plain", exploration=1.0, eta=2.0),
    DPTT(1.0, 0.1, exploration=0.0, leader_share=0.7, exponent=2.0),
    AdaPTT(5.0, 0.3),
    AdaPTT(2.0, 0.1, threshold="heuristic", leader_share=0.4),
    AdaPTT(2.0, 0.1, threshold="published"),
    AdaPTT(0.5, 0.2, threshold="separate"),
    AdaPTTStar(0.5, 0.1),
    AdaPTTStar(3.0, 0.1, leader_share=0.6),
    TopTwo(0.1),
    TopTwo(0.01, leader_share=0.35),
]


@pytest.mark.parametrize("setting", LOOPS, ids=str)
def test_runs_are_those_of_the_plain_loop(setting):
    """Compiled and on rewards that are asked for; control: other seeds."""
    others = []
    for seed in range(4):
        instance = EASY if seed == 3 else FAR
        rng = np.random.default_rng(seed)
        plain = (plain_top_two if isinstance(setting, TopTwo) else plain_batches)(
            setting, DrawnRewards(instance, rng), rng
        )
        for most in (10**6, 40):
            rng = np.random.default_rng(seed)
            asked = outcome(setting.decide(DrawnRewards(instance, rng), rng, most))
            assert outcome(setting.draw(instance, np.random.default_rng(seed), most)) == asked
            assert most == 40 or asked == plain, seed
        other = setting.draw(instance, np.random.default_rng(seed + 9), 10**5)
        others.append(outcome(other) != plain)
    assert any(others)


def test_adap_tt_and_its_star_are_told_apart():
    """Control: they differ in the challenger's cost alone."""
    first = identify(AdaPTT(0.5, 0.1, threshold="separate"), FAR, 6)
    assert (first.pulls != identify(AdaPTTStar(0.5, 0.1), FAR, 6).pulls).any()


# ---------------------------------------------------------------- rounds between releases
@njit
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

    def step(self, state, means, room):
        costs = batches._costs(self.rule(means.size), state, means)
        square = costs.square / np.linspace(1, 1 + 10 * off, means.size)[: costs.square.size] ** 2
        costs = costs._replace(ratios=(1 + off) * costs.ratios, square=square)
        return advance(costs, state, self.leader_share, room)

    return variant(setting, _advance=step)


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
CORRECT = [
    DPTT(1.0, 0.1),
    DPTT(1.0, 0.1, threshold="union"),
    DPTT(0.05, 0.1, eta=0.3),
    DPTT(math.inf, 0.1),
    DPTT(0.1, 0.1, first=7),
    TopTwo(0.1),
    AdaPTT(2.0, 0.1),
    AdaPTT(1.0, 0.1, threshold="separate"),
    AdaPTTStar(0.2, 0.1),
]


@pytest.mark.statistical
@pytest.mark.parametrize("instance", [EASY, NEAR], ids=["easy", "near"])
def test_wrong_recommendations_are_rare(instance):
    for setting in CORRECT:
        runs = identify(setting, instance, 200)
        assert runs.stopped.all() and setting.is_correct
        share = 1 / (2 * len(CORRECT))
        assert may_be_at_most(runs.errors(), 200, setting.delta, share)
        assert clopper_pearson(runs.errors(), 200, share)[1] < setting.delta + 0.1


@pytest.mark.statistical
def test_errors_are_seen_with_a_threshold_that_is_too_small():
    """Control for the test above."""
    small = variant(
        DPTT(0.5, 0.1), rule=lambda self, n_arms: DPTT.rule(self, n_arms)._replace(constant=0.0)
    )
    assert not may_be_at_most(identify(small, NEAR, 1000).errors(), 1000, 0.1)


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


# ---------------------------------------------------------------- the grid
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
class Counted(DrawnRewards):
    """Rewards that count what is asked for."""

    asked = 0

    def total(self, arm, size):
        self.asked += size
        return super().total(arm, size)


EVERY = [*CORRECT, AdaPTT(2.0, 0.1, threshold="heuristic"), AdaPTT(2.0, 0.1, threshold="published")]


@pytest.mark.parametrize("setting", EVERY, ids=str)
def test_certain_rewards_two_arms_and_early_ends(setting):
    for means in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.5], [0.2, 1.0, 0.9]):
        instance = dpb.instances.bernoulli(means)
        verdict = setting.draw(instance, np.random.default_rng(3), 10**6)
        assert verdict.recommendation in (instance.best_arm, -1)
        assert verdict.stopping_time <= 10**6
        if max(means) - sorted(means)[-2] > 0.4:
            assert verdict.stopped
    for limit in (2, 3, 7, 20):
        rewards = Counted(EASY, np.random.default_rng(4))
        verdict = setting.decide(rewards, np.random.default_rng(5), limit)
        assert verdict.stopping_time <= limit and rewards.asked <= limit
        assert verdict.stopped or verdict.stopping_time == limit
