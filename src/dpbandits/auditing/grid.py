"""Many audits at once: of algorithms at what they declare, and of mechanisms of known truth."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from dpbandits._arrays import Floats
from dpbandits._validation import check_fraction, check_integer
from dpbandits.auditing.accounts import accounted, worst_element
from dpbandits.auditing.counting import count
from dpbandits.auditing.events import Tally
from dpbandits.auditing.exact import audit_exactly
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.searching import certain_pair, search
from dpbandits.auditing.subjects import declared, subject_of, tables_of
from dpbandits.auditing.truths import KnownLoss
from dpbandits.auditing.verdicts import FEWEST_RUNS, Audit
from dpbandits.configuration import Configuration, whole
from dpbandits.guarantees import Delta, PrivacyGuarantee
from dpbandits.running import Replicated, describe, run_cases

__all__ = ["FAILURE", "AuditCase", "Audits", "audit_many"]

Key = TypeVar("Key", bound=Hashable)

FAILURE = 1e-9
"""Probability with which the bound of one audit may be too high: 10^−6 for a thousand of them."""

_TRIAL_SHARE = 100  # a search begins with so much fewer runs
_WORDS = 4  # of 32 bits, that the seeds of an audit are made of
_VERDICTS = ("nothing declared", "convicted", "acquitted", "nothing tested")


@dataclass(frozen=True)
class AuditCase(Configuration):
    """What is audited, and how.

    Attributes
    ----------
    target : object
        An algorithm, a stopping rule or a counter of this package, or a `KnownLoss`.
    method : {"exact", "runs", "certain"}
        By integration, by runs, or by one run on each table of what has no randomness.
    n_pulls : int
        Length of the tables; 0 for what has its own tables: exact audits, and a `KnownLoss`.
    n_runs : int
        Runs on each of the two tables; 0 unless the method is "runs".
    tried : int
        Pairs of tables that a search begins with, where the worst pair is not known.
    delta : float, optional
        δ of what is audited; that of the guarantee if not given.

    Raises
    ------
    ValueError
        If an argument is out of range, or does not go with the method.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> case = AuditCase(dpb.DPUCB(epsilon=1.0), n_pulls=16, n_runs=1000)
    >>> case.guarantee.epsilon, case.known_pair is None
    (1.0, True)
    """

    target: Any
    method: Literal["exact", "runs", "certain"] = "runs"
    n_pulls: int = 0
    n_runs: int = 0
    tried: Annotated[int, whole(1)] = 8
    delta: Delta | None = None

    def __post_init__(self) -> None:
        if not is_dataclass(self.target):
            raise ValueError(f"target={self.target!r} must be a configuration, such as DPSE(1)")
        super().__post_init__()
        own_tables = self.method == "exact" or isinstance(self.target, KnownLoss)
        runs = (FEWEST_RUNS, None) if self.method == "runs" else (0, 0)
        checked = {
            "n_pulls": check_integer("n_pulls", self.n_pulls, 0 if own_tables else 1),
            "n_runs": check_integer("n_runs", self.n_runs, *runs),
        }
        vars(self).update(checked)
        if self.method == "certain" and self.guarantee.is_private:
            raise ValueError(
                f"target={self.target!r} has noise; allowed with method='certain': what declares "
                "no privacy"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about the target: of runs of every length, where it has own tables."""
        length = self.n_pulls
        promised = declared(self.target, length) if length else self.target.guarantee
        return promised if self.delta is None else replace(promised, delta=self.delta)

    @property
    def known_pair(self) -> TablePair | None:
        """The pair of tables that is known to tell most; None where it has to be found."""
        if isinstance(self.target, KnownLoss):
            return self.target.pair
        tables = tables_of(self.target)
        if tables is None or not callable(getattr(self.target, "counter", None)):
            return None
        element = worst_element(self.target, self.n_pulls)  # of which most is released
        return TablePair(np.full((1, self.n_pulls), tables.low), 0, element - 1, tables.high)


@dataclass(frozen=True, eq=False)
class Audits:
    """Audits of one case, each with an independent search and independent runs.

    Attributes
    ----------
    case : AuditCase
        What was audited, and how.
    failure : float
        Probability with which the bound of one audit may be too high.
    found : tuple of Audit
        The audits.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> found = audit_many({0: AuditCase(dpb.DPSE(epsilon=1.0), "exact")})[0]
    >>> len(found), found.verdict, found.accounted
    (1, 'acquitted', 1.0)
    """

    case: AuditCase
    failure: float
    found: tuple[Audit, ...]

    def __len__(self) -> int:
        return len(self.found)

    @property
    def bounds(self) -> Floats:
        """The lower bounds on ε, one for each audit."""
        return np.array([each.epsilon_lower for each in self.found])

    @cached_property
    def accounted(self) -> float:
        """The ε that accounting allows on such tables; of a `KnownLoss`, the truth."""
        length = self.found[0].pair.table.shape[1]
        return accounted(self.case.target, length, self.case.guarantee.delta)

    @property
    def ceiling(self) -> float:
        """The greatest bound on ε that so many runs can give; infinite for other methods."""
        if self.case.method != "runs":
            return math.inf
        half = self.case.n_runs - self.case.n_runs // 2
        return Tally(half, half, 0, half, self.failure).epsilon_lower(self.case.guarantee.delta)

    @property
    def verdict(self) -> str:
        """A verdict of `Audit`: one conviction convicts, and one test is enough to acquit."""
        found = {each.verdict for each in self.found}
        return next(verdict for verdict in _VERDICTS if verdict in found)

    def summary(self) -> dict[str, Any]:
        """Return the columns that tables show.

        Returns
        -------
        dict of str to object
            Name of the column → value. `epsilon_lower` is the median of the bounds, `epsilon_least`
            and `epsilon_most` are their range.
        """
        promised, bounds = self.case.guarantee, self.bounds
        return {
            "method": self.case.method,
            "model": promised.model,
            "declared": promised.epsilon,
            "delta": promised.delta,
            "n_pulls": self.found[0].pair.table.shape[1],
            "n_runs": self.case.n_runs,
            "audits": len(self),
            "accounted": self.accounted,
            "ceiling": self.ceiling,
            "epsilon_lower": float(np.median(bounds)),
            "epsilon_least": float(bounds.min()),
            "epsilon_most": float(bounds.max()),
        }


