"""What every algorithm of the three registries must be, and what every one for regret does.

An algorithm joins these tests with one line in `CONFIGURATIONS`, `IDENTIFIERS` or `RULES`.
"""

import ast
import copy
import dataclasses
import inspect
import math
import pickle
import re

import numpy as np
import pytest
from statistical import mean_may_be_at_most
from test_validation import NOT_A_NUMBER, NOT_FRACTIONS, NOT_POSITIVE, NOT_WHOLE, refusal

import dpbandits as dpb
from dpbandits.regret.base import Play, RegretAlgorithm
from dpbandits.regret.heavy import HeavyTailAlgorithm
from dpbandits.rewards.heavy_laws import TwoPointHeavyLaw
from dpbandits.stopping import StoppingRule

CONFIGURATIONS = {
    "UCB": [dpb.UCB()],
    "DPUCB": [
        *(dpb.DPUCB(30.0), dpb.DPUCB(math.inf)),
        *(dpb.DPUCB(20.0, "tree-exact"), dpb.DPUCB(25.0, "tree-quantile")),
        *(dpb.DPUCB(60.0, "mishra-thakurta-parallel"), dpb.DPUCB(180.0, "mishra-thakurta")),
        dpb.DPUCB(15.0, "kary-exact"),
    ],
    "DPUCBBound": [
        *(dpb.DPUCBBound(30.0), dpb.DPUCBBound(5.0, ucb_term=False), dpb.DPUCBBound(math.inf)),
        *(dpb.DPUCBBound(10.0, split="full"), dpb.DPUCBBound(30.0, width="repaired")),
    ],
    "DPUCBHybrid": [
        *(dpb.DPUCBHybrid(20.0), dpb.DPUCBHybrid(20.0, literal=True)),
        *(dpb.DPUCBHybrid(30.0, split="full"), dpb.DPUCBHybrid(math.inf)),
    ],
    "LDPUCB": [dpb.LDPUCB(5.0), dpb.LDPUCB(math.inf)],
    "DPUCBInt": [
        *(dpb.DPUCBInt(0.06), dpb.DPUCBInt(0.01, "frozen"), dpb.DPUCBInt(0.06, "literal")),
        dpb.DPUCBInt(0.05, exponent=1.3, delta=1e-6, noise=0.5),
    ],
    "SuccessiveElimination": [dpb.SuccessiveElimination(), dpb.SuccessiveElimination(0.05)],
    "DPSE": [dpb.DPSE(0.5), dpb.DPSE(2.0, beta=0.05), dpb.DPSE(math.inf)],
    "TunedDPSE": [dpb.TunedDPSE(0.5), dpb.TunedDPSE(2.0, beta=0.05), dpb.TunedDPSE(math.inf)],
    "BennettDPSE": [
        *(dpb.BennettDPSE(0.5), dpb.BennettDPSE(2.0, 0.05, memory=1), dpb.BennettDPSE(math.inf))
    ],
    "BinomialDPSE": [
        *(dpb.BinomialDPSE(0.5), dpb.BinomialDPSE(0.3, 0.05, memory=1)),
        dpb.BinomialDPSE(math.inf, memory=2),
    ],
    "ExploreThenCommit": [
        *(dpb.ExploreThenCommit(0.5, 90), dpb.ExploreThenCommit(1.0, 60)),
        dpb.ExploreThenCommit(math.inf, 30),
    ],
    "GuessAndDouble": [
        *(dpb.GuessAndDouble(dpb.DPSE(0.5)), dpb.GuessAndDouble(dpb.DPRSE(1.0))),
        dpb.GuessAndDouble(dpb.UCB(), "square", 100),
    ],
    "RobustUCB": [dpb.RobustUCB(), dpb.RobustUCB("fixed")],
    "DPRUCB": [
        *(dpb.DPRUCB(200.0), dpb.DPRUCB(math.inf)),
        *(dpb.DPRUCB(1000.0, scaling="log"), dpb.DPRUCB(3000.0, "reconstructed", constant=4.0)),
    ],
    "DPRSE": [
        *(dpb.DPRSE(1.0), dpb.DPRSE(0.5, 0.01, "fitted"), dpb.DPRSE(math.inf)),
        dpb.DPRSE(math.inf, schedule="fitted"),
    ],
    "LDPRSE": [
        *(dpb.LDPRSE(1.0), dpb.LDPRSE(2.0, 0.01, "non-negative"), dpb.LDPRSE(math.inf)),
        *(dpb.LDPRSE(1.0, schedule="fitted"), dpb.LDPRSE(0.5, schedule="one-bit")),
    ],
    "AnytimeLazyUCB": [
        *(dpb.AnytimeLazyUCB(1.0), dpb.AnytimeLazyUCB(0.5, 1.5, 0.5), dpb.AnytimeLazyUCB(math.inf))
    ],
    "AdaPUCB": [dpb.AdaPUCB(1.0), dpb.AdaPUCB(0.5, 1.5, 2.0), dpb.AdaPUCB(math.inf)],
    "AdaPKLUCB": [dpb.AdaPKLUCB(1.0), dpb.AdaPKLUCB(0.5, 1.5, 0.5), dpb.AdaPKLUCB(math.inf)],
    "PrintedAdaPUCB": [
        *(dpb.PrintedAdaPUCB(1.0), dpb.PrintedAdaPUCB(0.5, 1.5, "t"), dpb.PrintedAdaPUCB(math.inf))
    ],
    "PrintedAdaPKLUCB": [
        *(dpb.PrintedAdaPKLUCB(1.0), dpb.PrintedAdaPKLUCB(0.5, 1.5), dpb.PrintedAdaPKLUCB(math.inf))
    ],
    "LazyDPTS": [
        *(dpb.LazyDPTS(1.0), dpb.LazyDPTS(0.5, 1.5, 0.5), dpb.LazyDPTS(math.inf)),
        dpb.LazyDPTS(1.0, draws="batches"),
    ],
    "DPKLUCB": [dpb.DPKLUCB(1.0), dpb.DPKLUCB(0.3, 0.1, 0.0), dpb.DPKLUCB(math.inf)],
    "DPIMED": [dpb.DPIMED(1.0), dpb.DPIMED(2.0, 1.0, False), dpb.DPIMED(math.inf)],
}
IDENTIFIERS = {
    "TopTwo": [dpb.TopTwo(0.1), dpb.TopTwo(0.05, leader_share=0.4)],
    "DPTT": [
        *(dpb.DPTT(1.0, 0.1), dpb.DPTT(2.0, 0.1, "union", eta=0.5), dpb.DPTT(math.inf, 0.1)),
        dpb.DPTT(1.0, 0.05, costs="plain", exploration=1.0, leader_share=0.4),
    ],
    "AdaPTT": [dpb.AdaPTT(1.0, 0.1), dpb.AdaPTT(1.0, 0.1, "heuristic")],
    "AdaPTTStar": [dpb.AdaPTTStar(1.0, 0.1)],
    "DPSEIdentifier": [dpb.DPSEIdentifier(1.0, 0.1), dpb.DPSEIdentifier(math.inf, 0.05)],
    "CTBTT": [dpb.CTBTT(1.0, 0.1), dpb.CTBTT(3.0, 0.05, leader_share=0.4)],
    "DPLRE": [dpb.DPLRE(1.0, 0.1), dpb.DPLRE(3.0, 0.05, least_growth=0.3)],
}
RULES = {
    "NAS": [dpb.NAS(0.9, 0.9), dpb.NAS(0.5, 0.05, half_range=3.0)],
    "DPNAS": [
        *(dpb.DPNAS(5.0, 0.9, 0.9), dpb.DPNAS(math.inf, 0.9, 0.9)),
        dpb.DPNAS(20.0, 0.9, 0.5, half_range=0.5),
    ],
    "DPExponentialNAS": [
        *(dpb.DPExponentialNAS(3.0, 0.9, 0.9), dpb.DPExponentialNAS(math.inf, 0.9, 0.9)),
        dpb.DPExponentialNAS(1.0, 0.8, 0.3, half_range=0.5),
        dpb.DPExponentialNAS(3.0, 0.9, 0.9, estimate="midpoint"),
    ],
    "EBGStop": [dpb.EBGStop(0.9, 0.9), dpb.EBGStop(0.5, 0.05, half_range=3.0)],
    "DPBernsteinStop": [
        *(dpb.DPBernsteinStop(3.0, 0.9, 0.4), dpb.DPBernsteinStop(math.inf, 0.9, 0.4)),
        *(dpb.DPBernsteinStop(1.0, 0.5, 0.1, 0.5), dpb.DPBernsteinStop(3.0, 0.9, 0.4, 1.0, False)),
    ],
    "DPHoeffdingStop": [
        *(dpb.DPHoeffdingStop(3.0, 0.9, 0.9), dpb.DPHoeffdingStop(math.inf, 0.9, 0.9)),
        dpb.DPHoeffdingStop(1.0, 0.8, 0.3, half_range=0.5),
    ],
    "DPPromisedStop": [
        *(dpb.DPPromisedStop(3.0, 0.9, 0.4), dpb.DPPromisedStop(math.inf, 0.9, 0.4, 1e-3)),
        dpb.DPPromisedStop(1.0, 0.5, 0.05, deviation=1e-3, half_range=0.5),
    ],
}


