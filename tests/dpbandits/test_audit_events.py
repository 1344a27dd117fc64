"""What the choice of an event has to find, on outputs whose best event is known."""

import math

import numpy as np
import pytest

from dpbandits.auditing.events import Features, Tally, _tried, choose_event


def chosen(outputs, neighbour, n_values=0, delta=0.0):
    return choose_event(np.array(outputs, float), np.array(neighbour, float), n_values, delta, 0.01)


def test_one_feature_is_looked_at_value_by_value():
    """Even numbers below 40 on the neighbour, all on the table: its best event is 20 numbers."""
    numbers = np.arange(2000) % 40
    event, bound = chosen(numbers[:, None], (numbers - numbers % 2)[:, None])
    assert event.contains(np.arange(40.0)[:, None]).tolist() == [False, True] * 20
    assert bound == pytest.approx(Tally(500, 1000, 0, 1000, 0.01).epsilon_lower())


def test_two_actions_are_looked_at_together_and_arm_by_arm():
    """Each alone has the same law on both tables; of 48 arms, eight bins would show little."""
    first = np.random.default_rng(0).integers(0, 48, 2000)
    event, bound = chosen(np.c_[first, first], np.c_[first, first ^ 1])
    seen = event.contains(np.array([[5.0, 5.0], [5.0, 4.0]]))
    assert seen.tolist() == [not event.reverse, event.reverse]
    assert bound == pytest.approx(Tally(1000, 1000, 0, 1000, 0.01).ceiling)


def test_beginnings_of_the_actions_are_looked_at_without_and_with_the_values():
    outputs = np.arange(8)[:, None] >> np.arange(3) & 1
    features = Features.fit(outputs.astype(float), outputs.astype(float), 1)
    assert features.names[:3] == ["value 0", "action 1", "action 2"]
    assert features.sequences == [(1, 2), (0, 1, 2)]


def test_where_there_is_nothing_to_see_an_event_is_returned_all_the_same():
    event, bound = chosen(np.zeros((8, 1)), np.zeros((8, 1)), delta=0.9)
    assert chosen(np.zeros((8, 1)), np.zeros((8, 1)))[1] == pytest.approx(math.log(0.005) / 4)
    assert bound == -math.inf and event.tally(np.zeros((5, 1)), np.zeros((4, 1)), 0.1).runs == 5


def test_no_delta_is_proved_at_a_great_epsilon():
    assert Tally(10, 10, 0, 10, 0.1).delta_lower(1e9) == 0.0


def test_what_is_chosen_on_halves_is_sized_on_the_others_whatever_the_numbers_of_runs():
    """The first 900 and 800 runs choose, 600 and 100 of them hits; of the rest 300 and 200 are."""
    outputs = np.repeat([1.0, 0.0, 1.0, 0.0], [600, 300, 300, 600])[:, None]
    others = np.repeat([0.0, 1.0, 0.0, 1.0], [700, 100, 600, 200])[:, None]
    event, bound = choose_event(outputs, others, 0, 0.0, 0.01)
    assert event.contains(np.array([[0.0], [1.0]])).tolist() == [False, True]
    assert bound == pytest.approx(Tally(300, 900, 200, 800, 0.01).epsilon_lower(), rel=1e-9)
    mirrored, again = choose_event(others, outputs, 0, 0.0, 0.01)
    assert again == bound and mirrored.reverse and not event.reverse
    assert mirrored.tally(others, outputs, 0.1) == event.tally(outputs, others, 0.1)
    assert event.tally(outputs, others, 0.1) == Tally(900, 1800, 300, 1600, 0.1)


def test_what_was_seen_in_the_choosing_runs_alone_proves_nothing():
    """Each run has a value of its own, in the first halves alone larger on the table."""
    rng = np.random.default_rng(1)
    outputs, others = rng.random((2, 400, 1))
    outputs[:200] += 1.0
    assert choose_event(outputs, others, 1, 0.0, 0.01)[1] < 0.0


