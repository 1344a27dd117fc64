"""The ledger of claims as a page.

``claims-ledger`` writes every claim of the files of verdicts as a fold with a name, by which it can
be linked and cited; ``claims-filter`` writes the form that filters them; ``claims-summary`` counts
the verdicts of each paper, with links to the filtered list; ``claims-surprises`` writes the most
surprising ones as sentences. These take the folder, relative to the page, with the files
``claims-NN.json`` that the chapters publish. ``claims-meanings`` says what the verdicts mean, and
``claims-retired`` what became of ids that are no longer judged.

``author-verdicts KEY`` writes for a paper how many of its sentences are confirmed; then each that
is disputed: the sentence, the verdict, the reason, and the command that computes it again; and,
folded, those that hold under a condition, cannot be told, or are reconstructed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from docutils import nodes
from docutils.statemachine import StringList
from page_filter import load_script, make_form
from sphinx.util.docutils import ReferenceRole, SphinxDirective, SphinxRole

from companion.claims import ledger
from companion.formulas import FORMULA, as_text

PAGE = "book/claims"
LIST = "all-claims"

VERDICTS = {
    "holds": ("✓", "holds"),
    "holds with a condition": ("◐", "condition"),
    "does not hold": ("✗", "fails"),
    "not reproduced": ("≠", "not-reproduced"),
    "cannot be told from the text": ("?", "cannot-tell"),
}
"""Verdict → its sign, and the word for it in addresses and styles."""

RECONSTRUCTED = "reconstructed"
STANDINGS = {**VERDICTS, RECONSTRUCTED: ("≈", "reconstructed")}
"""What a claim can be counted as: a verdict on the paper, or none, as the formula is ours."""

Record = dict[str, Any]

PAPERS = ("ss19", "td16", "twzw22", "ja25", "ab22")
"""The order of the page."""


SPECIAL = re.compile(r"([\\`*_{}\[\]<>$|~#])")
SHIFTED = re.compile(
    r"(?<=[\w)])_(?:\{(?P<sub>[^{}]+)\}|(?P<letter>\w)(?!\w))"
    r"|(?<=[\w)])\^(?:\{(?P<sup>[^{}]+)\}"
    r"|\((?P<round>(?:[^()]|\((?:[^()]|\([^()]*\))*\))+)\)"  # as in T^(v/(2(1 + v)))
    r"|(?P<word>-?\w+(?:\.\d+)?))"
    r"|(?<=\blog)(?P<base>10|2)(?![\d.])"
    r"|(?<![\w.])(?P<digits>\d(?:\.\d+)?)e(?P<sign>[+-]?)0*(?P<power>\d+)\b"
)


def shifted(match: re.Match[str]) -> str:
    """Write an index, a power, or a number such as 1e+07."""
    found = match.groupdict(default="")
    if found["power"]:
        factor = "" if found["digits"] == "1" else f"{found['digits']}\N{MIDDLE DOT}"
        minus = "\N{MINUS SIGN}" if found["sign"] == "-" else ""
        return f"{factor}10{{sup}}`{minus}{found['power']}`"
    if below := found["sub"] or found["letter"] or found["base"]:
        return f"{{sub}}`{below}`"
    above = found["sup"] or found["round"] or found["word"].replace("-", "\N{MINUS SIGN}")
    return f"{{sup}}`{above}`"


def plain(text: object) -> str:
    """Write text so that MyST shows it as it is, with R_e, e^{2x} and 1e+07 as they are meant.

    Formulas between dollar signs stay formulas.
    """
    if isinstance(text, int | float):
        sign = "\N{MINUS SIGN}" if text < 0 else ""
        if isinstance(text, int) and abs(text) >= 10_000:
            return sign + f"{abs(text):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        return sign + SHIFTED.sub(shifted, str(abs(text)))
    pieces = FORMULA.split(str(text))  # words, a formula, words, and so on
    pieces[::2] = map(_plain_words, pieces[::2])
    pieces[1::2] = (f"${formula}$" for formula in pieces[1::2])
    return "".join(pieces)


def _plain_words(text: str) -> str:
    """Write words without formulas in dollar signs."""
    written, end = [], 0
    for match in SHIFTED.finditer(text):
        written += [SPECIAL.sub(r"\\\1", text[end : match.start()]), shifted(match)]
        end = match.end()
    return "".join([*written, SPECIAL.sub(r"\\\1", text[end:])])


def label(claim: Record) -> str:
    """Return the name by which the pages link a claim."""
    return f"claim-{claim['id']}"


def by_paper(claims: list[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield each paper's key with its claims, in the order of the file."""
    for paper in dict.fromkeys(str(claim["paper"]) for claim in claims):
        yield paper, [claim for claim in claims if claim["paper"] == paper]


