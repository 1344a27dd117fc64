"""The hybrid counter: private running sums of a stream whose length nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._validation import check_choice, check_integer, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.first_passage import TREE_LEVELS, lowest_level
from dpbandits.mechanisms.laplace import laplace
from dpbandits.mechanisms.laplace_sums import laplace_sum_error, laplace_sum_quantile

__all__ = [
    "HYBRID_STATE",
    "SPLITS",
    "HybridCounter",
    "RunningHybridCounter",
    "next_hybrid_noise",
]

SPLITS = ("half", "full")

HYBRID_STATE = TREE_LEVELS + 1
"""Size of the row of numbers that `next_hybrid_noise` keeps of a counter."""


@njit(cache=True, nogil=True)
def next_hybrid_noise(
    rng: np.random.Generator,
    block_scale: float,
    level_scale: float,
    state: NDArray[np.float64],
    arm: int,
    n: int,
) -> float:
    """Draw the one Laplace variable of a counter's n-th element and return the noise of its sum.

    At n = 2^k it is the variable of the block that ends there. At n = 2^k + τ, 0 < τ < 2^k, it is
    that of the node which ends at the τ-th leaf of the tree of this stretch; its scale is
    k·level_scale. The noise at n adds it to the noise at n without its lowest set bit, or, at a
    power of two, to the noise at the power of two before.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    block_scale : float
        Scale of the variable of a block.
    level_scale : float
        Scale of the variable of a node, over the number of levels of its tree.
    state : numpy.ndarray of float, shape (K, 65)
        ``state[b, j]``: the noise at the latest n with j as its lowest set bit in the counter of
        arm b, and ``state[b, 64]``: the number k of levels of the present tree. Zeros at the
        start; updated in place.
    arm : int
        The arm.
    n : int
        How many elements its counter has, this one included; n is one more at each call.

    Returns
    -------
    float

    Examples
    --------
    Without noise in the blocks, the sum at a power of two is exact; the tree has its own noise.

    >>> state, rng = np.zeros((1, HYBRID_STATE)), np.random.default_rng(0)
    >>> noise = [next_hybrid_noise(rng, 0.0, 1.0, state, 0, n) for n in range(1, 9)]
    >>> [bool(z) for z in noise]
    [False, False, True, False, True, True, True, False]
    """
    level = lowest_level(n)
    rest = n & (n - 1)
    if rest == 0:
        noise = laplace(rng, block_scale)
        if level > 0:  # no element of the stretch before has this level but its first
            noise += state[arm, level - 1]
        state[arm, TREE_LEVELS] = level
    else:
        noise = state[arm, lowest_level(rest)]
        noise += laplace(rng, level_scale * state[arm, TREE_LEVELS])
    state[arm, level] = noise
    return noise


@dataclass(frozen=True)
class HybridCounter:
    """Hybrid mechanism (Chan, Shi & Song 2011, §4), for a stream of any length.

    A logarithmic counter gives the sums at the powers of two. Between 2^k and 2^(k+1) a tree of
    its own, with k levels for at most 2^k − 1 elements, gives the sum since 2^k. With ε₁ for the
    blocks of the logarithmic counter and ε₂ for each tree,

    - a block gets one Laplace variable of scale 1/ε₁, a node one of scale k/ε₂;
    - every element draws exactly one variable: that of the block that ends with it if it is a
      power of two, and else that of the node of the tree which ends with it;
    - the noise at n = 2^k + τ is the sum of k + 1 variables of blocks and of one of a node for
      each set bit of τ.

    An element lies in one block and, unless it ends a block, in at most k nodes of one tree: all
    sums together are (ε₁ + ε₂)-differentially private, and from n = 4 on no less is true, since
    sums and noise variables determine each other.

    Parameters
    ----------
    epsilon : float
        ε > 0; ``inf`` adds no noise.
    split : {"half", "full"}
        "half": ε₁ = ε₂ = ε/2, as Chan, Shi & Song have it: ε-differentially private.
        "full": ε₁ = ε₂ = ε, as Tossou & Dimitrakakis (2016, §2.3) describe the noise of the
        powers of two: 2ε-differentially private.

    Raises
    ------
    ValueError
        If `epsilon` is not positive or `split` unknown.

    Examples
    --------
    >>> HybridCounter(epsilon=0.5).guarantee.epsilon
    0.5
    >>> HybridCounter(epsilon=0.5, split="full").guarantee.epsilon
    1.0
    >>> counter = HybridCounter(epsilon=float("inf")).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5]
    """

    epsilon: float
    split: str = "half"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        check_choice("split", self.split, SPLITS)

    @property
    def part_epsilon(self) -> float:
        """Budget ε₁ = ε₂ of the blocks, and of each tree."""
        return self.epsilon / 2 if self.split == "half" else self.epsilon

    @property
    def block_scale(self) -> float:
        """Scale 1/ε₁ of the Laplace variable of one block, in units of the stream."""
        return 1 / self.part_epsilon

    def node_scale(self, levels: int) -> float:
        """Scale k/ε₂ of the Laplace variable of a node in a tree of k levels."""
        return levels / self.part_epsilon

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all private sums together; stream elements lie in [0, 1]."""
        return PrivacyGuarantee("global", 2 * self.part_epsilon)

    def noise_terms(self, length: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Return how many Laplace variables the sum at `length` has of each scale.

        Parameters
        ----------
        length : int
            Length n = 2^k + τ of the stream so far.

        Returns
        -------
        counts, scales : tuple
            As `laplace_sum_tail` takes them: k + 1 of a block's scale, and one of a node's scale
            for each set bit of τ.

        Examples
        --------
        >>> HybridCounter(epsilon=1.0, split="full").noise_terms(8 + 5)
        ((4, 2), (1.0, 3.0))
        """
        length = check_integer("length", length, 1, 2**62)
        levels = length.bit_length() - 1
        return (levels + 1, length.bit_count() - 1), (self.block_scale, self.node_scale(levels))

    def error_quantile(self, beta: float, length: int) -> float:
        """Return what the error of the sum at `length` exceeds with probability `beta`: exact.

        Parameters
        ----------
        beta : float
            Probability in (0, 1).
        length : int
            Length n of the stream so far.

        Returns
        -------
        float
            In units of the stream.
        """
        return laplace_sum_quantile(beta, *self.noise_terms(length))

    def error_probability(self, threshold: float, length: int) -> float:
        """Return the probability that the error of the sum at `length` exceeds `threshold`."""
        return laplace_sum_error(threshold, *self.noise_terms(length))

    def counter(self, rng: np.random.Generator) -> RunningHybridCounter:
        """Start a counter that draws its noise from `rng`."""
        return RunningHybridCounter(self, rng)


class RunningHybridCounter:
    """A running hybrid counter; made by `HybridCounter.counter`."""

    def __init__(self, mechanism: HybridCounter, rng: np.random.Generator) -> None:
        self._mechanism = mechanism
        self._rng = rng
        self._length = 0
        self._sum = 0.0
        self._blocks_noise = 0.0
        self._levels = 0
        self._nodes: list[float] = []  # of the latest node of each level of the present tree

    def add(self, x: float) -> float:
        """Take one stream element in [0, 1] and return the private sum of the stream so far.

        Raises
        ------
        ValueError
            If `x` is not in [0, 1].
        """
        if not 0 <= x <= 1:
            raise ValueError(f"x={x!r} is out of range; allowed: [0, 1]")
        self._length += 1
        self._sum += x
        if self._length & (self._length - 1) == 0:
            self._levels = self._length.bit_length() - 1
            self._nodes = [0.0] * self._levels
            self._blocks_noise += laplace(self._rng, self._mechanism.block_scale)
            return self._sum + self._blocks_noise
        leaf = self._length - (1 << self._levels)
        level = (leaf & -leaf).bit_length() - 1
        self._nodes[level] = laplace(self._rng, self._mechanism.node_scale(self._levels))
        nodes = (self._nodes[j] for j in range(self._levels) if leaf >> j & 1)
        return self._sum + self._blocks_noise + sum(nodes)
