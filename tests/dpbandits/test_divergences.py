"""Divergences and transportation costs: certified values, corners, shapes and refusals.

The certificates are in `exact_costs`; they share no formula with the package.
"""

import inspect
import math

import exact_costs as exact
import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_validation import refusal

import dpbandits as dpb
from dpbandits import divergences
from dpbandits.divergences import (
    calibrated_minus,
    calibrated_minus_kernel,
    calibrated_plus,
    calibrated_plus_kernel,
    d_eps,
    d_eps_kernel,
    d_minus,
    d_plus,
    kl,
    total_variation,
)
from dpbandits.identification import calibrated_cost, transport, transportation_cost
from dpbandits.identification.transport import (
    SaddleStart,
    calibrated_cost_kernel,
    transportation_cost_kernel,
)

RELATIVE = 1e-11
SMALLEST_VALUE = 1e-290


# ---------------------------------------------------------------- random cases, corners included
def mean(rng):
    small = 10.0 ** rng.uniform(*rng.choice([(-12, 0), (-12, 0), (-30, 0)]))
    end = rng.choice([0.0, 1.0, 0.5, 0.1, 0.9])
    return float(rng.choice([rng.random(), rng.random(), rng.random(), small, 1 - small, end]))


def estimate(rng):
    some = rng.choice([-1e6, 1e6, -1.0, 0.0, 1.0, 2.0])
    return float(rng.choice([mean(rng), mean(rng), rng.uniform(-50, 50), some]))


def budget(rng):
    return float(rng.choice([1e-6, 1e6, 1.0]) if rng.random() < 0.1 else 10 ** rng.uniform(-6, 6))


def noise_ratio(rng):
    some = rng.choice([0.0, 1e-9, 1.0])
    return float(some if rng.random() < 0.4 else 10 ** rng.uniform(-10, 1))


def pair(rng):
    u = mean(rng)
    near = u + 10.0 ** rng.uniform(-12, -1) * rng.choice([-1, 1]) * min(u, 1 - u)
    return (near if rng.random() < 0.3 else estimate(rng)), u


def agree(value, reference, relative=RELATIVE):
    if mp.isinf(reference):
        return value == math.inf
    return abs(value - reference) <= max(relative * abs(reference), SMALLEST_VALUE)


def close_to(value, relative):
    """Return what equals `value` up to a relative error; approx alone allows 1e-12 besides."""
    return pytest.approx(value, rel=relative, abs=SMALLEST_VALUE)


def start_of(t):
    return min(max(t, 1e-15), 1 - 1e-15)


# ---------------------------------------------------------------- divergences
def test_divergences_against_certified_values():
    """Controls: another ε, without noise, and another ratio are caught."""
    rng = np.random.default_rng(1)
    caught = [0, 0]
    for k in range(6000):
        (x, u), epsilon = pair(rng), budget(rng) if rng.random() < 0.95 else math.inf
        ratio, values = noise_ratio(rng) if k % 2 else 0.0, []
        for kernel, a, b in (
            (calibrated_minus_kernel, mp.mpf(x), mp.mpf(u)),
            (calibrated_plus_kernel, 1 - mp.mpf(x), 1 - mp.mpf(u)),
        ):
            numbers, t = map(float, (a, 1 - a, b, 1 - b, a - b)), 0.5
            if a > b and epsilon < math.inf:
                t = start_of(divergences.tilt(*numbers, ratio / epsilon, epsilon, 0.0)[0])
            reference, _ = exact.calibrated(a, b, ratio, epsilon, t)
            values.append(kernel(x, u, ratio, epsilon))
            assert agree(values[-1], reference), (x, u, ratio, epsilon)
            if ratio == 0:
                caught[0] += not agree(kernel(x, u, 0.0, 1.001 * epsilon), reference)
            else:
                caught[1] += not agree(kernel(x, u, 1.001 * ratio, epsilon), reference)
        if ratio == 0:
            assert d_eps_kernel(x, u, epsilon) == sum(values)
            assert agree(d_eps_kernel(x, u, math.inf), exact.entropy(mp.mpf(x), mp.mpf(u))), (x, u)
    assert caught[0] > 500 and caught[1] > 1000


