"""Claims of Tao, Wu, Zhao & Wang (2022), §3 to §5: moments, and rates in both models.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import stats

from companion.claims.findings import Finding, claim, entries, extremes, finding, shown
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from dpbandits import LDPRSE, bounds, simulate
from dpbandits.heavy import robust_means
from dpbandits.heavy.schedules import heavy_epoch
from dpbandits.rewards.heavy_instances import heavy_two_point

GAPS = tuple(2.0**-k for k in (2, 5, 9, 14, 20))
ORDERS = (0.5, 0.75, 1.0)
EPSILONS = (0.01, 0.1, 1.0)
FAR = 1e90
"""A horizon at which log(4Kτ²T)/log T is near 1."""
LOCAL_EPSILONS = (0.1, 0.5, 1.0)
ZHOU_ZHANG = (
    "Zhou & Zhang (NeurIPS 2024, Locally private and robust multi-armed bandits) say in their "
    "abstract that they identify a fundamental flaw in the state of the art of this problem."
)


def _central(value: float, raw: float, order: float) -> float:
    """Return E|X − μ|^(1+v)/E|X|^(1+v) for X = value with probability p, −1 otherwise."""
    p, power = raw, 1 + order
    mean = p * value - (1 - p)
    below = (1 - p) + p * abs(value) ** power
    return (p * abs(value - mean) ** power + (1 - p) * abs(1 + mean) ** power) / below


def _raw_over_central(shift: float, order: float) -> float:
    """Return the same ratio, upside down, for 0 or 1 with probability 1/2 each, and a shift."""
    mean, power = shift + 0.5, 1 + order
    raw = 0.5 * (shift + 1.0) ** power + 0.5 * shift**power
    return raw / (0.5 * abs(shift + 1.0 - mean) ** power + 0.5 * abs(shift - mean) ** power)


@claim("twzw22-lemma-10", "§3.1; Lemma 10", at="lem-truncation")
def lemma_10() -> Finding:
    """A bounded raw moment implies a bounded central moment, and vice versa."""
    heights = np.concatenate([-np.geomspace(1e-3, 1e3, 30), np.geomspace(1e-3, 1e3, 120)])
    shares = np.linspace(0.001, 0.999, 60).tolist()
    forth = {
        order: max(_central(h, p, order) for h in heights.tolist() for p in shares)
        for order in ORDERS
    }
    proved = all(ratio <= 2 ** (1 + order) for order, ratio in forth.items())
    back = {shift: _raw_over_central(shift, 0.5) for shift in (0.0, 10.0, 1e3, 1e5)}
    unbounded = back[1e3] > 100 * back[10.0] and back[1e5] > 100 * back[1e3]
    return finding(
        decide(proved, CONDITION if unbounded else HOLDS),
        "From raw to central: abs(x − μ)^(1+v) ≤ 2^v·(abs(x)^(1+v) + abs(μ)^(1+v)) and Jensen give "
        "the factor 2^(1+v). The other way the mean must be bounded, too: 2^v·(c + abs(μ)^(1+v)) "
        "for a central moment c; without that a shift makes the raw moment as large as one likes. "
        "Lemma 10 itself is missing from our copy, and may say so.",
        entries("greatest central / raw, two-point laws, v = {}", forth, 3),
        entries("raw / central, 0 or 1 shifted by {:g}, v = 0.5", back, ".3g"),
    )


def spread(values: Iterable[float]) -> float:
    """Return the greatest over the least of positive numbers."""
    listed = list(values)
    return max(listed) / min(listed)


def _upper_ratio(
    gap: float, horizon: float, order: float, epsilon: float, schedule: str = "printed"
) -> float:
    """Return DPRSE's bound over (log T/ε)·Δ^(−1/v), for u = 1 and two arms."""
    bound = bounds.heavy_elimination_regret(
        [0.0, gap], horizon, epsilon=epsilon, moment=1.0, order=order, schedule=schedule
    )
    return float(bound) * epsilon * gap ** (1 / order) / math.log(horizon)


