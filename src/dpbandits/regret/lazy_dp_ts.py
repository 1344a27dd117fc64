"""Lazy-DP-TS: Thompson sampling with estimates from the last lazy batch (Hu & Hegde 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Rng
from dpbandits.configuration import Budget
from dpbandits.regret.lazy import Alpha, Eta, LazyBatches, draw_laplace
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.run import Run
from dpbandits.schedules import next_release

__all__ = ["LazyDPTS"]


@dataclass(frozen=True)
class LazyDPTS(LazyBatches):
    """Lazy-DP-TS: Hu & Hegde (2022), reconstructed.

    Pseudo-code: :prf:ref:`alg-lazy`.

    The sizes of an arm's batches are the grid ⌈(1 + η)^j⌉, and its estimate uses the last one
    alone. First each arm in turn has a batch of one pull. Then at each pull each arm draws

        θ from Normal(y, 1/n),   y = x + α·log t/(εn), moved into [0, 1],

    with n the size of its last batch and x the mean of that batch as released, with a Laplace
    variable of scale 1/(εn); the arm with the largest θ is pulled. t is the number of the pull
    after the latest release of any arm: between two releases posteriors do not change, while the
    open batches of all arms fill up. A batch cut short by the horizon is not released. The pulls
    are ε-private (:prf:ref:`thm-lazy-private`). Bound on the regret: `lazy_dp_ts_regret`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        Factor α of log t in the centre of a posterior, from 1.001 to 100. The bound requires α > 1.
    eta : float
        Growth η of the batches, from 0.05 to 100: 1 doubles.
    draws : {"pulls", "batches"}
        "pulls": as above. "batches": θ is drawn only at releases, and the arm with the largest is
        played for its next batch. Then the regret grows like a power of the horizon: each time that
        the best arm's θ is low another arm doubles its batch, and after m times in a row, which for
        a low estimate has probability about 2^(−m), about 2^m pulls are lost.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.LazyDPTS(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('release by release: its law up to 1e-07', [1000000, 1000000])
    """

    label: ClassVar[str] = "Lazy-DP-TS"
    source: ClassVar[str] = "Hu & Hegde 2022; reconstructed"
    releases: ClassVar[bool] = False  # with "pulls" a request is a single pull, which ends no batch
    bound_for: ClassVar[Any] = BernoulliInstance  # its proof uses the odds of Binomial sums

    epsilon: Budget
    alpha: Alpha = 1.1
    eta: Eta = 1.0
    draws: Literal["pulls", "batches"] = "pulls"

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        means, sizes = np.zeros((2, n_arms))  # of each arm's last batch; the means are private
        sums, due = np.zeros(n_arms), [1] * n_arms  # of its open batch, and the missing pulls
        centres, deviations = np.zeros((2, n_arms))  # of the posteriors of θ
        t = 1
        while True:
            if t <= n_arms:
                arm = t - 1
            else:
                arm = int(np.argmax(rng.normal(centres, deviations)))
            pulls = 1 if self.draws == "pulls" else due[arm]
            sums[arm] += rewards.total(arm, pulls)
            due[arm] -= pulls
            t += pulls
            if due[arm] == 0:
                sizes[arm] = size = next_release(int(sizes[arm]), self.eta)
                means[arm] = (sums[arm] + draw_laplace(rng, 1 / self.epsilon)) / size
                sums[arm], due[arm] = 0.0, next_release(size, self.eta)
                if t > n_arms:
                    centres, deviations = self.posteriors(means, sizes, t)

    def posteriors(self, means: Floats, sizes: Floats, t: int) -> tuple[Floats, Floats]:
        """Return centres and standard deviations of the posteriors of θ from pull t on.

        Parameters
        ----------
        means : numpy.ndarray of float, shape (K,)
            Released means of the arms' last batches.
        sizes : numpy.ndarray of float, shape (K,)
            Sizes of these batches.
        t : int
            Number of the pull after the latest release.

        Returns
        -------
        centres, deviations : numpy.ndarray of float, shape (K,)
            Centres y and standard deviations 1/√n.
        """
        raised = means + self.alpha * math.log(t) / (self.epsilon * sizes)
        return np.clip(raised, 0.0, 1.0), 1 / np.sqrt(sizes)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.draws == "batches":
            return partial(bounds.worst_regret, instance.gaps, horizon)
        arguments = {"epsilon": self.epsilon, "alpha": self.alpha, "eta": self.eta}
        return partial(bounds.lazy_dp_ts_regret, instance.means, horizon, **arguments)
