"""``companion claims``: the papers' claims, their verdicts, and those verdicts computed again."""

from __future__ import annotations

import argparse
from typing import Any

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
        description="List the papers' claims with the verdicts that the chapters have published, "
        "or compute verdicts again and compare.",
        epilog="example: companion claims --paper SS19 --verdict fails",
    )
    parser.add_argument(
        "--check",
        nargs="*",
        metavar="ID",
        help="compute the verdicts of these claims again; without an ID, of all that rest on no "
        "experiment of a chapter",
    )
    parser.add_argument("--paper", metavar="PAPER", help="only this paper's, such as SS19")
    parser.add_argument(
        "--verdict", metavar="VERDICT", help=f"only with this verdict: {', '.join(WORDS)}"
    )
    add_json(parser)
    parser.set_defaults(run=_claims)


def _claims(args: argparse.Namespace) -> int:
    from companion import claims

    if args.check is not None and (args.paper or args.verdict):
        raise ValueError(
            "paper and verdict choose what is listed; allowed: not together with --check"
        )
    if args.check:
        return _check(args)
    if args.check is not None:
        lines = claims.differences()
        show(args, lines or "every verdict is as published", {"differences": lines})
        return 1 if lines else 0
    return _list(args)


def _list(args: argparse.Namespace) -> int:
    """Print the claims that are asked for, and how many there are."""
    from companion import claims

    records = claims.records(claims.recorded())
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


def _check(args: argparse.Namespace) -> int:
    """Compute some verdicts, print what was found, and whether it is as written."""
    from companion import claims

    known = {claim.id: claim for claim in claims.ledger()}
    for name in args.check:
        claim = known[check_choice("claim", name.lower(), tuple(known))]
        if claim.needs:
            chapter = claims.section(claim.id)[0]
            raise ValueError(
                f"claim={name!r} is judged by runs of its chapter; allowed: companion execute "
                f"{int(chapter)}"
            )
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys(name.lower() for name in args.check):
        claim = known[name]
        differences = claims.differences([claim])
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
