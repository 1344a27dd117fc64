"""EBGStop on samples of a law: a compiled loop, sample by sample."""

from __future__ import annotations

import math

from dpbandits._arrays import Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.kernels import kernel
from dpbandits.rewards.laws import TWO_POINT, Law, LawCode, draw
from dpbandits.stopping.ebgstop import GROWTH, POWER, EBGStop

_MARGIN = 1.0 + 1e-9  # far above the rounding errors of the comparison


@kernel(error_model="numpy")
def _draw(
    rng: Rng, law: LawCode, constants: tuple[float, float, float], max_samples: int
) -> tuple[int, float, bool]:
    """Run the rule as `EBGStop.stop` does; a law of two points is drawn inline."""
    alpha, beta, half_range = constants
    two_points, chance = law.kind == TWO_POINT, law.first
    low, high = law.offset, law.offset + law.width
    mean, squares, stage, stage_end, log_term = 0.0, 0.0, 0, 1.0, 0.0
    lower, upper = 0.0, math.inf
    for n in range(1, max_samples + 1):
        if two_points:
            sample = high if rng.random() < chance else low
        else:
            sample = draw(rng, law)
        shift = sample - mean
        mean += shift / n
        squares += shift * (sample - mean)
        if n == 1:
            continue
        if n > stage_end:
            start = stage_end
            stage += 1
            stage_end = math.floor(GROWTH**stage)
            spent = beta * (POWER - 1.0) / POWER / stage**POWER
            log_term = stage_end / start * math.log(3.0 / spent)
        # n·width is √(2x·squares) + 6Rx: where it is too wide to improve a bound, nothing changes
        size = abs(mean)
        excess = n * max(size - lower, upper - size) * _MARGIN - 6.0 * half_range * log_term
        if excess <= 0.0 or excess * excess <= 2.0 * log_term * squares:
            continue
        deviation = math.sqrt(squares / n)
        width = deviation * math.sqrt(2.0 * log_term / n) + 6.0 * half_range * log_term / n
        lower, upper = max(lower, size - width), min(upper, size + width)
        least, most = (1.0 + alpha) * lower, (1.0 - alpha) * upper
        if least >= most:
            return n, math.copysign(0.5 * (least + most), mean), True
    return max_samples, math.nan, False


@accelerates(EBGStop, on=Law, name="sample by sample")
def draw_ebgstop(rule: EBGStop, law: Law, max_samples: int, rng: Rng) -> tuple[int, float, bool]:
    """Draw a run, sample by sample."""
    constants = rule.alpha, rule.beta, rule.half_range
    return _draw(rng, law.code, constants, max_samples)
