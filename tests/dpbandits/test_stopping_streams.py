"""Stopping rules on a user's own stream: sample by sample against the pseudo-code, and bad input.

`printed` is SS19's pseudo-code as it stands there, one sample at a time. Fed the same samples and
the same noise, the package has to halt at the same time with the same estimate.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_validation import NOT_A_NUMBER, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits.stopping import base

RULES = [
    dpb.NAS(0.9, 0.5, half_range=2.0),
    dpb.DPNAS(2.0, 0.9, 0.5, half_range=2.0),
    dpb.DPExponentialNAS(2.0, 0.9, 0.5, half_range=2.0),
    dpb.EBGStop(0.9, 0.5, half_range=2.0),
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.label)


def printed(kind, epsilon, alpha, beta, R, stream, noise):
    """NAS and SS19's Algorithms 1 and 2 as printed; `noise(scale)` is Lap(scale).

    Returns halting time, estimate, and how often noise was drawn.
    """
    if kind == "NAS":
        t, total = 0, 0.0
        for x in stream:
            t += 1
            total += x
            h = R * math.sqrt(2 / t * math.log(4 * t**2 / beta))
            if abs(total / t) >= h * (1 + 1 / alpha):
                return t, total / t, 0
        return t, math.nan, 0
    sigma_1 = sigma_2 = 12 * R / epsilon
    sigma_3 = 4 * R / epsilon
    B = noise(sigma_1)
    drawn = 1
    t, k, total = 0, 0, 0.0
    for x in stream:
        t += 1
        total += x
        if kind == "Algorithm 2":
            if t != 2 ** (k + 1):
                continue
            k += 1
            s = k
        else:
            s = t
        h = R * math.sqrt(2 / t * math.log(16 * s**2 / beta))
        c = (
            sigma_1 * math.log(4 / beta)
            + sigma_2 * math.log(8 * s**2 / beta)
            + sigma_3 / alpha * math.log(4 / beta)
        )
        A = noise(sigma_2)
        drawn += 1
        if abs(total / t) >= h * (1 + 1 / alpha) + (c + B + A) / t:
            return t, total / t + noise(sigma_3) / t, drawn + 1
    return t, math.nan, drawn


def rule_of(kind, epsilon, alpha, beta, R):
    if kind == "NAS":
        return dpb.NAS(alpha, beta, R)
    return {"Algorithm 1": dpb.DPNAS, "Algorithm 2": dpb.DPExponentialNAS}[kind](
        epsilon, alpha, beta, R
    )


def dealt(values):
    """Noise that is dealt from a stack of standard values, with the scales asked for."""
    stack, scales = iter(values), []

    def deal(scale):
        scales.append(scale)
        return scale * next(stack)

    return deal, scales


# What the noise is multiplied with: 1, and 4, with which many runs halt at a small n.
@pytest.mark.parametrize("loud", [1, 4])
@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        ("NAS", math.inf),
        *itertools.product(["Algorithm 1", "Algorithm 2"], [0.1, 1.0, 20.0, math.inf]),
    ],
)
def test_halts_as_printed_on_the_same_samples_and_noise(kind, epsilon, loud, monkeypatch):
    halts = []
    for seed, (R, alpha, beta, mean) in enumerate(
        [(1.0, 0.9, 0.9, 0.9), (1.0, 0.99, 0.5, -0.8), (3.0, 0.6, 0.2, 2.7), (0.1, 0.9, 0.9, 0.06)]
    ):
        rng = np.random.default_rng([11, seed])
        stream = mean + (R - abs(mean)) * rng.uniform(-1, 1, 2500)
        noise = loud * rng.laplace(size=2600)
        mine, scales = dealt(noise)
        expected = printed(kind, epsilon, alpha, beta, R, stream.tolist(), mine)
        theirs, theirs_scales = dealt(noise)
        monkeypatch.setattr(base, "laplace", lambda rng, scale, deal=theirs: deal(scale))
        outcome = rule_of(kind, epsilon, alpha, beta, R).run(stream, rng=np.random.default_rng(0))
        halted = not math.isnan(expected[1])
        assert (outcome.samples, outcome.halted) == (expected[0], halted)
        assert outcome.estimate == pytest.approx(expected[1], rel=1e-12, nan_ok=True)
        if kind != "NAS":
            assert theirs_scales == pytest.approx(scales) and len(scales) == expected[2]
        else:
            assert not any(theirs_scales)
        halts.append(expected[0] if halted else None)
    assert any(halts), "some run halts"


def first_time(kind, epsilon, alpha, beta, R, mean, most=300_000):
    """Brute force: the first look at which a constant stream meets the condition without noise."""
    t = np.arange(1.0, most)
    s = t
    if kind == "Algorithm 2":
        s = np.arange(1.0, 60.0)
        t = 2.0**s
    shares = 4 if kind == "NAS" else 16
    h = R * np.sqrt(2 / t * np.log(shares * s**2 / beta))
    c = 0.0
    if kind != "NAS":
        sigma, sigma_3 = 12 * R / epsilon, 4 * R / epsilon
        c = (sigma + sigma_3 / alpha) * math.log(4 / beta) + sigma * np.log(8 * s**2 / beta)
    met = abs(mean) >= h * (1 + 1 / alpha) + c / t
    first = int(met.argmax())
    assert met[first] and met[first:].all() and not met[:first].any()
    return int(t[first])


@given(
    st.sampled_from(["NAS", "Algorithm 1", "Algorithm 2"]),
    st.sampled_from([0.3, 1.0, 10.0, math.inf]),
    st.floats(0.3, 0.999),
    st.floats(1e-6, 0.999),
    st.floats(0.1, 1),
    st.sampled_from([1.0, 0.2, 30.0]),
    st.sampled_from([1, -1]),
)
def test_noiseless_time_is_that_of_a_search(kind, epsilon, alpha, beta, share, R, sign):
    rule, mean = rule_of(kind, epsilon, alpha, beta, R), sign * share * R
    assert rule.noiseless_time(mean) == first_time(kind, epsilon, alpha, beta, R, mean)


@pytest.mark.parametrize("mean", [1.0, -0.5, 0.375])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("kind", ["NAS", "Algorithm 1", "Algorithm 2"])
def test_without_noise_a_constant_stream_halts_at_its_time(kind, epsilon, mean, monkeypatch):
    rule = rule_of(kind, epsilon, 0.9, 0.9, 1.0)
    if math.isfinite(epsilon):
        monkeypatch.setattr(base, "laplace", lambda rng, scale: 0.0)
    outcome = rule.run(itertools.repeat(mean), np.random.default_rng(0))
    assert outcome == base.Outcome(rule.noiseless_time(mean), mean, True)
    assert outcome.samples == first_time(kind, epsilon, 0.9, 0.9, 1.0, mean)


@pytest.mark.parametrize("kind", ["NAS", "Algorithm 1", "Algorithm 2"])
def test_with_infinite_epsilon_the_stream_decides(kind, rng):
    rule, stream = rule_of(kind, math.inf, 0.9, 0.9, 1.0), rng.uniform(-0.2, 1, 5000)
    outcomes = {rule.run(stream, np.random.default_rng(seed)) for seed in range(3)}
    assert len(outcomes) == 1 and outcomes.pop().halted
    private = rule_of("Algorithm 1", 5.0, 0.9, 0.9, 1.0)
    assert len({private.run(stream, np.random.default_rng(seed)) for seed in range(3)}) == 3


@pytest.mark.parametrize("rule", RULES[:3], ids=lambda rule: rule.label)
@pytest.mark.parametrize("mean", [*NOT_A_NUMBER, 0, 0.0, math.nan, math.inf, 2.1, -3, 1e-40])
def test_noiseless_time_refuses_means_that_have_none(rule, mean):
    refusal("mean", mean, lambda: rule.noiseless_time(mean))


def test_the_least_means_and_budgets_have_a_time():
    assert dpb.DPExponentialNAS(1e-100, 0.5, 1e-100).noiseless_time(1e-29) > 1e120
    assert dpb.DPNAS(1e-6, 1e-3, 0.05).noiseless_time(1e-9) > 1e15


# ---------------------------------------------------------------- what a stream may be
def counted(values, taken):
    for value in values:
        taken.append(value)
        yield value


@every_rule
def test_no_more_is_taken_than_needed_from_whatever_can_be_iterated_over(rule):
    values = [2.0, 1.5] * 3000
    taken = []
    outcome = rule.run(counted(values, taken), np.random.default_rng(5))
    assert outcome.halted and len(taken) == outcome.samples < len(values)
    same = [
        values,
        tuple(values),
        np.array(values),
        np.array(values, dtype=np.float32),
        map(float, values),
        [Fraction(value) for value in values],
        itertools.cycle([2, np.float64(1.5)]),  # never ends
        [*values[: outcome.samples], None],  # what comes after the halt is never seen
    ]
    for stream in same:
        assert rule.run(stream, np.random.default_rng(5)) == outcome


@every_rule
def test_the_generator_is_the_only_source_of_noise(rule):
    stream = [2.0, 1.0] * 2000
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again = (rule.run(stream, np.random.default_rng(6)) for _ in range(2))
    assert first == again and np.random.get_state()[1].tolist() == state  # noqa: NPY002


@every_rule
@pytest.mark.parametrize(
    "value", [*NOT_A_NUMBER, math.nan, math.inf, -math.inf, 2.0001, -3, 10**400]
)
@pytest.mark.parametrize("place", [0, 3])
def test_a_bad_value_is_refused_with_its_place(rule, value, place):
    stream = [1.0] * place + [value]
    refusal(f"stream[{place}]", value, lambda: rule.run(stream, np.random.default_rng(0)))


@every_rule
def test_rows_and_text_are_refused(rule, rng):
    with pytest.raises(ValueError, match=r"stream\[0\]=.* allowed: a number in \[-2, 2\]"):
        rule.run(np.ones((3, 2)), rng)
    with pytest.raises(ValueError, match=r"stream\[0\]='1' is not a number"):
        rule.run("111", rng)
    for stream in (None, 1.0, np.array(1.0)):
        refusal("stream", stream, lambda stream=stream: rule.run(stream, rng))


@every_rule
@pytest.mark.parametrize("end", [-2, 2.0, np.float64(-2.0)])
def test_the_ends_of_the_range_are_samples(rule, end):
    outcome = rule.run(itertools.repeat(end), np.random.default_rng(0))
    assert outcome.halted and outcome.estimate * end > 0
    assert isinstance(outcome.samples, int) and isinstance(outcome.estimate, float)


@every_rule
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_a_stream_may_end_first(rule, length):
    outcome = rule.run([0.5] * length, np.random.default_rng(0))
    assert (outcome.samples, outcome.halted) == (length, False) and math.isnan(outcome.estimate)


@every_rule
@pytest.mark.parametrize("most", [1, 2, 7, np.int64(9)])
def test_a_limit_of_samples_is_kept(rule, most):
    taken = []
    law = dpb.instances.two_point(0.1, 2.0)
    stream = counted(law.sample(np.random.default_rng(7), 100), taken)
    for outcome in (
        rule.run(stream, np.random.default_rng(0), max_samples=most),
        rule.draw(law, np.random.default_rng(0), most),
    ):
        assert (outcome.samples, outcome.halted) == (most, False)
        assert math.isnan(outcome.estimate) and type(outcome.samples) is int
    assert len(taken) == most


@every_rule
def test_a_run_may_halt_at_its_limit(rule):
    stream = [2.0] * 4000
    outcome = rule.run(stream, np.random.default_rng(5))
    at_limit = rule.run(stream, np.random.default_rng(5), max_samples=outcome.samples)
    before = rule.run(stream, np.random.default_rng(5), max_samples=outcome.samples - 1)
    assert at_limit == outcome and outcome.halted
    assert (before.samples, before.halted) == (outcome.samples - 1, False)


@every_rule
@pytest.mark.parametrize("most", [x for x in NOT_WHOLE if x is not None] + [0, -1], ids=repr)
def test_a_bad_limit_is_refused(rule, most):
    rng, law = np.random.default_rng(0), dpb.instances.two_point(0.5)
    refusal("max_samples", most, lambda: rule.run([1.0], rng, max_samples=most))
    refusal("max_samples", most, lambda: rule.draw(law, rng, most))
