"""AdaP-TT and AdaP-TT*: Top Two with doubling batches of which all but the last are forgotten."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dpbandits._validation import check_choice, check_fraction, check_positive
from dpbandits.identification.batches import BatchedTopTwo, BatchState
from dpbandits.identification.thresholds import (
    ADAP_THRESHOLDS,
    gaussian_threshold,
    separate_threshold,
)

__all__ = ["AdaPTT", "AdaPTTStar"]


_LEAST_LEAP = 400
"""Turns of challengers that are worth a leap."""
_SETTLE = 120
"""Turns that are played one by one after a leap, before a batch may end."""


@njit(cache=True, nogil=True)
def _spread(
    square: NDArray[np.float64],
    counts: NDArray[np.int64],
    leader: float,
    turns: int,
    result: NDArray[np.int64],
) -> None:
    """Share `turns` pulls among challengers so that their reciprocal costs are as equal as can be.

    The reciprocal cost of a challenger is c·(1/N_B + 1/N), c = `square`, and N_B = `leader` in the
    end. `result` gets the counts: those before, and all pulls that lower a reciprocal above a
    common level, which is found by bisection; the last few go to the largest ones.
    """
    ahead = 1.0 / leader
    low, high = 0.0, 0.0
    for i in range(counts.size):
        high = max(high, square[i] * (ahead + 1.0 / counts[i]))
        low = max(low, square[i] * ahead)
    for _ in range(200):
        level = 0.5 * (low + high)
        given = 0
        for i in range(counts.size):
            rest = level / square[i] - ahead
            full = 4e18 if rest <= 0.0 else min(1.0 / rest, 4e18)
            result[i] = max(counts[i], int(full))
            given += min(result[i] - counts[i], turns + 1)
        if given > turns:
            low = level
        else:
            high = level
        if high - low <= 1e-16 * high or 0 <= turns - given <= counts.size:
            break
    given = 0
    for i in range(counts.size):
        rest = high / square[i] - ahead
        full = 4e18 if rest <= 0.0 else min(1.0 / rest, 4e18)
        result[i] = max(counts[i], int(full))
        given += result[i] - counts[i]
    while given < turns:
        best, largest = 0, -1.0
        for i in range(counts.size):
            reciprocal = square[i] * (ahead + 1.0 / result[i])
            if reciprocal > largest:
                best, largest = i, reciprocal
        result[best] += 1
        given += 1


@njit(cache=True, nogil=True)
def _leap(
    leader: int,
    candidates: NDArray[np.int64],
    square: NDArray[np.float64],
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    room: int,
) -> int:
    """Play an even number of rounds at once, shortly before a batch ends at most; return how many.

    With equal shares leader and challenger take turns, the leader first. Which challengers had the
    turns is decided by the costs after the last of them. What single turns would decide can differ
    from it by a pull or two; `_SETTLE` turns, one by one, settle that before a batch ends.
    """
    size = candidates.size
    counts, chosen = np.empty(size, np.int64), np.empty(size)
    result = np.empty(size, np.int64)
    most = min(following[leader] - pulls[leader], room // 2) - _SETTLE
    for i in range(size):
        counts[i] = pulls[candidates[i]]
        chosen[i] = square[candidates[i]]
        if size == 1:
            chosen[i] = 1.0  # it has all turns
        elif not 0.0 < chosen[i] < np.inf:
            return 0
    low, high = 0, most + 1  # turns after which no batch has ended, and has
    if high <= _LEAST_LEAP:
        return 0
    while high - low > 1 + low // 64:
        turns = most if low == 0 and high == most + 1 else low + (high - low) // 2
        _spread(chosen, counts, float(pulls[leader] + turns), turns, result)
        fits = True
        for i in range(size):
            fits = fits and result[i] <= following[candidates[i]] - _SETTLE
        if fits:
            low = turns
        else:
            high = turns
    if low < _LEAST_LEAP:
        return 0
    _spread(chosen, counts, float(pulls[leader] + low), low, result)
    for i in range(size):
        pulls[candidates[i]] = result[i]
    pulls[leader] += low
    return 2 * low


@njit(cache=True, nogil=True)
def advance_doubling(
    leader: int,
    gaps: NDArray[np.float64],
    epsilon: float,
    pulls: NDArray[np.int64],
    following: NDArray[np.int64],
    led: NDArray[np.int64],
    own: NDArray[np.int64],
    share: float,
    room: int,
    leaps: bool = True,
) -> int:
    """Play until an arm's batch ends (return the arm) or the room is used up (return −1).

    With g_a = μ̃_B − μ̃_a (`gaps`), the challenger has the least g_a/√(1/N_B + 1/N_a) or, for
    ε < ∞, the least min(2·g_a·|g_a|/(1/N_B + 1/N_a), ε·g_a·min(N_B, N_a)). Among costs of one sign
    that is the arm with the largest reciprocal, which takes no division; if some are negative,
    it is one of them. Ties go to the lowest arm number.
    """
    n_arms = gaps.size
    candidates = np.empty(n_arms - 1, np.int64)
    size = 0
    for negative in (True, False):
        for a in range(n_arms):
            if size < n_arms - 1 and a != leader and (gaps[a] < 0.0) == negative:
                candidates[size] = a
                size += 1
        if size > 0:
            break
    square = np.empty(n_arms)  # 1/(2·g·|g|)
    linear = np.full(n_arms, -np.inf)  # 1/(ε·g)
    inverse = np.empty(n_arms)  # 1/N
    for a in range(n_arms):
        inverse[a] = 1.0 / pulls[a]
        gap = gaps[a]
        square[a] = np.inf if gap == 0.0 else 0.5 / (gap * abs(gap))
        if epsilon < np.inf:
            linear[a] = np.inf if gap == 0.0 else 1.0 / (epsilon * gap)
    leaps = leaps and share == 0.5 and epsilon == np.inf and size > 0
    while room > 0:
        if leaps and 2 * own[leader] == led[leader]:
            leaps = False  # until the next batch
            played = 1
            while played > 0:
                played = _leap(leader, candidates[:size], square, pulls, following, room)
                room -= played
                led[leader] += played
                own[leader] += played // 2
            for a in range(n_arms):
                inverse[a] = 1.0 / pulls[a]
        room -= 1
        led[leader] += 1
        arm = leader
        if own[leader] < share * led[leader]:
            own[leader] += 1
        else:
            arm = candidates[0]
            largest = -np.inf
            ahead = inverse[leader]
            for i in range(size):
                a = candidates[i]
                here = inverse[a]
                reciprocal = max(square[a] * (ahead + here), linear[a] * max(ahead, here))
                if reciprocal > largest:
                    arm = a
                    largest = reciprocal
        pulls[arm] += 1
        if pulls[arm] == following[arm]:
            return arm
        inverse[arm] = 1.0 / pulls[arm]
    return -1


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
    many rounds are played at once. Their counts are those of the rounds one by one up to a pull or
    two, and the last 120 turns before a batch ends are played singly; in 3840 runs none differed.
    Privacy does not depend on it: counts are a function of released values.

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
    the two deviations that make it up, so that the latter is used. Every round is played by itself,
    without the leaps of `AdaPTT`.

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
