"""DP-SPRT: plain program against law, law against enumeration, privacy, errors, constants."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statistical import one_sample_limit

import dpbandits as dpb
from dpbandits.mechanisms import laplace_sum_tail
from dpbandits.trials import calibrated_sprt

PRINTED = dpb.DPSPRT(0.3, 0.7, epsilon=2.0)
CONSTANT = replace(PRINTED, boundary="constant", upper=4.0, lower=3.0)
PAIRED = dpb.DPSPRT(0.5, 0.8, 0.1, 0.2, 1.0, paired=True, boundary="union")
SHORT = replace(PAIRED, boundary="constant", upper=9.0, lower=8.0, most=40)


def below(x, scale):
    """The distribution function of Lap(scale)."""
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x < 0, tail, 1 - tail)


def integrated(rule, sums):
    """Probabilities of both decisions at each look, given the sums, exact between kinks."""
    up, down = rule.limits(np.arange(1, len(sums) + 1))
    kinks = {*(np.array(sums) - up), *(down - np.array(sums)), *(0.5 * (down - up))}
    scale = rule.threshold_scale
    ends = np.unique([*np.arange(-60, 61) * scale, *(x for x in kinks if abs(x) < 60 * scale)])
    u, w = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(ends)
    z = (ends[:-1, None] + half[:, None] * (1 + u)).ravel()
    going = (half[:, None] * w).ravel() * 0.5 * np.exp(-np.abs(z) / scale) / scale
    found = []
    for total, top, bottom in zip(sums, up, down, strict=True):
        yes = below(total - top - z, rule.query_scale)
        no = below(np.minimum(bottom - z, top + z) - total, rule.query_scale)
        found += [going @ yes, going @ no]
        going = going * np.maximum(1.0 - yes - no, 0.0)
    return np.array(found)


@pytest.mark.parametrize("rule", [replace(CONSTANT, upper=0.7, lower=0.4), CONSTANT, SHORT, PAIRED])
def test_the_law_is_that_of_all_courses(rule):
    """Three samples: each course is integrated on its own."""
    rule, wanted = replace(rule, most=3), np.zeros(6)
    p, q = 0.6, 0.45
    steps = {1: p, 0: 1 - p}
    if rule.paired:
        steps = {1: p * (1 - q), 0: p * q + (1 - p) * (1 - q), -1: (1 - p) * q}
    for course in itertools.product(steps, repeat=3):
        chance = math.prod(steps[x] for x in course)
        wanted += chance * integrated(rule, np.cumsum(course))
    law = rule.law(p, q) if rule.paired else rule.law(p)
    found = np.stack([law.alternative, law.null], axis=1).ravel()
    assert found == pytest.approx(wanted, abs=1e-6)
    assert law.undecided == pytest.approx(1 - wanted.sum(), abs=1e-6)
    other = rule.law(p + 0.01, q) if rule.paired else rule.law(p + 0.01)
    assert abs(other.found - wanted[::2].sum()) > 1e-5  # negative control


@pytest.mark.parametrize("rule", [PRINTED, CONSTANT, SHORT, replace(PAIRED, epsilon=20.0)])
def test_more_nodes_change_little(rule):
    law, fine = rule.law(0.55), rule._law(0.55, None, 24)
    assert np.abs(np.stack([law.alternative - fine.alternative, law.null - fine.null])).max() < 1e-6
    assert abs(law.found - fine.found) < 1e-6
    assert law.samples == pytest.approx(fine.samples, rel=1e-5)


def code(rule, decision, n):
    """Stops as numbers: those for the alternative, late ones first, then the others."""
    end = rule.most + 1
    return {"alternative": -end + n, "none": 0, "null": end - n}[decision]


def outcomes(rule, shares, rng):
    while True:
        seen = (rng.random(shares.size) < shares).astype(float)
        yield seen if rule.paired else seen[0]


def simulated(rule, shares, runs, rng):
    found = [code(rule, *rule.run(outcomes(rule, shares, rng), rng)) for _ in range(runs)]
    return np.sort(found)


def distance(sample, rule, shares):
    """Distance of sorted stops from the law of a test."""
    law = rule.law(*shares)
    chances = np.concatenate([law.alternative, [law.undecided], law.null[::-1]])
    places = np.arange(-rule.most, rule.most + 1)
    seen = np.searchsorted(sample, places, side="right") / sample.size
    return np.abs(seen - np.cumsum(chances)).max()


def with_half_the_noise(rule):
    class Half(dpb.DPSPRT):
        threshold_scale, query_scale = 0.5 * rule.threshold_scale, 0.5 * rule.query_scale

        def _limits(self, n):
            return rule._limits(n)

    return Half(*(getattr(rule, name) for name in rule.__dataclass_fields__))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rule", "shares"),
    [
        (CONSTANT, [0.4]),
        (SHORT, [0.7, 0.5]),
        (replace(PRINTED, factor=0.2), [0.4]),
    ],
)
def test_the_plain_program_has_the_law(rule, shares):
    """False alarm 1e-6/3 each; the law at half the noise is caught."""
    runs = 2500
    sample = simulated(rule, np.array(shares), runs, np.random.default_rng(5))
    limit = one_sample_limit(runs, 1 / 3)
    assert distance(sample, rule, shares) < limit

    assert distance(sample, with_half_the_noise(rule), shares) > limit


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_the_authors_package_has_this_law(factor):
    """`dpsprt` is in the extra "bench"; false alarm 1e-6/2 each; another factor is caught."""
    theirs = pytest.importorskip("dpsprt.core.algorithms")
    rule, runs, share = dpb.DPSPRT(0.3, 0.7, 0.1, 0.1, 1.0, factor=factor, most=3000), 1500, 0.6
    rng, words = np.random.default_rng(7), {-1: "null", 0: "none", 1: "alternative"}
    found = []
    for seed in range(runs):
        data = (rng.random(rule.most) < share).astype(float)
        decision, n, _ = theirs.dp_sprt_tuned(
            data, 0.3, 0.7, 0.1, 0.1, 1.0, 1.0, factor, random_seed=seed
        )
        found.append(code(rule, words[decision], n))

    sample = np.sort(found)
    limit = one_sample_limit(runs, 1 / 2)
    assert distance(sample, rule, [share]) < limit
    assert distance(sample, replace(rule, factor=0.8 * factor), [share]) > limit


def test_its_published_means_and_errors():
    """The description of `dpsprt` 1.2.0: α = β = 0.1 and ε = 1, 600 runs, factors 1, ½ and ¼."""
    rule = dpb.DPSPRT(0.3, 0.7, 0.1, 0.1, 1.0)
    half, quarter = replace(rule, factor=0.5), replace(rule, factor=0.25)
    assert rule.law(0.3).samples == pytest.approx(292, rel=0.02)
    law = half.law(0.3)
    assert law.samples == pytest.approx(96, rel=0.02) and abs(law.found - 0.037) < 0.01
    assert abs(half.law(0.7).kept - 0.032) < 0.01
    assert abs(quarter.law(0.3).found - 0.25) < 0.03


def loss(rule, course, place, entry):
    """The greatest loss of a stop and decision when one entry changes."""
    other = np.array(course)
    other[place] = entry
    one, two = (integrated(rule, np.cumsum(each)) for each in (course, other))
    return np.abs(np.log(one / two)).max()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_neighbouring_streams_differ_by_epsilon_at_most(epsilon):
    """Nearly all of ε is spent where sums pass one boundary unseen and stop at the other."""
    rule = replace(CONSTANT, epsilon=epsilon, upper=1.0, lower=1.0)
    short = (
        loss(rule, course, place, entry)
        for course in itertools.product([0.0, 1.0], repeat=4)
        for place in range(4)
        for entry in (0.0, 0.5, 1.0)
    )
    assert max(short) <= epsilon
    far = np.repeat([1.0, 0.0], 40)
    assert 0.9 * epsilon < loss(rule, far, 0, 0.0) <= epsilon
    assert loss(with_half_the_noise(rule), far, 0, 0.0) > 1.5 * epsilon  # negative control


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("boundary", ["printed", "union"])
def test_proved_errors_hold(boundary, epsilon, paired):
    rule = dpb.DPSPRT(0.2, 0.6, 0.04, 0.2, epsilon, paired=paired, boundary=boundary)
    assert rule.law(0.2).found < 0.04 and rule.law(0.6).kept < 0.2
    none = replace(rule, factor=0.0)
    assert none.law(0.2).found > 0.04  # negative control: noise without an allowance


def test_the_union_bound_spends_exactly_what_it_may():
    rule = dpb.DPSPRT(0.3, 0.7, 0.05, 0.05, 0.7, boundary="union")
    free = replace(rule, factor=0.0)
    for n in (1, 7, 500):
        t = float(rule.limits(n)[0] - free.limits(n)[0])
        tail = laplace_sum_tail(t, (1, 1), (rule.query_scale, rule.threshold_scale))
        assert tail == pytest.approx(0.5 * 0.05 / (n**1.134 * 8.0503), rel=1e-4)
    printed = replace(rule, boundary="printed")
    assert (printed.limits([1, 50])[0] > rule.limits([1, 50])[0]).all()


def test_both_martingales():
    for rule in (PRINTED, PAIRED, dpb.DPSPRT(0.868, 0.92, paired=True)):
        for share, sign in ((rule.null, 1), (rule.alternative, -1)):
            p, q = share, rule.null
            steps = {1: p, 0: 1 - p}
            if rule.paired:
                steps = {1: p * (1 - q), 0: p * q + (1 - p) * (1 - q), -1: (1 - p) * q}
            mean = sum(
                w * math.exp(sign * rule.exponent * (x - rule.slope)) for x, w in steps.items()
            )
            assert mean == pytest.approx(1.0, abs=1e-12)
    assert PRINTED.exponent == pytest.approx(2 * math.log(7 / 3))
    assert PRINTED.slope == pytest.approx(0.5)


def test_without_noise_it_is_walds_test():
    rule = dpb.DPSPRT(0.3, 0.7, 0.01, 0.05)
    assert rule.limits(8)[0] == pytest.approx(4 + math.log(100) / rule.exponent)
    law = rule.law(0.3)
    assert law.found <= 0.01 and law.undecided < 1e-12
    assert rule.run([1, 0] * 3 + [1] * 9) == ("alternative", 12)
    assert rule.run([0] * 9) == ("null", 4)
    assert rule.run([0] * 2) == ("none", 2)
    assert replace(rule, most=3).run([0] * 9) == ("none", 3)
    assert not rule.guarantee.is_private


def test_decisions_rise_with_the_share():
    rules = (CONSTANT, replace(SHORT, most=2000))
    for rule in rules:
        found = [rule.law(p).found for p in (0.2, 0.5, 0.8)]
        assert found == sorted(found) and found[2] - found[0] > 0.3


@pytest.mark.parametrize("paired", [False, True])
def test_calibrated_constants_use_up_both_errors(paired):
    rule = dpb.DPSPRT(0.3, 0.7, 0.05, 0.2, 1.0, paired=paired)
    ours = calibrated_sprt(rule)
    assert 0.999 * 0.05 < ours.law(0.3).found <= 0.05
    assert 0.999 * 0.2 < ours.law(0.7).kept <= 0.2
    for share in (0.3, 0.5, 0.7):
        assert ours.law(share).samples < rule.law(share).samples
    with pytest.raises(ValueError, match="has no constants"):
        calibrated_sprt(replace(rule, epsilon=math.inf))


def test_refusals():
    for wrong in (
        {"alternative": 0.3},
        {"upper": 2.0},
        {"boundary": "constant", "upper": 2.0},
        {"boundary": "wald"},
        {"factor": -1.0},
        {"most": 0},
    ):
        with pytest.raises(ValueError):
            replace(PRINTED, **wrong)
    with pytest.raises(ValueError, match="is for pairs"):
        PRINTED.law(0.5, 0.4)
    for rule, wrong in ((PRINTED, [(1, 0)]), (PRINTED, [1.5]), (PAIRED, [1.0]), (PAIRED, ["ab"])):
        with pytest.raises(ValueError, match="outcomes"):
            rule.run(wrong, np.random.default_rng(0))
