"""DP exponential NAS: Sajed & Sheffet (2019), Algorithm 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import Outcome
from dpbandits.stopping.dp_nas import DPNAS
from dpbandits.stopping.kernels import draw_doubling

__all__ = ["DPExponentialNAS"]


@dataclass(frozen=True)
class DPExponentialNAS(DPNAS):
    """DP exponential NAS: Sajed & Sheffet (2019), Algorithm 2.

    `DPNAS` that looks at n = 2, 4, 8, … only, and whose union bounds run over the number k of
    the look: h = R·√((2/n)·log(16k²/β)) and c = σ₁·log(4/β) + σ₂·log(8k²/β) + (σ₃/α)·log(4/β).
    ε-differentially private and (α, β)-correct as that is (Corollary 3.2); halts by the time of
    Theorem 3.3.

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
    Deviations from the printed algorithm: none; the first look is at n = 2. Simulation draws the
    samples between two looks as one sum: a run costs O(log n), and its law is exact.

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

    def draw(self, law: Law, rng: np.random.Generator, max_samples: int) -> Outcome:
        """Run once on samples of a law; see `StoppingRule.draw`."""
        max_samples = self._check_draw(law, rng, max_samples)
        return Outcome(*draw_doubling(rng, self.halting, law.code, max_samples))
