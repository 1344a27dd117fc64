"""The ledger of claims: what the papers say, and what a computation says about it.

>>> from dpbandits import claims
>>> len(claims.ledger("ss19-thm-4.1"))
1
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpbandits._files import write_atomically
from dpbandits._validation import check_choice
from dpbandits.claims.ja25_algorithm import CLAIMS as JA25_ALGORITHM
from dpbandits.claims.ja25_beyond import CLAIMS as JA25_BEYOND
from dpbandits.claims.ja25_design import CLAIMS as JA25_DESIGN
from dpbandits.claims.ja25_experiments import CLAIMS as JA25_EXPERIMENTS
from dpbandits.claims.ja25_time import CLAIMS as JA25_TIME
from dpbandits.claims.ledger import (
    CANNOT_TELL,
    CONDITION,
    FAILS,
    HOLDS,
    VERDICTS,
    Claim,
    Finding,
)
from dpbandits.claims.sections import SECTIONS, VERDICTS_SECTION
from dpbandits.claims.ss19_elimination import CLAIMS as SS19_ELIMINATION
from dpbandits.claims.ss19_elimination_steps import CLAIMS as SS19_ELIMINATION_STEPS
from dpbandits.claims.ss19_experiments import CLAIMS as SS19_EXPERIMENTS
from dpbandits.claims.ss19_introduction import CLAIMS as SS19_INTRODUCTION
from dpbandits.claims.ss19_optimality import CLAIMS as SS19_OPTIMALITY
from dpbandits.claims.ss19_stopping import CLAIMS as SS19_STOPPING
from dpbandits.claims.ss19_stopping_cited import CLAIMS as SS19_STOPPING_CITED
from dpbandits.claims.ss19_stopping_optimality import CLAIMS as SS19_STOPPING_OPTIMALITY
from dpbandits.claims.td16_actions import CLAIMS as TD16_ACTIONS
from dpbandits.claims.td16_counters import CLAIMS as TD16_COUNTERS
from dpbandits.claims.td16_experiments import CLAIMS as TD16_EXPERIMENTS
from dpbandits.claims.td16_factors import CLAIMS as TD16_FACTORS
from dpbandits.claims.td16_intervals import CLAIMS as TD16_INTERVALS
from dpbandits.claims.td16_noise import CLAIMS as TD16_NOISE
from dpbandits.claims.td16_regret import CLAIMS as TD16_REGRET
from dpbandits.claims.td16_steps import CLAIMS as TD16_STEPS
from dpbandits.claims.twzw22_central import CLAIMS as TWZW22_CENTRAL
from dpbandits.claims.twzw22_comparisons import CLAIMS as TWZW22_COMPARISONS
from dpbandits.claims.twzw22_experiments import CLAIMS as TWZW22_EXPERIMENTS
from dpbandits.claims.twzw22_local import CLAIMS as TWZW22_LOCAL
from dpbandits.claims.twzw22_local_lower import CLAIMS as TWZW22_LOCAL_LOWER
from dpbandits.claims.twzw22_preliminaries import CLAIMS as TWZW22_PRELIMINARIES
from dpbandits.claims.twzw22_rates import CLAIMS as TWZW22_RATES
from dpbandits.claims.twzw22_tree import CLAIMS as TWZW22_TREE
from dpbandits.experiments import data_folder
from dpbandits.provenance import processor, versions

__all__ = [
    "CANNOT_TELL",
    "CONDITION",
    "FAILS",
    "HOLDS",
    "VERDICTS",
    "Claim",
    "Finding",
    "differences",
    "ledger",
    "recorded",
    "records",
    "section",
    "write",
]

_BY_CHAPTER = {
    "01": (*SS19_STOPPING, *SS19_STOPPING_OPTIMALITY, *SS19_STOPPING_CITED),
    "02": (
        *TD16_COUNTERS,
        *TD16_ACTIONS,
        *TD16_INTERVALS,
        *TD16_STEPS,
        *TD16_REGRET,
        *TD16_EXPERIMENTS,
        *TD16_NOISE,
        *TD16_FACTORS,
    ),
    "03": (
        *SS19_ELIMINATION,
        *SS19_OPTIMALITY,
        *SS19_EXPERIMENTS,
        *SS19_INTRODUCTION,
        *SS19_ELIMINATION_STEPS,
    ),
    "04": (
        *TWZW22_TREE,
        *TWZW22_CENTRAL,
        *TWZW22_RATES,
        *TWZW22_LOCAL,
        *TWZW22_LOCAL_LOWER,
        *TWZW22_EXPERIMENTS,
        *TWZW22_PRELIMINARIES,
        *TWZW22_COMPARISONS,
    ),
    "05": (*JA25_TIME, *JA25_ALGORITHM, *JA25_EXPERIMENTS, *JA25_DESIGN, *JA25_BEYOND),
}


def ledger(prefix: str = "", chapter: str | None = None) -> list[Claim]:
    """Return claims, in the order of the book; each is checked when first asked.

    Parameters
    ----------
    prefix : str
        How their ids begin.
    chapter : str, optional
        Number of the chapter that judges them, such as "01"; None for all.

    Raises
    ------
    ValueError
        If the chapter judges none, or no claim's id begins so.
    """
    if chapter is None:
        claims = [claim for part in _BY_CHAPTER.values() for claim in part]
    else:
        claims = list(_BY_CHAPTER[check_choice("chapter", chapter, tuple(_BY_CHAPTER))])
    chosen = [claim for claim in claims if claim.id.startswith(prefix)]
    if not chosen:
        known = ", ".join(claim.id for claim in claims)
        raise ValueError(f"prefix={prefix!r} fits no claim; allowed: beginnings of {known}")
    return chosen


def recorded(prefix: str = "", chapter: str | None = None) -> list[Claim]:
    """Return claims as `ledger` does, with the findings that the repository holds.

    What the chapters and the page of claims show. They are what the checks found when
    ``book/data/claims.json`` was last written; `differences` computes them again.

    Parameters
    ----------
    prefix, chapter
        As of `ledger`.

    Raises
    ------
    ValueError
        As of `ledger`, or if the file is absent or lacks one of the claims.

    Examples
    --------
    >>> from dpbandits import claims
    >>> claims.recorded("ss19-thm-4.1")[0].verdict in claims.VERDICTS
    True
    """
    path = data_folder() / "claims.json"
    try:
        written = json.loads(path.read_text(encoding="utf-8"))["claims"]
    except FileNotFoundError:
        written = []
    by_id = {record["id"]: record for record in written}
    found = []
    for claim in ledger(prefix, chapter):
        if claim.id not in by_id:
            raise ValueError(f"{path.name} lacks {claim.id}; allowed: dpbandits claims --write")
        record = by_id[claim.id]
        finding = partial(Finding, record["verdict"], record["reason"], record["evidence"])
        found.append(replace(claim, check=finding))
    return found


def section(claim_id: str) -> tuple[str, str]:
    """Return the number of the chapter that judges a claim, and the label of the place there.

    Examples
    --------
    >>> section("ss19-svt")
    ('01', 'thm-svt')
    """
    for chapter, claims in _BY_CHAPTER.items():
        if any(claim.id == claim_id for claim in claims):
            return chapter, SECTIONS.get(claim_id, VERDICTS_SECTION)
    raise ValueError(f"claim={claim_id!r} is unknown; allowed: an id of `dpbandits claims`")


def records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Check the claims and return them as plain data."""
    return [
        {
            "id": claim.id,
            "paper": claim.paper,
            "place": claim.place,
            "chapter": section(claim.id)[0],
            "section": section(claim.id)[1],
            "statement": claim.statement,
            "verdict": claim.verdict,
            "reason": claim.finding.reason,
            "evidence": dict(claim.evidence),
        }
        for claim in claims
    ]


