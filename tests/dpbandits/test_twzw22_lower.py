"""Lower bounds for heavy tails: every step of their proofs by brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpbandits import bounds
from dpbandits.heavy.estimates import MODELS, error_lower_bound, error_rate, hard_law

EPSILONS = (0.1, 0.5, 1.0, 2.0)
ORDERS = (1.0, 0.9, 0.5, 0.2)


def responses(epsilon):
    """Randomised response to a bit, to three values, and the Laplace mechanism on a grid."""
    for values in (2, 3):
        table = np.ones((values, values)) + np.eye(values) * math.expm1(epsilon)
        yield table / table.sum(axis=1, keepdims=True)
    grid = np.linspace(-40 / epsilon, 40 / epsilon + 1, 20_001)
    cells = [np.diff(stats.laplace(x, 1 / epsilon).cdf(grid)) for x in (0.0, 1.0)]
    yield np.array(cells)


def pairs(table):
    for a, b in itertools.product((0.0, 0.1, 0.4, 1.0), repeat=2):
        p0, p1 = np.zeros((2, len(table)))
        p0[:2], p1[:2] = (a, 1 - a), (b, 1 - b)
        if a != b:
            yield abs(a - b), p0 @ table, p1 @ table


def sharpest(epsilon):
    """Divergence of the two answers of randomised response."""
    m0, m1 = next(responses(epsilon))
    return float(((m0 - m1) * np.log(m0 / m1)).sum())


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_divergence_of_private_releases(epsilon):
    largest = 0.0
    assert sharpest(0.1) > 2 * bounds.local_kl_bound(0.05, 1.0), "control: ε/2 in place of ε"
    for table in responses(epsilon):
        for tv, m0, m1 in pairs(table):
            m0, m1 = m0 + 1e-300, m1 + 1e-300
            logs = np.log(m0 / m1)
            bound = bounds.local_kl_bound(epsilon, tv)
            assert max(m0 @ logs, -m1 @ logs) <= bound * (1 + 1e-9)
            affinity = float(np.sqrt(m0 * m1).sum())
            assert affinity >= 1 - bound / 4 - 1e-6, "what error_lower_bound rests on"
            largest = max(largest, m0 @ logs / bound)
    assert largest > 0.2 * math.exp(-2 * epsilon), "the bound is of the right order"
    assert bounds.local_kl_bound(epsilon, 0.0) == 0.0
    with pytest.raises(ValueError, match="tv=1.5 is out of range"):
        bounds.local_kl_bound(epsilon, 1.5)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("order", ORDERS)
def test_group_privacy_of_rare_rewards(epsilon, order):
    gap, moment, n = 0.03, 1.7, 50
    p = ((2 * gap) ** (1 + order) / moment) ** (1 / order)
    high = (moment / (2 * gap)) ** (1 / order)
    assert p * high == pytest.approx(2 * gap) and p * high ** (1 + order) == pytest.approx(moment)
    kappa = bounds.heavy_divergence(gap, epsilon, moment, order)
    number = stats.binom(n, p)
    hidden = sum(number.pmf(k) * math.exp(-epsilon * k) for k in range(n + 1))
    assert kappa == pytest.approx(-math.log(hidden) / n)
    assert kappa < bounds.group_privacy_factor(p, epsilon), "sharper than for any data"
    local = bounds.heavy_divergence(gap, epsilon, moment, order, "local")
    assert local == pytest.approx(min(kappa, bounds.local_kl_bound(epsilon, p)))
    free = bounds.heavy_divergence(gap, math.inf, moment, order)
    assert free == pytest.approx(-math.log1p(-p)) and kappa < free
    assert bounds.heavy_divergence(gap, math.inf, moment, order, "local") == free


@pytest.mark.parametrize("model", ["central", "local"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("horizon", "n_arms", "epsilon", "moment"), [(1e6, 2, 0.5, 1.0), (1e9, 10, 2.0, 3.0)]
)
def test_the_best_gap_of_the_minimax_bound(model, order, horizon, n_arms, epsilon, moment):
    top = math.log(moment ** (1 / (1 + order)) / 2)

    def loss(log_gap):
        gap = math.exp(min(log_gap, top))
        kappa = bounds.heavy_divergence(gap, epsilon, moment, order, model)
        return kappa * horizon / (n_arms - 1) - math.log(gap * horizon / 8)

    grid = np.linspace(top - 30, top, 4001)
    rough = grid[np.argmin([loss(x) for x in grid])]
    around, tight = (rough - 0.1, rough + 0.1), {"xatol": 1e-9}
    found = optimize.minimize_scalar(loss, bounds=around, method="bounded", options=tight)
    bound = bounds.heavy_minimax_lower_bound(horizon, n_arms, epsilon, moment, order, model)
    assert math.log(bound) == pytest.approx(-found.fun, abs=1e-6)
    assert bound < horizon * math.exp(top)


@pytest.mark.parametrize("order", ORDERS)
def test_exponents_of_the_horizon(order):
    for model, exponent in (("central", 1), ("local", (2 + order) / 2)):
        low, high = (
            bounds.heavy_minimax_lower_bound(t, 2, 0.5, 1.0, order, model) for t in (1e15, 1e18)
        )
        assert math.log(high / low, 1e3) == pytest.approx(exponent / (1 + order), abs=1e-3)


@pytest.mark.parametrize("order", [1.0, 0.5])
@pytest.mark.parametrize("model", ["central", "local"])
def test_lower_bounds_are_below_upper_ones(model, order):
    for gap in (0.2, 0.02):
        horizon = 10**18
        options = {"epsilon": 0.5, "moment": 1.0, "order": order, "model": model}
        above = float(bounds.heavy_elimination_regret([0.0, gap], horizon, **options))
        pulls = bounds.heavy_elimination_pulls(gap, 2, 1 / horizon, 0.5, 1.0, order, model)
        below = bounds.heavy_regret_lower_bound(gap, horizon, above, 0.5, 1.0, order, model, 3)
        assert below < 2 * gap * pulls
        assert below > 0 or 8 * above > gap * horizon
    assert bounds.heavy_regret_lower_bound(0.1, 100.0, 1e9, 0.5, 1.0, order, model) == 0.0


@pytest.mark.parametrize("order", [1.0, 0.5])
def test_the_published_local_rate_must_fall(order):
    """A regret of 10^6·Δ^(−1/v)·log(T)/ε² on every instance contradicts itself for small Δ."""
    ratios = []
    for gap in (1e-4, 1e-6):
        horizon = 1e3 * gap ** (-2 * (1 + order) / order) * 1e9
        claimed = 1e6 * gap ** (-1 / order) * math.log(horizon) / 0.25
        central, local = (
            bounds.heavy_regret_lower_bound(gap, horizon, claimed, 0.5, 1.0, order, model)
            for model in ("central", "local")
        )
        assert central < claimed, "control: the rate is possible in the central model"
        ratios.append(local / claimed)
    assert ratios[1] > 1
    assert ratios[1] / ratios[0] == pytest.approx(100 ** ((1 + order) / order), rel=0.3)


# --------------------------------------------------------------------------- one mean


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_hard_laws_have_the_minimax_rate(model, order):
    epsilon = math.inf if model == "none" else 0.5
    logs = []
    for n in (10**6, 10**10):
        law = hard_law(model, n, epsilon, order, moment=2.0)
        assert law.moment(order) == pytest.approx(2.0)
        below = error_lower_bound(model, n, epsilon, order, moment=2.0)
        assert 0.2 * law.mean < below < 0.5 * law.mean, "m/2 is what the estimate m/2 errs"
        logs.append(math.log(below))
    assert (logs[1] - logs[0]) / math.log(1e4) == pytest.approx(error_rate(model, order), abs=1e-4)


def test_no_estimator_of_a_few_rewards_beats_the_bound():
    """All thresholds of the count, with the exact laws of counts: without privacy and central."""
    n, order = 40, 0.5
    for model, epsilon in (("none", math.inf), ("central", 0.7)):
        law = hard_law(model, n, epsilon, order)
        below = error_lower_bound(model, n, epsilon, order)
        counts = np.arange(n + 1)
        weights = stats.binom(n, law.probability).pmf(counts)
        best = math.inf
        for cut in np.linspace(0.2, 30, 60):
            # says guess_high where the count, with noise, exceeds the cut
            if model == "none":
                above = (counts > cut).astype(float)
            else:
                above = stats.laplace(counts, 1 / epsilon).sf(cut)
            for guess_low, guess_high in itertools.product(np.linspace(0, 1.2, 13), repeat=2):
                size = [law.mean * g for g in (guess_low, guess_high)]
                on_zero = size[0] * (1 - above[0]) + size[1] * above[0]
                misses = [abs(s - law.mean) for s in size]
                on_hard = float(weights @ (misses[0] * (1 - above) + misses[1] * above))
                best = min(best, max(on_zero, on_hard))
        assert below < best < 2.5 * below


def test_bad_arguments():
    with pytest.raises(ValueError, match="epsilon=1.0 does not go with model='none'"):
        hard_law("none", 10, 1.0, 0.5)
    with pytest.raises(ValueError, match="gap=0.7 is out of range; allowed: at most"):
        bounds.heavy_divergence(0.7, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="model='none' is unknown"):
        bounds.heavy_divergence(0.1, 1.0, 1.0, 1.0, "none")
