"""Reward laws: moments, supports, expectations, and sums that are drawn at once.

Samples and sums are held against NumPy's own draws and against closed forms, never against
another function of the package.
"""

import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistical import distance_to_law, one_sample_limit, same_law
from test_validation import NOT_A_NUMBER, NOT_POSITIVE, refusal

import dpbandits as dpb
from dpbandits._engine.kernels import interpreted
from dpbandits.rewards import laws
from dpbandits.rewards.laws import BetaLaw, DiscreteLaw, Law, TwoPointLaw, UniformLaw

make = dpb.laws


def values(points, weights):
    return lambda rng, shape: rng.choice(points, size=shape, p=weights)


DISCRETE = (-0.5, 0.0, 0.25, 1.0), (0.2, 0.0, 0.7, 0.1)
# Law, mean, variance, support, and the law as NumPy draws it.
LAWS = {
    "two-point": (make.two_point(0.3), 0.3, 0.91, (-1, 1), values([-1, 1], [0.35, 0.65])),
    "two-point, below 0": (
        make.two_point(-1.5, 2.0), -1.5, 1.75, (-2, 2), values([-2, 2], [0.875, 0.125])),
    "two-point, rare": (
        TwoPointLaw(1.0, -0.5, 0.75, 0.1), -0.375, 0.140625, (-0.5, 0.75),
        values([-0.5, 0.75], [0.9, 0.1])),
    "low variance": (
        make.low_variance(0.2, 0.05), 0.2, 0.0025, (0.15, 0.25), values([0.15, 0.25], [0.5, 0.5])),
    "uniform": (
        make.uniform(-0.4), -0.4, 0.12, (-1, 0.2), lambda rng, shape: rng.uniform(-1, 0.2, shape)),
    "uniform, wide": (
        make.uniform(1.0, 3.0), 1.0, 4 / 3, (-1, 3), lambda rng, shape: rng.uniform(-1, 3, shape)),
    "beta": (make.shifted_beta(3, 2), 0.2, 4 * 0.04, (-1, 1),
             lambda rng, shape: 2 * rng.beta(3, 2, shape) - 1),
    "beta, without bound at the ends": (
        make.shifted_beta(0.5, 0.5, 2.0), 0.0, 2.0, (-2, 2),
        lambda rng, shape: 2 * (2 * rng.beta(0.5, 0.5, shape) - 1)),
    "beta, from 0 to 1": (
        make.beta(3, 2), 0.6, 0.04, (0, 1), lambda rng, shape: rng.beta(3, 2, shape)),
    "beta, elsewhere": (
        BetaLaw(2.0, 2, 2, low=-0.5, high=1.5), 0.5, 0.2, (-0.5, 1.5),
        lambda rng, shape: 2 * rng.beta(2, 2, shape) - 0.5),
    "discrete": (make.discrete(*DISCRETE), 0.175, 0.163125, (-0.5, 1.0), values(*DISCRETE)),
    "empirical": (
        make.discrete([0.2, 0.9, 0.9, 0.4], half_range=1.0), 0.6, 0.095, (0.2, 0.9),
        values([0.2, 0.4, 0.9], [0.25, 0.25, 0.5])),
}  # fmt: skip
every_law = pytest.mark.parametrize(
    ("law", "mean", "variance", "support", "numpy_draw"), LAWS.values(), ids=LAWS
)


@every_law
def test_a_law(law, mean, variance, support, numpy_draw):
    """Moments and support; its generator is the only source of randomness; it is a value."""
    assert isinstance(law, Law) and law.name and law.support == pytest.approx(support)
    assert (law.mean, law.variance) == pytest.approx((mean, variance), abs=1e-12)
    assert law.expectation(lambda x: x) == pytest.approx(mean, abs=1e-8)
    assert law.expectation(lambda x: (x - mean) ** 2) == pytest.approx(variance, rel=1e-8)
    assert law.expectation(np.ones_like) == pytest.approx(1, abs=1e-12)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again, other = (
        (law.sample(rng, 5000), law.sample_sum(rng, 5000), law.sample_sum(rng, 0))
        for rng in map(np.random.default_rng, (0, 0, 2))
    )
    sample = first[0]
    assert sample.shape == (5000,) and sample.dtype == np.float64
    assert support[0] - 1e-15 <= sample.min() and sample.max() <= support[1] + 1e-15
    assert np.abs(sample).max() <= law.half_range
    assert np.ptp(sample) > 0.9 * (support[1] - support[0]), "all of the support is reached"
    assert np.array_equal(sample, again[0]) and first[1:] == again[1:] and first[2] == 0
    assert not np.array_equal(sample, other[0]) and first[1] != other[1]
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert pickle.loads(pickle.dumps(law)) == law and hash(law) == hash(dataclasses.replace(law))
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.half_range = 2.0
    assert sum(law == entry[0] for entry in LAWS.values()) == 1
    numbers = [getattr(law, f.name) for f in dataclasses.fields(law)]
    assert {type(x) for x in numbers} <= {float, tuple, type(None)}, "numbers become floats"


