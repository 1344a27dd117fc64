"""DP-LRE: private best-arm identification by likelihood-ratio elimination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from dpbandits._arrays import Rng
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Fraction, between
from dpbandits.divergences import d_eps_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.bayes_factor import ArmLikelihood, judge
from dpbandits.identification.transport import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.run import Run
from dpbandits.rewards.tables import Tables

__all__ = ["DPLRE"]


@dataclass(frozen=True)
class DPLRE(IdentificationAlgorithm):
    """DP-LRE: private likelihood-ratio elimination.

    Every batch of rewards is released as its sum plus one Lap(1/ε), and evaluated with its exact
    distribution. The leader B is the arm with the largest maximum-likelihood mean. It beats an arm
    b when the evidence that it has the larger mean (`dpbandits.identification.bayes_factor`)
    reaches (K − 1)/δ·max(1, N_max/(15√(K − 1) N_b))², with N the numbers of pulls and N_max their
    maximum, and is recommended when it beats all others. The first batches have ⌈log((K −
    1)/δ)/d_ε(1, ½)⌉ pulls, since no test can succeed much earlier; later ones are planned from the
    missing evidence, or are top-ups of arms with few pulls.

    Algorithm: :prf:ref:`alg-lre`. It is private and δ-correct (:prf:ref:`thm-lre-correct`), and
    E[τ] is finite whenever the best arm is unique (:prf:ref:`thm-lre-stops`).

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` for no noise and no privacy.
    delta : float
        Allowed probability δ in (0, 1) of a wrong recommendation.
    least_growth, most_growth : float
        ϱ and R: a batch has at least ϱ and at most R(1 + 3h) times the pulls of its arm before,
        with h ∈ [0, 1] the noise share (`noise_share`); 0.001 ≤ ϱ ≤ R ≤ 1000.

    Raises
    ------
    ValueError
        If `most_growth` is below `least_growth`.

    Notes
    -----
    A run has at most 2^53 pulls, for any `max_pulls`.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPLRE(1.0, 0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    >>> round(dpb.DPLRE(1.0, 0.01).threshold(5), 4), dpb.DPLRE(0.01, 0.01).first_batch(5)
    (5.9915, 1202)
    """

    label: ClassVar[str] = "DP-LRE"
    source: ClassVar[str] = "this book"
    most_pulls: ClassVar[int] = 2**53
    scarce: ClassVar[float] = 15.0
    """More evidence is required if an arm has 15·√(K − 1) times the pulls of another."""

    epsilon: Budget
    delta: Fraction
    least_growth: Annotated[float, between(1e-3, 1e3)] = 0.1
    most_growth: Annotated[float, between(1e-3, 1e3)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most_growth < self.least_growth:
            raise ValueError(
                f"most_growth={self.most_growth!r} is out of range; allowed: at least "
                f"least_growth={self.least_growth!r}"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation."""
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def tables(self) -> Tables:
        """Tables with the first batch of each arm, and the pull that reveals the leader."""
        tables = super().tables
        return replace(tables, least=tables.n_arms * self.first_batch(tables.n_arms) + 1)

    def threshold(self, n_arms: int) -> float:
        """Return log((K − 1)/δ), the evidence in nats at which one of K arms is eliminated.

        Parameters
        ----------
        n_arms : int
            Number K of arms, at least 2.

        Returns
        -------
        float
            The evidence.

        Raises
        ------
        ValueError
            If there are fewer arms.
        """
        return math.log(check_integer("n_arms", n_arms, 2) - 1) - math.log(self.delta)

    def first_batch(self, n_arms: int) -> int:
        """Return the size of the first batch of each arm.

        Parameters
        ----------
        n_arms : int
            Number K of arms, at least 2.

        Returns
        -------
        int
            Number of pulls.

        Raises
        ------
        ValueError
            If there are fewer arms.
        """
        return math.ceil(self.threshold(n_arms) / d_eps_kernel(1.0, 0.5, self.epsilon))

    def decide(self, rewards: Run, rng: Rng) -> int:
        n_arms, pulls = rewards.n_arms, rewards.pulls
        arms = range(n_arms)
        likelihoods = [ArmLikelihood(self.epsilon) for _ in arms]

        def release(arm: int, size: int) -> None:
            total = rewards.total(arm, size)
            if self.epsilon < math.inf:
                total += laplace(rng, 1.0 / self.epsilon)
            likelihoods[arm].add(size, total)

        def is_beaten(arm: int) -> bool:
            better, worse = likelihoods[leader].table, likelihoods[arm].table
            demand = self.demand(pulls, arm)
            return bool(judge(better, worse, n_arms, demand, demand)[0])

        for arm in arms:
            release(arm, self.first_batch(n_arms))
        contenders = list(arms)
        while True:
            means = [likelihood.maximiser for likelihood in likelihoods]
            leader = means.index(max(means))
            demands = {
                b: demand
                for b in arms
                for demand in [self.demand(pulls, b)]
                if b != leader and (b in contenders or demand > self.threshold(n_arms))
            }
            lacking = {}  # missing evidence against rivals
            for b, demand in demands.items():
                better, worse = likelihoods[leader].table, likelihoods[b].table
                far = self.far(means[leader], means[b], pulls[b], len(demands))
                beaten, lowest = judge(better, worse, n_arms, demand, min(demand, demand - far))
                if not beaten:
                    lacking[b] = demand - lowest
            own, planned = self.plan(means, pulls, leader, lacking)
            rivals = list(lacking)
            if own > 0:
                release(leader, own)
                rivals = [b for b in rivals if not is_beaten(b)]
            unbeaten = []
            for b in rivals:
                release(b, planned[b])
                if not is_beaten(b):
                    unbeaten.append(b)
            if not unbeaten:
                return leader
            contenders = [leader, *unbeaten]
            root = math.isqrt(max(pulls))
            for b in arms:
                if b not in contenders and self.is_left_behind(pulls[b], root):
                    release(b, 2 * root)

    def demand(self, pulls: Sequence[int], arm: int) -> float:
        """Return the evidence, in nats, required to beat an arm.

        Parameters
        ----------
        pulls : sequence of int, length K
            Pulls of each arm.
        arm : int
            The arm.

        Returns
        -------
        float
            log((K − 1)/δ), and more for an arm with few pulls.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> algorithm = dpb.DPLRE(1.0, 0.01)
        >>> round(algorithm.demand([100, 100], 1), 3), round(algorithm.demand([30_000, 100], 1), 3)
        (4.605, 10.597)
        """
        scarce = self.scarce * math.sqrt(len(pulls) - 1)
        scarcity = max(pulls) / (scarce * pulls[arm])
        return self.threshold(len(pulls)) + 2.0 * math.log(max(scarcity, 1.0))

    def is_left_behind(self, pulls: int, root: int) -> bool:
        """Return whether an arm gets a batch although it is not a rival.

        Parameters
        ----------
        pulls : int
            Its pulls.
        root : int
            ⌊√N_max⌋, with N_max the most pulls of an arm.

        Returns
        -------
        bool
            Whether it has fewer.
        """
        return pulls < root

    def plan(
        self, means: Sequence[float], pulls: Sequence[int], leader: int, lacking: dict[int, float]
    ) -> tuple[int, dict[int, int]]:
        """Return the sizes of the next batches, which should supply the missing evidence.

        Parameters
        ----------
        means : sequence of float, length K
            Maximum-likelihood means of the arms.
        pulls : sequence of int, length K
            Pulls of each arm.
        leader : int
            The leader.
        lacking : dict of int to float
            Missing evidence, in nats, for beating each of its rivals.

        Returns
        -------
        own : int
            Size of the leader's batch, 0 for none.
        planned : dict of int to int
            Sizes of the rivals' batches.
        """
        planned, greatest = {}, 0.0
        for b, evidence in lacking.items():
            gain, noise = self._gain(means[leader], means[b], len(lacking))
            wanted = (0.5 * (1.0 + noise) * evidence + noise) / gain if gain > 0.0 else math.inf
            planned[b] = self._batch(wanted, pulls[b], noise)
            greatest = max(greatest, noise)
        power = 1.0 / (0.5 - 0.25 * greatest)
        most = float(max((pulls[b] + planned[b] for b in planned), default=0))
        total = sum(((pulls[b] + size) / most) ** power for b, size in planned.items())
        wanted = most * total ** (1.0 / power) - pulls[leader]
        enough = wanted >= self.least_growth * pulls[leader]
        return self._batch(wanted, pulls[leader], greatest) if enough else 0, planned

    def far(self, upper: float, lower: float, pulls: int, rivals: int) -> float:
        """Return a missing evidence that certainly gives a rival the largest possible batch.

        Beyond it the exact value need not be known.

        Parameters
        ----------
        upper, lower : float
            Maximum-likelihood means of the leader and of the rival.
        pulls : int
            Pulls of the rival.
        rivals : int
            Upper bound on the number of rivals.

        Returns
        -------
        float
            The evidence, in nats.
        """
        gain, noise = self._gain(upper, lower, rivals)
        most = self.most_growth * (1.0 + 3.0 * noise) * pulls
        return 1.000001 * (most * gain - noise) / (0.5 * (1.0 + noise))

    def _gain(self, upper: float, lower: float, rivals: int) -> tuple[float, float]:
        """Return the expected evidence of a pull, which grows with the rivals, and h."""
        noise = self.noise_share(upper, lower)
        lead = rivals ** (0.5 - 0.25 * noise)
        return transportation_cost_kernel(upper, lower, lead, 1.0, self.epsilon)[0], noise

    def _batch(self, wanted: float, pulls: int, noise: float) -> int:
        """Return the wanted size of a batch, clipped to the limits of its growth."""
        least, most = self.least_growth * pulls, self.most_growth * (1.0 + 3.0 * noise) * pulls
        return math.ceil(min(max(wanted, least), most))

    def noise_share(self, upper: float, lower: float) -> float:
        """Return h: half the distance of two means in log-odds over ε, capped at 1.

        It is the share of a batch's evidence that remains after the noise.

        Parameters
        ----------
        upper, lower : float
            The means, in [0, 1], the larger first.

        Returns
        -------
        float
            The share.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> algorithm = dpb.DPLRE(1.0, 0.01)
        >>> round(algorithm.noise_share(0.7, 0.5), 4), algorithm.noise_share(1.0, 0.5)
        (0.4236, 1.0)
        """
        if lower <= 0.0 or upper >= 1.0:
            return 1.0 if self.epsilon < math.inf else 0.0
        odds = math.log(upper / (1.0 - upper)) - math.log(lower / (1.0 - lower))
        return min(max(odds, 0.0) / (2.0 * self.epsilon), 1.0)
