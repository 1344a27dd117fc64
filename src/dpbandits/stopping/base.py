"""Base of the stopping rules."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dpbandits._arrays import Rng
from dpbandits._engine.acceleration import accelerator_for
from dpbandits._validation import (
    check_generator,
    check_integer,
    check_kind,
    check_noise,
    check_number,
    reward_of,
)
from dpbandits.configuration import Configuration
from dpbandits.guarantees import NO_PRIVACY, Labelled, PrivacyGuarantee
from dpbandits.rewards.laws import Law
from dpbandits.rewards.run import Ended
from dpbandits.rewards.tables import Tables

__all__ = ["Outcome", "Samples", "StoppingRule"]


class Outcome(NamedTuple):
    """Outcome of one run of a stopping rule.

    Attributes
    ----------
    samples : int
        Number of samples taken.
    estimate : float
        The released estimate; nan if the rule has not halted.
    halted : bool
        Whether the rule halted.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> outcome = dpb.NAS(alpha=0.5, beta=0.05).run([1.0] * 10, np.random.default_rng(0))
    >>> outcome
    Outcome(samples=10, estimate=nan, halted=False)
    """

    samples: int
    estimate: float
    halted: bool


def checked(stream: Iterable[Any], half_range: float, name: str = "stream") -> Iterator[float]:
    """Yield the values of a stream; raise, with its index, for one outside [−R, R]."""
    allowed = f"a number in [-{half_range:g}, {half_range:g}]"
    try:
        if isinstance(stream, str | bytes | Mapping):
            raise TypeError
        values = iter(stream)
    except TypeError:
        message = f"{name}={stream!r} is not a stream; allowed: an iterable, each {allowed}"
        raise ValueError(message) from None
    for place, value in enumerate(values):
        number = check_number(f"{name}[{place}]", reward_of(value), allowed)
        if not abs(number) <= half_range:
            raise ValueError(f"{name}[{place}]={value!r} is out of range; allowed: {allowed}")
        yield number


def check_mean(mean: float, alpha: float, half_range: float) -> float:
    """Raise for a mean that is impossible for a stream in [−R, R], or too close to 0."""
    size = abs(mean)
    if not 1e-30 * half_range / alpha <= size <= half_range:
        allowed = "in [-half_range, half_range] and not too near 0"
        raise ValueError(f"mean={mean!r} is out of range; allowed: {allowed}")
    return size


class Samples:
    """The samples of one run, for a plain program.

    Parameters
    ----------
    stream : iterator of float
        Source of the samples.
    most : float
        Most samples to take: an integer, or ``inf``.

    Attributes
    ----------
    taken : int
        Number of samples taken.

    Examples
    --------
    >>> samples = Samples(iter([0.5, 1.0]), math.inf)
    >>> samples.next(), samples.next(), samples.taken
    (0.5, 1.0, 2)
    """

    def __init__(self, stream: Iterator[float], most: float) -> None:
        self._stream, self._most, self.taken = stream, most, 0

    def next(self) -> float:
        """Take the next sample.

        Returns
        -------
        float
            The sample.

        Raises
        ------
        Ended
            If there are no more, or no more may be taken.
        """
        if self.taken < self._most:
            for sample in self._stream:
                self.taken += 1
                return sample
        raise Ended


def _samples_of(law: Law, rng: Rng) -> Iterator[float]:
    """Yield independent samples of a law."""
    while True:
        yield float(law.sample(rng, 1)[0])


class StoppingRule(Labelled, Configuration, abc.ABC):
    """Base class of the (α, β)-stopping rules for streams in [−R, R].

    A rule halts at a time of its choice and releases an estimate of the stream's mean μ ≠ 0
    with P(|estimate − μ| > α|μ|) < β. A subclass is a frozen dataclass; see ``CONTRIBUTING.md``.

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> outcome = rule.draw(dpb.laws.two_point(0.5), np.random.default_rng(0), max_samples=10**6)
    >>> outcome.halted, bool(abs(outcome.estimate - 0.5) <= 0.25)
    (True, True)
    """

    alpha: float
    beta: float
    half_range: float

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of halting time and estimate together."""
        return NO_PRIVACY

    @property
    def tables(self) -> Tables:
        """Tables on which it can be audited: one arm, since it reads a stream."""
        return Tables(n_arms=1, least=1, low=-self.half_range, high=self.half_range)

    @abc.abstractmethod
    def stop(self, samples: Samples, rng: Rng) -> float:
        """Take samples until the rule halts, following its pseudo-code.

        Parameters
        ----------
        samples : Samples
            The samples, in [−R, R], one after another.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        float
            The released estimate.

        Raises
        ------
        Ended
            If the samples end before the rule halts; the caller catches it.
        """

    def run(
        self, stream: Iterable[float], rng: Rng | None = None, max_samples: int | None = None
    ) -> Outcome:
        """Run the rule on a custom stream.

        Parameters
        ----------
        stream : iterable of float
            Samples in [−R, R]: an array, a generator, or ``iter(callback, None)`` for a function
            that returns the next sample. The rule takes no more of it than it needs.
        rng : numpy.random.Generator, optional
            Source of the noise, for repeatable runs: anyone who knows its seed can subtract the
            noise. By default `dpbandits.mechanisms.secure_generator`.
        max_samples : int, optional
            Samples after which a run that has not halted ends; None waits for the stream's end.

        Returns
        -------
        Outcome
            Samples taken, estimate (nan if none), and whether the rule halted.

        Raises
        ------
        ValueError
            If an argument is not as described here; for an invalid sample the message contains its
            index.
        """
        rng = check_noise("rng", rng)
        if isinstance(stream, str | bytes | Mapping):
            raise ValueError(
                f"stream={stream!r} is not a stream; allowed: numbers, one after another"
            )
        most = math.inf if max_samples is None else check_integer("max_samples", max_samples, 1)
        samples = Samples(checked(stream, self.half_range), most)
        try:
            estimate = self.stop(samples, rng)
        except Ended:
            return Outcome(samples.taken, math.nan, False)
        return Outcome(samples.taken, estimate, True)

    def draw(self, law: Law, rng: Rng, max_samples: int, how: str | None = None) -> Outcome:
        """Draw a run on samples of a law, by the rule's accelerator or else by `stop`.

        Parameters
        ----------
        law : Law
            Distribution of the samples, in [−R, R]: one of `dpbandits.laws`.
        rng : numpy.random.Generator
            Source of all randomness, including the samples.
        max_samples : int
            Samples after which a run that has not halted ends, from 1 to 2^52.
        how : str, optional
            Name of an accelerator, or "reference" for `stop`. None is the first registered one that
            fits, or `stop` if there is none or under ``NUMBA_DISABLE_JIT=1``.

        Returns
        -------
        Outcome
            Samples taken, estimate (nan if none), and whether the rule halted.

        Raises
        ------
        ValueError
            If an argument is not as described here.
        """
        max_samples = self.check_draw(law, rng, max_samples)
        fast = accelerator_for(self, Law, how)
        if fast is not None:
            return Outcome(*fast.run(self, law, max_samples, rng))
        return self.run(_samples_of(law, rng), rng, max_samples)

    def check_draw(self, law: Law, rng: Rng, max_samples: int) -> int:
        """Check the arguments of `draw`.

        Parameters
        ----------
        law : Law
            Law of the samples.
        rng : numpy.random.Generator
            Source of all randomness.
        max_samples : int
            Samples after which a run that has not halted ends.

        Returns
        -------
        int
            `max_samples`.

        Raises
        ------
        ValueError
            If an argument is out of range or of another type, or the law reaches beyond [−R, R].
        """
        check_generator("rng", rng)
        check_kind("law", law, Law, "two_point(0.1)")
        if law.half_range > self.half_range:
            raise ValueError(
                f"law={law!r} has half_range {law.half_range:g}; "
                f"allowed: at most that of the rule, {self.half_range:g}"
            )
        return check_integer("max_samples", max_samples, 1, 2**52)
