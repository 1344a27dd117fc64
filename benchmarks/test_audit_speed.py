"""Seconds that an audit takes: runs on two tables, the choice of an event, and its test.

The target is 10⁶ runs on each table in less than 30 s on 2 cores. Compiled code is compiled before
the clock starts.
"""

import pytest

import dpbandits as dpb
from dpbandits.auditing import audit_exactly
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter

PAIR = dpb.TablePair([[0.0] * 16, [1.0] + [0.0] * 15], 0, 0, 1.0)
STREAM = dpb.TablePair([[0.0] * 8], 0, 0, 1.0)
COMPILED = [
    *(dpb.UCB(), dpb.DPUCB(1.0), dpb.DPUCBBound(1.0), dpb.DPUCBHybrid(1.0), dpb.DPUCBInt(0.5)),
    *(dpb.AnytimeLazyUCB(1.0), dpb.AdaPUCB(1.0), dpb.AdaPKLUCB(1.0), dpb.LazyDPTS(1.0)),
    *(dpb.DPKLUCB(1.0), dpb.DPIMED(1.0)),
    *(dpb.DPTT(1.0, 0.1), dpb.AdaPTT(1.0, 0.1), dpb.AdaPTTStar(1.0, 0.1), dpb.TopTwo(0.1)),
    *(BinaryTree(1.0, 8), AdaptiveTree(1.0, 8), HybridCounter(1.0), LogarithmicCounter(1.0)),
]
EXACT = [dpb.DPSE(1.0), dpb.DPRSE(1.0), dpb.DPExponentialNAS(1.0, 0.5, 0.05), dpb.LDPRSE(1.0)]
LOOPS = [dpb.DPLRE(1.0, 0.1)]


def name(target):
    return type(target).__name__


@pytest.mark.parametrize("target", COMPILED, ids=name)
def test_a_million_runs(target, benchmark, request, keep_audit):
    runs = 1000 if request.config.getoption("--short") else 10**6
    pair = STREAM if hasattr(target, "counter") else PAIR
    dpb.audit(target, pair, 1000)
    benchmark.pedantic(dpb.audit, (target, pair, runs), rounds=1)
    keep_audit(target, "compiled runs", runs, benchmark)


@pytest.mark.parametrize("algorithm", LOOPS, ids=name)
def test_fifty_thousand_runs(algorithm, benchmark, request, keep_audit):
    """What has its loop in Python: compiled likelihoods take most of its time, however looped."""
    runs = 100 if request.config.getoption("--short") else 50_000
    dpb.audit(algorithm, PAIR, 100)
    benchmark.pedantic(dpb.audit, (algorithm, PAIR, runs), rounds=1)
    keep_audit(algorithm, "runs in Python", runs, benchmark)


@pytest.mark.parametrize("target", EXACT, ids=name)
def test_an_exact_audit(target, benchmark, keep_audit):
    benchmark.pedantic(audit_exactly, (target,), rounds=3, warmup_rounds=1)
    keep_audit(target, "by integration", 0, benchmark)
