"""Shared code of command lines: parsing, configuration of algorithms, printing.

A command is a function: `cyclopts` derives its options from the signature. A bad argument prints
one line on stderr and returns exit status 2; a failure 1; an interrupt 130.
"""

from __future__ import annotations

import ast
import codecs
import dataclasses
import importlib
import importlib.util
import json
import math
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from dpbandits._files import check_writable
from dpbandits._validation import check_choice, check_jobs, check_number
from dpbandits.configuration import Check, whole


def read_literal(text: str) -> Any:
    """Read a number, None or a quoted word as Python does; anything else stays text."""
    try:
        return float(text) if text in ("inf", "nan") else ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def reads(check: Check, text: str) -> Parameter:
    """Return the converter of an option: read as by Python, then checked under its name."""

    def convert(_: Any, tokens: Sequence[Any]) -> Any:
        (token,) = tokens
        return check((token.keyword or "argument").lstrip("-"), read_literal(token.value))

    return Parameter(converter=convert, n_tokens=1, help=text)


def numbers(name: str, value: Any) -> tuple[float, ...]:
    """Return one number, or several separated by commas, as a tuple."""
    parts = value if isinstance(value, tuple) else (value,)
    return tuple(check_number(name, part, "numbers such as 0.9,0.8") for part in parts)


Jobs = Annotated[int, reads(check_jobs, "Workers; -1 for all processors.")]
Json = Annotated[bool, Parameter(help="Print one JSON object instead.")]
Seed = Annotated[int, reads(whole(0, 2**128 - 1), "Seed.")]
Settings = Annotated[
    list[str] | None,
    Parameter("--set", help="An argument, as NAME=VALUE: beta=0.01. May be given several times."),
]


def make_app(name: str, text: str, version: str) -> App:
    """Return a command line with the command ``completion`` alone."""
    app = App(
        name=name,
        help=text,
        version=f"{name} {version}",
        help_format="markdown",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=()),
    )

    def completion(shell: Literal["bash", "zsh", "fish"], *, json: Json = False) -> int:
        """Print a script with which a shell completes commands and options."""
        script = app.generate_completion(shell=shell)
        return show(json, script, {"shell": shell, "script": script})

    app.command(completion, help_epilogue=f'Example: eval "$({name} completion bash)"')
    return app


def carry_out(app: App, arguments: Sequence[str] | None) -> int:
    """Run the command in the arguments (None: those of the program); return the exit status."""
    name = app.name[0]

    def complain(message: str, status: int) -> int:
        line = " ".join(message.split())
        if len(line) > 600:
            line = f"{line[:300]} ... {line[-200:]}"
        print(f"{name}: {line}", file=sys.stderr)
        return status

    words = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        _spell_out(stream)
    try:
        errors: Any = {"exit_on_error": False, "print_error": False, "verbose": False}
        status = app(words or ["--help"], **errors, result_action="return_value")
        sys.stdout.flush()
    except UnusedCliTokensError as error:
        command = " ".join([name, *(error.command_chain or ())])
        words_left = " ".join(map(repr, error.unused_tokens or ()))
        return complain(
            f"{command} does not take {words_left}; allowed: the arguments in {command} --help", 2
        )
    except CycloptsError as error:
        return complain(str(error.msg or error), 2)
    except ValueError as error:
        return complain(str(error), 2)
    except MemoryError:
        return complain("memory is used up; allowed: fewer runs, or smaller arguments", 1)
    except KeyboardInterrupt as interrupt:
        return complain(str(interrupt) or "interrupted", 130)
    except BrokenPipeError:
        # The reader has closed the pipe: print nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return complain(f"{error.strerror or error}{where}", 1)
    return int(status or 0)


