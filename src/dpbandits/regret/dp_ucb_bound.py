"""DP-UCB-BOUND: UCB on hybrid counters, with a width for their noise."""

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
from dpbandits.regret.bound_skipping import play_bound_skipping
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["WIDTHS", "DPUCBBound", "play_dp_ucb_bound"]

WIDTHS = ("printed", "repaired")


@njit(cache=True, nogil=True)
def play_dp_ucb_bound(
    means: NDArray[np.float64],
    block_scale: float,
    ucb_term: bool,
    repaired: bool,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play DP-UCB-BOUND on Bernoulli arms, pull by pull.

    Pulls 1..K play arms 0..K-1. Before pull number t > K,

        index_b = s_b/n_b + 4√8·block_scale·log t·(bracket of n_b)/n_b + √(2 log t/n_b),

    with s_b the noisy sum; the largest is played, ties to the lowest arm number. A pull draws one
    uniform for the reward and, if there is noise, one Laplace variable.

    Parameters
    ----------
    means : numpy.ndarray of float, shape (K,)
        Means of the arms.
    block_scale : float
        Scale of the noise of one block of a counter; 0 adds no noise and draws none (UCB1).
    ucb_term : bool
        Whether the index has its last term.
    repaired : bool
        Whether the bracket is ⌊log2 n⌋ + 1, and not that of the pseudo-code.
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
    power = np.ones(n_arms, np.int64)  # the greatest power of two up to the arm's pulls
    private_means = np.zeros(n_arms)
    widths = np.zeros(n_arms)  # ν/(n log t)
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
                log_t = math.log(t)
                root = math.sqrt(2.0 * log_t) if ucb_term else 0.0
                for b in range(n_arms):
                    index = private_means[b] + log_t * widths[b] + root * inverse_roots[b]
                    if index > highest:
                        arm = b
                        highest = index
            n = pulls[arm] + 1
            pulls[arm] = n
            if rng.random() < means[arm]:
                rewards[arm] += 1
            noise = 0.0
            if block_scale > 0.0:
                noise = next_hybrid_noise(rng, block_scale, block_scale, counters, arm, n)
            if n == 2 * power[arm]:
                power[arm] = n
            since = n - power[arm]  # the pseudo-code's n'
            bracket = 1.0
            if repaired:
                bracket += math.log2(power[arm])
            elif since > 0:
                bracket += math.log2(since)
            private_means[arm] = (rewards[arm] + noise) / n
            widths[arm] = 4.0 * math.sqrt(8.0) * block_scale * bracket / n
            inverse_roots[arm] = 1.0 / math.sqrt(n)
        counts[c] = pulls
    return counts


@dataclass(frozen=True)
class DPUCBBound(RegretAlgorithm):
    """DP-UCB-BOUND: Tossou & Dimitrakakis (2016), Algorithm 1.

    One hybrid counter an arm. With s the private sum of an arm's n rewards, n = 2^k + n',
    0 ≤ n' < 2^k, and ε₁ the budget of each part of the counter, the index at time t is

        s/n + ν/n + √(2 log t/n),        ν = (4√8/ε₁)·log t·(log2 n' + 1);

    every arm once first, ties to the lowest arm number. The horizon is not used. Runs take steps of
    many pulls (`dpbandits.regret.bound_skipping`; total-variation error at most 4·10⁻¹⁰ a run).

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    ucb_term : bool
        Whether the index has its last term, as the text of §3.1 says; False is the pseudo-code.
    split : {"half", "full"}
        What the parts of a counter get of ε: see `HybridCounter`. "full" is the paper's.
    width : {"printed", "repaired"}
        "printed": ν as above. "repaired": with ⌊log2 n⌋ = k, the number of levels of the tree, in
        place of log2 n'.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, `ucb_term` not True or False, or a word unknown.

    Notes
    -----
    Where the printed pseudo-code cannot be run as it stands, and what was chosen:

    - log2 n' is −∞ when n is a power of two: the bracket is 1 there, as only the k + 1 variables
      of the blocks are in the sum.
    - The index lacks the term √(2 log t/n) of UCB, to whose bound the text adds ν ("we add a
      tight upper bound … on the noise"): `ucb_term`.
    - What the hybrid counters do with ε is left to a citation and to §2.3, which has scale 1/ε at
      powers of two and does not say what the tree gets: `split`. With "half", ν has ε/2 as the
      noise has, so that DPUCBBound(ε) has the same law as DPUCBBound(ε/2, split="full").
    - §2.3 lets the tree of a stretch hold the element at 2^k, which the block before it already
      holds: here it begins with the next one, as in Chan, Shi & Song, and has k levels.

    The noise does not fall when a stretch begins, but ν does: at n' = 1 it allows for
    4√8·log t/ε₁, while the node has scale k/ε₁ and exceeds that with probability t^(−11.3/k)/2.
    From k = 12 on this falls slower than 1/t, and so the expected regret grows like a power of t;
    see `dp_ucb_bound_regret`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.DPUCBBound(epsilon=1.0).guarantee.epsilon
    1.0
    >>> dpb.DPUCBBound(epsilon=1.0, split="full").guarantee.epsilon
    2.0
    """

    label: ClassVar[str] = "DP-UCB-BOUND"
    source: ClassVar[str] = "TD16, Algorithm 1"

    epsilon: float
    ucb_term: bool = True
    split: str = "half"
    width: str = "printed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        check_flag("ucb_term", self.ucb_term)
        check_choice("split", self.split, SPLITS)
        check_choice("width", self.width, WIDTHS)

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
        play = play_bound_skipping if self.counter.block_scale > 0 else play_dp_ucb_bound
        counts = play(
            instance.means,
            self.counter.block_scale,
            self.ucb_term,
            self.width == "repaired",
            checkpoints,
            rng,
        )
        return Play(counts, np.empty(0, dtype=np.int64))

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `dp_ucb_bound_regret`."""
        self.check_instance(instance)
        bound: float | NDArray[np.float64] = bounds.dp_ucb_bound_regret(
            instance.gaps,
            horizon,
            block_scale=self.counter.block_scale,
            ucb_term=self.ucb_term,
            repaired=self.width == "repaired",
            times=times,
        )
        return bound
