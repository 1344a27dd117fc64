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
from dpbandits.divergences import calibrated_minus, calibrated_plus, d_minus
from dpbandits.identification import DrawnRewards, TableRewards, batches, identify, rounds
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.transport import calibrated_cost
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


def track(leader, challenge, pulls, led, own, share, ends):
    """Play rounds until an arm's pulls are in `ends`; return the arm."""
    while True:
        led[leader] += 1
        if own[leader] < share * led[leader]:
            own[leader] += 1
            arm = leader
        else:
            arm = challenge(pulls)
        pulls[arm] += 1
        if pulls[arm] in ends:
            return arm


@functools.cache
def zeta_of(s):
    """The sum of i^(−s): a million terms, and the integral over the rest."""
    return sum(i**-s for i in range(1, 10**6)) + (10**6 - 0.5) ** (1 - s) / (s - 1)


def plain_dp_tt(setting, rewards, rng):
    """DP-TT, round by round."""
    K, eps, delta, s = rewards.n_arms, setting.epsilon, setting.delta, setting.exponent
    ends = set(grid_of(setting.eta, 10**6, setting.first))
    N, n, k, S = np.zeros(K, int), np.zeros(K, int), np.zeros(K, int), np.zeros(K)
    led, own = [0] * K, [0] * K
    zeta = zeta_of(s)
    arm = -1
    for t in range(10**6):
        if t < K:
            arm = t
            N[arm] = setting.first
        S[arm] += rewards.total(arm, int(N[arm] - n[arm])) + dpb.mechanisms.laplace(rng, 1 / eps)
        n[arm], k[arm] = N[arm], k[arm] + 1
        if t < K - 1:
            continue
        mu, r = S / n, k / n
        best = int(np.argmax(mu))
        others = [a for a in range(K) if a != best]
        W, _ = calibrated_cost(mu[best], mu[others], n[best], n[others], r[best], r[others], eps)
        if setting.threshold == "union":
            c = np.log(K * zeta * k[best] ** s / delta) + np.log(K * zeta * k[others] ** s / delta)
            stops = (c < W).all()
        else:  # W > c exactly if the tail at W is below the right-hand side
            right = delta / ((K - 1) * zeta**2 * (k[best] * k[others]) ** s)
            stops = ((1 + W) * np.exp(-W) < right).all()
        if stops:
            return best, N.tolist()
        if setting.costs == "plain":
            r = np.zeros(K)

        def challenge(N, mu=mu, r=r, best=best, others=others):
            cost, _ = calibrated_cost(
                mu[best], mu[others], N[best], N[others], r[best], r[others], eps
            )
            return others[int(np.argmin(cost + setting.exploration * np.log(N[others])))]

        arm = track(best, challenge, N, led, own, setting.leader_share, ends)
    raise AssertionError("no end")


