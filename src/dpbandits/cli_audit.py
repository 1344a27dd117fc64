"""``dpbandits audit``: look for a violation of what an algorithm declares, one's own included."""

from __future__ import annotations

import argparse
import dataclasses
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpbandits._arguments import configure, jobs_of, number, plain_algorithms, whole
from dpbandits._kernels import drop_stale_kernels
from dpbandits._own import is_own, load_own
from dpbandits._validation import check_fraction
from dpbandits.algorithms import identifiers, stopping_rules
from dpbandits.auditing.audit import Audit, audit
from dpbandits.auditing.exact import audit_exactly
from dpbandits.auditing.search import search
from dpbandits.auditing.subjects import subject_of
from dpbandits.auditing.tables import TablePair
from dpbandits.cli_output import add_json, show
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification.base import IdentificationAlgorithm
from dpbandits.regret.base import RegretAlgorithm
from dpbandits.stopping.base import StoppingRule

__all__ = ["add_parser"]

KINDS = (RegretAlgorithm, IdentificationAlgorithm, StoppingRule)
"""What can be audited as it is, one's own included."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="look for a violation of the privacy that an algorithm declares",
        description=(
            "Run an algorithm many times on two tables of rewards that differ in one entry, and "
            "bound its ε from below. Exact where outputs can be integrated. Exit status 1 if what "
            "is declared cannot be true, 3 if all runs did the same, so that nothing was tested."
        ),
        epilog="examples: dpbandits audit DPUCB --epsilon 1; "
        "dpbandits audit mine.py:algorithm --epsilon 1 --pulls 8, where mine.py has a function "
        "algorithm(rewards, rng) that calls rewards.pull(arm)",
    )
    parser.add_argument(
        "algorithm",
        metavar="ALGORITHM",
        help=f"{', '.join(_known())}; or FILE.py:NAME, MODULE:NAME",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="options",
        help="an argument of the algorithm, such as epsilon=1; may be given several times",
    )
    parser.add_argument(
        "--epsilon",
        metavar="E",
        help="short for --set epsilon=E; of what declares nothing itself, such as a function: "
        "what is to be tested",
    )
    parser.add_argument("--delta", metavar="D", help="δ that goes with the latter (0)")
    parser.add_argument("--sampled", action="store_true", help="do not integrate, run it")
    parser.add_argument("--runs", default="1e5", metavar="R", help="runs on each table (1e5)")
    parser.add_argument("--arms", default="2", metavar="K", help="arms of the tables (2)")
    parser.add_argument(
        "--pulls",
        default="16",
        metavar="N",
        help="rewards of each arm, and the length of a run (16)",
    )
    parser.add_argument(
        "--candidates", default="32", metavar="C", help="pairs of tables that are tried (32)"
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="a table of one's own, a row of numbers an arm, instead of a search; with --change",
    )
    parser.add_argument(
        "--change", metavar="ARM,PULL,VALUE", help="what its neighbour has where, from 0"
    )
    parser.add_argument(
        "--failure", default="1e-6", metavar="P", help="probability of a wrong bound (1e-6)"
    )
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")
    add_json(parser)
    parser.set_defaults(run=_audit)


class _Numbers(NamedTuple):
    """The numbers of the command line, checked."""

    runs: int
    arms: int
    pulls: int
    candidates: int
    failure: float
    seed: int
    jobs: int


def _audit(args: argparse.Namespace) -> int:
    if args.change is not None and args.table is None:
        raise ValueError(f"change={args.change!r} goes with --table; allowed: both, or neither")
    numbers = _Numbers(
        whole("runs", args.runs, 16),
        whole("arms", args.arms, 1),
        whole("pulls", args.pulls, 1),
        whole("candidates", args.candidates, 1),
        check_fraction("failure", number("failure", args.failure)),
        whole("seed", args.seed, 0),
        jobs_of(args.jobs),
    )
    drop_stale_kernels()  # what is audited is the source as it stands
    target = _target(args)
    promised = _promised(args, target)
    found = _exact(args, target, promised) or _sampled(args, target, numbers, promised)
    record = {"convicted": found.convicted, "verdict": found.verdict, **vars(found)}
    show(args, str(found), record)
    return {"convicted": 1, "nothing tested": 3}.get(found.verdict, 0)


def _target(args: argparse.Namespace) -> Any:
    """Return a configured algorithm of the package, or what the user's own file has."""
    if is_own(args.algorithm):
        own = load_own(args.algorithm)
        if isinstance(own, type) and dataclasses.is_dataclass(own):
            known = {own.__name__: own}
            return configure("algorithm", known, own.__name__, args.options, _short(args))
        if args.options:
            raise ValueError(
                f"set={args.options[0]!r} is for algorithms with arguments; allowed: none"
            )
        return own
    return configure("algorithm", _known(), args.algorithm, args.options, _short(args))


