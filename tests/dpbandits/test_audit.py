"""The auditor itself: its bounds hold and come near to the truth; its runs are the algorithm's."""

import math

import numpy as np
import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing import (
    TablePair,
    audit,
    audit_elimination,
    audit_exactly,
    ceiling,
    subject_of,
    two_arm_epochs,
)
from dpbandits.auditing.elimination_laws import log_loss
from dpbandits.auditing.verdicts import NOT_FOUND
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import BinaryTree
from dpbandits.privacy import delta_at
from dpbandits.rewards.sources import FixedRewards
from dpbandits.rewards.tables import Tables

ONE = TablePair([[0.0]], 0, 0, 1.0)
HALF, FIFTY = (TablePair(np.zeros((2, 16)), 0, 0, value) for value in (0.5, 50.0))
TWO, LONG = TablePair([[1.0, 2.0]], 0, 0, 0.0), TablePair([[1.0] * 5], 0, 0, 0.0)
LOSS = TablePair(np.zeros((2, 16)), 0, 0, -1.0)
PROMISE = PrivacyGuarantee("central", 1.0)


class Untabled(dpb.UCB):
    """What cannot be run on a table, as it says."""

    tables = None


def releases(epsilon, count=1):
    """A function that releases one reward, each time with its share of ε."""

    def release(rewards, rng):
        return rewards.pull(0) + rng.laplace(0.0, count / epsilon, count)

    return release


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.statistical
def test_the_bound_holds_and_is_near_for_one_release(epsilon):
    given = {"n_runs": 20_000, "failure": FALSE_ALARM}
    declared, boast = (PrivacyGuarantee("central", c * epsilon) for c in (1.0, 0.7))
    found = audit(releases(epsilon), ONE, **given, guarantee=declared)
    assert found.verdict == NOT_FOUND and found.epsilon_lower > 0.75 * epsilon
    assert audit(releases(epsilon), ONE, **given, guarantee=boast).convicted, "control"


@pytest.mark.statistical
def test_many_releases_are_told_apart_together():
    """Five releases of loss 0.3 each: no single one shows more than 0.3."""
    promise = PrivacyGuarantee("central", 1.5)
    found = audit(releases(1.5, 5), ONE, 40_000, failure=FALSE_ALARM, guarantee=promise)
    assert 0.4 < found.epsilon_lower <= 1.5


@pytest.mark.statistical
def test_a_delta_is_taken_into_account():
    """Three releases of loss ½ each lose 1.5, and less beyond a δ."""
    epsilon = 0.5
    truth = delta_at(epsilon, [0.5] * 3).upper
    with_it, without = (PrivacyGuarantee("central", epsilon, delta) for delta in (truth, 0.0))
    given = {"n_runs": 20_000, "failure": FALSE_ALARM}
    found = audit(releases(1.5, 3), ONE, **given, guarantee=with_it)
    assert found.verdict == NOT_FOUND
    assert audit(releases(1.5, 3), ONE, **given, guarantee=without).convicted, "control"


@pytest.mark.statistical
def test_equal_tables_are_not_told_apart():
    pair = TablePair([[0.0] * 8, [1.0] * 8], 0, 7, 1.0)  # a reward that a run hardly reaches
    found = audit(dpb.UCB(), pair, 1000, failure=FALSE_ALARM)
    assert found.epsilon_lower == 0.0


def test_the_result_depends_on_the_seed_alone():
    subject, pair = dpb.DPUCBBound(2.0), TablePair([[0.0] * 8, [1.0] * 8], 0, 0, 1.0)
    for given in (pair, None):
        first, again, other = (audit(subject, given, 2000, seed) for seed in (5, 5, 6))
        assert str(first) == str(again) and first.epsilon_lower == again.epsilon_lower
        assert first.masses == again.masses != other.masses