@claim("twzw22-thm-4", "Theorem 4", at="thm-rse")
def theorem_4() -> Finding:
    """(reconstructed) DPRSE has expected regret of order Σ (log T/ε)·(u/Δ)^(1/v)."""
    settings = list(itertools.product(GAPS, ORDERS, EPSILONS))
    early, late = ({s: _upper_ratio(s[0], t, *s[1:]) for s in settings} for t in (1e60, FAR))
    grows = max(late[s] / early[s] for s in settings)
    # over gaps and budgets
    constants = {order: [late[s] for s in settings if s[1] == order] for order in ORDERS}
    flat = max(spread(values) for values in constants.values())
    return finding(
        decide(grows < 1.02 and flat < 1.2),
        "Proved with β = 1/T for ε ≤ 1, and as a bound for the constants 24 and 12. The constant "
        "depends on v and is large for small v, about 24^((1+v)/v).",
        ("growth of bound / rate from T = 10⁶⁰ to 10⁹⁰, greatest", grows, 4),
        {
            f"bound / rate, v = {order}, {name} over gaps and ε": round(f(values))
            for order, values in constants.items()
            for name, f in (("least", min), ("greatest", max))
        },
    )


def growth(value: Callable[[float], float], early: float, late: float) -> float:
    """Return the power of T with which `value` grows between two horizons."""
    return math.log(value(late) / value(early)) / math.log(late / early)


def worst_regret(horizon: float, order: float, model: str = "global") -> float:
    """Return our bound on the regret with two arms, ε = 1, at the worst gap 2^(−k)·2.

    An arm whose gap is just below 2^(1−τ) goes after epoch τ, with N(τ) pulls or the horizon.
    """
    worst, epoch, pulls = 0.0, 0, 0.0
    while pulls <= horizon:
        epoch += 1
        pulls = bounds.heavy_elimination_pulls(2.0**-epoch, 2, 1 / horizon, 1.0, 1.0, order, model)
        worst = max(worst, 2.0 ** (1 - epoch) * min(pulls, horizon))
    return worst


def upper_power(order: float, model: str = "global") -> float:
    """Return the power of T in `worst_regret`, without that of log T."""
    share = order / (1 + order) / (1 if model == "global" else 2)
    return growth(lambda t: worst_regret(t, order, model) / math.log(t) ** share, 1e20, 1e80)


def lower_power(order: float, model: str = "global", epsilon: float = 1.0) -> float:
    """Return the power of T in the lower bound on the worst regret of two arms."""
    return growth(
        lambda t: bounds.heavy_minimax_lower_bound(t, 2, epsilon, 1.0, order, model), 1e30, 1e90
    )


@claim("twzw22-thm-4-minimax", "Theorem 4", at="thm-rse")
def theorem_4_minimax() -> Finding:
    """(reconstructed) Whatever the gaps, DPRSE has regret of order T^(1/(1+v)), up to powers of log
    T.
    """
    found = {order: upper_power(order) for order in ORDERS}
    below = {order: lower_power(order) for order in ORDERS}
    return finding(
        decide(all(power < 1 / (1 + v) + 0.015 for v, power in found.items())),
        "The bound of Theorem 4 at the worst gap. The text leaves a lower bound open. Every ε-DP "
        "algorithm has a worst regret of order T^(1/(1+v))·(K/ε)^(v/(1+v)) at least, by two-point "
        "arms, so that the power of T is the best one.",
        entries("power of T, v = {}, without log T", found, 3),
        entries("power of T of a lower bound, v = {}", below, 3),
    )


def _lower_ratio(gap: float, order: float, epsilon: float) -> float:
    """Return the lower bound on regret/log T, at T → ∞, over Δ^(−1/v)/ε; u = 1, two arms."""
    kappa = bounds.heavy_divergence(gap, epsilon, 1.0, order)
    return gap / kappa * epsilon * gap ** (1 / order)


def _coupling() -> float:
    """Return the least P2(A)/P1(A) over (1 − p(1 − e^−ε))^m for a counter with Laplace noise.

    m rewards are h with probability p, or all 0; A: the noised count is below a threshold.
    """
    least = math.inf
    for epsilon, p, m in itertools.product((0.1, 1.0, 3.0), (0.01, 0.3), (1, 20)):
        kappa = bounds.heavy_divergence(math.sqrt(p) / 2, epsilon, 1.0, 1.0)  # v = 1
        counts = np.arange(m + 1)
        x = np.linspace(-30 / epsilon, m + 30 / epsilon, 400)
        second = stats.laplace.cdf((x[:, None] - counts) * epsilon) @ stats.binom.pmf(counts, m, p)
        ratio = second / stats.laplace.cdf(x * epsilon)
        least = min(least, float(ratio.min()) / math.exp(-kappa * m))
    return least


