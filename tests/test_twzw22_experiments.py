"""The experiments on heavy tails: settings, data of the new kind, slopes, figures."""

import itertools
import json
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from scipy import stats
from statistical import FALSE_ALARM, distance_to_law, one_sample_limit

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, PRESETS, EstimationCell, fit_slope
from dpbandits.experiments.twzw22_catalogue import (
    GAP_CONFIDENCE,
    GAP_EPSILON,
    TWZW22_GRIDS,
    heavy_gap,
)
from dpbandits.heavy_estimates import MODELS, TruncatedMean, error_lower_bound, hard_law
from dpbandits.heavy_laws import ParetoLaw, TwoPointHeavyLaw
from dpbandits.heavy_schedules import heavy_epoch
from dpbandits.plotting import estimation, heavy_gaps, heavy_time
from dpbandits.plotting.regret_lines import lines_of
from dpbandits.simulation import replicate_seeds

CENTRAL = {"twzw22-fig1": "S1", "twzw22-fig3": "S2", "twzw22-fig4": "S3"}
OURS = ("ours-heavy-local-schedule", "ours-heavy-gaps", "ours-heavy-error")
IDS = ("twzw22-fig1", "twzw22-fig3", "twzw22-fig4", "twzw22-fig2", *OURS)
OVER_TIME = IDS[:4]


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(IDS, preset="smoke")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# ------------------------------------------------------------------------------- settings


def test_the_grids_are_those_of_the_presets():
    assert TWZW22_GRIDS.keys() == PRESETS.keys()
    assert [n for n in EXPERIMENTS if "twzw22" in n or "heavy" in n] == list(IDS)
    grid = TWZW22_GRIDS["paper"]
    assert (grid.horizon, grid.long_horizon) == (100_000_000, 10**10)
    assert grid.local_horizons == (10**17, 10**18)


@pytest.mark.parametrize("name", CENTRAL)
def test_central_figures(name):
    places = Counter()
    for s in EXPERIMENTS[name].settings("paper"):
        order = 0.9 if s.panel in "ac" else 0.5
        assert s.cell.instance == dpb.instances.twzw22(CENTRAL[name], order)
        assert s.instance == f"{CENTRAL[name]}, v = {order:g}"
        assert s.cell.horizon == (100_000_000 if s.panel in "ab" else 10**10)
        assert s.cell.n_runs == (20 if s.algorithm == "Robust-UCB" else 80)
        expected = {
            "Robust-UCB": dpb.RobustUCB("fixed"),
            "DPRUCB": dpb.DPRUCB(s.epsilon, width="valid"),
            "DPRSE": dpb.DPRSE(s.epsilon, schedule=s.variant) if s.algorithm == "DPRSE" else None,
        }
        assert s.cell.algorithm == expected[s.algorithm]
        places[s.panel, s.algorithm, s.variant, s.epsilon] += 1
    private = [("DPRSE", v, e) for v in ("printed", "tightened") for e in (0.5, 1.0)]
    alone = {(p, *each) for p in "abcd" for each in private}
    pulls = {(p, "DPRUCB", "", e) for p in "ab" for e in (0.5, 1.0)}
    free = {(p, "Robust-UCB", "fixed δ", math.inf) for p in "ab"}
    assert places == dict.fromkeys(alone | pulls | free, 1)


def test_local_figure():
    settings = EXPERIMENTS["twzw22-fig2"].settings("paper")
    assert len(settings) == 8
    for s in settings:
        order, horizon = {"a": (0.9, 10**17), "b": (0.5, 10**18)}[s.panel]
        assert s.cell.instance == dpb.instances.twzw22("S3", order)
        assert (s.cell.horizon, s.cell.n_runs) == (horizon, 80)
        assert s.cell.algorithm == dpb.LDPRSE(s.epsilon, schedule=s.variant)


