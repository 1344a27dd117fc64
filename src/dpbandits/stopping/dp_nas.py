"""DP-NAS: Sajed & Sheffet (2019), Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbandits._validation import check_positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.halting import Halting
from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import NASFamily, Outcome
from dpbandits.stopping.kernels import draw_every

__all__ = ["DPNAS"]


@dataclass(frozen=True)
class DPNAS(NASFamily):
    """DP-NAS: Sajed & Sheffet (2019), Algorithm 1.

    With B ~ Lap(12R/ε) drawn once and A_n ~ Lap(12R/ε) drawn for every n, halts at the first n
    with |X̄_n| ≥ h_n(1 + 1/α) + (c_n + B + A_n)/n and releases X̄_n + L/n, L ~ Lap(4R/ε). The
    comparison is a sparse-vector test of budget ε/2, the release a Laplace mechanism of budget
    ε/2: halting time and estimate together are ε-differentially private (Theorem 3.1). h_n, c_n:
    `dpbandits.halting`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and leaves out all noise and its allowance.
    alpha : float
        Relative error α in (0, 1) that is allowed.
    beta : float
        Probability β in (0, 1) with which the estimate may be worse.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Deviations from the printed algorithm: none. Simulation passes over looks that hardly can
    halt (`dpbandits.stopping.kernels`); it is exact.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> rule.noiseless_time(1.0)
    856
    """

    label: ClassVar[str] = "DP-NAS"
    source: ClassVar[str] = "SS19, Algorithm 1"

    epsilon: float
    alpha: float
    beta: float
    half_range: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        self._check()
        if not math.isfinite(self.threshold(1)):
            raise ValueError(
                f"epsilon={self.epsilon!r} is out of range; allowed: noise of scale "
                "12·half_range/epsilon that is a finite number"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of halting time and estimate together (Theorem 3.1)."""
        return PrivacyGuarantee("global", self.epsilon)

    @property
    def halting(self) -> Halting:
        """Constants of the halting condition."""
        return Halting.private(self.epsilon, self.alpha, self.beta, self.half_range)

    def look(self, n: int) -> int:
        """Return n: every sample is looked at."""
        return n

    def look_time(self, look: int) -> int:
        """Return the number of the look: every sample is looked at."""
        return look

    def draw(self, law: Law, rng: np.random.Generator, max_samples: int) -> Outcome:
        """Run once on samples of a law; see `StoppingRule.draw`."""
        max_samples = self._check_draw(law, rng, max_samples)
        return Outcome(*draw_every(rng, self.halting, law.code, max_samples))
