"""Whatever can be printed can be drawn, or a line says why not before it is printed."""

import math

import numpy as np
import pytest

import dpbandits as dpb
from dpbandits import plotting
from dpbandits.cli.commands import main
from dpbandits.plotting.pictures import draw_plan, plan_rows

pytestmark = pytest.mark.filterwarnings("error::UserWarning")


def draw(figure, folder):
    for ending in ("png", "svg"):
        plotting.save(figure, folder / f"own.{ending}")
        assert (folder / f"own.{ending}").stat().st_size > 1000


MEANS = [(0.5, 0.5), (0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0), (0.9, 0.1)]


@pytest.mark.parametrize("means", MEANS)
def test_runs_with_or_without_regret(means, tmp_path):
    arms = dpb.instances.bernoulli(means)
    policies = (dpb.UCB(), dpb.SuccessiveElimination())
    found = [dpb.simulate(each, arms, len(means), 1) for each in policies]
    for some in (found[:1], found):
        figure = plotting.runs_figure(some)
        draw(figure, tmp_path)
        scale = "log" if min(means) < max(means) else "linear"
        assert figure.axes[0].get_yscale() == scale
        assert all(len(line.get_xdata()) for line in figure.axes[0].lines) or scale == "log"


def test_runs_whose_regret_nobody_knows_are_refused_by_name():
    runs = dpb.simulate(dpb.UCB(), dpb.instances.callback(lambda arm: 0.5, 2), 10, 1)
    with pytest.raises(ValueError, match=r"means=\[nan, nan\] are not known"):
        plotting.runs_figure([runs])


@pytest.mark.parametrize("epsilon", [1e-100, 1e-99, 1e-3, 1.0, 1e100])
def test_a_plan_at_any_budget(epsilon, tmp_path):
    plan = dpb.plan((0.8, 0.2), epsilon, 0.1, n_runs=2, max_pulls=5)
    rows = plan_rows(plan)
    at = rows[plotting.style.BOUND, True]["epsilon"]
    assert np.isfinite(at).all() and at[0] <= epsilon * (1 + 1e-9) and epsilon <= at[-1]
    draw(draw_plan(rows, plan.free_from), tmp_path)


@pytest.mark.parametrize("epsilon", ["1e101", "inf"])
def test_a_plan_that_has_no_picture_is_refused_before_it_is_made(epsilon, capsys, tmp_path):
    words = f"plan --means 0.8,0.2 --delta 0.1 --epsilon {epsilon} --plot {tmp_path}/own.png"
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == "" and "cannot be drawn; allowed with --plot: up to 1e100" in said.err


@pytest.mark.parametrize("releases", [[(0, 0)], [(20, 20)], [(-500, 700)], [(12, 9), (14, 8)]])
@pytest.mark.parametrize("epsilon", [0.01, math.inf])
@pytest.mark.parametrize("sides", [1, 2])
def test_any_trial(releases, epsilon, sides, tmp_path):
    design = dpb.GroupSequential(20, 2.2, epsilon, looks=3, sides=sides)
    draw(plotting.running_trial_figure(dpb.RunningTrial(design, releases)), tmp_path)


def test_a_trial_without_a_look_is_refused_before_anything_is_printed(capsys, tmp_path):
    state = tmp_path / "trial.json"
    state.write_text(dpb.RunningTrial(dpb.GroupSequential(20, 2.2, 1.0)).to_json())
    picture = tmp_path / "own.png"
    assert main(["look", str(state), "--plot", str(picture)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "is not available before the first look" in said.err


def test_the_command_draws_runs_without_regret(capsys, tmp_path):
    words = "run ucb --means 0.5,0.5 --runs 1 --horizon 1000 --plot"
    assert main([*words.split(), str(tmp_path / "zero.png")]) == 0
    assert (tmp_path / "zero.png").is_file() and capsys.readouterr().err == ""
