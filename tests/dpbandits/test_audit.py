"""The auditor itself: its bounds hold and come near to the truth; its runs are the algorithm's."""

import itertools
import math

import numpy as np
import pytest
from joblib import parallel_config
from statistical import FALSE_ALARM, clopper_pearson

import dpbandits as dpb
from dpbandits.auditing import (
    FunctionSubject,
    TablePair,
    audit,
    audit_elimination,
    audit_exactly,
    search,
    subject_of,
    two_arm_epochs,
)
from dpbandits.auditing.elimination_laws import log_loss
from dpbandits.auditing.events import Features, Tally, choose_event
from dpbandits.auditing.searching import candidate_pairs
from dpbandits.auditing.truths import Releases
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import BinaryTree
from dpbandits.privacy import delta_at
from dpbandits.rewards.streams import FixedRewards

ONE = TablePair([[0.0]], 0, 0, 1.0)
HALF, FIFTY = (TablePair(np.zeros((2, 16)), 0, 0, value) for value in (0.5, 50.0))
TWO, LONG = TablePair([[1.0, 2.0]], 0, 0, 0.0), TablePair([[1.0] * 5], 0, 0, 0.0)
LOSS = TablePair(np.zeros((2, 16)), 0, 0, -1.0)
PROMISE = PrivacyGuarantee("central", 1.0)


class Untabled(dpb.UCB):
    """What cannot be run on a table, as it says."""

    tables = None


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.statistical
def test_the_bound_holds_and_is_near_for_one_release(epsilon):
    found = audit(Releases(epsilon), ONE, failure=FALSE_ALARM)
    assert found.verdict == "acquitted" and found.epsilon_lower > 0.8 * epsilon
    boast = audit(Releases(epsilon), ONE, guarantee=PrivacyGuarantee("central", 0.8 * epsilon))
    assert boast.verdict == "convicted", "control"


@pytest.mark.statistical
def test_many_releases_are_told_apart_together():
    """Five releases of loss 0.3 each: no single one shows more than 0.3."""
    found = audit(Releases(1.5, count=5), ONE, 60_000, failure=FALSE_ALARM)
    assert 0.5 < found.epsilon_lower <= 1.5


@pytest.mark.statistical
def test_a_delta_is_taken_into_account():
    subject, epsilon = Releases(1.5, count=3), 0.7
    truth = delta_at(epsilon, [0.5] * 3).upper
    with_it, without = (PrivacyGuarantee("central", epsilon, delta) for delta in (truth, 0.0))
    found = audit(subject, ONE, failure=FALSE_ALARM, guarantee=with_it)
    assert found.verdict == "acquitted"
    assert 0.25 * truth < found.tally.delta_lower(epsilon) <= truth
    assert audit(subject, ONE, guarantee=without).verdict == "convicted", "control"


@pytest.mark.parametrize(
    ("hits", "runs", "misses", "others"), [(700, 1000, 200, 900), (5, 50, 0, 60), (9, 9, 3, 9)]
)
def test_a_tally_has_the_bounds_of_clopper_and_pearson(hits, runs, misses, others):
    tally = Tally(hits, runs, misses, others, FALSE_ALARM)
    low, _ = clopper_pearson(hits, runs)
    _, high = clopper_pearson(misses, others)
    assert tally.epsilon_lower() == pytest.approx(max(math.log(low / high), 0.0), rel=1e-6)
    assert tally.delta_lower(0.5) == pytest.approx(max(low - math.exp(0.5) * high, 0.0), rel=1e-6)
    assert tally.epsilon_lower() <= tally.ceiling


def test_tallies_of_everything_and_nothing():
    """The ceiling is that of all of n runs and none of m: x − log(1 − (f/2)^(1/m))."""
    expected = math.log(0.005) / 1000 - math.log(1 - 0.005 ** (1 / 2000))
    assert Tally(1, 1000, 7, 2000, 0.01).ceiling == pytest.approx(expected)
    nothing = Tally(0, 10, 10, 10, 0.1)
    assert nothing.epsilon_lower() == nothing.delta_lower(0.0) == 0.0


@pytest.mark.statistical
def test_equal_tables_are_not_told_apart():
    pair = TablePair([[0.0] * 8, [1.0] * 8], 0, 7, 1.0)  # a reward that a run hardly reaches
    found = audit(dpb.UCB(), pair, 1000, failure=FALSE_ALARM)
    assert found.epsilon_lower == 0.0


