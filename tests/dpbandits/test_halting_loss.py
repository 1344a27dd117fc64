"""The exact privacy loss against the theory, and broken twins that it has to convict."""

import math

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits.stopping import (
    crossing_length,
    crossing_loss,
    crossing_streams,
    loss_limit,
    privacy_loss,
    sparse_vector_law,
)

RULES = [
    kind(epsilon, alpha, beta, half_range)
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS)
    for epsilon, alpha, beta, half_range in [(1.0, 0.5, 0.05, 1.0), (4.0, 0.9, 0.9, 2.5)]
]


def broken(rule, **scales):
    """The rule with its thresholds, and with other scales of noise."""
    flaw = {
        "halting": property(lambda _: rule.halting._replace(**scales)),
        "threshold": lambda _, look: rule.threshold(look),
    }
    return type("Broken", (type(rule),), flaw)(**vars(rule))


@pytest.mark.parametrize(
    ("scales", "part"),
    [
        ({"threshold_scale": 0.0}, "sparse_vector"),
        ({"threshold_scale": 6.0, "query_scale": 6.0}, "sparse_vector"),  # half of 12R/ε
        ({"release_scale": 2.0}, "release"),  # half of 4R/ε
    ],
)
def test_broken_twins_are_convicted(scales, part):
    rule = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    stream, neighbour = crossing_streams(rule, 14)
    right = privacy_loss(rule, stream, neighbour)
    assert right.sparse_vector <= 0.5 + 1e-9 and right.total <= 1.0 + 1e-9
    wrong = privacy_loss(broken(rule, **scales), stream, neighbour)
    assert wrong.total > 1.4 and getattr(wrong, part) > 0.9
    assert np.all(np.abs(wrong.log_ratio) <= wrong.bound + 1e-9)  # the theory knows it as well


def records(rule):
    """Two neighbours: at the ninth look one has a greater margin than before, one has not."""
    wanted = 2.5 + rule.threshold(9) - rule.threshold(1)  # margin greater than the first by 1/2
    rest = rule.look_time(9) - 2
    stream = np.append([1.0, 1.0], np.full(rest, (wanted - 2.0) / rest))
    neighbour = stream.copy()
    neighbour[-1] -= 1.0
    assert np.abs(stream).max() <= 1.0
    return stream, neighbour


def halts_with_one_noise(rule, stream):
    """P(halt at each look) if one A serves all looks: if the greatest margin passes A + B."""
    last = [2**k - 1 for k in range(1, 10)]
    q = np.abs(np.cumsum(stream)[last]) - [rule.threshold(look) for look in range(1, 10)]
    x = np.maximum.accumulate(q) / rule.halting.query_scale
    assert np.all(x < 0)
    return np.diff(0.5 * np.exp(x) * (1.0 - x / 2), prepend=0.0)


def test_noise_that_is_not_drawn_for_each_look_is_convicted():
    rule = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    stream, neighbour = records(rule)
    assert privacy_loss(rule, stream, neighbour).total < 1.0
    left_out = privacy_loss(broken(rule, query_scale=0.0), stream, neighbour)
    assert left_out.time == 512 and left_out.total == math.inf
    assert halts_with_one_noise(rule, stream)[-1] > 0 == halts_with_one_noise(rule, neighbour)[-1]


