"""Plans for regret: what they say is what the package says, as a table, a picture, and JSON."""

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy
from matplotlib import pyplot as plt
from test_validation import refusal

import dpbandits as dpb
from dpbandits import plotting
from dpbandits._intervals import quantile_interval
from dpbandits.cli.commands import main
from dpbandits.trials import regret_planning as planning

MEANS = (0.6, 0.9)
ARMS = dpb.instances.bernoulli(MEANS)


@pytest.fixture(scope="module")
def plan():
    return dpb.plan_regret(MEANS, patients=400, epsilon=0.5, n_runs=30, seed=2)


def test_a_plan_is_what_the_package_says(plan):
    wanted = (dpb.DPIMED(0.5), dpb.DPKLUCB(0.5), dpb.DPSE(0.5))
    look = dpb.ExploreThenCommit.planned(0.5, MEANS, 400)
    assert [o.algorithm for o in plan.options] == [*wanted, look, dpb.DPIMED(math.inf)]
    assert plan.coin == pytest.approx(60) and plan.needed[1] == 0
    assert plan.needed[0] == pytest.approx(math.log(400) / dpb.d_eps(0.6, 0.9, 0.5))
    for option in plan.options:
        again = dpb.simulate(
            option.algorithm, ARMS, 400, 30, 2, checkpoints=[400], order="random"
        ).regret[:, -1]
        worst = again.max() if option is not plan.look else option.worst
        assert option.worst == worst and option.low95 <= option.mean <= option.high95
        assert option.proved == option.algorithm.regret_bound(ARMS, 400)
        assert (option.mean == again.mean()) == (option is not plan.look)
    wrong = dpb.trials.fixed_design_error(ARMS, look.per_arm, 0.5)
    assert plan.look.mean == plan.look.proved and plan.look.wrong == pytest.approx(wrong)
    for (means, lost), gap in zip(plan.robust, (0.15, 0.6), strict=True):
        other = dpb.instances.bernoulli(means)
        assert other.gaps.tolist() == pytest.approx([gap, 0])
        assert lost == look.regret_bound(other, 400)
    for budget, lost in plan.budgets:
        assert lost == dpb.ExploreThenCommit.planned(budget, MEANS, 400).regret_bound(ARMS, 400)
    assert dict(plan.budgets)[0.1] > plan.look.mean > dict(plan.budgets)[1.0]


def surely(option, **values):
    """An option with other numbers, known exactly."""
    mean, worst = values.get("mean", option.mean), values.get("worst", option.worst)
    ends = {"low95": mean, "high95": mean, "worst_low95": worst, "worst_high95": worst}
    sure = {"mean_surely": (mean, mean), "worst_surely": (worst, worst)}
    return option._replace(mean=mean, worst=worst, **ends, **sure)


def known(plan, **numbers):
    """A plan whose options have means and bad trials that are known exactly."""
    rows = [dict(zip(numbers, row, strict=True)) for row in zip(*numbers.values(), strict=True)]
    options = tuple(surely(o, **row) for o, row in zip(plan.options, rows, strict=True))
    imed = tuple((x, x) for x in plan.robust_imed)
    return dataclasses.replace(plan, options=options, robust_surely=imed)


def test_the_choice(plan):
    clear = known(plan, mean=[20, 30, 60, 10, 5], worst=[50, 40, 30, 90, 9])
    easy = tuple((means, 0.0) for means, _ in plan.robust)
    clear = dataclasses.replace(clear, robust=easy)
    assert clear.choice is clear.look and clear.contenders == (clear.look,)
    assert clear.safest.algorithm.label == "DP-KLUCB", "control: DP-SE is a coin"
    alike = known(plan, mean=[20, 30, 60, 25, 5], worst=[50, 50, 50, 50, 9])
    assert alike.safest is None and len(alike.safest_contenders) == 3
    worse = tuple((means, 1e9) for means, _ in plan.robust)
    careful = dataclasses.replace(clear, robust=worse)
    assert careful.choice.algorithm.label == "DP-IMED", "one look, wrong if the gaps are others"
    open_ends = ((-1.0, 1.0), (-1.0, 1.0))
    unsure = dataclasses.replace(clear, robust_surely=open_ends, robust=((MEANS, 0.5),) * 2)
    assert unsure.choice is None and len(unsure.contenders) == 2


