"""Heavy-tailed laws and the instances made of them."""

import dataclasses
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from statistical import clopper_pearson, distance_to_law, may_be_at_most, one_sample_limit
from test_validation import NOT_A_NUMBER, NOT_POSITIVE, refusal

import dpbandits as dpb
from dpbandits.rewards.heavy_laws import (
    ParetoLaw,
    SampledLaw,
    TwoPointHeavyLaw,
    draw_heavy,
    moment_evidence,
)

make = dpb.instances
PARETO = ParetoLaw(1.55, 0.3)
TWO = TwoPointHeavyLaw(100.0, 0.001)


def normal(rng, size):
    return rng.normal(0.5, 1.0, size)


@given(st.floats(1.01, 5), st.floats(0.01, 100), st.floats(0.1, 1e4), st.floats(0.01, 1))
def test_pareto_moments_are_integrals(shape, scale, excess, order):
    """In y = log(x/x_a), where the density is s·exp(−sy)."""
    law, bound = ParetoLaw(shape, scale), scale * (1 + excess)

    def power(k, top):
        value, _ = integrate.quad(
            lambda y: shape * math.exp((k - shape) * y), 0, top, limit=200, epsrel=1e-11
        )
        return scale**k * value

    first, second = (power(k, math.log1p(excess)) for k in (1, 2))
    assert law.truncated_mean(bound) == pytest.approx(first, rel=1e-8)
    assert law.truncated_variance(bound) == pytest.approx(second - first**2, abs=1e-8 * second)
    assert law.truncated_mean(scale * 0.999) == 0 == law.truncated_variance(scale * 0.999)
    assert law.truncated_mean(math.inf) == pytest.approx(law.mean, rel=1e-12)
    if 1 + order < shape - 0.01:
        whole = power(1 + order, 60 / (shape - 1 - order))
        assert law.moment(order) == pytest.approx(whole, rel=1e-8)
    elif 1 + order >= shape:
        assert law.moment(order) == math.inf


def test_pareto_at_the_shape_that_has_a_logarithm():
    law = ParetoLaw(2.0, 1.0)
    assert law.truncated_variance(math.e) == pytest.approx(2 - (2 * (1 - 1 / math.e)) ** 2)
    assert law.moment(1.0) == law.truncated_variance(math.inf) == math.inf


@given(st.floats(0.05, 1), st.floats(1e-3, 1e5))
def test_truncation_obeys_the_bounds_that_the_widths_use(order, bound):
    """Bias at most u·B^−v, variance at most u·B^(1−v)."""
    for law in (PARETO, TWO, ParetoLaw(2.5, 1.0)):
        u = law.moment(order)
        assert law.mean - law.truncated_mean(bound) <= u * bound**-order * (1 + 1e-12)
        assert law.truncated_variance(bound) <= u * bound ** (1 - order) * (1 + 1e-12)


def test_two_points():
    assert (TWO.mean, TWO.moment(0.5)) == pytest.approx((0.1, 1))
    assert (TWO.truncated_mean(100.0), TWO.truncated_mean(99.9)) == (TWO.mean, 0)
    found = TWO.truncated_variance(100.0), TWO.truncated_variance(99.9)
    assert found == pytest.approx((10 * 0.999, 0))


@pytest.mark.statistical
def test_rewards_have_their_law(rng):
    size = 20_000
    limit = one_sample_limit(size, 1 / 2)
    sample = PARETO.sample(rng, size)
    assert distance_to_law(sample, stats.pareto(1.55, scale=0.3)) < limit and sample.min() >= 0.3
    assert distance_to_law(sample, stats.pareto(1.65, scale=0.3)) > limit, "control"
    sample = TwoPointHeavyLaw(7.0, 0.3).sample(rng, size)
    assert set(sample.tolist()) == {0.0, 7.0}
    low, high = clopper_pearson(int((sample > 0).sum()), size, 1 / 2)
    assert low <= 0.3 <= high and not low <= 0.33 <= high


