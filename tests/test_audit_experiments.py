"""Audits as experiments: all algorithms, mechanisms of known truth, data to text and figures."""

import dataclasses
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats
from statistical import one_sample_limit, same_law

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, AuditCell
from dpbandits.experiments.audit_accounts import accounted, hybrid_losses, worst_element
from dpbandits.experiments.audit_cases import NOT_AUDITED, audit_cases, free_cases, group_of
from dpbandits.experiments.audit_catalogue import FAILURE, known_truths
from dpbandits.experiments.audit_cells import certain_pair
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.privacy.audit_subjects import StoppingSubject, subject_of
from dpbandits.privacy.audit_tables import TablePair
from dpbandits.privacy.audit_truths import (
    EliminationEpoch,
    HaltingTime,
    RandomisedResponse,
    Releases,
    TreeSums,
)

IDS = ("ours-audit-algorithms", "ours-audit-truth")
COUNTERS = {"BinaryTree", "LogarithmicCounter", "HybridCounter", "AdaptiveTree"}


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(IDS, preset="smoke", n_jobs=1)


def test_everything_that_the_package_has_is_audited():
    every = {*dpb.registry, *dpb.stopping_rules, *dpb.identifiers}
    cases, free = audit_cases(), free_cases()
    assert {*cases, *free, *NOT_AUDITED} == every | COUNTERS
    assert not set(cases) & set(free) and not set(NOT_AUDITED) & {*cases, *free}
    for name, case in cases.items():
        target = case.make(2.0)
        assert type(target).__name__ == name and target.guarantee.is_private
    for name, case in free.items():
        target = case.make(math.inf)
        assert type(target).__name__ == name and not target.guarantee.is_private
    for name in NOT_AUDITED:
        assert not dpb.registry[name]().guarantee.is_private


def test_an_algorithm_that_joins_the_registry_is_audited(monkeypatch):
    class Newcomer(dpb.DPSE):
        pass

    monkeypatch.setitem(dpb.registry, "Newcomer", Newcomer)
    case = audit_cases()["Newcomer"]
    assert case.method == "runs" and isinstance(case.make(1.0), Newcomer)
    assert group_of("Newcomer") == "regret"


def test_all_bounds_of_the_book_hold_together():
    cells = [cell for name in IDS for cell in EXPERIMENTS[name].cells("paper")]
    assert {cell.failure for cell in cells} == {FAILURE}
    assert FAILURE * sum(cell.n_runs for cell in cells if cell.method == "runs") < 1e-6


def test_no_audit_finds_more_than_is_accounted_for(smoke):
    verdicts = set()
    for name in IDS:
        for summary in smoke.subset(name).summaries():
            assert summary.epsilon_most <= summary.accounted * (1 + 1e-6)
            assert summary.accounted <= summary.declared * (1 + 1e-6)
            assert summary.epsilon_most <= summary.ceiling
            verdicts.add(summary.verdict)
    assert verdicts == {"acquitted", "nothing declared"}


def test_a_bound_above_what_is_declared_convicts(smoke):
    summary = next(s for s in smoke.subset(IDS[0]).summaries() if s.method == "runs")
    higher = dataclasses.replace(summary, epsilon_most=summary.declared + 1e-3)
    assert higher.verdict == "convicted"
    exact = dataclasses.replace(higher, method="exact", epsilon_most=summary.declared * (1 + 1e-9))
    assert exact.verdict == "acquitted"


# ------------------------------------------------------------------------- mechanisms of truth


@pytest.mark.statistical
def test_a_tree_drawn_at_once_has_the_law_of_the_counter():
    pair = TreeSums(1.0, 6).pair
    n_runs, rng = 2000, np.random.default_rng(1)
    at_once = TreeSums(1.0, 6).outputs(pair.neighbour, n_runs, rng).values
    counted = subject_of(BinaryTree(1.0, 6)).outputs(pair.neighbour, n_runs, rng).values
    broken = TreeSums(2.0, 6).outputs(pair.neighbour, n_runs, rng).values
    columns = [lambda v, j=j: v[:, j] for j in range(6)]
    columns += [lambda v: v[:, 5] - v[:, 3], lambda v: v[:, 2] - v[:, 1]]
    shares = 1 / (2 * len(columns))
    assert all(same_law(c(at_once), c(counted), shares) for c in columns)
    assert not all(same_law(c(broken), c(counted), shares) for c in columns)


