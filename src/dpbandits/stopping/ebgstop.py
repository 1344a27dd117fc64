"""EBGStop: the empirical Bernstein stopping rule of Mnih, Szepesvári & Audibert (2008)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit

from dpbandits._validation import check_integer
from dpbandits.rewards.laws import Law, LawCode, draw
from dpbandits.stopping.base import Outcome, StoppingRule, checked

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


@njit(cache=True, nogil=True)
def _step(state: _State, sample: float, alpha: float, beta: float, half_range: float) -> _State:
    """Take one sample into account."""
    n, mean, squares, stage, stage_end, log_term, lower, upper = state
    n += 1
    shift = sample - mean
    mean += shift / n
    squares += shift * (sample - mean)
    if n == 1:
        return _State(n, mean, squares, stage, stage_end, log_term, lower, upper)
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


@njit(cache=True, nogil=True)
def _draw(
    rng: np.random.Generator,
    law: LawCode,
    alpha: float,
    beta: float,
    half_range: float,
    max_samples: int,
) -> tuple[int, float, bool]:
    state = _State(0, 0.0, 0.0, 0, 1.0, 0.0, 0.0, math.inf)
    while state.n < max_samples:
        state = _step(state, draw(rng, law), alpha, beta, half_range)
        if (1.0 + alpha) * state.lower >= (1.0 - alpha) * state.upper:
            middle = 0.5 * ((1.0 + alpha) * state.lower + (1.0 - alpha) * state.upper)
            return state.n, math.copysign(middle, state.mean), True
    return state.n, math.nan, False


@dataclass(frozen=True)
class EBGStop(StoppingRule):
    """EBGStop: Mnih, Szepesvári & Audibert (2008), Algorithm 3; without privacy.

    Keeps |X̄_n| ± (σ̄_n·√(2x/n) + 3·2R·x/n), σ̄_n the empirical deviation, as an interval for |μ|
    and halts when (1 + α)·lower ≥ (1 − α)·upper, the best bounds so far. Within a stage, which
    grows by the factor 3/2, x = (end/start)·log(3/d_k) with d_k = β·(p − 1)/(p·k^p), p = 1.1. Its
    sample complexity is of order max(σ²/(α²μ²), R/(α|μ|)), up to logarithms: SS19, §6, asks for
    a private analogue.

    Parameters
    ----------
    alpha : float
        Relative error α in (0, 1) that is allowed.
    beta : float
        Probability β in (0, 1) with which the estimate may be worse.
    half_range : float
        R > 0; the samples lie in [−R, R], a range of 2R.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Simulated sample by sample.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.instances.low_variance(0.1, 0.01)
    >>> few, many = (
    ...     dpb.estimate(rule(alpha=0.5, beta=0.05), law, n_runs=5).samples.max()
    ...     for rule in (dpb.EBGStop, dpb.NAS)
    ... )
    >>> bool(10 * few < many)
    True
    """

    label: ClassVar[str] = "EBGStop"
    source: ClassVar[str] = "Mnih et al. (2008), Algorithm 3"

    alpha: float
    beta: float
    half_range: float = 1.0

    def __post_init__(self) -> None:
        self._check()

    def draw(self, law: Law, rng: np.random.Generator, max_samples: int) -> Outcome:
        """Run once on samples of a law; see `StoppingRule.draw`."""
        max_samples = self._check_draw(law, rng, max_samples)
        return Outcome(*_draw(rng, law.code, self.alpha, self.beta, self.half_range, max_samples))

    def run(
        self, stream: Iterable[float], rng: np.random.Generator, max_samples: int | None = None
    ) -> Outcome:
        """Run on one's own stream; see `StoppingRule.run`."""
        most = math.inf if max_samples is None else check_integer("max_samples", max_samples, 1)
        alpha = self.alpha
        state = _State()
        for sample in checked(stream, self.half_range):
            state = _State(*_step(state, sample, alpha, self.beta, self.half_range))
            if (1 + alpha) * state.lower >= (1 - alpha) * state.upper:
                middle = ((1 + alpha) * state.lower + (1 - alpha) * state.upper) / 2
                return Outcome(state.n, math.copysign(middle, state.mean), True)
            if state.n >= most:
                break
        return Outcome(state.n, math.nan, False)
