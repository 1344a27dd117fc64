"""BibTeX for what the book can be cited for: itself, its figures, its verdicts, the four papers."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

import dpbandits
from companion import claims
from companion.chapters import find
from companion.publishing import Published, published, published_names
from dpbandits._validation import check_choice

__all__ = [
    "AUTHORS",
    "TITLE",
    "YEAR",
    "cite",
    "entry_of_figure",
    "in_tex",
    "in_words",
    "numbers",
    "papers",
]

TITLE = "Private Bandits: a reproducible companion"
AUTHORS = "the dpbandits authors"
YEAR = 2026
"""Year of this version, as in ``CITATION.cff``."""

_NUMBER = re.compile(r"\d\d?:[\w.-]+")
_GLUED = re.compile(r"\{glue:text\}`([^`:]+)(?::[^`]*)?`")
_ROLE = re.compile(r"\{[\w:]+\}`([^`<]*?)\s*(?:<[^`]*>)?`")

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
    """Return the entries of the four papers by their keys, as in the book's ``references.bib``."""
    text = resources.files("companion").joinpath("papers.bib").read_text(encoding="utf-8")
    entries = text.strip().split("\n\n")
    return MappingProxyType({re.findall(r"{(\w+),", entry)[0]: entry for entry in entries})


def in_tex(text: str) -> str:
    r"""Write text for TeX, in ASCII as far as a sign is known.

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
    """Return the BibTeX entry of something that can be cited.

    This is a figure, such as ``ss19-fig1``, a claim, such as ``ss19-thm-4.1``, a paper, such as
    ``ss19``, or a number of a chapter, such as ``01:mean-pulls``, by the name that its page shows;
    the book and its package if nothing is named. What is cited for a number has its sentence
    before the entry.

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
        claims.section(what)  # which says what took it over
    near = difflib.get_close_matches(what, [*papers(), *figures, *known], n=3)
    raise ValueError(
        f"what={what!r} is unknown; allowed: no name, for the book; {', '.join(papers())}; "
        "a figure of `companion figure --list`; a claim of `companion claims`; "
        "a number such as 01:NAME, which its page shows"
        + (f"; near: {', '.join(near)}" if near else "")
    )


def numbers(chapter: str) -> Mapping[str, str]:
    """Return the sentences of a chapter's text that have a number, by the number's name.

    The sentence is the first that has it, with its numbers in place.
    """
    path = find(chapter)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    values = {}
    for output in (o for cell in notebook["cells"] for o in cell.get("outputs", ())):
        if "scrapbook" in output.get("metadata", {}):
            name = output["metadata"]["scrapbook"]["name"]
            (value,) = output["data"].values()
            values[name] = "".join(value).strip("'\"")
    found: dict[str, str] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        for paragraph in re.split(r"\n\s*\n", "".join(cell["source"])):
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z(])", " ".join(paragraph.split())):
                for name in _GLUED.findall(sentence):
                    if name in values:
                        written = _GLUED.sub(lambda m: values.get(m[1], m[0]), sentence)
                        found.setdefault(name, _ROLE.sub(r"\1", written))
    return found


def _cited_number(what: str) -> str:
    """Return the entry of a number, with its sentence as a comment before it."""
    chapter, _, name = what.partition(":")
    sentences = numbers(chapter)
    check_choice(f"number of chapter {chapter}", name, tuple(sorted(sentences)))
    full = f"{find(chapter).stem.partition('_')[0]}:{name}"
    entry = _part(full.replace(":", "-"), f"Number \\texttt{{{in_tex(full)}}}")
    return f"% {sentences[name]}\n{entry}"


def entry_of_figure(figure: Published) -> str:
    """Return the entry of a figure."""
    about = figure.manifest
    words = str(about["title"])
    names = "|".join(map(str.upper, papers()))
    source = re.sub(names, lambda match: in_words(match[0].lower()), str(about["source"]))
    source = re.sub("^ours(, )?", "", source)
    if source:
        words += f"; {source}"
    return _part(figure.name, f"Figure \\texttt{{{figure.name}}}: {in_tex(words)}")


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
