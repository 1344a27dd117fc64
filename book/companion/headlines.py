"""The numbers of the first screen, each computed from data that the chapters have published.

`headlines` returns them by name, formatted for a sentence. The role ``headline`` of the pages looks
them up there, so that none is typed by hand.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from companion.figures.trial import price_at
from companion.publishing import grouped, published
from dpbandits.identification import isis2

__all__ = ["headlines", "lead_kept"]

_SPACE = "\N{NARROW NO-BREAK SPACE}"


def lead_kept(lead: float, scale: float) -> float:
    """Return the probability that a lead survives adding Lap(scale) noise to both counts.

    The difference of two such variables exceeds t ≥ 0 with probability (2 + t/b)/4·e^(−t/b), b the
    scale.

    Examples
    --------
    >>> lead_kept(0.0, 1.0)
    0.5
    """
    x = lead / scale
    return 1 - (2 + x) / 4 * math.exp(-x)


@functools.cache
def headlines(root: Path | None = None) -> dict[str, str]:
    """Return the numbers of the first screen by name, as they are written there.

    The book is in `root`, or where `companion.chapters.find_root` finds it.

    Raises
    ------
    ValueError
        If a figure that provides one of them is not published.
    """

    def table(name: str) -> pd.DataFrame:
        return published(name, root).table

    found: dict[str, str] = {"odds": f"{math.e:.1f}", "odds-tenth": f"{math.exp(0.1):.1f}"}
    for part in (_promise, _price, _stopping, _counter, _regret, _heavy, _naming, _audit, _best):
        found |= part(table)
    return found


Tables = Callable[[str], pd.DataFrame]


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}{_SPACE}%"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{grouped(float(f'{ratio:.2g}'))} times"


def _promise(_: Tables) -> dict[str, str]:
    """Choose between 14 and 13 successes of twenty patients; or 13 and 13, without patient 7's."""
    lead, tie = lead_kept(1.0, 1.0), lead_kept(0.0, 1.0)
    shift = max(lead / tie, (1 - tie) / (1 - lead))
    return {"lead": _percent(lead), "tie": _percent(tie), "shift": f"{shift:.1f}"}


def _price(table: Tables) -> dict[str, str]:
    costs, there = table("ours-trial-price"), isis2().only([0, 3]).total
    one, tenth = (price_at(costs, epsilon) for epsilon in (1.0, 0.1))
    counts = table("ours-trial-counts")
    replays = counts[
        (counts["n_arms"] == 2) & (counts["delta"] == 0.05) & (counts["algorithm"] == "DP-LRE")
    ].set_index("epsilon")
    return {
        "more": _percent(one.ratio - 1),
        "more-half": f"{100 * one.half_width:.0f}",
        "tenth": _times(tenth.ratio),
        "patients": grouped(one.patients),
        "free": grouped(one.free),
        "there": grouped(there),
        "runs": grouped(costs["n_runs"].min()),
        "enough": _percent(replays.loc[0.1, "right_rate"]),
        "replays": str(replays.loc[0.1, "n_runs"]),
    }


def _stopping(table: Tables) -> dict[str, str]:
    """Divide samples of DP-NAS by those of NAS; mean 0.3 of the range, ε = 1."""
    rows = table("ours-stopping-epsilon")
    rows = rows[rows["mean"] == 0.3].set_index(["rule", "epsilon"])["mean_samples"]
    return {"stopping": _times(rows["DP-NAS", 1.0] / rows["NAS", math.inf])}


def _counter(table: Tables) -> dict[str, str]:
    """Look up the 99.9 % quantile of the hybrid counter's error at 2¹⁶ and one element later."""
    size, curves = 2**16, table("td16-counter-errors").set_index(["curve", "x"])["y"]
    return {
        "count-size": grouped(size),
        "count-at": f"±{curves['n = 2ᵏ', size]:.0f}",
        "count-after": f"±{curves['n = 2ᵏ + 1', size + 1]:.0f}",
    }


def _regret(table: Tables) -> dict[str, str]:
    """Divide regret at ε = 0.1 by that of the same algorithm without privacy, on four instances."""
    rows = table("ours-price-of-privacy")
    ratios = {}
    for private, free in (("DP-SE", "SE"), ("DP-UCB", "UCB")):
        at, without = (
            rows[(rows["algorithm"] == name) & (rows["epsilon"] == epsilon)].set_index("instance")
            for name, epsilon in ((private, 0.1), (free, math.inf))
        )
        ratios[private] = (at["mean"] / without["mean"]).tolist()
    return {
        "regret-se": _times(max(ratios["DP-SE"])),
        "regret-ucb": _times(min(ratios["DP-UCB"])),
    }


def _heavy(table: Tables) -> dict[str, str]:
    """Compare errors of a mean where each patient adds noise and with a curator; 10⁶ records."""
    rows = table("ours-heavy-error")
    rows = rows[(rows["order"] == 1) & (rows["law"] == "two points")]
    errors = rows.set_index(["model", "n_rewards"])["rms"]
    many = 10**6
    return {"heavy": _times(errors["local", many] / errors["central", many])}


def _naming(table: Tables) -> dict[str, str]:
    """Divide pulls of DP-LRE by the lower bound; the largest of all settings."""
    rows = table("ours-bai-own")
    rows = rows[rows["algorithm"] == "DP-LRE"]
    return {"naming": _times(rows["value"].max())}


def _audit(table: Tables) -> dict[str, str]:
    """Return the least factor at which an audit of 10 000 test runs is expected to convict."""
    rows = table("ours-audit-expected")
    rows = rows[rows["curve"] == f"{grouped(10_000)} test runs"]
    caught = float(np.interp(1.0, rows["bound"], rows["c"]))
    return {"caught": f"{caught:.2g}"}


def _best(table: Tables) -> dict[str, str]:
    """Count the settings in which the most frequent winner has the least regret."""
    rows = table("h-map-all")
    least = rows.loc[rows.groupby(["instance", "n_arms", "epsilon", "time"])["mean"].idxmin()]
    names = least["algorithm"].value_counts()
    return {"best": str(names.index[0]), "best-in": str(names.iloc[0]), "best-of": str(len(least))}
