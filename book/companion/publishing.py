"""The line of facts, the numbers and the figures that a chapter publishes.

A chapter begins with a `Page`, which checks its parameters. `Page.choose` picks the value for the
preset, `Page.quiet` reports how the page was computed, `Page.fix` keeps a number for the text,
`Page.table` shows a table, and `Page.publish` writes a figure's files to ``book/figures``, where
the line below the figure, the gallery and the explorer find them. Vector files are drawn from these
when the pages are built (`companion.vector_files`).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import pandas as pd

from companion.chapters import PRESETS, Preset, find_root
from companion.formulas import SUPERSCRIPTS
from companion.keeping import keep_runs
from companion.rounding import SHOWN, rounded_data
from companion.tables import from_csv, to_csv
from dpbandits._files import renew
from dpbandits._validation import check_choice, check_integer
from dpbandits.configuration import Configuration, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PRESETS",
    "grouped",
    "Page",
    "Published",
    "number",
    "power_of_ten",
    "published",
    "published_names",
    "ran_as_said",
    "share",
    "short",
    "what_ran",
]

FOLDER = Path("book", "figures")
FACTS = "quiet-facts"
"""Name under which a chapter glues what its quiet line says of its execution."""

_RAN = {
    "algorithms": ("algorithm", "rule", "estimator"),
    "instances": ("instance", "law", "population"),
    "horizons": ("horizon", "max_pulls", "n_rewards"),
}
"""What a manifest lists of results → the attributes of results that have it."""

_VERSIONS = ("numpy", "scipy", "numba", "matplotlib")

Choice = TypeVar("Choice")


class Published(NamedTuple):
    """A published figure: its name, its manifest, and the table that it shows.

    The manifest has ``title``, ``source``, ``chapter``, ``preset``, ``seed``, ``versions``,
    ``recipe``, which describes how it is drawn, and ``ran``, its origin: for runs, the algorithms,
    instances and horizons listed by `what_ran`, with the numbers of ``cases`` and ``runs``; for a
    computation, a description under ``computed``, from `ran_as_said`.
    """

    name: str
    manifest: Mapping[str, Any]
    table: pd.DataFrame

    def draw(self, **options: Any) -> Figure:
        """Draw the figure again, with further options of the function that drew it."""
        from companion.figures.redraw import redraw

        return redraw(self.table, self.manifest["recipe"], **options)


def _jobs(name: str, value: object) -> int:
    return -1 if value == -1 else check_integer(name, value, 1)


@dataclass(frozen=True)
class Page(Configuration):
    """A chapter that is being executed.

    Parameters
    ----------
    chapter : str
        Its number, such as "03".
    preset : {"smoke", "quick", "paper"}
        The size of its experiments.
    seed : int
        Root seed, 0 or more.
    n_jobs : int
        Number of workers, -1 for all processors.

    Examples
    --------
    >>> page = Page("03", "smoke", seed=0, n_jobs=1)
    >>> page.choose(smoke=3, quick=10, paper=30)
    3
    """

    chapter: str
    preset: Preset
    seed: Annotated[int, whole(0)]
    n_jobs: Annotated[int, _jobs] = 1

    @property
    def at_its_own(self) -> bool:
        """Whether preset and seed are those of the book."""
        return (self.preset, self.seed) == ("paper", 0)

    def choose(self, *, smoke: Choice, quick: Choice, paper: Choice) -> Choice:
        """Return the value for the preset."""
        return {"smoke": smoke, "quick": quick, "paper": paper}[self.preset]

    def quiet(self, runs: str = "") -> None:
        """Pass the facts of this execution to the quiet line under the title.

        An example of `runs` is ``f"{RUNS} runs a point"``. The line itself is the directive
        ``quiet`` in the text of the chapter. From this call on, the chapter's runs are kept.
        """
        keep_runs(find_root())
        self.fix(FACTS, self._line(runs))

    def fix(self, name: str, value: object) -> None:
        """Keep a number for the text, which shows it by ``{glue:text}`` with this name."""
        glue: Any = importlib.import_module("myst_nb").glue
        glue(name, value, display=False)

    def table(self, lines: Iterable[str]) -> None:
        """Show the lines of a table in Markdown."""
        show: Any = importlib.import_module("IPython.display")
        show.display(show.Markdown("\n".join(lines)))

    def _line(self, text: str) -> str:
        """Write preset, seed, and what was run."""
        parts = (f"Computed with the preset {self.preset}", f"seed {self.seed}", text)
        line = f"{', '.join(part for part in parts if part)}."
        if not self.at_its_own:
            line += (
                " Its numbers are computed; its words were written for the preset paper, seed 0."
            )
        return line

    def publish(
        self,
        name: str,
        table: pd.DataFrame,
        figure: Figure,
        *,
        title: str,
        source: str = "ours",
        runs: Mapping[Any, Any] | None = None,
        ran: Mapping[str, Iterable[Any]] | None = None,
    ) -> None:
        """Write a figure's files: its data as CSV, and a manifest that describes how to draw them.

        A file is replaced in one step, and only if it changes: new versions of packages that give
        the same figure are not a change. Nothing in it depends on when, where or how fast it was
        made. The title describes the figure in one line; the source is a paper's figure, such as
        "SS19, Figure 5". Its origin is given in one of two ways: by the results `runs` that the
        table was made from, whose cases and runs are counted; or by `ran`, in the form of
        `ran_as_said`, if the table was computed. A figure that was not drawn by a `redrawable`
        function is rejected: it could not be drawn again from its files.
        """
        from companion.figures.redraw import recipe_of

        if (runs is None) == (ran is None):
            given = "both" if runs is not None else "neither"
            raise ValueError(
                f"figure {name!r} has {given} of runs and ran; it must have one of them: the "
                "results that it was made of, or what was computed"
            )
        manifest: dict[str, Any] = {
            "name": name,
            "title": title,
            "source": source,
            "chapter": self.chapter,
            "preset": self.preset,
            "seed": self.seed,
            "versions": {package: importlib.metadata.version(package) for package in _VERSIONS},
        }
        if runs is not None:
            counts = [getattr(result, "n_runs", None) or len(result) for result in runs.values()]
            manifest |= {"cases": len(counts), "runs": sum(counts), "ran": what_ran(runs.values())}
        if ran is not None:
            manifest["ran"] = ran_as_said(ran)
        manifest["recipe"] = recipe_of(figure)
        folder = find_root() / FOLDER
        written, data = folder / f"{name}.json", folder / f"{name}.csv"
        text = json.dumps(rounded_data(manifest), indent=1, ensure_ascii=False) + "\n"
        contents = to_csv(table).encode()
        if written.exists() and data.exists() and data.read_bytes() == contents:
            old, new = json.loads(written.read_text("utf-8")), json.loads(text)
            if old | {"versions": new["versions"]} == new:
                return
        renew(data, contents)
        renew(written, text.encode())


def ran_as_said(ran: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """List the inputs of a figure without runs.

    ``algorithms``, ``instances`` and ``horizons`` list each value once, as in `what_ran`;
    ``computed`` describes the computation in words or as calls.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> ran_as_said({"algorithms": [dpb.UCB()], "horizons": [9], "computed": ["one run"]})
    {'algorithms': ['UCB()'], 'horizons': [9], 'computed': ['one run']}
    """
    listed: dict[str, list[Any]] = {}
    for kind, things in ran.items():
        check_choice("kind of what ran", kind, (*_RAN, "computed"))
        written = (thing if isinstance(thing, int | str) else repr(thing) for thing in things)
        listed[kind] = list(dict.fromkeys(written))
    if not listed.get("computed"):
        raise ValueError(f"ran={dict(ran)!r} must say what was computed")
    return listed


def what_ran(results: Iterable[Any]) -> dict[str, list[Any]]:
    """List the algorithms, instances and horizons of results, each once.

    Algorithms, instances and distributions are written as the calls that make them. Results of
    other kinds contribute nothing.

    Examples
    --------
    >>> import dpbandits as dpb
    >>> arms = dpb.instances.bernoulli([0.9, 0.5], name="two arms")
    >>> runs = dpb.simulate(dpb.DPSE(1.0), arms, horizon=100, n_runs=2)
    >>> what_ran([runs])["algorithms"], what_ran([runs])["horizons"]
    (['DPSE(epsilon=1.0, beta=None)'], [100])
    >>> what_ran([runs])["instances"]
    ["BernoulliInstance(mean_rewards=(0.9, 0.5), name='two arms')"]
    """
    listed: dict[str, list[Any]] = {}
    for result in results:
        for kind, names in _RAN.items():
            for thing in (getattr(result, name, None) for name in names):
                if thing is None:
                    continue
                written = thing if isinstance(thing, int) else repr(thing)
                if written not in listed.setdefault(kind, []):
                    listed[kind].append(written)
    return listed


def published_names(root: Path | None = None) -> tuple[str, ...]:
    """Return the names of the published figures in alphabetical order; none outside the book."""
    try:
        folder = (find_root() if root is None else root) / FOLDER
    except ValueError:
        return ()
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


def published(name: str, root: Path | None = None) -> Published:
    """Read a published figure; if the name is unknown, the error lists the nearest names."""
    root = find_root() if root is None else root  # raises if there is no book
    names = published_names(root)
    if not names:
        raise ValueError(
            f"figure={name!r} is not published, as nothing is in {root / FOLDER}; allowed: a copy "
            "of the book with its figures' data"
        )
    check_choice("figure", name, names)
    folder = root / FOLDER
    manifest = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Published(name, manifest, from_csv((folder / f"{name}.csv").read_text(encoding="utf-8")))


def number(value: float) -> str:
    """Write a number for a sentence: whole numbers grouped, large ones as powers of ten.

    Examples
    --------
    >>> number(50_000_000), number(200), number(12_345)
    ('5·10⁷', '200', '12,345')
    """
    if value != int(value):
        return f"{value:,.{SHOWN}g}"
    written = str(abs(int(value)))
    digit = written.rstrip("0")
    if len(written) < 5 or len(digit) > 1:
        return f"{int(value):,}"
    power = power_of_ten(len(written) - 1)
    return f"{'-' if value < 0 else ''}{'' if digit == '1' else f'{digit}·'}{power}"


def power_of_ten(exponent: float) -> str:
    """Write a power of ten whose exponent is rounded to a whole number.

    Examples
    --------
    >>> power_of_ten(7), power_of_ten(-96.8)
    ('10⁷', '10⁻⁹⁷')
    """
    return "10" + f"{exponent:.0f}".translate(SUPERSCRIPTS)


def share(part: float, digits: int = 1) -> str:
    """Write a share in per cent, without the sign.

    Examples
    --------
    >>> share(0.0517)
    '5.2'
    """
    return f"{100 * part:.{digits}f}"


def grouped(count: float) -> str:
    """Write a whole number in groups of three digits.

    Examples
    --------
    >>> grouped(8592).split()
    ['8', '592']
    """
    return f"{count:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def short(value: float) -> str:
    """Write a measured number with three digits, and no exponent.

    Examples
    --------
    >>> short(0.012345), short(3.14159), short(1.0)
    ('0.0123', '3.14', '1.00')
    """
    if value >= 100:
        return grouped(float(f"{value:.3g}"))
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{digits}f}"
