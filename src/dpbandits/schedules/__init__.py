"""Epochs of elimination, widths for noise, grids of releases: each formula once.

The functions named ``…_kernel`` are for compiled loops: they check nothing. The others check their
arguments and call them.
"""

from dpbandits.schedules.batches import (
    MOST_PULLS,
    batch_grid,
    next_release,
    next_release_kernel,
    next_size_kernel,
)
from dpbandits.schedules.epochs import (
    EpochPlan,
    ReleasePlan,
    elimination_epoch,
    elimination_epoch_kernel,
    elimination_threshold_kernel,
    release_plan,
)
from dpbandits.schedules.noise_widths import (
    noise_bracket,
    noise_bracket_kernel,
    noise_width,
    noisy_mean_width,
    noisy_mean_width_kernel,
)

__all__ = [
    "MOST_PULLS",
    "EpochPlan",
    "ReleasePlan",
    "batch_grid",
    "elimination_epoch",
    "elimination_epoch_kernel",
    "elimination_threshold_kernel",
    "next_release",
    "next_release_kernel",
    "next_size_kernel",
    "noise_bracket",
    "noise_bracket_kernel",
    "noise_width",
    "noisy_mean_width",
    "noisy_mean_width_kernel",
    "release_plan",
]
