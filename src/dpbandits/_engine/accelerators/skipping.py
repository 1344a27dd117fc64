"""Index policies by certified skipping, in far fewer steps than pulls.

While an arm is pulled, the indices of the others change with log t only. If the leader's index is
far enough above them, it leads for a whole stretch of pulls, for all rewards and noise of the
stretch within known limits; then only the stretch's sum of rewards (one Binomial) and the few tree
nodes that are read again have to be drawn.

A certificate for arm a, which leads before pull t + 1 with n pulls, reward sum S and prefix noise
Z, is a number m of pulls and a barrier z. With U the largest index of the others at time t + m and
c the reward band,

    f(r) = S + μ r − c + γ + √(2 log(t+1) (n+r)) − U (n+r),      z = min(f(0), f(m−1)),

arm a leads before each of the pulls t + 1 … t + m as long as the noise Z_r > −z, except with
probability 10⁻¹⁶. The first time at which the noise reaches −z is not bounded but drawn, by
`dpbandits.mechanisms.first_passage`. Proof: :prf:ref:`skip-certificate`, :prf:ref:`skip-sound`; for
DP-UCB-BOUND, whose f also contains the width ν, :prf:ref:`lem-walk-hybrid`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.index_policies import (
    BlockPolicy,
    IndexPolicy,
    State,
    TreePolicy,
    count,
    has_binary_trees,
    index_leader,
    last_term,
    play_pull_by_pull,
    policy_of,
    release,
    start,
)
from dpbandits._engine.kernels import by_type, entered_for, kernel
from dpbandits.mechanisms.first_passage import (
    FirstPassageTable,
    NodeScale,
    first_passage_table,
    prefix_noise_at,
    walk_to_first_passage,
)
from dpbandits.regret.base import Play, Times
from dpbandits.regret.dp_ucb import DPUCB, UCB
from dpbandits.regret.dp_ucb_hybrid import DPUCBBound, HybridIndex
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards
from dpbandits.schedules import noise_bracket_kernel

__all__ = ["MAX_SKIPS", "SKIP_ERROR", "SkipTally", "skip_and_tally"]

SKIP_ERROR = 1e-16
"""Bound on the probability that the rewards of one skip leave their band."""

LOG_ERROR = -math.log(SKIP_ERROR)
"""log(1/`SKIP_ERROR`), as `reward_band` takes it."""

MAX_SKIPS = 4_000_000
"""Most skips of one run; a run that has used them up continues pull by pull."""

_ERROR = MAX_SKIPS * SKIP_ERROR

# These constants affect only the speed: any choice of stretches gives the same distribution.
_NOISE_RESERVE = 30.0  # lead, in scales of a node, that suffices for the noise
_NOISY_SHORTEST = 32  # pulls that make a skip worth its cost
_NOISELESS_SHORTEST = 128


class SkipTally(NamedTuple):
    """Statistics of a run by skipping.

    Attributes
    ----------
    skips : int
        Number of skips.
    skipped_pulls : int
        Number of pulls inside skips.
    plain_pulls : int
        Number of other pulls.
    first_passages : int
        Number of skips that the noise ended early.

    Examples
    --------
    >>> checkpoints, rng = np.array([10**6]), np.random.default_rng(0)
    >>> _, tally = skip_and_tally([0.75, 0.25], 0.0, 0.0, checkpoints, rng)
    >>> tally.skipped_pulls + tally.plain_pulls, tally.first_passages
    (1000000, 0)
    """

    skips: int
    skipped_pulls: int
    plain_pulls: int
    first_passages: int


class Leader(NamedTuple):
    """The arm that leads before a pull.

    Attributes
    ----------
    arm : int
        The arm.
    mean : float
        Mean of its rewards.
    rival : float
        Largest index of the other arms.

    Examples
    --------
    >>> Leader(0, mean=0.75, rival=0.5).rival
    0.5
    """

    arm: int
    mean: float
    rival: float


class LeaderIndex(NamedTuple):
    """Parts of the leader's index after n and more pulls: f without the rivals.

    Attributes
    ----------
    pulls : int
        n, its pulls.
    total : float
        S + γ.
    mean : float
        Mean μ of its rewards.
    root : float
        √(2 log(t + 1)), or 0 if the index lacks that term.
    width : float
        Factor of the bracket in ν; 0 for none.
    power : int
        The largest power of two up to n, for the bracket.
    repaired : bool
        Whether the bracket is ⌊log2 n⌋ + 1, not that of the pseudo-code.

    Examples
    --------
    >>> LeaderIndex(4, total=2.0, mean=0.5, root=3.0).width
    0.0
    """

    pulls: int
    total: float
    mean: float
    root: float
    width: float = 0.0
    power: int = 1
    repaired: bool = False


class Outlook(NamedTuple):
    """Prospects of a policy's leader before a pull.

    Attributes
    ----------
    lead : float
        Amount by which the sum of its rewards exceeds what the lead requires.
    node_scale : float
        Scale of the noise of the next nodes; 0 without noise.
    most : int
        Most pulls of a certificate.
    may_stay : bool
        Whether it can lead for more than one pull.
    any_length : bool
        Whether a certificate that is shortened to end with a subtree may be short.

    Examples
    --------
    >>> Outlook(12.0, node_scale=2.0, most=1000, may_stay=True, any_length=True).most
    1000
    """

    lead: float
    node_scale: float
    most: int
    may_stay: bool
    any_length: bool


@by_type
def leader_index(policy: Any, state: State, arm: int, mean: float, log_t: float) -> LeaderIndex:
    """Return the parts of the leader's index."""
    raise TypeError


