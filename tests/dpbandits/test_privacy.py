"""Declared guarantees: what they say, and what may be declared."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee


@given(st.floats(1e-100, 1e300), st.floats(0, 1, exclude_max=True))
def test_purity(epsilon, delta):
    guarantee = PrivacyGuarantee("global", epsilon, delta)
    assert guarantee.is_private
    assert guarantee.is_pure == (delta == 0)


@pytest.mark.parametrize(
    ("guarantee", "text"),
    [
        (PrivacyGuarantee("global", 0.5), "ε = 0.5, global, event level"),
        (PrivacyGuarantee("local", 1.0), "ε = 1, local, event level"),
        (PrivacyGuarantee("global", 1.0, 1e-6), "(ε = 1, δ = 1e-06), global, event level"),
        (NO_PRIVACY, "none"),
    ],
)
def test_text(guarantee, text):
    assert str(guarantee) == text


def test_no_privacy_promises_nothing():
    assert not NO_PRIVACY.is_private and not NO_PRIVACY.is_pure
    assert PrivacyGuarantee("global", math.inf) == NO_PRIVACY


def test_a_guarantee_is_a_value():
    guarantee = PrivacyGuarantee("global", 0.25)
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert eval(repr(guarantee)) == guarantee and hash(guarantee) == hash(eval(repr(guarantee)))
    with pytest.raises(AttributeError):
        guarantee.epsilon = 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3])
@pytest.mark.parametrize(
    "make",
    [
        dpb.DPSE,
        dpb.DPUCB,
        lambda e: dpb.DPUCB(e, "mishra-thakurta"),
        lambda e: dpb.GuessAndDouble(dpb.DPSE(e)),
    ],
)
def test_private_algorithms_declare_their_budget(make, epsilon):
    guarantee = make(epsilon).guarantee
    assert guarantee.is_pure and guarantee.epsilon == epsilon and guarantee.model == "global"


@pytest.mark.parametrize(
    "algorithm",
    [
        dpb.UCB(),
        dpb.SuccessiveElimination(),
        dpb.DPSE(math.inf),
        dpb.DPUCB(math.inf),
        dpb.GuessAndDouble(dpb.UCB()),
    ],
    ids=repr,
)
def test_algorithms_without_a_budget_promise_nothing(algorithm):
    assert algorithm.guarantee == NO_PRIVACY
