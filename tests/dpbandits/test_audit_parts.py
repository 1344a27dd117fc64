"""The parts of an audit on cases that are worked out: bets, verdicts, laws that are integrated."""

import itertools
import math
import types

import numpy as np
import pytest
from scipy import integrate, stats

import dpbandits as dpb
from dpbandits.auditing import TablePair, audit_elimination, audit_exactly, two_arm_epochs
from dpbandits.auditing.auditor import _Test
from dpbandits.auditing.betting import (
    BETS,
    Wealth,
    betting_bound,
    ceiling,
    expected_bound,
    least_convicted,
)
from dpbandits.auditing.coverage import Coverage, places_of
from dpbandits.auditing.elimination_laws import elimination_law, heavy_plan, log_loss
from dpbandits.auditing.event_tree import Seen
from dpbandits.auditing.exact import audit_epoch, audit_look
from dpbandits.auditing.verdicts import Audit
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.rewards.heavy_instances import heavy_two_point

PAIR = TablePair([[0.0, 1.0], [1.0, 0.0]], 0, 0, 1.0)
PROMISE = PrivacyGuarantee("central", 1.0)

# ----------------------------------------------------------------------------------------- bets


def wealth(bound, likely, rare, delta):
    """The mean over the bets of ∏(1 + h·(e^(−b)·X − Y − δ)), as in `thm-audit`."""
    shares = [h / (1 + delta) for h in BETS]
    gains = [math.exp(-bound) * x - y - delta for x, y in zip(likely, rare, strict=True)]
    return sum(math.prod(1 + h * gain for gain in gains) for h in shares) / len(shares)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("failure", [0.5, 1e-3])
def test_at_the_bound_the_wealth_is_one_over_the_failure_probability(failure, delta):
    likely, rare = [1.0, 2.5, 0.3, 0.0] * 12, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 8
    bound = betting_bound(likely, rare, failure, delta)
    assert 0.0 < bound < 3.0
    assert wealth(bound, likely, rare, delta) == pytest.approx(1 / failure, rel=1e-9)
    assert betting_bound(rare, likely[:4] * 0 + [1.0] * 48, failure, delta) == 0.0


def test_pairs_may_be_counted_and_no_bound_is_above_sixty():
    likely, rare = [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]
    each = betting_bound(np.repeat(likely, [20, 3, 7]), np.repeat(rare, [20, 3, 7]), 0.1)
    assert betting_bound(likely, rare, 0.1, counts=[20, 3, 7]) == pytest.approx(each, abs=1e-12)
    assert betting_bound([1.0], [0.0], 0.1, counts=[1e40]) == pytest.approx(60.0)


def test_expected_counts_are_products():
    """Of 32 runs with P = 1/4 and Q = 1/8: 1, 7, 3 and 21."""
    likely, rare = (
        np.repeat([1.0, 1.0, 0.0, 0.0], [1, 7, 3, 21]),
        np.repeat([1, 0, 1, 0], [1, 7, 3, 21]),
    )
    for delta in (0.0, 0.02):
        found = expected_bound(0.25, 0.125, 32, 0.9, delta)
        assert found == pytest.approx(betting_bound(likely, rare, 0.9, delta), abs=1e-12) != 0.0
    assert ceiling(1, 0.1) == 0.0
    assert ceiling(50, 0.1) == pytest.approx(betting_bound(np.ones(50), np.zeros(50), 0.1))


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_coin_is_known_after_every_run(delta):
    """In parts as at once, and equal to the products."""
    likely, rare = np.tile([1.0, 2.5, 0.3, 0.0], 6), np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 4)
    coin = Wealth(1.2, delta)
    path = np.concatenate([coin.take(likely[k], rare[k]) for k in (slice(5), slice(5, None))])
    products = [wealth(1.2, likely[:n], rare[:n], delta) for n in range(1, 25)]
    assert np.exp(path) == pytest.approx(products, rel=1e-12)


def hits(n, side):
    """Runs that have the event on one side alone."""
    one, none = np.ones((n, 1)), np.zeros((n, 1))
    return Seen(*((one, none) if side == "likely" else (none, one)), np.ones(n))


class Played:
    """What stands for a program: it has these runs, in parts."""

    def __init__(self, *parts):
        self.parts, self.asked = parts, 0

    def sample_in_parts(self, *_):
        for part in self.parts:
            self.asked += 1
            yield part


