"""Private Bernstein stopping and the rules it is compared with: pseudo-code, proof, and privacy.

`announced` is written from the pseudo-code, with R and without the package's formulas: fed the same
samples and the same noise, the rule halts at the same time with the same estimate, and broken twins
do not. The constants of the proof are computed here as well.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special
from statistical import FALSE_ALARM, may_be_at_most
from test_validation import refusal

import dpbandits as dpb
from dpbandits import bounds
from dpbandits.auditing import TablePair, audit
from dpbandits.mechanisms import laplace
from dpbandits.rewards.laws import discrete, low_variance, shifted_beta, two_point
from dpbandits.stopping.bernstein import STEP, TESTS, log_tail_kernel, plan_kernel, psi_kernel


def tail(a):
    """A(a)."""
    return (2 * a / (1 + a)) ** a / (1 + a) if a else 1.0


def psi_of(lam, R):
    """ψ, by its power series where that is exact."""
    x = lam * R
    if x < 0.01:
        return sum(x**k / k for k in range(2, 12)) / R**2
    return (-math.log(1 - x) - x) / R**2


def announced(rule, stream, seed, flaw=""):
    """(samples, estimate) by the pseudo-code; nan if the stream ends."""
    eps, alpha, beta, R = rule.epsilon, rule.alpha, rule.beta, rule.half_range
    b1, b2 = 2 * R / eps, 4 * R**2 / eps
    eta, c = min(alpha, 1 / alpha - 1), math.sqrt(math.log(4 / beta) / alpha)
    rng, done, i, epochs = np.random.default_rng(seed), 0, 1, []
    n, test = math.ceil(max(8, 4 * b1 / R)), None
    while done + n <= len(stream):
        x = np.array(stream[done : done + n])
        m = (x.sum() + laplace(rng, b1)) / n
        q = ((x**2).sum() + laplace(rng, b2)) / n if rule.variance else R**2
        done += n
        if test is not None:
            W, lam, psi, t = test
            certified = psi == 0 or t / n + psi * q <= lam * W or flaw == "no certificate"
            if alpha * abs(m) >= W and certified:
                shift = 0 if flaw == "mean released" else alpha * W
                return done, math.copysign(abs(m) - shift, m)
        epochs.append((n, m, q))
        n2 = sum(k**2 for k, *_ in epochs)
        m_hat = abs(sum(k**2 * m for k, m, _ in epochs)) / n2
        q_hat = min(max(sum(k**2 * q for k, _, q in epochs) / n2, 0), R**2)
        s_hat = math.sqrt(q_hat * sum(k**3 for k, *_ in epochs) / n2**2 + 2 * b1**2 / n2)
        test = None
        if m_hat < c * s_hat:
            g = max(m_hat, s_hat) / (1.3 * c)
            v = 1 / g**2 - 1 / s_hat**2
            n = v * (q_hat + math.sqrt(q_hat**2 + 8 * b1**2 / v)) / 2
            n = math.ceil(min(max(n, done / 2), 8 * done))
            continue
        d = beta / (1.2021 * i ** (2 if flaw == "squares for cubes" else 3))
        W = alpha * (m_hat - s_hat / 2) / (1 + 0.4 * alpha)
        top = min(eps / (2 * R), 0.98 / R)
        steps = math.ceil(math.log(top / (min(top, W / R**2) / 2)) / STEP + 1e-9)
        plans = []
        for lam in (top * math.exp(-STEP * j) for j in range(steps + 1)):
            t0 = math.log(tail(lam * b1) / d)
            t = t0 + math.log(1 + math.exp(-2 * eta * t0))
            gain = lam * W - lam**2 * R**2 / 2
            if gain > 0:
                plans.append((t / gain, "H", lam, 0.0, t))
            psi = psi_of(lam, R)
            gain = lam * W - 1.1 * psi * q_hat
            if psi * b2 < 1 and gain > 0:
                t0 -= math.log(1 - (psi * b2) ** 2)
                t = t0 + math.log(1 + math.exp(-2 * eta * t0))
                plans.append(((t + 3 * psi * b2) / gain, "V", lam, psi, t))
        best = {kind: min((p for p in plans if p[1] == kind), default=None) for kind in "HV"}
        plan = best["H"]
        if best["V"] and best["V"][0] < (1 if flaw == "V whenever shorter" else 0.9) * plan[0]:
            plan = best["V"]
        n = math.ceil(max(plan[0], done / 2))
        if n > 8 * done:
            n = 8 * done
        else:
            test, i = (W, *plan[2:]), i + 1
    return len(stream), math.nan


def problems(count, seed):
    rng = np.random.default_rng(seed)
    for k in range(count):
        R, eps = 2.0 ** rng.integers(-3, 4), 10 ** rng.uniform(-0.7, 1.5)
        rule = dpb.DPBernsteinStop(
            *map(float, (eps, rng.uniform(0.2, 0.95), rng.uniform(0.01, 0.49), R)), bool(k % 4)
        )
        mean, spread = rng.choice([-1, 1]) * rng.uniform(0.05, 0.5), 10 ** rng.uniform(-3, -0.31)
        stream = R * np.clip(mean + spread * rng.choice([-1, 1], 30_000), -1, 1)
        yield rule, stream.tolist(), int(rng.integers(2**32))


FLAWS = ["no certificate", "mean released", "squares for cubes", "V whenever shorter"]


def test_it_halts_as_printed_on_the_same_samples_with_the_same_noise():
    differ, halted = dict.fromkeys(FLAWS, False), 0
    for rule, stream, seed in problems(150, seed=1):
        samples, estimate = announced(rule, stream, seed)
        outcome = rule.run(stream, np.random.default_rng(seed))
        assert outcome.samples == samples
        assert outcome.estimate == pytest.approx(estimate, rel=1e-9, nan_ok=True)
        halted += outcome.halted
        for flaw in [each for each in FLAWS if not differ[each]]:
            twin = announced(rule, stream, seed, flaw)
            differ[flaw] = not np.allclose(twin, (samples, estimate), equal_nan=True)
    assert halted > 100
    assert all(differ.values()), "control"


def test_the_rule_of_fresh_epochs_halts_as_printed():
    rng = np.random.default_rng(2)
    zeta, halted = float(special.zeta(1.1)), 0
    for _ in range(40):
        eps, alpha, beta = (float(x) for x in rng.uniform([0.5, 0.3, 0.01], [9, 0.95, 0.9]))
        R, seed = 2.0 ** float(rng.integers(-3, 4)), int(rng.integers(2**32))
        stream = (R * np.clip(rng.uniform(-1, 1) + rng.uniform(-0.3, 0.3, 9000), -1, 1)).tolist()
        outcome = dpb.DPHoeffdingStop(eps, alpha, beta, R).run(stream, np.random.default_rng(seed))
        noise, start, found = np.random.default_rng(seed), 0, None
        for k in itertools.count(1):
            m = 16 * 2 ** (k - 1)
            if start + m > len(stream):
                break
            mean = (sum(stream[start : start + m]) + laplace(noise, 2 * R / eps)) / m
            x, start = math.log(3 * zeta * k**1.1 / beta), start + m
            w = R * math.sqrt(2 * x / m) + 2 * R * x / (m * eps)
            if w <= alpha * abs(mean):
                found = start, math.copysign(abs(mean) - alpha * w, mean)
                break
        halted += outcome.halted
        assert outcome.halted == (found is not None)
        if found:
            assert outcome.samples == found[0]
            assert outcome.estimate == pytest.approx(found[1], rel=1e-5)
    assert halted > 20


def test_algorithm_2_with_the_midpoint_halts_as_printed():
    rng, shorter, halted = np.random.default_rng(3), 0, 0
    for _ in range(60):
        eps, alpha, beta = (float(x) for x in rng.uniform([3, 0.3, 0.05], [30, 0.95, 0.9]))
        R, seed = 2.0 ** float(rng.integers(-3, 4)), int(rng.integers(2**32))
        stream = (R * np.clip(rng.uniform(-1, 1) + rng.uniform(-0.3, 0.3, 9000), -1, 1)).tolist()
        rule = dpb.DPExponentialNAS(eps, alpha, beta, R, "midpoint")
        outcome = rule.run(stream, np.random.default_rng(seed))
        noise, s1, s3 = np.random.default_rng(seed), 12 * R / eps, 4 * R / eps
        found, B = None, laplace(noise, s1)
        for k in range(1, 14):
            n = 2**k
            if n > len(stream):
                break
            S, h = math.fsum(stream[:n]), R * math.sqrt(2 / n * math.log(16 * k * k / beta))
            r = s3 * math.log(4 / beta)
            bar = n * h / alpha + r * (1 + 1 / alpha)
            bar += s1 * math.log(4 / beta) + s1 * math.log(8 * k * k / beta)
            if abs(S) >= bar + B + laplace(noise, s1):
                m = (S + laplace(noise, s3)) / n
                found = n, math.copysign(abs(m) - alpha * (h + r / n), m)
                break
        assert outcome.halted == (found is not None)
        if found:
            halted += 1
            assert outcome.samples == found[0]
            assert outcome.estimate == pytest.approx(found[1], rel=1e-9)
            plain = replace(rule, estimate="mean").run(stream, np.random.default_rng(seed))
            shorter += plain.samples > outcome.samples
    assert halted > 20 and shorter > 5


# ---------------------------------------------------------------- the proof, step by step
def test_the_second_moment_is_free():
    """Lemma: |x − x′|/b₁ + |x² − x′²|/b₂ ≤ ε, with equality for the greatest move of the mean."""
    x = np.linspace(-1, 1, 401)
    move = np.abs(x[:, None] - x)
    square = np.abs(x[:, None] ** 2 - x**2)
    loss = move / 2 + square / 4  # in units of ε
    assert loss.max() <= 1 + 1e-15 and loss[0, -1] == 1.0
    assert (move / 2 + square / (0.98 * 4)).max() > 1, "control"


def test_noise_sharpens_chernoff():
    """Lemma: P(L ≥ u) ≤ A(a)·e^(−au), and no smaller A serves."""
    u = np.linspace(-30, 30, 60_001)
    survival = np.where(u >= 0, np.exp(-u) / 2, 1 - np.exp(u) / 2)
    for a in (0.01, 0.1, 0.3, 0.7, 0.99, 1.0):
        greatest = (survival * np.exp(a * u)).max()
        assert greatest == pytest.approx(tail(a), rel=1e-5)
        assert greatest <= tail(a) * (1 + 1e-12)
        assert log_tail_kernel(a) == pytest.approx(math.log(tail(a)), rel=1e-12)


def test_a_bounded_variable_needs_no_event_for_its_variance():
    """Lemma: λsx − ψx² ≤ log(1 + λsx) on [−1, 1], and not with a smaller ψ."""
    x = np.linspace(-1, 1, 2001)
    for lam in (1e-6, 9e-5, 1.1e-4, 0.01, 0.3, 0.7, 0.98):
        psi = psi_kernel(lam)
        assert psi == pytest.approx(psi_of(lam, 1.0), rel=1e-7)
        assert np.all(lam * x - psi * x**2 <= np.log1p(lam * x) + 1e-15)
        if lam > 0.005:
            assert np.any(lam * x - 0.99 * psi * x**2 > np.log1p(lam * x)), "control"


def test_high_low_and_wrong_sign_add_up():
    """One test: the sum of e^(−t(D/W − 1)) over its errors is at most 1 + e^(−2ηt)."""
    for alpha, t in itertools.product((0.05, 0.3, 0.5, 0.62, 0.9, 0.99), (0.3, 1.0, 4.0, 12.0)):
        eta, u = min(alpha, 1 / alpha - 1), np.geomspace(1e-3, 1e4, 20_001)
        high = np.maximum(1 / alpha - u, alpha + alpha * u)
        wrong, low = u + 1 / alpha, alpha * (u - 1)
        beyond = u > (1 + alpha) / alpha
        below = np.where(beyond, np.minimum(low, wrong), wrong)
        total = np.exp(-t * (high - 1)) + np.exp(-t * (below - 1))
        assert high.min() >= 1 - 1e-12
        assert np.all(total <= (1 + math.exp(-2 * eta * t)) * (1 + 1e-12))


def test_constants_of_the_bound_on_samples():
    """61, 2.4, and the tables of the proof's last part."""
    kappa, step = 4 * (math.log(2) - 0.5), math.exp(STEP)
    assert 1.1 * kappa / 1.7 <= 0.5
    assert 2 * TESTS / (1 - kappa**2) * math.exp(3 * kappa) <= 61
    assert 2 / 0.9 * step <= 2.4 and special.zeta(3) <= TESTS
    ratio = math.log(610) / math.log(80)

    def table(C):
        delta, gamma = (math.sqrt(10 / C) + x / C for x in (40 / 3, 65 / 3))
        theta = math.sqrt(5 * (1 + gamma) / C + 40 / C**2 / math.log(80))
        w = (1 - delta - theta / 2 / math.sqrt(math.log(80))) / 1.4
        return delta, theta, w, max(2 / w, 1.7 * (1 + gamma) / w**2)

    delta, theta, _, longest = table(100)
    assert 1 - delta > theta and 2.4 * ratio * longest <= 80
    delta, _, w, longest = table(1300)
    second = math.sqrt(4 / 1300) + 16 / 3 / 1300
    assert delta + 1.4 * second <= 0.4
    rest = 1 - 4 * step * ratio * longest / 1300
    shift, moment = math.log(10 * TESTS), (1.1 * math.sqrt(10) + 2) ** 2 / 0.4 + 2.5
    assert moment <= 77.6

    def planned(z):
        return shift - np.log1p(-(z**2)) + 3 * z

    z = np.linspace(kappa / 3, kappa, 1001)
    first = ((77.6 * kappa / 4 / z + 7.5) * planned(z)).max() / (shift - math.log(2))
    assert first <= 122 and 122 * 2 * step * longest / rest <= 1300
    greatest = -math.log(0.02) - 0.98
    for low, high, a in ((0.75, 1.25, 1.0), (1.25, 2.0, 1.0), (2.0, greatest, 1.96 / 8)):
        b = np.linspace(low, high, 1001)
        room = ((77.6 * b + 7.5) / (1 - 0.3787 / b)).max()
        worst = room * planned(kappa / 4 / low) / (shift + math.log(tail(a)))
        assert worst <= 370
    assert 370 * 2 * step / w / rest <= 1300 and 1.5 * 1.5 * 1300 + 2.5 / math.log(80) <= 3000


