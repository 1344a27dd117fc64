"""The law of the halting time against exact arithmetic, quadrature and simulation."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from statistical import clopper_pearson

import dpbandits as dpb
from dpbandits.stopping import halting_law, sparse_vector_law

ROUNDING = 1e-11
RULES = [
    kind(epsilon, alpha, beta, half_range)
    for kind in (dpb.DPNAS, dpb.DPExponentialNAS)
    for epsilon, alpha, beta, half_range in [(1.0, 0.5, 0.05, 1.0), (4.0, 0.9, 0.9, 2.5)]
]


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
        kinks = sorted({Decimal(0), *q})
        pieces = itertools.pairwise([None, *kinks, None])
        totals = [Decimal(0)] * (len(q) + 1)
        for low, high in pieces:
            middle = low + 1 if high is None else high - 1 if low is None else (low + high) / 2
            sign = 1 if middle < 0 else -1
            term = {Decimal(sign) / once: 1 / (2 * once)}  # rate -> coefficient

            def times(term, one, rate, coefficient):
                product = {r: one * c for r, c in term.items() if one}
                for r, c in term.items():
                    product[r + rate] = product.get(r + rate, Decimal(0)) + c * coefficient
                return product

            def integral(term, low=low, high=high):
                total = Decimal(0)
                for rate, coefficient in term.items():
                    if rate == 0:
                        total += coefficient * (high - low)
                        continue
                    if high is not None:
                        total += coefficient * (rate * high).exp() / rate
                    if low is not None:
                        total -= coefficient * (rate * low).exp() / rate
                return total

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


def check_against_exact_arithmetic(q, once, each, relative):
    log_halt, log_survive, error = sparse_vector_law(q, once, each)
    exact, logs = exact_logs(q, once, each), np.append(log_halt, log_survive)
    allowed = ROUNDING + relative * np.abs(exact) + 1e-14 * np.abs(q).max()
    assert np.all(np.abs(logs - exact) <= allowed) and 0.0 < error < 1e-13


# inverses that are exact decimals: rates that should cancel do
@pytest.mark.parametrize(("once", "each"), [(1.0, 1.0), (2.0, 0.5), (0.5, 4.0)])
@pytest.mark.parametrize("size", [0.3, 3.0, 30.0, 300.0])
def test_law_against_exact_arithmetic(rng, once, each, size):
    for _ in range(3):
        check_against_exact_arithmetic(rng.normal(0.0, size, 6).round(6), once, each, 1e-14)


@pytest.mark.parametrize(
    ("q", "once", "each"),
    [
        ([3000.0, 500.0, -200.0, 3000.5], 1.0, 1.0),
        ([2e4, -2e4, 1e4, 1.5e4, -3.0], 1.0, 1.0),
        ([9.0, 2e4, 1e4, 0.0], 2.0, 0.5),
        ([1.0, 2.0, -3.0], 4096.0, 1.0),
        ([1.0, 2.0, -3.0], 1.0, 4096.0),
    ],
)
def test_wide_laws_against_exact_arithmetic(q, once, each):
    """Between far margins an integrand can be flat, where the panels are wide."""
    check_against_exact_arithmetic(q, once, each, 1e-13)


def test_exact_arithmetic_convicts_another_scale(rng):
    q = rng.normal(0.0, 3.0, 6)
    wrong, _, _ = sparse_vector_law(q, 1.0, 1.001)
    assert np.abs(wrong - exact_logs(q, 1.0, 1.0)[:-1]).max() > 1e-4


@pytest.mark.parametrize("depth", [0.1, 20.0, 700.0, 5000.0])
def test_one_look_is_the_sum_of_two_laplace_variables(depth):
    log_halt, log_survive, _ = sparse_vector_law([-depth], 1.0, 1.0)
    tail = -depth + math.log(0.5 * (1.0 + depth / 2))
    assert log_halt[0] == pytest.approx(tail, rel=1e-14)
    mirrored = sparse_vector_law([depth], 1.0, 1.0)
    assert mirrored[1] == pytest.approx(tail, rel=1e-14)
    assert mirrored[0][0] == pytest.approx(log_survive, rel=1e-12, abs=1e-14)


def test_law_of_many_looks_against_exact_arithmetic(rng):
    check_against_exact_arithmetic(rng.normal(-2.0, 3.0, 40).round(6), 2.0, 1.0, 1e-14)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_law_of_a_stream(rng, rule):
    stream = rng.uniform(-0.2, 1.0, 300) * rule.half_range
    law = halting_law(rule, stream)
    every = type(rule) is dpb.DPNAS
    assert law.times.tolist() == (list(range(1, 301)) if every else [2**k for k in range(1, 9)])
    assert np.exp(law.log_halt).sum() + math.exp(law.log_survive) == pytest.approx(1.0, abs=1e-12)
    assert law.error < 1e-13
    mirrored = halting_law(rule, -stream)
    assert np.array_equal(mirrored.log_halt, law.log_halt)
    # what comes later changes nothing; and the last look can be had alone
    shorter = halting_law(rule, stream[:128])
    assert shorter.log_halt == pytest.approx(law.log_halt[: shorter.times.size], abs=ROUNDING)
    q, scales = margins(rule, stream), (rule.halting.threshold_scale, rule.halting.query_scale)
    alone, _, _ = sparse_vector_law(q, *scales, first=q.size)
    assert alone == pytest.approx(law.log_halt[-1:], abs=ROUNDING)
    assert law == law and law != mirrored and {law}, "laws compare as objects"


def test_streams_without_a_look():
    law = halting_law(dpb.DPExponentialNAS(1.0, 0.5, 0.05), [0.5])
    assert law.times.size == law.log_halt.size == 0
    assert law.log_survive == pytest.approx(0.0, abs=1e-14)


def test_law_without_noise_is_a_point():
    rule = dpb.NAS(alpha=0.5, beta=0.05)
    law = halting_law(rule, np.ones(400))
    assert law.times[np.exp(law.log_halt) == 1.0].tolist() == [rule.noiseless_time(1.0)]
    assert law.log_survive == -math.inf and np.exp(law.log_halt).sum() == 1.0
    assert halting_law(rule, np.zeros(400)).log_survive == 0.0


def stream_through(rule, sums):
    """Stream with given sums at some looks, and equal entries in between."""
    pieces, n, total = [], 0, 0.0
    for look, target in sums:
        size = rule.look_time(look) - n
        pieces.append(np.full(size, (target - total) / size))
        n, total = n + size, target
    return np.concatenate(pieces)


@pytest.fixture(scope="module")
def simulated():
    """Rules, streams, and the number of halts of `rule.run` at each look and of runs without."""
    short = dpb.DPNAS(0.5, 0.99, 0.99)
    long = dpb.DPExponentialNAS(8.0, 0.99, 0.99)
    near = [(7, long.threshold(7)), (8, long.threshold(8) + long.halting.query_scale)]
    cases = []
    for seed, (rule, stream) in enumerate(
        [(short, np.tile([1.0, 0.5, -1.0, 0.9], 2)), (long, stream_through(long, [(6, 64), *near]))]
    ):
        rng, times = np.random.default_rng(seed), halting_law(rule, stream).times.tolist()
        count = dict.fromkeys([*times, None], 0)
        for _ in range(4000):
            outcome = rule.run(stream, rng)
            count[outcome.samples if outcome.halted else None] += 1
        cases.append((rule, stream, list(count.values())))
    return cases


def agrees(counts, probabilities, cases):
    """Whether each number of halts may come from the law."""
    intervals = [clopper_pearson(c, sum(counts), 1 / (cases * len(counts))) for c in counts]
    return all(low <= p <= high for (low, high), p in zip(intervals, probabilities, strict=True))


@pytest.mark.statistical
def test_law_against_simulation(simulated):
    """Controls: one noise left out, both halved, and B drawn at every look."""
    for rule, stream, counts in simulated:
        scales = rule.halting.threshold_scale, rule.halting.query_scale
        for factors in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5)):
            changed = [f * scale for f, scale in zip(factors, scales, strict=True)]
            log_halt, log_survive, _ = sparse_vector_law(margins(rule, stream), *changed)
            law = np.exp(np.append(log_halt, log_survive))
            assert agrees(counts, law, len(simulated)) == (factors == (1.0, 1.0))
        law = halting_law(rule, stream)
        law = np.exp(np.append(law.log_halt, law.log_survive))
        assert agrees(counts, law, len(simulated))
    alone = [sparse_vector_law([q], *scales) for q in margins(rule, stream)]
    survive = np.exp(np.cumsum([0.0, *(log_survive for _, log_survive, _ in alone)]))
    halts = survive[:-1] * np.exp([log_halt[0] for log_halt, _, _ in alone])
    assert not agrees(counts, np.append(halts, survive[-1]), len(simulated))


NAS = dpb.DPNAS(1.0, 0.5, 0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: halting_law(NAS, [0.5, 1.5]), r"stream\[1\]=1.5 .*a number in \[-1, 1\]"),
        (lambda: halting_law(NAS, ["a"]), r"stream\[0\]='a'.*allowed"),
        *(
            (lambda stream=stream: halting_law(NAS, stream), "stream=.* iterated over; allowed")
            for stream in (None, 5, np.array(3.0))
        ),
        *(
            (lambda rule=rule: halting_law(rule, [0.5]), "rule=.*no halting condition; allowed: o")
            for rule in (dpb.EBGStop(0.5, 0.05), "x", None)
        ),
        (lambda: sparse_vector_law([0.0], 1.0, -1.0), "query_scale=-1.0.*allowed"),
        (lambda: sparse_vector_law([0.0, 1.0], 1.0, 1.0, first=3), "first=3 .*allowed"),
        *(
            (lambda q=q: sparse_vector_law(q, 1.0, 1.0), "margins=.*; allowed")
            for q in (["a"], "a", [[1.0], [1.0, 2.0]], [1j], [True], [[1.0]], [math.nan])
        ),
        *(
            (lambda q=q: sparse_vector_law(q, 1.0, 1.0), "margins=.*; allowed")
            for q in ([1e300], [1e12, -1e12], [math.inf])
        ),
        *(
            (lambda s=s: sparse_vector_law([1.0, 2.0], *s), "_scale=.*out of range.*; allowed")
            for s in ((1e10, 1.0), (1.0, 1e10), (1e-200, 1e-200))
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_margins_may_be_many_scales_apart():
    log_halt, log_survive, _ = sparse_vector_law([1e9, -1e9], 1, 1)
    assert log_halt[0] == pytest.approx(0.0, abs=1e-9)
    # φ is −1e9 all the way from 0 to 1e9: 1e9·(1/2)·(1/2)·e^(−1e9), except for its two ends
    assert log_survive + 1e9 == pytest.approx(math.log(1e9 / 4), abs=1e-6)
    law = halting_law(dpb.DPExponentialNAS(10.0, 0.5, 0.05), np.ones(2**16))
    assert np.exp(law.log_halt).sum() == pytest.approx(1.0, abs=1e-10) and law.error < 1e-13
