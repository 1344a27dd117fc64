"""Every algorithm of the registries is acquitted of breaking its declared guarantee.

An algorithm that joins a registry is audited with its defaults (`dpbandits.auditing.cases`);
further settings are listed here. Where outputs can be integrated, they are; the others are run up
to 20 000 times on each table. A wrong conviction has probability 1e-6 at most.
"""

import dataclasses
import math

import numpy as np
import pytest
from statistical import FALSE_ALARM
from test_registry import CONFIGURATIONS, IDENTIFIERS

import dpbandits as dpb
from dpbandits._engine.acceleration import PROGRAMS, TableRuns, accelerators
from dpbandits.auditing import (
    NOT_AUDITED,
    TablePair,
    audit,
    audit_elimination,
    audit_exactly,
    audit_stopping,
    audited,
    ceiling,
    unpromised,
)
from dpbandits.auditing.adapters import tables_of
from dpbandits.auditing.candidates import pairs_everywhere, steps_at
from dpbandits.auditing.cases import group_of
from dpbandits.auditing.tape import STILL
from dpbandits.auditing.tape_runner import LIKELY, RARE, Program
from dpbandits.heavy.schedules import HEAVY_SCHEDULES
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter
from dpbandits.regret.heavy import Moment
from dpbandits.rewards.tables import Tables

FAST, SLOW, CERTAIN = 20_000, 400, 16
STREAMS = TablePair([[-1.0, 1.0, 1.0, 1.0]], 0, 0, 1.0)
PRIVATE, FREE = audited(1.0), unpromised()
EXACT = [
    *(dpb.DPSE(0.5), dpb.DPSE(4.0, beta=0.01), dpb.GuessAndDouble(dpb.DPRSE(1.0))),
    dpb.DPRUCB(4.0, "reconstructed"),
    *(dpb.LDPRSE(1.0, schedule=name) for name in ("non-negative", "fitted", "one-bit")),
    *(dpb.DPRSE(2.0, schedule="fitted"), dpb.DPExponentialNAS(2.0, 0.5, 0.05)),
    dpb.DPExponentialNAS(1.0, 0.5, 0.05, estimate="midpoint"),
    *(target for target in PRIVATE.values() if audit_exactly(target) is not None),
]
RUN = [
    *(dpb.DPUCB(4.0, "mishra-thakurta"), dpb.DPUCB(2.0, "tree-exact")),
    dpb.DPUCBBound(1.0, split="full"),
    *(dpb.DPUCBHybrid(2.0, literal=True), dpb.DPUCBInt(0.5, "refreshed")),
    *(dpb.DPUCBInt(0.5, "literal"), AdaptiveTree(1.0, 4, 1.0, 0.5)),
    *(dpb.DPBernsteinStop(4.0, 0.5, 0.05), dpb.DPBernsteinStop(1.0, 0.9, 0.4, 2.0, False)),
    *(dpb.DPHoeffdingStop(4.0, 0.9, 0.5, 2.0), dpb.DPPromisedStop(1.0, 0.5, 0.05, 0.01)),
    *(target for target in PRIVATE.values() if audit_exactly(target) is None),
    *FREE.values(),
]
SHORT, LONG = 16, dict.fromkeys(("BennettDPSE", "BinomialDPSE"), 128)
"""Length of tables; and for what decides early by its noise alone, and seldom."""


def length_for(target):
    """Return the length of tables: 16, or as many more as the target says, or as many fewer."""
    tables = tables_of(target)
    most = SHORT if tables.most is None else min(SHORT, tables.most)
    return max(most, tables.least, LONG.get(type(target).__name__.removeprefix("Noiseless"), 0))


def runs_for(target):
    """Return how many runs are made: by a compiled loop many; of what has no noise a few."""
    if not target.guarantee.is_private:
        return CERTAIN
    return FAST if accelerators(type(target), TableRuns) else SLOW


