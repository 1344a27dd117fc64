"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits._secure import secure_generator as secure_generator
from dpbandits.mechanisms.choices import CountChoice as CountChoice
from dpbandits.mechanisms.counters import AdaptiveTree as AdaptiveTree
from dpbandits.mechanisms.counters import BinaryTree as BinaryTree
from dpbandits.mechanisms.counters import HybridCounter as HybridCounter
from dpbandits.mechanisms.counters import KaryTree as KaryTree
from dpbandits.mechanisms.counters import LogarithmicCounter as LogarithmicCounter
from dpbandits.mechanisms.counters import best_arity as best_arity
from dpbandits.mechanisms.discrete import DiscreteCounter as DiscreteCounter
from dpbandits.mechanisms.discrete import DiscreteLaplace as DiscreteLaplace
from dpbandits.mechanisms.noise import laplace as laplace
from dpbandits.mechanisms.noise import laplace_below as laplace_below
from dpbandits.mechanisms.noise import laplace_cdf as laplace_cdf
from dpbandits.mechanisms.noise import laplace_cdf_kernel as laplace_cdf_kernel
from dpbandits.mechanisms.noise import laplace_log_cdf as laplace_log_cdf
from dpbandits.mechanisms.noise import laplace_noise as laplace_noise
from dpbandits.mechanisms.noise import laplace_sum_error as laplace_sum_error
from dpbandits.mechanisms.noise import laplace_sum_quantile as laplace_sum_quantile
from dpbandits.mechanisms.noise import laplace_sum_tail as laplace_sum_tail
from dpbandits.mechanisms.noise import laplace_total as laplace_total
from dpbandits.mechanisms.noise import laplace_union_error as laplace_union_error
from dpbandits.mechanisms.noise import laplace_union_width as laplace_union_width
