"""Claims of Jourdan & Azize (2025), in the replies to their reviewers: beyond their setting."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import integrate, optimize, stats

from companion.claims.ledger import CANNOT_TELL, FAILS, Claim, Finding, decide
from dpbandits.identification.divergences import d_eps, kl
from dpbandits.regret import DPRSE
from dpbandits.rewards.heavy_instances import twzw22
from dpbandits.rewards.heavy_laws import ParetoLaw

__all__ = ["CLAIMS"]

PAPER = "ja25"


def _renyi(order: float, shift: float, deviation: float) -> float:
    """Return the Rényi divergence of two normal laws, by quadrature."""

    def log_term(x: float) -> float:
        return order * stats.norm.logpdf(x, shift, deviation) + (1 - order) * stats.norm.logpdf(
            x, 0, deviation
        )

    centre = order * shift
    top = log_term(centre)
    total, _ = integrate.quad(
        lambda x: math.exp(log_term(x) - top), centre - 12 * deviation, centre + 12 * deviation
    )
    return (math.log(total) + top) / (order - 1)


def _gaussian_mechanism() -> Finding:
    spent = []
    for rho, order in itertools.product((0.01, 0.5, 2.0), (1.1, 2.0, 10.0)):
        spent.append(_renyi(order, 1.0, 1 / math.sqrt(2 * rho)) / (rho * order))
    rho, delta = 0.5, 1e-6
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    deviation = 1 / math.sqrt(2 * rho)
    # the exact δ of the Gaussian mechanism at ε
    exact = stats.norm.cdf(1 / (2 * deviation) - epsilon * deviation) - math.exp(
        epsilon
    ) * stats.norm.cdf(-1 / (2 * deviation) - epsilon * deviation)
    return Finding(
        decide(max(spent) <= 1 + 1e-6 and exact <= delta),
        "Privacy rests on the batches alone: a reward is in one released sum, and normal noise of "
        "deviation 1/√(2ρ) makes it ρ-zCDP, and so (ρ + 2√(ρ·log(1/δ)), δ)-DP. The thresholds "
        "have to be derived anew.",
        {
            "Rényi divergence / (ρ·order), greatest": round(float(max(spent)), 6),
            "exact δ / δ at ρ = 1/2, δ = 10⁻⁶": round(float(exact) / delta, 4),
        },
    )


def _log_ratio(support: float, scale: float) -> float:
    """Return the greatest log ratio of a released sum when one reward moves by `support`."""
    places = np.linspace(-50, 50, 20_001)
    return float(np.max(np.abs(np.abs(places - support) - np.abs(places)))) / scale


def _range() -> Finding:
    epsilon = 0.5
    losses = [
        _log_ratio(high - low, (high - low) / epsilon) / epsilon
        for low, high in ((0.0, 1.0), (-3.0, 5.0), (0.2, 0.3))
    ]
    bare = _log_ratio(8.0, 1 / epsilon) / epsilon
    return Finding(
        decide(max(losses) <= 1 + 1e-9 < bare),
        "The sum of a batch moves by b − a at most, and the noise is b − a times as wide.",
        {
            "greatest loss / ε": round(max(losses), 6),
            "on [−3, 5] with the noise of [0, 1]": round(bare, 3),
        },
    )


def _normal_distance(gap: float, deviation: float) -> float:
    """Return the total variation of two normal laws of one deviation, by the formula."""
    return float(2 * stats.norm.cdf(gap / (2 * deviation)) - 1)


def _normal_formula() -> Finding:
    off = 0.0
    for gap, deviation in itertools.product((0.01, 0.5, 3.0), (0.5, 1.0, 4.0)):
        exact, _ = integrate.quad(
            lambda x, g=gap, d=deviation: (
                abs(stats.norm.pdf(x, g, d) - stats.norm.pdf(x, 0, d)) / 2
            ),
            -40,
            40,
            points=[gap / 2],
            limit=200,
        )
        off = max(off, abs(_normal_distance(gap, deviation) / exact - 1))
    return Finding(
        decide(off < 1e-6, FAILS, CANNOT_TELL),
        "For equal variances, as in bandits with normal rewards of known variance, it is "
        "2Φ(abs(μ − μ')/(2σ)) − 1. For different variances it takes the two points at which the "
        "densities cross. What the reply draws from it, that solvers have to find d_ε, stays "
        "true; it costs nothing else.",
        {"relative difference of formula and quadrature, greatest": float(f"{off:.1e}")},
    )


def _objective(z: np.ndarray, x: float, y: float, epsilon: float) -> np.ndarray:
    """Return ε·abs(x − z) + kl(z, y)."""
    return np.asarray(epsilon * np.abs(x - z) + kl(z, np.full_like(z, y)))


def _convex() -> Finding:
    least, off = math.inf, 0.0
    grid = np.linspace(0, 1, 2001)
    for x, y, epsilon in itertools.product((0.05, 0.5, 0.9), (0.1, 0.6), (0.01, 0.5, 3.0)):
        values = _objective(grid, x, y, epsilon)
        least = min(least, float(np.diff(values, 2).min()))
        found = optimize.minimize_scalar(
            lambda z, x=x, y=y, e=epsilon: float(_objective(np.array([z]), x, y, e)[0]),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        off = max(off, abs(found.fun - float(d_eps(x, y, epsilon))))
    return Finding(
        decide(least > -1e-12 and off < 1e-7),
        "kl(z, y) is convex in z on [0, 1] and so is ε·abs(x − z). A plain solver finds the value "
        "of the closed form that Bernoulli laws have.",
        {
            "second difference, least": float(f"{least:.1e}"),
            "solver − closed form, greatest": float(f"{off:.1e}"),
        },
    )


def _laplace_divergence(changes: int, epsilon: float) -> float:
    """Return KL between Laplace laws of scale 1/ε whose centres differ by `changes`."""
    return epsilon * changes + math.exp(-epsilon * changes) - 1


def _group_divergence() -> Finding:
    ratios = [_laplace_divergence(h, e) / (e * h) for h in (1, 3, 50) for e in (0.01, 1.0, 10.0)]
    return Finding(
        decide(max(ratios) <= 1 and max(ratios) > 0.99),
        "Proved: h changed rewards move each log probability by ε·h at most. The Laplace mechanism "
        "comes near, for large ε·h; for small ε·h the divergence is about (ε·h)²/2, which the "
        "lower bound gives away.",
        {
            "divergence / (ε·h), least": round(min(ratios), 5),
            "divergence / (ε·h), greatest": round(max(ratios), 5),
        },
    )


def _beyond(reward: float) -> float:
    """Return P(X > reward) on the best arm of TWZW22's first setting, v = 0.5."""
    law = twzw22("S1", 0.5).laws[0]
    assert isinstance(law, ParetoLaw)
    return min(1.0, float((law.scale / reward) ** law.shape))


