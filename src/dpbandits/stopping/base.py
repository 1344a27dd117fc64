"""What every stopping rule is, and what the NAS family shares: its condition and its simulation.

*Simulation of the NAS family: only what can matter is drawn, and the law is exact.* Between two
looks only the sum of the samples matters, and laws give it at once. A rule that looks at every n
has many looks at which it cannot halt, or hardly. From n samples with sum S, let
g = boundary(n + 1) + B − |S|. The boundary rises with n and |S| changes by at most R a sample, so
that within the next m samples a look can only halt if its noise A is at most ``level`` = mR − g.
The looks at which A ≤ level come after geometric times. If the first of them lies beyond m, none of
the m looks halts; otherwise the samples up to it are drawn as one sum, its A under the condition
A ≤ level, and the condition is checked as it stands. Any choice of m ≥ 1 is right; it only matters
for the speed. Without noise the same holds with m the last sample before g is used up. Proof:
:prf:ref:`prop-passing`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from numba import njit

from dpbandits._arrays import Rng
from dpbandits._validation import check_generator, check_integer, check_number
from dpbandits.configuration import Configuration
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.halting import Halting, boundary
from dpbandits.mechanisms import laplace, laplace_below, laplace_cdf
from dpbandits.rewards.laws import Law, LawCode, sum_of_draws

__all__ = ["NASFamily", "Outcome", "StoppingRule", "checked", "draw_doubling", "draw_every"]

_RARE = 20.0  # looks whose noise has to be this many scales below zero are let pass in bulk


@dataclass(frozen=True)
class Outcome:
    """How one run of a stopping rule ended.

    Samples that were taken, the released estimate (nan if the rule has not halted), and whether it
    halted rather than running out of samples.
    """

    samples: int
    estimate: float
    halted: bool


def checked(stream: Iterable[Any], half_range: float, name: str = "stream") -> Iterator[float]:
    """Yield the values of a stream, each a number in [−R, R], or refuse one with its place."""
    allowed = f"a number in [-{half_range:g}, {half_range:g}]"
    try:
        values = iter(stream)
    except TypeError:
        message = f"{name}={stream!r} cannot be iterated over; allowed: an iterable, each {allowed}"
        raise ValueError(message) from None
    for place, value in enumerate(values):
        number = check_number(f"{name}[{place}]", value, allowed)
        if not abs(number) <= half_range:
            raise ValueError(f"{name}[{place}]={value!r} is out of range; allowed: {allowed}")
        yield number


class StoppingRule(Configuration, abc.ABC):
    """Base class of the (α, β)-stopping rules for streams in [−R, R].

    A rule halts at a time of its own choice and releases an estimate of the stream's mean μ ≠ 0
    with P(|estimate − μ| > α|μ|) < β. A subclass is a frozen dataclass; see ``CONTRIBUTING.md``.
    """

    label: ClassVar[str]
    """What tables and figures call the rule."""
    source: ClassVar[str]
    """Paper and number."""

    # fields of the subclasses, in an order of their own
    alpha: float
    beta: float
    half_range: float

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the rule promises about the privacy of halting time and estimate together."""
        return NO_PRIVACY

    def draw(self, law: Law, rng: Rng, max_samples: int) -> Outcome:
        """Run once on samples of a law, without drawing more than needed; exact in law.

        Parameters
        ----------
        law : Law
            Law of the samples, in [−R, R].
        rng : numpy.random.Generator
            Source of all randomness, samples included.
        max_samples : int
            Samples after which a run that has not halted ends.
        """
        max_samples = self.check_draw(law, rng, max_samples)
        return Outcome(*self._draw(rng, law.code, max_samples))

    def run(self, stream: Iterable[float], rng: Rng, max_samples: int | None = None) -> Outcome:
        """Run on your own stream, sample by sample as the pseudo-code says.

        Parameters
        ----------
        stream : iterable of float
            Samples in [−R, R]: an array, a generator, or ``iter(callback, None)`` for a function
            that returns the next sample. No more of it is taken than the rule needs.
        rng : numpy.random.Generator
            Source of the noise.
        max_samples : int, optional
            Samples after which a run that has not halted ends; None waits for the stream's end.

        Raises
        ------
        ValueError
            If a value is not a number in [−R, R]; the message names it with its place.
        """
        most = math.inf if max_samples is None else check_integer("max_samples", max_samples, 1)
        watch, n = self._watch(rng), 0
        for n, sample in enumerate(checked(stream, self.half_range), start=1):
            estimate = watch(n, sample)
            if estimate is not None:
                return Outcome(n, estimate, True)
            if n >= most:
                break
        return Outcome(n, math.nan, False)

    @abc.abstractmethod
    def _draw(self, rng: Rng, law: LawCode, max_samples: int) -> tuple[int, float, bool]:
        """Return samples, estimate, and whether the rule halted."""

    @abc.abstractmethod
    def _watch(self, rng: Rng) -> Callable[[int, float], float | None]:
        """Return what takes n and the n-th sample, and returns the estimate when it halts."""

    def check_draw(self, law: Law, rng: Rng, max_samples: int) -> int:
        """Refuse what `draw` cannot be called with; return `max_samples` as an int."""
        check_generator("rng", rng)
        if not isinstance(law, Law):
            raise ValueError(f"law={law!r} is not a law; allowed: one such as two_point(0.1)")
        if law.half_range > self.half_range:
            raise ValueError(
                f"law={law!r} has half_range {law.half_range:g}; "
                f"allowed: at most that of the rule, {self.half_range:g}"
            )
        return check_integer("max_samples", max_samples, 1, 2**52)


