"""The theorems at their corners: the least and the greatest of what they allow.

Two pulls, certain rewards, equal arms, a gap of 10⁻⁷, ten thousand arms, ε of 10⁻⁹ and 10⁹,
β near 1. Where the law is known, probabilities are computed, and nothing is drawn.
"""

import dataclasses
import inspect
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from statistical import one_sample_limit
from test_registry import CONFIGURATIONS, RULES

import dpbandits as dpb
from dpbandits import bounds, privacy
from dpbandits._engine.accelerators import nas_sampling
from dpbandits._engine.kernels import interpreted
from dpbandits.auditing import TablePair, audit
from dpbandits.divergences import calibrated_plus_kernel, d_eps_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy.estimates import TruncatedMean, error_lower_bound, hard_law
from dpbandits.heavy.robust_means import CENTRAL_FAILURE, LOCAL_FAILURE, fitted_mean
from dpbandits.identification import characteristic_time
from dpbandits.identification.thresholds import gaussian_threshold, separate_threshold
from dpbandits.mechanisms import BinaryTree
from dpbandits.mechanisms.noise import laplace_sum_tail
from dpbandits.mechanisms.randomised_response import lie_probability
from dpbandits.privacy import epsilon_at
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw
from dpbandits.rewards.truncated_sums import truncated_sum
from dpbandits.schedules import noise_bracket, noise_width
from dpbandits.schedules.batches import next_release
from dpbandits.stopping import halting_law
from dpbandits.stopping.halting import boundary_kernel
from dpbandits.stopping.halting_laws import (
    crossing_loss,
    looks_at,
    loss_limit,
    margins,
    sparse_vector_law,
)

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


def grids(algorithm, corner):
    """Budgets and horizons of the bounds: every second budget in all corners but the first."""
    first = corner == "two pulls"
    budgets = BUDGETS if first else BUDGETS[::2]
    if not isinstance(algorithm, dpb.BennettDPSE):
        return [(budgets, HORIZONS)]
    far = [((BUDGETS[0], math.inf), HORIZONS[-2:])]  # a plan for 10¹⁸ pulls takes seconds
    return [(budgets, HORIZONS[:-1]), *(far if first else [])]


@pytest.mark.parametrize("algorithm", BOUNDED, ids=named)
def test_a_bound_falls_with_the_budget_and_rises_with_the_horizon(algorithm):
    for corner, (means, _) in CORNERS.items():
        if corner == "certain":
            continue  # "two pulls" with its arms exchanged
        instance = dpb.instances.bernoulli(means[:20])
        for budgets, horizons in grids(algorithm, corner):
            horizons = [n for n in horizons if n >= instance.n_arms]
            kinds = [each for each in (at(algorithm, epsilon) for epsilon in budgets) if each]
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


@pytest.mark.parametrize("quiet", [0, 400, 5000, 40_000])
def test_a_loop_in_bulk_misses_no_look_of_a_given_stream(quiet, monkeypatch):
    """Sums near 0 for long, then samples of 1: it ends where |S_n| first meets the boundary."""
    stream = np.append(np.resize([1.0, -1.0], quiet), np.ones(40_000))
    halting, taken = dpb.NAS(0.9, 0.5).halting, [0]

    def given(rng, law, size):
        taken[0] += size
        return float(stream[taken[0] - size : taken[0]].sum())

    monkeypatch.setattr(nas_sampling, "sum_of_draws", given)
    n, _, halted = interpreted(nas_sampling._draw_every)(
        np.random.default_rng(0), halting, None, 10**5
    )
    sums = np.abs(np.cumsum(stream))
    boundary = [boundary_kernel(halting, float(i), float(i)) for i in range(1, n + 50)]
    assert halted and n == 1 + np.flatnonzero(sums[: n + 49] >= boundary)[0] > quiet


