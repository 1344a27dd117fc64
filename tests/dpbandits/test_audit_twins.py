"""Broken twins are convicted, and what they are twins of is acquitted, at the same declared ε.

Each audit fails with probability 1e-6 at most: that is the false alarm of an acquittal. A
conviction of a private algorithm would be a wrong alarm of the auditor; an acquittal of a twin
means that the auditor has become blind.

Each algorithm runs `n` times on a table of rewards in [0, 1] unless it says otherwise; with its
flaw switched off it is private with `epsilon`. They are written to be read, with all runs in one
array: what is wrong is one line, and `TWINS` says what.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing import Outputs, TablePair, audit, audit_exactly, audit_stopping
from dpbandits.stopping import crossing_streams, privacy_loss

EPSILON, RUNS = 1.0, 20_000
RULE = dpb.DPExponentialNAS(EPSILON, 0.5, 0.05)


def elimination(table, n, rng, epsilon, *, flaw=""):
    """Two arms, epochs of 2, 4, 8 pulls of each; the worse one leaves beyond a threshold of 1/2.

    The means of all epochs are released.
    """
    sums, pulls, start = np.zeros(2), 0, 0
    lasting = rng.laplace(0.0, 1.0, (n, 2))
    released = np.full((n, 4, 2), np.nan)
    means, raw, playing = np.empty((n, 2)), np.empty((n, 2)), np.ones(n, dtype=bool)
    for epoch in range(3):
        size = 2 ** (epoch + 1)
        if flaw != "kept":
            sums, pulls = np.zeros(2), 0
        sums = sums + table[:, start : start + size].sum(axis=1)
        pulls, start = pulls + size, start + size
        scale = 1 / (epsilon * pulls**2) if flaw == "quadratic" else 1 / (epsilon * pulls)
        scale *= 0.5 if flaw == "halved" else 1.0
        noise = lasting if flaw == "reused" else rng.laplace(0.0, 1.0, (n, 2))
        raw[playing] = sums
        released[playing, epoch] = means[playing] = (sums / pulls + scale * noise)[playing]
        if flaw == "split":
            again = sums / pulls + scale * rng.laplace(0.0, 1.0, (n, 2))
            released[playing, 3] = again[playing]
        playing &= ~(np.abs(means[:, 0] - means[:, 1]) > 0.5)
    best = (raw if flaw == "raw" else means).argmax(axis=1)
    return np.column_stack([best, released.reshape(n, 8)])


def sparse_vector(table, n, rng, epsilon, *, flaw=""):
    """Halt at the first time at which the sum of an arm is large, and release its mean.

    Two thirds of the budget are for halting, one third for the mean.
    """
    first, second = 2 * epsilon / 3, epsilon / 3
    threshold = 2.0 + rng.laplace(0.0, 2 / first, (n, 1))
    totals = np.cumsum(table[0, :8])
    queries = totals + (0.0 if flaw == "queries" else rng.laplace(0.0, 4 / first, (n, 8)))
    over = queries >= threshold
    pulls = np.where(over.any(axis=1), over.argmax(axis=1) + 1, 8)
    total = totals[pulls - 1] + (0.0 if flaw == "raw" else rng.laplace(0.0, 1 / second, n))
    return np.column_stack([pulls, np.where(over.any(axis=1), total / pulls, np.nan)])


def tree_counter(table, n, rng, epsilon, *, flaw=""):
    """Sums of the first 1, 2, 3, 4 rewards of an arm by a binary tree, 3 levels."""
    scale = (1 if flaw == "levels" else 3) / epsilon
    x = table[0]
    leaf = 0.0 if flaw == "leaf" else scale
    one = x[0] + rng.laplace(0.0, leaf, n)
    two = x[0] + x[1] + rng.laplace(0.0, scale, n)
    three = two + x[2] + rng.laplace(0.0, leaf, n)
    return np.column_stack([one, two, three, x[:4].sum() + rng.laplace(0.0, scale, n)])


def hybrid_counter(table, n, rng, epsilon, *, flaw=""):
    """Sums at 2, 3 and 4 by a hybrid counter: blocks that end at powers of two, trees between."""
    part = epsilon if flaw == "full" else epsilon / 2
    x = table[0]
    two = x[0] + x[1] + rng.laplace(0.0, 1 / part, n)
    three = two + x[2] + rng.laplace(0.0, 1 / part, n)
    return np.column_stack([two, three, two + x[2] + x[3] + rng.laplace(0.0, 1 / part, n)])


def clipped_mean(table, n, rng, epsilon, *, flaw=""):
    """The mean of 4 rewards, each cut off at ±1, whatever they are."""
    x = table[0, :4]
    if flaw != "clipping":
        x = np.clip(x, -1.0, 1.0)
    return (x.mean() + rng.laplace(0.0, 2 / (4 * epsilon), n))[:, None]


def leader(table, n, rng, epsilon, *, flaw=""):
    """Six times: play the arm with the larger noisy sum of its own latest batch of 2 once more.

    The arms are the output.
    """
    batches = table[:, 0::2] + table[:, 1::2]
    run, done, played = np.arange(n), np.zeros((n, 2), dtype=int), []
    sums = np.tile(batches[:, 0], (n, 1))
    noisy = sums + rng.laplace(0.0, 1 / epsilon, (n, 2))
    for _ in range(6):
        best = noisy.argmax(axis=1)
        if flaw == "tie":
            near = np.abs(noisy[:, 0] - noisy[:, 1]) < 1.0
            best = np.where(near, sums.argmax(axis=1), best)
        done[run, best] += 1
        sums[run, best] = batches[best, done[run, best]]
        fresh = sums + rng.laplace(0.0, 1 / epsilon, (n, 2))
        shown = (slice(None),) if flaw == "resting" else (run, best)
        noisy[shown] = fresh[shown]
        played.append(best)
    return Outputs(np.empty((n, 0)), np.column_stack(played).astype(float))


def local_reports(table, n, rng, epsilon, *, flaw=""):
    """Four rewards of an arm, each randomised before it is seen: kept with odds e^ε : 1."""
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    turned = rng.random((n, 1 if flaw == "once" else 4)) > keep
    return np.where(turned, 1 - table[0, :4], table[0, :4])


@dataclass(frozen=True)
class Twin:
    """An algorithm with one of its flaws or none, and tables on which the flaw shows."""

    algorithm: Any
    flaw: str
    pair: TablePair
    label = "twin"
    guarantee = dpb.PrivacyGuarantee("global", EPSILON)

    def outputs(self, table, n_runs, rng):
        found = self.algorithm(table, n_runs, rng, EPSILON, flaw=self.flaw)
        return found if isinstance(found, Outputs) else Outputs.of_values(found)


EQUAL, LATE = (TablePair(np.zeros((2, 28)), arm, pull, 1) for arm, pull in ((0, 0), (1, 13)))
SECOND = TablePair(np.zeros((2, 28)), 1, 0, 1)
FIRST, THIRD = (TablePair(np.zeros((1, 4)), 0, pull, 1) for pull in (0, 2))
TWINS = {
    "noise drawn once and used in every epoch": Twin(elimination, "reused", EQUAL),
    "sums not reset between epochs, rewards released again": Twin(elimination, "kept", EQUAL),
    "scale 1/(εn²) in place of 1/(εn)": Twin(elimination, "quadratic", EQUAL),
    "sensitivity halved": Twin(elimination, "halved", EQUAL),
    "last means released once more, with all of ε": Twin(elimination, "split", EQUAL),
    "better raw mean recommended": Twin(elimination, "raw", LATE),
    "queries without noise": Twin(
        sparse_vector, "queries", TablePair([[1, 1, 1] + [0] * 5], 0, 3, 1)
    ),
    "mean without noise": Twin(sparse_vector, "raw", TablePair(np.zeros((1, 8)), 0, 0, 1)),
    "tree: every level gets all of ε": Twin(tree_counter, "levels", FIRST),
    "tree: leaves without noise": Twin(tree_counter, "leaf", THIRD),
    "hybrid: both parts get all of ε": Twin(hybrid_counter, "full", THIRD),
    "not clipped": Twin(clipped_mean, "clipping", TablePair(np.zeros((1, 4)), 0, 1, 20.0)),
    "near ties broken by raw sums": Twin(leader, "tie", SECOND),
    "arm at rest released again with fresh noise": Twin(leader, "resting", SECOND),
    "one coin for all reports": Twin(local_reports, "once", FIRST),
}
"""What is wrong → a twin."""
SOUND = {
    (twin.algorithm, id(twin.pair)): Twin(twin.algorithm, "", twin.pair) for twin in TWINS.values()
}
"""Each algorithm on each pair of tables on which a flaw of it shows."""


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
@pytest.mark.statistical
def test_a_broken_twin_is_convicted(twin):
    assert audit(twin, twin.pair, RUNS, failure=FALSE_ALARM).verdict == "convicted"


@pytest.mark.parametrize("sound", SOUND.values(), ids=lambda twin: twin.algorithm.__name__)
@pytest.mark.statistical
def test_without_its_flaw_it_is_acquitted(sound):
    assert audit(sound, sound.pair, RUNS, failure=FALSE_ALARM).verdict == "acquitted"


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
    assert sound.verdict == "acquitted" and sound.epsilon_lower > 0.99 * EPSILON
    same_sign = TablePair(np.ones_like(crossing_streams(RULE, 5)[0])[None, :], 0, 0, 0.5)
    assert audit_stopping(RULE, same_sign).epsilon_lower < 0.5
