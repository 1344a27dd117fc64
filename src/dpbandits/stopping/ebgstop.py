"""EBGStop: the empirical Bernstein stopping rule of Mnih, Szepesvári & Audibert (2008)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from dpbandits._arrays import Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Fraction, Positive
from dpbandits.rewards.laws import LawCode, draw
from dpbandits.stopping.base import StoppingRule

__all__ = ["EBGStop"]

_GROWTH = 1.5
_POWER = 1.1


class _State(NamedTuple):
    """What the rule remembers between samples."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0  # Σ (X − X̄)²
    stage: int = 0
    stage_end: float = 1.0
    log_term: float = 0.0
    lower: float = 0.0
    upper: float = math.inf


@kernel
def _step(state: _State, sample: float, beta: float, half_range: float) -> _State:
    """Take one sample into account."""
    n, mean, squares, stage, stage_end, log_term, lower, upper = state
    n += 1
    shift = sample - mean
    mean += shift / n
    squares += shift * (sample - mean)
    if n > 1:
        if n > stage_end:
            start = stage_end
            stage += 1
            stage_end = math.floor(_GROWTH**stage)
            spent = beta * (_POWER - 1.0) / _POWER / stage**_POWER
            log_term = stage_end / start * math.log(3.0 / spent)
        deviation = math.sqrt(squares / n)
        width = deviation * math.sqrt(2.0 * log_term / n) + 6.0 * half_range * log_term / n
        lower = max(lower, abs(mean) - width)
        upper = min(upper, abs(mean) + width)
    return _State(n, mean, squares, stage, stage_end, log_term, lower, upper)


@kernel
def _estimate(state: _State, alpha: float) -> float:
    """Return the estimate if the rule halts, and nan if it does not."""
    least, most = (1.0 + alpha) * state.lower, (1.0 - alpha) * state.upper
    return math.copysign(0.5 * (least + most), state.mean) if least >= most else math.nan


@kernel
def _draw(
    rng: Rng, state: _State, law: LawCode, constants: tuple[float, float, float], max_samples: int
) -> tuple[int, float, bool]:
    alpha, beta, half_range = constants
    while state.n < max_samples:
        state = _step(state, draw(rng, law), beta, half_range)
        estimate = _estimate(state, alpha)
        if not math.isnan(estimate):
            return state.n, estimate, True
    return state.n, math.nan, False


@dataclass(frozen=True)
class EBGStop(StoppingRule):
    """EBGStop: Mnih, Szepesvári & Audibert (2008), Algorithm 3; without privacy.

    Keeps |X̄_n| ± (σ̄_n·√(2x/n) + 3·2R·x/n), σ̄_n the empirical deviation, as an interval for |μ|
    and halts when (1 + α)·lower ≥ (1 − α)·upper, the best bounds so far. Within a stage, which
    grows by the factor 3/2, x = (end/start)·log(3/d_k) with d_k = β·(p − 1)/(p·k^p), p = 1.1. Its
    sample complexity is of order max(σ²/(α²μ²), R/(α|μ|)), up to logarithms: SS19, §6, asks for
    a private analogue (:ref:`small-variance`).

    Parameters
    ----------
    alpha : float
        Relative error α in (0, 1) that is allowed.
    beta : float
        Probability β in (0, 1) with which the error may be greater.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Raises
    ------
    ValueError
        If a parameter is out of range.

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

    def _draw(self, rng: Rng, law: LawCode, max_samples: int) -> tuple[int, float, bool]:
        constants = self.alpha, self.beta, self.half_range
        return _draw(rng, _State(), law, constants, max_samples)

    def _watch(self, rng: Rng) -> Callable[[int, float], float | None]:
        state = _State()

        def watch(n: int, sample: float) -> float | None:
            nonlocal state
            state = _State(*_step(state, sample, self.beta, self.half_range))
            estimate: float = _estimate(state, self.alpha)
            return None if math.isnan(estimate) else estimate

        return watch
