"""Claims of Tossou & Dimitrakakis (2016), §4: what the experiments show."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from companion.claims.ledger import CONDITION, FAILS, HOLDS, Claim, Finding, decide
from companion.claims.td16_intervals import EXPONENT
from companion.claims.td16_regret import Lost, surely_mean
from companion.ratios import ratio_of_means
from dpbandits.simulation import Runs

__all__ = ["CLAIMS"]

PAPER = "td16"

PANELS = tuple("abcd")
READINGS = ("refreshed", "frozen", "literal")
OURS, HYBRID, BOUND, PRIVATE = "DP-UCB-INT", "DP-UCB-HYBRID", "DP-UCB-BOUND", "Private-UCB"
SPREAD = 664.5
"""What best and worst of 100 runs differ by at most, with two arms, in the paper."""

Key = tuple[str, str, str]
"""Panel, algorithm, variant."""

Readings = Mapping[Key, Runs]
"""The runs of Figure 2."""


def _final(runs: Readings) -> dict[Key, NDArray[np.float64]]:
    """Return the regrets at T."""
    return {key: each.regret[:, -1] for key, each in runs.items()}


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


APART = "significantly (95 %, each by itself)"


def _rare(runs: Readings) -> str:
    """Say what intervals from so few runs do not show."""
    n_runs = min(each.n_runs for each in runs.values())
    return f"Such intervals, from {n_runs} runs, cannot see what is rarer than 1 run in {n_runs}."


def _lost(runs: Runs) -> NDArray[np.float64]:
    """Return the regrets of the runs that leave the best arm for most of the time."""
    final = runs.regret[:, -1]
    return final[final > runs.instance.gaps.max() * runs.horizon / 2]


def _best(runs: Readings) -> Finding:
    final = _final(runs)
    better: dict[str, list[str]] = {}
    for reading in READINGS:
        better[reading] = [
            panel
            for panel in PANELS
            if all(
                ratio_of_means(final[panel, OURS, reading], regret)[2] < 1
                for (where, algorithm, _), regret in final.items()
                if where == panel and algorithm not in (OURS, "UCB")
            )
        ]
    played = {r: [runs[panel, OURS, r] for panel in PANELS] for r in READINGS}
    lost = {r: sum(_lost(each).size for each in played[r]) for r in READINGS}
    total = sum(each.n_runs for each in played[READINGS[0]])
    found = "; ".join(f"{reading}: {_list(panels)}" for reading, panels in better.items())
    return Finding(
        decide(
            all(len(panels) == len(PANELS) for panels in better.values()),
            HOLDS,
            CONDITION if any(better.values()) else FAILS,
        ),
        f"Panels in which its mean is {APART} below that of all others, in all their readings, by "
        f"reading: {found}. {_rare(runs)} In {min(lost.values())} to {max(lost.values())} of "
        f"{total} runs, by reading, the best arm is left for most of the time. The algorithms do "
        "not have the same privacy there: see Corollary 3.2 and Theorem 3.1.",
        {f"panels of 4, {reading}": len(panels) for reading, panels in better.items()}
        | {f"runs of {total} that leave the best arm, {reading}": n for reading, n in lost.items()},
    )


def _late_and_early(runs: Runs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the regrets at T and at T/10."""
    early, late = np.searchsorted(runs.times, (runs.horizon // 10, runs.horizon))
    return runs.regret[:, late], runs.regret[:, early]


def _half_width(sample: NDArray[np.float64], above: float = 0.025) -> float:
    """Return half the width of Student's interval for a mean, `above` being beyond either end."""
    return float(stats.sem(sample) * stats.t.isf(above, sample.size - 1))


def _growth(ours: Runs, ucb: Runs) -> tuple[float, float]:
    """Return by how much the gap of two means grows from T/10 to T, and what that may be off by.

    The 95 % intervals of one algorithm at both times are added, as the runs are the same; those
    of the two algorithms are independent.
    """
    growth, off = 0.0, []
    for runs, sign in ((ours, 1.0), (ucb, -1.0)):
        late, early = _late_and_early(runs)
        growth += sign * (late.mean() - early.mean())
        off.append(_half_width(late) + _half_width(early))
    return float(growth), float(math.hypot(*off))


def _rises(runs: Readings, found: Mapping[tuple[str, str], tuple[float, float]]) -> list[str]:
    """Say where the mean gap of refreshed values rises, but not significantly, and by what."""
    said = []
    for panel in PANELS:
        growth, off = found["refreshed", panel]
        if 0 < growth <= off:
            refreshed = runs[panel, OURS, "refreshed"]
            lost = _lost(refreshed)
            what = "one lost run" if lost.size == 1 else f"{lost.size} lost runs"
            # the runs of a setting weigh the same in the mean
            share = float(lost.sum()) / refreshed.n_runs
            by = f", by {what}" if share > growth else ", not significantly"
            said.append(f"in panel {panel} it rises{by}")
    return said


def _gap(runs: Readings, lost: Lost) -> Finding:
    found = {
        (reading, panel): _growth(runs[panel, OURS, reading], runs[panel, "UCB", ""])
        for reading in READINGS
        for panel in PANELS
    }
    grows = {r: [p for p in PANELS if found[r, p][0] > found[r, p][1]] for r in READINGS}
    frozen = lost["frozen", EXPONENT]
    late, early = _late_and_early(frozen)
    rise = surely_mean(late - early, float(frozen.instance.gaps.max()) * frozen.horizon)
    late, early = _late_and_early(runs["a", "UCB", ""])
    usual = late - early
    surely = rise > float(usual.mean()) + _half_width(usual, 1e-6)
    falls = [p for p in PANELS if found["refreshed", p][0] < 0]
    listed = "; ".join(f"{reading}: {_list(panels)}" for reading, panels in grows.items())
    more = "it surely grows" if surely else "it does not surely grow"
    refreshed = [f"the mean gap falls in panels {_list(falls)}", *_rises(runs, found)]
    any_growth = {r: bool(grows[r]) or (r == "frozen" and surely) for r in READINGS}
    return Finding(
        decide(
            not any(any_growth.values()),
            HOLDS,
            FAILS if all(any_growth.values()) else CONDITION,
        ),
        f"Panels in which the gap grows {APART} from T/10 to T, by reading: {listed}. "
        f"{_rare(runs)} With {frozen.n_runs} runs of the frozen reading in panel a {more} (10^(−6) "
        f"for each of two means). Where values are refreshed {'; '.join(refreshed)}.",
        {
            f"growth of the gap, {reading}, panel {panel}": round(growth)
            for (reading, panel), (growth, _) in found.items()
        }
        | {
            f"growth surely above, frozen, panel a, {frozen.n_runs} runs": round(
                rise - usual.mean()
            )
        },
    )


def _crossing(runs: Readings) -> Finding:
    early, late = [], []
    variants = ("full", "half", "no bonus")
    for variant in variants:
        for panel in PANELS:
            hybrid, bound = (runs[panel, name, variant].mean_interval() for name in (HYBRID, BOUND))
            before = hybrid[1] < bound[0]
            after = bound[1] < hybrid[0]
            name = f"{panel} ({variant})"
            if before.any() and not after[: int(np.argmax(before))].any():
                early.append(name)
            if after[-1]:
                late.append(name)
    both = [name for name in early if name in late]
    everywhere = len(variants) * len(PANELS)
    return Finding(
        decide(len(both) == everywhere, HOLDS, CONDITION if both else FAILS),
        f"Of {everywhere} comparisons, panels and readings, DP-UCB-HYBRID is {APART} better before "
        f"DP-UCB-BOUND ever is in {len(early)}, and DP-UCB-BOUND at T = 10⁵ in {len(late)}. Both "
        f"are so in {len(both)}: {_list(both)}. {_rare(runs)}",
        {
            "comparisons": everywhere,
            "DP-UCB-HYBRID better first": len(early),
            "DP-UCB-BOUND better at T": len(late),
            "both": len(both),
        },
    )


def _spread(runs: Readings) -> Finding:
    spreads = {key: float(np.ptp(regret)) for key, regret in _final(runs).items() if key[0] in "ab"}
    others = {key: value for key, value in spreads.items() if key[1] != PRIVATE}
    private = {key: value for key, value in spreads.items() if key[1] == PRIVATE}
    small = max(others.values()) < SPREAD
    large = max(private.values()) > 20_000
    worst = {name: max(v for k, v in others.items() if k[1] == name) for _, name, _ in others}
    wide = sum(value >= SPREAD for value in others.values())
    near = sorted({f"{name} in panel {p}" for (p, name, _), v in spreads.items() if v > 20_000})
    so = "" if small and large else "Not so in our runs: "
    most = "near T·Δ = 30000, the most there is"
    far = f"the runs {most}, are of {_list(near)}" if near else f"no run is {most}"
    return Finding(
        decide(small and large, HOLDS, CONDITION if small else FAILS),
        f"{so}{far}. All runs of {PRIVATE}, in both readings, differ by at most "
        f"{max(private.values()):.0f}. In {wide} of {len(others)} settings of the others the "
        f"spread is {SPREAD} or more. Which runs the paper has, and which variant of {PRIVATE}, we "
        "cannot tell.",
        {f"greatest spread, {name}": round(value, 1) for name, value in worst.items()}
        | {f"greatest spread, {PRIVATE}": round(max(private.values()), 1)},
    )


def _worst(runs: Readings) -> Finding:
    final = _final(runs)
    ratios = {
        panel: [
            ratio_of_means(final[key], regret)
            for key in final
            if key[:2] == (panel, PRIVATE)
            for (where, algorithm, _), regret in final.items()
            if where == panel and algorithm != PRIVATE
        ]
        for panel in PANELS
    }
    worst = [panel for panel in PANELS if all(low > 1 for _, low, _ in ratios[panel])]
    return Finding(
        decide(len(worst) == len(PANELS), HOLDS, CONDITION if worst else FAILS),
        f"Panels in which its mean is {APART} above that of all others, for both readings of "
        f"{PRIVATE} and all of the others: {_list(worst)}. {_rare(runs)}",
        {
            "comparisons": sum(map(len, ratios.values())),
            "least ratio of mean regrets": round(
                min(value for each in ratios.values() for value, _, _ in each), 2
            ),
        },
    )


CLAIMS = (
    Claim(
        "td16-fig2-best",
        PAPER,
        "§4; Figure 2",
        "DP-UCB-INT is significantly better than all other private algorithms.",
        _best,
        ("td16-fig2",),
    ),
    Claim(
        "td16-fig2-gap",
        PAPER,
        "§4; Figure 2",
        "The gap between the regrets of DP-UCB-INT and UCB does not increase with time.",
        _gap,
        ("td16-fig2", "td16-lost"),
    ),
    Claim(
        "td16-fig2-crossing",
        PAPER,
        "§4; Figure 2",
        "DP-UCB (here DP-UCB-HYBRID) is better than DP-UCB-BOUND for small times, and DP-UCB-BOUND "
        "later.",
        _crossing,
        ("td16-fig2",),
    ),
    Claim(
        "td16-fig2-worst",
        PAPER,
        "§4; Figure 2",
        "Private-UCB performs worse than all other algorithms.",
        _worst,
        ("td16-fig2",),
    ),
    Claim(
        "td16-fig2-spread",
        PAPER,
        "§4",
        "Best and worst of 100 runs with two arms differ by less than 664.5, but for Private-UCB, "
        "where they differ by 30000.",
        _spread,
        ("td16-fig2",),
    ),
)
