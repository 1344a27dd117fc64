"""Stopping with a promised deviation: the choice by counts, the windows, errors and samples.

`alone` and `chosen` are written from the pseudo-code of the chapter, with its formulas written out,
and can make a mistake, for negative controls.
"""

import functools
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import FALSE_ALARM, clopper_pearson, may_be_at_most, mean_may_be_at_most, same_law
from test_validation import refusal

import dpbandits as dpb
from dpbandits import bounds
from dpbandits.auditing import TablePair, audit
from dpbandits.mechanisms import CountChoice
from dpbandits.rewards.laws import discrete, low_variance, two_point
from dpbandits.stopping import promised

RULE = dpb.DPPromisedStop(0.1, 0.5, 0.05, 1e-4)


# ---------------------------------------------------------------- the choice by counts
def losses(probabilities, size, options):
    """The greatest logarithm of a ratio between neighbours, and the least chance of none.

    `probabilities` has that of an option of each count. A sample goes from an option to another,
    or comes from none or goes to none: all that a change does.
    """

    def outputs(counts):
        found = [probabilities[count] for count in counts]
        return [*found, 1 - math.fsum(found)]

    vectors = [v for v in itertools.product(range(size + 1), repeat=options) if sum(v) <= size]
    least = min(outputs(v)[-1] for v in vectors)
    if least <= 0:
        return math.inf, least
    worst = 0.0
    for counts in vectors:
        for come, gone in itertools.product(range(options), range(-1, options)):
            other = list(counts)
            other[come] += 1
            if gone >= 0:
                other[gone] -= 1
            if come != gone and min(other) >= 0 and sum(other) <= size:
                pairs = zip(outputs(counts), outputs(other), strict=True)
                worst = max(worst, *(abs(math.log(p / q)) for p, q in pairs))
    return worst, least


def chances(choice, weight=None):
    weight = choice.weight if weight is None else weight
    numbers = [choice.probability(count) for count in range(choice.size + 1)]
    return [weight / choice.weight * number for number in numbers]


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("size", "options"), [(4, 2), (7, 3), (9, 2), (12, 2), (5, 4), (1, 3)])
def test_the_choice_is_private_exactly(epsilon, size, options):
    for share in (0.5, 0.6, 0.75, 1.0, 1.3):
        choice = CountChoice(epsilon, size, options, share * size)
        worst, least = losses(chances(choice), size, options)
        assert worst <= epsilon * (1 + 1e-9) and least > 0
        assert size == 1 or worst >= epsilon * (1 - 1e-9), "nothing is left of the budget"


def test_a_choice_without_its_weight_is_not_private():
    """Control: with M = 1 "none" is too rare where one option has all; so with too low a κ."""
    choice = CountChoice(0.5, 12, 3, 8.0)
    assert losses(chances(choice), 12, 3)[0] <= 0.5 + 1e-9
    assert losses(chances(choice, weight=1.0), 12, 3)[0] > 0.55
    refusal("threshold", 5.9, lambda: CountChoice(0.5, 12, 3, 5.9))
    refusal("count", 13, lambda: choice.probability(13))


@pytest.mark.statistical
def test_options_are_drawn_with_their_probabilities():
    choice, runs, rng = CountChoice(0.3, 12, 6, 7.0), 200_000, np.random.default_rng(1)
    counts = {4: 8, 1: 3}
    drawn = [choice.draw(rng, counts) for _ in range(runs)]
    assert {*drawn} == {0, 1, 2, 3, 4, 5, None}
    for option in range(6):
        low, high = clopper_pearson(drawn.count(option), runs, share=1 / 6)
        assert low <= choice.probability(counts.get(option, 0)) <= high
        assert not low <= choice.probability(counts.get(option, 0) + 1) <= high, "control"
    full = CountChoice(0.3, 12, 2, 7.0)
    assert {full.draw(rng, {0: 6, 1: 6}) for _ in range(1000)} == {0, 1, None}