def address(**chosen: str) -> str:
    """Return the address, from the page of claims, at which some of the claims are shown."""
    return f"?{urlencode(chosen)}#{LIST}"


def standing(claim: Record) -> str:
    """Return what a claim is counted as."""
    return RECONSTRUCTED if claim["reconstructed"] else str(claim["verdict"])


def summary(claims: list[Record]) -> list[str]:
    """Count the verdicts, a column a paper; each count stands in a role that makes it a link.

    What is reconstructed has a row of its own, below the sum of the verdicts on the papers.
    """
    papers = dict(by_paper(claims))
    heads = [f"{{cite:t}}`{paper}`" for paper in papers]
    lines = [f"| | {' | '.join(heads)} | all |", f"|---|{'---:|' * (len(heads) + 1)}"]

    def cell(count: int, **chosen: str) -> str:
        return f"{{claims-shown}}`{count} {address(**chosen)}`" if count else "0"

    def row(name: str) -> str:
        _, word = STANDINGS[name]
        counts = {
            paper: sum(standing(claim) == name for claim in group)
            for paper, group in papers.items()
        }
        cells = [cell(count, paper=paper, verdict=word) for paper, count in counts.items()]
        cells.append(cell(sum(counts.values()), verdict=word))
        return f"| {{verdict}}`{name}` | {' | '.join(cells)} |"

    judged = [
        sum(standing(claim) in VERDICTS for claim in group) for group in (*papers.values(), claims)
    ]
    lines += [row(verdict) for verdict in VERDICTS]
    lines.append(f"| verdicts on what the papers say | {' | '.join(map(str, judged))} |")
    return [*lines, row(RECONSTRUCTED)]


def controls(claims: list[Record]) -> nodes.raw:
    """Write the filter."""
    papers = {paper: paper.upper() for paper, _ in by_paper(claims)}
    verdicts = {word: name for name, (_, word) in STANDINGS.items()}
    fields = {"paper": ("Paper", papers), "verdict": ("Verdict", verdicts)}
    return make_form("claims", ".claim", fields, anchor=f"#{LIST}")


class Place(NamedTuple):
    """Where a label is: the page, and what a reader calls what has the label."""

    page: str
    title: str


def by_experiment() -> frozenset[str]:
    """Return the ids of the claims that need the runs of their chapters."""
    return frozenset(claim.id for claim in ledger() if claim.needs)


def command(claim: Record, needing: Iterable[str]) -> str:
    """Return what computes a verdict again: its check, or the chapter whose experiment it needs."""
    if claim["id"] in needing:
        return f"companion execute {int(claim['chapter'])}"
    return f"companion claims --check {claim['id']}"


