"""DP-KLUCB: KL-UCB on cumulated lazy batches (Azize, Wu, Honda, Orabona, Ito & Basu 2025)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, between
from dpbandits.divergences import calibrated_upper_kernel
from dpbandits.regret.lazy import Eta, LazyBatches, draw_laplace
from dpbandits.rewards.run import Run
from dpbandits.schedules import next_release

__all__ = ["DPKLUCB"]


@dataclass(frozen=True)
class DPKLUCB(LazyBatches):
    """DP-KLUCB: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    Pseudo-code: :prf:ref:`alg-lazy`.

    The pulls of an arm at the ends of its batches are the grid ⌈(1 + η)^j⌉, and released sums
    accumulate: after k batches its estimate is the mean of n rewards and k Laplace variables of
    scale 1/ε. First each arm in turn has a batch of one pull. Then, with y an arm's estimate moved
    into [0, 1] and t the number of the next pull, the arm with the largest

        max {q in [0, 1] : n·d̃⁺(y, q, k/n) ≤ log t + ξ·log(1 + log t)}

    is played for its next batch; ties go to the lowest arm number. A batch cut short by the horizon
    is not released. The pulls are ε-private (:prf:ref:`thm-lazy-private`). Bound on the regret:
    `dp_klucb_regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    eta : float
        Growth η of the pulls from batch to batch, from 0.05 to 100: 1 doubles.
    slack : float
        Factor ξ of the lower-order term of the index, from 0 to 100. The bound's limit requires ξ >
        1.

    Notes
    -----
    d̃⁺ is the Chernoff rate of such an estimate (`calibrated_plus`), which tends to d_ε as k/n → 0.
    Two points may differ in the paper:

    - The paper has d_ε in its index, and lower-order terms that we have replaced by the exact rate.
    - The means are moved into [0, 1]. That brings no index below the true mean that was not below
      it before, and limits the wait due to one noise: without it a mean of −z keeps the arm from
      being played for about e^(εnz) pulls, for every z.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPKLUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "DP-KLUCB"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"

    epsilon: Budget
    eta: Eta = 0.5
    slack: Annotated[float, between(0.0, 100.0)] = 1.1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        sums, pulls, noises = np.zeros((3, n_arms))  # the sums are private
        t = 1
        for batch in itertools.count():
            if batch < n_arms:
                arm = batch
            else:
                level = math.log(t) + self.slack * math.log1p(math.log(t))
                means = np.clip(sums / pulls, 0.0, 1.0)
                index = [
                    calibrated_upper_kernel(y, n, k, self.epsilon, level)
                    for y, n, k in zip(means, pulls, noises, strict=True)
                ]
                arm = int(np.argmax(index))
            size = next_release(int(pulls[arm]), self.eta) - int(pulls[arm])
            sums[arm] += rewards.total(arm, size) + draw_laplace(rng, 1 / self.epsilon)
            pulls[arm] += size
            noises[arm] += 1
            t += size

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.dp_klucb_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            eta=self.eta,
            slack=self.slack,
        )
