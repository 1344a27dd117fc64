"""Checks for a custom algorithm, in the manner of scikit-learn's ``check_estimator``.

`check_algorithm` runs it on every kind of instance, compares its accelerators with its plain
program, its mean regret with its bound, and audits its declared privacy.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._engine.acceleration import REFERENCE, accelerators
from dpbandits._validation import check_kind
from dpbandits.auditing import Audit, audit
from dpbandits.auditing.verdicts import NOT_FOUND, NOTHING_DECLARED
from dpbandits.configuration import Fraction, checked_arguments, whole
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.regret.simulation import simulate
from dpbandits.rewards import instances
from dpbandits.rewards.laws import TwoPointLaw, UniformLaw

__all__ = ["AlgorithmCheckError", "AlgorithmChecks", "check_algorithm"]

MEANS = (0.8, 0.5, 0.2)
"""Means of the arms of all instances except the bounded one."""

_Check = Callable[[RegretAlgorithm, int, int, int, float], str]


class AlgorithmCheckError(AssertionError):
    """An algorithm violates the package's assumptions, or its own declarations.

    Examples
    --------
    >>> raise AlgorithmCheckError("mine: the same seed gave other runs")
    Traceback (most recent call last):
    dpbandits.testing.AlgorithmCheckError: mine: the same seed gave other runs
    """


@dataclass(frozen=True)
class AlgorithmChecks:
    """Passed checks of an algorithm.

    Attributes
    ----------
    label : str
        Name of the algorithm.
    passed : tuple of (str, str)
        Each check, and its observation.
    audit : Audit or None
        The audit of its declared privacy; None if it declares none.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> checks = check_algorithm(dpb.DPSE(epsilon=2.0), horizon=500, n_runs=50, audit_runs=2000)
    >>> checks.audit.verdict
    'no violation found'
    """

    label: str
    passed: tuple[tuple[str, str], ...]
    audit: Audit | None

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.passed)
        lines = [f"{name:{width}}  {seen}" for name, seen in self.passed]
        audited = [] if self.audit is None else [str(self.audit)]
        return "\n".join([f"{self.label}: all checks passed", *lines, *audited])


@checked_arguments
def check_algorithm(
    algorithm: RegretAlgorithm,
    *,
    horizon: Annotated[int, whole(10)] = 2000,
    n_runs: Annotated[int, whole(10)] = 400,
    audit_runs: Annotated[int, whole(16)] = 20_000,
    seed: Annotated[int, whole(0)] = 0,
    failure: Fraction = 1e-6,
) -> AlgorithmChecks:
    """Check a regret algorithm: the package's assumptions, and the algorithm's declarations.

    The checks are: it can be copied to a worker process; it plays arms with rewards of 0 and 1,
    with rewards in between, a table and a function, also for as few pulls as there are arms; the
    same seed gives the same runs, whatever the checkpoints; each of its accelerators has the plain
    program's distribution; its mean regret is at most its bound; and the auditor finds no violation
    of its guarantee. Algorithms for heavy tails do not accept these instances.

    Parameters
    ----------
    algorithm : RegretAlgorithm
        The algorithm, configured; small ε and short phases make an audit sharper.
    horizon : int
        Horizon T of the compared runs, at least 10.
    n_runs : int
        Runs of the plain program, and of each accelerator, at least 10.
    audit_runs : int
        Runs of the audit on each table, at least 16.
    seed : int
        Entropy of the root seed.
    failure : float
        Probability, in (0, 1), with which each statistical check may fail for a correct algorithm:
        a comparison of distributions, one of mean and bound, the audit.

    Returns
    -------
    AlgorithmChecks
        The passed checks; it prints as a list, and the audit with its coverage and power.

    Raises
    ------
    AlgorithmCheckError
        At the first failed check: the message contains the algorithm and the observation.

    Notes
    -----
    Passing all checks proves neither the guarantee nor the bound. Two distributions are compared by
    the pulls of the best arm at the horizon: the largest difference of their empirical distribution
    functions is at most √(2·log(4/failure)/n_runs), by the Dvoretzky–Kiefer–Wolfowitz–Massart
    inequality for each. Smaller differences go unnoticed.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> print(check_algorithm(dpb.UCB(), horizon=300, n_runs=20))  # doctest: +ELLIPSIS
    UCB: all checks passed
    copies        equal after pickling
    instances     played Bernoulli, bounded, table, function
    short runs    3 pulls of 3 arms, and one
    seeds         the same with the same seed, looked at once or 20 times
    accelerators  skipping, pull by pull, many arms: the plain law, within 1
    ...
    """
    check_kind("algorithm", algorithm, RegretAlgorithm, "MyAlgorithm(epsilon=1.0)")
    passed = [
        (name, check(algorithm, horizon, n_runs, seed, failure)) for name, check in _CHECKS.items()
    ]
    found = _audited(algorithm, audit_runs, seed, failure)
    return AlgorithmChecks(algorithm.label, tuple(passed), found)


def _fail(algorithm: RegretAlgorithm, said: str) -> AlgorithmCheckError:
    return AlgorithmCheckError(f"{algorithm.label}: {said}")


def _arms() -> instances.BernoulliInstance:
    return instances.bernoulli(MEANS)


def _copies(algorithm: RegretAlgorithm, *_: Any) -> str:
    """Copy it by pickling, as for workers."""
    try:
        copy = pickle.loads(pickle.dumps(algorithm))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _fail(algorithm, f"cannot be sent to a worker process: {error}") from error
    try:
        same = copy == algorithm and hash(copy) == hash(algorithm)
    except TypeError:  # a dataclass that is not frozen is not hashable
        same = False
    if not same:
        raise _fail(algorithm, "a copy differs; allowed: a frozen dataclass")
    return "equal after pickling"


def _kinds(horizon: int) -> Iterator[tuple[str, Any]]:
    """Yield a fresh instance of each kind: tables and functions are consumed."""
    yield "Bernoulli", _arms()
    yield "bounded", instances.bounded([UniformLaw(1.0, 0.4, 1.0), TwoPointLaw(1.0, 0.0, 0.9, 0.5)])
    rows = np.random.default_rng(0).random((len(MEANS), horizon))
    yield "table", instances.table(rows)
    yield "function", instances.callback(lambda arm: MEANS[arm], n_arms=len(MEANS))


def _played(algorithm: RegretAlgorithm, horizon: int, _: int, seed: int, failure: float) -> str:
    """Play each kind of instance; the base class counts the pulls."""
    names = []
    for name, instance in _kinds(horizon):
        try:
            simulate(algorithm, instance, horizon, 1, seed=seed)
        except Exception as error:
            raise _fail(algorithm, f"does not play on a {name} instance: {error}") from error
        names.append(name)
    return f"played {', '.join(names)}"


def _short(algorithm: RegretAlgorithm, *_: Any) -> str:
    """Play as many pulls as there are arms, and stop after one."""
    arms, n_arms = _arms(), len(MEANS)
    for n_pulls in (1, n_arms):
        try:
            algorithm.draw(arms, n_arms, np.array([n_pulls]), np.random.default_rng(0))
        except Exception as error:
            raise _fail(
                algorithm, f"fails at a horizon of {n_arms}, ended after {n_pulls}: {error!r}"
            ) from error
    return f"{n_arms} pulls of {n_arms} arms, and one"


def _repeated(algorithm: RegretAlgorithm, horizon: int, _: int, seed: int, failure: float) -> str:
    """Play with one seed, twice with the same checkpoints and once with more."""
    often = np.unique(np.geomspace(1, horizon, 20).astype(np.int64))

    def pulls(times: Any) -> Any:
        runs = simulate(algorithm, _arms(), horizon, 3, seed=seed, how=REFERENCE, checkpoints=times)
        return runs.pulls

    first = pulls([horizon])
    if not np.array_equal(first, pulls([horizon])):
        raise _fail(algorithm, "the same seed gave other runs; allowed: no randomness but rng's")
    if not np.array_equal(first, pulls(often)):
        raise _fail(algorithm, "runs depend on when somebody looks; allowed: ask rewards alone")
    return "the same with the same seed, looked at once or 20 times"


def _distance(one: Floats, other: Floats) -> float:
    """Return the largest difference of two empirical distribution functions."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(x), points, "right") / x.size for x in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _accelerated(
    algorithm: RegretAlgorithm, horizon: int, n_runs: int, seed: int, failure: float
) -> str:
    """Compare each accelerator with the plain program."""
    arms = _arms()
    source = type(arms.rewards(np.random.default_rng(0)))
    found = accelerators(type(algorithm), source)
    names = [each.name for each in found if each.fits is None or each.fits(algorithm)]
    if not names:
        return "none is entered"

    def best(how: str, seed: int) -> Floats:
        runs = simulate(algorithm, arms, horizon, n_runs, seed=seed, how=how)
        return np.asarray(runs.pulls[:, 0], dtype=np.float64)

    plain, allowed = best(REFERENCE, seed), math.sqrt(2 * math.log(4 / failure) / n_runs)
    for name in names:
        distance = _distance(plain, best(name, seed + 1))
        if distance > allowed:
            raise _fail(
                algorithm,
                f"the accelerator {name!r} has another law than play: distribution functions of "
                f"the pulls of the best arm differ by {distance:.3g}; allowed: {allowed:.3g}",
            )
    return f"{', '.join(names)}: the plain law, within {min(allowed, 1.0):.2g}"


