"""Noise and the binary-tree counter: laws, noise reuse, error bounds, and privacy computed exactly.

Privacy of a counter is computed, not sampled. A counter's outputs are P = C x + N z with C the
matrix of prefix sums, z one Laplace variable of scale b per pull and N the 0/1 matrix of which
variable enters which prefix. N is read off the implementation. It is invertible, so releasing P is
releasing N^-1 C x + z, whose privacy loss is (largest column sum of |N^-1 C|)/b, attained.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistical import clopper_pearson, distance_to_law, may_be_at_most, one_sample_limit

from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import BinaryTree, binary_tree, laplace, laplace_noise
from dpbandits.mechanisms.laplace import laplace_cdf, laplace_log_cdf


# ---------------------------------------------------------------- Laplace noise
@pytest.mark.statistical
@pytest.mark.parametrize("scale", [1e-3, 1.0, 250.0])
@pytest.mark.parametrize("draw", ["one by one", "array"])
def test_laplace_law(rng, draw, scale):
    size = 40_000
    if draw == "array":
        noise = laplace_noise(rng, scale, size)
    else:
        noise = np.array([laplace(rng, scale) for _ in range(size)])
    limit = one_sample_limit(size)
    assert distance_to_law(noise, stats.laplace(scale=scale)) < limit
    # Controls: the scale 15% off, and the normal law of the same variance.
    assert distance_to_law(noise, stats.laplace(scale=1.15 * scale)) > limit
    assert distance_to_law(noise, stats.norm(scale=math.sqrt(2) * scale)) > limit


def test_no_scale_no_noise(rng):
    state = rng.bit_generator.state
    assert laplace(rng, 0.0) == 0.0
    assert rng.bit_generator.state != state, "the generator advances all the same"
    noise = laplace_noise(rng, 0.0, 5)
    assert noise.tolist() == [0.0] * 5 and not np.signbit(noise).any()


def test_noise_comes_from_the_generator_alone():
    first, second, other = (np.random.default_rng(seed) for seed in (1, 1, 2))
    assert laplace(first, 1.0) == laplace(second, 1.0) != laplace(other, 1.0)
    assert np.array_equal(laplace_noise(first, 1.0, 9), laplace_noise(second, 1.0, 9))


def test_a_negative_scale_is_refused(rng):
    with pytest.raises(ValueError):
        laplace_noise(rng, -1.0, 3)


# ---------------------------------------------------------------- binary tree
def blocks_of_prefix(n):
    """Ends of the dyadic blocks that make up 1..n, greatest first: the textbook decomposition."""
    ends, end = [], 0
    while end < n:
        size = 1
        while end + 2 * size <= n:
            size *= 2
        end += size
        ends.append(end)
    return ends


def noise_matrix(tree, monkeypatch):
    """Which noise variable (column, by the pull that drew it) enters which prefix (row).

    The noise of pull n is replaced by 2^n, so that a prefix's noise spells out its nodes.
    """
    drawn = []

    def label(rng, scale):
        drawn.append(scale)
        return 2.0 ** len(drawn)

    monkeypatch.setattr(binary_tree, "laplace", label)
    counter = tree.counter(None)
    rows = []
    for n in range(1, tree.horizon + 1):
        total = int(counter.add(0.0))
        assert len(drawn) == n, "every pull draws exactly one new variable"
        rows.append([total >> column & 1 for column in range(1, tree.horizon + 1)])
        assert total == sum(bit << column for column, bit in enumerate(rows[-1], start=1))
    assert set(drawn) == {tree.node_scale}
    return np.array(rows)


def privacy_loss(noise, scale):
    """Exact privacy loss of P = C x + N z, for one element of x changed by 1."""
    prefix_sums = np.tril(np.ones_like(noise))
    released = np.linalg.solve(noise, prefix_sums)
    return np.abs(released).sum(axis=0).max() / scale


@given(st.lists(st.floats(0, 1), min_size=1, max_size=100))
def test_without_noise_the_prefix_sums_are_exact(stream):
    counter = BinaryTree(math.inf, len(stream)).counter(np.random.default_rng(0))
    assert [counter.add(x) for x in stream] == np.cumsum(stream).tolist()


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 13, 31, 32, 45])
def test_which_noise_enters_which_prefix(horizon, monkeypatch):
    noise = noise_matrix(BinaryTree(1.0, horizon), monkeypatch)
    for n in range(1, horizon + 1):
        assert np.flatnonzero(noise[n - 1] == 1).tolist() == [e - 1 for e in blocks_of_prefix(n)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 13, 31, 32, 45])
def test_privacy_is_exactly_the_budget(horizon, epsilon, monkeypatch):
    tree = BinaryTree(epsilon, horizon)
    noise = noise_matrix(tree, monkeypatch)
    assert privacy_loss(noise, tree.node_scale) == pytest.approx(epsilon, rel=1e-12)
    assert tree.guarantee == PrivacyGuarantee("global", epsilon)
    if horizon > 1:
        # Broken twins: the budget not split over the levels; one fresh variable per prefix.
        assert privacy_loss(noise, 1 / epsilon) > 1.5 * epsilon
        if horizon > 3:
            assert privacy_loss(np.eye(horizon), tree.node_scale) > 1.2 * epsilon


@pytest.mark.parametrize("stream", [(0, 1, 1, 0), (1, 0, 1, 1, 1, 0, 0), (0, 0, 1, 0, 1)])
def test_log_likelihood_ratio_of_neighbours(stream, monkeypatch, rng):
    """The same by evaluating densities of the released node sums at many outputs."""
    horizon, epsilon = len(stream), 0.7
    tree = BinaryTree(epsilon, horizon)
    noise = noise_matrix(tree, monkeypatch)
    to_nodes = np.linalg.solve(noise, np.tril(np.ones((horizon, horizon))))
    worst = 0.0
    for place in range(horizon):
        neighbour = np.array(stream, float)
        neighbour[place] = 1 - neighbour[place]
        here, there = to_nodes @ stream, to_nodes @ neighbour
        outputs = here + rng.laplace(0, tree.node_scale, (200, horizon))
        outputs = np.vstack([outputs, np.minimum(here, there) - 1, np.maximum(here, there) + 1])
        law = stats.laplace(scale=tree.node_scale)
        ratios = (law.logpdf(outputs - here) - law.logpdf(outputs - there)).sum(axis=1)
        worst = max(worst, np.abs(ratios).max())
    assert epsilon * 0.99 < worst <= epsilon * (1 + 1e-12)


@given(st.integers(1, 300))
def test_an_element_lies_in_at_most_as_many_blocks_as_levels_and_the_first_in_all(horizon):
    lies_in = np.zeros(horizon + 1, dtype=int)
    for end in range(1, horizon + 1):
        lies_in[end - (end & -end) + 1 : end + 1] += 1
    assert lies_in[1] == lies_in.max() == BinaryTree(1.0, horizon).levels


@given(st.integers(1, 2**62))
def test_levels(horizon):
    levels = BinaryTree(1.0, horizon).levels
    assert 2 ** (levels - 1) <= horizon < 2**levels


def test_noise_is_drawn_anew_and_kept_with_the_real_generator():
    tree = BinaryTree(0.5, 100)
    counter = tree.counter(np.random.default_rng(5))
    twin = np.random.default_rng(5)
    noises = [0.0]
    for n in range(1, 101):
        noises.append(laplace(twin, tree.node_scale))
        expected = n * 0.5 + sum(noises[end] for end in reversed(blocks_of_prefix(n)))
        assert counter.add(0.5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("x", [-0.1, 1.1, math.nan, math.inf])
def test_a_counter_refuses_elements_outside_its_range(x, rng):
    counter = BinaryTree(1.0, 3).counter(rng)
    with pytest.raises(ValueError, match=r"x=.* allowed: \[0, 1\]"):
        counter.add(x)
    assert counter.add(1.0) != 1.0, "a refused element is not counted"


def test_a_counter_refuses_more_than_its_horizon(rng):
    counter = BinaryTree(math.inf, 2).counter(rng)
    assert [counter.add(1.0), counter.add(1.0)] == [1.0, 2.0]
    with pytest.raises(ValueError, match="horizon=2"):
        counter.add(1.0)


@pytest.mark.statistical
@pytest.mark.parametrize("beta", [0.3, 0.05, 0.005])
@pytest.mark.parametrize("horizon", [1, 7, 1023])
def test_error_quantile_is_exceeded_no_more_often_than_beta(rng, horizon, beta):
    """At the prefix of length 2^L - 1, whose noise has all L variables."""
    tree, size = BinaryTree(0.5, horizon), 20_000
    errors = np.abs(rng.laplace(0, tree.node_scale, (size, tree.levels)).sum(axis=1))
    quantile = tree.error_quantile(beta)
    assert may_be_at_most(int((errors > quantile).sum()), size, beta)
    # Control: the quantile is within a factor 6 of the true one.
    assert not may_be_at_most(int((errors > quantile / 6).sum()), size, beta)


@pytest.mark.statistical
def test_the_counters_own_errors_stay_within_the_quantile(rng):
    tree, size = BinaryTree(2.0, 15), 3000
    errors = []
    for _ in range(size):
        counter = tree.counter(rng)
        errors.append(abs([counter.add(1.0) for _ in range(15)][-1] - 15))
    beyond = int((np.array(errors) > tree.error_quantile(0.2)).sum())
    assert may_be_at_most(beyond, size, 0.2)
    # Four Laplace variables, no more and no fewer: the mean square is 4·2b².
    rate = float(np.mean(np.square(errors)) / (8 * tree.node_scale**2))
    assert 0.8 < rate < 1.25
    assert clopper_pearson(beyond, size)[0] > 0, "the test has something to see"


@given(st.floats(1e-3, 100), st.integers(1, 2**62), st.floats(1e-60, 0.999))
def test_error_probability_inverts_the_quantile(epsilon, horizon, beta):
    tree = BinaryTree(epsilon, horizon)
    assert tree.error_probability(tree.error_quantile(beta)) == pytest.approx(beta, rel=1e-9)


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_error_probability_falls_from_one(threshold, more):
    tree = BinaryTree(1.0, 1000)
    assert tree.error_probability(0.0) == 1.0
    assert 0 <= tree.error_probability(threshold + more) <= tree.error_probability(threshold) <= 1


def test_without_noise_there_is_no_error():
    tree = BinaryTree(math.inf, 1000)
    assert tree.node_scale == tree.error_quantile(1e-9) == tree.error_probability(0.0) == 0
    assert not tree.guarantee.is_private


def test_the_logarithm_of_the_laplace_law_is_that_of_the_law():
    x = np.linspace(-30, 30, 61)
    for scale in (0.5, 1.0, 3.0):
        expected = [laplace_cdf(value, scale) for value in x]
        np.testing.assert_allclose(np.exp(laplace_log_cdf(x, scale)), expected, rtol=1e-13)
        np.testing.assert_allclose(laplace_log_cdf(x, scale), stats.laplace.logcdf(x, 0, scale))
    assert laplace_log_cdf(-1e4).item() == -1e4 + np.log(0.5)
