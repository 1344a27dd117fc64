"""Bounds on stopping rules against formulas written out here, brute force and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize
from statistical import may_be_at_most
from test_stopping import rule_of, terms
from test_validation import refusal

import dpbandits as dpb
from dpbandits import bounds
from dpbandits.rewards.laws import low_variance, shifted_beta, two_point, uniform

EXACT = 1e-12


def near(value, tolerance=EXACT):
    return pytest.approx(value, rel=tolerance, abs=0)


def random_problems(count, seed=20):
    """Random mean, alpha, beta, epsilon and half_range, over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        R = 10 ** rng.uniform(-2, 2)
        mean = R * 10 ** rng.uniform(-3, 0) * rng.choice([-1, 1])
        alpha, beta = rng.uniform(0.02, 0.98), 10 ** rng.uniform(-6, -0.01)
        yield float(mean), float(alpha), float(beta), float(10 ** rng.uniform(-3, 2)), float(R)


@pytest.mark.parametrize(("a", "b"), [(1.001, 0.0624), (2.0, 0.01), (500.0, 1e-3), (1e9, 1e-30)])
def test_the_largest_root_lies_in_the_bracket(a, b):
    def excess(x):
        return math.log(a * math.log(x)) / x / b

    low, high = bounds.loglog_bracket(a, b)
    assert low == near(math.log(a * math.log(1 / b)) / b)
    assert high == near(2 * low)
    root = optimize.brentq(lambda x: math.log(a * math.log(x)) - b * x, low, high)
    assert excess(root) == pytest.approx(1, abs=1e-9)
    assert excess(0.999 * root) > 1
    assert all(excess(root * factor) < 1 for factor in 1 + np.geomspace(1e-3, 1e6, 100))


@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.7])
def test_the_failures_of_all_looks_add_up(beta):
    looks = np.arange(1, 10**6, dtype=float)
    rest = 1e-6  # of Σ 1/s² beyond
    basel = float(np.sum(1 / looks**2)) + rest
    private = beta / 8 * basel + beta / 8 * basel + beta / 4 + beta / 4
    assert bounds.stopping_failure(beta) == near(private, 1e-9)
    assert bounds.stopping_failure(beta, private=False) == near(beta / 2 * basel, 1e-9)


def written_condition(kind, look, mean, alpha, beta, epsilon, R):
    """Whether the sum of n samples passes whatever the noise: the docstring, term by term."""
    n = 2**look if kind == "DP-exp-NAS" else look
    h, _, sigma, sigma_3 = terms(kind, n, float(look), epsilon, alpha, beta, R)
    once, each = math.log(4 / beta), math.log(8 * float(look) ** 2 / beta)
    needed = n * h * (2 + 1 / alpha) + 2 * sigma * once + 2 * sigma * each
    return bool(n * abs(mean) >= needed + sigma_3 / alpha * once), n


KINDS = ("NAS", "DP-NAS", "DP-exp-NAS")
EASY = [(1.0, 0.9, 0.5, 50.0, 1.0), (-0.7, 0.5, 0.05, 1.0, 1.0)]
EASY += [(1.2, 0.3, 1e-5, 0.4, 3.0), (0.3, 0.8, 0.01, 0.2, 0.5)]


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_samples_is_the_first_look_that_is_enough_at_every_scale(kind):
    searched = 0
    for mean, *rest in itertools.chain(EASY, random_problems(60)):
        alpha, beta, epsilon, R = rest
        rule = rule_of(kind, epsilon, alpha, beta, R)
        n = bounds.stopping_samples(rule, mean)
        look = rule.look(n)
        assert bounds.stopping_samples(rule, -mean) == n
        assert written_condition(kind, look, mean, *rest) == (True, n)
        earlier = range(1, look) if look < 3000 else [look - 1]
        assert not any(written_condition(kind, s, mean, *rest)[0] for s in earlier)
        searched += look < 3000
    assert searched >= 4
    for mean in (1e-8, -1e-14):  # hard ones, up to rounding
        n = bounds.stopping_samples(dpb.NAS(0.5, 0.05), mean)
        h, *_ = terms("NAS", n, float(n), 1, 0.5, 0.05, 1)
        assert abs(mean) == near((2 + 1 / 0.5) * h, 1e-9)


def test_stopping_samples_is_at_most_the_closed_form():
    ratios = []
    for problem in random_problems(2000):
        mean, alpha, beta, epsilon, R = problem
        samples = bounds.stopping_samples(dpb.DPExponentialNAS(epsilon, alpha, beta, R), mean)
        times = bounds.stopping_times_repaired(*problem)
        closed = bounds.stopping_constant(beta) * times.total
        ratios.append(samples / closed)
    assert 1 / 4 < max(ratios) <= 1  # a constant four times smaller would be none


