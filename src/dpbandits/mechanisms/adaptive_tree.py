"""Old place of `dpbandits.mechanisms.counters`, until its users have moved."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.counters import AdaptiveTree as AdaptiveTree
from dpbandits.mechanisms.first_passage import lowest_level
from dpbandits.mechanisms.laplace import laplace


@njit(cache=True, nogil=True)
def next_adaptive_noise(
    rng: np.random.Generator, scale: float, ends: NDArray[np.float64], last: float, n: int
) -> float:
    """Do as `next_prefix_noise` (which is faster), for one arm."""
    rest = n & (n - 1)
    noise = laplace(rng, scale)
    if rest:
        noise += ends[lowest_level(rest)]
    ends[lowest_level(n)] = noise
    return noise