def cases(table):
    """The configurations of a table, as parameters of tests."""
    listed = [each for configurations in table.values() for each in configurations]
    return [pytest.param(a, id=repr(a).replace("[", "(").replace("]", ")")) for a in listed]


EVERY = cases(CONFIGURATIONS)
KINDS = {
    "regret": (CONFIGURATIONS, dpb.registry, RegretAlgorithm),
    "identification": (IDENTIFIERS, dpb.identifiers, dpb.identification.IdentificationAlgorithm),
    "stopping": (RULES, dpb.stopping_rules, StoppingRule),
}
ALL = CONFIGURATIONS | IDENTIFIERS | RULES
every_algorithm = pytest.mark.parametrize("algorithm", EVERY)
every_kind = pytest.mark.parametrize(("table", "registry", "base"), KINDS.values(), ids=KINDS)
every_configuration = pytest.mark.parametrize("algorithm", cases(ALL))
every_name = pytest.mark.parametrize("name", ALL)


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


@every_kind
def test_the_table_covers_the_registry(table, registry, base):
    assert table.keys() == registry.keys()
    for name, configurations in table.items():
        assert configurations and all(type(each) is registry[name] for each in configurations)


@every_kind
def test_the_registry_covers_the_package(table, registry, base):
    found = {
        cls
        for cls in subclasses(base)
        if cls.__module__.startswith("dpbandits.")
        and not inspect.isabstract(cls)
        and "label" in vars(cls)
    }
    assert found == set(registry.values())
    for name, cls in registry.items():
        assert cls.__name__ == name and getattr(dpb, name) is cls and name in dpb.__all__


