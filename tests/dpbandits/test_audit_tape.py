"""Tapes, moves and bets: runs are repeated by their tapes, estimates have no bias, bounds hold."""

import math

import numpy as np
import pytest
from statistical import FALSE_ALARM

import dpbandits as dpb
from dpbandits.auditing import TablePair, betting_bound, ceiling, expected_bound
from dpbandits.auditing.betting import Wealth
from dpbandits.auditing.coupling import best_move
from dpbandits.auditing.event_tree import Seen, choose_event
from dpbandits.auditing.tape import ALL, DRAWS, OWN, STILL, Move, Tapes, new_keys
from dpbandits.auditing.tape_runner import LIKELY, RARE, Program
from dpbandits.mechanisms import HybridCounter, laplace_cdf

PAIR = TablePair([[0.0] * 4, [1.0] * 4], 0, 0, 1.0)


def keys(n, seed=0):
    return new_keys(np.random.default_rng(seed), n)


def test_a_tape_is_a_sequence_of_splitmix64():
    """Its first five words from 1234567 with the usual step, as Rosetta Code has them."""
    tapes = Tapes()
    tapes.put(np.array([[1234567, 0x9E3779B97F4A7C15]], np.uint64), 1)
    words = tapes.rng.integers(0, 2**64, 5, dtype=np.uint64).tolist()
    assert words == [
        *(6457827717110365317, 3203168211198807973, 9817491932198370423),
        *(4593380528125082431, 16408922859458223821),
    ]


@pytest.mark.parametrize("algorithm", [dpb.DPUCB(1.0), dpb.DPTT(1.0, 0.1)])
def test_the_same_tape_gives_the_same_run(algorithm):
    """By the compiled loop as by the program; and another tape another run."""

    class Plain(type(algorithm)):
        pass

    for target in (algorithm, Plain(**vars(algorithm))):
        program = Program(target, np.random.default_rng(0))
        program.load(TablePair([[0.0] * 40, [1.0] * 40], 0, 0, 1.0))
        (first, _), (again, _) = program.run(keys(20), (LIKELY, STILL), (LIKELY, STILL))
        ((other, _),) = program.run(keys(20, 1), (LIKELY, STILL))
        assert (first == again).all() and not (first == other).all()
        assert program.kind == ("kernel" if target is algorithm else "program")


@pytest.mark.parametrize("algorithm", [dpb.AdaPUCB(1.0), dpb.DPTT(1.0, 0.1)])
def test_a_compiled_loop_reads_the_tape_as_the_program_does(algorithm):
    """Batch by batch, the noise included: the same pulls, and the same moved tapes.

    (Of DP-TT, whose program reads pull by pull, its recommendation and pulls are compared.)
    """

    class Plain(type(algorithm)):
        pass

    move = Move(OWN, (((0, 0), 0.7),))
    found = []
    for target in (algorithm, Plain(**vars(algorithm))):
        program = Program(target, np.random.default_rng(0))
        program.load(TablePair([[0.0] * 40, [1.0] * 40], 0, 0, 1.0))
        found.append(program.run(keys(50), (LIKELY, STILL), (RARE, move)))
    for (outputs, weights), (others, same) in zip(*found, strict=True):
        shown = slice(-3, None) if isinstance(algorithm, dpb.DPTT) else slice(None)
        assert (outputs[:, shown] == others[:, shown]).all() and weights == pytest.approx(same)
    assert np.ptp(found[0][1][1]) > 0.1


def chooser(rewards, rng):
    """Whether a second number is drawn, and of what law, depends on the first."""
    first = rewards.pull(0) + rng.laplace(0.0, 1.0)
    if first < 0.3:
        return [first, first]
    return first, first + rewards.pull(0) * rng.laplace(0.0, 2.0) + rng.random()


MOVES = [
    Move(OWN, (((0, 0), 0.8),)),
    Move(OWN, (((0, 0), -0.5), ((1, 0), 0.4))),
    Move(DRAWS, (((1, 0), 0.6), ((2, 0), -0.3))),
    Move(ALL, (((0, 0), 0.3), ((1, 1), 0.6))),
]
N = 4000