EVENT = types.SimpleNamespace(contains=lambda outputs: outputs[:, 0] > 0.0)


@pytest.mark.parametrize("all_runs", [False, True])
def test_a_bet_that_was_won_stays_won(all_runs):
    """Of 300 runs the first convict, and the others take the coin back."""
    program, test = (
        Played(*map(hits, (100, 200), ("likely", "rare"))),
        _Test(PROMISE, 1e-3, all_runs),
    )
    test.run(program, 300, None, EVENT)
    worth = [wealth(1.0, [1.0] * n, [0.0] * n, 0.0) for n in range(1, 101)]
    first = next(n for n, each in enumerate(worth, 1) if each >= 1e3 * (1 + 1e-6))
    assert test.won == first < 100
    assert program.asked == (2 if all_runs else 1)
    assert len(test.likely) == len(test.log_wealth) == (300 if all_runs else first)
    assert test.bound == betting_bound(np.ones(first), np.zeros(first), 1e-3) > 1.0
    assert betting_bound(*np.repeat([[1, 0], [0, 1]], [100, 200], axis=1), 1e-3) == 0.0, (
        "at the end"
    )


def test_without_a_promise_no_test_stops():
    test = _Test(NO_PRIVACY, 1e-3, False)
    test.run(Played(hits(50, "likely")), 50, None, EVENT)
    assert test.won is None and len(test.likely) == 50 and test.bound > 1.0


# ------------------------------------------------------------------------------------- verdicts


def verdict(lower, guarantee=PROMISE, **more):
    return Audit("x", guarantee, PAIR, lower, "an event", **more).verdict


def test_what_declares_too_little_is_convicted_and_what_is_integrated_may_round():
    assert [verdict(lower) for lower in (0.0, 1.0, 1.0 + 1e-12)] == [
        *("no violation found", "no violation found", "violation found")
    ]
    integrated = [verdict(lower, kind="formula") for lower in (1.0 + 5e-10, 1.0 + 2e-9)]
    assert integrated == ["no violation found", "violation found"]
    assert verdict(5.0, constant=True) == "nothing tested"
    assert verdict(5.0, NO_PRIVACY, constant=True) == "nothing declared"


def test_an_audit_says_by_what_it_found_it():
    given = {"label": "x", "guarantee": PROMISE, "pair": PAIR, "epsilon_lower": 0.25}
    run = {"masses": (0.5, 0.125), "runs": 9, "searched": 4, "failure": 0.1}
    said = {
        "run": Audit(**given, event="e", **run, convictable=2 * math.log(4)),
        "few": Audit(**given, event="e", **run),
        "early": Audit(**(given | {"epsilon_lower": 1.5}), event="e", **run, planned=70),
        "broken": Audit(**(given | {"epsilon_lower": 1.5}), event="e", **run),
        "integrated": Audit(**given, event="e", kind="formula"),
        "silent": Audit(**given, event="e", constant=True, least=2),
        "short": Audit(**given, event="e", constant=True, least=3),
    }
    assert said["run"].overstatement == pytest.approx(2.0)
    assert said["few"].overstatement == math.inf == said["silent"].overstatement
    said = {how: str(found) for how, found in said.items()}
    assert "probability 0.5, and 0.125 on the neighbour, in 9 runs of the program" in said["run"]
    assert "false with probability 0.1 at most, for this audit alone" in said["run"]
    assert "a loss of 2.77 of this event, whose own is about 1.39" in said["run"]
    assert "noise too small by a factor of about 2;" in said["run"]
    assert "would have convicted no loss of this event" in said["few"]
    assert "after a search of 4, stopped as it convicts (70 were planned)\n" in said["early"]
    assert "planned" not in said["broken"]
    assert "would have" not in said["broken"] and said["broken"].startswith("x: violation found")
    assert said["integrated"].endswith("exact: ε is at least 0.25 (e)")
    assert "within 2 pulls, the length of the tables" in said["silent"]
    assert "of 3 pulls or more, it says" in said["short"] and "it says" not in said["silent"]


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_the_least_loss_that_is_convicted_is_where_the_bet_just_wins(delta):
    """Rare runs that count so much less, and no more, are convicted."""
    likely, rare = np.repeat([1.4, 0.0], [600, 400]), np.repeat([1.0, 0.0, 1.0], [90, 600, 310])
    loss = least_convicted(likely, rare, 1e-6, 1.0, delta)
    factor = (likely.mean() - delta) / rare.mean() / math.exp(loss)
    assert 0.0 < factor < 1.0
    for times, wins in ((0.99, True), (1.01, False)):
        assert (betting_bound(likely, times * factor * rare, 1e-6, delta) > 1.0) == wins
    assert least_convicted(likely[:3], rare[:3], 1e-6, 1.0, delta) == math.inf, "too few runs"
    assert least_convicted(likely, 0.0 * rare, 1e-6, 1.0, delta) == math.inf, "never seen"


