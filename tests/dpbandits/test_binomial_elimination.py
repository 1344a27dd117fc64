"""Elimination by two p-values: its tails and tests, its program against the pseudo-code, its bound.

`tail` adds up the probabilities of all counts, with SciPy's laws, and `printed` is written from
the pseudo-code, pull by pull, with that. The compiled loop is compared with the plain program in
`test_acceleration`, the audit is that of `test_audit_registry`.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from statistical import FALSE_ALARM, may_be_at_most, same_law

import dpbandits as dpb
from dpbandits import bounds
from dpbandits.mechanisms import laplace_sum_tail
from dpbandits.mechanisms.noisy_counts import (
    log_p_value,
    p_value_kernel,
    rules_out_kernel,
    tail_coefficients,
    two_p_values,
)
from dpbandits.regret import binomial_elimination
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.sources import FixedRewards, LawRewards, Source
from dpbandits.schedules import release_plan

BUDGETS = st.one_of(st.just(math.inf), st.floats(0.005, 50))
RELEASES = st.integers(1, 6)
THETAS = st.floats(1e-6, 1 - 1e-6)


def tail(s, n, theta, epsilon, releases):
    """P(Bin(n, θ) + Z/ε ≥ s), over all counts."""
    k = np.arange(n + 1)
    if epsilon == math.inf:
        beyond = (k >= s).astype(float)
    else:
        shapes = epsilon * (s - k)
        beyond = np.array([laplace_sum_tail(y, (releases,), (1.0,)) for y in shapes])
    return float(stats.binom.pmf(k, n, theta) @ beyond)


def beyond(y, releases):
    """log P(Z > y) for a sum of Laplace variables of scale 1."""
    i = np.arange(1, releases + 1)
    weights = special.comb(2 * releases - 1 - i, releases - 1) * 0.5 ** (2 * releases - i)
    upper = special.gammaincc(i, np.abs(y)[:, None]) @ weights
    return np.log(np.maximum(np.where(y < 0, 1 - upper, upper), 1e-300))


# ---------------------------------------------------------------- tails
@given(st.integers(1, 300), THETAS, BUDGETS, RELEASES, st.floats(-0.1, 1.1))
def test_tails_are_sums_over_all_counts(n, theta, epsilon, releases, share):
    s = share * n
    expected = tail(s, n, theta, epsilon, releases)
    found = log_p_value(s, n, theta, epsilon, releases)
    if expected < 1e-280:
        assert found < -600
    else:
        assert found == pytest.approx(math.log(expected), rel=1e-10, abs=1e-10)
    more = tail(s, n, theta, epsilon, releases + 1)
    if 0.05 < epsilon < 1 and more < 0.2:  # control: another number of releases
        assert found != pytest.approx(math.log(more), rel=1e-10)


@pytest.mark.parametrize("releases", [1, 4])
@pytest.mark.parametrize(
    ("n", "theta", "epsilon"),
    [(10**4, 0.5, 1.0), (10**6, 0.99, 0.1), (10**5, 0.02, 0.02), (10**6, 0.3, 5.0)],
)
def test_long_tails_are_sums_over_all_counts_that_matter(n, theta, epsilon, releases):
    deviation = math.sqrt(n * theta * (1 - theta))
    spread = math.hypot(deviation, math.sqrt(2 * releases) / epsilon)
    for z in (-4.0, -0.3, 0.0, 2.5, 5.5, 7.0):
        s = n * theta + z * spread
        low, high = (round(f(s, n * theta)) for f in (min, max))
        reach = round(12 * deviation)
        k = np.arange(max(0, low - reach), min(n, high + reach) + 1)
        law = stats.binom.logpmf(k, n, theta)
        expected = special.logsumexp(law + beyond(epsilon * (s - k), releases))
        found = log_p_value(s, n, theta, epsilon, releases)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-8)


@given(st.floats(0, 9), st.floats(-6, 0), st.booleans(), st.floats(-6, 6))
def test_tails_without_noise_are_incomplete_beta_functions(digits, odds, high, z):
    n, theta = round(10**digits), 0.5 * 10**odds
    theta = 1 - theta if high else theta
    k = round(n * theta + z * math.sqrt(n * theta * (1 - theta)))
    k = min(max(k, 1), n)
    expected = math.log(special.betainc(k, n - k + 1, theta))
    found = log_p_value(float(k), n, theta, math.inf)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-16 * n + 1e-11)


@given(st.integers(1, 400), st.floats(0.02, 0.98), BUDGETS, RELEASES, st.floats(0.0, 1.0))
def test_the_slope_is_the_derivative_and_falls(n, theta, epsilon, releases, share):
    """Of the logarithm, in θ; the tail's n-th root is concave."""
    coefficients = tail_coefficients(releases)

    def at(p):
        return p_value_kernel(share * n, float(n), p, 1.0 - p, epsilon, coefficients)

    step = 1e-6 * min(theta, 1 - theta)
    (low, before), (high, after) = at(theta - step), at(theta + step)
    _, slope = at(theta)
    assert (high - low) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-4)
    assert before >= after - 1e-9 * (1 + abs(slope))
    wide = 0.1 * min(theta, 1 - theta)
    roots = [math.exp(at(theta + x)[0] / n) for x in (-wide, 0.0, wide)]
    assert 2 * roots[1] >= (roots[0] + roots[2]) * (1 - 1e-12)


