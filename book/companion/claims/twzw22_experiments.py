"""Claims of Tao, Wu, Zhao & Wang (2022), §6: what the experiments show."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from companion.claims.findings import Evidence, Finding, claim, finding
from companion.claims.verdicts import CANNOT_TELL, CONDITION, FAILS, HOLDS, decide
from dpbandits import Runs

FIGURES = "twzw22-figures"
"""Name of the results that claims need, which are the runs of Figures 1 to 4 by `Setting`."""
LOCAL = "twzw22-fig2"
PRIVATE = ("DPRSE", "DPRUCB", "LDPRSE")
LEVEL = 5e-9
"""One-sided false alarm of a comparison; there are fewer than 200."""
ROUNDING = 1e-6
"""Share of a regret up to which a difference is none."""


class Mean(NamedTuple):
    """A mean regret and the half-width of its interval."""

    name: str
    value: float
    off: float


class Setting(NamedTuple):
    """A figure and panel, and the simulation that it shows."""

    figure: str
    panel: str
    setting: str
    order: float
    epsilon: float
    algorithm: str
    variant: str


Results = Mapping[Setting, Runs]


def _private(results: Results) -> Results:
    """Return the runs of the private algorithms, with a finite budget."""
    private = (case for case in results if case.algorithm in PRIVATE)
    return {case: results[case] for case in private if math.isfinite(case.epsilon)}


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
    words_of = {0: ("is a tie", "are ties"), -1: ("surely disagrees", "surely disagree")}
    for sign, words in words_of.items():
        if number[sign]:
            word = words[number[sign] > 1]
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


@claim("twzw22-fig-dprse", "§6; Figures 1, 3 and 4", at="the-paper-s-experiments", needs=(FIGURES,))
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
    horizon = max(found[case].horizon for case in found if case.algorithm == "DPRSE")
    judged = _judge(
        pairs,
        "The paper's horizon and constants are lost, and decide. At T = "
        f"10^{math.log10(horizon):.0f} each is "
        "played with the best constants that are proved, and with those that we reconstruct, where "
        "DPRUCB's 18 is our choice. Until DPRSE drops an arm it plays all in turn, while DPRUCB "
        "adapts at every pull.",
        "DPRSE / DPRUCB",
    )
    told = {HOLDS: HOLDS, FAILS: FAILS}.get(judged.verdict, CANNOT_TELL)
    return finding(told, judged.reason, judged.evidence)


@claim(
    "twzw22-fig-epsilon",
    "§6; Figures 1 to 4",
    at="the-paper-s-experiments",
    needs=(FIGURES,),
    reconstructed=True,
)
def by_epsilon(results: Results) -> Finding:
    """Regret increases as ε decreases."""
    found = _private(results)
    pairs = [
        (_mean(large, found), _mean(small, found))
        for large, small in itertools.product(found, found)
        if large._replace(epsilon=0.0, panel="") == small._replace(epsilon=0.0, panel="")
        and large.epsilon > small.epsilon
    ]
    return _judge(
        pairs,
        "All algorithms and variants, at the horizons. A tie is what the runs do not tell apart; "
        "where no arm is dropped up to the horizon with either budget the regrets are equal.",
        "ε = 1 / ε = 0.5",
    )


@claim(
    "twzw22-fig-local",
    "§6; Figures 2 and 4",
    at="the-paper-s-experiments",
    needs=(FIGURES,),
    reconstructed=True,
)
def by_model(results: Results) -> Finding:
    """Regret is larger in the local model than in the central one."""
    found = _private(results)
    pairs = [
        (_mean(central, found), _mean(local, found, found[central].horizon))
        for central, local in itertools.product(found, found)
        if (central.algorithm, local.algorithm) == ("DPRSE", "LDPRSE")
        and central[2:5] == local[2:5]
    ]
    return _judge(
        pairs,
        "DPRSE and LDPRSE on S3, where both are played, all variants of each, at the horizon of "
        "the central model.",
        "DPRSE / LDPRSE",
    )


@claim(
    "twzw22-fig-v",
    "§6; Figures 1 to 4",
    at="the-paper-s-experiments",
    needs=(FIGURES,),
    reconstructed=True,
)
def by_order(results: Results) -> Finding:
    r"""Regret is smaller for greater $v$."""
    found = _private(results)
    pairs = []
    for large, small in itertools.product(found, found):
        one, other = (s._replace(order=0.0, panel="") for s in (large, small))
        horizons = {found[large].horizon, found[small].horizon}
        # in Figure 2 the horizons differ
        alike = len(horizons) == 1 or large.figure == LOCAL
        if alike and one == other and large.order > small.order:
            pairs.append((_mean(large, found), _mean(small, found, min(horizons))))
    return _judge(
        pairs,
        "All algorithms and variants, v = 0.9 and 0.5. With v the laws change as well: shape "
        "1.05 + v, and u with it, while the means are the same.",
        "v = 0.9 / v = 0.5",
    )