@by_type
def outlook(
    policy: Any, state: State, arm: int, top: float, rival: float, root: float, left: int
) -> Outlook:
    """Return the prospects of the leader."""
    raise TypeError


@by_type
def allowance(policy: Any, state: State, arm: int, log_t: float) -> float:
    """Return the allowance that an index adds to the noisy sum of rewards: γ, or ν."""
    raise TypeError


@entered_for(leader_index, TreePolicy)
@kernel(borrows=True)
def _leader_index_of_tree(
    policy: TreePolicy, state: State, arm: int, mean: float, log_t: float
) -> LeaderIndex:
    total, root = state.sums[arm] + policy.gamma, math.sqrt(2.0 * log_t)
    return LeaderIndex(state.pulls[arm], total, mean, root, 0.0, 1, False)


@entered_for(outlook, TreePolicy)
@kernel(borrows=True)
def _outlook_of_tree(
    policy: TreePolicy, state: State, arm: int, top: float, rival: float, root: float, left: int
) -> Outlook:
    n = state.pulls[arm]
    lead = (state.means[arm] - rival) * n + root * math.sqrt(n)
    return Outlook(lead, policy.scale, left, True, True)


@entered_for(allowance, TreePolicy)
@kernel(borrows=True)
def _allowance_of_tree(policy: TreePolicy, state: State, arm: int, log_t: float) -> float:
    return policy.gamma


@entered_for(leader_index, BlockPolicy)
@kernel(borrows=True)
def _leader_index_of_blocks(
    policy: BlockPolicy, state: State, arm: int, mean: float, log_t: float
) -> LeaderIndex:
    root = math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0
    n, power, width = state.pulls[arm], state.powers[arm], policy.factor * log_t
    return LeaderIndex(n, state.sums[arm], mean, root, width, power, policy.repaired)


@entered_for(outlook, BlockPolicy)
@kernel(borrows=True)
def _outlook_of_blocks(
    policy: BlockPolicy, state: State, arm: int, top: float, rival: float, root: float, left: int
) -> Outlook:
    n, power = state.pulls[arm], state.powers[arm]
    last = 2 * power - 1 - n  # until the next power of two the counter's noise is that of one tree
    may_stay = (policy.repaired or n > power) and last > 1
    scale = policy.scale * math.log2(power)
    return Outlook((top - rival) * n, scale, min(left, last), may_stay, False)


@entered_for(allowance, BlockPolicy)
@kernel(borrows=True)
def _allowance_of_blocks(policy: BlockPolicy, state: State, arm: int, log_t: float) -> float:
    bracket = noise_bracket_kernel(state.pulls[arm], state.powers[arm], policy.repaired)
    return policy.factor * log_t * bracket


@kernel(borrows=True)
def rival_index(
    means: Floats, widths: Floats, inverse_roots: Floats, leader: int, log_t: float, root: float
) -> float:
    """Return the largest index of the other arms, which `index_leader` computes in the same way.

    Shapes: `means` (K,), `widths` (K,), `inverse_roots` (K,).
    """
    rival = -np.inf
    for b in range(means.size):
        if b != leader:
            rival = max(rival, means[b] + log_t * widths[b] + root * inverse_roots[b])
    return rival


@kernel(borrows=True)
def later_rival(policy: Any, state: State, leader: int, last: int) -> float:
    """Return the largest index of the other arms before pull `last` if none of them is pulled."""
    log_t = math.log(last)
    root = last_term(policy, log_t)
    return rival_index(state.means, state.widths, state.inverse_roots, leader, log_t, root)


@kernel(borrows=True)
def aligned(n: int, stretch: int) -> int:
    """Shorten a stretch after n to end at a multiple of a large power of two, for few subtrees."""
    unit = 1
    while unit << 3 <= stretch:
        unit <<= 1
    return stretch - (n + stretch) % unit