# ---------------------------------------------------------------- the test
def greatest(leader, other, n, epsilon, releases):
    """sup_θ log P⁺(leader; θ)P⁻(other; θ) on a grid, in the angle, refined thrice."""
    low, high = 1e-9, math.pi / 2 - 1e-9
    for _ in range(4):
        angles = np.linspace(low, high, 41)
        products = [
            log_p_value(leader, n, math.sin(a) ** 2, epsilon, releases)
            + log_p_value(n - other, n, math.cos(a) ** 2, epsilon, releases)
            for a in angles
        ]
        best = int(np.argmax(products))
        low, high = angles[max(best - 1, 0)], angles[min(best + 1, 40)]
    return max(products)


@given(st.integers(1, 500), BUDGETS, RELEASES, st.floats(-0.1, 1.1), st.floats(-0.1, 1.1))
def test_the_test_compares_the_greatest_product(n, epsilon, releases, first, second):
    leader, other = max(first, second) * n, min(first, second) * n
    peak = greatest(leader, other, n, epsilon, releases)
    if peak < -500 or peak > -1e-6:
        return
    margin = 1e-3 * (1 + abs(peak))
    for level, answer in ((peak + margin, True), (peak - margin, False)):
        if level < 0:
            assert two_p_values(leader, other, n, epsilon, level, releases) == answer
    if epsilon < math.inf:
        assert not two_p_values(leader - 0.02 * n, other, n, epsilon, peak - margin, releases)


def ruled_out(n, theta, epsilon, releases, level, runs, rng):
    """In how many of `runs` an arm is ruled out by another of the same mean."""
    shape = 2, runs
    counts = rng.binomial(n, theta, shape) + 0.0
    counts += rng.laplace(0, 1 / epsilon, (releases, *shape)).sum(axis=0)
    law = float(n), epsilon, tail_coefficients(releases), math.log(level)
    return sum(rules_out_kernel(x, y, *law) for x, y in counts.T)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "theta", "epsilon", "releases"),
    [(400, 0.5, 1.0, 4), (400, 0.03, 0.5, 1), (100, 0.5, 0.02, 1), (2000, 0.99, 0.1, 4)],
)
def test_the_test_has_its_size(n, theta, epsilon, releases):
    """Control: the level p itself in place of κ, as if one p-value were compared with it."""
    p, runs, rng = 0.02, 20_000, np.random.default_rng(4)
    level = math.exp(release_plan(2, 2, p).log_level)
    assert level * (1 - math.log(level)) == pytest.approx(p)
    assert may_be_at_most(ruled_out(n, theta, epsilon, releases, level, runs, rng), runs, p)
    assert not may_be_at_most(ruled_out(n, theta, epsilon, releases, p, runs, rng), runs, p)


