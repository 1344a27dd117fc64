"""DP-UCB-BOUND: UCB on hybrid counters, with a width for their noise.

*Certified skipping* is that of `dpbandits.regret.skipping`, for another width and another tree. Let
arm a lead before pull t + 1, with n pulls, reward sum S and noise Z of its counter,
2^k ≤ n < 2^(k+1). Let U be the largest index of the others before pull t + m, were none of them
pulled: none falls with time. With the reward band c and B(n) the bracket of ν,

    f(r) = S + μ r − c + 4√8·λ·log(t+1)·B(n+r) + √(2 log(t+1) (n+r)) − U (n+r)

is concave in r while n + r < 2^(k+1), for B is constant there, or 1 + log2 of n + r − 2^k ≥ 1. So
f(r) ≥ z = min(f(0), f(m−1)), and a leads before each of the pulls t + 1 … t + m as long as its
noise Z_r > −z, except with a probability of `SKIP_ERROR` = 10⁻¹⁶ for the rewards. Between two
powers of two the noise of a hybrid counter is that of one tree of equal nodes, of scale kλ: the
node that ends at n + r adds to the noise at n + r without its lowest set bit. So the first passage
below −z is drawn by `walk_to_first_passage`, as it stands, and no stretch goes beyond 2^(k+1) − 1
pulls.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.configuration import Budget, Flag
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.counters import HYBRID_STATE, HybridCounter, next_hybrid_noise
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Play, RegretAlgorithm, Times
from dpbandits.regret.per_step import (
    BLOCKS,
    IndexPolicy,
    bracket,
    index_leader,
    play_index_policy,
    play_index_table,
)
from dpbandits.regret.skipping import (
    LOG_ERROR,
    MAX_SKIPS,
    aligned,
    pass_checkpoints,
    proposed_stretch,
    reward_band,
    rival_index,
    stretch_limits,
)
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.streams import DrawnRewards

__all__ = ["DPUCBBound", "HybridIndex"]


# These steer only the speed.
_NOISE_RESERVE = 30.0  # node scales of a lead that are enough for the noise
_SHORTEST = 32  # pulls that make a skip worth its cost


@njit(cache=True, nogil=True)
def _skip(
    means: Floats,
    policy: IndexPolicy,
    checkpoints: Times,
    rng: Rng,
    table: FirstPassageTable,
    limits: Ints,
    max_skips: int,
) -> Ints:
    """Play DP-UCB-BOUND on Bernoulli arms with certified skips; the noise is positive."""
    block_scale, ucb_term, repaired = policy.scale, policy.ucb_term, policy.repaired
    factor = policy.factor
    n_arms = means.size
    horizon = checkpoints[-1]
    pulls = np.zeros(n_arms, np.int64)
    rewards = np.zeros(n_arms, np.int64)
    counters = np.zeros((n_arms, HYBRID_STATE))
    power = np.ones(n_arms, np.int64)  # the greatest power of two up to the arm's pulls
    private_means = np.zeros(n_arms)
    widths = np.zeros(n_arms)  # ν/(n log t)
    inverse_roots = np.zeros(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t, c, skips = 0, 0, 0
    while t < horizon:
        arm, stretch, block, floor, rival, barrier, node_scale = t, 0, 1, 0.0, math.inf, 0.0, 0.0
        if t >= n_arms:
            log_t = math.log(t + 1)
            root = math.sqrt(2.0 * log_t) if ucb_term else 0.0
            arm, highest, rival = index_leader(private_means, widths, inverse_roots, log_t, root)
            n = pulls[arm]
            node_scale = block_scale * math.log2(power[arm])
            last = 2 * power[arm] - 1 - n  # pulls that this octave has left, less one
            lead = (highest - rival) * n
            if (repaired or n > power[arm]) and last > 1 and lead > node_scale:
                width = factor * log_t
                total = float(rewards[arm])
                noise = prefix_noise_at(counters, arm, n)
                if skips < max_skips and last >= _SHORTEST:
                    # Part of the lead is kept for the noise, as in `skipping.certify`.
                    kept = min(0.8 * lead, max(0.2 * lead, _NOISE_RESERVE * node_scale))
                    room = int(min(lead / (table.cell_width * node_scale), limits.size - 1.0))
                    growth = width / ((n - power[arm]) * math.log(2.0)) if not repaired else 0.0
                    drift = rival - means[arm] - 0.5 * root / math.sqrt(n) - growth
                    stretch = int(
                        min(
                            proposed_stretch(lead - kept, drift, means[arm], LOG_ERROR),
                            float(min(horizon - t, last, limits[room])),
                        )
                    )
                    while stretch >= _SHORTEST:
                        rival = rival_index(
                            private_means, widths, inverse_roots, arm, t + stretch, ucb_term
                        )
                        end = n + stretch - 1
                        at_first = (
                            total + width * bracket(n, power[arm], repaired)
                            + root * math.sqrt(n) - rival * n
                        )  # fmt: skip
                        at_last = (
                            total + means[arm] * (stretch - 1)
                            + width * bracket(end, power[arm], repaired)
                            + root * math.sqrt(end) - rival * end
                        )  # fmt: skip
                        slack = 1e-9 + 1e-12 * (abs(total) + width * 64 + (abs(rival) + 1.0) * end)
                        band = reward_band(means[arm], stretch, LOG_ERROR)
                        barrier = min(at_first, at_last) - band - slack
                        if stretch < min(horizon - t, last):
                            stretch = aligned(n, stretch)
                        if barrier + noise > 0.5 * kept:
                            break
                        stretch //= 2
                    if stretch < _SHORTEST:
                        stretch = 0
                if stretch == 0:
                    block = min(_SHORTEST // 2, horizon - t, last)
                    rival = rival_index(
                        private_means, widths, inverse_roots, arm, t + block, ucb_term
                    )
                    rival += 1e-12 * (abs(rival) + 1.0)
                    floor = width * bracket(n, power[arm], repaired) + root * math.sqrt(n)
        start = pulls[arm]
        n = start
        if stretch > 0:
            n = walk_to_first_passage(
                rng, table, node_scale, barrier, counters, arm, start, start + stretch
            )
            noise = prefix_noise_at(counters, arm, n)
            rewards[arm] += binomial(rng, n - start, means[arm])
            skips += 1
        else:  # a pull, and more while the arm certainly leads
            while True:
                n += 1
                if rng.random() < means[arm]:
                    rewards[arm] += 1
                noise = next_hybrid_noise(rng, block_scale, block_scale, counters, arm, n)
                if n == start + block or rewards[arm] + noise + floor <= rival * n:
                    break
        t += n - start
        pulls[arm] = n
        if n == 2 * power[arm]:
            power[arm] = n
        private_means[arm] = (rewards[arm] + noise) / n
        widths[arm] = factor * bracket(n, power[arm], repaired) / n
        inverse_roots[arm] = 1.0 / math.sqrt(n)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts


class HybridIndex(RegretAlgorithm):
    """Base of DP-UCB-BOUND and DP-UCB-HYBRID, whose sums are those of hybrid counters."""

    # fields of the subclasses
    epsilon: Budget
    split: Literal["half", "full"]

    @property
    def counter(self) -> HybridCounter:
        """The counter of one arm."""
        return HybridCounter(self.epsilon, self.split)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What a counter promises, for all pulls together; a reward enters one counter."""
        return self.counter.guarantee

    @property
    @abc.abstractmethod
    def policy(self) -> IndexPolicy:
        """The index, for compiled loops."""

    @abc.abstractmethod
    def _skip(self, means: Floats, checkpoints: Times, rng: Rng) -> Ints:
        """Play Bernoulli arms by certified skipping."""

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        """Play once; see `RegretAlgorithm.play`. Other than Bernoulli arms are played per step."""
        rewards = instance.rewards(rng)
        if type(rewards) is DrawnRewards and self.policy.scale > 0:
            return Play.of(self._skip(rewards.means, checkpoints, rng))
        return Play.of(play_index_policy(self.policy, rewards, checkpoints, rng))

    def play_table(self, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
        """Play a table many times, pull by pull; see `RegretAlgorithm.play_table`."""
        return play_index_table(self.policy, table, n_runs, rng)


@dataclass(frozen=True)
class DPUCBBound(HybridIndex):
    """DP-UCB-BOUND: Tossou & Dimitrakakis (2016), Algorithm 1.

    One hybrid counter an arm. With s the private sum of an arm's n rewards, n = 2^k + n',
    0 ≤ n' < 2^k, and ε₁ the budget of each part of the counter, the index at time t is

        s/n + ν/n + √(2 log t/n),        ν = (4√8/ε₁)·log t·(log2 n' + 1);

    every arm once first, ties to the lowest arm number. The horizon is not used. Runs take steps of
    many pulls (total-variation error at most 4·10⁻¹⁰ a run). The bound on the regret is
    `dp_ucb_bound_regret`; Proof: :prf:ref:`thm-32`.

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
    From k = 12 on this falls slower than 1/t, and so the expected regret grows like a power of t.
    Proof: :prf:ref:`thm-32-false`.

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

    epsilon: Budget
    ucb_term: Flag = True
    split: Literal["half", "full"] = "half"
    width: Literal["printed", "repaired"] = "printed"

    @property
    def policy(self) -> IndexPolicy:
        """The index, for compiled loops."""
        scale = self.counter.block_scale
        factor = 4.0 * math.sqrt(8.0) * scale
        return IndexPolicy(scale, 0.0, BLOCKS, self.ucb_term, factor, self.width == "repaired")

    def _skip(self, means: Floats, checkpoints: Times, rng: Rng) -> Ints:
        tables = first_passage_table(), stretch_limits()
        counts: Ints = _skip(means, self.policy, checkpoints, rng, *tables, MAX_SKIPS)
        return counts

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.dp_ucb_bound_regret,
            instance.gaps,
            horizon,
            block_scale=self.counter.block_scale,
            ucb_term=self.ucb_term,
            repaired=self.width == "repaired",
        )
