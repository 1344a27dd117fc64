"""DPRUCB pull by pull: the kernels, with one bonus and with one that grows with t."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.adaptive_tree import next_adaptive_noise
from dpbandits.mechanisms.first_passage import TREE_LEVELS
from dpbandits.rewards.heavy_laws import draw_heavy

__all__ = ["grown_by", "grown_power", "play_fixed_width", "play_published_width"]

_EXACT_BELOW = 1024


@njit(cache=True, nogil=True)
def grown_by(part: float, growth: float) -> float:
    """Return (1 + h)^g for 0 ≤ h < 10^−3: the binomial series to the fifth power.

    What it leaves out is below 10^−18 of the result.

    Examples
    --------
    >>> abs(grown_by(0.0009, 0.6) / 1.0009**0.6 - 1) < 1e-15
    True
    """
    tail = 1.0 + part * (growth - 3.0) / 4.0 * (1.0 + part * (growth - 4.0) / 5.0)
    tail = 1.0 + part * (growth - 1.0) / 2.0 * (1.0 + part * (growth - 2.0) / 3.0 * tail)
    return 1.0 + part * growth * tail


@njit(cache=True, nogil=True)
def grown_power(power: float, inverse: float, n: int, growth: float) -> float:
    """Return n^g from (n − 1)^g and 1/(n − 1): by `grown_by`, anew at every 1024th n.

    Examples
    --------
    >>> abs(grown_power(5000**0.6, 1 / 5000, 5001, 0.6) / 5001**0.6 - 1) < 1e-15
    True
    """
    if n < _EXACT_BELOW or n % _EXACT_BELOW == 0:
        return n**growth
    return power * grown_by(inverse, growth)


@njit(cache=True, nogil=True)
def play_fixed_width(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play the index (S + Z)/n + H·n^(−v/(1+v)), pull by pull.

    Pulls 1..K play arms 0..K−1, every later one the arm of the largest index, ties to the lowest
    arm number. The n-th reward of an arm counts as 0 beyond B_n = b·n^g, g = 1/(1+v); S is the sum
    of the arm's truncated rewards, Z the noise of its adaptive tree. An index changes only when
    its arm is pulled, so that the leader is compared with the best of the others alone.

    Parameters
    ----------
    kinds : numpy.ndarray of int64, shape (K,)
        Kinds of the arms' laws.
    parameters : numpy.ndarray of float, shape (K, 2)
        Their parameters.
    first_bound, growth : float
        b and g.
    node_factor : float
        2L/ε: scale of a node's noise, over B_n.
    width : float
        H.
    checkpoints : numpy.ndarray of int64, shape (C,)
        Increasing pull numbers.
    rng : numpy.random.Generator
        Source of randomness: a reward, then a Laplace variable, at each pull.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.
    """
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    powers = np.zeros(n_arms)
    noises = np.zeros(n_arms)
    indices = np.zeros(n_arms)
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            arm, rival, rival_index = t, 0, math.inf
            if t >= n_arms:
                arm = 0
                for b in range(1, n_arms):
                    if indices[b] > indices[arm]:
                        arm = b
                rival_index = -math.inf
                for b in range(n_arms):
                    if b != arm and indices[b] > rival_index:
                        rival = b
                        rival_index = indices[b]
            law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
            nodes = ends[arm]
            n, total, noise, power = pulls[arm], sums[arm], noises[arm], powers[arm]
            inverse = 1.0 / n if n > 0 else 0.0
            index = math.inf
            while t < checkpoints[c] and (
                index > rival_index
                or (index == rival_index and (arm < rival or rival_index == math.inf))
            ):
                t += 1
                n += 1
                power = grown_power(power, inverse, n, growth)
                bound = first_bound * power
                reward = draw_heavy(rng, law)
                if abs(reward) <= bound:
                    total += reward
                if node_factor > 0.0:
                    noise = next_adaptive_noise(rng, node_factor * bound, nodes, noise, n)
                inverse = 1.0 / n
                index = (total + noise + width * power) * inverse
            pulls[arm], sums[arm], noises[arm], powers[arm] = n, total, noise, power
            indices[arm] = index
        counts[c] = pulls
    return counts


@njit(cache=True, nogil=True)
def play_published_width(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play the index (S + Z)/n + H·(log(2t⁴)/n)^(v/(1+v)), pull by pull.

    As `play_fixed_width`, but for the bonus, by which every index changes at every pull.
    """
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    powers = np.zeros(n_arms)
    inverses = np.zeros(n_arms)
    means = np.zeros(n_arms)
    noises = np.zeros(n_arms)
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            t += 1
            arm = t - 1
            if t > n_arms:
                bonus = width * (math.log(2.0) + 4.0 * math.log(t)) ** (1.0 - growth)
                arm = 0
                highest = -math.inf
                for b in range(n_arms):
                    index = means[b] + bonus * powers[b] * inverses[b]
                    if index > highest:
                        arm = b
                        highest = index
            n = pulls[arm] + 1
            pulls[arm] = n
            power = grown_power(powers[arm], inverses[arm], n, growth)
            bound = first_bound * power
            reward = draw_heavy(rng, (kinds[arm], parameters[arm, 0], parameters[arm, 1]))
            if abs(reward) <= bound:
                sums[arm] += reward
            if node_factor > 0.0:
                scale = node_factor * bound
                noises[arm] = next_adaptive_noise(rng, scale, ends[arm], noises[arm], n)
            powers[arm] = power
            inverses[arm] = 1.0 / n
            means[arm] = (sums[arm] + noises[arm]) * inverses[arm]
        counts[c] = pulls
    return counts
