"""Lazy batches on many arms: arms with the same number of releases share a heap.

Their estimates have the same numbers of rewards and of noises, so that the order of their indices
is that of their means, at all times. A decision compares the best arms of O(log T) groups, in place
of all arms. Proof: :prf:ref:`prop-many-arms`. The random numbers are those of `lazy_batches`, in
the same order, so that equal generators give equal runs, but for indices that differ by rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbandits._arrays import Floats, Ints, Rng
from dpbandits._engine.acceleration import accelerates
from dpbandits._engine.accelerators.arm_heaps import MANY, Links, links_of, popped, pushed
from dpbandits._engine.accelerators.lazy_batches import (
    _CALIBRATED,
    _EVIDENCE,
    _INDICES,
    _KL,
    _UCB,
    _floor,
    _Grid,
    _most_releases,
    _Released,
    _Rule,
    _rule_of,
    _touch,
)
from dpbandits._engine.kernels import copy_into, kernel
from dpbandits.divergences import ENDLESS, calibrated_plus_kernel, calibrated_upper_kernel
from dpbandits.mechanisms import laplace
from dpbandits.regret.base import Play, Times
from dpbandits.regret.lazy import LazyBatches
from dpbandits.rewards.binomial import binomial
from dpbandits.rewards.sources import DrawnRewards
from dpbandits.schedules import next_size_kernel

__all__ = ["play_many_arms"]


class _Groups(NamedTuple):
    """Arms by their number g of releases; arrays of shape (G,), the last group may stay empty."""

    open: Ints  # heaps of arms whose index is below 1, or unknown; by means
    full: Ints  # heaps of arms whose index is 1 from now on; by numbers
    bars: Floats  # d̃⁺(y, 1, k/n) of the best open arm; nan if it is not known
    pulls: Ints  # of each arm
    next_sizes: Ints  # of their next batches
    # as `_Released` of one arm, the best open one; rewards and noises are those of all its arms
    best: _Released
    ends: Ints  # (R,): times of all releases
    span: Ints  # (3,): the first group with an arm, the one after the last, the last that led


def _groups(grid: _Grid, n_groups: int, most_releases: int) -> _Groups:
    """Return the groups, none of which has an arm."""
    whole = np.zeros((6, n_groups), np.int64)
    pulls, sizes, rewards, noises, opened, full = whole
    opened[:] = full[:] = -1
    size = 1
    for g in range(1, n_groups):
        pulls[g] = pulls[g - 1] + size
        rewards[g] = size if grid.forgets else pulls[g]
        noises[g] = 1 if grid.forgets else g
        size = sizes[g] = next_size_kernel(size, pulls[g], grid.eta, grid.of_sizes)
    sums, places, heights, slopes = np.zeros((4, n_groups))
    heights[:] = -math.inf
    best = _Released(sums, rewards, noises, places, heights, slopes)
    bars = np.full(n_groups, math.nan)
    ends = np.empty(most_releases, np.int64)
    return _Groups(opened, full, bars, pulls, sizes, best, ends, np.ones(3, np.int64))


@kernel(borrows=True)
def _open(groups: _Groups, g: int, arm: int, links: Links) -> None:
    """Let an arm be the best open one of a group; −1 for none."""
    if groups.open[g] != arm:
        groups.open[g] = arm
        groups.bars[g] = math.nan
        groups.best.heights[g], groups.best.slopes[g] = -math.inf, 0.0
        groups.best.sums[g] = links.values[arm] if arm >= 0 else 0.0


@kernel(borrows=True)
def _is_full(rule: _Rule, groups: _Groups, g: int, level: float) -> bool:
    """Return whether the index of the group's best open arm is 1 from now on."""
    x, n = groups.best.sums[g], float(groups.best.rewards[g])
    if rule.kind == _KL:
        return bool(x + level / (rule.epsilon * n) >= 1.0)
    if math.isnan(groups.bars[g]):
        k = float(groups.best.noises[g])
        ratio = k / n if rule.epsilon < ENDLESS else 0.0
        groups.bars[g] = calibrated_plus_kernel(x, 1.0, ratio, rule.epsilon)
    return bool(x >= 1.0 or groups.bars[g] <= level / n)


