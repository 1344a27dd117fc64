"""Stopping rules: simulation against the pseudo-code, in law, broken twins, and own streams.

`pseudo_code` is written from the pseudo-code of SS19 (Algorithms 1 and 2, and NAS as SS19 states
it), with every formula written out and the samples drawn by NumPy, and `algorithm_3` from that of
EBGStop (Mnih, Szepesvári & Audibert 2008). They play many runs side by side and can make a
mistake, for negative controls. `printed` is the same, one sample at a time: fed the same samples
and the same noise, `run` has to halt at the same time with the same estimate.
"""

import functools
import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import may_be_at_most, same_law
from test_validation import NOT_A_NUMBER, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits._engine.accelerators import nas_sampling
from dpbandits.stopping import Outcome, nas
from dpbandits.stopping.halting import Halting

BLOCK = 128
COLUMNS = 3  # halting time, estimate, and the released sum


@dataclass(frozen=True)
class Setting:
    """A rule's constants, a law of the package and the same law as NumPy draws it."""

    kind: str
    epsilon: float
    alpha: float
    beta: float
    law: dpb.laws.Law
    numpy_draw: object
    runs: int = 2000
    max_samples: int = 20_000


def rule_of(kind, epsilon, alpha, beta, R):
    if kind in ("NAS", "EBGStop"):
        return getattr(dpb, kind)(alpha, beta, R)
    return {"DP-NAS": dpb.DPNAS, "DP-exp-NAS": dpb.DPExponentialNAS}[kind](epsilon, alpha, beta, R)


def terms(kind, t, s, epsilon, alpha, beta, R, power=2):
    """h and c of SS19 at t samples, the s-th look, and the scales σ₁ = σ₂ and σ₃: written out."""
    sigma, sigma_3 = (0.0, 0.0) if kind == "NAS" else (12 * R / epsilon, 4 * R / epsilon)
    h = R * np.sqrt(2 / t * np.log((4 if kind == "NAS" else 16) * s**power / beta))
    c = (
        sigma * math.log(4 / beta)
        + sigma * np.log(8 * s**power / beta)
        + sigma_3 / alpha * math.log(4 / beta)
    )
    return h, c, sigma, sigma_3


def pseudo_code(s, rng, mistake=None, scale=1.0):
    """Halting times and estimates, shape (runs, 2); time `max_samples` and nan where none halts."""
    constants = s.epsilon, s.alpha, s.beta, s.law.half_range
    if s.kind == "EBGStop":
        samples = s.numpy_draw(rng, (s.runs, s.max_samples))
        return algorithm_3(samples, *constants[1:], mistake, scale)
    *_, sigma, sigma_3 = terms(s.kind, 1, 1, *constants)
    times, estimates = np.full(s.runs, s.max_samples), np.full(s.runs, np.nan)
    B = rng.laplace(0, sigma, s.runs) if mistake != "threshold not noised" else np.zeros(s.runs)
    once = rng.laplace(0, sigma, s.runs)  # for a mistake
    alive, total = np.arange(s.runs), np.zeros(s.runs)
    for start in range(0, s.max_samples, BLOCK):
        t = np.arange(start + 1, min(start + BLOCK, s.max_samples) + 1)
        sums = total[:, None] + np.cumsum(s.numpy_draw(rng, (alive.size, t.size)), axis=1)
        total = sums[:, -1]
        number = t
        if s.kind == "DP-exp-NAS":
            number = np.log2(t)
            looks = (number == np.floor(number)) & (t >= 2)
            t, number, sums = t[looks], number[looks], sums[:, looks]
            if not t.size:
                continue
        power = 1 if mistake == "number of the look not squared" else 2
        h, c, *_ = terms(s.kind, t, number, *constants, power)
        if mistake == "no allowance for noise":
            c = 0.0
        A = rng.laplace(0, sigma, sums.shape)
        A *= {"query noise doubled": 2, "query noise halved": 0.5}.get(mistake, 1)
        if mistake == "query noise drawn once":
            A = once[alive, None]
        blow_up = 1 / s.alpha + (mistake != "1/alpha for 1 + 1/alpha")
        needed = scale * (h * blow_up + c / t) + (B[alive, None] + A) / t
        halts = np.abs(sums / t) >= needed
        if mistake == "one side only":
            halts = sums / t >= needed
        ends = halts.any(axis=1)
        first = halts.argmax(axis=1)[ends]
        L = rng.laplace(0, sigma_3, first.size)
        L *= {"release not noised": 0, "release noise doubled": 2}.get(mistake, 1)
        times[alive[ends]] = t[first]
        estimates[alive[ends]] = sums[ends, first] / t[first] + L / t[first]
        alive, total = alive[~ends], total[~ends]
        if not alive.size:
            break
    return np.column_stack([times, estimates])


