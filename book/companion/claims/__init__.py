"""The ledger of claims: what the papers say, and what a computation says about it.

>>> from companion import claims
>>> len(claims.ledger("ss19-thm-4.1"))
1
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from companion.chapters import find_root
from companion.claims.ja25_algorithm import CLAIMS as JA25_ALGORITHM
from companion.claims.ja25_beyond import CLAIMS as JA25_BEYOND
from companion.claims.ja25_design import CLAIMS as JA25_DESIGN
from companion.claims.ja25_experiments import CLAIMS as JA25_EXPERIMENTS
from companion.claims.ja25_time import CLAIMS as JA25_TIME
from companion.claims.ledger import (
    CANNOT_TELL,
    CONDITION,
    FAILS,
    HOLDS,
    VERDICTS,
    Claim,
    Finding,
)
from companion.claims.sections import SECTIONS, VERDICTS_SECTION
from companion.claims.ss19_elimination import CLAIMS as SS19_ELIMINATION
from companion.claims.ss19_elimination_steps import CLAIMS as SS19_ELIMINATION_STEPS
from companion.claims.ss19_experiments import CLAIMS as SS19_EXPERIMENTS
from companion.claims.ss19_introduction import CLAIMS as SS19_INTRODUCTION
from companion.claims.ss19_optimality import CLAIMS as SS19_OPTIMALITY
from companion.claims.ss19_stopping import CLAIMS as SS19_STOPPING
from companion.claims.ss19_stopping_cited import CLAIMS as SS19_STOPPING_CITED
from companion.claims.ss19_stopping_optimality import CLAIMS as SS19_STOPPING_OPTIMALITY
from companion.claims.td16_actions import CLAIMS as TD16_ACTIONS
from companion.claims.td16_counters import CLAIMS as TD16_COUNTERS
from companion.claims.td16_experiments import CLAIMS as TD16_EXPERIMENTS
from companion.claims.td16_factors import CLAIMS as TD16_FACTORS
from companion.claims.td16_intervals import CLAIMS as TD16_INTERVALS
from companion.claims.td16_noise import CLAIMS as TD16_NOISE
from companion.claims.td16_regret import CLAIMS as TD16_REGRET
from companion.claims.td16_steps import CLAIMS as TD16_STEPS
from companion.claims.twzw22_central import CLAIMS as TWZW22_CENTRAL
from companion.claims.twzw22_comparisons import CLAIMS as TWZW22_COMPARISONS
from companion.claims.twzw22_experiments import CLAIMS as TWZW22_EXPERIMENTS
from companion.claims.twzw22_local import CLAIMS as TWZW22_LOCAL
from companion.claims.twzw22_local_lower import CLAIMS as TWZW22_LOCAL_LOWER
from companion.claims.twzw22_preliminaries import CLAIMS as TWZW22_PRELIMINARIES
from companion.claims.twzw22_rates import CLAIMS as TWZW22_RATES
from companion.claims.twzw22_tree import CLAIMS as TWZW22_TREE
from dpbandits._files import renew
from dpbandits._validation import check_choice

if TYPE_CHECKING:
    from companion.publishing import Page

__all__ = [
    "CANNOT_TELL",
    "CONDITION",
    "FAILS",
    "HOLDS",
    "VERDICTS",
    "Claim",
    "Finding",
    "differences",
    "judge",
    "ledger",
    "recorded",
    "records",
    "section",
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
    """Return claims as `ledger` does, with the findings that the chapters have published.

    What the page of claims shows. `differences` computes again what needs no chapter.

    Parameters
    ----------
    prefix, chapter
        As of `ledger`.

    Raises
    ------
    ValueError
        As of `ledger`, or if no chapter has judged one of the claims yet.

    Examples
    --------
    >>> from companion import claims
    >>> claims.recorded("ss19-thm-4.1")[0].verdict in claims.VERDICTS
    True
    """
    written = _written()
    found = []
    for claim in ledger(prefix, chapter):
        if claim.id not in written:
            raise ValueError(f"claim {claim.id} is not judged yet; its chapter must be executed")
        found.append(_as_written(claim, written[claim.id]))
    return found


def _as_written(claim: Claim, record: Mapping[str, Any]) -> Claim:
    """Return a claim with the finding that was published."""
    finding = partial(Finding, record["verdict"], record["reason"], record["evidence"])
    return replace(claim, check=finding, needs=())


def _file(chapter: str) -> Path:
    """Return where a chapter publishes its verdicts."""
    return find_root() / "book" / "data" / f"claims-{chapter}.json"


def _written() -> dict[str, dict[str, Any]]:
    """Return the published records by the ids of the claims."""
    files = [path for path in map(_file, _BY_CHAPTER) if path.is_file()]
    content = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return {record["id"]: record for part in content for record in part["claims"]}


def judge(page: Page, results: Mapping[str, Any] | None = None) -> list[Claim]:
    """Judge the claims of a chapter, publish the verdicts and return the claims.

    Claims about the chapter's experiments are judged from their results. The others depend on no
    parameter of the page: at the presets smoke and quick, those that the book has published a
    verdict on keep it, whatever has become of their checks (``companion claims --check`` runs
    them).

    Parameters
    ----------
    page : Page
        The chapter that is being executed.
    results : mapping of str to object, optional
        The results that the chapter's claims need, by the names that the claims have for them.

    Returns
    -------
    list of Claim
        Those of the chapter, in the ledger's order.
    """
    results = {} if results is None else results
    known = {} if page.preset == "paper" else _written()
    judged = [
        _as_written(claim, known[claim.id])
        if claim.id in known and not claim.needs
        else claim.given(results)
        for claim in ledger(chapter=page.chapter)
    ]
    content = {"manifest": {"preset": page.preset, "seed": page.seed}, "claims": records(judged)}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    renew(_file(page.chapter), text.encode())
    return judged


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
    raise ValueError(f"claim={claim_id!r} is unknown; allowed: an id of `companion claims`")


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


def differences(claims: Sequence[Claim] | None = None) -> list[str]:
    """Judge claims again and describe where the published verdicts differ.

    Claims that need results of a chapter are left out: executing the chapter judges them.

    Parameters
    ----------
    claims : sequence of Claim, optional
        Which; None means all.

    Returns
    -------
    list of str
        One line a difference; empty if every verdict and every reason is the same.
    """
    stored = _written()
    chosen = [claim for claim in (ledger() if claims is None else claims) if not claim.needs]
    computed = {record["id"]: record for record in records(chosen)}
    lines = [f"{name}: not judged yet" for name in computed if name not in stored]
    if claims is None:
        known = {claim.id for claim in ledger()}
        lines += [f"{name}: no longer a claim" for name in stored if name not in known]
    for name, record in computed.items():
        for field in ("verdict", "reason"):
            if name in stored and stored[name][field] != record[field]:
                lines.append(f"{name}: {field} was {stored[name][field]!r}, is {record[field]!r}")
    return lines
