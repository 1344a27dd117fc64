"""Choice by counts: one option, or none, with the whole budget on each count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from dpbandits._arrays import Rng
from dpbandits._validation import check_integer
from dpbandits.configuration import (
    LONGEST,
    ArmCount,
    Configuration,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.guarantees import Guaranteed, PrivacyGuarantee
from dpbandits.mechanisms.noise import laplace_cdf_kernel

__all__ = ["CountChoice"]

_Size = Annotated[int, whole(1, LONGEST)]


@dataclass(frozen=True)
class CountChoice(Guaranteed, Configuration):
    """Choose one of m options by its count among n samples, or choose none. Ours.

    With F the distribution function of Lap(1/ε) and a threshold θ ≥ n/2, option j is chosen with
    probability M·F(c_j − θ), with c_j its count, and none with the remaining probability. Each
    sample belongs to at most one option, so Σc_j ≤ n, and with M = 1/(1 + F(n − 2θ) + (m − 2)F(−θ))
    that is positive. The choice is ε-differentially private for a change of one sample:
    :prf:ref:`lem-count-choice`. The exponential mechanism needs an exponent of ε/2 for that, since
    one change affects two counts.

    Parameters
    ----------
    epsilon : float
        Budget ε > 0, finite.
    size : int
        Number n of samples, at least 1.
    options : int
        Number m of options, at least 2.
    threshold : float
        θ, at least n/2.

    Examples
    --------
    >>> choice = CountChoice(epsilon=0.1, size=70, options=13, threshold=50.0)
    >>> [round(choice.probability(count), 4) for count in (0, 35, 70)]
    [0.0032, 0.1051, 0.8779]
    """

    epsilon: Positive
    size: _Size
    options: ArmCount
    threshold: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.threshold >= 0.5 * self.size:
            raise ValueError(
                f"threshold={self.threshold!r} is out of range; allowed: at least size/2"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def weight(self) -> float:
        """M, an upper bound on all probabilities."""
        crossing = self._cdf(self.size - 2.0 * self.threshold)
        return 1.0 / (1.0 + crossing + (self.options - 2) * self._cdf(-self.threshold))

    def _cdf(self, x: float) -> float:
        """Return F(x)."""
        return float(laplace_cdf_kernel(x, 1.0 / self.epsilon))

    @checked_arguments
    def probability(self, count: Annotated[int, whole(0, LONGEST)]) -> float:
        """Return M·F(c − θ), the probability of an option of count c.

        Parameters
        ----------
        count : int
            Its count c, from 0 to n.

        Returns
        -------
        float
            The probability.
        """
        count = check_integer("count", count, 0, self.size)
        return self.weight * self._cdf(count - self.threshold)

    def draw(self, rng: Rng, counts: Mapping[int, int]) -> int | None:
        """Draw an option, or none.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the choice, from which one or two numbers are drawn.
        counts : mapping of int to int
            Number of an option, from 0 to m − 1 → its count; missing options have 0. The counts
            must add up to at most n, which is not checked.

        Returns
        -------
        int or None
            The option; None if none is chosen.
        """
        left = rng.random()
        for option in sorted(counts):
            left -= self.weight * self._cdf(counts[option] - self.threshold)
            if left < 0.0:
                return option
        empty = self.options - len(counts)
        left -= empty * self.weight * self._cdf(-self.threshold)
        if left >= 0.0 or not empty:
            return None
        found = int(rng.integers(empty))
        for option in sorted(counts):
            found += option <= found
        return found