def test_the_result_depends_on_the_seed_alone(monkeypatch):
    """Runs come in parts, here three on each table, that may be shared among workers."""
    monkeypatch.setattr("dpbandits.auditing.runs._PART", 4000)
    subject, pair = dpb.DPUCBBound(2.0), TablePair([[0.0] * 8, [1.0] * 8], 0, 0, 1.0)
    with parallel_config(backend="threading"):
        first, again, other = (
            audit(subject, pair, 10_000, seed, n_jobs=j) for seed, j in ((5, 1), (5, 2), (6, 1))
        )
    assert first.tally == again.tally and first.epsilon_lower == again.epsilon_lower
    assert first.tally != other.tally
    assert str(first) == str(again)


def flat(rewards, rng):
    """Pull each arm twice and say which was better: no privacy at all."""
    sums = [rewards.pull(arm) + rewards.pull(arm) for arm in (0, 1)]
    return int(sums[1] > sums[0])


def test_a_function_can_be_audited():
    pair = search(flat, n_arms=2, n_pulls=2, count=20, n_runs=200)  # and other random numbers below
    found = audit(flat, pair, 2000, guarantee=PrivacyGuarantee("central", 2.0))
    assert found.epsilon_lower == pytest.approx(found.tally.ceiling)
    assert str(found).startswith("flat: convicted\ndeclared: ε = 2")
    assert f"seen: {found.tally.hits} of {found.tally.runs} runs, and" in str(found)
    outputs = FunctionSubject(flat).outputs(pair.table, 3, np.random.default_rng(0))
    assert outputs.actions.tolist() == [[0, 0, 1, 1]] * 3 and outputs.values.shape == (3, 2)


def test_a_search_finds_better_tables_than_the_first():
    subject = subject_of(dpb.DPUCBHybrid(8.0, literal=True))
    first = candidate_pairs(2, 10, np.random.default_rng(0), 1)[0]
    best = search(subject, n_pulls=10, count=20, n_runs=500)
    bounds = [audit(subject, pair, 40_000, seed=9).epsilon_lower for pair in (first, best)]
    assert bounds[1] > bounds[0]
    for pair in candidate_pairs(3, 6, np.random.default_rng(1), 40):
        assert np.abs(pair.table - pair.neighbour).sum() == 1
        assert np.isin(pair.table, (0, 1)).all()


def test_tables_are_read_in_the_order_of_the_pulls():
    """A reward that turns up at an arm's fifth pull changes nothing before its fifth pull."""
    table = np.zeros((2, 30))
    other = table.copy()
    other[0, 4] = 1.0
    subject = subject_of(dpb.UCB(), 30)
    first, second = (
        subject.outputs(each, 1, np.random.default_rng(0)).actions[0] for each in (table, other)
    )
    fifth = np.flatnonzero(first == 0)[4]
    assert first[: fifth + 1].tolist() == second[: fifth + 1].tolist()
    assert first.tolist() != second.tolist()


