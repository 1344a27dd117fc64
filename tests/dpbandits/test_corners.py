"""The theorems at their corners: the least and the greatest of what they allow.

Two pulls, certain rewards, equal arms, a gap of 10⁻⁷, ten thousand arms, ε of 10⁻⁹ and 10⁹,
β near 1.
"""

import dataclasses
import inspect
import math

import numpy as np
import pytest
from scipy import stats
from test_registry import CONFIGURATIONS, RULES

import dpbandits as dpb
from dpbandits import bounds, privacy
from dpbandits.privacy import epsilon_at
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import truncated_sum
from dpbandits.schedules import noise_bracket, noise_width

BUDGETS = [1e-9, 1e-2, 1.0, 1e9, math.inf]
HORIZONS = [2, 10**3, 10**6, 10**18]
CORNERS = {
    "two pulls": ((1.0, 0.0), 2),
    "certain": ((0.0, 1.0), 300),
    "nothing": ((0.0, 0.0), 300),
    "everything": ((1.0, 1.0, 1.0), 300),
    "a gap of 1e-7": ((0.5, 0.5 - 1e-7), 300),
    "many arms": ((0.9,) + (0.1,) * 9_999, 10_500),
}
BOUNDED = [
    each
    for listed in CONFIGURATIONS.values()
    for each in listed[:1]
    if not isinstance(each, HeavyTailAlgorithm | dpb.ExploreThenCommit)  # has tests of its own
]


def named(value):
    return type(value).__name__