@pytest.mark.parametrize(
    ("square", "epsilon", "greatest"), [(4.0, 0.1, 80.0), (0.1, 2.0, 8.0), (4.0, 2.0, 27.2)]
)
def test_the_bound_of_planned_lengths_has_the_constants_of_the_theorem(square, epsilon, greatest):
    """With R = 2 and W = 1/2: each of the noise, the range and the variance decides once."""
    bound = bounds.bernstein_test_samples(0.5, square, 3, 0.05, epsilon, 2.0)
    assert bound == pytest.approx(2.4 * math.log(61 * 27 / 0.05) * greatest, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, math.inf])
def test_the_bound_of_samples_is_the_fixed_point_of_the_theorem(epsilon):
    law = low_variance(0.01, 0.1)
    bound = bounds.bernstein_samples(law, 0.5, 0.05, epsilon)
    epochs = 1 + math.log(bound / 8) / math.log(1.5)
    scale = bounds.bernstein_scale(law, 0.5, epsilon)
    assert bound == pytest.approx(3000 * scale * math.log(8 * epochs**3 / 0.05), rel=1e-11)


def test_planned_lengths_keep_their_bound():
    rng, ratios = np.random.default_rng(4), []
    for _ in range(2000):
        eps, beta = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-6, -0.31)
        rule = dpb.DPBernsteinStop(float(eps), float(rng.uniform(0.05, 0.95)), float(beta))
        width, square = (float(10 ** rng.uniform(-4, -0.01)) for _ in range(2))
        test = int(rng.integers(1, 12))
        planned = plan_kernel(rule.constants, width, square, test).size
        without = plan_kernel(rule.constants, width, 1.0, test)
        assert without.psi == 0.0 and planned <= without.size
        limit = bounds.bernstein_test_samples(width, square, test, float(beta), float(eps))
        ratios.append(planned / limit)
    assert max(ratios) <= 1 and max(ratios) > 0.3, "control"
    wide = bounds.bernstein_test_samples(0.25, 1.5, 2, 0.05, 0.5, 2.0)
    assert wide == pytest.approx(bounds.bernstein_test_samples(0.125, 0.375, 2, 0.05, 0.5))
    refusal("second_moment", 4.5, lambda: bounds.bernstein_test_samples(1, 4.5, 1, 0.1, 1, 2))


