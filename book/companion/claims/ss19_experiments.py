"""Claims of Sajed & Sheffet (2019), §5: what the experiments show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from companion.claims.ledger import CONDITION, FAILS, HOLDS, Claim, Finding, decide
from companion.ratios import ratio_of_means
from dpbandits.simulation import Runs

__all__ = ["CLAIMS"]

PAPER = "ss19"
SHARE = 5.0


Settings = Mapping[Any, Runs]
"""Runs of DP-SE and of the variants of DP-UCB, by (instance, K, ε, algorithm, variant)."""

Dense = Mapping[Any, Runs]
"""Runs of DP-SE with equally spaced checkpoints, and the horizon as the last one."""


def _five_times(settings: Settings) -> Finding:
    final = {key: runs.regret[:, -1] for key, runs in settings.items()}
    base = {key[:3]: regret for key, regret in final.items() if key[3] == "DP-SE"}
    ratios: dict[str, list[tuple[float, float, float]]] = {}
    for key, regret in final.items():
        if key[3] != "DP-SE":
            ratios.setdefault(key[4], []).append(ratio_of_means(regret, base[key[:3]]))
    least = {variant: min(value for value, *_ in some) for variant, some in ratios.items()}
    short = {v: sum(low < SHARE for _, low, _ in some) for v, some in ratios.items()}
    surely = {variant: count == 0 for variant, count in short.items()}
    reached = [variant for variant, sure in surely.items() if sure]
    worse = sum(high < 1 for some in ratios.values() for *_, high in some)
    missed = "; ".join(
        f"missed, or not surely reached, in {n} with {v}" for v, n in short.items() if n
    )
    reason = f"Reached in all {len(base)} settings for every reading of the baseline."
    if missed:
        reason = (
            f"Reached in all {len(base)} settings with the baseline "
            f"{', '.join(reached) or 'none'}; {missed}; in {worse} the baseline has less regret "
            "than DP-SE (95 % intervals). The text does not say which baseline was run."
        )
    return Finding(
        decide(len(reached) == len(surely), HOLDS, CONDITION if reached else FAILS),
        reason,
        {f"least ratio, {variant}": round(value, 2) for variant, value in least.items()},
    )


def _straight_between_epochs(runs: Runs) -> bool:
    """Tell whether each run's curve bends at ends of epochs only.

    Pulls in turn make the slope between two checkpoints wobble by at most one pull of the worst
    arm at either end. Checkpoints are equally spaced, except the last, the horizon, which is
    left out.
    """
    times = runs.times[:-1]
    step = int(times[1] - times[0])
    wobble = 2 * runs.instance.gaps.max() / step
    for regret, ends in zip(runs.regret, runs.epoch_ends, strict=True):
        slopes = np.diff(regret[:-1]) / step
        bends = times[1:-1][np.abs(np.diff(slopes)) > wobble]
        if not bends.size or np.abs(bends[:, None] - ends).min(axis=1).max() > step:
            return False
    return True


def _always_rising(runs: Runs) -> bool:
    """Tell whether the mean curve rises in each of the last fifteen doublings of t.

    A doubling ends at the first checkpoint that is not before its end.
    """
    ends = runs.horizon / 2.0 ** np.arange(15, -1, -1)
    places = np.unique(np.searchsorted(runs.times, ends))
    return bool((np.diff(runs.mean()[places]) > 0).all())


def _shapes(settings: Settings, dense: Dense) -> Finding:
    straight = all(_straight_between_epochs(runs) for runs in dense.values())
    baselines = [runs for key, runs in settings.items() if key[3] == "DP-UCB"]
    never_flat = sum(map(_always_rising, baselines))
    rising = [
        f"{instance}, K = {n_arms}"
        for (instance, n_arms, _, algorithm, _), runs in settings.items()
        if algorithm == "DP-SE"
        and runs.mean()[-1] > np.interp(0.4 * runs.horizon, runs.times, runs.mean()) * (1 + 1e-6)
    ]
    where = ", ".join(dict.fromkeys(rising)) or "none"
    return Finding(
        decide(straight and never_flat == len(baselines), CONDITION if rising else HOLDS),
        f"DP-SE's curve is piecewise linear in {'every run' if straight else 'not every run'}, "
        f"and flat from the last elimination on, which in some runs does not come by T: {where}. "
        f"DP-UCB's mean curve rises in every doubling of t in {never_flat} of {len(baselines)} "
        "settings and readings.",
        {
            f"settings of {len(settings) // 4} in which DP-SE still rises after 0.4 T": len(rising),
            f"mean curves of DP-UCB of {len(baselines)} that rise in every doubling": never_flat,
        },
    )


CLAIMS = (
    Claim(
        "ss19-five-times",
        PAPER,
        "§5",
        "DP-SE has at least five times less regret than DP-UCB in every setting.",
        _five_times,
        ("settings",),
    ),
    Claim(
        "ss19-shapes",
        PAPER,
        "§5",
        "DP-UCB's regret curve is smooth, DP-SE's is piecewise linear and becomes flat.",
        _shapes,
        ("settings", "dense"),
    ),
)
