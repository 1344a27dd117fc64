"""Every accelerator has the law of the plain program for which it stands, and is used for no other.

Each entry of the table has a line in `CASES`. Where program and accelerator draw the same numbers,
equal generators give equal runs; else the laws of the counts are compared, with the program or with
another accelerator that is itself compared with the program. Each case has a proof that the
accelerator does its work, and a control: a configuration not far away, which is refuted.
"""

import functools
import inspect
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats
from statistical import clopper_pearson, same_law_of_counts

import dpbandits as dpb
from dpbandits._engine import acceleration
from dpbandits._engine.acceleration import (
    ExactRun,
    TableRuns,
    accelerates,
    accelerator_for,
    accelerators,
    what_plays,
)
from dpbandits.auditing.elimination_laws import elimination_law, heavy_plan, two_arm_epochs
from dpbandits.rewards.heavy_instances import GivenRewards, HeavyRewards
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw
from dpbandits.rewards.laws import Law
from dpbandits.rewards.populations import FinitePopulation, PopulationRewards
from dpbandits.rewards.sources import DrawnRewards, FixedRewards, LawRewards, Source, tape_of
from dpbandits.stopping import halting_law

INF = float("inf")
RNG = np.random.default_rng(0)
CERTAIN = dpb.instances.bernoulli([1.0, 0.0, 1.0])
LADDER = dpb.instances.bernoulli(np.linspace(0.2, 0.9, 40))
FAR = dpb.instances.bernoulli([0.95, 0.3, 0.1])
THREE = dpb.instances.bernoulli([0.8, 0.5, 0.3])
CLOSE = dpb.instances.bernoulli([0.95, 0.9, 0.9, 0.5])
CERTAIN_BEST = dpb.instances.bernoulli([0.0, 1.0, 0.02])
TABLE = np.random.default_rng(1).random((3, 24)).round(1)


class Burning(FixedRewards):
    """A table, of which each reward costs a number: the compiled loops draw one for each."""

    def __init__(self, table, rng):
        super().__init__(table, log=False)
        self.rng = rng

    def rewards(self, rng):
        return self

    def total(self, arm, size):
        for _ in range(size):
            self.rng.random()
        return super().total(arm, size)


class AsDrawn(Source):
    """Rewards of an instance, drawn with the numbers that the compiled loops take for them.

    One for each pull, which is a Bernoulli reward where that is the law; of other laws rewards are
    drawn ahead, as many as a tape holds.
    """

    def __init__(self, instance, rng):
        self.rng, self.drawn = rng, instance.rewards(rng)
        self.n_arms, self.means = instance.n_arms, instance.means
        self.most = tape_of(self.drawn).table.shape[1]
        self.ahead = [[] for _ in range(self.n_arms)]

    def reward(self, arm):
        if isinstance(self.drawn, DrawnRewards):
            return float(self.rng.random() < self.means[arm])
        if not self.ahead[arm]:
            self.ahead[arm] = self.drawn.ready(arm, self.most).tolist()
        self.rng.random()
        return self.ahead[arm].pop(0)

    def total(self, arm, size):
        return sum(self.reward(arm) for _ in range(size))


@dataclass(frozen=True)
class SameDraws:
    """Equal generators give the same arm at every pull, if rewards are drawn `AsDrawn`."""

    algorithm: object
    other: object
    instance: object
    horizon: int = 300
    runs: int = 3

    def holds(self, name):
        times = np.arange(1, self.horizon + 1)
        fast, plain, other = (np.random.default_rng(7) for _ in range(3))
        differing = 0
        for _ in range(self.runs):
            counts = [
                algorithm.draw(source, self.horizon, times, rng, how).counts
                for algorithm, source, rng, how in (
                    (self.algorithm, self.instance, fast, name),
                    (self.algorithm, AsDrawn(self.instance, plain), plain, "reference"),
                    (self.other, self.instance, other, name),
                )
            ]
            assert np.array_equal(counts[0], counts[1])
            assert fast.random() == plain.random(), "no number more"
            differing += not np.array_equal(counts[0], counts[2])
        assert differing, "control"


