"""Index policies: pull by pull, and by certified skipping, in far less than one step per pull.

One loop, to be read beside the pseudo-code, plays UCB, DP-UCB, DP-UCB-BOUND and DP-UCB-HYBRID pull
by pull, on Bernoulli arms, on any other source of rewards and under audit.

*Skipping.* While an arm is pulled, the indices of the others are frozen but for log t. If the
leader's index is far enough above them, it stays the leader for a whole stretch of pulls, whatever
the rewards and the noise of the stretch do within known limits; then only the stretch's sum of
rewards (one Binomial) and the few tree nodes that are read again have to be drawn.

A certificate for arm a, which leads before pull t + 1 with n pulls, reward sum S and prefix noise
Z, is a number m of pulls and a barrier z. With U the largest index of the others at time t + m and
c the reward band,

    f(r) = S + μ r − c + γ + √(2 log(t+1) (n+r)) − U (n+r),      z = min(f(0), f(m−1)),

arm a leads before each of the pulls t + 1 … t + m as long as the noise Z_r > −z, except with
probability 10⁻¹⁶. When the noise first reaches −z is not bounded but drawn, by
`dpbandits.mechanisms.first_passage`. Proof: :prf:ref:`skip-certificate`, :prf:ref:`skip-sound`; for
DP-UCB-BOUND, whose f has the width ν too, :prf:ref:`lem-walk-hybrid`.
"""

from __future__ import annotations

import abc
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.mechanisms.counters import HYBRID_STATE, next_hybrid_noise
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    FirstPassageTable,
    first_passage_table,
    next_prefix_noise,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Play, RegretAlgorithm, Times, write_arms
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.streams import (
    DrawnRewards,
    FixedRewards,
    Rewards,
    Tape,
    bernoulli_tape,
    refill,
    tape_of,
)
from dpbandits.schedules import noise_bracket_kernel

__all__ = [
    "MAX_SKIPS",
    "SKIP_ERROR",
    "IndexAlgorithm",
    "IndexPolicy",
    "SkipTally",
    "play_index_policy",
    "play_index_table",
    "play_per_step",
    "skip_and_tally",
]

TREE, BLOCKS, ADVANCING = 0, 1, 2
"""Counters of an `IndexPolicy`: binary trees; hybrid ones; hybrid ones that all get an element at
every step, the reward for the arm that is pulled, a zero for all others."""


class IndexPolicy(NamedTuple):
    """What tells the policies apart: index_b = (S_b + Z_b + γ + ν_b)/n_b + √(2 log t/n_b).

    S_b is the arm's sum of rewards, n_b its number of pulls, Z_b the noise of its counter. The
    width ν_b = factor·log t·`noise_bracket` is that of DP-UCB-BOUND, 4√8·λ·log t·(log2 n' + 1).
    """

    scale: float = 0.0  # λ, of the noise of a node or a block; 0 draws none (UCB1)
    gamma: float = 0.0
    counter: int = TREE
    ucb_term: bool = True  # whether the index has its last term
    factor: float = 0.0
    repaired: bool = False  # whether the bracket is ⌊log2 n⌋ + 1, not that of the pseudo-code


class State(NamedTuple):
    """What a run knows between two pulls; arrays of shape (K,) unless it says otherwise."""

    pulls: Ints
    sums: Floats
    noise: Floats
    counters: Floats  # (K, 65)
    powers: Ints  # the greatest power of two up to the arm's pulls, where ν needs it
    means: Floats  # (S + Z + γ)/n
    widths: Floats  # ν/(n log t)
    inverse_roots: Floats
    clock: Ints  # (2,): pulls so far, checkpoints passed


def start(n_arms: int) -> State:
    """Return the state before the first pull."""
    pulls, powers = np.zeros((2, n_arms), np.int64)
    sums, noise, means, widths, roots = np.zeros((5, n_arms))
    counters = np.zeros((n_arms, max(TREE_LEVELS, HYBRID_STATE)))
    clock = np.zeros(2, np.int64)
    return State(pulls, sums, noise, counters, powers, means, widths, roots, clock)


