"""The binary-tree counter: private running sums of a stream of known length."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbandits._validation import check_fraction, check_integer, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.laplace import laplace

__all__ = ["BinaryTree", "BinaryTreeCounter"]


@dataclass(frozen=True)
class BinaryTree:
    """Binary-tree mechanism (Chan, Shi & Song 2011; Dwork et al. 2010).

    The prefix of length n is cut into the dyadic blocks of n's binary digits; each block's sum
    carries one Laplace variable, drawn when the block ends and kept. A stream element lies in
    at most L = ⌊log2 T⌋ + 1 released blocks, so that noise of scale L/ε on every block makes all
    prefix sums together ε-differentially private, and a prefix sum adds at most L variables.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream; ``inf`` adds no noise.
    horizon : int
        Greatest stream length T ≥ 1.

    Raises
    ------
    ValueError
        If `epsilon` is not positive or `horizon` not a whole number of at least 1.

    Examples
    --------
    >>> tree = BinaryTree(epsilon=0.5, horizon=1000)
    >>> tree.levels, tree.node_scale
    (10, 20.0)
    >>> counter = BinaryTree(epsilon=float("inf"), horizon=4).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5]
    """

    epsilon: float
    horizon: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        object.__setattr__(self, "horizon", check_integer("horizon", self.horizon, 1))

    @property
    def levels(self) -> int:
        """Number of levels L = ⌊log2 T⌋ + 1, for blocks of sizes 1, 2, 4, … that can end by T."""
        return int(self.horizon).bit_length()

    @property
    def node_scale(self) -> float:
        """Scale L/ε of the Laplace variable of one block, in units of the stream."""
        return self.levels / self.epsilon

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all prefix sums together; stream elements lie in [0, 1]."""
        return PrivacyGuarantee("global", self.epsilon)

    def error_quantile(self, beta: float) -> float:
        """Bound that the error of one prefix sum exceeds with probability at most `beta`.

        A sum Y of at most L independent Laplace variables of scale b satisfies
        P(|Y| > x) ≤ 2 exp(−x²/(8ν²)) for ν ≥ b√L and x ≤ √8 ν²/b (Chan, Shi & Song 2011,
        Lemma 2.8); ν = b·max(√L, √ℓ) with ℓ = log(2/β) gives x = b√8·√ℓ·max(√L, √ℓ).

        Parameters
        ----------
        beta : float
            Probability in (0, 1).

        Returns
        -------
        float
            In units of the stream.
        """
        return self.error_width(math.log(2 / check_fraction("beta", beta)))

    def error_width(self, log_term: float) -> float:
        """Bound that the error of one prefix sum exceeds with probability at most 2·exp(−ℓ).

        `error_quantile` for ℓ = log(2/β), also where β would be too small for a float.

        Parameters
        ----------
        log_term : float
            ℓ > 0.

        Returns
        -------
        float
            In units of the stream.

        Examples
        --------
        >>> tree = BinaryTree(epsilon=0.5, horizon=1000)
        >>> tree.error_width(math.log(2 / 0.01)) == tree.error_quantile(0.01)
        True
        >>> round(tree.error_width(10_000.0), 1)
        565685.4
        """
        return self.node_scale * math.sqrt(8 * log_term * max(self.levels, log_term))

    def error_probability(self, threshold: float) -> float:
        """Bound on the probability that one prefix sum errs by more than `threshold`.

        The inverse of `error_quantile`, capped at 1.
        """
        if self.node_scale == 0:
            return 0.0
        ratio = threshold / (self.node_scale * math.sqrt(8))
        return min(1.0, 2 * math.exp(-min(ratio, ratio * ratio / self.levels)))

    def counter(self, rng: np.random.Generator) -> BinaryTreeCounter:
        """Start a counter that draws its noise from `rng`."""
        return BinaryTreeCounter(self, rng)


class BinaryTreeCounter:
    """A running binary-tree counter; made by `BinaryTree.counter`."""

    def __init__(self, tree: BinaryTree, rng: np.random.Generator) -> None:
        self._tree = tree
        self._rng = rng
        self._length = 0
        self._sum = 0.0
        self._noise = [0.0] * tree.levels  # of the latest block of each level

    def add(self, x: float) -> float:
        """Take one stream element in [0, 1] and return the private sum of the stream so far.

        Raises
        ------
        ValueError
            If `x` is not in [0, 1] or the stream is longer than the horizon.
        """
        if not 0 <= x <= 1:
            raise ValueError(f"x={x!r} is out of range; allowed: [0, 1]")
        if self._length >= self._tree.horizon:
            raise ValueError(f"the stream is longer than horizon={self._tree.horizon}")
        self._length += 1
        self._sum += x
        level = (self._length & -self._length).bit_length() - 1
        self._noise[level] = laplace(self._rng, self._tree.node_scale)
        blocks = (j for j in range(self._tree.levels) if self._length >> j & 1)
        return self._sum + sum(self._noise[j] for j in blocks)