@kernel(borrows=True)
def _lowest_full(rule: _Rule, groups: _Groups, links: Links, level: float) -> int:
    """Return the group of the arm that is lowest in number among those with index 1, or −1."""
    found, full = -1, groups.full
    for g in range(groups.span[0], groups.span[1]):
        while groups.open[g] >= 0 and _is_full(rule, groups, g, level):
            arm = groups.open[g]
            _open(groups, g, popped(links, arm), links)
            links.values[arm] = math.inf
            full[g] = pushed(links, full[g], arm)
        if full[g] >= 0 and (found < 0 or full[g] < full[found]):
            found = g
    return found


@kernel(borrows=True)
def _largest_ucb(rule: _Rule, groups: _Groups, t: int) -> int:
    log_t, found, highest = math.log(t), -1, -math.inf
    under_root = rule.sampling * math.log(rule.inside * t)
    for g in range(groups.span[0], groups.span[1]):
        arm, n = groups.open[g], float(groups.best.rewards[g])
        if arm >= 0:
            width = math.sqrt(under_root / n) + rule.alpha * log_t / (rule.epsilon * n)
            index = groups.best.sums[g] + width
            if index > highest or (index == highest and arm < groups.open[found]):
                found, highest = g, index
    return found


@kernel(borrows=True)
def _largest_kl(rule: _Rule, groups: _Groups, level: float) -> int:
    """Return the group of the largest index, where no index is 1."""
    found, highest, opened = -1, -math.inf, groups.open
    for g in range(groups.span[0], groups.span[1]):
        if opened[g] < 0:
            continue
        n = float(groups.best.rewards[g])
        y = max(groups.best.sums[g] + level / (rule.epsilon * n), 0.0)
        # with this rate at the largest index so far there is no larger one, nor a tie
        if found >= 0 and n * calibrated_plus_kernel(y, highest, 0.0, math.inf) > 1.000001 * level:
            continue
        index = calibrated_upper_kernel(y, n, 0.0, math.inf, level)
        if index > highest or (index == highest and opened[g] < opened[found]):
            found, highest = g, index
    return found


@kernel(borrows=True)
def _largest_calibrated(rule: _Rule, groups: _Groups, level: float) -> int:
    """Return the group of the largest index, where no index is 1."""
    found, highest, opened, best = -1, -math.inf, groups.open, groups.best
    first, stop, hint = groups.span
    for i in range(first - 1, stop):
        g = hint if i < first else i  # the group that led last is likely to lead again
        if opened[g] < 0 or g == found:
            continue
        n, k, y = float(best.rewards[g]), float(best.noises[g]), best.sums[g]
        # with this rate at the largest index so far there is no larger one, nor a tie
        if found >= 0 and (
            _floor(best, g, highest) > 1.000001 * level
            or _touch(best, g, y, highest, k / n, rule.epsilon) > 1.000001 * level
        ):
            continue
        index = calibrated_upper_kernel(y, n, k, rule.epsilon, level)
        if y < index:
            _touch(best, g, y, index, k / n, rule.epsilon)
        if index > highest or (index == highest and opened[g] < opened[found]):
            found, highest = g, index
    groups.span[2] = found
    return found


@kernel(borrows=True)
def _least_evidence(rule: _Rule, groups: _Groups) -> int:
    found, least, opened, best = -1, math.inf, groups.open, groups.best
    first, stop, hint = groups.span
    largest = 0.0
    for g in range(first, stop):
        if opened[g] >= 0:
            largest = max(largest, best.sums[g])
    for i in range(first - 1, stop):
        g = hint if i < first else i
        if opened[g] < 0 or g == found:
            continue
        n = float(best.rewards[g])
        evidence = math.log(n)
        if best.sums[g] < largest:
            if _floor(best, g, largest) + evidence > least:
                continue
            ratio = best.noises[g] / n if rule.calibrated else 0.0
            evidence += _touch(best, g, best.sums[g], largest, ratio, rule.epsilon)
        if evidence < least or (evidence == least and opened[g] < opened[found]):
            found, least = g, evidence
    groups.span[2] = found
    return found


@kernel(borrows=True)
def _taken_lowest(groups: _Groups, links: Links, g: int) -> int:
    """Take the lowest number out of the open arms of a group, all of which have one index."""
    lowest: int = groups.open[g]
    taken, rest = -1, popped(links, lowest)
    while rest >= 0:
        other, rest = rest, popped(links, rest)
        if other < lowest:
            lowest, other = other, lowest
        links.arms[2 * other + 1] = taken
        taken = other
    heap = -1
    while taken >= 0:
        other, taken = taken, int(links.arms[2 * taken + 1])
        heap = pushed(links, heap, other)
    _open(groups, g, heap, links)
    return lowest


