"""DP-UCB: the constants of its three variants, its engines, and its limit without privacy.

The law of the kernels themselves is tested with the kernels.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits.regret import skipping
from dpbandits.regret.dp_ucb import DPUCB_VARIANTS, ENGINES
from dpbandits.regret.per_step import IndexPolicy


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
    st.sampled_from(DPUCB_VARIANTS),
    st.integers(2, 40),
    st.integers(3, 10**12),
    st.floats(1e-3, 1e3),
    st.one_of(st.just(1.0), st.just(4), st.floats(1e-3, 1e5)),
)
def test_constants_of_the_variants(variant, n_arms, horizon, epsilon, power):
    algorithm = dpb.DPUCB(epsilon, variant, failure_power=power)
    scale, gamma = table(variant, n_arms, horizon, epsilon, power)
    assert algorithm.node_scale(n_arms, horizon) == pytest.approx(scale, rel=1e-12)
    assert algorithm.gamma(n_arms, horizon) == pytest.approx(gamma, rel=1e-12)


@given(st.integers(2, 40), st.integers(2, 10**12), st.one_of(st.just(1.0), st.floats(0.5, 5)))
def test_the_failure_power_is_that_of_the_failure(K, T, power):
    algorithm = dpb.DPUCB(1.0, failure_power=power)
    one_prefix = algorithm.tree(K, T).error_probability(algorithm.gamma(K, T))
    assert K * T * one_prefix == pytest.approx(T**-power, rel=1e-6)


def test_a_smaller_chance_of_failure_costs_regret_and_its_bound_says_so():
    instance = dpb.instances.td16("two")
    for variant in DPUCB_VARIANTS:
        usual, rare = (dpb.DPUCB(1.0, variant, "per-step", power) for power in (1.0, 4.0))
        low, high = (dpb.simulate(a, instance, 20_000, n_runs=4) for a in (usual, rare))
        assert high.regret[:, -1].min() > low.regret[:, -1].max()
        assert rare.regret_bound(instance, 10**9) > usual.regret_bound(instance, 10**9)
        assert rare.guarantee == usual.guarantee


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_no_variant_promises_more_than_its_trees_give(variant):
    """An arm's tree has at most the declared budget; the arms' streams are disjoint."""
    algorithm = dpb.DPUCB(0.5, variant)
    tree = algorithm.tree(5, 1000)
    assert tree.guarantee.epsilon <= algorithm.guarantee.epsilon == 0.5
    assert tree.epsilon == (0.1 if variant == "mishra-thakurta" else 0.5)
    assert tree.levels / tree.node_scale == pytest.approx(tree.epsilon)


@pytest.fixture
def kernels(monkeypatch):
    """Record which kernel is called, and with what."""
    calls = []

    def by_skips(policy, means, checkpoints, rng, max_skips):
        assert policy == IndexPolicy(policy.scale, policy.gamma)
        calls.append(("skipping", means.tolist(), policy.scale, policy.gamma))
        return np.outer(checkpoints, [1, 0]), None

    def per_step(policy, rewards, checkpoints, rng):
        assert policy == IndexPolicy(policy.scale, policy.gamma)
        calls.append(("per-step", rewards.means.tolist(), policy.scale, policy.gamma))
        return np.outer(checkpoints, [1, 0])

    monkeypatch.setattr(skipping, "_skips", by_skips)
    monkeypatch.setattr(skipping, "play_index_policy", per_step)
    return calls


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_and_the_constants_reach_the_kernel(kernels, engine):
    instance = dpb.instances.bernoulli([0.3, 0.9])
    rng, times = np.random.default_rng(0), np.array([10, 1000])
    algorithm = dpb.DPUCB(0.5, "mishra-thakurta", engine)
    play = algorithm.play(instance, 5000, times, rng)
    assert play.counts.tolist() == [[10, 0], [1000, 0]] and play.epoch_ends.size == 0
    dpb.UCB(engine).play(instance, 5000, times, rng)
    # The constants are those of the horizon that the algorithm is told, not of the last checkpoint.
    scale, gamma = algorithm.node_scale(2, 5000), algorithm.gamma(2, 5000)
    assert kernels == [(engine, [0.3, 0.9], scale, gamma), (engine, [0.3, 0.9], 0.0, 0.0)]
    assert dpb.UCB().engine == dpb.DPUCB(1.0).engine == "skipping"


def test_the_split_of_the_budget_costs_regret():
    """Per-arm budgets of ε/K instead of ε: more pulls of bad arms, as the bound says."""
    instance = dpb.instances.bernoulli([0.9, 0.1, 0.1])
    split, whole = (
        dpb.simulate(dpb.DPUCB(5.0, variant, "per-step"), instance, 20_000, n_runs=4)
        for variant in ("mishra-thakurta", "mishra-thakurta-parallel")
    )
    assert split.regret[:, -1].min() > whole.regret[:, -1].max()
