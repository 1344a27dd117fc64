"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits.mechanisms.counters import (
    AdaptiveTree,
    BinaryTree,
    Counter,
    HybridCounter,
    LogarithmicCounter,
    RunningCounter,
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
    "Counter",
    "HybridCounter",
    "LogarithmicCounter",
    "RunningCounter",
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
