"""DP-UCB: the constants of its six variants, what plays it, and its limit without privacy.

The law of the kernels themselves is tested with the kernels.
"""

import collections
import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from shadow import play_pull_by_pull

import dpbandits as dpb
from dpbandits._engine.accelerators.skipping import skip_and_tally
from dpbandits.mechanisms import KaryTree, best_arity, laplace_sum_error
from dpbandits.regret.dp_ucb import DPUCB_VARIANTS, KARY

CLOSED = ("tree-tight", "mishra-thakurta-parallel", "mishra-thakurta")
POWERS = st.one_of(st.just(1.0), st.just(4), st.floats(1e-3, 1e5))


def table(variant, n_arms, horizon, epsilon, power=1.0):
    """Node scale and γ as the specification's table states them, δ = β = T^(−power)."""
    K, T = n_arms, horizon
    levels = math.floor(math.log2(T)) + 1
    if variant == "tree-tight":
        ell = math.log(2 * K * T) + power * math.log(T)
        gamma = (levels / epsilon) * math.sqrt(8) * ell**0.5 * max(levels, ell) ** 0.5
        return levels / epsilon, gamma
    log_term = math.log(K * T * math.log(T)) + power * math.log(T)
    gamma = math.log(T) ** 2 * log_term / epsilon
    if variant == "mishra-thakurta":
        return K * levels / epsilon, K * gamma
    return levels / epsilon, gamma


@given(
    st.sampled_from(CLOSED),
    st.integers(2, 40),
    st.integers(3, 10**12),
    st.floats(1e-3, 1e3),
    POWERS,
)
def test_constants_of_the_variants(variant, n_arms, horizon, epsilon, power):
    algorithm = dpb.DPUCB(epsilon, variant, failure_power=power)
    scale, gamma = table(variant, n_arms, horizon, epsilon, power)
    assert algorithm.node_scale(n_arms, horizon) == pytest.approx(scale, rel=1e-12)
    assert algorithm.gamma(n_arms, horizon) == pytest.approx(gamma, rel=1e-12)


@given(
    *(st.integers(1, 40), st.integers(1, 3000), st.floats(1e-3, 1e3)),
    st.one_of(st.just(1.0), st.floats(1e-6, 40)),
)
def test_the_exact_width_is_the_least_that_keeps_the_guarantee(K, T, epsilon, power):
    """By the tails of all n ≤ T, added up one by one; and the quantile is that of all levels."""
    exact, quantile = (dpb.DPUCB(epsilon, v, power) for v in ("tree-exact", "tree-quantile"))
    tree, gamma = exact.tree(K, T), exact.gamma(K, T)
    prefixes = collections.Counter(n.bit_count() for n in range(1, T + 1))

    def failure(width, prefixes=prefixes):
        tails = (laplace_sum_error(width, (m,), (tree.node_scale,)) for m in prefixes)
        return K * sum(n * tail for n, tail in zip(prefixes.values(), tails, strict=True))

    assert failure(gamma) <= T**-power * (1 + 1e-11)
    assert failure(gamma * (1 - 1e-8)) > T**-power or gamma == 0
    assert K * tree.union_error(gamma) == pytest.approx(failure(gamma), rel=1e-9)
    worst = failure(quantile.gamma(K, T), {tree.levels: T})
    assert worst == pytest.approx(T**-power, rel=1e-6)


@given(st.integers(1, 40), st.integers(1, 1500), st.floats(1e-3, 1e3), st.floats(1e-6, 9))
def test_the_width_of_kary_trees_is_the_least_by_the_same_sum(K, T, epsilon, power):
    algorithm = dpb.DPUCB(epsilon, KARY, power)
    tree, gamma = algorithm.tree(K, T), algorithm.gamma(K, T)
    assert tree == KaryTree(epsilon, T, best_arity(T))
    sizes = collections.Counter(sum(map(abs, tree.digits(n))) for n in range(1, T + 1))

    def failure(width):
        tails = (laplace_sum_error(width, (m,), (tree.node_scale,)) for m in sizes)
        return K * sum(n * tail for n, tail in zip(sizes.values(), tails, strict=True))

    assert failure(gamma) <= T**-power * (1 + 1e-11)
    assert failure(gamma * (1 - 1e-8)) > T**-power or gamma == 0


@pytest.mark.parametrize("horizon", [10**3, 10**5, 5 * 10**7, 10**12])
def test_kary_trees_have_a_much_smaller_width(horizon):
    kary, binary = (dpb.DPUCB(0.5, each).gamma(5, horizon) for each in (KARY, "tree-exact"))
    assert kary < 0.4 * binary