def test_the_loss_of_laws():
    assert log_loss(np.log([0.5, 0.5]), np.log([0.25, 0.75])) == pytest.approx(math.log(2))
    with np.errstate(divide="ignore"):
        assert log_loss(np.log([1.0, 0.0]), np.log([0.5, 0.5])) == math.inf
        assert log_loss(np.log([1.0, 0.0]), np.log([1.0, 0.0])) == 0.0
    assert audit_exactly(dpb.UCB()) is None and audit_exactly(dpb.DPUCB(1.0)) is None
    heavy = dpb.instances.heavy_two_point(0.5, order=0.9)  # rewards of DP-SE are bounded without it
    losses = [audit_elimination(dpb.DPSE(0.5), instance=i).epsilon_lower for i in (heavy, None)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("n_values", [2, 5, 6, 7, 9])
def test_differences_of_few_values_are_all_taken_of_many_those_of_neighbours(n_values, rng):
    values = rng.normal(size=(64, n_values))
    pairs = Features.fit(values[:32], values[32:], n_values).pairs
    reach = n_values if n_values <= 6 else 1
    expected = [(i, j) for i, j in itertools.combinations(range(n_values), 2) if j - i <= reach]
    assert list(pairs) == expected


def test_what_is_not_released_is_a_value_of_its_own():
    values = np.array([[1.0, np.nan], [2.0, 0.5], [1.0, np.nan], [2.0, 0.7]] * 50)
    features = Features.fit(values, values, 2)
    bins = features.digits(features.of(values), 1, coarse=False)
    assert bins[0] == bins[2] and len({*bins[:4].tolist()}) == 3
    event, score = choose_event(values, values, 2, 0.0, 0.01)
    assert score <= 0.0 and event.contains(values).dtype == bool


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TablePair([[0, 1], [0]], 0, 0, 1), "table=.* is not a table; allowed"),
        (lambda: TablePair([[0, 1]], 1, 0, 1), "arm=1 is out of range"),
        (lambda: TablePair([[0, 1]], 0, 2, 1), "pull=2 is out of range"),
        (lambda: TablePair([[0, 1]], 0, 0, math.inf), "value=inf is out of range"),
        (lambda: TablePair([[0, 1]], 0, 1, 1), "value=1 is what the table has there"),
        (lambda: FixedRewards([[0, 1]]).total(0, 3), "has 2 rewards, and 3 are asked for"),
        (lambda: FixedRewards([[0, 1]]).pull(1), "arm=1 is out of range"),
        (lambda: FixedRewards([[0, 1]], promise=3), "promise=3 is not a pair"),
        (lambda: FixedRewards([[0, 1]], promise=(2.0, 1.0)), "promise.0.=2.0 is out of range"),
        (lambda: audit(3, ONE), "target=3 cannot be audited"),
        (lambda: audit(flat, ONE, 15), "n_runs=15 is out of range"),
        (lambda: audit(flat, ONE, failure=0.0), "failure=0.0 is out of range"),
        (lambda: subject_of(3), "target=3 cannot be audited"),
        (lambda: subject_of(Untabled()), "cannot be run on a table, as it says; allowed"),
        (lambda: audit(dpb.LDPRSE(2.0, schedule="one-bit"), LOSS, 99), "reward -1; allowed: at"),
        (lambda: search(flat, count=0), "count=0 is out of range"),
        (lambda: search(flat, n_arms=0), "n_arms=0 is out of range"),
        (lambda: FixedRewards([[0, 1]]).total(0, -1), "size=-1 is out of range"),
        (lambda: audit(lambda r, g: [1.0] * g.integers(1, 3), ONE, 99), "allowed: always as many"),
        (lambda: audit(dpb.AdaPUCB(1.0), FIFTY, 99), "the reward 50; allowed: from 0"),
        (lambda: audit(dpb.DPTT(1.0, 0.1), FIFTY, 99), "the reward 50; allowed"),
        (lambda: audit(dpb.TopTwo(0.1), HALF, 99), "table has the reward 0.5; allowed: 0 or 1"),
        (lambda: audit(BinaryTree(1.0, 4), HALF, 99), "table has 2 arms; allowed: 1"),
        (lambda: audit(BinaryTree(1.0, 4), TWO, 99), "x=2.0 is out of range"),
        (lambda: audit(BinaryTree(1.0, 4), LONG, 99), "horizon=4"),
        (lambda: two_arm_epochs(dpb.DPRSE(1.0), 10), "no epochs that can be integrated"),
        (lambda: audit_elimination(dpb.DPSE(1.0), n_epochs=0), "n_epochs=0 is out of range"),
        (lambda: audit_elimination(dpb.DPSE(1.0), horizon=1), "horizon=1 is out of range"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("released", "verdict"),
    [
        (lambda rewards, rng: [rewards.pull(0) * 0, math.nan], "nothing tested"),
        (lambda rewards, rng: rng.random(), "acquitted"),
        (lambda rewards, rng: rewards.pull(0) + rewards.pull(0), "convicted"),
        (lambda rewards, rng: math.inf if rewards.total(0, 2) else 1.0, "convicted"),
    ],
    ids=["constant", "random", "raw", "infinite"],
)
@pytest.mark.statistical
def test_runs_that_all_do_the_same_are_no_acquittal(released, verdict):
    """What ends before it looks at a reward tests nothing, whatever it would do later."""
    found = audit(released, TablePair([[0, 0, 0, 0]], 0, 1, 1.0), 999, guarantee=PROMISE)
    assert found.verdict == verdict and found.constant == (verdict == "nothing tested")
    assert ("did the same" in str(found)) == found.constant