@pytest.mark.statistical
def test_halting_drawn_at_once_has_the_law_of_the_rule():
    known = HaltingTime(4.0)
    rng, table = np.random.default_rng(2), known.pair.table
    at_once = known.outputs(table, 1000, rng).values[:, 0]
    found = StoppingSubject(known.rule).outputs(table, 1000, rng).values
    played = np.where(np.isnan(found[:, 1]), 0.0, found[:, 0])
    assert same_law(at_once, played)
    other = HaltingTime(4.0, beta=0.5)
    assert not same_law(other.outputs(table, 1000, rng).values[:, 0], played)


@pytest.mark.statistical
def test_releases_and_reports_have_their_laws():
    rng = np.random.default_rng(3)
    noise = Releases(2.0, 4).outputs(np.zeros((1, 1)), 5000, rng).values
    assert stats.kstest(noise[:, 1], stats.laplace(scale=2.0).cdf).statistic < one_sample_limit(
        5000, 0.5
    )
    assert stats.kstest(noise[:, 1], stats.laplace(scale=1.0).cdf).statistic > one_sample_limit(
        5000, 0.5
    )
    reports = RandomisedResponse(1.0).outputs(np.ones((1, 1)), 50_000, rng).values
    kept = math.e / (1 + math.e)
    error = math.sqrt(math.log(2 / 5e-7) / (2 * 50_000))  # Hoeffding
    assert abs(reports.mean() - kept) < error < abs(reports.mean() - 0.5)


def test_truths_of_simple_mechanisms():
    assert Releases(1.0).truth() == RandomisedResponse(1.0).truth() == 1.0 == TreeSums(1.0).truth()
    # one release: δ = 1 − exp((ε − e)/2)
    assert Releases(1.0).truth(0.01) == pytest.approx(1 + 2 * math.log1p(-0.01), abs=1e-6)
    p = math.e / (1 + math.e)
    assert RandomisedResponse(1.0).truth(0.1) == pytest.approx(math.log((p - 0.1) / (1 - p)))
    assert EliminationEpoch(1.0).truth() < 1.0
    for target in (HaltingTime(4.0), EliminationEpoch(1.0)):
        with pytest.raises(ValueError, match="delta=0.1 has no known truth; allowed: 0"):
            target.truth(0.1)
    with pytest.raises(ValueError, match="look=5 .* allowed: a look whose threshold"):
        HaltingTime(1.0, look=5)


def test_the_truth_of_a_halting_time_is_that_of_its_streams():
    known = HaltingTime(4.0)
    loss = dpb.privacy.privacy_loss(known.rule, known.pair.table[0], known.pair.neighbour[0])
    assert known.truth() == pytest.approx(float(np.abs(loss.log_ratio).max()))
    assert 0 < known.truth() < known.epsilon / 6


def test_what_is_declared_for_truths_is_enough():
    for target, delta in known_truths().values():
        assert 0 < target.truth(delta) <= target.guarantee.epsilon
        assert target.pair.change in (1.0, 2.0)


# ----------------------------------------------------------------------------------- accounting


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 13, 32])
def test_a_hybrid_counter_is_accounted_for_release_by_release(length):
    """An element is in the sums that its noise variables belong to: follow them by hand."""
    counter = HybridCounter(1.0)
    for element in range(1, length + 1):
        expected = []
        for n in range(element, length + 1):
            power = 1 << (n.bit_length() - 1)
            if n == power:
                if n // 2 < element:
                    expected.append(0.5)
            elif element > power and n - (n & -n) < element:
                expected.append(0.5 / (n.bit_length() - 1))
        assert sorted(hybrid_losses(element, length, counter)) == pytest.approx(sorted(expected))


def test_accounts():
    assert accounted(BinaryTree(1.0, 8), 8) == 1.0
    assert accounted(BinaryTree(1.0, 16), 8) == pytest.approx(0.8)
    assert accounted(AdaptiveTree(2.0, 8), 8) == 2.0
    assert accounted(LogarithmicCounter(1.0), 8) == 1.0
    assert accounted(dpb.DPUCB(epsilon=1.0), 16) == pytest.approx(0.8)
    assert accounted(dpb.DPUCB(epsilon=1.0, variant="mishra-thakurta"), 16) == pytest.approx(0.4)
    assert accounted(dpb.DPUCBBound(epsilon=1.0), 3) == 0.5  # one reward of an arm, one block
    assert accounted(dpb.DPUCBHybrid(epsilon=1.0), 16) == 1.0
    assert accounted(dpb.DPNAS(1.0, 0.5, 0.05), 12) < 1.0
    assert accounted(dpb.UCB(), 16) == math.inf
    assert worst_element(HybridCounter(1.0), 8) == 3