@kernel(borrows=True)
def _taken(rule: _Rule, groups: _Groups, links: Links, t: int) -> tuple[int, int]:
    """Take the arm of pull t out of its group; return both."""
    level, noise = math.log(t), 0.0
    if rule.kind == _KL:
        level *= rule.alpha
        noise = level / rule.epsilon
    elif rule.kind == _CALIBRATED:
        level += rule.slack * math.log1p(level)
    if rule.kind == _KL or rule.kind == _CALIBRATED:
        g = _lowest_full(rule, groups, links, level)
        if g >= 0:
            arm = groups.full[g]
            groups.full[g] = popped(links, arm)
            return arm, g
    if rule.kind == _UCB:
        g = _largest_ucb(rule, groups, t)
    elif rule.kind == _KL:
        g = _largest_kl(rule, groups, level)
        if noise > 0.0 and groups.best.sums[g] + noise / groups.best.rewards[g] <= 0.0:
            return _taken_lowest(groups, links, g), g
    elif rule.kind == _CALIBRATED:
        g = _largest_calibrated(rule, groups, level)
    else:
        g = _least_evidence(rule, groups)
    arm = groups.open[g]
    _open(groups, g, popped(links, arm), links)
    return arm, g


@kernel(borrows=True)
def _put(rule: _Rule, groups: _Groups, links: Links, g: int, arm: int, total: float) -> None:
    """Put an arm into a group, whose released sum is given."""
    value = total / groups.best.rewards[g]
    if rule.kind == _CALIBRATED or rule.kind == _EVIDENCE:
        value = min(max(value, 0.0), 1.0)
    links.values[arm] = value
    _open(groups, g, pushed(links, groups.open[g], arm), links)
    span = groups.span
    span[0], span[1] = min(span[0], g), max(span[1], g + 1)
    while groups.open[span[0]] < 0 and groups.full[span[0]] < 0:
        span[0] += 1


@kernel
def _run(
    rule: _Rule,
    grid: _Grid,
    means: Floats,
    groups: _Groups,
    links: Links,
    checkpoints: Times,
    counts: Ints,
    rng: Rng,
) -> int:
    """Play to the last checkpoint; write counts and times of releases, and return their number."""
    sums, pulls = np.zeros(means.size), np.zeros(means.size, np.int64)
    t, c, releases, last = 0, 0, 0, checkpoints[-1]
    while t < last:
        if releases < means.size:
            arm, g, size = releases, 0, 1
        else:
            arm, g = _taken(rule, groups, links, t + 1)
            size = groups.next_sizes[g]
        end = t + size
        while c < checkpoints.size and checkpoints[c] < end:
            copy_into(counts[c], pulls)
            counts[c, arm] += checkpoints[c] - t
            c += 1
        if end > last:
            break
        pulls[arm] += size
        if checkpoints[c] == end:
            copy_into(counts[c], pulls)
            c += 1
        total = float(binomial(rng, size, means[arm])) + laplace(rng, grid.noise_scale)
        sums[arm] = total if grid.forgets else sums[arm] + total
        _put(rule, groups, links, g + 1, arm, sums[arm])
        groups.ends[releases] = t = end
        releases += 1
    return releases


@accelerates(*_INDICES, on=DrawnRewards, name="many arms", least_arms=MANY)
def play_many_arms(
    algorithm: LazyBatches, rewards: DrawnRewards, horizon: int, checkpoints: Times, rng: Rng
) -> Play:
    """Play on Bernoulli arms: :prf:ref:`prop-many-arms`.

    Shapes: `checkpoints` (C,).
    """
    rule, grid = _rule_of(algorithm)
    n_arms, pulls = rewards.n_arms, int(checkpoints[-1])
    most = min(_most_releases(algorithm, n_arms, pulls), pulls)
    groups = _groups(grid, _most_releases(algorithm, 1, pulls) + 2, most)
    counts = np.zeros((checkpoints.size, n_arms), np.int64)
    means = np.array(rewards.means, dtype=np.float64)
    n = _run(rule, grid, means, groups, links_of(n_arms), checkpoints, counts, rng)
    ends = groups.ends[:n].copy()
    return Play(counts, ends if algorithm.releases else ends[:0], int(ends[-1]) if n else 0)
