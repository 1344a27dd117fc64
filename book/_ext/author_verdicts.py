"""What the author of a paper wants to see, made from the verdicts.

``author-verdicts KEY`` writes for a paper how many of its sentences are confirmed; then each that
is disputed: the sentence before the verdict, the reason, and the command that computes it again;
and, folded, what holds under a condition, what could not be told, and what is reconstructed. The
files of verdicts lie in ``book/data``.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from claims_ledger import (
    RECONSTRUCTED,
    Record,
    by_experiment,
    command,
    label,
    plain,
    standing,
)
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

FIRST = 5
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
    shown = "; ".join(f"{plain(name)}: {plain(value)}" for name, value in numbers[:FIRST])
    which = f"All {len(numbers)} numbers" if len(numbers) > FIRST else "The claim"
    return [
        f"**{sentence(claim)}**",
        "",
        f"{{verdict}}`{claim['verdict']}` {plain(claim['reason'])}",
        "",
        f"*Numbers.* {shown}. {{ref}}`{which} <{label(claim)}>`. "
        f"*Computed again by* `{command(claim, needing)}`.",
        "",
    ]


def count(number: int, of: str) -> str:
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


def write(claims: list[Record], needing: Iterable[str]) -> list[str]:
    """Write all that is said of a paper."""
    kinds: dict[str, list[Record]] = {}
    for claim in claims:
        kinds.setdefault(standing(claim), []).append(claim)
    sizes = {kind: len(group) for kind, group in kinds.items()}
    against = [claim for kind in DISPUTED for claim in kinds.get(kind, ())]
    judged = sum(size for kind, size in sizes.items() if kind != RECONSTRUCTED)
    told = [
        f"We judge {count(judged, 'sentences')}: {tally(sizes)}. "
        + reviewers(claims)
        + (
            f"In {count(sizes[RECONSTRUCTED], 'sentences')} our copy lacks the formula."
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
        lines = write(chosen, by_experiment())
        return self.parse_text_to_nodes(StringList(lines, source=f"verdicts on {paper}"))


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("author-verdicts", AuthorVerdicts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