def show(as_json: bool, lines: str | Iterable[str], record: Mapping[str, Any]) -> int:
    """Print the lines, or the record as JSON, and return the exit status 0."""
    if as_json:
        print(json.dumps(plain(record), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        print(lines if isinstance(lines, str) else "\n".join(lines))
    return 0


def plain(value: Any) -> Any:
    """Turn configurations, arrays and paths into values for JSON.

    A number that JSON lacks is written as a word: "inf", "-inf", "nan".
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"name": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)


def make_folders(*paths: Path | None) -> None:
    """Make the folders of files that are written at the end, so that a failure is noticed early.

    New folders are reported on stderr, and paths that cannot be written are rejected.
    """
    for path in paths:
        if path is not None:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
                print(f"made the folder {path.parent}", file=sys.stderr)
            check_writable(path)


_SPELLED = {"ε": "epsilon", "δ": "delta", "α": "alpha", "×": "x", "·": "*", "≤": "<=", "≥": ">="}


def _spell_out(stream: Any) -> None:
    """Let a stream with a limited encoding, such as ASCII, spell out other characters."""

    def spell(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        wrong = error.object[error.start : error.end]
        plain = (_SPELLED.get(x) or unicodedata.normalize("NFKD", x) for x in wrong)
        return "".join(x if x.isascii() else "?" for x in plain), error.end

    codecs.register_error("spelled", spell)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="spelled")


def find_name(what: str, known: Mapping[str, Any], name: str) -> str:
    """Return the known name that matches, ignoring case, blanks and hyphens."""

    def bare(text: str) -> str:
        return "".join(character for character in text.lower() if character not in " -_")

    meant = [each for each in known if bare(each) == bare(name)]
    return meant[0] if len(meant) == 1 else check_choice(what, name, tuple(known))


def find(what: str, known: Mapping[str, Any], name: str) -> Any:
    """Return the object of a known name, or one from outside: FILE.py:NAME or MODULE:NAME."""
    where, colon, attribute = name.rpartition(":")
    if not colon:
        return known[find_name(what, known, name)]
    try:
        if where.endswith(".py"):
            module = _module_of(where)
        else:
            _import_from(Path.cwd())
            module = importlib.import_module(where)
        return getattr(module, attribute)
    except (ImportError, AttributeError, FileNotFoundError) as error:
        raise ValueError(
            f"{what}={name} is not there ({getattr(error, 'strerror', None) or error}); "
            "allowed: FILE.py:NAME or MODULE:NAME"
        ) from None


def _import_from(folder: Path) -> None:
    """Let imports find the modules of a folder first, as ``python FILE`` and ``python -m`` do.

    The change is permanent: functions may import when they are called, and workers inherit the
    path.
    """
    if not sys.flags.safe_path and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _module_of(where: str) -> ModuleType:
    """Run a file as an unregistered module, so that its functions are sent to workers by value."""
    path = Path(where).resolve()
    _import_from(path.parent)
    spec = importlib.util.spec_from_file_location(f"_own_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # required by dataclasses
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Read settings such as ``epsilon=0.25``; each may be given once."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (equals and name.isidentifier()):
            raise ValueError(f"set={setting!r} cannot be read; allowed: NAME=VALUE, as seed=1")
        if name in values:
            raise ValueError(f"{name}={text!r} is given twice; allowed: once")
        values[name] = read_literal(text)
    return values


def argument_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the arguments of a dataclass; none for an object."""
    is_class = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    return tuple(field.name for field in dataclasses.fields(kind)) if is_class else ()


def configure(
    kinds: Sequence[Any], settings: Sequence[str] | None, epsilon: str | None = None
) -> list[Any]:
    """Build algorithms from settings; each applies to all algorithms with such an argument.

    An object that is not a class is an algorithm already, and is left unchanged; `epsilon` is short
    for a setting of that name. A `ValueError` names a value that is missing, given twice or
    rejected, or an argument of none of them.
    """
    short = [] if epsilon is None else [f"epsilon={epsilon}"]
    values = read_settings([*(settings or ()), *short])
    known = dict.fromkeys(name for kind in kinds for name in argument_names(kind))
    names = " and ".join(getattr(kind, "__name__", repr(kind)) for kind in kinds)
    for name, value in values.items():
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise ValueError(f"{name}={value!r} is not an argument of {names}; allowed: {allowed}")
    return [_configured(kind, values) if isinstance(kind, type) else kind for kind in kinds]


def _configured(kind: Any, values: Mapping[str, Any]) -> Any:
    """Build one algorithm; reject words where a custom class expects int or float."""
    given = {name: values[name] for name in argument_names(kind) if name in values}
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        name, wanted = field.name, str(getattr(field.type, "__name__", field.type))
        if name not in given:
            if field.default is field.default_factory is dataclasses.MISSING:
                option = "--epsilon VALUE" if name == "epsilon" else f"--set {name}=VALUE"
                raise ValueError(f"{name} is missing; allowed: {option} for {kind.__name__}")
        elif wanted in ("int", "float") and not kind.__module__.startswith("dpbandits."):
            value = given[name]
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or (wanted == "int" and not float(value).is_integer()):
                what = "whole number" if wanted == "int" else "number"
                raise ValueError(f"{name}={value!r} is not a {what}; allowed: one")
    return kind(**given)
