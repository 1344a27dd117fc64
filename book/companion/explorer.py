"""Data of the book's explorer: simulated curves and times, lower bounds, and T*_ε on a grid.

Simulations come from the published figures; bounds, characteristic times and their allocations are
computed exactly, on a grid of budgets that is fine enough for a slider.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from companion.publishing import Published, published
from companion.tables import records
from dpbandits._validation import check_integer
from dpbandits.bounds.lazy import private_regret_rate
from dpbandits.bounds.regret import lai_robbins_rate
from dpbandits.identification.characteristic import characteristic_time, total_variation_time
from dpbandits.plotting.style import FREE
from dpbandits.rewards.instances import (
    BernoulliInstance,
    bernoulli,
    equal_gaps,
    ja25,
    ladder,
    ss19,
    td16,
)
from dpbandits.rewards.populations import isis2

__all__ = [
    "IDENTIFICATION_SOURCES",
    "INSTANCES",
    "REGRET_SOURCES",
    "VIEWS",
    "ExplorerInstance",
    "View",
    "assemble",
    "budgets",
    "line_name",
    "looks_of",
    "theory",
    "to_scripts",
    "to_text",
]

Content = dict[str, Any]
Names = Mapping[str, tuple[int, ...]]

REGRET_SOURCES = (
    "h-curves-near",
    "h-curves-far",
    "h-curves-td16",
    *(f"ss19-fig{number}" for number in range(5, 13)),
    "ours-price-of-privacy",
    "h-map-all",
)
"""Figures of regret that are shown; of a setting that two of them have, the first is."""

IDENTIFICATION_SOURCES = (
    "ours-trial-price",
    "ja25-fig1",
    "ja25-fig2",
    "ours-bai-own",
    "ours-bai-delta",
    "ours-bai-arms",
    "h-bai-all",
)
"""Figures of identification that are shown; of a setting that two have, the first is."""

CURVE = ("panel", "instance", "n_arms", "epsilon", "algorithm", "variant")
PER_DECADE = 40
DATA = "explorer-data"
"""What the names of the scripts begin with that have the data."""
LEAST, GREATEST = 0.001, 125.0

# --------------------------------------------------------------------------------------- views


class View(NamedTuple):
    """A view of the explorer that illustrates a sentence of a chapter.

    Attributes
    ----------
    says : str
        The chapter's sentence, without its numbers, which the figure shows.
    part : str
        The figure that illustrates it: "regret", "found", "time" or "weights".
    chosen : mapping of str to str or tuple of str
        The parameters in the address: instance ``instance``, arms ``k``, budget ``e``, horizon
        ``t``, ``view``, δ ``d``, and the names of the algorithms ``regret`` and ``found``.
    """

    says: str
    part: str
    chosen: Mapping[str, str | tuple[str, ...]]

    @property
    def address(self) -> str:
        """The part of the address after the page's name: the choices, and the figure's id."""
        return f"?{urlencode(self.chosen, doseq=True)}#x-{self.part}"


VIEWS: Mapping[str, View] = {
    "03": View(
        "What DP-SE and DP-UCB lose as ε shrinks",
        "regret",
        {"instance": "C2", "k": "5", "e": "0.1", "t": "50000000", "view": "budget"},
    ),
    "05": View(
        "The floor under every private trial, its knee, and who comes near it",
        "found",
        {"instance": "mu1", "k": "5", "e": "1", "d": "0.01"},
    ),
    "07": View(
        "Which algorithm loses least at one budget",
        "regret",
        {"instance": "C1", "k": "5", "e": "0.1", "view": "time"},
    ),
    "08": View(
        "How many patients ISIS-2 would have taken",
        "found",
        {"instance": "isis2", "k": "2", "e": "1", "d": "0.05"},
    ),
}
"""The view of each chapter whose main sentence is about what the explorer shows."""

# ----------------------------------------------------------------------------------- instances


class ExplorerInstance(NamedTuple):
    """An instance of the explorer: its name in addresses, its name on the page, and its means.

    For each number of arms K it has the means, decreasing. The experiments on regret and on
    identification (``found``) have names of their own for it: each is given with its values of K.
    ``unit`` is the word for a pull.
    """

    id: str
    title: str
    means: Mapping[int, tuple[float, ...]]
    regret: Names
    found: Names
    unit: str = "pulls"


def _means(instances: Iterable[BernoulliInstance]) -> dict[int, tuple[float, ...]]:
    return {i.n_arms: tuple(sorted(i.mean_rewards, reverse=True)) for i in instances}


def _instances() -> Iterator[ExplorerInstance]:
    pair = isis2().only([0, 3], "ISIS-2, both or neither").superpopulation()
    worst, best = sorted(pair.mean_rewards)
    title = f"ISIS-2: {best:.1%} survive with both treatments, {worst:.1%} with neither"
    yield ExplorerInstance("isis2", title, _means([pair]), {}, {pair.name: (2,)}, "patients")
    shapes = {
        "C1": "one arm at 0.75, the others at 0.7",
        "C2": "from 0.75 to 0.25, evenly",
        "C3": "from 0.75 to 0.25, most of them low",
        "C4": "from 0.75 to 0.25, most of them high",
    }
    arms: tuple[int, ...] = (3, 5, 10, 20)
    for name, shape in shapes.items():
        means = _means(ss19(name, k) for k in arms)
        found = {"mu2" if name == "C1" else f"{name}, K = 5": (5,)}
        yield ExplorerInstance(name, f"{name}: {shape}", means, {name: arms}, found)
    for name, k, shape in (("two", 2, "0.9 and 0.6"), ("ten", 10, "0.55, 0.2, and eight of 0.1")):
        names = {name: (k,), f"{name} arms": (k,)}
        title = f"TD16, {name} arms: {shape}"
        yield ExplorerInstance(name, title, _means([td16(name)]), names, {})
    for name, title in (
        ("mu1", "JA25, μ1: 0.95, three of 0.9, and 0.5"),
        ("even", "JA25: 1, 0.75, 0.5, 0.25 and 0"),
    ):
        yield ExplorerInstance(name, title, _means([ja25(name)]), {}, {name: (5,)})
    gaps = (0.02, 0.05, 0.15, 0.37)
    for gap in gaps:
        label, title = f"gap {gap:g}", f"Best at 0.75, the others {gap:g} below"
        means = _means(equal_gaps(k, gap) for k in (2, 10))
        yield ExplorerInstance(f"gap-{gap:g}", title, means, {label: (2, 10)}, {label: (2,)})
    for gap in gaps:
        title = f"Best at 0.75, the others {gap:g} to {2 * gap:g} below"
        found = {f"gap {gap:g}": (10,)}
        yield ExplorerInstance(f"ladder-{gap:g}", title, _means([ladder(10, gap)]), {}, found)
    best, other = 0.8, 0.6  # in chapter 5's experiment on K
    arms = (2, 5, 10, 20, 50, 100)
    means = _means(bernoulli((best, *(other,) * (k - 1))) for k in arms)
    title = f"Best at {best:g}, the others at {other:g}"
    yield ExplorerInstance("equal", title, means, {}, {"equal gaps": arms})


INSTANCES: tuple[ExplorerInstance, ...] = tuple(_instances())
"""What can be chosen, in the order of the page."""


# -------------------------------------------------------------------------------------- theory


def budgets(simulated: Iterable[float], per_decade: int = PER_DECADE) -> tuple[float, ...]:
    """Return the budgets of the explorer's slider, from 0.001 to 125, increasing.

    These are the finite simulated ones, and `per_decade` others for each factor of 10, evenly
    spaced in the logarithm, with four digits.

    Examples
    --------
    >>> budgets([0.25, float("inf")], per_decade=1)
    (0.001, 0.01, 0.1, 0.25, 1.0, 10.0, 100.0, 125.0)
    """
    step = check_integer("per_decade", per_decade, 1)
    last = math.floor(math.log10(GREATEST / LEAST) * step)
    grid = {float(f"{LEAST * 10 ** (k / step):.4g}") for k in range(last + 1)}
    return tuple(sorted(grid | {GREATEST} | {e for e in simulated if math.isfinite(e)}))


def theory(means: Sequence[float], epsilons: Sequence[float]) -> Content:
    """Compute times, allocations and rates of regret for given means and budgets ε.

    The keys are ``values``, the distinct means, decreasing; ``counts``, the number of arms with
    each; ``time``, T*_ε for each budget; ``weights``, for each distinct mean the share of the pulls
    of one such arm, for each budget; ``free`` and ``free_weights``, the same without privacy;
    ``tv``, the limit of ε·T*_ε as ε → 0; and ``lai_robbins`` and ``private``, lower bounds on the
    regret per log T of every consistent policy, and of every consistent ε-DP policy: None if the
    greatest mean is 1, where they are not bounds.
    """
    arms = np.sort(np.asarray(means, dtype=np.float64))[::-1]
    values, first, counts = np.unique(-arms, return_index=True, return_counts=True)
    times = [characteristic_time(arms, epsilon) for epsilon in epsilons]
    free = characteristic_time(arms, math.inf)
    bounded = arms[0] < 1
    return {
        "values": (-values).tolist(),
        "counts": counts.tolist(),
        "time": [_short(time.value, 5) for time in times],
        "weights": [[_whole(round(float(time.weights[i]), 5)) for time in times] for i in first],
        "free": _short(free.value, 5),
        "free_weights": [_whole(round(float(free.weights[i]), 5)) for i in first],
        "tv": _short(total_variation_time(arms), 5),
        "lai_robbins": _short(lai_robbins_rate(arms), 5) if bounded else None,
        "private": [_short(private_regret_rate(arms, e), 5) for e in epsilons] if bounded else None,
    }


def _short(value: float, digits: int) -> float | int | None:
    """Round to significant digits; nan is None, and a whole number an integer."""
    return _whole(float(f"{value:.{digits}g}")) if math.isfinite(value) else None


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() else number


# --------------------------------------------------------------------------------- simulations

_MAIN = {
    ("DP-UCB", "tree-exact"),
    ("DP-UCB", "tree-tight"),
    ("DP-UCB", "tree-tight, calibrated"),
    ("Private-UCB", "calibrated"),
    ("DP-UCB-HYBRID", "half"),
    ("DP-UCB-BOUND", "repaired"),
}
"""Variants that the algorithm's name alone stands for."""


