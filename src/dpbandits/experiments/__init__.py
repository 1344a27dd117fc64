"""The published figures, and ours, as experiments that anyone can run again."""

from dpbandits.experiments.catalogue import EXPERIMENTS, resolve
from dpbandits.experiments.compare import FALSE_ALARM, Verdict, compare
from dpbandits.experiments.ratios import Ratio, ratio_of_means, ratios_to
from dpbandits.experiments.running import Finished, Results, run, run_cells, work_through
from dpbandits.experiments.settings import PRESETS, Cell, Experiment, Preset, Setting
from dpbandits.experiments.store import (
    Data,
    SpotCheck,
    StaleDataError,
    cache_folder,
    data_folder,
    load,
    read,
    spot_check,
    write,
)
from dpbandits.experiments.tables import Curve, Labels, Replicates, curves, replicates

__all__ = [
    "EXPERIMENTS",
    "FALSE_ALARM",
    "PRESETS",
    "Cell",
    "Curve",
    "Data",
    "Experiment",
    "Finished",
    "Labels",
    "Preset",
    "Ratio",
    "Replicates",
    "Results",
    "Setting",
    "SpotCheck",
    "StaleDataError",
    "Verdict",
    "cache_folder",
    "compare",
    "curves",
    "data_folder",
    "load",
    "ratio_of_means",
    "ratios_to",
    "read",
    "replicates",
    "resolve",
    "run",
    "run_cells",
    "spot_check",
    "work_through",
    "write",
]
