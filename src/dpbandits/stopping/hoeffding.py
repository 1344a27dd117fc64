"""Private stopping by fresh epochs and Hoeffding's width: the rule without a sparse vector."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from dpbandits._arrays import Rng
from dpbandits._engine.kernels import kernel
from dpbandits.configuration import Budget, Count, Fraction, Number, Positive, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import Samples, StoppingRule, check_mean

__all__ = ["DPHoeffdingStop"]

FIRST = 16
"""Samples of the first epoch; each later one is twice as long."""
POWER = 1.1
"""Exponent of the error probabilities of the epochs."""
ZETA = 10.5845
"""Upper bound on Σ k^(−1.1)."""
_LEAST_EPSILON = 1e-250  # a sum with noise stays finite


@kernel
def epoch_width_kernel(
    epsilon: float, beta: float, half_range: float, epoch: int, size: float
) -> float:
    """Return w = R·√(2x/m) + 2Rx/(εm) with x = log(3·10.5845·k^1.1/β)."""
    x = math.log(3.0 * ZETA / beta) + POWER * math.log(epoch)
    return half_range * (math.sqrt(2.0 * x / size) + 2.0 * x / (epsilon * size))


@dataclass(frozen=True)
class DPHoeffdingStop(StoppingRule):
    """Fresh doubling epochs, one Laplace mean each, and Hoeffding's width: SS19, footnote 5.

    Epoch k has m = 16·2^(k−1) fresh samples and releases m̃ = X̄ + Lap(2R/(εm)). With x =
    log(3·10.5845·k^1.1/β) and w = R·√(2x/m) + 2Rx/(εm), it halts at the first k with w ≤ α|m̃| and
    releases the midpoint sign(m̃)·(|m̃| − αw). Each sample is in one release, and changes it by at
    most 2R/m: all releases together are ε-differentially private. |m̃ − μ| ≤ w for all k except
    with probability Σ3e^(−x) ≤ β, and then the midpoint is correct. Proof:
    :prf:ref:`thm-fresh-hoeffding`.

    Deviations: the footnote gives the idea, but neither the epochs nor the width. In place of m̃ we
    release the midpoint, which is as sound with a width larger by the factor 1 + α.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε of at least 10⁻²⁵⁰; ``inf`` removes all noise and its allowance.
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPHoeffdingStop(epsilon=0.1, alpha=0.5, beta=0.05)
    >>> [rule.epoch_size(k) for k in (1, 2, 3)], round(rule.width(3), 2), rule.noiseless_time(0.1)
    ([16, 32, 64], 2.88, 32752)
    """

    label: ClassVar[str] = "DP-Hoeffding"
    source: ClassVar[str] = "SS19, footnote 5"

    epsilon: Budget
    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < _LEAST_EPSILON:
            raise ValueError(
                f"epsilon={self.epsilon!r} is out of range; allowed: at least {_LEAST_EPSILON:g}"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def tables(self) -> Tables:
        """Tables on which the rule halts at the end, with the largest rewards and no noise."""
        return replace(super().tables, least=self.noiseless_time(self.half_range))

    @checked_arguments
    def epoch_size(self, epoch: Count) -> int:
        """Return the number of samples of an epoch.

        Parameters
        ----------
        epoch : int
            Number k of the epoch, from 1 to 1000.

        Returns
        -------
        int
            16·2^(k−1).
        """
        if epoch > 1000:
            raise ValueError(f"epoch={epoch!r} is out of range; allowed: at most 1000")
        found: int = FIRST * 2 ** (epoch - 1)
        return found

    @checked_arguments
    def width(self, epoch: Count) -> float:
        """Return w, the bound on the error of the release of an epoch.

        Parameters
        ----------
        epoch : int
            Number k of the epoch, from 1 to 1000.

        Returns
        -------
        float
            The width, in units of a sample.
        """
        size = float(self.epoch_size(epoch))
        return float(epoch_width_kernel(self.epsilon, self.beta, self.half_range, epoch, size))

    @checked_arguments
    def noiseless_time(self, mean: Number) -> int:
        """Return the halting time on a constant stream of `mean`, with all noise at zero.

        Parameters
        ----------
        mean : float
            μ ≠ 0 in [−R, R], at least 10⁻³⁰·R/α in absolute value.

        Returns
        -------
        int
            Number n of samples.
        """
        return self.time_to_width(self.alpha * check_mean(mean, self.alpha, self.half_range))

    @checked_arguments
    def time_to_width(self, width: Positive) -> int:
        """Return the number of samples at the end of the first epoch whose w is small enough.

        Parameters
        ----------
        width : float
            Upper limit of w.

        Returns
        -------
        int
            Number of samples of all epochs.

        Raises
        ------
        ValueError
            If it takes more than 1000 epochs.
        """
        epoch = 1
        while self.width(epoch) > width:
            epoch += 1
        found: int = FIRST * (2**epoch - 1)
        return found

    def stop(self, samples: Samples, rng: Rng) -> float:
        epoch = 0
        while True:
            epoch += 1
            size = self.epoch_size(epoch)
            total = sum(samples.next() for _ in range(size))
            mean = (total + laplace(rng, 2.0 * self.half_range / self.epsilon)) / size
            width = self.width(epoch)
            if width <= self.alpha * abs(mean):
                return math.copysign(abs(mean) - self.alpha * width, mean)
