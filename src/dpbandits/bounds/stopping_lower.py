"""Lower bounds on the samples of stopping rules, with the constants of their proofs.

The proofs stand in the chapter on private stopping rules. SS19 is Sajed & Sheffet (2019).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpbandits._validation import check_fraction, check_positive
from dpbandits.bounds.regret import group_privacy_factor
from dpbandits.bounds.stopping import check_error, check_mean
from dpbandits.rewards.laws import Law, TwoPointLaw

__all__ = [
    "dagum_rate",
    "private_stopping_lower_bound",
    "stopping_complexity_lower_bound",
    "stopping_lower_bound",
]


def dagum_rate(law: Law, alpha: float, beta: float) -> float:
    """Return max(σ², R·α|μ|)·log(1/β)/(α²μ²): Dagum et al. (2000), without its constant.

    As SS19, §3.1, quotes it. With log((1 − β)/β) in place of log(1/β), `stopping_lower_bound` is
    at least (1 − 2β)/23 of it.
    """
    size, half_range = _check_law(law)
    alpha, beta = check_fraction("alpha", alpha), check_fraction("beta", beta)
    check_error(alpha, size)
    error = alpha * size  # in units of R, as the variance
    return max(law.variance / half_range / half_range, error) / error**2 * math.log(1 / beta)


def stopping_lower_bound(law: Law, alpha: float, beta: float) -> float:
    """Bound from below the expected samples, on `law`, of any rule that is right on every law.

    (1 − 2β)·log((1 − β)/β)/K, K the least relative entropy KL(P, Q) from the law P to a law Q
    on [−R, R] whose mean has no (1 ± α)-approximation in common with μ (derived in the chapter;
    of the order of Dagum et al. 2000).

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α.
    beta : float
        Probability β < 1/2 of a greater error, which the rule keeps on every law on [−R, R]
        with a mean other than 0.

    Returns
    -------
    float

    Examples
    --------
    >>> from dpbandits.rewards.instances import low_variance, two_point
    >>> stopping_lower_bound(two_point(0.1), 0.5, 0.05) > 1000
    True
    >>> stopping_lower_bound(low_variance(0.1, 0.01), 0.5, 0.05) < 50
    True
    """
    size, _ = _check_law(law)
    alpha, beta = check_fraction("alpha", alpha), _below("beta", beta, 0.5)
    if alpha * size < 1e-10:  # the entropy would be lost in rounding
        raise ValueError(
            f"alpha={alpha!r} is out of range; allowed: at least {1e-10 / size:g} for this mean"
        )
    sign = math.copysign(1.0, law.mean)
    lower, upper = (1 - alpha) / (1 + alpha) * size, (1 + alpha) / (1 - alpha) * size
    costs = [_least_entropy(law, -sign, lower)]
    if upper < 1:
        costs.append(_least_entropy(law, sign, upper))
    return (1 - 2 * beta) * math.log((1 - beta) / beta) / min(costs)


@lru_cache(maxsize=1024)  # laws are frozen dataclasses: equal fields, equal laws
def _least_entropy(law: Law, direction: float, size: float) -> float:
    """Return inf KL(P, Q) over laws Q on [−R, R] whose mean is moved to `size` (in |μ|/R).

    The dual of Honda & Takemura (2010): max over 0 ≤ v ≤ 1/(1 − m) of E log(1 − v(X − m)), for
    a move up to m in units of R; a move down is a move up of −X.
    """
    target = math.copysign(1.0, law.mean) * size * direction
    scale = direction / law.half_range

    last = (1 - 1e-9) / (1 - target)  # at 1/(1 − m) itself the logarithm may be infinite

    def gain(log_v: float) -> float:
        v = last * math.exp(log_v)
        return law.expectation(lambda x: np.log1p(-v * (scale * x - target)))

    # the gain is concave in v, so that it has one peak in log v, near which it is flat
    from scipy.optimize import minimize_scalar  # slow to import

    found = minimize_scalar(
        lambda log_v: -gain(log_v), bounds=(-30.0, 0.0), method="bounded", options={"xatol": 1e-7}
    )
    return max(gain(found.x), gain(0.0))


def private_stopping_lower_bound(
    mean: float,
    alpha: float,
    beta: float,
    epsilon: float,
    half_range: float = 1.0,
    *,
    two_point: bool = False,
) -> float:
    """Bound from below the median samples of any ε-DP rule that is right on every law.

    log((1/2 − β)/β)/log(1 + d(e^ε − 1)): SS19, Theorem 3.4, with the sharp form of Lemma 3.5.
    d = 2α|μ|/((1 + α)(R + |μ|)) serves for **every** law of mean μ, whatever its variance; on
    the law on {−R, R} d = α|μ|/((1 + α)R), as in the paper (derived in the chapter).

    Parameters
    ----------
    mean : float
        Mean μ ≠ 0 of the samples.
    alpha : float
        Relative error α.
    beta : float
        Probability β < 1/4 of a greater error.
    epsilon : float
        Privacy budget ε; with ``inf`` the bound is 0.
    half_range : float
        R.
    two_point : bool
        Whether the law is that on {−R, R}.

    Returns
    -------
    float

    Examples
    --------
    >>> round(private_stopping_lower_bound(0.1, 0.5, 0.05, 0.1))
    346
    """
    rate = _privacy_rate(mean, alpha, beta, epsilon, half_range, two_point)
    return math.log((0.5 - beta) / beta) / rate


def _privacy_rate(
    mean: float, alpha: float, beta: float, epsilon: float, half_range: float, two_point: bool
) -> float:
    """Return log(1 + d(e^ε − 1)), by which a sample can change the log of a probability."""
    size, _ = check_mean(mean, half_range)
    alpha, beta = check_fraction("alpha", alpha), _below("beta", beta, 0.25)
    epsilon = check_positive("epsilon", epsilon, infinite=True)
    distance = alpha * size / (1 + alpha) * (1 if two_point else 2 / (1 + size))
    if epsilon <= 700:
        return float(group_privacy_factor(distance, epsilon))
    return float(np.logaddexp(0.0, math.log(distance) + epsilon))


def stopping_complexity_lower_bound(
    law: Law, alpha: float, beta: float, epsilon: ArrayLike = math.inf
) -> Any:
    """Bound from below the expected samples of any ε-DP rule on `law`: SS19, Corollary 3.6.

    The largest of `stopping_lower_bound`, half of `private_stopping_lower_bound`, and
    log(1/β)/(8·log(1 + d(e^ε − 1))), which serves for β near 1/4.

    Parameters
    ----------
    law : Law
        Law of the samples, of mean μ ≠ 0.
    alpha : float
        Relative error α.
    beta : float
        Probability β < 1/4 of a greater error.
    epsilon : float or list of float
        Privacy budget ε, or several; ``inf`` asks for no privacy.

    Returns
    -------
    float or numpy.ndarray, of the shape of `epsilon`

    Examples
    --------
    >>> from dpbandits.rewards.instances import two_point
    >>> round(stopping_complexity_lower_bound(two_point(0.1), 0.5, 0.05, epsilon=0.001))
    32942
    """
    _check_law(law)
    on_ends = isinstance(law, TwoPointLaw) and law.high == -law.low == law.half_range
    several = isinstance(epsilon, (list, tuple, np.ndarray))
    budgets: Any = epsilon if several else [epsilon]
    rates = np.array(
        [_privacy_rate(law.mean, alpha, beta, e, law.half_range, on_ends) for e in budgets]
    )
    private = max(math.log((0.5 - beta) / beta) / 2, math.log(1 / beta) / 8) / rates
    found = np.maximum(stopping_lower_bound(law, alpha, beta), private)
    return found if several else float(found[0])


def _check_law(law: Law) -> tuple[float, float]:
    """Return |μ|/R and R of a law."""
    if not isinstance(law, Law):
        raise ValueError(f"law={law!r} is no law; allowed: one such as two_point(0.1)")
    return check_mean(law.mean, law.half_range)


def _below(name: str, value: float, limit: float) -> float:
    number = check_fraction(name, value)
    if not number < limit:
        raise ValueError(f"{name}={value!r} is out of range; allowed: between 0 and {limit:g}")
    return number
