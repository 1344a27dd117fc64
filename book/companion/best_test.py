"""The most powerful private test of one proportion at one look, and what Laplace noise gives away.

Awan & Slavković (2018, 2020): release the number of successes with Tulap noise, a discrete Laplace
variable plus one uniform on [-1/2, 1/2], and reject from a threshold on. Proof:
:prf:ref:`thm-best-test`. All values are sums over the law of the count: nothing is simulated.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from dpbandits._arrays import Floats
from dpbandits.mechanisms import laplace_log_cdf

__all__ = ["OneLook", "laplace_noise_cdf", "least_patients", "one_look", "tulap_cdf"]

_MOST = 2**20  # patients at which the search gives up


def tulap_cdf(x: Floats | float, epsilon: float) -> Floats:
    """Return the distribution function of Tulap noise: for ε = ∞ it is uniform on [-1/2, 1/2].

    Parameters
    ----------
    x : float or numpy.ndarray of float
        Points.
    epsilon : float
        Privacy budget ε > 0; ``inf`` is allowed.

    Returns
    -------
    numpy.ndarray of float
        P(noise ≤ x).

    Examples
    --------
    >>> tulap_cdf(0.0, 1.0).item(), tulap_cdf(0.5, float("inf")).item()
    (0.5, 1.0)
    """
    q = math.exp(-epsilon)
    below = -np.abs(np.asarray(x, dtype=np.float64))  # the law is symmetric
    whole = np.floor(below + 0.5)  # of the uniform part that holds the point
    lower = q ** (-whole) * (q + (1.0 - q) * (below - whole + 0.5)) / (1.0 + q)
    return np.asarray(np.where(np.asarray(x) <= 0.0, lower, 1.0 - lower))


def laplace_noise_cdf(x: Floats | float, epsilon: float) -> Floats:
    """Return the distribution function of Laplace noise of scale 1/ε.

    Parameters
    ----------
    x : float or numpy.ndarray of float
        Points.
    epsilon : float
        Privacy budget ε, positive and finite.

    Returns
    -------
    numpy.ndarray of float
        P(noise ≤ x).

    Examples
    --------
    >>> laplace_noise_cdf(0.0, 1.0).item()
    0.5
    """
    found: Floats = np.exp(laplace_log_cdf(np.asarray(x, dtype=np.float64), 1.0 / epsilon))
    return found


@dataclass(frozen=True)
class OneLook:
    """A test of one proportion that rejects if the count plus noise is at least a threshold.

    Attributes
    ----------
    patients : int
        Patients n.
    threshold : float
        The threshold m.
    epsilon : float
        Privacy budget ε.
    cdf : callable
        Distribution function of the noise, which is symmetric, of a point and ε.

    Examples
    --------
    >>> test = OneLook(10, 5.0, 1.0)
    >>> round(test.rejects(0.5), 3)
    0.5
    """

    patients: int
    threshold: float
    epsilon: float
    cdf: Callable[[Floats, float], Floats] = tulap_cdf

    @property
    def chances(self) -> Floats:
        """Probability of a rejection at each count, from 0 to n."""
        return self.cdf(np.arange(self.patients + 1.0) - self.threshold, self.epsilon)

    def rejects(self, share: float) -> float:
        """Return the probability of a rejection at a share of successes."""
        law = binom.pmf(np.arange(self.patients + 1), self.patients, share)
        return float(law @ self.chances)


def one_look(
    patients: int,
    share: float,
    alpha: float,
    epsilon: float,
    cdf: Callable[[Floats, float], Floats] = tulap_cdf,
) -> OneLook:
    """Return the test that rejects with probability α, up to rounding, at a share of successes.

    Parameters
    ----------
    patients : int
        Patients n ≥ 1.
    share : float
        The share under the null hypothesis, in (0, 1).
    alpha : float
        Level α, in (0, 1).
    epsilon : float
        Privacy budget ε > 0.
    cdf : callable
        Distribution function of the noise, which is continuous.

    Returns
    -------
    OneLook
        The test.

    Examples
    --------
    >>> test = one_look(30, 0.5, 0.05, 1.0)
    >>> round(test.rejects(0.5), 6), test.rejects(0.8) > 0.8
    (0.05, True)
    """
    law = binom.pmf(np.arange(patients + 1), patients, share)

    def above(threshold: float) -> float:
        return float(law @ OneLook(patients, threshold, epsilon, cdf).chances) - alpha

    room = 1.0 + (60.0 - math.log(alpha)) / epsilon
    threshold = brentq(above, -room, patients + room, xtol=1e-12, rtol=1e-14)
    rounding = 1e-10 + 1e-13 * abs(threshold)  # up, to keep α
    return OneLook(patients, float(threshold) + rounding, epsilon, cdf)


def least_patients(
    null: float,
    share: float,
    alpha: float,
    beta: float,
    epsilon: float,
    cdf: Callable[[Floats, float], Floats] = tulap_cdf,
) -> OneLook:
    """Return the test with the fewest patients of level α and power 1 - β.

    A test can ignore a patient, so the power of the best test does not fall with n, and bisection
    finds its least n. Other ε-private noise needs no fewer, and is tried at each n from there on.

    Parameters
    ----------
    null : float
        The share under the null hypothesis, in (0, 1).
    share : float
        The share under the alternative, larger than `null`.
    alpha : float
        Level α, in (0, 1).
    beta : float
        Probability β of a missed effect, in (0, 1).
    epsilon : float
        Privacy budget ε > 0.
    cdf : callable
        Distribution function of the noise, with which a count is ε-private.

    Returns
    -------
    OneLook
        The test.

    Raises
    ------
    ValueError
        If more than 2^20 patients are needed.

    Examples
    --------
    >>> found = least_patients(0.5, 0.8, 0.05, 0.1, 1.0)
    >>> fewer = one_look(found.patients - 1, 0.5, 0.05, 1.0)
    >>> fewer.rejects(0.8) < 0.9 <= found.rejects(0.8)
    True
    """

    def suffices(patients: int, noise: Callable[[Floats, float], Floats]) -> bool:
        return one_look(patients, null, alpha, epsilon, noise).rejects(share) >= 1.0 - beta

    high = 1
    while not suffices(high, tulap_cdf):
        high *= 2
        if high > _MOST:
            raise ValueError(f"share={share!r} needs more than {_MOST} patients")
    patients = bisect_left(
        range(high), True, lo=high // 2 + 1, key=lambda n: suffices(n, tulap_cdf)
    )
    while not suffices(patients, cdf):
        patients += 1
    return one_look(patients, null, alpha, epsilon, cdf)
