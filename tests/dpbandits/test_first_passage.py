"""First passages of the tree's noise: the table and the draws against brute force."""

import numpy as np
import pytest
from shadow import WALK_SIZE, lowered_walk_fails
from statistical import clopper_pearson, same_law

from dpbandits._engine.kernels import kernel
from dpbandits.mechanisms.first_passage import (
    TREE_LEVELS,
    NodeScale,
    first_passage_table,
    lowest_level,
    next_prefix_noise,
    walk_to_first_passage,
)


def lowered_minimum(rng, level, room, cap, h, size):
    """Whether a leaf of a subtree of 2^level leaves fails, by drawing every node; `size` times."""
    rooms = {0: np.full(size, room)}
    failed = np.zeros(size, bool)
    for leaf in range(1, 2**level):
        cells = np.floor(rng.laplace(size=size) / h).astype(int)
        rooms[leaf] = np.minimum(rooms[leaf & (leaf - 1)] + cells, cap)
        failed |= rooms[leaf] <= 0
    return failed


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("h", "cap"), [(0.125, 880), (0.5, 12), (1.0, 3)], ids=["default", "cap 12", "cap 3"]
)
def test_table_against_frequencies(h, cap):
    rng = np.random.default_rng(0)
    table = first_passage_table(h, cap, 6)
    cases = [(j, d) for j in (1, 2, 4, 6) for d in (1, 3, 8, 30, 60) if d <= cap]
    for level, room in cases:
        failed = lowered_minimum(rng, level, room, cap, h, 20_000)
        low, high = clopper_pearson(failed.sum(), failed.size, share=1 / len(cases))
        assert low <= table.fail[level, room] <= high, (level, room)
    # Negative control: cells of another width, or a cap left out, are noticed.
    room = min(40, cap)
    failed = lowered_minimum(rng, 6, room, cap, h, 20_000)
    low, high = clopper_pearson(failed.sum(), failed.size)
    wrong = first_passage_table(1.2 * h, cap, 6) if cap > 3 else first_passage_table(h, 100, 6)
    assert not low <= wrong.fail[6, room] <= high


def test_table_in_extended_precision():
    """The recursion written out, in long doubles: relative errors stay near the rounding unit."""
    cap, h = 60, np.longdouble(0.25)
    table = first_passage_table(0.25, cap, 20)
    k = np.arange(-cap, cap + 1)
    mass = np.exp(-h * np.where(k >= 0, k, -1 - k)) * (1 - np.exp(-h)) / 2
    fail = np.zeros(cap + 1, np.longdouble)
    fail[0] = 1
    for level in range(21):
        np.testing.assert_allclose(table.fail[level], fail.astype(float), rtol=1e-13)
        after = fail.copy()
        for room in range(1, cap + 1):
            right = np.exp(-h * (room - 1)) / 2 + np.exp(-h * (cap - room)) / 2 * fail[cap]
            for behind in range(1, cap):
                right += mass[cap + behind - room] * fail[behind]
            assert float(right) == pytest.approx(table.right_fail[level, room], rel=1e-13)
            after[room] = fail[room] + (1 - fail[room]) * right
        fail = after


def test_table_is_a_family_of_probabilities():
    table = first_passage_table()
    assert first_passage_table() is table, "built once"
    assert not any(array.flags.writeable for array in (table.fail, table.right_fail))
    for law in (table.fail, table.right_fail):
        assert (law >= 0).all()
        assert (law <= 1).all()
    assert (np.diff(table.fail, axis=0) >= 0).all()  # more leaves fail sooner
    assert (np.diff(table.fail[1:], axis=1) <= 1e-15).all()  # more room fails later
    assert table.fail[30, -1] < 1e-20  # the cap is out of reach
    # the two ends beyond ±D cells are left out of cell_mass
    ends = np.exp(-0.125 * 880) * 0.5 * (1 + np.exp(-0.125))
    assert table.cell_mass.sum() + ends == pytest.approx(1, abs=1e-13)


@kernel
def walk_node_by_node(rng, table, scale, barrier, prefix_noise, start, stop):
    """The leaf at which the walk ends, and whether it was ever below a leaf called safe."""
    walk = np.zeros(WALK_SIZE, np.int64)
    leaf = start
    sound = True
    while not lowered_walk_fails(table, scale, barrier, prefix_noise, 0, leaf, stop, walk):
        sound &= prefix_noise[0, lowest_level(leaf)] > -barrier
        leaf += 1
        next_prefix_noise(rng, scale, prefix_noise, 0, leaf)
        if leaf == stop:
            break
    return leaf, sound


