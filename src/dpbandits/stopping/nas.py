"""NAS, and its private forms: Sajed & Sheffet (2019), §3, Algorithms 1 and 2."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

from dpbandits._arrays import Rng
from dpbandits._validation import check_choice, check_integer
from dpbandits.configuration import (
    LONGEST,
    Budget,
    Fraction,
    Number,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import Samples, StoppingRule, check_mean
from dpbandits.stopping.halting import Halting, boundary_kernel, estimate_kernel

__all__ = ["NAS", "DPNAS", "DPExponentialNAS", "NASFamily"]


class NASFamily(StoppingRule):
    """The rules that compare |S_n| with the boundary of `halting`, and release S_n/n.

    A subclass sets the constants of the condition, and the n at which it looks: by default all. Its
    accelerators draw only what matters, and are exact in distribution: :prf:ref:`prop-passing`.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.05)
    >>> [rule.look(n) for n in range(1, 9)], rule.look_time(3), rule.halting.query_scale
    ([0, 1, 0, 2, 0, 0, 0, 3], 8, 12.0)
    """

    @property
    @abc.abstractmethod
    def halting(self) -> Halting:
        """Constants of the halting condition."""

    @property
    def tables(self) -> Tables:
        """Tables on which the rule halts at the end, with the largest rewards and no noise."""
        return replace(super().tables, least=self.noiseless_time(self.half_range))

    def look(self, n: int) -> int:
        """Return the number of the look at n samples.

        Parameters
        ----------
        n : int
            Number of samples, from 1.

        Returns
        -------
        int
            Number s of the look, from 1; 0 if there is none.

        Raises
        ------
        ValueError
            If the argument is out of range.
        """
        return check_integer("n", n, 1)

    def look_time(self, look: int) -> int:
        """Return the number of samples at a look.

        Parameters
        ----------
        look : int
            Number s of the look, from 1; at most 1000 if the looks are at 2, 4, 8, … samples.

        Returns
        -------
        int
            Number n of samples.

        Raises
        ------
        ValueError
            If the argument is out of range.
        """
        return check_integer("look", look, 1, LONGEST)

    @checked_arguments
    def threshold(self, look: Annotated[int, whole(1, LONGEST)]) -> float:
        """Return the boundary for |S_n| at a look when all noise is zero.

        Parameters
        ----------
        look : int
            Number s of the look, from 1.

        Returns
        -------
        float
            The boundary n·h·(1 + 1/α) + c, in units of the sum.
        """
        return self._needed(self.halting, look)

    def _needed(self, halting: Halting, look: int) -> float:
        """Return `threshold` for a given condition, for repeated calls."""
        # as floats, since either number may exceed machine integers
        return float(boundary_kernel(halting, float(self.look_time(look)), float(look)))

    @checked_arguments
    def noiseless_time(self, mean: Number) -> int:
        """Return the halting time on a constant stream of `mean`, with all noise at zero.

        It is the first look time n with n|μ| ≥ n·h·(1 + 1/α) + c. Both h and c/n decrease with
        every look, so the condition stays true once it is.

        Parameters
        ----------
        mean : float
            μ ≠ 0 in [−R, R], at least 10⁻³⁰·R/α in absolute value.

        Returns
        -------
        int
            Number n of samples.
        """
        return self.time_to_reach(partial(self._needed, self.halting), mean)

    @checked_arguments
    def time_to_reach(self, needed: Callable[[int], float], mean: Number) -> int:
        """Return the first look time n with n|μ| ≥ ``needed(s)``.

        Parameters
        ----------
        needed : callable
            Maps the number s of a look to the threshold for n|μ|; once reached, it stays reached.
        mean : float
            μ ≠ 0 in [−R, R], at least 10⁻³⁰·R/α in absolute value.

        Returns
        -------
        int
            Number n of samples.
        """
        size = check_mean(mean, self.alpha, self.half_range)
        return self.first_time(lambda look: self.look_time(look) * size >= needed(look))

    def first_time(self, holds: Callable[[int], bool]) -> int:
        """Return the number of samples at the first look for which a predicate holds.

        Parameters
        ----------
        holds : callable
            Maps the number s of a look, from 1, to whether it holds; once it does, it keeps
            holding.

        Returns
        -------
        int
            Number n of samples.
        """
        below, above = 0, 1
        while not holds(above):
            step = 1 + above // 4
            while step > 1 and self.look_time(above + step) > 2 * self.look_time(above):
                step //= 2  # much longer streams may be out of range
            below, above = above, above + step
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if holds(middle) else (middle, above)
        return self.look_time(above)

    def stop(self, samples: Samples, rng: Rng) -> float:
        halting = self.halting
        threshold_noise = laplace(rng, halting.threshold_scale)
        total = 0.0
        while True:
            total += samples.next()
            n = samples.taken
            look = self.look(n)
            if look:
                noise = laplace(rng, halting.query_scale)
                if abs(total) >= boundary_kernel(halting, n, look) + threshold_noise + noise:
                    total += laplace(rng, halting.release_scale)
                    return float(estimate_kernel(halting, n, look, total))


def check_rule(rule: NASFamily) -> Halting:
    """Return the halting condition of a rule."""
    halting = getattr(rule, "halting", None)
    if not isinstance(halting, Halting):
        raise ValueError(f"rule={rule!r} has no halting condition; allowed: one of the NAS family")
    return halting


@dataclass(frozen=True)
class NAS(NASFamily):
    """Nonmonotonic adaptive sampling: Domingo, Gavaldà & Watanabe (2002), as in SS19, §3.

    It halts at the first n with |X̄_n| ≥ h_n(1 + 1/α) and releases X̄_n, the mean of the n samples.
    h_n = R·√((2/n)·log(4n²/β)) is Hoeffding's width for probability β/(2n²), as in SS19; Domingo et
    al. use another schedule of the union bound. Proof: :prf:ref:`thm-nas`.

    Parameters
    ----------
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Examples
    --------
    >>> import numpy as np
    >>> import dpbandits as dpb
    >>> dpb.NAS(alpha=0.5, beta=0.05).run([1.0] * 1000, np.random.default_rng(0))
    Outcome(samples=282, estimate=1.0, halted=True)
    """

    label: ClassVar[str] = "NAS"
    source: ClassVar[str] = "Domingo et al. (2002); SS19, §3"

    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    @property
    def halting(self) -> Halting:
        return Halting(self.alpha, self.beta, self.half_range)


@dataclass(frozen=True)
class DPNAS(NASFamily):
    """DP-NAS: Sajed & Sheffet (2019), Algorithm 1, without deviations.

    Pseudo-code: :prf:ref:`alg-dpnas`.

    With B ~ Lap(12R/ε) drawn once and A_n ~ Lap(12R/ε) drawn for every n, it halts at the first n
    with |X̄_n| ≥ h_n(1 + 1/α) + (c_n + B + A_n)/n and releases X̄_n + L/n, L ~ Lap(4R/ε). Here
    h_n = R·√((2/n)·log(16n²/β)) and c_n = (12R/ε)·(log(4/β) + log(8n²/β)) + (4R/(αε))·log(4/β). The
    comparison is a sparse-vector test of budget ε/2, the release a Laplace mechanism of budget ε/2:
    halting time and estimate together are ε-differentially private (Theorem 3.1). Proof:
    :prf:ref:`thm-dpnas`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` removes all noise and its allowance.
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].

    Raises
    ------
    ValueError
        If the scale 12R/ε of the noise is not finite.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.DPNAS(epsilon=1.0, alpha=0.5, beta=0.05).noiseless_time(1.0)
    856
    """

    label: ClassVar[str] = "DP-NAS"
    source: ClassVar[str] = "SS19, Algorithm 1"

    epsilon: Budget
    alpha: Fraction
    beta: Fraction
    half_range: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.threshold(1)):
            raise ValueError(
                f"epsilon={self.epsilon!r} is out of range; allowed: noise of scale "
                "12·half_range/epsilon that is a finite number"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def halting(self) -> Halting:
        return Halting.private(self.epsilon, self.alpha, self.beta, self.half_range)


@dataclass(frozen=True)
class DPExponentialNAS(DPNAS):
    """DP exponential NAS: Sajed & Sheffet (2019), Algorithm 2, by default without deviations.

    Pseudo-code: :prf:ref:`alg-dpnas`.

    `DPNAS` that looks only at n = 2, 4, 8, …, with union bounds over the number k of the look: h =
    R·√((2/n)·log(16k²/β)) and c = σ₁·log(4/β) + σ₂·log(8k²/β) + (σ₃/α)·log(4/β) with σ₁ = σ₂ =
    12R/ε and σ₃ = 4R/ε. It is ε-differentially private and (α, β)-correct (Corollary 3.2), and
    halts by the time of Theorem 3.3. Proof: :prf:ref:`thm-dpnas`, :prf:ref:`thm-halting`. A
    simulation takes O(log n).

    With the *midpoint* as the estimate, ours, h/α replaces h(1 + 1/α) and (1 + 1/α)σ₃ replaces
    σ₃/α, and with S̃ the noisy sum and w = h + (σ₃/n)·log(4/β) it releases sign(S̃)·(|S̃|/n − αw).
    The guarantees are the same: :prf:ref:`prop-dpnas-midpoint`.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε > 0; ``inf`` removes all noise and its allowance.
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].
    estimate : {"mean", "midpoint"}
        The released estimate: the noisy mean, as in the paper, or the midpoint of all sound
        estimates, which needs fewer samples unless there are few.

    Raises
    ------
    ValueError
        If the scale 12R/ε of the noise is not finite.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> dpb.DPExponentialNAS(epsilon=0.1, alpha=0.5, beta=0.05).noiseless_time(1e-3)
    268435456
    >>> dpb.DPExponentialNAS(0.1, alpha=0.5, beta=0.05, estimate="midpoint").noiseless_time(1e-3)
    134217728
    """

    label: ClassVar[str] = "DP-exp-NAS"
    source: ClassVar[str] = "SS19, Algorithm 2"

    estimate: Annotated[str, partial(check_choice, choices=("mean", "midpoint"))] = "mean"

    @property
    def halting(self) -> Halting:
        return super().halting._replace(midpoint=self.estimate == "midpoint")

    def look(self, n: int) -> int:
        n = check_integer("n", n, 1)
        return n.bit_length() - 1 if n & (n - 1) == 0 else 0

    def look_time(self, look: int) -> int:
        found: int = 2 ** check_integer("look", look, 1, 1000)
        return found
