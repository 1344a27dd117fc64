"""A private sequential probability ratio test, which looks after every sample: DP-SPRT.

Two simple hypotheses about a share of success; samples have outcomes 0 and 1, or are pairs of
patients, one of each arm. With S_n the sum of n samples (for pairs: of treatment minus control),
one Z ~ Lap(2/ε) and a fresh Y_n ~ Lap(4/ε) at each n, the test stops at the first n with

    S_n + Y_n ≥ λn + a_n + Z    for the alternative, or
    S_n + Y_n ≤ λn − b_n − Z    for the null hypothesis,

where a_n and b_n are one of three boundaries. Given Z, the sums on continuing tests are carried
from look to look; so the law of stop and decision is one integral over Z.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Rng
from dpbandits._engine.kernels import kernel
from dpbandits._validation import check_kind, check_noise, check_values, shown
from dpbandits.configuration import (
    Budget,
    Configuration,
    Flag,
    Fraction,
    NonNegative,
    Positive,
    checked_arguments,
    whole,
)
from dpbandits.guarantees import NO_PRIVACY, Guaranteed, PrivacyGuarantee
from dpbandits.mechanisms import laplace
from dpbandits.rewards.tables import Tables

__all__ = ["DECISIONS", "DPSPRT", "SPRTLaw", "SPRTRun", "calibrated_sprt"]

Allowance = Literal["printed", "union", "constant"]
"""Names of the boundaries: as printed, by a sharper union bound, and two given constants."""
DECISIONS = ("alternative", "null", "none")
"""Decisions of a test; none if the last sample is reached first."""
_ORDER = 1.134  # of the union bound over looks, as in the authors' package
_TABLE = 2**16  # most powers of e^(−1/scale) in memory
_FAR = 40.0  # scales beyond which a Laplace tail is dropped
_LEAST = 1e-18  # probability below which a sum at either end of the lattice is dropped
_EDGES = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 17.0, 26.0])  # of the panels for Z, in its scales
_BLOCK = 64  # samples whose limits the plain program computes at once
_NODES = 8  # in each panel


class _Steps(NamedTuple):
    """A sample as a step on whole numbers: its law on `first`, `first` + 1, and so on."""

    law: tuple[float, ...]
    first: int

    def log_mean_exp(self, t: float) -> float:
        """Return log E exp(tX)."""
        places = range(self.first, self.first + len(self.law))
        return math.log1p(sum(p * math.expm1(t * x) for p, x in zip(self.law, places, strict=True)))


def _steps(treatment: float, control: float, paired: bool) -> _Steps:
    """Return the law of one sample."""
    if not paired:
        return _Steps((1.0 - treatment, treatment), 0)
    worse, better = (1.0 - treatment) * control, treatment * (1.0 - control)
    return _Steps((worse, 1.0 - worse - better, better), -1)


@cache
def _tilt(null: float, alternative: float, paired: bool) -> tuple[float, float]:
    """Return slope λ and exponent θ > 0 with E exp(θ(X − λ)) = 1 and E exp(−θ(X − λ)) = 1.

    The first mean is that of the null hypothesis, the second that of the alternative.
    """
    from scipy import optimize  # slow to import, used only here

    if not paired:
        free = math.log1p(-null) - math.log1p(-alternative)
        exponent = math.log(alternative) - math.log(null) + free
        return free / exponent, exponent
    one, other = _steps(null, null, True), _steps(alternative, null, True)

    def excess(t: float) -> float:
        return (one.log_mean_exp(t) + other.log_mean_exp(-t)) / t

    high = 1.0
    while excess(high) <= 0.0:
        high *= 2.0
    exponent = float(optimize.brentq(excess, 1e-9 * high, high, xtol=1e-15, rtol=1e-14))
    return one.log_mean_exp(exponent) / exponent, exponent


@cache
def _zeta(order: float) -> float:
    from scipy import special  # slow to import, used only here

    return float(special.zeta(order))


# ------------------------------------------------------------------------------------ the lattice


@kernel
def _below_kernel(x: float, scale: float) -> float:
    """Return the probability that Lap(scale) is at most x, dropping far tails."""
    if scale == 0.0:
        return 1.0 if x >= 0.0 else 0.0
    y = x / scale
    if abs(y) >= 40.0:
        return 1.0 if y > 0.0 else 0.0
    return 0.5 * math.exp(y) if y < 0.0 else 1.0 - 0.5 * math.exp(-y)


@kernel
def _carry_kernel(
    steps: Floats,
    upper: Floats,
    lower: Floats,
    nodes: Floats,
    weights: Floats,
    scale: float,
    powers: Floats,
    found: Floats,
) -> None:
    """Add the probabilities of both decisions at each look to `found`, for all nodes of Z.

    Sums are counted from 0 on, in steps 0, …, m. Where |x| < K, exp(−|x|/scale) is one of the K
    `powers` times a factor of the look.
    """
    m, n = steps.size - 1, upper.size
    law = np.zeros(m * n + 1)
    for i in range(nodes.size):
        law[:] = 0.0
        law[0] = 1.0
        low, high = 0, 0
        for k in range(n):
            high += m
            for w in range(high, low - 1, -1):
                total = 0.0
                for step in range(min(m, w - low) + 1):
                    total += steps[step] * law[w - step]
                law[w] = total
            top = upper[k] + nodes[i]
            bottom = min(lower[k] - nodes[i], top)
            near = bottom > -1e15 and top < 1e15 and scale > 0.0
            t, b = (math.floor(top), math.floor(bottom)) if near else (0.0, 0.0)
            t_above = b_above = t_below = b_below = 1.0
            if near:
                t_above, t_below = math.exp((top - t) / scale), math.exp((t - top) / scale)
                b_above, b_below = math.exp((bottom - b) / scale), math.exp((b - bottom) / scale)
            yes, no, left = 0.0, 0.0, 0.0
            for w in range(low, high + 1):
                q = law[w]
                if q == 0.0:
                    continue
                over, under = int(w - t), int(w - b)
                if near and abs(over) < powers.size:
                    if over > 0:
                        up = 1.0 - 0.5 * powers[over] * t_above
                    else:
                        up = 0.5 * powers[-over] * t_below
                else:
                    up = _below_kernel(w - top, scale)
                if near and abs(under) < powers.size:
                    if under > 0:
                        down = 0.5 * powers[under] * b_above
                    else:
                        down = 1.0 - 0.5 * powers[-under] * b_below
                else:
                    down = _below_kernel(bottom - w, scale)
                yes += q * up
                no += q * down
                q *= max(0.0, 1.0 - up - down)
                law[w] = q
                left += q
            found[0, k] += weights[i] * yes
            found[1, k] += weights[i] * no
            if left < 1e-14:
                break
            while low < high and law[low] < 1e-18:
                law[low] = 0.0
                low += 1
            while high > low and law[high] < 1e-18:
                law[high] = 0.0
                high -= 1


def _quadrature(scale: float, kinks: Floats, nodes: int = _NODES) -> tuple[Floats, Floats]:
    """Return nodes and weights of Lap(scale), in panels between 0, `_EDGES` and given kinks."""
    if scale == 0.0:
        return np.zeros(1), np.ones(1)
    u, w = np.polynomial.legendre.leggauss(nodes)
    ends = np.concatenate([-_EDGES[::-1], [0.0], _EDGES, kinks / scale])
    ends = np.unique(ends[np.abs(ends) <= _EDGES[-1]])
    half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    x = (middle[:, None] + half[:, None] * u).ravel()
    weights: Floats = (half[:, None] * w).ravel() * 0.5 * np.exp(-np.abs(x))
    return scale * x, weights / weights.sum()


# --------------------------------------------------------------------------------------- the test


class SPRTRun(NamedTuple):
    """The decision of one test.

    Attributes
    ----------
    decision : str
        "alternative", "null", or "none" if the last sample came first.
    samples : int
        Number n of samples used: outcomes, or pairs of them.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPSPRT(null=0.3, alternative=0.7, epsilon=float("inf"))
    >>> rule.run([1] * 10)
    SPRTRun(decision='alternative', samples=4)
    """

    decision: str
    samples: int


class SPRTLaw(NamedTuple):
    """Distribution of stop and decision of a test, for given shares of success.

    Attributes
    ----------
    design : DPSPRT
        The test.
    alternative : numpy.ndarray of float, shape (N,)
        Probability of a stop at n = 1, …, N samples that decides for the alternative.
    null : numpy.ndarray of float, shape (N,)
        Of one that decides for the null hypothesis.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> law = dpb.DPSPRT(null=0.3, alternative=0.7, epsilon=1.0).law(0.7)
    >>> law.found > 0.999, 200 < law.samples < 400
    (True, True)
    """

    design: DPSPRT
    alternative: Floats
    null: Floats

    @property
    def found(self) -> float:
        """Probability of a decision for the alternative."""
        return math.fsum(self.alternative)

    @property
    def kept(self) -> float:
        """Probability of a decision for the null hypothesis."""
        return math.fsum(self.null)

    @property
    def undecided(self) -> float:
        """Probability that there is no decision by the last sample."""
        return max(0.0, 1.0 - self.found - self.kept)

    @property
    def samples(self) -> float:
        """Mean number of samples."""
        n = np.arange(1, self.null.size + 1)
        stopped = float(n @ (self.alternative + self.null))
        return stopped + self.undecided * self.design.most

    @property
    def patients(self) -> float:
        """Mean number of patients: one or two a sample."""
        return (2 if self.design.paired else 1) * self.samples


@dataclass(frozen=True)
class DPSPRT(Guaranteed, Configuration):
    """A private test of two simple hypotheses, which looks after every sample (DP-SPRT).

    Michel, Basu and Kaufmann (AISTATS 2026). Let S_n be the sum of n samples, and λ and θ the slope
    and exponent for which exp(θ(S_n − λn)) is a martingale under the null hypothesis and
    exp(−θ(S_n − λn)) one under the alternative. With one Z ~ Lap(2/ε), and Y_n ~ Lap(4/ε) for each
    n, the test decides for the alternative at the first n with S_n + Y_n ≥ λn + a_n + Z, and for
    the null hypothesis at the first with S_n + Y_n ≤ λn − b_n − Z; if both hold, for the
    alternative. With γ = max(½, 1 − 1/ε), a_n = log(1/(γα))/θ + f·C_n(α) and b_n = log(1/(γβ))/θ +
    f·C_n(β), where f is `factor` and, with s = 1.134,

    - "printed": C_n(δ) = (6/ε)·log(max(2, ε)·n^s·ζ(s)/δ);
    - "union": P(Y_n − Z > C_n(δ)) = (1 − γ)δ/(n^s·ζ(s)), by the exact tail of Y_n − Z;
    - "constant": a_n and b_n are the numbers `upper` and `lower` (see `calibrated_sprt`).

    Only the decision and the number of samples are released. The first two boundaries with a factor
    of at least 1 have proved errors; the noise, and so privacy, is the same for all. Privacy:
    :prf:ref:`thm-sprt-private`; errors: :prf:ref:`thm-sprt-errors`.

    Deviations from the authors' package, as the paper was not read: pairs of patients, the last two
    boundaries, and a last sample.

    Attributes
    ----------
    null : float
        Share of success μ₀ under the null hypothesis, in (0, 1); for pairs that of both arms.
    alternative : float
        Share μ₁ > μ₀ under the alternative; for pairs that of the treatment, the control's being
        μ₀.
    alpha : float
        Probability α of an error under the null hypothesis, in (0, 1).
    beta : float
        Probability β of an error under the alternative, in (0, 1).
    epsilon : float
        Privacy budget ε > 0 of each patient's outcome; ``inf`` is Wald's test, without noise.
    paired : bool
        Whether a sample is a pair of outcomes, of treatment and control; it counts as their
        difference.
    boundary : {"printed", "union", "constant"}
        Name of the boundary.
    factor : float
        Factor f ≥ 0 of the allowance for noise. Below 1 the errors are not proved.
    upper, lower : float, optional
        The constants a and b > 0, in units of the sum, for "constant" alone.
    most : int
        Number of samples after which the test ends without a decision, at most 10⁶.

    Raises
    ------
    ValueError
        If the shares are not in order, or constants are missing or superfluous.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> rule = dpb.DPSPRT(null=0.3, alternative=0.7, epsilon=1.0)
    >>> rule.law(0.3).found < 0.001, str(rule.guarantee)
    (True, 'ε = 1, central, event level')
    """

    null: Fraction
    alternative: Fraction
    alpha: Fraction = 0.05
    beta: Fraction = 0.05
    epsilon: Budget = math.inf
    paired: Flag = False
    boundary: Allowance = "printed"
    factor: NonNegative = 1.0
    upper: Positive | None = None
    lower: Positive | None = None
    most: Annotated[int, whole(1, 10**6)] = 10_000

    def __post_init__(self) -> None:
        """Check every field, and some against others."""
        super().__post_init__()
        if self.alternative <= self.null:
            raise ValueError(
                f"alternative={self.alternative!r} is not above null={self.null!r}; allowed: a "
                "greater share"
            )
        for name in ("upper", "lower"):
            value = getattr(self, name)
            if (value is None) == (self.boundary == "constant"):
                allowed = "a number" if value is None else "None"
                raise ValueError(
                    f"{name}={value!r} with boundary={self.boundary!r}; allowed: {allowed}"
                )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Promised privacy of the decision and the number of samples."""
        return PrivacyGuarantee("central", self.epsilon) if self.epsilon < math.inf else NO_PRIVACY

    @property
    def tables(self) -> Tables:
        """Tables of outcomes in [0, 1]: one arm, or the treatment and then the control."""
        return Tables(n_arms=1 + self.paired, least=2, most=self.most)

    @property
    def slope(self) -> float:
        """The slope λ, in units of the sum."""
        return _tilt(self.null, self.alternative, self.paired)[0]

    @property
    def exponent(self) -> float:
        """The exponent θ; for single outcomes the difference of the natural parameters."""
        return _tilt(self.null, self.alternative, self.paired)[1]

    @property
    def threshold_scale(self) -> float:
        """Scale 2/ε of Z."""
        return 2.0 / self.epsilon

    @property
    def query_scale(self) -> float:
        """Scale 4/ε of each Y."""
        return 4.0 / self.epsilon

    def limits(self, n: Any) -> tuple[Floats, Floats]:
        """Return both limits of S_n + Y_n when Z is 0.

        Parameters
        ----------
        n : array_like of int
            Numbers of samples, from 1.

        Returns
        -------
        upper : numpy.ndarray of float
            λn + a_n: the test decides for the alternative from there on.
        lower : numpy.ndarray of float
            λn − b_n: for the null hypothesis up to there.

        Raises
        ------
        ValueError
            If a number is out of range.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> upper, lower = dpb.DPSPRT(0.3, 0.7, epsilon=1.0, boundary="union").limits([1, 100])
        >>> upper.round(1).tolist(), lower.round(1).tolist()
        ([24.1, 94.5], [-23.1, 5.5])
        """
        return self._limits(check_values("n", n, 1, self.most))

    def _limits(self, n: Floats) -> tuple[Floats, Floats]:
        line = self.slope * n
        return line + self._allowed(n, self.alpha, self.upper), line - self._allowed(
            n, self.beta, self.lower
        )

    def _allowed(self, n: Floats, error: float, constant: float | None) -> Floats:
        """Return a_n or b_n."""
        if constant is not None:
            return np.full(np.shape(n), constant)
        share = max(0.5, 1.0 - 1.0 / self.epsilon)
        wald = -math.log(share * error) / self.exponent
        if math.isinf(self.epsilon):
            return np.full(np.shape(n), wald)
        logs = math.log(max(2.0, self.epsilon) * _zeta(_ORDER) / error) + _ORDER * np.log(n)
        if self.boundary == "printed":
            noise = 1.5 * logs
        else:  # P(Y − Z > t) = (2/3)·x − x²/6 with x = e^(−t/scale of Y)
            p = np.exp(-logs)
            noise = np.log(2.0 + np.sqrt(4.0 - 6.0 * p)) - math.log(6.0) + logs
        found: Floats = wald + self.factor * self.query_scale * noise
        return found

    def run(self, outcomes: Iterable[Any], rng: Rng | None = None) -> SPRTRun:
        """Run the test: read outcomes one by one until it stops.

        Parameters
        ----------
        outcomes : iterable of float, or of (float, float)
            Outcomes in [0, 1]; for pairs that of the treatment and that of the control. Read one
            sample at a time, so that it may wait for patients.
        rng : numpy.random.Generator, optional
            Source of the noise, for rehearsals; by default the operating system's secure generator.

        Returns
        -------
        SPRTRun
            Decision and number of samples; none if the outcomes end first.

        Raises
        ------
        ValueError
            If an outcome is not in [0, 1].

        Examples
        --------
        >>> import dpbandits as dpb
        >>> import numpy as np
        >>> rule = dpb.DPSPRT(null=0.5, alternative=0.9, epsilon=2.0, paired=True)
        >>> rule.run([(1, 0)] * 100, np.random.default_rng(0)).decision
        'alternative'
        """
        rng = check_noise("rng", rng)
        shared, total, n = laplace(rng, self.threshold_scale), 0.0, 0
        for outcome, (upper, lower) in zip(outcomes, self._in_order(), strict=False):
            total += self._step(outcome)
            noisy = total + laplace(rng, self.query_scale)
            n += 1
            if noisy >= upper + shared:
                return SPRTRun("alternative", n)
            if noisy <= lower - shared:
                return SPRTRun("null", n)
            if n == self.most:
                break
        return SPRTRun("none", n)

    def _in_order(self) -> Iterator[tuple[float, float]]:
        """Yield the limits at n = 1, 2, …, a block at a time."""
        for first in range(0, self.most, _BLOCK):
            upper, lower = self._limits(np.arange(first + 1.0, first + _BLOCK + 1.0))
            yield from zip(upper.tolist(), lower.tolist(), strict=True)

    def _step(self, outcome: Any) -> float:
        """Return what a sample adds to the sum."""
        if not self.paired and type(outcome) is float and 0.0 <= outcome <= 1.0:
            return outcome
        values = check_values("outcomes", outcome, 0.0, 1.0)
        if values.shape != ((2,) if self.paired else ()):
            allowed = "pairs of numbers" if self.paired else "numbers"
            raise ValueError(f"outcomes has {shown(outcome)}; allowed: {allowed}")
        return float(values[0] - values[1]) if self.paired else float(values)

    @checked_arguments
    def law(self, treatment: Fraction, control: Fraction | None = None) -> SPRTLaw:
        """Return the distribution of stop and decision, for given shares of success.

        The shares may be others than those of the hypotheses. Given Z the sums are whole numbers,
        and their probabilities are carried from look to look; the integral over Z is a quadrature.
        In the cases of the tests probabilities are within 10⁻⁶, and the mean number of samples
        within 10⁻⁵ of itself.

        Parameters
        ----------
        treatment : float
            Share of success, in (0, 1).
        control : float, optional
            For pairs, the share of the control; by default that of the hypotheses.

        Returns
        -------
        SPRTLaw
            Its probabilities.

        Raises
        ------
        ValueError
            If there is a control, but no pairs.

        Examples
        --------
        >>> import dpbandits as dpb
        >>> rule = dpb.DPSPRT(0.3, 0.7, epsilon=1.0, boundary="constant", upper=22, lower=22)
        >>> law = rule.law(0.3)
        >>> 0.04 < law.found < 0.06, law.undecided < 1e-9
        (True, True)
        """
        return self._law(treatment, control, _NODES)

    def _law(self, treatment: float, control: float | None, nodes: int) -> SPRTLaw:
        if control is not None and not self.paired:
            raise ValueError(f"control={control!r} is for pairs; allowed: None")
        step = _steps(treatment, self.null if control is None else control, self.paired)
        n = np.arange(1.0, self.most + 1.0)
        upper, lower = (each - step.first * n for each in self._limits(n))
        first = np.arange(len(step.law))  # sums at the first look, where kinks are largest
        kinks = np.concatenate([first - upper[0], lower[0] - first, 0.5 * (lower - upper)[:1]])
        at, weights = _quadrature(self.threshold_scale, kinks, nodes)
        scale, found = self.query_scale, np.zeros((2, self.most))
        size = 1 if scale == 0.0 else math.ceil(min(_FAR * scale, _TABLE - 2)) + 1
        powers = np.exp(-np.arange(size) / scale) if scale else np.ones(1)
        _carry_kernel(np.array(step.law), upper, lower, at, weights, scale, powers, found)
        return SPRTLaw(self, found[0], found[1])


