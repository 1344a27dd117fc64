"""Declared guarantees: what they say. What may be declared: ``test_validation.py``."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpbandits as dpb
from dpbandits.guarantees import NO_PRIVACY, PrivacyGuarantee


@given(st.floats(1e-100, 1e300), st.floats(0, 1, exclude_max=True))
def test_a_guarantee_keeps_what_it_is_given(epsilon, delta):
    guarantee = PrivacyGuarantee("central", epsilon, delta)
    assert guarantee.is_private and guarantee.delta == delta
    assert eval(repr(guarantee)) == pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert hash(guarantee) == hash(eval(repr(guarantee)))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("central", 0.5), "ε = 0.5, central, event level"),
        (("local", 1.0), "ε = 1, local, event level"),
        (("central", 1.0, 1e-6), "(ε = 1, δ = 1e-06), central, event level"),
        (("central", math.inf), "none"),
    ],
)
def test_text(arguments, text):
    assert str(PrivacyGuarantee(*arguments)) == text


@pytest.mark.parametrize("epsilon", [0.1, 3, math.inf])
def test_algorithms_declare_their_budget(epsilon):
    guess = dpb.GuessAndDouble(dpb.DPSE(epsilon))
    for algorithm in (dpb.DPSE(epsilon), dpb.DPUCB(epsilon, "mishra-thakurta"), guess):
        assert algorithm.guarantee == PrivacyGuarantee("central", epsilon)
    for algorithm in (dpb.UCB(), dpb.SuccessiveElimination(), dpb.GuessAndDouble(dpb.UCB())):
        assert algorithm.guarantee == NO_PRIVACY and not NO_PRIVACY.is_private
