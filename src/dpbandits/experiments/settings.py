"""What every experiment is made of, whatever it simulates: cells, settings, presets."""

from __future__ import annotations

import abc
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpbandits._validation import check_choice
from dpbandits.experiments.tables import Labels, Table
from dpbandits.provenance import Name, code_hash

__all__ = [
    "PRESETS",
    "Arrays",
    "Cell",
    "Experiment",
    "Preset",
    "Setting",
    "SettingMaker",
    "describe",
]

_SEEDS: Name = ("dpbandits.simulation", "replicate_seeds")

Arrays = dict[str, NDArray[Any]]
"""What replicates gave. The arrays of several batches are joined along their first axes."""


class Cell(abc.ABC):
    """The unit of work: replicates of one configuration.

    Cells with equal configurations are one cell, in whatever figure they stand. A subclass is a
    frozen dataclass of what is simulated and `n_runs`. It defines `ENTRY` and the abstract
    members; its `play` leaves every number to the function that `ENTRY` names.
    """

    ENTRY: ClassVar[Name]
    """Function that plays replicates: the hash of the code starts there and at `parts`."""
    CHUNK: ClassVar[int] = 10
    """Replicates that a worker plays at a time."""

    # a field of the subclasses
    n_runs: int
    """Number of replicates."""

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[object, ...]:
        """What is played, such as an algorithm and an instance."""

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """What the progress bar calls the cell."""

    @abc.abstractmethod
    def configuration(self) -> dict[str, Any]:
        """Return what the law of one replicate depends on, ready for JSON."""

    @abc.abstractmethod
    def play(self, seeds: Sequence[np.random.SeedSequence]) -> Arrays:
        """Play one replicate per seed."""

    @abc.abstractmethod
    def assemble(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Make the result, such as `Runs`, from what `play` returned."""

    def kept(self) -> dict[str, Any]:
        """Return what else the arrays depend on, such as the times that are kept."""
        return {}

    def seed(self, root: int = 0) -> tuple[int, ...]:
        """Return this cell's seed: `root`, then 128 bits hashed from the configuration.

        The number of replicates plays no role: fewer replicates are the first of more.
        """
        text = json.dumps(self.configuration(), sort_keys=True)
        words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4")
        return (root, *map(int, words))

    def code(self) -> str:
        """Hash the source that playing this cell runs."""
        return code_hash((_SEEDS, self.ENTRY), self.parts)


def describe(part: object) -> dict[str, Any]:
    """Describe an algorithm, a rule or a law for JSON.

    Arguments that have their default value are left out, so that a class may gain options
    without a change of seeds.
    """
    described: dict[str, Any] = {"name": type(part).__name__}
    for option in fields(part):  # type: ignore[arg-type]
        value = getattr(part, option.name)
        if option.default is MISSING or value != option.default:
            if is_dataclass(value):
                value = describe(value)
            elif value == math.inf:
                value = "inf"  # JSON has no infinity
            described[option.name] = value
    return described


def check_part(name: str, value: object, base: type) -> None:
    """Refuse a cell's part that is not of the class that plays it."""
    if not isinstance(value, base):
        raise ValueError(f"{name}={value!r} cannot be played; allowed: a {base.__name__}")


class Setting(abc.ABC):
    """Where a cell stands in a figure.

    A subclass is a frozen dataclass. Each of its fields but `cell` is a label, by which
    `Results.select` finds the setting.
    """

    # fields of the subclasses
    experiment: str
    """Id of the experiment."""
    panel: str
    """Panel, such as "a"."""
    cell: Cell
    """What is simulated."""

    @property
    @abc.abstractmethod
    def labels(self) -> Labels:
        """The first columns of the setting's rows in the tables."""

    def known_labels(self) -> tuple[str, ...]:
        """Return the names of the labels."""
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        return tuple(name for name in names if name != "cell")


@dataclass(frozen=True)
class Preset:
    """How much of an experiment is computed.

    The experiments on stopping rules, and those after TD16, have grids of their own under the same
    names.

    Attributes
    ----------
    name : str
        "smoke", "quick" or "paper".
    horizon : int
        Horizon T of the figures over time.
    n_runs : int
        Replicates per cell of the experiments on regret.
    epsilons : tuple of float
        Budgets of the figure over ε.
    horizons : tuple of int
        Horizons of the figure over T.
    """

    name: str
    horizon: int
    n_runs: int
    epsilons: tuple[float, ...]
    horizons: tuple[int, ...]


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("smoke", 20_000, 3, (0.1, 1.0), (2_000, 20_000)),
        Preset("quick", 1_000_000, 10, (0.01, 0.1, 1.0, 10.0), (10**4, 10**5, 10**6, 10**7)),
        Preset(
            "paper",
            50_000_000,
            30,
            (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
            (10**4, 10**5, 10**6, 10**7, 50_000_000, 10**8, 10**9),
        ),
    )
}
"""Name → preset. The horizon and runs of "paper" are those of SS19, §5."""

SettingMaker = Callable[["Experiment", Preset], Iterable[Setting]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A published figure, or one of ours.

    Attributes
    ----------
    id : str
        What the command line, the data files and the seeds call it.
    title : str
        One line.
    source : str
        Paper and figure, or "ours".
    panels : dict of str to str
        Panel → its title.
    axis : str
        What the figure shows its values against, such as "time" or "epsilon"; what there is
        depends on the kind of experiment.
    table : Table
        How the data is written and read; its `kind` is that of the experiment.
    readings : bool
        Whether algorithms stand in it in several readings, which its figure draws as such.
    """

    id: str
    title: str
    source: str
    panels: dict[str, str]
    axis: str
    make_settings: SettingMaker = field(repr=False)
    table: Table
    readings: bool = False

    def settings(self, preset: str = "paper") -> tuple[Setting, ...]:
        """Return the settings of a preset, in the order of the panels."""
        check_choice("preset", preset, tuple(PRESETS))
        return tuple(self.make_settings(self, PRESETS[preset]))

    def cells(self, preset: str = "paper") -> tuple[Cell, ...]:
        """Return the distinct cells of a preset."""
        return tuple(dict.fromkeys(setting.cell for setting in self.settings(preset)))