def mean_is(values, truth, least, most):
    """Hoeffding: of values in [least, most] the mean is the truth, except with 1e-6."""
    width = (most - least) * math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(values)))
    return abs(values.mean() - truth) <= width


@pytest.mark.statistical
@pytest.mark.parametrize("move", MOVES)
def test_weights_leave_no_bias(move):
    """Weighted runs on moved tapes have the probabilities of runs; without weights they have not.

    Each event's mean on moved tapes is compared with that on others, and that of the first number
    with its law.
    """
    program = Program(chooser, np.random.default_rng(3))
    program.load(TablePair([[1.0, 0.5, 0.0, 0.0]], 0, 0, 0.0))
    seen = [program.run(program.new_keys(2 * N), (RARE, each))[0] for each in (STILL, move)]
    (plain, _), (moved, weights) = ((rows[:, -1], w) for rows, w in seen)
    firsts = seen[1][0][:, -2] < 0.3
    most = math.exp(move.total)
    assert weights.max() <= most * (1 + 1e-9) and np.ptp(weights) > 0.1
    assert mean_is(weights, 1.0, 0.0, most)
    if move.clock != DRAWS:  # then the first number is drawn but once, and moved
        assert mean_is(firsts * weights, laplace_cdf(0.3, 1.0), 0.0, most)
        assert not mean_is(firsts + 0.0, laplace_cdf(0.3, 1.0), 0.0, 1.0), "control"
    for level in (-0.5, 0.5, 2.0):
        assert mean_is((moved > level) * weights - (plain > level), 0.0, -1.0, most)


@pytest.mark.statistical
@pytest.mark.parametrize("by", [math.log(2), -math.log(2), 0.7, -1.3])
def test_moved_numbers_have_the_last_bits_of_others(by):
    """They are multiples of 2⁻⁵³, odd as often as even; control: moves of 53 bits alone are not."""

    def last_bits(rewards, rng):
        rewards.pull(0)
        u = rng.random(4) * 2.0**53
        return [*(u == np.floor(u)).astype(float), *(u % 2), *(u / 2.0**53)]

    program = Program(last_bits, np.random.default_rng(3))
    program.load(TablePair([[0.5]], 0, 0, 0.0))
    move = Move(DRAWS, tuple(((n, 0), by) for n in range(1, 5)))
    ((rows, weights),) = program.run(keys(5000), (RARE, move))
    whole, odd, u = (rows[:, -12:][:, 4 * k : 4 * k + 4].ravel() for k in range(3))
    assert (whole == 1.0).all() and np.ptp(weights) > 0.5
    for part in (u < 0.25, (u > 0.25) & (u < 0.5), (u > 0.5) & (u < 0.75), u > 0.75):
        assert mean_is(odd[part], 0.5, 0.0, 1.0)
    c = (np.arange(2**20, 2**20 + 8000) + 0.5) * 2.0**-53  # control: no more bits than 53
    again = np.ceil(0.5 * np.exp(np.log(2 * c) - by) * 2.0**53) % 2
    assert (by != -math.log(2)) or not mean_is(again, 0.5, 0.0, 1.0)


@pytest.mark.statistical
def test_who_looks_at_the_last_bit_of_a_uniform_number_is_not_convicted():
    """ε = log 2 beyond a coin of no meaning: moves of 53 bits alone made it even, always."""

    def coin(rewards, rng):
        u = rng.random()
        z = math.log(2 * max(u, 2.0**-54)) if u < 0.5 else -math.log(2 * (1 - u))
        y = rewards.pull(0) + z / math.log(2)
        return [y, int(u * 2.0**53) & 1 if y > 3.2 else -1]

    promise = dpb.PrivacyGuarantee("central", math.log(2))
    found = dpb.audit(coin, TablePair([[1.0]], 0, 0, 0.0), 16_000, 0, FALSE_ALARM, promise)
    assert not found.convicted and found.epsilon_lower > 0.5