def write(path: str | os.PathLike[str]) -> Path:
    """Check every claim and write the verdicts, with what they were computed with, to `path`."""
    content = {
        "manifest": {"versions": versions(), "processor": processor()},
        "claims": records(ledger()),
    }
    return write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def differences(path: str | os.PathLike[str], claims: Sequence[Claim] | None = None) -> list[str]:
    """Check claims again and describe where the verdicts written in `path` differ.

    Parameters
    ----------
    path : path-like
        File that `write` made.
    claims : sequence of Claim, optional
        Which; None means all, and that `path` has no others.

    Returns
    -------
    list of str
        One line a difference; empty if every verdict and every reason is the same.
    """
    stored = {r["id"]: r for r in json.loads(Path(path).read_text(encoding="utf-8"))["claims"]}
    computed = {r["id"]: r for r in records(ledger() if claims is None else claims)}
    lines = [f"{name}: not in {Path(path).name}" for name in computed if name not in stored]
    if claims is None:
        lines += [f"{name}: no longer a claim" for name in stored if name not in computed]
    for name, record in computed.items():
        for field in ("verdict", "reason"):
            if name in stored and stored[name][field] != record[field]:
                lines.append(f"{name}: {field} was {stored[name][field]!r}, is {record[field]!r}")
    return lines
