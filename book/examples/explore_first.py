"""Explore first: m pulls of each arm, one noisy release, then the arm that looks best."""

from dataclasses import dataclass

import numpy as np

import dpbandits as dpb
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import Play, RegretAlgorithm


@dataclass(frozen=True)
class ExploreFirst(RegretAlgorithm):
    """Pull each arm `m` times, release the sums with Laplace noise, commit to the largest."""

    label = "explore first"
    source = "tutorial"
    epsilon: float
    m: int = 100

    @property
    def guarantee(self):
        return dpb.PrivacyGuarantee("global", self.epsilon)

    def play(self, instance, horizon, checkpoints, rng):
        rewards, arms = instance.rewards(rng), np.arange(instance.n_arms)
        m = min(self.m, horizon // arms.size)
        sums = [rewards.total(arm, m) for arm in range(arms.size)]
        best = int(np.argmax(sums + laplace_noise(rng, 1 / self.epsilon, arms.size)))
        counts = np.clip(checkpoints[:, None] - m * arms, 0, m)
        counts[:, best] += np.maximum(checkpoints - m * arms.size, 0)
        return Play(counts, np.array([m * arms.size]))

    def regret_bound(self, instance, horizon, times=None):
        m, gap = min(self.m, horizon // instance.n_arms), instance.gaps
        miss = np.exp(-m * gap**2 / 4) + np.exp(-self.epsilon * m * gap / 4)
        return float((gap * (m + horizon * np.minimum(miss, 1))).sum())
