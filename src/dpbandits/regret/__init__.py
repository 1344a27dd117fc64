"""Algorithms that minimise regret."""

from dpbandits.regret.base import Instance, Play, RegretAlgorithm
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.dprse import DPRSE
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.regret.ldprse import LDPRSE
from dpbandits.regret.robust_ucb import RobustUCB
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB

__all__ = [
    "DPRSE",
    "DPRUCB",
    "LDPRSE",
    "HeavyTailAlgorithm",
    "Instance",
    "RobustUCB",
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
