"""The adaptive binary-tree counter: private running sums of a stream whose bound grows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._validation import check_fraction, check_integer, check_number, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.laplace import laplace

__all__ = ["AdaptiveTree", "AdaptiveTreeCounter", "next_adaptive_noise", "zeros_behind"]

_ZEROS = np.array([8, *((i & -i).bit_length() - 1 for i in range(1, 256))], dtype=np.int64)


@njit(cache=True, nogil=True)
def zeros_behind(n: int) -> int:
    """Return the position of the lowest set bit of n ≥ 1, from a table.

    Examples
    --------
    >>> [zeros_behind(n) for n in (1, 2, 12, 256, 2**61)]
    [0, 1, 2, 8, 61]
    """
    shift = 0
    while n & 255 == 0:
        n >>= 8
        shift += 8
    return shift + _ZEROS[n & 255]


@njit(cache=True, nogil=True)
def next_adaptive_noise(
    rng: np.random.Generator, scale: float, ends: NDArray[np.float64], last: float, n: int
) -> float:
    """Draw the node that ends with an arm's n-th reward and return the noise of the prefix.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Scale of this node.
    ends : numpy.ndarray of float, shape (64,)
        ``ends[j]``: noise of the prefix that ended with the latest node of level j; updated.
    last : float
        What the call for n − 1 returned; 0 for n = 1.
    n : int
        Number of the arm's rewards, this one included.

    Returns
    -------
    float
    """
    if n & 1:  # the prefix is that of n − 1 and one leaf
        noise = last + laplace(rng, scale)
        ends[0] = noise
        return noise
    rest = n & (n - 1)
    noise = laplace(rng, scale)
    if rest:
        noise += ends[zeros_behind(rest)]
    ends[zeros_behind(n)] = noise
    return noise


@dataclass(frozen=True)
class AdaptiveTree:
    """Adaptive tree mechanism: Tao, Wu, Zhao & Wang (2022), Algorithm 2 and Lemma 2.

    The i-th element lies in [−B_i, B_i], B_i = b·i^g non-decreasing. As in `BinaryTree` the prefix
    of length n is cut into the dyadic blocks of n's binary digits, and each block's sum carries
    one Laplace variable, drawn when the block ends; that of a block which ends with element n has
    scale 2·B_n·L/ε, with L = ⌊log2 T⌋ + 1 levels.

    *Privacy.* If one element changes, at i, then so do the sums of the blocks that contain it: at
    most one on each level, L in all, each by at most 2·B_i. A block with i in it ends at some
    n ≥ i, so that 2·B_i ≤ 2·B_n, and its density changes by a factor of at most
    exp(2·B_i·ε/(2·B_n·L)) ≤ exp(ε/L): all block sums together are ε-differentially private, and so
    is everything computed from them. Bounds that decreased would break the second step: the
    noise of the block that ends last would be too small for its first elements. ∎

    *Error.* The noise of the prefix of length n is a sum of at most L Laplace variables of scales
    at most s = 2·B_n·L/ε, since their blocks end at n or before. By Chan, Shi & Song (2011, Lemma
    2.8) it exceeds s·√(8ℓ·max(L, ℓ)) = 2·B_n·M/ε, M = L·√(8ℓ·max(L, ℓ)), with probability at most
    e^−ℓ, and is below the negative with as much. The log of that tail is linear in the threshold
    once ℓ > L: no bound of the form √ℓ·(…) holds at every confidence.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream; ``inf`` adds no noise.
    horizon : int
        Greatest stream length T ≥ 1.
    first_bound : float
        b > 0, the bound on the first element.
    growth : float
        g ≥ 0; with 0 the mechanism is a `BinaryTree` for [−b, b].

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> tree = AdaptiveTree(epsilon=0.5, horizon=1000, first_bound=2.0, growth=0.5)
    >>> tree.levels, tree.bound(9), tree.node_scale(9)
    (10, 6.0, 240.0)
    >>> exact = AdaptiveTree(float("inf"), 4, first_bound=1.0, growth=1.0)
    >>> counter = exact.counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (-1.0, 2.0, 0.5, 4.0)]
    [-1.0, 1.0, 1.5, 5.5]
    """

    epsilon: float
    horizon: int
    first_bound: float = 1.0
    growth: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        object.__setattr__(self, "horizon", check_integer("horizon", self.horizon, 1))
        object.__setattr__(self, "first_bound", check_positive("first_bound", self.first_bound))
        growth = check_number("growth", self.growth, "a finite number of at least 0")
        if not 0 <= growth < math.inf:
            raise ValueError(
                f"growth={self.growth!r} is out of range; allowed: a finite number of at least 0"
            )
        object.__setattr__(self, "growth", growth)

    @property
    def levels(self) -> int:
        """Number of levels L = ⌊log2 T⌋ + 1."""
        return int(self.horizon).bit_length()

    @property
    def node_factor(self) -> float:
        """Scale 2L/ε of a block's Laplace variable, over the bound on the block's last element."""
        return 2 * self.levels / self.epsilon

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all prefix sums together."""
        return PrivacyGuarantee("global", self.epsilon)

    def bound(self, n: int) -> float:
        """Return B_n = b·n^g, what the n-th element may not exceed in size."""
        return self.first_bound * float(n) ** self.growth

    def node_scale(self, n: int) -> float:
        """Return the scale 2·B_n·L/ε of the Laplace variable of a block that ends at n."""
        return self.node_factor * self.bound(n)

    def error_factor(self, log_term: float) -> float:
        """Return M = L·√(8ℓ·max(L, ℓ)), the error of a prefix in units of 2·B_n/ε."""
        return self.levels * math.sqrt(8 * log_term * max(self.levels, log_term))

    def error_width(self, n: int, log_term: float) -> float:
        """Bound that the error of the prefix of length n exceeds with probability 2·exp(−ℓ).

        In one given direction it is exp(−ℓ).
        """
        return 2 * self.bound(n) * self.error_factor(log_term) / self.epsilon

    def error_quantile(self, n: int, beta: float) -> float:
        """Bound that the error of the prefix of length n exceeds with probability β at most."""
        return self.error_width(n, math.log(2 / check_fraction("beta", beta)))

    def counter(self, rng: np.random.Generator) -> AdaptiveTreeCounter:
        """Start a counter that draws its noise from `rng`."""
        return AdaptiveTreeCounter(self, rng)


class AdaptiveTreeCounter:
    """A running adaptive-tree counter; made by `AdaptiveTree.counter`."""

    def __init__(self, tree: AdaptiveTree, rng: np.random.Generator) -> None:
        self._tree = tree
        self._rng = rng
        self._length = 0
        self._sum = 0.0
        self._noise = [0.0] * tree.levels  # of the latest block of each level

    def add(self, x: float) -> float:
        """Take the next element and return the private sum of the stream so far.

        Raises
        ------
        ValueError
            If `x` exceeds the element's bound in size, or the stream is longer than the horizon.
        """
        if self._length >= self._tree.horizon:
            raise ValueError(f"the stream is longer than horizon={self._tree.horizon}")
        n = self._length + 1
        bound = self._tree.bound(n)
        if not -bound <= x <= bound:
            raise ValueError(f"x={x!r} is out of range; allowed: [-{bound:g}, {bound:g}]")
        self._length = n
        self._sum += x
        level = (n & -n).bit_length() - 1
        self._noise[level] = laplace(self._rng, self._tree.node_scale(n))
        blocks = (j for j in range(self._tree.levels) if n >> j & 1)
        return self._sum + sum(self._noise[j] for j in blocks)
