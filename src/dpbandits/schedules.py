"""Epochs and widths of the elimination algorithms, releases of batches: each formula once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from dpbandits._arrays import Ints
from dpbandits._validation import check_fraction, check_integer, check_positive

MOST_PULLS = 2**62
"""The most pulls that a run may be let."""


@dataclass(frozen=True)
class EpochPlan:
    """One epoch of an elimination algorithm."""

    length: float
    """R_e, of which the ceiling is the number of pulls of each viable arm."""
    sampling_width: float
    """h_e: how far an epoch's empirical mean may lie from the arm's mean."""
    privacy_width: float
    """c_e: how far the released mean may lie from the empirical one; 0 without privacy."""
    noise_scale: float
    """Scale of the Laplace variable that is added to each empirical mean; 0 without privacy."""

    @property
    def pulls(self) -> int:
        """Pulls r = ⌈R_e⌉ of each viable arm."""
        return math.ceil(self.length)

    @property
    def threshold(self) -> float:
        """Gap 2h_e + 2c_e between released means beyond which an arm is eliminated."""
        return 2 * self.sampling_width + 2 * self.privacy_width


@njit(cache=True, nogil=True)
def elimination_widths(
    n_viable: int, epoch: int, beta: float, epsilon: float
) -> tuple[float, float, float]:
    """Return R_e, h_e and c_e of `elimination_epoch`, whose arguments these are, for kernels."""
    gap = 0.5**epoch
    log_sampling = math.log(8 * n_viable * epoch**2 / beta)
    log_privacy = math.log(4 * n_viable * epoch**2 / beta)
    length = max(32 * log_sampling / gap**2, 8 * log_privacy / (epsilon * gap)) + 1
    return length, math.sqrt(log_sampling / (2 * length)), log_privacy / (length * epsilon)


def elimination_epoch(
    n_viable: int, epoch: int, beta: float, epsilon: float = math.inf
) -> EpochPlan:
    """Plan one epoch of (DP) successive elimination: Sajed & Sheffet (2019), Algorithm 3.

    R_e = max(32 log(8|S|e²/β)/Δ_e², 8 log(4|S|e²/β)/(εΔ_e)) + 1 with Δ_e = 2^−e,
    h_e = √(log(8|S|e²/β)/(2R_e)), c_e = log(4|S|e²/β)/(εR_e), noise of scale 1/(ε⌈R_e⌉).
    |S| = `n_viable`, e = `epoch` ≥ 1; ε = ∞ gives the non-private algorithm.

    Examples
    --------
    >>> plan = elimination_epoch(5, epoch=1, beta=0.05)
    >>> plan.pulls, plan.privacy_width
    (857, 0.0)
    """
    check_integer("n_viable", n_viable, 1)
    check_integer("epoch", epoch, 1)
    check_fraction("beta", beta)
    check_positive("epsilon", epsilon, infinite=True)
    widths = elimination_widths(n_viable, epoch, float(beta), float(epsilon))
    return EpochPlan(*widths, noise_scale=1 / (epsilon * math.ceil(widths[0])))


def noise_bracket(length: int, repaired: bool = False) -> float:
    """Return log2 n' + 1 for n = 2^k + n', 1 at n' = 0, or, if `repaired`, k + 1.

    Examples
    --------
    >>> noise_bracket(8), noise_bracket(9), noise_bracket(12), noise_bracket(9, repaired=True)
    (1.0, 1.0, 3.0, 4.0)
    """
    levels = length.bit_length() - 1
    since = length - (1 << levels)
    if repaired:
        return levels + 1.0
    return math.log2(since) + 1.0 if since else 1.0


def noise_width(scale: float, log_time: Any, bracket: Any = 1.0) -> Any:
    """Return ν = 4√8·b·log t·(bracket), what DP-UCB-BOUND allows for the noise of a sum.

    Tossou & Dimitrakakis (2016), Algorithm 1; b is the `scale` of the noise of one block of the
    counter, `bracket` is `noise_bracket` of the length. The loop of `DPUCBBound` has it inlined.
    """
    return 4 * math.sqrt(8) * scale * bracket * log_time


def round_robin(pulls: Ints, n_viable: int) -> Ints:
    """Count pulls of each of `n_viable` arms after `pulls` pulls in turn, arm 0 first.

    Examples
    --------
    >>> import numpy as np
    >>> round_robin(np.array([0, 4]), 3).tolist()
    [[0, 0, 0], [2, 1, 1]]
    """
    return (pulls[..., None] + np.arange(n_viable)[::-1]) // n_viable


@njit(cache=True, nogil=True)
def next_release(pulls: int, eta: float, first: int = 1) -> int:
    """Return the least number of the grid ⌈first·(1 + η)^j⌉, j = 0, 1, …, that is above `pulls`.

    At most 2^62: no run has room for more. `pulls` is at least 0, η above 0.

    Examples
    --------
    >>> grid = [1]
    >>> while grid[-1] < 30:
    ...     grid.append(next_release(grid[-1], 0.5))
    >>> grid
    [1, 2, 3, 4, 6, 8, 12, 18, 26, 39]
    """
    if pulls < first:
        return first
    j = max(math.floor(math.log(pulls / first) / math.log1p(eta)) - 1, 0)
    while True:
        release = first * (1.0 + eta) ** float(j)
        if release >= MOST_PULLS:
            return MOST_PULLS
        if math.ceil(release) > pulls:
            return math.ceil(release)
        j += 1


def batch_grid(pulls: int, eta: float, forgets: bool) -> tuple[Ints, ...]:
    """Return the batches of an arm up to the first that brings it to `pulls` pulls or more.

    Sizes of the batches, pulls at their ends, and how many rewards and how many Laplace variables
    the estimate of a `LazyBatches` algorithm, which `forgets` or not, has from then on; each an
    array of shape (J,).

    Examples
    --------
    >>> sizes, ends, rewards, noises = batch_grid(10, 1.0, forgets=True)
    >>> sizes.tolist(), ends.tolist(), noises.tolist()
    ([1, 2, 4, 8], [1, 3, 7, 15], [1, 1, 1, 1])
    >>> sizes, ends, rewards, noises = batch_grid(10, 1.0, forgets=False)
    >>> sizes.tolist(), rewards.tolist(), noises.tolist()
    ([1, 1, 2, 4, 8], [1, 2, 4, 8, 16], [1, 2, 3, 4, 5])
    """
    sizes: list[int] = []
    end = 0
    while end < pulls:
        sizes.append(next_size(sizes[-1] if sizes else 0, end, eta, forgets))
        end += sizes[-1]
    batches = np.array(sizes, dtype=np.int64)
    ends = np.cumsum(batches)
    if forgets:
        return batches, ends, batches, np.ones_like(batches)
    return batches, ends, ends, np.arange(1, batches.size + 1)


@njit(cache=True, nogil=True)
def next_size(last: int, pulls: int, eta: float, forgets: bool) -> int:
    """Return the size of the batch after one of size `last` that ended at `pulls`, 0 if none."""
    size = next_release(last, eta) if forgets else next_release(pulls, eta) - pulls
    return min(size, MOST_PULLS - pulls)
