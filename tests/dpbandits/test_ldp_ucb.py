"""LDP-UCB: its width, its law against a loop written from the definition, its bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from statistical import may_be_at_most, mean_may_be_at_most, same_law_of_counts

import dpbandits as dpb
from dpbandits.schedules import noisy_mean_width

SCALES = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
LOGS = st.floats(0.1, 200)
SIZES = st.integers(1, 10**7)


@given(SCALES, LOGS, SIZES)
def test_the_width_is_nearly_the_least_that_chernoff_gives(scale, log_failure, size):
    def chernoff(log_tilt):
        tilt = math.exp(log_tilt)
        noise = math.log1p(-((tilt * scale) ** 2)) if scale else 0.0
        return (log_failure / size - noise) / tilt + tilt / 8

    top = math.log(min(1 / scale if scale else math.inf, 1e3)) - 1e-9
    best = optimize.minimize_scalar(chernoff, bounds=(top - 25, top), method="bounded").fun
    width = float(noisy_mean_width(scale, log_failure, size))
    assert best * (1 - 1e-6) <= width <= 1.1 * best
    variance = 1 + 8 * scale**2
    plain = math.sqrt(variance * log_failure / (2 * size) * (1 + log_failure / size))
    assert width <= plain * (1 + 1e-12)


@given(SCALES, LOGS, SIZES)
def test_the_width_falls_with_the_size_and_rises_with_certainty(scale, log_failure, size):
    width, longer = noisy_mean_width(scale, log_failure, [size, size + 1])
    assert longer < width < noisy_mean_width(scale, 1.01 * log_failure, size)


@pytest.mark.parametrize(("scale", "size"), [(0.0, 40), (1.0, 1), (1.0, 6), (0.2, 60), (5.0, 20)])
@pytest.mark.statistical
def test_the_mean_exceeds_it_no_more_often_than_it_says(scale, size):
    log_failure, draws, rng = math.log(20), 100_000, np.random.default_rng(0)
    sums = rng.binomial(size, 0.5, draws) + rng.laplace(0, scale, (size, draws)).sum(axis=0)
    above = sums / size - 0.5
    often = np.sum(above > noisy_mean_width(scale, log_failure, size))
    assert may_be_at_most(often, draws, 1 / 20)
    too_often = np.sum(above > 0.3 * noisy_mean_width(scale, log_failure, size))
    assert not may_be_at_most(too_often, draws, 1 / 20), "control"


def loop(epsilon, means, horizon, rng, kept=False):
    """Counts at a third of the horizon and at its end; `kept`: each arm keeps its first noise."""
    K, b, counts = len(means), 1 / epsilon, []
    seen, noise = [[] for _ in means], rng.laplace(0, b, K)
    for t in range(1, horizon + 1):
        index = []
        for released in seen:
            n, ell = max(len(released), 1), 4 * math.log(t)
            r = 8 * ell / ((1 + 8 * b**2) * n)
            theta = math.sqrt(r / (1 + b**2 * r)) or math.inf
            width = (ell / n - math.log(1 - theta**2 * b**2)) / theta + theta / 8 if t > K else 0
            index.append(sum(released) / n + width)
        arm = t - 1 if t <= K else index.index(max(index))
        noisy = float(rng.random() < means[arm]) + (noise[arm] if kept else rng.laplace(0, b))
        seen[arm].append(noisy)
        if t in (horizon // 3, horizon):
            counts.append([len(released) for released in seen])
    return counts


@pytest.mark.statistical
def test_the_law_is_that_of_the_definition():
    means, horizon, n_runs = (0.9, 0.2, 0.5), 90, 600
    instance, times = dpb.instances.bernoulli(means), np.array([horizon // 3, horizon])
    rng = np.random.default_rng(0)
    ours = [dpb.LDPUCB(9.0).draw(instance, horizon, times, rng).counts for _ in range(n_runs)]
    plain = [loop(9.0, means, horizon, rng) for _ in range(n_runs)]
    assert same_law_of_counts(np.array(ours)[:, :, :-1], np.array(plain)[:, :, :-1])
    wrong = [loop(1.0, means, horizon, rng, kept=True) for _ in range(n_runs)]
    assert not same_law_of_counts(np.array(wrong)[:, :, :-1], np.array(ours)[:, :, :-1]), "control"


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.statistical
def test_the_bound_is_above_the_regret(epsilon):
    instance, horizon = dpb.instances.td16("two"), 10**5
    runs = dpb.simulate(dpb.LDPUCB(epsilon), instance, horizon, 30, 0, checkpoints=[horizon])
    bound = dpb.bounds.ldp_ucb_regret(instance.gaps, horizon, noise_scale=1 / epsilon)
    assert mean_may_be_at_most(runs.regret[:, -1], bound)
    assert not mean_may_be_at_most(runs.regret[:, -1], bound / 9), "control"
    gap = 0.3
    closed = gap * ((8 + 64 / epsilon**2) / gap**2 + 4) * math.log(horizon) + gap + gap / 4
    assert bound <= closed


@given(st.floats(0.01, 1), st.floats(2, 1e12), SCALES)
def test_the_pulls_of_the_bound_are_the_least_with_a_small_width(gap, horizon, scale):
    """And so for horizons, gaps and scales at which they are many."""
    bound = float(dpb.bounds.ldp_ucb_regret([0, gap], horizon, noise_scale=scale))
    pulls = round((bound - gap / 4) / gap)
    if bound < horizon * gap:
        log_failure = 4 * math.log(horizon)
        assert 2 * noisy_mean_width(scale, log_failure, pulls) < gap * (1 + 1e-9)
        if pulls > 2:
            assert 2 * noisy_mean_width(scale, log_failure, pulls - 1) > gap * (1 - 1e-6)


def test_without_noise_the_width_is_that_of_ucb():
    assert math.isclose(noisy_mean_width(0.0, 4 * math.log(50), 9), math.sqrt(2 * math.log(50) / 9))
