"""What has become of the verdicts of edition 0.1.0: the same, another, merged, dropped, or new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from companion.chapters import find_root
from companion.claims.verdicts import RECONSTRUCTED

__all__ = [
    "EDITION",
    "TOLD",
    "Changes",
    "Pair",
    "ToldNumber",
    "changes",
    "compare",
    "first_edition",
    "standing",
]

EDITION = "0.1.0"
MOVED = 0.1
"""Share of the larger of two values by which a number has to move to be listed."""

Record = dict[str, Any]


class Pair(NamedTuple):
    """A claim of both editions."""

    before: Record
    now: Record


class ToldNumber(NamedTuple):
    """A number whose move has a reason that is written here."""

    claim: str
    number: str
    reason: str


TOLD = (
    ToldNumber(
        "twzw22-lemma-15",
        "divergence of a release / bound, greatest",
        "The proof had the factor ½; the function that computes the bound had left it out.",
    ),
    ToldNumber(
        "twzw22-thm-8",
        "least of our lower bound / claimed one",
        "With the ½, lower bounds in the local model are twice as large.",
    ),
    ToldNumber(
        "ss19-minimax-gap",
        "the same at T = 10⁴⁸",
        "The lower bound on the worst regret is (K − 1)/(2ε), which for small ε is twice as much.",
    ),
    ToldNumber(
        "twzw22-tree-suboptimal",
        "bound of DPRUCB / bound of DPRSE, v = 1, T = 10⁶⁰",
        "The bound of DPRUCB is lower: it cuts where its proved width is least, and the noise of "
        "the tree is bounded by Chernoff's bound at its optimum.",
    ),
    ToldNumber(
        "td16-validate",
        "mean regret / printed bound, greatest, DP-UCB-INT",
        "DP-UCB-INT has many more runs, and the few that lose the best arm are counted.",
    ),
    ToldNumber(
        "ja25-thousands",
        "mean samples, DP-TT",
        "Its first batches have 10/ε pulls.",
    ),
    ToldNumber(
        "ja25-thousands",
        "mean samples, DP-LRE",
        "Its batches are longer where noise is felt, and its leader gets fewer pulls there.",
    ),
)
"""Numbers that a reader may know from edition 0.1.0, and why each has moved."""


@dataclass(frozen=True)
class Changes:
    """Claims of two editions, compared.

    Attributes
    ----------
    changed, same : tuple of Pair
        Claims that are counted otherwise than before, and as before.
    merged : dict of str to str
        Ids of edition 0.1.0 → the claim that took each over.
    dropped : tuple of str
        Ids that nothing judges any more.
    new : tuple of dict
        Claims that edition 0.1.0 did not judge.
    """

    changed: tuple[Pair, ...]
    same: tuple[Pair, ...]
    merged: dict[str, str]
    dropped: tuple[str, ...]
    new: tuple[Record, ...]

    def moved(self) -> list[tuple[Pair, str]]:
        """Return the numbers that moved by more than `MOVED`, each by its claim and name."""
        return [
            (pair, name)
            for pair in sorted((*self.same, *self.changed), key=lambda pair: pair.now["id"])
            for name, value in pair.before["evidence"].items()
            if _moved(value, pair.now["evidence"].get(name))
        ]


def _moved(before: object, now: object) -> bool:
    numbers = [x for x in (before, now) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) < 2:
        return False
    return abs(numbers[1] - numbers[0]) > MOVED * max(map(abs, numbers))


def standing(claim: Record) -> tuple[str, str]:
    """Return what a claim is counted as, and the verdict on its sentence or on our formula."""
    verdict = str(claim["verdict"])
    return (RECONSTRUCTED if claim["reconstructed"] else verdict), verdict


def compare(
    before: Mapping[str, Record], now: Mapping[str, Record], retired: Mapping[str, str]
) -> Changes:
    """Compare two editions, given by the ids of their claims; the order is that of `now`.

    Raises
    ------
    ValueError
        If a claim has vanished that is not retired.
    """
    pairs = [Pair(before[name], claim) for name, claim in now.items() if name in before]
    gone = [name for name in before if name not in now]
    if lost := [name for name in gone if name not in retired]:
        raise ValueError(f"before={lost} are neither judged nor retired; allowed: one of both")
    return Changes(
        tuple(pair for pair in pairs if standing(pair.before) != standing(pair.now)),
        tuple(pair for pair in pairs if standing(pair.before) == standing(pair.now)),
        {name: retired[name] for name in gone if retired[name]},
        tuple(name for name in gone if not retired[name]),
        tuple(claim for name, claim in now.items() if name not in before),
    )


def first_edition(root: Path | None = None) -> dict[str, Record]:
    """Return the claims of edition 0.1.0 by id, with the verdicts that they had."""
    path = (root or find_root()) / "book" / "data" / f"edition-{EDITION}.json"
    return {claim["id"]: claim for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]}


def changes(claims: Iterable[Record], root: Path | None = None) -> Changes:
    """Compare published claims with those of edition 0.1.0."""
    from companion.claims import RETIRED

    return compare(first_edition(root), {str(claim["id"]): claim for claim in claims}, RETIRED)
