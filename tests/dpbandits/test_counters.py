"""Private counters: noise reuse, errors, and privacy computed exactly.

Privacy is computed, not sampled. The sums that a counter gives out are P = C x + N z with C the
matrix of prefix sums, z one Laplace variable of scale b_i per draw and N the 0/1 matrix of which
variable enters which sum. N is read off the implementation. Where it is invertible, giving out P is
giving out N^-1 C x + z, whose privacy loss is the largest of the sums over i of |N^-1 C|_ij / b_i,
attained.
"""

import collections
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistical import clopper_pearson, may_be_at_most
from test_validation import refusal

from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.mechanisms import (
    AdaptiveTree,
    BinaryTree,
    HybridCounter,
    KaryTree,
    LogarithmicCounter,
    best_arity,
    counters,
    laplace,
)
from dpbandits.mechanisms.counters import (
    HYBRID_STATE,
    KARY_STATE,
    SPLITS,
    next_hybrid_noise,
    next_kary_noise,
)
from dpbandits.mechanisms.first_passage import TREE_LEVELS, next_prefix_noise

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 45]


def dyadic(start, n):
    """Ends of the dyadic blocks that make up start + 1..n, greatest first."""
    end, left, ends = start, n - start, []
    while left:
        size = 2 ** (left.bit_length() - 1)
        end, left = end + size, left - size
        ends.append(end)
    return ends


def hybrid_blocks(n):
    """Those of the powers of two up to n, then the dyadic blocks of what is left."""
    powers = [2**j for j in range(n.bit_length())]
    return powers + dyadic(powers[-1], n)


def noise_matrix(mechanism, length, monkeypatch):
    """Return which variable (column) enters which sum (row), their scales, and draws so far.

    The variable of the i-th draw is replaced by 2^i, so that a sum's noise spells out its draws.
    """
    scales = []

    def label(rng, scale):
        scales.append(scale)
        return 2.0 ** (len(scales) - 1)

    monkeypatch.setattr(counters, "_laplace", label)
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
@given(st.lists(st.floats(0, 1), min_size=1, max_size=140))
def test_without_noise_the_prefix_sums_are_exact(stream):
    sums = np.cumsum(stream).tolist()
    tree = AdaptiveTree(math.inf, len(stream), 1.0, 1.0)
    for mechanism in (*(HybridCounter(math.inf, s) for s in SPLITS), tree,
                      BinaryTree(math.inf, len(stream)),
                      *(KaryTree(math.inf, len(stream), k) for k in (3, 7))):  # fmt: skip
        counter = mechanism.counter(np.random.default_rng(0))
        assert [counter.add(x) for x in stream] == sums
    counter = LogarithmicCounter(math.inf).counter(np.random.default_rng(0))
    at = [2 ** (n.bit_length() - 1) for n in range(1, len(stream) + 1)]
    assert [counter.add(x) for x in stream] == [sums[n - 1] for n in at]


def test_without_noise_there_is_no_error():
    tree = BinaryTree(math.inf, 1000)
    assert tree.node_scale == tree.error_quantile(1e-9) == tree.error_probability(0.0) == 0
    for mechanism in (HybridCounter(math.inf), LogarithmicCounter(math.inf),
                      KaryTree(math.inf, 1000)):  # fmt: skip
        assert mechanism.error_quantile(1e-9, 1000) == mechanism.error_probability(0.0, 1000) == 0
        assert not mechanism.guarantee.is_private and not tree.guarantee.is_private


