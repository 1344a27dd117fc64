"""Integer noise, drawn exactly: the discrete Laplace distribution, and counters with it.

Everything is integer arithmetic on uniform random bits, as in Canonne, Kamath & Steinke (2020): no
logarithm, no rounding, no float. So the distribution is exact, and the last bits of a release leak
nothing. Proof: :prf:ref:`thm-discrete-sampler`. Bits come from the operating system's secure
generator, or from a given generator, so that a run can be repeated. The duration of a draw depends
on its value; privacy does not cover an attacker who can measure it.

Algorithms that compare private statistics and reveal only their pulls draw `laplace`; their
guarantees refer to real numbers.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Configuration, Count
from dpbandits.guarantees import Guaranteed, PrivacyGuarantee
from dpbandits.mechanisms.counters import (
    BinaryTree,
    HybridCounter,
    LogarithmicCounter,
    RunningCounter,
)
from dpbandits.rewards.tables import Tables

__all__ = ["DiscreteCounter", "DiscreteLaplace"]

_AT_ONCE = 256  # random bits
_WholeCounter = BinaryTree | HybridCounter | LogarithmicCounter


# ------------------------------------------------------------------------------- exact sampling


class _Bits:
    """Uniform random bits, and integers made of them."""

    def __init__(self, rng: Rng | None) -> None:
        self._rng = rng
        self._kept, self._count = 0, 0

    def below(self, n: int) -> int:
        """Return one of 0, …, n − 1, each with probability 1/n."""
        size = (n - 1).bit_length()
        while True:
            while self._count < size:
                self._kept |= self._fresh() << self._count
                self._count += _AT_ONCE
            drawn = self._kept & ((1 << size) - 1)
            self._kept >>= size
            self._count -= size
            if drawn < n:
                return drawn

    def _fresh(self) -> int:
        if self._rng is None:
            return secrets.randbits(_AT_ONCE)
        words = self._rng.integers(0, 2**32, _AT_ONCE // 32, dtype=np.uint32)
        return int.from_bytes(words.astype("<u4").tobytes(), "little")

    def happens(self, numerator: int, denominator: int) -> bool:
        """Return True with probability exp(−γ), for γ = numerator/denominator in [0, 1].

        The first k of 1, 2, … for which an event of probability γ/k fails is odd with this
        probability.
        """
        k = 1
        while self.below(k * denominator) < numerator:
            k += 1
        return k % 2 == 1


def _discrete_laplace(rate: Fraction, bits: _Bits) -> int:
    """Return an integer k with probability proportional to exp(−rate·|k|)."""
    s, t = rate.numerator, rate.denominator
    while True:
        rest = bits.below(t)
        if not bits.happens(rest, t):
            continue
        turns = 0
        while bits.happens(1, 1):
            turns += 1
        size = (rest + t * turns) // s
        negative = bits.below(2) == 1
        if size > 0 or not negative:  # else zero would count twice
            return -size if negative else size


@functools.lru_cache(maxsize=256)
def _rate(epsilon: float, sensitivity: int) -> Fraction:
    """Return ε/sensitivity as an exact fraction of the float."""
    return Fraction(epsilon) / sensitivity


@dataclass(frozen=True)
class DiscreteLaplace(Configuration):
    """Noise for integers: P(Z = k) is proportional to e^(−ε|k|/Δ), drawn exactly.

    Pseudo-code: :prf:ref:`alg-discrete`.

    An integer that one person changes by at most Δ is ε-differentially private with this noise: not
    only up to rounding, but as computed. Proof: :prf:ref:`thm-discrete-private`. The float ε is
    used as an exact fraction.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` adds no noise.
    sensitivity : int
        Δ ≥ 1: largest change of the number by one person.

    Examples
    --------
    >>> import numpy as np
    >>> noise = DiscreteLaplace(epsilon=0.5)
    >>> isinstance(noise.draw(), int), isinstance(noise.draw(np.random.default_rng(0)), int)
    (True, True)
    >>> round(noise.probability(0) / noise.probability(1), 12) == round(math.exp(0.5), 12)
    True
    """

    epsilon: Budget
    sensitivity: Count = 1

    def draw(self, rng: Rng | None = None) -> int:
        """Draw the noise.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Source of random bits; by default the operating system's secure generator, whose draws
            nobody can repeat.

        Returns
        -------
        int
            The noise, in steps of 1.
        """
        if self.epsilon == math.inf:
            return 0
        return _discrete_laplace(_rate(self.epsilon, self.sensitivity), _Bits(rng))

    def release(self, numbers: Sequence[int], rng: Rng | None = None) -> list[int]:
        """Add noise to each of several integers, such as the counts of a trial's arms.

        Parameters
        ----------
        numbers : sequence of int
            The numbers. If one person changes only one of them, by at most Δ, the releases are
            together ε-private.
        rng : numpy.random.Generator, optional
            Source of random bits; by default the operating system's secure generator.

        Returns
        -------
        list of int
            The numbers with noise.

        Raises
        ------
        ValueError
            If one of them is not an integer.

        Examples
        --------
        >>> DiscreteLaplace(epsilon=math.inf).release([88, 91])
        [88, 91]
        """
        whole = [check_integer("numbers", each, -(2**62), 2**62) for each in numbers]
        return [each + self.draw(rng) for each in whole]

    def probability(self, k: int) -> float:
        """Return the probability of one value.

        Parameters
        ----------
        k : int
            The value.

        Returns
        -------
        float
            tanh(ε/(2Δ))·e^(−ε|k|/Δ).

        Raises
        ------
        ValueError
            If `k` is not an integer.
        """
        k = abs(check_integer("k", k, -(2**62), 2**62))
        if self.epsilon == math.inf:
            return float(k == 0)
        rate = self.epsilon / self.sensitivity
        return math.tanh(rate / 2) * math.exp(-rate * k)


# ------------------------------------------------------------------------------------- counters


def _check_whole(name: str, value: Any) -> _WholeCounter:
    """Check that a counter's variables have one budget each."""
    if not isinstance(value, _WholeCounter):
        raise ValueError(
            f"{name}={value!r} has no noise in whole numbers; allowed: a BinaryTree, a "
            "HybridCounter or a LogarithmicCounter"
        )
    return value


@dataclass(frozen=True)
class DiscreteCounter(Guaranteed, Configuration):
    """A counter with integer sums and noise: private as computed, including the last bits.

    Blocks, nodes and budgets are those of the given counter. Elements are rounded to multiples of
    1/m, and counted in steps of 1/m; the noise of a block is `DiscreteLaplace`, with the counter's
    scale. For rewards of 0 and 1, m = 1 suffices. Others change by at most 1/(2m) each: rounding is
    part of the algorithm, and keeps an element in [0, 1]. Proof: :prf:ref:`thm-discrete-private`.

    Parameters
    ----------
    mechanism : BinaryTree, HybridCounter or LogarithmicCounter
        The counter.
    steps : int
        Number m ≥ 1 of steps from 0 to 1.

    Raises
    ------
    ValueError
        If `mechanism` is another one.

    Notes
    -----
    The exact error distributions of the counters, such as `BinaryTree.union_error`, are for Laplace
    noise. `BinaryTree.error_quantile` is valid for integer noise as well: it uses exponential
    moments, which are no larger.

    Examples
    --------
    >>> counter = DiscreteCounter(BinaryTree(float("inf"), horizon=3), steps=4).counter()
    >>> [counter.add(x) for x in (1.0, 0.3, 0.5)]
    [1.0, 1.25, 1.75]
    """

    mechanism: Annotated[_WholeCounter, _check_whole]
    steps: Count = 1

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee of the counter, for all private sums together."""
        return self.mechanism.guarantee

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited: those of the counter."""
        return self.mechanism.tables

    def counter(self, rng: Rng | None = None) -> RunningCounter:
        """Start a counter.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Source of random bits; by default the operating system's secure generator.

        Returns
        -------
        RunningCounter
            A counter that has seen no element yet.
        """
        return RunningDiscreteCounter(self, rng)


class RunningDiscreteCounter(RunningCounter):
    """A running counter in integers; made by `DiscreteCounter.counter`.

    Parameters
    ----------
    counter : DiscreteCounter
        The counter's configuration.
    rng : numpy.random.Generator, optional
        Source of random bits; by default the operating system's secure generator.

    Examples
    --------
    >>> counter = RunningDiscreteCounter(DiscreteCounter(LogarithmicCounter(1.0)))
    >>> all(counter.add(1.0).is_integer() for _ in range(9))
    True
    """

    def __init__(self, counter: DiscreteCounter, rng: Rng | None = None) -> None:
        super().__init__(counter.mechanism, rng)
        self._steps = counter.steps
        self._sum = self._blocks_noise = 0  # integers, as is everything added to them

    def _element(self, x: float) -> int:
        return round(x * self._steps)

    def _noise(self, n: int, scale: float) -> int:
        budget, nodes = self._mechanism.budget_at(n)
        return DiscreteLaplace(budget, nodes * self._steps).draw(self._rng)

    def _value(self, total: float) -> float:
        return total / self._steps
