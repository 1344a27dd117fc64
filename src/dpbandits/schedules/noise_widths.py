"""Allowances of indices for noise: DP-UCB-BOUND in a private sum, LDP-UCB in a mean."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats
from dpbandits._engine.kernels import interpreted, kernel
from dpbandits._validation import SMALLEST, check_range, check_values
from dpbandits.configuration import Flag, NonNegative, between, checked_arguments, whole
from dpbandits.schedules.batches import MOST_PULLS

_LARGEST = 1e100  # of a width's factors: no float overflows
_Scale = Annotated[float, between(0.0, _LARGEST)]
_Log = Annotated[
    float,
    partial(check_range, low=SMALLEST, high=_LARGEST, allowed="a positive number up to 1e100"),
]


@kernel
def noise_bracket_kernel(length: int, power: int, repaired: bool) -> float:
    """Return `noise_bracket` of a length, given the largest power of two up to it."""
    if repaired:
        return 1.0 + math.log2(power)
    return 1.0 + math.log2(length - power) if length > power else 1.0


@checked_arguments
def noise_bracket(length: Annotated[int, whole(1, MOST_PULLS)], repaired: Flag = False) -> float:
    """Return the bracket of the width of DP-UCB-BOUND for the sum of n rewards.

    With n = 2^k + n', 0 ≤ n' < 2^k, it is log2 n' + 1, and 1 at n' = 0, in Tossou & Dimitrakakis
    (2016), Algorithm 1; or k + 1 if `repaired`.

    Parameters
    ----------
    length : int
        Number n of rewards in the sum, from 1 to 2^62.
    repaired : bool
        Whether the number of levels of the counter's tree, k, replaces log2 n'.

    Returns
    -------
    float
        The bracket, which multiplies `noise_width`.

    Examples
    --------
    >>> noise_bracket(8), noise_bracket(9), noise_bracket(12), noise_bracket(9, repaired=True)
    (1.0, 1.0, 3.0, 4.0)
    """
    return float(noise_bracket_kernel(length, 1 << (length.bit_length() - 1), repaired))


@checked_arguments
def noise_width(
    scale: NonNegative, log_time: ArrayLike, bracket: ArrayLike = 1.0
) -> float | Floats:
    """Return ν = 4√8·b·log t·(bracket), the allowance of DP-UCB-BOUND for the noise of a sum.

    Tossou & Dimitrakakis (2016), Algorithm 1. Arrays are broadcast against each other.

    Parameters
    ----------
    scale : float
        Scale b ≥ 0 of the noise of one block of the counter.
    log_time : array_like of float
        Logarithm of the time t, at least 0.
    bracket : array_like of float
        `noise_bracket` of the number of rewards in the sum.

    Returns
    -------
    float or numpy.ndarray of float
        The width, in units of a sum of rewards.

    Examples
    --------
    >>> round(float(noise_width(0.25, math.log(100), noise_bracket(12))), 4)
    39.0762
    """
    factors = check_values("bracket", bracket, 0.0, _LARGEST)
    return 4 * math.sqrt(8) * scale * factors * check_values("log_time", log_time, 0.0, _LARGEST)


@kernel
def noisy_mean_width_kernel(scale: float, log_failure: float, size: float) -> float:
    """Return `noisy_mean_width`; its Python function does so for arrays of sizes, too."""
    rate = 8.0 * log_failure / ((1.0 + 8.0 * scale * scale) * size)
    noise = scale * scale * rate
    tilt = np.sqrt(rate / (1.0 + noise))
    found: float = (log_failure / size + np.log1p(noise)) / tilt + tilt / 8.0
    return found


@checked_arguments
def noisy_mean_width(scale: _Scale, log_failure: _Log, size: ArrayLike) -> float | Floats:
    """Return a bound that the error of a mean of n noisy rewards exceeds with probability e^(−ℓ).

    Rewards are in [0, 1], each with a Laplace variable of scale b, all independent. Chernoff's
    bound at the tilt θ = √(r/(1 + b²r)), r = 8ℓ/((1 + 8b²)n), gives the width
    (ℓ/n + log(1 + b²r))/θ + θ/8, which is exceeded with probability at most e^(−ℓ). It decreases in
    n, and is about √((1 + 8b²)ℓ/(2n)) for large n. Proof: :prf:ref:`lem-noisy-mean`.

    Parameters
    ----------
    scale : float
        Scale b of the noise of a reward, from 0 to 10¹⁰⁰.
    log_failure : float
        ℓ > 0, up to 10¹⁰⁰.
    size : array_like of float
        Number n ≥ 1 of rewards.

    Returns
    -------
    float or numpy.ndarray of float
        The width, in units of reward, of the shape of `size`.

    Examples
    --------
    >>> noisy_mean_width(1.0, 4 * math.log(100), [10, 1000]).round(3).tolist()
    [3.667, 0.289]
    """
    n = check_values("size", size, 1.0, _LARGEST)
    formula: Any = interpreted(noisy_mean_width_kernel)  # for arrays, too
    width: Floats = formula(scale, log_failure, n)
    return width
