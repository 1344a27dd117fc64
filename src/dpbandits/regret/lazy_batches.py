"""Algorithms that release each arm's rewards batch by batch, and the loop that they share.

Of Hu, Huang & Mehta (2021), Azize & Basu (2022), Hu & Hegde (2022) and Azize, Wu, Honda, Orabona,
Ito & Basu (2025) we have no text at hand: batches, indices and posteriors are reconstructed.
Pseudo-code: :prf:ref:`alg-lazy`. The sequence of pulls is ε-private: :prf:ref:`thm-lazy-private`.
Between two releases nothing random happens except for draws of arms, so that a run goes from
release to release, in O(K log T) steps. With Lazy-DP-TS each pull between two releases is of arm a
with a probability π_a, whatever was drawn before; which batch is full first, and how often the
other arms have been pulled by then, is drawn at once. Proof: :prf:ref:`lem-race`.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits.bounds.lazy import calibrated_upper, clip, ucb_width
from dpbandits.configuration import Budget, Flag, between
from dpbandits.divergences import calibrated_plus_kernel
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace_by_inversion
from dpbandits.regret.base import Play, RegretAlgorithm, Times, write_arms
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.instances import BernoulliInstance
from dpbandits.rewards.streams import FixedRewards, Tape, tape_of
from dpbandits.schedules import next_size_kernel

__all__ = [
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "DPIMED",
    "DPKLUCB",
    "LazyBatches",
    "LazyDPTS",
    "LazyRule",
    "Released",
    "largest_draw",
]


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL = 2.0  # widest panel of the quadrature, in standard deviations of each arm
_REACH = 8.25
_TINY = 1e-16
_ROOT_2 = math.sqrt(2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


UCB, KL, CALIBRATED, EVIDENCE, SAMPLE, RACE = range(6)
"""How a `LazyRule` chooses the next arm."""


class LazyRule(NamedTuple):
    """What a compiled loop is told of an algorithm of lazy batches."""

    kind: int  # `UCB` …: how the next arm is chosen; `SAMPLE`, `RACE`: a draw a batch, or a pull
    epsilon: float
    eta: float
    forgets: bool
    first: float  # `UCB`: of `ucb_width`; `CALIBRATED`: ξ; `EVIDENCE`: 1 if noises count; else α
    second: float = 0.0


class Released(NamedTuple):
    """What the algorithm knows of the arms; all arrays have shape (K,)."""

    totals: Floats  # released sums that the estimates rest on, noise included
    rewards: Ints  # how many rewards n_a are in them
    noises: Ints  # how many Laplace variables k_a are in them


class _State(NamedTuple):
    """What a run knows between two releases."""

    released: Released
    pulls: Ints  # (K,)
    sizes: Ints  # (K,): of the open batches
    due: Ints  # (K,): pulls that they still need
    given: Floats  # (1,): the sum that was asked for
    clock: Ints  # (4,): pulls, releases, checkpoints passed, whether a sum was asked for


@kernel
def _start(n_arms: int) -> _State:
    rewards, noises = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    pulls, sizes = np.zeros(n_arms, np.int64), np.ones(n_arms, np.int64)
    released = Released(np.zeros(n_arms), rewards, noises)
    return _State(released, pulls, sizes, sizes.copy(), np.zeros(1), np.zeros(4, np.int64))


@kernel
def posteriors(released: Released, t: int, alpha: float, epsilon: float) -> tuple[Floats, Floats]:
    """Return centres and standard deviations of the posteriors of `LazyDPTS` before pull t."""
    raised = released.totals + alpha * math.log(t) / epsilon
    centres = raised / released.rewards
    return np.minimum(np.maximum(centres, 0.0), 1.0), 1.0 / np.sqrt(released.rewards)


@kernel
def _choose(rule: LazyRule, released: Released, t: int, rng: Rng) -> int:
    """Return the arm whose next batch begins with pull number t: the lowest of largest index."""
    epsilon, log_t = rule.epsilon, math.log(t)
    if rule.kind == SAMPLE:
        centres, deviations = posteriors(released, t, rule.first, epsilon)
        draws = [rng.normal(centres[a], deviations[a]) for a in range(centres.size)]
        return int(np.argmax(np.array(draws)))
    totals, rewards, noises = released
    best = clip((totals / rewards).max())
    level = rule.first * log_t
    if rule.kind == CALIBRATED:
        level = log_t + rule.first * math.log1p(log_t)
    arm, highest = 0, -math.inf
    for a in range(totals.size):
        n, k = float(rewards[a]), float(noises[a])
        x = totals[a] / n
        if rule.kind == UCB:
            index = x + ucb_width(n, log_t, rule.first, rule.second, epsilon)
        elif rule.kind == KL:
            y = clip(x + level / (epsilon * n))
            index = calibrated_upper(y, n, 0.0, math.inf, level)
        elif rule.kind == CALIBRATED:
            if highest == 1.0:
                break
            # with this rate at the largest index so far there is no larger one
            if highest >= 0.0 and n * calibrated_plus_kernel(x, highest, k / n, epsilon) >= level:
                continue
            index = calibrated_upper(x, n, k, epsilon, level)
        else:
            y, counted = clip(x), k if rule.first > 0.0 else 0.0
            index = -math.log(n)
            if y < best:
                index -= n * calibrated_plus_kernel(y, best, counted / n, epsilon)
        if index > highest:
            arm, highest = a, index
    return arm


@kernel
def largest_draw(centres: Floats, deviations: Floats) -> Floats:
    """Return the probability that each of K independent normal variables is the largest.

    ∫ φ_a Π_{b≠a} Φ_b by Gauss's rule on panels of at most 2 standard deviations of each arm, with
    an error below 10⁻¹² (found by halving the panels). Proof: :prf:ref:`lem-largest-draw`.

    Examples
    --------
    >>> largest_draw(np.array([0.0, 0.0, -50.0]), np.array([1.0, 2.0, 1.0])).round(12).tolist()
    [0.5, 0.5, 0.0]
    """
    n_arms = centres.size
    if n_arms == 2:
        z = (centres[0] - centres[1]) / math.hypot(deviations[0], deviations[1]) / _ROOT_2
        return np.array([0.5 * math.erfc(-z), 0.5 * math.erfc(z)])
    x = np.max(centres - _REACH * deviations)
    end = np.max(centres + _REACH * deviations)
    result = np.zeros(n_arms)
    rates = np.empty(n_arms)  # φ/Φ
    near = np.empty(n_arms, np.int64)  # arms that are not certainly below the panel
    while x < end:
        width = end - x
        size = 0
        for a in range(n_arms):
            if x < centres[a] + _REACH * deviations[a]:
                width = min(width, _PANEL * deviations[a])
                near[size] = a
                size += 1
        below = 1.0
        for a in near[:size]:
            below *= 0.5 * math.erfc((centres[a] - x - width) / (deviations[a] * _ROOT_2))
        if below > _TINY:
            for node in range(_NODES.size):
                y = x + 0.5 * width * (1.0 + _NODES[node])
                product = 0.5 * width * _WEIGHTS[node]
                for i in range(size):
                    a = near[i]
                    z = (y - centres[a]) / deviations[a]
                    below = 0.5 * math.erfc(-z / _ROOT_2)
                    product *= below
                    rates[i] = _DENSITY * math.exp(-0.5 * z * z) / (deviations[a] * below)
                for i in range(size):
                    result[near[i]] += product * rates[i]
        x += width
    return result / result.sum()


@kernel
def first_to_finish(rng: Rng, probabilities: Floats, due: Ints) -> tuple[int, Ints]:
    """Pull arms at random, with these probabilities, until one has been pulled as often as due.

    Returns the arm, and the pulls of all arms, shape (K,). The last pull is of that arm; the order
    of those before it is uniformly random (`first_of`).
    """
    times = np.full(due.size, math.inf)
    for a in range(due.size):
        if probabilities[a] > 0.0:
            times[a] = rng.standard_gamma(float(due[a])) / probabilities[a]
    arm = int(np.argmin(times))
    pulls = np.zeros(due.size, np.int64)
    for a in range(due.size):
        if a == arm:
            pulls[a] = due[a]
        elif due[a] > 1 and times[a] < math.inf:
            pulls[a] = binomial(rng, due[a] - 1, times[arm] / times[a])
    return arm, pulls


@kernel
def first_of(rng: Rng, pulls: Ints, sizes: Ints) -> Ints:
    """Draw how often each arm comes among the first `sizes` of pulls in uniformly random order.

    Each arm comes `pulls` times in all; the result has a row for each of the increasing sizes.
    Proof: :prf:ref:`lem-first-of`.
    """
    result = np.zeros((sizes.size, pulls.size), np.int64)
    so_far, left = np.zeros(pulls.size, np.int64), np.zeros(pulls.size, np.int64)
    for c in range(sizes.size):
        rest = pulls - so_far
        size = sizes[c] - so_far.sum()
        while size > 0:
            if np.count_nonzero(rest) == 1:
                so_far[np.argmax(rest)] += size
                break
            for a in range(rest.size):
                left[a] = binomial(rng, rest[a], 0.5)
            if left.sum() <= size:
                so_far += left
                rest -= left
                size -= left.sum()
            else:
                rest[:] = left
        result[c] = so_far
    return result


@kernel
def run_lazy_batches(
    rule: LazyRule,
    state: _State,
    tape: Tape,
    checkpoints: Times,
    counts: Ints,
    releases: Ints,
    rng: Rng,
) -> int:
    """Play on until the last checkpoint, or until the sum of a batch is not on the tape.

    First each arm has a batch of one pull in turn. A batch that the horizon cuts short is not
    released. Writes the counts and the times of the releases. Returns the arm whose open batch,
    of size ``state.sizes[arm]``, is asked for, or −1 at the end.
    """
    (totals, rewards, noises), pulls, sizes, due, given, clock = state
    means, _, sums, read, ends = tape
    drawn, n_arms, last = means.size > 0, pulls.size, checkpoints[-1]
    stretch = np.zeros(n_arms, np.int64)  # pulls of the arms up to the next release
    t, turn, c, asked = clock
    arm = asked - 1
    while asked > 0 or t < last:
        if asked == 0:
            race = turn >= n_arms and rule.kind == RACE
            if race:
                shares = largest_draw(*posteriors(state.released, t + 1, rule.first, rule.epsilon))
                arm, stretch = first_to_finish(rng, shares, due)
            else:
                arm = turn if turn < n_arms else _choose(rule, state.released, t + 1, rng)
                stretch[:] = 0
                stretch[arm] = due[arm]
            end = t + stretch.sum()
            inside = c
            while inside < checkpoints.size and checkpoints[inside] < end:
                if not race:
                    counts[inside] = pulls
                    counts[inside, arm] += checkpoints[inside] - t
                inside += 1
            if race and inside > c:
                stretch[arm] -= 1  # the last pull is of that arm
                counts[c:inside] = pulls + first_of(rng, stretch, checkpoints[c:inside] - t)
                stretch[arm] += 1
            t, c = end, inside
            if t > last:
                break
            pulls += stretch
            due -= stretch
            if checkpoints[c] == t:
                counts[c] = pulls
                c += 1
            if drawn:
                total = float(binomial(rng, sizes[arm], means[arm]))
            elif read[arm] + sizes[arm] <= ends[arm]:
                first = read[arm]
                read[arm] = first + sizes[arm]
                total = sums[arm, read[arm]] - sums[arm, first]
            else:
                clock[:] = t, turn, c, arm + 1
                return arm
        else:
            total = given[0]
            asked = 0
        total += laplace_by_inversion(rng, 1.0 / rule.epsilon)
        if rule.forgets:
            totals[arm], rewards[arm], noises[arm] = 0.0, 0, 0
        totals[arm] += total
        rewards[arm] += sizes[arm]
        noises[arm] += 1
        sizes[arm] = due[arm] = next_size_kernel(sizes[arm], pulls[arm], rule.eta, rule.forgets)
        releases[turn] = t
        turn += 1
    clock[1], clock[3] = turn, 0
    return -1


@kernel
def _table_runs(rule: LazyRule, tape: Tape, n_runs: int, rng: Rng) -> NDArray[np.int8]:
    """Play a table of rewards many times."""
    n_arms, n_pulls = tape.table.shape
    arms = np.zeros((n_runs, n_pulls), np.int8)
    times, ends = np.arange(1, n_pulls + 1), np.empty(n_pulls + 1, np.int64)
    counts = np.zeros((n_pulls, n_arms), np.int64)
    for r in range(n_runs):
        tape.read[:] = 0
        run_lazy_batches(rule, _start(n_arms), tape, times, counts, ends, rng)
        write_arms(counts, arms[r])
    return arms


_Alpha = Annotated[float, between(1.001, 100.0)]
_Eta = Annotated[float, between(0.05, 100.0)]


class LazyBatches(RegretAlgorithm):
    """Base class: one batch of each arm in turn, then as the rule says. The horizon is not used.

    The sizes of an arm's batches are the grid ⌈(1 + η)^j⌉, and an estimate rests on its last batch
    alone, if the algorithm `forgets`. Else the pulls at the ends of the batches are that grid, and
    released sums accumulate. Ties between arms go to the lowest number.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed and adds no noise.
    eta : float
        Growth η of the batches, from 0.05 to 100: 1 doubles.
    """

    epsilon: Budget
    eta: _Eta

    forgets: ClassVar[bool] = True
    """Whether an estimate rests on the arm's last batch alone."""
    bound: ClassVar[str] = ""
    """Name of the function in `dpbandits.bounds` that bounds the regret."""

    @property
    @abc.abstractmethod
    def rule(self) -> LazyRule:
        """The algorithm, for the compiled loop."""

    def _rule(self, kind: int, first: float, second: float = 0.0) -> LazyRule:
        return LazyRule(kind, self.epsilon, self.eta, self.forgets, float(first), float(second))

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        return partial(getattr(bounds, self.bound), instance.means, horizon, **vars(self))

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Pure ε-differential privacy of the whole sequence of pulls."""
        return PrivacyGuarantee("global", self.epsilon)

    def draw(
        self, instance: Any, horizon: int, checkpoints: Times, rng: Rng, how: str | None = None
    ) -> Play:
        rewards = instance.rewards(rng)
        n_arms = rewards.n_arms
        state, tape = _start(n_arms), tape_of(rewards)
        counts = np.zeros((checkpoints.size, n_arms), np.int64)
        batches = 3 + int(math.log(checkpoints[-1]) / math.log1p(self.eta))  # of an arm, at most
        ends = np.empty(n_arms * batches, np.int64)
        run = self.rule, state, tape, checkpoints, counts, ends, rng
        while (arm := run_lazy_batches(*run)) >= 0:
            state.given[0] = rewards.total(arm, int(state.sizes[arm]))
        return Play(counts, ends[: state.clock[1]].copy())

    def draw_table(
        self, table: Floats, n_runs: int, rng: Rng, how: str | None = None
    ) -> NDArray[np.int8]:
        tape = tape_of(FixedRewards(table, log=False))
        return _table_runs(self.rule, tape, n_runs, rng)


class _LazyUCB(LazyBatches):
    """The index x + √(cα·log t/n) + α·log t/(εn), c = `share`."""

    alpha: _Alpha
    share: ClassVar[float] = 1.0

    @property
    def rule(self) -> LazyRule:
        return self._rule(UCB, self.share * self.alpha, self.alpha)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        widths = {"sampling": self.share * self.alpha, "noise": self.alpha}
        budget = {"epsilon": self.epsilon, "eta": self.eta}
        return partial(bounds.lazy_ucb_regret, instance.means, horizon, **budget, **widths)


@dataclass(frozen=True)
class AnytimeLazyUCB(_LazyUCB):
    """Anytime-Lazy-UCB: Hu, Huang & Mehta (2021), reconstructed.

    With n the size of an arm's last batch and x its released mean, the arm with the largest

        x + √(α·log t/n) + α·log t/(εn)

    is played for its next batch (`LazyBatches`). Bound on the regret: `lazy_ucb_regret`.

    Parameters
    ----------
    epsilon, eta : float
        As of `LazyBatches`.
    alpha : float
        α from 1.001 to 100.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> runs = dpb.simulate(dpb.AnytimeLazyUCB(epsilon=1.0), dpb.instances.ss19("C2"), 10**6, 2)
    >>> runs.pulls.sum(axis=1).tolist()
    [1000000, 1000000]
    """

    label: ClassVar[str] = "Lazy-UCB"
    source: ClassVar[str] = "Hu, Huang & Mehta 2021; reconstructed"

    epsilon: Budget
    alpha: _Alpha = 3.0
    eta: _Eta = 1.0


@dataclass(frozen=True)
class AdaPUCB(_LazyUCB):
    """AdaP-UCB: Azize & Basu (2022), reconstructed.

    As `AnytimeLazyUCB`, with the index x + √(α·log t/(2n)) + α·log t/(εn).

    Parameters
    ----------
    epsilon, alpha, eta : float
        As of `AnytimeLazyUCB`; the paper asks for α > 3, the bound for α > 1.
    """

    label: ClassVar[str] = "AdaP-UCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"
    share: ClassVar[float] = 0.5

    epsilon: Budget
    alpha: _Alpha = 3.1
    eta: _Eta = 1.0


@dataclass(frozen=True)
class AdaPKLUCB(LazyBatches):
    """AdaP-KLUCB: Azize & Basu (2022), reconstructed.

    As `AdaPUCB`, with the index

        max {q in [0, 1] : n·kl(y, q) ≤ α·log t},   y = x + α·log t/(εn), moved into [0, 1].

    Parameters
    ----------
    epsilon, alpha, eta : float
        As of `AnytimeLazyUCB`. Bound on the regret: `adap_klucb_regret`.
    """

    label: ClassVar[str] = "AdaP-KLUCB"
    source: ClassVar[str] = "Azize & Basu 2022; reconstructed"
    bound: ClassVar[str] = "adap_klucb_regret"

    epsilon: Budget
    alpha: _Alpha = 3.1
    eta: _Eta = 1.0

    @property
    def rule(self) -> LazyRule:
        return self._rule(KL, self.alpha)


@dataclass(frozen=True)
class DPKLUCB(LazyBatches):
    """DP-KLUCB: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    Released sums accumulate (`LazyBatches`). With x the released mean of n rewards and k Laplace
    variables, the arm with the largest

        max {q in [0, 1] : n·d̃⁺(x, q, k/n) ≤ log t + ξ·log(1 + log t)}

    is played for its next batch. d̃⁺ is the Chernoff rate of such a mean (`calibrated_plus`), which
    tends to d_ε as k/n → 0: the paper has d_ε in its index, and lower-order terms that we have
    replaced by the exact rate. Bound on the regret: `dp_klucb_regret`.

    Parameters
    ----------
    epsilon, eta : float
        As of `LazyBatches`.
    slack : float
        ξ from 0 to 100.
    """

    label: ClassVar[str] = "DP-KLUCB"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"
    forgets: ClassVar[bool] = False
    bound: ClassVar[str] = "dp_klucb_regret"

    epsilon: Budget
    eta: _Eta = 0.5
    slack: Annotated[float, between(0.0, 100.0)] = 2.0

    @property
    def rule(self) -> LazyRule:
        return self._rule(CALIBRATED, self.slack)


@dataclass(frozen=True)
class DPIMED(LazyBatches):
    """DP-IMED: Azize, Wu, Honda, Orabona, Ito & Basu (2025), reconstructed.

    Batches and estimates as in `DPKLUCB`. With y the released mean of an arm's n rewards and k
    Laplace variables, moved into [0, 1], the arm with the least

        n·d̃⁺(y, max y, k/n) + log n

    is played for its next batch. Bound on the regret: `dp_imed_regret`.

    Parameters
    ----------
    epsilon, eta : float
        As of `LazyBatches`.
    calibrated : bool
        Whether the evidence is d̃⁺, the Chernoff rate of such an estimate, or its limit d_ε.

    Notes
    -----
    Two things that the paper may do otherwise:

    - The means are moved into [0, 1]. A noise of −z in a mean has probability about e^(−εnz) and
      would, without that, keep the arm from being played for about e^(εnz) pulls, whatever z is.
    - The evidence is calibrated. With d_ε the regret has the same limit, but a constant term that
      grows fast as ε falls: of n rewards with k ≈ log n noises, d_ε counts one noise only.
    """

    label: ClassVar[str] = "DP-IMED"
    source: ClassVar[str] = "Azize et al. 2025; reconstructed"
    forgets: ClassVar[bool] = False
    bound: ClassVar[str] = "dp_imed_regret"

    epsilon: Budget
    eta: _Eta = 0.5
    calibrated: Flag = True

    @property
    def rule(self) -> LazyRule:
        return self._rule(EVIDENCE, self.calibrated)


@dataclass(frozen=True)
class LazyDPTS(LazyBatches):
    """Lazy-DP-TS: Hu & Hegde (2022), reconstructed.

    Estimates rest on an arm's last batch, of size n, with released mean x (`LazyBatches`). At each
    pull each arm draws

        θ from Normal(y, 1/n),   y = x + α·log t/(εn), moved into [0, 1],

    and the arm with the largest θ is pulled. t is the number of the pull after the latest release
    of any arm: between two releases posteriors stay, while the open batches of all arms fill. The
    simulation has this law up to the quadrature of the probabilities of the arms, about 10⁻¹⁰.
    Bound on the regret: `lazy_dp_ts_regret`.

    Parameters
    ----------
    epsilon, alpha, eta : float
        As of `AnytimeLazyUCB`.
    draws : {"pulls", "batches"}
        "pulls": as above. "batches": θ is drawn at releases alone, and the arm with the largest is
        played for its next batch. Then the regret grows like a power of the horizon: each time
        that the best arm's θ is low another arm doubles its batch, and after m times in a row,
        which for a low estimate has a probability not far from 2^(−m), some 2^m pulls are lost.
    """

    label: ClassVar[str] = "Lazy-DP-TS"
    source: ClassVar[str] = "Hu & Hegde 2022; reconstructed"
    bound_for: ClassVar[Any] = BernoulliInstance  # its proof counts the odds of Binomial sums

    epsilon: Budget
    alpha: _Alpha = 3.0
    eta: _Eta = 1.0
    draws: Literal["pulls", "batches"] = "pulls"

    @property
    def rule(self) -> LazyRule:
        return self._rule(RACE if self.draws == "pulls" else SAMPLE, self.alpha)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.draws == "batches":
            return partial(bounds.worst_regret, instance.gaps, horizon)
        arguments = {"epsilon": self.epsilon, "alpha": self.alpha, "eta": self.eta}
        return partial(bounds.lazy_dp_ts_regret, instance.means, horizon, **arguments)
