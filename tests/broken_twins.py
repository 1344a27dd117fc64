"""Small private bandit algorithms and their broken twins, which the auditor must tell apart.

Each function runs `n` times on a table of rewards; with its flaw switched off it is private with
`epsilon`, with the flaw it is not. They are written to be read, with all runs in one array: what is
wrong is one line. Rewards lie in [0, 1] unless it says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpbandits.auditing.tables import Outputs, TablePair
from dpbandits.guarantees import PrivacyGuarantee


def elimination(table, n, rng, epsilon, *, flaw=""):
    """Two arms, epochs of 2, 4, 8 pulls of each; the worse one leaves beyond a threshold of 1/2.

    The means of all epochs are released. Flaws: "reused" (noise drawn once and used in every
    epoch), "kept" (sums are not reset between epochs, so that a reward is released again),
    "quadratic" (scale 1/(εn²) in place of 1/(εn)), "halved" (sensitivity 1/2), "raw" (the better
    raw mean is recommended), "split" (the last means are released once more, with all of ε).
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

    Two thirds of the budget are for halting, one third for the mean. Flaws: "queries" (the sums
    have no noise), "raw" (the mean has none).
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
    """Sums of the first 1, 2, 3, 4 rewards of an arm by a binary tree, 3 levels.

    Flaws: "levels" (each level gets all of ε), "leaf" (leaves have no noise).
    """
    scale = (1 if flaw == "levels" else 3) / epsilon
    x = table[0]
    leaf = 0.0 if flaw == "leaf" else scale
    one = x[0] + rng.laplace(0.0, leaf, n)
    two = x[0] + x[1] + rng.laplace(0.0, scale, n)
    three = two + x[2] + rng.laplace(0.0, leaf, n)
    return np.column_stack([one, two, three, x[:4].sum() + rng.laplace(0.0, scale, n)])


def hybrid_counter(table, n, rng, epsilon, *, flaw=""):
    """Sums at 2, 3 and 4 by a hybrid counter: blocks that end at powers of two, trees between.

    Flaw: "full" (both parts get all of ε).
    """
    part = epsilon if flaw == "full" else epsilon / 2
    x = table[0]
    two = x[0] + x[1] + rng.laplace(0.0, 1 / part, n)
    three = two + x[2] + rng.laplace(0.0, 1 / part, n)
    return np.column_stack([two, three, two + x[2] + x[3] + rng.laplace(0.0, 1 / part, n)])


def clipped_mean(table, n, rng, epsilon, *, flaw=""):
    """The mean of 4 rewards, each cut off at ±1, whatever they are.

    Flaw: "clipping" (they are not cut off).
    """
    x = table[0, :4]
    if flaw != "clipping":
        x = np.clip(x, -1.0, 1.0)
    return (x.mean() + rng.laplace(0.0, 2 / (4 * epsilon), n))[:, None]


def leader(table, n, rng, epsilon, *, flaw=""):
    """Six times: play the arm with the larger noisy sum of its own latest batch of 2 once more.

    The arms are the output. Flaws: "tie" (near ties are broken by the raw sums), "resting" (an arm
    that rests is released again, with fresh noise, at every step).
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
        if flaw == "resting":
            noisy = fresh
        else:
            noisy[run, best] = fresh[run, best]
        played.append(best)
    return Outputs(np.empty((n, 0)), np.column_stack(played).astype(float))


def local_reports(table, n, rng, epsilon, *, flaw=""):
    """Four rewards of an arm, each randomised before it is seen: kept with odds e^ε : 1.

    Flaw: "once" (one coin decides for all of them whether they are turned).
    """
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    turned = rng.random((n, 1 if flaw == "once" else 4)) > keep
    return np.where(turned, 1 - table[0, :4], table[0, :4])


class Twin(NamedTuple):
    """An algorithm, one of its flaws, and tables on which it shows."""

    algorithm: object
    flaw: str
    pair: TablePair


@dataclass(frozen=True)
class TwinSubject:
    """An algorithm with or without a flaw, as `audit` takes it."""

    algorithm: object
    flaw: str
    epsilon: float
    label: str = "twin"

    @property
    def guarantee(self):
        return PrivacyGuarantee("global", self.epsilon)

    def outputs(self, table, n_runs, rng):
        found = self.algorithm(table, n_runs, rng, self.epsilon, flaw=self.flaw)
        return found if isinstance(found, Outputs) else Outputs(found, np.empty((n_runs, 0)))


def _pair(rows, arm, pull, value):
    return TablePair(np.array(rows, dtype=float), arm, pull, value)


_EQUAL = _pair(np.zeros((2, 28)), 0, 0, 1)

TWINS = {
    "noise drawn once and reused": Twin(elimination, "reused", _EQUAL),
    "sums not reset between epochs": Twin(elimination, "kept", _EQUAL),
    "scale falls like 1/n²": Twin(elimination, "quadratic", _EQUAL),
    "sensitivity halved": Twin(elimination, "halved", _EQUAL),
    "budget not split": Twin(elimination, "split", _EQUAL),
    "raw argmax recommended": Twin(elimination, "raw", _pair(np.zeros((2, 28)), 1, 13, 1)),
    "queries without noise": Twin(sparse_vector, "queries", _pair([[1, 1, 1] + [0] * 5], 0, 3, 1)),
    "mean released without noise": Twin(sparse_vector, "raw", _pair(np.zeros((1, 8)), 0, 0, 1)),
    "tree: every level gets all": Twin(tree_counter, "levels", _pair(np.zeros((1, 4)), 0, 0, 1)),
    "tree: leaves without noise": Twin(tree_counter, "leaf", _pair(np.zeros((1, 4)), 0, 2, 1)),
    "hybrid: both parts get all": Twin(hybrid_counter, "full", _pair(np.zeros((1, 4)), 0, 2, 1)),
    "clipping left out": Twin(clipped_mean, "clipping", _pair(np.zeros((1, 4)), 0, 1, 20.0)),
    "ties broken by raw sums": Twin(leader, "tie", _pair(np.zeros((2, 28)), 1, 0, 1)),
    "arm at rest released again": Twin(leader, "resting", _pair(np.zeros((2, 28)), 1, 0, 1)),
    "one coin for all reports": Twin(local_reports, "once", _pair(np.zeros((1, 4)), 0, 0, 1)),
}
"""What is wrong → a twin."""
