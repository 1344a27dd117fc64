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
from statistical import (
    FALSE_ALARM,
    clopper_pearson,
    distance_to_law,
    one_sample_limit,
    same_law,
)
from test_validation import NOT_A_NUMBER, NOT_POSITIVE, refusal

import dpbandits as dpb
from dpbandits.rewards import laws
from dpbandits.rewards.laws import BetaLaw, Law, TwoPointLaw, UniformLaw

make = dpb.instances


def two_points(low, high, probability):
    return lambda rng, shape: np.where(rng.random(shape) < probability, high, low)


# Law, mean, variance, support, and the law as NumPy draws it.
LAWS = {
    "two-point": (make.two_point(0.3), 0.3, 0.91, (-1, 1), two_points(-1, 1, 0.65)),
    "two-point, below 0": (
        make.two_point(-1.5, 2.0), -1.5, 1.75, (-2, 2), two_points(-2, 2, 0.125)),
    "low variance": (
        make.low_variance(0.2, 0.05), 0.2, 0.0025, (0.15, 0.25), two_points(0.15, 0.25, 0.5)),
    "uniform": (
        make.uniform(-0.4), -0.4, 0.12, (-1, 0.2), lambda rng, shape: rng.uniform(-1, 0.2, shape)),
    "uniform, wide": (
        make.uniform(1.0, 3.0), 1.0, 4 / 3, (-1, 3), lambda rng, shape: rng.uniform(-1, 3, shape)),
    "beta": (make.shifted_beta(3, 2), 0.2, 4 * 0.04, (-1, 1),
             lambda rng, shape: 2 * rng.beta(3, 2, shape) - 1),
    "beta, without bound at the ends": (
        make.shifted_beta(0.5, 0.5, 2.0), 0.0, 2.0, (-2, 2),
        lambda rng, shape: 2 * (2 * rng.beta(0.5, 0.5, shape) - 1)),
}  # fmt: skip
every_law = pytest.mark.parametrize(
    ("law", "mean", "variance", "support", "numpy_draw"), LAWS.values(), ids=LAWS
)


@every_law
def test_moments_and_support(law, mean, variance, support, numpy_draw):
    assert law.mean == pytest.approx(mean, abs=1e-12)
    assert law.variance == pytest.approx(variance, abs=1e-12)
    assert law.expectation(lambda x: x) == pytest.approx(mean, abs=1e-8)
    assert law.expectation(lambda x: (x - mean) ** 2) == pytest.approx(variance, rel=1e-8)
    assert law.expectation(np.ones_like) == pytest.approx(1, abs=1e-12)
    sample = law.sample(np.random.default_rng(0), 5000)
    assert sample.shape == (5000,) and sample.dtype == np.float64
    assert support[0] - 1e-15 <= sample.min() and sample.max() <= support[1] + 1e-15
    assert np.abs(sample).max() <= law.half_range
    assert np.ptp(sample) > 0.9 * (support[1] - support[0]), "all of the support is reached"


def test_expectations_in_closed_form():
    """Of functions that are not polynomials, and of one that sees a single atom."""
    two = make.two_point(0.5, 2.0)  # 2 with probability 5/8
    assert two.expectation(np.exp) == pytest.approx(
        math.exp(2) * 0.625 + math.exp(-2) * 0.375, rel=1e-14
    )
    assert two.expectation(lambda x: x > 0) == 0.625
    interval = make.uniform(0.25)  # on [-1/2, 1]
    assert interval.expectation(np.exp) == pytest.approx((math.e - math.exp(-0.5)) / 1.5, rel=1e-12)
    sure = make.two_point(1.0)  # log 0 at the atom that has no weight
    with np.errstate(divide="ignore"):
        assert sure.expectation(lambda x: np.log(x + 1)) == math.log(2)
    arcsine = make.shifted_beta(0.5, 0.5)  # E exp(X) is the modified Bessel function I_0(1)
    assert arcsine.expectation(np.exp) == pytest.approx(float(np.i0(1.0)), rel=1e-7)


def mean_within(sample, value, width, share=1.0):
    """Whether the mean may be `value`, for a sample from an interval of the width (Hoeffding)."""
    allowed = width * math.sqrt(math.log(2 / (FALSE_ALARM * share)) / (2 * sample.size))
    return abs(sample.mean() - value) <= allowed


