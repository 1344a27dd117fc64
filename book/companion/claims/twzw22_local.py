"""Claims of Tao, Wu, Zhao & Wang (2022), §5: LDPRSE, its privacy and its rates.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats

from companion.claims.ledger import (
    CANNOT_TELL,
    CONDITION,
    FAILS,
    HOLDS,
    Claim,
    Finding,
    decide,
)
from companion.claims.twzw22_rates import FAR, GAPS, ORDERS, lower_power, spread, upper_power
from dpbandits import bounds, robust_means
from dpbandits.heavy_schedules import LOCAL_SCHEDULES, heavy_epoch
from dpbandits.regret import LDPRSE
from dpbandits.rewards.heavy_instances import heavy_two_point
from dpbandits.simulation import simulate

__all__ = ["CLAIMS", "EPSILONS", "ZHOU_ZHANG", "claimed_rate", "lower_rate", "share_dropped"]

PAPER = "twzw22"

EPSILONS = (0.1, 0.5, 1.0)
ZHOU_ZHANG = (
    "Zhou & Zhang (NeurIPS 2024, Locally private and robust multi-armed bandits) say in their "
    "abstract that they identify a fundamental flaw in the state of the art of this problem."
)


def _release_loss(bound: float, scale: float, rewards: tuple[float, ...]) -> float:
    """Return the greatest log ratio of the densities of two rewards' releases, at any place.

    Rewards are in units of the bound B; those beyond it count as 0.
    """
    kept = np.array([bound * x if abs(x) <= 1 else 0.0 for x in rewards])
    places = np.concatenate([kept, np.linspace(-20, 20, 401) * bound])
    logs = -np.abs(places[:, None] - kept) / scale
    return float((logs.max(axis=1) - logs.min(axis=1)).max())


def _theorem_6() -> Finding:
    positive = (0.0, 0.3, 1.0, 1.1, 1e9)
    signed = (*positive, -0.3, -1.0, -1.1)
    losses, twins = [], []
    for schedule, epsilon, order, epoch in itertools.product(
        LOCAL_SCHEDULES, (0.1, 1.0, 4.0), (0.5, 1.0), (1, 4)
    ):
        plan = heavy_epoch(5, epoch, 0.01, epsilon, 2.0, order, "local", schedule)
        rewards = positive if schedule == "non-negative" else signed
        losses.append(_release_loss(plan.bound, plan.noise_scale, rewards) / epsilon)
        twins.append(_release_loss(plan.bound, plan.bound / epsilon, signed) / epsilon)
    return Finding(
        decide(max(losses) <= 1 + 1e-9 < min(twins)),
        "Each reward is released once, and B follows from what was released before. For noise of "
        "scale 2B/ε and rewards of either sign, or B/ε and rewards that are never negative. The "
        "copy does not show which is printed.",
        {
            "plans": len(losses),
            "greatest loss / ε": round(max(losses), 6),
            "with scale B/ε, rewards of either sign": round(max(twins), 6),
        },
    )


def claimed_rate(gap: float, order: float, epsilon: float) -> float:
    """Return the non-private rate times 1/ε², over log T."""
    return gap ** (-1 / order) / epsilon**2


def lower_rate(gap: float, order: float, epsilon: float) -> float:
    """Return the lower bound on regret/log T, T → ∞, with u = 1 and two arms."""
    return gap / bounds.heavy_divergence(gap, epsilon, 1.0, order, "local")


def _constant(order: float) -> float:
    """Return the constant of DPRSE's bound, which has ε for ε²."""
    gap = 2.0**-9
    bound = bounds.heavy_elimination_regret([0.0, gap], FAR, epsilon=1.0, moment=1.0, order=order)
    return float(bound) * gap ** (1 / order) / math.log(FAR)


def _breaking_gap(order: float, epsilon: float, constant: float) -> float:
    """Return the greatest gap 2^(−k/4) from which the lower bound is above the claimed rate."""
    gaps = [2.0 ** (-k / 4) for k in range(4, 400)]
    beyond = [
        lower_rate(g, order, epsilon) > constant * claimed_rate(g, order, epsilon) for g in gaps
    ]
    return next((g for g, b in zip(gaps, beyond, strict=True) if b), 0.0)


def _breaking_time(gap: float, order: float, constant: float) -> int:
    """Return the least k such that no algorithm has the claimed regret at T = 10^k, ε = 1; or 0."""
    for power in range(1, 300 if gap > 0 else 1):
        claimed = constant * claimed_rate(gap, order, 1.0) * power * math.log(10)
        if (
            bounds.heavy_regret_lower_bound(gap, 10.0**power, claimed, 1.0, 1.0, order, "local")
            > claimed
        ):
            return power
    return 0


