"""Claims of Tao, Wu, Zhao & Wang (2022), §4: the adaptive tree and the privacy of DPRUCB.

Our copy of the paper has lost its formulas. A statement says what the text says in words; where
a formula in it is ours it is marked "(reconstructed)".
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from companion.claims.ledger import Claim, Finding, decide
from dpbandits.heavy_schedules import TREE_SCALINGS, tree_index
from dpbandits.mechanisms.adaptive_tree import AdaptiveTree
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.laplace_sums import laplace_sum_quantile

__all__ = ["CLAIMS", "element_losses"]

PAPER = "twzw22"

Floats = NDArray[np.float64]

LENGTH = 1000
FINE = 1 + 1e-9
"""Rounding that equalities may have."""


def element_losses(limits: Floats, scales: Floats) -> Floats:
    """Return the privacy loss of each element of a stream in all sums of its tree.

    The n-th element may be anything in [−limits[n − 1], limits[n − 1]]; the block that ends with
    it has as many elements as n's lowest set bit says, and noise of scale scales[n − 1].
    """
    losses = np.zeros(limits.size)
    for n in range(1, limits.size + 1):
        first = n - (n & -n)
        losses[first:n] += 2 * limits[first:n] / scales[n - 1]
    return losses


def _tree_loss(tree: AdaptiveTree, share: float = 1.0) -> float:
    """Return the greatest loss over ε when nodes have `share` of their noise."""
    n = range(1, tree.horizon + 1)
    limits = np.array([tree.bound(i) for i in n])
    scales = np.array([tree.node_scale(i) for i in n]) * share
    return float(element_losses(limits, scales).max() / tree.epsilon)


def _lemma_2_private() -> Finding:
    losses = {
        growth: max(
            _tree_loss(AdaptiveTree(epsilon, length, 3.0, growth))
            for epsilon in (0.1, 1.0, 5.0)
            for length in (1, 7, LENGTH)
        )
        for growth in (0.0, 0.5, 1 / 1.5, 2.0)
    }
    falling = np.arange(1.0, LENGTH + 1) ** -0.5
    control = float(element_losses(falling, 2 * falling * LENGTH.bit_length()).max())
    return Finding(
        decide(max(losses.values()) <= FINE < control),
        "One element is in one block of each level at most, and a block's noise is that of its "
        "last, greatest bound. The noise of the copy cannot be read: this is for scale 2·B·L/ε, L "
        "levels, and elements of either sign. Bounds must not decrease.",
        {
            f"greatest loss / ε, T ≤ {LENGTH}, B_n = n^{growth:.2g}": round(loss, 6)
            for growth, loss in losses.items()
        }
        | {"greatest loss / ε for B_n = n^(−0.5)": round(control, 3)},
    )


def _noise_order(log_length: float, beta: float) -> float:
    """Return the reconstructed bound on a prefix's noise, over B_n/ε and without its constant."""
    return log_length**1.5 * math.log(1 / beta)


def _lemma_2_noise() -> Finding:
    constants: dict[int, float] = {}
    for levels in (4, 16, 64, 256):
        # n = 2^levels − 1 has a block on every level: no prefix up to there has more noise
        node = 2.0 * levels
        constants[levels] = max(
            laplace_sum_quantile(beta, (levels,), (node,))
            / _noise_order(levels * math.log(2), beta)
            for beta in (0.1, 1e-3, 1e-6, 1e-12, 1e-30)
        )
    return Finding(
        decide(constants[256] < 1.1 * constants[16]),
        "Proved from Lemma 2.8 of Chan, Shi & Song (2011) with 2√8·L^1.5·log(2/β), L levels. A "
        "growing bound helps, as blocks have at most the scale of the last one, and a sum of "
        "Laplace variables of smaller scales exceeds a threshold less often; for equal scales it "
        "is computed exactly. For small β nothing better than log(1/β) is true: see Lemma 3.",
        {
            f"least constant, T < 2^{levels}, β ≤ 0.1": round(c, 2)
            for levels, c in constants.items()
        },
    )


def _constant_bound() -> Finding:
    same = []
    for epsilon, horizon, bound in itertools.product((0.1, 1.0), (1, 100, 4097), (0.5, 3.0)):
        tree = AdaptiveTree(epsilon, horizon, bound, 0.0)
        # a tree for [0, 1], rescaled to [−bound, bound]
        scale = 2 * bound * BinaryTree(epsilon, horizon).node_scale
        same += [math.isclose(tree.node_scale(n), scale) for n in (1, 2, horizon)]
    growing = AdaptiveTree(1.0, 100, 3.0, 0.5)
    control = math.isclose(growing.node_scale(100), growing.node_scale(1))
    return Finding(
        decide(all(same) and not control),
        "Same blocks, drawn when they end, and the same noise of each.",
        {"nodes compared": len(same), "of the same scale": sum(same)},
    )


def _theorem_1() -> Finding:
    plans = [
        tree_index(LENGTH, epsilon, moment, order, scaling).tree
        for epsilon in (0.1, 1.0, 10.0)
        for moment in (1.0, 6.0)
        for order in (0.5, 1.0)
        for scaling in TREE_SCALINGS
    ]
    loss = max(_tree_loss(tree) for tree in plans)
    half = max(_tree_loss(tree, 0.5) for tree in plans)
    return Finding(
        decide(loss <= FINE < half),
        "A reward is truncated at the B_n of its number, whatever it is, and enters one tree; "
        "the trees' sums determine the pulls, one after the other. For nodes of scale 2·B_n·L/ε; "
        "B_n·L/ε would be enough for rewards that are never negative, and is 2ε-private for "
        "others. The copy does not show which is printed.",
        {
            f"greatest loss / ε, T = {LENGTH}": round(loss, 6),
            "with half the noise, rewards of either sign": round(half, 6),
        },
    )


CLAIMS = (
    Claim(
        "twzw22-lemma-2-private",
        PAPER,
        "Lemma 2",
        "The tree mechanism for non-decreasing bounds preserves ε-DP.",
        _lemma_2_private,
    ),
    Claim(
        "twzw22-lemma-2-noise",
        PAPER,
        "Lemma 2",
        "(reconstructed) With probability at least 1 − β, β ≤ 0.1, its noise at n is at most a "
        "constant times (B_n/ε)·log^1.5 T·log(1/β).",
        _lemma_2_noise,
    ),
    Claim(
        "twzw22-algorithm-2",
        PAPER,
        "§4",
        "With a constant bound Algorithm 2 is the original tree mechanism.",
        _constant_bound,
    ),
    Claim(
        "twzw22-thm-1",
        PAPER,
        "Theorem 1",
        "Algorithm 1 with Algorithm 2 (DPRUCB) is ε-DP.",
        _theorem_1,
    ),
)