# ---------------------------------------------------------------- windows
SHIFTS = st.floats(0, 1, exclude_max=True)


@given(
    st.floats(0.02, 0.95),
    st.floats(1e-6, 1e-3),
    SHIFTS,
    st.floats(-1, 1),
    st.floats(-1, 1),
)
def test_a_window_is_right_for_every_mean_within_the_margin(alpha, deviation, shift, sample, off):
    plan = dpb.DPPromisedStop(0.1, alpha, 0.05, deviation).plan
    window, mean = plan.window(sample, shift), sample + 0.999 * off * plan.margin
    assert 0 <= window <= 2 * plan.windows
    assert window == 0 or (window % 2 == 1) == (sample > 0)
    if window == 0:
        assert abs(sample) < plan.near - 2 * plan.margin
    elif abs(mean) <= 1:
        estimate = plan.estimate(window, shift, alpha)
        assert abs(estimate - mean) <= alpha * abs(mean) * (1 + 1e-9)


def test_a_window_is_right_for_no_wider_margin():
    """The control: with one and a half times the margin, a mean at an end has a wrong estimate."""
    plan, wrong = RULE.plan, 0
    for sample in np.geomspace(0.0061, 0.9, 2000):
        estimate = plan.estimate(plan.window(sample, 0.4), 0.4, 0.5)
        means = sample - 1.5 * plan.margin, sample + 1.5 * plan.margin
        wrong += any(abs(estimate - mean) > 0.5 * mean * (1 + 1e-9) for mean in means)
    assert wrong > 0


@pytest.mark.statistical
def test_an_end_is_near_the_mean_as_often_as_it_says():
    rng, runs, plan = np.random.default_rng(2), 20_000, RULE.plan
    shifts = rng.random(runs)
    for mean in (0.006, 0.01, 0.03, 0.3, 1.0):
        ends = plan.offset + plan.lowest * plan.ratio ** (np.arange(8)[:, None] + shifts)
        near = int((np.abs(ends - mean) <= plan.margin).any(axis=0).sum())
        low, high = clopper_pearson(near, runs, share=0.2)
        assert low <= RULE.straddle(mean) <= high and RULE.straddle(-mean) == RULE.straddle(mean)
        assert not low <= 2 * RULE.straddle(mean) + 1e-3 <= high, "control"
        assert RULE.straddle(mean) <= plan.straddle
    assert RULE.straddle(0.0) == 0.0 == dpb.DPPromisedStop(0.1, 0.5, 0.05).straddle(0.1)


# ---------------------------------------------------------------- the program
@dataclass(frozen=True)
class Setting:
    epsilon: float
    alpha: float
    beta: float
    deviation: float
    law: dpb.laws.Law
    R: float = 1.0
    runs: int = 1500

    @property
    def rule(self):
        return dpb.DPPromisedStop(self.epsilon, self.alpha, self.beta, self.deviation, self.R)


def laplace_cdf(x):
    return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)


def chosen(counts, n, kappa, m, rate, rng, mistake):
    """One of all m options, or none: their probabilities in a row, and one draw from them."""
    rate = rate / 2 if mistake == "half of the exponent" else rate
    cdf = [laplace_cdf(rate * (count - kappa)) for count in counts]
    M = 1 / (1 + laplace_cdf(rate * (n - 2 * kappa)) + (m - 2) * laplace_cdf(-rate * kappa))
    chances = [M * each for each in cdf]
    return int(rng.choice(m + 1, p=[*chances, 1 - sum(chances)]))