@pytest.mark.statistical
def test_a_noisy_loop_in_bulk_misses_no_look():
    """On samples of 1 the time has its exact law, and not that of nine looks of ten."""
    rule, runs = dpb.DPNAS(5.0, 0.9, 0.3), 30_000
    length = 4 * rule.noiseless_time(1.0)
    found = np.sort(dpb.estimate(rule, dpb.laws.two_point(1.0), n_runs=runs).samples)
    seen = np.searchsorted(found, looks_at(rule, length), side="right") / runs
    halt = np.exp(halting_law(rule, np.ones(length)).log_halt)
    before = 1 - np.cumsum(halt) + halt
    fewer = 1 - np.cumprod(1 - 0.9 * halt / np.maximum(before, halt))
    assert np.abs(np.cumsum(halt) - seen).max() <= one_sample_limit(runs)
    assert np.abs(fewer - seen).max() > one_sample_limit(runs), "control"


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


# ------------------------------------------------ theorems against exact laws, without simulation
@pytest.mark.parametrize("model", ["none", "central", "local"])
def test_no_truncated_mean_beats_the_lower_bound_on_hidden_laws(model):
    """`thm-hidden-law`; such a mean errs more on the hard law than at 0: the noise is the same."""
    ratios = []
    for order, n, moment in itertools.product((0.001, 0.3, 1.0), (1, 10**9, 10**18), (1e-6, 1e6)):
        for epsilon in (math.inf,) if model == "none" else (1e-9, 1.0, 100.0):
            mean = TruncatedMean(model, epsilon, order, moment)
            on_hard = mean.rms(hard_law(model, n, epsilon, order, moment), n)
            ratios.append(error_lower_bound(model, n, epsilon, order, moment) / on_hard)
    assert 1 > max(ratios) > 0.2, "control: five times the bound is beaten"


def tail(x, scale):
    """P(Z > x) of a Laplace variable Z."""
    side = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x > 0, side, 1 - side)


def failure(model, non_negative, order, epsilon, beta, n, p, share=1.0):
    """P(the error of a mean of n rewards is above `share` of its half-width), exactly.

    Rewards are h with probability p, else 0, with p·h^(1+v) = 1.
    """
    least = (CENTRAL_FAILURE if model == "central" else LOCAL_FAILURE)[1]
    numbers = n, 1.0, order, epsilon, math.log(least / beta)
    bound, width = fitted_mean(*numbers, model, non_negative=non_negative)
    high = (1 / p) ** (1 / (1 + order))
    kept, count, width = (high if high <= bound else 0.0), np.arange(n + 1), share * width
    if model == "one-bit":
        lie = lie_probability(epsilon)
        one = lie + p * kept / bound * (1 - 2 * lie)
        errors = bound * (count / n - lie) / (1 - 2 * lie) - p * high
        return stats.binom(n, one).pmf(count)[np.abs(errors) > width].sum()
    scale = (1 if non_negative else 2) * bound / epsilon / (n if model == "central" else 1)
    error = kept * count / n - p * high
    failing = tail(width - error, scale) + tail(width + error, scale)
    return stats.binom(n, p).pmf(count) @ failing


MEANS = [("central", False), ("central", True), ("local", False), ("local", True)]


@pytest.mark.parametrize(("model", "non_negative"), [*MEANS, ("one-bit", True)])
def test_a_private_mean_fails_no_more_often_than_beta(model, non_negative):
    """`thm-central-mean`, `thm-local-mean`, `thm-one-bit`, `thm-fitted` on two-point laws."""
    kind, broken = (model, non_negative), 0
    sizes = (1,) if model == "local" else (1, 40)
    for order, epsilon in itertools.product((0.001, 0.3, 1.0), (1e-9, 0.1, 1.0, 100.0)):
        for beta, n in itertools.product((1 - 1e-6, 1e-3, 1e-60), sizes):
            for p in (1e-9, 0.3, 1.0):
                case = (*kind, order, epsilon, beta, n, p)
                assert failure(*case) <= beta, case
                broken += failure(*case, share=0.3) > beta
    assert broken > 20, "control: three tenths of the half-width are not enough"


@pytest.mark.parametrize("kind", [dpb.DPNAS, dpb.DPExponentialNAS])
def test_a_private_rule_does_not_halt_on_nothing(kind):
    """`thm-dpnas`: where all samples are 0, halting is an error; its exact probability."""
    for alpha, beta in itertools.product((0.999, 0.5, 1e-3), (0.49, 0.05, 1e-60)):
        for epsilon in (1e-9, 1.0, 1e3):
            rule = kind(epsilon, alpha, beta)
            times, noise = looks_at(rule, 64), rule.halting
            q = margins(rule, np.zeros(times.size))
            scales = noise.threshold_scale, noise.query_scale
            halt, _, _ = sparse_vector_law(q, *scales)
            assert logsumexp(halt) <= math.log(beta)
            free, _, _ = sparse_vector_law(0.1 * q, *scales)
            assert epsilon != 1.0 or beta < 1e-3 or alpha < 0.1 or logsumexp(free) > math.log(beta)


