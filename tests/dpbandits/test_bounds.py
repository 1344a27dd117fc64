"""Bounds: their algebra, and measured against simulation; each has a control that must fail."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statistical import may_be_at_most, mean_may_be_at_most

import dpbandits as dpb
from dpbandits import bounds

GAPS = st.floats(1e-6, 1)
ARMS = st.integers(2, 50)
BUDGETS = st.one_of(st.just(math.inf), st.floats(1e-4, 1e3))


# ---------------------------------------------------------------- Lemma 4.2
@given(GAPS)
def test_last_epoch_is_the_first_whose_gap_is_at_most_the_arms(gap):
    last = bounds.elimination_last_epoch(gap)
    assert last >= 1 and gap >= 2.0**-last
    assert last == 1 or gap < 2.0 ** -(last - 1)
    assert last <= math.log2(2 / gap) * (1 + 1e-12)


@given(GAPS, ARMS, st.floats(1e-12, 0.999), BUDGETS)
def test_closed_form_is_above_the_exact_sum(gap, n_arms, beta, epsilon):
    exact = bounds.elimination_pulls(gap, n_arms, beta, epsilon)
    closed = bounds.elimination_pulls_closed_form(gap, n_arms, beta, epsilon)
    assert exact <= closed <= 20 * exact


def test_constants_are_those_of_the_repair():
    """By hand: Δ = 1/4, whose last epoch is 2, K = 3, β = 1/20, ε = 1/2; K = 5, T = 10^4, m = 6."""
    repaired = 512 / 3 * 16 * math.log(1920) + 32 * 8 * math.log(960) + 4
    assert bounds.elimination_pulls_closed_form(0.25, 3, 0.05, 0.5) == pytest.approx(repaired)
    sampling, privacy = 512 / 3 * math.log(1440 * 10**4), 64 * math.log(720 * 10**4)
    minimax = 2 * math.sqrt(4 * sampling * 10**4) + 4 * (privacy + 4 / (math.e * math.log(2)))
    minimax += math.pi**2 / 12
    assert bounds.elimination_minimax_regret(5, 10**4, 0.5) == pytest.approx(minimax, rel=1e-12)
    short = 2 * math.sqrt(9 * 512 / 3 * math.log(800) * 10) + 9 * 4 / (math.e * math.log(2))
    short += math.pi**2 / 12  # K = T = 10: m is 1, and not 0
    assert bounds.elimination_minimax_regret(10, 10) == pytest.approx(short, rel=1e-12)


@given(st.floats(1e-9, 0.99))
def test_failure_sums_the_epochs(beta):
    total = np.sum(beta / (2.0 * np.arange(1, 100_001) ** 2))
    assert bounds.elimination_failure(beta) == pytest.approx(total, rel=1e-4)
    assert bounds.elimination_failure(beta, private=False) == bounds.elimination_failure(beta) / 2


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.05, 1.0, math.inf])
@pytest.mark.parametrize("means", [(0.9, 0.65), (0.75, 0.625, 0.5, 0.25), (0.6, 0.5, 0.5, 0.5)])
def test_pulls_exceed_lemma_42_no_more_often_than_it_allows(means, epsilon):
    beta, runs = 0.3, 500
    instance = dpb.instances.bernoulli(means)
    simulated = dpb.simulate(dpb.DPSE(epsilon, beta), instance, 10**6, runs)
    lower = instance.gaps > 0
    size = instance.n_arms
    limits = [bounds.elimination_pulls(g, size, beta, epsilon) for g in instance.gaps[lower]]
    assert max(limits) < 10**6 / len(means), "the horizon does not hide a violation"
    allowed = bounds.elimination_failure(beta, private=math.isfinite(epsilon))
    beyond, control = (
        int((simulated.pulls[:, lower] > np.array(limits) / factor).any(axis=1).sum())
        for factor in (1, 40)
    )
    assert may_be_at_most(beyond, runs, allowed)
    assert not may_be_at_most(control, runs, allowed), "the bound is within a factor 40"


# ---------------------------------------------------------------- Theorem 4.3
@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4"])
@pytest.mark.parametrize("n_arms", [3, 10])
def test_theorem_43_is_above_the_simulated_mean(name, n_arms, epsilon):
    """At every checkpoint; it says something at the horizon, and is within a factor of 20."""
    algorithm, instance, horizon = dpb.DPSE(epsilon), dpb.instances.ss19(name, n_arms), 10**10
    simulated = dpb.simulate(algorithm, instance, horizon, 40)
    bound = algorithm.regret_bound(instance, horizon, simulated.times)
    for sample, limit in zip(simulated.regret.T, bound, strict=True):
        assert mean_may_be_at_most(sample, limit * (1 + 1e-12), 1 / simulated.times.size)
    assert bound[-1] < 0.9 * horizon * instance.gaps.max(), "the bound says something"
    assert not mean_may_be_at_most(simulated.regret[:, -1], bound[-1] / 20), "control"


@given(
    st.lists(st.just(0.0) | st.floats(1e-9, 1), min_size=2, max_size=12),
    BUDGETS,
    st.integers(20, 10**12),
)
def test_elimination_regret_is_what_the_worst_allowed_pulls_cost(gaps, epsilon, horizon):
    """Against a greedy pull count written out, at a few times."""
    assume(max(gaps) > 0)
    gaps, beta = [0.0, *gaps], 1 / horizon
    failure = bounds.elimination_failure(beta, private=math.isfinite(epsilon))
    for t in (1, horizon // 3, horizon):
        left, cost = t, 0.0
        for gap in sorted((gap for gap in gaps if gap > 0), reverse=True):
            pulls = min(left, bounds.elimination_pulls(gap, len(gaps), beta, epsilon))
            left -= pulls
            cost += gap * pulls
        expected = min(cost + failure * t * max(gaps), t * max(gaps))
        result = bounds.elimination_regret(gaps, horizon, epsilon=epsilon, times=t)
        assert result == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gap", [5e-324, 1e-200, 1e-17])
def test_gaps_that_no_horizon_can_see_overflow_nowhere_and_tied_arms_cost_nothing(gap):
    assert bounds.elimination_regret([0, 0, 0], 1000, epsilon=1.0) == 0
    assert bounds.ucb_regret([0, 0], 1000) == 0
    for epsilon in (0.1, math.inf):
        bound, seen = (
            bounds.elimination_regret([0, small, 0.5], 10**6, epsilon=epsilon)
            for small in (gap, 1e-12)
        )
        assert bound == pytest.approx(seen, rel=1e-6)


# ---------------------------------------------------------------- Theorem 4.4
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("n_arms", [2, 10])
def test_minimax_bound_is_met_within_a_factor_by_the_worst_gap(n_arms, epsilon):
    """Control: no bound below a fifth of it would be above the instances' bounds."""
    minimax = bounds.elimination_minimax_regret(n_arms, 1e12, epsilon)
    gaps = ([0.0] + [gap] * (n_arms - 1) for gap in np.geomspace(1e-7, 1, 200))
    worst = max(bounds.elimination_regret(g, 1e12, epsilon=epsilon) for g in gaps)
    assert minimax / 5 < worst <= minimax


