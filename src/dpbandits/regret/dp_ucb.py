"""UCB1, and DP-UCB with tree counters: the baselines of Sajed & Sheffet (2019), §5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from dpbandits import bounds
from dpbandits._arrays import Rng
from dpbandits._validation import check_choice, check_fraction, check_integer, check_positive
from dpbandits.configuration import Budget, Count, between, checked_arguments, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.counters import BinaryTree, KaryTree, best_arity
from dpbandits.mechanisms.noise import laplace_union_error
from dpbandits.privacy import calibrate
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run
from dpbandits.schedules import MOST_PULLS

__all__ = ["DPUCB", "DPUCB_VARIANTS", "KARY", "UCB"]

DPUCB_VARIANTS = (
    *("tree-exact", "tree-quantile", "tree-tight"),
    *("mishra-thakurta-parallel", "mishra-thakurta"),
)
"""The variants on binary trees."""
KARY = "kary-exact"
"""The variant on k-ary trees."""
_calibrate = lru_cache(maxsize=256)(calibrate)


@dataclass(frozen=True)
class UCB(RegretAlgorithm):
    """UCB1: Auer, Cesa-Bianchi & Fischer (2002), as in SS19, §2.

    Every arm is pulled once, then at time t the arm with the largest mean + √(2 log t/n); ties go
    to the lowest arm number. The bound on the regret is `ucb_regret`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.UCB(), dpb.instances.ss19("C2"), 10**9, n_runs=2)
    >>> runs.how
    'skipping: its law up to 4e-10'
    >>> dpb.simulate(dpb.UCB(), dpb.instances.ss19("C2"), 10**3, n_runs=2, how="reference").how
    'reference'
    """

    label: ClassVar[str] = "UCB"
    source: ClassVar[str] = "Auer et al. 2002; SS19, §2"

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        pulls, sums = np.zeros((2, n_arms))
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                index = sums / pulls + np.sqrt(2 * math.log(t) / pulls)
                arm = int(np.argmax(index))
            sums[arm] += rewards.total(arm, 1)
            pulls[arm] += 1

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(bounds.ucb_regret, instance.gaps, horizon)


@dataclass(frozen=True)
class DPUCB(RegretAlgorithm):
    """UCB on private sums from one tree counter per arm (Mishra & Thakurta 2015).

    The index is (noisy sum + γ)/n + √(2 log t/n), with γ a bound on the tree's noise, so that it
    remains an upper confidence bound; every arm is pulled once first, and ties go to the lowest arm
    number. SS19 does not state the constants of its baseline. The variants, with L = ⌊log2 T⌋ + 1:

    ============================ =============== ==============================================
    variant                      tree budget     γ
    ============================ =============== ==============================================
    ``mishra-thakurta``          ε/K             K·log²T·log(K·T·log(T)/δ)/ε, δ = T^(−p)
    ``mishra-thakurta-parallel`` ε               log²T·log(K·T·log(T)/δ)/ε, δ = T^(−p)
    ``tree-tight``               ε               (L/ε)·√(8 ℓ·max(L, ℓ)), ℓ = log(2KT/β), β = T^(−p)
    ``tree-quantile``            ε               what L nodes exceed with probability β/(KT)
    ``tree-exact``               ε               the least with K·Σ_{n≤T} P(abs(Z_n) > γ) ≤ β
    ``kary-exact``               ε               the same, on k-ary trees
    ============================ =============== ==============================================

    where p is `failure_power`, and Z_n the noise of a sum of n rewards, with one node for each
    binary one of n. At K = 5, T = 5·10⁷ the last three are 106.8, 74.0 and 62.1 scales of a node.
    An index uses the noise at its arm's number of pulls, at any time: a run has only K·T noise
    values, and γ bounds all of them with probability 1 − β. As each P decreases continuously in γ,
    their sum is β at the γ of ``tree-exact``, and above β at any smaller one. Proof:
    :prf:ref:`lem-tree-exact`. With ``kary-exact`` each arm has a `KaryTree`, with the k of
    `best_arity` for T; its γ is 540/ε there, that of ``tree-exact`` 1616/ε. Proof:
    :prf:ref:`cor-kary-width`. The bound on the regret is `dp_ucb_regret` with the variant's γ.
    Proof: :prf:ref:`thm-dpucb`. To first order the regret is γ for each suboptimal arm. Proof:
    :prf:ref:`thm-dpucb-rate`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and gives `UCB`.
    variant : str
        One of "tree-exact", "tree-quantile", "tree-tight", "mishra-thakurta-parallel",
        "mishra-thakurta" and "kary-exact": the counters and constants above.
    failure_power : float
        p from 10⁻⁶ to 10⁶: γ may fail with probability T^(−p). TD16 uses p = 4 in its comparison.

    Notes
    -----
    One reward enters the tree of only one arm, so the budgets of the arms do not add up: with
    ``mishra-thakurta`` the true guarantee for K arms is ε/K, better than declared.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPUCB(epsilon=1.0)
    >>> algorithm.node_scale(n_arms=2, horizon=1000)
    10.0
    >>> runs = dpb.simulate(algorithm, dpb.instances.ss19("C2"), 10**4, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [10000, 10000]
    """

    label: ClassVar[str] = "DP-UCB"
    source: ClassVar[str] = "Mishra & Thakurta 2015; SS19, §5"

    epsilon: Budget
    variant: Annotated[str, partial(check_choice, choices=(*DPUCB_VARIANTS, KARY))] = "tree-tight"
    failure_power: Annotated[float, between(1e-6, 1e6)] = 1.0

    @staticmethod
    def calibrated(
        epsilon: float,
        delta: float,
        horizon: int,
        variant: str = "tree-tight",
        failure_power: float = 1.0,
    ) -> DPUCB:
        """Return the algorithm that is tightly (ε, δ)-private for a number of pulls.

        A reward is in at most L released blocks, with a loss of 1/L of the tree's ε in each: for δ
        > 0 that ε may be larger than the target (`privacy.calibrate`). With ``mishra-thakurta`` a
        tree has a K-th of it. ``kary-exact`` is not offered here. The `guarantee` of the returned
        algorithm is the one with δ = 0.

        Parameters
        ----------
        epsilon : float
            Target ε, positive and finite.
        delta : float
            Target δ, in (0, 1).
        horizon : int
            Number T ≥ 1 of pulls for the target.
        variant : str
            One of "tree-exact", "tree-quantile", "tree-tight", "mishra-thakurta-parallel" and
            "mishra-thakurta": the constants above.
        failure_power : float
            p from 10⁻⁶ to 10⁶: γ may fail with probability T^(−p).

        Returns
        -------
        DPUCB
            The algorithm.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown.

        Examples
        --------
        >>> import math
        >>> import dpbandits as dpb
        >>> round(dpb.DPUCB.calibrated(1.0, math.exp(-10), 100_000).epsilon, 3)
        1.319
        """
        target = check_positive("epsilon", epsilon), check_fraction("delta", delta)
        check_choice("variant", variant, DPUCB_VARIANTS)
        levels = BinaryTree(1.0, check_integer("horizon", horizon, 1)).levels
        budget = _calibrate(*target, (1 / levels,) * levels)
        return DPUCB(budget, variant, failure_power)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of all pulls: :prf:ref:`lem-tree`, :prf:ref:`thm-kary`."""
        return PrivacyGuarantee("central", self.epsilon)

    @checked_arguments
    def tree(self, n_arms: Count, horizon: Count) -> BinaryTree | KaryTree:
        """Return the counter of one arm.

        Parameters
        ----------
        n_arms : int
            Number of arms K ≥ 1.
        horizon : int
            Horizon T ≥ 1.

        Returns
        -------
        BinaryTree or KaryTree
            The counter.
        """
        if self.variant == KARY:
            return KaryTree(self.epsilon, horizon, best_arity(horizon))
        split = n_arms if self.variant == "mishra-thakurta" else 1
        return BinaryTree(self.epsilon / split, horizon)

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms = rewards.n_arms
        tree, gamma = self.tree(n_arms, horizon), self.gamma(n_arms, horizon)
        counters = [tree.counter(rng) for _ in range(n_arms)]
        pulls, sums = np.zeros((2, n_arms))  # the sums are private
        for t in range(1, horizon + 1):
            if t <= n_arms:
                arm = t - 1
            else:
                index = (sums + gamma) / pulls + np.sqrt(2 * math.log(t) / pulls)
                arm = int(np.argmax(index))
            sums[arm] = counters[arm].add(rewards.total(arm, 1))
            pulls[arm] += 1

    @checked_arguments
    def node_scale(self, n_arms: Count, horizon: Count) -> float:
        """Return the scale of the Laplace variable of one tree node.

        Parameters
        ----------
        n_arms : int
            Number of arms K ≥ 1.
        horizon : int
            Horizon T ≥ 1.

        Returns
        -------
        float
            The scale, in units of the sum of rewards.
        """
        return self.tree(n_arms, horizon).node_scale

    @checked_arguments
    def gamma(
        self,
        n_arms: Annotated[int, whole(1, MOST_PULLS)],
        horizon: Annotated[int, whole(1, MOST_PULLS)],
    ) -> float:
        """Return γ, the allowance of the index for the noise of a sum.

        Parameters
        ----------
        n_arms : int
            Number of arms K, from 1 to 2⁶².
        horizon : int
            Horizon T, from 1 to 2⁶².

        Returns
        -------
        float
            γ, in units of the sum of rewards.
        """
        tree = self.tree(n_arms, horizon)
        log_t = math.log(horizon)
        log_failure = math.log(n_arms) + self.failure_power * log_t
        if isinstance(tree, KaryTree) or self.variant == "tree-exact":
            return tree.union_width(log_failure)
        if self.variant == "tree-quantile":
            return tree.quantile_width(log_failure)
        more = (self.failure_power - 1.0) * log_t  # added to the logarithms for p = 1
        if self.variant == "tree-tight":
            # not log(2KT²), so that γ, and every run, stays the same to the bit
            return tree.error_width(math.log(2 / (1 / (n_arms * horizon**2))) + more)
        log_term = math.log(n_arms * horizon**2 * max(log_t, 1.0)) + more
        return log_t**2 * log_term / tree.epsilon

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        n_arms = instance.n_arms
        gamma, tree = self.gamma(n_arms, horizon), self.tree(n_arms, horizon)
        scale = tree.node_scale
        failure = n_arms * laplace_union_error(gamma / scale, tree.prefixes) if scale > 0 else 0.0
        return partial(
            bounds.dp_ucb_regret, instance.gaps, horizon, gamma=gamma, noise_failure=failure
        )