def _bounded(
    algorithm: RegretAlgorithm, horizon: int, n_runs: int, seed: int, failure: float
) -> str:
    """Compare the mean regret with the bound by Hoeffding, as regret is between 0 and T·Δ."""
    arms = _arms()
    bound = float(np.asarray(algorithm.regret_bound(arms, horizon)))
    if bound == math.inf:
        return "none is known"
    if not bound >= 0:
        raise _fail(algorithm, f"the bound on the regret is {bound}; allowed: 0 or more, or inf")
    mean = float(simulate(algorithm, arms, horizon, n_runs, seed=seed).mean()[-1])
    slack = horizon * float(arms.gaps.max()) * math.sqrt(math.log(1 / failure) / (2 * n_runs))
    if mean > bound + slack:
        raise _fail(
            algorithm,
            f"the mean regret of {n_runs} runs, {mean:.4g}, is above the bound of {bound:.4g} by "
            f"more than chance explains ({slack:.4g})",
        )
    return f"mean {mean:.4g}, bound {bound:.4g}"


def _audited(algorithm: RegretAlgorithm, n_runs: int, seed: int, failure: float) -> Audit | None:
    """Audit the declared guarantee."""
    if not algorithm.guarantee.is_private:
        return None
    subject: Any = algorithm
    found = audit(subject, n_runs=n_runs, seed=seed, failure=failure)
    if found.verdict not in (NOT_FOUND, NOTHING_DECLARED):
        raise _fail(algorithm, str(found))
    return found


_CHECKS: dict[str, _Check] = {
    "copies": _copies,
    "instances": _played,
    "short runs": _short,
    "seeds": _repeated,
    "accelerators": _accelerated,
    "regret": _bounded,
}