def alone(s, rng, mistake=None):
    """Samples and estimate of one run, from the pseudo-code; n and κ are the rule's."""
    plan = s.rule.plan
    n, kappa, rate = plan.choice.size, plan.choice.threshold, min(s.epsilon, 2.0)
    t, rho = 4 * s.deviation, (1 + s.alpha) / (1 - s.alpha)
    y = 3 * t / s.alpha
    w = math.ceil(math.log((s.R - t / s.alpha) / y) / math.log(rho))
    taken = 0
    while True:
        u = 0.0 if mistake == "no shift" else rng.random()
        ends = t / s.alpha + y * rho ** (np.arange(w + 1) + u)
        x = s.law.sample(rng, n)
        taken += n
        place = np.searchsorted(ends, np.abs(x), side="right")
        place = np.where(x < 0, -place, place)
        order = [0, *(sign * k for k in range(1, w + 1) for sign in (1, -1))]
        counts = [int((place == k).sum()) for k in order]
        which = chosen(counts, n, kappa, len(order), rate, rng, mistake)
        if which == len(order):
            continue
        if which > 0:
            e = ends[abs(order[which]) - 1]
            margin = 0.0 if mistake == "no margin" else t
            size = min((1 + s.alpha) * (e - margin), s.R)
            return taken, math.copysign(size, order[which])
        if mistake != "not confirmed":
            x = s.law.sample(rng, 3 * n)
            taken += 3 * n
            near = (np.abs(x) <= t / s.alpha + y * rho + 2 * t).sum()
            spread = (1 + (math.exp(rate) - 1) / 16) ** (3 * n)
            needed = 3 * n - math.log(spread / 0.02) / rate
            if near + rng.laplace(0, 1 / rate) < needed:
                continue
        H = t / s.alpha + y * rho + 10 * t
        beta = s.beta / 5
        if H < s.R and mistake != "nothing is cut":
            beta, less = s.beta / 10, 0.9 * s.alpha
            if mistake == "all of beta":
                beta = s.beta
            b = s.deviation / 144
            a = (1 + less) * (b + 10 * (1 + less) / s.alpha * b)
            scale = max(1, 1 / s.epsilon) * H / (less * a)
            scale = max(scale, (s.deviation**2 + a**2) / (less * a) ** 2)
            most = math.ceil(50 * math.log(10 / s.beta) * scale)
            low, high = s.law.support
            law = discrete(np.clip([low, high], -H, H), [0.5, 0.5], H)  # of two even points
            rest = dpb.DPBernsteinStop(s.epsilon, less, beta, H).draw(law, rng, most)
            taken += rest.samples
            if rest.halted and abs(rest.estimate) >= a:
                return taken, rest.estimate
        rest = dpb.DPBernsteinStop(s.epsilon, s.alpha, beta, s.R).draw(s.law, rng, 10**9)
        return taken + rest.samples, rest.estimate


SETTINGS = {
    "windows": Setting(0.5, 0.5, 0.1, 0.004, low_variance(0.4, 0.004), runs=6000),
    "an end": Setting(0.5, 0.5, 0.3, 0.008, low_variance(0.1, 0.004)),
    "near 0": Setting(0.5, 0.8, 0.05, 0.005, low_variance(-0.1, 0.005), runs=4000),
    "between": Setting(1.0, 0.7, 0.2, 0.005, low_variance(0.2, 0.005)),
    "half range 3": Setting(1.0, 0.5, 0.1, 0.01, two_point(-2.9, 3.0), 3.0),
    "steep": Setting(math.inf, 0.5, 0.1, 0.01, low_variance(0.4, 0.01)),
}
BROKEN = {
    "windows": ["no shift", "no margin", "half of the exponent"],
    "near 0": ["not confirmed", "all of beta", "nothing is cut"],
    "steep": ["no shift", "half of the exponent"],
}


@functools.cache
def law_of_the_package(name):
    s, rng = SETTINGS[name], np.random.default_rng(3)
    found = [s.rule.draw(s.law, rng, 10**9) for _ in range(s.runs)]
    assert all(each.halted for each in found)
    return np.array([each[:2] for each in found])


