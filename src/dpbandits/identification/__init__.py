"""Best-arm identification: find the arm with the largest mean, with as few pulls as possible."""

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
from dpbandits.identification.dp_se import DPSEIdentifier
from dpbandits.identification.dp_tt import DPTT
from dpbandits.identification.dplre import DPLRE
from dpbandits.identification.fixed_design import fixed_design, fixed_design_error
from dpbandits.identification.group_estimates import GroupEstimate, estimate_difference
from dpbandits.identification.group_plan import GroupSequentialPlan, plan_group_sequential
from dpbandits.identification.group_sequential import (
    GroupSequential,
    Operating,
    normal_critical,
)
from dpbandits.identification.replicates import (
    Identifications,
    Trials,
    identify,
    identify_many,
    simulate_trials,
    simulate_trials_many,
)
from dpbandits.identification.running_trial import RunningTrial, TrialLook
from dpbandits.identification.top_two import TopTwo
from dpbandits.identification.transport import calibrated_cost, transportation_cost
from dpbandits.rewards.populations import FinitePopulation, PopulationRewards, isis2
from dpbandits.rewards.streams import DrawnRewards, Rewards, TableRewards

__all__ = [
    "DPLRE",
    "DPTT",
    "AdaPTT",
    "AdaPTTStar",
    "DPSEIdentifier",
    "Decision",
    "DrawnRewards",
    "FinitePopulation",
    "GroupEstimate",
    "GroupSequential",
    "GroupSequentialPlan",
    "IdentificationAlgorithm",
    "Identifications",
    "TrialLook",
    "Operating",
    "PopulationRewards",
    "Rewards",
    "RunningTrial",
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
    "estimate_difference",
    "fixed_design",
    "fixed_design_error",
    "identify",
    "identify_many",
    "isis2",
    "kl",
    "normal_critical",
    "plan_group_sequential",
    "simulate_trials",
    "simulate_trials_many",
    "total_variation",
    "transportation_cost",
]