@pytest.mark.parametrize("kind", [dpb.DPNAS, dpb.DPExponentialNAS])
def test_the_loss_of_a_private_rule_keeps_to_its_budget(kind):
    """`thm-svt`, `prop-loss-limit`: on the pair of streams that crosses at a look."""
    most = 0.0
    for alpha, beta in itertools.product((0.999, 1e-3), (0.49, 1e-60)):
        for epsilon, look in itertools.product((1e-9, 1.0, 1e3), (1, 2, 9)):
            rule = kind(epsilon, alpha, beta)
            loss = crossing_loss(rule, look)
            assert 0 <= loss <= min(loss_limit(rule, look), epsilon) * (1 + 1e-9)
            most = max(most, loss / epsilon)
    assert most > 0.15, "control: the bound is not far off"


def test_the_quantile_of_a_short_tree_is_not_exceeded():
    """`thm-counters` for the first three sums, of one or two Laplace variables of scale L/ε."""
    for epsilon, beta in itertools.product((1e-9, 1.0, 1e9), (1 - 1e-9, 0.5, 1e-80)):
        for horizon in (1, 2, 3):
            tree = BinaryTree(epsilon, horizon)
            x = tree.error_quantile(beta) * epsilon / tree.levels
            exceeded = math.exp(-x) * (1 + x / 2 if horizon == 3 else 1)
            assert exceeded <= beta
            x *= 0.2
            assert beta < 0.1 or math.exp(-x) * (1 + x / 2 if horizon == 3 else 1) > 0.3 * beta


@pytest.mark.parametrize("delta", [1e-12, 0.3])
@pytest.mark.parametrize("losses", [[1e-7] * 10**4, [50.0], [1e-3, 10.0], [1.0] * 30], ids=len)
def test_what_releases_lose_together_is_below_the_formulas(losses, delta):
    """`thm-advanced` and the sum; for the losses of one release they are far apart."""
    together = epsilon_at(delta, losses)
    formulas = privacy.advanced_composition(losses, delta), privacy.basic_composition(losses)
    assert together.lower <= together.upper <= min(formulas) * (1 + 1e-9)
    assert together.upper > max(losses) + 2 * math.log1p(-delta) - 1e-6, "control: one of them"


@pytest.mark.parametrize(
    "means",
    [
        *([0.5, 0.5 - 1e-7], [1.0, 0.0], [1e-9, 0.0], [1.0, 1 - 1e-9]),
        *([0.9] + [0.9 - 1e-7] * 99, [0.9] + [0.1] * 9_999),
    ],
    ids=lambda means: f"{len(means)} arms, {means[0]:g}",
)
def test_the_floor_keeps_between_its_limits(means):
    """`thm-time-facts`, parts 1 and 2; T*_TV is written out."""
    budgets = np.array([1e-9, 1e-3, 1.0, 1e3, 1e9])
    gaps = means[0] - np.array(means[1:])
    total_variation = 1 / gaps.min() + (1 / gaps).sum()
    free = characteristic_time(means, math.inf).value
    times = np.array([characteristic_time(means, epsilon).value for epsilon in budgets])
    near = 1 + 1e-9
    assert (np.diff(times) <= 1e-9 * times[1:]).all() and free <= times[-1] * near
    assert (np.diff(times * budgets) >= -1e-9 * (times * budgets)[1:]).all()
    assert (1 / total_variation - budgets / 8 <= near / (budgets * times)).all()
    assert (times * near >= np.maximum(free, total_variation / budgets)).all()
    assert times[0] * budgets[0] < 1.01 * total_variation, "control: it is near its limit"


