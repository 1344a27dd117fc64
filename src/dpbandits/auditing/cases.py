"""How each algorithm, stopping rule and counter of the package is audited: one line each."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import Any

from dpbandits import algorithms as alg
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
from dpbandits.identification import DPLRE, DPTT, AdaPTT, AdaPTTStar, DPSEIdentifier, TopTwo
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.stopping import DPNAS, NAS, DPExponentialNAS, EBGStop

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
    """Return how each class that promises privacy is audited.

    Classes of the registry without a line here, such as an algorithm that joins it, are run on
    tables with their defaults.

    Parameters
    ----------
    epsilon : float
        Budget that each declares at most.
    n_runs : int
        Runs of each on each of two tables.
    slow_runs : int
        Runs of what has no compiled loop.
    tried : int
        Pairs of tables that a search begins with.

    Returns
    -------
    dict of str to AuditCase
        Name of the class → its case, in the order of the book.

    Examples
    --------
    >>> audit_cases(1.0, n_runs=1000, slow_runs=100)["DPSE"].method
    'exact'
    """
    run = partial(AuditCase, method="runs", n_pulls=N_PULLS, n_runs=n_runs, tried=tried)
    count = partial(run, n_pulls=N_COUNTED)
    exact = partial(AuditCase, method="exact")
    listed = [
        count(BinaryTree(epsilon, N_COUNTED)),
        *(count(kind(epsilon)) for kind in (LogarithmicCounter, HybridCounter)),
        count(AdaptiveTree(epsilon, N_COUNTED)),
        *(exact(kind(epsilon, ALPHA, BETA)) for kind in (DPNAS, DPExponentialNAS)),
        *(run(kind(epsilon)) for kind in (alg.DPUCB, alg.DPUCBBound, alg.DPUCBHybrid)),
        run(alg.DPUCBInt.calibrated(epsilon, DELTA, N_PULLS, by="interval")),
        exact(alg.DPSE(epsilon)),
        exact(alg.GuessAndDouble(alg.DPSE(epsilon))),
        *(exact(kind(epsilon)) for kind in (alg.DPRUCB, alg.DPRSE, alg.LDPRSE)),
        exact(DPSEIdentifier(epsilon, WRONG)),
        *(run(kind(epsilon, WRONG)) for kind in (DPTT, AdaPTT, AdaPTTStar)),
        run(DPLRE(epsilon, WRONG), n_runs=slow_runs),
        *(run(kind(epsilon)) for kind in (alg.AnytimeLazyUCB, alg.AdaPUCB, alg.AdaPKLUCB)),
        *(run(kind(epsilon)) for kind in (alg.LazyDPTS, alg.DPKLUCB, alg.DPIMED)),
    ]
    cases = {type(case.target).__name__: case for case in listed}
    known = {*cases, *free_cases(n_runs), *NOT_AUDITED}
    joined: dict[str, Any] = {name: kind for name, kind in registry.items() if name not in known}
    return cases | {name: run(kind(epsilon), n_runs=slow_runs) for name, kind in joined.items()}


def free_cases(n_runs: int, tried: int = 8) -> dict[str, AuditCase]:
    """Return how each class that promises nothing is audited.

    Parameters
    ----------
    n_runs : int
        Runs on each table of what has randomness of its own.
    tried : int
        Pairs of tables that a search begins with.

    Returns
    -------
    dict of str to AuditCase
        Name of the class → its case.

    Examples
    --------
    >>> free_cases(1000)["UCB"].method
    'certain'
    """
    certain = partial(AuditCase, method="certain")
    listed = [
        certain(NAS(ALPHA, BETA), n_pulls=1024),
        certain(EBGStop(ALPHA, BETA), n_pulls=1024),
        certain(alg.UCB(), n_pulls=N_PULLS),
        certain(alg.SuccessiveElimination(), n_pulls=4096),
        AuditCase(TopTwo(WRONG), "runs", N_PULLS, n_runs, tried),
    ]
    return {type(case.target).__name__: case for case in listed}


def known_truths() -> dict[tuple[str, str], tuple[KnownLoss, float]]:
    """Return mechanisms of known loss, which measure the auditor.

    Returns
    -------
    dict of (str, str) to (KnownLoss, float)
        Panel of the figure and name of the curve → mechanism and δ.

    Examples
    --------
    >>> mechanism, delta = known_truths()["b", "4 releases"]
    >>> mechanism.truth(delta)
    1.0
    """
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
    """Return which kind of thing a class is.

    Parameters
    ----------
    name : str
        Name of the class.

    Returns
    -------
    str
        "stopping rules", "regret" or "identification"; "counters" if no registry has it.

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