# ------------------------------------------------------------------------------------- coverage


def test_places_are_where_requests_begin_and_end():
    runs = [[(0, 3), (1, 2), (0, 3)], [(1, 4), (0, 0)]]
    assert places_of(runs, 3, most=8) == [[0, 2, 3, 5], [0, 1, 3], []]
    assert places_of([[(0, 1)] * 40], 1, most=4) == [[0, 2, 11, 39]], "the last one always"


def test_what_was_read_and_not_changed_is_said():
    seen = Coverage()
    seen.reach([[(0, 9), (1, 2)], [(2, 3)]])
    for pull in (0, 2, 4, 6, 8):
        seen.add(TablePair(np.zeros((3, 9)), 0, pull, 1.0))
    seen.add(TablePair(np.zeros((3, 9)), 1, 0, 0.5))
    assert [seen.left(arm) for arm in range(3)] == [[1, 3, 5, 7], [1], [0, 1, 2]]
    assert str(seen).splitlines() == [
        "changed: rewards 1, 3, 5, 1 others and 9 of arm 0, reward 1 of arm 1; to 0, 0.5 and 1; on "
        "tables of 3 × 9 rewards",
        "never changed: rewards 2, 4, 6 and 8 of arm 0; reward 2 of arm 1; rewards of arm 2; two "
        "rewards at once",
    ]


# --------------------------------------------------------------------------- laws of elimination


def tail(x):
    """P(Z − Z' > x) of two standard Laplace variables, integrated."""
    law = stats.laplace
    inner = sorted({-40.0, 0.0, x, 40.0})
    parts = itertools.pairwise(inner)
    return sum(
        integrate.quad(lambda z: law.pdf(z) * law.cdf(z - x), low, high)[0] for low, high in parts
    )


def test_the_law_of_elimination_is_a_product_over_the_epochs():
    gaps, scales, thresholds = np.array([2.0, -4.0]), np.array([2.0, 1.0]), np.array([3.0, 0.5])
    first = tail((3.0 + 2.0) / 2.0), tail((3.0 - 2.0) / 2.0)
    second = tail(0.5 - 4.0), tail(0.5 + 4.0)
    stay = 1 - sum(first)
    expected = [*first, stay * second[0], stay * second[1], stay * (1 - sum(second))]
    found = np.exp(elimination_law(gaps, scales, thresholds))
    assert found == pytest.approx(expected, rel=1e-7) and found.sum() == pytest.approx(1.0)
    with np.errstate(divide="ignore"):
        assert elimination_law(np.zeros(2), np.ones(2), np.zeros(2))[2:].tolist() == [-math.inf] * 3


def test_where_arms_change_places_their_loss_is_the_same():
    laws = [elimination_law(np.array([gap]), np.ones(1), np.ones(1)) for gap in (-3.0, 3.0)]
    assert laws[0][[1, 0, 2]] == pytest.approx(laws[1])
    assert log_loss(*laws) == log_loss(*laws[::-1]) == pytest.approx(math.log(tail(-2) / tail(4)))


