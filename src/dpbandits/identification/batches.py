"""DP-TT, AdaP-TT and AdaP-TT*: Top Two whose decisions rest on released batches.

Arm a is released when its pulls reach the next number of a grid: the sum of its rewards since the
last release plus one Laplace variable. Between two releases nothing random happens, and
`dpbandits.identification.rounds` advances the counts; only then is the sum of the batch asked for.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.configuration import Budget, Fraction, Positive, between, whole
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import (
    NO_LOG,
    NO_TABLE,
    Decision,
    IdentificationAlgorithm,
    check_run,
    next_total,
)
from dpbandits.identification.rounds import (
    BatchState,
    Costs,
    advance,
    closed_costs,
    transport_costs,
)
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_threshold_kernel,
    pair_constant,
    pair_threshold_kernel,
    separate_threshold_kernel,
)
from dpbandits.identification.transport import calibrated_cost_kernel, transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards
from dpbandits.schedules import MOST_PULLS, next_release_kernel

__all__ = ["DPTT", "AdaPTT", "AdaPTTStar", "BatchState", "BatchedTopTwo", "Rule", "run_batches"]

_SEPARATE = RULES.index("separate")


class Rule(NamedTuple):
    """What the compiled functions know of an algorithm."""

    epsilon: float
    delta: float
    leader_share: float
    doubles: bool  # whether it is AdaP-TT or AdaP-TT*, not DP-TT
    threshold: int  # place in `thresholds.RULES`
    constant: float = 0.0  # of the threshold of DP-TT, and its exponent
    exponent: float = 0.0
    exploration: float = 0.0
    calibrated: bool = False  # whether costs know the noise
    cost_epsilon: float = math.inf  # ε, if the cost of AdaP-TT* knows it
    eta: float = 1.0
    first: int = 1


@kernel
def _following(rule: Rule, pulls: int) -> int:
    """Return the pulls at which an arm is released after `pulls`."""
    if rule.doubles:
        return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1
    return next_release_kernel(pulls, rule.eta, rule.first)


@kernel
def estimates(rule: Rule, state: BatchState) -> Floats:
    """Return the released estimates μ̃ of the means."""
    return state.last / state.batch if rule.doubles else state.total / state.released


@kernel
def stops(rule: Rule, state: BatchState, means: Floats) -> bool:
    """Return whether the arm with the largest estimate is recommended now."""
    best, n_arms, epsilon, delta = int(means.argmax()), means.size, rule.epsilon, rule.delta
    for b in range(n_arms):
        if b == best:
            continue
        releases, gap = (state.releases[best], state.releases[b]), means[best] - means[b]
        if rule.doubles:
            batches = state.batch[best], state.batch[b]
            if rule.threshold == _SEPARATE:
                statistic = gap
                limit = separate_threshold_kernel(delta, epsilon, n_arms, releases, batches)
            else:
                statistic = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1])
                kind = rule.threshold
                limit = gaussian_threshold_kernel(kind, delta, epsilon, n_arms, releases, batches)
        else:
            limit = pair_threshold_kernel(rule.threshold, rule.constant, rule.exponent, *releases)
            n, m = state.released[best], state.released[b]
            statistic = transportation_cost_kernel(means[best], means[b], n, m, epsilon)[0]
            if statistic > limit:  # W ≥ W̃: most often W is enough to say no
                r, q = releases[0] / n, releases[1] / m
                statistic = calibrated_cost_kernel(means[best], means[b], n, m, r, q, epsilon)[0]
        if not statistic > limit:
            return False
    return True


@kernel
def _costs(rule: Rule, state: BatchState, means: Floats) -> Costs:
    """Return leader, challengers and costs until the next release."""
    if rule.doubles:
        log_time = math.log(state.released.sum())
        width = log_time / (rule.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
        leader = int((means + width).argmax())
        return closed_costs(leader, means[leader] - means, rule.cost_epsilon)
    ratios = state.releases / state.released if rule.calibrated else np.zeros(means.size)
    return transport_costs(int(means.argmax()), means, ratios, rule.epsilon, rule.exploration)


@kernel
def _record(rule: Rule, state: BatchState, arm: int, last: float, most: int) -> None:
    """Take in what the open batch of `arm` was released as; the next one ends at `most` pulls."""
    pulls = state.pulls[arm]
    state.last[arm] = last
    state.total[arm] += last
    state.batch[arm] = pulls - state.released[arm]
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = min(_following(rule, pulls), most)


@kernel
def _next(rule: Rule, state: BatchState, room: int) -> tuple[int, bool]:
    """Play until a batch ends: return its arm and False, or the recommendation (or −1) and True."""
    for arm in range(state.pulls.size):
        if state.releases[arm] == 0:
            state.pulls[arm] = min(state.following[arm], room)
            return (arm, False) if state.following[arm] <= room else (-1, True)
    means = estimates(rule, state)
    if stops(rule, state, means):
        return int(means.argmax()), True
    arm = advance(_costs(rule, state, means), state, rule.leader_share, room) if room > 0 else -1
    return arm, arm < 0


@kernel
def run_batches(
    rule: Rule, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
) -> tuple[int, Ints]:
    """Run once: recommendation and pulls.

    Rewards are 0 or 1 with these means, or, if there is a `table`, shape (K, N + 1) with
    N ≥ `max_pulls`, it has the sums of the first 0, …, N rewards of each arm. A `log` gets the arms
    in the order of their releases. `NO_TABLE` and `NO_LOG` stand for none.
    """
    n_arms = means.size
    counts, sums = np.zeros((7, n_arms), np.int64), np.zeros((2, n_arms))
    state = BatchState(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], sums[0],
        sums[1],
    )  # fmt: skip
    state.following[:] = _following(rule, 0)
    while True:
        arm, ended = _next(rule, state, max_pulls - state.pulls.sum())
        if ended:
            return arm, state.pulls
        before = state.released[arm]
        last = next_total(means, table, rng, arm, before, state.pulls[arm] - before)
        last += laplace(rng, 1.0 / rule.epsilon)
        if log.size > 0:
            log[state.releases.sum()] = arm
        _record(rule, state, arm, last, MOST_PULLS)


class BatchedTopTwo(IdentificationAlgorithm):
    """Base class: one batch of each arm, then leader against challenger until the rule stops.

    In an arm's L-th round as the leader it is played if it was in fewer than `leader_share`·L of
    them, and else the challenger. The rule for stopping is tested after each release.
    """

    # fields of the subclasses
    epsilon: Budget
    leader_share: Fraction

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of pulls, stopping time and recommendation.

        Every reward is in one batch, which is released once, with one Lap(1/ε); all else depends
        on the released values alone. Proof: :prf:ref:`thm-dptt-private`.
        """
        return PrivacyGuarantee("global", self.epsilon)

    @abc.abstractmethod
    def rule(self, n_arms: int) -> Rule:
        """Return what the compiled functions have to know of this algorithm for K arms."""

    def run_compiled(self, means: Floats, rng: Rng, max_pulls: int) -> Decision | None:
        # a subclass that changes a step of `decide` has no compiled loop
        for step in ("decide", "_next", "_release"):
            if getattr(type(self), step) is not getattr(BatchedTopTwo, step):
                return None
        rule = self.rule(means.size)
        return Decision(*run_batches(rule, means, NO_TABLE, rng, max_pulls, NO_LOG))

    def decide(self, rewards: Rewards, rng: Rng, max_pulls: int) -> Decision:
        max_pulls, n_arms = check_run(rewards, rng, max_pulls), rewards.n_arms
        state, first = BatchState.start(n_arms), int(_following(self.rule(n_arms), 0))
        for arm in range(n_arms):
            state.following[arm] = min(first, patients_left(rewards, arm) + 1)
        while True:
            arm, ended = self._next(state, max_pulls - int(state.pulls.sum()))
            if ended:
                return Decision(arm, state.pulls)
            if state.pulls[arm] - state.released[arm] > patients_left(rewards, arm):
                state.pulls[arm] -= 1  # there is no such patient
                return Decision(-1, state.pulls)
            self._release(state, arm, rewards, rng)

    def _next(self, state: BatchState, room: int) -> tuple[int, bool]:
        arm, ended = _next(self.rule(state.pulls.size), state, room)
        return int(arm), bool(ended)

    def _release(self, state: BatchState, arm: int, rewards: Rewards, rng: Rng) -> None:
        size = int(state.pulls[arm] - state.released[arm])
        last = rewards.total(arm, size) + laplace(rng, 1.0 / self.epsilon)
        # beyond so many pulls no batch ends: no run has room for them, or no patient is left
        most = min(MOST_PULLS, int(state.pulls[arm]) + patients_left(rewards, arm) + 1)
        _record(self.rule(state.pulls.size), state, arm, last, most)


