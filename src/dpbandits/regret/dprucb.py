"""DPRUCB: Tao, Wu, Zhao & Wang (2022), Algorithms 1 and 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from dpbandits import bounds
from dpbandits._validation import check_choice, check_positive
from dpbandits.heavy_instances import HeavyTailInstance
from dpbandits.heavy_laws import draw_heavy
from dpbandits.heavy_schedules import TREE_SCALINGS, TreeIndexPlan, tree_index
from dpbandits.mechanisms.adaptive_tree import next_adaptive_noise
from dpbandits.mechanisms.first_passage import TREE_LEVELS
from dpbandits.privacy.guarantees import PrivacyGuarantee
from dpbandits.regret.base import Play
from dpbandits.regret.heavy import HeavyTailAlgorithm, law_codes, require_heavy

__all__ = ["DPRUCB", "TREE_WIDTHS", "grown_power", "play_fixed_width", "play_published_width"]

TREE_WIDTHS = ("valid", "published")
_EXACT_BELOW = 1024


@njit(cache=True, nogil=True)
def grown_power(power: float, inverse: float, n: int, growth: float) -> float:
    """Return n^g from (n − 1)^g and 1/(n − 1): by the binomial series, anew at every 1024th n.

    The series is (1 + h)^g, h = 1/(n − 1) < 10^−3, to the fifth power; what it leaves out is below
    10^−18 of the result.

    Examples
    --------
    >>> abs(grown_power(5000**0.6, 1 / 5000, 5001, 0.6) / 5001**0.6 - 1) < 1e-15
    True
    """
    if n < _EXACT_BELOW or n % _EXACT_BELOW == 0:
        return n**growth
    tail = 1.0 + inverse * (growth - 3.0) / 4.0 * (1.0 + inverse * (growth - 4.0) / 5.0)
    tail = 1.0 + inverse * (growth - 1.0) / 2.0 * (1.0 + inverse * (growth - 2.0) / 3.0 * tail)
    return power * (1.0 + inverse * growth * tail)


@njit(cache=True, nogil=True)
def play_fixed_width(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play the index (S + Z)/n + H·n^(−v/(1+v)), pull by pull.

    Pulls 1..K play arms 0..K−1, every later one the arm of the largest index, ties to the lowest
    arm number. The n-th reward of an arm counts as 0 beyond B_n = b·n^g, g = 1/(1+v); S is the sum
    of the arm's truncated rewards, Z the noise of its adaptive tree. An index changes only when
    its arm is pulled, so that the leader is compared with the best of the others alone.

    Parameters
    ----------
    kinds : numpy.ndarray of int64, shape (K,)
        Kinds of the arms' laws.
    parameters : numpy.ndarray of float, shape (K, 2)
        Their parameters.
    first_bound, growth : float
        b and g.
    node_factor : float
        2L/ε: scale of a node's noise, over B_n.
    width : float
        H.
    checkpoints : numpy.ndarray of int64, shape (C,)
        Increasing pull numbers.
    rng : numpy.random.Generator
        Source of randomness: a reward, then a Laplace variable, at each pull.

    Returns
    -------
    numpy.ndarray of int64, shape (C, K)
        Pulls of each arm among the first ``checkpoints[c]`` pulls.
    """
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    powers = np.zeros(n_arms)
    noises = np.zeros(n_arms)
    indices = np.zeros(n_arms)
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            arm, rival, rival_index = t, 0, math.inf
            if t >= n_arms:
                arm = 0
                for b in range(1, n_arms):
                    if indices[b] > indices[arm]:
                        arm = b
                rival_index = -math.inf
                for b in range(n_arms):
                    if b != arm and indices[b] > rival_index:
                        rival = b
                        rival_index = indices[b]
            law = (kinds[arm], parameters[arm, 0], parameters[arm, 1])
            nodes = ends[arm]
            n, total, noise, power = pulls[arm], sums[arm], noises[arm], powers[arm]
            inverse = 1.0 / n if n > 0 else 0.0
            index = math.inf
            while t < checkpoints[c] and (
                index > rival_index
                or (index == rival_index and (arm < rival or rival_index == math.inf))
            ):
                t += 1
                n += 1
                power = grown_power(power, inverse, n, growth)
                bound = first_bound * power
                reward = draw_heavy(rng, law)
                if abs(reward) <= bound:
                    total += reward
                if node_factor > 0.0:
                    noise = next_adaptive_noise(rng, node_factor * bound, nodes, noise, n)
                inverse = 1.0 / n
                index = (total + noise + width * power) * inverse
            pulls[arm], sums[arm], noises[arm], powers[arm] = n, total, noise, power
            indices[arm] = index
        counts[c] = pulls
    return counts


