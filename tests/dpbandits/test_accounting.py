"""Composition of Laplace releases: closed forms, an independent package, and rigour."""

import functools
import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from mpmath import mp
from scipy import special

from dpbandits.privacy import (
    _kernels,
    advanced_composition,
    basic_composition,
    calibrate,
    delta_at,
    epsilon_at,
)

TD16_DELTA = math.exp(-10)


def one_release(epsilon, loss):
    """δ of one release, for ε of any sign."""
    if epsilon >= loss:
        return 0.0
    return -math.expm1(epsilon if epsilon < -loss else (epsilon - loss) / 2)


def by_integration(epsilon, losses):
    """δ(ε) = E[δ'(ε − L)], with L the loss of the first release and δ' of the others."""
    first, *others = losses
    if not others:
        return one_release(epsilon, first)
    atoms = 0.5 * by_integration(epsilon - first, others)
    atoms += 0.5 * math.exp(-first) * by_integration(epsilon + first, others)
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(others))).reshape(len(others), -1)
    kinks = epsilon - np.array(others) @ signs
    inner = np.unique(np.concatenate([[-first, first], kinks[np.abs(kinks) < first]]))
    between = 0.0
    for low, high in itertools.pairwise(inner):
        nodes, weights = np.polynomial.legendre.leggauss(12)
        points = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        values = [by_integration(epsilon - x, others) for x in points]
        density = 0.25 * np.exp(-(first - points) / 2)
        between += 0.5 * (high - low) * float(weights @ (density * values))
    return atoms + between


def td16_losses(f, horizon=100_000, v=1.1):
    """Losses of the releases of an arm of DP-UCB-INT that its first reward touches."""
    return (f * np.arange(1, horizon // f + 1)) ** (-v / 2)


def assert_brackets(bracket, truth, slack=1e-13):
    assert bracket.lower <= truth * (1 + slack)
    assert truth * (1 - slack) <= bracket.upper


@pytest.mark.parametrize("loss", [1e-8, 1e-4, 0.1, 1.0, 7.0, 40.0])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.9, 0.999])
def test_one_release_is_the_closed_form(loss, fraction):
    bracket = delta_at(fraction * loss, [loss])
    assert_brackets(bracket, -math.expm1(-(1 - fraction) * loss / 2), 1e-11)
    assert bracket.width <= 2e-6 * bracket.upper


@pytest.mark.parametrize(
    "losses", [[1.0, 1.0], [1.0, 0.3], [0.02, 0.01], [3.0, 0.5, 0.5], [0.4, 0.3, 0.15]]
)
def test_few_releases_are_an_integral(losses):
    for fraction in (0.0, 0.2, 0.5, 0.8, 0.97):
        epsilon = fraction * sum(losses)
        truth = by_integration(epsilon, losses)
        bracket = delta_at(epsilon, losses)
        assert_brackets(bracket, truth, 1e-9)
        # it is wider where ε is a sum of ± the losses, at which δ has a kink
        assert bracket.width <= 2e-4 * bracket.upper
        around = epsilon_at(truth, losses)
        assert around.lower - 1e-9 <= epsilon <= around.upper + 1e-9


@pytest.mark.parametrize(
    ("losses", "epsilon"),
    [
        ([0.5] * 4, 0.7),
        ([0.1] * 100, 2.0),
        ([0.02] * 1000, 1.5),
        ([1.0, 0.4, 0.4, 0.25] + [0.07] * 30, 1.9),
        (td16_losses(160, 16_000), 0.9),
    ],
)
def test_an_independent_package_agrees(losses, epsilon):
    bracket = delta_at(epsilon, losses)
    for pessimistic in (True, False):
        laws = [
            privacy_loss_distribution.from_laplace_mechanism(
                1 / loss, value_discretization_interval=2e-4, pessimistic_estimate=pessimistic
            ).self_compose(int(count))
            for loss, count in zip(*np.unique(losses, return_counts=True), strict=True)
        ]
        theirs = functools.reduce(lambda law, other: law.compose(other), laws)
        delta = theirs.get_delta_for_epsilon(epsilon)
        below, above = bracket.lower * (1 - 1e-9), bracket.upper * (1 + 1e-9)
        assert delta >= below if pessimistic else delta <= above
        assert delta == pytest.approx(bracket.upper, rel=0.03)


