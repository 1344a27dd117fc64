"""Whole-number noise: its law, where its bits come from, and the counters and sums that have it."""

import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from scipy import signal, stats
from statistical import one_sample_limit
from test_counters import dyadic, hybrid_blocks, privacy_loss
from test_validation import refusal

import dpbandits as dpb
from dpbandits.identification.dp_se import DiscreteDPSEIdentifier
from dpbandits.mechanisms import (
    AdaptiveTree,
    BinaryTree,
    DiscreteCounter,
    DiscreteLaplace,
    HybridCounter,
    LogarithmicCounter,
    discrete,
)
from dpbandits.regret.elimination import DiscreteDPSE
from dpbandits.rewards.run import Run
from dpbandits.rewards.sources import FixedRewards


def never_refused(rate, bits):
    """The sampler without its first refusal: the remainder is uniform, and should not be."""
    s, t = rate.numerator, rate.denominator
    rest, turns = bits.below(t), 0
    while bits.happens(1, 1):
        turns += 1
    size = (rest + t * turns) // s
    negative = bits.below(2) == 1
    return never_refused(rate, bits) if negative and not size else -size if negative else size


def zero_twice(rate, bits):
    """The sampler without its last refusal: zero with either sign."""
    z = discrete._discrete_laplace(rate, bits)
    return 0 if z < 0 and bits.happens(rate.numerator, rate.denominator) else z


def distance_to_whole(draws, noise):
    """Kolmogorov distance of whole numbers from the law of a noise."""
    high = max(abs(draws).max(), 1)
    law = np.cumsum([noise.probability(k) for k in range(-high - 1, high + 1)])
    law += 1 - law[-1] - noise.probability(high)  # what lies below
    sample = np.searchsorted(np.sort(draws), np.arange(-high - 1, high + 1), side="right")
    return float(np.abs(sample / draws.size - law).max())


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.5, 1), (1.5, 7), (1 / 256, 1)])
def test_the_law(epsilon, sensitivity):
    noise, size = DiscreteLaplace(epsilon, sensitivity), 10_000
    bits = discrete._Bits(np.random.default_rng(5))
    rate, limit = Fraction(epsilon) / sensitivity, one_sample_limit(size)

    def sampled(draw):
        return distance_to_whole(np.array([draw(rate, bits) for _ in range(size)]), noise)

    assert sampled(discrete._discrete_laplace) < limit
    assert sampled(never_refused) > limit, "a control"
    if rate > Fraction(1, 100):
        assert sampled(zero_twice) > limit, "a control"


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 5), (1, 7), (2, 3), (1, 1)])
def test_an_event_of_probability_exp(numerator, denominator):
    """Both outcomes of each comparison are tried, and their probabilities multiplied."""
    bounds = {True: Fraction(0), False: Fraction(0)}
    for comparisons in range(1, 18):
        weight = Fraction(1)
        script = []
        for k in range(1, comparisons + 1):
            chance = Fraction(numerator, k * denominator)
            weight *= chance if k < comparisons else 1 - chance
            script.append(0 if k < comparisons else k * denominator - 1)
        if weight == 0:
            continue

        class Scripted(discrete._Bits):
            def below(self, n):
                answer = script.pop(0)  # noqa: B023
                assert 0 <= answer < n
                return answer

        bounds[Scripted(None).happens(numerator, denominator)] += weight
        assert not script, "as many comparisons as the script has"
    truth = math.exp(-numerator / denominator)
    assert math.isclose(bounds[True], truth, rel_tol=1e-12)
    assert math.isclose(bounds[False], 1 - truth, rel_tol=1e-12, abs_tol=1e-15)