@njit(cache=True, nogil=True)
def play_published_width(
    kinds: NDArray[np.int64],
    parameters: NDArray[np.float64],
    first_bound: float,
    growth: float,
    node_factor: float,
    width: float,
    checkpoints: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Play the index (S + Z)/n + H·(log(2t⁴)/n)^(v/(1+v)), pull by pull.

    As `play_fixed_width`, but for the bonus, by which every index changes at every pull.
    """
    n_arms = kinds.size
    pulls = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    powers = np.zeros(n_arms)
    inverses = np.zeros(n_arms)
    means = np.zeros(n_arms)
    noises = np.zeros(n_arms)
    ends = np.zeros((n_arms, TREE_LEVELS))
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    t = 0
    for c in range(checkpoints.size):
        while t < checkpoints[c]:
            t += 1
            arm = t - 1
            if t > n_arms:
                bonus = width * (math.log(2.0) + 4.0 * math.log(t)) ** (1.0 - growth)
                arm = 0
                highest = -math.inf
                for b in range(n_arms):
                    index = means[b] + bonus * powers[b] * inverses[b]
                    if index > highest:
                        arm = b
                        highest = index
            n = pulls[arm] + 1
            pulls[arm] = n
            power = grown_power(powers[arm], inverses[arm], n, growth)
            bound = first_bound * power
            reward = draw_heavy(rng, (kinds[arm], parameters[arm, 0], parameters[arm, 1]))
            if abs(reward) <= bound:
                sums[arm] += reward
            if node_factor > 0.0:
                scale = node_factor * bound
                noises[arm] = next_adaptive_noise(rng, scale, ends[arm], noises[arm], n)
            powers[arm] = power
            inverses[arm] = 1.0 / n
            means[arm] = (sums[arm] + noises[arm]) * inverses[arm]
        counts[c] = pulls
    return counts


@dataclass(frozen=True)
class DPRUCB(HeavyTailAlgorithm):
    """DP robust UCB: Tao, Wu, Zhao & Wang (2022), Algorithms 1 and 2.

    One adaptive tree an arm. The arm's n-th reward counts as 0 beyond B_n = (εun/Λ)^(1/(1+v)); the
    index is the tree's sum over n, plus a bonus; every arm once first, ties to the lowest arm
    number. u and v are the instance's `moment_bound` and `order`. Bonus and Λ:

    =========== =================================================================================
    width       bonus
    =========== =================================================================================
    "valid"     a half-width that fails with probability T^−4 at most: `tree_index`
    "published" C·u^(1/(1+v))·(log(2t⁴)·Λ/(nε))^(v/(1+v)), the form of the paper's Lemma 3
    =========== =================================================================================

    With Λ = (log T)^1.5 and v < 1 the published form is valid at all T for no C: at confidence
    e^−ℓ the noise of even one node is linear in ℓ = log(2t⁴), and the bonus grows like
    ℓ^(v/(1+v)) only; see `dpbandits.bounds.published_width_constant`. At the T of experiments
    18 may do.

    One reward enters one tree, and the trees' sums determine the pulls: `AdaptiveTree`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` adds no noise.
    width : {"valid", "published"}
        Which bonus.
    scaling : {"tree", "log"}, optional
        Λ: "tree" is M of `tree_index`, "log" is (log T)^1.5, the order that the text of the paper
        lets one infer. None is "tree" for valid widths and "log" for the published one.
    constant : float
        C > 0 of the published form. The paper's cannot be read in our copy: 18 is our choice.

    Raises
    ------
    ValueError
        If `epsilon` or `constant` is not positive, or `width` or `scaling` unknown.

    Notes
    -----
    Deviations from the paper: its formulas are lost in our copy; the exponent of B_n and its
    log^1.5 T are inferred. Where ε > Λ/ℓ, B_n and the bonus are those of ε = Λ/ℓ.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> s1 = dpb.instances.twzw22("S1", order=0.9)
    >>> runs = dpb.simulate(dpb.DPRUCB(epsilon=1.0), s1, horizon=10**5, n_runs=2)
    >>> runs.pulls.sum(axis=1).tolist()
    [100000, 100000]
    """

    label: ClassVar[str] = "DPRUCB"
    source: ClassVar[str] = "TWZW22, Algorithms 1 and 2"

    epsilon: float
    width: str = "valid"
    scaling: str | None = None
    constant: float = 18.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        check_choice("width", self.width, TREE_WIDTHS)
        if self.scaling is not None:
            check_choice("scaling", self.scaling, TREE_SCALINGS)
        object.__setattr__(self, "constant", check_positive("constant", self.constant))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls (Theorem 1)."""
        return PrivacyGuarantee("global", self.epsilon)

    def plan(self, instance: HeavyTailInstance, horizon: int) -> TreeIndexPlan:
        """Return counter and widths for an instance's u and v."""
        return tree_index(
            horizon, self.epsilon, instance.moment_bound, instance.order, self._scaling
        )

    @property
    def _scaling(self) -> str:
        if self.scaling is None:
            return "tree" if self.width == "valid" else "log"
        return self.scaling

    def play(
        self,
        instance: HeavyTailInstance,
        horizon: int,
        checkpoints: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        instance = require_heavy(instance)
        plan = self.plan(instance, horizon)
        kernel, width = play_fixed_width, plan.width
        if self.width == "published":
            power = 1 / (1 + instance.order)
            width = self.constant * instance.moment_bound**power
            width *= (plan.scaling / plan.budget) ** (1 - power)
            kernel = play_published_width
        tree = plan.tree
        counts = kernel(
            *law_codes(instance),
            tree.first_bound,
            tree.growth,
            2 * tree.levels / tree.epsilon,
            width,
            checkpoints,
            rng,
        )
        return Play(counts, np.empty(0, dtype=np.int64))

    def regret_bound(
        self, instance: HeavyTailInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Bound on the expected pseudo-regret: `dprucb_regret`.

        With the published width it is t times the greatest gap: nothing better is proved.
        """
        instance = require_heavy(instance)
        bound: float | NDArray[np.float64]
        if self.width == "published":
            bound = bounds.worst_heavy_regret(instance.gaps, horizon, times=times)
        else:
            bound = bounds.dprucb_regret(
                instance.gaps,
                horizon,
                epsilon=self.epsilon,
                moment=instance.moment_bound,
                order=instance.order,
                scaling=self._scaling,
                times=times,
            )
        return bound