def test_names_tell_laws_apart():
    assert len({entry[0].name for entry in LAWS.values()}) == len(LAWS) - 1, "two are on ±R"
    assert make.two_point(0.3).name == make.two_point(-1.5, 2.0).name


def test_expectations_in_closed_form():
    """Of functions that are not polynomials, and of one that sees a single atom."""
    two = make.two_point(0.5, 2.0)  # 2 with probability 5/8
    expected = pytest.approx(math.exp(2) * 0.625 + math.exp(-2) * 0.375, rel=1e-14)
    assert two.expectation(np.exp) == expected and two.expectation(lambda x: x > 0) == 0.625
    assert make.discrete([-2, 2], [3, 5] / np.float64(8)).expectation(np.exp) == expected
    interval = make.uniform(0.25)  # on [-1/2, 1]
    assert interval.expectation(np.exp) == pytest.approx((math.e - math.exp(-0.5)) / 1.5, rel=1e-12)
    with np.errstate(divide="ignore"):  # log 0 at the atom that has no weight
        for sure in (make.two_point(1.0), make.discrete([-1, 1], [0, 1])):
            assert sure.expectation(lambda x: np.log(x + 1)) == math.log(2)
    arcsine = make.shifted_beta(0.5, 0.5)  # E exp(X) is the modified Bessel function I_0(1)
    assert arcsine.expectation(np.exp) == pytest.approx(float(np.i0(1.0)), rel=1e-7)


@pytest.mark.parametrize(
    ("a", "b"), [(60, 40), (500, 300), (3, 1000), (1e5, 2e5), (0.01, 0.02), (1e-3, 1e-3)]
)
def test_expectations_of_sharp_and_of_flat_beta_laws(a, b):
    law = make.shifted_beta(a, b)
    assert law.expectation(np.ones_like) == pytest.approx(1, rel=1e-12)
    assert law.expectation(lambda x: x) == pytest.approx(law.mean, rel=1e-9, abs=1e-9)
    squares = law.expectation(lambda x: (x - law.mean) ** 2)
    assert squares == pytest.approx(law.variance, rel=1e-5)


# ---------------------------------------------------------------- draws and sums
SUMS = 6000
SWITCH = laws._BY_BITS


def sums(law, seed, n, size=SUMS):
    rng = np.random.default_rng(seed)
    return np.array([law.sample_sum(rng, n) for _ in range(size)])


def same_sums(first, second, share):
    """Sums of atoms are equal up to rounding only; nine decimals keep their ties."""
    return same_law(np.round(first, 9), np.round(second, 9), share)


