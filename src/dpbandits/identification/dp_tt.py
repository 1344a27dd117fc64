"""DP-TT: Top Two on released batches, with costs that know privacy and its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import (
    check_choice,
    check_fraction,
    check_integer,
    check_number,
    check_positive,
)
from dpbandits.identification.batch_loop import Rule
from dpbandits.identification.batches import BatchedTopTwo, BatchState
from dpbandits.identification.challenger import advance_costs
from dpbandits.identification.thresholds import (
    PAIR_RULES,
    PAIR_THRESHOLDS,
    RULES,
    pair_constant,
)
from dpbandits.identification.transport_kernels import calibrated_cost_kernel
from dpbandits.schedules import next_release

__all__ = ["COSTS", "DPTT"]

COSTS = ("calibrated", "plain")
"""What the challenger may have the least of, W̃, which knows the noise of the estimates, or W."""

_RANGES = (("eta", 1e-3, 1e3), ("exploration", 0.0, 1e3), ("exponent", 1.001, 100.0))


@dataclass(frozen=True)
class DPTT(BatchedTopTwo):
    """DP-TT: Jourdan & Azize (2025), Algorithm 1, reconstructed.

    Arm a is released when its pulls reach ⌈(1 + η)^j⌉, j = 0, 1, …: the batch's sum of rewards plus
    one Lap(1/ε). Released batches add up: after k releases, μ̃_a is their sum over the n_a pulls.
    Leader is B = argmax μ̃, challenger the arm of least W̃_{B,a} + γ·log N_a at the pulls N so far,
    open batches included (`transport.calibrated_cost`, with r = k/n as of the release). After each
    release the rule stops and recommends ã = argmax μ̃ if W̃_{ã,b}, at the released counts, is above
    the threshold c(k_ã, k_b) for every b ≠ ã.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed, and there is no noise then.
    delta : float
        Confidence δ in (0, 1).
    threshold : {"chernoff", "union"}
        `thresholds.chernoff_threshold`, log(1/δ) to leading order, or `thresholds.union_threshold`,
        2·log(1/δ), the order of the paper's. Both are δ-correct.
    eta : float
        Growth η of the grid of releases, from 0.001 to 1000.
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.
    costs : {"calibrated", "plain"}
        What the challenger has the least of: W̃, or W.
    exploration : float
        Factor γ ≥ 0 of log N_a in the challenger's cost.
    exponent : float
        Exponent s of the sums over releases in the thresholds, from 1.001 to 100.
    first : int
        Pulls of each arm before its first release, from 1 to 2^53: the grid is ⌈first·(1 + η)^j⌉.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The paper is known through its reviews only. Its costs are W, in the challenger and when it
    stops; calibrated costs, log N_a and the thresholds are ours. An unlucky early release can make
    the best arm look so bad that it is not played while two others are tied; with γ = 0 it may
    starve for ever, which for W can be one run in four. With W̃ it starves beyond a time t with a
    probability of about t^−γ: a finite mean takes γ > 1. Such runs stop late; they are not wrong
    more often. Set `max_pulls` where starving is to be seen.

    Each release adds its noise to the sum for good. At small ε the early ones, of a few rewards
    each, are nothing but noise; `first` of about 10/ε, ours too, leaves them out.

    Ties go to the lowest arm number. The loop is compiled from release to release, and plays what
    the plain loop plays: `dpbandits.identification.challenger`.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> verdict = dpb.DPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0))
    >>> verdict.recommendation
    0
    """

    label: ClassVar[str] = "DP-TT"
    source: ClassVar[str] = "JA25, Algorithm 1, reconstructed"

    epsilon: float
    delta: float
    threshold: str = "chernoff"
    eta: float = 1.0
    leader_share: float = 0.5
    costs: str = "calibrated"
    exploration: float = 2.0
    exponent: float = 1.3
    first: int = 1

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon, infinite=True))
        share = check_fraction("leader_share", self.leader_share)
        object.__setattr__(self, "leader_share", share)
        check_choice("threshold", self.threshold, PAIR_THRESHOLDS)
        check_choice("costs", self.costs, COSTS)
        for name, low, high in _RANGES:
            allowed = f"a number from {low:g} to {high:g}"
            given = getattr(self, name)
            value = check_number(name, given, allowed)
            if not low <= value <= high:
                raise ValueError(f"{name}={given!r} is out of range; allowed: {allowed}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "first", check_integer("first", self.first, 1, 2**53))

    def _next_release(self, pulls: int) -> int:
        return next_release(pulls, self.eta, self.first)

    def _means(self, state: BatchState) -> NDArray[np.float64]:
        means: NDArray[np.float64] = state.total / state.released
        return means

    def _stops(self, state: BatchState, means: NDArray[np.float64]) -> bool:
        best = int(means.argmax())
        ratios = state.releases / state.released
        threshold = PAIR_RULES[self.threshold]
        for b in range(state.n_arms):
            if b == best:
                continue
            cost = calibrated_cost_kernel(
                means[best], means[b], state.released[best], state.released[b], ratios[best],
                ratios[b], self.epsilon, 0.0, 0.0, -1.0,
            )[0]  # fmt: skip
            first, second = int(state.releases[best]), int(state.releases[b])
            if not cost > threshold(self.delta, state.n_arms, first, second, self.exponent):
                return False
        return True

    def compiled(self, n_arms: int) -> Rule | None:
        """Return the rule of the compiled loop; see `BatchedTopTwo.compiled`."""
        if type(self) is not DPTT:
            return None
        constant = pair_constant(self.threshold, self.delta, n_arms, self.exponent)
        return Rule(
            self.epsilon, self.delta, self.leader_share, False, RULES.index(self.threshold),
            constant, self.exponent, self.exploration, self.costs == "calibrated", np.inf,
            self.eta, self.first,
        )  # fmt: skip

    def _advance(self, state: BatchState, means: NDArray[np.float64], room: int) -> int:
        ratios = state.releases / state.released
        if self.costs == "plain":
            ratios = np.zeros(state.n_arms)
        return int(
            advance_costs(
                int(means.argmax()), means, ratios, self.epsilon, self.exploration, state.pulls,
                state.following, state.led, state.own, self.leader_share, room,
            )
        )  # fmt: skip
