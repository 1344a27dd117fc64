"""Algorithms that minimise regret; `dpbandits.algorithms` lists them."""

from dpbandits.regret.base import Play, RegretAlgorithm

__all__ = ["Play", "RegretAlgorithm"]
