"""DP-TT, AdaP-TT and AdaP-TT*, batch by batch: the same runs as pull by pull.

Between two releases nothing random happens, and `dpbandits.fast.rounds` advances the counts, many
rounds at once where that is certified; only then is the sum of the batch drawn. The loop is told of
an algorithm by a named tuple, whose type chooses what is done between two releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numba.extending import overload

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits._streams import Streams, begin_stream
from dpbandits.acceleration import TableRuns, accelerates, plays_many
from dpbandits.fast.rounds import BatchState, Costs, advance, closed_costs, transport_costs
from dpbandits.fast.top_two import NO_LOG, next_total
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import Decision, TableDecisions
from dpbandits.identification.characteristic import adapted_share_kernel
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.thresholds import (
    RULES,
    gaussian_threshold_kernel,
    pair_constant,
    pair_threshold_kernel,
    separate_threshold_kernel,
)
from dpbandits.identification.transport import calibrated_cost_kernel, transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import PopulationRewards
from dpbandits.rewards.streams import DrawnRewards, Tape, begin_run, fixed_rewards, tape_of
from dpbandits.schedules import MOST_PULLS, next_release_kernel

__all__ = ["BatchState", "Rule", "rule_of", "run_batches"]

_SEPARATE = RULES.index("separate")


# -------------------------------------------------------------------------- what algorithms choose


class _DPTT(NamedTuple):
    """DP-TT: estimates from all released batches, which grow by a factor of 1 + η."""

    epsilon: float
    leader_share: float  # 0: adapted at each release
    eta: float
    first: int  # size of the first batches
    threshold: int  # place in `RULES`
    constant: float  # of the threshold
    exponent: float
    calibrated: bool  # whether the challenger's costs know the noise
    exploration: float  # factor of log N_a in them


class _AdaPTT(NamedTuple):
    """AdaP-TT: estimates from the last batch, as large as all before it."""

    epsilon: float
    leader_share: float
    delta: float
    threshold: int  # place in `RULES`


class _AdaPTTStar(NamedTuple):
    """AdaP-TT*: AdaP-TT with costs that know ε, and the threshold "separate"."""

    epsilon: float
    leader_share: float
    delta: float


class Rule(Protocol):
    """What the loop is told of an algorithm: a named tuple, whose type chooses what is done.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule: Rule = rule_of(dpb.AdaPTT(epsilon=1.0, delta=0.1), n_arms=3)
    >>> rule.epsilon
    1.0
    """

    @property
    def epsilon(self) -> float:
        """Privacy budget ε: a release has noise of scale 1/ε."""


class _Choices(NamedTuple):
    """What an algorithm does between two releases: a function for each stub of the same name."""

    following: Callable[..., int]
    estimates: Callable[..., Floats]
    is_beaten: Callable[..., bool]
    costs: Callable[..., Costs]
    share: Callable[..., float]


_CHOICES: dict[type, _Choices] = {}


def following(rule: Rule, pulls: int) -> int:
    """Return the pulls at which an arm is released after `pulls`.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    pulls : int
        Pulls of the arm up to its last release; 0 before the first.

    Returns
    -------
    int
        Its pulls at the next release.
    """
    return _CHOICES[type(rule)].following(rule, pulls)


def estimates(rule: Rule, state: BatchState) -> Floats:
    """Return the released estimates μ̃ of the means.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.

    Returns
    -------
    numpy.ndarray of float, shape (K,)
        The estimates.
    """
    return _CHOICES[type(rule)].estimates(rule, state)


def is_beaten(rule: Rule, state: BatchState, means: Floats, best: int, arm: int) -> bool:
    """Return whether an arm is beaten by that with the largest estimate.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.
    best, arm : int
        The arm with the largest of them, and another.

    Returns
    -------
    bool
        Whether the evidence is above its threshold.
    """
    return _CHOICES[type(rule)].is_beaten(rule, state, means, best, arm)


def costs(rule: Rule, state: BatchState, means: Floats) -> Costs:
    """Return leader, challengers and costs until the next release.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.

    Returns
    -------
    Costs
        What is fixed until then.
    """
    return _CHOICES[type(rule)].costs(rule, state, means)


def share(rule: Rule, means: Floats) -> float:
    """Return the share of the rounds of a leader in which it is played until the next release.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.

    Returns
    -------
    float
        The share.
    """
    return _CHOICES[type(rule)].share(rule, means)


@overload(following)
def _compiled_following(rule, pulls):  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = _CHOICES[rule.instance_class].following
    return lambda rule, pulls: own(rule, pulls)


@overload(estimates)
def _compiled_estimates(rule, state):  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = _CHOICES[rule.instance_class].estimates
    return lambda rule, state: own(rule, state)


@overload(is_beaten)
def _compiled_is_beaten(rule, state, means, best, arm):  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = _CHOICES[rule.instance_class].is_beaten
    return lambda rule, state, means, best, arm: own(rule, state, means, best, arm)


@overload(costs)
def _compiled_costs(rule, state, means):  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = _CHOICES[rule.instance_class].costs
    return lambda rule, state, means: own(rule, state, means)


@overload(share)
def _compiled_share(rule, means):  # type: ignore[no-untyped-def]  # noqa: ANN001
    own = _CHOICES[rule.instance_class].share
    return lambda rule, means: own(rule, means)


# ------------------------------------------------------------------------------------------- DP-TT


@kernel
def _next_of_grid(rule: _DPTT, pulls: int) -> int:
    return next_release_kernel(pulls, rule.eta, rule.first)


@kernel
def _means_of_all(rule: _DPTT, state: BatchState) -> Floats:
    return state.total / state.released


@kernel
def _costs_too_much(rule: _DPTT, state: BatchState, means: Floats, best: int, arm: int) -> bool:
    """Return whether W̃ is above the threshold: what it costs that the two change their order."""
    epsilon, k, j = rule.epsilon, state.releases[best], state.releases[arm]
    limit = pair_threshold_kernel(rule.threshold, rule.constant, rule.exponent, k, j)
    n, m = state.released[best], state.released[arm]
    # W ≥ W̃: most often W is enough to say no
    if not transportation_cost_kernel(means[best], means[arm], n, m, epsilon)[0] > limit:
        return False
    return calibrated_cost_kernel(means[best], means[arm], n, m, k / n, j / m, epsilon)[0] > limit


@kernel
def _transport_costs(rule: _DPTT, state: BatchState, means: Floats) -> Costs:
    ratios = state.releases / state.released if rule.calibrated else np.zeros(means.size)
    return transport_costs(int(means.argmax()), means, ratios, rule.epsilon, rule.exploration)


@kernel
def _adapted(rule: _DPTT, means: Floats) -> float:
    return rule.leader_share or adapted_share_kernel(means, rule.epsilon)


_CHOICES[_DPTT] = _Choices(
    _next_of_grid, _means_of_all, _costs_too_much, _transport_costs, _adapted
)


# --------------------------------------------------------------------------- AdaP-TT and AdaP-TT*


@kernel
def _doubled(rule: _AdaPTT | _AdaPTTStar, pulls: int) -> int:
    return min(2 * pulls, MOST_PULLS) if pulls > 0 else 1


@kernel
def _means_of_last(rule: _AdaPTT | _AdaPTTStar, state: BatchState) -> Floats:
    return state.last / state.batch


@kernel
def _widest_leader(state: BatchState, means: Floats, epsilon: float) -> int:
    log_time = math.log(state.released.sum())
    width = log_time / (epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
    return int((means + width).argmax())


@kernel
def _is_separate(
    rule: _AdaPTT | _AdaPTTStar, state: BatchState, means: Floats, best: int, arm: int
) -> bool:
    """Return whether the gap is above `separate_threshold`."""
    releases = state.releases[best], state.releases[arm]
    batches = state.batch[best], state.batch[arm]
    limit = separate_threshold_kernel(rule.delta, rule.epsilon, means.size, releases, batches)
    found: bool = means[best] - means[arm] > limit
    return found


@kernel
def _is_beaten(rule: _AdaPTT, state: BatchState, means: Floats, best: int, arm: int) -> bool:
    """Return whether the evidence is above the threshold that is chosen."""
    if rule.threshold == _SEPARATE:
        return _is_separate(rule, state, means, best, arm)
    releases = state.releases[best], state.releases[arm]
    batches = state.batch[best], state.batch[arm]
    kind, gap = rule.threshold, means[best] - means[arm]
    limit = gaussian_threshold_kernel(kind, rule.delta, rule.epsilon, means.size, releases, batches)
    found: bool = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1]) > limit
    return found


@kernel
def _costs_without_noise(rule: _AdaPTT, state: BatchState, means: Floats) -> Costs:
    leader = _widest_leader(state, means, rule.epsilon)
    return closed_costs(leader, means[leader] - means, math.inf)


@kernel
def _costs_with_noise(rule: _AdaPTTStar, state: BatchState, means: Floats) -> Costs:
    leader = _widest_leader(state, means, rule.epsilon)
    return closed_costs(leader, means[leader] - means, rule.epsilon)


@kernel
def _fixed(rule: _AdaPTT | _AdaPTTStar, means: Floats) -> float:
    return rule.leader_share


_CHOICES[_AdaPTT] = _Choices(_doubled, _means_of_last, _is_beaten, _costs_without_noise, _fixed)
_CHOICES[_AdaPTTStar] = _Choices(_doubled, _means_of_last, _is_separate, _costs_with_noise, _fixed)


# ------------------------------------------------------------------------------------------- a run


@kernel
def stops(rule: Rule, state: BatchState, means: Floats) -> bool:
    """Return whether the arm with the largest estimate is recommended now.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run.
    means : numpy.ndarray of float, shape (K,)
        The released estimates.

    Returns
    -------
    bool
        Whether it beats every other arm.
    """
    best = int(means.argmax())
    for arm in range(means.size):
        if arm != best and not is_beaten(rule, state, means, best, arm):
            return False
    return True


@kernel
def record(rule: Rule, state: BatchState, arm: int, last: float, most: int) -> None:
    """Take in what the open batch of an arm was released as.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    state : BatchState
        State of the run; updated in place.
    arm : int
        The arm.
    last : float
        What was released: the sum of the batch, with noise.
    most : int
        Pulls of the arm at which its next batch ends at the latest.
    """
    pulls = state.pulls[arm]
    state.last[arm] = last
    state.total[arm] += last
    state.batch[arm] = pulls - state.released[arm]
    state.released[arm] = pulls
    state.releases[arm] += 1
    state.following[arm] = min(following(rule, pulls), most)


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
    if room == 0:
        return -1, True
    arm = advance(costs(rule, state, means), state, share(rule, means), room)
    return arm, arm < 0


@kernel
def run_batches(rule: Rule, tape: Tape, rng: Rng, max_pulls: int, log: Floats) -> tuple[int, Ints]:
    """Run once.

    Parameters
    ----------
    rule : Rule
        The algorithm.
    tape : Tape
        Bernoulli arms, or a table of N ≥ `max_pulls` rewards of each arm.
    rng : numpy.random.Generator
        Source of all randomness of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    log : numpy.ndarray of float, shape (N,) or empty
        Where the arms are written in the order of their releases; `NO_LOG` stands for none.

    Returns
    -------
    recommendation : int
        The arm, or −1 if the run was ended.
    pulls : numpy.ndarray of int, shape (K,)
        Pulls of each arm.
    """
    n_arms = max(tape.means.size, tape.table.shape[0])
    counts, sums = np.zeros((7, n_arms), np.int64), np.zeros((2, n_arms))
    state = BatchState(
        counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], sums[0],
        sums[1],
    )  # fmt: skip
    state.following[:] = following(rule, 0)
    while True:
        arm, ended = _next(rule, state, max_pulls - state.pulls.sum())
        if ended:
            return arm, state.pulls
        before = state.released[arm]
        last = next_total(tape.means, tape.sums, rng, arm, before, state.pulls[arm] - before)
        if tape.read.size > 0:
            tape.read[arm] = state.pulls[arm]
        last += laplace(rng, 1.0 / rule.epsilon)
        if log.size > 0:
            log[state.releases.sum()] = arm
        record(rule, state, arm, last, MOST_PULLS)


def rule_of(algorithm: DPTT | AdaPTT | AdaPTTStar, n_arms: int) -> Rule:
    """Return what the compiled functions have to know of an algorithm.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    n_arms : int
        Number of arms K.

    Returns
    -------
    Rule
        Its constants.
    """
    epsilon, delta = algorithm.epsilon, algorithm.delta
    if isinstance(algorithm, AdaPTT):
        kind = RULES.index(algorithm.threshold)
        return _AdaPTT(epsilon, algorithm.leader_share, delta, kind)
    if isinstance(algorithm, AdaPTTStar):
        return _AdaPTTStar(epsilon, algorithm.leader_share, delta)
    return _DPTT(
        epsilon,
        algorithm.leader_share or 0.0,
        algorithm.eta,
        algorithm.first_batch,
        threshold=RULES.index(algorithm.threshold),
        constant=pair_constant(algorithm.threshold, delta, n_arms, algorithm.exponent),
        exponent=algorithm.exponent,
        calibrated=algorithm.costs == "calibrated",
        exploration=algorithm.exploration,
    )


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=DrawnRewards, name="batch by batch")
def draw(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: DrawnRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on Bernoulli arms.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    rewards : DrawnRewards
        Rewards of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Decision
        The recommendation, −1 if the run was ended, and the pulls.
    """
    rule = rule_of(algorithm, rewards.n_arms)
    return Decision(*run_batches(rule, tape_of(rewards), rng, max_pulls, NO_LOG))


