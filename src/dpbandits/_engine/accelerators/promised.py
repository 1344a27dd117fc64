"""Stopping with a promise, on samples of a law: blocks of samples, and then Bernstein's epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.fresh_epochs import draw_announced
from dpbandits.rewards.laws import DiscreteLaw, Law, TwoPointLaw, discrete
from dpbandits.rewards.run import Ended
from dpbandits.stopping.base import Samples
from dpbandits.stopping.promised import DPPromisedStop


def _blocks(law: Law, rng: Rng, size: int) -> Iterator[float]:
    """Yield independent samples of a law, drawn in blocks of `size`."""
    while True:
        yield from law.sample(rng, size).tolist()


def _cut(law: Law, bound: float) -> Law | None:
    """Return the law of samples clipped to ±H; None if it is not available here."""
    low, high = law.support
    if max(-low, high) <= bound:
        return law
    if isinstance(law, TwoPointLaw):
        law = discrete([low, high], [1.0 - law.probability, law.probability], law.half_range)
    if not isinstance(law, DiscreteLaw):
        return None
    values = np.clip(law.values, -bound, bound).tolist()
    return DiscreteLaw(bound, tuple(values), law.probabilities)


def _sample_by_sample(rule: DPPromisedStop, samples: Samples, rng: Rng) -> tuple[int, float, bool]:
    """Continue with the plain program of the rule."""
    try:
        estimate = rule.estimate_near_0(samples, rng)
    except Ended:
        return samples.taken, math.nan, False
    return samples.taken, estimate, True


@accelerates(DPPromisedStop, on=Law, name="epoch by epoch")
def draw_promised(
    rule: DPPromisedStop, law: Law, max_samples: int, rng: Rng
) -> tuple[int, float, bool]:
    """Draw a run: the rule's own choice of a window, and Bernstein stopping by its epochs."""
    size = 1 if rule.plan is None else min(rule.plan.choice.size, 10_000)
    samples = Samples(_blocks(law, rng, size), max_samples)
    try:
        found = rule.locate(samples, rng)
    except Ended:
        return samples.taken, math.nan, False
    if found is not None:
        return samples.taken, found, True
    taken, cut = samples.taken, rule.cut
    if cut is not None:
        near, most = _cut(law, cut.rule.half_range), min(cut.most, max_samples - taken)
        if near is None:
            return _sample_by_sample(rule, samples, rng)
        run, estimate, halted = draw_announced(cut.rule, near, most, rng)
        taken += run
        if halted and abs(estimate) >= cut.accepted:
            return taken, estimate, True
    run, estimate, halted = draw_announced(rule.fallback, law, max_samples - taken, rng)
    return taken + run, estimate, halted