def entry(claim: Record, place: Place | None = None, needing: Iterable[str] = ()) -> list[str]:
    """Write one claim as a fold: its title is what the paper says; then the reason, and numbers.

    The numbers come last, a list, so that nothing marks the end of a proof.
    """
    name = standing(claim)
    mark, word = STANDINGS[name]
    statement = plain(claim["statement"].removeprefix("(reconstructed) "))
    if name == RECONSTRUCTED:
        verdict = f"**Ours.** {{verdict}}`{name}` Our formula: {claim['verdict']}."
    else:
        verdict = f"**Verdict.** {{verdict}}`{name}`"
    lines = [
        f":::::{{dropdown}} {mark} **{plain(claim['id'])}** {statement} {{verdict}}`{name}`",
        f":name: {label(claim)}",
        f":class-container: proof-fold claim paper-{claim['paper']} verdict-{word}",
        "",
        f"{verdict} {plain(claim['reason'])}",
        "",
        f"**Said in** {claim['paper'].upper()}, {plain(claim['place'])}.",
        "",
    ]
    if place is not None:
        number = int(claim["chapter"])
        of = "" if place.page.startswith("notebooks/") else "the appendix of "
        target = f"{place.page}#{claim['section']}"
        where = f"{of}chapter {number}, {place.title} <{target}>"
        lines[-2] += f" **Judged in** {{judged}}`{where}`."
    lines[-2] += f" **Computed again by** `{command(claim, needing)}`."
    lines += [f"- {plain(name)}: {plain(value)}" for name, value in claim["evidence"].items()]
    return [*lines, ":::::", ""]


HEADING = re.compile(r"^(?:\(([\w.-]+)\)=\n)?#{2,} +(.+)$", re.MULTILINE)
PROOF = re.compile(r"^[`:]{3,}\{prf:(\w+)\} ?(.*)\n(?::.*\n)*?:label: (\S+)$", re.MULTILINE)


APPENDICES = {
    "01": ("book/exact_halting",),
    "03": (
        "book/exact_skipping",
        "book/exact_elimination",
        "book/exact_binomial",
        "book/exact_tree",
        "book/exact_small_print",
    ),
    "04": ("book/exact_heavy", "book/exact_batches"),
    "05": ("book/exact_identification", "book/exact_rounds"),
    "07": ("book/exact_lazy",),
}
"""Pages to which proofs of a chapter were moved; its claims may point there as well."""


def places_of(path: Path) -> dict[str, str]:
    """Return what can be linked on a page, a chapter or a text: label → what a reader calls it."""
    found: dict[str, str] = {}
    text = path.read_text(encoding="utf-8")
    cells = [{"cell_type": "markdown", "source": [text], "metadata": {}}]
    for cell in json.loads(text)["cells"] if path.suffix == ".ipynb" else cells:
        text = "".join(cell["source"])
        figure = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        if figure:
            found[figure] = f"figure {figure}"
        if cell["cell_type"] == "markdown":
            for name, title in HEADING.findall(text):
                found[name or nodes.make_id(title)] = as_text(title)
            for kind, title, name in PROOF.findall(text):
                found[name] = f"{kind}: {as_text(title)}" if title else kind
    return found


def pages_of(root: Path, number: str) -> list[Path]:
    """Return the notebook of a chapter, and its appendices."""
    (chapter,) = (root / "notebooks").glob(f"{number}_*.ipynb")
    return [chapter, *(root / f"{name}.md" for name in APPENDICES.get(number, ()))]


def places(root: Path, number: str) -> dict[str, Place]:
    """Return where a claim of a chapter may point to: label → place; the chapter goes first."""
    found: dict[str, Place] = {}
    for path in pages_of(root, number):
        page = path.relative_to(root).with_suffix("").as_posix()
        for name, title in places_of(path).items():
            found.setdefault(name, Place(page, title))
    return found


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


class ClaimsFilter(ClaimsDirective):
    """Write the form."""

    def run(self) -> list[nodes.Node]:
        """Write it for all claims."""
        return [controls(self.read())]


class ClaimsLedger(ClaimsDirective):
    """Write each claim as a fold, grouped by paper."""

    def run(self) -> list[nodes.Node]:
        """Write a section a paper."""
        claims = self.read()
        needing = by_experiment()
        root = Path(self.env.srcdir)
        known = {}
        for number in {claim["chapter"] for claim in claims}:
            for path in pages_of(root, number):
                self.env.note_dependency(str(path))
            known[number] = places(root, number)
        lines = []
        for paper, group in by_paper(claims):
            lines += ["", f"### Claims of {paper.upper()}", "", f"{{cite:t}}`{paper}`.", ""]
            apart = False
            for claim in sorted(group, key=lambda claim: bool(claim["reconstructed"])):
                if claim["reconstructed"] and not apart:
                    lines += [f"(reconstructed-{paper})=", "#### Reconstructed", ""]
                    lines += ["Our copy lacks the formulas of these; what is judged is ours.", ""]
                    apart = True
                if claim["section"] not in known[claim["chapter"]]:
                    raise self.error(f"{claim['id']}: no {claim['section']} in its chapter")
                lines += entry(claim, known[claim["chapter"]][claim["section"]], needing)
        return self.parse(lines, headings=True)


