"""DP-UCB with binary-tree counters: the baseline of Sajed & Sheffet (2019), §5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import (
    check_choice,
    check_fraction,
    check_integer,
    check_number,
    check_positive,
)
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms.binary_tree import BinaryTree
from dpbandits.privacy import calibrate
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.index_policy import ENGINES, play_index_policy
from dpbandits.rewards.instances import BernoulliInstance

__all__ = ["DPUCB", "DPUCB_VARIANTS"]

DPUCB_VARIANTS = ("tree-tight", "mishra-thakurta-parallel", "mishra-thakurta")


@dataclass(frozen=True)
class DPUCB(RegretAlgorithm):
    """UCB on private sums from one binary-tree counter per arm (Mishra & Thakurta 2015).

    The index is (noisy sum + γ)/n + √(2 log t/n), with γ a bound on the tree's noise, so that it
    stays an upper confidence bound; every arm once first, ties to the lowest arm number. SS19
    does not say which constants its baseline used. The variants, with L = ⌊log2 T⌋ + 1:

    ============================ =============== ==============================================
    variant                      tree budget     γ
    ============================ =============== ==============================================
    ``mishra-thakurta``          ε/K             K·log²T·log(K·T·log(T)/δ)/ε, δ = T^(−p)
    ``mishra-thakurta-parallel`` ε               log²T·log(K·T·log(T)/δ)/ε, δ = T^(−p)
    ``tree-tight``               ε               (L/ε)·√(8 ℓ·max(L, ℓ)), ℓ = log(2KT/β), β = T^(−p)
    ============================ =============== ==============================================

    where p is `failure_power`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and gives `UCB`.
    variant : {"tree-tight", "mishra-thakurta-parallel", "mishra-thakurta"}
        Which constants.
    engine : {"skipping", "per-step"}
        How it is simulated: certified skipping (`dpbandits.regret.skipping`; total-variation
        error at most 4·10⁻¹⁰ a run) or pull by pull.
    failure_power : float
        p from 10⁻⁶ to 10⁶: γ may fail with probability T^(−p). TD16 has p = 4 in its comparison.

    Raises
    ------
    ValueError
        If `epsilon` is not positive, `variant` or `engine` is unknown, or `failure_power` out of
        range.

    Notes
    -----
    One reward enters the tree of one arm only, so the budgets of the arms do not add up: with
    ``mishra-thakurta`` the guarantee that holds for K arms is ε/K, better than declared.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPUCB(epsilon=1.0)
    >>> algorithm.node_scale(n_arms=5, horizon=2**20)
    21.0
    """

    label: ClassVar[str] = "DP-UCB"
    source: ClassVar[str] = "Mishra & Thakurta 2015; SS19, §5"

    epsilon: float
    variant: str = "tree-tight"
    engine: str = "skipping"
    failure_power: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        check_choice("variant", self.variant, DPUCB_VARIANTS)
        check_choice("engine", self.engine, ENGINES)
        allowed = "a number from 1e-6 to 1e6"
        power = check_number("failure_power", self.failure_power, allowed)
        if not 1e-6 <= power <= 1e6:
            raise ValueError(
                f"failure_power={self.failure_power!r} is out of range; allowed: {allowed}"
            )
        object.__setattr__(self, "failure_power", power)

    @staticmethod
    def calibrated(
        epsilon: float,
        delta: float,
        horizon: int,
        variant: str = "tree-tight",
        engine: str = "skipping",
        failure_power: float = 1.0,
    ) -> DPUCB:
        """Return the algorithm that is (ε, δ)-private for a number of pulls, and not far below.

        A reward lies in at most L = ⌊log2 T⌋ + 1 released blocks, with a loss of 1/L of the
        tree's ε in each: for δ > 0 that ε may be larger than the target (`privacy.calibrate`).

        Parameters
        ----------
        epsilon : float
            Target ε > 0.
        delta : float
            δ in (0, 1).
        horizon : int
            Number T of pulls for which it is to hold.
        variant, engine, failure_power
            As of the class. With ``mishra-thakurta`` a tree has a K-th of what it may have.

        Returns
        -------
        DPUCB
            Its `guarantee` is the one with δ = 0, at the ε that its trees get together.

        Raises
        ------
        ValueError
            If an argument is out of its range, or a word unknown.

        Examples
        --------
        >>> import math
        >>> import dpbandits as dpb
        >>> round(dpb.DPUCB.calibrated(1.0, math.exp(-10), 100_000).epsilon, 3)
        1.319
        """
        budget = _calibrated_budget(
            check_positive("epsilon", epsilon),
            check_fraction("delta", delta),
            BinaryTree(1.0, check_integer("horizon", horizon, 1)).levels,
        )
        return DPUCB(budget, variant, engine, failure_power)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("global", self.epsilon)

    def tree(self, n_arms: int, horizon: int) -> BinaryTree:
        """Return the counter of one arm."""
        split = n_arms if self.variant == "mishra-thakurta" else 1
        return BinaryTree(self.epsilon / split, horizon)

    def node_scale(self, n_arms: int, horizon: int) -> float:
        """Scale of the Laplace variable of one tree node."""
        return self.tree(n_arms, horizon).node_scale

    def gamma(self, n_arms: int, horizon: int) -> float:
        """Width γ that the index allows for the noise of a sum."""
        tree = self.tree(n_arms, horizon)
        log_t = math.log(horizon)
        more = (self.failure_power - 1.0) * log_t  # what p adds to the logarithms for p = 1
        if self.variant == "tree-tight":
            # not log(2KT²): γ, and so every run, stays what it is to the bit
            return tree.error_width(math.log(2 / (1 / (n_arms * horizon**2))) + more)
        log_term = math.log(n_arms * horizon**2 * max(log_t, 1.0)) + more
        return log_t**2 * log_term / tree.epsilon

    def play(
        self,
        instance: BernoulliInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        return play_index_policy(
            instance,
            checkpoints,
            rng,
            node_scale=self.node_scale(instance.n_arms, horizon),
            gamma=self.gamma(instance.n_arms, horizon),
            engine=self.engine,
        )

    def regret_bound(
        self, instance: BernoulliInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `dp_ucb_regret` with this variant's γ."""
        self.check_instance(instance)
        n_arms = instance.n_arms
        gamma = self.gamma(n_arms, horizon)
        one_prefix = self.tree(n_arms, horizon).error_probability(gamma)
        bound: float | NDArray[np.float64] = bounds.dp_ucb_regret(
            instance.gaps,
            horizon,
            gamma=gamma,
            noise_failure=n_arms * horizon * one_prefix,
            times=times,
        )
        return bound


@lru_cache(maxsize=256)
def _calibrated_budget(epsilon: float, delta: float, levels: int) -> float:
    return calibrate(epsilon, delta, [1 / levels] * levels)
