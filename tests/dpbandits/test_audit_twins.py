"""Broken twins: programs that declare ε = 1 with a flaw, all found by the same search.

No table is given to any audit. Each flaw is one that has been made: noise drawn once, rewards used
in two epochs, a range forgotten, a budget that is not split, a decision by raw sums, a counter that
is not reset. Programs without their flaw are not convicted.
"""

import itertools
import math

import numpy as np
import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing import audit_exactly, audit_stopping
from dpbandits.auditing.adapters import GroupSubject, SPRTSubject
from dpbandits.mechanisms import DiscreteLaplace, HybridCounter, KaryTree, LogarithmicCounter
from dpbandits.stopping import crossing_streams, privacy_loss

EPSILON, RUNS = 1.0, 6000
ONE = dpb.PrivacyGuarantee("central", EPSILON)
RULE = dpb.DPExponentialNAS(EPSILON, 0.5, 0.05)


def two(rng):
    """Two numbers of the Laplace law of scale 1."""
    return rng.laplace(), rng.laplace()


def greatest(numbers):
    """The place of the greatest number, the first one of equal ones."""
    return numbers.index(max(numbers))


def elimination(rewards, rng, flaw=""):
    """Two arms, epochs of 1 and 2 pulls; the worse one leaves beyond a threshold of 3/2.

    The means of all epochs, and the better arm, are released.
    """
    lasting, released = two(rng), []
    sums, pulls, playing = [0.0, 0.0], 0, True
    means = raw = sums
    for size in (1, 2):
        if not playing:
            released += [math.nan, math.nan]
            continue
        if flaw != "kept":
            sums, pulls = [0.0, 0.0], 0
        sums = [old + rewards.total(arm, size) for arm, old in enumerate(sums)]
        pulls += size
        scale = {"quadratic": pulls**-2, "halved": 0.5 / pulls, "zero": 0.0}.get(flaw, 1 / pulls)
        noise = lasting if flaw == "reused" else two(rng)
        means = [x / pulls + scale * z / EPSILON for x, z in zip(sums, noise, strict=True)]
        raw = sums
        released += means
        playing = abs(means[0] - means[1]) <= 1.5
    for _ in range(3 if flaw == "again" else 0):
        again = zip(sums, two(rng), strict=True)
        released += [x / pulls + z / pulls / EPSILON for x, z in again]
    return [greatest(raw if flaw == "raw" else means), *released]


def sparse_vector(rewards, rng, flaw=""):
    """Halt at the first time at which the sum of an arm is large, and release the sum.

    Two thirds of the budget are for halting, one third for the sum.
    """
    first, second = 2 * EPSILON / 3, EPSILON / 3
    threshold = 2.0 + (0.0 if flaw == "bare" else rng.laplace(0.0, 2 / first))
    total = 0.0
    for n in range(1, 9):
        total += rewards.pull(0)
        bare = flaw in ("queries", "bare")
        if total + (0.0 if bare else rng.laplace(0.0, 4 / first)) >= threshold:
            return [n, total + (0.0 if flaw == "raw" else rng.laplace(0.0, 1 / second))]
    return [0, math.nan]


def leader(rewards, rng, flaw=""):
    """Six times: pull the arm with the larger noisy sum of its own latest batch of 2 once more."""
    sums = [rewards.total(arm, 2) for arm in (0, 1)]
    noisy = [x + z / EPSILON for x, z in zip(sums, two(rng), strict=True)]
    for _ in range(5):
        best = greatest(noisy)
        if flaw == "tie" and abs(noisy[0] - noisy[1]) < 1.0:
            best = greatest(sums)
        size = 2 if flaw != "length" or sums[best] > 0.0 else 1
        sums[best] = rewards.total(best, size)
        fresh = [x + z / EPSILON for x, z in zip(sums, two(rng), strict=True)]
        if flaw == "resting":
            noisy = fresh
        noisy[best] = fresh[best]


