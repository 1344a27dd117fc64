"""Inequalities of chapter 2 that are certified: no grid, and no gap between its points."""

from __future__ import annotations

import math

from flint import arb

from companion.certify import Certificate, ball, certify

EXPONENT = ball("11/10")
LOG_DELTA = ball(10)
"""log(1/δ) of the paper's experiments."""


def first_choice_fails(shortest: float, longest: float) -> Certificate:
    """Certify that the first choice of DP-UCB-INT breaks Corollary 3.2, at v = 1.1, δ = e^(−10).

    For every target whose input x of the corollary has 1/x from `shortest` to `longest`. The
    interval is f = ⌈1/x⌉ < 1 + 1/x, so that the loss e of the first release is at least
    (1 + 1/x)^(−v/2). The excess of {prf:ref}`thm-first-choice`, (e^e − e^ε)/4·exp(1 − e/(1 −
    e^(ε − e))), grows with e; it is to exceed δ. And the lead of the other arm, which is below
    (1 + 1/(e − ε))/f, is to be at most 1: it is if (e − ε)·(1/x − 1) ≥ 1, as 1/x ≤ f.
    """
    series = EXPONENT.zeta()

    def margin(logarithm: arb) -> arb:
        x = (-logarithm).exp()
        target = x * (2 * series * x + (2 * series * LOG_DELTA).sqrt())
        loss = (-EXPONENT / 2 * (1 + logarithm.exp()).log()).exp()
        spare = loss - target
        excess = target + spare.expm1().log() - ball(4).log() + 1 - loss / (1 - (-spare).exp())
        return (excess + LOG_DELTA).min((spare * (logarithm.exp() - 1)).log())

    return certify(margin, [(math.log(shortest), math.log(longest))])
