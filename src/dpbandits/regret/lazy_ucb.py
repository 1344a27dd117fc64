"""UCB with estimates from the last lazy batch: Anytime-Lazy-UCB and AdaP-UCB.

Hu, Huang & Mehta (2021), reconstructed, and Azize & Basu (2022), whose printed algorithms are in
`adap_printed`.
"""

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
from dpbandits.regret.lazy import Alpha, Eta, LazyBatches, draw_laplace
from dpbandits.rewards.run import Run
from dpbandits.schedules import next_release

__all__ = ["AdaPUCB", "AnytimeLazyUCB", "LazyUCB"]


class LazyUCB(LazyBatches, abstract=True):
    """Base of Anytime-Lazy-UCB and AdaP-UCB: the index x + √(cα·log t/n) + α·log t/(εn).

    Here x is the released mean of an arm's last batch, n its size, t the number of the next pull,
    and c is `share`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(dpb.AdaPUCB, LazyUCB), dpb.AdaPUCB.share, dpb.AnytimeLazyUCB.share
    (True, 0.5, 1.0)
    """

    share: ClassVar[float] = 1.0
    """c, of the width for the rewards' randomness."""

    alpha: Alpha  # a field of the subclasses

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        means, sizes = np.zeros((2, n_arms))  # of each arm's last batch; the means are private
        t = 1
        for batch in itertools.count():
            if batch < n_arms:
                arm = batch
            else:
                width = self.alpha * math.log(t)
                noise = width / (self.epsilon * sizes)
                index = means + (np.sqrt(self.share * width / sizes) + noise)
                arm = int(np.argmax(index))
            size = next_release(int(sizes[arm]), self.eta)
            total = rewards.total(arm, size) + draw_laplace(rng, 1 / self.epsilon)
            means[arm], sizes[arm] = total / size, size
            t += size

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.lazy_ucb_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            sampling=self.share * self.alpha,
            noise=self.alpha,
            eta=self.eta,
        )


@dataclass(frozen=True)
class AnytimeLazyUCB(LazyUCB):
    """Anytime-Lazy-UCB: Hu, Huang & Mehta (2021), reconstructed.

    The sizes of an arm's batches are the grid ⌈(1 + η)^j⌉, and its estimate uses the last one
    alone. First each arm in turn has a batch of one pull. Then, with n the size of an arm's last
    batch, x its mean as released, with a Laplace variable of scale 1/(εn), and t the number of the
    next pull, the arm with the largest

        x + √(α·log t/n) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number. A batch cut short by the horizon
    is not released. The pulls are ε-private (:prf:ref:`thm-lazy-private`). Bound on the regret:
    `lazy_ucb_regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        Factor α of log t in the index, from 1.001 to 100. The paper has 3, the bound requires α >
        1.
    eta : float
        Growth η of the batches, from 0.05 to 100: 1 doubles.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AnytimeLazyUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, 2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('batch by batch', [1000000, 1000000])
    """

    label: ClassVar[str] = "Lazy-UCB"
    source: ClassVar[str] = "Hu, Huang & Mehta 2021; reconstructed"

    epsilon: Budget
    alpha: Alpha = 1.1
    eta: Eta = 1.0


@dataclass(frozen=True)
class AdaPUCB(LazyUCB):
    """AdaP-UCB: a variant of Azize & Basu (2022) with batches of 1, 2, 4, … pulls.

    Pseudo-code: :prf:ref:`alg-lazy`.

    The sizes of an arm's batches are the grid ⌈(1 + η)^j⌉, and its estimate uses the last one
    alone. First each arm in turn has a batch of one pull. Then, with n the size of an arm's last
    batch, x its mean as released, with a Laplace variable of scale 1/(εn), and t the number of the
    next pull, the arm with the largest

        x + √(α·log t/(2n)) + α·log t/(εn)

    is played for its next batch; ties go to the lowest arm number. A batch cut short by the horizon
    is not released. The pulls are ε-private (:prf:ref:`thm-lazy-private`). Bound on the regret:
    `lazy_ucb_regret`.

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
    >>> C2 = dpb.instances.ss19("C2")
    >>> runs = dpb.simulate(dpb.AdaPUCB(epsilon=1.0, eta=0.5), C2, 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "AdaP-UCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"
    share: ClassVar[float] = 0.5

    epsilon: Budget
    alpha: Alpha = 1.1
    eta: Eta = 1.0