@pytest.mark.statistical
@every_law
def test_law_of_single_draws(law, mean, variance, support, numpy_draw):
    sample = law.sample(np.random.default_rng(2), 40_000)
    other = numpy_draw(np.random.default_rng(3), 40_000)
    assert same_sums(sample, other, 1)
    assert not same_sums(sample + math.sqrt(variance) / 10, other, 1), "control"


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "lengths"),
    [(name, [1, 2, 60]) for name in LAWS]
    + [(name, [SWITCH - 1, SWITCH, SWITCH + 1, 4 * SWITCH + 3]) for name in LAWS if "unif" in name],
)
def test_law_of_sums(name, lengths):
    """Those of uniforms also around the switch to binary digits: one law on both sides.

    Controls: a mean a third of a deviation off, and half as many draws counted twice.
    """
    law, _, variance, _, numpy_draw = LAWS[name]
    for n in lengths:
        rng, share = np.random.default_rng([5, n]), 1 / len(lengths)
        first = sums(law, [4, n], n)
        second = np.array([numpy_draw(rng, n).sum() for _ in range(SUMS)])
        assert same_sums(first, second, share)
        assert not same_sums(first + np.sqrt(n * variance) / 3, second, share)
        assert n == 1 or not same_sums(2 * sums(law, [4, n, 1], n // 2), second, share)


@pytest.mark.statistical
@every_law
def test_law_of_moments(law, mean, variance, support, numpy_draw):
    """Σx² of seven rewards, and Σx² − (Σx)²/7, for which both must be of the same rewards.

    Controls: three rewards in place of seven; squares of other rewards, where that matters.
    """
    rng = np.random.default_rng(6)
    drawn = np.array([law.sample_moments(rng, 7) for _ in range(SUMS)])
    rewards = numpy_draw(rng, (SUMS, 7))
    squares, spread = (rewards**2).sum(axis=1), 7 * rewards.var(axis=1)

    def same(moments):
        own = moments[:, 1] - moments[:, 0] ** 2 / 7
        return same_sums(moments[:, 1], squares, 1 / 2) and same_sums(own, spread, 1 / 2)

    assert same(drawn)
    few = np.array([law.sample_moments(rng, 3) for _ in range(SUMS)])
    assert not same(few * 7 / 3)
    others = np.column_stack([drawn[:, 0], np.roll(drawn[:, 1], 1)])
    together = np.ptp(squares) > 1e-9 and np.corrcoef(rewards.sum(axis=1), squares)[0, 1]
    assert abs(together) < 0.5 or not same(others)


@every_law
def test_moments_and_sums_are_the_same_draw(law, mean, variance, support, numpy_draw):
    """So `sample_sum` draws what it drew before; uniforms by digits excepted, which have no Σx²."""
    for n in (0, 1, 7, SWITCH - 1):
        total, squares = law.sample_moments(np.random.default_rng(8), n)
        assert total == law.sample_sum(np.random.default_rng(8), n)
        assert n > 1 or squares == pytest.approx(total**2)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [10**6, 2**52])
def test_very_long_sums_are_nearly_normal(n):
    """Berry–Esseen, with Shevtsova's constant 0.4748: E|U − 1/2|³ = 1/32, variance 1/12."""
    sample = (sums(UniformLaw(1.0, 0.0, 1.0), 9, n, 10_000) - n / 2) / math.sqrt(n / 12)
    limit = one_sample_limit(sample.size) + 0.4748 / 32 * 12**1.5 / math.sqrt(n)
    assert distance_to_law(sample, stats.norm) < limit
    assert distance_to_law(1.2 * sample, stats.norm) > limit, "control"


@given(st.integers(SWITCH, SWITCH + 500), st.integers(0, 2**32))
def test_a_sum_by_digits_is_the_sum_of_the_numbers_that_have_these_digits(n, seed):
    """Fed the digit counts of n uniforms of NumPy, the sum is theirs, to the last bit but one."""
    whole = np.random.default_rng(seed).integers(0, 2**53, n)  # 2^53 times the uniforms
    places = iter(range(53))  # the last digit first
    asked = []

    def count_digits(rng, size, probability):
        asked.append((size, probability))
        return int(((whole >> next(places)) & 1).sum())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laws, "binomial", count_digits)
        total = interpreted(laws.sum_of_draws)(None, UniformLaw(1.0, 0.0, 1.0).code, n)
    assert asked == [(n, 0.5)] * 53, "one fair Binomial variable a digit"
    exact = Fraction(sum(whole.tolist()), 2**53)
    assert abs(Fraction(total) - exact) <= exact * Fraction(2, 2**53)


def test_digits_are_those_of_the_generator():
    """NumPy's uniforms are multiples of 2^-53; draws and sums use the last of these places."""
    law = UniformLaw(1.0, 0.0, 1.0)
    whole = np.random.default_rng(10).random(1000) * 2.0**53
    assert np.array_equal(whole, np.floor(whole)) and (whole % 2).any()
    short = law.sample(np.random.default_rng(10), 1000) * 2.0**53
    assert np.array_equal(short, whole), "a single draw is NumPy's"
    for seed in range(20):
        total = Fraction(law.sample_sum(np.random.default_rng(seed), SWITCH))
        assert (total * 2**53).denominator == 1
        assert (total * 2**30).denominator > 1, "a sum of 30 digits would pass for one of 53"


# ---------------------------------------------------------------- makers
@given(st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-9), st.floats(1e-6, 1e6))
def test_the_makers_keep_mean_and_support(share, half_range):
    mean = share * half_range
    near = pytest.approx(mean, abs=1e-12 * half_range)
    two = make.two_point(mean, half_range)
    assert two.mean == near and two.support == (-half_range, half_range)
    if abs(share) < 0.999:
        wide = make.uniform(mean, half_range)
        assert wide.mean == near
        assert max(map(abs, wide.support)) == pytest.approx(half_range, rel=1e-12)
        deviation = (half_range - abs(mean)) / 2
        low = make.low_variance(mean, deviation, half_range)
        assert low.mean == near and low.variance == pytest.approx(deviation**2, rel=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40))
