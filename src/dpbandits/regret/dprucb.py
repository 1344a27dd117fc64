"""DPRUCB: Tao, Wu, Zhao & Wang (2022), Algorithms 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from numpy.typing import ArrayLike

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.configuration import Budget, Positive
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy_schedules import TreeIndexPlan, tree_index
from dpbandits.regret.base import Play
from dpbandits.regret.dprucb_skipping import TreeIndex, play_by_steps, play_tree_index
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_laws import HeavyTailInstance

__all__ = ["DPRUCB"]


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

    With Λ = (log T)^1.5 and v < 1 the published form is valid at all T for no C
    (:prf:ref:`prop-no-constant`); see `dpbandits.bounds.published_width_constant`. At the T of
    experiments 18 may do.

    One reward enters one tree, and the trees' sums determine the pulls: :prf:ref:`lem-adaptive`.

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
    engine : {"skipping", "per-step"}
        How it is simulated: see `dpbandits.regret.dprucb_skipping`.

    Notes
    -----
    The paper's formulas are lost in our copy; the exponent of B_n and its log^1.5 T are inferred.
    Where ε > Λ/ℓ, B_n and the bonus are those of ε = Λ/ℓ.

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

    epsilon: Budget
    width: Literal["valid", "published"] = "valid"
    scaling: Literal["tree", "log"] | None = None
    constant: Positive = 18.0
    engine: Literal["skipping", "per-step"] = "skipping"

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

    def play(self, instance: HeavyTailInstance, horizon: int, checkpoints: Ints, rng: Rng) -> Play:
        self.check_instance(instance)
        plan, published = self.plan(instance, horizon), self.width == "published"
        width, tree = plan.width, plan.tree
        if published:
            power = 1 / (1 + instance.order)
            width = self.constant * instance.moment_bound**power
            width *= (plan.scaling / plan.budget) ** (1 - power)
        index = TreeIndex(tree.first_bound, tree.growth, tree.node_factor, width, published)
        run = play_tree_index if self.engine == "skipping" else play_by_steps
        return Play.of(run(instance, index, checkpoints, rng))

    def regret_bound(
        self, instance: HeavyTailInstance, horizon: int, times: ArrayLike | None = None
    ) -> float | Floats:
        """Bound by `dprucb_regret`; with the published width t times the greatest gap."""
        self.check_instance(instance)
        if self.width == "published":
            return bounds.worst_regret(instance.gaps, horizon, times=times)
        return bounds.dprucb_regret(
            instance.gaps,
            horizon,
            epsilon=self.epsilon,
            moment=instance.moment_bound,
            order=instance.order,
            scaling=self._scaling,
            times=times,
        )
