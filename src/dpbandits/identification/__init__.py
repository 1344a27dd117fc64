"""Best-arm identification: find the arm with the largest mean, with as few pulls as possible."""

import importlib
import warnings
from typing import Any

from dpbandits.divergences import (
    calibrated_minus,
    calibrated_plus,
    d_eps,
    d_minus,
    d_plus,
    kl,
    total_variation,
)
from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import Decision, IdentificationAlgorithm
from dpbandits.identification.characteristic import (
    characteristic_time,
    privacy_switches,
    sample_lower_bound,
    total_variation_time,
)
from dpbandits.identification.ctb_tt import CTBTT
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.replicates import (
    Identifications,
    Trials,
    identify,
    identify_many,
    simulate_trials,
    simulate_trials_many,
)
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.transport import calibrated_cost, transportation_cost
from dpbandits.rewards.populations import FinitePopulation, PopulationRewards, isis2
from dpbandits.rewards.sources import DrawnRewards, Rewards, TableRewards

__all__ = [
    "CTBTT",
    "DPLRE",
    "DPTT",
    "AdaPTT",
    "AdaPTTStar",
    "DPSEIdentifier",
    "Decision",
    "DrawnRewards",
    "FinitePopulation",
    "IdentificationAlgorithm",
    "Identifications",
    "PopulationRewards",
    "Rewards",
    "TableRewards",
    "TopTwo",
    "Trials",
    "characteristic_time",
    "privacy_switches",
    "sample_lower_bound",
    "total_variation_time",
    "calibrated_cost",
    "calibrated_minus",
    "calibrated_plus",
    "d_eps",
    "d_minus",
    "d_plus",
    "identify",
    "identify_many",
    "isis2",
    "kl",
    "simulate_trials",
    "simulate_trials_many",
    "total_variation",
    "transportation_cost",
]

_MOVED = frozenset(
    {
        "GroupEstimate",
        "GroupSequential",
        "GroupSequentialPlan",
        "Operating",
        "RunningTrial",
        "TrialLook",
        "estimate_difference",
        "fixed_design",
        "fixed_design_error",
        "normal_critical",
        "plan_group_sequential",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = "dpbandits.trials"
    warnings.warn(f"{__name__}.{name} is now {new}.{name}", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(new), name)