@pytest.mark.parametrize(("high", "told"), [(19.9, True), (20.1, False)])
def test_overlapping_intervals_name_no_choice(plan, high, told):
    clear = known(plan, mean=[20, 30, 60, 100, 5], worst=[50, 40, 30, 90, 9])
    imed, *rest = clear.options
    rest[0] = rest[0]._replace(mean_surely=(high, 40.0))
    near = dataclasses.replace(clear, options=(imed._replace(mean_surely=(19.0, 20.0)), *rest))
    assert (near.choice is None) is told
    assert ("do not tell which has the least mean" in str(near)) is told
    assert ("suggested" in str(near).split("one look:")[0]) is not told
    assert len(near.as_dict()["choice_among"]) == 1 + told


def test_quantiles_lie_between_order_statistics_that_hold_them_for_every_law():
    tail = 0.0005
    for size, share in ((50, 0.5), (2000, 0.99)):
        _, low, high = quantile_interval(np.arange(1, size + 1), share, 1 - 2 * tail)
        binomial = scipy.stats.binom(size, share)
        assert binomial.cdf(low - 1) <= tail < binomial.cdf(low)
        assert binomial.sf(high - 1) <= tail < binomial.sf(high - 2)
    assert quantile_interval(np.arange(400), 0.99, 0.999)[2] == math.inf, "control: four runs"
    assert quantile_interval(np.arange(5), 0.01)[1] == -math.inf


@pytest.mark.slow
def test_every_seed_gives_the_same_answer():
    """A label is false with a probability of at most 10⁻⁸ a plan: of twenty at most 10⁻⁶.

    Each rests on fewer than ten intervals that miss with 10⁻⁹ each. It is said at all, because
    means are twenty standard errors of the first stage away from what they are compared with.
    """
    asked = {"means": (0.1, 0.9), "patients": 100, "epsilon": 0.05}
    plans = [dpb.plan_regret(**asked, seed=seed) for seed in range(20)]
    assert {plan.choice.algorithm.label for plan in plans} == {"one look"}
    assert {plan.safest.algorithm.label for plan in plans} == {"one look"}
    close = {"means": (0.3, 0.8), "patients": 300, "epsilon": 0.3, "n_runs": 40}
    few = [dpb.plan_regret(**close, seed=seed) for seed in range(20)]
    least = {min(p.private, key=lambda o: o.worst).algorithm.label for p in few}
    assert len(least) > 1, "control: the least of so few trials is another for other seeds"
    assert not any(p.safest for p in few), "so it is not said"


