"""Counters of streams without end: noise reuse, errors, and privacy computed exactly.

As with the tree, privacy is computed and not sampled. The sums that a counter gives out are
P = C x + N z with C the matrix of prefix sums, z one Laplace variable of scale b_i per pull and N
the 0/1 matrix of which variable enters which sum. N is read off the implementation; it is
invertible, so that giving out P is giving out N^-1 C x + z, whose privacy loss is the largest of
the sums over i of |N^-1 C|_ij / b_i, attained.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from statistical import clopper_pearson, distance_to_law, may_be_at_most, one_sample_limit

from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import (
    HybridCounter,
    LogarithmicCounter,
    hybrid,
    laplace,
    laplace_sum_error,
    laplace_sum_quantile,
    laplace_sum_tail,
    logarithmic,
)
from dpbandits.mechanisms.hybrid import HYBRID_STATE, SPLITS, next_hybrid_noise

STREAMS = st.lists(st.floats(0, 1), min_size=1, max_size=140)
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 45]


def blocks(n):
    """Ends of the blocks whose variables enter the sum at n, as the construction has them.

    Those of the powers of two up to n, then the tree's: the dyadic blocks that make up what is
    left after the greatest of them.
    """
    powers = [2**j for j in range(n.bit_length())]
    end, left, ends = powers[-1], n - powers[-1], []
    while left:
        size = 2 ** (left.bit_length() - 1)
        end, left = end + size, left - size
        ends.append(end)
    return powers + ends


def noise_matrix(mechanism, module, length, monkeypatch):
    """Return which variable (column) enters which sum (row), and the variables' scales.

    The variable of the i-th draw is replaced by 2^i, so that a sum's noise spells out its draws.
    """
    scales = []

    def label(rng, scale):
        scales.append(scale)
        return 2.0 ** (len(scales) - 1)

    monkeypatch.setattr(module, "laplace", label)
    counter = mechanism.counter(None)
    rows, drawn = [], []
    for _ in range(length):
        total = int(counter.add(0.0))
        rows.append([total >> column & 1 for column in range(length)])
        drawn.append(len(scales))
        assert total == sum(bit << column for column, bit in enumerate(rows[-1]))
    return np.array(rows), np.array(scales), drawn


def privacy_loss(noise, scales):
    """Exact privacy loss of P = C x + N z, one element of x changed by 1."""
    released = np.linalg.solve(noise, np.tril(np.ones_like(noise)))
    return float((np.abs(released) / scales[:, None]).sum(axis=0).max())


# ---------------------------------------------------------------- without noise
@given(STREAMS)
def test_without_noise_the_prefix_sums_are_exact(stream):
    rng = np.random.default_rng(0)
    sums = np.cumsum(stream).tolist()
    for split in SPLITS:
        counter = HybridCounter(math.inf, split).counter(rng)
        assert [counter.add(x) for x in stream] == sums
    counter = LogarithmicCounter(math.inf).counter(rng)
    at = [2 ** (n.bit_length() - 1) for n in range(1, len(stream) + 1)]
    assert [counter.add(x) for x in stream] == [sums[n - 1] for n in at]


def test_without_noise_there_is_no_error():
    for mechanism in (HybridCounter(math.inf), LogarithmicCounter(math.inf)):
        assert mechanism.error_quantile(1e-9, 1000) == mechanism.error_probability(0.0, 1000) == 0
        assert not mechanism.guarantee.is_private


# ---------------------------------------------------------------- which noise, and how much
@pytest.mark.parametrize("split", SPLITS)
def test_which_noise_enters_which_sum(split, monkeypatch):
    length = 45
    mechanism = HybridCounter(0.5, split)
    noise, scales, drawn = noise_matrix(mechanism, hybrid, length, monkeypatch)
    assert drawn == list(range(1, length + 1)), "every element draws exactly one new variable"
    part = 0.25 if split == "half" else 0.5
    for n in range(1, length + 1):
        assert np.flatnonzero(noise[n - 1]).tolist() == [end - 1 for end in blocks(n)]
        levels = n.bit_length() - 1
        assert scales[n - 1] == (1 / part if n == 2**levels else levels / part)
        counts, of_scale = mechanism.noise_terms(n)
        drawn_scales = sorted(scales[end - 1] for end in blocks(n))
        assert drawn_scales == sorted(np.repeat(of_scale, counts))


def test_the_logarithmic_counter_draws_one_variable_per_block(monkeypatch):
    length = 45
    mechanism = LogarithmicCounter(0.5)
    noise, scales, drawn = noise_matrix(mechanism, logarithmic, length, monkeypatch)
    assert drawn == [n.bit_length() for n in range(1, length + 1)]
    assert set(scales) == {2.0}
    for n in range(1, length + 1):
        assert noise[n - 1].sum() == n.bit_length() == mechanism.noise_terms(n)[0][0]
        assert np.all(noise[n - 1, : n.bit_length()] == 1)


@pytest.mark.parametrize("split", SPLITS)
def test_kernel_and_counter_draw_the_same_noise(split):
    mechanism, length = HybridCounter(0.7, split), 300
    counter, here = mechanism.counter(np.random.default_rng(3)), np.random.default_rng(3)
    twin, state = np.random.default_rng(3), np.zeros((2, HYBRID_STATE))
    for n in range(1, length + 1):
        unit = mechanism.node_scale(1)
        noise = next_hybrid_noise(here, mechanism.block_scale, unit, state, 1, n)
        assert counter.add(0.25) == pytest.approx(0.25 * n + noise, rel=1e-11, abs=1e-9)
        laplace(twin, 1.0)
        assert here.bit_generator.state == twin.bit_generator.state, "one variable, no more"
    assert not state[0].any(), "another arm's counter is left alone"


def test_noise_stays_until_its_block_is_no_part_of_the_sum(rng):
    """At n without its lowest set bit the noise is that at n but for one variable."""
    noises = [0.0]
    counter = HybridCounter(1.0).counter(rng)
    twin = np.random.default_rng(0)
    for n in range(1, 200):
        noises.append(counter.add(0.0))
        fresh = laplace(twin, 2.0 * max(n.bit_length() - 1, 1) if n & (n - 1) else 2.0)
        before = n & (n - 1) or n // 2
        assert noises[n] == pytest.approx(noises[before] + fresh, rel=1e-11, abs=1e-9)


# ---------------------------------------------------------------- privacy
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("length", LENGTHS)
def test_what_the_hybrid_counter_is_worth(length, epsilon, monkeypatch):
    half, full = HybridCounter(epsilon), HybridCounter(epsilon, "full")
    noise, scales, _ = noise_matrix(half, hybrid, length, monkeypatch)
    # elements 1 and 2 end blocks and are in no tree; element 3 is in one, and in a block by n = 4
    exact = epsilon / 2 if length < 4 else epsilon
    assert privacy_loss(noise, scales) == pytest.approx(exact, rel=1e-12)
    assert half.guarantee == PrivacyGuarantee("global", epsilon)
    noise, scales, _ = noise_matrix(full, hybrid, length, monkeypatch)
    assert privacy_loss(noise, scales) == pytest.approx(2 * exact, rel=1e-12)
    assert full.guarantee == PrivacyGuarantee("global", 2 * epsilon)
    # Broken twin: nodes whose noise does not grow with the levels of their tree.
    if length > 8:
        assert privacy_loss(noise, np.full(length, 1 / epsilon)) > 2.5 * epsilon


@pytest.mark.parametrize("length", LENGTHS)
def test_what_the_logarithmic_counter_is_worth(length, monkeypatch):
    mechanism = LogarithmicCounter(0.4)
    powers = length.bit_length()
    noise, scales, _ = noise_matrix(mechanism, logarithmic, length, monkeypatch)
    at_powers = noise[[2**k - 1 for k in range(powers)], :powers]
    prefix = np.tril(np.ones((length, length)))[[2**k - 1 for k in range(powers)]]

    def loss(noise):
        return (np.abs(np.linalg.solve(noise, prefix)) / scales[:, None]).sum(axis=0).max()

    assert loss(at_powers) == pytest.approx(0.4, rel=1e-12)
    assert mechanism.guarantee == PrivacyGuarantee("global", 0.4)
    # Broken twin: new noise for the whole stream at each power of two.
    assert loss(np.eye(powers)) == pytest.approx(0.4 * powers, rel=1e-12)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("stream", [(0, 1, 1, 0), (1, 0, 0, 1, 1, 0, 0), (0, 1, 0, 0, 1)])
def test_log_likelihood_ratio_of_neighbours(stream, split, monkeypatch, rng):
    """The same by evaluating densities of what is given out at many outputs."""
    length, mechanism = len(stream), HybridCounter(0.7, split)
    noise, scales, _ = noise_matrix(mechanism, hybrid, length, monkeypatch)
    to_blocks = np.linalg.solve(noise, np.tril(np.ones((length, length))))
    worst = 0.0
    for place in range(length):
        neighbour = np.array(stream, float)
        neighbour[place] = 1 - neighbour[place]
        here, there = to_blocks @ stream, to_blocks @ neighbour
        outputs = here + rng.laplace(0, scales, (200, length))
        outputs = np.vstack([outputs, np.minimum(here, there) - 1, np.maximum(here, there) + 1])
        law = stats.laplace(scale=scales)
        ratios = (law.logpdf(outputs - here) - law.logpdf(outputs - there)).sum(axis=1)
        worst = max(worst, np.abs(ratios).max())
    budget = mechanism.guarantee.epsilon
    assert budget * 0.99 < worst <= budget * (1 + 1e-12)


def test_an_event_of_the_full_split_that_more_than_epsilon_tells_apart():
    """Probabilities by integration: both sums that show element 3 are low.

    At n = 3 and 4 the sums are x3 + A + B and x3 + A + D, with A the noise up to n = 2 and B, D a
    node's and a block's variable, all of scale 1/ε. With A fixed, below −c the two ratios are
    e^(-ε) each: A ≥ 0, say, as what was given out at n = 2 can tell.
    """
    epsilon, c = 1.0, 6.0
    law = stats.laplace(scale=1 / epsilon)

    def probability(x3):
        def both(a):
            density = laplace_sum_density_of_two(a, 1 / epsilon)
            return density * law.cdf(-c - x3 - a) ** 2

        return integrate.quad(both, 0, 60, epsabs=0, epsrel=1e-10)[0]

    loss = math.log(probability(0.0) / probability(1.0))
    assert loss == pytest.approx(2 * epsilon, rel=1e-9)


def laplace_sum_density_of_two(x, scale):
    return (1 + abs(x) / scale) * math.exp(-abs(x) / scale) / (4 * scale)


# ---------------------------------------------------------------- the law of the noise
LAWS = [
    ((1,), (2.0,)),
    ((3,), (0.5,)),
    ((4, 2), (1.0, 3.0)),
    ((17, 16), (2.0, 32.0)),
    ((2, 3), (1.0, 1.0)),
    ((5, 0), (1.0, 4.0)),
]


def contour_tail(x, counts, scales):
    """P(Y > x) from the transform, along a line through its saddle point: another method."""

    def log_transform(z):
        return -sum(m * np.log(1 - (z * b) ** 2) for m, b in zip(counts, scales, strict=True))

    line = np.linspace(1e-4, 1 - 1e-4, 9999) / max(scales)
    real = line[np.argmin(log_transform(line) - line * x - np.log(line))]
    heights = np.linspace(-1000, 1000, 1_000_001) / max(scales)
    z = real + 1j * heights
    values = np.exp(log_transform(z) - z * x) / z
    return float(np.trapezoid(values.real, heights)) / (2 * math.pi)


@pytest.mark.parametrize("deviations", [0.0, 0.3, 2.0, 9.0])
@pytest.mark.parametrize(("counts", "scales"), [LAWS[1], *LAWS[2:4]])
def test_tail_by_two_methods(counts, scales, deviations):
    deviation = math.sqrt(2 * sum(m * b * b for m, b in zip(counts, scales, strict=True)))
    x = deviations * deviation
    tail = laplace_sum_tail(x, counts, scales)
    assert tail == pytest.approx(contour_tail(x, counts, scales), rel=1e-9)
    assert laplace_sum_tail(-x, counts, scales) == pytest.approx(1 - tail, rel=1e-12)
    assert laplace_sum_error(x, counts, scales) == pytest.approx(2 * tail, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize(("counts", "scales"), LAWS)
def test_tail_against_simulation(rng, counts, scales):
    size = 20_000
    sample = sum(
        rng.laplace(0, b, (size, m)).sum(axis=1) for m, b in zip(counts, scales, strict=True)
    )
    grid = np.quantile(sample, np.linspace(0, 1, 101))
    exact = np.array([1 - laplace_sum_tail(x, counts, scales) for x in grid])

    class Law:
        cdf = staticmethod(lambda x: np.interp(x, grid, exact))

    # between points of the grid the law rises by about 1/100: interpolation is off by less
    limit = one_sample_limit(size) + np.diff(exact).max()
    assert np.diff(exact).max() < 0.02
    assert distance_to_law(sample, Law) < limit
    assert distance_to_law(1.2 * sample, Law) > limit, "control"


@given(
    st.sampled_from(LAWS),
    st.floats(1e-60, 0.999),
)
def test_quantile_inverts_the_error(law, beta):
    x = laplace_sum_quantile(beta, *law)
    assert laplace_sum_error(x, *law) <= beta
    assert laplace_sum_error(x, *law) == pytest.approx(beta, rel=1e-5)


@pytest.mark.parametrize(
    ("counts", "scales", "message"),
    [
        ((1, 1, 1), (1.0, 2.0, 3.0), "scales="),
        ((1,), (1.0, 2.0), "counts="),
        ((-1,), (1.0,), "counts="),
        ((1,), (-1.0,), "scales="),
        ((1,), (math.inf,), "scales="),
    ],
)
def test_what_is_no_sum_is_refused(counts, scales, message):
    with pytest.raises(ValueError, match=message):
        laplace_sum_tail(1.0, counts, scales)


# ---------------------------------------------------------------- errors
@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [HybridCounter(0.5), LogarithmicCounter(0.5)], ids=repr)
@pytest.mark.parametrize("length", [1, 3, 4, 23])
def test_error_quantile_is_exceeded_as_often_as_beta(mechanism, length):
    size, beta = 4000, 0.2
    rng = np.random.default_rng([7, length])
    errors = []
    for _ in range(size):
        counter = mechanism.counter(rng)
        for _ in range(length):
            noisy = counter.add(1.0)
        exact = length if isinstance(mechanism, HybridCounter) else 2 ** (length.bit_length() - 1)
        errors.append(abs(noisy - exact))
    quantile = mechanism.error_quantile(beta, length)
    assert mechanism.error_probability(quantile, length) == pytest.approx(beta, rel=1e-6)
    beyond = int((np.array(errors) > quantile).sum())
    low, high = clopper_pearson(beyond, size)
    assert low <= beta <= high
    # Control: a quantile a fifth too small.
    assert not may_be_at_most(int((np.array(errors) > 0.8 * quantile).sum()), size, beta)


@given(st.integers(1, 2**40), st.floats(1e-30, 0.9))
def test_errors_of_the_splits(length, beta):
    """Half of the budget is twice the noise, and scale times budget does not change."""
    half, full = HybridCounter(1.0), HybridCounter(1.0, "full")
    wide = half.error_quantile(beta, length)
    assert wide == pytest.approx(2 * full.error_quantile(beta, length), rel=1e-7)
    assert HybridCounter(0.5, "full").error_quantile(beta, length) == wide


# ---------------------------------------------------------------- input
@pytest.mark.parametrize("mechanism", [HybridCounter(1.0), LogarithmicCounter(1.0)], ids=repr)
@pytest.mark.parametrize("x", [-0.1, 1.1, math.nan, math.inf])
def test_a_counter_refuses_elements_outside_its_range(mechanism, x, rng):
    counter = mechanism.counter(rng)
    with pytest.raises(ValueError, match=r"x=.* allowed: \[0, 1\]"):
        counter.add(x)
    twin = np.random.default_rng(0)
    scale = mechanism.block_scale
    assert counter.add(1.0) == pytest.approx(1 + laplace(twin, scale)), "it is not counted"


@pytest.mark.parametrize("make", [HybridCounter, LogarithmicCounter])
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, "1", None, True])
def test_a_budget_has_to_be_positive(make, epsilon):
    with pytest.raises(ValueError, match=r"epsilon=.* allowed: a positive"):
        make(epsilon)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match=r"split='third' .* allowed: 'half', 'full'"):
        HybridCounter(1.0, "third")
    for mechanism in (HybridCounter(1.0), LogarithmicCounter(1.0)):
        with pytest.raises(ValueError, match="length=0"):
            mechanism.error_quantile(0.1, 0)
        with pytest.raises(ValueError, match="beta=1"):
            mechanism.error_quantile(1, 10)
        with pytest.raises(ValueError, match="length=2.5"):
            mechanism.error_probability(1.0, 2.5)
