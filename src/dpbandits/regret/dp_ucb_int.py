"""DP-UCB-INT: UCB on noisy means that are released once in an interval.

Runs take steps of many pulls. Between releases an index changes with the time alone, so that a
leader is pulled until it releases (:prf:ref:`lem-int-rest`); over many releases with a certificate,
up to the first whose noise is too low (:prf:ref:`lem-int-releases`); and where other arms release
at every pull, up to the first release that beats it (:prf:ref:`lem-int-literal`). Each certificate
adds at most 10⁻¹⁶ to the total-variation distance from the law of a run pull by pull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpbandits import bounds
from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._kernels import kernel
from dpbandits._validation import (
    SMALLEST,
    check_choice,
    check_fraction,
    check_integer,
    check_positive,
    check_range,
)
from dpbandits.configuration import Fraction, Positive
from dpbandits.fast.index_policies import index_leader, play_steps
from dpbandits.fast.skipping import (
    LOG_ERROR,
    MAX_SKIPS,
    pass_checkpoints,
    proposed_stretch,
    reward_band,
    rival_index,
)
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.mechanisms import laplace, laplace_below, laplace_cdf_kernel
from dpbandits.privacy import calibrate, epsilon_at
from dpbandits.regret.base import Play, RegretAlgorithm, Times, write_arms
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.streams import FixedRewards, Rewards, Tape, tape_of

__all__ = ["CALIBRATED_BY", "READINGS", "DPUCBInt", "IntervalPolicy", "input_of"]

READINGS = ("refreshed", "frozen", "literal")
CALIBRATED_BY = ("noise", "interval")
DELTA = math.exp(-10)


# These steer only the speed.
_TRIES = 4  # lengths of a certificate that are tried, each a quarter of the one before
_ONE_BY_ONE = 40  # rewards


class IntervalPolicy(NamedTuple):
    """What a compiled loop is told of `DPUCBInt`: f, v, the factor of the noise, the reading."""

    interval: int
    exponent: float
    noise: float  # 0 adds none and draws none
    refreshed: bool  # whether the bonus has the present time, and not that of the release
    literal: bool  # whether an arm releases again at each step at which its n is a multiple of f


class _State(NamedTuple):
    """What a run knows between two pulls; arrays of shape (K,) unless it says otherwise."""

    pulls: Ints
    sums: Floats
    released: Ints  # n at the latest release
    values: Floats
    bonuses: Floats  # √(2 log t/n), or 1/√n if it is multiplied by √(2 log t) later
    widths: Floats  # zeros
    clock: Ints  # (4,): pulls, checkpoints passed, skips, whether the next releases are drawn


def _start(n_arms: int) -> _State:
    pulls, released = np.zeros((2, n_arms), np.int64)
    sums, values, bonuses, widths = np.zeros((4, n_arms))
    return _State(pulls, sums, released, values, bonuses, widths, np.zeros(4, np.int64))


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
    """Draw how many releases, from `first` pulls on, come before noise below −g, at most all."""
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

    Literal reading, after t pulls, the arm's next one decided: at most `stretch` times. Also
    returns whether it was beaten, with the releases written down: −∞ for what is below.
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

    Returns that arm, or −1 at the end. Certificates, `max_skips` at most, are for Bernoulli arms;
    with 0 every pull is simulated.
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
        arm, stretch, rest, releases, passed, margin = t % n_arms, 1, 0, 0, 0, 0.0
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
    """Play DP-UCB-INT on any source; on Bernoulli arms with up to `max_skips` certificates."""
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
        tape.read[:], state.clock[:] = 0, 0
        state.pulls[:], state.sums[:], state.released[:] = 0, 0.0, 0
        run_dp_ucb_int(policy, state, tape, times, counts, rng, 0)
        write_arms(counts, arms[r])
    return arms


_check_exponent = partial(  # where both series of the paper are
    check_range, low=math.nextafter(1.0, 2.0), high=1.5, allowed="(1, 1.5]"
)


def input_of(interval: int) -> float:
    """Return the ε, 1/f up to rounding, for which ⌈1/ε⌉ is the interval f, from 1 to 10¹⁵.

    >>> math.ceil(1 / (1 / 49)), math.ceil(1 / input_of(49))
    (50, 49)
    """
    interval = check_integer("interval", interval, 1, 10**15)
    epsilon = 1 / interval
    return epsilon if math.ceil(1 / epsilon) == interval else math.nextafter(epsilon, 1.0)


@dataclass(frozen=True)
class DPUCBInt(RegretAlgorithm):
    """DP-UCB-INT: Tossou & Dimitrakakis (2016), Algorithm 3.

    With f = ⌈1/ε⌉, each arm is played f times in turns. From then on an arm releases its mean with
    noise Lap(n^(v/2 − 1)) each time that its number n of pulls has become a multiple of f, and the
    arm with the largest index value + √(2 log t/n) is played, n that of the release; ties go to
    the lowest arm number. The horizon is not used. Runs err by at most 4·10⁻¹⁰ in total variation.
    The bound on the regret is `dp_ucb_int_regret`; with the literal reading it is t times the
    greatest gap: for f ≥ 2 only a factor could be gained (:prf:ref:`thm-35-false`).

    Parameters
    ----------
    epsilon : float
        ε in (0, 1] of the pseudo-code, which sets f and nothing else; it is not the privacy that
        the algorithm has. `target_input` computes it from a target, as the paper does.
    reading : {"refreshed", "frozen", "literal"}
        "refreshed": a value stays until the next release, and t in the bonus is the present time.
        "frozen": value and bonus stay until the next release.
        "literal": as printed. n is a multiple of f at every step until the arm is played again,
        so that an arm at rest is released again and again; between multiples value and bonus stay.
    exponent : float
        v in (1, 1.5].
    delta : float
        δ in (0, 1) of the declared guarantee; the experiments of the paper have e^(−10).
    noise : float
        Factor of the noise, 1 in the paper.

    Notes
    -----
    Where the printed pseudo-code cannot be run as it stands, and what was chosen:

    - The sum s is updated only after the first K·f pulls, so that their rewards would be missing
      in every mean: here it is updated from the start.
    - "n mod f = 0" stays true while an arm is not played: three readings. Theorem 3.4 counts one
      release for every f pulls, which is "frozen" or "refreshed".
    - The bonus is inside the released value, so that t is that of the release ("frozen"), while
      the text speaks of the index of UCB ("refreshed").
    - The interval is to follow a series of Lemma B.1 in a report; here ⌈1/ε⌉, as printed.
    """

    label: ClassVar[str] = "DP-UCB-INT"
    source: ClassVar[str] = "TD16, Algorithm 3"

    epsilon: Annotated[float, partial(check_range, low=1e-15, high=1.0, allowed="(0, 1]")]
    reading: Annotated[str, partial(check_choice, choices=READINGS)] = "refreshed"
    exponent: Annotated[float, _check_exponent] = 1.1
    delta: Fraction = DELTA
    noise: Positive = 1.0

    @staticmethod
    def target_input(epsilon: float, delta: float = math.exp(-10), exponent: float = 1.1) -> float:
        """Return the ε to run the algorithm with for a target (ε, δ), by Corollary 3.2.

        The root x of x·(2ζ(v)·x + √(2ζ(v)·log(1/δ))) = ε, the second bound of Corollary 3.1. It
        does not give the target privacy: compare `guarantee_at`.
        """
        series = 8 * scipy.special.zeta(_check_exponent("exponent", exponent))
        log_term = -math.log(check_fraction("delta", delta)) / series
        target = 4 * check_positive("epsilon", epsilon) / series
        return float(target / (math.sqrt(log_term + target) + math.sqrt(log_term)))

    @staticmethod
    def calibrated(
        epsilon: float,
        delta: float,
        horizon: int,
        by: str = "noise",
        reading: str = "refreshed",
        exponent: float = 1.1,
    ) -> DPUCBInt:
        """Return an algorithm whose `guarantee_at(horizon)` is at most (ε, δ), and not far below.

        Parameters
        ----------
        epsilon, delta, horizon
            Target, ε from 10^(−60) to 10^60, and the number T of pulls for which it is to hold.
        by : {"noise", "interval"}
            "noise": f from `target_input` (at most T), as in the paper, and the least factor of
            the noise that is enough (`privacy.calibrate`). "interval": the noise of the paper, and
            the least f that is enough; from f to f + 1 no loss grows and no release is added.
        reading, exponent
            As of the class.

        Examples
        --------
        >>> import math
        >>> import dpbandits as dpb
        >>> dpb.DPUCBInt.calibrated(1.0, math.exp(-10), 100_000, by="interval").interval
        44
        """
        if not 1e-60 <= check_positive("epsilon", epsilon) <= 1e60:
            raise ValueError(f"epsilon={epsilon!r} is out of range; allowed: from 1e-60 to 1e60")
        horizon, by = check_integer("horizon", horizon, 1), check_choice("by", by, CALIBRATED_BY)
        return _calibrated(DPUCBInt(1.0, reading, exponent, delta), float(epsilon), horizon, by)

    @property
    def interval(self) -> int:
        """Number f = ⌈1/ε⌉ of pulls between releases."""
        return math.ceil(1 / self.epsilon)

    def losses(self, horizon: int) -> Floats:
        """Return the privacy losses of all releases that can show one reward, at most.

        A release at n has the loss n^(−v/2)/noise (Lemma 3.1), and a reward enters all releases of
        its arm from then on: (jf)^(−v/2)/noise for j = 1, 2, …, or, in the literal reading,
        f^(−v/2)/noise for each decision, as an arm may rest after its first f pulls. Of T pulls
        the last decision knows T − 1, of which f or more are another arm's. Their sum has no limit,
        so no ε with δ = 0 holds for every horizon; that of their squares has one.
        """
        f, horizon = self.interval, check_integer("horizon", horizon, 1)
        if self.reading == "literal":
            pulls = np.full(max(0, horizon - 2 * f), float(f))
        else:
            pulls = f * np.arange(1.0, 1 + max(0, (horizon - 1 - f) // f))
        result: Floats = pulls ** (-self.exponent / 2) / self.noise
        return result

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What holds for every horizon, at this `delta`; nothing for the literal reading.

        ε = Σ e_j·tanh(e_j/2) + √(2 log(1/δ) Σ e_j²) with e_j = (jf)^(−v/2)/noise, by advanced
        composition (:prf:ref:`thm-int-private`) for all j; tanh x ≤ x after the first 1000.
        """
        if self.reading == "literal":
            return NO_PRIVACY
        unit = self.interval**-self.exponent / self.noise**2
        first = self.losses(1001 * self.interval + 1)
        late = unit * scipy.special.zeta(self.exponent, first.size + 1)
        means = math.fsum(first * np.tanh(first / 2)) + 0.5 * late
        squares = unit * scipy.special.zeta(self.exponent)
        epsilon = means + math.sqrt(-2 * math.log(self.delta) * squares)
        return PrivacyGuarantee("global", epsilon, self.delta)

    def guarantee_at(self, horizon: int, delta: float | None = None) -> PrivacyGuarantee:
        """Return what holds for the first `horizon` pulls at `delta`, which may be 0.

        Its ε is that of all releases together, computed (`privacy.epsilon_at`), for the reward
        that most of them show: an upper bound, as actions show less than releases.
        """
        delta = self.delta if delta is None else delta
        epsilon = epsilon_at(delta, self.losses(horizon)).upper
        return PrivacyGuarantee("global", max(epsilon, SMALLEST), delta)

    @property
    def policy(self) -> IntervalPolicy:
        """The algorithm, for compiled loops."""
        refreshed, literal = self.reading == "refreshed", self.reading == "literal"
        return IntervalPolicy(self.interval, self.exponent, self.noise, refreshed, literal)

    def draw(
        self, instance: Any, horizon: int, checkpoints: Times, rng: Rng, how: str | None = None
    ) -> Play:
        rewards = instance.rewards(rng)
        return Play(play_dp_ucb_int(self.policy, rewards, checkpoints, rng, MAX_SKIPS))

    def draw_table(
        self, table: Floats, n_runs: int, rng: Rng, how: str | None = None
    ) -> NDArray[np.int8]:
        tape = tape_of(FixedRewards(table, log=False))
        return _table_runs(self.policy, _start(len(table)), tape, n_runs, rng)

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.reading == "literal":
            return partial(bounds.worst_regret, instance.gaps, horizon)
        interval, exponent, noise, refreshed, _ = self.policy
        bound = partial(bounds.dp_ucb_int_regret, instance.gaps, horizon, interval=interval)
        return partial(bound, exponent=exponent, noise=noise, refreshed=refreshed)


@lru_cache(maxsize=256)
def _calibrated(plain: DPUCBInt, epsilon: float, horizon: int, by: str) -> DPUCBInt:
    """Return `plain` with the input and the noise that are wanted."""
    if by == "noise":
        target = DPUCBInt.target_input(epsilon, plain.delta, plain.exponent)
        plain = replace(plain, epsilon=min(max(target, input_of(horizon)), 1.0))
        factor = calibrate(epsilon, plain.delta, plain.losses(horizon))
        return plain if math.isinf(factor) else replace(plain, noise=1 / factor)

    def enough(interval: int) -> bool:
        tried = replace(plain, epsilon=input_of(interval))
        low, high = epsilon_at(plain.delta, tried.losses(horizon), 0.01)  # mostly tells, and soon
        if low <= epsilon < high:
            return tried.guarantee_at(horizon).epsilon <= epsilon
        return high <= epsilon

    low, high = 0, horizon  # with f = T nothing is released
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    result = replace(plain, epsilon=input_of(high))
    if result.guarantee_at(horizon).epsilon > epsilon:  # the bracket there is wider than usual
        return replace(plain, epsilon=input_of(high + 1))
    return result
