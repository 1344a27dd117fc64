"""Broken twins are convicted, and what they are twins of is acquitted, at the same declared ε.

Each audit fails with probability 1e-6 at most: that is the false alarm of an acquittal. A
conviction of a private algorithm would be a wrong alarm of the auditor; an acquittal of a twin
means that the auditor has become blind.
"""

import numpy as np
import pytest
from broken_twins import TWINS, TwinSubject
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing.audit import audit
from dpbandits.auditing.exact import audit_exactly, audit_stopping
from dpbandits.auditing.tables import TablePair
from dpbandits.stopping import crossing_streams

EPSILON, RUNS = 1.0, 20_000
RULE = dpb.DPExponentialNAS(EPSILON, 0.5, 0.05)
SOUND = {(twin.algorithm, id(twin.pair)): twin for twin in TWINS.values()}
"""Each algorithm on each pair of tables on which a flaw of it shows."""


def verdict(algorithm, flaw, pair):
    return audit(TwinSubject(algorithm, flaw, EPSILON), pair, RUNS, failure=FALSE_ALARM).verdict


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.statistical
def test_a_broken_twin_is_convicted(name):
    assert verdict(*TWINS[name]) == "convicted"


@pytest.mark.parametrize("twin", SOUND.values(), ids=lambda twin: twin.algorithm.__name__)
@pytest.mark.statistical
def test_without_its_flaw_it_is_acquitted(twin):
    assert verdict(twin.algorithm, "", twin.pair) == "acquitted"


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold_scale": 1e-3},  # threshold not noised
        {"threshold_scale": 6.0, "query_scale": 6.0, "release_scale": 2.0},  # ε for each part
        {"release_scale": 2.0},  # sensitivity of the released sum halved
        {"query_scale": 1.0},  # nearly no noise on the sums
    ],
)
def test_broken_stopping_rules_are_convicted_exactly(changes):
    broken = {"halting": property(lambda _: RULE.halting._replace(**changes))}
    twin = type("Twin", (dpb.DPExponentialNAS,), broken)(**vars(RULE))
    assert audit_exactly(twin).verdict == "convicted"


def test_an_exact_audit_depends_on_the_pair():
    """On streams that nearly halt at once the rule shows little; on the worst pair nearly all."""
    sound = audit_exactly(RULE)
    assert sound.verdict == "acquitted" and sound.epsilon_lower > 0.99 * EPSILON
    same_sign = TablePair(np.ones_like(crossing_streams(RULE, 5)[0])[None, :], 0, 0, 0.5)
    assert audit_stopping(RULE, same_sign).epsilon_lower < 0.5


def test_there_are_enough_twins():
    assert len(TWINS) >= 10
