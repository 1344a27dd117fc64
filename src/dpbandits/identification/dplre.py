"""DP-LRE: private best-arm identification by likelihood-ratio elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Fraction, between
from dpbandits.divergences import d_eps_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import Decision, IdentificationAlgorithm, check_run
from dpbandits.identification.evidence import CAPACITY, START, Table, judge, peak, table_of, take_in
from dpbandits.identification.transport import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards
from dpbandits.rewards.tables import Tables

_MOST_PULLS = 2**53


class EliminationRule(NamedTuple):
    """What the compiled functions know of `DPLRE`."""

    epsilon: float
    threshold: float
    first: int  # size of the first batches
    least_growth: float
    most_growth: float
    scarce: float = 15.0  # more is demanded if an arm has 15·√(K − 1) times the pulls of another
    top_up: bool = True  # whether arms that were left behind are given more


class _Arms(NamedTuple):
    """What a run knows; arrays of shape (K, …), except `turn`."""

    rows: Floats  # (K, 4, CAPACITY): tables of the likelihoods
    slack: Floats
    size: Ints  # knots
    sums: Floats  # (K, 2, …): sizes of the batches, and what they were released as
    batches: Ints
    pulls: Ints
    rival: Ints
    contends: Ints
    planned: Ints
    turn: Ints  # step of a round, below 0 in the first batches; leader; last arm released; ⌊√M⌋


@kernel
def _start(n_arms: int, rule: EliminationRule) -> _Arms:
    # each batch adds `least_growth` times an arm's pulls or more, and two thirds if it is a top-up
    batches = int(math.log(2.0**53) / math.log1p(min(rule.least_growth, 1.0))) + 3
    rows, counts = np.zeros((n_arms, 4, CAPACITY)), np.zeros((4, n_arms), np.int64)
    rows[:, 0, : START.size] = START
    return _Arms(
        rows, np.zeros(n_arms), np.full(n_arms, START.size), np.empty((n_arms, 2, batches)),
        counts[0], counts[1], counts[2], np.ones(n_arms, np.int64), counts[3],
        np.array([-n_arms, 0, -1, 0]),
    )  # fmt: skip


@kernel
def _noise_share(upper: float, lower: float, epsilon: float) -> float:
    """Return r: half the tilt between two means, as a share, at most 1, of what noise lets pass."""
    if lower <= 0.0 or upper >= 1.0:
        return 1.0 if epsilon < math.inf else 0.0
    tilt = math.log(upper / (1.0 - upper)) - math.log(lower / (1.0 - lower))
    return min(tilt / (2.0 * epsilon), 1.0)


@kernel
def _table(arms: _Arms, a: int) -> Table:
    return table_of(arms.rows[a], arms.size[a], arms.slack[a])


@kernel
def _demand(rule: EliminationRule, arms: _Arms, b: int) -> float:
    """Return the evidence, in nats, that beating arm b requires."""
    scarce = rule.scarce * math.sqrt(arms.pulls.size - 1)
    scarcity = arms.pulls.max() / (scarce * arms.pulls[b])
    return rule.threshold + 2.0 * math.log(max(scarcity, 1.0))


@kernel
def _judge(
    rule: EliminationRule, arms: _Arms, leader: int, b: int, to_the_end: bool
) -> tuple[bool, float]:
    """Return whether the leader certainly beats b, and about what evidence it lacks."""
    demand = _demand(rule, arms, b)
    beats, lowest = judge(_table(arms, leader), _table(arms, b), demand, to_the_end)
    return beats, demand - lowest


@kernel
def _batch(rule: EliminationRule, wanted: float, pulls: int) -> int:
    """Return the size of a batch that is wanted, within the limits of its growth."""
    return math.ceil(min(max(wanted, rule.least_growth * pulls), rule.most_growth * pulls))


@kernel
def _plan(rule: EliminationRule, arms: _Arms, leader: int) -> int:
    """Find the leader's rivals and plan their batches; return the size of its own, 0 for none."""
    lacking = np.zeros(arms.pulls.size)
    for b in range(lacking.size):
        arms.rival[b] = 0
        if b != leader and (arms.contends[b] or _demand(rule, arms, b) > rule.threshold):
            beaten, lacking[b] = _judge(rule, arms, leader, b, True)
            arms.rival[b] = not beaten
    lead, mean = math.sqrt(arms.rival.sum()), peak(_table(arms, leader))
    most = 0
    for b in range(lacking.size):
        if not arms.rival[b]:
            continue
        other = peak(_table(arms, b))
        gain = transportation_cost_kernel(mean, other, lead, 1.0, rule.epsilon)[0]
        wanted = math.inf
        if gain > 0.0:
            noise = _noise_share(mean, other, rule.epsilon)
            wanted = (0.5 * (1.0 + noise) * lacking[b] + noise) / gain
        arms.planned[b] = _batch(rule, wanted, arms.pulls[b])
        most = max(most, arms.pulls[b] + arms.planned[b])
    pulls = arms.pulls[leader]
    wanted = lead * most - pulls
    return 0 if wanted < rule.least_growth * pulls else _batch(rule, wanted, pulls)