def written_constant(base):
    """The root of the difference of the two sides of the equation that C solves."""

    def gap(C):
        log_look = math.log(math.log(3 * C * base) / math.log(2))
        p = 18 * max(2, (base + math.log(4) + 2 * log_look) / base)
        q = 48 * (base + math.log(2) / 2 + log_look) / base
        return C - 8 * q**2 / (4 * q - p)

    return optimize.brentq(gap, 100, 1e9, xtol=1e-9, rtol=1e-14)


BETAS = [1e-100, 1e-60, 1e-9, 1e-3, 0.01, 0.05, 0.08, 0.3, 0.9, 0.999999]


@pytest.mark.parametrize("beta", BETAS)
def test_the_constants_solve_their_equations(beta):
    assert bounds.stopping_constant(beta) == near(written_constant(math.log(4 / beta)), 1e-9)


def test_the_constants_fall_with_beta_and_keep_their_limits():
    constants = [bounds.stopping_constant(beta) for beta in BETAS]
    assert constants == sorted(set(constants))
    assert constants[-1] < 342 < 1.01 * constants[-1]
    assert bounds.stopping_constant(0.08) < 200 < 1.05 * bounds.stopping_constant(0.08)


def test_the_terms_of_theorem_3_3_are_those_written_out():
    for mean, alpha, beta, epsilon, R in random_problems(200):
        x, y = R / (alpha * abs(mean)), R / (epsilon * abs(mean))
        lam = math.log(4 / beta * math.log(math.e * max(x, y)))
        problem = mean, alpha, beta, epsilon, R
        if max(x, y) > 1 / math.e:
            repaired = bounds.stopping_times_repaired(*problem)
            terms = x**2 * lam, y * lam, y / alpha * math.log(4 / beta)
            assert repaired == near(terms, 1e-10)
            assert repaired.total == near(sum(terms), 1e-10)


CASES = [
    (dpb.NAS(0.5, 0.2), two_point(0.5)),
    (dpb.NAS(0.9, 0.05, 2.0), uniform(-1.0, 2.0)),
    (dpb.DPNAS(0.5, 0.5, 0.1), two_point(0.6)),
    (dpb.DPNAS(5.0, 0.9, 0.3), low_variance(-0.5, 0.1)),
    (dpb.DPExponentialNAS(0.1, 0.5, 0.05), two_point(0.1)),
    (dpb.DPExponentialNAS(10.0, 0.2, 0.5), two_point(-0.3)),
]


@pytest.mark.statistical(false_alarm=1e-6 / len(CASES))
@pytest.mark.parametrize(("rule", "law"), CASES)
def test_simulated_rules_halt_within_stopping_samples(rule, law):
    runs = dpb.estimate(rule, law, n_runs=2000, seed=33)
    bound = bounds.stopping_samples(rule, law.mean)
    failure = bounds.stopping_failure(rule.beta, private=not isinstance(rule, dpb.NAS))
    late = int(np.sum(~runs.halted | (runs.samples > bound)))
    assert may_be_at_most(late, 2000, failure, 1 / len(CASES))
    too_low = int(np.sum(runs.samples > bound / 8))
    assert not may_be_at_most(too_low, 2000, failure, 1 / len(CASES))


PRECISIONS = [(0.5, 0.05), (0.05, 1e-6), (0.9, 0.4)]