def at(algorithm, epsilon):
    """The algorithm with another ε; None if it has none, or refuses that."""
    if "epsilon" not in inspect.signature(type(algorithm)).parameters:
        return algorithm if math.isinf(epsilon) else None
    try:
        return dataclasses.replace(algorithm, epsilon=epsilon)
    except ValueError:
        return None


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("algorithm", BOUNDED, ids=named)
def test_a_run_keeps_its_count_and_its_regret_in_every_corner(algorithm, corner):
    means, horizon = CORNERS[corner]
    instance = dpb.instances.bernoulli(means)
    budgets = (1e-3, math.inf) if corner == "many arms" else (1e-9, 1e9, math.inf)
    for each in filter(None, (at(algorithm, epsilon) for epsilon in budgets)):
        times = np.array([horizon // 2, horizon])
        play = each.draw(instance, horizon, times, np.random.default_rng(0))
        assert play.counts.sum(axis=1).tolist() == times.tolist() and (play.counts >= 0).all()
        regret, most = play.regret(instance.gaps), instance.gaps.max() * times
        assert (regret >= 0).all() and (regret <= most * (1 + 1e-12)).all()
        if corner == "two pulls":
            assert play.counts[-1].tolist() == [1, 1] or "SE" in named(each), "each arm once"


@pytest.mark.parametrize("algorithm", BOUNDED, ids=named)
def test_a_bound_falls_with_the_budget_and_rises_with_the_horizon(algorithm):
    for means, _ in CORNERS.values():
        instance = dpb.instances.bernoulli(means[:20])
        n_arms = instance.n_arms
        horizons = [n for n in HORIZONS if n >= n_arms]
        kinds = [each for each in (at(algorithm, epsilon) for epsilon in BUDGETS) if each]
        table = np.array([[each.regret_bound(instance, n) for n in horizons] for each in kinds])
        assert not np.isnan(table).any() and (table >= 0).all()
        finite = np.where(np.isfinite(table), table, 1e300)
        fewer = isinstance(algorithm, dpb.DPUCBInt)  # with more budget it releases more often
        assert fewer or (np.diff(finite, axis=0) <= 1e-9 * finite[1:]).all(), "less regret"
        assert (np.diff(finite, axis=1) >= -1e-9 * finite[:, 1:]).all(), "longer, more regret"


@pytest.mark.parametrize("listed", RULES.values(), ids=RULES)
def test_a_stopping_rule_on_certain_samples(listed):
    """All samples are ±R, and the noise is 10⁻⁶ of what it is at ε = 1: no estimate is wrong."""
    for alpha, beta in [(0.99, 0.45), (0.01, 1e-9), (0.5, 1e-90)]:
        rule = dataclasses.replace(listed[0], alpha=alpha, beta=beta)
        rule = at(rule, 1e6) or rule
        for mean in (-rule.half_range, rule.half_range):
            law = dpb.laws.two_point(mean, rule.half_range)
            found = dpb.estimate(rule, law, n_runs=2)
            assert found.halted.all() and (found.relative_error <= alpha).all()


def test_lower_bounds_lie_below_upper_bounds():
    for n_arms in (2, 10**4):
        for horizon in (n_arms, 10**6, 10**12):
            lower = [bounds.private_minimax_lower_bound(n_arms, horizon, e) for e in BUDGETS]
            upper = [bounds.elimination_minimax_regret(n_arms, horizon, e) for e in BUDGETS]
            assert (np.array(lower) <= np.array(upper)).all() and (np.diff(lower) <= 0).all()
    for means in ([0.5, 0.5 - 1e-7], [0.999999, 0.9], [0.5, *[0.4] * 5000]):
        rates = [bounds.private_lower_bound_rate(means, epsilon) for epsilon in BUDGETS]
        assert (np.diff(rates) <= 0).all()


# --------------------------------------------------------- what faults put in by hand have shown


@pytest.mark.statistical
@pytest.mark.parametrize(("variance", "fine"), [(1.0, True), (2.0, False)])
def test_counts_too_long_for_whole_numbers_have_the_variance_of_binomial_ones(variance, fine):
    """2000 counts of 10²⁰ rewards with p = 1/2 (n·p for the variance would double it); 10⁻⁹."""
    n, rng = 10**20, np.random.default_rng(7)
    law = TwoPointHeavyLaw(high=1.0, probability=0.5)
    counts = np.array([truncated_sum(rng, law, n, math.inf) for _ in range(2000)])
    square = variance * ((counts - n / 2) ** 2).sum() / (n / 4)
    low, high = stats.chi2(2000).ppf([5e-10, 1 - 5e-10])
    assert (low <= square <= high) == fine


def test_the_width_of_dp_ucb_bound_has_binary_logarithms():
    """4√8·λ·log t·(log2 n' + 1), written out."""
    assert [noise_bracket(n) for n in (8, 9, 11, 15)] == [
        *(1.0, 1.0, pytest.approx(1 + math.log(3) / math.log(2))),
        pytest.approx(1 + math.log(7) / math.log(2)),
    ]
    assert noise_width(0.5, math.log(7), 3.0) == pytest.approx(
        4 * math.sqrt(8) * 0.5 * math.log(7) * 3
    )


@pytest.mark.parametrize("kind", [dpb.NAS, dpb.DPNAS, dpb.DPExponentialNAS])
def test_a_loop_misses_no_look(kind):
    """On samples of 1, without noise, a run ends at the first look that suffices."""
    for alpha in (0.99, 0.5, 0.2, 0.1):
        for beta in (0.9, 0.3, 0.05, 1e-6, 1e-30):
            rule = kind(alpha, beta) if kind is dpb.NAS else kind(math.inf, alpha, beta)
            found = dpb.estimate(rule, dpb.laws.two_point(1.0), n_runs=1)
            assert found.samples.tolist() == [rule.noiseless_time(1.0)]


def test_the_bracket_of_a_composition_allows_for_its_errors():
    """One Laplace release has ε0 + 2·log(1 − δ); the ends move apart with the errors."""
    for epsilon, delta in [(1.0, 0.2), (0.1, 0.01), (5.0, 1e-6)]:
        found, exact = epsilon_at(delta, [epsilon]), epsilon + 2 * math.log1p(-delta)
        assert found.lower <= exact <= found.upper
    inversion = privacy._Inversion(privacy._Releases(np.full(30, 0.2)), 1.0, 1e-6)
    lower, upper = inversion.bounds(1.0)
    inversion.error *= 2
    wider = inversion.bounds(1.0)
    assert inversion.error > 0 and wider[0] < lower < upper < wider[1]