@dataclass(frozen=True)
class DPTT(BatchedTopTwo):
    """DP-TT: Jourdan & Azize (2025), Algorithm 1, reconstructed.

    Arm a is released when its pulls reach ⌈(1 + η)^j⌉, j = 0, 1, …: the batch's sum of rewards plus
    one Lap(1/ε). Released batches add up: after k releases, μ̃_a is their sum over the n_a pulls.
    Leader is B = argmax μ̃, challenger the arm of least W̃_{B,a} + γ·log N_a at the pulls N so far,
    open batches included (`transport.calibrated_cost`, with r = k/n as of the release). After each
    release the rule stops and recommends ã = argmax μ̃ if W̃_{ã,b}, at the released counts, is above
    the threshold c(k_ã, k_b) for every b ≠ ã. Algorithm and proofs: :prf:ref:`alg-dptt`,
    :prf:ref:`thm-dptt-private`, :prf:ref:`thm-chernoff-correct`.

    Parameters
    ----------
    epsilon, delta : float
        Privacy budget ε > 0 (``inf``: no noise) and confidence δ in (0, 1).
    threshold : {"chernoff", "union"}
        `thresholds.chernoff_threshold`, log(1/δ) to leading order, or `thresholds.union_threshold`,
        2·log(1/δ), the order of the paper's. Both are δ-correct.
    eta, leader_share, exploration : float
        Growth η of the grid of releases, from 0.001 to 1000; share β in (0, 1) of the rounds in
        which the leader is played; γ ≥ 0.
    costs : {"calibrated", "plain"}
        What the challenger has the least of: W̃, which knows the noise of the estimates, or W.
    exponent, first : float, int
        Exponent s of the sums over releases in the thresholds, from 1.001 to 100; and pulls of each
        arm before its first release, from 1 to 2^53: the grid is ⌈first·(1 + η)^j⌉.

    Notes
    -----
    The paper is known through its reviews only. Its costs are W, in the challenger and when it
    stops; calibrated costs, log N_a, the thresholds and `first` are ours. An unlucky early release
    can make the best arm look so bad that it is not played while two others are tied: with γ = 0 it
    may starve for ever, with W̃ beyond a time t with a probability of about t^−γ, so that a finite
    mean requires γ > 1 (:ref:`starvation`). Set `max_pulls` where starving is to be seen. At small
    ε early releases are nothing but noise; `first` of about 10/ε leaves them out.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    """

    label: ClassVar[str] = "DP-TT"
    source: ClassVar[str] = "JA25, Algorithm 1, reconstructed"

    epsilon: Budget
    delta: Fraction
    threshold: Literal["chernoff", "union"] = "chernoff"
    eta: Annotated[float, between(1e-3, 1e3)] = 1.0
    leader_share: Fraction = 0.5
    costs: Literal["calibrated", "plain"] = "calibrated"
    exploration: Annotated[float, between(0, 1e3)] = 2.0
    exponent: Annotated[float, between(1.001, 100)] = 1.3
    first: Annotated[int, whole(1, 2**53)] = 1

    def rule(self, n_arms: int) -> Rule:
        constant = pair_constant(self.threshold, self.delta, n_arms, self.exponent)
        threshold, calibrated = RULES.index(self.threshold), self.costs == "calibrated"
        return Rule(
            self.epsilon, self.delta, self.leader_share, False, threshold, constant, self.exponent,
            self.exploration, calibrated, eta=self.eta, first=self.first,
        )  # fmt: skip


