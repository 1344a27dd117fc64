"""Attacks on all that the package declares private: lower bounds on ε, by runs or exactly.

`audit` looks for neighbouring tables and an event that refute what is declared, `power` says which
overstatement it would have found, and `audit_exactly` integrates where a law is known. On a given
pair of tables `audit` counts an event; so does `audit_many`, on pairs that `search` finds.

>>> import dpbandits as dpb
>>> pair = dpb.auditing.search(dpb.DPUCB(epsilon=2.0), n_pulls=6, count=6, n_runs=200)
>>> dpb.auditing.audit(dpb.DPUCB(epsilon=2.0), pair, n_runs=2000).verdict
'acquitted'
"""

from dpbandits.auditing.accounts import accounted
from dpbandits.auditing.auditor import audit
from dpbandits.auditing.betting import betting_bound, ceiling, expected_bound
from dpbandits.auditing.cases import NOT_AUDITED, audit_cases, free_cases, known_truths
from dpbandits.auditing.elimination_laws import two_arm_epochs
from dpbandits.auditing.events import Tally
from dpbandits.auditing.exact import audit_elimination, audit_exactly, audit_stopping
from dpbandits.auditing.grid import FAILURE, AuditCase, Audits, audit_many
from dpbandits.auditing.last_bits import last_bit
from dpbandits.auditing.overstating import FACTORS, Power, overstated, power
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.searching import search
from dpbandits.auditing.subjects import Auditable, FunctionSubject, Outputs, subject_of
from dpbandits.auditing.truths import KnownLoss
from dpbandits.auditing.verdicts import Audit

__all__ = [
    "FACTORS",
    "FAILURE",
    "NOT_AUDITED",
    "Audit",
    "AuditCase",
    "Auditable",
    "Audits",
    "FunctionSubject",
    "KnownLoss",
    "Outputs",
    "Power",
    "TablePair",
    "Tally",
    "accounted",
    "audit",
    "audit_cases",
    "audit_elimination",
    "audit_exactly",
    "audit_many",
    "audit_stopping",
    "betting_bound",
    "ceiling",
    "expected_bound",
    "free_cases",
    "known_truths",
    "last_bit",
    "overstated",
    "power",
    "search",
    "subject_of",
    "two_arm_epochs",
]