def agree(name, mistake=None):
    rng, s = np.random.default_rng(4), SETTINGS[name]
    plain = np.array([alone(s, rng, mistake) for _ in range(s.runs)])
    package = law_of_the_package(name)
    share = 1 / (2 * len(SETTINGS))
    return all(same_law(package[:, k], plain[:, k], share) for k in (0, 1))


@pytest.mark.statistical(false_alarm=FALSE_ALARM / len(SETTINGS))
@pytest.mark.parametrize("name", SETTINGS)
def test_law_of_the_program(name):
    assert agree(name)


@pytest.mark.parametrize(("name", "mistake"), [(n, m) for n in BROKEN for m in BROKEN[n]])
def test_broken_twins_are_told_apart(name, mistake):
    """The control of `test_law_of_the_program`, at its limit."""
    assert not agree(name, mistake)


def test_equal_generators_give_equal_runs_fast_and_plain():
    for law in (low_variance(0.1, 1e-4), low_variance(-0.03, 1e-4)):
        fast, plain = (
            [RULE.draw(law, np.random.default_rng(seed), 10**6, how) for seed in range(40)]
            for how in (None, "reference")
        )
        assert fast == plain


# ---------------------------------------------------------------- errors and samples
def outliers(mean, deviation, far):
    """A law that keeps the promise with a share of its samples as far away as that allows."""
    share = deviation**2 / (deviation**2 + (far - mean) ** 2)
    near = mean - share / (1 - share) * (far - mean)
    return discrete([near, far], [1 - share, share])


HARD = {
    "narrow": low_variance(0.1, 1e-4),
    "outliers near by": outliers(0.03, 1e-4, 0.03 + 3.9e-4),
    "outliers below": outliers(0.03, 1e-4, 0.03 - 4.1e-4),
    "outliers far": outliers(0.5, 1e-4, -1.0),
    "below 0": low_variance(-0.01, 1e-4),
}


@pytest.mark.statistical(false_alarm=FALSE_ALARM / len(HARD))
@pytest.mark.parametrize("name", HARD)
def test_it_errs_no_more_often_than_beta_and_takes_no_more_than_proved(name):
    law, share, runs = HARD[name], 0.5 / len(HARD), 4000
    found = dpb.estimate(RULE, law, runs, seed=5)
    assert found.halted.all()
    assert may_be_at_most(found.failures(), runs, RULE.beta, share)
    bound = bounds.promised_samples(RULE, law)
    assert mean_may_be_at_most(found.samples, bound, share)
    assert not mean_may_be_at_most(found.samples, 0.7 * bound, share), "control"


def test_who_breaks_the_promise_errs_and_the_rule_does_not_see_it():
    """The control of the errors: most samples at 0.1, and one in seventeen at −1."""
    law = discrete([0.1, -1.0], [0.94, 0.06])
    assert law.variance > 1e4 * RULE.deviation**2
    found = dpb.estimate(RULE, law, 1000, seed=6)
    assert found.failures() > 900 and found.samples.mean() < 200
    refusal("law", law, lambda: bounds.promised_samples(RULE, law))


@pytest.mark.statistical
def test_near_0_it_is_bernstein_stopping_with_a_fifth_of_beta():
    rule, law, runs = dpb.DPPromisedStop(1.0, 0.5, 0.1, 0.01), low_variance(0.1, 0.01), 2000
    found, last = dpb.estimate(rule, law, runs), dpb.estimate(rule.fallback, law, runs)
    assert rule.fallback == dpb.DPBernsteinStop(1.0, 0.5, 0.02)
    assert may_be_at_most(found.failures(), runs, rule.beta)
    before = rule.plan.choice.size / rule.plan.least_right / (1 - rule.plan.straddle)
    before = (before + 3 * rule.plan.choice.size) / 0.99
    assert found.samples.mean() < last.samples.mean() + 2 * before


