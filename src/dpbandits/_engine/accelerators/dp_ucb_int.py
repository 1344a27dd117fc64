"""DP-UCB-INT in steps of many pulls.

Between releases an index changes with the time alone, so that a leader is pulled until it releases
(:prf:ref:`lem-int-rest`); over many releases with a certificate, up to the first whose noise is too
low (:prf:ref:`lem-int-releases`); and where other arms release at every pull, up to the first
release that beats it (:prf:ref:`lem-int-literal`). Each certificate adds at most 10⁻¹⁶ to the
total-variation distance from a run pull by pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import TableRuns, accelerates, plays_many
from dpbandits._engine.accelerators.index_policies import index_leader, play_steps
from dpbandits._engine.accelerators.skipping import (
    LOG_ERROR,
    MAX_SKIPS,
    SKIP_ERROR,
    pass_checkpoints,
    proposed_stretch,
    reward_band,
    rival_index,
)
from dpbandits._engine.kernels import kernel
from dpbandits._engine.streams import Streams, begin_order, begin_stream, regret_and_pulls
from dpbandits.mechanisms import laplace, laplace_below, laplace_cdf_kernel
from dpbandits.regret.base import Play, Times, write_arms
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import (
    DrawnRewards,
    LawRewards,
    Rewards,
    Tape,
    begin_run,
    fixed_rewards,
    tape_of,
)

__all__ = ["IntervalPolicy", "play_dp_ucb_int", "policy_of", "run_dp_ucb_int"]

# These affect only the speed.
_TRIES = 4  # lengths of a certificate that are tried, each a quarter of the one before
_ONE_BY_ONE = 40  # rewards


class IntervalPolicy(NamedTuple):
    """Parameters of `DPUCBInt` for the compiled loops.

    Attributes
    ----------
    interval : int
        Number f of pulls between releases.
    exponent : float
        v: noise of a mean of n rewards has scale noise·n^(v/2 − 1).
    noise : float
        Factor of the noise; 0 adds none and draws none.
    refreshed : bool
        Whether the bonus uses the present time, not that of the release.
    literal : bool
        Whether an arm releases again at each step at which its n is a multiple of f.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> policy_of(dpb.DPUCBInt(epsilon=0.1)).interval
    10
    """

    interval: int
    exponent: float
    noise: float  # 0 adds none and draws none
    refreshed: bool  # whether the bonus uses the present time, not that of the release
    literal: bool  # whether an arm releases again at each step at which its n is a multiple of f


class _State(NamedTuple):
    """State between two pulls; arrays of shape (K,) except where noted."""

    pulls: Ints
    sums: Floats
    released: Ints  # n at the latest release
    values: Floats
    bonuses: Floats  # √(2 log t/n), or 1/√n if it is multiplied by √(2 log t) later
    widths: Floats  # zeros
    clock: Ints  # (5,): pulls, checkpoints passed, skips, whether the next releases are drawn, and
    # how many pulls were not made singly


def _start(n_arms: int) -> _State:
    pulls, released = np.zeros((2, n_arms), np.int64)
    sums, values, bonuses, widths = np.zeros((4, n_arms))
    return _State(pulls, sums, released, values, bonuses, widths, np.zeros(5, np.int64))


@kernel
def _failure(margin: float, scale: float) -> float:
    """Return P(X < −margin) of a Laplace variable X of the scale, margin > 0."""
    return 0.5 * math.exp(-margin / scale) if scale > 0.0 else 0.0


@kernel
def _certify(
    policy: IntervalPolicy,
    total: float,
    n: int,
    rest: int,
    mean: float,
    rival: float,
    root: float,
    most: int,
) -> tuple[int, float]:
    """Return a number of releases that the leader may pass in one skip, or 0, and the margin g.

    Of f(r), `total` is S, `root` is √(2 log(t+1)), and the first of at most `most` releases comes
    after `rest` pulls.
    """
    interval, growth = policy.interval, 0.5 * policy.exponent
    lead = total + root * math.sqrt(n) - rival * n
    if lead <= 0.0:
        return 0, 0.0
    drift = rival - mean - 0.5 * root / math.sqrt(n)
    stretch = min(proposed_stretch(0.5 * lead, drift, mean, LOG_ERROR), float(n))
    releases = int(min(stretch / interval, float(most)))
    for _ in range(_TRIES):
        if releases == 0:
            break
        first, last = n + rest, n + rest + (releases - 1) * interval
        at_first = total + mean * rest + root * math.sqrt(first) - rival * first
        at_last = total + mean * (last - n) + root * math.sqrt(last) - rival * last
        slack = 1e-9 + 1e-12 * (abs(total) + (abs(rival) + 1.0) * last)
        margin = min(at_first, at_last) - reward_band(mean, last - n, LOG_ERROR) - slack
        if margin > 0.0 and releases * _failure(margin, policy.noise * last**growth) < 1.0:
            return releases, margin
        releases //= 4
    return 0, 0.0


@kernel
def _releases_passed(
    rng: Rng, policy: IntervalPolicy, margin: float, first: int, releases: int
) -> int:
    """Draw the number of releases, from `first` pulls on, before the first noise below −g."""
    interval, growth = policy.interval, 0.5 * policy.exponent
    # the chance of each is at most that of the last: candidates come at geometric times
    most = _failure(margin, policy.noise * (first + (releases - 1) * interval) ** growth)
    passed = 0
    while most > 0.0:
        gap = math.log(1.0 - rng.random()) / math.log1p(-most)
        if gap >= releases - passed:
            break
        passed += int(gap)
        scale = policy.noise * (first + passed * interval) ** growth
        if rng.random() * most < _failure(margin, scale):
            return passed
        passed += 1
    return releases


@kernel
def _pulls_until_beaten(
    rng: Rng, policy: IntervalPolicy, state: _State, arm: int, highest: float, t: int, stretch: int
) -> tuple[int, bool]:
    """Return how often the arm is pulled before another's release is above its index.

    Literal reading, after t pulls, when the arm's next pull is decided: at most `stretch` times.
    Also returns whether it was beaten, and writes the releases: −∞ for those below the index.
    """
    interval, pulls, values = policy.interval, state.pulls, state.values
    first = stretch
    for b in range(pulls.size):
        n = pulls[b]
        if b == arm or n % interval != 0:
            continue
        values[b] = -math.inf
        scale = policy.noise * n ** (0.5 * policy.exponent - 1.0)
        mean = state.sums[b] / n
        needed = highest - mean  # from the noise and the bonus
        most = laplace_cdf_kernel(math.sqrt(2.0 * math.log(t + stretch) / n) - needed, scale)
        pulled = 0
        while most > 0.0:
            gap = math.log(1.0 - rng.random()) / math.log1p(-most)
            if gap >= min(first + 1, stretch) - pulled - 1:
                break
            pulled += int(gap) + 1
            bonus = math.sqrt(2.0 * math.log(t + pulled + 1) / n)
            if rng.random() * most < laplace_cdf_kernel(bonus - needed, scale):
                if pulled < first:
                    for i in range(b):
                        if i != arm and pulls[i] % interval == 0:
                            values[i] = -math.inf
                first = pulled
                values[b] = mean - laplace_below(rng, scale, bonus - needed)
                state.bonuses[b], state.released[b] = bonus, n
                break
    return first, first < stretch


@kernel
def _sum_of_rewards(rng: Rng, size: int, mean: float) -> int:
    """Draw the sum of rewards, one by one where that is faster."""
    if size > _ONE_BY_ONE:
        return binomial(rng, size, mean)
    total = 0
    for _ in range(size):
        if rng.random() < mean:
            total += 1
    return total


@kernel
def run_dp_ucb_int(
    policy: IntervalPolicy,
    state: _State,
    tape: Tape,
    checkpoints: Times,
    counts: Ints,
    rng: Rng,
    max_skips: int,
) -> int:
    """Play DP-UCB-INT until the last checkpoint, or until an arm whose rewards are all read.

    Shapes: `checkpoints` (C,), `counts` (C, K).
    """
    interval, exponent, noise, refreshed, literal = policy
    pulls, rewards, released, values, bonuses, widths, clock = state
    means, table, _, read, ends = tape
    drawn, growth = means.size > 0, 0.5 * exponent
    n_arms, horizon = pulls.size, checkpoints[-1]
    max_skips = max_skips if drawn else 0
    t, c, skips = clock[0], clock[1], clock[2]
    settled = clock[3] == 1
    while t < horizon:
        arm: int = t % n_arms
        stretch, rest, releases, passed, margin = 1, 0, 0, 0, 0.0
        if t >= n_arms * interval:
            root = math.sqrt(2.0 * math.log(t + 1))
            for b in range(n_arms):
                n = pulls[b]
                if not settled and (literal or n != released[b]) and n % interval == 0:
                    released[b] = n
                    values[b] = rewards[b] / n
                    if noise > 0.0:
                        values[b] += laplace(rng, noise * n ** (growth - 1.0))
                    bonuses[b] = (1.0 if refreshed else root) / math.sqrt(n)
            factor = root if refreshed else 1.0
            arm, highest, rival = index_leader(values, widths, bonuses, 0.0, factor)
            settled = False
            n = pulls[arm]
            rest = interval - n % interval
            resting = max_skips > 0  # whether no other arm releases while this one is pulled
            if literal and resting:
                for b in range(n_arms):
                    resting = resting and (b == arm or pulls[b] % interval != 0)
            if max_skips > 0 and not resting:
                most = min(horizon - t, rest)
                stretch, settled = _pulls_until_beaten(rng, policy, state, arm, highest, t, most)
            elif resting:
                ahead = min(horizon - t, rest + n)
                most = (ahead - rest) // interval if skips < max_skips else 0
                if refreshed:
                    factor = math.sqrt(2.0 * math.log(t + ahead))
                    rival = rival_index(values, widths, bonuses, arm, 0.0, factor)
                if most > 0 and highest > rival + 1e-12 * (abs(rival) + 1.0):
                    releases, margin = _certify(
                        policy, rewards[arm], n, rest, means[arm], rival, root, most
                    )
                if releases == 0:
                    ahead = min(horizon - t, rest)
                    if refreshed:
                        factor = math.sqrt(2.0 * math.log(t + ahead))
                        rival = rival_index(values, widths, bonuses, arm, 0.0, factor)
                    if highest > rival + 1e-12 * (abs(rival) + 1.0):
                        stretch = ahead
        if not drawn and read[arm] == ends[arm]:
            clock[0], clock[1], clock[2] = t, c, skips
            clock[3] = t >= n_arms * interval  # whether the releases before this pull are drawn
            return arm
        if releases > 0:
            skips += 1
            passed = _releases_passed(rng, policy, margin, pulls[arm] + rest, releases)
            stretch = rest + passed * interval
        t += stretch
        pulls[arm] += stretch
        if stretch > 1:
            clock[4] += stretch
        if drawn:
            rewards[arm] += _sum_of_rewards(rng, stretch, means[arm])
        else:
            rng.random()  # so that the noise is the same on every source
            rewards[arm] += table[arm, read[arm]]
            read[arm] += 1
        if releases > passed:
            n = pulls[arm]
            released[arm] = n
            low = laplace_below(rng, noise * n**growth, -margin)
            values[arm] = (rewards[arm] + low) / n
            bonuses[arm] = (1.0 if refreshed else math.sqrt(2.0 * math.log(t + 1))) / math.sqrt(n)
            settled = True
        c = pass_checkpoints(counts, checkpoints, c, t, pulls, arm)
    return -1


def play_dp_ucb_int(
    policy: IntervalPolicy, rewards: Rewards, checkpoints: Times, rng: Rng, max_skips: int = 0
) -> Ints:
    """Play DP-UCB-INT on any source; on Bernoulli arms with certificates.

    Shapes: `checkpoints` (C,) → (C, K).
    """
    state = _start(rewards.n_arms)
    return play_steps(run_dp_ucb_int, policy, state, rewards, checkpoints, rng, max_skips)


@kernel
def _table_runs(
    policy: IntervalPolicy, state: _State, tape: Tape, n_runs: int, rng: Rng
) -> NDArray[np.int8]:
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, counts = np.arange(1, n_pulls + 1), np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        state.clock[:] = 0
        state.pulls[:], state.sums[:], state.released[:] = 0, 0.0, 0
        run_dp_ucb_int(policy, state, tape, times, counts, rng, 0)
        write_arms(counts, arms[r])
    return arms


def policy_of(algorithm: DPUCBInt) -> IntervalPolicy:
    """Return the parameters of the algorithm for the compiled loops."""
    return IntervalPolicy(
        algorithm.interval,
        algorithm.exponent,
        algorithm.noise,
        algorithm.reading == "refreshed",
        algorithm.reading == "literal",
    )


@accelerates(DPUCBInt, on=DrawnRewards, name="skipping", error=MAX_SKIPS * SKIP_ERROR)
def play_skipping(
    algorithm: DPUCBInt, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play by certificates over releases.

    Shapes: `checkpoints` (C,).
    """
    state, policy = _start(rewards.n_arms), policy_of(algorithm)
    counts = play_steps(run_dp_ucb_int, policy, state, rewards, checkpoints, rng, MAX_SKIPS)
    return Play(counts, at_once=int(state.clock[4]))


