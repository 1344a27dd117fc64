"""Top Two on a finite population, compiled: it decides before every patient."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.identification.top_two import next_decision

__all__ = ["run_top_two"]


@njit(cache=True, nogil=True)
def run_top_two(
    successes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
    share: float,
    delta: float,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Run until Top Two decides, or wants a patient of an arm that has none left.

    Parameters
    ----------
    successes, sizes : numpy.ndarray of int, shape (K,)
        The population.
    rng : numpy.random.Generator
        Source of randomness: one uniform variable a patient, as in `PopulationRewards`.
    share, delta : float
        Share of the leader, and confidence.

    Returns
    -------
    recommendation : int
        The arm, or −1.
    pulls, sums : numpy.ndarray of int, shape (K,)
        Patients and successes of each arm.
    """
    n_arms = sizes.size
    sums, pulls = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    led, own = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    t = 0
    while True:
        stops, arm = False, t
        if t >= n_arms:
            stops, arm = next_decision(sums, pulls, led, own, share, delta)
        if stops:
            return arm, pulls, sums
        left = sizes[arm] - pulls[arm]
        if left == 0:
            return -1, pulls, sums
        if rng.random() * left < successes[arm] - sums[arm]:
            sums[arm] += 1
        pulls[arm] += 1
        t += 1
