"""Eliminations with exact tests: against their pseudo-code, and against what is proved of them.

The bound by cells is compared with the integral; `pseudo_code` is written from the book's page, arm
by arm; the compiled loop is compared with the plain one in `test_acceleration`.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from statistical import may_be_at_most
from test_elimination import MEANS, Stack, cumulative_counts, feed_noise

import dpbandits as dpb
from dpbandits._engine.elimination_epochs import (
    bennett_kept_kernel,
    bennett_plan,
    difference_tail_kernel,
    noise_cells,
    tuned_epochs,
)
from dpbandits.regret import bennett_elimination, tuned_elimination
from dpbandits.rewards.sources import FixedRewards


def exact_tail(lead, pulls, variance, draws, scale):
    """E e^(−g((lead − Z)⁺)) by quadrature with 20 digits, Z a sum of Laplace variables."""
    with mpmath.workdps(20):
        lead, pulls, scale = (mpmath.mpf(x) for x in (lead, pulls, scale))
        weights = [
            mpmath.binomial(2 * draws - 1 - i, draws - 1) * mpmath.mpf(2) ** (i - 2 * draws)
            for i in range(1, draws + 1)
        ]

        def density(z):
            x = abs(z) / scale
            terms = (w * x**i / mpmath.factorial(i) for i, w in enumerate(weights))
            return sum(terms) * mpmath.exp(-x) / scale

        def g(y):
            if variance == math.inf:
                return y**2 / pulls
            s = pulls * variance
            return max(y**2 / pulls, s * ((1 + y / s) * mpmath.log(1 + y / s) - y / s))

        # the integrand has its mass where z is a few deviations of noise or of rewards away
        middle = mpmath.linspace(0, lead, 33)
        ends = [lead - 12 * mpmath.sqrt(pulls) - 80 * scale, -20 * scale, -5 * scale, *middle]
        inner = mpmath.quad(lambda z: density(z) * mpmath.exp(-g(lead - z)), sorted(ends))
        outer = [lead + k * 10 * scale for k in range(13)]
        return float(inner + mpmath.quad(density, outer))


@pytest.mark.parametrize("draws", [2, 8])
@pytest.mark.parametrize("variance", [math.inf, 0.01])
@pytest.mark.parametrize(("pulls", "scale"), [(10**4, 1.0), (10**4, 20.0), (400, 9.0)])
def test_the_bound_by_cells_is_a_bound_and_near(pulls, scale, variance, draws):
    level = 1e-10
    cells = noise_cells(draws, scale, level)
    lead = optimize.brentq(
        lambda x: math.log(difference_tail_kernel(x, pulls, variance, *cells) / level), 1, 5000
    )
    truth = exact_tail(lead, pulls, variance, draws, scale)
    assert 0.95 * level < truth < level
    # Control: with the mass of each cell at its lower end it is none.
    lower, no_noise = cells.ends[:-1], (np.zeros(1), np.ones(1))
    below = [difference_tail_kernel(lead - z, pulls, variance, *no_noise) for z in lower.tolist()]
    assert below @ cells.masses[1:] < truth


budgets = st.floats(1e-3, 1e3) | st.just(math.inf)


@settings(max_examples=40)
@given(st.integers(2, 10**6), st.integers(10, 62), st.floats(1e-12, 0.99), budgets)
def test_lengths_of_tuned_epochs(n_arms, octaves, beta, epsilon):
    horizon = 2**octaves
    last = math.ceil(octaves / 2)
    p = beta / ((n_arms - 1) * last)
    pulls = tuned_epochs(n_arms, horizon, beta, epsilon)
    assert pulls[-1] == horizon and 2 <= pulls.size <= last + 1
    assert pulls.size == last + 1 or 2 * sum(pulls[:-1].tolist()) > horizon
    u = dpb.mechanisms.laplace_sum_quantile(p, (2,), (1.0,))
    assert (1 + u / 2) * math.exp(-u) == pytest.approx(p, rel=1e-6)
    for e, n in enumerate(pulls[:-1].tolist(), start=1):
        gap = 2.0**-e
        most = 4 * math.log(2 / p) / gap**2 + 4 * u / (epsilon * gap) + 1
        if gap <= epsilon / 2:
            most = min(most, 4 * (math.log(1 / p) + 0.58) / gap**2 + 1)
        assert n <= most * (1 + 1e-8)


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 20.0])
def test_tuned_epochs_are_as_short_as_the_test_allows(epsilon):
    """The failure is p at most, and more than p with one per cent of the pulls less."""
    p = 1e-9 / (4 * 10)
    pulls = tuned_epochs(5, 2**20, 1e-9, epsilon)
    for e, n in list(enumerate(pulls[:-1].tolist(), start=1))[::3]:
        gap = 2.0**-e
        assert exact_tail(n * gap / 2, n, math.inf, 2, 1 / epsilon) <= p
        fewer = 0.99 * n
        assert exact_tail(fewer * gap / 2, fewer, math.inf, 2, 1 / epsilon) > p


@pytest.mark.parametrize("gap", [1.0, 0.5, 0.3, 0.07, 0.011])
def test_the_closed_form_of_the_bound_is_above_the_sum(gap):
    K, T, beta, epsilon = 7, 10**7, 1e-4, 0.3
    p = beta / ((K - 1) * math.ceil(math.log2(T) / 2))
    u = dpb.mechanisms.laplace_sum_quantile(p, (2,), (1.0,))
    e = dpb.bounds.elimination_last_epoch(gap)
    closed = 64 / 3 * math.log(2 / p) / gap**2 + 16 * u / (epsilon * gap) + e
    found = dpb.bounds.tuned_elimination_pulls(gap, K, T, beta, epsilon)
    assert 0.1 * closed < found <= closed
    assert dpb.bounds.tuned_elimination_pulls(1e-5, K, T, beta, epsilon) == T


def pseudo_code(lengths, horizon, rewards, noise, epsilon, n_arms, share=1.0):
    """The book's algorithm, pull by pull: the arm of every pull and the ends of the epochs."""
    played, ends, V = [], [], list(range(n_arms))
    for e, n in enumerate(lengths, start=1):
        if len(V) == 1:
            break
        total = dict.fromkeys(V, 0)
        for _ in range(n):
            for a in V:
                if len(played) == horizon:
                    return played, ends
                played.append(a)
                total[a] += rewards.total(a)
        released = {a: total[a] / n + noise(1 / (epsilon * n)) for a in V}
        limit = share * 2.0**-e / 2
        V = [j for j in V if not max(released.values()) - released[j] > limit]
        ends.append(len(played))
    return played + V * (horizon - len(played)), ends


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
@pytest.mark.parametrize("means", MEANS)
def test_tuned_dp_se_plays_its_pseudo_code(means, epsilon, monkeypatch):
    horizon, n_arms = 20_000, len(means)
    algorithm = dpb.TunedDPSE(epsilon, 0.9)
    lengths = algorithm.epochs(n_arms, horizon).tolist()
    deal = feed_noise(monkeypatch, tuned_elimination)
    played, ends = pseudo_code(lengths, horizon, Stack(means), deal, epsilon, n_arms)
    every = np.arange(1, horizon + 1)
    play = algorithm.draw(Stack(means), horizon, every, np.random.default_rng(0))
    assert np.array_equal(play.counts, cumulative_counts(played, n_arms))
    assert play.epoch_ends.tolist() == ends and len(ends) >= 1
    if means == MEANS[3]:
        deal = feed_noise(monkeypatch, tuned_elimination)
        broken, _ = pseudo_code(lengths, horizon, Stack(means), deal, epsilon, n_arms, 9.0)
        assert broken != played, "control"


