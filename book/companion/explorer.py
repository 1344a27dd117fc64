"""What the book's explorer shows: simulated curves and times, lower bounds, and T*_ε on a grid.

Simulations come out of the published figures; bounds, characteristic times and their allocations
are computed exactly, on a grid of budgets that is fine enough to be moved through.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from companion.explorer_lines import curves_of, line_name, short, times_of
from companion.publishing import Published, published
from dpbandits._validation import check_integer
from dpbandits.bounds.lazy import private_regret_rate
from dpbandits.bounds.regret import lai_robbins_rate
from dpbandits.identification.characteristic import characteristic_time, total_variation_time
from dpbandits.rewards.instances import (
    BernoulliInstance,
    bernoulli,
    equal_gaps,
    ja25,
    ladder,
    ss19,
    td16,
)

__all__ = [
    "IDENTIFICATION_SOURCES",
    "INSTANCES",
    "REGRET_SOURCES",
    "ExplorerInstance",
    "assemble",
    "budgets",
    "theory",
    "to_text",
]

Array = NDArray[np.float64]
Content = dict[str, Any]

REGRET_SOURCES = (
    "h-curves-near",
    "h-curves-far",
    "h-curves-td16",
    *(f"ss19-fig{number}" for number in range(5, 13)),
    "ss19-baselines",
    "ours-price-of-privacy",
    "h-map-all",
)
"""Figures of regret that are shown; of a setting that two of them have, the first is."""

IDENTIFICATION_SOURCES = (
    "ja25-fig1",
    "ja25-fig2",
    "ours-bai-own",
    "ours-bai-delta",
    "ours-bai-arms",
    "h-bai-all",
)
"""Figures of identification that are shown; of a setting that two have, the first is."""

PER_DECADE = 40
LEAST, GREATEST = 0.001, 125.0
GAPS = (0.02, 0.05, 0.15, 0.37)
EQUAL_GAPS = (0.8, 0.6)
"""Mean of the best arm, and of all others, in chapter 5's experiment on K."""


@dataclass(frozen=True)
class ExplorerInstance:
    """An instance of the explorer.

    Attributes
    ----------
    id : str
        What addresses call it.
    title : str
        What the page calls it.
    arms : tuple of int
        Numbers of arms K that it is shown with.
    make : callable
        K → the instance, the best arm first.
    regret, found : dict
        The name that the experiments on regret, and on identification, have for it → the numbers
        of arms for which that name is meant.
    """

    id: str
    title: str
    arms: tuple[int, ...]
    make: Callable[[int], BernoulliInstance]
    regret: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    found: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def means(self, n_arms: int) -> tuple[float, ...]:
        """Return the means for a number of arms, decreasing."""
        if n_arms not in self.arms:
            raise ValueError(f"n_arms={n_arms!r} is not shown of {self.id}; allowed: {self.arms}")
        return tuple(sorted(self.make(n_arms).mean_rewards, reverse=True))


def _always(instance: BernoulliInstance, n_arms: int) -> BernoulliInstance:
    return instance


def _at_gap(
    make: Callable[[int, float], BernoulliInstance], gap: float, n_arms: int
) -> BernoulliInstance:
    return make(n_arms, gap)


def _equal(n_arms: int) -> BernoulliInstance:
    best, other = EQUAL_GAPS
    return bernoulli((best, *(other,) * (n_arms - 1)))


def _instances() -> Iterable[ExplorerInstance]:
    shapes = {
        "C1": "one arm at 0.75, the others at 0.7",
        "C2": "from 0.75 to 0.25, evenly",
        "C3": "from 0.75 to 0.25, most of them low",
        "C4": "from 0.75 to 0.25, most of them high",
    }
    arms: tuple[int, ...] = (3, 5, 10, 20)
    for name, shape in shapes.items():
        found = {"mu2": (5,)} if name == "C1" else {f"{name}, K = 5": (5,)}
        yield ExplorerInstance(
            name, f"{name}: {shape}", arms, partial(ss19, name), {name: arms}, found
        )
    for name, k, shape in (("two", 2, "0.9 and 0.6"), ("ten", 10, "0.55, 0.2, and eight of 0.1")):
        names = {name: (k,), f"{name} arms": (k,)}
        title = f"TD16, {name} arms: {shape}"
        yield ExplorerInstance(name, title, (k,), partial(_always, td16(name)), names)
    for name, title in (
        ("mu1", "JA25, μ1: 0.95, three of 0.9, and 0.5"),
        ("even", "JA25: 1, 0.75, 0.5, 0.25 and 0"),
    ):
        make = partial(_always, ja25(name))
        yield ExplorerInstance(name, title, (5,), make, found={name: (5,)})
    for gap in GAPS:
        label = f"gap {gap:g}"
        yield ExplorerInstance(
            f"gap-{gap:g}",
            f"Best at 0.75, the others {gap:g} below",
            (2, 10),
            partial(_at_gap, equal_gaps, gap),
            {label: (2, 10)},
            {label: (2,)},
        )
    for gap in GAPS:
        yield ExplorerInstance(
            f"ladder-{gap:g}",
            f"Best at 0.75, the others {gap:g} to {2 * gap:g} below",
            (10,),
            partial(_at_gap, ladder, gap),
            found={f"gap {gap:g}": (10,)},
        )
    best, other = EQUAL_GAPS
    arms = (2, 5, 10, 20, 50, 100)
    yield ExplorerInstance(
        "equal",
        f"Best at {best:g}, the others at {other:g}",
        arms,
        _equal,
        found={"equal gaps": arms},
    )