@dataclass(frozen=True)
class SameRuns:
    """Equal generators give equal runs; `other` is the control."""

    algorithm: object
    other: object
    instance: object
    horizon: int
    runs: int = 20
    at_once: bool = True

    def holds(self, name):
        times = np.array([self.horizon // 3, self.horizon])
        rngs = [np.random.default_rng(7) for _ in range(3)]
        for _ in range(self.runs):
            fast, plain = (
                self.algorithm.draw(self.instance, self.horizon, times, rng, how)
                for rng, how in zip(rngs[:2], (name, "reference"), strict=True)
            )
            assert np.array_equal(fast.counts, plain.counts)
            assert np.array_equal(fast.epoch_ends, plain.epoch_ends)
            if self.algorithm.releases:
                assert fast.at_once == fast.epoch_ends[-1:].sum()
            assert (fast.at_once > 0) == self.at_once
            assert np.allclose(
                fast.regret(self.instance.gaps), plain.regret(self.instance.gaps), rtol=1e-12
            )
        others = [
            self.other.draw(self.instance, self.horizon, times, rngs[2], name)
            for _ in range(self.runs)
        ]
        assert not np.array_equal(others[-1].counts, plain.counts), "control"


@dataclass(frozen=True)
class SamePulls:
    """Equal generators give the same arm at every pull; `other` is the control."""

    algorithm: object
    other: object
    instance: object
    horizon: int = 1500

    def counts(self, algorithm, how, seed):
        times = np.arange(1, self.horizon + 1)
        rng = np.random.default_rng(seed)
        return algorithm.draw(self.instance, self.horizon, times, rng, how).counts

    def holds(self, name):
        plain = self.counts(self.algorithm, "reference", 7)
        assert np.array_equal(self.counts(self.algorithm, name, 7), plain)
        assert not np.array_equal(self.counts(self.other, name, 7), plain), "control"


@dataclass(frozen=True)
class SameTables:
    """Equal generators give equal runs of a table."""

    algorithm: object
    other: object
    burns: bool = True
    table: object = None

    def holds(self, name):
        table = TABLE if self.table is None else self.table
        fast = self.algorithm.draw_table(table, 40, np.random.default_rng(3), name)
        rng = np.random.default_rng(3)
        times = np.arange(1, table.shape[1] + 1)
        for row in fast:
            source = Burning(table, rng) if self.burns else FixedRewards(table, log=False)
            counts = self.algorithm.draw(source, times.size, times, rng, "reference").counts
            assert np.array_equal(np.eye(len(table), dtype=int)[row].cumsum(axis=0), counts)
        control = self.other.draw_table(table, 40, np.random.default_rng(3), name)
        assert not np.array_equal(control, fast), "control"


@dataclass(frozen=True)
class SameLaw:
    """Counts of `runs` runs at a third of the horizon and at its end have one law."""

    algorithm: object
    other: object
    instance: object
    horizon: int
    runs: int = 460
    against: str = "reference"
    at_once: float = 0.0
    """Share of the pulls, at least, that the accelerator draws many at a time."""

    def counts(self, algorithm, how, seed, at_once=0.0):
        times, rng = np.array([self.horizon // 3, self.horizon]), np.random.default_rng(seed)
        plays = [
            algorithm.draw(self.instance, self.horizon, times, rng, how) for _ in range(self.runs)
        ]
        assert np.mean([play.at_once for play in plays]) >= at_once * self.horizon
        return np.array([play.counts[:, :-1] for play in plays])

    def holds(self, name):
        plain = self.counts(self.algorithm, self.against, 1)
        assert same_law_of_counts(self.counts(self.algorithm, name, 2, self.at_once), plain)
        fits = name in acceleration._names(self.other, type(self.instance.rewards(RNG)))
        others = self.counts(self.other, name if fits else None, 3)
        assert not same_law_of_counts(others, plain), "control"


@dataclass(frozen=True)
class SameLawOfTables:
    """Counts of runs of a table, at a third of it and at its end, have one law."""

    algorithm: object
    other: object
    runs: int = 1200

    def counts(self, algorithm, how, seed):
        arms = algorithm.draw_table(TABLE, self.runs, np.random.default_rng(seed), how)
        pulls = np.eye(len(TABLE), dtype=int)[arms].cumsum(axis=1)
        return pulls[:, [TABLE.shape[1] // 3, -1], :-1]

    def holds(self, name):
        plain = self.counts(self.algorithm, "reference", 1)
        assert same_law_of_counts(self.counts(self.algorithm, name, 2), plain)
        assert not same_law_of_counts(self.counts(self.other, None, 3), plain), "control"


@dataclass(frozen=True)
class SameOutcomes:
    """Numbers of samples and estimates of a stopping rule have one law."""

    rule: object
    other: object
    law: object
    runs: int = 460
    distant: object = dpb.laws.two_point(1e-3)

    def samples(self, rng):
        """Draw many at a time: one by one they take longer than the rule."""
        while True:
            yield from self.law.sample(rng, 256).tolist()

    def outcomes(self, rule, how, seed):
        rng = np.random.default_rng(seed)
        if how:
            found = [rule.draw(self.law, rng, 10**6, how) for _ in range(self.runs)]
        else:
            found = [rule.run(self.samples(rng), rng, 10**6) for _ in range(self.runs)]
        assert all(each.halted for each in found)
        return np.array([each[:2] for each in found])

    def holds(self, name):
        plain = self.outcomes(self.rule, None, 1)
        assert same_law_of_counts(self.outcomes(self.rule, name, 2), plain)
        assert not same_law_of_counts(self.outcomes(self.other, name, 3), plain), "control"
        far = 10**9  # samples that nobody draws one by one within a test
        if name != "sample by sample":
            quiet = replace(self.rule, beta=1e-3)
            outcome = quiet.draw(self.distant, np.random.default_rng(0), far, name)
            assert outcome.samples > 10**7, "it does its work"


def decided(algorithm, arms, limit, runs, seed, how):
    """Recommendation and pulls of each run, shape (runs, 1 + K)."""
    rng = np.random.default_rng(seed)
    found = [algorithm.draw(arms, rng, limit, how) for _ in range(runs)]
    return np.array([[each.recommendation, *each.pulls] for each in found])


@dataclass(frozen=True)
class SameDecisions:
    """Equal generators give equal decisions, also where the limit or the patients end a run."""

    algorithm: object
    other: object
    arms: tuple
    limits: tuple = (3000, 40, 5)
    runs: int = 4

    def holds(self, name):
        for arms, limit in itertools.product(self.arms, self.limits):
            fast, plain = (
                decided(self.algorithm, arms, limit, self.runs, 7, how)
                for how in (name, "reference")
            )
            assert np.array_equal(fast, plain)
        other = decided(self.other, self.arms[0], self.limits[0], self.runs, 7, name)
        plain = decided(self.algorithm, self.arms[0], self.limits[0], self.runs, 7, "reference")
        assert not np.array_equal(other, plain), "control"


@dataclass(frozen=True)
class SameTableDecisions:
    """Equal generators give equal decisions on tables of 0 and 1; `other` is the control."""

    algorithm: object
    other: object

    def holds(self, name):
        differing = seen = 0
        for seed, (means, size) in enumerate(itertools.product(ARMS_OF_TABLES, (2000, 40, 4))):
            rng = np.random.default_rng(seed)
            table = (rng.random((len(means), size)) < np.array(means)[:, None]).astype(float)
            fast, plain, other = (
                algorithm.draw_table(table, 3, np.random.default_rng(seed), how)
                for algorithm, how in (
                    (self.algorithm, name),
                    (self.algorithm, "reference"),
                    (self.other, name),
                )
            )
            assert np.array_equal(fast.recommendation, plain.recommendation)
            assert np.array_equal(fast.pulls, plain.pulls)
            differing += not np.array_equal(fast.pulls, other.pulls)
            seen += (fast.arms >= 0).sum()
            looked = [
                (row[row >= 0] == arm).sum() for row in fast.arms for arm in range(len(means))
            ]
            assert (np.array(looked) <= fast.pulls.ravel()).all()
        assert differing > 0, "control"
        assert seen > 100, "arms are listed"


@dataclass(frozen=True)
class SameLawOfDecisions:
    """Recommendations and pulls have one law; a run of 10^7 pulls proves that it does its work."""

    algorithm: object
    other: object
    arms: object
    long: object = None
    runs: int = 460

    def holds(self, name):
        plain = decided(self.algorithm, self.arms, 10**5, self.runs, 1, "reference")
        fast = decided(self.algorithm, self.arms, 10**5, self.runs, 2, name)
        assert same_law_of_counts(fast, plain)
        other = decided(self.other, self.arms, 10**5, self.runs, 3, name)
        assert not same_law_of_counts(other, plain), "control"
        if self.long:
            quiet = replace(self.algorithm, epsilon=1e-4, delta=1e-3)
            assert quiet.draw(self.long, np.random.default_rng(0), 10**7, name).pulls.sum() > 10**6


ARMS_OF_TABLES = ((0.95, 0.9, 0.5), (0.6, 0.4), (0.2, 0.85, 0.3, 0.3), (1.0, 0.0))
BETAS = dpb.instances.bounded([dpb.laws.beta(4, 1), dpb.laws.beta(1, 1), dpb.laws.beta(1, 2)])
INDEX = {
    dpb.UCB: (dpb.UCB(), dpb.DPUCB(3.0)),
    dpb.DPUCB: (dpb.DPUCB(20.0), dpb.DPUCB(9.0)),
    dpb.DPUCBBound: (dpb.DPUCBBound(9.0), dpb.DPUCBBound(4.0)),
    dpb.DPUCBHybrid: (dpb.DPUCBHybrid(9.0), dpb.DPUCBHybrid(2.0)),
}
MORE_TABLES = {
    dpb.DPUCBBound: [
        (dpb.DPUCBBound(9.0, width="repaired", ucb_term=False), dpb.DPUCBBound(9.0)),
        (dpb.DPUCBBound(INF), dpb.DPUCBBound(9.0)),
    ],
    dpb.DPUCBHybrid: [
        (dpb.DPUCBHybrid(9.0, split="full"), dpb.DPUCBHybrid(9.0)),
        (dpb.DPUCBHybrid(9.0, literal=True), dpb.DPUCBHybrid(9.0)),
    ],
}
CASES = {
    (dpb.SuccessiveElimination, DrawnRewards, "epoch by epoch"): [
        SameRuns(dpb.SuccessiveElimination(0.9), dpb.SuccessiveElimination(0.3), LADDER, 400_000),
    ],
    (dpb.DPSE, DrawnRewards, "epoch by epoch"): [
        SameRuns(dpb.DPSE(0.05, 0.9), dpb.DPSE(0.06, 0.9), LADDER, 2_000_000),
        SameRuns(dpb.DPSE(0.5), dpb.DPSE(0.05), THREE, 60_000),
        SameRuns(dpb.DPSE(INF), dpb.DPSE(0.01), CERTAIN, 60_000),
    ],
    (dpb.TunedDPSE, DrawnRewards, "epoch by epoch"): [
        SameRuns(dpb.TunedDPSE(0.05, 0.9), dpb.TunedDPSE(0.06, 0.9), LADDER, 400_000),
        SameRuns(dpb.TunedDPSE(INF), dpb.TunedDPSE(0.01), CERTAIN, 60_000),
    ],
    (dpb.BennettDPSE, DrawnRewards, "epoch by epoch"): [
        SameRuns(dpb.BennettDPSE(0.05, 0.9), dpb.BennettDPSE(0.05, 0.9, 3), LADDER, 400_000),
        SameRuns(dpb.BennettDPSE(0.5, memory=1), dpb.BennettDPSE(0.5, memory=2), THREE, 60_000),
        SameRuns(dpb.BennettDPSE(INF), dpb.BennettDPSE(0.01), CERTAIN, 60_000),
    ],
}
CASES |= {
    (dpb.BinomialDPSE, DrawnRewards, "epoch by epoch"): [
        SameRuns(dpb.BinomialDPSE(0.05, 0.9), dpb.BinomialDPSE(0.06, 0.9), LADDER, 200_000),
        SameRuns(dpb.BinomialDPSE(0.5), dpb.BinomialDPSE(0.5, memory=3), CLOSE, 60_000, 60),
        SameRuns(dpb.BinomialDPSE(2.0, memory=1), dpb.BinomialDPSE(2.0), CLOSE, 60_000, 60),
        SameRuns(dpb.BinomialDPSE(INF, 0.5), dpb.BinomialDPSE(9.0, 0.5), CERTAIN_BEST, 3000),
    ],
}
LOUD, LOUDER = dpb.laws.two_point(0.6), dpb.laws.two_point(0.9)
CASES |= {
    (dpb.NAS, Law, "passing"): [SameOutcomes(dpb.NAS(0.9, 0.9), dpb.NAS(0.9, 0.2), LOUDER)],
    (dpb.DPNAS, Law, "passing"): [
        SameOutcomes(dpb.DPNAS(9.0, 0.9, 0.9), dpb.DPNAS(6.0, 0.9, 0.9), LOUDER)
    ],
    (dpb.DPExponentialNAS, Law, "look by look"): [
        SameOutcomes(
            dpb.DPExponentialNAS(9.0, 0.9, 0.9), dpb.DPExponentialNAS(3.0, 0.9, 0.9), LOUD
        ),
        SameOutcomes(
            dpb.DPExponentialNAS(9.0, 0.9, 0.9, estimate="midpoint"),
            dpb.DPExponentialNAS(9.0, 0.9, 0.9),
            LOUD,
        ),
    ],
    (dpb.DPBernsteinStop, Law, "epoch by epoch"): [
        SameOutcomes(dpb.DPBernsteinStop(*rule), dpb.DPBernsteinStop(*other), law)
        for rule, other, law in (
            ((2.0, 0.9, 0.4), (2.0, 0.9, 0.05), LOUD),
            ((9.0, 0.5, 0.1), (9.0, 0.5, 0.1, 1.0, False), dpb.laws.low_variance(0.3, 0.1)),
            ((2.0, 0.9, 0.4, 1.0, False), (2.0, 0.9, 0.05, 1.0, False), LOUD),
            (
                (9.0, 0.9, 0.2, 2.0),
                (9.0, 0.9, 0.2),
                dpb.laws.discrete([-1, 0.5, 1], [0.125, 0.25, 0.625]),
            ),
        )
    ],
    (dpb.DPHoeffdingStop, Law, "epoch by epoch"): [
        SameOutcomes(dpb.DPHoeffdingStop(9.0, 0.9, 0.9), dpb.DPHoeffdingStop(3.0, 0.9, 0.9), LOUD),
        SameOutcomes(
            dpb.DPHoeffdingStop(9.0, 0.9, 0.5),
            dpb.DPHoeffdingStop(9.0, 0.9, 0.9),
            dpb.laws.uniform(0.6),
        ),
    ],
    (dpb.DPPromisedStop, Law, "epoch by epoch"): [
        SameOutcomes(
            *(dpb.DPPromisedStop(9.0, 0.9, 0.4, s) for s in (0.002, 0.004)),
            dpb.laws.low_variance(mean, 0.002),
            distant=dpb.laws.low_variance(1e-6, 0.002),
        )
        for mean in (0.4, 0.02)
    ],
    (dpb.EBGStop, Law, "sample by sample"): [
        SameOutcomes(dpb.EBGStop(0.9, 0.9), dpb.EBGStop(0.9, 0.5), LOUD)
    ],
}
LDP = dpb.LDPUCB(9.0), dpb.LDPUCB(4.0)
CASES |= {
    (dpb.LDPUCB, TableRuns, "pull by pull"): [SameTables(*LDP)],
    (dpb.LDPUCB, LawRewards, "pull by pull"): [SameDraws(*LDP, BETAS)],
    (dpb.LDPUCB, DrawnRewards, "pull by pull"): [SameDraws(*LDP, THREE)],
}
INT = dpb.DPUCBInt(0.2), dpb.DPUCBInt(0.2, noise=3.0)
CASES |= {
    (dpb.DPUCBInt, TableRuns, "pull by pull"): [
        SameTables(replace(INT[0], reading=each), INT[1])
        for each in ("refreshed", "frozen", "literal")
    ],
    (dpb.DPUCBInt, LawRewards, "pull by pull"): [SameDraws(*INT, BETAS)],
    (dpb.DPUCBInt, DrawnRewards, "pull by pull"): [SameDraws(*INT, THREE)],
    (dpb.DPUCBInt, DrawnRewards, "skipping"): [
        SameLaw(
            *(dpb.DPUCBInt(0.05, each, noise=noise) for noise in (1.0, 4.0)),
            FAR, 6000, against="pull by pull", at_once=0.5,
        )
        for each in ("refreshed", "frozen", "literal")
    ],
}  # fmt: skip
# ---------------------------------------------------------------- heavy tails
S1, S3 = dpb.instances.twzw22("S1", order=0.9), dpb.instances.twzw22("S3", order=0.5)
COINS = dpb.instances.heavy(
    [TwoPointHeavyLaw(2.0, p) for p in (0.05, 0.45, 0.2)], order=0.8, moment_bound=1.6
)
APART = dpb.instances.heavy(
    [TwoPointHeavyLaw(1.0, p) for p in (0.95, 0.05)], order=1.0, moment_bound=0.95
)
GIVEN = dpb.instances.heavy_callback(lambda arm: 0.4 * arm, 3, order=1.0, moment_bound=1.0)
FIXED, ANYTIME = dpb.RobustUCB("fixed"), dpb.RobustUCB()
CASES |= {
    (dpb.DPRUCB, HeavyRewards, "pull by pull"): [
        SamePulls(dpb.DPRUCB(200.0), dpb.DPRUCB(220.0), S1),
        SamePulls(dpb.DPRUCB(300.0, "reconstructed"), dpb.DPRUCB(330.0, "reconstructed"), S1),
        SamePulls(dpb.DPRUCB(50.0, scaling="log"), dpb.DPRUCB(10.0, scaling="log"), S3),
        SamePulls(dpb.DPRUCB(INF), dpb.DPRUCB(900.0), COINS),
    ],
    (dpb.DPRUCB, GivenRewards, "pull by pull"): [
        SamePulls(dpb.DPRUCB(20.0), dpb.DPRUCB(22.0), GIVEN)
    ],
    (dpb.DPRUCB, HeavyRewards, "skipping"): [
        SameLaw(algorithm, other, S1, horizon, against="pull by pull", at_once=share)
        for algorithm, other, horizon, share in (
            (dpb.DPRUCB(1.0), dpb.DPRUCB(1.5), 40_000, 0.3),
            (dpb.DPRUCB(1.0, "reconstructed"), dpb.DPRUCB(4.0, "reconstructed"), 9000, 0.0),
        )  # more of the kernel, with other laws, growth and noise, in `test_dprucb_skipping`
    ],
    (dpb.RobustUCB, HeavyRewards, "pull by pull"): [
        SamePulls(*pair, each) for pair in ((FIXED, ANYTIME), (ANYTIME, FIXED)) for each in (S1, S3)
    ],
    (dpb.RobustUCB, GivenRewards, "pull by pull"): [
        SamePulls(FIXED, ANYTIME, GIVEN), SamePulls(ANYTIME, FIXED, GIVEN)
    ],
    (dpb.RobustUCB, HeavyRewards, "skipping"): [
        SameLaw(FIXED, ANYTIME, APART, 40_000, against="pull by pull", at_once=0.1)
    ],
}  # fmt: skip

LAZY = {
    dpb.AnytimeLazyUCB: [
        (dpb.AnytimeLazyUCB(2.0), dpb.AdaPUCB(2.0, alpha=3.0)),
        (dpb.AnytimeLazyUCB(INF, eta=0.3), dpb.AnytimeLazyUCB(2.0, eta=0.3)),
    ],
    dpb.AdaPUCB: [
        (dpb.AdaPUCB(2.0, eta=0.5), dpb.AdaPUCB(2.0, 3.0, 0.5)),
        (dpb.AdaPUCB(INF, alpha=1.5), dpb.AdaPUCB(2.0, alpha=1.5)),
    ],
    dpb.AdaPKLUCB: [
        (dpb.AdaPKLUCB(4.0, alpha=1.2), dpb.AdaPKLUCB(4.0, alpha=1.5)),
        (dpb.AdaPKLUCB(INF), dpb.AdaPKLUCB(4.0)),
    ],
    dpb.PrintedAdaPUCB: [
        (dpb.PrintedAdaPUCB(2.0, 1.2), dpb.PrintedAdaPUCB(2.0, 1.2, "t")),
        (dpb.PrintedAdaPUCB(INF), dpb.PrintedAdaPUCB(2.0)),
    ],
    dpb.PrintedAdaPKLUCB: [
        (dpb.PrintedAdaPKLUCB(4.0, 1.2), dpb.AdaPKLUCB(4.0, 1.2)),
        (dpb.PrintedAdaPKLUCB(INF), dpb.PrintedAdaPKLUCB(4.0)),
    ],
    dpb.DPKLUCB: [
        (dpb.DPKLUCB(4.0, slack=0.5), dpb.DPKLUCB(4.0, slack=0.0)),
        (dpb.DPKLUCB(INF, eta=0.2), dpb.DPKLUCB(4.0, eta=0.2)),
    ],
    dpb.DPIMED: [
        (dpb.DPIMED(2.0), dpb.DPIMED(2.0, calibrated=False)),
        (dpb.DPIMED(2.0, eta=0.2, calibrated=False), dpb.DPIMED(2.0, eta=0.2)),
        (dpb.DPIMED(INF), dpb.DPIMED(4.0)),
    ],
}
for kind, pairs in LAZY.items():
    CASES |= {
        (kind, DrawnRewards, "batch by batch"): [SameRuns(*each, THREE, 4000) for each in pairs],
        (kind, DrawnRewards, "many arms"): [SameRuns(*each, THREE, 4000) for each in pairs],
        (kind, TableRuns, "batch by batch"): [SameTables(*each, burns=False) for each in pairs],
    }
for kind in (dpb.UCB, dpb.DPUCB):
    CASES[kind, DrawnRewards, "many arms"] = [SameDraws(*INDEX[kind], CLOSE)]
SAMPLING = dpb.LazyDPTS(3.0, alpha=1.5), dpb.LazyDPTS(3.0, alpha=1.5, draws="batches")
IN_BATCHES = SAMPLING[1], replace(SAMPLING[1], alpha=3.0)
CASES |= {
    (dpb.LazyDPTS, DrawnRewards, "release by release"): [
        SameLaw(*SAMPLING, THREE, 90, at_once=0.5)
    ],
    (dpb.LazyDPTS, LawRewards, "release by release"): [SameLaw(*SAMPLING, BETAS, 90, at_once=0.5)],
    (dpb.LazyDPTS, TableRuns, "release by release"): [SameLawOfTables(*SAMPLING)],
    (dpb.LazyDPTS, DrawnRewards, "batch by batch"): [SameRuns(*IN_BATCHES, THREE, 4000)],
    (dpb.LazyDPTS, LawRewards, "batch by batch"): [SameRuns(*IN_BATCHES, BETAS, 4000)],
    (dpb.LazyDPTS, TableRuns, "batch by batch"): [SameTables(*IN_BATCHES, burns=False)],
}
NEAR = dpb.instances.bernoulli([0.9, 0.3])
CLINICS = FinitePopulation((28, 20, 20), (30, 30, 40)), FinitePopulation((300, 200), (400, 400))
TOP_TWO = [
    (dpb.TopTwo(0.1), dpb.TopTwo(0.1, leader_share=0.4)),
    (dpb.TopTwo(0.01, leader_share=0.35), dpb.TopTwo(0.1)),
    (dpb.TopTwo(0.1, threshold="customary"), dpb.TopTwo(0.1)),
]
LRE = [
    (dpb.DPLRE(1.0, 0.01), dpb.DPLRE(1.0, 0.011)),
    (dpb.DPLRE(0.1, 0.1, least_growth=0.3), dpb.DPLRE(0.1, 0.1)),
    (dpb.DPLRE(30.0, 0.001, most_growth=4.0), dpb.DPLRE(30.0, 0.001)),
    (dpb.DPLRE(INF, 0.05), dpb.DPLRE(30.0, 0.05)),
    (dpb.DPLRE(1.0, 0.1, 1e3, 1e3), dpb.DPLRE(1.0, 0.1, 1e2, 1e2)),
    (dpb.DPLRE(1.0, 0.1, least_growth=0.001), dpb.DPLRE(1.0, 0.1, least_growth=0.5)),
]
BATCHED = {
    dpb.DPTT: [
        (dpb.DPTT(1.0, 0.1), dpb.DPTT(1.0, 0.1, exploration=1.0)),
        (dpb.DPTT(9.0, 0.3, "union", eta=0.5), dpb.DPTT(9.0, 0.3, "union", eta=0.4)),
        (dpb.DPTT(8.0, 0.01, eta=0.25, leader_share=0.3), dpb.DPTT(8.0, 0.01, eta=0.25)),
        (dpb.DPTT(INF, 0.05), dpb.DPTT(9.0, 0.05)),
        (dpb.DPTT(0.2, 0.1, eta=0.7, first=50), dpb.DPTT(0.2, 0.1, eta=0.7, first=49)),
        (dpb.DPTT(2.0, 0.1, first=1, leader_share=None), dpb.DPTT(2.0, 0.1, first=1)),
        (dpb.DPTT(3.0, 0.1, costs="plain", eta=2.0), dpb.DPTT(3.0, 0.1, eta=2.0)),
        (dpb.DPTT(1.0, 0.1, exponent=2.0, leader_share=0.7), dpb.DPTT(1.0, 0.1, leader_share=0.7)),
    ],
    dpb.AdaPTT: [
        (dpb.AdaPTT(5.0, 0.3), dpb.AdaPTT(4.0, 0.3)),
        (dpb.AdaPTT(2.0, 0.1, "heuristic", leader_share=0.4), dpb.AdaPTT(2.0, 0.1, "heuristic")),
        (dpb.AdaPTT(2.0, 0.1, "published"), dpb.AdaPTT(2.0, 0.1)),
        (dpb.AdaPTT(0.5, 0.2, "separate"), dpb.AdaPTTStar(0.5, 0.2)),
    ],
    dpb.AdaPTTStar: [
        (dpb.AdaPTTStar(0.5, 0.1), dpb.AdaPTT(0.5, 0.1, "separate")),
        (dpb.AdaPTTStar(3.0, 0.1, leader_share=0.6), dpb.AdaPTTStar(3.0, 0.1)),
    ],
}
SHORT = {
    dpb.DPTT: (dpb.DPTT(9.0, 0.3, first=1), dpb.DPTT(1.0, 0.3, first=1)),
    dpb.AdaPTT: (dpb.AdaPTT(9.0, 0.9, "heuristic"), dpb.AdaPTT(1.0, 0.9, "heuristic")),
    dpb.AdaPTTStar: (dpb.AdaPTTStar(9.0, 0.9), dpb.AdaPTTStar(0.5, 0.9)),
}
CASES |= {
    (dpb.TopTwo, TableRuns, "pull by pull"): [SameTableDecisions(*pair) for pair in TOP_TWO],
    (dpb.TopTwo, DrawnRewards, "pull by pull"): [
        SameDecisions(*pair, (THREE, CERTAIN_BEST, NEAR)) for pair in TOP_TWO
    ],
    (dpb.CTBTT, DrawnRewards, "pull by pull"): [
        SameLawOfDecisions(dpb.CTBTT(1.0, 0.3), dpb.CTBTT(2.0, 0.3), NEAR)
    ],
    (dpb.TopTwo, PopulationRewards, "pull by pull"): [
        SameDecisions(*pair, CLINICS) for pair in TOP_TWO
    ],
    (dpb.DPLRE, DrawnRewards, "compiled"): [
        SameDecisions(*pair, (CLOSE, CERTAIN_BEST, NEAR), (10**9, 3000, 15)) for pair in LRE
    ],
    (dpb.DPLRE, PopulationRewards, "compiled"): [
        SameDecisions(*pair, CLINICS[::-1]) for pair in (LRE[0], LRE[2])
    ],
}
for kind, pairs in BATCHED.items():
    CASES |= {
        (kind, TableRuns, "batch by batch"): [SameTableDecisions(*pair) for pair in pairs],
        (kind, DrawnRewards, "batch by batch"): [SameLawOfDecisions(*SHORT[kind], FAR, NEAR)],
        (kind, PopulationRewards, "batch by batch"): [SameLawOfDecisions(*SHORT[kind], CLINICS[0])],
    }
for kind, pair in INDEX.items():
    CASES |= {
        (kind, TableRuns, "pull by pull"): [
            SameTables(*each) for each in (pair, *MORE_TABLES.get(kind, []))
        ],
        (kind, LawRewards, "pull by pull"): [SameDraws(*pair, BETAS)],
        (kind, DrawnRewards, "pull by pull"): [SameDraws(*pair, THREE)],
        (kind, DrawnRewards, "skipping"): [
            SameLaw(*pair, FAR, 12_000, against="pull by pull", at_once=0.1)
        ],
    }

SIGNED = dpb.DPUCB(20.0, "kary-exact"), dpb.DPUCB(9.0, "kary-exact")
CASES[dpb.DPUCB, TableRuns, "pull by pull"].append(SameTables(*SIGNED))
CASES[dpb.DPUCB, LawRewards, "pull by pull"].append(SameDraws(*SIGNED, BETAS))
CASES[dpb.DPUCB, DrawnRewards, "pull by pull"].append(SameDraws(*SIGNED, THREE, 1500))
CASES[dpb.DPUCB, DrawnRewards, "skipping on k-ary trees"] = [
    SameLaw(*SIGNED, FAR, 12_000, against="pull by pull", at_once=0.1)
]

# ---------------------------------------------------------------- exact laws
CERTAIN_HORIZON = 10**6


def frequencies_hold(law, seen):
    """Whether the numbers of runs with each outcome are those of a law."""
    share, runs = 1 / len(seen), int(sum(seen))
    inside = [clopper_pearson(int(n), runs, share=share) for n in seen]
    return all(low <= p <= high for p, (low, high) in zip(law, inside, strict=True))


@dataclass(frozen=True)
class SameDecision:
    """Of two arms, which leaves after the first epoch is as frequent as the exact law has it.

    The rewards are certain, and their sums differ by one scale of the noise less than the
    threshold. Outcomes are that arm 0 leaves, that arm 1 leaves, and that both stay.
    """

    algorithm: object
    other: object
    told: int = CERTAIN_HORIZON
    runs: int = 4000

    @property
    def heavy(self):
        return isinstance(self.algorithm, dpb.DPRSE)

    def instance(self, low, high):
        laws = [TwoPointHeavyLaw(each, 1.0) for each in (low, high)]
        return dpb.instances.heavy(laws, order=1.0, moment_bound=1.0)

    def epoch(self, algorithm):
        return two_arm_epochs(algorithm, self.told, self.instance(0.1, 0.2))(1)

    def rewards(self, epoch):
        """Return the rewards of one run, and by how much arm 1's sum is the larger."""
        gap = round(epoch.threshold - epoch.noise_scale)
        if self.heavy:
            high = 0.01 + gap / epoch.pulls
            assert high < epoch.greatest, "it is not truncated"
            return self.instance(0.01, high), gap
        table = np.zeros((2, epoch.pulls + 1))
        table[1, :gap] = 1.0
        return FixedRewards(table, log=False), gap

    def outcome(self, rewards, pulls, rng):
        if isinstance(rewards, FixedRewards):
            rewards.restart()
        if isinstance(self.algorithm, dpb.identification.IdentificationAlgorithm):
            arm = self.algorithm.draw(rewards, rng, 2 * pulls).recommendation
            return {0: 1, 1: 0, -1: 2}[arm]
        times = np.array([2 * pulls, 2 * pulls + 2])
        counts = self.algorithm.draw(rewards, CERTAIN_HORIZON, times, rng, "reference").counts
        more = counts[1] - counts[0]
        return 0 if more[0] == 0 else 1 if more[1] == 0 else 2

    def holds(self, name):
        epoch, rng = self.epoch(self.algorithm), np.random.default_rng(0)
        rewards, gap = self.rewards(epoch)
        outcomes = [self.outcome(rewards, epoch.pulls, rng) for _ in range(self.runs)]
        seen = np.bincount(outcomes, minlength=3)
        laws = [
            np.exp(
                elimination_law(*np.array([[-float(gap)], [each.noise_scale], [each.threshold]]))
            )
            for each in (epoch, self.epoch(self.other))
        ]
        assert frequencies_hold(laws[0], seen) and min(seen[0], seen[2]) > 0.05 * self.runs
        assert not frequencies_hold(laws[1], seen), "control"


@dataclass(frozen=True)
class SameReports:
    """Of two arms, whether one leaves after an epoch tells the scale of the reports.

    The noise of a sum is that of R reports, so that a difference is normal, up to 1/R.
    """

    algorithm: object
    other: object
    runs: int = 4000

    def deviation(self, told, plan):
        """That of a difference of means with the noise of one plan and the rest of another."""
        if told.lie is None:
            return 2.0 * told.noise_scale / math.sqrt(plan.pulls)
        shares = [x / plan.bound for x in (0.01, 0.01 + plan.threshold)]
        yes = [told.lie + (1 - 2 * told.lie) * share for share in shares]
        spread = math.sqrt(sum(p * (1 - p) for p in yes) / plan.pulls)
        return plan.bound * spread / (1 - 2 * told.lie)

    def holds(self, name):
        laws = [TwoPointHeavyLaw(each, 1.0) for each in (0.1, 0.2)]
        instance = dpb.instances.heavy(laws, order=1.0, moment_bound=1.0)
        plan, other = (
            heavy_plan(each, CERTAIN_HORIZON, instance, 2, 1)
            for each in (self.algorithm, self.other)
        )
        deviations = [self.deviation(each, plan) for each in (plan, other)]
        high = 0.01 + plan.threshold - deviations[0]
        assert high < plan.bound and plan.pulls > 1000
        certain = [TwoPointHeavyLaw(each, 1.0) for each in (0.01, high)]
        instance = dpb.instances.heavy(certain, order=1.0, moment_bound=1.0)
        times, rng, left = (
            np.array([2 * plan.pulls, 2 * plan.pulls + 2]),
            np.random.default_rng(0),
            0,
        )
        for _ in range(self.runs):
            counts = self.algorithm.draw(instance, CERTAIN_HORIZON, times, rng, "reference").counts
            left += counts[1, 0] == counts[0, 0]
        seen = [left, self.runs - left]
        right, wrong = (
            stats.norm.cdf([-deviations[0] / each, deviations[0] / each]) for each in deviations
        )
        assert frequencies_hold(right, seen) and not frequencies_hold(wrong, seen)


@dataclass(frozen=True)
class SameChoice:
    """The third pull, of two-point rewards, mixed over what the two first ones are."""

    algorithm: object
    other: object
    runs: int = 4000

    def law(self, algorithm, instance, high, chances):
        tree, first = algorithm.plan(instance, 3).tree, 0.0
        assert high < tree.bound(1), "not truncated"
        for x, y in itertools.product((0, 1), repeat=2):
            weight = np.prod([c if z else 1 - c for z, c in zip((x, y), chances, strict=True)])
            gap = np.array([high * (x - y)])
            law = np.exp(elimination_law(gap, np.array([tree.node_scale(1)]), np.zeros(1)))
            first += weight * law[1]
        return [first, 1 - first]

    def holds(self, name):
        high, chances = 0.4, (0.95, 0.05)
        laws = [TwoPointHeavyLaw(high, chance) for chance in chances]
        instance = dpb.instances.heavy(laws, order=1.0, moment_bound=1.0)
        right, wrong = (
            self.law(each, instance, high, chances) for each in (self.algorithm, self.other)
        )
        rng, times, hits = np.random.default_rng(0), np.array([3]), 0
        for _ in range(self.runs):
            counts = self.algorithm.draw(instance, 3, times, rng, "reference").counts
            hits += int(counts[0, 0] == 2)
        seen = [hits, self.runs - hits]
        assert frequencies_hold(right, seen) and not frequencies_hold(wrong, seen)


@dataclass(frozen=True)
class SameEpoch:
    """A rule halts with a sum above the stream's, by a sample's range, as the exact law has it."""

    rule: object
    other: object
    runs: int = 4000

    def law(self, rule, end):
        """Earlier epochs do not halt, and the last one's noise exceeds the range of a sample."""
        going, last = 1.0, 1
        while 16 * (2**last - 1) < end:
            bound, scale = (
                rule.width(last) / rule.alpha,
                2.0 / (rule.epsilon * 16 * 2 ** (last - 1)),
            )
            going *= 1 - 0.5 * math.exp((1 - bound) / scale) - 0.5 * math.exp(-(1 + bound) / scale)
            last += 1
        above = going * 0.5 * math.exp(-rule.epsilon)
        return [above, 1 - above], last

    def holds(self, name):
        pair = dpb.auditing.audit_exactly(self.rule).pair
        stream, rng = pair.neighbour[0], np.random.default_rng(0)
        law, last = self.law(self.rule, stream.size)
        least = 1.0 - self.rule.alpha * self.rule.width(last)  # if the mean is that of the table
        found = [self.rule.run(stream, rng, stream.size) for _ in range(self.runs)]
        above = sum(each.samples == stream.size and each.estimate >= least for each in found)
        seen = [above, self.runs - above]
        assert pair.table.min() == 1.0 and stream[-1] == -1.0
        assert frequencies_hold(law, seen)
        assert not frequencies_hold(self.law(self.other, stream.size)[0], seen)


@dataclass(frozen=True)
class SameLook:
    """Arm 0, behind by two outcomes of three, is chosen as often as the exact law has it."""

    algorithm: object
    other: object
    runs: int = 4000

    def holds(self, name):
        table, rng = np.zeros((2, 8)), np.random.default_rng(0)
        table[0, 0], table[1, :3] = 1.0, 1.0
        right, wrong = (
            np.exp(elimination_law(np.array([-2.0]), np.array([1 / each.epsilon]), np.zeros(1))[:2])
            for each in (self.algorithm, self.other)
        )
        arms = self.algorithm.draw_table(table, self.runs, rng)[:, -1].astype(int)
        seen = np.bincount(1 - arms, minlength=2)
        assert frequencies_hold(right, seen) and not frequencies_hold(wrong, seen)


@dataclass(frozen=True)
class SameHalting:
    """Times at which a rule halts on a certain stream are as frequent as the exact law has them.

    The stream meets the threshold at its end. Times are put together by the quarters of the law;
    the last outcome is that the rule does not halt.
    """

    rule: object
    other: object
    runs: int = 500

    def holds(self, name):
        last = self.rule.noiseless_time(self.rule.half_range)
        stream = np.full(last, self.rule.threshold(self.rule.look(last)) / last)
        laws = [halting_law(rule, stream) for rule in (self.rule, self.other)]
        until = np.cumsum(np.exp(laws[0].log_halt)).searchsorted([0.25, 0.5, 0.75])
        ends = np.unique(laws[0].times[np.minimum(until, laws[0].times.size - 1)])
        right, wrong = (
            [
                *np.bincount(ends.searchsorted(law.times), np.exp(law.log_halt), ends.size + 1),
                math.exp(law.log_survive),
            ]
            for law in laws
        )
        rng = np.random.default_rng(0)
        found = [self.rule.run(stream, rng) for _ in range(self.runs)]
        never = ends.size + 1
        places = [ends.searchsorted(each.samples) if each.halted else never for each in found]
        seen = np.bincount(places, minlength=never + 1)
        assert frequencies_hold(right, seen) and not frequencies_hold(wrong, seen)
        assert max(seen) < 0.9 * self.runs, "the law is spread out"


CASES |= {
    (dpb.DPSE, ExactRun, "integrated"): [
        SameDecision(dpb.DPSE(0.05, 0.5), dpb.DPSE(0.07, 0.5)),
    ],
    (dpb.TunedDPSE, ExactRun, "integrated"): [
        SameDecision(dpb.TunedDPSE(0.05, 0.5), dpb.TunedDPSE(0.07, 0.5)),
    ],
    (dpb.DPSEIdentifier, ExactRun, "integrated"): [
        SameDecision(dpb.DPSEIdentifier(0.05, 0.5), dpb.DPSEIdentifier(0.07, 0.5)),
    ],
    (dpb.GuessAndDouble, ExactRun, "integrated"): [
        SameDecision(
            dpb.GuessAndDouble(dpb.DPSE(0.05), first_guess=2**14),
            dpb.GuessAndDouble(dpb.DPSE(0.07), first_guess=2**14),
            told=2**14,
        ),
    ],
    (dpb.DPRSE, ExactRun, "integrated"): [
        SameDecision(dpb.DPRSE(0.5, 0.5), dpb.DPRSE(0.7, 0.5)),
    ],
    (dpb.LDPRSE, ExactRun, "integrated"): [
        SameReports(dpb.LDPRSE(1.0, 0.5), dpb.LDPRSE(1.5, 0.5)),
        SameReports(*(dpb.LDPRSE(e, 0.5, "one-bit") for e in (1.0, 1.5))),
    ],
    (dpb.ExploreThenCommit, ExactRun, "integrated"): [
        SameLook(dpb.ExploreThenCommit(1.0, 3), dpb.ExploreThenCommit(1.3, 3))
    ],
    (dpb.DPRUCB, ExactRun, "integrated"): [SameChoice(dpb.DPRUCB(10.0), dpb.DPRUCB(20.0))],
    (dpb.DPNAS, ExactRun, "integrated"): [
        SameHalting(dpb.DPNAS(9.0, 0.9, 0.9), dpb.DPNAS(12.0, 0.9, 0.9))
    ],
    (dpb.DPHoeffdingStop, ExactRun, "integrated"): [
        SameEpoch(dpb.DPHoeffdingStop(1.0, 0.9, 0.5), dpb.DPHoeffdingStop(1.5, 0.9, 0.5))
    ],
    (dpb.DPExponentialNAS, ExactRun, "integrated"): [
        SameHalting(dpb.DPExponentialNAS(9.0, 0.9, 0.9), dpb.DPExponentialNAS(12.0, 0.9, 0.9))
    ],
}
LISTED = [
    pytest.param(name, case, id=f"{kind.__name__}-{on.__name__}-{name}-{i}")
    for (kind, on, name), cases in CASES.items()
    for i, case in enumerate(cases)
]


def test_every_accelerator_has_a_case():
    entered = {
        (kind, on, each.name)
        for (kind, on), entries in acceleration.entered().items()
        for each in entries
        # an index of one's own, which only subclasses have: test_own_index
        if kind.__module__.startswith("dpbandits.") and not inspect.isabstract(kind)
    }
    assert entered == CASES.keys()


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "case"), LISTED)
def test_it_has_the_law_of_the_plain_program(name, case):
    case.holds(name)


# ---------------------------------------------------------------- what is used for whom
@dataclass(frozen=True)
class Noiseless(dpb.DPSE):
    """Inherits an accelerator's class, and overrides what the accelerator knows nothing of."""

    label = "noiseless"

    def play(self, rewards, horizon, rng):
        dpb.SuccessiveElimination(self.beta).play(rewards, horizon, rng)


@dataclass(frozen=True)
class Wider(dpb.DPUCB):
    """Changes what `play` calls."""

    label = "wider"

    def gamma(self, n_arms, horizon):
        return 2 * super().gamma(n_arms, horizon)


def test_a_subclass_is_played_by_its_own_program():
    times = np.array([20_000])
    quiet, plain = (
        algorithm.draw(THREE, 20_000, times, np.random.default_rng(0)).counts
        for algorithm in (Noiseless(0.01), dpb.SuccessiveElimination())
    )
    assert np.array_equal(quiet, plain)
    for kind in (Noiseless, Wider):
        for on in (DrawnRewards, TableRuns, LawRewards):
            assert accelerators(kind, on) == ()
    assert dpb.simulate(Wider(1.0), THREE, 500, n_runs=1).how == "reference"


def test_a_changed_program_is_not_accelerated(monkeypatch):
    assert accelerator_for(dpb.DPSE(1.0), DrawnRewards).name == "epoch by epoch"
    monkeypatch.setattr(dpb.DPSE, "play", Noiseless.play)
    assert accelerator_for(dpb.DPSE(1.0), DrawnRewards) is None


def test_counters_decide_what_fits():
    for variant, names in (
        ("kary-exact", ["skipping on k-ary trees", "pull by pull"]),
        ("tree-exact", ["skipping", "pull by pull", "many arms"]),
    ):
        assert list(acceleration._fitting(dpb.DPUCB(1.0, variant), DrawnRewards)) == names
    free = dpb.DPUCB(INF, "kary-exact")
    assert accelerator_for(free, DrawnRewards).name == "skipping"
    told = dpb.simulate(dpb.DPUCB(1.0, "kary-exact"), THREE, 300, n_runs=1).how
    assert told == "skipping on k-ary trees: its law up to 4e-10"
    with pytest.raises(ValueError, match="how='many arms' does not fit"):
        dpb.simulate(dpb.DPUCB(1.0, "kary-exact"), THREE, 300, n_runs=1, how="many arms")


def test_how_is_chosen_and_told():
    for how, told in (
        (None, "skipping: its law up to 4e-10"),
        ("skipping", "skipping: its law up to 4e-10"),
        ("pull by pull", "pull by pull"),
        ("reference", "reference"),
    ):
        assert dpb.simulate(dpb.UCB(), THREE, 300, n_runs=1, how=how).how == told
    allowed = "how='fast' is unknown; allowed: 'skipping', 'pull by pull', 'many arms', 'ref"
    with pytest.raises(ValueError, match=allowed):
        dpb.simulate(dpb.UCB(), THREE, 300, n_runs=1, how="fast")


@pytest.mark.parametrize(
    ("algorithm", "instance", "told", "other"),
    [
        (ANYTIME, S1, "pull by pull", (FIXED, "skipping: its law up to 5e-07")),
        *[
            (kind(INF), THREE, "pull by pull", (kind(9.0), "skipping: its law up to 4e-10"))
            for kind in (dpb.DPUCBBound, dpb.DPUCBHybrid)
        ],
        (
            SAMPLING[1],
            THREE,
            "batch by batch",
            (SAMPLING[0], "release by release: its law up to 3e-11"),
        ),
    ],
)
def test_what_does_not_fit_a_configuration_neither_plays_it_nor_is_told(
    algorithm, instance, told, other
):
    assert dpb.simulate(algorithm, instance, 300, n_runs=1).how == told
    assert dpb.simulate(other[0], instance, 300, n_runs=1).how == other[1], "control"
    name = other[1].partition(":")[0]
    words = f"how='{name}' does not fit {type(algorithm).__name__}.*; allowed: '{told}', 'refer"
    with pytest.raises(ValueError, match=words):
        dpb.simulate(algorithm, instance, 300, n_runs=1, how=name)


def test_an_error_a_pull_grows_with_the_horizon_and_is_rounded_up():
    for pulls, told in ((10**8, "1e-05"), (10**10, "1e-03"), (3 * 10**6 + 1, "4e-07")):
        said = what_plays(SAMPLING[0], DrawnRewards, None, pulls)
        assert said == f"release by release: its law up to {told}"
    fast = accelerator_for(SAMPLING[0], DrawnRewards)
    assert fast.distance(10**20) == 1.0 and fast.distance(10) == pytest.approx(1e-12)
    assert what_plays(SAMPLING[1], DrawnRewards, None, 10**10) == "batch by batch"


# ---------------------------------------------------------------- what plays a stretch
def played_stretches(algorithm, how, horizon=3000):
    """Times, counts and what is told of a run."""
    runs = dpb.simulate(algorithm, THREE, horizon, n_runs=2, seed=3, how=how)
    return runs.how, runs.pulls.tolist()


def test_stretches_are_played_by_what_is_asked_for_and_that_is_told():
    algorithm = dpb.GuessAndDouble(dpb.DPUCB(9.0))
    told = {how: played_stretches(algorithm, how) for how in (None, "pull by pull", "reference")}
    # stretches [0, 512), [512, 1024), [1024, 2048), [2048, 3000)
    assert told[None][0] == "skipping within each part: its law up to 2e-09"
    assert told["pull by pull"][0] == "pull by pull within each part"
    assert told["reference"][0] == "reference"
    assert told["pull by pull"][1] != told["reference"][1] != told[None][1], "it is what plays"
    plain = dpb.GuessAndDouble(Wider(9.0))
    assert played_stretches(plain, None)[0] == "reference"
    with pytest.raises(ValueError, match="how='pull by pull' is unknown; allowed: 'reference'"):
        played_stretches(plain, "pull by pull")
    with pytest.raises(ValueError, match="how='skipping' does not fit DPUCBBound"):
        played_stretches(dpb.GuessAndDouble(dpb.DPUCBBound(INF)), "skipping")
    twice = dpb.GuessAndDouble(algorithm, first_guess=4096)
    # of [0, 2048), [2048, 4096), [4096, 8192), [8192, 10 000): 3 + 3 + 4 + 3 parts of 4e-10
    said = what_plays(twice, DrawnRewards, None, 10**4)
    assert said == "skipping within each part: its law up to 6e-09"


def test_within_stretches_the_plain_program_is_the_one_that_is_told(monkeypatch):
    """Asked for the reference, no accelerator runs; asked for none, one does."""

    def refuse(*run):
        raise AssertionError("an accelerator")

    algorithm = dpb.GuessAndDouble(dpb.DPSE(0.5))
    fast = accelerator_for(dpb.DPSE(0.5), DrawnRewards)
    entries = acceleration._entered[dpb.DPSE, DrawnRewards]
    monkeypatch.setitem(entries, fast.name, replace(fast, run=refuse))
    assert played_stretches(algorithm, "reference")[0] == "reference"
    for how in (None, "epoch by epoch"):
        with pytest.raises(AssertionError, match="an accelerator"):
            played_stretches(algorithm, how)


def test_a_table_is_played_by_the_plain_program_of_the_stretches():
    algorithm = dpb.GuessAndDouble(dpb.AdaPUCB(1.0), first_guess=4)
    assert accelerator_for(algorithm, TableRuns) is None
    with pytest.raises(ValueError, match="how='batch by batch' is unknown; allowed: 'reference'"):
        algorithm.draw_table(TABLE, 2, np.random.default_rng(0), "batch by batch")


def test_a_reader_enters_an_accelerator_in_the_class_s_module_alone():
    @dataclass(frozen=True)
    class Mine(dpb.RegretAlgorithm):
        label = "mine"
        source = "tests"

        def play(self, rewards, horizon, rng):
            rewards.commit(0)

    def fast(algorithm, rewards, horizon, checkpoints, rng):
        return np.zeros((checkpoints.size, rewards.n_arms), np.int64)

    far = functools.wraps(fast)(lambda *run: fast(*run))
    far.__module__ = "elsewhere"
    with pytest.raises(ValueError, match="is in elsewhere; allowed: .*test_acceleration"):
        accelerates(Mine, on=DrawnRewards, name="far")(far)
    with pytest.raises(ValueError, match="error=2 is out of range"):
        accelerates(Mine, on=DrawnRewards, name="wrong", error=2)
    accelerates(Mine, on=DrawnRewards, name="last arm")(fast)
    with pytest.raises(ValueError, match="name='last arm' is taken"):
        accelerates(Mine, on=DrawnRewards, name="last arm")(fast)
    with pytest.raises(ValueError, match="Mine: last arm returned ndarray, not a Play"):
        dpb.simulate(Mine(), THREE, 300, n_runs=1)
    assert dpb.simulate(Mine(), THREE, 300, n_runs=1, how="reference").pulls.tolist() == [
        [300, 0, 0]
    ]


# ---------------------------------------------------------------- programs that break the protocol
@dataclass(frozen=True)
class Broken(dpb.RegretAlgorithm):
    """Plays the last arm, after doing what it must not."""

    label = "broken"
    source = "tests"

    fault: str

    def play(self, rewards, horizon, rng):
        if self.fault == "stops":
            rewards.total(0, 10)
            return
        if self.fault == "arm":
            rewards.total(rewards.n_arms, 1)
        if self.fault == "size":
            rewards.total(0, 0)
        if self.fault == "half":
            rewards.total(0, 0.5)
        if self.fault == "between":
            rewards.total(1.7, 1)
        if self.fault == "between, in turn":
            rewards.totals([0, 1.7], 1)
        if self.fault == "twice":
            rewards.moments(np.array([1, 0, 1]), 1)
        if self.fault == "none of them":
            rewards.moments([], 1)
        if self.fault == "commit":
            rewards.commit(1.7)
        if self.fault == "global":
            np.random.random()  # noqa: NPY002
        if self.fault == "own":
            for arm in np.random.default_rng().integers(rewards.n_arms, size=50):
                rewards.total(arm, 1)
        if self.fault == "goes on":
            try:
                rewards.commit(0)
            except BaseException:
                rewards.commit(1)
        rewards.commit(rewards.n_arms - 1)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("stops", "Broken.play returned after 10 of 64 pulls; allowed: it goes on until the run"),
        ("arm", "Broken.play: arm=3 is out of range; allowed: .* at most 2"),
        ("size", "Broken.play: size=0 is out of range; allowed: a whole number of at least 1"),
        ("half", "Broken.play: size=0.5 is not a whole number"),
        ("between", "Broken.play: arm=1.7 is not a whole number; allowed: the number of an arm"),
        ("between, in turn", "Broken.play: arm=1.7 is not a whole number; allowed: "),
        (
            "twice",
            r"Broken.play: arms=\[1, 0, 1\] names an arm twice; allowed: at least one arm, e",
        ),
        (
            "none of them",
            r"Broken.play: arms=\[\] names no arm; allowed: at least one arm, each on",
        ),
        ("commit", "Broken.play: arm=1.7 is not a whole number; allowed: "),
        ("global", "Broken.play draws noise from another source .* allowed: rng only"),
        ("own", "Broken.play draws noise from another source .* allowed: rng only"),
        ("goes on", "Broken.play: rewards were asked for after the run had ended; allowed: "),
    ],
)
def test_a_class_that_breaks_the_protocol_gets_one_clear_line(fault, words):
    with pytest.raises(ValueError, match=words):
        dpb.simulate(Broken(fault), THREE, 200, n_runs=1)
    fine = dpb.simulate(Broken("none"), THREE, 200, n_runs=1)
    assert fine.pulls.tolist() == [[0, 0, 200]] and fine.how == "reference", "control"


# ---------------------------------------------------------------- audited is what runs
@pytest.mark.statistical
def test_the_audit_plays_a_subclass_by_its_own_program():
    """Raw sums in `play`: convicted, though the class it inherits from is acquitted."""

    class Raw(dpb.DPUCB):
        def play(self, rewards, horizon, rng):
            dpb.UCB().play(rewards, horizon, rng)

    pair = dpb.TablePair([[0] * 8, [0.3] * 8], arm=0, pull=0, value=1)
    assert dpb.audit(Raw(epsilon=1.0), pair, n_runs=2000).convicted
    assert dpb.audit(dpb.DPUCB(epsilon=1.0), pair, n_runs=2000).verdict == "no violation found"


def test_without_noise_no_number_is_drawn_for_it():
    """At ε = ∞ the programs draw no noise: with one generator all are UCB."""
    times = np.array([5000])
    counts = [
        algorithm.draw(THREE, 5000, times, np.random.default_rng(5), "reference").counts.tolist()
        for algorithm in (dpb.UCB(), dpb.DPUCB(INF), dpb.DPUCBBound(INF), dpb.DPUCBHybrid(INF))
    ]
    assert counts[0] == counts[1] == counts[2] == counts[3]
    noisy = dpb.DPUCB(5.0).draw(THREE, 5000, times, np.random.default_rng(5), "reference")
    assert noisy.counts.tolist() != counts[0], "control"


@pytest.mark.statistical
def test_the_audit_runs_a_subclass_that_identifies_by_its_own_program():
    """One without noise: convicted, though the class it inherits from is acquitted."""

    class Bare(dpb.DPTT):
        def release(self, total, rng):
            return total

    pair = dpb.TablePair([[0] * 8, [0.3] * 8], arm=0, pull=0, value=1)
    assert dpb.audit(Bare(1.0, 0.5, first=1), pair, n_runs=2000).convicted
    assert dpb.audit(dpb.DPTT(1.0, 0.5, first=1), pair, n_runs=2000).verdict == "no violation found"
    assert accelerators(Bare, TableRuns) == () != accelerators(dpb.DPTT, TableRuns)


def test_how_runs_were_identified_is_told():
    for algorithm, told in (
        (dpb.DPTT(9.0, 0.3), "batch by batch"),
        (dpb.DPSEIdentifier(9.0, 0.3), "reference"),
        (dpb.TopTwo(0.3), "pull by pull"),
    ):
        assert dpb.identify(algorithm, FAR, 1).how == told
        assert dpb.identify(algorithm, FAR, 1, how="reference").how == "reference"
    with pytest.raises(ValueError, match="how='fast' is unknown; allowed: 'compiled', 'reference'"):
        dpb.identify(dpb.DPLRE(1.0, 0.1), FAR, 1, how="fast")


@dataclass(frozen=True)
class Undecided(dpb.IdentificationAlgorithm):
    """Recommends what it was made with, or asks for what cannot be."""

    label = "undecided"
    source = "tests"
    delta: float
    answer: object
    size: object = 1

    def decide(self, rewards, rng):
        rewards.total(0, self.size)
        return self.answer


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (Undecided(0.1, 3), r"Undecided.decide\(…\)=3 is out of range; allowed: .* at most 2"),
        (Undecided(0.1, None), r"Undecided.decide\(…\)=None is not a whole number"),
        (Undecided(0.1, 1, 0), "Undecided.decide: size=0 is out of range"),
    ],
)
def test_an_identifier_that_breaks_the_protocol_gets_one_clear_line(algorithm, words):
    with pytest.raises(ValueError, match=words):
        algorithm.draw(THREE, np.random.default_rng(0))
    fine = replace(algorithm, answer=2, size=1).draw(THREE, np.random.default_rng(0))
    assert (fine.recommendation, fine.pulls.tolist()) == (2, [1, 0, 0]), "control"
