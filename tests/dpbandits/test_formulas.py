"""Every public formula: NumPy's numbers give what Python's give, to the bit, or are refused alike.

`formulas` collects them from the public modules: a new one joins by one line in `EXAMPLES`, or
says in `OTHERS` why it is none.
"""

import ast
import dataclasses
import importlib
import inspect
import itertools
import pathlib
import pkgutil
import re
import types
import typing

import numpy as np
import pytest
from test_registry import CONFIGURATIONS, bandit

import dpbandits as dpb
from dpbandits import laws
from dpbandits.heavy.estimates import TruncatedMean
from dpbandits.mechanisms import (
    AdaptiveTree,
    BinaryTree,
    CountChoice,
    HybridCounter,
    KaryTree,
    LogarithmicCounter,
)
from dpbandits.stopping.halting import Halting

RUNNING = (
    *("auditing", "cli", "configuration", "plotting", "testing", "trials.planning"),
    *("identification.replicates", "identification.bayes_factor"),
    *("regret.base", "regret.elimination", "regret.binomial_elimination"),
    *("regret.bennett_elimination", "regret.simulation", "regret.tuned_elimination"),
    "regret.live",
    *("rewards.run", "rewards.sources", "stopping.estimates"),
)
"""Modules that run, draw or print: what they compute, they ask others for."""
MOVING = re.compile(r"\b(Rng|Callable|Iterable|Mapping|Rewards|Run|Tape)\b")
"""What a formula has no parameter of."""
NUMBERS = re.compile(r"\b(int|float|_SupportsArray|ndarray|ArrayLike)\b")
OTHERS = {
    **dict.fromkeys(("bounds.lazy.Frame", "mechanisms.counters.RunningCounter"), "keeps a state"),
    **dict.fromkeys(
        ("bounds.regret.check_arms", "bounds.regret.check_times", "stopping.base.check_mean"),
        "checks",
    ),
    **dict.fromkeys(
        ("rewards.heavy_instances.HeavyRewards", "rewards.populations.PopulationRewards"), "draws"
    ),
    **dict.fromkeys(
        (
            "mechanisms.first_passage.first_passage_table",
            "mechanisms.noise.laplace_tail_polynomial",
            "mechanisms.noisy_counts.tail_coefficients",
        ),
        "builds a table for kernels",
    ),
    "trials.dp_sprt": "hypotheses and outcomes of a test, which test_dp_sprt tries",
    **dict.fromkeys(
        (
            *("trials.group_sequential", "trials.group_plan"),
            *("trials.group_estimates", "trials.running_trial"),
        ),
        "counts, looks and survivals of a trial, which test_group_sequential tries",
    ),
    **dict.fromkeys(
        (
            *("regret.explore_then_commit.ExploreThenCommit", "trials.regret_planning.plan_regret"),
            "bounds.selection.selection_probabilities",
        ),
        "test_explore_then_commit and test_regret_planning try them",
    ),
    **dict.fromkeys(
        ("bounds.td16.ldp_ucb_regret", "schedules.noise_widths.noisy_mean_width"),
        "test_ldp_ucb tries them",
    ),
    **dict.fromkeys(
        (
            *("rewards.heavy_instances.HeavyTailInstance.reordered",),
            *("rewards.instances.ReplayInstance.reordered",),
            *("rewards.instances.BernoulliInstance.reordered",),
            *("rewards.instances.BoundedInstance.reordered",),
            "rewards.instances.TableInstance.reordered",
        ),
        "puts arms in another order",
    ),
    **dict.fromkeys(
        (
            *("mechanisms.counters.Counter.budget_at", "mechanisms.counters.BinaryTree.budget_at"),
            *("mechanisms.counters.HybridCounter.budget_at",),
            "mechanisms.counters.LogarithmicCounter.budget_at",
        ),
        "a counter in whole numbers asks for it at every element",
    ),
    "mechanisms.discrete.DiscreteLaplace.probability": "test_discrete compares it with draws",
    "regret.guess_and_double.GuessAndDouble.parts": "lists algorithms",
    "bounds.regret.regret_of_most_pulls": "takes what its callers have checked",
    **dict.fromkeys(
        (
            *("identification.adap_tt.AdaPTT", "identification.adap_tt.AdaPTTStar"),
            *("identification.dp_tt.DPTT.cost", "identification.dp_tt.DPTT.least_cost"),
            *("identification.dplre.DPLRE.demand", "identification.dplre.DPLRE.is_left_behind"),
            *("identification.dplre.DPLRE.plan", "identification.dplre.DPLRE.far"),
            *("identification.top_two.kl", "regret.heavy.HeavyElimination.first_decision"),
            *(
                "identification.dplre.DPLRE.noise_share",
                "identification.characteristic.adapted_share",
            ),
            *(f"regret.adap_printed.PrintedAdaP{kind}UCB.indices" for kind in ("", "KL")),
            *("regret.lazy_dp_ts.LazyDPTS.posteriors", "stopping.promised.WindowPlan"),
        ),
        "a step of the plain program",
    ),
    **dict.fromkeys(("rewards.pareto_sums",), "builds tables for kernels"),
    **dict.fromkeys(
        ("regret.heavy.HeavyElimination.plan_epoch", "rewards.populations.patients_left"),
        "asks a source of rewards",
    ),
}
"""Modules, classes and functions that are no formulas, and why."""

