"""The power of an audit: the least overstatement that it convicts.

An acquittal means only as much as the same audit can convict. So a program is run at c times the
declared budget, for increasing c, until it is convicted. The search at smaller c may have missed
the tables that convict it, so these are tried there as well, with fresh runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbandits._validation import check_positive, check_seed
from dpbandits.auditing.auditor import audit, audit_by_search
from dpbandits.auditing.verdicts import FAILURE, Audit
from dpbandits.guarantees import PrivacyGuarantee

__all__ = ["FACTORS", "Power", "overstated", "power"]

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Overstatements c to try."""


@dataclass(frozen=True, eq=False)
class Power:
    """Audits of one program at several overstatements of its budget.

    Attributes
    ----------
    declared : PrivacyGuarantee
        The guarantee declared in all of them.
    audits : dict of float to Audit
        Overstatement c → audit of the program run at c times the budget, in increasing order.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = power(dpb.mechanisms.LogarithmicCounter(1.0), (1.0, 3.0), n_runs=4000)
    >>> found.least, found.audits[1.0].verdict, 0.5 < found.tightness <= 1.1
    (3.0, 'no violation found', True)
    """

    declared: PrivacyGuarantee
    audits: dict[float, Audit]

    @property
    def least(self) -> float:
        """Least convicted overstatement; infinite if there is none."""
        return min((c for c, found in self.audits.items() if found.convicted), default=math.inf)

    @property
    def decisive(self) -> Audit:
        """The audit at the least convicted overstatement, or at the largest tried."""
        return self.audits[self.least if self.least < math.inf else max(self.audits)]

    @property
    def tightness(self) -> float:
        """Its bound over the estimated loss of its outputs; nan if there is no estimate."""
        found = self.decisive
        return found.epsilon_lower / found.loss if found.loss > 0.0 else math.nan

    def __str__(self) -> str:
        found, tight = self.decisive, f"the actions lose about {self.decisive.loss:.2f}"
        if self.least == math.inf:
            return f"{found.label}: no power below {max(self.audits):g}; {tight}"
        return (
            f"{found.label}: convicted from {self.least:g} on, "
            f"ε ≥ {found.epsilon_lower:.3f}; {tight}"
        )


def overstated(target: Any, factor: float) -> Any:
    """Return a configuration with c times the budget.

    Parameters
    ----------
    target : object
        A frozen configuration with a field `epsilon`, or with a field `base` that has one.
    factor : float
        The overstatement c > 0.

    Returns
    -------
    object
        The configuration.

    Raises
    ------
    ValueError
        If it has no budget, or the factor is out of range.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> overstated(dpb.DPSE(0.5), 3.0).epsilon
    1.5
    >>> overstated(dpb.GuessAndDouble(dpb.DPSE(1.0)), 2).base.epsilon
    2.0
    """
    factor = check_positive("factor", factor)
    if isinstance(getattr(target, "epsilon", None), int | float):
        return dataclasses.replace(target, epsilon=factor * target.epsilon)
    if hasattr(target, "base"):
        return dataclasses.replace(target, base=overstated(target.base, factor))
    raise ValueError(
        f"target={target!r} has no budget; allowed: a target with epsilon, or with a base"
    )


def power(
    target: Any | Mapping[float, Any],
    factors: Sequence[float] = FACTORS,
    n_runs: int = 1_000_000,
    seed: int | Sequence[int] = 0,
    failure: float = FAILURE,
    *,
    guarantee: PrivacyGuarantee | None = None,
    n_pulls: int | None = None,
    every: bool = False,
    all_runs: bool = True,
) -> Power:
    """Find the least overstatement of a budget that an audit convicts.

    The overstatements are tried in increasing order, until one is convicted. From its tables the
    search then starts at the next smaller one, with fresh runs, as long as that convicts.

    Parameters
    ----------
    target : object or mapping of float to object
        A configuration at its declared budget; or the target to run for each overstatement.
    factors : sequence of float
        Overstatements c, in increasing order; for a mapping its keys are used.
    n_runs : int
        Runs on each table of each audit.
    seed : int or sequence of int
        Entropy of the root seed.
    failure : float
        Probability in (0, 1) with which the bound of one audit may be too high; at each
        overstatement there are at most two audits.
    guarantee : PrivacyGuarantee, optional
        Declared guarantee; required with a mapping, else that of the target.
    n_pulls : int, optional
        Length of the tables; by default as the subject needs.
    every : bool
        Whether to continue after the first conviction.
    all_runs : bool
        Whether a test continues after it convicts, so that its bound is near the loss.

    Returns
    -------
    Power
        The audits.

    Raises
    ------
    ValueError
        If an argument is out of range, or something cannot be audited.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> declared = dpb.PrivacyGuarantee("central", 1.0)
    >>> def leaky(rewards, rng):
    ...     return rewards.pull(0) + rng.laplace(0.0, 0.4)
    >>> power({2.5: leaky}, n_runs=4000, guarantee=declared).least
    2.5
    """
    given = dict(target) if isinstance(target, Mapping) else None
    if given is not None and guarantee is None:
        raise ValueError(
            "guarantee=None is missing; allowed: the guarantee that the subjects declare"
        )
    declared = guarantee or target.guarantee  # type: ignore[union-attr]
    runs_as = given or {c: overstated(target, c) for c in factors}
    if not runs_as:
        raise ValueError(f"factors={factors!r} is empty; allowed: at least one overstatement")
    found: dict[float, Audit] = {}
    for c in sorted(runs_as):
        found[c] = audit(
            runs_as[c],
            None,
            n_runs,
            seed,
            failure,
            guarantee=declared,
            n_pulls=n_pulls,
            all_runs=all_runs,
        )
        if found[c].convicted and not every:
            break
    least = max(found)
    if every or not found[least].convicted or found[least].kind == "formula":
        return Power(declared, found)
    for number, c in enumerate(sorted(found, reverse=True)[1:]):
        fresh, begin = [*check_seed("seed", seed), 1, number], found[least].pair
        again = audit_by_search(
            runs_as[c], n_runs, fresh, failure, declared, begin=begin, all_runs=all_runs
        )
        if not again.convicted:
            break
        found[c], least = again, c
    return Power(declared, found)
