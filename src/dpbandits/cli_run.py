"""``dpbandits run``: simulate algorithms, one's own included, on any instance of Bernoulli arms."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpbandits._arguments import (
    configure,
    find_name,
    jobs_of,
    make_folder,
    number,
    numbers,
    plain_algorithms,
    whole,
)
from dpbandits._own import is_own, load_own
from dpbandits._validation import check_choice
from dpbandits.cli_output import add_json, show
from dpbandits.regret.base import Instance, RegretAlgorithm
from dpbandits.rewards.instances import SS19_NAMES, TWZW22_NAMES, bernoulli, ss19, twzw22
from dpbandits.simulation import Runs, simulate_many

__all__ = ["add_parser"]

ENDINGS = (".svg", ".png", ".pdf")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "run",
        help="simulate algorithms, your own included",
        description="Simulate one algorithm or several on Bernoulli arms and report the regret.",
        epilog="examples: dpbandits run --algorithm dp-se --means 0.9,0.8 --epsilon 0.5 "
        "--horizon 1e6 --runs 30 --plot out.png --csv out.csv; "
        "dpbandits run DPSE DPUCB --instance C2 --epsilon 0.25; "
        "dpbandits run mine.py:MyAlgorithm DPSE --means 0.7,0.6 --epsilon 1",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="ALGORITHM",
        help=f"{', '.join(plain_algorithms())}; or FILE.py:NAME, MODULE:NAME",
    )
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="ALGORITHM",
        help="the same, as an option; case and hyphens do not matter; may be given several times",
    )
    parser.add_argument(
        "--means", metavar="M,M,…", help="means of the arms, such as 0.9,0.8 (default: --instance)"
    )
    parser.add_argument(
        "--instance",
        help="C1, C2, C3 or C4 of SS19 (default: C1); for algorithms for heavy-tailed rewards "
        "S1, S2 or S3 of TWZW22",
    )
    parser.add_argument("--arms", metavar="K", help="number of arms of C1 to C4 (default: 5)")
    parser.add_argument(
        "--order", metavar="V", help="order v of S1 to S3: moments up to 1 + v (default: 0.5)"
    )
    parser.add_argument("--epsilon", metavar="E", help="short for --set epsilon=E")
    parser.add_argument("--horizon", default="1e6", metavar="T", help="default: 1e6")
    parser.add_argument("--runs", default="30", metavar="R", help="replicates (default: 30)")
    parser.add_argument("--seed", default="0", metavar="S", help="seed (default: 0)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="options",
        help="an argument of the algorithm, such as beta=0.01; may be given several times",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"draw it: {', '.join(ENDINGS)}")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the regret of each run")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    names = [*args.names, *args.algorithm]
    if not names:
        raise ValueError(f"algorithm is missing; allowed: {', '.join(plain_algorithms())}")
    if args.csv is not None and len(names) > 1:
        raise ValueError(f"csv={str(args.csv)!r} is for one algorithm; allowed: one at a time")
    if args.plot is not None and args.plot.suffix.lower() not in ENDINGS:
        allowed = ", ".join(ENDINGS)
        raise ValueError(f"plot={str(args.plot)!r} has another ending; allowed: {allowed}")
    algorithms = _algorithms(names, args.options, args.epsilon)
    instance = _instance(args)
    horizon = whole("horizon", args.horizon, instance.n_arms)
    n_runs, seed = whole("runs", args.runs, 1), whole("seed", args.seed, 0)
    for path in (args.csv, args.plot):
        make_folder(path)
    cases = {number: (algorithm, instance) for number, algorithm in enumerate(algorithms)}
    found = list(simulate_many(cases, horizon, n_runs, seed, jobs_of(args.jobs)).values())
    lines = [line for runs in found for line in _lines(runs)]
    show(args, lines, {"runs": [_record(runs, seed) for runs in found]})
    if args.csv is not None:
        found[0].to_csv(args.csv)
    if args.plot is not None:
        _draw(found, args.plot)
    return 0


def _algorithms(
    names: Sequence[str], options: Sequence[str], epsilon: str | None
) -> list[RegretAlgorithm]:
    """Configure the algorithms; a setting goes to those of them that have such an argument."""
    kinds = [_kind(name) for name in names]
    arguments = [_arguments(kind) for kind in kinds]
    for option in options:
        if len(names) > 1 and not any(option.partition("=")[0] in own for own in arguments):
            allowed = ", ".join(sorted(set().union(*arguments)))
            raise ValueError(
                f"set={option!r} is an argument of none of {', '.join(names)}; allowed: {allowed}"
            )
    if epsilon is not None and not any("epsilon" in own for own in arguments):
        raise ValueError(
            f"epsilon={epsilon!r} is no argument of {', '.join(names)}; allowed: without"
        )
    made = []
    for kind, own in zip(kinds, arguments, strict=True):
        if isinstance(kind, RegretAlgorithm):
            made.append(kind)
            continue
        chosen = options
        if len(names) > 1:
            chosen = [option for option in options if option.partition("=")[0] in own]
        known = {kind.__name__: kind}
        made.append(configure("algorithm", known, kind.__name__, chosen, {"epsilon": epsilon}))
    return made


def _arguments(kind: Any) -> set[str]:
    """Return the names of the arguments that are still to be given."""
    return {f.name for f in dataclasses.fields(kind)} if isinstance(kind, type) else set()


def _kind(name: str) -> type[RegretAlgorithm] | RegretAlgorithm:
    """Return what a name means: a class to be configured, or an algorithm as it is."""
    if not is_own(name):
        known = plain_algorithms()
        return known[find_name("algorithm", known, name)]
    own = load_own(name)
    if isinstance(own, RegretAlgorithm) or (
        isinstance(own, type) and issubclass(own, RegretAlgorithm) and dataclasses.is_dataclass(own)
    ):
        return own
    raise ValueError(
        f"algorithm={name} is {own!r}; allowed: a RegretAlgorithm, or a dataclass of that kind"
    )


def _instance(args: argparse.Namespace) -> Instance:
    own = {"instance": args.instance, "arms": args.arms, "order": args.order}
    if args.means is None:
        name = (args.instance or "C1").upper()
        if name in TWZW22_NAMES:
            return twzw22(name, order=number("order", args.order or "0.5"))
        name = check_choice("instance", name, (*SS19_NAMES, *TWZW22_NAMES))
        if args.order is not None:
            raise ValueError(f"order={args.order!r} is for S1 to S3; allowed: without")
        return ss19(name, whole("arms", args.arms or "5", 2))
    for given, value in own.items():
        if value is not None:
            raise ValueError(f"{given}={value!r} does not go with --means; allowed: one of them")
    means = numbers("means", args.means, "numbers in [0, 1] such as 0.9,0.8")
    return bernoulli(means, f"means {args.means}")


def _lines(runs: Runs) -> list[str]:
    low, high = runs.band(0.9)
    instance, last = runs.instance, -1
    return [
        f"{runs.algorithm!r} on {instance.name}, T = {runs.horizon}, {runs.n_runs} runs",
        f"privacy: {runs.algorithm.guarantee}",
        f"regret at T: mean {runs.mean()[last]:.6g}, "
        f"90 % of runs {low[last]:.6g} to {high[last]:.6g}",
        "pulls of each arm, mean: " + " ".join(f"{n:.6g}" for n in runs.pulls.mean(axis=0)),
    ]


def _record(runs: Runs, seed: int) -> dict[str, Any]:
    low, high = runs.band(0.9)
    algorithm: Any = runs.algorithm
    return {
        "algorithm": algorithm if dataclasses.is_dataclass(algorithm) else repr(algorithm),
        "guarantee": runs.algorithm.guarantee,
        "means": runs.instance.means,
        "horizon": runs.horizon,
        "n_runs": runs.n_runs,
        "seed": seed,
        "regret": {"mean": runs.mean()[-1], "q05": low[-1], "q95": high[-1]},
        "pulls": runs.pulls.mean(axis=0),
    }


def _draw(found: Sequence[Runs], path: Path) -> None:
    """Draw the runs; the ending of the file says in which format."""
    from matplotlib import pyplot as plt

    from dpbandits import plotting

    figure = plotting.runs_figure(found)
    if path.suffix.lower() == ".svg":
        plotting.save_vector(figure, path)
    else:
        with plt.rc_context({"pdf.fonttype": 42}):
            figure.savefig(path, dpi=200)
    plt.close(figure)