GAPS, MEANS, TIMES = [0, 0.25, 0.5], [0.75, 0.5, 0.25], [1, 100, 4096]
PRIVATE, HEAVY = {"epsilon": 0.5}, {"moment": 1.5, "order": 0.5}
BAI = {"delta": 0.0078125, "n_arms": 5}
PULLS = {"gap": 0.25, "n_arms": 5, "beta": 0.0625, **PRIVATE}
BOUND = {"gaps": GAPS, "horizon": 4096, "times": TIMES}
NEAR_ONE = {"gap": 0.25, "best": 0.75, "n_arms": 5}
TWO = {"horizon": 4096, "epsilon": 0.5, "beta": 0.0625, "memory": 4}
LAZY = {"means": MEANS, "horizon": 4096, "times": TIMES, "epsilon": 0.5, "eta": 1.0}
STOP = {"mean": 0.25, "alpha": 0.5, "beta": 0.0625, "epsilon": 0.5, "half_range": 2.0}
COSTS = {"mean_a": 0.75, "mean_b": 0.5, "weight_a": 20, "weight_b": 30, "epsilon": 0.5}
MEAN = {"n": 1000, "log_term": 5.0, **HEAVY, **PRIVATE}
SUM = {"counts": (3, 2), "scales": (1.0, 2.5)}
RULE, NAS, DOUBLING = (
    dpb.DPUCB(0.5),
    dpb.DPNAS(0.5, 0.5, 0.0625),
    dpb.DPExponentialNAS(1, 0.5, 0.05),
)
HALTING, ARMS = NAS.halting, dpb.instances.bernoulli([0.75, 0.5])
TREE, GROWING = BinaryTree(0.5, 10**6), AdaptiveTree(0.5, 10**6, 2.0, 0.5)
LRE = dpb.DPLRE(0.5, 0.0625)
PARETO, POINTS = dpb.instances.pareto([0.75, 0.5], 0.5).laws[0], laws.two_point(0.25)
TWO_HEAVY = dpb.instances.heavy_two_point(0.25, 0.5)
DECLARED = dpb.instances.heavy_callback(lambda arm: 1.0, 2, 0.5, 1.5)