def test_many_small_releases_are_nearly_gaussian():
    losses = np.full(100_000, 1e-4)
    # the loss of a release has the mean e − 1 + exp(−e) and about twice that as its variance
    deviation = math.sqrt(2 * 100_000 * (1e-4 + math.expm1(-1e-4)))
    for epsilon in (0.0, 0.05, 0.1):
        upper, lower = 0.5 * deviation - epsilon / deviation, -0.5 * deviation - epsilon / deviation
        gaussian = special.ndtr(upper) - math.exp(epsilon) * special.ndtr(lower)
        assert delta_at(epsilon, losses).upper == pytest.approx(gaussian, rel=1e-3)


CASES = [
    [1.0],
    [0.3] * 20,
    [5.0, 1e-3],
    [1e-4] * 100_000,
    np.repeat(np.random.default_rng(0).uniform(1e-3, 0.1, 20), 5000),
    td16_losses(1),
    td16_losses(147),
    np.linspace(0.9e-4, 1.1e-4, 20_000),
    np.repeat([0.3, 0.2, 0.011], [3, 40, 5000]),
]


@pytest.mark.parametrize("loss", [1e-6, 1e-30])
def test_the_bracket_of_a_small_loss_is_as_narrow(loss):
    """ε0 + 2·log(1 − δ), in parts of ε0."""
    bracket = epsilon_at(loss / 10, [loss])
    assert_brackets(bracket, loss + 2 * math.log1p(-loss / 10))
    assert bracket.width < 1e-7 * loss


@pytest.mark.parametrize("losses", CASES, ids=range(len(CASES)))
def test_brackets_are_narrow_and_hold(losses):
    for delta in (1e-15, TD16_DELTA, 0.01):
        epsilon = epsilon_at(delta, losses)
        assert epsilon.lower <= epsilon.upper <= basic_composition(losses)
        assert epsilon.width <= 1e-5 * basic_composition(losses)
        assert delta_at(epsilon.upper, losses).lower <= delta * (1 + 1e-12)
        assert epsilon.lower == 0 or delta_at(epsilon.lower, losses).upper >= delta * (1 - 1e-12)
    epsilon = epsilon_at(1e-6, losses).upper
    narrow = delta_at(epsilon, losses, tolerance=1e-7)
    assert 0 < narrow.width < 1e-6 * narrow.upper
    for tolerance in (1e-4, 1e-3, 1e-2, 0.1):
        bracket = delta_at(epsilon, losses, tolerance)
        assert bracket.lower <= narrow.upper and narrow.lower <= bracket.upper
        assert bracket.width <= 8 * tolerance * bracket.upper
    assert bracket.width > 10 * narrow.width


@pytest.mark.parametrize("width", [0.01, 1.0])
def test_the_kernels_are_transforms_of_a_sum_of_uniform_variables(width):
    """K⁺ and K⁻ as the lemma has them, in 40 digits, where the differences in K⁻ cancel."""
    points = np.array([1e-3, 0.5 + 3j, 20 - 40j, 100 + 0j], dtype=np.complex128)
    with mp.workdps(40):
        h = mp.mpf(width) / 12

        def psi(z):
            return (mp.sinh(z * h) / (z * h)) ** 12

        for z, *found in zip(points, *_kernels(points, width), strict=True):
            z = mp.mpmathify(z)
            above = psi(mp.mpf(1)) ** z * psi(z) / (z * (z + 1))
            below = (psi(z) - z * (psi(z + 1) - psi(z))) / (z * (z + 1))
            for kernel, truth in zip(found, (above, below), strict=True):
                assert abs(kernel - complex(truth)) <= 1e-12 * abs(complex(truth))