def exported(source):
    """Names that a type checker finds in ``__all__``; an error where it is more than a literal."""
    changes = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Call)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, changes)]
    (literal,) = (node for node in nodes if "__all__" in ast.unparse(node))
    assert isinstance(literal, ast.Assign)
    return ast.literal_eval(literal.value)


def test_the_names_of_the_package_are_a_literal_that_has_the_registries():
    names = exported(inspect.getsource(dpb))
    assert names == dpb.__all__ and len(set(names)) == len(names)
    entered = names[names.index("AdaPKLUCB") :]
    assert set(entered) == ALL.keys(), "algorithms come last"
    assert all(hasattr(dpb, name) for name in names)


@pytest.mark.parametrize("more", ["__all__ += [*registry]", "__all__.append('x')"])
def test_names_that_are_added_later_are_noticed(more):
    assert exported("__all__ = ['a', 'b']") == ["a", "b"], "control"
    with pytest.raises(ValueError, match="too many values"):
        exported(f"__all__ = ['a', 'b']\n{more}")
    with pytest.raises(ValueError, match="malformed node"):
        exported("__all__ = ['a', *registry]")


def test_labels_are_distinct():
    """Within a kind, and between rules and algorithms for regret, which share tables."""
    for names in ([*dpb.registry, *dpb.stopping_rules], [*dpb.identifiers]):
        assert len({type(ALL[name][0]).label for name in names}) == len(names)