class NASFamily(StoppingRule):
    """The rules that hold |S_n| against the boundary of `dpbandits.halting`, and release S_n/n.

    A subclass sets the constants of the condition, and which n it looks at: all, unless it says so.
    """

    @property
    @abc.abstractmethod
    def halting(self) -> Halting:
        """Constants of the halting condition."""

    def look(self, n: int) -> int:
        """Return the number s of the look at n samples, from 1; 0 if there is none."""
        return n

    def look_time(self, look: int) -> int:
        """Return the number n of samples at the s-th look."""
        return look

    def threshold(self, look: int) -> float:
        """Return what |S_n| has to reach at the s-th look when all noise is zero."""
        # as floats, for neither number may fit into a machine's integers
        level: float = boundary(self.halting, float(self.look_time(look)), float(look))
        return level

    def noiseless_time(self, mean: float) -> int:
        """Return when a stream that is constantly `mean` ≠ 0 halts, with all noise at zero.

        The first look time n with n|μ| ≥ n·h·(1 + 1/α) + c. Both h and c/n fall with every look,
        so that the condition stays true once it is.

        Examples
        --------
        >>> from dpbandits import NAS
        >>> NAS(alpha=0.5, beta=0.05).noiseless_time(0.1)
        46585
        """
        return self.first_time(mean, self.threshold)

    def first_time(self, mean: float, needed: Callable[[int], float]) -> int:
        """Return the first look time n with n|μ| ≥ ``needed(s)``, which stays so once it is.

        Refuses a mean that is not in [−R, R], or is closer to 0 than 10⁻³⁰·R/α.
        """
        allowed = "in [-half_range, half_range] and not too near 0"
        size = abs(check_number("mean", mean, allowed))
        if not 1e-30 * self.half_range / self.alpha <= size <= self.half_range:
            raise ValueError(f"mean={mean!r} is out of range; allowed: {allowed}")
        below, above = 0, 1
        while self.look_time(above) * size < needed(above):
            below, above = above, above + 1 + above // 4
        while above - below > 1:
            middle = (below + above) // 2
            if self.look_time(middle) * size < needed(middle):
                below = middle
            else:
                above = middle
        return self.look_time(above)

    def _watch(self, rng: Rng) -> Callable[[int, float], float | None]:
        halting = self.halting
        threshold_noise = laplace(check_generator("rng", rng), halting.threshold_scale)
        total = 0.0

        def watch(n: int, sample: float) -> float | None:
            nonlocal total
            total += sample
            look = self.look(n)
            if look:
                noise = laplace(rng, halting.query_scale)
                if abs(total) >= boundary(halting, float(n), look) + threshold_noise + noise:
                    return (total + laplace(rng, halting.release_scale)) / n
            return None

        return watch

    def _draw(self, rng: Rng, law: LawCode, max_samples: int) -> tuple[int, float, bool]:
        outcome: tuple[int, float, bool] = draw_every(rng, self.halting, law, max_samples)
        return outcome


@njit(cache=True, nogil=True)
def draw_doubling(
    rng: Rng, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that looks at n = 2, 4, 8, …: samples, estimate, whether it halted."""
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total, look = 0, 0.0, 0
    while True:
        look += 1
        later = 2**look
        if later > max_samples:
            return max_samples, math.nan, False
        total += sum_of_draws(rng, law, later - n)
        n = later
        noise = laplace(rng, halting.query_scale)
        if abs(total) >= boundary(halting, float(n), look) + threshold_noise + noise:
            release = laplace(rng, halting.release_scale)
            return n, (total + release) / n, True


@njit(cache=True, nogil=True)
def draw_every(
    rng: Rng, halting: Halting, law: LawCode, max_samples: int
) -> tuple[int, float, bool]:
    """Run a rule that looks at every n: samples, estimate, whether it halted."""
    half_range, scale = halting.half_range, halting.query_scale
    threshold_noise = laplace(rng, halting.threshold_scale)
    n, total = 0, 0.0
    while n < max_samples:
        gap = boundary(halting, n + 1.0, n + 1) + threshold_noise - abs(total)
        if scale == 0.0:
            reach = math.ceil(gap / half_range) - 1.0
        else:
            reach = max(gap - _RARE * scale, 0.5 * scale) / half_range
        m = int(min(max(reach, 1.0), float(max_samples - n)))
        level = m * half_range - gap
        rate = -math.log1p(-laplace_cdf(level, scale))
        steps = rng.standard_exponential() / rate if rate > 0.0 else math.inf
        if steps >= m:
            total += sum_of_draws(rng, law, m)
            n += m
            continue
        taken = int(steps) + 1
        total += sum_of_draws(rng, law, taken)
        n += taken
        noise = laplace_below(rng, scale, level)
        if abs(total) >= boundary(halting, float(n), n) + threshold_noise + noise:
            release = laplace(rng, halting.release_scale)
            return n, (total + release) / n, True
    return max_samples, math.nan, False