# ---------------------------------------------------------------- which noise, and how much
@pytest.mark.parametrize("length", [1, 2, 3, 8, 45])
def test_which_noise_enters_which_sum(length, monkeypatch):
    half, full = HybridCounter(0.5), HybridCounter(0.5, "full")
    trees = BinaryTree(0.5, length), AdaptiveTree(0.5, length, 0.5, 0.3)
    for mechanism in (*trees, half, full):
        noise, scales, drawn = noise_matrix(mechanism, length, monkeypatch)
        assert drawn == list(range(1, length + 1)), "every element draws exactly one new variable"
        part, levels = (0.25 if mechanism is half else 0.5), length.bit_length()
        for n in range(1, length + 1):
            ends = dyadic(0, n) if mechanism in trees else hybrid_blocks(n)
            assert sorted(np.flatnonzero(noise[n - 1]) + 1) == sorted(ends)
            k = n.bit_length() - 1
            scale = (1 if n == 2**k else k) / part
            if mechanism in trees:
                scale = levels / 0.5 * (1 if mechanism is trees[0] else n**0.3)
            assert scales[n - 1] == pytest.approx(scale, rel=1e-14)
            if mechanism not in trees:
                counts, of_scale = mechanism.noise_terms(n)
                drawn_scales = sorted(scales[end - 1] for end in ends)
                assert drawn_scales == sorted(np.repeat(of_scale, counts))
    mechanism = LogarithmicCounter(0.5)
    noise, scales, drawn = noise_matrix(mechanism, length, monkeypatch)
    assert drawn == [n.bit_length() for n in range(1, length + 1)] and set(scales) == {2.0}
    for n in range(1, length + 1):
        assert noise[n - 1].sum() == n.bit_length() == mechanism.noise_terms(n)[0][0]
        assert np.all(noise[n - 1, : n.bit_length()] == 1)


