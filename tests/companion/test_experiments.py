"""The experiments: privacy that is counted, errors of private means, slopes, figures."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from figure_checks import boxes_of, check_apart, grey
from figure_tables import DRAWINGS, FOUR, as_published, halved, local_runs, variants
from scipy import stats
from statistical import distance_to_law, one_sample_limit

import dpbandits as dpb
from companion.figures import baselines, heavy, rare_events
from companion.figures.redraw import recipe_of, redraw
from companion.publishing import published
from companion.slopes import fit_slope
from dpbandits.guarantees import PrivacyGuarantee
from dpbandits.heavy.estimates import (
    MODELS,
    TruncatedMean,
    error_lower_bound,
    error_rate,
    hard_law,
    mean_errors_many,
)
from dpbandits.heavy.schedules import heavy_epoch
from dpbandits.privacy import basic_composition, epsilon_at
from dpbandits.regret.dp_ucb import DPUCB_VARIANTS
from dpbandits.regret.dp_ucb_int import input_of
from dpbandits.rewards.heavy_laws import ParetoLaw, TwoPointHeavyLaw

EPSILON = 0.5
NAMES = [name for name, _ in as_published(1.0)]


def mean_errors(*case, n_runs=1000, seed=0):
    """Errors of a mean in one case (estimator, law, rewards)."""
    return mean_errors_many({None: case}, n_runs, seed)[None]


# ------------------------------------------------------------------------- honest privacy


@pytest.mark.parametrize("reading", ["refreshed", "frozen", "literal"])
@pytest.mark.parametrize("by", ["noise", "interval"])
@pytest.mark.parametrize(
    ("epsilon", "horizon", "exponent"), [(0.5, 3000, 1.3), (5.0, 400, 1.1), (1e-3, 200, 1.5)]
)
def test_calibrations_hold_and_are_the_least(reading, by, epsilon, horizon, exponent):
    a = dpb.DPUCBInt.calibrated(epsilon, 1e-4, horizon, by, reading, exponent)
    assert (a.reading, a.exponent, a.delta) == (reading, exponent, 1e-4)
    here = a.guarantee_at(horizon)
    assert here == PrivacyGuarantee("central", here.epsilon, 1e-4) and here.epsilon <= epsilon

    def spent(x, noise=1.0):
        return dpb.DPUCBInt(x, reading, exponent, 1e-4, noise).guarantee_at(horizon).epsilon

    if by == "noise":
        widest = math.ceil(1 / min(dpb.DPUCBInt.target_input(epsilon, 1e-4, exponent), 1))
        assert a.interval == min(horizon, widest)
        assert not a.losses(horizon).size or spent(a.epsilon, a.noise * (1 - 3e-5)) > epsilon
    else:
        assert a.noise == 1.0
        for f in {1, max(1, a.interval - 1), a.interval, min(a.interval + 19, horizon)}:
            assert (spent(input_of(f)) <= epsilon) == (f >= a.interval)


@pytest.mark.parametrize("variant", DPUCB_VARIANTS)
def test_calibrated_trees(variant):
    a = dpb.DPUCB.calibrated(0.5, 1e-4, 3000, variant, 4)
    assert a == dpb.DPUCB(a.epsilon, variant, 4.0) and a.epsilon > 0.5
    assert epsilon_at(1e-4, [a.epsilon / 12] * 12).upper <= 0.5
    assert epsilon_at(1e-4, [a.epsilon * (1 + 1e-5) / 12] * 12).upper > 0.5
    assert dpb.DPUCB.calibrated(0.5, 1e-4, 4095) == dpb.DPUCB(a.epsilon), "as many levels"


def test_a_wider_interval_has_no_loss_above_and_no_release_more():
    for reading in ("refreshed", "literal"):
        last = dpb.DPUCBInt(1.0, reading).losses(500)
        for f in range(2, 501):
            losses = dpb.DPUCBInt(input_of(f), reading).losses(500)
            assert losses.size <= last.size and np.all(losses <= last[: losses.size])
            last = losses
        assert basic_composition(last) == 0.0


def test_every_interval_has_an_input():
    for f in [*range(1, 20_000), *10 ** np.arange(5, 15), 2**40 + 1]:
        assert math.ceil(1 / input_of(int(f))) == f
    assert sum(math.ceil(1 / (1 / f)) != f for f in range(1, 20_000)) > 100, "control"
    # T = 49, for which ⌈1/(1/T)⌉ is T + 1: no release, and no noise beyond the paper's
    a = dpb.DPUCBInt.calibrated(1e-4, 1e-4, 49)
    assert (a.interval, a.noise, a.losses(49).size) == (49, 1.0, 0)


# -------------------------------------------------------------------------- estimation


@pytest.mark.statistical
@pytest.mark.parametrize("model", ["central", "local"])
def test_errors_follow_their_law(model):
    """On the hard law all is truncated: the error is −m plus the noise."""
    n, size = 10**8, 4000
    law, estimator = hard_law(model, n, EPSILON, 0.5), TruncatedMean(model, EPSILON, 0.5)
    bound = estimator.threshold(n)
    assert law.high > bound
    errors = mean_errors(estimator, law, n, n_runs=size).error
    scale = 2 * bound / EPSILON
    laws = {
        "central": lambda b: stats.laplace(-law.mean, b / n),
        "local": lambda b: stats.norm(-law.mean, b * math.sqrt(2 / n)),
    }
    limit = one_sample_limit(size)
    assert distance_to_law(errors, laws[model](scale)) <= limit
    assert distance_to_law(errors, laws[model](1.5 * scale)) > limit, "control"
    exact = math.sqrt(law.mean**2 + 2 * scale**2 / (n if model == "local" else n * n))
    assert estimator.rms(law, n) == pytest.approx(exact)


@pytest.mark.statistical
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", [1.0, 0.5])
def test_mean_squares_on_pareto_laws(model, order):
    law = ParetoLaw(1.05 + order, 0.2)
    epsilon = math.inf if model == "none" else EPSILON
    estimator = TruncatedMean(model, epsilon, order, law.moment(order))
    n, size = 10**4, 4000
    errors = mean_errors(estimator, law, n, n_runs=size, seed=7).error
    squares = errors**2
    half = 7 * squares.std(ddof=1) / math.sqrt(size)  # Student's interval has far less than 1e-6
    exact = estimator.rms(law, n) ** 2
    assert abs(squares.mean() - exact) <= half
    assert abs(squares.mean() - 2 * exact) > half, "control"
    assert (np.abs(errors) > estimator.half_width(n)).mean() <= 4 * 0.05 / 2


def test_a_grid_of_errors():
    cases = {
        (model, n): (TruncatedMean(model, EPSILON, 0.5), hard_law(model, n, EPSILON, 0.5), n)
        for model in ("central", "local")
        for n in (10**3, 10**5)
    }
    found = mean_errors_many(cases, {key: key[1] // 1000 for key in cases})
    assert [each.n_runs for each in found.values()] == [1, 100, 1, 100]
    for key, case in cases.items():
        assert (found[key].estimator, found[key].law, found[key].n_rewards) == case
    assert len({each.error[0] for each in found.values()}) == len(cases)
    alone = mean_errors(*case, n_runs=100)
    assert alone.error.tobytes() == found[key].error.tobytes()


def test_a_summary_of_errors():
    found = mean_errors(TruncatedMean("local", 1.0, 1.0), ParetoLaw(2.5, 0.1), 100, n_runs=50)
    summary, squares = found.summary(), found.error**2
    assert summary["rms"] == pytest.approx(math.sqrt(squares.mean()))
    assert summary["median"] == pytest.approx(np.median(np.abs(found.error)))
    assert summary["bias"] == pytest.approx(found.error.mean())
    known = stats.t.interval(0.95, 49, squares.mean(), stats.sem(squares))
    assert (summary["rms_low95"] ** 2, summary["rms_high95"] ** 2) == pytest.approx(known)
    single = mean_errors(found.estimator, found.law, 100, n_runs=1).summary()
    assert math.isnan(single["rms_low95"]) and math.isnan(single["rms_high95"])


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, "mean", "estimator='mean' must be a TruncatedMean"),
        (1, 3, "law=3 must be a law"),
        (2, 0, "n_rewards=0"),
    ],
)
def test_bad_cases_of_errors(place, wrong, message):
    case = [TruncatedMean("central", 1.0, 1.0), ParetoLaw(2.5, 0.1), 100]
    case[place] = wrong
    with pytest.raises(ValueError, match=f"case 'x': {message}"):
        mean_errors_many({"x": tuple(case)}, 2)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", [1.0, 0.5, 0.2])
def test_the_exact_error_has_the_minimax_slope_on_hard_laws(model, order):
    epsilon = math.inf if model == "none" else EPSILON
    estimator = TruncatedMean(model, epsilon, order)
    n = [10**k for k in range(3, 11)]
    errors = [estimator.rms(hard_law(model, k, epsilon, order), k) for k in n]
    theory = error_rate(model, order)
    fit = fit_slope(n, errors)
    assert fit.slope == pytest.approx(theory, abs=2e-3) and fit.error < 1e-3
    below = [error_lower_bound(model, k, epsilon, order) for k in n]
    assert all(2 < b / a < 60 for a, b in zip(below, errors, strict=True))
    if model == "none" and order < 1:  # control: on one fixed two-point law errors fall faster
        fixed = TwoPointHeavyLaw(2.0, 0.5 ** (1 + order))
        steep = fit_slope(n, [estimator.rms(fixed, k) for k in n])
        assert steep.slope < theory - 0.05


def test_a_mean_without_noise_has_the_widths_of_bias_and_bernstein():
    for order, n in itertools.product((1.0, 0.5), (100, 10**6)):
        none = TruncatedMean("none", math.inf, order, 2.0)
        assert none.threshold(n) == pytest.approx((2 * n / math.log(40)) ** (1 / (1 + order)))
        err = 2.0 * none.threshold(n) ** -order
        assert none.half_width(n) == pytest.approx((1 + math.sqrt(2) + 1 / 3) * err)
    with pytest.raises(ValueError, match="epsilon=inf does not go with model='local'"):
        TruncatedMean("local", math.inf, 0.5)


def test_fits_agree_with_scipy():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 1e6, 12)
    y = 3 * x**-0.7 * np.exp(rng.normal(0, 0.1, 12))
    fit, known = fit_slope(x, y), stats.linregress(np.log(x), np.log(y))
    assert fit[:3] == pytest.approx((known.slope, known.stderr, known.intercept))
    assert str(fit).startswith("−0.") and " ± 0." in str(fit)
    assert math.isnan(fit_slope([1, 2], [3, 4]).error)
    for bad in (([1.0, 2.0], [0.0, 1.0]), ([1.0, 1.0], [2.0, 3.0]), ([], [])):
        with pytest.raises(ValueError, match="allowed: "):
            fit_slope(*bad)


# ---------------------------------------------------------------------------- two arms


@pytest.mark.parametrize("order", [1.0, 0.5])
@pytest.mark.parametrize("epsilon", [EPSILON, math.inf])
def test_pulls_of_the_worse_arm_are_those_of_the_epochs(order, epsilon):
    """Central runs see gap k in epoch k. To fail, means of two points must err by 6 err or more."""
    for k in (1, 3, 5):
        instance = dpb.instances.heavy_two_point(halved(k), order)
        runs = dpb.simulate(dpb.DPRSE(epsilon, 1e-6), instance, 2**62, 3)
        plans = [heavy_epoch(2, t, 1e-6, epsilon, 1.0, order) for t in range(1, k + 1)]
        assert plans[-1].threshold == pytest.approx(halved(k) * 2 / 3, rel=1e-3)
        assert k == 1 or plans[-2].threshold == pytest.approx(halved(k) * 4 / 3, rel=1e-3)
        expected = sum(plan.pulls for plan in plans)
        assert runs.pulls[:, 1].tolist() == [expected] * 3
        assert set(map(len, runs.epoch_ends)) == {k}
        assert not heavy.lost_best_arm(runs).any()


def test_the_outcome_of_a_schedule():
    instance = dpb.instances.heavy_two_point(halved(4), order=0.5)
    runs = dpb.simulate(dpb.LDPRSE(1.0, schedule="remark-3"), instance, 10**18, 40)
    lost = np.mean(runs.pulls[:, 0] < runs.pulls[:, 1] - 1)
    outcome = heavy.schedule_outcome(runs)
    assert 0 < outcome["lost_low95"] < outcome["lost"] == lost < outcome["lost_high95"] < 1


# ---------------------------------------------------------------------------- figures


def distinct(looks, least):
    """Whether looks differ by line or marker, or by width and so much grey."""
    return all(
        (a.line, getattr(a, "marker", "")) != (b.line, getattr(b, "marker", ""))
        or (a.width != b.width and abs(grey(a) - grey(b)) > least)
        for a, b in itertools.combinations(looks, 2)
    )


def test_looks_can_be_told_apart_in_grey():
    variants_of = baselines.ALGORITHM_LOOKS.values()
    assert distinct([look for each in variants_of for look in each], 0.15)
    assert len({look[0].colour for look in variants_of}) == 7
    for main, *others in variants_of:
        assert all((o.colour, o.width < main.width) == (main.colour, True) for o in others)
    for names in (("Robust-UCB", "DPRUCB", "DPRSE"), ("LDPRSE",)):
        looks = [each for (name, _), each in heavy.HEAVY_LOOKS.items() if name in names]
        assert distinct(looks, 0.1)
    curves = [replace(look, marker="") for look in rare_events.MODEL_LOOKS.values()]
    assert distinct(curves, 0.1), "these are drawn without markers"
    for table in (heavy.SCHEDULE_LOOKS, heavy.ERROR_LOOKS):
        assert distinct(table.values(), 0.1)
        assert len({str(look.line) for look in table.values()}) == len(table)


def test_one_variant_of_each_has_a_band_and_with_theory_a_bound():
    for theory in (False, True):
        for axes in DRAWINGS["variants"](theory=theory).axes:
            assert (len(axes.get_lines()), len(axes.collections)) == (12 + 5 * theory, 5)
            assert {t.get_text() for t in axes.texts} == {baselines.name_of(*n) for n in NAMES}


@pytest.mark.parametrize("panels", [None, ["a", "c"]])
def test_the_figure_of_the_spread(panels):
    figure = DRAWINGS["spread"](panels=panels)
    box, whole = boxes_of(figure), figure.bbox
    assert len(figure.axes) == len(panels or FOUR)
    for place, (panel, axes) in enumerate(zip(panels or FOUR, figure.axes, strict=True)):
        finals = [each.regret[:, -1] for key, each in variants().items() if key[0] == panel]
        numbers = [text for text in axes.texts if text.get_text() != "max − min"]
        for row, (final, number) in enumerate(zip(finals, numbers, strict=True)):
            gap = number.get_text().replace("\u2009", "")
            assert int(gap) == pytest.approx(np.ptp(final), abs=0.51)
            end = axes.transData.transform([(final.max(), row)])[0]
            assert end[0] < box(number).x0, "the number is off the line"
        names = axes.get_yticklabels()
        if place % 2 == 0:  # the right column has the rows of the left one
            assert [text.get_text() for text in names] == [baselines.name_of(*n) for n in NAMES]
        for texts in (names, axes.texts, axes.get_xticklabels()):
            check_apart([box(text) for text in texts if text.get_text()], whole)
    assert figure.axes[-1].get_xlabel() == "regret at T = 5 000 (units of reward)"
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


def check_labels(figure, least):
    """Labels at the ends of curves do not overlap and lie in the figure."""
    box = boxes_of(figure)
    for axes in figure.axes:
        labels = [box(text) for text in axes.texts if text.arrow_patch is not None]
        assert len(labels) >= least
        check_apart(labels, figure.bbox)


@pytest.mark.parametrize("name", ["schedules", "errors", "heavy tails"])
def test_labels_are_apart(name):
    check_labels(DRAWINGS[name](), 3)


def test_rows_of_a_figure_have_their_own_times():
    found = published("twzw22-fig1", Path(__file__).resolve().parents[2])
    figure = found.draw()
    check_labels(figure, 4)
    assert len({axes.get_xlim() for axes in figure.axes}) == 1, "one horizon"
    shorter = found.table[found.table.panel.isin(["a", "b"]) | (found.table.time <= 10**8)]
    x = [axes.get_xlim() for axes in redraw(shorter, recipe_of(figure)).axes]
    assert x[0] == x[1] != x[2] == x[3]


def test_options_of_the_figures():
    over_time, errors = DRAWINGS["heavy tails"], DRAWINGS["errors"]
    lines = [
        len(over_time(epochs=epochs, theory=theory).axes[0].get_lines())
        for epochs, theory in itertools.product((False, True), repeat=2)
    ]
    assert lines == [4, 8, 6, 10]
    lines = [len(errors(theory=on, panels=["a"]).axes[0].get_lines()) for on in (False, True)]
    assert lines == [6, 9]


def test_the_table_of_a_curve():
    runs = next(iter(local_runs().values()))
    columns = heavy.heavy_curve(runs)
    ends = runs.epoch_ends[0]
    ends = ends[(ends >= columns["time"][0]) & (ends <= runs.horizon)]
    assert columns["time"][columns["epoch"] == 1].tolist() == ends.tolist() and ends.size
    assert np.all(columns["bound"] > columns["mean"])
    single = dpb.simulate(runs.algorithm, runs.instance, runs.horizon, 1)
    assert not heavy.heavy_curve(single)["deviation"].any()