def algorithm_3(samples, alpha, beta, R, mistake=None, scale=1.0):
    """Halting times and estimates of EBGStop, growth 3/2 and p = 1.1, on each row of samples."""
    runs, length = samples.shape
    x, k = [], 0  # (end/start)·log(3/d_k) at t = 2, 3, …, with the stage k at each t
    for t in range(2, length + 1):
        if t > math.floor(1.5**k):
            k += 1
            end, start = math.floor(1.5**k), math.floor(1.5 ** (k - 1))
            d_k = beta if mistake == "no union bound" else beta * 0.1 / (1.1 * k**1.1)
            paid = 1 if mistake == "stage not paid for" else end / start
        x.append(paid * math.log(3 / d_k))
    x, t = np.array(x), np.arange(2, length + 1)
    mean = np.cumsum(samples, axis=1)[:, 1:] / t
    square = np.cumsum(samples**2, axis=1)[:, 1:] / t
    deviation = np.sqrt(np.maximum(square - mean**2, 0)) * (mistake != "no deviation")
    spread = R if mistake == "range R" else 2 * R
    width = scale * (deviation * np.sqrt(2 * x / t) + 3 * spread * x / t)
    lower = np.maximum.accumulate(np.maximum(np.abs(mean) - width, 0), axis=1)
    upper = np.minimum.accumulate(np.abs(mean) + width, axis=1)
    halts = (1 + alpha) * lower >= (1 - alpha) * upper
    ends, at = halts.any(axis=1), (np.arange(runs), halts.argmax(axis=1))
    middle = ((1 + alpha) * lower[at] + (1 - alpha) * upper[at]) / 2
    estimate = np.where(ends, np.copysign(middle, mean[at]), np.nan)
    return np.column_stack([np.where(ends, t[at[1]], length), estimate])


@given(
    st.floats(0.2, 0.99),
    st.floats(0.01, 0.99),
    st.sampled_from([1.0, 0.25, 8.0]),
    st.floats(-1, 1).filter(lambda m: abs(m) > 0.2),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.5, 1.5]),
    st.integers(0, 2**32),
)
def test_ebgstop_halts_as_printed_on_the_same_samples(alpha, beta, R, mean, noise, drift, seed):
    """With a drift towards 0, past which the best bounds so far are not the last ones."""
    spread = noise * (1 - abs(mean))
    level = mean * (1 - drift * np.linspace(0, 1, 500))
    stream = R * np.clip(level + spread * np.random.default_rng(seed).uniform(-1, 1, 500), -1, 1)
    samples, estimate = algorithm_3(stream[None], alpha, beta, R)[0]
    outcome = dpb.EBGStop(alpha, beta, R).run(stream, np.random.default_rng(0))
    assert (outcome.samples, outcome.halted) == (samples, not math.isnan(estimate))
    # differences of squares leave a deviation of about 1e-8 where there is none
    tolerance = 1e-6 if np.std(stream) > 1e-3 * R else 1e-4
    assert outcome.estimate == pytest.approx(estimate, rel=tolerance, nan_ok=True)


