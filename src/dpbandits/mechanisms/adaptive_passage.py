"""Old names of `dpbandits.mechanisms.first_passage`, until their users have moved."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.mechanisms.first_passage import FirstPassageTable as GrowingPassageTable
from dpbandits.mechanisms.first_passage import first_passage_table, walk_to_first_passage

__all__ = ["GrowingPassageTable", "growing_passage_table", "walk_growing_tree"]


def growing_passage_table(
    ratio: float = 1.0625, cell_width: float = 0.25, n_cells: int = 400, max_level: int = 30
) -> GrowingPassageTable:
    """Return `first_passage_table`."""
    return first_passage_table(cell_width, n_cells, max_level, ratio)


@njit(cache=True, nogil=True)
def walk_growing_tree(
    rng: np.random.Generator,
    table: GrowingPassageTable,
    first_scale: float,
    growth: float,
    barrier: float,
    prefix_noise: NDArray[np.float64],
    arm: int,
    start: int,
    stop: int,
) -> int:
    """Call `walk_to_first_passage`."""
    return walk_to_first_passage(
        rng, table, first_scale, barrier, prefix_noise, arm, start, stop, growth
    )