EXAMPLES = {
    "bounds.lazy.lazy_ucb_regret": {**LAZY, "sampling": 3.0, "noise": 3.0},
    "bounds.lazy.printed_adap_ucb_regret": {
        "means": MEANS,
        "horizon": 4096,
        "epsilon": 0.5,
        "alpha": 3.5,
    },
    "bounds.lazy.adap_klucb_regret": {**LAZY, "alpha": 3.0},
    "bounds.lazy.dp_klucb_regret": {**LAZY, "slack": 2.0},
    "bounds.lazy.lazy_dp_ts_regret": {**LAZY, "alpha": 3.0},
    "bounds.lazy.dp_imed_regret": LAZY,
    "bounds.lazy.private_regret_rate": {"means": MEANS, **PRIVATE},
    "bounds.one_look.explore_then_commit_regret": {
        **{"means": MEANS, "horizon": 4096, "times": TIMES, "epsilon": 0.5, "per_arm": 7}
    },
    "bounds.one_look.best_look": {"means": MEANS, "horizon": 500, "epsilon": 0.5},
    "bounds.binomial_elimination.binomial_elimination_pulls": {**NEAR_ONE, **TWO},
    "bounds.binomial_elimination.binomial_elimination_regret": {
        **{"means": MEANS, **TWO, "times": TIMES}
    },
    "bounds.regret.worst_regret": BOUND,
    "bounds.regret.elimination_last_epoch": {"gap": 0.25},
    "bounds.regret.elimination_failure": {"beta": 0.0625},
    "bounds.regret.elimination_pulls": PULLS,
    "bounds.regret.elimination_pulls_closed_form": PULLS,
    "bounds.regret.elimination_regret": {**BOUND, **PRIVATE, "beta": 0.0625},
    "bounds.regret.elimination_minimax_regret": {"n_arms": 5, "horizon": 4096, **PRIVATE},
    "bounds.regret.dp_ucb_pulls": {"gap": [0.25, 0.5], "times": [100, 4096], "gamma": 7.5},
    "bounds.regret.dp_ucb_regret": {**BOUND, "gamma": 7.5, "noise_failure": 0.25},
    "bounds.regret.ucb_regret": BOUND,
    "bounds.regret.lai_robbins_rate": {"means": MEANS},
    "bounds.regret.group_privacy_factor": {"distance": [0.5, 1], **PRIVATE, "n": 100},
    "bounds.regret.private_lower_bound_rate": {"means": MEANS, **PRIVATE},
    "bounds.regret.minimax_lower_bound": {"n_arms": 5, "horizon": 4096},
    "bounds.regret.private_minimax_lower_bound": {"n_arms": 5, "horizon": 4096, **PRIVATE},
    "bounds.elimination.tuned_elimination_pulls": {**PULLS, "horizon": 4096},
    "bounds.elimination.tuned_elimination_regret": {**BOUND, **PRIVATE, "beta": 0.0625},
    "bounds.elimination.bennett_elimination_failure": {"n_arms": 5, "beta": 0.0625},
    "bounds.elimination.bennett_elimination_pulls": {
        **{**PULLS, "variance": 0.25, "horizon": 4096, "memory": 2}
    },
    "bounds.elimination.bennett_elimination_regret": {
        **{"means": MEANS, "variances": [0.1875, 0.25, 0.125], **TWO, "times": TIMES}
    },
    "bounds.bernstein.bernstein_failure": {"beta": 0.0625},
    "bounds.bernstein.bernstein_scale": {"law": POINTS, "alpha": 0.5, **PRIVATE},
    "bounds.bernstein.bernstein_test_samples": {
        **{"width": 0.125, "second_moment": 0.5, "test": 3, "beta": 0.0625, **PRIVATE},
        "half_range": 2.0,
    },
    "bounds.bernstein.bernstein_samples": {
        **{"law": POINTS, "alpha": 0.5, "beta": 0.0625, **PRIVATE}
    },
    "bounds.promised.promised_lower_bound": {**STOP, "promise": 0.125, "deviation": 0.0625},
    "bounds.promised.promised_minimax_lower_bound": STOP,
    "bounds.bernstein.hoeffding_stopping_samples": {
        "rule": dpb.DPHoeffdingStop(0.5, 0.5, 0.0625),
        "mean": 0.25,
    },
    "bounds.stopping.mixture_rate": {"share": 0.25, "rest": 0.75, "epsilon": 0.5},
    "bounds.stopping.loglog_bracket": {"a": 2, "b": 0.03125},
    "bounds.stopping.stopping_failure": {"beta": 0.0625},
    "bounds.stopping.stopping_samples": {"rule": DOUBLING, "mean": 0.25},
    "bounds.stopping.stopping_times_repaired": STOP,
    "bounds.stopping.stopping_constant": {"beta": 0.0625},
    "bounds.stopping.dagum_rate": {"law": POINTS, "alpha": 0.5, "beta": 0.0625},
    "bounds.stopping.stopping_lower_bound": {"law": POINTS, "alpha": 0.5, "beta": 0.0625},
    "bounds.stopping.private_stopping_lower_bound": STOP,
    "bounds.stopping.stopping_complexity_lower_bound": {
        **{"law": POINTS, "alpha": 0.5, "beta": 0.0625, "epsilon": [0.5, 1]}
    },
    "bounds.td16.dp_ucb_bound_regret": {**BOUND, "block_scale": 2.0},
    # at times far below the horizon it takes a minute
    "bounds.td16.dp_ucb_hybrid_regret": {"gaps": [0, 1], "horizon": 4096, "block_scale": 2.0},
    "bounds.td16.dp_ucb_int_regret": {**BOUND, "interval": 8, "exponent": 1.25, "noise": 0.5},
    "bounds.twzw22.heavy_elimination_pulls": {
        **{"gap": 0.25, "n_arms": 5, "beta": 0.0625, **PRIVATE, **HEAVY}
    },
    "bounds.twzw22.heavy_elimination_regret": {**BOUND, **PRIVATE, **HEAVY, "beta": 0.0625},
    "bounds.twzw22.dprucb_pulls": {"gap": 0.25, "horizon": 4096, **PRIVATE, **HEAVY},
    "bounds.twzw22.dprucb_regret": {**BOUND, **PRIVATE, **HEAVY},
    "bounds.twzw22.reconstructed_width_constant": {"horizon": 4096, "order": 0.5},
    "bounds.twzw22.robust_ucb_pulls": {"gap": [0.25, 1], "log_term": [5, 6.5], **HEAVY},
    "bounds.twzw22.robust_ucb_regret": {**BOUND, **HEAVY},
    "bounds.twzw22.local_kl_bound": {"epsilon": 0.5, "tv": 0.25},
    "bounds.twzw22.heavy_divergence": {"gap": 0.125, **PRIVATE, **HEAVY},
    "bounds.twzw22.heavy_regret_lower_bound": {
        **{"gap": 0.125, "horizon": 4096, "regret": 64, **PRIVATE, **HEAVY, "n_arms": 5}
    },
    "bounds.twzw22.heavy_minimax_lower_bound": {
        **{"horizon": 4096, "n_arms": 5, **PRIVATE, **HEAVY}
    },
    "divergences.kl": {"x": [0.5, 1], "y": 0.25},
    "divergences.total_variation": {"x": [0.5, 1], "y": 0.25},
    "divergences.d_eps": {"x": [0.75, -2], "y": 0.5, "epsilon": 0.5},
    "divergences.d_minus": {"x": [0.75, -2], "u": 0.5, "epsilon": 0.5},
    "divergences.d_plus": {"x": [0.75, -2], "u": 0.5, "epsilon": 0.5},
    "divergences.calibrated_minus": {"x": [0.75, 2], "u": 0.5, "ratio": 0.25, "epsilon": 0.5},
    "divergences.calibrated_plus": {"x": [0.25, -2], "u": 0.5, "ratio": 0.25, "epsilon": 0.5},
    "stopping.halting.Halting.private": {
        "epsilon": 0.5,
        "alpha": 0.5,
        "beta": 0.0625,
        "half_range": 2,
    },
    "stopping.halting.sampling_width": {"halting": HALTING, "n": 64, "look": 6},
    "stopping.halting.noise_allowance": {"halting": HALTING, "look": 6},
    "stopping.halting.boundary": {"halting": HALTING, "n": 64, "look": 6},
    "heavy.estimates.TruncatedMean.threshold": {"n": 100},
    "heavy.estimates.TruncatedMean.half_width": {"n": 100},
    "heavy.estimates.TruncatedMean.rms": {"law": PARETO, "n": 100},
    "heavy.estimates.hard_law": {"model": "central", "n": 100, **PRIVATE, **HEAVY},
    "heavy.estimates.error_lower_bound": {"model": "local", "n": 100, **PRIVATE, **HEAVY},
    "heavy.estimates.error_rate": {"model": "local", "order": 0.5},
    "heavy.schedules.heavy_epoch": {
        **{"n_viable": 5, "epoch": 3, "beta": 0.0625, **PRIVATE, **HEAVY}
    },
    "heavy.schedules.heavy_failure": {"beta": 0.0625},
    "heavy.schedules.tree_index": {"horizon": 4096, **PRIVATE, **HEAVY},
    "identification.characteristic.characteristic_time": {
        **{"means": MEANS, **PRIVATE, "leader_share": 0.25}
    },
    "identification.characteristic.total_variation_time": {"means": MEANS},
    "identification.characteristic.privacy_switches": {"means": MEANS},
    "identification.characteristic.sample_lower_bound": {
        **{"means": MEANS, **PRIVATE, "delta": 0.0625}
    },
    "identification.dplre.DPLRE.threshold": {"n_arms": 5},
    "identification.dplre.DPLRE.first_batch": {"n_arms": 5},
    "trials.fixed_design.fixed_design_error": {"source": ARMS, "per_arm": 20, **PRIVATE},
    "trials.fixed_design.fixed_design": {"source": ARMS, "delta": 0.25, **PRIVATE},
    "identification.thresholds.gamma_tail_point": {"log_inverse": 5.0},
    "identification.thresholds.pair_constant": {"rule": "chernoff", **BAI, "exponent": 1.25},
    "identification.thresholds.chernoff_threshold": {
        **{**BAI, "first": 10, "second": 12, "exponent": 1.25}
    },
    "identification.thresholds.union_threshold": {
        **{**BAI, "first": 10, "second": 12, "exponent": 1.25}
    },
    "identification.thresholds.mixture_threshold": {**BAI, "first": 10, "second": 12},
    "identification.thresholds.gaussian_threshold": {
        **{"kind": "theoretical", **BAI, **PRIVATE, "releases": (9, 8), "batches": (256, 128)}
    },
    "identification.thresholds.separate_threshold": {
        **{**BAI, **PRIVATE, "releases": (9, 8), "batches": (256, 128)}
    },
    "identification.transport.transportation_cost": COSTS,
    "identification.transport.calibrated_cost": {**COSTS, "ratio_a": 0.25, "ratio_b": 0.125},
    "mechanisms.counters.Counter.bounds": {"n": 12},
    "mechanisms.counters.BinaryTree.drawn": {"n": 12},
    "mechanisms.counters.BinaryTree.error_quantile": {"beta": 0.0625},
    "mechanisms.counters.BinaryTree.error_width": {"log_term": 5.0},
    "mechanisms.counters.BinaryTree.error_probability": {"threshold": 500},
    "mechanisms.counters.BinaryTree.union_error": {"threshold": 500},
    "mechanisms.counters.BinaryTree.union_width": {"log_term": 5.0},
    "mechanisms.counters.BinaryTree.quantile_width": {"log_term": 5.0},
    "mechanisms.counters.AdaptiveTree.bound": {"n": 12},
    "mechanisms.counters.AdaptiveTree.bounds": {"n": 12},
    "mechanisms.counters.AdaptiveTree.node_scale": {"n": 12},
    "mechanisms.counters.AdaptiveTree.drawn": {"n": 12},
    "mechanisms.counters.AdaptiveTree.error_factor": {"log_term": 5.0},
    "mechanisms.counters.AdaptiveTree.error_width": {"n": 12, "log_term": 5.0},
    "mechanisms.counters.AdaptiveTree.error_quantile": {"n": 12, "beta": 0.0625},
    "mechanisms.counters.LogarithmicCounter.drawn": {"n": 16},
    "mechanisms.counters.LogarithmicCounter.noise_terms": {"length": 12},
    "mechanisms.counters.HybridCounter.node_scale": {"levels": 3},
    "mechanisms.counters.HybridCounter.drawn": {"n": 12},
    "mechanisms.counters.HybridCounter.noise_terms": {"length": 12},
    "mechanisms.counters.KaryTree.digits": {"n": 12},
    "mechanisms.counters.KaryTree.drawn": {"n": 12},
    "mechanisms.counters.KaryTree.noise_terms": {"length": 12},
    "mechanisms.counters.KaryTree.union_width": {"log_term": 5.0},
    "mechanisms.counters.best_arity": {"horizon": 50},
    "mechanisms.hybrid_signs.negative_before": {"count": 50, "horizon": 4096},
    "mechanisms.noise.laplace_cdf": {"x": -2, "scale": 2.5},
    "mechanisms.noise.laplace_log_cdf": {"x": [-2, 3.5], "scale": 2.5},
    "mechanisms.noise.laplace_sum_tail": {"threshold": 7, **SUM},
    "mechanisms.noise.laplace_sum_error": {"threshold": 7, **SUM},
    "mechanisms.noise.laplace_sum_quantile": {"beta": 0.0625, **SUM},
    "mechanisms.noise.laplace_union_error": {"threshold": 7, "numbers": (3, 2)},
    "mechanisms.noise.laplace_union_width": {"log_term": 5.0, "numbers": (3, 2)},
    "mechanisms.noisy_counts.log_p_value": {
        **{"count": 60, "size": 100, "theta": 0.5, "epsilon": 0.5, "releases": 2}
    },
    "mechanisms.noisy_counts.two_p_values": {
        **{"leader": 80, "other": 60, "size": 100, "epsilon": 0.5, "log_level": -4.0},
        "releases": 2,
    },
    "privacy.basic_composition": {"losses": [0.5, 0.25, 1]},
    "privacy.advanced_composition": {"losses": [0.5, 0.25, 1], "delta": 0.0625},
    "privacy.delta_at": {"epsilon": 0.5, "losses": [0.5, 0.25, 1], "tolerance": 2.0**-20},
    "privacy.epsilon_at": {"delta": 0.0625, "losses": [0.5, 0.25, 1], "tolerance": 2.0**-20},
    "privacy.calibrate": {"epsilon": 0.5, "delta": 0.0625, "losses": [0.5, 0.25, 1]},
    "regret.dp_ucb.DPUCB.calibrated": {
        **{"epsilon": 0.5, "delta": 0.0625, "horizon": 100, "failure_power": 2.0}
    },
    "regret.dp_ucb.DPUCB.tree": {"n_arms": 5, "horizon": 4096},
    "regret.dp_ucb.DPUCB.node_scale": {"n_arms": 5, "horizon": 4096},
    "regret.dp_ucb.DPUCB.gamma": {"n_arms": 5, "horizon": 4096},
    "regret.dp_ucb_int.input_of": {"interval": 49},
    "regret.dp_ucb_int.DPUCBInt.target_input": {
        **{"epsilon": 0.5, "delta": 0.0625, "exponent": 1.25}
    },
    "regret.dp_ucb_int.DPUCBInt.calibrated": {
        **{"epsilon": 0.5, "delta": 0.0625, "horizon": 1000, "exponent": 1.25}
    },
    "regret.dp_ucb_int.DPUCBInt.first_decision": {"n_arms": 5, "horizon": 4096},
    "regret.dp_ucb_int.DPUCBInt.losses": {"horizon": 1000},
    "regret.dp_ucb_int.DPUCBInt.guarantee_at": {"horizon": 1000, "delta": 0.0625},
    "regret.dprucb.DPRUCB.plan": {"instance": TWO_HEAVY, "horizon": 4096},
    "regret.dprucb.DPRUCB.bonus": {"instance": TWO_HEAVY, "horizon": 4096},
    "guarantees.Guaranteed.guarantee_at": {"horizon": 4096},
    "regret.guess_and_double.GuessAndDouble.first_decision": {"n_arms": 5, "horizon": 4096},
    "regret.guess_and_double.GuessAndDouble.stretches": {"end": 4096},
    "rewards.heavy_laws.ParetoLaw.moment": {"order": 0.25},
    "rewards.heavy_laws.ParetoLaw.truncated_mean": {"bound": 4.0},
    "rewards.heavy_laws.ParetoLaw.truncated_variance": {"bound": 4.0},
    "rewards.heavy_laws.TwoPointHeavyLaw.moment": {"order": 0.25},
    "rewards.heavy_laws.TwoPointHeavyLaw.truncated_mean": {"bound": 4.0},
    "rewards.heavy_laws.TwoPointHeavyLaw.truncated_variance": {"bound": 4.0},
    "rewards.heavy_laws.HeavyLaw.truncated_mean": {"bound": 4.0},
    "rewards.heavy_laws.HeavyLaw.truncated_variance": {"bound": 4.0},
    "rewards.heavy_laws.SampledLaw.truncated_mean": {"bound": 4.0},
    "rewards.heavy_laws.SampledLaw.truncated_variance": {"bound": 4.0},
    "rewards.heavy_laws.moment_evidence": {"x": [0.5, 2, 1], **HEAVY},
    "rewards.heavy_instances.pareto": {"means": [0.75, 0.5], "order": 0.5, "shape": 1.75},
    "rewards.heavy_instances.twzw22": {"name": "S1", "order": 0.5},
    "rewards.heavy_instances.heavy_two_point": {
        **{"gap": 0.25, "order": 0.5, "n_arms": 3, "best": 1, "ratio": 0.25}
    },
    "rewards.instances.bernoulli": {"means": [0.75, 0.5]},
    "rewards.instances.ss19": {"name": "C1", "n_arms": 5},
    "rewards.instances.equal_gaps": {"n_arms": 5, "gap": 0.25},
    "rewards.instances.ladder": {"n_arms": 5, "gap": 0.25},
    "rewards.laws.two_point": {"mean": 0.25, "half_range": 2},
    "rewards.laws.low_variance": {"mean": 0.25, "deviation": 0.125, "half_range": 2},
    "rewards.laws.uniform": {"mean": 0.25, "half_range": 2},
    "rewards.laws.shifted_beta": {"a": 2, "b": 3.5, "half_range": 2},
    "rewards.laws.beta": {"a": 2, "b": 3.5},
    "rewards.laws.discrete": {"values": [0, 1, 2], "probabilities": [0.5, 0.25, 0.25]},
    "rewards.populations.FinitePopulation.scaled": {"factor": 3},
    "rewards.populations.FinitePopulation.only": {"arms": [0, 1]},
    "rewards.truncated_sums.truncated_sum_error": {"law": PARETO, "n": 10**6, "bound": 4.0},
    "heavy.robust_means.central_threshold": MEAN,
    "heavy.robust_means.central_width": MEAN,
    "heavy.robust_means.local_threshold": MEAN,
    "heavy.robust_means.local_width": MEAN,
    "heavy.robust_means.fitted_mean": MEAN,
    "heavy.robust_means.fitted_cut": {"order": 0.5, "linear": 2.5, "square": 4.0},
    "mechanisms.randomised_response.lie_probability": PRIVATE,
    "schedules.epochs.elimination_epoch": {"n_viable": 5, "epoch": 3, "beta": 0.0625, **PRIVATE},
    "schedules.epochs.release_plan": {"n_arms": 5, "horizon": 4096, "beta": 0.0625, **PRIVATE},
    "schedules.epochs.ReleasePlan.pulls": {"epoch": 3},
    "schedules.epochs.ReleasePlan.counted": {"epoch": 3, "memory": 2},
    "schedules.noise_widths.noise_bracket": {"length": 12},
    "schedules.noise_widths.noise_width": {"scale": 0.5, "log_time": [2, 3.5], "bracket": 2},
    "schedules.batches.next_release": {"pulls": 100, "eta": 0.5, "first": 2},
    "schedules.batches.batch_grid": {"pulls": 100, "eta": 0.5, "forgets": True},
    "stopping.halting_laws.looks_at": {"rule": DOUBLING, "n_samples": 100},
    "stopping.halting_laws.margins": {"rule": NAS, "sums": [100, 200.5]},
    "stopping.halting_laws.sparse_vector_law": {
        **{"margins": [-2, 1.5, 3], "threshold_scale": 2, "query_scale": 1.5, "first": 2}
    },
    "stopping.halting_laws.crossing_streams": {"rule": DOUBLING, "look": 5},
    "stopping.halting_laws.crossing_loss": {"rule": DOUBLING, "look": 5},
    "stopping.halting_laws.loss_limit": {"rule": DOUBLING, "look": 5},
    "stopping.nas.NASFamily.look": {"n": 100},
    "stopping.nas.NASFamily.look_time": {"look": 5},
    "stopping.nas.NASFamily.threshold": {"look": 5},
    "stopping.nas.NASFamily.noiseless_time": {"mean": 0.25},
    "stopping.nas.DPExponentialNAS.look": {"n": 64},
    "stopping.nas.DPExponentialNAS.look_time": {"look": 5},
    "stopping.bernstein.DPBernsteinStop.noiseless_time": {"mean": 0.25},
    "stopping.promised.DPPromisedStop.straddle": {"mean": 0.25},
    "mechanisms.choices.CountChoice.probability": {"count": 3},
    "stopping.hoeffding.DPHoeffdingStop.noiseless_time": {"mean": 0.25},
    "stopping.hoeffding.DPHoeffdingStop.epoch_size": {"epoch": 5},
    "stopping.hoeffding.DPHoeffdingStop.width": {"epoch": 5},
    "stopping.hoeffding.DPHoeffdingStop.time_to_width": {"width": 0.125},
}
"""Arguments of each formula: whole numbers are written as such, reals have few binary digits."""
OWNERS = {
    "guarantees.Guaranteed": RULE,
    "stopping.halting.Halting": Halting,
    "heavy.estimates.TruncatedMean": TruncatedMean("central", 0.5, 0.5, 1.5, 5.0),
    "identification.dplre.DPLRE": LRE,
    "mechanisms.counters.Counter": TREE,
    "mechanisms.counters.BinaryTree": TREE,
    "mechanisms.counters.AdaptiveTree": GROWING,
    "mechanisms.counters.LogarithmicCounter": LogarithmicCounter(0.5),
    "mechanisms.counters.HybridCounter": HybridCounter(0.5),
    "mechanisms.counters.KaryTree": KaryTree(0.5, 2**62),
    "regret.dp_ucb.DPUCB": RULE,
    "regret.dp_ucb_int.DPUCBInt": dpb.DPUCBInt(0.0625),
    "regret.dprucb.DPRUCB": dpb.DPRUCB(0.5),
    "regret.guess_and_double.GuessAndDouble": dpb.GuessAndDouble(dpb.DPSE(0.5)),
    "rewards.heavy_laws.ParetoLaw": PARETO,
    "rewards.heavy_laws.TwoPointHeavyLaw": TWO_HEAVY.laws[0],
    "rewards.heavy_laws.HeavyLaw": DECLARED.laws[0],
    "rewards.heavy_laws.SampledLaw": dpb.rewards.heavy_laws.SampledLaw(
        lambda rng, size: rng.random(size), 0.5, 0.5, 1.0
    ),
    "rewards.populations.FinitePopulation": dpb.identification.isis2(),
    "schedules.epochs.ReleasePlan": dpb.BinomialDPSE(0.5).plan(5, 4096),
    "stopping.nas.NASFamily": NAS,
    "stopping.nas.DPExponentialNAS": DOUBLING,
    "stopping.bernstein.DPBernsteinStop": dpb.DPBernsteinStop(0.5, 0.5, 0.0625),
    "stopping.hoeffding.DPHoeffdingStop": dpb.DPHoeffdingStop(0.5, 0.5, 0.0625),
    "stopping.promised.DPPromisedStop": dpb.DPPromisedStop(0.5, 0.5, 0.0625, 2.0**-10),
    "mechanisms.choices.CountChoice": CountChoice(0.5, 8, 5, 6.5),
}
"""Objects whose methods are formulas."""
MOST = {
    "rewards.heavy_instances.heavy_two_point.n_arms": 5,
    **dict.fromkeys(
        ("rewards.instances.equal_gaps.n_arms", "rewards.instances.ladder.n_arms"), 10**5
    ),
    **dict.fromkeys(
        (
            "trials.fixed_design.fixed_design_error.per_arm",
            "stopping.halting_laws.looks_at",
        ),
        30_000,
    ),
    "regret.dp_ucb_int.DPUCBInt.losses.horizon": 10**5,
    "regret.dp_ucb_int.DPUCBInt.guarantee_at.horizon": 10**5,
    "regret.dp_ucb_int.DPUCBInt.calibrated.horizon": 1000,
    **dict.fromkeys(
        (
            "bounds.elimination.bennett_elimination_pulls.horizon",
            "bounds.elimination.bennett_elimination_regret.horizon",
            "bounds.td16.dp_ucb_bound_regret.horizon",
            "bounds.td16.dp_ucb_hybrid_regret.horizon",
            "mechanisms.noisy_counts.log_p_value.size",
        ),
        10**10,
    ),
}
"""Largest sizes of arguments that are numbers of entries in memory, or take seconds beyond."""
UNCHECKED = {
    **dict.fromkeys(
        (
            "mechanisms.counters.Counter.bounds",
            "mechanisms.counters.BinaryTree.drawn",
            "mechanisms.counters.AdaptiveTree.bounds",
            "mechanisms.counters.AdaptiveTree.drawn",
            "mechanisms.counters.LogarithmicCounter.drawn",
            "mechanisms.counters.HybridCounter.drawn",
            "mechanisms.counters.KaryTree.drawn",
        ),
        "a running counter asks for it at every element",
    ),
    **dict.fromkeys(
        (
            "guarantees.Guaranteed.guarantee_at",
            "rewards.heavy_laws.HeavyLaw.truncated_mean",
            "rewards.heavy_laws.HeavyLaw.truncated_variance",
        ),
        "the number is not used",
    ),
}
"""Formulas that let any argument pass, and why."""
SLOW = {
    *("bounds.td16.dp_ucb_bound_regret", "bounds.td16.dp_ucb_hybrid_regret", "privacy.calibrate"),
    *("bounds.lazy.dp_imed_regret", "bounds.lazy.lazy_dp_ts_regret", "bounds.one_look.best_look"),
    *("identification.characteristic.characteristic_time",),
    "stopping.halting_laws.sparse_vector_law",
}
"""Of these the narrowest type that holds a number is tried, and large horizons."""
SIZES = (30_000, 10**5, 10**10, 3 * 10**15)
WHOLE = (np.int8, np.int16, np.int32, np.int64, np.uint16, np.uint64)
KINDS = (*WHOLE, np.float32, np.float64)


