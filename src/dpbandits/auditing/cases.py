"""One configuration of each algorithm, stopping rule and counter of the package, for audits."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import MISSING, fields
from typing import Any

from dpbandits import algorithms as alg
from dpbandits.algorithms import identifiers, registry, stopping_rules
from dpbandits.auditing.adapters import tables_of
from dpbandits.identification import DPLRE, DPTT, AdaPTT, AdaPTTStar, DPSEIdentifier, TopTwo
from dpbandits.mechanisms import (
    AdaptiveTree,
    BinaryTree,
    HybridCounter,
    KaryTree,
    LogarithmicCounter,
)
from dpbandits.stopping import (
    DPNAS,
    NAS,
    DPExponentialNAS,
    DPHoeffdingStop,
    DPPromisedStop,
    EBGStop,
)

__all__ = ["NOT_AUDITED", "audited", "group_of", "unpromised"]

N_PULLS = 16
N_COUNTED = 8
N_LOOK = 32
ALPHA, BETA, WRONG, DEVIATION = 0.5, 0.05, 0.1, 1e-4
DELTA = math.exp(-10)

NOT_AUDITED = {"RobustUCB": "promises nothing, and draws its rewards from laws"}
"""Name → reason for having no audit."""


def audited(epsilon: float) -> dict[str, Any]:
    """Return one configuration of each class that promises privacy, at a budget.

    Classes of the registries without a line here, such as a new algorithm, have their default
    arguments.

    Parameters
    ----------
    epsilon : float
        Largest budget that a class may declare.

    Returns
    -------
    dict of str to object
        Name of the class → its configuration, in the order of the book.

    Raises
    ------
    ValueError
        If an argument is out of range, or a class without a line has a parameter without a default.

    Examples
    --------
    >>> audited(1.0)["DPSE"].epsilon
    1.0
    """
    return _private(epsilon) | _joined(True, epsilon)


def _private(epsilon: float) -> dict[str, Any]:
    """Return the configurations of `audited` that have a line here."""
    listed = [
        BinaryTree(epsilon, N_COUNTED),
        *(kind(epsilon) for kind in (LogarithmicCounter, HybridCounter)),
        AdaptiveTree(epsilon, N_COUNTED),
        KaryTree(epsilon, N_COUNTED),
        *(kind(epsilon, ALPHA, BETA) for kind in (DPNAS, DPExponentialNAS, DPHoeffdingStop)),
        DPPromisedStop(epsilon, ALPHA, BETA, DEVIATION),
        *(kind(epsilon) for kind in (alg.DPUCB, alg.DPUCBBound, alg.DPUCBHybrid)),
        alg.DPUCBInt.calibrated(epsilon, DELTA, N_PULLS, by="interval"),
        *(kind(epsilon) for kind in (alg.DPSE, alg.TunedDPSE)),
        alg.GuessAndDouble(alg.DPSE(epsilon)),
        alg.BennettDPSE(epsilon),
        *(kind(epsilon) for kind in (alg.DPRUCB, alg.DPRSE, alg.LDPRSE)),
        DPSEIdentifier(epsilon, WRONG),
        DPTT(epsilon, WRONG, first=1),
        *(kind(epsilon, WRONG) for kind in (AdaPTT, AdaPTTStar)),
        DPLRE(epsilon, WRONG),
        alg.ExploreThenCommit(epsilon, N_LOOK),
        *(kind(epsilon) for kind in (alg.AnytimeLazyUCB, alg.AdaPUCB, alg.AdaPKLUCB)),
        *(kind(epsilon) for kind in (alg.LazyDPTS, alg.DPKLUCB, alg.DPIMED)),
    ]
    return {type(target).__name__: target for target in listed}


def _joined(private: bool, epsilon: float) -> dict[str, Any]:
    """Return configurations of the registered classes without a line here."""
    registered: dict[str, Any] = {**registry, **stopping_rules, **identifiers}
    listed = {*_private(1.0), *_unpromised(), *NOT_AUDITED}
    joined = (_default(kind, epsilon) for name, kind in registered.items() if name not in listed)
    return {
        type(target).__name__: target
        for target in joined
        if target.guarantee.is_private == private and tables_of(target) is not None
    }


def _default(kind: Any, epsilon: float) -> Any:
    """Return a configuration with `epsilon` and default arguments."""
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


def unpromised() -> dict[str, Any]:
    """Return one configuration of each class that promises nothing.

    Returns
    -------
    dict of str to object
        Name of the class → its configuration; with defaults if it has no line here.

    Raises
    ------
    ValueError
        If a registered class without a line has a parameter without a default.

    Examples
    --------
    >>> unpromised()["UCB"].guarantee.is_private
    False
    """
    return _unpromised() | _joined(False, 1.0)


def _unpromised() -> dict[str, Any]:
    """Return the configurations of `unpromised` that have a line here."""
    listed = [
        *(NAS(ALPHA, BETA), EBGStop(ALPHA, BETA)),
        *(alg.UCB(), alg.SuccessiveElimination(), TopTwo(WRONG)),
    ]
    return {type(target).__name__: target for target in listed}


def group_of(name: str) -> str:
    """Return the group of a class."""
    groups: dict[str, Collection[str]] = {
        "stopping rules": stopping_rules,
        "regret": registry,
        "identification": identifiers,
    }
    return next((group for group, names in groups.items() if name in names), "counters")
