"""``dpbandits claims``: the papers' claims, their verdicts, and those verdicts computed again."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from dpbandits import experiments
from dpbandits._validation import check_choice
from dpbandits.cli_output import add_json, show

__all__ = ["add_parser"]

WORDS = {
    "holds": "holds",
    "condition": "holds with a condition",
    "fails": "does not hold",
    "cannot-tell": "cannot be told from the text",
}
"""Short words for the verdicts, as in the addresses of the page of claims."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "claims",
        help="list the papers' claims with our verdicts",
        description="List the papers' claims with the verdicts in book/data/claims.json, or "
        "compute verdicts again and compare.",
        epilog="example: dpbandits claims --paper SS19 --verdict fails",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check",
        nargs="*",
        metavar="ID",
        help="compute the verdicts of these claims again; without an ID, of all of them",
    )
    action.add_argument("--write", action="store_true", help="renew book/data/claims.json")
    parser.add_argument("--paper", metavar="PAPER", help="only this paper's, such as SS19")
    parser.add_argument(
        "--verdict", metavar="VERDICT", help=f"only with this verdict: {', '.join(WORDS)}"
    )
    add_json(parser)
    parser.set_defaults(run=_claims)


def _claims(args: argparse.Namespace) -> int:
    from dpbandits import claims

    if (args.write or args.check is not None) and (args.paper or args.verdict):
        raise ValueError(
            "paper and verdict choose what is listed; allowed: neither --check nor --write beside"
        )
    path = experiments.data_folder() / "claims.json"
    if args.write:
        written = os.path.relpath(claims.write(path))
        show(args, written, {"written": written})
        return 0
    if not path.is_file():
        raise ValueError(
            "book/data/claims.json is absent; allowed: a copy of the book as working directory, "
            "with what dpbandits claims --write makes"
        )
    if args.check:
        return _check(args, path)
    if args.check is not None:
        lines = claims.differences(path)
        show(args, lines or "every verdict is as written", {"differences": lines})
        return 1 if lines else 0
    return _list(args, path)


def _list(args: argparse.Namespace, path: Path) -> int:
    """Print the claims that are asked for, and how many there are."""
    records = json.loads(path.read_text(encoding="utf-8"))["claims"]
    chosen, paper, verdict = records, args.paper, args.verdict
    if paper is not None:
        papers = tuple(dict.fromkeys(record["paper"] for record in records))
        key = check_choice("paper", paper.lower(), papers)
        chosen = [record for record in chosen if record["paper"] == key]
    if verdict is not None:
        asked = verdict.lower()
        full = asked if asked in WORDS.values() else WORDS.get(asked)
        if full is None:
            check_choice("verdict", verdict, tuple(dict.fromkeys((*WORDS, *WORDS.values()))))
        chosen = [record for record in chosen if record["verdict"] == full]
    lines = []
    for record in chosen:
        lines.append(f"{record['id']}: {record['verdict']}")
        lines.append(f"    {record['paper'].upper()}, {record['place']}: {record['statement']}")
    show(args, [*lines, f"{len(chosen)} of {len(records)} claims"], {"claims": chosen})
    return 0


def _check(args: argparse.Namespace, path: Path) -> int:
    """Compute some verdicts, print what was found, and whether it is as written."""
    from dpbandits import claims

    known = {claim.id: claim for claim in claims.ledger()}
    for name in args.check:
        if name.lower() not in known:
            raise ValueError(f"claim={name!r} is unknown; allowed: an id of dpbandits claims")
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys(name.lower() for name in args.check):
        claim = known[name]
        differences = claims.differences(path, [claim])
        lines += [
            f"{claim.id}: {claim.verdict}",
            f"    {claim.paper.upper()}, {claim.place}: {claim.statement}",
            f"    {claim.finding.reason}",
            *(f"    - {what}: {value}" for what, value in claim.evidence.items()),
            "    differs: " + "; ".join(differences) if differences else "    as written",
        ]
        found.append({**claims.records([claim])[0], "differences": differences})
    show(args, lines, {"claims": found})
    return 1 if any(record["differences"] for record in found) else 0