def test_an_empirical_law_has_the_moments_of_its_sample(sample):
    law = make.discrete(sample)
    moments = np.mean(sample), np.var(sample)
    assert (law.mean, law.variance) == pytest.approx(moments, abs=1e-12)
    assert law.support == (min(sample), max(sample))
    assert law.half_range >= max(map(abs, sample)) and make.discrete([0, 0]).half_range == 1


NOT_FINITE = [math.nan, math.inf, -math.inf, 10**400]
NOT_A_MEAN = [*NOT_A_NUMBER, *NOT_FINITE]
NOT_R = [*NOT_POSITIVE, *NOT_A_MEAN]
NOT_LOW = [*NOT_A_NUMBER, math.nan, 0.6, math.inf]
REFUSED = [
    ("mean", [*NOT_A_MEAN, 1.001, -2, 1e-12], make.two_point),
    ("mean", [*NOT_A_MEAN, 2.001], lambda x: make.two_point(x, 2.0)),
    ("mean", [*NOT_A_MEAN, 1.001, -2], lambda x: make.low_variance(x, 0.01)),
    ("mean", [*NOT_A_MEAN, 1, -1.0, 1.001, -2], make.uniform),
    ("deviation", [*NOT_R, 0.81], lambda x: make.low_variance(0.2, x)),
    ("a", [*NOT_R, 1e-10, 1e300], lambda x: make.shifted_beta(x, 2)),
    ("b", [*NOT_R, 1e-10, 1e300], lambda x: make.beta(2, x)),
    ("low", [0.5, math.nan], lambda x: BetaLaw(1.0, 2, 2, low=x, high=0.5)),
    ("half_range", NOT_R, lambda x: make.two_point(0.1, x)),
    ("half_range", NOT_R, lambda x: make.uniform(0.1, x)),
    ("half_range", NOT_R, lambda x: make.low_variance(0.1, 0.01, x)),
    ("half_range", NOT_R, lambda x: make.shifted_beta(1, 1, x)),
    ("probability", [*NOT_A_MEAN, -0.1, 1.1], lambda x: TwoPointLaw(1.0, -1.0, 1.0, x)),
    ("low", NOT_LOW, lambda x: TwoPointLaw(1.0, x, 0.5, 0.5)),
    ("high", NOT_A_NUMBER, lambda x: TwoPointLaw(1.0, -0.5, x, 0.5)),
    ("low", [*NOT_LOW, 0.5], lambda x: UniformLaw(1.0, x, 0.5)),
    ("high", NOT_A_NUMBER, lambda x: UniformLaw(1.0, -0.5, x)),
    ("values", [None, "0.5", [True, False], [math.nan], [], 0.5, [[0.1]]], make.discrete),
    ("probabilities", [None, ["1"], [1.5, -0.5], (0.5,), (0.5, 0.25), [math.nan, 1.0]],
     lambda x: DiscreteLaw(1.0, (0.0, 1.0), x)),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "values", "call"), REFUSED)
def test_bad_arguments_are_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))


@pytest.mark.parametrize(
    "build",
    [
        lambda: TwoPointLaw(1.0, -1.1, 0.5, 0.5),
        lambda: TwoPointLaw(1.0, -0.5, 1.1, 0.5),
        lambda: TwoPointLaw(1.0, -math.inf, math.inf, 0.5),
        lambda: UniformLaw(1.0, -1.1, 0.5),
        lambda: UniformLaw(0.5, -0.1, 0.6),
        lambda: UniformLaw(1.0, -0.5, math.inf),
        lambda: BetaLaw(1.0, 2, 2, low=0.0, high=1.1),
        lambda: DiscreteLaw(1.0, (0.0, 1.1), (0.5, 0.5)),
        lambda: make.discrete([math.inf], half_range=1.0),
    ],
)
def test_a_support_outside_the_range_is_refused(build):
    with pytest.raises(ValueError, match=r"half_range=.* support up to .* allowed: within"):
        build()


def test_no_sample_leaves_the_range_by_rounding(rng):
    for mean in np.linspace(0.01, 0.29, 60):
        law = make.low_variance(float(mean), float(0.3 - mean), 0.3)
        assert np.abs(law.sample(rng, 20)).max() <= 0.3


def test_what_cannot_be_drawn_is_refused(rng):
    law = make.uniform(0.1)
    for call in (lambda: law.sample(rng, 1.5), lambda: law.sample_sum(rng, -5)):
        with pytest.raises(ValueError, match="allowed: a whole number of at least 0"):
            call()
    for call in (lambda: law.sample(0, 5), lambda: law.sample_sum(None, 5)):
        with pytest.raises(ValueError, match="must be of type Generator; allowed: one such as"):
            call()
