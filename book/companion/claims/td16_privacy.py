"""Claims of Tossou & Dimitrakakis (2016) on privacy: counters, actions, and DP-UCB-INT."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from companion.claims.findings import CANNOT_TELL, CONDITION, FAILS, HOLDS, Finding, claim, decide
from dpbandits import privacy as accounting
from dpbandits.mechanisms.hybrid import SPLITS, HybridCounter
from dpbandits.mechanisms.laplace import laplace_log_cdf, laplace_noise
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.regret.dp_ucb_int import (
    DPUCBInt,
    IntervalPolicy,
    input_of,
    play_dp_ucb_int,
    run_dp_ucb_int,
)
from dpbandits.rewards.streams import FixedRewards
from dpbandits.schedules import noise_bracket, noise_width

LOGARITHMS = {"base 2": math.log2, "natural": math.log}


Floats = NDArray[np.float64]


PATH = (1, 2, 1, 2, 1, 2, 2, 1, 2)
"""Actions that are likelier with one third reward of arm 1 than with another."""


DRAWS = 100_000


HORIZON = 100_000


DELTA = math.exp(-10)


EXPONENT = 1.1


TARGETS = (1.0, 0.1)


FINE = 1 + 1e-9
"""Rounding that equalities may have."""


PLAYED = (
    "The ε is that of all releases together of an arm that is played throughout; the verdict is "
    "the same for the first half of them, which an arm played in at least half of the steps has."
)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


class Wait(NamedTuple):
    """Rewards under which arm 1 waits with its first release while arm 2 is played.

    Attributes
    ----------
    releases : int
        J: arm 2 has been released J times, the last time just now.
    low : int
        L: its last L·f rewards are 0, those before them 1.
    reward : float
        Each of the first f rewards of arm 1, but for the changed one, which is 0 or 1.
    """

    releases: int
    low: int
    reward: float


def element_loss(counter: HybridCounter, element: int, length: int) -> float:
    """Return the privacy loss of one element in all sums of a stream of some length.

    The sums and the Laplace variables determine each other, so that it is the sum of 1/scale over
    the variables that hold the element: of its block, if that has ended, and of the nodes that end
    at the leaves m of its tree, each of which covers as many leaves as its lowest set bit says.
    """
    block = 1 << (element - 1).bit_length()
    loss = 1 / counter.block_scale if block <= length else 0.0
    levels = element.bit_length() - 1
    leaf = element - (1 << levels)
    last = min(length - (1 << levels), (1 << levels) - 1)
    if leaf > 0:
        nodes = sum(m - (m & -m) < leaf <= m for m in range(leaf, last + 1))
        loss += nodes / counter.node_scale(levels)
    return loss


@claim(
    "td16-hybrid",
    "§2.3; proof of Theorem 3.1",
    "The hybrid mechanism, with Laplace noise of scale 1/ε at powers of two, is ε-DP.",
    at="thm-counters",
)
def hybrid_mechanism() -> Finding:
    epsilon, length = 1.0, 64
    worst = {
        split: max(
            element_loss(HybridCounter(epsilon, split), element, length)
            for element in range(1, length + 1)
        )
        for split in SPLITS
    }
    full = HybridCounter(epsilon, "full")
    first = next(
        (
            n
            for n in range(1, length + 1)
            if max(element_loss(full, i, n) for i in range(1, n + 1)) > epsilon * (1 + 1e-12)
        ),
        0,
    )
    within = {split: loss <= epsilon * (1 + 1e-12) for split, loss in worst.items()}
    return Finding(
        decide(within["full"], HOLDS, CONDITION if within["half"] else FAILS),
        "Exactly ε with ε/2 for the blocks and ε/2 for each tree, as Chan, Shi & Song divide it. "
        "Scale 1/ε at the powers of two spends all of ε on the blocks; with a tree of ε it is "
        "exactly 2ε from n = 4 on, as the third element is in one node and in one block.",
        {
            "loss / ε, ε/2 each": round(worst["half"] / epsilon, 6),
            "loss / ε, ε each": round(worst["full"] / epsilon, 6),
            "length from which ε is exceeded, ε each": first,
        },
    )


def _failure(split: str, logarithm: str, gamma: float, length: int, in_bound: float = 1.0) -> float:
    """Return P(error > width of (2.2) for ε = `in_bound`)/γ for a counter of ε = 1; exact."""
    counter = HybridCounter(1.0, split)
    width = math.sqrt(8) / in_bound * math.log(2 / gamma) * (LOGARITHMS[logarithm](length) + 1)
    return counter.error_probability(width, length) / gamma


@claim(
    "td16-bound-2.2",
    "Equation (2.2)",
    "With probability at least 1 − γ the hybrid sum at n is off by at most "
    "(√8/ε)·log(2/γ)·(log n + 1).",
    at="thm-bound22",
)
def bound() -> Finding:
    # (length, γ) at which to look
    points = {
        ("full", "base 2"): (196_607, 0.148),
        ("full", "natural"): (2_047, 0.133),
        ("half", "base 2"): (127, 0.098),
        ("half", "natural"): (31, 0.072),
    }
    ratios = {
        f"{split}, log {name}: n = {n}, γ = {gamma}": _failure(split, name, gamma, n)
        for (split, name), (n, gamma) in points.items()
    }
    # the law depends on k and on the number of set bits; the least such n has the least width
    lengths = [2**k + 2**bits - 1 for k in (1, 2, 3, 4, 6, 9, 13, 20) for bits in range(k + 1)]

    def rare(split: str, in_bound: float = 1.0) -> float:
        """Return the greatest failure / γ at small γ."""
        return max(
            _failure(split, name, 2 * float(t) ** -4, n, in_bound)
            for name in LOGARITHMS
            for n in lengths
            for t in (n, n**2)
        )

    small = {split: rare(split) for split in SPLITS}
    halved = rare("half", 0.5)
    half = "for counters of ε/2 each it holds there, too"
    if small["half"] > 1:
        unless = ", unless ε is halved in the bound as well" if halved < 1 else ""
        half = f"for counters of ε/2 each it fails there, too{unless}"
    broken = sum(ratio > 1 for ratio in ratios.values())
    return Finding(
        decide(
            broken == 0 and max(small.values()) < 1,
            HOLDS,
            CONDITION if broken == len(ratios) and small["full"] < 1 else FAILS,
        ),
        "Computed from the exact law of the noise. It fails, by a few per cent of γ, for some γ "
        "between 0.05 and 0.2 once n is large enough, whichever logarithm is meant. Where γ is as "
        "small as 2t^(−4), n ≤ t, it holds with much room for scale 1/ε at powers of two and trees "
        f"of ε (2ε-private); {half}.",
        {f"failure / γ, {where}": round(ratio, 4) for where, ratio in ratios.items()}
        | {
            f"greatest failure / γ at γ = 2t^(−4), n ≤ 2²¹, {split}": float(f"{ratio:.2g}")
            for split, ratio in small.items()
        }
        | {"the same, half, with ε/2 in the bound": float(f"{halved:.2g}")},
    )


def _allowed(time: int, length: int) -> float:
    """Return ν of Algorithm 1 for ε = 1."""
    return float(noise_width(1.0, math.log(time), noise_bracket(length)))


@claim(
    "td16-bound-2.2-used",
    "Algorithm 1; §3.1",
    "ν, with log2 n' + 1 for log n + 1, covers the noise with probability 1 − 2t^(−4) or more.",
    at="thm-bound22",
)
def bound_used() -> Finding:
    counter = DPUCBBound(1.0, split="full").counter
    failures = {}
    for power in (3, 4, 5, 6):
        time = 10**power
        length = (1 << ((time - 1).bit_length() - 1)) + 1
        failures[power] = counter.error_probability(_allowed(time, length), length)
    claimed = {power: 2 * 10.0 ** (-4 * power) for power in failures}
    broken = all(failures[power] > claimed[power] for power in failures)
    lengths = [2**k + extra for k in range(2, 20) for extra in (1, 2**k - 1)]
    widths = {n: noise_width(1.0, math.log(n), noise_bracket(n, repaired=True)) for n in lengths}
    repaired = max(counter.error_probability(width, n) * n**4 / 2 for n, width in widths.items())
    then = "holds" if repaired <= 1 else "fails as well"
    return Finding(
        decide(broken, FAILS, HOLDS),
        "Equation (2.2) has log n, and Algorithm 1 has log2 n', which is 0 at n = 2^k + 1: there "
        "ν does not grow with k, and the node does. The greatest such n up to t misses 2t^(−4) by "
        f"many orders of magnitude. With ⌊log2 n⌋ in place of log2 n' it {then}. The "
        "index is wider then, most of all just after powers of two.",
        {
            f"failure at t = 10^{power}, 2t^(−4) = {claimed[power]:.0e}": float(f"{p:.3g}")
            for power, p in failures.items()
        }
        | {"greatest failure / 2t^(−4) with ⌊log2 n⌋, t = n < 2²⁰": float(f"{repaired:.2g}")},
    )


def _cdf(z: Floats) -> Floats:
    """Return the distribution function of a Laplace variable of scale 1."""
    return np.exp(laplace_log_cdf(z))


def _two_steps(epsilon: float, fall: float) -> tuple[float, float]:
    """Return the losses of all actions and of the second step, w + x against 1 and 1 − fall."""
    outcomes = []
    for x in (0.0, 1.0):
        high, low = (float(_cdf(np.array(epsilon * (u - x)))) for u in (1.0, 1.0 - fall))
        outcomes.append((1 - high, high - low, low))
    sequence = max(abs(math.log(p / q)) for p, q in zip(*outcomes, strict=True))
    won = [o[1] / (o[1] + o[2]) for o in outcomes]
    stays = [o[2] / (o[1] + o[2]) for o in outcomes]
    step = max(abs(math.log(won[1] / won[0])), abs(math.log(stays[1] / stays[0])))
    return sequence, step


def _repeated(epsilon: float, steps: int) -> tuple[float, float]:
    """Return the loss of one step and of all, each a randomised answer about the first reward."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    answers: Sequence[Sequence[float]] = ((truth, 1 - truth), (1 - truth, truth))
    one = max(abs(math.log(p / q)) for p, q in zip(*answers, strict=True))
    all_steps = max(
        abs(sum(math.log(answers[0][a] / answers[1][a]) for a in path))
        for path in itertools.product((0, 1), repeat=steps)
    )
    return one, all_steps


