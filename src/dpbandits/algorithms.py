"""Every algorithm by its name: what tests, tables, the API page and the command line go through."""

from __future__ import annotations

from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.top_two import TopTwo
from dpbandits.regret.adap_ucb import AdaPKLUCB, AdaPUCB
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_klucb import DPIMED, DPKLUCB
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.dprse import DPRSE
from dpbandits.regret.dprucb import DPRUCB
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.lazy_dp_ts import LazyDPTS
from dpbandits.regret.lazy_ucb import AnytimeLazyUCB
from dpbandits.regret.ldprse import LDPRSE
from dpbandits.regret.robust_ucb import RobustUCB
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB
from dpbandits.stopping.base import StoppingRule
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS
from dpbandits.stopping.dp_nas import DPNAS
from dpbandits.stopping.ebgstop import EBGStop
from dpbandits.stopping.nas import NAS

__all__ = ["identifiers", "registry", "stopping_rules"]

registry: dict[str, type[RegretAlgorithm]] = {
    algorithm.__name__: algorithm
    for algorithm in (
        UCB,
        DPUCB,
        DPUCBBound,
        DPUCBHybrid,
        DPUCBInt,
        SuccessiveElimination,
        DPSE,
        GuessAndDouble,
        RobustUCB,
        DPRUCB,
        DPRSE,
        LDPRSE,
        AnytimeLazyUCB,
        AdaPUCB,
        AdaPKLUCB,
        LazyDPTS,
        DPKLUCB,
        DPIMED,
    )
}
"""Name of each algorithm's class → the class."""

stopping_rules: dict[str, type[StoppingRule]] = {
    rule.__name__: rule for rule in (NAS, DPNAS, DPExponentialNAS, EBGStop)
}
"""Name of each stopping rule's class → the class."""

identifiers: dict[str, type[IdentificationAlgorithm]] = {
    algorithm.__name__: algorithm
    for algorithm in (TopTwo, DPTT, AdaPTT, AdaPTTStar, DPSEIdentifier, DPLRE)
}
"""Name of each algorithm for best-arm identification → the class."""
