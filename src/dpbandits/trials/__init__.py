"""Trials: design, conduct look by look, estimates of the effect, planning by simulation.

`plan` compares identification algorithms by the patients they need, `plan_regret` regret algorithms
by the recoveries they lose, `plan_group_sequential` designs a trial with few looks; `RunningTrial`
runs it on real patients, with releases at each look. `DPSPRT` looks after every patient.
"""

from dpbandits.trials.dp_sprt import DPSPRT, SPRTLaw, SPRTRun, calibrated_sprt
from dpbandits.trials.fixed_design import FixedDesign, fixed_design, fixed_design_error
from dpbandits.trials.group_estimates import GroupEstimate, estimate_difference
from dpbandits.trials.group_plan import GroupSequentialPlan, plan_group_sequential
from dpbandits.trials.group_sequential import GroupSequential, Operating, normal_critical
from dpbandits.trials.planning import Plan, TrialPlan, plan, plan_trial
from dpbandits.trials.regret_planning import RegretPlan, plan_regret
from dpbandits.trials.running_trial import RunningTrial, TrialLook

__all__ = [
    "DPSPRT",
    "FixedDesign",
    "GroupEstimate",
    "GroupSequential",
    "GroupSequentialPlan",
    "Operating",
    "Plan",
    "RegretPlan",
    "RunningTrial",
    "SPRTLaw",
    "SPRTRun",
    "TrialLook",
    "TrialPlan",
    "calibrated_sprt",
    "estimate_difference",
    "fixed_design",
    "fixed_design_error",
    "normal_critical",
    "plan",
    "plan_group_sequential",
    "plan_regret",
    "plan_trial",
]
