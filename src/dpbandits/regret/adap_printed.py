"""AdaP-UCB and AdaP-KLUCB as printed in Azize & Basu (2022): episodes that double an arm's pulls.

`AdaPUCB` and `AdaPKLUCB` are our variants, with batches of 1, 2, 4, … pulls and α = 1.1.
"""

from __future__ import annotations

import abc
import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Rng
from dpbandits.configuration import Budget
from dpbandits.divergences import calibrated_upper_kernel
from dpbandits.regret.lazy import Alpha, LazyBatches, draw_laplace
from dpbandits.rewards.run import Run

__all__ = ["DoublingEpisodes", "PrintedAdaPKLUCB", "PrintedAdaPUCB"]


class DoublingEpisodes(LazyBatches, abstract=True):
    """Algorithm 1 of Azize & Basu (2022), for any index of private means.

    Each arm is pulled once. Then, in each episode, the arm with the largest index is pulled until
    its number of pulls has doubled, so that its episodes have 1, 1, 2, 4, 8, … pulls. The index
    uses only the rewards of an arm's last episode, through their noisy mean. A subclass has the
    fields `epsilon` and `alpha`, and defines `indices`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> issubclass(dpb.PrintedAdaPUCB, DoublingEpisodes)
    True
    """

    eta: ClassVar[float] = 1.0  # type: ignore[misc]  # it doubles, and is no field

    alpha: Alpha  # a field of the subclasses

    @abc.abstractmethod
    def indices(self, means: Floats, sizes: Floats, t: int) -> Floats:
        """Return the index of each arm.

        Parameters
        ----------
        means : numpy.ndarray of float, shape (K,)
            Private means of the arms' last episodes, in units of reward.
        sizes : numpy.ndarray of float, shape (K,)
            Number of rewards in each: ½N_a for an arm of N_a ≥ 2 pulls, and 1 for N_a = 1.
        t : int
            Number of the next pull, t_ℓ.

        Returns
        -------
        numpy.ndarray of float, shape (K,)
            The indices.
        """

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        means, sizes = np.zeros((2, n_arms))  # of each arm's last episode; the means are private
        pulls = [0] * n_arms
        t = 1
        for episode in itertools.count():
            if episode < n_arms:
                arm, size = episode, 1
            else:
                arm = int(np.argmax(self.indices(means, sizes, t)))
                size = pulls[arm]
            total = rewards.total(arm, size) + draw_laplace(rng, 1 / self.epsilon)
            means[arm], sizes[arm] = total / size, size
            pulls[arm] += size
            t += size


