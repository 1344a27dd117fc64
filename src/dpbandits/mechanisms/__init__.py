"""Privacy mechanisms: the only place of the package that draws noise."""

from dpbandits.mechanisms.binary_tree import BinaryTree, BinaryTreeCounter
from dpbandits.mechanisms.laplace import laplace, laplace_below, laplace_cdf, laplace_noise

__all__ = [
    "BinaryTree",
    "BinaryTreeCounter",
    "laplace",
    "laplace_below",
    "laplace_cdf",
    "laplace_noise",
]
