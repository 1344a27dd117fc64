"""Private counters: running sums of a stream, with one privacy guarantee for all of them.

Each counter cuts the stream into blocks, adds one Laplace variable to the sum of a block when the
block ends, and keeps the result; a private sum adds up its noisy blocks. (Fresh noise for each sum
would reveal the first element again in every sum, at the cost of a budget each time.) A `KaryTree`
subtracts blocks as well, and draws their noise ahead.

The guarantees are proved for real numbers. For sums released as floats the last bits violate them
(:prf:ref:`prop-last-bits`): use a `DiscreteCounter` for releases.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import interpreted, kernel
from dpbandits._validation import (
    check_choice,
    check_integer,
    check_noise,
    check_range,
    reward_of,
)
from dpbandits.configuration import (
    LONGEST,
    Budget,
    Configuration,
    Fraction,
    Number,
    Positive,
    between,
    checked_arguments,
    whole,
)
from dpbandits.guarantees import Guaranteed, PrivacyGuarantee
from dpbandits.mechanisms.first_passage import TREE_LEVELS, lowest_level
from dpbandits.mechanisms.noise import (
    laplace,
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_union_error,
    laplace_union_width,
)
from dpbandits.rewards.tables import Tables

__all__ = [
    *("SPLITS", "AdaptiveTree", "BinaryTree", "HybridCounter"),
    *("KaryTree", "LogarithmicCounter", "best_arity"),
]

SPLITS = ("half", "full")
_laplace = interpreted(laplace)  # the compiled one is slow to accept a generator
_Length = Annotated[int, whole(1, 2**62)]
_Horizon = Annotated[int, whole(1, LONGEST)]
_LogTerm = Annotated[float, between(0.0, 1e15)]

MOST_ARITY = 101
"""Largest arity of a `KaryTree`: up to it no sum has more than 500 Laplace variables."""
_Error = Annotated[str, functools.partial(check_choice, choices=("mean", "greatest"))]


def _odd(name: str, value: object) -> int:
    """Check an arity: an odd number from 3 to `MOST_ARITY`."""
    found = check_integer(name, value, 3, MOST_ARITY)
    if found % 2 == 0:
        raise ValueError(f"{name}={found} is even; allowed: odd numbers from 3 to {MOST_ARITY}")
    return found


HYBRID_STATE = TREE_LEVELS + 1
"""Size of a counter's row in the state of `next_hybrid_noise`."""