INSTANCES: tuple[ExplorerInstance, ...] = tuple(_instances())
"""What can be chosen, in the order of the page."""


def budgets(simulated: Iterable[float], per_decade: int = PER_DECADE) -> tuple[float, ...]:
    """Return the budgets through which the explorer moves.

    Parameters
    ----------
    simulated : iterable of float
        Budgets that must be among them; infinite ones are left out.
    per_decade : int
        How many others there are for each factor of 10, evenly in the logarithm, from 0.001 on.

    Returns
    -------
    tuple of float
        Increasing, with four digits each, from 0.001 to 125.

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
    """Compute what does not depend on chance: times, allocations, and rates of regret.

    Parameters
    ----------
    means : sequence of float
        Means of the arms, of which one is the greatest.
    epsilons : sequence of float
        Budgets ε.

    Returns
    -------
    dict
        ``values``, the distinct means, decreasing; ``counts``, how many arms have each; ``time``,
        T*_ε for each budget, and ``weights``, for each distinct mean the share of the pulls of one
        such arm, for each budget; ``free`` and ``free_weights``, the same without privacy; ``tv``,
        the limit of ε·T*_ε as ε → 0; and ``lai_robbins`` and ``private``, the rates of regret per
        log T that no consistent policy without, and with, ε-DP falls below: None if the greatest
        mean is 1, where they are no bounds.

    Examples
    --------
    >>> found = theory([0.75, 0.7, 0.7], [0.1, 1.0])
    >>> found["values"], found["counts"], [len(w) for w in found["weights"]]
    ([0.75, 0.7], [1, 2], [2, 2])
    """
    arms = np.sort(np.asarray(means, dtype=np.float64))[::-1]
    values, first, counts = np.unique(-arms, return_index=True, return_counts=True)
    times = [characteristic_time(arms, epsilon) for epsilon in epsilons]
    free = characteristic_time(arms, math.inf)
    bounded = arms[0] < 1
    return {
        "values": (-values).tolist(),
        "counts": counts.tolist(),
        "time": [short(time.value, 5) for time in times],
        "weights": [[_fixed(time.weights[i]) for time in times] for i in first],
        "free": short(free.value, 5),
        "free_weights": [_fixed(free.weights[i]) for i in first],
        "tv": short(total_variation_time(arms), 5),
        "lai_robbins": short(lai_robbins_rate(arms), 5) if bounded else None,
        "private": [short(private_regret_rate(arms, e), 5) for e in epsilons] if bounded else None,
    }


def assemble(load: Callable[[str], Published] = published, per_decade: int = PER_DECADE) -> Content:
    """Bring all that the explorer shows into one dictionary that JSON can hold.

    Parameters
    ----------
    load : callable
        Name of a figure → the figure as it was published.
    per_decade : int
        Budgets for each factor of 10, besides those that were simulated; as for `budgets`.

    Returns
    -------
    dict
        ``epsilons``, the budgets; ``looks``, colour, dashes and marker of each algorithm; and
        ``instances``: for each ``id``, ``title``, and ``arms``: for each number of arms ``k``,
        what `theory` has, ``regret`` by horizon, and ``found``, times of identification, by δ.

    Raises
    ------
    ValueError
        If a figure is not published.
    """
    regret = {name: load(name) for name in REGRET_SOURCES}
    found = {name: load(name) for name in IDENTIFICATION_SOURCES}
    figures = (*regret.values(), *found.values())
    epsilons = budgets(set().union(*map(_simulated, figures)), per_decade)
    instances: list[Content] = []
    for instance in INSTANCES:
        entries = []
        for n_arms in instance.arms:
            names = {name for name, arms in instance.regret.items() if n_arms in arms}
            others = {name for name, arms in instance.found.items() if n_arms in arms}
            entries.append(
                {
                    "k": n_arms,
                    **theory(instance.means(n_arms), epsilons),
                    "regret": curves_of(regret, names, n_arms),
                    "found": times_of(found, others, n_arms),
                }
            )
        instances.append({"id": instance.id, "title": instance.title, "arms": entries})
    names = {
        line["name"]
        for instance in instances
        for entry in instance["arms"]
        for group in (*entry["regret"], *entry["found"])
        for line in group["lines"]
    }
    return {"epsilons": list(epsilons), "looks": _looks(sorted(names)), "instances": instances}


def to_text(content: Content) -> str:
    """Write what `assemble` returned as JSON, without spaces."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _simulated(figure: Published) -> set[float]:
    """Return the budgets of a figure's cases; rows of bounds have no instance."""
    table = figure.table
    return {float(epsilon) for epsilon in table.loc[table["instance"] != "", "epsilon"]}


def _fixed(share: float) -> float | int:
    """Round a share of the pulls to five decimals."""
    number = round(float(share), 5)
    return int(number) if number.is_integer() else number


def _looks(names: Iterable[str]) -> dict[str, Content]:
    """Give each algorithm the colour, dashes and marker that it has in the figures."""
    from companion.figures.comparison import HEAD_LOOKS
    from dpbandits.plotting.identification_looks import IDENTIFIER_LOOKS, OTHER_LOOKS
    from dpbandits.plotting.style import COLOURS

    known = {
        **{line_name(*key): look for key, look in IDENTIFIER_LOOKS.items()},
        **HEAD_LOOKS,
    }
    called = {value: key for key, value in COLOURS.items()}
    looks, others = {}, 0
    for name in names:
        look = known.get(name)
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
