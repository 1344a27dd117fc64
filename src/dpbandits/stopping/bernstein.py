"""Private stopping that adapts to the variance: announce a width, take the samples, test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from dpbandits._arrays import Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import SMALLEST, check_range
from dpbandits.configuration import Budget, Flag, Fraction, Number, Positive, checked_arguments
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.rewards.tables import Tables
from dpbandits.stopping.base import Samples, StoppingRule, check_mean

__all__ = ["Constants", "DPBernsteinStop"]

BelowHalf = Annotated[
    float,
    partial(check_range, low=SMALLEST, high=math.nextafter(0.5, 0.0), allowed="between 0 and 1/2"),
]
"""Type of a probability below 1/2."""
TESTS = 1.2021
"""Upper bound on Σ 1/i³, which normalises the shares of β of the tests."""
STEP = 0.06
"""Decrease of log λ from one tried plan to the next."""
_SERIES = 1e-4  # below, ψ is a power series
_TINY = 1e-100  # replaces a standard error of 0: no noise, and a stream of zeros
_LEAST_EPSILON = 1e-30  # cubes of lengths stay finite


class Constants(NamedTuple):
    """Constants of the rule, in units of R.

    Attributes
    ----------
    alpha, beta : float
        The rule's α and β.
    mean_scale, square_scale : float
        Scales b₁ = 2/ε and b₂ = 4/ε of the noise of sums of X and of X².
    caution : float
        c: a mean is tested if it is at least so many standard errors from 0.

    Examples
    --------
    >>> constants = DPBernsteinStop(epsilon=0.5, alpha=0.5, beta=0.05).constants
    >>> constants.mean_scale, constants.square_scale, round(constants.caution, 3)
    (4.0, 8.0, 2.96)
    """

    alpha: float
    beta: float
    mean_scale: float
    square_scale: float
    caution: float


class Epoch(NamedTuple):
    """The next epoch, as announced: a pilot, or a test of a width.

    Attributes
    ----------
    size : float
        Number n of samples, an integer.
    width : float
        W, in units of R; 0 for a pilot.
    rate, psi : float
        λ, and ψ(λ) of a test by (V); ψ is 0 for one by (H).
    level : float
        t.

    Examples
    --------
    >>> constants = DPBernsteinStop(epsilon=0.5, alpha=0.5, beta=0.05).constants
    >>> first_epoch_kernel(constants).size, plan_kernel(constants, 0.25, 1.0, test=1).size < 300
    (16.0, True)
    """

    size: float
    width: float
    rate: float
    psi: float
    level: float


class Pool(NamedTuple):
    """All releases so far, pooled.

    Attributes
    ----------
    samples : float
        N.
    tests : int
        Number of tests.
    weight, cubes : float
        Σn² and Σn³ over the epochs.
    mean, square : float
        Σn²·m̃ and Σn²·q̃.

    Examples
    --------
    >>> constants = DPBernsteinStop(epsilon=0.5, alpha=0.5, beta=0.05).constants
    >>> pool = pooled_kernel(Pool(), first_epoch_kernel(constants), 0.5, 0.25)
    >>> pool.samples, pool.mean / pool.weight, next_epoch_kernel(constants, pool).width > 0
    (16.0, 0.5, False)
    """

    samples: float = 0.0
    tests: int = 0
    weight: float = 0.0
    cubes: float = 0.0
    mean: float = 0.0
    square: float = 0.0


@kernel
def psi_kernel(rate: float) -> float:
    """Return ψ(λ) = −log(1 − λ) − λ."""
    if rate < _SERIES:
        return rate**2 * (0.5 + rate / 3.0 + rate**2 / 4.0)
    return -math.log1p(-rate) - rate


@kernel
def log_tail_kernel(ratio: float) -> float:
    """Return log A(a) for A(a) = (2a/(1 + a))^a/(1 + a)."""
    if ratio == 0.0:
        return 0.0
    return ratio * math.log(2.0 * ratio / (1.0 + ratio)) - math.log1p(ratio)


@kernel
def _pilot(size: float) -> Epoch:
    """Return a pilot of `size` samples, rounded up."""
    return Epoch(float(np.ceil(size)), 0.0, 0.0, 0.0, 0.0)


@kernel
def _level(constants: Constants, bare: float) -> float:
    """Return t = t₀ + log(1 + e^(−2ηt₀)), which covers errors on both sides."""
    eta = min(constants.alpha, 1.0 / constants.alpha - 1.0)
    return bare + math.log1p(math.exp(-2.0 * eta * bare))


@kernel
def plan_kernel(constants: Constants, width: float, square: float, test: int) -> Epoch:
    """Return the shortest test of a width; it may be longer than the limit, or infinite."""
    shift = math.log(TESTS * float(test) ** 3) - math.log(constants.beta)  # log(1/d)
    largest = 0.98
    if constants.mean_scale > 0.0:
        largest = min(largest, 1.0 / constants.mean_scale)
    hoeffding = bernstein = Epoch(math.inf, width, 0.0, 0.0, 0.0)
    rate, last = largest, 0.5 * min(largest, width)
    while True:
        bare = shift + log_tail_kernel(rate * constants.mean_scale)
        gain = rate * width - 0.5 * rate**2
        level = _level(constants, bare)
        if gain * hoeffding.size > level:
            hoeffding = Epoch(level / gain, width, rate, 0.0, level)
        psi = psi_kernel(rate)
        noise = psi * constants.square_scale
        gain = rate * width - 1.1 * psi * square
        if noise < 1.0 and gain > 0.0:
            level = _level(constants, bare - math.log1p(-(noise**2)))
            if gain * bernstein.size > level + 3.0 * noise:
                size = (level + 3.0 * noise) / gain
                bernstein = Epoch(size, width, rate, psi, level)
        if rate <= last:
            return bernstein if bernstein.size < 0.9 * hoeffding.size else hoeffding
        rate *= math.exp(-STEP)


@kernel
def first_epoch_kernel(constants: Constants) -> Epoch:
    """Return the first epoch, a pilot of max(8, 4b₁/R) samples."""
    return _pilot(max(8.0, 4.0 * constants.mean_scale))


@kernel
def pooled_kernel(pool: Pool, epoch: Epoch, mean: float, square: float) -> Pool:
    """Add the releases of an epoch to the pool."""
    n = epoch.size
    return Pool(
        pool.samples + n,
        pool.tests + (1 if epoch.width > 0.0 else 0),
        pool.weight + n**2,
        pool.cubes + n**3,
        pool.mean + n**2 * mean,
        pool.square + n**2 * square,
    )


@kernel
def next_epoch_kernel(constants: Constants, pool: Pool) -> Epoch:
    """Plan the next epoch, from releases only: a test if it is affordable, otherwise a pilot."""
    n = pool.samples
    mean = abs(pool.mean) / pool.weight
    square = min(max(pool.square / pool.weight, 0.0), 1.0)
    variance = square * pool.cubes / pool.weight**2 + 2.0 * constants.mean_scale**2 / pool.weight
    error = max(math.sqrt(variance), _TINY)
    if mean >= constants.caution * error:
        width = constants.alpha * (mean - 0.5 * error) / (1.0 + 0.4 * constants.alpha)
        test = plan_kernel(constants, width, square, pool.tests + 1)
        size = max(test.size, 0.5 * n)
        if size <= 8.0 * n:
            return Epoch(float(np.ceil(size)), width, test.rate, test.psi, test.level)
        return _pilot(8.0 * n)
    goal = max(mean, error) / (1.3 * constants.caution)
    need = 1.0 / goal**2 - 1.0 / error**2
    size = 0.5 * need * (square + math.sqrt(square**2 + 8.0 * constants.mean_scale**2 / need))
    return _pilot(min(max(size, 0.5 * n), 8.0 * n))


@kernel
def passes_kernel(constants: Constants, epoch: Epoch, mean: float, square: float) -> bool:
    """Return whether an epoch was a test and its releases pass it."""
    if epoch.width == 0.0 or constants.alpha * abs(mean) < epoch.width:
        return False
    # for (H), where ψ is 0, the length suffices
    bound = epoch.level / epoch.size + epoch.psi * square
    return epoch.psi == 0.0 or bound <= epoch.rate * epoch.width


@dataclass(frozen=True)
class DPBernsteinStop(StoppingRule):
    """Private Bernstein stopping: announce a width, take the samples, test. Ours.

    Pseudo-code: :prf:ref:`alg-bernstein`.

    Each epoch takes n fresh samples and releases m̃ = X̄ + Lap(b₁)/n and q̃ = mean of X² + Lap(b₂)/n
    with b₁ = 2R/ε and b₂ = 4R²/ε: both together are ε-differentially private, since the second
    moment is free (:prf:ref:`lem-free-moment`). With N samples so far, Σ over all epochs, m̂ =
    |Σn²m̃|/Σn², q̂ = Σn²q̃/Σn² within [0, R²], ŝ² = q̂Σn³/(Σn²)² + 2b₁²/Σn² and c = √(log(4/β)/α):

    - while m̂ < cŝ, a *pilot* of n = ν(q̂ + √(q̂² + 8b₁²/ν))/2 samples, within [N/2, 8N], with
      ν = 1/g² − 1/ŝ² and g = max(m̂, ŝ)/(1.3c); the first is of max(8, 4b₁/R);
    - else *test* number i, with d = β/(1.2021·i³), of the width W = α(m̂ − ŝ/2)/(1 + 0.4α). Its n is
      the least over λ, from min(ε/2R, 0.98/R) down by factors e^−0.06 to half of the smaller of
      that and W/R², of (H) t/(λW − λ²R²/2) with t₀ = log(A(λb₁)/d) or, if it is below 0.9 of that,
      (V) (t + 3ψb₂)/(λW − 1.1ψq̂) with t₀ = log(A(λb₁)/(d(1 − ψ²b₂²))) and ψb₂ < 1; at least N/2,
      and if it is above 8N, a pilot of 8N comes first. Here A(a) = (2a/(1 + a))^a/(1 + a), t = t₀ +
      log(1 + e^(−2ηt₀)), η = min(α, 1/α − 1) and ψ = (−log(1 − λR) − λR)/R²;
    - a test halts if α|m̃| ≥ W and, by (V), t/n + ψq̃ ≤ λW, with sign(m̃)·(|m̃| − αW).

    ε-differentially private, (α, β)-correct, and, up to constants and a double logarithm, as short
    as max(q/(αμ)², R/(α|μ|), R/(εα|μ|))·log(1/β) with q = σ² + μ², the order of both lower bounds
    where μ² is at most of the order of σ²: see `dpbandits.bounds.bernstein_samples`. Proof:
    :prf:ref:`thm-bernstein-private`. SS19 has no such rule, but asks for one in §6.

    Parameters
    ----------
    epsilon : float
        Privacy budget ε of at least 10⁻³⁰; ``inf`` removes all noise and its allowance, which
        leaves a Bernstein rule without privacy.
    alpha : float
        Allowed relative error α in (0, 1).
    beta : float
        Probability β in (0, 1/2) of a larger error.
    half_range : float
        R > 0; the samples lie in [−R, R].
    variance : bool
        False: the second moment is not released, q̃ is replaced by R², and all tests are by (H):
        the same rule without the variance. All of ε is spent on the mean either way.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.laws.low_variance(0.01, 0.1)
    >>> rules = dpb.DPBernsteinStop(0.1, 0.5, 0.05), dpb.DPExponentialNAS(0.1, 0.5, 0.05)
    >>> few, many = (dpb.estimate(rule, law, n_runs=20).samples.mean() for rule in rules)
    >>> bool(40 * few < many)
    True
    """

    label: ClassVar[str] = "DP-Bernstein"
    source: ClassVar[str] = "ours; SS19, §6, asks for one"

    epsilon: Budget
    alpha: Fraction
    beta: BelowHalf
    half_range: Positive = 1.0
    variance: Flag = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < _LEAST_EPSILON:
            raise ValueError(
                f"epsilon={self.epsilon!r} is out of range; allowed: at least {_LEAST_EPSILON:g}"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        return PrivacyGuarantee("central", self.epsilon)

    @property
    def constants(self) -> Constants:
        """Constants of the rule, in units of R."""
        caution = math.sqrt(math.log(4.0 / self.beta) / self.alpha)
        return Constants(self.alpha, self.beta, 2.0 / self.epsilon, 4.0 / self.epsilon, caution)

    @property
    def tables(self) -> Tables:
        """Tables on which the rule halts at the end, with the largest rewards and no noise."""
        return replace(super().tables, least=self.noiseless_time(self.half_range))

    @checked_arguments
    def noiseless_time(self, mean: Number) -> int:
        """Return the halting time on a constant stream of `mean`, with all noise at zero.

        Parameters
        ----------
        mean : float
            μ ≠ 0 in [−R, R], at least 10⁻³⁰·R/α in absolute value.

        Returns
        -------
        int
            Number n of samples.
        """
        constants, pool = self.constants, Pool()
        size = check_mean(mean, self.alpha, self.half_range) / self.half_range
        square, epoch = size**2 if self.variance else 1.0, first_epoch_kernel(constants)
        while not passes_kernel(constants, epoch, size, square):
            pool = pooled_kernel(pool, epoch, size, square)
            epoch = next_epoch_kernel(constants, pool)
        return int(pool.samples + epoch.size)

    def stop(self, samples: Samples, rng: Rng) -> float:
        constants, unit = self.constants, self.half_range
        pool, epoch = Pool(), first_epoch_kernel(constants)
        while True:
            total = squares = 0.0
            for _ in range(int(epoch.size)):
                x = samples.next() / unit
                total, squares = total + x, squares + x * x
            mean, square = (total + laplace(rng, constants.mean_scale)) / epoch.size, 1.0
            if self.variance:
                square = (squares + laplace(rng, constants.square_scale)) / epoch.size
            # from here on only releases are used
            if passes_kernel(constants, epoch, mean, square):
                return math.copysign(unit * (abs(mean) - self.alpha * epoch.width), mean)
            pool = pooled_kernel(pool, epoch, mean, square)
            epoch = next_epoch_kernel(constants, pool)