@dataclass(frozen=True)
class PrintedAdaPUCB(DoublingEpisodes):
    """AdaP-UCB as printed: Azize & Basu (2022), Algorithm 1 with the index of Equation (7).

    Each arm is pulled once. Then, with N_a the pulls of arm a so far, n the size of its last
    episode (½N_a for N_a ≥ 2), x the mean of that episode's rewards with a Laplace variable of
    scale 1/(εn), and t_ℓ the number of the next pull, the arm with the largest

        x + √(α·log(2t_ℓ)/(2n)) + α·log(t_ℓ)/(εn)

    is pulled until its N_a has doubled; ties go to the lowest arm number. An episode cut short by
    the horizon is not released. The paper's symbols ε, α are `epsilon`, `alpha`.

    Our copy of the paper has log(2t_ℓ) under the root and log(t_ℓ) in the last term, where its
    Example 2 speaks of a confidence of t_ℓ^(−α) for the index as a whole; the 2 may be a misprint.
    `root` plays either.

    The pulls are ε-private for a change of one reward at one time, which is the paper's unit: its
    Theorem 6, here :prf:ref:`thm-lazy-private`. The paper bounds the regret, for α > 3, by
    `printed_adap_ucb_regret` (Theorem 7). `regret_bound` is ours, which requires α > 1:
    `lazy_ucb_regret` with ``grid="pulls"``, proved by :prf:ref:`thm-lazy-regret`.

    Deviation: for N_a = 1 the formulas of the paper have ½ for the size of the episode; here it is
    1, as in the paper's Example 2.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        Factor α of the logarithms, from 1.001 to 100. The paper requires α > 3 and uses 3.1.
    root : {"2t", "t"}
        The logarithm under the root: of 2t_ℓ, as printed, or of t_ℓ.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.PrintedAdaPUCB(epsilon=1.0)
    >>> algorithm.alpha, str(algorithm.guarantee)
    (3.1, 'ε = 1, central, event level')
    >>> runs = dpb.simulate(algorithm, dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('batch by batch', [1000000, 1000000])
    """

    label: ClassVar[str] = "AdaP-UCB, as printed"
    source: ClassVar[str] = "Azize & Basu 2022, Algorithm 1, Equation (7)"

    epsilon: Budget
    alpha: Alpha = 3.1
    root: Literal["2t", "t"] = "2t"

    @property
    def times(self) -> float:
        """Factor of t_ℓ in the logarithm under the root."""
        return 2.0 if self.root == "2t" else 1.0

    def indices(self, means: Floats, sizes: Floats, t: int) -> Floats:
        sampling = np.sqrt(0.5 * self.alpha * math.log(self.times * t) / sizes)
        return means + (sampling + self.alpha * math.log(t) / (self.epsilon * sizes))

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.lazy_ucb_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            sampling=0.5 * self.alpha,
            noise=self.alpha,
            grid="pulls",
            inside=self.times,
        )


@dataclass(frozen=True)
class PrintedAdaPKLUCB(DoublingEpisodes):
    """AdaP-KLUCB as printed: Azize & Basu (2022), Algorithm 1 with the second index of §4.

    Each arm is pulled once. Then, with N_a the pulls of arm a so far, n the size of its last
    episode (½N_a for N_a ≥ 2), x the mean of that episode's rewards with a Laplace variable of
    scale 1/(εn), and t_ℓ the number of the next pull, the arm with the largest

        max {q in [0, 1] : kl(y, q) ≤ α·log(t_ℓ)/n},   y = x + α·log(t_ℓ)/(εn), moved into [0, 1],

    is pulled until its N_a has doubled; ties go to the lowest arm number. An episode cut short by
    the horizon is not released. The paper's symbols ε, α are `epsilon`, `alpha`.

    The pulls are ε-private for a change of one reward at one time, which is the paper's unit: its
    Theorem 6, here :prf:ref:`thm-lazy-private`. The paper's bound, Theorem 8, is for α > 3, with
    constants that it does not give. `regret_bound` is ours, which requires α > 1:
    `adap_klucb_regret` with ``grid="pulls"``, proved by :prf:ref:`thm-lazy-regret`.

    Deviation: n is 1 for N_a = 1, as for `PrintedAdaPUCB`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        Factor α of the logarithms, from 1.001 to 100. The paper requires α > 3 and uses 3.1.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.PrintedAdaPKLUCB(epsilon=1.0)
    >>> runs = dpb.simulate(algorithm, dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('batch by batch', [1000000, 1000000])
    """

    label: ClassVar[str] = "AdaP-KLUCB, as printed"
    source: ClassVar[str] = "Azize & Basu 2022, Algorithm 1, §4"

    epsilon: Budget
    alpha: Alpha = 3.1

    def indices(self, means: Floats, sizes: Floats, t: int) -> Floats:
        level = self.alpha * math.log(t)
        raised = np.clip(means + level / (self.epsilon * sizes), 0.0, 1.0)
        pairs = zip(raised, sizes, strict=True)
        return np.array([calibrated_upper_kernel(y, n, 0.0, math.inf, level) for y, n in pairs])

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.adap_klucb_regret,
            instance.means,
            horizon,
            epsilon=self.epsilon,
            alpha=self.alpha,
            grid="pulls",
        )