def plain_adap_tt(setting, rewards, rng):
    """AdaP-TT and AdaP-TT*, round by round."""
    K, eps, delta = rewards.n_arms, setting.epsilon, setting.delta
    ends = {2**j for j in range(40)}
    N, n, k, mu = np.zeros(K, int), np.zeros(K, int), np.zeros(K, int), np.zeros(K)
    released, led, own = np.zeros(K, int), [0] * K, [0] * K
    zeta = math.pi**2 / 6
    star = isinstance(setting, AdaPTTStar)
    rule = "separate" if star else setting.threshold
    arm = -1
    for t in range(10**5):
        if t < K:
            arm = t
            N[arm] = 1
        n[arm] = N[arm] - released[arm]  # the last batch alone
        total = rewards.total(arm, int(n[arm]))
        mu[arm] = (total + dpb.mechanisms.laplace(rng, 1 / eps)) / n[arm]
        released[arm], k[arm] = N[arm], k[arm] + 1
        if t < K - 1:
            continue
        best = int(np.argmax(mu))
        stops = True
        for a in set(range(K)) - {best}:
            pair = [best, a]
            statistic = max(mu[best] - mu[a], 0) ** 2 / (2 * (1 / n[best] + 1 / n[a]))
            logs = sum(2 * math.log(4 + math.log(n[i])) for i in pair)
            union = 2 * (K - 1) * zeta**2 * (k[best] * k[a]) ** 2 / delta
            if rule == "separate":
                width = math.sqrt(0.5 * (1 / n[best] + 1 / n[a]) * math.log(union))
                width += sum(
                    math.log(2 * K * zeta * k[i] ** 2 / delta) / (n[i] * eps) for i in pair
                )
                stops &= bool(mu[best] - mu[a] > width)
                continue
            if rule == "theoretical":
                half = 0.5 * math.log(union)
                noise = sum(
                    math.log(2 * K * zeta * k[i] ** 2 / delta) ** 2 / (n[i] * eps**2) for i in pair
                )
                c = 2 * (half + math.log(half)) + logs + noise
            elif rule == "published":
                phase = max(k[best], k[a])
                half = 0.5 * math.log((K - 1) * zeta * phase**2 / delta)
                noise = (1 / n[best] + 1 / n[a]) / eps**2
                noise *= math.log(2 * K * zeta * phase**2 / delta) ** 2
                c = 2 * (half + math.log(half)) + logs + noise
            else:
                c = math.log(1 / delta) + sum(math.log(1 + math.log(n[i])) for i in pair)
                c += (1 / n[best] + 1 / n[a]) * math.log(1 / delta) ** 2 / eps**2
            stops &= bool(statistic > c)
        if stops:
            return best, N.tolist()
        T = released.sum()
        B = int(np.argmax(mu + math.log(T) / (eps * n) + np.sqrt(math.log(T) / (2 * n))))

        def cost(a, N, B=B):
            gap = mu[B] - mu[a]
            if not star:
                return gap / math.sqrt(1 / N[B] + 1 / N[a])
            kl = 2 * gap * abs(gap) / (1 / N[B] + 1 / N[a])
            return min(kl, eps * gap * min(N[B], N[a]))

        def challenge(N, B=B, cost=cost):
            return min((a for a in range(K) if a != B), key=lambda a: cost(a, N))

        arm = track(B, challenge, N, led, own, setting.leader_share, ends)
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
        W = {}
        for a in range(K):
            u = (S[best] + S[a]) / (N[best] + N[a])
            if a != best:
                W[a] = 0.0
                if mu[a] < mu[best]:
                    W[a] = N[best] * kl(mu[best], u) + N[a] * kl(mu[a], u)
        thresholds = {
            a: math.log((K - 1) / delta) + 0.5 * math.log(4 * N[best]) + 0.5 * math.log(4 * N[a])
            for a in W
        }
        if all(W[a] > thresholds[a] for a in W):
            return best, N
        led[best] += 1
        if own[best] < setting.leader_share * led[best]:
            own[best] += 1
            arm = best
        else:
            arm = min(W, key=lambda a: W[a] + math.log(N[a]))
        N[arm] += 1
        S[arm] += rewards.total(arm, 1)


DP_TT = [
    DPTT(1.0, 0.1),
    DPTT(0.3, 0.3, threshold="union", eta=0.5),
    DPTT(8.0, 0.01, eta=0.25, leader_share=0.3),
    DPTT(math.inf, 0.05),
    DPTT(0.2, 0.1, eta=0.7, first=50),
    DPTT(3.0, 0.1, costs="plain", exploration=1.0, eta=2.0),
    DPTT(1.0, 0.1, exploration=0.0, leader_share=0.7, exponent=2.0),
]
ADAP = [
    AdaPTT(5.0, 0.3),
    AdaPTT(2.0, 0.1, threshold="heuristic", leader_share=0.4),
    AdaPTT(2.0, 0.1, threshold="published"),
    AdaPTT(0.5, 0.2, threshold="separate"),
    AdaPTTStar(0.5, 0.1),
    AdaPTTStar(3.0, 0.1, leader_share=0.6),
]
FREE = [TopTwo(0.1), TopTwo(0.01, leader_share=0.35)]
PLAIN = {DPTT: plain_dp_tt, AdaPTT: plain_adap_tt, AdaPTTStar: plain_adap_tt, TopTwo: plain_top_two}