def test_the_failures_of_all_tests_add_up():
    i = np.arange(1, 10**6, dtype=float)
    assert bounds.bernstein_failure(0.3) == pytest.approx((0.3 / (TESTS * i**3)).sum(), rel=1e-11)
    assert bounds.bernstein_failure(0.3) <= 0.3


# ---------------------------------------------------------------- simulation
SKEWED = discrete([-1.0, 0.02], [0.01, 0.99])  # one in a hundred pulls half of the mean away
ALL = [low_variance(0.2, 0.01), two_point(-0.05), shifted_beta(3, 2), SKEWED]


@pytest.mark.parametrize("law", ALL, ids=lambda law: f"{law.mean:.3g}")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.statistical(false_alarm=1e-6)
def test_errors_and_samples_keep_their_bounds(law, epsilon):
    alpha, beta, runs = 0.5, 0.05, 400
    for variance in (True, False):
        rule = dpb.DPBernsteinStop(epsilon, alpha, beta, 1.0, variance)
        found = dpb.estimate(rule, law, runs)
        assert found.halted.all() and may_be_at_most(found.failures(), runs, beta, 1 / 6)
        limit = bounds.bernstein_samples(law, alpha, beta, epsilon, variance=variance)
        late = np.count_nonzero(found.samples > limit)
        assert may_be_at_most(late, runs, 0.91 * beta, 1 / 6)
        unit = bounds.bernstein_scale(law, alpha, epsilon, variance=variance)
        assert np.all(found.samples > unit), "control: log(1/β) is needed"
    rule = dpb.DPHoeffdingStop(epsilon, alpha, beta)
    found = dpb.estimate(rule, law, runs)
    late = np.count_nonzero(found.samples > bounds.hoeffding_stopping_samples(rule, law.mean))
    assert may_be_at_most(found.failures(), runs, beta, 1 / 6)
    assert may_be_at_most(late, runs, beta, 1 / 6)
    rule = dpb.DPExponentialNAS(epsilon, alpha, beta, estimate="midpoint")
    found = dpb.estimate(rule, law, runs)
    late = np.count_nonzero(found.samples > bounds.stopping_samples(rule, law.mean))
    assert may_be_at_most(found.failures() + late, runs, bounds.stopping_failure(beta), 1 / 6)


