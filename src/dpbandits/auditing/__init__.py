"""Attacks on all that the package declares private: lower bounds on ε, by runs or exactly.

`audit` runs what it is given on a pair of neighbouring tables, `search` looks for a pair, and
`audit_exactly` integrates where a law is known. `audit_many` makes many audits at once.

>>> import dpbandits as dpb
>>> pair = dpb.auditing.search(dpb.DPUCB(epsilon=2.0), n_pulls=6, count=6, n_runs=200)
>>> dpb.auditing.audit(dpb.DPUCB(epsilon=2.0), pair, n_runs=2000).verdict
'acquitted'
"""

from dpbandits.auditing.accounts import accounted
from dpbandits.auditing.auditor import Audit, audit
from dpbandits.auditing.cases import NOT_AUDITED, audit_cases, free_cases, known_truths
from dpbandits.auditing.elimination_laws import two_arm_epochs
from dpbandits.auditing.events import Tally
from dpbandits.auditing.exact import audit_elimination, audit_exactly, audit_stopping
from dpbandits.auditing.grid import FAILURE, AuditCase, Audits, audit_many
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.searching import search
from dpbandits.auditing.subjects import Auditable, FunctionSubject, Outputs, subject_of
from dpbandits.auditing.truths import KnownLoss

__all__ = [
    "FAILURE",
    "NOT_AUDITED",
    "Audit",
    "AuditCase",
    "Auditable",
    "Audits",
    "FunctionSubject",
    "KnownLoss",
    "Outputs",
    "TablePair",
    "Tally",
    "accounted",
    "audit",
    "audit_cases",
    "audit_elimination",
    "audit_exactly",
    "audit_many",
    "audit_stopping",
    "free_cases",
    "known_truths",
    "search",
    "subject_of",
    "two_arm_epochs",
]