@pytest.mark.parametrize("setting", [*DP_TT, *ADAP, *FREE], ids=str)
def test_runs_are_those_of_the_plain_loop(setting):
    """Compiled and on rewards that are asked for; control: other seeds."""
    others = []
    for seed in range(4):
        instance = EASY if seed == 3 else FAR
        rng = np.random.default_rng(seed)
        plain = PLAIN[type(setting)](setting, DrawnRewards(instance, rng), rng)
        assert outcome(setting.draw(instance, np.random.default_rng(seed))) == plain, seed
        rng = np.random.default_rng(seed)
        assert outcome(setting.decide(DrawnRewards(instance, rng), rng, 10**6)) == plain, seed
        rng = np.random.default_rng(seed)
        cut = outcome(setting.decide(DrawnRewards(instance, rng), rng, 40))
        assert outcome(setting.draw(instance, np.random.default_rng(seed), 40)) == cut
        others.append(
            outcome(setting.draw(instance, np.random.default_rng(seed + 9), 10**5)) != plain
        )
    assert any(others)


def test_adap_tt_and_its_star_are_told_apart():
    """Control: they differ in the challenger's cost alone."""
    first = identify(AdaPTT(0.5, 0.1, threshold="separate"), FAR, 6)
    assert (first.pulls != identify(AdaPTTStar(0.5, 0.1), FAR, 6).pulls).any()


# ---------------------------------------------------------------- rounds between releases
@njit
def play_plainly(leader, means, ratios, epsilon, bonus, state, share, room):
    """Do what `advance_costs` does, with every cost evaluated in every round."""
    none, start = np.empty(0), np.zeros(3)
    costs = rounds.Costs(leader, means, ratios, epsilon, bonus, none, none)
    for _ in range(room):
        state.led[leader] += 1
        arm = leader
        if state.own[leader] < share * state.led[leader]:
            state.own[leader] += 1
        else:
            arm, least = -1, np.inf
            for a in range(means.size):
                if a != leader:
                    start[:] = 0.0
                    cost = rounds.cost_of(costs, a, state.pulls[leader], state.pulls[a], start)[0]
                    if arm < 0 or cost < least:
                        arm, least = a, cost
        state.pulls[arm] += 1
        if state.pulls[arm] == state.following[arm]:
            return arm
    return -1


def rounds_of(setting, advance=None, off=0.0):
    """Return the setting with other rounds: `advance` takes what `advance_…` of `rounds` does.

    Costs are off by a share of up to `off`.
    """
    is_dp_tt = isinstance(setting, DPTT)
    advance = advance or (rounds.advance_costs if is_dp_tt else rounds.advance_doubling)

    def dp_tt(self, state, means, room):
        ratios = (1 + off) * (self.costs == "calibrated") * state.releases / state.released
        fixed = int(means.argmax()), means, ratios, self.epsilon, self.exploration
        return advance(*fixed, state, self.leader_share, room)

    def adap_tt(self, state, means, room):
        time, batch = math.log(state.released.sum()), state.batch
        leader = int((means + time / (self.epsilon * batch) + np.sqrt(time / (2 * batch))).argmax())
        gaps = (means[leader] - means) * np.linspace(1, 1 + 10 * off, means.size)
        fixed = leader, gaps, self.rule(means.size).cost_epsilon
        return advance(*fixed, state, self.leader_share, room)

    return variant(setting, _advance=dp_tt if is_dp_tt else adap_tt)


def one_by_one(*arguments):
    """Play without leaps."""
    costs = len(arguments) == 8
    return (rounds.advance_costs if costs else rounds.advance_doubling)(*arguments, False)


def test_interpolated_costs_choose_as_evaluated_ones_do(same_seeds):
    """Runs of 10^4 to 10^5 rounds on tied arms, where the least costs are close all the time.

    Control: costs that are a little wrong.
    """
    settings = [DPTT(1.0, 0.1), DPTT(0.1, 0.3), DPTT(5.0, 0.1, costs="plain"), DPTT(20.0, 0.1)]
    for setting in settings:
        fast, plain = (
            identify(each, TIED, 8, max_pulls=150_000)
            for each in (setting, rounds_of(setting, play_plainly))
        )
        assert (plain.pulls == fast.pulls).all()
        assert (plain.recommendation == fast.recommendation).all()
    wrong, right = (
        identify(each, TIED, 8, max_pulls=150_000)
        for each in (rounds_of(settings[0], off=0.001), settings[0])
    )
    assert (wrong.pulls != right.pulls).any()


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