def test_delta_falls_with_epsilon_and_grows_with_the_losses():
    losses = np.array([0.5, 0.2, 0.2, 0.1])
    deltas = [delta_at(epsilon, losses) for epsilon in np.linspace(0, 0.99, 12)]
    assert all(there.upper < here.lower for here, there in itertools.pairwise(deltas))
    for more in [*(losses + 0.01 * np.eye(4)), [*losses, 0.05]]:
        assert delta_at(0.3, more).lower > delta_at(0.3, losses).upper
        assert epsilon_at(0.01, more).lower > epsilon_at(0.01, losses).upper
    assert delta_at(0.4, losses) == delta_at(0.4, [0.0, *sorted(losses), 0.0])


def test_the_two_ends_of_delta():
    """Without δ the losses add up; where δ is large, no ε is needed."""
    losses = [0.5, 0.2, 0.1]
    total = basic_composition(losses)
    assert total == pytest.approx(0.8, rel=1e-15)
    assert epsilon_at(0.0, losses) == (total, total) and delta_at(total, losses) == (0.0, 0.0)
    assert delta_at(0.99 * total, losses).lower > 0
    nearly_all = delta_at(19.0, [0.1] * 200)
    assert 0 < nearly_all.width < 1e-4 * nearly_all.lower < 1e-50
    distance = [total - epsilon_at(delta, losses).upper for delta in (1e-2, 1e-4, 1e-6)]
    assert distance[0] > 50 * distance[1] > 2500 * distance[2] >= 0
    reach = delta_at(0.0, losses)
    assert epsilon_at(reach.upper + 1e-9, losses) == (0.0, 0.0)
    assert epsilon_at(reach.lower - 1e-6, losses).lower > 0
    assert delta_at(0.0, []) == epsilon_at(0.1, [0.0, 0.0]) == (0.0, 0.0)


def test_nearly_everything_is_told():
    for losses in ([50.0], [1e5], [1e100, 1.0], [0.1] * 100_000):
        bracket = delta_at(1.0, losses)
        assert 1 - 1e-6 <= bracket.lower <= bracket.upper == 1.0
    assert_brackets(delta_at(1.0, [50.0]), one_release(1.0, 50.0))
    assert_brackets(delta_at(1.0, [30.0], 1e-7), one_release(1.0, 30.0))
    for losses in ([1e5], [1e8], [1e100, 1.0], [100.0] * 1000):
        epsilon = epsilon_at(TD16_DELTA, losses)
        assert epsilon.width <= 1.1e-5 * epsilon.upper
    tiny = delta_at(0.5e-100, [1e-100])
    assert_brackets(tiny, 0.25e-100)
    assert tiny.width < 1e-106


