"""How each algorithm, stopping rule and counter of the package is audited: one line each.

Keys are names of classes, those of `dpbandits.registry` among them; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.top_two import TopTwo
from dpbandits.mechanisms.adaptive_tree import AdaptiveTree
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.hybrid import HybridCounter
from dpbandits.mechanisms.logarithmic import LogarithmicCounter
from dpbandits.registry import identifiers, registry, stopping_rules
from dpbandits.regret.dp_se import DPSE
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.regret.successive_elimination import SuccessiveElimination
from dpbandits.regret.ucb import UCB
from dpbandits.stopping.dp_exponential_nas import DPExponentialNAS
from dpbandits.stopping.dp_nas import DPNAS
from dpbandits.stopping.ebgstop import EBGStop
from dpbandits.stopping.nas import NAS

__all__ = ["COMPILED", "LOOPS", "NOT_AUDITED", "AuditCase", "audit_cases", "free_cases", "group_of"]

COMPILED, LOOPS = "compiled", "loops"
"""How fast runs are, those of compiled loops and those of loops in Python."""

LAZY = ("AnytimeLazyUCB", "AdaPUCB", "AdaPKLUCB", "LazyDPTS", "DPKLUCB", "DPIMED")
"""Names of the algorithms of lazy batches."""

N_PULLS = 16
N_COUNTED = 8
ALPHA, BETA, WRONG = 0.5, 0.05, 0.1
DELTA = math.exp(-10)


@dataclass(frozen=True)
class AuditCase:
    """How one class is audited.

    Attributes
    ----------
    make : callable
        Makes the target from ε.
    method : {"exact", "runs", "certain"}
        As for `AuditCell`.
    n_pulls : int
        Length of the tables.
    speed : {"compiled", "loops"}
        Which number of runs it gets.
    """

    make: Callable[[float], Any]
    method: str
    n_pulls: int = 0
    speed: str = LOOPS


def _runs(make: Callable[[float], Any], speed: str = LOOPS, n_pulls: int = N_PULLS) -> AuditCase:
    return AuditCase(make, "runs", n_pulls, speed)


def _exact(make: Callable[[float], Any]) -> AuditCase:
    return AuditCase(make, "exact")


def _private(name: str) -> Callable[[float], Any]:
    return partial(registry[name])


def audit_cases() -> dict[str, AuditCase]:
    """Return how each class that promises privacy is audited: name → case, in the book's order.

    Classes of the registry that have no line of their own, as algorithms that join it, are run on
    tables with their defaults.
    """
    cases = {
        "BinaryTree": _runs(lambda e: BinaryTree(e, N_COUNTED), COMPILED, N_COUNTED),
        "LogarithmicCounter": _runs(LogarithmicCounter, COMPILED, N_COUNTED),
        "HybridCounter": _runs(HybridCounter, COMPILED, N_COUNTED),
        "AdaptiveTree": _runs(lambda e: AdaptiveTree(e, N_COUNTED), COMPILED, N_COUNTED),
        "DPNAS": _exact(lambda e: DPNAS(e, ALPHA, BETA)),
        "DPExponentialNAS": _exact(lambda e: DPExponentialNAS(e, ALPHA, BETA)),
        "DPUCB": _runs(_private("DPUCB"), COMPILED),
        "DPUCBBound": _runs(_private("DPUCBBound"), COMPILED),
        "DPUCBHybrid": _runs(_private("DPUCBHybrid"), COMPILED),
        "DPUCBInt": _runs(
            lambda e: DPUCBInt.calibrated(e, DELTA, N_PULLS, by="interval"), COMPILED
        ),
        "DPSE": _exact(_private("DPSE")),
        "GuessAndDouble": _exact(lambda e: GuessAndDouble(DPSE(e))),
        "DPRUCB": _exact(_private("DPRUCB")),
        "DPRSE": _exact(_private("DPRSE")),
        "LDPRSE": _exact(_private("LDPRSE")),
        "DPSEIdentifier": _exact(lambda e: DPSEIdentifier(e, WRONG)),
        "DPTT": _runs(lambda e: DPTT(e, WRONG), COMPILED),
        "AdaPTT": _runs(lambda e: AdaPTT(e, WRONG), COMPILED),
        "AdaPTTStar": _runs(lambda e: AdaPTTStar(e, WRONG), COMPILED),
        "DPLRE": _runs(lambda e: DPLRE(e, WRONG)),
        **{name: _runs(_private(name), COMPILED) for name in LAZY},
    }
    known = {*cases, *free_cases(), *NOT_AUDITED}
    return cases | {name: _runs(_private(name)) for name in registry if name not in known}


def free_cases() -> dict[str, AuditCase]:
    """Return how each class that promises nothing is audited; ε is not used."""

    def certain(target: Any, n_pulls: int) -> AuditCase:
        return AuditCase(lambda _: target, "certain", n_pulls)

    return {
        "NAS": certain(NAS(ALPHA, BETA), 1024),
        "EBGStop": certain(EBGStop(ALPHA, BETA), 1024),
        "UCB": certain(UCB(), N_PULLS),
        "SuccessiveElimination": certain(SuccessiveElimination(), 4096),
        "TopTwo": _runs(lambda _: TopTwo(WRONG), COMPILED),
    }


NOT_AUDITED = {"RobustUCB": "promises nothing, and draws its rewards from laws"}
"""Name → why it has no audit."""


def group_of(name: str) -> str:
    """Return which kind of thing a class is: a counter unless a registry has it.

    Examples
    --------
    >>> group_of("DPSE"), group_of("BinaryTree")
    ('regret', 'counters')
    """
    groups: dict[str, Collection[str]] = {
        "stopping rules": stopping_rules,
        "regret": registry,
        "identification": identifiers,
    }
    return next((group for group, names in groups.items() if name in names), "counters")
