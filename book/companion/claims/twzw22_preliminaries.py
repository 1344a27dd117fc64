"""Claims of Tao, Wu, Zhao & Wang (2022), §3 and the appendix: mechanisms and lemmas.

Our copy of the paper has lost its formulas; those in statements marked "(reconstructed)" are ours.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import brentq

from companion.claims.ledger import CONDITION, FAILS, HOLDS, Claim, Finding, decide
from dpbandits import bounds
from dpbandits.heavy_schedules import heavy_epoch

__all__ = ["CLAIMS"]

PAPER = "twzw22"


def _laplace_loss(moves: tuple[float, ...], scale: float) -> float:
    """Return the greatest log ratio of densities when coordinate i moves by moves[i]."""
    places = np.linspace(-40, 40, 8001)
    return float(
        sum(np.max(np.abs(np.abs(places - m) - np.abs(places))) / scale for m in moves if m)
    )


def _parallel() -> Finding:
    epsilon = 0.7
    one = _laplace_loss((1.0, 0.0, 0.0), 1 / epsilon) / epsilon
    shared = _laplace_loss((1.0, 1.0, 1.0), 1 / epsilon) / epsilon
    return Finding(
        decide(one <= 1 + 1e-9 < shared),
        "Proved: a changed entry is in one of the disjoint parts. It stays true if the parts are "
        "chosen one after the other from what was released, as long as they are disjoint.",
        {
            "loss / ε of three mechanisms, disjoint data": round(one, 6),
            "the same, shared data": round(shared, 6),
        },
    )


def _laplace() -> Finding:
    epsilon = 0.5
    losses = []
    for moves in ((1.0,), (0.5, 0.5), (0.1, 0.2, 0.7)):
        sensitivity = sum(moves)  # in the L1 norm
        losses.append(_laplace_loss(moves, sensitivity / epsilon) / epsilon)
    largest = _laplace_loss((1.0, 1.0), 1.0 / epsilon) / epsilon
    return Finding(
        decide(max(losses) <= 1 + 1e-9 < largest),
        "With the sensitivity in the L1 norm over all coordinates; the greatest move of one "
        "coordinate in its place would not do.",
        {"loss / ε": round(max(losses), 6), "with the largest coordinate": round(largest, 6)},
    )


def _stronger() -> Finding:
    central = heavy_epoch(5, 2, 0.01, 1.0, 1.0, 1.0, "global", "printed")
    local = heavy_epoch(5, 2, 0.01, 1.0, 1.0, 1.0, "local", "minimax")
    # of the sum of R rewards; and of one reward that is released with the noise of their mean
    epoch = 2 * central.bound / central.noise_scale
    alone = epoch * central.pulls
    each = 2 * local.bound / local.noise_scale
    return Finding(
        decide(each <= 1 + 1e-9 and epoch <= 1 + 1e-9 < alone),
        "What is released of each reward alone with loss ε is, with all that follows from it, "
        "ε-private for one changed reward. The converse is false: the noise of DPRSE's mean hides "
        "a reward among R others, and not on its own.",
        {
            "LDPRSE: loss of a reward / ε": round(each, 6),
            "DPRSE: loss of a reward in the mean of an epoch / ε": round(epoch, 6),
            "DPRSE: loss of a reward alone with that noise / ε": float(f"{alone:.3g}"),
        },
    )


def _lemma_12() -> Finding:
    crossing = brentq(lambda e: math.expm1(e) - 6 * e, 1, 5)
    distances = np.geomspace(1e-6, 1, 50)
    within = all(
        bool(np.all(bounds.group_privacy_factor(distances, e, 7) <= 7 * 6 * e * distances))
        for e in np.linspace(0.01, crossing, 40)
    )
    beyond = float(bounds.group_privacy_factor(1e-3, 4.0)) > 6 * 4.0 * 1e-3
    return Finding(
        decide(within, CONDITION if beyond else HOLDS, FAILS),
        "As SS19's Lemma 3.5: if e^ε − 1 ≤ 6ε. The theorems that use it are for ε ≤ 1, so that it "
        "costs nothing there; the sharp factor is (1 + d(e^ε − 1))^n.",
        {"greatest ε for every n and d": round(crossing, 4)},
    )


def _bernoulli_kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def _second_arm(history: tuple[tuple[int, int], ...]) -> float:
    """Return the probability that a policy plays arm 1 after (arm, reward), …; any will do."""
    won = sum(reward for arm, reward in history if arm == 1)
    lost = sum(1 - reward for arm, reward in history if arm == 1)
    return (1 + won) / (2 + won + 2 * lost)


def _histories(rounds: int, laws: tuple[tuple[float, float], tuple[float, float]]) -> list[float]:
    """Return KL of the histories of two instances, and the expected pulls of each arm in the first.

    laws[instance][arm] is the probability of a reward of 1.
    """
    total, pulls = 0.0, [0.0, 0.0]
    stack: list[tuple[tuple[tuple[int, int], ...], float, float]] = [((), 1.0, 1.0)]
    for _ in range(rounds):
        following = []
        for history, p, q in stack:
            for arm, reward in itertools.product((0, 1), (0, 1)):
                choice = _second_arm(history) if arm else 1 - _second_arm(history)
                here, there = (law[arm] if reward else 1 - law[arm] for law in laws)
                following.append(((*history, (arm, reward)), p * choice * here, q * choice * there))
        stack = following
    for history, p, q in stack:
        total += p * math.log(p / q)
        for arm, _ in history:
            pulls[arm] += p
    return [total, *pulls]


def _lemma_14() -> Finding:
    laws = ((0.6, 0.3), (0.6, 0.8))
    divergence, first, second = _histories(5, laws)
    right = sum(n * _bernoulli_kl(p, q) for n, p, q in zip((first, second), *laws, strict=True))
    return Finding(
        decide(math.isclose(divergence, right, rel_tol=1e-9) and divergence > 0.01),
        "Proved by the chain rule. Computed by going through all histories of five rounds of a "
        "policy that depends on them.",
        {"divergence of the histories": round(divergence, 6), "sum over the arms": round(right, 6)},
    )


def _release_divergence(p: float, q: float, channel: np.ndarray) -> float:
    """Return KL of what a channel, (2, outputs), makes of two Bernoulli laws."""
    first, second = (np.array([1 - x, x]) @ channel for x in (p, q))
    return float(np.sum(first * np.log(first / second)))


def _lemma_15() -> Finding:
    rng = np.random.default_rng(70)
    worst = 0.0
    for epsilon in (0.1, 1.0, 3.0):
        for _ in range(300):
            base = rng.dirichlet(np.ones(4))
            bits = rng.integers(0, 2, size=(2, 4))
            # any two columns of a binary channel scaled into [1, e^ε]: extreme points of all
            channel = base * np.exp(epsilon * bits)
            top = channel.sum(axis=1).max()
            channel = np.column_stack([channel, top - channel.sum(axis=1)]) / top
            rest = channel[:, -1]
            if rest.min() <= 0 or rest.max() / rest.min() > math.exp(epsilon):
                continue
            p, q = rng.uniform(0.02, 0.98, 2)
            bound = bounds.local_kl_bound(epsilon, abs(p - q))
            worst = max(worst, _release_divergence(p, q, channel) / bound)
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        response = np.array([[keep, 1 - keep], [1 - keep, keep]])
        for p, q in itertools.product((0.1, 0.5, 0.9), (0.2, 0.6)):
            bound = bounds.local_kl_bound(epsilon, abs(p - q))
            worst = max(worst, _release_divergence(p, q, response) / bound)
    return Finding(
        decide(0.1 < worst <= 1),
        "Proved in the chapter with (e^ε − 1)²·TV² for each pull. Tried on randomised response and "
        "on random private channels. The constant of the text is lost.",
        {"divergence of a release / bound, greatest": round(worst, 4)},
    )


CLAIMS = (
    Claim(
        "twzw22-lemma-1",
        PAPER,
        "Lemma 1",
        "ε-DP mechanisms on disjoint data sets are ε-DP together.",
        _parallel,
    ),
    Claim(
        "twzw22-laplace",
        PAPER,
        "Definition 3",
        "The Laplacian mechanism preserves ε-DP.",
        _laplace,
    ),
    Claim("twzw22-ldp", PAPER, "§3.2", "Local privacy is stronger than privacy.", _stronger),
    Claim(
        "twzw22-lemma-12",
        PAPER,
        "Lemma 12, cited",
        "(reconstructed) Under ε-DP, n samples at distance d change probabilities by e^{6εnd}.",
        _lemma_12,
    ),
    Claim(
        "twzw22-lemma-14",
        PAPER,
        "Lemma 14, cited",
        "(reconstructed) The divergence of the histories is the sum of expected pulls times KL.",
        _lemma_14,
    ),
    Claim(
        "twzw22-lemma-15",
        PAPER,
        "Lemma 15, cited",
        "(reconstructed) Under ε-LDP a pull adds at most a constant times (e^ε − 1)²·TV² to it.",
        _lemma_15,
    ),
)