def pair_for(target):
    """A pair on which the first rewards matter: the worse-looking arm's first one differs.

    Of what declares that it decides later, one reward more decides.
    """
    tables, n_pulls = target.tables, length_for(target)
    if isinstance(target, dpb.StoppingRule):
        return TablePair([[tables.high] * max(8, tables.least)], 0, 0, tables.low)
    if n_pulls > SHORT:
        return turning_pair(target)
    table = np.zeros((tables.n_arms, n_pulls if tables.n_arms > 1 else 4))
    table[-1, 0] = tables.high if tables.n_arms > 1 else tables.low
    return TablePair(table, 0, 0, tables.high)


def turning_pair(target, seed=1):
    """A pair on which a reward changes outputs on a few tapes, one more reward of arm 0 first."""
    program, tables = Program(target, np.random.default_rng(seed)), tables_of(target)
    shape = tables.n_arms, length_for(target)

    def pairs():
        yield from steps_at(program, *shape, tables)
        for cell in pairs_everywhere(program, *shape, tables).values():  # many more runs
            yield from cell

    for pair in pairs():
        program.load(pair)
        (one, _), (other, _) = program.run(program.new_keys(8), (LIKELY, STILL), (RARE, STILL))
        if not np.array_equal(one, other):
            return pair
    raise AssertionError(f"no reward decides anything for {target!r}")


def test_everything_that_the_package_has_is_audited():
    private, free = audited(2.0), unpromised()
    counters = {"BinaryTree", "HybridCounter", "LogarithmicCounter", "AdaptiveTree", "KaryTree"}
    registered = {*dpb.registry, *dpb.stopping_rules, *dpb.identifiers}
    assert sorted([*private, *free, *NOT_AUDITED]) == sorted(registered | counters)
    for name, target in (private | free).items():
        assert type(target).__name__ == name
        assert target.guarantee.is_private == (name in private)
        if name in private and not isinstance(target, dpb.DPUCBInt):
            assert target.guarantee.epsilon <= 2.0
    assert not any(dpb.registry[name]().guarantee.is_private for name in NOT_AUDITED)


RUNNABLE = {name: target for name, target in (PRIVATE | FREE).items() if tables_of(target)}


@pytest.mark.parametrize("name", RUNNABLE)
def test_an_audit_runs_the_program_of_each_class(name, monkeypatch):
    """Also where a compiled loop is entered: it stands for the class's own program alone."""
    target = RUNNABLE[name]
    program = next(each for each in PROGRAMS if hasattr(type(target), each))

    def replaced(*_):
        raise RuntimeError(f"{program} of {name}")

    monkeypatch.setattr(type(target), program, replaced)
    with pytest.raises(RuntimeError, match=f"^{program} of {name}$"):
        dpb.audit(target, n_runs=16)


def test_heavy_tails_are_audited_by_their_formula():
    assert dpb.LDPRSE(1e-12).tables is None and dpb.audit(dpb.LDPRSE(1e-12)).exact
    found = dpb.audit(dpb.LDPRSE(1.0))
    assert (found.kind, found.exact, found.verdict) == ("formula", True, "no violation found")


HEAVY = [dpb.DPRSE(1.0), dpb.LDPRSE(2.0), dpb.DPRUCB(1.0)]


