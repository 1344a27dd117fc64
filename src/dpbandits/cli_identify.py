"""``dpbandits plan``: how many samples a private trial takes."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from dpbandits._arguments import jobs_of, whole

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "plan",
        help="plan a private trial: sample sizes, and what privacy costs",
        description=(
            "Say how many samples it takes to find the best of some arms under differential "
            "privacy: the lower bound, what each algorithm takes, and the price of privacy."
        ),
        epilog="example: dpbandits plan --means 0.75,0.7,0.7 --epsilon 0.5 --delta 0.05",
    )
    parser.add_argument("--means", required=True, metavar="M,M,...", help="assumed means")
    parser.add_argument(
        "--epsilon", required=True, metavar="E", help="privacy budget; inf for none"
    )
    parser.add_argument("--delta", required=True, metavar="D", help="probability of a wrong arm")
    parser.add_argument("--runs", default="40", metavar="R", help="simulated trials (default: 40)")
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture: .svg or .png")
    parser.set_defaults(run=_plan)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is no number; allowed: a number") from None


def _plan(args: argparse.Namespace) -> int:
    from dpbandits.planning import plan

    means = [_number("means", text) for text in args.means.split(",")]
    found = plan(
        means,
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


def _draw(found: Any, path: Path) -> None:
    """Draw the picture of a plan; the ending of the file says in which format."""
    if path.suffix not in (".svg", ".png"):
        raise ValueError(f"plot={str(path)!r} has another ending; allowed: .svg or .png")
    if not math.isfinite(found.epsilon):
        raise ValueError(f"epsilon={found.epsilon!r} has no place on the axis; allowed: finite")
    from matplotlib import pyplot as plt

    from dpbandits import plotting

    figure = plotting.plan_figure(found)
    if path.suffix == ".svg":
        plotting.save_vector(figure, path)
    else:
        figure.savefig(path, dpi=150)
    plt.close(figure)
