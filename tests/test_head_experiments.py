"""Head to head: what meets whom, at which guarantee; rankings and maps with their uncertainty."""

import itertools
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy import stats

import dpbandits as dpb
from dpbandits import experiments, plotting
from dpbandits.experiments import EXPERIMENTS, Best, Estimate, best_of, head_catalogue, standings
from dpbandits.experiments.head_tables import HeadTable
from dpbandits.plotting import head, head_map
from dpbandits.plotting.head_map import MapCell, map_figure

IDS = ("ours-head-curves", "ours-head-tail", "ours-head-map", "ours-head-bai")
NEWER = {"Lazy-UCB", "AdaP-UCB", "AdaP-KLUCB", "Lazy-DP-TS", "DP-KLUCB", "DP-IMED"}
PER_PULL = {"DP-UCB", "DP-UCB-HYBRID", "DP-UCB-BOUND"}


@pytest.fixture(scope="module")
def smoke():
    return experiments.run(IDS, preset="smoke")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# ------------------------------------------------------------------------------- settings


def test_they_are_registered_in_the_order_of_the_book():
    assert [name for name in EXPERIMENTS if name.startswith("ours-head-")] == list(IDS)
    assert head_catalogue.HEAD_GRIDS.keys() == experiments.PRESETS.keys()


@pytest.mark.parametrize("preset", experiments.PRESETS)
@pytest.mark.parametrize("name", IDS)
def test_all_have_one_guarantee(name, preset):
    """Pure ε of everything, the ε that the setting says; DP-UCB-INT alone is marked."""
    interval = set()
    for s in EXPERIMENTS[name].settings(preset):
        promise = s.cell.algorithm.guarantee
        assert s.panel in EXPERIMENTS[name].panels
        if s.variant == "(ε, δ)":
            assert s.algorithm == "DP-UCB-INT"
            interval.add((s.cell.algorithm, s.cell.horizon, s.epsilon))
            continue
        assert s.algorithm != "DP-UCB-INT"
        assert (promise.model, promise.delta, promise.unit) == ("global", 0.0, "event")
        assert promise.epsilon == s.epsilon
        assert math.isfinite(s.epsilon) or s.algorithm in ("UCB", "SE")
    for algorithm, horizon, epsilon in interval:
        assert algorithm.guarantee_at(horizon, head_catalogue.HEAD_DELTA).epsilon <= epsilon


def test_everybody_is_on_every_panel_of_the_curves():
    settings = EXPERIMENTS["ours-head-curves"].settings("paper")
    for panel in EXPERIMENTS["ours-head-curves"].panels:
        here = [s for s in settings if s.panel == panel]
        assert {s.algorithm for s in here} == (
            NEWER | PER_PULL | {"DP-SE", "DP-UCB-INT", "UCB", "SE"}
        )
        assert len({s.cell.horizon for s in here}) == 1
        assert len({s.cell.instance for s in here}) == 1


@pytest.mark.parametrize("name", IDS)
def test_no_algorithm_gains_by_the_place_of_the_best_arm(name):
    for cell in EXPERIMENTS[name].cells("paper"):
        means = cell.instance.means
        assert means.max() > means[0], "ties go to the first arm"
        same = dpb.instances.td16("ten") if means.size == 10 and 0.55 in means else None
        assert means.argmax() == means.size - 1 or means.tolist() == list(same.mean_rewards)


def test_instances_are_the_published_ones_in_reverse():
    for name in ("C1", "C2", "C3", "C4"):
        ours = head_catalogue.CURVE_INSTANCES[name].mean_rewards
        assert ours == dpb.instances.ss19(name, 5).mean_rewards[::-1]
    assert head_catalogue.CURVE_INSTANCES["two arms"].mean_rewards == (0.6, 0.9)
    assert head_catalogue.CURVE_INSTANCES["ten arms"] == dpb.instances.td16("ten")