# ---------------------------------------------------------------------- tests that see variances
def level_of(n_arms, plan, beta):
    return beta / ((4 * n_arms - 1) * plan.rewards.size)


@settings(max_examples=20)
@given(st.integers(2, 10**5), st.integers(6, 40), st.floats(1e-9, 0.9), budgets, st.integers(1, 6))
def test_epochs_of_bennett_double(n_arms, octaves, beta, epsilon, memory):
    horizon = 2**octaves
    plan = bennett_plan(n_arms, horizon, beta, epsilon, memory)
    after, first = np.cumsum(plan.pulls[:-1]), int(plan.pulls[0])
    assert first == math.ceil((0.5 + 1 / epsilon) * math.log(n_arms / beta))
    assert after.tolist() == [first * 2**e for e in range(after.size)]
    assert 2 * after[-1] >= horizon and (after.size == 1 or after[-1] < horizon)
    before = np.concatenate([np.zeros(memory), after])[: after.size]
    assert np.array_equal(plan.rewards, after - before) and plan.pulls[-1] == horizon


@pytest.mark.parametrize(("epsilon", "memory"), [(0.1, 4), (2.0, 1), (math.inf, 4)])
def test_leads_are_as_short_as_the_test_allows(epsilon, memory):
    """The failure is p at most, and more than p with a lead shorter by one per cent."""
    plan = bennett_plan(5, 2**22, 1e-6, epsilon, memory)
    p = level_of(5, plan, 1e-6)
    for epoch in (0, plan.rewards.size // 2, plan.rewards.size - 1):
        n, draws = plan.rewards[epoch], 2 * min(memory, epoch + 1)
        for i in range(0, plan.leads.shape[1], 60):
            both, lead = 0.5 * 2 ** (-i / 16), plan.leads[epoch, i]
            if both < -2 * math.expm1(math.log(p) / n):
                continue  # no sum of two variances is taken for so little
            tails = [
                exact_tail(x, n, both, draws, 1 / epsilon)
                if epsilon < math.inf
                else difference_tail_kernel(x, n, both, np.zeros(1), np.ones(1))
                for x in (lead, 0.99 * lead)
            ]
            assert tails[0] <= p < tails[1]


def greatest_variance(V, n, p):
    """The greatest v ≤ 1/4 with n·kl₊(V + w(v)², v) ≤ log(1/p), from its definition."""

    def excess(v):
        b = V + (math.sqrt(2 * v * math.log(2 / p) / n) + math.log(2 / p) / (3 * n)) ** 2
        if b >= v:
            return -math.log(1 / p)
        kl = b * math.log(b / v) + (1 - b) * math.log((1 - b) / (1 - v))
        return n * kl - math.log(1 / p)

    return 0.25 if excess(0.25) <= 0 else optimize.brentq(excess, 1e-12, 0.25, xtol=1e-15)


def test_the_constants_of_the_theorem():
    """Each number of the proof is rounded up from the one before."""
    r = 1 / 40
    A, B = 1 - 2 * r, math.sqrt(2) * (1 + 2 / 3 * r)
    of_rate = B / A + (math.sqrt(0.5) + math.sqrt(r) / 3) / math.sqrt(A)
    assert 1 / math.sqrt(A) <= 1.026 and of_rate <= 2.3 and math.sqrt(2 / A) <= 1.452
    both = math.sqrt(2 * 2 ** (1 / 16 + 1 / 128))
    lead = math.sqrt(2) + both * 1.026
    assert lead <= 2.902 and 2.902**2 <= 8.5
    assert 2 / 3 + both * math.sqrt(2) * 2.3 <= 5.39 and both * math.sqrt(2) * 1.452 <= 2.976
    assert (14 - 2 * 5.39) * (7 - 2 * 2) >= 2.976**2


@given(
    st.floats(0, 0.5), st.integers(0, 10**6), st.floats(0, 0.2), st.floats(1e-12, 0.2), st.data()
)
def test_bounds_on_variances_are_not_too_great(sigma, more, noise, p, data):
    """For every estimate that the proof allows, the greatest of them among these."""
    n = math.ceil(40 * math.log(2 / p)) + more
    r = math.log(2 / p) / n
    most = (sigma + math.sqrt(r / 2)) ** 2 + 2 * noise
    V = most * data.draw(st.floats(0, 1) | st.just(1.0))
    bound = 1.026 * sigma + 2.3 * math.sqrt(r) + 1.452 * math.sqrt(noise)
    assert math.sqrt(greatest_variance(V, n, p)) <= bound * (1 + 1e-9)


def kept_by_definition(plan, epoch, sums, spreads, p, rounding=True):
    """Who stays when all pairs are compared; the greatest variances from their definition."""
    n, bounds = plan.rewards[epoch], []
    for total, spread in zip(sums, spreads, strict=True):
        x = min(max(total / n, 0), 1)
        V = max(0.0, x * (1 - x) - (spread - plan.noise[epoch]) / n)
        v = greatest_variance(V, n, p)
        step = math.floor(128 * math.log2(0.25 / v) + 1e-9)
        bounds.append(0.25 * 2 ** (-step / 128) if rounding else 0.25)
    kept = np.ones(len(sums), bool)
    for a in range(len(sums)):
        for i in range(len(sums)):
            step = math.floor(16 * math.log2(0.5 / (bounds[i] + bounds[a])) - 1e-9)
            kept[a] &= sums[i] - sums[a] <= plan.leads[epoch, max(step, 0)]
    return kept


def test_the_test_is_that_of_all_pairs():
    rng, beta = np.random.default_rng(5), 1e-3
    plan = bennett_plan(9, 10**5, beta, 0.7, 4)
    p, stayed, differs = level_of(9, plan, beta), 0, 0
    for epoch in np.repeat(np.arange(plan.rewards.size), 30).tolist():
        n = plan.rewards[epoch]
        means = rng.uniform(0.3, 0.3 + rng.choice([0.02, 0.2, 0.6]), 9)
        spreads = n * means * (1 - means) * rng.choice([0.0, 0.9, 0.999], 9) + rng.normal(size=9)
        kept = bennett_kept_kernel(plan, epoch, n * means, spreads)
        assert np.array_equal(kept, kept_by_definition(plan, epoch, n * means, spreads, p))
        stayed += kept.sum()
        without = kept_by_definition(plan, epoch, n * means, spreads, p, rounding=False)
        differs += not np.array_equal(without, kept)
    assert 100 < stayed < 9 * 30 * plan.rewards.size - 100
    assert differs > 20, "control: variances matter"


def doubling_pseudo_code(algorithm, table, horizon, noise):
    """The book's algorithm, pull by pull, on a table: arm of every pull, and ends of epochs."""
    n_arms, played, ends, releases = len(table), [], [], []
    plan = algorithm.plan(n_arms, horizon)
    p, V, pulled = level_of(n_arms, plan, algorithm.beta), list(range(n_arms)), [0] * n_arms
    for epoch, n in enumerate(plan.pulls.tolist()):
        if len(V) == 1:
            break
        seen = {a: [] for a in V}
        for _ in range(n):
            for a in V:
                if len(played) == horizon:
                    return played, ends
                played.append(a)
                seen[a].append(table[a, pulled[a]])
                pulled[a] += 1
        ends.append(len(played))
        released = [{a: sum(seen[a]) + noise(1 / algorithm.epsilon) for a in V}]
        spread = {a: sum(x * (1 - x) for x in seen[a]) for a in V}
        released.append({a: spread[a] + noise(1 / algorithm.epsilon) for a in V})
        releases.append(released)
        sums = [
            [sum(r[kind][a] for r in releases[-algorithm.memory :]) for a in V] for kind in (0, 1)
        ]
        kept = kept_by_definition(plan, epoch, *sums, p)
        V = [a for a, stays in zip(V, kept, strict=True) if stays]
    return played + V * (horizon - len(played)), ends


@pytest.mark.parametrize("memory", [1, 4])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_dp_se_v_plays_its_pseudo_code(epsilon, memory, monkeypatch):
    horizon, rng = 4000, np.random.default_rng(2)
    table = np.array([rng.beta(*each, horizon) for each in ((30, 30), (29, 31), (20, 40), (1, 1))])
    times, algorithm = np.arange(1, horizon + 1), dpb.BennettDPSE(epsilon, 0.5, memory)

    def counts(algorithm):
        source = FixedRewards(table, log=False)
        return algorithm.draw(source, horizon, times, np.random.default_rng(0))

    deal = feed_noise(monkeypatch, bennett_elimination)
    played, ends = doubling_pseudo_code(algorithm, table, horizon, deal)
    play = counts(algorithm)
    assert np.array_equal(play.counts, cumulative_counts(played, 4))
    assert play.epoch_ends.tolist() == ends and len(ends) > 3 and len(set(played[-50:])) < 4
    feed_noise(monkeypatch, bennett_elimination)
    other = counts(dpb.BennettDPSE(epsilon, 0.5, 5 - memory))
    assert not np.array_equal(other.counts, play.counts), "control"


@pytest.mark.parametrize("variance", [0.5, 0.02, 1e-5])
@pytest.mark.parametrize("memory", [1, 4])
def test_pulls_of_bennett_are_below_their_closed_form(variance, memory):
    K, T, beta, epsilon = 5, 10**9, 1e-6, 0.4
    level = level_of(K, bennett_plan(K, T, beta, epsilon, memory), beta)
    more = math.log(2 / level)
    u = dpb.mechanisms.laplace_sum_quantile(level, (2 * memory,), (1.0,))
    found = []
    for gap in (1.0, 0.1, 0.01):
        needed = 8.5 * variance * more / gap**2 + (14 * more + 7 * u / epsilon) / gap
        needed = min(max(40 * more, needed), 4 * more / gap**2 + 4 * u / (epsilon * gap))
        found.append(
            dpb.bounds.bennett_elimination_pulls(gap, variance, K, T, beta, epsilon, memory)
        )
        assert needed <= found[-1] <= 2 * needed / (1 - 2**-memory)
    assert found == sorted(found)
    with pytest.raises(ValueError, match="variances=.* are not as many as the means; allowed: on"):
        dpb.bounds.bennett_elimination_regret([0.5, 0.4], [0.1], T)


# ---------------------------------------------------------------------- the best arm survives
class Hasty(dpb.TunedDPSE):
    """A twentieth of the pulls that the test needs."""

    def epochs(self, n_arms, horizon):
        pulls = super().epochs(n_arms, horizon)
        return np.append(np.maximum(pulls[:-1] // 20, 1), horizon)


class Careless(dpb.BennettDPSE):
    """A quarter of the lead that the test needs."""

    def plan(self, n_arms, horizon):
        plan = super().plan(n_arms, horizon)
        return plan._replace(leads=plan.leads / 4)


def lost(algorithm, instance, horizon, runs):
    """Runs that eliminated the best arm."""
    rng, times, count = np.random.default_rng(8), np.array([horizon - 50, horizon]), 0
    for _ in range(runs):
        pulls = algorithm.draw(instance, horizon, times, rng).counts[:, instance.best_arm]
        count += int(pulls[1] == pulls[0])
    return count


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
@pytest.mark.parametrize("kinds", [(dpb.TunedDPSE, Hasty), (dpb.BennettDPSE, Careless)])
def test_the_best_arm_survives_as_often_as_the_theorems_say(kinds, epsilon):
    instance, beta, (sound, broken) = dpb.instances.bernoulli([0.501, 0.5, 0.5, 0.5]), 0.1, kinds
    assert may_be_at_most(lost(sound(epsilon, beta), instance, 10**6, 1000), 1000, beta)
    few = 100
    assert not may_be_at_most(lost(broken(epsilon, beta), instance, 10**6, few), few, beta), (
        "control"
    )
