"""NAS, the non-private stopping rule that SS19 starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbandits.halting import Halting
from dpbandits.rewards.laws import Law
from dpbandits.stopping.base import NASFamily, Outcome
from dpbandits.stopping.kernels import draw_every

__all__ = ["NAS"]


@dataclass(frozen=True)
class NAS(NASFamily):
    """Nonmonotonic adaptive sampling: Domingo, Gavaldà & Watanabe (2002), as in SS19, §3.

    Halts at the first n with |X̄_n| ≥ h_n(1 + 1/α) and releases X̄_n, the mean of the n samples.
    h_n = R·√((2/n)·log(4n²/β)) is Hoeffding's width for probability β/(2n²), as SS19 states it.

    Parameters
    ----------
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
    The schedule of the union bound, β/(2n²), is SS19's; Domingo et al. use another one.
    Simulation passes over looks that cannot halt (`dpbandits.stopping.kernels`); it is exact.

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

    alpha: float
    beta: float
    half_range: float = 1.0

    def __post_init__(self) -> None:
        self._check()

    @property
    def halting(self) -> Halting:
        """Constants of the halting condition."""
        return Halting(self.alpha, self.beta, self.half_range)

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