class Counter(Guaranteed, Configuration, abc.ABC):
    """A mechanism that releases private running sums: a frozen dataclass with a budget.

    Base of the counters. A subclass has a field `epsilon` and defines `drawn`.

    Examples
    --------
    >>> from dpbandits.mechanisms import BinaryTree
    >>> from dpbandits.mechanisms.counters import Counter
    >>> tree = BinaryTree(epsilon=1.0, horizon=4)
    >>> isinstance(tree, Counter), str(tree.guarantee), tree.drawn(3)
    (True, 'ε = 1, central, event level', (3.0, 3))
    """

    epsilon: float  # a field of the subclasses

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all private sums together."""
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited: one arm, in the range of the first element."""
        return Tables(1, 1, getattr(self, "horizon", None), *self.bounds(1))

    def bounds(self, n: int) -> tuple[float, float]:
        """Return the range of the n-th element.

        Parameters
        ----------
        n : int
            Number of the element, from 1.

        Returns
        -------
        low, high : float
            Ends of the range; [0, 1] unless overridden.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        return 0.0, 1.0

    @abc.abstractmethod
    def drawn(self, n: int) -> tuple[float | None, int]:
        """Return the scale of the n-th element's Laplace variable, and the nodes in its sum.

        Parameters
        ----------
        n : int
            Number of the element, from 1.

        Returns
        -------
        scale : float or None
            Scale of the variable drawn with the element, in units of the stream; None if there is
            none.
        nodes : int
            Levels of the nodes in the sum, as bits; 0 if the variable is that of a block, whose
            noise stays in all later sums.
        """

    def budget_at(self, n: int) -> tuple[float, int]:
        """Return the budget of the n-th element's variable, and the number of nodes that share it.

        Its scale is nodes over budget; `DiscreteCounter` needs it as a fraction.

        Parameters
        ----------
        n : int
            Number of the element, from 1.

        Returns
        -------
        budget : float
            Budget of all variables that an element of this block can be in.
        nodes : int
            Most such variables.

        Raises
        ------
        TypeError
            If the counter's variables have no common budget.
        """
        raise TypeError(f"{type(self).__name__} has no budget of one variable")

    def counter(self, rng: Rng | None = None) -> RunningCounter:
        """Start a counter.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Source of the noise, for repeatable runs: anyone who knows its seed can subtract the
            noise. By default `dpbandits.mechanisms.secure_generator`.

        Returns
        -------
        RunningCounter
            A counter that has seen no element yet.

        Raises
        ------
        ValueError
            If `rng` is not a generator.
        """
        return RunningCounter(self, check_noise("rng", rng))


class RunningCounter:
    """A running counter; made by `Counter.counter`.

    Parameters
    ----------
    mechanism : Counter
        The counter's configuration.
    rng : numpy.random.Generator or None
        Source of the noise; None only for subclasses that do not use it.

    Examples
    --------
    >>> import numpy as np
    >>> counter = RunningCounter(BinaryTree(math.inf, horizon=3), np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.25, 0.5)]
    [1.0, 1.25, 1.75]
    """

    def __init__(self, mechanism: Counter, rng: Rng | None) -> None:
        self._mechanism = mechanism
        self._rng: Any = rng
        self._length = 0
        self._sum = 0.0
        self._blocks_noise = 0.0
        self._nodes = [0.0] * TREE_LEVELS  # noise of the latest node of each level
        self._released = 0.0

    def add(self, x: float) -> float:
        """Take one stream element and return the private sum of the stream so far."""
        n, horizon = self._length + 1, getattr(self._mechanism, "horizon", math.inf)
        if n > horizon:
            raise ValueError(
                f"x={x!r} is element {n} of the stream; allowed: horizon={horizon} of them"
            )
        low, high = self._mechanism.bounds(n)
        x = check_range("x", reward_of(x), low, high, f"[{low:g}, {high:g}]")
        self._length = n
        self._sum += self._element(x)
        self._released = self._release(n)
        return self._released

    def _release(self, n: int) -> float:
        """Return the release after the n-th element."""
        scale, nodes = self._mechanism.drawn(n)
        if scale is None:
            return self._released
        noise = self._noise(n, scale)
        if nodes:
            self._nodes[lowest_level(n)] = noise
        else:
            self._blocks_noise += noise
        in_sum = (self._nodes[j] for j in range(nodes.bit_length()) if nodes >> j & 1)
        return self._value(self._sum + self._blocks_noise + sum(in_sum))

    def _element(self, x: float) -> float:
        """Return the contribution of an element to the sum."""
        return x

    def _noise(self, n: int, scale: float) -> float:
        """Draw the variable of the n-th element."""
        return _laplace(self._rng, scale) if scale > 0.0 else 0.0

    def _value(self, total: float) -> float:
        """Return the release of a noisy total."""
        return total


# ------------------------------------------------------------------------------ of known length


@dataclass(frozen=True)
class _Tree(Counter):
    """Dyadic blocks up to a horizon."""

    epsilon: Budget
    horizon: _Horizon

    @property
    def levels(self) -> int:
        """Number of levels L = ⌊log2 T⌋ + 1: blocks of sizes 1, 2, 4, … can end by T."""
        return self.horizon.bit_length()


@dataclass(frozen=True)
class BinaryTree(_Tree):
    """Binary-tree mechanism (Chan, Shi & Song 2011; Dwork et al. 2010).

    The prefix of length n is cut into the dyadic blocks of n's binary digits. A stream element is
    in at most L = ⌊log2 T⌋ + 1 released blocks, so that noise of scale L/ε on every block makes all
    prefix sums together ε-differentially private. Proof: :prf:ref:`lem-tree`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream, whose elements are in [0, 1]; ``inf`` adds no
        noise.
    horizon : int
        Largest stream length T ≥ 1.

    Examples
    --------
    >>> tree = BinaryTree(epsilon=0.5, horizon=1000)
    >>> tree.levels, tree.node_scale
    (10, 20.0)
    >>> import numpy as np
    >>> counter = BinaryTree(epsilon=float("inf"), horizon=4).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5]
    """

    @property
    def node_scale(self) -> float:
        """Scale L/ε of the Laplace variable of one block, in units of the stream."""
        return self.levels / self.epsilon

    def drawn(self, n: int) -> tuple[float | None, int]:
        return self.node_scale, int(n)

    def budget_at(self, n: int) -> tuple[float, int]:
        return self.epsilon, self.levels

    @checked_arguments
    def error_quantile(self, beta: Fraction) -> float:
        """Return a bound that the error of one prefix sum exceeds with probability at most β.

        A sum Y of at most L independent Laplace variables of scale b satisfies
        P(|Y| > x) ≤ 2 exp(−x²/(8ν²)) for ν ≥ b√L and x ≤ √8 ν²/b (Chan, Shi & Song 2011,
        Lemma 2.8); ν = b·max(√L, √ℓ) with ℓ = log(2/β) gives x = b√8·√ℓ·max(√L, √ℓ).

        Parameters
        ----------
        beta : float
            Probability β, in (0, 1).

        Returns
        -------
        float
            Bound x on the size of the error, in units of the stream.
        """
        return self.error_width(math.log(2 / beta))

    @checked_arguments
    def error_width(self, log_term: Positive) -> float:
        """Return the bound of `error_quantile` for a β that may be too small for a float.

        Parameters
        ----------
        log_term : float
            ℓ = log(2/β), positive.

        Returns
        -------
        float
            Bound b·√(8ℓ·max(L, ℓ)) on the size of the error, in units of the stream.
        """
        return self.node_scale * math.sqrt(8 * log_term * max(self.levels, log_term))

    @checked_arguments
    def error_probability(self, threshold: Number) -> float:
        """Return the inverse of `error_quantile`: a probability for a bound on the error.

        Parameters
        ----------
        threshold : float
            Bound x ≥ 0 on the size of the error, in units of the stream.

        Returns
        -------
        float
            Bound on P(error of one prefix sum > x), at most 1.
        """
        if self.node_scale == 0:
            return 0.0
        ratio = threshold / (self.node_scale * math.sqrt(8))
        return min(1.0, 2 * math.exp(-min(ratio, ratio * ratio / self.levels)))

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Count the n from 1 to T with each number of binary ones, from 1 to L.

        A sum of n elements has as many nodes as n has binary ones. An n ≤ T agrees with T + 1 above
        some binary one of T + 1, say at place i, has 0 there, and arbitrary digits below: with r
        ones above, there are C(i, j − r) such n with j ones.
        """
        numbers = [0] * (self.levels + 1)
        above, end = 0, self.horizon + 1
        for place in reversed(range(end.bit_length())):
            if end >> place & 1:
                for below in range(place + 1):
                    numbers[above + below] += math.comb(place, below)
                above += 1
        return tuple(numbers[1:])

    @checked_arguments
    def union_error(self, threshold: Number) -> float:
        """Return Σ P(error of the sum of n elements > x) over n = 1, …, T, by exact distributions.

        Parameters
        ----------
        threshold : float
            Bound x ≥ 0 on the absolute errors, in units of the stream.

        Returns
        -------
        float
            Bound on P(some error > x), to 12 digits; it may be above 1.
        """
        if self.node_scale == 0:
            return 0.0
        return laplace_union_error(threshold / self.node_scale, self.prefixes)

    @checked_arguments
    def union_width(self, log_term: _LogTerm) -> float:
        """Return the least x for which `union_error` is at most e^−ℓ, like `laplace_union_width`.

        Proof: :prf:ref:`lem-tree-exact`.

        Parameters
        ----------
        log_term : float
            ℓ, from 0 to 10^15.

        Returns
        -------
        float
            Bound x on all T absolute errors, in units of the stream, rounded up.
        """
        return self.node_scale * laplace_union_width(log_term, self.prefixes)

    @checked_arguments
    def quantile_width(self, log_term: _LogTerm) -> float:
        """Return the `union_width` for T sums that all have as many nodes as there are levels.

        Parameters
        ----------
        log_term : float
            ℓ, from 0 to 10^15.

        Returns
        -------
        float
            Bound that the sum of L nodes exceeds in absolute value with probability e^−ℓ/T, rounded
            up.
        """
        numbers = (0,) * (self.levels - 1) + (self.horizon,)
        return self.node_scale * laplace_union_width(log_term, numbers)