class ClaimsSurprises(ClaimsDirective):
    """Write the most surprising verdicts as sentences."""

    def run(self) -> list[nodes.Node]:
        """Write a list."""
        from companion.claims.surprises import sentences

        claims = self.read()
        by_id = {claim["id"]: claim for claim in claims}
        try:
            found = sentences(claims, plain)
        except ValueError as error:
            raise self.error(str(error)) from None
        lines = [
            f"1. {sentence} {{verdict}}`{standing(by_id[name])}` "
            f"[{plain(name)}](#{label(by_id[name])})"
            for name, sentence in found
        ]
        return self.parse(lines)


class ClaimsMeanings(SphinxDirective):
    """Say what each verdict means, and what is none."""

    def run(self) -> list[nodes.Node]:
        """Write a definition each."""
        from companion.claims import verdicts

        lines = []
        for name, meaning in verdicts.MEANINGS.items():
            lines += [f"{{verdict}}`{name}`", f": {meaning}", ""]
        return self.parse_text_to_nodes(StringList(lines, source="verdicts"))


class ClaimsRetired(SphinxDirective):
    """List the ids that are no longer judged; a link to one of them still leads somewhere."""

    def run(self) -> list[nodes.Node]:
        """Write a line each."""
        from companion.claims import RETIRED

        lines = []
        for name, heir in RETIRED.items():
            now = f"now [{heir}](#claim-{heir})" if heir else "no longer judged"
            lines += [f"(claim-{name})=", f"{name}: {now}.", ""]
        return self.parse_text_to_nodes(StringList(lines, source="retired"))


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
    """Write a link to where a claim is judged: `chapter N, title <page#label>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the link; that its target exists, `ClaimsLedger` has checked."""
        name, _, target = self.target.partition("#")
        page = self.env.app.builder.get_relative_uri(self.env.docname, name)
        uri = f"{page}#{target}"
        return [nodes.reference(self.rawtext, self.title, refuri=uri, internal=True)], []


class VerdictRole(SphinxRole):
    """Write a verdict as a word on a colour of its own."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the word, and say so if it is not a verdict."""
        if self.text not in STANDINGS:
            message = self.inliner.reporter.error(
                f"{self.text!r} must be a verdict", line=self.lineno
            )
            return [], [message]
        _, style = STANDINGS[self.text]
        return [nodes.inline(self.rawtext, self.text, classes=["verdict", style])], []


# --------------------------------------------------------------------------------- an author's page


NUMBERS_SHOWN = 5
"""How many of a disputed point's numbers stand beside it; the page of claims has all."""
DISPUTED = ("does not hold", "not reproduced")
FOLDED = {
    "holds with a condition": "What holds with a condition that the text does not state",
    "cannot be told from the text": "What cannot be told from the text",
    RECONSTRUCTED: "What we reconstructed, as our copy lacks the formula",
    "holds": "What is confirmed as stated",
}


def sentence(claim: Record) -> str:
    """Write what the paper says, and where."""
    said = plain(claim["statement"].removeprefix("(reconstructed) "))
    return f"{plain(claim['place'])}: {said}"


def disputed(claim: Record, needing: Iterable[str]) -> list[str]:
    """Write a disputed point, the sentence first."""
    numbers = list(claim["evidence"].items())
    shown = "; ".join(f"{plain(name)}: {plain(value)}" for name, value in numbers[:NUMBERS_SHOWN])
    which = f"All {len(numbers)} numbers" if len(numbers) > NUMBERS_SHOWN else "The claim"
    return [
        f"**{sentence(claim)}**",
        "",
        f"{{verdict}}`{claim['verdict']}` {plain(claim['reason'])}",
        "",
        f"*Numbers.* {shown}. {{ref}}`{which} <{label(claim)}>`. "
        f"*Computed again by* `{command(claim, needing)}`.",
        "",
    ]