def line_name(algorithm: str, variant: str) -> str:
    """Return the name of an algorithm and its variant on the page."""
    return f"{algorithm}, {variant}" if variant and (algorithm, variant) not in _MAIN else algorithm


def _budget(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None


def _curves(sources: Mapping[str, Published], names: set[str], n_arms: int) -> list[Content]:
    """Return the curves of an instance, a group for each horizon."""
    groups: dict[int, Content] = {}
    seen = set()
    for source, figure in sources.items():
        table = figure.table
        table = table[table["instance"].isin(names) & (table["n_arms"] == n_arms)]
        if "epoch" in table:
            table = table[table["epoch"] == 0]  # omit the ends of one run's epochs
        for curve in records(table, CURVE):
            times, name = curve.time.tolist(), line_name(curve.algorithm, curve.variant)
            empty: Content = {"horizon": times[-1], "sources": [], "grids": [], "lines": []}
            group = groups.setdefault(times[-1], empty)
            if (times[-1], name, curve.epsilon) in seen:
                continue
            seen.add((times[-1], name, curve.epsilon))
            _add(group["sources"], source)
            _add(group["grids"], times)
            if hasattr(curve, "n_runs"):
                runs = int(curve.n_runs[0])
            else:  # all cases of the figure have the same number
                runs = int(figure.manifest["runs"]) // int(figure.manifest["cases"])
            columns = {key: getattr(curve, key) for key in ("mean", "low", "high")}
            group["lines"].append(
                {
                    "name": name,
                    "epsilon": _budget(curve.epsilon),
                    "runs": runs,
                    "grid": group["grids"].index(times),
                    **{key: [_short(x, 4) for x in column] for key, column in columns.items()},
                }
            )
    return [groups[horizon] for horizon in sorted(groups)]


def _times(sources: Mapping[str, Published], names: set[str], n_arms: int) -> list[Content]:
    """Return the times of identification of an instance, a group for each δ."""
    groups: dict[float, Content] = {}
    points: dict[tuple[float, str], dict[float, Any]] = {}
    for source, figure in sources.items():
        table = figure.table
        table = table[table["instance"].isin(names) & (table["n_arms"] == n_arms)]
        private = set(table.loc[table["epsilon"] < math.inf, "algorithm"])
        for s in table.itertuples():
            group = groups.setdefault(s.delta, {"delta": s.delta, "sources": [], "lines": []})
            name = line_name(s.algorithm, s.variant)
            if math.isinf(s.epsilon) and s.algorithm in private:
                name += FREE  # a private algorithm without its noise has a line of its own
            known = points.setdefault((s.delta, name), {})
            if s.epsilon not in known:
                known[s.epsilon] = s
                _add(group["sources"], source)
    shown = {"runs": "n_runs", "mean": "mean_time", "low": "time_q05", "high": "time_q95"}
    shown |= {"error": "error_rate"}
    for (delta, name), known in points.items():
        ordered = sorted(known)
        line = {"name": name, "epsilon": [*map(_budget, ordered)]}
        for key, column in shown.items():
            line[key] = [_short(getattr(known[epsilon], column), 4) for epsilon in ordered]
        groups[delta]["lines"].append(line)
    return [groups[delta] for delta in sorted(groups, reverse=True)]


def _add(known: list[Any], one: Any) -> None:
    if one not in known:
        known.append(one)


# ------------------------------------------------------------------------------------ together


def assemble(load: Callable[[str], Published] = published, per_decade: int = PER_DECADE) -> Content:
    """Assemble the explorer's data in one dictionary that can be written as JSON.

    Its keys are ``epsilons``, the budgets; ``looks``, colour, dashes and marker of each algorithm;
    and ``instances``. Each instance has ``id``, ``title``, ``unit`` (the word for a pull), and
    ``arms``: for each number of arms ``k``, the result of `theory`, ``regret`` by horizon, and
    ``found``, times of identification, by δ. Figures are read by `load`.
    """
    regret = {name: load(name) for name in REGRET_SOURCES}
    found = {name: load(name) for name in IDENTIFICATION_SOURCES}
    tables = [figure.table for figure in (*regret.values(), *found.values())]
    # rows of bounds have no instance
    simulated = [float(e) for t in tables for e in t.loc[t["instance"] != "", "epsilon"]]
    epsilons = budgets(simulated, per_decade)
    instances: list[Content] = []
    lines: set[str] = set()
    for instance in INSTANCES:
        entries = []
        for k, means in instance.means.items():
            names, others = (
                {name for name, arms in known.items() if k in arms}
                for known in (instance.regret, instance.found)
            )
            curves, times = _curves(regret, names, k), _times(found, others, k)
            lines |= {line["name"] for group in (*curves, *times) for line in group["lines"]}
            entries.append({"k": k, **theory(means, epsilons), "regret": curves, "found": times})
        named = {"id": instance.id, "title": instance.title, "unit": instance.unit}
        instances.append({**named, "arms": entries})
    return {"epsilons": list(epsilons), "looks": looks_of(sorted(lines)), "instances": instances}


def to_text(content: Any) -> str:
    """Write content as JSON, without spaces."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_scripts(content: Content) -> dict[str, str]:
    """Write the result of `assemble` as scripts, by file name.

    The first contains everything that is shared; the others contain one instance each, so that a
    page loads only the instances it shows.

    Examples
    --------
    >>> scripts = to_scripts({"instances": [{"id": "C1", "title": "one", "arms": [{"k": 2}]}]})
    >>> list(scripts)
    ['explorer-data.js', 'explorer-data-C1.js']
    >>> print(scripts["explorer-data-C1.js"].strip())
    window.explorerData.arms["C1"]=[{"k":2}];
    """
    known = [
        {name: value for name, value in one.items() if name != "arms"}
        for one in content["instances"]
    ]
    first = to_text({**content, "instances": known, "arms": {}})
    return {
        f"{DATA}.js": f"window.explorerData={first};\n",
        **{
            f"{DATA}-{one['id']}.js": (
                f"window.explorerData.arms[{to_text(one['id'])}]={to_text(one['arms'])};\n"
            )
            for one in content["instances"]
        },
    }


def looks_of(names: Iterable[str]) -> dict[str, Content]:
    """Return each algorithm's colour, dashes and marker in the figures."""
    from companion.figures.comparison import HEAD_LOOKS
    from dpbandits.plotting.style import COLOURS, IDENTIFIER_LOOKS, OTHER_LOOKS, Look

    known = {line_name(*key): look for key, look in IDENTIFIER_LOOKS.items()} | HEAD_LOOKS
    called = {value: key for key, value in COLOURS.items()}
    looks, others = {}, 0
    for name in names:
        look = known.get(name)
        if name.endswith(FREE):
            look = Look(COLOURS["black"], "-", "", 1.6)
        if look is None:
            look = OTHER_LOOKS[others % len(OTHER_LOOKS)]
            others += 1
        dashes = look.line[1] if isinstance(look.line, tuple) else ()
        looks[name] = {
            "colour": called[look.colour],
            "dash": [round(look.width * part, 1) for part in dashes],
            "marker": look.marker,
        }
    return looks
