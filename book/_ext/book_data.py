"""Tables and numbers of the pages, made from the package and from the data in ``book/data``.

``figures-table``, ``benchmark-table FILE``,
``stopping-benchmark-table FILE``, ``audit-benchmark-table FILE``,
``edition-benchmark-table FILE``, ``memory-benchmark-table FILE``,
``many-arms-benchmark-table FILE``, ``program-benchmark-table FILE``, ``work-table FILE`` and
``sprt-table FILE`` write
tables; ``bibtex-entry ID`` writes how to cite. The role ``datum`` writes one number, as in
``data/benchmarks.json: manifest.uniform_ns``; ``headline`` one of `companion.headlines`.
Paths are relative to the page.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from cite_numbers import name_number
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.citing import cite
from companion.headlines import headlines
from companion.publishing import FOLDER, grouped, published, published_names, short
from companion.vector_files import FOLDER as DRAWN

Rows = list[dict[str, Any]]


def table(head: Iterable[str], rows: Iterable[Iterable[str]], right: int = 0) -> list[str]:
    """Write a table; its last `right` columns hold numbers."""
    heads = list(head)
    rule = ["---"] * (len(heads) - right) + ["---:"] * right
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def figures(root: Path) -> list[str]:
    """List the published figures, with what was run for each."""
    rows = []
    for name in published_names(root):
        about = published(name, root).manifest
        text = f"{about['title']} ({about['source']}).".replace("|", r"\|")
        counts = [grouped(about[key]) if key in about else "–" for key in ("cases", "runs")]
        files = " ".join(
            f"{{download}}`{ending.upper()} </{folder.as_posix()}/{name}.{ending}>`"
            for ending, folder in {"csv": FOLDER, "pdf": DRAWN, "json": FOLDER}.items()
        )
        rows.append([f"`{name}`", str(int(about["chapter"])), f"{text} {files}", *counts])
    return table(["id", "chapter", "what it shows", "settings", "runs"], rows, right=2)


def benchmarks(content: dict[str, Any], unit: str = "ns_per_pull") -> list[str]:
    """Write the measured times, a row for each algorithm, way to simulate it, and horizon."""
    rows: Rows = content["rows"]
    arms = sorted({row["n_arms"] for row in rows})
    keys = dict.fromkeys((row["algorithm"], row["how"], row["horizon"]) for row in rows)
    values = {(r["algorithm"], r["how"], r["horizon"], r["n_arms"]): short(r[unit]) for r in rows}
    lines = [
        [key[0], key[1], grouped(key[2]), *(values.get((*key, k), "") for k in arms)]
        for key in keys
    ]
    head = ["algorithm", "how", "$T$", *(f"$K = {k}$" for k in arms)]
    return table(head, lines, right=len(arms) + 1)


def stopping_benchmarks(content: dict[str, Any]) -> list[str]:
    """Write the measured times of the stopping rules, a row each."""
    lines = [
        [
            row["rule"],
            row["how"],
            row["law"],
            f"{row['mean']:g}",
            "" if row["epsilon"] == "inf" else row["epsilon"],
            grouped(row["samples"]),
            short(row["ms_per_run"]),
            short(row["ns_per_sample"]),
        ]
        for row in content["rows"]
    ]
    head = ["rule", "simulated by", "law", "mean", "ε", "samples a run", "ms a run", "ns a sample"]
    return table(head, lines, right=5)


def audit_benchmarks(content: dict[str, Any]) -> list[str]:
    """Write the measured times of audits, a row each."""
    lines = [
        [
            row["target"],
            row["how"],
            grouped(row["runs"]) if row["runs"] else "",
            short(row["seconds"]),
        ]
        for row in content["rows"]
    ]
    return table(["audited", "how", "runs on each table", "seconds"], lines, right=2)


def edition(content: dict[str, Any]) -> list[str]:
    """Write the seconds of this edition beside those of edition 0.1, a row each."""
    rows = [
        [row["what"], short(row["before"]), short(row["now"]), short(row["before"] / row["now"])]
        for row in content["rows"]
    ]
    return table(["what", "edition 0.1, s", "now, s", "times faster"], rows, right=3)


def work(content: dict[str, Any]) -> list[str]:
    """Write what making and testing the book takes, a row for each part and for each chapter."""
    taken, goals = content["work"]["taken"], content["work"]["goals"]
    rows = []
    for part, (before, goal) in goals.items():
        if (used := taken.get(part)) is None:  # it was not measured
            continue
        known = ["" if seconds is None else grouped(seconds) for seconds in (before, goal)]
        rows.append([part, known[0], grouped(used["processor"]), known[1], grouped(used["passed"])])
        for chapter, own in used.get("each", {}).items():
            seconds = grouped(own["processor"]), grouped(own["passed"])
            rows.append([f"– chapter {int(chapter)}", "", seconds[0], "", seconds[1]])
    head = ["part", "last edition, core-s", "now, core-s", "goal, core-s", "now, s by the clock"]
    return table(head, rows, right=4)


def memory(content: dict[str, Any]) -> list[str]:
    """Write the most memory that one run takes, a row for each algorithm."""
    rows = [
        [
            row["algorithm"],
            grouped(row["n_arms"]),
            grouped(row["horizon"]),
            short(row["megabytes"]),
            grouped(row["bytes_per_arm"]),
        ]
        for row in content["rows"]
    ]
    return table(["algorithm", "$K$", "$T$", "MB", "bytes an arm"], rows, right=4)


def many_arms(content: dict[str, Any]) -> list[str]:
    """Write seconds and memory of a run on many arms, a row for each algorithm."""
    rows = [
        [row["algorithm"], short(row["seconds"]), short(row["megabytes"])]
        for row in content["rows"]
    ]
    return table(["algorithm", "core-seconds", "MB"], rows, right=2)


def sequential_tests(content: dict[str, Any]) -> list[str]:
    """Write patients and errors of trials, a row for each budget and design."""
    rows = [
        [
            row["epsilon"].replace("inf", "∞"),
            row["design"],
            *(grouped(round(row[kind])) for kind in ("planned", "half", "none")),
            *(f"{100 * row[kind]:.2g}" for kind in ("false", "missed")),
        ]
        for row in content["rows"]
    ]
    head = ["ε", "design", "as planned", "half", "none", "false, %", "missed, %"]
    return table(head, rows, right=5)


def programs(content: dict[str, Any]) -> list[str]:
    """Write the times of one's own programs, a row each, beside loops by hand."""
    rows = [
        [
            row["program"],
            row["rewards"],
            row["written"],
            short(row["ns_per_pull"]),
            *(["", ""] if row["ratio"] == 1 else [f"{row['ratio']:.2f}", _between(row)]),
        ]
        for row in content["rows"]
    ]
    head = ["algorithm", "rewards", "how", "ns a pull", "times the loop", "half of the rounds"]
    return table(head, rows, right=3)