# ------------------------------------------------------------------------- what the formulas are
def kernels(module):
    """Return the names of a module's compiled functions, also where nothing is compiled."""
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name for f in found if any("kernel" in ast.unparse(d) for d in f.decorator_list)}


def numbers_of(function):
    """Return the names of the parameters that are numbers, or arrays of them."""
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    return {name for name, hint in hints.items() if NUMBERS.search(str(hint))}


def is_formula(function):
    """Return whether a function has numbers among its parameters, and nothing that moves."""
    parameters = inspect.signature(function).parameters.values()
    moves = any(MOVING.search(str(p.annotation)) for p in parameters)
    abstract = getattr(function, "__isabstractmethod__", False)
    return not moves and not abstract and bool(numbers_of(function))


def below(name, names):
    return any(f"{name}.".startswith(f"{each}.") for each in names)


def public_modules():
    """Return the names of the modules that have no underscore."""
    names = [m.name for m in pkgutil.walk_packages(dpb.__path__, "dpbandits.")]
    return ["dpbandits", *(name for name in sorted(names) if "._" not in name)]


def plain(value):
    """Return the function that a decorator (Numba's, a cache) has wrapped, or the value itself."""
    return inspect.unwrap(getattr(value, "py_func", value))


def public_objects(module):
    """Return the public classes and functions that a module defines, by name."""
    found = {name: plain(value) for name, value in vars(module).items() if name[0] != "_"}
    return {
        name: value
        for name, value in found.items()
        if inspect.isclass(value) or isinstance(value, types.FunctionType)
        if value.__module__ == module.__name__ and value.__name__ == name
    }


