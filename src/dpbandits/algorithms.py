"""The registries: every algorithm by name, for tests, tables, reference and command line.

To add an algorithm, import its class here, and add its name to ``dpbandits.__all__``, which is a
literal because type checkers cannot read anything else.
"""

from __future__ import annotations

import inspect
from typing import Any

from dpbandits.identification.adap_tt import AdaPTT as AdaPTT
from dpbandits.identification.adap_tt import AdaPTTStar as AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm as IdentificationAlgorithm
from dpbandits.identification.ctb_tt import CTBTT as CTBTT
from dpbandits.identification.dp_se import DPSEIdentifier as DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT as DPTT
from dpbandits.identification.dplre import DPLRE as DPLRE
from dpbandits.identification.top_two import TopTwo as TopTwo
from dpbandits.regret.adap_klucb import AdaPKLUCB as AdaPKLUCB
from dpbandits.regret.adap_printed import PrintedAdaPKLUCB as PrintedAdaPKLUCB
from dpbandits.regret.adap_printed import PrintedAdaPUCB as PrintedAdaPUCB
from dpbandits.regret.base import RegretAlgorithm as RegretAlgorithm
from dpbandits.regret.bennett_elimination import BennettDPSE as BennettDPSE
from dpbandits.regret.binomial_elimination import BinomialDPSE as BinomialDPSE
from dpbandits.regret.dp_imed import DPIMED as DPIMED
from dpbandits.regret.dp_klucb import DPKLUCB as DPKLUCB
from dpbandits.regret.dp_ucb import DPUCB as DPUCB
from dpbandits.regret.dp_ucb import UCB as UCB
from dpbandits.regret.dp_ucb_hybrid import DPUCBBound as DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid as DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt as DPUCBInt
from dpbandits.regret.dprucb import DPRUCB as DPRUCB
from dpbandits.regret.elimination import DPSE as DPSE
from dpbandits.regret.elimination import SuccessiveElimination as SuccessiveElimination
from dpbandits.regret.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from dpbandits.regret.guess_and_double import GuessAndDouble as GuessAndDouble
from dpbandits.regret.heavy import DPRSE as DPRSE
from dpbandits.regret.heavy import LDPRSE as LDPRSE
from dpbandits.regret.lazy_dp_ts import LazyDPTS as LazyDPTS
from dpbandits.regret.lazy_ucb import AdaPUCB as AdaPUCB
from dpbandits.regret.lazy_ucb import AnytimeLazyUCB as AnytimeLazyUCB
from dpbandits.regret.ldp_ucb import LDPUCB as LDPUCB
from dpbandits.regret.robust_ucb import RobustUCB as RobustUCB
from dpbandits.regret.tuned_elimination import TunedDPSE as TunedDPSE
from dpbandits.stopping.base import StoppingRule as StoppingRule
from dpbandits.stopping.bernstein import DPBernsteinStop as DPBernsteinStop
from dpbandits.stopping.ebgstop import EBGStop as EBGStop
from dpbandits.stopping.hoeffding import DPHoeffdingStop as DPHoeffdingStop
from dpbandits.stopping.nas import DPNAS as DPNAS
from dpbandits.stopping.nas import NAS as NAS
from dpbandits.stopping.nas import DPExponentialNAS as DPExponentialNAS
from dpbandits.stopping.promised import DPPromisedStop as DPPromisedStop


def _entered(base: Any) -> dict[str, Any]:
    """Return name → class of the algorithms of this kind that are imported above."""
    return {
        name: value
        for name, value in globals().items()
        if inspect.isclass(value) and issubclass(value, base) and hasattr(value, "label")
    }


registry: dict[str, type[RegretAlgorithm]] = _entered(RegretAlgorithm)
"""Name of each algorithm that minimises regret → its class."""
stopping_rules: dict[str, type[StoppingRule]] = _entered(StoppingRule)
"""Name of each stopping rule → its class."""
identifiers: dict[str, type[IdentificationAlgorithm]] = _entered(IdentificationAlgorithm)
"""Name of each algorithm for best-arm identification → its class."""
