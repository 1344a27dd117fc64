"""What commands print: lines for people, or with ``--json`` one object for programs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["add_json", "plain", "show"]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command the option ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def show(args: argparse.Namespace, lines: str | Iterable[str], record: Mapping[str, Any]) -> None:
    """Print the lines, or the record where ``--json`` was asked for."""
    if args.json:
        print(json.dumps(plain(record), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        print(lines if isinstance(lines, str) else "\n".join(lines))


def plain(value: Any) -> Any:
    """Turn configurations, arrays and paths into what JSON has.

    A number that JSON does not have is written as a word: "inf", "-inf", "nan".

    Examples
    --------
    >>> import dpbandits as dpb
    >>> plain({"epsilon": np.inf, "algorithm": dpb.DPSE(0.5)})
    {'epsilon': 'inf', 'algorithm': {'name': 'DPSE', 'epsilon': 0.5, 'beta': None}}
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
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    return str(value)
