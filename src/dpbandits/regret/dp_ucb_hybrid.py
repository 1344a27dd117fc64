"""UCB on hybrid counters: DP-UCB-BOUND and DP-UCB-HYBRID.

*Certified skipping* for the latter, where the noise of every arm changes at every pull: a
certificate is a number of pulls and a barrier for the noise of each arm, over which the leader's
index stays above a level θ and those of the others below it. Proof: :prf:ref:`lem-walk-advancing`.
When the noise of one of them first reaches its barrier is drawn by `walk_to_joint_passage`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Budget, Flag
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.counters import HybridCounter
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    first_passage_table,
    lowest_level,
    walk_to_joint_passage,
)
from dpbandits.regret.base import Times
from dpbandits.regret.skipping import (
    ADVANCING,
    BLOCKS,
    LOG_ERROR,
    MAX_SKIPS,
    IndexAlgorithm,
    IndexPolicy,
    State,
    aligned,
    index_leader,
    next_noise,
    pass_checkpoints,
    reward_band,
    start,
)
from dpbandits.rewards.binomial import binomial
from dpbandits.schedules import noise_width

__all__ = ["DPUCBBound", "DPUCBHybrid"]

# These steer only the speed.
_NOISE_RESERVE = 40.0  # node scales that are kept for the leader's noise
_SHORTEST = 32  # pulls that make a skip worth its cost
_TRIES = 4  # lengths of a certificate that are tried, each an eighth of the one before


@kernel
def _certify(
    policy: IndexPolicy,
    state: State,
    arm: int,
    lead: float,
    mean: float,
    t: int,
    most: int,
    node_scale: float,
    table: FirstPassageTable,
    barriers: Floats,
) -> int:
    """Return a number of pulls, at most `most`, and write the barriers; 0 if none is worth it."""
    pulls, sums, noise = state.pulls, state.sums, state.noise
    n, total = pulls[arm], sums[arm]
    root = math.sqrt(2.0 * math.log(t + 1.0)) if policy.ucb_term else 0.0
    kept = noise[arm] - min(_NOISE_RESERVE * node_scale, 0.5 * lead)
    stretch = min(most, n)
    for _ in range(_TRIES):
        if stretch < _SHORTEST:
            break
        band = reward_band(mean, stretch, LOG_ERROR)
        last = n + stretch - 1.0
        at_first = total - band + root * math.sqrt(n)
        at_last = total - band + mean * (stretch - 1.0) + root * math.sqrt(last)
        level = min((at_first + kept) / n, (at_last + kept) / last)
        slack = 1e-9 + 1e-12 * (abs(total) + abs(kept) + (abs(level) + 1.0) * last)
        later = math.sqrt(2.0 * math.log(t + stretch)) if policy.ucb_term else 0.0
        longest = stretch
        for b in range(pulls.size):
            if b == arm:
                barriers[b] = min(at_first - level * n, at_last - level * last) - slack
                room = barriers[b] + noise[b]
            else:
                barriers[b] = pulls[b] * level - sums[b] - later * math.sqrt(pulls[b]) - slack
                room = barriers[b] - noise[b]
            cells = min(room / (table.cell_width * node_scale), table.limits.size - 1.0)
            longest = min(longest, table.limits[int(cells)] if cells > 0 else 0)
        if longest >= _SHORTEST:
            return longest
        stretch //= 8
    return 0


@kernel
def _play(
    means: Floats,
    policy: IndexPolicy,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
) -> Ints:
    """Play DP-UCB-HYBRID on Bernoulli arms with certified skips; the noise is positive."""
    pulls, sums, noise, counters, _, values, widths, inverse_roots, _ = state
    n_arms, horizon = means.size, checkpoints[-1]
    barriers, signs = np.zeros(n_arms), np.empty(n_arms)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    power = 1  # the greatest power of two up to t
    t, c, skips, wait = 0, 0, 0, n_arms
    while t < horizon:
        arm, stretch, node_scale = t, 0, 0.0
        if t >= n_arms:
            root = math.sqrt(2.0 * math.log(t + 1)) if policy.ucb_term else 0.0
            for b in range(n_arms):
                values[b] = (sums[b] + noise[b]) / pulls[b]
            arm, highest, rival = index_leader(values, widths, inverse_roots, 0.0, root)
            most = min(horizon, 2 * power - 1) - t
            lead = (highest - rival) * pulls[arm]
            node_scale = policy.scale * math.log2(power)
            if t >= wait and most >= _SHORTEST and skips < max_skips and lead > node_scale:
                stretch = _certify(
                    policy, state, arm, lead, means[arm], t, most, node_scale, table, barriers
                )
                if stretch == 0:
                    wait = t + _SHORTEST // 4
                elif stretch < most:
                    stretch = aligned(t, stretch)
        before = t
        if stretch > 0:
            signs[:] = -1.0
            signs[arm] = 1.0
            t = walk_to_joint_passage(
                rng, table, node_scale, barriers, signs, counters, t, t + stretch
            )
            noise[:] = counters[:, lowest_level(t)]
            sums[arm] += binomial(rng, t - before, means[arm])
            skips += 1
        else:
            t += 1
            if rng.random() < means[arm]:
                sums[arm] += 1.0
            for b in range(n_arms):
                noise[b] = next_noise(rng, policy, counters, b, t)
            if t == 2 * power:
                power = t
        pulls[arm] += t - before
        inverse_roots[arm] = 1.0 / math.sqrt(pulls[arm])
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts


class HybridIndex(IndexAlgorithm):
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
    def skips(self) -> bool:
        return self.epsilon < math.inf


@dataclass(frozen=True)
class DPUCBBound(HybridIndex):
    """DP-UCB-BOUND: Tossou & Dimitrakakis (2016), Algorithm 1.

    One hybrid counter an arm. With s the private sum of an arm's n rewards, n = 2^k + n',
    0 ≤ n' < 2^k, and ε₁ the budget of each part of the counter, the index at time t is

        s/n + ν/n + √(2 log t/n),        ν = (4√8/ε₁)·log t·(log2 n' + 1);

    every arm once first, ties to the lowest arm number. The horizon is not used. Runs take steps of
    many pulls (`dpbandits.regret.skipping`; total-variation error at most 4·10⁻¹⁰ a run). The bound
    on the regret is `dp_ucb_bound_regret`. Proof: :prf:ref:`thm-32`.

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

    With "printed" the expected regret grows like a power of t, as ν falls when a stretch begins and
    the noise does not. Proof: :prf:ref:`thm-32-false`.

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

    def policy(self, n_arms: int, horizon: int) -> IndexPolicy:
        scale = self.counter.block_scale
        factor = float(noise_width(scale, 1.0))
        return IndexPolicy(scale, 0.0, BLOCKS, self.ucb_term, factor, self.width == "repaired")

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(
            bounds.dp_ucb_bound_regret,
            instance.gaps,
            horizon,
            block_scale=self.counter.block_scale,
            ucb_term=self.ucb_term,
            repaired=self.width == "repaired",
        )


@dataclass(frozen=True)
class DPUCBHybrid(HybridIndex):
    """DP-UCB with hybrid counters: Tossou & Dimitrakakis (2016), Algorithm 2.

    One hybrid counter an arm, and at every step an element for each of them: the reward for the
    arm that was played, 0 for all others. With s the private sum of an arm's n rewards, the index
    at time t is s/n + √(2 log t/n); every arm once first, ties to the lowest arm number. The
    horizon is not used. Runs take steps of many pulls (total-variation error at most 4·10⁻¹⁰ a
    run). The bound on the regret is `dp_ucb_hybrid_regret`. Proof: :prf:ref:`thm-33`. With
    `literal` it is t times the greatest gap: no better one is known.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    literal : bool
        Whether the index is s/n alone, which is what the pseudo-code of Algorithm 1 gives with
        ν = 0. §3.2 has "the same index as standard UCB".
    split : {"half", "full"}
        As of `DPUCBBound`.

    Notes
    -----
    As for `DPUCBBound`, and:

    - It is "Algorithm 1 with ν = 0", and that has no √(2 log t/n): `literal`.
    - "When arm a is played, insert 0 to all others": in the first K steps as well, so that every
      counter has t elements after step t.
    """

    label: ClassVar[str] = "DP-UCB-HYBRID"
    source: ClassVar[str] = "TD16, Algorithm 2"

    epsilon: Budget
    literal: Flag = False
    split: Literal["half", "full"] = "half"

    def policy(self, n_arms: int, horizon: int) -> IndexPolicy:
        return IndexPolicy(self.counter.block_scale, 0.0, ADVANCING, not self.literal)

    def _play_skipping(
        self, policy: IndexPolicy, means: Floats, checkpoints: Times, rng: Rng
    ) -> Ints:
        table, state = first_passage_table(), start(means.size)
        counts: Ints = _play(means, policy, state, checkpoints, rng, table, MAX_SKIPS)
        return counts

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.literal:
            return partial(bounds.worst_regret, instance.gaps, horizon)
        scale = self.counter.block_scale
        return partial(bounds.dp_ucb_hybrid_regret, instance.gaps, horizon, block_scale=scale)