def primal_cost(law, sign, size):
    """Least relative entropy by direct search: a law on the two values and the end of the move."""
    end = sign * law.half_range
    goal = math.copysign(size, law.mean) * law.half_range

    def cost(on_end):
        # q_low·low + q_high·high + on_end·end = goal, and the three add up to 1
        q_high = (goal - on_end * end - (1 - on_end) * law.low) / (law.high - law.low)
        q_low = 1 - on_end - q_high
        if q_high <= 0 or q_low <= 0:
            return math.inf
        p = law.probability
        return p * math.log(p / q_high) + (1 - p) * math.log((1 - p) / q_low)

    # the entropy is convex on the weights that are possible: narrow a grid down
    low, high = 0.0, 1.0
    for _ in range(40):
        grid = np.linspace(low, high, 201)
        best = int(np.argmin([cost(weight) for weight in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
        if high - low < 1e-12:
            break
    return cost(grid[best])


TWO_POINTS = [two_point(mean) for mean in (0.001, 0.1, 0.5, 0.8, -0.999)] + [two_point(3.5, 7.0)]


@pytest.mark.parametrize(
    "law", [*TWO_POINTS, low_variance(0.1, 0.05), low_variance(-0.3, 0.2, 0.6)], ids=repr
)
@pytest.mark.parametrize(("alpha", "beta"), PRECISIONS)
def test_the_lower_bound_is_the_primal_problem(law, alpha, beta):
    size, sign = abs(law.mean) / law.half_range, math.copysign(1, law.mean)
    lower, upper = (1 - alpha) / (1 + alpha) * size, (1 + alpha) / (1 - alpha) * size
    costs = [primal_cost(law, -sign, lower)]
    if upper < 1:
        costs.append(primal_cost(law, sign, upper))
    expected = (1 - 2 * beta) * math.log((1 - beta) / beta) / min(costs)
    assert bounds.stopping_lower_bound(law, alpha, beta) == near(expected, 1e-5)


LAWS = [two_point(0.1), two_point(-2.0, 5.0), low_variance(0.2, 0.01), uniform(0.3)]
LAWS += [shifted_beta(2.0, 1.0, 0.5), two_point(0.95)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("alpha", "beta"), PRECISIONS)
def test_the_rate_of_dagum_et_al(law, alpha, beta):
    R, mean = law.half_range, law.mean
    rate = max(law.variance, R * alpha * abs(mean)) * math.log(1 / beta) / (alpha * mean) ** 2
    assert bounds.dagum_rate(law, alpha, beta) == near(rate)  # laws of both regimes
    factor = (1 - 2 * beta) * math.log((1 - beta) / beta) / math.log(1 / beta) / 23
    assert bounds.stopping_lower_bound(law, alpha, beta) >= factor * rate


def sharp_factor(p, q, epsilon):
    """The greatest (1 + gP(A))/(1 + gQ(A)) over all sets A of the points, g = e^ε − 1."""
    g, sets = math.expm1(epsilon), itertools.product((0, 1), repeat=len(p))
    return max((1 + g * np.dot(p, a)) / (1 + g * np.dot(q, a)) for a in sets)


def written_factor(mean, alpha, epsilon, R, on_ends):
    """The factor between two laws on three points, or on two, by looking at every set."""
    m = abs(mean)
    target = (1 - alpha) / (1 + alpha) * m
    if on_ends:
        p, q = (R + m) / (2 * R), (R + target) / (2 * R)
        return sharp_factor((p, 1 - p), (q, 1 - q), epsilon)
    d = (m - target) / (R + m)
    law = np.array([0.3, 0.7, 0.0])  # its points and −R, where it has nothing
    return sharp_factor(law, (1 - d) * law + (0, 0, d), epsilon)


def test_the_private_lower_bound_written_out():
    for mean, alpha, beta, epsilon, R in random_problems(100):
        beta /= 4.01
        for on_ends in (False, True):
            rate = math.log(written_factor(mean, alpha, min(epsilon, 600.0), R, on_ends))
            problem = mean, alpha, beta, epsilon, R
            value = bounds.private_stopping_lower_bound(*problem, two_point=on_ends)
            assert value == near(math.log((0.5 - beta) / beta) / rate, 1e-6)
            # never below the bound by the total variation, which Lemma 3.5 of SS19 is about
            distance = alpha * abs(mean) / ((1 + alpha) * R)
            distance *= 1 if on_ends else 2 * R / (R + abs(mean))
            assert rate <= math.log1p(distance * math.expm1(min(epsilon, 600.0))) * (1 + 1e-6)

    def bound(epsilon, **options):
        return bounds.private_stopping_lower_bound(0.1, 0.5, 0.05, epsilon, **options)

    d = 0.1 / (1.5 * 1.1)  # 2αμ/((1 + α)(1 + μ))
    assert bound(math.inf) == near(math.log(9) / -math.log(1 - d))
    assert bound(math.inf, two_point=True) == near(math.log(9) / math.log(1.1 / (1.1 - 0.2 / 3)))
    for options in ({}, {"two_point": True}):
        falling = [bound(epsilon, **options) for epsilon in (1e-3, 1.0, 30.0, 800.0, math.inf)]
        assert falling == sorted(falling, reverse=True) and falling[0] > 30_000
        assert bound(1e-60, **options) == near(1e57 * bound(1e-3, **options), 2e-3)


def test_no_smaller_factor_serves_and_a_smaller_one_is_told_apart():
    """e^(εs), s the number of samples in A, is ε-private, and attains r^n at the best set A."""
    rng = np.random.default_rng(11)
    for _ in range(50):
        p, q = rng.dirichlet([0.7] * 4), rng.dirichlet([0.7] * 4)
        epsilon = float(rng.uniform(0.1, 3))
        r, distance = sharp_factor(p, q, epsilon), np.abs(p - q).sum() / 2
        assert 1 <= r <= 1 + distance * math.expm1(epsilon) + 1e-12
        # a private output has a likelihood ratio of at most r: values within a factor e^ε
        chances = np.exp(-epsilon * rng.uniform(size=(200, 4)))
        ratios = (chances @ p) / (chances @ q)
        assert ratios.max() <= r * (1 + 1e-12)
        d = float(rng.uniform(0.01, 0.99))
        mixed = sharp_factor(p, (1 - d) * p + d * q, epsilon)
        assert mixed <= 1 / (1 - d * (1 - math.exp(-epsilon))) + 1e-12
        apart = (*p, 0.0), (*((1 - d) * p), d)
        assert sharp_factor(*apart, epsilon) == near(1 / (1 - d * (1 - math.exp(-epsilon))))


@pytest.mark.parametrize("law", [*LAWS[:4], two_point(-0.4)])
def test_the_lower_bound_on_private_rules_is_the_largest_of_its_parts(law):
    on_ends, largest = law.name == "two points ±R", set()
    for epsilon, beta in itertools.product((1e-4, 0.5, 800.0, math.inf), (0.01, 0.24)):
        alpha, R = 0.5, law.half_range
        problem = law.mean, alpha, beta, epsilon, R
        # beyond 600, e^ε is as good as infinite
        rate = math.log(written_factor(law.mean, alpha, min(epsilon, 600.0), R, on_ends))
        parts = [
            bounds.stopping_lower_bound(law, alpha, beta),
            bounds.private_stopping_lower_bound(*problem, two_point=on_ends) / 2,
            math.log(1 / beta) / (8 * rate),
        ]
        value = bounds.stopping_complexity_lower_bound(law, alpha, beta, epsilon)
        assert value == near(max(parts), 1e-9)
        largest.add(parts.index(max(parts)))
    assert largest == {0, 1, 2}  # each of the parts is the largest somewhere


# ---------------------------------------------------------------------------- what is refused
LAW = two_point(0.1)
REFUSED = [
    ("rule", [dpb.EBGStop(0.5, 0.05), 0.5, None], lambda x: bounds.stopping_samples(x, 0.1)),
    *(("law", [0.1, None, "two_point"], lambda x, bound=bound: bound(x, 0.5, 0.05))
      for bound in (bounds.stopping_lower_bound, bounds.dagum_rate,
                    bounds.stopping_complexity_lower_bound)),
    *(("mean", [0.0, 1.5, -1.5, math.nan, "0.1"], lambda x, bound=bound: bound(x, 0.5, 0.05, 1.0))
      for bound in (bounds.stopping_times_repaired, bounds.private_stopping_lower_bound)),
    ("beta", [0.5, 0.6], lambda x: bounds.stopping_lower_bound(LAW, 0.5, x)),
    ("beta", [0.25], lambda x: bounds.private_stopping_lower_bound(0.1, 0.5, x, 1.0)),
    ("beta", [0.25], lambda x: bounds.stopping_complexity_lower_bound(LAW, 0.5, x, 1.0)),
    ("alpha", [1e-12], lambda x: bounds.stopping_lower_bound(LAW, x, 0.05)),
    ("alpha", [1e-60], lambda x: bounds.dagum_rate(
        dpb.laws.TwoPointLaw(1.0, 1e-60, 1e-60, 0.5), x, 0.05)),
    ("a", [1.0, 0.5], lambda x: bounds.loglog_bracket(x, 0.01)),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "values", "call"), REFUSED)
def test_what_is_out_of_range_is_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))


def test_the_lower_bound_reaches_down_to_errors_of_1e_10():
    """It is of order 1/α²; α∣μ∣ is 1.1·10⁻¹⁰ here, and what is below 10⁻¹⁰ is refused."""
    least, usual = (a**2 * bounds.stopping_lower_bound(LAW, a, 0.05) for a in (1.1e-9, 1e-4))
    assert least == near(usual, 1e-3)


def test_the_smallest_arguments_give_finite_numbers_and_smaller_ones_are_refused():
    for b in (1 / 16, 0.5):
        with pytest.raises(ValueError, match="allowed: a > 1 and b < 1/16"):
            bounds.loglog_bracket(2.0, b)
    times = bounds.stopping_times_repaired
    for mean, alpha in ((1e-90, 1e-60), (1e-100, 0.5), (1.0, 1e-200)):
        refusal("alpha", alpha, lambda m=mean, a=alpha: times(m, a, 0.05, 1.0))
    assert 1e200 < times(1e-50, 2e-50, 1e-100, 1e-100).total < math.inf