# ---------------------------------------------------------------- the plan
@given(st.integers(2, 10**6), st.integers(2, 10**12), st.floats(1e-12, 0.999), st.floats(1e-3, 1e3))
def test_the_plan_is_that_of_the_pseudo_code(n_arms, horizon, beta, epsilon):
    plan = release_plan(n_arms, horizon, beta, epsilon)
    assert plan.first == math.ceil((0.5 + 1 / epsilon) * math.log(n_arms / beta))
    assert plan.pulls(plan.releases + 1) >= horizon
    assert plan.releases == 1 or plan.pulls(plan.releases) < horizon
    p, level = beta / ((n_arms - 1) * plan.releases), math.exp(plan.log_level)
    assert level * (1 - plan.log_level) == pytest.approx(p, rel=1e-9)
    assert [plan.counted(e, 4) for e in (1, 4, 5)] == [plan.first * factor for factor in (1, 8, 15)]


# ---------------------------------------------------------------- the program
def printed(n_arms, horizon, epsilon, beta, memory, reward, noise, mistake=None):
    """The pseudo-code, pull by pull. Returns the arm of every pull.

    `reward(a)` pulls arm a, `noise()` is Lap(1/ε). `mistake` plants one, for controls.
    """
    first = math.ceil((0.5 + 1 / epsilon) * math.log(n_arms / beta))
    last = max(1, math.ceil(math.log2(horizon / first)))
    p = beta / ((n_arms - 1) * last)
    level = p
    for _ in range(200):
        level = p / (1 + math.log(1 / level))
    played, viable, released = [], list(range(n_arms)), []
    pulls = 0
    while len(viable) > 1:
        target = first if pulls == 0 else 2 * pulls
        sums = dict.fromkeys(viable, 0.0)
        for _ in range(target - pulls):
            for a in viable:
                if len(played) == horizon:
                    return played
                played.append(a)
                sums[a] += reward(a)
        for a in viable:
            sums[a] += 0.0 if mistake == "no noise" else noise()
        released.append((target - pulls, sums))
        pulls = target
        recent = released if mistake == "never forgets" else released[-memory:]
        n = sum(size for size, _ in recent)
        total = {a: sum(each[a] for _, each in recent) for a in viable}
        leader = max(viable, key=total.get)
        for a in [a for a in viable if a != leader]:
            found = -math.inf
            for theta in np.linspace(0.0005, 0.9995, 1000):
                product = tails(total[leader], total[a], n, theta, epsilon, len(recent))
                found = max(found, product)
            if found <= math.log(level):
                viable.remove(a)
    return played + viable * (horizon - len(played))


def tails(leader, other, n, theta, epsilon, releases):
    """log P⁺(leader; θ)·P⁻(other; θ), with SciPy."""
    k = np.arange(n + 1)
    law = stats.binom.logpmf(k, n, theta)
    logs = [
        special.logsumexp(law + beyond(epsilon * (leader - k), releases)),
        special.logsumexp(law + beyond(epsilon * (k - other), releases)),
    ]
    return sum(logs)


class Stack(BernoulliInstance):
    """An instance that deals rewards from prepared stacks, one per arm, in order."""

    def __post_init__(self):
        super().__post_init__()
        draws = np.random.default_rng([8, *map(int, self.means * 1000)])
        stacks = draws.random((2000, self.n_arms)) < self.means
        object.__setattr__(self, "table", FixedRewards(stacks.T.astype(float), log=False))

    def rewards(self, rng):
        return self.table


def feed_noise(monkeypatch, epsilon):
    """Let the package draw the noise that the returned function deals one by one."""
    standard = np.random.default_rng(3).laplace(scale=1 / epsilon, size=1000)
    mine, theirs = iter(standard), iter(standard)
    deal = lambda rng, scale, size: np.array([next(theirs) for _ in range(size)])  # noqa: E731
    monkeypatch.setattr(binomial_elimination, "laplace_noise", deal)
    return lambda: next(mine)


