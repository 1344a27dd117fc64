"""BibTeX entries of the book, its figures, its verdicts, its numbers, and the five papers."""

from __future__ import annotations

import ast
import difflib
import functools
import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any

import dpbandits
from companion import claims
from companion.chapters import find, find_root
from companion.headlines import headlines
from companion.publishing import Published, published, published_names, short
from dpbandits._validation import check_choice

__all__ = [
    "AUTHORS",
    "PAGES",
    "TITLE",
    "YEAR",
    "cite",
    "entry_of_figure",
    "grouped_as_here",
    "in_tex",
    "in_words",
    "numbers",
    "papers",
    "place_of",
    "sentences",
    "tables",
    "title_of_figure",
]

TITLE = "Private Bandits: a reproducible companion"
AUTHORS = "the dpbandits authors"
YEAR = 2026
"""Year of this version, as in ``CITATION.cff``."""

PAGES: Mapping[str, str] = MappingProxyType(
    {name: f"book/{name}" for name in ("intro", "claims", "reproducing", "benchmarks")}
)
"""Pages that are no chapters, and have numbers and tables that can be cited, by their names."""

_NUMBER = re.compile(rf"(?:\d\d?|{'|'.join(PAGES)}):[\w.-]+")
_LOOKED_UP = re.compile(r"\{(headline|datum)\}`([^`]+)`")
"""A number of a page that is no chapter: a role, and what it is asked for."""
_MADE_TABLE = re.compile(r"[`:]{3,}\{(?:[\w-]+-table|claims-summary)\}.*")
"""A directive that writes a table."""
_GLUED = re.compile(r"\{glue:text\}`([^`:]+)(?::[^`]*)?`")
_ROLE = re.compile(r"\{[\w:]+\}`([^`<]*?)\s*(?:<[^`]*>)?`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_AS_IT_IS = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", re.DOTALL)
"""Formulas and code, in which no sentence ends and no sign is Markdown's."""
_NOT_PROSE = re.compile(
    r"\s*(:{3,}|`{3,}|~{3,}|#+\s|\+\+\+|:[\w-]+:(\s|$)|\(.*\)=$|[-|: ]*-{3,}[-|: ]*$)"
)
"""A line that opens or closes a directive, is an option of one, a heading, a target or a rule."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_RULE_OF_TABLE = re.compile(r"[>\s]*\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?\s*")
_SHORTENED = r"Figs?|Theorem|Thm|Eqs?|Sec|Prop|Lem|Cor|Def|Ch|No|vs|cf|al|resp|approx|e\.g|i\.e"
_END = re.compile(r"[.!?][”’\"')]*(?=\s+(?![a-z])|\s*$)")
_NO_END = re.compile(rf"(?<![\w.])(?:{_SHORTENED})\.$|^\d+\.$")
_SPACE = "\N{NARROW NO-BREAK SPACE}"
_GROUPED = re.compile(rf"(?<![\d.,{_SPACE}])\d{{1,3}}(?:[,{_SPACE}]\d{{3}})+(?!\d|[,{_SPACE}]\d)")
"""A whole number whose digits are in groups of three, and its decimals may follow."""
_FEWEST = 4
"""Words of a sentence that can be cited alone; a shorter one takes a neighbour along."""

_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "η": "eta", "κ": "kappa"}
_GREEK |= {"λ": "lambda", "μ": "mu", "σ": "sigma"}
_SIGNS = {
    **{sign: f"$\\{name}$" for sign, name in _GREEK.items()},
    "ε": r"$\varepsilon$",
    "Δ": r"$\Delta$",
    "−": "$-$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "√": r"$\surd$",
    "²": "$^2$",
    "⋆": r"$^\star$",
    "’": "'",
    "–": "--",
    "§": r"\S{}",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "|": r"\textbar{}",
    "^": r"\^{}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
}
"""What BibTeX cannot take as it is → how to write it."""


@functools.cache
def papers() -> Mapping[str, str]:
    """Return the entries of the five papers in the book's ``references.bib``, by key."""
    text = resources.files("companion").joinpath("papers.bib").read_text(encoding="utf-8")
    entries = text.strip().split("\n\n")
    return MappingProxyType({re.findall(r"{(\w+),", entry)[0]: entry for entry in entries})