@claim(
    "td16-text-definition",
    "Definition 2.1",
    "(ε, δ)-privacy of each action, given the past actions, keeps the presence or absence of "
    "an individual from affecting the output of the algorithm much.",
    at="prop-steps",
)
def definition() -> Finding:
    epsilon, steps = 0.1, 12
    one, together = _repeated(epsilon, steps)
    sequence, step = _two_steps(epsilon, 0.01)
    fine = 1 + 1e-9
    bounded = together <= epsilon * fine
    doubled = sequence <= epsilon * fine and epsilon * fine < step <= 2 * epsilon * fine
    example = "Nor does ε for the whole sequence give ε for each step, but 2ε: one noisy number "
    example += "that is compared with two thresholds is an example. "
    return Finding(
        decide(one <= epsilon * fine and bounded, HOLDS, CONDITION),
        "It bounds one action given the past ones, not all of them: an algorithm that gives a "
        "randomised answer about the first reward at every step satisfies it at ε and loses ε at "
        f"each of them. {example if doubled else ''}What an observer of all actions learns is the "
        "whole sequence's.",
        {
            "ε": epsilon,
            "loss of one step": round(one, 6),
            f"loss of {steps} steps": round(together, 6),
            "two thresholds: loss of the sequence": round(sequence, 6),
            "two thresholds: loss of the second step": round(step, 4),
        },
    )


