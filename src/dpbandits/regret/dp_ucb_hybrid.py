"""UCB on hybrid counters: DP-UCB-BOUND and DP-UCB-HYBRID of Tossou & Dimitrakakis (2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Flag
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.counters import HybridCounter
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import noise_bracket, noise_width

__all__ = ["DPUCBBound", "DPUCBHybrid"]


class HybridIndex(RegretAlgorithm):
    """Base of DP-UCB-BOUND and DP-UCB-HYBRID, with the sums of hybrid counters.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPUCBHybrid(epsilon=1.0)
    >>> algorithm.counter == dpb.mechanisms.HybridCounter(1.0, "half"), algorithm.guarantee.epsilon
    (True, 1.0)
    """

    # fields of the subclasses
    epsilon: Budget
    split: Literal["half", "full"]

    @property
    def counter(self) -> HybridCounter:
        """The counter of one arm."""
        return HybridCounter(self.epsilon, self.split)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Guarantee of a counter, for all pulls together, since a reward enters one counter."""
        return self.counter.guarantee


@dataclass(frozen=True)
class DPUCBBound(HybridIndex):
    """DP-UCB-BOUND: Tossou & Dimitrakakis (2016), Algorithm 1.

    Pseudo-code: :prf:ref:`alg-bound`.

    Each arm has a hybrid counter. With s the private sum of an arm's n rewards, n = 2^k + n',
    0 ≤ n' < 2^k, and ε₁ the budget of each part of the counter, the index at time t is

        s/n + ν/n + √(2 log t/n),        ν = (4√8/ε₁)·log t·(log2 n' + 1);

    every arm is pulled once first, and ties go to the lowest arm number. The horizon is not used.
    The bound on the regret is `dp_ucb_bound_regret`. Proof: :prf:ref:`thm-32`.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    ucb_term : bool
        Whether the index has its last term, as in the text of §3.1; False is the pseudo-code.
    split : {"half", "full"}
        Budget of the parts of a counter: see `HybridCounter`. "full" is the paper's.
    width : {"printed", "repaired"}
        "printed": ν as above. "repaired": with ⌊log2 n⌋ = k, the number of levels of the tree, in
        place of log2 n'.

    Notes
    -----
    The printed pseudo-code cannot be run as it stands. Our choices:

    - log2 n' is −∞ when n is a power of two: the bracket is 1 there, as only the k + 1 variables
      of the blocks are in the sum.
    - The index lacks the term √(2 log t/n) of UCB, to whose bound the text adds ν ("we add a
      tight upper bound … on the noise"): `ucb_term`.
    - The split of ε in the hybrid counters is left to a citation and to §2.3, which has scale 1/ε
      at powers of two and does not give the tree's: `split`. With "half", ν uses ε/2 like the
      noise, so that DPUCBBound(ε) has the same distribution as DPUCBBound(ε/2, split="full").
    - In §2.3 the tree of a stretch contains the element at 2^k, which the preceding block already
      contains: here it begins with the next one, as in Chan, Shi & Song, and has k levels.

    With "printed" the expected regret grows like a power of t, as ν decreases when a stretch begins
    and the noise does not. Proof: :prf:ref:`thm-32-false`.

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

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, scale = rewards.n_arms, self.counter.block_scale
        counters = [self.counter.counter(rng) for _ in range(n_arms)]
        pulls, sums, brackets = np.zeros((3, n_arms))  # the sums are private
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                log_t = math.log(t)
                index = (sums + noise_width(scale, log_t, brackets)) / pulls
                if self.ucb_term:
                    index += np.sqrt(2 * log_t / pulls)
                arm = int(np.argmax(index))
            sums[arm] = counters[arm].add(rewards.total(arm, 1))
            pulls[arm] += 1
            brackets[arm] = noise_bracket(int(pulls[arm]), self.width == "repaired")

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

    Each arm has a hybrid counter, which counts an element at every step: the reward for the arm
    that was played, 0 for all others. With s the private sum of an arm's n rewards, the index at
    time t is s/n + √(2 log t/n); every arm is pulled once first, and ties go to the lowest arm
    number. The horizon is not used. The bound on the regret is `dp_ucb_hybrid_regret`. Proof:
    :prf:ref:`thm-33`. With `literal` it is t times the largest gap: no better one is known.

    Parameters
    ----------
    epsilon : float
        ε > 0 of the paper; ``inf`` is allowed and gives `UCB`.
    literal : bool
        Whether the index is s/n alone, as in the pseudo-code of Algorithm 1 with ν = 0. §3.2 states
        "the same index as standard UCB".
    split : {"half", "full"}
        Budget of the parts of a counter: ε/2 each, or ε each, for a guarantee of 2ε together;
        "full" is the paper's. See `HybridCounter`.

    Notes
    -----
    The choices for `DPUCBBound` apply here, and:

    - It is "Algorithm 1 with ν = 0", which has no √(2 log t/n): `literal`.
    - "When arm a is played, insert 0 to all others": in the first K steps as well, so that every
      counter has t elements after step t.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.DPUCBHybrid(1.0), dpb.instances.td16("two"), 10**4, n_runs=2)
    >>> runs.how, runs.pulls.sum(axis=1).tolist()
    ('skipping: its law up to 4e-10', [10000, 10000])
    """

    label: ClassVar[str] = "DP-UCB-HYBRID"
    source: ClassVar[str] = "TD16, Algorithm 2"

    epsilon: Budget
    literal: Flag = False
    split: Literal["half", "full"] = "half"

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        counters = [self.counter.counter(rng) for _ in range(n_arms)]
        pulls, sums = np.zeros((2, n_arms))  # the sums are private
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                index = sums / pulls
                if not self.literal:
                    index += np.sqrt(2 * math.log(t) / pulls)
                arm = int(np.argmax(index))
            reward = rewards.total(arm, 1)
            pulls[arm] += 1
            for b in range(n_arms):
                sums[b] = counters[b].add(reward if b == arm else 0.0)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.literal:
            return partial(bounds.worst_regret, instance.gaps, horizon)
        scale = self.counter.block_scale
        return partial(bounds.dp_ucb_hybrid_regret, instance.gaps, horizon, block_scale=scale)
