"""Attacks on all that the package declares private: lower bounds on ε, by runs or exactly.

`audit` looks for neighbouring tables and an event that refute what is declared, `power` says which
overstatement it would have found, and `audit_exactly` integrates where a law is known.

Two auditors stand side by side. Without a pair of tables, `audit` and `power` run the program on
tapes that both tables share (`tape`, `programs`), look for tables, for a move of the noise and for
an event (`candidates`, `hunting`, `aligning`, `cells`), and bound ε by a bet (`betting`). Power
tables are made so: common tapes spare runs, but to find the move takes 5 000 runs and more. On a
given pair, `audit` counts an event in runs of their own (`runs`, `events`, `counting`); so does
`audit_many`, on pairs that `search` finds (`searching`, `grid`, `cases`). That works with a few
hundred runs, and its events tell several released numbers apart better; it audits whole registries.

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