# ------------------------------------------------------ theorems about what goes wrong, and stops
def least_loss(reading, interval, exponent, t):
    """`thm-35-false`: what the regret after t pulls is at least, in parts of Δ."""
    sigma = interval ** (exponent / 2 - 1)
    since = t if reading == "refreshed" else 2 * interval + 1
    low = math.exp(-(2 + math.sqrt(2 * math.log(since) / interval)) / sigma)
    lost = 0.125 * low**2 if reading == "literal" else 0.5 * low
    j = np.arange(1.0, 2e5)
    q = math.exp(np.log1p(-0.5 * np.exp(-((j * interval) ** (1 - exponent / 2)))).sum())
    return q * (t - 2 * interval) * lost


@pytest.mark.parametrize("exponent", [1 + 1e-9, 1.1, 1.5])
@pytest.mark.parametrize("interval", [1, 2, 50, 10**6])
def test_dp_ucb_int_loses_the_best_arm_no_more_often_than_it_can(interval, exponent):
    """`thm-35-false`: at the first decision by the law of two noises, later below the bounds."""
    first = 2 * interval + 1
    scale = interval ** (exponent / 2 - 1)
    for reading in ("frozen", "refreshed", "literal"):
        algorithm = dpb.DPUCBInt(1 / interval, reading, exponent)
        for gap in (1.0, 1e-7):  # certain rewards, and a lead that the noise hides
            wrong = laplace_sum_tail(gap, (2,), (scale,))
            low = least_loss(reading, interval, exponent, first)
            assert low <= wrong
            if gap == 1.0 and interval == 50 and reading != "literal":
                assert low * math.exp(2 / scale) > wrong, "control: the 2 is needed"
            instance = dpb.instances.bernoulli([1.0, 1.0 - gap])
            for t in (first, 10**9, 10**18):
                low = gap * least_loss(reading, interval, exponent, t)
                assert 0 <= low <= algorithm.regret_bound(instance, t)
    if interval < 100:  # beyond it is too small for a float
        parts = [least_loss("frozen", interval, exponent, t) / t for t in (10**9, 10**18)]
        assert parts[1] >= parts[0] > 0.0, "it grows like t"


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 50.0, 1e9])
def test_an_estimate_falls_to_nothing_as_often_as_the_tail_says(epsilon):
    """`prop-imed-tail`: n rewards with k noises add to 0 or less, by convolution."""
    ratios = []
    for mean, n, k in itertools.product((1e-9, 0.5, 1 - 1e-9), (1, 2, 60), (1, 2, 7)):
        tails = [laplace_sum_tail(float(s), (k,), (1 / epsilon,)) for s in range(n + 1)]
        seen = math.fsum(stats.binom(n, mean).pmf(np.arange(n + 1)) * tails)
        least = 0.25 * math.exp(-n * d_eps_kernel(0.0, mean, epsilon))
        assert seen >= least * (1 - 1e-9) or least == 0.0, (mean, n, k)
        if k == 1 and least:
            ratios.append(seen / least)
    assert ratios == pytest.approx([2.0] * len(ratios), rel=1e-6), "of one noise it is half"


@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 50.0])
def test_the_wait_for_an_estimate_of_nothing_is_exponential(epsilon, calibrated, monkeypatch):
    """`prop-imed-tail`: the better arm's noise is −∞ from n = 4 pulls on; the other's mean is ¾."""
    algorithm, played = dpb.DPIMED(epsilon, calibrated=calibrated), []

    class Certain:
        """Every reward of arm 0 is 1, of arm 1 it is ¾; the run ends after 10⁵ pulls."""

        n_arms = 2

        def total(self, arm, size):
            played.extend([arm] * size)
            if len(played) > 10**5:
                raise StopIteration
            late = arm == 0 and played.count(0) >= 4
            return -math.inf if late else (1.0, 0.75)[arm] * size

    monkeypatch.setattr("dpbandits.regret.dp_imed.draw_laplace", lambda rng, scale: 0.0)
    with pytest.raises(StopIteration):
        algorithm.play(Certain(), 10**5, np.random.default_rng(0))
    pulls = np.cumsum(np.array(played) == 0)
    n, noises, at = int(pulls[pulls >= 4][0]), 0, 0
    while at < n:
        at, noises = next_release(at, algorithm.eta), noises + 1
    assert at == n
    evidence = calibrated_plus_kernel(0.0, 0.75, noises / n if calibrated else 0.0, epsilon)
    wait = min(10**5 - n, n * math.exp(min(n * evidence, 50.0)))
    others = np.arange(1, pulls.size + 1) - pulls
    assert (pulls[others < wait] <= n).all() and others[-1] > 0


