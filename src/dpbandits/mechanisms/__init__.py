"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits.mechanisms.counters import (
    AdaptiveTree,
    BinaryTree,
    HybridCounter,
    LogarithmicCounter,
)
from dpbandits.mechanisms.noise import (
    laplace,
    laplace_below,
    laplace_cdf,
    laplace_log_cdf,
    laplace_noise,
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_sum_tail,
    laplace_total,
)

__all__ = [
    "AdaptiveTree",
    "BinaryTree",
    "HybridCounter",
    "LogarithmicCounter",
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_log_cdf",
    "laplace_noise",
    "laplace_sum_error",
    "laplace_sum_quantile",
    "laplace_sum_tail",
    "laplace_total",
]
