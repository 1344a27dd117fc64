"""Runs of stopping rules, on laws and on own streams.

`printed` is SS19's pseudo-code, one sample at a time: fed the same samples and the same noise, the
package has to halt at the same time with the same estimate. What every rule must be:
``test_registry.py``; the law of `draw`: ``test_stopping.py``.
"""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_stopping import rule_of, terms
from test_validation import NOT_A_NUMBER, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits.stopping import Outcome, nas

EVERY = [
    *(dpb.NAS(0.9, 0.9), dpb.NAS(0.5, 0.05, 3.0)),
    *(dpb.DPNAS(5.0, 0.9, 0.9), dpb.DPNAS(20.0, 0.9, 0.5, 0.5), dpb.DPNAS(math.inf, 0.9, 0.9)),
    *(dpb.DPExponentialNAS(3.0, 0.9, 0.9), dpb.DPExponentialNAS(1.0, 0.8, 0.3, 0.5)),
    dpb.DPExponentialNAS(math.inf, 0.9, 0.9),
    *(dpb.EBGStop(0.9, 0.9), dpb.EBGStop(0.5, 0.05, 3.0)),
]
RULES = [
    *(dpb.NAS(0.9, 0.5, half_range=2.0), dpb.DPNAS(2.0, 0.9, 0.5, half_range=2.0)),
    *(dpb.DPExponentialNAS(2.0, 0.9, 0.5, half_range=2.0), dpb.EBGStop(0.9, 0.5, half_range=2.0)),
]
every_configuration = pytest.mark.parametrize("rule", EVERY, ids=repr)
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.label)


def generator(seed=0):
    return np.random.default_rng(seed)


def test_noise_that_is_infinite_is_refused():
    refusal("epsilon", 1e-100, lambda: dpb.DPNAS(1e-100, 0.5, 0.05, 1e300))


# ---------------------------------------------------------------- draw
@every_configuration
def test_what_cannot_be_drawn_is_refused(rule, rng):
    wide = dpb.instances.two_point(0.1, rule.half_range * 1.001)
    message = refusal("law", wide, lambda: rule.draw(wide, rng, 100))
    assert f"at most that of the rule, {rule.half_range:g}" in message
    refusal("law", 0.5, lambda: rule.draw(0.5, rng, 100))
    small = dpb.instances.two_point(0.9 * rule.half_range / 2, rule.half_range / 2)
    refusal("rng", None, lambda: rule.draw(small, None, 100))
    assert rule.draw(small, rng, 10**9).halted
    if not isinstance(rule, dpb.EBGStop):  # it draws no noise
        refusal("rng", 0, lambda: rule.run([1.0], 0))


@every_configuration
def test_the_generator_is_the_only_source_of_randomness(rule):
    law = dpb.instances.two_point(0.5 * rule.half_range, rule.half_range)
    stream = [rule.half_range, 0.5 * rule.half_range] * 5000
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again, other = (
        [rule.draw(law, rng, 10**9) for _ in range(5)] for rng in map(generator, (5, 5, 6))
    )
    assert first == again != other
    assert rule.run(stream, generator(6)) == rule.run(stream, generator(6))
    assert np.random.get_state()[1].tolist() == state, "no global randomness"  # noqa: NPY002
    for outcome in first:
        assert isinstance(outcome, Outcome) and outcome.halted
        kinds = [type(getattr(outcome, name)) for name in ("samples", "estimate", "halted")]
        assert kinds == [int, float, bool]


@every_configuration
def test_the_sign_of_the_mean_is_found(rule):
    for mean in (0.8, -0.8):
        law = dpb.instances.two_point(mean * rule.half_range, rule.half_range)
        runs = dpb.estimate(rule, law, n_runs=30)
        assert np.sign(np.median(runs.estimate)) == np.sign(mean)
        assert runs.failures() <= 15


@every_configuration
@pytest.mark.parametrize("half_range", [4.0, 2.0**-20, 3.0, 0.1])
def test_scale(rule, half_range, same_seeds):
    """Everything in units of R: halting times stay, estimates are multiplied."""
    one, other = (dataclasses.replace(rule, half_range=R) for R in (1.0, half_range))
    times, estimates = [], []
    for scaled in (one, other):
        law = dpb.instances.two_point(0.6 * scaled.half_range, scaled.half_range)
        runs = dpb.estimate(scaled, law, n_runs=20, seed=4)
        times.append(runs.samples.tolist())
        estimates.append(runs.estimate / scaled.half_range)
    assert times[0] == times[1] and len(set(times[0])) > 1
    np.testing.assert_allclose(*estimates, rtol=1e-9)


# ---------------------------------------------------------------- own streams, as printed
def printed(kind, epsilon, alpha, beta, R, stream, noise):
    """Halting time and estimate of SS19's pseudo-code; `noise(scale)` is Lap(scale)."""
    constants = epsilon, alpha, beta, R
    *_, sigma, sigma_3 = terms(kind, 1, 1, *constants)
    B, total = noise(sigma), 0.0
    for t, x in enumerate(stream, start=1):
        total += x
        s = math.log2(t) if kind == "DP-exp-NAS" else t
        if s != math.floor(s) or s == 0:
            continue
        h, c, *_ = terms(kind, t, s, *constants)
        A = noise(sigma)
        if abs(total / t) >= h * (1 + 1 / alpha) + (c + B + A) / t:
            return t, total / t + noise(sigma_3) / t
    return t, math.nan