def test_three_features_are_looked_at_together():
    """Of three bits any two are independent, and the parity of all tells the tables apart."""
    bits = np.random.default_rng(3).integers(0, 2, (2000, 2))
    outputs, others = (np.c_[bits, bits.sum(axis=1) + odd & 1].astype(float) for odd in (0, 1))
    _, bound = choose_event(outputs, others, 3, 0.0, 0.01)
    assert bound == pytest.approx(Tally(1000, 1000, 0, 1000, 0.01).ceiling)


def test_two_continuous_features_are_looked_at_together_in_few_bins():
    """On the table both signs are the same; 8·8 bins show it in 2·300 runs, 58·58 would not."""
    rng = np.random.default_rng(4)
    signs, sizes = rng.choice([-1.0, 1.0], (600, 1)), rng.uniform(0.5, 1.0, (2, 600, 2))
    outputs, others = sizes[0] * signs * [1, 1], sizes[1] * signs * [1, -1]
    features = Features.fit(outputs, others, 0)  # actions: no differences
    assert max(cuts.size for cuts in features.coarse) <= 8
    _, bound = choose_event(outputs, others, 0, 0.0, 0.01)
    assert bound > 3.0


def test_features_that_are_rarely_seen_lead_to_those_that_tell():
    """Of 26 actions the first and the last are equal on one table only; each is 2 more often there.

    All others tell a little, to both sides; those two tell more, but to one side alone.
    """
    rng = np.random.default_rng(0)
    tables = []
    for share, rare, odd in ((0.6, 0.05, 0), (0.5, 0.002, 1)):
        others, first = rng.random((2000, 24)) < share, rng.integers(0, 2, 2000)
        ends = (np.where(rng.random(2000) < rare, 2, end) for end in (first, first + odd & 1))
        tables.append(np.c_[next(ends), others, next(ends)].astype(float))
    event, bound = choose_event(*tables, 0, 0.0, 0.01)
    assert event.columns == (0, 25) and bound > 4.0


def test_what_the_choosing_runs_did_not_see_is_in_no_event():
    outputs = np.repeat([2.0, 1.0, 0.0, 2.0, 1.0], [50, 50, 40, 30, 30])[:, None]
    event, _ = choose_event(outputs, np.ones((200, 1)), 0, 0.0, 0.01)
    assert event.contains(np.array([[0.0], [1.0], [2.0]])).tolist() == [False, False, True]


@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_codes_are_counted_or_sorted_to_the_same_event(delta, monkeypatch):
    rng = np.random.default_rng(5)
    outputs, others = rng.geometric(0.2, (500, 2)), rng.geometric(0.3, (500, 2))
    counted = chosen(outputs, others, 2, delta)
    monkeypatch.setattr("dpbandits.auditing.events._COUNTED", 0)
    both = chosen(outputs, others, 2, delta)
    assert both[0].codes.tolist() == counted[0].codes.tolist() and both[1] == counted[1]
    assert both[0].columns == counted[0].columns


def test_one_hit_of_two_has_a_bound():
    """Below it no hit of two would have probability ¾ or more; of 1000 there was none."""
    low, high = 1 - math.sqrt(0.75), 1 - 0.25 ** (1 / 1000)
    assert Tally(1, 2, 0, 1000, 0.5).epsilon_lower() == pytest.approx(math.log(low / high))


def test_losses_and_deltas_of_a_tally_belong_together():
    tally = Tally(700, 1000, 200, 900, 0.01)
    for delta in (0.0, 0.1, 0.4):
        assert tally.delta_lower(tally.epsilon_lower(delta)) == pytest.approx(delta, abs=1e-12)
    assert tally.epsilon_lower(0.9) == 0.0 == Tally(0, 9, 3, 9, 0.01).epsilon_lower(0.0)


# ------------------------------------------------------------------------------------- features


