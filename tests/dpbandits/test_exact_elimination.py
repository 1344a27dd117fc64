"""Eliminations with exact tests: against their pseudo-code, and against what is proved of them.

The bound by cells is compared with the integral; `pseudo_code` is written from the book's page, arm
by arm; the compiled loop is compared with the plain one in `test_acceleration`.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from statistical import may_be_at_most
from test_elimination import MEANS, Stack, cumulative_counts, feed_noise

import dpbandits as dpb
from dpbandits.elimination_epochs import difference_tail_kernel, noise_cells, tuned_epochs
from dpbandits.regret import tuned_elimination


def exact_tail(lead, pulls, variance, draws, scale):
    """E e^(−g((lead − Z)⁺)) by quadrature with 30 digits, Z a sum of Laplace variables."""
    with mpmath.workdps(30):
        lead, pulls, scale = (mpmath.mpf(x) for x in (lead, pulls, scale))
        weights = [
            mpmath.binomial(2 * draws - 1 - i, draws - 1) * mpmath.mpf(2) ** (i - 2 * draws)
            for i in range(1, draws + 1)
        ]

        def density(z):
            x = abs(z) / scale
            terms = (w * x**i / mpmath.factorial(i) for i, w in enumerate(weights))
            return sum(terms) * mpmath.exp(-x) / scale

        def g(y):
            if variance == math.inf:
                return y**2 / pulls
            s = pulls * variance
            return max(y**2 / pulls, s * ((1 + y / s) * mpmath.log(1 + y / s) - y / s))

        # the integrand has its mass where z is a few deviations of noise or of rewards away
        middle = mpmath.linspace(0, lead, 33)
        ends = [lead - 12 * mpmath.sqrt(pulls) - 80 * scale, -20 * scale, -5 * scale, *middle]
        inner = mpmath.quad(lambda z: density(z) * mpmath.exp(-g(lead - z)), sorted(ends))
        outer = [lead + k * 10 * scale for k in range(13)]
        return float(inner + mpmath.quad(density, outer))


@pytest.mark.parametrize("draws", [2, 8])
@pytest.mark.parametrize("variance", [math.inf, 0.01])
@pytest.mark.parametrize(("pulls", "scale"), [(10**4, 1.0), (10**4, 20.0), (400, 9.0)])
def test_the_bound_by_cells_is_a_bound_and_near(pulls, scale, variance, draws):
    level = 1e-10
    cells = noise_cells(draws, scale, level)
    lead = optimize.brentq(
        lambda x: math.log(difference_tail_kernel(x, pulls, variance, *cells) / level), 1, 5000
    )
    truth = exact_tail(lead, pulls, variance, draws, scale)
    assert 0.95 * level < truth < level
    # Control: with the mass of each cell at its lower end it is none.
    lower, no_noise = cells.ends[:-1], (np.zeros(1), np.ones(1))
    below = [difference_tail_kernel(lead - z, pulls, variance, *no_noise) for z in lower.tolist()]
    assert below @ cells.masses[1:] < truth


budgets = st.floats(1e-3, 1e3) | st.just(math.inf)


@given(st.integers(2, 10**6), st.integers(10, 62), st.floats(1e-12, 0.99), budgets)
def test_lengths_of_tuned_epochs(n_arms, octaves, beta, epsilon):
    horizon = 2**octaves
    last = math.ceil(octaves / 2)
    p = beta / ((n_arms - 1) * last)
    pulls = tuned_epochs(n_arms, horizon, beta, epsilon)
    assert pulls[-1] == horizon and 2 <= pulls.size <= last + 1
    assert pulls.size == last + 1 or 2 * pulls[:-1].sum() > horizon
    u = dpb.mechanisms.laplace_sum_quantile(p, (2,), (1.0,))
    assert (1 + u / 2) * math.exp(-u) == pytest.approx(p, rel=1e-6)
    for e, n in enumerate(pulls[:-1].tolist(), start=1):
        gap = 2.0**-e
        most = 4 * math.log(2 / p) / gap**2 + 4 * u / (epsilon * gap) + 1
        if gap <= epsilon / 2:
            most = min(most, 4 * (math.log(1 / p) + 0.58) / gap**2 + 1)
        assert n <= most * (1 + 1e-8)


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 20.0])
def test_tuned_epochs_are_as_short_as_the_test_allows(epsilon):
    """The failure is p at most, and more than p with one per cent of the pulls less."""
    p = 1e-9 / (4 * 10)
    pulls = tuned_epochs(5, 2**20, 1e-9, epsilon)
    for e, n in list(enumerate(pulls[:-1].tolist(), start=1))[::3]:
        gap = 2.0**-e
        assert exact_tail(n * gap / 2, n, math.inf, 2, 1 / epsilon) <= p
        fewer = 0.99 * n
        assert exact_tail(fewer * gap / 2, fewer, math.inf, 2, 1 / epsilon) > p


@pytest.mark.parametrize("gap", [1.0, 0.5, 0.3, 0.07, 0.011])
def test_the_closed_form_of_the_bound_is_above_the_sum(gap):
    K, T, beta, epsilon = 7, 10**7, 1e-4, 0.3
    p = beta / ((K - 1) * math.ceil(math.log2(T) / 2))
    u = dpb.mechanisms.laplace_sum_quantile(p, (2,), (1.0,))
    e = dpb.bounds.elimination_last_epoch(gap)
    closed = 64 / 3 * math.log(2 / p) / gap**2 + 16 * u / (epsilon * gap) + e
    found = dpb.bounds.tuned_elimination_pulls(gap, K, T, beta, epsilon)
    assert 0.1 * closed < found <= closed
    assert dpb.bounds.tuned_elimination_pulls(1e-5, K, T, beta, epsilon) == T


def pseudo_code(lengths, horizon, rewards, noise, epsilon, n_arms, share=1.0):
    """The book's algorithm, pull by pull: the arm of every pull and the ends of the epochs."""
    played, ends, V = [], [], list(range(n_arms))
    for e, n in enumerate(lengths, start=1):
        if len(V) == 1:
            break
        total = dict.fromkeys(V, 0)
        for _ in range(n):
            for a in V:
                if len(played) == horizon:
                    return played, ends
                played.append(a)
                total[a] += rewards.total(a)
        released = {a: total[a] / n + noise(1 / (epsilon * n)) for a in V}
        limit = share * 2.0**-e / 2
        V = [j for j in V if not max(released.values()) - released[j] > limit]
        ends.append(len(played))
    return played + V * (horizon - len(played)), ends


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
@pytest.mark.parametrize("means", MEANS)
def test_tuned_dp_se_plays_its_pseudo_code(means, epsilon, monkeypatch):
    horizon, n_arms = 20_000, len(means)
    algorithm = dpb.TunedDPSE(epsilon, 0.9)
    lengths = algorithm.epochs(n_arms, horizon).tolist()
    deal = feed_noise(monkeypatch, tuned_elimination)
    played, ends = pseudo_code(lengths, horizon, Stack(means), deal, epsilon, n_arms)
    every = np.arange(1, horizon + 1)
    play = algorithm.draw(Stack(means), horizon, every, np.random.default_rng(0))
    assert np.array_equal(play.counts, cumulative_counts(played, n_arms))
    assert play.epoch_ends.tolist() == ends and len(ends) >= 1
    if means == MEANS[3]:
        deal = feed_noise(monkeypatch, tuned_elimination)
        broken, _ = pseudo_code(lengths, horizon, Stack(means), deal, epsilon, n_arms, 9.0)
        assert broken != played, "control"


class Hasty(dpb.TunedDPSE):
    """A twentieth of the pulls that the test needs."""

    def epochs(self, n_arms, horizon):
        pulls = super().epochs(n_arms, horizon)
        return np.append(np.maximum(pulls[:-1] // 20, 1), horizon)


def lost(algorithm, instance, horizon, runs):
    """Runs that eliminated the best arm."""
    rng, times, count = np.random.default_rng(8), np.array([horizon - 50, horizon]), 0
    for _ in range(runs):
        pulls = algorithm.draw(instance, horizon, times, rng).counts[:, instance.best_arm]
        count += int(pulls[1] == pulls[0])
    return count


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_best_arm_survives_as_often_as_the_theorem_says(epsilon):
    instance, beta, runs = dpb.instances.bernoulli([0.501, 0.5, 0.5, 0.5]), 0.1, 1000
    tuned, hasty = (
        lost(kind(epsilon, beta), instance, 10**6, runs) for kind in (dpb.TunedDPSE, Hasty)
    )
    assert may_be_at_most(tuned, runs, beta)
    assert not may_be_at_most(hasty, runs, beta), "control"
