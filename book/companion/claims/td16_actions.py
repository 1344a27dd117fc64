"""Claims of Tossou & Dimitrakakis (2016) on the privacy of the actions: one step, and all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from companion.claims.ledger import CANNOT_TELL, CONDITION, FAILS, HOLDS, Claim, Finding, decide
from companion.claims.td16_counters import element_loss
from dpbandits.mechanisms.hybrid import HybridCounter
from dpbandits.mechanisms.laplace import laplace_log_cdf, laplace_noise
from dpbandits.regret.dp_ucb_bound import DPUCBBound
from dpbandits.schedules import noise_bracket, noise_width

__all__ = ["CLAIMS"]

PAPER = "td16"

Floats = NDArray[np.float64]

PATH = (1, 2, 1, 2, 1, 2, 2, 1, 2)
"""Actions that are likelier with one third reward of arm 1 than with another."""
DRAWS = 100_000


def _cdf(z: Floats) -> Floats:
    """Return the distribution function of a Laplace variable of scale 1."""
    return np.exp(laplace_log_cdf(z))


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


def _theorem_3_1() -> Finding:
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


def _theorem_3_1_step() -> Finding:
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


def _definition() -> Finding:
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


CLAIMS = (
    Claim(
        "td16-text-definition",
        PAPER,
        "Definition 2.1",
        "(ε, δ)-privacy of each action, given the past actions, keeps the presence or absence of "
        "an individual from affecting the output of the algorithm much.",
        _definition,
    ),
    Claim(
        "td16-thm-3.1",
        PAPER,
        "Theorem 3.1, for all actions together",
        "DP-UCB-BOUND is ε-DP after any number of plays.",
        _theorem_3_1,
    ),
    Claim(
        "td16-thm-3.1-def-2.1",
        PAPER,
        "Theorem 3.1, read by Definition 2.1",
        "Each action of DP-UCB-BOUND, given the past actions, is ε-DP.",
        _theorem_3_1_step,
    ),
)
