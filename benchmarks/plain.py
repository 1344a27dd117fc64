"""The same policies as one would first write them: a Python loop over pulls, NumPy over arms.

`mabwiser_ucb1` plays UCB1 of MABWiser through its public interface, one ``predict`` and one
``partial_fit`` a pull. Its ``Simulator`` does not apply: it replays a log of decisions and learns
from the logged ones, so that the pulls of the policy itself have no influence on what it sees.
"""

import math

import numpy as np

from dpbandits.schedules import elimination_epoch


def numpy_ucb1(means, horizon, rng):
    """UCB1: the index is mean + √(2 log t/n)."""
    pulls, rewards = np.zeros(means.size, np.int64), np.zeros(means.size)
    for t in range(1, horizon + 1):
        if t <= means.size:
            arm = t - 1
        else:
            arm = int(np.argmax(rewards / pulls + np.sqrt(2 * math.log(t) / pulls)))
        pulls[arm] += 1
        rewards[arm] += rng.random() < means[arm]
    return pulls


def numpy_dp_ucb(means, horizon, rng, node_scale, gamma):
    """DP-UCB: as UCB1, with a binary-tree counter per arm."""
    pulls, rewards = np.zeros(means.size, np.int64), np.zeros(means.size)
    nodes = np.zeros((means.size, horizon.bit_length()))
    noise = np.zeros(means.size)
    for t in range(1, horizon + 1):
        if t <= means.size:
            arm = t - 1
        else:
            private_means = (rewards + noise + gamma) / pulls
            arm = int(np.argmax(private_means + np.sqrt(2 * math.log(t) / pulls)))
        pulls[arm] += 1
        rewards[arm] += rng.random() < means[arm]
        n = int(pulls[arm])
        level = (n & -n).bit_length() - 1
        nodes[arm, :level] = 0.0
        nodes[arm, level] = rng.laplace(0.0, node_scale)
        noise[arm] = nodes[arm].sum()
    return pulls


def numpy_dp_se(means, horizon, rng, epsilon):
    """DP successive elimination, with every single reward drawn."""
    pulls = np.zeros(means.size, np.int64)
    viable, epoch, t = list(range(means.size)), 0, 0
    while t < horizon:
        if len(viable) == 1:
            for _ in range(horizon - t):
                pulls[viable[0]] += 1
                rng.random()
            return pulls
        epoch += 1
        plan = elimination_epoch(len(viable), epoch, 1 / horizon, epsilon)
        totals = np.zeros(means.size)
        for _ in range(plan.pulls):
            for arm in viable:
                if t == horizon:
                    return pulls
                t += 1
                pulls[arm] += 1
                totals[arm] += rng.random() < means[arm]
        released = totals / plan.pulls + rng.laplace(0.0, plan.noise_scale, means.size)
        best = max(released[arm] for arm in viable)
        viable = [arm for arm in viable if best - released[arm] <= plan.threshold]
    return pulls


def mabwiser_ucb1(means, horizon, rng):
    """UCB1 of MABWiser, which is told each reward as it comes."""
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(means.size))
    bandit = MAB(arms=arms, learning_policy=LearningPolicy.UCB1(alpha=1.0))
    bandit.fit(decisions=arms, rewards=[int(rng.random() < mean) for mean in means])
    pulls = np.ones(means.size, np.int64)
    for _ in range(horizon - means.size):
        arm = bandit.predict()
        bandit.partial_fit(decisions=[arm], rewards=[int(rng.random() < means[arm])])
        pulls[arm] += 1
    return pulls
