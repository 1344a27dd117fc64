"""Estimates after a group-sequential trial that account for early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpbandits._validation import check_integer, check_kind
from dpbandits.configuration import Fraction, checked_arguments
from dpbandits.trials.group_sequential import MOST_RELEASED, GroupSequential

__all__ = ["GroupEstimate", "estimate_difference", "upper_tail"]


class GroupEstimate(NamedTuple):
    """The difference of two shares after a group-sequential trial, treatment less control.

    The stage-wise values are NaN for a trial that ended before its last look without a boundary;
    use the repeated interval for such a trial.

    Attributes
    ----------
    share : float
        Mean share of success in both arms, for which the other values are computed.
    naive : float
        Difference of the released shares; it is biased upwards if a trial stops early.
    p_value : float
        Probability of a result at least as favourable if both arms have this share.
    median : float
        Median-unbiased difference: at it, results above and below are equally probable, and half of
        the observed result's probability counts on each side.
    low : float
        Lower end of the stage-wise interval.
    high : float
        Upper end of it.
    level : float
        Probability with which an interval should contain the difference.
    repeated_low : float
        Lower end of the repeated interval, which is valid for any reason to stop.
    repeated_high : float
        Upper end of it.

    Examples
    --------
    >>> design = GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
    >>> found = estimate_difference(design, 2, 311, 288)
    >>> found.low < found.median < found.naive < found.high
    True
    """

    share: float
    naive: float
    p_value: float
    median: float
    low: float
    high: float
    level: float
    repeated_low: float
    repeated_high: float


def upper_tail(
    design: GroupSequential, look: int, score: float, treatment: float, control: float
) -> tuple[float, float]:
    """Return the probabilities of a result at least as favourable to the treatment, and more so.

    Results are ordered by stages: the earlier a stop for efficacy, the more favourable it is, and
    results at the same look are ordered by score; the earlier a stop for harm, the less favourable
    it is. Futility is ignored. Both probabilities are non-decreasing in `treatment` and
    non-increasing in `control`.
    """
    harmful = score <= -design.bounds[look - 1] and design.sides == 2
    earlier = 0.0
    for each in design.laws(treatment, control, futility=False):
        if each.look < look:
            earlier += float(each.law[each.end["harm" if harmful else "efficacy"]].sum())
            continue
        # the same sums give the same score, but it may be passed with fewer digits
        same = np.abs(each.score - score) <= 1e-9
        above = float(each.law[(each.score > score) & ~same].sum())
        atom = float(each.law[same].sum())
        if harmful:
            above = 1.0 - earlier - float(each.law[(each.score < score) | same].sum())
            return above + atom, above
        return earlier + above + atom, earlier + above
    raise AssertionError


@checked_arguments
def estimate_difference(
    design: GroupSequential, look: int, treatment: int, control: int, level: Fraction = 0.9
) -> GroupEstimate:
    """Estimate the difference of the shares from the releases alone: no budget is spent.

    The stage-wise interval contains the differences not rejected by a test with tail (1 − level)/2
    on each side, where the observed result counts on both sides. Shares are the mean share plus and
    minus half the difference. The mean share is that of the releases: with the true one, the
    interval would contain the difference with probability at least `level`.

    With ``level = 1 − 2·alpha`` the interval is above 0 if and only if the p-value is below alpha.
    That is the case after a stop for efficacy if the error at the mean share is below alpha. A
    trial that narrowly missed the boundary may have such a p-value as well, since its boundary is
    that of the worst share: the boundary decides, not the interval. Proof:
    :prf:ref:`prop-group-interval`.

    Parameters
    ----------
    design : GroupSequential
        The design.
    look : int
        Look k after which the trial ended.
    treatment : int
        Sum of the treatment's releases.
    control : int
        Sum of the control's.
    level : float
        Probability with which an interval should contain the difference.

    Returns
    -------
    GroupEstimate
        Estimates, intervals, and a p-value.

    Examples
    --------
    >>> design = GroupSequential(per_look=167, critical=2.1647, epsilon=1.0)
    >>> found = estimate_difference(design, 2, 311, 288)
    >>> round(found.median, 3), round(found.low, 3), round(found.high, 3)
    (0.063, 0.016, 0.104)
    """
    check_kind("design", design, GroupSequential, "GroupSequential(161, 2.13, epsilon=1)")
    treatment, control = (
        check_integer(name, value, -MOST_RELEASED, MOST_RELEASED)
        for name, value in (("treatment", treatment), ("control", control))
    )
    score = design.score(look, treatment, control).item()
    n = look * design.per_look
    a, b = (min(max(value, 0), n) for value in (treatment, control))
    share, naive, tail = (a + b) / (2 * n), (a - b) / n, 0.5 * (1.0 - level)
    half = design.bounds[look - 1] * math.sqrt(design._variance(look, a + b)) / n
    repeated = max(naive - half, -1.0), min(naive + half, 1.0)
    ended = design.decide(look, treatment, control)
    if ended in ("continue", "futility"):
        p_value = median = low = high = math.nan
    else:

        def tails(difference: float) -> tuple[float, float]:
            up = min(max(share + 0.5 * difference, 0.0), 1.0)
            down = min(max(share - 0.5 * difference, 0.0), 1.0)
            return upper_tail(design, look, score, up, down)

        p_value = tails(0.0)[0]
        median = _where(lambda d: 0.5 * sum(tails(d)), 0.5)
        low = _where(lambda d: tails(d)[0], tail)
        high = _where(lambda d: tails(d)[1], 1.0 - tail)
    return GroupEstimate(share, naive, p_value, median, low, high, level, *repeated)


def _where(probability: Callable[[float], float], level: float) -> float:
    """Return the difference in [−1, 1] at which an increasing probability equals a level."""
    from scipy import optimize  # slow to import, used only here

    if probability(-1.0) >= level:
        return -1.0
    if probability(1.0) <= level:
        return 1.0
    low, high, width = 0.0, 0.0, 0.05
    rising = probability(0.0) < level
    while not low < high:
        edge = width if rising else -width
        if abs(edge) >= 1.0:
            low, high = min(edge, 0.0), max(edge, 0.0)
            break
        if (probability(edge) < level) != rising:
            low, high = min(0.0, edge), max(0.0, edge)
        width *= 2.0
    return float(
        optimize.brentq(lambda d: probability(d) - level, max(low, -1.0), min(high, 1.0), xtol=1e-7)
    )
