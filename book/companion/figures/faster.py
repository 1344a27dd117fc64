"""Shorter ways to the same bytes: matplotlib would compute these again for each figure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from matplotlib import mathtext, patches
from matplotlib import pyplot as plt

_math: Any = mathtext.MathTextParser  # private parts, so a test compares what comes of them
_connection: Any = patches.ConnectionStyle._Base
_typeset, _in_patch = _math._parse_cached, _connection._in_patch


@contextmanager
def faster() -> Iterator[None]:
    """Draw faster inside a block; no panel may have ticks above, as titles do not give way."""
    _math._parse_cached, _connection._in_patch = _typeset_once, _in_patch_once
    try:
        with plt.rc_context({"axes.titley": 1.0}):
            yield
    finally:
        _math._parse_cached, _connection._in_patch = _typeset, _in_patch


def _typeset_once(parser: Any, *formula: Any) -> Any:
    return _formula(parser._output_type, *formula)


@lru_cache(4096)
def _formula(output: str, *formula: Any) -> Any:
    """Typeset a formula; matplotlib keeps few of them, and none beyond a figure."""
    return _typeset.__wrapped__(_math({"vector": "path", "raster": "agg"}[output]), *formula)


def _in_patch_once(style: Any, patch: Any) -> Callable[[Any], bool]:
    """Return whether a point is in the patch of a label, whose path is made once for all points."""
    path = patch.get_path()
    if path.codes is not None and (path.codes == path.MOVETO).sum() > 1:
        found: Callable[[Any], bool] = _in_patch(style, patch)
        return found
    place, radius = patch.get_transform().frozen(), patch._process_radius(None)
    return lambda point: bool(path.contains_point((point[0], point[1]), place, radius))
