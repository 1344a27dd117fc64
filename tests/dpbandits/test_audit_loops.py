"""What runs in compiled loops under audit is the algorithm: run by run, on the same generator."""

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.auditing import lazy as audit_lazy
from dpbandits.auditing import subjects as audit_subjects
from dpbandits.auditing.subjects import subject_of
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter
from dpbandits.regret.lazy_sampling import largest_draw

N_PULLS, RUNS = 20, 60
LAZY = [
    dpb.AnytimeLazyUCB(2.0),
    dpb.AdaPUCB(2.0, eta=0.5),
    dpb.AdaPUCB(float("inf"), alpha=1.5),
    dpb.AdaPKLUCB(4.0, alpha=1.2),
    dpb.DPKLUCB(4.0, slack=0.5),
    dpb.DPIMED(2.0),
    dpb.DPIMED(2.0, eta=0.2, calibrated=False),
    dpb.LazyDPTS(4.0),
]
TOP_TWO = [
    dpb.TopTwo(0.5),
    dpb.DPTT(2.0, 0.5),
    dpb.DPTT(1.0, 0.9, "union", eta=0.4, leader_share=0.3, costs="plain", exploration=0.5, first=2),
    dpb.AdaPTT(2.0, 0.5),
    dpb.AdaPTT(8.0, 0.9, "heuristic", leader_share=0.7),
    dpb.AdaPTT(8.0, 0.5, "separate"),
    dpb.AdaPTTStar(4.0, 0.9),
]
COUNTERS = [
    BinaryTree(1.0, 29),
    AdaptiveTree(1.0, 20, first_bound=2.0, growth=0.5),
    HybridCounter(1.0),
    HybridCounter(1.0, "full"),
    LogarithmicCounter(1.0),
]


def plain(target):
    """The same, as a subclass: what is no class of ours is run by its own methods."""
    return type("Plain", (type(target),), {})(**vars(target))


def both(target, table, n_runs=RUNS):
    """Outputs of the compiled loop and of the algorithm's own, and the generators' next numbers."""
    found = []
    for each in (target, plain(target)):
        rng = np.random.default_rng(3)
        found.append((subject_of(each, N_PULLS).outputs(table, n_runs, rng), rng.random()))
    return found


@pytest.mark.parametrize("n_arms", [2, 3])
@pytest.mark.parametrize("algorithm", LAZY, ids=repr)
def test_lazy_batches(algorithm, n_arms):
    table = np.random.default_rng(1).random((n_arms, N_PULLS)).round(1)
    (loop, after), (own, then) = both(algorithm, table)
    assert np.array_equal(loop.actions, own.actions) and after == then
    assert len(np.unique(own.actions, axis=0)) > 2 or algorithm.epsilon == float("inf")


@pytest.mark.parametrize("algorithm", [dpb.DPKLUCB(4.0), dpb.DPIMED(4.0)], ids=repr)
def test_choices_that_are_looked_up(algorithm, monkeypatch):
    """Of two arms, with tables that are empty and filled; control: tables of nonsense are read."""
    table = np.vstack([np.zeros(N_PULLS), np.ones(N_PULLS)])
    tables = audit_lazy._memory.__wrapped__(algorithm, 24)
    monkeypatch.setattr(audit_lazy, "_memory", lambda *_: tables)
    (loop, _), (own, _) = both(algorithm, table, 300)
    again = subject_of(algorithm, N_PULLS).outputs(table, 300, np.random.default_rng(3))
    assert np.array_equal(loop.actions, own.actions) and np.array_equal(again.actions, own.actions)
    tables[0][:] = 0
    wrong = subject_of(algorithm, N_PULLS).outputs(table, 300, np.random.default_rng(3))
    assert not np.array_equal(wrong.actions, own.actions)


@pytest.mark.parametrize("n_arms", [2, 3])
@pytest.mark.parametrize("algorithm", TOP_TWO, ids=repr)
def test_top_two(algorithm, n_arms):
    table = (np.random.default_rng(2).random((n_arms, N_PULLS)) < 0.5).astype(float)
    (loop, after), (own, then) = both(algorithm, table)
    assert np.array_equal(loop.values, own.values) and np.array_equal(loop.actions, own.actions)
    assert after == then
    assert len(np.unique(own.actions, axis=0)) > 2 or isinstance(algorithm, dpb.TopTwo)


def test_top_two_stops_and_is_stopped():
    """The runs above end in both ways: some recommend, and some use the table up."""
    table = np.vstack([np.ones(200), np.zeros(200)])
    for algorithm in (dpb.DPTT(4.0, 0.9), dpb.AdaPTT(8.0, 0.5, "separate"), dpb.TopTwo(0.1)):
        for rewards in (table, table[:, :4]):
            (loop, _), (own, _) = both(algorithm, rewards, 20)
            assert np.array_equal(loop.values, own.values)
            assert (own.values[:, 0] == (0 if rewards is table else -1)).any()


@pytest.mark.parametrize("counter", COUNTERS, ids=repr)
def test_counters(counter):
    """Sums of noises are added in another order, so that the last digits may differ."""
    stream = np.random.default_rng(4).random((1, N_PULLS))
    (loop, after), (own, then) = both(counter, stream)
    assert np.allclose(loop.values, own.values, rtol=1e-12, atol=1e-12) and after == then
    assert not np.allclose(loop.values[1:], own.values[:-1], atol=0.1)


def test_counters_refuse_what_they_refuse():
    with pytest.raises(ValueError, match="x=2.0 is out of range"):
        subject_of(BinaryTree(1.0, 4)).outputs(np.array([[1.0, 2.0]]), 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="longer than horizon=4"):
        subject_of(BinaryTree(1.0, 4)).outputs(np.ones((1, 5)), 3, np.random.default_rng(0))


def test_the_larger_of_two_draws():
    """The closed form is what the algorithm integrates."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        centres, deviations = rng.random(2), 0.5 ** rng.integers(1, 7, 2)
        error = audit_lazy.likelier_of_two(centres, deviations) - largest_draw(centres, deviations)
        assert np.abs(error).max() < 1e-9


def test_each_class_has_its_loop(monkeypatch):
    """The comparisons above are of two things."""

    def fail(*_):
        raise AssertionError("a compiled loop")

    for name in ("lazy_actions", "top_two_outputs", "counter_sums"):
        monkeypatch.setattr(audit_subjects, name, fail)
    rng = np.random.default_rng(0)
    for target in [*LAZY, *TOP_TWO, *COUNTERS]:
        table = np.zeros((1 if target in COUNTERS else 2, 8))
        with pytest.raises(AssertionError, match="a compiled loop"):
            subject_of(target).outputs(table, 1, rng)
        subject_of(plain(target)).outputs(table, 1, rng)
    batchwise = dpb.LazyDPTS(1.0, draws="batches")
    assert subject_of(batchwise).outputs(np.zeros((2, 8)), 2, rng).actions.shape == (2, 8)
