"""AdaP-TT and AdaP-TT*: Top Two with doubling batches of which all but the last are forgotten."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice, check_fraction, check_positive
from dpbandits.identification.batch_loop import Rule
from dpbandits.identification.batches import BatchedTopTwo, BatchState
from dpbandits.identification.doubling import advance_doubling
from dpbandits.identification.thresholds import (
    ADAP_THRESHOLDS,
    RULES,
    gaussian_threshold,
    separate_threshold,
)

__all__ = ["AdaPTT", "AdaPTTStar"]


class _Doubling(BatchedTopTwo):
    """What AdaP-TT and AdaP-TT* share: doubling batches, the last one's mean, a UCB leader."""

    @property
    @abc.abstractmethod
    def _rule(self) -> str:
        """Which of `ADAP_THRESHOLDS`."""

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        share = check_fraction("leader_share", self.leader_share)
        object.__setattr__(self, "leader_share", share)

    def _next_release(self, pulls: int) -> int:
        return max(2 * pulls, 1)

    def _means(self, state: BatchState) -> NDArray[np.float64]:
        means: NDArray[np.float64] = state.last / state.batch
        return means

    def _stops(self, state: BatchState, means: NDArray[np.float64]) -> bool:
        best = int(means.argmax())
        others = (arm for arm in range(state.n_arms) if arm != best)
        return all(self._settled(state, means, best, arm) for arm in others)

    def _settled(self, state: BatchState, means: NDArray[np.float64], best: int, arm: int) -> bool:
        """Return whether `arm` is known to be worse than `best`."""
        gap = float(means[best] - means[arm])
        releases = int(state.releases[best]), int(state.releases[arm])
        batches = int(state.batch[best]), int(state.batch[arm])
        setting = self.delta, self.epsilon, state.n_arms, releases, batches
        if self._rule == "separate":
            return gap > separate_threshold(*setting)
        statistic = 0.5 * gap**2 / (1 / batches[0] + 1 / batches[1])
        return statistic > gaussian_threshold(self._rule, *setting)

    def _cost_epsilon(self) -> float:
        """Return ε if the cost adapts to it, ``inf`` if not."""
        return math.inf

    def compiled(self, n_arms: int) -> Rule | None:
        """Return the rule of the compiled loop; see `BatchedTopTwo.compiled`."""
        if type(self) not in (AdaPTT, AdaPTTStar):
            return None
        return Rule(
            self.epsilon, self.delta, self.leader_share, True, RULES.index(self._rule), 0.0, 0.0,
            0.0, False, self._cost_epsilon(), 1.0, 1,
        )  # fmt: skip

    def _advance(self, state: BatchState, means: NDArray[np.float64], room: int) -> int:
        log_time = math.log(int(state.released.sum()))
        bonus = log_time / (self.epsilon * state.batch) + np.sqrt(log_time / (2 * state.batch))
        leader = int((means + bonus).argmax())
        return int(
            advance_doubling(
                leader, means[leader] - means, self._cost_epsilon(), state.pulls,
                state.following, state.led, state.own, self.leader_share, room,
            )
        )  # fmt: skip


@dataclass(frozen=True)
class AdaPTT(_Doubling):
    """AdaP-TT: Azize, Jourdan, Al Marjani & Basu (2023), with a choice of thresholds.

    An arm's batch ends when its pulls have doubled, and its estimate μ̃_a is the mean of the last
    batch, of size n_a, plus Lap(1/(ε·n_a)): earlier batches are forgotten. With T the pulls
    released so far, the leader B has the largest μ̃_a + log T/(ε·n_a) + √(log T/(2·n_a)), and the
    challenger has the least (μ̃_B − μ̃_a)/√(1/N_B + 1/N_a), N the pulls so far. The rule stops
    when, for ã = argmax μ̃ and every other arm, (μ̃_ã − μ̃_a)²/(2(1/n_ã + 1/n_a)) is above the
    threshold: `thresholds.gaussian_threshold`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0.
    delta : float
        Confidence δ in (0, 1).
    threshold : {"theoretical", "separate", "heuristic", "published"}
        "theoretical" is δ-correct. "published" and "heuristic" are what the authors' code holds,
        the second of them in use there, and nothing is proved for them. "separate" is ours and
        δ-correct: the gap itself against `thresholds.separate_threshold`, as in `AdaPTTStar`.
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Deviations from the authors' code. There the leader is played with probability β; here its
    share is tracked, without randomness. There the cost has a bonus 1/(1 + √T) on the gap; here it
    has none. There the rule stops for the leader; here for the arm with the largest estimate.
    There the stopping time leaves out the pulls of open batches; here it counts them. The
    threshold that is proved takes both phase indices into the union; the authors' takes a single
    one, here the larger of the two, and its union leaves out the pairs of phases. Between releases
    many rounds are played at once, certified to be the rounds one by one:
    `dpbandits.identification.leaps`.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> verdict = dpb.AdaPTT(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0))
    >>> verdict.recommendation
    0
    """

    label: ClassVar[str] = "AdaP-TT"
    source: ClassVar[str] = "AJAB23"

    epsilon: float
    delta: float
    threshold: str = "theoretical"
    leader_share: float = 0.5

    def __post_init__(self) -> None:
        self._check()
        check_choice("threshold", self.threshold, ADAP_THRESHOLDS)

    @property
    def is_correct(self) -> bool:
        """Whether P(wrong recommendation) ≤ δ is proved for the threshold."""
        return self.threshold in ("theoretical", "separate")

    @property
    def _rule(self) -> str:
        return self.threshold


@dataclass(frozen=True)
class AdaPTTStar(_Doubling):
    """AdaP-TT*: AdaP-TT with a cost that adapts to ε, reconstructed.

    The challenger has the least min(2g²/(1/N_B + 1/N_a), ε·g·min(N_B, N_a)) with g = μ̃_B − μ̃_a,
    what the two costs of changing the order are without privacy (of [0, 1]-valued rewards) and at
    small ε. The rule stops when, for ã = argmax μ̃ and every other arm, μ̃_ã − μ̃_a is above
    √(½(1/n_ã + 1/n_a)·log(2(K−1)ζ(2)²(k_ã·k_a)²/δ)) + Σ log(2Kζ(2)k_i²/δ)/(ε·n_i), the sum over
    i ∈ {ã, a}: `thresholds.separate_threshold`, which is δ-correct. All else is as in `AdaPTT`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0.
    delta : float
        Confidence δ in (0, 1).
    leader_share : float
        Share β in (0, 1) of the rounds in which the leader is played.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The paper's own costs and threshold could not be read: both are derived here. A stopping rule
    that compares the cost with a threshold is weaker than one that compares the gap itself with
    the two deviations that make it up, so that the latter is used.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> instance = dpb.instances.bernoulli([0.9, 0.1])
    >>> verdict = dpb.AdaPTTStar(epsilon=1.0, delta=0.1).draw(instance, np.random.default_rng(0))
    >>> verdict.recommendation
    0
    """

    label: ClassVar[str] = "AdaP-TT*"
    source: ClassVar[str] = "AJAB23, reconstructed"

    epsilon: float
    delta: float
    leader_share: float = 0.5

    def __post_init__(self) -> None:
        self._check()

    @property
    def _rule(self) -> str:
        return "separate"

    def _cost_epsilon(self) -> float:
        return self.epsilon
