"""DP successive elimination as a rule for identification: run until one arm is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbandits._arrays import Ints, Rng
from dpbandits.configuration import Budget, Flag, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.mechanisms import DiscreteLaplace, laplace_noise
from dpbandits.rewards.run import Run
from dpbandits.rewards.tables import Tables
from dpbandits.schedules import EpochPlan, elimination_epoch


@dataclass(frozen=True)
class DPSEIdentifier(IdentificationAlgorithm):
    """DP successive elimination until one arm is left: Sajed & Sheffet (2019), Algorithm 3.

    The algorithm of `dpbandits.DPSE` with β = δ. In epoch e = 1, 2, … every viable arm is pulled
    ⌈R_e⌉ times, its mean over this epoch alone is released with Laplace noise of scale 1/(ε⌈R_e⌉),
    and an arm is eliminated when it lies more than 2h_e + 2c_e below the best; the last arm is
    recommended. See `dpbandits.schedules.elimination_epoch` for R_e, h_e and c_e.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` gives successive elimination.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.

    Notes
    -----
    It is δ-correct: in epoch e the error of some viable arm's mean exceeds h_e, or its noise
    exceeds c_e, with probability at most δ/(2e²), and δ/2·(1 + 1/4 + …) = δπ²/12 < δ. Otherwise the
    best arm is at most 2h_e + 2c_e below any other: :prf:ref:`lem-pulls`.

    If the best arm has been eliminated, with probability below δ, and several others are tied, the
    algorithm does not stop: its expected stopping time is then infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> decision = dpb.DPSEIdentifier(1.0, 0.1).draw(instance, np.random.default_rng(0))
    >>> decision.recommendation, decision.stopping_time
    (0, 1302)
    """

    label: ClassVar[str] = "DP-SE"
    source: ClassVar[str] = "SS19, Algorithm 3"

    epsilon: Budget
    delta: Fraction

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation (Theorem 4.1)."""
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def tables(self) -> Tables:
        tables = super().tables
        epoch = elimination_epoch(tables.n_arms, 1, self.delta, self.epsilon)
        return replace(tables, least=tables.n_arms * epoch.pulls)

    def decide(self, rewards: Run, rng: Rng) -> int:
        viable = np.arange(rewards.n_arms)
        epoch = 0
        while viable.size > 1:
            epoch += 1
            plan = elimination_epoch(viable.size, epoch, self.delta, self.epsilon)
            viable = self._left(rewards, viable, plan, rng)
        return int(viable[0])

    def _left(self, rewards: Run, viable: Ints, plan: EpochPlan, rng: Rng) -> Ints:
        """Play an epoch and return the remaining arms."""
        means = rewards.totals(viable, plan.pulls) / plan.pulls
        if plan.noise_scale > 0:
            means += laplace_noise(rng, plan.noise_scale, viable.size)
        found: Ints = viable[means.max() - means <= plan.threshold]
        return found


@dataclass(frozen=True)
class DiscreteDPSEIdentifier(DPSEIdentifier):
    """DP-SE for a trial, with integer sums and noise: private as computed.

    `DPSEIdentifier`, with `dpbandits.mechanisms.DiscreteLaplace` of budget ε on the sum of an arm's
    epoch; rewards are rounded at random to 0 or 1, which leaves 0 and 1 unchanged. Proof:
    :prf:ref:`thm-discrete-private`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` draws no noise.
    delta : float
        Probability δ in (0, 1) of a wrong recommendation.
    secure : bool
        Whether noise comes from the operating system's secure generator, so that no run can be
        repeated, or from the generator of the run.

    Notes
    -----
    It is δ-correct, like `DPSEIdentifier`: integer noise exceeds x + 1/2 with probability at most
    e^(−εx), since 2/(1 + e^−ε) ≤ e^(ε/2); so a threshold wider by one reward suffices.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> from dpbandits.identification.dp_se import DiscreteDPSEIdentifier
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> decision = DiscreteDPSEIdentifier(1.0, 0.1).draw(instance, np.random.default_rng(0))
    >>> decision.recommendation, decision.stopping_time
    (0, 1302)
    """

    secure: Flag = False

    def _left(self, rewards: Run, viable: Ints, plan: EpochPlan, rng: Rng) -> Ints:
        noise = DiscreteLaplace(self.epsilon), None if self.secure else rng
        return left_by_whole_sums(rewards, viable, plan, rng, *noise)


def left_by_whole_sums(
    rewards: Run,
    viable: Ints,
    plan: EpochPlan,
    rng: Rng,
    noise: DiscreteLaplace,
    source: Rng | None,
) -> Ints:
    """Play an epoch of DP-SE with integer sums and noise; return the remaining arms."""
    counts = rewards.totals(viable, plan.pulls, rounded_by=rng).astype(np.int64)
    sums = np.array(noise.release(counts.tolist(), source))
    found: Ints = viable[sums.max() - sums <= plan.pulls * plan.threshold + 1]
    return found