def test_what_has_no_randomness_is_refuted_by_one_run_of_each():
    pair = certain_pair(dpb.UCB(), 16)
    first, second = (
        subject_of(dpb.UCB(), 16).outputs(table, 1, np.random.default_rng(0)).actions
        for table in (pair.table, pair.neighbour)
    )
    assert not np.array_equal(first, second) and abs(pair.change) == 1
    assert certain_pair(dpb.NAS(0.5, 0.05), 4) is None
    cell = AuditCell(dpb.NAS(0.5, 0.05), "certain", 4, 0, 0, 0.0, FAILURE)
    with pytest.raises(ValueError, match="shows nothing of 4 rewards; allowed: more"):
        cell.play(np.random.SeedSequence(0).spawn(1))


def test_cells_refuse_what_they_cannot_do():
    with pytest.raises(ValueError, match="target='UCB' cannot be played; allowed: a config"):
        AuditCell("UCB", "runs", 8, 100, 0, 0.0, FAILURE)
    with pytest.raises(ValueError, match="method='guess'"):
        AuditCell(dpb.UCB(), "guess", 8, 100, 0, 0.0, FAILURE)
    with pytest.raises(ValueError, match="audit_runs=5"):
        AuditCell(dpb.UCB(), "exact", 8, 5, 0, 0.0, FAILURE)
    cell = AuditCell(dpb.DPUCB(epsilon=1.0), "exact", 0, 0, 0, 0.0, FAILURE)
    with pytest.raises(ValueError, match="has no exact audit; allowed: method='runs'"):
        cell.play(np.random.SeedSequence(0).spawn(1))


# ------------------------------------------------------------------------------- data, figures


@pytest.mark.parametrize("name", IDS)
def test_data_goes_to_text_and_back(smoke, tmp_path, name):
    part = smoke.subset(name)
    experiments.write(part, tmp_path)
    data = experiments.load(name, tmp_path)
    for stored, fresh in zip(data.summaries, part.summaries(), strict=True):
        assert stored.same_as(fresh) and stored.verdict == fresh.verdict
    for stored, fresh in zip(data.replicates, part.replicates(), strict=True):
        assert stored.same_as(fresh) and stored.n_runs == fresh.n_runs
        assert stored.headline()[0].tolist() == fresh.headline()[0].tolist()
    assert experiments.compare(part.replicates(), data.replicates).name == "identical"
    changed = dataclasses.replace(data.summaries[0], epsilon_lower=9.0)
    assert not changed.same_as(data.summaries[0])
    counts = data.replicates[0].counts + 1
    assert not dataclasses.replace(data.replicates[0], counts=counts).same_as(data.replicates[0])


def test_stored_audits_are_made_again(smoke, tmp_path):
    experiments.write(smoke.subset(IDS[1]), tmp_path)
    check = experiments.spot_check(IDS[1], n_cells=3, folder=tmp_path)
    assert check.passed and check.kind == "bits"


def test_a_found_table_can_be_audited_again(smoke):
    part = smoke.subset(IDS[0])
    groups = [g for g in part.replicates() if g.table[0]]
    assert groups
    for group in groups:
        rows = [[int(x) for x in word] for word in str(group.table[0]).split()]
        arm, pull = group.counts[0, -2:]
        pair = TablePair(rows, arm, pull, 1 - rows[arm][pull])
        assert pair.table.shape == (2, group.labels.n_pulls)


def test_figures(smoke):
    for name in IDS:
        figure = plotting.draw(smoke.subset(name))
        titles = EXPERIMENTS[name].panels
        drawn = [p for p in titles if name == IDS[1] or p != "c"]
        assert len(figure.axes) == len(drawn)
        plt.close(figure)
    figure = plotting.audit_figure(smoke.subset(IDS[0]), panels=["b"])
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert len(names) == len(audit_cases()) and {"binary tree", "DP-SE", "DP-LRE"} <= set(names)
    plt.close(figure)
    with pytest.raises(ValueError, match="panels='c' is unknown; allowed: 'a', 'b'"):
        plotting.audit_figure(smoke.subset(IDS[0]), panels=["c"])
    other = experiments.run("ours-budget-split", "smoke")
    with pytest.raises(ValueError, match="is on regret; allowed: an experiment on audits"):
        plotting.audit_figure(other)