@pytest.mark.statistical
@every_law
def test_expectation_against_the_sample(law, mean, variance, support, numpy_draw):
    sample = law.sample(np.random.default_rng(1), 40_000)
    for function in (lambda x: x, np.square, lambda x: np.exp(x / law.half_range)):
        values = function(np.linspace(*support, 1001))
        width = np.ptp(values) * (1 + 1e-6)
        expected = law.expectation(function)
        assert mean_within(function(sample), expected, width, share=1 / 3)
        assert not mean_within(function(sample), expected + 0.03 * width, width, share=1 / 3)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (make.uniform(-0.4), stats.uniform(-1, 1.2)),
        (make.uniform(1.0, 3.0), stats.uniform(-1, 4)),
        (make.shifted_beta(3, 2), stats.beta(3, 2, loc=-1, scale=2)),
        (make.shifted_beta(0.5, 0.5, 2.0), stats.beta(0.5, 0.5, loc=-2, scale=4)),
        (make.shifted_beta(0.3, 8.0), stats.beta(0.3, 8.0, loc=-1, scale=2)),
    ],
    ids=lambda value: repr(value) if hasattr(value, "half_range") else "",
)
def test_law_of_single_draws(law, exact):
    sample = law.sample(np.random.default_rng(2), 40_000)
    limit = one_sample_limit(sample.size)
    assert distance_to_law(sample, exact) < limit
    assert distance_to_law(sample + 0.05 * law.half_range, exact) > limit, "control"


@pytest.mark.statistical
@pytest.mark.parametrize("probability", [0.0, 0.02, 0.5, 0.9, 1.0])
def test_law_of_two_points(probability):
    law = TwoPointLaw(1.0, -0.5, 0.75, probability)
    sample = law.sample(np.random.default_rng(3), 40_000)
    assert set(sample.tolist()) <= {-0.5, 0.75}
    low, high = clopper_pearson(int((sample == 0.75).sum()), sample.size)
    assert low <= probability <= high
    assert high - low < 0.025, "the interval says something"


# ---------------------------------------------------------------- sums
SUMS = 6000


def direct_sums(numpy_draw, rng, n, size=SUMS):
    return np.array([numpy_draw(rng, n).sum() for _ in range(size)])


def sums(law, rng, n, size=SUMS):
    return np.array([law.sample_sum(rng, n) for _ in range(size)])


def same_sums(first, second, share):
    """Sums of atoms are equal up to rounding only; nine decimals keep their ties."""
    return same_law(np.round(first, 9), np.round(second, 9), share)


LENGTHS = [1, 2, 60]


@pytest.mark.statistical
@every_law
def test_law_of_sums(law, mean, variance, support, numpy_draw):
    for n in LENGTHS:
        first = sums(law, np.random.default_rng([4, n]), n)
        second = direct_sums(numpy_draw, np.random.default_rng([5, n]), n)
        assert same_sums(first, second, share=1 / len(LENGTHS))
        # Controls: a mean a third of a deviation off, and half as many draws counted twice.
        shift = np.sqrt(n * variance) / 3
        assert not same_sums(first + shift, second, share=1 / len(LENGTHS))
        if n > 1:
            twice = 2 * sums(law, np.random.default_rng([4, n, 1]), n // 2)
            assert not same_sums(twice, second, share=1 / len(LENGTHS))


SWITCH = laws._BY_BITS
LONG = [SWITCH - 1, SWITCH, SWITCH + 1, 4 * SWITCH + 3]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["uniform", "uniform, wide"])
def test_long_sums_of_uniforms(name):
    """Around the switch to binary digits and above it: one law on both sides."""
    law, *_, numpy_draw = LAWS[name]
    for n in LONG:
        first = sums(law, np.random.default_rng([6, n]), n)
        second = direct_sums(numpy_draw, np.random.default_rng([7, n]), n)
        assert same_sums(first, second, share=1 / len(LONG))
        twice = 2 * sums(law, np.random.default_rng([8, n]), n // 2)
        assert not same_sums(twice, second, share=1 / len(LONG)), "control"


@pytest.mark.statistical
@pytest.mark.parametrize("n", [10**6, 2**52])
def test_very_long_sums_are_nearly_normal(n):
    """Berry–Esseen, with Shevtsova's constant 0.4748: E|U − 1/2|³ = 1/32, variance 1/12."""
    law = UniformLaw(1.0, 0.0, 1.0)
    sample = (sums(law, np.random.default_rng(9), n, 10_000) - n / 2) / math.sqrt(n / 12)
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

    code = UniformLaw(1.0, 0.0, 1.0).code
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laws, "binomial", count_digits)
        total = laws.sum_of_draws.py_func(None, code, n)
    assert asked == [(n, 0.5)] * 53, "one fair Binomial variable a digit"
    exact = Fraction(sum(whole.tolist()), 2**53)
    assert abs(Fraction(total) - exact) <= exact * Fraction(2, 2**53)


