"""Audits by integration, on the pair of tables known to have the largest loss.

A distribution belongs to one class with its own program. A subclass, or a class whose program was
replaced, may behave differently: it has no exact audit, and is audited by runs.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._engine.acceleration import ExactRun, accelerates, accelerators
from dpbandits._validation import check_integer, check_kind
from dpbandits.algorithms import (
    DPNAS,
    DPRSE,
    DPRUCB,
    DPSE,
    LDPRSE,
    DPExponentialNAS,
    DPSEIdentifier,
    ExploreThenCommit,
    GuessAndDouble,
    TunedDPSE,
)
from dpbandits.auditing.adapters import check_one_arm
from dpbandits.auditing.elimination_laws import (
    Elimination,
    elimination_law,
    heavy_plan,
    log_loss,
    two_arm_epochs,
)
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.verdicts import Audit
from dpbandits.guarantees import PrivacyGuarantee, check_guarantee
from dpbandits.rewards.heavy_instances import HeavyTailInstance, heavy_two_point
from dpbandits.stopping import DPHoeffdingStop, crossing_streams, privacy_loss
from dpbandits.stopping.nas import NASFamily

__all__ = [
    "audit_elimination",
    "audit_epoch",
    "audit_exactly",
    "audit_first_choice",
    "audit_look",
    "audit_report",
    "audit_stopping",
]

_LATEST, _MOST_LOOKS = 16_384, 1_024  # for a stopping rule: samples of the pair, and looks
_HORIZON = 10**6  # horizon of an algorithm

Function = TypeVar("Function", bound=Callable[..., Any])


def _found(
    target: Any, pair: TablePair, loss: float, event: str, guarantee: PrivacyGuarantee | None
) -> Audit:
    promised = guarantee or target.guarantee
    return Audit(target.label, promised, pair, loss, event, kind="formula")


def _law_of(*kinds: type) -> Callable[[Function], Function]:
    """Register the exact audit of some classes: it takes target, instance and guarantee."""
    return accelerates(*kinds, on=ExactRun, name="integrated")


def _check_given(instance: object, guarantee: object) -> None:
    """Raise if an argument is given that is not a heavy-tailed instance, or not a guarantee."""
    check_guarantee(guarantee)
    if instance is not None:
        check_kind("instance", instance, HeavyTailInstance, 'instances.twzw22("S1", order=0.5)')


def _check_program(target: Any, *kinds: type) -> None:
    """Raise for a target of another class, subclasses included, or with a replaced program."""
    if type(target) not in kinds or not accelerators(type(target), ExactRun):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(
            f"target={target!r} is a {type(target).__name__} whose law is not known; allowed: "
            f"{names} with the program of its class, no subclass; audit others by runs"
        )


def audit_elimination(
    algorithm: Elimination,
    horizon: int = _HORIZON,
    n_epochs: int = 2,
    instance: HeavyTailInstance | None = None,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit:
    """Audit elimination exactly, on the pair of tables with the largest loss.

    Arm 0 has the least reward throughout and arm 1 the greatest, except for one reward of arm 0:
    the tails of the noise decide, where the ratio is largest (:prf:ref:`prop-elimination-tight`).
    Equal arms, and later epochs, are tried as well.

    Parameters
    ----------
    algorithm : DPSE, TunedDPSE, DPSEIdentifier, DPRSE or GuessAndDouble
        One of these classes, not a subclass; for `GuessAndDouble` one stretch is audited, with one
        of the others as its base.
    horizon : int
        Its horizon, at least 2; for a stretch of `GuessAndDouble` the guess.
    n_epochs : int
        Number of epochs of the tables, at least 1.
    instance : HeavyTailInstance, optional
        Bandit with the moment bound and order for `DPRSE`; required by it alone.
    guarantee : PrivacyGuarantee, optional
        Declared guarantee; by default that of the algorithm.

    Returns
    -------
    Audit
        The verdict, with the largest loss of these tables.

    Raises
    ------
    ValueError
        If a number is out of range, or the distribution of `algorithm` is not known.

    Examples
    --------
    >>> found = audit_elimination(DPSE(epsilon=0.5))
    >>> found.verdict, 0.49 < found.epsilon_lower <= 0.5
    ('no violation found', True)
    """
    horizon = check_integer("horizon", horizon, 2)
    n_epochs = check_integer("n_epochs", n_epochs, 1)
    _check_given(instance, guarantee)
    epoch_of = two_arm_epochs(algorithm, horizon, instance)
    epochs = zip(*(epoch_of(number) for number in range(1, n_epochs + 1)), strict=True)
    pulls, scales, thresholds, least, greatest = (np.array(each) for each in epochs)

    def loss(changed: int, others: Floats) -> float:
        gaps = pulls * (least - others)
        moved = gaps.copy()
        moved[changed] += greatest[changed] - least[changed]
        return log_loss(*(elimination_law(each, scales, thresholds) for each in (gaps, moved)))

    tried = [(changed, others) for changed in range(n_epochs) for others in (greatest, least)]
    losses = [loss(*each) for each in tried]
    changed, others = tried[int(np.argmax(losses))]
    table = np.array([np.repeat(least, pulls), np.repeat(others, pulls)])
    pair = TablePair(table, 0, int(pulls[:changed].sum()), float(greatest[changed]))
    event = "in which epoch an arm leaves, and which"
    return _found(algorithm, pair, max(losses), event, guarantee)


def audit_stopping(
    rule: NASFamily, pair: TablePair, guarantee: PrivacyGuarantee | None = None
) -> Audit:
    """Audit a stopping rule exactly on two streams: halting time and estimate together.

    Parameters
    ----------
    rule : DPNAS or DPExponentialNAS
        One of these classes, not a subclass.
    pair : TablePair
        Tables of one arm: the streams.
    guarantee : PrivacyGuarantee, optional
        Declared guarantee; by default that of the rule.

    Returns
    -------
    Audit
        The verdict, with the loss on these streams.

    Raises
    ------
    ValueError
        If the distribution of `rule` is not known, or the tables have several arms.

    Examples
    --------
    >>> pair = TablePair([[-1.0, 1.0, 1.0, 1.0]], arm=0, pull=0, value=1.0)
    >>> audit_stopping(DPNAS(1.0, 0.5, 0.05), pair).verdict
    'no violation found'
    """
    _check_program(rule, DPNAS, DPExponentialNAS)
    check_kind("pair", pair, TablePair, "TablePair([[1, -1]], arm=0, pull=0, value=1)")
    _check_given(None, guarantee)
    check_one_arm(pair.table)
    loss = privacy_loss(rule, pair.table[0], pair.neighbour[0])
    when = "no halt" if loss.time is None else f"halting at {loss.time}"
    return _found(rule, pair, loss.total, f"{when}, and the estimate", guarantee)


@_law_of(LDPRSE)
def audit_report(
    algorithm: LDPRSE, instance: HeavyTailInstance, guarantee: PrivacyGuarantee | None = None
) -> Audit:
    """Audit one person's report in the first epoch exactly: the least and the greatest reward."""
    _check_program(algorithm, LDPRSE)
    plan = heavy_plan(algorithm, _HORIZON, instance, instance.n_arms, 1)
    least = 0.0 if algorithm.schedule in ("non-negative", "one-bit") else -plan.bound
    pair = TablePair(np.array([[least]]), 0, 0, plan.bound)
    if plan.lie is None:
        loss = (plan.bound - least) / plan.noise_scale
    else:  # B is reported as yes with the probability with which 0 is reported as no
        loss = math.log((1 - plan.lie) / plan.lie)
    return _found(algorithm, pair, loss, "one person's report", guarantee)