@dataclass(frozen=True)
class OneTest:
    """One test of a width, as often as wanted: whether it halts with a wrong estimate."""

    rule: dpb.DPBernsteinStop
    width: float
    square: float
    spent: float = 1.0
    """β of the plan over that of the rule."""

    def wrong(self, law, runs, rng):
        plan = plan_kernel(
            self.rule.constants._replace(beta=self.spent * self.rule.beta),
            self.width,
            self.square,
            1,
        )
        n = math.ceil(plan.size)
        ones = rng.binomial(n, law.probability, runs)
        sums, squares = (ones * law.high**k + (n - ones) * law.low**k for k in (1, 2))
        mean = (sums + rng.laplace(0, 2 / self.rule.epsilon, runs)) / n
        square = (squares + rng.laplace(0, 4 / self.rule.epsilon, runs)) / n
        halts = self.rule.alpha * np.abs(mean) >= self.width
        halts &= (plan.psi == 0) | (plan.level / n + plan.psi * square <= plan.rate * self.width)
        estimate = np.sign(mean) * (np.abs(mean) - self.rule.alpha * self.width)
        off = np.abs(estimate - law.mean) > self.rule.alpha * abs(law.mean)
        return int(np.count_nonzero(halts & off))


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 1.0])
@pytest.mark.statistical
def test_one_test_errs_no_more_often_than_it_may(epsilon):
    """At the worst μ/W, where the step of the proof is nearly sharp; d twice is too much."""
    runs, rng = 200_000, np.random.default_rng(5)
    rule = dpb.DPBernsteinStop(epsilon, 0.5, 0.1)
    allowed, law = rule.beta / TESTS, low_variance(0.02, 0.02)
    one = OneTest(rule, law.mean * rule.alpha / (1 - rule.alpha), law.variance + law.mean**2)
    assert may_be_at_most(one.wrong(law, runs, rng), runs, allowed)
    if epsilon < 0.01:
        twice = replace(one, spent=2.0)
        assert not may_be_at_most(twice.wrong(law, runs, rng), runs, allowed), "control"


