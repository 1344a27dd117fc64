"""Best-arm identification: find the arm with the largest mean, with as few pulls as possible."""

from dpbandits.identification.adap_tt import AdaPTT, AdaPTTStar
from dpbandits.identification.base import IdentificationAlgorithm, Verdict
from dpbandits.identification.characteristic_time import (
    CharacteristicTime,
    characteristic_time,
    privacy_switches,
    sample_lower_bound,
    total_variation_time,
)
from dpbandits.identification.divergences import (
    calibrated_minus,
    calibrated_plus,
    d_eps,
    d_minus,
    d_plus,
    kl,
    total_variation,
)
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.identify import Identifications, identify, identify_replicate
from dpbandits.identification.rewards import DrawnRewards, Rewards, TableRewards
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.transport import calibrated_cost, transportation_cost

__all__ = [
    "DPLRE",
    "DPTT",
    "AdaPTT",
    "AdaPTTStar",
    "DPSEIdentifier",
    "DrawnRewards",
    "IdentificationAlgorithm",
    "Identifications",
    "Rewards",
    "TableRewards",
    "TopTwo",
    "Verdict",
    "CharacteristicTime",
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
    "identify_replicate",
    "kl",
    "total_variation",
    "transportation_cost",
]
