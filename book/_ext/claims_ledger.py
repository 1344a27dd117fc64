"""The ledger of claims as a page.

``claims-ledger`` lists every claim of the files of verdicts in one table, which a form filters,
and writes each under a heading of its own, by which it can be linked and cited;
``claims-summary`` counts the verdicts of each paper, with links to the filtered table. Both take
the folder, relative to the page, with the files ``claims-NN.json`` that the chapters publish.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from docutils.statemachine import StringList
from page_filter import load_script, make_form
from sphinx.util.docutils import ReferenceRole, SphinxDirective, SphinxRole

PAGE = "book/claims"
TABLE = "all-claims"

VERDICTS = {
    "holds": ("✓", "holds"),
    "holds with a condition": ("◐", "condition"),
    "does not hold": ("✗", "fails"),
    "cannot be told from the text": ("?", "cannot-tell"),
}
"""Verdict → its sign, and the word for it in addresses and styles."""

Record = dict[str, Any]

PAPERS = ("ss19", "td16", "twzw22", "ja25")
"""The order of the page."""


SPECIAL = re.compile(r"([\\`*_{}\[\]<>$|~#])")
SHIFTED = re.compile(
    r"(?<=[\w)])_(?:\{(?P<sub>[^{}]+)\}|(?P<letter>\w)(?!\w))"
    r"|(?<=[\w)])\^(?:\{(?P<sup>[^{}]+)\}|\((?P<round>[^()]+)\)|(?P<word>\w+(?:\.\d+)?))"
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
    for paper in dict.fromkeys(str(claim["paper"]) for claim in claims):
        yield paper, [claim for claim in claims if claim["paper"] == paper]


def address(**chosen: str) -> str:
    """Return the address, from the page of claims, at which some of the claims are shown."""
    return f"?{urlencode(chosen)}#{TABLE}"


def summary(claims: list[Record]) -> list[str]:
    """Count the verdicts, a column a paper; each count stands in a role that makes it a link."""
    papers = dict(by_paper(claims))
    heads = [f"{{cite:t}}`{paper}`" for paper in papers]
    lines = [f"| | {' | '.join(heads)} | all |", f"|---|{'---:|' * (len(heads) + 1)}"]

    def cell(count: int, **chosen: str) -> str:
        return f"{{claims-shown}}`{count} {address(**chosen)}`" if count else "0"

    for verdict, (_, word) in VERDICTS.items():
        counts = {
            paper: sum(claim["verdict"] == verdict for claim in group)
            for paper, group in papers.items()
        }
        cells = [cell(count, paper=paper, verdict=word) for paper, count in counts.items()]
        cells.append(cell(sum(counts.values()), verdict=word))
        lines.append(f"| {{verdict}}`{verdict}` | {' | '.join(cells)} |")
    totals = [cell(len(group), paper=paper) for paper, group in papers.items()]
    return [*lines, f"| claims in all | {' | '.join([*totals, str(len(claims))])} |"]


def overview(claims: list[Record]) -> list[str]:
    """List the claims, a row each."""
    lines = ["| claim | what the paper says | verdict |", "|---|---|---|"]
    for claim in claims:
        link = f"{{ref}}`{plain(claim['id'])} <{label(claim)}>`"
        verdict = f"{{verdict}}`{claim['verdict']}`"
        place = f"{plain(claim['place'])}: {plain(claim['statement'])}"
        lines.append(f"| {link} | {place} | {verdict} |")
    return lines


def controls(claims: list[Record]) -> nodes.raw:
    """Write the filter."""
    papers = {paper: paper.upper() for paper, _ in by_paper(claims)}
    verdicts = {word: verdict for verdict, (_, word) in VERDICTS.items()}
    fields = {"paper": ("Paper", papers), "verdict": ("Verdict", verdicts)}
    return make_form("claims", ".claim", fields, counted="tr", anchor=f"#{TABLE}")


def entry(claim: Record, places: dict[str, str] | None = None) -> list[str]:
    """Write one claim: what the paper says, the verdict, its reason, numbers, and where to read."""
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
    if places is not None:
        number, at = int(claim["chapter"]), claim["section"]
        title = places[at]
        lines += ["", f"**Judged in** {{judged}}`chapter {number}, {title} <{at}>`."]
    return [*lines, ""]


HEADING = re.compile(r"^(?:\(([\w.-]+)\)=\n)?#{2,} +(.+)$", re.MULTILINE)
PROOF = re.compile(r"^`{3,}\{prf:(\w+)\} ?(.*)\n(?::.*\n)*?:label: (\S+)$", re.MULTILINE)


SIGNS = {
    "$": "",
    r"\varepsilon": "ε",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\log": "log",
}


def words(title: str) -> str:
    """Write the formulas in a title without TeX."""
    for tex, sign in SIGNS.items():
        title = title.replace(tex, sign)
    return title


def places_of(notebook: Path) -> dict[str, str]:
    """Return what can be linked in a chapter: label → what a reader calls it."""
    found: dict[str, str] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        figure = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        if figure:
            found[figure] = f"figure {figure}"
        if cell["cell_type"] == "markdown":
            for name, title in HEADING.findall(text):
                found[name or nodes.make_id(title)] = words(title)
            for kind, title, name in PROOF.findall(text):
                found[name] = f"{kind}: {words(title)}" if title else kind
    return found


def chapter_of(root: Path, number: str) -> Path:
    """Return the notebook of a chapter."""
    (path,) = (root / "notebooks").glob(f"{number}_*.ipynb")
    return path


class ClaimsDirective(SphinxDirective):
    """What the directives on verdicts share."""

    required_arguments = 1

    def read(self) -> list[Record]:
        """Read the chapters' verdicts."""
        folder = Path(self.env.srcdir, self.env.docname).parent / self.arguments[0]
        claims: list[Record] = []
        for path in sorted(folder.glob("claims-*.json")):
            self.env.note_dependency(str(path))
            try:
                claims += json.loads(path.read_text(encoding="utf-8"))["claims"]
            except (OSError, ValueError) as error:
                raise self.error(f"{path.name} cannot be read: {error}") from None
        if not claims:
            raise self.error(f"{folder} has no verdicts; make book publishes them")
        return sorted(claims, key=lambda claim: PAPERS.index(claim["paper"]))

    def parse(self, lines: list[str], headings: bool = False) -> list[nodes.Node]:
        """Let MyST parse what was written."""
        return self.parse_text_to_nodes(
            StringList(lines, source=self.arguments[0]), allow_section_headings=headings
        )


