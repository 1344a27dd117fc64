"""Every algorithm of the registries is acquitted of breaking its declared guarantee.

An algorithm joins with one line in `AUDITED`. Where outputs can be integrated, they are; the
others are run up to 20 000 times on each table. A wrong conviction has probability 1e-6 at most.
"""

import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing.audit import audit
from dpbandits.auditing.exact import audit_exactly
from dpbandits.auditing.subjects import subject_of
from dpbandits.auditing.tables import TablePair
from dpbandits.mechanisms import AdaptiveTree, BinaryTree, HybridCounter, LogarithmicCounter

FAST, SLOW = 20_000, 1_000
COUNTERS = {"BinaryTree", "HybridCounter", "LogarithmicCounter", "AdaptiveTree"}
AUDITED = {
    "UCB": [(dpb.UCB(), FAST)],
    "DPUCB": [(dpb.DPUCB(1.0), FAST), (dpb.DPUCB(4.0, "mishra-thakurta"), FAST)],
    "DPUCBBound": [(dpb.DPUCBBound(1.0), FAST), (dpb.DPUCBBound(1.0, split="full"), FAST)],
    "DPUCBHybrid": [(dpb.DPUCBHybrid(1.0), FAST), (dpb.DPUCBHybrid(2.0, literal=True), FAST)],
    "DPUCBInt": [(dpb.DPUCBInt(0.5, reading), FAST) for reading in ("refreshed", "literal")],
    "SuccessiveElimination": [(dpb.SuccessiveElimination(), SLOW)],
    "DPSE": [(dpb.DPSE(0.5), 0), (dpb.DPSE(4.0, beta=0.01), 0)],
    "GuessAndDouble": [(dpb.GuessAndDouble(kind(1.0)), 0) for kind in (dpb.DPSE, dpb.DPRSE)],
    "RobustUCB": [(dpb.RobustUCB(), None)],
    "DPRUCB": [(dpb.DPRUCB(1.0), 0), (dpb.DPRUCB(4.0, "published"), 0)],
    "DPRSE": [(dpb.DPRSE(1.0), 0), (dpb.DPRSE(2.0, schedule="tightened"), 0)],
    "LDPRSE": [(dpb.LDPRSE(1.0), 0), (dpb.LDPRSE(1.0, schedule="non-negative"), 0)],
    "AnytimeLazyUCB": [(dpb.AnytimeLazyUCB(1.0), FAST)],
    "AdaPUCB": [(dpb.AdaPUCB(1.0), FAST)],
    "AdaPKLUCB": [(dpb.AdaPKLUCB(1.0), FAST)],
    "LazyDPTS": [(dpb.LazyDPTS(1.0), FAST)],
    "DPKLUCB": [(dpb.DPKLUCB(1.0), FAST)],
    "DPIMED": [(dpb.DPIMED(1.0), FAST)],
    "NAS": [(dpb.NAS(0.5, 0.05), SLOW)],
    "DPNAS": [(dpb.DPNAS(1.0, 0.5, 0.05), 0)],
    "DPExponentialNAS": [(dpb.DPExponentialNAS(epsilon, 0.5, 0.05), 0) for epsilon in (0.5, 2.0)],
    "EBGStop": [(dpb.EBGStop(0.5, 0.05), SLOW)],
    "TopTwo": [(dpb.TopTwo(0.1), FAST)],
    "DPTT": [(dpb.DPTT(1.0, 0.1), FAST)],
    "AdaPTT": [(dpb.AdaPTT(1.0, 0.1), FAST)],
    "AdaPTTStar": [(dpb.AdaPTTStar(1.0, 0.1), FAST)],
    "DPSEIdentifier": [(dpb.DPSEIdentifier(1.0, 0.1), 0)],
    "DPLRE": [(dpb.DPLRE(1.0, 0.1), SLOW)],
    "BinaryTree": [(BinaryTree(1.0, 4), FAST)],
    "HybridCounter": [(HybridCounter(1.0), FAST)],
    "LogarithmicCounter": [(LogarithmicCounter(1.0), FAST)],
    "AdaptiveTree": [(AdaptiveTree(1.0, 4, 1.0, 0.5), FAST)],
}
"""Name → (what is audited, runs on each table; 0 for an exact audit, None where there is none)."""


def pair_for(target):
    """A pair on which the first rewards matter: the worse-looking arm's first one differs."""
    if isinstance(target, dpb.RegretAlgorithm | dpb.IdentificationAlgorithm):
        return TablePair([[0.0] * 16, [1.0] + [0.0] * 15], 0, 0, 1.0)
    if isinstance(target, dpb.StoppingRule):
        return TablePair([[1.0] * 8], 0, 0, -1.0)
    return TablePair([[-1.0 if isinstance(target, AdaptiveTree) else 0.0] + [0.0] * 3], 0, 0, 1.0)


def test_every_algorithm_is_audited():
    assert AUDITED.keys() == {*dpb.registry, *dpb.stopping_rules, *dpb.identifiers, *COUNTERS}
    for name, cases in AUDITED.items():
        assert cases and all(type(target).__name__ == name for target, _ in cases)


@pytest.mark.parametrize(
    ("target", "runs"),
    [pytest.param(*case, id=repr(case[0])) for cases in AUDITED.values() for case in cases],
)
@pytest.mark.statistical
def test_it_is_acquitted(target, runs):
    if runs == 0:
        found = audit_exactly(target)
        assert found.exact and found.verdict == "acquitted"
    elif runs is None:
        assert not target.guarantee.is_private
    else:
        subject, pair = subject_of(target, 16), pair_for(target)
        found = audit(subject, pair, runs, failure=FALSE_ALARM)
        private = target.guarantee.is_private or isinstance(target, dpb.DPUCBInt)
        assert found.verdict == ("acquitted" if private else "nothing declared")
        assert found.tally.runs == found.tally.neighbour_runs == runs // 2


@pytest.mark.parametrize("target", [dpb.UCB(), dpb.TopTwo(0.1)], ids=repr)
@pytest.mark.statistical
def test_without_privacy_one_reward_decides(target):
    """Control: what declares nothing is told apart as well as so many runs can tell."""
    pair = TablePair([[0.0] * 16, [1.0] * 16], 0, 0, 1.0)
    found = audit(subject_of(target), pair, SLOW, failure=FALSE_ALARM)
    assert found.epsilon_lower == pytest.approx(found.tally.ceiling) and found.epsilon_lower > 3


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_exact_audits_are_tight_where_theory_says_so(epsilon):
    """Elimination, local reports and halting times reach their ε up to half a per cent."""
    tight = [kind(epsilon) for kind in (dpb.DPSE, dpb.DPRSE, dpb.LDPRSE)]
    tight += [dpb.DPSEIdentifier(epsilon, 0.1), dpb.DPExponentialNAS(epsilon, 0.5, 0.05)]
    for target in tight:
        assert 0.995 * epsilon < audit_exactly(target).epsilon_lower <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("kind", [dpb.DPSE, dpb.DPRSE, dpb.LDPRSE])
def test_exact_audits_see_noise_that_is_too_small(kind):
    """Control: an algorithm that declares ε and has the noise of 1.02·ε is convicted."""

    class Boastful(kind):
        @property
        def guarantee(self):
            return dpb.PrivacyGuarantee(super().guarantee.model, self.epsilon / 1.02)

    assert audit_exactly(Boastful(1.0)).verdict == "convicted"