def test_the_map_is_a_full_grid():
    grid = head_catalogue.HEAD_GRIDS["paper"]
    settings = EXPERIMENTS["ours-head-map"].settings("paper")
    per_place = {}
    for s in settings:
        gaps = np.sort(s.cell.instance.gaps)
        assert gaps[0] == 0 and np.ptp(gaps[1:]) < 1e-12
        place = s.n_arms, s.cell.horizon, s.epsilon, round(float(gaps[1]), 9)
        per_place.setdefault(place, []).append(s.algorithm)
    wanted = itertools.product((2, 10), grid.map_horizons, grid.epsilons, grid.gaps)
    assert set(per_place) == set(wanted)
    for (_, horizon, _, _), names in per_place.items():
        slow = PER_PULL if horizon <= grid.slow_until else set()
        assert sorted(names) == sorted(NEWER | {"DP-SE"} | slow)


def test_no_arms_are_tied_where_elimination_must_stop():
    for s in EXPERIMENTS["ours-head-bai"].settings("paper"):
        means = s.cell.instance.mean_rewards
        assert len(set(means)) == len(means) and min(means) > 0
    names = {s.algorithm for s in EXPERIMENTS["ours-head-bai"].settings("paper")}
    assert names == {"DP-TT", "AdaP-TT", "AdaP-TT*", "DP-SE", "DP-LRE"}


# ----------------------------------------------------------------------------------- data


@pytest.mark.parametrize("name", IDS)
def test_data_are_written_and_read(name, smoke, tmp_path):
    part = smoke.subset(name)
    assert experiments.write(part, tmp_path).name == "not compared"
    assert experiments.write(part, tmp_path).name == "identical"
    data = experiments.load(name, tmp_path)
    assert [s.labels for s in data.summaries] == [s.labels for s in part.settings]
    live, stored = experiments.means_of(part), experiments.means_of(data)
    assert live.keys() == stored.keys()
    for place, each in live.items():
        for algorithm, estimate in each.items():
            read = stored[place][algorithm]
            assert read.mean == pytest.approx(estimate.mean, rel=1e-5)
            assert read.error == pytest.approx(estimate.error, rel=1e-3, abs=1e-5 * read.mean)
    assert experiments.spot_check(name, 2, 2, folder=tmp_path).passed


def test_means_are_those_of_all_runs(smoke):
    """The files hold the first runs of a setting alone, the summaries are of all."""
    part = smoke.subset("ours-head-map")
    found = experiments.means_of(part)
    for setting, runs in part.select():
        place = experiments.Place(
            setting.panel, setting.epsilon, round(float(np.sort(setting.cell.instance.gaps)[1]), 9)
        )
        expected = Estimate.of(runs.regret[:, -1])
        estimate = found[place][setting.algorithm]
        assert estimate.mean == pytest.approx(expected.mean)
        assert estimate.error == pytest.approx(expected.error, abs=1e-9 * expected.mean)


