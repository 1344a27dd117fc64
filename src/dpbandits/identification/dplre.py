"""DP-LRE: private best-arm identification by likelihood-ratio elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._validation import check_integer
from dpbandits.configuration import Budget, Fraction, between
from dpbandits.divergences import d_eps_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import Decision, IdentificationAlgorithm, check_run, next_total
from dpbandits.identification.evidence import CAPACITY, START, Table, exceeds, least, peak, take_in
from dpbandits.identification.transport import transportation_cost_kernel
from dpbandits.mechanisms import laplace
from dpbandits.rewards.populations import patients_left
from dpbandits.rewards.streams import Rewards

__all__ = ["DPLRE", "EliminationRule", "next_batch", "run_elimination"]

_MOST_PULLS = 2**53


class EliminationRule(NamedTuple):
    """What the compiled functions know of `DPLRE`."""

    epsilon: float
    threshold: float
    first: int  # size of the first batches
    least_growth: float
    most_growth: float
    scarce: float = 15.0
    """An arm is scarce when another has this many times √(K − 1) times its pulls: a leader may
    have √(K − 1) times those of its rivals."""
    top_up: bool = True  # whether there is step 5


class _Arms(NamedTuple):
    """What a run knows; arrays of shape (K, …), except `turn`."""

    knots: Floats
    values: Floats
    low: Floats
    slope: Floats
    ns: Floats
    xs: Floats
    slack: Floats
    size: Ints  # knots
    batches: Ints
    pulls: Ints
    rival: Ints
    contends: Ints
    planned: Ints
    turn: Ints  # step of a round, below 0 in the first batches; leader; last arm released; ⌊√M⌋


@njit(cache=True, nogil=True)
def _start(n_arms: int, rule: EliminationRule) -> _Arms:
    """Return what is known before the first pull."""
    # each batch adds `least_growth` times an arm's pulls or more, and two thirds if it is a top-up
    batches = int(math.log(2.0**53) / math.log1p(min(rule.least_growth, 1.0))) + 3
    knots, counts = np.empty((n_arms, CAPACITY)), np.zeros((5, n_arms), np.int64)
    knots[:, : START.size] = START
    return _Arms(
        knots, np.zeros((n_arms, CAPACITY)), np.empty((n_arms, CAPACITY)),
        np.empty((n_arms, CAPACITY)), np.empty((n_arms, batches)), np.empty((n_arms, batches)),
        np.zeros(n_arms), np.full(n_arms, START.size), counts[0], counts[1], counts[2],
        np.ones(n_arms, np.int64), counts[4], np.array([-n_arms, 0, -1, 0]),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _noise_share(upper: float, lower: float, epsilon: float) -> float:
    """Return half the tilt between two means, as a share of the tilt ε that the noise lets pass.

    Each of two arms is tilted by about half of the difference of their log-odds; beyond ε the
    noise takes over. At most 1.
    """
    if epsilon == math.inf:
        return 0.0
    if lower <= 0.0 or upper >= 1.0:
        return 1.0
    tilt = math.log(upper / (1.0 - upper)) - math.log(lower / (1.0 - lower))
    return min(tilt / (2.0 * epsilon), 1.0)


@njit(cache=True, nogil=True)
def _table(arms: _Arms, a: int) -> Table:
    n = arms.size[a]
    return (
        arms.knots[a, :n], arms.values[a, :n], arms.slack[a], arms.low[a, :n], arms.slope[a, :n]
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _maximiser(arms: _Arms, a: int) -> float:
    return peak(arms.knots[a, : arms.size[a]], arms.values[a, : arms.size[a]])


@njit(cache=True, nogil=True)
def _demand(rule: EliminationRule, arms: _Arms, b: int) -> float:
    """Return the evidence, in nats, that beating arm b requires."""
    scarce = rule.scarce * math.sqrt(arms.pulls.size - 1)
    scarcity = arms.pulls.max() / (scarce * arms.pulls[b])
    return rule.threshold + 2.0 * math.log(max(scarcity, 1.0))


@njit(cache=True, nogil=True)
def _judge(
    rule: EliminationRule, arms: _Arms, leader: int, b: int, to_the_end: bool
) -> tuple[bool, float]:
    """Return whether the leader certainly beats b, and about what evidence it lacks.

    The infimum is searched for to the end, or until what matters for the first is clear.
    """
    demand = _demand(rule, arms, b)
    better, worse = _table(arms, leader), _table(arms, b)
    lowest, place = least(better, worse, -math.inf if to_the_end else demand)
    beats = lowest >= demand and exceeds(better, worse, demand, place)
    return beats, demand - lowest


@njit(cache=True, nogil=True)
def _batch(rule: EliminationRule, wanted: float, pulls: int) -> int:
    """Return the size of a batch that is wanted, within the limits of its growth."""
    return math.ceil(min(max(wanted, rule.least_growth * pulls), rule.most_growth * pulls))


@njit(cache=True, nogil=True)
def _plan(rule: EliminationRule, arms: _Arms, leader: int) -> int:
    """Find the leader's rivals and plan their batches; return the size of its own, 0 for none."""
    lacking = np.zeros(arms.pulls.size)
    for b in range(lacking.size):
        arms.rival[b] = 0
        if b != leader and (arms.contends[b] or _demand(rule, arms, b) > rule.threshold):
            beaten, lacking[b] = _judge(rule, arms, leader, b, True)
            arms.rival[b] = not beaten
    lead, mean = math.sqrt(arms.rival.sum()), _maximiser(arms, leader)
    most = 0
    for b in range(lacking.size):
        if not arms.rival[b]:
            continue
        other = _maximiser(arms, b)
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


