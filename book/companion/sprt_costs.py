"""Patients that DP-SPRT needs, beside trials with few looks, at equal errors and ε.

``python -m companion.sprt_costs`` computes all rows from exact laws, except the runs of the
stopping rule, writes them to ``book/data/sprt-patients.json``, and draws the page's picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import dpbandits as dpb
from companion.best_test import laplace_noise_cdf, least_patients, tulap_cdf
from dpbandits._files import write_atomically
from dpbandits.identification import isis2
from dpbandits.plotting.style import COLOURS
from dpbandits.trials import GroupSequential, calibrated_sprt

__all__ = [
    "FILE",
    "PICTURE",
    "SETTINGS",
    "draw",
    "measure",
    "numbers",
    "read",
    "settings",
    "shares",
]

FILE = Path(__file__).parents[1] / "data" / "sprt-patients.json"
"""Where the rows are kept."""
PICTURE = Path(__file__).parents[1] / "_static" / "sprt-patients.svg"
"""The picture of ε = 1."""
ALPHA, BETA, RUNS = 0.05, 0.1, 400
"""Errors of all designs, and runs of the stopping rule."""
PAIRS = 30_000
"""Pairs after which a sequential test ends."""
LOOKS = {"one look": (1, None), "five looks": (5, None), "five looks, futility": (5, 0.0)}
"""Designs with few looks: their number, and the score at which they stop for futility."""
PRINTED, HALVED, UNION, CONSTANTS, ALONE, COUNT, BEST, FREE, NAS = (
    "DP-SPRT, as in the package",
    "DP-SPRT, half its allowance",
    "DP-SPRT, union bound",
    "DP-SPRT, two constants",
    "the same, treatment alone",
    "treatment alone, one look",
    "treatment alone, best test",
    "the rule without noise",
    "DP-exp-NAS",
)
SETTINGS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(LOOKS, (math.inf, 3.0, 1.0, 0.3)),
    FREE: (math.inf,),
    PRINTED: (3.0, 1.0),
    HALVED: (1.0,),
    UNION: (3.0, 1.0),
    CONSTANTS: (3.0, 1.0, 0.3),
    ALONE: (3.0, 1.0, 0.3),
    COUNT: (3.0, 1.0, 0.3),
    BEST: (math.inf, 3.0, 1.0, 0.3),
    NAS: (1.0,),
}
"""Each design and its budgets."""


def shares() -> tuple[float, float]:
    """Return the survival with both treatments of ISIS-2, and with neither.

    Examples
    --------
    >>> [round(share, 3) for share in shares()]
    [0.92, 0.868]
    """
    low, high = isis2().only([0, 3]).shares
    return float(high), float(low)


def settings() -> Iterator[tuple[float, str]]:
    """Yield each budget and design of the table, in its order."""
    for epsilon in dict.fromkeys(e for budgets in SETTINGS.values() for e in budgets):
        yield from ((epsilon, name) for name, budgets in SETTINGS.items() if epsilon in budgets)


def _few_looks(name: str, epsilon: float) -> dict[str, float]:
    """Return patients and errors of a design with few looks."""
    high, low = shares()
    looks, futility = LOOKS[name]
    plan = dpb.plan_group_sequential(
        high,
        low,
        epsilon=epsilon,
        alpha=ALPHA,
        power=1.0 - BETA,
        looks=looks,
        futility=futility,
        shares=(low,),
        certified=False,
    )
    design: GroupSequential = plan.design
    found = [design.operating(share, low) for share in (high, 0.5 * (high + low), low)]
    planned, half, none = (each.patients for each in found)
    return {
        "planned": planned,
        "half": half,
        "none": none,
        "false": design.error(low),
        "missed": 1.0 - found[0].power,
        "undecided": 0.0,
    }


def _sequential(name: str, epsilon: float) -> dict[str, float]:
    """Return the same of a sequential test, of pairs unless it is of the treatment alone."""
    high, low = shares()
    rule = dpb.DPSPRT(low, high, ALPHA, BETA, epsilon, paired=name != ALONE, most=PAIRS)
    if name == UNION:
        rule = replace(rule, boundary="union")
    elif name == HALVED:
        rule = replace(rule, factor=0.5)
    elif name in (CONSTANTS, ALONE):
        rule = calibrated_sprt(rule)
    found = [rule.law(share) for share in (high, 0.5 * (high + low), low)]
    planned, half, none = (each.patients for each in found)
    return {
        "planned": planned,
        "half": half,
        "none": none,
        "false": found[2].found,
        "missed": found[0].kept,
        "undecided": found[1].undecided,
    }


def _alone(name: str, epsilon: float) -> dict[str, float]:
    """Return the same of one look at the treatment's count, with Laplace or the best noise."""
    high, low = shares()
    noise = laplace_noise_cdf if name == COUNT else tulap_cdf
    test = least_patients(low, high, ALPHA, BETA, epsilon, noise)
    return {
        **dict.fromkeys(("planned", "half", "none"), float(test.patients)),
        "false": test.rejects(low),
        "missed": 1.0 - test.rejects(high),
        "undecided": 0.0,
    }