@kernel
def index_leader(
    means: Floats, widths: Floats, inverse_roots: Floats, log_t: float, root: float
) -> tuple[int, float, float]:
    """Return the arm of the largest index, ties to the lowest number, and the two largest indices.

    Of (S_b + Z_b + γ)/n_b, ν_b/(n_b log t) and 1/√n_b, log t, and √(2 log t) or 0.
    """
    arm, highest, rival = 0, -math.inf, -math.inf
    for b in range(means.size):
        index = means[b] + log_t * widths[b] + root * inverse_roots[b]
        if index > highest:
            arm, highest, rival = b, index, highest
        elif index > rival:
            rival = index
    return arm, highest, rival


@kernel
def next_noise(rng: Rng, policy: IndexPolicy, counters: Floats, arm: int, n: int) -> float:
    """Draw the variable of a counter's n-th element; return the noise of its sum."""
    if policy.counter == TREE:
        return next_prefix_noise(rng, policy.scale, counters, arm, n)
    return next_hybrid_noise(rng, policy.scale, policy.scale, counters, arm, n)


@kernel
def release(policy: IndexPolicy, state: State, arm: int, n: int, noise: float) -> None:
    """Write what the index of an arm is made of, after n pulls of it."""
    state.pulls[arm] = n
    state.means[arm] = (state.sums[arm] + noise + policy.gamma) / n
    state.inverse_roots[arm] = 1.0 / math.sqrt(n)
    if policy.factor > 0.0:
        if n & (n - 1) == 0:
            state.powers[arm] = n
        state.widths[arm] = (
            policy.factor * noise_bracket_kernel(n, state.powers[arm], policy.repaired) / n
        )


@kernel
def _run(
    policy: IndexPolicy, state: State, tape: Tape, checkpoints: Times, counts: Ints, rng: Rng
) -> int:
    """Play on until the last checkpoint, or until an arm is chosen whose rewards are all read.

    Pulls 1..K play arms 0..K-1, then the largest index, ties to the lowest arm number. A pull
    draws one uniform variable for the reward and, if there is noise, one Laplace variable for each
    counter that gets an element. Returns that arm, or −1 at the end.
    """
    pulls, sums, noise, counters, _, means, widths, inverse_roots, clock = state
    chances, table, _, read, ends = tape
    drawn = chances.size > 0
    t, c = clock
    while c < checkpoints.size:
        if t == checkpoints[c]:
            counts[c] = pulls
            c += 1
            continue
        arm = t
        if t >= pulls.size:
            log_t = math.log(t + 1)
            root = math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0
            arm = index_leader(means, widths, inverse_roots, log_t, root)[0]
        if not drawn and read[arm] == ends[arm]:
            clock[0], clock[1] = t, c
            return arm
        t += 1
        n = pulls[arm] + 1
        pulls[arm] = n
        uniform = rng.random()  # in any case, so that the noise is the same on every source
        if drawn:
            if uniform < chances[arm]:
                sums[arm] += 1.0
        else:
            sums[arm] += table[arm, read[arm]]
            read[arm] += 1
        if policy.scale > 0.0:
            if policy.counter == ADVANCING:
                for b in range(pulls.size):
                    noise[b] = next_noise(rng, policy, counters, b, t)
                    means[b] = (sums[b] + noise[b]) / pulls[b] if pulls[b] > 0 else 0.0
            else:
                noise[arm] = next_noise(rng, policy, counters, arm, n)
        release(policy, state, arm, n, noise[arm])
    return -1


def play_steps(
    run: Any, policy: Any, state: Any, rewards: Rewards, checkpoints: Times, rng: Rng, *more: Any
) -> Ints:
    """Play a compiled loop to its end; whenever it wants a reward, ask the source.

    Returns the pulls of each arm among the first ``checkpoints[c]`` pulls, shape (C, K).
    """
    tape = tape_of(rewards)
    counts = np.zeros((checkpoints.size, rewards.n_arms), np.int64)
    while (arm := run(policy, state, tape, checkpoints, counts, rng, *more)) >= 0:
        refill(tape, rewards, arm)
    return counts


