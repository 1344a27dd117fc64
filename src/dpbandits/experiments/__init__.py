"""The published figures, and ours, as experiments that anyone can run again."""

from dpbandits.experiments.audit_cells import AuditCell, AuditLabels, AuditSetting
from dpbandits.experiments.audit_tables import AuditReplicates, AuditSummary
from dpbandits.experiments.catalogue import EXPERIMENTS, resolve
from dpbandits.experiments.compare import FALSE_ALARM, Verdict, compare
from dpbandits.experiments.estimation_cells import (
    EstimationCell,
    EstimationLabels,
    EstimationSetting,
)
from dpbandits.experiments.estimation_tables import EstimationReplicates, EstimationSummary
from dpbandits.experiments.head_settings import Place, best_in_each, learnt, means_of, without_some
from dpbandits.experiments.identification_cells import (
    IdentificationCell,
    IdentificationLabels,
    IdentificationSetting,
)
from dpbandits.experiments.identification_tables import (
    IdentificationReplicates,
    IdentificationSummary,
)
from dpbandits.experiments.ranking import Best, Estimate, Standing, best_of, standings
from dpbandits.experiments.ratios import Ratio, ratio_of_means, ratios_to
from dpbandits.experiments.regret_cells import RegretCell, RegretLabels, RegretSetting
from dpbandits.experiments.regret_tables import Curve, Replicates, curves, replicates
from dpbandits.experiments.running import Finished, Results, run, run_cells, work_through
from dpbandits.experiments.settings import PRESETS, Cell, Experiment, Preset, Setting
from dpbandits.experiments.slopes import Slope, fit_slope
from dpbandits.experiments.spot import SpotCheck, spot_check
from dpbandits.experiments.stopping_cells import StoppingCell, StoppingLabels, StoppingSetting
from dpbandits.experiments.stopping_tables import StoppingReplicates, StoppingSummary
from dpbandits.experiments.store import (
    Data,
    Row,
    StaleDataError,
    cache_folder,
    data_folder,
    experiment_of,
    load,
    read,
    results_of,
    rows_of,
)
from dpbandits.experiments.trial_cells import TrialCell, TrialLabels, TrialSetting
from dpbandits.experiments.trial_tables import TrialReplicates, TrialSummary
from dpbandits.experiments.writing import write

__all__ = [
    "EXPERIMENTS",
    "FALSE_ALARM",
    "PRESETS",
    "AuditCell",
    "AuditLabels",
    "AuditReplicates",
    "AuditSetting",
    "AuditSummary",
    "Best",
    "Cell",
    "Curve",
    "Data",
    "Estimate",
    "EstimationCell",
    "EstimationLabels",
    "EstimationReplicates",
    "EstimationSetting",
    "EstimationSummary",
    "Experiment",
    "Finished",
    "IdentificationCell",
    "IdentificationLabels",
    "IdentificationReplicates",
    "IdentificationSetting",
    "IdentificationSummary",
    "Place",
    "Preset",
    "Ratio",
    "RegretCell",
    "RegretLabels",
    "RegretSetting",
    "Replicates",
    "Results",
    "Row",
    "Setting",
    "Slope",
    "SpotCheck",
    "StaleDataError",
    "Standing",
    "StoppingCell",
    "StoppingLabels",
    "StoppingReplicates",
    "StoppingSetting",
    "StoppingSummary",
    "TrialCell",
    "TrialLabels",
    "TrialReplicates",
    "TrialSetting",
    "TrialSummary",
    "Verdict",
    "best_in_each",
    "best_of",
    "cache_folder",
    "compare",
    "curves",
    "data_folder",
    "experiment_of",
    "fit_slope",
    "learnt",
    "load",
    "means_of",
    "ratio_of_means",
    "ratios_to",
    "read",
    "replicates",
    "resolve",
    "results_of",
    "rows_of",
    "run",
    "run_cells",
    "spot_check",
    "standings",
    "work_through",
    "without_some",
    "write",
]
