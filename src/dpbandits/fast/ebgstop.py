"""EBGStop on samples of a law: a compiled loop, sample by sample."""

from __future__ import annotations

import math
from typing import NamedTuple

from dpbandits._arrays import Rng
from dpbandits._kernels import kernel
from dpbandits.acceleration import accelerates
from dpbandits.rewards.laws import Law, LawCode, draw
from dpbandits.stopping.ebgstop import GROWTH, POWER, EBGStop


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
            stage_end = math.floor(GROWTH**stage)
            spent = beta * (POWER - 1.0) / POWER / stage**POWER
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


@accelerates(EBGStop, on=Law, name="sample by sample")
def draw_ebgstop(rule: EBGStop, law: Law, max_samples: int, rng: Rng) -> tuple[int, float, bool]:
    """Draw a run, sample by sample.

    Parameters
    ----------
    rule : EBGStop
        The rule.
    law : Law
        Law of the samples.
    max_samples : int
        Samples after which a run that has not halted ends.
    rng : numpy.random.Generator
        Source of all randomness, samples included.

    Returns
    -------
    samples : int
        Number of samples taken.
    estimate : float
        What the rule released; nan if it has not halted.
    halted : bool
        Whether the rule halted.
    """
    constants = rule.alpha, rule.beta, rule.half_range
    return _draw(rng, _State(), law.code, constants, max_samples)
