"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits.mechanisms.adaptive_tree import AdaptiveTree, AdaptiveTreeCounter
from dpbandits.mechanisms.binary_tree import BinaryTree, BinaryTreeCounter
from dpbandits.mechanisms.hybrid import HybridCounter, RunningHybridCounter
from dpbandits.mechanisms.laplace import (
    laplace,
    laplace_below,
    laplace_cdf,
    laplace_noise,
    laplace_total,
)
from dpbandits.mechanisms.laplace_sums import (
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_sum_tail,
)
from dpbandits.mechanisms.logarithmic import LogarithmicCounter, RunningLogarithmicCounter

__all__ = [
    "AdaptiveTree",
    "AdaptiveTreeCounter",
    "BinaryTree",
    "BinaryTreeCounter",
    "HybridCounter",
    "LogarithmicCounter",
    "RunningHybridCounter",
    "RunningLogarithmicCounter",
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_noise",
    "laplace_sum_error",
    "laplace_sum_quantile",
    "laplace_sum_tail",
    "laplace_total",
]
