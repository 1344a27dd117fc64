"""Transportation costs: how strongly weighted estimates of two arms say which mean is greater.

For estimates x_a > x_b, anywhere on the line, with weights w_a and w_b,

    W = min over 0 ≤ u ≤ 1 of w_a·d⁻(x_a, u) + w_b·d⁺(x_b, u),

and W̃ is the same with the calibrated d̃⁻ and d̃⁺ of `divergences`. Arrays are broadcast; the
kernels for single numbers, callable from compiled code, are in `transport_kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits._validation import SMALLEST, check_values
from dpbandits.identification.transport_kernels import calibrated_cost_kernel

__all__ = ["calibrated_cost", "transportation_cost"]

_GREATEST = 1 / SMALLEST


@njit(cache=True, nogil=True)
def _costs(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return W̃ and its minimiser for each column of the seven arguments."""
    result = np.empty((2, table.shape[1]))
    for i in range(table.shape[1]):
        a, b, weight_a, weight_b, ratio_a, ratio_b, epsilon = table[:, i]
        cost = calibrated_cost_kernel(
            a, b, weight_a, weight_b, ratio_a, ratio_b, epsilon, 0.0, 0.0, -1.0
        )
        result[0, i], result[1, i] = cost[0], cost[1]
    return result


def transportation_cost(
    mean_a: ArrayLike,
    mean_b: ArrayLike,
    weight_a: ArrayLike,
    weight_b: ArrayLike,
    epsilon: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return W = min over u of w_a·d⁻(x_a, u) + w_b·d⁺(x_b, u), and the minimising u.

    Jourdan & Azize (2025), reconstructed. The minimum is in closed form: the pooled mean where
    neither tilt is at its limit ε, a linear equation where both are, a quadratic one where one is.

    Parameters
    ----------
    mean_a, mean_b : array_like of float
        x_a and x_b: true means, or estimates anywhere on the line.
    weight_a, weight_b : array_like of float
        w_a, w_b ≥ 0: shares, or numbers of pulls.
    epsilon : array_like of float
        Privacy budget ε > 0; inf for W of the Kullback–Leibler divergence.

    Returns
    -------
    cost, u : numpy.ndarray of float, of the common shape of the arguments
        The cost is 0 where x_a ≤ x_b, and u then x_a clipped to [0, 1]; it is infinite where ε
        is and a weighted estimate lies on the outer side of [0, 1].

    Raises
    ------
    ValueError
        If a weight is negative, ε is not positive, or an argument is no number.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> cost, u = dpb.transportation_cost(0.75, 0.5, 3, 1, [0.5, np.inf])
    >>> cost.round(4).tolist(), u.round(4).tolist()
    ([0.0896, 0.1042], [0.7127, 0.6875])
    """
    return calibrated_cost(mean_a, mean_b, weight_a, weight_b, 0.0, 0.0, epsilon)


def calibrated_cost(
    mean_a: ArrayLike,
    mean_b: ArrayLike,
    weight_a: ArrayLike,
    weight_b: ArrayLike,
    ratio_a: ArrayLike,
    ratio_b: ArrayLike,
    epsilon: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return W̃ = min over u of w_a·d̃⁻(x_a, u, r_a) + w_b·d̃⁺(x_b, u, r_b), and the minimising u.

    Jourdan & Azize (2025), reconstructed. W̃ ≤ W, with equality for r_a = r_b = 0 or ε = ∞.

    Parameters
    ----------
    mean_a, mean_b : array_like of float
        Estimates x_a and x_b, anywhere on the line.
    weight_a, weight_b : array_like of float
        w_a, w_b ≥ 0, such as numbers of pulls.
    ratio_a, ratio_b : array_like of float
        r_a, r_b ≥ 0: in each estimate, Laplace variables of scale 1/ε per reward.
    epsilon : array_like of float
        Privacy budget ε > 0, inf included.

    Returns
    -------
    cost, u : numpy.ndarray of float, of the common shape of the arguments
        The cost is 0 where x_a ≤ x_b, and u then x_a clipped to [0, 1].

    Raises
    ------
    ValueError
        If a weight or ratio is negative, ε is not positive, or an argument is no number.

    Examples
    --------
    >>> cost, u = calibrated_cost(0.75, 0.5, 30, 10, [0.0, 0.1], 0.1, 0.5)
    >>> cost.round(4).tolist(), u.round(4).tolist()
    ([0.273, 0.2217], [0.7362, 0.6899])
    """
    arguments = {
        "mean_a": (mean_a, -_GREATEST, _GREATEST),
        "mean_b": (mean_b, -_GREATEST, _GREATEST),
        "weight_a": (weight_a, 0.0, _GREATEST),
        "weight_b": (weight_b, 0.0, _GREATEST),
        "ratio_a": (ratio_a, 0.0, _GREATEST),
        "ratio_b": (ratio_b, 0.0, _GREATEST),
        "epsilon": (epsilon, SMALLEST, math.inf),
    }
    values = [check_values(name, *limits) for name, limits in arguments.items()]
    table = np.stack(np.broadcast_arrays(*values))
    cost, u = _costs(table.reshape(len(values), -1)).reshape(2, *table.shape[1:])
    return cost, u