@pytest.mark.statistical
def test_weights_leave_no_bias_in_a_compiled_loop():
    """The third pull of DP-UCB: arm 0 of two, with one node each of scale 5/ε."""
    program = Program(dpb.DPUCB(4.0), np.random.default_rng(3))
    program.load(TablePair([[0.0] * 16, [1.0] * 16], 0, 0, 1.0))
    x = 4.0 / 5.0
    truth = math.exp(-x) * (0.5 + x / 4)  # by the law of a difference of two Laplace variables
    ((rows, weights),) = program.run(keys(20_000), (LIKELY, Move(OWN, (((0, 0), -1.5),))))
    third = rows[:, 2] == 2.0
    assert mean_is(third * weights, truth, 0.0, math.exp(1.5))
    assert not mean_is(third + 0.0, truth, 0.0, 1.0), "control: weights left out"


@pytest.mark.statistical
def test_a_bound_is_too_high_as_rarely_as_it_says():
    """400 bounds with φ = 0.1 at a loss of exactly 1: above it with probability 0.1 at most.

    P(Bin(400, 0.1) ≥ 74) < 1e-6. Control: with two thirds of the rare runs it is not so.
    """
    rng, q = np.random.default_rng(7), 0.2
    times = np.array([rng.multinomial(400, chances(math.e * q, q)) for _ in range(400)])
    above = [betting_bound([1, 1, 0, 0], [1, 0, 1, 0], 0.1, counts=each) > 1.0 for each in times]
    assert sum(above) < 74
    times = np.array([rng.multinomial(400, chances(math.e * q, 2 * q / 3)) for _ in range(400)])
    above = [betting_bound([1, 1, 0, 0], [1, 0, 1, 0], 0.1, counts=each) > 1.0 for each in times]
    assert sum(above) >= 74, "control"


@pytest.mark.statistical
def test_a_coin_that_is_watched_is_too_rich_as_rarely_as_ville_says():
    """400 coins with φ = 0.1 at a loss of exactly 1, each watched for 400 runs.

    P(Bin(400, 0.1) ≥ 74) < 1e-6. Control: with two thirds of the rare runs it is not so.
    """
    rng, q = np.random.default_rng(7), 0.2

    def rich(rare):
        found = 0
        for _ in range(400):
            at = rng.choice(4, 400, p=chances(math.e * q, rare))
            likely, other = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], float)[:, at]
            found += Wealth(1.0).take(likely, other).max() >= math.log(10.0)
        return found

    assert 0 < rich(q) < 74 <= rich(2 * q / 3), "control"


def chances(p, q):
    return [p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)]


def test_bounds_of_known_counts():
    """Everything on one side: log n − log log(7/φ), about; and what a δ takes away."""
    for n, failure in ((1000, 0.01), (10**6, 1e-9)):
        near = math.log(n) - math.log(math.log(7 / failure))
        assert near - 0.05 < ceiling(n, failure) < near
    assert ceiling(10, 1e-9) == 0.0 == expected_bound(0.3, 0.3, 10**6, 0.1)
    bounds = [expected_bound(0.5, 0.1, 10**5, 1e-6, delta) for delta in (0.0, 0.01, 0.1, 0.4)]
    assert bounds == sorted(bounds, reverse=True) and bounds[-1] == 0.0
    assert bounds[0] == pytest.approx(math.log(5.0), abs=0.1) and bounds[0] < math.log(5.0)
    assert bounds[2] < math.log(0.5 / 0.2) + 0.02, "weaker than (P − δ)/Q, never stronger"


@pytest.mark.statistical
def test_common_tapes_lower_the_variance():
    """One release of loss 1, above 1: 1000 tapes with a move tell more than 2000 counted runs."""
    program = Program(lambda r, g: r.pull(0) + g.laplace(), np.random.default_rng(0))
    program.load(TablePair([[1.0]], 0, 0, 0.0))
    fit, move = best_move(program, 1.0, 12, 3)
    seen = program.sample(1000, move, LIKELY)
    likely, rare = (side[:, -1] > 1.0 for side in (seen.likely, seen.rare))
    bound = betting_bound(seen.weights * likely, rare + 0.0, 1e-9)
    assert fit == 1.0 and move.total == pytest.approx(1.0, rel=0.03)
    assert expected_bound(0.5, 0.5 / math.e, 2000, 1e-9) < bound <= 1.0


