"""Characteristic times: certificates by weak duality, limits and refusals.

For any allocation w, T* ≤ 1/min over a of W_a(w). For any points u_a between the means,
T* ≥ Σ 1/d⁺(μ_a, u_a) / max(1, Σ d⁻(μ*, u_a)/d⁺(μ_a, u_a)): weigh the costs' tangents by 1/d⁺.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, refusal

from dpbandits.divergences import d_minus, d_plus, kl
from dpbandits.identification.characteristic import (
    characteristic_time,
    privacy_switches,
    sample_lower_bound,
    total_variation_time,
)
from dpbandits.identification.transport import transportation_cost

MU1 = (0.95, 0.9, 0.9, 0.9, 0.5)
MU2 = (0.75, 0.7, 0.7, 0.7, 0.7)
FAR = (0.0, 0.25, 0.5, 0.75, 1.0)
BUDGETS = [1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 30.0, 1e6, math.inf]


def bounds(means, weights, epsilon, share=None):
    """Return a lower and an upper bound on T*, the lower from where the weights put the u_a.

    With a share β of the best arm the lower one is Σ 1/d⁺ / (β·Σ d⁻/d⁺ + 1 − β); without, the
    u of the nearest rivals is moved, a little, to where Σ d⁻/d⁺ is 1.
    """
    means = np.asarray(means)
    best = int(means.argmax())
    others = np.arange(means.size) != best
    top, rest, nearest = means[best], means[others], means[others] == means[others].max()
    costs, u = transportation_cost(top, means, weights[best], weights, epsilon)
    highest, u = 1 / costs[others].min(), u[others]

    def parts(u):
        up = np.maximum(d_plus(rest, u, epsilon), 1e-300)
        return np.sum(d_minus(top, u, epsilon) / up), np.sum(1 / up)

    if share is not None:
        assert weights[best] == pytest.approx(share, rel=1e-12)
        if np.any(u == 0):  # the cost is β·d⁻(μ*, 0), whatever the rival's weight
            return 1 / (share * d_minus(top, 0.0, epsilon)), highest
        quotient, inverse = parts(u)
        return inverse / (share * quotient + 1 - share), highest
    middle = u[nearest].mean()
    ends = [middle - 0.1 * (middle - rest.max()), middle + 0.1 * (top - middle)]

    def moved(point):
        return parts(np.where(nearest, point, u))[0] - 1

    if moved(ends[0]) > 0 > moved(ends[1]):
        u = np.where(nearest, optimize.brentq(moved, *ends, xtol=1e-18, rtol=1e-15), u)
    quotient, inverse = parts(u)
    return inverse / max(1.0, quotient), highest


def check(means, epsilon, share=None):
    """Return T*, which has to lie between its bounds, and these close together."""
    time = characteristic_time(means, epsilon, share)
    assert time.weights.sum() == pytest.approx(1, rel=1e-13) and time.weights.min() > 0
    low, high = bounds(means, time.weights, epsilon, share)
    assert low * (1 - 1e-8) <= time.value <= high * (1 + 1e-8), (means, epsilon)
    assert high <= low * (1 + 1e-8), (means, epsilon)
    return time


def instance(rng):
    n_arms = int(rng.choice([2, 3, 5, 10, 100]))
    means = rng.random(n_arms)
    kind = rng.integers(5)
    if kind == 1:  # ties among the others
        means = np.round(means, 1)
    elif kind == 2:  # tiny gaps
        means = 0.2 + 0.6 * means[0] - 10.0 ** rng.uniform(-6, -1, n_arms)
    elif kind == 3:  # the ends
        means[:2] = rng.permutation([0.0, 1.0])
    elif kind == 4:
        means = 10.0 ** rng.uniform(-4, 0, n_arms)
    means = np.sort(means)
    if means[-1] - means[-2] < 1e-6:
        means *= 0.99
        means[-1] += 0.001
    return rng.permutation(means)


def test_times_lie_between_their_bounds(rng):
    for k in range(900):
        epsilon = float(rng.choice(BUDGETS)) if rng.random() < 0.3 else 10.0 ** rng.uniform(-6, 6)
        share = None if k % 3 else float(rng.choice([0.5, rng.uniform(0.05, 0.95)]))
        check(instance(rng), epsilon, share)


def test_the_bounds_catch_a_wrong_allocation():
    for epsilon, a in itertools.product(BUDGETS, range(5)):
        wrong = characteristic_time(FAR, epsilon).weights.copy()
        wrong[a] *= 1.05
        low, high = bounds(FAR, wrong / wrong.sum(), epsilon)
        assert high > low * (1 + 1e-8), "control: not the optimal allocation"


# ---------------------------------------------------------------- closed forms
@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("best", "other"), [(0.6, 0.5), (1.0, 0.3), (0.4, 0.0), (1.0, 0.0)])
def test_equal_gaps(best, other, epsilon):
    """T* = (K − 1)/d⁺(μ_a, u) with (K − 1)·d⁻(μ*, u) = d⁺(μ_a, u): nearly linear in K."""
    per_arm = []
    for rivals in (1, 2, 10, 100):
        value = check([best, *[other] * rivals], epsilon).value
        u = optimize.brentq(
            lambda u, k=rivals: k * d_minus(best, u, epsilon) - d_plus(other, u, epsilon),
            other + 1e-12,
            best - 1e-12,
            xtol=1e-15,
        )
        assert value == pytest.approx(rivals / d_plus(other, u, epsilon), rel=1e-7)
        per_arm.append(value / rivals)
    assert (np.diff(per_arm) < 0).all() and per_arm[-1] > 1 / d_plus(other, best, epsilon)


def test_total_variation_time():
    """Also the limit of ε·T*_ε, as d_ε ≥ ε·|x − u| − ε²/8."""
    for means, value in ((MU2, 100), (MU1, 80 + 1 / 0.45), ([0.0, 1.0], 2)):
        assert total_variation_time(means) == pytest.approx(value, rel=1e-12)
        for epsilon in (1e-5, 1e-2):
            scaled = epsilon * characteristic_time(means, epsilon).value
            assert value * (1 - 1e-9) <= scaled <= value / (1 - epsilon * value / 8) * (1 + 1e-9)


# ---------------------------------------------------------------- properties
lists = (
    st.lists(st.floats(0, 1), min_size=2, max_size=8)
    .filter(lambda means: np.diff(np.sort(means))[-1] > 1e-5)
    .map(np.array)
)
budgets = st.floats(-4, 3).map(lambda x: 10.0**x)


@settings(max_examples=200, deadline=None)
@given(lists, budgets, st.integers(0, 2**32))
def test_order_of_the_arms_does_not_matter(means, epsilon, seed):
    order = np.random.default_rng(seed).permutation(means.size)
    time, other = characteristic_time(means, epsilon), characteristic_time(means[order], epsilon)
    assert other.value == pytest.approx(time.value, rel=1e-12)
    assert other.weights == pytest.approx(time.weights[order], rel=1e-12)
    best = means.argmax()
    assert time.costs[best] == math.inf
    assert np.delete(time.costs, best) == pytest.approx(1 / time.value, rel=1e-8), "all are equal"
    rivals = np.argsort(means)[:-1]
    steps = np.diff(time.weights[rivals])
    assert np.all(steps >= -1e-9), "of two rivals the nearer one has more pulls"
    assert np.all(steps[np.diff(means[rivals]) == 0] == 0), "tied arms are treated alike"


# ---------------------------------------------------------------- switches
@pytest.mark.parametrize("means", [MU1, MU2, (0.6, 0.2), (0.99, 0.5, 0.01), (0.3, 0.29, 0.05)])
def test_the_exact_switch(means):
    switches, without = privacy_switches(means), characteristic_time(means, math.inf)
    assert switches.exact < switches.free
    at = characteristic_time(means, switches.exact * (1 + 1e-9))
    assert at.value == pytest.approx(without.value, rel=1e-12)
    assert at.weights == pytest.approx(without.weights, rel=1e-9)
    below = characteristic_time(means, 0.9 * switches.exact)
    assert below.value > without.value * (1 + 1e-7)


@pytest.mark.parametrize("means", [FAR, (1.0, 0.5), (0.5, 0.0)])
def test_no_switch_at_the_ends(means):
    assert privacy_switches(means) == (math.inf, math.inf)
    without = characteristic_time(means, math.inf).value
    assert characteristic_time(means, 8.0).value > without * (1 + 1e-9)


def test_sample_lower_bound():
    value = characteristic_time(MU1, 0.5).value
    assert sample_lower_bound(MU1, 0.5, 0.01) == pytest.approx(value * math.log(1 / 0.024))
    assert sample_lower_bound(MU1, 0.5, 0.5) == 0
    deltas = np.geomspace(1e-12, 0.999, 500)  # log(1/(2.4δ)) is at most kl(δ, 1 − δ)
    assert np.all(-np.log(2.4 * deltas) <= kl(deltas, 1 - deltas))


# ---------------------------------------------------------------- refusals
BAD_MEANS = [
    *[None, "0.5", 0.5, [], [0.5], [0.5, 0.5], [0.2, 0.7, 0.7], [0.5, 1.1], [-0.1, 0.5]],
    *[[0.5, math.nan], [[0.5, 0.2]], [True, False], [0.5, "a"], [[0.5], [0.2, 0.1]]],
]


@pytest.mark.parametrize("means", BAD_MEANS, ids=repr)
def test_bad_means_are_refused(means):
    refusal("means", means, lambda: characteristic_time(means, 1.0))
    refusal("means", means, lambda: total_variation_time(means))
    refusal("means", means, lambda: privacy_switches(means))
    refusal("means", means, lambda: sample_lower_bound(means, 1.0, 0.1))


def test_bad_arguments_are_refused():
    for value in NOT_A_NUMBER + NOT_POSITIVE:
        refusal("epsilon", value, lambda v=value: characteristic_time(MU1, v))
        refusal("epsilon", value, lambda v=value: sample_lower_bound(MU1, v, 0.1))
    for value in NOT_A_NUMBER[1:] + NOT_FRACTIONS:
        refusal("leader_share", value, lambda v=value: characteristic_time(MU1, 1.0, v))
        refusal("delta", value, lambda v=value: sample_lower_bound(MU1, 1.0, v))
