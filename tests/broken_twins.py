"""Small private bandit algorithms and their broken twins, which the auditor must tell apart.

Each function runs once on `FixedRewards`; with its flaw switched off it is private with
`epsilon`, with the flaw it is not. They are plain loops, written to be read: what is wrong is one
line. Rewards lie in [0, 1] unless it says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpbandits.privacy.audit_tables import TablePair


def elimination(rewards, rng, epsilon, *, flaw=""):
    """Two arms, epochs of 2, 4, 8 pulls of each; the worse one leaves beyond a threshold of 1/2.

    The means of all epochs are released. Flaws: "reused" (noise drawn once and used in every
    epoch), "kept" (sums are not reset between epochs, so that a reward is released again),
    "quadratic" (scale 1/(εn²) in place of 1/(εn)), "halved" (sensitivity 1/2), "raw" (the better
    raw mean is recommended), "split" (the last means are released once more, with all of ε).
    """
    sums, pulls = np.zeros(2), 0
    lasting = rng.laplace(0.0, 1.0, 2)
    released = np.full((4, 2), np.nan)
    for epoch in range(3):
        size = 2 ** (epoch + 1)
        if flaw != "kept":
            sums, pulls = np.zeros(2), 0
        sums += [rewards.total(arm, size) for arm in (0, 1)]
        pulls += size
        scale = 1 / (epsilon * pulls**2) if flaw == "quadratic" else 1 / (epsilon * pulls)
        scale *= 0.5 if flaw == "halved" else 1.0
        noise = lasting if flaw == "reused" else rng.laplace(0.0, 1.0, 2)
        released[epoch] = means = sums / pulls + scale * noise
        if abs(means[0] - means[1]) > 0.5:
            break
    if flaw == "split":
        released[3] = sums / pulls + scale * rng.laplace(0.0, 1.0, 2)
    return int((sums if flaw == "raw" else means).argmax()), *released.ravel()


def sparse_vector(rewards, rng, epsilon, *, flaw=""):
    """Halt at the first n at which the sum of an arm is large, and release its mean.

    Two thirds of the budget are for halting, one third for the mean. Flaws: "queries" (the sums
    have no noise), "raw" (the mean has none).
    """
    first, second = 2 * epsilon / 3, epsilon / 3
    threshold = 2.0 + rng.laplace(0.0, 2 / first)
    total = 0.0
    for n in range(1, 9):
        total += rewards.pull(0)
        query = total + (0.0 if flaw == "queries" else rng.laplace(0.0, 4 / first))
        if query >= threshold:
            return (total + (0.0 if flaw == "raw" else rng.laplace(0.0, 1 / second))) / n
    return np.nan


def tree_counter(rewards, rng, epsilon, *, flaw=""):
    """Sums of the first 1, 2, 3, 4 rewards of an arm by a binary tree, 3 levels.

    Flaws: "levels" (each level gets all of ε), "leaf" (leaves have no noise).
    """
    scale = (1 if flaw == "levels" else 3) / epsilon
    x = [rewards.pull(0) for _ in range(4)]
    leaf = 0.0 if flaw == "leaf" else scale
    one = x[0] + rng.laplace(0.0, leaf)
    two = x[0] + x[1] + rng.laplace(0.0, scale)
    three = two + x[2] + rng.laplace(0.0, leaf)
    return one, two, three, sum(x) + rng.laplace(0.0, scale)


def hybrid_counter(rewards, rng, epsilon, *, flaw=""):
    """Sums at 2, 3 and 4 by a hybrid counter: blocks that end at powers of two, trees between.

    Flaw: "full" (both parts get all of ε).
    """
    part = epsilon if flaw == "full" else epsilon / 2
    x = [rewards.pull(0) for _ in range(4)]
    two = x[0] + x[1] + rng.laplace(0.0, 1 / part)
    three = two + x[2] + rng.laplace(0.0, 1 / part)
    return two, three, two + x[2] + x[3] + rng.laplace(0.0, 1 / part)


def clipped_mean(rewards, rng, epsilon, *, flaw=""):
    """The mean of 4 rewards, each cut off at ±1, whatever they are.

    Flaw: "clipping" (they are not cut off).
    """
    x = np.array([rewards.pull(0) for _ in range(4)])
    if flaw != "clipping":
        x = np.clip(x, -1.0, 1.0)
    return x.mean() + rng.laplace(0.0, 2 / (4 * epsilon))


def leader(rewards, rng, epsilon, *, flaw=""):
    """Eight times: pull the arm with the larger noisy sum of its own latest batch of 2.

    Flaws: "tie" (near ties are broken by the raw sums), "resting" (an arm that rests is released
    again, with fresh noise, at every step).
    """
    sums = np.array([rewards.total(arm, 2) for arm in (0, 1)])
    noisy = sums + rng.laplace(0.0, 1 / epsilon, 2)
    for _ in range(6):
        best = int(noisy.argmax())
        if flaw == "tie" and abs(noisy[0] - noisy[1]) < 1.0:
            best = int(sums.argmax())
        sums[best] = rewards.total(best, 2)
        fresh = sums + rng.laplace(0.0, 1 / epsilon, 2)
        if flaw == "resting":
            noisy = fresh
        else:
            noisy[best] = fresh[best]
    return None


def local_reports(rewards, rng, epsilon, *, flaw=""):
    """Four rewards of an arm, each randomised before it is seen: kept with odds e^ε : 1.

    Flaw: "once" (one coin decides for all of them whether they are turned).
    """
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    truth = np.array([rewards.pull(0) for _ in range(4)])
    turned = rng.random(1 if flaw == "once" else 4) > keep
    return tuple(np.where(turned, 1 - truth, truth))


class Twin(NamedTuple):
    """An algorithm, one of its flaws, and tables on which it shows."""

    algorithm: object
    flaw: str
    pair: TablePair


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