def test_the_variance_is_worth_what_the_chapter_says():
    """Samples against Algorithm 2 and against the same rule without the variance, at ε = 0.1."""
    for law, of_two, runs in (
        (low_variance(0.01, 0.1), 45, 200),
        (low_variance(1e-3, 0.03), 400, 100),
    ):
        rules = [dpb.DPBernsteinStop(0.1, 0.5, 0.05), dpb.DPExponentialNAS(0.1, 0.5, 0.05)]
        rules.append(dpb.DPBernsteinStop(0.1, 0.5, 0.05, variance=False))
        on, two, off = (dpb.estimate(rule, law, runs).samples.mean() for rule in rules)
        assert on * of_two < two and on * 5 < off
    law = two_point(0.01)
    on, off = (
        dpb.estimate(dpb.DPBernsteinStop(0.1, 0.5, 0.05, 1.0, v), law, 400).samples.mean()
        for v in (True, False)
    )
    assert on < 1.1 * off, "where nothing can be gained, little is lost"


# ---------------------------------------------------------------- privacy
@dataclass(frozen=True)
class Quiet(dpb.DPBernsteinStop):
    """One of the noises is too small: that of the mean by 8, that of the square by 64."""

    of: str = "mean_scale"
    times: float = 8.0

    @property
    def constants(self):
        sound = super().constants
        return sound._replace(**{self.of: getattr(sound, self.of) / self.times})


