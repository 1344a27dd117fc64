"""DP-UCB-INT of Tossou & Dimitrakakis (2016): UCB on means released at intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from dpbandits import bounds
from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import interpreted
from dpbandits._validation import (
    SMALLEST,
    check_choice,
    check_fraction,
    check_integer,
    check_positive,
    check_range,
)
from dpbandits.configuration import Count, Fraction, Positive, checked_arguments
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.privacy import calibrate, epsilon_at
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.rewards.run import Run

__all__ = ["CALIBRATED_BY", "READINGS", "DPUCBInt", "input_of"]

READINGS = ("refreshed", "frozen", "literal")
CALIBRATED_BY = ("noise", "interval")
DELTA = math.exp(-10)
_laplace = interpreted(laplace)  # the compiled one is slow to accept a generator

_check_exponent = partial(  # range where both series of the paper are valid
    check_range, low=math.nextafter(1.0, 2.0), high=1.5, allowed="(1, 1.5]"
)


def input_of(interval: int) -> float:
    """Return the ε, 1/f up to rounding, for which ⌈1/ε⌉ is a given interval."""
    interval = check_integer("interval", interval, 1, 10**15)
    epsilon = 1 / interval
    return epsilon if math.ceil(1 / epsilon) == interval else math.nextafter(epsilon, 1.0)


@dataclass(frozen=True)
class DPUCBInt(RegretAlgorithm):
    """DP-UCB-INT: Tossou & Dimitrakakis (2016), Algorithm 3.

    Pseudo-code: :prf:ref:`alg-int`.

    With f = ⌈1/ε⌉, each arm is first played f times in turn. From then on an arm releases its mean
    with noise Lap(n^(v/2 − 1)) each time that its number n of pulls becomes a multiple of f, and
    the arm with the largest index value + √(2 log t/n) is played, with n that of the release; ties
    go to the lowest arm number. The horizon is not used. The bound on the regret is
    `dp_ucb_int_regret`; with the literal reading it is t times the largest gap: for f ≥ 2 only a
    factor could be gained (:prf:ref:`thm-35-false`).

    Parameters
    ----------
    epsilon : float
        ε in (0, 1] of the pseudo-code, which only determines f; it is not the algorithm's privacy.
        `target_input` computes it from a target, as in the paper.
    reading : {"refreshed", "frozen", "literal"}
        "refreshed": a value is kept until the next release, and t in the bonus is the present time.
        "frozen": value and bonus are kept until the next release. "literal": as printed. n is a
        multiple of f at every step until the arm is played again, so that an arm at rest is
        released again and again; between multiples value and bonus are kept.
    exponent : float
        v in (1, 1.5].
    delta : float
        δ in (0, 1) of the declared guarantee; the experiments of the paper use e^(−10).
    noise : float
        Factor of the noise, positive; 1 in the paper.

    Notes
    -----
    The printed pseudo-code cannot be run as it stands. Our choices:

    - The sum s is updated only after the first K·f pulls, so that their rewards would be missing
      from every mean: here it is updated from the start.
    - "n mod f = 0" stays true while an arm is not played: three readings. Theorem 3.4 counts one
      release for every f pulls, which is "frozen" or "refreshed".
    - The bonus is inside the released value, so that t is that of the release ("frozen"), while the
      text refers to the index of UCB ("refreshed").
    - The interval should follow a series of Lemma B.1 in a report; here it is ⌈1/ε⌉, as printed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> algorithm = dpb.DPUCBInt(epsilon=0.02)
    >>> algorithm.interval, round(algorithm.guarantee.epsilon, 2)
    (50, 1.76)
    >>> dpb.simulate(algorithm, dpb.instances.td16("two"), 10**5, n_runs=2).how
    'skipping: its law up to 4e-10'
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
        """Return the ε of the algorithm for a target (ε, δ), by Corollary 3.2.

        The root x of x·(2ζ(v)·x + √(2ζ(v)·log(1/δ))) = ε, the second bound of Corollary 3.1. It
        does not give the target privacy: compare `guarantee_at`.

        Parameters
        ----------
        epsilon : float
            Target ε, positive and finite.
        delta : float
            Target δ, in (0, 1).
        exponent : float
            v, in (1, 1.5].

        Returns
        -------
        float
            ε of the pseudo-code, which may be above 1.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        series = 8 * scipy.special.zeta(_check_exponent("exponent", exponent))
        log_term = -math.log(check_fraction("delta", delta)) / series
        target = check_positive("epsilon", epsilon) / (series / 4)
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
        """Return an algorithm whose `guarantee_at(horizon)` is at most, and nearly, (ε, δ).

        Parameters
        ----------
        epsilon : float
            Target ε, from 10^(−60) to 10^60.
        delta : float
            Target δ, in (0, 1).
        horizon : int
            Number T ≥ 1 of pulls for the target.
        by : {"noise", "interval"}
            "noise": f from `target_input` (at most T), as in the paper, and the least sufficient
            factor of the noise (`privacy.calibrate`). "interval": the noise of the paper, and the
            least sufficient f; from f to f + 1 no loss grows and no release is added.
        reading : {"refreshed", "frozen", "literal"}
            Reading of the pseudo-code.
        exponent : float
            v, in (1, 1.5].

        Returns
        -------
        DPUCBInt
            The algorithm.

        Raises
        ------
        ValueError
            If an argument is out of range or unknown.

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
        """Return bounds on the privacy losses of all releases that can reveal one reward.

        A release at n has the loss n^(−v/2)/noise (Lemma 3.1), and a reward enters all releases of
        its arm from then on: (jf)^(−v/2)/noise for j = 1, 2, …, or, in the literal reading,
        f^(−v/2)/noise for each decision, as an arm may rest after its first f pulls. The last of T
        decisions knows T − 1 pulls, of which at least f are another arm's. The sum of the losses
        diverges, so no ε with δ = 0 holds for every horizon; the sum of their squares converges.

        Parameters
        ----------
        horizon : int
            Number T ≥ 1 of pulls.

        Returns
        -------
        numpy.ndarray of float, shape (releases,)
            The losses, the largest first.

        Raises
        ------
        ValueError
            If `horizon` is out of range.
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
        """Guarantee for every horizon, at this `delta`; none for the literal reading.

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
        return PrivacyGuarantee("central", epsilon, self.delta)

    def guarantee_at(self, horizon: int, delta: float | None = None) -> PrivacyGuarantee:
        """Return the guarantee for the first `horizon` pulls at a given δ.

        Its ε is computed for all releases together (`privacy.epsilon_at`), for the reward that most
        of them reveal: an upper bound, as actions reveal less than releases.

        Parameters
        ----------
        horizon : int
            Number T ≥ 1 of pulls.
        delta : float, optional
            δ in [0, 1); by default that of the algorithm.

        Returns
        -------
        PrivacyGuarantee
            The guarantee.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        delta = self.delta if delta is None else delta
        epsilon = epsilon_at(delta, self.losses(horizon)).upper
        return PrivacyGuarantee("central", max(epsilon, SMALLEST), delta)

    @checked_arguments
    def first_decision(self, n_arms: Count, horizon: Count) -> int:
        return n_arms * self.interval + 1

    def play(self, rewards: Run, horizon: int, rng: Rng) -> None:
        n_arms, interval, literal = rewards.n_arms, self.interval, self.reading == "literal"
        pulls, released = np.zeros((2, n_arms), dtype=np.int64)
        sums, values, bonuses = np.zeros((3, n_arms))  # the values are private
        for t in range(1, horizon + 1):
            if t <= n_arms * interval:
                arm = (t - 1) % n_arms
            else:
                for b in range(n_arms):
                    n = int(pulls[b])
                    if n % interval == 0 and (literal or n != released[b]):
                        noise = _laplace(rng, self.noise * n ** (self.exponent / 2 - 1))
                        values[b], released[b] = sums[b] / n + noise, n
                        bonuses[b] = math.sqrt(2 * math.log(t) / n)
                if self.reading == "refreshed":
                    bonuses = np.sqrt(2 * math.log(t) / released)
                arm = int(np.argmax(values + bonuses))
            sums[arm] += rewards.total(arm, 1)
            pulls[arm] += 1

    def _regret_bound(self, instance: Any, horizon: int) -> Any:
        if self.reading == "literal":
            return partial(bounds.worst_regret, instance.gaps, horizon)
        return partial(
            bounds.dp_ucb_int_regret,
            instance.gaps,
            horizon,
            interval=self.interval,
            exponent=self.exponent,
            noise=self.noise,
            refreshed=self.reading == "refreshed",
        )


@lru_cache(maxsize=256)
def _calibrated(plain: DPUCBInt, epsilon: float, horizon: int, by: str) -> DPUCBInt:
    """Return `plain` with the wanted input and noise."""
    if by == "noise":
        target = DPUCBInt.target_input(epsilon, plain.delta, plain.exponent)
        plain = replace(plain, epsilon=min(max(target, input_of(horizon)), 1.0))
        factor = calibrate(epsilon, plain.delta, plain.losses(horizon))
        return plain if math.isinf(factor) else replace(plain, noise=1 / factor)

    def enough(interval: int) -> bool:
        tried = replace(plain, epsilon=input_of(interval))
        low, high = epsilon_at(plain.delta, tried.losses(horizon), 0.01)  # mostly decides, and soon
        if low <= epsilon < high:
            return tried.guarantee_at(horizon).epsilon <= epsilon
        return high <= epsilon

    low, high = 0, horizon  # with f = T nothing is released
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    result = replace(plain, epsilon=input_of(high))
    if result.guarantee_at(horizon).epsilon > epsilon:  # if the bracket is wider than usual there
        return replace(plain, epsilon=input_of(high + 1))
    return result
