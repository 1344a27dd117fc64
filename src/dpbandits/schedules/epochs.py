"""Epochs of the elimination algorithms: lengths, widths and times of release."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from dpbandits._engine.kernels import kernel
from dpbandits.configuration import Budget, Count, Fraction, checked_arguments, whole
from dpbandits.schedules.batches import MOST_PULLS


class EpochPlan(NamedTuple):
    """One epoch of an elimination algorithm.

    Attributes
    ----------
    length : float
        R_e, of which the ceiling is the number of pulls of each viable arm.
    sampling_width : float
        h_e: bound on the distance of an epoch's empirical mean from the arm's mean.
    privacy_width : float
        c_e: bound on the distance of the released mean from the empirical one; 0 without privacy.
    noise_scale : float
        Scale of the Laplace variable added to each empirical mean; 0 without privacy.

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
    """Return the gap 2h_e + 2c_e between released means beyond which an arm is eliminated."""
    return 2.0 * plan.sampling_width + 2.0 * plan.privacy_width


@kernel
def elimination_epoch_kernel(n_viable: int, epoch: int, beta: float, epsilon: float) -> EpochPlan:
    """Return `elimination_epoch` without checks, for compiled loops."""
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
        Number |S| of viable arms, from 1 to 2^62.
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

    Examples
    --------
    >>> plan = elimination_epoch(5, epoch=1, beta=0.05)
    >>> plan.pulls, plan.privacy_width
    (857, 0.0)
    """
    return elimination_epoch_kernel(n_viable, epoch, beta, epsilon)


class ReleasePlan(NamedTuple):
    """Releases of elimination by two p-values, and the level of its tests.

    Attributes
    ----------
    first : int
        n_1: pulls of each viable arm at the first release; they double from release to release.
    releases : int
        Most releases E within the horizon.
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
        """
        return self.first << (epoch - 1) if epoch > 0 else 0

    @checked_arguments
    def counted(self, epoch: Annotated[int, whole(1, 500)], memory: Count) -> int:
        """Return the number of rewards in the last `memory` releases, or in all if there are fewer.

        Parameters
        ----------
        epoch : int
            Number e of the epoch, from 1 to 500.
        memory : int
            Number of remembered releases, at least 1.

        Returns
        -------
        int
            n_e − n_{e−memory}.
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
