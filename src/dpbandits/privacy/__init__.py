"""Privacy accounting: composition of guarantees, proved brackets of ε and δ, calibration."""

from dpbandits.privacy.accounting import (
    Bracket,
    advanced_composition,
    basic_composition,
    calibrate,
    delta_at,
    epsilon_at,
)

__all__ = [
    "Bracket",
    "advanced_composition",
    "basic_composition",
    "calibrate",
    "delta_at",
    "epsilon_at",
]
