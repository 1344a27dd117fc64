"""NAS, and its private forms: Sajed & Sheffet (2019), §3, Algorithms 1 and 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpbandits._arrays import Rng
from dpbandits.configuration import Budget, Fraction, Positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.halting import Halting
from dpbandits.rewards.laws import LawCode
from dpbandits.stopping.base import NASFamily, draw_doubling

__all__ = ["NAS", "DPNAS", "DPExponentialNAS"]


@dataclass(frozen=True)
class NAS(NASFamily):
    """Nonmonotonic adaptive sampling: Domingo, Gavaldà & Watanabe (2002), as in SS19, §3.

    Halts at the first n with |X̄_n| ≥ h_n(1 + 1/α) and releases X̄_n, the mean of the n samples.
    h_n = R·√((2/n)·log(4n²/β)) is Hoeffding's width for probability β/(2n²), as SS19 states it;
    Domingo et al. use another schedule of the union bound. Proof: :prf:ref:`thm-nas`.

    Parameters
    ----------
    alpha, beta : float
        Relative error α in (0, 1) that is allowed, and probability β with which it may be greater.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> rule = dpb.NAS(alpha=0.5, beta=0.05)
    >>> rule.run([1.0] * 1000, np.random.default_rng(0))
    Outcome(samples=282, estimate=1.0, halted=True)
    """

    label: ClassVar[str] = "NAS"
    source: ClassVar[str] = "Domingo et al. (2002); SS19, §3"

    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    @property
    def halting(self) -> Halting:
        """Constants of the halting condition."""
        return Halting(self.alpha, self.beta, self.half_range)


@dataclass(frozen=True)
class DPNAS(NASFamily):
    """DP-NAS: Sajed & Sheffet (2019), Algorithm 1, without deviations.

    With B ~ Lap(12R/ε) drawn once and A_n ~ Lap(12R/ε) drawn for every n, halts at the first n
    with |X̄_n| ≥ h_n(1 + 1/α) + (c_n + B + A_n)/n and releases X̄_n + L/n, L ~ Lap(4R/ε); h_n and
    c_n stand in `dpbandits.halting`. The comparison is a sparse-vector test of budget ε/2, the
    release a Laplace mechanism of budget ε/2: halting time and estimate together are
    ε-differentially private (Theorem 3.1). Proof: :prf:ref:`thm-dpnas`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and leaves out all noise and its allowance.
    alpha, beta, half_range
        As of `NAS`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> rule.noiseless_time(1.0)
    856
    """

    label: ClassVar[str] = "DP-NAS"
    source: ClassVar[str] = "SS19, Algorithm 1"

    epsilon: Budget
    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.threshold(1)):
            raise ValueError(
                f"epsilon={self.epsilon!r} is out of range; allowed: noise of scale "
                "12·half_range/epsilon that is a finite number"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of halting time and estimate together."""
        return PrivacyGuarantee("global", self.epsilon)

    @property
    def halting(self) -> Halting:
        """Constants of the halting condition."""
        return Halting.private(self.epsilon, self.alpha, self.beta, self.half_range)


@dataclass(frozen=True)
class DPExponentialNAS(DPNAS):
    """DP exponential NAS: Sajed & Sheffet (2019), Algorithm 2, without deviations.

    `DPNAS` that looks at n = 2, 4, 8, … only, and whose union bounds run over the number k of
    the look: h = R·√((2/n)·log(16k²/β)) and c = σ₁·log(4/β) + σ₂·log(8k²/β) + (σ₃/α)·log(4/β).
    ε-differentially private and (α, β)-correct as that is (Corollary 3.2); halts by the time of
    Theorem 3.3. Proof: :prf:ref:`thm-dpnas`, :prf:ref:`thm-halting`. Simulated in O(log n).

    Parameters
    ----------
    epsilon, alpha, beta, half_range
        As of `DPNAS`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=0.1, alpha=0.5, beta=0.05)
    >>> rule.noiseless_time(1e-3)
    268435456
    """

    label: ClassVar[str] = "DP-exp-NAS"
    source: ClassVar[str] = "SS19, Algorithm 2"

    def look(self, n: int) -> int:
        """Return k if n = 2^k with k ≥ 1, and 0 otherwise."""
        return n.bit_length() - 1 if n & (n - 1) == 0 else 0

    def look_time(self, look: int) -> int:
        """Return 2^k, the number of samples at the k-th look."""
        return 2**look

    def _draw(self, rng: Rng, law: LawCode, max_samples: int) -> tuple[int, float, bool]:
        outcome: tuple[int, float, bool] = draw_doubling(rng, self.halting, law, max_samples)
        return outcome
