"""AdaP-KLUCB: KL-UCB on lazy batches, with estimates from the last one (Azize & Basu 2022)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget
from dpbandits.divergences import calibrated_upper_kernel
from dpbandits.regret.lazy import Alpha, Eta, LazyBatches, draw_laplace
from dpbandits.rewards.run import Run
from dpbandits.schedules import next_release

__all__ = ["AdaPKLUCB"]


@dataclass(frozen=True)
class AdaPKLUCB(LazyBatches):
    """AdaP-KLUCB: a variant of Azize & Basu (2022) with batches of 1, 2, 4, … pulls.

    Pseudo-code: :prf:ref:`alg-lazy`.

    The sizes of an arm's batches are the grid ⌈(1 + η)^j⌉, and its estimate uses the last one
    alone. First each arm in turn has a batch of one pull. Then, with n the size of an arm's last
    batch, x its mean as released, with a Laplace variable of scale 1/(εn), and t the number of the
    next pull, the arm with the largest

        max {q in [0, 1] : n·kl(y, q) ≤ α·log t},   y = x + α·log t/(εn), moved into [0, 1],

    is played for its next batch; ties go to the lowest arm number. A batch that the horizon cuts
    short is not released. The pulls are ε-private (:prf:ref:`thm-lazy-private`). Bound on the
    regret: `adap_klucb_regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        Factor α of log t in the index, from 1.001 to 100. The paper requires α > 3, the bound α >
        1.
    eta : float
        Growth η of the batches, from 0.05 to 100: 1 doubles.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AdaPKLUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-KLUCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"

    epsilon: Budget
    alpha: Alpha = 1.1
    eta: Eta = 1.0

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        means, sizes = np.zeros((2, n_arms))  # of each arm's last batch; the means are private
        t = 1
        for batch in itertools.count():
            if batch < n_arms:
                arm = batch
            else:
                level = self.alpha * math.log(t)
                raised = np.clip(means + level / (self.epsilon * sizes), 0.0, 1.0)
                index = [
                    calibrated_upper_kernel(y, n, 0.0, math.inf, level)
                    for y, n in zip(raised, sizes, strict=True)
                ]
                arm = int(np.argmax(index))
            size = next_release(int(sizes[arm]), self.eta)
            total = rewards.total(arm, size) + draw_laplace(rng, 1 / self.epsilon)
            means[arm], sizes[arm] = total / size, size
            t += size

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.adap_klucb_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            alpha=self.alpha,
            eta=self.eta,
        )