def test_digits_are_those_of_the_generator():
    """NumPy's uniforms are multiples of 2^-53, and use the last of these places."""
    whole = np.random.default_rng(10).random(1000) * 2.0**53
    assert np.array_equal(whole, np.floor(whole)) and (whole % 2).any()
    short = UniformLaw(1.0, 0.0, 1.0).sample(np.random.default_rng(10), 1000) * 2.0**53
    assert np.array_equal(short, whole), "a single draw is NumPy's"


def test_the_least_digits_take_part():
    """Above 1 every double is a multiple of 2^-52; the sum has to use more than its great ones."""
    law = UniformLaw(1.0, 0.0, 1.0)
    for seed in range(20):
        total = Fraction(law.sample_sum(np.random.default_rng(seed), SWITCH))
        assert (total * 2**53).denominator == 1
        assert (total * 2**30).denominator > 1, "a sum of 30 digits would pass for one of 53"


@every_law
def test_no_draws_no_sum(law, mean, variance, support, numpy_draw, rng):
    assert law.sample_sum(rng, 0) == 0
    assert law.sample(rng, 0).size == 0


@every_law
def test_the_generator_is_the_only_source_of_randomness(law, mean, variance, support, numpy_draw):
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again, other = (
        (law.sample(rng, 50).tolist(), law.sample_sum(rng, 5000))
        for rng in map(np.random.default_rng, (1, 1, 2))
    )
    assert first == again and first[0] != other[0] and first[1] != other[1]
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


# ---------------------------------------------------------------- values
@every_law
def test_a_law_is_a_value(law, mean, variance, support, numpy_draw):
    assert isinstance(law, Law) and law.name
    assert pickle.loads(pickle.dumps(law)) == law and hash(law) == hash(dataclasses.replace(law))
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.half_range = 2.0
    assert sum(law == entry[0] for entry in LAWS.values()) == 1


def test_names_tell_laws_apart():
    assert len({entry[0].name for entry in LAWS.values()}) == len(LAWS) - 1, "two are on ±R"
    assert make.two_point(0.3).name == make.two_point(-1.5, 2.0).name


@given(st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-9), st.floats(1e-6, 1e6))
def test_the_makers_keep_mean_and_support(share, half_range):
    mean = share * half_range
    two = make.two_point(mean, half_range)
    assert two.mean == pytest.approx(mean, abs=1e-12 * half_range)
    assert (two.low, two.high) == (-half_range, half_range)
    if abs(share) < 0.999:
        wide = make.uniform(mean, half_range)
        assert wide.mean == pytest.approx(mean, abs=1e-12 * half_range)
        assert max(abs(wide.low), abs(wide.high)) == pytest.approx(half_range, rel=1e-12)
        deviation = (half_range - abs(mean)) / 2
        low = make.low_variance(mean, deviation, half_range)
        assert low.mean == pytest.approx(mean, abs=1e-12 * half_range)
        assert low.variance == pytest.approx(deviation**2, rel=1e-9)