@pytest.mark.parametrize(
    ("means", "memory", "mistake"),
    [((0.9, 0.5, 0.2), 2, "never forgets"), ((0.97, 0.8), 1, "no noise")],
)
def test_same_pulls_as_the_pseudo_code_on_the_same_rewards_and_noise(
    means, memory, mistake, monkeypatch
):
    epsilon, beta, horizon, n_arms = 0.5, 0.5, 900, len(means)

    def play(fault):
        reference = Stack(means).table
        deal = feed_noise(monkeypatch, epsilon)
        return printed(n_arms, horizon, epsilon, beta, memory, reference.pull, deal, fault)

    played = play(None)
    every = np.arange(1, horizon + 1)
    algorithm = dpb.BinomialDPSE(epsilon, beta, memory)
    play_of = algorithm.draw(Stack(means), horizon, every, np.random.default_rng(0))
    counts = np.cumsum(np.array(played)[:, None] == np.arange(n_arms), axis=0)
    np.testing.assert_array_equal(play_of.counts, counts)
    assert len(set(played[-20:])) == 1, "arms are removed"
    assert play_of.epoch_ends.size >= 3, "more than is remembered"
    assert play(mistake) != played, "control"


@pytest.mark.statistical
def test_the_best_arm_survives():
    """Control: tests at four hundred times the level lose it too often."""
    instance, beta, horizon, runs = dpb.instances.bernoulli([0.5] * 6), 0.3, 10**5, 400

    def lost(beta):
        found = dpb.simulate(dpb.BinomialDPSE(1.0, beta), instance, horizon, runs, seed=2)
        return int((found.pulls[:, 0] < found.pulls.max(axis=1) - 1).sum())

    assert may_be_at_most(lost(beta), runs, beta)
    plan = release_plan(6, horizon, beta, 1.0)

    class Loose(dpb.BinomialDPSE):
        def plan(self, n_arms, horizon):
            return plan._replace(log_level=plan.log_level + math.log(400))

    found = dpb.simulate(Loose(1.0, beta), instance, horizon, 60, seed=2)
    loses = int((found.pulls[:, 0] < found.pulls.max(axis=1) - 1).sum())
    assert not may_be_at_most(loses, 60, beta), "control"


# ---------------------------------------------------------------- rounding
class OneByOne(Source):
    """Rewards of a law, asked for one by one."""

    n_arms = 1

    def __init__(self, law, rng):
        self.law, self.rng = law, rng

    def total(self, arm, size):
        return float(self.law.sample(self.rng, size).sum())


@pytest.mark.statistical
def test_rounded_sums_have_one_law_however_they_are_drawn():
    """A binomial one, by reward or at once; control: sums that are not rounded."""
    law, runs, size = dpb.laws.beta(4, 1), 2000, 12
    rng = np.random.default_rng(0)
    single, drawn = OneByOne(law, rng), LawRewards([law], rng)
    table = FixedRewards(law.sample(rng, runs * size).reshape(1, -1))
    one, two, three = (
        [source.rounded_total(0, size, rng) for _ in range(runs)]
        for source in (single, drawn, table)
    )
    assert same_law(one, two, 0.5) and same_law(three, two, 0.5)
    assert not same_law([drawn.total(0, size) for _ in range(runs)], two), "control"


def test_rewards_of_0_and_1_are_not_rounded():
    rng = np.random.default_rng(5)
    state = rng.bit_generator.state
    assert FixedRewards([[1, 0, 1, 1], [0, 0, 0, 1]]).rounded_total(0, 4, rng) == 3
    assert rng.bit_generator.state == state
    assert FixedRewards([[1, 0.5, 1, 1]]).rounded_total(0, 4, rng) in (3, 4)
    assert rng.bit_generator.state != state


class Unknown:
    """A law of which nothing is known but its mean, which is right."""

    mean = 0.75

    def sample(self, rng, size):
        return rng.beta(30, 10, size)


