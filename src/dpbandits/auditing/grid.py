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
from dpbandits.auditing.audit import FEWEST_RUNS, Audit, audit, search
from dpbandits.auditing.events import Tally
from dpbandits.auditing.exact import KnownLoss, accounted, audit_exactly, worst_element
from dpbandits.auditing.subjects import TablePair, declared, subject_of
from dpbandits.configuration import Configuration, whole
from dpbandits.guarantees import Delta, PrivacyGuarantee
from dpbandits.running import Replicated, describe, run_cases
from dpbandits.stopping.base import StoppingRule

__all__ = ["FAILURE", "AuditCase", "Audits", "audit_many", "certain_pair"]

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
        check_integer("n_pulls", self.n_pulls, 0 if own_tables else 1)
        check_integer("n_runs", self.n_runs, *((FEWEST_RUNS,) if self.method == "runs" else (0, 0)))
        if self.method == "certain" and self.guarantee.is_private:
            raise ValueError(
                f"target={self.target!r} has noise; allowed with method='certain': what declares "
                "no privacy"
            )

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is declared about the target."""
        promised = declared(self.target, self.n_pulls)
        return promised if self.delta is None else replace(promised, delta=self.delta)

    @property
    def known_pair(self) -> TablePair | None:
        """The pair of tables that is known to tell most; None where it has to be found."""
        if isinstance(self.target, KnownLoss):
            return self.target.pair
        if not callable(getattr(self.target, "counter", None)):
            return None
        least = -1.0 if hasattr(self.target, "first_bound") else 0.0
        element = worst_element(self.target, self.n_pulls)  # of which most is released
        return TablePair(np.full((1, self.n_pulls), least), 0, element - 1, 1.0)


@dataclass(frozen=True, eq=False)
class Audits:
    """Audits of one case, each with an independent search and independent runs.

    `failure` is the probability with which the bound of one audit may be too high.
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
        """As of `Audit`: one conviction convicts, and nothing is tested if no audit tests it."""
        found = {each.verdict for each in self.found}
        return next(verdict for verdict in _VERDICTS if verdict in found)

    def summary(self) -> dict[str, Any]:
        """Return the columns that tables and figures show; `epsilon_lower` is a median."""
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


def certain_pair(target: object, n_pulls: int) -> TablePair | None:
    """Find neighbouring tables on which an algorithm without randomness has two outputs.

    If outputs differ with rewards of 1 for arm 0 alone and without any, then so do those of two
    neighbours among the tables between, which bisection finds: it is private with no ε. None is
    returned if the two outputs are the same.
    """
    subject = subject_of(target, n_pulls)

    def table(ones: int) -> Floats:
        rewards = np.zeros((_n_arms(target), n_pulls))
        rewards[0, :ones] = 1.0
        return rewards

    def shown(ones: int) -> tuple[bytes, ...]:
        outputs = subject.outputs(table(ones), 1, np.random.default_rng(0))
        return tuple(np.ascontiguousarray(part).tobytes() for part in outputs)

    none = shown(0)
    if none == shown(n_pulls):
        return None
    low, high = 0, n_pulls
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if shown(middle) == none else (low, middle)
    return TablePair(table(low), 0, low, 1.0)


def _n_arms(target: object) -> int:
    """Return the number of arms of the tables: a stopping rule reads one stream."""
    return 1 if isinstance(target, StoppingRule) else 2


def _audit(case: AuditCase, failure: float, seed: np.random.SeedSequence) -> Audit:
    """Make one audit: search for a pair of tables, then audit on it."""
    target, n_pulls = case.target, case.n_pulls
    if case.method == "exact":
        exact = audit_exactly(target)
        if exact is None:
            raise ValueError(f"target={target!r} has no exact audit; allowed: method='runs'")
        return exact
    if case.method == "certain":
        pair = certain_pair(target, n_pulls)
        if pair is None:
            raise ValueError(f"target={target!r} shows nothing of {n_pulls} rewards; allowed: more")
        return Audit(type(target).__name__, target.guarantee, pair, math.inf, None, "the output")
    words = seed.generate_state(_WORDS).tolist()
    subject = subject_of(target, n_pulls)
    trial, promised = max(case.n_runs // _TRIAL_SHARE, FEWEST_RUNS), case.guarantee
    size = (_n_arms(target), n_pulls, case.tried, trial)
    pair = case.known_pair or search(subject, *size, [*words, 0], guarantee=promised)
    return audit(subject, pair, case.n_runs, [*words, 1], failure, guarantee=promised)


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
        What is audited; `dpbandits.auditing.cases` has those of every algorithm.
    n_audits : int
        Audits of each case, with independent searches and runs.
    seed, failure, n_jobs
        As of `audit`.

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
