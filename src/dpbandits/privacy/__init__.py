"""Privacy: declared guarantees, composition, exact laws and losses of the stopping rules."""

from dpbandits.privacy.accounting import (
    Bracket,
    advanced_composition,
    basic_composition,
    calibrate,
    delta_at,
    epsilon_at,
)
from dpbandits.privacy.guarantees import NO_PRIVACY, PrivacyGuarantee
from dpbandits.privacy.halting_law import HaltingLaw, halting_law, sparse_vector_law
from dpbandits.privacy.halting_loss import (
    PrivacyLoss,
    crossing_length,
    crossing_loss,
    crossing_streams,
    loss_limit,
    privacy_loss,
)

__all__ = [
    "NO_PRIVACY",
    "PrivacyGuarantee",
    "Bracket",
    "basic_composition",
    "advanced_composition",
    "delta_at",
    "epsilon_at",
    "calibrate",
    "HaltingLaw",
    "halting_law",
    "sparse_vector_law",
    "PrivacyLoss",
    "privacy_loss",
    "crossing_streams",
    "crossing_loss",
    "crossing_length",
    "loss_limit",
]