def public_members(cls):
    """Return the public methods that a class defines itself, by name."""
    own = {name: getattr(each, "__func__", each) for name, each in vars(cls).items()}
    return {name: plain(each) for name, each in own.items() if name[0] != "_"}


def formulas():
    """Return the names of all public formulas: ``module.function`` or ``module.Class.method``."""
    found = set()
    for full in public_modules():
        name = full.removeprefix("dpbandits").removeprefix(".")
        if not name or below(name, RUNNING):
            continue
        module = importlib.import_module(full)
        compiled = kernels(module)
        for public, value in public_objects(module).items():
            if inspect.isclass(value):
                for member, each in public_members(value).items():
                    if isinstance(each, types.FunctionType) and is_formula(each):
                        found.add(f"{name}.{public}.{member}")
            elif public not in compiled and is_formula(value):
                found.add(f"{name}.{public}")
    return {name for name in found if not below(name, OTHERS) and "regret_bound" not in name}


def test_every_formula_is_tried():
    assert formulas() == EXAMPLES.keys(), "a new formula needs an example, or a reason in OTHERS"
    assert not below("bounds.lazy.Framework", OTHERS) and below("bounds.lazy.Frame.pulls", OTHERS)


# ------------------------------------------------------------------------------ what they return
def result(name, arguments):
    """Return what a formula returns, in parts that can be compared."""
    *owner, last = name.split(".")
    subject = OWNERS.get(".".join(owner)) or importlib.import_module("dpbandits." + ".".join(owner))
    return parts(getattr(subject, last)(**arguments))


