"""Private stopping with a promised standard deviation: choose the window of the samples."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Annotated, ClassVar, NamedTuple

from dpbandits._arrays import Rng
from dpbandits._validation import SMALLEST, check_positive, check_range
from dpbandits.configuration import Budget, Fraction, Number, Positive, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import CountChoice, laplace
from dpbandits.rewards.run import Ended
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import Samples, StoppingRule
from dpbandits.stopping.bernstein import DPBernsteinStop

__all__ = ["CutPlan", "DPPromisedStop", "WindowPlan"]

REACH = 4.0
"""z: a window is right for means up to z standard deviations outside it."""
LOWEST = 3.0
"""The lowest window begins between 1 + 3 and 1 + 3ρ times zσ/α."""
PARTS = 5.0
"""Bernstein stopping gets one fifth of β."""
BEYOND = 10.0
"""Samples are clipped at E + 10t, where a mean near 0 is at most E + t."""
KEPT = 0.9
"""Share of α for the mean of clipped samples."""
PATIENCE = 50.0
"""Factor on the scale of the samples after which clipping is given up."""
DENIED = 0.01
"""Probability with which "near 0" is not confirmed although it is true."""
CONFIRMING = 3
"""Ratio of the samples that confirm "near 0" to those that find it."""
STEEPEST = 2.0
"""Largest exponent of the counts, for larger budgets as well: a few samples are outside windows."""
_GROWTH = 1.01  # from one tried number of samples to the next

_Deviation = Annotated[float, partial(check_positive, infinite=True)]
_BelowHalf = Annotated[
    float,
    partial(
        check_range,
        low=2.0 * PARTS * SMALLEST,
        high=math.nextafter(0.5, 0.0),
        allowed="between 0 and 1/2",
    ),
]


class WindowPlan(NamedTuple):
    """Windows, and the two private questions about them; lengths are in units of R.

    Attributes
    ----------
    margin : float
        t = zσ: a window is right for means up to t outside it.
    windows : int
        Number w of windows on either side of "near 0".
    offset, lowest, ratio : float
        t/α, y and ρ: the ends of windows are t/α + y·ρ^(k + u), k = 0, …, w.
    choice : CountChoice
        The first question: the window with most of n fresh samples.
    confirmed_at : float
        θ′ of the second one: whether at least θ′ of 3n fresh samples, with noise, are near 0.
    straddle : float
        ζ: largest probability, over the shift u, that an end is within t of the mean.
    least_right : float
        Lower bound on the probability that an epoch makes a right choice, for a mean that is
        farther than t from every end.

    Examples
    --------
    >>> plan = DPPromisedStop(epsilon=0.1, alpha=0.5, beta=0.05, deviation=1e-4).plan
    >>> plan.windows, plan.choice.size, round(plan.choice.threshold, 2), round(plan.least_right, 3)
    (6, 73, 54.73, 0.84)
    """

    margin: float
    windows: int
    offset: float
    lowest: float
    ratio: float
    choice: CountChoice
    confirmed_at: float
    straddle: float
    least_right: float

    @property
    def reach(self) -> float:
        """E, an upper bound on all ends of "near 0"."""
        return self.offset + self.lowest * self.ratio

    @property
    def near(self) -> float:
        """Upper limit of absolute samples that count as near 0; that of |μ| is t smaller."""
        return self.reach + 2.0 * self.margin

    def window(self, sample: float, shift: float) -> int:
        """Return the window of a sample.

        Parameters
        ----------
        sample : float
            X/R.
        shift : float
            u in [0, 1).

        Returns
        -------
        int
            0 near 0; else 2k − 1 or 2k, for a sample above or below 0, with k from 1 to w.
        """
        beyond = abs(sample) - self.offset
        if beyond <= 0.0:
            return 0
        place = math.log(beyond / self.lowest) / math.log(self.ratio) - shift
        if place < 0.0:
            return 0
        k = 1 + min(int(place), self.windows - 1)
        return 2 * k - 1 if sample > 0.0 else 2 * k

    def estimate(self, window: int, shift: float, alpha: float) -> float:
        """Return (1 + α)(e − t), with e the lower end: right for all means of a window.

        Parameters
        ----------
        window : int
            Number of the window, as in `window`, from 1.
        shift : float
            u in [0, 1).
        alpha : float
            α.

        Returns
        -------
        float
            The estimate, in units of R, at most 1 in absolute value.
        """
        end = self.offset + self.lowest * math.pow(self.ratio, (window - 1) // 2 + shift)
        size = min((1.0 + alpha) * (end - self.margin), 1.0)
        return size if window % 2 else -size


class CutPlan(NamedTuple):
    """Bernstein stopping on samples clipped at ±H; lengths in units of a sample.

    Attributes
    ----------
    rule : DPBernsteinStop
        Its rule, for samples in [−H, H].
    accepted : float
        a: an estimate of at least this absolute value counts, although clipping has moved the mean.
    most : int
        Number of samples after which it gives up.

    Examples
    --------
    >>> cut = DPPromisedStop(epsilon=0.1, alpha=0.5, beta=0.05, deviation=1e-4).cut
    >>> round(cut.rule.half_range, 4), round(cut.accepted, 6)
    (0.012, 3e-05)
    """

    rule: DPBernsteinStop
    accepted: float
    most: int


class _Cut(Samples):
    """Samples of another run, clipped at ±H.

    Parameters
    ----------
    samples : Samples
        The run.
    plan : CutPlan
        H, and the most samples to take.
    """

    def __init__(self, samples: Samples, plan: CutPlan) -> None:
        super().__init__(iter(()), plan.most)
        self._source, self._bound = samples, plan.rule.half_range

    def next(self) -> float:
        if self.taken >= self._most:
            raise Ended
        sample = self._source.next()
        self.taken += 1
        return min(max(sample, -self._bound), self._bound)

    @property
    def spent(self) -> bool:
        """Whether no more may be taken."""
        return self.taken >= self._most


@lru_cache(maxsize=1024)
def _plan(rule: DPPromisedStop) -> WindowPlan | None:
    """Return the plan with the fewest samples on average; None if there is no window."""
    margin = REACH * (rule.deviation / rule.half_range)
    ratio = (1.0 + rule.alpha) / (1.0 - rule.alpha)
    offset = margin / rule.alpha
    lowest = LOWEST * offset
    if not lowest * ratio < 1.0 - offset:
        return None
    windows = math.ceil(math.log((1.0 - offset) / lowest) / math.log(ratio))
    straddle = math.log1p(2.0 * margin / lowest) / math.log(ratio)
    rate = min(rule.epsilon, STEEPEST)
    spread = math.log1p(math.expm1(rate) / REACH**2)  # of the logarithm, for one sample outside
    wrong = (1.0 - DENIED) * (1.0 - 1.0 / PARTS) * rule.beta
    odds = wrong / (1.0 - wrong) * (1.0 - straddle)
    best: WindowPlan | None = None
    size, mean = max(1, int(1.0 / rate)), math.inf
    while size < mean:
        outside = math.exp(spread * size)
        others = outside + 2 * windows - 1
        root = math.log(others / odds) + (spread - rate) * size
        if root < 0.0:
            log_scale = math.log(others / odds) - math.log1p(math.sqrt(-math.expm1(root)))
            threshold = max(log_scale / rate, 0.5 * size)
            choice = CountChoice(rate, size, 2 * windows + 1, threshold)
            right = 1.0 - 0.5 * math.exp(rate * (threshold - size) + spread * size)
            right *= choice.weight
            if size < mean * right:
                mean = size / right
                last = (math.log(0.5 / DENIED) + CONFIRMING * size * spread) / rate
                best = WindowPlan(
                    *(margin, windows, offset, lowest, ratio, choice),
                    *(CONFIRMING * size - last, straddle, right),
                )
        size = max(size + 1, int(size * _GROWTH))
    return best


@dataclass(frozen=True)
class DPPromisedStop(StoppingRule):
    """Private stopping for laws with a promised standard deviation of at most σ. Ours.

    Pseudo-code: :prf:ref:`alg-promised`.

    Let t = 4σ, ρ = (1 + α)/(1 − α), y = 3t/α. An epoch draws u, uniform on [0, 1), cuts [−R, R] at
    the ends ±(t/α + yρ^(k + u)), k = 0, 1, …, into windows and an interval near 0, counts the
    samples of each among n fresh ones, and chooses one of them, or none, by `CountChoice`:

    - a window with the lower end e: the rule halts with ±(1 + α)(e − t), an approximation of every
      mean that is at most t outside the window;
    - near 0: if at least θ′ of 3n fresh samples, with noise, are closer than t/α + yρ + 2t, the
      rule continues with fresh samples and `DPBernsteinStop`: first on samples clipped at ±H, H =
      t/α + yρ + 10t, with H for R, 0.9α and β/10, and if that ends after `cut.most` samples or with
      less than `cut.accepted`, on unclipped samples, with β/10;
    - none, or near 0 is not confirmed: another epoch.

    n and the threshold θ are those with the least mean number of samples for which the proof allows
    β; they are in `plan`. If t/α + 3ρt/α ≥ R there are no windows, and the rule is
    `DPBernsteinStop`; if H ≥ R nothing is clipped, and β/5 is spent on unclipped samples.

    It is ε-differentially private on every stream, whether or not the promise holds, and (α,
    β)-correct on laws that satisfy it: :prf:ref:`thm-promised`. Otherwise the estimate is that of
    the window with most samples, and may be wrong almost always. SS19 has no such rule, but
    mentions laws of smaller variance in §6.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε of at least 10⁻³⁰; with ``inf`` nothing is private, and the choice has the
        exponent 2, as for every ε ≥ 2.
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1/2) of a larger error.
    deviation : float
        σ > 0, the promise, in units of a sample; ``inf`` promises nothing.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.low_variance(0.1, 1e-4)
    >>> rule = dpb.DPPromisedStop(epsilon=0.1, alpha=0.5, beta=0.05, deviation=1e-4)
    >>> runs = dpb.estimate(rule, law, n_runs=50)
    >>> floor = dpb.bounds.private_stopping_lower_bound(0.1, 0.5, 0.05, epsilon=0.1)
    >>> bool(3 * runs.samples.mean() < floor), round(floor)
    (True, 380)
    """

    label: ClassVar[str] = "DP-Promised"
    source: ClassVar[str] = "ours; SS19, §6, speaks of smaller variances"

    epsilon: Budget
    alpha: Fraction
    beta: _BelowHalf
    deviation: _Deviation = math.inf
    half_range: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fallback  # noqa: B018 (refuses an ε that is too small)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def plan(self) -> WindowPlan | None:
        """Windows and thresholds; None if there is no window, but only Bernstein stopping."""
        return _plan(self)

    @property
    def fallback(self) -> DPBernsteinStop:
        """Bernstein stopping for a mean near 0."""
        parts = 1.0 if self.plan is None else PARTS if self.cut is None else 2.0 * PARTS
        beta = self.beta / parts
        return DPBernsteinStop(self.epsilon, self.alpha, beta, self.half_range)

    @property
    def cut(self) -> CutPlan | None:
        """First attempt near 0; None if there are no windows, or nothing would be clipped."""
        plan, alpha, beta = self.plan, KEPT * self.alpha, self.beta / (2.0 * PARTS)
        bound = math.inf if plan is None else plan.reach + BEYOND * plan.margin
        if plan is None or bound >= 1.0:
            return None
        deviation = plan.margin / REACH
        bias = deviation**2 / (4.0 * (BEYOND - 1.0) * plan.margin)
        accepted = (1.0 + alpha) * bias * (1.0 + (1.0 + alpha) / (self.alpha - alpha))
        error = alpha * accepted
        scale = max((deviation / error) ** 2 + 1.0 / alpha**2, bound / error)
        scale = max(scale, bound / (error * self.epsilon))
        most = math.ceil(PATIENCE * math.log(1.0 / beta) * scale)
        unit = self.half_range
        rule = DPBernsteinStop(self.epsilon, alpha, beta, unit * bound)
        return CutPlan(rule, unit * accepted, most)

    @property
    def tables(self) -> Tables:
        """Tables of one epoch, after which the rule may halt."""
        if self.plan is None:
            return self.fallback.tables
        return replace(super().tables, least=self.plan.choice.size)

    @checked_arguments
    def straddle(self, mean: Number) -> float:
        """Return the largest probability that an end of a window is within t of the mean.

        Parameters
        ----------
        mean : float
            μ in [−R, R].

        Returns
        -------
        float
            The probability, over the shift u; 0 if there are no windows.
        """
        if not abs(mean) <= self.half_range:
            allowed = "in [-half_range, half_range]"
            raise ValueError(f"mean={mean!r} is out of range; allowed: {allowed}")
        plan = self.plan
        if plan is None:
            return 0.0
        beyond = abs(mean) / self.half_range - plan.offset
        last = beyond + plan.margin
        if last <= plan.lowest:
            return 0.0
        first = max(beyond - plan.margin, plan.lowest)
        return min(math.log(last / first) / math.log(plan.ratio), 1.0)

    def locate(self, samples: Samples, rng: Rng) -> float | None:
        """Take samples until a window is chosen, or "near 0" is confirmed.

        Parameters
        ----------
        samples : Samples
            The samples, in [−R, R], one after another.
        rng : numpy.random.Generator
            Source of shifts, choices and noise.

        Returns
        -------
        float or None
            The estimate; None if the mean is near 0, or there are no windows.
        """
        plan, unit = self.plan, self.half_range
        if plan is None:
            return None
        choice = plan.choice
        while True:
            shift = rng.random()
            counts = Counter(plan.window(samples.next() / unit, shift) for _ in range(choice.size))
            chosen = choice.draw(rng, counts)
            # from here on only the choice is used
            if chosen:
                return unit * plan.estimate(chosen, shift, self.alpha)
            if chosen == 0:
                fresh = (samples.next() for _ in range(CONFIRMING * choice.size))
                near = sum(abs(sample) <= plan.near * unit for sample in fresh)
                if near + laplace(rng, 1.0 / choice.epsilon) >= plan.confirmed_at:
                    return None

    def stop(self, samples: Samples, rng: Rng) -> float:
        found = self.locate(samples, rng)
        return self.estimate_near_0(samples, rng) if found is None else found

    def estimate_near_0(self, samples: Samples, rng: Rng) -> float:
        """Continue with Bernstein stopping, first on clipped samples if that is useful.

        Parameters
        ----------
        samples : Samples
            The samples, in [−R, R], one after another.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        float
            The estimate.
        """
        cut = self.cut
        if cut is not None:
            near = _Cut(samples, cut)
            try:
                found = cut.rule.stop(near, rng)
            except Ended:
                if not near.spent:
                    raise
            else:
                if abs(found) >= cut.accepted:
                    return found
        return self.fallback.stop(samples, rng)
