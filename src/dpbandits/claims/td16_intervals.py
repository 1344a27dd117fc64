"""Claims of Tossou & Dimitrakakis (2016), §3.3 and §5: the privacy of DP-UCB-INT."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from dpbandits.claims.ledger import CONDITION, FAILS, HOLDS, Claim, Finding, decide
from dpbandits.mechanisms.hybrid import HybridCounter
from dpbandits.privacy import accounting
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.intervals import input_of

__all__ = ["CLAIMS"]

PAPER = "td16"

Floats = NDArray[np.float64]

HORIZON = 100_000
DELTA = math.exp(-10)
EXPONENT = 1.1
TARGETS = (1.0, 0.1)
FINE = 1 + 1e-9
"""Rounding that equalities may have."""


def _inputs() -> dict[float, DPUCBInt]:
    """Return the algorithms that the experiments run."""
    return {target: DPUCBInt(DPUCBInt.target_input(target, DELTA, EXPONENT)) for target in TARGETS}


def _lemma_3_1() -> Finding:
    worst = 0.0
    for f, v in itertools.product((1, 2, 16, 147, 10_000), (1.01, 1.1, 1.5)):
        losses = DPUCBInt(input_of(f), exponent=v).losses(1000 * f)
        n = f * np.arange(1.0, 1 + losses.size)
        sensitivity, scale = 1 / n, n ** (v / 2 - 1)
        claimed = n ** (-v / 2)
        worst = max(worst, float(np.max(sensitivity / scale / claimed)))
        worst = max(worst, float(np.max(losses / claimed)))
    return Finding(
        decide(worst <= FINE),
        "One reward moves the mean of n by at most 1/n, and the Laplace scale is n^(v/2 − 1): the "
        "loss is n^(−v/2).",
        {"greatest loss / n^(−v/2)": round(worst, 9)},
    )


def _first_branch(epsilon: float, times: int, exponent: float) -> float:
    """Return the first bound of Theorem 3.4."""
    n = np.arange(1.0, times + 1)
    return epsilon * math.fsum(n ** (-exponent / 2))


def _theorem_3_4_first() -> Finding:
    shares = {"refreshed": 0.0, "literal": 0.0}
    for f, v, horizon in itertools.product((1, 2, 16, 147), (1.05, 1.1, 1.5), (1000, HORIZON)):
        for reading in shares:
            algorithm = DPUCBInt(input_of(f), reading, v)
            spent = accounting.basic_composition(algorithm.losses(horizon))
            claimed = _first_branch(algorithm.epsilon, horizon, v)
            shares[reading] = max(shares[reading], spent / claimed)
    parked = DPUCBInt(input_of(16), "literal").losses(10_000 + 2 * 16)
    fits = {reading: share <= FINE for reading, share in shares.items()}
    return Finding(
        decide(all(fits.values()), HOLDS, CONDITION if fits["refreshed"] else FAILS),
        "True of one release for every f pulls: the mean of n^(−v/2) over the f pulls up to a "
        "release is at least its loss. Read literally, n mod f = 0 stays true while an "
        "arm is not played, each step releases it again with new noise, and the loss of an arm at "
        "rest grows in proportion to t.",
        {
            "greatest loss / bound, one release for f pulls": round(shares["refreshed"], 4),
            "greatest loss / bound, literally": float(f"{shares['literal']:.3g}"),
            "ε at δ = e^(−10) of 10000 releases of an arm at rest, f = 16": round(
                accounting.epsilon_at(DELTA, parked).lower, 1
            ),
            "bound at t = 10000": round(_first_branch(1 / 16, 10_000, EXPONENT), 2),
        },
    )


def _second_branch(epsilon: float, times: int, last: bool) -> float:
    """Return the second bound of Theorem 3.4, with √(t^v) (as printed) or √(n^v) in the sum."""
    n = np.arange(1.0, times + 1)
    losses = n ** (-EXPONENT / 2)
    weights = np.full(n.size, losses[-1]) if last else losses
    means = epsilon * math.fsum(np.expm1(losses) * weights)
    return epsilon * (means + math.sqrt(2 * math.log(1 / DELTA) * math.fsum(losses**2)))


def _true(algorithm: DPUCBInt, horizon: int = HORIZON) -> float:
    """Return what the ε of all releases at δ = e^(−10) is not below."""
    return accounting.epsilon_at(DELTA, algorithm.losses(horizon)).lower


def _theorem_3_4_second() -> Finding:
    evidence: dict[str, float | int | str] = {}
    broken = True
    for algorithm in _inputs().values():
        printed, likely = (
            _second_branch(algorithm.epsilon, HORIZON, last=last) for last in (True, False)
        )
        true = _true(algorithm)
        broken = broken and true > max(printed, likely)
        evidence |= {
            f"printed, f = {algorithm.interval}": round(printed, 4),
            f"printed with √(n^v), f = {algorithm.interval}": round(likely, 4),
            f"ε of the releases, f = {algorithm.interval}": round(true, 4),
        }
    intervals = (16, 256, 4096)
    ratios = [
        _true(DPUCBInt(input_of(f)), 1000 * f) / _second_branch(1 / f, 1000 * f, last=False)
        for f in intervals
    ]
    power = math.log(ratios[-1] / ratios[0]) / math.log(intervals[-1] / intervals[0])
    evidence["power of f with which ε / printed grows, f = 16 to 4096"] = round(power, 3)
    return Finding(
        decide(broken and power > 0.1, FAILS, HOLDS),
        "The square root holds the sum over releases n = fj of n^(−v), which is about ε^v times "
        "that over all j and ε times that over all n: at best √ε comes out of the root, not ε. "
        "Computed for Laplace noise, the true ε at δ = e^(−10) exceeds the bound by a factor that "
        "grows like f^(1 − v/2). √(t^v) in the first sum is probably meant as √(n^v); it "
        "makes no difference to that.",
        evidence,
    )


def _corollary_3_1() -> Finding:
    integral = max(
        _first_branch(1.0, t, v) / ((t ** (1 - v / 2) - v / 2) / (1 - v / 2))
        for t in (1, 2, 3, 10, 1000, HORIZON)
        for v in (1.001, 1.1, 1.3, 1.5)
    )
    x = np.linspace(0, 1, 1001)
    exponential = float(np.max(np.exp(x) / (1 + 2 * x)))
    ratios = {}
    for target, algorithm in _inputs().items():
        epsilon = algorithm.epsilon
        series = float(zeta(EXPONENT))
        first = epsilon * (HORIZON ** (1 - EXPONENT / 2) - EXPONENT / 2) / (1 - EXPONENT / 2)
        second = epsilon * (2 * epsilon * series + math.sqrt(2 * series * math.log(1 / DELTA)))
        ratios[target] = _true(algorithm) / min(first, second)
    return Finding(
        decide(min(ratios.values()) > 1, FAILS, HOLDS),
        "Its own two steps, the integral test and e^x ≤ 1 + 2x on [0, 1], are right; the second "
        "bound inherits the factor ε before a root that holds √ε from Theorem 3.4.",
        {
            "greatest sum / integral": round(integral, 6),
            "greatest e^x/(1 + 2x)": round(exponential, 6),
        }
        | {
            f"ε of the releases / bound, T = 10⁵, f = {algorithm.interval}": round(ratios[t], 3)
            for t, algorithm in _inputs().items()
        },
    )


def _corollary_3_2() -> Finding:
    series = float(zeta(EXPONENT))
    inverse = max(
        abs(2 * series * x**2 + math.sqrt(2 * series * math.log(1 / DELTA)) * x - target) / target
        for target in (*TARGETS, 0.01, 0.5)
        for x in (DPUCBInt.target_input(target, DELTA, EXPONENT),)
    )
    evidence: dict[str, float | int | str] = {
        "relative error of the inversion, greatest": float(f"{inverse:.0e}")
    }
    exceeded = []
    for target, algorithm in _inputs().items():
        losses = algorithm.losses(HORIZON)
        for name, seen in (("", losses), (", without the first f rewards", losses[1:])):
            epsilon = accounting.epsilon_at(DELTA, seen).lower
            delta = accounting.delta_at(target, seen).lower
            exceeded.append(epsilon > target and delta > DELTA)
            evidence |= {
                f"ε at δ = e^(−10), target {target:g}{name}": round(epsilon, 5),
                f"δ at ε = {target:g}{name}": float(f"{delta:.4g}"),
            }
        evidence[f"δ / e^(−10) at ε = {target:g}"] = round(
            accounting.delta_at(target, losses).lower / DELTA
        )
    return Finding(
        decide(all(exceeded), FAILS, HOLDS),
        "The formula inverts the second bound of Corollary 3.1, and that bound is too small. At "
        "the two targets of the experiments, (1, e^(−10)) and (0.1, e^(−10)), the releases are "
        "not that private at T = 10⁵, also if the rewards of the first K·f pulls are left out of "
        "every mean, as the pseudo-code has it. Actions show less than releases; for one action "
        "see the same corollary, read by Definition 2.1.",
        evidence,
    )


def _groups() -> Finding:
    epsilon, sizes = 1.0, (1, 2, 5, 10)
    pure = max(m * HybridCounter(epsilon / m).guarantee.epsilon for m in sizes)
    found = {}
    for m in sizes:
        algorithm = DPUCBInt(DPUCBInt.target_input(epsilon / m, DELTA, EXPONENT))
        found[m] = accounting.epsilon_at(DELTA, m * algorithm.losses(HORIZON)).lower
    covered = all(value <= epsilon * FINE for value in found.values())
    relative = all(found[m] <= found[1] * FINE for m in sizes)
    return Finding(
        decide(covered, HOLDS, CONDITION) if pure <= epsilon * FINE else FAILS,
        "True of pure privacy, and so of the algorithms with hybrid counters: ε/m for one reward "
        "gives ε for m. DP-UCB-INT with the input of Corollary 3.2 for ε/m "
        + ("keeps" if relative else "does not even keep")
        + " for m rewards of one arm the ε that it has for one: their loss is m times as great, "
        "and the interval grows in proportion to m, which lowers it by m^(v/2) only.",
        {
            "loss of m rewards at ε/m / ε, hybrid counter ε/2 each": round(pure / epsilon, 6),
        }
        | {
            f"ε at δ = e^(−10) of m = {m} rewards, target 1/{m}": round(v, 3)
            for m, v in found.items()
        },
    )


CLAIMS = (
    Claim(
        "td16-lemma-3.1",
        PAPER,
        "Lemma 3.1",
        "A released mean of n rewards, with Laplace noise of scale n^(v/2 − 1), is n^(−v/2)-DP.",
        _lemma_3_1,
    ),
    Claim(
        "td16-thm-3.4-first",
        PAPER,
        "Theorem 3.4, first bound",
        "After t steps DP-UCB-INT is ε'-DP with ε' ≤ ε·Σ n^(−v/2), n ≤ t.",
        _theorem_3_4_first,
    ),
    Claim(
        "td16-thm-3.4-second",
        PAPER,
        "Theorem 3.4, second bound",
        "Its releases, and so its actions, are (ε', δ')-DP with "
        "ε' ≤ ε·(ε·Σ (exp(n^(−v/2)) − 1)/√(t^v) + √(Σ 2·log(1/δ')/n^v)).",
        _theorem_3_4_second,
    ),
    Claim(
        "td16-cor-3.1",
        PAPER,
        "Corollary 3.1",
        "Its releases, and so its actions, are (ε', δ')-DP with "
        "ε' ≤ ε·min((t^(1−v/2) − v/2)/(1 − v/2), 2εζ(v) + √(2ζ(v)·log(1/δ'))).",
        _corollary_3_1,
    ),
    Claim(
        "td16-cor-3.2",
        PAPER,
        "Corollary 3.2; §4",
        "With the input that Corollary 3.2 computes for (ε, δ) the releases of DP-UCB-INT, and so "
        "its actions, are (ε, δ)-DP.",
        _corollary_3_2,
    ),
    Claim(
        "td16-groups",
        PAPER,
        "§5",
        "m observations of one individual are covered by re-scaling the privacy parameter to ε/m.",
        _groups,
    ),
)