@dataclass(frozen=True)
class AdaPTT(BatchedTopTwo):
    """AdaP-TT: Azize, Jourdan, Al Marjani & Basu (2023), with a choice of thresholds.

    An arm's batch ends when its pulls have doubled, and its estimate μ̃_a is the mean of the last
    batch, of size n_a, plus Lap(1/(ε·n_a)): earlier batches are forgotten. With T the pulls
    released so far, the leader B has the largest μ̃_a + log T/(ε·n_a) + √(log T/(2·n_a)), and the
    challenger has the least (μ̃_B − μ̃_a)/√(1/N_B + 1/N_a), N the pulls so far. The rule stops
    when, for ã = argmax μ̃ and every other arm, (μ̃_ã − μ̃_a)²/(2(1/n_ã + 1/n_a)) is above the
    threshold: `thresholds.gaussian_threshold`. Proof: :prf:ref:`prop-adap`.

    Parameters
    ----------
    epsilon, delta, leader_share : float
        As of `DPTT`; ε is finite.
    threshold : {"theoretical", "separate", "heuristic", "published"}
        "theoretical" is δ-correct. "published" and "heuristic" are what the authors' code holds,
        the second of them in use there, and nothing is proved for them. "separate" is ours and
        δ-correct: the gap itself against `thresholds.separate_threshold`, as in `AdaPTTStar`.

    Notes
    -----
    Deviations from the authors' code. There the leader is played with probability β; here its
    share is tracked, without randomness. There the cost has a bonus 1/(1 + √T) on the gap; here it
    has none. There the rule stops for the leader; here for the arm with the largest estimate.
    There the stopping time leaves out the pulls of open batches; here it counts them. Their union
    leaves out the pairs of phases.
    """

    label: ClassVar[str] = "AdaP-TT"
    source: ClassVar[str] = "AJAB23"

    epsilon: Positive
    delta: Fraction
    threshold: Literal["theoretical", "separate", "heuristic", "published"] = "theoretical"
    leader_share: Fraction = 0.5

    @property
    def is_correct(self) -> bool:
        return self.threshold in ("theoretical", "separate")

    def rule(self, n_arms: int) -> Rule:
        threshold = RULES.index(self.threshold)
        return Rule(self.epsilon, self.delta, self.leader_share, True, threshold)