def test_scores_add_values_differences_and_all():
    """Three values that vary, one that does not, two actions; an increment is of neighbours."""
    rng = np.random.default_rng(6)
    outputs = np.c_[rng.integers(0, 2, (64, 1)), np.ones(64), rng.integers(0, 2, (64, 4))] + 0.0
    features = Features.fit(outputs[:32], outputs[32:], 4)
    assert features.kept == (0, 2, 3, 4, 5) and features.pairs == ((0, 2), (0, 3), (2, 3))
    assert features.names == [
        *("value 0", "value 2", "value 3", "action 1", "action 2"),
        *("value 2 − value 0", "value 3 − value 0", "value 3 − value 2"),
        *("a score of 3", "a score of 2", "a score of 4", "a score of 6", "a score of 5"),
    ]
    assert [group for group, _ in features.scores] == [
        *((0, 1, 2), (0, 7), (0, 1, 2, 7), (0, 1, 2, 5, 6, 7), (0, 1, 2, 3, 4))
    ]
    assert features.of(outputs[:1])[0, 5:8].tolist() == [
        outputs[0, j] - outputs[0, i] for i, j in features.pairs
    ]


def test_a_score_adds_the_log_ratios_with_one_count_more():
    """1 of 4 and 3 of 4 runs have the first bit, 2 and 3 the second; bins are 0 (empty), 1, 2."""
    outputs = np.array([[1, 1], [0, 1], [0, 0], [0, 0]])
    others = np.array([[1, 1], [1, 1], [1, 1], [0, 0]])
    features = Features.fit(outputs.astype(float), others.astype(float), 0)
    first, second = [math.log(4 / 2), math.log(2 / 4)], [math.log(3 / 2), math.log(3 / 4)]
    scores = features.of(np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)]))[:, 2]
    assert scores == pytest.approx([a + b for a in first for b in second])
    one_sided = Features.fit(outputs.astype(float), others[:3].astype(float), 0)
    # a bin's share is of the side's runs, and of the counts added
    found = one_sided.of(np.array([[0.0, 0.0]]))[0, 2]
    assert found == pytest.approx(math.log(4 / 1) + math.log(3 / 1) + 2 * math.log(6 / 7))


def test_features_of_few_values_are_taken_as_they_are_and_others_by_quantiles():
    numbers = np.arange(130.0)
    few, many = (Features.fit(numbers[:n, None], numbers[:n, None], 1) for n in (64, 65))
    assert few.fine[0].tolist() == numbers[:64].tolist() and many.fine[0].size < 60
    assert (
        few.coarse[0].tolist()
        == np.quantile(np.tile(numbers[:64], 2), np.arange(1, 8) / 8).tolist()
    )
    eight, nine = (Features.fit(numbers[:n, None], numbers[:n, None], 1) for n in (8, 9))
    assert eight.coarse[0].size == 8 and nine.coarse[0].size == 7
    assert few.digits(np.array([[-1.0], [0.0], [0.5], [63.0], [99.0]]), 0, False).tolist() == [
        *(0, 1, 1, 64, 64)
    ]


def test_bins_of_several_features_are_joined_to_one_number_each():
    outputs = np.array([[a, b, c] for a in (0, 1) for b in (0, 1, 2) for c in (0, 1)], float)
    features = Features.fit(outputs, outputs, 0)
    assert features.sizes((0, 1, 2), False) == [3, 4, 3] == features.sizes((0, 1, 2), True)
    table = features.of(outputs)
    digits = [features.digits(table, j, False) for j in range(3)]
    codes = features.joined(digits, (0, 1, 2), False)
    assert codes.tolist() == [
        (int(a) * 4 + int(b)) * 3 + int(c) for a, b, c in zip(*digits, strict=True)
    ]


def test_sizes_that_are_tried_go_from_one_to_all():
    assert _tried(5).tolist() == [1, 2, 3, 4, 5] and _tried(1).tolist() == [1]
    many = _tried(10**6)
    assert many[0] == 1 and many[-1] == 10**6 and 200 < many.size <= 256