def _stopping(epsilon: float) -> dict[str, float]:
    """Return the same of a stopping rule for the sign of the difference minus DP-SPRT's slope.

    Its error is α on either side, as it has one level; it also releases an estimate.
    """
    high, low = shares()
    slope = dpb.DPSPRT(low, high, ALPHA, BETA, epsilon, paired=True).slope
    rule = dpb.DPExponentialNAS(epsilon, 0.99, ALPHA, half_range=1.0 + slope)
    patients, wrong = [], []
    for treatment in (high, 0.5 * (high + low), low):
        worse, better = (1.0 - treatment) * low, treatment * (1.0 - low)
        chances = [worse, 1.0 - worse - better, better]
        law = dpb.laws.discrete(np.array([-1.0, 0.0, 1.0]) - slope, chances, 1.0 + slope)
        runs = dpb.estimate(rule, law, n_runs=RUNS, seed=0)
        patients.append(2.0 * float(runs.samples.mean()))
        wrong.append(float((np.sign(runs.estimate) != np.sign(law.mean)).mean()))
    planned, half, none = patients
    return {
        "planned": planned,
        "half": half,
        "none": none,
        "false": wrong[2],
        "missed": wrong[0],
        "undecided": 0.0,
    }


def measure(epsilon: float, name: str) -> dict[str, Any]:
    """Return the row of a design: mean patients if the effect is as planned, half, or none.

    Parameters
    ----------
    epsilon : float
        Privacy budget.
    name : str
        A key of `SETTINGS`.

    Returns
    -------
    dict
        Patients, the probabilities of a false finding and of a missed effect, and that of no
        decision when the effect is half.

    Examples
    --------
    >>> row = measure(float("inf"), "one look")
    >>> row["false"] <= 0.05, row["missed"] <= 0.1, row["planned"] == row["none"]
    (True, True, True)
    """
    if name in LOOKS:
        found = _few_looks(name, epsilon)
    elif name in (COUNT, BEST):
        found = _alone(name, epsilon)
    else:
        found = _stopping(epsilon) if name == NAS else _sequential(name, epsilon)
    return {"epsilon": f"{epsilon:g}", "design": name, **found}


def read() -> list[dict[str, Any]]:
    """Return the rows that are kept.

    Examples
    --------
    >>> [row["design"] for row in read()][0]
    'one look'
    """
    rows: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["rows"]
    return rows


