"""Plans for regret: what they say is what the package says, as a table, a picture, and JSON."""

import dataclasses
import json
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from test_validation import refusal

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.cli.commands import main

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
    wrong = dpb.identification.fixed_design_error(ARMS, look.per_arm, 0.5)
    assert plan.look.mean == plan.look.proved and plan.look.wrong == pytest.approx(wrong)
    for (means, lost), gap in zip(plan.robust, (0.15, 0.6), strict=True):
        other = dpb.instances.bernoulli(means)
        assert other.gaps.tolist() == pytest.approx([gap, 0])
        assert lost == look.regret_bound(other, 400)
    for budget, lost in plan.budgets:
        assert lost == dpb.ExploreThenCommit.planned(budget, MEANS, 400).regret_bound(ARMS, 400)
    assert dict(plan.budgets)[0.1] > plan.look.mean > dict(plan.budgets)[1.0]


def test_the_choice(plan):
    private = plan.options[:-1]
    assert plan.private == private and plan.choice in private
    better = [option for option in private if option.mean <= 0.9 * plan.coin]
    assert plan.safest.worst == min(option.worst for option in better)
    assert len(better) < len(private), "control: DP-SE is a coin here"
    tied = tuple(o._replace(worst=1.0) for o in plan.options)
    alike = dataclasses.replace(plan, options=tied)
    assert alike.safest.mean == min(o.mean for o in alike.private)
    worse = tuple((means, 1e9) for means, _ in plan.robust)
    careful = dataclasses.replace(plan, robust=worse)
    assert careful.choice is not careful.look, "one look, wrong if the gaps are others"


@pytest.mark.parametrize(("times", "told"), [(0.99, True), (1.01, False)])
def test_a_choice_within_the_error_says_so(plan, times, told):
    chosen, half = plan.choice, 2.0
    mean = chosen.mean + times * math.hypot(half, chosen.error)
    rival = {"mean": mean, "low95": mean - half, "high95": mean + half}
    options = tuple(o if o is chosen else o._replace(**rival) for o in plan.options)
    near = dataclasses.replace(plan, options=options)
    assert near.choice is chosen
    assert near.close == (tuple(o for o in near.private if o is not chosen) if told else ())
    assert ("within the simulation's error" in str(near)) is told
    assert len(near.as_dict()["close_to_the_choice"]) == len(near.close)


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
    plan = dpb.plan_regret(means, patients=100, epsilon=epsilon, n_runs=10)
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
        (line,) = [line for line in marked if mark in line]
        assert line.startswith(option.algorithm.label)
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