def test_a_wrong_arm_is_ahead_by_a_threshold_as_rarely_as_is_proved():
    """`prop-adap`: of equal arms, by convolution; δ is spent on the releases k and k′."""
    wide, zeta = 0, math.pi**2 / 6
    for delta, n_arms, (k, j) in itertools.product(
        (0.999, 0.05, 1e-60), (2, 10**4), ((1, 1), (1, 30), (9, 9))
    ):
        spent = 0.5 * delta / ((n_arms - 1) * (zeta * k * j) ** 2)
        spent += sum(0.5 * delta / (n_arms * zeta * i**2) for i in (k, j))
        for epsilon, n, mean in itertools.product((1e-9, 1.0, 1e9), (1, 32), (0.5, 1 - 1e-7)):
            ones = stats.binom(n, mean).pmf(np.arange(n + 1))
            law = np.convolve(ones, ones[::-1])  # of the difference, from −n
            setting = delta, epsilon, n_arms, (k, j), (n, n)
            both = separate_threshold(*setting), gaussian_threshold("theoretical", *setting)
            for gap in (both[0], math.sqrt(both[1] * 2 * (2 / n))):
                short = [0.15 * gap, gap]
                less, seen = (
                    math.fsum(
                        p * laplace_sum_tail(x * n - d, (2,), (1 / epsilon,))
                        for p, d in zip(law, range(-n, n + 1), strict=True)
                    )
                    for x in short
                )
                assert seen <= spent, setting
                wide += less > spent
    assert wide > 20, "control: a seventh of the thresholds is not enough"


class Watched(dpb.DPLRE):
    """DP-LRE that notes the least pulls at the beginning of each round."""

    def plan(self, means, pulls, leader, lacking):
        SEEN.append(min(pulls))
        return super().plan(means, pulls, leader, lacking)


SEEN = []


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("means", "epsilon", "growth"),
    [
        ((1.0, 0.0), 1e-6, (0.1, 1.0)),
        ((1.0, 1.0 - 1e-3, 1.0 - 1e-3), 1.0, (0.1, 1.0)),
        ((1e-3, 0.0, 0.0, 0.0), math.inf, (0.1, 1.0)),
        ((0.5, 0.5 - 1e-6), 1.0, (1.0, 1.0)),
        ((1.0, 0.0), 1e9, (1e-3, 1e-3)),
        ((0.6, *[0.5] * 9), 1.0, (1.0, 1e3)),
    ],
    ids=str,
)
def test_dp_lre_grows_as_fast_as_is_proved_and_stops(means, epsilon, growth):
    """`thm-lre-stops`; it is wrong with probability 10⁻⁷ in each of six cases."""
    SEEN.clear()
    algorithm = Watched(epsilon, 1e-7, *growth)
    law = dpb.instances.bernoulli(means)
    found = algorithm.draw(law, np.random.default_rng(0))
    assert found.recommendation == 0 and SEEN
    rounds = np.arange(len(SEEN))
    assert (0.5 * (1 + growth[0]) ** ((rounds - 2) / (2 * len(means))) <= SEEN).all()


@pytest.mark.statistical
@pytest.mark.parametrize("promise", [1e-6, 1.0, 1e6])
def test_a_leak_that_is_rare_enough_is_acquitted(promise):
    """`prop-rare` with ρ = 10⁻¹² and φ = 2·10⁻⁷; printing always is convicted."""
    pair, declared = TablePair([[0.0, 1.0]], 0, 0, 1.0), PrivacyGuarantee("central", promise)

    def leaking(share):
        def program(rewards, rng):
            total = rewards.pull(0)
            return total if rng.random() < share else total + rng.laplace(0.0, 1.0 / promise)

        return program

    verdicts = [audit(leaking(p), pair, 4000, failure=2e-7, guarantee=declared) for p in (1e-12, 1)]
    assert verdicts[0].verdict == "no violation found"
    assert verdicts[1].verdict == ("violation found" if promise < 5 else "no violation found"), (
        "control"
    )
