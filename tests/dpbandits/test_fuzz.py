"""Nothing public takes what has broken something, breaks on it, or thinks for long about it."""

import itertools

import fuzz
import pytest

from dpbandits._validation import check_fraction

EVERY = {name: (found, method) for name, found, method in fuzz.cases()}
CASES = {name: case for name, case in EVERY.items() if name not in fuzz.SLOW | fuzz.OPEN}


@pytest.mark.parametrize("name", CASES)
def test_no_argument_breaks_a_public_function(name):
    """Every argument, with every value of `fuzz.BAD`: an answer or a ValueError or TypeError."""
    found, method = CASES[name]
    with fuzz.bounded_memory():
        assert list(itertools.islice(fuzz.faults(found, method), 5)) == []


def test_a_new_function_is_found_on_the_day_that_it_is_added():
    assert {
        "DPSE",
        "simulate_many",
        "DPUCB.gamma",
        "dp_ucb_regret",
        "DPUCBInt.guarantee_at",
    } <= set(CASES)
    assert len(CASES) > 200 and set(EVERY) >= fuzz.SLOW | fuzz.OPEN


def breaks(mean: float):
    return [1.0][int(mean)]


def accepts(mean: float):
    return 1.0


def is_undefined(mean: float):
    return mean - mean if isinstance(mean, float) else check_fraction("mean", mean)


def thinks(mean: float):
    while mean == 2:
        pass
    return breaks.__name__ if mean == 0.25 else check_fraction("mean", mean)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (breaks, "IndexError"),
        (accepts, "is accepted"),
        (is_undefined, "gives nan"),
        (thinks, "takes over"),
    ],
)
def test_what_is_wrong_is_seen(function, told, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 0.05)
    assert any(told in each for each in fuzz.faults(function, None))