def test_the_table_keeps_few_checkpoints_and_no_epochs(smoke):
    for name, every in (("ours-head-curves", 3), ("ours-head-map", 0)):
        part = smoke.subset(name)
        table = EXPERIMENTS[name].table
        assert isinstance(table, HeadTable) and table.every == every
        for (setting, runs), curve, group in zip(
            part.select(), part.summaries(), part.replicates(), strict=True
        ):
            assert curve.times[-1] == setting.cell.horizon
            expected = -(-runs.times.size // every) if every else 1
            assert curve.times.size == expected
            assert all(ends.size == 0 for ends in group.epoch_ends)
    few = HeadTable(max_rows=len(part.select()))
    groups = few.replicates(part.select())
    assert {group.n_runs for group in groups} == {1}
    assert few.about(experiments.PRESETS["smoke"], part.settings) == {
        "horizon": 4_000,
        "n_runs": 3,
        "runs": "the first 1 of each setting, of 3",
    }


# -------------------------------------------------------------------------------- ranking


def test_best_of_leaves_out_what_is_surely_worse():
    places = {"a": Estimate(1, 0.1, 50), "b": Estimate(1.2, 0.1, 50), "c": Estimate(5, 0.1, 50)}
    found = best_of(places)
    assert found == Best(("a", "b"), 1.2, 1.0)
    assert found.winner is None
    assert best_of({"a": places["a"], "c": places["c"]}).winner == "a"
    unknown = best_of({**places, "d": Estimate(math.nan, math.nan, 50)})
    assert unknown.names == ("a", "b")
    assert best_of({"a": Estimate(1, 0, 9), "b": Estimate(1.1, 0, 9)}).winner == "a", "no spread"
    assert best_of({"a": Estimate(1, 0, 9), "b": Estimate(1, 0, 9)}).winner is None, "tied"


@pytest.mark.parametrize("n_runs", [3, 40])
def test_the_best_is_rarely_left_out(n_runs):
    """Of three equal algorithms none is surely worse; a false winner has probability ≤ 0.05.

    400 settings: at probability 0.05 more than 45 have one with probability 1e-6.
    """
    rng = np.random.default_rng(5)
    samples = rng.normal(10, 1, (400, 3, n_runs))
    winners = [
        best_of({str(i): Estimate.of(x) for i, x in enumerate(each)}).winner for each in samples
    ]
    limit = stats.binom.isf(1e-6, 400, 0.05)
    assert sum(winner is not None for winner in winners) <= limit
    # control: without Student and Bonferroni there would be more
    naive = [abs(a - b).max() for a, b in itertools.combinations(samples.mean(axis=2).T, 2)]
    assert len(naive) == 3
    order = np.sort(samples.mean(axis=2), axis=1)
    error = np.sqrt(2 / n_runs)
    assert np.sum(order[:, 1] - order[:, 0] > 0.7 * error) > limit


def test_standings_find_known_ratios_and_ranks():
    rng = np.random.default_rng(6)
    true = {"x": 1.0, "y": 2.0, "z": 2.0, "w": 8.0}
    estimates = {
        i: {
            name: Estimate.of(10 * scale * rng.gamma(25, 1 / 25, 200))
            for name, scale in true.items()
        }
        for i in range(6)
    }
    found = {s.name: s for s in standings(estimates, rng)}
    assert (found["x"].rank_low, found["x"].rank_high) == (1, 1)
    assert (found["w"].rank_low, found["w"].rank_high) == (4, 4)
    assert {(found[name].rank_low, found[name].rank_high) for name in "yz"} == {(2, 3)}
    for name, scale in true.items():
        s = found[name]
        assert s.low <= s.ratio <= s.high and s.ratio <= s.most
        assert s.ratio == pytest.approx(scale, rel=0.05)  # 7 standard errors
    assert found["x"].best_in == 6 and found["w"].best_in == 0
    assert found["x"].ratio == 1.0


def test_a_score_is_a_geometric_mean():
    estimates = {
        1: {"x": Estimate(1.0, 0.0, 9), "y": Estimate(4.0, 0.0, 9)},
        2: {"x": Estimate(6.0, 0.0, 9), "y": Estimate(2.0, 0.0, 9)},
    }
    first, second = standings(estimates, np.random.default_rng(0))
    assert (first.name, second.name) == ("x", "y")
    assert first.ratio == pytest.approx(math.sqrt(3)) and second.ratio == pytest.approx(2.0)
    assert (first.most, second.most) == (pytest.approx(3), pytest.approx(4))
    assert (first.rank_high, second.rank_low) == (1, 2), "without errors the order is sure"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Estimate.of([1.0]), "sample=.*two or more"),
        (lambda: best_of({"a": Estimate(1, 1, 3)}), "estimates=.*two algorithms or more"),
        (
            lambda: best_of({k: Estimate(math.nan, math.nan, 3) for k in "ab"}),
            "estimates=.*one of them with a mean",
        ),
        (lambda: best_of({}, 1.5), "error=1.5"),
        (lambda: standings({}, np.random.default_rng(0)), "allowed: the same two or more"),
        *(
            (
                lambda mean=mean: standings(
                    {1: {"a": Estimate(mean, 0, 3), "b": Estimate(1, 0, 3)}},
                    np.random.default_rng(0),
                ),
                "a mean that is 0 or less, infinite or unknown; allowed: above 0 and finite",
            )
            for mean in (0, -1.0, math.inf, math.nan)
        ),
        (lambda: Estimate(1.0, 0.1, 1), "n_runs=1 is out of range; allowed: .* at least 2"),
        (lambda: Estimate(1.0, 0.1, 2.5), "n_runs=2.5 is not a whole number"),
        (lambda: Estimate(1.0, -0.1, 3), "error=-0.1 is out of range; allowed: 0 or more"),
        (lambda: Estimate(1.0, math.nan, 3), "error=nan is out of range; allowed: 0 or more"),
        (lambda: experiments.means_of("ours-stopping-mean"), "on stopping; allowed: .* regret"),
        (
            lambda: experiments.without_some(
                {"p": {"a": Estimate(1, 1, 3), "b": Estimate(1, 1, 3)}}, ["a"]
            ),
            "without=.*leaves nothing to compare",
        ),
        (
            lambda: experiments.without_some(
                {"p": {"a": Estimate(1, 1, 3), "b": Estimate(1, 1, 3)}}, ["z"]
            ),
            "without='z' is unknown; allowed: 'a', 'b'",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_learnt(smoke):
    part = smoke.subset("ours-head-map")
    told = experiments.learnt(part)
    means = experiments.means_of(part)
    for setting, _ in part.select(algorithm="DP-SE"):
        gaps = setting.cell.instance.gaps
        place = experiments.Place(setting.panel, setting.epsilon, round(float(gaps.max()), 9))
        least = min(e.mean for e in means[place].values())
        assert told[place] == (least <= 0.5 * setting.cell.horizon * gaps.mean())
    assert set(told) == set(means)
    assert {True, False} == set(told.values()), "both are there at this size"


# -------------------------------------------------------------------------------- figures


def test_looks_can_be_told_apart_without_colour():
    looks = list(head.HEAD_LOOKS.values())
    for a, b in itertools.combinations(looks, 2):
        assert (a.line, a.marker) != (b.line, b.marker)
    for name in NEWER | PER_PULL | {"DP-SE", "DP-TT", "AdaP-TT", "AdaP-TT*", "DP-LRE"}:
        assert head.CODES[name] and head_map.fill_of(name)
    assert len(set(head.CODES.values())) == len(head.CODES)


def test_curves_are_the_means_with_their_intervals(smoke):
    part = smoke.subset("ours-head-curves")
    for theory in (False, True):
        figure = plotting.draw(part, panels=["b"], theory=theory)
        (axes,) = figure.axes
        pairs = part.select(panel="b")
        finals = [line.get_ydata()[-1] for line in axes.get_lines()]
        for _, runs in pairs:
            assert runs.mean()[-1] in finals
        assert len(axes.collections) == len(pairs) == 13
        assert len(axes.get_lines()) == 13 + theory * 11
        names = {text.get_text() for text in axes.texts}
        assert {"INT, (ε, δ)", "UCB, no privacy", "DP-IMED"} <= names and len(names) == 13


def test_tails_are_shares_of_runs(smoke):
    part = smoke.subset("ours-head-tail")
    figure = plotting.draw(part)
    for axes, panel in zip(figure.axes, EXPERIMENTS["ours-head-tail"].panels, strict=True):
        pairs = part.select(panel=panel)
        assert len(axes.get_lines()) == len(pairs) == 6
        for line, (_, runs) in zip(axes.get_lines(), pairs, strict=True):
            assert np.array_equal(line.get_xdata(), np.sort(runs.regret[:, -1]))
            assert np.allclose(line.get_ydata(), [1, 2 / 3, 1 / 3])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "DP-IMED with $d_ε$"


@pytest.mark.parametrize("name", ["ours-head-map", "ours-head-bai"])
def test_maps_have_a_cell_for_each_setting(name, smoke):
    part = smoke.subset(name)
    best = experiments.best_in_each(experiments.means_of(part))
    figure = plotting.draw(part)
    assert len(figure.axes) == len(EXPERIMENTS[name].panels)
    for axes, panel in zip(figure.axes, EXPERIMENTS[name].panels, strict=True):
        here = {place: b for place, b in best.items() if place.panel == panel}
        texts = [text.get_text() for text in axes.texts]
        assert len(texts) == 2 * len(here) == 8
        for b in here.values():
            code = head.CODES[b.names[0]]
            assert any(text.startswith(code) for text in texts)
    if name == "ours-head-map":
        assert "T = 1\u2009000" not in figure.axes[0].get_title(loc="left")
        assert "$10^{3}$" in figure.axes[0].get_title(loc="left")
    (one,) = plotting.draw(part, panels=["b"]).axes
    assert len(one.texts) == 8
    for some in (["DP-IMED"], ["DP-LRE"]):
        if some[0] in {n for each in experiments.means_of(part).values() for n in each}:
            drawn = plotting.draw(part, without=some)
            shown = [text.get_text() for axes in drawn.axes for text in axes.texts]
            assert not any(head.CODES[some[0]] in text for text in shown)


def test_a_tie_is_hatched_and_what_is_not_learnt_is_grey():
    win, two = Best(("DP-IMED",), 3.0, 1.0), Best(("DP-IMED", "DP-SE"), 1.1, 1.0)
    many = Best(("DP-SE", "DP-IMED", "DP-KLUCB"), 1.0, 1.0)
    cells = [
        MapCell(0.1, 1, win, "×3.0"),
        MapCell(1.0, 1, two, "×1.1"),
        MapCell(10.0, 1, many, "×1.0"),
        MapCell(100.0, 1, win, "×3.0", faint=True),
    ]
    figure = map_figure({"a": "t"}, {"a": cells}, x_label="x", y_label="y", faint="nothing")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts[::2]] == ["IM", "IM/SE", "SE+2", "IM"]
    fills = [p for p in axes.patches if isinstance(p, Rectangle) and not p.get_hatch()]
    assert len(fills) == 4 and len(axes.patches) == 6, "two are hatched"
    colours = [p.get_facecolor()[:3] for p in fills]
    assert colours[0] == colours[1] == head_map.fill_of("DP-IMED")
    assert colours[3] == to_rgb("0.93") != colours[0]
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["SE  DP-SE", "IM  DP-IMED", "undecided", "nothing"]


def test_an_algorithm_without_a_look_is_drawn():
    best = Best(("Own idea", "DP-SE"), 1.1, 1.0)
    cells = {"a": [MapCell(0.1, 1, best, "×1.1")]}
    figure = map_figure({"a": "t"}, cells, x_label="x", y_label="y")
    assert figure.axes[0].texts[0].get_text() == "Ow/SE"
    assert figure.legends[0].get_texts()[0].get_text() == "Ow  Own idea"


def test_only_maps_leave_algorithms_out(smoke):
    for name in ("ours-head-curves", "ours-head-tail"):
        with pytest.raises(ValueError, match=f"without=.* is for maps, which {name} is not"):
            plotting.draw(smoke.subset(name), without=["DP-SE"])
    with pytest.raises(ValueError, match="without='DP-TT' is unknown"):
        plotting.draw(smoke.subset("ours-head-map"), without=["DP-TT"])
