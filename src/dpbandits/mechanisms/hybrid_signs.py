"""Signs of the noise of a hybrid counter: a bound by transforms.

For the proof and the contents of the tables see :prf:ref:`lem-negative-before`.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_integer

_NODE_CELL, _NODE_REACH = 1 / 16, 30.0  # in units of a node's scale
_BLOCK_CELL, _BLOCK_REACH = 1 / 4, 160.0  # in units of a block's scale


def _moves(cell: float, reach: float) -> tuple[Floats, Floats, Floats]:
    """Return the grid, the transitions of a lowered Laplace variable, and the mass lost below.

    Mass that would leave the grid above stays at its upper end.
    """
    half = round(reach / cell)
    k = np.arange(2 * half + 1)
    rise = 0.5 * np.exp(-cell * k) * -math.expm1(-cell)  # ⌊X/cell⌋ = k and −1 − k: equally likely
    fall = np.concatenate([rise[:1], rise[:-1]])
    from scipy.linalg import toeplitz  # slow to import

    moves = toeplitz(fall, rise)
    moves[:, -1] = 0.5 * np.exp(-cell * k[::-1])
    moves[-1, -1] = 0.5
    lost = np.maximum(1.0 - moves.sum(axis=1), 0.0)
    grid: Floats = cell * np.asarray(k - half, dtype=np.float64)
    return grid, moves, lost


@functools.lru_cache(maxsize=8)
def _log_transforms(stretches: int) -> tuple[Floats, Floats]:
    """Return s, shape (S,), and log E[exp(−sC)] at the lengths 2^k + 2^j − 1, j ≤ k < `stretches`.

    The latter have the shape (stretches, stretches, S), with zeros where j > k.
    """
    s = np.geomspace(0.25 * 2.0**-stretches, 4.0, 2 + int(1.8 * (stretches + 4)))
    y, moves, lost = _moves(_NODE_CELL, _NODE_REACH)
    subtrees = [np.where(y[:, None] >= 0, np.exp(-s), 1.0)]
    while len(subtrees) < stretches:
        below = subtrees[-1]
        subtrees.append(below * (moves @ below + lost[:, None]))
    z, steps, dropped = _moves(_BLOCK_CELL, _BLOCK_REACH)
    walk = np.where(z[:, None] == 0, np.ones_like(s), 0.0)  # E[exp(−sC); the walk is at z]
    gone = np.zeros_like(s)  # the same for walks that have left the grid
    logs = np.zeros((stretches, stretches, s.size))
    for k in range(stretches):
        gone = gone + dropped @ walk
        walk = steps.T @ walk
        places = np.floor((z / max(k, 1) - y[0]) / _NODE_CELL).astype(np.int64)
        seen = (places >= 0)[:, None]
        places = np.clip(places, 0, y.size - 1)
        for j in range(k + 1):
            factor = np.where(seen, subtrees[j][places], 1.0)
            total = np.sum(walk * factor, axis=0) + gone
            logs[k, j] = np.log(np.maximum(total, 1e-290))
        walk = walk * factor  # that of j = k, the whole stretch
    return s, logs


def negative_before(count: int, horizon: int) -> float:
    """Bound the mean number of negative noises before the noise was at or above 0 `count` times.

    It is an upper bound on the mean number of lengths n ≤ T with negative noise of the sum, and
    with fewer than M lengths before n at which it was at least 0, which is of the order of M:
    :prf:ref:`lem-signs`.
    """
    count = check_integer("count", count, 1)
    horizon = check_integer("horizon", horizon, 1, 2**62)
    s, logs = _log_transforms(8 * math.ceil(horizon.bit_length() / 8))
    bits = horizon.bit_length()
    least = (s * (count - 1) + logs[:bits, :bits]).min(axis=-1)
    likely = np.minimum(0.5, np.exp(np.minimum(least, 0.0)))
    k, j = np.tril_indices(bits)  # in the order of the lengths 2^k + 2^j
    chances = np.minimum.accumulate(likely[k, j])
    before, sizes = 2**k + (2**j - 1), np.where(j < k, 2**j, 1)
    lengths = np.clip(horizon - before, 0, sizes)
    return 0.5 + float(np.sum(chances * lengths))  # 0.5 at n = 1