@kernel(borrows=True)
def pass_checkpoints(
    counts: Ints, checkpoints: Times, passed: int, t: int, pulls: Ints, arm: int
) -> int:
    """Write the pulls at the checkpoints up to t, if only one arm was pulled since the last.

    Shapes: `counts` (C, K), `checkpoints` (C,), `pulls` (K,).
    """
    while passed < checkpoints.size and checkpoints[passed] <= t:
        for b in range(pulls.size):
            counts[passed, b] = pulls[b]
        counts[passed, arm] -= t - checkpoints[passed]
        passed += 1
    return passed


@kernel(borrows=True)
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


@kernel(borrows=True)
def barrier_over(index: LeaderIndex, rival: float, stretch: int, log_error: float) -> float:
    """Return z = min(f(0), f(m − 1)), the barrier for the noise of the leader.

    A slack is subtracted, thousands of times the rounding errors of f and of the compared indices.
    """
    n, total, mean, root, width, power, repaired = index
    last = n + stretch - 1
    at_first = (
        total + width * noise_bracket_kernel(n, power, repaired) + root * math.sqrt(n) - rival * n
    )
    end = total + mean * (stretch - 1.0) + width * noise_bracket_kernel(last, power, repaired)
    at_last = end + root * math.sqrt(last) - rival * last
    slack = 1e-9 + 1e-12 * (abs(total) + width * 64.0 + (abs(rival) + 1.0) * last)
    return min(at_first, at_last) - reward_band(mean, stretch, log_error) - slack


@kernel(borrows=True)
def proposed_stretch(budget: float, drift: float, mean: float, log_error: float) -> float:
    """Return the stretch m over which the reward band and a downward drift use up the budget."""
    band = math.sqrt(2.0 * mean * (1.0 - mean) * log_error)
    drift = max(drift, 0.0)
    # √m is the positive root of band √m + drift m = budget
    denominator = band + math.sqrt(band * band + 4.0 * drift * budget)
    if denominator > 0.0:
        return (2.0 * budget / denominator) ** 2
    return math.inf


@kernel(borrows=True)
def certify(
    policy: Any,
    state: State,
    leader: Leader,
    ahead: Outlook,
    t: int,
    table: FirstPassageTable,
    error: float,
) -> tuple[int, float]:
    """Return a certificate (m, z) for the leader, or m = 0 when none is worth a skip."""
    arm, mean, rival = leader
    lead, node_scale, most, _, any_length = ahead
    log_t, log_error = math.log(t + 1.0), -math.log(error)
    index = leader_index(policy, state, arm, mean, log_t)
    n, _, _, root, width, power, repaired = index
    noise = prefix_noise_at(state.counters, arm, n)
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
        barrier = barrier_over(index, rival, stretch, log_error)
        if barrier + noise > needed:  # else it is too low for the rival's later index all the more
            later = later_rival(policy, state, arm, t + stretch)
            barrier = barrier_over(index, later, stretch, log_error)
        if node_scale > 0.0 and stretch < most:
            stretch = aligned(n, stretch)
        if barrier + noise > needed and (any_length or stretch >= shortest):
            return stretch, barrier
        stretch //= 2
    return 0, 0.0


@kernel(borrows=True)
def pull_while_leading(
    rng: Rng,
    policy: Any,
    state: State,
    arm: int,
    mean: float,
    floor: float,
    rival: float,
    block: int,
) -> tuple[int, float]:
    """Pull the arm at least once, up to `block` times, while it certainly leads.

    `rival` bounds the other indices over the block; `floor` is γ plus lower bounds of ν and of √(2
    log t n). Returns the arm's pulls and its noise; the rewards are added to its sum.
    """
    rival += 1e-12 * (abs(rival) + 1.0)  # more than rounding
    n, total, noise = state.pulls[arm], state.sums[arm], 0.0
    last = n + block
    while True:
        n += 1
        if rng.random() < mean:
            total += 1.0
        if policy.scale > 0.0:
            count(policy, state, arm, n, n, rng)
            noise = state.noise[arm]
        if n == last or total + noise + floor <= rival * n:
            state.sums[arm] = total
            return n, noise


@kernel
def _play(
    means: Floats,
    policy: Any,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
    counts: Ints,
) -> tuple[int, int, int]:
    """Call `_skip_on` from Python."""
    return _skip_on(means, policy, state, checkpoints, rng, table, max_skips, counts)


