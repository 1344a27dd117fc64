"""Old place of `dpbandits.mechanisms.laplace`, until its users have moved."""

from dpbandits.mechanisms.laplace import laplace_sum_error as laplace_sum_error
from dpbandits.mechanisms.laplace import laplace_sum_quantile as laplace_sum_quantile
from dpbandits.mechanisms.laplace import laplace_sum_tail as laplace_sum_tail
