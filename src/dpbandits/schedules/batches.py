"""Grids of releases, and the batches between them."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from dpbandits._arrays import Ints
from dpbandits._engine.kernels import kernel
from dpbandits.configuration import Flag, between, checked_arguments, whole

MOST_PULLS = 2**62
"""Most pulls of a run."""


@kernel
def next_release_kernel(pulls: int, eta: float, first: int = 1) -> int:
    """Return `next_release` without checks, for compiled loops."""
    if pulls < first:
        return first
    j = max(math.floor(math.log(pulls / first) / math.log1p(eta)) - 1, 0)
    while True:
        release = first * (1.0 + eta) ** float(j)
        if release >= MOST_PULLS:
            return MOST_PULLS
        if math.ceil(release) > pulls:
            found: int = math.ceil(release)
            return found
        j += 1


_Pulls = Annotated[int, whole(0, MOST_PULLS)]
_Eta = Annotated[float, between(1e-3, 1e3)]


@checked_arguments
def next_release(pulls: _Pulls, eta: _Eta, first: Annotated[int, whole(1, MOST_PULLS)] = 1) -> int:
    """Return the least number of the grid ⌈first·(1 + η)^j⌉, j = 0, 1, …, that is above `pulls`.

    Parameters
    ----------
    pulls : int
        Number of pulls, from 0 to 2^62.
    eta : float
        Growth η of the grid, from 0.001 to 1000.
    first : int
        First number of the grid, at least 1.

    Returns
    -------
    int
        The number, at most 2^62, the most pulls of a run.

    Examples
    --------
    >>> grid = [1]
    >>> while grid[-1] < 30:
    ...     grid.append(next_release(grid[-1], 0.5))
    >>> grid
    [1, 2, 3, 4, 6, 8, 12, 18, 26, 39]
    """
    return int(next_release_kernel(pulls, eta, first))


@checked_arguments
def batch_grid(pulls: _Pulls, eta: _Eta, forgets: Flag) -> tuple[Ints, ...]:
    """Return the batches of an arm up to the first that reaches `pulls` pulls.

    Parameters
    ----------
    pulls : int
        Number of pulls to reach, from 0 to 2^62.
    eta : float
        Growth η of the batches, from 0.001 to 1000.
    forgets : bool
        Whether an estimate uses the arm's last batch alone, as in `AdaPUCB`, rather than all of
        them, as in `DPKLUCB`.

    Returns
    -------
    sizes : numpy.ndarray of int, shape (J,)
        Sizes of the batches.
    ends : numpy.ndarray of int, shape (J,)
        Pulls at their ends.
    rewards : numpy.ndarray of int, shape (J,)
        Number of rewards in the estimate from the end of each batch on.
    noises : numpy.ndarray of int, shape (J,)
        Number of Laplace variables in it.

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
        sizes.append(next_size_kernel(sizes[-1] if sizes else 0, end, eta, forgets))
        end += sizes[-1]
    batches = np.array(sizes, dtype=np.int64)
    ends = np.cumsum(batches)
    if forgets:
        return batches, ends, batches, np.ones_like(batches)
    return batches, ends, ends, np.arange(1, batches.size + 1)


@kernel
def next_size_kernel(last: int, pulls: int, eta: float, forgets: bool) -> int:
    """Return the size of an arm's next batch."""
    if forgets:
        size = next_release_kernel(last, eta)
    else:
        size = next_release_kernel(pulls, eta) - pulls
    return min(size, MOST_PULLS - pulls)