def _audit(case: AuditCase, failure: float, seed: np.random.SeedSequence) -> Audit:
    """Make one audit: search for a pair of tables, then audit on it."""
    target, n_pulls = case.target, case.n_pulls
    if case.method == "exact":
        exact = audit_exactly(target)
        if exact is None:
            raise ValueError(
                f"target={target!r} has no exact audit; allowed: method='runs', unless it is of a "
                "class whose law is known, with the program of this class"
            )
        return exact
    if case.method == "certain":
        pair = certain_pair(target, n_pulls)
        if pair is None:
            raise ValueError(f"target={target!r} shows nothing of {n_pulls} rewards; allowed: more")
        name = type(target).__name__
        return Audit(name, target.guarantee, pair, math.inf, None, "the output", kind="formula")
    words = seed.generate_state(_WORDS).tolist()
    subject = subject_of(target, n_pulls)
    trial, promised = max(case.n_runs // _TRIAL_SHARE, FEWEST_RUNS), case.guarantee
    pair = case.known_pair
    if pair is None:
        tables = tables_of(target)
        size = tables.n_arms if tables else 2, n_pulls, case.tried, trial
        pair = search(subject, *size, [*words, 0], guarantee=promised)
    return count(subject, pair, case.n_runs, [*words, 1], failure, guarantee=promised)


def _replicated(case: AuditCase, n_audits: int, failure: float) -> Replicated:
    """Check a case and describe it to the runner."""
    if not isinstance(case, AuditCase):
        raise ValueError(f"case={case!r} must be an AuditCase")
    names = ("method", "n_pulls", "n_runs", "tried", "delta")
    configuration = {"target": describe(case.target), "failure": failure}
    configuration |= {name: getattr(case, name) for name in names}
    warm_up = None
    if case.method == "runs":
        least = replace(case, n_runs=FEWEST_RUNS, tried=1)
        warm_up = partial(_audit, least, failure, np.random.SeedSequence(0))
    return Replicated(
        f"{type(case.target).__name__}, {case.n_runs or case.method}",
        configuration,
        partial(_audit, case, failure),
        n_audits,
        chunk=1,  # an audit takes seconds
        warm_up=warm_up,
        gather=lambda audits: Audits(case, failure, tuple(audits)),
        takes_seed=True,
    )


def audit_many(
    cases: Mapping[Key, AuditCase],
    n_audits: int = 1,
    seed: int | Sequence[int] = 0,
    failure: float = FAILURE,
    n_jobs: int = 1,
) -> dict[Key, Audits]:
    """Audit many targets, each several times if asked: key → `Audits`, in the order of `cases`.

    An audit of a case depends on the case, `failure` and `seed` alone, and not on `n_jobs` or on
    the other cases. All bounds hold together except with probability `failure` times the number
    of the audits by runs.

    Parameters
    ----------
    cases : mapping of key to AuditCase
        What is audited; `audit_cases` has those of every algorithm.
    n_audits : int
        Audits of each case, with independent searches and runs.
    seed : int or sequence of int
        Entropy of the root seed.
    failure : float
        Probability in (0, 1) with which the bound of one audit may be too high.
    n_jobs : int
        Number of workers; −1 for all processors.

    Returns
    -------
    dict of key to Audits
        The audits of each case.

    Raises
    ------
    ValueError
        If an argument is out of range, or a case cannot be audited as it says: its key is named.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> cases = {
    ...     "integrated": AuditCase(dpb.DPSE(epsilon=1.0), "exact"),
    ...     "run": AuditCase(dpb.DPUCB(epsilon=1.0), n_pulls=8, n_runs=1000, tried=2),
    ... }
    >>> {key: found.verdict for key, found in audit_many(cases).items()}
    {'integrated': 'acquitted', 'run': 'acquitted'}
    """
    failure = check_fraction("failure", failure)
    n_audits = check_integer("n_audits", n_audits, 1)
    return run_cases(cases, partial(_replicated, failure=failure), n_audits, seed, n_jobs)
