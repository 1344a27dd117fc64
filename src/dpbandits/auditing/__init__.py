"""Attacks on everything that the package declares private: lower bounds on ε, by runs or exactly.

`audit` searches for neighbouring tables and an event that refute a declared guarantee, `power`
computes which overstatement it would have found, and `audit_exactly` integrates if a distribution
is known.

There is one auditor. It runs the program on tapes that both tables share (`tape`, `tape_runner`),
searches for tables (unless given a pair), for a move of the noise and for an event (`candidates`,
`pair_search`, `coupling`, `event_tree`), and bounds ε by a bet on new tapes (`betting`). `coverage`
records which rewards were changed, and which never were.

>>> import dpbandits as dpb
>>> pair = dpb.TablePair([[0] * 6, [1] * 6], arm=0, pull=0, value=1)
>>> dpb.auditing.audit(dpb.DPUCB(epsilon=2.0), pair, n_runs=2000).verdict
'no violation found'
"""

from dpbandits.auditing.adapters import Auditable, FunctionSubject, Outputs, subject_of
from dpbandits.auditing.auditor import audit
from dpbandits.auditing.betting import betting_bound, ceiling, expected_bound
from dpbandits.auditing.cases import NOT_AUDITED, audited, unpromised
from dpbandits.auditing.coverage import Coverage
from dpbandits.auditing.elimination_laws import two_arm_epochs
from dpbandits.auditing.exact import audit_elimination, audit_exactly, audit_stopping
from dpbandits.auditing.last_bits import last_bit
from dpbandits.auditing.overstating import FACTORS, Power, overstated, power
from dpbandits.auditing.pairs import TablePair
from dpbandits.auditing.verdicts import FAILURE, Audit

__all__ = [
    "FACTORS",
    "FAILURE",
    "NOT_AUDITED",
    "Audit",
    "Auditable",
    "Coverage",
    "FunctionSubject",
    "Outputs",
    "Power",
    "TablePair",
    "audit",
    "audit_elimination",
    "audit_exactly",
    "audit_stopping",
    "audited",
    "betting_bound",
    "ceiling",
    "expected_bound",
    "last_bit",
    "overstated",
    "power",
    "subject_of",
    "two_arm_epochs",
    "unpromised",
]
