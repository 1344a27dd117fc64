"""Upper bounds on the samples of stopping rules, with the constants of their proofs.

The proofs stand in the chapter on private stopping rules. SS19 is Sajed & Sheffet (2019). In
units of R: x = R/(α|μ|), y = R/(ε|μ|).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dpbandits._validation import SMALLEST, check_fraction, check_number, check_positive
from dpbandits.halting import noise_allowance, sampling_width
from dpbandits.stopping.base import NASFamily

__all__ = [
    "StoppingTimes",
    "loglog_bracket",
    "loglog_crossing",
    "stopping_constant",
    "stopping_constant_printed",
    "stopping_failure",
    "stopping_samples",
    "stopping_samples_closed_form",
    "stopping_samples_printed",
    "stopping_times_printed",
    "stopping_times_repaired",
]


class StoppingTimes(NamedTuple):
    """The three terms of Theorem 3.3, in samples.

    Attributes
    ----------
    sampling : float
        t₀, what the law's randomness costs.
    queries : float
        t₁, what noise in the comparisons costs.
    release : float
        t₂, what noise in the released estimate costs.
    """

    sampling: float
    queries: float
    release: float

    @property
    def total(self) -> float:
        """The sum t₀ + t₁ + t₂."""
        return self.sampling + self.queries + self.release


def check_mean(mean: float, half_range: float) -> tuple[float, float]:
    """Return |μ|/R and R."""
    half_range = check_positive("half_range", half_range)
    allowed = f"non-zero, in [-{half_range:g}, {half_range:g}]"
    size = abs(check_number("mean", mean, allowed)) / half_range
    if not 1e-100 <= size <= 1:
        raise ValueError(f"mean={mean!r} is out of range; allowed: {allowed}")
    return size, half_range


def check_error(alpha: float, size: float) -> None:
    """Refuse an absolute error α|μ|/R whose square would be lost in rounding."""
    if not alpha * size >= SMALLEST:
        raise ValueError(
            f"alpha={alpha!r} is out of range; allowed: at least {SMALLEST / size:g} for this mean"
        )


# ------------------------------------------------------------------------------------- Fact 2.1


def loglog_bracket(a: float, b: float) -> tuple[float, float]:
    """Return U = log(a·log(1/b))/b and 2U, the ends that SS19's Fact 2.1 names.

    Examples
    --------
    >>> low, high = loglog_bracket(2.0, 0.01)
    >>> low < loglog_crossing(2.0, 0.01) < high
    True
    """
    a, b = check_positive("a", a), check_positive("b", b)
    if not (a > 1 and b < 1 / 16):
        raise ValueError(f"a={a!r}, b={b!r} is out of range; allowed: a > 1 and b < 1/16")
    end = math.log(a * math.log(1 / b)) / b
    return end, 2 * end


def loglog_crossing(a: float, b: float) -> float:
    """Solve log(a·log x) = b·x for its largest root, beyond which log(a·log x)/x stays below b."""
    low, high = loglog_bracket(a, b)
    from scipy.optimize import brentq  # slow to import

    root: float = brentq(lambda x: math.log(a * math.log(x)) - b * x, low, high)
    return root


# ------------------------------------------------------------------------------- upper bounds


def stopping_failure(beta: float, *, private: bool = True) -> float:
    """Bound the probability that some event of the proof of Theorem 3.1 fails.

    β/8 · Σ 1/s² for sampling and as much for the queries, β/4 each for threshold and release:
    (1/2 + π²/24)·β ≈ 0.911·β. Without privacy β/2 · Σ 1/s² = β·π²/12 ≈ 0.822·β.
    """
    beta = check_fraction("beta", beta)
    return beta * (0.5 + math.pi**2 / 24 if private else math.pi**2 / 12)


def stopping_samples(rule: NASFamily, mean: float) -> int:
    """Bound the samples of a rule of the NAS family: SS19, Theorem 3.3, as its proof has it.

    The first look time n with n|μ| ≥ n·h·(2 + 1/α) + 2σ₁·log(4/β) + 2σ₂·log(8s²/β) +
    (σ₃/α)·log(4/β): there the rule halts unless an event of probability `stopping_failure`
    happens, and its estimate is right as well.

    Parameters
    ----------
    rule : NASFamily
        `NAS`, `DPNAS` or `DPExponentialNAS`.
    mean : float
        Mean μ ≠ 0 of the samples.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If `rule` is not of the NAS family, or `mean` is out of range.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPExponentialNAS(epsilon=0.1, alpha=0.5, beta=0.05)
    >>> stopping_samples(rule, 0.1), rule.noiseless_time(0.1)
    (131072, 65536)
    """
    if not isinstance(rule, NASFamily):
        raise ValueError(f"rule={rule!r} has no halting condition; allowed: one of the NAS family")
    halting = rule.halting
    # c counts each noise once; at worst it comes once more, except for the release
    release = halting.release_scale / halting.alpha * math.log(4 / halting.beta)

    def surely(look: int) -> float:
        # as floats, for neither number may fit into a machine's integers
        n, number = float(rule.look_time(look)), float(look)
        width = sampling_width(halting, n, number) * (2 + 1 / halting.alpha)
        return float(n * width + 2 * noise_allowance(halting, number) - release)

    return rule.first_time(mean, surely)


def stopping_times_printed(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> StoppingTimes:
    """Evaluate t₀, t₁, t₂ as SS19's Theorem 3.3 prints them.

    t₀ = x²·ℓ, t₁ = y·ℓ, t₂ = (y/α)·log(1/β) with ℓ = log((1/β)·log x). ℓ is negative where x
    is below e^β: see the chapter.
    """
    x, y, alpha, beta = _units(mean, alpha, beta, epsilon, half_range)
    log_term = math.log(math.log(x) / beta)
    return StoppingTimes(x**2 * log_term, y * log_term, y / alpha * math.log(1 / beta))


def stopping_times_repaired(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> StoppingTimes:
    """Evaluate t₀, t₁, t₂ in a form for which the theorem holds without conditions.

    t₀ = x²·λ, t₁ = y·λ, t₂ = (y/α)·log(4/β) with λ = log((4/β)·log(e·max(x, y))).
    """
    x, y, alpha, beta = _units(mean, alpha, beta, epsilon, half_range)
    log_term = math.log(4 / beta * (1 + math.log(max(x, y))))
    return StoppingTimes(x**2 * log_term, y * log_term, y / alpha * math.log(4 / beta))


def _units(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float
) -> tuple[float, float, float, float]:
    size, _ = check_mean(mean, half_range)
    alpha, beta = check_fraction("alpha", alpha), check_fraction("beta", beta)
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    check_error(alpha, size)
    return 1 / (alpha * size), 1 / (epsilon * size), alpha, beta


def stopping_samples_printed(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> float:
    """Evaluate SS19's Theorem 3.3 as printed: 2000·(t₀ + t₁ + t₂)."""
    return 2000 * stopping_times_printed(mean, alpha, beta, epsilon, half_range).total