@dataclass(frozen=True)
class AdaptiveTree(_Tree):
    """Adaptive tree mechanism: Tao, Wu, Zhao & Wang (2022), Algorithm 2 and Lemma 2.

    The i-th element lies in [−B_i, B_i], B_i = b·i^g non-decreasing. Blocks are those of
    `BinaryTree`; the variable of a block that ends with element n has scale 2·B_n·L/ε. All prefix
    sums together are ε-differentially private. Proof: :prf:ref:`lem-adaptive`. Decreasing bounds
    would violate this: the noise of the block that ends last would be too small for its first
    elements.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream; ``inf`` adds no noise.
    horizon : int
        Largest stream length T ≥ 1.
    first_bound : float
        Bound b > 0 on the absolute value of the first element.
    growth : float
        Exponent g, from 0 (a `BinaryTree` for [−b, b]) to 1000.

    Examples
    --------
    >>> tree = AdaptiveTree(epsilon=0.5, horizon=1000, first_bound=2.0, growth=0.5)
    >>> tree.levels, tree.bound(9), tree.node_scale(9)
    (10, 6.0, 240.0)
    """

    first_bound: Positive = 1.0
    growth: Annotated[float, between(0, 1000)] = 0.0

    @property
    def node_factor(self) -> float:
        """Scale 2L/ε of a block's Laplace variable, over the bound on the block's last element."""
        return 2 * self.levels / self.epsilon

    def _bound(self, n: int) -> float:
        """Return B_n without checks: a counter needs it at every element."""
        found: float = self.first_bound * float(n) ** self.growth
        return found

    @checked_arguments
    def bound(self, n: _Horizon) -> float:
        """Return B_n = b·n^g, the bound on the absolute value of the n-th element.

        Parameters
        ----------
        n : int
            Number of the element, from 1.

        Returns
        -------
        float
            The bound, in units of the stream.
        """
        return self._bound(n)

    def bounds(self, n: int) -> tuple[float, float]:
        bound = self._bound(n)
        return -bound, bound

    @checked_arguments
    def node_scale(self, n: _Horizon) -> float:
        """Return the scale 2·B_n·L/ε of the Laplace variable of a block that ends at n.

        Parameters
        ----------
        n : int
            Number of the block's last element, from 1.

        Returns
        -------
        float
            The scale, in units of the stream.
        """
        return self.node_factor * self._bound(n)

    def drawn(self, n: int) -> tuple[float | None, int]:
        return self.node_factor * self._bound(n), int(n)

    @checked_arguments
    def error_factor(self, log_term: Positive) -> float:
        """Return M = L·min (ℓ − L·log(1 − λ²))/λ, the error of a prefix sum in units of 2·B_n/ε.

        The noise of the prefix of length n exceeds 2·B_n·M/ε with probability at most e^−ℓ, and
        likewise for −2·B_n·M/ε: Chernoff's bound at its optimum, 0 < λ < 1. The bound is valid for
        every λ; the best one is found by bisection. Proof: :prf:ref:`lem-adaptive`.

        Parameters
        ----------
        log_term : float
            ℓ, positive.

        Returns
        -------
        float
            The factor M.
        """
        low, high = 0.0, 1.0
        for _ in range(50):  # 2Lλ²/(1 − λ²) + L·log(1 − λ²) increases with λ and must equal ℓ
            middle = (low + high) / 2
            square = middle * middle
            rises = self.levels * (2 * square / (1 - square) + math.log1p(-square))
            low, high = (middle, high) if rises < log_term else (low, middle)
        best = (low + high) / 2
        return self.levels * (log_term - self.levels * math.log1p(-best * best)) / best

    @checked_arguments
    def error_width(self, n: _Horizon, log_term: Positive) -> float:
        """Return a bound that the error of a prefix exceeds with probability at most 2·e^−ℓ.

        Parameters
        ----------
        n : int
            Length of the prefix, from 1 to T.
        log_term : float
            ℓ, positive.

        Returns
        -------
        float
            Bound 2·B_n·M/ε on the size of the error, in units of the stream.
        """
        return 2 * self.bound(n) * self.error_factor(log_term) / self.epsilon

    @checked_arguments
    def error_quantile(self, n: _Horizon, beta: Fraction) -> float:
        """Return a bound that the error of a prefix exceeds with probability at most β.

        Parameters
        ----------
        n : int
            Length of the prefix, from 1 to T.
        beta : float
            Probability β, in (0, 1).

        Returns
        -------
        float
            Bound on the size of the error, in units of the stream.
        """
        return self.error_width(n, math.log(2 / beta))


