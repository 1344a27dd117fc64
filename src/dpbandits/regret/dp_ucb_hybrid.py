"""DP-UCB of Tossou & Dimitrakakis: UCB on hybrid counters that all advance at every step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice, check_flag, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.hybrid import HYBRID_STATE, SPLITS, HybridCounter, next_hybrid_noise
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.hybrid_skipping import play_hybrid_skipping
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["DPUCBHybrid", "play_dp_ucb_hybrid"]


@njit(cache=True, nogil=True)
def play_dp_ucb_hybrid(
    means: NDArray[np.float64],
    block_scale: float,
    ucb_term: bool,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play DP-UCB with advancing counters on Bernoulli arms, pull by pull.

    Pulls 1..K play arms 0..K-1. Before pull number t > K,

        index_b = (S_b + Z_b)/n_b + √(2 log t/n_b),

    with Z_b the noise of a counter of t - 1 elements, the rewards of arm b and zeros; the largest
    is played, ties to the lowest arm number. A pull draws one uniform for the reward and, if there
    is noise, one Laplace variable for each arm.

    Parameters
    ----------
    means : numpy.ndarray of float, shape (K,)
        Means of the arms.
    block_scale : float
        Scale of the noise of one block of a counter; 0 adds no noise and draws none (UCB1).
    ucb_term : bool
        Whether the index has its last term.
    checkpoints : numpy.ndarray of int64, shape (C,)
        Increasing pull numbers; the last is the horizon T.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.
    """
    n_arms = means.size
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    counters = np.zeros((n_arms, HYBRID_STATE))
    noise = np.zeros(n_arms)
    inverse_roots = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            t += 1
            if t <= n_arms:
                arm = t - 1
            else:
                arm = 0
                highest = -math.inf
                root = math.sqrt(2.0 * math.log(t)) if ucb_term else 0.0
                for b in range(n_arms):
                    index = (rewards[b] + noise[b]) / pulls[b] + root * inverse_roots[b]
                    if index > highest:
                        arm = b
                        highest = index
            pulls[arm] += 1
            if rng.random() < means[arm]:
                rewards[arm] += 1
            inverse_roots[arm] = 1.0 / math.sqrt(pulls[arm])
            if block_scale > 0.0:
                for b in range(n_arms):  # a reward for the arm, a zero for all others
                    noise[b] = next_hybrid_noise(rng, block_scale, block_scale, counters, b, t)
        counts[c] = pulls
    return counts


@dataclass(frozen=True)
class DPUCBHybrid(RegretAlgorithm):
    """DP-UCB with hybrid counters: Tossou & Dimitrakakis (2016), Algorithm 2.

    One hybrid counter an arm, and at every step an element for each of them: the reward for the
    arm that was played, 0 for all others. With s the private sum of an arm's n rewards, the index
    at time t is s/n + √(2 log t/n); every arm once first, ties to the lowest arm number. The
    horizon is not used. Runs take steps of many pulls (`dpbandits.regret.hybrid_skipping`;
    total-variation error at most 4·10⁻¹⁰ a run).

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    literal : bool
        Whether the index is s/n alone, which is what the pseudo-code of Algorithm 1 gives with
        ν = 0. §3.2 has "the same index as standard UCB".
    split : {"half", "full"}
        What the parts of a counter get of ε: see `HybridCounter`. "full" is the paper's.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, `literal` not True or False, or `split` unknown.

    Notes
    -----
    Where the printed pseudo-code cannot be run as it stands, and what was chosen:

    - It is "Algorithm 1 with ν = 0", and that has no √(2 log t/n): `literal`.
    - "When arm a is played, insert 0 to all others": in the first K steps as well, so that every
      counter has t elements after step t.
    - The parts of a counter are those of `DPUCBBound`.

    All noises have one law at each time, but it is noise/n that enters an index, so that the terms
    of the arms still differ. Noise that is redrawn at every step, also for an arm at rest, is what
    brings back a good arm that seems bad: see `dp_ucb_hybrid_regret`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPUCBHybrid(epsilon=1.0), dpb.instances.ss19("C2"), 10_000, 2)
    >>> runs.pulls.sum(axis=1).tolist()
    [10000, 10000]
    """

    label: ClassVar[str] = "DP-UCB-HYBRID"
    source: ClassVar[str] = "TD16, Algorithm 2"

    epsilon: float
    literal: bool = False
    split: str = "half"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        check_flag("literal", self.literal)
        check_choice("split", self.split, SPLITS)

    @property
    def counter(self) -> HybridCounter:
        """The counter of one arm."""
        return HybridCounter(self.epsilon, self.split)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What a counter promises, for all pulls together; a reward enters one counter."""
        return self.counter.guarantee

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        play = play_hybrid_skipping if self.counter.block_scale > 0 else play_dp_ucb_hybrid
        counts = play(instance.means, self.counter.block_scale, not self.literal, checkpoints, rng)
        return Play(counts, np.empty(0, dtype=np.int64))

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `dp_ucb_hybrid_regret`.

        With `literal` it is t times the greatest gap: nothing in an index without a bonus makes
        up for rewards that were low by chance, and no better bound is known.
        """
        self.check_instance(instance)
        bound: float | NDArray[np.float64]
        if self.literal:
            bound = bounds.worst_regret(instance.gaps, horizon, times=times)
        else:
            bound = bounds.dp_ucb_hybrid_regret(
                instance.gaps, horizon, block_scale=self.counter.block_scale, times=times
            )
        return bound
