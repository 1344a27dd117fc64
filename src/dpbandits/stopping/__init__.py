"""Stopping rules: estimate a mean to a relative error, with as few samples as possible."""

from dpbandits.stopping.base import Outcome, StoppingRule
from dpbandits.stopping.ebgstop import EBGStop
from dpbandits.stopping.estimates import Estimates, estimate, estimate_many
from dpbandits.stopping.halting_laws import (
    HaltingLaw,
    PrivacyLoss,
    crossing_length,
    crossing_loss,
    crossing_streams,
    halting_law,
    loss_limit,
    privacy_loss,
    sparse_vector_law,
)
from dpbandits.stopping.nas import DPNAS, NAS, DPExponentialNAS, NASFamily

__all__ = [
    "NAS",
    "DPNAS",
    "DPExponentialNAS",
    "EBGStop",
    "Estimates",
    "NASFamily",
    "Outcome",
    "StoppingRule",
    "HaltingLaw",
    "PrivacyLoss",
    "crossing_length",
    "crossing_loss",
    "crossing_streams",
    "estimate",
    "estimate_many",
    "halting_law",
    "loss_limit",
    "privacy_loss",
    "sparse_vector_law",
]
