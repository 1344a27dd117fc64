"""The logarithmic counter: a private sum at each power of two, without end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbandits._validation import check_integer, check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.laplace import laplace
from dpbandits.mechanisms.laplace_sums import laplace_sum_error, laplace_sum_quantile

__all__ = ["LogarithmicCounter", "RunningLogarithmicCounter"]


@dataclass(frozen=True)
class LogarithmicCounter:
    """Logarithmic mechanism (Chan, Shi & Song 2011, §4), for a stream of any length.

    The blocks {1}, {2}, {3, 4}, {5, …, 8}, … end at the powers of two. When a block ends, its sum
    gets one Laplace variable of scale 1/ε, and the private sum of the stream up to 2^k is the sum
    of k + 1 such block sums. An element lies in one block, so that all private sums together are
    ε-differentially private.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0 of the whole stream; ``inf`` adds no noise.

    Raises
    ------
    ValueError
        If `epsilon` is not positive.

    Notes
    -----
    The noise of the sums is kept: one variable a block, and none twice. Noise drawn anew for each
    sum of the whole stream would show the first element k + 1 times, which costs (k + 1)ε.

    Examples
    --------
    Between powers of two the latest private sum stands:

    >>> counter = LogarithmicCounter(epsilon=float("inf")).counter(np.random.default_rng(0))
    >>> [counter.add(x) for x in (1.0, 0.5, 0.0, 1.0, 1.0)]
    [1.0, 1.5, 1.5, 2.5, 2.5]
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))

    @property
    def block_scale(self) -> float:
        """Scale 1/ε of the Laplace variable of one block, in units of the stream."""
        return 1 / self.epsilon

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all private sums together; stream elements lie in [0, 1]."""
        return PrivacyGuarantee("global", self.epsilon)

    def noise_terms(self, length: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Return how many Laplace variables the latest private sum has, and of which scale.

        Parameters
        ----------
        length : int
            Length n of the stream so far.

        Returns
        -------
        counts, scales : tuple
            As `laplace_sum_tail` takes them: (k + 1,) with 2^k ≤ n, and (1/ε,).
        """
        return (check_integer("length", length, 1, 2**62).bit_length(),), (self.block_scale,)

    def error_quantile(self, beta: float, length: int) -> float:
        """Return what the error at 2^k ≤ `length` exceeds with probability `beta`: exact.

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
        """Return the probability that the error at 2^k ≤ `length` exceeds `threshold` in size."""
        return laplace_sum_error(threshold, *self.noise_terms(length))

    def counter(self, rng: np.random.Generator) -> RunningLogarithmicCounter:
        """Start a counter that draws its noise from `rng`."""
        return RunningLogarithmicCounter(self, rng)


class RunningLogarithmicCounter:
    """A running logarithmic counter; made by `LogarithmicCounter.counter`."""

    def __init__(self, mechanism: LogarithmicCounter, rng: np.random.Generator) -> None:
        self._scale = mechanism.block_scale
        self._rng = rng
        self._length = 0
        self._sum = 0.0
        self._noise = 0.0
        self._released = 0.0

    def add(self, x: float) -> float:
        """Take one stream element in [0, 1] and return the latest private sum.

        That is the sum of the first 2^k elements, 2^k the greatest power of two up to now.

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
            self._noise += laplace(self._rng, self._scale)
            self._released = self._sum + self._noise
        return self._released
