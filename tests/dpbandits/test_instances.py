"""Bernoulli instances: the papers' numbers, gaps, ties, and the laws of rewards and sums."""

import inspect
import pickle
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from statistical import clopper_pearson, same_law

from dpbandits.rewards import instances, laws
from dpbandits.rewards.sources import Arms


@pytest.mark.parametrize("n_arms", [3, 5, 10, 20])
@pytest.mark.parametrize("name", instances.SS19_NAMES)
def test_shapes_of_ss19(name, n_arms):
    """SS19 §5: "linear", a(i − K)² + c and a(i − 1)² + c through (1, 0.75) and (K, 0.25)."""
    i = np.arange(1, n_arms + 1)
    if name == "C1":
        expected = np.where(i == 1, 0.75, 0.7)
    elif name == "C2":
        expected = np.linspace(0.75, 0.25, n_arms)
    else:
        centre = n_arms if name == "C3" else 1
        matrix = np.array([[(1 - centre) ** 2, 1], [(n_arms - centre) ** 2, 1]])
        a, c = np.linalg.solve(matrix, [0.75, 0.25])
        assert (a > 0) == (name == "C3"), "C3 is convex, C4 concave"
        expected = a * (i - centre) ** 2 + c
    instance = instances.ss19(name, n_arms)
    np.testing.assert_allclose(instance.means, expected, rtol=0, atol=1e-15)
    assert instance.means[0] == 0.75 and (instance == instances.ss19(name)) == (n_arms == 5)


def test_what_is_called_an_instance_is_one():
    """The laws of single rewards are in `dpbandits.laws`."""
    for name in instances.__all__:
        public = getattr(instances, name)
        if callable(public):
            built = public if inspect.isclass(public) else get_type_hints(public)["return"]
            assert issubclass(built, Arms), name
    assert not issubclass(get_type_hints(laws.two_point)["return"], Arms)


def test_the_instances_of_tossou_and_dimitrakakis():
    """The caption of Figure 2: {0.9, 0.6} and {0.1 … 0.2, 0.55, 0.1 …}."""
    assert instances.td16("two").mean_rewards == (0.9, 0.6)
    ten = instances.td16("ten")
    assert sorted(ten.mean_rewards) == [0.1] * 8 + [0.2, 0.55]
    assert ten.best_arm == ten.mean_rewards.index(0.2) + 1 == 5
    assert [instances.td16(name).n_arms for name in instances.TD16_NAMES] == [2, 10]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
@example([0.2, 0.7, 0.7])
def test_gaps_and_best_arm(means):
    instance = instances.bernoulli(means)
    assert instance.n_arms == len(means) and instance.means.tolist() == means
    assert instance.best_arm == means.index(max(means)), "the lowest number among ties"
    np.testing.assert_array_equal(instance.gaps, max(means) - np.array(means))
    for array in (instance.means, instance.gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("means", [[0.25, 0.5], (0.25, 0.5), np.array([0.25, 0.5])], ids=type)
def test_any_sequence_gives_the_same_hashable_instance(means):
    instance = instances.bernoulli(means)
    assert instance == instances.BernoulliInstance((0.25, 0.5))
    assert len({instance, instances.BernoulliInstance(means)}) == 1
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert eval(repr(instance), vars(instances)) == instance


@pytest.mark.statistical
def test_rewards_have_their_arms_mean(rng):
    """Control: another arm's mean."""
    instance, size = instances.ss19("C4"), 20_000
    for arm, mean in enumerate(instance.means):
        sample = instance.sample(rng, arm, size)
        assert sample.shape == (size,) and set(sample.tolist()) == {0.0, 1.0}
        low, high = clopper_pearson(int(sample.sum()), size, share=1 / instance.n_arms)
        assert low <= mean <= high and not low <= instance.means[arm - 1] <= high
    certain = instances.bernoulli([0.0, 1.0])
    assert certain.sample(rng, 0, 1000).max() == 0 and certain.sample(rng, 1, 1000).min() == 1
    assert [certain.rewards(rng).total(arm, 10**15) for arm in (1, 0)] == [10**15, 0]
    assert certain.sample(rng, 0).shape == ()


@pytest.mark.statistical
def test_sums_are_binomial(rng):
    """Of 6 rewards, against NumPy's. Control: a mean that is 0.03 higher."""
    rewards = instances.bernoulli([0.3, 0.6]).rewards(rng)
    sums = np.array([[rewards.total(arm, 6) for arm in (0, 1)] for _ in range(20_000)]).T
    for column, mean in zip(sums, (0.3, 0.6), strict=True):
        assert same_law(column, rng.binomial(6, mean, column.size), 1 / 2)
        assert not same_law(column, rng.binomial(6, mean + 0.03, column.size), 1 / 2), "control"
    assert abs(np.corrcoef(sums)[0, 1]) < 0.1, "independent arms: 14 standard errors"
