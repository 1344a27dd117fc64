"""LDP-UCB: UCB on rewards with Laplace noise on each, the baseline of counters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits._engine.kernels import interpreted
from dpbandits.configuration import Budget
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import noisy_mean_width

__all__ = ["LDPUCB"]

_laplace = interpreted(laplace)  # the compiled one is slow to accept a generator


@dataclass(frozen=True)
class LDPUCB(RegretAlgorithm):
    """LDP-UCB: UCB on rewards with Laplace noise on each, after Ren, Zhou, Liu & Shroff (2020).

    Each reward is released once, with a Laplace variable of scale b = 1/ε. The patient may add it,
    so that nobody needs to be trusted: the model is local, which is stricter than that of the
    counters of `DPUCB`, `DPUCBBound` and `DPUCBHybrid`. Every arm is pulled once first; then at
    time t the arm with the largest

        (sum of its n released rewards)/n + w(b, 4 log t, n)

    is played, with w of `noisy_mean_width`; ties go to the lowest arm number. The horizon is not
    used. The bound on the regret is `ldp_ucb_regret`. Proof: :prf:ref:`thm-ldp-ucb`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of each reward; ``inf`` gives `UCB`.

    Notes
    -----
    We do not have the paper; the width is derived here. It is Chernoff's bound for the mean of n
    rewards and n Laplace variables, at an explicit tilt, and about √(2(1 + 8/ε²) log t/n) for large
    n. With ε = ∞ it is √(2 log t/n).

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.LDPUCB(epsilon=1.0).guarantee.model
    'local'
    >>> runs = dpb.simulate(dpb.LDPUCB(epsilon=1.0), dpb.instances.td16("two"), 10**4, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('pull by pull', [10000, 10000])
    """

    label: ClassVar[str] = "LDP-UCB"
    source: ClassVar[str] = "after Ren, Zhou, Liu & Shroff 2020"

    epsilon: Budget

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of each released reward, and so of the pulls."""
        return PrivacyGuarantee("local", self.epsilon)

    @property
    def noise_scale(self) -> float:
        """Scale b = 1/ε of the noise of a reward."""
        return 1 / self.epsilon

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, scale = rewards.n_arms, self.noise_scale
        pulls, sums = np.zeros((2, n_arms))  # the sums are of released rewards
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                index = sums / pulls + noisy_mean_width(scale, 4 * math.log(t), pulls)
                arm = int(np.argmax(index))
            sums[arm] += rewards.total(arm, 1) + _laplace(rng, scale)
            pulls[arm] += 1

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.ldp_ucb_regret, instance.gaps, horizon, noise_scale=self.noise_scale)