@pytest.mark.parametrize("law", [PARETO, TWO], ids=repr)
def test_a_law_is_a_value(law):
    assert pickle.loads(pickle.dumps(law)) == law and hash(law) == hash(dataclasses.replace(law))
    draws = np.random.default_rng(3)
    one_by_one = [draw_heavy(draws, law.code) for _ in range(50)]
    assert one_by_one == law.sample(np.random.default_rng(3), 50).tolist()
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.shape = 3.0
    assert all(type(getattr(law, f.name)) is float for f in dataclasses.fields(law))


# ---------------------------------------------------------------- a custom sampler
def test_a_custom_sampler(rng):
    """What no draw shows no test finds: a moment where 16384 draws do not reach."""
    rare = TwoPointHeavyLaw(1e9, 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law = SampledLaw(normal, 0.5, 1.0, 1.25, "mine")
        silent = SampledLaw(rare.sample, rare.mean, 1.0, 2.0)
    assert rare.moment(1.0) == pytest.approx(1e9) and silent.moment(1.0) == 2.0
    assert law.mean == 0.5 and law.sample(rng, 7).shape == (7,)
    assert law.moment(1.0) == 1.25 and law.moment(0.5) == pytest.approx(1.25**0.75)
    assert SampledLaw(normal, 0.5, 0.5, 1.25).moment(1.0) == math.inf, "nothing is known"
    assert law.truncated_mean(math.inf) == pytest.approx(0.5, abs=0.05)
    assert law.truncated_variance(math.inf) == pytest.approx(1.0, abs=0.05)
    assert abs(law.truncated_mean(1.0)) < 0.5
    with pytest.warns(UserWarning, match="moment_bound=0.9 is too small for 'mine': evidence"):
        SampledLaw(normal, 0.5, 1.0, 0.9, "mine")
    for sampler in (lambda rng, size: np.zeros(3), lambda rng, size: np.full(size, np.nan)):
        with pytest.raises(ValueError, match="returned an array of shape .* allowed"):
            SampledLaw(sampler, 0.5, 1.0, 2.0)


@pytest.mark.statistical
@pytest.mark.parametrize("law", [PARETO, TwoPointHeavyLaw(10.0, 0.01), ParetoLaw(3.0, 1.0)])
def test_evidence_is_rarely_great(law):
    """Ville: evidence reaches 20 with probability at most 1/20. Control: half the moment."""
    runs, rng = 400, np.random.default_rng(4)
    samples = [law.sample(rng, 2000) for _ in range(runs)]

    def possible(moment):
        rejected = sum(moment_evidence(x, 0.5, moment) >= 20 for x in samples)
        return may_be_at_most(rejected, runs, 1 / 20)

    assert possible(law.moment(0.5))
    told = 0.5 if law != PARETO else 0.1  # most of this moment lies beyond 2000 draws
    assert not possible(told * law.moment(0.5)), "control"


# ---------------------------------------------------------------- instances
def test_the_instances_of_the_paper():
    means = {name: make.twzw22(name, 0.9).means.round(12).tolist() for name in make.TWZW22_NAMES}
    assert means == {
        "S1": [0.9, 0.7, 0.5, 0.3, 0.1],
        "S2": [0.9, 0.55, 0.3, 0.15, 0.1],
        "S3": [0.9, 0.85, 0.7, 0.45, 0.1],
    }
    instance = make.twzw22("S3", 0.9)
    assert instance.best_arm == 0 and instance.n_arms == 5 and instance.order == 0.9
    # by hand: s = 1.95, x = 0.95·0.9/1.95, u = 39·x^1.9
    assert instance.moment_bound == pytest.approx(39 * (0.95 * 0.9 / 1.95) ** 1.9)
    assert all(law.shape == pytest.approx(1.95) for law in instance.laws)
    assert len({make.twzw22(name, 0.5).name for name in make.TWZW22_NAMES}) == 3
    again = make.twzw22("S3", 0.9)
    assert again == instance == pickle.loads(pickle.dumps(instance))
    assert hash(again) == hash(instance)
    with pytest.raises(ValueError, match="read-only"):
        instance.means[0] = 1


@given(st.floats(1e-3, 0.5), st.floats(0.1, 1), st.integers(2, 6), st.floats(0, 0.5))
def test_hard_instances(gap, order, n_arms, ratio):
    instance = make.heavy_two_point(gap, order, n_arms, n_arms - 1, ratio)
    assert instance.best_arm == n_arms - 1 and instance.moment_bound == 1
    assert instance.gaps[:-1] == pytest.approx(gap, rel=1e-9)
    better, worse = instance.laws[-1], instance.laws[0]
    assert better.moment(order) == pytest.approx(1, rel=1e-9)
    assert worse.moment(order) == pytest.approx(ratio, rel=1e-9)
    assert better.high == worse.high == pytest.approx((gap / (1 - ratio)) ** (-1 / order))
    letter = make.heavy_two_point(gap, order, ratio=0.0)  # h = Δ^(−1/v) leaves the worse arms 0
    assert letter.laws[0].high == pytest.approx(gap ** (-1 / order)) and letter.means[1] == 0


def test_samples_of_an_instance(rng):
    instance = make.heavy([TWO, PARETO], 0.5, 5.2)
    assert instance.best_arm == 1 and instance.sample(rng, 1, 10).min() >= 0.3
    refusal("arm", 2, lambda: instance.sample(rng, 2, 10))


RANGES = [*NOT_A_NUMBER, *NOT_POSITIVE, math.inf]
BOUNDS = [*NOT_A_NUMBER, *NOT_POSITIVE]
RATIOS = [*NOT_A_NUMBER, -0.1, 1, math.nan]
REFUSED = [
    ("shape", [*NOT_A_NUMBER, math.nan, 1, 0.5, 1001, math.inf], lambda x: ParetoLaw(x, 1)),
    ("scale", [*RANGES, 1e101], lambda x: ParetoLaw(1.5, x)),
    ("high", [*RANGES, 1e101], lambda x: TwoPointHeavyLaw(x, 0.5)),
    ("probability", [*NOT_A_NUMBER, -0.1, 1.1, math.nan], lambda x: TwoPointHeavyLaw(1, x)),
    ("order", [*RANGES, 1.1, 1e-9], PARETO.moment),
    ("order", [*RANGES, 1.1], lambda x: SampledLaw(normal, 0.5, x, 2)),
    ("bound", BOUNDS, PARETO.truncated_mean),
    ("bound", BOUNDS, TWO.truncated_variance),
    ("sampler", [None, 3], lambda x: SampledLaw(x, 0.5, 1, 2)),
    ("declared_mean", [*NOT_A_NUMBER, math.nan, 2, -2], lambda x: SampledLaw(normal, x, 1, 2)),
    ("moment_bound", RANGES, lambda x: SampledLaw(normal, 0.5, 1, x)),
    ("moment_bound", [*RANGES, 0.9], lambda x: make.heavy([TWO, TWO], 0.5, x)),
    ("laws", [None, (), (TWO,), (TWO, 3)], lambda x: make.HeavyTailInstance(x, 0.5, 2)),
    ("name", ["S4", None], lambda x: make.twzw22(x, 0.5)),
    ("order", [*RANGES, 1.1], lambda x: make.twzw22("S1", x)),
    ("means", [[0.5], []], lambda x: make.pareto(x, 0.5)),
    ("shape", [1.5, 0], lambda x: make.pareto([0.5, 0.4], 0.5, x)),
    ("gap", [*RANGES, 0.6, 1e-60], lambda x: make.heavy_two_point(x, 0.5)),
    ("ratio", RATIOS, lambda x: make.heavy_two_point(0.1, 0.5, ratio=x)),
    ("best", [2, -1], lambda x: make.heavy_two_point(0.1, 0.5, best=x)),
]


@pytest.mark.parametrize(("argument", "values", "call"), REFUSED)
def test_bad_arguments_are_refused(argument, values, call):
    for value in values:
        refusal(argument, value, lambda value=value: call(value))
