"""Results as tables: one row per case, or one per case and checkpoint."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from companion.rounding import SHOWN, rounded_table
from dpbandits import DPUCBInt
from dpbandits.regret.simulation import Runs

__all__ = ["curve", "from_csv", "records", "tabulate", "to_csv"]

Result = TypeVar("Result")


def tabulate(
    results: Mapping[Any, Result],
    columns: Callable[[Result], Mapping[str, Any]] | None = None,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return a table of results: the parts of the keys first, then the columns of each result.

    Numbers are rounded for publication, by `companion.rounding.rounded_table`.

    A key is a tuple, a named tuple or a single value; `names` are the names of its parts, which
    named tuples provide. `columns` takes a result and returns name → value, or name → array with a
    value per row; the default is ``result.summary()``. A part called ``epsilon`` must equal the ε
    of the result's algorithm, rule or estimator, if it has one, unless the part ``variant`` names a
    share of it, such as "ε/K"; otherwise a ValueError names the key.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> C1 = dpb.instances.ss19("C1")
    >>> cases = {(eps, 5): (dpb.DPSE(eps), C1) for eps in (0.25, 1.0)}
    >>> runs = dpb.simulate_many(cases, horizon=10**6, n_runs=2)
    >>> table = tabulate(runs, lambda r: r.final(), names=("epsilon", "n_arms"))
    >>> list(table.columns), len(table)
    (['epsilon', 'n_arms', 'time', 'mean', 'low', 'high'], 2)
    """
    parts = []
    for key, result in results.items():
        labels = key if isinstance(key, tuple) else (key,)
        called = names or getattr(key, "_fields", None)
        if called is None or len(called) != len(labels):
            raise ValueError(f"names={names!r} must name each part of the key {key!r}")
        _check_budget(key, dict(zip(called, labels, strict=True)), result)
        values = result.summary() if columns is None else columns(result)  # type: ignore[attr-defined]
        rows = max((np.size(value) for value in values.values()), default=1)
        both = {**dict(zip(called, labels, strict=True)), **values}
        parts.append(pd.DataFrame(both, index=range(rows)))
    if not parts:
        raise ValueError("results is empty; it must hold at least one case")
    return rounded_table(pd.concat(parts, ignore_index=True))


def _check_budget(key: object, labels: Mapping[str, Any], result: object) -> None:
    """Raise if the ε in a key is not that of the algorithm, rule or estimator of its result."""
    played: Any = result
    for name in ("algorithm", "rule", "estimator", "base"):  # the last in GuessAndDouble
        played = getattr(played, name, played)
    is_share = "ε" in str(labels.get("variant", ""))
    if "epsilon" not in labels or is_share or isinstance(played, DPUCBInt):  # its ε is per interval
        return
    epsilon = getattr(played, "epsilon", labels["epsilon"])
    if played is not result and labels["epsilon"] != epsilon:
        raise ValueError(f"case {key!r} has another ε than {played!r}; allowed: {epsilon!r}")


def curve(
    runs: Runs, *, first: int = 100, epochs: bool = False, bound: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the columns of a curve of regret: ``time``, ``mean``, ``low``, ``high``.

    It begins at the time `first`. With `epochs`, the times at which the first run's epochs ended
    have rows of their own, with a 1 in the column ``epoch`` and the mean interpolated between the
    neighbouring checkpoints; with `bound` there is a column with the algorithm's proved bound on
    the regret.
    """
    columns = runs.summary()
    kept = columns["time"] >= min(first, runs.horizon)
    columns = {name: values[kept] for name, values in columns.items()}
    if epochs:
        old, ends = columns["time"], runs.epoch_ends[0]
        ends = ends[(ends >= old[0]) & (ends <= runs.horizon)]
        order = np.argsort(np.concatenate([old, ends]), kind="stable")
        columns = {
            name: np.concatenate([values, np.interp(ends, old, values)])[order]
            for name, values in columns.items()
        }
        columns["time"] = columns["time"].astype(np.int64)
        columns["epoch"] = np.repeat([0, 1], [old.size, ends.size])[order]
    if bound:
        columns["bound"] = np.asarray(
            runs.algorithm.regret_bound(runs.instance, runs.horizon, times=columns["time"])
        )
    return columns


def records(table: pd.DataFrame, by: Sequence[str], **chosen: object) -> Iterator[SimpleNamespace]:
    """Yield a record for each combination of labels: labels are values, other columns are arrays.

    The labels are the columns `by`; only records with the chosen values, such as ``panel="a"``, are
    yielded.

    Examples
    --------
    >>> table = pd.DataFrame({"rule": ["a", "a", "b"], "x": [1, 2, 3]})
    >>> [(r.rule, r.x.tolist()) for r in records(table, ["rule"])]
    [('a', [1, 2]), ('b', [3])]
    """
    for name, value in chosen.items():
        table = table[table[name] == value]
    for labels, part in table.groupby(list(by), sort=False, dropna=False):
        arrays = {name: part[name].to_numpy() for name in part.columns if name not in by}
        yield SimpleNamespace(**dict(zip(by, labels, strict=True)), **arrays)


def to_csv(table: pd.DataFrame) -> str:
    """Write a table as text, its numbers rounded by `companion.rounding.rounded_table`."""
    form = {"float_format": f"%.{SHOWN}g", "na_rep": "nan", "lineterminator": "\n"}
    return str(rounded_table(table).to_csv(index=False, **form))


def from_csv(text: str) -> pd.DataFrame:
    """Read what `to_csv` wrote.

    Examples
    --------
    >>> table = pd.DataFrame({"variant": ["", "half"], "mean": [float("nan"), float("inf")]})
    >>> from_csv(to_csv(table)).equals(table)
    True
    """
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=["nan"])
