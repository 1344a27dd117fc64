"""Claims of Tao, Wu, Zhao & Wang (2022), §5: lower bounds and the price of local privacy."""

from __future__ import annotations

import math

import numpy as np

from companion.claims.ledger import CANNOT_TELL, FAILS, Claim, Finding, decide
from companion.claims.twzw22_local import EPSILONS, ZHOU_ZHANG, claimed_rate, lower_rate
from companion.claims.twzw22_rates import FAR, GAPS, ORDERS, lower_power, spread
from dpbandits import bounds

__all__ = ["CLAIMS"]

PAPER = "twzw22"


def _theorem_8() -> Finding:
    ratios = {
        order: [
            [lower_rate(g, order, e) / claimed_rate(g, order, e) for g in GAPS]
            for e in (*EPSILONS, 4.0)
        ]
        for order in ORDERS
    }
    # of the claimed order times a constant of v, at the greatest gap where it is least
    least = min(min(min(row) for row in rows) for rows in ratios.values())
    grows = all(
        list(np.diff(row) > 0) == [True] * 4 for rows in ratios.values() for row in rows[:3]
    )
    tight = max(spread(row) for rows in ratios.values() for row in rows[:3]) < 10
    return Finding(
        decide(least > 1e-3 and grows),
        "As a lower bound it is true, and "
        + ("tight." if tight else "can be raised by the factor Δ^(−(1+v)/v): see Theorem 7. ")
        + "Ours is proved for two-point arms of which the worse give 0 always.",
        {"least of our lower bound / claimed one": round(least, 4)}
        | {
            f"the same, gap 2^(−20), ε = 1, v = {order}": float(f"{rows[2][-1]:.2g}")
            for order, rows in ratios.items()
        },
    )


def _price(gap: float, order: float) -> float:
    """Return the lower bound on regret/log T at ε = 1 over the upper one of robust UCB."""
    free = bounds.robust_ucb_regret([0.0, gap], FAR, moment=1.0, order=order, confidence="fixed")
    return lower_rate(gap, order, 1.0) * math.log(FAR) / float(free)


def _remark_3() -> Finding:
    prices = {order: [_price(gap, order) for gap in GAPS] for order in ORDERS}
    powers = {
        order: math.log2(row[-1] / row[-2]) / math.log2(GAPS[-2] / GAPS[-1])
        for order, row in prices.items()
    }
    grows = all(power > 0.5 for power in powers.values())
    return Finding(
        decide(grows, FAILS, CANNOT_TELL),
        "On two-point arms the least regret of ε-LDP algorithms is, up to a constant, "
        "Δ^(−(1+v)/v)/ε² times that of robust UCB: without limit as the gap falls. With "
        "bounded rewards, where two laws of gap Δ differ by Δ in total variation, the factor is "
        "indeed of order 1/ε². " + ZHOU_ZHANG,
        {f"power of 1/Δ in the price, v = {v}": round(power, 3) for v, power in powers.items()}
        | {
            f"price at least, ε = 1, v = {order}, gap 2^(−20)": float(f"{row[-1]:.2g}")
            for order, row in prices.items()
        },
    )


def _theorem_9() -> Finding:
    ratios = {
        (order, epsilon): [
            bounds.heavy_minimax_lower_bound(t, 5, epsilon, 1.0, order, "local")
            / ((4 / epsilon**2) ** (order / (1 + order)) * t ** (1 / (1 + order)))
            for t in (1e6, 1e9, 1e15, 1e30)
        ]
        for order in ORDERS
        for epsilon in EPSILONS
    }
    least = min(row[-1] for row in ratios.values())
    grows = all(row[-1] >= row[-2] >= row[-3] for row in ratios.values())
    return Finding(
        decide(least > 0.01 and grows),
        "As a lower bound for T large enough it is true, and far from tight: the power of T can be "
        "raised to (2+v)/(2(1+v)).",
        {
            f"our lower bound / claimed one, K = 5, ε = {e:g}, v = {v}, T = {t}": float(f"{r:.2g}")
            for (v, e), row in ratios.items()
            if e == 1.0
            for t, r in zip(("10⁶", "10³⁰"), (row[0], row[-1]), strict=True)
        },
    )


def _remark_4() -> Finding:
    powers = {
        "local": {v: lower_power(v, "local") for v in ORDERS},
        "no privacy": {v: lower_power(v, "global", math.inf) for v in ORDERS},
    }
    differ = all(powers["local"][v] > powers["no privacy"][v] + 0.05 for v in ORDERS)
    return Finding(
        decide(differ, CANNOT_TELL, FAILS),
        "The factor is lost in our copy. The difference is T^(v/(2(1+v))), and a power of ε: a "
        "factor with ε alone would not be right. With bounded rewards the power of T is the same "
        "in both models (Duchi, Jordan & Wainwright 2013; not computed here).",
        {
            f"power of T, {name}, v = {v}": round(power, 4)
            for name, row in powers.items()
            for v, power in row.items()
        },
    )


CLAIMS = (
    Claim(
        "twzw22-thm-8",
        PAPER,
        "Theorems 8 and 11",
        "(reconstructed) On some instances every ε-LDP algorithm of small regret has regret of "
        "order Σ (log T/ε²)·(1/Δ)^(1/v) at least.",
        _theorem_8,
    ),
    Claim(
        "twzw22-remark-3",
        PAPER,
        "Remark 3",
        "(reconstructed) The price of local privacy is an additional factor 1/ε², as with bounded "
        "rewards.",
        _remark_3,
    ),
    Claim(
        "twzw22-thm-9",
        PAPER,
        "Theorem 9",
        "(reconstructed) For large T every ε-LDP algorithm has a worst regret of order "
        "(K/ε²)^(v/(1+v))·T^(1/(1+v)) at least.",
        _theorem_9,
    ),
    Claim(
        "twzw22-remark-4",
        PAPER,
        "Remark 4",
        "The worst regret in the local model differs from the non-private one by a certain factor, "
        "lost in our copy, which is not that of bounded rewards.",
        _remark_4,
    ),
)
