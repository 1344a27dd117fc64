"""Algorithms that minimise regret."""

from dpbandits.regret.base import Instance, Play, RegretAlgorithm
from dpbandits.regret.dp_se import DPSE, SuccessiveElimination
from dpbandits.regret.dp_ucb import DPUCB, UCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.heavy import DPRSE, LDPRSE, HeavyTailAlgorithm
from dpbandits.regret.lazy_batches import (
    DPIMED,
    DPKLUCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    LazyBatches,
    LazyDPTS,
)
from dpbandits.regret.robust_ucb import RobustUCB

__all__ = [
    "DPIMED",
    "DPKLUCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "LazyBatches",
    "LazyDPTS",
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
