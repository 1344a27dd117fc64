"""EBGStop against a plain loop of Mnih, Szepesvári & Audibert (2008), Algorithm 3.

`algorithm_3` is written from the description of the algorithm: growth 3/2, p = 1.1, a range of
2R. `many` plays many runs of it side by side, with mistakes for negative controls.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import may_be_at_most, same_law

import dpbandits as dpb

make = dpb.instances
P, GROWTH = 1.1, 1.5


def stages(beta, length, mistake=None):
    """x of Algorithm 3 at t = 2, 3, …: (end/start)·log(3/d_k), with the stage k at each t."""
    x, k = {}, 0
    for t in range(2, length + 1):
        if t > math.floor(GROWTH**k):
            k += 1
            end, start = math.floor(GROWTH**k), math.floor(GROWTH ** (k - 1))
            d_k = beta * (P - 1) / (P * k**P)
            if mistake == "no union bound":
                d_k = beta
            x[t] = (end / start) * math.log(3 / d_k)
            if mistake == "stage not paid for":
                x[t] = math.log(3 / d_k)
        else:
            x[t] = x[t - 1]
    return x


def algorithm_3(stream, alpha, beta, R):
    """Halting time and estimate, recomputing mean and deviation from all samples each time."""
    lower, upper = 0.0, math.inf
    x = stages(beta, len(stream))
    for t in range(1, len(stream) + 1):
        if t >= 2:
            mean, deviation = np.mean(stream[:t]), np.std(stream[:t])
            c = deviation * math.sqrt(2 * x[t] / t) + 3 * (2 * R) * x[t] / t
            lower, upper = max(lower, abs(mean) - c), min(upper, abs(mean) + c)
            if (1 + alpha) * lower >= (1 - alpha) * upper:
                sign = 1 if mean >= 0 else -1
                return t, sign * ((1 + alpha) * lower + (1 - alpha) * upper) / 2
    return len(stream), math.nan


def many(samples, alpha, beta, R, mistake=None, scale=1.0):
    """The same for each row of `samples`."""
    length = samples.shape[1]
    t = np.arange(2, length + 1)
    table = stages(beta, length, mistake)
    x = np.array([table[n] for n in t])
    mean = np.cumsum(samples, axis=1)[:, 1:] / t
    square = np.cumsum(samples**2, axis=1)[:, 1:] / t
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    spread = {"range R": 1, "no deviation": 2}.get(mistake, 2) * R
    if mistake == "no deviation":
        deviation = 0.0
    width = scale * (deviation * np.sqrt(2 * x / t) + 3 * spread * x / t)
    lower = np.maximum.accumulate(np.maximum(np.abs(mean) - width, 0), axis=1)
    upper = np.minimum.accumulate(np.abs(mean) + width, axis=1)
    halts = (1 + alpha) * lower >= (1 - alpha) * upper
    first = halts.argmax(axis=1)
    rows = np.arange(len(samples))
    middle = ((1 + alpha) * lower[rows, first] + (1 - alpha) * upper[rows, first]) / 2
    estimate = np.where(halts.any(axis=1), np.copysign(middle, mean[rows, first]), np.nan)
    return np.column_stack([np.where(halts.any(axis=1), t[first], length), estimate])


@given(
    st.floats(0.2, 0.99),
    st.floats(0.01, 0.99),
    st.sampled_from([1.0, 0.25, 8.0]),
    st.floats(-1, 1).filter(lambda m: abs(m) > 0.2),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.5, 1.5]),
    st.integers(0, 2**32),
)
def test_halts_as_printed_on_the_same_samples(alpha, beta, R, mean, noise, drift, seed):
    """With a drift towards 0, past which the best bounds so far are not the last ones."""
    spread = noise * (1 - abs(mean))
    level = mean * (1 - drift * np.linspace(0, 1, 500))
    stream = R * np.clip(level + spread * np.random.default_rng(seed).uniform(-1, 1, 500), -1, 1)
    samples, estimate = algorithm_3(stream, alpha, beta, R)
    outcome = dpb.EBGStop(alpha, beta, R).run(stream, None)
    assert (outcome.samples, outcome.halted) == (samples, not math.isnan(estimate))
    assert outcome.estimate == pytest.approx(estimate, rel=1e-6, nan_ok=True)
    time, value = many(stream[None], alpha, beta, R)[0]
    # differences of squares leave a deviation of about 1e-8 where there is none
    assert time == samples and value == pytest.approx(estimate, rel=1e-4, nan_ok=True)


def two_points(low, high, probability):
    return lambda rng, shape: np.where(rng.random(shape) < probability, high, low)


# α, β, law, its draws by NumPy, a length within which all runs halt
SETTINGS = {
    "two points": (0.9, 0.9, make.two_point(-0.5), two_points(-1, 1, 0.25), 1500),
    "half range 3": (0.9, 0.5, make.two_point(1.8, 3.0), two_points(-3, 3, 0.8), 1500),
    "low variance": (0.5, 0.05, make.low_variance(0.4, 0.3), two_points(0.1, 0.7, 0.5), 2000),
    "beta": (0.6, 0.3, make.shifted_beta(6, 2), lambda g, n: 2 * g.beta(6, 2, n) - 1, 2000),
    "uniform": (0.9, 0.2, make.uniform(0.3), lambda g, n: g.uniform(-0.4, 1, n), 2000),
}
RUNS = 1000


def draws(rule, law, runs, seed):
    rng = np.random.default_rng(seed)
    outcomes = [rule.draw(law, rng, 10**7) for _ in range(runs)]
    assert all(outcome.halted for outcome in outcomes)
    return np.array([(o.samples, o.estimate) for o in outcomes])


def agree(first, second, share):
    return all(
        same_law(np.round(first[:, c], 7), np.round(second[:, c], 7), share / 2) for c in (0, 1)
    )


@pytest.mark.statistical(false_alarm=1e-6 / len(SETTINGS))
@pytest.mark.parametrize("name", SETTINGS)
def test_law_of_the_simulation(name):
    alpha, beta, law, numpy_draw, length = SETTINGS[name]
    share = 1 / len(SETTINGS)
    package = draws(dpb.EBGStop(alpha, beta, law.half_range), law, RUNS, seed=1)
    assert np.median(package[:, 0]) > 100 and package[:, 0].max() < length
    samples = numpy_draw(np.random.default_rng(2), (RUNS, length))
    assert agree(package, many(samples, alpha, beta, law.half_range), share)
    samples = numpy_draw(np.random.default_rng(3), (RUNS, length))
    for mistake in ("range R", "no deviation", "no union bound", "stage not paid for"):
        broken = many(samples, alpha, beta, law.half_range, mistake)
        assert not agree(package, broken, share), mistake


@pytest.mark.statistical
def test_errs_no_more_often_than_beta():
    alpha, beta, law = 0.95, 0.02, make.two_point(0.05)
    package = draws(dpb.EBGStop(alpha, beta), law, 500, seed=4)
    failed = int((np.abs(package[:, 1] - law.mean) > alpha * law.mean).sum())
    assert may_be_at_most(failed, 500, beta)
    # Control: a fifth of the width errs too often, of the runs that halt early alone.
    samples = two_points(-1, 1, 0.525)(np.random.default_rng(5), (1000, 5000))
    broken = many(samples, alpha, beta, 1.0, scale=0.2)
    failed = int((np.abs(broken[:, 1] - law.mean) > alpha * law.mean).sum())
    assert not may_be_at_most(failed, 1000, beta)
