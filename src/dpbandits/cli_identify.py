"""``dpbandits identify`` and ``dpbandits plan``: best-arm identification on means of one's own."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from dpbandits import cli_trial
from dpbandits._arguments import configure, jobs_of, make_folder, number, numbers, whole
from dpbandits.algorithms import identifiers
from dpbandits.cli_output import add_json, show
from dpbandits.identification import identify
from dpbandits.planning import Plan, plan
from dpbandits.rewards.instances import bernoulli

__all__ = ["add_parsers"]

_MEANS = "such as 0.75,0.7,0.7"


def add_parsers(commands: Any) -> None:
    """Add both commands."""
    parser = commands.add_parser(
        "identify",
        help="run an algorithm for best-arm identification",
        description="Simulate an algorithm that looks for the best of some arms.",
        epilog="example: dpbandits identify DPLRE --means 0.75,0.7,0.7 --set epsilon=0.5 "
        "--set delta=0.05",
    )
    parser.add_argument("algorithm", metavar="ALGORITHM", help=", ".join(identifiers))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="options",
        help="an argument of the algorithm, such as epsilon=0.5; may be given several times",
    )
    parser.add_argument("--epsilon", metavar="E", help="short for --set epsilon=E")
    parser.add_argument("--means", required=True, metavar="M,M,…", help=_MEANS)
    _add_shared(parser, runs="100", max_pulls="1e15")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the runs")
    add_json(parser)
    parser.set_defaults(run=_identify)

    parser = commands.add_parser(
        "plan",
        help="plan a private trial: sample sizes, and what privacy costs",
        description=(
            "Say how many samples it takes to find the best of some arms under differential "
            "privacy: the lower bound, what each algorithm takes, and the price of privacy. With "
            "counts of a table: what trials on its patients, each drawn once, would decide, after "
            "how many of them, and at what price."
        ),
        epilog="examples: dpbandits plan --means 0.75,0.7,0.7 --epsilon 0.5 --delta 0.05; "
        "dpbandits plan --counts 568/4300,343/4292 --deaths --epsilon 1 --delta 0.05",
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--means", metavar="M,M,…", help=_MEANS)
    given.add_argument(
        "--counts",
        metavar="N/N,N/N,…",
        help="successes of patients of each arm, such as 3732/4300,3949/4292",
    )
    cli_trial.add_options(parser)
    add_json(parser)
    parser.add_argument("--epsilon", required=True, metavar="E", help="privacy budget, or inf")
    parser.add_argument("--delta", required=True, metavar="D", help="probability of a wrong arm")
    _add_shared(parser, runs="40", max_pulls="1e12")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture: .svg or .png")
    parser.set_defaults(run=_plan)


def _add_shared(parser: argparse.ArgumentParser, runs: str, max_pulls: str) -> None:
    parser.set_defaults(most=max_pulls)
    parser.add_argument("--runs", default=runs, metavar="R", help=f"replicates (default: {runs})")
    parser.add_argument(
        "--max-pulls",
        metavar="N",
        help=f"end a run that has not stopped by then (default: {max_pulls})",
    )
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")


def _means(text: str) -> list[float]:
    return numbers("means", text, "numbers in [0, 1] such as 0.75,0.7,0.7")


def _most(args: argparse.Namespace, least: int) -> int:
    """Return after how many pulls a run is ended: those asked for, or the command's own."""
    return whole("max-pulls", args.max_pulls or args.most, least)


def _count(value: float) -> str:
    """Write a number of pulls; what runs that were ended hide is unknown."""
    return f"{value:.6g}" if math.isfinite(value) else "unknown"


def _identify(args: argparse.Namespace) -> int:
    algorithm = configure(
        "algorithm",
        identifiers,
        args.algorithm,
        args.options,
        {"epsilon": args.epsilon},
        strict=True,
    )
    instance = bernoulli(_means(args.means), "own means")
    make_folder(args.csv)
    runs = identify(
        algorithm,
        instance,
        whole("runs", args.runs, 1),
        whole("seed", args.seed, 0),
        _most(args, instance.n_arms),
        jobs_of(args.jobs),
    )
    low, middle, high = runs.time_quantiles([0.05, 0.5, 0.95])
    mean, pulls = runs.mean_time()[0], runs.pulls.mean(axis=0)
    rate, least, greatest = runs.error_rate()
    lines = [
        f"{algorithm!r} on means {args.means}, {runs.n_runs} runs",
        f"privacy: {algorithm.guarantee}",
        f"stopped: {int(runs.stopped.sum())} of {runs.n_runs}",
        f"samples: mean {_count(mean)}, median {_count(middle)}, "
        f"90 % of runs {_count(low)} to {_count(high)}",
        f"wrong arm: {rate:.3g}, 95 % interval {least:.3g} to {greatest:.3g}",
        "pulls of each arm, mean: " + " ".join(f"{n:.6g}" for n in pulls),
    ]
    record = {
        "algorithm": algorithm,
        "guarantee": algorithm.guarantee,
        "means": instance.means,
        "n_runs": runs.n_runs,
        "stopped": int(runs.stopped.sum()),
        "samples": {"mean": mean, "median": middle, "q05": low, "q95": high},
        "wrong_arm": {"value": rate, "low95": least, "high95": greatest},
        "pulls": pulls,
    }
    show(args, lines, record)
    if args.csv is not None:
        runs.to_csv(args.csv)
    return 0


def _plan(args: argparse.Namespace) -> int:
    if args.counts is not None:
        return cli_trial.run(args)
    if args.deaths or args.factor is not None:
        option = "deaths" if args.deaths else "factor"
        raise ValueError(f"{option} is about counts; allowed with --counts only")
    means = _means(args.means)
    epsilon, delta = number("epsilon", args.epsilon), number("delta", args.delta)
    rest = (
        whole("runs", args.runs, 2),
        whole("seed", args.seed, 0),
        jobs_of(args.jobs),
        _most(args, len(means)),
    )
    if args.plot is not None:
        if args.plot.suffix.lower() not in (".svg", ".png"):
            raise ValueError(f"plot={str(args.plot)!r} has another ending; allowed: .svg or .png")
        if epsilon == math.inf:
            raise ValueError(f"epsilon={epsilon!r} has no picture; allowed with --plot: below inf")
        make_folder(args.plot)
    found = plan(means, epsilon, delta, *rest)
    show(args, str(found), cli_trial.plan_as_dict(found))
    if args.plot is not None:
        _draw(found, args.plot)
    return 0


def _draw(found: Plan, path: Path) -> None:
    """Draw the picture of a plan; the ending of the file says in which format."""
    from matplotlib import pyplot as plt

    from dpbandits import plotting

    figure = plotting.plan_figure(found)
    if path.suffix.lower() == ".svg":
        plotting.save_vector(figure, path)
    else:
        figure.savefig(path, dpi=150)
    plt.close(figure)