@kernel
def _runs(
    rule: Rule, tape: Tape, max_pulls: int, log: Floats, streams: Streams
) -> tuple[Ints, Ints]:
    """Run on each stream: recommendations (n,) and pulls (n, K); `log` is `NO_LOG`."""
    n_runs = streams.states.shape[0]
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, tape.means.size), np.int64)
    for r in range(n_runs):
        begin_stream(streams, r)
        best[r], pulls[r] = run_batches(rule, tape, streams.rng, max_pulls, log)
    return best, pulls


@plays_many(draw)
def draw_many(
    algorithm: DPTT | AdaPTT | AdaPTTStar,
    rewards: DrawnRewards,
    max_pulls: int,
    streams: Streams,
) -> tuple[Ints, Ints]:
    """Run on many streams, each as `draw` does.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    rewards : DrawnRewards
        Rewards of K arms.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    streams : Streams
        Sources of all randomness of the n runs.

    Returns
    -------
    recommendation : numpy.ndarray of int, shape (n,)
        The arm of each run, −1 if it was ended.
    pulls : numpy.ndarray of int, shape (n, K)
        Pulls of each arm.
    """
    rule = rule_of(algorithm, rewards.n_arms)
    found: tuple[Ints, Ints] = _runs(rule, tape_of(rewards), max_pulls, NO_LOG, streams)
    return found


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=PopulationRewards, name="batch by batch")
def draw_patients(
    algorithm: DPTT | AdaPTT | AdaPTTStar, rewards: PopulationRewards, max_pulls: int, rng: Rng
) -> Decision:
    """Run on patients, until one is wanted of an arm that has none left.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    rewards : PopulationRewards
        Rewards of the run.
    max_pulls : int
        Pulls after which a run that has not stopped is ended.
    rng : numpy.random.Generator
        Source of all randomness of the run.

    Returns
    -------
    Decision
        The recommendation, −1 if the run was ended, and the pulls.
    """
    n_arms = rewards.n_arms
    rule, state = rule_of(algorithm, n_arms), BatchState.start(n_arms)
    for arm in range(n_arms):
        # beyond so many pulls no batch ends: no patient is left
        state.following[arm] = min(following(rule, 0), rewards.left(arm) + 1)
    while True:
        arm, ended = _next(rule, state, max_pulls - int(state.pulls.sum()))
        if ended:
            return Decision(int(arm), state.pulls)
        size = int(state.pulls[arm] - state.released[arm])
        if size > rewards.left(arm):
            state.pulls[arm] -= 1  # there is no such patient
            return Decision(-1, state.pulls)
        last = rewards.total(arm, size) + laplace(rng, 1.0 / algorithm.epsilon)
        most = min(MOST_PULLS, int(state.pulls[arm]) + rewards.left(arm) + 1)
        record(rule, state, arm, last, most)


