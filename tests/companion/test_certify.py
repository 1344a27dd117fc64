"""Certificates: what is false or touches zero is refused, and balls cover what they should."""

import math

import pytest
from flint import arb

from companion.certify import NotCertifiedError, at_ends, ball, certify, hull


def test_a_true_inequality_is_certified_with_a_bound_on_its_least_value():
    for f, box, least in (
        (lambda x: x.exp() - 2 * x, [(-3, 3)], 2 - 2 * math.log(2)),
        (lambda x: 3.41 * x.log() - (4.17 * x * x).log(), [(2.78, 10**6)], 0.0137),
        (lambda x, y: 1 - x * y * (x + y), [("0", "3/4"), (0, 0.75)], 1 - 2 * 0.75**3),
        (lambda x: x, [("1/3", "1/3")], 1 / 3),
    ):
        found = certify(f, box)
        assert least / 2 - 1e-4 <= found.margin <= least + 1e-4
        assert 1 <= found.boxes < 200
        boxes, _, margin = found.evidence("f > 0")["certified: f > 0"].partition(", least margin ")
        assert boxes.split()[0] == str(found.boxes)
        assert 0.99 * found.margin <= float(margin) <= found.margin


def test_a_narrow_exception_that_a_grid_would_miss_is_found():
    def dips(x):
        return 1 - 2 / (1 + ((x - 0.123456) * 10**5) ** 2)

    assert all(dips(arb(i) / 1000) > 0 for i in range(1001)), "the grid sees nothing"
    with pytest.raises(NotCertifiedError, match="is false, at 0.1234") as caught:
        certify(dips, [(0, 1)])
    (low, high), *_ = caught.value.box
    assert low <= 0.123456 + 1e-5 and high >= 0.123456 - 1e-5 and high - low < 0.01


@pytest.mark.parametrize(
    ("f", "box", "word"),
    [
        (lambda x: x - 1, [(0, 3)], "is false, at 0.75,"),
        (lambda x: -x, [(1, 1)], "is false, at 1,"),
        (lambda x: x * x, [(-1, 1)], "touches zero, at 0,"),
        (lambda x: x * x, [(-1, 2)], "touches zero, or comes too near"),
        (lambda x: x.expm1() - x, [(-1, 2)], "touches zero, or comes too near"),
        (lambda x, y: (x - y) ** 2, [(0, 1), (0, 2)], "touches zero"),
        (lambda x, y: 1e-300 + (x - y) ** 2, [(0, 1), (0, 2)], "too near to it to tell"),
        (lambda x: x.log(), [(0, 1)], "is false"),
        (lambda x: -x.log(), [(-1, 0.5)], "too near to it to tell"),  # it has no value there
        (lambda x: x - x.exp().log(), [("1/3", "1/3")], "too near to it to tell"),
    ],
)
def test_what_is_false_or_touches_zero_is_refused(f, box, word):
    with pytest.raises(NotCertifiedError, match=word) as caught:
        certify(f, box)
    assert len(caught.value.box) == len(box)
    for (low, high), (first, last) in zip(caught.value.box, box, strict=True):
        assert float(ball(first)) <= low <= high <= float(ball(last))


def test_too_many_boxes_are_refused(monkeypatch):
    monkeypatch.setattr("companion.certify.MOST_BOXES", 10)
    assert certify(lambda x: 2 - x, [(0, 1)]).boxes < 10
    with pytest.raises(NotCertifiedError, match="too near to it to tell"):
        certify(lambda x: 1e-3 + x * x, [(-1, 2)])


@pytest.mark.parametrize("box", [[], [(1, 0)], [(0, 1), ("1/2", "1/3")]])
def test_no_box(box):
    with pytest.raises(ValueError, match="allowed: pairs of a low and a high end") as caught:
        certify(lambda *_: arb(1), box)
    assert not isinstance(caught.value, NotCertifiedError)


def test_balls_cover():
    assert (arb(1) / 10).contains(ball("0.1")) and not ball(0.1).contains(ball("0.1"))
    whole = hull(ball(3), ball(-1), ball(2))
    assert whole.contains(arb(-1)) and whole.contains(arb(3)) and not whole.contains(arb(3.01))
    inverse = at_ends(lambda x: 1 / x, hull(ball(2), ball(4)))
    assert inverse.contains(arb("0.25")) and inverse.contains(arb("0.5"))
    assert inverse > 0.249 and inverse < 0.501
