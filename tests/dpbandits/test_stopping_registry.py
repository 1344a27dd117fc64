"""What every stopping rule must be, checked for each entry of `stopping_rules`.

A rule joins these tests with one line in `CONFIGURATIONS`.
"""

import copy
import dataclasses
import inspect
import math
import pickle

import numpy as np
import pytest
from statistical import same_law
from test_registry import subclasses
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, refusal

import dpbandits as dpb
from dpbandits.stopping import Outcome, StoppingRule

CONFIGURATIONS = {
    "NAS": [dpb.NAS(0.9, 0.9), dpb.NAS(0.5, 0.05, half_range=3.0)],
    "DPNAS": [
        dpb.DPNAS(5.0, 0.9, 0.9),
        dpb.DPNAS(20.0, 0.9, 0.5, half_range=0.5),
        dpb.DPNAS(math.inf, 0.9, 0.9),
    ],
    "DPExponentialNAS": [
        dpb.DPExponentialNAS(3.0, 0.9, 0.9),
        dpb.DPExponentialNAS(1.0, 0.8, 0.3, half_range=0.5),
        dpb.DPExponentialNAS(math.inf, 0.9, 0.9),
    ],
    "EBGStop": [dpb.EBGStop(0.9, 0.9), dpb.EBGStop(0.5, 0.05, half_range=3.0)],
}
EVERY = [
    pytest.param(rule, id=repr(rule))
    for configurations in CONFIGURATIONS.values()
    for rule in configurations
]
every_rule = pytest.mark.parametrize("rule", EVERY)
every_class = pytest.mark.parametrize(
    "cls", dpb.stopping_rules.values(), ids=lambda cls: cls.__name__
)


def test_the_table_covers_the_registry():
    assert CONFIGURATIONS.keys() == dpb.stopping_rules.keys()
    for name, configurations in CONFIGURATIONS.items():
        assert configurations
        assert all(type(rule) is dpb.stopping_rules[name] for rule in configurations)


def test_the_registry_covers_the_package():
    rules = {
        cls
        for cls in subclasses(StoppingRule)
        if cls.__module__.startswith("dpbandits.") and not inspect.isabstract(cls)
    }
    assert rules == set(dpb.stopping_rules.values())
    for name, cls in dpb.stopping_rules.items():
        assert cls.__name__ == name and getattr(dpb, name) is cls and name in dpb.__all__
    labels = {cls.label for cls in rules} | {cls.label for cls in dpb.registry.values()}
    assert len(labels) == len(rules) + len(dpb.registry), "labels are distinct"


