"""Simulation of index policies: the choice between the plain kernel and certified skipping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpbandits.regret.base import Play
from dpbandits.regret.per_step import play_per_step
from dpbandits.regret.skipping import play_skipping
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["ENGINES", "play_index_policy"]

ENGINES = ("skipping", "per-step")
_NO_EPOCHS = np.empty(0, dtype=np.int64)


def play_index_policy(
    instance: BernoulliInstance,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    node_scale: float = 0.0,
    gamma: float = 0.0,
    engine: str = "skipping",
) -> Play:
    """Play the index (S + Z + γ)/n + √(2 log t/n) once, until the last checkpoint.

    Parameters
    ----------
    instance : BernoulliInstance
        The bandit.
    checkpoints : numpy.ndarray of int, shape (C,)
        Increasing times at which the pulls are counted.
    rng : numpy.random.Generator
        Source of randomness.
    node_scale : float
        Scale of the Laplace variable of one tree node; 0 for a raw sum.
    gamma : float
        Width γ that the index allows for the noise.
    engine : {"skipping", "per-step"}
        Which kernel.

    Returns
    -------
    Play
    """
    kernel = play_skipping if engine == "skipping" else play_per_step
    counts = kernel(instance.means, float(node_scale), float(gamma), checkpoints, rng)
    return Play(counts, _NO_EPOCHS)