# -------------------------------------------------- of known length, with an exact distribution


class _Exact(Counter):
    """Base of the counters with an exactly computed error distribution."""

    @abc.abstractmethod
    def noise_terms(self, length: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Return the number of Laplace variables of each scale in the sum at `length`.

        Parameters
        ----------
        length : int
            Number of elements, from 1 to 2^62.

        Returns
        -------
        counts : tuple of int
            Numbers of variables, at most two.
        scales : tuple of float
            Their scales, in units of the stream.

        Raises
        ------
        ValueError
            If `length` is out of range.
        """

    @checked_arguments
    def error_quantile(self, beta: Fraction, length: _Length) -> float:
        """Return the exact bound that the error of the sum at `length` exceeds with probability β.

        Parameters
        ----------
        beta : float
            Probability β, in (0, 1).
        length : int
            Number of elements, from 1 to 2^62.

        Returns
        -------
        float
            Quantile of the absolute error, in units of the stream.
        """
        return laplace_sum_quantile(beta, *self.noise_terms(length))

    @checked_arguments
    def error_probability(self, threshold: Number, length: _Length) -> float:
        """Return the exact probability that the error of the sum at `length` exceeds `threshold`.

        Parameters
        ----------
        threshold : float
            Bound on the absolute error, in units of the stream.
        length : int
            Number of elements, from 1 to 2^62.

        Returns
        -------
        float
            The probability.
        """
        return laplace_sum_error(threshold, *self.noise_terms(length))


@dataclass(frozen=True)
class KaryTree(_Exact):
    """k-ary tree with negative digits (Andersson, Pagh, Steiner & Torkamani 2025), for odd k.

    A prefix length is written in base k with digits from −(k − 1)/2 to (k − 1)/2. The digits above
    digit j form a multiple of k^(j+1); a positive digit d adds the d nodes of size k^j after it, a
    negative one subtracts the −d nodes before it. These may end after the prefix: only their noise
    is needed, since the exact sums of blocks beyond n cancel, and it is drawn ahead. With the least
    h for which h digits represent all lengths up to T, an element is in at most h nodes that are
    ever used, so that noise of scale h/ε on each makes all prefix sums together ε-differentially
    private, even if the stream depends on the sums. The number of Laplace variables in the noise at
    n is the sum of the absolute values of n's digits. Proof: :prf:ref:`thm-kary`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream, whose elements are in [0, 1]; ``inf`` adds no
        noise.
    horizon : int
        Largest stream length T, from 1 to 2⁶².
    arity : int
        k, odd, from 3 to 101. `best_arity` returns the one with the least error.

    Examples
    --------
    >>> tree = KaryTree(epsilon=0.5, horizon=1000, arity=5)
    >>> tree.levels, tree.node_scale, tree.digits(7), tree.digits(8)
    (5, 10.0, (2, 1, 0, 0, 0), (-2, 2, 0, 0, 0))
    >>> import numpy as np
    >>> counter = KaryTree(float("inf"), horizon=4).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5]
    """

    epsilon: Budget
    horizon: _Length
    arity: Annotated[int, _odd] = 3

    @property
    def levels(self) -> int:
        """Number of digits: the least h with (k^h − 1)/2 ≥ T."""
        levels, longest = 0, 0
        while longest < self.horizon:
            longest += (self.arity - 1) // 2 * self.arity**levels
            levels += 1
        return levels

    @property
    def node_scale(self) -> float:
        """Scale h/ε of the Laplace variable of one node, in units of the stream."""
        return self.levels / self.epsilon

    @checked_arguments
    def digits(self, n: _Length) -> tuple[int, ...]:
        """Return the h digits of a prefix length, the lowest first.

        Parameters
        ----------
        n : int
            Length of the prefix, from 1 to T.

        Returns
        -------
        tuple of int
            The digits, from −(k − 1)/2 to (k − 1)/2.

        Raises
        ------
        ValueError
            If `n` is larger than T.
        """
        if n > self.horizon:
            raise ValueError(f"n={n} is out of range; allowed: from 1 to horizon={self.horizon}")
        return self._digits(n)

    def _digits(self, n: int) -> tuple[int, ...]:
        """Return `digits` without checks."""
        half, digits = (self.arity - 1) // 2, []
        for _ in range(self.levels):
            digits.append((n + half) % self.arity - half)
            n = (n - digits[-1]) // self.arity
        return tuple(digits)

    def drawn(self, n: int) -> tuple[float | None, int]:
        """Return the scale of the noise of each node, and the levels of the digits that are not 0.

        The number of variables drawn with the n-th element depends on the elements before.

        Parameters
        ----------
        n : int
            Number of the element, from 1.

        Returns
        -------
        scale : float
            Scale h/ε of one variable, in units of the stream.
        nodes : int
            Levels of the nodes in the sum, as bits.
        """
        return self.node_scale, sum(1 << j for j, d in enumerate(self._digits(int(n))) if d)

    def counter(self, rng: Rng | None = None) -> RunningCounter:
        return _RunningKaryTree(self, check_noise("rng", rng))

    @checked_arguments
    def noise_terms(self, length: _Length) -> tuple[tuple[int, ...], tuple[float, ...]]:
        return (sum(map(abs, self.digits(length))),), (self.node_scale,)

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Count the n from 1 to T with noise of 1, 2, … nodes, up to h·(k − 1)/2.

        A number with the digits of T down to some place, a smaller digit there and any digits below
        is smaller than T, and every smaller number is of this form. Those up to 0, counted in the
        same way, are subtracted.
        """
        up_to_horizon = self._sums_up_to(self._digits(self.horizon))
        up_to_zero = self._sums_up_to((0,) * self.levels)
        return tuple(a - b for a, b in zip(up_to_horizon, up_to_zero, strict=True))[1:]

    def _sums_up_to(self, digits: tuple[int, ...]) -> list[int]:
        """Count the numbers of h digits, up to one of them, by the sum of their absolute digits."""
        half = (self.arity - 1) // 2
        found, above = [0] * (self.levels * half + 1), 0
        below = [[1]]  # for each sum, how many numbers of j digits, of either sign, have it
        for _ in digits:
            longer = [0] * (len(below[-1]) + half)
            for digit in range(-half, half + 1):
                for total, count in enumerate(below[-1]):
                    longer[total + abs(digit)] += count
            below.append(longer)
        for place in reversed(range(len(digits))):
            for digit in range(-half, digits[place]):
                for total, count in enumerate(below[place]):
                    found[above + abs(digit) + total] += count
            above += abs(digits[place])
        found[above] += 1
        return found

    @property
    def total_nodes(self) -> int:
        """Number of nodes in the sums at n = 1, …, T, including subtracted ones."""
        zero = (0,) * self.levels
        return self._nodes_up_to(self._digits(self.horizon)) - self._nodes_up_to(zero)

    def _nodes_up_to(self, digits: tuple[int, ...]) -> int:
        """Return the total number of nodes of all numbers of h digits, up to one of them."""
        half, nodes, above = (self.arity - 1) // 2, 0, 0
        for place in reversed(range(len(digits))):
            numbers = self.arity**place
            within = place * numbers * (self.arity**2 - 1) // (4 * self.arity)
            sizes = (abs(digit) for digit in range(-half, digits[place]))
            nodes += sum(numbers * (above + size) + within for size in sizes)
            above += abs(digits[place])
        return nodes + above

    @property
    def most_nodes(self) -> int:
        """Largest number of nodes in the sum at any n from 1 to T."""
        return max(m for m, number in enumerate(self.prefixes, 1) if number)

    @property
    def mean_variance(self) -> float:
        """Variance of the noise, on average over n = 1, …, T, in squared units of the stream."""
        return 2 * self.node_scale**2 * (self.total_nodes / self.horizon)

    @property
    def greatest_variance(self) -> float:
        """Largest variance of the noise at any n from 1 to T, in squared units of the stream."""
        return 2 * self.node_scale**2 * self.most_nodes

    @checked_arguments
    def union_width(self, log_term: _LogTerm) -> float:
        """Return the least x with Σ P(error of the sum of n elements > x) ≤ e^−ℓ over n ≤ T.

        It uses the exact distributions, like `laplace_union_width`. Proof:
        :prf:ref:`lem-tree-exact`, with the numbers of `prefixes`.

        Parameters
        ----------
        log_term : float
            ℓ, from 0 to 10^15.

        Returns
        -------
        float
            Bound x on all T absolute errors, in units of the stream, rounded up.
        """
        return self.node_scale * laplace_union_width(log_term, self.prefixes)


