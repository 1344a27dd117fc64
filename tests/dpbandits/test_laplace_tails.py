"""The Laplace law under a condition: what lets simulation pass over looks that cannot halt."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistical import distance_to_law, one_sample_limit

from dpbandits.mechanisms.laplace import laplace_below, laplace_cdf


class Below:
    """A Laplace variable under the condition that it is at most `level`, from scipy's law."""

    def __init__(self, scale, level):
        self.law, self.level = stats.laplace(scale=scale), level

    def cdf(self, x):
        logarithm = self.law.logcdf(np.minimum(x, self.level)) - self.law.logcdf(self.level)
        return np.exp(logarithm)


# In scales: far below 0, at 0, about 0, far above.
LEVELS = [-600.0, -1.0, 0.0, 0.3, 2.0, 40.0]


@pytest.mark.statistical
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scale", [0.01, 300.0])
def test_law_below_a_level(scale, level):
    size = 20_000
    rng = np.random.default_rng([1, LEVELS.index(level)])
    sample = np.array([laplace_below(rng, scale, level * scale) for _ in range(size)])
    assert sample.max() <= level * scale
    limit = one_sample_limit(size)
    assert distance_to_law(sample, Below(scale, level * scale)) < limit
    # Controls: without the condition, with a scale a fifth off, with the level higher by a third.
    if level <= 2:
        assert distance_to_law(sample, stats.laplace(scale=scale)) > limit
        assert distance_to_law(sample, Below(scale, (level + 1 / 3) * scale)) > limit
    if level > -600:
        assert distance_to_law(sample, Below(1.2 * scale, level * scale)) > limit


@given(st.floats(-700, 700), st.floats(1e-3, 1e6))
def test_distribution_function(z, scale):
    exact = stats.laplace(scale=scale).cdf(z * scale)
    assert laplace_cdf(z * scale, scale) == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize(("x", "value"), [(-1e-300, 0.0), (0.0, 1.0), (-0.0, 1.0), (3.0, 1.0)])
def test_without_noise_all_mass_is_at_zero(x, value, rng):
    assert laplace_cdf(x, 0.0) == value
    assert laplace_below(rng, 0.0, max(x, 0.0)) == 0.0


def test_at_the_ends(rng):
    assert laplace_cdf(-math.inf, 1.0) == 0 and laplace_cdf(math.inf, 1.0) == 1
    assert math.isfinite(laplace_below(rng, 1.0, math.inf))
    assert laplace_below(rng, 1.0, -1e9) <= -1e9
