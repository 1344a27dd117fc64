"""Best-arm identification: find the arm with the largest mean, with as few pulls as possible."""

from dpbandits.identification.base import IdentificationAlgorithm, Verdict
from dpbandits.identification.identify import Identifications, identify, identify_replicate
from dpbandits.identification.rewards import DrawnRewards, Rewards, TableRewards

__all__ = [
    "DrawnRewards",
    "IdentificationAlgorithm",
    "Identifications",
    "Rewards",
    "TableRewards",
    "Verdict",
    "identify",
    "identify_replicate",
]