class _RunningKaryTree(RunningCounter):
    """A running `KaryTree`: it stores the noise of the nodes around one boundary of each level."""

    _mechanism: KaryTree

    def __init__(self, mechanism: KaryTree, rng: Rng | None) -> None:
        super().__init__(mechanism, rng)
        self._boundary = [0] * mechanism.levels  # counted in nodes of the next level
        self._about: list[tuple[list[float], list[float]]]  # after it and before it, nearest first
        self._about = [([], []) for _ in self._boundary]

    def _release(self, n: int) -> float:
        scale, above, noise = self._mechanism.node_scale, n, 0.0
        for level, digit in enumerate(self._mechanism._digits(n)):
            above = (above - digit) // self._mechanism.arity
            if above != self._boundary[level]:
                self._boundary[level], self._about[level] = above, ([], [])
            nodes = self._about[level][1 if digit < 0 else 0]
            while len(nodes) < abs(digit):
                nodes.append(self._noise(n, scale))
            used = sum(nodes[: abs(digit)])
            noise = noise - used if digit < 0 else noise + used
        return self._value(self._sum + noise)


KARY_STATE = 3
"""Numbers that `next_kary_noise` keeps of a level, beside the sums of its nodes."""


@kernel(borrows=True)
def next_kary_noise(
    rng: Rng, shape: tuple[float, int, int], state: Floats, arm: int, before: int, n: int
) -> float:
    """Return the noise of a counter's sum at n, whose last sum was at `before`.

    `shape` is the scale of a node, the arity and the number of levels. State of a level: its part
    of the noise, its digit, how many nodes on the used side of its boundary are drawn, and the sums
    of the first 1, 2, … of them. Sums between `before` and n are never read again. It draws as
    `_RunningKaryTree` does.

    Shapes: `state` (K, levels·(half of the arity + 3)).
    """
    scale, arity, levels = shape
    half = (arity - 1) // 2
    kept = state[arm]
    if n == before + 1 and before > 0 and kept[1] < half:  # the boundaries are the same
        digit = int(kept[1]) + 1
        kept[1] = digit
        if digit <= 0:
            kept[0] = -kept[2 - digit] if digit < 0 else 0.0
        else:
            kept[0] += laplace(rng, scale)
            kept[2] = digit
            kept[2 + digit] = kept[0]
    else:
        above, was_above, moved = n, before, True
        for level in range(levels):
            part = level * (half + KARY_STATE)
            digit, old = (above + half) % arity - half, (was_above + half) % arity - half
            above, was_above = (above - digit) // arity, (was_above - old) // arity
            moved = before == 0 or above != was_above
            drawn, size = 0 if moved or old <= 0 < digit else int(kept[part + 2]), abs(digit)
            while drawn < size:
                total = kept[part + 2 + drawn] if drawn > 0 else 0.0
                drawn += 1
                kept[part + 2 + drawn] = total + laplace(rng, scale)
            used = kept[part + 2 + size] if size > 0 else 0.0
            kept[part], kept[part + 1] = -used if digit < 0 else used, digit
            kept[part + 2] = drawn
            if not moved:
                break
    noise = 0.0
    for level in range(levels):
        noise += kept[level * (half + KARY_STATE)]
    return noise


