"""``dpbandits identify`` and ``dpbandits plan``: best-arm identification on means of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from dpbandits._arguments import configure, jobs_of, whole
from dpbandits.identification import identify
from dpbandits.instances import bernoulli
from dpbandits.planning import Plan, plan
from dpbandits.registry import identifiers

__all__ = ["add_parsers"]


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
    _add_shared(parser, runs="100")
    parser.add_argument("--max-pulls", default="1e15", metavar="N", help="default: 1e15")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the runs")
    parser.set_defaults(run=_identify)

    parser = commands.add_parser(
        "plan",
        help="plan a private trial: sample sizes, and what privacy costs",
        description=(
            "Say how many samples it takes to find the best of some arms under differential "
            "privacy: the lower bound, what each algorithm takes, and the price of privacy."
        ),
        epilog="example: dpbandits plan --means 0.75,0.7,0.7 --epsilon 0.5 --delta 0.05",
    )
    parser.add_argument("--epsilon", required=True, metavar="E", help="privacy budget, or inf")
    parser.add_argument("--delta", required=True, metavar="D", help="probability of a wrong arm")
    _add_shared(parser, runs="40")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture: .svg or .png")
    parser.set_defaults(run=_plan)


def _add_shared(parser: argparse.ArgumentParser, runs: str) -> None:
    parser.add_argument("--means", required=True, metavar="M,M,…", help="such as 0.75,0.7,0.7")
    parser.add_argument("--runs", default=runs, metavar="R", help=f"replicates (default: {runs})")
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is no number; allowed: a number") from None


def _means(text: str) -> list[float]:
    return [_number("means", part) for part in text.split(",")]


def _identify(args: argparse.Namespace) -> int:
    algorithm = configure("algorithm", identifiers, args.algorithm, args.options)
    instance = bernoulli(_means(args.means), "own means")
    runs = identify(
        algorithm,
        instance,
        whole("runs", args.runs, 1),
        whole("seed", args.seed, 0),
        whole("max-pulls", args.max_pulls, instance.n_arms),
        jobs_of(args.jobs),
    )
    print(f"{algorithm!r} on means {args.means}, {runs.n_runs} runs")
    print(f"privacy: {algorithm.guarantee}")
    print(f"stopped: {int(runs.stopped.sum())} of {runs.n_runs}")
    low, middle, high = np.quantile(runs.stopping_time, [0.05, 0.5, 0.95])
    mean = runs.mean_time()[0]
    print(f"samples: mean {mean:.6g}, median {middle:.6g}, 90 % of runs {low:.6g} to {high:.6g}")
    rate, least, greatest = runs.error_rate()
    print(f"wrong arm: {rate:.3g}, 95 % interval {least:.3g} to {greatest:.3g}")
    print("pulls of each arm, mean:", " ".join(f"{n:.6g}" for n in runs.pulls.mean(axis=0)))
    if args.csv is not None:
        runs.to_csv(args.csv)
    return 0


def _plan(args: argparse.Namespace) -> int:
    if args.plot is not None and args.plot.suffix not in (".svg", ".png"):
        raise ValueError(f"plot={str(args.plot)!r} has another ending; allowed: .svg or .png")
    found = plan(
        _means(args.means),
        _number("epsilon", args.epsilon),
        _number("delta", args.delta),
        whole("runs", args.runs, 2),
        whole("seed", args.seed, 0),
        jobs_of(args.jobs),
    )
    print(found)
    if args.plot is not None:
        _draw(found, args.plot)
    return 0


def _draw(found: Plan, path: Path) -> None:
    """Draw the picture of a plan; the ending of the file says in which format."""
    from matplotlib import pyplot as plt

    from dpbandits import plotting

    figure = plotting.plan_figure(found)
    if path.suffix == ".svg":
        plotting.save_vector(figure, path)
    else:
        figure.savefig(path, dpi=150)
    plt.close(figure)
