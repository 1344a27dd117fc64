"""Algorithms that minimise regret."""

from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = [
    "DPSE",
    "DPUCB",
    "UCB",
    "DPUCBBound",
    "DPUCBHybrid",
    "DPUCBInt",
    "GuessAndDouble",
    "Play",
    "RegretAlgorithm",
    "SuccessiveElimination",
]