def tag(node: nodes.Element, claim: Record) -> None:
    """Give a node the classes by which the filter finds it."""
    _, word = VERDICTS[claim["verdict"]]
    node["classes"] += ["claim", f"paper-{claim['paper']}", f"verdict-{word}"]


class ClaimsLedger(ClaimsDirective):
    """Write the filter, the table of all claims, and each claim, grouped by paper."""

    def run(self) -> list[nodes.Node]:
        """Write a section for the table, and one a paper."""
        claims = self.read()
        places = {}
        for number in {claim["chapter"] for claim in claims}:
            notebook = chapter_of(Path(self.env.srcdir), number)
            self.env.note_dependency(str(notebook))
            places[number] = places_of(notebook)
        lines = [f"({TABLE})=", "## All claims", "", *overview(claims), ""]
        for paper, group in by_paper(claims):
            lines += ["", f"## Claims of {{cite:t}}`{paper}`", ""]
            for claim in group:
                if claim["section"] not in places[claim["chapter"]]:
                    raise self.error(f"{claim['id']}: no {claim['section']} in its chapter")
                lines += entry(claim, places[claim["chapter"]])
        self.env.temp_data[TABLE] = claims
        return self.parse(lines, headings=True)


class ClaimsSummary(ClaimsDirective):
    """Write the table of counts."""

    def run(self) -> list[nodes.Node]:
        """Count."""
        return self.parse(summary(self.read()))


class ShownRole(SphinxRole):
    """Write a count as a link to the claims that it counts: `count address`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the link, from whatever page it stands on."""
        count, where = self.text.split()
        page = self.env.app.builder.get_relative_uri(self.env.docname, PAGE)
        link = nodes.reference(self.rawtext, count, refuri=page + where, internal=True)
        return [link], []


class JudgedRole(ReferenceRole):
    """Write a link into the chapter that judges a claim: `chapter N, title <label>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the link; that its target exists, `ClaimsLedger` has checked."""
        number = re.search(r"chapter (\d+)", self.title)
        path = chapter_of(Path(self.env.srcdir), f"{int(number[1]):02d}" if number else "")
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"notebooks/{path.stem}")
        uri = f"{page}#{self.target}"
        return [nodes.reference(self.rawtext, self.title, refuri=uri, internal=True)], []


class VerdictRole(SphinxRole):
    """Write a verdict as a word on a colour of its own."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the word, and say so if it is no verdict."""
        if self.text not in VERDICTS:
            message = self.inliner.reporter.error(f"{self.text!r} is no verdict", line=self.lineno)
            return [], [message]
        _, style = VERDICTS[self.text]
        return [nodes.inline(self.rawtext, self.text, classes=["verdict", style])], []


def prepare_filter(app: Any, document: nodes.document) -> None:
    """Mark rows and sections of the claims for the filter, and put its form before the table."""
    claims = app.env.temp_data.get(TABLE, [])
    if not claims:
        return
    by_id = {nodes.make_id(label(claim)): claim for claim in claims}
    for section in document.findall(nodes.section):
        if TABLE in section["ids"]:
            (table,) = section.findall(nodes.table)
            (body,) = table.findall(nodes.tbody)
            for row, claim in zip(body.findall(nodes.row), claims, strict=True):
                tag(row, claim)
            table.parent.insert(table.parent.index(table), controls(claims))
        for name in by_id.keys() & set(section["ids"]):
            tag(section, by_id[name])


def setup(app: Any) -> dict[str, bool]:
    """Add the directives and the role."""
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_directive("claims-summary", ClaimsSummary)
    app.add_role("verdict", VerdictRole())
    app.add_role("claims-shown", ShownRole())
    app.add_role("judged", JudgedRole())
    app.connect("doctree-read", prepare_filter)
    load_script(app, PAGE)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
