"""Epochs of DPRSE and LDPRSE, counter and widths of DPRUCB, of Tao, Wu, Zhao & Wang (2022)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from dpbandits._validation import check_choice
from dpbandits.configuration import (
    Budget,
    Count,
    Fraction,
    Order,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.heavy.robust_means import (
    CENTRAL_FAILURE,
    LOCAL_FAILURE,
    central_threshold,
    central_width,
    fitted_mean,
    local_threshold,
    local_width,
)
from dpbandits.mechanisms.counters import AdaptiveTree
from dpbandits.mechanisms.randomised_response import lie_probability

GLOBAL_SCHEDULES = ("printed", "tightened", "fitted")
LOCAL_SCHEDULES = ("minimax", "non-negative", "fitted", "one-bit", "published-remark")
HEAVY_SCHEDULES = {"global": GLOBAL_SCHEDULES, "local": LOCAL_SCHEDULES}
"""Model → schedules of `heavy_epoch`; the first is the default."""
TREE_SCALINGS = ("tree", "log")
"""What Λ is in `tree_index`."""

_LOG_LONGEST = 600.0  # no horizon holds an epoch of exp(600) pulls, and no float overflows


@dataclass(frozen=True)
class HeavyEpochPlan:
    """What an elimination algorithm for heavy-tailed rewards does in one epoch.

    Attributes
    ----------
    pulls : int
        R, of each viable arm; often beyond 2^63.
    bound : float
        B: a reward that is greater in size counts as 0.
    noise_scale : float
        Scale of each Laplace variable, in units of the sum of rewards.
    noise_draws : int
        Number of Laplace variables that an arm's sum of truncated rewards gets: 1 in the global
        model, R in the local one.
    threshold : float
        Gap between released means beyond which an arm is eliminated.
    lie : float or None
        Probability that a reward's yes or no is turned, where one bit of each is released; None
        where the noise is Laplace's.

    Examples
    --------
    >>> plan = heavy_epoch(5, epoch=1, beta=1e-8, epsilon=1.0, moment=1.0, order=1.0)
    >>> plan.noise_scale == 2 * plan.bound, plan.threshold <= 0.5 / 2
    (True, True)
    """

    pulls: int  # R, of each viable arm; often beyond 2^63
    bound: float  # B
    noise_scale: float
    noise_draws: int
    threshold: float  # gap between released means beyond which an arm is eliminated
    lie: float | None = None


@checked_arguments
def heavy_epoch(
    n_viable: Count,
    epoch: Annotated[int, whole(1, 1000)],
    beta: Fraction,
    epsilon: Budget,
    moment: Positive,
    order: Order,
    model: str = "global",
    schedule: str | None = None,
) -> HeavyEpochPlan:
    """Plan one epoch of DPRSE or LDPRSE: TWZW22, Algorithms 3 and 4.

    With D = 2^−τ, L = log(4|S|τ²/β) and (err, factor) of `central_width` or `local_width`, R is
    so long that 4·c·err ≤ D, and an arm is eliminated when its released mean lies more than
    2·c·err below the best. Then the best arm stays, and an arm with a gap of D or more goes,
    unless some mean errs the wrong way, `heavy_failure`. Proof: :prf:ref:`thm-rse`.

    ================== ======== =================================================================
    schedule           model    c, R and noise
    ================== ======== =================================================================
    "printed"          global   c = 6: the paper's 24 = 4·6 and 12 = 2·6
    "tightened"        global   c = factor ≤ 4.75
    "fitted"           global   c = that of `fitted_mean`: the best proved cut, for every ε
    "minimax"          local    c = factor ≈ 5, R of order Δ^(−2(1+v)/v)/ε²
    "non-negative"     local    c = factor ≈ 3 with half the noise, for rewards in [0, ∞)
    "fitted"           local    the least R that `fitted_mean` proves, noise on every reward
    "one-bit"          local    the same with one bit of each reward, for rewards in [0, ∞)
    "published-remark" local    c = 6, ε² for ε: R of order Δ^(−(1+v)/v)/ε². **Not valid**: the
                                noise of a mean is √R times what this allows for
    ================== ======== =================================================================

    In the global model R = ⌈u^(1/v)·(4c/D)^((1+v)/v)·L/ε + 1⌉. In the local one, where c = factor
    depends on R a little, u^(2/v)·(4c/D)^(2(1+v)/v)·L/ε² is found by bisection. R is cut at
    exp(600), which no run reaches.

    Without noise, ε = ``inf``, "fitted" has the least R that is proved without privacy: R at ε over
    R at ``inf`` is what privacy costs, like with like. With the other schedules budgets above 1
    (global) or above √(R/L) (local) would make the bound B too large for the spread of the rewards:
    such a budget makes less noise, but R, B and c are those of the lesser one. Hence ε = ``inf`` is
    elimination by truncated means without noise.

    The constants 24 and 12 cannot be read in our copy of the paper: they are inferred.

    Parameters
    ----------
    n_viable : int
        Number |S| ≥ 1 of viable arms.
    epoch : int
        Number τ of the epoch, from 1 to 1000.
    beta : float
        Probability β of failure, in (0, 1), which the epochs share.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    model : {"global", "local"}
        Who adds the noise: the algorithm (DPRSE), or each reward's owner (LDPRSE).
    schedule : str, optional
        A schedule of that model; by default "printed" or "minimax".

    Returns
    -------
    HeavyEpochPlan
        Pulls, truncation, noise and threshold.

    Raises
    ------
    ValueError
        If an argument is out of range, or the schedule is not one of the model.

    Examples
    --------
    >>> plan = heavy_epoch(5, epoch=1, beta=1e-8, epsilon=1.0, moment=1.0, order=1.0)
    >>> plan.pulls, plan.noise_draws
    (49345, 1)
    >>> heavy_epoch(5, 1, 1e-8, 1.0, 1.0, 0.5, "local").pulls
    87725328464
    """
    schedules = HEAVY_SCHEDULES[check_choice("model", model, tuple(HEAVY_SCHEDULES))]
    schedule = schedules[0] if schedule is None else check_choice("schedule", schedule, schedules)
    return _heavy_epoch(n_viable, epoch, beta, epsilon, moment, order, model, schedule)


@lru_cache(maxsize=4096)
def _heavy_epoch(
    n_viable: int,
    epoch: int,
    beta: float,
    epsilon: float,
    moment: float,
    order: float,
    model: str,
    schedule: str,
) -> HeavyEpochPlan:
    log_term = math.log(4 * n_viable * epoch**2 / beta)
    log_gap = -epoch * math.log(2)
    if schedule in ("fitted", "one-bit"):
        channel = schedule if schedule == "one-bit" else "central" if model == "global" else model
        return _fitted_epoch(channel, log_term, log_gap, epsilon, moment, order)
    if model == "local" and schedule != "published-remark":
        half = schedule == "non-negative"
        pulls = _local_pulls(log_term, log_gap, epsilon, moment, order, half)
        budget = min(epsilon, math.sqrt(pulls / log_term))
        bound = local_threshold(pulls, moment, order, budget, log_term)
        err, c = local_width(pulls, moment, order, budget, log_term, non_negative=half)
        scale = (1 if half else 2) * bound / epsilon
        return HeavyEpochPlan(pulls, bound, scale, pulls, 2 * c * err)
    budget = min(epsilon, 1.0)
    if schedule == "published-remark":
        budget *= budget
    c = central_width(1, moment, order, budget, log_term)[1] if schedule == "tightened" else 6.0
    log_length = (
        (math.log(moment) + (1 + order) * (math.log(4 * c) - log_gap)) / order
        + math.log(log_term)
        - math.log(budget)
    )
    pulls = math.ceil(math.exp(min(log_length, _LOG_LONGEST)) + 1)
    bound = central_threshold(pulls, moment, order, budget, log_term)
    err = central_width(pulls, moment, order, budget, log_term)[0]
    draws = 1 if model == "global" else pulls
    return HeavyEpochPlan(pulls, bound, 2 * bound / epsilon, draws, 2 * c * err)


def _fitted_epoch(
    channel: str, log_term: float, log_gap: float, epsilon: float, moment: float, order: float
) -> HeavyEpochPlan:
    """Plan the least epoch whose half-width, with its best cut, is a quarter of the gap."""

    def mean(log_n: float) -> tuple[float, float]:
        """Return threshold and half-width for a number of rewards."""
        return fitted_mean(math.exp(log_n), moment, order, epsilon, log_term, channel)

    pulls = _least_pulls(lambda log_n: math.log(4 * mean(log_n)[1]) > log_gap)
    bound, width = mean(math.log(pulls))
    if channel == "one-bit":
        return HeavyEpochPlan(pulls, bound, 0.0, 0, 2 * width, lie_probability(epsilon))
    draws = 1 if channel == "central" else pulls
    return HeavyEpochPlan(pulls, bound, 2 * bound / epsilon, draws, 2 * width)


@checked_arguments
def heavy_failure(beta: Fraction, model: str = "global") -> float:
    """Bound the probability that some mean of `heavy_epoch`'s plans errs the wrong way.

    An epoch's mean errs by more than c·err in one given direction with probability at most f·e^−L,
    f = 1.5 (global) or 1 (local); with L = log(4|S|τ²/β) and Σ 1/τ² = π²/6 this is
    f·β·π²/24 in all: 0.62β and 0.41β. Not for the schedule "published-remark".

    Parameters
    ----------
    beta : float
        The β of the plans, in (0, 1).
    model : {"global", "local"}
        Who adds the noise: the algorithm (DPRSE), or each reward's owner (LDPRSE).

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is out of range or unknown.

    Examples
    --------
    >>> round(heavy_failure(0.1), 4), round(heavy_failure(0.1, "local"), 4)
    (0.0617, 0.0411)
    """
    check_choice("model", model, tuple(HEAVY_SCHEDULES))
    share = CENTRAL_FAILURE[0] if model == "global" else LOCAL_FAILURE[0]
    return share * beta * math.pi**2 / 24


def _local_pulls(
    log_term: float, log_gap: float, epsilon: float, moment: float, order: float, half: bool
) -> int:
    """Solve 4·factor·err = D of `local_width` for the number of rewards."""

    def too_few(log_n: float) -> bool:
        n = math.exp(log_n)
        budget = min(epsilon, math.sqrt(n / log_term))
        err, factor = local_width(n, moment, order, budget, log_term, non_negative=half)
        return err == 0 or math.log(4 * factor * err) > log_gap

    return _least_pulls(too_few)


def _least_pulls(too_few: Callable[[float], bool]) -> int:
    """Return the least number of rewards whose logarithm is not too little, up to exp(600)."""
    low, high = 0.0, _LOG_LONGEST
    if not too_few(low):
        return 1
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if too_few(middle) else (low, middle)
    return math.ceil(math.exp(high) + 1)


@dataclass(frozen=True)
class TreeIndexPlan:
    """Counter and widths of DPRUCB, the same for every arm.

    The private mean of n rewards is more than H·n^(−v/(1+v)) above the arm's mean with probability
    `failure` at most, and as far below with as much.

    Attributes
    ----------
    tree : AdaptiveTree
        Counter of an arm's truncated rewards: ``tree.bound(n)`` is B_n = (e·u·n/Λ)^(1/(1+v)).
    scaling : float
        Λ.
    budget : float
        e: the budget ε, or Λ/ℓ if that is less.
    width : float
        H, in units of a reward.
    failure : float
        Probability of a wrong width, at most T^−4.

    Examples
    --------
    >>> plan = tree_index(10**6, 1.0, 1.0, 0.5)
    >>> plan.budget, 0.99e-24 < plan.failure < 1.01e-24
    (1.0, True)
    """

    tree: AdaptiveTree  # tree.bound(n) is B_n = (e·u·n/Λ)^(1/(1+v))
    scaling: float  # Λ
    budget: float  # e: ε, or Λ/ℓ if that is less
    width: float  # H
    failure: float


@checked_arguments
def tree_index(
    horizon: Annotated[int, whole(2)],
    epsilon: Budget,
    moment: Positive,
    order: Order,
    scaling: str = "tree",
) -> TreeIndexPlan:
    """Plan DPRUCB: TWZW22, Algorithms 1 and 2, with widths that hold.

    With L = ⌊log2 T⌋ + 1, ℓ = log(2T⁴), M = L·√(8ℓ·max(L, ℓ)): the n-th reward of an arm is
    truncated at B_n = (εun/Λ)^(1/(1+v)), and with err = u^(1/(1+v))·(Λ/(nε))^(v/(1+v)) the tree's
    mean of n rewards errs in one given direction by more than

        err·[(1 + v) + 2M/Λ + √(2εℓ/Λ) + (ε/3)·ℓ/Λ]

    with probability at most 2e^−ℓ = T^−4. Proof: that of :prf:ref:`thm-dprucb`, where Λ = M.

    Where ε > Λ/ℓ, B_n and err are those of the budget e = Λ/ℓ, and the noise is (2M/Λ)(e/ε)·err.
    With ε = ``inf`` this is the truncated mean of `RobustUCB` for a fixed confidence.

    Regret is of order Σ_a Δ_a^(−1/v)·(u^(1/v)/ε)·F with F = log²T for "tree" and
    (log T)^(2 + 1/(2v)) for "log".

    Parameters
    ----------
    horizon : int
        Horizon T ≥ 2.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    scaling : {"tree", "log"}
        What Λ is: M, the best order, or (log T)^1.5, the paper's.

    Returns
    -------
    TreeIndexPlan
        Counter and widths.

    Raises
    ------
    ValueError
        If an argument is out of range or unknown.

    Examples
    --------
    >>> plan = tree_index(10**6, 1.0, 1.0, 0.5)
    >>> plan.tree.levels, round(plan.scaling)
    (20, 3165)
    """
    check_choice("scaling", scaling, TREE_SCALINGS)
    log_term = math.log(2) + 4 * math.log(horizon)
    factor = AdaptiveTree(epsilon, horizon).error_factor(log_term)
    capital = factor if scaling == "tree" else math.log(horizon) ** 1.5
    budget = min(epsilon, capital / log_term)
    share = budget * log_term / capital
    power = 1 / (1 + order)
    tree = AdaptiveTree(epsilon, horizon, (budget * moment / capital) ** power, power)
    bracket = 1 + order + 2 * factor / capital * (budget / epsilon)
    bracket += math.sqrt(2 * share) + share / 3
    width = bracket * moment**power * (capital / budget) ** (order * power)
    return TreeIndexPlan(tree, capital, budget, width, 2 * math.exp(-log_term))