def counted(number: int, of: str) -> str:
    """Say how many sentences there are of a kind."""
    return f"{number} {of if number != 1 else of.replace('sentences', 'sentence')}"


def tally(sizes: Mapping[str, int]) -> str:
    """Say how many sentences have each verdict, those that no sentence has left out."""
    parts = [
        (sizes.get("holds", 0), "confirmed as stated"),
        (sizes.get("holds with a condition", 0), "confirmed with a condition"),
        (sizes.get("does not hold", 0), "disputed"),
        (sizes.get("not reproduced", 0), "not reproduced"),
        (sizes.get("cannot be told from the text", 0), "left open by the text"),
    ]
    told = [f"{size} {verb(size)} {what}" for size, what in parts if size]
    return ", ".join([*told[:-2], " and ".join(told[-2:])])


def reviewers(claims: Iterable[Record]) -> str:
    """Say how many of the sentences are not the authors' own, but of a review that is public."""
    judged = (claim for claim in claims if standing(claim) != RECONSTRUCTED)
    others = sum(claim["place"].startswith(("review ", "reviews ")) for claim in judged)
    return f"{others} of them {verb(others)} by reviewers. " if others else ""


def verb(number: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if number == 1 else "are"


def write_for_author(claims: list[Record], needing: Iterable[str]) -> list[str]:
    """Write all that is said of a paper."""
    kinds: dict[str, list[Record]] = {}
    for claim in claims:
        kinds.setdefault(standing(claim), []).append(claim)
    sizes = {kind: len(group) for kind, group in kinds.items()}
    against = [claim for kind in DISPUTED for claim in kinds.get(kind, ())]
    judged = sum(size for kind, size in sizes.items() if kind != RECONSTRUCTED)
    told = [
        f"We judge {counted(judged, 'sentences')}: {tally(sizes)}. "
        + reviewers(claims)
        + (
            f"In {counted(sizes[RECONSTRUCTED], 'sentences')} our copy lacks the formula."
            if RECONSTRUCTED in sizes
            else "Our copy has every formula that we judge."
        ),
        "",
    ]
    if against:
        told += ["**Disputed.**", ""]
    for claim in against:
        told += disputed(claim, needing)
    for kind, title in FOLDED.items():
        if kind in kinds:
            told += [f":::{{dropdown}} {title} ({sizes[kind]})", ""]
            told += [f"- {sentence(c)} {{ref}}`{plain(c['id'])} <{label(c)}>`" for c in kinds[kind]]
            told += [":::", ""]
    return told


class AuthorVerdicts(SphinxDirective):
    """What there is to say of a paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the verdicts and write them."""
        claims: list[Record] = []
        for path in sorted(Path(self.env.srcdir, "book/data").glob("claims-*.json")):
            self.env.note_dependency(str(path))
            claims += json.loads(path.read_text(encoding="utf-8"))["claims"]
        (paper,) = self.arguments
        chosen = [claim for claim in claims if claim["paper"] == paper]
        if not chosen:
            raise self.error(f"{paper!r} has no verdicts")
        lines = write_for_author(chosen, by_experiment())
        return self.parse_text_to_nodes(StringList(lines, source=f"verdicts on {paper}"))


def setup(app: Any) -> dict[str, bool]:
    """Add the directives and the role."""
    app.add_directive("claims-filter", ClaimsFilter)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_directive("claims-meanings", ClaimsMeanings)
    app.add_directive("claims-retired", ClaimsRetired)
    app.add_directive("claims-summary", ClaimsSummary)
    app.add_directive("claims-surprises", ClaimsSurprises)
    app.add_role("verdict", VerdictRole())
    app.add_role("claims-shown", ShownRole())
    app.add_role("judged", JudgedRole())
    load_script(app, PAGE)
    app.add_directive("author-verdicts", AuthorVerdicts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