def draws(s, seed):
    """The same by the package's simulation."""
    rng = np.random.default_rng(seed)
    rule = rule_of(s.kind, s.epsilon, s.alpha, s.beta, s.law.half_range)
    outcomes = [rule.draw(s.law, rng, s.max_samples) for _ in range(s.runs)]
    for outcome in outcomes:
        assert outcome.halted == (not math.isnan(outcome.estimate))
        assert outcome.halted or outcome.samples == s.max_samples
    return np.array([(o.samples, o.estimate) for o in outcomes])


def agree(first, second, share=1.0):
    """Whether times, estimates and released sums may have one law.

    Nine decimals keep ties where sums of atoms are equal up to rounding. Runs that have not
    halted get one value.
    """
    columns = [
        (t[:, 0], np.nan_to_num(t[:, 1], nan=-9.0), np.nan_to_num(t[:, 0] * t[:, 1], nan=-9.0))
        for t in (first, second)
    ]
    return all(
        same_law(np.round(one, 9), np.round(other, 9), share / COLUMNS)
        for one, other in zip(*columns, strict=True)
    )


def two_points(low, high, thousandths):
    """High with a probability in thousandths, from whole numbers, which are quick to draw."""
    return lambda rng, shape: np.where(
        rng.integers(0, 1000, shape, dtype=np.uint16) < thousandths, float(high), float(low)
    )


make = dpb.laws
HIGH = (make.two_point(0.8), two_points(-1, 1, 900))
MIDDLE = (make.two_point(-0.5), two_points(-1, 1, 250))
NARROW = (make.low_variance(0.4, 0.05), two_points(0.35, 0.45, 500))
BETA = (make.shifted_beta(6, 2), lambda rng, shape: 2 * rng.beta(6, 2, shape) - 1)
UNIFORM = (make.uniform(0.6), lambda rng, shape: rng.uniform(0.2, 1, shape))
LEVEL = (make.uniform(-0.15), lambda rng, shape: rng.uniform(-1, 0.7, shape))
WIDE = (make.two_point(2.4, 3.0), two_points(-3, 3, 900))
SPREAD = (make.low_variance(0.4, 0.3), two_points(0.1, 0.7, 500))
RISEN = (make.uniform(0.3), lambda rng, shape: rng.uniform(-0.4, 1, shape))

SETTINGS = {
    "NAS, two points": Setting("NAS", math.inf, 0.9, 0.9, *MIDDLE, max_samples=3000),
    "NAS, beta": Setting("NAS", math.inf, 0.7, 0.1, *BETA),
    "NAS, uniform, digits": Setting("NAS", math.inf, 0.9, 0.9, *LEVEL, runs=1000),
    # σ₁ = 40, a deviation of the sum of about 25
    "DP-NAS, two points": Setting("DP-NAS", 0.3, 0.9, 0.9, *HIGH, runs=6000),
    "DP-NAS, half range 3": Setting("DP-NAS", 0.3, 0.9, 0.9, *WIDE),
    "DP-NAS, little noise": Setting("DP-NAS", 10.0, 0.9, 0.9, *MIDDLE, max_samples=3000),
    "DP-NAS, no noise": Setting("DP-NAS", math.inf, 0.9, 0.9, *MIDDLE),
    "DP-NAS, uniform": Setting("DP-NAS", 0.4, 0.9, 0.2, *UNIFORM, runs=1000),
    # σ₁ = 120 and a margin of about one and a half of it at 2048 samples
    "DP-exp-NAS, two points": Setting("DP-exp-NAS", 0.1, 0.9, 0.9, *HIGH, runs=20_000),
    "DP-exp-NAS, half range 3": Setting("DP-exp-NAS", 0.1, 0.9, 0.9, *WIDE),
    "DP-exp-NAS, no noise": Setting("DP-exp-NAS", math.inf, 0.9, 0.9, *MIDDLE),
    "DP-exp-NAS, low variance": Setting("DP-exp-NAS", 0.3, 0.9, 0.9, *NARROW),
    "EBGStop, two points": Setting("EBGStop", math.inf, 0.9, 0.9, *MIDDLE, 1000, 1500),
    "EBGStop, half range 3": Setting("EBGStop", math.inf, 0.9, 0.5, *WIDE, 1000, 1500),
    "EBGStop, low variance": Setting("EBGStop", math.inf, 0.5, 0.05, *SPREAD, 1000, 2000),
    "EBGStop, beta": Setting("EBGStop", math.inf, 0.6, 0.3, *BETA, 1000, 2000),
    "EBGStop, uniform": Setting("EBGStop", math.inf, 0.9, 0.2, *RISEN, 1000, 2000),
    # The first looks only, where |S| is nothing beside the noise and one run in twenty halts.
    "DP-NAS, early": Setting("DP-NAS", 0.05, 0.99, 0.99, *HIGH, runs=30_000, max_samples=40),
    "DP-exp-NAS, early": Setting("DP-exp-NAS", 0.05, 0.99, 0.99, *HIGH, 30_000, max_samples=64),
}
SHARE = 1 / len(SETTINGS)


