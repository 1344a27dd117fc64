"""Group-sequential trials for chapter 8: replays on a table, incorrect scores, coverage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arrays import Floats
from dpbandits.configuration import Fraction, Number
from dpbandits.identification import FinitePopulation, PopulationRewards
from dpbandits.mechanisms import DiscreteLaplace
from dpbandits.trials import GroupSequential, RunningTrial

__all__ = [
    "KnownVariance",
    "Missed",
    "NoiseIgnored",
    "Replay",
    "Reported",
    "rates_on",
    "replay",
    "reported",
]


@dataclass(frozen=True)
class KnownVariance(GroupSequential):
    """A design whose score uses the variance at one fixed success rate, whatever is released.

    Examples
    --------
    >>> ours, known = (kind(50, 2.1, 1.0) for kind in (GroupSequential, KnownVariance))
    >>> ours.error(0.8) < known.error(0.8)
    True
    """

    share: Fraction = 0.868

    def _variance(self, look: int, total: Any) -> Any:
        return super()._variance(look, 2 * look * self.per_look * self.share + 0 * total)


@dataclass(frozen=True)
class Missed(GroupSequential):
    """A design that "stops" when the repeated interval misses a difference.

    Its probability of stopping is the probability that the interval misses at some look.

    Examples
    --------
    >>> close, far = (Missed(50, 2.1, 1.0, difference=d).operating(0.9, 0.8) for d in (0.1, 0.3))
    >>> close.power < 0.2 < 0.9 < far.power
    True
    """

    difference: Number = 0.0

    def _score(self, look: int, treatment: Any, control: Any) -> Floats:
        n = look * self.per_look
        a, b = (np.clip(x, 0, n) for x in (treatment, control))
        far = np.abs(a - b - n * self.difference)
        variance = np.broadcast_to(self._variance(look, a + b), far.shape)
        safe = np.where(variance > 0.0, variance, 1.0)
        scores: Floats = np.where(
            far > 0.0, np.where(variance > 0.0, far / np.sqrt(safe), np.inf), 0.0
        )
        return scores


@dataclass(frozen=True)
class NoiseIgnored(GroupSequential):
    """A design whose score ignores the noise in its variance.

    Examples
    --------
    >>> ours, ignored = (kind(50, 2.1, 1.0) for kind in (GroupSequential, NoiseIgnored))
    >>> ours.error(0.8) < ignored.error(0.8)
    True
    """

    @property
    def noise_variance(self) -> float:
        """Return 0, although there is noise."""
        return 0.0


class Replay(NamedTuple):
    """A trial on the patients of a table: the released values, and the secret ones."""

    trial: RunningTrial
    secret: tuple[tuple[int, int], ...]


def replay(
    design: GroupSequential, population: FinitePopulation, rng: np.random.Generator
) -> Replay:
    """Run a trial on a table's patients in random order; arm 1 is the treatment, arm 0 the rest.

    Examples
    --------
    >>> table = FinitePopulation((500, 900), (1000, 1000))
    >>> found = replay(GroupSequential(50, 2.1, 1.0), table, np.random.default_rng(0))
    >>> found.trial.decision, len(found.secret) == len(found.trial.looks)
    ('efficacy', True)
    """
    trial, rewards, secret, m = RunningTrial(design), PopulationRewards(population, rng), [], 0
    m = design.per_look
    while trial.decision == "continue":
        counts = int(rewards.total(1, m)), int(rewards.total(0, m))
        secret.append(counts)
        trial.look(len(secret), (counts[0], m), (counts[1], m), rng)
    return Replay(trial, tuple(secret))


def rates_on(
    population: FinitePopulation, design: GroupSequential, n_runs: int, seed: Sequence[int]
) -> tuple[float, float]:
    """Return the rate at which replays find the treatment better, with real and with permuted arms.

    Patients are drawn without replacement. In the second case all patients are randomised again to
    the two arms, so that there is no effect.

    Examples
    --------
    >>> table = FinitePopulation((500, 900), (1000, 1000))
    >>> found, false = rates_on(table, GroupSequential(50, 2.1, 1.0), 200, [0])
    >>> found, round(false, 3)
    (1.0, 0.06)
    """
    rng, m, noise = np.random.default_rng(seed), design.per_look, DiscreteLaplace(design.epsilon)
    pooled = sum(population.successes)
    rates = []
    for dealt in (False, True):
        live = np.ones(n_runs, bool)
        sums = np.zeros((2, n_runs))
        good = np.array([[s] * n_runs for s in population.successes])
        left = list(population.sizes)
        if dealt:
            first = rng.hypergeometric(pooled, sum(left) - pooled, left[0], n_runs)
            good = np.array([first, pooled - first])
        for k in range(1, design.looks + 1):
            for arm in (0, 1):
                drawn = rng.hypergeometric(good[arm], left[arm] - good[arm], m)
                good[arm] -= drawn
                left[arm] -= m
                sums[arm] += drawn + np.array([noise.draw(rng) for _ in range(n_runs)])
            live &= design.score(k, sums[1], sums[0]) < design.bounds[k - 1]
        rates.append(float(1.0 - live.mean()))
    return rates[0], rates[1]


class Reported(NamedTuple):
    """Coverage probabilities and bias of the results of trials with given success rates.

    `covers` is the coverage of the stage-wise interval at the released mean rate; `ordinary` that
    of a difference of rates ± a normal quantile whose error ignores the noise; `with_noise` the
    same with the noise; `repeated` the simultaneous coverage of the repeated interval at all looks;
    `above` is the probability that the median-unbiased estimate is above the true difference;
    `naive` is the mean of the released difference at the stop.
    """

    covers: float
    ordinary: float
    with_noise: float
    repeated: float
    above: float
    naive: float


def reported(
    design: GroupSequential, treatment: float, control: float, level: float = 0.9, nodes: int = 7
) -> Reported:
    """Compute coverage and bias of the results of trials with these success rates.

    The probability of a result at least as favourable is computed for mean rates at some nodes, and
    interpolated at the released rate.

    Examples
    --------
    >>> found = reported(GroupSequential(50, 2.13, 1.0, looks=2), 0.9, 0.8, nodes=3)
    >>> round(found.covers, 2), found.ordinary < found.covers
    (0.88, True)
    """
    from scipy import stats

    truth, middle, tail = treatment - control, 0.5 * (treatment + control), 0.5 * (1.0 - level)
    spread = np.sqrt(
        middle * (1 - middle) / (2 * design.per_look)
        + design.noise_variance / (2 * design.per_look) ** 2
    )
    far = 4.5 * spread
    half = 0.5 * abs(truth)
    shares = np.linspace(max(middle - far, half), min(middle + far, 1.0 - half), nodes)
    at_nodes = [_tails(design, s + 0.5 * truth, s - 0.5 * truth) for s in shares]
    quantile = float(stats.norm.isf(tail))
    fields = design.per_look, design.critical, design.epsilon, design.looks, design.boundary
    missed = Missed(*fields, difference=truth).operating(treatment, control).power
    total = dict.fromkeys(Reported._fields, 0.0) | {"repeated": 1.0 - missed}
    for each in design.laws(treatment, control):
        ended = np.logical_or.reduce([*np.broadcast_arrays(*each.end.values())])
        mass, n = each.law[ended], each.look * design.per_look
        kept = mass > 1e-10
        mass, score = mass[kept], each.score[ended][kept].round(9)
        raw = [np.broadcast_to(x, each.law.shape)[ended][kept] for x in each[1:3]]
        a, b = (np.clip(x, 0, n) / n for x in raw)
        share, naive = 0.5 * (a + b), a - b
        at_least, above = _between(shares, [laws[each.look - 1] for laws in at_nodes], share, score)
        binomial = (a * (1 - a) + b * (1 - b)) / n
        noisy = binomial + each.look * design.noise_variance / n**2
        found = {
            "covers": (at_least >= tail) & (above <= 1.0 - tail),
            "ordinary": np.abs(naive - truth) <= quantile * np.sqrt(binomial),
            "with_noise": np.abs(naive - truth) <= quantile * np.sqrt(noisy),
            "above": 0.5 * (at_least + above) < 0.5,
            "naive": naive,
        }
        for name, value in found.items():
            total[name] += float((mass * value).sum())
    return Reported(**total)


def _tails(design: GroupSequential, treatment: float, control: float) -> list[tuple[Any, ...]]:
    """Return for each look scores, and P(at least as favourable) and P(more favourable)."""
    found, earlier = [], 0.0
    for each in design.laws(treatment, control):
        scores, place = np.unique(each.score.round(9), return_inverse=True)
        mass = np.bincount(place.ravel(), each.law.ravel(), scores.size)
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
        found.append((scores, earlier + above))
        earlier += float(each.law[each.end["efficacy"]].sum())
    return found


def _between(shares: Any, laws: Sequence[tuple[Any, Any]], share: Any, score: Any) -> Any:
    """Interpolate the two tails between the nodes."""
    cell = np.clip(np.searchsorted(shares, share) - 1, 0, shares.size - 2)
    weight = np.clip((share - shares[cell]) / (shares[cell + 1] - shares[cell]), 0.0, 1.0)
    sides = []
    for side in ("left", "right"):
        values = np.array([tail[np.searchsorted(scores, score, side)] for scores, tail in laws])
        each = np.arange(share.size)
        sides.append((1 - weight) * values[cell, each] + weight * values[cell + 1, each])
    return sides
