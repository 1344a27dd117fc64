"""The ledger of claims: statements of the papers, each judged by a computation.

A claim is a function with the decorator `findings.claim` in a module of its chapter.

>>> from companion import claims
>>> len(claims.ledger("ss19-thm-4.1"))
1
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from companion.chapters import find_root
from companion.claims.findings import Claim, Finding, claims_of
from companion.claims.verdicts import (
    CANNOT_TELL,
    CONDITION,
    FAILS,
    HOLDS,
    NOT_REPRODUCED,
    RECONSTRUCTED,
    VERDICTS,
)
from dpbandits._files import renew
from dpbandits._validation import check_choice

if TYPE_CHECKING:
    from companion.publishing import Page

__all__ = [
    "CANNOT_TELL",
    "CONDITION",
    "FAILS",
    "HOLDS",
    "NOT_REPRODUCED",
    "RECONSTRUCTED",
    "RETIRED",
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

MODULES = {
    "01": ("ss19_stopping",),
    "02": ("td16_privacy", "td16_steps", "td16_regret", "td16_noise"),
    "03": ("ss19_elimination", "ss19_experiments"),
    "04": (
        "twzw22_central",
        "twzw22_rates",
        "twzw22_local",
        "twzw22_experiments",
        "twzw22_comparisons",
    ),
    "05": ("ja25_time", "ja25_algorithm", "ja25_experiments", "ja25_design"),
    "07": ("ab22_bandits",),
}
"""The modules of each chapter's claims, in the order of the page."""

RETIRED: dict[str, str] = {
    "ss19-fact-2.1-monotone": "ss19-fact-2.1-above",
    "ss19-thm-3.1-private": "ss19-cor-3.2-private",
    "ss19-cor-3.2-correct": "ss19-thm-3.1-correct",
    "ss19-thm-3.3-steps": "ss19-thm-3.3",
    "ss19-mild-assumption": "",
    "ss19-nas-improved": "ss19-nas-samples",
    "ss19-svt": "ss19-cor-3.2-private",
    "ss19-noise-facts": "",
    "ss19-lemma-4.2-probability": "ss19-lemma-4.2",
    "ss19-lemma-4.2-order": "ss19-lemma-4.2",
    "ss19-lemma-4.2-halving": "ss19-lemma-4.2",
    "ss19-lemma-4.2-constants": "ss19-lemma-4.2",
    "ss19-lemma-4.2-elimination": "ss19-lemma-4.2",
    "ss19-thm-4.3-last": "ss19-thm-4.3",
    "ss19-thm-4.4-gap": "ss19-thm-4.4",
    "ss19-few-choices": "",
    "ss19-settings": "",
    "ss19-subsumed": "",
    "ss19-ucb-regret": "",
    "twzw22-algorithm-2": "",
    "twzw22-improved": "twzw22-thm-2",
    "twzw22-near-optimal": "twzw22-thm-2",
    "twzw22-thm-4": "twzw22-optimal",
    "twzw22-thm-5": "twzw22-optimal",
    "twzw22-lemma-13": "twzw22-thm-7-gaps",
    "twzw22-thm-7-minimax": "twzw22-thm-7",
    "twzw22-remark-3": "twzw22-thm-7-gaps",
    "twzw22-optimal-local": "twzw22-thm-7",
    "twzw22-local-noise": "twzw22-local-ucb",
    "twzw22-lemma-1": "",
    "twzw22-laplace": "",
    "twzw22-ldp": "",
    "twzw22-lemma-14": "",
    "twzw22-unbounded": "",
    "twzw22-settings": "",
    "twzw22-pareto": "",
    "twzw22-setting-3": "",
    "ja25-log-odds": "ja25-switch-045",
    "ja25-linear-measured": "ja25-linear-arms",
    "ja25-k-eta": "ja25-eta-tradeoff",
    "ja25-smaller-eta": "ja25-eta-tradeoff",
    "ja25-memory": "",
    "ja25-half": "",
    "ja25-range": "",
    "ja25-normal-distance": "",
    "ja25-convex": "",
    "ja25-only-bounded": "",
    "td16-bound-2.2-used": "td16-thm-3.2",
    "td16-thm-3.4-second": "td16-cor-3.2",
    "td16-cor-3.1": "td16-cor-3.2",
    "td16-additive": "td16-cor-3.2",
    "td16-nothing-learned": "",
    "td16-chan-bound": "",
    "td16-noise-grows": "",
    "td16-harmonic": "",
    "td16-above-two": "",
    "td16-factor-hybrid": "",
    "td16-reason": "",
}
"""Ids that are no longer judged → the id of the claim that took them over, or "" if none did.

An id names a claim for good: none of these is given to another claim.
"""

