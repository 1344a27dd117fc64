"""Explore first: m pulls of each arm, one noisy release, then the arm that looks best."""

from dataclasses import dataclass

import numpy as np

import dpbandits as dpb
from dpbandits.mechanisms import laplace_noise


@dataclass(frozen=True)
class ExploreFirst(dpb.RegretAlgorithm):
    """Pull each arm `m` times, release the sums with Laplace noise, commit to the largest."""

    label = "explore first"
    source = "tutorial"
    epsilon: float
    m: int = 100

    @property
    def guarantee(self):
        return dpb.PrivacyGuarantee("central", self.epsilon)

    def play(self, rewards, horizon, rng):
        n_arms = rewards.n_arms
        m = min(self.m, horizon // n_arms)
        sums = [rewards.total(arm, m) for arm in range(n_arms)]
        noisy = sums + laplace_noise(rng, 1 / self.epsilon, n_arms)
        rewards.commit(int(np.argmax(noisy)))

    def regret_bound(self, instance, horizon, times=None):
        m, gap = min(self.m, horizon // instance.n_arms), instance.gaps
        miss = np.exp(-m * gap**2 / 4) + np.exp(-self.epsilon * m * gap / 4)
        t = np.asarray(horizon if times is None else times)[..., None]
        return (gap * (m + t * np.minimum(miss, 1))).sum(axis=-1)
