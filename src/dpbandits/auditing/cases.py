"""How each algorithm, stopping rule and counter of the package is audited: one line each."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import MISSING, fields
from functools import partial
from typing import Any

from dpbandits import algorithms as alg
from dpbandits.algorithms import identifiers, registry, stopping_rules
from dpbandits.auditing.grid import AuditCase
from dpbandits.auditing.searching import usual_shape
from dpbandits.auditing.subjects import tables_of
from dpbandits.auditing.truths import (
    EliminationEpoch,
    HaltingTime,
    KnownLoss,
    RandomisedResponse,
    Releases,
    TreeSums,
)
from dpbandits.auditing.verdicts import FEWEST_RUNS
from dpbandits.identification import DPLRE, DPTT, AdaPTT, AdaPTTStar, DPSEIdentifier, TopTwo
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.stopping import DPNAS, NAS, DPExponentialNAS, DPHoeffdingStop, EBGStop

__all__ = ["NOT_AUDITED", "audit_cases", "free_cases", "group_of", "known_truths"]

N_PULLS = 16
N_COUNTED = 8
N_DOUBLING = 128
N_LOOK = 32
ALPHA, BETA, WRONG = 0.5, 0.05, 0.1
DELTA = math.exp(-10)

NOT_AUDITED = {"RobustUCB": "promises nothing, and draws its rewards from laws"}
"""Name → why it has no audit."""


def audit_cases(
    epsilon: float, n_runs: int, slow_runs: int, tried: int = 8
) -> dict[str, AuditCase]:
    """Return how each class that promises privacy is audited.

    Classes of the registries without a line here, such as an algorithm that joins them, are run
    with their defaults, on tables of the length that they declare.

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

    Raises
    ------
    ValueError
        If an argument is out of range, or a class that joined has a parameter without a default.

    Examples
    --------
    >>> audit_cases(1.0, n_runs=1000, slow_runs=100)["DPSE"].method
    'exact'
    """
    cases = _private(epsilon, n_runs, slow_runs, tried)
    return cases | _joined(True, epsilon, slow_runs, tried)


def _private(epsilon: float, n_runs: int, slow_runs: int, tried: int) -> dict[str, AuditCase]:
    """Return the cases of `audit_cases` that have a line here."""
    run = partial(AuditCase, method="runs", n_pulls=N_PULLS, n_runs=n_runs, tried=tried)
    count = partial(run, n_pulls=N_COUNTED)
    exact = partial(AuditCase, method="exact")
    listed = [
        count(BinaryTree(epsilon, N_COUNTED)),
        *(count(kind(epsilon)) for kind in (LogarithmicCounter, HybridCounter)),
        count(AdaptiveTree(epsilon, N_COUNTED)),
        *(exact(kind(epsilon, ALPHA, BETA)) for kind in (DPNAS, DPExponentialNAS, DPHoeffdingStop)),
        *(run(kind(epsilon)) for kind in (alg.DPUCB, alg.DPUCBBound, alg.DPUCBHybrid)),
        run(alg.DPUCBInt.calibrated(epsilon, DELTA, N_PULLS, by="interval")),
        *(exact(kind(epsilon)) for kind in (alg.DPSE, alg.TunedDPSE)),
        exact(alg.GuessAndDouble(alg.DPSE(epsilon))),
        run(alg.BennettDPSE(epsilon), n_pulls=N_DOUBLING, n_runs=slow_runs),
        *(exact(kind(epsilon)) for kind in (alg.DPRUCB, alg.DPRSE, alg.LDPRSE)),
        exact(DPSEIdentifier(epsilon, WRONG)),
        run(DPTT(epsilon, WRONG, first=1)),
        *(run(kind(epsilon, WRONG)) for kind in (AdaPTT, AdaPTTStar)),
        run(DPLRE(epsilon, WRONG), n_runs=slow_runs),
        exact(alg.ExploreThenCommit(epsilon, N_LOOK)),
        *(run(kind(epsilon)) for kind in (alg.AnytimeLazyUCB, alg.AdaPUCB, alg.AdaPKLUCB)),
        *(run(kind(epsilon)) for kind in (alg.LazyDPTS, alg.DPKLUCB, alg.DPIMED)),
    ]
    return {type(case.target).__name__: case for case in listed}


def _joined(private: bool, epsilon: float, n_runs: int, tried: int) -> dict[str, AuditCase]:
    """Return how classes of the registries are audited that have no line here.

    They are run with their defaults, on tables as long as they say they need.
    """
    registered: dict[str, Any] = {**registry, **stopping_rules, **identifiers}
    one = FEWEST_RUNS
    listed = {*_private(1.0, one, one, 1), *_free(one, 1), *NOT_AUDITED}
    joined = (_default(kind, epsilon) for name, kind in registered.items() if name not in listed)
    return {
        type(target).__name__: AuditCase(target, "runs", usual_shape(target)[1], n_runs, tried)
        for target in joined
        if target.guarantee.is_private == private and tables_of(target) is not None
    }


def _default(kind: Any, epsilon: float) -> Any:
    """Return a configuration with `epsilon`, and with its defaults where it has them."""
    values = {"epsilon": epsilon, "alpha": ALPHA, "beta": BETA, "delta": WRONG}
    needed = [
        each.name for each in fields(kind) if each.default is MISSING or each.name == "epsilon"
    ]
    if unknown := [name for name in needed if name not in values]:
        raise ValueError(
            f"{kind.__name__}.{unknown[0]} has no default; allowed: one, or a line for "
            f"{kind.__name__} in dpbandits.auditing.cases"
        )
    return kind(**{name: values[name] for name in needed})


def free_cases(n_runs: int, tried: int = 8) -> dict[str, AuditCase]:
    """Return how each class that promises nothing is audited.

    Classes of the registries without a line here are run with their defaults, on tables of the
    length that they declare.

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

    Raises
    ------
    ValueError
        If an argument is out of range, or a class that joined has a parameter without a default.

    Examples
    --------
    >>> free_cases(1000)["UCB"].method
    'certain'
    """
    return _free(n_runs, tried) | _joined(False, 1.0, n_runs, tried)


def _free(n_runs: int, tried: int) -> dict[str, AuditCase]:
    """Return the cases of `free_cases` that have a line here."""
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
        Letter of its kind and name → mechanism and δ.

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