@pytest.mark.parametrize("missing", ["label", "source"])
@every_kind
def test_a_class_without_label_or_source_fails_when_it_is_defined(table, registry, base, missing):
    """A base is not asked: one that lacks its program, or is made with ``abstract=True``."""
    program = dict.fromkeys(base.__abstractmethods__, lambda *arguments: None)
    named = {"label": "newcomer", "source": "tests"}
    for values in ({}, {missing: ""}, {missing: None}):
        given = {name: text for name, text in named.items() if name != missing} | values
        with pytest.raises(ValueError, match=f"^class Newcomer has no {missing}; allowed: "):
            type("Newcomer", (base,), program | given)
        unfinished = type("Unfinished", (base,), given)
        whole = type("Whole", (base,), program | given, abstract=True)
        for each in (unfinished, whole):
            with pytest.raises(ValueError, match=f"^class Newcomer has no {missing}; allowed: "):
                type("Newcomer", (each,), program)
            assert type("Newcomer", (each,), program | named).label == "newcomer", "control"


def test_a_subclass_has_label_and_source_of_its_base():
    class Own(dpb.DPSE):
        pass

    assert (Own.label, Own.source) == (dpb.DPSE.label, dpb.DPSE.source)


@every_configuration
def test_a_configuration_is_a_value(algorithm):
    twin = copy.deepcopy(algorithm)
    assert twin == algorithm and hash(twin) == hash(algorithm)
    assert pickle.loads(pickle.dumps(algorithm)) == algorithm
    assert eval(repr(algorithm), vars(dpb) | {"inf": math.inf}) == algorithm
    for field in dataclasses.fields(algorithm):
        value = getattr(algorithm, field.name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, field.name, value)
        assert isinstance(value, float | int | str | RegretAlgorithm | None)
    assert sum(algorithm == other for others in ALL.values() for other in others) == 1


@every_name
def test_documentation(name):
    cls = type(ALL[name][0])
    text = inspect.getdoc(cls)
    assert cls.label and cls.source
    assert ">>> " in inspect.getsource(inspect.getmodule(cls)), "one example for a family"
    parameters = text.partition("Parameters\n----------\n")[2]  # none, if it has no fields
    entries = re.findall(r"^(\w[\w, ]*)(?: : .*)?$", parameters, re.M)
    documented = ", ".join(entries).split(", ")
    assert {field.name for field in dataclasses.fields(cls)} <= set(documented)


@every_configuration
def test_guarantee(algorithm):
    guarantee = algorithm.guarantee
    assert isinstance(guarantee, dpb.PrivacyGuarantee)
    if type(algorithm).__name__ not in CONFIGURATIONS:
        assert guarantee.epsilon == getattr(algorithm, "epsilon", math.inf)
        local = isinstance(algorithm, dpb.CTBTT)
        assert guarantee.model == ("local" if local else "central") and guarantee.delta == 0
        assert guarantee.is_private == (guarantee.epsilon < math.inf)
    elif hasattr(algorithm, "epsilon") and not isinstance(algorithm, dpb.DPUCBInt):
        # an ε in each of two parts is 2ε together; the ε of DPUCBInt sets an interval
        parts = 2 if getattr(algorithm, "split", "") == "full" else 1
        assert guarantee.epsilon == parts * algorithm.epsilon