def _between(row: dict[str, Any]) -> str:
    """Write the middle half of the ratios."""
    return f"{row['low']:.2f}–{row['high']:.2f}"


TABLES: dict[str, Callable[..., list[str]]] = {
    "benchmark-table": benchmarks,
    "stopping-benchmark-table": stopping_benchmarks,
    "audit-benchmark-table": audit_benchmarks,
    "edition-benchmark-table": edition,
    "memory-benchmark-table": memory,
    "many-arms-benchmark-table": many_arms,
    "program-benchmark-table": programs,
    "work-table": work,
    "sprt-table": sequential_tests,
}


class FiguresTable(SphinxDirective):
    """The published figures."""

    def run(self) -> list[nodes.Node]:
        """Write the table."""
        lines = figures(Path(self.env.srcdir))
        return self.parse_text_to_nodes(StringList(lines, source=self.name))


class BenchmarkTable(SphinxDirective):
    """Measured times, by the function of `TABLES` that the directive's name means."""

    required_arguments = 1
    option_spec: ClassVar = {
        "unit": lambda text: directives.choice(
            text, ("ns_per_pull", "ms_per_run", "uniforms_per_pull")
        )
    }

    def run(self) -> list[nodes.Node]:
        """Read the file, or say what renews it, and write the table."""
        path = Path(self.env.srcdir, self.env.docname).parent / self.arguments[0]
        self.env.note_dependency(str(path))
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            renewal = "make bench RECORD=book/data"
            if self.name == "sprt-table":
                renewal = "python -m companion.sprt_costs"
            raise self.error(f"{path.name} cannot be read ({error}); {renewal} renews it") from None
        lines = TABLES[self.name](content, **self.options)
        return self.parse_text_to_nodes(StringList(lines, source=self.name))


class BibtexEntry(SphinxDirective):
    """An entry as ``companion cite`` prints it."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the entry."""
        try:
            text = cite(*self.arguments)
        except ValueError as error:
            raise self.error(str(error)) from None
        return [nodes.literal_block(text, text, language="bibtex")]


class DatumRole(SphinxRole):
    """One value of a file of data: ``FILE: key.key``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the value up."""
        where, _, keys = self.text.partition(":")
        path = Path(self.env.srcdir, self.env.docname).parent / where
        self.env.note_dependency(str(path))
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            for key in keys.strip().split("."):
                value = value[key]
        except (OSError, ValueError, LookupError, TypeError) as error:
            message = self.inliner.reporter.error(
                f"datum {self.text!r} cannot be read: {error}", line=self.lineno
            )
            return [], [message]
        if not isinstance(value, int | float):
            return [nodes.inline(self.rawtext, str(value))], []
        said = grouped(value) if isinstance(value, int) else short(value)
        node = nodes.inline(self.rawtext, said, classes=["pasted-text"])
        name_number(self.inliner.document, node, keys.strip())
        return [node], []


class HeadlineRole(SphinxRole):
    """One number of the first screen, by its name."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look it up; the page depends on all figures that such numbers are read from."""
        root = Path(self.env.srcdir)
        for path in (root / FOLDER).glob("*.csv"):
            self.env.note_dependency(str(path))
        try:
            text = headlines(root)[self.text]
        except (KeyError, ValueError) as error:
            message = self.inliner.reporter.error(
                f"headline {self.text!r} cannot be read: {error}", line=self.lineno
            )
            return [], [message]
        node = nodes.inline(self.rawtext, text, classes=["pasted-text"])
        name_number(self.inliner.document, node, self.text)
        return [node], []


def setup(app: Any) -> dict[str, bool]:
    """Add the directives and the role."""
    app.add_directive("figures-table", FiguresTable)
    for name in TABLES:
        app.add_directive(name, BenchmarkTable)
    app.add_directive("bibtex-entry", BibtexEntry)
    app.add_role("datum", DatumRole())
    app.add_role("headline", HeadlineRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