def numbers_in(value):
    """Return whether an argument is a number, or a row of them."""
    listed = value if type(value) in (list, tuple) else [value]
    return all(isinstance(x, int | float) and not isinstance(x, bool) for x in listed)


def called(name, arguments):
    """Return what a formula returns, or that it refuses its arguments."""
    try:
        return result(name, arguments)
    except ValueError as error:
        assert "allowed" in str(error), f"{name}: {error}"
        return "refused"


def parts(value):
    """Return types and bits of a result."""
    if isinstance(value, np.ndarray | np.generic):
        return (str(value.dtype), np.shape(value), value.tobytes())
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple | list | types.GeneratorType):
        return tuple(parts(each) for each in value)
    if dataclasses.is_dataclass(value):
        return tuple(parts(getattr(value, field.name)) for field in dataclasses.fields(value))
    assert value is None or isinstance(value, int | str), type(value)
    return (type(value).__name__, value)


def fits(kind, number):
    """Return a number as one of NumPy's, or None where it would not be the same number."""
    with np.errstate(all="ignore"):
        try:
            found = kind(number)
        except OverflowError:
            return None
    return found if found == number and int(found) == int(number) else None


def variants(value):
    """Yield what is as good as a value: NumPy's scalars, or arrays and lists of them."""
    if isinstance(value, list | tuple):
        for kind in KINDS:
            each = [fits(kind, number) for number in value]
            if None not in each:
                yield type(value)(each)
                yield np.array(each) if isinstance(value, list) else tuple(each)
    else:
        yield from (found for kind in KINDS if (found := fits(kind, value)) is not None)