def reports(rewards, rng, flaw=""):
    """Four rewards of an arm, each randomised before it is seen: kept with odds e^ε : 1."""
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    turned = [x > keep for x in rng.random(4).tolist()]
    shown = [rewards.pull(0) for _ in range(4)]
    if not set(shown) <= {0.0, 1.0}:  # for which it is not meant
        raise ValueError("a reward is neither 0 nor 1")
    return [float(t) != x for t, x in zip(turned[:1] * 4 if flaw else turned, shown, strict=True)]


def scores(rewards, rng, flaw=""):
    """The sum of four outcomes from −1 to 1, coded as 2r − 1: one of them changes it by 2."""
    total = sum(2 * rewards.pull(0) - 1 for _ in range(4))
    return total + rng.laplace(0.0, (1 if flaw else 2) / EPSILON)


def counter(rewards, rng, flaw=""):
    """Sums of the first 1, 2, 3, 4 rewards by a binary tree of three levels."""
    scale = (1 if flaw == "levels" else 3) / EPSILON
    leaf = 0.0 if flaw == "leaf" else scale
    x = [rewards.pull(0) for _ in range(4)]
    one, three = x[0] + rng.laplace(0.0, leaf), x[2] + rng.laplace(0.0, leaf)
    two = x[0] + x[1] + rng.laplace(0.0, scale)
    return [one, two, two + three, sum(x) + rng.laplace(0.0, scale)]


PROGRAMS = [elimination, sparse_vector, leader, reports, scores, counter]
FLAWS = {
    "noise drawn once for every epoch": (elimination, "reused", 3000),
    "an epoch's rewards used in the next": (elimination, "kept", 16_000),
    "scale 1/(εn²) in place of 1/(εn)": (elimination, "quadratic", 4000),
    "sensitivity halved": (elimination, "halved", 4000),
    "noise scaled to zero": (elimination, "zero", 1500),
    "last means released again, with all of ε": (elimination, "again", 9000),
    "better raw mean recommended": (elimination, "raw", 2500),
    "queries without noise": (sparse_vector, "queries", 16_000),
    "stops on raw sums": (sparse_vector, "bare", 1500),
    "sum released without noise": (sparse_vector, "raw", 2500),
    "near ties broken by raw sums": (leader, "tie", 4000),
    "arm at rest released with fresh noise": (leader, "resting", 30_000),
    "length of a batch from raw data": (leader, "length", 2000),
    "one coin for all reports": (reports, "once", 1500),
    "range forgotten": (scores, "range", 4000),
    "tree: every level gets all of ε": (counter, "levels", 8000),
    "tree: leaves without noise": (counter, "leaf", 1500),
}
"""What is wrong → a program, the name of its flaw, and how many runs show it."""


def noiseless(base, program, *arguments, **more):
    """Return a twin of an algorithm that declares ε and runs itself at ε = ∞."""

    def run(self, *given):
        bare = base(**{**vars(self), "epsilon": math.inf})
        return getattr(base, program)(bare, *given)

    return type("Bare", (base,), {program: run})(EPSILON, *arguments, **more)


SHORT = {"n_runs": 1000, "n_pulls": 3}
TWINS = {
    "UCB: tree without noise": (noiseless(dpb.DPUCB, "play"), SHORT),
    "elimination without noise": (noiseless(dpb.DPSE, "play"), {"n_runs": 1000}),
    "lazy index without noise": (noiseless(dpb.AdaPUCB, "play"), SHORT),
    "index of divergences without noise": (noiseless(dpb.DPIMED, "play"), SHORT),
    "Top Two without noise": (
        noiseless(dpb.DPTT, "decide", 0.1, first=1),
        {"n_runs": 1500, "n_pulls": 4},
    ),
    "stopping rule without noise": (
        noiseless(dpb.DPHoeffdingStop, "stop", 0.9, 0.5),
        {"n_runs": 800},
    ),
    "both parts of a hybrid counter get all of ε": (HybridCounter(EPSILON, split="full"), {}),
    "tree with negative digits and half of its noise": (
        KaryTree(2 * EPSILON, 4),
        {"n_runs": 40_000},
    ),
}
LONG = {
    "Thompson sampling without noise": (
        noiseless(dpb.LazyDPTS, "play"),
        {"n_runs": 4000, "n_pulls": 15},
    ),
    "Top Two with its first batch, without noise": (
        noiseless(dpb.DPTT, "decide", 0.1),
        {"n_runs": 4000},
    ),
    "DP-UCB-BOUND as printed": (dpb.DPUCBBound(1.0, split="full"), {"n_runs": 250_000}),
}
"""What is wrong → an algorithm, and what its audit needs beyond the default."""


