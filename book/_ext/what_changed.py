"""What has changed since edition 0.1.0, from the verdicts of both editions.

``verdict-changes`` counts, a row a paper; ``verdict-changes KEY`` lists for a paper each verdict
that is another, with the reason of today, and, folded, what was merged or dropped, and what is new.
``numbers-moved`` lists the numbers of claims that moved: those of `editions.TOLD` with a reason,
the others folded. The role ``since`` writes one count of `counts`.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claims_ledger import PAPERS, Record, label, plain
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

from companion.claims import RECONSTRUCTED, editions
from companion.claims.editions import Changes, Pair
from companion.formulas import as_text

OURS = "(reconstructed) "


def read(root: Path) -> list[Record]:
    """Return the published claims, paper by paper."""
    files = sorted((root / "book" / "data").glob("claims-*.json"))
    claims = [c for path in files for c in json.loads(path.read_text("utf-8"))["claims"]]
    return sorted(claims, key=lambda claim: PAPERS.index(claim["paper"]))


def link(name: str) -> str:
    """Write a link to a claim; to the list of retired ids if it is one of those."""
    return f"[{plain(name)}](#{label({'id': name})})"


def verdict(claim: Record) -> str:
    """Write what a claim is counted as; what our formula does stands behind."""
    counted, own = editions.standing(claim)
    return f"{{verdict}}`{counted}`" + (f" (ours: {own})" if counted == RECONSTRUCTED else "")


def said(claim: Record) -> str:
    """Write the sentence."""
    return plain(claim["statement"].removeprefix(OURS))


def reworded(pair: Pair) -> bool:
    """Return whether the sentence is quoted otherwise, formulas and spaces aside."""
    before, now = (as_text(c["statement"].removeprefix(OURS)).split() for c in pair)
    return before != now


def of_paper(found: Changes, paper: str) -> Changes:
    """Return the changes of one paper."""

    def own(name: str) -> bool:
        return name.startswith(f"{paper}-")

    return Changes(
        tuple(pair for pair in found.changed if own(pair.now["id"])),
        tuple(pair for pair in found.same if own(pair.now["id"])),
        {name: heir for name, heir in found.merged.items() if own(name)},
        tuple(filter(own, found.dropped)),
        tuple(claim for claim in found.new if own(claim["id"])),
    )


def counts(found: Changes) -> dict[str, int]:
    """Count the claims by what became of them."""
    return {
        "before": sum(map(len, (found.changed, found.same, found.merged, found.dropped))),
        "same": len(found.same),
        "changed": len(found.changed),
        "merged": len(found.merged),
        "dropped": len(found.dropped),
        "new": len(found.new),
        "now": sum(map(len, (found.changed, found.same, found.new))),
    }


def summary(found: Changes) -> list[str]:
    """Write the counts, a row a paper; its name leads to its changes."""
    heads = ["judged then", "same verdict", "another verdict", "merged", "dropped", "new", "now"]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for paper in PAPERS:
        cells = " | ".join(map(str, counts(of_paper(found, paper)).values()))
        lines.append(f"| [{paper.upper()}](#changed-{paper}) | {cells} |")
    return [*lines, f"| all | {' | '.join(map(str, counts(found).values()))} |"]


def entry(pair: Pair) -> list[str]:
    """Write one verdict that is another."""
    then = f" *Quoted then:* {said(pair.before)}" if reworded(pair) else ""
    return [
        f"**{plain(pair.now['place'])}: {said(pair.now)}** {link(pair.now['id'])}",
        "",
        f"{verdict(pair.before)} → {verdict(pair.now)} {plain(pair.now['reason'])}{then}",
        "",
    ]


def fold(title: str, lines: Iterable[str]) -> list[str]:
    """Write a fold of a list, if it is not empty."""
    items = [f"- {line}" for line in lines]
    return [f":::{{dropdown}} {title} ({len(items)})", "", *items, ":::", ""] if items else []


def write_paper(found: Changes, before: dict[str, Record]) -> list[str]:
    """Write all that changed for one paper."""
    lines = [line for pair in found.changed for line in entry(pair)]
    if not lines:
        lines = ["No sentence that edition 0.1.0 judged has another verdict.", ""]
    gone = {**found.merged, **dict.fromkeys(found.dropped, "")}
    lines += fold(
        "Merged with others, or no longer judged",
        (
            f"{plain(name)}, {verdict(before[name])}: {said(before[name])} "
            + (f"*Now* {link(heir)}." if heir else "*No longer judged.*")
            for name, heir in gone.items()
        ),
    )
    return lines + fold(
        "Judged for the first time",
        (f"{link(c['id'])}, {plain(c['place'])}: {said(c)} {verdict(c)}" for c in found.new),
    )


def full_name(pair: Pair, name: str) -> str:
    """Return the name of a number; one that says "the same" follows the name that it refers to."""
    names = list(pair.now["evidence"])
    whole = name
    while re.match(r"the same\b|(greatest|least|both)$", name) and names.index(name):
        name = names[names.index(name) - 1]
        if not name.startswith("the same"):
            whole = f"{name}; {whole}"
    return whole


def written(number: float) -> str:
    """Write a number, large ones as powers of ten."""
    return plain(f"{number:.3g}" if isinstance(number, float) and number >= 1e6 else number)


def numbers(found: Changes) -> list[str]:
    """Write the numbers that moved."""
    pairs = {pair.now["id"]: pair for pair in (*found.same, *found.changed)}

    def values(pair: Pair, name: str) -> str:
        return " | ".join(written(claim["evidence"][name]) for claim in pair)

    lines = ["| claim | number | then | now | why |", "|---|---|---:|---:|---|"]
    for claim, number, reason in editions.TOLD:
        told = values(pairs[claim], number)
        named = plain(full_name(pairs[claim], number))
        lines.append(f"| {link(claim)} | {named} | {told} | {plain(reason)} |")
    known = {(claim, number) for claim, number, _ in editions.TOLD}
    moved = [(p, name) for p, name in found.moved() if (p.now["id"], name) not in known]
    rows = [
        f"| {link(p.now['id'])} | {plain(full_name(p, name))} | {values(p, name)} |"
        for p, name in moved
    ]
    title = f"All others that moved by more than {editions.MOVED:.0%} ({len(rows)})"
    head = ["| claim | number | then | now |", "|---|---|---:|---:|"]
    return [*lines, "", f":::{{dropdown}} {title}", "", *head, *rows, ":::"]


class Comparing(SphinxDirective):
    """What the directives share."""

    def compared(self) -> Changes:
        """Read both editions."""
        root = Path(self.env.srcdir)
        for path in (root / "book" / "data").glob("*.json"):
            self.env.note_dependency(str(path))
        try:
            return editions.changes(read(root), root)
        except (OSError, ValueError, LookupError) as error:
            raise self.error(f"the editions cannot be compared: {error}") from None

    def write(self, lines: list[str]) -> list[nodes.Node]:
        """Make nodes of lines."""
        return self.parse_text_to_nodes(StringList(lines, source=self.name))


class VerdictChanges(Comparing):
    """The verdicts."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the counts, or the changes of one paper."""
        found = self.compared()
        if not self.arguments:
            return self.write(summary(found))
        (paper,) = self.arguments
        if paper not in PAPERS:
            raise self.error(f"paper={paper!r}; allowed: {', '.join(PAPERS)}")
        before = editions.first_edition(Path(self.env.srcdir))
        return self.write(write_paper(of_paper(found, paper), before))


class NumbersMoved(Comparing):
    """The numbers."""

    def run(self) -> list[nodes.Node]:
        """Write them."""
        return self.write(numbers(self.compared()))


class SinceRole(SphinxRole):
    """Write a count by its name in `counts`, or of one paper: ``changed``, ``changed ss19``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Count."""
        root = Path(self.env.srcdir)
        for path in (root / "book" / "data").glob("*.json"):
            self.env.note_dependency(str(path))
        name, _, paper = self.text.partition(" ")
        found = editions.changes(read(root), root)
        try:
            count = counts(of_paper(found, paper) if paper else found)[name]
        except KeyError:
            message = self.inliner.reporter.error(
                f"since {self.text!r}: allowed: {', '.join(counts(found))}", line=self.lineno
            )
            return [], [message]
        return [nodes.inline(self.rawtext, str(count), classes=["pasted-text"])], []


def setup(app: Any) -> dict[str, bool]:
    """Add the directives and the role."""
    app.add_directive("verdict-changes", VerdictChanges)
    app.add_directive("numbers-moved", NumbersMoved)
    app.add_role("since", SinceRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
