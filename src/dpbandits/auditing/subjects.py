"""The algorithms and mechanisms of this package, made auditable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from dpbandits._arrays import Floats, Rng
from dpbandits._validation import check_integer
from dpbandits.auditing.tables import Auditable, FixedRewards, Outputs, check_one_arm, check_rewards
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.identification.batches import Rule, run_batches
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.top_two import NO_PATIENTS, TopTwo, run_top_two
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.streams import running_sums
from dpbandits.stopping.base import StoppingRule

__all__ = [
    "CounterSubject",
    "IdentificationSubject",
    "RegretSubject",
    "StoppingSubject",
    "counter_sums",
    "declared",
    "subject_of",
]


def declared(target: Any, n_pulls: int) -> PrivacyGuarantee:
    """Return what a target declares, for tables of `n_pulls` where it depends on their length."""
    found: PrivacyGuarantee = target.guarantee
    return target.guarantee_at(n_pulls) if isinstance(target, DPUCBInt) else found


@dataclass(frozen=True)
class RegretSubject:
    """A regret-minimising algorithm for rewards in [0, 1]: its sequence of pulls.

    A table of N rewards an arm is played for N pulls, which is also the horizon that the
    algorithm is told; `n_pulls` is the N that is meant. An index policy is run pull by pull, also
    if its engine is "skipping". For heavy-tailed rewards see `dpbandits.auditing.exact`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject = RegretSubject(dpb.UCB())
    >>> table = np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    >>> subject.outputs(table, 1, np.random.default_rng(0)).actions.tolist()
    [[0.0, 1.0, 0.0, 0.0]]
    """

    algorithm: RegretAlgorithm
    n_pulls: int = 16

    def __post_init__(self) -> None:
        base = getattr(self.algorithm, "base", self.algorithm)
        if isinstance(base, HeavyTailAlgorithm):
            raise ValueError(
                f"algorithm={self.algorithm!r} cannot be run on a table; allowed: algorithms for "
                "rewards in [0, 1]"
            )

    @property
    def label(self) -> str:
        """What tables call the algorithm."""
        return self.algorithm.label

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the algorithm declares, for `n_pulls` pulls where it depends on their number."""
        return declared(self.algorithm, self.n_pulls)

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the algorithm; there are no values."""
        check_rewards(table)
        actions = self.algorithm.play_table(np.array(table, np.float64, order="C"), n_runs, rng)
        return Outputs(np.empty((n_runs, 0)), actions.astype(np.float64))


@njit(cache=True, nogil=True)
def _batched_outputs(sums: Floats, n_runs: int, rng: Rng, rule: Rule) -> tuple[Floats, Floats]:
    """Run DP-TT, AdaP-TT or AdaP-TT* on a table, given by its running sums."""
    n_arms, n_pulls, means = sums.shape[0], sums.shape[1] - 1, np.zeros(sums.shape[0])
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        best, pulls = run_batches(rule, means, sums, rng, n_pulls, actions[r])
        values[r, 0] = best
        values[r, 1] = pulls.sum()
        values[r, 2:] = pulls
    return values, actions


@njit(cache=True, nogil=True)
def _plain_outputs(
    sums: Floats, n_runs: int, rng: Rng, share: float, delta: float
) -> tuple[Floats, Floats]:
    """Run Top Two, which has no randomness except that of the rewards."""
    n_arms, n_pulls, means = sums.shape[0], sums.shape[1] - 1, np.zeros(sums.shape[0])
    values, actions = np.empty((n_runs, 2 + n_arms)), np.full((n_runs, n_pulls), -1.0)
    for r in range(n_runs):
        best, pulls, _ = run_top_two(
            share, delta, means, sums, NO_PATIENTS, rng, n_pulls, actions[r]
        )
        values[r, 0] = best
        values[r, 1] = pulls.sum()
        values[r, 2:] = pulls
    return values, actions


@dataclass(frozen=True)
class IdentificationSubject:
    """An algorithm for best-arm identification: pulls, stopping time and recommendation.

    Values are the recommendation (−1 if the table ended first), the stopping time and the pulls
    of each arm; actions are the arms in the order in which rewards were looked at.

    Attributes
    ----------
    algorithm : IdentificationAlgorithm
        What is audited.
    """

    algorithm: IdentificationAlgorithm

    @property
    def label(self) -> str:
        """What tables call the algorithm."""
        return self.algorithm.label

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the algorithm declares."""
        return self.algorithm.guarantee

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the algorithm for N pulls at most."""
        check_rewards(table)
        algorithm: Any = self.algorithm
        other = table[~np.isin(table, (0.0, 1.0))]
        if isinstance(algorithm, TopTwo) and other.size:
            raise ValueError(f"table has the reward {other[0]:g}; allowed: 0 or 1")
        if table.shape[1] >= table.shape[0] >= 2:
            sums = running_sums(np.array(table, np.float64, order="C"))
            if type(algorithm) is TopTwo:
                shares = algorithm.leader_share, algorithm.delta
                return Outputs(*_plain_outputs(sums, n_runs, rng, *shares))
            if type(algorithm) in (DPTT, AdaPTT, AdaPTTStar):
                rule = algorithm.rule(len(sums))
                return Outputs(*_batched_outputs(sums, n_runs, rng, rule))
        rewards, most = FixedRewards(table), table.shape[1]
        values = np.empty((n_runs, 2 + table.shape[0]))
        actions = np.full((n_runs, most), -1.0)
        for value, row in zip(values, actions, strict=True):
            rewards.restart()
            decision = algorithm.decide(rewards, rng, most)
            value[:] = decision.recommendation, decision.stopping_time, *decision.pulls
            arms = rewards.batches
            row[: len(arms)] = arms
        return Outputs(values, actions)


@dataclass(frozen=True)
class StoppingSubject:
    """A stopping rule: halting time and estimate. Its tables have one arm.

    Attributes
    ----------
    rule : StoppingRule
        What is audited.
    """

    rule: StoppingRule

    @property
    def label(self) -> str:
        """What tables call the rule."""
        return self.rule.label

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the rule declares."""
        return self.rule.guarantee

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the rule on the stream."""
        check_one_arm(table)
        stream = table[0].tolist()
        found = [self.rule.run(stream, rng, len(stream)) for _ in range(n_runs)]
        values = np.array([[outcome.samples, outcome.estimate] for outcome in found])
        return Outputs(values, np.empty((n_runs, 0)))


def counter_sums(mechanism: Any, stream: Floats, n_runs: int, rng: Rng) -> Floats:
    """Run a counter over a stream; return its private sums, shape (n_runs, N)."""
    if type(mechanism) in (BinaryTree, AdaptiveTree, HybridCounter, LogarithmicCounter):
        sums: Floats = mechanism.sums(stream, n_runs, rng)
        return sums
    counters = (mechanism.counter(rng) for _ in range(n_runs))
    return np.array([[counter.add(x) for x in stream.tolist()] for counter in counters])


@dataclass(frozen=True)
class CounterSubject:
    """A private counter: all its running sums. Its tables have one arm.

    Attributes
    ----------
    mechanism : object
        One with `guarantee` and `counter`, such as `BinaryTree`.
    label : str
        What tables call it.
    """

    mechanism: Any
    label: str = "counter"

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the mechanism declares."""
        found: PrivacyGuarantee = self.mechanism.guarantee
        return found

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the counter over the stream."""
        check_one_arm(table)
        sums = counter_sums(self.mechanism, np.array(table[0]), n_runs, rng)
        return Outputs(sums, np.empty((n_runs, 0)))


def subject_of(target: object, n_pulls: int = 16) -> Auditable:
    """Make an algorithm, a rule or a counter of this package auditable.

    Parameters
    ----------
    target : object
        A `RegretAlgorithm` for rewards in [0, 1], an `IdentificationAlgorithm`, a `StoppingRule`,
        or a mechanism with a `counter`.
    n_pulls : int
        Length N of the tables that are meant, for algorithms whose guarantee depends on it.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> subject_of(dpb.DPUCB(epsilon=1.0)).label
    'DP-UCB'
    """
    if isinstance(target, RegretAlgorithm):
        return RegretSubject(target, check_integer("n_pulls", n_pulls, 1))
    if isinstance(target, IdentificationAlgorithm):
        return IdentificationSubject(target)
    if isinstance(target, StoppingRule):
        return StoppingSubject(target)
    if callable(getattr(target, "counter", None)) and hasattr(target, "guarantee"):
        return CounterSubject(target, type(target).__name__)
    raise ValueError(
        f"target={target!r} cannot be audited; allowed: an algorithm, a stopping rule or a counter "
        "of this package, a function of (rewards, rng), or what has label, guarantee and outputs"
    )