@functools.cache
def law_of_the_package(name):
    return draws(SETTINGS[name], seed=1)


@pytest.mark.statistical(false_alarm=1e-6 * SHARE)
@pytest.mark.parametrize("name", SETTINGS)
def test_law_of_the_simulation(name):
    setting = SETTINGS[name]
    package = law_of_the_package(name)
    assert agree(package, pseudo_code(setting, np.random.default_rng(2)), SHARE)
    halted = ~np.isnan(package[:, 1])
    if setting.max_samples > 100:
        assert halted.all() and 100 <= np.median(package[:, 0]) <= 10**4
    else:
        assert 0.02 < halted.mean() < 0.2, "some halt early, for the noise alone"


NOISY = ["query noise doubled", "query noise halved", "threshold not noised"]
NOISY += ["no allowance for noise", "release noise doubled"]
COMMON = ["number of the look not squared", "1/alpha for 1 + 1/alpha"]
BROKEN = {
    "NAS, two points": [*COMMON, "one side only"],
    "DP-NAS, two points": [*NOISY, *COMMON, "query noise drawn once"],
    "DP-NAS, little noise": ["one side only"],
    "DP-exp-NAS, two points": [*NOISY, *COMMON, "release not noised"],
    "DP-exp-NAS, early": ["query noise doubled"],
    "DP-NAS, early": ["query noise doubled"],
}
MISTAKES = ["range R", "no deviation", "no union bound", "stage not paid for"]
BROKEN |= {name: MISTAKES for name in SETTINGS if "EBGStop" in name}


@pytest.mark.parametrize(
    ("name", "mistake"), [(name, mistake) for name in BROKEN for mistake in BROKEN[name]]
)
def test_broken_twins_are_told_apart(name, mistake):
    """By the comparison of `test_law_of_the_simulation`, at its limit."""
    broken = pseudo_code(SETTINGS[name], np.random.default_rng(3), mistake)
    assert not agree(law_of_the_package(name), broken, SHARE)


