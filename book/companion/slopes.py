"""Slopes on logarithmic axes, with standard errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Slope", "fit_slope"]


class Slope(NamedTuple):
    """A straight line through points on logarithmic axes, y ≈ exp(level)·x^slope.

    The standard error of the slope is computed from the residuals, which are due both to chance and
    to curvature. It is nan for two points.
    """

    slope: float
    error: float
    level: float

    def __str__(self) -> str:
        return f"{self.slope:.3f} ± {self.error:.3f}".replace("-", "\N{MINUS SIGN}")


def fit_slope(x: ArrayLike, y: ArrayLike) -> Slope:
    """Fit a line to log y against log x by least squares, from two or more positive points.

    Examples
    --------
    >>> fit = fit_slope([1.0, 10.0, 100.0], [5.0, 0.5, 0.05])
    >>> round(fit.slope, 12), abs(fit.error) < 1e-12
    (-1.0, True)
    """
    xs, ys = (np.asarray(part, dtype=np.float64) for part in (x, y))
    are_points = xs.ndim == 1 and xs.shape == ys.shape
    if not (are_points and all(((z > 0) & np.isfinite(z)).all() for z in (xs, ys))):
        raise ValueError(f"x={x!r}, y={y!r} are not points; allowed: as many positive numbers each")
    a, b = np.log(np.array([xs, ys]))
    if np.unique(a).size < 2:
        raise ValueError(f"x={x!r} has no two different numbers; allowed: two or more")
    spread = float(((a - a.mean()) ** 2).sum())
    slope = float(((a - a.mean()) * (b - b.mean())).sum()) / spread
    level = float(b.mean() - slope * a.mean())
    error = math.nan
    if a.size > 2:
        residuals = b - level - slope * a
        error = math.sqrt(float(residuals @ residuals) / (a.size - 2) / spread)
    return Slope(slope, error, level)
