"""Chapter 8's group-sequential trials: replays, rates on a table, what is published and covers."""

import numpy as np
import pytest
from statistical import clopper_pearson

import dpbandits as dpb
from companion.group_trials import KnownVariance, Missed, NoiseIgnored, rates_on, replay, reported
from dpbandits.identification import FinitePopulation
from dpbandits.trials import estimate_difference
from dpbandits.trials.group_sequential import _TRIMMED

TABLE = FinitePopulation((500, 900), (1000, 1000), "table")
DESIGN = dpb.GroupSequential(30, 2.0, 1.0, looks=2)


def test_a_replay_hides_what_it_counts():
    found = replay(DESIGN, TABLE, np.random.default_rng(3))
    assert len(found.secret) == len(found.trial.looks) and found.trial.decision != "continue"
    noise = np.subtract(found.trial.releases, found.secret)
    assert noise.any() and np.abs(noise).max() < 25
    free = replay(dpb.GroupSequential(30, 2.0, looks=2), TABLE, np.random.default_rng(3))
    assert free.trial.releases == free.secret


@pytest.mark.statistical
def test_rates_on_a_large_table_are_nearly_those_of_a_population():
    """Two binomial intervals at once; drawing from 20 000 patients changes little."""
    table, n = FinitePopulation((8000, 8400), (10_000, 10_000), "large"), 2000
    power, error = rates_on(table, DESIGN, n, [5])
    exact = DESIGN.operating(0.84, 0.8).power, DESIGN.error(0.82)
    for rate, truth in zip((power, error), exact, strict=True):
        low, high = clopper_pearson(round(rate * n), n, share=0.5)
        assert low <= truth <= high
    low, high = clopper_pearson(round(power * n), n)
    assert not low <= NoiseIgnored(30, 2.0, 1.0, looks=2).operating(0.84, 0.8).power <= high


def test_scores_that_are_broken_are_what_they_say():
    known = KnownVariance(30, 2.0, 1.0, looks=2, share=0.8)
    rate = 2 * 30 * 0.8 * 0.2 + known.noise_variance
    assert known.score(1, 29, 20).item() == pytest.approx(9 / np.sqrt(rate))
    ignored = NoiseIgnored(30, 2.0, 1.0, looks=2)
    p = 49 / 60
    assert ignored.score(1, 29, 20).item() == pytest.approx(9 / np.sqrt(60 * p * (1 - p)))


def test_what_is_published_covers_as_often_as_the_intervals_do():
    """Every result of a small trial, each with its own interval: 0.2 % are left out."""
    design, up, down = dpb.GroupSequential(5, 1.3, 1.5, looks=2), 0.8, 0.6
    covered = above = mass = 0.0
    for each in design.laws(up, down):
        ended = np.logical_or.reduce([*np.broadcast_arrays(*each.end.values())])
        for i, j in np.argwhere(ended & (each.law > 4e-4)):
            a, b = each.treatment[i, 0].item(), each.control[0, j].item()
            found = estimate_difference(design, each.look, a, b)
            p = each.law[i, j]
            mass += p
            covered += p * (found.low <= up - down <= found.high)
            above += p * (found.median > up - down)
    ours = reported(design, up, down, nodes=9)
    assert mass > 0.95
    assert covered - 0.02 <= ours.covers <= covered + (1 - mass) + 0.02
    assert above - 0.02 <= ours.above <= above + (1 - mass) + 0.02
    assert ours.ordinary <= ours.with_noise


def test_the_repeated_interval_misses_where_its_ends_say_so():
    """Its scores against the intervals that are published; its rate against a two-sided trial's."""
    design, truth = dpb.GroupSequential(30, 2.0, 1.0, looks=2), 0.1
    missed = Missed(30, 2.0, 1.0, looks=2, difference=truth)
    for look, a, b in ((1, 29, 20), (1, 33, 20), (2, 55, 50), (2, 60, 41), (2, 20, 30), (1, 0, 0)):
        found = estimate_difference(design, look, a, b)
        inside = found.repeated_low <= truth <= found.repeated_high
        assert (missed.score(look, a, b).item() < missed.critical) == inside
    # where there is no difference, it misses as a two-sided trial rejects
    two = dpb.GroupSequential(30, 2.0, 1.0, looks=2, sides=2)
    none = Missed(30, 2.0, 1.0, looks=2)
    trimmed = 2 * 2 * 2 * _TRIMMED  # mass at both ends of both margins at both looks
    assert none.operating(0.8, 0.8).power == pytest.approx(two.error(0.8), abs=trimmed)
    assert reported(design, 0.8, 0.8, nodes=3).repeated == pytest.approx(1 - two.error(0.8))
