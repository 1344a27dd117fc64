"""Private Bandits: differentially private multi-armed bandits, reproduced and checked.

>>> import dpbandits as dpb
>>> C1 = dpb.instances.ss19("C1", n_arms=5)
>>> runs = dpb.simulate(dpb.DPSE(epsilon=0.25), C1, horizon=50_000_000, n_runs=3)
>>> runs.mean().shape == runs.times.shape
True
"""

from dpbandits import (
    bounds,
    heavy,
    identification,
    mechanisms,
    privacy,
    schedules,
    stopping,
    trials,
)
from dpbandits._engine import accelerators as _accelerators  # noqa: F401 (enters them)
from dpbandits.algorithms import *  # noqa: F403 (each algorithm, by its one line there)
from dpbandits.algorithms import (
    IdentificationAlgorithm,
    RegretAlgorithm,
    StoppingRule,
    identifiers,
    registry,
    stopping_rules,
)
from dpbandits.auditing import Audit, TablePair, audit
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.identification import (
    Identifications,
    characteristic_time,
    d_eps,
    identify,
    identify_many,
    transportation_cost,
)
from dpbandits.regret.live import LiveRun, play
from dpbandits.regret.own_index import IndexAlgorithm, compiled
from dpbandits.regret.simulation import Runs, log_checkpoints, simulate, simulate_many
from dpbandits.rewards import instances, laws
from dpbandits.stopping import Estimates, estimate, estimate_many
from dpbandits.trials import (
    DPSPRT,
    GroupSequential,
    GroupSequentialPlan,
    Plan,
    RegretPlan,
    RunningTrial,
    TrialPlan,
    plan,
    plan_group_sequential,
    plan_regret,
    plan_trial,
)

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "DPSPRT",
    "Estimates",
    "GroupSequential",
    "GroupSequentialPlan",
    "IdentificationAlgorithm",
    "Identifications",
    "IndexAlgorithm",
    "LiveRun",
    "Plan",
    "PrivacyGuarantee",
    "RegretAlgorithm",
    "RegretPlan",
    "RunningTrial",
    "Runs",
    "StoppingRule",
    "TablePair",
    "TrialPlan",
    "__version__",
    "audit",
    "bounds",
    "characteristic_time",
    "compiled",
    "d_eps",
    "estimate",
    "estimate_many",
    "heavy",
    "identification",
    "identifiers",
    "identify",
    "identify_many",
    "instances",
    "laws",
    "log_checkpoints",
    "mechanisms",
    "plan",
    "plan_group_sequential",
    "plan_regret",
    "plan_trial",
    "play",
    "privacy",
    "registry",
    "schedules",
    "simulate",
    "simulate_many",
    "stopping",
    "stopping_rules",
    "transportation_cost",
    "trials",
    # algorithms that minimise regret
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "BennettDPSE",
    "BinomialDPSE",
    "DPIMED",
    "DPKLUCB",
    "DPRSE",
    "DPRUCB",
    "DPSE",
    "DPUCB",
    "DPUCBBound",
    "DPUCBHybrid",
    "DPUCBInt",
    "ExploreThenCommit",
    "GuessAndDouble",
    "LDPRSE",
    "LDPUCB",
    "LazyDPTS",
    "PrintedAdaPKLUCB",
    "PrintedAdaPUCB",
    "RobustUCB",
    "SuccessiveElimination",
    "TunedDPSE",
    "UCB",
    # stopping rules
    "DPBernsteinStop",
    "DPExponentialNAS",
    "DPHoeffdingStop",
    "DPNAS",
    "DPPromisedStop",
    "EBGStop",
    "NAS",
    # algorithms for best-arm identification
    "AdaPTT",
    "AdaPTTStar",
    "DPLRE",
    "CTBTT",
    "DPSEIdentifier",
    "DPTT",
    "TopTwo",
]
