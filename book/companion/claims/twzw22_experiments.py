"""Claims of Tao, Wu, Zhao & Wang (2022), §6: what the experiments show."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from companion.claims.findings import Evidence, Finding, claim, entries, finding
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from dpbandits import Runs, bounds
from dpbandits.rewards.heavy_instances import twzw22

FIGURES = "twzw22-figures"
"""Name of the results that claims need, which are the runs of Figures 1 to 4 by `Setting`."""
LOCAL = "twzw22-fig2"
PRIVATE = ("DPRSE", "DPRUCB", "LDPRSE")
LEVEL = 1e-8
"""One-sided false alarm of a comparison; there are fewer than 100."""
ROUNDING = 1e-6
"""Share of a regret up to which a difference is none."""


class Mean(NamedTuple):
    """A mean regret and what it may be off by."""

    name: str
    value: float
    off: float


class Setting(NamedTuple):
    """Figure and panel, and what is simulated there."""

    figure: str
    panel: str
    setting: str
    order: float
    epsilon: float
    algorithm: str
    variant: str


Results = Mapping[Setting, Runs]


@claim("twzw22-setting-3", "§6", at="the-paper-s-figures")
def third_setting() -> Finding:
    """(reconstructed) In the local model Setting 3 has, in theory, larger regret than Settings 1
    and 2.
    """
    names, orders = ("S1", "S2", "S3"), (0.9, 0.5)
    far = {}
    for name, order in itertools.product(names, orders):
        law = twzw22(name, order)
        problem: Any = {"epsilon": 1.0, "moment": law.moment_bound, "order": order}
        far[name, order] = bounds.heavy_elimination_regret(law.gaps, 1e90, **problem, model="local")
    ratios = {(n, v): float(far["S3", v]) / float(far[n, v]) for n in names[:2] for v in orders}
    sums = {name: float(twzw22(name, 0.9).gaps.sum()) for name in names}
    return finding(
        decide(min(ratios.values()) > 1, CONDITION if sums["S3"] < sums["S1"] else HOLDS),
        "At horizons at which all gaps have been seen: its least gap of 0.05 decides. Until an arm "
        "is dropped all are played in turn, regret is in proportion to the sum of the gaps, and "
        "that of Setting 3 is the least.",
        entries("our bound, S3 / {}, v = {}", ratios, ".3g"),
        entries("sum of gaps, {}", sums, 2),
    )


def _private(results: Results) -> Results:
    """Return the runs of the private algorithms."""
    return {case: runs for case, runs in results.items() if case.algorithm in PRIVATE}


def _mean(setting: Setting, found: Results, time: float = math.inf) -> Mean:
    """Return the mean regret at the last checkpoint up to a time, with an interval of `LEVEL`."""
    runs = found[setting]
    at = int(np.searchsorted(runs.times, min(time, float(runs.horizon)), side="right")) - 1
    low, high = runs.mean_interval(1 - 2 * LEVEL)
    name = f"{setting.setting} (v = {setting.order:g}, ε = {setting.epsilon:g})"
    return Mean(name, float(runs.mean()[at]), float(high[at] - low[at]) / 2)


def _sign(less: Mean, more: Mean) -> int:
    """Return 1 if the first is surely less than the second, −1 if surely more, else 0."""
    difference, off = more.value - less.value, math.hypot(less.off, more.off)
    off += ROUNDING * max(less.value, more.value)
    return int(difference > off) - int(difference < -off)


def _judge(
    pairs: Iterable[tuple[Mean, Mean]], reason: str, what: str, extra: Evidence | None = None
) -> Finding:
    """Judge that in each pair the first regret is less than the second."""
    signs = [(_sign(less, more), less, more) for less, more in pairs]
    number = {sign: sum(s == sign for s, _, _ in signs) for sign in (1, 0, -1)}
    ratios = [less.value / more.value for _, less, more in signs]
    agree = number[1] == len(signs) > 0
    listed = f"Of {len(signs)} comparisons {number[1]} surely agree"
    for sign, word in ((0, "are ties"), (-1, "surely disagree")):
        if number[sign]:
            where = dict.fromkeys(less.name for s, less, _ in signs if s == sign)
            listed += f"; {number[sign]} {word}, in {', '.join(where)}"
    return finding(
        decide(agree, HOLDS, CONDITION if number[1] else FAILS if number[-1] else CANNOT_TELL),
        f"{reason} {listed}.",
        ("comparisons", len(signs)),
        ("surely agree", number[1]),
        ("ties", number[0]),
        ("surely disagree", number[-1]),
        (f"greatest ratio of mean regrets, {what}", max(ratios), 4),
        (f"least ratio of mean regrets, {what}", min(ratios), 4),
        dict(extra or {}),
    )


@claim("twzw22-fig-dprse", "§6; Figures 1, 3 and 4", at="the-paper-s-figures", needs=(FIGURES,))
def against_ucb(results: Results) -> Finding:
    """DPRSE always outperforms DPRUCB."""
    found = _private(results)
    pairs = [
        (_mean(ours, found), _mean(other, found))
        for ours, other in itertools.product(found, found)
        if (ours.algorithm, other.algorithm) == ("DPRSE", "DPRUCB")
        and ours[:5] == other[:5]
        and found[ours].horizon == found[other].horizon
    ]
    ratios = {}  # of our bounds
    for order, power in itertools.product((0.9, 0.5), (8, 12, 30)):
        s1 = twzw22("S1", order)
        problem: Any = {"epsilon": 1.0, "moment": s1.moment_bound, "order": order}
        ours = bounds.heavy_elimination_regret(s1.gaps, 10.0**power, **problem)
        ratios[order, power] = float(ours / bounds.dprucb_regret(s1.gaps, 10**power, **problem))
    return _judge(
        pairs,
        "At our horizon only where the comparisons below surely agree; whether at the paper's "
        "cannot be told. Panels with both: three settings, both schedules of DPRSE, and "
        "DPRUCB with widths that are valid. Horizon and constants of the paper cannot be read, "
        "and may decide. Until DPRSE drops an arm it plays all in turn, while DPRUCB adapts at "
        "every pull; in the long run our bounds are log T for log²T.",
        "DPRSE / DPRUCB",
        entries("ratio of our bounds, S1, v = {}, ε = 1, T = 10^{}", ratios, 3),
    )


@claim("twzw22-fig-epsilon", "§6; Figures 1 to 4", at="the-paper-s-figures", needs=(FIGURES,))
def by_epsilon(results: Results) -> Finding:
    """Regret increases as ε decreases."""
    found = _private(results)
    pairs = [
        (_mean(large, found), _mean(small, found))
        for large, small in itertools.product(found, found)
        if large._replace(epsilon=0.0) == small._replace(epsilon=0.0)
        and large.epsilon > small.epsilon
    ]
    return _judge(
        pairs,
        "All algorithms and variants, at the horizons. A tie is what the runs do not tell apart; "
        "where no arm is dropped up to the horizon with either budget the regrets are equal.",
        "ε = 1 / ε = 0.5",
    )


@claim("twzw22-fig-v", "§6; Figures 1 to 4", at="the-paper-s-figures", needs=(FIGURES,))
def by_order(results: Results) -> Finding:
    """Regret is smaller for greater v."""
    found = _private(results)
    pairs = []
    for large, small in itertools.product(found, found):
        one, other = (s._replace(order=0.0, panel="") for s in (large, small))
        horizons = {found[large].horizon, found[small].horizon}
        # panels a and b are for the same horizon, and so are c and d; in Figure 2 it differs
        alike = len(horizons) == 1 or large.figure == LOCAL
        if alike and one == other and large.order > small.order:
            pairs.append((_mean(large, found), _mean(small, found, min(horizons))))
    return _judge(
        pairs,
        "All algorithms and variants, v = 0.9 and 0.5. With v the laws change as well: shape "
        "1.05 + v, and u with it, while the means are the same.",
        "v = 0.9 / v = 0.5",
    )


@claim("twzw22-fig-local", "§6; Figures 2 and 4", at="twzw22-fig2", needs=(FIGURES,))
def privacy_of_each_reward_costs(results: Results) -> Finding:
    """Regret is larger in the local model than in the central one."""
    found = _private(results)
    longest = max(runs.horizon for s, runs in found.items() if s.algorithm == "DPRSE")
    pairs = [
        (_mean(central, found), _mean(local, found, longest))
        for central, local in itertools.product(found, found)
        if central.algorithm == "DPRSE"
        and local.algorithm == "LDPRSE"
        and central[2:5] == local[2:5]
        and found[central].horizon == longest
    ]
    return _judge(
        pairs,
        "Setting 3, at the longest horizon of DPRSE; LDPRSE at its last checkpoint up to there.",
        "central / local",
    )