@pytest.mark.statistical
def test_near_0_samples_are_cut_and_it_is_right_all_the_same():
    rule, runs = dpb.DPPromisedStop(1.0, 0.5, 0.1, 1e-3), 2000
    assert rule.fallback == dpb.DPBernsteinStop(1.0, 0.5, 0.01)
    for law in (low_variance(0.03, 1e-3), outliers(0.01, 1e-3, -1.0), outliers(2e-3, 1e-3, 0.5)):
        found = dpb.estimate(rule, law, runs, seed=9)
        assert may_be_at_most(found.failures(), runs, rule.beta, 1 / 3)
        last = dpb.estimate(rule.fallback, law, 200, seed=9).samples.mean()
        assert 3 * found.samples.mean() < last, "cutting saves"


def test_what_is_accepted_is_right_though_cutting_moves_the_mean():
    """The worst law for a cut at distance D: an outlier at 2D. Control: a third of a is too low."""
    for alpha, deviation in itertools.product((0.05, 0.5, 0.9), (1e-5, 1e-4)):
        rule = dpb.DPPromisedStop(0.1, alpha, 0.05, deviation)
        plan, cut, wrong = rule.plan, rule.cut, {1.0: 0, 0.3: 0}
        H, less = cut.rule.half_range, cut.rule.alpha
        assert less == pytest.approx(0.9 * alpha)
        D = H - plan.reach - plan.margin
        # E(|Z| − D)₊ of a variable of deviation σ at 0 and far away, at the worst place
        far = np.geomspace(1.001 * D, 100 * D, 1000)
        bias = np.max(deviation**2 / (deviation**2 + far**2) * (far - D))
        assert bias <= deviation**2 / (4 * D) <= 1.01 * bias
        for share in wrong:
            for mean in np.geomspace(0.01 * cut.accepted, 10 * cut.accepted, 500):
                for shift in (-bias, bias):
                    for miss in (-less, less):
                        estimate = (mean + shift) * (1 + miss)
                        if abs(estimate) >= share * cut.accepted:
                            wrong[share] += abs(estimate - mean) > alpha * mean * (1 + 1e-9)
        assert wrong[1.0] == 0 < wrong[0.3]


@pytest.mark.statistical
def test_what_is_cut_is_given_up_in_time(monkeypatch):
    """With little patience; fast and plain agree, for a law that is cut as well."""
    monkeypatch.setattr(promised, "PATIENCE", 1e-3)
    rule = dpb.DPPromisedStop(2.0, 0.9, 0.2, 1e-3)
    assert rule.cut.most < 50
    for law in (low_variance(0.04, 1e-3), discrete([0.04, 0.9], [0.999, 0.001])):
        fast, plain = (
            dpb.estimate(rule, law, 600, seed=seed, how=how).samples
            for seed, how in ((1, None), (2, "reference"))
        )
        assert same_law(fast, plain, 0.5) and np.median(fast) > rule.cut.most
    uniform = dpb.laws.uniform(0.05)  # for which there is no law of what is cut
    assert rule.draw(uniform, np.random.default_rng(3), 10**6).halted
    for how in (None, "reference"):
        assert not rule.draw(low_variance(0.0, 1e-4), np.random.default_rng(4), 500, how).halted


@pytest.mark.statistical
def test_the_goal_and_the_floors():
    """ε = 0.1, β = 0.05, σ ≤ 10⁻⁴, α = ½: fewer than half of the least without a promise."""
    for mean in (0.1, 0.03, 0.01):
        floor = bounds.private_stopping_lower_bound(mean, 0.5, 0.05, 0.1)
        found = dpb.estimate(RULE, low_variance(mean, 1e-4), 4000, seed=7)
        assert mean_may_be_at_most(found.samples, 105.0, 1 / 3) and floor / 2 > 105.0
        least = bounds.promised_minimax_lower_bound(mean, 0.5, 0.05, 0.1)
        assert found.samples.mean() > least.mean and np.median(found.samples) > least.median