def _short(args: argparse.Namespace) -> dict[str, str | None]:
    """Return the arguments that have an option of their own."""
    return {"epsilon": args.epsilon}


def _promised(args: argparse.Namespace, target: Any) -> PrivacyGuarantee | None:
    """Return what is to be tested, if the target does not say so itself."""
    own = getattr(target, "guarantee", None)
    if own is not None and own.is_private:
        has_argument = args.epsilon is None or hasattr(target, "epsilon")
        for name in ("delta",) if has_argument else ("epsilon", "delta"):
            if getattr(args, name) is not None:
                raise ValueError(
                    f"{name}={getattr(args, name)!r} is declared already, {own}; allowed: without"
                )
        return None
    if args.epsilon is None:
        if args.delta is not None:
            raise ValueError(f"delta={args.delta!r} goes with --epsilon; allowed: both, or neither")
        return None
    epsilon, delta = number("epsilon", args.epsilon), number("delta", args.delta or "0")
    return PrivacyGuarantee("global", epsilon, delta)


def _known() -> dict[str, type]:
    """Return what can be named without a file."""
    return {**plain_algorithms(), **stopping_rules, **identifiers}


def _exact(
    args: argparse.Namespace, target: Any, promised: PrivacyGuarantee | None
) -> Audit | None:
    if args.sampled or is_own(args.algorithm) or args.table is not None or promised is not None:
        return None
    return audit_exactly(target)


def _sampled(
    args: argparse.Namespace, target: Any, numbers: _Numbers, promised: PrivacyGuarantee | None
) -> Audit:
    runs, arms, pulls, candidates, failure, seed, jobs = numbers
    known = not is_own(args.algorithm) or isinstance(target, KINDS)
    subject: Any = subject_of(target, pulls) if known else target
    if args.table is not None:
        pair = _pair(args.table, args.change)
    else:
        arms = 1 if isinstance(target, StoppingRule) else arms
        fewer = min(max(runs // 25, 16), 4000)  # the search has about as many runs as the audit
        pair = search(subject, arms, pulls, candidates, fewer, [seed, 1], jobs, promised)
    return audit(subject, pair, runs, [seed, 0], failure, jobs, promised)


def _pair(path: Path, change: str | None) -> TablePair:
    """Read a table from a file of numbers, split by commas or blanks, and its neighbour's entry."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ValueError(
            f"table={str(path)!r} cannot be read ({error.strerror}); allowed: a file of numbers"
        ) from None
    rows = [line.replace(",", " ").split() for line in lines]
    try:
        table = np.array([[float(x) for x in row] for row in rows if row])
    except ValueError:
        raise ValueError(
            f"table={str(path)!r} has other things than numbers; allowed: numbers"
        ) from None
    parts = (change or "").split(",")
    if len(parts) != 3:
        raise ValueError(f"change={change!r} is no entry; allowed: ARM,PULL,VALUE such as 0,3,1")
    value = number("change", parts[2])
    if not math.isfinite(value):
        raise ValueError(f"change={change!r} is no entry; allowed: a finite VALUE")
    return TablePair(table, whole("change", parts[0], 0), whole("change", parts[1], 0), value)