def test_a_move_is_found_by_trial():
    """Of DP-UCB's tree each node that holds the reward, at ε over its levels."""
    program = Program(dpb.DPUCB(2.0), np.random.default_rng(1))
    program.load(TablePair([[0.0] * 7, [1.0] * 7], 0, 0, 1.0))
    fit, move = best_move(program, 1.0, 12, 2)
    assert fit > 0.9 and {place for place, _ in move.shifts} >= {(0, 0), (1, 0)}
    assert all(by == pytest.approx(2.0 / 3.0, rel=0.2) for _, by in move.shifts)
    counter = Program(HybridCounter(1.0), np.random.default_rng(1))
    counter.load(TablePair([[0.0] * 8], 0, 2, 1.0))
    fit, move = best_move(counter, 1.0, 12, 2)
    assert fit == 1.0 and move.total == pytest.approx(1.0, rel=0.02)


def test_what_has_no_noise_has_no_move():
    program = Program(dpb.UCB(), np.random.default_rng(1))
    program.load(TablePair([[0.0] * 7, [1.0] * 7], 0, 0, 1.0))
    assert best_move(program, 1.0, 12, 2)[1] == STILL


@pytest.mark.statistical
def test_cells_find_what_is_likely_on_one_side():
    """Of two columns the sum tells, beyond each of them; nothing is found in noise alone."""
    rng = np.random.default_rng(2)

    def seen(shift):
        one, two = rng.normal(shift, 1.0, (4000, 2)), rng.normal(0.0, 1.0, (4000, 2))
        return Seen(one, two, np.ones(4000))

    event = choose_event(seen(1.0), seen(1.0), 20_000, 1e-6, 0.0)
    fresh = seen(1.0)
    inside, other = event.contains(fresh.likely), event.contains(fresh.rare)
    assert betting_bound(inside + 0.0, other + 0.0, FALSE_ALARM) > math.log(3.0)
    assert event.loss(fresh) > math.log(3.0) and event.promise > 1.0
    assert choose_event(seen(0.0), seen(0.0), 20_000, 1e-6, 0.0).promise < 0.3


def test_tables_take_turns_and_tapes_are_repeated():
    """In changing order, and with the same tape on both."""
    order = []

    def told(rewards, rng):
        order.append((rewards.pull(0), rng.random()))
        return order[-1][1]

    program = Program(told, np.random.default_rng(0))
    program.load(PAIR)
    order.clear()
    program.sample(4, STILL, RARE)
    assert [first for first, _ in order] == [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert all(order[i][1] == order[i + 1][1] for i in range(0, 8, 2))


@pytest.mark.parametrize("target", [chooser, dpb.DPUCB(1.0)], ids=["program", "kernel"])
def test_parts_of_a_sample_are_the_sample(target):
    """Equal runs in equal order, by a loop in two parts; control: on other tapes others."""
    n = 9000 if target is not chooser else 300
    found = []
    for seed in (0, 0, 1):
        program = Program(target, np.random.default_rng(seed))
        program.load(PAIR)
        found.append(program)
    move = Move(OWN, (((0, 0), 0.3),))
    whole, other = (found[k].sample(n, move, LIKELY) for k in (0, 2))
    parts = list(found[1].sample_in_parts(n, move, LIKELY))
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.joined(part)
    assert len(parts) > 1 and all(len(part.weights) % 2 == 0 for part in parts[:-1])
    assert all(np.array_equal(*each) for each in zip(whole, joined, strict=True))
    assert not np.array_equal(whole.likely, other.likely), "control"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: betting_bound([1.0], [2.0], 0.1), "rare"),
        (lambda: betting_bound([-1.0], [1.0], 0.1), "likely"),
        (lambda: betting_bound([1.0], [1.0], 0.0), "failure=0.0 is out of range"),
        (lambda: expected_bound(2.0, 0.1, 10, 0.1), "p=2.0 is out of range"),
        (lambda: ceiling(0, 0.1), "n_runs=0 is out of range"),
        (lambda: Program(dpb.UCB(), np.random.default_rng(0)).pair, "pair=None is loaded"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