@checked_arguments
def best_arity(horizon: _Length, error: _Error = "mean") -> int:
    """Return the odd k from 3 to 101 for which a `KaryTree` has the least variance.

    Parameters
    ----------
    horizon : int
        Largest stream length T, from 1 to 2⁶².
    error : {"mean", "greatest"}
        The variance on average over the prefixes, or the largest.

    Returns
    -------
    int
        The least such k; it does not depend on ε.

    Examples
    --------
    >>> best_arity(1000), best_arity(10**7), best_arity(10**7, "greatest")
    (13, 17, 17)
    """

    def variance(arity: int) -> int:  # over 2/ε², and for the average times T
        tree = KaryTree(1.0, horizon, arity)
        nodes = tree.total_nodes if error == "mean" else tree.most_nodes
        return tree.levels**2 * nodes

    return min(range(3, MOST_ARITY + 1, 2), key=variance)


# -------------------------------------------------------------------------------- of any length


@dataclass(frozen=True)
class LogarithmicCounter(_Exact):
    """Logarithmic mechanism (Chan, Shi & Song 2011, §4), for a stream of any length.

    The blocks {1}, {2}, {3, 4}, {5, …, 8}, … end at the powers of two, and their variables have
    scale 1/ε. The private sum of the stream up to 2^k adds k + 1 blocks; between powers of two it
    stays unchanged. All private sums together are ε-differentially private. Proof:
    :prf:ref:`thm-counters`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream, whose elements are in [0, 1]; ``inf`` adds no
        noise.

    Examples
    --------
    >>> import numpy as np
    >>> counter = LogarithmicCounter(epsilon=float("inf")).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5, 2.5]
    """

    epsilon: Budget

    @property
    def block_scale(self) -> float:
        """Scale 1/ε of the Laplace variable of one block, in units of the stream."""
        return 1 / self.epsilon

    def drawn(self, n: int) -> tuple[float | None, int]:
        n = int(n)
        return (None if n & (n - 1) else self.block_scale), 0

    def budget_at(self, n: int) -> tuple[float, int]:
        return self.epsilon, 1

    @checked_arguments
    def noise_terms(self, length: _Length) -> tuple[tuple[int, ...], tuple[float, ...]]:
        return (length.bit_length(),), (self.block_scale,)