# ---------------------------------------------------------------- constants that no rule has
# With β = 3.5 the boundary starts low, most runs halt within a few samples, and the noise decides:
# what is passed over in bulk and what is looked at changes all the time.
LOOSE = [(0.9, 3.8, 5.0), (0.99, 3.5, 60.0)]  # α, "β", noise scale


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "kernel"), [("DP-NAS", "_draw_every"), ("DP-exp-NAS", "_draw_doubling")]
)
def test_the_kernels_are_exact_where_noise_decides_early(kind, kernel):
    for alpha, beta, scale in LOOSE:
        setting = Setting(kind, 12 / scale, alpha, beta, *HIGH, runs=10_000, max_samples=600)
        constants = Halting(alpha, beta, 1.0, 4.0, scale, scale, scale / 3)
        rng, code = np.random.default_rng(4), setting.law.code
        package = np.array(
            [
                getattr(nas_sampling, kernel)(rng, constants, code, 600)[:2]
                for _ in range(setting.runs)
            ]
        )
        assert agree(package, pseudo_code(setting, np.random.default_rng(5)), 1 / len(LOOSE))
        assert (package[:, 0] < 20).mean() > 0.1, "the test sees early halts"
        for mistake in ("query noise drawn once", "threshold not noised"):
            broken = pseudo_code(setting, np.random.default_rng(6), mistake)
            assert not agree(package, broken, 1 / len(LOOSE)), mistake


# ---------------------------------------------------------------- correctness
# Hard to be right about: a large β, α near 1, where the threshold is least, and a mean so small
# that many looks come before the right time; noise much greater than the sums of the first looks.
FAR = (make.two_point(0.05), two_points(-1, 1, 525))
FAR_BELOW = (make.uniform(-0.05), lambda rng, shape: rng.uniform(-1, 0.9, shape))
HARD = [
    Setting(kind, epsilon, 0.95, beta, *law, runs=runs, max_samples=10**10)
    for kind, epsilon, law, runs in [
        ("NAS", math.inf, FAR, 2000),
        ("DP-NAS", 0.2, FAR, 1000),
        ("DP-exp-NAS", 0.2, FAR, 10_000),
        ("DP-exp-NAS", 0.2, FAR_BELOW, 2000),
    ]
    for beta in (0.02, 0.1)
]
HARD += [Setting("EBGStop", math.inf, 0.95, 0.02, *FAR, runs=500, max_samples=10**10)]


def failures(setting, table):
    """Runs that halted with a relative error above α."""
    mean = setting.law.mean
    return int((np.abs(table[:, 1] - mean) > setting.alpha * abs(mean)).sum())


@pytest.mark.statistical(false_alarm=1e-6 / len(HARD))
@pytest.mark.parametrize("setting", HARD, ids=lambda s: f"{s.kind}-{s.beta}-{s.law.name}")
def test_a_rule_errs_no_more_often_than_beta(setting):
    share = 1 / len(HARD)
    package = draws(setting, seed=7)
    assert not np.isnan(package[:, 1]).any(), "all runs halt"
    failed = failures(setting, package)
    assert may_be_at_most(failed, setting.runs, setting.beta, share)
    # Control: a boundary of three tenths errs too often, of the runs that halt early alone.
    length, runs = {"NAS": (12_000, 3000), "EBGStop": (5000, 1000)}.get(setting.kind, (3000, 3000))
    early = replace(setting, max_samples=length, runs=runs)
    scale = 0.2 if setting.kind == "EBGStop" else 0.3
    failed = failures(early, pseudo_code(early, np.random.default_rng(8), scale=scale))
    assert not may_be_at_most(failed, early.runs, early.beta, share)


def test_a_large_variance_saves_ebgstop_nothing():
    """The control of the example in its docstring."""
    few, many = (
        dpb.estimate(rule(0.5, 0.05), make.two_point(0.1), n_runs=20).samples.mean()
        for rule in (dpb.EBGStop, dpb.NAS)
    )
    assert few > 0.3 * many


# ---------------------------------------------------------------- every rule
RULES = [
    *(dpb.NAS(0.9, 0.5, half_range=2.0), dpb.DPNAS(2.0, 0.9, 0.5, half_range=2.0)),
    *(dpb.DPExponentialNAS(2.0, 0.9, 0.5, half_range=2.0), dpb.EBGStop(0.9, 0.5, half_range=2.0)),
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.label)
generator = np.random.default_rng


