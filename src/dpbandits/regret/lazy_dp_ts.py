"""Lazy-DP-TS: Hu & Hegde (2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice, check_range
from dpbandits.regret.base import Play
from dpbandits.regret.lazy_batches import LazyBatches, Released
from dpbandits.regret.lazy_sampling import first_of, first_to_finish, largest_draw
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.schedules import next_size

__all__ = ["DRAWS", "LazyDPTS"]

DRAWS = ("pulls", "batches")


@dataclass(frozen=True)
class LazyDPTS(LazyBatches):
    """Lazy-DP-TS: Hu & Hegde (2022), reconstructed.

    Batches grow by 1 + η (`LazyBatches`), and estimates rest on an arm's last batch, of size n,
    with released mean x. At each pull each arm draws

        θ from Normal(y, 1/n),   y = x + α·log t/(εn), moved into [0, 1],

    and the arm with the largest θ is pulled. t is the number of the pull after the latest release
    of any arm: between two releases posteriors stay, while the open batches of all arms fill.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    alpha : float
        α from 1.001 to 100; 3 by default.
    eta : float
        Growth η of the batches, from 0.05 to 100; 1 by default, which doubles.
    draws : {"pulls", "batches"}
        "pulls": as above. "batches": θ is drawn at releases alone, and the arm with the largest is
        played for its next batch, as the other algorithms of this frame do.

    Raises
    ------
    ValueError
        If a number is out of its range, or `draws` unknown.

    Notes
    -----
    We have no text of the paper at hand: batches, posteriors and the two readings are
    reconstructed. With one draw a batch the regret grows like a power of the horizon: each time
    that the best arm's θ is low another arm doubles its batch, and after m times in a row, which
    for a low estimate has a probability not far from 2^(−m), some 2^m pulls are lost.

    The simulation goes from release to release at once (`dpbandits.regret.lazy_sampling`). Its law
    is exact but for the quadrature of the probabilities of the arms, to about 10⁻¹⁰.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.LazyDPTS(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-DP-TS"
    source: ClassVar[str] = "Hu & Hegde 2022; reconstructed"

    epsilon: float
    alpha: float = 3.0
    eta: float = 1.0
    draws: str = "pulls"

    def __post_init__(self) -> None:
        self._check_frame()
        object.__setattr__(self, "alpha", check_range("alpha", self.alpha, 1.001, 100.0))
        check_choice("draws", self.draws, DRAWS)

    def posteriors(
        self, released: Released, t: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres and standard deviations of the posteriors, shape (K,) each.

        Parameters
        ----------
        released : Released
            What the algorithm knows.
        t : int
            Number of the next pull.

        Returns
        -------
        tuple of numpy.ndarray of float, shape (K,) each
        """
        raised = released.totals + self.alpha * math.log(t) / self.epsilon
        centres = np.clip(raised / released.rewards, 0.0, 1.0)
        return centres, 1.0 / np.sqrt(released.rewards)

    def _choose(self, released: Released, t: int, rng: np.random.Generator) -> int:
        return int(rng.normal(*self.posteriors(released, t)).argmax())

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        if self.draws == "batches":
            return super().play(instance, horizon, checkpoints, rng)
        n_arms, last_pull = instance.n_arms, int(checkpoints[-1])
        released = Released.start(n_arms)
        counts = np.zeros((checkpoints.size, n_arms), dtype=np.int64)
        pulled, due = np.zeros(n_arms, dtype=np.int64), np.ones(n_arms, dtype=np.int64)
        ends: list[int] = []
        t, first = 0, 0  # pulls so far, and the checkpoints among them
        while t < last_pull:
            if t < n_arms:
                arm, stretch = t, np.zeros(n_arms, dtype=np.int64)
                stretch[arm] = 1
            else:
                probabilities = largest_draw(*self.posteriors(released, t + 1))
                arm, stretch = first_to_finish(rng, probabilities, due)
            size = int(stretch.sum())
            last = first + int(checkpoints[first:].searchsorted(t + size))
            if first < last:
                rest = stretch.copy()
                rest[arm] -= 1  # the last pull is of that arm
                counts[first:last] = pulled + first_of(rng, rest, checkpoints[first:last] - t)
            t += size
            if t > last_pull:
                break
            pulled += stretch
            first = last
            if checkpoints[first] == t:
                counts[first] = pulled
                first += 1
            due -= stretch
            batch = next_size(int(released.rewards[arm]), 0, self.eta, self.forgets)
            self._release(instance, released, arm, batch, rng)
            due[arm] = next_size(batch, 0, self.eta, self.forgets)
            ends.append(t)
        return Play(counts, np.array(ends, dtype=np.int64))

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `lazy_dp_ts_regret`.

        With a draw a batch it is t times the greatest gap: nothing better is proved, and no bound
        of order log t can be.
        """
        self.check_instance(instance)
        bound: float | NDArray[np.float64]
        if self.draws == "batches":
            bound = bounds.worst_regret(instance.gaps, horizon, times=times)
        else:
            bound = bounds.lazy_dp_ts_regret(
                instance.means,
                horizon,
                epsilon=self.epsilon,
                alpha=self.alpha,
                eta=self.eta,
                times=times,
            )
        return bound