def test_a_leap_covers_most_of_the_way_and_is_a_plain_loop(rng):
    """One stretch with given costs: harmonic ones, as AdaP-TT has them, and smaller ones."""
    covered = []
    for case in range(40):
        k = int(rng.integers(2, 7))
        square = np.concatenate([[np.nan], 10 ** rng.uniform(0, 2, k)])
        linear = np.full(k + 1, -np.inf)
        if case % 2:
            linear = 10 ** rng.uniform(0, 1, k + 1)
        pulls = rng.integers(1, 3000, k + 1)
        following = 2 * pulls + rng.integers(1000, 5000, k + 1)
        costs = rounds.Costs(0, square, square, np.inf, 0.0, square, linear)
        arms = np.arange(1, k + 1)
        after = pulls.copy()
        turns = rounds.leap(costs, arms, int(pulls[0]), after, following, 4000)
        now, start = pulls.astype(float), np.zeros(3)
        for i in range(turns):
            values = [rounds.cost_of(costs, a, now[0] + i + 1.0, now[a], start)[0] for a in arms]
            now[arms[int(np.argmin(values))]] += 1
        assert (now[1:] == after[1:]).all() and after[0] == pulls[0]
        assert (after[1:] < following[1:]).all()
        covered.append(turns)
    assert np.median(covered) > 500


def test_a_certificate_refuses_other_counts(rng):
    """One pull more for an arm and one fewer for another is refused, wherever n̂ is certified."""
    refused = 0
    for _ in range(30):
        k = int(rng.integers(3, 6))
        square = np.concatenate([[np.nan], 10 ** rng.uniform(0, 2, k)])
        pulls = rng.integers(500, 3000, k + 1)
        costs = rounds.Costs(0, square, square, np.inf, 0.0, square, np.full(k + 1, -np.inf))
        arms, n = np.arange(1, k + 1), pulls[1:].astype(float)
        empty = [np.empty(k) for _ in range(5)]
        fluid = rounds._Fluid(arms, n, n.copy(), *empty, np.zeros((k, 3)))
        turns, result = 2000, np.empty(k, np.int64)
        c = rounds._equalise(costs, fluid, float(pulls[0] + turns), n.sum() + turns)
        assert rounds._round(fluid, int(n.sum()) + turns, result)
        if rounds._certificate(costs, fluid, float(pulls[0]), turns, c, result) != 0:
            continue
        for more, less in itertools.permutations(np.flatnonzero(result > n + 1), 2):
            wrong = result.copy()
            wrong[more] += 1
            wrong[less] -= 1
            assert rounds._certificate(costs, fluid, float(pulls[0]), turns, c, wrong) != 0
            refused += 1
    assert refused > 10


# ---------------------------------------------------------------- deviations
POINTS = (0.5, 1.0, 2.0, 4.0, 6.0)
DEVIATIONS = [(0.9, 5, 64, 0.5), (0.5, 1, 1, 1.0), (0.05, 8, 300, 0.1), (0.7, 12, 4000, 3.0)]


@pytest.mark.statistical
@pytest.mark.parametrize("side", ["above", "below"])
def test_the_calibrated_divergence_bounds_deviations(side):
    """P(n·d̃±(μ̃, μ, k/n) ≥ x) ≤ e^−x; the uncalibrated d± breaks it, where noise matters."""
    size, share = 100_000, 1 / (2 * len(DEVIATIONS) * len(POINTS))
    rng, broken = np.random.default_rng(0), 0
    for mean, k, n, eps in DEVIATIONS:
        noise = sum(rng.laplace(0, 1 / eps, size) for _ in range(k))
        estimate = (rng.binomial(n, mean, size) + noise) / n
        if side == "above":
            value = n * calibrated_minus(estimate, mean, k / n, eps)
            plain = n * d_minus(estimate, mean, eps)
        else:
            value = n * calibrated_plus(estimate, mean, k / n, eps)
            plain = n * d_minus(1 - estimate, 1 - mean, eps)
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
    runs = identify(small, NEAR, 1000)
    assert not may_be_at_most(runs.errors(), 1000, 0.1)


# ---------------------------------------------------------------- tails
@pytest.mark.statistical
def test_ties_do_not_starve_the_best_arm():
    """Beyond 20 usual times: 1 % of runs at most; with plain costs more than 5 %."""
    usual = float(np.median(identify(DPTT(1.0, 0.1), TIED, 40).stopping_time))
    limit = int(20 * usual)
    runs = identify(DPTT(1.0, 0.1), TIED, 400, max_pulls=limit)
    assert may_be_at_most(int((~runs.stopped).sum()), 400, 0.01, 1 / 2)
    assert runs.stopped.all()
    starved = identify(DPTT(1.0, 0.1, costs="plain", exploration=0.0), TIED, 400, max_pulls=limit)
    assert not may_be_at_most(int((~starved.stopped).sum()), 400, 0.05, 1 / 2)