def _bonus(scale: float, time: int, pulls: int) -> float:
    """Return what DP-UCB-BOUND adds to an arm's private mean."""
    width = float(noise_width(scale, math.log(time), noise_bracket(pulls)))
    return width / pulls + math.sqrt(2 * math.log(time) / pulls)


def _noise(counter: HybridCounter, length: int, rng: np.random.Generator) -> list[Floats]:
    """Draw the noise of a counter's sums at 0, 1, …, length."""
    path = [np.zeros(DRAWS)]
    for n in range(1, length + 1):
        levels = n.bit_length() - 1
        power = n & (n - 1) == 0
        before = path[n // 2 if power else n & (n - 1)]
        scale = counter.block_scale if power else counter.node_scale(levels)
        path.append(before + laplace_noise(rng, scale, DRAWS))
    return path


def _path_probabilities(counter: HybridCounter) -> tuple[Floats, Floats]:
    """Return draws with P(PATH) as means, for third rewards 0 and 1 of arm 1.

    Arm 1's other rewards are 1, those of arm 2 are 0. Drawn are the noise of arm 2 and that of
    arm 1 up to n = 2. Given these, each decision with n = 3 is about the node's variable there,
    and each with n = 4 about that of the block {3, 4}: probabilities of intervals.
    """
    rng = np.random.default_rng(0)
    other = _noise(counter, PATH.count(2), rng)
    own = _noise(counter, 2, rng)
    possible = np.ones(DRAWS, dtype=bool)
    low = {n: np.full(DRAWS, -np.inf) for n in (3, 4)}
    high = {n: np.full(DRAWS, np.inf) for n in (3, 4)}
    pulls = [0, 0]
    for time, action in enumerate(PATH, 1):
        n, m = pulls
        if time > 2:
            rival = other[m] / m + _bonus(counter.block_scale, time, m)
            needed = n * (rival - _bonus(counter.block_scale, time, n))  # of sum and noise
            if n <= 2:
                possible &= (n + own[n] >= needed) == (action == 1)
            elif action == 1:
                low[n] = np.maximum(low[n], needed - own[2] - (n - 1))
            else:
                high[n] = np.minimum(high[n], needed - own[2] - (n - 1))
        pulls[action - 1] += 1
    scales = {3: counter.node_scale(1), 4: counter.block_scale}
    found = []
    for x in (0.0, 1.0):
        probability = possible.astype(np.float64)
        for n, scale in scales.items():
            between = _cdf((high[n] - x) / scale) - _cdf((low[n] - x) / scale)
            probability = probability * np.maximum(between, 0.0)
        found.append(probability)
    return found[0], found[1]


def _mean_above(sample: Floats, span: float) -> float:
    """Return what the mean of a law with values in a range of length `span` surely exceeds.

    Empirical Bernstein inequality (Maurer & Pontil 2009), wrong with probability 10^(−6).
    """
    log_term = math.log(2e6)
    n = sample.size
    spread = math.sqrt(2 * float(sample.var(ddof=1)) * log_term / n)
    return float(sample.mean()) - spread - 7 * span * log_term / (3 * (n - 1))


@claim(
    "td16-thm-3.1",
    "Theorem 3.1, for all actions together",
    "DP-UCB-BOUND is ε-DP after any number of plays.",
    at="thm-31",
)
def theorem_3_1() -> Finding:
    epsilon = 1.0
    losses = {
        split: max(
            element_loss(DPUCBBound(epsilon, split=split).counter, i, 64) for i in range(1, 65)
        )
        for split in ("half", "full")
    }
    private = losses["half"] <= epsilon * (1 + 1e-12)
    first, second = _path_probabilities(DPUCBBound(epsilon, split="full").counter)
    factor = math.exp(epsilon)
    exceeded = _mean_above(first - factor * second, 1 + factor) > 0
    return Finding(
        decide(
            exceeded,
            CONDITION if private else FAILS,
            decide(max(losses.values()) <= epsilon * (1 + 1e-12), HOLDS, CANNOT_TELL),
        ),
        "By post-processing, as the paper says, the whole sequence of actions has the ε of one "
        "counter: ε itself if blocks and trees get ε/2 each, and 2ε with scale 1/ε at powers of "
        "two and trees of ε. There ε is not true: the actions 1 2 1 2 1 2 2 1 2 lose more "
        "on whether arm 1's third reward is 0 or 1 (its others 1, those of arm 2 0).",
        {
            "ε of one counter / ε, ε/2 each": round(losses["half"] / epsilon, 6),
            "ε of one counter / ε, ε each": round(losses["full"] / epsilon, 6),
            "P(actions), third reward 0, ε = 1 each": round(float(first.mean()), 4),
            "log ratio of probabilities, ε = 1 each": round(
                math.log(first.mean() / second.mean()), 2
            ),
        },
    )


def _hazard_ratio(scale: float) -> float:
    """Return the greatest log f(u − 1)F(u)/(F(u − 1)f(u)), Laplace noise of this scale."""
    u = np.linspace(-2.0, 4.0, 6001)

    def log_hazard(x: Floats) -> Floats:
        result: Floats = -np.abs(x / scale) - np.log(2 * scale * _cdf(x / scale))
        return result

    return float(np.max(log_hazard(u - 1.0) - log_hazard(u)))


def _looked_at_twice(budget: float) -> float:
    """Return what a noisy value of some budget loses, if it is looked at twice."""
    return math.log(2 * math.exp(budget) - 1)


@claim(
    "td16-thm-3.1-def-2.1",
    "Theorem 3.1, read by Definition 2.1",
    "Each action of DP-UCB-BOUND, given the past actions, is ε-DP.",
    at="thm-31",
)
def theorem_3_1_step() -> Finding:
    epsilon = 1.0
    counters = {s: DPUCBBound(epsilon, split=s).counter for s in ("half", "full")}
    proved = {
        split: 2 * max(element_loss(counter, i, 64) for i in range(1, 65))
        for split, counter in counters.items()
    }
    alone = {split: _hazard_ratio(counter.block_scale) for split, counter in counters.items()}
    evidence: dict[str, float | int | str] = {}
    for split, name in (("half", "ε/2 each"), ("full", "ε each")):
        evidence[f"proved for one step / ε, {name}"] = round(proved[split] / epsilon, 6)
        evidence[f"one block's value looked at twice, step loss / ε of the block, {name}"] = round(
            alone[split] * counters[split].block_scale, 4
        )
    more = all(alone[s] > 1 / counters[s].block_scale for s in counters)
    law = all(
        math.isclose(alone[s], _looked_at_twice(1 / counters[s].block_scale), rel_tol=1e-6)
        for s in counters
    )
    single = "A single noisy value of budget e that is looked at twice loses log(2·exp(e) − 1), up "
    single += "to 2e for small e. "
    return Finding(
        decide(proved["half"] <= epsilon * (1 + 1e-9), HOLDS, CANNOT_TELL),
        "The printed proof is about the whole sequence, and from its ε follows 2ε for one action "
        f"given the past ones. {single if more and law else ''}Whether Algorithm 1 has histories "
        "after which a step loses more than ε is not known to us, in either split.",
        evidence,
    )


def _scales_used(interval: int, exponent: float, releases: int) -> Floats:
    """Return the scales of the noise that the algorithm draws for one arm, release by release."""
    drawn: list[float] = []

    def record(rng: np.random.Generator, scale: float) -> float:
        drawn.append(scale)
        return 0.0

    loop = run_dp_ucb_int.py_func
    loop = FunctionType(loop.__code__, loop.__globals__ | {"laplace": record})
    played = FunctionType(
        play_dp_ucb_int.__code__,
        play_dp_ucb_int.__globals__ | {"run_dp_ucb_int": loop},
        argdefs=play_dp_ucb_int.__defaults__,
    )
    end = interval * releases + 1
    policy = IntervalPolicy(interval, exponent, 1.0, refreshed=True, literal=False)
    rewards = FixedRewards(np.ones((1, end)), log=False)
    played(policy, rewards, np.array([end]), np.random.default_rng(0))
    return np.array(drawn)


@claim(
    "td16-lemma-3.1",
    "Lemma 3.1",
    "A released mean of n rewards, with Laplace noise of scale n^(v/2 − 1), is n^(−v/2)-DP.",
    at="lem-31",
)
def lemma_3_1() -> Finding:
    worst = 0.0
    for f, v in itertools.product((1, 2, 16, 147), (1.01, 1.1, 1.5)):
        scales = _scales_used(f, v, 50)
        n = f * np.arange(1.0, 1 + scales.size)
        worst = max(worst, float(np.max(1 / n / scales * n ** (v / 2))))
    for f, v in itertools.product((1, 2, 16, 147, 10_000), (1.01, 1.1, 1.5)):
        losses = DPUCBInt(input_of(f), exponent=v).losses(1000 * f)
        claimed = (f * np.arange(1.0, 1 + losses.size)) ** (-v / 2)
        worst = max(worst, float(np.max(losses / claimed)))
    return Finding(
        decide(worst <= FINE),
        "One reward moves the mean of n by at most 1/n, and the Laplace scale that the algorithm "
        "draws with is n^(v/2 − 1): the loss is n^(−v/2).",
        {"greatest loss / n^(−v/2)": round(worst, 9)},
    )


def _first_branch(epsilon: float, times: int, exponent: float) -> float:
    """Return the first bound of Theorem 3.4."""
    n = np.arange(1.0, times + 1)
    return epsilon * math.fsum(n ** (-exponent / 2))


@claim(
    "td16-thm-3.4-first",
    "Theorem 3.4, first bound",
    "After t steps DP-UCB-INT is ε'-DP with ε' ≤ ε·Σ n^(−v/2), n ≤ t.",
    at="prop-34",
)
def theorem_3_4_first() -> Finding:
    shares = {"refreshed": 0.0, "literal": 0.0}
    for f, v, horizon in itertools.product((1, 2, 16, 147), (1.05, 1.1, 1.5), (1000, HORIZON)):
        for reading in shares:
            algorithm = DPUCBInt(input_of(f), reading, v)
            spent = accounting.basic_composition(algorithm.losses(horizon))
            claimed = _first_branch(algorithm.epsilon, horizon, v)
            shares[reading] = max(shares[reading], spent / claimed)
    parked = DPUCBInt(input_of(16), "literal").losses(10_000 + 2 * 16)
    fits = {reading: share <= FINE for reading, share in shares.items()}
    return Finding(
        decide(all(fits.values()), HOLDS, CONDITION if fits["refreshed"] else FAILS),
        "True of one release for every f pulls: the mean of n^(−v/2) over the f pulls up to a "
        "release is at least its loss. Read literally, n mod f = 0 stays true while an "
        "arm is not played, each step releases it again with new noise, and the loss of an arm at "
        "rest grows in proportion to t.",
        {
            "greatest loss / bound, one release for f pulls": round(shares["refreshed"], 4),
            "greatest loss / bound, literally": float(f"{shares['literal']:.3g}"),
            "ε at δ = e^(−10) of 10000 releases of an arm at rest, f = 16": round(
                accounting.epsilon_at(DELTA, parked).lower, 1
            ),
            "bound at t = 10000": round(_first_branch(1 / 16, 10_000, EXPONENT), 2),
        },
    )


def _inputs() -> dict[float, DPUCBInt]:
    """Return the algorithms that the experiments run."""
    return {target: DPUCBInt(DPUCBInt.target_input(target, DELTA, EXPONENT)) for target in TARGETS}


def _second_branch(epsilon: float, times: int, last: bool) -> float:
    """Return the second bound of Theorem 3.4, with √(t^v) (as printed) or √(n^v) in the sum."""
    n = np.arange(1.0, times + 1)
    losses = n ** (-EXPONENT / 2)
    weights = np.full(n.size, losses[-1]) if last else losses
    means = epsilon * math.fsum(np.expm1(losses) * weights)
    return epsilon * (means + math.sqrt(2 * math.log(1 / DELTA) * math.fsum(losses**2)))


def _parts(losses: Floats) -> tuple[Floats, Floats]:
    """Return the losses of an arm that is played throughout, and of one in half of the steps.

    An arm has the first half of its releases, if it is played in at least half of the steps.
    """
    return losses, losses[: losses.size // 2]


def _true(losses: Floats) -> float:
    """Return what the ε at δ = e^(−10) of the releases of one arm together is not below.

    That is their composition, and no less where the arm is played until all are made.
    """
    return accounting.epsilon_at(DELTA, losses).lower


def _verdict(bad: bool, worse: bool, otherwise: str = FAILS) -> str:
    """Judge by whether all releases break a bound, and whether the first half of them does."""
    return decide(bad and worse, otherwise, decide(bad, CANNOT_TELL, HOLDS))


@claim(
    "td16-thm-3.4-second",
    "Theorem 3.4, second bound",
    "Its releases, and so its actions, are (ε', δ')-DP with "
    "ε' ≤ ε·(ε·Σ (exp(n^(−v/2)) − 1)/√(t^v) + √(Σ 2·log(1/δ')/n^v)).",
    at="prop-34",
)
def theorem_3_4_second() -> Finding:
    evidence: dict[str, float | int | str] = {}
    broken = half_broken = True
    for algorithm in _inputs().values():
        printed, likely = (
            _second_branch(algorithm.epsilon, HORIZON, last=last) for last in (True, False)
        )
        true, half = map(_true, _parts(algorithm.losses(HORIZON)))
        broken = broken and true > max(printed, likely)
        half_broken = half_broken and half > max(printed, likely)
        evidence |= {
            f"printed, f = {algorithm.interval}": round(printed, 4),
            f"printed with √(n^v), f = {algorithm.interval}": round(likely, 4),
            f"ε of the releases, f = {algorithm.interval}": round(true, 4),
            f"ε of the first half of them, f = {algorithm.interval}": round(half, 4),
        }
    intervals = (16, 256, 4096)
    ratios = [
        _true(DPUCBInt(input_of(f)).losses(1000 * f)) / _second_branch(1 / f, 1000 * f, last=False)
        for f in intervals
    ]
    power = math.log(ratios[-1] / ratios[0]) / math.log(intervals[-1] / intervals[0])
    evidence["power of f with which ε / printed grows, f = 16 to 4096"] = round(power, 3)
    return Finding(
        _verdict(broken, half_broken and power > 0.1),
        "The square root holds the sum over releases n = fj of n^(−v), which is about "
        "ε^v·Σ j^(−v), and at most ε·Σ n^(−v): at best √ε comes out of the root, not ε. "
        "Computed for Laplace noise, the true ε at δ = e^(−10) exceeds the bound by a factor that "
        f"grows with f (measured power {power:.2f} at 1000 releases; f^(1 − v/2) as t → ∞). "
        f"{PLAYED} √(t^v) in the first sum is probably meant as √(n^v); it makes no difference to "
        "that. With sums over the releases n = fj, and no factor in front, it is the composition "
        "theorem that the paper cites, and holds; a target then takes a longer interval.",
        evidence,
    )


@claim(
    "td16-cor-3.1",
    "Corollary 3.1",
    "Its releases, and so its actions, are (ε', δ')-DP with "
    "ε' ≤ ε·min((t^(1−v/2) − v/2)/(1 − v/2), 2εζ(v) + √(2ζ(v)·log(1/δ'))).",
    at="prop-34",
)
def corollary_3_1() -> Finding:
    integral = max(
        _first_branch(1.0, t, v) / ((t ** (1 - v / 2) - v / 2) / (1 - v / 2))
        for t in (1, 2, 3, 10, 1000, HORIZON)
        for v in (1.001, 1.1, 1.3, 1.5)
    )
    x = np.linspace(0, 1, 1001)
    exponential = float(np.max(np.exp(x) / (1 + 2 * x)))
    ratios, halves, corrected = {}, {}, {}
    for target, algorithm in _inputs().items():
        epsilon = algorithm.epsilon
        series = float(zeta(EXPONENT))
        square = algorithm.interval**-EXPONENT
        corrected[target] = 2 * square * series
        corrected[target] += math.sqrt(2 * square * series * math.log(1 / DELTA))
        first = epsilon * (HORIZON ** (1 - EXPONENT / 2) - EXPONENT / 2) / (1 - EXPONENT / 2)
        second = epsilon * (2 * epsilon * series + math.sqrt(2 * series * math.log(1 / DELTA)))
        true, half = map(_true, _parts(algorithm.losses(HORIZON)))
        ratios[target] = true / min(first, second)
        halves[target] = half / min(first, second)
    steps = "are right" if max(integral, exponential) <= FINE else "are not both right"
    return Finding(
        _verdict(min(ratios.values()) > 1, min(halves.values()) > 1),
        f"Its own two steps, the integral test and e^x ≤ 1 + 2x on [0, 1], {steps}; the second "
        "bound inherits from Theorem 3.4 the factor ε before a root out of which only √ε comes. "
        f"Here it is compared with the ε of the releases. {PLAYED} Corrected: "
        "2f^(−v)·ζ(v) + √(2f^(−v)·ζ(v)·log(1/δ')), which is greater by a power of f.",
        {
            "greatest sum / integral": round(integral, 6),
            "greatest e^x/(1 + 2x)": round(exponential, 6),
        }
        | {
            f"ε of the releases / bound, T = 10⁵, f = {algorithm.interval}": round(ratios[t], 3)
            for t, algorithm in _inputs().items()
        }
        | {
            f"the same, first half of the releases, f = {algorithm.interval}": round(halves[t], 3)
            for t, algorithm in _inputs().items()
        }
        | {
            f"corrected bound, f = {algorithm.interval}": round(corrected[t], 3)
            for t, algorithm in _inputs().items()
        },
    )


@claim(
    "td16-cor-3.2",
    "Corollary 3.2; §4",
    "With the input that Corollary 3.2 computes for (ε, δ) the releases of DP-UCB-INT, and so "
    "its actions, are (ε, δ)-DP.",
    at="prop-34",
)
def corollary_3_2() -> Finding:
    series = float(zeta(EXPONENT))
    inverse = max(
        abs(2 * series * x**2 + math.sqrt(2 * series * math.log(1 / DELTA)) * x - target) / target
        for target in (*TARGETS, 0.01, 0.5)
        for x in (DPUCBInt.target_input(target, DELTA, EXPONENT),)
    )
    evidence: dict[str, float | int | str] = {
        "relative error of the inversion, greatest": float(f"{inverse:.0e}")
    }
    exceeded: dict[str, list[bool]] = {}
    for target, algorithm in _inputs().items():
        losses = algorithm.losses(HORIZON)
        every, half = _parts(losses)
        for name, seen in (
            ("", every),
            (", first half of the releases", half),
            (", without the first f rewards", losses[1:]),
            (", first half without these", _parts(losses[1:])[1]),
        ):
            epsilon = accounting.epsilon_at(DELTA, seen).lower
            delta = accounting.delta_at(target, seen).lower
            exceeded.setdefault(name, []).append(epsilon > target and delta > DELTA)
            evidence |= {
                f"ε at δ = e^(−10), target {target:g}{name}": round(epsilon, 5),
                f"δ at ε = {target:g}{name}": float(f"{delta:.4g}"),
            }
        evidence[f"δ / e^(−10) at ε = {target:g}"] = round(
            accounting.delta_at(target, losses).lower / DELTA
        )
    for target, algorithm in _inputs().items():
        least = DPUCBInt.calibrated(target, DELTA, HORIZON, by="interval").interval
        name = f"f that keeps target {target:g} / f of the corollary"
        evidence[name] = round(least / algorithm.interval, 2)
    return Finding(
        _verdict(all(exceeded[""]), all(map(all, exceeded.values()))),
        "The formula inverts the second bound of Corollary 3.1, and that bound is too small. At "
        "the two targets of the experiments, (1, e^(−10)) and (0.1, e^(−10)), the releases are "
        "not that private at T = 10⁵, also if the rewards of the first K·f pulls are left out of "
        f"every mean, as the pseudo-code has it. {PLAYED} Actions show less than releases. Whether "
        "the actions alone keep a target is open; for one action see the same corollary, read by "
        "Definition 2.1. Intervals whose releases keep the targets are among the numbers, and "
        "longer.",
        evidence,
    )


def _of_elements(counter: HybridCounter, elements: int, length: int = 64) -> float:
    """Return the greatest loss of some elements together in all sums of a counter.

    A Laplace variable that holds several of them is moved by as much as they are together.
    """
    losses = sorted(element_loss(counter, i, length) for i in range(1, length + 1))
    return math.fsum(losses[-elements:])


@claim(
    "td16-groups",
    "§5",
    "m observations of one individual are covered by re-scaling the privacy parameter to ε/m.",
    at="thm-31",
)
def groups() -> Finding:
    epsilon, sizes = 1.0, (1, 2, 5, 10)
    pure = max(_of_elements(HybridCounter(epsilon / m), m) for m in sizes)
    found, halves = {}, {}
    for m in sizes:
        algorithm = DPUCBInt(DPUCBInt.target_input(epsilon / m, DELTA, EXPONENT))
        every, half = _parts(m * algorithm.losses(HORIZON))
        found[m], halves[m] = _true(every), _true(half)
    bad, worse = (max(each.values()) > epsilon * FINE for each in (found, halves))
    relative = all(each[m] <= each[1] * FINE for each in (found, halves) for m in sizes)
    return Finding(
        _verdict(bad, worse, CONDITION) if pure <= epsilon * FINE else FAILS,
        "True of pure privacy, and so of the algorithms with hybrid counters: ε/m for one reward "
        "gives ε for m. DP-UCB-INT with the input of Corollary 3.2 for ε/m "
        + ("keeps" if relative else "does not even keep")
        + " for m rewards of one arm the ε that it has for one: their loss is m times as great, "
        f"and the interval grows in proportion to m, which lowers it by m^(v/2) only. {PLAYED}",
        {
            "loss of m rewards at ε/m / ε, hybrid counter ε/2 each": round(pure / epsilon, 6),
        }
        | {f"ε at δ = e^(−10), m = {m}, target {1 / m:g}": round(v, 3) for m, v in found.items()}
        | {
            f"the same, first half of the releases, m = {m}": round(v, 3) for m, v in halves.items()
        },
    )


def next_action(interval: int, noise: float, wait: Wait, fine: int = 1) -> tuple[float, float]:
    """Return P(arm 1 is played next, given the past actions) for a changed reward of 0, of 1.

    Reading "refreshed", two arms. Arm 1's value is w = mean + noise of its release at f pulls. At
    time t it loses to the j-th value y of arm 2 if w < y − √(2 log t)·(1/√f − 1/√(jf)), and if it
    does so at the last of the f times of that value, t = (j + 2)f, it does at all. The past is
    J − 1 such losses, and the next action has t = (J + 1)f + 1. With φ the density of w, A(w) the
    probability of the losses and G(w) that of a win, given w, the answer is ∫φAG/∫φA, by
    Gauss–Legendre quadrature between the kinks of φ, A and G, with steps of 1/`fine` of the usual
    length.
    """
    f, last = interval, wait.releases
    j = np.arange(1.0, last + 1)
    scale = noise * (j * f) ** (EXPONENT / 2 - 1)
    mean = np.where(j <= last - wait.low, 1.0, (last - wait.low) / j)
    times = np.append((j[:-1] + 2) * f, (last + 1) * f + 1)
    needed = mean - np.sqrt(2 * np.log(times)) * (1 - j**-0.5) / math.sqrt(f)
    centres = (wait.reward * (f - 1) + np.array([0.0, 1.0])) / f
    low, high = centres[0] - 40 * scale[0], max(centres[0], needed[-1]) + 3 * scale[0]
    ends = np.concatenate(
        [
            centres,
            needed[needed < high],
            needed[-1] + scale[-1] * np.linspace(-40, 40, 80 * fine + 1),
            np.linspace(low, high, 300 * fine + 1),
        ]
    )
    ends = np.unique(ends)
    half = 0.5 * np.diff(ends)
    w = ((ends[:-1] + half)[:, None] + half[:, None] * _NODES).ravel()
    weights = (half[:, None] * _WEIGHTS).ravel()
    lost = sum(laplace_log_cdf(u - w, b) for u, b in zip(needed[:-1], scale[:-1], strict=True))
    win = np.exp(laplace_log_cdf(w - needed[-1], scale[-1]))
    chances = []
    for centre in centres:
        past = weights * np.exp(-np.abs(w - centre) / scale[0] + lost)
        chances.append(float(past @ win / past.sum()))
    return chances[0], chances[1]


@claim(
    "td16-cor-3.2-def-2.1",
    "Corollary 3.2; §4, read by Definition 2.1",
    "With the input for (ε, δ) each action of DP-UCB-INT, given the past actions, is (ε, δ)-DP.",
    at="prop-int-step",
)
def corollary_3_2_step() -> Finding:
    waits = {0.1: Wait(600, 30, 0.55), 1.0: Wait(30, 0, 0.0)}
    evidence: dict[str, float | int | str] = {}
    excess = {}
    for target, wait in waits.items():
        algorithm = DPUCBInt(DPUCBInt.target_input(target, DELTA, EXPONENT))
        zero, one = next_action(algorithm.interval, algorithm.noise, wait)
        finer = next_action(algorithm.interval, algorithm.noise, wait, fine=3)
        error = abs(finer[1] - one) + math.exp(target) * abs(finer[0] - zero)
        excess[target] = finer[1] - math.exp(target) * finer[0] - 100 * error
        evidence |= {
            f"log ratio of one step, target {target:g}": round(math.log(finer[1] / finer[0]), 4),
            f"δ needed, target {target:g}": float(f"{max(0.0, excess[target]):.3g}"),
        }
    evidence["e^(−10)"] = float(f"{DELTA:.3g}")
    other = (
        "needs more as well" if excess[1.0] > DELTA else "does not suffice, and it is not settled"
    )
    return Finding(
        decide(excess[0.1] > DELTA, FAILS, CANNOT_TELL),
        "At target 0.1, f = 147, one action needs more than δ = e^(−10): arm 1 waits, its other "
        "rewards 0.55, while arm 2 is released 600 times, its rewards 1 and in its last 30·147 "
        "pulls 0; given these losses, whether arm 1 is played next shows its changed reward. "
        "Computed by quadrature, for values that are refreshed. At target 1, f = 16, the same "
        f"{other}.",
        evidence,
    )
