"""``dpbandits plan --counts``: a trial on the patients of a published table."""

from __future__ import annotations

import argparse
from typing import Any

from dpbandits._arguments import jobs_of, number, whole
from dpbandits.cli_output import show
from dpbandits.identification import FinitePopulation
from dpbandits.planning import Plan
from dpbandits.trial_planning import plan_trial

__all__ = ["add_options", "plan_as_dict", "read_counts", "run"]

_ALLOWED = "EVENTS/PATIENTS of each arm, such as 568/4300,343/4292"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that belong to counts."""
    parser.add_argument(
        "--deaths",
        action="store_true",
        help="the counts are of bad outcomes: the best arm has the smallest share",
    )
    parser.add_argument(
        "--factor",
        metavar="F",
        help="F times as many patients with the same shares (default: 1)",
    )


def read_counts(text: str, deaths: bool, factor: int) -> FinitePopulation:
    """Read counts such as 568/4300,343/4292."""
    try:
        pairs = [tuple(int(n) for n in part.split("/")) for part in text.split(",")]
        events, sizes = zip(*pairs, strict=True)
    except ValueError:
        raise ValueError(f"counts={text!r} cannot be read; allowed: {_ALLOWED}") from None
    for count, size in pairs:
        if not 0 <= count <= size:
            raise ValueError(f"counts={text!r} has {count} of {size}; allowed: {_ALLOWED}")
    successes = tuple(n - d for d, n in pairs) if deaths else events
    return FinitePopulation(successes, sizes, "table").scaled(factor)


def run(args: argparse.Namespace) -> int:
    """Plan a trial on counts."""
    if args.plot is not None:
        raise ValueError(f"plot={str(args.plot)!r} has no picture of counts; allowed with --means")
    if args.max_pulls is not None:
        raise ValueError(
            f"max-pulls={args.max_pulls!r} is set by the table: a trial ends with its patients; "
            "allowed with --means"
        )
    factor = 1 if args.factor is None else whole("factor", args.factor, 1)
    found = plan_trial(
        read_counts(args.counts, args.deaths, factor),
        number("epsilon", args.epsilon),
        number("delta", args.delta),
        whole("runs", args.runs, 2),
        whole("seed", args.seed, 0),
        jobs_of(args.jobs),
    )
    show(args, str(found), found.as_dict())
    return 0


def plan_as_dict(found: Plan) -> dict[str, Any]:
    """Return a plan on means as plain values."""
    return {
        "means": list(found.means),
        "epsilon": found.epsilon,
        "delta": found.delta,
        "lower_bound": found.lower_bound,
        "lower_bound_without_privacy": found.lower_bound_free,
        "price_of_privacy": found.price,
        "free_from_epsilon": found.free_from,
        "weights": list(found.weights),
        "algorithms": [
            {
                "algorithm": size.algorithm.label,
                "private": size.algorithm.guarantee.is_private,
                "trials": size.n_runs,
                "samples": {
                    "mean": size.mean,
                    "low95": size.mean_low,
                    "high95": size.mean_high,
                    "quantile90": size.quantile90,
                },
                "wrong": size.wrong,
            }
            for size in found.sizes
        ],
    }