@every_rule
def test_what_cannot_be_drawn_is_refused(rule, rng):
    wide = dpb.laws.two_point(0.1, rule.half_range * 1.001)
    message = refusal("law", wide, lambda: rule.draw(wide, rng, 100))
    assert f"at most that of the rule, {rule.half_range:g}" in message
    refusal("law", 0.5, lambda: rule.draw(0.5, rng, 100))
    small = dpb.laws.two_point(0.9 * rule.half_range / 2, rule.half_range / 2)
    refusal("rng", None, lambda: rule.draw(small, None, 100))
    assert rule.draw(small, rng, 10**9).halted
    refusal("rng", 0, lambda: rule.run([1.0], 0))
    refusal("epsilon", 1e-100, lambda: dpb.DPNAS(1e-100, 0.5, 0.05, 1e300))  # infinite noise


@every_rule
def test_the_generator_is_the_only_source_of_randomness(rule):
    law = dpb.laws.two_point(0.5 * rule.half_range, rule.half_range)
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
        assert [*map(type, outcome)] == [int, float, bool]


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
        outcome = rule_of(kind, epsilon, alpha, beta, R).run(stream, rng=generator(0))
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
    same = [values, np.array(values, dtype=np.float32), map(Fraction, values)]
    same += [itertools.cycle([2, np.float64(1.5)])]  # never ends
    same += [[*values[: outcome.samples], None]]  # what comes after the halt is never seen
    same += [iter(lambda: values[next(asked)], None)]  # a callback
    for stream in same:
        assert rule.run(stream, generator(5)) == outcome
    assert next(asked) == outcome.samples, "the callback is not asked once more"


@every_rule
def test_a_bad_value_is_refused_with_its_place(rule, rng):
    for value in [None, "1", math.nan, math.inf, -math.inf, 2.0001, -3, 10**400]:
        for place in (0, 3):
            stream = [1.0] * place + [value]
            refusal(f"stream[{place}]", value, lambda s=stream: rule.run(s, generator(0)))
    rows = rng.uniform(0, 1, (5, 2))
    refusal("stream[0]", rows[0], lambda: rule.run(rows, rng))
    refusal("stream", "1.0", lambda: rule.run("1.0", rng))
    for stream in (None, 1.0, np.array(1.0)):
        refusal("stream", stream, lambda stream=stream: rule.run(stream, rng))


@every_rule
def test_the_ends_of_the_range_are_samples_and_a_stream_may_end_first(rule):
    for end in (-2, 2.0, np.float64(-2.0)):
        outcome = rule.run(itertools.repeat(end), generator(0))
        assert outcome.halted and outcome.estimate * end > 0
    for length in (0, 1, 5):
        outcome = rule.run([0.1] * length, generator(0))
        assert (outcome.samples, outcome.halted) == (length, False)
        assert math.isnan(outcome.estimate)


@every_rule
def test_a_limit_of_samples_is_kept_and_a_bad_one_refused(rule):
    law = dpb.laws.two_point(0.1, 2.0)
    for most in (1, 2, 7, np.int64(9)):
        taken = []
        stream = counted(law.sample(generator(7), 100), taken)
        run = rule.run(stream, generator(0), max_samples=most)
        for outcome in (run, rule.draw(law, generator(0), most)):
            assert (outcome.samples, outcome.halted) == (most, False)
            assert math.isnan(outcome.estimate) and type(outcome.samples) is int
        assert len(taken) == most
    stream = [2.0] * 4000  # a run may halt at its limit
    outcome = rule.run(stream, generator(5))
    n = outcome.samples
    assert outcome.halted and rule.run(stream, generator(5), n) == outcome
    assert rule.run(stream, generator(5), n - 1)[::2] == (n - 1, False)
    for most in [x for x in NOT_WHOLE if x is not None] + [0, -1]:
        refusal("max_samples", most, lambda m=most: rule.run([1.0], generator(0), max_samples=m))
        refusal("max_samples", most, lambda m=most: rule.draw(law, generator(0), m))