def in_tex(text: str) -> str:
    r"""Write text for TeX, in ASCII where the replacement of a character is known.

    Examples
    --------
    >>> in_tex("ε = 1 & T_1")
    '$\\varepsilon$ = 1 \\& T\\_1'
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def in_words(paper: str) -> str:
    """Name a paper in text, by its key.

    Examples
    --------
    >>> in_words("ss19"), in_words("twzw22")
    ('Sajed and Sheffet (2019)', 'Tao et al. (2022)')
    """
    fields = dict(re.findall(r"(\w+) += {(.*)}", papers()[paper]))
    names = [name.partition(",")[0] for name in fields["author"].split(" and ")]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who} ({fields['year']})"


def cite(what: str = "") -> str:
    """Return the BibTeX entry of a figure, a claim, a paper, a number, a table or the book.

    Examples of names: the figure ``ss19-fig1``, the claim ``ss19-thm-4.1``, the paper ``ss19``, a
    number or a table of a chapter ``01:mean-pulls``, ``03:table-1``, or of another page
    ``intro:odds``, as the page shows it. Without a name, the entry is that of the book and its
    package. Before the entry of a number comes its sentence; before that of a table, its heading
    and columns.

    Examples
    --------
    >>> print(cite("ss19-thm-4.1").splitlines()[0])
    @misc{dpbandits-ss19-thm-4.1,
    """
    if not what:
        version = dpbandits.__version__
        fields = {"author": f"{{{AUTHORS}}}", "title": TITLE, "version": version, "year": str(YEAR)}
        return _entry("software", "dpbandits", fields)
    if what.lower() in papers():
        return papers()[what.lower()]
    if _NUMBER.fullmatch(what):
        return _cited_number(what)
    figures = published_names()
    if what in figures:
        return entry_of_figure(published(what))
    known = {claim.id: claim for claim in claims.ledger()}
    if what in known:
        claim = known[what]
        place = f"{in_words(claim.paper)}, {claim.place}"
        return _part(what, f"Verdict on claim \\texttt{{{what}}}: {in_tex(place)}")
    if what in claims.RETIRED:
        claims.section(what)  # raises, naming the claim that replaced it
    if not figures:  # outside of the book
        try:
            find_root()
        except ValueError as error:
            raise ValueError(f"what={what!r} is no claim and no paper, and the {error}") from None
    near = difflib.get_close_matches(what, [*papers(), *figures, *known], n=3)
    raise ValueError(
        f"what={what!r} is unknown; allowed: no name, for the book; {', '.join(papers())}; "
        "a figure of `companion figure --list`; a claim of `companion claims`; "
        "a number such as 01:NAME, which its page shows"
        + (f"; did you mean {' or '.join(map(repr, near))}?" if near else "")
    )


def sentences(text: str) -> list[str]:
    """Divide a text into sentences.

    No sentence ends after an abbreviation, in a formula or in code, or before a lower-case letter.

    Examples
    --------
    >>> sentences("See Fig. 3 for $n! (a. B)$. It falls? 7 of 9 did vs. 3.")
    ['See Fig. 3 for $n! (a. B)$.', 'It falls?', '7 of 9 did vs. 3.']
    """
    kept = [(found.start(), found.end()) for found in _AS_IT_IS.finditer(text)]
    found, start = [], 0
    for end in _END.finditer(text):
        inside = any(first < end.start() < last for first, last in kept)
        if not inside and not _NO_END.search(text[start : end.start() + 1].lstrip()):
            found.append(text[start : end.end()].strip())
            start = end.end()
    return [one for one in (*found, text[start:].strip()) if one]


def grouped_as_here(text: str) -> str:
    """Return a text with its numbers grouped in the way the pages group them."""

    def group(found: re.Match[str]) -> str:
        digits = re.sub(rf"[,{_SPACE}]", "", found[0])
        return digits if len(digits) < 5 else f"{int(digits):,}".replace(",", _SPACE)

    return _GROUPED.sub(group, text)


def place_of(name: str) -> str:
    """Return the name of a number on its page, which its copy button yields.

    Examples
    --------
    >>> place_of("own-0.1"), place_of("means_C2")
    ('own-0-1', 'means-c2')
    """
    return re.sub("^[-0-9]+|-+$", "", re.sub("[^a-z0-9]+", "-", name.lower()))


def _paragraphs(source: str) -> Iterator[str]:
    """Return the paragraphs, items and cells of a Markdown text, without directives."""
    lines: list[str] = []
    for line in (*source.splitlines(), ""):
        line = re.sub(r"^\s*(?:>\s?)+", "", line)
        row = line.lstrip().startswith("|")
        if row and not _RULE_OF_TABLE.fullmatch(line):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line) if cell.strip())
        ends = not line.strip() or _NOT_PROSE.match(line) or row
        if (ends or _ITEM.match(line)) and lines:
            yield " ".join(" ".join(lines).split())
            lines = []
        if not ends:
            lines.append(_ITEM.sub("", line, count=1) if _ITEM.match(line) else line)


def _as_read(text: str, values: Mapping[str, str]) -> str:
    """Write a Markdown sentence as its page shows it, numbers included; formulas remain TeX."""

    def plain(part: str) -> str:
        if part.startswith("`"):
            return part.strip("`")
        if part.startswith("$"):
            return part
        return grouped_as_here(_LINK.sub(r"\1", part).replace("*", ""))

    text = _GLUED.sub(lambda m: values.get(m[1], m[0]), text)
    text = re.sub(
        r"\{cite:t\}`(\w+)`", lambda m: in_words(m[1]) if m[1] in papers() else m[1], text
    )
    text = _ROLE.sub(r"\1", text)
    parts, at = [], 0
    for found in _AS_IT_IS.finditer(text):
        parts += [plain(text[at : found.start()]), plain(found[0])]
        at = found.end()
    return "".join([*parts, plain(text[at:])]).strip()


def _cells(chapter: str) -> list[dict[str, Any]]:
    if chapter in PAGES:
        text, _ = _page(chapter)
        return [{"cell_type": "markdown", "source": [text], "metadata": {}}]
    cells: list[dict[str, Any]] = json.loads(find(chapter).read_text(encoding="utf-8"))["cells"]
    return cells


def _page(name: str) -> tuple[str, dict[str, str]]:
    """Return the text of a page, with its numbers written as in chapters, and their values."""
    path = (find_root() / PAGES[name]).with_suffix(".md")
    values: dict[str, str] = {}

    def written(match: re.Match[str]) -> str:
        key = match[2]
        if match[1] == "headline":
            values[key] = headlines(find_root())[key]
        else:
            file, _, key = (part.strip() for part in key.partition(":"))
            value = json.loads((path.parent / file).read_text(encoding="utf-8"))
            for part in key.split("."):
                value = value[part]
            if not isinstance(value, int | float):
                return str(value)
            values[key] = short(value)
        return f"{{glue:text}}`{key}`"

    return _LOOKED_UP.sub(written, path.read_text(encoding="utf-8")), values


def numbers(chapter: str) -> Mapping[str, str]:
    """Return the sentences of a chapter or a page that contain a number, by the number's name.

    Each is the first sentence that contains it, with all numbers filled in.
    """
    cells = _cells(chapter)
    values = _page(chapter)[1] if chapter in PAGES else {}
    for output in (o for cell in cells for o in cell.get("outputs", ())):
        if "scrapbook" in output.get("metadata", {}):
            name = output["metadata"]["scrapbook"]["name"]
            (value,) = output["data"].values()
            written = "".join(value)
            values[name] = ast.literal_eval(written) if written[:1] in "'\"" else written
    found: dict[str, str] = {}
    for cell in cells:
        if cell["cell_type"] != "markdown":
            continue
        for paragraph in _paragraphs("".join(cell["source"])):
            all_of_it = sentences(paragraph)  # a role is code, in which no sentence ends
            for at, sentence in enumerate(all_of_it):
                for name in _GLUED.findall(sentence):
                    if name in values and name not in found:
                        found[name] = _long_enough([_as_read(one, values) for one in all_of_it], at)
    return found


def _long_enough(known: list[str], at: int) -> str:
    """Return a sentence, with its neighbour before or after it if it is too short alone."""
    first, last = at, at + 1
    while len(" ".join(known[first:last]).split()) < _FEWEST and last - first < len(known):
        first, last = (first - 1, last) if first else (first, last + 1)
    return " ".join(known[first:last])


def tables(chapter: str) -> Mapping[str, str]:
    """Return the heading and the columns of the tables of a chapter or a page, by their names.

    For a table written by a directive of a page, this is the heading only.
    """
    found: dict[str, str] = {}
    heading = ""
    for cell in _cells(chapter):
        written = []
        if cell["cell_type"] == "markdown":
            written = ["".join(cell["source"])]
        elif not {"remove-cell", "remove-output"} & set(cell["metadata"].get("tags", ())):
            written = [
                "".join(output.get("data", {}).get("text/markdown", ""))
                for output in cell.get("outputs", ())
            ]
        lines = "\n".join(written).splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            if cell["cell_type"] == "markdown" and (title := re.match(r"#+\s+(.*)", line)):
                heading = _as_read(title[1], {})
            elif chapter in PAGES and _MADE_TABLE.fullmatch(line):
                found[f"table-{len(found) + 1}"] = f"Table {len(found) + 1}, in “{heading}”."
            elif _RULE_OF_TABLE.fullmatch(line):
                number = len(found) + 1
                heads = [_as_read(head, {}) for head in re.split(r"(?<!\\)\|", before)]
                columns = "; ".join(filter(None, heads))
                found[f"table-{number}"] = f"Table {number}, in “{heading}”: {columns}."
    return found


def _cited_number(what: str) -> str:
    """Return the entry of a number or a table, with its sentence as a comment before it."""
    chapter, _, name = what.partition(":")
    known = numbers(chapter)
    if name in (there := tables(chapter)):
        kind, sentence = "Table", there[name]
    else:
        places = {place_of(one): one for one in known}
        name = places.get(name, name)
        where = chapter if chapter in PAGES else f"chapter {chapter}"
        check_choice(f"number of {where}", name, (*sorted(known), *there))
        kind, sentence = "Number", known[name]
    page = chapter if chapter in PAGES else find(chapter).stem.partition("_")[0]
    full = f"{page}:{place_of(name)}"
    entry = _part(full.replace(":", "-"), f"{kind} \\texttt{{{in_tex(full)}}}")
    return f"% {sentence}\n{entry}"


def title_of_figure(figure: Published) -> str:
    """Return a figure's title for TeX: its name, its subject, and the figure it follows."""
    about = figure.manifest
    words = str(about["title"])
    names = "|".join(map(str.upper, papers()))
    source = re.sub(names, lambda match: in_words(match[0].lower()), str(about["source"]))
    source = re.sub("^ours(, )?", "", source)
    if source:
        words += f"; {source}"
    return f"Figure \\texttt{{{figure.name}}}: {in_tex(words)}"


def entry_of_figure(figure: Published) -> str:
    """Return the entry of a figure."""
    return _part(figure.name, title_of_figure(figure))


def _part(name: str, title: str) -> str:
    """Return the entry of a part of the book."""
    fields = {
        "author": f"{{{AUTHORS}}}",
        "title": f"{{{title}}}",
        "howpublished": f"{TITLE}, version {dpbandits.__version__}",
        "year": str(YEAR),
    }
    return _entry("misc", f"dpbandits-{name}", fields)


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    width = max(map(len, fields))
    lines = ",\n".join(f"  {name:{width}} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"
