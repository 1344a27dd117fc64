"""Many audits: of all algorithms, of mechanisms of known truth; and their accounts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statistical import distance_to_law, one_sample_limit, same_law

import dpbandits as dpb
from dpbandits.auditing import (
    FAILURE,
    AuditCase,
    Audits,
    accounts,
    audit_cases,
    audit_many,
    free_cases,
    known_truths,
    subject_of,
    truths,
)
from dpbandits.auditing.searching import certain_pair
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter

RUNS = 400


@pytest.fixture(scope="module")
def every():
    """All algorithms, with few runs."""
    return audit_many(audit_cases(1.0, RUNS, 100, tried=2) | free_cases(RUNS, 2))


@pytest.fixture(scope="module")
def truth():
    cases = {
        (*key, n_runs): AuditCase(target, n_runs=n_runs, delta=delta)
        for n_runs in (500, 2000)
        for key, (target, delta) in known_truths().items()
    }
    return audit_many(cases, n_audits=3)


def test_audits_in_which_all_runs_do_the_same_test_nothing(every):
    """Control of the acquittals of all chapters."""
    found = every["DPUCB"]
    same = replace(found.found[0], constant=True)
    assert Audits(found.case, FAILURE, (same,)).verdict == "nothing tested"
    case = AuditCase(dpb.DPUCB(1.0), n_pulls=1, n_runs=50, tried=1)
    assert audit_many({0: case})[0].verdict == "nothing tested"


@pytest.mark.statistical
def test_no_audit_finds_more_than_is_accounted_for(every, truth):
    for found in (*every.values(), *truth.values()):
        s = found.summary()
        assert s["epsilon_most"] <= s["accounted"] * (1 + 1e-6)
        assert s["accounted"] <= s["declared"] * (1 + 1e-6)
        assert s["epsilon_least"] <= s["epsilon_lower"] <= s["epsilon_most"] <= s["ceiling"]


def test_a_case_with_its_own_tables_declares_what_holds_for_every_length():
    case = AuditCase(dpb.DPSE(1.0), "exact")
    assert case.n_pulls == 0 and case.guarantee == case.target.guarantee
    short = AuditCase(dpb.DPUCBInt(0.5), n_pulls=16, n_runs=100)
    assert short.guarantee.epsilon < short.target.guarantee.epsilon


@pytest.mark.parametrize("name", ["DPUCB", "DPSE"])
@pytest.mark.parametrize(("bound", "verdict"), [(1 + 1e-6, "convicted"), (1 - 1e-6, "acquitted")])
def test_a_bound_above_what_is_declared_convicts(every, name, bound, verdict):
    found = every[name]
    pair = found.found[0], replace(found.found[0], epsilon_lower=bound)
    assert Audits(found.case, FAILURE, pair).verdict == verdict


@pytest.mark.statistical
def test_a_target_with_too_little_noise_is_convicted():
    """Control of all acquittals: the same call, on a counter that boasts."""
    boast = property(lambda self: dpb.PrivacyGuarantee("central", self.epsilon / 4))
    boastful = type("Boastful", (LogarithmicCounter,), {"guarantee": boast})
    case = AuditCase(LogarithmicCounter(4.0), n_pulls=4, n_runs=4000)
    found = audit_many({0: case, 1: replace(case, target=boastful(4.0))})
    assert [found[i].verdict for i in (0, 1)] == ["acquitted", "convicted"]


def test_audits_depend_on_their_case_and_seed_alone():
    case = AuditCase(dpb.DPUCB(1.0), n_pulls=8, n_runs=200, tried=2)
    both = audit_many({"x": case, "y": replace(case, n_runs=300)}, n_audits=2, seed=3)
    (alone,) = audit_many({0: case}, seed=3)[0].found
    (other,) = audit_many({0: case}, seed=4)[0].found

    def facts(each):
        return each.tally, each.pair.table.tolist(), each.pair.arm, each.pair.pull

    first, second = both["x"].found
    assert facts(first) == facts(alone) != facts(other)
    assert first.tally not in (second.tally, both["y"].found[0].tally)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AuditCase("UCB", "runs", 8, 100), "target='UCB' must be a configuration"),
        (lambda: AuditCase(dpb.UCB(), "guess", 8, 100), "method='guess'"),
        (lambda: AuditCase(dpb.UCB(), "exact", 8, 5), "n_runs=5"),
        (lambda: AuditCase(dpb.UCB(), "runs", 0, 100), "n_pulls=0"),
        (lambda: AuditCase(dpb.UCB(), "runs", 8, 100, 0), "tried=0"),
        (lambda: AuditCase(dpb.UCB(), "runs", 8, 100, delta=1.0), "delta=1.0"),
        (lambda: AuditCase(dpb.DPUCB(1.0), "certain", 8), "has noise; allowed with method='cert"),
        (
            lambda: audit_many({"x": AuditCase(dpb.DPUCB(1.0), "exact")}),
            "case 'x': .* has no exact audit; allowed: method='runs'",
        ),
        (
            lambda: audit_many({"y": AuditCase(dpb.NAS(0.5, 0.05), "certain", 4)}),
            "case 'y': .* shows nothing of 4 rewards; allowed: more",
        ),
        (lambda: audit_many({"z": "DPUCB"}), "case 'z': case='DPUCB' must be an AuditCase"),
        (lambda: audit_many({}, failure=2), "failure=2"),
        (lambda: audit_many({"x": AuditCase(dpb.DPSE(1.0), "exact")}, 0), "n_audits=0"),
        (lambda: truths.HaltingTime(4.0).truth(0.1), "delta=0.1 has no known truth; allowed: 0"),
        (lambda: truths.EliminationEpoch(1.0).truth(0.1), "delta=0.1 has no known truth"),
        (lambda: truths.HaltingTime(1.0, look=5), "look=5 .* allowed: a look whose threshold"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------------- mechanisms of truth


@pytest.mark.statistical
def test_a_tree_drawn_at_once_has_the_law_of_the_counter():
    pair = truths.TreeSums(1.0, 6).pair
    n_runs, rng = 2000, np.random.default_rng(1)
    at_once = truths.TreeSums(1.0, 6).outputs(pair.neighbour, n_runs, rng).values
    counted = subject_of(BinaryTree(1.0, 6)).outputs(pair.neighbour, n_runs, rng).values
    broken = truths.TreeSums(2.0, 6).outputs(pair.neighbour, n_runs, rng).values
    weights = [*np.eye(6), np.eye(6)[5] - np.eye(6)[3], np.eye(6)[2] - np.eye(6)[1]]
    share = 1 / (2 * len(weights))
    assert all(same_law(at_once @ w, counted @ w, share) for w in weights)
    assert not all(same_law(broken @ w, counted @ w, share) for w in weights)


@pytest.mark.statistical
def test_halting_drawn_at_once_has_the_law_of_the_rule():
    known = truths.HaltingTime(4.0)
    rng, table = np.random.default_rng(2), known.pair.table
    at_once = known.outputs(table, 1000, rng).values[:, 0]
    found = subject_of(known.rule).outputs(table, 1000, rng).values
    played = np.where(np.isnan(found[:, 1]), 0.0, found[:, 0])
    assert same_law(at_once, played)
    other = truths.HaltingTime(4.0, beta=0.5)
    assert not same_law(other.outputs(table, 1000, rng).values[:, 0], played)


@pytest.mark.statistical
def test_releases_and_reports_have_their_laws():
    rng = np.random.default_rng(3)
    noise = truths.Releases(2.0, 4).outputs(np.zeros((1, 1)), 5000, rng).values
    right, wrong = (distance_to_law(noise[:, 1], stats.laplace(scale=b)) for b in (2.0, 1.0))
    assert right < one_sample_limit(5000, 0.5) < wrong
    reports = truths.RandomisedResponse(1.0).outputs(np.ones((1, 1)), 50_000, rng).values
    kept = math.e / (1 + math.e)
    error = math.sqrt(math.log(2 / 5e-7) / (2 * 50_000))  # Hoeffding
    assert abs(reports.mean() - kept) < error < abs(reports.mean() - 0.5)


def test_truths():
    for target in (truths.Releases(1.0), truths.RandomisedResponse(1.0), truths.TreeSums(1.0)):
        assert target.truth() == 1.0
    # one release: δ = 1 − exp((ε − e)/2)
    assert truths.Releases(1.0).truth(0.01) == pytest.approx(1 + 2 * math.log1p(-0.01), abs=1e-6)
    p = math.e / (1 + math.e)
    assert truths.RandomisedResponse(1.0).truth(0.1) == pytest.approx(math.log((p - 0.1) / (1 - p)))
    halting = truths.HaltingTime(4.0)
    streams = halting.pair.table[0], halting.pair.neighbour[0]
    loss = dpb.stopping.privacy_loss(halting.rule, *streams)
    assert halting.truth() == pytest.approx(float(np.abs(loss.log_ratio).max()))
    assert halting.truth() < halting.epsilon / 6 and truths.EliminationEpoch(1.0).truth() < 1.0
    for target, delta in known_truths().values():
        assert 0 < target.truth(delta) <= target.guarantee.epsilon
        assert np.abs(target.pair.neighbour - target.pair.table).sum() in (1.0, 2.0)


# ----------------------------------------------------------------------------------- accounting


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 13, 32])
def test_a_hybrid_counter_is_accounted_for_release_by_release(length):
    """An element is in the sums that its noise variables belong to: follow them by hand."""
    counter = HybridCounter(1.0)
    for element in range(1, length + 1):
        expected = []
        for n in range(element, length + 1):
            level = n.bit_length() - 1
            if n == 1 << level:
                expected += [0.5] * (n // 2 < element)
            elif element > 1 << level and n - (n & -n) < element:
                expected.append(0.5 / level)
        found = accounts.hybrid_losses(element, length, counter)
        assert sorted(found) == pytest.approx(sorted(expected))


def test_accounts():
    for target, length, worth in (
        *((BinaryTree(1, 8), 8, 1.0), (BinaryTree(1, 16), 8, 0.8), (AdaptiveTree(2, 8), 8, 2.0)),
        *((LogarithmicCounter(1.0), 8, 1.0), (dpb.DPUCB(1.0, "mishra-thakurta"), 16, 0.4)),
        (dpb.DPUCBBound(1.0), 3, 0.5),  # one reward of an arm, one block
        *((dpb.DPUCBHybrid(1.0), 16, 1.0), (dpb.UCB(), 16, math.inf)),
    ):
        assert accounts.accounted(target, length) == pytest.approx(worth), target
    assert accounts.accounted(dpb.DPNAS(1.0, 0.5, 0.05), 12) < 1.0
    worst = [accounts.worst_element(each, 8) for each in (HybridCounter(1.0), BinaryTree(1.0, 8))]
    assert worst == [3, 1]


def test_what_has_no_randomness_is_refuted_by_one_run_of_each():
    pair = certain_pair(dpb.UCB(), 16)
    first, second = (
        subject_of(dpb.UCB(), 16).outputs(table, 1, np.random.default_rng(0)).actions
        for table in (pair.table, pair.neighbour)
    )
    assert not np.array_equal(first, second) and pair.table[pair.arm, pair.pull] == 0
    assert certain_pair(dpb.NAS(0.5, 0.05), 4) is None