@claim("twzw22-thm-5", "Theorems 5 and 10", at="thm-heavy-lower")
def theorem_5() -> Finding:
    """(reconstructed) On some instances every ε-DP algorithm of small regret has regret of order Σ
    (log T/ε)·(1/Δ)^(1/v) at least.
    """
    grid = list(itertools.product(GAPS, ORDERS, EPSILONS))
    ratios = [_lower_ratio(g, o, e) for g, o, e in grid]
    large = [_lower_ratio(g, o, e) for g in GAPS for o in ORDERS for e in (3.0, 10.0, 30.0)]
    coupling = _coupling()
    few, many = (
        bounds.heavy_regret_lower_bound(2.0**-9, FAR, FAR**0.5, 0.1, 1.0, 0.5, n_arms=k)
        for k in (2, 11)
    )
    least = min(r * 2 ** ((1 + o) / o) for r, (_, o, _) in zip(ratios, grid, strict=True))
    return finding(
        decide(coupling >= 1 - 1e-9 and least > 0.9 and min(large) > min(ratios)),
        "Proved for arms that give 0 always: if such an arm gives a rare reward instead, with "
        "probability p = (2Δ)^((1+v)/v), an event that rests on m of its rewards keeps at least "
        "(1 − p(1 − e^(−ε)))^m of its probability. K − 1 such arms add up. True for all ε, with "
        "1/(1 − e^(−ε)) for 1/ε, if regret grows more slowly than every power of T; if it is T^a, "
        "with 1 − a in front.",
        ("least of lower bound / (log T/ε)Δ^(−1/v), ε ≤ 1", min(ratios), 4),
        ("greatest, ε ≤ 1", max(ratios), 4),
        ("least, ε = 3 to 30", min(large), 4),
        ("least P2/P1 over its bound, noised count", coupling, 6),
        ("lower bound of 11 arms / of 2", many / few, 3),
    )


@claim("twzw22-optimal", "Abstract; §4", at="thm-heavy-lower")
def optimal() -> Finding:
    """The instance-dependent regret of DPRSE is optimal in the central model."""
    ratios = {
        v: [
            _upper_ratio(g, FAR, v, e, "tightened") / _lower_ratio(g, v, e)
            for g, e in itertools.product(GAPS, EPSILONS)
        ]
        for v in ORDERS
    }
    flat = max(spread(values) for values in ratios.values())
    return finding(
        decide(min(map(min, ratios.values())) >= 1 and flat < 4),
        "Upper and lower bound have the same order in T, ε ≤ 1 and the gap; what is between them "
        "is a constant that depends on v. Optimal for each gap on the worst laws of that gap, u "
        "and v: on others an algorithm may do better.",
        extremes("upper / lower, v = {}", ratios, 0),
    )


