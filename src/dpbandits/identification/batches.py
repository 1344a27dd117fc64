"""Top Two algorithms whose decisions rest on released batches: the loop that they share.

Arm a is released when its pulls reach the next number of a grid: the sum of its rewards since the
last release plus one Laplace variable. Between two releases nothing random happens, and
`dpbandits.identification.rounds` advances the counts; only then is the sum of the batch asked for.
`BatchedTopTwo.decide` runs on any source of rewards, `run_batches` on rewards that are drawn or
come from a table.
"""

from __future__ import annotations

import abc
import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits.configuration import Budget, Fraction
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import Decision, IdentificationAlgorithm, check_run, next_total
from dpbandits.identification.rounds import (
    BatchState,
    Costs,
    advance,
    closed_costs,
    transport_costs,
)
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_threshold,
    pair_threshold,
    separate_threshold,
)
from dpbandits.identification.transport import calibrated_cost_kernel, transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards
from dpbandits.schedules import MOST_PULLS, next_release

__all__ = ["BatchState", "BatchedTopTwo", "Rule", "estimates", "run_batches", "stops"]

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


@njit(cache=True, nogil=True)
def _following(rule: Rule, pulls: int) -> int:
    """Return the pulls at which an arm is released after `pulls`."""
    if rule.doubles:
        return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1
    return next_release(pulls, rule.eta, rule.first)


@njit(cache=True, nogil=True)
def estimates(rule: Rule, state: BatchState) -> Floats:
    """Return the released estimates μ̃ of the means."""
    return state.last / state.batch if rule.doubles else state.total / state.released


@njit(cache=True, nogil=True)
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
                limit = separate_threshold(delta, epsilon, n_arms, releases, batches)
            else:
                statistic = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1])
                limit = gaussian_threshold(
                    rule.threshold, delta, epsilon, n_arms, releases, batches
                )
        else:
            limit = pair_threshold(rule.threshold, rule.constant, rule.exponent, *releases)
            n, m = state.released[best], state.released[b]
            statistic = transportation_cost_kernel(means[best], means[b], n, m, epsilon)[0]
            if statistic > limit:  # W ≥ W̃: most often W is enough to say no
                r, q = releases[0] / n, releases[1] / m
                statistic = calibrated_cost_kernel(means[best], means[b], n, m, r, q, epsilon)[0]
        if not statistic > limit:
            return False
    return True


@njit(cache=True, nogil=True)
def _costs(rule: Rule, state: BatchState, means: Floats) -> Costs:
    """Return leader, challengers and costs until the next release."""
    if rule.doubles:
        log_time = math.log(state.released.sum())
        width = log_time / (rule.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
        leader = int((means + width).argmax())
        return closed_costs(leader, means[leader] - means, rule.cost_epsilon)
    ratios = state.releases / state.released if rule.calibrated else np.zeros(means.size)
    return transport_costs(int(means.argmax()), means, ratios, rule.epsilon, rule.exploration)


@njit(cache=True, nogil=True)
def _record(rule: Rule, state: BatchState, arm: int, last: float, most: int) -> None:
    """Take in what the open batch of `arm` was released as; the next one ends at `most` pulls."""
    pulls = state.pulls[arm]
    state.last[arm] = last
    state.total[arm] += last
    state.batch[arm] = pulls - state.released[arm]
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = min(_following(rule, pulls), most)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def run_batches(
    rule: Rule, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
) -> tuple[int, Ints]:
    """Run once: recommendation and pulls. As of `IdentificationAlgorithm.run_compiled`."""
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

    With L the number of rounds in which an arm leads, this one included, it is played if it has
    been played as leader in fewer than `leader_share`·L of them, and else the challenger. The rule
    for stopping is tested after each release.
    """

    # fields of the subclasses
    epsilon: Budget
    """Privacy budget ε of the whole output."""
    leader_share: Fraction
    """Share β of the rounds in which the leader is played."""

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

    def run_compiled(
        self, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
    ) -> Decision | None:
        # a subclass that changes a step of `decide` has no compiled loop
        for step in ("decide", "_next", "_release"):
            if getattr(type(self), step) is not getattr(BatchedTopTwo, step):
                return None
        return Decision(*run_batches(self.rule(means.size), means, table, rng, max_pulls, log))

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
