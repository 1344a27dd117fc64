"""The command line, ``dpbandits``, and its commands ``figures``, ``reproduce`` and ``completion``.

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

import shtab
from tqdm import tqdm

from dpbandits import (
    __version__,
    chapters,
    cli_audit,
    cli_cite,
    cli_claims,
    cli_estimate,
    cli_figure,
    cli_identify,
    cli_run,
    experiments,
)
from dpbandits._arguments import jobs_of, whole
from dpbandits._validation import check_choice
from dpbandits.cache import Cache, CacheWarning
from dpbandits.cli_output import add_json, show
from dpbandits.experiments import Experiment, Finished, Results, StaleDataError
from dpbandits.experiments.workers import dask_workers

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
    parser.add_argument("--version", action="version", version=f"dpbandits {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    _add_figures(commands)
    _add_reproduce(commands)
    cli_run.add_parser(commands)
    cli_estimate.add_parser(commands)
    cli_identify.add_parsers(commands)
    cli_audit.add_parser(commands)
    cli_claims.add_parser(commands)
    cli_figure.add_parser(commands)
    cli_cite.add_parser(commands)
    chapters.add_parser(commands)
    _add_completion(commands)
    return parser


def _add_completion(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Print a script by which a shell completes commands and options.",
        epilog='examples: eval "$(dpbandits completion bash)"; '
        "dpbandits completion zsh > ~/.zfunc/_dpbandits",
    )
    parser.add_argument("shell", metavar="SHELL", help=", ".join(shtab.SUPPORTED_SHELLS))
    add_json(parser)
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    shell = check_choice("shell", args.shell, tuple(shtab.SUPPORTED_SHELLS))
    script = shtab.complete(_parser(), shell=shell)
    show(args, script, {"shell": shell, "script": script})
    return 0


# ---------------------------------------------------------------------------------- figures


def _add_figures(commands: Any) -> None:
    parser = commands.add_parser(
        "figures",
        help="list the experiments: what they show and what they cost",
        description="List the experiments, or draw them from the data in book/data.",
        epilog="examples: dpbandits figures; dpbandits figures --draw ss19-fig1",
    )
    parser.add_argument(
        "--draw", nargs="+", metavar="ID", help="draw book/figures/ID.svg; all for all of them"
    )
    add_json(parser)
    parser.set_defaults(run=_figures)


def _figures(args: argparse.Namespace) -> int:
    if args.draw:
        drawn = [_relative(_draw(experiment)) for experiment in experiments.resolve(args.draw)]
        show(args, drawn, {"drawn": drawn})
        return 0
    width = max(map(len, experiments.EXPERIMENTS))
    lines: list[str] = []
    records = []
    for name, experiment in experiments.EXPERIMENTS.items():
        cells = experiment.cells()
        n_runs = sum(cell.n_runs for cell in cells)
        cost = f"{n_runs} runs of {len(cells)} cells"
        seconds, state = _state(name)
        lines.append(f"{name:{width}}  {experiment.title}")
        lines.append(f"{'':{width}}  {experiment.source}; {cost}; {state}")
        records.append(
            {
                "id": name,
                "title": experiment.title,
                "source": experiment.source,
                "n_cells": len(cells),
                "n_runs": n_runs,
                "seconds": seconds,
                "state": state,
            }
        )
    show(args, lines, {"figures": records})
    return 0


def _state(name: str) -> tuple[float | None, str]:
    """Tell how long an experiment's data in the repository took, and describe it."""
    try:
        seconds = experiments.load(name).manifest["seconds"]
    except StaleDataError:
        try:
            seconds = experiments.read(name).manifest["seconds"]
        except StaleDataError:
            return None, "no data yet"
        return seconds, f"{seconds:.0f} s, data is stale"
    return seconds, f"{seconds:.0f} s of computing, data is current"


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
        epilog="examples: dpbandits reproduce ss19-fig1 --jobs 2; "
        "dpbandits reproduce all --preset quick --seed 1",
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
    add_json(parser)
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
    verdicts: list[dict[str, Any]] = []
    with dask_workers(args.dask, jobs):
        for cell, done in experiments.work_through(cells, seed=seed, n_jobs=jobs, cache=cache):
            finished[cell] = done
            for experiment in list(todo):
                if all(setting.cell in finished for setting in todo[experiment]):
                    results = Results(todo.pop(experiment), finished, preset, seed)
                    verdict = experiments.write(results, folder, committed, rejected)
                    if renews and (args.accept or verdict.name != "differs"):
                        _draw(experiment)
                    line = f"{experiment.id}: {verdict} [{results.seconds:.1f} s of computing]"
                    tqdm.write(line, file=sys.stderr if args.json else sys.stdout)
                    record = {"id": experiment.id, "verdict": verdict.name, "detail": str(verdict)}
                    verdicts.append({**record, "seconds": results.seconds})
    seconds = sum(done.seconds for done in finished.values())
    where = _relative(folder)
    differing = any(record["verdict"] == "differs" for record in verdicts)
    if differing and rejected is not None:
        where += f", except what differs, in {_relative(rejected)}; --accept renews it all the same"
    line = f"{len(finished)} cells, {seconds:.1f} s of computing in all; data in {where}"
    totals = {"n_cells": len(finished), "seconds": seconds, "folder": folder}
    show(args, line, {"experiments": verdicts, **totals})
    return 1 if differing else 0
