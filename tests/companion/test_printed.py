"""Bounds as printed: by hand, and term by term on random problems."""

import math

import numpy as np
import pytest

from companion import printed


def test_the_last_line_of_lemma_4_2():
    """By hand: Δ = 1/4, K = 3, β = 1/20, ε = 1/2."""
    by_hand = math.log(60 * math.log(8)) * (1024 * 16 + 96 * 8)
    assert printed.ss19_elimination_pulls(0.25, 3, 0.05, 0.5) == pytest.approx(by_hand, rel=1e-12)


def test_the_terms_of_theorem_3_3():
    rng = np.random.default_rng(5)
    for _ in range(200):
        half_range = 10 ** rng.uniform(-2, 2)
        mean = half_range * rng.uniform(0.001, 1) * rng.choice([-1, 1])
        alpha, beta, epsilon = rng.uniform(0.02, 0.98), 10 ** rng.uniform(-6, -0.01), 0.3
        x, y = half_range / (alpha * abs(mean)), half_range / (epsilon * abs(mean))
        terms = printed.ss19_stopping_times(mean, alpha, beta, epsilon, half_range)
        # the logarithm may be close to 0, where it has few digits
        log_term = math.log(1 / beta * math.log(x))
        assert terms.sampling == pytest.approx(x**2 * log_term, rel=1e-10, abs=1e-10 * x**2)
        assert terms.queries == pytest.approx(y * log_term, rel=1e-10, abs=1e-10 * y)
        assert terms.release == pytest.approx(y / alpha * math.log(1 / beta), rel=1e-10)
        samples = printed.ss19_stopping_samples(mean, alpha, beta, epsilon, half_range)
        assert samples == pytest.approx(2000 * sum(terms), rel=1e-10, abs=1e-6 * x**2)