def sizes_of(name, parameter, value):
    """Yield the values of a parameter that are tried: that of the example, then larger ones."""
    yield value
    if name in SLOW and parameter != "horizon":
        return
    most = min(MOST.get(name, 10**99), MOST.get(f"{name}.{parameter}", 10**99))
    for size in SIZES:
        if size <= most:
            whole = isinstance(value, list) and all(isinstance(x, int) for x in value)
            yield [*value[:-1], size] if whole else size


def wrong(name, call=called):
    """Return the arguments for which a formula does not give what it gives for Python's numbers."""
    found, answered = [], set()
    arguments = EXAMPLES[name]
    for parameter in arguments:
        value = arguments[parameter]
        if not numbers_in(value):
            continue
        for size in sizes_of(name, parameter, value):
            if isinstance(value, list | tuple) and not isinstance(size, list | tuple):
                continue
            expected = call(name, arguments | {parameter: size})
            if expected != "refused":
                answered.add(parameter)
            for variant in itertools.islice(variants(size), 1 if name in SLOW else None):
                if call(name, arguments | {parameter: variant}) != expected:
                    found.append((parameter, type(variant).__name__, variant))
        assert parameter in answered, f"{name} refuses every {parameter}"
    assert answered, name
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_of_numpy_are_as_good_as_those_of_python(name):
    assert wrong(name) == []


