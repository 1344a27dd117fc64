"""The plain kernel against the pseudo-code, written once more in plain Python."""

import math

import numpy as np
import pytest

from dpbandits.regret.per_step import index_leader, play_per_step


def pseudo_code(means, node_scale, gamma, horizon, rng):
    """The arms played at pulls 1..T, with every node of every tree kept under its own name."""
    n_arms = len(means)
    pulls, rewards = [0] * n_arms, [0] * n_arms
    nodes = [{} for _ in range(n_arms)]  # (level, end) -> noise
    played = []

    def prefix_noise(arm):
        n, end, total = pulls[arm], 0, 0.0
        for level in range(n.bit_length() - 1, -1, -1):
            if n >> level & 1:
                end += 2**level
                total += nodes[arm][level, end]
        return total

    for t in range(1, horizon + 1):
        if t <= n_arms:
            arm = t - 1
        else:
            index = [
                (rewards[b] + prefix_noise(b) + gamma) / pulls[b]
                + math.sqrt(2 * math.log(t) / pulls[b])
                for b in range(n_arms)
            ]
            arm = index.index(max(index))
        pulls[arm] += 1
        rewards[arm] += rng.random() < means[arm]
        n = pulls[arm]
        level = (n & -n).bit_length() - 1
        magnitude = node_scale * rng.standard_exponential() if node_scale > 0 else 0.0
        negative = rng.random() < 0.5 if node_scale > 0 else False
        nodes[arm][level, n] = -magnitude if negative else magnitude
        played.append(arm)
    return played


CASES = [
    ([0.7, 0.5], 0.0, 0.0, 3001),
    ([0.7, 0.5, 0.6], 0.0, 4.0, 1500),
    ([0.7, 0.5], 3.0, 10.0, 3000),
    ([0.9, 0.85, 0.8, 0.3, 0.1], 12.0, 200.0, 2500),
    ([1.0, 0.0, 0.5], 2.0, 0.0, 1023),
    ([0.0, 0.0], 1.0, 5.0, 1024),
    ([1.0, 1.0, 1.0], 0.0, 0.0, 1000),
]


@pytest.mark.parametrize(("means", "node_scale", "gamma", "horizon"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_same_numbers_give_the_pulls_of_the_pseudo_code(means, node_scale, gamma, horizon, seed):
    played = pseudo_code(means, node_scale, gamma, horizon, np.random.default_rng(seed))
    counts = play_per_step(
        np.array(means), node_scale, gamma, np.arange(1, horizon + 1), np.random.default_rng(seed)
    )
    expected = np.cumsum(np.eye(len(means), dtype=np.int64)[played], axis=0)
    np.testing.assert_array_equal(counts, expected)


def test_the_comparison_notices_one_forgotten_node():
    """Negative control: a stream that is off by one uniform gives other pulls."""
    means, node_scale, gamma, horizon = CASES[2]
    played = pseudo_code(means, node_scale, gamma, horizon, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    rng.random()
    counts = play_per_step(np.array(means), node_scale, gamma, np.array([horizon]), rng)
    assert counts[0].tolist() != np.bincount(played).tolist()


def test_checkpoints_change_nothing():
    means = np.array([0.6, 0.5, 0.4])
    times = np.array([1, 2, 3, 7, 100, 101, 1000, 2345])
    counts = play_per_step(means, 5.0, 20.0, times, np.random.default_rng(3))
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts.sum(axis=1), times)
    assert counts[:3].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert (np.diff(counts, axis=0) >= 0).all()
    last = play_per_step(means, 5.0, 20.0, times[-1:], np.random.default_rng(3))
    np.testing.assert_array_equal(last[0], counts[-1])


def test_ties_go_to_the_lowest_arm():
    means, widths, roots = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    assert index_leader(means, widths, roots, 1.0, 3.0) == (1, 2.75, 2.75)
    # certain rewards, no noise: the arms stay level and take turns in their order
    counts = play_per_step(np.ones(4), 0.0, 0.0, np.arange(1, 42), np.random.default_rng(0))
    turns = np.diff(np.vstack([np.zeros((1, 4), np.int64), counts]), axis=0).argmax(axis=1)
    np.testing.assert_array_equal(turns, np.arange(41) % 4)


def test_horizon_below_the_number_of_arms_and_one_arm():
    counts = play_per_step(np.full(5, 0.5), 1.0, 1.0, np.array([3]), np.random.default_rng(0))
    assert counts.tolist() == [[1, 1, 1, 0, 0]]
    counts = play_per_step(np.array([0.5]), 1.0, 1.0, np.array([3, 9]), np.random.default_rng(0))
    assert counts.tolist() == [[3], [9]]