@pytest.mark.parametrize("preset", PRESETS)
def test_gaps_are_seen_where_they_should_be(preset):
    """The threshold of epoch k is below the gap by a third, that of epoch k − 1 above it."""
    for s in EXPERIMENTS["ours-heavy-gaps"].settings(preset):
        instance, algorithm = s.cell.instance, s.cell.algorithm
        gap = float(instance.gaps.max())
        k = round(math.log2(0.75 / gap))
        assert gap == pytest.approx(heavy_gap(k))
        model = algorithm.guarantee.model if math.isfinite(s.epsilon) else "global"
        known = (GAP_CONFIDENCE, s.epsilon, instance.moment_bound, instance.order, model)
        plans = [heavy_epoch(2, t, *known) for t in range(1, k + 1)]
        assert plans[-1].threshold == pytest.approx(gap * 2 / 3, rel=1e-3)
        assert k == 1 or plans[-2].threshold == pytest.approx(gap * 4 / 3, rel=1e-3)
        needed = 2 * sum(plan.pulls for plan in plans)
        assert needed < s.cell.horizon == 2**62, "the horizon is long enough"
        assert s.epsilon in (GAP_EPSILON, math.inf)


# ---------------------------------------------------------------------------- two arms


def test_pulls_of_the_worse_arm_are_those_of_the_epochs(smoke):
    """Central runs see gap k in epoch k. To fail, means of two points must err by 6 err or more."""
    pairs = smoke.select(experiment="ours-heavy-gaps", algorithm="DPRSE", variant="two points")
    assert pairs
    for s, runs in pairs:
        instance = s.cell.instance
        k = round(math.log2(0.75 / instance.gaps.max()))
        plans = [
            heavy_epoch(2, t, GAP_CONFIDENCE, s.epsilon, 1.0, instance.order)
            for t in range(1, k + 1)
        ]
        expected = sum(plan.pulls for plan in plans)
        assert runs.pulls[:, 1].tolist() == [expected] * runs.n_runs
        assert set(map(len, runs.epoch_ends)) == {k}


def test_slopes_against_the_gap(smoke):
    _, _, by_panel = lines_of(smoke.subset("ours-heavy-gaps"))
    for lines, order in zip(by_panel, (1.0, 0.5), strict=True):
        slopes = heavy_gaps.gap_slopes(lines)
        assert list(slopes) == list(heavy_gaps.GAP_LOOKS)
        for name, (slope, theory) in slopes.items():
            assert theory == -(1 + order) / order * (2 if "local" in name else 1)
            # epochs before the last one, and log τ, make slopes of few gaps steeper; in the local
            # model one run in a hundred sees the gap an epoch too early
            assert "local" in name or theory - 0.4 < slope.slope < theory, name
    other, _, lines = lines_of(experiments.run("ss19-fig1", "smoke"))
    assert other.id == "ss19-fig1"
    with pytest.raises(ValueError, match="allowed: ours-heavy-gaps"):
        curve = SimpleNamespace(algorithm="LDPRSE", epsilon=1.0, variant="two points")
        heavy_gaps.gap_slopes([SimpleNamespace(curve=curve, cell=line.cell) for line in lines[0]])


@pytest.mark.statistical
def test_the_published_schedule_loses_the_best_arm():
    """The noise of a mean is so far above the threshold that a coin could decide."""
    instance = dpb.instances.heavy_two_point(heavy_gap(4), order=0.5)
    shares = {}
    for schedule in ("minimax", "published-remark"):
        algorithm = dpb.LDPRSE(1.0, schedule=schedule)
        runs = dpb.simulate(algorithm, instance, 10**18, 400, seed=3)
        shares[schedule] = stats.binomtest(
            int((runs.pulls[:, 0] < runs.pulls[:, 1] - 1).sum()), 400
        ).proportion_ci(1 - FALSE_ALARM, "exact")
    assert shares["minimax"].low == 0.0 and shares["minimax"].high < 0.05
    assert 0.3 < shares["published-remark"].low < 0.5 < shares["published-remark"].high


# -------------------------------------------------------------------------- estimation


