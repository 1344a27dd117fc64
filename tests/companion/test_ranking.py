"""Who is best and how surely: error probabilities, known ratios and ranks, bad arguments."""

import math

import numpy as np
import pytest
from scipy import stats

from companion.ranking import Best, Estimate, best_in_each, best_of, standings, without_some
from companion.ratios import ratio_of_means

INF, NAN = math.inf, math.nan
UNKNOWN = Estimate(NAN, NAN, 50)
NO_RATIO = "a mean that is 0 or less, infinite or unknown; allowed: above 0 and finite"


def test_best_of_leaves_out_what_is_surely_worse():
    places = {"a": Estimate(1, 0.1, 50), "b": Estimate(1.2, 0.1, 50), "c": Estimate(5, 0.1, 50)}
    found = best_of(places)
    assert found == Best(("a", "b"), 1.2)
    assert found.winner is None
    assert best_of({"a": places["a"], "c": places["c"]}).winner == "a"
    assert best_of({**places, "d": UNKNOWN}).names == ("a", "b")
    assert best_of({"a": Estimate(1, 0, 9), "b": Estimate(1.1, 0, 9)}).winner == "a", "no spread"
    assert best_of({"a": Estimate(1, 0, 9), "b": Estimate(1, 0, 9)}).winner is None, "tied"


@pytest.mark.parametrize("n_runs", [3, 40])
def test_the_best_is_rarely_left_out(n_runs):
    """Of three equal algorithms none is surely worse; a false winner has probability ≤ 0.05.

    400 settings: at probability 0.05 more than 45 have one with probability 1e-6.
    """
    rng = np.random.default_rng(5)
    samples = rng.normal(10, 1, (400, 3, n_runs))
    winners = [
        best_of({str(i): Estimate.of(x) for i, x in enumerate(each)}).winner for each in samples
    ]
    limit = stats.binom.isf(1e-6, 400, 0.05)
    assert sum(winner is not None for winner in winners) <= limit
    order = np.sort(samples.mean(axis=2), axis=1)
    lead = (order[:, 1] - order[:, 0]) / math.sqrt(2 / n_runs)
    assert np.sum(lead > 0.7) > limit, "control: without Student and Bonferroni there are more"


def test_standings_find_known_ratios_and_ranks():
    rng = np.random.default_rng(6)
    true = {"x": 1.0, "y": 2.0, "z": 2.0, "w": 8.0}
    scales = (10 * np.array([*true.values()]))[:, None]
    estimates = {
        i: dict(zip(true, map(Estimate.of, scales * rng.gamma(25, 1 / 25, (4, 200))), strict=True))
        for i in range(6)
    }
    found = {s.name: s for s in standings(estimates, rng)}
    ranks = {name: (s.rank_low, s.rank_high) for name, s in found.items()}
    assert ranks == {"x": (1, 1), "y": (2, 3), "z": (2, 3), "w": (4, 4)}
    for name, scale in true.items():
        s = found[name]
        assert s.low <= s.ratio <= s.high and s.ratio <= s.most
        assert s.ratio == pytest.approx(scale, rel=0.05)  # 7 standard errors
    assert found["x"].best_in == 6 and found["w"].best_in == 0
    assert found["x"].ratio == 1.0


def test_a_score_is_a_geometric_mean():
    means = {1: {"x": 1.0, "y": 4.0}, 2: {"x": 6.0, "y": 2.0}}
    estimates = {i: {k: Estimate(x, 0.0, 9) for k, x in row.items()} for i, row in means.items()}
    first, second = standings(estimates, np.random.default_rng(0))
    assert (first.name, second.name) == ("x", "y")
    assert first.ratio == pytest.approx(math.sqrt(3)) and second.ratio == pytest.approx(2.0)
    assert (first.most, second.most) == (pytest.approx(3), pytest.approx(4))
    assert (first.rank_high, second.rank_low) == (1, 2), "without errors the order is sure"


def test_a_map_shares_its_error_among_its_settings():
    """A lead that is enough for one setting is not enough where there are 1000 of them."""
    lead = {"a": Estimate(1.0, 0.1, 50), "b": Estimate(1.4, 0.1, 50)}
    assert best_in_each({0: lead})[0].winner == "a"
    many = best_in_each(dict.fromkeys(range(1000), lead))
    assert {best.winner for best in many.values()} == {None}


def pair(mean=1):
    return {"a": Estimate(mean, 0, 3), "b": Estimate(1, 0, 3)}


def ranked(estimates):
    return standings(estimates, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Estimate.of([1.0]), "sample=.*two or more"),
        (lambda: best_of({"a": Estimate(1, 1, 3)}), "estimates=.*two algorithms or more"),
        (lambda: best_of({"a": UNKNOWN, "b": UNKNOWN}), "estimates=.*one of them with a mean"),
        (lambda: best_of({}, 1.5), "error=1.5"),
        (lambda: ranked({}), "allowed: the same two or more"),
        *((lambda mean=mean: ranked({1: pair(mean)}), NO_RATIO) for mean in (0, -1.0, INF, NAN)),
        (lambda: Estimate(1.0, 0.1, 1), "n_runs=1 is out of range; allowed: .* at least 2"),
        (lambda: Estimate(1.0, 0.1, 2.5), "n_runs=2.5 is not a whole number"),
        (lambda: Estimate(1.0, -0.1, 3), "error=-0.1 is out of range; allowed: 0 or more"),
        (lambda: Estimate(1.0, NAN, 3), "error=nan is out of range; allowed: 0 or more"),
        (lambda: without_some({"p": pair()}, ["a"]), "without=.*leaves nothing to compare"),
        (lambda: without_some({"p": pair()}, ["z"]), "without='z' is unknown; allowed: 'a', 'b'"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ratio_of_means_covers(rng):
    """At 95 % nominal, 0.92 and 0.98 are six standard deviations off: false alarm below 1e-8."""
    hits = 0
    for _ in range(2000):
        _, low, high = ratio_of_means(rng.normal(10, 2, 30), rng.normal(4, 1, 30))
        hits += low <= 2.5 <= high
    assert 0.92 < hits / 2000 < 0.98
    with pytest.raises(ValueError, match="denominator="):
        ratio_of_means([1.0, 2.0], [0.0, 0.0])
