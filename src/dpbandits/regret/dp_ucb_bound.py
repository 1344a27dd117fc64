"""DP-UCB-BOUND: UCB on hybrid counters, with a width for their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from dpbandits import bounds
from dpbandits.configuration import Budget, Flag
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.counters import HybridCounter
from dpbandits.regret.per_step import BLOCKS, IndexPolicy
from dpbandits.regret.skipping import IndexAlgorithm

__all__ = ["DPUCBBound", "HybridIndex"]


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
        factor = 4.0 * math.sqrt(8.0) * scale
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
