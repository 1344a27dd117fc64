"""Bounds, upper and lower, each with the constants that its proof gives."""

from dpbandits.bounds.regret import (
    dp_ucb_pulls,
    dp_ucb_regret,
    elimination_failure,
    elimination_last_epoch,
    elimination_minimax_regret,
    elimination_pulls,
    elimination_pulls_closed_form,
    elimination_pulls_printed,
    elimination_regret,
    group_privacy_factor,
    lai_robbins_rate,
    minimax_lower_bound,
    private_lower_bound_rate,
    private_minimax_lower_bound,
    ucb_regret,
)

__all__ = [
    "dp_ucb_pulls",
    "dp_ucb_regret",
    "elimination_failure",
    "elimination_last_epoch",
    "elimination_minimax_regret",
    "elimination_pulls",
    "elimination_pulls_closed_form",
    "elimination_pulls_printed",
    "elimination_regret",
    "group_privacy_factor",
    "lai_robbins_rate",
    "minimax_lower_bound",
    "private_lower_bound_rate",
    "private_minimax_lower_bound",
    "ucb_regret",
]