@kernel
def sample_walks(rng, table, scale, barrier, start, stop, extra, size, by_passage):
    """Rows: leaf, noise at the leaf, noise one pull and `extra` pulls later; and soundness."""
    out = np.empty((4, size))
    sound = True
    for i in range(size):
        prefix_noise = np.zeros((1, TREE_LEVELS))
        for n in range(1, start + 1):
            next_prefix_noise(rng, scale, prefix_noise, 0, n)
        room = barrier - min(prefix_noise[0, lowest_level(start)], 0.0)
        if by_passage:
            leaf = walk_to_first_passage(
                rng, table, NodeScale(scale, 0.0), room, prefix_noise, 0, start, stop
            )
        else:
            leaf, fine = walk_node_by_node(rng, table, scale, room, prefix_noise, start, stop)
            sound &= fine
        out[0, i] = leaf
        out[1, i] = prefix_noise[0, lowest_level(leaf)]
        for n in range(leaf + 1, leaf + extra + 1):
            noise = next_prefix_noise(rng, scale, prefix_noise, 0, n)
            if n == leaf + 1:
                out[2, i] = noise
        out[3, i] = noise
    return out, sound


WALKS = [
    # start, stop, barrier in node scales, table
    (1, 300, 6.0, (0.125, 880, 30)),
    (37, 300, 6.0, (0.125, 880, 30)),
    (96, 160, 4.0, (0.125, 880, 30)),
    (64, 100, 6.0, (0.5, 8, 30)),  # the cap is often reached
    (64, 192, 4.0, (0.25, 100, 3)),  # subtrees of at most 8 leaves
]


@pytest.mark.statistical
@pytest.mark.parametrize(("start", "stop", "barrier", "shape"), WALKS)
def test_first_passage_against_node_by_node(start, stop, barrier, shape):
    """Leaf and noise, then and later, alone and together with the leaf: 8 comparisons."""
    table = first_passage_table(*shape)
    size, scale, extra = 20_000, 7.0, 45
    arguments = (table, scale, barrier * scale, start, stop, extra, size)
    fast, _ = sample_walks(np.random.default_rng(0), *arguments, True)
    slow, sound = sample_walks(np.random.default_rng(1), *arguments, False)
    assert sound  # not by chance: a leaf that does not fail is above the barrier
    assert np.mean(slow[0] < stop) > 0.05
    for row in range(4):
        assert same_law(fast[row], slow[row], share=1 / 8)
        # the leaf and the noise together: the noise where the passage was early
        early = np.quantile(slow[0], 0.5)
        assert same_law(
            np.where(fast[0] <= early, fast[row], 1e9),
            np.where(slow[0] <= early, slow[row], 1e9),
            share=1 / 8,
        )


@pytest.mark.statistical
@pytest.mark.parametrize("fault", ["forgotten", "wrong law", "reused"])
def test_node_by_node_refutes_wrong_walks(fault, monkeypatch):
    """Negative control: passages forgotten or of a wrong law, or noise used twice."""
    table = first_passage_table()
    size, scale, extra, start, stop, barrier = 20_000, 7.0, 45, 37, 300, 6.0
    arguments = (scale, barrier * scale, start, stop, extra, size)
    slow, _ = sample_walks(np.random.default_rng(1), table, *arguments, False)
    wrong = table
    if fault == "forgotten":
        wrong = table._replace(fail=np.zeros_like(table.fail))
    elif fault == "wrong law":
        wrong = table._replace(cell_width=1.15 * table.cell_width)
    fast, _ = sample_walks(np.random.default_rng(0), wrong, *arguments, True)
    if fault == "reused":
        fast[3] = fast[2]  # as if no node after the next one were drawn
    assert not all(same_law(fast[row], slow[row], share=1 / 4) for row in range(4))


def test_walks_of_extreme_scales():
    """A scale so small that the room in cells passes 2^63, and a barrier at the very start."""
    table = first_passage_table()
    stored = np.zeros((1, TREE_LEVELS))
    rng = np.random.default_rng(0)
    stop = 7 * 10**9
    assert walk_to_first_passage(rng, table, NodeScale(1e-12, 0.0), 1e9, stored, 0, 1, stop) == stop
    assert (
        walk_to_first_passage(rng, table, NodeScale(1.0, 0.0), -1e9, stored, 0, stop, stop + 5)
        == stop
    )
    stored[:] = 0
    assert (
        walk_to_first_passage(rng, table, NodeScale(1e9, 0.0), 1e-9, stored, 0, 2**40, 2**41)
        < 2**41
    )


def test_lowest_level_beyond_32_bits():
    assert lowest_level(3 << 40) == 40 and lowest_level(1) == 0