def flat(rewards, rng):
    """Pull each arm twice and say which was better: no privacy at all."""
    sums = [rewards.pull(arm) + rewards.pull(arm) for arm in (0, 1)]
    return int(sums[1] > sums[0])


def test_a_function_can_be_audited():
    found = audit(flat, None, 600, guarantee=PrivacyGuarantee("central", 2.0))
    assert found.convicted and found.masses == (1.0, 0.0)
    assert found.epsilon_lower == pytest.approx(ceiling(found.runs, 1e-6))
    assert str(found).startswith("flat: violation found\ndeclared: ε = 2")
    assert "of probability 1, and 0 on the neighbour, in" in str(found)


def test_tables_are_read_in_the_order_of_the_pulls():
    """A reward that turns up at an arm's fifth pull changes nothing before its fifth pull."""
    table = np.zeros((2, 30))
    other = table.copy()
    other[0, 4] = 1.0
    subject, read = subject_of(dpb.UCB(), 30), np.zeros(3, dtype=np.int64)
    first, second = (
        subject.once(each, read, 0)(np.random.default_rng(0))[0] for each in (table, other)
    )
    fifth = int(np.flatnonzero(first == 5)[0])
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TablePair([[0, 1], [0]], 0, 0, 1), "table=.* is not a table; allowed"),
        (lambda: TablePair([[0, 1]], 1, 0, 1), "arm=1 is out of range"),
        (lambda: TablePair([[0, 1]], 0, 2, 1), "pull=2 is out of range"),
        (lambda: TablePair([[0, 1]], 0, 0, math.inf), "value=inf is out of range"),
        (lambda: TablePair([[0, 1]], 0, 1, 1), "value=1 is already the table's entry"),
        (lambda: FixedRewards([[0, 1]]).total(0, 3), "has 2 rewards, and 3 are asked for"),
        (lambda: FixedRewards([[0, 1]]).pull(1), "arm=1 is out of range"),
        (lambda: FixedRewards([[0, 1]], promise=3), "promise=3 is not a pair"),
        (lambda: FixedRewards([[0, 1]], promise=(2.0, 1.0)), "promise.0.=2.0 is out of range"),
        (lambda: audit(3, ONE), "target=3 cannot be audited"),
        (lambda: audit(flat, ONE, 15), "n_runs=15 is out of range"),
        (lambda: audit(flat, ONE, failure=0.0), "failure=0.0 is out of range"),
        (lambda: subject_of(3), "target=3 cannot be audited"),
        (lambda: subject_of(Untabled()), "declares that it cannot be run on a table; allowed"),
        (lambda: audit(dpb.LDPRSE(2.0, schedule="one-bit"), LOSS, 99), "reward -1; allowed: at"),
        (lambda: FixedRewards([[0, 1]]).total(0, -1), "size=-1 is out of range"),
        (lambda: audit(dpb.AdaPUCB(1.0), FIFTY, 99), "the reward 50; allowed: from 0"),
        (lambda: audit(dpb.DPTT(1.0, 0.1), FIFTY, 99), "the reward 50; allowed"),
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
        (lambda rewards, rng: rng.random(), "nothing tested"),
        (lambda rewards, rng: rewards.total(0, 2) + rng.laplace(), "no violation found"),
        (lambda rewards, rng: rewards.pull(0) + rewards.pull(0), "violation found"),
        (lambda rewards, rng: math.inf if rewards.total(0, 2) else 1.0, "violation found"),
    ],
    ids=["constant", "random", "noisy", "raw", "infinite"],
)
@pytest.mark.statistical
def test_runs_that_all_do_the_same_are_no_acquittal(released, verdict):
    """What ends before it looks at a reward tests nothing, whatever it would do later."""
    found = audit(released, TablePair([[0, 0, 0, 0]], 0, 1, 1.0), 999, guarantee=PROMISE)
    assert found.verdict == verdict and found.constant == (verdict == "nothing tested")
    assert ("did the same" in str(found)) == found.constant


