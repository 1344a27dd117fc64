"""Epochs and widths of the elimination algorithms, releases of batches: each formula once.

The functions named ``…_kernel`` are for compiled loops: they check nothing. The others check their
arguments and call them.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints
from dpbandits._kernels import kernel
from dpbandits._validation import check_counts, check_values
from dpbandits.configuration import (
    Budget,
    Count,
    Flag,
    Fraction,
    NonNegative,
    between,
    checked_arguments,
    whole,
)

MOST_PULLS = 2**62
"""The most pulls that a run may be let."""

_LARGEST = 1e100  # of a width's factors: no float overflows


class EpochPlan(NamedTuple):
    """One epoch of an elimination algorithm.

    Attributes
    ----------
    length : float
        R_e, of which the ceiling is the number of pulls of each viable arm.
    sampling_width : float
        h_e: how far an epoch's empirical mean may lie from the arm's mean.
    privacy_width : float
        c_e: how far the released mean may lie from the empirical one; 0 without privacy.
    noise_scale : float
        Scale of the Laplace variable that is added to each empirical mean; 0 without privacy.

    Examples
    --------
    >>> plan = EpochPlan(length=99.5, sampling_width=0.1, privacy_width=0.05, noise_scale=0.01)
    >>> plan.pulls, round(plan.threshold, 12)
    (100, 0.3)
    """

    length: float
    sampling_width: float
    privacy_width: float
    noise_scale: float

    @property
    def pulls(self) -> int:
        """Pulls r = ⌈R_e⌉ of each viable arm."""
        return math.ceil(self.length)

    @property
    def threshold(self) -> float:
        """Gap 2h_e + 2c_e between released means beyond which an arm is eliminated."""
        return elimination_threshold_kernel(self)


@kernel
def elimination_threshold_kernel(plan: EpochPlan) -> float:
    """Return the gap 2h_e + 2c_e between released means beyond which an arm is eliminated.

    Parameters
    ----------
    plan : EpochPlan
        Widths of the epoch.

    Returns
    -------
    float
        The gap, in units of a reward.
    """
    return 2.0 * plan.sampling_width + 2.0 * plan.privacy_width


@kernel
def elimination_epoch_kernel(n_viable: int, epoch: int, beta: float, epsilon: float) -> EpochPlan:
    """Return `elimination_epoch` without checks, for compiled loops.

    Parameters
    ----------
    n_viable, epoch : int
        Number of viable arms, and number e ≥ 1 of the epoch.
    beta, epsilon : float
        Confidence β, and privacy budget ε, ``inf`` for no privacy.

    Returns
    -------
    EpochPlan
        Length, widths and scale of the noise.
    """
    gap = 0.5**epoch
    union = float(n_viable) * (float(epoch) * float(epoch))  # a float: it does not wrap around
    log_sampling = math.log(8.0 * union / beta)
    log_privacy = math.log(4.0 * union / beta)
    length = max(32 * log_sampling / gap**2, 8 * log_privacy / (epsilon * gap)) + 1
    return EpochPlan(
        length,
        math.sqrt(log_sampling / (2 * length)),
        log_privacy / (length * epsilon),
        1 / (epsilon * np.ceil(length)),
    )


@checked_arguments
def elimination_epoch(
    n_viable: Annotated[int, whole(1, MOST_PULLS)],
    epoch: Annotated[int, whole(1, 500)],
    beta: Fraction,
    epsilon: Budget = math.inf,
) -> EpochPlan:
    """Plan one epoch of (DP) successive elimination: Sajed & Sheffet (2019), Algorithm 3.

    R_e = max(32 log(8|S|e²/β)/Δ_e², 8 log(4|S|e²/β)/(εΔ_e)) + 1 with Δ_e = 2^−e,
    h_e = √(log(8|S|e²/β)/(2R_e)), c_e = log(4|S|e²/β)/(εR_e), noise of scale 1/(ε⌈R_e⌉).

    Parameters
    ----------
    n_viable : int
        Number |S| of arms that are still viable, from 1 to 2^62.
    epoch : int
        Number e of the epoch, from 1 to 500; no run reaches the 32nd.
    beta : float
        Confidence β in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives the non-private algorithm.

    Returns
    -------
    EpochPlan
        Length, widths and scale of the noise.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> plan = elimination_epoch(5, epoch=1, beta=0.05)
    >>> plan.pulls, plan.privacy_width
    (857, 0.0)
    """
    return elimination_epoch_kernel(n_viable, epoch, beta, epsilon)


class ReleasePlan(NamedTuple):
    """When elimination by two p-values releases, and at which level it tests.

    Attributes
    ----------
    first : int
        n_1: pulls of each viable arm at the first release; they double from release to release.
    releases : int
        Number E of releases that the horizon may have room for.
    log_level : float
        log κ: logarithm of the level of a product of two p-values.

    Examples
    --------
    >>> plan = ReleasePlan(first=100, releases=3, log_level=-20.0)
    >>> [plan.pulls(e) for e in (1, 2, 3)], plan.counted(3, 1), plan.counted(3, 4)
    ([100, 200, 400], 200, 400)
    """

    first: int
    releases: int
    log_level: float

    @checked_arguments
    def pulls(self, epoch: Annotated[int, whole(0, 500)]) -> int:
        """Return n_e = 2^(e−1)·n_1, the pulls of each viable arm at the end of an epoch.

        Parameters
        ----------
        epoch : int
            Number e of the epoch, from 0, before the first, to 500.

        Returns
        -------
        int
            The pulls.

        Raises
        ------
        ValueError
            If `epoch` is out of its range.
        """
        return self.first << (epoch - 1) if epoch > 0 else 0

    @checked_arguments
    def counted(self, epoch: Annotated[int, whole(1, 500)], memory: Count) -> int:
        """Return the number of rewards in the last `memory` releases, or in all if they are fewer.

        Parameters
        ----------
        epoch : int
            Number e of the epoch, from 1 to 500.
        memory : int
            How many releases are remembered, at least 1.

        Returns
        -------
        int
            n_e − n_{e−memory}.

        Raises
        ------
        ValueError
            If an argument is out of its range.
        """
        return self.pulls(epoch) - self.pulls(max(epoch - memory, 0))


@checked_arguments
def release_plan(
    n_arms: Annotated[int, whole(2, MOST_PULLS)],
    horizon: Annotated[int, whole(1, MOST_PULLS)],
    beta: Fraction,
    epsilon: Budget = math.inf,
) -> ReleasePlan:
    """Plan elimination by two p-values: its releases, and the level of its tests.

    n_1 = ⌈(½ + 1/ε)·log(K/β)⌉, E = ⌈log2(T/n_1)⌉, at least 1, and κ solves κ(1 + log(1/κ)) = p with
    p = β/((K − 1)E). A product of two independent uniform variables is at most κ with
    probability p.

    Parameters
    ----------
    n_arms : int
        Number K of arms, from 2 to 2^62.
    horizon : int
        Horizon T, from 1 to 2^62.
    beta : float
        Confidence β, in (0, 1).
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no privacy.

    Returns
    -------
    ReleasePlan
        First release, number of releases and level.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> plan = release_plan(5, 50_000_000, beta=2e-8, epsilon=0.25)
    >>> plan.first, plan.releases, round(plan.log_level, 2)
    (88, 20, -25.38)
    """
    length = (0.5 + 1 / epsilon) * math.log(n_arms / beta)
    first = math.ceil(min(length, float(MOST_PULLS)))
    releases = max(1, (-(-horizon // first) - 1).bit_length())
    log_p = math.log(beta) - math.log((n_arms - 1) * releases)
    return ReleasePlan(first, releases, -_evidence(-log_p))


def _evidence(log_inverse: float) -> float:
    """Return the ℓ' > 0 with ℓ' − log(1 + ℓ') = log(1/p), by Newton's method, from above."""
    found = log_inverse + math.sqrt(2 * log_inverse)
    for _ in range(50):
        found -= (found - math.log1p(found) - log_inverse) * (1 + found) / found
    return found


@kernel
def noise_bracket_kernel(length: int, power: int, repaired: bool) -> float:
    """Return `noise_bracket` of a length, given the greatest power of two up to it.

    Parameters
    ----------
    length, power : int
        Length n ≥ 1, and the greatest power of two up to n.
    repaired : bool
        Whether the bracket is that of the repaired width.

    Returns
    -------
    float
        The bracket.

    Examples
    --------
    >>> brackets = [noise_bracket_kernel(n, 16, r) for n, r in ((20, False), (20, True))]
    >>> brackets, noise_bracket_kernel(16, 16, False)
    ([3.0, 5.0], 1.0)
    """
    if repaired:
        return 1.0 + math.log2(power)
    return 1.0 + math.log2(length - power) if length > power else 1.0


@checked_arguments
def noise_bracket(length: Annotated[int, whole(1, MOST_PULLS)], repaired: Flag = False) -> float:
    """Return the bracket of the width of DP-UCB-BOUND for the sum of n rewards.

    With n = 2^k + n', 0 ≤ n' < 2^k, it is log2 n' + 1, and 1 at n' = 0, in Tossou & Dimitrakakis
    (2016), Algorithm 1; or k + 1 if `repaired`.

    Parameters
    ----------
    length : int
        Number n of rewards in the sum, from 1 to 2^62.
    repaired : bool
        Whether the number of levels of the counter's tree, k, replaces log2 n'.

    Returns
    -------
    float
        The bracket, which multiplies `noise_width`.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> noise_bracket(8), noise_bracket(9), noise_bracket(12), noise_bracket(9, repaired=True)
    (1.0, 1.0, 3.0, 4.0)
    """
    return float(noise_bracket_kernel(length, 1 << (length.bit_length() - 1), repaired))


@checked_arguments
def noise_width(
    scale: NonNegative, log_time: ArrayLike, bracket: ArrayLike = 1.0
) -> float | Floats:
    """Return ν = 4√8·b·log t·(bracket), what DP-UCB-BOUND allows for the noise of a sum.

    Tossou & Dimitrakakis (2016), Algorithm 1. Arrays are broadcast against each other.

    Parameters
    ----------
    scale : float
        Scale b ≥ 0 of the noise of one block of the counter.
    log_time : array_like of float
        Logarithm of the time t, at least 0.
    bracket : array_like of float
        `noise_bracket` of the number of rewards in the sum.

    Returns
    -------
    float or numpy.ndarray of float
        The width, in units of a sum of rewards.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round(float(noise_width(0.25, math.log(100), noise_bracket(12))), 4)
    39.0762
    """
    factors = check_values("bracket", bracket, 0.0, _LARGEST)
    return 4 * math.sqrt(8) * scale * factors * check_values("log_time", log_time, 0.0, _LARGEST)


@checked_arguments
def round_robin(pulls: ArrayLike, n_viable: Count) -> Ints:
    """Count the pulls of each of several arms that are pulled in turn, arm 0 first.

    Parameters
    ----------
    pulls : array_like of int, shape (...)
        Numbers of pulls in all, at least 0.
    n_viable : int
        Number of arms, at least 1.

    Returns
    -------
    numpy.ndarray of int, shape (..., n_viable)
        Pulls of each arm.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> round_robin([0, 4], 3).tolist()
    [[0, 0, 0], [2, 1, 1]]
    """
    given = check_counts("pulls", pulls)
    turns, rest = np.divmod(given[..., None], n_viable)
    counts: Ints = turns + (np.arange(n_viable) < rest)
    return counts


@kernel
def next_release_kernel(pulls: int, eta: float, first: int = 1) -> int:
    """Return `next_release` without checks, for compiled loops.

    Parameters
    ----------
    pulls : int
        Number of pulls, at least 0.
    eta : float
        Growth η > 0 of the grid.
    first : int
        First number of the grid, at least 1.

    Returns
    -------
    int
        The least number of the grid above `pulls`, at most 2^62.
    """
    if pulls < first:
        return first
    j = max(math.floor(math.log(pulls / first) / math.log1p(eta)) - 1, 0)
    while True:
        release = first * (1.0 + eta) ** float(j)
        if release >= MOST_PULLS:
            return MOST_PULLS
        if math.ceil(release) > pulls:
            return math.ceil(release)
        j += 1


_Pulls = Annotated[int, whole(0, MOST_PULLS)]
_Eta = Annotated[float, between(1e-3, 1e3)]


@checked_arguments
def next_release(pulls: _Pulls, eta: _Eta, first: Annotated[int, whole(1, MOST_PULLS)] = 1) -> int:
    """Return the least number of the grid ⌈first·(1 + η)^j⌉, j = 0, 1, …, that is above `pulls`.

    Parameters
    ----------
    pulls : int
        Number of pulls, from 0 to 2^62.
    eta : float
        Growth η of the grid, from 0.001 to 1000.
    first : int
        First number of the grid, at least 1.

    Returns
    -------
    int
        The number, at most 2^62: no run has room for more.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> grid = [1]
    >>> while grid[-1] < 30:
    ...     grid.append(next_release(grid[-1], 0.5))
    >>> grid
    [1, 2, 3, 4, 6, 8, 12, 18, 26, 39]
    """
    return int(next_release_kernel(pulls, eta, first))


@checked_arguments
def batch_grid(pulls: _Pulls, eta: _Eta, forgets: Flag) -> tuple[Ints, ...]:
    """Return the batches of an arm up to the first that brings it to `pulls` pulls or more.

    Parameters
    ----------
    pulls : int
        Pulls that are wanted, from 0 to 2^62.
    eta : float
        Growth η of the batches, from 0.001 to 1000.
    forgets : bool
        Whether an estimate rests on the arm's last batch alone, which is how `AdaPUCB` estimates,
        or on all of them, which is how `DPKLUCB` does.

    Returns
    -------
    sizes : numpy.ndarray of int, shape (J,)
        Sizes of the batches.
    ends : numpy.ndarray of int, shape (J,)
        Pulls at their ends.
    rewards : numpy.ndarray of int, shape (J,)
        How many rewards the estimate has from the end of each batch on.
    noises : numpy.ndarray of int, shape (J,)
        How many Laplace variables it has.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> sizes, ends, rewards, noises = batch_grid(10, 1.0, forgets=True)
    >>> sizes.tolist(), ends.tolist(), noises.tolist()
    ([1, 2, 4, 8], [1, 3, 7, 15], [1, 1, 1, 1])
    >>> sizes, ends, rewards, noises = batch_grid(10, 1.0, forgets=False)
    >>> sizes.tolist(), rewards.tolist(), noises.tolist()
    ([1, 1, 2, 4, 8], [1, 2, 4, 8, 16], [1, 2, 3, 4, 5])
    """
    sizes: list[int] = []
    end = 0
    while end < pulls:
        sizes.append(next_size_kernel(sizes[-1] if sizes else 0, end, eta, forgets))
        end += sizes[-1]
    batches = np.array(sizes, dtype=np.int64)
    ends = np.cumsum(batches)
    if forgets:
        return batches, ends, batches, np.ones_like(batches)
    return batches, ends, ends, np.arange(1, batches.size + 1)


@kernel
def next_size_kernel(last: int, pulls: int, eta: float, forgets: bool) -> int:
    """Return the size of an arm's next batch.

    Parameters
    ----------
    last : int
        Size of the batch before, 0 if there is none.
    pulls : int
        Pulls at the end of that batch.
    eta : float
        Growth η > 0 of the batches.
    forgets : bool
        Whether the sizes are the grid of `next_release`; else the pulls at the ends are.

    Returns
    -------
    int
        The size; no run has room for more than 2^62 pulls.
    """
    if forgets:
        size = next_release_kernel(last, eta)
    else:
        size = next_release_kernel(pulls, eta) - pulls
    return min(size, MOST_PULLS - pulls)