def random_pairs(rng, rule, length, count):
    """Pairs of streams of many kinds that differ in one entry."""
    for _ in range(count):
        kind = rng.integers(4)
        if kind == 0:
            stream = rng.uniform(-1, 1, length)
        elif kind == 1:
            stream = rng.choice([-1.0, 1.0], length, p=[0.3, 0.7])
        elif kind == 2:
            stream = np.repeat(rng.choice([-1.0, 1.0], 1 + length // 8), 8)[:length]
        else:
            stream = np.where(np.arange(length) < rng.integers(length), 1.0, -1.0)
        neighbour, place = stream.copy(), rng.integers(length)
        neighbour[place] = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
        yield stream * rule.half_range, neighbour * rule.half_range


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_loss_keeps_to_the_theory_on_random_pairs(rng, rule):
    budget, length = rule.epsilon / 2, 24
    limits = np.array([loss_limit(rule, s) for s in range(1, halts_by(rule, length) + 1)])
    one_sided = constant_sign = 0
    for stream, neighbour in random_pairs(rng, rule, length, 120):
        loss = privacy_loss(rule, stream, neighbour)
        sizes = np.abs(loss.log_ratio)
        assert np.all(sizes <= loss.bound + 1e-9) and loss.bound.max() <= budget + 1e-12
        assert loss.total <= 2 * budget and loss.release <= budget + 1e-12
        assert loss.total == loss.sparse_vector + loss.release
        assert np.all(sizes[:-1] <= limits + 1e-9)
        first, second = (np.cumsum(x)[loss.law.times - 1] for x in (stream, neighbour))
        moves = np.abs(second) - np.abs(first)
        if np.all(moves >= 0) or np.all(moves <= 0):
            one_sided += 1
            assert sizes.max() <= budget * 2 / 3 + 1e-9
        touched = first != second
        if np.all(first[touched] * second[touched] >= 0) and (
            np.ptp(np.sign(first[touched] + second[touched])) == 0 if touched.any() else True
        ):
            constant_sign += 1
            assert sizes.max() <= budget / 3 + 1e-9
    assert one_sided > 20 and constant_sign > 20


def halts_by(rule, length):
    """Number of looks within a length."""
    return length if type(rule) is dpb.DPNAS else length.bit_length() - 1


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("look", [1, 2, 3, 7])
def test_crossing_pair(rule, look):
    stream, neighbour = crossing_streams(rule, look)
    assert stream.size == rule.look_time(look)
    assert np.count_nonzero(stream != neighbour) == 1
    loss = privacy_loss(rule, stream, neighbour)
    assert loss == loss and loss != privacy_loss(rule, stream, neighbour) and {loss}
    assert loss.log_ratio[look - 1] == pytest.approx(crossing_loss(rule, look), abs=1e-10)
    assert crossing_loss(rule, look) <= loss_limit(rule, look) + 1e-10
    if type(rule) is dpb.DPExponentialNAS:
        assert crossing_loss(rule, look) == pytest.approx(loss_limit(rule, look), abs=1e-10)
        assert crossing_loss(rule, look) <= crossing_loss(rule, look + 1)


def climb(rule, length, rng, patience):
    """Search for a pair with a great loss at the last look, by changing entries at random."""

    def value(stream, neighbour):
        return abs(privacy_loss(rule, stream, neighbour).log_ratio[-2])

    stream = rng.choice([-1.0, 0.0, 1.0], length)
    neighbour = stream.copy()
    neighbour[0] = -stream[0]
    best, failures = value(stream, neighbour), 0
    while failures < patience:
        new, place = stream.copy(), np.flatnonzero(stream != neighbour)
        if rng.random() < 0.3:
            place = rng.integers(length, size=1)
        new[rng.integers(length, size=2)] = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
        other = new.copy()
        other[place] = rng.choice([-1.0, 1.0])
        found = value(new, other)
        failures += 1
        if found > best:
            stream, neighbour, best, failures = new, other, found, 0
    return best


@pytest.mark.parametrize("kind", [dpb.DPNAS, dpb.DPExponentialNAS])
def test_search_finds_the_crossing_pair_and_nothing_worse(kind):
    rule, rng = kind(1.0, 0.9, 0.5), np.random.default_rng(3)
    look = halts_by(rule, 8)
    found = max(climb(rule, 8, rng, 100) for _ in range(3))
    assert found <= loss_limit(rule, look) + 1e-10
    assert found >= 0.97 * crossing_loss(rule, look)


def last_loss(first, second, once, each):
    logs = [sparse_vector_law(q, once, each, first=len(q))[0][0] for q in (first, second)]
    return logs[0] - logs[1]


@pytest.mark.parametrize(("once", "each"), [(1.0, 1.0), (3.0, 0.7)])
def test_moves_that_raise_the_loss(rng, once, each):
    """The four moves of the proof, on looks that no stream need have."""
    d, same = 0.8, 1e-10
    for _ in range(40):
        first = rng.normal(-1.0, 3.0, 5)
        second = first + rng.uniform(-d, d, 5)
        before = last_loss(first, second, once, each)
        lower, higher = first.copy(), second.copy()
        place, step = rng.integers(4), rng.uniform(0, 2)
        lower[place] -= step
        higher[place] += step
        assert last_loss(lower, higher, once, each) >= before - same  # (i)
        t = rng.normal(-1.0, 3.0)
        added = [np.insert(first, place, t - d), np.insert(second, place, t)]
        after = last_loss(*added, once, each)
        assert after >= before - same  # (ii), adding
        raised = [x.copy() for x in added]
        for x in raised:
            x[place] += step
        assert last_loss(*raised, once, each) >= after - same  # (ii), raising
        second[-1] = first[-1] - d
        before = last_loss(first, second, once, each)
        worse = [np.insert(first, place, t + d), np.insert(second, place, t)]
        assert last_loss(*worse, once, each) <= before + same  # (iii)
        shift = np.array([0.0, 0.0, 0.0, 0.0, step])
        assert last_loss(first - shift, second - shift, once, each) >= before - same  # (iv)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_crossing_loss_tends_to_half_the_budget(epsilon):
    rule = dpb.DPExponentialNAS(epsilon, 0.5, 0.05)
    for look in range(10, 18):
        margins = sorted(2.0**k - 2.0 - rule.threshold(k) for k in range(1, look))
        if margins[-3] <= 0:
            continue
        w = 1 / (1 + 3 * math.expm1(min(margins[-3] / rule.halting.query_scale, 700)))
        least = -math.log(math.exp(-epsilon / 2) + w * math.exp(epsilon / 6))
        assert least - 1e-9 <= crossing_loss(rule, look) <= epsilon / 2 + 1e-9
    assert least > 0.999 * epsilon / 2  # at the last of them


def test_crossing_length():
    rule = dpb.DPNAS(2.0, 0.9, 0.5)
    length = crossing_length(rule, 0.9)
    assert crossing_loss(rule, length) >= 0.9 > crossing_loss(rule, length - 1)
    assert crossing_length(rule, 0.5) < length
    assert crossing_length(dpb.DPExponentialNAS(2.0, 0.9, 0.5), 0.9) > length


def test_bad_arguments():
    rule = dpb.DPNAS(1.0, 0.5, 0.05)
    for neighbour in ([0.5], [0.1, 0.1], [0.5, 2.0]):
        with pytest.raises(ValueError, match=r"neighbour.*allowed"):
            privacy_loss(rule, [0.5, 0.5], neighbour)
    with pytest.raises(ValueError, match=r"look=0 .*allowed"):
        crossing_loss(rule, 0)
    with pytest.raises(ValueError, match=r"has no noise"):
        crossing_length(dpb.NAS(0.5, 0.05), 0.9)
    for wrong in (dpb.EBGStop(0.5, 0.05), "x", None):
        calls = [(f, (wrong, 3)) for f in (crossing_loss, crossing_streams, loss_limit)]
        calls += [(crossing_length, (wrong, 0.5)), (privacy_loss, (wrong, [0.5], [0.5]))]
        for function, arguments in calls:
            with pytest.raises(ValueError, match="rule=.*has no halting condition; allowed: one"):
                function(*arguments)


def test_looks_that_are_far_away():
    rule = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    assert crossing_loss(rule, 29) == pytest.approx(0.5, abs=1e-6)
    for function in (crossing_loss, loss_limit, crossing_streams):
        for look in (63, 10**7):
            with pytest.raises(ValueError, match=rf"look={look} is out of range; allowed"):
                function(rule, look)
    low = dpb.DPExponentialNAS(1e-7, 0.5, 0.05, half_range=1e30)
    assert crossing_length(low, 0.9) > 2**30
    with pytest.raises(ValueError, match=r"share=0.9 .*allowed"):
        crossing_length(dpb.DPExponentialNAS(1e-20, 0.5, 0.05), 0.9)
