"""Seconds that an audit takes: runs on two tables, the choice of an event, and its test.

The target is 10⁶ runs on each table in less than 30 s on 2 cores. Compiled code is compiled before
the clock starts.
"""

import pytest

import dpbandits as dpb
from dpbandits.privacy.audit_exact import audit_exactly
from dpbandits.privacy.audit_subjects import subject_of

PAIR = dpb.TablePair([[0.0] * 16, [1.0] + [0.0] * 15], 0, 0, 1.0)
COMPILED = [dpb.UCB(), dpb.DPUCB(1.0), dpb.DPUCBBound(1.0), dpb.DPUCBHybrid(1.0), dpb.DPUCBInt(0.5)]
EXACT = [dpb.DPSE(1.0), dpb.DPRSE(1.0), dpb.DPExponentialNAS(1.0, 0.5, 0.05), dpb.LDPRSE(1.0)]
LOOPS = [dpb.AdaPUCB(1.0), dpb.DPIMED(1.0), dpb.DPTT(1.0, 0.1), dpb.DPLRE(1.0, 0.1)]


@pytest.mark.parametrize("algorithm", COMPILED, ids=lambda a: a.label)
def test_a_million_runs(algorithm, benchmark, request):
    runs = 1000 if request.config.getoption("--short") else 10**6
    subject = subject_of(algorithm, 16)
    dpb.audit(subject, PAIR, 1000, n_jobs=2)
    benchmark.pedantic(dpb.audit, (subject, PAIR, runs), {"n_jobs": 2}, rounds=1)


@pytest.mark.parametrize("algorithm", LOOPS, ids=lambda a: a.label)
def test_fifty_thousand_runs(algorithm, benchmark, request):
    """Algorithms whose outer loop is in Python."""
    runs = 100 if request.config.getoption("--short") else 50_000
    subject = subject_of(algorithm, 16)
    dpb.audit(subject, PAIR, 100, n_jobs=2)
    benchmark.pedantic(dpb.audit, (subject, PAIR, runs), {"n_jobs": 2}, rounds=1)


@pytest.mark.parametrize("target", EXACT, ids=lambda a: a.label)
def test_an_exact_audit(target, benchmark):
    benchmark.pedantic(audit_exactly, (target,), rounds=3, warmup_rounds=1)
