"""Halting laws against exact arithmetic and simulation; losses against theory and broken rules."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from statistical import clopper_pearson

import dpbandits as dpb
from dpbandits.stopping import (
    crossing_loss,
    crossing_streams,
    halting_law,
    loss_limit,
    privacy_loss,
    sparse_vector_law,
)

ROUNDING = 1e-11
RULES = [
    kind(epsilon, alpha, beta, half_range)
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS)
    for epsilon, alpha, beta, half_range in [(1.0, 0.5, 0.05, 1.0), (4.0, 0.9, 0.9, 2.5)]
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=repr)


def margins(rule, stream):
    """Margins at the looks, which are at every n or at n = 2, 4, 8, …."""
    times = [rule.look_time(look) for look in range(1, len(stream) + 1)]
    sums = np.abs(np.cumsum(stream))[[n - 1 for n in times if n <= len(stream)]]
    return sums - [rule.threshold(look) for look in range(1, sums.size + 1)]


def exact_logs(q, once, each):
    """Integrate by hand: between the kinks everything is a sum of exponentials in b."""
    with localcontext() as context:
        context.prec = 80
        q, once, each = [Decimal(x) for x in q], Decimal(once), Decimal(each)
        totals, kinks = [Decimal(0)] * (len(q) + 1), sorted({Decimal(0), *q})
        far = 600 * max(once, each)  # beyond which there is a share of e^(-400) at most
        for low, high in itertools.pairwise([kinks[0] - far, *kinks, kinks[-1] + far]):
            middle = (low + high) / 2
            sign = 1 if middle < 0 else -1
            term = {Decimal(sign) / once: 1 / (2 * once)}  # rate -> coefficient

            def times(term, one, rate, coefficient):
                product = {r: one * c for r, c in term.items() if one}
                for r, c in term.items():
                    product[r + rate] = product.get(r + rate, Decimal(0)) + c * coefficient
                return product

            def integral(term, low=low, high=high):
                return sum(
                    c * (((r * high).exp() - (r * low).exp()) / r if r else high - low)
                    for r, c in term.items()
                )

            for place, x in enumerate(q):
                tail, half = (x / each).exp() / 2, Decimal(1) / each
                if middle > x:  # F = tail·e^(-b/each)
                    below, rest = (0, -half, tail), (1, -half, -tail)
                else:
                    below, rest = (1, half, -1 / (4 * tail)), (0, half, 1 / (4 * tail))
                totals[place] += integral(times(term, *below))
                term = times(term, *rest)
            totals[-1] += integral(term)
        return np.array([float(total.ln()) for total in totals])


MARGINS = np.random.default_rng(0)
EXACT = [  # inverses that are exact decimals: rates that should cancel do
    (MARGINS.normal(0.0, size, 6).round(6), once, each, 1e-14)
    for size in (0.3, 3.0, 30.0, 300.0)
    for once, each in ((1.0, 1.0), (2.0, 0.5), (0.5, 4.0))
    for _ in range(3)
]
EXACT += [(MARGINS.normal(-2.0, 3.0, 40).round(6), 2.0, 1.0, 1e-14)]  # many looks
EXACT += [([sign * depth], 1.0, 1.0, 1e-14) for depth in (0.1, 700.0, 5e3) for sign in (1, -1)]
EXACT += [  # between far margins an integrand can be flat, where the panels are wide
    ([3000.0, 500.0, -200.0, 3000.5], 1.0, 1.0, 1e-13),
    ([2e4, -2e4, 1e4, 1.5e4, -3.0], 1.0, 1.0, 1e-13),
    ([9.0, 2e4, 1e4, 0.0], 2.0, 0.5, 1e-13),
    ([1.0, 2.0, -3.0], 4096.0, 1.0, 1e-13),
    ([1.0, 2.0, -3.0], 1.0, 4096.0, 1e-13),
]


def test_law_against_exact_arithmetic():
    for q, once, each, relative in EXACT:
        log_halt, log_survive, error = sparse_vector_law(q, once, each)
        exact, logs = exact_logs(q, once, each), np.append(log_halt, log_survive)
        allowed = ROUNDING + relative * np.abs(exact) + 1e-14 * np.abs(q).max()
        assert np.all(np.abs(logs - exact) <= allowed) and 0.0 < error < 1e-13
    q = MARGINS.normal(0.0, 3.0, 6)
    wrong, _, _ = sparse_vector_law(q, 1.0, 1.001)  # control
    assert np.abs(wrong - exact_logs(q, 1.0, 1.0)[:-1]).max() > 1e-4


@every_rule
def test_law_of_a_stream(rng, rule):
    stream = rng.uniform(-0.2, 1.0, 300) * rule.half_range
    law = halting_law(rule, stream)
    every = type(rule) is dpb.DPNAS
    assert law.times.tolist() == (list(range(1, 301)) if every else [2**k for k in range(1, 9)])
    assert np.exp(law.log_halt).sum() + math.exp(law.log_survive) == pytest.approx(1.0, abs=1e-12)
    mirrored = halting_law(rule, -stream)
    assert np.array_equal(mirrored.log_halt, law.log_halt)
    # what comes later changes nothing; and the last look can be had alone
    shorter = halting_law(rule, stream[:128])
    assert shorter.log_halt == pytest.approx(law.log_halt[: shorter.times.size], abs=ROUNDING)
    q, scales = margins(rule, stream), (rule.halting.threshold_scale, rule.halting.query_scale)
    alone, _, _ = sparse_vector_law(q, *scales, first=q.size)
    assert alone == pytest.approx(law.log_halt[-1:], abs=ROUNDING)
    assert law == law and law != mirrored and {law}, "laws compare as objects"


def test_streams_without_a_look_and_rules_without_noise():
    law = halting_law(dpb.DPExponentialNAS(1.0, 0.5, 0.05), [0.5])
    assert law.times.size == law.log_halt.size == 0
    assert law.log_survive == pytest.approx(0.0, abs=1e-14)
    rule = dpb.NAS(alpha=0.5, beta=0.05)
    law = halting_law(rule, np.ones(400))
    assert law.times[np.exp(law.log_halt) == 1.0].tolist() == [rule.noiseless_time(1.0)]
    assert law.log_survive == -math.inf and np.exp(law.log_halt).sum() == 1.0
    assert halting_law(rule, np.zeros(400)).log_survive == 0.0


def test_margins_may_be_many_scales_apart():
    log_halt, log_survive, _ = sparse_vector_law([1e9, -1e9], 1, 1)
    assert log_halt[0] == pytest.approx(0.0, abs=1e-9)
    # φ is −1e9 all the way from 0 to 1e9: 1e9·(1/2)·(1/2)·e^(−1e9), except for its two ends
    assert log_survive + 1e9 == pytest.approx(math.log(1e9 / 4), abs=1e-6)
    law = halting_law(dpb.DPExponentialNAS(10.0, 0.5, 0.05), np.ones(2**16))
    assert np.exp(law.log_halt).sum() == pytest.approx(1.0, abs=1e-10) and law.error < 1e-13


def stream_through(rule, sums):
    """Stream with given sums at some looks, and equal entries in between."""
    pieces, n, total = [], 0, 0.0
    for look, target in sums:
        size = rule.look_time(look) - n
        pieces.append(np.full(size, (target - total) / size))
        n, total = n + size, target
    return np.concatenate(pieces)


@pytest.mark.statistical
def test_law_against_simulation():
    """Controls: one noise left out, both halved, and B drawn at every look."""
    short, long = dpb.DPNAS(0.5, 0.99, 0.99), dpb.DPExponentialNAS(8.0, 0.99, 0.99)
    near = [(7, long.threshold(7)), (8, long.threshold(8) + long.halting.query_scale)]
    streams = np.tile([1.0, 0.5, -1.0, 0.9], 2), stream_through(long, [(6, 64), *near])

    def agrees(probabilities):
        """Whether each number of halts may come from the law."""
        intervals = [clopper_pearson(c, 4000, 1 / (2 * len(counts))) for c in counts]
        return all(
            low <= p <= high for (low, high), p in zip(intervals, probabilities, strict=True)
        )

    for seed, (rule, stream) in enumerate(zip((short, long), streams, strict=True)):
        rng, law = np.random.default_rng(seed), halting_law(rule, stream)
        outcomes = [rule.run(stream, rng) for _ in range(4000)]
        ends = [outcome.samples if outcome.halted else None for outcome in outcomes]
        counts = [ends.count(time) for time in (*law.times.tolist(), None)]
        assert agrees(np.exp(np.append(law.log_halt, law.log_survive)))
        scales = rule.halting.threshold_scale, rule.halting.query_scale
        for factors in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5)):
            changed = [f * scale for f, scale in zip(factors, scales, strict=True)]
            log_halt, log_survive, _ = sparse_vector_law(margins(rule, stream), *changed)
            law = np.exp(np.append(log_halt, log_survive))
            assert agrees(law) == (factors == (1.0, 1.0))
    alone = [sparse_vector_law([q], *scales) for q in margins(rule, stream)]
    survive = np.exp(np.cumsum([0.0, *(log_survive for _, log_survive, _ in alone)]))
    halts = survive[:-1] * np.exp([log_halt[0] for log_halt, _, _ in alone])
    assert not agrees(np.append(halts, survive[-1]))


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


def test_noise_that_is_not_drawn_for_each_look_is_convicted():
    """Two neighbours: at the ninth look one has a greater margin than before, one has not."""
    rule = dpb.DPExponentialNAS(1.0, 0.5, 0.05)
    wanted = 2.5 + rule.threshold(9) - rule.threshold(1)  # margin greater than the first by 1/2
    stream = np.append([1.0, 1.0], np.full(510, (wanted - 2.0) / 510))
    neighbour = np.append(stream[:-1], stream[-1] - 1.0)
    assert np.abs(stream).max() <= 1.0 and privacy_loss(rule, stream, neighbour).total < 1.0
    left_out = privacy_loss(broken(rule, query_scale=0.0), stream, neighbour)
    assert left_out.time == 512 and left_out.total == math.inf
    halts = []
    for values in (stream, neighbour):  # with one A for all looks: if the greatest margin passes
        x = np.maximum.accumulate(margins(rule, values)) / rule.halting.query_scale
        assert np.all(x < 0)
        halts.append(np.diff(0.5 * np.exp(x) * (1.0 - x / 2), prepend=0.0)[-1])
    assert halts[0] > 0 == halts[1]


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


@every_rule
def test_loss_keeps_to_the_theory_on_random_pairs(rng, rule):
    budget, length = rule.epsilon / 2, 24
    looks = 24 if type(rule) is dpb.DPNAS else 4
    limits = np.array([loss_limit(rule, s) for s in range(1, looks + 1)])
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
        signs = np.sign(first[touched] + second[touched])
        if np.all(first[touched] * second[touched] >= 0) and np.unique(signs).size <= 1:
            constant_sign += 1
            assert sizes.max() <= budget / 3 + 1e-9
    assert one_sided > 20 and constant_sign > 20


@every_rule
@pytest.mark.parametrize("look", [1, 2, 3, 7])
def test_crossing_pair(rule, look):
    stream, neighbour = crossing_streams(rule, look)
    assert stream.size == rule.look_time(look)
    loss = privacy_loss(rule, stream, neighbour)
    assert loss == loss and loss != privacy_loss(rule, stream, neighbour) and {loss}
    assert loss.log_ratio[look - 1] == pytest.approx(crossing_loss(rule, look), abs=1e-10)
    assert crossing_loss(rule, look) <= loss_limit(rule, look) + 1e-10
    if type(rule) is dpb.DPExponentialNAS:
        assert crossing_loss(rule, look) == pytest.approx(loss_limit(rule, look), abs=1e-10)
        assert crossing_loss(rule, look) <= crossing_loss(rule, look + 1)


@pytest.mark.parametrize(("kind", "look"), [(dpb.DPNAS, 4), (dpb.DPExponentialNAS, 2)])
def test_no_pair_of_corners_is_worse_than_the_crossing_pair(kind, look):
    """All streams of four samples −1, 0 or 1, with all changes of one of them."""
    rule, greatest = kind(1.0, 0.9, 0.5), 0.0
    for stream in itertools.product((-1.0, 0.0, 1.0), repeat=4):
        for place, end in itertools.product(range(4), (-1.0, 1.0)):
            neighbour = [*stream[:place], end, *stream[place + 1 :]]
            loss = privacy_loss(rule, stream, neighbour)
            greatest = max(greatest, abs(loss.log_ratio[-2]))
    assert crossing_loss(rule, look) - 1e-10 <= greatest <= loss_limit(rule, look) + 1e-10


@pytest.mark.parametrize(("once", "each"), [(1.0, 1.0), (3.0, 0.7)])
def test_moves_that_raise_the_loss(rng, once, each):
    """The four moves of the proofs, on looks that no stream need have."""
    d, same = 0.8, 1e-10

    def loss(*looks):
        logs = [sparse_vector_law(q, once, each, first=len(q))[0][0] for q in looks]
        return logs[0] - logs[1]

    for _ in range(40):
        first = rng.normal(-1.0, 3.0, 5)
        second = first + rng.uniform(-d, d, 5)
        before = loss(first, second)
        place, step = rng.integers(4), rng.uniform(0, 2)
        moved = step * (np.arange(5) == place)
        assert loss(first - moved, second + moved) >= before - same  # move 1
        t = rng.normal(-1.0, 3.0)
        added = [np.insert(first, place, t - d), np.insert(second, place, t)]
        after = loss(*added)
        assert after >= before - same  # move 2, adding
        moved = step * (np.arange(6) == place)
        assert loss(added[0] + moved, added[1] + moved) >= after - same  # move 2, raising
        second[-1] = first[-1] - d
        before = loss(first, second)
        shift = np.array([0.0, 0.0, 0.0, 0.0, step])
        assert loss(first - shift, second - shift) >= before - same  # move 3
        worse = [np.insert(first, place, t + d), np.insert(second, place, t)]
        assert loss(*worse) <= before + same  # move 4


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_crossing_loss_tends_to_half_the_budget(epsilon):
    rule = dpb.DPExponentialNAS(epsilon, 0.5, 0.05)
    for look in range(10, 18):
        third = sorted(2.0**k - 2.0 - rule.threshold(k) for k in range(1, look))[-3]
        if third > 0:
            w = 1 / (1 + 3 * math.expm1(min(third / rule.halting.query_scale, 700)))
            least = -math.log(math.exp(-epsilon / 2) + w * math.exp(epsilon / 6))
            assert least - 1e-9 <= crossing_loss(rule, look) <= epsilon / 2 + 1e-9
    assert least > 0.999 * epsilon / 2  # at the last of them


NAS, DOUBLING = dpb.DPNAS(1.0, 0.5, 0.05), dpb.DPExponentialNAS(1.0, 0.5, 0.05)
NO_ROW = ["a", ["a"], [[1.0], [1, 2]], [1j], [True], [[1.0]]]
RULE_FIRST = [(halting_law, [0.5]), (crossing_loss, 3), (crossing_streams, 3), (loss_limit, 3)]
RULE_FIRST += [(lambda rule, x: privacy_loss(rule, x, x), [0.5])]
LOOK_LAST = (crossing_loss, loss_limit, crossing_streams)
BAD = [  # a call, what it refuses, and what it says
    (lambda x: halting_law(NAS, [0.5, x]), [1.5], r"stream\[1\]=1.5 .*a number in \[-1, 1\]"),
    (lambda x: halting_law(NAS, [x]), ["a"], r"stream\[0\]='a'.*allowed"),
    (lambda x: halting_law(NAS, x), [None, np.array(3.0)], "stream=.* is not a stream; allowed"),
    (lambda x: privacy_loss(NAS, [0.5] * 2, x), [[0.5], [0.1] * 2, [0.5, 2]], "neighb.*allowed"),
    *(
        (lambda x, f=f, y=y: f(x, y), [dpb.EBGStop(0.5, 0.05), "x"], "rule=.*no halting condition")
        for f, y in RULE_FIRST
    ),
    (lambda x: sparse_vector_law([0.0], 1.0, x), [-1.0], "query_scale=-1.0.*allowed"),
    (lambda x: sparse_vector_law([0.0, 1.0], 1.0, 1.0, first=x), [3], "first=3 .*allowed"),
    (lambda x: sparse_vector_law(x, 1.0, 1.0), NO_ROW, "margins=.*; allowed"),
    (lambda x: sparse_vector_law([x], 1.0, 1.0), [math.nan, -1e12], "margins=.*; allowed"),
    (
        lambda x: sparse_vector_law([1.0, 2.0], *x),
        [(1e10, 1.0), (1.0, 1e10), (1e-200, 1e-200)],
        "_scale=.*out of range.*; allowed",
    ),
    (lambda x: crossing_loss(NAS, x), [0], "look=0 .*allowed"),
    *((lambda x, f=f: f(DOUBLING, x), [63, 10**7], r"look=\d+ .*range; all") for f in LOOK_LAST),
]


@pytest.mark.parametrize(("call", "values", "message"), BAD)
def test_bad_arguments(call, values, message):
    for value in values:
        with pytest.raises(ValueError, match=message):
            call(value)