@pytest.mark.parametrize(
    "mechanism",
    [BinaryTree(0.7, 300), AdaptiveTree(0.7, 300, 0.5, 0.4)]
    + [HybridCounter(0.7, split) for split in SPLITS],
    ids=repr,
)
def test_kernels_and_counters_draw_the_same_noise(mechanism):
    """One variable an element; at n without its lowest set bit the noise is less by that one."""
    hybrid = isinstance(mechanism, HybridCounter)
    counter, here = mechanism.counter(np.random.default_rng(3)), np.random.default_rng(3)
    alone = np.random.default_rng(3)
    state, noises = np.zeros((2, HYBRID_STATE if hybrid else TREE_LEVELS)), [0.0]
    for n in range(1, 301):
        scale = mechanism.drawn(n)[0]
        if hybrid:
            unit = mechanism.node_scale(1)
            noise = next_hybrid_noise(here, mechanism.block_scale, unit, state, 1, n)
        else:
            noise = next_prefix_noise(here, scale, state, 1, n)
        noises.append(noise)
        assert counter.add(0.25) == pytest.approx(0.25 * n + noise, rel=1e-11, abs=1e-9)
        before = n & (n - 1) or (n // 2 if hybrid else 0)
        fresh = laplace(alone, scale)
        assert noise == pytest.approx(noises[before] + fresh, rel=1e-11, abs=1e-9)
        assert here.bit_generator.state == alone.bit_generator.state, "one variable, no more"
    assert not state[0].any(), "another arm's counter is left alone"


# ---------------------------------------------------------------- privacy
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("length", LENGTHS)
def test_what_a_counter_is_worth(length, epsilon, monkeypatch):
    tree = BinaryTree(epsilon, length)
    noise, scales, _ = noise_matrix(tree, length, monkeypatch)
    assert privacy_loss(noise, scales) == pytest.approx(epsilon, rel=1e-12)
    assert tree.guarantee == PrivacyGuarantee("central", epsilon)
    # Broken versions: the budget not split over the levels; one fresh variable per prefix.
    if length > 1:
        assert privacy_loss(noise, np.full(length, 1 / epsilon)) > 1.5 * epsilon
    if length > 3:
        assert privacy_loss(np.eye(length), scales) > 1.2 * epsilon
    half, full = HybridCounter(epsilon), HybridCounter(epsilon, "full")
    noise, scales, _ = noise_matrix(half, length, monkeypatch)
    # elements 1 and 2 end blocks and are in no tree; element 3 is in one, and in a block by n = 4
    exact = epsilon / 2 if length < 4 else epsilon
    assert privacy_loss(noise, scales) == pytest.approx(exact, rel=1e-12)
    assert half.guarantee == PrivacyGuarantee("central", epsilon)
    noise, scales, _ = noise_matrix(full, length, monkeypatch)
    assert privacy_loss(noise, scales) == pytest.approx(2 * exact, rel=1e-12)
    assert full.guarantee == PrivacyGuarantee("central", 2 * epsilon)
    # Broken version: nodes whose noise does not grow with the levels of their tree.
    if length > 8:
        assert privacy_loss(noise, np.full(length, 1 / epsilon)) > 2.5 * epsilon


@pytest.mark.parametrize("length", LENGTHS)
def test_what_the_logarithmic_counter_is_worth(length, monkeypatch):
    mechanism = LogarithmicCounter(0.4)
    powers = length.bit_length()
    noise, scales, _ = noise_matrix(mechanism, length, monkeypatch)
    at_powers = noise[[2**k - 1 for k in range(powers)], :powers]
    prefix = np.tril(np.ones((length, length)))[[2**k - 1 for k in range(powers)]]

    def loss(noise):
        return (np.abs(np.linalg.solve(noise, prefix)) / scales[:, None]).sum(axis=0).max()

    assert loss(at_powers) == pytest.approx(0.4, rel=1e-12)
    assert mechanism.guarantee == PrivacyGuarantee("central", 0.4)
    # Broken version: new noise for the whole stream at each power of two.
    assert loss(np.eye(powers)) == pytest.approx(0.4 * powers, rel=1e-12)


@given(st.integers(1, 2**62))
def test_levels(horizon):
    levels = BinaryTree(1.0, horizon).levels
    assert 2 ** (levels - 1) <= horizon < 2**levels and levels == AdaptiveTree(1.0, horizon).levels


@given(st.integers(1, 3000), st.integers(1, 80))
def test_prefixes_are_counted_by_their_binary_ones(horizon, levels):
    counted = collections.Counter(n.bit_count() for n in range(1, horizon + 1))
    tree = BinaryTree(1.0, horizon)
    assert tree.prefixes == tuple(counted[m] for m in range(1, tree.levels + 1))
    full = BinaryTree(1.0, 2**levels - 1)
    assert full.prefixes == tuple(math.comb(levels, m) for m in range(1, levels + 1))


# ---------------------------------------------------------------- the tree with negative digits
KARY = [(1, 3), (2, 3), (3, 3), (4, 3), (12, 3), (13, 3), (14, 3), (40, 3), (41, 3)]
KARY += [(2, 5), (7, 5), (12, 5), (13, 5), (30, 5), (62, 5), (24, 7), (30, 7), (40, 101)]


def signed_nodes(horizon, arity):
    """Return the nodes (first and last element) of each prefix with their signs, by brute force.

    Independent of the package: a length's digits are looked for among all, and the nodes are found
    by walking from 0 to the length, the largest steps first.
    """
    half, levels = arity // 2, 1
    while (arity**levels - 1) // 2 < horizon:
        levels += 1
    written = {
        sum(d * arity ** (levels - 1 - j) for j, d in enumerate(digits)): digits
        for digits in itertools.product(range(-half, half + 1), repeat=levels)
    }
    assert len(written) == arity**levels, "each number once"
    prefixes = []
    for n in range(1, horizon + 1):
        place, nodes = 0, {}
        for j, digit in enumerate(written[n]):
            size = arity ** (levels - 1 - j)
            for _ in range(abs(digit)):
                after = place + (size if digit > 0 else -size)
                nodes[min(place, after) + 1, max(place, after)] = 1 if digit > 0 else -1
                place = after
        assert place == n
        prefixes.append(nodes)
    return levels, prefixes


def signed_noise(mechanism, monkeypatch):
    """Return how often each variable (column) enters each sum (row), and their scales."""
    scales, most = [], 2 * mechanism.horizon

    def label(rng, scale):
        scales.append(scale)
        return np.eye(most)[len(scales) - 1]

    monkeypatch.setattr(counters, "_laplace", label)
    counter = mechanism.counter(None)
    rows = np.array([counter.add(0.0) for _ in range(mechanism.horizon)])
    return rows[:, : len(scales)], np.array(scales)


@pytest.mark.parametrize(("horizon", "arity"), KARY)
def test_the_signed_noise_is_that_of_nodes_which_make_up_the_prefix(horizon, arity, monkeypatch):
    """The premises of its proof, for all lengths: B C = prefix sums, columns of C at most h."""
    tree = KaryTree(0.7, horizon, arity)
    levels, prefixes = signed_nodes(horizon, arity)
    assert tree.levels == levels
    noise, scales = signed_noise(tree, monkeypatch)
    assert np.all(scales == levels / 0.7)
    used = sorted({node for nodes in prefixes for node in nodes})
    signs = np.array([[nodes.get(node, 0) for node in used] for nodes in prefixes])
    # the same columns in another order: each node has one variable, drawn once and kept
    assert sorted(map(tuple, noise.T.astype(int))) == sorted(map(tuple, signs.T))
    holds = np.array([[first <= i <= last for i in range(1, 10**4)] for first, last in used])
    holds = holds[:, : max(last for _, last in used)].astype(int)
    prefix_sums = np.array([[i < n for i in range(holds.shape[1])] for n in range(1, horizon + 1)])
    assert np.array_equal(signs @ holds, prefix_sums), "what ends later cancels"
    assert holds.sum(axis=0).max() == holds[:, 0].sum() == levels
    assert tree.guarantee == PrivacyGuarantee("central", 0.7)
    if len(used) == horizon:  # then giving out the sums is giving out the noisy nodes
        released = np.abs(np.linalg.solve(noise, np.tril(np.ones((horizon, horizon)))))
        assert (released / scales[:, None]).sum(axis=0).max() == pytest.approx(0.7, rel=1e-9)
        if levels > 1:  # broken version: the budget not split over the levels
            assert (released * 0.7).sum(axis=0).max() > 1.5 * 0.7
    for n, nodes in enumerate(prefixes, 1):
        assert tree.noise_terms(n) == ((len(nodes),), (tree.node_scale,))
        assert tree.drawn(n)[1].bit_count() == len({last - first for first, last in nodes})
    numbers = collections.Counter(len(nodes) for nodes in prefixes)
    assert tree.prefixes == tuple(numbers[m] for m in range(1, levels * (arity // 2) + 1))
    squares = [2 * tree.node_scale**2 * len(nodes) for nodes in prefixes]
    assert tree.mean_variance == pytest.approx(np.mean(squares), rel=1e-12)
    assert tree.greatest_variance == pytest.approx(max(squares), rel=1e-12)


@given(st.integers(1, 2**62), st.integers(1, 50))
def test_digits_write_the_length_and_prefixes_count_them(horizon, half):
    tree = KaryTree(1.0, horizon, 2 * half + 1)
    digits = tree.digits(horizon)
    assert sum(d * tree.arity**j for j, d in enumerate(digits)) == horizon
    assert max(map(abs, digits)) <= half and len(digits) == tree.levels
    shorter, full = ((tree.arity ** (tree.levels - i) - 1) // 2 for i in (1, 0))
    assert shorter < horizon <= full
    assert sum(tree.prefixes) == horizon and len(tree.prefixes) <= 500
    assert tree.total_nodes == sum(m * number for m, number in enumerate(tree.prefixes, 1))


@given(st.sampled_from([3, 5, 9, 19]), st.integers(1, 8))
def test_errors_at_full_lengths_are_the_closed_forms(arity, levels):
    """Mean h³(k − 1/k)/(2ε²)·k^h/(k^h − 1) and worst h³(k − 1)/ε²: :prf:ref:`thm-kary`."""
    tree = KaryTree(0.5, (arity**levels - 1) // 2, arity)
    mean = levels**3 * (arity - 1 / arity) / (2 * 0.25) * arity**levels / (arity**levels - 1)
    assert tree.mean_variance == pytest.approx(mean, rel=1e-12)
    assert tree.greatest_variance == pytest.approx(levels**3 * (arity - 1) / 0.25, rel=1e-12)


@given(st.sampled_from([3, 5, 9, 27]), st.integers(2, 10**12), st.floats(0, 60))
def test_the_width_is_below_its_chernoff_bound(arity, horizon, log_term):
    """At every tilt: :prf:ref:`cor-kary-width`, with ℓ = log(K/β)."""
    tree = KaryTree(1.0, horizon, arity)
    width = tree.union_width(log_term)
    for theta in (0.2, 0.5, 0.8):
        powers = sum((1 - theta**2) ** -d for d in range(1, arity // 2 + 1))
        bound = (log_term + tree.levels * math.log(1 + 2 * powers)) / theta
        assert width <= tree.node_scale * bound * (1 + 1e-8)


def test_the_constants_of_the_widths():
    """Those that are printed with :prf:ref:`cor-kary-width`, and where they are least."""

    def constant(k):
        tilts = np.linspace(0.05, 0.98, 2000)
        powers = sum((1 - tilts**2) ** -d for d in range(1, k // 2 + 1))
        return np.min(np.log(k * (1 + 2 * powers)) / tilts) / math.log(k) ** 2

    found = {k: constant(k) for k in range(3, 102, 2)}
    assert {k: round(found[k], 2) for k in (3, 5, 27)} == {3: 3.09, 5: 2.26, 27: 1.65}
    assert min(found, key=found.__getitem__) == 27


def test_the_best_arity_has_the_least_variance():
    for horizon in (1, 4, 13, 200, 10**5):
        trees = [KaryTree(1.0, horizon, k) for k in range(3, 102, 2)]
        best = KaryTree(1.0, horizon, best_arity(horizon))
        assert best.mean_variance == min(tree.mean_variance for tree in trees)
        best = KaryTree(1.0, horizon, best_arity(horizon, "greatest"))
        assert best.greatest_variance == min(tree.greatest_variance for tree in trees)
    tree = KaryTree(2.0, 10**6, 5)
    each = math.fsum(
        number * counters.laplace_sum_error(tree.union_width(3.0), (m,), (tree.node_scale,))
        for m, number in enumerate(tree.prefixes, 1)
    )
    assert each == pytest.approx(math.exp(-3.0), rel=1e-6)


# ---------------------------------------------------------------- errors
@pytest.mark.statistical
@pytest.mark.parametrize("beta", [0.3, 0.05, 0.005])
@pytest.mark.parametrize("horizon", [1, 7, 1023])
def test_the_trees_quantile_is_exceeded_no_more_often_than_beta(rng, horizon, beta):
    """At the prefix of length 2^L - 1, whose noise has all L variables."""
    tree, size = BinaryTree(0.5, horizon), 20_000
    errors = np.abs(rng.laplace(0, tree.node_scale, (size, tree.levels)).sum(axis=1))
    quantile = tree.error_quantile(beta)
    assert may_be_at_most(int((errors > quantile).sum()), size, beta)
    # Control: the quantile is within a factor 6 of the true one.
    assert not may_be_at_most(int((errors > quantile / 6).sum()), size, beta)


def errors_at(mechanism, length, size):
    """Errors of sums of ones, each by a new counter."""
    rng = np.random.default_rng([7, length])
    errors = []
    for _ in range(size):
        counter = mechanism.counter(rng)
        for _ in range(length):
            noisy = counter.add(1.0)
        errors.append(abs(noisy - length))
    return np.array(errors)


@given(st.floats(1e-3, 100), st.integers(1, 2**62), st.floats(1e-60, 0.999))
def test_error_probability_inverts_the_quantile_and_falls_from_one(epsilon, horizon, beta):
    tree = BinaryTree(epsilon, horizon)
    width = tree.error_quantile(beta)
    assert tree.error_probability(width) == pytest.approx(beta, rel=1e-9)
    chances = [tree.error_probability(share * width) for share in (0, 0.1, 0.5, 1, 2, 1e3)]
    assert chances == sorted(chances, reverse=True) and chances[0] == 1 and chances[-1] >= 0


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [HybridCounter(0.5), LogarithmicCounter(0.5), KaryTree(0.5, 40), KaryTree(0.5, 40, 5)],
    ids=repr,
)
@pytest.mark.parametrize("length", [1, 3, 4, 23])
def test_error_quantile_is_exceeded_as_often_as_beta(mechanism, length):
    size, beta = 4000, 0.2
    late = isinstance(mechanism, LogarithmicCounter)
    at = 2 ** (length.bit_length() - 1) if late else length
    errors = errors_at(mechanism, at, size)
    quantile = mechanism.error_quantile(beta, length)
    assert mechanism.error_probability(quantile, length) == pytest.approx(beta, rel=1e-6)
    low, high = clopper_pearson(int((errors > quantile).sum()), size)
    assert low <= beta <= high
    # Control: a quantile a fifth too small.
    assert not may_be_at_most(int((errors > 0.8 * quantile).sum()), size, beta)


@given(st.integers(1, 2**40), st.floats(1e-30, 0.9))
def test_errors_of_the_splits(length, beta):
    """Half of the budget is twice the noise, and scale times budget does not change."""
    half, full = HybridCounter(1.0), HybridCounter(1.0, "full")
    wide = half.error_quantile(beta, length)
    assert wide == pytest.approx(2 * full.error_quantile(beta, length), rel=1e-7)
    assert HybridCounter(0.5, "full").error_quantile(beta, length) == wide


# ---------------------------------------------------------------- input
ALL = [
    *(BinaryTree(1.0, 3), AdaptiveTree(1.0, 3), HybridCounter(1.0), LogarithmicCounter(1.0)),
    *(KaryTree(1.0, 3), KaryTree(1.0, 3, 5)),
]


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
@pytest.mark.parametrize("x", [-1.1, 1.1, math.nan, math.inf])
def test_a_counter_refuses_elements_outside_its_range(mechanism, x, rng):
    counter = mechanism.counter(rng)
    message = refusal("x", x, lambda: counter.add(x))
    assert message.endswith("[-1, 1]" if isinstance(mechanism, AdaptiveTree) else "[0, 1]")
    fresh = laplace(np.random.default_rng(0), mechanism.drawn(1)[0])
    assert counter.add(1.0) == pytest.approx(1 + fresh), "it is not counted"


def test_a_counter_refuses_more_than_its_horizon(rng):
    counter = BinaryTree(math.inf, 2).counter(rng)
    assert [counter.add(1.0), counter.add(1.0)] == [1.0, 2.0]
    with pytest.raises(ValueError, match="horizon=2"):
        counter.add(1.0)


def test_other_arguments_are_checked():
    makes = (HybridCounter, LogarithmicCounter, lambda e: BinaryTree(e, 9),
             lambda e: AdaptiveTree(e, 9), lambda e: KaryTree(e, 9))  # fmt: skip
    for make, epsilon in itertools.product(makes, [0, -1, math.nan, "1", None, True]):
        refusal("epsilon", epsilon, lambda make=make, epsilon=epsilon: make(epsilon))
    refusal("split", "third", lambda: HybridCounter(1.0, "third"))
    for growth in (-0.1, math.inf, math.nan, None):
        refusal("growth", growth, lambda growth=growth: AdaptiveTree(1.0, 9, 1.0, growth))
    for arity in (1, 4, 103, 3.5, None, True):
        refusal("arity", arity, lambda arity=arity: KaryTree(1.0, 9, arity))
    refusal("n", 10, lambda: KaryTree(1.0, 9).digits(10))
    refusal("n", 10, lambda: KaryTree(1.0, 9).error_quantile(0.1, 10))
    refusal("error", "worst", lambda: best_arity(9, "worst"))
    for mechanism in (HybridCounter(1.0), LogarithmicCounter(1.0), KaryTree(1.0, 10)):
        refusal("length", 0, lambda m=mechanism: m.error_quantile(0.1, 0))
        refusal("beta", 1, lambda m=mechanism: m.error_quantile(1, 10))
        refusal("length", 2.5, lambda m=mechanism: m.error_probability(1.0, 2.5))


@pytest.mark.parametrize(("arity", "horizon"), [(3, 400), (5, 900), (23, 20_000)])
@pytest.mark.parametrize("longest", [1, 3, 70])
def test_the_kernel_of_kary_trees_draws_as_the_program_does(arity, horizon, longest):
    """At every sum, and at some sums only, by jumps of up to `longest`."""
    tree = KaryTree(0.7, horizon, arity)
    shape = tree.node_scale, arity, tree.levels
    state = np.zeros((2, tree.levels * ((arity - 1) // 2 + KARY_STATE)))
    plain, drawn, jumps = (np.random.default_rng(each) for each in (4, 4, 5))
    counter, before, sums = tree.counter(plain), 0, 0
    while before < min(horizon, 1200 * longest) - longest:
        n = before + int(jumps.integers(1, longest + 1))
        wanted = counter._release(n)
        found = next_kary_noise(drawn, shape, state, 1, before, n)
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        before, sums = n, sums + 1
    assert plain.random() == drawn.random() and sums > 8
    assert not state[0].any()