def test_values_at_corners():
    inf = math.inf
    assert kl([0.5, 0.5, 0.0, 1.0, 1.0, 0.0, 1.1, -0.1], [0, 1, 0, 1, 0, 1, 0.5, 0.5]).tolist() == (
        [inf, inf, 0, 0, inf, inf, inf, inf]
    )
    assert d_eps([1, 0, 1, 0, 0.5], [0, 1, 1, 0, 0.5], 0.3).tolist() == [0.3, 0.3, 0, 0, 0]
    assert d_eps(1e6, 0.5, 1e6) == close_to(1e6 * (1e6 - 1) + math.log(2), 1e-15)
    assert d_eps(-1e6, 0.5, 1e-6) == close_to(1.0000005, 1e-12)
    assert d_eps([1.5, 0.4], 0.5, inf).tolist() == [inf, kl(0.4, 0.5)]
    assert kl(1.0, 1e-310) == close_to(310 * math.log(10), 1e-12)
    assert kl(0.5 + 1e-9, 0.5) == close_to(2 * ((0.5 + 1e-9) - 0.5) ** 2, 1e-12)
    assert total_variation([0.2, 1], [0.5, 0]).tolist() == [0.3, 1]
    assert kl([], 0.5).shape == (0,) and kl(1, 0.5) == math.log(2)
    for one_sided, calibrated in ((d_minus, calibrated_minus), (d_plus, calibrated_plus)):
        x = np.array([-3.0, 0.2, 0.5, 1.0, 7.0])
        assert np.array_equal(calibrated(x, 0.5, 0.0, 0.7), one_sided(x, 0.5, 0.7))
        assert np.array_equal(calibrated(x, 0.5, 3.0, inf), one_sided(x, 0.5, inf))
        assert calibrated(x, 0.5, 1e-13, 0.7) == close_to(one_sided(x, 0.5, 0.7), 1e-9)


# ---------------------------------------------------------------- costs
def problem(rng, plain):
    mean_b, mean_a = sorted((estimate(rng), estimate(rng)))
    if rng.random() < 0.3:
        mean_b = mean_a - 10.0 ** rng.uniform(-5, -1)
    weights = 10.0 ** rng.uniform(-4, 4, 2)
    ratios = (0.0, 0.0) if plain else (noise_ratio(rng), noise_ratio(rng))
    epsilon = budget(rng)
    if rng.random() < 0.3:  # for small ε, both tilts are limited only then
        weights[1] = weights[0] * math.exp(min(epsilon, 5) * rng.uniform(-1, 1))
    return (mean_a, mean_b, *map(float, weights), *ratios, epsilon)


def certified(case):
    """Return W̃ and u, after W̃ was seen between its bounds, which are close, and to be that at u."""
    cost, u, tilt_a, tilt_b, *_ = calibrated_cost_kernel(*case)
    lower, upper = exact.cost_bounds(case, u, start_of(tilt_a), start_of(tilt_b))
    assert upper - lower <= max(1e-15 * upper, SMALLEST_VALUE), (case, u)
    assert agree(cost, lower), case
    return cost, u


def cost_at(case, u):
    """Return the cost at a point, by the package's divergences, which are tested above."""
    a, b, weight_a, weight_b, ratio_a, ratio_b, epsilon = case
    part_a = calibrated_minus_kernel(a, u, ratio_a, epsilon)
    return weight_a * part_a + weight_b * calibrated_plus_kernel(b, u, ratio_b, epsilon)


@pytest.mark.parametrize("plain", [True, False])
def test_costs_against_certified_values(plain):
    """Controls: the pooled mean is not the minimiser where tilts are limited; W is not W̃."""
    rng = np.random.default_rng(4)
    caught = 0
    for _ in range(1750):
        case = problem(rng, plain)
        a, b, v, w, _, _, epsilon = case
        if a == b:
            continue
        cost, u = certified(case)
        if min(u, 1 - u) > 1e-9:  # where a double is near enough to the minimiser
            assert cost * (1 - 1e-12) <= cost_at(case, u) <= cost * (1 + 1e-6), case
        uncalibrated, at, part_a, part_b = transportation_cost_kernel(a, b, v, w, epsilon)
        assert v * part_a + w * part_b == close_to(uncalibrated, 1e-14)
        if plain:
            assert (cost, u) == (uncalibrated, at)
            pooled = (v * min(a, 1.0) + w * max(b, 0.0)) / (v + w)
            caught += 0 <= pooled <= 1 and cost_at(case, pooled) > cost * (1 + 1e-4)
        else:
            caught += cost < uncalibrated * (1 - 1e-9)
    assert caught > (300 if plain else 1000)


@pytest.mark.parametrize(
    "case",
    [
        (0.5, -1e-5, 3.0, 3 * 10**0.5, 0.0, 1.0, 10**3.1875),  # 1 − p is hidden by rounding
        (1.0, -1.0, 0.01869092183, 0.5634952915, 1.0, 1e-9, 29899.7935795),  # a cycle
        (0.9, 1.5571031246512405e-21, 0.0031, 0.3, 1e-9, 1.35e-6, 1.45e-5),  # u near the corner
        (1.0, 0.3989872530880438, 79.4, 1.03, 0.004, 1.16e-10, 2.94e-6),
    ],
)
def test_hard_cases(case):
    """What Newton's method, or a criterion to stop it, got wrong once."""
    certified(case)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 50.0, 1e6, math.inf])
