"""EBGStop: the empirical Bernstein stopping rule of Mnih, Szepesvári & Audibert (2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import repeat
from typing import ClassVar

import numpy as np

from dpbandits._arrays import Rng
from dpbandits.configuration import Fraction, Positive
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import Samples, StoppingRule

__all__ = ["EBGStop"]

GROWTH = 1.5
"""Growth factor 3/2 of the stages."""
POWER = 1.1
"""Exponent p of the error probabilities d_k of the stages."""


@dataclass(frozen=True)
class EBGStop(StoppingRule):
    """EBGStop: Mnih, Szepesvári & Audibert (2008), Algorithm 3; without privacy.

    It keeps |X̄_n| ± (σ̄_n·√(2x/n) + 3·2R·x/n), with σ̄_n the empirical deviation, as an interval
    for |μ| and halts when (1 + α)·lower ≥ (1 − α)·upper, for the best bounds so far. Within a
    stage, which grows by the factor 3/2, x = (end/start)·log(3/d_k) with d_k = β·(p − 1)/(p·k^p), p
    = 1.1. Its sample complexity is of order max(σ²/(α²μ²), R/(α|μ|)), up to logarithms: SS19, §6,
    asks for a private analogue (:ref:`small-variance`).

    Parameters
    ----------
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.low_variance(0.1, 0.01)
    >>> rules = dpb.EBGStop(alpha=0.5, beta=0.05), dpb.NAS(alpha=0.5, beta=0.05)
    >>> few, many = (dpb.estimate(rule, law, n_runs=5).samples.max() for rule in rules)
    >>> bool(10 * few < many)
    True
    """

    label: ClassVar[str] = "EBGStop"
    source: ClassVar[str] = "Mnih et al. (2008), Algorithm 3"

    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    @property
    def tables(self) -> Tables:
        """Tables on which the rule halts at the end, with the largest rewards."""
        samples = Samples(repeat(self.half_range), math.inf)
        self.stop(samples, np.random.default_rng(0))  # unused
        return replace(super().tables, least=samples.taken)

    def stop(self, samples: Samples, rng: Rng) -> float:
        mean = squares = 0.0  # squares is Σ (X − X̄)²
        stage, stage_end, log_term = 0, 1.0, 0.0
        lower, upper = 0.0, math.inf
        while True:
            sample = samples.next()
            n = samples.taken
            shift = sample - mean
            mean += shift / n
            squares += shift * (sample - mean)
            if n > stage_end:
                start, stage = stage_end, stage + 1
                stage_end = math.floor(GROWTH**stage)
                spent = self.beta * (POWER - 1.0) / POWER / stage**POWER
                log_term = stage_end / start * math.log(3.0 / spent)
            if n > 1:
                deviation = math.sqrt(squares / n)
                width = deviation * math.sqrt(2.0 * log_term / n)
                width += 6.0 * self.half_range * log_term / n
                lower, upper = max(lower, abs(mean) - width), min(upper, abs(mean) + width)
            least, most = (1.0 + self.alpha) * lower, (1.0 - self.alpha) * upper
            if least >= most:
                return math.copysign(0.5 * (least + most), mean)