@pytest.mark.parametrize("target", HEAVY, ids=repr)
@pytest.mark.statistical
def test_heavy_tails_are_audited_on_tables_where_the_program_is_a_subclass_s_own(target):
    """Convicted without noise; the control has the program of its class, and is not."""
    pair = turning_pair(noiseless(target))
    found = dpb.audit(noiseless(target), pair, 700, failure=FALSE_ALARM)
    assert (found.kind, found.verdict) == ("program", "violation found")
    kept = dpb.audit(subclass(type(target))(**vars(target)), pair, 64, failure=FALSE_ALARM)
    assert kept.kind == "program" and not kept.convicted


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0, math.inf])
@pytest.mark.parametrize("horizon", [2, 64, 2**62])
def test_rewards_of_tables_for_heavy_tails_count(epsilon, horizon):
    """Beyond the first epoch's bound they would be 0, and tell nothing; it is close to them."""
    rules = [dpb.DPRSE(epsilon, schedule=name) for name in HEAVY_SCHEDULES["central"]]
    rules += [dpb.LDPRSE(epsilon, schedule=name) for name in HEAVY_SCHEDULES["local"]]
    for rule in rules:
        tables = rule.tables
        for n_arms in (2, 6):
            plan = rule.plan_epoch(Moment(*tables.promise), n_arms, 1, horizon)
            assert tables.high <= plan.bound < 1.08 * tables.high
            assert plan.threshold < tables.high - max(tables.low, 0.0)
    for width in ("valid", "reconstructed"):
        rule = dpb.DPRUCB(epsilon, width)
        tree = rule.plan(Moment(*rule.tables.promise), min(horizon, 64)).tree
        assert rule.tables.high <= tree.bound(1) * (1 + 1e-12)


class Noiseless(dpb.DPSE):
    """DP-SE without noise, which declares its ε all the same."""

    def play(self, *run):
        dpb.DPSE(math.inf, self.beta).play(*run)


@pytest.mark.parametrize(
    ("base", "entered"),
    [
        (dpb.DPSE, dpb.registry),
        (Noiseless, dpb.registry),
        (dpb.AdaPUCB, dpb.registry),
        (dpb.DPSEIdentifier, dpb.identifiers),
    ],
)
@pytest.mark.statistical
def test_what_joins_a_registry_is_audited_on_tables_that_test_it(base, entered, monkeypatch):
    """Whatever it joins, and by runs, as no law is known of it; without noise it is convicted."""
    monkeypatch.setitem(entered, "Newcomer", type("Newcomer", (base,), {}))
    target = audited(1.0)["Newcomer"]
    assert group_of("Newcomer") == ("regret" if entered is dpb.registry else "identification")
    assert "Newcomer" not in unpromised() and audit_exactly(target) is None
    found = audit(target, turning_pair(target), SLOW, failure=FALSE_ALARM)
    assert found.convicted == (base is Noiseless) and not found.constant


def test_what_joins_without_a_promise_is_not_convicted(monkeypatch):
    for base, entered in ((dpb.UCB, dpb.registry), (dpb.NAS, dpb.stopping_rules)):
        name = f"New{base.__name__}"
        monkeypatch.setitem(entered, name, type(name, (base,), {}))
    assert not {"NewUCB", "NewNAS"} & set(audited(1.0))
    target = unpromised()["NewUCB"]
    found = audit(target, turning_pair(target), 50)
    assert found.verdict == "nothing declared" and unpromised()["NewNAS"].tables.least > 100