def test_graded_rewards_are_played_like_binary_ones_of_the_same_means():
    """And one by one where the law is not the package's: rewards are drawn, and checked."""
    known, other = dpb.laws.beta(30, 10), dpb.laws.beta(20, 20)
    algorithm = dpb.BinomialDPSE(1.0)
    for first in (known, Unknown()):
        graded = dpb.instances.bounded([first, other])
        found = dpb.simulate(algorithm, graded, 20_000, 3)
        assert np.all(found.pulls[:, 0] > 15_000)
    law = Unknown()
    law.sample = lambda rng, size: np.full(size, 1.5)
    with pytest.raises(ValueError, match="reward=.*1.5.* of arm 0 is out of range"):
        dpb.simulate(algorithm, dpb.instances.bounded([law, other]), 20_000, 1)


# ---------------------------------------------------------------- bounds
@given(
    st.floats(1e-4, 1), st.floats(0, 1), st.integers(2, 100), st.integers(2, 10**12),
    st.floats(1e-3, 1e3), st.sampled_from([1, 4]),
)  # fmt: skip
def test_pulls_are_below_their_closed_form_and_the_constants_of_the_theorem(
    gap, above, n_arms, horizon, epsilon, memory
):
    best = gap + above * (1 - gap)
    given_ = gap, best, n_arms, horizon, epsilon
    exact = bounds.binomial_elimination_pulls(*given_, memory=memory)
    plan = release_plan(n_arms, horizon, 1 / horizon, epsilon)
    evidence = -plan.log_level
    level = evidence + math.log(4)
    spread = 16 * (best * (1 - best) + gap * max(2 * best - 1, 0)) * level
    noise = 2 * evidence
    if memory == 4:
        noise = 4 / 3 * (noise + 4 * math.log(2) + 16 * math.log(16 / 7))
    needed = spread / gap**2 + 2 * (2 / 3 * level + noise / epsilon) / gap
    closed = max(plan.first, 2 / (1 - 0.5**memory) * needed)
    assert exact <= min(horizon, closed * (1 + 1e-12)) or exact == horizon <= 2 * closed
    leading, constant, privacy = {
        1: (64, 208 / 3, 16 * evidence), 4: (34.2, 37, 11.4 * (evidence + 8))
    }[memory]  # fmt: skip
    variance = best * (1 - best)
    theorem = level * (leading * variance / gap + constant) + privacy / epsilon
    assert gap * closed <= theorem * (1 + 1e-12)
    if epsilon < 1e-2 and memory == 4:
        assert gap * closed >= 0.99 * 11.3 * (evidence + 8) / epsilon, "nothing to spare"


@pytest.mark.statistical
@pytest.mark.parametrize("memory", [1, 4])
def test_all_arms_leave_when_the_theorem_says(memory):
    """With probability 1 − β; control: an eighth of the pulls."""
    instance, horizon, beta, runs = dpb.instances.bernoulli([0.98, 0.9, 0.8]), 10**6, 0.2, 200
    found = dpb.simulate(dpb.BinomialDPSE(0.5, beta, memory), instance, horizon, runs)
    limits = [
        bounds.binomial_elimination_pulls(gap, 0.98, 3, horizon, 0.5, beta=beta, memory=memory)
        for gap in instance.gaps[1:]
    ]
    late = (found.pulls[:, 1:] > limits).any(axis=1).sum()
    assert may_be_at_most(int(late), runs, beta)
    late = (found.pulls[:, 1:] > np.array(limits) / 16).any(axis=1).sum()
    assert not may_be_at_most(int(late), runs, beta), "control"


# ---------------------------------------------------------------- privacy
class Quieter(dpb.BinomialDPSE):
    """Plays with five times the budget that it declares."""

    def play(self, *run):
        dpb.BinomialDPSE(5 * self.epsilon, self.beta, self.memory).play(*run)


@pytest.mark.statistical
def test_the_audit_sees_what_a_reward_changes():
    table = np.zeros((2, 12))
    table[0, :4] = 1.0
    pair = dpb.TablePair(table, arm=1, pull=0, value=1.0)
    found = dpb.audit(dpb.BinomialDPSE(1.0, 0.5), pair, 6000, failure=FALSE_ALARM)
    assert found.verdict == "no violation found" and found.epsilon_lower > 0.2
    assert dpb.audit(Quieter(1.0, 0.5), pair, 6000).verdict == "violation found", "control"
