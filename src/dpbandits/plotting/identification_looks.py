"""Looks of the algorithms for best-arm identification, the same in every figure."""

from __future__ import annotations

from dpbandits.plotting.style import COLOURS, DASHED, Look

__all__ = ["BOUND", "FREE", "IDENTIFIER_LOOKS", "OTHER_LOOKS", "look_of"]

BOUND = "lower bound"
FREE = ", no privacy"

_LONG, _SHORT = (0, (9, 2)), (0, (2.4, 1))
IDENTIFIER_LOOKS = {
    ("Top Two", ""): Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "D", 1.7),
    ("DP-TT", ""): Look(COLOURS["blue"], "-", "o", 1.9),
    ("DP-TT", "union"): Look(COLOURS["sky"], _SHORT, "P", 1.6),
    ("DP-TT", "W"): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("DP-TT", "W + log N"): Look(COLOURS["orange"], _LONG, "^", 1.7),
    ("DP-TT", "W̃ + log N"): Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    ("AdaP-TT", ""): Look(COLOURS["vermilion"], DASHED, "s", 1.7),
    ("AdaP-TT", "heuristic"): Look(COLOURS["orange"], _SHORT, "^", 1.5),
    ("DP-SE", ""): Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    ("DP-LRE", ""): Look(COLOURS["green"], _LONG, "X", 2.0),
}
"""Algorithm and variant → its colour, line and marker, the same in every figure."""

OTHER_LOOKS = (
    Look(COLOURS["green"], "-", "o", 1.7),
    Look(COLOURS["blue"], DASHED, "s", 1.7),
    Look(COLOURS["vermilion"], _LONG, "^", 1.7),
    Look(COLOURS["purple"], (0, (6, 1.2, 1.2, 1.2)), "v", 1.7),
    Look(COLOURS["orange"], _SHORT, "D", 1.7),
    Look(COLOURS["black"], (0, (5, 1.3, 1, 1.3)), "X", 1.7),
)
"""Looks of curves of one algorithm on different instances."""


def look_of(name: str, variant: str, place: int) -> Look:
    """Return the look of an algorithm's curve; one without a look of its own gets one by place."""
    return IDENTIFIER_LOOKS.get((name, variant), OTHER_LOOKS[place % len(OTHER_LOOKS)])