@pytest.mark.parametrize(
    "algorithm", [dpb.DPSE(0.5), dpb.TunedDPSE(0.5), dpb.DPSEIdentifier(0.5, 0.1)]
)
def test_the_loss_of_elimination_is_that_of_the_tables_that_are_shown(algorithm):
    """Two epochs, the first of which decides less; the sums begin anew in each."""
    found = audit_elimination(algorithm, horizon=1000)
    first, second = map(two_arm_epochs(algorithm, 1000), (1, 2))
    table, other = found.pair.table, found.pair.neighbour
    assert table.shape == (2, first.pulls + second.pulls) and found.pair.pull == first.pulls
    assert set(table.ravel()) == {0.0, 1.0} and np.abs(other - table).sum() == 1.0
    laws = []
    for each in (table, other):
        gaps = np.add.reduceat(each[0] - each[1], [0, first.pulls])
        epochs = np.array([(e.noise_scale, e.threshold) for e in (first, second)])
        laws.append(elimination_law(gaps, *epochs.T))
    assert found.epsilon_lower == log_loss(*laws) and found.epsilon_lower / algorithm.epsilon > 0.99
    one = audit_elimination(algorithm, horizon=1000, n_epochs=1)
    assert one.pair.table.shape == (2, first.pulls) and one.epsilon_lower <= found.epsilon_lower


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 1), (1.0, 9), (3.0, 4)])
def test_the_loss_of_one_look_is_the_ratio_of_two_tails(epsilon, n):
    """Arm 0, behind by n or n − 1 rewards, is chosen all the same."""
    found = audit_exactly(dpb.ExploreThenCommit(epsilon=epsilon, per_arm=n))
    ahead, behind = tail(epsilon * (n - 1)), tail(epsilon * n)
    assert found.epsilon_lower == pytest.approx(math.log(ahead / behind), rel=1e-6)
    assert found.pair.table.tolist() == [[0.0] * n, [1.0] * n] and found.pair.value == 1.0


def test_a_report_and_a_release_lose_what_is_declared():
    """The least and the greatest reward; samples of ±3, of which the last one changes."""
    for schedule in ("balanced", "fitted", "non-negative", "one-bit"):
        found = audit_exactly(dpb.LDPRSE(2.0, schedule=schedule))
        assert found.epsilon_lower == pytest.approx(2.0)
        algorithm, instance = dpb.LDPRSE(2.0, schedule=schedule), heavy_two_point(0.5, order=0.9)
        assert found.pair.value == heavy_plan(algorithm, 10**6, instance, 2, epoch=1).bound
        least = -found.pair.value if schedule in ("balanced", "fitted") else 0.0
        assert found.pair.table.tolist() == [[least]]
    rule = dpb.DPHoeffdingStop(2.0, 0.5, 0.05, half_range=3.0)
    found, halting = audit_exactly(rule), rule.noiseless_time(3.0)
    assert found.epsilon_lower == pytest.approx(2.0) and (found.pair.table == 3.0).all()
    assert found.pair.table.shape == (1, halting)
    assert (found.pair.pull, found.pair.value) == (halting - 1, -3.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0])
def test_the_third_pull_between_two_arms_is_a_coin_or_the_tail_of_the_gap(epsilon):
    """The first rewards are at −B and B, or both at B, each with the noise of one node."""
    algorithm = dpb.DPRUCB(epsilon)
    instance = heavy_two_point(0.5, order=0.9)
    found, tree = audit_exactly(algorithm, instance), algorithm.plan(instance, 3).tree
    gap = 2 * tree.bound(1) / tree.node_scale(1)
    assert found.epsilon_lower == pytest.approx(math.log(0.5 / tail(gap)), rel=1e-6)
    assert found.pair.table.tolist() == [[-tree.bound(1)], [tree.bound(1)]]


def test_a_stopping_rule_is_audited_up_to_sixteen_thousand_samples():
    rules = dpb.DPExponentialNAS(1.0, 0.5, 0.05), dpb.DPNAS(1.0, 0.5, 0.05)
    found = [audit_exactly(rule) for rule in rules]
    assert [each.pair.table.shape for each in found] == [(1, 16_384), (1, 1_024)]
    assert all(each.event.startswith("halting at ") for each in found)


def test_only_what_runs_the_program_of_its_class_is_integrated():
    assert audit_exactly(dpb.GuessAndDouble(dpb.DPSE(1.0))).epsilon_lower > 0.99
    base = dpb.TunedDPSE(1.0)
    assert audit_exactly(dpb.GuessAndDouble(base)) is None and audit_exactly(base) is not None
    assert audit_exactly(dpb.DPSE(math.inf)) is None
    for audit in (audit_epoch, audit_look):
        with pytest.raises(ValueError, match="is a DPSE whose law is not known"):
            audit(dpb.DPSE(1.0))