@dataclass(frozen=True)
class HybridCounter(_Exact):
    """Hybrid mechanism (Chan, Shi & Song 2011, §4), for a stream of any length.

    A logarithmic counter with noise of scale 1/ε₁ gives the sums at the powers of two. Between 2^k
    and 2^(k+1) a tree with k levels, whose nodes have noise of scale k/ε₂, gives the sum since 2^k.
    Every element draws one variable, of the block or node that ends with it. All sums together are
    (ε₁ + ε₂)-differentially private, and from n = 4 on not for any smaller budget. Proof:
    :prf:ref:`thm-counters`.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0, which `split` halves or not; the stream's elements are in [0, 1]. ``inf`` adds
        no noise.
    split : {"half", "full"}
        ε₁ = ε₂ = ε/2, as in Chan, Shi & Song; or ε₁ = ε₂ = ε, 2ε-differentially private, as
        Tossou & Dimitrakakis (2016, §2.3) describe the noise of the powers of two.

    Examples
    --------
    >>> [HybridCounter(0.5, split).guarantee.epsilon for split in ("half", "full")]
    [0.5, 1.0]
    >>> HybridCounter(epsilon=1.0, split="full").noise_terms(8 + 5)
    ((4, 2), (1.0, 3.0))
    """

    epsilon: Budget
    split: Annotated[str, functools.partial(check_choice, choices=SPLITS)] = "half"

    @property
    def part_epsilon(self) -> float:
        """Budget ε₁ = ε₂ of the blocks, and of each tree."""
        return self.epsilon / 2 if self.split == "half" else self.epsilon

    @property
    def block_scale(self) -> float:
        """Scale 1/ε₁ of the Laplace variable of one block, in units of the stream."""
        return 1 / self.part_epsilon

    @checked_arguments
    def node_scale(self, levels: Annotated[int, whole(0)]) -> float:
        """Return the scale k/ε₂ of the Laplace variable of a node.

        Parameters
        ----------
        levels : int
            Number k of levels of the node's tree.

        Returns
        -------
        float
            The scale, in units of the stream.
        """
        return levels / self.part_epsilon

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", 2 * self.part_epsilon)

    def drawn(self, n: int) -> tuple[float | None, int]:
        levels = int(n).bit_length() - 1
        leaf = int(n) - (1 << levels)
        return (levels / self.part_epsilon if leaf else self.block_scale), leaf

    def budget_at(self, n: int) -> tuple[float, int]:
        return self.part_epsilon, int(n).bit_length() - 1 if n & (n - 1) else 1

    @checked_arguments
    def noise_terms(self, length: _Length) -> tuple[tuple[int, ...], tuple[float, ...]]:
        levels = length.bit_length() - 1
        return (levels + 1, length.bit_count() - 1), (self.block_scale, self.node_scale(levels))


@kernel(borrows=True)
def next_hybrid_noise(
    rng: Rng, block_scale: float, level_scale: float, state: Floats, arm: int, n: int
) -> float:
    """Draw the one Laplace variable of a counter's n-th element and return the noise of its sum.

    The noise at n adds it to the noise at n without its lowest set bit, or, at a power of two, to
    the noise at the power of two before.

    Shapes: `state` (K, 65).
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
