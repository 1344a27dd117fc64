"""DP-LRE: private best-arm identification by likelihood-ratio elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import (
    check_generator,
    check_integer,
    check_number,
    check_positive,
)
from dpbandits.divergence_kernels import d_eps_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import (
    DEFAULT_MAX_PULLS,
    MOST_PULLS,
    IdentificationAlgorithm,
    Verdict,
    check_run,
    check_unique_best_arm,
)
from dpbandits.identification.batch_loop import NO_LOG, NO_TABLE
from dpbandits.identification.dplre_loop import (
    SCARCE,
    EliminationRule,
    noise_share,
    run_elimination,
)
from dpbandits.identification.evidence import ArmLikelihood, is_better, log_evidence
from dpbandits.identification.transport_kernels import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards

__all__ = ["DPLRE"]

_SCARCE = SCARCE
_MOST_PULLS = 2**53
"""Pulls after which a run is ended in any case: up to here floats count without a gap."""
_LEAST_GROWTH, _MOST_GROWTH = 1e-3, 1e3


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
        self._cut = np.zeros(rewards.n_arms, dtype=np.int64)
        self.arms = [ArmLikelihood(epsilon) for _ in range(rewards.n_arms)]

    def release(self, arm: int, size: int) -> None:
        """Pull an arm `size` times and release the sum of its rewards.

        A batch for which there is no room, or no patient left, is cut short: no reward is asked
        for.
        """
        room = min(self._room, patients_left(self._rewards, arm))
        if size > room:
            self._cut[arm] = room
            raise _OutOfPullsError
        self._room -= size
        total = float(self._rewards.total(arm, size))
        if self._scale > 0.0:
            total += laplace(self._rng, self._scale)
        self.arms[arm].add(size, total)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls of each arm, shape (K,), those of a batch that was cut short included."""
        return self._cut + np.array([arm.pulls for arm in self.arms], dtype=np.int64)