@kernel
def next_batch(rule: EliminationRule, arms: _Arms) -> tuple[int, int]:
    """Return the arm of the next batch and its size, or the arm that is recommended and 0.

    Steps of a round: 0 plans and releases the leader, 1 … K its rivals, K + 1 decides, and
    K + 2 … 2K + 1 are top-ups.
    """
    n_arms, turn, rival = arms.pulls.size, arms.turn, arms.rival
    last, turn[2] = turn[2], -1
    if last >= 0:  # its release may have beaten a rival
        for b in range(n_arms):
            if rival[b] and (last == b or last == turn[1]):
                rival[b] = not _judge(rule, arms, turn[1], b, False)[0]
    while True:
        step = turn[0]
        turn[0] += 1
        if step < 0:
            return step + n_arms, rule.first
        if step == 0:
            leader = int(np.argmax(np.array([peak(_table(arms, a)) for a in range(n_arms)])))
            turn[1] = leader
            size = _plan(rule, arms, leader)
            if size > 0:
                turn[2] = leader
                return leader, size
        elif step <= n_arms:
            if rival[step - 1]:
                turn[2] = step - 1
                return step - 1, arms.planned[step - 1]
        elif step == n_arms + 1:
            if not rival.any():
                return turn[1], 0
            arms.contends[:] = rival
            arms.contends[turn[1]] = 1
            turn[3] = int(math.sqrt(arms.pulls.max()))  # exact: there are 2^53 pulls at most
        elif step <= 2 * n_arms + 1:
            b = step - n_arms - 2
            if rule.top_up and not arms.contends[b] and arms.pulls[b] < turn[3]:
                return b, 2 * turn[3]
        else:
            turn[0] = 0


@kernel
def _record(rule: EliminationRule, arms: _Arms, a: int, size: int, total: float) -> None:
    """Take in that a batch of arm a was released as `total`."""
    count, sums = arms.batches[a], arms.sums[a]
    sums[0, count], sums[1, count] = size, total
    arms.batches[a] += 1
    arms.pulls[a] += size
    ns, xs = sums[0, : count + 1], sums[1, : count + 1]
    arms.size[a], arms.slack[a] = take_in(arms.rows[a], arms.size[a], ns, xs, rule.epsilon)


@kernel
def _run(rule: EliminationRule, means: Floats, rng: Rng, max_pulls: int) -> tuple[int, Ints]:
    """Run once: recommendation and pulls."""
    arms = _start(means.size, rule)
    while True:
        a, size = next_batch(rule, arms)
        if size == 0:
            return a, arms.pulls
        room = max_pulls - arms.pulls.sum()
        if size > room:
            arms.pulls[a] += room
            return -1, arms.pulls
        total = float(binomial(rng, size, means[a]))
        if rule.epsilon < math.inf:
            total += laplace(rng, 1.0 / rule.epsilon)
        _record(rule, arms, a, size, total)