POSITIVE = [*NOT_A_NUMBER, *NOT_POSITIVE, math.inf]
FRACTIONS = NOT_A_NUMBER + NOT_FRACTIONS
FLAGS = [1, 0.0, "yes", None]
GROWTHS = [*NOT_A_NUMBER, 0.0, 1e-4, 1e308, math.inf]
WORDS = ["nothing", "", None, 3]
BAD = {
    "epsilon": NOT_A_NUMBER + NOT_POSITIVE,
    "base": [None, 1, "DPSE", dpb.DPSE],
    **dict.fromkeys(["beta", "delta", "leader_share"], FRACTIONS),
    **dict.fromkeys(["literal", "calibrated", "ucb_term", "variance"], FLAGS),
    **dict.fromkeys(["half_range", "noise", "constant", "eta"], POSITIVE),
    "alpha": [*NOT_A_NUMBER, 1, 0, -1, math.nan, math.inf],
    "failure_power": [*NOT_A_NUMBER, 0, -1, 1e-7, 1e7, math.inf, math.nan],
    "exploration": [*NOT_A_NUMBER, -1.0, math.inf],
    "slack": [*NOT_A_NUMBER, -1.0, math.inf],
    "exponent": [*NOT_A_NUMBER, 1.0, 0.5, math.inf],
    **dict.fromkeys(["least_growth", "most_growth"], GROWTHS),
    "first": [*NOT_WHOLE, 0, -1, 2**53 + 1],
    "first_guess": [*NOT_WHOLE, 3, -4],
}
BAD |= dict.fromkeys(["variant", "split", "width", "reading", "scaling"], WORDS)
BAD |= dict.fromkeys(["growth", "schedule", "draws", "confidence", "threshold", "costs"], WORDS)
BAD["estimate"] = WORDS


@every_name
def test_bad_arguments_are_refused(name):
    good = ALL[name][0]
    for field in dataclasses.fields(good):
        for value in BAD.get(field.name, [math.nan, -1]):
            if value is not None or "None" not in str(field.type):
                change = {field.name: value}
                refusal(field.name, value, lambda c=change: dataclasses.replace(good, **c))


def global_state():
    """State of NumPy's global generator, which nothing may use."""
    return np.random.get_state()[1].tolist()  # noqa: NPY002


# ---------------------------------------------------------------- algorithms for regret
# Nothing better is proved of these than playing the worst arm throughout.
WORST = [
    *(dpb.DPUCBHybrid(20.0, literal=True), dpb.DPUCBInt(0.06, "literal")),
    *(dpb.DPRUCB(3000.0, "reconstructed", constant=4.0), dpb.LazyDPTS(1.0, draws="batches")),
]
EASY = (0.2, 0.9, 0.2)


def bandit(algorithm, means=EASY):
    """Rewards of 0 or 1, with a moment bound for the algorithms that must know one."""
    if isinstance(getattr(algorithm, "base", algorithm), HeavyTailAlgorithm):
        laws = [TwoPointHeavyLaw(1.0, mean) for mean in means]
        return dpb.instances.heavy(laws, order=1.0, moment_bound=max(means))
    return dpb.instances.bernoulli(means, "easy")


def horizon_for(algorithm):
    """Long enough to tell the arms apart."""
    if isinstance(algorithm, dpb.LDPRSE):
        return 10**10
    elimination = isinstance(getattr(algorithm, "base", algorithm), dpb.DPRSE)
    return 2_000_000 if elimination else 30_000