@claim("twzw22-remark-2", "Remark 2", at="thm-heavy-lower")
def remark_2() -> Finding:
    """(reconstructed) With heavy tails the price of privacy is an additional factor 1/ε, with
    bounded rewards an additional term.
    """
    prices = {
        epsilon: [
            bounds.heavy_divergence(g, math.inf, 1.0, v)
            / bounds.heavy_divergence(g, epsilon, 1.0, v)
            for g, v in itertools.product(GAPS, ORDERS)
        ]
        for epsilon in (*EPSILONS, 10.0)
    }
    factor = [price * e for e in EPSILONS for price in prices[e]]
    upper = [spread([_upper_ratio(g, FAR, o, e) for g in GAPS for e in EPSILONS]) for o in ORDERS]
    tends = max(abs(price - 1) for price in prices[10.0]) < 0.01
    bounded = {
        gap: bounds.private_lower_bound_rate([0.5, 0.5 - gap], 0.1)
        / bounds.lai_robbins_rate([0.5, 0.5 - gap])
        for gap in (0.1, 0.01, 0.001)
    }
    vanishes = bounded[0.001] < 0.2 * bounded[0.1]
    fits = min(factor) >= 1 and max(factor) < 2 and max(upper) < 1.2
    return finding(
        decide(fits and vanishes and tends),
        "For ε ≤ 1, lower bounds with and without privacy differ by 1/(1 − e^(−ε)) for every small "
        "gap, and our upper bounds are in proportion to 1/ε; for large ε the factor tends to 1. "
        "With bounded rewards the price is log T/ε whatever the gap, and its share in the regret "
        "vanishes for small gaps.",
        extremes("factor, lower bounds, ε = {:g}", prices, ".4g"),
        entries("bounded: lower bound, ε = 0.1 / without privacy, gap {:g}", bounded, 4),
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


@claim("twzw22-local-ucb", "§5", at="thm-local-mean")
def index_policies() -> Finding:
    """In the local model the UCB method may cause enormous error, as the thresholds, and with them
    the noise, grow with time.
    """
    settings = itertools.product((100, 10_000, 1_000_000), ORDERS, LOCAL_EPSILONS)
    own = max(_index_width(n, v, e, 20.0, n) for n, v, e in settings)
    widths = {
        (k, v): _index_width(10_000, v, 1.0, 20.0, 10.0**k) for v in (0.5, 1.0) for k in (6, 12, 18)
    }
    enormous = all(widths[18, v] > max(10 * widths[6, v], 100) for v in (0.5, 1.0))
    return finding(
        decide(enormous, CONDITION if own < 1.5 else HOLDS, FAILS),
        "If the threshold grows with the round t: an arm that is pulled rarely then gets noise "
        "for t rewards, and keeps it. If it grows with the arm's own number of pulls n, the noise "
        "is never above that of an epoch of n rewards, and an index is as good as an epoch up to a "
        "constant factor.",
        ("greatest width / that of an epoch, own pulls", own, 3),
        entries("width / that of an epoch, n = 10⁴, t = 10^{}, v = {}", widths, ".3g"),
    )


def _release_loss(bound: float, scale: float, rewards: tuple[float, ...]) -> float:
    """Return the greatest log ratio of the densities of two rewards' releases, at any place.

    Rewards are in units of the bound B; those beyond it count as 0.
    """
    kept = np.array([bound * x if abs(x) <= 1 else 0.0 for x in rewards])
    places = np.concatenate([kept, np.linspace(-20, 20, 401) * bound])
    logs = -np.abs(places[:, None] - kept) / scale
    return float((logs.max(axis=1) - logs.min(axis=1)).max())


@claim("twzw22-thm-6", "Theorem 6", at="thm-rse", reconstructed=True)
def theorem_6() -> Finding:
    """Algorithm 4 (LDPRSE) is ε-LDP."""
    positive = (0.0, 0.3, 1.0, 1.1, 1e9)
    signed = (*positive, -0.3, -1.0, -1.1)
    losses, without = [], []
    for schedule, epsilon, order, epoch in itertools.product(
        ("minimax", "non-negative", "published-remark"), (0.1, 1.0, 4.0), (0.5, 1.0), (1, 4)
    ):
        plan = heavy_epoch(5, epoch, 0.01, epsilon, 2.0, order, "local", schedule)
        rewards = positive if schedule == "non-negative" else signed
        losses.append(_release_loss(plan.bound, plan.noise_scale, rewards) / epsilon)
        without.append(_release_loss(plan.bound, plan.bound / epsilon, signed) / epsilon)
    return finding(
        decide(max(losses) <= 1 + 1e-9 < min(without)),
        "Each reward is released once, and B follows from what was released before. For noise of "
        "scale 2B/ε and rewards of either sign, or B/ε and rewards that are never negative. The "
        "copy does not show which is printed.",
        ("plans", len(losses)),
        ("greatest loss / ε", max(losses), 6),
        ("with scale B/ε, rewards of either sign", max(without), 6),
    )


def share_dropped(schedule: Any, order: float, n_runs: int = 400) -> tuple[int, int]:
    """Return in how many runs LDPRSE drops the best of two two-point arms, and of how many.

    Gap 0.2, ε = 1, β = 0.05, up to 10^18 pulls.
    """
    algorithm = LDPRSE(1.0, beta=0.05, schedule=schedule)
    pulls = simulate(algorithm, heavy_two_point(0.2, order, best=1), 10**18, n_runs, 64).pulls
    return int(np.sum(pulls[:, 1] < pulls[:, 0] - 1)), n_runs


@claim("twzw22-lemma-13", "Proof of Theorem 7; Lemma 13", at="ours-heavy-local-schedule")
def lemma_13() -> Finding:
    """(reconstructed) With about Δ^(−(1+v)/v)·log(1/β)/ε² pulls of each arm LDPRSE drops the arms
    of gap Δ and, with probability 1 − β, not the best one.
    """
    evidence: dict[str, float] = {}
    surely = []
    for order, schedule in itertools.product((0.5, 1.0), ("published-remark", "minimax")):
        dropped, n_runs = share_dropped(schedule, order)
        evidence[f"runs of {n_runs} that drop the best arm, {schedule}, v = {order}"] = dropped
        if schedule == "published-remark":
            least = float(stats.beta.ppf(1e-7, dropped, n_runs - dropped + 1)) if dropped else 0.0
            surely.append(least > 0.05)
            evidence[f"their share, surely above, v = {order}"] = round(least, 3)
    return finding(
        decide(all(surely), FAILS, CANNOT_TELL),
        "Lengths and B are inferred from Remark 3: those of DPRSE, with ε² for ε. The mean of R "
        "Laplace variables of scale 2B/ε is of order B/(ε√R), and B/(ε²R) would be needed; as B "
        "grows like R^(1/(1+v)) more pulls do not help, and for small gaps no B would (Theorem "
        "7). Many runs drop the best of two two-point arms of gap 0.2 (ε = 1, β = 0.05). With R of "
        "order Δ^(−2(1+v)/v)/ε² and B = (uε√(R/L))^(1/(1+v)) it is proved.",
        evidence,
    )


def claimed_rate(gap: float, order: float, epsilon: float = 1.0) -> float:
    """Return the non-private rate times 1/ε², over log T."""
    return gap ** (-1 / order) / epsilon**2


def lower_rate(gap: float, order: float, epsilon: float = 1.0) -> float:
    """Return the lower bound on regret/log T, T → ∞, with u = 1 and two arms."""
    return gap / bounds.heavy_divergence(gap, epsilon, 1.0, order, "local")


def _breaking_time(gap: float, order: float, constant: float) -> int:
    """Return the least k such that no algorithm has the claimed regret at T = 10^k, ε = 1; or 0."""
    for power in range(1, 300 if gap > 0 else 1):
        claimed = constant * claimed_rate(gap, order, 1.0) * power * math.log(10)
        problem = gap, 10.0**power, claimed, 1.0, 1.0, order, "local"
        if bounds.heavy_regret_lower_bound(*problem) > claimed:
            return power
    return 0


@claim("twzw22-thm-7", "Theorem 7; Remark 3", at="cor-flaw")
def theorem_7() -> Finding:
    """(reconstructed) LDPRSE has regret of the order of the non-private rate times 1/ε²: Σ (log
    T/ε²)·(1/Δ)^(1/v).
    """
    evidence, broken, late = {}, [], 0
    for order in (0.5, 1.0):
        near: Any = {"epsilon": 1.0, "moment": 1.0, "order": order}
        four = float(bounds.heavy_elimination_regret([0.0, 2.0**-9], FAR, **near))
        four *= (2.0**-9) ** (1 / order) / math.log(FAR)  # its bound has ε for ε²
        for name, constant in (("1", 1.0), ("that of Theorem 4", four), ("10⁶", 1e6)):
            # gaps from which the lower bound is above the claimed rate
            gaps = (2.0 ** (-k / 4) for k in range(4, 400))
            beyond = (g for g in gaps if lower_rate(g, order) > constant * claimed_rate(g, order))
            gap = next(beyond, 0.0)
            power = _breaking_time(gap / 2, order, constant)
            broken.append(gap > 0 and power > 0)
            where = f"gap below which it is impossible, v = {order}, constant {name}"
            evidence[where] = shown(gap, ".2g")
            late = power if constant == four else late
        half = f"log10 T from which, half of that gap, v = {order}, constant of Theorem 4"
        evidence[half] = late
    return finding(
        decide(all(broken), FAILS, CANNOT_TELL),
        "A released reward tells two laws of total variation d apart by a divergence of "
        "(e^ε − 1)²d² at most, and two-point laws of gap Δ have d of order Δ^((1+v)/v). So an "
        "ε-LDP algorithm of small regret needs log T/(ε²Δ^(2(1+v)/v)) pulls of such an arm, up to "
        "a constant: Δ^(−(1+v)/v) times what is claimed. With the lengths that Lemma 13 needs "
        "LDPRSE has this order of regret. " + ZHOU_ZHANG,
        evidence,
    )


@claim("twzw22-thm-7-minimax", "Theorem 7", at="cor-flaw")
def theorem_7_minimax() -> Finding:
    """(reconstructed) Whatever the gaps, LDPRSE has regret of order T^(1/(1+v)), up to powers of
    log T.
    """
    powers = {order: lower_power(order, "local") for order in ORDERS}
    excess = {
        order: bounds.heavy_minimax_lower_bound(1e30, 2, 1.0, 1.0, order, "local")
        / (1e30 ** (1 / (1 + order)) * math.log(1e30))
        for order in ORDERS
    }
    above = all(power > 1 / (1 + v) + 0.05 for v, power in powers.items())
    return finding(
        decide(above, FAILS, CANNOT_TELL),
        "The text obtains (11) as it obtains (8), from the rate for given gaps; but every ε-LDP "
        "algorithm has a worst regret of order T^((2+v)/(2(1+v))) at least: 3/4 for 1/2 at v = 1. "
        "With the lengths that Lemma 13 needs LDPRSE attains that power.",
        entries("power of T of a lower bound, v = {}", powers, 4),
        entries("claimed, v = {}", {v: 1 / (1 + v) for v in ORDERS}, 4),
        entries("lower bound / (T^(1/(1+v))·log T), T = 10³⁰, v = {}", excess, ".2g"),
    )


@claim("twzw22-optimal-local", "Abstract; §5", at="thm-rse", reconstructed=True)
def optimal_local() -> Finding:
    """LDPRSE achieves (near) optimal rates, for given gaps and for the worst ones."""
    problem: Any = {"moment": 1.0, "model": "local"}
    ratios = {
        v: [
            float(bounds.heavy_elimination_regret([0.0, g], FAR, epsilon=e, order=v, **problem))
            / math.log(FAR)
            / lower_rate(g, v, e)
            for g, e in itertools.product(GAPS, LOCAL_EPSILONS)
        ]
        for v in ORDERS
    }
    flat = max(spread(values) for values in ratios.values())
    powers = {order: upper_power(order, "local") for order in (0.5, 1.0)}
    best = all(power < (2 + v) / (2 * (1 + v)) + 0.015 for v, power in powers.items())
    return finding(
        decide(flat < 6 and best, CONDITION, FAILS),
        "If epochs have Δ^(−2(1+v)/v)/ε² pulls, more than Remark 3 lets one infer: then upper and "
        "lower bounds have the same order in T, Δ and ε ≤ 1, for given gaps, and for the worst "
        "ones up to logarithms. The constants between them are very large.",
        extremes("upper / lower, v = {}", ratios, ".3g"),
        entries("power of T at the worst gap, v = {}", powers, 3),
    )


@claim("twzw22-thm-8", "Theorems 8 and 11", at="thm-heavy-lower")
def theorem_8() -> Finding:
    """(reconstructed) On some instances every ε-LDP algorithm of small regret has regret of order Σ
    (log T/ε²)·(1/Δ)^(1/v) at least.
    """
    ratios = {
        (v, e): [lower_rate(g, v, e) / claimed_rate(g, v, e) for g in GAPS]
        for v, e in itertools.product(ORDERS, (*LOCAL_EPSILONS, 4.0))
    }
    # of the claimed order times a constant of v, at the greatest gap where it is least
    least = min(map(min, ratios.values()))
    rows = [row for (_, epsilon), row in ratios.items() if epsilon <= 1]
    grows = all(bool(np.all(np.diff(row) > 0)) for row in rows)
    tight = max(map(spread, rows)) < 10
    return finding(
        decide(least > 1e-3 and grows),
        "As a lower bound it is true, and "
        + ("tight." if tight else "can be raised by the factor Δ^(−(1+v)/v): see Theorem 7. ")
        + "Ours is proved for two-point arms of which the worse give 0 always.",
        ("least of our lower bound / claimed one", least, 4),
        entries(
            "the same, gap 2^(−20), ε = 1, v = {}", {v: ratios[v, 1.0][-1] for v in ORDERS}, ".2g"
        ),
    )


@claim("twzw22-remark-3", "Remark 3", at="cor-flaw")
def remark_3() -> Finding:
    """(reconstructed) The price of local privacy is an additional factor 1/ε², as with bounded
    rewards.
    """
    free = {
        (g, v): bounds.robust_ucb_regret([0.0, g], FAR, moment=1.0, order=v, confidence="fixed")
        for g, v in itertools.product(GAPS[-2:], ORDERS)
    }
    # the lower bound on regret/log T at ε = 1 over the upper one of robust UCB
    prices = {
        (g, v): lower_rate(g, v, 1.0) * math.log(FAR) / float(r) for (g, v), r in free.items()
    }
    near, far = GAPS[-2:]
    powers = {
        v: math.log2(prices[far, v] / prices[near, v]) / math.log2(near / far) for v in ORDERS
    }
    grows = all(power > 0.5 for power in powers.values())
    return finding(
        decide(grows, FAILS, CANNOT_TELL),
        "On two-point arms the least regret of ε-LDP algorithms is, up to a constant, "
        "Δ^(−(1+v)/v)/ε² times that of robust UCB: without limit as the gap falls. With "
        "bounded rewards, where two laws of gap Δ differ by Δ in total variation, the factor is "
        "indeed of order 1/ε². " + ZHOU_ZHANG,
        entries("power of 1/Δ in the price, v = {}", powers, 3),
        entries(
            "price at least, ε = 1, v = {}, gap 2^(−20)", {v: prices[far, v] for v in ORDERS}, ".2g"
        ),
    )


@claim("twzw22-thm-9", "Theorem 9", at="thm-heavy-lower")
def theorem_9() -> Finding:
    """(reconstructed) For large T every ε-LDP algorithm has a worst regret of order
    (K/ε²)^(v/(1+v))·T^(1/(1+v)) at least.
    """
    ratios = {
        (v, e): [
            bounds.heavy_minimax_lower_bound(t, 5, e, 1.0, v, "local")
            / ((4 / e**2) ** (v / (1 + v)) * t ** (1 / (1 + v)))
            for t in (1e6, 1e9, 1e15, 1e30)
        ]
        for v, e in itertools.product(ORDERS, LOCAL_EPSILONS)
    }
    least = min(row[-1] for row in ratios.values())
    grows = all(row[-1] >= row[-2] >= row[-3] for row in ratios.values())
    ends = {(v, t): ratios[v, 1.0][i] for v in ORDERS for t, i in (("10⁶", 0), ("10³⁰", -1))}
    return finding(
        decide(least > 0.01 and grows),
        "As a lower bound for T large enough it is true, and far from tight: the power of T can be "
        "raised to (2+v)/(2(1+v)).",
        entries("our lower bound / claimed one, K = 5, ε = 1, v = {}, T = {}", ends, ".2g"),
    )


@claim("twzw22-remark-4", "Remark 4", at="thm-heavy-lower")
def remark_4() -> Finding:
    """The worst regret in the local model differs from the non-private one by a certain factor,
    lost in our copy, which is not that of bounded rewards.
    """
    local = {("local", v): lower_power(v, "local") for v in ORDERS}
    free = {("no privacy", v): lower_power(v, "global", math.inf) for v in ORDERS}
    differ = all(local["local", v] > free["no privacy", v] + 0.05 for v in ORDERS)
    return finding(
        decide(differ, CANNOT_TELL, FAILS),
        "The factor is lost in our copy. The difference is T^(v/(2(1+v))), and a power of ε: a "
        "factor with ε alone would not be right. With bounded rewards the power of T is the same "
        "in both models (Duchi, Jordan & Wainwright 2013; not computed here).",
        entries("power of T, {}, v = {}", local | free, 4),
    )