@dataclass(frozen=True)
class AdaPTTStar(BatchedTopTwo):
    """AdaP-TT*: AdaP-TT with a cost that adapts to ε, reconstructed.

    The challenger has the least min(2g²/(1/N_B + 1/N_a), ε·g·min(N_B, N_a)) with g = μ̃_B − μ̃_a,
    what the two costs of changing the order are without privacy (of [0, 1]-valued rewards) and at
    small ε. The rule stops when, for ã = argmax μ̃ and every other arm, μ̃_ã − μ̃_a is above
    `thresholds.separate_threshold`, which is δ-correct. All else is as in `AdaPTT`.

    Parameters
    ----------
    epsilon, delta, leader_share : float
        As of `AdaPTT`.

    Notes
    -----
    The paper's own costs and threshold could not be read: both are ours. To compare the gap itself
    with the two deviations that make it up is stronger than to compare the cost with a threshold.
    """

    label: ClassVar[str] = "AdaP-TT*"
    source: ClassVar[str] = "AJAB23, reconstructed"

    epsilon: Positive
    delta: Fraction
    leader_share: Fraction = 0.5

    def rule(self, n_arms: int) -> Rule:
        threshold = RULES.index("separate")
        return Rule(
            self.epsilon, self.delta, self.leader_share, True, threshold, cost_epsilon=self.epsilon
        )