def call(program, flaw):
    return lambda rewards, rng: program(rewards, rng, flaw)


def found(subject, n_runs=RUNS, **more):
    return dpb.audit(subject, None, n_runs, failure=FALSE_ALARM, guarantee=ONE, **more)


@pytest.mark.parametrize(("program", "flaw", "runs"), FLAWS.values(), ids=FLAWS)
@pytest.mark.statistical
def test_a_flaw_is_convicted(program, flaw, runs):
    assert found(call(program, flaw), n_pulls=16, n_runs=runs).verdict == "violation found"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.statistical
def test_without_a_flaw_nobody_is_convicted(program):
    assert found(call(program, ""), n_pulls=16).verdict == "no violation found"


@pytest.mark.parametrize(("algorithm", "more"), TWINS.values(), ids=TWINS)
@pytest.mark.statistical
def test_an_algorithm_with_a_flaw_is_convicted(algorithm, more):
    assert found(algorithm, **more).verdict == "violation found"


@pytest.mark.long
@pytest.mark.parametrize(("algorithm", "more"), LONG.values(), ids=LONG)
@pytest.mark.statistical
def test_an_algorithm_whose_flaw_hides_is_convicted(algorithm, more):
    assert found(algorithm, **more).verdict == "violation found"


@pytest.mark.statistical
def test_the_looks_of_a_trial_are_audited(monkeypatch):
    """At three times its ε, or without its noise, a trial is convicted; else not on that pair."""

    def audited(c, pair=None):
        trial = dpb.GroupSequential(4, critical=2.0, epsilon=c * EPSILON, looks=1)
        found = dpb.audit(trial, pair, 800, 0, FALSE_ALARM, guarantee=ONE)
        assert found.kind == "program"
        return found

    loud = audited(3.0)
    assert loud.verdict == "violation found"
    assert audited(1.0, loud.pair).verdict == "no violation found"
    monkeypatch.setattr(DiscreteLaplace, "release", lambda _, numbers, __: list(numbers))
    assert audited(1.0, loud.pair).verdict == "violation found"
    with pytest.raises(ValueError, match="table has 2 × 4 outcomes; allowed: 2 × 8, each 0 or 1"):
        GroupSubject(dpb.GroupSequential(4, 2.0, looks=2)).once(np.zeros((2, 4)), np.zeros(3), 0)


class HalfTheNoise(dpb.DPSPRT):
    """It declares ε and draws noise for 2ε."""

    @property
    def threshold_scale(self):
        return 1.0 / self.epsilon

    @property
    def query_scale(self):
        return 2.0 / self.epsilon


@pytest.mark.slow
@pytest.mark.statistical
def test_a_sequential_test_is_audited():
    """On a stream that passes its upper limit and stops at the lower one."""
    table = np.zeros((1, 8))
    table[0, 1] = 1.0
    pair = dpb.TablePair(table, arm=0, pull=0, value=1.0)
    shape = {"boundary": "constant", "upper": 0.05, "lower": 5.0}

    def verdict(kind, n_runs):
        rule = kind(0.3, 0.7, epsilon=EPSILON, **shape)
        found = dpb.audit(rule, pair, n_runs, 0, FALSE_ALARM)
        assert found.kind == "program"
        return found.verdict

    assert verdict(dpb.DPSPRT, 4000) == "no violation found"
    assert verdict(HalfTheNoise, 50_000) == "violation found"


