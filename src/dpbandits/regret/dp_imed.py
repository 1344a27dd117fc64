"""DP-IMED: IMED on cumulated lazy batches (Azize, Wu, Honda, Orabona, Ito & Basu 2025)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Flag
from dpbandits.divergences import calibrated_plus_kernel
from dpbandits.regret.lazy import Eta, LazyBatches, draw_laplace
from dpbandits.rewards.run import Run
from dpbandits.schedules import next_release

__all__ = ["DPIMED"]


@dataclass(frozen=True)
class DPIMED(LazyBatches):
    """DP-IMED: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    Pseudo-code: :prf:ref:`alg-lazy`.

    The pulls of an arm at the ends of its batches are the grid ⌈(1 + η)^j⌉, and released sums
    accumulate: after k batches its estimate is the mean of n rewards and k Laplace variables of
    scale 1/ε. First each arm in turn has a batch of one pull. Then, with y an arm's estimate moved
    into [0, 1], the arm with the least

        n·d̃⁺(y, max y, k/n) + log n

    is played for its next batch; ties go to the lowest arm number. A batch cut short by the horizon
    is not released. The pulls are ε-private (:prf:ref:`thm-lazy-private`). Bound on the regret:
    `dp_imed_regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    eta : float
        Growth η of the pulls from batch to batch, from 0.05 to 100: 1 doubles.
    calibrated : bool
        Whether the evidence is d̃⁺, the Chernoff rate of such an estimate, rather than its limit
        d_ε.

    Notes
    -----
    Two points may differ in the paper:

    - The means are moved into [0, 1]. Noise of −z in a mean has probability about e^(−εnz) and
      would otherwise keep the arm from being played for about e^(εnz) pulls, for every z.
    - The evidence is calibrated. With d_ε the regret has the same limit, but a constant term that
      grows fast as ε decreases: for n rewards with k ≈ log n Laplace variables, d_ε accounts for
      only one.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPIMED(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "DP-IMED"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"

    epsilon: Budget
    eta: Eta = 0.5
    calibrated: Flag = True

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        sums, pulls, noises = np.zeros((3, n_arms))  # the sums are private
        for batch in itertools.count():
            if batch < n_arms:
                arm = batch
            else:
                means = np.clip(sums / pulls, 0.0, 1.0)
                best = means.max()
                ratios = noises / pulls if self.calibrated else 0.0 * pulls  # d̃⁺(y, q, 0) is d_ε
                index = [
                    n * calibrated_plus_kernel(y, best, ratio, self.epsilon) + math.log(n)
                    for y, n, ratio in zip(means, pulls, ratios, strict=True)
                ]
                arm = int(np.argmin(index))
            size = next_release(int(pulls[arm]), self.eta) - int(pulls[arm])
            sums[arm] += rewards.total(arm, size) + draw_laplace(rng, 1 / self.epsilon)
            pulls[arm] += size
            noises[arm] += 1

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.dp_imed_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            eta=self.eta,
            calibrated=self.calibrated,
        )