# ---------------------------------------------------------------- the grid
@pytest.mark.parametrize("eta", [0.001, 0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 7.3, 1000.0])
def test_the_grid_increases_and_leaves_nothing_out(eta):
    top = 10**4
    grid = [1]
    while grid[-1] <= top:
        grid.append(next_release(grid[-1], eta))
    assert grid == grid_of(eta, top)[: len(grid)]
    late = [next_release(0, eta, 37)]
    while late[-1] <= top:
        late.append(next_release(late[-1], eta, 37))
    assert late == grid_of(eta, top, 37)[: len(late)]
    number = 10**15  # far beyond the runs
    for _ in range(50):
        later = next_release(number, eta)
        assert number < later <= math.ceil(number * (1 + eta) * (1 + 1e-9)) + 1
        number = min(later, 2**61)


# ---------------------------------------------------------------- privacy
class Tape:
    """Laplace variables that move one released value back to what it was."""

    def __init__(self, offsets):
        self.offsets, self.released = dict(offsets), 0

    def __call__(self, rng, scale):
        noise = float(rng.laplace(0, scale)) + self.offsets.get(self.released, 0.0)
        self.released += 1
        return noise


@pytest.mark.parametrize(
    "setting",
    [DPTT(2.0, 0.2), DPTT(2.0, 0.2, eta=0.4), AdaPTT(5.0, 0.3), AdaPTTStar(2.0, 0.2)],
    ids=str,
)
def test_decisions_depend_on_released_values_alone(setting, monkeypatch):
    """One reward changed and one noise moved by as much: the same run.

    With one reward in one batch only, the likelihood of a run changes by at most e^ε.
    """
    rng = np.random.default_rng(0)
    table = [rng.binomial(1, mean, 6000) for mean in (0.25, 0.8, 0.3)]
    monkeypatch.setattr(batches, "laplace", Tape({}))
    log = []
    total = TableRewards.total

    def noted(self, arm, size):
        before = max((end for each, _, end in log if each == arm), default=0)
        log.append((arm, before, before + size))
        return total(self, arm, size)

    monkeypatch.setattr(TableRewards, "total", noted)
    first = setting.decide(TableRewards(table), np.random.default_rng(1), 10**4)
    assert first.stopped
    monkeypatch.setattr(TableRewards, "total", total)
    batches_of_run = log
    covered = sorted(batch for batch in batches_of_run if batch[0] == 1)
    assert all(a[2] == b[1] for a, b in itertools.pairwise(covered)), "no overlap"
    for number in (0, 2, len(batches_of_run) // 2, len(batches_of_run) - 1):
        arm, begin, end = batches_of_run[number]
        changed = [rewards.copy() for rewards in table]
        changed[arm][begin + (end - begin) // 2] ^= 1
        difference = int(changed[arm].sum()) - int(table[arm].sum())
        monkeypatch.setattr(batches, "laplace", Tape({number: -difference}))
        second = setting.decide(TableRewards(changed), np.random.default_rng(1), 10**4)
        assert second.recommendation == first.recommendation
        assert second.pulls.tolist() == first.pulls.tolist()
    # Control: with a released value that differs, the run does too.
    monkeypatch.setattr(batches, "laplace", Tape({1: 40.0}))
    third = setting.decide(TableRewards(table), np.random.default_rng(1), 10**4)
    assert third.pulls.tolist() != first.pulls.tolist()


# ---------------------------------------------------------------- edges
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
        class_of_rewards = Counted(EASY, np.random.default_rng(4))
        verdict = setting.decide(class_of_rewards, np.random.default_rng(5), limit)
        assert verdict.stopping_time <= limit and class_of_rewards.asked <= limit
        assert verdict.recommendation >= -1
        if not verdict.stopped:
            assert verdict.stopping_time == limit


class Counted(DrawnRewards):
    """Rewards that count what is asked for."""

    asked = 0

    def total(self, arm, size):
        self.asked += size
        return super().total(arm, size)
