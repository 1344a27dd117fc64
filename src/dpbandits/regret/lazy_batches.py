"""Algorithms that release each arm's rewards batch by batch: the loop that they share.

The batches of an arm grow by the factor 1 + η. When an arm's open batch is full, the sum of its
rewards is released with one Laplace variable of scale 1/ε, its next batch opens, and it is decided
which arms are pulled until the next release. Between two releases nothing random happens except
for draws of arms, so that a run goes from release to release: it takes O(K log T) steps.

Every reward is in one batch, which is released once, and all else depends on released sums, sizes
of batches and private randomness: the sequence of pulls is ε-differentially private.
"""

from __future__ import annotations

import abc
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits.configuration import Budget, between
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.lazy_indices import choose_calibrated, choose_kl, choose_least_evidence, choose_ucb
from dpbandits.regret.base import Play, RegretAlgorithm, Rng, Times, write_arms
from dpbandits.regret.lazy_sampling import first_of, first_to_finish, largest_draw
from dpbandits.rewards.streams import FixedRewards, Tape, has_next, next_total, tape_of
from dpbandits.schedules import next_size

__all__ = [
    "CALIBRATED",
    "EVIDENCE",
    "KL",
    "RACE",
    "SAMPLE",
    "UCB",
    "LazyBatches",
    "LazyRule",
    "Released",
    "posteriors",
    "run_lazy_batches",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UCB, KL, CALIBRATED, EVIDENCE, SAMPLE, RACE = range(6)
"""How a `LazyRule` chooses: see `LazyRule.first`."""


class LazyRule(NamedTuple):
    """What a compiled loop is told of an algorithm of lazy batches.

    Attributes
    ----------
    kind : int
        `UCB` …: how the next arm is chosen.
    epsilon, eta : float
        Privacy budget ε, and growth η of the batches.
    forgets : bool
        Whether an estimate rests on the arm's last batch alone.
    first, second : float
        Of `UCB`: the factors of `choose_ucb`. `KL`: α. `CALIBRATED`: the slack ξ. `EVIDENCE`:
        whether the noises count, 1 or 0. `SAMPLE` and `RACE`, a draw from the posteriors for each
        batch or for each pull: α.
    """

    kind: int
    epsilon: float
    eta: float
    forgets: bool
    first: float
    second: float = 0.0


class Released(NamedTuple):
    """What the algorithm knows of the arms; all arrays have shape (K,).

    Attributes
    ----------
    totals : numpy.ndarray of float
        Released sum that an arm's estimate rests on, noise included.
    rewards, noises : numpy.ndarray of int
        How many rewards n_a and Laplace variables k_a are in it.
    """

    totals: Floats
    rewards: Ints
    noises: Ints


class _State(NamedTuple):
    """What a run knows between two releases."""

    released: Released
    pulls: Ints  # (K,)
    sizes: Ints  # (K,): of the open batches
    due: Ints  # (K,): pulls that they still need
    given: Floats  # (1,): the sum that was asked for
    clock: Ints  # (4,): pulls, releases, checkpoints passed, whether a sum was asked for


def _start(n_arms: int) -> _State:
    rewards, noises, pulls = np.zeros((3, n_arms), np.int64)
    sizes, due = np.ones((2, n_arms), np.int64)
    released = Released(np.zeros(n_arms), rewards, noises)
    return _State(released, pulls, sizes, due, np.zeros(1), np.zeros(4, np.int64))


@njit(cache=True, nogil=True)
def posteriors(released: Released, t: int, alpha: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return centres and standard deviations of the posteriors of `LazyDPTS` before pull t."""
    raised = released.totals + alpha * math.log(t) / epsilon
    centres = raised / released.rewards
    return np.minimum(np.maximum(centres, 0.0), 1.0), 1.0 / np.sqrt(released.rewards)


@njit(cache=True, nogil=True)
def _choose(rule: LazyRule, released: Released, t: int, rng: Rng) -> int:
    """Return the arm whose next batch begins with pull number t."""
    totals, rewards, noises = released.totals, released.rewards, released.noises
    log_t, epsilon = math.log(t), rule.epsilon
    if rule.kind == UCB:
        return choose_ucb(totals, rewards, log_t, rule.first, rule.second, epsilon)
    if rule.kind == KL:
        return choose_kl(totals, rewards, log_t, rule.first, epsilon)
    if rule.kind == CALIBRATED:
        level = log_t + rule.first * math.log1p(log_t)
        return choose_calibrated(totals, rewards, noises, level, epsilon)
    if rule.kind == EVIDENCE:
        counted = noises if rule.first > 0.0 else np.zeros_like(noises)
        return choose_least_evidence(totals, rewards, counted, epsilon)
    centres, deviations = posteriors(released, t, rule.first, epsilon)
    arm, largest = 0, -math.inf
    for a in range(centres.size):
        drawn = rng.normal(centres[a], deviations[a])
        if drawn > largest:
            arm, largest = a, drawn
    return arm


@njit(cache=True, nogil=True)
def run_lazy_batches(
    rule: LazyRule,
    state: _State,
    tape: Tape,
    checkpoints: Times,
    counts: Ints,
    ends: Ints,
    rng: Rng,
) -> int:
    """Play on until the last checkpoint, or until the sum of a batch is not on the tape.

    First each arm has a batch of one pull in turn. A batch that the horizon cuts short is not
    released. Writes the counts, and the times of the releases into `ends`.

    Returns
    -------
    int
        The arm whose open batch, of size ``state.sizes[arm]``, is asked for; −1 at the end.
    """
    released, pulls, due = state.released, state.pulls, state.due
    n_arms, last = pulls.size, checkpoints[-1]
    t, turn, c, asked = state.clock
    arm = asked - 1
    while asked > 0 or t < last:
        if asked == 0:
            stretch = np.zeros(n_arms, np.int64)  # pulls of the arms up to the release
            if turn >= n_arms and rule.kind == RACE:
                shares = largest_draw(*posteriors(released, t + 1, rule.first, rule.epsilon))
                arm, stretch = first_to_finish(rng, shares, due)
            else:
                arm = turn if turn < n_arms else _choose(rule, released, t + 1, rng)
                stretch[arm] = due[arm]
            end = t + stretch.sum()
            inside = c
            while inside < checkpoints.size and checkpoints[inside] < end:
                inside += 1
            if inside > c:
                stretch[arm] -= 1  # the last pull is of that arm
                counts[c:inside] = pulls + first_of(rng, stretch, checkpoints[c:inside] - t)
                stretch[arm] += 1
                c = inside
            t = end
            if t > last:
                break
            pulls += stretch
            due -= stretch
            if checkpoints[c] == t:
                counts[c] = pulls
                c += 1
            if not has_next(tape, arm, state.sizes[arm]):
                state.clock[0], state.clock[1], state.clock[2] = t, turn, c
                state.clock[3] = arm + 1
                return arm
            total = next_total(tape, arm, state.sizes[arm], rng)
        else:
            total = state.given[0]
            asked = 0
        total += rng.laplace(0.0, 1.0 / rule.epsilon)
        size = state.sizes[arm]
        if rule.forgets:
            released.totals[arm], released.rewards[arm], released.noises[arm] = 0.0, 0, 0
        released.totals[arm] += total
        released.rewards[arm] += size
        released.noises[arm] += 1
        state.sizes[arm] = due[arm] = next_size(size, pulls[arm], rule.eta, rule.forgets)
        ends[turn] = t
        turn += 1
    state.clock[1], state.clock[3] = turn, 0
    return -1


@njit(cache=True, nogil=True)
def _table_runs(
    rule: LazyRule, state: _State, tape: Tape, n_runs: int, rng: Rng
) -> NDArray[np.int8]:
    """Play a table of rewards many times."""
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, ends = np.arange(1, n_pulls + 1), np.empty(n_pulls + 1, np.int64)
    counts = np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        tape.read[:], state.clock[:], state.pulls[:] = 0, 0, 0
        state.sizes[:], state.due[:] = 1, 1
        state.released.totals[:], state.released.rewards[:] = 0.0, 0
        state.released.noises[:] = 0
        run_lazy_batches(rule, state, tape, times, counts, ends, rng)
        write_arms(counts, arms[r])
    return arms


class LazyBatches(RegretAlgorithm):
    """Base class: one batch of each arm in turn, then as the rule says. The horizon is not used."""

    # fields of the subclasses
    epsilon: Budget
    """Privacy budget ε of the sequence of pulls."""
    eta: Annotated[float, between(0.05, 100.0)]
    """Growth η of the batches."""

    forgets: ClassVar[bool] = True
    """Whether an estimate rests on the arm's last batch alone."""

    @property
    @abc.abstractmethod
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""

    def _rule(self, kind: int, first: float, second: float = 0.0) -> LazyRule:
        return LazyRule(kind, self.epsilon, self.eta, self.forgets, float(first), float(second))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls.

        A reward is in one batch, of sensitivity 1, which is released once, with one Lap(1/ε).
        """
        return PrivacyGuarantee("global", self.epsilon)

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        """Play once; see `RegretAlgorithm.play`."""
        rewards = instance.rewards(rng)
        n_arms = rewards.n_arms
        state, tape = _start(n_arms), tape_of(rewards)
        counts = np.zeros((checkpoints.size, n_arms), np.int64)
        batches = 3 + int(math.log(checkpoints[-1]) / math.log1p(self.eta))  # of an arm, at most
        ends = np.empty(n_arms * batches, np.int64)
        run = self.rule, state, tape, checkpoints, counts, ends, rng
        while (arm := run_lazy_batches(*run)) >= 0:
            state.given[0] = rewards.total(arm, int(state.sizes[arm]))
        return Play(counts, ends[: state.clock[1]].copy())

    def play_table(self, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
        """Play a table many times; see `RegretAlgorithm.play_table`."""
        tape = tape_of(FixedRewards(table, log=False))
        arms: NDArray[np.int8] = _table_runs(self.rule, _start(len(table)), tape, n_runs, rng)
        return arms