@pytest.mark.statistical
@pytest.mark.parametrize("model", ["global", "local"])
def test_errors_follow_their_law(model):
    """On the hard law all is truncated: the error is −m plus the noise."""
    n, epsilon, size = 10**8, 0.5, 4000
    law, estimator = hard_law(model, n, epsilon, 0.5), TruncatedMean(model, epsilon, 0.5)
    bound = estimator.threshold(n)
    assert law.high > bound
    cell = EstimationCell(estimator, law, n, size)
    errors = cell.assemble(cell.play(replicate_seeds(cell.seed(), size)))
    scale = 2 * bound / epsilon
    laws = {
        "global": lambda b: stats.laplace(-law.mean, b / n),
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
    epsilon = math.inf if model == "none" else 0.5
    estimator = TruncatedMean(model, epsilon, order, law.moment(order))
    n, size = 10**4, 4000
    rng = np.random.default_rng(7)
    errors = np.array([estimator.error(rng, law, n) for _ in range(size)])
    squares = errors**2
    half = 7 * squares.std(ddof=1) / math.sqrt(size)  # Student's interval has far less than 1e-6
    exact = estimator.rms(law, n) ** 2
    assert abs(squares.mean() - exact) <= half
    assert abs(squares.mean() - 2 * exact) > half, "control"
    assert (np.abs(errors) > estimator.half_width(n)).mean() <= 4 * 0.05 / 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", [1.0, 0.5, 0.2])
def test_the_exact_error_has_the_minimax_slope_on_hard_laws(model, order):
    epsilon = math.inf if model == "none" else 0.5
    estimator = TruncatedMean(model, epsilon, order)
    n = [10**k for k in range(3, 11)]
    errors = [estimator.rms(hard_law(model, k, epsilon, order), k) for k in n]
    theory = estimation.error_rate(model, order)
    fit = fit_slope(n, errors)
    assert fit.slope == pytest.approx(theory, abs=2e-3) and fit.error < 1e-3
    below = [error_lower_bound(model, k, epsilon, order) for k in n]
    assert all(2 < b / a < 60 for a, b in zip(below, errors, strict=True))
    # negative control: on one fixed two-point law errors fall faster
    fixed = TwoPointHeavyLaw(2.0, 0.5 ** (1 + order))
    steep = [estimator.rms(fixed, k) for k in n]
    if model == "none" and order < 1:
        assert fit_slope(n, steep).slope < theory - 0.05


def test_thresholds():
    for order, n in itertools.product((1.0, 0.5), (100, 10**6)):
        log_term = math.log(40)
        none = TruncatedMean("none", math.inf, order, 2.0)
        assert none.threshold(n) == pytest.approx((2 * n / log_term) ** (1 / (1 + order)))
        # bias and Bernstein's deviation: (1 + √2 + 1/3)·err
        err = 2.0 * none.threshold(n) ** -order
        assert none.half_width(n) == pytest.approx((1 + math.sqrt(2) + 1 / 3) * err)
        central = TruncatedMean("global", 0.5, order, 2.0)
        assert central.threshold(n) == pytest.approx(none.threshold(n) * 0.5 ** (1 / (1 + order)))
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


def test_settings_on_errors():
    grid = TWZW22_GRIDS["paper"]
    settings = EXPERIMENTS["ours-heavy-error"].settings("paper")
    assert len(settings) == 2 * 3 * 2 * 17
    assert {s.n_rewards for s in settings} == {round(10 ** (k / 2)) for k in range(4, 21)}
    for s in settings:
        e, law = s.cell.estimator, s.cell.law
        assert e.order == s.order == {"a": 1.0, "b": 0.5}[s.panel]
        assert e.log_term == math.log(2 / 0.05)
        assert law.moment(e.order) == pytest.approx(e.moment)
        assert s.epsilon == (math.inf if s.model == "none" else 0.5)
        assert s.cell.n_runs == grid.n_errors >= 400
        if s.variant == "Pareto":
            assert law.shape == 1.05 + e.order
        else:
            assert law == hard_law(s.model, s.n_rewards, s.epsilon, e.order)
    assert "model none on 0 or" in str(settings[0].labels) and "n = 100" in str(settings[0])


def test_data_of_the_new_kind(smoke, tmp_path):
    part = smoke.subset("ours-heavy-error")
    verdict = experiments.write(part, tmp_path)
    assert verdict.name == "not compared"
    manifest = json.loads((tmp_path / "ours-heavy-error.json").read_text())
    assert (manifest["n_runs"], manifest["runs"]) == (20, "all")
    data = experiments.load("ours-heavy-error", tmp_path)
    assert experiments.write(part, tmp_path).name == "identical"
    for live, stored in zip(part.summaries(), data.summaries, strict=True):
        assert live.same_as(stored)
    for live, stored in zip(part.replicates(), data.replicates, strict=True):
        assert live.same_as(stored) and live.take([1, 0]).n_runs == 2
        assert not live.same_as(stored.take(np.arange(stored.n_runs)[1:]))
    errors = part[part.settings[0]]
    first = part.summaries()[0]
    assert first.rms == pytest.approx(math.sqrt((errors**2).mean()))
    assert first.median == pytest.approx(np.median(np.abs(errors)))
    assert first.bias == pytest.approx(errors.mean())
    assert first.rms_low95 <= first.rms <= first.rms_high95
    table = EXPERIMENTS["ours-heavy-error"].table
    assert table.about(PRESETS["paper"], EXPERIMENTS["ours-heavy-error"].settings("paper")) == {
        "n_runs": 1000,
        "runs": "the first 78 of each setting, of 1000",
    }
    check = experiments.spot_check("ours-heavy-error", folder=tmp_path)
    assert check.passed and check.kind == "bits"
    assert len(part.select(model="local", variant="Pareto", panel="a")) == 5


def test_the_committed_slopes_are_those_of_theory():
    """Of data that only a change of code can change; the chapter shows these numbers."""
    for (_, _, variant), curve in estimation.error_curves("ours-heavy-error").items():
        exact = fit_slope(
            [s.n_rewards for s in curve.summaries],
            [c.estimator.rms(c.law, c.n_rewards) for c in curve.cells],
        )
        assert curve.slope.slope == pytest.approx(exact.slope, abs=0.005)
        if variant == "two points":
            assert curve.slope.slope == pytest.approx(curve.theory, abs=0.003)
    _, _, by_panel = lines_of("ours-heavy-gaps")
    for lines in by_panel:
        for slope, theory in heavy_gaps.gap_slopes(lines).values():
            assert theory - 0.1 < slope.slope < theory
    _, _, by_panel = lines_of("ours-heavy-local-schedule")
    for line in itertools.chain(*by_panel):
        lost = heavy_gaps.lost_best_arm(line).mean()
        assert lost == 0 if line.curve.variant == "minimax" else lost >= 0.2


# ---------------------------------------------------------------------------- figures


def boxes(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    for axes in figure.axes:
        texts = [text for text in axes.texts if text.arrow_patch is not None]
        found.append([Text.get_window_extent(text, renderer) for text in texts])
    return found, figure.bbox


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("theory", [False, True])
def test_every_experiment_has_a_figure(smoke, name, theory):
    figure = plotting.draw(smoke.subset(name), theory=theory)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    panels = EXPERIMENTS[name].panels
    assert titles[: len(panels)] == [f"({panel})  {title}" for panel, title in panels.items()]
    assert to_rgb(figure.get_facecolor()) == (1, 1, 1)
    assert figure.axes[-1].get_xlabel()
    by_panel, whole = boxes(figure)
    for labels in by_panel:
        assert len(labels) >= 3
        for a, b in itertools.combinations(labels, 2):
            assert not a.overlaps(b)
        for box in labels:
            assert whole.x0 <= box.x0 < box.x1 <= whole.x1
            assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    (one,) = plotting.draw(smoke.subset(name), theory=theory, panels=["b"]).axes[:1]
    assert one.get_title(loc="left") == panels["b"]


@pytest.mark.parametrize("name", OVER_TIME)
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_curves_and_bands_over_time(smoke, name, scale):
    part = smoke.subset(name)
    figure = plotting.draw(part, scale=scale, epochs=False)
    for panel, axes in zip(EXPERIMENTS[name].panels, figure.axes, strict=True):
        pairs = part.select(panel=panel)
        lines = axes.get_lines()
        assert len(lines) == len(axes.collections) == len(pairs) == len(axes.texts)
        for (_, runs), line, band in zip(pairs, lines, axes.collections, strict=True):
            mean, quarter = runs.mean(), runs.regret.std(axis=0, ddof=1) / 4
            assert np.array_equal(line.get_ydata(), mean)
            y = band.get_paths()[0].vertices[:, 1]
            for edge in (mean - quarter, mean + quarter):
                gaps = np.abs(y[:, None] - edge[None, :]).min(axis=0)
                assert np.all(gaps <= 1e-6 * np.abs(edge) + 1e-9)
    _, whole = boxes(figure)
    for axes in figure.axes:
        assert axes.get_title(loc="left")
        assert axes.title.get_window_extent().y1 <= whole.y1
        assert axes._left_title.get_window_extent().y1 <= whole.y1
    assert len({axes.get_xlim() for axes in figure.axes[:2]}) == 1


def test_looks_can_be_told_apart_in_grey():
    def grey(look):
        r, g, b = to_rgb(look.colour)
        return 0.299 * r + 0.587 * g + 0.114 * b

    def distinct(a, b):
        marked = getattr(a, "marker", "") != getattr(b, "marker", "")
        return a.line != b.line or marked or (a.width != b.width and abs(grey(a) - grey(b)) > 0.1)

    looks = heavy_time.HEAVY_LOOKS
    for names in (("Robust-UCB", "DPRUCB", "DPRSE"), ("LDPRSE",)):
        together = [look for (name, _), each in looks.items() if name in names for look in each]
        assert all(distinct(a, b) for a, b in itertools.combinations(together, 2))
    for table in (heavy_gaps.GAP_LOOKS, heavy_gaps.SCHEDULE_LOOKS, estimation.ERROR_LOOKS):
        assert all(distinct(a, b) for a, b in itertools.combinations(table.values(), 2))
        assert len({str(look.line) for look in table.values()}) == len(table)


def test_the_figure_of_schedules(smoke):
    part = smoke.subset("ours-heavy-local-schedule")
    figure = plotting.draw(part)
    assert len(figure.axes) == 4
    _, _, by_panel = lines_of(part)
    for lines, above, below in zip(by_panel, figure.axes[:2], figure.axes[2:], strict=True):
        for schedule, i in (("minimax", 0), ("published-remark", 1)):
            chosen = [line for line in lines if line.curve.variant == schedule]
            lost = sorted(heavy_gaps.lost_best_arm(line).mean() for line in chosen)
            regret = sorted(line.runs.regret.mean() for line in chosen)
            drawn = [line for line in above.get_lines() if line.get_marker() in ("o", "s")]
            assert sorted(drawn[i].get_ydata()) == pytest.approx(lost)
            assert sorted(below.get_lines()[i].get_ydata()) == pytest.approx(regret)


def test_the_figure_of_errors(smoke):
    part = smoke.subset("ours-heavy-error")
    curves = plotting.estimation.error_curves(part)
    assert len(curves) == 12
    for (_, model, variant), curve in curves.items():
        assert (curve.model, curve.variant) == (model, variant)
        if (model, variant) == ("none", "two points"):
            assert curve.slope.slope == pytest.approx(curve.theory, abs=1e-3)
    plain, bounded = (plotting.draw(part, theory=t, panels=["a"]).axes[0] for t in (False, True))
    assert len(plain.get_lines()) == 6 and len(bounded.get_lines()) == 9
    with pytest.raises(ValueError, match="allowed: an experiment on estimation"):
        plotting.estimation.error_curves(smoke.subset("twzw22-fig2"))
    with pytest.raises(ValueError, match="scale='log' is unknown; allowed: theory, panels"):
        plotting.draw(part, scale="log")
