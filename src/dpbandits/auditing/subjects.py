"""The algorithms and mechanisms of this package, made auditable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_integer
from dpbandits.auditing import kernels as kernels
from dpbandits.auditing.batches import BATCHED, top_two_outputs
from dpbandits.auditing.counters import COUNTERS, counter_sums
from dpbandits.auditing.lazy import has_loop, lazy_actions
from dpbandits.auditing.tables import (
    Auditable,
    FixedRewards,
    Outputs,
    check_one_arm,
    check_rewards,
)
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.dp_ucb import DPUCB
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_hybrid import DPUCBHybrid
from dpbandits.regret.dp_ucb_int import DPUCBInt
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.regret.ucb import UCB
from dpbandits.rewards.streams import Rewards
from dpbandits.stopping.base import StoppingRule

__all__ = [
    "CounterSubject",
    "IdentificationSubject",
    "RegretSubject",
    "StoppingSubject",
    "subject_of",
]

Floats = NDArray[np.float64]
Rng = np.random.Generator


def _index(algorithm: Any, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    shape = table.shape
    if isinstance(algorithm, UCB):
        return kernels.index_actions(table, n_runs, rng, 0.0, 0.0)
    scale, gamma = algorithm.node_scale(*shape), algorithm.gamma(*shape)
    return kernels.index_actions(table, n_runs, rng, scale, gamma)


def _bound(algorithm: Any, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    scale, repaired = algorithm.counter.block_scale, algorithm.width == "repaired"
    return kernels.bound_actions(table, n_runs, rng, scale, algorithm.ucb_term, repaired)


def _hybrid(algorithm: Any, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    scale = algorithm.counter.block_scale
    return kernels.hybrid_actions(table, n_runs, rng, scale, not algorithm.literal)


def _interval(algorithm: Any, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    return kernels.interval_actions(
        table,
        n_runs,
        rng,
        algorithm.interval,
        algorithm.exponent,
        algorithm.noise,
        algorithm.reading == "refreshed",
        algorithm.reading == "literal",
    )


def _played(algorithm: Any, table: Floats, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play an algorithm that asks for sums of rewards, run by run."""
    rewards, times = FixedRewards(table), np.arange(1, table.shape[1] + 1)
    actions = np.empty((n_runs, times.size), dtype=np.int8)
    before = np.zeros((1, table.shape[0]), dtype=np.int64)
    for row in actions:
        rewards.restart()
        counts = algorithm.play(rewards, times.size, times, rng).counts
        row[:] = np.diff(counts, axis=0, prepend=before).argmax(axis=1)
    return actions


_COMPILED: dict[type, Callable[[Any, Floats, int, Rng], NDArray[np.int8]]] = {
    UCB: _index,
    DPUCB: _index,
    DPUCBBound: _bound,
    DPUCBHybrid: _hybrid,
    DPUCBInt: _interval,
}
"""Index policies, whose compiled loops draw rewards of 0 and 1."""


@dataclass(frozen=True)
class RegretSubject:
    """A regret-minimising algorithm for rewards of 0 and 1: its sequence of pulls.

    A table of N rewards an arm is played for N pulls, which is also the horizon that the
    algorithm is told.

    Attributes
    ----------
    algorithm : RegretAlgorithm
        What is audited. An index policy is run pull by pull, also if its engine is "skipping".
    n_pulls : int
        Length N of the tables that are meant.

    Raises
    ------
    ValueError
        If the algorithm is for heavy-tailed rewards: see `dpbandits.auditing.exact`.

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
                "rewards of 0 and 1"
            )

    @property
    def label(self) -> str:
        """What tables call the algorithm."""
        return self.algorithm.label

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the algorithm declares, for `n_pulls` pulls where it depends on their number."""
        if isinstance(self.algorithm, DPUCBInt):
            return self.algorithm.guarantee_at(self.n_pulls)
        return self.algorithm.guarantee

    def outputs(self, table: Floats, n_runs: int, rng: Rng) -> Outputs:
        """Run the algorithm; there are no values."""
        index_policy = _COMPILED.get(type(self.algorithm))
        check_rewards(table, whole=index_policy is not None)
        play = index_policy or (lazy_actions if has_loop(self.algorithm) else _played)
        actions = play(self.algorithm, np.array(table, np.float64, order="C"), n_runs, rng)
        return Outputs(np.empty((n_runs, 0)), actions.astype(np.float64))


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
        if type(self.algorithm) in BATCHED and table.shape[1] >= table.shape[0] >= 2:
            fixed = np.array(table, np.float64, order="C")
            return Outputs(*top_two_outputs(self.algorithm, fixed, n_runs, rng))
        rewards, most = FixedRewards(table), table.shape[1]
        values = np.empty((n_runs, 2 + table.shape[0]))
        actions = np.full((n_runs, most), -1.0)
        for value, row in zip(values, actions, strict=True):
            rewards.restart()
            verdict = self.algorithm.decide(cast(Rewards, rewards), rng, most)
            value[:] = verdict.recommendation, verdict.stopping_time, *verdict.pulls
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
        stream = table[0].tolist()
        if type(self.mechanism) in COUNTERS:
            sums = counter_sums(self.mechanism, np.array(stream), n_runs, rng)
            return Outputs(sums, np.empty((n_runs, 0)))
        sums = np.empty((n_runs, len(stream)))
        for row in sums:
            counter = self.mechanism.counter(rng)
            row[:] = [counter.add(x) for x in stream]
        return Outputs(sums, np.empty((n_runs, 0)))


def subject_of(target: object, n_pulls: int = 16) -> Auditable:
    """Make an algorithm, a rule or a counter of this package auditable.

    Parameters
    ----------
    target : object
        A `RegretAlgorithm` for rewards of 0 and 1, an `IdentificationAlgorithm`, a `StoppingRule`,
        or a mechanism with a `counter`.
    n_pulls : int
        Length N of the tables that are meant, for algorithms whose guarantee depends on it.

    Returns
    -------
    Auditable

    Raises
    ------
    ValueError
        If it is something else.

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