# ------------------------------------------------------------------------------------- calibration


def calibrated_sprt(design: DPSPRT) -> DPSPRT:
    """Return a test with the two constants at which both errors are just below those asked for.

    Each of the two probabilities of error decreases with its own constant and increases with the
    other. They are solved for under the two simple hypotheses, by the exact law (`DPSPRT.law`).
    With a constant boundary nothing is proved by a union bound: the errors are computed. For
    single outcomes the errors are at most as large for every share beyond the hypotheses
    (:prf:ref:`thm-sprt-errors`).

    Parameters
    ----------
    design : DPSPRT
        Hypotheses, errors and budget; its boundary is not used.

    Returns
    -------
    DPSPRT
        The same test with a constant boundary. Errors are at most α and β, and above 99.9 % of
        them.

    Raises
    ------
    ValueError
        If no constants are found, as with few samples, or little privacy and coarse sums.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> printed = dpb.DPSPRT(0.3, 0.7, epsilon=1.0)
    >>> ours = calibrated_sprt(printed)
    >>> 0.04995 < ours.law(0.3).found <= 0.05, ours.law(0.3).samples < printed.law(0.3).samples / 4
    (True, True)
    """
    check_kind("design", design, DPSPRT, "DPSPRT(0.3, 0.7, epsilon=1.0)")
    wanted = np.log([design.alpha, design.beta]) - 5e-4
    start = design.query_scale + 1.0 / design.exponent
    sizes = start * np.maximum(-wanted - math.log(2.0), 0.5)

    def made(sizes: Floats) -> DPSPRT:
        upper, lower = sizes.tolist()
        return replace(design, boundary="constant", factor=1.0, upper=upper, lower=lower)

    def excess(sizes: Floats) -> Floats:
        rule = made(sizes)
        wrong = [rule.law(design.null).found, rule.law(design.alternative).kept]
        found: Floats = np.log(np.maximum(wrong, 1e-300)) - wanted
        return found

    off, slope = excess(sizes), -1.0 / start
    jacobian = np.diag([slope, slope])
    for _ in range(40):
        if np.abs(off).max() < 4e-4:
            return made(sizes)
        step = np.linalg.solve(jacobian, -off)
        step = np.clip(step, -0.5 * sizes, sizes)
        sizes = sizes + step
        new = excess(sizes)
        change = new - off - jacobian @ step
        jacobian = jacobian + np.outer(change, step) / (step @ step)
        off = new
    raise ValueError(
        f"design={design!r} has no constants with errors of alpha and beta; allowed: more samples, "
        "or a smaller budget"
    )