def numbers(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the numbers of the page's sentences, at ε = 1 unless they say otherwise.

    Examples
    --------
    >>> numbers(read())["ratio-planned"] > 3
    True
    """
    of = {(row["epsilon"], row["design"]): row for row in rows}
    names = {
        "one": "one look",
        "five": "five looks",
        "idle": "five looks, futility",
        "printed": PRINTED,
        "union": UNION,
        "ours": CONSTANTS,
        "alone": ALONE,
        "halved": HALVED,
        "nas": NAS,
    }
    found: dict[str, float] = {}
    for key, name in names.items():
        found |= {f"{key}-{kind}": round(of["1", name][kind]) for kind in ("planned", "none")}
    for key, name in (("ratio", PRINTED), ("union", UNION)):
        for kind in ("planned", "none"):
            found[f"{key}-ratio-{kind}".replace("ratio-ratio", "ratio")] = (
                of["1", name][kind] / of["1", CONSTANTS][kind]
            )
    for kind in ("planned", "half", "none"):
        found[f"great-ours-{kind}"] = round(of["3", CONSTANTS][kind])
        found[f"great-idle-{kind}"] = round(of["3", "five looks, futility"][kind])
        found[f"great-alone-{kind}"] = round(of["3", ALONE][kind])
        found[f"small-alone-{kind}"] = round(of["0.3", ALONE][kind])
    found["great-ratio"] = of["3", PRINTED]["planned"] / of["3", CONSTANTS]["planned"]
    found["alone-half"] = round(of["1", ALONE]["half"])
    for key, epsilon in (("free", "inf"), ("great", "3"), ("unit", "1"), ("small", "0.3")):
        found[f"{key}-best"] = round(of[epsilon, BEST]["planned"])
    found["unit-count"] = round(of["1", COUNT]["planned"])
    found["small-count"] = round(of["0.3", COUNT]["planned"])
    found["small-ours-planned"] = round(of["0.3", CONSTANTS]["planned"])
    found["small-five-planned"] = round(of["0.3", "five looks"]["planned"])
    found["small-one-planned"] = round(of["0.3", "one look"]["planned"])
    found["wald-planned"] = round(of["inf", FREE]["planned"])
    found["wald-none"] = round(of["inf", FREE]["none"])
    return found


def draw(rows: list[dict[str, Any]], epsilon: str = "1") -> Figure:
    """Draw the patients of each design at one budget.

    Examples
    --------
    >>> figure = draw(read())
    >>> len(figure.axes)
    1
    """
    mine = [row for row in rows if row["epsilon"] == epsilon][::-1]
    figure, axes = plt.subplots(figsize=(7.0, 0.45 * len(mine) + 1.0), layout="constrained")
    kinds = {
        "planned": ("o", COLOURS["blue"], "as planned"),
        "half": ("s", COLOURS["green"], "half"),
        "none": ("^", COLOURS["vermilion"], "none"),
    }
    for kind, (marker, colour, label) in kinds.items():
        axes.plot(
            [row[kind] for row in mine],
            range(len(mine)),
            marker,
            color=colour,
            label=label,
            fillstyle="none" if kind == "half" else "full",
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(mine)), [row["design"] for row in mine])
    axes.set_xlabel("patients, on average")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(title="effect", loc="upper right", frameon=False)
    return figure


def main() -> None:
    """Compute all rows, write them, and draw the picture."""
    rows = []
    for epsilon, name in settings():
        rows.append(measure(epsilon, name))
        print(rows[-1], flush=True)  # noqa: T201
    write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    """Write the rows, and the numbers of the page's sentences, and draw the picture."""
    high, low = shares()
    about = {"treatment": high, "control": low, "alpha": ALPHA, "beta": BETA, "pairs": PAIRS}
    content = {"manifest": {**about, "runs": RUNS}, "numbers": numbers(rows), "rows": rows}
    text = json.dumps(content, indent=1)
    write_atomically(FILE, f"{text}\n")
    picture()


def picture() -> None:
    """Draw the picture of the page from the rows that are kept."""
    with plt.rc_context({"svg.hashsalt": "sprt", "svg.fonttype": "none"}):
        figure = draw(read())
        figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