@dataclass(frozen=True)
class DPLRE(IdentificationAlgorithm):
    """DP-LRE: private likelihood-ratio elimination.

    Every batch of rewards is released as its sum plus one Lap(1/ε), and judged by its exact law.
    The leader B is the arm whose likelihood is largest at the largest mean. It beats an arm b when
    the evidence that it has the larger mean (`dpbandits.identification.evidence`) reaches
    (K − 1)/δ·max(1, M/(15√(K − 1) N_b))², with N the pulls and M the largest of them, and is
    recommended when it beats all others. The first batches have ⌈log((K − 1)/δ)/d_ε(1, ½)⌉ pulls,
    as no test can succeed much earlier; later ones are planned from the evidence that is lacking,
    or are top-ups of arms that were left behind.

    Algorithm: :prf:ref:`alg-lre`. It is private and δ-correct (:prf:ref:`thm-lre-correct`), and
    E[τ] is finite whenever one arm alone is best (:prf:ref:`thm-lre-stops`).

    Parameters
    ----------
    epsilon, delta : float
        Privacy budget ε > 0 (``inf``: no noise, and nothing is private) and confidence δ in (0, 1).
    least_growth, most_growth : float
        Sizes of batches, as shares of the arm's pulls before: 0.001 ≤ least ≤ most ≤ 1000.

    Notes
    -----
    A run has at most 2^53 pulls, whatever `max_pulls`.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPLRE(1.0, 0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
    >>> round(dpb.DPLRE(1.0, 0.01).threshold(5), 4), dpb.DPLRE(0.01, 0.01).first_batch(5)
    (5.9915, 1202)
    """

    label: ClassVar[str] = "DP-LRE"
    source: ClassVar[str] = "this book"

    epsilon: Budget
    delta: Fraction
    least_growth: Annotated[float, between(1e-3, 1e3)] = 0.1
    most_growth: Annotated[float, between(1e-3, 1e3)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most_growth < self.least_growth:
            raise ValueError(
                f"most_growth={self.most_growth!r} is out of range; allowed: at least "
                f"least_growth={self.least_growth!r}"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("global", self.epsilon)

    @property
    def tables(self) -> Tables:
        """Tables with the first batch of each arm, and the pull that shows which arm leads then."""
        tables = super().tables
        return tables._replace(least=tables.n_arms * self.first_batch(tables.n_arms) + 1)

    def threshold(self, n_arms: int) -> float:
        """Return log((K − 1)/δ), the evidence in nats at which one of K ≥ 2 arms is dropped."""
        return math.log(check_integer("n_arms", n_arms, 2) - 1) - math.log(self.delta)

    def first_batch(self, n_arms: int) -> int:
        """Return the size of the first batch of each of K ≥ 2 arms."""
        return math.ceil(self.threshold(n_arms) / d_eps_kernel(1.0, 0.5, self.epsilon))

    def rule(self, n_arms: int) -> EliminationRule:
        """Return what the compiled functions have to know for K arms."""
        first = min(self.first_batch(n_arms), 2 * _MOST_PULLS)  # more than any run has room for
        threshold = self.threshold(n_arms)
        return EliminationRule(self.epsilon, threshold, first, self.least_growth, self.most_growth)

    def run_compiled(self, means: Floats, rng: Rng, max_pulls: int) -> Decision | None:
        if type(self).decide is not DPLRE.decide:
            return None
        rule, most = self.rule(means.size), min(max_pulls, _MOST_PULLS)
        return Decision(*_run(rule, means, rng, most))

    def decide(self, rewards: Rewards, rng: Rng, max_pulls: int) -> Decision:
        max_pulls = min(check_run(rewards, rng, max_pulls), _MOST_PULLS)
        rule = self.rule(rewards.n_arms)
        arms = _start(rewards.n_arms, rule)
        while True:
            a, size = next_batch(rule, arms)
            if size == 0:
                return Decision(a, arms.pulls)
            room = min(max_pulls - int(arms.pulls.sum()), patients_left(rewards, a))
            if size > room:
                arms.pulls[a] += room
                return Decision(-1, arms.pulls)
            total = float(rewards.total(a, size))
            if self.epsilon < math.inf:
                total += laplace(rng, 1.0 / self.epsilon)
            _record(rule, arms, a, size, total)