_BY_CHAPTER: dict[str, list[Claim]] = {}
for _chapter, _names in MODULES.items():
    _modules = [import_module(f"companion.claims.{name}") for name in _names]
    _BY_CHAPTER[_chapter] = [claim for module in _modules for claim in claims_of(module.__name__)]


def ledger(prefix: str = "", chapter: str | None = None) -> list[Claim]:
    """Return the claims whose ids begin with `prefix`, in the order of the book.

    If a chapter's number such as "01" is given, only its claims; ValueError if there are none.
    """
    if chapter is None:
        found = [claim for part in _BY_CHAPTER.values() for claim in part]
    else:
        found = _BY_CHAPTER[check_choice("chapter", chapter, tuple(_BY_CHAPTER))]
    chosen = [claim for claim in found if claim.id.startswith(prefix)]
    if not chosen:
        known = ", ".join(claim.id for claim in found)
        raise ValueError(f"prefix={prefix!r} fits no claim; allowed: beginnings of {known}")
    return chosen


def recorded(prefix: str = "", chapter: str | None = None) -> list[Claim]:
    """Return claims like `ledger`, with the findings that the chapters have published.

    The page of claims shows these; ValueError if no chapter has judged one of them yet.
    `differences` judges again the claims that need no chapter.
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
    """Return the file in which a chapter publishes its verdicts."""
    return find_root() / "book" / "data" / f"claims-{chapter}.json"


def _written() -> dict[str, dict[str, Any]]:
    """Return the published records by the ids of the claims."""
    files = [path for path in map(_file, _BY_CHAPTER) if path.is_file()]
    content = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return {record["id"]: record for part in content for record in part["claims"]}


def judge(page: Page, results: Mapping[str, Any] | None = None) -> list[Claim]:
    """Judge the claims of a chapter, publish the verdicts and return the claims.

    Claims about the chapter's experiments are judged from `results`, which contains the values they
    need by name. The others depend on no parameter of the page: at the presets smoke and quick they
    keep a verdict that the book has published, even if their checks have changed (``companion
    claims --check`` runs them).
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
    """Return the number of the chapter that judges a claim, and the label of the section."""
    for chapter, claims in _BY_CHAPTER.items():
        for claim in claims:
            if claim.id == claim_id:
                return chapter, claim.at
    if claim_id in RETIRED:
        raise ValueError(f"claim={claim_id!r} is retired; {taken_over(claim_id)}")
    raise ValueError(f"claim={claim_id!r} is unknown; allowed: an id of `companion claims`")


def taken_over(claim_id: str) -> str:
    """Return a sentence on the claim that replaced a retired id."""
    heir = RETIRED[claim_id]
    return f"allowed: {heir}, which has taken its place" if heir else "nothing judges it any more"


def records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Judge the claims and return them as plain data."""
    return [
        {
            "id": claim.id,
            "paper": claim.paper,
            "place": claim.place,
            "chapter": section(claim.id)[0],
            "section": claim.at,
            "statement": claim.statement,
            "reconstructed": claim.reconstructed,
            "verdict": claim.verdict,
            "reason": claim.finding.reason,
            "evidence": dict(claim.evidence),
        }
        for claim in claims
    ]


def differences(claims: Sequence[Claim] | None = None) -> list[str]:
    """Judge claims, or all, again, and describe differences to the published verdicts, a line each.

    Claims that need results of a chapter are omitted: executing the chapter judges them.
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
