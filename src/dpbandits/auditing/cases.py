"""How each algorithm, stopping rule and counter of the package is audited: one line each.

Keys are names of classes, those of `dpbandits.registry` among them; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from dpbandits.algorithms import identifiers, registry, stopping_rules
from dpbandits.auditing.grid import AuditCase
from dpbandits.auditing.truths import (
    EliminationEpoch,
    HaltingTime,
    KnownLoss,
    RandomisedResponse,
    Releases,
    TreeSums,
)
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.top_two import TopTwo
from dpbandits.mechanisms.adaptive_tree import AdaptiveTree
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.mechanisms.hybrid import HybridCounter
from dpbandits.mechanisms.logarithmic import LogarithmicCounter
from dpbandits.regret.dp_se import DPSE, SuccessiveElimination
from dpbandits.regret.dp_ucb import UCB
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.guess_and_double import GuessAndDouble
from dpbandits.stopping.ebgstop import EBGStop
from dpbandits.stopping.nas import DPNAS, NAS, DPExponentialNAS

__all__ = ["NOT_AUDITED", "audit_cases", "free_cases", "group_of", "known_truths"]

N_PULLS = 16
N_COUNTED = 8
ALPHA, BETA, WRONG = 0.5, 0.05, 0.1
DELTA = math.exp(-10)

NOT_AUDITED = {"RobustUCB": "promises nothing, and draws its rewards from laws"}
"""Name → why it has no audit."""


def audit_cases(
    epsilon: float, n_runs: int, slow_runs: int, tried: int = 8
) -> dict[str, AuditCase]:
    """Return how each class that promises privacy is audited: name → case, in the book's order.

    Classes of the registry without a line here, such as an algorithm that joins it, are run on
    tables with their defaults.

    Parameters
    ----------
    epsilon : float
        ε that each declares at most.
    n_runs, slow_runs : int
        Runs on each table of what has a compiled loop, and of the others.
    tried : int
        Pairs of tables that a search begins with.
    """

    def run(target: Any, n_pulls: int = N_PULLS, runs: int = n_runs) -> AuditCase:
        return AuditCase(target, "runs", n_pulls, runs, tried)

    def made(name: str) -> Any:
        kind: Any = registry[name]
        return kind(epsilon)

    def exact(target: Any) -> AuditCase:
        return AuditCase(target, "exact")

    lazy = ("AnytimeLazyUCB", "AdaPUCB", "AdaPKLUCB", "LazyDPTS", "DPKLUCB", "DPIMED")
    cases = {
        "BinaryTree": run(BinaryTree(epsilon, N_COUNTED), N_COUNTED),
        "LogarithmicCounter": run(LogarithmicCounter(epsilon), N_COUNTED),
        "HybridCounter": run(HybridCounter(epsilon), N_COUNTED),
        "AdaptiveTree": run(AdaptiveTree(epsilon, N_COUNTED), N_COUNTED),
        "DPNAS": exact(DPNAS(epsilon, ALPHA, BETA)),
        "DPExponentialNAS": exact(DPExponentialNAS(epsilon, ALPHA, BETA)),
        **{name: run(made(name)) for name in ("DPUCB", "DPUCBBound", "DPUCBHybrid")},
        "DPUCBInt": run(DPUCBInt.calibrated(epsilon, DELTA, N_PULLS, by="interval")),
        "DPSE": exact(DPSE(epsilon)),
        "GuessAndDouble": exact(GuessAndDouble(DPSE(epsilon))),
        **{name: exact(made(name)) for name in ("DPRUCB", "DPRSE", "LDPRSE")},
        "DPSEIdentifier": exact(DPSEIdentifier(epsilon, WRONG)),
        "DPTT": run(DPTT(epsilon, WRONG)),
        "AdaPTT": run(AdaPTT(epsilon, WRONG)),
        "AdaPTTStar": run(AdaPTTStar(epsilon, WRONG)),
        "DPLRE": run(DPLRE(epsilon, WRONG), runs=slow_runs),
        **{name: run(made(name)) for name in lazy},
    }
    known = {*cases, *free_cases(n_runs), *NOT_AUDITED}
    joined = [name for name in registry if name not in known]
    return cases | {name: run(made(name), runs=slow_runs) for name in joined}


def free_cases(n_runs: int, tried: int = 8) -> dict[str, AuditCase]:
    """Return how each class that promises nothing is audited: name → case."""

    def certain(target: Any, n_pulls: int) -> AuditCase:
        return AuditCase(target, "certain", n_pulls)

    return {
        "NAS": certain(NAS(ALPHA, BETA), 1024),
        "EBGStop": certain(EBGStop(ALPHA, BETA), 1024),
        "UCB": certain(UCB(), N_PULLS),
        "SuccessiveElimination": certain(SuccessiveElimination(), 4096),
        "TopTwo": AuditCase(TopTwo(WRONG), "runs", N_PULLS, n_runs, tried),
    }


def known_truths() -> dict[tuple[str, str], tuple[KnownLoss, float]]:
    """Return mechanisms whose loss is known: (panel, name of the curve) → mechanism and δ."""
    return {
        ("a", "Laplace"): (Releases(1.0), 0.0),
        ("a", "randomised response"): (RandomisedResponse(1.0), 0.0),
        ("b", "4 releases"): (Releases(1.0, 4), 0.0),
        ("b", "4 releases, δ = 0.01"): (Releases(2.0, 4), 0.01),
        ("b", "tree, 8 sums"): (TreeSums(1.0, 8), 0.0),
        ("c", "often"): (EliminationEpoch(1.0, 2.0), 0.0),
        ("c", "rarely"): (EliminationEpoch(1.0, 6.0), 0.0),
        ("d", "halting time"): (HaltingTime(4.0), 0.0),
    }


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