@kernel
def _table_runs(rule: Rule, tape: Tape, n_runs: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
    """Run many times on a table: recommendations, pulls, releases' arms."""
    n_arms, n_pulls = tape.table.shape
    best, pulls = np.empty(n_runs, np.int64), np.empty((n_runs, n_arms), np.int64)
    arms = np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        begin_run(tape.read, n_arms, r)
        best[r], pulls[r] = run_batches(rule, tape, rng, n_pulls, arms[r])
    return best, pulls, arms


@accelerates(DPTT, AdaPTT, AdaPTTStar, on=TableRuns, name="batch by batch")
def draw_table(
    algorithm: DPTT | AdaPTT | AdaPTTStar, table: Floats, n_runs: int, rng: Rng
) -> TableDecisions:
    """Run many times on a table.

    Parameters
    ----------
    algorithm : DPTT, AdaPTT or AdaPTTStar
        The algorithm.
    table : numpy.ndarray of float, shape (K, N)
        Rewards in [0, 1]: the n-th pull of an arm gives its n-th entry.
    n_runs : int
        Number of runs.
    rng : numpy.random.Generator
        Source of the noise of all runs.

    Returns
    -------
    TableDecisions
        Recommendations, pulls, and the order of the arms.
    """
    tape = tape_of(fixed_rewards(table))
    return TableDecisions(*_table_runs(rule_of(algorithm, len(tape.table)), tape, n_runs, rng))