NOT_FINITE = [math.nan, math.inf, -math.inf, 10**400]
REFUSED = [
    ("mean", [*NOT_A_NUMBER, *NOT_FINITE, 1.001, -2], make.two_point),
    ("mean", [*NOT_A_NUMBER, *NOT_FINITE, 2.001], lambda x: make.two_point(x, 2.0)),
    ("mean", [*NOT_A_NUMBER, *NOT_FINITE, 1.001, -2], lambda x: make.low_variance(x, 0.01)),
    ("mean", [*NOT_A_NUMBER, *NOT_FINITE, 1, -1.0, 1.001, -2], make.uniform),
    ("deviation", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE, 0.81],
     lambda x: make.low_variance(0.2, x)),
    ("a", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE], lambda x: make.shifted_beta(x, 2)),
    ("b", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE], lambda x: make.shifted_beta(2, x)),
    ("half_range", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE], lambda x: make.two_point(0.1, x)),
    ("half_range", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE], lambda x: make.uniform(0.1, x)),
    ("half_range", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE],
     lambda x: make.low_variance(0.1, 0.01, x)),
    ("half_range", [*NOT_A_NUMBER, *NOT_POSITIVE, *NOT_FINITE],
     lambda x: make.shifted_beta(1, 1, x)),
    ("probability", [*NOT_A_NUMBER, *NOT_FINITE, -0.1, 1.1],
     lambda x: TwoPointLaw(1.0, -1.0, 1.0, x)),
    ("low", [*NOT_A_NUMBER, math.nan, 0.6, math.inf], lambda x: TwoPointLaw(1.0, x, 0.5, 0.5)),
    ("high", NOT_A_NUMBER, lambda x: TwoPointLaw(1.0, -0.5, x, 0.5)),
    ("low", [*NOT_A_NUMBER, math.nan, 0.5, 0.6, math.inf], lambda x: UniformLaw(1.0, x, 0.5)),
    ("high", NOT_A_NUMBER, lambda x: UniformLaw(1.0, -0.5, x)),
]  # fmt: skip
CASES = [
    pytest.param(name, value, call, id=f"{row}-{name}-{value!r:.30}")
    for row, (name, values, call) in enumerate(REFUSED)
    for value in values
]


@pytest.mark.parametrize(("argument", "value", "call"), CASES)
def test_bad_arguments_are_refused(argument, value, call):
    refusal(argument, value, lambda: call(value))


@pytest.mark.parametrize(
    "build",
    [
        lambda: TwoPointLaw(1.0, -1.1, 0.5, 0.5),
        lambda: TwoPointLaw(1.0, -0.5, 1.1, 0.5),
        lambda: TwoPointLaw(1.0, -math.inf, math.inf, 0.5),
        lambda: UniformLaw(1.0, -1.1, 0.5),
        lambda: UniformLaw(0.5, -0.1, 0.6),
        lambda: UniformLaw(1.0, -0.5, math.inf),
    ],
)
def test_a_support_outside_the_range_is_refused(build):
    with pytest.raises(ValueError, match=r"half_range=.* support up to .* allowed: within"):
        build()


@pytest.mark.parametrize("law", [BetaLaw(1.0, 3, 2), TwoPointLaw(1, -1, 1, 1)], ids=repr)
def test_numbers_become_floats(law):
    assert all(type(getattr(law, f.name)) is float for f in dataclasses.fields(law))


@pytest.mark.parametrize(
    ("a", "b"), [(60, 40), (500, 300), (3, 1000), (1e5, 2e5), (0.01, 0.02), (1e-3, 1e-3)]
)
def test_expectations_of_sharp_and_of_flat_beta_laws(a, b):
    law = make.shifted_beta(a, b)
    assert law.expectation(np.ones_like) == pytest.approx(1, rel=1e-12)
    assert law.expectation(lambda x: x) == pytest.approx(law.mean, rel=1e-9, abs=1e-9)
    squares = law.expectation(lambda x: (x - law.mean) ** 2)
    assert squares == pytest.approx(law.variance, rel=1e-5)


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
        with pytest.raises(ValueError, match="is no generator; allowed: one such as"):
            call()
    for shape in (1e-10, 1e300):
        with pytest.raises(ValueError, match=r"out of range; allowed: 0.001 to 1e\+06"):
            make.shifted_beta(shape, 1)
    with pytest.raises(ValueError, match="allowed: 0, or at least 1e-9 of half_range"):
        make.two_point(1e-12)


def test_rules_refuse_what_is_no_generator_and_noise_that_is_infinite(rng):
    import dpbandits as dpb

    rule, law = dpb.NAS(0.5, 0.05), make.two_point(0.5)
    for call in (lambda: rule.run([1.0], 0), lambda: rule.draw(law, None, 100)):
        with pytest.raises(ValueError, match=r"rng=.* is no generator"):
            call()
    with pytest.raises(ValueError, match="epsilon=1e-100 is out of range"):
        dpb.DPNAS(1e-100, 0.5, 0.05, 1e300)