def test_a_sequential_test_is_run_on_its_tables():
    single, pairs = (dpb.DPSPRT(0.3, 0.7, paired=paired) for paired in (False, True))
    read, rng = np.zeros(3, dtype=np.int64), np.random.default_rng(0)
    two = np.array([[1.0] * 9, [0.0] * 9])
    n = math.ceil(math.log(20.0) / pairs.exponent / (1.0 - pairs.slope))
    assert SPRTSubject(pairs).once(two, read, 0)(rng)[1].tolist() == [n, 0.0]
    assert read.tolist() == [n, n, 0] and n < 9
    assert SPRTSubject(single).once(two[1:], read, 0)(rng)[1].tolist() == [4.0, 1.0]
    assert SPRTSubject(single).once(two[1:, :2], read, 0)(rng)[1].tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="table has 1 arm; allowed: two"):
        SPRTSubject(pairs).once(two[:1], read, 0)
    with pytest.raises(ValueError, match="arm"):
        SPRTSubject(single).once(two, read, 0)


def test_a_counter_that_is_not_reset_is_refused():
    """It keeps what an earlier run has read: no verdict, and one clear line."""

    class Lasting(LogarithmicCounter):
        kept = None

        def counter(self, rng):
            if Lasting.kept is None:
                Lasting.kept = super().counter(rng)
            return Lasting.kept

    with pytest.raises(ValueError, match="subject='Lasting' keeps state: repeated"):
        found(Lasting(EPSILON))
    calls = itertools.count()
    with pytest.raises(ValueError, match="keeps state: repeated .* runs later"):
        found(lambda r, g: g.laplace() + r.pull(0) * (next(calls) < 900), n_pulls=4)


@pytest.mark.statistical
def test_what_reads_nothing_is_not_convicted():
    """Not even where earlier calls could tell the tables apart: it is refused for these."""
    assert found(lambda rewards, rng: rng.laplace(), n_pulls=4).verdict == "nothing tested"
    calls = itertools.count()
    with pytest.raises(ValueError, match="keeps state"):
        found(lambda rewards, rng: next(calls) / 1e4 + rng.laplace(), n_pulls=4)


@pytest.mark.statistical
def test_a_counter_of_known_loss_comes_near_it():
    """Its first reward is released once, with a loss of 1."""
    counter = found(LogarithmicCounter(EPSILON))
    assert counter.verdict == "no violation found" and counter.kind == "program"
    assert 0.8 < counter.epsilon_lower <= EPSILON


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold_scale": 1e-3},  # threshold not noised
        {"threshold_scale": 6.0, "query_scale": 6.0, "release_scale": 2.0},  # ε for each part
        {"release_scale": 2.0},  # sensitivity of the released sum halved
        {"query_scale": 1.0},  # nearly no noise on the sums
    ],
)
def test_broken_stopping_rules_lose_more_than_they_declare(changes):
    """On the streams of the exact audit; the rule itself is acquitted there, below."""
    broken = {"halting": property(lambda _: RULE.halting._replace(**changes))}
    twin = type("Twin", (dpb.DPExponentialNAS,), broken)(**vars(RULE))
    pair = audit_exactly(RULE).pair
    assert privacy_loss(twin, pair.table[0], pair.neighbour[0]).total > EPSILON


def test_an_exact_audit_depends_on_the_pair():
    """On streams that nearly halt at once the rule shows little; on the worst pair nearly all."""
    sound = audit_exactly(RULE)
    assert sound.verdict == "no violation found" and sound.epsilon_lower > 0.99 * EPSILON
    stream = np.ones_like(crossing_streams(RULE, 5)[0])[None, :]
    same_sign = dpb.TablePair(stream, 0, 0, 0.5)
    assert audit_stopping(RULE, same_sign).epsilon_lower < 0.5
