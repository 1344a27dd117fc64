"""Index policies, pull by pull: one compiled loop for UCB, DP-UCB, DP-UCB-BOUND and -HYBRID.

It plays Bernoulli arms, arms of any laws on [0, 1], and tables of rewards. An algorithm is passed
as a named tuple, whose type selects the index that the loop computes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates
from dpbandits._engine.kernels import by_type, entered_for, kernel
from dpbandits.mechanisms.counters import (
    HYBRID_STATE,
    KARY_STATE,
    KaryTree,
    next_hybrid_noise,
    next_kary_noise,
)
from dpbandits.mechanisms.first_passage import TREE_LEVELS, next_prefix_noise
from dpbandits.regret.base import Play, Times, write_arms
from dpbandits.regret.dp_ucb import DPUCB, KARY, UCB
from dpbandits.regret.dp_ucb_hybrid import DPUCBBound, DPUCBHybrid
from dpbandits.rewards.sources import (
    FixedRewards,
    LawRewards,
    Rewards,
    Tape,
    begin_run,
    fixed_rewards,
    refill,
    tape_of,
)
from dpbandits.schedules import noise_bracket_kernel, noise_width

__all__ = [
    *("AdvancingPolicy", "BlockPolicy", "KaryPolicy", "TreePolicy"),
    *("play_index_policy", "policy_of"),
]

IndexAlgorithm = UCB | DPUCB | DPUCBBound | DPUCBHybrid


class TreePolicy(NamedTuple):
    """UCB and DP-UCB: (S + Z + γ)/n + √(2 log t/n), Z the noise of the arm's binary tree.

    Attributes
    ----------
    scale : float
        λ, scale of the noise of a node; 0 draws none (UCB1).
    gamma : float
        γ, in units of the sum of rewards.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> policy_of(dpb.UCB(), n_arms=2, horizon=1000)
    TreePolicy(scale=0.0, gamma=0.0)
    """

    scale: float
    gamma: float


class KaryPolicy(NamedTuple):
    """DP-UCB on k-ary trees: (S + Z + γ)/n + √(2 log t/n), Z the noise of the arm's tree.

    Attributes
    ----------
    scale : float
        λ > 0, scale of the noise of a node.
    gamma : float
        γ, in units of the sum of rewards.
    arity : int
        k, odd.
    levels : int
        Levels of the tree.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> policy_of(dpb.DPUCB(1.0, "kary-exact"), n_arms=2, horizon=1000).arity
    13
    """

    scale: float
    gamma: float
    arity: int
    levels: int


class BlockPolicy(NamedTuple):
    """DP-UCB-BOUND: (S + Z + ν)/n + √(2 log t/n), Z the noise of the arm's hybrid counter.

    ν = factor·log t·`noise_bracket`, that is 4√8·λ·log t·(log2 n' + 1).

    Attributes
    ----------
    scale : float
        λ, scale of the noise of a block; 0 draws none.
    factor : float
        Factor of ν.
    ucb_term : bool
        Whether the index has its last term.
    repaired : bool
        Whether the bracket is ⌊log2 n⌋ + 1, not that of the pseudo-code.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> policy_of(dpb.DPUCBBound(epsilon=1.0), n_arms=2, horizon=1000).scale
    2.0
    """

    scale: float
    factor: float
    ucb_term: bool
    repaired: bool


class AdvancingPolicy(NamedTuple):
    """DP-UCB-HYBRID: (S + Z)/n + √(2 log t/n); every hybrid counter advances at every pull.

    The arm that is pulled adds its reward to its counter, each other arm a zero.

    Attributes
    ----------
    scale : float
        λ, scale of the noise of a block; 0 draws none.
    ucb_term : bool
        Whether the index has its last term.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> policy_of(dpb.DPUCBHybrid(epsilon=1.0), n_arms=2, horizon=1000).ucb_term
    True
    """

    scale: float
    ucb_term: bool


IndexPolicy = TreePolicy | KaryPolicy | BlockPolicy | AdvancingPolicy


class State(NamedTuple):
    """State between two pulls.

    Attributes
    ----------
    pulls : numpy.ndarray of int, shape (K,)
        Pulls of each arm.
    sums : numpy.ndarray of float, shape (K,)
        Sums of rewards.
    noise : numpy.ndarray of float, shape (K,)
        Noise of each counter's sum.
    counters : numpy.ndarray of float, shape (K, 65)
        Stored noise of each counter; a k-ary tree stores as many numbers as it needs.
    powers : numpy.ndarray of int, shape (K,)
        The largest power of two up to the arm's pulls, where ν needs it.
    means : numpy.ndarray of float, shape (K,)
        (S + Z + γ)/n.
    widths : numpy.ndarray of float, shape (K,)
        ν/(n log t).
    inverse_roots : numpy.ndarray of float, shape (K,)
        1/√n.
    clock : numpy.ndarray of int, shape (2,)
        Pulls so far, and checkpoints passed.

    Examples
    --------
    >>> state = start(3)
    >>> state.pulls.tolist(), state.counters.shape
    ([0, 0, 0], (3, 65))
    """

    pulls: Ints
    sums: Floats
    noise: Floats
    counters: Floats  # (K, 65), or as a k-ary tree needs
    powers: Ints  # the largest power of two up to the arm's pulls, where ν needs it
    means: Floats  # (S + Z + γ)/n
    widths: Floats  # ν/(n log t)
    inverse_roots: Floats
    clock: Ints  # (2,): pulls so far, checkpoints passed


def start(n_arms: int, policy: IndexPolicy | None = None) -> State:
    """Return the state before the first pull."""
    stored = max(TREE_LEVELS, HYBRID_STATE)
    if isinstance(policy, KaryPolicy):
        stored = policy.levels * ((policy.arity - 1) // 2 + KARY_STATE)
    pulls, powers = np.zeros((2, n_arms), np.int64)
    sums, noise, means, widths, roots = np.zeros((5, n_arms))
    counters = np.zeros((n_arms, stored))
    clock = np.zeros(2, np.int64)
    return State(pulls, sums, noise, counters, powers, means, widths, roots, clock)


@kernel(borrows=True)
def index_leader(
    means: Floats, widths: Floats, inverse_roots: Floats, log_t: float, root: float
) -> tuple[int, float, float]:
    """Return the arm of the largest index, ties to the lowest number, and the two largest indices.

    Shapes: `means` (K,), `widths` (K,), `inverse_roots` (K,).
    """
    arm, highest, rival = 0, -math.inf, -math.inf
    for b in range(means.size):
        index = means[b] + log_t * widths[b] + root * inverse_roots[b]
        if index > highest:
            arm, highest, rival = b, index, highest
        elif index > rival:
            rival = index
    return arm, highest, rival


@by_type
def last_term(policy: Any, log_t: float) -> float:
    """Return √(2 log t), or 0 for an index without its last term."""
    raise TypeError


@by_type
def count(policy: Any, state: State, arm: int, n: int, t: int, rng: Rng) -> None:
    """Let counters count the t-th pull, the n-th of an arm, and write their noise."""
    raise TypeError


@by_type
def release(policy: Any, state: State, arm: int, n: int, noise: float) -> None:
    """Write the parts of the index of an arm, after n pulls of it."""
    raise TypeError


# ----------------------------------------------------------------------------- UCB and DP-UCB


@entered_for(last_term, TreePolicy)
@kernel(borrows=True)
def _last_term_of_tree(policy: TreePolicy, log_t: float) -> float:
    return math.sqrt(2.0 * log_t)


@entered_for(count, TreePolicy)
@kernel(borrows=True)
def _count_by_tree(policy: TreePolicy, state: State, arm: int, n: int, t: int, rng: Rng) -> None:
    state.noise[arm] = next_prefix_noise(rng, policy.scale, state.counters, arm, n)


@entered_for(release, TreePolicy)
@kernel(borrows=True)
def _release_of_tree(policy: TreePolicy, state: State, arm: int, n: int, noise: float) -> None:
    state.pulls[arm] = n
    state.means[arm] = (state.sums[arm] + noise + policy.gamma) / n
    state.inverse_roots[arm] = 1.0 / math.sqrt(n)


# ------------------------------------------------------------------------ DP-UCB on k-ary trees


@entered_for(last_term, KaryPolicy)
@kernel(borrows=True)
def _last_term_of_kary(policy: KaryPolicy, log_t: float) -> float:
    return math.sqrt(2.0 * log_t)


@entered_for(count, KaryPolicy)
@kernel(borrows=True)
def _count_by_kary(policy: KaryPolicy, state: State, arm: int, n: int, t: int, rng: Rng) -> None:
    shape = policy.scale, policy.arity, policy.levels
    state.noise[arm] = next_kary_noise(rng, shape, state.counters, arm, n - 1, n)


@entered_for(release, KaryPolicy)
@kernel(borrows=True)
def _release_of_kary(policy: KaryPolicy, state: State, arm: int, n: int, noise: float) -> None:
    state.pulls[arm] = n
    state.means[arm] = (state.sums[arm] + noise + policy.gamma) / n
    state.inverse_roots[arm] = 1.0 / math.sqrt(n)


# ------------------------------------------------------------------------------- DP-UCB-BOUND


@entered_for(last_term, BlockPolicy)
@kernel(borrows=True)
def _last_term_of_blocks(policy: BlockPolicy, log_t: float) -> float:
    return math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0


@entered_for(count, BlockPolicy)
@kernel(borrows=True)
def _count_by_blocks(policy: BlockPolicy, state: State, arm: int, n: int, t: int, rng: Rng) -> None:
    scale = policy.scale
    state.noise[arm] = next_hybrid_noise(rng, scale, scale, state.counters, arm, n)


@entered_for(release, BlockPolicy)
@kernel(borrows=True)
def _release_of_blocks(policy: BlockPolicy, state: State, arm: int, n: int, noise: float) -> None:
    state.pulls[arm] = n
    state.means[arm] = (state.sums[arm] + noise) / n
    state.inverse_roots[arm] = 1.0 / math.sqrt(n)
    if n & (n - 1) == 0:
        state.powers[arm] = n
    bracket = noise_bracket_kernel(n, state.powers[arm], policy.repaired)
    state.widths[arm] = policy.factor * bracket / n


# ------------------------------------------------------------------------------ DP-UCB-HYBRID


@entered_for(last_term, AdvancingPolicy)
@kernel(borrows=True)
def _last_term_of_advancing(policy: AdvancingPolicy, log_t: float) -> float:
    return math.sqrt(2.0 * log_t) if policy.ucb_term else 0.0


@entered_for(count, AdvancingPolicy)
@kernel(borrows=True)
def _count_by_all(
    policy: AdvancingPolicy, state: State, arm: int, n: int, t: int, rng: Rng
) -> None:
    pulls, sums, noise, scale = state.pulls, state.sums, state.noise, policy.scale
    for b in range(pulls.size):
        noise[b] = next_hybrid_noise(rng, scale, scale, state.counters, b, t)
        state.means[b] = (sums[b] + noise[b]) / pulls[b] if pulls[b] > 0 else 0.0


@entered_for(release, AdvancingPolicy)
@kernel(borrows=True)
def _release_of_advancing(
    policy: AdvancingPolicy, state: State, arm: int, n: int, noise: float
) -> None:
    state.pulls[arm] = n
    state.means[arm] = (state.sums[arm] + noise) / n
    state.inverse_roots[arm] = 1.0 / math.sqrt(n)


# ------------------------------------------------------------------------------ the loop of all


@kernel
def _run(policy: Any, state: State, tape: Tape, checkpoints: Times, counts: Ints, rng: Rng) -> int:
    """Continue until the last checkpoint, or until the chosen arm has no reward left to read.

    Pulls 1..K play arms 0..K-1, then the largest index, ties to the lowest arm number. A pull draws
    one uniform variable for the reward and, if there is noise, one Laplace variable for each
    counter that gets an element. Returns that arm, or −1 at the end.
    """
    pulls, sums, noise, _, _, means, widths, inverse_roots, clock = state
    chances, table, _, read, ends = tape
    drawn = chances.size > 0
    t, c = clock
    while c < checkpoints.size:
        if t == checkpoints[c]:
            for b in range(pulls.size):
                counts[c, b] = pulls[b]
            c += 1
            continue
        arm: int = t
        if t >= pulls.size:
            log_t = math.log(t + 1)
            root = last_term(policy, log_t)
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
            count(policy, state, arm, n, t, rng)
        release(policy, state, arm, n, noise[arm])
    return -1


def play_steps(
    run: Any, policy: Any, state: Any, rewards: Rewards, checkpoints: Times, rng: Rng, *more: Any
) -> Ints:
    """Run a compiled loop to its end; ask the source whenever it needs a reward.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    tape = tape_of(rewards)
    counts = np.zeros((checkpoints.size, rewards.n_arms), np.int64)
    while (arm := run(policy, state, tape, checkpoints, counts, rng, *more)) >= 0:
        refill(tape, rewards, arm)
    return counts


def play_index_policy(policy: IndexPolicy, rewards: Rewards, checkpoints: Times, rng: Rng) -> Ints:
    """Play an index policy pull by pull, on any source of rewards.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    return play_steps(_run, policy, start(rewards.n_arms, policy), rewards, checkpoints, rng)


def play_index_table(
    policy: IndexPolicy, table: Floats | FixedRewards, n_runs: int, rng: Rng
) -> NDArray[np.int8]:
    """Play an index policy many times on a table of rewards.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    tape = tape_of(fixed_rewards(table))
    arms: NDArray[np.int8] = _table_runs(policy, start(len(tape.table), policy), tape, n_runs, rng)
    return arms


@kernel
def _table_runs(policy: Any, state: State, tape: Tape, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        state.pulls[:], state.clock[:] = 0, 0
        state.sums[:], state.noise[:] = 0.0, 0.0
        _run(policy, state, tape, times, counts, rng)
        write_arms(counts, arms[r])
    return arms


def advancing_policy(algorithm: DPUCBHybrid) -> AdvancingPolicy:
    """Return the parameters of DP-UCB-HYBRID for the compiled loops."""
    return AdvancingPolicy(algorithm.counter.block_scale, not algorithm.literal)


def policy_of(algorithm: IndexAlgorithm, n_arms: int, horizon: int) -> IndexPolicy:
    """Return the parameters of an algorithm for the compiled loops."""
    if isinstance(algorithm, UCB):
        return TreePolicy(0.0, 0.0)
    if isinstance(algorithm, DPUCB):
        tree, gamma = algorithm.tree(n_arms, horizon), algorithm.gamma(n_arms, horizon)
        if isinstance(tree, KaryTree) and tree.node_scale > 0:
            return KaryPolicy(tree.node_scale, gamma, tree.arity, tree.levels)
        return TreePolicy(tree.node_scale, gamma)
    if isinstance(algorithm, DPUCBHybrid):
        return advancing_policy(algorithm)
    scale = algorithm.counter.block_scale
    factor = float(noise_width(scale, 1.0))
    return BlockPolicy(scale, factor, algorithm.ucb_term, algorithm.width == "repaired")


def has_binary_trees(algorithm: UCB | DPUCB) -> bool:
    """Return whether an algorithm has no noise, or that of binary trees."""
    return isinstance(algorithm, UCB) or algorithm.variant != KARY or algorithm.epsilon == math.inf


def has_kary_trees(algorithm: DPUCB) -> bool:
    """Return whether an algorithm has the noise of k-ary trees."""
    return not has_binary_trees(algorithm)


@accelerates(UCB, DPUCB, DPUCBBound, DPUCBHybrid, on=LawRewards, name="pull by pull")
def play_pull_by_pull(
    algorithm: IndexAlgorithm, rewards: Rewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on any source of rewards: `skipping` registers it for Bernoulli arms.

    Shapes: `checkpoints` (C,).
    """
    policy = policy_of(algorithm, rewards.n_arms, horizon)
    return Play(play_index_policy(policy, rewards, checkpoints, rng))


@accelerates(UCB, DPUCB, DPUCBBound, DPUCBHybrid, on=TableRuns, name="pull by pull")
def play_table(algorithm: IndexAlgorithm, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play a table many times.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    rewards = fixed_rewards(table)
    policy = policy_of(algorithm, rewards.n_arms, rewards.n_pulls)
    return play_index_table(policy, rewards, n_runs, rng)