def test_no_float_is_passed_through():
    """Numbers beyond 2^53 are odd as often as even; floats so large are all even."""
    noise, rng = DiscreteLaplace(2.0**-60), np.random.default_rng(1)
    large = [z for z in (noise.draw(rng) for _ in range(400)) if abs(z) > 2**54]
    assert len(large) > 100
    assert len({z % 4 for z in large}) == 4, "false alarm: 4·(3/4)^100 < 1e-11"
    assert all(int(z) % 4 == 0 for z in rng.laplace(0, 2.0**60, 400) if abs(z) > 2**55)


def test_bits_come_from_the_system_unless_a_generator_is_given(monkeypatch):
    asked = []
    real = secrets.randbits
    monkeypatch.setattr(secrets, "randbits", lambda n: asked.append(n) or real(n))
    noise = DiscreteLaplace(0.1)
    first, second = (
        [noise.draw(rng) for _ in range(20)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert first == second and not asked
    assert [noise.draw() for _ in range(20)] != [noise.draw() for _ in range(20)] and asked
    assert DiscreteLaplace(math.inf).draw() == 0


def test_bounds_on_the_tail():
    """P(|Z| > x) <= e^(-ε(x - 1/2)), and moments no greater than Laplace's: checked at points."""
    for epsilon in (0.1, 1.0, 5.0):
        noise = DiscreteLaplace(epsilon)
        mass = np.array([noise.probability(k) for k in range(2000)])
        for x in (0.0, 0.5, 0.999, 3.2, 10.0):
            tail = 2 * mass[math.floor(x) + 1 :].sum()
            assert tail <= math.exp(-epsilon * (x - 0.5)) * (1 + 1e-12)
        for t in (0.1, 0.5, 0.9):
            sizes = epsilon * np.arange(2000)  # E exp(tεZ), of both signs
            moment = mass[0] * (np.exp((t - 1) * sizes) + np.exp(-(t + 1) * sizes)).sum() - mass[0]
            assert 1 < moment <= 1 / (1 - t * t)
        assert math.isclose(mass[0] + 2 * mass[1:].sum(), 1)


# ------------------------------------------------------------------------------------- counters


def blocks_of(mechanism, n):
    if isinstance(mechanism, BinaryTree):
        return dyadic(0, n)
    if isinstance(mechanism, HybridCounter):
        return hybrid_blocks(n)
    return [2**j for j in range(n.bit_length())]


COUNTERS = [
    *(BinaryTree(1.0, 13), LogarithmicCounter(0.3)),
    *(HybridCounter(1.0), HybridCounter(0.7, "full")),
]


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("mechanism", COUNTERS, ids=repr)
def test_all_sums_together_are_private(mechanism, steps, monkeypatch):
    """The blocks in each sum and the law of each block's noise, read off a run: exact loss."""
    laws = []

    def label(noise, rng=None):
        laws.append(noise)
        return steps << (len(laws) - 1)

    monkeypatch.setattr(DiscreteLaplace, "draw", label)
    length = 13
    counter = DiscreteCounter(mechanism, steps).counter()
    noise = np.zeros((length, length))
    ends = {}
    for n in range(1, length + 1):
        before = len(laws)
        total = int(counter.add(0.0))
        if len(laws) > before:
            ends[n] = before
            assert total == sum(1 << ends[end] for end in blocks_of(mechanism, n))
        noise[n - 1, : len(laws)] = [total >> i & 1 for i in range(len(laws))]
    shown = sorted(ends)  # lengths at which something new is released
    noise = noise[np.array(shown) - 1, : len(laws)]
    scales = np.array([law.sensitivity / law.epsilon for law in laws]) / steps
    prefix = np.array([[1.0 if i < n else 0.0 for i in range(length)] for n in shown])
    released = np.linalg.solve(noise, prefix)
    loss = (np.abs(released) / scales[:, None]).sum(axis=0).max()
    declared = DiscreteCounter(mechanism, steps).guarantee.epsilon
    assert loss <= declared * (1 + 1e-12)
    assert loss >= 0.99 * declared, "no budget is left over on 13 elements"
    if steps == 1 and len(shown) == length:
        assert math.isclose(loss, privacy_loss(noise, scales))


def test_elements_are_rounded_to_the_grid():
    counter = DiscreteCounter(BinaryTree(math.inf, 4), steps=10).counter()
    assert [counter.add(x) for x in (0.24, 0.26, 1.0, 0.0)] == [0.2, 0.5, 1.5, 1.5]
    counter = DiscreteCounter(HybridCounter(1.0)).counter(np.random.default_rng(0))
    released = [counter.add(x) for x in np.random.default_rng(1).random(40).tolist()]
    assert all(x.is_integer() for x in released) and len(set(released)) > 5
    with pytest.raises(ValueError):
        counter.add(1.5)
    other = AdaptiveTree(1.0, 4)
    refusal("mechanism", other, lambda: DiscreteCounter(other))


# ------------------------------------------------------------------------------ sums of epochs


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("kind", [DiscreteDPSE, DiscreteDPSEIdentifier])
def test_each_sum_of_an_epoch_has_noise_of_the_whole_budget(kind, secure, monkeypatch):
    """What is left is decided by sums with this noise: noise given by hand turns the decision."""
    seen = []
    given = [0, 0]

    def draw(noise, rng=None):
        seen.append((noise.epsilon, noise.sensitivity, rng is None))
        return given[len(seen) % 2 - 1]

    monkeypatch.setattr(DiscreteLaplace, "draw", draw)
    algorithm = kind(0.5, 0.1, secure)
    plan = dpb.schedules.elimination_epoch(2, 1, 0.1, 0.5)
    rewards = FixedRewards(np.tile([[1.0], [0.0]], (1, plan.pulls)))
    edge = math.floor(plan.pulls * plan.threshold + 1)
    for lead, left in ((edge, [0, 1]), (edge + 1, [0])):
        rewards.restart()
        given[:] = [lead - plan.pulls, 0]
        run = Run(rewards, np.array([2 * plan.pulls]))
        found = algorithm._left(run, np.arange(2), plan, np.random.default_rng(0))
        assert found.tolist() == left
    assert seen == [(0.5, 1, secure)] * 4


def test_graded_rewards_are_rounded_and_runs_repeat():
    instance = dpb.instances.bounded([dpb.laws.beta(8.0, 2.0), dpb.laws.beta(2.0, 8.0)])
    runs = [dpb.simulate(DiscreteDPSE(2.0, 0.1), instance, 5000, 5, seed=1) for _ in range(2)]
    assert runs[0].how == "reference" and np.array_equal(runs[0].regret, runs[1].regret)
    secure = dpb.simulate(DiscreteDPSE(2.0, 0.1, secure=True), instance, 5000, 5, seed=1)
    assert (secure.pulls[:, 0] > secure.pulls[:, 1]).all()


def shared(size, q, far=400):
    """Probabilities of the difference of two Pólya variables at 0, 1, …"""
    polya = stats.nbinom(size, 1 - q).pmf(np.arange(far))
    return signal.correlate(polya, polya, method="direct")[far - 1 :]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_noise_that_patients_add_is_discrete_laplace(epsilon):
    """`prop-distributed`: shares of size 1/r make up the law; those of a part h do not."""
    q, noise, r = math.exp(-epsilon), DiscreteLaplace(epsilon), 5
    law = [noise.probability(k) for k in range(40)]
    share = shared(1 / r, q)
    one = np.concatenate([share[:0:-1], share])
    together = one
    for _ in range(r - 1):
        together = signal.fftconvolve(together, one)
    together = together[together.size // 2 :][:40]
    np.testing.assert_allclose(together, law, atol=1e-14)
    for h in (0.2, 0.5, 0.9):
        part = shared(h, q)[:40]
        ratios = part[:-1] / part[1:]
        assert ratios.max() <= math.exp(epsilon) / h
        assert ratios[0] > math.exp(epsilon) * (1 + 1e-3)
