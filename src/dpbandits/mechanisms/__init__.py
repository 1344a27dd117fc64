"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits._secure import secure_generator
from dpbandits.mechanisms.choices import CountChoice
from dpbandits.mechanisms.counters import (
    AdaptiveTree,
    BinaryTree,
    HybridCounter,
    KaryTree,
    LogarithmicCounter,
    best_arity,
)
from dpbandits.mechanisms.discrete import DiscreteCounter, DiscreteLaplace
from dpbandits.mechanisms.noise import (
    laplace,
    laplace_below,
    laplace_cdf,
    laplace_cdf_kernel,
    laplace_log_cdf,
    laplace_noise,
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_sum_tail,
    laplace_total,
    laplace_union_error,
    laplace_union_width,
)

__all__ = [
    "secure_generator",
    "CountChoice",
    "AdaptiveTree",
    "BinaryTree",
    "HybridCounter",
    "KaryTree",
    "LogarithmicCounter",
    "best_arity",
    "DiscreteCounter",
    "DiscreteLaplace",
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_cdf_kernel",
    "laplace_log_cdf",
    "laplace_noise",
    "laplace_sum_error",
    "laplace_sum_quantile",
    "laplace_sum_tail",
    "laplace_total",
    "laplace_union_error",
    "laplace_union_width",
]