def test_more_runs_until_what_is_printed_is_resolved():
    plan = dpb.plan_regret((0.3, 0.8), patients=300, epsilon=0.3)
    assert all(o.resolved for o in plan.options)
    runs = {o.runs.n_runs for o in plan.options}
    allowed = {planning._MOST_RUNS // (2 * part) for part in planning._STAGES}
    assert runs <= allowed and len(runs) > 1
    few = dpb.plan_regret((0.3, 0.8), patients=300, epsilon=0.3, n_runs=40)
    imed = few.options[0]
    assert not imed.resolved and imed.worst_high95 == pytest.approx(few.most)
    (line,) = [x for x in str(few).splitlines() if x.startswith("DP-IMED     ε")]
    assert "≤" not in line and f"to {few.most:.0f}" in line


def test_what_one_look_keeps_and_loses():
    plan = dpb.plan_regret((0.5, 0.6, 0.65), patients=600, epsilon=0.7, n_runs=10)
    look = plan.look
    n = look.algorithm.per_arm
    losses = n * 0.2 + (600 - 3 * n) * np.array([0.15, 0.05, 0.0])
    assert sum(look.kept) == pytest.approx(1) and look.kept @ losses == pytest.approx(look.mean)
    assert look.kept[0] > 0.01 and look.worst == pytest.approx(losses[0])
    rare = dpb.plan_regret((0.1, 0.6, 0.65), patients=600, epsilon=0.7, n_runs=10).look
    n = rare.algorithm.per_arm
    assert rare.kept[0] < 0.01, "control: 99 in 100 do not keep the worst"
    assert rare.worst == pytest.approx(n * 0.6 + (600 - 3 * n) * 0.05)


@pytest.mark.parametrize(
    ("means", "epsilon", "cure", "other"),
    [
        ((0.5, 0.52), 0.01, ": more patients would help", "--design fixed"),
        ((0.5, 0.6, 0.9), 0.001, "a larger ε or more patients", "--delta 0.05"),
    ],
)
def test_little_learnt_comes_with_a_way_out_that_runs(means, epsilon, cure, other, capsys):
    plan = dpb.plan_regret(means, patients=100, epsilon=epsilon, n_runs=500)
    *_, told, advice = str(plan).splitlines()
    assert not plan.learns and f"{plan.left:.1%} of what a coin loses" in told
    assert cure in advice and str(plan).count("> all") > 1
    command = advice.split(": dpbandits ")[1]
    assert command.endswith(other)
    assert main([*command.split(), "--runs", "2"][: None if "delta" in other else -2]) == 0
    assert capsys.readouterr().out


def test_a_plan_reads_as_a_table(plan):
    text = str(plan)
    assert "would help" not in text and "400 patients, ε = 0.5" in text
    assert text.count("> all") == 1, "in the legend alone"
    for option in plan.options:
        assert text.count(f"\n{option.algorithm.label} ") >= 1
    assert f"{plan.look.algorithm.per_arm:,} patients each" in text
    marked = [line for line in text.splitlines() if "<- " in line]
    for option, mark in ((plan.choice, "suggested"), (plan.safest, "smallest bad trial")):
        lines = [line for line in marked if mark in line]
        assert len(lines) == (option is not None)
        assert all(line.startswith(option.algorithm.label) for line in lines)
    assert all(len(line) <= 180 for line in text.splitlines())


def test_a_picture(plan):
    figure = plotting.regret_plan_figure(plan)
    (axes,) = figure.axes
    plt.close(figure)
    bars = [patch.get_width() for patch in axes.patches]
    assert bars == [option.mean for option in reversed(plan.options)]


def test_the_command_line(capsys, tmp_path):
    base = ["plan", "--goal", "regret", "--means", "0.6,0.9", "--epsilon", "0.5"]
    picture = tmp_path / "plan.svg"
    options = ["--patients", "400", "--runs", "30", "--seed", "2", "--json"]
    assert main([*base, *options, "--plot", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = dpb.plan_regret(MEANS, 400, 0.5, 30, 2)
    wanted = json.dumps(expected.as_dict()).replace("Infinity", '"inf"')
    assert found == json.loads(wanted) and picture.stat().st_size > 1000
    for more, words in (
        ([], "patients=None is missing"),
        (["--patients", "400", "--delta", "0.1"], "delta=0.1 is for the goal best-arm"),
    ):
        assert main([*base, *more]) == 2
        assert words in capsys.readouterr().err
    assert main(["plan", "--means", "0.6,0.9", "--epsilon", "0.5"]) == 2
    assert "delta is missing" in capsys.readouterr().err


def test_arguments():
    refusal("patients", 1, lambda: dpb.plan_regret(MEANS, 1, 1.0))
    refusal("epsilon", 0.0, lambda: dpb.plan_regret(MEANS, 100, 0.0))
    with pytest.raises(ValueError, match="means"):
        dpb.plan_regret((0.5, 0.5), 100, 1.0)
    free = dpb.plan_regret(MEANS, 100, math.inf, n_runs=5)
    assert len(free.options) == 4 and free.private == free.options
    assert np.isfinite([option.mean for option in free.options]).all()