def test_plans_hold_what_the_proof_asks_of_them():
    """Wrong odds at most β_w/(1 − β_w) at the worst place, and 1 − M among what is lost."""
    for epsilon, alpha, beta, deviation in itertools.product(
        (1e-6, 0.01, 0.1, 1.0, 50.0), (0.1, 0.5, 0.9), (1e-60, 0.05, 0.45), (1e-9, 1e-4, 3e-3)
    ):
        plan = dpb.DPPromisedStop(epsilon, alpha, beta, deviation).plan
        choice, rate = plan.choice, min(epsilon, 2.0)
        assert choice.epsilon == rate and choice.threshold >= choice.size / 2
        outside = math.exp(choice.size * math.log1p((math.exp(rate) - 1) / 16))
        if epsilon < 1e-3:
            outside = math.exp(choice.size * math.log1p(math.expm1(rate) / 16))
        chance = choice.weight * 0.5 * math.exp(-rate * choice.threshold)
        wrong = chance * (outside + 2 * plan.windows - 1)
        right = plan.least_right * (1 - plan.straddle)
        allowed = 0.99 * 0.8 * beta
        assert wrong / (wrong + right) <= allowed * (1 + 1e-6)
        assert wrong / (wrong + right) > 0.7 * allowed, "and no more than it has to"
        assert plan.offset + plan.lowest * plan.ratio**plan.windows >= 1 - 1e-9


# ---------------------------------------------------------------- lower bounds
@given(
    st.floats(0.01, 0.9),
    st.floats(0.05, 0.95),
    st.floats(1e-3, 0.8),
    st.floats(0, 1),
)
def test_the_other_law_keeps_the_promise_and_no_nearer_one_would(mean, alpha, promise, share):
    """d gives a law with the mean moved by δ and with the promised deviation, if −R is no bound."""
    own, move = share * promise, 2 * alpha * mean / (1 + alpha)
    epsilon = math.log(2.0)  # −log(1 − d/2) is the rate
    least = bounds.promised_lower_bound(mean, alpha, 0.05, epsilon, promise, own)
    d = -2 * math.expm1(-math.log(9) / least.median)
    variance = (1 - d) * (own**2 + move**2 / d)
    assert variance <= promise**2 * (1 + 1e-6)
    assert move / d <= (1 + mean) * (1 + 1e-9), "the point is in the range"
    plain = bounds.private_stopping_lower_bound(mean, alpha, 0.05, epsilon)
    assert least.median <= plain * (1 + 1e-9)
    if move / d < (1 + mean) * 0.999:
        assert variance == pytest.approx(promise**2, rel=1e-6)


def test_means_of_lower_bounds_are_sums_of_tails():
    for beta, epsilon, mean in itertools.product((0.2, 0.05, 1e-9), (0.01, 0.1, 2.0), (0.9, 0.01)):
        found = bounds.promised_minimax_lower_bound(mean, 0.5, beta, epsilon)
        m = 2 * max(1, math.ceil(math.log(1 / mean) / math.log(3)))
        n = np.arange(10_000.0)
        log_chance = np.minimum(math.log(beta / (m - 1)) + epsilon * n, 0.0)
        tails = np.maximum(1 - beta - np.exp(log_chance), 0.0)
        assert found.mean == pytest.approx(tails.sum(), rel=1e-9)
        assert found.median == pytest.approx(math.log((m - 1) * (0.5 - beta) / beta) / epsilon)
    assert bounds.promised_minimax_lower_bound(0.1, 0.5, 0.05, math.inf) == (0.0, 0.0)
    without = bounds.promised_lower_bound(0.1, 0.5, 0.05, math.inf, 1e-12)  # 1 − d = σ²/(σ² + δ²)
    assert without.median == pytest.approx(math.log(9) / math.log1p((0.2 / 3e-12) ** 2))
    assert bounds.promised_lower_bound(0.1, 0.5, 0.05, math.inf, 1e-99).mean == pytest.approx(0.9)
    far = bounds.promised_lower_bound(0.1, 0.5, 0.05, 1e4, 0.1, 0.05)
    assert far.median == bounds.promised_lower_bound(0.1, 0.5, 0.05, math.inf, 0.1, 0.05).median
    refusal("deviation", 0.2, lambda: bounds.promised_lower_bound(0.1, 0.5, 0.05, 1, 0.1, 0.2))


