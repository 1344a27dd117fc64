"""Bad input: every refusal names the argument, its value and what is allowed."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits import _validation as validation
from dpbandits.configuration import LONGEST, REFUSED, with_raises
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter
from dpbandits.privacy import calibrate
from dpbandits.regret.dp_ucb_int import input_of

WORDS = [None, "", "0.5", b"1", True, False, np.True_, [0.5], (), {}, 1j, {1, 2}]
BELOW = [0, -1, 0.0, -0.0, -math.inf, math.nan, np.float64("nan"), 5e-324, -(10**400)]
OUTSIDE = [0, 1, 2, -0.1, 1.5, math.inf, math.nan, 5e-324, 10**400, Fraction(3, 2)]
PARTS = [None, "", "3", True, False, 2.5, math.nan, math.inf, 1j, [3], np.True_, Fraction(5, 2)]
"""What a check has to refuse, each check all of it."""

NOT_A_NUMBER, NOT_POSITIVE = [None, True], [0, -1, math.nan]
NOT_FRACTIONS, NOT_WHOLE = [0, 1.5, math.nan], [None, True, 2.5]
"""What shows that an argument goes through its check, which is not proved again."""


def refusal(argument, value, call):
    """Call, and return the message of the ValueError, which must name argument and value."""
    with pytest.raises(ValueError) as caught:
        call()
    message = str(caught.value)
    short = validation.shown(value)  # Python writes no whole number of more than 4300 digits
    text = short if isinstance(value, int) and value >= 10**4300 else repr(value)
    assert message.startswith((f"{argument}={text}", f"{argument}={short}")), message
    assert "allowed: " in message, message
    assert "\n" not in message or "\n" in text, "the command line prints one line"
    return message


CHECKS = {  # what is allowed, what is refused, what is accepted, and the check
    "positive finite": (
        [*WORDS, *BELOW, math.inf, 10**400],
        [1, 0.5, 1e-100, 1e308, np.float32(0.5), Fraction(1, 3)],
        validation.check_positive,
    ),
    "inf included": (
        WORDS + BELOW,
        [1, 1e-100, math.inf],
        partial(validation.check_positive, infinite=True),
    ),
    "strictly between 0 and 1": (
        WORDS + OUTSIDE,
        [1e-100, 0.5, math.nextafter(1.0, 0.0)],
        validation.check_fraction,
    ),
    "at least 2 and at most 10": (
        [*PARTS, 1, 0, -7, -math.inf, 11, 10**400],
        [2, 10, 3.0, np.int64(4), np.float64(5.0)],
        partial(validation.check_integer, minimum=2, maximum=10),
    ),
    "'blue', 'green'": (
        ["", "red", None, 0, ["blue"], np.array(["blue"])],
        ["blue", "green"],
        partial(validation.check_choice, choices=("blue", "green")),
    ),
}


@pytest.mark.parametrize("allowed", CHECKS)
def test_a_check_refuses_and_accepts(allowed):
    refused, accepted, check = CHECKS[allowed]
    for value in refused:
        assert allowed in refusal("x", value, lambda value=value: check("x", value))
    kind = {"at": int, "'b": str}.get(allowed[:2], float)
    for value in accepted:
        result = check("x", value)
        assert type(result) is kind and result == kind(value)


# Public functions and their arguments: argument, bad values, call. Algorithms: test_registry.py.
POSITIVE_OR_INFINITE = NOT_A_NUMBER + NOT_POSITIVE
LARGE = [*POSITIVE_OR_INFINITE, math.inf, 701]
NOT_SHARES = [[0, -0.1], [0, 1.1], [0, math.nan], ["0", "0.5"], None]
INSTANCE = dpb.instances.bernoulli([0.9, 0.1])
RULE = dpb.DPNAS(1.0, 0.5, 0.05)
RUNS = dpb.simulate(dpb.DPSE(epsilon=1.0), INSTANCE, 100, n_runs=2)


def simulate(**changed):
    arguments = {"algorithm": dpb.DPSE(epsilon=1.0), "instance": INSTANCE, "horizon": 100}
    return dpb.simulate(**(arguments | {"n_runs": 1} | changed))


def calibrated(**changed):
    arguments = {"epsilon": 1.0, "delta": 1e-4, "horizon": 1000}
    return dpb.DPUCBInt.calibrated(**(arguments | changed))


def tree(**changed):
    arguments = {"epsilon": 1.0, "delta": 1e-4, "horizon": 1000}
    return dpb.DPUCB.calibrated(**(arguments | changed))


PUBLIC = [
    ("epsilon", POSITIVE_OR_INFINITE, lambda x: BinaryTree(x, 8)),
    ("horizon", [*NOT_WHOLE, 0, -1], lambda x: BinaryTree(1.0, x)),
    ("beta", NOT_A_NUMBER + NOT_FRACTIONS, lambda x: BinaryTree(1.0, 8).error_quantile(x)),
    ("levels", [*NOT_WHOLE, -1, 2**62 + 1], HybridCounter(1.0).node_scale),
    ("n", [*NOT_WHOLE, 0, -1, LONGEST + 1], AdaptiveTree(1.0, 8).node_scale),
    ("log_term", POSITIVE_OR_INFINITE, BinaryTree(1.0, 8).error_width),
    ("x", ["a", b"1", None, 1j, [0.5], math.nan, math.inf, -0.1, 1.1],
     lambda x: BinaryTree(1.0, 8).counter(np.random.default_rng(0)).add(x)),
    ("test", [*NOT_WHOLE, 0, 2**62 + 1, 1e308, 10**400],
     lambda x: dpb.bounds.bernstein_test_samples(0.1, 0.01, x, 0.05, 1.0)),
    ("n_arms", [*NOT_WHOLE, 1, 10**6 + 1, 10**400], lambda x: dpb.instances.equal_gaps(x, 0.1)),
    ("times", [[2000.0], [10.0, 1e308]],
     lambda x: dpb.bounds.dp_ucb_hybrid_regret([0.0, 0.5], 1000, block_scale=1.0, times=x)),
    ("laws", [([1], [1, 2]), (0.5, 0.5)], dpb.instances.bounded),
    ("stream", ["", b"", {}, "0.5"], lambda x: dpb.stopping.halting_law(RULE, x)),
    ("epsilon", POSITIVE_OR_INFINITE, lambda x: dpb.PrivacyGuarantee("central", x)),
    ("delta", [*NOT_A_NUMBER, -0.1, 1, 2, math.nan], lambda x: dpb.PrivacyGuarantee("local", 1, x)),
    ("model", ["global", None], lambda x: dpb.PrivacyGuarantee(x, 1.0)),
    ("unit", ["user", None], lambda x: dpb.PrivacyGuarantee("central", 1.0, unit=x)),
    ("name", ["C5", "c1", None, 1], lambda x: dpb.instances.ss19(x)),
    ("n_arms", [*NOT_WHOLE, 1, 0, -3], lambda x: dpb.instances.ss19("C1", n_arms=x)),
    ("name", ["three", "2", None, 2], dpb.instances.td16),
    ("epsilon", [*POSITIVE_OR_INFINITE, math.inf], lambda x: calibrate(x, 0.1, [1.0])),
    ("delta", [*NOT_A_NUMBER, -0.1, 1, math.nan], lambda x: calibrate(1.0, x, [1.0])),
    ("delta", [-0.1, 1], lambda x: calibrate(1.0, x, [])),
    ("losses", [["1"], [-1.0], [math.nan], 1.0, [0.9e-100], [1.1e100]],
     lambda x: calibrate(1.0, 0.1, x)),
    ("epsilon", [1e-95, 1e95, 1e300], lambda x: calibrate(x, 0.1, [1.0])),
    ("epsilon", [1e-40, 1e95], lambda x: calibrate(x, 0.1, [1.0, 1e-60])),
    ("epsilon", [1e-95, 0.9e-60, 1.1e60, 1e300], lambda x: calibrated(epsilon=x)),
    ("epsilon", [1e-95, 1e95, 1e300], lambda x: calibrated(epsilon=x, by="interval")),
    ("epsilon", [*POSITIVE_OR_INFINITE, math.inf, 1e-95, 1e95], lambda x: tree(epsilon=x)),
    ("delta", NOT_A_NUMBER + NOT_FRACTIONS, lambda x: tree(delta=x)),
    ("horizon", [*NOT_WHOLE, 0, -1], lambda x: tree(horizon=x)),
    ("variant", ["", "tight", None, 3], lambda x: tree(variant=x)),
    ("failure_power", [None, 0, 1e7], lambda x: tree(failure_power=x)),
    ("interval", [*NOT_WHOLE, 0, -1, 10**15 + 1], input_of),
    ("epsilon", [*POSITIVE_OR_INFINITE, math.inf], lambda x: calibrated(epsilon=x)),
    ("delta", NOT_A_NUMBER + NOT_FRACTIONS, lambda x: calibrated(delta=x)),
    ("horizon", [*NOT_WHOLE, 0, -1], lambda x: calibrated(horizon=x)),
    ("by", ["", "both", None, 3], lambda x: calibrated(by=x)),
    ("reading", ["", "printed", None, []], lambda x: calibrated(reading=x)),
    ("exponent", [*NOT_A_NUMBER, 1, 1.6], lambda x: calibrated(exponent=x)),
    ("arm", [*NOT_WHOLE, -1, 2], lambda x: INSTANCE.sample(np.random.default_rng(0), x)),
    ("means", [None, 0.5, "01", [True, False], [0.1, None], [0.1, "0.2"], [0.1, 10**400]],
     dpb.instances.bernoulli),
    ("means", [(), (0.5,)], dpb.instances.bernoulli),
    ("algorithm", [None, dpb.DPSE, "DPSE"], lambda x: simulate(algorithm=x)),
    ("instance", [None, [0.5, 0.4]], lambda x: simulate(instance=x)),
    ("horizon", [*NOT_WHOLE, 1, 0, -5, 2**63], lambda x: simulate(horizon=x)),
    ("n_runs", [*NOT_WHOLE, 0, -1], lambda x: simulate(n_runs=x)),
    ("n_runs", [1], lambda x: simulate(n_runs=x).mean_interval()),
    ("n_jobs", [*NOT_WHOLE, 0, -2], lambda x: simulate(n_jobs=x)),
    ("seed", [-1, 0.5, "1", b"1", True, [], [1, "a"], [1, -1], math.nan, np.array(1)],
     lambda x: simulate(seed=x)),
    ("checkpoints",
     [[], [100, 100], [0, 100], [-1, 100], [10, 5, 100], [10, 50], [10, 200], "x", ["a", 100],
      [None], [1.5, 100], [math.nan, 100], [math.inf, 100], [True, 100], [[10, 100]], [[1], [2, 3]],
      [1j, 100], [10**30], np.array([10, 5, 100], dtype=np.uint64)],
     lambda x: simulate(checkpoints=x)),
    ("per_decade", [*NOT_WHOLE, 0, -3], lambda x: dpb.log_checkpoints(100, x)),
    ("horizon", [*NOT_WHOLE, 0, -3], dpb.log_checkpoints),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, RUNS.band),
    ("level", NOT_A_NUMBER + NOT_FRACTIONS, RUNS.mean_interval),
    ("gaps", [*NOT_SHARES, [[0.0, 0.5]], []], lambda x: dpb.bounds.elimination_regret(x, 1000)),
    ("means", [[], ()], lambda x: dpb.bounds.private_regret_rate(x, 1.0)),
    ("gaps", [*NOT_SHARES, [[0.0, 0.5]]], lambda x: dpb.bounds.ucb_regret(x, 1000)),
    ("means", NOT_SHARES, dpb.bounds.lai_robbins_rate),
    ("means", NOT_SHARES, lambda x: dpb.bounds.private_lower_bound_rate(x, 1.0)),
    ("n_arms", [*NOT_WHOLE, 1], lambda x: dpb.bounds.elimination_minimax_regret(x, 1000)),
    ("gap", [0, -0.1, 1.1, math.nan, math.inf], dpb.bounds.elimination_last_epoch),
    ("beta", NOT_A_NUMBER + NOT_FRACTIONS, dpb.bounds.elimination_failure),
    ("epsilon", LARGE, lambda x: dpb.bounds.group_privacy_factor(0.1, x)),
    ("epsilon", POSITIVE_OR_INFINITE,
     lambda x: dpb.bounds.private_lower_bound_rate([0.5, 0.4], x)),
    ("epsilon", POSITIVE_OR_INFINITE, lambda x: dpb.bounds.private_minimax_lower_bound(2, 1000, x)),
]  # fmt: skip
CASES = [
    pytest.param(name, value, call, id=f"{row}-{name}-{validation.shown(value):.30}")
    for row, (name, values, call) in enumerate(PUBLIC)
    for value in values
]


@pytest.mark.parametrize(("argument", "value", "call"), CASES)
def test_public_arguments_are_refused_with_name_value_and_what_is_allowed(argument, value, call):
    refusal(argument, value, lambda: call(value))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.data())
def test_a_mean_outside_its_range_is_refused(means, data):
    bad = data.draw(st.floats().filter(lambda x: not 0 <= x <= 1))
    place = data.draw(st.integers(0, len(means) - 1))
    means[place] = bad
    assert "from 0 to 1" in refusal("means", means, lambda: dpb.instances.bernoulli(means))


@pytest.mark.parametrize("name", ["epsilon", "beta"])
def test_the_least_accepted_value_overflows_nowhere(name):
    configuration = {"epsilon": 1.0, "beta": 0.1} | {name: validation.SMALLEST}
    plan = dpb.schedules.elimination_epoch(n_viable=20, epoch=50, **configuration)
    assert plan.pulls > 0 and math.isfinite(plan.threshold)
    tree = BinaryTree(configuration["epsilon"], 2**62)
    assert math.isfinite(tree.error_quantile(configuration["beta"]))
    assert math.isfinite(dpb.DPUCB(configuration["epsilon"]).gamma(20, 2**62))


WRITTEN = "\n\n    Raises\n    ------\n    ValueError\n        " + REFUSED


@pytest.mark.parametrize(
    ("docstring", "written"),
    [
        ("Do.\n\n    More.\n    ", f"Do.\n\n    More.{WRITTEN}\n    "),
        (
            "Do.\n\n    Notes\n    -----\n    One.",
            f"Do.{WRITTEN}\n\n    Notes\n    -----\n    One.",
        ),
        ("Do.\n\n    Raises\n    ------\n    OSError\n", f"Do.{WRITTEN}\n    OSError\n"),
        ("Do.", "Do."),
        (None, None),  # python -OO
    ],
)
def test_the_error_of_the_checks_is_written_once(docstring, written):
    assert with_raises(docstring) == written
    assert with_raises(written) == written


def test_functions_and_configurations_say_what_they_raise():
    for checked in (dpb.bounds.dp_ucb_pulls, dpb.DPSE, dpb.DPLRE):
        assert checked.__doc__.count(REFUSED) == 1
    assert "If `most_growth` is below `least_growth`." in dpb.DPLRE.__doc__
    assert REFUSED not in dpb.RegretAlgorithm.__doc__, "it has no fields"