@every_rule
def test_a_configuration_is_a_value(rule):
    twin = copy.deepcopy(rule)
    assert twin == rule and hash(twin) == hash(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert eval(repr(rule), vars(dpb) | {"inf": math.inf}) == rule
    for field in dataclasses.fields(rule):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(rule, field.name, getattr(rule, field.name))
        assert type(getattr(rule, field.name)) is float
    assert rule not in [other.values[0] for other in EVERY if other.values[0] is not rule]


@every_class
def test_documentation(cls):
    text = inspect.getdoc(cls)
    assert cls.label and cls.source
    assert "Examples\n--------" in text and ">>> " in text
    assert "Parameters\n----------" in text and "Raises\n------" in text
    for field in dataclasses.fields(cls):
        assert f"\n{field.name} : " in text, f"{field.name} is documented"


@every_rule
def test_guarantee(rule):
    guarantee = rule.guarantee
    assert isinstance(guarantee, dpb.PrivacyGuarantee)
    assert guarantee.epsilon == getattr(rule, "epsilon", math.inf) and guarantee.delta == 0
    assert guarantee.model == "global" and guarantee.is_private == (guarantee.epsilon < math.inf)


BAD = {
    "epsilon": NOT_A_NUMBER + NOT_POSITIVE,
    "alpha": NOT_A_NUMBER + NOT_FRACTIONS,
    "beta": NOT_A_NUMBER + NOT_FRACTIONS,
    "half_range": [*NOT_A_NUMBER, *NOT_POSITIVE, math.inf, 10**400],
}
CASES = [
    pytest.param(cls, field.name, value, id=f"{cls.__name__}-{field.name}-{value!r:.30}")
    for cls in dpb.stopping_rules.values()
    for field in dataclasses.fields(cls)
    for value in BAD[field.name]
]


@pytest.mark.parametrize(("cls", "argument", "value"), CASES)
def test_bad_arguments_are_refused(cls, argument, value):
    good = {"epsilon": 1.0, "alpha": 0.5, "beta": 0.05, "half_range": 1.0}
    good = {field.name: good[field.name] for field in dataclasses.fields(cls)}
    refusal(argument, value, lambda: cls(**(good | {argument: value})))
    refusal(argument, value, lambda: dataclasses.replace(cls(**good), **{argument: value}))


@every_rule
def test_laws_wider_than_the_rule_are_refused(rule, rng):
    wide = dpb.instances.two_point(0.1, rule.half_range * 1.001)
    message = refusal("law", wide, lambda: rule.draw(wide, rng, 100))
    assert f"at most that of the rule, {rule.half_range:g}" in message
    refusal("law", 0.5, lambda: rule.draw(0.5, rng, 100))
    small = dpb.instances.two_point(0.9 * rule.half_range / 2, rule.half_range / 2)
    assert rule.draw(small, rng, 10**9).halted


@every_rule
def test_the_generator_is_the_only_source_of_randomness(rule):
    law = dpb.instances.two_point(0.5 * rule.half_range, rule.half_range)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, again, other = (
        [rule.draw(law, rng, 10**9) for _ in range(5)]
        for rng in map(np.random.default_rng, (5, 5, 6))
    )
    assert first == again != other
    assert np.random.get_state()[1].tolist() == state, "no global randomness"  # noqa: NPY002
    for outcome in first:
        assert isinstance(outcome, Outcome) and outcome.halted
        kinds = [type(getattr(outcome, name)) for name in ("samples", "estimate", "halted")]
        assert kinds == [int, float, bool]


@every_rule
def test_the_sign_of_the_mean_is_found(rule):
    for mean in (0.8, -0.8):
        law = dpb.instances.two_point(mean * rule.half_range, rule.half_range)
        runs = dpb.estimate(rule, law, n_runs=30)
        assert np.sign(np.median(runs.estimate)) == np.sign(mean)
        assert runs.failures() <= 15


@every_rule
@pytest.mark.parametrize("half_range", [4.0, 2.0**-20, 3.0, 0.1])
def test_scale(rule, half_range, same_seeds):
    """Everything in units of R: halting times stay, estimates are multiplied."""
    one, other = (dataclasses.replace(rule, half_range=R) for R in (1.0, half_range))
    times, estimates = [], []
    for scaled in (one, other):
        law = dpb.instances.two_point(0.6 * scaled.half_range, scaled.half_range)
        runs = dpb.estimate(scaled, law, n_runs=20, seed=4)
        times.append(runs.samples.tolist())
        estimates.append(runs.estimate / scaled.half_range)
    assert times[0] == times[1] and len(set(times[0])) > 1
    np.testing.assert_allclose(*estimates, rtol=1e-9)


# ---------------------------------------------------------------- draw and run
RUNS = 500


def table(outcomes):
    assert all(outcome.halted for outcome in outcomes)
    return np.array([o.samples for o in outcomes]), np.round([o.estimate for o in outcomes], 9)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [rules[0] for rules in CONFIGURATIONS.values()], ids=repr)
def test_draw_and_run_have_one_law(rule):
    law, other_law = map(dpb.instances.two_point, (0.9, 0.75))
    rng = np.random.default_rng(8)
    run = table([rule.run(law.sample(rng, 3000), rng) for _ in range(RUNS)])
    drawn = table([rule.draw(law, rng, 10**6) for _ in range(RUNS)])
    for column, other in zip(run, drawn, strict=True):
        assert same_law(column, other, share=1 / 2)
    control = table([rule.draw(other_law, rng, 10**6) for _ in range(RUNS)])
    for column, other in zip(run, control, strict=True):
        assert not same_law(column, other, share=1 / 2)
