"""DP-LRE: private best-arm identification by likelihood-ratio elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_generator, check_integer, check_positive
from dpbandits.identification.base import IdentificationAlgorithm, Verdict
from dpbandits.identification.divergence_kernels import d_eps_kernel
from dpbandits.identification.evidence import ArmLikelihood, is_better, log_evidence
from dpbandits.identification.rewards import Rewards
from dpbandits.identification.transport_kernels import transportation_cost_kernel
from dpbandits.mechanisms.laplace import laplace
from dpbandits.privacy.guarantees import PrivacyGuarantee

__all__ = ["DPLRE"]

_MARGIN = 1.0
"""Evidence beyond the threshold, in nats, that a batch is planned for."""
_MOST_PULLS = 2**53
"""Pulls after which a run is ended in any case: up to here floats count without a gap."""


class _OutOfPullsError(Exception):
    """The next batch would exceed the pulls that are allowed."""


class _Releases:
    """The arms' likelihoods, from released sums, and the only way to rewards."""

    def __init__(
        self, rewards: Rewards, rng: np.random.Generator, epsilon: float, max_pulls: int
    ) -> None:
        self._rewards = rewards
        self._rng = rng
        self._scale = 1.0 / epsilon  # 0 without privacy
        self._room = min(max_pulls, _MOST_PULLS)
        self.arms = [ArmLikelihood(epsilon) for _ in range(rewards.n_arms)]

    def release(self, arm: int, size: int) -> None:
        """Pull an arm `size` times and release the sum of its rewards."""
        if size > self._room:
            raise _OutOfPullsError
        self._room -= size
        total = float(self._rewards.total(arm, size))
        if self._scale > 0.0:
            total += laplace(self._rng, self._scale)
        self.arms[arm].add(size, total)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls of each arm, shape (K,)."""
        return np.array([arm.pulls for arm in self.arms], dtype=np.int64)


@dataclass(frozen=True)
class DPLRE(IdentificationAlgorithm):
    """DP-LRE: private likelihood-ratio elimination.

    Every batch of rewards is released as its sum plus one Lap(1/ε), and judged by the exact law
    of that sum (`dpbandits.identification.batch_likelihood`). An arm is dropped when the evidence
    that the leader has a larger mean reaches (K − 1)/δ (`dpbandits.identification.evidence`); the
    last arm is recommended.

    1. Release ⌈log((K − 1)/δ)/(2 d_ε(1, ½))⌉ pulls of each arm: no test can succeed much earlier.
    2. Let B be the arm whose likelihood is largest at the largest mean, and m the number of
       contenders besides B. Drop those that B beats. If B is left alone, recommend it.
    3. Plan batches. A contender b whose evidence against B is e gets (log((K − 1)/δ) + 1 − e)/g
       pulls, g = inf_u {√m·d⁻(p̂_B, u) + d⁺(p̂_b, u)} being the expected gain of a pull, but at
       least `least_growth` and at most `most_growth` times its pulls N_b. B is brought to √m
       times the pulls that the contenders will have at most, by at most `leader_growth`·N_B, and
       left out if this is below `least_growth`·N_B.
    4. Release the batches, B's first. After each release drop the contenders that B beats.
    5. An arm that has been dropped and has fewer than ⌊√max N⌋ pulls is given twice as many more.
       It is a contender again if it becomes the leader in step 2. Go to step 2.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed: no noise, and nothing is private.
    delta : float
        Confidence δ in (0, 1).
    least_growth, most_growth : float
        Least and largest size of a contender's batch, as a share of its pulls before;
        0 < `least_growth` ≤ `most_growth`.
    leader_growth : float
        Largest size of the leader's batch, as a share of its pulls; at least `least_growth`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    *δ-correct.* Sizes and order of the batches depend on past releases alone. If another arm than
    the best, a*, is recommended, some arm c had evidence of (K − 1)/δ against a*; at the true
    means that evidence is at most a supermartingale from 1, which ever reaches (K − 1)/δ with
    probability at most δ/(K − 1) (Ville's inequality); there are K − 1 arms c.

    *Private.* Each reward is in one released sum, and all else is a function of released sums.

    *Stops.* Step 5, which hardly ever is taken on a run without error, lets a best arm that was
    dropped by mistake come back; E[τ] is finite whenever one arm alone is best.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> verdict = DPLRE(1.0, 0.1).draw(instance, np.random.default_rng(0))
    >>> verdict.recommendation
    0
    """

    label: ClassVar[str] = "DP-LRE"
    source: ClassVar[str] = "this book"

    epsilon: float
    delta: float
    least_growth: float = 0.2
    most_growth: float = 1.0
    leader_growth: float = 3.0

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        for name in ("least_growth", "most_growth", "leader_growth"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        for name in ("most_growth", "leader_growth"):
            if getattr(self, name) < self.least_growth:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is out of range; allowed: at least "
                    f"least_growth={self.least_growth!r}"
                )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation."""
        return PrivacyGuarantee("global", self.epsilon)

    def threshold(self, n_arms: int) -> float:
        """Return log((K − 1)/δ), the evidence in nats at which an arm is dropped.

        Examples
        --------
        >>> round(DPLRE(1.0, 0.01).threshold(5), 4)
        5.9915
        """
        return math.log(n_arms - 1) - math.log(self.delta)

    def first_batch(self, n_arms: int) -> int:
        """Return the size of the first batch of each arm.

        Examples
        --------
        >>> DPLRE(1.0, 0.01).first_batch(5), DPLRE(0.01, 0.01).first_batch(5)
        (8, 601)
        """
        return math.ceil(0.5 * self.threshold(n_arms) / d_eps_kernel(1.0, 0.5, self.epsilon))

    def decide(self, rewards: Rewards, rng: np.random.Generator, max_pulls: int) -> Verdict:
        """Run once; see `IdentificationAlgorithm.decide`.

        A batch that would exceed `max_pulls` is not begun. A run is ended after 2^53 pulls.
        """
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, rewards.n_arms, 2**62)
        releases = _Releases(rewards, rng, self.epsilon, max_pulls)
        try:
            best = self._identify(releases)
        except _OutOfPullsError:
            best = -1
        return Verdict(best, releases.pulls)

    def _identify(self, releases: _Releases) -> int:
        """Return the arm that is recommended."""
        arms = releases.arms
        threshold = self.threshold(len(arms))

        def beats(better: ArmLikelihood, worse: ArmLikelihood) -> bool:
            return is_better(better, worse, threshold)

        for arm in range(len(arms)):
            releases.release(arm, self.first_batch(len(arms)))
        contenders = list(range(len(arms)))
        while True:
            leader = max(range(len(arms)), key=lambda arm: arms[arm].maximiser)
            rivals = [b for b in contenders if b != leader and not beats(arms[leader], arms[b])]
            if rivals:
                leader_size, sizes = self._plan(arms, leader, rivals, threshold)
                if leader_size:
                    releases.release(leader, leader_size)
                    rivals = [b for b in rivals if not beats(arms[leader], arms[b])]
                for b in rivals.copy():
                    releases.release(b, sizes[b])
                    if beats(arms[leader], arms[b]):
                        rivals.remove(b)
            if not rivals:
                return leader
            contenders = sorted([leader, *rivals])
            most = math.isqrt(max(arm.pulls for arm in arms))
            for b in range(len(arms)):
                if b not in contenders and arms[b].pulls < most:
                    releases.release(b, 2 * most)

    def _plan(
        self, arms: list[ArmLikelihood], leader: int, contenders: list[int], threshold: float
    ) -> tuple[int, dict[int, int]]:
        """Return the sizes of the leader's batch, 0 for none, and of the contenders' batches."""
        lead = math.sqrt(len(contenders))
        first = arms[leader]
        sizes = {}
        for b in contenders:
            arm = arms[b]
            gain = transportation_cost_kernel(
                first.maximiser, arm.maximiser, lead, 1.0, self.epsilon
            )[0]
            missing = threshold + _MARGIN - log_evidence(first, arm)
            wanted = missing / gain if gain > 0.0 else math.inf
            least, most = self.least_growth * arm.pulls, self.most_growth * arm.pulls
            sizes[b] = math.ceil(min(max(wanted, least), most))
        most_pulls = max(arms[b].pulls + sizes[b] for b in contenders)
        wanted = min(lead * most_pulls - first.pulls, self.leader_growth * first.pulls)
        return (math.ceil(wanted) if wanted >= self.least_growth * first.pulls else 0), sizes
