"""The command line: ``dpbandits figures``, ``reproduce``, ``run``, ``claims`` and ``execute``.

A bad argument gives one line on stderr, which names it and says what is allowed, and exit
status 2; a failure 1; an interrupt 130.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from dpbandits import (
    chapters,
    cli_audit,
    cli_cite,
    cli_claims,
    cli_estimate,
    cli_figure,
    cli_identify,
    experiments,
)
from dpbandits._arguments import configure, jobs_of, plain_algorithms, whole
from dpbandits._validation import check_choice
from dpbandits.cache import Cache, CacheWarning
from dpbandits.experiments import Experiment, Finished, Results, StaleDataError
from dpbandits.experiments.workers import dask_workers
from dpbandits.instances import SS19_NAMES, ss19
from dpbandits.simulation import simulate

__all__ = ["main"]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the program's name; ``sys.argv[1:]`` if not given.
    """
    parser = _parser()
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with _plain_warnings():
            status: int = args.run(args)
        sys.stdout.flush()
    except ValueError as error:
        return _complain(str(error), 2)
    except KeyboardInterrupt:
        return _complain("interrupted; what was finished is kept", 130)
    except BrokenPipeError:
        # The reader has gone; nothing is left to say, at exit included.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", 1)
    return status


def _complain(message: str, status: int) -> int:
    line = " ".join(message.split())
    print(f"dpbandits: {line}", file=sys.stderr)
    return status


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings of the cache as one line each, above a progress bar."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CacheWarning)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, CacheWarning):
                tqdm.write(f"dpbandits: {message}", file=sys.stderr)
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dpbandits", description="Differentially private bandits, reproduced and checked."
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    _add_figures(commands)
    _add_reproduce(commands)
    _add_run(commands)
    cli_estimate.add_parser(commands)
    cli_identify.add_parsers(commands)
    cli_audit.add_parser(commands)
    cli_claims.add_parser(commands)
    cli_figure.add_parser(commands)
    cli_cite.add_parser(commands)
    chapters.add_parser(commands)
    return parser


# ---------------------------------------------------------------------------------- figures


def _add_figures(commands: Any) -> None:
    parser = commands.add_parser(
        "figures",
        help="list the experiments: what they show and what they cost",
        description="List the experiments, or draw them from the data in book/data.",
    )
    parser.add_argument(
        "--draw", nargs="+", metavar="ID", help="draw book/figures/ID.svg; all for all of them"
    )
    parser.set_defaults(run=_figures)


def _figures(args: argparse.Namespace) -> int:
    if args.draw:
        for experiment in experiments.resolve(args.draw):
            print(_relative(_draw(experiment)))
        return 0
    width = max(map(len, experiments.EXPERIMENTS))
    for name, experiment in experiments.EXPERIMENTS.items():
        cells = experiment.cells()
        n_runs = sum(cell.n_runs for cell in cells)
        cost = f"{n_runs} runs of {len(cells)} cells"
        print(f"{name:{width}}  {experiment.title}")
        print(f"{'':{width}}  {experiment.source}; {cost}; {_state(name)}")
    return 0


def _state(name: str) -> str:
    """Describe the data of an experiment in the repository."""
    try:
        data = experiments.load(name)
    except StaleDataError:
        try:
            data = experiments.read(name)
        except StaleDataError:
            return "no data yet"
        return f"{data.manifest['seconds']:.0f} s, data is stale"
    return f"{data.manifest['seconds']:.0f} s of computing"


def _draw(experiment: Experiment) -> Path:
    """Draw an experiment from the data in the repository and return the file."""
    from matplotlib import pyplot as plt

    from dpbandits import plotting

    folder = experiments.data_folder().parent / "figures"
    figure = plotting.draw(experiments.load(experiment.id))
    path = plotting.save_vector(figure, folder / f"{experiment.id}.svg")
    plt.close(figure)
    return path


def _check_writable(name: str, folder: Path) -> None:
    """Refuse a folder that cannot be written before minutes go into what belongs there."""
    exists = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not exists.is_dir() or not os.access(exists, os.W_OK):
        raise ValueError(f"{name}={_relative(folder)!r} cannot be written; allowed: a folder")


def _relative(path: Path) -> str:
    """Write a path as seen from the working directory."""
    return os.path.relpath(path)


# -------------------------------------------------------------------------------- reproduce


