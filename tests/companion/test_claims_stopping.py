"""Claims that are judged from runs of stopping rules hold on good runs, and fail on spoilt ones."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import dpbandits as dpb
from companion import claims
from companion.claims import ss19_stopping
from dpbandits.rewards.instances import low_variance, two_point

PLACES = {
    "over-means": [
        (rule, two_point(mean))
        for mean in (0.5, 0.2)
        for rule in (dpb.NAS(0.5, 0.05), dpb.DPExponentialNAS(1.0, 0.5, 0.05))
    ],
    "over-deviations": [
        (rule, low_variance(0.1, deviation))
        for deviation in (0.001, 0.5)
        for rule in (dpb.NAS(0.5, 0.05), dpb.EBGStop(0.5, 0.05))
    ],
}


@pytest.fixture(scope="module")
def results():
    """Runs as the chapter has them: the first part of a key is the panel."""
    return {
        name: dpb.estimate_many({("a", *pair): pair for pair in pairs}, n_runs=4)
        for name, pairs in PLACES.items()
    }


def times(factor, runs):
    return dataclasses.replace(runs, samples=np.rint(factor * runs.samples).astype(np.int64))


def judged(claim_id, results):
    (claim,) = claims.ledger(claim_id, chapter="01")
    return claim.given(results)


@pytest.mark.parametrize("claim_id", ["ss19-halting-monotone", "ss19-bernstein"])
def test_claims_hold_on_the_runs(claim_id, results):
    claim = judged(claim_id, results)
    assert claim.verdict == claims.HOLDS
    assert claim.finding.reason.endswith(".")
    assert all(isinstance(value, (int, float)) for value in claim.evidence.values())
    with pytest.raises(ValueError, match=f"which the claim {claim_id} needs"):
        judged(claim_id, {})


def test_more_samples_at_greater_means_change_the_verdict(results):
    runs = results["over-means"]
    spoilt = {key: times(100 if found.law.mean > 0.3 else 1, found) for key, found in runs.items()}
    assert judged("ss19-halting-monotone", {"over-means": spoilt}).verdict == claims.FAILS


def test_a_rule_that_halts_later_for_greater_means_changes_the_verdict(results, monkeypatch):
    def rising(alpha, beta):
        return SimpleNamespace(noiseless_time=lambda mean: 1000 * mean)

    monkeypatch.setattr(ss19_stopping, "NAS", rising)
    assert judged("ss19-halting-monotone", results).verdict == claims.FAILS


def test_more_samples_of_ebgstop_change_the_verdict(results):
    spoilt = {key: times(100, found) for key, found in results["over-deviations"].items()}
    assert judged("ss19-bernstein", {"over-deviations": spoilt}).verdict == claims.FAILS
    others = {k: r for k, r in results["over-deviations"].items() if r.rule.label == "NAS"}
    assert judged("ss19-bernstein", {"over-deviations": others}).verdict == claims.FAILS


def test_repeated_panels_count_once(results):
    twice = results["over-means"] | {
        ("b", *key[1:]): runs for key, runs in results["over-means"].items()
    }
    evidence = [judged("ss19-halting-monotone", {"over-means": r}).evidence for r in (
        twice, results["over-means"]
    )]  # fmt: skip
    assert evidence[0] == evidence[1]