def test_what_joins_with_a_parameter_that_nobody_knows_is_named(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Newcomer(dpb.RegretAlgorithm):
        depth: int

    monkeypatch.setitem(dpb.registry, "Newcomer", Newcomer)
    with pytest.raises(ValueError, match="Newcomer.depth has no default; allowed: one, or a line"):
        audited(1.0)


LATE = [dpb.DPSE(1.0), dpb.DPSE(2.0, beta=0.5), dpb.DPSEIdentifier(1.0, 0.1)]


@pytest.mark.parametrize("target", LATE, ids=repr)
@pytest.mark.statistical
def test_a_late_decision_is_tested_on_the_tables_that_are_declared(target):
    """With one pull fewer it is not, and the audit says so; control: less than the truth."""
    pair = turning_pair(target)
    found = audit(target, pair, 1999, failure=FALSE_ALARM)
    assert found.verdict == "no violation found" and found.epsilon_lower > 0.05
    boast = dpb.PrivacyGuarantee("central", target.epsilon / 32)
    assert audit(target, pair, 1999, guarantee=boast).verdict == "violation found"
    short = TablePair(pair.table[:, :-1], pair.arm, pair.pull, pair.value)
    nothing = audit(target, short, 50)
    assert nothing.verdict == "nothing tested"
    assert f"(of {target.tables.least} pulls or more, it says)" in str(nothing)


CONFIGURED = [
    target
    for configurations in (CONFIGURATIONS | IDENTIFIERS).values()
    for target in configurations
    if target.tables is not None
]


def differ(target, n_pulls, runs):
    """Whether outputs with equal noise differ for any rewards: all of an arm are 1, or none is.

    For heavy tails 1 is the greatest reward that is tried.
    """
    program = Program(target, np.random.default_rng(1))
    keys, high, shown = program.new_keys(runs), target.tables.high, set()
    for best in (None, 0, 1):
        table = np.zeros((2, n_pulls))
        table[[] if best is None else best] = high
        program.load(TablePair(table, 0, 0, high / 2))
        ((rows, _),) = program.run(keys, (LIKELY, STILL))
        shown.add(rows.tobytes())
    return len(shown) > 1


@pytest.mark.parametrize("target", CONFIGURED, ids=repr)
def test_tables_are_as_long_as_they_must_be(target):
    """With one pull fewer no reward matters.

    Top Two may stop on its first releases, a pull before it would choose. DP-KLUCB moves estimates
    into [0, 1], so that at its first choices the noise decides alone.
    """
    least = target.tables.least
    lengths = (least, 100 * least) if isinstance(target, dpb.DPKLUCB) else (least,)
    assert any(differ(target, length, runs) for length in lengths for runs in (10, 4000))
    kinds = dpb.DPTT, dpb.AdaPTT, dpb.AdaPTTStar
    may_stop = isinstance(target, kinds) and getattr(target, "first_batch", 2) > 1
    assert not differ(target, least - 1 - may_stop, 40)


def test_rules_and_counters_declare_their_tables():
    for rule in (dpb.NAS(0.5, 0.05), dpb.EBGStop(0.5, 0.05), dpb.NAS(0.3, 0.1, half_range=2.0)):
        stream = [rule.half_range] * rule.tables.least
        rng = np.random.default_rng(0)
        assert rule.run(stream, rng).halted and not rule.run(stream[1:], rng).halted
        assert rule.tables.high == -rule.tables.low == rule.half_range
    assert BinaryTree(1.0, 8).tables == Tables(1, 1, 8)
    assert AdaptiveTree(1.0, 8, first_bound=2.0).tables == Tables(1, 1, 8, -2.0, 2.0)
    assert HybridCounter(1.0).tables.most is None


@pytest.mark.parametrize("target", EXACT, ids=repr)
def test_it_is_acquitted_exactly(target):
    found = audit_exactly(target)
    assert found.exact and found.verdict == "no violation found"


@pytest.mark.parametrize("target", RUN, ids=repr)
@pytest.mark.statistical
def test_it_is_not_convicted(target):
    found = audit(target, pair_for(target), runs_for(target), failure=FALSE_ALARM)
    private = target.guarantee.is_private or isinstance(target, dpb.DPUCBInt)
    assert found.verdict == ("no violation found" if private else "nothing declared")


@pytest.mark.parametrize("target", [dpb.UCB(), dpb.TopTwo(0.1)], ids=repr)
@pytest.mark.statistical
def test_without_privacy_one_reward_decides(target):
    """Control: what declares nothing is told apart as well as so many runs can tell."""
    pair = TablePair([[0.0] * 16, [1.0] * 16], 0, 0, 1.0)
    found = audit(target, pair, SLOW, failure=FALSE_ALARM)
    assert found.epsilon_lower > 0.8 * ceiling(found.runs, FALSE_ALARM) and found.runs == SLOW // 2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_exact_audits_are_tight_where_theory_says_so(epsilon):
    """Elimination, local reports and halting times reach their ε up to half a per cent."""
    tight = [kind(epsilon) for kind in (dpb.DPSE, dpb.DPRSE, dpb.LDPRSE)]
    tight += [
        dpb.LDPRSE(epsilon, schedule="one-bit"),
        dpb.DPSEIdentifier(epsilon, 0.1),
        dpb.DPExponentialNAS(epsilon, 0.5, 0.05),
    ]
    for target in tight:
        assert 0.995 * epsilon < audit_exactly(target).epsilon_lower <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("kind", [dpb.DPSE, dpb.DPRSE, dpb.LDPRSE])
def test_exact_audits_see_noise_that_is_too_small(kind):
    """Control: an algorithm that declares ε and has the noise of 1.02·ε is convicted."""
    boast = dpb.PrivacyGuarantee("central", 1.0 / 1.02)
    assert audit_exactly(kind(1.0), guarantee=boast).verdict == "violation found"


LAWS = {type(getattr(target, "base", target)): target for target in EXACT} | {
    type(target): target for target in EXACT
}
"""Class whose law is known → one of it."""


def subclass(kind, **members):
    return type("Subclass", (kind,), members)


@pytest.mark.parametrize("target", LAWS.values(), ids=repr)
def test_a_subclass_has_no_exact_audit(target):
    """Whatever it does in the place of its class's program: it is run."""
    other = subclass(type(target))(**vars(target))
    assert audit_exactly(target) is not None and audit_exactly(other) is None


@pytest.mark.parametrize("target", LAWS.values(), ids=repr)
def test_a_program_that_was_replaced_has_no_exact_audit(target, monkeypatch):
    """Also if nothing but the class's method is another one."""
    name = next(n for n in ("play", "decide", "stop") if hasattr(target, n))
    program = getattr(type(target), name)
    monkeypatch.setattr(type(target), name, lambda *_: program(*_))
    assert audit_exactly(target) is None
    monkeypatch.undo()
    assert audit_exactly(target) is not None


def test_what_is_restarted_is_audited_by_its_law():
    other = subclass(dpb.DPSE)(1.0)
    for base in (other, dpb.LDPRSE(1.0), dpb.DPUCB(1.0), dpb.GuessAndDouble(dpb.DPSE(1.0))):
        assert audit_exactly(dpb.GuessAndDouble(base)) is None
    for refused in (audit_elimination, lambda target: audit_stopping(target, STREAMS)):
        with pytest.raises(ValueError, match="Subclass|DPUCB"):
            refused(dpb.GuessAndDouble(other))
    rule = subclass(dpb.DPNAS)(1.0, 0.5, 0.05)
    with pytest.raises(ValueError, match="a Subclass whose law is not known; allowed: DPNAS or"):
        audit_stopping(rule, STREAMS)


def noiseless(target):
    """The target of a subclass whose own program draws next to no noise, and promises as much."""
    kind = type(target)
    program = next(name for name in PROGRAMS if hasattr(kind, name))

    def quiet(self, *arguments):
        change = {"noise": 1e-9} if hasattr(self, "noise") else {"epsilon": 1e9}
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(kind)}
        return getattr(kind(**(fields | change)), program)(*arguments)

    return type(f"Noiseless{kind.__name__}", (kind,), {program: quiet})(**vars(target))


ON_TABLES = {
    name: target
    for name, target in PRIVATE.items()
    if getattr(getattr(target, "tables", None), "promise", 1) is None  # else see above
    and not isinstance(target, dpb.GuessAndDouble)  # whose noise is that of its base
}
# its indices are drawn, so that one reward changes their law little, noise or not
ON_TABLES["LazyDPTS"] = audited(0.25)["LazyDPTS"]
ENOUGH = (400, 2000)
"""Runs: of most programs the first do; of what is random at any budget, be it in ties, the last."""


@pytest.mark.statistical
@pytest.mark.parametrize("name", ON_TABLES)
def test_whatever_loses_its_noise_is_convicted(name):
    """On the pair at which its output turns, whose bound is false with probability 1e-6 at most.

    What keeps its noise is not convicted: the audits of all classes above.
    """
    broken = noiseless(ON_TABLES[name])
    pair = turning_pair(broken)
    audits = (audit(broken, pair, n_runs=n_runs) for n_runs in ENOUGH)
    found = next((each for each in audits if each.convicted), None)
    assert found is not None and found.epsilon_lower > broken.epsilon