@every_algorithm
def test_counts_add_up_at_every_checkpoint(algorithm):
    """With checkpoints below, at and above K, dense and sparse, and a longer horizon told."""
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    for times in ([1, 2, 3, 4, 5, 1000, 1001, horizon], [horizon], [2]):
        times = np.array(times)
        play = algorithm.draw(instance, horizon, times, np.random.default_rng(0))
        assert isinstance(play, Play)
        assert play.counts.shape == (times.size, 3) and play.counts.dtype == np.int64
        assert play.counts.sum(axis=1).tolist() == times.tolist()
        assert np.all(play.counts >= 0) and np.all(np.diff(play.counts, axis=0) >= 0)
        assert np.array_equal(play.pulls, play.counts[-1]) and play.pulls.dtype == np.int64
        regret = play.counts @ instance.gaps
        np.testing.assert_allclose(play.regret(instance.gaps), regret, rtol=1e-12)
        ends = play.epoch_ends
        assert ends.dtype == np.int64 and np.all(np.diff(ends) > 0)
        assert ends.size == 0 or (ends[0] > 0 and ends[-1] <= times[-1])


@every_algorithm
def test_the_generator_is_the_only_source_of_randomness(algorithm):
    instance, horizon, state = bandit(algorithm), horizon_for(algorithm), global_state()
    times = np.array([100, 2 * horizon // 3])
    first, again = (
        algorithm.draw(instance, horizon, times, np.random.default_rng(5)) for _ in range(2)
    )
    assert np.array_equal(first.counts, again.counts)
    assert np.array_equal(first.epoch_ends, again.epoch_ends)
    assert global_state() == state, "no global randomness"


@every_algorithm
def test_an_algorithm_learns(algorithm):
    """The best arm, which is not arm 0, gets most pulls; with arms swapped it is still found."""
    horizon = horizon_for(algorithm)
    for means in (EASY, (0.2, 0.2, 0.9)):
        instance = bandit(algorithm, means)
        runs = dpb.simulate(algorithm, instance, horizon, n_runs=2)
        assert np.all(runs.pulls[:, instance.best_arm] > horizon / 2)


def names_no_bound(algorithm):
    """Whether it leaves the bound as it is where none is known: infinite."""
    kind, base = type(algorithm), dpb.RegretAlgorithm
    return kind._regret_bound is base._regret_bound and kind.regret_bound is base.regret_bound


@every_algorithm
@pytest.mark.statistical
def test_regret_bound_is_above_the_simulated_mean(algorithm):
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    runs = dpb.simulate(algorithm, instance, horizon, n_runs=24)
    bound = algorithm.regret_bound(instance, horizon, runs.times)
    for sample, limit in zip(runs.regret.T, bound, strict=True):
        assert mean_may_be_at_most(sample, limit * (1 + 1e-12), 1 / runs.times.size)
    if algorithm in WORST:
        assert bound == pytest.approx(0.7 * runs.times)
        return
    if names_no_bound(algorithm):
        assert np.isinf(bound).all()
        return
    assert bound[-1] < 0.95 * 0.7 * horizon, "the bound says something on this instance"
    capped = np.minimum(runs.regret[:, -1], bound[-1] / 10)  # its mean is smaller still
    assert not mean_may_be_at_most(capped, bound[-1] / 60), "control"


@every_algorithm
def test_shapes_of_the_regret_bound(algorithm):
    instance, horizon = bandit(algorithm), horizon_for(algorithm)
    times = np.array([[1, 10, 100], [1000, 10_000, horizon]])
    table = algorithm.regret_bound(instance, horizon, times)
    assert table.shape == times.shape
    at_horizon = algorithm.regret_bound(instance, horizon)
    assert np.ndim(at_horizon) == 0 and float(at_horizon) == table[-1, -1]
    line = algorithm.regret_bound(instance, horizon, times.ravel().tolist())
    np.testing.assert_allclose(line, table.ravel(), rtol=1e-12)
    if names_no_bound(algorithm):
        assert np.isinf(line).all()
        return
    assert np.all(np.diff(line) >= 0), "regret only grows"
    assert np.all(line <= 0.7 * times.ravel() + 1e-9), "no worse than the worst arm throughout"
    assert algorithm.regret_bound(bandit(algorithm, (0.5, 0.5)), horizon) == 0