@_law_of(DPHoeffdingStop)
def audit_epoch(
    rule: DPHoeffdingStop,
    instance: HeavyTailInstance | None = None,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit:
    """Audit the release of the epoch in which a stream of the greatest samples halts, exactly.

    The neighbour's last sample is the least one. The estimate determines the released sum, and
    above both sums the ratio of the noise densities is constant.
    """
    _check_program(rule, DPHoeffdingStop)
    _check_given(instance, guarantee)
    high, scale = rule.half_range, 2.0 * rule.half_range / rule.epsilon
    stream = np.full((1, rule.noiseless_time(high)), high)
    pair = TablePair(stream, 0, stream.size - 1, -high)
    event = f"halting at {stream.size}, and the estimate"
    return _found(rule, pair, 2.0 * high / scale, event, guarantee)


@_law_of(DPRUCB)
def audit_first_choice(
    algorithm: DPRUCB, instance: HeavyTailInstance, guarantee: PrivacyGuarantee | None = None
) -> Audit:
    """Audit the third pull of DPRUCB with two arms, the first that depends on rewards, exactly.

    Both arms have been pulled once, their bonuses are equal, and the larger of two truncated
    rewards wins, each with the noise of one node. In the worst case both are the largest possible,
    and one of them changes.
    """
    _check_program(algorithm, DPRUCB)
    tree = algorithm.plan(instance, 3).tree
    bound, scale = tree.bound(1), np.array([tree.node_scale(1)])
    pair = TablePair(np.array([[-bound], [bound]]), 0, 0, bound)
    gaps = [np.array([float(t[0, 0] - t[1, 0])]) for t in (pair.table, pair.neighbour)]
    loss = log_loss(*(elimination_law(gap, scale, np.zeros(1))[:2] for gap in gaps))
    return _found(algorithm, pair, loss, "the third pull", guarantee)


@_law_of(ExploreThenCommit)
def audit_look(
    algorithm: ExploreThenCommit,
    instance: HeavyTailInstance | None = None,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit:
    """Audit the choice between two arms after one look exactly, on the pair with the largest loss.

    Arm 1 leads by all rewards, except for one of arm 0 on the neighbour: the ratio is largest for
    the event that arm 0 is chosen all the same (:prf:ref:`prop-elimination-tight`).
    """
    _check_program(algorithm, ExploreThenCommit)
    _check_given(instance, guarantee)
    n, scale = algorithm.per_arm, np.array([1 / algorithm.epsilon])
    pair = TablePair(np.repeat([[0.0], [1.0]], n, axis=1), 0, 0, 1.0)
    laws = (elimination_law(np.array([float(gap)]), scale, np.zeros(1))[:2] for gap in (-n, 1 - n))
    return _found(algorithm, pair, log_loss(*laws), "which arm is chosen", guarantee)


def audit_exactly(
    target: Any,
    instance: HeavyTailInstance | None = None,
    guarantee: PrivacyGuarantee | None = None,
) -> Audit | None:
    """Audit by integration, on the pair of tables known to have the largest loss.

    A stopping rule is audited on the `crossing_streams` of the last look up to the 1024th and up to
    16384 samples; later ones have a larger loss, and take longer.

    Parameters
    ----------
    target : object
        The target.
    instance : HeavyTailInstance, optional
        Bandit with the moments for an algorithm
        for heavy-tailed rewards; by default ``heavy_two_point(0.5, order=0.9)``.
    guarantee : PrivacyGuarantee, optional
        Declared guarantee; by default that of the target.

    Returns
    -------
    Audit or None
        The audit. None if the target cannot be integrated and must be run, as for subclasses and
        for classes whose program was replaced. None also without noise, since outputs are then
        deterministic.

    Raises
    ------
    ValueError
        If `instance` or `guarantee` is of another type.

    Examples
    --------
    >>> from dpbandits import UCB
    >>> round(audit_exactly(LDPRSE(epsilon=2.0)).epsilon_lower, 9)
    2.0
    >>> audit_exactly(UCB()) is None
    True
    """
    _check_given(instance, guarantee)
    laws = accelerators(type(target), ExactRun)
    if not laws or not target.guarantee.is_private:
        return None
    heavy = heavy_two_point(0.5, order=0.9) if instance is None else instance
    found: Audit | None = laws[0].run(target, heavy, guarantee)
    return found


@_law_of(DPNAS, DPExponentialNAS)
def _crossing_audit(
    rule: NASFamily, _: HeavyTailInstance, guarantee: PrivacyGuarantee | None
) -> Audit:
    """Audit a stopping rule on the streams that cross its threshold at the latest look."""
    look = bisect.bisect_right(range(1, _MOST_LOOKS + 1), _LATEST, key=rule.look_time)
    stream, other = crossing_streams(rule, look)
    place = int(np.flatnonzero(stream != other)[0])
    pair = TablePair(stream[None, :], 0, place, float(other[place]))
    return audit_stopping(rule, pair, guarantee)


@_law_of(DPSE, TunedDPSE, DPSEIdentifier)
def _bounded_audit(
    target: Elimination, _: HeavyTailInstance, guarantee: PrivacyGuarantee | None
) -> Audit:
    return audit_elimination(target, guarantee=guarantee)


@_law_of(DPRSE)
def _robust_audit(
    target: Elimination, instance: HeavyTailInstance, guarantee: PrivacyGuarantee | None
) -> Audit:
    return audit_elimination(target, n_epochs=1, instance=instance, guarantee=guarantee)


@_law_of(GuessAndDouble)
def _stretch_audit(
    target: GuessAndDouble, instance: HeavyTailInstance, guarantee: PrivacyGuarantee | None
) -> Audit | None:
    """Audit one stretch, if its elimination can be integrated: stretches share no reward."""
    known = accelerators(type(target.base), ExactRun) if type(target.base) in (DPSE, DPRSE) else ()
    return known[0].run(target, instance, guarantee) if known else None
