"""Algorithms that minimise regret."""

from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = [
    "DPSE",
    "DPUCB",
    "UCB",
    "GuessAndDouble",
    "Play",
    "RegretAlgorithm",
    "SuccessiveElimination",
]
