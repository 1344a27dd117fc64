"""The exact output distribution of elimination between two arms.

While both of two arms are viable, elimination decides by the difference of two sums and of two
Laplace variables. An output is the epoch in which an arm is eliminated, and the arm; its
probability is a product over epochs. The epochs are those of the five classes listed in
`two_arm_epochs`: subclasses may behave differently, and are not covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._engine.acceleration import ExactRun, accelerators
from dpbandits._validation import check_integer, check_kind
from dpbandits.algorithms import DPRSE, DPSE, LDPRSE, DPSEIdentifier, GuessAndDouble, TunedDPSE
from dpbandits.heavy.schedules import HeavyEpochPlan, heavy_epoch
from dpbandits.rewards.heavy_instances import HeavyTailInstance
from dpbandits.schedules import EpochPlan, elimination_epoch

__all__ = [
    "Elimination",
    "TwoArmEpoch",
    "elimination_law",
    "heavy_plan",
    "log_loss",
    "two_arm_epochs",
]

Elimination = DPSE | TunedDPSE | DPSEIdentifier | DPRSE | GuessAndDouble
"""Classes covered here; `GuessAndDouble` only with one of the others as its base."""


class TwoArmEpoch(NamedTuple):
    """An epoch of elimination while both of two arms are viable.

    Attributes
    ----------
    pulls : int
        Pulls of each arm.
    noise_scale : float
        Scale of the Laplace variable of each arm's sum.
    threshold : float
        Gap between the noisy sums beyond which an arm is eliminated.
    least, greatest : float
        Range of the contribution of one reward to a sum.

    Examples
    --------
    >>> epoch = two_arm_epochs(DPSE(epsilon=0.5), 10**6)(1)
    >>> epoch.pulls, epoch.noise_scale, round(epoch.threshold)
    (2125, 2.0, 329)
    """

    pulls: int
    noise_scale: float
    threshold: float
    least: float
    greatest: float


def heavy_plan(
    algorithm: DPRSE | LDPRSE, horizon: int, instance: HeavyTailInstance, n_arms: int, epoch: int
) -> HeavyEpochPlan:
    """Return the plan of one epoch of an algorithm for heavy tails."""
    beta = 1 / horizon if algorithm.beta is None else algorithm.beta
    budgets = beta, algorithm.epsilon, instance.moment_bound, instance.order
    return heavy_epoch(n_arms, epoch, *budgets, algorithm.model, algorithm.schedule)


def two_arm_epochs(
    algorithm: Elimination, horizon: int, instance: HeavyTailInstance | None = None
) -> Callable[[int], TwoArmEpoch]:
    """Return the epochs of elimination while both of two arms are viable.

    Parameters
    ----------
    algorithm : DPSE, TunedDPSE, DPSEIdentifier, DPRSE or GuessAndDouble
        One of these classes, not a subclass; for `GuessAndDouble` one stretch, with one of the
        others as its base.
    horizon : int
        Its horizon; for one stretch of `GuessAndDouble` the guess.
    instance : HeavyTailInstance, optional
        Bandit with the moment bound and order for `DPRSE`; required by it alone.

    Returns
    -------
    callable
        Maps the number of an epoch, from 1, to its `TwoArmEpoch`.

    Raises
    ------
    ValueError
        If `algorithm` is none of these, or its program differs from its class's; if `DPRSE` has no
        instance.

    Examples
    --------
    >>> epoch_of = two_arm_epochs(DPSEIdentifier(epsilon=1.0, delta=0.1), horizon=10**6)
    >>> epoch_of(1).pulls < epoch_of(2).pulls
    True
    """
    horizon = check_integer("horizon", horizon, 2)
    if instance is not None:
        check_kind("instance", instance, HeavyTailInstance, 'instances.twzw22("S1", order=0.5)')
    base: Any = algorithm.base if isinstance(algorithm, GuessAndDouble) else algorithm
    epochs = _EPOCHS.get(type(base))
    known = all(accelerators(type(each), ExactRun) for each in (algorithm, base))
    if epochs is None or not known or (epochs is _robust_epoch and instance is None):
        raise ValueError(
            f"algorithm={algorithm!r} has no epochs that can be integrated; allowed: DPSE, "
            "TunedDPSE, DPSEIdentifier, DPRSE with an instance, and GuessAndDouble of one of them, "
            "each with the program of its class"
        )
    return lambda number: epochs(base, horizon, instance, number)


def _bounded_epoch(plan: EpochPlan) -> TwoArmEpoch:
    """Return an epoch of means of rewards in [0, 1], in terms of sums."""
    pulls = plan.pulls
    return TwoArmEpoch(pulls, plan.noise_scale * pulls, plan.threshold * pulls, 0.0, 1.0)


def _private_epoch(algorithm: DPSE, horizon: int, _: object, number: int) -> TwoArmEpoch:
    beta = 1 / horizon if algorithm.beta is None else algorithm.beta
    return _bounded_epoch(elimination_epoch(2, number, beta, algorithm.epsilon))


def _tuned_epoch(algorithm: TunedDPSE, horizon: int, _: object, number: int) -> TwoArmEpoch:
    pulls = int(algorithm.epochs(2, horizon)[number - 1])
    return TwoArmEpoch(pulls, 1 / algorithm.epsilon, 0.5 ** (number + 1) * pulls, 0.0, 1.0)


def _identifier_epoch(algorithm: DPSEIdentifier, _: int, __: object, number: int) -> TwoArmEpoch:
    return _bounded_epoch(elimination_epoch(2, number, algorithm.delta, algorithm.epsilon))


def _robust_epoch(
    algorithm: DPRSE, horizon: int, instance: HeavyTailInstance, number: int
) -> TwoArmEpoch:
    plan = heavy_plan(algorithm, horizon, instance, 2, number)
    sums = plan.pulls, plan.noise_scale, plan.threshold * plan.pulls
    return TwoArmEpoch(*sums, -plan.bound, plan.bound)


_EPOCHS: dict[type, Callable[[Any, int, Any, int], TwoArmEpoch]] = {
    DPSE: _private_epoch,
    TunedDPSE: _tuned_epoch,
    DPSEIdentifier: _identifier_epoch,
    DPRSE: _robust_epoch,
}


def elimination_law(differences: Floats, scales: Floats, thresholds: Floats) -> Floats:
    """Return the logs of the probabilities of all outputs of elimination between two arms.

    Proof: :prf:ref:`lem-difference`.

    Shapes: `differences`, `scales`, `thresholds` (E,); the result (2E + 1,).
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
    """Return the largest |log ratio| of two distributions on the same outputs.

    Shapes: `first`, `second` (m,).
    """
    possible = (first > -np.inf) | (second > -np.inf)
    return float(np.abs(first[possible] - second[possible]).max())