def pairs(epsilon):
    """Streams that differ in one sample of the pilot, by a move of the mean, or of the square."""
    long = dpb.DPBernsteinStop(epsilon, 0.9, 0.4).tables.least
    ones, zeros = np.ones((1, 2 * long)), np.zeros((1, 2 * long))
    small = np.full((1, 464), 0.2)
    alternating = np.tile([1.0, -0.5], (1, long))
    return {
        "mean": TablePair(ones, 0, 0, -1.0),
        "half": TablePair(ones, 0, 0, 0.0),
        "square of zeros": TablePair(zeros, 0, 0, 1.0),
        "square": TablePair(small, 0, 0, -0.8),
        "alternating": TablePair(alternating, 0, 0, -1.0),
        "in the test": TablePair(ones, 0, long - 1, -1.0),
    }


@pytest.mark.parametrize("name", pairs(1.0))
@pytest.mark.statistical
def test_structured_pairs_do_not_convict(name):
    rule = dpb.DPBernsteinStop(1.0, 0.9, 0.4)
    assert audit(rule, pairs(1.0)[name], 4000, failure=FALSE_ALARM).verdict != "violation found"


@pytest.mark.parametrize(("of", "times", "runs"), [("mean", 8.0, 1500), ("square", 64.0, 6000)])
@pytest.mark.statistical
def test_too_little_noise_is_convicted(of, times, runs):
    broken = Quiet(1.0, 0.9, 0.4, of=f"{of}_scale", times=times)
    found = audit(broken, pairs(1.0)[of], runs, failure=FALSE_ALARM)
    assert found.verdict == "violation found"


# ---------------------------------------------------------------- own streams, and odd arguments
@pytest.mark.parametrize("kind", [dpb.DPBernsteinStop, dpb.DPHoeffdingStop])
def test_streams_that_are_refused(kind):
    rule, rng = kind(1.0, 0.5, 0.05, 2.0), np.random.default_rng(0)
    for value in (math.nan, math.inf, 2.001, -3, "1", None):
        with pytest.raises(ValueError, match=r"stream\[30\]=.* allowed: a number in \[-2, 2\]"):
            rule.run([*([2.0] * 30), value, 0.5], rng)
    assert rule.run([2.0] * 7, rng) == (7, pytest.approx(math.nan, nan_ok=True), False)


def test_without_noise_it_is_a_bernstein_rule():
    rule = dpb.DPBernsteinStop(math.inf, 0.5, 0.05)
    outcome = rule.run([0.5] * 10_000, np.random.default_rng(0))
    assert outcome.samples == rule.noiseless_time(0.5) == rule.noiseless_time(-0.5)
    assert abs(outcome.estimate - 0.5) <= 0.25
    assert not rule.run([0.0] * 10_000, np.random.default_rng(0)).halted
    rates = [dpb.DPBernsteinStop(e, 0.5, 0.05).noiseless_time(0.5) for e in (0.1, 1, 10)]
    assert rates[0] > rates[1] > rates[2]


def test_what_is_out_of_range():
    for value in (0.5, 0.7, 1.0):
        refusal("beta", value, lambda v=value: dpb.DPBernsteinStop(1.0, 0.5, v))
    refusal("epsilon", 1e-31, lambda: dpb.DPBernsteinStop(1e-31, 0.5, 0.1))
    refusal("epsilon", 1e-251, lambda: dpb.DPHoeffdingStop(1e-251, 0.5, 0.1))
    refusal("epoch", 1001, lambda: dpb.DPHoeffdingStop(1.0, 0.5, 0.1).width(1001))
    for mean in (0.0, 1.1, 1e-31):
        refusal("mean", mean, lambda m=mean: dpb.DPBernsteinStop(1.0, 0.5, 0.1).noiseless_time(m))
    extreme = dpb.DPBernsteinStop(1e-30, 1e-3, 1e-90, 1e-3)
    assert extreme.noiseless_time(1e-25) > 10**30