@kernel
def _runs(
    policy: IntervalPolicy, state: _State, tape: Tape, checkpoints: Times, shuffles: bool,
    streams: Streams,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return counts (n, C, K), in each run's order of the arms, and these orders (n, K)."""
    n_runs, n_arms = streams.states.shape[0], tape.means.size
    counts = np.zeros((n_runs, checkpoints.size, n_arms), np.int64)
    orders = np.empty((n_runs, n_arms), np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        begin_order(streams.rng, shuffles, orders[r])
        arms = Tape(tape.means[orders[r]], tape.table, tape.sums, tape.read, tape.ends)
        state.clock[:] = 0
        state.pulls[:], state.sums[:], state.released[:] = 0, 0.0, 0
        run_dp_ucb_int(policy, state, arms, checkpoints, counts[r], streams.rng, MAX_SKIPS)
    return counts, orders


@plays_many(play_skipping)
def _play_many(
    algorithm: DPUCBInt,
    rewards: DrawnRewards,
    horizon: int,
    checkpoints: Times,
    gaps: Floats,
    shuffles: bool,
    streams: Streams,
) -> tuple[Floats, Ints, list[Ints]]:
    """Return regret (n, C), pulls (n, K) and no epochs: `play_skipping` on each stream."""
    state, tape = _start(rewards.n_arms), tape_of(rewards)
    counts, orders = _runs(policy_of(algorithm), state, tape, checkpoints, shuffles, streams)
    regret, pulls = regret_and_pulls(gaps, orders, counts)
    return regret, pulls, [np.zeros(0, np.int64) for _ in orders]


@accelerates(DPUCBInt, on=DrawnRewards, name="pull by pull")
@accelerates(DPUCBInt, on=LawRewards, name="pull by pull")
def play_pull_by_pull(
    algorithm: DPUCBInt, rewards: Rewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play without certificates.

    Shapes: `checkpoints` (C,).
    """
    return Play(play_dp_ucb_int(policy_of(algorithm), rewards, checkpoints, rng))


@accelerates(DPUCBInt, on=TableRuns, name="pull by pull")
def play_table(algorithm: DPUCBInt, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play a table many times.

    Shapes: `table` (K, N) → (n_runs, N).
    """
    tape = tape_of(fixed_rewards(table))
    return _table_runs(policy_of(algorithm), _start(len(tape.table)), tape, n_runs, rng)
