"""The ledger of claims as a page.

``claims-ledger`` writes every claim of a file of verdicts under a heading of its own, by which it
can be linked and cited; ``claims-summary`` counts the verdicts of each paper. Both take the file,
relative to the page: ``data/claims.json``, which ``dpbandits claims --write`` makes.
"""

import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective, SphinxRole

VERDICTS = {
    "holds": ("✓", "holds"),
    "holds with a condition": ("◐", "condition"),
    "does not hold": ("✗", "fails"),
    "cannot be told from the text": ("?", "unknown"),
}

Record = dict[str, Any]


SPECIAL = re.compile(r"([\\`*_{}\[\]<>$|~#])")
SHIFTED = re.compile(
    r"(?<=[\w)])_(?:\{(?P<sub>[^{}]+)\}|(?P<letter>\w)(?!\w))"
    r"|(?<=[\w)])\^(?:\{(?P<sup>[^{}]+)\}|\((?P<round>[^()]+)\)|(?P<word>\w+))"
    r"|(?<![\w.])(?P<digits>\d(?:\.\d+)?)e(?P<sign>[+-]?)0*(?P<power>\d+)\b"
)


def shifted(match: re.Match[str]) -> str:
    """Write an index, a power, or a number such as 1e+07."""
    found = match.groupdict(default="")
    if found["power"]:
        factor = "" if found["digits"] == "1" else f"{found['digits']}\N{MIDDLE DOT}"
        minus = "\N{MINUS SIGN}" if found["sign"] == "-" else ""
        return f"{factor}10{{sup}}`{minus}{found['power']}`"
    if match[0].startswith("_"):
        return f"{{sub}}`{found['sub'] or found['letter']}`"
    return f"{{sup}}`{found['sup'] or found['round'] or found['word']}`"


def plain(text: object) -> str:
    """Write text so that MyST shows it as it is, with R_e, e^{2x} and 1e+07 as they are meant."""
    if isinstance(text, int | float):
        sign = "\N{MINUS SIGN}" if text < 0 else ""
        return sign + SHIFTED.sub(shifted, str(abs(text)))
    written, end = [], 0
    for match in SHIFTED.finditer(str(text)):
        written += [SPECIAL.sub(r"\\\1", str(text)[end : match.start()]), shifted(match)]
        end = match.end()
    return "".join([*written, SPECIAL.sub(r"\\\1", str(text)[end:])])


def label(claim: Record) -> str:
    """Return the name by which the pages link a claim."""
    return f"claim-{claim['id']}"


def by_paper(claims: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield each paper's key with its claims, in the order of the file."""
    for paper, group in groupby(claims, key=lambda claim: str(claim["paper"])):
        yield paper, list(group)


def summary(claims: list[Record]) -> list[str]:
    """Count the verdicts, a column a paper."""
    papers = dict(by_paper(claims))
    heads = [f"{{cite:t}}`{paper}`" for paper in papers]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for verdict in VERDICTS:
        counts = [sum(claim["verdict"] == verdict for claim in group) for group in papers.values()]
        lines.append(f"| {{verdict}}`{verdict}` | {' | '.join(map(str, counts))} |")
    totals = [str(len(group)) for group in papers.values()]
    return [*lines, f"| claims in all | {' | '.join(totals)} |"]


def overview(claims: list[Record]) -> list[str]:
    """List the claims, a row each."""
    lines = ["| where | what the paper says | verdict |", "|---|---|---|"]
    for claim in claims:
        link = f"{{ref}}`{plain(claim['place'])} <{label(claim)}>`"
        verdict = f"{{verdict}}`{claim['verdict']}`"
        lines.append(f"| {link} | {plain(claim['statement'])} | {verdict} |")
    return lines


def entry(claim: Record) -> list[str]:
    """Write one claim: what the paper says, the verdict, its reason, and the numbers."""
    mark, _ = VERDICTS[claim["verdict"]]
    lines = [
        f"({label(claim)})=",
        f"### {mark} {claim['id']}",
        "",
        f"**The paper, {plain(claim['place'])}.** {plain(claim['statement'])}",
        "",
        f"**Verdict.** {{verdict}}`{claim['verdict']}` {plain(claim['reason'])}",
        "",
    ]
    for name, value in claim["evidence"].items():
        lines.append(f"- {plain(name)}: {plain(value)}")
    return [*lines, ""]


class ClaimsDirective(SphinxDirective):
    """What the directives on a file of verdicts share."""

    required_arguments = 1

    def read(self) -> Record:
        """Read the file of verdicts."""
        path = Path(self.env.srcdir, self.env.docname).parent / self.arguments[0]
        self.env.note_dependency(str(path))
        try:
            content: Record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self.error(
                f"{path.name} cannot be read ({error}); dpbandits claims --write renews it"
            ) from None
        return content

    def parse(self, lines: list[str], headings: bool = False) -> list[nodes.Node]:
        """Let MyST parse what was written."""
        return self.parse_text_to_nodes(
            StringList(lines, source=self.arguments[0]), allow_section_headings=headings
        )


class ClaimsLedger(ClaimsDirective):
    """Write the claims, grouped by paper, after a list of all of them."""

    def run(self) -> list[nodes.Node]:
        """Write a section a paper."""
        lines = []
        for paper, group in by_paper(self.read()["claims"]):
            lines += ["", f"## Claims of {{cite:t}}`{paper}`", "", *overview(group), ""]
            for claim in group:
                lines += entry(claim)
        return self.parse(lines, headings=True)


class ClaimsSummary(ClaimsDirective):
    """Write the table of counts."""

    def run(self) -> list[nodes.Node]:
        """Count."""
        return self.parse(summary(self.read()["claims"]))


class VerdictRole(SphinxRole):
    """Write a verdict as a word on a colour of its own."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the word, and say so if it is no verdict."""
        if self.text not in VERDICTS:
            message = self.inliner.reporter.error(f"{self.text!r} is no verdict", line=self.lineno)
            return [], [message]
        _, style = VERDICTS[self.text]
        return [nodes.inline(self.rawtext, self.text, classes=["verdict", style])], []


def setup(app: Any) -> dict[str, bool]:
    """Add the directives and the role."""
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_directive("claims-summary", ClaimsSummary)
    app.add_role("verdict", VerdictRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
