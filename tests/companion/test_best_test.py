"""The best private test at one look: its noise, privacy, level and power, by sums and programs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from companion import best_test
from companion.best_test import OneLook, laplace_noise_cdf, least_patients, one_look, tulap_cdf

EPSILONS = st.floats(0.05, 8.0)


def binomial(n, share):
    return np.array([math.comb(n, s) * share**s * (1 - share) ** (n - s) for s in range(n + 1)])


def recursion(y, epsilon):
    """The most that a test may reject, if it rejects with probability y at one success fewer."""
    return np.minimum(math.exp(epsilon) * y, 1 - math.exp(-epsilon) * (1 - y))


def keeps(test, epsilon):
    """Whether a test is private: neighbouring counts, rejections and the opposite, both ways."""
    most = math.exp(epsilon) * (1 + 1e-9)
    opposite = test.cdf(test.threshold - np.arange(test.patients + 1), test.epsilon)
    assert test.chances + opposite == pytest.approx(1)
    return all(
        np.all(a <= most * b)
        for each in (test.chances, opposite)
        for a, b in ((each[1:], each[:-1]), (each[:-1], each[1:]))
    )


def best_by_program(law, other, level, epsilon, neighbours):
    """The largest power of all tests of a finite experiment, by a linear program."""
    rows, limits = [law], [level]
    for (i, j), sign in itertools.product(neighbours, (1, -1)):
        row = np.zeros(len(law))
        row[i], row[j] = sign, -sign * math.exp(epsilon)
        rows.append(row)
        limits.append(0.0 if sign == 1 else math.exp(epsilon) - 1)
    found = linprog(-np.asarray(other), np.array(rows), limits, bounds=(0, 1), method="highs")
    return -found.fun


@given(st.floats(-30, 30), EPSILONS)
def test_the_noise_is_a_discrete_laplace_variable_and_a_uniform_one(x, epsilon):
    q, g = math.exp(-epsilon), np.arange(-900, 901)
    by_sum = (1 - q) / (1 + q) * q ** np.abs(g) @ np.clip(x - g + 0.5, 0, 1)
    assert tulap_cdf(x, epsilon) == pytest.approx(by_sum, abs=1e-12)
    assert tulap_cdf(x, math.inf) == pytest.approx(min(max(x + 0.5, 0), 1))


@given(st.floats(-20, 20), EPSILONS)
def test_the_noise_uses_all_that_privacy_allows(x, epsilon):
    now, before = tulap_cdf(x, epsilon), tulap_cdf(x - 1, epsilon)
    assert now == pytest.approx(recursion(before, epsilon), abs=1e-12)
    now, before = laplace_noise_cdf(0.5, epsilon), laplace_noise_cdf(-0.5, epsilon)
    assert now < recursion(before, epsilon), "control"


@given(st.integers(1, 60), EPSILONS, st.floats(0.01, 0.5))
def test_the_test_is_private_at_all_neighbouring_counts(n, epsilon, alpha):
    test = one_look(n, 0.4, alpha, epsilon)
    assert keeps(test, epsilon)
    assert keeps(one_look(n, 0.4, alpha, epsilon, laplace_noise_cdf), epsilon)
    assert not keeps(OneLook(n, test.threshold, 1.1 * epsilon), epsilon), "control"


@pytest.mark.parametrize("noise", [tulap_cdf, laplace_noise_cdf])
@pytest.mark.parametrize(
    ("n", "share", "epsilon"), [(7, 0.3, 0.5), (40, 0.87, 1.0), (90, 0.5, 3.0)]
)
def test_the_level_is_exact(n, share, epsilon, noise):
    test = one_look(n, share, 0.05, epsilon, noise)
    assert binomial(n, share) @ test.chances == pytest.approx(0.05, abs=1e-9)
    lower = [binomial(n, share * part) @ test.chances for part in (0.5, 0.9, 0.99)]
    assert lower == sorted(lower) and lower[-1] < 0.05
    easier = OneLook(n, test.threshold - 0.1, epsilon, noise)
    assert binomial(n, share) @ easier.chances > 0.0501, "control"


@pytest.mark.parametrize(
    ("n", "null", "epsilon"), [(8, 0.5, 0.2), (12, 0.3, 1.0), (25, 0.87, 0.5), (25, 0.2, 3.0)]
)
def test_no_private_test_is_more_powerful(n, null, epsilon):
    """By a linear program over all tests of the count; one with more budget does better."""
    law, test = binomial(n, null), one_look(n, null, 0.05, epsilon)
    neighbours = [(i, j) for i in range(n + 1) for j in (i - 1, i + 1) if 0 <= j <= n]
    for share in (null + 0.05, null + 0.12):
        other = binomial(n, share)
        most = best_by_program(law, other, 0.05, epsilon, neighbours)
        assert test.rejects(share) == pytest.approx(most, abs=1e-7)
        assert one_look(n, null, 0.05, epsilon, laplace_noise_cdf).rejects(share) < most + 1e-9
        assert best_by_program(law, other, 0.05, 1.2 * epsilon, neighbours) > most + 1e-5, "control"


def test_no_private_test_gains_by_the_order_of_the_outcomes():
    n, null, share, epsilon = 6, 0.4, 0.8, 0.7
    streams = list(itertools.product((0, 1), repeat=n))
    laws = [[p ** sum(x) * (1 - p) ** (n - sum(x)) for x in streams] for p in (null, share)]
    places = {x: i for i, x in enumerate(streams)}
    neighbours = [
        (i, places[(*x[:j], 1 - x[j], *x[j + 1 :])]) for x, i in places.items() for j in range(n)
    ]
    most = best_by_program(*laws, 0.05, epsilon, neighbours)
    assert one_look(n, null, 0.05, epsilon).rejects(share) == pytest.approx(most, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, math.inf])
def test_power_does_not_fall_with_patients(epsilon):
    powers = [one_look(n, 0.868, 0.05, epsilon).rejects(0.92) for n in range(1, 200)]
    assert np.all(np.diff(powers) >= -1e-12) and powers[0] < 0.2 < powers[-1]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_least_number_is_the_least(epsilon):
    arguments = 0.6, 0.75, 0.05, 0.1, epsilon
    best, laplace = least_patients(*arguments), least_patients(*arguments, laplace_noise_cdf)
    assert best.patients <= laplace.patients
    for test in (best, laplace):
        assert binomial(test.patients, 0.75) @ test.chances >= 0.9
        for n in range(1, test.patients):
            assert one_look(n, 0.6, 0.05, epsilon, test.cdf).rejects(0.75) < 0.9


def test_at_infinity_it_is_the_test_of_neyman_and_pearson():
    """It rejects above a count, and at that count with the probability that fills the level."""
    chances = one_look(30, 0.5, 0.05, math.inf).chances
    law = binomial(30, 0.5)
    first = next(s for s in range(31) if law[s + 1 :].sum() <= 0.05)
    assert chances[:first] == pytest.approx(0, abs=1e-9)
    assert chances[first + 1 :] == pytest.approx(1, abs=1e-9)
    assert chances[first] == pytest.approx((0.05 - law[first + 1 :].sum()) / law[first], rel=1e-6)


def test_a_question_that_needs_too_many_is_refused(monkeypatch):
    monkeypatch.setattr(best_test, "_MOST", 100)
    with pytest.raises(ValueError, match="more than 100 patients"):
        least_patients(0.5, 0.5001, 0.05, 0.1, 1.0)
