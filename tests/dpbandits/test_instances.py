"""Instances: the paper's numbers, gaps, ties, and the laws of rewards and of their sums."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistical import FALSE_ALARM, clopper_pearson

from dpbandits.rewards import instances

# SS19 §5, worked out by hand from "linear", a(i - K)^2 + c and a(i - 1)^2 + c.
PAPER = {
    ("C1", 3): [0.75, 0.7, 0.7],
    ("C1", 5): [0.75, 0.7, 0.7, 0.7, 0.7],
    ("C2", 3): [0.75, 0.5, 0.25],
    ("C2", 5): [0.75, 0.625, 0.5, 0.375, 0.25],
    ("C3", 3): [0.75, 0.375, 0.25],
    ("C3", 5): [0.75, 0.53125, 0.375, 0.28125, 0.25],
    ("C4", 3): [0.75, 0.625, 0.25],
    ("C4", 5): [0.75, 0.71875, 0.625, 0.46875, 0.25],
}


@pytest.mark.parametrize(("name", "n_arms"), PAPER)
def test_means_of_the_paper(name, n_arms):
    assert instances.ss19(name, n_arms).means.tolist() == PAPER[name, n_arms]


@pytest.mark.parametrize("n_arms", [3, 5, 10, 20])
@pytest.mark.parametrize("name", instances.SS19_NAMES)
def test_shapes_of_the_paper(name, n_arms):
    i = np.arange(1, n_arms + 1)
    means = instances.ss19(name, n_arms).means
    if name == "C1":
        expected = np.where(i == 1, 0.75, 0.7)
    elif name == "C2":
        expected = np.linspace(0.75, 0.25, n_arms)
    else:
        # The parabola a(i - centre)^2 + c through (1, 0.75) and (K, 0.25), solved for a and c.
        centre = n_arms if name == "C3" else 1
        matrix = np.array([[(1 - centre) ** 2, 1], [(n_arms - centre) ** 2, 1]])
        a, c = np.linalg.solve(matrix, [0.75, 0.25])
        assert (a > 0) == (name == "C3"), "C3 is convex, C4 concave"
        expected = a * (i - centre) ** 2 + c
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-15)
    assert means[0] == 0.75 and means.size == n_arms


def test_default_number_of_arms_is_the_papers_main_case():
    assert instances.ss19("C3") == instances.ss19("C3", n_arms=5)


def test_the_instances_of_tossou_and_dimitrakakis():
    """The caption of Figure 2: {0.9, 0.6} and {0.1 … 0.2, 0.55, 0.1 …}."""
    assert instances.td16("two").mean_rewards == (0.9, 0.6)
    ten = instances.td16("ten")
    assert sorted(ten.mean_rewards) == [0.1] * 8 + [0.2, 0.55]
    assert ten.best_arm == ten.mean_rewards.index(0.2) + 1 == 5
    assert [instances.td16(name).n_arms for name in instances.TD16_NAMES] == [2, 10]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_gaps_and_best_arm(means):
    instance = instances.bernoulli(means)
    assert instance.n_arms == len(means)
    assert instance.means.tolist() == means
    best = means.index(max(means))  # the lowest number among ties
    assert instance.best_arm == best
    assert instance.gaps[best] == 0 and np.all(instance.gaps >= 0)
    np.testing.assert_array_equal(instance.gaps, max(means) - np.array(means))


def test_tied_best_arms_have_no_gap():
    instance = instances.bernoulli([0.2, 0.7, 0.7])
    assert instance.best_arm == 1 and instance.gaps.tolist() == [0.49999999999999994, 0.0, 0.0]


@pytest.mark.parametrize("means", [[0.25, 0.5], (0.25, 0.5), np.array([0.25, 0.5])], ids=type)
def test_any_sequence_gives_the_same_hashable_instance(means):
    instance = instances.bernoulli(means)
    assert instance == instances.BernoulliInstance((0.25, 0.5))
    assert len({instance, instances.BernoulliInstance(means)}) == 1
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert eval(repr(instance), vars(instances)) == instance


def test_arrays_are_read_only():
    instance = instances.ss19("C1")
    for array in (instance.means, instance.gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_rewards_are_zero_or_one_in_the_shape_asked_for(rng):
    instance = instances.bernoulli([0.3, 0.6])
    assert instance.sample(rng, 0).shape == ()
    rewards = instance.sample(rng, 1, 100)
    assert rewards.shape == (100,) and set(rewards.tolist()) == {0.0, 1.0}


def test_certain_rewards_are_certain(rng):
    instance = instances.bernoulli([0.0, 1.0])
    assert instance.sample(rng, 0, 1000).max() == 0 and instance.sample(rng, 1, 1000).min() == 1
    assert [instance.rewards(rng).total(arm, 10**15) for arm in (1, 0)] == [10**15, 0]


@pytest.mark.statistical
def test_rewards_have_their_arms_mean(rng):
    instance, size = instances.ss19("C4"), 20_000
    for arm, mean in enumerate(instance.means):
        ones = int(instance.sample(rng, arm, size).sum())
        low, high = clopper_pearson(ones, size, share=1 / instance.n_arms)
        assert low <= mean <= high
        assert not low <= instance.means[arm - 1] <= high  # control: another arm's mean


@pytest.mark.statistical
def test_sums_are_binomial(rng):
    """Pearson's test on all values of a sum of 6: expected counts are above 10, and the limit is
    twice the quantile of the asymptotic law."""
    instance, size, draws = instances.bernoulli([0.3, 0.6]), 6, 20_000
    rewards = instance.rewards(rng)
    sums = np.array([[rewards.total(arm, size) for arm in (1, 0)] for _ in range(draws)])
    limit = 2 * stats.chi2.isf(FALSE_ALARM / 2, df=size)
    for column, mean in ((0, 0.6), (1, 0.3)):
        seen = np.bincount(sums[:, column], minlength=size + 1)

        def statistic(p, seen=seen):
            expected = draws * stats.binom.pmf(np.arange(size + 1), size, p)
            return ((seen - expected) ** 2 / expected).sum()

        assert statistic(mean) < limit
        assert statistic(mean + 0.03) > limit  # control
    assert abs(np.corrcoef(sums.T)[0, 1]) < 0.1  # independent arms: 14 standard errors