def play_index_policy(policy: IndexPolicy, rewards: Rewards, checkpoints: Times, rng: Rng) -> Ints:
    """Play an index policy pull by pull, on any source of rewards; return the counts, (C, K)."""
    return play_steps(_run, policy, start(rewards.n_arms), rewards, checkpoints, rng)


def play_per_step(
    means: ArrayLike, node_scale: float, gamma: float, checkpoints: Times, rng: Rng
) -> Ints:
    """Play the index (S + Z + γ)/n + √(2 log t/n) of UCB and DP-UCB on Bernoulli arms.

    `node_scale` is λ, the scale of the noise of one tree node. Checkpoints are increasing numbers
    of pulls, the last the horizon T. Returns the counts, shape (C, K).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> play_per_step([1.0, 0.0], 0.0, 0.0, np.array([2, 100]), rng).tolist()
    [[1, 1], [94, 6]]
    """
    policy, tape = IndexPolicy(float(node_scale), float(gamma)), bernoulli_tape(means)
    counts = np.zeros((checkpoints.size, tape.means.size), np.int64)
    _run(policy, start(tape.means.size), tape, checkpoints, counts, rng)
    return counts


def play_index_table(policy: IndexPolicy, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play an index policy many times on a table of rewards; see `RegretAlgorithm.play_table`."""
    tape = tape_of(FixedRewards(table, log=False))
    arms: NDArray[np.int8] = _table_runs(policy, start(len(table)), tape, n_runs, rng)
    return arms


@kernel
def _table_runs(
    policy: IndexPolicy, state: State, tape: Tape, n_runs: int, rng: Rng
) -> NDArray[np.int8]:
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        tape.read[:], state.pulls[:], state.clock[:] = 0, 0, 0
        state.sums[:], state.noise[:] = 0.0, 0.0
        _run(policy, state, tape, times, counts, rng)
        write_arms(counts, arms[r])
    return arms


SKIP_ERROR = 1e-16
"""Probability, at most, that the rewards of one skip leave their band."""

LOG_ERROR = -math.log(SKIP_ERROR)
"""log(1/`SKIP_ERROR`), as `reward_band` takes it."""

MAX_SKIPS = 4_000_000
"""Skips of one run, at most; a run that has used them up goes on pull by pull."""

# What follows steers only the speed: any choice of stretches gives the same law.
_NOISE_RESERVE = 30.0  # node scales of a lead that are enough for the noise
_NOISY_SHORTEST = 32  # pulls that make a skip worth its cost
_NOISELESS_SHORTEST = 128


class SkipTally(NamedTuple):
    """What a run by skipping did: numbers of skips, of pulls inside skips, and of other pulls."""

    skips: int
    skipped_pulls: int
    plain_pulls: int
    first_passages: int


@kernel
def rival_index(
    means: Floats, widths: Floats, inverse_roots: Floats, leader: int, log_t: float, root: float
) -> float:
    """Return the largest index of the other arms, as `index_leader` computes it."""
    rival = -np.inf
    for b in range(means.size):
        if b != leader:
            rival = max(rival, means[b] + log_t * widths[b] + root * inverse_roots[b])
    return rival


@kernel
def _later_rival(policy: IndexPolicy, state: State, leader: int, last: int) -> float:
    """Return the largest index of the other arms before pull number `last`, were none pulled."""
    log_t = math.log(last)
    root = math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0
    return rival_index(state.means, state.widths, state.inverse_roots, leader, log_t, root)


@kernel
def aligned(n: int, stretch: int) -> int:
    """Shorten a stretch after n to end at a multiple of a large power of two: few subtrees."""
    unit = 1
    while unit << 3 <= stretch:
        unit <<= 1
    return stretch - (n + stretch) % unit


@kernel
def pass_checkpoints(
    counts: Ints, checkpoints: Times, passed: int, t: int, pulls: Ints, arm: int
) -> int:
    """Count the pulls at the checkpoints up to t, where `arm` alone was pulled since the last."""
    while passed < checkpoints.size and checkpoints[passed] <= t:
        counts[passed] = pulls
        counts[passed, arm] -= t - checkpoints[passed]
        passed += 1
    return passed


@kernel
def reward_band(mean: float, stretch: int, log_error: float) -> float:
    """Return c with P(S_r < S + μ r − c for some r ≤ stretch) ≤ exp(−log_error).

    √(2 v m log_error), v the largest Bernoulli variance between μ − √(log_error/(2m)) and μ.
    Proof: :prf:ref:`skip-band`.
    """
    if mean <= 0.0 or mean >= 1.0:
        return 0.0  # the rewards are certain
    low = max(mean - math.sqrt(log_error / (2.0 * stretch)), 0.0)
    if low <= 0.5 <= mean:
        variance = 0.25
    else:
        variance = max(mean * (1.0 - mean), low * (1.0 - low))
    return math.sqrt(2.0 * variance * log_error * stretch)


@kernel
def barrier_over(
    n: int,
    total: float,
    mean: float,
    rival: float,
    root: float,
    stretch: int,
    log_error: float,
    width: float = 0.0,
    power: int = 1,
    repaired: bool = False,
) -> float:
    """Return z = min(f(0), f(m − 1)), with S + γ = `total` and √(2 log(t + 1)) = `root`.

    ν is `width` times the bracket. A slack is taken off, thousands of times the rounding of f and
    of the indices that are compared.
    """
    last = n + stretch - 1
    at_first = (
        total + width * noise_bracket_kernel(n, power, repaired) + root * math.sqrt(n) - rival * n
    )
    end = total + mean * (stretch - 1.0) + width * noise_bracket_kernel(last, power, repaired)
    at_last = end + root * math.sqrt(last) - rival * last
    slack = 1e-9 + 1e-12 * (abs(total) + width * 64.0 + (abs(rival) + 1.0) * last)
    return min(at_first, at_last) - reward_band(mean, stretch, log_error) - slack


@kernel
def proposed_stretch(budget: float, drift: float, mean: float, log_error: float) -> float:
    """Return the stretch m over which the reward band and a downward drift use up the budget."""
    band = math.sqrt(2.0 * mean * (1.0 - mean) * log_error)
    drift = max(drift, 0.0)
    # √m is the positive root of band √m + drift m = budget
    denominator = band + math.sqrt(band * band + 4.0 * drift * budget)
    if denominator > 0.0:
        return (2.0 * budget / denominator) ** 2
    return math.inf


@kernel
def certify(
    policy: IndexPolicy,
    state: State,
    arm: int,
    rival: float,
    lead: float,
    mean: float,
    t: int,
    most: int,
    node_scale: float,
    table: FirstPassageTable,
    error: float,
) -> tuple[int, float]:
    """Return a certificate (m, z), m ≤ `most`, for the leader, or m = 0 when none is worth a skip.

    `lead` is how much larger the sum of its rewards is than it must be.
    """
    n, power, repaired = state.pulls[arm], state.powers[arm], policy.repaired
    total = state.sums[arm] + policy.gamma
    noise = prefix_noise_at(state.counters, arm, n)
    log_t, log_error = math.log(t + 1.0), -math.log(error)
    root = math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0
    width = policy.factor * log_t
    # Part of the lead is kept for the noise; a stretch that the noise ends early wastes band.
    kept, needed, room = 0.2 * lead, 0.0, table.limits.size - 1
    shortest = _NOISELESS_SHORTEST
    if node_scale > 0.0:
        kept = min(0.8 * lead, max(kept, _NOISE_RESERVE * node_scale))
        needed = 0.5 * kept
        room = int(min(lead / (table.cell_width * node_scale), float(room)))
        shortest = _NOISY_SHORTEST
    drift = rival - mean - 0.5 * root / math.sqrt(n)
    if width > 0.0 and not repaired:
        drift -= width / ((n - power) * math.log(2.0))
    longest = float(min(most, table.limits[room]))
    stretch = int(min(proposed_stretch(lead - kept, drift, mean, log_error), longest))
    while stretch >= shortest:
        barrier = barrier_over(
            n, total, mean, rival, root, stretch, log_error, width, power, repaired
        )
        if barrier + noise > needed:  # else it is too low for the rival's later index all the more
            later = _later_rival(policy, state, arm, t + stretch)
            barrier = barrier_over(
                n, total, mean, later, root, stretch, log_error, width, power, repaired
            )
        if node_scale > 0.0 and stretch < most:
            stretch = aligned(n, stretch)
        enough = policy.counter == TREE or stretch >= shortest
        if barrier + noise > needed and enough:
            return stretch, barrier
        stretch //= 2
    return 0, 0.0


@kernel
def _pull_while_leading(
    rng: Rng,
    policy: IndexPolicy,
    state: State,
    arm: int,
    mean: float,
    floor: float,
    rival: float,
    block: int,
) -> tuple[int, float]:
    """Pull the arm once, and on, up to `block` times, while it certainly leads.

    `rival` bounds the other indices over the block; `floor` is γ plus what ν and √(2 log t n) are
    at least. Returns the arm's pulls and its noise; the rewards are added to its sum.
    """
    rival += 1e-12 * (abs(rival) + 1.0)  # more than rounding
    n, total, noise = state.pulls[arm], state.sums[arm], 0.0
    last = n + block
    while True:
        n += 1
        if rng.random() < mean:
            total += 1.0
        if policy.scale > 0.0:
            noise = next_noise(rng, policy, state.counters, arm, n)
        if n == last or total + noise + floor <= rival * n:
            state.sums[arm] = total
            return n, noise


@kernel
def _play(
    means: Floats,
    policy: IndexPolicy,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
) -> tuple[Ints, Ints]:
    """Play an index policy with skips; return the counts and the tally."""
    pulls, counters, powers = state.pulls, state.counters, state.powers
    horizon, noisy = checkpoints[-1], policy.scale > 0.0
    counts = np.zeros((checkpoints.size, means.size), np.int64)
    skips, skipped_pulls, first_passages = 0, 0, 0
    block_size = (_NOISY_SHORTEST if noisy else _NOISELESS_SHORTEST) // 2
    t, c = 0, 0
    while t < horizon:
        arm, stretch, block, rival, floor, barrier = t, 0, 1, math.inf, 0.0, 0.0
        node_scale = policy.scale
        if t >= means.size:
            log_t = math.log(t + 1.0)
            root = math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0
            arm, highest, rival = index_leader(
                state.means, state.widths, state.inverse_roots, log_t, root
            )
            n, most, may_stay = pulls[arm], horizon - t, True
            if policy.counter == TREE:
                lead = (state.means[arm] - rival) * n + root * math.sqrt(n)
            else:  # up to the next power of two the counter's noise is that of one tree
                lead = (highest - rival) * n
                node_scale *= math.log2(powers[arm])
                last = 2 * powers[arm] - 1 - n
                most = min(most, last)
                may_stay = (policy.repaired or n > powers[arm]) and last > 1
            if may_stay and lead > node_scale:
                if skips < max_skips:
                    stretch, barrier = certify(
                        policy, state, arm, rival, lead, means[arm], t, most, node_scale, table,
                        SKIP_ERROR,
                    )  # fmt: skip
                if stretch == 0:
                    block = min(block_size, most)
                    rival = _later_rival(policy, state, arm, t + block)
                    width = (
                        policy.factor
                        * log_t
                        * noise_bracket_kernel(n, powers[arm], policy.repaired)
                    )
                    floor = policy.gamma + width + root * math.sqrt(n)
        before, noise = pulls[arm], 0.0
        if stretch > 0:
            n = before + stretch
            if noisy:
                n = walk_to_first_passage(
                    rng, table, node_scale, barrier, counters, arm, before, before + stretch
                )
                noise = prefix_noise_at(counters, arm, n)
                first_passages += n < before + stretch
            state.sums[arm] += binomial(rng, n - before, means[arm])
            skips += 1
            skipped_pulls += n - before
        else:
            n, noise = _pull_while_leading(rng, policy, state, arm, means[arm], floor, rival, block)
        t += n - before
        release(policy, state, arm, n, noise)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return counts, np.array([skips, skipped_pulls, t - skipped_pulls, first_passages])


def _skips(
    policy: IndexPolicy, means: ArrayLike, checkpoints: ArrayLike, rng: Rng, max_skips: int
) -> tuple[Ints, SkipTally]:
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    if means.size == 1:  # nothing to decide
        return checkpoints[:, None], SkipTally(0, 0, int(checkpoints[-1]), 0)
    table = first_passage_table()
    counts, tally = _play(means, policy, start(means.size), checkpoints, rng, table, max_skips)
    return counts, SkipTally(*tally.tolist())


def skip_and_tally(
    means: ArrayLike,
    node_scale: float,
    gamma: float,
    checkpoints: ArrayLike,
    rng: Rng,
    max_skips: int = MAX_SKIPS,
) -> tuple[Ints, SkipTally]:
    """Play the index (S + Z + γ)/n + √(2 log t/n) on Bernoulli arms, with certified skips.

    The law of the counts is that of `play_per_step` up to a total
    variation distance of at most ``MAX_SKIPS * SKIP_ERROR`` = 4·10⁻¹⁰ a run, in exact arithmetic
    with ideal random numbers: noise and sums of rewards are drawn with their exact laws, and the
    rewards of a skip leave a band with a probability of at most `SKIP_ERROR`. Proof:
    :prf:ref:`skip-tv`.

    Arguments are as of `play_per_step`; with `max_skips` = 0 every pull is simulated. Returns the
    counts, exact also inside skips, as only the leader is pulled there, and what the run did.

    Examples
    --------
    >>> checkpoints, rng = np.array([10**6, 10**9]), np.random.default_rng(0)
    >>> counts, tally = skip_and_tally([0.75, 0.25], 100.0, 1000.0, checkpoints, rng)
    >>> counts.sum(axis=1).tolist(), tally.plain_pulls < 10**6
    ([1000000, 1000000000], True)
    """
    policy = IndexPolicy(float(node_scale), float(gamma))
    return _skips(policy, means, checkpoints, rng, max_skips)


class IndexAlgorithm(RegretAlgorithm):
    """Base of the algorithms that an `IndexPolicy` describes, certified skipping included."""

    @abc.abstractmethod
    def policy(self, n_arms: int, horizon: int) -> IndexPolicy:
        """Return the index, for compiled loops."""

    @property
    def skips(self) -> bool:
        """Whether Bernoulli arms are played by certified skipping; others are played per step."""
        return getattr(self, "engine", "skipping") == "skipping"

    def play(self, instance: Any, horizon: int, checkpoints: Times, rng: Rng) -> Play:
        rewards = instance.rewards(rng)
        policy = self.policy(rewards.n_arms, horizon)
        if type(rewards) is DrawnRewards and self.skips:
            return Play(self._play_skipping(policy, rewards.means, checkpoints, rng))
        return Play(play_index_policy(policy, rewards, checkpoints, rng))

    def _play_skipping(
        self, policy: IndexPolicy, means: Floats, checkpoints: Times, rng: Rng
    ) -> Ints:
        return _skips(policy, means, checkpoints, rng, MAX_SKIPS)[0]

    def play_table(self, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
        return play_index_table(self.policy(*table.shape), table, n_runs, rng)
