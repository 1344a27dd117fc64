"""Laws of samples in [−R, R], by name and mean."""

from __future__ import annotations

from dpbandits._validation import check_number, check_positive
from dpbandits.rewards.laws import BetaLaw, TwoPointLaw, UniformLaw

__all__ = ["low_variance", "shifted_beta", "two_point", "uniform"]


def two_point(mean: float, half_range: float = 1.0) -> TwoPointLaw:
    """Build the law on {−R, R} with the given mean: the law of the lower bounds.

    Parameters
    ----------
    mean : float
        Mean μ in [−R, R]: 0, or at least 10⁻⁹·R in size.
    half_range : float
        R > 0.

    Returns
    -------
    TwoPointLaw

    Raises
    ------
    ValueError
        If `half_range` is not positive or `mean` out of range.

    Examples
    --------
    >>> law = two_point(0.25)
    >>> law.probability, law.variance
    (0.625, 0.9375)
    """
    mean, half_range = _mean_within(mean, half_range)
    if 0 < abs(mean) < 1e-9 * half_range:  # the probability near 1/2 would round it
        raise ValueError(
            f"mean={mean!r} is out of range; allowed: 0, or at least 1e-9 of half_range in size"
        )
    return TwoPointLaw(half_range, -half_range, half_range, 0.5 + mean / (2 * half_range))


def low_variance(mean: float, deviation: float, half_range: float = 1.0) -> TwoPointLaw:
    """Build the law on {mean − deviation, mean + deviation}, equally likely.

    Parameters
    ----------
    mean : float
        Mean μ in [−R, R].
    deviation : float
        Standard deviation σ > 0; mean ± deviation must lie in [−R, R].
    half_range : float
        R > 0.

    Returns
    -------
    TwoPointLaw

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(low_variance(0.5, 0.01).variance, 12)
    0.0001
    """
    mean, half_range = _mean_within(mean, half_range)
    deviation = check_positive("deviation", deviation)
    if abs(mean) + deviation > half_range * (1 + 1e-12):  # for the rounding
        raise ValueError(
            f"deviation={deviation!r} is out of range; allowed: at most half_range - |mean| = "
            f"{half_range - abs(mean)!r}"
        )
    low, high = max(mean - deviation, -half_range), min(mean + deviation, half_range)
    return TwoPointLaw(half_range, low, high, 0.5)


def uniform(mean: float, half_range: float = 1.0) -> UniformLaw:
    """Build the uniform law on the widest interval around `mean` inside [−R, R].

    Parameters
    ----------
    mean : float
        Mean μ, strictly inside [−R, R].
    half_range : float
        R > 0.

    Returns
    -------
    UniformLaw

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> law = uniform(0.25)
    >>> law.low, law.high
    (-0.5, 1.0)
    """
    mean, half_range = _mean_within(mean, half_range)
    width = half_range - abs(mean)
    if width == 0:
        raise ValueError(
            f"mean={mean!r} is out of range; allowed: strictly inside "
            f"[-{half_range:g}, {half_range:g}]"
        )
    return UniformLaw(half_range, mean - width, mean + width)


def shifted_beta(a: float, b: float, half_range: float = 1.0) -> BetaLaw:
    """Build the law of R(2Y − 1) with Y ~ Beta(a, b).

    Parameters
    ----------
    a, b : float
        Shapes, from 0.001 to 10⁶; the mean is R(a − b)/(a + b).
    half_range : float
        R > 0.

    Returns
    -------
    BetaLaw

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(shifted_beta(3, 2).mean, 12)
    0.2
    """
    return BetaLaw(half_range, a, b)


def _mean_within(mean: float, half_range: float) -> tuple[float, float]:
    half_range = check_positive("half_range", half_range)
    mean = check_number("mean", mean, f"[-{half_range:g}, {half_range:g}]")
    if not abs(mean) <= half_range:
        raise ValueError(
            f"mean={mean!r} is out of range; allowed: [-{half_range:g}, {half_range:g}]"
        )
    return mean, half_range
