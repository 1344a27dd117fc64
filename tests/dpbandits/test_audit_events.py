"""What the choice of an event has to find, on outputs whose best event is known."""

import math

import numpy as np
import pytest

from dpbandits.auditing.events import Features, Tally, choose_event


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
    assert bound == -math.inf and event.tally(np.zeros((5, 1)), np.zeros((4, 1)), 0.1).runs == 5


def test_no_delta_is_proved_at_a_great_epsilon():
    assert Tally(10, 10, 0, 10, 0.1).delta_lower(1e9) == 0.0
