"""Lower bounds for heavy-tailed rewards under privacy, with the constants of their proofs.

*Hard instances.* All rewards are 0 or h. In the first instance arm 1 has h with probability p/2
and all other arms give 0; in the second arm a > 1 has h with probability p. With p·h^(1+v) = u and
p·h = 2Δ, that is h = (u/(2Δ))^(1/v) and p = ((2Δ)^(1+v)/u)^(1/v), no moment exceeds u, the best
mean is ahead by Δ in either, and arm a's two laws have total variation p.

*What a pull reveals.* Let n be the number of pulls of arm a. For the sequences of pulls of one
algorithm on the two instances KL(first, second) ≤ κ·E n (first instance), with

- κ = −log(1 − p(1 − e^−ε)) in the global model. On the first instance all rewards of arm a are 0.
  On the second, given a sequence of pulls with n pulls of arm a, the number K of rewards h among
  them is binomial before one looks at what the algorithm does, and by group privacy the algorithm
  takes that sequence with at least e^(−εK) times the probability of the first instance. The mean
  of e^(−εK) is (1 − p(1 − e^−ε))^n = e^(−κn). ε = ∞ is the bound without privacy.
- κ = (e^ε − 1)²·p² in the local model (`local_kl_bound`, and the chain rule); the κ of the global
  model holds there as well, since what is released determines the pulls.

*From there.* By Bretagnolle & Huber's inequality P1(n > T/2) + P2(n ≤ T/2) ≥ ½·exp(−κ·E n), and
each event costs its instance ΔT/2: the two regrets add up to at least (ΔT/4)·exp(−κ·E n).

TWZW22 is Tao, Wu, Zhao & Wang (2022); their Theorems 5 and 8 to 11 have other instances, whose
formulas are lost in our copy.
"""

from __future__ import annotations

import math

from dpbandits._validation import check_choice, check_integer, check_order, check_positive

__all__ = [
    "heavy_divergence",
    "heavy_minimax_lower_bound",
    "heavy_pulls_lower_bound",
    "heavy_regret_lower_bound",
    "local_kl_bound",
]

_MODELS = ("global", "local")


def local_kl_bound(epsilon: float, tv: float) -> float:
    """Bound what an ε-locally private release of one sample tells of its law.

    KL(m0, m1) + KL(m1, m0) ≤ (e^ε − 1)²·tv², where m0 and m1 are the densities of the release if
    the sample is of law P0 or P1, of total variation tv (Duchi, Jordan & Wainwright 2013 have
    this with 4·tv² for their tv).

    Proof. Let q(z|x) be the density of the release z of a sample x, and q0(z) = inf q(z|x) over x;
    q(z|x) − q0(z) lies in [0, (e^ε − 1)·q0(z)]. The signed measure P0 − P1 has total mass 0 and
    positive part tv, so that m0(z) − m1(z) = ∫(q(z|x) − q0(z))·(P0 − P1)(dx) is in size at most
    (e^ε − 1)·q0(z)·tv. Both densities are at least q0, and abs(log a − log b) ≤
    abs(a − b)/min(a, b): the sum of divergences, ∫(m0 − m1)·log(m0/m1), is at most
    ∫(e^ε − 1)²·q0²·tv²/q0 ≤ (e^ε − 1)²·tv², since ∫q0 ≤ 1. ∎

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0.
    tv : float
        Total variation sup abs(P0(A) − P1(A)) of the two laws, in [0, 1].

    Returns
    -------
    float

    Examples
    --------
    >>> round(local_kl_bound(1.0, 0.1), 6)
    0.029525
    """
    epsilon = check_positive("epsilon", epsilon)
    if not 0 <= tv <= 1:
        raise ValueError(f"tv={tv!r} is out of range; allowed: [0, 1]")
    return math.inf if epsilon > 300 and tv > 0 else (math.expm1(min(epsilon, 300)) * tv) ** 2


def heavy_divergence(
    gap: float, epsilon: float, moment: float, order: float, model: str = "global"
) -> float:
    """Return κ of the hard instances: what a pull of the changed arm can reveal.

    Of order ε·((2Δ)^(1+v)/u)^(1/v) in the global model, and the square of that in the local one.

    Parameters
    ----------
    gap : float
        Δ > 0, at most u^(1/(1+v))/2.
    epsilon : float
        Privacy budget ε; ``inf`` for no privacy.
    moment, order : float
        u > 0 and v in (0, 1].
    model : {"global", "local"}
        Who is trusted.

    Returns
    -------
    float

    Examples
    --------
    >>> round(heavy_divergence(0.05, 1.0, 1.0, 1.0), 7)
    0.0063413
    >>> round(heavy_divergence(0.05, 1.0, 1.0, 1.0, "local"), 7)
    0.0002952
    """
    gap, moment = check_positive("gap", gap), check_positive("moment", moment)
    order = check_order("order", order)
    _check(epsilon, model)
    log_p = ((1 + order) * math.log(2 * gap) - math.log(moment)) / order
    if log_p > 1e-12:
        raise ValueError(
            f"gap={gap!r} is out of range; allowed: at most moment^(1/(1+order))/2 = "
            f"{moment ** (1 / (1 + order)) / 2!r}"
        )
    return _divergence(math.exp(min(log_p, 0.0)), epsilon, model)