def _only_bounded() -> Finding:
    beyond = _beyond(1e6)
    private = DPRSE(0.5).guarantee
    return Finding(
        decide(beyond > 0 and private.epsilon == 0.5, FAILS, CANNOT_TELL),
        "Tao, Wu, Zhao and Wang (2022) have private algorithms for arms with a moment of order "
        "1 + v only: see chapter 4. The remark is a motive for bounded rewards, and nothing in "
        "the paper depends on it.",
        {
            "P(reward > 10⁶), best arm of their Setting 1, v = 0.5": float(f"{beyond:.2g}"),
            "ε of DPRSE there": private.epsilon,
        },
    )


CLAIMS = (
    Claim(
        "ja25-gaussian-mechanism",
        PAPER,
        "reply to reviewer VJtw, Q3",
        "With the Gaussian in place of the Laplace mechanism DP-TT is ρ-zCDP or (ε, δ)-DP.",
        _gaussian_mechanism,
    ),
    Claim(
        "ja25-range",
        PAPER,
        "reply to reviewer inBP, W(b)",
        "For rewards in [a, b] the noise is to be multiplied by b − a, and the privacy is the "
        "same.",
        _range,
    ),
    Claim(
        "ja25-normal-distance",
        PAPER,
        "reply to reviewer inBP, W(a)",
        "The total variation of two normal laws has no simple formula.",
        _normal_formula,
    ),
    Claim(
        "ja25-convex",
        PAPER,
        "reply to reviewer inBP, W(a)",
        "What d_ε minimises is continuous and convex on a compact interval, so that solvers find "
        "it.",
        _convex,
    ),
    Claim(
        "ja25-group-divergence",
        PAPER,
        "Appendix D, by the reply to reviewer VJtw, Q3",
        "Under ε-DP the divergence of the outputs on data with h changed rewards is at most ε·h.",
        _group_divergence,
    ),
    Claim(
        "ja25-only-bounded",
        PAPER,
        "reply to reviewer inBP, W(b)",
        "All earlier works on private bandits are for Bernoulli or bounded rewards.",
        _only_bounded,
    ),
)
