"""Audits without runs: where the probabilities of outputs can be integrated.

- Elimination between two arms: while both are viable, an epoch's decision depends on the
  difference of two sums and of two Laplace variables. An output is the epoch in which an arm
  leaves, and which one; its probability is a product over epochs.
- Stopping rules of the NAS family: `dpbandits.stopping.halting_laws`.
- A report in the local model: a truncated reward with one Laplace variable.
- The third pull of DPRUCB: two first rewards, each with the noise of one node.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_integer
from dpbandits.algorithms import DPRSE, DPRUCB, DPSE, LDPRSE, GuessAndDouble
from dpbandits.auditing.audit import Audit
from dpbandits.auditing.tables import TablePair, check_one_arm
from dpbandits.heavy_schedules import HeavyEpochPlan, heavy_epoch
from dpbandits.identification import DPSEIdentifier
from dpbandits.rewards.heavy_laws import HeavyTailInstance, heavy_two_point
from dpbandits.schedules import elimination_epoch
from dpbandits.stopping import NASFamily, crossing_streams, privacy_loss

__all__ = [
    "audit_elimination",
    "audit_exactly",
    "audit_first_choice",
    "audit_report",
    "audit_stopping",
    "elimination_law",
    "log_loss",
    "two_arm_epochs",
]


_LATEST, _MOST_LOOKS = 16_384, 1_024  # samples of the pair for a stopping rule, and looks at it
_HORIZON = 10**6  # what an algorithm is told

Elimination = DPSE | DPSEIdentifier | DPRSE | GuessAndDouble
"""What `audit_elimination` takes; of `GuessAndDouble`, with one of the others as its base."""


def _heavy_epoch(
    algorithm: DPRSE | LDPRSE, horizon: int, instance: HeavyTailInstance, n_arms: int, epoch: int
) -> HeavyEpochPlan:
    beta = 1 / horizon if algorithm.beta is None else algorithm.beta
    moment, order = instance.moment_bound, instance.order
    return heavy_epoch(
        *(n_arms, epoch, beta, algorithm.epsilon, moment, order),
        model=algorithm.model,
        schedule=algorithm.schedule,
    )


def two_arm_epochs(
    algorithm: Elimination, horizon: int, instance: HeavyTailInstance | None = None
) -> Callable[[int], tuple[int, float, float, float]]:
    """Return what an elimination algorithm does in each epoch while both of two arms are viable.

    The function that is returned maps the number of an epoch to (pulls of each arm, scale of the
    noise of a sum, gap between noisy sums beyond which an arm leaves, bound B of the absolute value
    of a reward).

    Parameters
    ----------
    algorithm : DPSE, DPSEIdentifier, DPRSE or GuessAndDouble
        The algorithm; of `GuessAndDouble` one stretch.
    horizon : int
        Horizon that it is told; for `GuessAndDouble` the guess.
    instance : HeavyTailInstance, optional
        For `DPRSE`, which is refused without it: what has its `moment_bound` and `order`.
    """
    base: Any = algorithm.base if isinstance(algorithm, GuessAndDouble) else algorithm
    if isinstance(base, DPSE | DPSEIdentifier):
        confidence = base.delta if isinstance(base, DPSEIdentifier) else base.beta
        beta = 1 / horizon if confidence is None else confidence

        def plain(epoch: int) -> tuple[int, float, float, float]:
            plan = elimination_epoch(2, epoch, beta, base.epsilon)
            return plan.pulls, plan.noise_scale * plan.pulls, plan.threshold * plan.pulls, 1.0

        return plain
    if not isinstance(base, DPRSE) or instance is None:
        raise ValueError(
            f"algorithm={base!r} has no epochs that can be integrated; allowed: DPSE, "
            "DPSEIdentifier, DPRSE with an instance, and GuessAndDouble of one of them"
        )

    def truncated(epoch: int) -> tuple[int, float, float, float]:
        plan = _heavy_epoch(base, horizon, instance, 2, epoch)
        return plan.pulls, plan.noise_scale, plan.threshold * plan.pulls, plan.bound

    return truncated


def elimination_law(differences: Floats, scales: Floats, thresholds: Floats) -> Floats:
    """Return the logs of the probabilities of all outputs of elimination between two arms.

    In each of E epochs `differences` is the sum of arm 0 minus that of arm 1, without noise,
    `scales` is that of the noise of each of the two sums (:prf:ref:`lem-difference`), and
    `thresholds` the gap beyond which an arm leaves. The outputs are, for each epoch, that arm 0
    leaves and that arm 1 leaves; and last, that both stay: shape (2E + 1,).

    Examples
    --------
    >>> np.exp(elimination_law(np.zeros(1), np.ones(1), np.zeros(1))).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    logs, staying = [], 0.0
    for gap, scale, threshold in zip(differences, scales, thresholds, strict=True):
        leave_0 = _log_tail((threshold + gap) / scale)
        leave_1 = _log_tail((threshold - gap) / scale)
        logs += [staying + leave_0, staying + leave_1]
        rest = -math.expm1(np.logaddexp(leave_0, leave_1))
        staying += math.log(rest) if rest > 0 else -math.inf
    return np.array([*logs, staying])


def _log_tail(x: float) -> float:
    """Return log P(Z − Z' > x) for two standard Laplace variables."""
    if x >= 0:
        return -x + math.log(0.5 + 0.25 * x)
    return math.log1p(-math.exp(x) * (0.5 - 0.25 * x))


def log_loss(first: Floats, second: Floats) -> float:
    """Return the greatest |log ratio| of two laws on the same outputs, given as logs."""
    possible = (first > -np.inf) | (second > -np.inf)
    return float(np.abs(first[possible] - second[possible]).max())