# ---------------------------------------------------------------- privacy, by running it
@dataclass(frozen=True)
class Greedy(dpb.DPPromisedStop):
    """Its choice has six times the exponent that it declares."""

    @property
    def plan(self):
        plan = super().plan
        return plan._replace(choice=replace(plan.choice, epsilon=6 * plan.choice.epsilon))


def pair(rule, value):
    """All samples but a few are in one window, and one more of them leaves it."""
    n, kappa = rule.plan.choice.size, rule.plan.choice.threshold
    stream = np.full((1, n), 0.9)
    stream[0, : n - int(kappa)] = -0.3
    return TablePair(stream, 0, n - 1, value)


@pytest.mark.parametrize("value", [-1.0, 0.0, -0.3])
@pytest.mark.statistical
def test_neighbours_do_not_convict(value):
    rule = dpb.DPPromisedStop(1.0, 0.5, 0.05, 0.01)
    found = audit(rule, pair(rule, value), 20_000, failure=FALSE_ALARM)
    assert found.verdict != "violation found"


@pytest.mark.statistical
def test_too_steep_a_choice_is_convicted():
    rule = Greedy(1.0, 0.5, 0.05, 0.01)
    found = audit(rule, pair(rule, -0.3), 20_000, failure=FALSE_ALARM)
    assert found.verdict == "violation found"


# ---------------------------------------------------------------- odd arguments
def test_without_a_promise_it_is_bernstein_stopping():
    for rule in (dpb.DPPromisedStop(1.0, 0.5, 0.05), dpb.DPPromisedStop(1.0, 0.5, 0.05, 0.04)):
        last = dpb.DPBernsteinStop(1.0, 0.5, 0.05)
        assert rule.plan is None and rule.fallback == last and rule.tables == last.tables
        law = two_point(0.5)
        seeds = range(5)
        first, second = (
            [each.draw(law, np.random.default_rng(s), 10**7) for s in seeds]
            for each in (rule, last)
        )
        assert first == second
    assert bounds.promised_samples(dpb.DPPromisedStop(1.0, 0.5, 0.05), two_point(0.5)) > 1000


def test_the_range_scales_and_limits_are_kept():
    small, large = (dpb.DPPromisedStop(0.1, 0.5, 0.05, 1e-4 * R, R) for R in (1.0, 8.0))
    one, other = (
        rule.run(np.full(400, 0.1 * rule.half_range), np.random.default_rng(8))
        for rule in (small, large)
    )
    assert one.samples == other.samples and 8 * one.estimate == other.estimate
    n = small.plan.choice.size
    assert small.tables.least == n and not small.run([0.1] * (n - 1)).halted
    for most in (1, n - 1, n):
        for how in (None, "reference"):
            found = small.draw(low_variance(0.1, 1e-4), np.random.default_rng(9), most, how)
            assert found.samples == most


def test_what_is_out_of_range():
    for value in (0.5, 0.7, 1e-100):
        refusal("beta", value, lambda v=value: dpb.DPPromisedStop(1.0, 0.5, v))
    refusal("epsilon", 1e-31, lambda: dpb.DPPromisedStop(1e-31, 0.5, 0.1))
    refusal("deviation", 0.0, lambda: dpb.DPPromisedStop(1.0, 0.5, 0.1, 0.0))
    refusal("mean", 1.1, lambda: RULE.straddle(1.1))
    extreme = dpb.DPPromisedStop(1e-30, 1e-3, 1e-90, 1e-90, 1e-3)
    assert extreme.plan.choice.size > 10**30 and extreme.plan.windows > 10**4
