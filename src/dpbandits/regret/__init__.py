"""Algorithms that minimise regret; `dpbandits.algorithms` has all of them."""

from dpbandits.regret.base import Play, RegretAlgorithm

__all__ = ["Play", "RegretAlgorithm"]