@njit(cache=True, nogil=True)
def next_batch(rule: EliminationRule, arms: _Arms) -> tuple[int, int]:
    """Return the arm of the next batch and its size, or the arm that is recommended and 0.

    Call it again when the batch has been recorded. Steps of a round: 0 plans and releases the
    leader, 1 … K its rivals, K + 1 decides, and K + 2 … 2K + 1 are top-ups.
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
            leader, mean = 0, _maximiser(arms, 0)
            for a in range(1, n_arms):
                other = _maximiser(arms, a)
                if other > mean:
                    leader, mean = a, other
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


@njit(cache=True, nogil=True)
def _record(rule: EliminationRule, arms: _Arms, a: int, size: int, total: float) -> None:
    """Take in that a batch of arm a was released as `total`."""
    count = arms.batches[a]
    arms.ns[a, count], arms.xs[a, count] = size, total
    arms.batches[a] += 1
    arms.pulls[a] += size
    arms.size[a], arms.slack[a] = take_in(
        (arms.knots[a], arms.values[a], arms.low[a], arms.slope[a]), arms.size[a],
        arms.ns[a, : count + 1], arms.xs[a, : count + 1], rule.epsilon, arms.pulls[a],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def run_elimination(
    rule: EliminationRule, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
) -> tuple[int, Ints]:
    """Run once: recommendation and pulls. As of `IdentificationAlgorithm.run_compiled`."""
    arms = _start(means.size, rule)
    while True:
        a, size = next_batch(rule, arms)
        if size == 0:
            return a, arms.pulls
        room = max_pulls - arms.pulls.sum()
        if size > room:
            arms.pulls[a] += room
            return -1, arms.pulls
        total = next_total(means, table, rng, a, arms.pulls[a], size)
        if rule.epsilon < math.inf:
            total += laplace(rng, 1.0 / rule.epsilon)
        if log.size > 0:
            log[arms.batches.sum()] = a
        _record(rule, arms, a, size, total)


@dataclass(frozen=True)
class DPLRE(IdentificationAlgorithm):
    """DP-LRE: private likelihood-ratio elimination.

    Every batch of rewards is released as its sum plus one Lap(1/ε), and judged by the exact law
    of that sum. The leader beats an arm b when the evidence that it has the larger mean
    (`dpbandits.identification.evidence`) reaches
    (K − 1)/δ·max(1, M/(15√(K − 1) N_b))², with N the pulls and M the largest of them.

    1. Release ⌈log((K − 1)/δ)/d_ε(1, ½)⌉ pulls of each arm: no test can succeed much earlier.
    2. The leader B is the arm whose likelihood is largest at the largest mean p̂. Its rivals are
       the others except those that it beats; an arm that was beaten before is tested again only if
       M > 15√(K − 1) N_b, for more is then demanded. If there are no rivals, recommend B.
    3. Plan batches. For a rival b evidence of a nats is lacking, and a pull is expected to bring
       g = inf_u {√m·d⁻(p̂_B, u) + d⁺(p̂_b, u)}, with m rivals. With r in [0, 1] saying how much
       the noise is felt, b gets (½(1 + r)a + r)/g pulls: half of what is lacking where there is no
       noise, all of it and the price of one release where there is nothing but noise; at least
       `least_growth` and at most `most_growth` times its pulls. B is brought to √m times the
       pulls that its rivals will have at most, in the same limits, and left out where that takes
       less than the least growth.
    4. Release the batches, B's first. After each release rivals that are beaten leave.
       If none is left, recommend B.
    5. An arm that is neither leader nor rival and has fewer than ⌊√M⌋ pulls is given 2⌊√M⌋ more.
       Go to step 2.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed: no noise, and nothing is private.
    delta : float
        Confidence δ in (0, 1).
    least_growth, most_growth : float
        Least and largest size of a batch, as a share of the arm's pulls before;
        0.001 ≤ `least_growth` ≤ `most_growth` ≤ 1000.

    Notes
    -----
    Algorithm: :prf:ref:`alg-lre`. Proof that it is private and δ-correct:
    :prf:ref:`thm-lre-correct`; that E[τ] is finite whenever one arm alone is best:
    :prf:ref:`thm-lre-stops`. A best arm that was beaten by mistake comes back: soon, because more
    is demanded once others are pulled far more often, and surely, by step 5. Without both, two
    tied arms that are left would never part.

    A batch that would exceed `max_pulls` is cut short: its pulls count, it asks for no rewards and
    releases nothing. A run is ended after 2^53 pulls in any case: up to there floats count without
    a gap.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> dpb.DPLRE(1.0, 0.1).draw(instance, np.random.default_rng(0)).recommendation
    0
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
        """Pure ε-differential privacy of pulls, stopping time and recommendation."""
        return PrivacyGuarantee("global", self.epsilon)

    def threshold(self, n_arms: int) -> float:
        """Return log((K − 1)/δ), the evidence in nats at which one of K ≥ 2 arms is dropped.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> round(dpb.DPLRE(1.0, 0.01).threshold(5), 4)
        5.9915
        """
        return math.log(check_integer("n_arms", n_arms, 2) - 1) - math.log(self.delta)

    def first_batch(self, n_arms: int) -> int:
        """Return ⌈log((K − 1)/δ)/d_ε(1, ½)⌉, the size of the first batch of each of K ≥ 2 arms.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> dpb.DPLRE(1.0, 0.01).first_batch(5), dpb.DPLRE(0.01, 0.01).first_batch(5)
        (16, 1202)
        """
        return math.ceil(self.threshold(n_arms) / d_eps_kernel(1.0, 0.5, self.epsilon))

    def rule(self, n_arms: int) -> EliminationRule:
        """Return what the compiled functions have to know for K arms."""
        first = min(self.first_batch(n_arms), 2 * _MOST_PULLS)  # more than any run has room for
        growths = self.least_growth, self.most_growth
        return EliminationRule(self.epsilon, self.threshold(n_arms), first, *growths)

    def run_compiled(
        self, means: Floats, table: Floats, rng: Rng, max_pulls: int, log: Floats
    ) -> Decision | None:
        """Run once in a compiled loop, unless a subclass has its own `decide`."""
        if type(self).decide is not DPLRE.decide:
            return None
        rule, most = self.rule(means.size), min(max_pulls, _MOST_PULLS)
        return Decision(*run_elimination(rule, means, table, rng, most, log))

    def decide(self, rewards: Rewards, rng: Rng, max_pulls: int) -> Decision:
        """Run once; see `IdentificationAlgorithm.decide`."""
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
