"""What every stopping rule is, and what runs on a user's own stream share."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbandits._validation import (
    check_fraction,
    check_generator,
    check_integer,
    check_number,
    check_positive,
)
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.halting import Halting, boundary
from dpbandits.mechanisms import laplace
from dpbandits.rewards.laws import Law

__all__ = ["NASFamily", "Outcome", "StoppingRule", "checked"]


@dataclass(frozen=True)
class Outcome:
    """How one run of a stopping rule ended.

    Attributes
    ----------
    samples : int
        Samples that were taken.
    estimate : float
        Released estimate of the mean; nan if the rule has not halted.
    halted : bool
        Whether the rule halted, rather than running out of samples.
    """

    samples: int
    estimate: float
    halted: bool


def checked(stream: Iterable[Any], half_range: float, name: str = "stream") -> Iterator[float]:
    """Yield the values of a stream, each a number in [−R, R].

    Raises
    ------
    ValueError
        If a value is no such number, the message names it with its place, from 0; or if `stream`
        cannot be iterated over. `name` is what the message calls the stream.
    """
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


class StoppingRule(abc.ABC):
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

    def _check(self) -> None:
        """Check the arguments that all rules share."""
        object.__setattr__(self, "alpha", check_fraction("alpha", self.alpha))
        object.__setattr__(self, "beta", check_fraction("beta", self.beta))
        half_range = check_positive("half_range", self.half_range)
        object.__setattr__(self, "half_range", half_range)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What the rule promises about the privacy of halting time and estimate together."""
        return NO_PRIVACY

    @abc.abstractmethod
    def draw(self, law: Law, rng: np.random.Generator, max_samples: int) -> Outcome:
        """Run once on samples of a law, without drawing more than needed.

        Parameters
        ----------
        law : Law
            Law of the samples; its support lies in [−R, R].
        rng : numpy.random.Generator
            Source of all randomness, samples included.
        max_samples : int
            Samples after which a run that has not halted ends.

        Returns
        -------
        Outcome
            Exact in law.
        """

    @abc.abstractmethod
    def run(
        self, stream: Iterable[float], rng: np.random.Generator, max_samples: int | None = None
    ) -> Outcome:
        """Run on one's own stream, sample by sample as the pseudo-code says.

        Parameters
        ----------
        stream : iterable of float
            Samples in [−R, R]: an array, a generator, anything that can be iterated over. No
            more of it is taken than the rule needs.
        rng : numpy.random.Generator
            Source of the noise.
        max_samples : int, optional
            Samples after which a run that has not halted ends; None waits for the stream's end.

        Returns
        -------
        Outcome
            Not halted if the stream or `max_samples` ended first.

        Raises
        ------
        ValueError
            If a value is not a number in [−R, R]; the message names it with its place.
        """

    def _check_draw(self, law: Law, rng: np.random.Generator, max_samples: int) -> int:
        check_generator("rng", rng)
        if not isinstance(law, Law):
            raise ValueError(f"law={law!r} is no law; allowed: one such as two_point(0.1)")
        if law.half_range > self.half_range:
            raise ValueError(
                f"law={law!r} has half_range {law.half_range:g}; "
                f"allowed: at most that of the rule, {self.half_range:g}"
            )
        return check_integer("max_samples", max_samples, 1, 2**52)


class NASFamily(StoppingRule):
    """The rules that hold |S_n| against the boundary of `dpbandits.halting`, and release S_n/n.

    A subclass sets which n it looks at, and the constants of the condition.
    """

    @property
    @abc.abstractmethod
    def halting(self) -> Halting:
        """Constants of the halting condition."""

    @abc.abstractmethod
    def look(self, n: int) -> int:
        """Return the number s of the look at n samples, from 1; 0 if there is none."""

    @abc.abstractmethod
    def look_time(self, look: int) -> int:
        """Return the number n of samples at the s-th look."""

    def threshold(self, look: int) -> float:
        """Return what |S_n| has to reach at the s-th look when all noise is zero."""
        # as floats, for neither number may fit into a machine's integers
        level: float = boundary(self.halting, float(self.look_time(look)), float(look))
        return level

    def noiseless_time(self, mean: float) -> int:
        """Return when a stream that is constantly `mean` halts, with all noise at zero.

        The first look time n with n|μ| ≥ n·h·(1 + 1/α) + c. Both h and c/n fall with every look,
        so that the condition stays true once it is.

        Parameters
        ----------
        mean : float
            Mean μ ≠ 0 in [−R, R].

        Returns
        -------
        int

        Examples
        --------
        >>> from dpbandits import NAS
        >>> NAS(alpha=0.5, beta=0.05).noiseless_time(0.1)
        46585
        """
        return self.first_time(mean, self.threshold)

    def first_time(self, mean: float, needed: Callable[[int], float]) -> int:
        """Return the first look time n with n|μ| ≥ ``needed(s)``, which stays so once it is.

        Raises
        ------
        ValueError
            If `mean` is not in [−R, R], or closer to 0 than 10⁻³⁰·R/α.
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

    def run(
        self, stream: Iterable[float], rng: np.random.Generator, max_samples: int | None = None
    ) -> Outcome:
        """Run on one's own stream; see `StoppingRule.run`."""
        most = math.inf if max_samples is None else check_integer("max_samples", max_samples, 1)
        check_generator("rng", rng)
        halting = self.halting
        threshold_noise = laplace(rng, halting.threshold_scale)
        n, total = 0, 0.0
        for sample in checked(stream, self.half_range):
            n += 1
            total += sample
            look = self.look(n)
            if look:
                noise = laplace(rng, halting.query_scale)
                if abs(total) >= boundary(halting, float(n), look) + threshold_noise + noise:
                    release = laplace(rng, halting.release_scale)
                    return Outcome(n, (total + release) / n, True)
            if n >= most:
                break
        return Outcome(n, math.nan, False)
