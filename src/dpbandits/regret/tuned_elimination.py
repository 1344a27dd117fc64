"""DP-SE with exact widths: the shortest epochs that an exact test allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Ints, Rng
from dpbandits._engine.elimination_epochs import tuned_epochs
from dpbandits.configuration import Budget, Count, Fraction, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_noise
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run

__all__ = ["TunedDPSE"]


@dataclass(frozen=True)
class TunedDPSE(RegretAlgorithm):
    """DP-SE as in Sajed & Sheffet (2019), with exact widths.

    Pseudo-code: :prf:ref:`alg-tuned`.

    In epoch e = 1, 2, … every viable arm is pulled n_e times, its mean over this epoch alone is
    released with Laplace noise of scale 1/(εn_e), and an arm is eliminated when its released mean
    is more than Δ_e/2 = 2^−(e + 1) below the best. n_e is the least n for which two arms of equal
    means are that far apart with probability at most p = β/((K − 1)E), by Hoeffding's inequality
    given the noise; so one union bound over the rivals of a best arm and over E = ⌈½ log2 T⌉ epochs
    suffices. ``tuned_epochs`` of the engine computes n_e.

    Privacy is that of `DPSE`. Proof: :prf:ref:`lem-releases`. The bound on the regret is
    `dpbandits.bounds.tuned_elimination_regret`. Proof: :prf:ref:`thm-tuned`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and draws no noise.
    beta : float, optional
        Confidence β in (0, 1). None means 1/T, with T the horizon of the simulation.

    Notes
    -----
    Deviations from SS19, Algorithm 3: the lengths of the epochs and the threshold. They depend on
    K, T, β and ε, and not on the number of viable arms. An epoch cut short by the horizon releases
    nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> C1, T = dpb.instances.ss19("C1"), 50_000_000
    >>> tuned, printed = (dpb.simulate(a, C1, T, 20) for a in (dpb.TunedDPSE(1.0), dpb.DPSE(1.0)))
    >>> bool(tuned.mean()[-1] < 0.6 * printed.mean()[-1])
    True
    """

    label: ClassVar[str] = "tuned DP-SE"
    source: ClassVar[str] = "derived here, from SS19, Algorithm 3"
    releases: ClassVar[bool] = True

    epsilon: Budget
    beta: Fraction | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("central", self.epsilon)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        return n_arms * int(self.epochs(n_arms, horizon)[0]) + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        viable = np.arange(rewards.n_arms)
        for epoch, pulls in enumerate(self.epochs(rewards.n_arms, horizon), start=1):
            if viable.size == 1:
                rewards.commit(viable[0])
            means = rewards.totals(viable, pulls) / pulls
            if self.epsilon < np.inf:
                means += laplace_noise(rng, 1 / (self.epsilon * pulls), viable.size)
            viable = viable[means.max() - means <= 0.5 ** (epoch + 1)]

    @checked_arguments
    def epochs(self, n_arms: Count, horizon: Count) -> Ints:
        """Return the pulls of a viable arm in each epoch: `tuned_epochs`.

        Parameters
        ----------
        n_arms : int
            Number of arms K.
        horizon : int
            Horizon T of the algorithm, at least 2.

        Returns
        -------
        numpy.ndarray of int, shape (at most E + 1,)
            The pulls; the last, T, is more than a run has left for two arms.
        """
        beta = 1 / horizon if self.beta is None else self.beta
        return tuned_epochs(n_arms, horizon, beta, self.epsilon)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        bound = partial(bounds.tuned_elimination_regret, instance.gaps, horizon)
        return partial(bound, epsilon=self.epsilon, beta=self.beta)
