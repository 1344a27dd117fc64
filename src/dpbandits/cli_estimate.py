"""``dpbandits estimate``: a stopping rule on a law, or on numbers of one's own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpbandits._arguments import configure, jobs_of, make_folder, number, whole
from dpbandits._validation import check_choice
from dpbandits.algorithms import stopping_rules
from dpbandits.cli_output import add_json, show
from dpbandits.rewards import instances
from dpbandits.rewards.laws import Law
from dpbandits.stopping import StoppingRule, estimate

__all__ = ["add_parser"]

LAWS = ("two-point", "uniform", "low-variance", "beta")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "estimate",
        help="run a stopping rule, on a law or on your own numbers",
        description=(
            "Estimate a mean to a relative error with a stopping rule: replicates on a law, or "
            "one run on a stream of your own."
        ),
        epilog="examples: dpbandits estimate DPExponentialNAS --set epsilon=1 --set alpha=0.5 "
        "--set beta=0.05 --mean 0.1; dpbandits estimate NAS --set alpha=0.1 --set beta=0.01 "
        "--stream numbers.txt",
    )
    parser.add_argument("rule", metavar="RULE", help=", ".join(stopping_rules))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="options",
        help="an argument of the rule, such as alpha=0.5; may be given several times",
    )
    parser.add_argument("--epsilon", metavar="E", help="short for --set epsilon=E")
    parser.add_argument(
        "--law", default="two-point", help=f"{', '.join(LAWS)} (default: two-point)"
    )
    parser.add_argument("--mean", default="0.1", metavar="M", help="mean (default: 0.1)")
    parser.add_argument("--deviation", default="0.01", metavar="S", help="of low-variance")
    parser.add_argument("--shapes", default="3,2", metavar="A,B", help="of beta (default: 3,2)")
    parser.add_argument("--runs", default="100", metavar="R", help="replicates (default: 100)")
    parser.add_argument("--max-samples", default="1e12", metavar="N", help="default: 1e12")
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the runs")
    parser.add_argument(
        "--stream",
        metavar="FILE",
        help="run once on these numbers, split by white space; - is stdin",
    )
    add_json(parser)
    parser.set_defaults(run=_estimate)


def _law(args: argparse.Namespace, half_range: float) -> Law:
    check_choice("law", args.law, LAWS)
    if args.law == "beta":
        first, comma, second = args.shapes.partition(",")
        if not comma:
            raise ValueError(f"shapes={args.shapes!r} is no pair; allowed: A,B such as 3,2")
        a, b = number("shapes", first), number("shapes", second)
        return instances.shifted_beta(a, b, half_range)
    mean = number("mean", args.mean)
    if args.law == "low-variance":
        deviation = number("deviation", args.deviation)
        return instances.low_variance(mean, deviation, half_range)
    make = {"two-point": instances.two_point, "uniform": instances.uniform}[args.law]
    return make(mean, half_range)


def _numbers(name: str) -> Iterator[float]:
    """Read numbers from a file, line by line, no further than asked."""
    if name == "-":
        yield from (number("stream", text) for line in sys.stdin for text in line.split())
        return
    try:
        with Path(name).open(encoding="utf-8") as lines:
            yield from (number("stream", text) for line in lines for text in line.split())
    except OSError as error:
        raise ValueError(
            f"stream={name!r} cannot be read ({error.strerror}); allowed: a file of numbers, or -"
        ) from None


def _estimate(args: argparse.Namespace) -> int:
    rule = configure(
        "rule", stopping_rules, args.rule, args.options, {"epsilon": args.epsilon}, strict=True
    )
    seed, most = whole("seed", args.seed, 0), whole("max-samples", args.max_samples, 1)
    if args.stream is not None:
        return _own(args, rule, seed, most)
    law = _law(args, rule.half_range)
    make_folder(args.csv)
    runs = estimate(rule, law, whole("runs", args.runs, 1), seed, most, n_jobs=jobs_of(args.jobs))
    low, middle, high = np.quantile(runs.samples, [0.05, 0.5, 0.95])
    lines = [
        f"{rule!r} on {law.name} of mean {law.mean:g}, {runs.n_runs} runs",
        f"privacy: {rule.guarantee}",
        f"halted: {int(runs.halted.sum())} of {runs.n_runs}",
        f"samples: median {middle:.6g}, 90 % of runs {low:.6g} to {high:.6g}",
    ]
    record: dict[str, Any] = {
        "rule": rule,
        "guarantee": rule.guarantee,
        "law": {"name": law.name, "mean": law.mean},
        "n_runs": runs.n_runs,
        "seed": seed,
        "halted": int(runs.halted.sum()),
        "samples": {"median": middle, "q05": low, "q95": high},
    }
    if law.mean != 0:
        rate, least, greatest = runs.error_rate()
        text = f"{rate:.3g}, 95 % interval {least:.3g} to {greatest:.3g}"
        lines.append(f"off by more than {rule.alpha:g} of the mean: {text}")
        record["error_rate"] = {"value": rate, "low95": least, "high95": greatest}
    show(args, lines, record)
    if args.csv is not None:
        runs.to_csv(args.csv)
    return 0


def _own(args: argparse.Namespace, rule: StoppingRule, seed: int, most: int) -> int:
    outcome = rule.run(_numbers(args.stream), np.random.default_rng(seed), most)
    if not outcome.samples:
        raise ValueError(f"stream={args.stream!r} has no numbers; allowed: one or more")
    lines = [f"{rule!r}", f"privacy: {rule.guarantee}"]
    if outcome.halted:
        lines.append(f"halted after {outcome.samples} samples; estimate {outcome.estimate:.6g}")
    else:
        lines.append(f"not halted after {outcome.samples} samples: no estimate")
    estimated = outcome.estimate if outcome.halted else None
    record = {"rule": rule, "guarantee": rule.guarantee, "halted": outcome.halted}
    show(args, lines, {**record, "samples": outcome.samples, "estimate": estimated})
    return 0