def _add_reproduce(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="compute experiments again and compare with the data in the repository",
        description=(
            "Compute experiments from nothing and write their data. Finished cells are kept in "
            "_build/cache, so that a killed run resumes. Ends, for each experiment, with "
            '"identical", "equal in law" or "differs", against book/data.'
        ),
    )
    parser.add_argument("ids", nargs="+", metavar="ID", help="experiments; all for all of them")
    parser.add_argument("--preset", default="paper", help="smoke, quick or paper (default: paper)")
    parser.add_argument("--jobs", default="1", metavar="N", help="workers; -1 for all processors")
    parser.add_argument("--seed", default="0", metavar="S", help="root seed (default: 0)")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help='a Dask scheduler, or "local" for one with N workers'
    )
    parser.add_argument("--no-cache", action="store_true", help="neither use nor keep cells")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=(
            "where the data goes (default: book/data for preset paper and seed 0, otherwise "
            "_build/data/PRESET-seedS)"
        ),
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="renew book/data also where the result differs (default: to _build/data/differs)",
    )
    parser.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    chosen = experiments.resolve(args.ids)
    preset = check_choice("preset", args.preset, tuple(experiments.PRESETS))
    jobs, seed = jobs_of(args.jobs), whole("seed", args.seed, 0)
    committed = experiments.data_folder()
    folder = args.out
    if folder is None:
        is_default = preset == "paper" and seed == 0
        beside = experiments.cache_folder().parent / "data" / f"{preset}-seed{seed}"
        folder = committed if is_default else beside
    _check_writable("out", folder)
    renews = folder.resolve() == committed.resolve()
    differs = experiments.cache_folder().parent / "data" / "differs"
    rejected = differs if renews and not args.accept else None
    cache = None if args.no_cache else Cache(experiments.cache_folder())
    todo = {experiment: experiment.settings(preset) for experiment in chosen}
    cells = [setting.cell for settings in todo.values() for setting in settings]
    finished: dict[experiments.Cell, Finished] = {}
    differing = False
    with dask_workers(args.dask, jobs):
        for cell, done in experiments.work_through(cells, seed=seed, n_jobs=jobs, cache=cache):
            finished[cell] = done
            for experiment in list(todo):
                if all(setting.cell in finished for setting in todo[experiment]):
                    results = Results(todo.pop(experiment), finished, preset, seed)
                    verdict = experiments.write(results, folder, committed, rejected)
                    differing |= verdict.name == "differs"
                    if renews and (args.accept or verdict.name != "differs"):
                        _draw(experiment)
                    line = f"{experiment.id}: {verdict} [{results.seconds:.1f} s of computing]"
                    tqdm.write(line, file=sys.stdout)
    seconds = sum(done.seconds for done in finished.values())
    where = _relative(folder)
    if differing and rejected is not None:
        where += f", except what differs, in {_relative(rejected)}; --accept renews it all the same"
    print(f"{len(finished)} cells, {seconds:.1f} s of computing in all; data in {where}")
    return 1 if differing else 0


# -------------------------------------------------------------------------------------- run


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="simulate one algorithm",
        description="Simulate one algorithm on one of SS19's instances.",
    )
    parser.add_argument("algorithm", metavar="ALGORITHM", help=", ".join(plain_algorithms()))
    parser.add_argument("--instance", default="C1", help="C1, C2, C3 or C4 (default: C1)")
    parser.add_argument("--arms", default="5", metavar="K", help="number of arms (default: 5)")
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
        help="an argument of the algorithm, such as epsilon=0.25; may be given several times",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the regret of each run")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    algorithm = configure("algorithm", plain_algorithms(), args.algorithm, args.options)
    check_choice("instance", args.instance, SS19_NAMES)
    instance = ss19(args.instance, whole("arms", args.arms, 2))
    horizon = whole("horizon", args.horizon, instance.n_arms)
    n_runs, seed, jobs = (
        whole("runs", args.runs, 1),
        whole("seed", args.seed, 0),
        jobs_of(args.jobs),
    )
    runs = simulate(algorithm, instance, horizon, n_runs, seed, jobs)
    low, high = runs.band(0.9)
    print(f"{algorithm!r} on {instance.name}, T = {horizon}, {n_runs} runs")
    print(f"regret at T: mean {runs.mean()[-1]:.6g}, 90 % of runs {low[-1]:.6g} to {high[-1]:.6g}")
    print("pulls of each arm, mean:", " ".join(f"{n:.6g}" for n in runs.pulls.mean(axis=0)))
    if args.csv is not None:
        runs.to_csv(args.csv)
    return 0
