"""Pictures that cannot be told apart: another processor may round a pixel the other way."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

__all__ = ["LEVELS", "keep_pictures", "look_alike"]

LEVELS = 2
"""Of 255 levels of a colour, so many are no difference."""


def look_alike(first: bytes, second: bytes) -> bool:
    """Tell whether two PNGs have one size, and no pixel that differs by more than `LEVELS`."""
    from matplotlib.image import imread

    if first == second:
        return True
    a, b = (np.asarray(imread(io.BytesIO(png))) for png in (first, second))
    return a.shape == b.shape and bool((np.abs(a - b) < (LEVELS + 0.5) / 255).all())


def keep_pictures(notebook: Any, before: Any) -> None:
    """Put the pictures that a notebook had before in the place of new ones that look alike."""
    known = {cell["id"]: cell.get("outputs", []) for cell in before["cells"] if "id" in cell}
    for cell in notebook["cells"]:
        for new, old in zip(cell.get("outputs", []), known.get(cell.get("id"), []), strict=False):
            pictures = [output.get("data", {}).get("image/png") for output in (new, old)]
            if all(pictures) and look_alike(*map(base64.b64decode, pictures)):
                new["data"]["image/png"] = pictures[1]