def _divergence(p: float, epsilon: float, model: str) -> float:
    hidden = 1 + p * math.expm1(-epsilon)
    central = math.inf if hidden <= 0 else -math.log1p(p * math.expm1(-epsilon))
    if model == "global" or math.isinf(epsilon):
        return central
    return min(central, local_kl_bound(epsilon, p))


def heavy_pulls_lower_bound(
    gap: float,
    horizon: float,
    regret: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
) -> float:
    """Bound from below the expected pulls of each worse arm on the first hard instance.

    E n ≥ log(ΔT/(8G))/κ for an algorithm whose regret is at most G on both: the two regrets add
    up to at most 2G and at least (ΔT/4)·exp(−κ·E n). If G is at most of order T^a, a < 1, this
    is at least of order (1 − a)·log T·Δ^(−(1+v)/v)/ε in the global model, for ε ≤ 1, and (1 −
    a)·log T·Δ^(−2(1+v)/v)/ε² in the local one: an algorithm cannot have a regret of order
    Δ^(−1/v)·log(T)/ε² in the local model for all Δ.

    Parameters
    ----------
    gap, epsilon, moment, order, model
        As for `heavy_divergence`.
    horizon : float
        T.
    regret : float
        G > 0.

    Returns
    -------
    float
        0 where the regret allowed is so large that nothing follows.

    Examples
    --------
    >>> central, local = (
    ...     heavy_pulls_lower_bound(0.01, 1e12, 1e6, 0.5, 1.0, 1.0, m) for m in ("global", "local")
    ... )
    >>> round(central), round(local)
    (45304, 105902940)
    """
    kappa = heavy_divergence(gap, epsilon, moment, order, model)
    ratio = gap * check_positive("horizon", horizon) / (8 * check_positive("regret", regret))
    if kappa == 0:
        raise ValueError(f"gap={gap!r} is too small for the numbers; allowed: a greater gap")
    return max(0.0, math.log(ratio)) / kappa


def heavy_regret_lower_bound(
    gap: float,
    horizon: float,
    regret: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
    n_arms: int = 2,
) -> float:
    """Bound from below the regret on the first hard instance: (K − 1)·Δ pulls of each worse arm.

    For an algorithm whose regret is at most G on it and on the K − 1 second instances.

    Parameters
    ----------
    gap, horizon, regret, epsilon, moment, order, model
        As for `heavy_pulls_lower_bound`.
    n_arms : int
        Number of arms K ≥ 2.

    Returns
    -------
    float

    Examples
    --------
    >>> round(heavy_regret_lower_bound(0.01, 1e12, 1e6, 0.5, 1.0, 1.0, n_arms=3))
    906
    """
    pulls = heavy_pulls_lower_bound(gap, horizon, regret, epsilon, moment, order, model)
    return (check_integer("n_arms", n_arms, 2) - 1) * gap * pulls


def heavy_minimax_lower_bound(
    horizon: float,
    n_arms: int,
    epsilon: float,
    moment: float,
    order: float,
    model: str = "global",
) -> float:
    """Bound from below the regret of every algorithm on the worst instance.

    max over Δ of (ΔT/8)·exp(−κ(Δ)·T/(K − 1)): some arm a > 1 has E n ≤ T/(K − 1) on the first
    instance, and the greater of two regrets is at least half of their sum. With
    N = T/(K − 1) the best p is v/((1 − e^−ε)(v + (1 + v)N)) for the κ of the global model and
    √(v/(2(1 + v)N))/(e^ε − 1) for that of the local one, or 1 if that is less: the logarithm is
    concave in p. Of order u^(1/(1+v))·T^(1/(1+v))·((K − 1)/ε)^(v/(1+v)) and
    u^(1/(1+v))·T^((2+v)/(2(1+v)))·((K − 1)/ε²)^(v/(2(1+v))).

    Parameters
    ----------
    horizon : float
        T.
    n_arms : int
        Number of arms K ≥ 2.
    epsilon, moment, order, model
        As for `heavy_divergence`.

    Returns
    -------
    float

    Examples
    --------
    >>> central, local = (
    ...     heavy_minimax_lower_bound(1e12, 2, 0.5, 1.0, 1.0, m) for m in ("global", "local")
    ... )
    >>> round(central), round(local)
    (42733, 42732896)
    """
    moment, order = check_positive("moment", moment), check_order("order", order)
    _check(epsilon, model)
    horizon = check_positive("horizon", horizon)
    rivals = horizon / (check_integer("n_arms", n_arms, 2) - 1)
    candidates = [-order / (math.expm1(-epsilon) * (order + (1 + order) * rivals))]
    if model == "local" and epsilon <= 300:
        root = math.sqrt(order / (2 * (1 + order) * rivals))
        candidates.append(root / math.expm1(epsilon))
    best = 0.0
    for p in candidates:
        p = min(p, 1.0)
        kappa = _divergence(p, epsilon, model)
        gap = (moment * p**order) ** (1 / (1 + order)) / 2
        best = max(best, gap * horizon / 8 * math.exp(-kappa * rivals))
    return best


def _check(epsilon: float, model: str) -> None:
    check_choice("model", model, _MODELS)
    check_positive("epsilon", epsilon, infinite=True)