KINDS = ["NAS", "DP-NAS", "DP-exp-NAS"]


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
    [("NAS", math.inf), *itertools.product(KINDS[1:], [0.1, 1.0, 20.0, math.inf])],
)
def test_halts_as_printed_on_the_same_samples_and_noise(kind, epsilon, loud, monkeypatch):
    halts = []
    for seed, (R, alpha, beta, mean) in enumerate(
        [(1.0, 0.9, 0.9, 0.9), (1.0, 0.99, 0.5, -0.8), (3.0, 0.6, 0.2, 2.7), (0.1, 0.9, 0.9, 0.06)]
    ):
        rng = generator([11, seed])
        stream = mean + (R - abs(mean)) * rng.uniform(-1, 1, 2500)
        noise = loud * rng.laplace(size=2600)
        mine, scales = dealt(noise)
        expected = printed(kind, epsilon, alpha, beta, R, stream.tolist(), mine)
        theirs, theirs_scales = dealt(noise)
        monkeypatch.setattr(nas, "laplace", lambda rng, scale, deal=theirs: deal(scale))
        outcome = rule_of(kind, epsilon, alpha, beta, R).run(stream, rng=generator())
        halted = not math.isnan(expected[1])
        assert (outcome.samples, outcome.halted) == (expected[0], halted)
        assert outcome.estimate == pytest.approx(expected[1], rel=1e-12, nan_ok=True)
        assert theirs_scales == pytest.approx(scales)
        halts.append(expected[0] if halted else None)
    assert any(halts), "some run halts"


def first_time(kind, epsilon, alpha, beta, R, mean, most=300_000):
    """Brute force: the first look at which a constant stream meets the condition without noise."""
    s = np.arange(1.0, 60.0 if kind == "DP-exp-NAS" else most)
    t = 2.0**s if kind == "DP-exp-NAS" else s
    h, c, *_ = terms(kind, t, s, epsilon, alpha, beta, R)
    met = abs(mean) >= h * (1 + 1 / alpha) + c / t
    first = int(met.argmax())
    assert met[first] and met[first:].all() and not met[:first].any()
    return int(t[first])


@given(
    st.sampled_from(KINDS),
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


@pytest.mark.parametrize("rule", RULES[:3], ids=lambda rule: rule.label)
def test_noiseless_time_refuses_means_that_have_none(rule):
    for mean in [*NOT_A_NUMBER, 0, 0.0, math.nan, math.inf, 2.1, -3, 1e-40]:
        refusal("mean", mean, lambda mean=mean: rule.noiseless_time(mean))
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
    taken, asked = [], itertools.count()
    outcome = rule.run(counted(values, taken), generator(5))
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
        iter(lambda: values[next(asked)], None),  # a callback
    ]
    for stream in same:
        assert rule.run(stream, generator(5)) == outcome
    assert next(asked) == outcome.samples, "the callback is not asked once more"


@every_rule
def test_a_bad_value_is_refused_with_its_place(rule, rng):
    for value in [*NOT_A_NUMBER, math.nan, math.inf, -math.inf, 2.0001, -3, 10**400]:
        for place in (0, 3):
            stream = [1.0] * place + [value]
            refusal(f"stream[{place}]", value, lambda s=stream: rule.run(s, generator()))
    rows = rng.uniform(0, 1, (5, 2))
    refusal("stream[0]", rows[0], lambda: rule.run(rows, rng))
    refusal("stream[0]", "1", lambda: rule.run("1.0", rng))
    for stream in (None, 1.0, np.array(1.0)):
        refusal("stream", stream, lambda stream=stream: rule.run(stream, rng))


@every_rule
def test_the_ends_of_the_range_are_samples_and_a_stream_may_end_first(rule):
    for end in (-2, 2.0, np.float64(-2.0)):
        outcome = rule.run(itertools.repeat(end), generator())
        assert outcome.halted and outcome.estimate * end > 0
        assert isinstance(outcome.samples, int) and isinstance(outcome.estimate, float)
    for length in (0, 1, 5):
        outcome = rule.run([0.1] * length, generator())
        assert (outcome.samples, outcome.halted) == (length, False)
        assert math.isnan(outcome.estimate)


@every_rule
def test_a_limit_of_samples_is_kept_and_a_bad_one_refused(rule):
    law = dpb.instances.two_point(0.1, 2.0)
    for most in (1, 2, 7, np.int64(9)):
        taken = []
        stream = counted(law.sample(generator(7), 100), taken)
        run = rule.run(stream, generator(), max_samples=most)
        for outcome in (run, rule.draw(law, generator(), most)):
            assert (outcome.samples, outcome.halted) == (most, False)
            assert math.isnan(outcome.estimate) and type(outcome.samples) is int
        assert len(taken) == most
    stream = [2.0] * 4000  # a run may halt at its limit
    outcome = rule.run(stream, generator(5))
    n = outcome.samples
    assert outcome.halted and rule.run(stream, generator(5), n) == outcome
    assert rule.run(stream, generator(5), n - 1)[::2] == (n - 1, False)
    for most in [x for x in NOT_WHOLE if x is not None] + [0, -1]:
        refusal("max_samples", most, lambda m=most: rule.run([1.0], generator(), max_samples=m))
        refusal("max_samples", most, lambda m=most: rule.draw(law, generator(), m))