def test_cost_without_order_or_without_weight(epsilon):
    for a, b in ((0.5, 0.5), (0.4, 0.5), (-3.0, 2.0), (1.2, 1.4)):
        cost, u = calibrated_cost(a, b, 2.0, 3.0, 0.1, 0.2, epsilon)
        assert cost == 0 and u == min(max(a, 0), 1)
    assert transportation_cost(0.7, 0.2, 0.0, 3.0, epsilon)[0] == 0
    assert transportation_cost(0.7, 0.2, 3.0, 0.0, epsilon)[0] == 0
    assert transportation_cost(2.0, 0.2, 0.0, 0.0, epsilon)[0] == 0
    if math.isfinite(epsilon):
        for ratio in (0.0, 0.3):
            cost, u = calibrated_cost(2.0, 1.5, 2.0, 3.0, ratio, ratio, epsilon)
            assert u == 1 and cost == 2 * calibrated_minus(2.0, 1.0, ratio, epsilon)
            cost, u = calibrated_cost(0.4, -2, 0.0, 3.0, ratio, ratio, epsilon)
            assert u == 0 and cost == 3 * calibrated_plus(-2.0, 0.0, ratio, epsilon)
    else:
        assert transportation_cost(1.1, 0.5, 1, 1, epsilon)[0] == math.inf
        assert transportation_cost(1.1, 0.5, 0, 1, epsilon)[0] == 0


def test_a_wall_at_a_great_ratio_of_weights():
    """u is within 1e-20 of 1, and the cost sees its logarithm."""
    cost, _ = transportation_cost(1.0, 0.5, 1e20, 1.0, 100.0)
    uc = mp.mpf(0.5) / (mp.mpf(10) ** 20 + 1)  # the pooled mean; e^−100 is far smaller
    reference = -(mp.mpf(10) ** 20) * mp.log(1 - uc) - (mp.log(2 * (1 - uc)) + mp.log(2 * uc)) / 2
    assert float(cost) == close_to(float(reference), 1e-12)


# ---------------------------------------------------------------- properties
estimates = st.floats(-3, 4)
budgets = st.floats(-5, 4).map(lambda x: 10.0**x)
ratios = st.one_of(st.just(0.0), st.floats(-8, 1).map(lambda x: 10.0**x))
some_weights = st.floats(-3, 3).map(lambda x: 10.0**x)
SLACK = 1e-11


@settings(max_examples=200)
@given(estimates, estimates, some_weights, some_weights, ratios, ratios, budgets, some_weights)
def test_tangents_of_the_cost_lie_above_it(a, b, v, w, r, s, epsilon, other):
    assume(abs(a - b) > 1e-6)
    a, b = max(a, b), min(a, b)
    cost, u, tilt_a, tilt_b, part_a, part_b = calibrated_cost_kernel(a, b, v, w, r, s, epsilon)
    assert 0 <= u <= 1 and cost >= 0
    assert v * part_a + w * part_b == close_to(cost, 1e-13)
    warm = calibrated_cost_kernel(a, b, v, other, r, s, epsilon, SaddleStart(tilt_a, tilt_b, u))
    again = calibrated_cost_kernel(a, b, v, other, r, s, epsilon)
    assert warm[0] == close_to(again[0], 1e-9), "the start does not matter"
    assert warm[0] <= (v * part_a + other * part_b) * (1 + 1e-9)
    assert cost <= transportation_cost(a, b, v, w, epsilon)[0] * (1 + 1e-9)


@pytest.mark.parametrize("start", [(0.5, 0.5, 0.3), (1 - 1e-16, 1e-300, 0.7), (math.nan,) * 3,
                                   (2.0, -1.0, 5.0), (1e-9, 1 - 1e-9, 0.25 + 1e-16)])  # fmt: skip
def test_any_start_leads_to_the_same_cost(start):
    rng = np.random.default_rng(7)
    for _ in range(200):
        case = problem(rng, plain=False)
        cold = calibrated_cost_kernel(*case)[0]
        assert calibrated_cost_kernel(*case, SaddleStart(*start))[0] == close_to(cold, 1e-9), case