def threshold_without_noise(rewards, rng):
    """The sum of two rewards, whose noise a reward near .7 turns off."""
    x = [rewards.pull(0), rewards.pull(0)]
    return sum(x) + (rng.laplace() if all(abs(each - 0.7) > 0.05 for each in x) else 0.0)


@pytest.mark.statistical
def test_values_of_rewards_can_be_named():
    """Each conviction has a probability of 1e-6 at most if there is nothing to find."""
    blind, seeing = (
        audit(threshold_without_noise, n_runs=2000, guarantee=PROMISE, values=values)
        for values in (None, [0.7])
    )
    assert blind.verdict == "no violation found" and 0.7 not in blind.coverage.values
    assert seeing.verdict == "violation found" and 0.7 in seeing.coverage.values
    honest = audit(lambda rewards, rng: rewards.total(0, 2) + rng.laplace(), n_runs=2000,
                   guarantee=PROMISE, values=(0.7, 0.3))  # fmt: skip
    assert honest.verdict == "no violation found" and {0.3, 0.7} <= honest.coverage.values
    with pytest.raises(ValueError, match="values="):
        audit(threshold_without_noise, n_runs=2000, guarantee=PROMISE, values=[1.2])


@pytest.mark.parametrize("epsilon", [0.4, 2.0])
@pytest.mark.statistical
def test_a_test_stops_as_soon_as_it_convicts(epsilon):
    """On the same tapes as one that goes on; what keeps its promise (ε = 0.4) runs to the end.

    Each conviction has a probability of 1e-6 at most if there is nothing to find.
    """
    given = {"n_runs": 6000, "failure": FALSE_ALARM, "guarantee": PROMISE}
    first, whole = (audit(releases(epsilon), ONE, all_runs=each, **given) for each in (False, True))
    n, enough = first.runs, -math.log(FALSE_ALARM)
    assert whole.runs == whole.planned == first.planned and not whole.stopped
    assert first.log_wealth.tolist() == whole.log_wealth[:n].tolist()
    assert first.searched == whole.searched and first.event == whole.event
    assert first.verdict == whole.verdict == ("violation found" if epsilon > 1 else NOT_FOUND)
    assert first.stopped == first.convicted and (n < whole.planned) == first.convicted
    assert (first.log_wealth[:-1] < enough).all() and n == len(first.log_wealth)
    if first.convicted:
        assert first.log_wealth[-1] >= enough and 1.0 < first.epsilon_lower < whole.epsilon_lower
    else:
        assert first.epsilon_lower == whole.epsilon_lower


@pytest.mark.parametrize("given", [{"n_arms": 2}, {"n_pulls": 4}, {"values": [0.5]}])
def test_what_is_for_a_search_is_refused_where_none_is_made(given):
    (name,) = given
    with pytest.raises(ValueError, match=f"^{name}=.* is for a search .* a pair is given"):
        audit(flat, ONE, 99, guarantee=PROMISE, **given)
    with pytest.raises(ValueError, match=f"^{name}=.* is integrated; allowed: without"):
        audit(dpb.LDPRSE(1.0), **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_arms": 0}, "n_arms=0 is out of range"),
        ({"least": 0}, "least=0 is out of range"),
        ({"most": 0}, "most=0 is out of range"),
        ({"low": 1.0}, "low=1.0, high=1.0 are not a range"),
        ({"high": math.inf}, "low=0.0, high=inf are not a range"),
        ({"between": (0.5, 1.5)}, r"between=\(0.5, 1.5\) is out of range; allowed: numbers from 0"),
        ({"between": "half"}, "between='half'"),
    ],
)
def test_tables_are_validated_where_they_are_made(given, message):
    with pytest.raises(ValueError, match=message):
        Tables(**({"n_arms": 2, "least": 3} | given))
    assert Tables(1, 1, between=0.5).between == (0.5,)