def test_advanced_composition_is_above_the_truth():
    for losses in CASES:
        for delta in (1e-9, 0.3):
            assert advanced_composition(losses, delta) > epsilon_at(delta, losses).upper
    losses, delta = np.array([0.5, 0.2]), 1e-3
    means = sum(e * (math.exp(e) - 1) / (math.exp(e) + 1) for e in losses)
    root = math.sqrt(2 * math.log(1 / delta) * (0.5**2 + 0.2**2))
    assert advanced_composition(losses, delta) == pytest.approx(means + root, rel=1e-13)
    # its first sum bounds the mean of a Laplace release's loss, and is below that of 2010
    sizes = np.geomspace(1e-3, 20)
    terms = sizes * np.tanh(sizes / 2)
    assert (sizes + np.expm1(-sizes) < terms).all()
    assert (terms < sizes * np.expm1(sizes)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delta_at(-0.1, [1.0]), "epsilon=-0.1 is out of range; allowed: a number from 0"),
        (lambda: delta_at(math.nan, [1.0]), "epsilon=nan"),
        (lambda: delta_at("1", [1.0]), "epsilon='1' is not a number"),
        (lambda: delta_at(1.0, [-1.0]), r"losses=\[-1.0\] are out of range"),
        (lambda: delta_at(1.0, [math.inf]), r"losses=\[inf\]"),
        (lambda: delta_at(1.0, 1.0), r"losses=1.0"),
        (lambda: delta_at(1.0, ["a"]), r"losses=\['a'\] are not numbers"),
        (lambda: delta_at(1.0, [True]), r"losses=\[True\] are not numbers"),
        (lambda: delta_at(1.0, [1.0], tolerance=0.0), "tolerance=0.0 is out of range"),
        (lambda: epsilon_at(1.0, [1.0]), "delta=1.0 is out of range; allowed: at least 0"),
        (lambda: epsilon_at(-1e-9, [1.0]), "delta=-1e-09"),
        (lambda: advanced_composition([1.0], 0.0), "delta=0.0 is out of range; allowed: above 0"),
        (lambda: basic_composition([[1.0]]), "losses="),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("losses", [[0.25] * 4, [0.1] * 7, [1e-9, 3.0, 0.2], 1 / np.arange(1, 500)])
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 50.0])
def test_without_delta_the_factor_is_that_of_the_sum(losses, epsilon):
    factor = calibrate(epsilon, 0, losses)
    assert factor == pytest.approx(epsilon / math.fsum(losses), rel=1e-14)
    assert basic_composition(factor * np.array(losses)) <= epsilon


@pytest.mark.parametrize("delta", [1e-12, TD16_DELTA, 0.1, 0.99])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 10.0])
def test_the_factor_of_one_release_is_the_closed_form(epsilon, delta):
    """δ = 1 − exp((ε − c·e)/2)."""
    greatest = epsilon - 2 * math.log1p(-delta)
    for loss in (0.01, 3.0):
        reached = loss * calibrate(epsilon, delta, [loss])
        assert reached <= greatest * (1 + 1e-13)
        assert reached >= greatest * (1 - 1.2e-5)  # the bracket is wide near the sum of the losses


@pytest.mark.parametrize(
    ("losses", "epsilon", "delta"),
    [
        ([1 / 17] * 17, 1.0, TD16_DELTA),
        (td16_losses(16), 1.0, TD16_DELTA),
        (td16_losses(147), 0.1, TD16_DELTA),
        ([3.0, 0.5, 0.5], 2.0, 1e-6),
        ([1e-4] * 1000, 0.5, 0.2),
    ],
)
def test_the_factor_is_on_the_safe_side_and_not_far_from_it(losses, epsilon, delta):
    losses = np.array(losses)
    factor = calibrate(epsilon, delta, losses)
    assert epsilon_at(delta, factor * losses).upper <= epsilon
    assert factor >= epsilon / losses.sum() * (1 - 1e-12), "δ takes nothing away"
    # control: a share of 2e-6 more is proved to be too much, in both forms
    too_much = factor * (1 + 2e-6) * losses
    assert epsilon_at(delta, too_much).lower > epsilon
    assert delta_at(epsilon, too_much).lower > delta >= delta_at(epsilon, factor * losses).lower


def test_the_factor_goes_down_as_the_losses_go_up():
    losses = np.array([0.5, 0.2, 0.1])
    factor = calibrate(1.0, 1e-5, losses)
    assert calibrate(1.0, 1e-5, 8 * losses) == pytest.approx(factor / 8, rel=2e-6)
    assert calibrate(1.0, 1e-5, [*losses, 0.0]) == pytest.approx(factor, rel=2e-6)
    assert calibrate(1.0, 1e-5, [*losses, 0.1]) < factor < calibrate(1.0, 1e-4, losses)
    assert calibrate(1.0, 1e-5, []) == calibrate(1.0, 0.0, [0.0, 0.0]) == math.inf