def stopping_samples_closed_form(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float = 1.0
) -> float:
    """Bound the samples of `DPExponentialNAS` in closed form (derived in the chapter).

    `stopping_constant` times the terms of `stopping_times_repaired`; exceeded with probability
    at most `stopping_failure`.

    Examples
    --------
    >>> closed = stopping_samples_closed_form(0.1, 0.5, 0.05, 0.1)
    >>> bool(closed < stopping_samples_printed(0.1, 0.5, 0.05, 0.1) / 5)
    True
    """
    times = stopping_times_repaired(mean, alpha, beta, epsilon, half_range)
    return stopping_constant(beta) * times.total


def stopping_constant(beta: float) -> float:
    """Return the constant C(β) that replaces 2000 before `stopping_times_repaired`.

    C = 8q²/(4q − p) with p = 18c₀, q = 48c₁, and with b = log(4/β), κ = log2(3Cb):
    c₀ = max(2, (b + log 4 + 2·log κ)/b), c₁ = (b + log(2)/2 + log κ)/b. The equation has one
    solution; it falls as β → 0, and is below 342 for every β.

    Examples
    --------
    >>> stopping_constant(0.08) <= 200, 118 < stopping_constant(1e-60) < 123
    (True, True)
    """
    base = math.log(4 / check_fraction("beta", beta))
    return _fixed_point(base, math.log(4), math.log(2) / 2, 0.0)


def stopping_constant_printed(beta: float) -> float:
    """Return the constant that replaces 2000 before `stopping_times_printed`.

    As `stopping_constant`, with b = log(1/β), log 16 and log(32)/2 in place of log 4 and
    log(2)/2, and κ = log2(3Cb) + 2/log 2. It needs β ≤ 0.08, α|μ| ≤ R/e and ε ≥ α.

    Examples
    --------
    >>> stopping_constant_printed(0.08) <= 310
    True
    """
    if not check_fraction("beta", beta) <= 0.9:  # log(1/β) vanishes at 1, and with it the terms
        raise ValueError(f"beta={beta!r} is out of range; allowed: above 0 and at most 0.9")
    base = math.log(1 / beta)
    return _fixed_point(base, math.log(16), math.log(32) / 2, 2 / math.log(2))


def _fixed_point(base: float, squared: float, single: float, ahead: float) -> float:
    """Iterate C upwards from its limit for β → 0; each round is a larger C or the same."""
    constant, before = 100.0, 0.0
    while constant - before > 1e-12 * constant:
        before = constant
        log_look = math.log(math.log2(3 * constant * base) + ahead)
        p = 18 * max(2.0, (base + squared + 2 * log_look) / base)
        q = 48 * (base + single + log_look) / base
        constant = 8 * q**2 / (4 * q - p)
    return constant