def _theorem_7() -> Finding:
    evidence: dict[str, float | int | str] = {}
    broken = []
    for order in (0.5, 1.0):
        for name, constant in (("1", 1.0), ("that of Theorem 4", _constant(order)), ("10⁶", 1e6)):
            gap = _breaking_gap(order, 1.0, constant)
            broken.append(gap > 0 and _breaking_time(gap / 2, order, constant) > 0)
            evidence[f"gap below which it is impossible, v = {order}, constant {name}"] = float(
                f"{gap:.2g}"
            )
        gap = _breaking_gap(order, 1.0, _constant(order)) / 2
        evidence[f"log10 T from which, half of that gap, v = {order}, constant of Theorem 4"] = (
            _breaking_time(gap, order, _constant(order))
        )
    return Finding(
        decide(all(broken), FAILS, CANNOT_TELL),
        "A released reward tells two laws of total variation d apart by a divergence of "
        "(e^ε − 1)²d² at most, and two-point laws of gap Δ have d of order Δ^((1+v)/v). So an "
        "ε-LDP algorithm of small regret needs log T/(ε²Δ^(2(1+v)/v)) pulls of such an arm, up to "
        "a constant: Δ^(−(1+v)/v) times what is claimed. With the lengths that Lemma 13 needs "
        "LDPRSE has this order of regret. " + ZHOU_ZHANG,
        evidence,
    )


def share_dropped(schedule: str, order: float, n_runs: int = 400) -> tuple[int, int]:
    """Return in how many runs LDPRSE drops the best of two two-point arms, and of how many.

    Gap 0.2, ε = 1, β = 0.05, up to 10^18 pulls.
    """
    algorithm = LDPRSE(1.0, beta=0.05, schedule=schedule)
    pulls = simulate(algorithm, heavy_two_point(0.2, order, best=1), 10**18, n_runs, 64).pulls
    return int(np.sum(pulls[:, 1] < pulls[:, 0] - 1)), n_runs


def _lemma_13() -> Finding:
    evidence: dict[str, float | int | str] = {}
    surely = []
    for order in (0.5, 1.0):
        for schedule in ("published-remark", "minimax"):
            dropped, n_runs = share_dropped(schedule, order)
            least = float(stats.beta.ppf(1e-7, dropped, n_runs - dropped + 1)) if dropped else 0.0
            evidence[f"runs of {n_runs} that drop the best arm, {schedule}, v = {order}"] = dropped
            if schedule == "published-remark":
                surely.append(least > 0.05)
                evidence[f"their share, surely above, v = {order}"] = round(least, 3)
    return Finding(
        decide(all(surely), FAILS, CANNOT_TELL),
        "Lengths and B are inferred from Remark 3: those of DPRSE, with ε² for ε. The mean of R "
        "Laplace variables of scale 2B/ε is of order B/(ε√R), and B/(ε²R) would be needed; as B "
        "grows like R^(1/(1+v)) more pulls do not help, and for small gaps no B would (Theorem "
        "7). Many runs drop the best of two two-point arms of gap 0.2 (ε = 1, β = 0.05). With R of "
        "order Δ^(−2(1+v)/v)/ε² and B = (uε√(R/L))^(1/(1+v)) it is proved.",
        evidence,
    )


def _theorem_7_minimax() -> Finding:
    powers = {order: lower_power(order, "local") for order in ORDERS}
    excess = {
        order: bounds.heavy_minimax_lower_bound(1e30, 2, 1.0, 1.0, order, "local")
        / (1e30 ** (1 / (1 + order)) * math.log(1e30))
        for order in ORDERS
    }
    above = all(power > 1 / (1 + v) + 0.05 for v, power in powers.items())
    return Finding(
        decide(above, FAILS, CANNOT_TELL),
        "The text obtains (11) as it obtains (8), from the rate for given gaps; but every ε-LDP "
        "algorithm has a worst regret of order T^((2+v)/(2(1+v))) at least: 3/4 for 1/2 at v = 1. "
        "With the lengths that Lemma 13 needs LDPRSE attains that power.",
        {f"power of T of a lower bound, v = {v}": round(power, 4) for v, power in powers.items()}
        | {f"claimed, v = {v}": round(1 / (1 + v), 4) for v in powers}
        | {
            f"lower bound / (T^(1/(1+v))·log T), T = 10³⁰, v = {v}": float(f"{ratio:.2g}")
            for v, ratio in excess.items()
        },
    )