def test_the_careful_iteration_finds_the_same_minimum():
    """It is for the one case in a hundred where Newton's method fails; here it does all."""
    rng = np.random.default_rng(8)
    compared = 0
    for _ in range(500):
        a, b, weight_a, weight_b, ratio_a, ratio_b, epsilon = case = problem(rng, plain=False)
        cost, u, *_ = calibrated_cost_kernel(*case)
        if u in (0, 1) or ratio_a + ratio_b == 0 or a == b:
            continue
        rates = ratio_a / epsilon, ratio_b / epsilon
        rated = transport._CostProblem(a, b, weight_a, weight_b, *rates, epsilon)
        width = min(a, 1.0) - max(b, 0.0)
        y, z, tilt_a, tilt_b = transport._careful_saddle(rated, 0.3 * width, 0.7 * width)
        u, uc, gap_a, gap_b = transport.place(y, z, a, b)
        part_a = divergences.penalised(tilt_a, a, 1 - a, u, uc, gap_a, ratio_a, epsilon)
        part_b = divergences.penalised(tilt_b, 1 - b, b, uc, u, gap_b, ratio_b, epsilon)
        assert weight_a * part_a + weight_b * part_b == close_to(cost, 1e-10), case
        compared += 1
    assert compared > 250


# ---------------------------------------------------------------- ε beyond all use
NEAR, BEYOND = 9e79, [1e80, 1e160, 1e200, 1e308]
"""The last ε for which the noise is reckoned with, and some for which it is not."""


@pytest.mark.parametrize("function", [calibrated_minus, calibrated_plus])
def test_the_noise_of_an_endless_budget_costs_nothing(function):
    x, u, r = np.meshgrid([1e-12, 0.1, 0.5, 0.999], [1e-9, 0.3, 0.7, 1 - 1e-12], [0.01, 1.0, 1e3])
    free = function(x, u, 0.0, math.inf)
    assert function(x, u, r, NEAR) == pytest.approx(free, rel=1e-9, abs=1e-14)
    for epsilon in BEYOND:
        assert (function(x, u, r, epsilon) == free).all()
    edge = [function(0.4, u, 1.0, epsilon) for u in (0.0, 1.0) for epsilon in (NEAR, *BEYOND)]
    assert sorted(edge)[:5] == [0.0] * 5 and min(sorted(edge)[5:]) > 1e79


def test_costs_and_indices_of_an_endless_budget():
    upper = divergences.calibrated_upper_kernel
    free = calibrated_cost(0.8, 0.3, 2.0, 1.0, 0.1, 0.2, math.inf)
    cost, place = calibrated_cost(0.8, 0.3, 2.0, 1.0, 0.1, 0.2, NEAR)
    assert cost == pytest.approx(free[0], rel=1e-9)
    # around a minimum the cost is flat: its place is known to the root of the precision alone
    assert place == pytest.approx(free[1], abs=1e-7)
    for epsilon in BEYOND:
        found = calibrated_cost(0.8, 0.3, 2.0, 1.0, 0.1, 0.2, epsilon)
        assert found == pytest.approx(free, rel=1e-12)
        assert upper(0.3, 10.0, 1.0, epsilon, 2.0) == upper(0.3, 10.0, 1.0, math.inf, 2.0)
    runs = dpb.simulate(dpb.DPIMED(1e200), dpb.instances.bernoulli([0.9, 0.1]), 10**5, n_runs=20)
    assert runs.mean()[-1] < 100, "16 343 with divergences that underflow"


# ---------------------------------------------------------------- shapes and refusals
NUMBERS = [None, "0.5", True, 1j, [0.5, "a"], [[1], [1, 2]], [True], math.nan, [0.2, math.nan]]
MEAN = [-0.1, 1.1, [0.5, 2.0], math.inf]
ESTIMATE = [math.inf, -math.inf, [0.5, math.inf], 1e101]
WEIGHT = [-1e-9, [1.0, -2.0], math.inf]
BAD = {
    **dict.fromkeys(("x", "mean_a", "mean_b"), ESTIMATE),
    **dict.fromkeys(("y", "u"), MEAN),
    **dict.fromkeys(("ratio", "ratio_a", "ratio_b", "weight_a", "weight_b"), WEIGHT),
    "epsilon": [0, -1.0, [1.0, 0.0], -math.inf],
}
ONE_SIDED = [d_minus, d_plus, calibrated_minus, calibrated_plus]


@pytest.mark.parametrize(
    "function", [kl, total_variation, d_eps, *ONE_SIDED, transportation_cost, calibrated_cost]
)
def test_bad_arguments_are_refused(function):
    good = dict.fromkeys(inspect.signature(function).parameters, 0.5)
    assert np.all(np.isfinite(function(**good)))
    for argument in good:
        more = MEAN if function is total_variation else []
        for value in NUMBERS + BAD[argument] + more:
            refusal(argument, value, lambda a=argument, v=value: function(**{**good, a: v}))
