"""Epochs of DPRSE and LDPRSE, counter and widths of DPRUCB, of Tao, Wu, Zhao & Wang (2022)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from dpbandits._validation import check_choice
from dpbandits.configuration import (
    LONGEST,
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
    fitted_cut,
    fitted_mean,
    local_threshold,
    local_width,
)
from dpbandits.mechanisms.counters import AdaptiveTree
from dpbandits.mechanisms.randomised_response import lie_probability

CENTRAL_SCHEDULES = ("reconstructed", "fitted")
LOCAL_SCHEDULES = ("balanced", "fitted", "non-negative", "one-bit", "remark-3")
HEAVY_SCHEDULES = {"central": CENTRAL_SCHEDULES, "local": LOCAL_SCHEDULES}
"""Model → schedules of `heavy_epoch`; the first is the default."""
TREE_SCALINGS = ("fitted", "log")
"""Truncations of DPRUCB, in `tree_index`."""

RECONSTRUCTED = 6.0
"""The c of the constants 24 = 4c and 12 = 2c that we infer for the paper."""

_LOG_LONGEST = 600.0  # no horizon contains an epoch of exp(600) pulls, and no float overflows


@dataclass(frozen=True)
class HeavyEpochPlan:
    """Plan of one epoch of an elimination algorithm for heavy-tailed rewards.

    Attributes
    ----------
    pulls : int
        R, of each viable arm; often beyond 2^63.
    bound : float
        B: a reward larger in absolute value counts as 0.
    noise_scale : float
        Scale of each Laplace variable, in units of the sum of rewards.
    noise_draws : int
        Number of Laplace variables in an arm's sum of truncated rewards: 1 in the central model, R
        in the local one.
    threshold : float
        Gap between released means beyond which an arm is eliminated.
    lie : float or None
        Probability that a reward's bit is flipped, if one bit of each is released; None if the
        noise is Laplace.

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
    model: str = "central",
    schedule: str | None = None,
) -> HeavyEpochPlan:
    """Plan one epoch of DPRSE or LDPRSE: TWZW22, Algorithms 3 and 4.

    With D = 2^−τ, L = log(4|S|τ²/β) and (err, factor) of `central_width` or `local_width`, R is
    large enough that 4·c·err ≤ D, and an arm is eliminated when its released mean is more than
    2·c·err below the best. Then the best arm stays, and an arm with a gap of at least D is
    eliminated, unless some mean errs in the wrong direction, `heavy_failure`. Proof:
    :prf:ref:`thm-rse`.

    =============== ======== ====================================================================
    schedule        model    c, R and noise
    =============== ======== ====================================================================
    "reconstructed" central  c = 6: 24 = 4·6 and 12 = 2·6, our reading of the paper
    "fitted"        central  the least R that `fitted_mean` proves, for every ε
    "balanced"      local    c = factor ≈ 5, R of order Δ^(−2(1+v)/v)/ε²: bias equals noise
    "fitted"        local    the least R that `fitted_mean` proves, noise on every reward
    "non-negative"  local    the same with half the noise, for rewards in [0, ∞)
    "one-bit"       local    the same with one bit of each reward, for rewards in [0, ∞)
    "remark-3"      local    c = 6, ε² for ε: R of order Δ^(−(1+v)/v)/ε², which the paper's Remark 3
                             suggests. **Not valid**: the noise of a mean is √R times what this
                             allows for
    =============== ======== ====================================================================

    For "reconstructed" R = ⌈u^(1/v)·(4c/D)^((1+v)/v)·L/ε + 1⌉. For "balanced", where c = factor
    depends slightly on R, u^(2/v)·(4c/D)^(2(1+v)/v)·L/ε² is found by bisection, and so is R for the
    fitted ones. R is capped at exp(600), which no run reaches.

    Without noise, ε = ``inf``, "fitted" uses the least R that is proved without privacy: the ratio
    of R at ε to R at ``inf`` is the price of privacy, like for like. With the other schedules
    budgets above 1 (central) or above √(R/L) (local) would make the bound B too large for the
    rewards' spread: such a budget reduces the noise, but R, B and c are those of the smaller one.
    Hence ε = ``inf`` is elimination by truncated means without noise.

    The constants 24 and 12 are unreadable in our copy of the paper, and inferred.

    Parameters
    ----------
    n_viable : int
        Number |S| ≥ 1 of viable arms.
    epoch : int
        Number τ of the epoch, from 1 to 1000.
    beta : float
        Probability β of failure, in (0, 1), shared by the epochs.
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise.
    moment : float
        u > 0: E∣X∣^(1+v) ≤ u.
    order : float
        v, in (0, 1].
    model : {"central", "local"}
        Where noise is added: by the algorithm (DPRSE), or to each reward by its owner (LDPRSE).
    schedule : str, optional
        A schedule of that model; by default "reconstructed" or
        "balanced".

    Returns
    -------
    HeavyEpochPlan
        Pulls, truncation, noise and threshold.

    Raises
    ------
    ValueError
        If the model has no such schedule.

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
    if schedule in ("fitted", "non-negative", "one-bit"):
        channel, half = schedule, schedule == "non-negative"
        if schedule != "one-bit":
            channel = model
        return _fitted_epoch(channel, log_term, log_gap, epsilon, moment, order, half)
    if schedule == "balanced":
        pulls = _balanced_pulls(log_term, log_gap, epsilon, moment, order)
        budget = min(epsilon, math.sqrt(pulls / log_term))
        bound = local_threshold(pulls, moment, order, budget, log_term)
        err, c = local_width(pulls, moment, order, budget, log_term)
        return HeavyEpochPlan(pulls, bound, 2 * bound / epsilon, pulls, 2 * c * err)
    budget = min(epsilon, 1.0)
    if schedule == "remark-3":
        budget *= budget
    log_length = (
        (math.log(moment) + (1 + order) * (math.log(4 * RECONSTRUCTED) - log_gap)) / order
        + math.log(log_term)
        - math.log(budget)
    )
    pulls = math.ceil(math.exp(min(log_length, _LOG_LONGEST)) + 1)
    bound = central_threshold(pulls, moment, order, budget, log_term)
    err = central_width(pulls, moment, order, budget, log_term)[0]
    draws = 1 if model == "central" else pulls
    return HeavyEpochPlan(pulls, bound, 2 * bound / epsilon, draws, 2 * RECONSTRUCTED * err)


def _fitted_epoch(
    channel: str,
    log_term: float,
    log_gap: float,
    epsilon: float,
    moment: float,
    order: float,
    half: bool,
) -> HeavyEpochPlan:
    """Plan the shortest epoch whose half-width, with its best cut, is a quarter of the gap."""

    def mean(log_n: float) -> tuple[float, float]:
        """Return threshold and half-width for a number of rewards."""
        numbers = math.exp(log_n), moment, order, epsilon, log_term
        return fitted_mean(*numbers, channel, non_negative=half)

    pulls = _least_pulls(lambda log_n: math.log(4 * mean(log_n)[1]) > log_gap)
    bound, width = mean(math.log(pulls))
    if channel == "one-bit":
        return HeavyEpochPlan(pulls, bound, 0.0, 0, 2 * width, lie_probability(epsilon))
    draws, range_ = 1 if channel == "central" else pulls, bound if half else 2 * bound
    return HeavyEpochPlan(pulls, bound, range_ / epsilon, draws, 2 * width)


@checked_arguments
def heavy_failure(beta: Fraction, model: str = "central") -> float:
    """Bound the probability that some mean of `heavy_epoch`'s plans errs in the wrong direction.

    An epoch's mean errs by more than c·err in one given direction with probability at most f·e^−L,
    f = 1.5 (central) or 1 (local); with L = log(4|S|τ²/β) and Σ 1/τ² = π²/6 this is
    f·β·π²/24 in all: 0.62β and 0.41β. Not for the schedule "remark-3".

    Parameters
    ----------
    beta : float
        The β of the plans, in (0, 1).
    model : {"central", "local"}
        Where noise is added: by the algorithm (DPRSE), or to each reward by its owner (LDPRSE).

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(heavy_failure(0.1), 4), round(heavy_failure(0.1, "local"), 4)
    (0.0617, 0.0411)
    """
    check_choice("model", model, tuple(HEAVY_SCHEDULES))
    share = CENTRAL_FAILURE[0] if model == "central" else LOCAL_FAILURE[0]
    return share * beta * math.pi**2 / 24


def _balanced_pulls(
    log_term: float, log_gap: float, epsilon: float, moment: float, order: float
) -> int:
    """Solve 4·factor·err = D of `local_width` for the number of rewards."""

    def too_few(log_n: float) -> bool:
        n = math.exp(log_n)
        budget = min(epsilon, math.sqrt(n / log_term))
        err, factor = local_width(n, moment, order, budget, log_term)
        return err == 0 or math.log(4 * factor * err) > log_gap

    return _least_pulls(too_few)


def _least_pulls(too_few: Callable[[float], bool]) -> int:
    """Return the least number of rewards whose logarithm is not too small, up to exp(600)."""
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
    at most `failure`, and likewise below.

    Attributes
    ----------
    tree : AdaptiveTree
        Counter of an arm's truncated rewards: ``tree.bound(n)`` is B_n = b·n^(1/(1+v)).
    width : float
        H, in units of a reward.
    failure : float
        Probability of a wrong width, at most T^−4.

    Examples
    --------
    >>> plan = tree_index(10**6, 1.0, 1.0, 0.5)
    >>> round(plan.tree.bound(1), 4), 0.99e-24 < plan.failure < 1.01e-24
    (0.0033, True)
    """

    tree: AdaptiveTree
    width: float
    failure: float


