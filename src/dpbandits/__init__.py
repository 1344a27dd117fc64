"""Private Bandits: differentially private multi-armed bandits, reproduced and checked.

>>> import dpbandits as dpb
>>> C1 = dpb.instances.ss19("C1", n_arms=5)
>>> runs = dpb.simulate(dpb.DPSE(epsilon=0.25), C1, horizon=50_000_000, n_runs=3)
>>> runs.mean().shape == runs.times.shape
True
"""

from dpbandits import (
    bounds,
    halting,
    heavy_schedules,
    identification,
    mechanisms,
    privacy,
    schedules,
    stopping,
)
from dpbandits.algorithms import identifiers, registry, stopping_rules
from dpbandits.auditing.audit import Audit, audit
from dpbandits.auditing.tables import TablePair
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification import (
    DPLRE,
    DPTT,
    AdaPTT,
    AdaPTTStar,
    DPSEIdentifier,
    IdentificationAlgorithm,
    Identifications,
    TopTwo,
    characteristic_time,
    d_eps,
    identify,
    identify_many,
    transportation_cost,
)
from dpbandits.planning import Plan, plan
from dpbandits.regret import (
    DPIMED,
    DPKLUCB,
    DPRSE,
    DPRUCB,
    DPSE,
    DPUCB,
    LDPRSE,
    UCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    DPUCBBound,
    DPUCBHybrid,
    DPUCBInt,
    GuessAndDouble,
    LazyDPTS,
    RegretAlgorithm,
    RobustUCB,
    SuccessiveElimination,
)
from dpbandits.rewards import instances, laws
from dpbandits.simulation import Runs, log_checkpoints, simulate, simulate_many
from dpbandits.stopping import (
    DPNAS,
    NAS,
    DPExponentialNAS,
    EBGStop,
    Estimates,
    StoppingRule,
    estimate,
    estimate_many,
)
from dpbandits.trial_planning import TrialPlan, plan_trial

__version__ = "0.1.0"

__all__ = [
    "DPIMED",
    "DPKLUCB",
    "AdaPKLUCB",
    "AdaPUCB",
    "Audit",
    "audit",
    "TablePair",
    "AnytimeLazyUCB",
    "LazyDPTS",
    "DPLRE",
    "DPTT",
    "AdaPTT",
    "AdaPTTStar",
    "DPSEIdentifier",
    "IdentificationAlgorithm",
    "Identifications",
    "TopTwo",
    "Plan",
    "plan",
    "TrialPlan",
    "plan_trial",
    "characteristic_time",
    "d_eps",
    "transportation_cost",
    "identification",
    "identifiers",
    "identify",
    "identify_many",
    "DPRSE",
    "DPRUCB",
    "LDPRSE",
    "RobustUCB",
    "heavy_schedules",
    "DPNAS",
    "DPSE",
    "DPUCB",
    "NAS",
    "UCB",
    "DPExponentialNAS",
    "DPUCBBound",
    "DPUCBHybrid",
    "DPUCBInt",
    "EBGStop",
    "Estimates",
    "GuessAndDouble",
    "PrivacyGuarantee",
    "RegretAlgorithm",
    "Runs",
    "StoppingRule",
    "SuccessiveElimination",
    "__version__",
    "bounds",
    "estimate",
    "estimate_many",
    "halting",
    "instances",
    "laws",
    "log_checkpoints",
    "mechanisms",
    "privacy",
    "registry",
    "schedules",
    "simulate",
    "simulate_many",
    "stopping",
    "stopping_rules",
]