# ---------------------------------------------------------------- UCB and DP-UCB
@given(st.floats(1e-4, 1), st.floats(2, 1e12), st.floats(0, 1e6))
def test_dp_ucb_pulls_solves_its_equation(gap, t, gamma):
    n = float(bounds.dp_ucb_pulls(gap, t, gamma))
    width = 2 * math.sqrt(2 * math.log(t) / n) + 2 * gamma / n
    assert width == pytest.approx(gap, rel=1e-9)
    assert 2 * math.sqrt(2 * math.log(t) / (2 * n)) + gamma / n < gap
    assert bounds.dp_ucb_pulls(gap, t) == pytest.approx(8 * math.log(t) / gap**2, rel=1e-12)


@pytest.mark.parametrize("horizon", [10**5, 10**9])
def test_ucb_regret_is_auers_theorem(horizon):
    gaps = [0.0, 0.5, 0.3, 0.3]
    expected = sum(8 * math.log(horizon) / d + (1 + math.pi**2 / 3) * d for d in gaps[1:])
    assert bounds.ucb_regret(gaps, horizon) == pytest.approx(expected, rel=1e-12)
    assert bounds.ucb_regret(gaps, horizon, times=10) == 5.0  # capped at t·max Δ


# ---------------------------------------------------------------- lower bounds
@given(st.lists(st.floats(0, 0.9), min_size=1, max_size=8), st.floats(1e-3, 30))
def test_asymptotic_rates_by_hand(others, epsilon):
    best, means = 0.95, [*others, 0.95]
    gaps = np.array([best - mu for mu in others])
    kl = [stats.entropy([mu, 1 - mu], [best, 1 - best]) for mu in others]
    assert bounds.lai_robbins_rate(means) == pytest.approx(np.sum(gaps / kl), rel=1e-9)
    assert bounds.lai_robbins_rate([1.0, 0.5]) == 0, "one reward tells the arms apart"
    rate = bounds.private_lower_bound_rate(means, epsilon)
    assert rate == pytest.approx(len(others) / epsilon, rel=1e-12)
    # never below what group privacy of whole samples gives, by Jensen's inequality
    assert rate >= np.sum(gaps / bounds.group_privacy_factor(gaps, epsilon)) * (1 - 1e-9)
    assert rate >= gaps.sum() / epsilon * (1 - 1e-9), "an arm costs at least gap/ε, as gap ≤ 1"
    assert bounds.private_lower_bound_rate([*others, 1.0], epsilon) == 0, "no arm can be better"
    assert bounds.private_lower_bound_rate(means, math.inf) == 0