@checked_arguments
def tree_index(
    horizon: Annotated[int, whole(2, LONGEST)],
    epsilon: Budget,
    moment: Positive,
    order: Order,
    scaling: str = "fitted",
) -> TreeIndexPlan:
    """Plan DPRUCB: TWZW22, Algorithms 1 and 2, with valid widths.

    With ℓ = log(2T⁴) and M = `AdaptiveTree.error_factor` of ℓ: the n-th reward of an arm is
    truncated at B_n = b·n^(1/(1+v)), and the tree's mean of n rewards errs in a given direction by
    more than H·n^(−v/(1+v)) with probability at most 2e^−ℓ = T^−4,

        H = (1 + v)·u·b^−v + √(2ℓ·u·b^(1−v)) + b·(2M/ε + ℓ/3).

    "fitted" uses the b that minimises H, by `fitted_cut`; "log" uses b = (εu/Λ)^(1/(1+v)) with Λ =
    (log T)^1.5, or the b of ε = Λ/ℓ if it is smaller. Proof: :prf:ref:`thm-dprucb`.

    Regret is of order Σ_a Δ_a^(−1/v)·(u^(1/v)/ε)·F with F = log²T for "fitted" and
    (log T)^(2 + 1/(2v)) for "log". With ε = ``inf`` and "fitted" this is the truncated mean of
    `RobustUCB` for a fixed confidence, with its best cut.

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
    scaling : {"fitted", "log"}
        Truncation of rewards.

    Returns
    -------
    TreeIndexPlan
        Counter and widths.

    Examples
    --------
    >>> plan = tree_index(10**6, 1.0, 1.0, 0.5)
    >>> plan.tree.levels, plan.width < tree_index(10**6, 1.0, 1.0, 0.5, "log").width
    (20, True)
    """
    check_choice("scaling", scaling, TREE_SCALINGS)
    return _tree_index(horizon, epsilon, moment, order, scaling)


@lru_cache(maxsize=256)
def _tree_index(
    horizon: int, epsilon: float, moment: float, order: float, scaling: str
) -> TreeIndexPlan:
    log_term, power = math.log(2) + 4 * math.log(horizon), 1 / (1 + order)
    noise = 2 * AdaptiveTree(epsilon, horizon).error_factor(log_term) / epsilon
    if scaling == "fitted":
        linear = 1 / 3 + noise / log_term
        cut, _ = fitted_cut(order, bias=1 + order, linear=linear)
        first = cut * (moment / log_term) ** power
    else:
        capital = math.log(horizon) ** 1.5
        first = (min(epsilon, capital / log_term) * moment / capital) ** power
    width = (1 + order) * moment * first**-order
    width += math.sqrt(2 * log_term * moment * first ** (1 - order))
    width += first * (noise + log_term / 3)
    tree = AdaptiveTree(epsilon, horizon, first, power)
    return TreeIndexPlan(tree, width, 2 * math.exp(-log_term))
