"""Corollary 3.2 of Tossou & Dimitrakakis (2016), read by Definition 2.1: one action."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from companion.claims.ledger import CANNOT_TELL, FAILS, Claim, Finding, decide
from companion.claims.td16_intervals import DELTA, EXPONENT
from dpbandits.mechanisms.laplace import laplace_log_cdf
from dpbandits.regret.dp_ucb_int import DPUCBInt

__all__ = ["CLAIMS", "Wait", "next_action"]

PAPER = "td16"

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


class Wait(NamedTuple):
    """Rewards under which arm 1 waits with its first release while arm 2 is played.

    Attributes
    ----------
    releases : int
        J: arm 2 has been released J times, the last time just now.
    low : int
        L: its last L·f rewards are 0, those before them 1.
    reward : float
        Each of the first f rewards of arm 1, but for the changed one, which is 0 or 1.
    """

    releases: int
    low: int
    reward: float


def next_action(interval: int, noise: float, wait: Wait, fine: int = 1) -> tuple[float, float]:
    """Return P(arm 1 is played next, given the past actions) for a changed reward of 0, of 1.

    Reading "refreshed", two arms. Arm 1's value is w = mean + noise of its release at f pulls. At
    time t it loses to the j-th value y of arm 2 if w < y − √(2 log t)·(1/√f − 1/√(jf)), and if it
    does so at the last of the f times of that value, t = (j + 2)f, it does at all. The past is
    J − 1 such losses, and the next action has t = (J + 1)f + 1. With φ the density of w, A(w) the
    probability of the losses and G(w) that of a win, given w, the answer is ∫φAG/∫φA, by
    Gauss–Legendre quadrature between the kinks of φ, A and G, with steps of 1/`fine` of the usual
    length.
    """
    f, last = interval, wait.releases
    j = np.arange(1.0, last + 1)
    scale = noise * (j * f) ** (EXPONENT / 2 - 1)
    mean = np.where(j <= last - wait.low, 1.0, (last - wait.low) / j)
    times = np.append((j[:-1] + 2) * f, (last + 1) * f + 1)
    needed = mean - np.sqrt(2 * np.log(times)) * (1 - j**-0.5) / math.sqrt(f)
    centres = (wait.reward * (f - 1) + np.array([0.0, 1.0])) / f
    low, high = centres[0] - 40 * scale[0], max(centres[0], needed[-1]) + 3 * scale[0]
    ends = np.concatenate(
        [
            centres,
            needed[needed < high],
            needed[-1] + scale[-1] * np.linspace(-40, 40, 80 * fine + 1),
            np.linspace(low, high, 300 * fine + 1),
        ]
    )
    ends = np.unique(ends)
    half = 0.5 * np.diff(ends)
    w = ((ends[:-1] + half)[:, None] + half[:, None] * _NODES).ravel()
    weights = (half[:, None] * _WEIGHTS).ravel()
    lost = sum(laplace_log_cdf(u - w, b) for u, b in zip(needed[:-1], scale[:-1], strict=True))
    win = np.exp(laplace_log_cdf(w - needed[-1], scale[-1]))
    chances = []
    for centre in centres:
        past = weights * np.exp(-np.abs(w - centre) / scale[0] + lost)
        chances.append(float(past @ win / past.sum()))
    return chances[0], chances[1]


def _corollary_3_2_step() -> Finding:
    waits = {0.1: Wait(600, 30, 0.55), 1.0: Wait(30, 0, 0.0)}
    evidence: dict[str, float | int | str] = {}
    excess = {}
    for target, wait in waits.items():
        algorithm = DPUCBInt(DPUCBInt.target_input(target, DELTA, EXPONENT))
        zero, one = next_action(algorithm.interval, algorithm.noise, wait)
        finer = next_action(algorithm.interval, algorithm.noise, wait, fine=3)
        error = abs(finer[1] - one) + math.exp(target) * abs(finer[0] - zero)
        excess[target] = finer[1] - math.exp(target) * finer[0] - 100 * error
        evidence |= {
            f"log ratio of one step, target {target:g}": round(math.log(finer[1] / finer[0]), 4),
            f"δ needed, target {target:g}": float(f"{max(0.0, excess[target]):.3g}"),
        }
    evidence["e^(−10)"] = float(f"{DELTA:.3g}")
    other = (
        "needs more as well" if excess[1.0] > DELTA else "does not suffice, and it is not settled"
    )
    return Finding(
        decide(excess[0.1] > DELTA, FAILS, CANNOT_TELL),
        "At target 0.1, f = 147, one action needs more than δ = e^(−10): arm 1 waits, its other "
        "rewards 0.55, while arm 2 is released 600 times, its rewards 1 and in its last 30·147 "
        "pulls 0; given these losses, whether arm 1 is played next shows its changed reward. "
        "Computed by quadrature, for values that are refreshed. At target 1, f = 16, the same "
        f"{other}.",
        evidence,
    )


CLAIMS = (
    Claim(
        "td16-cor-3.2-def-2.1",
        PAPER,
        "Corollary 3.2; §4, read by Definition 2.1",
        "With the input for (ε, δ) each action of DP-UCB-INT, given the past actions, is "
        "(ε, δ)-DP.",
        _corollary_3_2_step,
    ),
)
