"""Algorithms that minimise regret; `dpbandits.algorithms` has all of them."""

from dpbandits.regret.base import Instance, Play, RegretAlgorithm

__all__ = ["Instance", "Play", "RegretAlgorithm"]