def law_of_actions(means, epsilon, horizon):
    """P(actions), arm 1 first: an arm is kept while its last reward, flipped for privacy, is 1."""
    flip, law = 1 / (1 + math.exp(epsilon)), {}
    for later in itertools.product((0, 1), repeat=horizon - 1):
        actions, law[1, *later] = (1, *later), 1.0
        for now, then in itertools.pairwise(actions):
            kept = flip + (1 - 2 * flip) * means[now]
            law[actions] *= kept if now == then else 1 - kept
    return law


def divergence_over_bound(mean, raised, epsilon, budget, horizon):
    """KL of the actions' laws over what thm-lower allows, ε·d·E N, with arm 1's mean raised."""
    p, q = (law_of_actions((0.5, m), budget, horizon) for m in (mean, raised))
    divergence = sum(p[actions] * math.log(p[actions] / q[actions]) for actions in p)
    pulls = sum(p[actions] * sum(actions) for actions in p)
    return divergence / (epsilon * (raised - mean) * pulls)


@given(st.floats(0, 0.9), st.floats(0.01, 0.1), st.floats(0.01, 8), st.integers(2, 6))
def test_the_coupling_bounds_what_actions_tell_of_a_raised_mean(mean, by, epsilon, horizon):
    assert divergence_over_bound(mean, mean + by, epsilon, epsilon, horizon) <= 1 + 1e-9


def test_the_coupling_is_sharp_and_refutes_what_is_not_private():
    assert divergence_over_bound(0.0, 1.0, 8.0, 8.0, 2) > 0.99
    assert divergence_over_bound(0.5, 0.9, 0.1, 20.0, 4) > 1, "control: hardly a flip"


def test_minimax_lower_bounds_stay_below_the_upper_and_the_private_one_solves_its_equation():
    for n_arms, horizon, epsilon in itertools.product([2, 20], [10**4, 10**12], [0.01, 0.5, 2.0]):
        low = bounds.private_minimax_lower_bound(n_arms, horizon, epsilon)
        c = (n_arms - 1) / (2 * epsilon)
        assert low == pytest.approx(c * math.log(horizon / (16 * low)), rel=1e-9)
        assert low <= min(horizon, bounds.elimination_minimax_regret(n_arms, horizon, epsilon))
        low = bounds.minimax_lower_bound(n_arms, horizon)
        assert low == min(math.sqrt(n_arms * horizon), horizon) / 20
        assert low < bounds.elimination_minimax_regret(n_arms, horizon)
    assert bounds.private_minimax_lower_bound(2, 1e6, math.inf) == 0
    tiny = bounds.private_minimax_lower_bound(2, 1e300, 1e300)
    assert tiny == pytest.approx(5e-301 * 600 * math.log(10), rel=0.01), "nothing overflows"


# ---------------------------------------------------------------- Lemma 3.5, group privacy
def differences(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def counting_mechanism(epsilon, n):
    """P(output 1 | x) proportional to e^(ε·number of ones): ε-DP with binary outputs."""
    scale = (1 - math.exp(-epsilon)) * math.exp(-epsilon * n)
    return {x: scale * math.exp(epsilon * sum(x)) for x in itertools.product((0, 1), repeat=n)}


def is_private(mechanism, epsilon):
    """Whether a binary-output mechanism on {0, 1}^n is ε-DP, by enumeration of all neighbours."""
    limit = math.exp(epsilon) * (1 + 1e-9)
    return all(
        p <= limit * q and 1 - p <= limit * (1 - q)
        for (x, p), (y, q) in itertools.permutations(mechanism.items(), 2)
        if differences(x, y) == 1
    )


def log_ratio(mechanism, *means):
    """Log of the ratio of the probabilities of output 1 on Bernoulli data of two means."""
    first, second = (
        sum(value * math.prod(p if bit else 1 - p for bit in x) for x, value in mechanism.items())
        for p in means
    )
    return math.log(first / second)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("d", [0.001, 0.2, 1.0])
def test_group_privacy_factor_is_attained(d, epsilon, n):
    """D = Bernoulli(d) against D' = 0, by a mechanism that counts ones: for every n."""
    mechanism = counting_mechanism(epsilon, n)
    assert is_private(mechanism, epsilon) and not is_private(mechanism, 0.9 * epsilon)
    ratio = log_ratio(mechanism, d, 0.0)
    factor = float(bounds.group_privacy_factor(d, epsilon, n))
    assert ratio == pytest.approx(factor, rel=1e-9)
    assert ratio > 0.99 * factor  # control: no smaller factor would do
    assert not is_private(counting_mechanism(1.5 * epsilon, n), epsilon)  # control: a larger budget