def audit_elimination(
    algorithm: Elimination,
    horizon: int = _HORIZON,
    n_epochs: int = 2,
    instance: HeavyTailInstance | None = None,
) -> Audit:
    """Audit elimination exactly, on the pair of tables that tells most.

    Arm 0 has the least reward throughout and arm 1 the greatest, except for one reward of arm 0:
    the tails of the noise decide, where the ratio is greatest (:prf:ref:`prop-elimination-tight`).
    Equal arms, and later epochs, are tried. Parameters and errors as of `two_arm_epochs`;
    `n_epochs` is how many epochs the tables have.

    Examples
    --------
    >>> found = audit_elimination(DPSE(epsilon=0.5))
    >>> found.verdict, 0.49 < found.epsilon_lower <= 0.5
    ('acquitted', True)
    """
    horizon = check_integer("horizon", horizon, 2)
    n_epochs = check_integer("n_epochs", n_epochs, 1)
    epochs = two_arm_epochs(algorithm, horizon, instance)
    plans = [epochs(e) for e in range(1, n_epochs + 1)]
    pulls, scales, thresholds, bounds = (np.array(each) for each in zip(*plans, strict=True))
    signed = isinstance(getattr(algorithm, "base", algorithm), DPRSE)
    least = -bounds if signed else np.zeros(n_epochs)
    best, pair = -1.0, None
    for changed in range(n_epochs):
        for others in (bounds, least):
            gaps = pulls * (least - others)
            moved = gaps.copy()
            moved[changed] += bounds[changed] - least[changed]
            loss = log_loss(*(elimination_law(each, scales, thresholds) for each in (gaps, moved)))
            if loss > best:
                best = loss
                rows = [np.repeat(least, pulls), np.repeat(others, pulls)]
                place = int(pulls[:changed].sum())
                pair = TablePair(np.array(rows), 0, place, float(bounds[changed]))
    assert pair is not None
    event = "in which epoch an arm leaves, and which"
    return Audit(algorithm.label, algorithm.guarantee, pair, best, None, event)


def audit_stopping(rule: NASFamily, pair: TablePair) -> Audit:
    """Audit a rule such as `DPNAS` exactly on two streams: halting time and estimate together.

    The streams are tables of one arm, in the rule's range; other tables are refused.
    """
    check_one_arm(pair.table)
    loss = privacy_loss(rule, pair.table[0], pair.neighbour[0])
    when = "no halt" if loss.time is None else f"halting at {loss.time}"
    return Audit(rule.label, rule.guarantee, pair, loss.total, None, f"{when}, and the estimate")


def audit_report(algorithm: LDPRSE, instance: HeavyTailInstance) -> Audit:
    """Audit exactly what one person reports in the local model, in the first epoch.

    The tables hold one reward: the least and the greatest that truncation leaves.
    """
    plan = _heavy_epoch(algorithm, _HORIZON, instance, instance.n_arms, 1)
    least = 0.0 if algorithm.schedule == "non-negative" else -plan.bound
    pair = TablePair(np.array([[least]]), 0, 0, plan.bound)
    loss = (plan.bound - least) / plan.noise_scale
    return Audit(algorithm.label, algorithm.guarantee, pair, loss, None, "one person's report")


def audit_first_choice(algorithm: DPRUCB, instance: HeavyTailInstance) -> Audit:
    """Audit exactly the third pull of DPRUCB with two arms, the first that depends on rewards.

    Both arms have been pulled once, their bonuses are equal, and the larger of two truncated
    rewards wins, each with the noise of one node. On the worst tables one arm has the least
    reward, or the greatest, and the other the greatest.
    """
    tree = algorithm.plan(instance, 3).tree
    bound, scale = tree.bound(1), np.array([tree.node_scale(1)])
    pair = TablePair(np.array([[-bound], [bound]]), 0, 0, bound)
    gaps = [np.array([float(t[0, 0] - t[1, 0])]) for t in (pair.table, pair.neighbour)]
    loss = log_loss(*(elimination_law(gap, scale, np.zeros(1))[:2] for gap in gaps))
    return Audit(algorithm.label, algorithm.guarantee, pair, loss, None, "the third pull")


def audit_exactly(target: Any, instance: HeavyTailInstance | None = None) -> Audit | None:
    """Audit by integration, on the pair of tables that is known to tell most, or return None.

    None is returned for what cannot be integrated, and without noise, as outputs are then certain.
    An algorithm for heavy-tailed rewards is told the moments of `instance`, by default
    ``heavy_two_point(0.5, order=0.9)``. A stopping rule is audited on the `crossing_streams` of the
    last look up to the 1024th and up to 16384 samples; later ones tell more, and take longer.

    Examples
    --------
    >>> from dpbandits import UCB
    >>> round(audit_exactly(LDPRSE(epsilon=2.0)).epsilon_lower, 9)
    2.0
    >>> audit_exactly(UCB()) is None
    True
    """
    if not target.guarantee.is_private:
        return None
    heavy = heavy_two_point(0.5, order=0.9) if instance is None else instance
    base = getattr(target, "base", target)
    if isinstance(base, DPRSE):
        return audit_elimination(target, n_epochs=1, instance=heavy)
    if isinstance(base, DPSE | DPSEIdentifier):
        return audit_elimination(target)
    if isinstance(target, LDPRSE):
        return audit_report(target, heavy)
    if isinstance(target, DPRUCB):
        return audit_first_choice(target, heavy)
    if isinstance(target, NASFamily):
        looks = range(1, _MOST_LOOKS + 1)
        look = bisect.bisect_right(looks, _LATEST, key=target.look_time)
        stream, other = crossing_streams(target, look)
        place = int(np.flatnonzero(stream != other)[0])
        return audit_stopping(target, TablePair(stream[None, :], 0, place, float(other[place])))
    return None