def test_kary_trees_are_private_but_not_calibrated():
    algorithm = dpb.DPUCB(0.5, KARY)
    assert algorithm.guarantee.epsilon == algorithm.tree(5, 1000).guarantee.epsilon == 0.5
    with pytest.raises(ValueError, match="variant='kary-exact' is unknown"):
        dpb.DPUCB.calibrated(0.5, 1e-4, 1000, KARY)
    instance = dpb.instances.bernoulli([0.9, 0.2, 0.1])
    runs = dpb.simulate(dpb.DPUCB(20.0, KARY), instance, 5000, n_runs=30, seed=0)
    assert runs.mean()[-1] < runs.algorithm.regret_bound(instance, 5000)
    free = dpb.DPUCB(math.inf, KARY)
    assert free.gamma(3, 5000) == 0.0 and math.isfinite(free.regret_bound(instance, 5000))
    draws = [
        a.draw(instance, 5000, np.array([5000]), np.random.default_rng(2)).counts
        for a in (free, dpb.UCB())
    ]
    assert np.array_equal(*draws)


def chance_of_an_error(threshold, horizon, step=0.02):
    """P(noise > threshold at some n ≤ T) of one tree of scale 1, from its branching and no tail.

    ``fails[j]`` holds, on a grid of rooms, the probability that some leaf of 2^j uses up the room:
    those of the right half have one more node in common.
    """
    rooms = step * np.arange(-round(60 / step), round(threshold / step) + round(60 / step))
    q = math.exp(-step)

    def behind_a_node(fail):
        left = scipy.signal.lfilter([1], [1, -q], fail, zi=[q / (1 - q)])[0]
        right = scipy.signal.lfilter([1], [1, -q], fail[::-1])[::-1]
        return (1 - q) / (1 + q) * (left + right - fail)

    fails = [(rooms < 0).astype(float)]
    for _ in range(horizon.bit_length()):
        fails.append(fails[-1] + (1 - fails[-1]) * behind_a_node(fails[-1]))

    def some(leaves, level):
        if leaves == 2**level:
            return fails[level]
        half = 2 ** (level - 1)
        if leaves <= half:
            return some(leaves, level - 1)
        return fails[level - 1] + (1 - fails[level - 1]) * behind_a_node(
            some(leaves - half, level - 1)
        )

    chance = some(horizon + 1, (horizon + 1).bit_length())
    return float(np.exp(np.interp(threshold, rooms, np.log(chance))))


def test_no_width_that_keeps_the_guarantee_is_much_smaller():
    """The noises of all n are dependent: 2 % below the sum of their tails, they fail too often."""
    n_arms, horizon = 5, 50_000_000
    algorithm = dpb.DPUCB(1.0, "tree-exact")
    width = algorithm.gamma(n_arms, horizon) / algorithm.node_scale(n_arms, horizon)
    kept, broken = (chance_of_an_error(share * width, horizon) for share in (1, 0.98))
    assert kept < 1 / (2 * n_arms * horizon) < broken


@given(st.integers(1, 40), st.integers(1, 10**12), POWERS)
def test_each_width_is_below_the_next(K, T, power):
    widths = [dpb.DPUCB(1.0, variant, power).gamma(K, T) for variant in DPUCB_VARIANTS[:3]]
    assert widths == sorted(widths)


@given(st.integers(2, 40), st.integers(2, 10**12), st.one_of(st.just(1.0), st.floats(0.5, 5)))
def test_the_failure_power_is_that_of_the_failure(K, T, power):
    algorithm = dpb.DPUCB(1.0, failure_power=power)
    one_prefix = algorithm.tree(K, T).error_probability(algorithm.gamma(K, T))
    assert K * T * one_prefix == pytest.approx(T**-power, rel=1e-6)


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_no_variant_promises_more_than_its_trees_give(variant):
    """An arm's tree has at most the declared budget; the arms' streams are disjoint."""
    algorithm = dpb.DPUCB(0.5, variant)
    tree = algorithm.tree(5, 1000)
    assert tree.guarantee.epsilon <= algorithm.guarantee.epsilon == 0.5
    assert tree.epsilon == (0.1 if variant == "mishra-thakurta" else 0.5)
    assert tree.levels / tree.node_scale == pytest.approx(tree.epsilon)


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_the_constants_reach_the_kernel(variant):
    """The constants are those of the horizon that is told, not of the last checkpoint."""
    instance, times = dpb.instances.bernoulli([0.3, 0.9]), np.array([10, 3000])
    kernels = play_pull_by_pull, lambda *arguments: skip_and_tally(*arguments)[0]
    algorithm = dpb.DPUCB(20.0, variant)
    for how, kernel in zip(("pull by pull", "skipping"), kernels, strict=True):
        play = algorithm.draw(instance, 10**6, times, np.random.default_rng(0), how)
        constants = algorithm.node_scale(2, 10**6), algorithm.gamma(2, 10**6)
        expected = kernel(instance.means, *constants, times, np.random.default_rng(0))
        assert np.array_equal(play.counts, expected)
        other = kernel(instance.means, constants[0], 0.0, times, np.random.default_rng(0))
        assert not np.array_equal(other, expected), "control"