@dataclass(frozen=True)
class DPLRE(IdentificationAlgorithm):
    """DP-LRE: private likelihood-ratio elimination.

    Every batch of rewards is released as its sum plus one Lap(1/ε), and judged by the exact law
    of that sum (`dpbandits.identification.batch_likelihood`). The leader beats an arm b when the
    evidence that it has the larger mean (`dpbandits.identification.evidence`) reaches
    (K − 1)/δ·max(1, M/(15√(K − 1) N_b))², with N the pulls and M the largest of them.

    1. Release ⌈log((K − 1)/δ)/d_ε(1, ½)⌉ pulls of each arm: no test can succeed much earlier.
    2. The leader B is the arm whose likelihood is largest at the largest mean p̂. Its rivals are
       the others but those that it beats; an arm that was beaten before is tested again only if
       M > 15√(K − 1) N_b, for more is then demanded. If there are no rivals, recommend B.
    3. Plan batches. For a rival b evidence of a nats is lacking, and a pull is expected to bring
       g = inf_u {√m·d⁻(p̂_B, u) + d⁺(p̂_b, u)}, with m rivals. With r in [0, 1] saying how much
       the noise is felt, b gets (½(1 + r)a + r)/g pulls: half of what is lacking where there is no
       noise, all of it and the price of one release where there is nothing but noise; at least
       `least_growth` and at most `most_growth` times its pulls. B is brought to √m times the
       pulls that its rivals will have at most, in the same limits, and left out where that takes
       less than the least growth.
    4. Release the batches, B's first. After each release rivals that are beaten leave.
       If none is left, recommend B.
    5. An arm that is neither leader nor rival and has fewer than ⌊√M⌋ pulls is given 2⌊√M⌋ more.
       Go to step 2.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed: no noise, and nothing is private.
    delta : float
        Confidence δ in (0, 1).
    least_growth, most_growth : float
        Least and largest size of a batch, as a share of the arm's pulls before;
        0.001 ≤ `least_growth` ≤ `most_growth` ≤ 1000.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    *δ-correct.* Sizes and order of the batches depend on past releases alone. If another arm than
    the best, a*, is recommended, some arm c had evidence of (K − 1)/δ or more against a*; at the
    true means that evidence is at most a supermartingale from 1, which ever reaches (K − 1)/δ with
    probability at most δ/(K − 1) (Ville's inequality); there are K − 1 arms c.

    *Private.* Each reward is in one released sum, and all else is a function of released sums.

    *Stops.* E[τ] is finite whenever one arm alone is best. A best arm that was beaten by mistake
    comes back: soon, because more is demanded once others are pulled far more often, and surely,
    by step 5. Without both, two tied arms that are left would never part.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> verdict = dpb.DPLRE(1.0, 0.1).draw(instance, np.random.default_rng(0))
    >>> verdict.recommendation
    0
    """

    label: ClassVar[str] = "DP-LRE"
    source: ClassVar[str] = "this book"

    epsilon: float
    delta: float
    least_growth: float = 0.1
    most_growth: float = 1.0

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        for name in ("least_growth", "most_growth"):
            given = getattr(self, name)
            allowed = f"a number from {_LEAST_GROWTH:g} to {_MOST_GROWTH:g}"
            value = check_number(name, given, allowed)
            if not _LEAST_GROWTH <= value <= _MOST_GROWTH:
                raise ValueError(f"{name}={given!r} is out of range; allowed: {allowed}")
            object.__setattr__(self, name, value)
        if self.most_growth < self.least_growth:
            raise ValueError(
                f"most_growth={self.most_growth!r} is out of range; allowed: at least "
                f"least_growth={self.least_growth!r}"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation."""
        return PrivacyGuarantee("global", self.epsilon)

    def threshold(self, n_arms: int) -> float:
        """Return log((K − 1)/δ), the evidence in nats at which an arm is dropped.

        Parameters
        ----------
        n_arms : int
            Number of arms K, at least 2.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If `n_arms` is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> round(dpb.DPLRE(1.0, 0.01).threshold(5), 4)
        5.9915
        """
        return math.log(check_integer("n_arms", n_arms, 2) - 1) - math.log(self.delta)

    def first_batch(self, n_arms: int) -> int:
        """Return ⌈log((K − 1)/δ)/d_ε(1, ½)⌉, the size of the first batch of each arm.

        Parameters
        ----------
        n_arms : int
            Number of arms K, at least 2.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If `n_arms` is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> dpb.DPLRE(1.0, 0.01).first_batch(5), dpb.DPLRE(0.01, 0.01).first_batch(5)
        (16, 1202)
        """
        return math.ceil(self.threshold(n_arms) / d_eps_kernel(1.0, 0.5, self.epsilon))

    def compiled(self, n_arms: int) -> EliminationRule | None:
        """Return what `dplre_loop.run_elimination` has to know for K arms; None for subclasses."""
        if type(self) is not DPLRE:
            return None
        first = min(self.first_batch(n_arms), 2 * _MOST_PULLS)  # more than any run has room for
        growths = self.least_growth, self.most_growth
        return EliminationRule(self.epsilon, self.threshold(n_arms), first, *growths)

    def draw(
        self,
        instance: BernoulliInstance,
        rng: np.random.Generator,
        max_pulls: int = DEFAULT_MAX_PULLS,
    ) -> Verdict:
        """Run once on rewards drawn from an instance; see `IdentificationAlgorithm.draw`.

        Compiled, it equals `decide` on the same generator.
        """
        instance = check_unique_best_arm(instance)
        rule = self.compiled(instance.n_arms)
        if rule is None:
            return super().draw(instance, rng, max_pulls)
        check_generator("rng", rng)
        max_pulls = check_integer("max_pulls", max_pulls, instance.n_arms, MOST_PULLS)
        arm, pulls = run_elimination(
            rule, instance.means, NO_TABLE, rng, min(max_pulls, _MOST_PULLS), NO_LOG
        )
        return Verdict(int(arm), pulls)

    def decide(self, rewards: Rewards, rng: np.random.Generator, max_pulls: int) -> Verdict:
        """Run once; see `IdentificationAlgorithm.decide`.

        A batch that would exceed `max_pulls` is cut short: its pulls count, it asks for no rewards
        and releases nothing. A run is ended after 2^53 pulls in any case.
        """
        max_pulls = check_run(rewards, rng, max_pulls)
        releases = _Releases(rewards, rng, self.epsilon, max_pulls)
        try:
            best = self._identify(releases)
        except _OutOfPullsError:
            best = -1
        return Verdict(best, releases.pulls)

    def _identify(self, releases: _Releases) -> int:
        """Return the arm that is recommended."""
        arms = releases.arms
        everyone = range(len(arms))
        threshold = self.threshold(len(arms))
        scarce = _SCARCE * math.sqrt(len(arms) - 1)

        def demand(b: int) -> float:
            scarcity = max(arm.pulls for arm in arms) / (scarce * arms[b].pulls)
            return threshold + 2.0 * math.log(max(scarcity, 1.0))

        def beats(leader: int, b: int) -> bool:
            return is_better(arms[leader], arms[b], demand(b))

        for arm in everyone:
            releases.release(arm, self.first_batch(len(arms)))
        contenders = set(everyone)
        while True:
            leader = max(everyone, key=lambda arm: arms[arm].maximiser)
            tested = [b for b in everyone if b in contenders or demand(b) > threshold]
            rivals = [b for b in tested if b != leader and not beats(leader, b)]
            if rivals:
                lacking = {b: demand(b) - log_evidence(arms[leader], arms[b]) for b in rivals}
                leader_size, sizes = self._plan(arms, leader, lacking)
                if leader_size:
                    releases.release(leader, leader_size)
                    rivals = [b for b in rivals if not beats(leader, b)]
                for b in rivals.copy():
                    releases.release(b, sizes[b])
                    if beats(leader, b):
                        rivals.remove(b)
            if not rivals:
                return leader
            contenders = {leader, *rivals}
            most = math.isqrt(max(arm.pulls for arm in arms))
            for b in everyone:
                if b not in contenders and arms[b].pulls < most:
                    releases.release(b, 2 * most)

    def _plan(
        self, arms: list[ArmLikelihood], leader: int, lacking: dict[int, float]
    ) -> tuple[int, dict[int, int]]:
        """Return the sizes of the leader's batch, 0 for none, and of its rivals' batches.

        `lacking` is the evidence that the leader lacks against each rival.
        """
        lead = math.sqrt(len(lacking))
        first = arms[leader]
        sizes = {}
        for b in lacking:
            gain = transportation_cost_kernel(
                first.maximiser, arms[b].maximiser, lead, 1.0, self.epsilon
            )[0]
            wanted = math.inf
            if gain > 0.0:
                noise = noise_share(first.maximiser, arms[b].maximiser, self.epsilon)
                wanted = (0.5 * (1.0 + noise) * lacking[b] + noise) / gain
            sizes[b] = self._batch(wanted, arms[b].pulls)
        most_pulls = max(arms[b].pulls + sizes[b] for b in lacking)
        wanted = lead * most_pulls - first.pulls
        if wanted < self.least_growth * first.pulls:
            return 0, sizes
        return self._batch(wanted, first.pulls), sizes

    def _batch(self, wanted: float, pulls: int) -> int:
        """Return the size of a batch that is wanted, within the limits of its growth."""
        return math.ceil(min(max(wanted, self.least_growth * pulls), self.most_growth * pulls))