@kernel(borrows=True)
def _skip_on(
    means: Floats,
    policy: Any,
    state: State,
    checkpoints: Ints,
    rng: Rng,
    table: FirstPassageTable,
    max_skips: int,
    counts: Ints,
) -> tuple[int, int, int]:
    """Play an index policy with skips; write the counts, shape (C, K).

    Returns the numbers of skips, of pulls inside skips and of first passages.
    """
    pulls, counters = state.pulls, state.counters
    horizon, noisy = checkpoints[-1], policy.scale > 0.0
    skips, skipped_pulls, first_passages = 0, 0, 0
    block_size = (_NOISY_SHORTEST if noisy else _NOISELESS_SHORTEST) // 2
    t, c = 0, 0
    while t < horizon:
        arm, stretch, block, rival, floor, barrier = t, 0, 1, math.inf, 0.0, 0.0
        node_scale = policy.scale
        if t >= means.size:
            log_t = math.log(t + 1.0)
            root = last_term(policy, log_t)
            arm, top, rival = index_leader(
                state.means, state.widths, state.inverse_roots, log_t, root
            )
            n, ahead = pulls[arm], outlook(policy, state, arm, top, rival, root, horizon - t)
            node_scale = ahead.node_scale
            if ahead.may_stay and ahead.lead > node_scale:
                if skips < max_skips:
                    leader = Leader(arm, means[arm], rival)
                    stretch, barrier = certify(policy, state, leader, ahead, t, table, SKIP_ERROR)
                if stretch == 0:
                    block = min(block_size, ahead.most)
                    rival = later_rival(policy, state, arm, t + block)
                    floor = allowance(policy, state, arm, log_t) + root * math.sqrt(n)
        before, noise = pulls[arm], 0.0
        if stretch > 0:
            n = before + stretch
            if noisy:
                n = walk_to_first_passage(
                    rng,
                    table,
                    NodeScale(node_scale, 0.0),
                    barrier,
                    counters,
                    arm,
                    before,
                    before + stretch,
                )
                noise = prefix_noise_at(counters, arm, n)
                first_passages += n < before + stretch
            state.sums[arm] += binomial(rng, n - before, means[arm])
            skips += 1
            skipped_pulls += n - before
        else:
            n, noise = pull_while_leading(rng, policy, state, arm, means[arm], floor, rival, block)
        t += n - before
        release(policy, state, arm, n, noise)
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return skips, skipped_pulls, first_passages


def _skips(
    policy: IndexPolicy, means: ArrayLike, checkpoints: ArrayLike, rng: Rng, max_skips: int
) -> tuple[Ints, SkipTally]:
    means, checkpoints = np.array(means, dtype=np.float64), np.array(checkpoints, dtype=np.int64)
    if means.size == 1:  # nothing to decide
        return checkpoints[:, None], SkipTally(0, 0, int(checkpoints[-1]), 0)
    table = first_passage_table()
    counts = np.zeros((checkpoints.size, means.size), np.int64)
    skips, skipped, passages = _play(
        means, policy, start(means.size), checkpoints, rng, table, max_skips, counts
    )
    return counts, SkipTally(skips, skipped, int(checkpoints[-1]) - skipped, passages)


def skip_and_tally(
    means: ArrayLike,
    node_scale: float,
    gamma: float,
    checkpoints: ArrayLike,
    rng: Rng,
    max_skips: int = MAX_SKIPS,
) -> tuple[Ints, SkipTally]:
    """Play the index (S + Z + γ)/n + √(2 log t/n) on Bernoulli arms, with certified skips.

    The distribution of the counts is within total-variation distance ``MAX_SKIPS * SKIP_ERROR`` =
    4·10⁻¹⁰ of a run pull by pull, in exact arithmetic with ideal random numbers: noise and sums of
    rewards are drawn from their exact distributions, and the rewards of a skip leave a band with
    probability at most `SKIP_ERROR`. Proof: :prf:ref:`skip-tv`.

    Shapes: `means` (K,), `checkpoints` (C,) → (C, K).
    """
    policy = TreePolicy(float(node_scale), float(gamma))
    return _skips(policy, means, checkpoints, rng, max_skips)


def has_noise(algorithm: HybridIndex) -> bool:
    """Return whether an algorithm on hybrid counters draws noise; if not, pulls are single."""
    return algorithm.epsilon < math.inf


@accelerates(DPUCBBound, on=DrawnRewards, name="skipping", error=_ERROR, when=has_noise)
@accelerates(UCB, DPUCB, on=DrawnRewards, name="skipping", error=_ERROR, when=has_binary_trees)
def play_skipping(
    algorithm: UCB | DPUCB | DPUCBBound,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    rng: Rng,
) -> Play:
    """Play by certified skipping: :prf:ref:`skip-tv`.

    Shapes: `checkpoints` (C,).
    """
    policy = policy_of(algorithm, rewards.n_arms, horizon)
    counts, tally = _skips(policy, rewards.means, checkpoints, rng, MAX_SKIPS)
    return Play(counts, at_once=tally.skipped_pulls)


accelerates(UCB, DPUCBBound, on=DrawnRewards, name="pull by pull")(play_pull_by_pull)