def _optimal_local() -> Finding:
    ratios: dict[float, list[float]] = {}
    for order in ORDERS:
        ratios[order] = []
        for gap, epsilon in itertools.product(GAPS, EPSILONS):
            upper = bounds.heavy_elimination_regret(
                [0.0, gap], FAR, epsilon=epsilon, moment=1.0, order=order, model="local"
            )
            ratios[order].append(float(upper) / math.log(FAR) / lower_rate(gap, order, epsilon))
    flat = max(spread(values) for values in ratios.values())
    powers = {order: upper_power(order, "local") for order in (0.5, 1.0)}
    best = all(power < (2 + v) / (2 * (1 + v)) + 0.015 for v, power in powers.items())
    return Finding(
        decide(flat < 6 and best, CONDITION, FAILS),
        "If epochs have Δ^(−2(1+v)/v)/ε² pulls, more than Remark 3 lets one infer: then upper and "
        "lower bounds have the same order in T, Δ and ε ≤ 1, for given gaps, and for the worst "
        "ones up to logarithms. The constants between them are very large.",
        {
            f"upper / lower, v = {order}, {name}": float(f"{f(values):.3g}")
            for order, values in ratios.items()
            for name, f in (("least", min), ("greatest", max))
        }
        | {f"power of T at the worst gap, v = {v}": round(p, 3) for v, p in powers.items()},
    )


def _index_width(n: int, order: float, epsilon: float, log_term: float, last: float) -> float:
    """Return the width of a mean of n noised rewards over that of an epoch of n.

    The i-th is truncated at the B of i·last/n rewards: last = n is the arm's own number of pulls,
    and last = t that of the round.
    """
    times = np.arange(1, n + 1) * (last / n)
    power = 1 / (1 + order)
    limits = (epsilon * np.sqrt(times / log_term)) ** power
    bias = float(np.mean(limits**-order))
    variance = float(np.sum(limits ** (1 - order) + 8 * limits**2 / epsilon**2))
    scale = float(limits[-1]) * max(1 / 3, 2 / epsilon)
    err, factor = robust_means.local_width(n, 1.0, order, epsilon, log_term)
    width = bias + (math.sqrt(2 * variance * log_term) + scale * log_term) / n
    return width / (err * factor)


def _index_policies() -> Finding:
    settings = list(itertools.product((100, 10_000, 1_000_000), ORDERS, EPSILONS))
    own = max(_index_width(n, v, e, 20.0, n) for n, v, e in settings)
    rounds = {
        order: [_index_width(10_000, order, 1.0, 20.0, 10.0**k) for k in (6, 12, 18)]
        for order in (0.5, 1.0)
    }
    enormous = all(row[-1] > 10 * row[0] and row[-1] > 100 for row in rounds.values())
    return Finding(
        decide(enormous, CONDITION if own < 1.5 else HOLDS, FAILS),
        "If the threshold grows with the round t: an arm that is pulled rarely then gets noise "
        "for t rewards, and keeps it. If it grows with the arm's own number of pulls n, the noise "
        "is never above that of an epoch of n rewards, and an index is as good as an epoch up to a "
        "constant factor.",
        {"greatest width / that of an epoch, own pulls": round(own, 3)}
        | {
            f"width / that of an epoch, n = 10⁴, t = 10^{k}, v = {v}": float(f"{ratio:.3g}")
            for v, row in rounds.items()
            for k, ratio in zip((6, 12, 18), row, strict=True)
        },
    )


CLAIMS = (
    Claim(
        "twzw22-local-ucb",
        PAPER,
        "§5",
        "In the local model the UCB method may cause enormous error, as the thresholds, and with "
        "them the noise, grow with time.",
        _index_policies,
    ),
    Claim(
        "twzw22-thm-6",
        PAPER,
        "Theorem 6",
        "Algorithm 4 (LDPRSE) is ε-LDP.",
        _theorem_6,
    ),
    Claim(
        "twzw22-lemma-13",
        PAPER,
        "Proof of Theorem 7; Lemma 13",
        "(reconstructed) With about Δ^(−(1+v)/v)·log(1/β)/ε² pulls of each arm LDPRSE drops the "
        "arms of gap Δ and, with probability 1 − β, not the best one.",
        _lemma_13,
    ),
    Claim(
        "twzw22-thm-7",
        PAPER,
        "Theorem 7; Remark 3",
        "(reconstructed) LDPRSE has regret of the order of the non-private rate times 1/ε²: "
        "Σ (log T/ε²)·(1/Δ)^(1/v).",
        _theorem_7,
    ),
    Claim(
        "twzw22-thm-7-minimax",
        PAPER,
        "Theorem 7",
        "(reconstructed) Whatever the gaps, LDPRSE has regret of order T^(1/(1+v)), up to powers "
        "of log T.",
        _theorem_7_minimax,
    ),
    Claim(
        "twzw22-optimal-local",
        PAPER,
        "Abstract; §5",
        "LDPRSE achieves (near) optimal rates, for given gaps and for the worst ones.",
        _optimal_local,
    ),
)