def refused(name, **bad):
    """Return the message with which a formula refuses an argument, or nothing."""
    try:
        result(name, EXAMPLES[name] | bad)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in UNCHECKED])
def test_what_is_no_number_is_refused_by_name(name):
    for parameter, value in EXAMPLES[name].items():
        if numbers_in(value):
            text = ("text",) * len(value) if isinstance(value, tuple) else "text"
            message = refused(name, **{parameter: text})
            assert message.startswith(parameter) and "allowed: " in message, (parameter, message)


@pytest.mark.parametrize(
    ("threshold", "bad"),
    [
        ("mixture_threshold", {"n_arms": 1}),
        ("mixture_threshold", {"first": 0}),
        ("chernoff_threshold", {"delta": -1}),
        ("chernoff_threshold", {"delta": 2}),
        ("union_threshold", {"exponent": 1.0}),
        ("gaussian_threshold", {"kind": 2}),
        ("gaussian_threshold", {"kind": "chernoff"}),
        ("gaussian_threshold", {"releases": 9}),
        ("separate_threshold", {"batches": (0, 128)}),
        ("pair_constant", {"rule": "theoretical"}),
    ],
)
def test_thresholds_refuse_what_they_are_not_for(threshold, bad):
    message = refused(f"identification.thresholds.{threshold}", **bad)
    assert message.startswith(*bad) and "allowed: " in message, message


def test_a_formula_that_overflows_is_found():
    """Control: a check whose result is thrown away."""

    def careless(name, arguments):
        with np.errstate(all="ignore"):
            return parts(arguments["length"] ** 2 * 5)

    assert {kind for _, kind, _ in wrong("schedules.noise_widths.noise_bracket", careless)} >= {
        "int16",
        "int32",
    }


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_bounds_of_all_algorithms(name):
    algorithm = CONFIGURATIONS[name][0]
    instance = bandit(algorithm)
    for horizon, kind in zip(SIZES, (np.int16, np.int32, np.int64, np.uint64), strict=True):
        expected = parts(algorithm.regret_bound(instance, horizon))
        assert parts(algorithm.regret_bound(instance, kind(horizon))) == expected
    row = parts(algorithm.regret_bound(instance, 30_000, [1, 100, 30_000]))
    for kind in (np.int16, np.int32):
        times = np.array([1, 100, 30_000], dtype=kind)
        assert parts(algorithm.regret_bound(instance, 30_000, times)) == row, kind


# --------------------------------------------------------------------------------- by the source
SOURCE = pathlib.Path(dpb.__file__).parent
CHECKS = ("number", "range", "positive", "fraction", "order", "integer", "values", "counts")


def thrown_away(tree):
    """Return the checks of numbers whose results are not used."""
    calls = [n.value for n in ast.walk(tree) if isinstance(n, ast.Expr)]
    names = [getattr(c.func, "id", "") for c in calls if isinstance(c, ast.Call)]
    return [name for name in names if name.removeprefix("check_") in CHECKS]


def draws_laplace(tree):
    """Return whether some method ``laplace`` is called: a generator's."""
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return any(isinstance(c, ast.Attribute) and c.attr == "laplace" for c in calls)


def test_what_is_checked_is_used():
    for path in SOURCE.rglob("*.py"):
        assert thrown_away(ast.parse(path.read_text(encoding="utf-8"))) == [], path
    assert thrown_away(ast.parse("check_integer('n', n, 1)")) == ["check_integer"], "control"


def test_noise_is_drawn_in_one_file():
    found = {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py")
             if draws_laplace(ast.parse(p.read_text(encoding="utf-8")))}  # fmt: skip
    assert found == {"mechanisms/noise.py"}