@pytest.mark.parametrize("value", [-0.1, 1.1])
@pytest.mark.parametrize("name", ["p", "q", "delta"])
def test_what_is_no_probability_is_refused(name, value):
    given = {"p": 0.5, "q": 0.1, "delta": 0.0, name: value}
    with pytest.raises(ValueError, match=rf"{name}={value}"):
        expected_bound(n_runs=100, failure=0.1, **given)
    with pytest.raises(ValueError, match="rare"):
        betting_bound([1.0, 1.0], [0.0, value], 0.1)


def test_the_truncated_sums_of_heavy_tails_are_eliminated_like_others():
    """Rewards are moved into [−B, B]: one changes its arm's sum by 2B."""
    algorithm, instance = dpb.DPRSE(0.5), heavy_two_point(0.5, order=0.9)
    found = audit_elimination(algorithm, 1000, 1, instance)
    epoch, table = two_arm_epochs(algorithm, 1000, instance)(1), found.pair.table
    bound = heavy_plan(algorithm, 1000, instance, 2, epoch=1).bound
    assert set(table.ravel()) == {-bound, bound} and found.pair.value == bound
    gaps = [(each[0] - each[1]).sum() for each in (table, found.pair.neighbour)]
    laws = [
        elimination_law(*np.array([[gap], [epoch.noise_scale], [epoch.threshold]])) for gap in gaps
    ]
    assert found.epsilon_lower == pytest.approx(log_loss(*laws), rel=1e-6)
    assert 0.99 < found.epsilon_lower / 0.5 <= 1 + 1e-9


class Sums:
    """Sums of two arms that an elimination is given, epoch by epoch; the end of the run ends it."""

    n_arms = 2

    def __init__(self, gaps, instance):
        self.gaps, self.pulls = iter(gaps), []
        self.order, self.moment_bound = instance.order, instance.moment_bound

    def totals(self, viable, pulls):
        self.pulls.append(int(pulls))
        return np.array([0.0, next(self.gaps)])

    def truncated_totals(self, viable, pulls, bound):
        return iter(self.totals(viable, pulls))

    def commit(self, arm):
        raise StopIteration(arm)


@pytest.mark.parametrize("gap", [1.0 - 1e-9, 1.0 + 1e-9])
@pytest.mark.parametrize(
    "algorithm", [dpb.DPSE(0.5), dpb.TunedDPSE(0.5), dpb.DPSEIdentifier(0.5, 0.1), dpb.DPRSE(0.5)]
)
def test_epochs_that_are_integrated_are_those_that_are_played(algorithm, gap, monkeypatch):
    """Pulls, scales, and thresholds: a gap just below keeps both arms, a gap above ends it."""
    horizon, scales = 10**4, []

    def silent(rng, scale, size):
        scales.append(scale)
        return 0.0 if isinstance(algorithm, dpb.DPRSE) else np.zeros(size)

    module = type(algorithm).__module__
    name = "laplace_total" if isinstance(algorithm, dpb.DPRSE) else "laplace_noise"
    monkeypatch.setattr(f"{module}.{name}", silent)
    instance = heavy_two_point(0.5, order=0.9)
    epochs = list(map(two_arm_epochs(algorithm, horizon, instance), (1, 2)))
    gaps = epochs[0].threshold * (1 - 1e-9), epochs[1].threshold * gap, 1e300
    sums = Sums(gaps, instance)
    if isinstance(algorithm, dpb.DPSEIdentifier):
        assert algorithm.decide(sums, None) == 1
    else:
        with pytest.raises(StopIteration, match="1"):
            algorithm.play(sums, horizon, None)
    assert sums.pulls[:2] == [each.pulls for each in epochs]
    assert len(sums.pulls) == (3 if gap < 1.0 else 2), "it ends in the second epoch, or goes on"
    in_sums = scales[0] * (1 if isinstance(algorithm, dpb.DPRSE) else sums.pulls[0])
    assert epochs[0].noise_scale == pytest.approx(in_sums)


def test_a_law_is_of_one_class_alone():
    class Mine(dpb.GuessAndDouble):
        pass

    with pytest.raises(ValueError, match="no epochs that can be integrated"):
        two_arm_epochs(Mine(dpb.DPSE(1.0)), 1000)
